"""Show at a glance what runs, who works on it, what differs and what is dead; and what a backup stored."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding
from tagloom.report.terminal import count, finding_lines, row
from tagloom.units import clock_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tagloom.records.observation import Observation

_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))


def ago(seconds: float) -> str:
    """Return how long ago something was, in its largest unit.

    >>> ago(3), ago(60), ago(3 * 3600 + 5), ago(86_400)
    ('just now', '1 minute ago', '3 hours ago', '1 day ago')
    """
    for unit, size in _UNITS:
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


FAILOVER = {
    "armed": "armed: tagloom run moves paths around a failure",
    "proposes": "tagloom run proposes repairs, and waits for their apply",
    "not running": "not running: after a failure type tagloom repair, or have it run: tagloom run --install-service",
}


def status_lines(payload: Mapping[str, Any], now: float) -> list[str]:
    """Return the lines of `tagloom status`; `now` is in seconds since the epoch."""
    lines = row("fabric", payload["fabric"])
    if payload["build"] is None:
        lines += row("runs", "nothing that tagloom apply has brought to the switches")
    else:
        at = datetime.fromisoformat(payload["applied_at"])
        when = ago(now - at.timestamp())
        partly = payload["unfinished"] and payload["wave"] > 0
        begun = "begun" if partly and payload["kind"] == "apply" else "applied"
        what = f"{_build(payload)}, {begun} {when} by {payload['applied_by']} ({at:%Y-%m-%d %H:%M:%S})"
        lines += row("runs", f"not all of {what}" if partly else what)
        if what := payload["source_state"]:
            lines += row("files", f"{payload['source']} was {what} since; the run's own copy is {payload['build']}")
    lines += row("stands", payload["stands"])
    lines += row("at work", payload["locked_by"] or "nobody")
    if (armed := payload["armed"]) is not None:
        lines += row("armed", confirmation_words(armed, now))
        lines += row("watchdog", watchdog_words(payload["watchdog"], now))
    for each in payload["reloads"]:
        until = _until(each["until"], now)
        lines += row("armed", f"{each['switch']} reloads from what it has saved by {until}, unless it is called off")
    if (clock := payload["clock"]) is not None:
        lines += row("clock", _clock(clock))
        if clock["at_work"] and clock["look"]["error"]:
            lines += row("blind", _blind(clock["look"], now))
    if payload["build"] is not None:
        lines += row("failover", FAILOVER[payload["failover"]])
    if not payload["looked"]:
        return lines
    dead = [*payload["dead_switches"], *payload["dead_links"]]
    lines += row("dead", ", ".join(dead) if dead else "nothing")
    if payload["silent_switches"]:
        lines += row("silent", f"{', '.join(payload['silent_switches'])}: no answer over SNMP")
    if payload["back"]:
        lines += row("back", f"{', '.join(payload['back'])}: was dead, is not in use yet")
    if payload["build"] is not None:
        lines += row("differs", count(len(payload["findings"]), "finding") if payload["findings"] else "nothing")
        lines += finding_lines([Finding(**each) for each in payload["findings"]])
    return lines


def _build(payload: Mapping[str, Any]) -> str:
    """Return the build that runs by the name that it was applied under."""
    return str(payload["source"] if payload["source_state"] else payload["build"])


def reading_lines(seen: Mapping[str, Observation], now: float) -> list[str]:
    """Return when switches were last read, and which did not answer; `now` is in seconds since the epoch."""
    if not seen:
        return row("read", "nothing yet: tagloom observe -o writes it")
    at = max(each.at for each in seen.values())
    when = f"{ago(now - at)} ({datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M:%S})"
    silent = [name for name, each in seen.items() if each.error]
    lines = row("read", f"{count(len(seen), 'switch')}, {when}")
    return lines + (row("silent", f"{', '.join(silent)}: no answer over SNMP") if silent else [])


def _until(moment: str, now: float) -> str:
    return clock_time(datetime.fromisoformat(moment).timestamp(), now)


def confirmation_words(armed: Mapping[str, Any], now: float) -> str:
    """Return how a change that is to be confirmed stands `now`, of `Confirmation.to_json`."""
    name, seconds = f"{armed['run']} of {armed['source']}", f"{armed['seconds']:g} s"
    until = _until(armed["until"], now) if armed["until"] else ""
    return {
        "under way": f"{name}: taken back unless it is confirmed within {seconds} of its end",
        "waiting": f"{name}: taken back at {until} unless it is confirmed",
        "expired": f"{name}: not confirmed by {until}, to be taken back",
        "taking back": f"{name}: to be taken back ({armed['by']})",
        "taken back": f"{name}: taken back ({armed['by']})",
        "confirmed": f"{name}: confirmed by {armed['by']}",
    }.get(armed["state"], f"{name}: {armed['state']}")


def watchdog_words(watchdog: Mapping[str, Any], now: float) -> str:
    """Return whether a process takes back a change that must be confirmed, and why it could not so far."""
    failed = ""
    if watchdog["tries"]:
        last = f"the last at {_until(watchdog['tried_at'], now)}: {watchdog['error']}"
        failed = f"{count(watchdog['tries'], 'try')} failed, {last}"
    if watchdog["gave_up"]:
        return f"gave up: {failed}; tagloom rollback takes the change back, or tagloom confirm --watchdog tries again"
    if not watchdog["at_work"]:
        again = "tagloom confirm --watchdog starts it again"
        return f"not running ({watchdog['by'] or 'none was started'}): {failed + '; ' if failed else ''}{again}"
    if failed:
        until = _until(watchdog["gives_up_at"], now)
        return f"{failed}; tries again at {_until(watchdog['next_at'], now)}, until {until} ({watchdog['by']})"
    return f"takes the change back unless it is confirmed ({watchdog['by']})"


def log_lines(log: Sequence[Mapping[str, Any]], *, whole: bool) -> list[str]:
    """Return who began which run, and how many lines every switch took; the lines themselves if `whole`."""
    lines: list[str] = []
    for run in log:
        began = datetime.fromisoformat(run["began"])
        lines += row("log", f"{began:%Y-%m-%d %H:%M:%S} {run['by']}: {run['command']}, {run['state']}")
        for each in run["switches"]:
            of, error = len(each["lines"]), f": {each['error']}" if each["error"] else ""
            text = count(of, "line") if each["sent"] == of else f"{each['sent']} of {count(of, 'line')}"
            where = f"over {run['note']}" if run["kind"] == "typed" else f"in wave {each['wave']}"
            lines += row("", f"{each['switch']} took {text} {where}{error}")
            lines += [f"            {line}" for line in each["lines"] if whole]
    return lines


def _blind(look: Mapping[str, Any], now: float) -> str:
    seen = f"last saw the fabric at {_until(look['good_at'], now)}" if look["good_at"] else "never saw the fabric"
    return f"tagloom run {seen}: {look['error']}"


def _clock(clock: Mapping[str, Any]) -> str:
    if not clock["at_work"]:
        what = " ".join(filter(None, ("tagloom run", clock["timetable"])))
        return f"{what} is gone without being told to end ({clock['by']})"
    if not clock["timetable"]:
        return f"tagloom run without a timetable ({clock['by']})"
    settings = " + ".join(clock["settings"]) or "not known yet"
    why = ", for its load" if clock["raised"] else f", {count(clock['jobs'], 'job')} ask" if clock["jobs"] else ""
    why += ", paths woven for measured traffic" if clock["reweave"]["woven"] else ""
    then = f"; next change at {clock['next_at']}" if clock["next_at"] else ""
    return f"{clock['timetable']} ({clock['by']}): {settings}, {count(clock['links_off'], 'link')} off{why}{then}"


def backup_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return where a backup is, which switches changed since the last one, and which could not be read."""
    lines = row("backup", payload["backup"] or "none: no switch could be read")
    if payload["switches"]:
        lines += row("kept", count(len(payload["switches"]), "configuration"))
        lines += row("changed", ", ".join(payload["changed"]) or "none since the last backup")
    return lines + [line for name, said in payload["errors"].items() for line in row("failed", f"{name}: {said}")]
