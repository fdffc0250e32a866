"""Build bridges and hosts in network namespaces, run commands on them, send frames and tell where they went.

Runs as root of the namespaces it makes and of nothing else, inside user-mode Linux or in a user namespace, with nothing
but Python's own library: `prober.py WIRE EXCHANGE` answers one request at a time. Frames are numbered, so that every
copy is known wherever it is seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
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
SOL_PACKET, PACKET_AUXDATA, SO_ATTACH_FILTER = 263, 8, 26
AUXDATA = struct.Struct("=IIIHHHH")  # status, len, snaplen, mac, net, vlan_tci, vlan_tpid (linux/if_packet.h)
VLAN_VALID = 1 << 4
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP, IFF_LOWER_UP = 0x8913, 0x8914, 1, 1 << 16
STORM_COPIES = 4000  # more copies of one frame than any planned fabric of ours makes
STORM_FRAMES = 5000  # of the busiest port, to be counted of a storm before it is cut
STORM_SECONDS, STORM_POLL_SECONDS = 30.0, 0.05
CALM_SECONDS = 0.05
FIRST = -20
SETTLE_SECONDS, SETTLE_POLL_SECONDS = 60.0, 0.05
FORWARDING, BLOCKING = 3, 4  # linux/if_bridge.h
# Take in the lines that a shell would have run, in order, instead of running each: fd 3 is where they go.
BATCHED = ("ip", "bridge")
RECORDING = (
    "exec 3>&0 </dev/null; " + "".join(f"{p}() {{ printf '%s\\n' \"{p} $*\" >&3; }}; " for p in BATCHED) + '. "$0"'
)
# With several processors another one may still forward a frame when its first copies are read. With one, what forwards
# is done when a frame is sent, or has become a thread that waits for the processor (kernel/softirq.c: 2 ms, 10 rounds).
ALONE = os.cpu_count() == 1
PATIENCE_SECONDS = 0.0 if ALONE else 0.002
IDLE_POLL_SECONDS, IDLE_POLLS = 0.0005, 40
_libc = ctypes.CDLL(None, use_errno=True)


def enter(handle: int) -> None:
    """Enter a network namespace, for good: whatever is opened next is of it."""
    if _libc.setns(handle, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"setns: {os.strerror(ctypes.get_errno())}")


class Links:
    """The interfaces of the namespace it is made in, by rtnetlink (rtnetlink(7), linux/if_link.h)."""

    HEADER, INTERFACE = struct.Struct("=IHHII"), struct.Struct("=BxHiII")
    NEW, GET, ERROR, DONE, REQUEST, ACK, DUMP = 16, 18, 2, 3, 1, 4, 0x300
    NAME, INFO, KIND, DATA, SLAVE_KIND, SLAVE_DATA = 3, 18, 1, 2, 4, 5
    STP_STATE, FDB_FLUSH, PORT_STATE = 5, 21, 1

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)

    def flush(self) -> None:
        """Make the bridge forget what it learned; static entries stay. A broken text made no bridge: no error."""
        data = self._attribute(self.KIND, b"bridge") + self._attribute(self.DATA, self._attribute(self.FDB_FLUSH, b""))
        body = self._attribute(self.NAME, BRIDGE + b"\0") + self._attribute(self.INFO, data)
        for kind, payload in self._ask(self.NEW, self.REQUEST | self.ACK, body):
            code = -struct.unpack_from("=i", payload)[0] if kind == self.ERROR else 0
            if code not in (0, errno.ENODEV):
                raise OSError(code, f"flush: {os.strerror(code)}")

    def settled(self) -> bool:
        """Return whether every bridge port with a carrier forwards, or is blocked by a spanning tree that is on.

        The kernel tells a bridge of a cable that came up up to a second later (net/core/link_watch.c), and a port that
        spanning tree has blocked stays so when that goes off, until what it heard is max_age old.
        """
        spanning, ports = False, []
        for kind, payload in self._ask(self.GET, self.REQUEST | self.DUMP, b""):
            if kind != self.NEW:
                continue
            flags = self.INTERFACE.unpack_from(payload)[3]
            info = self._attributes(self._attributes(payload[self.INTERFACE.size :]).get(self.INFO, b""))
            if info.get(self.KIND, b"").rstrip(b"\0") == b"bridge":
                spanning |= bool(struct.unpack("=I", self._attributes(info[self.DATA])[self.STP_STATE])[0])
            if info.get(self.SLAVE_KIND, b"").rstrip(b"\0") == b"bridge" and flags & IFF_LOWER_UP:
                ports.append(self._attributes(info[self.SLAVE_DATA])[self.PORT_STATE][0])
        return all(state == FORWARDING or (spanning and state == BLOCKING) for state in ports)

    def _ask(self, kind: int, flags: int, body: bytes) -> list[tuple[int, bytes]]:
        """Send one request; return its answers as [message type, payload]."""
        body = self.INTERFACE.pack(0, 0, 0, 0, 0) + body
        self.socket.send(self.HEADER.pack(self.HEADER.size + len(body), kind, flags, 1, 0) + body)
        answers: list[tuple[int, bytes]] = []
        while True:
            data = self.socket.recv(1 << 17)
            while data:
                length, kind, *_ = self.HEADER.unpack_from(data)
                answers.append((kind, data[self.HEADER.size : length]))
                if kind in (self.ERROR, self.DONE):
                    return answers
                data = data[(length + 3) & ~3 :]

    @staticmethod
    def _attribute(kind: int, value: bytes) -> bytes:
        return struct.pack("=HH", 4 + len(value), kind) + value.ljust((len(value) + 3) & ~3, b"\0")

    @staticmethod
    def _attributes(data: bytes) -> dict[int, bytes]:
        found = {}
        while len(data) >= 4:
            length, kind = struct.unpack_from("=HH", data)
            found[kind & 0x3FFF] = data[4:length]
            data = data[(length + 3) & ~3 :]
        return found


class Namespace:
    """A network namespace made anew, and what stays open of it: a raw socket on all its ports, counters, its links.

    The kernel ends it when the last of these is closed, at the latest with this process.
    """

    def __init__(self, *, bridge: bool) -> None:
        if _libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
        self.handle = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.path = f"/proc/{os.getpid()}/fd/{self.handle}"  # what iproute2 takes for a namespace without a name
        for scope in ("all", "default"):
            with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6 sends none of its frames
                Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")  # no frames but ours
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self._filter(outgoing=bridge)
        self.raw.setblocking(False)
        self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.counters = os.open("/proc/thread-self/net/dev", os.O_RDONLY)
        self.links = Links()

    def _filter(self, *, outgoing: bool) -> None:
        """See only what a switch sends, or what a host receives: the other end of the cable sees the same frames."""
        load, jump_if_equal, back, packet_type = 0x30, 0x15, 0x06, 0xFFFFF000 + 4  # linux/filter.h: SKF_AD_PKTTYPE
        code = struct.pack("=HBBI", load, 0, 0, packet_type)
        code += struct.pack("=HBBI", jump_if_equal, int(not outgoing), int(outgoing), PACKET_OUTGOING)
        code += struct.pack("=HBBI", back, 0, 0, 0xFFFF) + struct.pack("=HBBI", back, 0, 0, 0)
        held = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
        self.raw.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)

    def close(self) -> None:
        """Close the namespace."""
        self.raw.close()
        self.control.close()
        self.links.socket.close()
        os.close(self.counters)
        os.close(self.handle)

    def set_up(self, name: bytes, up: bool = True) -> None:
        """Bring an interface up or down. Raises OSError where there is none of this name."""
        request = struct.pack("16sh14x", name, 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(self.control, SIOCGIFFLAGS, request))[1]
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(self.control, SIOCSIFFLAGS, struct.pack("16sh14x", name, flags))

    def frames(self) -> dict[str, list[int]]:
        """Return [received, sent] frames by port."""
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
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.switches: list[Namespace] = []
        self.hosts: list[Namespace] = []
        self.macs: list[bytes] = []
        self.poll = select.epoll()
        self.number = 0  # of the last frame sent
        self.stale = 0  # copies seen since then of frames before it
        self.load = os.open("/proc/loadavg", os.O_RDONLY)

    def build(self, switches: int, links: list[list[int]], hosts: list[list[Any]]) -> dict[str, Any]:
        """Make a namespace per switch and host and a cable per link.

        `links` are [switch, port, switch, port], `hosts` [switch, port, MAC]. Ports are named swp1, swp2, ...
        """
        self.switches = [Namespace(bridge=True) for _ in range(switches)]
        self.hosts = [Namespace(bridge=False) for _ in hosts]
        s, h = ([space.path for space in spaces] for spaces in (self.switches, self.hosts))
        lines = [f"link add swp{p} netns {s[a]} type veth peer name swp{q} netns {s[b]}" for a, p, b, q in links]
        lines += [
            f"link add swp{port} netns {s[at]} type veth peer name eth0 address {mac} netns {h[i]}"
            for i, (at, port, mac) in enumerate(hosts)
        ]
        enter(self.home)
        if complaints := _batch("ip", lines):
            raise OSError(f"ip: {'; '.join(complaints[:3])}")
        for host in self.hosts:
            host.set_up(b"eth0")
            host.raw.bind(("eth0", ETH_P_ALL))
        self.macs = [bytes.fromhex(mac.replace(":", "")) for _, _, mac in hosts]
        self.poll = select.epoll()
        self.at = {
            space.raw.fileno(): (space, i) for spaces in (self.switches, self.hosts) for i, space in enumerate(spaces)
        }
        for number in self.at:
            self.poll.register(number, select.EPOLLIN)
        return {}

    def run(self, texts: dict[str, str], one_by_one: bool = False) -> dict[str, Any]:
        """Run a file with a shell in a switch's namespace, by switch number; what is complained of, line by line.

        The shell runs the file's commands itself where `one_by_one` says so. Otherwise it says which they are, and few
        processes run them, in the same order: a command's exit status is then not the shell's to ask.
        """
        errors = {}
        for switch, path in texts.items():
            enter(self.switches[int(switch)].handle)
            if one_by_one:
                errors[switch] = _complaints(["sh", path], subprocess.DEVNULL)
                continue
            recorded = os.memfd_create("lines")
            errors[switch] = _complaints(["sh", "-c", RECORDING, path], recorded)
            with os.fdopen(recorded, "r", encoding="utf-8") as lines:
                lines.seek(0)
                errors[switch] += _run(lines.read().splitlines())
        self._settle()
        return {"errors": errors}

    def _settle(self) -> None:
        deadline = time.monotonic() + SETTLE_SECONDS
        waiting = self.switches
        while waiting := [space for space in waiting if not space.links.settled()]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"ports still not forwarding after {SETTLE_SECONDS:.0f} s")
            time.sleep(SETTLE_POLL_SECONDS)

    def batch(self, orders: dict[str, list[str]]) -> dict[str, Any]:
        """Run many commands on switches; what they complain of."""
        errors: dict[str, list[str]] = {}
        for switch, lines in orders.items():
            enter(self.switches[int(switch)].handle)
            errors[switch] = _run(lines)
        self._settle()
        return {"errors": errors}

    def cable(self, switch: int, port: int, up: bool) -> dict[str, Any]:
        """Bring a port up or down, which the other end of its cable sees; wait for nothing."""
        self.switches[switch].set_up(f"swp{port}".encode(), up)
        return {}

    def forget(self) -> dict[str, Any]:
        """Make all bridges forget what they learned."""
        for space in self.switches:
            space.links.flush()
        return {}

    def learned(self, switch: int) -> dict[str, Any]:
        """Return a switch's forwarding database, in iproute2's own JSON."""
        enter(self.switches[switch].handle)
        words = ["bridge", "-j", "fdb", "show", "br", BRIDGE.decode()]
        return {"entries": subprocess.run(words, capture_output=True, text=True, check=False).stdout or "[]"}

    def type(self, switch: int, lines: list[str]) -> dict[str, Any]:
        """Run commands one by one on a switch; returns [status, answer] of each."""
        enter(self.switches[switch].handle)
        answers = []
        for line in lines:
            done = subprocess.run(
                ["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            answers.append([done.returncode, (done.stdout + done.stderr).strip()])
        self._settle()
        return {"answers": answers}

    def show(self, switch: int) -> dict[str, Any]:
        """Return what the kernel holds, in iproute2's own JSON."""
        enter(self.switches[switch].handle)
        links = subprocess.run(["ip", "-j", "-d", "link", "show"], capture_output=True, text=True, check=False).stdout
        both = f"vlan show\nfdb show br {BRIDGE.decode()}\n"
        words = ["bridge", "-force", "-j", "-batch", "-"]
        text = subprocess.run(words, input=both, capture_output=True, text=True, check=False).stdout
        _, end = json.JSONDecoder().raw_decode(text)
        return {"links": links, "vlans": text[:end], "entries": text[end:]}

    def counters(self) -> dict[str, Any]:
        """Return every switch's [received, sent] frames by port."""
        return {"frames": [space.frames() for space in self.switches]}

    def send(self, frames: list[list[Any]], patience: float = 0.0, learn: bool = False) -> dict[str, Any]:
        """Send frames [host, destination MAC, tag] one after the other, the bridges having forgotten what they learned.

        Gives of each: `hops` [switch, port, tag] of every copy a switch sent (tag 0 = untagged), `hosts`
        {host: copies}, and `storm`, the frames each port sent in `seconds` of it, [] where there was none.
        A host tags its frame where a tag is given.
        `patience` is how long to wait for copies after the last one seen, in seconds.
        """
        return {"frames": [self._send(host, mac, patience, learn, *tag) for host, mac, *tag in frames]}

    def _send(self, host: int, mac: str, patience: float, learn: bool, tag: int = 0) -> dict[str, Any]:
        if not learn:
            for space in self.switches:
                space.links.flush()
        self.number += 1
        addresses = bytes.fromhex(mac.replace(":", "")) + self.macs[host]
        head = addresses + (struct.pack(">HH", 0x8100, tag) if tag else b"") + struct.pack(">HQ", PROBE, self.number)
        self.hosts[host].raw.send(head.ljust(SHORTEST, b"\0"))
        hops: list[list[Any]] = []
        heard: dict[int, int] = {}
        patience = max(patience, PATIENCE_SECONDS)
        self.stale = 0
        while self._gather(hops, heard, patience) or (ALONE and not self._idle() and self._gather(hops, heard, 0.0)):
            if self.stale > STORM_COPIES:
                raise OSError(f"frames sent before frame {self.number} still go round")
            if len(hops) > STORM_COPIES:
                storm, seconds = self._storm()
                return {"hops": hops[:STORM_COPIES], "hosts": heard, "storm": storm, "seconds": seconds}
        return {"hops": hops, "hosts": heard, "storm": [], "seconds": 0.0}

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
                if data[12:14] != PROBE.to_bytes(2, "big"):
                    continue
                if int.from_bytes(data[14:22], "big") != self.number:
                    self.stale += 1
                    continue
                if space in self.hosts:
                    if not outgoing and not tag:  # a host without VLAN interfaces takes no tagged frame
                        heard[index] = heard.get(index, 0) + 1
                elif outgoing and address[0] != BRIDGE.decode():
                    hops.append([index, int(address[0].removeprefix("swp")), tag])
        return bool(events)

    def _idle(self) -> bool:
        """Return whether nothing but this process wanted the processor at once; else wait for that, not for long."""
        for poll in range(IDLE_POLLS):
            running = os.pread(self.load, 64, 0).split()[3].partition(b"/")[0]  # proc(5), /proc/loadavg
            if running == b"1":
                return poll == 0
            time.sleep(IDLE_POLL_SECONDS)
        return False

    def _storm(self) -> tuple[list[list[int]], float]:
        """Count what every port sends, and in how many seconds, then cut it: bridges down until all is still, then up.

        It is counted until the busiest port has sent STORM_FRAMES, however slow this machine is.
        """
        before = [space.frames() for space in self.switches]
        start, busiest = time.monotonic(), 0
        while busiest < STORM_FRAMES and time.monotonic() < start + STORM_SECONDS:
            time.sleep(STORM_POLL_SECONDS)
            after = [space.frames() for space in self.switches]
            busiest = max(
                count[1] - before[s][port][1] for s, ports in enumerate(after) for port, count in ports.items()
            )
        seconds = time.monotonic() - start
        for space in self.switches:
            with contextlib.suppress(OSError):  # a broken text made no bridge
                space.set_up(BRIDGE, up=False)
        deadline = time.monotonic() + 5.0
        while self._gather([], {}, CALM_SECONDS) and time.monotonic() < deadline:
            pass
        for space in self.switches:
            with contextlib.suppress(OSError):  # a broken text made no bridge
                space.set_up(BRIDGE, up=True)
        self._settle()
        still = not self._gather([], {}, CALM_SECONDS)
        sent = [
            [s, int(port.removeprefix("swp")), count[1] - before[s][port][1]]
            for s, ports in enumerate(after)
            for port, count in ports.items()
            if count[1] > before[s][port][1]
        ]
        return sent if still else [*sent, [-1, -1, -1]], seconds

    def clear(self) -> dict[str, Any]:
        """Take the fabric down."""
        enter(self.home)
        for space in (*self.switches, *self.hosts):
            space.close()
        self.poll.close()
        self.switches, self.hosts = [], []
        return {}


def _run(lines: list[str]) -> list[str]:
    """Run commands, those of one iproute2 program in a row by one process; return what they complain of."""
    errors = []
    for program, some in itertools.groupby(lines, key=lambda line: line.split()[0]):
        if program in BATCHED:
            errors += _batch(program, [line.removeprefix(program) for line in some])
        else:
            for line in some:
                errors += _complaints(["sh", "-c", line], subprocess.DEVNULL)
    return errors


def _batch(program: str, lines: list[str]) -> list[str]:
    words = [program, "-force", "-batch", "-"]
    done = subprocess.run(words, input="\n".join([*lines, ""]), capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()


def _complaints(words: list[str], stdin: int) -> list[str]:
    done = subprocess.run(words, stdin=stdin, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()


def main(wire: str, exchange: Path) -> None:
    """Answer requests until one says quit, or the line is hung up.

    WIRE is a device, or "fd:N" for what is open as N. A request is a number on it and NUMBER.request in the exchange
    folder, its answer the same number and NUMBER.answer: the line of user-mode Linux loses what does not fit its buffer
    of 4096 bytes.
    """
    with contextlib.suppress(PermissionError):  # refused in a user namespace
        os.setpriority(os.PRIO_PROCESS, 0, FIRST)  # a storm keeps the kernel busy; what cuts it must come to run
    line = int(wire[3:]) if wire.startswith("fd:") else os.open(wire, os.O_RDWR | os.O_NOCTTY)
    if os.isatty(line):
        tty.setraw(line, termios.TCSANOW)
    prober = Prober()
    with os.fdopen(line, "r+b", buffering=0) as stream:
        stream.write(b"ready\n")
        while number := _number(stream):
            order = json.loads((exchange / f"{number}.request").read_text("utf-8"))
            what = order.pop("do")
            if what == "quit":
                return
            try:
                answer = {"ok": True, **getattr(prober, what)(**order)}
            except Exception as error:  # noqa: BLE001 - whatever it is, who asked must hear of it
                answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
            (exchange / f"{number}.answer").write_text(json.dumps(answer), "utf-8")
            stream.write(f"{number}\n".encode())


def _number(stream: io.FileIO) -> str:
    text = b""
    while not text.endswith(b"\n"):
        piece = stream.read(1)
        if not piece:
            return ""  # who asked is gone
        text += piece
    return text.decode().strip()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
