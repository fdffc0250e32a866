"""Choose what is shown: five fabrics planned fixed, renamed and pinned, and small ones with one slip each."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabrics import ROOT, make_fabric, make_irregular
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.records.switch_state import OWNED_VLAN_NAME, Membership, SwitchEditor
from tagloom.units import format_ranges, parse_ranges
from tagloom.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.pipeline import Build
    from tagloom.records.switch_state import FabricState

MODEL = "linux-bridge"
TRIES = 60


@dataclass(frozen=True)
class Case:
    """One fabric to stand up: its plan, the texts its switches run (the plan's, or with a slip), the slip."""

    name: str
    build: Build
    texts: dict[str, str]
    slip: str = ""


def planned() -> Iterator[Case]:
    """Give the five fabrics, fixed, renamed and pinned, as planned."""
    chords = [(0, 5), (1, 4), (2, 7), (3, 6), (0, 3)]
    shapes = {
        "mesh 4x4": lambda: make_fabric("mesh", 4, 4, model=MODEL),
        "torus 4x4, two links": lambda: make_fabric("torus", 4, 4, parallel=2, model=MODEL),
        "fat tree 2,4,2": lambda: make_fabric("fat-tree", 2, 4, 2, model=MODEL),
        "K4,4": lambda: make_fabric("clos", 4, 4, model=MODEL),
        "irregular": lambda: make_irregular(
            [1, 2, 1, 1, 2, 1, 1, 1], [*((s, (s + 1) % 8) for s in range(8)), *chords], model=MODEL
        ),
    }
    for name, make in shapes.items():
        for assignment in ("fixed", "renamed", "pinned"):
            build, proof, texts = pipeline.plan(make(), ROOT / "templates", assignment=assignment)
            assert proof.proven, name
            yield Case(f"{name}, {assignment}", build, texts)
    build, proof, texts = pipeline.plan(
        shapes["mesh 4x4"](), ROOT / "templates", routing="dor", learning=True, entries=False
    )
    assert proof.proven
    yield Case("mesh 4x4, taught", build, texts)


def slipped(count: int, seed: int) -> Iterator[Case]:
    """Give small random fabrics with one line of one text changed, so that the proof fails; every kind in turn."""
    rng = random.Random(seed)
    kinds = list(SLIPS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        for _ in range(TRIES):
            build, texts = _small(rng)
            spoilt = SLIPS[kind](rng, build, texts)
            if spoilt is None:
                continue
            _, proof = pipeline.prove(build.fabric, spoilt, build.routes, duplicates_allowed=build.duplicates_allowed)
            if not proof.proven and (kind != "loop" or not proof.storm_free):
                break
        else:
            raise RuntimeError(f"no fabric found in which {kind} shows")
        shape = build.fabric.name + (f" {len(build.fabric.switches)}" if build.fabric.name == "irregular" else "")
        yield Case(f"{number + 1}: {shape}, {build.assignment}", build, spoilt, kind)


def _small(rng: random.Random) -> tuple[Build, dict[str, str]]:
    while True:
        family, dims, options = rng.choice(
            [
                ("mesh", (2, 2), {}),
                ("mesh", (3, 2), {}),
                ("ring", (3,), {"hosts": 2}),
                ("ring", (4,), {"parallel": rng.choice([1, 2])}),
                ("ring", (5,), {}),
                ("complete", (4,), {}),
                ("clos", (2, 3), {}),
                ("fat-tree", (2, 4, 1), {"hosts": 2}),
                ("irregular", (), {}),
            ]
        )
        if family == "irregular":
            size = rng.randint(4, 5)
            tree = [(rng.randrange(s), s) for s in range(1, size)]
            others = [(a, b) for a in range(size) for b in range(a + 1, size) if (a, b) not in tree]
            fabric = make_irregular(
                [rng.choice([1, 1, 2]) for _ in range(size)], [*tree, *rng.sample(others, 2)], model=MODEL
            )
        else:
            fabric = make_fabric(family, *dims, model=MODEL, **options)
        try:
            build, proof, texts = pipeline.plan(fabric, ROOT / "templates", assignment=rng.choice(["fixed", "renamed"]))
        except PlanError:
            continue
        if proof.proven:
            return build, texts


# --- slips: each changes one text, and gives None where the fabric has no place for it --------------------------------


def _replaced(rng, texts, pattern, change):
    """Pick a line that matches, and put what `change` makes of the match (None: not this one) in its place."""
    places = [
        (name, at, match)
        for name, text in texts.items()
        for at, line in enumerate(text.splitlines())
        if (match := re.fullmatch(pattern, line))
    ]
    rng.shuffle(places)
    for name, at, match in places:
        lines = texts[name].splitlines()
        new = change(name, match)
        if new is not None:
            return {**texts, name: "\n".join([*lines[:at], *new, *lines[at + 1 :]]) + "\n"}
    return None


def _other_port(build, rng, name, port):
    used = build.fabric.used_ports[build.fabric.index[name]]
    return rng.choice([p for p in used if p != port] or [port])


def wrong_port(rng, build, texts):
    def change(name, match):
        other = _other_port(build, rng, name, int(match[2]))
        return [f"{match[1]} dev swp{other} {match[3]}"] if other != int(match[2]) else None

    return _replaced(rng, texts, r"(bridge fdb replace \S+) dev swp(\d+) (.*)", change)


def missing_entry(rng, build, texts):
    del build
    return _replaced(rng, texts, r"bridge fdb replace .*", lambda _, __: [])


def missing_membership(rng, build, texts):
    del build

    def change(_, match):
        vlans = parse_ranges(match[2])
        vlans.remove(rng.choice(vlans))
        return [f"{match[1]} vid {run}{match[3] or ''}" for run in format_ranges(vlans).split(",") if run]

    return _replaced(rng, texts, r"(bridge vlan add dev \S+) vid ([\d-]+)( untagged)?", change)


def wrong_pvid(rng, build, texts):
    def change(name, match):
        others = [v for v in build.state[name].owned_vlans if v != int(match[2])]
        return [f"{match[1]} vid {rng.choice(others)} {match[3]}"] if others else None

    return _replaced(rng, texts, r"(bridge vlan add dev \S+) vid (\d+) (pvid.*)", change)


def missing_pvid(rng, build, texts):
    del build
    return _replaced(rng, texts, r"bridge vlan add dev \S+ vid \d+ pvid.*", lambda _, __: [])


def other_tagging(rng, build, texts):
    del build

    def change(_, match):
        return [match[1] if match[2] else f"{match[1]} untagged"]

    return _replaced(rng, texts, r"(bridge vlan add dev \S+ vid [\d-]+(?: pvid)?)( untagged)?", change)


def port_down(rng, build, texts):
    del build
    return _replaced(rng, texts, r"(ip link set dev swp\d+) up", lambda _, match: [f"{match[1]} down"])


def loop(rng, build, texts):
    """Put both ends of a link into a VLAN that they are not in."""
    fabric = build.fabric
    links = list(fabric.links)
    rng.shuffle(links)
    for link in links:
        a, b = fabric.switches[link.a].name, fabric.switches[link.b].name
        vlans = sorted({*build.state[a].owned_vlans} & {*build.state[b].owned_vlans})
        rng.shuffle(vlans)
        for vlan in vlans:
            untagged = " untagged" if build.assignment == "renamed" else ""
            spoilt = {
                **texts,
                a: f"{texts[a]}bridge vlan add dev swp{link.a_port} vid {vlan}{untagged}\n",
                b: f"{texts[b]}bridge vlan add dev swp{link.b_port} vid {vlan}{untagged}\n",
            }
            _, proof = pipeline.prove(fabric, spoilt, build.routes)
            if not proof.storm_free:
                return spoilt
    return None


SLIPS = {
    "wrong static port": wrong_port,
    "missing entry": missing_entry,
    "loop": loop,
    "missing membership": missing_membership,
    "wrong PVID": wrong_pvid,
    "missing PVID": missing_pvid,
    "other tagging": other_tagging,
    "port down": port_down,
}


# --- changes of a running fabric --------------------------------------------------------------------------------------


def black_hole(rng: random.Random, build: Build) -> tuple[FabricState, int] | None:
    """Give the state with one entry pointed at a wrong port of its VLAN, so that a host's frames are lost; the host."""
    fabric, state = build.fabric, build.state
    numbers = {host.mac: i for i, host in enumerate(fabric.hosts)}
    places = [
        (name, int(vlan), int(mac), int(port))
        for name, held in state.items()
        for vlan, mac, port in zip(held.entry_vlan, held.entry_mac, held.entry_port, strict=True)
    ]
    rng.shuffle(places)
    for name, vlan, mac, port in places[:TRIES]:
        editor = SwitchEditor.of(state[name])
        for other in sorted(editor.members[vlan]):
            if other != port:
                editor.set_entry(vlan, mac, (other,))
                spoilt = {**state, name: editor.freeze()}
                if verify(fabric, spoilt).reachable_pairs < len(fabric.hosts) * (len(fabric.hosts) - 1):
                    return spoilt, numbers[mac]
    return None


def looped(rng: random.Random, build: Build) -> FabricState | None:
    """Give the state with as few links more as need be in VLANs of their ends, so that broadcasts go round."""
    fabric, state = build.fabric, build.state
    fixed = build.assignment != "renamed"  # frames keep their VLAN
    vlans = sorted({vlan for held in state.values() for vlan in held.owned_vlans})
    places = [(link, u, v) for link in fabric.links for u in vlans for v in vlans if u == v or not fixed]
    for more in range(TRIES):
        editors = {name: SwitchEditor.of(held) for name, held in state.items()}
        for link, u, v in rng.sample(places, min(1 + more // 6, len(places))):
            for s, port, vlan in ((link.a, link.a_port, u), (link.b, link.b_port, v)):
                editor = editors[fabric.switches[s].name]
                editor.create_vlan(vlan)
                editor.name_vlan(vlan, OWNED_VLAN_NAME)
                if port not in editor.members[vlan]:
                    editor.set_member(vlan, port, Membership.TAGGED if fixed else Membership.UNTAGGED)
                editor.flooding[port - 1] = True
                if not fixed:
                    editor.set_pvid(port, vlan)
        spoilt = {name: editor.freeze() for name, editor in editors.items()}
        if not verify(fabric, spoilt).storm_free:
            return spoilt
    return None
