"""Run tagloom's commands as an operator does, without loading every library each time."""
