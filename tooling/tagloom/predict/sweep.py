"""Forecast all combinations of time-outs, traffic and settings, in local processes or on a cluster."""

from __future__ import annotations

import csv
import io
from concurrent.futures import as_completed
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError, one_of
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.storage.document import read_yaml, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor, Future


KEYS = {"build", "traffic", "seconds", "placement", "settings", "timeouts", "sleep_seconds", "wake_seconds"}
NONE = "none"  # the settings that turn nothing off
FIGURES = ("watts_before", "watts_after", "seconds_base", "seconds_predicted", "eee_saved_watts", "toggle_seconds")
COLUMNS = ("traffic", "settings", "timeout_seconds", *FIGURES, "saving_percent", "slowdown_percent", "joules", "error")


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination; file paths are absolute, so that remote workers find them on a shared file system."""

    build: str
    traffic: str
    settings: str
    timeout_seconds: float
    sleep_seconds: float
    wake_seconds: float
    seconds: float | None
    placement: str


def read_sweep(path: Path) -> list[Cell]:
    """Return the cells of a sweep file.

    Its keys are ``build``, and lists of ``traffic``, ``settings`` (files, or none) and ``timeouts`` in seconds. File
    paths are relative to the sweep's own; ``seconds``, ``placement``, ``sleep_seconds`` and ``wake_seconds`` apply to
    all. Raises InputError with all findings; the files themselves are checked by the cells that use them.
    """
    payload: Any = read_yaml(path)
    if not isinstance(payload, dict):
        raise InputError([Finding(str(path), "a mapping with build, traffic, settings, timeouts", shown(payload))])
    findings = [
        Finding(f"{path}: {key}", one_of(sorted(KEYS), key), "another key")
        for key in sorted(map(str, payload))
        if key not in KEYS
    ]
    if not isinstance(payload.get("build"), str):
        findings.append(Finding(f"{path}: build", "a build's directory", shown(payload.get("build"))))

    def listed(key: str, default: list[Any]) -> list[Any]:
        given = payload.get(key, default)
        if not isinstance(given, list) or not given:
            findings.append(Finding(f"{path}: {key}", "a list of at least one", shown(given)))
            return default
        return given

    def number(where: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3600:
            findings.append(Finding(f"{path}: {where}", "seconds from 0 to 3600", shown(value)))
            return 0.0
        return float(value)

    eee = POWERCONNECT_5548
    timeouts = [number(f"timeouts[{n}]", t) for n, t in enumerate(listed("timeouts", [eee.timeout_seconds]))]
    times = (
        number("sleep_seconds", payload.get("sleep_seconds", eee.sleep_seconds)),
        number("wake_seconds", payload.get("wake_seconds", eee.wake_seconds)),
    )
    seconds = None if payload.get("seconds") is None else number("seconds", payload["seconds"])
    traffic, settings = listed("traffic", []), listed("settings", [NONE])
    if findings:
        raise InputError(sorted(set(findings)))

    def whole(word: object) -> str:
        text = str(word)
        return text if text == NONE or text.startswith("pattern:") else str((path.parent / text).resolve())

    build, placement = whole(payload["build"]), str(payload.get("placement", ""))
    combinations = product(map(whole, traffic), map(whole, settings), timeouts)
    return [Cell(build, file, chosen, at, *times, seconds, placement) for file, chosen, at in combinations]


def sweep(
    cells: Sequence[Cell],
    executor: Executor,
    run_cell: Callable[[Cell], dict[str, Any]],
    progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Return the rows of all cells in order, by `run_cell`; a cell that fails fills only its own `error`."""
    rows: list[dict[str, Any]] = [{} for _ in cells]
    waiting: dict[Future[dict[str, Any]], int] = {executor.submit(run_cell, cell): n for n, cell in enumerate(cells)}
    progress(0, len(cells))
    for done, future in enumerate(as_completed(waiting), start=1):
        number = waiting[future]
        try:
            rows[number] = future.result()
        except Exception as error:  # noqa: BLE001 - a worker may die or be unreachable in any way
            rows[number] = row_of(cells[number], f"{type(error).__name__}: {error}")
        progress(done, len(cells))
    return rows


def row_of(cell: Cell, error: str) -> dict[str, Any]:
    """Return the row of a cell without figures."""
    names = {"traffic": Path(cell.traffic).name, "settings": Path(cell.settings).name}
    return dict.fromkeys(COLUMNS) | names | {"timeout_seconds": cell.timeout_seconds, "error": error}


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV; figures of a failed cell are empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
