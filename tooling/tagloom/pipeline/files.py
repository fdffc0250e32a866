"""Store builds and rollouts in directories, atomically, and never in place of something else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tagloom import __version__, platforms
from tagloom.graph.numbering import new_numbers
from tagloom.pipeline.planning import summary_of
from tagloom.platforms.words import write_templates
from tagloom.read import build_directory, format_fabric
from tagloom.read.build_directory import BUILD_FORMAT, owned, write_texts
from tagloom.records.detours import with_vlans
from tagloom.render import RenderedOnce, commands, host_pages, parse, render, render_configuration, site_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tagloom.platforms.words import Templates
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.rollout import Growth, Rollout
    from tagloom.records.switch_state import FabricState


def write_build(
    build: Build,
    proof: Findings,
    texts: Mapping[str, str],
    directory: Path,
    *,
    hosts: Mapping[str, str] | None = None,
    summary: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Write a proven build; `hosts` are the files of `host_pages`, `summary` the figures of `summary_of` if known.

    Raises InputError if something else is in its place, or a user changed what is; `force` overwrites it.
    """
    site = {name: [line.title for line in lines] for name, lines in site_lines(build.fabric).items()}
    pages = host_pages(build) if hosts is None else hosts
    figures = summary_of(build, proof) if summary is None else summary
    build_directory.write_build(build, figures, proof, texts, directory, hosts=pages, site=site, force=force)


def read_build(directory: Path, *, states: bool = True) -> Build:
    """Return the build of a directory. Raises InputError if it is not one.

    Without `states` no configuration text is read and no switch has a state, which saves reading a thousand texts for
    the routes alone.
    """
    return build_directory.read_build(directory, (lambda *texts: parse(*texts)[0]) if states else None)


def write_rollout(
    plan_of: Build,
    change: Rollout,
    templates: Path,
    directory: Path,
    render: Callable[[Fabric, FabricState, Path], dict[str, str]] = render,
    *,
    force: bool = False,
) -> dict[str, Any]:
    """Write a rollout directory: rollout.json, the state before, each wave's end and lines, the target build.

    `render` returns the texts of a state, for callers that know some of them. Returns the figures of rollout.json.
    """
    growth, own = change.growth, plan_of.fabric.templates
    fabric = plan_of.fabric if growth is None else growth.fabric.with_templates(own)
    payload = change.to_json()
    judged, written = _Judged(), RenderedOnce(render, templates)
    with owned(directory, "rollout.json", force=force) as draft:
        write_texts(draft / "before", written(fabric, change.before))
        waves = []
        for number, wave in enumerate(change.waves, start=1):
            folder = f"waves/{number}"
            write_texts(draft / folder, written(fabric, wave.state))
            sent = commands(fabric, wave)
            (draft / folder / "commands").mkdir()
            for name, lines in sent.items():
                (draft / folder / "commands" / f"{name}.txt").write_text("\n".join([*lines, ""]), "utf-8")
            waves.append({"configs": folder, "commands": sum(map(len, sent.values())), **wave.to_json()})
            if wave.fabrics is not None:
                waves[-1]["fabrics"] = [judged.name(each) for each in wave.fabrics]
        after = {s.name: change.after[s.name] for s in plan_of.fabric.switches}
        ids = new_numbers(plan_of.state, after) if plan_of.detours else {}
        target = replace(plan_of, state=after, detours=with_vlans(plan_of.detours, ids))
        more: dict[str, Any] = {}
        if growth is not None:
            (draft / "fabric.yml").write_text(format_fabric(fabric), "utf-8")
            judged.write(draft / "fabrics")
            for place in (draft, draft / "fabrics"):  # a fabric file is read with the templates beside it
                write_templates(own, place / "templates")
            write_texts(draft / "left", _texts_left(growth, judged, templates, own))
            more = {"left": "left", "ports": {name: list(ports) for name, ports in growth.ports.items()}}
        (draft / "rollout.json").write_text(
            json.dumps(
                {"tagloom": __version__, "format": BUILD_FORMAT, "before": "before", **payload, **more, "waves": waves},
                indent=2,
            )
            + "\n",
            "utf-8",
        )
        texts = written(target.fabric, target.state)
        write_build(target, change.after_proof, texts, draft / "build")
    return payload


class _Judged:
    """The fabrics that waves are proven for, numbered in order of first use."""

    def __init__(self) -> None:
        self.fabrics: list[Fabric] = []

    def name(self, fabric: Fabric) -> str:
        """Return the name of a fabric's file; each object has one."""
        for number, known in enumerate(self.fabrics):
            if known is fabric:
                return f"fabrics/{number}.yml"
        self.fabrics.append(fabric)
        return f"fabrics/{len(self.fabrics) - 1}.yml"

    def write(self, directory: Path) -> None:
        """Write each fabric to its file."""
        directory.mkdir()
        for number, fabric in enumerate(self.fabrics):
            (directory / f"{number}.yml").write_text(format_fabric(replace(fabric, shape=None)), "utf-8")


def _texts_left(growth: Growth, judged: _Judged, templates: Path, own: Templates) -> dict[str, str]:
    """Return the texts of switches that are left alone, which the proofs of waves also cover."""
    known = {switch.name: switch for fabric in judged.fabrics for switch in fabric.with_templates(own).switches}
    return {
        name: render_configuration(platforms.of(known[name]), state, templates) for name, state in growth.left.items()
    }
