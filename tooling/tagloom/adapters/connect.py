"""Choose the connection that speaks a switch's language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.adapters.shell import LinuxSwitch
from tagloom.adapters.ssh import Access, SshSwitch

if TYPE_CHECKING:
    from tagloom.platforms import Platform


def connect(name: str, platform: Platform, access: Access) -> SshSwitch | LinuxSwitch:
    """Return a connection to the switch called `name`, which is not logged in yet."""
    return (LinuxSwitch if platform.is_shell else SshSwitch)(name, platform, access)
