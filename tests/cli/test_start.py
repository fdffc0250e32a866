"""The command line starts without what single commands need: libraries cost more than all of its own words."""

import subprocess
import sys

LISTED = """
import sys
before = set(sys.modules)
import tagloom.cli
tagloom.cli.parser().format_help()
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))
"""


def test_help_imports_nothing_but_python_and_tagloom():
    done = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tagloom"]
