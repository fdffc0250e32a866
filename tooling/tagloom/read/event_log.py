"""Read the events of an MPI run, as otf2-print and the message logger write them, as a program to be replayed."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.records.simulation import Program
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

MOST_CELLS = 10_000_000  # steps x ranks that are replayed
MOST_RANKS = 100_000
MOST_FINDINGS = 20
AT_ONCE_SECONDS = 12e-6  # of computing between two sends that starts no step: a full frame's time at 1 Gb/s

# otf2-print: the record's name, its location, a timestamp in ticks, and "Name: value" separated by commas.
EVENT = re.compile(r"([A-Z][A-Z0-9_]*)\s+([0-9]{1,20})\s+([0-9]{1,20})(?:\s+(.*))?")
DEFINITION = re.compile(r"(CLOCK_PROPERTIES|GROUP|COMM)\b\s*([0-9]{1,20})?\s*(.*)")
EVENTS = ("ENTER", "LEAVE", "MPI_SEND", "MPI_ISEND", "MPI_RECV", "MPI_IRECV", "MPI_COLLECTIVE_END")
NUMBER = "([0-9]{1,18})"
NAME = "([0-9]{1,20})"  # of a communicator or group, in OTF2 and from the logger: up to 2^64
TICKS = re.compile(rf"Ticks per Seconds?: {NUMBER}")
REGION = re.compile(r'Region: "([^"]*)"')
COMM_OF = re.compile(rf'Communicator: (?:"[^"]*" )?<?{NAME}>?')
GROUP_OF = re.compile(rf'Group: (?:"[^"]*" )?<?{NAME}>?')
OPERATION = re.compile(r"Operation: ([A-Z_]+)")
ROOT = re.compile(rf"Root: {NUMBER}")
EACH = re.compile(r"To each:((?: [0-9]{1,18})+)")
TO_ALL = frozenset({"ALLTOALL", "ALLTOALLV", "ALLTOALLW", "ALLGATHER", "ALLGATHERV"})
EXCHANGED = frozenset({"BARRIER", "ALLREDUCE", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK"})
TO_ROOT, FROM_ROOT = frozenset({"GATHER", "GATHERV"}), frozenset({"SCATTER", "SCATTERV"})
CHAINED = frozenset({"SCAN", "EXSCAN"})
ALL_KNOWN = TO_ALL | EXCHANGED | TO_ROOT | FROM_ROOT | CHAINED | {"BCAST", "REDUCE"}
UNEVEN = ("ALLTOALLV", "ALLTOALLW")


@dataclass(frozen=True, eq=False)
class Log:
    """A run of R ranks: its program, rank r on host r, seconds from MPI_Init to MPI_Finalize, and remarks."""

    program: Program
    source: NDArray[np.int64]  # int64[M], the rank that sends each message
    seconds: float
    remarks: tuple[str, ...]


_Record = tuple[int, str, int, int, str]


class _Sent(NamedTuple):
    to: int
    volume_bytes: float
    key: Hashable


class _Collective(NamedTuple):
    where: str
    operation: str
    members: tuple[int, ...]
    root: int | None
    sent: float
    received: float
    each: tuple[float, ...]


@dataclass
class _Rank:
    """One rank's events in order: seconds computed before, and what then happened; the times of its run."""

    events: list[tuple[float, object]] = field(default_factory=list)
    computed: float = 0.0
    depth: int = 0
    since: float | None = None
    first: float | None = None
    last: float = 0.0
    over: bool = False


def is_event_log(lines: Sequence[str]) -> bool:
    """Return whether a text is a print of a trace: one of the first lines is an event or a definition."""
    heads = [line for line in lines[:200] if line.strip() and not line.startswith(("=", "-", "#"))]
    return any(
        ((found := EVENT.match(line)) is not None and found[1] in EVENTS) or line.startswith("CLOCK_PROPERTIES")
        for line in heads
    )


def read_event_log(lines: Sequence[str], where: str) -> Log:
    """Return the program of a trace. Raises InputError with all findings, `where` naming the file.

    Between MPI calls a rank computes. A step is computing, then sends, then what is awaited: a message is awaited where
    its receive completed. Sends and receives of a pair and tag match in order. What MPI sends for a collective is in no
    trace. Assumed are: one message to each rank for ALLTOALL and ALLGATHER, to or from the root for GATHER and SCATTER,
    a binomial tree for BCAST and REDUCE, rounds of doubling distance for BARRIER, ALLREDUCE and REDUCE_SCATTER, a chain
    for SCAN. `Sent` and `Received` count bytes to and from all members. Source of the format: otf2-print, OTF2.
    """
    findings: list[Finding] = []
    ranks, lists, remarks = _events(lines, where, findings)
    if findings:
        raise InputError(findings[:MOST_FINDINGS])
    expanded = [_expanded(rank, events) for rank, events in enumerate(_with_sizes(lists, findings))]
    if findings:
        raise InputError(findings[:MOST_FINDINGS])
    seconds = max((rank.last - rank.first for rank in ranks if rank.first is not None), default=0.0)
    program, source = _program(expanded, where)
    return Log(program, source, seconds, remarks)


def _events(
    lines: Sequence[str], where: str, findings: list[Finding]
) -> tuple[list[_Rank], list[list[tuple[float, object]]], tuple[str, ...]]:
    """Return each rank's life, its events, and remarks on what had to be assumed."""
    found, tick, groups, group_of = _records(lines)
    messaging = {event[2] for event in found if event[1] not in {"ENTER", "LEAVE"}}
    located = next((list(members) for kind, members in groups.values() if kind), []) or sorted(messaging)
    rank_of = {location: rank for rank, location in enumerate(located)}
    if found and tick is None:
        expected = "CLOCK_PROPERTIES with Ticks per Seconds (otf2-print --show-all prints definitions too)"
        findings.append(Finding(where, expected, "none"))
    if not messaging:
        findings.append(Finding(where, "messages: lines of MPI_SEND, MPI_RECV, MPI_COLLECTIVE_END ...", "none"))
    if len(located) > MOST_RANKS:
        findings.append(Finding(where, f"at most {MOST_RANKS} ranks", str(len(located))))
    if strangers := sorted(messaging - set(located)):
        findings.append(Finding(where, "locations of its group COMM_LOCATIONS", shown(str(strangers[0]))))
    if findings or tick is None:
        return [], [], ()
    everybody = tuple(range(len(located)))

    def members_of(number: int) -> tuple[int, ...]:
        kind, members = groups.get(group_of.get(number, -1), ("COMM_LOCATIONS", ()))
        return everybody if kind else members

    ranks = [_Rank() for _ in located]
    uneven = 0
    for at, name, location, ticks_at, rest in found:
        if location not in rank_of:
            continue  # a thread that sends nothing
        me, here, time = rank_of[location], f"{where}:{at}", ticks_at * tick
        rank = ranks[me]
        if name in {"ENTER", "LEAVE"}:
            _entered(rank, name, rest, time)
            continue
        if rank.over:
            continue
        if rank.first is None or (rank.depth == 0 and rank.since is not None):
            findings.append(Finding(here, f"{name} between ENTER and LEAVE of an MPI call", "outside of one"))
            continue
        event = _event(name, rest, here, me, members_of, findings)
        if event is not None:
            rank.events.append((rank.computed, event))
            rank.computed = 0.0
            uneven += isinstance(event, _Collective) and event.operation in UNEVEN and not event.each
    remarks = ["what MPI sends for a collective is assumed: trees, rounds, or one message to each"] * any(
        isinstance(event, _Collective) for rank in ranks for _, event in rank.events
    )
    if uneven:
        remarks.append("the trace has only the sum that ALLTOALLV sent: it is spread evenly")
    return ranks, [[*rank.events, (rank.computed, None)] for rank in ranks], tuple(remarks)


def _records(
    lines: Sequence[str],
) -> tuple[list[_Record], float | None, dict[int, tuple[str, tuple[int, ...]]], dict[int, int]]:
    """Return (line, event, location, ticks, attributes) of events, a tick's seconds, groups, communicators' groups.

    A group is its kind, "COMM_LOCATIONS" or "", and its members.
    """
    tick: float | None = None
    groups: dict[int, tuple[str, tuple[int, ...]]] = {}
    group_of: dict[int, int] = {}
    found: list[_Record] = []
    for at, line in enumerate(lines, start=1):
        event = EVENT.match(line)
        if event is not None and event[1] in EVENTS:
            found.append((at, event[1], int(event[2]), int(event[3]), event[4] or ""))
        elif (definition := DEFINITION.match(line)) is not None:
            rest = definition[3]
            if definition[1] == "CLOCK_PROPERTIES":
                ticks = TICKS.search(line)
                tick = 1.0 / int(ticks[1]) if ticks is not None and int(ticks[1]) else tick
            elif definition[1] == "GROUP" and definition[2]:
                members = re.sub(r"\([^()]*\)", "", rest.partition("Members:")[2])
                kind = "COMM_LOCATIONS" if "COMM_LOCATIONS" in rest else ""
                groups[int(definition[2])] = kind, tuple(int(n) for n in re.findall(NUMBER, members))
            elif definition[2] and (group := GROUP_OF.search(rest)) is not None:
                group_of[int(definition[2])] = int(group[1])
    return found, tick, groups, group_of


def _entered(rank: _Rank, name: str, rest: str, time: float) -> None:
    """Count the time between MPI calls as computing, from MPI_Init's end, or the first call, to MPI_Finalize."""
    region = REGION.search(rest)
    if region is None or not region[1].startswith("MPI_") or rank.over:
        return
    if rank.first is None:
        rank.first = time
    rank.last = time
    if name == "ENTER":
        if rank.depth == 0 and rank.since is not None:
            rank.computed += max(0.0, time - rank.since)
        rank.depth += 1
        rank.over = region[1].startswith("MPI_Finalize")
        return
    rank.depth = max(0, rank.depth - 1)
    if region[1].startswith("MPI_Init"):
        rank.first, rank.computed = time, 0.0
    if rank.depth == 0:
        rank.since = time


def _event(
    name: str,
    rest: str,
    here: str,
    me: int,
    members_of: Callable[[int], tuple[int, ...]],
    findings: list[Finding],
) -> object | None:
    """Return a send, the key of an awaited message, or a collective; None and a finding if a part is missing."""
    comm = COMM_OF.search(rest)
    members = members_of(int(comm[1])) if comm is not None else ()
    if name == "MPI_COLLECTIVE_END":
        return _collective(rest, here, me, members, findings)
    sends = name in {"MPI_SEND", "MPI_ISEND"}
    numbers = [re.search(rf"{word}: {NUMBER}", rest) for word in ("Receiver" if sends else "Sender", "Tag", "Length")]
    if comm is None or any(number is None for number in numbers):
        expected = "Receiver, Communicator, Tag and Length" if sends else "Sender, Communicator, Tag and Length"
        findings.append(Finding(here, expected, shown(rest)))
        return None
    partner, tag, length = (int(number[1]) for number in numbers if number is not None)
    if partner >= len(members):
        findings.append(Finding(here, f"a rank of its communicator, 0 to {len(members) - 1}", str(partner)))
        return None
    other, kind = members[partner], ("message", comm[1], tag) if comm is not None else ()
    return _Sent(other, float(length), (me, other, *kind)) if sends else (other, me, *kind)


def _collective(rest: str, here: str, me: int, members: tuple[int, ...], findings: list[Finding]) -> _Collective | None:
    operation, root = OPERATION.search(rest), ROOT.search(rest)
    sizes = [re.search(rf"{word}: {NUMBER}", rest) for word in ("Sent", "Received")]
    if operation is None or operation[1] not in ALL_KNOWN or any(size is None for size in sizes):
        findings.append(Finding(here, "Operation (one of OTF2's), Communicator, Root, Sent and Received", shown(rest)))
        return None
    sent, received = (float(size[1]) for size in sizes if size is not None)
    each = EACH.search(rest)
    out = tuple(float(n) for n in each[1].split()) if each is not None else ()
    rooted = operation[1] in TO_ROOT | FROM_ROOT | {"BCAST", "REDUCE"}
    if me not in members or (each is not None and len(out) != len(members)):
        findings.append(Finding(here, f"a communicator of rank {me}, and a size for each of its ranks", shown(rest)))
        return None
    if rooted and (root is None or int(root[1]) >= len(members)):
        findings.append(Finding(here, f"a Root from 0 to {len(members) - 1}", shown(rest)))
        return None
    return _Collective(here, operation[1], members, int(root[1]) if rooted and root else None, sent, received, out)


def _with_sizes(
    lists: list[list[tuple[float, object]]], findings: list[Finding]
) -> list[list[tuple[float, object, Hashable, float]]]:
    """Return each rank's events with the number of each collective among those of its members, and the bytes of one.

    The n-th collective of a communicator is the same on all of its ranks. Findings where they differ.
    """
    calls: dict[tuple[tuple[int, ...], int], list[_Collective]] = defaultdict(list)
    numbered: list[list[tuple[float, object, Hashable]]] = []
    for events in lists:
        turn: dict[tuple[int, ...], int] = defaultdict(int)
        mine: list[tuple[float, object, Hashable]] = []
        for computed, event in events:
            key: Hashable = None
            if isinstance(event, _Collective):
                key = event.members, turn[event.members]
                calls[event.members, turn[event.members]].append(event)
                turn[event.members] += 1
            mine.append((computed, event, key))
        numbered.append(mine)
    size: dict[Hashable, float] = {}
    for (members, n), all_of in calls.items():
        first = all_of[0]
        if len(all_of) != len(members) or any(
            (each.operation, each.root) != (first.operation, first.root) for each in all_of
        ):
            said = f"{len(all_of)}: {', '.join(sorted({each.operation for each in all_of}))}"
            findings.append(Finding(first.where, f"the same collective on {len(members)} ranks", said))
        size[members, n] = _one_size(first.operation, len(members), all_of)
    return [[(computed, event, key, size.get(key, 0.0)) for computed, event, key in mine] for mine in numbered]


def _one_size(operation: str, ranks: int, all_of: list[_Collective]) -> float:
    """Return the bytes of one message of a collective whose messages are alike."""
    if operation == "BCAST":
        return max(each.received for each in all_of)
    most = max(each.sent for each in all_of)
    return most / ranks if operation in EXCHANGED else most


def _expanded(me: int, events: list[tuple[float, object, Hashable, float]]) -> Iterator[tuple[float, object]]:
    """Yield a rank's sends and awaited keys, those of collectives as messages, and the seconds computed before each."""
    for computed, event, key, size in events:
        if not isinstance(event, _Collective):
            yield computed, event
            continue
        before = computed
        for one in _messages(me, event, key, size):
            yield before, one
            before = 0.0
        if before:
            yield before, None


def _messages(me: int, call: _Collective, key: Hashable, size: float) -> Iterator[object]:
    """Yield what one rank sends and awaits for a collective, in order; ranks are those of the run."""
    members, n = call.members, len(call.members)
    at = members.index(me)

    def send(to: int, volume: float, part: int = 0) -> _Sent:
        return _Sent(members[to], volume, (me, members[to], key, part))

    def await_from(other: int, part: int = 0) -> Hashable:
        return members[other], me, key, part

    others = [(at + i) % n for i in range(1, n)]
    if call.operation in TO_ALL:
        yield from (send(to, call.each[to] if call.each else call.sent / n) for to in others)
        yield from map(await_from, others)
    elif call.operation in EXCHANGED:
        step = 1
        while step < n:
            yield send((at + step) % n, size, step)
            yield await_from((at - step) % n, step)
            step *= 2
    elif call.operation in CHAINED:
        yield from [await_from(at - 1)] if at else []
        yield from [send(at + 1, call.sent)] if at + 1 < n else []
    elif call.operation in TO_ROOT | FROM_ROOT:
        inward = call.operation in TO_ROOT
        assert call.root is not None  # noqa: S101 - read so
        if at != call.root:
            yield send(call.root, call.sent) if inward else await_from(call.root)
        elif inward:
            yield from map(await_from, others)
        else:
            yield from (send(to, call.sent / n) for to in others)
    else:  # a binomial tree, from the root (BCAST) or to it (REDUCE)
        assert call.root is not None  # noqa: S101 - read so
        place, down = (at - call.root) % n, call.operation == "BCAST"
        lowest = place & -place if place else 1 << n.bit_length()
        above = (place - lowest + call.root) % n
        bits = [1 << i for i in range(n.bit_length()) if 1 << i < lowest and place + (1 << i) < n]
        below = [(place + bit + call.root) % n for bit in bits]
        if down:
            yield from [await_from(above)] if place else []
            yield from (send(to, size) for to in reversed(below))
        else:
            yield from map(await_from, below)
            yield from [send(above, size)] if place else []


def _program(ranks: Sequence[Iterator[tuple[float, object]]], where: str) -> tuple[Program, NDArray[np.int64]]:
    """Return the program of ranks that compute, send and await, and each message's source. Raises InputError."""
    computing: list[list[float]] = []
    rows: list[tuple[int, int, int, float, Hashable]] = []
    awaits: dict[Hashable, list[int]] = defaultdict(list)
    for me, events in enumerate(ranks):
        steps, sent, waited = [0.0], False, False
        for computed, event in events:
            if (waited and isinstance(event, _Sent)) or ((sent or waited) and computed > AT_ONCE_SECONDS):
                steps.append(0.0)
                sent = waited = False
            steps[-1] += computed
            if isinstance(event, _Sent):
                sent = True
                rows.append((len(steps) - 1, me, event.to, event.volume_bytes, event.key))
            elif event is not None:
                waited = True
                awaits[event].append(len(steps) - 1)
        computing.append(steps)
    depth, width = max(map(len, computing)), len(computing)
    if depth * width > MOST_CELLS:
        raise InputError([Finding(where, f"at most {MOST_CELLS // width} steps of {width} ranks", str(depth))])
    places: dict[Hashable, Iterator[int]] = {key: iter(steps) for key, steps in awaits.items()}
    awaited = [next(places.get(row[4], iter(())), -1) for row in rows]
    unread = [row for row, step in zip(rows, awaited, strict=True) if step < 0]
    unsent = sum(1 for steps in places.values() for _ in steps)
    if unread or unsent:
        expected = "a receive for each send, of the same communicator and tag"
        named = f", such as from rank {unread[0][1]} to rank {unread[0][2]}" if unread else ""
        said = f"{len(unread)} sends and {unsent} receives alone{named}"
        raise InputError([Finding(where, expected, said)])
    order = sorted(range(len(rows)), key=lambda i: rows[i][:2])
    step, source, to = (np.array([rows[i][k] for i in order], np.int64) for k in (0, 1, 2))
    compute = np.zeros((depth, width))
    for me, steps in enumerate(computing):
        compute[: len(steps), me] = steps
    counts = np.bincount(step * width + source, minlength=depth * width)
    program = Program(
        np.arange(width),
        compute,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        to,
        np.array([rows[i][3] for i in order], np.float64),
        awaited=np.array([awaited[i] for i in order], np.int64),
    )
    if not _ends(program):
        raise InputError([Finding(where, "receives that complete after their sends", "ranks that wait for each other")])
    return program, source


def _ends(program: Program) -> bool:
    """Return whether all ranks come to their end: none awaits what is sent only after its own next step."""
    depth, width = program.compute_seconds.shape
    missing = np.zeros((depth, width), np.int64)
    np.add.at(missing, (program.awaited, program.destination), 1)
    first, at = program.first_message, [0] * width
    ready = list(range(width))
    while ready:
        rank = ready.pop()
        while at[rank] < 2 * depth:
            k, half = divmod(at[rank], 2)
            if half == 0:  # sends
                row = k * width + rank
                for m in range(int(first[row]), int(first[row + 1])):
                    other, when = int(program.destination[m]), int(program.awaited[m])
                    missing[when, other] -= 1
                    if not missing[when, other] and other != rank and at[other] == 2 * when + 1:
                        ready.append(other)
            elif missing[k, rank]:
                break
            at[rank] += 1
    return all(each == 2 * depth for each in at)
