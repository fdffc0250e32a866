"""Check a build's certificate against its configuration texts: python3 tooling/check_certificate.py BUILD.

Reads fabric.yml (the form `tagloom plan` writes, a line for each part), configs/*.cfg (lines tagloom writes for
PowerConnect 53xx and 62xx; any other is a no) and plan.json's ranks; shares no code with tagloom. Carries every pair's
frame and every broadcast by the texts (IEEE 802.1Q). Yes: each pair is delivered and flooded nowhere, each broadcast
reaches each other host once and never its sender, and a frame that holds one channel (the end it left a switch by)
waits for channels of higher rank alone: no circle of frames waits for itself (Dally and Seitz 1987), no copy goes
round; no link that is declared down is used. Table sizes are not checked. Exit: 0 yes, 1 no, 2 unreadable input.
"""

import heapq
import json
import re
import sys
from collections import Counter
from pathlib import Path

BROADCAST, DISCARD, NUMBERS = "ffffffffffff", "4095", {str(n): n for n in range(100_000)}
FACTORY = {"pvid": 1, "general": False, "shut": False, "filters": True, "refuses": "", "spanning tree": True}
PORT_LINES = {
    "switchport mode general": {"general": True},
    "switchport general ingress-filtering disable": {"filters": False},
    "switchport general acceptable-frame-type tagged-only": {"refuses": "untagged"},
    "switchport general acceptable-frame-type untagged-only": {"refuses": "tagged"},
    "shutdown": {"shut": True},
    "no negotiation": {"negotiates": False},
    **{f"speed {mbps}": {"speed": mbps} for mbps in (10, 100, 1000)},
    "spanning-tree disable": {"spanning tree": False},
}
MEMBERS = re.compile(r"switchport general allowed vlan (add|remove) ([\d,-]+)(?: (tagged|untagged))?")
ENTRY = re.compile(r"bridge address ([\da-fA-F:.]{14,17}) ethernet (\S+)(?: permanent)?")
HARMLESS = re.compile(r"|!.*|configure|name .*|flowcontrol.*|duplex full|bridge aging-time \d+")
HOST = re.compile(r'  (\S+): \{switch: (\S+), port: "([^"]+)", mac: "([^"]+)"\}')
LINK = re.compile(r'  - (?:\{ends: )?\["([^":]+):([^"]+)", "([^":]+):([^"]+)"\](.*)')


def numbers(text):
    """Read 2-4,8 as 2, 3, 4, 8."""
    return [n for run in text.split(",") for n in range(NUMBERS[run.split("-")[0]], NUMBERS[run.split("-")[-1]] + 1)]


def port_names(text):
    """Read g3 or g(1-3,5) or 1/g1-1/g3,1/g5 as the names of ports."""
    return [f"{g}{n}" for g in re.findall(r"^\d+/g|^g", text) for n in numbers(text.replace(g, "").strip("()"))]


def read_switch(name, text, names):  # noqa: C901, PLR0912 - a branch for each kind of line
    """Do a text's lines; return ports, members (VLAN -> port -> how frames leave), entries ((VLAN, MAC) -> ports)."""
    ports, members, entries = {p: dict(FACTORY) for p in names}, {1: dict.fromkeys(names, "untagged")}, {}
    inside, at, plain = "", [], "untagged" if text.startswith("!Current") else "tagged"  # no keyword: FASTPATH, ROS
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        try:
            here = [ports[port] for port in at] if inside == "ports" else []
            if line.startswith("switchport general") and not (here and all(port["general"] for port in here)):
                raise ValueError
            if line in {"exit", "vlan database"}:
                inside, at = line, []
            elif m := re.fullmatch(r"interface vlan (\d+)", line):
                inside, at = "vlan", [vlan for vlan in numbers(m[1]) if members[vlan]]
            elif m := re.fullmatch(r"interface (?:range )?ethernet (\S+)", line):
                inside, at = "ports", port_names(m[1])
            elif inside == "vlan database" and (m := re.fullmatch(r"vlan ([\d,-]+)", line)):
                members = {vlan: dict.fromkeys(names, "") for vlan in numbers(m[1])} | members
            elif inside == "vlan" and (m := ENTRY.fullmatch(line)):
                entries[at[0], re.sub("[:.]", "", m[1]).lower()] = port_names(m[2])
            elif m := MEMBERS.fullmatch(line):
                for vlan in numbers(m[2]):
                    members[vlan].update(dict.fromkeys(at, (m[3] or plain) if m[1] == "add" else ""))
            elif m := re.fullmatch(r"switchport general pvid (\d+)", line):
                for port in here:
                    port["pvid"] = int(m[1]) if m[1] == DISCARD or members[int(m[1])] else 0
            elif line == "no spanning-tree" or (here and line in PORT_LINES):
                for port in here or ports.values():
                    port.update(PORT_LINES.get(line, {"spanning tree": False}))
            elif not HARMLESS.fullmatch(line):
                raise ValueError
        except (ValueError, LookupError, TypeError):
            sys.exit(f"no: {name}.cfg:{number}: not understood at its place: {line!r}")
    if any(port["spanning tree"] for port in ports.values()):
        sys.exit(f"no: {name}.cfg: spanning tree is on, and may block a path")
    return ports, members, entries


def read(build):
    """Read cables (end -> end: switch, port), hosts (end -> MAC), switches, ranks (end that is up -> rank)."""
    far, hosts, names, down = {}, {}, {}, set()
    for line in (build / "fabric.yml").read_text("utf-8").splitlines():
        if m := HOST.fullmatch(line):
            hosts[m[2], m[3]] = re.sub("[:.]", "", m[4])
        elif m := LINK.fullmatch(line):
            far.update({(m[1], m[2]): (m[3], m[4]), (m[3], m[4]): (m[1], m[2])})
            down.update([(m[1], m[2]), (m[3], m[4])] if re.search("state: (down|dead)", m[5]) else [])
        elif line.startswith(" ") and "{model: " not in line:
            raise ValueError(f"fabric.yml is not in the regular form: {line!r}")
    for switch, port in [*hosts, *far]:
        names.setdefault(switch, []).append(port)
    rows = json.loads((build / "plan.json").read_text("utf-8"))["certificate"]["ranks"]
    found = [(*(tuple(end.split(":")) for end in r[:2]), range(len(far)).index(NUMBERS[repr(r[2])])) for r in rows]
    ranks = {a: rank for a, b, rank in found if far[a] == b and a not in down}
    switches = {n: read_switch(n, (build / "configs" / f"{n}.cfg").read_text("utf-8"), names[n]) for n in names}
    for a, b in far.items():
        one, other = (switches[name][0][port] for name, port in (a, b))
        if not (one["shut"] or other["shut"]) and any(one.get(k) != other.get(k) for k in ("speed", "negotiates")):
            sys.exit(f"no: {':'.join(a)} and {':'.join(b)} are set to different speeds")
    return far, hosts, switches, ranks


def carry(far, hosts, switches, ranks, sources, mac):
    """Carry a frame to `mac` from each of `sources` at once, in order of rank; count the copies each host gets."""
    heard, todo = Counter(), [(-1, end, 0) for end in sources]  # rank of the channel held, that channel, the tag
    copies = Counter(todo)
    while todo:
        now = held, end, tag = heapq.heappop(todo)
        name, came = far.get(end, end)  # a host sends from its own end
        (ports, members, entries), port = switches[name], switches[name][0][came]
        vlan, refused = tag or port["pvid"], port["shut"] or port["refuses"] == ("tagged" if tag else "untagged")
        known = {} if refused else members.get(vlan, {})
        if port["filters"] and not known.get(came):
            vlan, known = None, {}
        pinned = entries.get((vlan, mac))
        if mac != BROADCAST and (pinned is None or len(pinned) != 1):
            sys.exit(f"no: a frame to {mac} is flooded or dropped at {name} from {came}")
        ways = (out for out in (known if pinned is None else pinned) if known.get(out) and not ports[out]["shut"])
        for out in (out for out in ways if out != came):
            if (name, out) in hosts:
                heard[name, out] += copies[now] * (known[out] == "untagged")
            elif not switches[far[name, out][0]][0][far[name, out][1]]["shut"]:
                onward = ranks.get((name, out), -1), (name, out), vlan if known[out] == "tagged" else 0
                if onward[0] <= held:
                    rank = onward[0] if onward[0] >= 0 else "none, as on a link that is declared down"
                    sys.exit(f"no: a frame holds {':'.join(end)} and waits for {name}:{out}: rank {held}, {rank}")
                if onward not in copies:
                    heapq.heappush(todo, onward)
                copies[onward] += copies[now]
    return heard


if __name__ == "__main__":
    try:
        net = read(Path(sys.argv[1]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        print(f"cannot read: {error!r:.200}", file=sys.stderr)
        sys.exit(2)
    for host, address in net[1].items():
        others = [end for end in net[1] if end != host]
        for sources, mac, due in ((others, address, {host: len(others)}), ([host], BROADCAST, others)):
            if carry(*net, sources, mac) != Counter(due):
                sys.exit(f"no: {address}: not every frame to it, or of its broadcasts, is heard exactly once")
    print(f"yes: {len(net[1])} hosts, {len(net[0])} channels")
