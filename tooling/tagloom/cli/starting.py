"""Answer the commands that start a project: init, and paths, which says where tagloom's own files are."""

from __future__ import annotations

import getpass
import ipaddress
import os
import re
import shlex
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.inputs import Findings
from tagloom.cli.planning import DEFAULT_MODEL
from tagloom.cli.screen import GOOD
from tagloom.errors import Finding, InputError, one_of
from tagloom.share import OWN_COMMAND, share_directory
from tagloom.storage.outputs import write_output
from tagloom.storage.whole import unwritable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands
    from tagloom.read.service_unit import Service
    from tagloom.records.fabric import Fabric

FAMILY, SWITCHES = "ring", 4
UNIT = "tagloom.service"  # of systemd, in a new project; `run --install-service` writes and starts the same
NETWORK = "192.0.2.0/24"  # of documentation (RFC 5737): no switch has such an address, so nothing is reached by mistake
_OF_ONE_SIZE = ("ring", "complete")  # families whose size is the number of switches
_MOST_HOSTS = 512  # as the fabric file has it
_FIRST = 10  # of the network's addresses: lower ones are mostly a router's and the controller's
# The option that a finding about a key of the fabric file belongs to.
_OPTIONS = {"shape.family": "--family", "shape.dims": "--dims", "shape.parallel": "--parallel"}
_OPTIONS |= {"shape.hosts": "--hosts", "model": "--model", "name": "--name", "shape": "--hosts, --parallel or --model"}


# What is assumed of each, in words, and the option that says otherwise.
_ASSUMED = {
    "family": ("a {}", "--family"),
    "dims": ("{} switches", "--switches"),
    "model": ("model {}", "--model"),
    "hosts": ("{} host on each switch", "--hosts"),
    "network": ("addresses of {}", "--network"),
}


@dataclass(slots=True)
class _Wanted:
    """What the new fabric shall be, and what of it was assumed, with the option that says otherwise."""

    family: str = ""
    dims: tuple[int, ...] = ()
    model: str = DEFAULT_MODEL
    hosts: int = 1
    network: ipaddress.IPv4Network = field(default_factory=lambda: ipaddress.IPv4Network(NETWORK))
    assumed: dict[str, str] = field(default_factory=dict)


def _init(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.apply.private_files import write_private
    from tagloom.read.project import VAULT, project_files
    from tagloom.read.service_unit import service_unit
    from tagloom.report.cabling import cabling_csv, cabling_table, port_lines
    from tagloom.report.terminal import row

    home: Path = args.directory
    wrong = Findings()
    wrong.findings += _in_the_way(home, [*_paths()], force=args.force)
    wanted = wrong.of(lambda: _wanted(args, screen, wrong))
    fabric = wrong.of(lambda: _fabric(args, wanted)) if wanted is not None else None
    wrong.end()
    assert fabric is not None and wanted is not None  # noqa: S101, PT018 - else there are findings
    files = project_files(fabric, share_directory())
    files |= {"cabling.csv": cabling_csv(fabric), "cabling.txt": cabling_table(fabric)}
    files[UNIT] = service_unit(_service(fabric.name, home.absolute()))
    kept = [str(home / name) for name in files if name == VAULT and (home / name).exists()]
    written: list[str] = []
    for name in files:
        if str(home / name) in kept:
            continue
        try:
            if name == VAULT:
                write_private(home / name, files[name])
            else:
                write_output(home / name, files[name], force=True)
        except OSError as error:
            finding = Finding(str(home / name), "a file that can be written", error.strerror or str(error))
            raise InputError([finding], f"wrote {', '.join(written) or 'nothing'}") from None
        written.append(str(home / name))
    shape = f"{wanted.family} {' '.join(map(str, wanted.dims))}"
    screen.say(*row("fabric", f"{fabric.name}: {_counted(fabric)}; {shape}"), *port_lines(fabric))
    if wanted.assumed:
        screen.say(*row("assumed", ", ".join(f"{what} ({option})" for what, option in wanted.assumed.items())))
    if wanted.network.subnet_of(ipaddress.IPv4Network(NETWORK)):
        screen.say(*row("change", f"the addresses in fabric.yml: {NETWORK} is for examples"))
    screen.say(*(line for path in kept for line in row("kept", f"{path}: it may hold your passwords")))
    screen.say(*row("wrote", f"{home}/: {', '.join(each for each in files if str(home / each) in written)}"))
    steps = _next_commands(home, wanted)
    screen.say(*(f"{'' if n else 'next':<10}{step}" for n, step in enumerate(steps)))
    counts = {"switches": len(fabric.switches), "links": len(fabric.links), "hosts": len(fabric.hosts)}
    said: dict[str, Any] = {"family": wanted.family, "dims": list(wanted.dims), "network": str(wanted.network)}
    screen.answer({**counts, **said, "assumed": list(wanted.assumed), "kept": kept, "wrote": written, "next": steps})
    return GOOD


def _next_commands(home: Path, wanted: _Wanted) -> list[str]:
    """Return what to type next: in the directory, plan, rehearse, and reach the switches, as far as the model can."""
    from tagloom import platforms

    platform = platforms.load(wanted.model)
    only = platform.assignments[0]
    plan = "tagloom plan fabric.yml -o build" + (f" --assignment {only}" if only else "")
    steps = [f"cd {shlex.quote(str(home))}"] if home.resolve() != Path.cwd() else []
    if not platform.grammar:  # it is configured manually, if at all
        return [*steps, f"{plan} --no-texts"]
    steps += [plan, "tagloom lab up fabric.yml"]
    steps += [f"tagloom bootstrap fabric.yml --network {wanted.network} -o first"] * platform.has_first_contact
    return [*steps, "tagloom apply build -i inventory --check --diff"]


def _counted(fabric: Fabric) -> str:
    from tagloom.report.cabling import counts

    switches, links, hosts = counts(fabric)
    return f"{switches} ({fabric.switches[0].model}), {links}, {hosts}"


def _paths() -> list[str]:
    """Return the files that init writes, by their paths in the project."""
    from tagloom.read.project import VAULT

    inventory = ["inventory/tagloom.yml", "inventory/snmp.yml", "inventory/group_vars/all/login.yml", VAULT]
    return ["fabric.yml", ".gitignore", "ansible.cfg", *inventory, "cabling.csv", "cabling.txt", UNIT]


def _service(fabric: str, home: Path) -> Service:
    """Return the service that repairs the new fabric: tagloom of this installation, run by this user."""
    from tagloom.read.service_unit import Service

    command = *OWN_COMMAND, "run", "-i", str(home / "inventory")
    return Service(fabric, command, home, home / "inventory", getpass.getuser())


def _in_the_way(home: Path, names: list[str], *, force: bool) -> list[Finding]:
    """Return a finding for each file that is there already, unless it may be replaced, and for what is no file."""
    found = []
    for path in (home / name for name in names):
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            found.append(Finding(str(path), "a new file", "something else: move it away"))
        elif path.exists() and not force:
            found.append(Finding(str(path), "a new file (--force replaces it)", "one that is there"))
        else:
            found += unwritable(path)
    return found


def _wanted(args: argparse.Namespace, screen: Screen, wrong: Findings) -> _Wanted:
    """Return what the options say, what is answered on a terminal, and defaults for the rest.

    Raises InputError for options that are wrong, and where there is no default.
    """
    wanted = _Wanted()
    hosts = partial(_number, "--hosts", 0, _MOST_HOSTS)
    found = Findings()
    for given, read in ((args.family, _family), (args.model, _model), (args.hosts, hosts), (args.network, _network)):
        if given is not None:
            found.of(partial(read, str(given)))
    asks = not wrong.findings and not found.findings and screen.can_ask()
    found = Findings()

    def take(key: str, option: str, given: object, question: str, default: str, read: Callable[[str], Any]) -> None:
        value = found.of(lambda: _value(screen if asks else None, option, given, question, default, read))
        if asks:
            found.end()  # nobody is asked on where no answer came
        if value is not None:
            setattr(wanted, key, value)
            if given is None and not asks:
                words, said_by = _ASSUMED[key]
                wanted.assumed[words.format(default)] = said_by

    cabling = f"Cabling ({', '.join(_families())})"
    if args.family is None and args.switches is not None and args.dims is None:
        wanted.family, wanted.assumed[f"a {FAMILY}"] = FAMILY, "--family"
    else:
        take("family", "--family", args.family, cabling, "" if args.dims else FAMILY, _family)
    if args.switches is not None and (args.dims or wanted.family not in _OF_ONE_SIZE):
        sizes = f"--dims {_families()[wanted.family].dims}" if wanted.family else "--dims"
        found.findings.append(Finding("--switches", f"{sizes} instead", str(args.switches)))
    elif wanted.family:
        take("dims", "--dims", *_size_question(args, wanted.family), partial(_dims, wanted.family))
    take("model", "--model", args.model, "Model of the switches", DEFAULT_MODEL, _model)
    take("hosts", "--hosts", args.hosts, "Hosts on each switch", "1", hosts)
    take("network", "--network", args.network, "Management network", NETWORK, _network)
    found.end()
    return wanted


def _value(
    screen: Screen | None, option: str, given: object, question: str, default: str, read: Callable[[str], Any]
) -> Any:
    """Return what an option says, else the answer of a `screen` (asked again while it is wrong), else the default.

    Raises InputError, also where nothing is answered, and where there is no default.
    """
    if given is not None:
        return read(str(given))
    while screen is not None:
        answer = screen.ask(f"{question}{f' [{default}]' if default else ''}:")
        if answer is None:  # Ctrl-D, or the terminal is closed
            raise InputError([Finding(option, question[0].lower() + question[1:], "no answer")])
        try:
            return read(answer or default)
        except InputError as error:
            screen.remark(*map(str, error.findings))
    if not default:
        raise InputError([Finding(option, question[0].lower() + question[1:], "none")])
    return read(default)


def _families() -> Mapping[str, Any]:
    from tagloom.read import FAMILIES

    return FAMILIES


def _family(text: str) -> str:
    from tagloom.read.families import family_named

    family = family_named(text)
    if family not in _families():
        raise InputError([Finding("--family", one_of(_families(), text), repr(text))])
    return family


def _size_question(args: argparse.Namespace, family: str) -> tuple[str | None, str, str]:
    """Return the family's sizes as given (None: not), the question for them, and the default, "" for none."""
    if args.dims is not None:
        return " ".join(map(str, args.dims)), "", ""
    if family in _OF_ONE_SIZE:
        return (None if args.switches is None else str(args.switches)), "Number of switches", str(SWITCHES)
    return None, f"Sizes of the {family} ({_families()[family].dims})", ""


def _dims(family: str, text: str) -> tuple[int, ...]:
    from tagloom.read import families

    words = re.split(r"[\sx,]+", text.strip())
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise InputError([Finding("--dims", f"{families.FAMILIES[family].dims}, whole numbers", repr(text))])
    dims = tuple(map(int, words))
    if found := list(families.check(family, dims)):
        raise InputError(Finding("--dims", each.expected, each.actual) for each in found)
    return dims


def _model(text: str) -> str:
    from tagloom import platforms
    from tagloom.platforms.detect import model_named
    from tagloom.read.fabric_form import one_model

    model = model_named(text)
    if not platforms.is_model(model):
        raise InputError([Finding("--model", one_model(text), repr(text))])
    return model


def _number(option: str, least: int, most: int, text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not least <= int(text) <= most:
        raise InputError([Finding(option, f"a whole number from {least} to {most}", repr(text))])
    return int(text)


def _network(text: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise InputError([Finding("--network", "ADDRESS/BITS of IPv4", f"{text} ({error})")]) from None
    if network.is_multicast or network.is_reserved or network.network_address.is_unspecified:
        raise InputError([Finding("--network", "a network that devices may have addresses of", text)])
    return network


def _fabric(args: argparse.Namespace, wanted: _Wanted) -> Fabric:
    """Return the family's fabric, with an address of the network for each switch. Raises InputError."""
    from tagloom.read import format_family
    from tagloom.read.fabric_file import parse_fabric

    name = args.name or re.sub(r"[^A-Za-z0-9._-]+", "-", args.directory.resolve().name).strip("-._")[:63] or "fabric"
    try:
        size = args.parallel, wanted.hosts, wanted.model
        fabric = parse_fabric(format_family(name, wanted.family, wanted.dims, *size), "init")
    except InputError as error:
        raise InputError(_by_option(each) for each in error.findings) from None
    addresses = _addresses(wanted.network, len(fabric.switches))
    switches = tuple(replace(s, address=each) for s, each in zip(fabric.switches, addresses, strict=True))
    return replace(fabric, switches=switches)


def _by_option(finding: Finding) -> Finding:
    """Return a finding about a key of the fabric file as one about the option that the key comes from."""
    key = finding.where.rpartition("  ")[2]
    return Finding(_OPTIONS.get(key, key), finding.expected, finding.actual)


def _addresses(network: ipaddress.IPv4Network, count: int) -> list[str]:
    """Return so many addresses in a row: from the tenth on, or from the first where there is no room above.

    Raises InputError if the network has fewer.
    """
    first, last = int(network.network_address), int(network.broadcast_address)
    if network.prefixlen < 31:  # RFC 3021
        first, last = first + 1, last - 1
    start = int(network.network_address) + _FIRST
    start = start if start + count - 1 <= last else first
    if start + count - 1 > last:
        rule = f"a network with {count} addresses for switches"
        raise InputError([Finding("--network", rule, f"{network}, which has {last - first + 1}")])
    return [str(ipaddress.IPv4Address(start + n)) for n in range(count)]


PATHS = {
    "playbooks": ("playbooks", "apply.yml, read.yml, run.yml, static-arp.yml"),
    "roles": ("roles", "tagloom_apply, tagloom_read, tagloom_run, tagloom_static_arp"),
    "inventory": ("playbooks/inventory_plugins", "Ansible's inventory plugin `tagloom`"),
    "templates": ("templates", "the lines of each switch family"),
    "docs": ("docs", "the pages that tagloom docs shows"),
}


def _paths_of(share: Path) -> dict[str, str]:
    """Return where each kind of file is, and the programs that belong to this installation."""
    found = {name: str(share / place) for name, (place, _) in PATHS.items()}
    beside = Path(sys.executable).parent / "ansible-playbook"
    programs = {"python": sys.executable} | ({"ansible-playbook": str(beside)} if beside.is_file() else {})
    return found | programs


def _show_paths(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.read.project import ansible_settings

    share = share_directory()
    found = _paths_of(share)
    if args.name is not None and args.ansible_cfg:
        raise InputError([Finding("paths", "NAME or --ansible-cfg", f"{args.name} and --ansible-cfg")])
    if args.name is not None and args.name not in found:
        raise InputError([Finding("NAME", one_of(found, args.name), repr(args.name))])
    settings = ansible_settings(share)
    if args.ansible_cfg:
        screen.say(settings.rstrip())
    elif args.name is not None:
        screen.say(found[args.name])
    else:
        screen.say(*(f"{name:<17} {path}" for name, path in found.items()))
        screen.say(
            "next              tagloom paths --ansible-cfg > ansible.cfg",
            "                  ansible-playbook -i inventory/tagloom.yml $(tagloom paths playbooks)/read.yml",
        )
    screen.answer({"paths": found, "ansible_cfg": settings})
    return GOOD


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    init = commands.add(
        "init",
        _init,
        "write a new project: fabric file, inventory and cabling table; asks on a terminal for what no option says",
    )
    init.add_argument("directory", type=Path, metavar="DIR", help="directory to write; nothing there is overwritten")
    init.add_argument(
        "--family",
        metavar="FAMILY",
        help=f"mesh, torus, hypercube, ring, fat-tree, clos, complete, tree or dragonfly (default {FAMILY})",
    )
    init.add_argument("--dims", type=int, nargs="+", metavar="N", help="the family's sizes, such as 4 4")
    init.add_argument("--switches", type=int, metavar="N", help="so many switches in a ring (default 4)")
    init.add_argument("--parallel", type=int, default=1, metavar="N", help="links between neighbours (default 1)")
    init.add_argument("--model", metavar="M", help=f"switch model (default {DEFAULT_MODEL})")
    init.add_argument(
        "--hosts", type=int, metavar="N", help="hosts on each switch, in a fat tree on each leaf (default 1)"
    )
    init.add_argument(
        "--network", metavar="NET", help=f"management network, whose addresses the switches get (default {NETWORK})"
    )
    init.add_argument("--name", metavar="NAME", help="name of the fabric (default: that of DIR)")
    init.add_argument(
        "--force", action="store_true", help="replace the files that init writes, all but the vault; touch no others"
    )

    paths = commands.add("paths", _show_paths, "show where playbooks, roles, inventory plugin and templates are")
    words = "; ".join(f"{name}: {about}" for name, (_, about) in PATHS.items())
    paths.add_argument(
        "name", nargs="?", metavar="NAME", help=f"show only this path: {words}; python; ansible-playbook"
    )
    paths.add_argument(
        "--ansible-cfg", action="store_true", help="print an ansible.cfg by which plain Ansible finds roles and plugin"
    )
