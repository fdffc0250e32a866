"""Prove what a fabric will do from the states of its switches alone."""

from tagloom.verify.prove import Plan, verify

__all__ = ["Plan", "verify"]
