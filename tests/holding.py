"""Hold a fabric as a command does: its lock taken, its journal open."""

import contextlib

from tagloom.apply.playbook import Ansible
from tagloom.operate.waves import open_context


@contextlib.contextmanager
def context(site):
    """Take the fabric's lock and open its journal, as the command does."""
    with Ansible(site) as ansible, open_context(ansible, "test", print) as held:
        yield held
