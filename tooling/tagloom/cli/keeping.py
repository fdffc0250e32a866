"""Answer tagloom run: keep a running fabric to a timetable."""

from __future__ import annotations

import signal
import time
from collections import deque
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from tagloom.apply import interrupts
from tagloom.cli.applying import context_at
from tagloom.cli.inputs import (
    Findings,
    add_window_option,
    folder_of,
    listening_at,
    logins_of,
    seconds_of,
    site_of,
    snmp_reader,
    snmp_settings_of,
    windows_of,
)
from tagloom.cli.screen import GOOD, Screen
from tagloom.cli.servicing import add_defaults, install_service
from tagloom.cli.words import Commands, snmp_words
from tagloom.errors import Finding, InputError, TagloomError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterator, Mapping

    from tagloom.adapters.event_hook import EventHook
    from tagloom.adapters.snmp import Snmp
    from tagloom.operate.clock import LoadProbe, TimetableController
    from tagloom.operate.direct_push import DirectPush
    from tagloom.operate.repair_watch import RepairWatch
    from tagloom.records.fabric import Fabric
    from tagloom.records.snmp import Address, Credentials, Raw, Wanted
    from tagloom.records.timetable import Timetable

MOST_NOTIFIED = 4096  # notifications that wait for a look; who sends more is looked at all the same
LISTENING_SECONDS = 1.0  # between two looks whether it was told to end
WAKING_SECONDS = 1.0  # between two looks that switches ask for: who sends traps on end is not polled on end


class _WallClock:
    """The computer's clock, with waits that `wake` and signals end.

    A signal raises KeyboardInterrupt and sets `told_to_end`, so a wait ends even if a library swallows the exception.
    """

    def __init__(self) -> None:
        self._woken, self._woken_at = Event(), 0.0
        self.told_to_end = False

    @staticmethod
    def now() -> float:
        return time.time()

    @staticmethod
    def steady() -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._woken.wait(min(max(0.0, end - time.monotonic()), LISTENING_SECONDS)):
            if self.told_to_end:
                raise KeyboardInterrupt
            if time.monotonic() >= end:
                return
        time.sleep(max(0.0, min(seconds, self._woken_at + WAKING_SECONDS - time.monotonic())))
        self._woken.clear()
        self._woken_at = time.monotonic()

    def wake(self, _why: str) -> None:
        self._woken.set()


def _place(args: argparse.Namespace) -> tuple[Any, Any]:
    """Return where switches are, and their maintenance windows. Raises InputError."""
    site = site_of(args)
    return site, windows_of(args, site)


def _table(args: argparse.Namespace, fabric: Fabric | None) -> Timetable:
    """Return the timetable that was named; without one, the settings by which failures are repaired and nothing else.

    Raises InputError.
    """
    from tagloom.read.timetable_file import read_timetable
    from tagloom.records.timetable import Timetable

    if args.timetable is not None:
        return read_timetable(args.timetable, args.timezone, fabric)
    if args.no_watch:
        rule = "a TIMETABLE, since failures are found over SNMP"
        raise InputError([Finding("--no-watch", rule, "none")])
    return Timetable((), repair="auto")


def _run(args: argparse.Namespace, screen: Screen) -> int:
    if args.install_service:
        return install_service(args, screen, _table)
    from tagloom.adapters.clock_metrics import ClockMetrics
    from tagloom.adapters.event_hook import EventHook
    from tagloom.adapters.timetable_memory import TimetableMemory
    from tagloom.operate import clock, clock_document
    from tagloom.pipeline import timetabling
    from tagloom.read import fabric_of
    from tagloom.records.timetable import Watch

    all_found = Findings()
    checked = all_found.of
    every = checked(lambda: seconds_of(args.every), 0.0)
    repair_every = checked(lambda: seconds_of(args.repair_every, "--repair-every"), 0.0)
    hook = checked(lambda: EventHook(args.on_event), None) if args.on_event else None
    hold = checked(lambda: seconds_of(args.hold, "--lower-after", least=0.0), 0.0)
    listening = checked(lambda: listening_at(args.metrics_port, "--metrics-port"), None) if args.metrics_port else None
    site, windows = checked(lambda: _place(args), (None, None))
    fabric = checked(lambda: fabric_of(site.inventory), None) if site is not None else None
    table = checked(lambda: _table(args, fabric), None)
    all_found.findings += _wrong_load(args, table)
    if table is not None and table.rules and fabric is not None:
        with screen.waiting("planning and proving every setting"):
            checked(lambda: timetabling.check_settings(fabric, table, site.share / "templates"), None)
    all_found.end()
    assert fabric is not None  # noqa: S101 - else there are findings
    home = args.state or folder_of(site.inventory) / "run"
    reported: list[dict[str, Any]] = []

    def tell(at: float, text: str) -> None:
        reported.append({"at": at, "text": text})
        del reported[:-1000]
        screen.say(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(at))}  {text}")

    with ExitStack() as stack:
        probe = None
        if not args.no_watch:
            settings = snmp_settings_of(args, site.inventory)
            agents = settings.agents(fabric)
            snmp = stack.enter_context(snmp_reader(args, settings))
            probe = clock.LoadProbe(agents, snmp.ask)
        memory = stack.enter_context(closing(TimetableMemory(Path(":memory:") if args.dry_run else home / "state.db")))
        metrics = stack.enter_context(closing(ClockMetrics(listening, args.metrics_file, force=args.force)))
        written = clock_document.written(site.home, args.timetable, metrics.show)
        show = metrics.show if args.dry_run else stack.enter_context(written)
        watch = Watch(args.raise_above, args.lower_below, hold, table.dwell_seconds, table.changes_a_day)
        wall = _WallClock()
        beside = args.timetable.parent if args.timetable is not None else Path()
        jobs = clock.Jobs(args.requests or home / "requests", args.profiles or beside / "profiles")
        controller = clock.TimetableController(
            *(fabric, table, site, lambda each: context_at(args, screen, each), home, memory),
            *(wall, watch, probe if table.rules else None, jobs, tell, show),
            every_seconds=every,
            dry_run=args.dry_run,
            allow_interrupt=args.allow == "interrupt",
            windows=windows,
        )

        if hook is not None:
            stack.callback(hook.close)
        if probe is not None and table.repair != "off":
            notified = deque[str](maxlen=MOST_NOTIFIED)
            ask = _heard_too(stack, snmp, settings.credentials, table, _teller(agents, notified, wall))
            watched = clock.LoadProbe(agents, ask)
            controller.repairs = _repair_watch(args, controller, watched, table, hook, repair_every)
            controller.repairs.notified = notified
            if table.repair == "auto" and not args.dry_run:
                controller.repairs.direct = stack.enter_context(warm(controller, screen, watched, wall.wake))
        _keep_beside(controller, table)
        _run_until_told(controller, wall, once=args.once)
    watched_too = controller.repairs is not None and controller.repairs.pending
    screen.answer({"told": reported, "dry_run": args.dry_run, "pending": controller.pending or watched_too})
    return GOOD


def _heard_too(
    stack: ExitStack,
    snmp: Snmp,
    credentials: Credentials,
    table: Timetable,
    heard: Callable[[str, Address], None],
) -> Callable[[Mapping[str, Address], Wanted], dict[str, Raw]]:
    """Return how agents are asked, and hear their notifications meanwhile where the timetable says at which address."""
    from tagloom.adapters.snmp_traps import TrapReceiver

    if table.traps is None:
        return snmp.ask
    receiver = stack.enter_context(TrapReceiver(credentials, table.traps, heard))

    def ask(agents: Mapping[str, Address], wanted: Wanted) -> dict[str, Raw]:
        found = snmp.ask(agents, wanted)
        receiver.trust(snmp.engines)
        return found

    return ask


def _teller(agents: Mapping[str, Address], notified: deque[str], wall: _WallClock) -> Callable[[str, Address], None]:
    """Return what notes the switch that a notification came from, "" for none that is known, and wakes the clock."""
    names = {address: name for name, address in agents.items()}
    hosts = [host for host, _ in agents.values()]
    alone = {host: name for name, (host, _) in agents.items() if hosts.count(host) == 1}

    def heard(what: str, sender: Address) -> None:
        notified.append(names.get(sender) or alone.get(sender[0], ""))
        wall.wake(what)

    return heard


def _run_until_told(controller: TimetableController, wall: _WallClock, *, once: bool) -> None:
    """Run until a signal says to end, after the wave that is under way."""

    def end(*_: object) -> None:
        controller.ending = wall.told_to_end = True
        raise KeyboardInterrupt

    before = [(number, signal.signal(number, end)) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    try:
        with interrupts.unwrapped():
            controller.run(once=once)
    except KeyboardInterrupt:
        controller.tell(time.time(), "told to end: ended")
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _wrong_load(args: argparse.Namespace, table: Timetable | None) -> list[Finding]:
    """Find shares of load that are none, and load that is needed and not read."""
    found = []
    if not 0 < args.lower_below < args.raise_above <= 1:
        shares = f"{args.lower_below:g} and {args.raise_above:g}"
        found = [Finding("--lower-below and --raise-above", "shares of 1, the first the lower", shares)]
    if table is not None and table.reweave != "off" and args.no_watch:
        why = f"{args.timetable} has reweave: {table.reweave}, which goes by the bytes that ports count"
        found.append(Finding("--no-watch", "reweave: off", why))
    return found


def _repair_watch(
    args: argparse.Namespace,
    controller: TimetableController,
    probe: LoadProbe,
    table: Timetable,
    hook: EventHook | None,
    every_seconds: float,
) -> RepairWatch:
    """Return what looks for dead parts beside a timetable, and acts on them as its file says."""
    from tagloom.observe import CARRIER, PASSING, observe_all
    from tagloom.operate.repair_watch import RepairWatch

    return RepairWatch(
        "propose" if args.dry_run else table.repair,
        controller.fabric,
        lambda judged: observe_all(judged, probe.agents, probe.ask, PASSING),
        lambda judged, names: observe_all(judged, probe.agents, probe.ask, CARRIER, names),
        controller.next_site,
        controller.context,
        time.monotonic,
        lambda text: controller.tell(time.time(), text),
        controller.note_decision,
        hook or (lambda _event: None),
        table.repair_hold_seconds,
        every_seconds,
        allow_interrupt=args.allow == "interrupt",
    )


def _keep_beside(controller: TimetableController, table: Timetable) -> None:
    """Have a timetable compare paths with measured traffic, and keep daily backups, as its file says."""
    from tagloom.operate.backup import FOLDER, DailyBackups
    from tagloom.operate.reweave_watch import ReweaveWatch

    fabric, site = controller.fabric, controller.site
    if table.reweave != "off":
        controller.reweaves = ReweaveWatch(
            *("propose" if controller.dry_run else table.reweave, fabric, site.share / "templates"),
            *(table.reweave_limits, table.dwell_seconds, controller.runs_and_protection),
            lambda text: controller.tell(time.time(), text),
            controller.note_decision,
        )
    if table.backup == "daily" and not controller.dry_run:
        controller.backups = DailyBackups(fabric, site, site.home.parent / FOLDER, controller.tell)


@contextmanager
def warm(
    controller: TimetableController, screen: Screen, probe: LoadProbe, lost: Callable[[str], None]
) -> Iterator[Callable[[], DirectPush] | None]:
    """Make ready for repairs that must not wait: loops compiled, and a session with every switch kept open.

    Yields None where Ansible cannot say how switches are logged in to.
    """
    from tagloom.adapters.connect import connect
    from tagloom.adapters.ssh import Access
    from tagloom.adapters.warm_sessions import WarmSessions
    from tagloom.observe import CARRIER, observe_all, ports_up
    from tagloom.operate.direct_push import DirectHost, DirectPush
    from tagloom.operate.rehearsal import rehearse
    from tagloom.platforms import of

    site, fabric = controller.next_site(), controller.fabric
    with screen.waiting("compiling what repairs need, once per installation"):
        rehearse(site.share / "templates")
    try:
        with screen.waiting("asking Ansible how switches are logged in to"):
            known = logins_of(site)
        reached = {s.name: (s, Access.of_host(known[s.name])) for s in fabric.live if s.name in known}
    except TagloomError as error:
        controller.tell(time.time(), f"repairs log in when they are due: {str(error).replace(chr(10), '; ')}")
        yield None
        return
    hosts = {
        name: DirectHost((access.host, access.port), Access.out_of_band(known[name]))
        for name, (_, access) in reached.items()
    }
    sessions = WarmSessions(
        {name: connect(name, of(switch), access) for name, (switch, access) in reached.items()}, lost
    )

    def seen_up(ports: Mapping[str, Collection[int]]) -> bool:
        return ports_up(fabric, ports, lambda names: observe_all(fabric, probe.agents, probe.ask, CARRIER, names))

    with closing(sessions):
        yield lambda: DirectPush(hosts, sessions.lend, site.share / "templates", seen_up)


# An argument for each option of its command, nothing else.
def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    run = commands.add("run", _run, "repair a fabric by itself, and keep it to a timetable (a daemon)", snmp_words())
    run.add_argument(
        "timetable",
        type=Path,
        nargs="?",
        metavar="TIMETABLE",
        help="rules, each a time in cron syntax and the links that are off from then on, as {when: 0 20 * * 1-5,"
        " off: [s0:g2]}, or a settings file; repair: and reweave: say what else it does (default: none; failures are"
        " repaired, and links stay as they are)",
    )
    run.add_argument(
        "--install-service",
        action="store_true",
        help="write a systemd unit that starts the same command at every boot, and start it; as root for the computer, "
        "else for your user. With --check, show the unit and the commands instead",
    )
    run.add_argument(
        "--check",
        "--dry-run",
        dest="dry_run",
        action="store_true",
        help="show what would be done; send and store nothing",
    )
    run.add_argument(
        "--allow",
        choices=["interrupt"],
        help="interrupt: a change may cut off working pairs for a moment (default: refused)",
    )
    add_window_option(run)
    run.add_argument("--once", action="store_true", help="apply the settings due now, and exit")
    run.add_argument(
        "--every", default="30s", metavar="TIME", help="time between two checks: 30s, 5m or 1h (default 30s)"
    )
    run.add_argument(
        "--repair-every", default="5s", metavar="TIME", help="time between two checks for failures (default 5s)"
    )
    run.add_argument(
        "--on-event",
        metavar="COMMAND",
        help="start this command, without a shell, for each failure, return and repair; it reads JSON on its input",
    )
    run.add_argument(
        "--no-watch", action="store_true", help="do not read load over SNMP; follow the clock and jobs only"
    )
    run.add_argument(
        "--raise-above",
        type=float,
        default=0.7,
        metavar="SHARE",
        help="load of any channel at which all links go on (default 0.7)",
    )
    run.add_argument(
        "--lower-below",
        type=float,
        default=0.35,
        metavar="SHARE",
        help="load of every channel below which links may go off (default 0.35)",
    )
    run.add_argument(
        "--lower-after",
        "--hold",
        dest="hold",
        default="10m",
        metavar="TIME",
        help="time below that load before links go off again (default 10m)",
    )
    run.add_argument(
        "--requests", type=Path, metavar="DIR", help="directory of jobs' requests (default: requests in --state)"
    )
    run.add_argument(
        "--profiles",
        type=Path,
        metavar="DIR",
        help="settings that jobs may request, NAME.json (default: profiles beside the timetable)",
    )
    run.add_argument("--state", type=Path, metavar="DIR", help="directory of its state (default: run in the inventory)")
    run.add_argument("--timezone", metavar="ZONE", help="time zone, instead of the timetable's")
    run.add_argument("--metrics-port", metavar="[HOST:]PORT", help="serve its state to Prometheus")
    run.add_argument("--metrics-file", type=Path, metavar="FILE", help="write its state to FILE.prom for node_exporter")
    run.add_force()
    add_defaults(run)
