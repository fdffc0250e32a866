"""Build bridges and hosts in namespaces of this kernel, run commands on them, send frames and tell where they went.

Runs inside user-mode Linux, as its only program, with nothing but Python's own library: `prober.py DEVICE EXCHANGE`
answers one request at a time. Frames are numbered, so that every copy is known wherever it is seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import io

BRIDGE = b"tagloom"
PROBE = 0x88B5  # IEEE 802 local experimental EtherType 1: nothing else here sends or answers it
TAG = 0x8100
SHORTEST = 60  # bytes without the check sequence
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
PACKET_OUTGOING = 4
SOL_PACKET, PACKET_AUXDATA = 263, 8
AUXDATA = struct.Struct("=IIIHHHH")  # status, len, snaplen, mac, net, vlan_tci, vlan_tpid (linux/if_packet.h)
VLAN_VALID = 1 << 4
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
STORM_COPIES = 4000  # more copies of one frame than any planned fabric of ours makes
STORM_SECONDS = 0.3
CALM_SECONDS = 0.05
SETTLE_SECONDS, SETTLE_POLL_SECONDS = 60.0, 0.05
FORWARDING, BLOCKING = "3", "4"  # linux/if_bridge.h
_libc = ctypes.CDLL(None, use_errno=True)


def enter(name: str) -> None:
    """Enter a network namespace, for good: whatever is opened next is of it."""
    with Path("/run/netns", name).open() as handle:
        if _libc.setns(handle.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {name}")


class Namespace:
    """Hold what stays open of one namespace: a raw socket on all its ports, its counters, a socket to set flags by."""

    def __init__(self, name: str, *, bridge: bool) -> None:
        enter(name)
        self.name = name
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.raw.setblocking(False)
        self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.counters = os.open("/proc/thread-self/net/dev", os.O_RDONLY)
        self.sys = Path("/run/sys", name)
        if bridge:
            self.sys.mkdir(parents=True)
            if _libc.mount(b"sys", os.fsencode(self.sys), b"sysfs", 0, None):
                raise OSError(ctypes.get_errno(), f"mount sysfs of {name}")

    def close(self) -> None:
        """Let go of the namespace."""
        self.raw.close()
        self.control.close()
        os.close(self.counters)
        if self.sys.is_dir():
            _libc.umount2(os.fsencode(self.sys), 0)
            self.sys.rmdir()

    def forget(self) -> None:
        """Make the bridge forget what it learned; static entries stay."""
        with contextlib.suppress(OSError):  # a broken text made no bridge
            (self.sys / "class/net" / BRIDGE.decode() / "bridge/flush").write_text("1")

    def settled(self) -> bool:
        """Tell whether every port with a carrier forwards, or is blocked by a spanning tree that is on.

        The kernel tells a bridge of a cable that came up up to a second later (net/core/link_watch.c), and a port that
        spanning tree has blocked stays so when that goes off, until what it heard is max_age old.
        """
        bridge = self.sys / "class/net" / BRIDGE.decode()
        try:
            final = (
                (FORWARDING, BLOCKING) if (bridge / "bridge/stp_state").read_text().strip() != "0" else (FORWARDING,)
            )
            ports = list((bridge / "brif").iterdir())
        except OSError:
            return True  # a broken text made no bridge
        for port in ports:
            try:
                carrier = (self.sys / "class/net" / port.name / "carrier").read_text().strip()
            except OSError:
                continue  # the port is down
            state = (self.sys / "class/net" / port.name / "brport/state").read_text().strip()
            if carrier == "1" and state not in final:
                return False
        return True

    def set_up(self, up: bool) -> None:
        """Bring the bridge up or down."""
        with contextlib.suppress(OSError):  # as above
            request = struct.pack("16sh14x", BRIDGE, 0)
            flags = struct.unpack("16sh14x", fcntl.ioctl(self.control, SIOCGIFFLAGS, request))[1]
            flags = flags | IFF_UP if up else flags & ~IFF_UP
            fcntl.ioctl(self.control, SIOCSIFFLAGS, struct.pack("16sh14x", BRIDGE, flags))

    def frames(self) -> dict[str, list[int]]:
        """Give [received, sent] frames by port."""
        text = os.pread(self.counters, 1 << 16, 0).decode()
        found = {}
        for line in text.splitlines()[2:]:
            name, _, rest = line.partition(":")
            columns = rest.split()
            if name.strip() not in ("lo", BRIDGE.decode()):
                found[name.strip()] = [int(columns[1]), int(columns[9])]
        return found


class Prober:
    """Answer the requests; a fabric is built, configured, probed and cleared away."""

    def __init__(self) -> None:
        self.switches: list[Namespace] = []
        self.hosts: list[Namespace] = []
        self.macs: list[bytes] = []
        self.poll = select.epoll()
        self.number = 0

    def build(self, switches: int, links: list[list[int]], hosts: list[list[Any]]) -> dict[str, Any]:
        """Make a namespace per switch (s0, s1, ...) and host (h0, ...) and a cable per link.

        `links` are [switch, port, switch, port], `hosts` [switch, port, MAC]. Ports are named swp1, swp2, ...
        """
        names = [f"s{i}" for i in range(switches)] + [f"h{i}" for i in range(len(hosts))]
        _batch("ip", [f"netns add {name}" for name in names])
        for name in names:
            enter(name)
            for scope in ("all", "default"):
                Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")  # no frames but ours
        lines = [f"link add swp{p} netns s{a} type veth peer name swp{q} netns s{b}" for a, p, b, q in links]
        for i, (s, port, mac) in enumerate(hosts):
            lines += [
                f"link add swp{port} netns s{s} type veth peer name eth0 address {mac} netns h{i}",
            ]
        _batch("ip", lines)
        for i in range(len(hosts)):
            enter(f"h{i}")
            subprocess.run(["ip", "link", "set", "eth0", "up"], check=True)
        self.switches = [Namespace(f"s{i}", bridge=True) for i in range(switches)]
        self.hosts = [Namespace(f"h{i}", bridge=False) for i in range(len(hosts))]
        for host in self.hosts:
            host.raw.bind(("eth0", ETH_P_ALL))
        self.macs = [bytes.fromhex(mac.replace(":", "")) for _, _, mac in hosts]
        self.poll = select.epoll()
        self.at = {
            space.raw.fileno(): (space, i) for spaces in (self.switches, self.hosts) for i, space in enumerate(spaces)
        }
        for number in self.at:
            self.poll.register(number, select.EPOLLIN)
        return {}

    def run(self, texts: dict[str, str]) -> dict[str, Any]:
        """Let a shell run a file in a switch's namespace, by switch number; what it complains of, line by line."""
        errors = {}
        for switch, path in texts.items():
            enter(f"s{switch}")
            done = subprocess.run(["sh", path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            errors[switch] = (done.stdout + done.stderr).splitlines()
        self._settle()
        return {"errors": errors}

    def _settle(self) -> None:
        deadline = time.monotonic() + SETTLE_SECONDS
        while not all(space.settled() for space in self.switches):
            if time.monotonic() > deadline:
                raise TimeoutError(f"ports still not forwarding after {SETTLE_SECONDS:.0f} s")
            time.sleep(SETTLE_POLL_SECONDS)

    def batch(self, orders: dict[str, list[str]]) -> dict[str, Any]:
        """Run many commands on switches, those of one program in a row by one process; what it complains of."""
        errors: dict[str, list[str]] = {}
        for switch, lines in orders.items():
            enter(f"s{switch}")
            errors[switch] = []
            for program, some in itertools.groupby(lines, key=lambda line: line.split()[0]):
                text = "".join(line.removeprefix(program) + "\n" for line in some)
                done = subprocess.run(
                    [program, "-force", "-batch", "-"], input=text, capture_output=True, text=True, check=False
                )
                errors[switch] += (done.stdout + done.stderr).splitlines()
        self._settle()
        return {"errors": errors}

    def forget(self) -> dict[str, Any]:
        """Make all bridges forget what they learned."""
        for space in self.switches:
            space.forget()
        return {}

    def learned(self, switch: int) -> dict[str, Any]:
        """Give a switch's forwarding database, in iproute2's own JSON."""
        enter(f"s{switch}")
        words = ["bridge", "-j", "fdb", "show", "br", BRIDGE.decode()]
        return {"entries": subprocess.run(words, capture_output=True, text=True, check=False).stdout or "[]"}

    def type(self, switch: int, lines: list[str]) -> dict[str, Any]:
        """Run commands one by one on a switch; gives [status, answer] of each."""
        enter(f"s{switch}")
        answers = []
        for line in lines:
            done = subprocess.run(
                ["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            answers.append([done.returncode, (done.stdout + done.stderr).strip()])
        self._settle()
        return {"answers": answers}

    def show(self, switch: int) -> dict[str, Any]:
        """Give what the kernel holds, in iproute2's own JSON."""
        enter(f"s{switch}")
        commands = {
            "vlans": "bridge -j vlan show",
            "entries": f"bridge -j fdb show br {BRIDGE.decode()}",
            "links": "ip -j -d link show",
        }
        return {
            key: subprocess.run(words.split(), capture_output=True, text=True, check=False).stdout
            for key, words in commands.items()
        }

    def counters(self) -> dict[str, Any]:
        """Give every switch's [received, sent] frames by port."""
        return {"frames": [space.frames() for space in self.switches]}

    def send(self, frames: list[list[Any]], patience: float = 0.0, learn: bool = False) -> dict[str, Any]:
        """Send frames [host, destination MAC] one after the other, the bridges having forgotten what they learned.

        Gives of each: `hops` [switch, port, tag] of every copy a switch sent (tag 0 = untagged), `hosts`
        {host: copies}, and `storm`, the frames each port sent while it lasted, [] where there was none.
        `patience` is how long to wait for copies after the last one seen, in seconds.
        """
        return {"frames": [self._send(host, mac, patience, learn) for host, mac in frames]}

    def _send(self, host: int, mac: str, patience: float, learn: bool) -> dict[str, Any]:
        if not learn:
            for space in self.switches:
                space.forget()
        self.number += 1
        head = bytes.fromhex(mac.replace(":", "")) + self.macs[host] + struct.pack(">HQ", PROBE, self.number)
        self.hosts[host].raw.send(head.ljust(SHORTEST, b"\0"))
        hops: list[list[Any]] = []
        heard: dict[int, int] = {}
        while self._gather(hops, heard, patience):
            if len(hops) > STORM_COPIES:
                return {"hops": hops[:STORM_COPIES], "hosts": heard, "storm": self._storm()}
        return {"hops": hops, "hosts": heard, "storm": []}

    def _gather(self, hops: list[list[Any]], heard: dict[int, int], patience: float) -> bool:
        """Take what the sockets hold; tells whether there was anything."""
        events = self.poll.poll(patience)
        for number, _ in events:
            space, index = self.at[number]
            for _ in range(1000):
                try:
                    data, extra, _, address = space.raw.recvmsg(64, 64)
                except (BlockingIOError, InterruptedError):
                    break
                except OSError:
                    break  # the port went down
                outgoing, tag = address[2] == PACKET_OUTGOING, 0
                if data[12:14] == TAG.to_bytes(2, "big"):
                    tag, data = int.from_bytes(data[14:16], "big") & 0xFFF, data[:12] + data[16:]
                for level, kind, value in extra:
                    if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                        status, *_, tci, _ = AUXDATA.unpack(value[: AUXDATA.size])
                        tag = tci & 0xFFF if status & VLAN_VALID else tag
                if data[12:14] != PROBE.to_bytes(2, "big") or int.from_bytes(data[14:22], "big") != self.number:
                    continue
                if space in self.hosts:
                    if not outgoing and not tag:  # a host without VLAN interfaces takes no tagged frame
                        heard[index] = heard.get(index, 0) + 1
                elif outgoing and address[0] != BRIDGE.decode():
                    hops.append([index, int(address[0].removeprefix("swp")), tag])
        return bool(events)

    def _storm(self) -> list[list[int]]:
        """Count what every port sends for a while, then cut it: every bridge down until all is still, then up."""
        before = [space.frames() for space in self.switches]
        time.sleep(STORM_SECONDS)
        after = [space.frames() for space in self.switches]
        for space in self.switches:
            space.set_up(False)
        deadline = time.monotonic() + 5.0
        while self._gather([], {}, CALM_SECONDS) and time.monotonic() < deadline:
            pass
        for space in self.switches:
            space.set_up(True)
        self._settle()
        still = not self._gather([], {}, CALM_SECONDS)
        sent = [
            [s, int(port.removeprefix("swp")), count[1] - before[s][port][1]]
            for s, ports in enumerate(after)
            for port, count in ports.items()
            if count[1] > before[s][port][1]
        ]
        return sent if still else [*sent, [-1, -1, -1]]

    def clear(self) -> dict[str, Any]:
        """Take the fabric down."""
        for space in (*self.switches, *self.hosts):
            space.close()
        names = [space.name for space in (*self.switches, *self.hosts)]
        enter_first()
        _batch("ip", [f"netns del {name}" for name in names])
        self.switches, self.hosts = [], []
        return {}


def enter_first() -> None:
    """Return to the namespace the kernel started with."""
    with Path("/proc/1/ns/net").open() as handle:
        _libc.setns(handle.fileno(), CLONE_NEWNET)


def _batch(program: str, lines: list[str]) -> None:
    enter_first()
    done = subprocess.run(
        [program, "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(f"{program}: {done.stderr.strip()}")


def main(device: str, exchange: Path) -> None:
    """Answer requests until one says quit, or the line is hung up.

    A request is a number on the line and NUMBER.request in the exchange folder, its answer the same number and
    NUMBER.answer: the line of user-mode Linux loses what does not fit its buffer of 4096 bytes.
    """
    line = os.open(device, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line, termios.TCSANOW)
    prober = Prober()
    with os.fdopen(line, "r+b", buffering=0) as wire:
        wire.write(b"ready\n")
        while number := _number(wire):
            order = json.loads((exchange / f"{number}.request").read_text("utf-8"))
            what = order.pop("do")
            if what == "quit":
                return
            try:
                answer = {"ok": True, **getattr(prober, what)(**order)}
            except Exception as error:  # noqa: BLE001 - whatever it is, who asked must hear of it
                answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
            (exchange / f"{number}.answer").write_text(json.dumps(answer), "utf-8")
            wire.write(f"{number}\n".encode())


def _number(wire: io.FileIO) -> str:
    text = b""
    while not text.endswith(b"\n"):
        piece = wire.read(1)
        if not piece:
            return ""  # who asked is gone
        text += piece
    return text.decode().strip()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
