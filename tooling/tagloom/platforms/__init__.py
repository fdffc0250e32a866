"""Know what each switch family is and can do, from the YAML files beside this one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from tagloom.platforms.family import Firmware, family, variables
from tagloom.platforms.layouts import PortNames, described_as, is_port_of, mbps_of_ports, names_of_ports
from tagloom.platforms.own_port_names import own_port_names
from tagloom.platforms.sources import sources_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tagloom.platforms.sources import Source
    from tagloom.platforms.words import Templates
    from tagloom.records.fabric import Switch


_BEST_MBPS = {  # by the kind of a port, as its name says it
    **dict.fromkeys(("g", "gi", "ge", "ether", "sfp"), 1_000),
    **dict.fromkeys(("xg", "te", "xge", "sfp-sfpplus"), 10_000),
    **dict.fromkeys(("fo", "fge"), 40_000),
}


@dataclass(frozen=True)
class PortWatts:
    """A model's power: the chassis without ports, and one port by speed in Mb/s, in watts; `source` cites it.

    `transceiver_watts` is what the module in a port draws whether the port is up or shut. `like` is the measured model
    whose watts stand in for those of one that nobody has measured.
    """

    base_watts: float
    per_port: dict[int, float]
    source: str
    transceiver_watts: float = 0.0
    like: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """One of the layouts of a page whose models have different ports: how a switch that has it is known."""

    sys_object_id: tuple[str, ...] = ()
    calls_itself: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Layout:
        """Return the layout of a page."""
        return cls(tuple(raw.get("sys_object_id", ())), tuple(raw.get("calls_itself", ())))


@dataclass(frozen=True, eq=False)
class Platform:
    """What tagloom must know of a model; everything firmware may differ in is data here.

    `grammar` names the command line family (a file in `grammars/`), "" where tagloom cannot write one; `firmware` says
    what of it this switch's firmware has otherwise than by default. Ports are numbered from 1: the `physical_ports`
    first, then the port-channels, whose names are the last of `port_names`. `further_names` are those of ports that
    other machines of the model have, numbered behind them: of `further_channels` port-channels first, then of units of
    a stack, modules and `layouts`.
    `port_mbps` are the best speeds of the physical ports, 0 where the page leaves them to the machine.
    `sys_object_id` lists the SNMP object ids the model answers with, `calls_itself` regular expressions of what it
    says of itself in `show system`, `show version` and sysDescr.
    `group_entries` says whether a static entry for the broadcast address narrows a VLAN's flood: proven (seen on a
    real switch), unproven or none. `pvid_is_membership` says that an untagged frame is taken where the port is in its
    PVID's VLAN: a port without such a PVID drops it, and there is no other way to choose between frames.
    `floods_by_port` says that single ports can be told to flood nothing and to learn nothing. `sources` says of every
    number what it is and where it is from.
    """

    model: str
    title: str
    grammar: str
    netmiko_driver: str
    port_names: tuple[str, ...]
    max_vlans: int
    max_vlan_id: int
    mac_table: int
    eee: bool
    watts: PortWatts | None
    group_entries: str = "unproven"
    pvid_is_membership: bool = False
    floods_by_port: bool = False
    physical_ports: int = 0
    port_mbps: tuple[int, ...] = ()
    sys_object_id: tuple[str, ...] = ()
    calls_itself: tuple[str, ...] = ()
    toggle_seconds: dict[str, float] = field(default_factory=dict)
    latency_seconds: float | None = None  # what the switch adds to a short message, where somebody measured it
    sources: dict[str, Source] = field(default_factory=dict)
    firmware: Firmware = ()
    templates: Templates = ()  # the operator's own, which go before tagloom's
    further_names: tuple[str, ...] = ()
    further_channels: int = 0
    layouts: dict[str, Layout] = field(default_factory=dict)

    @property
    def ports(self) -> int:
        """Count the ports, port-channels among them."""
        return len(self.port_names)

    @property
    def command_line(self) -> str:
        """Return of what kind its command line is: modes, shell (of a Linux machine) or menus (of RouterOS)."""
        return str(family(self.grammar).get("command_line", "modes")) if self.grammar else "modes"

    @property
    def is_shell(self) -> bool:
        """Return whether its command line is a shell's."""
        return self.command_line == "shell"

    @property
    def has_modes(self) -> bool:
        """Return whether its command line is one of modes, if it has any: privileged exec, configuration, ports."""
        return self.command_line == "modes"

    @property
    def has_known_modes(self) -> bool:
        """Return whether its command line is one of modes, of which tagloom knows the lines."""
        return bool(self.grammar) and self.has_modes

    @property
    def why_no_reload(self) -> str:
        """Return why no reload from what is saved can be scheduled, "" where there are words for it."""
        if self.is_shell:
            return "a reboot would end all that runs on the machine"
        if not self.has_modes:
            return "it boots with every line that it has taken"
        known = bool(self.grammar) and "scheduled_reload" in family(self.grammar, self.firmware)
        return "" if known else "no words for it are known of its family"

    @property
    def assignments(self) -> tuple[str, str]:
        """Return the only assignment that is known to work on it ("" = any), and why."""
        found = family(self.grammar).get("assignments", {}) if self.grammar else {}
        return (found["only"][0], found["why"]) if found else ("", "")

    @property
    def has_first_contact(self) -> bool:
        """Return whether it is known what the console of such a switch is typed when it leaves the factory."""
        return bool(self.grammar) and bool(family(self.grammar).get("first_contact", self.has_modes))

    @property
    def factory_login(self) -> tuple[str, str] | None:
        """Return the user and password that a switch has as it leaves the factory, None where it has none."""
        found = family(self.grammar).get("factory_login") if self.grammar else None
        return (found["user"], found["password"]) if found else None

    @property
    def ends_factory_login(self) -> str:
        """Return what to type so that the factory's user is let in no more."""
        return str(family(self.grammar)["factory_login"]["ends"])

    @property
    def resets(self) -> str:
        """Return what to type at its console so that it is as from its factory again."""
        return str((family(self.grammar) if self.grammar else {}).get("resets", "delete startup-config, then reload"))

    def is_of_factory(self, line: str) -> bool:
        """Return whether a box that nobody has configured shows this line, which sets nothing of tagloom's."""
        known = family(self.grammar).get("factory_lines", ()) if self.grammar else ()
        return any(re.fullmatch(each, line) for each in known)

    @property
    def eee_at_factory(self) -> bool:
        """Return whether ports sleep by IEEE 802.3az before anybody says so."""
        return self.eee and bool(self.grammar) and bool(family(self.grammar, self.firmware).get("eee_at_factory"))

    @property
    def longest_aging_seconds(self) -> int:
        """Return how long its learned addresses may last at most, 0 where that is not known of its family."""
        return int(family(self.grammar).get("longest_aging_seconds") or 0) if self.grammar else 0

    @property
    def discard_pvid(self) -> int:
        """Return the PVID by which its ports drop untagged frames, on its command line and over SNMP."""
        return int(family(self.grammar).get("discard_pvid", 4095)) if self.grammar else 4095

    @property
    def drops_strange_senders(self) -> bool:
        """Return whether it drops frames whose sender is pinned at another port than they come in by."""
        return bool(self.grammar) and bool(family(self.grammar, self.firmware).get("drops_strange_senders"))

    @property
    def hosts_on_access(self) -> bool:
        """Return whether a port of a host that carries one VLAN is an access port, and no general one."""
        return bool(self.grammar) and bool(family(self.grammar).get("hosts_on_access"))

    @property
    def bounces(self) -> frozenset[str]:
        """Return the cells, by their names, a line on which may take its link down for a moment."""
        return frozenset(family(self.grammar, self.firmware)["bounces"] if self.grammar else ())

    @property
    def drops_bpdus(self) -> bool:
        """Return whether the switch drops BPDUs while its spanning tree is off, or can be told to."""
        data = family(self.grammar, self.firmware) if self.grammar else {}
        return data.get("bpdus_while_off") == "filtered" or self.tells_bpdus

    @property
    def refuses_tagged(self) -> bool:
        """Return whether there is a line that makes a port refuse tagged frames, as ports of hosts should."""
        return bool(self.grammar) and "frames_untagged" in family(self.grammar, self.firmware).get("lines", {})

    @property
    def tells_bpdus(self) -> bool:
        """Return whether there is a line that makes the switch drop BPDUs while its spanning tree is off."""
        return bool(self.grammar) and "bpdu_filter_on" in family(self.grammar, self.firmware).get("lines", {})

    @property
    def spans_by_port(self) -> bool:
        """Return whether there is a line that takes one port out of the spanning tree, and BPDUs are dropped there."""
        data = family(self.grammar, self.firmware) if self.grammar else {}
        return "port_spanning_tree_off" in data.get("lines", {}) and self.drops_bpdus

    def at_once(self, line: str) -> bool:
        """Return whether a line of the grammar, by its key, sets all ports at once and not one."""
        lines = family(self.grammar, self.firmware).get("lines", {}) if self.grammar else {}
        return line in lines and lines[line].get("in") == "config"

    @cached_property
    def _port_numbers(self) -> dict[str, int]:
        return {name.lower(): number for number, name in enumerate(self.port_names, start=1)}

    @cached_property
    def further_by_name(self) -> dict[str, str]:
        """Map names of ports that only other machines of the model have, in small letters, to themselves."""
        return {name.lower(): name for name in self.further_names}

    def port_number(self, text: str) -> int | None:
        """Read a port in the model's own words, or a bare gN taken everywhere; None where there is no such port.

        >>> load("powerconnect-6248").port_number("1/g5"), load("powerconnect-6248").port_number("g5")
        (5, 5)
        """
        word = text.strip().lower()
        number = self._port_numbers.get(word)
        if number is None and (bare := re.fullmatch(r"g(\d{1,4})", word)) and 1 <= int(bare[1]) <= self.physical_ports:
            number = int(bare[1])
        return number

    def port_name(self, number: int) -> str:
        """Write a port number (from 1) in the model's own words."""
        further = number - 1 - len(self.port_names)
        return self.port_names[number - 1] if further < 0 else self.further_names[further]


@cache
def models() -> tuple[str, ...]:
    """List the models there are, sorted."""
    folder = files("tagloom.platforms")
    return tuple(sorted(f.name.removesuffix(".yml") for f in folder.iterdir() if f.name.endswith(".yml")))


def page_of(model: str) -> str:
    """Return the name of a model's page: what stands before the names that its ports have on one machine.

    >>> page_of("linux-bridge:lan1-4,wan"), page_of("powerconnect-5324")
    ('linux-bridge', 'powerconnect-5324')
    """
    return model.partition(":")[0]


def group_of(model: str) -> str:
    """Return the name of the inventory's group of a model.

    >>> group_of("powerconnect-5324")
    'powerconnect_5324'
    """
    return page_of(model).replace("-", "_")


@cache
def is_model(model: str) -> bool:
    """Return whether there is such a model: a page, and where its ports may be named, names behind it."""
    try:
        load(model)
    except KeyError:
        return False
    return True


def of(switch: Switch) -> Platform:
    """Return the platform of a switch of a fabric."""
    return load(switch.model, switch.firmware, switch.templates)


def firmware_choices(model: str) -> dict[str, tuple[str, ...]]:
    """List what the firmware of a model may differ in: variable -> choices, the default first."""
    return variables(load(model).grammar)


def said_of(key: str, models: Iterable[str]) -> str:
    """Return what a number of some models is and where it is from, each source once.

    >>> said_of("toggle_seconds", ["powerconnect-5324", "powerconnect-5548"])
    'at least: Koibuchi et al. 2011, table 6; not known of powerconnect-5548'
    """
    known = {model: load(model).sources.get(key) for model in sorted(models)}
    lines = [f"{source.kind}: {source.text}" for source in known.values() if source is not None]
    unknown = [model for model, source in known.items() if source is None]
    return "; ".join(dict.fromkeys([*lines, *([f"not known of {', '.join(unknown)}"] if unknown else [])]))


def _watts(raw: Mapping[str, Any], source: Source, units: int) -> PortWatts:
    """Return the power of a model, of a stack its units' together."""
    if like := str(raw.get("like", "")):
        measured = load(like).watts
        assert measured is not None  # noqa: S101 - a test reads all pages
        base = units * measured.base_watts
        return replace(measured, base_watts=base, source=f"{source.kind}: {source.text}", like=like)
    return PortWatts(units * raw["base"], dict(raw["per_port"]), source.text)


@cache
def load(model: str, firmware: Firmware = (), templates: Templates = ()) -> Platform:
    """Read a model's page. Raises KeyError where there is none, or no such variable or choice of firmware.

    ``linux-bridge:lan1-4,wan`` is the model whose ports have these names, where the page leaves that to the machine;
    of others `layouts` says what may stand behind the colon.
    """
    page, named, own = model.partition(":")
    if page not in models():
        raise KeyError(model)
    raw = _page(page)
    names = _port_names(raw, own if named else None)
    watts, grammar, sources = raw.get("watts"), raw.get("grammar", ""), sources_of(raw)
    if grammar:
        family(grammar, firmware)
    return Platform(
        model=model,
        title=raw["title"],
        grammar=grammar,
        netmiko_driver=raw.get("netmiko_driver", ""),
        port_names=(*names.physical, *names.channels),
        max_vlans=raw["limits"]["vlans"],
        max_vlan_id=raw["limits"]["vlan_id"],
        mac_table=raw["limits"]["mac_table"],
        eee=raw["eee"],
        watts=_watts(watts, sources["watts"], names.units) if watts else None,
        group_entries=raw["group_entries"],
        pvid_is_membership=raw.get("pvid_is_membership", False),
        floods_by_port=raw.get("floods_by_port", False),
        physical_ports=len(names.physical),
        port_mbps=_port_mbps(raw, names.physical),
        sys_object_id=tuple(raw.get("sys_object_id", ())),
        calls_itself=tuple(raw.get("calls_itself", ())),
        toggle_seconds=raw.get("toggle_seconds", {}),
        latency_seconds=raw.get("latency_seconds"),
        sources=sources,
        firmware=firmware,
        templates=templates,
        further_names=(*names.further_channels, *names.further),
        further_channels=len(names.further_channels),
        layouts={name: Layout.of(layout) for name, layout in raw.get("layouts", {}).items()},
    )


@cache
def of_all_ports(platform: Platform) -> Platform:
    """Return the platform of a machine that has every port known of the model: what texts name can be read by it."""
    own, channels = platform.port_names[: platform.physical_ports], platform.port_names[platform.physical_ports :]
    more = platform.further_channels
    physical = (*own, *platform.further_names[more:])
    names = (*physical, *channels, *platform.further_names[:more])
    mbps = _port_mbps(_page(page_of(platform.model)), physical)
    return replace(
        platform,
        port_names=names,
        physical_ports=len(physical),
        port_mbps=mbps,
        further_names=(),
        further_channels=0,
    )


def is_spelt_as_a_port(model: str, name: str) -> bool:
    """Return whether a name is spelt as ports of the model's family are, whether its page lists that port or not."""
    return is_port_of(_page(page_of(model)), name)


def with_ports(model: str, names: Collection[str]) -> str:
    """Return how to write a model whose switch has these ports, in the model's own words.

    >>> with_ports("powerconnect-5548", ["gi1/0/1", "gi2/0/1"])
    'powerconnect-5548:units=2'
    """
    page = page_of(model)
    if set(names) <= set(load(model).port_names) or _page(page).get("ports_are_named_by_the_machine"):
        return model
    described = described_as(_page(page), names)
    return f"{page}:{described}" if described else page


@cache
def _page(page: str) -> dict[str, Any]:
    text = (files("tagloom.platforms") / f"{page}.yml").read_text("utf-8")
    found: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def _port_names(raw: Mapping[str, Any], named: str | None) -> PortNames:
    """Return the ports' names: the machine's own where they are given, else the page's. Raises KeyError."""
    try:
        if named is not None and raw.get("ports_are_named_by_the_machine"):
            return PortNames(own_port_names(named), ())
        return names_of_ports(raw, named)
    except ValueError as error:
        raise KeyError(str(error)) from None


def _port_mbps(raw: Mapping[str, Any], names: Sequence[str]) -> tuple[int, ...]:
    """Return the best speeds of physical ports: what the page gives, else what the kind in a port's name is."""
    if raw.get("ports_are_named_by_the_machine"):
        return (0,) * len(names)
    given = mbps_of_ports(raw)
    return tuple(given.get(name, 0) or _BEST_MBPS.get(_kind_of_port(name), 0) for name in names)


def _kind_of_port(name: str) -> str:
    """Return the letters that say of what kind a port is: those before its numbers, or behind its unit.

    >>> [_kind_of_port(name) for name in ("g1", "1/xg2", "XGE1/0/25", "sfp-sfpplus1")]
    ['g', 'xg', 'xge', 'sfp-sfpplus']
    """
    return re.sub(r"^[\d/]+", "", name).rstrip("0123456789/").lower()
