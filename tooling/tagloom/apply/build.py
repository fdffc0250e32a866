"""Read from a build's or a rollout's directory which waves there are to push."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class WaveOrder:
    """Name one wave to push: `configs` and `expected` are directories of ``SWITCH.cfg``, target and state before.

    `number` counts from 1. `expected` is None where the switches may hold anything beforehand: a build's only wave.
    `paused` says that hosts are cut off on purpose after it.
    """

    number: int
    name: str
    configs: Path
    expected: Path | None = None
    drain_seconds: float = 0.0
    paused: bool = False

    def as_json(self) -> dict[str, Any]:
        """Give the wave as plain values, for Ansible."""
        return {
            "number": self.number,
            "name": self.name,
            "configs": str(self.configs),
            "expected": str(self.expected or ""),
            "drain_seconds": self.drain_seconds,
        }


def read_waves(build: Path) -> tuple[WaveOrder, ...]:
    """List the waves of BUILD/rollout.json, or the one of BUILD/configs. Raises InputError."""
    page = build / "rollout.json"
    if not page.is_file():
        if not (build / "configs").is_dir():
            raise InputError([Finding(str(build), "a build (configs/) or a rollout (rollout.json)", "neither")])
        return (WaveOrder(1, "apply", build / "configs"),)
    try:
        plain = json.loads(page.read_text("utf-8"))
        waves: list[WaveOrder] = []
        before = build / plain["before"]
        for number, wave in enumerate(plain["waves"], start=1):
            configs = build / wave["configs"]
            drain_seconds = float(wave.get("drain_seconds", 0.0))
            paused = bool(wave.get("paused", False))
            waves.append(WaveOrder(number, str(wave["name"]), configs, before, drain_seconds, paused))
            before = configs
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError([Finding(str(page), 'a rollout ("before", "waves")', repr(error))]) from None
    missing = [wave.configs for wave in waves if not wave.configs.is_dir()]
    if missing:
        raise InputError(Finding(str(page), "a directory of configurations", f"no {path}") for path in missing)
    return tuple(waves)


def fabric_file(build: Path) -> Path:
    """Give the path of the fabric file that a build, or the target of a rollout, was made for."""
    return build / ("build/fabric.yml" if (build / "rollout.json").is_file() else "fabric.yml")
