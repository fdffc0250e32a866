"""Install tagloom run as a service of systemd."""

from __future__ import annotations

import os
import pwd
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.inputs import Findings, folder_of, site_of
from tagloom.cli.screen import GOOD
from tagloom.errors import Finding, InputError
from tagloom.share import OWN_COMMAND

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tagloom.cli.screen import Screen
    from tagloom.read.service_unit import Service
    from tagloom.records.fabric import Fabric

# Options of `run` that the service is started with where they are not the default, by the names of their values.
_PASSED = (
    *("allow", "every", "repair_every", "on_event", "raise_above", "lower_below", "hold", "requests", "profiles"),
    *("state", "timezone", "metrics_port", "metrics_file", "snmp", "snmp_version", "in_flight", "timeout", "retries"),
    *("no_watch", "outside_window"),
)


def add_defaults(run: argparse.ArgumentParser) -> None:
    """Have the arguments of `run` hold the defaults of those that its service is started with."""
    run.set_defaults(defaults={name: run.get_default(name) for name in _PASSED})


def install_service(
    args: argparse.Namespace, screen: Screen, table: Callable[[argparse.Namespace, Fabric | None], object]
) -> int:
    """Write the unit that keeps `run` with these arguments running, and start it; with --check, only show both.

    `table` reads the timetable that it will follow.
    """
    from tagloom.adapters import systemd
    from tagloom.read import fabric_of
    from tagloom.read.service_unit import service_unit
    from tagloom.report.terminal import row
    from tagloom.storage.whole import write_whole

    wrong = Findings()
    site = wrong.of(lambda: site_of(args))
    fabric = wrong.of(lambda: fabric_of(site.inventory)) if site is not None else None
    if args.timetable is not None:
        wrong.of(lambda: table(args, fabric))
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
        write_whole(path, unit)
        path.chmod(0o644)
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

    words = [*OWN_COMMAND, "run"]
    words += [str(args.timetable.absolute())] if args.timetable is not None else []
    words += ["-i", str(inventory.absolute())]
    for name, default in args.defaults.items():
        value = getattr(args, name)
        if value != default:
            words.append(f"--{name.replace('_', '-')}")
            words += [] if value is True else [str(value.absolute() if isinstance(value, Path) else value)]
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
