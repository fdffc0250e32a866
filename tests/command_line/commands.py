"""Run tagloom's commands to their ends, each in a process of its own, forked from one that has loaded the libraries.

Directory, environment, streams and exit status are a command's own, as a shell gives them; only loading is shared.
"""

import multiprocessing
import os
import sys
import tempfile
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from subprocess import CompletedProcess

from command_line import loaded_ansible

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["command_line.loaded_tagloom"])


@cache
def start():
    """Start the process that commands are forked from. PYTHONPATH leads it to `tests`, since Python 3.11 does not."""
    former = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), former]))
    forkserver.ensure_running()
    if former is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = former
    return loaded_ansible.begin()


def run(words, directory, environment=os.environ, *, together=False, first=None):
    """Run `tagloom WORDS` in a directory, and return its exit status and what it printed.

    `together`: both streams as one, in the order a terminal shows. `first` is called in that process beforehand.
    """
    words = ["tagloom", *map(str, words)]
    with tempfile.TemporaryDirectory() as place:
        printed = [Path(place, "out"), Path(place, "out" if together else "err")]
        how = (words, directory, dict(environment), printed, start(), first)
        process = FORKS.Process(target=_begin, args=how)
        process.start()
        process.join()
        return CompletedProcess(words, process.exitcode, *(path.read_text("utf-8") for path in printed))


def _begin(words, directory, environment, printed, ansible, first):
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate([Path(os.devnull), *printed]):
        with path.open("a") as stream:
            os.dup2(stream.fileno(), number)
    sys.argv = words
    loaded_ansible.use(*ansible)
    if first is not None:
        first()
    from tagloom.cli import main  # noqa: PLC0415 - it is loaded already

    sys.exit(main())
