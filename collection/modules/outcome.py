"""Document the action plugin of this name, which runs in its stead."""

DOCUMENTATION = """
module: outcome
short_description: Report what became of one switch
description:
  - Reads what M(tagloom.fabric.push) left of this host, in all waves of a run. Fails where the switch failed.
  - Runs on the controller.
version_added: "0.1.0"
author: The tagloom maintainers (!UNKNOWN)
options:
  directory:
    description: The directory of the run.
    type: path
    required: true
"""
EXAMPLES = """
- name: Report what became of each switch.
  tagloom.fabric.outcome:
    directory: build/apply
"""
RETURN = """
commands:
  description: The lines that the switch needed.
  returned: always
  type: list
  elements: str
sent:
  description: The lines that it was sent.
  returned: always
  type: list
  elements: str
"""
