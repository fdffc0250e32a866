"""Install tagloom run as a service of systemd."""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.inputs import Findings, folder_of, site_of
from tagloom.cli.screen import GOOD
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    import argparse

    from tagloom.cli.screen import Screen
    from tagloom.read.service_unit import Service

# Options of `run` that the service is started with where they are not the default.
_PASSED: tuple[tuple[str, Any], ...] = (
    *(("allow", None), ("every", "30s"), ("repair_every", "5s"), ("on_event", None), ("raise_above", 0.7)),
    *(("lower_below", 0.35), ("lower_after", "10m"), ("requests", None), ("profiles", None), ("state", None)),
    *(("timezone", None), ("metrics_port", None), ("metrics_file", None), ("snmp", None), ("snmp_version", None)),
    *(("in_flight", 64), ("timeout", 1.0), ("retries", 2)),
)
_FLAGS = ("no_watch", "outside_window")


def install_service(args: argparse.Namespace, screen: Screen) -> int:
    """Write the unit that keeps `run` with these arguments running, and start it; with --check, only show both."""
    from tagloom.adapters import systemd
    from tagloom.read import fabric_of
    from tagloom.read.service_unit import service_unit
    from tagloom.read.timetable_file import read_timetable
    from tagloom.report.terminal import row

    wrong = Findings()
    site = wrong.of(lambda: site_of(args))
    fabric = wrong.of(lambda: fabric_of(site.inventory)) if site is not None else None
    if args.timetable is not None:
        wrong.of(lambda: read_timetable(args.timetable, args.timezone))
    if args.once:
        wrong.findings.append(Finding("--once", "no --install-service beside it", "both"))
    if args.ask_vault_pass:
        rule = "--vault-password-file FILE, since nobody types a password at a service"
        wrong.findings.append(Finding("--ask-vault-pass", rule, "--install-service"))
    own = os.geteuid() != 0
    path, unit = Path(), ""
    if site is not None and fabric is not None:
        service = _service(args, site.inventory, fabric.name, own=own)
        path, unit = systemd.units_directory(_settings(), own=own) / service.name, service_unit(service)
        wrong.of(lambda: _refuse_other_unit(path, force=args.force))
    wrong.end()
    commands = systemd.start_commands(path.name, own=own)
    starts = systemd.is_there()
    if args.dry_run:
        screen.say(*unit.rstrip().splitlines(), "")
        screen.say(*row("would", f"write {path}" if _text_of(path) != unit else f"change nothing in {path}"))
    else:
        _write(path, unit)
        for command in commands if starts else ():
            systemd.run(command)
        screen.say(*row("wrote", str(path)))
    if starts:
        verb = "run" if args.dry_run else "started"
        screen.say(*row(verb, "; ".join(map(shlex.join, commands))))
        screen.say(*row("next", "tagloom status" if not args.dry_run else "the same without --check"))
    else:
        screen.say(*row("systemd", "does not run on this computer; where it does, type"))
        screen.say(*(f"{'next' if n == 0 else '':<10}{shlex.join(each)}" for n, each in enumerate(commands)))
    done = not args.dry_run
    page = {"path": str(path), "unit": unit, "commands": [shlex.join(each) for each in commands]}
    screen.answer({**page, "wrote": str(path) if done else "", "started": done and starts, "dry_run": args.dry_run})
    return GOOD


def _service(args: argparse.Namespace, inventory: Path, fabric: str, *, own: bool) -> Service:
    """Return the service that `run` with these arguments is, for the owner of the inventory."""
    from tagloom.read.service_unit import Service

    words = [sys.executable, "-m", "tagloom.cli", "run"]
    words += [str(args.timetable.absolute())] if args.timetable is not None else []
    words += ["-i", str(inventory.absolute())]
    given = vars(args) | {"lower_after": args.hold}
    for name, default in _PASSED:
        value = given[name]
        if value != default:
            words += [f"--{name.replace('_', '-')}", str(value.absolute() if isinstance(value, Path) else value)]
    words += [f"--{name.replace('_', '-')}" for name in _FLAGS if given[name]]
    folder = folder_of(inventory.absolute())
    owner = pwd.getpwuid(folder.stat().st_uid).pw_name
    vault = args.vault_password_file.absolute() if args.vault_password_file is not None else None
    return Service(fabric, tuple(words), Path.cwd(), folder, "" if own else owner, vault)


def _settings() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _refuse_other_unit(path: Path, *, force: bool) -> None:
    """Raise InputError where a unit stands that tagloom did not write, or that changed since."""
    from tagloom.read.service_unit import is_written_here

    if not os.path.lexists(path) or (force and path.is_file()):
        return
    if not path.is_file() or not is_written_here(_text_of(path)):
        rule = "a unit that tagloom wrote and nobody changed (--force replaces it)"
        raise InputError([Finding(str(path), rule, "another")])


def _write(path: Path, unit: str) -> None:
    """Write a unit whole or not at all. Raises InputError where it cannot be written."""
    draft = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(unit, "utf-8")
        draft.chmod(0o644)
        draft.replace(path)
    except OSError as error:
        raise InputError([Finding(str(path), "a unit that can be written", error.strerror or str(error))]) from error
