"""Read what commands are given, and gather what is wrong with it."""

from __future__ import annotations

import itertools
import math
import os
import re
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.storage.outputs import in_the_way
from tagloom.storage.text import read_text, unreadable
from tagloom.units import split_address

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from tagloom.apply.outcomes import Outcome
    from tagloom.cli.screen import Progress
    from tagloom.operate.link_watch import SeesUp
    from tagloom.read.windows import MaintenanceWindows
    from tagloom.records.fabric import Fabric
    from tagloom.records.network import ReadNetwork
    from tagloom.records.observation import Observation
    from tagloom.records.routes import Routes
    from tagloom.records.snmp import Address, Ask
    from tagloom.records.traffic import Traffic


LAB = Path("inventory/lab")
_PROJECT = Path("inventory")  # as `tagloom init` writes it
_SNMP_VARIABLES = {"TAGLOOM_SNMP_USER", "TAGLOOM_SNMP_COMMUNITY"}
_MOST_SECONDS = 366 * 86400.0  # of any time that is named: calendars and timers end somewhere


class Findings:
    """Gather what is wrong with several inputs, to be told at once; with `args`, also what their outputs overwrite."""

    def __init__(self, args: argparse.Namespace | None = None) -> None:
        outputs = getattr(args, "outputs", ()) if args is not None and not args.force else ()
        self.findings = [finding for path in outputs for finding in in_the_way(path)]

    def of(self, read: Callable[[], Any], otherwise: Any = None) -> Any:
        """Return what `read` reads, `otherwise` where it finds something wrong."""
        try:
            return read()
        except InputError as error:
            self.findings += error.findings
            return otherwise

    def end(self) -> None:
        """Raise InputError where anything was found."""
        if self.findings:
            raise InputError(dict.fromkeys(self.findings))  # two inputs may be wrong by one word


def text_of(path: Path) -> str:
    """Read a text file. Raises InputError."""
    return read_text(path, "a readable file")


def with_parts_dead(fabric: Fabric, words: Sequence[str]) -> Fabric:
    """Return a fabric, all its hosts kept, with switches and links named by an end down. Raises InputError."""
    from tagloom.platforms.port_names import links_near, parts_at

    links, switches, unknown = parts_at(fabric, words)
    if unknown:
        rule = "a switch of the fabric, or switch:port of one of its links"
        raise InputError(Finding("--after", f"{rule}{links_near(fabric, word)}", repr(word)) for word in unknown)
    return replace(fabric.with_switches_down(switches).with_links_down(links), hosts=fabric.hosts)


def traffic_given(
    path: Path,
    fabric: Fabric,
    paths: Callable[[], Routes],
    placement: str = "",
    seconds: float | None = None,
    ranks: int | None = None,
    span: float | None = None,
) -> Traffic:
    """Read traffic: a file, or a history of `observe`, of which it is estimated over `paths`. Raises InputError.

    `span` are the last seconds of a history that count, None for all.
    """
    from tagloom import pipeline
    from tagloom.adapters.history import History, is_one

    if not is_one(path):
        return pipeline.traffic_of(path, fabric, placement, seconds, ranks)
    with closing(History(path)) as kept:
        return pipeline.traffic_from(fabric, paths(), kept.snapshots(fabric.name, span), str(path))


def traffic_findings(
    files: Sequence[Path | None], seconds: float | None = None, ranks: int | None = None, span: float | None = None
) -> list[Finding]:
    """Return what is wrong with traffic whatever the fabric: files that cannot be opened, numbers that cannot be."""
    from tagloom.predict.forecast import LEAST_SECONDS, MOST_SECONDS
    from tagloom.read.patterns import PREFIX

    findings = [
        finding
        for file in files
        if file is not None and not str(file).startswith(PREFIX)
        for finding in unreadable(file, "a readable traffic file")
    ]
    if seconds is not None and not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        findings.append(Finding("--seconds", f"from {LEAST_SECONDS:g} to {MOST_SECONDS:g}", f"{seconds:g}"))
    if ranks is not None and ranks < 1:
        findings.append(Finding("--ranks", "1 or more", str(ranks)))
    if span is not None and not 0 < span < math.inf:
        findings.append(Finding("--span", "seconds above 0", f"{span:g}"))
    return findings


_MOST_RANKS = 1_000_000


def add_placement_options(parser: argparse.ArgumentParser, about: str = "ranks on hosts, as for regulate") -> None:
    """Add the options that put ranks on hosts."""
    parser.add_argument("--placement", default="", metavar="HOW", help=about)
    parser.add_argument(
        "--ranks-per-host", type=int, metavar="N", help="put N ranks, one after another, on each host (default 1)"
    )


def placement_findings(args: argparse.Namespace) -> list[Finding]:
    """Return what is wrong with the number of ranks on each host."""
    count, how = args.ranks_per_host, args.placement
    if count is not None and not 1 <= count < _MOST_RANKS:
        return [Finding("--ranks-per-host", f"from 1 to {_MOST_RANKS - 1}", str(count))]
    if count is not None and how not in {"", "block", "spread"}:
        return [Finding("--ranks-per-host", "--placement block or spread, or none", f"{how!r}, which places each rank")]
    return []


def placement_of(args: argparse.Namespace) -> str:
    """Return how ranks are put on hosts, as `read.traffic.place` takes it; without a number that cannot be."""
    alone = args.ranks_per_host is None or placement_findings(args)
    return args.placement if alone else f"{args.placement}:{args.ranks_per_host}"


def netbox_of(url: str) -> Any:
    """Return the NetBox at a URL, with the token of the environment. Raises InputError."""
    from tagloom.adapters.netbox import NetBox

    return NetBox(url, os.environ.get("TAGLOOM_NETBOX_TOKEN", ""))


def filters_of(words: Sequence[str]) -> dict[str, list[str]]:
    """Read filters of a NetBox, KEY=VALUE, a key as often as it has values. Raises InputError."""
    filters: dict[str, list[str]] = {}
    wrong = [word for word in words if not re.fullmatch(r"[a-z][a-z0-9_]*=.+", word) or word.startswith("limit=")]
    if wrong:
        raise InputError(Finding("--filter", "KEY=VALUE, such as site=lab", repr(word)) for word in wrong)
    for key, _, value in (word.partition("=") for word in words):
        filters.setdefault(key, []).append(value)
    return filters


def seconds_of(text: str, where: str = "--every", *, least: float = math.ulp(0.0)) -> float:
    """Read a time such as 30s, 5m or 1h, in seconds, more than none unless `least` is 0, of a year at most.

    Raises InputError.
    """
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:], 0.0)
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= _MOST_SECONDS:
        rule = "a time such as 30s, 5m or 1h" + (", of a year at most" if value > _MOST_SECONDS else "")
        raise InputError([Finding(where, rule, repr(text))])
    return value


def listening_at(text: str, where: str) -> tuple[str, int]:
    """Read [HOST:]PORT, loopback where no host is named. Raises InputError."""
    port = text.removeprefix(":")
    try:
        host, number = split_address(f"127.0.0.1:{port}" if port.isdigit() else text, -1, any_free=True)
    except ValueError:
        number = -1
    if number < 0:
        raise InputError([Finding(where, "[HOST:]PORT", repr(text))])
    return host, number


def folder_of(inventory: Path) -> Path:
    """Return the directory of an inventory, which settings and known_hosts stand in."""
    return inventory if inventory.is_dir() else inventory.parent


def logins_of(site: Any) -> dict[str, dict[str, Any]]:
    """Return how each switch of an inventory is logged in to, as Ansible says, vaults and all. Raises TagloomError."""
    from tagloom.apply.playbook import Ansible

    with Ansible(site) as ansible:
        return ansible.access(site.directory("access"))


def snmp_settings_of(args: argparse.Namespace, inventory: Path) -> Any:
    """Read SNMP settings: those named, those beside the inventory, and the environment's secrets. Raises InputError."""
    from tagloom.read import read_snmp_settings

    return read_snmp_settings(args.snmp or _snmp_page(inventory), os.environ, args.snmp_version)


def snmp_reader(args: argparse.Namespace, settings: Any) -> Any:
    """Make the reader of counters, with the limits that were asked for. Raises InputError."""
    from tagloom.adapters.snmp import Snmp

    check_snmp_limits(args)
    return Snmp(settings.credentials, in_flight=args.in_flight, timeout=args.timeout, retries=args.retries)


def snmp_is_set_up(inventory: Path) -> bool:
    """Return whether there are SNMP settings beside an inventory or in the environment."""
    return _snmp_page(inventory) is not None or not _SNMP_VARIABLES.isdisjoint(os.environ)


def _snmp_page(inventory: Path) -> Path | None:
    """Return the SNMP settings beside an inventory, None where there are none."""
    beside = folder_of(inventory) / "snmp.yml"
    return beside if beside.is_file() else None


def network_of(inventory: Path) -> ReadNetwork | None:
    """Return what reads a network over SNMP with the settings beside an inventory, None where there are none."""
    if not snmp_is_set_up(inventory):
        return None

    def read(fabric: Fabric) -> Mapping[str, Observation]:
        from tagloom.observe.objects import NETWORK
        from tagloom.observe.readings import observe_all

        with _agents_of(inventory, fabric) as (agents, ask):
            return observe_all(fabric, agents, ask, NETWORK)

    return read


def sees_up_of(inventory: Path) -> SeesUp | None:
    """Return what sees whether ports are up, with the SNMP settings beside an inventory, None where there are none."""
    if not snmp_is_set_up(inventory):
        return None

    @contextmanager
    def opened(fabric: Fabric) -> Iterator[Callable[[Mapping[str, Collection[int]]], bool]]:
        from tagloom.observe import CARRIER, observe_all, ports_up

        with _agents_of(inventory, fabric) as (agents, ask):
            yield lambda ports: ports_up(fabric, ports, lambda names: observe_all(fabric, agents, ask, CARRIER, names))

    return opened


@contextmanager
def _agents_of(inventory: Path, fabric: Fabric) -> Iterator[tuple[Mapping[str, Address], Ask]]:
    """Yield the agents of a fabric, and what asks them, with the SNMP settings beside an inventory."""
    from tagloom.adapters.snmp import Snmp
    from tagloom.read import read_snmp_settings

    settings = read_snmp_settings(_snmp_page(inventory), os.environ)
    with Snmp(settings.credentials) as snmp:
        yield settings.agents(fabric), snmp.ask


def check_snmp_limits(args: argparse.Namespace) -> None:
    """Raise InputError with all limits that no reader of counters can have."""
    limits = (("--in-flight", args.in_flight, 1), ("--timeout", args.timeout, 0.01), ("--retries", args.retries, 0))
    low = [Finding(flag, f"{least} or more", str(value)) for flag, value, least in limits if not value >= least]
    if low:
        raise InputError(low)


def counting(note: Progress, of: int | None) -> Callable[[Outcome], None]:
    """Count outcomes as they come, of as many as there will be, where that is known.

    Where more come, such as of waves that are found on the way, it is one round of as many after the other.
    """
    done = itertools.count(1)
    note(0, of or 1)

    def count(outcome: Outcome) -> None:
        at = next(done)
        note.failed = note.failed or outcome.failed
        note(at, -(-at // of) * of if of else at)

    return count


def site_of(args: argparse.Namespace) -> Any:
    """Return where switches, templates and the environment are, and what hour it is."""
    from tagloom.apply.site import Site
    from tagloom.share import share_directory

    return Site(inventory_of(args), share_directory(), dict(os.environ), time.strftime("%Y%m%dT%H%M%S"))


def inventory_of(args: argparse.Namespace) -> Path:
    """Return the inventory that was named, or the running lab. Raises InputError."""
    inventory: Path | None = args.inventory or (LAB if LAB.exists() else None)
    if inventory is None or not inventory.exists():
        named = f"an inventory (-i {_PROJECT})" if project_words() else "an inventory"
        raise InputError(
            [Finding("-i", f"{named}, or a running lab (tagloom lab up FABRIC)", str(inventory or "none"))]
        )
    return inventory


def project_words() -> str:
    """Return the option that names the project's inventory here, " -i inventory"; "" where a lab is the default."""
    return f" -i {_PROJECT}" if (_PROJECT / "tagloom.yml").is_file() and not LAB.exists() else ""


def add_window_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that lets a change begin outside the maintenance windows."""
    parser.add_argument(
        "--outside-window", action="store_true", help="begin outside the maintenance windows (windows.yml) too"
    )


def windows_of(args: argparse.Namespace, site: Any) -> MaintenanceWindows:
    """Return the inventory's maintenance windows, none where the operator goes without. Raises InputError."""
    from tagloom.read.windows import MaintenanceWindows, read_windows

    windows = read_windows(site.home.parent)
    return MaintenanceWindows() if args.outside_window else windows


def inventory_words(args: argparse.Namespace) -> str:
    """Return the inventory as words for the next command."""
    return f" -i {args.inventory}" if args.inventory else ""


def sleep_policy(text: str, where: str) -> Any:
    """Read a sleep policy: TIMEOUT,TS,TW in seconds, or a file of fit or of measure idle-gap. Raises InputError."""
    from tagloom.predict.eee import check_policy
    from tagloom.predict.parameters import read_parameters
    from tagloom.records.sleep import Eee

    try:
        timeout, sleep, wake = (float(x) for x in text.split(","))
    except ValueError:
        if Path(text).suffix in {".yml", ".yaml"}:
            return read_parameters(Path(text))
        expected = "TIMEOUT,TS,TW in seconds, or a YAML file of tagloom fit or measure idle-gap -o"
        raise InputError([Finding(where, expected, repr(text))]) from None
    check_policy(timeout, sleep, wake, f"{where} {text}")
    return Eee(timeout, sleep, wake, together=True)  # host links are 1000BASE-T
