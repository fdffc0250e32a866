"""Start user-mode Linux as an ordinary process, and talk to the prober inside."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tagloom.errors import DeviceError, Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

PROGRAM = "linux.uml"
NEEDS = {  # what runs in there, and Debian's package of it
    PROGRAM: "user-mode-linux",
    "modprobe": "kmod",
    "bridge": "iproute2",
    "ethtool": "ethtool",
    "busybox": "busybox-static",
}
MEMORY = "256M"
START_SECONDS = 60.0
ANSWER_SECONDS = 300.0
QUIT_SECONDS = 10.0
# User-mode Linux of Debian 12 (6.1) keeps a process's extended state (XSAVE) in a buffer of fixed size. That of a
# processor with AMX (Sapphire Rapids and later) does not fit, and the kernel panics at its first process.
CPUINFO = Path("/proc/cpuinfo")
BEYOND_THE_BUFFER = {"amx_tile"}
# Without the extended state it does not save AVX's registers: programs must not use them. The kernel hands a word with
# "=" that it does not know to its first process as environment, where glibc heeds it.
WITHOUT_AVX = "GLIBC_TUNABLES=glibc.cpu.hwcaps=" + ",".join(
    f"-{name}"
    for name in (
        *("AVX512F", "AVX512VL", "AVX2", "AVX", "AVX_Fast_Unaligned_Load", "ERMS", "FSRM"),
        *("XSAVEC", "XSAVE", "AVX_Usable", "AVX2_Usable"),
    )
)
_PATH = os.pathsep.join(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])


def missing() -> tuple[str, ...]:
    """List the Debian packages that are not here and without which no kernel runs."""
    return tuple(package for program, package in NEEDS.items() if shutil.which(program, path=_PATH) is None)


def apt_line(packages: Iterable[str]) -> str:
    """Write the command that installs packages."""
    return f"sudo apt install --no-install-recommends {' '.join(packages)}"


def overflows(cpuinfo: str) -> bool:
    """Return whether a processor's extended state is larger than user-mode Linux can hold, by its /proc/cpuinfo."""
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    return any(key.strip() == "flags" and not BEYOND_THE_BUFFER.isdisjoint(flags.split()) for key, _, flags in lines)


class Machine:
    """Hold one running kernel; enter it as a context. `request` asks the prober inside, one thing at a time.

    Everything raises DeviceError with the end of the kernel's own log. No root is needed, nothing of the machine's
    network is touched, and its files are seen read-only. The exit status of the kernel says nothing, and is not asked.
    `hide_extended_state` keeps the processor's extended state from the kernel; by default where it would overflow.
    """

    def __init__(self, log: Path, *, hide_extended_state: bool | None = None) -> None:
        if packages := missing():
            expected = f"the packages {', '.join(packages)} ({apt_line(packages)})"
            raise InputError([Finding("user-mode Linux", expected, "not installed")])
        if hide_extended_state is None:
            hide_extended_state = overflows(CPUINFO.read_text("utf-8", errors="replace"))
        self._hide = hide_extended_state
        self._log = log
        self._number = 0

    def __enter__(self) -> Self:
        """Boot, and wait for the prober."""
        self._exchange = tempfile.TemporaryDirectory(prefix="tagloom-")
        ours, theirs = socket.socketpair()
        self._wire = ours
        folder = Path(self._exchange.name)  # a kernel's command line has no quotes for a blank in a path of ours
        for name in ("init.sh", "launcher.py", "prober.py"):
            (folder / name).write_bytes(files("tagloom.lab.kernel").joinpath(name).read_bytes())
        (folder / "python").symlink_to(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
        words = [
            *([str(folder / "python"), "-I", "-S", str(folder / "launcher.py")] if self._hide else []),
            *(shutil.which(PROGRAM, path=_PATH) or PROGRAM, f"mem={MEMORY}"),
            *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/sh"),
            *("con0=null,fd:1", "con=null", f"ssl0=fd:{theirs.fileno()}", "ssl=null", "quiet"),
            *([WITHOUT_AVX] if self._hide else []),
            *("--", str(folder / "init.sh"), str(folder)),  # for init
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        theirs.close()
        try:
            self._listen(START_SECONDS, "boot")
        except DeviceError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Power off; a kernel that does not is killed, with what it started and nothing else."""
        with contextlib.suppress(OSError):
            self._say("quit", {})
        try:
            self._process.wait(QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._wire.close()
        self._exchange.cleanup()

    def request(self, do: str, seconds: float = ANSWER_SECONDS, **order: Any) -> dict[str, Any]:
        """Ask the prober, and give its answer. Raises DeviceError where it has none within `seconds`."""
        try:
            number = self._say(do, order)
        except OSError as error:
            raise self._lost(do, str(error)) from error
        self._listen(seconds, do)
        answer: dict[str, Any] = json.loads(Path(self._exchange.name, f"{number}.answer").read_text("utf-8"))
        if not answer["ok"]:
            raise self._lost(do, answer["error"])
        return answer

    def _say(self, do: str, order: dict[str, Any]) -> int:
        self._number += 1
        request = Path(self._exchange.name, f"{self._number}.request")
        request.write_text(json.dumps({"do": do, **order}), "utf-8")
        self._wire.sendall(f"{self._number}\n".encode())
        return self._number

    def _listen(self, seconds: float, what: str) -> None:
        """Wait for one line: the prober says nothing but that it is ready, and which request it has answered."""
        deadline, heard = time.monotonic() + seconds, b""
        while not heard.endswith(b"\n"):
            self._wire.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                piece = self._wire.recv(1)
            except TimeoutError as error:
                raise self._lost(what, f"no answer in {seconds:.0f} s") from error
            except OSError as error:
                raise self._lost(what, str(error)) from error
            if not piece:
                raise self._lost(what, "the kernel ended")
            heard += piece

    def _lost(self, what: str, why: str) -> DeviceError:
        tail = self._log.read_text("utf-8", errors="replace").strip().splitlines()[-3:] if self._log.exists() else []
        return DeviceError("user-mode Linux", what, "; ".join([why, *tail]))
