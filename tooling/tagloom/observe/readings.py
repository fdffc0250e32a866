"""Read every switch of a fabric over SNMP, and report what the readings show."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.errors import DeviceError, Finding
from tagloom.observe.compare import disagreements
from tagloom.observe.factory_tables import doubtful, judged_by_command_line
from tagloom.observe.interpret import interpret, own_name_doubted
from tagloom.observe.objects import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation, Rates
    from tagloom.records.snmp import Address, Ask, Wanted
    from tagloom.records.switch_state import FabricState


def observe_all(
    fabric: Fabric,
    agents: Mapping[str, Address],
    ask: Ask,
    wanted: Wanted = EVERYTHING,
    only: Collection[str] | None = None,
) -> dict[str, Observation]:
    """Return a reading of every switch of a fabric that is not dead, or of `only` some; a failed one has an error."""
    places = {s.name: agents[s.name] for s in fabric.live if only is None or s.name in only}
    found = {}
    for name, raw in ask(places, wanted).items():
        number = fabric.index[name]
        platform = platforms.load(fabric.switches[number].model)
        shown = interpret(name, raw, platform, fabric.used_ports[number])
        found[name] = own_name_doubted(name, shown, fabric.index.keys())
    return found


def findings_of(
    witnesses: Sequence[tuple[Fabric, FabricState]],
    seen: Mapping[str, Observation],
    running: Callable[[Collection[str]], FabricState],
) -> tuple[dict[str, Observation], list[Finding]]:
    """Return the readings as judged, and their differences from each witness.

    Switches that show factory values although a witness has VLANs are judged by their command line, which `running`
    reads. A command line that cannot be read is a finding.
    """
    doubted = {name for _, states in witnesses for name in doubtful(states, seen)}
    judged, findings = dict(seen), list[Finding]()
    try:
        judged = judged_by_command_line(seen, running(doubted)) if doubted else judged
    except DeviceError as error:
        actual = f"factory values over SNMP, and the command line of {error.switch} cannot be read: {error.text}"
        findings += [Finding(f"{name}: VLANs", "a table that shows them", actual) for name in sorted(doubted)]
    findings += [finding for both in witnesses for finding in disagreements(*both, judged)]
    return judged, findings


def snapshot_payload(
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
