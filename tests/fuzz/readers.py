"""Every file a user can give to a command: a whole one to be damaged, and the words that read it."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sqlite3
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fabrics import ROOT
from tagloom import cli, platforms
from tagloom.adapters.clock_metrics import ClockMetrics
from tagloom.adapters.forecasts import Forecasts
from tagloom.adapters.history import History
from tagloom.adapters.measurements import Measurements
from tagloom.adapters.meters_csv import read_samples
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.build import GIVEN_BACK, duplicates_allowed, learns, ports_of, proven_texts
from tagloom.apply.journal import Journal
from tagloom.apply.lock import holder
from tagloom.cli.bootstrapping import user_key_in
from tagloom.cli.inputs import text_of
from tagloom.lab.directory import read_info
from tagloom.measure.np_out import format_np_out
from tagloom.measure.sessions import baseline_of
from tagloom.operate import waves
from tagloom.operate.clock_document import read_clock
from tagloom.operate.one_way_links import OneWayLinks
from tagloom.operate.repair_runs import FOLDER
from tagloom.operate.watchdog import read_watchdog
from tagloom.pipeline import read_build, traffic_from
from tagloom.platforms.evidence import first_login, settle
from tagloom.predict.sweep import read_sweep
from tagloom.read import fabric_of, read_fabric
from tagloom.read.active_tree import read_active_tree
from tagloom.read.calendar import due, upcoming
from tagloom.read.fabric_addresses import FabricText
from tagloom.read.history import read_history
from tagloom.read.requests import requests_in
from tagloom.read.snmp_settings import read_snmp_settings
from tagloom.read.timetable_file import read_timetable
from tagloom.read.transcript_file import read_transcript
from tagloom.read.windows import read_windows
from tagloom.records.addresses import AddressChange
from tagloom.records.kept import Measured, Quantity
from tagloom.records.measurement import Point, StoredMeasurement
from tagloom.records.observation import Counters, Observation
from tagloom.records.timetable import TimetableProgress
from tagloom.regulate.settings_file import read_result
from tagloom.render import read_text

if TYPE_CHECKING:
    from collections.abc import Callable

RING = (
    "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3], parallel: 2}\n"
    'switches:\n  s0: {address: 192.0.2.10}\nhosts:\n  h0: {mac: "02:00:00:00:00:10", mac_prefix: "52:54:00"}\n'
    'links:\n  - {ends: ["s0:g1", "s2:g3"], speed: 100, state: up}\n'
)
GOING = "\n  - {ends: ['s3:g1', 's0:g20']}"  # a switch that only the older of two fabrics has
FOUR = RING.replace("links:", f"links:{GOING}").replace("  s0: {", "  s3: {}\n  s0: {")
DAY = "# seconds: 43200\ntime,source,destination,bytes\n2026-11-20T00:00,h0,h1,1e6\n2026-11-20T12:00,h1,h2,1e6\n"
MATRIX = "# seconds: 60\nsource,destination,bytes,messages\nh0,h1,1000000,10\nh1,h2,5e5,3\nh2,h0,7,1\n"
RANKS = "src,dst,wire_bytes,wire_msgs\n0,1,1000,10\n1,2,500,5\n2,0,70,1\n"
FLOWS = "ts,te,sa,da,ipkt,ibyt\n2026-11-20 10:00:00,2026-11-20 10:01:00,h0,h1,10,1000\nSummary\n"
MPIP = (
    "@ mpiP\n@ Version: 3.5.0\n@ MPI Task Assignment      : 0 a\n@ MPI Task Assignment      : 1 b\n"
    "@--- MPI Time (seconds) ---\nTask    AppTime    MPITime     MPI%\n   0       10.0        1.0    10.00\n"
    "   1       10.0        1.5    15.00\n   *       20.0        2.5    12.50\n"
    "@--- Aggregate Sent Message Size (top twenty, descending, bytes) ---\n"
    "Call                 Site      Count      Total       Avrg  Sent%\n"
    "Send                    1        100      1e+06      1e+04  90.00\n"
)
PROF = "E\t{0}\t{1}\t1000 bytes\t10 msgs sent\t1,2,3\nI\t{0}\t{1}\t10 bytes\t1 msgs sent\n"
TAU = (
    "2 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n"
    '"main" 1 4 1000000 2000000 0 GROUP="TAU_DEFAULT"\n"MPI_Send()" 10 0 1000 2000 0 GROUP="MPI"\n'
    "0 aggregates\n1 userevents\n# eventname numevents max min mean sumsqr\n"
    '"Message size sent to node {}" 10 100 100 100 100000 \n'
)
NIGHT = "- {when: '0 20 * * 1-5', settings: s.json}\n- {when: '0 6 * * *', settings: all-on}\n"
TIMETABLE = (
    f"timezone: Europe/Berlin\ndwell_seconds: 600\nchanges_a_day: 4\nreweave: auto\nreweave_gain: 0.3\nrules:\n{NIGHT}"
    '- {when: "0 12 * * 6", off: [s0:g2, s1:g2]}\n'
)
POWER = (
    "powerconnect-5324: {base: 20.5, per_port: {10: 0.5, 100: 0.7, 1000: 1.1}, transceiver: 0.2, source: measured}\n"
)
SWEEP = "build: b\ntraffic: [m.csv, 'pattern:uniform']\nsettings: [none, s.json]\ntimeouts: [0, 0.001]\nseconds: 60\n"
SNMP = (
    "version: '3'\nuser: lab\nauth_password: lab-auth-password\npriv_password: lab-priv-password\nport: 9\n"
    "addresses: {s0: 127.0.0.1, s1: '127.0.0.1:9'}\n"
)
POLICY = (
    "eee: {timeout_seconds: 0.001, sleep_seconds: 0.0002, wake_seconds: 1.6e-05, source: fitted, lpi_power: 0.3, "
    "intervals: {timeout_seconds: [0.0009, 0.0011], sleep_seconds: [0.0001, 0.0003], "
    "wake_seconds: [1.0e-05, 2.0e-05]}}\n"
    "residual_seconds: 1.0e-06\npairs: 9\n"
    "fit: {plateau_seconds: 6.0e-05, alpha: 900.0, threshold_seconds: 0.0004, offset_seconds: 0.0003, "
    "residual_seconds: 1.0e-07}\n"
)
PAIRS = "gap_seconds,overhead_seconds\n0.001,0.0001\n0.002,0.0002\n0.004,0.0002\n0.008,0.0002\n"
MEASURED = "quantity,value,at,fabric\nwatts_after,70.5,1,ring\nseconds_predicted,60,,\n"
WATTS = "seconds,watts\n0,10.5\n1,10.6\n2,11\n"
KEY = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7 ops@desk\n"
GAPS = '{"gaps": [{"gap_seconds": [0.001, 0.0011], "round_trip_seconds": [0.0002, 0.00021]}]}'
MACS = [f"00:1e:c9:00:00:0{n}" for n in range(3)]
ETHERS = "".join(f"{mac} h{n}\n" for n, mac in enumerate(MACS))
DNSMASQ = "".join(f"dhcp-host={mac},set:a,h{n},192.0.2.{n},12h\n" for n, mac in enumerate(MACS))
ISC = "".join(
    f'lease 192.0.2.{n} {{ hardware ethernet {mac}; client-hostname "h{n}"; }}\n' for n, mac in enumerate(MACS)
)
KEA = json.dumps({"Dhcp4": {"reservations": [{"hw-address": mac, "hostname": f"h{n}"} for n, mac in enumerate(MACS)]}})
KEA_LEASES = "address,hwaddr,valid_lifetime,hostname,state\n"
KEA_LEASES += "".join(f"192.0.2.{n},{mac},3600,h{n},0\n" for n, mac in enumerate(MACS))
SLURM = "NodeName=h[0-2] CPUs=8\n"
ANSIBLE = f"all: {{hosts: {{h0: {{mac: '{MACS[0]}'}}, h1: {{mac: '{MACS[1]}'}}}}}}\n"
ANSIBLE += f"nodes: {{hosts: {{h2: {{ansible_default_ipv4: {{macaddress: '{MACS[2]}'}}}}}}}}\n"
INI = "[nodes]\n" + "".join(f"h{n} mac={mac}\n" for n, mac in enumerate(MACS))
UCI = "".join(f"config host\n\toption name 'h{n}'\n\toption mac '{mac}'\n" for n, mac in enumerate(MACS))
NEIGHBORS = "".join(f"h{n} dev eth0 lladdr {mac} REACHABLE\n" for n, mac in enumerate(MACS))
WAREWULF = "nodes:\n" + "".join(
    f"  h{n}:\n    network devices:\n      default: {{hwaddr: '{mac}'}}\n" for n, mac in enumerate(MACS)
)
XCAT = "#node,interface,mac,comments,disable\n" + "".join(f'"h{n}","eth0","{mac}",,\n' for n, mac in enumerate(MACS))
NETBOX = json.dumps({"results": [{"device": {"name": f"h{n}"}, "mac_address": mac} for n, mac in enumerate(MACS)]})
NEW = [AddressChange("h1", 9, None, ""), AddressChange("h2", 10, None, "")]
LISTS = {
    "ethers": ETHERS,
    "dnsmasq.conf": DNSMASQ,
    "dhcpd.leases": ISC,
    "kea.json": KEA,
    "kea.csv": KEA_LEASES,
    "slurm.conf": SLURM,
    "hosts.yml": ANSIBLE,
    "hosts.ini": INI,
    "interfaces.json": NETBOX,
    "dhcp": UCI,
    "neighbors.txt": NEIGHBORS,
    "nodes.conf": WAREWULF,
    "mac.csv": XCAT,
}
EVENTS = """CLOCK_PROPERTIES Ticks per Seconds: 1000000000
GROUP 0 Type: COMM_LOCATIONS, 2 Members: 0, 1
COMM 0 Group: <0>
LEAVE 0 10 Region: "MPI_Init"
ENTER 0 20 Region: "MPI_Send"
MPI_SEND 0 30 Receiver: 1, Communicator: <0>, Tag: 1, Length: 5000
MPI_COLLECTIVE_END 0 50 Operation: BCAST, Communicator: <0>, Root: 1, Sent: 0, Received: 8
LEAVE 0 60 Region: "MPI_Send"
LEAVE 1 10 Region: "MPI_Init"
ENTER 1 30000 Region: "MPI_Recv"
MPI_RECV 1 40000 Sender: 0, Communicator: <0>, Tag: 1, Length: 5000
MPI_COLLECTIVE_END 1 50000 Operation: BCAST, Communicator: <0>, Root: 1, Sent: 16, Received: 8
LEAVE 1 60000 Region: "MPI_Recv"
"""
TRACE = "# seconds: 60\nstep,source,destination,bytes,compute_seconds\n0,h0,h1,1e6,0.1\n1,h1,h2,500,0\n1,h2,,,0.2\n"
SPELT = "{# as our firmware prints it #}\n{% macro no_shutdown() %}admin up{% endmacro %}\n"
SITE = "{% if switch.name == 's0' %}\nsnmp-server location {{ switch.name }}\n{% endif %}\nlogging 192.0.2.7\n"
CLOCK = {
    "user": "x",
    "host": "x",
    "pid": 1,
    "timetable": "/t.yml",
    "status": {
        "at": 1.0,
        "settings": ["s.json"],
        "scheduled": "s.json",
        "raised": False,
        "links_off": 1,
        "watts": 70.0,
        "full_watts": 80.0,
        "busiest_share": 0.5,
        "jobs": 0,
        "next_at": None,
        "changes": 1,
        "failures": 0,
    },
}
FACTS = json.dumps({"ansible_facts": {"ansible_hostname": "h0", "ansible_default_ipv4": {"macaddress": MACS[0]}}})
NP_OUT = format_np_out([Point(1, 100, (8.39e-6,)), Point(64, 100, (9e-6,)), Point(1024, 100, (2e-5,))])


@dataclass(frozen=True)
class Reader:
    """A file that is damaged, below the home, and what reads it; `binary` files have no words to be exchanged."""

    name: str
    file: str
    read: Callable[[], Any]
    binary: bool = False


def read_text_of(model: str, path: Path) -> object:
    """Read a running configuration for a proof, as of a fabric that has the first four ports."""
    return read_text(platforms.load(model), text_of(path), "s0", [1, 2, 3, 4])


cli.parser = cache(cli.parser)  # which takes longer than most commands


def command(words: str) -> Callable[[], int]:
    """Run a command, its output dropped; give its status."""

    def run() -> int:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told := io.StringIO()):
            try:
                status = cli.main(words.split())
            except SystemExit as error:
                status = error.code
        if "tagloom has a fault" in told.getvalue() or status not in {0, 1, 2, 3}:
            raise AssertionError(f"status {status}: {told.getvalue()[-500:]}")
        return status

    return run


def _history() -> None:
    with contextlib.closing(History(Path("h.db"))) as file:
        file.last("ring")
        list(file.snapshots("ring", 1e6))


def _estimate() -> None:
    with contextlib.closing(History(Path("h.db"))) as file:
        fabric = read_fabric(Path("b/fabric.yml"))
        traffic_from(fabric, read_build(Path("b"), states=False).routes, file.snapshots("ring", None), "h.db")


def _ledger() -> None:
    with contextlib.closing(TimetableMemory(Path("state.db"))) as file:
        file.standing()
        file.counts()
        file.note(3.0, "done", ("a",), "")


def _journal() -> None:
    with Journal(Path("journal.db")) as file:
        for run in file.runs():
            assert run.standing
            file.switches(run.id)
            file.unpack(run.id, Path("unpacked"))
        file.unfinished("ring")
        file.interrupt()


def _transcript() -> None:
    heard = read_transcript(Path("console.json"))
    for model in ("powerconnect-5324", "mikrotik-crs326-24g-2s"):
        settle(platforms.load(model), heard)
        first_login(platforms.load(model), heard)


def _measure() -> None:
    with contextlib.closing(Measurements(Path("kept.db"))) as file:
        file.append(3.0, [StoredMeasurement("power", "ring", {}, "watts", 71.0, "W", None)])


def _clock() -> None:
    if (clock := read_clock(Path())) is not None:
        assert clock.at_work in {True, False}


def _timetable() -> None:
    table = read_timetable(Path("t.yml"), fabric=read_fabric(Path("b/fabric.yml")))
    due(table, 1.8e9)
    upcoming(table, 1.8e9, 8.0)


def _snmp() -> None:
    settings = read_snmp_settings(Path("snmp.yml"), {})
    settings.agents(read_fabric(Path("b/fabric.yml")))


def _imported(name: str) -> Callable[[], Any]:
    """Give what reads a list of hosts and writes another fabric file; hosts without addresses are no fault."""
    run = command(f"hosts import {name} f.yml -o g.yml --replace")
    return run if name not in {"slurm.conf", "facts"} else lambda: run() - 1


OTHERS = {
    "windows.yml": 'timezone: Europe/Berlin\nwindows:\n- {when: "0 2 * * 6", hours: 4.0}\n',
    "console.json": json.dumps(
        {
            "format": 1,
            "model": "powerconnect-5324",
            "family": "ros",
            "firmware": "2.0.1.4",
            "tagloom": "0",
            "manners": {"login": ["User Name:"], "pager": "", "erases": True, "prompts": {"config": "(config)"}},
            "pages": [
                {"kind": "help", "context": "interface", "typed": "", "seconds": 0.1, "answer": ["  negotiation"]},
                {"kind": "tried", "context": "", "typed": "negotiation", "seconds": 0.1, "answer": [""]},
            ],
        }
    ),
    "drawing.dot": 'graph { node [model="powerconnect-5324"]; a; b:g1 -- a:g1 [speed=100]; subgraph x { a -- {b c} } '
    'h [kind=host, model="", mac="00:1e:c9:00:00:00"]; h -- a }',
    "paths.csv": "source,destination,path,priority\nh0,h1,s0:g1 s1:g2 s2,0\nh1,h0,s2:g1 s1:g1 s0,1\n",
    "tables/links.csv": "a,a_port,b,b_port\ns0,g1,s1,g1\ns1,g2,s2,g1\n",
    "tables/tables.csv": "switch,destination,ports\ns0,h2,g1\ns1,h2,g2\ns2,h2,g9\ns0,h0,g9\ns1,h0,g1\ns2,h0,g1\n",
    "routers/links.csv": "a,a_port,b,b_port\nr0,eth0,r1,eth0\n",
    "routers/r0.json": json.dumps(
        [{"dst": "10.0.0.0/24", "dev": "eth9"}, {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"}]
    ),
    "routers/r1.json": json.dumps(
        {
            "10.0.0.0/8": [{"selected": True, "nexthops": [{"interfaceName": "eth0", "fib": True, "active": True}]}],
            "10.1.0.0/24": [
                {
                    "selected": True,
                    "protocol": "connected",
                    "nexthops": [{"directlyConnected": True, "interfaceName": "eth9"}],
                }
            ],
        }
    ),
}


def _one_way() -> None:
    """Read which cables pass frames one way, as a daemon that begins again does."""
    fabric = read_fabric(Path("f.yml"))
    seen = {switch.name: Observation(switch.name, 1.0) for switch in fabric.switches}
    OneWayLinks(Path(), lambda _: None).looking(lambda _: seen)(fabric)


def answered_no(words: str) -> Callable[[], int]:
    """Return what reads a whole file, of which the answer is no: a ring's tables of OpenSM, a rack with loose ends."""
    run = command(words)
    return lambda: run() - 1


def make(home: Path) -> None:
    """Write a whole file of every kind into the working directory, `home`."""
    files = {
        "f.yml": RING,
        "four.yml": FOUR,
        "day.csv": DAY,
        "m.csv": MATRIX,
        "ranks.csv": RANKS,
        "flows.csv": FLOWS,
        "mpip.txt": MPIP,
        "t.yml": TIMETABLE,
        "power.yml": POWER,
        "sweep.yml": SWEEP,
        "snmp.yml": SNMP,
        "policy.yml": POLICY,
        "pairs.csv": PAIRS,
        "measured.csv": MEASURED,
        "watts.csv": WATTS,
        "key.pub": KEY,
        "gaps.json": GAPS,
        "np.out": NP_OUT,
        **LISTS,
        "trace.csv": TRACE,
        "events.txt": EVENTS,
        **OTHERS,
        f"{FOLDER}/one-way.json": '[["s0:g1", "s1:g2", 5.0, null]]',
        "lines/ros/lines.j2": SPELT,
        "own/site/all.j2": SITE,
        "clock.json": json.dumps(CLOCK),
        "facts/h0": FACTS,
        "asked/job": "all-on\n",
        "place.csv": "0,h1\n1,h0\n2,h2\n",
        "run.prom": "# HELP tagloom_run_links_off Links off\ntagloom_run_links_off 0.0\n",
        "tagloom.yml": "plugin: tagloom\nfabric: f.yml\n",
        **{f"prof/p.{a}.prof": PROF.format(a, (a + 1) % 3) for a in range(3)},
        **{f"tau/profile.{a}.0.0": TAU.format((a + 1) % 3) for a in range(3)},
        "rack.json": json.dumps({"pid": 1, "socket": "/none", "ports": {"s0": 1}, "agents": {}, "snmp_port": 9}),
        "running/spanning-tree.json": json.dumps({"root": "s0", "blocked": ["s1:g3"]}),
        "watchdog.json": json.dumps(
            {"user": "me", "host": "here", "pid": 1, "tries": 1, "failed_since": 1.0, "tried_at": 1.0}
        ),
        "lock.holder": json.dumps(dict.fromkeys(("user", "host", "since", "command", "directory"), "x") | {"pid": 1}),
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / "page/ros").mkdir(parents=True)
    shutil.copy(ROOT / "templates" / "ros" / "configuration.j2", home / "page/ros")
    for place, name in (("subnet", "opensm-subnet.lst"), ("subnet", "opensm.fdbs"), ("nodes", "ibnetdiscover.txt")):
        (home / place).mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / "data" / "infiniband" / "ring" / name, home / place)
    shutil.copy(home / "subnet" / "opensm.fdbs", home / "nodes")
    shutil.copytree(ROOT / "tests" / "data" / "netbox", home / "netbox")
    for name in ("comware.cfg", "huawei.cfg", "eos.cfg"):
        shutil.copy(ROOT / "tests" / "render" / "transcripts" / name, home / name)
    arrays = {"ends": [[0, 1], [1, 0]], "group": [[0], [-2]], "first": [0, 1], "members": [0], "senders": [1, 1]}
    (home / "arrays").mkdir()
    np.savez(home / "arrays" / "tables.npz", **{name: np.array(some, np.int32) for name, some in arrays.items()})
    shutil.copy(ROOT / "tests" / "data" / "profiles" / "cg.S.4.mpisummary.txt", home / "paraprof.txt")
    made = (
        "export graphml f.yml -o drawing.graphml",
        "plan f.yml -o b",
        "plan f.yml --off s0:g1 -o c",
        "rollout b c -o r",
    )
    made += ("plan four.yml -o four", "rollout four b -o fewer")
    made += ("regulate f.yml --traffic m.csv --method greedy -o s.json", "predict b --record --store f.db")
    for words in made:
        assert command(words)() == 0, words
    with contextlib.closing(History(home / "h.db")) as file:
        for n in range(3):
            at, count = 60.0 * (n + 1), (9000 * n, 5000 * n, n, n, 0, 0)
            ports = [Counters(p, f"g{p}", True, True, 10**9, 1.0, *count) for p in range(1, 25)]
            seen = {f"s{s}": Observation(f"s{s}", at, ports=tuple(ports), uptime_seconds=at) for s in range(3)}
            file.append("ring", at, seen)
    with contextlib.closing(TimetableMemory(home / "state.db")) as file:
        file.note(1.0, "done", ("s.json",), "rule")
        file.remember(TimetableProgress(("s.json",), lowered_at=(1.0,)))
    with contextlib.closing(Measurements(home / "kept.db")) as file:
        names = ("timeout", "sleep", "wake")
        file.append(1.0, [StoredMeasurement("idle-gap", "ring", {}, name, 1e-3, "s", None) for name in names])
        file.append(2.0, [StoredMeasurement("power", "ring", {}, "watts", 70.0, "W", None)])
    with contextlib.closing(Forecasts(home / "f.db", new=True)) as file:
        file.keep(1.0, "ring", "b", {"watts_after": Quantity(70.0, 60.0, 80.0, "table")})
        file.measure([Measured("watts_after", 71.0, "given", 2.0, "ring")])
    with Journal(home / "journal.db") as file:
        words = {"name": "1", "kind": "apply", "fabric": "ring", "source": "b", "command": "c", "operator": "o"}
        run = file.begin(**words, waves=1, proven=True, order=home / "c")
        file.wave_journal(run.id, 1, "s0").intend(["vlan 2"], "a", "b")
    (home / "back").mkdir()
    (home / "back" / GIVEN_BACK).write_text('{"ports": {"s0": [20, 21], "s1": []}}\n')
    for name in ("journal.db", "h.db", "f.db", "state.db", "kept.db"):
        with contextlib.closing(sqlite3.connect(home / name)) as file:
            file.execute("PRAGMA journal_mode = DELETE")


READERS = (
    Reader("fabric", "f.yml", command("plan f.yml -o p --no-texts")),
    Reader("fabric of an inventory", "tagloom.yml", lambda: fabric_of(Path())),
    Reader("plan", "b/plan.json", command("verify b")),
    Reader("routes", "b/routes.npz", command("verify b"), binary=True),
    Reader("fabric of a build", "b/fabric.yml", lambda: read_build(Path("b"), states=False)),
    Reader("configuration", "b/configs/s0.cfg", command("verify b")),
    Reader("configuration of Comware", "comware.cfg", lambda: read_text_of("hpe-5130-24g-4sfp", Path("comware.cfg"))),
    Reader("configuration of Huawei", "huawei.cfg", lambda: read_text_of("huawei-s5731-s24t4x", Path("huawei.cfg"))),
    Reader("configuration of EOS", "eos.cfg", lambda: read_text_of("arista-7050tx-64", Path("eos.cfg"))),
    Reader("ports given back", "back/given-back.json", lambda: ports_of(Path("back"), read_fabric(Path("f.yml")))),
    Reader("rollout", "r/rollout.json", lambda: (waves.read_sequence(Path("r")), waves.downtime(Path("r")))),
    Reader("rollout for a forecast", "r/rollout.json", command("predict c --rollout r")),
    Reader("settings", "s.json", command("plan f.yml --settings s.json -o p --no-texts")),
    Reader("settings' routes", "s.json", lambda: read_result(read_fabric(Path("f.yml")), Path("s.json"))),
    Reader("traffic", "m.csv", command("predict b --traffic m.csv")),
    Reader("traffic of ranks", "ranks.csv", command("predict b --traffic ranks.csv --seconds 60")),
    Reader("flows", "flows.csv", command("predict b --traffic flows.csv")),
    Reader("metrics of a run", "run.prom", lambda: ClockMetrics.refuse_other(Path("run.prom"))),
    Reader("placement", "place.csv", command("predict b --traffic ranks.csv --placement place.csv --seconds 60")),
    Reader("mpiP", "mpip.txt", command("predict b --traffic mpip.txt --placement block")),
    Reader("paraprof", "paraprof.txt", command("predict b --traffic m.csv --profile paraprof.txt --ranks 3")),
    Reader("Open MPI", "prof/p.1.prof", command("predict b --traffic prof --seconds 60")),
    Reader("TAU", "tau/profile.1.0.0", command("predict b --traffic tau")),
    Reader("history", "h.db", _history, binary=True),
    Reader("history as traffic", "h.db", _estimate, binary=True),
    Reader("history as measured", "h.db", command("score --store f.db --measured h.db"), binary=True),
    Reader("state", "state.db", _ledger, binary=True),
    Reader("journal", "journal.db", _journal, binary=True),
    Reader("forecasts", "f.db", command("score --store f.db"), binary=True),
    Reader("measurements", "kept.db", command("score --store f.db --measured kept.db"), binary=True),
    Reader("probe", "kept.db", command("fit --probe kept.db -o q.yml"), binary=True),
    Reader("day", "day.csv", lambda: read_history([Path("day.csv")], read_fabric(Path("f.yml")), "UTC")),
    Reader("timetable", "t.yml", _timetable),
    Reader("power", "power.yml", command("predict b --power power.yml")),
    Reader("sweep", "sweep.yml", lambda: read_sweep(Path("sweep.yml"))),
    Reader("policy", "policy.yml", command("predict b --eee policy.yml")),
    Reader("pairs", "pairs.csv", command("fit --pairs pairs.csv -o q.yml")),
    Reader("measured", "measured.csv", command("score --store f.db --measured measured.csv")),
    Reader("SNMP settings", "snmp.yml", _snmp),
    Reader("recorded watts", "watts.csv", lambda: read_samples(Path("watts.csv"))),
    Reader("public key", "key.pub", lambda: user_key_in(Path("key.pub"))),
    Reader("gaps", "gaps.json", lambda: baseline_of(text_of(Path("gaps.json")), "gaps.json")),
    Reader("NetPIPE", "np.out", command("measure pingpong --read np.out")),
    Reader("fabric to be edited", "f.yml", lambda: FabricText(Path("f.yml")).write(NEW, Path("g.yml"))),
    *(Reader(f"hosts in {name}", name, _imported(name)) for name in LISTS),
    Reader("facts of a host", "facts/h0", _imported("facts")),
    Reader("GraphML", "drawing.graphml", command("import drawing.graphml")),
    Reader("DOT", "drawing.dot", command("import drawing.dot")),
    *(
        Reader(f"{name} of a NetBox", f"netbox/{name}.json", answered_no("import netbox"))
        for name in ("devices", "interfaces", "cables", "ip-addresses")
    ),
    Reader("messages", "trace.csv", command("predict b --trace trace.csv")),
    Reader("events", "events.txt", command("predict b --trace events.txt --placement place.csv")),
    Reader("paths of others", "paths.csv", command("verify --paths paths.csv")),
    Reader("links of others", "tables/links.csv", command("verify --fdb tables")),
    Reader("tables of others", "tables/tables.csv", command("verify --fdb tables")),
    Reader("arrays of tables", "arrays/tables.npz", command("verify --fdb arrays"), binary=True),
    Reader("routes of a router", "routers/r1.json", command("verify --fdb routers")),
    Reader("cables of a subnet", "subnet/opensm-subnet.lst", answered_no("verify --fdb subnet")),
    Reader("tables of a subnet", "subnet/opensm.fdbs", answered_no("verify --fdb subnet")),
    Reader("nodes of a subnet", "nodes/ibnetdiscover.txt", answered_no("verify --fdb nodes")),
    Reader("lines of a family", "lines/ros/lines.j2", command("plan f.yml --templates lines -o p")),
    Reader("page of a family", "page/ros/configuration.j2", command("plan f.yml --templates page -o p")),
    Reader("lines of a site", "own/site/all.j2", command("plan f.yml --templates own --trust-foreign -o p")),
    Reader("rollout on a page", "r/rollout.json", command("report b --rollout r -o page.html")),
    Reader("switch that goes", "fewer/left/s3.cfg", lambda: waves.read_sequence(Path("fewer"))),
    Reader("plan, for copies", "b/plan.json", lambda: duplicates_allowed(Path("b"))),
    Reader("plan, for learning", "b/plan.json", lambda: learns(Path("b"))),
    Reader("texts of a push", "r/before/s0.cfg", lambda: proven_texts(Path("r/before"), ["s0"], "", ())),
    Reader("measurements to add to", "kept.db", _measure, binary=True),
    Reader("transcript", "console.json", _transcript),
    Reader("maintenance windows", "windows.yml", lambda: read_windows(Path()).next_begin(0.0)),
    Reader("clock", "clock.json", _clock),
    Reader("request of a job", "asked/job", lambda: requests_in(Path("asked"))),
    Reader("one-way links", f"{FOLDER}/one-way.json", _one_way),
    Reader("active tree", "running/spanning-tree.json", lambda: read_active_tree(Path("running"))),
    Reader("rack", "rack.json", lambda: read_info(Path())),
    Reader("holder", "lock.holder", lambda: holder(Path("lock"))),
    Reader("watchdog", "watchdog.json", lambda: read_watchdog(Path())),
)
