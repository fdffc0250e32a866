"""Answer the command line; only this room prints, reads the environment or exits."""

from __future__ import annotations

import errno
import signal
import sys
from typing import TYPE_CHECKING

from tagloom import __version__
from tagloom.apply import interrupts
from tagloom.cli import (
    addressing,
    adopting,
    applying,
    bootstrapping,
    completing,
    confirming,
    exchanging,
    forecasting,
    keeping,
    looking,
    measuring,
    observing,
    planning,
    rack,
    reading,
    recording,
    regulating,
    repairing,
    replacing,
    reporting,
    starting,
)
from tagloom.cli.applying import PUSHING, pushed_payload
from tagloom.cli.pages import command_in, pages_for
from tagloom.cli.screen import BAD_INPUT, DEVICE_FAILED, NO, Screen, close_streams, open_streams
from tagloom.cli.vault import vault_password
from tagloom.cli.words import Commands, Parser, SectionedHelp, described, docs_command, page_of
from tagloom.errors import DeviceError, Finding, InputError, PlanError, TagloomError
from tagloom.storage.outputs import check_outputs

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

# What a disk, a directory or the system's limits refuse: the place's trouble, no fault of tagloom's.
PLACES = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ELOOP, errno.EBUSY),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE, errno.EXDEV),
}
GROUPS = (
    starting,
    planning,
    bootstrapping,
    recording,
    looking,
    applying,
    confirming,
    repairing,
    replacing,
    regulating,
    exchanging,
    forecasting,
    reporting,
    observing,
    addressing,
    adopting,
    keeping,
    measuring,
    rack,
    reading,
    completing,
)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    top = Parser(
        prog="tagloom",
        description=described(
            "tagloom", "Deadlock-free multipath routing over commodity Ethernet switches\nwith VLAN tags alone."
        ),
        formatter_class=SectionedHelp,
    )
    top.add_argument("--version", action="version", version=f"tagloom {__version__}")
    commands = Commands(top, "COMMAND")
    for group in GROUPS:
        group.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status: 0 good, 1 the answer is no, 2 bad input, 3 a device failed.

    The status is the answer's, whatever becomes of the streams it is printed on.
    """
    open_streams()
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    finally:
        close_streams()


def _run(words: list[str]) -> int:  # noqa: PLR0911 - an exit status for each kind of end
    as_json = "--json" in words
    screen = Screen(as_json=as_json)
    args, command = None, command_in(words)
    verbose = any(w in {"-v", "-vv", "-vvv", "--verbose"} for w in words)
    try:
        _check_words(words)
        args = parser().parse_args(words)
        screen = Screen(as_json=args.json, verbose=args.verbose)
        run: Callable[[argparse.Namespace, Screen], int] = args.run
        if not getattr(args, "gathered", True):
            check_outputs(*getattr(args, "outputs", ()), force=args.force)
        with vault_password(args), interrupts.unwrapped():
            return _answered(run(args, screen), command, screen)
    except InputError as error:
        pages = pages_for(error.findings, command, args)
        return _bad_input(error.findings, screen, pages, f"; {error.done}")
    except PlanError as error:
        screen.remark(
            f"no        {error.rule}",
            *([f"witness   {error.witness}"] if error.witness else []),
            *([f"next      {error.next_step}"] if error.next_step else []),
            f"read on   {docs_command(page_of(command))}",
        )
        finding = Finding("plan", error.rule, error.witness or "otherwise")
        screen.answer(
            {
                "findings": [finding.to_json()],
                **error.to_json(),
                "pages": [page_of(command)],
                **({"pending": error.pending} if command in PUSHING else {}),
            }
        )
        return NO
    except DeviceError as error:
        screen.remark(str(error), f"read on   {docs_command(page_of(command))}")
        error_page = {"switch": error.switch, "command": error.command, "text": error.text}
        payload = {**pushed_payload(), "failed": [error.switch], "error": error_page, "pending": command in PUSHING}
        screen.answer({**payload, "pages": [page_of(command)]})
        return DEVICE_FAILED
    except TagloomError as error:
        screen.remark(str(error))
        return error.exit_status
    except KeyboardInterrupt:
        screen.remark("interrupted")
        return 128 + signal.SIGINT
    except Exception as error:
        if isinstance(error, OSError) and error.errno in PLACES:
            where = str(error.filename or "a file of this command")
            finding = Finding(where, "a place that can be used", str(error.strerror))
            return _bad_input([finding], screen, [page_of(command)])
        if isinstance(error, MemoryError):
            return _bad_input([Finding("memory", "enough for this command", "none left")], screen, [page_of(command)])
        if verbose:
            raise
        screen.remark(
            f"tagloom has a fault: {type(error).__name__}: {error}",
            "next      the same command with -v, and report what it prints",
        )
        return NO


def _answered(status: int, command: str, screen: Screen) -> int:
    """Return a command's exit status, with the page to read on where that is not 0."""
    if status in {NO, DEVICE_FAILED}:
        screen.remark(f"read on   {docs_command(page_of(command))}")
    return status


def _bad_input(findings: Sequence[Finding], screen: Screen, pages: Sequence[str], note: str = "") -> int:
    screen.remark(*map(str, findings))
    screen.remark(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}{note}; read on: {docs_command(*pages)}")
    screen.answer({"findings": [finding.to_json() for finding in findings], "pages": list(pages)})
    return BAD_INPUT


def _check_words(words: list[str]) -> None:
    """Raise InputError for words that are no text: they could be neither printed nor kept."""
    odd = [word for word in words if any("\ud800" <= c <= "\udfff" for c in word)]
    if odd:
        raise InputError(Finding("arguments", "text in UTF-8", ascii(word)) for word in odd)
