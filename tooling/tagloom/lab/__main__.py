"""Be the process of a virtual rack: python -m tagloom.lab DIRECTORY."""

import asyncio
import sys
from pathlib import Path

from tagloom.lab.rack import run

asyncio.run(run(Path(sys.argv[1])))
