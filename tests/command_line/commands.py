"""Run tagloom's commands, each in a process of its own: to their ends, or beside the test."""

import contextlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
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


class Begun(Started):
    """A command that is not awaited at once, as a `subprocess.Popen` with both streams as pipes of text.

    Streams that are given take their places; None stands for what nobody reads.
    """

    def __init__(self, words, directory, environment=os.environ, **streams):
        with contextlib.ExitStack() as stack:
            nothing = stack.enter_context(Path(os.devnull).open("r+"))
            ends = {"stdin": nothing} | {name: nothing if end is None else end for name, end in streams.items()}
            self.stdout, self.stderr = (
                None if name in ends else self._pipe(stack, ends, name) for name in ("stdout", "stderr")
            )
            super().__init__(
                "tagloom.cli",
                words,
                streams=[ends[name].fileno() for name in ("stdin", "stdout", "stderr")],
                environment=environment,
                directory=directory,
            )

    @staticmethod
    def _pipe(stack, ends, name):
        """Return what reads a new pipe, whose other end is held until the command has it."""
        read, write = os.pipe()
        ends[name] = stack.enter_context(os.fdopen(write, "w"))
        return os.fdopen(read, encoding="utf-8")

    def communicate(self):
        """Return what both pipes carry until nobody can write to them, once the command has ended."""
        with ThreadPoolExecutor(2) as pool, self.stdout, self.stderr:
            said = tuple(pool.map(lambda pipe: pipe.read(), (self.stdout, self.stderr)))
        self.wait()
        return said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wait()
