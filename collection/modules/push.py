"""Document the action plugin of this name, which runs in its stead."""

DOCUMENTATION = """
module: push
short_description: Push one wave to all its switches
description:
  - Waits until the wave before is read back, sends the lines to all switches of the wave side by side, reads each
    switch back, compares it with what was proven, and saves.
  - In check mode nothing is sent; the difference is computed from what the switches say they run.
  - Runs on the controller. Users and passwords are read from the variables of each host, never from arguments.
version_added: "0.1.0"
author: The tagloom maintainers (!UNKNOWN)
options:
  wave:
    description: The number of the wave.
    type: int
    required: true
  directory:
    description: The directory that M(tagloom.fabric.build) gave.
    type: path
    required: true
  controller:
    description: A socket by which C(tagloom) says what to do; set by it alone.
    type: int
    default: -1
"""
EXAMPLES = """
- name: Push one wave after the other.
  tagloom.fabric.push:
    wave: "{{ item.number }}"
    directory: "{{ order.directory }}"
  run_once: true
  loop: "{{ order.waves }}"
"""
RETURN = """
changed:
  description: Whether a switch was changed.
  returned: always
  type: bool
"""
