"""Run the whole mission on the virtual rack, step by step, and explain each step."""

from __future__ import annotations

import itertools
import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tagloom import pipeline
from tagloom.apply.playbook import Ansible
from tagloom.apply.site import Site
from tagloom.errors import InputError
from tagloom.graph.paths import average_hops, paths_to
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.operate import apply, prepare, waves
from tagloom.read import read_fabric
from tagloom.records.change import difference
from tagloom.regulate.settings_file import to_json, with_links_off
from tagloom.report import terminal
from tagloom.report.change_summary import summary_lines, switch_change
from tagloom.storage.outputs import in_the_way, write_output
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tagloom.apply.outcomes import Outcomes
    from tagloom.pipeline import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings

MATRIX = "lu.S.16.matrix.csv"
MATRIX_SECONDS = 0.06  # the run that MATRIX was recorded from: NPB 3.4 LU class S, 16 ranks
TRY_YOUR_OWN = (
    "tagloom new ring --dims 4 -o ring.yml",
    "tagloom plan ring.yml -o ring",
    "tagloom lab up ring.yml",
    "tagloom apply ring --check --diff",
    "tagloom apply ring",
    "tagloom lab fault s0 cable --port g1",
    "tagloom repair",
    "tagloom lab down",
)


@dataclass(slots=True)
class Demo:
    """The results of the demo; `held` is whether every check passed."""

    held: bool = True
    force: bool = False  # overwrite files that tagloom did not write
    payload: dict[str, Any] = field(default_factory=dict)

    def check(self, what: str, figure: str, good: bool) -> str:
        """Record a check and return its line."""
        self.held = self.held and good
        return f"{'':<{terminal.LABEL}}{what:<48}{figure:>15}  {'yes' if good else 'NO'}"


@dataclass(frozen=True)
class Stage:
    """Where the demo is shown: `say` prints what everybody sees, `detail` what only some ask for, `progress` bars."""

    say: Callable[..., None]
    detail: Callable[..., None]
    progress: Callable[[str], AbstractContextManager[Callable[[int, int], None]]]

    def step(self, number: int, title: str, *words: str) -> None:
        """Begin a step, explained in detail."""
        self.detail("")
        self.say(f"{number}. {title}")
        self.detail(*(line for w in words for line in terminal.row("", w)))


def run(
    home: Path,
    share: Path,
    environment: Mapping[str, str],
    stage: Stage,
    *,
    force: bool = False,
) -> Demo:
    """Run the demo in a directory of its own, and stop the rack whatever happens."""
    demo, templates, rack = Demo(force=force), share / "templates", home / "rack"
    _refuse_others(home, force=force)
    home.mkdir(parents=True, exist_ok=True)

    fabric_file = share / "inventory" / "testbed" / "fabric.yml"
    stage.step(
        1,
        f"Read {fabric_file.relative_to(share)}",
        "Sixteen switches cabled as a torus: with plain Ethernet its loops would storm.",
    )
    fabric = read_fabric(fabric_file)
    _describe(fabric, stage.detail)
    stage.say(*_indent([f"{_counts_of(fabric)}, cabled as a torus"]))

    stage.step(
        2,
        "Plan it and prove the plan",
        "Paths by dimension order; one VLAN per tree of paths; every proof is made from the rendered texts.",
    )
    build, proof, texts = pipeline.plan(fabric, templates)
    demo.held &= proof.proven
    summary = pipeline.summary_of(build, proof)
    pipeline.write_build(build, proof, texts, home / "build", summary=summary, force=force)
    demo.payload["plan"] = summary
    stage.detail(*terminal.plan_lines(fabric, summary), *terminal.proof_lines(proof, len(fabric.hosts)))
    entries = number_of(proof.fdb_entries_max, "entry")
    figure = f"{summary['average_hops']:.1f} switches on a path, at most {entries} in a switch"
    stage.say(*_indent([f"{terminal.count(summary['vlans'], 'VLAN')}, {figure}"]))
    stage.say(demo.check("all host pairs connected, no storm, no deadlock", *_proven(proof)))
    stage.say(f"wrote     {home / 'build'}/ ({terminal.count(len(texts), 'configuration')}, plan.json)")

    stage.step(
        3,
        "Start the virtual rack, an SSH console for each switch",
        "Sixteen switches in factory state, each an SSH console on loopback, all in one process of its own.",
    )
    if (rack / "rack.json").exists():
        process.down(rack)
    info = process.up(Order(fabric, templates), rack, force=force)
    try:
        ports = sorted(info.ports.values())
        shown = [(n, "127.0.0.1", str(info.ports[n])) for n in list(info.ports)[:3]]
        stage.detail(
            *_indent(terminal.table(("switch", "address", "SSH port"), shown, right=(2,))),
            f"{'':<10}... {len(ports)} in all",
        )
        with ExitStack() as stack:
            site = Site(rack, share, environment, "demo")
            ansible = stack.enter_context(Ansible(site))
            context = stack.enter_context(waves.open_context(ansible, "tagloom demo", stage.detail))
            _mission(demo, home, build, context, stage)
    finally:
        process.down(rack)
    _close(stage)
    return demo


def _close(stage: Stage) -> None:
    """Summarize what happened, and list what to type next."""
    stage.say("", "What happened")
    happened = (
        "tagloom planned VLANs that give the hosts many paths, checked the configurations and sent them, followed a "
        "frame of every host pair, and turned off links without interrupting a pair. The switches were virtual; the "
        "SSH sessions were real."
    )
    stage.say(*terminal.row("", happened))
    stage.say("", "Try your own: a ring of four virtual switches (all details of this demo: -v)")
    stage.say(*_indent(list(TRY_YOUR_OWN)))


def _refuse_others(home: Path, *, force: bool) -> None:
    """Raise InputError for all files in a directory that the demo would overwrite and did not write."""
    found = [
        finding
        for name, mark in (("build", "plan.json"), ("build-saving", "plan.json"), ("rollout", "rollout.json"))
        for finding in pipeline.occupied(home / name, mark, force=force)
    ]
    found += [] if force else in_the_way(home / "settings.json")
    if found:
        raise InputError(found)


def _mission(
    demo: Demo,
    home: Path,
    build: Build,
    context: waves.ApplyContext,
    stage: Stage,
) -> None:
    fabric, site, rack = build.fabric, context.site, context.site.inventory
    stage.step(
        4,
        "Push with ansible-playbook: first check mode, then for real",
        "Check mode reads every switch over SSH and computes the true difference; nothing is sent.",
    )
    prepared = prepare.prepare(home / "build")
    hosts = len(fabric.switches)
    phase = _phase(stage.progress, hosts)

    def show(survey: waves.Survey) -> None:
        found = survey.outcomes
        cells = {name: difference(held, survey.wanted[name]) for name, held in survey.read.items()}
        read = [o for o in found.outcomes if o.read]
        stage.say(*summary_lines([switch_change(o.switch, o.before, o.after, cells[o.switch]) for o in read]))
        stage.detail(*_indent(read[0].diff.splitlines() if read else []))
        stage.detail(*terminal.outcome_lines(found, checked=True))

    options = apply.ApplyOptions(allow_interrupt=True)  # spanning tree connects the factory rack, and goes off
    pushed = apply.look_and_apply(context, prepared, options, on_found=show, phase=phase).outcomes
    stage.detail(*terminal.outcome_lines(pushed, checked=False))
    stage.say(
        demo.check(
            "every switch changed, none failed",
            f"{len(pushed.changed)} of {len(fabric.switches)}",
            pushed.good and len(pushed.changed) == len(fabric.switches),
        )
    )
    demo.payload["apply"] = _counts(pushed)

    stage.step(
        5,
        "Read every running configuration back over SSH and check it",
        "Nothing of the plan is used here: the texts alone say what frames will do.",
    )
    demo.payload["verify"] = _prove_running(demo, fabric, site, stage)

    stage.step(
        6,
        "Send frames through the rack",
        "A frame for every ordered pair of hosts, each followed switch by switch, and a broadcast from every host.",
    )
    demo.payload["ping"] = _ping(demo, build, rack, stage)

    stage.step(7, "Apply the same build again")
    again = apply.look_and_apply(context, prepared, options, phase=phase).outcomes
    stage.detail(*terminal.outcome_lines(again, checked=False))
    stage.say(
        demo.check(
            "nothing changes",
            f"{len(again.unchanged)} of {len(fabric.switches)}",
            len(again.unchanged) == len(fabric.switches),
        )
    )
    demo.payload["apply_again"] = _counts(again)

    _save_power(demo, home, build, context, stage)


def _save_power(
    demo: Demo,
    home: Path,
    build: Build,
    context: waves.ApplyContext,
    stage: Stage,
) -> None:
    """Turn off the links that one application does not need, paths first, and report the saving."""
    fabric, site, templates = build.fabric, context.site, context.site.share / "templates"
    matrix = site.share / "tests" / "data" / "npb" / MATRIX
    stage.step(
        8,
        "Turn off the links that one application does not need",
        f"Traffic: {MATRIX}, NAS LU class S on 16 ranks. A link goes off when no channel gets busier than the busiest "
        "was (Koibuchi et al. 2011, Sect. 5.4.2). Paths are moved away first: add, flip, remove.",
    )
    traffic = pipeline.traffic_of(matrix, fabric, "", MATRIX_SECONDS)
    settings = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None)
    payload = to_json(fabric, settings)
    write_output(home / "settings.json", json.dumps(payload, indent=2) + "\n", force=demo.force)
    stage.detail(*terminal.settings_lines(payload))
    stage.say(*_indent([f"{len(payload['off'])} of {terminal.count(len(fabric.links), 'link')} turned off"]))
    saving_fabric = with_links_off(fabric, [], home / "settings.json")
    saving, proof, texts = pipeline.plan(saving_fabric, templates, previous=build)
    demo.held &= proof.proven
    pipeline.write_build(saving, proof, texts, home / "build-saving", force=demo.force)
    change = pipeline.rollout_between(build, saving)
    rollout = pipeline.write_rollout(saving, change, templates, home / "rollout", force=demo.force)
    stage.detail(*terminal.rollout_lines(rollout))
    stage.detail(
        f"{'':<10}paths grow from {average_hops(fabric, build.routes):.2f} to "
        f"{average_hops(saving_fabric, saving.routes):.2f} switches"
    )
    prepared = prepare.prepare(home / "rollout")
    phase = _phase(stage.progress, len(fabric.switches))
    pushed = apply.look_and_apply(context, prepared, apply.ApplyOptions(), phase=phase).outcomes
    stage.detail(*terminal.outcome_lines(pushed, checked=False, waves=rollout["waves"]))
    stage.say(
        demo.check(
            "every wave done, no host pair interrupted",
            f"{pushed.reached} of {pushed.waves}",
            pushed.good and not rollout["downtime_seconds"],
        )
    )
    demo.payload["rollout"] = rollout
    demo.payload["regulate"] = payload
    demo.payload["verify_after"] = _prove_running(demo, saving_fabric, site, stage, again=True)
    demo.payload["ping_after"] = _ping(demo, saving, site.inventory, stage, again=True)

    stage.step(
        9,
        "Predict what it saves and costs",
        f"The forecast that tagloom predict gives of {home.name}/build-saving and the same traffic.",
    )
    question = pipeline.Question(traffic, rollout=home / "rollout")
    forecast = terminal.forecast_payload(pipeline.predict_build(saving, question), saving_fabric)
    demo.payload["predict"] = forecast
    label = ""
    for line in terminal.forecast_lines(forecast):
        label = line[: terminal.LABEL].strip() or (label if line else "")  # a row wraps under its label
        (stage.say if label in {"slow-down", "saving", "by"} else stage.detail)(line)


def _counts_of(fabric: Fabric) -> str:
    """Count the parts of a fabric."""
    parts = ((fabric.switches, "switch"), (fabric.links, "link"), (fabric.hosts, "host"))
    return ", ".join(terminal.count(len(found), what) for found, what in parts)


def _describe(fabric: Fabric, say: Callable[..., None]) -> None:
    rows = [
        ("switches", str(len(fabric.switches)), ", ".join(sorted({s.model for s in fabric.switches}))),
        ("links", str(len(fabric.links)), "two between neighbours"),
        ("hosts", str(len(fabric.hosts)), "one on each switch"),
    ]
    say(*_indent(terminal.table(("what", "count", "which"), rows, right=(1,))))


def _prove_running(demo: Demo, fabric: Fabric, site: Site, stage: Stage, *, again: bool = False) -> dict[str, Any]:
    """Read the switches back and check them; `again`, what holds is a detail."""
    texts = prepare.read_back(fabric, site)
    _, proof = pipeline.prove(fabric, texts, None)
    demo.held &= proof.proven
    stage.detail(*terminal.proof_lines(proof, len(fabric.hosts)))
    line = demo.check("the configurations read back hold all checks", *_proven(proof))
    (stage.detail if again and proof.proven else stage.say)(line)
    return proof.to_json()


def _proven(proof: Findings) -> tuple[str, bool]:
    """Return how many pairs arrive on their own paths, and whether all was proven."""
    return f"{max(proof.reachable_pairs - proof.off_path_pairs, 0):,} of {proof.pairs:,}", proof.proven


def _ping(demo: Demo, build: Build, rack: Path, stage: Stage, *, again: bool = False) -> dict[str, Any]:
    """Compare the frames' traces, switch by switch and port by port, with the planned paths; as `_prove_running`."""
    fabric = build.fabric
    walked = process.trace(rack)
    on_path = sum(
        walked.get(f"{a.name} {b.name}") == _intended(build, i, j)
        for i, a in enumerate(fabric.hosts)
        for j, b in enumerate(fabric.hosts)
        if i != j
    )
    pairs = len(fabric.hosts) * (len(fabric.hosts) - 1)
    reported = process.broadcast(rack)
    once = reported["exactly_once"] == reported["hosts"]
    figure = f"{reported['exactly_once']} of {reported['hosts']}"
    stage.say(demo.check("frames arrive, each on exactly its planned path", f"{on_path} of {pairs}", on_path == pairs))
    line = demo.check("broadcasts reach each other host exactly once", figure, once)
    (stage.detail if again and once else stage.say)(line)
    return {"pairs": pairs, "on_path": on_path, "broadcasts_exactly_once": reported["exactly_once"]}


def _intended(build: Build, source: int, target: int) -> list[list[Any]]:
    """Return the hops planned for a pair as [switch, in-port, out-port]."""
    fabric, routes = build.fabric, build.routes
    path = paths_to(fabric, routes, fabric.host_switch[[target]])[routes.source_of_host[source], 0]
    channels = path[path >= 0].tolist()
    into = [fabric.hosts[source].port, *(int(fabric.head_port[c]) for c in channels)]
    out = [*(int(fabric.tail_port[c]) for c in channels), fabric.hosts[target].port]
    switches = [fabric.hosts[source].switch, *(int(fabric.head[c]) for c in channels)]
    return [[fabric.switches[s].name, i, o] for s, i, o in zip(switches, into, out, strict=True)]


def _counts(outcomes: Outcomes) -> dict[str, Any]:
    return {
        "changed": list(outcomes.changed),
        "unchanged": list(outcomes.unchanged),
        "failed": list(outcomes.failed),
        "seconds": round(outcomes.seconds, 1),
    }


def _phase(progress: Callable[[str], AbstractContextManager[Callable[[int, int], None]]], switches: int) -> apply.Phase:
    """Return a function that shows a phase's progress by counting outcomes."""

    @contextmanager
    def phase(what: str, waves_of: int) -> Iterator[Callable[[object], None]]:
        with progress(what) as note:
            done = itertools.count(1)
            note(0, switches * waves_of)
            yield lambda _outcome: note(next(done), switches * waves_of)

    return phase


def _indent(lines: list[str]) -> list[str]:
    return [f"{'':<{terminal.LABEL}}{line}".rstrip() for line in lines]
