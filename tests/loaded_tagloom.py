"""Do once what every command loads, reads and compiles first, in the process that commands are forked from."""

import contextlib
import os
import tempfile
from pathlib import Path

from compiling_once import compile_each_kernel_once
from tagloom.cli import main


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


compile_each_kernel_once()
rehearse()
