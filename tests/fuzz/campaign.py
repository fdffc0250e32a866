"""Damage files and read them: `python campaign.py --count 100000` says what faults that gave, by reader.

What a reader may do with a damaged file is to read it, or to raise an error of tagloom's own; it ends within seconds
of processor time and takes no memory without bound. Every mutation is known by its reader, seed and number.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "tooling")]

from readers import READERS, Reader, make  # noqa: E402 - the package of this checkout

from tagloom.errors import TagloomError  # noqa: E402 - as above

SECONDS = 20  # of processor time, for one file
MEMORY_BYTES = 6 << 30  # of address space, numba's compiler and its threads included
GROWTH_BYTES = 1 << 30  # of memory, for one file
WORDS = (
    *("null", "true", "on", "-1", "0", "1e999", "-1e999", ".inf", ".nan", "NaN", "Infinity", "1" * 400, "9" * 5000),
    *("[]", "{}", '""', '"', "'", ",", ":", "- ", "#", "&a", "*a", "<<: *a", "!!binary x", "2026-99-99", "~", "\t"),
    *(
        "0x" + "f" * 300,
        "1_000",
        "..",
        "/",
        "\x1b[2J",
        "\u2028",
        "é",
        "\ufeff",
        "%",
        "s0:g99999999",
        "1" * 18,
        "2" * 20,
    ),
    *("[" * 3000, "{" * 3000, '{"a":' * 3000, "- " * 3000, "a" * 70_000, "1:2:3:4:5:6", "999999999", "4294967296"),
)
CHUNKS = (b"\xff", b"\0", b"\r\n", b"\r", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x80" * 9, b"\0" * 512)


def mutate(rng: random.Random, content: bytes, *, binary: bool) -> bytes:
    """Damage a file in one to three ways."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(_BYTES if binary or rng.random() < 0.3 else _TEXTS)(rng, content)
    return content


def _at(rng: random.Random, content: bytes) -> int:
    return rng.randrange(len(content) + 1)


def _flip(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(max(1, len(content)))
    return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def _flips(rng: random.Random, content: bytes) -> bytes:
    for _ in range(rng.randrange(2, 40)):
        content = _flip(rng, content)
    return content


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: _at(rng, content)]


def _drop(rng: random.Random, content: bytes) -> bytes:
    a, b = sorted((_at(rng, content), _at(rng, content)))
    return content[:a] + content[min(b, a + rng.choice((1, 8, 512, b))) :]


def _repeat(rng: random.Random, content: bytes) -> bytes:
    a, b = sorted((_at(rng, content), _at(rng, content)))
    return content[:b] + content[a:b] * rng.choice((1, 2, 30)) + content[b:]


def _insert(rng: random.Random, content: bytes) -> bytes:
    at = _at(rng, content)
    return content[:at] + rng.choice(CHUNKS) + content[at:]


def _token(rng: random.Random, content: bytes) -> bytes:
    """Put another word in the place of one: of the list, or of the same file."""
    found = list(re.finditer(rb'"[^"\n]*"|[\w.+-]+', content))
    if not found:
        return _insert(rng, content)
    match, other = rng.choice(found), rng.choice(found)
    word = rng.choice([other[0], rng.choice(WORDS).encode()])
    return content[: match.start()] + word + content[match.end() :]


def _word(rng: random.Random, content: bytes) -> bytes:
    at = _at(rng, content)
    return content[:at] + rng.choice(WORDS).encode() + content[at:]


def _line(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    n, m = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[n]
    elif kind == 1:
        lines.insert(n, lines[m])
    elif kind == 2:
        lines[n], lines[m] = lines[m], lines[n]
    else:
        lines[n] = rng.choice(WORDS).encode()
    return b"\n".join(lines)


def _value(rng: random.Random, content: bytes) -> bytes:
    """Put another value somewhere into a JSON document."""
    try:
        page = json.loads(content)
    except (ValueError, RecursionError):
        return _token(rng, content)
    here = page
    while isinstance(here, dict | list) and here:
        key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        if isinstance(here[key], dict | list) and here[key] and rng.random() < 0.7:
            here = here[key]
            continue
        values = (None, True, -1, 0, 1.5, 10**30, 10**18, "", "x", "\ud800", [], {}, [[]], {"a": 1}, [None], [-1], "\0")
        if rng.random() < 0.3 and isinstance(here, dict):
            del here[key]
        else:
            here[key] = rng.choice(values)
        break
    return json.dumps(page).encode()


_BYTES = (_flip, _flip, _flips, _cut, _drop, _repeat, _insert)
_TEXTS = (_token, _token, _token, _word, _line, _line, _value, _value, _flip, _cut, _repeat)


def run_one(reader: Reader, whole: bytes, seed: str) -> str:
    """Read one damaged file; give what is wrong with how that went, "" where nothing is."""
    path = Path(reader.file)
    for old in path.parent.glob(path.name + "-*"):  # journals of SQLite
        old.unlink()
    path.write_bytes(mutate(random.Random(seed), whole, binary=reader.binary))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        reader.read()
    except TagloomError:
        pass
    except BaseException as error:  # noqa: BLE001 - that is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return f"memory grew by {grown >> 20} MB" if grown > GROWTH_BYTES else ""


def _out_of_time(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s of processor time")


def campaign(reader: Reader, home: Path, seed: int, numbers: range) -> list[tuple[str, str]]:
    """Read damaged files of one kind in a process of its own; give what failed, as (seed, what)."""
    faults: list[tuple[str, str]] = []
    first = numbers.start
    while first < numbers.stop:  # a process that died is followed by another
        reading, telling = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.close(reading)
                _limited(reader, home, seed, range(first, numbers.stop), telling)
            os._exit(0)
        os.close(telling)
        with os.fdopen(reading) as told:
            rows = [json.loads(line) for line in told]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        faults += [(f"{seed}.{number}", text) for number, text in rows if text]
        last = rows[-1][0] if rows else first - 1
        if last + 1 < numbers.stop:
            faults.append((f"{seed}.{last + 1}", f"the process ended with {status}"))
        first = last + 2
    return faults


def _limited(reader: Reader, home: Path, seed: int, numbers: range, telling: int) -> None:
    faulthandler.disable()  # the parent reports a crash; a traceback would go to pytest's own stream
    os.chdir(home)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    warnings.filterwarnings("error", category=UserWarning)  # an operator is told findings, not a library's worries
    warnings.filterwarnings("ignore", ".* deprecated - use")  # as pyproject.toml
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _out_of_time)
    whole = Path(reader.file).read_bytes()
    try:
        for number in numbers:
            text = run_one(reader, whole, f"{reader.name}.{seed}.{number}")
            os.write(telling, (json.dumps([number, text]) + "\n").encode())
    finally:
        Path(reader.file).write_bytes(whole)
        for old in Path(reader.file).parent.glob(Path(reader.file).name + "-*"):
            old.unlink()


def renew(home: Path, whole: Path) -> None:
    """Put every file back: some commands add what they read to a store, which the next reader would read."""
    for each in home.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.copytree(whole, home, dirs_exist_ok=True)


def main() -> int:
    """Run a campaign over all readers, or those named."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--count", type=int, default=100_000, help="files in all")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--reader", action="append", help="only this one; may be repeated")
    args = words.parse_args()
    chosen = [reader for reader in READERS if not args.reader or reader.name in args.reader]
    each = -(-args.count // len(chosen))
    found = done = 0
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        home = Path(folder)
        make(home)
        shutil.copytree(home, whole, dirs_exist_ok=True)
        for reader in chosen:
            begun = time.monotonic()
            renew(home, Path(whole))
            if reader.read() in (1, 2, 3):
                raise AssertionError(f"{reader.name}: the whole file is refused")
            faults = campaign(reader, home, args.seed, range(each))
            done += each
            found += len(faults)
            print(f"{reader.name:24} {each} files, {len(faults)} faults, {time.monotonic() - begun:.0f} s", flush=True)
            for seed, text in faults[:5]:
                print(f"  {seed}: {text}", flush=True)
    print(f"{done} damaged files, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
