"""Write a new project: a fabric file with all ports and comments, an inventory, and settings of Ansible and git."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.read.fabric_text import format_fabric

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.records.fabric import Fabric

VAULT = "inventory/group_vars/all/vault.yml"
_HEAD = """\
# The fabric: its switches, the cables between their ports, and the port of each host. Change whatever differs in your
# rack, then plan:     tagloom plan fabric.yml -o build
# Every key:          tagloom docs reference/fabric-keys
# Check the cabling:  tagloom discover --start ADDRESS --against fabric.yml
# Print it again:     tagloom export cabling-table fabric.yml
"""
# Comments above the lines of the fabric file that begin so.
_COMMENTS = {
    "vlans:": "# The lowest VLAN ID that a plan uses. Leave room above it: VLANs that exist already aren't touched.",
    "shape:": """\
# The family is used to choose the routing. explicit: nothing is generated, and the lists below are all there is.
# If your cabling isn't that of the family, remove this line.""",
    "switches:": """\
# The model, the place in the family, and the management address of each switch (SSH, SNMP): write your own addresses.
# rack: A3 sorts the printed labels by rack.""",
    "hosts:": """\
# The port of each host. Add its MAC address, mac: "00:11:22:33:44:55", or have tagloom write it:
#   tagloom hosts learn fabric.yml -i inventory
# Without it tagloom makes an address up; such a plan is good for the virtual rack, and isn't pushed to real switches.
# A port that leads to a router or to another network: {switch: ..., port: ..., uplink: true}.""",
    "links:": """\
# The cables between switches: each end is a switch and a port, named as the switch names it. Not cabled yet:
#   {ends: ["s0:...", "s1:..."], state: down}""",
}
_INVENTORY = """\
# Ansible inventory: each switch of ../fabric.yml is a host, with its address from that file.
plugin: tagloom
fabric: ../fabric.yml
"""
_LOGIN = """\
# The SSH login of all switches. The password is TAGLOOM_PASSWORD of the environment, else that of vault.yml.
ansible_user: "{{ lookup('ansible.builtin.env', 'TAGLOOM_USER', default='admin') }}"
ansible_password: "{{ lookup('ansible.builtin.env', 'TAGLOOM_PASSWORD') | default(vault_ansible_password, true) }}"
# Only if you manage the switches through ports that carry nothing of the fabric, such as out-of-band ports:
# tagloom_out_of_band: true
"""
_SHELL_LOGIN = """\
# Linux machines: how to become root, and the script that sets the bridge up at boot.
tagloom_become: sudo -n
tagloom_save_to: /etc/tagloom/bridge.sh
"""
_VAULT = f"""\
# The password of the switches. Write it here, then encrypt this file:
#   ansible-vault encrypt {VAULT}
# Until you remove its line from .gitignore, git ignores this file.
vault_ansible_password: ""
"""
_SNMP = """\
# How tagloom reads the switches over SNMP. Secrets belong in the environment:
# TAGLOOM_SNMP_AUTH_PASSWORD and TAGLOOM_SNMP_PRIV_PASSWORD, or TAGLOOM_SNMP_COMMUNITY for version 2c.
version: "3"
user: tagloom
auth_protocol: SHA
priv_protocol: AES
"""
_GITIGNORE = f"""\
# Passwords: remove this line once the file is encrypted.
/{VAULT}
# Paths of this computer, and secrets of the service.
/ansible.cfg
/tagloom.service
/tagloom.env
# Running configurations, which contain the switches' secrets, and records of runs.
/inventory/runs/
/inventory/backups/
/*/apply/
# The virtual rack.
/inventory/lab/
# What `tagloom bootstrap -o first` writes; with --secrets, passwords.
/first/
# What `tagloom adopt --running running` and the playbook read.yml write.
/running/
*.db
"""
# What an inventory directory holds besides its inventory: Ansible reads every file of a directory that -i names.
_NO_INVENTORY = ("^lab$", "^runs$", "^backups$", r"^known_hosts", r"^(snmp|windows)\.ya?ml$")


def project_files(fabric: Fabric, share: Path) -> dict[str, str]:
    """Return the files of a new project by their paths in it; `share` has the playbooks and roles of this computer."""
    shells = any(platforms.load(switch.model).is_shell for switch in fabric.switches)
    return {
        "fabric.yml": fabric_text(fabric),
        ".gitignore": _GITIGNORE,
        "ansible.cfg": ansible_settings(share),
        "inventory/tagloom.yml": _INVENTORY,
        "inventory/snmp.yml": _SNMP,
        "inventory/group_vars/all/login.yml": _LOGIN + (_SHELL_LOGIN if shells else ""),
        VAULT: _VAULT,
    }


def fabric_text(fabric: Fabric) -> str:
    """Return a fabric file with all its ports, without addresses that are made up, and with comments."""
    lines = [_HEAD.rstrip()]
    for line in format_fabric(fabric).splitlines():
        key = line.partition(" ")[0]
        lines += [_COMMENTS[key]] if key in _COMMENTS else []
        lines.append(re.sub(r', mac: "02:00:00:[0-9a-f:]{8}"(?=}$)', "", line))
    return "\n".join(lines) + "\n"


def ansible_settings(share: Path) -> str:
    """Return an ansible.cfg by which plain Ansible finds tagloom's roles and inventory plugin on this computer."""
    return f"""\
# For ansible-playbook in this directory; tagloom itself reads no ansible.cfg of a project. After tagloom was installed
# elsewhere, write it again:  tagloom paths --ansible-cfg > ansible.cfg
[defaults]
inventory = inventory/tagloom.yml
roles_path = {share / "roles"}
inventory_plugins = {share / "playbooks" / "inventory_plugins"}
retry_files_enabled = false

[inventory]
enable_plugins = tagloom, auto, yaml, ini, host_list
# What is no inventory in a directory that -i names.
ignore_patterns = {", ".join(_NO_INVENTORY)}
"""
