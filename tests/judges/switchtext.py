"""Read what a ROS or FASTPATH switch does from its configuration text; shares no code with tagloom.

Written from what manuals and transcripts say of the two command lines (PowerConnect 53xx to 55xx; 62xx to N-series).
Lines are taken as a running configuration prints them: what they name may be created further down, and a block may end
where the next begins. Where no source says that a switch takes a line so when it is pasted, it is kept in `misplaced`
as well. A line that a switch does not take has no effect, and is kept in `refused`; one of which no source says what it
does is kept in `unclear`, and no verdict can be had.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

DEFAULT_VLAN, DISCARD = 1, 4095  # "PVID 4095 = drop untagged frames", 5548P guide p. 471; 7000 manual p. 580
LAST_VLAN = {"ros": 4094, "fastpath": 4093}  # HIL for the 5500; "in the range 1 to 4093", fake-switches


def canonical(name: str) -> str:
    """Return one name for all spellings of an interface: g5, gi1/0/5, te1/0/1, 1/g5, po1.

    >>> canonical("gigabitethernet 1/0/5"), canonical("ethernet 1/g5"), canonical("port-channel 2"), canonical("ch2")
    ('gi1/0/5', '1/g5', 'po2', 'po2')
    """
    name = name.lower().replace(" ", "")
    for long, short in (("ten", "te"), ("", "gi")):
        name = re.sub(rf"^{long}gigabitethernet", short, name)
    return re.sub(r"^(port-channel|ch)(?=\d)", "po", re.sub(r"^ethernet", "", name))


def interfaces(text: str) -> list[str]:
    """Return the interfaces of a list: g(1-3,5), 1/g1-1/g3,1/g5, gigabitethernet1/0/1-4, port-channel 1-2.

    >>> interfaces("ethernet g(1-2,5)"), interfaces("port-channel 1-2")
    (['g1', 'g2', 'g5'], ['po1', 'po2'])
    """
    text = re.sub(r"([\w/]+)\(([\d,-]+)\)", lambda m: ",".join(m[1] + part for part in m[2].split(",")), text)
    found, kind = [], ""
    for part in text.split(","):
        first, _, last = part.partition("-") if "port-channel" not in part else part[12:].strip().partition("-")
        first = canonical(f"port-channel{first}" if "port-channel" in part else first)
        if first.isdigit():
            first = kind + first
        match = re.fullmatch(r"(po|g|e|[gt][ie][1-8]/\d/|[1-8]/(?:x?g|e))(\d+)", first)
        if match is None:
            raise ValueError(f"no interface: {part!r}")
        kind, low = match[1], int(match[2])
        high = re.fullmatch(r"(.*?)(\d+)", canonical(last)) if last else None
        if last and (high is None or high[1] not in ("", kind) or int(high[2]) < low):
            raise ValueError(f"no range: {part!r}")
        found += [f"{kind}{n}" for n in range(low, int(high[2]) + 1 if high else low + 1)]
    return found


def vlan_numbers(text: str, last: int) -> list[int]:
    """Return the VLANs of a list such as 2-4,7; raises ValueError for others than 1 to `last`."""
    found = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1) or [0]  # not from high to low
    if not found or not all(1 <= vlan <= last for vlan in found):
        raise ValueError(f"no VLANs: {text!r}")
    return found


@dataclass
class Port:
    """What a port or port-channel was told; as from the factory: access mode, in VLAN 1, all let in."""

    mode: str = "access"
    access: int = DEFAULT_VLAN
    pvid: int = DEFAULT_VLAN
    member: dict[int, str] = field(default_factory=lambda: {DEFAULT_VLAN: "untagged"})
    takes: str = "all"
    filtering: bool = True
    shut: bool = False
    spanning_tree: bool = True
    negotiates: bool = True
    speed: int = 0
    bundle: str = ""


@dataclass
class Switch:
    """The tables of one switch."""

    family: str
    vlans: set[int] = field(default_factory=lambda: {DEFAULT_VLAN})
    ports: dict[str, Port] = field(default_factory=dict)
    entries: dict[tuple[int, str], set[str]] = field(default_factory=dict)
    spanning_tree: bool = True
    refused: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)

    def port(self, name: str) -> Port:
        """Return a port, as from the factory if no line named it."""
        return self.ports.setdefault(name, Port())

    def members(self, name: str) -> dict[int, str]:
        """Return the VLANs a port is in, and how their frames leave it."""
        port = self.port(name)
        if port.mode == "access":
            return {port.access: "untagged"} if port.access in self.vlans else {}
        return {vlan: how for vlan, how in port.member.items() if vlan in self.vlans}

    def pvid(self, name: str) -> int:
        """Return the VLAN of a port's untagged frames: 1 where its own is gone (5548P guide p. 471, N2000 p. 648)."""
        port = self.port(name)
        wanted = port.access if port.mode == "access" else port.pvid
        return wanted if wanted in self.vlans or wanted == DISCARD else DEFAULT_VLAN


MAC = r"((?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4})"
PORTS = r"((?:ethernet |(?:ten)?gigabitethernet ?|gi(?=\d)|te(?=\d)|port-channel ?)\S+)"
WITHOUT_EFFECT = (  # on what frames do between hosts
    r"name \S+|description .*|hostname .*|no name|lldp .*|ip address .*|snmp-server .*|username .*|logging .*|sntp .*"
    r"|(no )?flowcontrol( on| off| auto)?|(no )?eee enable|(no )?green-mode eee|(no )?bridge aging-time( \d+)?"
    r"|(no )?mac address-table aging-time( \d+)?|duplex full|mtu \d+"
)


def read(text: str, family: str) -> Switch:
    """Return the tables that a text makes; `family` is "ros" or "fastpath"."""
    switch = Switch(family)
    reader = _Reader(switch)
    for raw in text.splitlines():
        line = " ".join(raw.lower().split())
        if line and not line.startswith("!"):
            reader.take(line)
    for name, port in switch.ports.items():  # what names a VLAN that was never made was not taken
        missing = [vlan for vlan in (*port.member, port.pvid, port.access) if vlan not in {*switch.vlans, DISCARD}]
        switch.refused += [f"{name}: VLAN {vlan} was not created" for vlan in missing]
    switch.refused += [f"entry: VLAN {vlan} was not created" for vlan, _ in switch.entries if vlan not in switch.vlans]
    return switch


class _Reader:
    """Where in a text we are: outside, config, vlan database, or among the lines of interfaces or VLANs."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.place = "config"
        self.named: list[str] = []
        self.vlans: list[int] = []

    def take(self, line: str) -> None:
        try:
            known = self._enters(line) or self._takes(line) or self._falls_through(line)
        except ValueError:  # a list that is none
            known = False
        if not known and (self.place == "outside" or not re.fullmatch(WITHOUT_EFFECT, line)):
            self.switch.refused.append(line)

    def _falls_through(self, line: str) -> bool:
        """Take a line of the whole switch that stands within a block."""
        if self.place in ("config", "outside"):
            return False
        place, self.place = self.place, "config"
        taken = self._enters(line) or self._takes(line)
        if not taken or (self.switch.family == "ros" and self.place == "config"):
            self.place = place  # whether the block goes on behind a line of the whole switch is nowhere said
        if not taken:
            return False
        if self.switch.family != "ros":  # ROS prints blocks that end with a comment only (Eltex, the same code)
            self.switch.misplaced.append(line)
        return taken

    def _enters(self, line: str) -> bool:
        last = LAST_VLAN[self.switch.family]
        if line in ("exit", "end"):
            if self.place == "outside":
                return True  # ends the conversation; what follows is misplaced
            if self.place == "config" and self.switch.family == "ros":
                self.switch.misplaced.append(line)
            elif self.place == "config":
                self.place = "outside"
            else:
                self.place = "config"
            return True
        if line in ("configure", "configure terminal") and self.place in ("config", "outside"):
            self.place = "config"  # FASTPATH prints it at the head
            return True
        if self.place == "outside":
            self.place = "config"  # an exit too many
            self.switch.misplaced.append(line)
        vlan = re.fullmatch(r"vlan ([\d,-]+)", line) if self.switch.family == "fastpath" else None
        if self.place != "config" and not (vlan and self.place == "vlans"):  # OS6 prints one list on several lines
            return False
        if line == "vlan database":
            self.place = "vlan database"
        elif match := re.fullmatch(r"interface vlan (\d+)", line):
            self.vlans, self.place = vlan_numbers(match[1], last), "interface vlan"
        elif match := re.fullmatch(rf"interface (?:range )?{PORTS}", line):
            self.named, self.place = interfaces(match[1]), "interface"
            if len(self.named) > 1 and " range " not in line:
                raise ValueError(line)
        elif vlan:
            self.vlans, self.place = vlan_numbers(vlan[1], last), "vlans"  # OS6: creates, and enters
            self.switch.vlans.update(self.vlans)
        else:
            return False
        return True

    def _takes(self, line: str) -> bool:
        if self.place == "config":
            return self._of_the_switch(line)
        if self.place == "vlan database":
            return self._of_the_database(line)
        if self.place in ("interface vlan", "vlans"):
            return self._of_a_vlan(line)
        return self.place == "interface" and self._of_ports(line)

    def _of_the_switch(self, line: str) -> bool:
        if line in ("spanning-tree", "no spanning-tree"):
            self.switch.spanning_tree = line == "spanning-tree"
            return True
        if match := re.fullmatch(rf"mac address-table static {MAC} vlan (\d+) interface {PORTS}( permanent)?", line):
            (vlan,) = vlan_numbers(match[2], LAST_VLAN[self.switch.family])
            return self._entry(vlan, match[1], match[3])
        if match := re.fullmatch(rf"no mac address-table static {MAC} vlan (\d+)", line):
            return self.switch.entries.pop((int(match[2]), _mac(match[1])), None) is not None
        return False

    def _of_the_database(self, line: str) -> bool:
        match = re.fullmatch(r"(no )?vlan ([\d,-]+)", line)
        if match is None:
            return False
        vlans = vlan_numbers(match[2], LAST_VLAN[self.switch.family])
        if match[1]:
            self.switch.vlans.difference_update(vlans)
        else:
            self.switch.vlans.update(vlans)
        return True

    def _of_a_vlan(self, line: str) -> bool:
        for pattern in (rf"bridge address {MAC} (?:permanent )?{PORTS}", rf"bridge address {MAC} {PORTS} permanent"):
            if match := re.fullmatch(pattern, line):
                for vlan in self.vlans:
                    self._entry(vlan, match[1], match[2])
                return True
        if match := re.fullmatch(rf"no bridge address {MAC}", line):
            gone = [self.switch.entries.pop((vlan, _mac(match[1])), None) for vlan in self.vlans]
            return None not in gone
        return False

    def _entry(self, vlan: int, mac: str, ports: str) -> bool:
        if self.switch.entries.get((vlan, _mac(mac)), set(interfaces(ports))) != set(interfaces(ports)):
            self.switch.unclear.append(
                f"{mac} in VLAN {vlan} again: {ports}"
            )  # replaced, added or refused: nowhere said
        self.switch.entries[vlan, _mac(mac)] = set(interfaces(ports))
        return True

    def _of_ports(self, line: str) -> bool:
        last = LAST_VLAN[self.switch.family]
        if match := re.fullmatch(r"switchport general allowed vlan (add|remove) ([\d,-]+)( tagged| untagged)?", line):
            vlans, how = vlan_numbers(match[2], last), (match[3] or "").strip()
            if match[1] == "add" and not how and self.switch.family == "ros":
                self.switch.unclear.append(line)  # ROS prints the keyword; what it takes without one is nowhere said
            for name in self.named:
                port = self.switch.port(name)
                for vlan in vlans:
                    if match[1] == "add":
                        port.member[vlan] = how or "untagged"
                    else:
                        port.member.pop(vlan, None)
            return match[1] == "add" or not how
        changes = {
            r"switchport mode (general|access)": lambda p, m: setattr(p, "mode", m[1]),
            r"switchport forbidden default-vlan": lambda p, _: p.member.pop(DEFAULT_VLAN, None),
            r"switchport access vlan (\d+)": lambda p, m: setattr(p, "access", vlan_numbers(m[1], last)[0]),
            r"switchport general pvid (\d+)": lambda p, m: setattr(p, "pvid", _pvid(m[1], last)),
            r"no switchport general pvid": lambda p, _: setattr(p, "pvid", DEFAULT_VLAN),
            r"(no )?switchport general ingress-filtering disable": lambda p, m: setattr(p, "filtering", bool(m[1])),
            r"switchport general acceptable-frame-type (tagged-only|untagged-only|all)": lambda p, m: setattr(
                p, "takes", m[1].removesuffix("-only")
            ),
            r"no switchport general acceptable-frame-type( (un)?tagged-only)?": lambda p, _: setattr(p, "takes", "all"),
            r"(no )?shutdown": lambda p, m: setattr(p, "shut", not m[1]),
            r"(no )?spanning-tree disable": lambda p, m: setattr(p, "spanning_tree", bool(m[1])),
            r"(no )?negotiation": lambda p, m: setattr(p, "negotiates", not m[1]),
            r"speed (10|100|1000)": lambda p, m: setattr(p, "speed", int(m[1])),
            r"no speed": lambda p, _: setattr(p, "speed", 0),
            r"no channel-group": lambda p, _: setattr(p, "bundle", ""),
            r"channel-group (\d+) mode on": lambda p, m: setattr(p, "bundle", f"po{m[1]}"),
        }
        if self.switch.family == "fastpath" and "untagged-only" in line:
            return False  # tagged-only alone is known of FASTPATH (N2048)
        for pattern, change in changes.items():
            if match := re.fullmatch(pattern, line):
                for name in self.named:
                    change(self.switch.port(name), match)
                return not (line.startswith("channel-group") and any(name.startswith("po") for name in self.named))
        return False


def _mac(text: str) -> str:
    return re.sub(r"[:.]", "", text)


def _pvid(text: str, last: int) -> int:
    return DISCARD if int(text) == DISCARD else vlan_numbers(text, last)[0]
