"""Run a fabric's switches as bridges of a real Linux kernel, which runs as an ordinary process (user-mode Linux)."""
