"""Write and read model parameters fitted to measurements."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.predict.eee import check_policy
from tagloom.predict.fit_policy import fit_policy
from tagloom.records.sleep import Eee
from tagloom.storage.document import read_yaml, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TIMES = ("timeout_seconds", "sleep_seconds", "wake_seconds")


def fit_payload(
    pairs: Sequence[tuple[float, float]], source: str, *, regular: bool = False, timeout_seconds: float | None = None
) -> dict[str, Any]:
    """Return the parameters fitted to pairs: `eee`, which forecasts read, and the paper's `fit` with residuals."""
    paper, eee, residual = fit_policy(pairs, regular=regular, timeout_seconds=timeout_seconds)
    return {
        **policy_payload((eee.timeout_seconds, eee.sleep_seconds, eee.wake_seconds), f"fitted to {source}"),
        "residual_seconds": residual,
        "pairs": len(pairs),
        "fit": asdict(paper),
    }


def policy_payload(times: tuple[float, float, float], source: str) -> dict[str, Any]:
    """Return the document of a policy given by its three times in seconds."""
    return {"eee": {**{key: float(f"{t:.9g}") for key, t in zip(TIMES, times, strict=True)}, "source": source}}


def read_parameters(path: Path) -> Eee:
    """Return the policy in a file of `fit` or of `measure idle-gap`. Raises InputError with all findings.

    Host links are 1000BASE-T: they sleep when both directions are idle.
    """
    payload = read_yaml(path, "TIMEOUT,TS,TW in seconds, or parameters of tagloom fit")
    given = payload.get("eee", payload) if isinstance(payload, dict) else None  # measure idle-gap writes only the times
    if not isinstance(given, dict):
        raise InputError(
            [Finding(str(path), "parameters of tagloom fit: eee with " + ", ".join(TIMES), shown(payload))]
        )
    wrong = [
        Finding(f"{path}: eee.{key}", "seconds", shown(given.get(key)))
        for key in TIMES
        if isinstance(given.get(key), bool) or not isinstance(given.get(key), int | float)
    ]
    if wrong:
        raise InputError(wrong)
    times = [float(given[key]) for key in TIMES]
    check_policy(times[0], times[1], times[2], str(path))
    return Eee(times[0], times[1], times[2], shown(given.get("source", path.name), 200).strip("'"), together=True)
