"""A rack that runs the build of a module's FABRIC, with nothing dead, for tests that break something in it."""

import pytest

from command_line.terminal import Terminal
from tagloom import pipeline
from tagloom.lab import process
from tagloom.read import read_fabric
from tagloom.verify import verify


class Repaired(Terminal):
    """A terminal beside such a rack, which sees what frames of its networks do."""

    def heard(self, **how):
        """Return the pairs of one network that a frame reaches, and those of two between which one was heard."""
        ping = self.answer("lab", "ping", **how)
        network = {host.name: host.network for host in read_fabric(self.home / "f.yml").hosts}
        return ping["reached"], [(a, b) for a, b in ping["overheard"] if network[a] != network[b]]

    def kept_apart(self):
        """Return whether the texts that switches hold now keep networks apart, whatever hosts send."""
        fabric = read_fabric(self.home / "f.yml")
        return verify(fabric, pipeline.parse(fabric, process.configurations(self.rack))[0]).isolated


@pytest.fixture(scope="module")
def running(request, tmp_path_factory):
    terminal = Repaired(tmp_path_factory.mktemp("running"))
    (terminal.home / "f.yml").write_text(request.module.FABRIC)
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose rack runs the build, with nothing dead."""
    return running.fresh()
