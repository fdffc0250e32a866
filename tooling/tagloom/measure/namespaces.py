"""A test bench of network namespaces: two hosts and what lies between, all removed at the end (needs root)."""

from __future__ import annotations

import ctypes
import os
import subprocess
import uuid
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.measure.ends import in_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

NEAR_ADDRESS, FAR_ADDRESS, NETWORK = "198.18.0.1", "198.18.0.2", "198.18.0.0/30"  # RFC 2544's benchmark network
CLONE_NEWNET = 0x40000000  # sched.h
# A software switch does not fill in a checksum that was left to a card.
OFFLOADS = ("tx", "tso", "gso", "gro")


def run(words: Sequence[str]) -> str:
    """Return the output of a command. Raises DeviceError with its error output."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DeviceError(words[0], " ".join(words), str(error)) from None
    if done.returncode:
        raise DeviceError(words[0], " ".join(words), (done.stderr or done.stdout).strip())
    return done.stdout


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Open this thread's new sockets in a network namespace; they stay there. Raises DeviceError."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as home, Path(f"/run/netns/{namespace}").open() as there:
        if libc.setns(there.fileno(), CLONE_NEWNET):
            raise DeviceError(namespace, "setns", os.strerror(ctypes.get_errno()))
        try:
            yield
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


class Bench:
    """Namespaces `near` and `far`, joined through `middle`, which has interfaces "near" and "far".

    With `bridged` a Linux bridge in the middle forwards the frames; otherwise `start` a program there. Raises
    InputError without root, DeviceError if the kernel refuses.
    """

    def __init__(self, *, bridged: bool) -> None:
        if os.geteuid() != 0:
            raise InputError([Finding("network namespaces", "root", f"user {os.geteuid()}")])
        tag = uuid.uuid4().hex[:6]
        self.near, self.middle, self.far = (f"tagloom-{tag}-{name}" for name in ("near", "middle", "far"))
        self._bridged, self._stack = bridged, ExitStack()

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _make(self) -> None:
        for name in (self.near, self.middle, self.far):
            run(["ip", "netns", "add", name])
            self._stack.callback(run, ["ip", "netns", "del", name])
            run(["ip", "-n", name, "link", "set", "lo", "up"])
        ends = ((self.near, "near", NEAR_ADDRESS), (self.far, "far", FAR_ADDRESS))
        for name, port, _ in ends:
            words = ["type", "veth", "peer", "name", port, "netns", self.middle]
            run(["ip", "link", "add", "eth0", "netns", name, *words])
        if self._bridged:
            run(["ip", "-n", self.middle, "link", "add", "br0", "type", "bridge"])
            run(["ip", "-n", self.middle, "link", "set", "br0", "up"])
        for name, port, address in ends:
            if self._bridged:
                run(["ip", "-n", self.middle, "link", "set", port, "master", "br0"])
            else:
                run(in_namespace(name, ["ethtool", "-K", "eth0", *(w for o in OFFLOADS for w in (o, "off"))]))
            # No IPv6 addresses: neighbour discovery would wake the link in the middle of a gap.
            run(["ip", "-n", name, "link", "set", "eth0", "addrgenmode", "none"])
            run(["ip", "-n", self.middle, "link", "set", port, "addrgenmode", "none"])
            run(["ip", "-n", self.middle, "link", "set", port, "up"])
            run(["ip", "-n", name, "address", "add", f"{address}/30", "dev", "eth0"])
            run(["ip", "-n", name, "link", "set", "eth0", "up"])
        # Permanent neighbours: they survive a link that is down, and no ARP request disturbs a measurement.
        for name, other, address in ((self.near, self.far, FAR_ADDRESS), (self.far, self.near, NEAR_ADDRESS)):
            mac = run(in_namespace(other, ["cat", "/sys/class/net/eth0/address"])).strip()
            run(["ip", "-n", name, "neigh", "replace", address, "lladdr", mac, "dev", "eth0", "nud", "permanent"])

    def start(self, namespace: str, words: Sequence[str]) -> None:
        """Start a process in a namespace; it ends with the bench."""
        process = subprocess.Popen(in_namespace(namespace, words), stdin=subprocess.DEVNULL)
        self._stack.callback(_end, process)

    def received(self) -> int:
        """Return the number of packets the far host received, as its SNMP agent counts (ifInUcastPkts and the rest)."""
        return int(run(in_namespace(self.far, ["cat", "/sys/class/net/eth0/statistics/rx_packets"])))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
