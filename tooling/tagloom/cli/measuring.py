"""Answer the commands that measure hosts, links and power."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.inputs import LAB, sleep_policy, snmp_settings_of, text_of
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.words import Commands, Parser
from tagloom.errors import Finding, InputError
from tagloom.storage.outputs import write_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence


def _measure_pingpong(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.measure import peer
    from tagloom.measure.pause import Pauser

    modes = [args.serve, args.local, args.connect, args.hosts, args.read, args.protocol == "mpi"]
    if sum(map(bool, modes)) != 1:
        words = "one of --local, --connect HOST, --ends A B, --serve, --read FILE, --protocol mpi"
        raise InputError([Finding("measure pingpong", words, "none or several")])
    allowed = peer.networks(args.network)
    if args.serve:
        with peer.Server(peer.parse_place(args.listen, peer.PORT, "--listen"), allowed) as server:
            at = peer.format_place(server.place)
            screen.say(f"listening {at}", f"next      tagloom measure pingpong --connect {at}, on the other host")
            screen.answer({"listening": list(server.place)})
            with closing(Pauser(args.pause)) if args.pause else nullcontext() as pause:
                server.serve(screen.remark, once=args.once, pause=pause)
        return GOOD
    from tagloom.measure import sessions

    if args.meter and not (args.local or args.connect):
        raise InputError([Finding("--meter", "--local or --connect: it is read beside the connecting side", "neither")])
    traces: Sequence[Any] = ()
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        if args.read:
            run = sessions.np_out_run(text_of(args.read), str(args.read))
        elif args.hosts:
            stack.enter_context(screen.waiting(f"measuring between {' and '.join(args.hosts)}"))
            run = sessions.control(args.hosts, args.ssh, args.remote, args.network, _forwarded(args))
        else:
            plan = _ping_pong_plan(args)
            clocks, watching = sessions.Clocks(), _watching(args)
            note = stack.enter_context(screen.progress("sizes measured"))
            if args.protocol == "mpi":
                found = sessions.ping_pong_mpi(plan, clocks, note)
                if found is None:
                    return GOOD  # rank 1, which only answers
                run = found
            else:
                run, traces = sessions.ping_pong(
                    sessions.Ends(args.connect, allowed, args.ipv6),
                    plan,
                    args.protocol,
                    clocks,
                    note,
                    buffer_bytes=args.buffer,
                    poll=args.busy_poll,
                    watching=watching,
                )
        kept(run.began_wall_seconds, sessions.kept_ping_pong(run, args.fabric))
    if args.np_out:
        write_output(args.np_out, sessions.np_out_text(run), force=args.force)
    return _show_points(sessions.ping_pong_payload(run, traces), args, screen)


def _ping_pong_plan(args: argparse.Namespace) -> Any:
    from tagloom.measure import sessions

    target = sessions.METER_TARGET_SECONDS if args.meter else sessions.TARGET_SECONDS
    plan = sessions.Plan(
        args.min_bytes,
        sessions.MAX_BYTES[args.protocol] if args.max_bytes is None else args.max_bytes,
        (0 if args.meter else 3) if args.perturbation is None else args.perturbation,
        args.trials,
        target if args.target is None else args.target,
        args.time_limit,
        args.max_rate,
        check_content=not args.no_content,
        percentiles=not args.no_percentiles,
    )
    sessions.check_plan(plan, args.protocol)
    return plan


def _show_points(payload: dict[str, Any], args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.report import measured

    if args.csv:
        write_output(args.csv, measured.points_csv(payload["points"]), force=args.force)
    if args.plot:
        title = f"{payload['protocol']} to {payload['peer']}"
        drawn = measured.plot_points(payload["points"], args.plot.suffix, title)
        write_output(args.plot, drawn, force=args.force)
    screen.say(*measured.pingpong_lines(payload, everything=bool(args.verbose)))
    for path in filter(None, (args.np_out, args.csv, args.plot, args.keep)):
        screen.say(f"wrote     {path}")
    screen.answer(payload)
    if any(point["content"] is False for point in payload["points"]):
        return NO
    return _measured(payload)


def _measured(payload: Mapping[str, Any]) -> int:
    """Return the exit status of a measurement: its own bounds are no failure, a clock that was set is a no."""
    if payload["complete"] or payload["why"].startswith(("the time limit", "a message of")):
        return GOOD
    return NO if payload["why"].startswith("the wall clock") else DEVICE_FAILED


def _measure_idle_gap(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import sleeping_link
    from tagloom.measure import namespaces, peer, sessions
    from tagloom.records.measurement import GapPoint
    from tagloom.report import measured

    if bool(args.connect) == bool(args.emulate) or (args.namespaces and not args.emulate):
        words = "--connect HOST, or --emulate TIMEOUT,TS,TW, which --namespaces does with real frames"
        raise InputError([Finding("measure idle-gap", words, "none or both")])
    began, clocks = time.time(), sessions.Clocks()
    gaps = sessions.Gaps(args.first, args.last, args.repeats, args.gaps, args.time_limit)
    sessions.check_gaps(gaps)
    baseline = sessions.baseline_of(text_of(args.baseline), str(args.baseline)) if args.baseline else []
    emulated = sleep_policy(args.emulate, "--emulate") if args.emulate else None
    about = {"peer": args.connect or f"emulated {args.emulate}", "protocol": args.protocol}
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        note = stack.enter_context(screen.progress("gaps tried"))
        if emulated is not None and not args.namespaces:
            host = sleeping_link.virtual_host(emulated)

            def virtual(gap: float, repeats: int) -> GapPoint:
                spaces, trips = host(gap, repeats)
                return GapPoint(tuple(spaces), tuple(trips))

            ask: Callable[[float, int], GapPoint] = virtual
        else:
            if emulated is not None:
                bench = stack.enter_context(namespaces.Bench(bridged=False))
                policy = map(str, (emulated.timeout_seconds, emulated.sleep_seconds, emulated.wake_seconds))
                bench.start(
                    bench.middle, [sys.executable, "-P", "-m", "tagloom.lab.sleeping_link", "near", "far", *policy]
                )
                far = stack.enter_context(sessions.over_bench(bench))
            else:
                ends = sessions.Ends(args.connect, peer.networks(args.network), args.ipv6)
                far = stack.enter_context(sessions.connected(ends))
            sessions.opened(far, args.protocol)
            ask = sessions.gap_asker(far, gaps, clocks)
        payload = sessions.sleep_policy(ask, gaps, note, baseline)
        kept(began, sessions.kept_policy(payload, args.fabric, about))
    if args.output:
        text = sessions.eee_text(payload, f"idle-gap probe of {about['peer']}")
        write_output(args.output, text, force=args.force)
    screen.say(*measured.policy_lines(payload))
    if args.output:
        screen.say(f"wrote     {args.output}", f"next      tagloom predict BUILD --eee {args.output}")
    screen.answer(payload)
    return _measured(payload)


def _measure_rps(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.measure import peer, sessions
    from tagloom.read import agent_at
    from tagloom.report import measured

    if bool(args.connect) == args.namespaces:
        words = "--namespaces, or --connect HOST where tagloom measure pingpong --serve --pause INTERFACE runs"
        raise InputError([Finding("measure rps", words, "none or both")])
    if bool(args.counter) and not args.connect:
        raise InputError([Finding("--counter", "--connect: the namespaces have counters of their own", args.counter)])
    began, blocked = time.time(), tuple(ms / 1e3 for ms in args.block)
    files = sessions.Files(tuple(args.protocols), blocked, args.seconds, args.rate, args.repetitions)
    sessions.check_files(files)
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        note = stack.enter_context(screen.progress("files sent"))
        block = received = None
        if args.namespaces:
            far, block, received = stack.enter_context(sessions.blocked_bench(args.rate))
        else:
            ends = sessions.Ends(args.connect, peer.networks(args.network), args.ipv6)
            far = stack.enter_context(sessions.connected(ends))
            if args.counter:
                host, _, index = args.counter.rpartition("/")
                if not index.isdigit():
                    raise InputError([Finding("--counter", "HOST[:PORT]/IFINDEX", repr(args.counter))])
                agent = agent_at(host, 161, "--counter")
                from tagloom.adapters.snmp import Snmp

                snmp = stack.enter_context(Snmp(snmp_settings_of(args, LAB).credentials))
                received = sessions.unicast_counter(snmp.ask, agent, int(index))
        payload = sessions.transfers(far, files, sessions.Clocks(), note, block, received)
        kept(
            began,
            sessions.kept_transfers(payload, args.fabric, {"rate_bps": args.rate, "complete": payload["complete"]}),
        )
    screen.say(*measured.transfer_lines(payload))
    screen.answer(payload)
    return _measured(payload)


def _measure_power(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.measure import sessions
    from tagloom.report import measured

    began = time.time()
    findings = []
    if len(args.meter) != 1:
        findings.append(Finding("--meter", "one (pingpong takes one for each host)", f"{len(args.meter)}"))
    if not 0 < args.seconds <= 86400:
        findings.append(Finding("--seconds", "above 0, at most 86400", f"{args.seconds:g}"))
    if findings:
        raise InputError(findings)
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        watching = _watching(args)
        note = stack.enter_context(screen.progress("seconds measured"))
        payload = sessions.power_payload(sessions.watch(watching, args.seconds, sessions.Clocks(), note))
        kept(began, sessions.kept_power(payload, args.fabric))
    if args.csv:
        write_output(args.csv, measured.samples_csv(payload["samples"]), force=args.force)
    screen.say(*measured.power_lines(payload))
    for path in filter(None, (args.csv, args.keep)):
        screen.say(f"wrote     {path}")
    screen.answer(payload)
    return _measured(payload)


def _watching(args: argparse.Namespace) -> Any:
    """Open the meter that was asked for; None without one. Its SNMP credentials are read only where it needs them."""
    from tagloom.adapters.meters import open_meter
    from tagloom.measure import sessions

    if not args.meter:
        return None
    if not 0.05 <= args.interval <= 3600:
        raise InputError([Finding("--interval", "seconds from 0.05 to 3600", f"{args.interval:g}")])

    def credentials() -> Any:
        return snmp_settings_of(args, LAB).credentials

    first, *others = (
        open_meter(word, interval_seconds=args.interval, credentials=credentials, clock=time.monotonic)
        for word in args.meter
    )
    return sessions.Watching(first, args.calibrate, tuple(others))


@contextmanager
def _keeping(args: argparse.Namespace) -> Iterator[Callable[[float, Sequence[Any]], None]]:
    """Open the file that measurements are kept in, before anything is measured; without one nothing is kept."""
    from tagloom.adapters.measurements import Measurements

    if not args.keep:
        yield lambda _at, _rows: None
        return
    with closing(Measurements(args.keep)) as store:
        yield store.append


def _forwarded(args: argparse.Namespace) -> list[str]:
    """Return the options of a ping-pong as words for the connecting side."""
    names = (
        "min-bytes",
        "max-bytes",
        "perturbation",
        "trials",
        "target",
        "time-limit",
        "max-rate",
        "protocol",
        "buffer",
    )
    given = [(name, getattr(args, name.replace("-", "_"))) for name in names]
    flags = [
        f"--{name}" for name in ("busy-poll", "no-content", "no-percentiles") if getattr(args, name.replace("-", "_"))
    ]
    return [*(word for name, value in given if value is not None for word in (f"--{name}", str(value))), *flags]


def _measure_messages(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.measure.message_log import logger, next_commands
    from tagloom.storage.document import shown

    if args.output.suffix != ".c":
        raise InputError([Finding("--output", "a name that ends in .c", shown(str(args.output)))])
    write_output(args.output, logger(), force=args.force)
    first, *others = next_commands(args.output)
    screen.say(f"wrote     {args.output}", f"next      {first}", *(f"          {line}" for line in others))
    screen.answer({"wrote": str(args.output), "commands": [first, *others]})
    return GOOD


def add(commands: Commands) -> None:  # noqa: PLR0915 - a statement for each option
    """Add these commands to the parser."""
    measure = commands.add("measure", _measure_pingpong, "measure hosts, links and power")
    verbs = Commands(measure, "pingpong|power|idle-gap|rps|messages", "measure")
    keep = Parser(add_help=False)
    keep.add_argument(
        "--store", "--keep", dest="keep", type=Path, metavar="FILE", help="append the numbers to this SQLite file"
    )
    keep.add_argument(
        "--name",
        "--fabric",
        dest="fabric",
        default="",
        metavar="NAME",
        help="name of the fabric that is measured, kept with the numbers",
    )
    keep.add_output("--csv", help="write the numbers as CSV")
    meter = Parser(add_help=False)
    meter.add_argument(
        "--meter",
        action="append",
        default=[],
        metavar="KIND:WHERE",
        help="wattsup:/dev/ttyUSB0, rapl, apc:HOST/OUTLET, shelly:HOST, ... (tagloom docs measure)",
    )
    meter.add_argument(
        "--interval", type=float, default=1.0, metavar="S", help="seconds between two samples (default 1)"
    )
    meter.add_argument(
        "--calibrate",
        type=float,
        nargs="?",
        const=60.0,
        default=0.0,
        metavar="S",
        help="first find the meter's lag, by loading this machine's processors on and off for S seconds (default 60)",
    )
    meter.add_argument("--snmp", type=Path, metavar="FILE", help="SNMP settings (secrets also from TAGLOOM_SNMP_*)")
    meter.add_argument("--snmp-version", choices=["3", "2c"], help="instead of the settings' (default 3, authPriv)")
    other = Parser(add_help=False)
    other.add_argument(
        "--connect", metavar="HOST[:PORT]", help="the other end: tagloom measure pingpong --serve, there"
    )
    other.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="CIDR",
        help="a network that may be loaded; loopback always may",
    )
    other.add_argument("-6", "--ipv6", action="store_true", help="over IPv6")

    ping = verbs.add(
        "pingpong",
        _measure_pingpong,
        "measure latency, bandwidth and energy by message size, as NetPIPE does",
        keep,
        meter,
        other,
    )
    ping.add_argument("--local", action="store_true", help="run both ends here, on loopback")
    ping.add_argument("--serve", action="store_true", help="listen for the other end")
    ping.add_argument("--once", action="store_true", help="with --serve: end after one measurement")
    ping.add_argument(
        "--listen",
        default="127.0.0.1",
        metavar="HOST[:PORT]",
        help="with --serve: address, one of a --network (default loopback)",
    )
    ping.add_argument(
        "--ends",
        "--hosts",
        dest="hosts",
        nargs=2,
        metavar=("A", "B[=ADDRESS]"),
        help="start both ends over SSH, by keys; B listens at ADDRESS",
    )
    ping.add_argument("--ssh", default="", metavar="COMMAND", help="with --ends: ssh and its options")
    ping.add_argument(
        "--remote", default="tagloom", metavar="COMMAND", help="with --ends: the tagloom command on the hosts"
    )
    ping.add_argument(
        "--protocol", choices=["tcp", "udp", "mpi"], default="tcp", help="default tcp; mpi under mpirun -np 2"
    )
    ping.add_argument("--min-bytes", type=int, default=1, metavar="N", help="least message (default 1)")
    ping.add_argument("--max-bytes", type=int, metavar="N", help="largest message (default 131072; udp 65504)")
    ping.add_argument(
        "--perturbation",
        type=int,
        metavar="N",
        help="also measure N bytes below and above each size (default 3; 0 with --meter)",
    )
    ping.add_argument(
        "--trials", type=int, default=3, metavar="N", help="trials of each size, of which the best counts (default 3)"
    )
    ping.add_argument(
        "--target", type=float, metavar="S", help="one-way seconds of a trial (default 0.1; with --meter 1)"
    )
    ping.add_argument(
        "--time-limit", type=float, default=300.0, metavar="S", help="seconds of the whole run (default 300)"
    )
    ping.add_argument(
        "--max-rate", type=float, metavar="BPS", help="mean rate of the run, b/s (default 1e9 beyond loopback)"
    )
    ping.add_argument("--buffer", type=int, default=0, metavar="BYTES", help="socket buffers (default: the system's)")
    ping.add_argument(
        "--busy-poll", action="store_true", help="poll instead of sleeping: needs a processor for each end"
    )
    ping.add_argument("--no-content", action="store_true", help="do not check the received bytes")
    ping.add_argument(
        "--no-percentiles", action="store_true", help="do not time single messages, which percentiles need"
    )
    ping.add_argument(
        "--pause",
        metavar="INTERFACE",
        help="with --serve: let measure rps ask for PAUSE frames to this interface's switch",
    )
    ping.add_output("--np-out", help="write NetPIPE's file")
    ping.add_argument("--read", type=Path, metavar="FILE", help="show a NetPIPE file instead of measuring")
    ping.add_output("--plot", help="draw bandwidth, latency and energy rate (needs matplotlib)")

    gap = verbs.add("idle-gap", _measure_idle_gap, "measure the EEE parameters of the links to a host", keep, other)
    gap.add_argument(
        "--emulate",
        metavar="TIMEOUT,TS,TW",
        help="measure an emulated link with these parameters, in virtual time or with --namespaces",
    )
    gap.add_argument("--namespaces", action="store_true", help="emulate with real frames in network namespaces (root)")
    gap.add_argument("--protocol", choices=["udp", "tcp"], default="udp", help="default udp")
    gap.add_argument(
        "--shortest", "--from", dest="first", type=float, default=0.5e-3, metavar="S", help="least gap (default 0.0005)"
    )
    gap.add_argument(
        "--longest", "--to", dest="last", type=float, default=4e-3, metavar="S", help="longest gap (default 0.004)"
    )
    gap.add_argument("--gaps", type=int, default=36, metavar="N", help="gaps in the first look (default 36)")
    gap.add_argument("--repeats", type=int, default=40, metavar="N", help="messages after each gap (default 40)")
    gap.add_argument("--time-limit", type=float, default=300.0, metavar="S", help="seconds of the probe (default 300)")
    gap.add_argument("--baseline", type=Path, metavar="FILE", help="--json output of the same measurement with EEE off")
    gap.add_output("-o", "--output", help="write the parameters here, for predict --eee FILE")

    files = verbs.add(
        "rps", _measure_rps, "measure file transfers while the link is blocked once a second", keep, other
    )
    files.add_argument("--namespaces", action="store_true", help="over a bridge in network namespaces (root)")
    files.add_argument(
        "--block", type=float, nargs="+", default=[0, 1, 10, 20], metavar="MS", help="milliseconds (default 0 1 10 20)"
    )
    files.add_argument("--protocols", nargs="+", choices=["tcp", "udp"], default=["tcp", "udp"], help="default both")
    files.add_argument("--seconds", type=float, default=5.0, metavar="S", help="length of one file (default 5)")
    files.add_argument("--rate", type=float, default=100e6, metavar="BPS", help="of a file, b/s (default 1e8)")
    files.add_argument(
        "--repetitions", type=int, default=1, metavar="N", help="send each file N times, and give means (default 1)"
    )
    files.add_argument(
        "--counter",
        metavar="HOST[:PORT]/IFINDEX",
        help="count received frames by SNMP ifInUcastPkts (default: the far end counts)",
    )
    files.add_argument("--snmp", type=Path, metavar="FILE", help="SNMP settings (secrets also from TAGLOOM_SNMP_*)")
    files.add_argument("--snmp-version", choices=["3", "2c"], help="instead of the settings' (default 3, authPriv)")

    watts = verbs.add(
        "power", _measure_power, "read a power meter, by this machine's clock, and measure its lag", keep, meter
    )
    watts.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long (default 60)")

    messages = verbs.add("messages", _measure_messages, "write the C file that logs the messages of an MPI program")
    messages.add_output(
        "-o",
        "--output",
        default=Path("message_log.c"),
        help="where to (default message_log.c)",
    )
