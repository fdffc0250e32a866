"""Answer tagloom adopt: read a live network into a fabric file, with the proof of what it does today."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.following import free_build
from tagloom.cli.inputs import Findings, inventory_words, logins_of, site_of, snmp_reader, snmp_settings_of
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.words import Commands, snmp_words
from tagloom.storage.outputs import write_output
from tagloom.units import joined_address, number_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tagloom.platforms import Platform


def _adopt(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.observe.discover import check_discovery
    from tagloom.operate.adopt import adopt, fabric_text, write_running
    from tagloom.read.active_tree import running_in_the_way
    from tagloom.read.fabric_file import parse_fabric
    from tagloom.read.host_lists import read_host_list
    from tagloom.report.adopted import adopted_lines
    from tagloom.report.terminal import row

    found = Findings(args)
    found.of(lambda: check_discovery(args.name, args.model))
    site = found.of(lambda: site_of(args))
    listed = [found.of(partial(read_host_list, path)) for path in args.names]
    settings = found.of(lambda: snmp_settings_of(args, site.inventory)) if site is not None else None
    found.findings += running_in_the_way(args.running, force=args.force) if args.running is not None else []
    found.end()
    assert site is not None and settings is not None  # noqa: S101, PT018 - else there are findings
    known = logins_of(site)
    addresses = {name: _address(variables) for name, variables in known.items()}
    called = {each.mac: each.name for each in reversed([each for names in listed for each in names.addresses])}

    def read(models: Mapping[str, Platform]) -> tuple[dict[str, str], dict[str, str]]:
        from tagloom.adapters.address_tables import read_configurations

        return read_configurations(models, known)

    with snmp_reader(args, settings) as snmp, screen.waiting(f"reading {number_of(len(known), 'switch')}"):
        network = adopt(
            args.name,
            settings.agents_of(addresses),
            addresses,
            snmp.ask,
            read,
            model=args.model,
            called=called,
            trust_foreign=args.trust_foreign,
        )
    text = fabric_text(network)
    parse_fabric(text, "adopt")
    screen.say(*adopted_lines(network))
    wrote = []
    if not network.failed:
        if args.running is not None:
            write_running(network, args.running, force=args.force)
            wrote.append(args.running)
        if args.output is not None:
            write_output(args.output, text, force=args.force)
            wrote.append(args.output)
            screen.say(f"wrote     {', '.join(map(str, wrote))}", *row("next", _next_words(args)))
        else:
            screen.say(text.rstrip())
    else:
        again = f"tagloom adopt{inventory_words(args)}"
        screen.say("wrote     nothing: not every switch could be read", f"next      {again}, once they answer")
    screen.answer({**network.to_json(), "fabric": text, "wrote": [str(path) for path in wrote]})
    return DEVICE_FAILED if network.failed else GOOD if network.holds else NO


def _next_words(args: argparse.Namespace) -> str:
    build = free_build(args.output.parent)
    plan = f"tagloom plan {args.output} -o {build}"
    over = f"tagloom rollout --greenfield {build} --running {args.running} -o over"
    return f"{plan}, then {over}" if args.running is not None else plan


def _address(variables: Mapping[str, Any]) -> str:
    """Return where a switch is managed, in a fabric file's words. Raises InputError for variables that say no place."""
    from tagloom.adapters.ssh import SSH_PORT, Access

    access = Access.of_host(variables)
    return access.host if access.port == SSH_PORT else joined_address(access.host, access.port)


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    adopt = commands.add(
        "adopt", _adopt, "read a live network into a fabric file, and prove what it does today", snmp_words()
    )
    adopt.add_output(
        "-o", "--output", or_printed=True, gathered=True, metavar="FABRIC", help="write the fabric file here"
    )
    adopt.add_argument(
        "--running",
        type=Path,
        metavar="DIR",
        help="keep what runs: configurations without secrets, and the active tree, for rollout --running",
    )
    adopt.add_argument("--name", default="adopted", metavar="NAME", help="name of the fabric")
    adopt.add_argument("--names", type=Path, nargs="+", default=[], metavar="FILE", help="lists that name hosts")
    adopt.add_argument("--model", metavar="M", help="model of switches that do not say theirs")
    adopt.add_argument("--replace", dest="force", action="store_true", help="the same as --force")
    adopt.add_argument(
        "--trust-foreign", action="store_true", help="take unknown lines as harmless, instead of a finding each"
    )
