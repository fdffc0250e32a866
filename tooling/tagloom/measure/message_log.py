"""Write the C file that logs the messages of an MPI program, and the commands that compile and use it."""

from pathlib import Path

LOGGER = Path(__file__).with_suffix(".c")


def logger() -> str:
    """Return the text of the logger, to be compiled with the MPI that the program uses."""
    return LOGGER.read_text("utf-8")


def next_commands(path: Path) -> tuple[str, ...]:
    """Return the commands that compile the logger at a path, log a run, and forecast from it."""
    library = path.resolve().with_suffix(".so")
    return (
        f"mpicc -shared -fPIC -O2 -o {library.name} {path}",
        f"TAGLOOM_TRACE=run.trace mpirun -np 4 -x TAGLOOM_TRACE -x LD_PRELOAD={library} PROGRAM",
        "tagloom predict BUILD --trace run.trace",
    )
