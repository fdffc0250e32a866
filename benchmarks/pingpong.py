"""Ping-pong side by side with NetPIPE's NPtcp: latency of small messages and peak bandwidth, runs interleaved.

Run as root for the part over network namespaces (veth); needs Debian's netpipe-tcp. Both programs walk the same sizes
without perturbation, with the same pinning; every round runs one and then the other, and medians over the rounds are
compared, since the machine may be busy with other work: the load is printed. Both ends are pinned to one processor, and
then to one each: where the kernel may choose, a message takes 8 us or 40 us, by its choice and not by the program's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from ipaddress import ip_network
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL_BYTES = 64
PINS = (("both ends on one processor", "0", "0"), ("a processor each", "0", "1"))
TAGLOOM = [sys.executable, "-m", "tagloom.cli", "measure", "pingpong"]
PORT = 5002 + os.getpid() % 20000


@contextlib.contextmanager
def server(words: list[str]) -> Iterator[None]:
    """Run one end until its peer is done."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    if "NPtcp" in words:
        time.sleep(2.0)  # it says nothing
    else:
        process.stdout.readline()
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def netpipe(near: list[str], far: list[str], address: str, most: int, folder: Path) -> list[tuple[int, float]]:
    """Return NPtcp's (bytes, seconds) points."""
    out = folder / "np.out"
    with server([*far, "NPtcp", "-P", str(PORT), "-p", "0", "-u", str(most), "-o", str(folder / "other.out")]):
        words = [*near, "NPtcp", "-h", address, "-P", str(PORT), "-p", "0", "-u", str(most), "-o", str(out)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [(int(a), float(c)) for a, _, c in (line.split() for line in out.read_text().splitlines())]


def ours(near: list[str], far: list[str], address: str, most: int, _folder: Path) -> list[tuple[int, float]]:
    """Return tagloom's (bytes, seconds) points."""
    network = ["--network", str(ip_network(f"{address}/30", strict=False))]
    place = f"{address}:{PORT + 1}"
    with server([*far, *TAGLOOM, "--serve", "--once", "--listen", place, *network]):
        words = [*near, *TAGLOOM, "--connect", place, *network, "--max-bytes", str(most), "--json"]
        quick = ["--perturbation", "0", "--no-content", "--no-percentiles", "--max-rate", "1e13"]
        done = subprocess.run([*words, *quick], check=True, capture_output=True, text=True)
    return [(p["bytes"], p["seconds"]) for p in json.loads(done.stdout)["points"]]


@contextlib.contextmanager
def namespaces() -> Iterator[tuple[list[str], list[str], str]]:
    """Return two network namespaces joined by a veth pair: words to run in each, and the second's address."""
    tag = f"tlbench{os.getpid() % 100000}"
    a, b = f"{tag}a", f"{tag}b"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    with contextlib.ExitStack() as stack:
        for name in (a, b):
            ip("netns", "add", name)
            stack.callback(ip, "netns", "del", name)
        ip("link", "add", "eth0", "netns", a, "type", "veth", "peer", "name", "eth0", "netns", b)
        for name, address in ((a, "198.18.7.1/30"), (b, "198.18.7.2/30")):
            ip("-n", name, "address", "add", address, "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield ["ip", "netns", "exec", a], ["ip", "netns", "exec", b], "198.18.7.2"


def figures(points: list[tuple[int, float]]) -> tuple[float, float, float]:
    """Return the median one-way time of small messages, the least of them, and the peak bandwidth."""
    small = [t for n, t in points if n <= SMALL_BYTES]
    return median(small), min(small), max(8 * n / t for n, t in points)


def compare(title: str, near: list[str], far: list[str], address: str, rounds: int, most: int) -> None:
    """Run both in turn, on one processor and on two, and print their medians."""
    for how, here, there in PINS:
        pinned = [[*words, "taskset", "-c", cpu] for words, cpu in ((near, here), (far, there))]
        compare_pinned(f"{title}, {how}", *pinned, address, rounds, most)  # type: ignore[call-arg]


def compare_pinned(title: str, near: list[str], far: list[str], address: str, rounds: int, most: int) -> None:
    found: dict[str, list[tuple[float, float, float]]] = {"NPtcp": [], "tagloom": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            order = [("NPtcp", netpipe), ("tagloom", ours)]
            for name, run in order if number % 2 == 0 else reversed(order):
                found[name].append(figures(run(near, far, address, most, Path(folder))))
    print(f"{title}, {rounds} rounds, up to {most} bytes, load average {os.getloadavg()[0]:.1f}")
    middle = {}
    for name, rows in found.items():
        typical, _, peak = (median(column) for column in zip(*rows, strict=True))
        best = min(r[1] for r in rows), max(r[2] for r in rows)
        middle[name] = typical, peak, *best
        print(
            f"  {name:8} small messages {typical * 1e6:6.2f} us median, {best[0] * 1e6:6.2f} us least;"
            f" peak {peak / 1e9:6.2f} Gb/s median, {best[1] / 1e9:6.2f} Gb/s most"
        )
    us, them = middle["tagloom"], middle["NPtcp"]
    print(f"  latency of NPtcp's: {us[0] / them[0]:.2f} (medians), {us[2] / them[2]:.2f} (least); goal at most 1.5")
    print(f"  bandwidth of NPtcp's: {us[1] / them[1]:.3f} (medians), {us[3] / them[3]:.3f} (most); goal at least 0.95")


def main() -> None:
    about = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    about.add_argument("--rounds", type=int, default=3)
    about.add_argument("--max-bytes", type=int, default=1 << 20)
    about.add_argument("--where", nargs="+", choices=["loopback", "veth"], default=["loopback", "veth"])
    args = about.parse_args()
    if shutil.which("NPtcp") is None:
        print("skipped: NPtcp is missing (apt install netpipe-tcp)")
        return
    if "loopback" in args.where:
        compare("loopback", [], [], "127.0.0.1", args.rounds, args.max_bytes)
    if "veth" not in args.where:
        return
    if os.geteuid() != 0:
        print("veth: skipped, network namespaces need root")
        return
    with namespaces() as (near, far, address):
        compare("veth", near, far, address, args.rounds, args.max_bytes)


if __name__ == "__main__":
    main()
