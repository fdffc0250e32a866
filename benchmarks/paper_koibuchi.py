"""The rows of docs/papers.md on Koibuchi, Otsuka, Kudoh, Amano 2011, from the paper's text."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import flows
import table_12
from paper_rows import HERE, NOT_RUN, RESULTS, ROOT, Row, column

from fabrics import make_fabric, make_irregular
from judges.networks import exchange, network
from judges.networks import row as row_of_switches
from judges.simulate import simulate
from tagloom import cli, platforms
from tagloom.graph.trees import rooted
from tagloom.predict.performance import move, performance
from tagloom.read import read_fabric, read_traffic
from tagloom.records.routes import Routes
from tagloom.route import route
from tagloom.weave import weave

TITLE = (
    "Koibuchi, Otsuka, Kudoh, Amano: *A Switch-Tagged Routing Methodology for PC Clusters with VLAN Ethernet*, IEEE "
    "TPDS 22(2), 2011"
)
MODELS = ("powerconnect-5324", "powerconnect-6224", "powerconnect-6248", "sf-0420g")
TABLE_2 = dict(zip(MODELS, ((42.9, 65), (91.1, 53), (155.2, 63), (55.4, 41)), strict=True))  # most W, ports' share in %
TABLE_4 = {  # tag mode: average us on 5324, 6224, GSM7212, SF-0420G, and the least and the most of all four
    "U-U": ((2.74, 3.86, 2.77, 3.42), 2.47, 4.34),
    "T-T": ((2.76, 3.88, 2.76, 3.42), 2.47, 4.38),
    "U-T": ((2.76, 3.84, 2.75, 3.42), 2.46, 4.38),
    "T-U": ((2.76, 3.87, 2.78, 3.42), 2.46, 4.41),
    "U-(T)-U": ((2.75, 3.85, 2.73, 3.42), 2.43, 4.41),
}
TABLE_5 = {  # tag mode: Mb/s on 5324, 6224, GSM7212, SF-0420G, by UDP and by TCP
    "U-U": ((957.0, 957.1, 957.1, 956.9), (941.1, 940.5, 941.0, 941.4)),
    "T-T": ((954.4, 954.5, 954.1, 954.5), (936.9, 938.1, 938.0, 937.9)),
    "U-T": ((956.9, 956.9, 957.0, 956.9), (940.1, 938.0, 928.1, 941.0)),
    "T-U": ((954.6, 954.5, 954.6, 954.4), (937.7, 938.4, 938.1, 938.1)),
    "U-(T)-U": ((957.0, 957.4, 957.1, 957.1), (941.1, 941.0, 941.0, 941.0)),
}
CHANGES = ("on_off", "1000_100", "100_1000", "100_10", "10_100", "1000_10", "10_1000")
TABLE_6 = {  # s, in the order of CHANGES
    "powerconnect-5324": (3.2, 4.1, 2.4, 2.3, 3.3, 2.5, 2.4),
    "powerconnect-6224": (2.6, 2.8, 5.7, 2.6, 2.6, 2.6, 5.7),
    "powerconnect-6248": (2.2, 2.7, 3.3, 2.8, 3.1, 2.5, 2.3),
    "sf-0420g": (1.2, 2.7, 2.5, 2.4, 2.3, 2.8, 2.3),
}
TABLE_11 = {  # switches, links, switches on a path
    "Mesh (4x2)": (8, 10, 2.75),
    "Torus (4x2)": (8, 12, 2.50),
    "Myri-clos": (8, 16, 2.25),
    "M-tree": (16, 15, 4.81),
    "Mesh (4x4)": (16, 24, 3.50),
    "Torus (4x4)": (16, 32, 3.00),
    "Fat tree": (14, 24, 3.75),
}
FIG_11A = ("M-tree", "Mesh (4x4)", "Torus (4x4)", "Fat tree")
NPB = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
TAG, GAP, FRAME = 4, 20, 1518  # bytes: a tag; preamble and gap; the longest frame without a tag
PING_BYTES = 1e6  # of each message of figures 7 and 8
FIG_1 = "tagloom new mesh --dims 4 4 -o fig1.yml"
FIG_3 = "tagloom new fat-tree --dims 2 4 2 --hosts 2 -o fig3.yml"
FIG_5 = (
    "tagloom new ring --dims 4 -o fig5.yml",
    "tagloom plan fig5.yml --protect none -o a",
    "tagloom plan fig5.yml --off s3:g2 --protect none -o b",
)
LU_4, LU_16 = (f"tests/data/npb/lu.S.{ranks}.matrix.csv" for ranks in (4, 16))
SLOW = (
    f"tagloom regulate fig5.yml --traffic {LU_4} --method greedy --levels 100 --seconds 10 -o slow.json",
    "tagloom plan fig5.yml --settings slow.json --protect none -o slow",
)
PERFORMANCE = "[performance](../benchmarks/results/performance.md), `python benchmarks/flows.py`"
SAVINGS = "[savings](../benchmarks/results/savings.md), `python benchmarks/savings.py --figures`"
RUNS = "[table 12](../benchmarks/results/table-12.md), `python benchmarks/table_12.py`"
COUNTED = "[table 3](../benchmarks/results/table-3.md), `python benchmarks/table_3.py`"
SHOWN = "a figure without numbers"


# --- what commands print --------------------------------------------------------------------------------------------


@cache
def screen(*commands: str) -> str:
    """Return what commands print one after another, in a new folder where `inventory` and `tests` are ours."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), io.StringIO() as printed:
        for name in ("inventory", "tests"):
            Path(name).symlink_to(ROOT / name)
        with contextlib.redirect_stdout(printed):
            for command in commands:
                status = cli.main(shlex.split(command)[1:])
                assert status == 0, command
        return " ".join(printed.getvalue().split())


def typed(*commands: str) -> str:
    """Lay commands out as code."""
    return ", ".join(f"`{command}`" for command in commands)


def found(pattern: str, *commands: str) -> str:
    """Return the last that commands print by a pattern, its first group."""
    seen = re.findall(pattern, screen(*commands))
    assert seen, (pattern, commands)
    return str(seen[-1])


# --- what is computed here ------------------------------------------------------------------------------------------


def power() -> tuple[str, str]:
    """Return base + ports at 1 Gb/s of every model, and the ports' share of it in percent."""
    watts, shares = [], []
    for model in TABLE_2:
        page = platforms.load(model)
        assert page.watts is not None  # these four have been measured
        ports = page.physical_ports * page.watts.per_port[1000]
        watts.append(f"{page.watts.base_watts + ports:.1f}")
        shares.append(f"{100 * ports / (page.watts.base_watts + ports):.0f}")
    return ", ".join(watts), ", ".join(shares)


def goodput(payload_bytes: int, *, tagged: bool) -> float:
    """Return the Mb/s of payload that frames of the greatest length carry over a link of 1 Gb/s."""
    return 1000 * payload_bytes / (FRAME + GAP + TAG * tagged)


def toggles_taken_over() -> int:
    """Return how many of table 6's seconds are those by which tagloom forecasts a change."""
    return sum(
        platforms.load(model).toggle_seconds[change] == seconds
        for model, row in TABLE_6.items()
        for change, seconds in zip(CHANGES, row, strict=True)
    )


def table_3() -> tuple[str, str]:
    """Return how many rows of table 3 need as many VLANs as the paper says, fewer or more, fixed and renamed."""
    rows = [line.strip("| ").split(" | ") for line in (RESULTS / "table-3.md").read_text("utf-8").splitlines()]
    cells = [row[2:] for row in rows if len(row) == 6 and row[2].isdigit()]
    said = []
    for paper, ours in ((0, 1), (2, 3)):
        known = [(int(c[paper]), [int(n) for n in re.findall(r"\d+", c[ours])]) for c in cells]
        equal = sum(set(mine) == {theirs} for theirs, mine in known)
        more = sum(max(mine) > theirs for theirs, mine in known)
        said.append(f"equal in {equal} of {len(known)}, fewer in {len(known) - equal - more}, more in {more}")
    return said[0], said[1]


def networks() -> list[tuple[int, int, float]]:
    """Return switches, links and switches on a path of the networks of table 11, a tree's links being those it uses."""
    rows = []
    for name, family, dims, options, method in flows.NETWORKS:
        fabric = make_fabric(family, *dims, hosts=options.get("hosts", 1))
        links = len(fabric.switches) - 1 if method == "tree" else len(fabric.links)
        rows.append(
            (len(fabric.switches), links, float(column("performance.md", "## The seven", name, slice(1, 2))[0]))
        )
    return rows


def worst_case() -> tuple[str, str]:
    """Return the VLANs of plans of table 11's networks beside switches (fixed) and ports (renamed): the worst."""
    shares: dict[str, list[tuple[float, str]]] = {"fixed": [], "renamed": []}
    for name, family, dims, options, method in flows.NETWORKS:
        fabric = make_fabric(family, *dims, **options)
        used = [sum(s in (link.a, link.b) for link in fabric.links) for s in range(len(fabric.switches))]
        for host in fabric.hosts:
            used[host.switch] += 1
        for kind, most in (("fixed", len(fabric.switches)), ("renamed", max(used))):
            vlans = weave(fabric, route(fabric, method, kind), kind).vlans
            assert vlans <= most, name
            shares[kind].append((vlans / most, f"at most {vlans} of {most} ({name})"))
    return max(shares["fixed"])[1], max(shares["renamed"])[1]


def fig_2() -> tuple[int, int]:
    """Return the VLANs of Fig. 2, fixed and renamed: four switches of four hosts, of which two send over each top."""
    fabric = make_irregular([4, 4, 4, 4, 0, 0], [(leaf, top) for leaf in range(4) for top in (4, 5)])
    source = np.array([2 * host.switch + h % 4 // 2 for h, host in enumerate(fabric.hosts)])
    over = {top: {i for i, link in enumerate(fabric.links) if top in (link.a, link.b)} for top in (4, 5)}
    parent = np.stack([rooted(fabric, over[top], leaf) for leaf in range(4) for top in (4, 5)])
    routes = Routes("any", "", source, np.repeat(np.arange(4), 2), parent)
    fixed, renamed = (weave(fabric, routes, kind).vlans for kind in ("fixed", "renamed"))
    return fixed, renamed


def npb_slowdowns() -> dict[str, list[float]]:
    """Return how much longer the network takes than one switch for each NAS matrix, by the names of Fig. 11a."""
    slower: dict[str, list[float]] = {}
    for title, made in zip(TABLE_11, flows.NETWORKS, strict=True):
        if title not in FIG_11A:
            continue
        fabric, routes = flows.routed(made)
        slower[title] = []
        for name in NPB:
            traffic = read_traffic(ROOT / "tests" / "data" / "npb" / f"{name}.S.16.matrix.csv", fabric)
            moved = move(fabric, routes, traffic)
            slower[title].append(1 / performance(moved, moved).bandwidth_after.value)
    return slower


def eight_pairs() -> tuple[float, float]:
    """Return Mb/s of each of eight pairs that exchange over one link with PAUSE, and the percent lost without."""
    paths: list[list[list[int]]] = [[[] for _ in range(16)] for _ in range(16)]
    volume = np.full((1, 16, 16), np.nan)
    for a in range(8):
        paths[a][a + 8] = [2 * a, 32, 2 * (a + 8) + 1]
        paths[a + 8][a] = [2 * (a + 8), 33, 2 * a + 1]
        volume[0, a, a + 8] = volume[0, a + 8, a] = PING_BYTES
    program = exchange(list(range(16)), np.zeros((1, 16)), volume)
    links = network(17, paths, 1e9, None, 2.75e-6, table_12.BUFFER, pause=True)
    with_pause = simulate(links, program)
    without = simulate(links._replace(pause=False), program._replace(waits=False))
    return 8e-6 * PING_BYTES / with_pause.seconds, 100 * without.lost_frames / int(program.frames.sum())


def over_switches(switches: int) -> tuple[float, float]:
    """Return what switches in a row add to a short frame, in us, and the Mb/s of two hosts that exchange over them."""
    links = row_of_switches(switches, 1e9, None)
    volume = np.array([[[np.nan, PING_BYTES], [PING_BYTES, np.nan]]])
    run = simulate(links, exchange([0, 1], np.zeros((1, 2)), volume))
    return 2.75 * switches, 8e-6 * PING_BYTES / run.seconds


def clusters() -> str:
    """Return hosts and switches of the inventories of Misc and SuperNova, and the hosts on a switch."""
    parts = []
    for name in ("misc", "supernova"):
        fabric = read_fabric(ROOT / "inventory" / name / "fabric.yml")
        on = sorted({int(n) for n in np.bincount(fabric.host_switch)})
        parts.append(f"{len(fabric.hosts)} on {len(fabric.switches)}, {' or '.join(map(str, on))} on a switch")
    return "; ".join(parts)


def ports_of_64() -> str:
    """Return the ports in use on a switch of SuperNova with 64 hosts."""
    fabric = read_fabric(ROOT / "inventory" / "supernova64-5324" / "fabric.yml")
    ends = np.bincount([end for link in fabric.links for end in (link.a, link.b)]) + np.bincount(fabric.host_switch)
    assert len(set(ends.tolist())) == 1
    return str(ends[0])


# --- rows -----------------------------------------------------------------------------------------------------------


def tables_of_vlans() -> list[Row]:
    """Return the rows of tables 1 and 3, of the assignments, equation 1 and the theorems."""
    fixed, renamed = table_3()
    most_fixed, most_renamed = worst_case()
    plan_1 = FIG_1, "tagloom plan fig1.yml --routing dor --protect none -o build"
    plan_2 = "tagloom plan inventory/misc/fabric.yml --prefer load --protect none -o build"
    plan_3 = "tagloom plan inventory/testbed/fabric.yml --assignment renamed -o build"
    plan_4 = FIG_1, "tagloom plan fig1.yml --routing dor --learning-only -o build"
    takes = r"no PAUSE on any port: frames that hosts tag, which (\d+ ports) take"
    vlans = r"(?:assignment|most in one switch): (\d+ VLANs)"
    mac, entries = platforms.load("powerconnect-5324").mac_table, r"(at most \d+ static entries in a switch)"
    return [
        ("T1", "VLANs in the worst case, fixed: n of n switches", "n", f"{most_fixed}, of table 11's networks", HERE),
        ("T1", "the same, renamed: p of p ports", "p", f"{most_renamed}, of table 11's networks", HERE),
        (
            "T1",
            "routing relation, fixed and renamed",
            "part of N x N -> P; C x N -> C",
            NOT_RUN,
            (
                "none: a definition. `fixed` takes any paths whose union is a tree for every source; shortest "
                "up\\*/down\\* paths need not be one, so tagloom grows them as trees"
            ),
        ),
        (
            "T3",
            "VLANs, fixed, 24 sizes of the five formulas",
            "u^r, k^(n-1), (k+1)k^(n-2), 2k^(n-1), 2(k+1)k^(n-2)",
            fixed,
            f"{COUNTED}, which says why",
        ),
        (
            "T3",
            "the same, renamed",
            "u, n, n, 3n, 3n",
            renamed,
            (
                f"{COUNTED}. A mesh takes n as in the paper. A torus takes 2n: rule R7 cuts each ring twice, where the "
                "paper's dateline needs 3n. A mesh with a link off takes n + 1 at the detour: n would let in all turns "
                "of the turn model, and up to 2^21 copies of a broadcast. The plan prints this as a remark. The "
                "paper's dateline is not offered: it takes more VLANs, and its paths from one source are no tree"
            ),
        ),
        (
            "Fig. 1, Sect. 3.2.1 (steps 1 to 6)",
            "fixed assignment, DOR on a 4x4 mesh",
            "4 VLANs",
            found(vlans, *plan_1),
            typed(*plan_1),
        ),
        (
            "Fig. 2, Sect. 3.2.2 (steps 1 to 4)",
            "renamed assignment, two hosts of each leaf over each top",
            "2 VLANs",
            f"{fig_2()[1]} VLANs",
            (
                f"{HERE}. Step 4 merges VLANs of equal members; tagloom also asks that their entries agree, as frames "
                "to the same host may leave by different ports"
            ),
        ),
        *(
            (
                "Fig. 3",
                f"fat tree (2,4,2), {kind}",
                paper,
                found(vlans, FIG_3, plan := f"tagloom plan fig3.yml --assignment {kind} --protect none -o build"),
                typed(FIG_3, plan),
            )
            for kind, paper in (("fixed", "4 VLANs (u^r)"), ("renamed", "2 VLANs (u)"))
        ),
        (
            "Sect. 3.2",
            "growth of the algorithms' cost",
            "O(v n^2) fixed, O(D n^2) renamed",
            NOT_RUN,
            "none: a bound without a number. `python benchmarks/plan_scale.py` measures plans of up to 1,024 switches",
        ),
        (
            "eq. 1",
            "hosts of which a table of T addresses holds one entry for each of V VLANs, H = T / V, on Fig. 1's mesh",
            "T is 8k or 12k: 8,000 / 4 = 2,000",
            (
                f"{mac // 4:,} if switches learn; with static entries on paths alone, {found(entries, *plan_1)} for "
                f"16 hosts, where the equation counts {4 * 16}"
            ),
            typed(*plan_1),
        ),
        (
            "Theorem 1",
            "renamed assignment of a deadlock-free routing makes no broadcast storm",
            "proven",
            "no storm, each broadcast exactly once: " + found(r"exactly once (\d+ hosts yes)", plan_3),
            f"{typed(plan_3)}. A broadcast may still come many times; then tagloom narrows it to a tree",
        ),
        (
            "Theorem 2",
            "fixed takes at most n VLANs, renamed p",
            "proven, if all hosts of a switch share a VLAN",
            f"{most_fixed}; {most_renamed}; if hosts of a switch differ, {found(vlans, plan_2)} on Misc's 6 switches",
            f"{HERE}; {typed(plan_2)}",
        ),
        (
            "Sect. 3.3 (steps 1 to 3), Sect. 3.4",
            "hosts teach the switches of Fig. 1; without PAUSE nothing deadlocks",
            "a ping from an interface in each VLAN, again before the aging time expires",
            f"`hosts/learning.sh`, a broadcast for each VLAN; without PAUSE {found(takes, *plan_4)} take tagged frames",
            (
                f"{typed(*plan_4)}. No echo comes back to an interface in a VLAN, as frames leave to hosts untagged: "
                "ours is a plain broadcast. No static entries are in the texts (`--learning` keeps them), and the "
                "aging time is the longest, 1,000,000 s, where the range of its line is known: not on 5324s. `tagloom "
                "verify build` proves the state before and after hosts have taught. Where flow control is on, the plan "
                "is refused: tagged frames close a dependency cycle"
            ),
        ),
        (
            "Sect. 2",
            "VLANs that hosts tag on a mesh and a torus, balanced and partly",
            "k^(n-1), k^(n-1)/2 + 1; 2k^(n-1), k^(n-1) + 2",
            NOT_RUN,
            "none: of an earlier paper [8], where hosts choose a VLAN by destination; tagloom's hosts tag nothing",
        ),
    ]


def tables_of_switches() -> list[Row]:
    """Return the rows of tables 2 and 4 to 7: what was measured on switches."""
    watts, shares = power()
    taken = {model: 1e6 * (platforms.load(model).latency_seconds or 0) for model in MODELS}
    tags = column("tagged-bridges.md", "| message", "1,048,576", slice(5, 6))[0]
    sides = {
        "U-U": (False, False),
        "T-T": (True, True),
        "U-T": (False, True),
        "T-U": (True, False),
        "U-(T)-U": (False,) * 2,
    }
    rows: list[Row] = [
        (
            "T2",
            "most W of a switch (5324, 6224, 6248, SF-420)",
            ", ".join(str(w) for w, _ in TABLE_2.values()),
            f"base + ports: {watts}",
            f"{HERE}; base and W of a port are the paper's, an input. Its most were measured apart",
        ),
        ("T2", "the ports' share of it, percent", ", ".join(str(share) for _, share in TABLE_2.values()), shares, HERE),
        (
            "Sect. 3.6",
            "W of a switch from 0 to 957 Mb/s through it",
            "no variation seen",
            NOT_RUN,
            "none: a measurement; tagloom's model takes it over: an idle port draws what a busy one does",
        ),
        (
            "Sect. 3.6",
            "W of an InfiniBand 12X port, sending and receiving (at worst)",
            "0.26, 0.17 (0.3, 0.2)",
            NOT_RUN,
            "none: cited from [19], and no Ethernet",
        ),
    ]
    for mode, (average, least, most) in TABLE_4.items():
        mine = mode == "U-(T)-U"
        rows.append(
            (
                "T4",
                f"latency, {mode}, us: average on 5324, 6224, GSM7212, SF-0420G (least and most of all)",
                f"{', '.join(f'{n:.2f}' for n in average)} ({least} to {most})",
                ", ".join(f"{taken[m]:.2f}" if m else "-" for m in (*MODELS[:2], "", MODELS[3])) if mine else NOT_RUN,
                f"{HERE}: taken over as a switch's latency, a 6224's for a 6248; a GSM7212 is no model of tagloom's"
                if mine
                else "none: a measurement; the modes differ by 0.05 us at most, so tagloom takes U-(T)-U for all",
            )
        )
    rows.append(
        (
            "T4",
            "what a tag adds (T-T less U-U), us",
            ", ".join(f"{t - u:+.2f}" for t, u in zip(TABLE_4["T-T"][0], TABLE_4["U-U"][0], strict=True)),
            f"{8 * TAG / 1000:+.3f}: {TAG} bytes more at 1 Gb/s",
            HERE,
        )
    )
    for mode, speeds in TABLE_5.items():
        into, out = sides[mode]
        for protocol, payload, theirs in zip(("UDP", "TCP"), (1472, 1448), speeds, strict=True):
            ours = f"{goodput(payload, tagged=into or out):.1f}"
            why = f"{HERE}: {payload} of {FRAME + GAP + TAG * (into or out)} bytes on the wire"
            if (mode, protocol) == ("U-T", "UDP"):
                why += ". A tagged link carries no more, so the paper's number must be the sender's"
            rows.append(
                (
                    "T5",
                    f"Mb/s, {mode}, {protocol}: 5324, 6224, GSM7212, SF-0420G",
                    ", ".join(map(str, theirs)),
                    ours,
                    why,
                )
            )
    path, tagged = over_switches(3)[0], 1000 * 1500 / (FRAME + GAP + TAG)
    return [
        *rows,
        (
            "T5",
            "the same through kernel bridges, messages of 1 MiB, tagged over untagged",
            NOT_RUN,
            tags,
            "[tags](../benchmarks/results/tagged-bridges.md), `python benchmarks/tagged_bridges.py`",
        ),
        (
            "T6",
            "seconds a link is away, 7 changes of 4 models: off and on; between 1000, 100 and 10 Mb/s",
            "1.2 to 3.2; 2.3 to 5.7",
            f"{toggles_taken_over()} of 28 taken over, as the least",
            f"{HERE}; how long at most, the paper leaves open ([rates](../benchmarks/results/rate-switch.md))",
        ),
        (
            "T7, Fig. 4",
            "latency of one path, and of two by turns, us: least, average, most",
            "8.21, 8.24, 8.28; 8.21, 8.24, 8.28",
            f"{path:.2f} if the path has three switches",
            f"{HERE}: three times table 4. The text doesn't give the number of switches of Fig. 4",
        ),
        (
            "T7",
            "frame bandwidth of the same, Mb/s",
            "967.9, 971.8, 973.2; 968.0, 972.7, 981.1",
            f"{tagged:.1f} for 1,500 bytes of a tagged frame",
            f'{HERE}. What counts as "body and control information" isn\'t defined',
        ),
        *(
            (
                f"T{n}",
                f"hardware and software of the hosts: {cluster}",
                "a list",
                NOT_RUN,
                "none: nothing to compute; what hosts take is not in our model",
            )
            for n, cluster in ((8, "testbed"), (9, "Misc"), (10, "SuperNova"))
        ),
    ]


def networks_and_runs() -> list[Row]:
    """Return the rows of tables 11 and 12 and of figures 7 to 11."""
    made = networks()
    paused, lost = eight_pairs()
    (near, fast), (far, slower) = over_switches(1), over_switches(5)
    npb = npb_slowdowns()
    rows: list[Row] = [
        (
            "T11, Fig. 9",
            "switches and links of seven networks",
            ", ".join(f"{s} and {n}" for s, n, _ in TABLE_11.values()),
            ", ".join(f"{s} and {n}" for s, n, _ in made),
            HERE,
        ),
        (
            "T11",
            "switches on a path",
            ", ".join(f"{h:.2f}" for *_, h in TABLE_11.values()),
            ", ".join(f"{h:.2f}" for *_, h in made),
            PERFORMANCE,
        ),
        (
            "Sect. 5.1",
            "hosts and switches of Misc and SuperNova",
            "66 on 6, 11 on a switch; 225 on 8, 28 or 29 on a switch",
            clusters(),
            f"{HERE}, of `inventory/misc` and `inventory/supernova`",
        ),
        (
            "Fig. 7",
            "eight pairs over one link, bandwidth of a pair each way, with PAUSE and without",
            f"{SHOWN}; PAUSE shares the link better",
            f"{paused:.1f} Mb/s with; without, {lost:.0f} % of the frames are lost if none is sent again",
            f"{HERE}, frame by frame, 1 MB each, 64 KiB of buffer. MPI's own overhead is not in it",
        ),
        (
            "Fig. 8",
            "latency and bandwidth by the number of switches",
            f"{SHOWN}; hops are crucial for both",
            f"1 switch: {near:.2f} us and {fast:.1f} Mb/s; 5: {far:.2f} us and {slower:.1f} Mb/s",
            f"{HERE}, the switches alone (table 4), 1 MB each way. What hosts add isn't known",
        ),
    ]
    for at, name in enumerate(flows.PATTERNS):
        shares = [
            column("performance.md", "## The seven", each[0], slice(2 + at, 3 + at))[0] for each in flows.NETWORKS
        ]
        rows.append(
            (
                "Fig. 10",
                f"{name}: bandwidth beside one switch, networks as in T11",
                f"{SHOWN}; all above the M-tree" + (", the last four and Myri-clos near one switch" if at == 0 else ""),
                ", ".join(shares),
                PERFORMANCE,
            )
        )
    rows.extend(
        (
            "Fig. 11a",
            f"{name}: times as long as one switch, {', '.join(NPB).upper()}",
            f"{SHOWN}; " + ("worst on FT and IS" if name == "M-tree" else "almost one switch's on most"),
            ", ".join(f"{n:.2f}" for n in npb[name]),
            f"{HERE}: the network's part alone, matrices of class S on 16 ranks, not class B",
        )
        for name in FIG_11A
    )
    rows.append(
        (
            "Fig. 11b",
            "Misc, class C, 128 processes: impact of the topology",
            f"{SHOWN}; greater than on SuperNova",
            NOT_RUN,
            "none: how the 128 processes share 66 hosts of four cores isn't given, nor how long they compute",
        )
    )
    rows.extend(runs())
    return rows


def runs() -> list[Row]:
    """Return the rows of table 12 and of the run times of Fig. 11c."""
    rows: list[Row] = []
    for benchmark in table_12.COMPUTE:
        for network_name, theirs in table_12.TABLE_12.items():
            total, own, other = theirs[benchmark]
            names = [name for name, (paper, *_) in table_12.NETWORKS.items() if paper == network_name]
            cells = [column("table-12.md", f"## {benchmark}", name, slice(2, 4)) for name in names]
            ours = " or ".join(cell for cell, _ in cells)
            hosts = " or ".join(cell for _, cell in cells)
            tree = "; as a line or four levels, as the paper doesn't draw its tree" if len(names) > 1 else ""
            rows.append(
                (
                    "T12",
                    f"{benchmark} on {network_name}, s: total (computation + communication)",
                    f"{total} ({own} + {other})",
                    ours
                    if network_name == "Compl(2link)"
                    else f"{ours}; with hosts and TCP as on Compl(2link) {hosts}",
                    f"{RUNS}: frame by frame, without what hosts and TCP take{tree}",
                )
            )
    beside = [
        column("table-12.md", "## A torus", f"Tree(6link), {tree}", slice(1, 4)) for tree in ("a line", "four levels")
    ]
    longer = [" or ".join(each.split(", ")[1] for each in cells) for cells in zip(*beside, strict=True)]
    single = [
        f"{100 * (table_12.TABLE_12['Tree(1link)'][b][0] / table_12.TABLE_12['Mesh(6link)'][b][0] - 1):.0f} %"
        for b in table_12.COMPUTE
    ]
    mine = []
    for b in table_12.COMPUTE:
        first, *others = (
            float(column("table-12.md", f"## {b}", name, slice(2, 3))[0].split()[0])
            for name in ("Mesh(6link)", "Tree(1link), a line", "Tree(1link), four levels")
        )
        mine.append(" or ".join(f"{100 * (each / first - 1):.0f} %" for each in others))
    return [
        *rows,
        (
            "abstract, Fig. 11c",
            "how much longer a tree of 6 links (42) takes than a torus of 3 (36), SuperNova, class C",
            "up to 27 %, the benchmark isn't named",
            "; ".join(f"{b.split('.')[0]} {each}" for b, each in zip(table_12.COMPUTE, longer, strict=True)),
            f"{RUNS}: a line or four levels. Ours lacks hosts and TCP, which shrink every ratio",
        ),
        (
            "Fig. 11c",
            "how much longer a tree of single links takes than the best, SuperNova, class C",
            f"up to 650 %; by table 12 FT, LU, SP {', '.join(single)}",
            "; ".join(f"{b.split('.')[0]} {each}" for b, each in zip(table_12.COMPUTE, mine, strict=True)),
            f"{RUNS}. The benchmark of the 650 % isn't named",
        ),
    ]


def link_regulation() -> list[Row]:
    """Return the rows of the procedures, of figures 5 and 6 and of Sect. 5.4.2 with figures 12 and 13."""
    waves = r"(\d waves): "
    vlans = r"assignment: (\d+ VLANs?);"
    hitless, states = r"(no host pair loses connectivity)", r"(\d+ states) of single switches"
    way, back, speed = (
        (*FIG_5, "tagloom rollout a b -o way"),
        (*FIG_5, "tagloom rollout b a -o way"),
        (*FIG_5, *SLOW, "tagloom rollout a slow -o way"),
    )
    lu = f"tagloom regulate inventory/supernova128-complete/fabric.yml --traffic {LU_16} -o off.json"
    rows: list[Row] = [
        (
            "Sect. 3.6",
            "a link from on to off: new paths, then the link",
            "3 steps",
            f"{found(waves, *way)}, {found(hitless, *way)}",
            typed(*way),
        ),
        (
            "Sect. 3.6",
            "a link from off to on: the link, then new paths",
            "3 steps",
            f"{found(waves, *back)}, {found(hitless, *back)}",
            typed(*back),
        ),
        (
            "Sect. 3.6",
            "another speed: paths away, the speed, paths back",
            "5 steps",
            f"{found(waves, *speed)}, {found(hitless, *speed)}",
            typed(*speed),
        ),
        ("Fig. 5a", "a ring of four switches, all links on", "2 VLANs", found(vlans, *FIG_5[:2]), typed(*FIG_5[:2])),
        ("Fig. 5b", "the same with a link off", "1 VLAN", found(vlans, FIG_5[0], FIG_5[2]), typed(FIG_5[0], FIG_5[2])),
        (
            "Fig. 5c",
            "a cycle between the paths of both",
            "possible",
            f"none on this way: {found(states, *way)} are free of it",
            f"{typed(*way)}; the proof of every wave refuses such a cycle ([waves](explanation/waves.md))",
        ),
        (
            "Fig. 6",
            "bandwidth of hosts while a link is reactivated and off again",
            "0 to 970 Mb/s, momentarily unstable; PVIDs were typed one after another",
            NOT_RUN,
            "none: a recording of TCP and UDP on real switches. Our waves keep every pair connected (row above)",
        ),
        (
            "Sect. 5.4.2",
            "the busiest channel's load with links off, LU",
            "less than the maximum, run time unchanged",
            found(r"busiest channel ([\d,]+ bytes -> [\d,]+ bytes)", lu),
            (
                f"{typed(lu)}. `static` is the paper's rule with equality allowed: by its words, less than, no link "
                "could be turned off ([savings](../benchmarks/results/savings.md))"
            ),
        ),
        (
            "Sect. 5.4.2",
            "ports in use on a switch with 64 hosts",
            "23",
            ports_of_64(),
            f"{HERE}, of `inventory/supernova64-5324`: 8 hosts and 5 links to each of three neighbors",
        ),
    ]
    readings = (
        ("Fig. 12a", "Fig. 12a by the text", "Misc (the text)"),
        ("Fig. 12a", "Fig. 12a by its caption", "SuperNova, 128 hosts (the caption)"),
        ("Fig. 12b", "Fig. 12b by the text, a torus, 128", "SuperNova, 128 hosts, 36 links (the text)"),
        ("Fig. 12b", "Fig. 12b by the text, a torus, 64", "SuperNova, 64 hosts, 60 links (the text)"),
        ("Fig. 13, abstract", "Fig. 13", "SuperNova, 64 hosts on PowerConnect 5324"),
    )
    for where, start, what in readings:
        _, total, bare, paper, links, saves, alone = column("savings.md", "| figure | cluster", start, slice(1, 8))
        shape = "a complete graph" if where == "Fig. 12a" else "a torus"
        rows.append(
            (
                where,
                f"W saved on {what}, {shape}",
                paper,
                f"{saves} of {total} W by {links} links off; without ports of hosts {alone} of {bare} W",
                f"{SAVINGS}; matrices of class S on 16 ranks, not of classes W and A",
            )
        )
    rows.append(
        (
            "Fig. 12b",
            "the same on Misc (the caption), a torus",
            "up to 19 %",
            NOT_RUN,
            "none: a torus of Misc's six switches is described nowhere, nor how many links it has",
        )
    )
    return rows


def rows() -> list[Row]:
    """Return the rows of Koibuchi, Otsuka, Kudoh, Amano 2011."""
    return [*tables_of_vlans(), *tables_of_switches(), *networks_and_runs(), *link_regulation()]
