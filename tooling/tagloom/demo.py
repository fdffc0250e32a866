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
from tagloom.predict.links import predict
from tagloom.read import read_fabric
from tagloom.regulate.settings_file import to_json, with_links_off
from tagloom.report import terminal
from tagloom.storage.outputs import in_the_way, write_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tagloom.apply.outcomes import Outcomes
    from tagloom.pipeline import Build
    from tagloom.records.fabric import Fabric

MATRIX = "lu.S.16.matrix.csv"
MATRIX_SECONDS = 0.06  # the run that MATRIX was recorded from: NPB 3.4 LU class S, 16 ranks
SHOWN_DIFF = 14  # lines of one switch's diff


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


def run(
    home: Path,
    share: Path,
    environment: Mapping[str, str],
    say: Callable[..., None],
    progress: Callable[[str], AbstractContextManager[Callable[[int, int], None]]],
    *,
    force: bool = False,
) -> Demo:
    """Run the demo in a directory of its own, and stop the rack whatever happens."""
    demo, templates, rack = Demo(force=force), share / "templates", home / "rack"
    _refuse_others(home, force=force)
    home.mkdir(parents=True, exist_ok=True)

    def step(number: int, title: str, *words: str) -> None:
        say("", f"{number}. {title}", *(line for w in words for line in terminal.row("", w)))

    fabric_file = share / "inventory" / "testbed" / "fabric.yml"
    step(
        1,
        f"Read {fabric_file.relative_to(share)}",
        "Sixteen switches cabled as a torus: with plain Ethernet its loops would storm.",
    )
    fabric = read_fabric(fabric_file)
    _describe(fabric, say)

    step(
        2,
        "Plan it and prove the plan",
        "Paths by dimension order; one VLAN per tree of paths; every proof is made from the rendered texts.",
    )
    build, proof, texts = pipeline.plan(fabric, templates)
    demo.held &= proof.proven
    summary = pipeline.summary_of(build, proof)
    pipeline.write_build(build, proof, texts, home / "build", summary=summary, force=force)
    demo.payload["plan"] = summary
    say(*terminal.plan_lines(fabric, summary), *terminal.proof_lines(proof, len(fabric.hosts)))
    say(f"wrote     {home / 'build'}/ ({terminal.count(len(texts), 'configuration')}, plan.json)")

    step(
        3,
        "Start the virtual rack",
        "Sixteen switches in factory state, each an SSH console on loopback, all in one process of its own.",
    )
    if (rack / "rack.json").exists():
        process.down(rack)
    info = process.up(Order(fabric, templates), rack, force=force)
    try:
        ports = sorted(info.ports.values())
        shown = [(n, "127.0.0.1", str(info.ports[n])) for n in list(info.ports)[:3]]
        say(
            *_indent(terminal.table(("switch", "address", "SSH port"), shown, right=(2,))),
            f"{'':<10}... {len(ports)} in all",
        )
        with ExitStack() as stack:
            site = Site(rack, share, environment, "demo")
            ansible = stack.enter_context(Ansible(site))
            context = stack.enter_context(waves.open_context(ansible, "tagloom demo", say))
            _mission(demo, home, build, context, say, progress, step)
    finally:
        process.down(rack)
    return demo


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
    say: Callable[..., None],
    progress: Callable[[str], AbstractContextManager[Callable[[int, int], None]]],
    step: Callable[..., None],
) -> None:
    fabric, site, rack = build.fabric, context.site, context.site.inventory
    step(
        4,
        "Push with ansible-playbook: first check mode, then for real",
        "Check mode reads every switch over SSH and computes the true difference; nothing is sent.",
    )
    prepared = prepare.prepare(home / "build")
    hosts = len(fabric.switches)
    phase = _phase(progress, hosts)

    def show(survey: waves.Survey) -> None:
        found = survey.outcomes
        say(*(terminal.change_line(o.switch, o.diff) for o in found.outcomes[:3]), f"{'':<10}...")
        if found.outcomes:
            lines = found.outcomes[0].diff.splitlines()
            say(*_indent([*lines[:SHOWN_DIFF], f"... {max(0, len(lines) - SHOWN_DIFF)} more lines"]))
        say(*terminal.outcome_lines(found, checked=True))

    options = apply.ApplyOptions(allow_interrupt=True)  # spanning tree connects the factory rack, and goes off
    pushed = apply.look_and_apply(context, prepared, options, on_found=show, phase=phase).outcomes
    say(*terminal.outcome_lines(pushed, checked=False))
    say(
        demo.check(
            "every switch changed, none failed",
            f"{len(pushed.changed)} of {len(fabric.switches)}",
            pushed.good and len(pushed.changed) == len(fabric.switches),
        )
    )
    demo.payload["apply"] = _counts(pushed)

    step(
        5,
        "Read every running configuration back over SSH and prove those texts",
        "Nothing of the plan is used here: the texts alone say what frames will do.",
    )
    demo.payload["verify"] = _prove_running(demo, fabric, site, say)

    step(
        6,
        "Send frames through the rack",
        "A frame for every ordered pair of hosts, each followed switch by switch, and a broadcast from every host.",
    )
    demo.payload["ping"] = _ping(demo, build, rack, say)

    step(7, "Apply the same build again")
    again = apply.look_and_apply(context, prepared, options, phase=phase).outcomes
    say(*terminal.outcome_lines(again, checked=False))
    say(
        demo.check(
            "nothing changes",
            f"{len(again.unchanged)} of {len(fabric.switches)}",
            len(again.unchanged) == len(fabric.switches),
        )
    )
    demo.payload["apply_again"] = _counts(again)

    _save_power(demo, home, build, context, say, progress, step)


def _save_power(
    demo: Demo,
    home: Path,
    build: Build,
    context: waves.ApplyContext,
    say: Callable[..., None],
    progress: Callable[[str], AbstractContextManager[Callable[[int, int], None]]],
    step: Callable[..., None],
) -> None:
    """Turn off the links that one application does not need, paths first, and report the saving."""
    fabric, site, templates = build.fabric, context.site, context.site.share / "templates"
    matrix = site.share / "tests" / "data" / "npb" / MATRIX
    step(
        8,
        "Turn off the links that one application does not need",
        f"Traffic: {MATRIX}, NAS LU class S on 16 ranks. A link goes off when no channel gets busier than the busiest "
        "was (Koibuchi et al. 2011, Sect. 5.4.2). Paths are moved away first: add, flip, remove.",
    )
    traffic = pipeline.traffic_of(matrix, fabric, "", MATRIX_SECONDS)
    settings = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None)
    payload = to_json(fabric, settings)
    write_output(home / "settings.json", json.dumps(payload, indent=2) + "\n", force=demo.force)
    say(*terminal.settings_lines({**payload, "off": payload["off"][:4]}), f"{'':<10}...")
    saving_fabric = with_links_off(fabric, [], home / "settings.json")
    saving, proof, texts = pipeline.plan(saving_fabric, templates, previous=build)
    demo.held &= proof.proven
    pipeline.write_build(saving, proof, texts, home / "build-saving", force=demo.force)
    change = pipeline.rollout_between(build, saving)
    rollout = pipeline.write_rollout(saving, change, templates, home / "rollout", force=demo.force)
    say(*terminal.rollout_lines(rollout))
    say(
        f"{'':<10}paths grow from {average_hops(fabric, build.routes):.2f} to "
        f"{average_hops(saving_fabric, saving.routes):.2f} switches"
    )
    prepared = prepare.prepare(home / "rollout")
    phase = _phase(progress, len(fabric.switches))
    pushed = apply.look_and_apply(context, prepared, apply.ApplyOptions(), phase=phase).outcomes
    say(*terminal.outcome_lines(pushed, checked=False, waves=rollout["waves"]))
    say(demo.check("every wave landed, none failed", f"{pushed.reached} of {pushed.waves}", pushed.good))
    demo.payload["rollout"] = rollout
    demo.payload["regulate"] = payload
    demo.payload["verify_after"] = _prove_running(demo, saving_fabric, site, say)
    demo.payload["ping_after"] = _ping(demo, saving, site.inventory, say)

    step(
        9,
        "Predict what it saves and costs",
        "Watts by the paper's table 2; run time if host ports slept as a PowerConnect 5548's do (a 5324's cannot).",
    )
    forecast = terminal.forecast_payload(predict(fabric, saving_fabric, traffic))
    demo.payload["predict"] = forecast
    say(*terminal.forecast_lines(forecast))


def _describe(fabric: Fabric, say: Callable[..., None]) -> None:
    rows = [
        ("switches", str(len(fabric.switches)), ", ".join(sorted({s.model for s in fabric.switches}))),
        ("links", str(len(fabric.links)), "two between neighbours"),
        ("hosts", str(len(fabric.hosts)), "one on each switch"),
    ]
    say(*_indent(terminal.table(("what", "count", "which"), rows, right=(1,))))


def _prove_running(demo: Demo, fabric: Fabric, site: Site, say: Callable[..., None]) -> dict[str, Any]:
    texts = prepare.read_back(fabric, site)
    _, proof = pipeline.prove(fabric, texts, None)
    demo.held &= proof.proven
    say(*terminal.proof_lines(proof, len(fabric.hosts)))
    return proof.to_json()


def _ping(demo: Demo, build: Build, rack: Path, say: Callable[..., None]) -> dict[str, Any]:
    """Compare the frames' traces, switch by switch and port by port, with the planned paths."""
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
    say(
        demo.check("frames arrive, each on exactly its planned path", f"{on_path} of {pairs}", on_path == pairs),
        demo.check(
            "broadcasts reach each other host exactly once",
            f"{reported['exactly_once']} of {reported['hosts']}",
            reported["exactly_once"] == reported["hosts"],
        ),
    )
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
