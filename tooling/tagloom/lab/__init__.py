"""Run a whole fabric of virtual switches: SSH consoles on loopback over a frame-by-frame data plane."""
