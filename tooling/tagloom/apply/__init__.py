"""Bring switches to a target state, and say what became of each."""
