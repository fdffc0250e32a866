"""Lead what switches say over SNMP through the verbs: readings, a second witness, discovery."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tagloom import observe, platforms
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.observe import EVERYTHING, PORTS, Cabling
from tagloom.read import read_fabric
from tagloom.read.fabric_form import NAME
from tagloom.render import read_state
from tagloom.storage.document import read_yaml
from tagloom.units import split_address

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation, Rates
    from tagloom.records.snmp import Address, Raw, Wanted
    from tagloom.records.switch_state import FabricState

    Ask = Callable[[Mapping[str, Address], Wanted], dict[str, Raw]]


def observe_all(
    fabric: Fabric, agents: Mapping[str, Address], ask: Ask, wanted: Wanted = EVERYTHING
) -> dict[str, Observation]:
    """Read every switch of a fabric that is not dead; one that fails has an error."""
    places = {switch.name: agents[switch.name] for switch in fabric.live}
    found = {}
    for name, raw in ask(places, wanted).items():
        number = fabric.index[name]
        platform = platforms.load(fabric.switches[number].model)
        found[name] = observe.interpret(name, raw, platform, fabric.used_ports[number])
    return found


def states_of(fabric: Fabric, texts: Mapping[str, str]) -> FabricState:
    """Return what the texts of some switches say."""
    return {
        switch.name: read_state(platforms.of(switch), texts[switch.name], switch.name, ports)[0]
        for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True)
        if switch.name in texts
    }


def findings_of(
    witnesses: Sequence[tuple[Fabric, FabricState]],
    seen: Mapping[str, Observation],
    running: Callable[[Collection[str]], FabricState],
) -> tuple[dict[str, Observation], list[Finding]]:
    """Return the readings as they were judged, and where they differ from what each witness says.

    Switches that show factory values where a witness has VLANs are judged by their command line, which `running` reads;
    one that cannot be read is a finding.
    """
    doubted = {name for _, states in witnesses for name in observe.doubtful(states, seen)}
    judged, findings = dict(seen), list[Finding]()
    try:
        judged = observe.judged_by_command_line(seen, running(doubted)) if doubted else judged
    except DeviceError as error:
        actual = f"factory values over SNMP, and the command line of {error.switch} cannot be read: {error.text}"
        findings += [Finding(f"{name}: VLANs", "a table that shows them", actual) for name in sorted(doubted)]
    findings += [finding for both in witnesses for finding in observe.disagreements(*both, judged)]
    return judged, findings


def rates_between(before: Mapping[str, Observation], after: Mapping[str, Observation]) -> dict[str, Rates]:
    """Return every switch's rates since an earlier reading; a switch that was not in it has none."""
    return {name: observe.rates(before[name], shown) for name, shown in after.items() if name in before}


def busiest_link(
    fabric: Fabric, agents: Mapping[str, Address], ask: Ask, before: Mapping[str, Observation]
) -> tuple[dict[str, Observation], float | None, str, bool]:
    """Read the ports' counters, and find the busiest channel between switches since an earlier reading.

    Gives the reading; the share of its speed that the channel carried, None where no link's rate is known; the port
    where that was seen; and whether every link that is up was seen at one end at least.
    """
    seen = observe_all(fabric, agents, ask, PORTS)
    shares = {
        (name, port.number): (port.utilisation, f"{name}:{port.name}")
        for name, rates in rates_between(before, seen).items()
        for port in rates.ports
        if port.utilisation is not None
    }
    known: list[tuple[float, str]] = []
    complete = True
    for link in fabric.links:
        for a, b in link.cables if link.up else ():
            ends = [(fabric.switches[link.a].name, a), (fabric.switches[link.b].name, b)]
            heard = [shares[end] for end in ends if end in shares]
            known += heard
            complete &= bool(heard)
    share, where = max(known, default=(None, ""))
    return seen, share, where, complete


def agents_of(fabric: Fabric, addresses: Mapping[str, str], port: int) -> dict[str, Address]:
    """Return where every switch's agent is: its own address of the SNMP settings, else where it is managed.

    Raises InputError for addresses of switches that do not exist.
    """
    strangers = [name for name in addresses if name not in fabric.index]
    if strangers:
        raise InputError(Finding(f"snmp.addresses.{name}", "a switch of the fabric", name) for name in strangers)
    found = {}
    for switch in fabric.switches:
        if switch.name in addresses:
            found[switch.name] = place(addresses[switch.name], port, f"snmp.addresses.{switch.name}")
        else:  # the port of a management address is SSH's
            found[switch.name] = split_address(switch.address or switch.name)[0], port
    return found


def place(text: str, port: int, where: str) -> Address:
    """Read where an agent is: ``host``, ``host:port`` or ``[2001:db8::1]:port``. Raises InputError for anything else.

    >>> place("192.0.2.1", 161, "--seed"), place("[2001:db8::1]:1161", 161, "--seed")
    (('192.0.2.1', 161), ('2001:db8::1', 1161))
    """
    try:
        host, number = split_address(text)
    except ValueError:
        raise InputError([Finding(where, "HOST or HOST:PORT", repr(text))]) from None
    return host, number or port


def check_discovery(name: str, model: str | None) -> None:
    """Check the words a discovery is given. Raises InputError with everything wrong with them."""
    found = []
    if not re.fullmatch(NAME, name):
        found.append(Finding("--name", "letters, digits, dot, hyphen, underscore", repr(name)))
    if model is not None and model not in platforms.models():
        found.append(Finding("--model", "one of " + ", ".join(platforms.models()), repr(model)))
    if found:
        raise InputError(found)


def fabric_of(inventory: Path) -> Fabric:
    """Read the fabric file of an inventory. Raises InputError where there is none."""
    return read_fabric(fabric_path(inventory))


def fabric_path(inventory: Path) -> Path:
    """Return where the fabric file of an inventory is: the one its tagloom.yml names. Raises InputError."""
    payload = inventory / "tagloom.yml" if inventory.is_dir() else inventory
    named = read_yaml(payload, "an inventory of tagloom's")
    name = named.get("fabric", "fabric.yml") if isinstance(named, dict) else "fabric.yml"
    return payload.parent / str(name)


def payload(
    seen: Mapping[str, Observation], carried: Mapping[str, Rates], findings: Sequence[Finding], at: float
) -> dict[str, Any]:
    """Return a snapshot with the keys of the command line."""
    return {
        "at": at,
        "switches": {name: shown.to_json() for name, shown in seen.items()},
        "rates": {name: asdict(each) for name, each in carried.items()},
        "failed": [name for name, shown in seen.items() if shown.error],
        "findings": [finding.to_json() for finding in findings],
    }


def discovery_payload(found: Cabling, plan: Fabric | None) -> dict[str, Any]:
    """Return a discovery with the keys of the command line."""
    missing, unexpected = observe.differences(plan, found.fabric, found.silent) if plan is not None else ((), ())
    return {
        "switches": len(found.fabric.switches),
        "links": len(found.fabric.links),
        "hosts": len(found.fabric.hosts),
        "missing": list(missing),
        "unexpected": list(unexpected),
        "unreached": [asdict(each) for each in found.unreached],
        "complaints": list(found.complaints),
    }
