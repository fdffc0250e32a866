"""Be the process of a virtual rack: python -m tagloom.lab DIRECTORY."""

import asyncio
import gc
import sys
from pathlib import Path


def main() -> None:
    """Load the rack and run it until it is stopped."""
    gc.disable()  # what is loaded is never garbage: to look through it again and again takes a sixth of a start
    from tagloom.lab.rack import run  # noqa: PLC0415 - see above

    gc.freeze()
    gc.enable()
    asyncio.run(run(Path(sys.argv[1])))


main()
