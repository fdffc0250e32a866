"""Convert a forecast to joules, money and CO2, including transitions, switch by switch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import fsum, isfinite
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.platforms.power import link_watts, switch_watts
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.records.forecast import Energy, Figure, SwitchPower

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.platforms import PortWatts
    from tagloom.records.fabric import Fabric
    from tagloom.records.forecast import Forecast

JOULES_PER_KWH = 3.6e6  # exact
YEAR_HOURS = 8766.0  # of 365.25 days
CURRENCY = re.compile(r"[^\W\d_]{0,3}|[€$£¥₹₩]")
TABLE_6 = (
    "both ends at full power for the least seconds a link is known to be away (Koibuchi et al. 2011, tables 2 and 6)"
)


@dataclass(frozen=True, slots=True)
class Rates:
    """The price and emission of a kWh, None if unknown, the watts of one host (0: not counted), the currency."""

    price_per_kwh: float | None = None
    co2_kg_per_kwh: float | None = None
    host_watts: float = 0.0
    currency: str = ""

    @property
    def per_kwh(self) -> tuple[tuple[float, str], ...]:
        """Return what a kWh costs and emits: (amount, unit), as far as given."""
        each = (self.price_per_kwh, self.currency or "of the price's currency"), (self.co2_kg_per_kwh, "kg of CO2")
        return tuple((amount, unit) for amount, unit in each if amount is not None)

    def findings(self) -> list[Finding]:
        """Return a finding for each implausible rate: no grid emits 3 kg per kWh; units are kg, currency and watts."""
        limits = (
            ("--price", self.price_per_kwh, 1000.0, "a price per kWh"),
            ("--co2", self.co2_kg_per_kwh, 3.0, "kilograms per kWh"),
            ("--host-watts", self.host_watts, 100_000.0, "watts of one host"),
        )
        wrong = (
            []
            if CURRENCY.fullmatch(self.currency)
            else [Finding("--currency", "a sign or EUR, JPY, ...", self.currency)]
        )
        return wrong + [
            Finding(where, f"{what}, from 0 to {most:g}", f"{value:g}")
            for where, value, most, what in limits
            if value is not None and not (isfinite(value) and 0 <= value <= most)
        ]


def energy(
    before: Fabric, after: Fabric, found: Forecast, rates: Rates, power: Mapping[str, PortWatts] | None = None
) -> Energy | None:
    """Return the energy to solution before and after, from a forecast's watts and seconds; None without watts.

    The energy after subtracts what EEE saves and adds the transitions of every link that changes, there and back. A
    saving that slows the run can cost more than it saves, because everything that does not sleep runs longer, above all
    the hosts (Saravanan et al. 2013: 15 % more in all).
    """
    eee, watts_before, watts_after = found.eee_saved_watts, found.watts_before, found.watts_after
    if eee is None or watts_before is None or watts_after is None:
        return None
    machines = len(before.one_host_a_port.hosts)
    hosts = rates.host_watts * machines
    base, predicted = found.seconds_base, found.seconds_predicted
    transition = transition_joules(before, after, power)
    run = bool(base.value)

    def joules(watts: float, seconds: float) -> float:
        return (watts + hosts) * seconds

    j_before = joules(watts_before.value, base.value)
    j_after = joules(watts_after.value - eee.value, predicted.value) + transition * run
    least = joules(_low(watts_after) - _high(eee), _low(predicted)) + transition * run
    most = joules(_high(watts_after) - _low(eee), _high(predicted)) + transition * run
    counted = "switches" if not hosts else f"switches and hosts at {rates.host_watts:g} W each"
    source = f"watts x seconds, {counted}"
    before_figure = Figure(
        j_before,
        "J",
        source,
        joules(_low(watts_before), base.value),
        joules(_high(watts_before), base.value),
    )
    after_figure = Figure(
        j_after, "J", f"{source}, less what EEE saves, with the transitions at their least", least, most
    )
    slower = predicted.value - base.value
    spared = watts_before.value * base.value - (watts_after.value - eee.value) * predicted.value
    even = None
    if slower > 0 and before.hosts:
        even_source = "the hosts' watts at which the slow-down costs what is saved, as Saravanan et al. 2013"
        even = Figure(max(0.0, spared / slower / machines), "W", even_source)
    off = found.saved_watts or Figure(watts_before.value - watts_after.value, "W", "")
    year_source, by = f"watts saved x {YEAR_HOURS:g} hours", YEAR_HOURS / 1000
    year = Figure(off.value * by, "kWh", year_source, _low(off) * by, _high(off) * by)
    pays = None
    if transition and off.value > 0:
        pays_source = "transition joules over watts saved"
        pays = Figure(transition / off.value, "s", pays_source, transition / _high(off))

    def per_kwh(figure: Figure, rate: float | None, unit: str, name: str) -> Figure | None:
        if rate is None:
            return None
        by = rate / JOULES_PER_KWH
        return Figure(figure.value * by, unit, f"{name} {rate:g} per kWh", _low(figure) * by, _high(figure) * by)

    return Energy(
        before_figure,
        after_figure,
        Figure(transition, "J", TABLE_6, 0.0, None if transition else 0.0),
        pays,
        year,
        per_kwh(before_figure, rates.price_per_kwh, rates.currency, "--price"),
        per_kwh(after_figure, rates.price_per_kwh, rates.currency, "--price"),
        per_kwh(before_figure, rates.co2_kg_per_kwh, "kg", "--co2"),
        per_kwh(after_figure, rates.co2_kg_per_kwh, "kg", "--co2"),
        even,
        _by_switch(before, after, power),
    )


def transition_joules(before: Fabric, after: Fabric, power: Mapping[str, PortWatts] | None = None) -> float:
    """Return the joules of all link transitions, there and back: the watts of both ends at the higher speed.

    Table 6 has the least seconds of a link that comes up, and of each change of speed; models it does not name count
    none.
    """
    charged = []
    for i, (old, new) in enumerate(zip(before.links, after.links, strict=True)):
        there, back = toggles(old.up, old.speed_mbps, new.up, new.speed_mbps)
        if not there and not back:
            continue
        fast = max(old.speed_mbps or DEFAULT_SPEED_MBPS, new.speed_mbps or DEFAULT_SPEED_MBPS)
        known = [platforms.load(before.switches[s].model).toggle_seconds for s in (old.a, old.b)]
        seconds = sum(max(table.get(kind, 0.0) for table in known) for kind in (there, back) if kind)
        charged.append(seconds * link_watts(before, i, fast, power))
    return fsum(charged)


def toggles(up: bool, speed: int, up_after: bool, speed_after: int) -> tuple[str, str]:
    """Return the names in table 6 of a link's transitions there and back, "" for none: nothing waits for a shutdown."""
    if up != up_after:
        return ("", "on_off") if up else ("on_off", "")
    a, b = speed or DEFAULT_SPEED_MBPS, speed_after or DEFAULT_SPEED_MBPS
    return (f"{a}_{b}", f"{b}_{a}") if up and a != b else ("", "")


def _by_switch(before: Fabric, after: Fabric, power: Mapping[str, PortWatts] | None) -> tuple[SwitchPower, ...]:
    rows = []
    old_new = zip(before.switches, switch_watts(before, power), switch_watts(after, power), strict=True)
    for switch, (chassis, ports), (chassis_after, ports_after) in old_new:
        named = {
            platforms.of(switch).port_name(port): (ports.get(port, 0.0), ports_after.get(port, 0.0))
            for port in sorted({*ports, *ports_after})
        }
        sums = (chassis + fsum(ports.values()), chassis_after + fsum(ports_after.values()))
        rows.append(SwitchPower(switch.name, *sums, named))
    return tuple(rows)


def _low(figure: Figure) -> float:
    return figure.value if figure.low is None else figure.low


def _high(figure: Figure) -> float:
    return figure.value if figure.high is None else figure.high
