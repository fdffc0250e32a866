"""Read what Ansible knows of other hosts than the one whose task runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def host_variables(action: Any, task_vars: Mapping[str, Any], host: str, names: Sequence[str]) -> dict[str, Any]:
    """Return those of `names` that a host has, out of their templates, as a task of that host would see them.

    `hostvars` alone would leave out what a play says: its `vars`, files and prompts, which are laid over a host's own.
    `action` is the plugin that runs, and `task_vars` what it was given. Raises AnsibleError for a template that fails.
    """
    everyone, task = task_vars["hostvars"], action._task  # noqa: SLF001 - plugins have no other way to either
    of_inventory = everyone._inventory.get_host(host)  # noqa: SLF001 - as above
    # As Ansible's own strategies do for each host that a task runs for:
    known = everyone._variable_manager.get_vars(play=task.get_play(), host=of_inventory, task=task)  # noqa: SLF001
    templar = action._templar.copy_with_new_env(available_variables=known)  # noqa: SLF001 - the plugin's own
    return {name: templar.template(known[name]) for name in names if name in known}
