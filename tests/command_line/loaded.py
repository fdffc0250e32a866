"""Start tagloom's commands, virtual racks and Ansible as forks of processes that have loaded what they need.

Two such processes serve a whole run of tests, one for Ansible, which forks by itself for each task and so must stay
small, and one for the rest. The first test that needs them starts them, and workers find them by an environment
variable. Each loads at its first request. What they fork has a process, a directory, an environment, streams and an
exit status of its own, as what a shell starts has. Tests that start `tagloom` or Ansible as programs execute all of it,
and so is an Ansible that asks for other settings than those that were loaded.
"""

import base64
import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import io
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
from tagloom import platforms
from tagloom.apply import playbook, reading
from tagloom.apply.gate import Gate
from tagloom.apply.playbook import ansible_environment
from tagloom.lab import process
from tagloom.platforms.factory import factory
from tagloom.render import render_configuration
from tagloom.share import share_directory

ADDRESS = "TAGLOOM_TESTS_LOADED"  # the environment variable: where both listen, and with what settings
# The environment variable: the share of each wait after a wave that a fork waits, for tests of the waits themselves.
# Others lose nothing: a frame of the rack is never old, and its spanning tree settles at once.
WAITS, SHARE_OF_WAITS = "TAGLOOM_TESTS_WAITS", 0.05
ANSIBLE = [sys.executable, "-P", "-m", "ansible", "playbook"]
ALSO = ("asyncssh", "netmiko", "numba", "scipy.sparse.csgraph")
ALSO_OF_ANSIBLE = (
    *("ansible.cli.playbook", "ansible.plugins.strategy.linear", "ansible.plugins.callback.default"),
    *("ansible.plugins.action", "ansible.plugins.inventory", "ansible.plugins.connection.local", "netmiko"),
)
MESSAGE_BYTES = 1 << 18
DESCRIPTORS = 16
NAME_BYTES = 2000  # of the process's command line, which each fork takes for its own
PATIENCE_SECONDS = 480  # with a command, on a busy machine
ANSIBLE_PATIENCE_SECONDS = 420  # so that it is shown before the command that waits for it
DUMP_SECONDS = 0.3  # for a process to write its stacks

EXECUTE_RACK = process.start
FOUND = {}  # what `begin` returns


def settings(environment):
    """Return what Ansible or Python reads of an environment while it loads."""
    return {key: value for key, value in environment.items() if key.startswith(("ANSIBLE_", "PYTHON", "HOME"))}


def begin():
    """Return the address of each process, and as "settings" what they were loaded with; start them if nobody has."""
    if not FOUND:
        FOUND.update(json.loads(os.environ[ADDRESS]) if ADDRESS in os.environ else start())
        os.environ[ADDRESS] = json.dumps(FOUND)
    return FOUND


def start():
    environment = ansible_environment(os.environ, share_directory())
    alive, _held = os.pipe()  # the latter is this process's alone, and closes with it
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, alive)
        servers = {kind: stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) for kind in LOADS}
        for server in servers.values():
            server.bind("")  # Linux gives a name that no file has
            server.listen()
        found = {kind: server.getsockname()[1:].decode() for kind, server in servers.items()}
        found["settings"] = settings(environment)
        for kind, server in servers.items():
            passed = server.fileno(), alive
            subprocess.Popen(
                [sys.executable, "-P", __file__, kind, *map(str, passed), "-" * NAME_BYTES],
                env=environment | {ADDRESS: json.dumps(found)},
                stdin=subprocess.DEVNULL,
                pass_fds=passed,
                start_new_session=True,
            )
    return found


class Started:
    """What was asked for, as a `subprocess.Popen`: `program` is "ansible", "tagloom.cli" or "tagloom.lab"."""

    def __init__(  # noqa: PLR0913 - what a process is started with
        self,
        program,
        words,
        *,
        streams,
        environment,
        directory=None,
        passed=(),
        first=None,
        patience=PATIENCE_SECONDS,
        shown=None,
    ):
        request = {
            "program": program,
            "words": [str(word) for word in words],
            "environment": dict(environment),
            "directory": str(directory or Path.cwd()),
            "passed": list(passed),
            "patience": patience,
            "shown": shown is not None,
            "first": base64.b64encode(pickle.dumps((sys.path, pickle.dumps(first)) if first else ((), b""))).decode(),
        }
        self.args, self.returncode = [program, *words], None
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.connect(b"\0" + begin()["ansible" if program == "ansible" else "tagloom"].encode())
        descriptors = [*streams, *passed, *([] if shown is None else [shown])]
        socket.send_fds(self._line, [json.dumps(request).encode()], descriptors)
        self.pid = int(self._line.recv(64))

    def poll(self):
        with contextlib.suppress(BlockingIOError):
            self._hear(socket.MSG_DONTWAIT)
        return self.returncode

    def wait(self):
        self._hear(0)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def _hear(self, flags):
        if self.returncode is None:
            self.returncode = int(self._line.recv(64, flags) or -9)
            self._line.close()


def use():
    """Let this process ask for racks, and for Ansible, instead of executing them."""
    for module in (playbook, reading):
        vars(module)["subprocess"] = SimpleNamespace(**vars(subprocess) | {"Popen": ansible, "run": run_ansible})
    process.start = start_rack


def ansible(words, **how):
    """Begin Ansible as `subprocess.Popen` does: by a fork, unless it needs settings that were not loaded."""
    if words[: len(ANSIBLE)] != ANSIBLE or settings(how["env"]) != begin()["settings"]:
        return subprocess.Popen(words, **how)
    with Path(os.devnull).open() as nothing:
        streams = [nothing if how[name] == subprocess.DEVNULL else how[name] for name in ("stdin", "stdout")]
        streams.append(streams[1] if how["stderr"] == subprocess.STDOUT else how["stderr"])
        return Started(
            "ansible",
            words[len(ANSIBLE) - 1 :],
            streams=[file.fileno() for file in streams],
            environment=how["env"],
            passed=how.get("pass_fds", ()),
            patience=ANSIBLE_PATIENCE_SECONDS,
        )


def run_ansible(words, *, env, stdin=subprocess.DEVNULL, **_how):
    """Run Ansible as `subprocess.run` does, and return its status and all that it printed, both streams as one."""
    with tempfile.TemporaryFile("w+") as printed:
        status = ansible(words, env=env, stdin=stdin, stdout=printed, stderr=subprocess.STDOUT).wait()
        printed.seek(0)
        return subprocess.CompletedProcess(words, status, printed.read())


def start_rack(directory, log):
    """Start the process of a rack, and return its id."""
    with Path(os.devnull).open() as nothing, Path(log).open("w") as written:
        streams = [nothing.fileno(), written.fileno(), written.fileno()]
        return Started("tagloom.lab", [directory], streams=streams, environment=os.environ).pid


# In the processes that have loaded everything, and in their forks.


def load_tagloom():
    """Import all of tagloom, and what it imports when it is used; do once what every command does first."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    for name in (*ALSO, *(module.name for module in pkgutil.walk_packages(tagloom.__path__, "tagloom."))):
        if not name.endswith("__main__"):
            import_module(name)
    know_models()
    rehearse()


def load_ansible():
    """Import what Ansible needs, and what our own plugins do."""
    for name in ALSO_OF_ANSIBLE:
        import_module(name)
    for path in share_directory().glob("roles/*/action_plugins/*.py"):
        runpy.run_path(str(path))
    know_models()
    loader = import_module("ansible.plugins.loader")
    finder = import_module("ansible.utils.collection_loader._collection_finder")
    loader.init_plugin_loader()
    for kind in (loader.connection_loader, loader.shell_loader, loader.become_loader, loader.callback_loader):
        for _ in kind.all(class_only=True):
            pass
    finder._AnsibleCollectionFinder._remove()  # each Ansible makes its own, once its options are read


LOADS = {"tagloom": load_tagloom, "ansible": load_ansible}


def know_models():
    """Read every model's page, and compile its family's grammar and templates: what a process keeps of them."""
    for model in platforms.models():
        platform = platforms.load(model)
        if platform.grammar:
            render_configuration(platform, factory(platform).freeze(), share_directory() / "templates")


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


def serve(kind, server, alive):
    """Accept requests and fork a process for each, until the other end of `alive` closes."""
    loaded = False
    begin()  # for its forks, whose environment is another's
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where tests run in the background
    while True:
        ready = select.select([server, alive], [], [])[0]
        if alive in ready:
            return
        line = server.accept()[0]
        if not loaded:
            gc.disable()
            LOADS[kind]()
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
    """Fork what is asked for, and tell who asked its process and its exit status.

    What is still running after its patience, except a rack, shows where it stands and is killed. A rack may outlive the
    tests if they are killed, and must not keep their streams open then.
    """
    text, descriptors, *_ = socket.recv_fds(line, MESSAGE_BYTES, DESCRIPTORS)
    asked = json.loads(text)
    patience = asked.pop("patience")
    pid = os.fork()
    if pid == 0:
        line.close()
        be(descriptors, **asked)
    for descriptor in descriptors:
        os.close(descriptor)
    line.send(str(pid).encode())
    if asked["program"] == "tagloom.lab":
        with Path(os.devnull).open() as nothing:
            for number in range(3):
                os.dup2(nothing.fileno(), number)
    else:
        signal.signal(signal.SIGALRM, lambda *_: show_and_kill(pid))
        signal.alarm(patience)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its id is nobody else's until the alarm is off
    signal.alarm(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # the client was killed, or only started the process
        line.send(str(status).encode())


def show_and_kill(root):
    """Make a process and its forks write the stacks of their threads to the tests' standard error, and kill them."""
    found = family(root)  # of any session: Ansible's workers have sessions of their own
    for number, seconds in ((signal.SIGUSR2, DUMP_SECONDS), (signal.SIGKILL, 0.0)):
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            threading.Event().wait(seconds)  # one after another, since they write to the same file


def parent(pid):
    """Return the id of a process's parent. Raises OSError if the process has ended."""
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])  # proc(5): the fourth field


def family(root):
    """List a process and all its descendants."""
    children = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has just ended
            children.setdefault(parent(folder.name), []).append(int(folder.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def be(descriptors, program, words, environment, directory, passed, first, shown):
    """Be a program: its own session, descriptors, environment and directory; end with its status."""
    os.setsid()
    above = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 256) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    stacks = above.pop() if shown else fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 256)
    for descriptor, number in zip(above, [0, 1, 2, *passed], strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    open_streams()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    show_words(program, words)
    wait_for(float(environment.get(WAITS, SHARE_OF_WAITS)))
    if program == "tagloom.lab":
        os.close(stacks)
    else:
        faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True)
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


def open_streams():
    """Open the three streams as Python does at its start: those of the process that was loaded are of other files."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        how = {"encoding": old.encoding, "errors": old.errors, "line_buffering": number == 2 or os.isatty(number)}
        file = io.FileIO(number, "w" if number else "r", closefd=False)
        buffer = (file if old.write_through else io.BufferedWriter(file)) if number else io.BufferedReader(file)
        new = io.TextIOWrapper(buffer, **how, write_through=old.write_through)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def wait_for(share):
    """Let each wait after a wave last for a share of what the wave says."""
    whole = Gate._drain_seconds
    Gate._drain_seconds = lambda gate, wave: share * whole(gate, wave)


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
    sys.argv = ["tagloom.lab", *words]
    runpy.run_module("tagloom.lab", run_name="__main__")


def show_words(program, words):
    """Let this process's command line show its own words: by it `tagloom lab` knows racks, and tests what they end."""
    module = process.RACK if program == "tagloom.lab" else ("-P", "-m", program)
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # proc(5): arg_start, arg_end, the 48th and 49th of all
    line = b"\0".join(map(os.fsencode, ["", *module, *words, ""]))[: end - start]
    ctypes.memmove(start, line.rjust(end - start, b"-"), end - start)


PROGRAMS = {"tagloom.cli": be_tagloom, "ansible": be_ansible, "tagloom.lab": be_rack}


if __name__ == "__main__":
    # out of the way of the descriptors that are passed
    high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 256) for number in sys.argv[2:4]]
    for number in sys.argv[2:4]:
        os.close(int(number))
    serve(sys.argv[1], socket.socket(fileno=high[0]), high[1])
