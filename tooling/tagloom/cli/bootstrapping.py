"""Answer the command for switches that come out of their boxes: what to paste, what to print, or do it at a console."""

from __future__ import annotations

import base64
import ipaddress
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.inputs import Findings, folder_of, inventory_of, logins_of, site_of
from tagloom.cli.screen import GOOD
from tagloom.cli.vault import add_vault_words
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.units import number_of, split_address

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tagloom.adapters.channels import ConsoleChannel
    from tagloom.adapters.console_switch import LinuxConsole, NewSwitch, RouterOsConsole
    from tagloom.adapters.ssh import Access
    from tagloom.apply.typed_lines import TypedLines
    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands
    from tagloom.platforms.first_contact import FirstContact
    from tagloom.records.fabric import Fabric, Switch
    from tagloom.records.snmp import Credentials

_TYPED = re.compile(r"[!#-~]{1,64}(?<![?])")  # what every console takes as one word as it is
_LINUX_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")  # useradd(8)
_DEVICE = re.compile(r"[A-Za-z][\w.-]{0,14}", re.ASCII)  # of Linux, whose names have 15 characters at most
_CONNECT_SECONDS = 10.0
_BAUD = range(50, 4_000_001)  # of Linux, whose 0 hangs up
FACTORY_PASSWORD = "TAGLOOM_FACTORY_PASSWORD"  # noqa: S105 - the variable's name
SERVER_SECONDS = 60.0  # until an old switch's SSH server runs


def _bootstrap(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.platforms.first_contact import first_contact_lines
    from tagloom.read import read_fabric
    from tagloom.report.labels import labels_html
    from tagloom.share import share_directory
    from tagloom.storage.outputs import check_outputs, write_output

    wrong = Findings()
    fabric = wrong.of(lambda: read_fabric(args.fabric))
    network = wrong.of(lambda: network_given(args))
    _check_words(args, fabric, wrong)
    addresses = wrong.of(lambda: addresses_of(fabric, network, args.switch)) if fabric and network else None
    inventory = args.inventory or inventory_beside(args.fabric)
    if (args.serial or args.telnet) and inventory is None:
        wrong.findings.append(Finding("-i", "the inventory that says who logs in", "none beside the fabric file"))
    elif inventory is not None:
        args.inventory = inventory
        wrong.of(lambda: inventory_of(args))
    typed = bool(args.serial or args.telnet)
    secretly = args.secrets or typed
    snmp = wrong.of(lambda: snmp_given(inventory, secretly=secretly))
    user_key = wrong.of(lambda: user_key_in(Path(args.user_key))) if args.user_key else None
    wrong.end()
    assert fabric is not None and addresses is not None  # noqa: S101, PT018 - else there are findings
    access = logins(args, inventory) if inventory is not None else {}

    def contact(name: str) -> FirstContact:
        login = login_of(access, name) if inventory is not None and secretly else access.get(name)
        place = fabric.switches[fabric.index[name]], addresses[name], network
        return contact_of(args, *place, login, snmp, secretly=secretly, user_key=user_key)

    contacts = {name: wrong.of(partial(contact, name)) for name in addresses}
    wrong.end()
    ports = dict(zip((s.name for s in fabric.switches), fabric.used_ports, strict=True))
    templates = share_directory() / "templates"
    lines = {
        switch.name: first_contact_lines(switch, ports[switch.name], contacts[switch.name], templates)
        for switch in fabric.live
        if switch.name in contacts
    }
    if typed and inventory is not None:
        switch = fabric.switches[fabric.index[args.switch]]
        return _type(args, screen, switch, lines[switch.name], access[switch.name], inventory)
    pages = {args.output / f"{name}.txt": "".join(f"{line}\n" for line in each) for name, each in lines.items()}
    labels = args.output / "labels.html"
    written = [*pages, labels]
    check_outputs(*written, force=args.force)
    for path, text in pages.items():
        _write(path, text, args)
    write_output(labels, labels_html(fabric), force=args.force)
    screen.say(
        f"wrote     {args.output}/: {number_of(len(lines), 'file')} to paste at serial consoles, labels.html to print"
    )
    left_out = [] if args.switch else [switch for switch in fabric.live if switch.name not in contacts]
    if left_out:
        names, models = (
            ", ".join(dict.fromkeys(words)) for words in zip(*((s.name, s.model) for s in left_out), strict=True)
        )
        screen.say(f"by hand   {names}: tagloom knows no first lines of {models}")
    if lines and not args.secrets:
        screen.say("replace   what stands in <...> before you paste: passwords are in no file")
    if lines:
        screen.say(
            "next      tagloom bootstrap with --switch S and --serial or --telnet types them, and enrols the host key"
        )
    nobody: dict[str, Any] = {"configured": [], "known_hosts": None, "enrolled": [], "factory_user": ""}
    nobody["pending"] = bool(lines)
    screen.answer({"written": list(map(str, written)), "left_out": [switch.name for switch in left_out], **nobody})
    return GOOD


def inventory_beside(fabric: Path) -> Path | None:
    """Return the inventory of a fabric file: its directory, or `inventory` there, None where neither is one."""
    places = fabric.parent, fabric.parent / "inventory"
    return next((place for place in places if (place / "tagloom.yml").is_file()), None)


def _check_words(args: argparse.Namespace, fabric: Fabric | None, wrong: Findings) -> None:
    """Find options that do not go together, and a switch that is none or has no console of its own."""
    from tagloom import platforms

    if bool(args.serial) + bool(args.telnet) + bool(args.output) != 1:
        wrong.findings.append(Finding("bootstrap", "one of -o DIR, --serial LINE and --telnet HOST:PORT", "otherwise"))
    if (args.serial or args.telnet) and not args.switch:
        wrong.findings.append(Finding("--switch", "the switch at the other end of the line", "none"))
    _check_wire(args, wrong)
    check_device(args, wrong)
    if fabric is not None and args.switch:
        live = {switch.name: switch for switch in fabric.live}
        if args.switch not in live:
            wrong.findings.append(Finding("--switch", "a switch of the fabric that is up", args.switch))
        elif not platforms.of(live[args.switch]).has_first_contact:
            rule = "a model whose console tagloom knows"
            wrong.findings.append(Finding("--switch", rule, f"{args.switch}, a {live[args.switch].model}"))


def _check_wire(args: argparse.Namespace, wrong: Findings) -> None:
    if args.baud not in _BAUD:
        rule = f"bits per second, from {_BAUD.start} to {_BAUD.stop - 1}"
        wrong.findings.append(Finding("--baud", rule, str(args.baud)))
    if args.telnet:
        try:
            split_address(args.telnet)
        except ValueError:
            wrong.findings.append(Finding("--telnet", "HOST or HOST:PORT", args.telnet))


def check_line(args: argparse.Namespace, wrong: Findings) -> None:
    """Find a console that is named twice or wrong, and a speed that no line has."""
    if args.serial and args.telnet:
        wrong.findings.append(Finding("--serial", "one of --serial LINE and --telnet HOST:PORT", "both"))
    _check_wire(args, wrong)


def check_device(args: argparse.Namespace, wrong: Findings) -> None:
    """Find an interface that no Linux machine has."""
    if args.device and not _DEVICE.fullmatch(args.device):
        wrong.findings.append(Finding("--device", "the name of an interface, such as eth0", args.device))


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the option of the interface that a Linux machine is managed by."""
    parser.add_argument(
        "--device", default="", metavar="NAME", help="what a Linux machine is managed by (default eth0, else mgmt0)"
    )


def network_given(args: argparse.Namespace) -> ipaddress.IPv4Network:
    """Return the network that was named. Raises InputError."""
    try:
        network = ipaddress.IPv4Network(args.network)
    except ValueError as error:
        raise InputError([Finding("--network", "ADDRESS/BITS of IPv4", f"{args.network} ({error})")]) from None
    try:
        inside = not args.gateway or ipaddress.IPv4Address(args.gateway) in network
    except ValueError:
        inside = False
    if not inside:
        raise InputError([Finding("--gateway", f"an address of {network}", args.gateway)])
    return network


def addresses_of(fabric: Fabric, network: ipaddress.IPv4Network, only: str) -> dict[str, str]:
    """Return the addresses of the switches that are configured so. Raises InputError where one has none there."""
    from tagloom import platforms

    found, wrong = {}, []
    for switch in fabric.live:
        platform = platforms.of(switch)
        if not platform.has_first_contact or (only and switch.name != only):
            continue
        host = split_address(switch.address)[0] if switch.address else ""
        try:
            good = ipaddress.IPv4Address(host) in network
        except ValueError:
            good = False
        if not good:
            rule = f"an address of {network} (switches: {{{switch.name}: {{address: ...}}}})"
            wrong.append(Finding(f"switches.{switch.name}.address", rule, switch.address or "none"))
        found[switch.name] = host
    if wrong:
        raise InputError(wrong)
    return found


def snmp_given(inventory: Path | None, *, secretly: bool) -> Credentials | None:
    """Return who reads the switches over SNMP, None where nobody said; without its secrets unless `secretly`."""
    from tagloom.platforms.first_contact import AUTH_PASSWORD, COMMUNITY, PRIV_PASSWORD
    from tagloom.read import read_snmp_settings
    from tagloom.read.snmp_settings import VARIABLES

    home = None if inventory is None else folder_of(inventory)
    page = home / "snmp.yml" if home is not None and (home / "snmp.yml").is_file() else None
    if page is None and not any(os.environ.get(name) for name in VARIABLES):
        return None
    hidden = dict(
        zip(
            ("TAGLOOM_SNMP_AUTH_PASSWORD", "TAGLOOM_SNMP_PRIV_PASSWORD", "TAGLOOM_SNMP_COMMUNITY"),
            (AUTH_PASSWORD, PRIV_PASSWORD, COMMUNITY),
            strict=True,
        )
    )
    credentials: Credentials = read_snmp_settings(page, {**os.environ, **({} if secretly else hidden)}).credentials
    return credentials


def logins(args: argparse.Namespace, inventory: Path) -> dict[str, Access]:
    """Return how Ansible logs in to each switch, vaults and all. Raises InputError."""
    from tagloom.adapters.ssh import Access

    args.inventory = inventory
    return {name: Access.of_host(known) for name, known in logins_of(site_of(args)).items()}


def login_of(access: Mapping[str, Access], name: str) -> Access:
    """Return how a switch is logged in to. Raises InputError where its inventory does not know it."""
    if name not in access:
        raise InputError([Finding("-i", f"an inventory with a host {name}", "none of that name")])
    return access[name]


def contact_of(
    args: argparse.Namespace,
    switch: Switch,
    address: str,
    network: Any,
    access: Access | None,
    snmp: Credentials | None,
    *,
    secretly: bool,
    user_key: str | None = None,
) -> FirstContact:
    """Return what a switch is told of itself; the user's key is that beside the inventory's where none is given.

    Raises InputError where a secret is lacking, or no console takes it.
    """
    from tagloom import platforms
    from tagloom.platforms.first_contact import PASSWORD, ROUTEROS_AUTH, ROUTEROS_PRIV, FirstContact

    name, platform = switch.name, platforms.of(switch)
    user = args.user or (access.user if access else "") or "admin"
    password = (access.password if access else "") if secretly else PASSWORD
    secrets = {"ansible_password": password}
    if secretly and snmp is not None:
        keys = ("community",) if snmp.version == "2c" else ("auth_password", "priv_password")
        secrets |= {f"snmp {key}": getattr(snmp, key) for key in keys}
    rule = "1 to 64 characters that a console takes as one word: no blank, quote or ?"
    wrong = [
        Finding(f"{name}: {key}", rule, "others, or none") for key, value in secrets.items() if not _is_word(value)
    ]
    if not _is_word(user):
        wrong.append(Finding("--user" if args.user else f"{name}: ansible_user", rule, user))
    if platform.is_shell and not _LINUX_USER.fullmatch(user):
        wrong.append(Finding(f"{name}: ansible_user", "a name that useradd takes", user))
    if snmp is not None and snmp.version == "3" and not (platform.has_modes or platform.is_shell):
        for key, known in (("auth_protocol", ROUTEROS_AUTH), ("priv_protocol", ROUTEROS_PRIV)):
            if getattr(snmp, key) not in known:
                wrong.append(Finding(f"{name}: snmp {key}", f"{' or '.join(known)}: RouterOS", getattr(snmp, key)))
    if wrong:
        raise InputError(wrong)
    beside = Path(f"{access.key_file}.pub").expanduser() if access is not None and access.key_file else None
    if user_key is None and beside is not None and beside.is_file():
        user_key = user_key_in(beside, f"{name}: ansible_ssh_private_key_file")
    return FirstContact(
        address, str(network.netmask), user, password, args.gateway, user_key or "", snmp, device=args.device
    )


def user_key_in(path: Path, where: str = "--user-key") -> str:
    """Return the key of a public key file, in base 64. Raises InputError for all but RSA keys."""
    from tagloom.storage.text import read_text

    rule = "a public RSA key, as ssh-keygen -t rsa writes it into a file .pub"
    try:
        kind, _, rest = read_text(path, rule).strip().partition(" ")
    except InputError as error:
        raise InputError([Finding(where, rule, f"{path}, {error.findings[0].actual}")]) from None
    key = rest.split(" ")[0]
    try:
        good = kind == "ssh-rsa" and base64.b64decode(key, validate=True)[4:11] == b"ssh-rsa"
    except ValueError:
        good = False
    if not good:
        raise InputError([Finding(where, rule, f"{path}, {kind[:20] or 'empty'}")])
    return key


def _is_word(text: str) -> bool:
    return bool(_TYPED.fullmatch(text)) and "?" not in text


def _write(path: Path, text: str, args: argparse.Namespace) -> None:
    from tagloom.apply.private_files import write_private
    from tagloom.storage.outputs import record_outputs, write_output

    if not args.secrets:
        write_output(path, text, force=args.force)
        return
    try:
        write_private(path, text)
        record_outputs(path)
    except OSError as error:
        raise InputError([Finding(str(path), "a file that can be written", error.strerror or str(error))]) from None


def _type(
    args: argparse.Namespace, screen: Screen, switch: Switch, lines: tuple[str, ...], access: Access, inventory: Path
) -> int:
    """Type the lines at the console, enrol the key that the switch shows then, and log in as the inventory does."""
    from tagloom import platforms
    from tagloom.adapters import host_keys
    from tagloom.adapters.connect import connect
    from tagloom.platforms.detect import mistaken

    platform = platforms.of(switch)
    known_hosts = known_hosts_of(access, inventory)
    name_console(args, screen, switch.name)
    with screen.waiting(f"typing {number_of(len(lines), 'line')}"):
        with console_of(args, switch, access) as line:
            refuse_other_model(line, switch)
            typed_lines(args, switch.name).type(line, lines)
        key = host_keys.fetch(switch.name, access.host, access.port, SERVER_SECONDS)
        typed = f"the lines of {switch.name} were typed"
        try:
            enrolled = host_keys.enrol(known_hosts, access.host, access.port, key)
        except InputError as error:
            raise InputError(error.findings, typed) from None
        with connect(switch.name, platform, replace(access, known_hosts=str(known_hosts))) as connection:
            wrong = mistaken(switch.model, connection.identity(), switch.name)
    if wrong:
        raise InputError(wrong, typed)
    left = factory_user_left(switch, access, known_hosts)
    if not is_looked_in(access, inventory):
        screen.remark(f"note      pushes look in ~/.ssh/known_hosts: give all hosts tagloom_known_hosts: {known_hosts}")
    screen.say(
        f"login     {access.user} at {access.host}:{access.port} works",
        f"host key  {key.get_name()} {key.fingerprint} {'enrolled' if enrolled else 'is the one'} in {known_hosts}",
    )
    screen.say(*factory_user_lines(switch, left))
    payload = {"written": [], "left_out": [], "configured": [switch.name], "known_hosts": str(known_hosts)}
    payload["factory_user"] = left
    screen.answer({**payload, "pending": False, "enrolled": [switch.name] if enrolled else []})
    return GOOD


def refuse_other_model(line: NewSwitch | LinuxConsole | RouterOsConsole, switch: Switch) -> None:
    """Raise InputError where what is at a console says that it is another model, before it is typed anything else."""
    from tagloom.platforms.detect import mistaken

    if wrong := mistaken(switch.model, line.identity(), switch.name):
        raise InputError(wrong)


def factory_user_left(switch: Switch, access: Access, known_hosts: Path) -> str:
    """Return the user of the factory where the password of the factory still lets anybody in over SSH, else "".

    No manual that was read says whether Cisco's goes once another user is made, so it is tried.
    """
    from tagloom import platforms
    from tagloom.adapters.connect import connect

    platform = platforms.of(switch)
    if platform.factory_login is None or platform.is_shell:  # an SSH server takes no password that is none
        return ""
    user, password = platform.factory_login
    anybody = replace(access, user=user, password=password, key_file="", known_hosts=str(known_hosts))
    try:
        with connect(switch.name, platform, anybody):
            return user
    except DeviceError:
        return ""


def factory_user_lines(switch: Switch, user: str) -> tuple[str, ...]:
    """Return what to tell the operator of a user of the factory who still gets in; nothing where there is none."""
    from tagloom import platforms

    if not user:
        return ()
    return (
        f"open      {switch.name} still lets {user} in with the password that every such switch has from its factory",
        f"next      on {switch.name}: {platforms.of(switch).ends_factory_login}",
    )


def known_hosts_of(access: Access, inventory: Path) -> Path:
    """Return the file of a switch's host key: the inventory's, else that beside it."""
    return Path(access.known_hosts or folder_of(inventory) / "known_hosts").expanduser()


def is_looked_in(access: Access, inventory: Path) -> bool:
    """Return whether pushes look for a switch's key where `known_hosts_of` says, not in the user's own file.

    They do where the inventory names the file, and where our inventory plugin finds it beside its own. Where keys are
    not checked, it does not matter.
    """
    folder = folder_of(inventory)
    return (
        bool(access.known_hosts)
        or not access.host_key_checking
        or any((folder / name).is_file() for name in ("tagloom.yml", "tagloom.yaml"))
    )


def console_of(args: argparse.Namespace, switch: Switch, access: Access) -> NewSwitch | RouterOsConsole | LinuxConsole:
    """Return a conversation at the console that was named, to be entered."""
    from tagloom import platforms
    from tagloom.adapters.console_switch import LinuxConsole, NewSwitch, RouterOsConsole

    platform, line = platforms.of(switch), partial(open_stream, args, switch.name)
    if platform.has_modes:
        return NewSwitch(switch.name, platform, access, line)
    user, password = platform.factory_login or ("", "")
    factory = user, os.environ.get(FACTORY_PASSWORD, password)
    return (LinuxConsole if platform.is_shell else RouterOsConsole)(switch.name, platform, access, line, factory)


def name_console(args: argparse.Namespace, screen: Screen, switch: str) -> None:
    """Name the line over which a switch's console is spoken to, and what telnet shows to all who listen."""
    in_clear = ": passwords go there in clear" if args.telnet else ""
    screen.remark(f"console   {switch} over {_line_words(args)}{in_clear}")


def _line_words(args: argparse.Namespace) -> str:
    return f"telnet {args.telnet}" if args.telnet else f"serial {args.serial}" if args.serial else "ssh"


def typed_lines(args: argparse.Namespace, switch: str) -> TypedLines:
    """Return where it is written down what this command types at a switch. Raises InputError."""
    from tagloom.apply.abort import JOURNAL, home_of
    from tagloom.apply.journal import Journal
    from tagloom.apply.typed_lines import TypedLines

    command = f"tagloom {args.command} {getattr(args, 'fabric', switch)}"
    return TypedLines(Journal(home_of(inventory_of(args)) / JOURNAL), command, switch, _line_words(args))


def open_stream(args: argparse.Namespace, name: str) -> ConsoleChannel:
    """Return the serial line or telnet session that was named. Raises DeviceError."""
    from tagloom.adapters.channels import SerialLine, TelnetLine

    try:
        if args.serial:
            return SerialLine(args.serial, args.baud)
        return TelnetLine(*split_address(args.telnet), _CONNECT_SECONDS)
    except OSError as error:
        raise DeviceError(name, "console", f"cannot reach {args.serial or args.telnet} ({error})") from None


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    bootstrap = commands.add(
        "bootstrap",
        _bootstrap,
        "bring switches out of their boxes to their first login: what to paste, or typed; needs --network",
    )
    bootstrap.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file, with each switch's address")
    bootstrap.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="write SWITCH.txt to paste, and labels.html"
    )
    bootstrap.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help="who logs in (default: beside the fabric file)"
    )
    add_vault_words(bootstrap)
    bootstrap.add_argument(
        "--network", required=True, metavar="NET", help="required: the switches' own network, such as 192.0.2.0/24"
    )
    bootstrap.add_argument("--gateway", default="", metavar="ADDRESS", help="the router of that network")
    add_device(bootstrap)
    bootstrap.add_argument("--user", default="", metavar="NAME", help="the user to make (default: the inventory's)")
    bootstrap.add_argument(
        "--user-key",
        default="",
        metavar="FILE",
        help="a public RSA key that may log in too (default: that beside the inventory's ansible_ssh_private_key_file)",
    )
    bootstrap.add_force()
    bootstrap.add_argument("--secrets", action="store_true", help="write passwords too, in files of mode 0600")
    bootstrap.add_argument("--switch", default="", metavar="S", help="only this switch")
    bootstrap.add_argument("--serial", default="", metavar="LINE", help="type the lines there, such as /dev/ttyUSB0")
    bootstrap.add_argument("--baud", type=int, default=9600, metavar="N", help="speed of that line (default 9600)")
    bootstrap.add_argument(
        "--telnet", default="", metavar="HOST:PORT", help="type them there; passwords cross the network in clear"
    )
