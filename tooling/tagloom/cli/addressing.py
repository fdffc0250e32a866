"""Answer tagloom hosts: put the MAC addresses of hosts into the fabric file."""

from __future__ import annotations

import itertools
import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.following import free_build
from tagloom.cli.inputs import (
    LAB,
    Findings,
    inventory_of,
    logins_of,
    netbox_of,
    seconds_of,
    site_of,
    snmp_is_set_up,
    snmp_reader,
    snmp_settings_of,
)
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.words import Commands, Parser, snmp_words
from tagloom.errors import Finding, TagloomError
from tagloom.storage.outputs import check_outputs, record_shown, were_shown
from tagloom.units import number_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from tagloom.observe.addresses import ReadPages
    from tagloom.platforms import Platform
    from tagloom.read.fabric_addresses import FabricText
    from tagloom.records.addresses import AddressChanges, HostList
    from tagloom.records.fabric import Fabric

FORMATS = (
    "auto",
    "ethers",
    "dnsmasq",
    "isc",
    "kea",
    "openwrt",
    "arp",
    "slurm",
    "warewulf",
    "xcat",
    "ansible",
    "netbox",
)


def _learn(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.observe import learn
    from tagloom.read.fabric_addresses import FabricText

    if args.watch:
        return _watch_switches(args, screen)
    _check_output(args)
    file = FabricText(args.fabric)
    source, take = _source(args), {"change": args.replace, "several": args.several}
    if source == "ssh":
        inventory_of(args)
    pages = _pages(args) if source != "snmp" else None
    with ExitStack() as stack:
        agents, ask = {}, None
        if source != "ssh":
            settings = snmp_settings_of(args, args.inventory or LAB)
            agents, ask = settings.agents(file.fabric), stack.enter_context(snmp_reader(args, settings)).ask
        stack.enter_context(screen.waiting(f"reading {number_of(len(file.fabric.live), 'switch')}"))
        changes = learn(file.fabric, agents, ask, pages=pages, **take)
    return _end(args, screen, file, changes, "SSH" if source == "ssh" else "SNMP", learned=True)


def _check_output(args: argparse.Namespace) -> None:
    """Raise InputError where the new fabric file would overwrite another file than the one that is edited."""
    path = args.output
    if path is not None and path.absolute() != args.fabric.absolute() and not args.check:
        check_outputs(path, force=args.force)


def _source(args: argparse.Namespace) -> str:
    """Return what to ask: snmp, ssh, or auto for SSH where SNMP shows none; without any setting of SNMP, SSH alone."""
    inventory = args.inventory or LAB
    set_up = args.snmp or snmp_is_set_up(inventory)
    return "ssh" if args.over == "auto" and not set_up else str(args.over)


def _pages(args: argparse.Namespace) -> ReadPages:
    """Return what reads the tables of addresses over SSH, as Ansible logs in."""

    def read(models: Mapping[str, Platform]) -> tuple[dict[str, str], dict[str, str]]:
        from tagloom.adapters.address_tables import read_address_tables

        try:
            known = logins_of(site_of(args))
        except TagloomError as error:
            return {}, dict.fromkeys(models, "; ".join(str(error).splitlines()))
        return read_address_tables(models, known)

    return read


def _watch_switches(args: argparse.Namespace, screen: Screen) -> int:
    """Watch what switches learn."""
    from tagloom.observe import learn
    from tagloom.read.fabric_addresses import FabricText

    found = Findings()
    file = found.of(lambda: FabricText(args.fabric))
    if args.over == "ssh":
        found.findings.append(Finding("--over", "snmp: --watch reads over SNMP alone", "ssh"))
    settings = found.of(lambda: snmp_settings_of(args, args.inventory or LAB))
    watch = _Watch(args, file, found, "learn")
    agents = settings.agents(file.fabric)
    with snmp_reader(args, settings) as snmp:
        return watch.end(
            args, screen, lambda: learn(file.fabric, agents, snmp.ask, change=True, several=args.several), "SNMP"
        )


def _watch_list(args: argparse.Namespace, screen: Screen) -> int:
    """Watch what a list of hosts says."""
    from tagloom.observe import import_list
    from tagloom.read.fabric_addresses import FabricText

    found = Findings()
    file = found.of(lambda: FabricText(args.fabric))
    listed = _list_of(args, found)
    watch = _Watch(args, file, found, f"import {args.file}")

    def read() -> AddressChanges:
        return import_list(file.fabric, listed(file.fabric), change=True, several=args.several)

    return watch.end(args, screen, read, "the list")


class _Watch:
    """Readings of hosts' addresses, until two in succession show the same change, and the rollout that follows it."""

    def __init__(self, args: argparse.Namespace, file: Any, found: Findings, words: str) -> None:
        from tagloom import pipeline
        from tagloom.observe import refuse_other_hosts

        self._every = found.of(lambda: seconds_of(args.every), 0.0)
        old = found.of(lambda: pipeline.read_build(args.watch))
        if args.proposal is None:
            found.findings.append(Finding("--watch", "--proposal DIR beside it", "none"))
        else:
            found.findings += pipeline.occupied(args.proposal, "rollout.json", force=args.force)
        wrong = [flag for flag in ("output", "check", "replace") if getattr(args, flag)]
        found.findings += [Finding(f"--{flag}", "none: --watch writes no fabric file", f"--{flag}") for flag in wrong]
        if args.count is not None and args.count < 1:
            found.findings.append(Finding("--count", "1 or more", str(args.count)))
        if file is not None and old is not None:
            found.of(lambda: refuse_other_hosts(file.fabric, old.fabric, str(args.watch)))
        found.end()
        self._file: FabricText = file
        self._old, self._words = old, words

    def end(self, args: argparse.Namespace, screen: Screen, read: Callable[[], AddressChanges], source: str) -> int:
        """Read until something changes, write its rollout, and answer."""
        from tagloom.pipeline.addressing import propose
        from tagloom.report import terminal
        from tagloom.share import share_directory

        before: object = None
        for reading in itertools.count(1):
            with screen.waiting(f"reading addresses of {number_of(len(self._file.fabric.hosts), 'host')}"):
                changes = read()
            seen = changes.to_write(change=True)
            if (seen and seen == before) or reading == args.count or screen.unheard:
                break
            before = seen
            time.sleep(self._every)
        rollout: dict[str, Any] = {}
        if seen and seen == before:
            with screen.waiting("planning, ordering and proving waves"):
                place = share_directory() / "templates", args.proposal
                rollout = propose(self._old, seen, *place, force=args.force)
        payload = {
            **_page(self._file, changes, source),
            "wrote": str(args.proposal) if rollout else "",
            "rollout": rollout,
        }
        screen.say(*terminal.address_lines(payload, changes.findings))
        record_shown(args.fabric, _replaced(changes))
        if rollout:
            screen.say(*terminal.rollout_lines(rollout), f"wrote     {args.proposal}/")
            several = " --several" if args.several else ""
            again = f"{self._words} {args.fabric} --replace{several}"
            screen.say(f"next      tagloom hosts {again}, then tagloom apply {args.proposal}")
        screen.answer(payload)
        return NO if seen else DEVICE_FAILED if changes.failed else NO if changes.findings else GOOD


def _page(file: FabricText, changes: AddressChanges, source: str) -> dict[str, Any]:
    """Return what was seen with the keys of the command line."""
    new = {each.host for each in changes.learned}
    return {
        **changes.to_json(),
        "source": source,
        "unread": dict(changes.failed),
        "hosts": len(file.fabric.hosts) - len(file.fabric.uplinks),
        "invented": sum(host.invented and host.name not in new for host in file.fabric.hosts),
    }


def _import(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.observe import import_list
    from tagloom.read.fabric_addresses import FabricText

    if args.watch:
        return _watch_list(args, screen)
    found = Findings()
    file = found.of(lambda: FabricText(args.fabric))
    read = _list_of(args, found)
    found.of(lambda: _check_output(args))
    found.end()
    with screen.waiting("reading the list"):
        listed = read(file.fabric)
    return _end(
        args, screen, file, import_list(file.fabric, listed, change=args.replace, several=args.several), listed.kind
    )


def _list_of(args: argparse.Namespace, found: Findings) -> Callable[[Fabric], HostList]:
    """Return what reads the list: of a NetBox what it has of a fabric's hosts, else the file, which is read at once."""
    from tagloom.adapters.netbox import is_url
    from tagloom.read.host_lists import netbox_list, read_host_list

    if not is_url(args.file):
        first = [found.of(lambda: read_host_list(Path(args.file), args.format))]
        return lambda _fabric: first.pop() if first else read_host_list(Path(args.file), args.format)
    netbox = found.of(lambda: netbox_of(args.file))

    def of_netbox(fabric: Fabric) -> HostList:
        devices = netbox.devices_named([host.name for host in fabric.hosts])
        return netbox_list(netbox.of_devices("dcim/interfaces", [each["id"] for each in devices]), args.file)

    return of_netbox


def _end(
    args: argparse.Namespace,
    screen: Screen,
    file: FabricText,
    changes: AddressChanges,
    source: str,
    *,
    learned: bool = False,
) -> int:
    """Write what may be written, and answer; what was `learned` at ports replaces nothing before it was shown."""
    from tagloom.report import terminal

    output = args.output or args.fabric
    new = changes.to_write(change=args.replace)
    unseen = learned and _unseen(args, changes)
    writes = not args.check and not unseen and (bool(new) or args.output is not None)
    if writes:
        file.write(new, output, force=args.force)
    payload = {**_page(file, changes, source), "wrote": str(output) if writes else ""}
    screen.say(*terminal.address_lines(payload, changes.findings))
    if writes:
        screen.say(
            f"wrote     {output}, {terminal.count(len(new), 'address')}",
            f"next      tagloom plan {output} -o {free_build(output.parent)}",
        )
    elif new:
        screen.say(f"check     {terminal.count(len(new), 'address')} would be written; nothing was")
    if unseen:
        screen.say("refused   addresses that the file has are replaced once they were shown, as they are now")
        screen.say(
            *terminal.row("next", "check each port, then the same command again; --force does not wait for that")
        )
    screen.answer(payload)
    return DEVICE_FAILED if changes.failed else NO if changes.findings or changes.made_up or unseen else GOOD


def _unseen(args: argparse.Namespace, changes: AddressChanges) -> bool:
    """Return whether addresses would be replaced that no command has shown yet; from then on these count as shown.

    A port shows whatever sends there first, so a file's address is replaced only by one that somebody may have checked.
    """
    replaced = _replaced(changes)
    writes = args.replace and not args.check and not args.force
    unseen = writes and not were_shown(args.fabric, replaced)
    if replaced:
        record_shown(args.fabric, replaced)
    return bool(unseen)


def _replaced(changes: AddressChanges) -> list[str]:
    """Return the changes to addresses that the fabric file has, each as text."""
    return [json.dumps(each.to_json(), sort_keys=True) for each in changes.changed]


def _watch_words(verb: argparse.ArgumentParser, what: str) -> None:
    """Add the options of repeated readings."""
    verb.add_argument(
        "--watch",
        type=Path,
        metavar="BUILD",
        help=f"read repeatedly until {what} changes; then write the rollout from BUILD, which runs",
    )
    verb.add_argument("--proposal", type=Path, metavar="DIR", help="with --watch: directory of the proven rollout")
    verb.add_argument(
        "--every", default="60s", metavar="TIME", help="with --watch: time between two readings (default 60s)"
    )
    verb.add_argument("--count", type=int, metavar="N", help="with --watch: exit after N readings without a change")


def _file_words() -> Parser:
    """Return the options of commands that change the fabric file."""
    words = Parser(add_help=False)
    words.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the new file here (default: in place)")
    words.add_force()
    words.add_argument("--check", action="store_true", help="show what would be written, and write nothing")
    words.add_argument("--replace", action="store_true", help="also replace addresses that the file has already")
    words.add_argument(
        "--several",
        action="store_true",
        help="take all addresses of a host (virtual machines, a BMC), beside the file's",
    )
    return words


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    hosts = commands.add("hosts", _learn, "write the MAC addresses of hosts into the fabric file")
    verbs = Commands(hosts, "learn|import", "hosts")
    words = _file_words()
    fabric = "the fabric file; its own text and comments stay"
    learn = verbs.add(
        "learn", _learn, "take the addresses that switches have learnt at hosts' ports", words, snmp_words()
    )
    learn.add_argument(
        "--over",
        choices=("auto", "snmp", "ssh"),
        default="auto",
        help="how the tables are read (default auto: SNMP, and the command line where it is not set up or shows none)",
    )
    learn.add_argument("fabric", type=Path, metavar="FABRIC", help=fabric)
    _watch_words(learn, "a host's address or port")
    listed = verbs.add("import", _import, "take addresses from a list of hosts", words)
    kinds = "the list, a directory of Ansible's facts (JSON), or the URL of a NetBox (its token: TAGLOOM_NETBOX_TOKEN)"
    listed.add_argument("file", metavar="FILE", help=kinds)
    listed.add_argument("fabric", type=Path, metavar="FABRIC", help=fabric)
    listed.add_argument(
        "--format", choices=FORMATS, default="auto", help="format of the list (default: recognised by its text)"
    )
    _watch_words(listed, "what it says of a host")
