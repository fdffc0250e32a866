"""Read which other hosts than the task's own take part in it, and their variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OTHERS = "tagloom_other_switches"  # the names that an inventory has beside a host's own; no operator sets it


def hosts_taking_part(task_vars: Mapping[str, Any], registered: str) -> list[str]:
    """Return the hosts of the batch that have neither failed nor been unreachable and that run the calling tasks.

    Those are the hosts with their own name as the `msg` of the variable `registered`. Without such a variable, all
    hosts of the batch are taken to run them.
    """
    batch, everyone = list(task_vars["ansible_play_batch"]), task_vars["hostvars"]
    if not registered:
        return batch
    found = {host: everyone.raw_get(host).get(registered) or {} for host in batch}
    return [host for host in batch if str(found[host].get("msg", "")) == host]


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
    found = {name: templar.template(known[name]) for name in names if name in known}
    if "inventory_hostname" in names:  # compared with what a switch calls itself
        found[OTHERS] = [other for other in known["groups"]["all"] if other != host]
    return found
