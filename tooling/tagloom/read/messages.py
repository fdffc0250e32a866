"""Read the messages of a run, in steps or as a trace's events, as a program that can be replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.read.event_log import is_event_log, read_event_log
from tagloom.read.networks import check_networks
from tagloom.read.traffic import number_in, place, stated_seconds
from tagloom.records.simulation import Program
from tagloom.records.traffic import Traffic
from tagloom.storage.document import shown, split_rows
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tagloom.records.fabric import Fabric

EXPECTED = "a readable file of a run's messages"
HEADER = ("step", "source", "destination", "bytes", "compute_seconds")
MOST_CELLS = 10_000_000  # steps x hosts that are replayed; beyond it the steps are likely numbered by time


def read_messages(path: Path, fabric: Fabric, placement: str = "") -> tuple[Program, Traffic]:
    """Read ``step,source,destination,bytes[,compute_seconds]``: the program, and all its bytes by pair of hosts.

    Or read the events that otf2-print and `measure/message_log.c` write (`read.event_log`), whose ranks are placed as
    those of a matrix.

    In every step, counted from 0, a host computes, sends its messages of the step, and waits for those to it. A row
    without a destination says only how long its source computes before it sends. Rows of one step and host that say so
    twice say the same. ``# seconds: N`` says how long the
    run took with all links awake. Raises InputError with all findings, also for messages between networks.
    """
    lines = read_text(path, EXPECTED).splitlines()
    if is_event_log(lines):
        return _of_events(path, lines, fabric, placement)
    findings: list[Finding] = []
    seconds = stated_seconds(path, lines, findings)
    rows = split_rows(lines, str(path))
    header = tuple(cell.strip() for cell in rows[0][1]) if rows else ()
    if header not in {HEADER, HEADER[:4]}:
        raise InputError([Finding(str(path), f"the header {','.join(HEADER)}", shown(",".join(header)) or "nothing")])
    names = {host.name: h for h, host in enumerate(fabric.hosts)}
    messages: list[tuple[int, int, int, float]] = []
    computed: dict[tuple[int, int], float] = {}
    for at, cells in rows[1:]:
        where = f"{path}:{at}"
        step, source, destination, size, compute = (cell.strip() for cell in [*cells, "", "", "", "", ""][:5])
        a, b = names.get(source), names.get(destination)
        if not step.isdecimal() or len(step) > len(str(MOST_CELLS)):
            findings.append(Finding(f"{where}  step", f"a whole number from 0 to {MOST_CELLS}", shown(step)))
            continue
        for name, host in ((source, a), (destination, b)):
            if host is None and (name or name is source):
                findings.append(Finding(where, "a host of the fabric", shown(name)))
        if compute and a is not None:
            value = number_in(f"{where}  compute_seconds", compute, findings)
            if computed.setdefault((int(step), a), value) != value:
                expected = f"{computed[int(step), a]:g}, as another row of step {step} and {source} says"
                findings.append(Finding(f"{where}  compute_seconds", expected, shown(compute)))
        if destination:
            amount = number_in(f"{where}  bytes", size, findings)
            if a is not None and b is not None and a != b:
                messages.append((int(step), a, b, amount))
    hosts, steps = len(fabric.hosts), 1 + max([m[0] for m in messages] + [k for k, _ in computed], default=-1)
    if not messages:
        findings.append(Finding(str(path), "messages between hosts", "none"))
    if steps * hosts > MOST_CELLS:
        findings.append(Finding(str(path), f"at most {MOST_CELLS // hosts} steps of {hosts} hosts", str(steps)))
    if findings:
        raise InputError(findings)
    messages.sort(key=lambda message: message[:2])
    step_of, source_of, target_of, volume = (np.array(column) for column in zip(*messages, strict=True))
    compute_seconds = np.zeros((steps, hosts))
    for (k, h), value in computed.items():
        compute_seconds[k, h] = value
    counts = np.bincount(step_of * hosts + source_of, minlength=steps * hosts)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    program = Program(np.arange(hosts), compute_seconds, first, target_of.astype(np.int64), volume.astype(np.float64))
    total, sent = np.zeros((hosts, hosts)), np.zeros((hosts, hosts))
    np.add.at(total, (source_of, target_of), volume)
    np.add.at(sent, (source_of, target_of), 1.0)
    traffic = Traffic(total, sent, seconds)
    check_networks(fabric, traffic, str(path))
    return program, traffic


def _of_events(path: Path, lines: Sequence[str], fabric: Fabric, placement: str) -> tuple[Program, Traffic]:
    """Return the program of a trace's events, its ranks on hosts, and its bytes by pair of hosts."""
    log = read_event_log(lines, str(path))
    host = np.array(place(fabric, len(log.program.host), placement, str(path)), np.int64)
    source, target = host[log.source], host[log.program.destination]
    total, sent = (np.zeros((len(fabric.hosts),) * 2) for _ in range(2))
    np.add.at(total, (source, target), log.program.volume_bytes)
    np.add.at(sent, (source, target), 1.0)
    np.fill_diagonal(total, 0.0)
    np.fill_diagonal(sent, 0.0)
    if not sent.any():
        raise InputError([Finding(str(path), "messages between hosts", "none")])
    traffic = Traffic(total, sent, log.seconds or None, log.remarks)
    check_networks(fabric, traffic, str(path))
    return log.program._replace(host=host), traffic
