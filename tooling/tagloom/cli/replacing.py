"""Answer tagloom replace: a new box in the place of a switch, shown, set apart, configured and joined."""

from __future__ import annotations

import ipaddress
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.applying import add_diff_option, closed_now, context_of, prove_and_apply, pushed_payload
from tagloom.cli.bootstrapping import (
    SERVER_SECONDS,
    add_device,
    check_device,
    check_line,
    console_of,
    contact_of,
    factory_user_left,
    factory_user_lines,
    is_looked_in,
    known_hosts_of,
    login_of,
    logins,
    name_console,
    network_given,
    refuse_other_model,
    snmp_given,
    typed_lines,
)
from tagloom.cli.inputs import LAB, Findings, add_window_option, inventory_words, site_of, windows_of
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.vault import add_vault_words
from tagloom.errors import DeviceError, Finding, InputError, PlanError
from tagloom.units import number_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping

    from tagloom.adapters.console_switch import LinuxConsole, NewSwitch, RouterOsConsole
    from tagloom.adapters.ssh import Access
    from tagloom.apply.playbook import Ansible
    from tagloom.cli.words import Commands
    from tagloom.operate.prepare import PreparedChange
    from tagloom.records.fabric import Switch
    from tagloom.records.switch_state import SwitchState

_LOOK_SECONDS = 2.0  # for somebody to answer at an address where nobody should
_SHOWN = 20  # lines of what a box holds


@dataclass
class _Box:
    """The box in the place of a switch, as far as it was looked at, and what is written down of it in the end."""

    switch: Switch
    access: Access
    known_hosts: Path
    line: NewSwitch | RouterOsConsole | LinuxConsole | None = None  # its console, where it is reached by that
    state: SwitchState | None = None
    holds: tuple[Finding, ...] = ()
    said: dict[str, Any] = field(default_factory=dict)


def _replace(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.apply.build import read_waves
    from tagloom.apply.playbook import Ansible
    from tagloom.operate import prepare
    from tagloom.operate.replacing import refuse_managed_over_it

    wrong = Findings()
    site = wrong.of(lambda: site_of(args))
    windows = wrong.of(lambda: windows_of(args, site)) if site is not None else None
    _check_words(args, wrong)
    build = wrong.of(lambda: args.build or _applied(site)) if site is not None else None
    network = wrong.of(lambda: network_given(args)) if args.network else None
    if args.build is not None:
        wrong.of(lambda: read_waves(args.build))
    wrong.end()
    assert build is not None  # noqa: S101 - else there are findings
    closed = closed_now(args, windows)
    logged_in = logins(args, site.inventory)
    with ExitStack() as stack:
        ansible = stack.enter_context(Ansible(site))
        with screen.waiting("proving what would be pushed"):
            prepared = stack.enter_context(prepare.prepared_copy(build, site))
        switch = _switch_of(prepared, args.switch, at_console=bool(args.serial or args.telnet))
        access = login_of(logged_in, switch.name)
        refuse_managed_over_it(prepared.fabric, switch.name)  # before anything is typed at a console
        if not prepared.proof.proven:
            rule = "nothing goes to a switch that was not proven"
            raise PlanError(rule, str(next(iter(prepared.proof.findings), "")), f"tagloom verify {build}")
        _refuse_other_known_hosts(access, site.inventory)
        box = _Box(switch, access, known_hosts_of(access, site.inventory))
        lines = _first_lines(args, prepared, box, network, site.inventory) if network is not None else ()
        _look(args, screen, box, site.directory("replace"), stack)
        payload = {"switch": switch.name, "over": "console" if box.line else "ssh", "build": str(build), **box.said}
        if box.holds and not args.used:
            return _not_new(args, screen, box, payload)
        status = _isolate(args, screen, ansible, prepared, box, payload)
        if status != GOOD or (args.check and (box.line or payload["new_key"])):
            return _end_early(args, screen, payload, len(lines), status, closed)
        if not args.check:
            _let_in_or_say(args, screen, box, lines, payload)
    return _join(args, screen, replace(site, run=f"{site.run}-join"), build, payload, closed)


def _check_words(args: argparse.Namespace, wrong: Findings) -> None:
    """Find options that do not go together."""
    check_device(args, wrong)
    check_line(args, wrong)
    if bool(args.serial or args.telnet) != bool(args.network):
        rule = "with --serial or --telnet, and only then: the network of the switch's address"
        wrong.findings.append(Finding("--network", rule, args.network or "none"))


def _refuse_other_known_hosts(access: Access, inventory: Path) -> None:
    """Raise InputError where the push that joins the box would look for its key in another file."""
    if not is_looked_in(access, inventory):
        rule = f"a file of the inventory's own, such as {known_hosts_of(access, inventory)}, as a variable of all hosts"
        raise InputError([Finding("tagloom_known_hosts", rule, "none")])


def _applied(site: Any) -> Path:
    """Return the build that was applied last. Raises InputError."""
    from tagloom.apply.abort import JOURNAL
    from tagloom.apply.journal import Journal
    from tagloom.operate.replacing import build_applied

    if not (site.home / JOURNAL).exists():
        raise InputError([Finding("--build", "a build: none was applied from this inventory", "none")])
    return build_applied(Journal(site.home / JOURNAL), site.home)


def _switch_of(prepared: PreparedChange, name: str, *, at_console: bool) -> Switch:
    from tagloom import platforms

    found = next((switch for switch in prepared.fabric.live if switch.name == name), None)
    if found is None:
        raise InputError([Finding("SWITCH", "a switch of the build that is up", name)])
    platform = platforms.of(found)
    if not platform.netmiko_driver or (at_console and not platform.has_first_contact):
        rule = f"a model whose {'console' if at_console else 'command line'} tagloom knows"
        raise InputError([Finding("SWITCH", rule, f"{name}, a {found.model}")])
    return found


def _first_lines(
    args: argparse.Namespace, prepared: PreparedChange, box: _Box, network: Any, inventory: Path
) -> tuple[str, ...]:
    """Return the lines that bring a box to the inventory's login. Raises InputError."""
    from tagloom.operate.replacing import lines_for_management
    from tagloom.platforms.first_contact import first_contact_lines
    from tagloom.share import share_directory

    fabric, name, address = prepared.fabric, box.switch.name, box.access.host
    try:
        inside = ipaddress.IPv4Address(address) in network
    except ValueError:
        inside = False
    if not inside:
        raise InputError([Finding(f"{name}: ansible_host", f"an address of {network}", address or "none")])
    snmp = snmp_given(inventory, secretly=True)
    contact = contact_of(args, box.switch, address, network, box.access, snmp, secretly=True)
    if fabric.management is not None:
        contact = replace(contact, vlan=fabric.management.vlan)
    ports = fabric.used_ports[fabric.index[name]]
    lines = first_contact_lines(box.switch, ports, contact, share_directory() / "templates")
    return (*lines_for_management(prepared, name), *lines)


def _look(args: argparse.Namespace, screen: Screen, box: _Box, directory: Path, stack: ExitStack) -> None:
    """Read what the box holds, over its console or over SSH. Raises DeviceError, PlanError or InputError."""
    from tagloom import platforms
    from tagloom.adapters import host_keys
    from tagloom.operate.replacing import read_box, refuse_live

    name, access = box.switch.name, box.access
    old = host_keys.enrolled(box.known_hosts, access.host, access.port)
    box.said |= {"known_hosts": str(box.known_hosts), "old_fingerprints": list(old), "fingerprint": "", "enrolled": []}
    if args.serial or args.telnet:
        if old and not args.new_key:
            raise _no_consent(f"{box.known_hosts} has the key of the old one, {', '.join(old)}")
        try:
            host_keys.fetch(name, access.host, access.port, 0.0, answer_seconds=_LOOK_SECONDS)
        except DeviceError:
            pass  # nobody is there, as it must be
        else:
            raise refuse_live(name, f"{access.host}:{access.port}")
        name_console(args, screen, name)
        with screen.waiting(f"reading {name} at its console"):
            box.line = console_of(args, box.switch, access)
            stack.enter_context(box.line)
            refuse_other_model(box.line, box.switch)
            text = box.line.running_configuration()
        box.said["new_key"] = True
    else:
        text = _read_over_ssh(args, screen, box, directory)
    box.state, cells, others = read_box(box.switch, text)
    # A first login that cannot be had without a user has made one, now or when somebody looked before.
    if box.line is not None and platforms.of(box.switch).factory_login is not None:
        others = tuple(each for each in others if not each.actual.startswith(f"username {access.user} "))
    box.holds = (*cells, *others) if box.line is not None else cells
    box.said |= {"factory": not box.holds, "holds": [finding.to_json() for finding in box.holds]}
    what = (
        "as from the factory" if not box.holds else f"not as from the factory, in {number_of(len(box.holds), 'place')}:"
    )
    screen.say(f"box       {name} {what}", *(f"          {finding}" for finding in box.holds[:_SHOWN]))


def _read_over_ssh(args: argparse.Namespace, screen: Screen, box: _Box, directory: Path) -> str:
    """Return the running configuration of a box that has had its first login, whose key may be new."""
    from tagloom import platforms
    from tagloom.adapters import host_keys
    from tagloom.adapters.connect import connect
    from tagloom.platforms.detect import mistaken

    name, access = box.switch.name, box.access
    try:
        key = host_keys.fetch(name, access.host, access.port, 0.0, answer_seconds=access.login_seconds)
    except DeviceError as error:
        way = (
            f"nobody answers at its address: bring the box there from its console, with --serial or --telnet and "
            f"--network here, or tagloom bootstrap; to go on without it: tagloom apply {args.build or 'BUILD'} "
            f"--without {name}"
        )
        raise DeviceError(name, error.command, f"{error.text}; {way}") from None
    box.said |= {"fingerprint": key.fingerprint, "new_key": key.fingerprint not in box.said["old_fingerprints"]}
    known = box.known_hosts
    if box.said["new_key"]:
        has = ", ".join(box.said["old_fingerprints"]) or "none"
        if not args.new_key:
            raise _no_consent(f"{name} shows {key.get_name()} {key.fingerprint}, {known} has {has}")
        known = directory / "known_hosts"
        known.unlink(missing_ok=True)
        host_keys.enrol(known, access.host, access.port, key)
    screen.remark(f"host key  {key.get_name()} {key.fingerprint}{' (new)' if box.said['new_key'] else ''}")
    with (
        screen.waiting(f"reading {name}"),
        connect(name, platforms.of(box.switch), replace(access, known_hosts=str(known))) as connection,
    ):
        if wrong := mistaken(box.switch.model, connection.identity(), name):
            raise InputError(wrong)
        text: str = connection.running_configuration()
    return text


def _no_consent(witness: str) -> PlanError:
    rule = "another host key is taken for a switch only where the operator says so"
    next_step = "compare it with what the box shows at its console, then the same command with --new-key"
    return PlanError(rule, witness, next_step, ("--new-key",))


def _not_new(args: argparse.Namespace, screen: Screen, box: _Box, payload: dict[str, Any]) -> int:
    """Answer that a box holds something, and what to do about that: nothing was changed."""
    from tagloom import platforms

    again = f"tagloom replace {box.switch.name}{inventory_words(args)} ... --used"
    at_console = f"{platforms.of(box.switch).resets}, at its console"
    screen.say("refused: the box is not new; nothing was sent to anybody")
    screen.say(f"next      {at_console}, or keep what is not tagloom's: {again}")
    rule = "a new box is as from the factory, or the operator says that it is used"
    payload |= {
        "refused": rule,
        "witness": str(box.holds[0]),
        "next": again,
        "advice": ["--used"],
        "isolated": {},
        "opened": {},
    }
    screen.answer({**pushed_payload(), **payload})
    return NO


def _isolate(
    args: argparse.Namespace,
    screen: Screen,
    ansible: Ansible,
    prepared: PreparedChange,
    box: _Box,
    payload: dict[str, Any],
) -> int:
    """Shut the ports to the box; say which, and return whether that went well."""
    from tagloom.operate.replacing import isolate
    from tagloom.report import terminal

    assert box.state is not None  # noqa: S101 - it was looked at
    name, allowed = box.switch.name, "interrupt" in (args.allow or [])
    with context_of(args, screen, ansible) as context, screen.waiting(f"shutting the ports to {name}"):
        done = isolate(context, prepared, name, box.state, check=args.check, allow_interrupt=allowed)
    payload["isolated"], payload["opened"] = (
        {neighbour: list(ports) for neighbour, ports in each.items()} for each in (done.ports, done.opened)
    )
    shut, opened = (_ends(each) for each in (done.ports, done.opened))
    if args.check and (shut or opened):
        payload["pending"] = True
    would = "would " if args.check else ""
    screen.say(*terminal.row("isolated", f"{would}shut {shut}" if shut else "all ports to it are shut"))
    if opened:
        screen.say(*terminal.row("opened", f"{would and 'would be '}{opened}, for its management VLAN alone"))
    if done.outcomes is None or done.outcomes.good:
        return GOOD
    screen.say(*terminal.outcome_lines(done.outcomes, checked=False, verb="replace"))
    payload |= done.outcomes.to_json() | {"next": f"tagloom apply --resume{inventory_words(args)}"}
    return DEVICE_FAILED


def _ends(ports: Mapping[str, Collection[str]]) -> str:
    return ", ".join(f"{neighbour}:{port}" for neighbour, names in ports.items() for port in names)


def _end_early(
    args: argparse.Namespace,
    screen: Screen,
    payload: dict[str, Any],
    lines: int,
    status: int,
    closed: PlanError | None,
) -> int:
    """Answer where the box cannot be joined yet: it has no login, or its key is not enrolled by --check."""
    if closed is not None and status == GOOD:
        payload |= closed.to_json()
        screen.say(f"refused   {closed.rule}: {closed.witness}")
        status = NO
    elif status == GOOD:
        first = f"type {number_of(lines, 'line')} at the console, " if payload["over"] == "console" else ""
        screen.say(f"then      {first}enrol the host key, configure and join {payload['switch']}")
        words = [f"tagloom replace {payload['switch']}{inventory_words(args)}"]
        payload["next"] = " ".join([*words, "(the same, without --check)"])
    screen.say(f"next      {payload['next']}")
    screen.answer({**pushed_payload(), **payload, "pending": True})
    return status


def _let_in_or_say(
    args: argparse.Namespace, screen: Screen, box: _Box, lines: tuple[str, ...], payload: dict[str, Any]
) -> None:
    """Bring the box to its first login; where that ends early, say that the ports stay shut, and how to go on."""
    name = box.switch.name
    used = "" if args.used or box.line is None else " and --used, since some lines may be there"
    way = f"the ports to {name} stay shut until the same command again{used}"
    try:
        _let_in(args, screen, box, lines, payload)
    except DeviceError as error:
        raise DeviceError(name, error.command, f"{error.text}; {way}") from None
    except KeyboardInterrupt:
        screen.remark(way)
        raise


def _let_in(
    args: argparse.Namespace, screen: Screen, box: _Box, lines: tuple[str, ...], payload: dict[str, Any]
) -> None:
    """Bring the box to its first login where it has none, and enrol its host key. Raises DeviceError, InputError."""
    from tagloom import platforms
    from tagloom.adapters import host_keys
    from tagloom.adapters.connect import connect
    from tagloom.platforms.detect import mistaken

    name, access = box.switch.name, box.access
    if box.line is not None:
        with screen.waiting(f"typing {number_of(len(lines), 'line')}"):
            typed_lines(args, name).type(box.line, lines)
    key = host_keys.fetch(name, access.host, access.port, SERVER_SECONDS)
    new = host_keys.enrol(box.known_hosts, access.host, access.port, key, instead=args.new_key)
    payload |= {"fingerprint": key.fingerprint, "enrolled": [name] if new else [], "new_key": new}
    screen.say(f"host key  {key.get_name()} {key.fingerprint} {'enrolled' if new else 'is the one'}")
    if box.line is not None:  # over SSH that was asked before
        with connect(name, platforms.of(box.switch), replace(access, known_hosts=str(box.known_hosts))) as connection:
            wrong = mistaken(box.switch.model, connection.identity(), name)
        if wrong:
            raise InputError(wrong)
    payload["factory_user"] = factory_user_left(box.switch, access, box.known_hosts)
    screen.say(*factory_user_lines(box.switch, payload["factory_user"]))


def _join(
    args: argparse.Namespace,
    screen: Screen,
    site: Any,
    build: Path,
    payload: dict[str, Any],
    closed: PlanError | None,
) -> int:
    """Configure the box apart from all others, then open the ports to it: what apply --readmit does."""
    from tagloom.apply.playbook import Ansible

    words = {"command": "apply", "build": build, "readmit": args.switch, "without": None, "limit": "", "drift": ""}
    words |= {"foreign": "refuse", "confirm": "", "resume": False, "on_failure": "stop"}
    with Ansible(site) as ansible:
        ansible.start()
        return prove_and_apply(Namespace(**{**vars(args), **words}), screen, ansible, payload, closed)


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    command = commands.add("replace", _replace, "bring a new box into the place of a switch, apart from all others")
    command.add_argument("switch", metavar="SWITCH", help="the switch whose place the new box takes")
    command.add_argument(
        "--build", type=Path, metavar="BUILD", help="what it shall run (default: the build applied last)"
    )
    command.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"Ansible inventory (default {LAB}, where a lab runs)"
    )
    add_vault_words(command)
    command.add_argument("--check", action="store_true", help="look at the box and show what would be done")
    add_diff_option(command)
    add_window_option(command)
    command.add_argument("--used", action="store_true", help="the box may hold something: what is not tagloom's stays")
    command.add_argument("--new-key", action="store_true", help="forget the old host key, and enrol that of the box")
    command.add_argument(
        "--allow",
        action="append",
        choices=["interrupt"],
        help="interrupt: pairs of hosts that work over the switch may be cut off (default: refused)",
    )
    command.add_argument("--serial", default="", metavar="LINE", help="its console, such as /dev/ttyUSB0")
    command.add_argument("--baud", type=int, default=9600, metavar="N", help="speed of that line (default 9600)")
    command.add_argument("--telnet", default="", metavar="HOST:PORT", help="its console; passwords cross in clear")
    command.add_argument("--network", default="", metavar="NET", help="with a console: its network, 192.0.2.0/24")
    command.add_argument("--gateway", default="", metavar="ADDRESS", help="the router of that network")
    add_device(command)
    command.add_argument("--user", default="", metavar="NAME", help="the user to make (default: the inventory's)")
