"""A rack that lives through a story: what is plugged in, what is dead, and which pairs of hosts miss frames."""

import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import networkx as nx
import yaml

import open_sessions
from command_line import commands
from fabrics import ROOT
from tagloom import pipeline, platforms
from tagloom.adapters.connect import connect
from tagloom.lab import process
from tagloom.lab.device import Device
from tagloom.lab.directory import Order
from tagloom.read.fabric_text import format_fabric
from tagloom.records.change import difference
from tagloom.records.fabric import Host
from tagloom.render import render_commands
from telling import united


@dataclass
class Watched:
    """What the rack's hosts saw during a command: the pairs that worked before, those of them that missed frames."""

    worked: set = field(default_factory=set)
    cut: set = field(default_factory=set)
    storm: str = ""


class StoryRack:
    """All boxes and cables of a story, run as one rack; fabrics of the story know boxes by their addresses."""

    def __init__(self, home, fabrics, *, by_ansible=False):
        self.home, self.directory = home, home / "rack"
        self.first = None if by_ansible else partial(open_sessions.use, self.directory)
        self.union = united(fabrics)
        boxes = list(dict.fromkeys(switch.address for fabric in fabrics for switch in fabric.switches))
        self.index = {address: s for s, address in enumerate(boxes)}
        self.info = process.up(Order(self.union, ROOT / "templates"), self.directory)
        self.agents = yaml.safe_load((self.directory / "snmp.yml").read_text())
        self.dead_links, self.dead_boxes = set(), set()

    # --- names ---

    def box(self, switch):
        """Return the number of the box that a switch of the story is."""
        return self.index[switch.address]

    def named(self, switch):
        """Return how the rack calls it."""
        return f"box{self.box(switch)}"

    def file(self, fabric):
        """Return a fabric as its operator writes it, with the addresses that the rack has."""
        switches = (replace(s, address=f"127.0.0.1:{self.info.ports[self.named(s)]}") for s in fabric.switches)
        return replace(fabric, switches=tuple(switches))

    def write_inventory(self, fabric, *others):
        """Write an inventory of a fabric, and of switches that others alone have, with their cables."""
        whole = fabric
        for other in others:
            known = {switch.address for switch in whole.switches}
            more = [s for s, x in enumerate(other.switches) if x.address not in known and x.name not in whole.index]
            whole = replace(
                whole,
                switches=(*whole.switches, *(other.switches[s] for s in more)),
                ports=(*whole.ports, *(other.ports[s] for s in more)),
            )
            at = {switch.address: s for s, switch in enumerate(whole.switches)}
            for link in other.links:
                a, b = (at.get(other.switches[s].address) for s in (link.a, link.b))
                if {link.a, link.b} & {*more} and a is not None and b is not None:
                    used = link.a_port in whole.used_ports[a] or link.b_port in whole.used_ports[b]
                    links = () if used else (replace(link, a=a, b=b, parallel_link=0),)
                    whole = replace(whole, links=(*whole.links, *links))
        (self.directory / "fabric.yml").write_text(format_fabric(self.file(whole)), "utf-8")
        agents = {switch.name: self.agents["addresses"][self.named(switch)] for switch in whole.switches}
        (self.directory / "snmp.yml").write_text(yaml.safe_dump({**self.agents, "addresses": agents}), "utf-8")

    # --- what happens to it ---

    def pull(self, fabric, link):
        """Pull the cable of a link."""
        port = platforms.of(fabric.switches[link.a]).port_name(link.a_port)
        process.fault(self.directory, self.named(fabric.switches[link.a]), "cable", port=port)
        self.dead_links.add(self.ends(fabric, link))

    def kill(self, switch):
        """Take a switch's power away."""
        process.fault(self.directory, self.named(switch), "reboot", lasts=36_000.0)
        self.dead_boxes.add(self.box(switch))

    def mend(self):
        """Bring back all that is dead: cables, and switches with the configurations that they start with."""
        process.mend(self.directory)
        self.dead_links, self.dead_boxes = set(), set()

    def ends(self, fabric, link):
        """Return both ends of a link as (box, port)."""
        places = ((link.a, link.a_port), (link.b, link.b_port))
        return frozenset((self.box(fabric.switches[s]), port) for s, port in places)

    def type_state(self, fabric, change):
        """Let a hand type what `change` makes of the states of switches, by name, and save it."""
        renamed = replace(fabric, switches=tuple(replace(s, name=self.named(s)) for s in fabric.switches))
        held = pipeline.parse(renamed, process.configurations(self.directory))[0]
        now = {switch.name: held[self.named(switch)] for switch in fabric.switches}
        for name, state in change(now).items():
            if state == now[name]:
                continue
            switch = fabric.switches[fabric.index[name]]
            platform, box = platforms.of(switch), self.named(switch)
            with connect(box, platform, open_sessions.access_of(self.directory, self.info.ports[box])) as wire:
                wire.send(render_commands(platform, difference(now[name], state), now[name]))
                wire.save(Device.BOOT if platform.is_shell else "")

    def trip(self, chance):
        """Let one box hang up, or refuse a line, somewhere in what is typed next."""
        box = f"box{chance.randrange(len(self.index))}"
        process.fault(
            self.directory, box, chance.choice(["drop-after", "drop-before", "reject"]), at=chance.randint(1, 25)
        )

    # --- hosts ---

    def plug(self, old, new):
        """Plug in all hosts of two fabrics: those of both by their places, the others as guests; gives the pairs kept.

        A host whose address changes has the old one: what is sent to it is not watched.
        """
        here, there = (
            {(self.box(x.switches[h.switch]), h.port): h for h in x.hosts if x.switches[h.switch].up}
            for x in (old, new)
        )
        moving = {host.mac for host in old.hosts}
        kept, changed, hosts = [], set(), []
        for place in sorted({*here, *there}):
            a, b = here.get(place), there.get(place)
            name = f"{place[0]}:{place[1]}"
            if a and b and (a.mac == b.mac or (a.name == b.name and b.mac not in moving)):
                kept.append(name)
                changed |= {name} if a.mac != b.mac else set()
                hosts.append(Host(name, *place, a.mac))
            else:
                hosts.append(Host(f"guest {name}", *place, (0x02 << 40) + (0xCC << 32) + len(hosts)))
        process.plug(self.directory, hosts)
        return {(a, b) for a in kept for b in kept if a != b and b not in changed}

    @contextmanager
    def watching(self, old, new):
        """Let hosts send while a command runs; gives what they saw, which is whole at the end."""
        kept, seen = self.plug(old, new), Watched()
        ping = process.ping(self.directory)
        heard = process.broadcast(self.directory)["delivered"]
        seen.worked = kept - {tuple(pair) for pair in ping["lost_pairs"]}
        hears = {(a, b) for a, b in seen.worked if heard.get(a, {}).get(b) == 1}
        process.traffic(self.directory, "start")
        yield seen
        page = process.traffic(self.directory, "stop")
        missed = {what: {tuple(pair) for pair in page["unreached"][what]} for what in page["unreached"]}
        seen.cut = (missed["frames"] & seen.worked) | (missed["broadcasts"] & hears)
        seen.storm = page["storm"]

    def lost(self, fabric):
        """Return what is wrong with frames of a fabric at rest: pairs that cables join and that fail, or worse."""
        graph = nx.Graph()
        graph.add_nodes_from({self.box(s) for s in fabric.switches if s.up} - self.dead_boxes)
        for link in fabric.links:
            a, b = (self.box(fabric.switches[s]) for s in (link.a, link.b))
            if link.up and a in graph and b in graph and self.ends(fabric, link) not in self.dead_links:
                graph.add_edge(a, b)
        part = {box: number for number, those in enumerate(nx.connected_components(graph)) for box in those}
        at = {host.name: self.box(fabric.switches[host.switch]) for host in fabric.hosts}
        hosts = [replace(host, switch=at[host.name]) for host in fabric.hosts]
        process.plug(self.directory, hosts)
        ping = process.ping(self.directory)
        lost = [(a, b) for a, b in ping["lost_pairs"] if part.get(at[a], a) == part.get(at[b], b)]
        wrong = [f"{len(lost)} pairs lost: {lost[:4]}"] if lost else []
        wrong += [f"storm: {ping['storm']}"] if ping["storm"] else []
        return wrong + ([f"duplicated: {ping['duplicated'][:4]}"] if ping["duplicated"] else [])

    # --- commands ---

    def run(self, *words):
        """Run a command in a process forked from one that has loaded it: (exit status, JSON page, messages)."""
        done = commands.run([*words, "--json"], self.home, first=self.first)
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr

    def stop(self):
        """End the rack."""
        process.down(self.directory)

    def end(self):
        """End the rack, and remove what it kept."""
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)
