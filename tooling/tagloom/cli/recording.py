"""Answer tagloom record: evidence of how a switch's console behaves, in a file that can be sent on."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.bootstrapping import check_line, login_of, logins, name_console, open_stream, snmp_given, typed_lines
from tagloom.cli.inputs import LAB, Findings, site_of
from tagloom.cli.screen import DEVICE_FAILED, GOOD
from tagloom.cli.vault import add_vault_words
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.units import number_of

if TYPE_CHECKING:
    import argparse

    from tagloom.adapters.routeros import RouterOsSwitch
    from tagloom.adapters.ssh import Access, SshSwitch
    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands
    from tagloom.operate.trying import Recorder
    from tagloom.platforms import Platform
    from tagloom.records.fabric import Fabric


def _record(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import platforms
    from tagloom.operate.recording import ModeRecorder
    from tagloom.operate.recording_menus import MenuRecorder
    from tagloom.platforms.evidence import first_login, settle
    from tagloom.platforms.verdict import CONFIRMED, OPEN, REFUTED
    from tagloom.read import fabric_of
    from tagloom.storage.outputs import write_output
    from tagloom.storage.whole import unwritable

    wrong = Findings(args)
    site = wrong.of(lambda: site_of(args))
    fabric = wrong.of(lambda: fabric_of(site.inventory)) if site is not None else None
    switch = wrong.of(lambda: _switch_of(fabric, args.switch)) if fabric is not None else None
    platform = platforms.of(switch) if switch is not None else None
    ports: tuple[int, ...] = ()
    vlans: tuple[int, ...] = ()
    if fabric is not None and platform is not None:
        ports = wrong.of(lambda: _free_ports(fabric, args.switch, platform, args.ports), ())
        vlans = wrong.of(lambda: _vlans(platform, args.vlans), ())
    if args.try_lines and not (args.ports and args.vlans):
        wrong.findings.append(Finding("--try", "the --ports and --vlans that are free", "not both"))
    if not args.try_lines and args.vlans:
        wrong.findings.append(Finding("--vlans", "with --try alone", args.vlans))
    check_line(args, wrong)
    wrong.findings += unwritable(args.output)
    snmp = wrong.of(lambda: snmp_given(site.inventory, secretly=True)) if site is not None else None
    wrong.end()
    assert platform is not None  # noqa: S101 - else there are findings
    access = login_of(logins(args, site.inventory), args.switch)
    secrets = [access.password, access.enable_password, access.user, access.host]
    if snmp is not None:
        secrets += [snmp.community, snmp.auth_password, snmp.priv_password, snmp.user]
    known = [*secrets, args.switch]
    recorder = ModeRecorder(platform, known) if platform.has_modes else MenuRecorder(platform, known)
    if args.try_lines:
        recorder.written = typed_lines(args, args.switch).written
    failed = _walk(args, screen, recorder, access, list(ports), list(vlans))
    transcript = recorder.transcript()
    write_output(args.output, json.dumps(transcript.to_json(), indent=1) + "\n", force=args.force)
    verdicts = settle(platform, transcript)
    by_verdict = {what: [e.to_json() for e in verdicts if e.verdict == what] for what in (CONFIRMED, REFUTED, OPEN)}
    first = [each.to_json() for each in first_login(platform, transcript)]
    counts = (f"{sum(each['verdict'] == what for each in first)} {what}" for what in by_verdict)
    refuted = [each for each in [*by_verdict[REFUTED], *first] if each["verdict"] == REFUTED]
    screen.say(
        f"recorded  {len(transcript.pages)} pages: {transcript.model}, firmware {transcript.firmware or 'not said'}",
        f"settled   of {number_of(len(verdicts), 'line')} marked likely: "
        + ", ".join(f"{len(found)} {what}" for what, found in by_verdict.items()),
        f"login     of {number_of(len(first), 'line')} of a first login: {', '.join(counts)}",
        *(f"refuted   {each['words']}: {each['why']}" for each in refuted),
        *(f"not asked {context}: {why}" for context, why in recorder.not_asked.items()),
        f"wrote     {args.output}: no secrets, names or addresses; read it, then send it with a report",
    )
    if failed:
        screen.remark(failed)
    head = {"switch": args.switch, "model": transcript.model, "firmware": transcript.firmware}
    screen.answer(
        {
            **head,
            "file": str(args.output),
            "pages": len(transcript.pages),
            **by_verdict,
            "first_login": first,
            "error": failed,
        }
    )
    return DEVICE_FAILED if failed else GOOD


def _walk(
    args: argparse.Namespace,
    screen: Screen,
    recorder: Recorder[Any],
    access: Access,
    ports: list[int],
    vlans: list[int],
) -> str:
    """Record a switch, and return what went wrong after the first pages, "" for nothing. Raises DeviceError."""
    from tagloom.adapters.console_switch import ConsoleSwitch, RouterOsConsole
    from tagloom.adapters.routeros import RouterOsSwitch
    from tagloom.adapters.ssh import SshSwitch

    platform = recorder.platform
    connection: SshSwitch | RouterOsSwitch
    if args.serial or args.telnet:
        name_console(args, screen, args.switch)
        stream = partial(open_stream, args, args.switch)
        if platform.has_modes:
            connection = ConsoleSwitch(args.switch, platform, access, stream)
        else:
            connection = RouterOsConsole(args.switch, platform, access, stream, (access.user, access.password))
    else:
        connection = (SshSwitch if platform.has_modes else RouterOsSwitch)(args.switch, platform, access)
    connection.heard = recorder.heard.extend
    failed = ""
    with screen.waiting(f"asking {args.switch}"):
        with connection:
            changed = recorder.record(connection, ports[0])
            if changed:
                return f"{args.switch}: {changed}"
            if args.try_lines:
                try:
                    recorder.try_lines(connection, ports, vlans)
                except DeviceError as error:
                    failed = f"{args.switch}: {error.text}"
        if recorder.tried_on is not None:
            failed += f"; {_taken_back(recorder, connection)}"
    return failed


def _taken_back(recorder: Recorder[Any], connection: SshSwitch | RouterOsSwitch) -> str:
    """Log in once more, and undo a trial whose session broke; return what became of that."""
    try:
        with connection:
            recorder.take_back(connection)
    except DeviceError as error:
        return f"what was tried may be there still: {recorder.leads_back} ({error.text})"
    return "all was undone in another session"


def _switch_of(fabric: Fabric, name: str) -> Any:
    from tagloom import platforms

    found = next((switch for switch in fabric.live if switch.name == name), None)
    if found is None:
        raise InputError([Finding("SWITCH", "a switch of the inventory that is up", name)])
    platform = platforms.of(found)
    if not platform.grammar or platform.is_shell:
        rule = "a model whose console tagloom knows, and that has help of its own"
        raise InputError([Finding("SWITCH", rule, f"{name}, a {found.model}")])
    return found


def _free_ports(fabric: Fabric, name: str, platform: Platform, words: str) -> tuple[int, ...]:
    """Return the ports that were named, else the last that the fabric does not use. Raises InputError."""
    used = fabric.used_ports[fabric.index[name]]
    if not words:
        free = [port for port in range(1, platform.physical_ports + 1) if port not in used]
        return tuple(free[-1:]) or (platform.physical_ports,)
    numbers = [platform.port_number(word) for word in words.split(",")]
    wrong = [
        Finding("--ports", f"ports of {name} that its fabric does not use, separated by commas", word)
        for word, number in zip(words.split(","), numbers, strict=True)
        if number is None or number in used or number > platform.physical_ports
    ]
    if not wrong and len(set(numbers)) < len(numbers):
        wrong = [Finding("--ports", "ports, each once", words)]
    if wrong:
        raise InputError(wrong)
    return tuple(number for number in numbers if number is not None)


def _vlans(platform: Platform, words: str) -> tuple[int, ...]:
    """Return the VLANs that were named. Raises InputError."""
    ids = [
        int(word) if word.isascii() and word.isdigit() and len(word) < 5 else 0 for word in words.split(",") if words
    ]
    if not all(2 <= vlan <= platform.max_vlan_id for vlan in ids) or len(set(ids)) < len(ids):
        raise InputError([Finding("--vlans", f"VLAN ids of 2 to {platform.max_vlan_id}, each once", words)])
    return tuple(ids)


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    record = commands.add(
        "record", _record, "write down how a switch's console behaves, without anything of its owner's"
    )
    record.add_argument("switch", metavar="SWITCH", help="a switch of the inventory")
    record.add_output("-o", "--output", gathered=True, required=True, help="the transcript to write")
    record.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"Ansible inventory (default {LAB}, where a lab runs)"
    )
    add_vault_words(record)
    record.add_argument(
        "--try", action="store_true", dest="try_lines", help="type lines too, on free --ports and --vlans; undo them"
    )
    record.add_argument("--serial", default="", metavar="LINE", help="at its console there, such as /dev/ttyUSB0")
    record.add_argument("--baud", type=int, default=9600, metavar="N", help="speed of that line (default 9600)")
    record.add_argument(
        "--telnet", default="", metavar="HOST:PORT", help="at its console there; passwords cross the network in clear"
    )
    record.add_argument("--ports", default="", metavar="P,...", help="ports that nothing is plugged into")
    record.add_argument("--vlans", default="", metavar="N,...", help="VLAN ids that nobody uses")
