"""Discover switches by LLDP, hop by hop, and build a fabric from their answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import DeviceError, Finding, InputError, one_of
from tagloom.observe.cabling import FABRIC_NAME, Cabling, Unreached, cabling_of, next_agents, read_as_hosts
from tagloom.observe.chassis import with_one_id_each
from tagloom.observe.interpret import interpret, no_switch
from tagloom.observe.models import model_of
from tagloom.observe.objects import LINKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation
    from tagloom.records.snmp import Address, Ask, Raw

SEED = "seed"
DISCOVERED = 10_000  # switches that are asked: an agent may report new ones for ever


@dataclass(slots=True)
class _Walk:
    """The state of a discovery, by chassis id."""

    found: dict[str, Observation] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    unreached: list[Unreached] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)
    agents: dict[Address, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def take(self, key: str, called: str, raw: Raw, address: Address, model: str | None) -> str:
        """Add one answer; return why it is not a switch of the fabric, or "".

        A switch that neighbours report by another chassis id than its agent has is known by its name, `called`.
        """
        if raw.error:
            return raw.error
        is_a, unknown = model_of(raw, model)
        if unknown:
            return unknown
        platform = platforms.load(is_a)
        if why := no_switch(raw, platform):
            return why
        shown = interpret(key, raw, platform)
        seed = key.startswith(SEED)
        if not seed and shown.chassis and shown.chassis != key:
            if not called or shown.name != called:
                return f"the agent at {address[0]} is {shown.name or shown.chassis}, not this switch"
            self.aliases[key] = shown.name
        chassis = shown.chassis or key
        if self.agents.setdefault(address, chassis) != chassis:
            return f"the agent at {address[0]} said before that it is another switch"
        self.reported.add(chassis)
        if chassis not in self.found:
            self.found[chassis], self.models[chassis], self.addresses[chassis] = shown, is_a, address[0]
        return ""

    def cabling(self, name: str, plan: Fabric | None) -> Cabling:
        """Return the cabling of the switches found, with what was missing or in doubt."""
        seen = with_one_id_each(self.found)
        by_id: dict[str, str] = {}
        for key, shown in seen.items():
            if by_id.setdefault(shown.chassis, key) != key:
                self.complaints.append(f"{shown.name or key}: has the chassis id of another switch, {shown.chassis}")
        for shown in seen.values():
            self.complaints += [f"{shown.name or shown.chassis}: {words}" for words in shown.complaints]
        left = {each.chassis for shown in seen.values() for each in shown.neighbours}
        self.complaints += [
            f"{called}: neighbours report it by another chassis id, {key}, than its agent has: no link is made of it"
            for key, called in self.aliases.items()
            if key in left
        ]
        cabling = cabling_of(
            name,
            {chassis: seen[key] for chassis, key in by_id.items()},
            {chassis: self.models[key] for chassis, key in by_id.items()},
            {chassis: self.addresses[key] for chassis, key in by_id.items()},
            plan,
        )
        hosts = read_as_hosts(seen.values(), self.models.values(), plan)
        names = {n.chassis: n.name for each in seen.values() for n in each.neighbours if n.name}
        unreached = [
            replace(each, name=names.get(each.name, each.name)) for each in self.unreached if each.name not in hosts
        ]
        return replace(cabling, unreached=tuple(unreached), complaints=(*self.complaints, *cabling.complaints))


def check_discovery(name: str, model: str | None) -> None:
    """Raise InputError with everything wrong with a discovery's arguments."""
    found = []
    if not FABRIC_NAME.fullmatch(name):
        found.append(Finding("--name", "letters, digits, dot, hyphen, underscore", repr(name)))
    if model is not None and not platforms.is_model(model):
        found.append(Finding("--model", one_of(platforms.models(), model), repr(model)))
    if found:
        raise InputError(found)


def discover(
    name: str, seeds: Sequence[Address], ask: Ask, model: str | None = None, plan: Fabric | None = None
) -> Cabling:
    """Return the fabric found from seeds by LLDP, until every reported switch has been asked.

    All switches at one distance are asked at once. Hosts and links of `plan` settle what an announcement leaves open.
    Raises DeviceError if no seed can be read.
    """
    walk = _Walk()
    told_by: dict[str, str] = {}
    ring: dict[str, tuple[tuple[Address, ...], str]] = {
        f"{SEED} {host}:{port}": (((host, port),), SEED) for host, port in seeds
    }
    while ring:
        why = dict.fromkeys(ring, "it tells no management address")
        called = {n.chassis: n.name for each in walk.found.values() for n in each.neighbours}
        left = {key: list(places) for key, (places, _) in ring.items()}
        while asking := {key: places.pop(0) for key, places in left.items() if places}:
            for key, raw in ask(asking, LINKS).items():
                why[key] = walk.take(key, called.get(key, ""), raw, asking[key], model)
                if not why[key]:
                    left[key] = []
        walk.reported |= ring.keys()
        told_by |= {key: teller for key, (_, teller) in ring.items()}
        walk.unreached += [Unreached(key, told_by[key], words) for key, words in why.items() if words]
        if not walk.found:
            raise DeviceError(next(iter(ring)).removeprefix(f"{SEED} "), "", next(iter(why.values())))
        ring = next_agents(walk.found.values(), walk.reported, seeds[0][1])
        if len(walk.reported) + len(ring) > DISCOVERED:
            walk.complaints.append(
                f"{len(walk.reported) + len(ring)} switches are told of: only {DISCOVERED} are asked"
            )
            ring = dict(islice(ring.items(), max(0, DISCOVERED - len(walk.reported))))
    return walk.cabling(name, plan)
