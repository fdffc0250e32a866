"""Read and write builds: a directory each, with plan.json, the fabric, its routes and every switch's configuration."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import __version__, platforms
from tagloom.errors import Finding, InputError
from tagloom.graph.paths import check_routes
from tagloom.platforms.port_names import channel_name, link_at
from tagloom.platforms.words import write_templates
from tagloom.read.fabric_file import read_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.build import Build
from tagloom.records.detours import Detour, Protection
from tagloom.records.forms import BuildForm
from tagloom.records.routes import Relation, Routes
from tagloom.storage.arrays import read_arrays
from tagloom.storage.document import checked, read_json, shown
from tagloom.storage.text import read_text_as_it_is, with_unified_ends
from tagloom.storage.whole import OwnedDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.forms import RoutesForm
    from tagloom.records.switch_state import FabricState

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
    summary: Mapping[str, Any],
    proof: Findings,
    texts: Mapping[str, str],
    directory: Path,
    *,
    hosts: Mapping[str, str],
    site: Mapping[str, Sequence[str]],
    force: bool = False,
) -> None:
    """Write a build directory whole or not at all. Raises InputError where something else stands in its place.

    With its figures (`summary`) goes the certificate of its `proof`; what `hosts` need stands beside it, and for people
    the operator's own lines that an apply adds to each switch (`site`). Without texts only plan.json is written,
    without the routes: a record of what was planned and proven, which no other command takes for a build.
    """
    routes = build.routes
    payload: dict[str, Any] = {
        "tagloom": __version__,
        "format": BUILD_FORMAT,
        "summary": summary,
        "certificate": _certificate(build.fabric, proof),
        "routes": {
            "method": routes.method,
            "reason": routes.reason,
        },
    }
    if build.detours:
        payload["detours"] = [detour.to_json() for detour in build.detours]
    if not texts:
        payload["texts"] = "none: the planned states are proven, no configuration is"
        with owned(directory, "plan.json", force=force) as fresh:
            (fresh / "plan.json").write_text(json.dumps(payload) + "\n", "utf-8")
        return
    arrays = {"source_of_host": routes.source_of_host, "root": routes.root}
    if routes.parent is not None:
        arrays["parent"] = routes.parent
    if routes.relation is not None:
        arrays |= {"first": routes.relation.first, "following": routes.relation.following}
    with owned(directory, "plan.json", force=force) as fresh:
        (fresh / "fabric.yml").write_text(format_fabric(build.fabric), "utf-8")
        (fresh / "plan.json").write_text(json.dumps(payload) + "\n", "utf-8")
        np.savez_compressed(fresh / "routes.npz", **arrays)  # type: ignore[arg-type]  # names to arrays
        write_texts(fresh / "configs", texts)
        write_templates(build.fabric.templates, fresh / "templates")
        for name, lines in site.items():
            (fresh / "site").mkdir(exist_ok=True)
            said = "\n".join(["! from templates/site, which an apply reads", *lines, ""])
            (fresh / "site" / f"{name}.txt").write_text(said, "utf-8")
        for name, page_text in hosts.items():
            (fresh / "hosts").mkdir(exist_ok=True)
            (fresh / "hosts" / name).write_text(page_text, "utf-8")


def _certificate(fabric: Fabric, proof: Findings) -> dict[str, Any]:
    """Return the ranks that every channel dependency climbs, a row per channel: the ports at its ends, and its rank.

    ``tooling/check_certificate.py`` checks them against the texts without any of this package.
    """
    if proof.channel_rank is None:
        return {}
    rows = [[*channel_name(fabric, c).split(" -> "), rank] for c, rank in enumerate(proof.channel_rank.tolist())]
    return {"ranks": rows}


def occupied(directory: Path, mark: str, *, force: bool = False) -> list[Finding]:
    """Find what is in the way where a build or a rollout is to be written."""
    return owned(directory, mark, force=force).occupied()


def owned(directory: Path, mark: str, *, force: bool = False) -> OwnedDirectory:
    """Return the directory of a build (`mark` plan.json) or of a rollout (rollout.json), to be written."""
    kind, files = ("build", _BUILD) if mark == "plan.json" else ("rollout", _ROLLOUT)
    return OwnedDirectory(directory, kind, re.compile(files), mark, KEPT, force=force)


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
            text = read_text_as_it_is(path, "a readable configuration", CONFIGURATION_BYTES)
            texts[switch.name] = _as_typed(platforms.load(switch.model).command_line, text)
        except InputError as error:
            findings += error.findings
    strangers = [path for path in sorted(directory.glob("*.cfg")) if path.stem not in fabric.index]
    findings += [Finding(str(path), "a file named after a switch of the fabric", path.stem) for path in strangers]
    if findings:
        raise InputError(findings)
    return texts


def _as_typed(command_line: str, text: str) -> str:
    """Return a text as a command line of that kind takes it from a file.

    A console ends a line at a carriage return, RouterOS at one with a newline; a shell takes all that there is for
    parts of words.
    """
    if command_line == "shell":
        return text
    text = text.removeprefix("\ufeff")
    return with_unified_ends(text) if command_line == "modes" else text.replace("\r\n", "\n")


def read_build(directory: Path, parse: Callable[[Fabric, Mapping[str, str]], FabricState] | None) -> Build:
    """Read a build directory back. Raises InputError where it is not one.

    `parse` reads the texts of all switches; without it they are left alone, and no switch has a state.
    """
    where, expected = directory / "plan.json", "a build made by tagloom plan"
    if not directory.is_dir():
        raise InputError([Finding(str(directory), expected, "a file" if directory.is_file() else "no such directory")])
    if not where.exists() and (directory / "rollout.json").exists():
        leads = f"a rollout: it leads to {directory / 'build'}, and tagloom apply {directory} --check proves it"
        raise InputError([Finding(str(directory), expected, leads)])
    raw = read_json(where, expected)
    if not isinstance(raw, dict) or raw.get("format") != BUILD_FORMAT:
        actual = shown(raw.get("format")) if isinstance(raw, dict) else shown(raw)
        raise InputError([Finding(str(where), f"{expected}, format {BUILD_FORMAT}", actual)])
    if "texts" in raw and not (directory / "routes.npz").exists():
        raise InputError([Finding(str(directory), expected, "a record of a plan without texts (--no-texts)")])
    payload = checked(BuildForm, raw, str(where))
    fabric = read_fabric(directory / "fabric.yml")
    routes = _read_routes(directory / "routes.npz", payload.routes, fabric)
    state = parse(fabric, read_texts(fabric, directory / "configs")) if parse is not None else {}
    summary = payload.summary
    reported = summary.broadcast, tuple(summary.remarks)
    detours = _read_detours(payload, fabric, str(where))
    guarded = None
    if summary.protect != "none":
        guarded = Protection(**{each.name: getattr(summary, each.name) for each in fields(Protection)})
    build = Build(
        fabric, routes, summary.assignment, summary.vlans, state, *reported, detours=detours, protection=guarded
    )
    return replace(build, taught=summary.taught)


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
