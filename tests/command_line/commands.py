"""Run tagloom's commands to their ends, each in a process of its own."""

import contextlib
import os
import tempfile
from pathlib import Path
from subprocess import CompletedProcess

from command_line.loaded import Started


def run(words, directory, environment=os.environ, *, together=False, first=None):
    """Run `tagloom WORDS` in a directory, and return its exit status and what it printed.

    `together`: both streams as one, in the order a terminal shows. `first` is called in that process beforehand.
    """
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        printed = [Path(place, "out"), Path(place, "out" if together else "err")]
        files = [stack.enter_context(path.open("a")) for path in (Path(os.devnull), *printed)]
        streams = [file.fileno() for file in files]
        begun = Started(
            "tagloom.cli", words, streams=streams, environment=environment, directory=directory, first=first
        )
        status = begun.wait()
        return CompletedProcess(["tagloom", *map(str, words)], status, *(path.read_text("utf-8") for path in printed))
