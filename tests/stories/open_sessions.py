"""Let a command read and send over one session with each switch, as `tagloom run` does, instead of by Ansible.

A login for each switch and wave, and Ansible's processes, take most of a story's time. What is planned, proven,
refused, announced, journalled and sent is the same: `tagloom.operate.direct_push` does the same jobs.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Lock

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.apply import playbook
from tagloom.operate import waves
from tagloom.operate.direct_push import DirectHost, DirectPush
from tagloom.read import fabric_of
from tagloom.share import share_directory

LOGIN = "lab"


class LateAnsible(playbook.Ansible):
    """An Ansible that starts with its first job, if there is one."""

    due = False

    def start(self):
        if self.due:
            super().start()

    def do(self, *what, **how):
        self.due = True
        return super().do(*what, **how)

    def access(self, directory):
        self.due = True
        return super().access(directory)


def access_of(rack, port):
    """Return how a switch of a rack is logged in to."""
    return Access("127.0.0.1", port, LOGIN, LOGIN, known_hosts=str(rack / "known_hosts"), fast_cli=True)


@contextmanager
def sessions(rack):
    """Yield what reads from and sends to the switches of a rack's inventory; each is logged in to when it is due."""
    hosts, opened, locks = {}, {}, {}
    for switch in fabric_of(rack).live:
        port = int(switch.address.rpartition(":")[2])
        session = connect(switch.name, platforms.of(switch), access_of(rack, port))
        session.kept = True
        hosts[switch.name] = DirectHost(("127.0.0.1", port), out_of_band=True)
        opened[switch.name], locks[switch.name] = session, Lock()

    @contextmanager
    def lend(name):
        with locks[name]:
            yield opened[name]

    try:
        yield DirectPush(hosts, lend, share_directory() / "templates")
    finally:
        with ExitStack() as stack:
            for session in opened.values():
                session.kept = False
                if session.is_open:
                    stack.enter_context(session)


def use(rack):
    """Let commands of this process reach the switches of a rack so."""
    open_context = waves.open_context

    @contextmanager
    def opened(*what):
        with open_context(*what) as context, sessions(rack) as direct:
            yield replace(context, direct=direct)

    waves.open_context = opened
    playbook.Ansible = LateAnsible
