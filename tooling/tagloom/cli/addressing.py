"""Answer tagloom hosts: put the MAC addresses of hosts into the fabric file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.inputs import LAB, Findings, snmp_reader, snmp_settings_of
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.words import Commands, Parser, snmp_words

if TYPE_CHECKING:
    import argparse

    from tagloom.pipeline.addressing import FabricText
    from tagloom.records.addresses import AddressChanges

FORMATS = ("auto", "ethers", "dnsmasq", "isc", "kea", "slurm", "ansible", "netbox")


def _learn(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline import addressing, observing

    file = addressing.FabricText(args.fabric)
    settings = snmp_settings_of(args, args.inventory or LAB)
    agents = observing.agents_of(file.fabric, settings.addresses, settings.port)
    with snmp_reader(args, settings) as snmp, screen.waiting(f"reading {len(file.fabric.live)} switches"):
        changes = addressing.learn(file.fabric, agents, snmp.ask, change=args.replace)
    return _end(args, screen, file, changes)


def _import(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline import addressing
    from tagloom.read.host_lists import read_host_list

    found = Findings()
    file = found.of(lambda: addressing.FabricText(args.fabric))
    listed = found.of(lambda: read_host_list(args.file, args.format))
    found.end()
    return _end(args, screen, file, addressing.import_list(file.fabric, listed, change=args.replace), listed.kind)


def _end(
    args: argparse.Namespace, screen: Screen, file: FabricText, changes: AddressChanges, source: str = "SNMP"
) -> int:
    """Write what may be written, and answer."""
    from tagloom.pipeline import addressing
    from tagloom.report import terminal

    output = args.output or args.fabric
    macs = addressing.to_write(changes, change=args.replace)
    writes = not args.check and (bool(macs) or args.output is not None)
    if writes:
        file.write(macs, output)
    page = {
        **changes.to_json(),
        "source": source,
        "unread": dict(changes.failed),
        "hosts": len(file.fabric.hosts),
        "invented": sum(host.invented and host.name not in macs for host in file.fabric.hosts),
        "wrote": str(output) if writes else "",
    }
    screen.say(*terminal.address_lines(page, changes.findings))
    if writes:
        screen.say(
            f"wrote     {output}, {terminal.count(len(macs), 'address')}", f"next      tagloom plan {output} -o build"
        )
    elif macs:
        screen.say(f"check     {terminal.count(len(macs), 'address')} would be written; nothing was")
    screen.answer(page)
    return DEVICE_FAILED if changes.failed else NO if changes.findings else GOOD


def _file_words() -> Parser:
    """Return the options of commands that change the fabric file."""
    words = Parser(add_help=False)
    words.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the new file here (default: in place)")
    words.add_argument("--check", action="store_true", help="say what would be written, and write nothing")
    words.add_argument("--replace", action="store_true", help="write addresses that differ from those in the file, too")
    return words


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    hosts = commands.add("hosts", _learn, "put the MAC addresses of hosts into the fabric file")
    verbs = Commands(hosts, "learn|import", "hosts")
    words = _file_words()
    fabric = "the fabric file; its own text and comments stay"
    learn = verbs.add(
        "learn", _learn, "take the addresses that switches have learnt at hosts' ports", words, snmp_words()
    )
    learn.add_argument("fabric", type=Path, metavar="FABRIC", help=fabric)
    listed = verbs.add("import", _import, "take the addresses that a list of hosts names", words)
    listed.add_argument("file", type=Path, metavar="FILE", help="the list, or a directory of Ansible's facts (JSON)")
    listed.add_argument("fabric", type=Path, metavar="FABRIC", help=fabric)
    listed.add_argument(
        "--format", choices=FORMATS, default="auto", help="what the list is (default: told by its text)"
    )
