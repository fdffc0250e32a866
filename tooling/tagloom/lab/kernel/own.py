"""Run the prober on this machine's own kernel, in a user namespace and network namespaces of its own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Self

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.lab.kernel.connection import PATH, Connection

if TYPE_CHECKING:
    from pathlib import Path

NEEDS = {"unshare": "util-linux", "ip": "iproute2", "bridge": "iproute2", "sh": "dash"}
BRIDGE = "ip link add name tagloom type bridge vlan_filtering 1 vlan_default_pvid 0"
VLAN = "bridge vlan add dev swp1 vid 100 pvid untagged"


class OwnKernel(Connection):
    """The kernel that this program runs on, where it has VLAN filtering and gives namespaces to anyone.

    No root is needed and no interface outside the namespaces is seen; they end with the process. Whether the kernel can
    is tried when it is entered: DeviceError says what it refused.
    """

    name = "this machine's own kernel"

    def __init__(self, log: Path) -> None:
        absent = sorted({package for program, package in NEEDS.items() if shutil.which(program, path=PATH) is None})
        if absent:
            raise InputError([Finding(self.name, f"the packages {', '.join(absent)}", "not installed")])
        super().__init__(log)

    def _words(self, folder: Path, wire: int) -> list[str]:
        prober = [str(folder / "python"), "-I", "-S", str(folder / "prober.py"), f"fd:{wire}", str(folder)]
        return ["env", f"PATH={PATH}", "unshare", "--user", "--map-root-user", "--net", *prober]

    def __enter__(self) -> Self:
        """Start the prober, and try whether it can make a bridge with VLAN filtering."""
        super().__enter__()
        try:
            self._check()
        except DeviceError:
            self.__exit__()
            raise
        return self

    def _check(self) -> None:
        self.request("build", switches=1, links=[], hosts=[[0, 1, "02:00:00:00:00:01"]])
        lines = [BRIDGE, "ip link set dev swp1 master tagloom", VLAN, "ip link set dev tagloom up"]
        if complaints := self.request("batch", orders={"0": lines})["errors"]["0"]:
            raise DeviceError(self.name, "a bridge with VLAN filtering", complaints[0])
        self.request("clear")
