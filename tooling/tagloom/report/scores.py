"""Show scores, fits and sweeps as lines for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.report.terminal import count, row, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHOWN = 20


def score_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the errors of forecasts: in all, by quantity, by day."""
    if not payload["scored"]:
        return row("score", f"nothing was measured of {count(payload['forecasts'], 'forecast')}")
    bounded = sum(each["with_interval"] for each in payload["by_quantity"])
    inside = sum(each["inside"] for each in payload["by_quantity"])
    lines = row(
        "score",
        f"{payload['good']} of {payload['scored']} as forecast ({inside} of {bounded} inside their interval; "
        f"without one, "
        f"an error up to {payload['tolerance_percent']:g} %)",
    )
    header = ("quantity", "count", "mean error", "worst", "inside")
    rows = [(_named(each), *_cells(each), *_interval_cells(each)) for each in payload["by_quantity"]]
    lines += table((*header, "width", "score", "skill"), rows, range(1, 8))
    for each in payload["by_quantity"]:
        if each["worse_than_unchanged"]:
            why = f"score {each['interval_score']:.3g}; 'nothing changes' does better"
            lines += row("no skill", f"{each['quantity']}: {why} (Winkler's interval score, the less the better)")
    if len(payload["over_time"]) > 1:
        days = [(each["day"] or "no time", *_cells(each)) for each in payload["over_time"]]
        lines += ["", *table(("day (UTC)", *header[1:]), days, (1, 2, 3, 4))]
    bad = [each for each in payload["scores"] if not each["good"]]
    for each in bad[:SHOWN]:
        unit = f" {each['unit']}" if each["unit"] else ""
        error = "" if each["error_percent"] is None else f" ({each['error_percent']:+.1f} %)"
        lines += row(
            "wrong", f"{each['quantity']}: {each['forecast']:.6g} said, {each['measured']:.6g}{unit} was{error}"
        )
    if len(bad) > SHOWN:
        lines += row("", f"and {len(bad) - SHOWN} more (all with --json)")
    if payload["left_over"]:
        lines += row(
            "left over", f"{count(len(payload['left_over']), 'measurement')} that no earlier forecast spoke of"
        )
    return lines


def _named(each: Mapping[str, Any]) -> str:
    return f"{each['quantity']}, {each['unit']}" if each["unit"] else str(each["quantity"])


def _interval_cells(each: Mapping[str, Any]) -> tuple[str, str, str]:
    width, mean, skill = (each[key] for key in ("mean_width", "interval_score", "skill"))
    shown = ["-" if value is None else f"{value:.3g}" for value in (width, mean)]
    return shown[0], shown[1], "-" if skill is None else f"{skill:.2f}"


def _cells(each: Mapping[str, Any]) -> tuple[str, str, str, str]:
    mean, worst = each["mean_error_percent"], each["worst_error_percent"]
    inside = f"{each['inside']} of {each['with_interval']}" if each["with_interval"] else "-"
    return (
        str(each["count"]),
        "-" if mean is None else f"{mean:.2f} %",
        "-" if worst is None else f"{worst:.2f} %",
        inside,
    )


def fit_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return what was fitted, and the pairs' distance from it."""
    eee = payload["eee"]

    def ends(key: str) -> str:
        low, high = eee["intervals"][key] if "intervals" in eee else (0.0, 0.0)
        return f" ({1e6 * low:.4g} to {1e6 * high:.4g})" if high else ""

    times = ", ".join(
        f"{word} {1e6 * eee[key]:.4g} us{ends(key)}"
        for word, key in (("time-out", "timeout_seconds"), ("Ts", "sleep_seconds"), ("Tw", "wake_seconds"))
    )
    lines = row("policy", f"{times} ({eee['source']})")
    if "fit" in payload:
        fit = payload["fit"]
        off = f"{1e6 * payload['residual_seconds']:.3g} us from {count(payload['pairs'], 'pair')} (root mean square)"
        lines += row("", off)
        beyond = f"{1e6 * fit['offset_seconds']:.4g} us (Miwa et al. 2013); {1e6 * fit['residual_seconds']:.3g} us off"
        lines += row(
            "eq. 3",
            f"c {1e6 * fit['plateau_seconds']:.4g} us, alpha {fit['alpha']:.4g} per s, t "
            f"{1e6 * fit['threshold_seconds']:.4g} us, t0 {beyond}",
        )
    return lines


def sweep_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for every cell, and the reasons of failures."""
    cells = [
        (
            each["traffic"],
            each["settings"],
            f"{1e6 * each['timeout_seconds']:g}",
            *(
                ("failed", "", "")
                if each["error"]
                else (
                    f"{each['slowdown_percent']:.3f} %",
                    "unknown" if each["saving_percent"] is None else f"{each['saving_percent']:.2f} %",
                    "unknown" if each["eee_saved_watts"] is None else f"{each['eee_saved_watts']:.2f} W",
                )
            ),
        )
        for each in rows
    ]
    lines = table(("traffic", "settings", "time-out us", "slow-down", "saving", "EEE saves"), cells, (2, 3, 4, 5))
    for each in [each for each in rows if each["error"]][:SHOWN]:
        lines += row("failed", f"{each['traffic']}, {each['settings']}: {each['error']}")
    return lines
