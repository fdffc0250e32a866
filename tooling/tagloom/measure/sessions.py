"""Run measurements between two ends; turn them into documents, files and rows to store."""

from __future__ import annotations

import json
import shlex
import socket
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.measure import ends, energy, idle_gap, lag, namespaces, np_out, peer, pingpong, power, rps
from tagloom.measure.loops import SilenceError
from tagloom.measure.pingpong import Clocks, Plan
from tagloom.measure.sizes import TARGET_SECONDS
from tagloom.records.measurement import (
    SLEPT,
    GapPoint,
    Interval,
    PeerClock,
    PingPong,
    Point,
    SleepPolicy,
    StoredMeasurement,
    Transfer,
)
from tagloom.records.snmp import Wanted
from tagloom.storage.document import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tagloom.measure.lag import Lag
    from tagloom.measure.peer import Network
    from tagloom.records.measurement import Meter, PowerTrace
    from tagloom.records.snmp import Address, Raw

__all__ = ["TARGET_SECONDS", "Clocks", "Ends", "Plan"]

MAX_BYTES = {"tcp": 131072, "mpi": 131072, "udp": 65504}  # of a ping-pong, by default
MAX_RATE_BPS = 1e9  # mean over a run, both directions together, anywhere but on loopback
METER_TARGET_SECONDS = 1.0  # of a trial while a meter is read: every size needs samples
CALIBRATION_SECONDS = 60.0
CALIBRATION_SEED = 1


@dataclass(frozen=True, slots=True)
class Ends:
    """Where the other end is: `peer` HOST[:PORT], or None for a local process on loopback."""

    peer: str | None
    networks: tuple[Network, ...]
    ipv6: bool = False

    @property
    def family(self) -> int:
        """Return the requested address family."""
        return socket.AF_INET6 if self.ipv6 else socket.AF_UNSPEC


@contextmanager
def over_bench(bench: namespaces.Bench) -> Iterator[peer.Peer]:
    """Connect from a bench's near host to a listening side started on its far host."""
    listen = f"{namespaces.FAR_ADDRESS}:0"
    words = ends.in_namespace(bench.far, [*ends.HERE, *serving_words(listen, [namespaces.NETWORK])])
    allowed = peer.networks([namespaces.NETWORK])
    with (
        ends.Listening("the far host", words) as near,
        namespaces.inside(bench.near),
        peer.Peer(near.place, allowed) as far,
    ):
        yield far


@contextmanager
def connected(where: Ends) -> Iterator[peer.Peer]:
    """Connect to the other end, and start it first if it is a local process."""
    if where.peer is not None:
        with peer.Peer(peer.parse_place(where.peer, peer.PORT, "--connect"), where.networks, where.family) as far:
            yield far
        return
    listen = "[::1]:0" if where.ipv6 else "127.0.0.1:0"
    with (
        ends.Listening("the listening side", [*ends.HERE, *serving_words(listen)]) as near,
        peer.Peer(near.place, where.networks) as far,
    ):
        yield far


def serving_words(listen: str, networks: Sequence[str] = ()) -> list[str]:
    """Return the arguments of a listening side that ends after one measurement."""
    allowed = [word for network in networks for word in ("--network", network)]
    return ["measure", "pingpong", "--serve", "--once", "--json", "--listen", listen, *allowed]


def control(hosts: Sequence[str], ssh: str, remote: str, networks: Sequence[str], words: Sequence[str]) -> PingPong:
    """Run both ends over SSH, the second of two hosts listening; return the run of the first.

    A host is NAME or USER@NAME, with `=ADDRESS` if its measured address differs. `remote` is tagloom's command there.
    Only the given networks are loaded, and both ends get them as arguments. Raises DeviceError.
    """
    client, server = hosts
    name, _, address = server.partition("=")
    address = address or name.rpartition("@")[2]
    login = shlex.split(ssh) if ssh else list(ends.SSH)
    command = shlex.split(remote)
    listen = f"[{address}]:0" if ":" in address else f"{address}:0"
    started = [*command, *serving_words(listen, networks)]
    with ends.Listening(name, ends.over_ssh(name, started, login)) as near:
        at = peer.format_place(near.place)
        allowed = [word for network in networks for word in ("--network", network)]
        requested = [*command, "measure", "pingpong", "--json", "--connect", at, *allowed, *words]
        requested = ends.over_ssh(client.partition("=")[0], requested, login)
        payload = ends.answer_of(client, requested)
    if "points" in payload:
        return ping_pong_of(payload)
    said = payload.get("error", {}).get("text") or "; ".join(
        str(Finding(**each)) for each in payload.get("findings", [])
    )
    raise DeviceError(client, shlex.join(requested), said or "it said nothing")


# --- ping-pong -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Watching:
    """The meter for a run, the seconds of its lag's calibration (0: none), and other meters, whose lag is the same."""

    meter: Meter
    calibrate_seconds: float = 0.0
    others: tuple[Meter, ...] = ()


def check_plan(plan: Plan, protocol: str) -> None:
    """Raise InputError with all findings if a plan cannot be measured."""
    most = peer.MAX_DATAGRAM_BYTES if protocol == "udp" else peer.MAX_MESSAGE_BYTES
    rows = (
        ("--min-bytes", plan.min_bytes, 1, plan.max_bytes),
        ("--max-bytes", plan.max_bytes, 1, most - plan.perturbation),
        ("--perturbation", plan.perturbation, 0, most // 2),
        ("--trials", plan.trials, 1, 1000),
        ("--target", plan.target_seconds, 1e-4, 600),
        ("--time-limit", plan.time_limit_seconds, 0.1, peer.SESSION_SECONDS),
        ("--max-rate", plan.max_rate_bps if plan.max_rate_bps is not None else 1.0, 1.0, 1e13),
    )
    wrong = [
        Finding(flag, f"from {low:g} to {high:g}", f"{value:g}")
        for flag, value, low, high in rows
        if not low <= value <= high
    ]
    if wrong:
        raise InputError(wrong)


def ping_pong(
    where: Ends,
    plan: Plan,
    protocol: str,
    clocks: Clocks,
    note: Callable[[int, int], None],
    *,
    buffer_bytes: int = 0,
    poll: bool = False,
    watching: Watching | None = None,
) -> tuple[PingPong, tuple[PowerTrace, ...]]:
    """Measure with the other end, and the power meanwhile. Raises InputError, DeviceError before any measurement.

    Beyond loopback the mean rate is bounded by MAX_RATE_BPS unless the plan has a bound.
    """
    check_plan(plan, protocol)
    with connected(where) as far:
        if plan.max_rate_bps is None and not far.loopback:
            plan = replace(plan, max_rate_bps=MAX_RATE_BPS)
        ahead = opened(far, protocol, buffer_bytes, poll=poll, wall=clocks.wall)
        if watching is None:
            run = pingpong.run(far, protocol, far.name, plan, clocks, note)
            return replace(run, clock=ahead), ()
        with ExitStack() as stack:
            meters = (watching.meter, *watching.others)
            samplers = [stack.enter_context(power.Sampler(meter)) for meter in meters]
            late = calibrate(samplers[0], watching.calibrate_seconds, clocks)
            run = pingpong.run(far, protocol, far.name, plan, clocks, note)
            if not all(sampler.gone for sampler in samplers):  # the last size's samples are still to come
                longest = max(meter.interval_seconds for meter in meters)
                clocks.sleep(2 * longest + (late.seconds if late else 0.0))
            known = (late.seconds, late.sigma_seconds) if late else (None, None)
            traces = tuple(sampler.trace(*known) for sampler in samplers)
    return energy.with_energy(replace(run, clock=ahead), traces), traces


def opened(
    far: peer.Peer,
    protocol: str,
    buffer_bytes: int = 0,
    *,
    poll: bool = False,
    wall: Callable[[], float] = time.time,
) -> PeerClock:
    """Compare clocks with the other end and open the socket for messages. Raises DeviceError."""
    try:
        ahead = far.clock(wall)
        far.open(protocol, buffer_bytes, poll=poll)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DeviceError(far.name, "open", str(error) or type(error).__name__) from None
    return ahead


def ping_pong_mpi(plan: Plan, clocks: Clocks, note: Callable[[int, int], None]) -> PingPong | None:
    """Measure between the two ranks of an MPI job; rank 1 answers and returns None. Raises InputError without MPI."""
    from tagloom.measure import mpi  # noqa: PLC0415 - the import starts MPI

    check_plan(plan, "mpi")
    pair = mpi.pair()
    if pair is None:
        mpi.answer()
        return None
    try:
        return pingpong.run(pair, "mpi", pair.name, plan, clocks, note)
    finally:
        pair.bye()


def ping_pong_payload(run: PingPong, traces: Sequence[PowerTrace] = ()) -> dict[str, Any]:
    """Return a run with the keys of the command line."""
    powers = [power_payload(trace) for trace in traces]
    shortest = min((2 * p.repeats * p.seconds for p in run.points), default=None)
    return {
        "protocol": run.protocol,
        "peer": run.peer,
        "began_wall_seconds": run.began_wall_seconds,
        "complete": run.complete,
        "why": run.why,
        "clock": asdict(run.clock) if run.clock else None,
        "correlation": energy.correlation(run.points),
        "power": powers[0] if powers else None,
        "other_power": powers[1:],
        "timer_seconds": run.timer_seconds,
        "shortest_trial_seconds": shortest,
        "points": [point.to_json() for point in run.points],
    }


def ping_pong_of(payload: dict[str, Any]) -> PingPong:
    """Return the run of a document that --json printed elsewhere, without a meter."""
    points = tuple(
        Point(
            p["bytes"],
            p["repeats"],
            tuple(p["trials_seconds"]),
            p["percentiles_seconds"],
            p["content"],
            p["began_seconds"],
            p["ended_seconds"],
            p["lost_trials"],
        )
        for p in payload["points"]
    )
    clock = PeerClock(**payload["clock"]) if payload["clock"] else None
    began, complete, why = payload["began_wall_seconds"], payload["complete"], payload["why"]
    timer = payload.get("timer_seconds")
    return PingPong(payload["protocol"], payload["peer"], points, began, clock, complete, why, timer)


def np_out_run(text: str, name: str) -> PingPong:
    """Return a file of NetPIPE's as a run, whose start is unknown (0). Raises InputError."""
    return PingPong("np.out", name, np_out.parse_np_out(text, name), 0.0)


def np_out_text(run: PingPong) -> str:
    """Return a run in the format of NetPIPE's file."""
    return np_out.format_np_out(run.points)


def kept_ping_pong(run: PingPong, fabric: str) -> list[StoredMeasurement]:
    """Return the rows to store for a run: seconds and bandwidth of every size, and its energy if there is any."""
    rows: list[StoredMeasurement] = []
    for point in run.points:
        about = {
            "bytes": point.bytes,
            "protocol": run.protocol,
            "peer": run.peer,
            "repeats": point.repeats,
            "trials": len(point.trials_seconds),
            "complete": run.complete,
        }
        b = point.bits_per_second
        relative = point.mean_sigma_seconds / point.mean_seconds
        numbers: list[tuple[str, float, str, float]] = [
            ("seconds", point.seconds, "s", point.sigma_seconds),
            ("bandwidth", b, "bit/s", b * relative),
        ]
        if point.energy is not None:
            e = point.energy
            numbers += [
                ("watts", e.watts, "W", e.watts_sigma),
                ("bits_per_joule", e.bits_per_joule, "bit/J", e.bits_per_joule_sigma),
                ("joules_per_bit", e.joules_per_bit, "J/bit", e.joules_per_bit_sigma),
            ]
        rows += [StoredMeasurement("pingpong", fabric, about, *number) for number in numbers]
    return rows


# --- power -----------------------------------------------------------------------------------------------------------


def calibrate(sampler: power.Sampler, seconds: float, clocks: Clocks) -> Lag | None:
    """Switch a load on and off and return the meter's lag; None for 0 seconds, or if the meter failed."""
    if not seconds:
        return None
    with power.Spinners() as load:
        switched, ended = power.modulate(load, seconds, CALIBRATION_SEED, clocks, sampler)
    clocks.sleep(lag.MOST_SECONDS if not sampler.gone else 0.0)
    if sampler.gone:
        return None
    return lag.find_lag(sampler.trace().samples, switched, ended)


def watch(watching: Watching, seconds: float, clocks: Clocks, note: Callable[[int, int], None]) -> PowerTrace:
    """Read a meter for `seconds`, after a calibration of its lag if one is requested."""
    steady = pingpong.SteadyClock(clocks)
    with power.Sampler(watching.meter) as sampler:
        late = calibrate(sampler, watching.calibrate_seconds, clocks)
        before, began = len(sampler.trace().samples) if late else 0, clocks.monotonic()
        while not sampler.gone and (spent := clocks.monotonic() - began) < seconds:
            note(int(spent), int(seconds))
            clocks.sleep(min(0.2, seconds - spent))
        trace = sampler.trace(late.seconds if late else None, late.sigma_seconds if late else None)
    trace = replace(trace, samples=trace.samples[before:])
    step = steady.step()
    return replace(trace, complete=False, why="; ".join(filter(None, (trace.why, step)))) if step else trace


def power_payload(trace: PowerTrace) -> dict[str, Any]:
    """Return a trace with the keys of the command line; joules are those between the first and the last sample."""
    watts = [sample.watts for sample in trace.samples]
    first, last = (trace.samples[0].at_seconds, trace.samples[-1].at_seconds) if watts else (0.0, 0.0)
    return {
        "meter": trace.meter,
        "sees": trace.sees,
        "complete": trace.complete,
        "why": trace.why,
        "lag_seconds": trace.lag_seconds,
        "lag_sigma_seconds": trace.lag_sigma_seconds,
        "seconds": last - first,
        "watts": float(np.mean(watts)) if watts else None,
        "watts_sigma": float(np.std(watts, ddof=1)) if len(watts) > 1 else 0.0,
        "joules": energy.joules(trace.samples, first, last) if watts else 0.0,
        "samples": [asdict(sample) for sample in trace.samples],
    }


def kept_power(payload: dict[str, Any], fabric: str) -> list[StoredMeasurement]:
    """Return the rows to store for a power document."""
    about = {name: payload[name] for name in ("meter", "lag_seconds", "complete")} | {
        "samples": len(payload["samples"])
    }
    if not payload["samples"]:
        return []
    return [
        StoredMeasurement("power", fabric, about, "watts", payload["watts"], "W", payload["watts_sigma"]),
        StoredMeasurement("power", fabric, about, "joules", payload["joules"], "J"),
        StoredMeasurement("power", fabric, about, "seconds", payload["seconds"], "s"),
    ]


# --- a link's sleep policy -------------------------------------------------------------------------------------------

MESSAGE_BYTES = 64
NANO = 1e-9
ALONE = (
    "no host answers later after a longer gap by itself (processors sleep, too): the same probe with EEE off, "
    "--json > off.json, then --baseline off.json, tells them apart"
)
_TIMES = ("awake", "timeout", "overshoot", "sleep", "wake")


@dataclass(frozen=True, slots=True)
class Gaps:
    """The idle gaps to try, in seconds, and the repeats of each."""

    first_seconds: float = idle_gap.FIRST_SECONDS
    last_seconds: float = idle_gap.LAST_SECONDS
    repeats: int = idle_gap.REPEATS
    coarse: int = idle_gap.COARSE
    time_limit_seconds: float = pingpong.TIME_LIMIT_SECONDS


def check_gaps(gaps: Gaps) -> None:
    """Raise InputError with all findings if the gaps are invalid."""
    rows = (
        ("--shortest", gaps.first_seconds, 1e-6, gaps.last_seconds),
        ("--longest", gaps.last_seconds, 1e-6, 1.0),
        ("--repeats", gaps.repeats, 3, 10_000),
        ("--gaps", gaps.coarse, 8, 1000),
        ("--time-limit", gaps.time_limit_seconds, 0.1, peer.SESSION_SECONDS),
    )
    wrong = [Finding(f, f"from {low:g} to {high:g}", f"{v:g}") for f, v, low, high in rows if not low <= v <= high]
    if wrong:
        raise InputError(wrong)


def gap_asker(far: peer.Peer, gaps: Gaps, clocks: Clocks) -> Callable[[float, int], GapPoint]:
    """Return a function that measures round trips after gaps; it raises OSError on time limit or set clock."""
    steady, end = pingpong.SteadyClock(clocks), clocks.monotonic() + gaps.time_limit_seconds

    def ask(gap: float, repeats: int) -> GapPoint:
        if step := steady.step():
            raise OSError(step)
        if clocks.monotonic() > end:
            raise OSError(f"the time limit of {gaps.time_limit_seconds:g} s")
        for _ in range(pingpong.LOSSES):
            try:
                spaces, trips = far.paced(MESSAGE_BYTES, gap, repeats)
            except SilenceError:
                continue
            return GapPoint(tuple(n * NANO for n in spaces), tuple(n * NANO for n in trips))
        raise OSError(f"{pingpong.LOSSES} rounds in a row lost a datagram")

    return ask


def sleep_policy(
    ask: Callable[[float, int], GapPoint],
    gaps: Gaps,
    note: Callable[[int, int], None],
    baseline: Sequence[GapPoint] = (),
) -> dict[str, Any]:
    """Return a link's policy with the keys of the command line, from all points measured before any failure.

    Without a baseline, a host that answers later after a longer gap looks like a link that sleeps: `assumed` says so.
    """
    check_gaps(gaps)
    points: list[GapPoint] = []
    why = ""
    try:
        idle_gap.probe(ask, gaps.first_seconds, gaps.last_seconds, gaps.repeats, note, points, gaps.coarse)
    except (OSError, ValueError, LookupError, TypeError) as error:  # what a dying peer's control line can cause
        said = str(error) or type(error).__name__
        why = said if said.startswith(("the time limit", "the wall clock")) else f"the peer is gone: {said}"
    try:
        policy = idle_gap.fit_policy(points, baseline)
    except InputError:
        policy = SleepPolicy("too few gaps to tell", Interval(0.0, 0.0, 0.0))
    found: dict[str, Any] = {
        f"{name}_seconds": asdict(value) if (value := getattr(policy, name)) is not None else None for name in _TIMES
    }
    return {
        "verdict": policy.verdict,
        "complete": not why,
        "why": why,
        **found,
        "eee": _eee_words(policy),
        "assumed": ALONE if policy.verdict == SLEPT and not baseline else "",
        "gaps": [
            {"gap_seconds": list(p.gap_seconds), "round_trip_seconds": list(p.round_trip_seconds)} for p in points
        ],
    }


def _eee_words(policy: SleepPolicy) -> str:
    times = policy.timeout, policy.sleep, policy.wake
    return ",".join(f"{max(t.value, 0.0):.4g}" for t in times if t is not None)


def baseline_of(text: str, name: str) -> list[GapPoint]:
    """Return the gap points of a document that --json printed. Raises InputError."""
    try:
        payload = parse_json(text, name, "what tagloom measure idle-gap --json printed")
        return [
            GapPoint(tuple(map(float, g["gap_seconds"])), tuple(map(float, g["round_trip_seconds"])))
            for g in payload["gaps"]
        ]
    except (ValueError, LookupError, TypeError) as error:
        raise InputError([Finding(name, "what tagloom measure idle-gap --json printed", str(error))]) from None


def eee_text(payload: dict[str, Any], source: str) -> str:
    """Return a policy as YAML that `tagloom predict --eee FILE` reads. Raises InputError if no sleep was found."""
    if payload["verdict"] != SLEPT:
        raise InputError([Finding("-o", "a link that sleeps within the gaps that were tried", payload["verdict"])])
    lines, ends = [f"# {source}; the intervals are 95 % confidence intervals"], ["intervals:"]
    for name in ("timeout", "sleep", "wake"):
        each = payload[f"{name}_seconds"]
        value, low, high = (float(f"{max(each[key], 0.0):.9g}") for key in ("value", "low", "high"))
        lines.append(f"{name}_seconds: {value:.9f}")
        ends.append(f"  {name}_seconds: [{min(low, value):.9f}, {max(high, value):.9f}]")
    return "\n".join([*lines, *ends, f"source: {json.dumps(source)}", ""])


def kept_policy(payload: dict[str, Any], fabric: str, about: dict[str, Any]) -> list[StoredMeasurement]:
    """Return the rows to store for a policy: every time that was found."""
    about = {**about, "verdict": payload["verdict"], "complete": payload["complete"]}
    times = {name: Interval(**each) for name in _TIMES if (each := payload[f"{name}_seconds"]) is not None}
    return [
        StoredMeasurement("idle-gap", fabric, about, name, each.value, "s", each.sigma) for name, each in times.items()
    ]


# --- file transfers over a link that is blocked ----------------------------------------------------------------------

RATE_BPS = 100e6


@dataclass(frozen=True, slots=True)
class Files:
    """The files to send: protocols, blocked seconds, duration, and rate; how often each."""

    protocols: tuple[str, ...] = ("tcp", "udp")
    blocked_seconds: tuple[float, ...] = rps.BLOCKED_SECONDS
    seconds: float = 5.0
    rate_bps: float = RATE_BPS
    repetitions: int = 1

    @property
    def bytes(self) -> int:
        """Return the bytes that the rate carries in the time."""
        return int(self.rate_bps * self.seconds / 8)


def check_files(files: Files) -> None:
    """Raise InputError with all findings if the files are invalid."""
    rows = (
        ("--seconds", files.seconds, 0.1, 120.0),
        ("--rate", files.rate_bps, 1e5, 1e11),
        ("--repetitions", files.repetitions, 1, 100),
        *(("--block", seconds, 0.0, 0.5) for seconds in files.blocked_seconds),
    )
    wrong = [Finding(f, f"from {low:g} to {high:g}", f"{v:g}") for f, v, low, high in rows if not low <= v <= high]
    if wrong:
        raise InputError(wrong)


@contextmanager
def blocked_bench(rate_bps: float) -> Iterator[tuple[peer.Peer, Callable[[float], None], Callable[[], int]]]:
    """Create two hosts and a bridge between them whose far port carries `rate_bps` and can be blocked."""
    with namespaces.Bench(bridged=True) as bench:
        shape = ["tbf", "rate", f"{rate_bps * 1.3:.0f}", "burst", "64kb", "limit", "256kb"]
        namespaces.run(["tc", "-n", bench.middle, "qdisc", "add", "dev", "far", "root", *shape])
        with closing(rps.PortBlocker(bench.middle, "far")) as block, over_bench(bench) as far:
            yield far, block, bench.received


def unicast_counter(
    ask: Callable[[dict[str, Address], Wanted], dict[str, Raw]], agent: Address, index: int
) -> Callable[[], int]:
    """Return a function that reads ifInUcastPkts of an interface. It raises DeviceError if the agent has none."""
    name = (1, 3, 6, 1, 2, 1, 2, 2, 1, 11, index)

    def read() -> int:
        raw = ask({"agent": agent}, Wanted((name,)))["agent"]
        value = raw.scalars.get(name)
        if not isinstance(value, int):
            raise DeviceError(agent[0], "ifInUcastPkts", raw.error or f"no interface {index}")
        return value

    return read


def transfers(
    far: peer.Peer,
    files: Files,
    clocks: Clocks,
    note: Callable[[int, int], None],
    block: Callable[[float], None] | None,
    received: Callable[[], int] | None,
) -> dict[str, Any]:
    """Send every file and return the document of the command line, with all transfers before any failure.

    Repeated transfers count as their mean; `seconds_each` has the time of every one.
    """
    done: list[Transfer] = []
    each: list[list[float]] = []
    steady, why = pingpong.SteadyClock(clocks), ""
    total = len(files.protocols) * len(files.blocked_seconds)
    try:
        for protocol in files.protocols:
            for seconds in files.blocked_seconds:
                note(len(done), total)
                runs: list[Transfer] = []
                while not why and len(runs) < files.repetitions:
                    runs.append(rps.transfer(far, protocol, files.bytes, seconds, files.rate_bps, block, received))
                    done[len(each) :] = [rps.mean_of(runs)]
                    why = steady.step()
                each += [[run.seconds for run in runs]] if runs else []
    except DeviceError as error:
        why = str(error)
    except (OSError, ValueError, LookupError, TypeError) as error:  # what a dying peer's control line can cause
        why = f"the peer is gone: {error or type(error).__name__}"
    return {
        "complete": not why,
        "why": why,
        "transfers": [
            asdict(t) | {"seconds_each": times, "lost_percent": t.lost_percent, **_beside(t, done)}
            for t, times in zip(done, [*each, []], strict=False)  # a transfer that broke off has none
        ],
    }


def _beside(one: Transfer, done: Sequence[Transfer]) -> dict[str, Any]:
    """Return the expected cost of one disruption of this length a second, and the paper's measurement."""
    base = next((t.seconds for t in done if t.protocol == one.protocol and not t.blocked_seconds), None)
    if one.protocol == "udp":
        return {
            "paper_seconds": list(rps.PAPER_UDP_SECONDS.get(one.blocked_seconds, (None, None))),
            "expected_lost_percent": 100.0 * one.disruptions * one.blocked_seconds / one.seconds,
            "paper_lost_percent": rps.PAPER_UDP.get(one.blocked_seconds),
        }
    off, on = rps.PAPER_TCP.get(one.blocked_seconds, (None, None))
    return {
        "slowdown_percent": 100.0 * (one.seconds / base - 1) if base else None,
        "expected_slowdown_percent": 100.0 * one.blocked_seconds,
        "paper_seconds": [rps.PAPER_TCP_BASE, off, on],
    }


def kept_transfers(payload: dict[str, Any], fabric: str, about: dict[str, Any]) -> list[StoredMeasurement]:
    """Return the rows to store for transfers: seconds, and the percentage of datagrams lost."""
    rows = []
    for t in payload["transfers"]:
        words = {**about, **{name: t[name] for name in ("protocol", "blocked_seconds", "bytes", "disruptions")}}
        rows.append(StoredMeasurement("rps", fabric, words, "seconds", t["seconds"], "s"))
        if t["lost_percent"] is not None:
            rows.append(StoredMeasurement("rps", fabric, words, "lost_percent", t["lost_percent"], "%"))
    return rows
