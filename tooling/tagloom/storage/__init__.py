"""Bounded reading and atomic writing of files, directories and databases; every fault is a finding."""
