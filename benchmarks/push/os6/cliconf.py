"""Configure a FASTPATH switch for ansible.netcommon's cli_config, line by line as cisco.ios's own does."""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.cliconf import CliconfBase, enable_mode

DOCUMENTATION = """
name: os6
short_description: Configure a FASTPATH switch.
description: Configure a FASTPATH switch, for a benchmark.
"""


class Cliconf(CliconfBase):  # type: ignore[misc]  # Ansible ships no types
    """What cli_config asks of a platform, and nothing else."""

    def get_device_info(self) -> dict[str, str]:
        """Name the platform."""
        return {"network_os": "bench.push.os6"}

    def get_config(self, source: str = "running", flags: Any = None, format: str | None = None) -> str:  # noqa: A002 - Ansible's name
        """Return the running configuration."""
        del source, flags, format
        return str(self.send_command("show running-config"))

    @enable_mode  # type: ignore[misc]  # Ansible ships no types
    def edit_config(
        self, candidate: Any = None, commit: bool = True, replace: Any = None, comment: Any = None
    ) -> dict[str, list[str]]:
        """Send lines one by one, each up to its prompt; cli_config calls that changed where there is a diff."""
        del commit, replace, comment
        lines = [str(line) for line in candidate]
        self.send_command("configure")
        answers = [str(self.send_command(line)) for line in lines]
        self.send_command("end")
        return {"request": lines, "response": answers, "diff": lines}

    def get(self, command: str | None = None, **how: Any) -> str:
        """Return what a command prints."""
        return str(self.send_command(command=command, **how))

    def get_capabilities(self) -> str:
        """Return that the switch compares for itself, so that cli_config sends at once, and reads nothing first."""
        names = ("diff_replace", "commit", "rollback", "defaults", "commit_comment", "multiline_delimiter")
        more = ("diff_match", "diff_ignore_lines", "generate_diff", "replace")
        operations = {f"supports_{name}": False for name in (*names, *more)} | {"supports_onbox_diff": True}
        return json.dumps(super().get_capabilities() | {"device_operations": operations})
