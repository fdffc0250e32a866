"""Keep a rack's directory: the order it was started with, where it runs, and an inventory that works out of the box."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.lab.device import Device, Quirks
from tagloom.lab.kernel import choice
from tagloom.read import format_fabric
from tagloom.records.fabric import Fabric, Host, Link, Management, Shape, Switch
from tagloom.storage.document import read_json
from tagloom.storage.outputs import check_outputs, record_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKET_FOLDER = "tagloom-"  # how the name of the temporary folder begins that a control socket is in
INVENTORY = ("fabric.yml", "tagloom.yml", "group_vars/all.yml", "snmp.yml")
LOOPBACK = "127.0.0.1"
ORDER, DRAFT = "fabric.json", "fabric.json.new"
USER = PASSWORD = "lab"  # noqa: S105 - public: the rack listens on loopback alone and guards nothing
SNMP = {  # as public
    "version": "3",
    "user": USER,
    "auth_password": "lab-auth-password",
    "priv_password": "lab-priv-password",
    "community": "lab",
}

# What a fabric says of the whole network, as words and as tuples of tuples: the rack's inventory says it too.
_WORDS = ("flow_control", "eee", "returned_ports", "spanning_tree")
_TUPLES = ("reserved", "renamed", "routings", "tags")


@dataclass(frozen=True, slots=True)
class Order:
    """What rack to run; `quirks` is by switch name, "*" for all; `base_port` 0 lets the system choose ports.

    `legacy_ssh` lets the switches speak only what a PowerConnect of its time does. `dataplane` says what carries
    frames: the rack itself, one by one ("frames"), or the bridges of a real Linux ("kernel"). Raises InputError for a
    model that no console can play, for quirks or switches that do not exist, and where no kernel can carry frames.
    """

    fabric: Fabric
    templates: Path
    quirks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    base_port: int = 0
    legacy_ssh: bool = False
    dataplane: str = "frames"

    def __post_init__(self) -> None:
        findings = [
            Finding(f"switches.{s.name}.model", "a model with a command line to play", s.model)
            for s in self.fabric.switches
            if not platforms.load(s.model).grammar
        ]
        for name, values in self.quirks.items():
            if name != "*" and name not in self.fabric.index:
                findings.append(Finding(f"quirks.{name}", 'a switch of the fabric, or "*"', repr(name)))
            try:
                Quirks.of(values, f"quirks.{name}")
            except InputError as error:
                findings.extend(error.findings)
        if self.dataplane == "kernel":
            findings.extend(choice.obstacles())
        if findings:
            raise InputError(findings)


@dataclass(frozen=True, slots=True)
class RackInfo:
    """Where a rack runs: its process, its control socket, the SSH port of each switch, and the SNMP agents.

    Every agent has a loopback address of its own and all have one UDP port, as real switches have theirs and 161.
    """

    directory: Path
    pid: int
    socket: str
    ports: dict[str, int]
    agents: dict[str, str] = field(default_factory=dict)
    snmp_port: int = 0


def write_order(directory: Path, order: Order, name: str = ORDER) -> None:
    """Leave the order in DIRECTORY for the process that is about to start, or as `name` for the one that runs."""
    fabric = order.fabric
    plain = {
        "fabric": {
            "name": fabric.name,
            "first_vlan": fabric.first_vlan,
            "shape": asdict(fabric.shape) if fabric.shape else None,
            "switches": [asdict(replace(switch, templates=())) for switch in fabric.switches],
            "hosts": [asdict(host) for host in fabric.hosts],
            "links": [asdict(link) for link in fabric.links],
            "ports": fabric.ports,
            "management": asdict(fabric.management) if fabric.management else None,
            **{name: getattr(fabric, name) for name in (*_WORDS, *_TUPLES)},
        },
        "templates": str(order.templates.absolute()),
        "own_templates": fabric.templates,
        "quirks": {name: dict(values) for name, values in order.quirks.items()},
        "base_port": order.base_port,
        "legacy_ssh": order.legacy_ssh,
        "dataplane": order.dataplane,
    }
    (directory / name).write_text(json.dumps(plain) + "\n", "utf-8")


def host_of(said: Mapping[str, Any]) -> Host:
    """Return a host from its fields as JSON holds them."""
    return Host(**{**said, "also": tuple(said["also"]), "prefixes": tuple(said["prefixes"])})


def read_order(directory: Path, name: str = ORDER) -> Order:
    """Read the order back."""
    plain = json.loads((directory / name).read_text("utf-8"))
    raw = plain["fabric"]
    shape, own, managed = raw["shape"], tuple(map(tuple, plain["own_templates"])), raw["management"]
    fabric = Fabric(
        name=raw["name"],
        switches=tuple(
            Switch(**{**s, "at": tuple(s["at"]), "firmware": tuple(map(tuple, s["firmware"])), "templates": own})
            for s in raw["switches"]
        ),
        hosts=tuple(map(host_of, raw["hosts"])),
        links=tuple(
            Link(**{**link, "members": tuple(map(tuple, link["members"])), "barred": tuple(link["barred"])})
            for link in raw["links"]
        ),
        ports=tuple(raw["ports"]),
        shape=Shape(**{**shape, "dims": tuple(shape["dims"])}) if shape else None,
        first_vlan=raw["first_vlan"],
        management=Management(**{**managed, "links": tuple(managed["links"])}) if managed else None,
    )
    more: dict[str, Any] = {name: raw[name] for name in _WORDS}
    more |= {name: tuple(map(tuple, raw[name])) for name in _TUPLES}
    fabric = replace(fabric, **more)
    ways = plain["quirks"], plain["base_port"], plain["legacy_ssh"], plain["dataplane"]
    return Order(fabric, Path(plain["templates"]), *ways)


def write_info(info: RackInfo) -> None:
    """Announce a running rack in DIRECTORY/rack.json, whole or not at all."""
    plain = {each.name: getattr(info, each.name) for each in fields(info) if each.name != "directory"}
    draft = info.directory / "rack.json.new"
    draft.write_text(json.dumps(plain, indent=1) + "\n", "utf-8")
    draft.replace(info.directory / "rack.json")


def check_inventory(directory: Path, *, force: bool) -> None:
    """Raise InputError where `write_inventory` would overwrite files of another inventory.

    In the directory of a rack that ran before, host keys may have changed: tagloom itself adds to them.
    """
    more = () if is_order(directory / "fabric.json") else ("fabric.json", "known_hosts")
    check_outputs(*(directory / name for name in (*INVENTORY, *more)), force=force)


def is_order(path: Path) -> bool:
    """Return whether a file is an order that `write_order` wrote."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        document = json.loads(path.read_text("utf-8"))
        return isinstance(document, dict) and {"fabric", "templates", "quirks"} <= document.keys()
    return False


def read_info(directory: Path) -> RackInfo:
    """Read where the rack of a directory runs. Raises InputError where none was started."""
    page = directory / "rack.json"
    try:
        if not page.exists():
            raise InputError([Finding(str(page), "a running rack", "none was started here")])
        plain = read_json(page, "what `lab up` wrote")
        where = int(plain["pid"]), str(plain["socket"]), dict(plain["ports"])
        return RackInfo(directory, *where, dict(plain.get("agents", {})), int(plain.get("snmp_port", 0)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError([Finding(str(page), "what `lab up` wrote", repr(error))]) from None


def write_inventory(
    directory: Path,
    fabric: Fabric,
    addresses: Mapping[str, str],
    known_hosts: str,
    agents: Mapping[str, str],
    snmp_port: int,
) -> None:
    """Write fabric.yml, tagloom.yml, group_vars/all.yml, snmp.yml and known_hosts: the directory is an inventory."""
    (directory / "group_vars").mkdir(exist_ok=True)
    pages = inventory_pages(fabric, addresses, agents, snmp_port)
    for name, text in pages.items():
        (directory / name).write_text(text, "utf-8")
    (directory / "known_hosts").write_text(known_hosts, "utf-8")
    record_outputs(*(directory / name for name in pages))


def growing_files(old: Fabric, new: Fabric) -> tuple[str, ...]:
    """Return the files of an inventory that say something else once its fabric has grown."""
    shells = [any(platforms.load(switch.model).is_shell for switch in each.switches) for each in (old, new)]
    return ("fabric.yml", "snmp.yml", *(("group_vars/all.yml",) if shells[0] != shells[1] else ()))


def add_to_inventory(info: RackInfo, old: Fabric, new: Fabric, known_hosts: str) -> None:
    """Write the files of a rack's inventory that say something else now, and the host keys of the new switches."""
    addresses = {name: f"{LOOPBACK}:{port}" for name, port in info.ports.items()}
    pages, names = inventory_pages(new, addresses, info.agents, info.snmp_port), growing_files(old, new)
    for name in names:
        (info.directory / name).write_text(pages[name], "utf-8")
    with (info.directory / "known_hosts").open("a", encoding="utf-8") as kept:
        kept.write(known_hosts)
    record_outputs(*(info.directory / name for name in names))


def inventory_pages(
    fabric: Fabric, addresses: Mapping[str, str], agents: Mapping[str, str], snmp_port: int
) -> dict[str, str]:
    """Return the texts of an inventory's files but known_hosts, by their names."""
    switches = tuple(replace(s, address=addresses.get(s.name, s.address)) for s in fabric.switches)
    variables = {
        "ansible_user": USER,
        "ansible_password": PASSWORD,
        "tagloom_fast_cli": True,
        "tagloom_out_of_band": True,  # a console on loopback, whatever the switch forwards
    }
    if any(platforms.load(switch.model).is_shell for switch in fabric.switches):
        variables["tagloom_save_to"] = Device.BOOT
    return {
        "fabric.yml": format_fabric(replace(fabric, switches=switches)),
        "tagloom.yml": _yaml({"plugin": "tagloom", "fabric": "fabric.yml"}),
        "group_vars/all.yml": _yaml(variables),
        "snmp.yml": _yaml({**SNMP, "port": snmp_port, "addresses": dict(agents)}),
    }


def _yaml(page: dict[str, Any]) -> str:
    return yaml.safe_dump(page, sort_keys=False, default_flow_style=None, width=120)
