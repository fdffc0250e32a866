"""Run ansible-playbook as a fork of a process that has loaded it: its own in all else, and without a second of loading.

`begin` starts that process; what command_line.commands runs asks it for what it would execute. Where the settings are
not those that it was loaded with, or another program is asked for, that is executed. Tests that start `tagloom` or
Ansible as programs have all of it executed.
"""

import contextlib
import fcntl
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from tagloom import platforms
from tagloom.apply import playbook, reading
from tagloom.apply.playbook import ansible_environment
from tagloom.platforms.detect import mistaken
from tagloom.platforms.factory import factory
from tagloom.render import render_configuration
from tagloom.share import share_directory

PROGRAM = [sys.executable, "-P", "-m", "ansible", "playbook"]
LOADED = (
    *("ansible.cli.playbook", "ansible.plugins.strategy.linear", "ansible.plugins.callback.default", "netmiko"),
    *("ansible.plugins.action", "ansible.plugins.inventory", "ansible.plugins.connection.local"),
    *("tagloom.adapters.connect", "tagloom.adapters.host_variables", "tagloom.adapters.worker_pool"),
    *("tagloom.apply.gate", "tagloom.operate.one_switch", "tagloom.operate.push_order"),
)
MODELS = ("powerconnect-5324", "powerconnect-6224")
MESSAGE_BYTES = 1 << 18
DESCRIPTORS = 16


def settings(environment):
    """Return what Ansible or Python reads of an environment while it loads."""
    return {key: value for key, value in environment.items() if key.startswith(("ANSIBLE_", "PYTHON", "HOME"))}


@cache
def begin():
    """Start the process, and return its address and the settings it was loaded with; it ends after this one."""
    environment = ansible_environment(os.environ, share_directory())
    alive, _held = os.pipe()  # the latter is this process's alone, and closes with it
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind("")  # Linux gives a name that no file has
        server.listen()
        passed = server.fileno(), alive
        subprocess.Popen(
            [sys.executable, "-P", __file__, *map(str, passed)],
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
        )
        os.close(alive)
        return server.getsockname(), settings(environment)


class Started:
    """An Ansible that was asked for, as a `subprocess.Popen`."""

    def __init__(self, address, words, **how):
        files = [how["stdin"], how["stdout"], how["stderr"]]
        files[2] = files[1] if files[2] == subprocess.STDOUT else files[2]
        passed = list(how.get("pass_fds", ()))
        request = {"words": words, "environment": how["env"], "directory": str(Path.cwd()), "passed": passed}
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.connect(address)
        with Path(os.devnull).open() as nothing:
            streams = [nothing.fileno() if file == subprocess.DEVNULL else file.fileno() for file in files]
            socket.send_fds(self._line, [json.dumps(request).encode()], [*streams, *passed])
        self.pid, self.returncode = int(self._line.recv(64)), None

    def poll(self):
        with contextlib.suppress(BlockingIOError):
            self._hear(socket.MSG_DONTWAIT)
        return self.returncode

    def wait(self):
        self._hear(0)
        return self.returncode

    def terminate(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)

    def _hear(self, flags):
        if self.returncode is None:
            self.returncode = int(self._line.recv(64, flags) or -9)
            self._line.close()


def use(address, loaded):
    """Let this process ask for Ansible instead of executing it."""

    def fits(words, env):
        return words[: len(PROGRAM)] == PROGRAM and settings(env) == loaded

    def begin(words, **how):
        return Started(address, words, **how) if fits(words, how["env"]) else subprocess.Popen(words, **how)

    def run(words, **how):
        if not fits(words, how["env"]):
            return subprocess.run(words, **how)  # noqa: PLW1510 - as it was asked for
        with tempfile.TemporaryFile("w+") as printed:
            status = Started(address, words, **how | {"stdout": printed}).wait()
            printed.seek(0)
            return subprocess.CompletedProcess(words, status, printed.read())

    for module in (playbook, reading):
        vars(module)["subprocess"] = SimpleNamespace(**vars(subprocess) | {"Popen": begin, "run": run})


def serve(server, alive):
    """Load Ansible, and fork for whoever asks, until `alive` is closed at its other end."""
    gc.disable()
    for name in LOADED:
        import_module(name)
    load_plugins()
    for model in MODELS:  # as the inventory does
        platform = platforms.load(model)
        mistaken(model, "", "")
        render_configuration(platform, factory(platform).freeze(), share_directory() / "templates")
    gc.freeze()  # what is loaded is never garbage: no fork looks through it, or copies it for that
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who asked is told by another process
    while True:
        ready = select.select([server, alive], [], [])[0]
        if alive in ready:
            return
        line = server.accept()[0]
        if os.fork() == 0:
            server.close()
            os.close(alive)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            tell(line)
            os._exit(0)
        line.close()


def load_plugins():
    """Load the plugins that Ansible reads before every play, with their documentation and what it has of its own."""
    loader = import_module("ansible.plugins.loader")
    finder = import_module("ansible.utils.collection_loader._collection_finder")
    loader.init_plugin_loader()
    for kind in (loader.connection_loader, loader.shell_loader, loader.become_loader, loader.callback_loader):
        for _ in kind.all(class_only=True):
            pass
    finder._AnsibleCollectionFinder._remove()  # each Ansible makes its own, once its options are read


def tell(line):
    """Fork one Ansible, and tell who asked its process and its exit status."""
    text, descriptors, *_ = socket.recv_fds(line, MESSAGE_BYTES, DESCRIPTORS)
    asked = json.loads(text)
    pid = os.fork()
    if pid == 0:
        line.close()
        be(descriptors, **asked)
    for descriptor in descriptors:
        os.close(descriptor)
    line.send(str(pid).encode())
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # who asked was killed
        line.send(str(status).encode())


def be(descriptors, words, environment, directory, passed):
    """Be the Ansible of some words: its own session, descriptors, environment and directory; end with its status."""
    os.setsid()
    above = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 256) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for descriptor, number in zip(above, [0, 1, 2, *passed], strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    status = 1
    try:
        sys.argv = ["ansible", *words[4:]]
        sys.modules["ansible.cli.playbook"].main(words[4:])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    # out of the way of the descriptors that are passed
    high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 256) for number in sys.argv[1:]]
    for number in sys.argv[1:]:
        os.close(int(number))
    serve(socket.socket(fileno=high[0]), high[1])
