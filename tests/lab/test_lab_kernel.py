"""A rack whose frames a real kernel carries: it does what the rack's own data plane does, and consoles steer it."""

import errno
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from fabrics import ROOT, make_fabric
from tagloom.adapters.shell import LinuxSwitch
from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.lab import process
from tagloom.lab.dataplane import Dataplane
from tagloom.lab.directory import Order
from tagloom.lab.kernel import choice, launcher, machine
from tagloom.lab.kernel.dataplane import KernelDataplane
from tagloom.lab.kernel.machine import Machine
from tagloom.platforms import load
from tagloom.records.change import difference
from tagloom.records.switch_state import Membership, SwitchEditor, SwitchState
from tagloom.render import parse_configuration, render_commands
from tagloom.route import route
from tagloom.weave import weave

TEMPLATES = ROOT / "templates"
pytestmark = pytest.mark.needs("a kernel with bridges")


@pytest.fixture(scope="module")
def fabric():
    return make_fabric("ring", 3, hosts=2, model="powerconnect-5324")


@pytest.fixture(scope="module")
def kernel(fabric, tmp_path_factory):
    plane = KernelDataplane(fabric, TEMPLATES, choice.start(tmp_path_factory.mktemp("kernel") / "log"))
    yield plane
    plane.close()


def states(fabric, assignment):
    if assignment == "pinned":  # which needs switches that keep floods off a port
        fabric = replace(fabric, switches=tuple(replace(each, model="linux-bridge") for each in fabric.switches))
    return weave(fabric, route(fabric, "auto", assignment), assignment).state


def spoilt(fabric, assignment, seed):
    """Spoil one cell of a planned state in a way that a bridge can hold."""
    rng = random.Random(seed)
    state = states(fabric, assignment)
    name = rng.choice(list(state))
    editor = SwitchEditor.of(state[name])
    port = rng.choice(fabric.used_ports[fabric.index[name]])
    vlan, mac = rng.choice(sorted(editor.entries))
    what = rng.choice(["shut", "entry", "pinned elsewhere", "join"])
    if what == "shut":
        editor.enabled[port - 1] = False
    elif what == "entry":
        editor.set_entry(vlan, mac, ())
    elif what == "pinned elsewhere":
        editor.set_entry(vlan, mac, (rng.choice(sorted(editor.members[vlan])),))
    else:
        editor.set_member(vlan, port, Membership.UNTAGGED)
    return state | {name: editor.freeze()}


def told(delivery):
    return Counter((hop.switch, hop.vlan, hop.out_port) for hop in delivery.path), delivery.delivered_to


CPUINFO = """processor\t: {}
vendor_id\t: {}
model name\t: {}
flags\t\t: fpu vme fxsr sse sse2 syscall nx ssse3 fma sse4_1 sse4_2 xsave avx avx2 erms {}
bugs\t\t: spectre_v1 spectre_v2
"""


@pytest.mark.parametrize(
    ("overflows", "text"),
    [
        (False, CPUINFO.format(0, "AuthenticAMD", "AMD EPYC", "xsaveopt xsavec xsaves")),
        (False, CPUINFO.format(0, "GenuineIntel", "Intel(R) Xeon(R) Platinum 8370C", "avx512f avx512vl pku ospke")),
        (True, CPUINFO.format(0, "GenuineIntel", "Intel(R) Xeon(R) Platinum 8480C", "avx512f amx_bf16 amx_tile pku")),
        (
            True,
            CPUINFO.format(0, "GenuineIntel", "?", "pku") + "\n" + CPUINFO.format(1, "GenuineIntel", "?", "amx_tile"),
        ),
        (False, CPUINFO.format(0, "GenuineIntel", "not a flag: amx_tile", "pku")),
        (False, "processor\t: 0\nFeatures\t: fp asimd evtstrm sve\n"),
        (False, ""),
    ],
)
def test_a_processor_whose_state_is_too_large_for_user_mode_linux_is_known(overflows, text):
    assert machine.overflows(text) is overflows


# Traces a child of its own and reads its registers: the extended state (NT_X86_XSTATE 0x202), the general ones
# (NT_PRSTATUS 1) and the floating-point ones (PTRACE_GETFPREGS 14), as user-mode Linux does.
TRACER = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
child = os.fork()
if not child:
    libc.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
os.waitpid(child, 0)
room = ctypes.create_string_buffer(1 << 16)
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
def ask(request, kind, data):
    return 0 if libc.ptrace(request, child, kind, data) == 0 else ctypes.get_errno()
def regset(kind):
    return ask(0x4204, kind, ctypes.byref(Iovec(ctypes.addressof(room), len(room))))
print(regset(0x202), regset(1), ask(14, None, room))
os.kill(child, signal.SIGKILL)
"""


@pytest.mark.skipif("xsave" not in machine.CPUINFO.read_text("utf-8").split(), reason="this processor has no XSAVE")
def test_ptrace_under_the_launcher_knows_no_extended_state_and_all_else():
    def traced(*before):
        words = [*before, sys.executable, "-c", TRACER]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()

    assert traced() == ["0", "0", "0"]
    assert traced(sys.executable, "-I", "-S", launcher.__file__) == [str(errno.ENODEV), "0", "0"]


@pytest.mark.needs("user-mode Linux")
def test_a_kernel_kept_from_the_extended_state_forwards_alike(tmp_path):
    fabric = make_fabric("ring", 3, model="powerconnect-5324")
    state = spoilt(fabric, "fixed", 1)
    kernel = Machine(tmp_path / "log", hide_extended_state=True).__enter__()
    plane = KernelDataplane(fabric, TEMPLATES, kernel)
    try:
        plane.configure(state)
        seen = plane.ping_all()
        ((_, tunables),) = kernel.request("type", switch=0, lines=["echo $GLIBC_TUNABLES"])["answers"]
    finally:
        plane.close()
    expected = Dataplane(fabric, state).ping_all()
    assert (seen.reached, seen.lost, seen.overheard) == (expected.reached, expected.lost, expected.overheard)
    assert 0 < seen.reached < seen.pairs
    assert "-AVX2" in tunables


@pytest.mark.parametrize("assignment", ["fixed", "renamed", "pinned"])
@pytest.mark.parametrize("seed", range(3))
def test_every_frame_goes_as_the_racks_own_data_plane_says(fabric, kernel, assignment, seed):
    state = spoilt(fabric, assignment, seed) if seed else states(fabric, assignment)
    own = Dataplane(fabric, state)
    for a in fabric.hosts:
        own.configure(state)
        kernel.configure(state)
        expected, seen = own.broadcast(a.name), kernel.broadcast(a.name)
        assert bool(seen.storm) == bool(expected.storm)
        if not expected.storm:
            assert told(seen) == told(expected), a.name
        for b in fabric.hosts:
            if a is not b:
                own.configure(state)
                kernel.configure(state)
                expected, seen = own.unicast(a.name, b.name), kernel.unicast(a.name, b.name)
                assert bool(seen.storm) == bool(expected.storm), (a.name, b.name)
                if not expected.storm:
                    assert told(seen) == told(expected), (a.name, b.name)
                    assert (seen.copies, set(seen.flooded)) == (expected.copies, set(expected.flooded))


def test_spanning_tree_of_the_kernel_keeps_a_factory_ring_from_storming(fabric, kernel):
    found = None
    for _ in range(4):  # a machine so busy that hellos stay out for six seconds loses the tree, as 802.1D has it
        kernel.configure({switch.name: SwitchState.factory(24) for switch in fabric.switches})
        found = kernel.ping_all()
        once = {f"h{i}": 1 for i in range(1, 6)}
        if not found.storm and found.reached == found.pairs and kernel.broadcast("h0").delivered_to == once:
            return
    pytest.fail(f"{found.storm or found.lost}, or a broadcast came otherwise than once")


@pytest.mark.slow
def test_without_spanning_tree_the_same_ring_storms_and_the_storm_ends(fabric, kernel):
    open_ring = {s.name: replace(SwitchState.factory(24), spanning_tree=False) for s in fabric.switches}
    kernel.configure(open_ring)
    assert "circulates" in kernel.broadcast("h0").storm
    kernel.configure(states(fabric, "fixed"))
    assert kernel.ping_all().reached == 30


def test_what_was_learned_and_the_counters_are_the_kernels(fabric, kernel):
    kernel.configure(states(fabric, "fixed"))
    before = kernel.sent
    path = kernel.unicast("h0", "h2").path
    grown = kernel.sent - before
    assert grown == Counter((hop.switch, hop.out_port) for hop in path)
    assert kernel.learned("s0") == {}  # all is pinned
    bare = {
        name: replace(
            held, entry_vlan=held.entry_vlan[:0], entry_mac=held.entry_mac[:0], entry_port=held.entry_port[:0]
        )
        for name, held in states(fabric, "fixed").items()
    }
    kernel.configure(bare)
    kernel.unicast("h0", "h2")
    assert set(kernel.learned("s0").values()) == {fabric.hosts[0].port}


@pytest.mark.slow
def test_a_line_typed_at_a_console_steers_the_kernel(tmp_path):
    fabric = make_fabric("mesh", 2, 1, model="powerconnect-5324")
    info = process.up(Order(fabric, TEMPLATES, dataplane="kernel"), tmp_path)
    known_hosts = str(tmp_path / "known_hosts")
    access = Access("127.0.0.1", info.ports["s0"], "lab", "lab", known_hosts=known_hosts, fast_cli=True)
    try:
        assert process.status(tmp_path)["dataplane"] == "kernel"
        assert process.ping(tmp_path)["reached"] == 2
        assert [hop[:2] for hop in process.ping(tmp_path, "h0", "h1")["path"]] == [["s0", 2], ["s1", 1]]
        with SshSwitch("s0", load("powerconnect-5324"), access) as console:
            console.send(["interface ethernet g1", "shutdown", "exit"])
        assert process.ping(tmp_path)["reached"] == 0
    finally:
        process.down(tmp_path)
    log = (tmp_path / "kernel.log").read_text("utf-8").lower()
    assert not log or "halted" in log  # this machine's own kernel says nothing
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in running


@pytest.mark.slow
def test_a_linux_machine_planned_and_pushed_steers_the_kernel_line_by_line(tmp_path):
    fabric = make_fabric("ring", 3, model="linux-bridge")
    info = process.up(Order(fabric, TEMPLATES, dataplane="kernel"), tmp_path)
    planned = states(fabric, "fixed")
    linux = load("linux-bridge")

    def console(name):
        known_hosts = str(tmp_path / "known_hosts")
        access = Access("127.0.0.1", info.ports[name], "lab", "lab", known_hosts=known_hosts, fast_cli=True)
        return LinuxSwitch(name, linux, access)

    try:
        assert process.ping(tmp_path)["reached"] == 0
        for name, state in planned.items():
            with console(name) as shell:
                born = parse_configuration(linux, shell.running_configuration()).state
                shell.send(render_commands(linux, difference(born, state), born))
                assert parse_configuration(linux, shell.running_configuration()).state == state
        assert process.ping(tmp_path)["reached"] == 6
        with console("s0") as shell:
            shell.send(["ip link set dev swp3 down"])
        assert process.ping(tmp_path)["reached"] == 2
    finally:
        process.down(tmp_path)
