"""Answer the command line; only this room prints, reads the environment or exits."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import TYPE_CHECKING

from tagloom import __version__
from tagloom.cli import applying, completing, forecasting, keeping, measuring, observing, planning, rack, regulating
from tagloom.cli.applying import pushed_page
from tagloom.cli.screen import BAD_INPUT, DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.words import Commands, Parser, described
from tagloom.errors import DeviceError, Finding, InputError, PlanError, TagloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GROUPS = (planning, applying, regulating, forecasting, observing, keeping, measuring, rack, completing)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    top = Parser(
        prog="tagloom",
        description=described(
            "tagloom", "Deadlock-free multipath routing over commodity Ethernet switches with VLAN tags alone."
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"tagloom {__version__}")
    commands = Commands(top, "COMMAND")
    for group in GROUPS:
        group.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give its exit status: 0 good, 1 the answer is no, 2 bad input, 3 a device failed."""
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    screen = Screen(as_json=as_json)
    verbose = any(w in {"-v", "-vv", "-vvv", "--verbose"} for w in words)
    try:
        args = parser().parse_args(words)
        screen = Screen(as_json=args.json, verbose=args.verbose)
        run: Callable[[argparse.Namespace, Screen], int] = args.run
        return run(args, screen)
    except InputError as error:
        screen.remark(*map(str, error.findings))
        count = len(error.findings)
        screen.remark(f"{count} finding{'' if count == 1 else 's'}; nothing was changed")
        screen.answer({"findings": [finding.as_json() for finding in error.findings]})
        return BAD_INPUT
    except PlanError as error:
        screen.remark(
            f"no        {error.rule}",
            *([f"witness   {error.witness}"] if error.witness else []),
            *([f"next      {error.way_out}"] if error.way_out else []),
        )
        finding = Finding("plan", error.rule, error.witness or "otherwise")
        screen.answer(
            {"findings": [finding.as_json()], "refused": error.rule, "witness": error.witness, "next": error.way_out}
        )
        return NO
    except DeviceError as error:
        screen.remark(str(error))
        page = {"switch": error.switch, "command": error.command, "text": error.text}
        screen.answer({**pushed_page(), "failed": [error.switch], "error": page})
        return DEVICE_FAILED
    except TagloomError as error:
        screen.remark(str(error))
        return error.exit_status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
        return GOOD
    except KeyboardInterrupt:
        screen.remark("interrupted")
        return 128 + signal.SIGINT
    except Exception as error:
        if verbose:
            raise
        screen.remark(
            f"tagloom has a fault: {type(error).__name__}: {error}",
            "next      the same command with -v, and report what it prints",
        )
        return NO
