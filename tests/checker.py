"""Run the stand-alone checker of certificates as an auditor does."""

import subprocess
import sys

from fabrics import ROOT

CHECKER = ROOT / "tooling" / "check_certificate.py"


def check(build):
    """Run the checker with nothing but the standard library: (exit status, what it says)."""
    done = subprocess.run([sys.executable, "-I", "-S", CHECKER, build], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
