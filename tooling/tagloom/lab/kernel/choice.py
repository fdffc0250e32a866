"""Choose the kernel that carries frames: this machine's own where it can, else user-mode Linux."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.lab.kernel import machine
from tagloom.lab.kernel.machine import Machine
from tagloom.lab.kernel.own import OwnKernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.lab.kernel.connection import Connection

KINDS: Mapping[str, type[Connection]] = {"own": OwnKernel, "user-mode": Machine}  # in the order of preference


def start(log: Path, kinds: tuple[str, ...] = tuple(KINDS)) -> Connection:
    """Return a kernel that runs, the first of `kinds` that can. Raises InputError with what kept each from it."""
    findings: list[Finding] = []
    for kind in kinds:
        try:
            return KINDS[kind](log).__enter__()
        except InputError as error:
            findings.extend(error.findings)
        except DeviceError as error:
            findings.append(Finding(error.switch, error.command, error.text))
    raise InputError(findings)


def obstacles() -> list[Finding]:
    """Return what keeps every kind of kernel from being started here; nothing where one can be."""
    if not (findings := machine.obstacles()):
        return []
    with tempfile.TemporaryDirectory(prefix="tagloom-") as folder:
        try:
            start(Path(folder, "log"), ("own",)).__exit__()
        except InputError as error:
            return [*error.findings, *findings]
    return []
