"""Measure what `pip install` of the wheel takes: seconds, bytes to download and installed; write results/install.md.

Run `python benchmarks/install.py [--python PYTHON ...]`. Each is asked for an environment of its own, into which pip,
without its cache, installs the wheel and what it needs from the index that pip is set up for; then `tagloom --version`
must answer. Seconds are by the clock on the wall, of `pip install` alone, so they are of this machine and its network.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "results" / "install.md"
GOAL_SECONDS = 60
UNITS = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
DOWNLOADED = re.compile(r"^\s*Downloading .* \(([\d.]+) (bytes|kB|MB|GB)\)", re.MULTILINE)
TEXT = """# Installing the wheel

What `pip install` of the wheel takes in an empty environment, without pip's cache: `python benchmarks/install.py`
builds the wheel, installs it and writes this page. The goal is under {goal} s.

The wheel has **{wheel:.1f} MB**. Measured {day} on {processors} processors and over the network of that machine, a row
a round. CPU seconds are of `pip`; `busy` is the load average beforehand: above {processors}, others wanted the
processors too. On the worst such day (2026-11-24, above 8) rounds of another run took 57, 77 and 175 s.

| Python | seconds | CPU seconds | busy | downloaded, MB | installed, MB |
|---|---|---|---|---|---|
{rows}
"""


def size(directory: Path) -> int:
    """Return the bytes of all files below a directory, symbolic links not followed."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def _spent() -> float:
    """Return the CPU seconds of all programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def install(python: str, wheel: Path, home: Path) -> str:
    """Install the wheel into a new environment of a Python; return the row of the table."""
    subprocess.run([python, "-m", "venv", home], check=True)
    before = size(home)
    words = [home / "bin" / "python", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", wheel]
    busy, begun, spent = os.getloadavg()[0], time.monotonic(), _spent()
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    seconds, spent = time.monotonic() - begun, _spent() - spent
    fetched = sum(float(number) * UNITS[unit] for number, unit in DOWNLOADED.findall(said))
    version = [home / "bin" / "python", "-c", "import platform; print(platform.python_version())"]
    name = subprocess.run(version, check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([home / "bin" / "tagloom", "--version"], check=True, capture_output=True)
    figures = (f"{seconds:.0f}", f"{spent:.0f}", f"{busy:.1f}", f"{fetched / 1e6:.0f}")
    return f"| {name} | {' | '.join(figures)} | {(size(home) - before) / 1e6:.0f} |"


def main() -> None:
    """Build the wheel, install it with each Python, print the rows and write the page."""
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("--rounds", type=int, default=3, help="of each Python")
    words.add_argument("--python", nargs="+", default=[sys.executable], metavar="PYTHON")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", home, ROOT]
        subprocess.run(build, check=True)
        (wheel,) = home.glob("tagloom-*.whl")
        rows = []
        for number, python in enumerate(given.python * given.rounds):
            rows.append(install(python, wheel, home / f"environment-{number}"))
            print(rows[-1], flush=True)
        known = {"goal": GOAL_SECONDS, "wheel": wheel.stat().st_size / 1e6, "rows": "\n".join(rows)}
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        PAGE.write_text(TEXT.format(**known, day=day, processors=os.cpu_count()), "utf-8")


if __name__ == "__main__":
    main()
