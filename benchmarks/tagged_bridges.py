"""Write results/tagged-bridges.md: a ping-pong through kernel bridges that tag, beside one through bridges that do not.

Stands two hosts and two bridges up in user-mode Linux, twice: once without VLANs, once as tagloom's plans are, with a
VLAN for the frames of each host, tags between the bridges and static entries. Needs no root; Debian's user-mode-linux.
"""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tagloom.lab.kernel import launcher, machine
from tagloom.measure import loops

ROOT = Path(__file__).resolve().parents[1]
SIZES = {64: 2000, 1460: 2000, 65536: 200, 1048576: 20}  # bytes and round trips
ROUNDS, MIDDLE = 25, (7, 17)  # the median of 25 lies between the 8th and the 18th with 95.7 %, whatever the noise
PORT, PATIENCE_SECONDS, BOOT_SECONDS = 5001, 30.0, 400
KINDS = ("untagged", "tagged")
NEAR, FAR = ("198.18.0.1", "02:00:00:00:00:01"), ("198.18.0.2", "02:00:00:00:00:02")
TEXT = """\
# Bandwidth with tags: kernel bridges that tag beside bridges that do not

Written by `python benchmarks/tagged_bridges.py`, for table 5 of Koibuchi et al. 2011, whose numbers could not
be read here. TCP ping-pong between two hosts over two Linux bridges in user-mode Linux, one processor for all,
frames of at most 1,514 bytes. Tagged: a VLAN for the frames of each host, tags between the bridges, static
entries, as our plans are; untagged: plain bridges that learn. Medians of {rounds} rounds by turns, the ratio's with
its 95 % interval; the machine was busy with other work. The bandwidth is that of the processor, not of a link: it
shows what a bridge's own work on tags costs, and nothing of a switch's.
"""
INIT = """\
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs run /run; mount -t devtmpfs dev /dev 2>/dev/null
exec </dev/null >/dev/console 2>&1
mkdir -p /run/modules/lib; ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in bridge veth 8021q; do modprobe -d /run/modules $module; done
%s
busybox poweroff -f
"""


def run(line: str) -> None:
    """Run one command; raises CalledProcessError where it fails."""
    subprocess.run(line.split(), check=True)


def stand_up(kind: str) -> None:
    """Make near - s0 - s1 - far in namespaces, the bridges with VLANs or without."""
    near, far, bridges = f"{kind}-near", f"{kind}-far", (f"{kind}-s0", f"{kind}-s1")
    for name in (near, far, *bridges):
        run(f"ip netns add {name}")
    run(f"ip link add eth0 netns {near} type veth peer name host netns {bridges[0]}")
    run(f"ip link add eth0 netns {far} type veth peer name host netns {bridges[1]}")
    run(f"ip link add uplink netns {bridges[0]} type veth peer name uplink netns {bridges[1]}")
    for i, name in enumerate(bridges):
        vlans = f"vlan_filtering {int(kind == 'tagged')} vlan_default_pvid {int(kind == 'untagged')}"
        run(f"ip -n {name} link add br0 type bridge {vlans}")
        for port in ("host", "uplink"):
            run(f"ip -n {name} link set {port} master br0")
            run(f"ip netns exec {name} ethtool -K {port} tx off tso off gso off gro off")
            run(f"ip -n {name} link set {port} up")
        run(f"ip -n {name} link set br0 up")
        if kind == "tagged":
            own, other = (10, 20) if i == 0 else (20, 10)
            run(f"bridge -n {name} vlan add dev host vid {own} pvid untagged")
            run(f"bridge -n {name} vlan add dev host vid {other} untagged")
            for vlan in (own, other):
                run(f"bridge -n {name} vlan add dev uplink vid {vlan}")
                for (_, mac), at in ((NEAR, 0), (FAR, 1)):
                    port = "host" if at == i else "uplink"
                    run(f"bridge -n {name} fdb replace {mac} dev {port} vlan {vlan} master static sticky")
    for name, (address, mac), (there, their) in ((near, NEAR, FAR), (far, FAR, NEAR)):
        run(f"ip -n {name} link set eth0 address {mac}")
        run(f"ip netns exec {name} ethtool -K eth0 tx off tso off gso off gro off")
        run(f"ip -n {name} address add {address}/30 dev eth0")
        run(f"ip -n {name} link set eth0 up")
        run(f"ip -n {name} neigh replace {there} lladdr {their} dev eth0 nud permanent")


def pong() -> None:
    """Answer every size of one peer."""
    with socket.create_server(("", PORT)) as server:
        print("ready", flush=True)
        wire, _ = server.accept()
    loops.prepare(wire, PATIENCE_SECONDS)
    for size, repeats in SIZES.items():
        loops.pong_stream(wire, memoryview(bytes(size)), memoryview(bytearray(size)), repeats)


def ping() -> None:
    """Print the one-way seconds of every size."""
    wire = socket.create_connection((FAR[0], PORT))
    loops.prepare(wire, PATIENCE_SECONDS)
    found = []
    for size, repeats in SIZES.items():
        took = loops.ping_stream(wire, memoryview(bytes(size)), memoryview(bytearray(size)), repeats)
        found.append(took / 2e9 / repeats)
    print(json.dumps(found), flush=True)


def inside(rounds: int) -> None:
    """Measure both networks by turns, and print a line of JSON for every round."""
    for kind in KINDS:
        stand_up(kind)
    for number in range(rounds):
        for kind in KINDS if number % 2 == 0 else KINDS[::-1]:
            words = ["ip", "netns", "exec"]
            program = [sys.executable, __file__]
            far = subprocess.Popen([*words, f"{kind}-far", *program, "--pong"], stdout=subprocess.PIPE, text=True)
            assert far.stdout is not None
            far.stdout.readline()
            near = [*words, f"{kind}-near", *program, "--ping"]
            said = subprocess.run(near, check=True, capture_output=True, text=True).stdout
            far.wait()
            print(f"ROUND {json.dumps([kind, json.loads(said)])}", flush=True)


def measure(rounds: int) -> dict[str, list[list[float]]]:
    """Boot user-mode Linux and return one-way seconds by kind, round and size. Raises ValueError with its log."""
    hidden = machine.overflows(machine.CPUINFO.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="tagloom-") as folder:
        script, log = Path(folder, "init.sh"), Path(folder, "log")
        script.write_text(INIT % shlex.join([sys.executable, __file__, "--inside", str(rounds)]), "utf-8")
        launched = [sys.executable, "-I", "-S", str(launcher.__file__)] if hidden else []
        words = machine.boot_command("512M", "ssl0=null", [str(script)], launched)
        with log.open("w+b") as out:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False, timeout=BOOT_SECONDS)
        text = log.read_text("utf-8", errors="replace")
    found: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    for line in text.splitlines():
        if line.startswith("ROUND "):
            kind, seconds = json.loads(line.removeprefix("ROUND "))
            found[kind].append(seconds)
    if [len(each) for each in found.values()] != [rounds] * len(KINDS):
        raise ValueError(text[-4000:])
    return found


def page(found: dict[str, list[list[float]]]) -> str:
    """Lay medians over the rounds out as Markdown, and that of the ratios with its interval."""
    lines = [
        TEXT.format(rounds=ROUNDS),
        "| message, bytes | untagged, us one way | tagged | untagged, Mb/s | tagged | tagged bandwidth over untagged |",
        "|---|---|---|---|---|---|",
    ]
    same = 0
    for at, size in enumerate(SIZES):
        plain, tagged = ([seconds[at] for seconds in found[kind]] for kind in KINDS)
        ratios = sorted(a / b for a, b in zip(plain, tagged, strict=True))
        low, high = (ratios[i] for i in MIDDLE)
        middle = [median(plain), median(tagged)]
        cells = [f"{size:,}", *(f"{1e6 * s:.0f}" for s in middle), *(f"{8e-6 * size / s:.1f}" for s in middle)]
        lines.append(f"| {' | '.join(cells)} | {median(ratios):.2f} ({low:.2f} to {high:.2f}) |")
        same += low <= 1 <= high
    said = f"In {same} of {len(SIZES)} sizes the interval holds 1: no difference was seen there."
    return "\n".join([*lines, "", said, ""])


if __name__ == "__main__":
    if "--ping" in sys.argv:
        ping()
    elif "--pong" in sys.argv:
        pong()
    elif "--inside" in sys.argv:
        inside(int(sys.argv[2]))
    else:
        text = page(measure(ROUNDS))
        (ROOT / "benchmarks" / "results" / "tagged-bridges.md").write_text(text, "utf-8")
        print(text)
