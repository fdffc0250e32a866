"""Name the outside programs that tests need, how to find each, how to get it, and whether CI installs it.

`python3 tests/needs.py packages` prints the Debian packages that CI installs and that are missing here. It runs before
any environment exists, so this module imports nothing but the standard library until a test asks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parents[1]
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
NEIGHBOURS = ROOT / ".neighbours" / "bin"  # where `make neighbours` installs programs from PyPI
SYSTEM_PYTHON = "/usr/bin/python3"
# With a true value, a missing thing that CI installs fails a test. `--judges` sets the variable.
JUDGES = "TAGLOOM_JUDGES"


@dataclass(frozen=True, slots=True)
class Need:
    """An outside program, module, setting or ability.

    `programs`: names of the program, any of which will do. `module`: a module of the system's Python. `variable`: an
    environment variable that the operator sets. `probe` returns what is in the way, or nothing. `package`: the Debian
    package; `get`: how to get the thing in another way. `ci`: whether CI has it.
    """

    programs: tuple[str, ...] = ()
    module: str = ""
    variable: str = ""
    probe: Callable[[], str] | None = None
    package: str = ""
    get: str = ""
    ci: bool = False

    def installed(self) -> bool:
        """Return whether the thing is here, whatever a probe says about its use."""
        if self.programs and find_program(self.programs) is None:
            return False
        if self.module and not system_python_has(self.module):
            return False
        return not self.variable or bool(os.environ.get(self.variable))

    def how(self) -> str:
        """Return how to get the thing."""
        return self.get or f"sudo apt install {self.package}"


def find_program(names: Iterable[str]) -> str | None:
    """Return the path of the first program that is here."""
    path = os.pathsep.join([str(NEIGHBOURS), PATH])
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


def system_python_has(module: str) -> bool:
    """Return whether the system's Python imports a module."""
    return Path(SYSTEM_PYTHON).exists() and succeeds(SYSTEM_PYTHON, "-c", f"import {module}")


def succeeds(*words: str) -> bool:
    """Return whether a command ends well."""
    done = subprocess.run(words, check=False, capture_output=True, env=os.environ | {"PATH": PATH})
    return done.returncode == 0


# --- probes ----------------------------------------------------------------------------------------------------------


def root() -> str:
    """Return what keeps the tests from changing network namespaces and owners of files."""
    return "" if os.geteuid() == 0 else "run the tests as root"


def bubblewrap() -> str:
    """Return what keeps bubblewrap from making a container."""
    made = succeeds("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true")
    return "" if made else "bwrap is installed, but this machine gives it no namespaces"


def network_namespace() -> str:
    """Return what keeps a user from making a network namespace."""
    return "" if succeeds("unshare", "-rn", "true") else "this machine gives users no network namespaces"


def mount_namespace() -> str:
    """Return what keeps a user from mounting a tmpfs in a namespace."""
    words = ("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "-o", "size=8k", "none", "/mnt")
    return "" if succeeds(*words) else "this machine gives users no mount namespaces"


def user_mode_linux() -> str:
    """Return what keeps user-mode Linux from starting."""
    from tagloom.lab.kernel import machine  # noqa: PLC0415 - not there before the environment is

    return "; ".join(map(str, machine.obstacles()))


def bridging_kernel() -> str:
    """Return what keeps every kernel that carries frames from starting."""
    from tagloom.lab.kernel import choice  # noqa: PLC0415 - as above

    return "; ".join(map(str, choice.obstacles()))


def site_builder() -> str:
    """Return which library of the site is missing."""
    return ", ".join(f"no module {name}" for name in ("mkdocs", "material") if find_spec(name) is None)


def environment() -> str:
    """Return whether the checkout has the environment that make targets run in."""
    return "" if (ROOT / ".venv" / "bin" / "python").exists() else "no .venv"


# --- the table -------------------------------------------------------------------------------------------------------


def judge(package: str, *programs: str, probe: Callable[[], str] | None = None) -> Need:
    """Return a program of Debian's that CI installs."""
    return Need(programs, package=package, probe=probe, ci=True)


def optional(package: str, *programs: str) -> Need:
    """Return a program of Debian's that CI does without."""
    return Need(programs, package=package)


TABLE: dict[str, Need] = {
    # a kernel that carries frames, and what configures it
    "user-mode Linux": Need(probe=user_mode_linux, ci=True),
    "a kernel with bridges": Need(probe=bridging_kernel, ci=True),
    "linux.uml": judge("user-mode-linux", "linux.uml"),
    "modprobe": judge("kmod", "modprobe"),
    "ip": judge("iproute2", "ip"),
    "bridge": judge("iproute2", "bridge"),
    "tc": judge("iproute2", "tc"),
    "ethtool": judge("ethtool", "ethtool"),
    "busybox": judge("busybox-static", "busybox"),
    # agents that are not ours
    "snmpbulkwalk": judge("snmp", "snmpbulkwalk"),
    "snmpinform": judge("snmp", "snmpinform"),
    "snmpd": judge("snmpd", "snmpd"),
    "lldpd": judge("lldpd", "lldpd"),
    # judges
    "chromium": judge("chromium", "chromium", "chromium-browser", "google-chrome"),
    "simgrid": Need(module="simgrid", package="python3-simgrid", ci=True),
    "ibdmchk": judge("ibutils", "ibdmchk"),
    "fish": judge("fish", "fish"),
    "bubblewrap": judge("bubblewrap", "bwrap", probe=bubblewrap),
    # what nearly every machine has
    "root": Need(probe=root, ci=True),
    "network namespaces": judge("util-linux", "unshare", probe=network_namespace),
    "mount namespaces": judge("util-linux", "unshare", probe=mount_namespace),
    "setpriv": judge("util-linux", "setpriv"),
    "sh": judge("dash", "sh"),
    "bash": judge("bash", "bash"),
    "dash": judge("dash", "dash"),
    "make": judge("make", "make"),
    "ssh": judge("openssh-client", "ssh"),
    # what make targets install, that CI runs first
    "MkDocs Material": Need(probe=site_builder, get="make docs", ci=True),
    "an environment of this checkout": Need(probe=environment, get="make setup", ci=True),
    # what CI does without
    "promtool": optional("prometheus", "promtool"),
    "prometheus": optional("prometheus", "prometheus"),
    "slurmctld": optional("slurmctld", "slurmctld"),
    "scontrol": optional("slurm-client", "scontrol"),
    "java": optional("default-jdk-headless", "java"),
    "mpicc": optional("libopenmpi-dev", "mpicc"),
    "mpifort": optional("libopenmpi-dev", "mpifort"),
    "gfortran": optional("gfortran", "gfortran"),
    "mpirun": optional("openmpi-bin", "mpirun"),
    "coqc": optional("coq", "coqc"),  # 200 MB
    "ocamlopt": optional("ocaml", "ocamlopt"),
    "shellcheck": optional("shellcheck", "shellcheck"),
    "systemd-analyze": optional("systemd", "systemd-analyze"),
    "netlab": Need(("netlab",), get="make neighbours"),
    "ansible-builder": Need(("ansible-builder",), get="make neighbours"),
    "containerlab's schema": Need(
        variable="CLAB_SCHEMA", get="set CLAB_SCHEMA=FILE, schemas/clab.schema.json of containerlab's repository"
    ),
    "Batfish": Need(
        variable="BATFISH_CLASSES", get="set BATFISH_CLASSES=PATH, the compiled classes of Batfish's common project"
    ),
    "NetBox": Need(variable="NETBOX_URL", get="set NETBOX_URL to an empty NetBox that tests may fill"),
    "a token for NetBox": Need(variable="TAGLOOM_NETBOX_TOKEN", get="set TAGLOOM_NETBOX_TOKEN"),
}


def path_of(name: str) -> str | None:
    """Return the path of a program of the table, or None where it is missing."""
    return find_program(TABLE[name].programs)


@cache
def missing(name: str) -> str:
    """Return what is in the way of a need, and how to get it; nothing where it is met."""
    need = TABLE[name]
    if not need.installed():
        return f"needs {name}: {need.how()}"
    obstacle = need.probe() if need.probe else ""
    if not obstacle:
        return ""
    return f"needs {name}: {obstacle}" + (f" ({need.get})" if need.get else "")


def strict() -> bool:
    """Return whether a missing thing that CI installs is a failure."""
    return os.environ.get(JUDGES, "") not in {"", "0"}


def first_missing(names: Iterable[str]) -> tuple[str, bool]:
    """Return why a test cannot run, or nothing, and whether that is a failure; failures come first."""
    found = [(reason, TABLE[name].ci and strict()) for name in names if (reason := missing(name))]
    return max(found, key=lambda each: each[1], default=("", False))


def require(*names: str) -> None:
    """Skip the test that runs, or fail it, unless the named things are here."""
    import pytest  # noqa: PLC0415 - not there before the environment is

    reason, fails = first_missing(names)
    if fails:
        pytest.fail(reason, pytrace=False)
    if reason:
        pytest.skip(reason)


def missing_packages() -> list[str]:
    """List the Debian packages that CI installs and that are missing here."""
    wanted = [need for need in TABLE.values() if need.ci and need.package and not need.installed()]
    return list(dict.fromkeys(need.package for need in wanted))


if __name__ == "__main__":
    if sys.argv[1:] != ["packages"]:
        sys.exit("usage: needs.py packages")
    print(*missing_packages())
