"""Choose the connection that speaks a switch's language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.adapters.routeros import RouterOsSwitch
from tagloom.adapters.shell import LinuxSwitch
from tagloom.adapters.ssh import Access, SshSwitch

if TYPE_CHECKING:
    from tagloom.platforms import Platform


def connect(name: str, platform: Platform, access: Access) -> SshSwitch | LinuxSwitch | RouterOsSwitch:
    """Return a connection to the switch called `name`, which is not logged in yet."""
    if platform.has_modes:
        return SshSwitch(name, platform, access)
    return (LinuxSwitch if platform.is_shell else RouterOsSwitch)(name, platform, access)
