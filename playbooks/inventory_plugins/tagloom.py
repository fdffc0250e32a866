"""List for Ansible every switch of a fabric file as a host, so that no address is said twice."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

DOCUMENTATION = """
name: tagloom
short_description: The switches of a tagloom fabric file
description:
  - Makes a host of every switch, with C(ansible_host), C(ansible_port) and C(tagloom_model), grouped by model.
  - A C(known_hosts) file beside the inventory becomes C(tagloom_known_hosts), unless group or host variables say else.
  - Users and passwords come from group variables, a vault, or wherever else Ansible takes them.
  - The password of C(enable) is C(ansible_become_password) of a host or a group; where none is set, that of
    E(TAGLOOM_ENABLE_PASSWORD_MODEL), as in E(TAGLOOM_ENABLE_PASSWORD_POWERCONNECT_5548), or E(TAGLOOM_ENABLE_PASSWORD).
options:
  plugin:
    description: Always V(tagloom), or V(tagloom.fabric.tagloom) where the collection is installed.
    required: true
    choices: [tagloom, tagloom.fabric.tagloom]
  fabric:
    description: The fabric file, relative to this one.
    default: fabric.yml
"""
EXAMPLES = """
# inventory/lab/tagloom.yml
plugin: tagloom
fabric: fabric.yml
"""

import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.utils.unsafe_proxy import wrap_var

from tagloom import platforms
from tagloom.errors import InputError
from tagloom.platforms.detect import mistaken
from tagloom.platforms.factory import factory
from tagloom.read import read_fabric
from tagloom.read.inventory import fabric_beside
from tagloom.render import render_configuration
from tagloom.share import share_directory
from tagloom.units import managed_at

ENABLE_PASSWORD = "TAGLOOM_ENABLE_PASSWORD"  # noqa: S105 - the variable's name


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]  # Ansible ships no types
    """Read files named tagloom.yml or tagloom.yaml. No value of ours is a template: a directory may have any name."""

    NAME = "tagloom"

    def verify_file(self, path: str) -> bool:
        """Take the files that are ours by name."""
        return bool(super().verify_file(path)) and path.endswith(("tagloom.yml", "tagloom.yaml"))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill the inventory. Raises AnsibleParserError with all findings of the fabric file."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        folder = Path(path).absolute().parent
        try:
            fabric = read_fabric(fabric_beside(folder, str(self.get_option("fabric"))))
        except InputError as error:
            raise AnsibleParserError(str(error)) from error
        for model, firmware in {(switch.model, switch.firmware) for switch in fabric.live}:
            _learn(platforms.load(model, firmware, fabric.templates))
        known_hosts = folder / "known_hosts"
        if known_hosts.is_file():
            inventory.set_variable("all", "tagloom_known_hosts", wrap_var(str(known_hosts)))
        for switch in fabric.live:
            group = inventory.add_group(platforms.group_of(switch.model))
            if password := enable_password(group):
                inventory.set_variable(group, "ansible_become_password", wrap_var(password))
            if switch.name in inventory.groups:  # Ansible would take the one for the other
                raise AnsibleParserError(f"switches.{switch.name}: expected a name that no group has, actual a group's")
            inventory.add_host(switch.name, group=group)
            host, port = managed_at(switch.address, switch.name)
            inventory.set_variable(switch.name, "ansible_host", wrap_var(host))
            if port:
                inventory.set_variable(switch.name, "ansible_port", port)
            inventory.set_variable(switch.name, "tagloom_model", wrap_var(switch.model))


def enable_password(group: str) -> str:
    """Return what the environment has as the password of `enable` for a model's group, "" if it has none."""
    return os.environ.get(f"{ENABLE_PASSWORD}_{group.upper()}") or os.environ.get(ENABLE_PASSWORD, "")


def _learn(platform: platforms.Platform) -> None:
    """Read and compile what a push needs of a model: kept in this process, from which Ansible forks its workers."""
    if platform.grammar:
        mistaken(platform.model, "", "")
        render_configuration(platform, factory(platform).freeze(), share_directory() / "templates")
