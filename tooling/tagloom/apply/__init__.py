"""Bring switches to a target state, and report the outcome of each."""
