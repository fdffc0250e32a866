"""Read and write timetables: calendar rules in cron words, and the settings that each names."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import yaml
from cronsim import CronSim, CronSimError

from tagloom.errors import Finding, InputError, one_of
from tagloom.read.calendar import beginnings, upcoming
from tagloom.read.history import zone_of
from tagloom.read.links_off import links_off_findings
from tagloom.records.detours import PROTECTIONS
from tagloom.records.reweave import ReweaveLimits
from tagloom.records.timetable import ALL_ON, Rule, Timetable, list_name
from tagloom.storage.document import read_yaml, shown
from tagloom.units import joined_address, split_address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from zoneinfo import ZoneInfo

    from tagloom.records.fabric import Fabric

KEYS = {
    "timezone",
    "dwell_seconds",
    "changes_a_day",
    "rules",
    "repair",
    "repair_hold_seconds",
    "backup",
    "protect",
    "traps",
    "reweave",
    "reweave_seconds",
    "reweave_intervals",
    "reweave_gain",
    "reweave_changes_a_day",
}
REPAIRS = REWEAVES = ("auto", "propose", "off")
BACKUPS = ("daily", "off")
REWEAVE_LIMITS = {  # the key of each limit
    "reweave_seconds": "interval_seconds",
    "reweave_intervals": "intervals",
    "reweave_gain": "gain",
    "reweave_changes_a_day": "changes_a_day",
}
REWEAVE_RANGES = {  # a minute, so that two readings are apart; a day
    "reweave_seconds": (60, 86_400),
    "reweave_intervals": (1, 100),
    "reweave_gain": (0.01, 1),
    "reweave_changes_a_day": (0, 1000),
}
TRAP_PORT = 162  # RFC 3417 section 3.2
AHEAD_DAYS = 8  # looked through for rules that get in each other's way: a week, and a change of clocks' worth
MOST_A_DAY = 288  # times a rule may begin


def read_timetable(path: Path, timezone: str | None = None, fabric: Fabric | None = None) -> Timetable:
    """Read a timetable: a YAML list of ``{when: "0 20 * * 1-5", off: [s0:g2]}``, or a mapping with it.

    The mapping has the list as `rules`, and may have `timezone` (an IANA name, UTC without it), `dwell_seconds`,
    `changes_a_day`, `repair` (auto, propose or off), `repair_hold_seconds`, `protect` (none, auto, link or switch),
    `traps` ({listen: HOST:PORT}), `backup` (daily or off), `reweave` (auto, propose or off) and the keys of
    REWEAVE_LIMITS. `off` lists links by one of their ports, checked against the `fabric` if there is one. Instead of
    it, `settings` is a file beside the timetable, made by tagloom regulate or timetable, or ``all-on``.
    Raises InputError with all findings; that no settings are readable is found by who plans with them.
    """
    raw: Any = read_yaml(path)
    document = {"rules": raw} if isinstance(raw, list) else raw
    if not isinstance(document, dict) or not isinstance(document.get("rules"), list) or not document["rules"]:
        raise InputError([Finding(str(path), "a list of {when, off}, or a mapping with it as rules", shown(raw))])
    findings = [Finding(f"{path}: {key}", one_of(sorted(KEYS), key), "another key") for key in set(document) - KEYS]
    rules, files, links = _rules(path, document["rules"], fabric, findings)
    dwell = _least(path, document, "dwell_seconds", Timetable.dwell_seconds, findings)
    most = _least(path, document, "changes_a_day", Timetable.changes_a_day, findings)
    hold = _least(path, document, "repair_hold_seconds", Timetable.repair_hold_seconds, findings)
    repair = _word(path, document, "repair", Timetable.repair, REPAIRS, findings)
    backup = _word(path, document, "backup", Timetable.backup, BACKUPS, findings)
    protect = _word(path, document, "protect", "none", PROTECTIONS, findings) if "protect" in document else ""
    traps = _listen(path, document, findings)
    reweave = _word(path, document, "reweave", Timetable.reweave, REWEAVES, findings)
    limits = _reweave_limits(path, document, findings)
    name = timezone or str(document.get("timezone", "UTC"))
    try:
        zone = zone_of(name, f"{path}: timezone")
    except InputError as error:
        raise InputError([*sorted(findings), *error.findings]) from None
    table = Timetable(
        *(tuple(rules), name, dwell, int(most), files, repair, hold, backup, protect, traps, reweave, limits, links)
    )
    findings += _clashes(path, table, zone, dwell)
    if findings:
        raise InputError(sorted(findings))
    return table


def format_timetable(table: Timetable) -> str:
    """Write a timetable as `read_timetable` reads it; what is left out has its default."""
    payload: dict[str, Any] = {
        "timezone": table.timezone,
        "dwell_seconds": table.dwell_seconds,
        "changes_a_day": table.changes_a_day,
        "rules": [
            {"when": rule.when, "off": list(table.links[rule.settings])}
            if rule.settings in table.links
            else {"when": rule.when, "settings": rule.settings}
            for rule in table.rules
        ],
    }
    for key in ("repair", "repair_hold_seconds", "backup", "protect", "reweave"):
        if (value := getattr(table, key)) != getattr(Timetable, key):
            payload[key] = value
    for key, name in REWEAVE_LIMITS.items():
        if (value := getattr(table.reweave_limits, name)) != getattr(ReweaveLimits(), name):
            payload[key] = value
    if table.traps is not None:
        payload["traps"] = {"listen": joined_address(*table.traps)}
    return yaml.safe_dump(payload, sort_keys=False)


def _rules(
    path: Path, rows: list[Any], fabric: Fabric | None, findings: list[Finding]
) -> tuple[list[Rule], dict[str, Path], dict[str, tuple[str, ...]]]:
    """Return the rules, the settings files and the lists of links that they name; add what is wrong to `findings`."""
    rules: list[Rule] = []
    files: dict[str, Path] = {}
    links: dict[str, tuple[str, ...]] = {}
    for number, raw in enumerate(rows):
        where = f"{path}: rules[{number}]"
        # YAML 1.1 reads the bare word off as false
        row = {"off" if key is False else key: value for key, value in raw.items()} if isinstance(raw, dict) else {}
        if set(row) not in ({"when", "settings"}, {"when", "off"}):
            expected = "{when: CRON, off: [SWITCH:PORT, ...]} or {when: CRON, settings: FILE or all-on}"
            findings.append(Finding(where, expected, shown(raw)))
            continue
        if "off" in row:
            settings = _listed(f"{where}.off", row["off"], fabric, links, findings)
        else:
            settings = str(row["settings"])
            if settings != ALL_ON:
                files[settings] = path.parent / settings
                if not os.path.isfile(files[settings]):  # noqa: PTH113 - Path.is_file raises for names that are too long
                    actual = f"{shown(str(files[settings]))}: no such file"
                    findings.append(Finding(f"{where}.settings", f"a settings file, or {ALL_ON}", actual))
        when = str(row["when"])
        try:
            CronSim(when, datetime(2026, 1, 1))  # noqa: DTZ001 - only its words are looked at
        except (CronSimError, ValueError) as error:
            expected = "minute hour day month weekday, as in crontab(5)"
            findings.append(Finding(f"{where}.when", expected, f"{shown(when)}: {shown(str(error))}"))
        else:
            rules.append(Rule(when, settings))
    return rules, files, links


def _listed(
    where: str, raw: Any, fabric: Fabric | None, links: dict[str, tuple[str, ...]], findings: list[Finding]
) -> str:
    """Return the name of a list of links that are off, and keep it in `links`; that of an empty one is ALL_ON."""
    if not isinstance(raw, list) or not all(isinstance(end, str) for end in raw):
        findings.append(Finding(where, "[SWITCH:PORT, ...], [] for none", shown(raw)))
        return ALL_ON
    ends = tuple(dict.fromkeys(raw))
    if fabric is not None:
        findings += links_off_findings(fabric, where, ends)
    if ends:
        links[list_name(ends)] = ends
    return list_name(ends)


def _listen(path: Path, document: dict[str, Any], findings: list[Finding]) -> tuple[str, int] | None:
    """Return where notifications of switches are heard, None for nowhere."""
    said = document.get("traps")
    words = said.get("listen") if isinstance(said, dict) and set(said) == {"listen"} else None
    if said is None:
        return None
    with contextlib.suppress(ValueError):
        if isinstance(words, str):
            return split_address(words, TRAP_PORT, any_free=True)
    findings.append(Finding(f"{path}: traps", "{listen: HOST:PORT}", shown(said)))
    return None


def _reweave_limits(path: Path, document: dict[str, Any], findings: list[Finding]) -> ReweaveLimits:
    """Return when paths may be changed for measured traffic."""
    usual, found = ReweaveLimits(), dict[str, float]()
    for key, name in REWEAVE_LIMITS.items():
        value = document.get(key, getattr(usual, name))
        whole = isinstance(getattr(usual, name), int)
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        least, most = REWEAVE_RANGES[key]
        if not number or not least <= value <= most:
            expected = f"a {'whole ' if whole else ''}number from {least:g} to {most:g}"
            findings.append(Finding(f"{path}: {key}", expected, shown(value)))
        else:
            found[name] = value
    return replace(usual, **found)  # type: ignore[arg-type]  # whole where it has to be


def _clashes(path: Path, table: Timetable, zone: ZoneInfo, dwell: float) -> list[Finding]:
    """Find rules that begin too often, at once, or sooner after one another than settings must last."""
    found: list[Finding] = []
    begin = datetime(2026, 1, 5, tzinfo=zone).timestamp() - 1  # a Monday
    for rule in table.rules:
        times = [at for at, _ in upcoming(Timetable((rule,), table.timezone), begin, 1)]
        if len(times) > MOST_A_DAY:
            found.append(Finding(f"{path}: when {rule.when!r}", f"{MOST_A_DAY} times a day at most", str(len(times))))
    if found:
        return found
    reported: set[tuple[str, str]] = set()
    rows = beginnings(table, begin, AHEAD_DAYS)
    for (a, _, one), (b, wall, other) in pairwise(rows):
        if one == other or (one, other) in reported:
            continue
        when = datetime.fromtimestamp(b, zone)
        if a == b:
            reported.add((one, other))
            found.append(Finding(f"{path}: {one} and {other}", "times of their own", f"both on {wall:%a at %H:%M}"))
        elif b - a < dwell:
            reported.add((one, other))
            least = f"{dwell:g} s between two settings (dwell_seconds)"
            found.append(Finding(f"{path}: {one} and {other}", least, f"{b - a:g} s on {when:%a at %H:%M}"))
    return found


def _word(
    path: Path, document: dict[str, Any], key: str, default: str, words: Sequence[str], findings: list[Finding]
) -> str:
    value = document.get(key, default)
    word = "off" if value is False else value  # as YAML reads it
    if word not in words:
        findings.append(Finding(f"{path}: {key}", one_of(words, value), shown(value)))
        return default
    return str(word)


def _least(path: Path, document: dict[str, Any], key: str, default: float, findings: list[Finding]) -> float:
    value = document.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        findings.append(Finding(f"{path}: {key}", "a number from 0", shown(value)))
        return default
    return float(value)
