"""Be at a FASTPATH prompt for ansible.netcommon: cisco.ios's terminal without `show privilege`, which no 6224 knows."""

from __future__ import annotations

from ansible_collections.cisco.ios.plugins.terminal.ios import TerminalModule as Ios


class TerminalModule(Ios):  # type: ignore[misc]  # Ansible ships no types
    """Take `#` for privilege 15."""

    def get_privilege_level(self) -> int:
        """Return 15 behind `#`, else 1."""
        return 15 if self._get_prompt().endswith(b"#") else 1
