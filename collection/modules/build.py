"""Document the action plugin of this name, which runs in its stead."""

DOCUMENTATION = """
module: build
short_description: Read the waves of a build or a rollout
description:
  - Reads a build or a rollout once for all hosts, and writes the order that M(tagloom.fabric.push) follows.
  - Refuses a build whose switches are not all in the inventory; other hosts are left alone.
  - Runs on the controller. The role P(tagloom.fabric.apply#role) calls it.
version_added: "0.1.0"
author: The tagloom maintainers (!UNKNOWN)
options:
  build:
    description: The directory of a build or a rollout.
    type: path
    required: true
  directory:
    description: Where the run leaves its outcomes and backups.
    type: path
    required: true
  first_wave:
    description: The wave of a rollout to begin with; V(1) is the first, V(0) saves switches that were not saved.
    type: int
    default: 0
  last_wave:
    description: The wave of a rollout to end with; V(0) is the last there is.
    type: int
    default: 0
  controller:
    description: A socket by which C(tagloom) says what to do; set by it alone.
    type: int
    default: -1
  package:
    description: The directory of the package that C(tagloom) runs; set by it alone.
    type: str
    default: ""
  allow:
    description: What a run by hand may do to pairs of hosts that work.
    type: str
    default: ""
    choices: ["", drain, interrupt]
  registered:
    description:
      - The variable in which each host that takes part has registered its own name as V(msg), as the role does.
      - Without it all hosts of the batch that have not failed take part, whatever condition this task has.
    type: str
    default: ""
"""
EXAMPLES = """
- name: Read the waves of the build.
  tagloom.fabric.build:
    build: build
    directory: build/apply
    allow: interrupt
  run_once: true
  register: order
"""
RETURN = """
waves:
  description: Number and name of each wave.
  returned: always
  type: list
  elements: dict
directory:
  description: The absolute directory of the run.
  returned: always
  type: str
refused:
  description: In check mode, why the push would be refused; empty where it would not.
  returned: always
  type: str
again:
  description: Whether the controller may have more to do.
  returned: always
  type: bool
"""
