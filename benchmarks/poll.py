"""Poll 256 rack agents of 28 ports each, beside snmpbulkwalk run in parallel on the same agents in the same run.

A poll is sysUpTime and eight columns of IF-MIB: admin and oper status, last change, speed, and 64-bit octets and
packets both ways. snmpbulkwalk walks one subtree a process, so it gets the two tables that hold those columns: two
processes a switch are less than eight, one a column. The agents run in a process of their own. On a machine with little
else to do the walls say most; CPU seconds hold anywhere.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.adapters.snmp import Snmp
from tagloom.lab.agent import Agent, Login, serve
from tagloom.lab.device import Device
from tagloom.lab.mib import SwitchTree, switch_mac
from tagloom.observe.objects import COUNTERS
from tagloom.records.snmp import Credentials

if TYPE_CHECKING:
    from collections.abc import Callable

SWITCHES, PORTS, ROUNDS, PARALLEL = 256, 28, 3, 8
GOAL_SECONDS, GOAL_RATIO = 3.0, 3.0
LOGIN = Login("lab", "lab", "lab-auth-password", "lab-priv-password")
CREDENTIALS = {
    "v3 authPriv": Credentials(user="lab", auth_password=LOGIN.auth_password, priv_password=LOGIN.priv_password),
    "v2c": Credentials(version="2c", community="lab"),
}
V3_WORDS = "-v3 -l authPriv -u lab -a SHA -A lab-auth-password -x AES -X lab-priv-password"
WORDS = {"v3 authPriv": V3_WORDS, "v2c": "-v2c -c lab"}
TABLES = ("1.3.6.1.2.1.2.2", "1.3.6.1.2.1.31.1.1")
TICK = os.sysconf("SC_CLK_TCK")


def address(number: int) -> str:
    return f"127.79.{number // 250}.{number % 250 + 1}"


async def agents() -> None:
    """Be the agents' process: say the UDP port, then answer until the end of standard input."""
    names = tuple(f"g{n}" for n in range(1, PORTS + 1))
    platform = replace(platforms.load("powerconnect-5324"), port_names=names)
    port = 0
    for number in range(SWITCHES):
        device = Device(f"s{number}", platform, lambda _: "")
        tree = SwitchTree(device, number, lambda p: (p << 33, p << 34), dict, time.monotonic, lambda _: 0.0)
        agent = Agent(tree, LOGIN, b"\x80\x00\x1f\x88\x03" + switch_mac(number).to_bytes(6, "big"))
        port = (await serve(agent, (address(number), port))).get_extra_info("sockname")[1]
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def spent(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measure(agents_pid: int, who: int, work: Callable[[], None]) -> tuple[float, float, float]:
    """Return wall, the poller's CPU and the agents' CPU, in seconds."""
    before = time.monotonic(), spent(who), cpu_of(agents_pid)
    work()
    return time.monotonic() - before[0], spent(who) - before[1], cpu_of(agents_pid) - before[2]


def ours(wire: Snmp, places: dict[str, tuple[str, int]]) -> None:
    found = wire.ask(places, COUNTERS)
    for raw in found.values():
        assert (raw.error, raw.complaints) == ("", ())
        assert all(len(rows) == PORTS + 1 for rows in raw.columns.values())


def theirs(words: str, port: int) -> None:
    walks = "; ".join(f"snmpbulkwalk -m '' {words} -Cr{PORTS} -Oqn {{}}:{port} {table}" for table in TABLES)
    hosts = "\n".join(address(n) for n in range(SWITCHES))
    done = subprocess.run(
        ["xargs", "-P", str(PARALLEL), "-I{}", "sh", "-c", walks],
        input=hosts.encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    assert len(done.stdout.splitlines()) > SWITCHES * PORTS * 15


def main() -> None:
    running = subprocess.Popen(
        [sys.executable, __file__, "agents"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdin is not None
    assert running.stdout is not None
    try:
        port = int(running.stdout.readline())
        places = {f"s{n}": (address(n), port) for n in range(SWITCHES)}
        values = 1 + PORTS * sum(map(len, COUNTERS.tables))
        print(f"{SWITCHES} agents x {PORTS} ports, {values} values a poll; load {os.getloadavg()[0]:.1f}\n")
        print("                         wall s  poller CPU s  agents CPU s  polls/s")
        for version, credentials in CREDENTIALS.items():
            rows: dict[str, list[tuple[float, float, float]]] = {"tagloom": [], "snmpbulkwalk": []}
            with Snmp(credentials) as wire:
                first = measure(running.pid, resource.RUSAGE_SELF, lambda w=wire: ours(w, places))
                show(version, "tagloom, first", first)
                for _ in range(ROUNDS):
                    rows["tagloom"].append(measure(running.pid, resource.RUSAGE_SELF, lambda w=wire: ours(w, places)))
                    if shutil.which("snmpbulkwalk"):
                        walk = WORDS[version]
                        rows["snmpbulkwalk"].append(
                            measure(running.pid, resource.RUSAGE_CHILDREN, lambda w=walk: theirs(w, port))
                        )
            best = {who: min(each) for who, each in rows.items() if each}
            for who, row in best.items():
                show(version, who, row)
            verdict(first[0], best)
    finally:
        running.stdin.close()
        running.wait()


def show(version: str, who: str, row: tuple[float, float, float]) -> None:
    print(f"{version:<12}{who:<14}{row[0]:>5.2f}{row[1]:>14.2f}{row[2]:>14.2f}{SWITCHES / row[0]:>9.0f}")


def verdict(first: float, best: dict[str, tuple[float, float, float]]) -> None:
    wall = max(first, best["tagloom"][0])
    print(f"{'':12}slowest poll of all switches {wall:.2f} s (goal {GOAL_SECONDS:g} s)")
    if "snmpbulkwalk" not in best:
        print(f"{'':12}snmpbulkwalk is not installed: apt install snmp\n")
        return
    ratio = best["snmpbulkwalk"][0] / best["tagloom"][0]
    cpu = best["snmpbulkwalk"][1] / best["tagloom"][1]
    print(
        f"{'':12}{ratio:.1f} times snmpbulkwalk's polls/s (goal {GOAL_RATIO:g}); "
        f"{cpu:.1f} times as many per second of the poller's CPU\n"
    )


if __name__ == "__main__":
    asyncio.run(agents()) if sys.argv[1:] == ["agents"] else main()
