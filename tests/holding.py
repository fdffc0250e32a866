"""Hold a fabric as a command does: its lock taken, its journal open."""

import contextlib

from tagloom.apply.abort import JOURNAL, LOCK
from tagloom.apply.journal import Journal
from tagloom.apply.lock import FabricLock
from tagloom.apply.playbook import Ansible
from tagloom.operate.waves import ApplyContext


@contextlib.contextmanager
def context(site):
    """Take the fabric's lock and open its journal, as the command does."""
    home = site.home
    with Ansible(site) as ansible, FabricLock(home / LOCK, "test", print) as lock, Journal(home / JOURNAL) as journal:
        journal.interrupt()
        yield ApplyContext(ansible, journal, lock)
