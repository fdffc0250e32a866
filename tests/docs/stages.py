"""What a console block needs besides tagloom: a rack in place of real switches, a second host, a NetBox, an MPI.

A block names its stage by a comment above it. A stage stands in place of what the page names, at other addresses; its
commands run as they are written there but for these words.
"""

import shlex
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field

import build_collection

from command_line.terminal import Terminal
from fabrics import ROOT
from fixtures.key_login import KeyLogin
from fixtures.netbox import TOKEN, served
from needs import require
from tagloom.lab import process
from tagloom.measure import namespaces
from tagloom.measure.ends import in_namespace

RACK = {"inventory/testbed": "inventory/lab", "inventory/rack": "inventory/lab"}
MPI = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe")
RING = ROOT / "tests" / "data" / "traces" / "ring.c"


@dataclass(slots=True)
class Stage:
    """What stands where a block is run.

    `words`: what the page names, and what is here in its place. `beside`: how commands begin that run beside those
    below them; one that the page ends by Ctrl-C is interrupted after the last. `hosts`: a command's comment, and what
    to put before its words, that they run on that host.
    """

    words: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    beside: tuple = ()
    hosts: dict = field(default_factory=dict)


@contextmanager
def rack(directory):
    """The virtual rack, that `before` has started, is the page's inventory; the checkout lies around it."""
    for name in ("playbooks", "roles"):
        if not (directory / name).exists():
            (directory / name).symlink_to(ROOT / name)
    yield Stage(RACK, {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"})


@contextmanager
def collection(directory):
    """A home of its own, to which the collection is installed, as built from this checkout."""
    build_collection.build(directory / "dist")
    inventory = directory / "inventory" / "lab" / "tagloom.yml"
    inventory.write_text(inventory.read_text("utf-8").replace("plugin: tagloom", "plugin: tagloom.fabric.tagloom"))
    environment = {"HOME": str(directory), "ANSIBLE_INVENTORY_ENABLED": "tagloom.fabric.tagloom"}
    environment |= {"ANSIBLE_NOCOLOR": "1"}
    yield Stage(RACK, environment)


@contextmanager
def console(directory):
    """The serial console of s3, which is as from its factory; the rack's switches are on loopback."""
    serial = process.console(directory / "inventory" / "lab", "s3")["serial"]
    network = {"192.0.2.0/24": "127.0.0.0/8", "192.0.2.1": "127.0.0.254", "/dev/ttyUSB0": serial}
    yield Stage({**RACK, **network, " fabric.yml": " inventory/lab/fabric.yml"})


@contextmanager
def beside(_directory):
    """Commands that go on while others run: for ever, or until they are answered."""
    started = ("apply build --confirm", "run ", "observe ", "report build --serve", "hosts learn")
    words = {**RACK, "/var/lib/tagloom/requests": "requests", "--serve 8080": "--serve 0", "--every 60s": "--every 1s"}
    words["roles/tagloom_run"] = str(ROOT / "roles" / "tagloom_run")
    yield Stage(words, beside=tuple(f"tagloom {each}" for each in started))


@contextmanager
def foreign(directory):
    """The virtual rack, with a VLAN of others on all of a ring's links."""
    join = ["switchport mode general", "switchport general allowed vlan add 10 tagged", "exit"]
    tagged = [line for port in (1, 2) for line in (f"interface ethernet g{port}", *join)]
    access = ["interface ethernet g20", "switchport mode access", "switchport access vlan 10", "exit"]
    for name in ("s0", "s1", "s2", "s3"):
        Terminal(directory).type(name, "vlan database", "vlan 10", "exit", *tagged, *access)
    yield Stage()


@contextmanager
def netbox(_directory):
    """A NetBox on loopback, that answers as a real one did."""
    with served() as running:
        yield Stage({"https://netbox.example": running.url, "nbt_...": TOKEN}, {"TAGLOOM_NETBOX_TOKEN": TOKEN})


@contextmanager
def mpi(directory):
    """An MPI, with more ranks than processors, and a program that sends round a ring."""
    require("mpicc", "mpirun")
    subprocess.run(["mpicc", "-O2", "-o", directory / "program", RING], check=True)
    yield Stage(environment=dict.fromkeys(MPI, "1"))


@contextmanager
def two_hosts(_directory):
    """Two hosts and a bridge between them, in network namespaces."""
    with bench(bridged=True) as made:
        yield between(made)


@contextmanager
def two_logins(directory):
    """Two hosts and a bridge between them, which let one key in over SSH."""
    require("ssh")
    with bench(bridged=True) as made:
        stage, logins = between(made), {}
        for name, host in (("n1", "here"), ("n2", "there")):
            (directory / name).mkdir()
            logins[name] = KeyLogin(directory / name, shlex.join(stage.hosts[host]))
        (directory / "ssh_config").write_text("".join(login.host_lines(name) for name, login in logins.items()))
        stage.words["--ends n1"] = "--ssh 'ssh -F ssh_config' --ends n1"
        yield stage
        for login in logins.values():
            login.close()


@contextmanager
def two_ranks(_directory):
    """An MPI that Python reaches, with more ranks than processors."""
    require("mpirun")
    yield Stage(environment=dict.fromkeys(MPI, "1"))


@contextmanager
def sleeping_link(_directory):
    """Two hosts and a link between them that sleeps after 20 ms, long beside what a busy machine adds."""
    with bench(bridged=False) as made:
        policy = ["near", "far", "20e-3", "8e-3", "4e-3"]
        made.start(made.middle, [sys.executable, "-P", "-m", "tagloom.lab.sleeping_link", *policy])
        stage = between(made)
        stage.words["idle-gap --connect"] = "idle-gap --shortest 0.012 --longest 0.04 --gaps 12 --repeats 6 --connect"
        yield stage


def bench(*, bridged):
    """Return network namespaces of two hosts and what lies between."""
    require("ip", "bridge", "ethtool", "root")
    return namespaces.Bench(bridged=bridged)


def between(made):
    """Return the stage of two hosts of a bench."""
    words = {"192.0.2.2": namespaces.FAR_ADDRESS, "192.0.2.0/24": namespaces.NETWORK, "eth1": "eth0"}
    words["rps --connect"] = "rps --block 0 1 --connect"  # PAUSE lasts 3.4 ms at most at the 10 Gb/s of a veth
    hosts = {name: in_namespace(place, []) for name, place in (("there", made.far), ("here", made.near))}
    return Stage(words, beside=("tagloom measure pingpong --serve",), hosts=hosts)


STAGES = {
    each.__name__: each
    for each in (
        rack,
        collection,
        console,
        beside,
        foreign,
        netbox,
        mpi,
        two_hosts,
        two_logins,
        two_ranks,
        sleeping_link,
    )
}
