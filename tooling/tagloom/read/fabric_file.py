"""Read the fabric file, with every error of it found at once and said by line."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import yaml
from pydantic import ValidationError

from tagloom import platforms
from tagloom.errors import Finding, InputError, one_of
from tagloom.platforms.layouts import RULE as LAYOUTS
from tagloom.platforms.own_port_names import RULE
from tagloom.platforms.port_names import too_fast
from tagloom.platforms.spanning import without_port_spanning_tree
from tagloom.platforms.words import read_templates
from tagloom.read import families
from tagloom.read.fabric_form import (
    FabricForm,
    HostForm,
    LinkForm,
    ManagementForm,
    NetworkForm,
    ShapeForm,
    SwitchForm,
    expected_key,
    nearest_name,
    one_model,
    plain_words,
)
from tagloom.records.fabric import DEFAULT_NETWORK, FIRST_INVENTED_MAC, Fabric, Host, Link, Management, Shape, Switch
from tagloom.storage.document import YAML_BYTES, Keys, dotted, keys_twice, parse_yaml, shown
from tagloom.storage.text import read_text
from tagloom.units import device_at, format_mac, parse_mac, parse_mac_prefix, split_address

if TYPE_CHECKING:
    from pathlib import Path

RACK_CHARACTERS = 64  # of what a rack is called
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")


@dataclass(frozen=True, slots=True)
class _Cable:
    """A link while it is read: its ends as (switch, ports), several ports where it is aggregated.

    `lag` names the port-channels at the two ends, 0 for the lowest that is free.
    """

    a: str
    a_ports: tuple[int, ...]
    b: str
    b_ports: tuple[int, ...]
    speed_mbps: int = 0
    up: bool = True
    lag: tuple[int, int] | None = None
    dead: bool = False

    @property
    def key(self) -> frozenset[tuple[str, tuple[int, ...]]]:
        """Return what tells links apart: the ports they take."""
        return frozenset(((self.a, self.a_ports), (self.b, self.b_ports)))


@dataclass(slots=True)
class _Draft:
    """Gather a fabric while it is read: by name until the end, so that parts can override the family."""

    switches: dict[str, Switch] = field(default_factory=dict)
    # name -> switch, port, MAC addresses, whether it is an uplink, prefixes of addresses that come and go
    hosts: dict[str, tuple[str, int, tuple[int, ...], bool, tuple[str, ...]]] = field(default_factory=dict)
    links: list[_Cable] = field(default_factory=list)
    link_forms: list[str] = field(default_factory=list)  # how each link is named in a finding
    reserved: dict[str, set[int]] = field(default_factory=dict)  # switch -> ports that nothing of the fabric may take
    networks: dict[str, str] = field(default_factory=dict)  # host -> the network that names it
    former_networks: dict[str, str] = field(default_factory=dict)


def read_fabric(path: Path, templates: Path | None = None) -> Fabric:
    """Read a fabric file, and the operator's own `templates`, by default those of a directory of that name beside it.

    Raises InputError with all findings, each led by ``file:line``.
    """
    inside = ""
    with contextlib.suppress(OSError):  # such as of a name that is too long, which reading tells of
        inside = f" ({path / 'fabric.yml'} is one)" if (path / "fabric.yml").is_file() else ""
    fabric = parse_fabric(read_text(path, f"a readable fabric file{inside}", YAML_BYTES), str(path))
    return fabric.with_templates(
        read_templates(templates or path.parent / "templates", requested=templates is not None)
    )


def parse_fabric(text: str, source: str) -> Fabric:
    """Read a fabric from the text of its file; `source` names it in findings. Raises InputError."""
    document = parse_yaml(text, source)
    root, raw = document.node, document.value
    if not isinstance(raw, dict):
        raise InputError([Finding(source, "a mapping with name, model, shape, switches, hosts, links", shown(raw))])
    reader = _Reader(source, _lines(root))
    reader.find_keys_twice(root)
    form = reader.form(raw)
    if form is None:
        raise InputError(reader.findings)
    fabric = reader.fabric(form)
    if reader.findings or fabric is None:
        raise InputError(reader.findings)
    return fabric


class _Reader:
    """Turn one fabric file into a Fabric, gathering findings on the way."""

    def __init__(self, source: str, lines: dict[Keys, int]) -> None:
        self.source, self.lines = source, lines
        self._unknown_models: set[str] = set()  # each is told once
        self._shape_unreadable = False
        self._found: list[tuple[int, Finding]] = []

    @property
    def findings(self) -> list[Finding]:
        """List what was found, in the order of the file's lines."""
        return [finding for _, finding in sorted(self._found, key=lambda each: each[0])]

    def find(self, path: Keys, expected: str, actual: str) -> None:
        """Note a finding at a path of the file, led by the line of the nearest part that exists."""
        line = next((self.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.lines), 1)
        self._found.append((line, Finding(f"{self.source}:{line}  {dotted(path) or 'fabric'}", expected, actual)))

    def find_keys_twice(self, node: yaml.Node | None) -> None:
        """Note the keys that stand twice in one mapping."""
        for path, line in keys_twice(node):
            self._found.append((line, Finding(f"{self.source}:{line}  {dotted(path)}", "each key once", "twice")))

    def form(self, raw: dict[str, Any]) -> FabricForm | None:
        """Check the file's form: keys, types, ranges."""
        if isinstance(raw.get("links"), list):  # a bare pair is a link with nothing else to say
            raw = {**raw, "links": [{"ends": item} if isinstance(item, list) else item for item in raw["links"]]}
        for key in ("flow_control", "eee", "spanning_tree"):  # YAML 1.1 reads a bare on or off as a boolean
            if isinstance(raw.get(key), bool):
                raw = {**raw, key: "on" if raw[key] else "off"}
        bare = set[str]()
        if isinstance(raw.get("networks"), dict):  # a bare list is a network that shares all with the others
            bare = {name for name, said in raw["networks"].items() if not isinstance(said, dict)}
            said = {name: {"hosts": each} if name in bare else each for name, each in raw["networks"].items()}
            raw = {**raw, "networks": said}
        for part in ("switches", "hosts", "links"):
            if part in raw and raw[part] is None:
                raw = {key: value for key, value in raw.items() if key != part}
        for _ in range(3):  # what cannot be read is noted and left out, so that the rest can be checked too
            try:
                return FabricForm.model_validate(raw)
            except ValidationError as error:
                for item in error.errors(include_url=False):
                    path = tuple(step for step in item["loc"] if step != "[key]")
                    expected, actual = plain_words(item["type"], item["msg"]), shown(item.get("input"))
                    unknown = item["type"] == "extra_forbidden"
                    if unknown:
                        expected, actual = expected_key(path), repr(path[-1])
                    in_bare = path[0] == "networks" and len(path) > 2 and path[1] in bare
                    self.find((*path[:2], *path[3:]) if in_bare else path, expected, actual)
                    shapeless = path[0] == "shape" and not unknown
                    self._shape_unreadable |= shapeless
                    raw = _without(raw, path[:1] if shapeless else path[:2] if in_bare else path)
        return None

    def fabric(self, form: FabricForm) -> Fabric | None:
        """Build the fabric: the family first, then the parts that add to and override it."""
        self._model(("model",), form.model)
        draft = _Draft()
        self._reserved(form, draft)
        shaped = not self._shape_unreadable and (form.shape is None or self._family(form, form.shape, draft))
        self._named_switches(form, draft)
        if not shaped:  # what needs the family's switches cannot be told
            for name, part in form.hosts.items():
                self._addresses(("hosts", name), part or HostForm(), ())
            return None
        self._firmware_and_site(form, draft)
        self._renamed(form, draft)
        for name in draft.reserved.keys() - draft.switches.keys():
            self.find(("reserved", name), "a switch of this fabric", repr(name))
        self._links(form, draft)
        if form.shape is not None and form.shape.explicit and len(draft.links) == len(form.links):
            self._fits_family(form.shape, draft)
        self._hosts(form, draft)
        draft.networks = self._networks(
            "networks", {name: part.hosts for name, part in form.networks.items()}, form, draft
        )
        draft.former_networks = self._networks("former_networks", form.former_networks, form, draft)
        if form.eee == "on" and not any(platforms.load(m).eee for m in self._models(draft)):
            self.find(("eee",), "a model with EEE", ", ".join(sorted(self._models(draft))))
        if not draft.switches:
            self.find((), "a shape, or switches of its own", "no switch")
        return self._whole(form, draft)

    def _reserved(self, form: FabricForm, draft: _Draft) -> None:
        """Read the ports that nothing of the fabric may take: before a family takes its own."""
        for name, words in form.reserved.items():
            model = (form.switches.get(name) or SwitchForm()).model or form.model
            switch = Switch(name, model)
            ports = [self._port(("reserved", name, i), switch, word) for i, word in enumerate(words)]
            draft.reserved[name] = {port for port in ports if port is not None}

    def _renamed(self, form: FabricForm, draft: _Draft) -> None:
        """See that switches are named that had another name: each had one, and nobody has it who did not get it so."""
        given = Counter(form.renamed.values())
        for former, name in form.renamed.items():
            if name not in draft.switches:
                self.find(("renamed", former), "a switch of this fabric", repr(name))
            elif given[name] > 1:
                self.find(("renamed", former), f"one former name of {name}", f"{given[name]} of them")
            elif former in draft.switches and former not in given:
                self.find(("renamed", former), "a name that no switch of this fabric has kept", repr(former))

    @staticmethod
    def _models(draft: _Draft) -> set[str]:
        return {switch.model for switch in draft.switches.values() if platforms.is_model(switch.model)}

    def _model(self, path: Keys, model: str) -> None:
        if not platforms.is_model(model) and model not in self._unknown_models:
            self._unknown_models.add(model)
            if platforms.page_of(model) in platforms.models():
                page = platforms.load(platforms.page_of(model))
                self.find(
                    path, RULE if page.is_shell else f"{page.model}, whose ports have names; {LAYOUTS}", repr(model)
                )
                return
            self.find(path, one_model(model), repr(model))

    def _family(self, form: FabricForm, shape: ShapeForm, draft: _Draft) -> bool:
        dims = tuple(shape.dims)
        found = list(families.check(shape.family, dims))
        for finding in found:
            self.find(tuple(finding.where.split(".")), finding.expected, finding.actual)
        if found:
            return False
        if shape.lag and shape.parallel < 2:
            self.find(("shape", "parallel"), "at least 2 cables to aggregate", str(shape.parallel))
            return False
        if shape.explicit:
            return True
        layout = families.FAMILIES[shape.family].build(dims)
        for i, at in enumerate(layout.at):
            draft.switches[f"s{i}"] = Switch(f"s{i}", form.model, at)
        ends = sorted(
            (end, edge.dim, side, other, parallel_link, e)
            for e, edge in enumerate(layout.edges)
            for parallel_link in range(shape.parallel)
            for end, side, other in ((edge.a, 1, edge.b), (edge.b, 0, edge.a))
        )
        used = [0] * len(layout.at)

        def next_port(s: int) -> int:
            used[s] += 1
            while used[s] in draft.reserved.get(f"s{s}", ()):
                used[s] += 1
            return used[s]

        port: dict[tuple[int, int, int], int] = {}
        for end, _, _, _, parallel_link, e in ends:
            port[end, e, parallel_link] = next_port(end)
        for e, edge in enumerate(layout.edges):
            a_ports, b_ports = (
                tuple(port[end, e, parallel_link] for parallel_link in range(shape.parallel))
                for end in (edge.a, edge.b)
            )
            for parallel_links in (slice(None),) if shape.lag else (slice(n, n + 1) for n in range(shape.parallel)):
                lag = (0, 0) if shape.lag else None
                draft.links.append(
                    _Cable(f"s{edge.a}", a_ports[parallel_links], f"s{edge.b}", b_ports[parallel_links], lag=lag)
                )
                draft.link_forms.append("shape")
        h = 0
        for s in layout.with_hosts:
            for _ in range(shape.hosts):
                draft.hosts[f"h{h}"] = (f"s{s}", next_port(s), (FIRST_INVENTED_MAC + h,), False, ())
                h += 1
        return True

    def _fits_family(self, shape: ShapeForm, draft: _Draft) -> None:
        """See that the file lists the links of the family, by which routes are chosen, and place its switches in it."""
        layout = families.FAMILIES[shape.family].build(tuple(shape.dims))
        listed = list(draft.switches.values())
        if len(listed) < len(layout.at):
            rule = f"the {len(layout.at)} switches of this {shape.family}, in its order; or no shape"
            self.find(("switches",), rule, str(len(listed)))
            return
        for switch, at in zip(listed, layout.at, strict=False):
            draft.switches[switch.name] = replace(switch, at=switch.at or at)
        count = Counter(frozenset((cable.a, cable.b)) for cable in draft.links)
        needed = 1 if shape.lag else shape.parallel
        ends = [(listed[edge.a].name, listed[edge.b].name) for edge in layout.edges]
        short = [pair for pair in ends if count[frozenset(pair)] < needed]
        if short:
            a, b = short[0]
            more = f", and too few between {len(short) - 1} more" if len(short) > 1 else ""
            rule = (
                f"{needed} between {a} and {b} in this {shape.family} (state: down for what is not cabled; or no shape)"
            )
            self.find(("links",), rule, f"{count[frozenset((a, b))]}{more}")

    def _named_switches(self, form: FabricForm, draft: _Draft) -> None:
        for name, given in form.switches.items():
            part = given or SwitchForm()
            if part.model is not None:
                self._model(("switches", name, "model"), part.model)
            if name in {"all", "ungrouped", "localhost", *(model.replace("-", "_") for model in platforms.models())}:
                self.find(("switches", name), "a name that is no host or group of Ansible's own", repr(name))
            if part.address is not None:
                self._address(("switches", name, "address"), part.address)
            known = draft.switches.get(name, Switch(name, form.model))
            draft.switches[name] = Switch(
                name,
                part.model or known.model,
                tuple(part.at) if part.at is not None else known.at,
                part.address if part.address is not None else known.address,
                part.state == "up",
                rack=part.rack if part.rack is not None else known.rack,
            )
            if part.rack is not None and not (part.rack.isprintable() and len(part.rack) <= RACK_CHARACTERS):
                rule = f"at most {RACK_CHARACTERS} characters that can be printed"
                self.find(("switches", name, "rack"), rule, f"{len(part.rack)}: {part.rack[:RACK_CHARACTERS]!r}")
        self._own_addresses(draft)

    def _firmware_and_site(self, form: FabricForm, draft: _Draft) -> None:
        self._firmware(form, draft)
        for name, switch in draft.switches.items():
            if site := form.site | ((form.switches.get(name) or SwitchForm()).site):
                draft.switches[name] = replace(switch, site=json.dumps(site, sort_keys=True, ensure_ascii=False))

    def _own_addresses(self, draft: _Draft) -> None:
        """Find switches that are managed by one address: a push to one of them would reach the other."""
        first: dict[tuple[str, int], str] = {}
        for name, switch in draft.switches.items():
            try:
                place = device_at(switch.address)
            except ValueError:
                continue  # none, or no address at all, which has its own finding
            other = first.setdefault(place, name) if switch.up else name
            if other != name:
                self.find(("switches", name, "address"), "an address of its own", f"{switch.address} (that of {other})")

    def _address(self, path: Keys, address: str) -> None:
        """See that an address is one: it becomes a variable of Ansible's, which older ones take for a template."""
        try:
            host, _ = split_address(address)
        except ValueError:
            self.find(path, "HOST or HOST:PORT, a name or an IP address", repr(address))
            return
        with contextlib.suppress(ValueError):  # a name
            ip = ipaddress.ip_address(host)
            if ip.is_unspecified or ip.is_multicast or ip == _BROADCAST:
                self.find(path, "the address of one device", repr(address))

    def _firmware(self, form: FabricForm, draft: _Draft) -> None:
        """Set every switch's firmware: what its own key says, and what the file says of all that can differ."""
        known = {
            switch.model: platforms.firmware_choices(switch.model)
            for switch in draft.switches.values()
            if platforms.is_model(switch.model)
        }
        for variable, choice in form.firmware.items():
            choices = sorted({c for model in known.values() for c in model.get(variable, ())})
            if choice not in choices:
                names = (
                    choices or sorted({v for model in known.values() for v in model}) or ["nothing for these models"]
                )
                wrong = choice if choices else variable
                self.find(("firmware", variable), one_of(names, wrong), repr(wrong))
        for name, switch in draft.switches.items():
            choices_of = known.get(switch.model, {})
            own = (form.switches.get(name) or SwitchForm()).firmware
            for variable, choice in own.items():
                path: Keys = ("switches", name, "firmware", variable)
                if variable not in choices_of:
                    self.find(
                        path, "one of " + (", ".join(sorted(choices_of)) or "nothing for this model"), repr(variable)
                    )
                elif choice not in choices_of[variable]:
                    self.find(path, one_of(choices_of[variable], choice), repr(choice))
            said = {v: c for v, c in (form.firmware | own).items() if c in choices_of.get(v, ())}
            draft.switches[name] = replace(switch, firmware=tuple(sorted(said.items())))

    def _links(self, form: FabricForm, draft: _Draft) -> None:
        place = {cable.key: i for i, cable in enumerate(draft.links)}
        for i, part in enumerate(form.links):
            if part is None:
                continue
            words = [[end] if isinstance(end, str) else end for end in part.ends]
            read = [self._end(("links", i), end, draft) for end in words]
            lag = self._lag(("links", i), part, words)
            if None in read or lag is False:
                continue
            (a, p), (b, q) = read  # type: ignore[misc]  # None was sorted out above
            if a == b:
                self.find(("links", i), "two different switches", f"{words[0][0]} and {words[1][0]}")
                continue
            both = [(name, draft.switches[name].model, port) for name, ports in ((a, p), (b, q)) for port in ports]
            if most := too_fast(both, part.speed or 0):
                self.find(("links", i, "speed"), most, str(part.speed))
            cable = _Cable(a, p, b, q, part.speed or 0, part.state == "up", lag, part.state == "dead")
            if cable.key in place and draft.link_forms[place[cable.key]] == "shape":
                draft.links[place[cable.key]] = cable
                draft.link_forms[place[cable.key]] = f"links[{i}]"
            else:
                draft.links.append(cable)
                draft.link_forms.append(f"links[{i}]")

    def _lag(self, path: Keys, part: LinkForm, words: list[list[str]]) -> tuple[int, int] | Literal[False] | None:
        """Read what port-channels an aggregated link has at its ends; None for a single cable, False with a finding."""
        if part.lag is False:
            if any(isinstance(end, list) for end in part.ends):
                self.find(path, "lag: true where an end has several ports", "no lag")
                return False
            return None
        numbers = [0, 0] if part.lag is True else part.lag if isinstance(part.lag, list) else [part.lag] * 2
        if len(numbers) != 2 or (part.lag is not True and min(numbers) < 1):
            self.find((*path, "lag"), "true, or the number of the port-channel, or one for each end", repr(part.lag))
        elif len(words[0]) != len(words[1]) or len(words[0]) < 2:
            self.find(path, "two or more ports, as many at each end", f"{len(words[0])} and {len(words[1])}")
        else:
            return numbers[0], numbers[1]
        return False

    def _end(self, path: Keys, ends: list[str], draft: _Draft) -> tuple[str, tuple[int, ...]] | None:
        """Read one end of a link: the ports of one switch."""
        ports: list[int | None] = []
        switches: dict[str, None] = {}
        for end in ends:
            name, colon, word = end.partition(":")
            if not colon or name not in draft.switches:
                self.find(path, "switch:port with a switch of this fabric", shown(end))
                return None
            switches[name] = None
            ports.append(self._port(path, draft.switches[name], word))
        if len(switches) != 1:
            self.find(path, "ports of one switch at each end", " and ".join(switches) or "none")
            return None
        return None if None in ports else (next(iter(switches)), tuple(port for port in ports if port is not None))

    def _port(self, path: Keys, switch: Switch, word: str) -> int | None:
        if not platforms.is_model(switch.model):
            return None
        platform = platforms.load(switch.model)
        port = platform.port_number(word)
        if port is None or port > platform.physical_ports:
            names = platform.port_names[: platform.physical_ports]
            self.find(path, f"a port of {platform.title} ({names[0]} to {names[-1]})", shown(word))
            return None
        return port

    def _hosts(self, form: FabricForm, draft: _Draft) -> None:
        for name, given in form.hosts.items():
            part = given or HostForm()
            path: Keys = ("hosts", name)
            invented = (FIRST_INVENTED_MAC + len(draft.hosts),)
            switch, port, macs, _, _ = draft.hosts.get(name, ("", None, invented, False, ()))
            if part.switch is not None and part.switch != switch:
                switch, port = part.switch, None
            if switch not in draft.switches:
                self.find((*path, "switch"), "a switch of this fabric", repr(part.switch))
                self._addresses(path, part, ())
                continue
            if part.port is not None:
                port = self._port((*path, "port"), draft.switches[switch], part.port)
            elif port is None:
                self.find((*path, "port"), f"the port of {switch} that the host is plugged in", "none")
            own, prefixes = self._addresses(path, part, macs)
            if port is not None and (own or (part.uplink and part.mac is None)):
                draft.hosts[name] = (switch, port, own, part.uplink, prefixes)

    def _addresses(self, path: Keys, part: HostForm, known: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return a host's addresses, `known` where it gives none, and how those that come and go begin."""
        prefixes = self._prefixes((*path, "mac_prefix"), part)
        own = () if part.uplink else known
        if part.mac or (part.mac is not None and not prefixes):
            own = self._macs((*path, "mac"), part.mac)
        return own, prefixes

    def _networks(self, key: str, said: dict[str, list[str]], form: FabricForm, draft: _Draft) -> dict[str, str]:
        """Return the network of each host that one names: frames of a host's port are told apart by nothing else."""
        network: dict[str, str] = {}
        for name, hosts in said.items():
            if not hosts and not (key == "networks" and form.networks[name].tagged):
                self.find((key, name), "at least one host", "none")
            for i, host in enumerate(hosts):
                path: Keys = (key, name, i)
                path = path if path in self.lines else (key, name, "hosts", i)
                at, _, carried = host.partition("@") if key == "former_networks" else (host, "", "")
                tagged = form.networks[carried].tagged if carried in form.networks else ()
                if (host not in draft.hosts and host not in form.hosts) if not carried else at not in tagged:
                    self.find(path, f"a host of this fabric{nearest_name(host, draft.hosts)}", repr(host))
                elif network.setdefault(host, name) != name:
                    self.find(path, f"one network for the port of {host}", f"{network[host]} and {name}")
                elif host in hosts[:i]:
                    self.find(path, "each host once", f"{host} twice")
        return network

    def _macs(self, path: Keys, texts: list[str]) -> tuple[int, ...]:
        """Return the addresses at a host's port, none where one of them is wrong."""
        if not texts:
            self.find(path, "a MAC address, or several", "none")
        macs = [self._mac(path, text) for text in texts]
        found = tuple(mac for mac in macs if mac is not None)
        if len(found) == len(macs) and len(set(found)) < len(found):
            twice = next(mac for mac in found if found.count(mac) > 1)
            self.find(path, "addresses that differ", f"{format_mac(twice)} twice")
        return found if len(found) == len(macs) else ()

    def _prefixes(self, path: Keys, part: HostForm) -> tuple[str, ...]:
        """Return how addresses begin that come and go at a host's port, without those that are wrong."""
        found: list[str] = []
        invented = format_mac(FIRST_INVENTED_MAC)[: len("02:00:00")]
        for text in part.mac_prefix:
            try:
                prefix = parse_mac_prefix(text)
            except ValueError:
                self.find(path, 'one to five hex pairs, such as "52:54:00"', f'"{text}"')
                continue
            if int(prefix[:2], 16) & 1:
                self.find(path, "the beginning of individual addresses", f'that of group addresses "{text}"')
            elif prefix.startswith(invented) or invented.startswith(prefix):
                self.find(path, "another beginning than that of addresses that tagloom makes up", f'"{text}"')
            elif prefix in found:
                self.find(path, "beginnings that differ", f"{prefix} twice")
            found.append(prefix)
        if found and part.uplink:
            self.find(path, "none at an uplink, whose addresses nobody knows", " ".join(found))
        return tuple(found)

    def _mac(self, path: Keys, text: str) -> int | None:
        try:
            mac = parse_mac(text)
        except ValueError:
            self.find(path, "six hex pairs", f'"{text}"')
            return None
        if mac == 0:
            self.find(path, "the address of a network card", format_mac(mac))
        elif mac >> 40 & 1:
            self.find(path, "an individual address", f'the group address "{text}"')
        return mac

    def _whole(self, form: FabricForm, draft: _Draft) -> Fabric | None:
        """Check what only the whole shows: ports and MAC addresses used twice, too many ports, no connection."""
        index = {name: i for i, name in enumerate(draft.switches)}
        models = [platforms.load(s.model) if platforms.is_model(s.model) else None for s in draft.switches.values()]
        taken: dict[tuple[str, int], str] = {}
        overfull: dict[str, int] = {}
        parallel_links: dict[frozenset[str], int] = {}
        links: list[Link] = []
        channels = self._channels(draft)
        for i, (cable, label) in enumerate(zip(draft.links, draft.link_forms, strict=True)):
            a, b = cable.a, cable.b
            for name, ports in ((a, cable.a_ports), (b, cable.b_ports)):
                for port in ports:
                    self._take(taken, overfull, draft, name, port, label)
            parallel_link = parallel_links.get(frozenset((a, b)), 0)
            parallel_links[frozenset((a, b))] = parallel_link + 1
            members: tuple[tuple[int, int], ...] = ()
            p, q = cable.a_ports[0], cable.b_ports[0]
            if cable.lag is not None:
                members = tuple(zip(cable.a_ports, cable.b_ports, strict=True))
                p, q = channels.get((i, a), 0), channels.get((i, b), 0)
            state = cable.speed_mbps, cable.up, parallel_link, members, cable.dead
            links.append(Link(index[a], p, index[b], q, *state))
        links = self._barred(form, draft, links)
        hosts: list[Host] = []
        owner: dict[int, str] = {}
        for name, (switch, port, macs, uplink, prefixes) in draft.hosts.items():
            label = f"hosts.{name}"
            self._take(taken, overfull, draft, switch, port, label)
            for mac in macs:
                if owner.setdefault(mac, name) != name:
                    actual = f"{format_mac(mac)} (that of {owner[mac]})"
                    self.find(("hosts", name, "mac"), "a MAC address of its own", actual)
            network = draft.networks.get(name, DEFAULT_NETWORK) if form.networks else ""
            networks = network, draft.former_networks.get(name)
            known = macs[0] if macs else 0, macs[1:], uplink
            hosts.append(Host(name, index[switch], port, *known, *networks, prefixes=prefixes))
        hosts = _with_tags(hosts, draft, self._tags(form, draft))
        self._overfull(overfull, draft)
        dead = {index[name] for name, switch in draft.switches.items() if not switch.up}
        if dead and len(dead) == len(index):
            self.find(("switches",), "a switch that is up", "none")
        if self._found:
            return None
        shape = None
        if form.shape is not None:
            requested = form.shape
            shape = Shape(requested.family, tuple(requested.dims), requested.parallel, requested.hosts, requested.lag)
        fabric = Fabric(
            name=form.name,
            switches=tuple(draft.switches.values()),
            hosts=tuple(hosts),
            links=tuple(links),
            ports=tuple(model.ports for model in models if model is not None),
            shape=shape,
            first_vlan=form.vlans.first,
            flow_control=form.flow_control == "on",
            eee=None if form.eee is None else form.eee == "on",
            reserved=tuple(sorted((index[name], port) for name, ports in draft.reserved.items() for port in ports)),
            returned_ports=form.returned_ports,
            spanning_tree=form.spanning_tree,
            renamed=tuple(sorted(form.renamed.items())),
            routings=tuple(sorted((n, part.routing or "tree") for n, part in form.networks.items() if _own_way(part))),
            tags=tuple(sorted((name, part.vlan) for name, part in form.networks.items() if part.vlan)),
        )
        for finding in without_port_spanning_tree(fabric) if form.spanning_tree == "outside" else ():
            self.find(("spanning_tree",), finding.expected, finding.actual)
        fabric = fabric.with_switches_down(dead) if dead else fabric
        if not self._connected(fabric):
            return None
        managed = (
            replace(fabric, management=self._management(form.management, fabric, draft)) if form.management else None
        )
        return None if self._found else managed or fabric

    def _barred(self, form: FabricForm, draft: _Draft, links: list[Link]) -> list[Link]:
        """Return links with the networks that may not use them."""
        barred: list[list[str]] = [[] for _ in links]
        places = [{(x.a, p) for p in x.a_ports} | {(x.b, p) for p in x.b_ports} for x in draft.links]
        number = {place: n for n, taken in enumerate(places) for place in taken}
        for name, part in sorted(form.networks.items()):
            if part.links is None:
                continue
            kept = set[int]()
            for i, word in enumerate(part.links):
                path: Keys = ("networks", name, "links", i)
                end = self._end(path, [word], draft)
                found = None if end is None else number.get((end[0], end[1][0]))
                if end is not None and found is None:
                    self.find(path, "an end of a link", repr(word))
                kept.update([] if found is None else [found])
            for n in set(range(len(links))) - kept:
                barred[n].append(name)
        return [replace(link, barred=tuple(names)) for link, names in zip(links, barred, strict=True)]

    def _tags(self, form: FabricForm, draft: _Draft) -> dict[str, list[tuple[str, int]]]:
        """Return the networks that the ports of hosts carry tagged, with their VLANs, by the hosts' names."""
        tags: dict[str, list[tuple[str, int]]] = {}
        taken: dict[int, str] = {}
        for name, part in sorted(form.networks.items()):
            path: Keys = ("networks", name)
            if part.vlan is None:
                if part.tagged:
                    self.find((*path, "tagged"), "vlan beside it: the id that its frames have", "none")
                continue
            if part.vlan >= form.vlans.first:
                rule = f"a VLAN below vlans.first ({form.vlans.first}): no plan takes it"
                self.find((*path, "vlan"), rule, str(part.vlan))
            if form.management is not None and form.management.vlan == part.vlan:
                self.find((*path, "vlan"), "another VLAN than that of the switches", str(part.vlan))
            if (other := taken.setdefault(part.vlan, name)) != name:
                self.find((*path, "vlan"), "a VLAN of its own", f"{part.vlan} (that of {other})")
            if part.routing not in {None, "tree"}:
                self.find((*path, "routing"), "tree beside vlan: a port has one id for the network", str(part.routing))
            for i, host in enumerate(part.tagged):
                if host not in draft.hosts and host not in form.hosts:
                    rule = f"a host of this fabric{nearest_name(host, draft.hosts)}"
                    self.find((*path, "tagged", i), rule, repr(host))
                elif host in part.tagged[:i] or host in part.hosts:
                    self.find((*path, "tagged", i), "each host once", f"{host} twice")
                tags.setdefault(host, []).append((name, part.vlan))
        return tags

    def _connected(self, fabric: Fabric) -> bool:
        """Check that links that are up connect all hosts, and that every other switch is cabled to them at least."""
        alive = [s for s, switch in enumerate(fabric.switches) if switch.up]
        start, apart = next(iter(np.unique(fabric.host_switch).tolist()), alive[0]), list(fabric.apart)
        if not apart:
            cabling = [replace(link, up=True) for link in fabric.links]
            everywhere = list(range(len(fabric.switches)))
            apart = [s for s in _unreached([start, *everywhere], cabling) if fabric.switches[s].up]
        if apart:
            more = f" and {len(apart) - 1} more" if len(apart) > 1 else ""
            actual = f"no way from {fabric.switches[start].name} to {fabric.switches[apart[0]].name}{more}"
            self.find(("links",), "a connected fabric", actual)
        return not apart

    def _management(self, part: ManagementForm, fabric: Fabric, draft: _Draft) -> Management | None:
        """Read how switches are managed in band, and check that the way to each of them is there."""
        path: Keys = ("management",)
        if part.vlan >= fabric.first_vlan:
            self.find(
                (*path, "vlan"), f"a VLAN below vlans.first ({fabric.first_vlan}): no plan takes it", str(part.vlan)
            )
        for model in sorted({s.model for s in fabric.live if not platforms.of(s).has_modes}):
            self.find(path, "models whose other VLANs tagloom leaves alone", model)
        at = self._end((*path, "controller"), [part.controller], draft)
        here = next((h.name for h in fabric.hosts if at == (fabric.switches[h.switch].name, (h.port,))), "")
        if at and (here or fabric.port_channel[fabric.index[at[0]], at[1][0]] >= 0):
            self.find((*path, "controller"), "a port without a host or link", f"{part.controller} {here}".strip())
        chosen: list[int] = []
        for i, word in enumerate(part.links):
            end = self._end((*path, "links", i), [word], draft)
            if end is None:
                continue
            s, port = fabric.index[end[0]], end[1][0]
            ends = (
                (n, {(x.a, a) for a, _ in x.cables} | {(x.b, b) for _, b in x.cables})
                for n, x in enumerate(fabric.links)
            )
            link = next((n for n, taken in ends if (s, port) in taken), None)
            if link is None or not fabric.links[link].up:
                self.find((*path, "links", i), "an end of a link that is up", repr(word))
            else:
                chosen.append(link)
        alive = [s for s, switch in enumerate(fabric.switches) if switch.up]
        apart = _unreached(alive, [fabric.links[n] for n in chosen])
        if len(chosen) == len(part.links) and (apart or len(set(chosen)) != len(alive) - 1):
            actual = f"no way to {fabric.switches[apart[0]].name}" if apart else f"{len(chosen)} links"
            self.find((*path, "links"), f"a tree of all {len(alive)} switches", actual)
        return Management(part.vlan, fabric.index[at[0]], at[1][0], tuple(sorted(set(chosen)))) if at else None

    def _channels(self, draft: _Draft) -> dict[tuple[int, str], int]:
        """Return each end of an aggregated link, as (link, switch), its port-channel's port number.

        Those that are named come first; the others take the lowest that are free, in the order of the links.
        """
        ends = [
            (i, name, number, draft.link_forms[i])
            for i, cable in enumerate(draft.links)
            if cable.lag is not None
            for name, number in zip((cable.a, cable.b), cable.lag, strict=True)
        ]
        taken: dict[tuple[str, int], str] = {}
        channels: dict[tuple[int, str], int] = {}
        short: set[str] = set()
        for i, name, number, label in sorted(ends, key=lambda end: not end[2]):
            model = draft.switches[name].model
            if not platforms.is_model(model):
                continue
            platform = platforms.load(model)
            count = platform.ports - platform.physical_ports
            chosen = number or next((n for n in range(1, count + 1) if (name, n) not in taken), count + 1)
            path: Keys = ("shape", "lag") if label == "shape" else ("links", i, "lag")
            if chosen > count and name not in short:
                short.add(name)
                self.find(path, f"at most {count} port-channels on {name} ({platform.title})", str(chosen))
            elif (name, chosen) in taken and chosen <= count:
                self.find(path, "a free port-channel", f"{chosen} of {name} (taken by {taken[name, chosen]})")
            taken.setdefault((name, chosen), label)
            channels[i, name] = platform.physical_ports + chosen
        return channels

    def _overfull(self, overfull: dict[str, int], draft: _Draft) -> None:
        """Find switches asked for more ports than they have, one finding for all that are alike."""
        alike: dict[tuple[str, int], list[str]] = {}
        for name, count in overfull.items():
            alike.setdefault((draft.switches[name].model, count), []).append(name)
        for (model, count), names in alike.items():
            platform = platforms.load(model)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            path = ("switches", names[0]) if ("switches", names[0]) in self.lines else ("shape",)
            expected = f"at most {platform.physical_ports} ports on {names[0]}{more} ({platform.title})"
            self.find(path, expected, f"{count} ports asked for")

    def _take(
        self,
        taken: dict[tuple[str, int], str],
        overfull: dict[str, int],
        draft: _Draft,
        name: str,
        port: int,
        label: str,
    ) -> None:
        switch = draft.switches[name]
        if not platforms.is_model(switch.model):
            return
        platform = platforms.load(switch.model)
        if port > platform.physical_ports:
            overfull[name] = max(overfull.get(name, 0), port)
        elif (name, port) in taken or port in draft.reserved.get(name, ()):
            path: Keys = tuple(int(x) if x.isdigit() else x for x in re.split(r"[.\[\]]+", label.rstrip("]")))
            why = f"taken by {taken[name, port]}" if (name, port) in taken else "reserved"
            self.find(path, "a free port", f"{name}:{platform.port_name(port)} ({why})")
        taken.setdefault((name, port), label)


def _own_way(part: NetworkForm) -> bool:
    return part.routing is not None or part.vlan is not None


def _with_tags(hosts: list[Host], draft: _Draft, tags: dict[str, list[tuple[str, int]]]) -> list[Host]:
    """Return hosts with those that stand for networks which a port carries tagged, by its host's name."""
    beside, first = list[Host](), list[Host]()
    for host in hosts:
        carried = tags.get(host.name, [])
        if carried and host.name not in draft.networks:  # its port carries nothing untagged
            (network, tag), *carried = carried
            first.append(replace(host, network=network, tag=tag))
        else:
            first.append(host)
        for network, tag in carried:
            name = f"{host.name}@{network}"
            former = draft.former_networks.get(name)
            beside.append(replace(host, name=name, network=network, former_network=former, tag=tag))
    return first + beside


def _unreached(switches: list[int], links: list[Link]) -> list[int]:
    """List which of `switches` the links that are up do not connect with the first."""
    neighbours: dict[int, list[int]] = {s: [] for s in switches}
    for link in links:
        if link.up:
            neighbours[link.a].append(link.b)
            neighbours[link.b].append(link.a)
    seen, stack = set(switches[:1]), switches[:1]
    while stack:
        for n in neighbours[stack.pop()]:
            if n not in seen:
                seen.add(n)
                stack.append(n)
    return [s for s in switches if s not in seen]


def _without(raw: dict[Any, Any], path: Keys) -> dict[Any, Any]:
    """Return the file's content without the part at `path`; a list keeps its length, and loses the whole item."""
    head, rest = path[0], path[1:]
    if head not in raw:  # its key was at fault too, and has gone already
        return raw
    if not rest or not isinstance(raw[head], dict | list):
        return {key: value for key, value in raw.items() if key != head}
    if isinstance(raw[head], list):
        return {**raw, head: [None if i == rest[0] else item for i, item in enumerate(raw[head])]}
    return {**raw, head: _without(raw[head], rest)}


def _lines(node: yaml.Node | None, path: Keys = ()) -> dict[Keys, int]:
    """Map the path of every part of a YAML document to its line, from 1."""
    if node is None:
        return {}
    lines = {path: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines |= _lines(value, (*path, key.value))
            lines[(*path, key.value)] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            lines |= _lines(value, (*path, i))
    return lines
