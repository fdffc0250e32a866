"""Read and write the fabric file, with every error of it found at once and said by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.read import families
from tagloom.records.fabric import Fabric, Host, Link, Shape, Switch
from tagloom.units import format_mac, parse_mac

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_MODEL = "powerconnect-5324"
FIRST_HOST_MAC = 0x0200_0000_0000  # locally administered, IEEE 802-2014, 8.4.4.2
# Names become file names, Ansible hosts and words on a command line.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
Name = Annotated[str, Field(pattern=NAME)]
Path_ = tuple[str | int, ...]


class _Page(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Shape(_Page):
    family: str
    dims: list[int]
    parallel: int = Field(1, ge=1, le=64)
    hosts: int = Field(1, ge=0, le=512)


class _Switch(_Page):
    model: str | None = None
    at: list[int] | None = None
    address: str | None = None
    state: Literal["up", "down"] = "up"


class _Host(_Page):
    switch: str | None = None
    port: str | None = None
    mac: str | None = None


class _Link(_Page):
    ends: list[str] = Field(min_length=2, max_length=2)
    speed: Literal[10, 100, 1000, 2500, 5000, 10000, 25000, 40000, 100000] | None = None
    state: Literal["up", "down"] = "up"


class _Vlans(_Page):
    first: int = Field(default=100, ge=2, le=4000)


class _FabricFile(_Page):
    name: Name = "fabric"
    model: str = DEFAULT_MODEL
    shape: _Shape | None = None
    switches: dict[Name, _Switch | None] = {}
    hosts: dict[Name, _Host | None] = {}
    links: list[_Link | None] = []  # None stands where a link could not be read, so that the others keep their number
    vlans: _Vlans = _Vlans()
    flow_control: Literal["on", "off"] = "off"


@dataclass(slots=True)
class _Draft:
    """Gather a fabric while it is read: by name until the end, so that parts can override the family."""

    switches: dict[str, Switch] = field(default_factory=dict)
    hosts: dict[str, tuple[str, int | None, int]] = field(default_factory=dict)  # name -> switch, port, MAC
    links: list[tuple[str, int, str, int, int, bool]] = field(default_factory=list)
    link_pages: list[str] = field(default_factory=list)  # how each link is named in a finding


def read_fabric(path: Path) -> Fabric:
    """Read a fabric file. Raises InputError with all findings, each led by ``file:line``."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(path), "a readable fabric file", str(error))]) from None
    return parse_fabric(text, str(path))


def parse_fabric(text: str, source: str) -> Fabric:
    """Read a fabric from the text of its file; `source` names it in findings. Raises InputError."""
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
        raw = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{source}:{mark.line + 1}" if mark else source
        raise InputError([Finding(where, "YAML", getattr(error, "problem", None) or str(error))]) from None
    if not isinstance(raw, dict):
        raise InputError([Finding(source, "a mapping with name, model, shape, switches, hosts, links", repr(raw))])
    reader = _Reader(source, _lines(root))
    reader.duplicates(root)
    page = reader.page(raw)
    if page is None:
        raise InputError(reader.findings)
    fabric = reader.fabric(page)
    if reader.findings or fabric is None:
        raise InputError(reader.findings)
    return fabric


class _Reader:
    """Turn one fabric file into a Fabric, gathering findings on the way."""

    def __init__(self, source: str, lines: dict[Path_, int]) -> None:
        self.source, self.lines = source, lines
        self._found: list[tuple[int, Finding]] = []

    @property
    def findings(self) -> list[Finding]:
        """List what was found, in the order of the file's lines."""
        return [finding for _, finding in sorted(self._found, key=lambda each: each[0])]

    def find(self, path: Path_, expected: str, actual: str) -> None:
        """Note a finding at a path of the file, led by the line of the nearest part that exists."""
        line = next((self.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.lines), 1)
        self._found.append((line, Finding(f"{self.source}:{line}  {_dotted(path)}", expected, actual)))

    def duplicates(self, node: yaml.Node | None, path: Path_ = ()) -> None:
        """Find keys that stand twice in one mapping; YAML itself would silently keep the last."""
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if key.value in seen:
                    line = key.start_mark.line + 1
                    where = f"{self.source}:{line}  {_dotted((*path, key.value))}"
                    self._found.append((line, Finding(where, "each key once", "twice")))
                seen.add(key.value)
                self.duplicates(value, (*path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for i, value in enumerate(node.value):
                self.duplicates(value, (*path, i))

    def page(self, raw: dict[str, Any]) -> _FabricFile | None:
        """Check the file's form: keys, types, ranges."""
        if isinstance(raw.get("links"), list):  # a bare pair is a link with nothing else to say
            raw = {**raw, "links": [{"ends": item} if isinstance(item, list) else item for item in raw["links"]]}
        if isinstance(raw.get("flow_control"), bool):  # YAML 1.1 reads a bare on or off as a boolean
            raw = {**raw, "flow_control": "on" if raw["flow_control"] else "off"}
        for part in ("switches", "hosts", "links"):
            if part in raw and raw[part] is None:
                raw = {key: value for key, value in raw.items() if key != part}
        for _ in range(3):  # what cannot be read is noted and left out, so that the rest can be checked too
            try:
                return _FabricFile.model_validate(raw)
            except ValidationError as error:
                for item in error.errors(include_url=False):
                    path = tuple(step for step in item["loc"] if step != "[key]")
                    expected, actual = _plain(item["type"], item["msg"]), repr(item.get("input"))[:60]
                    if item["type"] == "extra_forbidden":
                        expected, actual = "a key the fabric file has", repr(path[-1])
                    self.find(path, expected, actual)
                    if path[0] == "shape":
                        return None  # nothing else can be told without the family's switches
                    raw = _without(raw, path)
        return None

    def fabric(self, page: _FabricFile) -> Fabric | None:
        """Build the fabric: the family first, then the parts that add to and override it."""
        self._model(("model",), page.model)
        draft = _Draft()
        if page.shape is not None and not self._family(page, page.shape, draft):
            return None
        self._switches(page, draft)
        self._links(page, draft)
        self._hosts(page, draft)
        if not draft.switches:
            self.find((), "a shape, or switches of its own", "no switch")
        return self._whole(page, draft)

    def _model(self, path: Path_, model: str) -> bool:
        if model not in platforms.models():
            self.find(path, "one of " + ", ".join(platforms.models()), repr(model))
            return False
        return True

    def _family(self, page: _FabricFile, shape: _Shape, draft: _Draft) -> bool:
        dims = tuple(shape.dims)
        found = list(families.check(shape.family, dims))
        for finding in found:
            self.find(tuple(finding.where.split(".")), finding.expected, finding.actual)
        if found:
            return False
        layout = families.FAMILIES[shape.family].build(dims)
        for i, at in enumerate(layout.at):
            draft.switches[f"s{i}"] = Switch(f"s{i}", page.model, at)
        ends = sorted(
            (end, edge.dim, side, other, lane, e)
            for e, edge in enumerate(layout.edges)
            for lane in range(shape.parallel)
            for end, side, other in ((edge.a, 1, edge.b), (edge.b, 0, edge.a))
        )
        used = [0] * len(layout.at)
        port: dict[tuple[int, int, int], int] = {}
        for end, _, _, _, lane, e in ends:
            used[end] += 1
            port[end, e, lane] = used[end]
        for e, edge in enumerate(layout.edges):
            for lane in range(shape.parallel):
                draft.links.append((f"s{edge.a}", port[edge.a, e, lane], f"s{edge.b}", port[edge.b, e, lane], 0, True))
                draft.link_pages.append("shape")
        h = 0
        for s in layout.with_hosts:
            for _ in range(shape.hosts):
                used[s] += 1
                draft.hosts[f"h{h}"] = (f"s{s}", used[s], FIRST_HOST_MAC + h)
                h += 1
        return True

    def _switches(self, page: _FabricFile, draft: _Draft) -> None:
        for name, given in page.switches.items():
            part = given or _Switch()
            if part.model is not None and not self._model(("switches", name, "model"), part.model):
                continue
            known = draft.switches.get(name, Switch(name, page.model))
            draft.switches[name] = Switch(
                name,
                part.model or known.model,
                tuple(part.at) if part.at is not None else known.at,
                part.address if part.address is not None else known.address,
                part.state == "up",
            )

    def _links(self, page: _FabricFile, draft: _Draft) -> None:
        place = {frozenset(((a, p), (b, q))): i for i, (a, p, b, q, _, _) in enumerate(draft.links)}
        for i, part in enumerate(page.links):
            if part is None:
                continue
            ends = [self._end(("links", i), end, draft) for end in part.ends]
            if None in ends:
                continue
            (a, p), (b, q) = ends  # type: ignore[misc]  # None was sorted out above
            if a == b:
                self.find(("links", i), "two different switches", f"{part.ends[0]} and {part.ends[1]}")
                continue
            link = (a, p, b, q, part.speed or 0, part.state == "up")
            key = frozenset(((a, p), (b, q)))
            if key in place and draft.link_pages[place[key]] == "shape":
                draft.links[place[key]] = link
                draft.link_pages[place[key]] = f"links[{i}]"
            else:
                draft.links.append(link)
                draft.link_pages.append(f"links[{i}]")

    def _end(self, path: Path_, end: str, draft: _Draft) -> tuple[str, int] | None:
        name, colon, word = end.partition(":")
        if not colon or name not in draft.switches:
            self.find(path, "switch:port with a switch of this fabric", repr(end))
            return None
        port = self._port(path, draft.switches[name], word)
        return None if port is None else (name, port)

    def _port(self, path: Path_, switch: Switch, word: str) -> int | None:
        if switch.model not in platforms.models():
            return None
        platform = platforms.load(switch.model)
        port = platform.port_number(word)
        if port is None:
            names = platform.port_names
            self.find(path, f"a port of {platform.title} ({names[0]} to {names[-1]})", repr(word))
        return port

    def _hosts(self, page: _FabricFile, draft: _Draft) -> None:
        for name, given in page.hosts.items():
            part = given or _Host()
            path: Path_ = ("hosts", name)
            switch, port, mac = draft.hosts.get(name, ("", None, FIRST_HOST_MAC + len(draft.hosts)))
            if part.switch is not None and part.switch != switch:
                switch, port = part.switch, None
            if switch not in draft.switches:
                self.find((*path, "switch"), "a switch of this fabric", repr(part.switch))
                continue
            if part.port is not None:
                port = self._port((*path, "port"), draft.switches[switch], part.port)
                if port is None:
                    continue
            if part.mac is not None:
                try:
                    mac = parse_mac(part.mac)
                except ValueError:
                    self.find((*path, "mac"), "six hex pairs", f'"{part.mac}"')
                    continue
                if mac >> 40 & 1:
                    self.find((*path, "mac"), "an individual address", f'the group address "{part.mac}"')
            draft.hosts[name] = (switch, port, mac)

    def _whole(self, page: _FabricFile, draft: _Draft) -> Fabric | None:
        """Check what only the whole shows: ports and MAC addresses used twice, too many ports, no connection."""
        index = {name: i for i, name in enumerate(draft.switches)}
        models = [platforms.load(s.model) if s.model in platforms.models() else None for s in draft.switches.values()]
        taken: dict[tuple[str, int], str] = {}
        overfull: dict[str, int] = {}
        lanes: dict[frozenset[str], int] = {}
        links: list[Link] = []
        for (a, p, b, q, speed, up), label in zip(draft.links, draft.link_pages, strict=True):
            for name, port in ((a, p), (b, q)):
                self._take(taken, overfull, draft, name, port, label)
            lane = lanes.get(frozenset((a, b)), 0)
            lanes[frozenset((a, b))] = lane + 1
            links.append(Link(index[a], p, index[b], q, speed, up, lane))
        hosts: list[Host] = []
        macs: dict[int, str] = {}
        for name, (switch, given, mac) in draft.hosts.items():
            label = f"hosts.{name}"
            port = given or next(n for n in range(1, 10_000) if (switch, n) not in taken)
            self._take(taken, overfull, draft, switch, port, label)
            if mac in macs:
                self.find(
                    ("hosts", name, "mac"), "a MAC address of its own", f"{format_mac(mac)} (that of {macs[mac]})"
                )
            macs.setdefault(mac, name)
            hosts.append(Host(name, index[switch], port, mac))
        self._overfull(overfull, draft)
        dead = {index[name] for name, switch in draft.switches.items() if not switch.up}
        living = [link for link in links if link.a not in dead and link.b not in dead]
        alive = [s for s in range(len(index)) if s not in dead]
        if dead and not alive:
            self.find(("switches",), "a switch that is up", "none")
        elif not self._found and (apart := _unreached(alive, living)):
            names = list(index)
            self.find(
                ("links",),
                "a connected fabric",
                f"no way from {names[alive[0]]} to {names[apart[0]]}"
                + (f" and {len(apart) - 1} more" if len(apart) > 1 else ""),
            )
        if self._found:
            return None
        shape = None
        if page.shape is not None:
            shape = Shape(page.shape.family, tuple(page.shape.dims), page.shape.parallel, page.shape.hosts)
        fabric = Fabric(
            name=page.name,
            switches=tuple(draft.switches.values()),
            hosts=tuple(hosts),
            links=tuple(links),
            ports=tuple(model.ports for model in models if model is not None),
            shape=shape,
            first_vlan=page.vlans.first,
            flow_control=page.flow_control == "on",
        )
        return fabric.with_switches_down(dead) if dead else fabric

    def _overfull(self, overfull: dict[str, int], draft: _Draft) -> None:
        """Find switches asked for more ports than they have, one finding for all that are alike."""
        alike: dict[tuple[str, int], list[str]] = {}
        for name, count in overfull.items():
            alike.setdefault((draft.switches[name].model, count), []).append(name)
        for (model, count), names in alike.items():
            platform = platforms.load(model)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            path = ("switches", names[0]) if ("switches", names[0]) in self.lines else ("shape",)
            expected = f"at most {platform.ports} ports on {names[0]}{more} ({platform.title})"
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
        if switch.model not in platforms.models():
            return
        platform = platforms.load(switch.model)
        if port > platform.ports:
            overfull[name] = max(overfull.get(name, 0), port)
        elif (name, port) in taken:
            path: Path_ = tuple(int(x) if x.isdigit() else x for x in re.split(r"[.\[\]]+", label.rstrip("]")))
            self.find(path, "a free port", f"{name}:{platform.port_name(port)} (taken by {taken[name, port]})")
        taken.setdefault((name, port), label)


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


def _without(raw: dict[Any, Any], path: Path_) -> dict[Any, Any]:
    """Give the file's content without the part at `path`; a list keeps its length, and loses the whole item."""
    head, rest = path[0], path[1:]
    if not rest or not isinstance(raw[head], dict | list):
        return {key: value for key, value in raw.items() if key != head}
    if isinstance(raw[head], list):
        return {**raw, head: [None if i == rest[0] else item for i, item in enumerate(raw[head])]}
    return {**raw, head: _without(raw[head], rest)}


def _lines(node: yaml.Node | None, path: Path_ = ()) -> dict[Path_, int]:
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


def _dotted(path: Path_) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".") or "fabric"


def _plain(kind: str, message: str) -> str:
    """Say what the validator expected without the validator's grammar."""
    words = {
        "int_type": "a whole number",
        "string_type": "text (quote it)",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "missing": "this key",
        "string_pattern_mismatch": "a name of letters, digits, dot, hyphen, underscore",
        "too_short": "two ends",
        "too_long": "two ends",
    }
    return words.get(kind, message[0].lower() + message[1:].removeprefix("nput should be ").removeprefix(" should be "))


def format_family(name: str, family: str, dims: tuple[int, ...], parallel: int, hosts: int, model: str) -> str:
    """Write the fabric file of a family. Raises InputError where the family cannot be built."""
    shape = f"{{family: {family}, dims: [{', '.join(map(str, dims))}], parallel: {parallel}, hosts: {hosts}}}"
    text = f"name: {name}\nmodel: {model}\nshape: {shape}\n"
    parse_fabric(text, "new")
    return text


def format_fabric(fabric: Fabric) -> str:
    """Write a fabric with all its parts explicit; reading it back gives an equal fabric, links and hosts in order."""
    model = {s.name: platforms.load(s.model) for s in fabric.switches}
    lines = [f"name: {fabric.name}", f"vlans: {{first: {fabric.first_vlan}}}"]
    if fabric.flow_control:
        lines.append('flow_control: "on"')
    if fabric.shape is not None:
        s = fabric.shape
        dims = ", ".join(map(str, s.dims))
        lines.append(f"shape: {{family: {s.family}, dims: [{dims}], parallel: {s.parallel}, hosts: {s.hosts}}}")
    lines.append("switches:")
    for switch in fabric.switches:
        parts = [f"model: {switch.model}", f"at: [{', '.join(map(str, switch.at))}]"]
        if switch.address:
            parts.append(f'address: "{switch.address}"')
        if not switch.up:
            parts.append("state: down")
        lines.append(f"  {switch.name}: {{{', '.join(parts)}}}")
    lines.append("hosts:" if fabric.hosts else "hosts: {}")
    for host in fabric.hosts:
        at = fabric.switches[host.switch].name
        port = model[at].port_name(host.port)
        lines.append(f'  {host.name}: {{switch: {at}, port: "{port}", mac: "{format_mac(host.mac)}"}}')
    lines.append("links:" if fabric.links else "links: []")
    for link in fabric.links:
        a, b = fabric.switches[link.a].name, fabric.switches[link.b].name
        ends = f'["{a}:{model[a].port_name(link.a_port)}", "{b}:{model[b].port_name(link.b_port)}"]'
        extra = (f", speed: {link.speed_mbps}" if link.speed_mbps else "") + ("" if link.up else ", state: down")
        lines.append(f"  - {{ends: {ends}{extra}}}" if extra else f"  - {ends}")
    return "\n".join(lines) + "\n"
