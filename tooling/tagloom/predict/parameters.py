"""Write and read model parameters fitted to measurements."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.predict.eee import LONGEST_SECONDS, POWERCONNECT_5548, check_policy
from tagloom.predict.fit_policy import fit_policy
from tagloom.records.sleep import Eee, Fit
from tagloom.storage.document import read_yaml, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Times = tuple[float, float, float]
TIMES = ("timeout_seconds", "sleep_seconds", "wake_seconds")


def fit_payload(
    pairs: Sequence[tuple[float, float]], source: str, *, regular: bool = False, timeout_seconds: float | None = None
) -> dict[str, Any]:
    """Return the parameters fitted to pairs: `eee`, which forecasts read, and the paper's `fit` with residuals."""
    paper, eee, residual = fit_policy(pairs, regular=regular, timeout_seconds=timeout_seconds)
    times = (eee.timeout_seconds, eee.sleep_seconds, eee.wake_seconds)
    begin = paper.threshold_seconds if paper.offset_seconds is None else paper.offset_seconds
    ends = list(zip(eee.least, eee.most, strict=True)) if eee.least and eee.most else []
    return {
        **policy_payload(times, f"fitted to {source}", ends),
        "residual_seconds": residual,
        "pairs": len(pairs),
        "fit": {**asdict(paper), "offset_seconds": begin},
    }


def policy_payload(
    times: tuple[float, float, float], source: str, ends: Sequence[tuple[float, float]] = ()
) -> dict[str, Any]:
    """Return the document of a policy given by its three times in seconds, and the ends of their intervals if known."""
    eee: dict[str, Any] = {key: float(f"{t:.9g}") for key, t in zip(TIMES, times, strict=True)}
    if ends:
        eee["intervals"] = {key: [float(f"{t:.9g}") for t in each] for key, each in zip(TIMES, ends, strict=True)}
    return {"eee": {**eee, "source": source}}


def read_parameters(path: Path) -> Eee:
    """Return the policy in a file of `fit` or of `measure idle-gap`. Raises InputError with all findings.

    Host links are 1000BASE-T: they sleep when both directions are idle. `intervals` of the times are read where given,
    and so are `fit`, the curve of Miwa et al. 2013, eq. 3, and `lpi_power`. A file with `fit` alone has the times of a
    PowerConnect 5548.
    """
    payload = read_yaml(path, "TIMEOUT,TS,TW in seconds, or parameters of tagloom fit")
    fit, residual, astray = _curve(payload, str(path))
    if astray and "eee" not in payload:
        raise InputError(astray)
    if fit is not None and "eee" not in payload:
        source = f"no times in {path.name}: those of a {POWERCONNECT_5548.source}"
        return replace(POWERCONNECT_5548, source=source, fit=fit)
    given = payload.get("eee", payload) if isinstance(payload, dict) else None  # measure idle-gap writes only the times
    if not isinstance(given, dict):
        raise InputError(
            [Finding(str(path), "parameters of tagloom fit: eee with " + ", ".join(TIMES), shown(payload))]
        )
    wrong = astray + [
        Finding(f"{path}: eee.{key}", "seconds", shown(given.get(key)))
        for key in TIMES
        if isinstance(given.get(key), bool) or not isinstance(given.get(key), int | float)
    ]
    power = given.get("lpi_power", POWERCONNECT_5548.lpi_power)
    if not _is_number(power) or not 0 <= power <= 1:
        wrong.append(Finding(f"{path}: eee.lpi_power", "power asleep over power awake, from 0 to 1", shown(power)))
    least, most, astray = _ends(given, str(path)) if not wrong else (None, None, [])
    if wrong or astray:
        raise InputError(wrong + astray)
    times = [float(given[key]) for key in TIMES]
    check_policy(times[0], times[1], times[2], str(path))
    source = shown(given.get("source", path.name), 200).strip("'")
    known = Eee(times[0], times[1], times[2], source, together=True, lpi_power=float(power), least=least, most=most)
    return replace(known, fit=fit, residual_seconds=residual)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _curve(payload: Any, where: str) -> tuple[Fit | None, float | None, list[Finding]]:
    """Return the fitted curve of a file, None without, the residual of its times, and what is wrong."""
    given = payload.get("fit") if isinstance(payload, dict) else None
    if given is None:
        return None, None, []
    names = ("plateau_seconds", "alpha", "threshold_seconds")
    rest = ("residual_seconds", "offset_seconds")
    numbers = given if isinstance(given, dict) else {}
    wrong = [
        Finding(f"{where}: fit.{key}", "a number from 0", shown(numbers.get(key)))
        for key in (*names, *(key for key in rest if numbers.get(key) is not None))
        if not _is_number(numbers.get(key)) or numbers[key] < 0
    ]
    if not wrong and numbers["plateau_seconds"] > LONGEST_SECONDS:
        wrong.append(Finding(f"{where}: fit.plateau_seconds", "seconds", f"{numbers['plateau_seconds']:g}"))
    begin = numbers.get("offset_seconds")
    if not wrong and begin is not None and begin > numbers["threshold_seconds"]:
        expected = f"t0, at most t = {numbers['threshold_seconds']:g} s: beyond it overheads would be below 0"
        wrong.append(Finding(f"{where}: fit.offset_seconds", expected, f"{begin:g}"))
    residual = payload.get("residual_seconds")
    if residual is not None and (not _is_number(residual) or residual < 0):
        wrong.append(Finding(f"{where}: residual_seconds", "seconds from 0", shown(residual)))
    if wrong:
        return None, None, wrong
    plateau, alpha, threshold = (float(numbers[key]) for key in names)
    distance = float(numbers.get("residual_seconds") or 0.0)
    fit = Fit(plateau, alpha, threshold, distance, None if begin is None else float(begin))
    return fit, None if residual is None else float(residual), []


def _ends(given: dict[str, Any], where: str) -> tuple[Times | None, Times | None, list[Finding]]:
    """Return the least and the most of the three times, None where no intervals are given, and what is wrong."""
    intervals = given.get("intervals")
    if intervals is None:
        return None, None, []
    ends, wrong = list[tuple[float, float]](), list[Finding]()
    for key in TIMES:
        each = intervals.get(key) if isinstance(intervals, dict) else None
        numbers = isinstance(each, list) and all(isinstance(t, int | float) and not isinstance(t, bool) for t in each)
        if each is not None and numbers and len(each) == 2 and 0 <= each[0] <= given[key] <= each[1] <= LONGEST_SECONDS:
            ends.append((float(each[0]), float(each[1])))
        else:
            expected = f"two times in seconds around {given[key]:g}, from 0 to {LONGEST_SECONDS:g}"
            wrong.append(Finding(f"{where}: eee.intervals.{key}", expected, shown(each)))
    if wrong:
        return None, None, wrong
    (h, late), (ts, long), (tw, slow) = ends
    return (h, ts, tw), (late, long, slow), []
