"""Run the command line as `python -m tagloom.cli`."""

import sys

from tagloom.cli import main

sys.exit(main())
