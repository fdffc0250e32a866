"""Find the build that runs, which a plan follows by default, and whose files no command overwrites."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.errors import InputError

if TYPE_CHECKING:
    import argparse

    from tagloom.cli.inputs import Findings
    from tagloom.operate.running import RunningBuild
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric

IDS, PATHS = "ids", "paths"


@dataclass(frozen=True)
class Followed:
    """The build that a plan follows: its VLAN ids alone (`previous`), or its paths too (`keep`).

    place    where its files are, "" if no build is followed
    remarks  what was found in journals, in words
    """

    previous: Build | None = None
    keep: Build | None = None
    place: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def use(self) -> str:
        """Return what is reused of the build, "" for none."""
        return PATHS if self.keep is not None else IDS if self.previous is not None else ""


def running_builds(
    inventory: Path | None, near: Path, output: Path, found: Findings, *, force: bool, whole: bool
) -> list[RunningBuild]:
    """Return the builds that run, by the journal of an inventory, or by all near a fabric file and this directory.

    What prevents writing to `output` is added to `found`: the build that runs by any of these journals is there, or one
    that cannot be read may say so. Configurations are read if builds are asked for as a `whole`.
    """
    from tagloom.apply.abort import home_of
    from tagloom.operate.running import in_use, running_build

    builds = []
    only = home_of(inventory).resolve() if inventory is not None else None
    for home in _homes(inventory, near):
        follows = only is None or home.resolve() == only
        try:
            build = running_build(home, whole=whole and follows)
        except InputError as error:
            if not force and output.exists():
                found.findings += error.findings
            continue
        if build is not None:
            builds += [build] if follows else []
            found.findings += in_use(output, build) if not force else []
    return builds


def _homes(inventory: Path | None, near: Path) -> list[Path]:
    """Return the directories of the runs of an inventory, and of all near a fabric file's directory and this one."""
    from tagloom.apply.abort import JOURNAL, home_of

    homes = [home_of(inventory)] if inventory is not None else []
    for base in (near.absolute(), Path.cwd()):
        beside = base / "inventory"
        homes += [place / "runs" for place in (base, beside, *sorted(beside.glob("*/")))]
    there = {home.resolve(): home for home in reversed(homes) if (home / JOURNAL).is_file()}
    return list(reversed(there.values()))


def free_build(near: Path, name: str = "build") -> str:
    """Return the name of a directory for a plan to write that is not the one of a build that runs."""
    used: set[str] = set()
    for home in _homes(None, near):
        from tagloom.operate.running import places_in_use

        with suppress(InputError):
            used |= places_in_use(home)
    names = chain((name, f"{name}-new"), (f"{name}-{number}" for number in count(2)))
    return next(each for each in names if os.path.realpath(each) not in used)


def followed(args: argparse.Namespace, fabric: Fabric, builds: list[RunningBuild]) -> Followed:
    """Return the build that runs on a fabric's network, to be followed by its plan, and what of it is reused.

    Its paths are kept where only hosts differ and nothing that chooses paths was asked for; else its VLAN ids are.
    """
    from tagloom.lab.directory import is_order
    from tagloom.operate.running import differs_from

    reasons = {each: differs_from(each.fabric, fabric) for each in builds}
    ours = [each for each, why in reasons.items() if not why]
    ours.sort(key=lambda each: is_order(each.home.parent / "fabric.json"))  # those of racks last
    remarks = [f"not {_inventory(each)}: it runs {why}" for each, why in reasons.items() if why]
    remarks += [f"not {_inventory(each)}: -i {_inventory(each)} follows it" for each in ours[1:]]
    if not ours:
        return Followed(remarks=tuple(remarks))
    first = ours[0]
    if first.build is None:
        source = _from_here(first.source)
        remarks.insert(0, f"none: no copy of {source} has its paths; --previous BUILD names one")
        return Followed(remarks=tuple(remarks))
    if first.fabric.first_vlan != fabric.first_vlan:
        remarks.insert(0, f"none: the build that runs at {_inventory(first)} has other VLAN ids by vlans.first")
        return Followed(remarks=tuple(remarks))
    place, runs = str(first.place), f"{_from_here(first.place)}, which runs at {_inventory(first)}"
    next_step = "--from-scratch ignores it"
    if _keeps_paths(args, first.build.fabric, fabric, first.build.assignment):
        remarks.insert(0, f"{runs}: only hosts differ, so its paths and VLAN ids stay ({next_step})")
        return Followed(keep=first.build, place=place, remarks=tuple(remarks))
    remarks.insert(0, f"{runs}: unchanged VLANs keep their ids ({next_step})")
    return Followed(previous=first.build, place=place, remarks=tuple(remarks))


def _keeps_paths(args: argparse.Namespace, old: Fabric, new: Fabric, assignment: str) -> bool:
    """Return whether two fabrics differ in hosts alone, and no option chooses other paths."""
    chosen = (
        args.traffic
        or args.prefer
        or args.root
        or args.settings
        or args.off
        or args.learning
        or args.learning_only
        or args.static_arp
    )
    if chosen or args.routing != "auto" or args.assignment != assignment or new.own_ways:
        return False
    parts = [
        (
            {(switch.name, switch.model, switch.up) for switch in fabric.switches},
            {
                (frozenset({(fabric.switches[x.a].name, x.a_port), (fabric.switches[x.b].name, x.b_port)}), x.up)
                for x in fabric.links
            },
        )
        for fabric in (old, new)
    ]
    hosts = [{(fabric.switches[h.switch].name, h.port, h.macs) for h in fabric.hosts} for fabric in (old, new)]
    return parts[0] == parts[1] and hosts[0] != hosts[1]


def _inventory(build: RunningBuild) -> Path:
    """Return the inventory of a running build, as it would be named from here."""
    return _from_here(build.home.parent)


def _from_here(place: Path) -> Path:
    """Return a path relative to the current directory, if it is below."""
    here = Path.cwd()
    return place.relative_to(here) if place.is_relative_to(here) else place
