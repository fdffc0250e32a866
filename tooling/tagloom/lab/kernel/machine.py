"""Run the prober in user-mode Linux, a kernel that is an ordinary process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError
from tagloom.lab.kernel.connection import PATH, Connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROGRAM = "linux.uml"
NEEDS = {  # what runs in there, and Debian's package of it
    PROGRAM: "user-mode-linux",
    "modprobe": "kmod",
    "bridge": "iproute2",
    "ethtool": "ethtool",
    "busybox": "busybox-static",
}
MEMORY = "256M"
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


def missing() -> tuple[str, ...]:
    """List the Debian packages that are not here and without which no kernel runs."""
    return tuple(package for program, package in NEEDS.items() if shutil.which(program, path=PATH) is None)


def apt_line(packages: Iterable[str]) -> str:
    """Write the command that installs packages."""
    return f"sudo apt install --no-install-recommends {' '.join(packages)}"


def obstacles() -> list[Finding]:
    """Return what keeps user-mode Linux from running here; nothing where it can be started."""
    packages = missing()
    return [Finding("user-mode Linux", apt_line(packages), "not installed")] if packages else []


def overflows(cpuinfo: str) -> bool:
    """Return whether a processor's extended state is larger than user-mode Linux can hold, by its /proc/cpuinfo."""
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    return any(key.strip() == "flags" and not BEYOND_THE_BUFFER.isdisjoint(flags.split()) for key, _, flags in lines)


def boot_command(memory: str, serial: str, script: Sequence[str], launcher: Sequence[str] = ()) -> list[str]:
    """Return the command that boots user-mode Linux and lets a shell run `script` there, of the files seen here.

    With `launcher`, which keeps the processor's extended state from the kernel, its programs are kept from AVX.
    """
    return [
        *launcher,
        *(shutil.which(PROGRAM, path=PATH) or PROGRAM, f"mem={memory}"),
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/sh"),
        *("con0=null,fd:1", "con=null", serial, "ssl=null", "quiet"),
        *([WITHOUT_AVX] if launcher else []),
        *("--", *script),  # for init
    ]


class Machine(Connection):
    """User-mode Linux, with the prober as its only program.

    No root is needed, nothing of the machine's network is touched, and its files are seen read-only. The exit status of
    the kernel says nothing, and is not asked. `hide_extended_state` keeps the processor's extended state from the
    kernel; by default where it would overflow.
    """

    name = "user-mode Linux"
    parts = ("init.sh", "launcher.py", "prober.py")

    def __init__(self, log: Path, *, hide_extended_state: bool | None = None) -> None:
        if findings := obstacles():
            raise InputError(findings)
        if hide_extended_state is None:
            hide_extended_state = overflows(CPUINFO.read_text("utf-8", errors="replace"))
        self._hide = hide_extended_state
        super().__init__(log)

    def _words(self, folder: Path, wire: int) -> list[str]:
        # A kernel's command line has no quotes: there is no blank in a path of ours.
        launcher = [str(folder / "python"), "-I", "-S", str(folder / "launcher.py")] if self._hide else []
        return boot_command(MEMORY, f"ssl0=fd:{wire}", [str(folder / "init.sh"), str(folder)], launcher)
