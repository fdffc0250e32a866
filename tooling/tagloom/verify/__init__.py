"""Prove what a fabric will do from the states of its switches alone."""

from tagloom.verify.missing import missing_entry
from tagloom.verify.prove import Plan, channel_name, dependencies, verify

__all__ = ["Plan", "channel_name", "dependencies", "missing_entry", "verify"]
