"""Try every interleaving of line positions one by one, with only dicts and sets: the oracle of the proof."""

import itertools

from tagloom.records.change import apply_changes
from tagloom.records.switch_state import BROADCAST, Frames, Membership

MAX_HOPS = 64


class Bridge:
    """One switch after some of its lines."""

    def __init__(self, state):
        self.members = {
            vlan: {port: Membership(how) for port, how in enumerate(row, start=1) if how}
            for vlan, row in zip(state.vlans.tolist(), state.membership.tolist(), strict=True)
        }
        self.pvid, self.on = state.pvid.tolist(), state.enabled.tolist()
        self.frames, self.filters = state.frames.tolist(), state.ingress_filter.tolist()
        self.floods = state.flooding.tolist()
        self.entries = {}
        for vlan, mac, port in zip(
            state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True
        ):
            self.entries.setdefault((vlan, mac), set()).add(port)

    def step(self, port, tag, mac):
        """Return the egresses as [(port, tag)], or None if the frame is dropped on arrival; also whether pinned."""
        vlan = tag or self.pvid[port - 1]
        takes = self.frames[port - 1]
        if not self.on[port - 1] or takes == (Frames.UNTAGGED_ONLY if tag else Frames.TAGGED_ONLY):
            return None, False
        members = self.members.get(vlan)
        if members is None or (self.filters[port - 1] and port not in members):
            return None, False
        pinned = self.entries.get((vlan, mac))
        out = [
            (q, vlan if how is Membership.TAGGED else 0)
            for q, how in members.items()
            if q != port and self.on[q - 1] and (self.floods[q - 1] if pinned is None else q in pinned)
        ]
        return out, pinned is not None


class Oracle:
    def __init__(self, fabric, bridges):
        """Take by switch the list of its Bridges, position by position."""
        self.fabric, self.bridges = fabric, bridges
        self.links = {}
        for c in range(len(fabric.tail)):
            self.links[int(fabric.tail[c]), int(fabric.tail_port[c])] = (
                c,
                int(fabric.head[c]),
                int(fabric.head_port[c]),
            )
        self.hosts = {(h.switch, h.port): i for i, h in enumerate(fabric.hosts)}

    @property
    def mixtures(self):
        count = 1
        for each in self.bridges:
            count *= len(each)
        return count

    def all_positions(self):
        return itertools.product(*(range(len(each)) for each in self.bridges))

    def unicast(self, a, b, at):
        """Follow one frame, `at(switch)` being the position met there; return (good, turns taken)."""
        host, mac = self.fabric.hosts[a], self.fabric.hosts[b].mac
        s, port, tag, held, turns = host.switch, host.port, 0, None, set()
        for _ in range(MAX_HOPS):
            out, pinned = self.bridges[s][at(s)].step(port, tag, mac)
            ways = [] if out is None else self._ways(s, out, at)
            if not pinned or len(ways) != 1:
                return False, turns
            (q, tag), link = ways[0]
            if link is None:
                return self.hosts[s, q] == b and not tag, turns
            if held is not None:
                turns.add((held, link[0]))
            held, s, port = link
        return False, turns

    def _ways(self, s, out, at):
        """Return the egresses that lead to a host or over a link whose far end is on."""
        ways = []
        for q, tag in out:
            link = self.links.get((s, q))
            if link is not None:
                if self.bridges[link[1]][at(link[1])].on[link[2] - 1]:
                    ways.append(((q, tag), link))
            elif (s, q) in self.hosts:
                ways.append(((q, tag), None))
        return ways

    def broadcast(self, a, at, mac=BROADCAST):
        """Follow every copy; return (storm, copies by host, turns)."""
        host = self.fabric.hosts[a]
        copies, turns = [0] * len(self.fabric.hosts), set()
        open_, storm = set(), []

        def follow(s, port, tag, held):
            key = (s, port, tag)
            if key in open_:
                storm.append(key)
                return
            open_.add(key)
            out, _ = self.bridges[s][at(s)].step(port, tag, mac)
            for (q, out_tag), link in self._ways(s, out, at) if out is not None else ():
                if link is None:
                    copies[self.hosts[s, q]] += not out_tag
                else:
                    if held is not None:
                        turns.add((held, link[0]))
                    follow(link[1], link[2], out_tag, link[0])
                if storm:
                    return
            open_.discard(key)

        follow(host.switch, host.port, 0, None)
        return bool(storm), copies, turns

    def frozen(self, positions):
        """Judge one frozen interleaving; return (unicasts good, broadcasts exactly once, storm, turns)."""
        at = positions.__getitem__
        hosts = range(len(self.fabric.hosts))
        turns, good, once, storms = set(), True, True, False
        for a in hosts:
            for b in hosts:
                if a != b:
                    fine, taken = self.unicast(a, b, at)
                    good &= fine
                    turns |= taken
            storm, copies, taken = self.broadcast(a, at)
            other = self.broadcast(a, at, mac=None)  # another group address: no entry narrows it
            storms |= storm or other[0]
            once &= copies == [int(b != a) for b in hosts]
            turns |= taken | other[2]
        return good, once, storms, turns


def bridges_of(state, lines):
    """Return a switch before the first and after each of `lines`, which are lists of changes."""
    found = [Bridge(state)]
    for changes in lines:
        state = apply_changes(state, tuple(changes))
        found.append(Bridge(state))
    return found
