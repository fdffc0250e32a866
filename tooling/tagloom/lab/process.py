"""Start, ask and end the process of a virtual rack, from the command line's side."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.lab.directory import (
    DRAFT,
    SOCKET_FOLDER,
    Order,
    RackInfo,
    check_inventory,
    growing_files,
    read_info,
    read_order,
    write_order,
)
from tagloom.lab.growing import merge
from tagloom.storage.outputs import check_outputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tagloom.lab.growing import Growth
    from tagloom.records.fabric import Fabric, Host

START_SECONDS = 30.0
STOP_SECONDS = 10.0
ANSWER_SECONDS = 120.0
_POLL_SECONDS = 0.01
RACK = ("-P", "-m", "tagloom.lab")  # -P: nothing of the current directory is imported


def up(order: Order, directory: Path, *, force: bool = False) -> RackInfo:
    """Start a rack in `directory`, detached, and wait until it answers; the directory becomes its inventory.

    The runs of a former rack are set aside as runs-1, runs-2 and so on: the new switches hold nothing of them.

    Raises InputError where one runs there already, or files of another inventory are there that `force` would
    overwrite, DeviceError with the end of DIRECTORY/rack.log where it died.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if (directory / "rack.json").exists():
        info = read_info(directory)
        if _is_rack(info.pid, directory):
            raise InputError(
                [
                    Finding(
                        str(directory),
                        "no rack running there (tagloom lab down ends it)",
                        f"one runs as process {info.pid}",
                    )
                ]
            )
        _forget(info)
    check_inventory(directory, force=force)
    if (runs := directory / "runs").exists():
        names = (directory / f"runs-{number}" for number in itertools.count(1))
        runs.rename(next(name for name in names if not name.exists()))
    write_order(directory, order)
    folder, log = str(directory.absolute()), str(directory.absolute() / "rack.log")
    pid = start(folder, log)
    deadline = time.monotonic() + START_SECONDS
    while not (directory / "rack.json").exists():
        if not _alive(pid) or time.monotonic() > deadline:
            if _alive(pid):
                os.kill(pid, signal.SIGTERM)
            why = Path(log).read_text("utf-8").strip().splitlines()  # of a traceback, the last line says it
            raise DeviceError("rack", "up", why[-1] if why else f"did not start in {START_SECONDS:.0f} s")
        time.sleep(_POLL_SECONDS)
    return read_info(directory)


def add(directory: Path, file: Fabric, *, force: bool = False) -> tuple[Growth, RackInfo]:
    """Add to the running rack of a directory what a grown fabric has beside it; none of its switches restarts.

    Raises InputError where the fabric differs otherwise, or files of the inventory changed since they were written.
    """
    read_info(directory)  # raises where none runs
    order = read_order(directory)
    growth = merge(order.fabric, file)
    grown = replace(order, fabric=growth.fabric)
    check_outputs(*(directory / name for name in growing_files(order.fabric, growth.fabric)), force=force)
    write_order(directory, grown, DRAFT)
    try:
        ask(directory, "add")
    finally:
        (directory / DRAFT).unlink(missing_ok=True)
    return growth, read_info(directory)


def start(directory: str, log: str) -> int:
    """Start the process of a rack, and return its id. All that it prints goes to `log`."""
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.posix_spawn(
        sys.executable,
        [sys.executable, *RACK, directory],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, write, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,  # a terminal's Ctrl-C is not meant for the rack
    )


def ask(directory: Path, do: str, **order: Any) -> dict[str, Any]:
    """Ask the rack of a directory and give its answer.

    Raises InputError where no rack was started or it finds the order wrong, DeviceError where it is gone.
    """
    info = read_info(directory)
    line = json.dumps({"do": do, **order}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(ANSWER_SECONDS)
            channel.connect(info.socket)
            channel.sendall(line)
            with channel.makefile("rb") as stream:
                text = stream.readline()
    except OSError as error:
        raise DeviceError("rack", do, f"process {info.pid} does not answer ({error}); see rack.log") from error
    if not text:
        raise DeviceError("rack", do, "hung up before it answered; see rack.log")
    answer: dict[str, Any] = json.loads(text)
    if not answer.pop("ok"):
        raise InputError(Finding(**finding) for finding in answer["findings"])
    return answer


def status(directory: Path) -> dict[str, Any]:
    """Return what runs: `fabric`, `pid`, and per switch model, address, sessions and quirks."""
    return ask(directory, "status")


def ping(
    directory: Path, a: str | None = None, b: str | None = None, pairs: Sequence[Sequence[str]] | None = None
) -> dict[str, Any]:
    """Send a frame from `a` to `b`, for some `pairs` or for every ordered one: `pairs reached lost`, and witnesses."""
    if pairs is not None:
        return ask(directory, "ping", pairs=[list(pair) for pair in pairs])
    if (a is None) != (b is None):
        raise InputError([Finding("ping", "two hosts, or none for all pairs", str(a or b))])
    return ask(directory, "ping", **{"from": a, "to": b})


def trace(directory: Path) -> dict[str, list[list[Any]]]:
    """Follow one frame of every ordered pair of hosts: "A B" -> [switch, in-port, out-port] of every copy sent."""
    paths: dict[str, list[list[Any]]] = ask(directory, "trace")["paths"]
    return paths


def broadcast(directory: Path, a: str | None = None) -> dict[str, Any]:
    """Send a broadcast from `a`, or from every host in turn: copies per receiver, and how many were exactly once."""
    return ask(directory, "broadcast", **{"from": a})


def configurations(directory: Path, *, startup: bool = False) -> dict[str, str]:
    """Return every switch's running (or startup) configuration as text."""
    found: dict[str, str] = ask(directory, "configurations", startup=startup)["configurations"]
    return found


def quirks(directory: Path, changes: dict[str, dict[str, Any]]) -> None:
    """Change quirks while the rack runs, by switch name or "*"; what is not named stays."""
    ask(directory, "quirks", quirks=changes)


def reboot(directory: Path, *switches: str) -> None:
    """Reboot switches (all, where none is named) to their startup configurations; sessions are cut."""
    ask(directory, "reboot", switches=list(switches))


def console(directory: Path, switch: str) -> dict[str, str]:
    """Return where a switch's console is beside SSH: `telnet` HOST:PORT, and `serial`, a terminal's path."""
    return ask(directory, "console", switch=switch)


def play(directory: Path, switch: str, file: Path | None) -> dict[str, Any]:
    """Have a switch answer as a transcript has it, as itself again without one; `switch`, `model`, `pages`."""
    return ask(directory, "play", switch=switch, file=str(file.absolute()) if file is not None else "")


def manner(directory: Path, switch: str, name: str = "") -> dict[str, Any]:
    """Have a switch's sessions from now on behave in some manner, "" as they do; `switch`, `manner`, `about`."""
    return ask(directory, "manner", switch=switch, name=name)


def keep(directory: Path) -> None:
    """Write where every switch stands, for the rack's next start."""
    ask(directory, "keep")


def restore(directory: Path) -> None:
    """Put every switch back where `keep` found it; faults are mended, manners forgotten, traffic and sessions end."""
    ask(directory, "restore")


def fault(directory: Path, switch: str, kind: str, **how: Any) -> None:
    """Order a fault on a switch; `how` is as in `tagloom.lab.faults.Fault`."""
    ask(directory, "fault", switch=switch, fault={"kind": kind, **how})


def faults(directory: Path) -> dict[str, Any]:
    """List the faults that wait for their line, those in effect, and those that have struck."""
    return ask(directory, "faults")


def mend(directory: Path, *switches: str) -> None:
    """End the faults of switches (of all, where none is named), those in effect and those that wait."""
    ask(directory, "mend", switches=list(switches))


def elapse(directory: Path, seconds: float) -> list[str]:
    """Pass time for the agents' clocks and for scheduled reloads, and return the switches that have restarted."""
    return list(ask(directory, "elapse", seconds=seconds)["restarted"])


def plug(directory: Path, hosts: Iterable[Host]) -> None:
    """Unplug all hosts, and plug in these, as in the rack's fabric; what the hosts sent of themselves ends."""
    ask(directory, "plug", hosts=[asdict(host) for host in hosts])


def traffic(directory: Path, order: str, seed: int = 0) -> dict[str, Any]:
    """Start, stop or report the traffic that the rack's hosts send all the time; returns its counts."""
    return ask(directory, "traffic", order=order, seed=seed)


def traps(directory: Path, address: tuple[str, int], kind: str = "v2c-trap") -> None:
    """Order the rack's agents to notify of ports: by v2c-trap, v2c-inform or v3-trap. Raises InputError."""
    ask(directory, "traps", host=address[0], port=address[1], kind=kind)


def down(directory: Path) -> None:
    """End the rack of a directory: ask it, failing that end its process, and kill that if it does not end.

    A process is ended only if it is verifiably the rack's.

    Raises InputError where none was started, DeviceError where the process would not end.
    """
    info = read_info(directory)
    ours = _is_rack(info.pid, directory)  # asked first: a process on its way out has no command line any more
    try:
        ask(directory, "stop")
    except DeviceError:
        if ours:
            os.kill(info.pid, signal.SIGTERM)
    if ours and not _ends(info.pid):
        if _is_rack(info.pid, directory):
            os.kill(info.pid, signal.SIGKILL)
        if not _ends(info.pid):
            raise DeviceError("rack", "down", f"process {info.pid} has not ended after {2 * STOP_SECONDS:.0f} s")
    _forget(info)


def _ends(pid: int) -> bool:
    """Wait until a process has ended, STOP_SECONDS at most; return whether it has."""
    deadline = time.monotonic() + STOP_SECONDS
    while alive := _alive(pid):
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    return not alive


def _forget(info: RackInfo) -> None:
    """Remove what a rack that was killed could not remove itself: its announcement and its socket's folder."""
    (info.directory / "rack.json").unlink(missing_ok=True)
    folder = Path(info.socket).parent
    if folder.name.startswith(SOCKET_FOLDER):
        Path(info.socket).unlink(missing_ok=True)
        if folder.is_dir():
            folder.rmdir()


def _alive(pid: int) -> bool:
    """Return whether a process runs; one that we started and that has ended is put to rest.

    One that has ended, and that its parent has not asked for yet, runs no more either.
    """
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"  # proc(5)
    except OSError:
        return False


def _is_rack(pid: int, directory: Path) -> bool:
    """Return whether a process is the rack of a directory, by its command line (proc(5)); ids are used again."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if _alive(pid) else []
    except OSError:
        return False
    return [os.fsencode(word) for word in (*RACK, directory.absolute())] == words[1:-1]
