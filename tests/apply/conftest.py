"""A virtual rack of two models over real SSH, targets made by hand, and real ansible-playbook runs."""

import json
import os
import shutil
from dataclasses import asdict
from functools import partial

import pytest
import yaml

from command_line.loaded import ANSIBLE, WAITS, run_ansible
from tagloom import platforms
from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.apply.playbook import Ansible, ansible_environment
from tagloom.apply.run_directory import Job
from tagloom.apply.session import Session
from tagloom.apply.site import Site
from tagloom.apply.switch import Language, configure_switch
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.directory import Order
from tagloom.platforms.detect import mistaken
from tagloom.platforms.grammar import switchwide
from tagloom.records.change import difference
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor
from tagloom.render import read_state, render_commands, render_configuration
from tagloom.share import share_directory

SHARE = share_directory()
TEMPLATES = SHARE / "templates"
MODELS = ["powerconnect-5324", "powerconnect-6248", "powerconnect-5324", "powerconnect-6248"]
HOST_PORT = 24


def square(models=MODELS):
    """Give a ring of switches: port 1 to the next, port 2 from the one before, a host on port 24."""
    count = len(models)
    return Fabric(
        name="square",
        switches=tuple(Switch(f"s{i}", model) for i, model in enumerate(models)),
        hosts=tuple(Host(f"h{i}", i, HOST_PORT, 0x0200_0000_0000 + i) for i in range(count)),
        links=tuple(Link(i, 1, (i + 1) % count, 2) for i in range(count)),
        ports=tuple(platforms.load(model).ports for model in models),
    )


def target(ports, vlans=(100, 101), pvid=100):
    """Give a state that tagloom might plan: tagged between switches, untagged to the host, two static entries."""
    editor = SwitchEditor.blank(ports)
    for vlan in vlans:
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, "tagloom")
        editor.set_member(vlan, 1, Membership.TAGGED)
        editor.set_member(vlan, HOST_PORT, Membership.UNTAGGED)
        editor.set_entry(vlan, 0x0200_0000_0009, [1])
    editor.set_member(vlans[0], 2, Membership.TAGGED)
    for port in (1, 2, HOST_PORT):
        editor.mode[port - 1] = PortMode.GENERAL
        editor.set_member(1, port, Membership.NONE)
        editor.set_pvid(port, pvid if port == HOST_PORT else 0)
    editor.spanning_tree = False
    return editor.freeze()


def language(model):
    platform = platforms.load(model)
    return Language(
        parse=lambda text: read_state(platform, text, "switch", range(1, platform.ports + 1)),
        text=lambda state: render_configuration(platform, state, TEMPLATES),
        commands=lambda changes, before: render_commands(platform, changes, before),
        mistaken=lambda text: mistaken(model, text, "switch"),
        port_name=platform.port_name,
        physical_ports=platform.physical_ports,
        switchwide=switchwide(platform),
    )


class Bench:
    """Hold a running rack and what the tests do with it."""

    def __init__(self, directory, fabric):
        self.fabric = fabric
        self.rack = directory / "rack"
        self.directory = directory
        self.build = directory / "build"
        self.run_directory = directory / "run"
        self.info = process.up(Order(fabric, TEMPLATES), self.rack)
        self.names = [switch.name for switch in fabric.switches]
        self.models = {switch.name: switch.model for switch in fabric.switches}
        self.used = dict(zip(self.names, fabric.used_ports, strict=True))
        self.initial = self.configurations()
        process.keep(self.rack)

    def configurations(self, *, startup=False):
        return process.configurations(self.rack, startup=startup)

    def fresh(self):
        """Put every switch back to its initial state, and clear its quirks and everybody's files."""
        process.quirks(self.rack, {"*": asdict(Quirks())})
        process.restore(self.rack)
        for folder in (self.build, self.run_directory, self.directory / "rollout", self.rack / "runs"):
            shutil.rmtree(folder, ignore_errors=True)

    def quirk(self, switch, **quirks):
        process.quirks(self.rack, {switch: quirks})

    def access(self, switch, **changes):
        settings = {"known_hosts": str(self.rack / "known_hosts"), "fast_cli": True} | changes
        return Access(
            **{"host": "127.0.0.1", "port": self.info.ports[switch], "user": "lab", "password": "lab"} | settings
        )

    def bring_as(self, switch, model):
        """Push to a switch as if it were of `model`, without Ansible; gives the outcome."""
        platform = platforms.load(model)
        return configure_switch(
            Session(SshSwitch(switch, platform, self.access(switch)), switch, backups=self.directory / "backups"),
            language(model),
            target(platform.ports),
            (1, 2, HOST_PORT),
            check=False,
            out_of_band=True,
        )

    def connection(self, switch, **changes):
        return SshSwitch(switch, platforms.load(self.models[switch]), self.access(switch, **changes))

    def language(self, switch):
        return language(self.models[switch])

    def state(self, switch):
        return language(self.models[switch]).parse(self.configurations()[switch])[0]

    def target(self, switch, **how):
        return target(platforms.load(self.models[switch]).ports, **how)

    def rendered(self, switch, **how):
        return language(self.models[switch]).text(self.target(switch, **how))

    def load(self, switch, text):
        """Make a switch forward as a text says, by what its user would type."""
        speak = language(self.models[switch])
        running = self.state(switch)
        self.type(switch, *speak.commands(difference(running, speak.parse(text)[0]), running))

    def type(self, switch, *lines):
        with self.connection(switch) as connection:
            connection.send(lines)
            connection.save()

    def write_configs(self, directory, state):
        directory.mkdir(parents=True)
        for name in self.names:
            (directory / f"{name}.cfg").write_text(language(self.models[name]).text(state(name)), "utf-8")

    def write_build(self, **how):
        self.write_configs(self.build / "configs", partial(self.target, **how))
        shutil.copy(self.rack / "fabric.yml", self.build / "fabric.yml")

    def write_rollout(self, *waves, drain_seconds=0):
        """Write a rollout of waves, each the keyword arguments of `target`, from what the switches hold."""
        place = self.directory / "rollout"
        self.write_configs(place / "before", self.state)
        for number, how in enumerate(waves, start=1):
            self.write_configs(place / f"waves/{number}", partial(self.target, **how))
        page = {
            "before": "before",
            "waves": [
                {"name": f"wave {n}", "configs": f"waves/{n}", "drain_seconds": drain_seconds}
                for n in range(1, len(waves) + 1)
            ],
        }
        (place / "rollout.json").write_text(json.dumps(page))
        (place / "build").mkdir()
        shutil.copy(self.rack / "fabric.yml", place / "build/fabric.yml")
        return place

    def ansible(self, inventory=None, limit=""):
        return Ansible(Site(inventory or self.rack, SHARE, self.environment(), "test"), limit)

    def do(self, ansible, job, **how):
        return ansible.do(job, self.run_directory, self.names, **how)

    def apply(self, build=None, on_progress=None, inventory=None, limit="", **options):
        with self.ansible(inventory, limit) as ansible:
            return self.do(ansible, Job(build or self.build, **options), on_progress=on_progress)

    def by_hand(self, *words, allow="interrupt", inventory=None, page=SHARE / "playbooks/apply.yml"):
        """Push the build by ansible-playbook alone; what it prints is in `log()`."""
        inventory = inventory or self.rack
        values = [f"build={self.build}", f"directory={self.run_directory}", f"allow={allow}"]
        arguments = [word for value in values for word in ("-e", f"tagloom_apply_{value}")]
        self.run_directory.mkdir(exist_ok=True)
        done = run_ansible(
            [*ANSIBLE, str(page), "-i", str(inventory / "tagloom.yml"), *arguments, *map(str, words)],
            env=ansible_environment(self.environment(), SHARE),
        )
        (self.run_directory / "ansible.log").write_text(done.stdout)
        return done.returncode

    @staticmethod
    def environment():
        # the last where what tests execute is measured
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "COVERAGE_PROCESS_CONFIG") if key in os.environ}
        return kept | {WAITS: "1"}

    def log(self):
        return (self.run_directory / "ansible.log").read_text()

    def with_variables(self, **variables):
        """Copy the inventory with other group variables."""
        place = self.directory / "inventory"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for name in ("fabric.yml", "tagloom.yml", "known_hosts"):
            shutil.copy(self.rack / name, place / name)
        page = yaml.safe_load((self.rack / "group_vars/all.yml").read_text()) | variables
        page = {key: value for key, value in page.items() if value is not None}
        (place / "group_vars").mkdir()
        (place / "group_vars/all.yml").write_text(yaml.safe_dump(page))
        return place


@pytest.fixture(scope="session")
def running_bench(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("bench"), square())
    yield made
    process.down(made.rack)


@pytest.fixture
def bench(running_bench):
    running_bench.fresh()
    return running_bench


@pytest.fixture
def words_of():
    """Return what makes the language of a model."""
    return language


@pytest.fixture
def target_of():
    """Return what makes a target for a number of ports."""
    return target
