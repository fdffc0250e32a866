"""Keep builds and rollouts in directories: whole or not at all, and never in the place of something else."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import __version__, platforms
from tagloom.apply.build import read_rollout
from tagloom.errors import Finding, InputError
from tagloom.graph.numbering import new_numbers
from tagloom.graph.paths import check_routes
from tagloom.pipeline.planning import Build, certificate, host_pages
from tagloom.platforms.port_names import link_at
from tagloom.platforms.words import write_templates
from tagloom.read import format_fabric, read_fabric
from tagloom.records.detours import Detour, Protection, with_vlans
from tagloom.records.forms import BuildForm
from tagloom.records.routes import Relation, Routes
from tagloom.render import commands, parse, render, render_configuration, site_lines
from tagloom.storage.arrays import read_arrays
from tagloom.storage.document import checked, read_json, shown
from tagloom.storage.text import read_text
from tagloom.storage.whole import OwnedDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tagloom.platforms.words import Templates
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.forms import RoutesForm
    from tagloom.records.rollout import Growth, Rollout

CONFIGURATION_BYTES = 1 << 26
BUILD_FORMAT = 1  # raised when plan.json changes so that an older reader would misread it
KEPT = ("apply",)  # what a run of the playbook by hand leaves in a build: its backups outlive the build
# What names the files of a build and of a rollout have.
_BUILD = (
    r"plan\.json|fabric\.yml|routes\.npz|configs/[^/]+\.cfg|hosts/[^/]+|templates/[^/]+/[^/]+\.(?:j2|txt)"
    r"|site/[^/]+\.txt"
)
_ROLLOUT = "|".join(
    (
        r"rollout\.json|fabric\.yml|fabrics/\d+\.yml|left/[^/]+\.cfg|before/[^/]+\.cfg",
        r"(?:fabrics/)?templates/[^/]+/[^/]+\.(?:j2|txt)",
        r"waves/\d+/[^/]+\.cfg|waves/\d+/commands/[^/]+\.txt",
        rf"build/(?:{_BUILD}|\.tagloom)",
    )
)


def write_build(
    build: Build,
    summary: dict[str, Any],
    texts: Mapping[str, str],
    directory: Path,
    proof: Findings | None = None,
    hosts: Mapping[str, str] | None = None,
) -> None:
    """Write a build directory whole or not at all. Raises InputError where something else stands in its place.

    With `proof`, its certificate of deadlock freedom is written along; what `hosts` need (the pages of `host_pages`)
    stands beside it. Without texts only plan.json is written, without the routes: a record of what was planned and
    proven, which no other command takes for a build.
    """
    routes = build.routes
    hosts = host_pages(build) if hosts is None else hosts
    payload: dict[str, Any] = {
        "tagloom": __version__,
        "format": BUILD_FORMAT,
        "summary": summary,
        "certificate": certificate(build.fabric, proof) if proof is not None else {},
        "routes": {
            "method": routes.method,
            "reason": routes.reason,
        },
    }
    if build.detours:
        payload["detours"] = [detour.to_json() for detour in build.detours]
    if not texts:
        payload["texts"] = "none: the planned states are proven, no configuration is"
        with _owned(directory, "plan.json") as fresh:
            (fresh / "plan.json").write_text(json.dumps(payload) + "\n", "utf-8")
        return
    arrays = {"source_of_host": routes.source_of_host, "root": routes.root}
    if routes.parent is not None:
        arrays["parent"] = routes.parent
    if routes.relation is not None:
        arrays |= {"first": routes.relation.first, "following": routes.relation.following}
    with _owned(directory, "plan.json") as fresh:
        (fresh / "fabric.yml").write_text(format_fabric(build.fabric), "utf-8")
        (fresh / "plan.json").write_text(json.dumps(payload) + "\n", "utf-8")
        np.savez_compressed(fresh / "routes.npz", **arrays)  # type: ignore[arg-type]  # names to arrays
        write_texts(fresh / "configs", texts)
        write_templates(build.fabric.templates, fresh / "templates")
        _write_site_lines(build.fabric, fresh / "site")
        for name, page_text in hosts.items():
            (fresh / "hosts").mkdir(exist_ok=True)
            (fresh / "hosts" / name).write_text(page_text, "utf-8")


def _write_site_lines(fabric: Fabric, directory: Path) -> None:
    """Write for people, one file per switch, the operator's own lines that an apply adds to its configuration."""
    for name, lines in site_lines(fabric).items():
        directory.mkdir(exist_ok=True)
        said = "\n".join(line.title for line in lines)
        (directory / f"{name}.txt").write_text(f"! from templates/site, which an apply reads\n{said}\n", "utf-8")


def occupied(directory: Path, mark: str) -> list[Finding]:
    """Find what is in the way where a build (`mark` plan.json) or a rollout (rollout.json) is to be written."""
    return _owned(directory, mark).occupied()


def _owned(directory: Path, mark: str) -> OwnedDirectory:
    kind, files = ("build", _BUILD) if mark == "plan.json" else ("rollout", _ROLLOUT)
    return OwnedDirectory(directory, kind, re.compile(files), mark, KEPT)


def write_texts(directory: Path, texts: Mapping[str, str]) -> None:
    """Write one ``<switch>.cfg`` per switch."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (directory / f"{name}.cfg").write_text(text, "utf-8")


def folder_of_texts(directory: Path) -> Path:
    """Return a directory of configurations. Raises InputError where there is none."""
    if not directory.is_dir():
        raise InputError([Finding(str(directory), "a directory of configurations", "none")])
    return directory


def read_texts(fabric: Fabric, directory: Path) -> dict[str, str]:
    """Read one ``<switch>.cfg`` per switch. Raises InputError for files that are missing or belong to no switch."""
    texts: dict[str, str] = {}
    findings: list[Finding] = []
    for switch in fabric.live:
        path = folder_of_texts(directory) / f"{switch.name}.cfg"
        try:
            texts[switch.name] = read_text(path, "a readable configuration", CONFIGURATION_BYTES)
        except InputError as error:
            findings += error.findings
    strangers = [path for path in sorted(directory.glob("*.cfg")) if path.stem not in fabric.index]
    findings += [Finding(str(path), "a file named after a switch of the fabric", path.stem) for path in strangers]
    if findings:
        raise InputError(findings)
    return texts


def read_build(directory: Path, *, states: bool = True) -> Build:
    """Read a build directory back. Raises InputError where it is not one.

    Without `states` the configuration texts are left alone, and no switch has a state: who asks for the routes alone
    need not wait for a thousand texts.
    """
    where, expected = directory / "plan.json", "a build made by tagloom plan"
    if not directory.is_dir():
        raise InputError([Finding(str(directory), expected, "no directory")])
    raw = read_json(where, expected)
    if not isinstance(raw, dict) or raw.get("format") != BUILD_FORMAT:
        actual = shown(raw.get("format")) if isinstance(raw, dict) else shown(raw)
        raise InputError([Finding(str(where), f"{expected}, format {BUILD_FORMAT}", actual)])
    if "texts" in raw and not (directory / "routes.npz").exists():
        raise InputError([Finding(str(directory), expected, "a record of a plan without texts (--no-texts)")])
    payload = checked(BuildForm, raw, str(where))
    fabric = read_fabric(directory / "fabric.yml")
    routes = _read_routes(directory / "routes.npz", payload.routes, fabric)
    state = parse(fabric, read_texts(fabric, directory / "configs"))[0] if states else {}
    summary = payload.summary
    reported = summary.broadcast, tuple(summary.remarks)
    detours = _read_detours(payload, fabric, str(where))
    guarded = None
    if summary.protect != "none":
        guarded = Protection(**{each.name: getattr(summary, each.name) for each in fields(Protection)})
    return Build(
        fabric, routes, summary.assignment, summary.vlans, state, *reported, detours=detours, protection=guarded
    )


def _read_detours(payload: BuildForm, fabric: Fabric, where: str) -> tuple[Detour, ...]:
    """Read the detours of a build, which name links, switches and hosts of its fabric. Raises InputError."""
    hosts = {host.name for host in fabric.hosts}
    findings: list[Finding] = []
    detours = tuple(map(Detour.from_json, payload.detours))
    for number, detour in enumerate(detours):
        place = f"{where}: detours.{number}"
        links = {link_at(fabric, end) for end in detour.dead}
        known = len(links) == 1 and None not in links if len(detour.dead) > 1 else detour.dead[0] in fabric.index
        if not known:
            findings.append(Finding(f"{place}.dead", "a link or a switch of the fabric", shown(list(detour.dead))))
        if strangers := sorted(detour.pvids.keys() - hosts):
            findings.append(Finding(f"{place}.pvids", "hosts of the fabric", " ".join(strangers)))
    if findings:
        raise InputError(findings)
    return detours


def _read_routes(path: Path, payload: RoutesForm, fabric: Fabric) -> Routes:
    """Read routes, and check that they are some of this fabric: every path ends where it leads. Raises InputError."""
    expected = "the routes that tagloom plan wrote for this fabric"
    arrays = read_arrays(path, expected)
    try:
        relation = Relation(arrays["first"], arrays["following"]) if "first" in arrays else None
        routes = Routes(
            payload.method, payload.reason, arrays["source_of_host"], arrays["root"], arrays.get("parent"), relation
        )
        check_routes(fabric, routes)
    except (ValueError, KeyError) as error:
        raise InputError([Finding(str(path), expected, str(error))]) from None
    return routes


def duplicates_allowed(directory: Path) -> bool:
    """Return whether a build or a rollout says that broadcasts may come several times. Raises InputError."""
    plan = directory / "plan.json"
    if (directory / "rollout.json").exists():
        return read_rollout(directory).broadcast_duplicates_allowed
    if not plan.exists():
        return False
    return (
        checked(BuildForm, read_json(plan, "a build made by tagloom plan"), str(plan)).summary.broadcast == "static-arp"
    )


def write_rollout(plan_of: Build, change: Rollout, templates: Path, directory: Path) -> dict[str, Any]:
    """Write a rollout directory: rollout.json, the state before, each wave's end and lines, the target build."""
    growth, own = change.growth, plan_of.fabric.templates
    fabric = plan_of.fabric if growth is None else growth.fabric.with_templates(own)
    payload = change.to_json()
    judged = _Judged()
    with _owned(directory, "rollout.json") as fresh:
        write_texts(fresh / "before", render(fabric, change.before, templates))
        waves = []
        for number, wave in enumerate(change.waves, start=1):
            folder = f"waves/{number}"
            write_texts(fresh / folder, render(fabric, wave.state, templates))
            sent = commands(fabric, wave)
            (fresh / folder / "commands").mkdir()
            for name, lines in sent.items():
                (fresh / folder / "commands" / f"{name}.txt").write_text("\n".join([*lines, ""]), "utf-8")
            waves.append({"configs": folder, "commands": sum(map(len, sent.values())), **wave.to_json()})
            if wave.fabrics is not None:
                waves[-1]["fabrics"] = [judged.name(each) for each in wave.fabrics]
        after = {s.name: change.after[s.name] for s in plan_of.fabric.switches}
        ids = new_numbers(plan_of.state, after) if plan_of.detours else {}
        target = replace(plan_of, state=after, detours=with_vlans(plan_of.detours, ids))
        more: dict[str, Any] = {}
        if growth is not None:
            (fresh / "fabric.yml").write_text(format_fabric(fabric), "utf-8")
            judged.write(fresh / "fabrics")
            for place in (fresh, fresh / "fabrics"):  # whoever reads a fabric file reads those beside it
                write_templates(own, place / "templates")
            write_texts(fresh / "left", _texts_left(growth, judged, templates, own))
            more = {"left": "left", "ports": {name: list(ports) for name, ports in growth.ports.items()}}
        (fresh / "rollout.json").write_text(
            json.dumps(
                {"tagloom": __version__, "format": BUILD_FORMAT, "before": "before", **payload, **more, "waves": waves},
                indent=2,
            )
            + "\n",
            "utf-8",
        )
        texts = render(target.fabric, target.state, templates)
        write_build(target, target.summary(change.after_proof), texts, fresh / "build", change.after_proof)
    return payload


class _Judged:
    """The fabrics that waves are proven for, numbered as they are met."""

    def __init__(self) -> None:
        self.fabrics: list[Fabric] = []

    def name(self, fabric: Fabric) -> str:
        """Return the name of a fabric's file; one object has one."""
        for number, known in enumerate(self.fabrics):
            if known is fabric:
                return f"fabrics/{number}.yml"
        self.fabrics.append(fabric)
        return f"fabrics/{len(self.fabrics) - 1}.yml"

    def write(self, directory: Path) -> None:
        """Write each into a file."""
        directory.mkdir()
        for number, fabric in enumerate(self.fabrics):
            (directory / f"{number}.yml").write_text(format_fabric(replace(fabric, shape=None)), "utf-8")


def _texts_left(growth: Growth, judged: _Judged, templates: Path, own: Templates) -> dict[str, str]:
    """Return the texts of switches that are left alone, which the proofs of waves are about too."""
    known = {switch.name: switch for fabric in judged.fabrics for switch in fabric.with_templates(own).switches}
    return {
        name: render_configuration(platforms.of(known[name]), state, templates) for name, state in growth.left.items()
    }
