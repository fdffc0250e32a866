"""Document the action plugin of this name, which runs in its stead."""

DOCUMENTATION = """
module: fetch
short_description: Read running configurations into files
description:
  - Reads the running configurations of the hosts that take part side by side, each into C(SWITCH.cfg), mode 0600.
  - Runs on the controller, in check mode too, since it changes no switch.
version_added: "0.1.0"
author: The tagloom maintainers (!UNKNOWN)
options:
  directory:
    description: Where the files go; it gets mode 0700.
    type: path
    required: true
  package:
    description: The directory of the package that C(tagloom) runs; set by it alone.
    type: str
    default: ""
  registered:
    description:
      - The variable in which each host that takes part has registered its own name as V(msg), as the role does.
      - Without it all hosts of the batch that have not failed take part, whatever condition this task has.
    type: str
    default: ""
"""
EXAMPLES = """
- name: Read the running configurations.
  tagloom.fabric.fetch:
    directory: running
  run_once: true
"""
RETURN = """
unread:
  description: By host, why it could not be read.
  returned: always
  type: dict
"""
