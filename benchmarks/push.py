"""Push 60 lines to a rack of switches that take 20 ms a command: by tagloom, by Ansible's cli_config, by bare netmiko.

(a) One wave to 64 switches without read-back and save: ansible-playbook with tagloom's way to speak to many switches,
    beside ansible.netcommon.cli_config over network_cli, libssh, 64 forks. The peer's ansible is installed into a
    temporary directory; its platform is cisco.ios's own terminal, told how a 6224 says who it is.
(b) The same by tagloom to 256 switches, beside a bare pool of netmiko threads in one process.
(c) A whole rollout of 64 switches by `tagloom apply`: look, waves, read-backs, saves, journal, and a wait of 5 s for
    old frames. (a), the peer and (c) take turns, twice, since the machine's speed drifts.

Every push is checked at the rack. Walls are of a whole command, from its start to its end; the rack is a process on the
same processors, and its CPU seconds are shown beside. `--small` takes 16 and 32 switches.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import netmiko
import yaml

from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.read.fabric_file import parse_fabric

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "powerconnect-6224"  # network_cli cannot log in to a 5324, which asks for the user inside the session
DELAY_SECONDS = 0.02
LINES = ["vlan database", *(f"vlan {vlan}" for vlan in range(100, 158)), "exit"]
FORKS = 64
ROUNDS = 2
GOAL_RATIO, GOAL_POOL_RATIO, GOAL_POOL_SECONDS, GOAL_WHOLE_RATIO = 10.0, 1.5, 5.0, 3.0
PEER = ("ansible>=12,<13", "ansible-pylibssh", "paramiko>=3.5,<4")
HERE = Path(__file__).parent
ROOT = HERE.parent
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Row:
    """What one push took: wall and CPU seconds of the pusher with all its children, CPU seconds of the rack."""

    wall: float
    pusher: float
    rack: float


class Rack:
    """A rack of switches in a process of its own; `pids` are those of all that were started."""

    pids: ClassVar[set[int]] = set()

    def __init__(self, home: Path, switches: int) -> None:
        self.home = home
        fabric = parse_fabric(mesh(switches), "bench")
        quirks = {"*": {"delay_seconds": DELAY_SECONDS}}
        self.info = process.up(Order(fabric, ROOT / "templates", quirks=quirks), home)
        self.names = list(self.info.ports)
        self.pids.add(self.info.pid)

    def cpu(self) -> float:
        """Return the CPU seconds of the rack so far."""
        return cpu_of(self.info.pid)

    def took_all(self) -> bool:
        """Return whether every switch holds the last line."""
        shown = process.configurations(self.home)
        return all(LINES[-2].removeprefix("vlan ") in text for text in shown.values())


def mesh(switches: int) -> str:
    """Write a fabric file of a mesh that is 8 switches wide."""
    return f"name: bench\nmodel: {MODEL}\nshape: {{family: mesh, dims: [8, {switches // 8}], hosts: 1}}\n"


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(rack: Rack, work: Callable[[], None]) -> Row:
    process.reboot(rack.home)
    before = time.monotonic(), spent(), rack.cpu()
    work()
    row = Row(time.monotonic() - before[0], spent() - before[1], rack.cpu() - before[2])
    end_orphans()
    assert rack.took_all(), "\n".join(log.read_text()[-3000:] for log in rack.home.parent.glob("*.log"))
    return replace(row, pusher=spent() - before[1])


def show(who: str, row: Row) -> None:
    print(f"{who:<44}{row.wall:>8.1f}{row.pusher:>10.1f}{row.rack:>8.1f}", flush=True)


# --- who pushes ------------------------------------------------------------------------------------------------------


def playbook(place: Path, task: dict[str, object], **words: object) -> Path:
    page = [{"hosts": "all", "gather_facts": False, "tasks": [task], **words}]
    path = place / "push.yml"
    path.write_text(yaml.safe_dump(page))
    return path


def run(words: list[str], environment: dict[str, str], log: Path) -> None:
    with log.open("w") as out:
        done = subprocess.run(words, cwd=log.parent, env=os.environ | environment, stdout=out, stderr=out, check=False)
    assert done.returncode == 0, log.read_text()[-3000:]


def adopt() -> None:
    """Adopt orphans among our descendants (prctl(2)), so that their CPU seconds count in the end."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def end_orphans() -> None:
    """End network_cli's connection processes, which wait for another playbook."""
    for page in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, fields = int(page.parent.name), page.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid() and pid not in Rack.pids:
                os.kill(pid, signal.SIGTERM)
                os.waitpid(pid, 0)


def ours(rack: Rack, place: Path) -> None:
    path = playbook(place, {"tagloom_send": {"lines": LINES}}, connection="local")
    inventories = ROOT / "playbooks" / "inventory_plugins"
    environment = {
        "ANSIBLE_ACTION_PLUGINS": str(HERE / "push"),
        "ANSIBLE_INVENTORY_PLUGINS": str(inventories),
        "ANSIBLE_INVENTORY_ENABLED": "tagloom",
        "ANSIBLE_FORKS": str(FORKS),
        "LC_ALL": "C.UTF-8",
    }
    words = [sys.executable, "-m", "ansible", "playbook", str(path), "-i", str(rack.home / "tagloom.yml")]
    run(words, environment, place / "ours.log")


def pool(rack: Rack) -> None:
    """Push by netmiko as its documentation does; without `disconnect`, which asks twice more where the session is."""

    def one(name: str) -> None:
        port = rack.info.ports[name]
        settings = {"device_type": "dell_os6", "host": "127.0.0.1", "username": "lab", "password": "lab"}
        wire = netmiko.ConnectHandler(**settings, port=port, fast_cli=True, conn_timeout=60, banner_timeout=60)
        wire.enable()
        wire.send_config_set(LINES, exit_config_mode=False)
        wire.paramiko_cleanup()

    with ThreadPoolExecutor(len(rack.names)) as threads:
        list(threads.map(one, rack.names))


def theirs(rack: Rack, place: Path) -> None:
    variables = {
        "ansible_connection": "ansible.netcommon.network_cli",
        "ansible_network_os": "bench.push.os6",
        "ansible_user": "lab",
        "ansible_password": "lab",
        "ansible_become": True,
        "ansible_become_method": "ansible.netcommon.enable",
        "ansible_network_cli_ssh_type": "libssh",
        "ansible_host_key_checking": False,
    }
    hosts = {name: {"ansible_host": "127.0.0.1", "ansible_port": port} for name, port in rack.info.ports.items()}
    (place / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": variables}}))
    path = playbook(place, {"ansible.netcommon.cli_config": {"config": "\n".join(LINES)}})
    environment = {
        "ANSIBLE_COLLECTIONS_PATH": str(place / "collections"),
        "ANSIBLE_FORKS": str(FORKS),
        "ANSIBLE_HOST_KEY_CHECKING": "0",
        "ANSIBLE_PERSISTENT_CONTROL_PATH_DIR": str(place / "pc"),
        "ANSIBLE_PERSISTENT_CONNECT_TIMEOUT": "300",
        "ANSIBLE_PERSISTENT_COMMAND_TIMEOUT": "300",
        "LC_ALL": "C.UTF-8",
    }
    words = [str(place / "peer/bin/ansible-playbook"), "-i", str(place / "inventory.yml"), str(path)]
    run(words, environment, place / "theirs.log")


def install(place: Path, peer: Path | None) -> None:
    """Make the peer's environment, unless there is one, and the collection that names the platform."""
    started = time.monotonic()
    if peer is not None:
        (place / "peer").symlink_to(peer.absolute())
    else:
        venv.create(place / "peer", with_pip=True)
        subprocess.run([place / "peer/bin/python", "-m", "pip", "install", "-q", *PEER], check=True)
        print(f"(the peer's ansible was installed in {time.monotonic() - started:.0f} s)", flush=True)
    plugins = place / "collections/ansible_collections/bench/push/plugins"
    for kind in ("terminal", "cliconf"):
        (plugins / kind).mkdir(parents=True)
        shutil.copy(HERE / "push/os6" / f"{kind}.py", plugins / kind / "os6.py")


# --- the whole -------------------------------------------------------------------------------------------------------


def prepare_whole(rack: Rack, place: Path) -> tuple[int, int]:
    """Set build a, and order what leads to build b: gives how many lines a switch, on average, and how many waves."""
    tagloom(place, "plan", "fabric.yml", "-o", "a")
    tagloom(place, "apply", "a", "--allow", "interrupt", "-i", str(rack.home))
    tagloom(place, "plan", "fabric.yml", "-o", "b", "--off", "s0:g1", "--previous", "a")
    tagloom(place, "rollout", "a", "b", "-o", "r")
    process.keep(rack.home)
    page = json.loads((place / "r/rollout.json").read_text())
    return sum(wave["commands"] for wave in page["waves"]) // len(rack.names), len(page["waves"])


def whole(rack: Rack, place: Path) -> Row:
    """Lead a rack that was prepared from build a to build b."""
    process.restore(rack.home)
    shutil.rmtree(rack.home / "runs")
    before = time.monotonic(), spent(), rack.cpu()
    tagloom(place, "apply", "r", "-i", str(rack.home))
    return Row(time.monotonic() - before[0], spent() - before[1], rack.cpu() - before[2])


def tagloom(place: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tagloom.cli", *words], cwd=place, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="16 and 32 switches instead of 64 and 256")
    parser.add_argument("--peer", type=Path, metavar="VENV", help=f"an environment with {', '.join(PEER)} in it")
    arguments = parser.parse_args()
    small = arguments.small
    few, many = (16, 32) if small else (64, 256)
    print(f"{len(LINES)} lines, {DELAY_SECONDS * 1000:.0f} ms a command, load {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory(prefix="push-") as folder:
        place = Path(folder)
        install(place, arguments.peer)
        adopt()
        print(f"\n{'':44}{'wall s':>8}{'CPU s':>10}{'rack':>8}")
        (place / "fabric.yml").write_text(mesh(few))
        rack, other_rack = Rack(place / "few", few), Rack(place / "whole", few)
        try:
            lines, waves = prepare_whole(other_rack, place)
            mine, other, all_of_it = [], [], []
            for _ in range(ROUNDS):
                mine.append(measure(rack, partial(ours, rack, place)))
                show(f"(a) tagloom, {few} switches", mine[-1])
                other.append(measure(rack, partial(theirs, rack, place)))
                show(f"    ansible.netcommon.cli_config, {few}", other[-1])
                all_of_it.append(whole(other_rack, place))
                show(f"(c) tagloom apply of a rollout, {few} switches", all_of_it[-1])
        finally:
            process.down(rack.home)
            process.down(other_rack.home)
        bare = sum(row.wall for row in other)
        cpu = sum(row.pusher for row in other) / sum(row.pusher for row in mine)
        ratio = bare / sum(row.wall for row in mine)
        print(f"(a) {ratio:.1f} times as fast (goal {GOAL_RATIO:g}), {cpu:.1f} times less CPU of the pusher")
        print(f"(c) {waves} waves, {lines} lines a switch on average, looks, read-backs, saves, journal:")
        ratio = bare / sum(row.wall for row in all_of_it)
        print(f"    {ratio:.1f} times as fast as bare cli_config of (a) (goal {GOAL_WHOLE_RATIO:g})\n")
        rack = Rack(place / "many", many)
        try:
            wide = measure(rack, partial(ours, rack, place))
            show(f"(b) tagloom, {many} switches", wide)
            threads = measure(rack, partial(pool, rack))
            show(f"    bare netmiko, {many} threads", threads)
        finally:
            process.down(rack.home)
        limit = GOAL_POOL_RATIO * threads.wall + GOAL_POOL_SECONDS
        print(f"    {wide.wall:.1f} s (goal: at most {limit:.1f} s)")


if __name__ == "__main__":
    main()
