"""Start tagloom's commands, virtual racks and Ansible as forks of one process, which has loaded what they need.

The process serves a whole run of tests: the first that needs it starts it, and workers find it by an environment
variable. It loads at its first request. What it forks has a process, a directory, an environment, streams and an exit
status of its own, as what a shell starts has. Tests that start `tagloom` or Ansible as programs execute all of it, and
so is what asks for other settings than those that were loaded.
"""

import base64
import contextlib
import ctypes
import fcntl
import gc
import json
import os
import pickle
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import tagloom
from tagloom.apply import playbook, reading
from tagloom.apply.playbook import ansible_environment
from tagloom.lab import process
from tagloom.share import share_directory

ADDRESS = "TAGLOOM_TESTS_LOADED"  # the environment variable: where the process listens, and with what settings
ANSIBLE = [sys.executable, "-P", "-m", "ansible", "playbook"]
ALSO = (
    *("asyncssh", "netmiko", "numba", "scipy.sparse.csgraph"),
    *("ansible.cli.playbook", "ansible.plugins.strategy.linear", "ansible.plugins.callback.default"),
    *("ansible.plugins.action", "ansible.plugins.inventory", "ansible.plugins.connection.local"),
)
MESSAGE_BYTES = 1 << 18
DESCRIPTORS = 16
NAME_BYTES = 600  # of the process's command line, which a rack takes for its own


EXECUTE_RACK = process.start
FOUND = []  # what `begin` returns


def settings(environment):
    """Return what Ansible or Python reads of an environment while it loads."""
    return {key: value for key, value in environment.items() if key.startswith(("ANSIBLE_", "PYTHON", "HOME"))}


def begin():
    """Return the address of the process and the settings it was loaded with; start it if nobody has."""
    if not FOUND:
        FOUND.extend(json.loads(os.environ[ADDRESS]) if ADDRESS in os.environ else start())
        os.environ[ADDRESS] = json.dumps(FOUND)
    return FOUND


def start():
    environment = ansible_environment(os.environ, share_directory())
    alive, _held = os.pipe()  # the latter is this process's alone, and closes with it
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind("")  # Linux gives a name that no file has
        server.listen()
        passed = server.fileno(), alive
        subprocess.Popen(
            [sys.executable, "-P", __file__, *map(str, passed), "-" * NAME_BYTES],
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
        )
        os.close(alive)
        return server.getsockname()[1:].decode(), settings(environment)


class Started:
    """What was asked for, as a `subprocess.Popen`: `program` is "ansible", "tagloom.cli" or "tagloom.lab"."""

    def __init__(self, program, words, *, streams, environment, directory=None, passed=(), first=None):
        request = {
            "program": program,
            "words": [str(word) for word in words],
            "environment": dict(environment),
            "directory": str(directory or Path.cwd()),
            "passed": list(passed),
            "first": base64.b64encode(pickle.dumps((sys.path, pickle.dumps(first)) if first else ((), b""))).decode(),
        }
        self.returncode = None
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.connect(b"\0" + begin()[0].encode())
        socket.send_fds(self._line, [json.dumps(request).encode()], [*streams, *passed])
        self.pid = int(self._line.recv(64))

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


def use():
    """Let this process ask for racks, and for Ansible, instead of executing them."""

    def fits(words, env):
        return words[: len(ANSIBLE)] == ANSIBLE and settings(env) == begin()[1]

    def started(words, **how):
        with Path(os.devnull).open() as nothing:
            streams = [nothing if how[name] == subprocess.DEVNULL else how[name] for name in ("stdin", "stdout")]
            streams.append(streams[1] if how["stderr"] == subprocess.STDOUT else how["stderr"])
            return Started(
                "ansible",
                words[len(ANSIBLE) - 1 :],
                streams=[file.fileno() for file in streams],
                environment=how["env"],
                passed=how.get("pass_fds", ()),
            )

    def popen(words, **how):
        return started(words, **how) if fits(words, how["env"]) else subprocess.Popen(words, **how)

    def run(words, **how):
        if not fits(words, how["env"]):
            return subprocess.run(words, **how)  # noqa: PLW1510 - as it was asked for
        with tempfile.TemporaryFile("w+") as printed:
            status = started(words, **how | {"stdout": printed}).wait()
            printed.seek(0)
            return subprocess.CompletedProcess(words, status, printed.read())

    for module in (playbook, reading):
        vars(module)["subprocess"] = SimpleNamespace(**vars(subprocess) | {"Popen": popen, "run": run})
    process.start = start_rack


def start_rack(directory, log):
    """Start the process of a rack, and return its id."""
    ours = {key: value for key, value in begin()[1].items() if key.startswith("PYTHONHASH")}
    if {key: value for key, value in os.environ.items() if key.startswith("PYTHONHASH")} != ours:
        return EXECUTE_RACK(directory, log)
    with Path(os.devnull).open() as nothing, Path(log).open("w") as written:
        streams = [nothing.fileno(), written.fileno(), written.fileno()]
        return Started("tagloom.lab", [directory], streams=streams, environment=os.environ).pid


# In the process that has loaded everything, and in its forks.


def load():
    """Import all of tagloom, and what it imports when it is used; do once what every command does first."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    for name in (*ALSO, *(module.name for module in pkgutil.walk_packages(tagloom.__path__, "tagloom."))):
        if not name.endswith("__main__"):
            import_module(name)
    loader = import_module("ansible.plugins.loader")
    finder = import_module("ansible.utils.collection_loader._collection_finder")
    loader.init_plugin_loader()
    for kind in (loader.connection_loader, loader.shell_loader, loader.become_loader, loader.callback_loader):
        for _ in kind.all(class_only=True):
            pass
    finder._AnsibleCollectionFinder._remove()  # each Ansible makes its own, once its options are read
    rehearse()


def rehearse():
    """Plan, prove and lead over a small ring; plan one of another model."""
    main = import_module("tagloom.cli").main
    with tempfile.TemporaryDirectory() as place, Path(os.devnull).open("w") as nowhere:
        fabric, other, day, night = (f"{place}/{name}" for name in ("f.yml", "other.yml", "day", "night"))
        for words in (
            ["new", "ring", "--dims", "4", "-o", fabric],
            ["plan", fabric, "-o", day],
            ["plan", fabric, "-o", night, "--previous", day, "--off", "s0:g1"],
            ["rollout", day, night, "-o", f"{place}/rollout"],
            ["new", "ring", "--dims", "3", "--model", "powerconnect-6224", "-o", other],
            ["plan", other, "-o", f"{place}/other"],
        ):
            with contextlib.redirect_stdout(nowhere):
                status = main(words)
            assert status == 0, words


def serve(server, alive):
    """Accept requests and fork a process for each, until the other end of `alive` closes."""
    loaded = False
    FOUND.extend((server.getsockname()[1:].decode(), settings(os.environ)))  # for its forks
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where tests run in the background
    while True:
        ready = select.select([server, alive], [], [])[0]
        if alive in ready:
            return
        line = server.accept()[0]
        if not loaded:
            gc.disable()
            load()
            gc.freeze()  # what is loaded is never garbage: no fork looks through it, or copies it for that
            gc.enable()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # `tell` reports each exit status
            loaded = True
        if os.fork() == 0:
            server.close()
            os.close(alive)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            tell(line)
            os._exit(0)
        line.close()


def tell(line):
    """Fork what is asked for, and tell who asked its process and its exit status."""
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
    with contextlib.suppress(BrokenPipeError):  # the client was killed, or only started the process
        line.send(str(status).encode())


def be(descriptors, program, words, environment, directory, passed, first):
    """Be a program: its own session, descriptors, environment and directory; end with its status."""
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
        PROGRAMS[program](words, base64.b64decode(first))
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as Python's own end
        traceback.print_exc()
    else:
        status = 0
    finally:
        with contextlib.suppress(BaseException):
            vars(threading)["_shutdown"]()  # as Python does at its end
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(status)


def be_tagloom(words, pickled):
    use()
    path, first = pickle.loads(pickled)  # noqa: S301 - of the tests' own
    if path:
        sys.path[:] = path
        pickle.loads(first)()  # noqa: S301 - as above
    sys.argv = ["tagloom", *words]
    sys.exit(import_module("tagloom.cli").main())


def be_ansible(words, _pickled):
    sys.argv = ["ansible", *words]
    import_module("ansible.cli.playbook").main(words)


def be_rack(words, _pickled):
    """Be a rack, by its command line too: that is how `tagloom lab` knows one."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # proc(5): arg_start, arg_end, the 48th and 49th of all
    end_of_line = b"\0".join(map(os.fsencode, ["", *process.RACK, *words, ""]))
    ctypes.memmove(start, end_of_line.rjust(end - start, b"-"), end - start)
    sys.argv = ["tagloom.lab", *words]
    runpy.run_module("tagloom.lab", run_name="__main__")


PROGRAMS = {"tagloom.cli": be_tagloom, "ansible": be_ansible, "tagloom.lab": be_rack}


if __name__ == "__main__":
    # out of the way of the descriptors that are passed
    high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 256) for number in sys.argv[1:3]]
    for number in sys.argv[1:3]:
        os.close(int(number))
    serve(socket.socket(fileno=high[0]), high[1])
