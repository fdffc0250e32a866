"""Do once what every command loads, reads and compiles first, in the process that commands are forked from."""

import contextlib
import gc
import os
import pkgutil
import tempfile
from importlib import import_module
from pathlib import Path

import tagloom
from tagloom.cli import main

ALSO = ("numba", "scipy.sparse.csgraph", "command_line.loaded_ansible")


def load():
    """Import all of tagloom, and what it imports when it is used."""
    for name in (*ALSO, *(module.name for module in pkgutil.walk_packages(tagloom.__path__, "tagloom."))):
        if not name.endswith("__main__"):
            import_module(name)


def rehearse():
    """Plan, prove and lead over a small ring; plan one of another model."""
    with tempfile.TemporaryDirectory() as place, Path(os.devnull).open("w") as nowhere:
        fabric, other, day, night = (f"{place}/{name}" for name in ("f.yml", "other.yml", "day", "night"))
        for words in (
            ["new", "ring", "--dims", "4", "-o", fabric],
            ["plan", fabric, "-o", day],
            ["plan", fabric, "-o", night, "--previous", day, "--off", "s0:g1"],
            ["rollout", day, night, "-o", f"{place}/rollout"],
            ["new", "ring", "--dims", "3", "--model", "powerconnect-6224", "-o", other],
            ["plan", other, "-o", f"{place}/other"],
        ):
            with contextlib.redirect_stdout(nowhere):
                status = main(words)
            assert status == 0, words


gc.disable()
load()
rehearse()
gc.freeze()  # what is loaded is never garbage: no fork looks through it, or copies it for that
gc.enable()
