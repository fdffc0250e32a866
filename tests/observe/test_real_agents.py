"""snmpd and lldpd of the system, each in a network namespace of the test's own: agents that tagloom did not write."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pytest

from needs import PATH
from thinned import daily
from waiting import until

pytestmark = pytest.mark.needs("snmpd", "lldpd", "ip", "snmpbulkwalk", "root")
USERS = {"plain": ("SHA", "AES"), "long": ("SHA-512", "AES"), "old": ("MD5", "DES")}
WORDS = {"auth_password": "watch-auth-password", "priv_password": "watch-priv-password"}


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, "PATH": PATH}).stdout


class Site:
    """Two switches `alpha` and `beta`, joined by two cables, and a host `gamma` at alpha: three namespaces."""

    def __init__(self, folder):
        self.folder, self.tag, self.running = folder, uuid.uuid4().hex[:6], []
        self.stack = contextlib.ExitStack()

    def space(self, name):
        return f"tagloom-{self.tag}-{name}"

    def inside(self, name, *words):
        return ("ip", "netns", "exec", self.space(name), *words)

    def up(self):
        for name in ("alpha", "beta", "gamma"):
            run("ip", "netns", "add", self.space(name))
            self.stack.callback(run, "ip", "netns", "del", self.space(name))
            run(*self.inside(name, "ip", "link", "set", "lo", "up"))
        for (a, port), (b, far) in (
            (("alpha", "swp1"), ("beta", "swp1")),
            (("alpha", "swp2"), ("beta", "swp3")),
            (("alpha", "swp5"), ("gamma", "eth0")),
        ):
            left, right = self.space(a), self.space(b)
            run("ip", "link", "add", port, "netns", left, "type", "veth", "peer", "name", far, "netns", right)
        for name, ports in (("alpha", "swp1 swp2 swp5"), ("beta", "swp1 swp3"), ("gamma", "eth0")):
            for port in ports.split():
                run(*self.inside(name, "ip", "link", "set", port, "up"))
        for name, address in (("alpha", "198.18.0.1/30"), ("beta", "198.18.0.2/30")):
            run(*self.inside(name, "ip", "address", "add", address, "dev", "swp1"))
            run(*self.inside(name, "ip", "link", "add", "br0", "type", "bridge"))  # or lldpd calls it a station
        for name in ("alpha", "beta"):
            self.snmpd(name)
        for name in ("alpha", "beta", "gamma"):
            self.lldpd(name)

    def start(self, name, *words):
        log = self.stack.enter_context((self.folder / f"{name}-{words[0]}.log").open("wb"))
        process = subprocess.Popen(
            self.inside(name, *words),
            stdout=log,
            stderr=log,
            env={**os.environ, "PATH": PATH, "SNMP_PERSISTENT_DIR": str(self.folder / f"{name}-kept")},
        )
        self.stack.callback(self.end, process)

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def snmpd(self, name):
        users = [
            f'createUser {user} {auth} "{WORDS["auth_password"]}" {priv} "{WORDS["priv_password"]}"\nrouser {user} priv'
            for user, (auth, priv) in USERS.items()
        ]
        lines = ["agentAddress udp:161", "master agentx", f"agentXSocket {self.folder}/{name}.x", f"sysName {name}"]
        (self.folder / f"{name}.conf").write_text("\n".join([*lines, "rocommunity watch", *users]) + "\n")
        conf, pid = self.folder / f"{name}.conf", self.folder / f"{name}.pid"
        self.start(name, "snmpd", "-f", "-C", "-c", str(conf), "-p", str(pid), "-I", "-smux", "-Lo")
        asking = self.inside(name, "snmpbulkwalk", "-v2c", "-c", "watch", "-m", "", "127.0.0.1", "1.3.6.1.2.1.1")
        deadline = time.monotonic() + 30  # lldpd hangs if it registers with an agent that is not yet up
        while subprocess.run(asking, check=False, capture_output=True, env={**os.environ, "PATH": PATH}).returncode:
            assert time.monotonic() < deadline, (self.folder / f"{name}-snmpd.log").read_text()

    def lldpd(self, name):
        socket, conf = self.folder / f"{name}.l", self.folder / "lldpd.conf"
        conf.write_text("configure lldp tx-interval 2\n")  # by file: a running lldpd that is told so early stays paused
        agent = ["-x", "-X", str(self.folder / f"{name}.x")] if name != "gamma" else []
        words = ["-O", str(conf), "-u", str(socket), "-I", "swp*,eth0", "-S", "Linux test switch"]
        self.start(name, "lldpd", "-d", *agent, *words)

    def tagloom(self, *words):
        """Run tagloom in alpha's namespace: (exit status, the object)."""
        done = subprocess.run(
            self.inside("alpha", sys.executable, "-m", "tagloom.cli", *map(str, words), "--json"),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, "PATH": PATH},
        )
        return done.returncode, json.loads(done.stdout)

    def settings(self, user="plain", **changes):
        auth, priv = USERS.get(user, ("SHA", "AES"))
        page = {"user": user, "auth_protocol": auth, "priv_protocol": priv, **WORDS, **changes}
        path = self.folder / "snmp.yml"
        path.write_text(json.dumps(page))
        return path


@pytest.fixture(scope="module")
def site():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # lldpd gives root up, and pytest's own folders are root's alone
        made = Site(Path(folder))
        with made.stack:
            made.up()
            until(lambda: settled(made))  # LLDP takes some seconds; each test may be the first
            yield made


def discover(site, *words, **settings):
    seed = ("discover", "--seed", "198.18.0.1", "--snmp", site.settings(**settings), "--timeout", 2)
    return site.tagloom(*seed, *words)


def settled(site):
    """Return (exit status, the object) of a discovery that finds both cables and the host, None before that."""
    status, page = discover(site)
    return (status, page) if page.get("links") == 2 and page.get("hosts") == 1 else None


@pytest.mark.slow
def test_lldpd_and_snmpd_are_discovered_with_their_cables_and_the_host(site):
    status, page = settled(site)
    assert (status, page["switches"], page["unreached"]) == (0, 2, [])
    assert '["alpha:swp1", "beta:swp1"]' in page["fabric"]
    assert '["alpha:swp2", "beta:swp3"]' in page["fabric"]
    mac = run(*site.inside("gamma", "cat", "/sys/class/net/eth0/address")).strip()
    assert f'switch: alpha, port: "swp5", mac: "{mac}"' in page["fabric"]
    assert "model: linux-bridge" in page["fabric"]


@pytest.mark.slow
@pytest.mark.parametrize("user", daily(USERS, 1))
def test_snmpd_lets_every_kind_of_user_in(site, user):
    assert discover(site, user=user)[1]["switches"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"user": "nobody"}, "it knows no user 'nobody'"),
        ({"auth_password": "not-the-password"}, "wrong authentication password or protocol for user 'plain'"),
        ({"priv_password": "not-the-password"}, "privacy password"),
        ({"version": "2c", "community": "guess"}, "it knows no such community"),
    ],
    ids=["user", "authentication", "privacy", "community"],
)
def test_snmpd_refuses_and_the_row_says_why(site, settings, says):
    status, page = discover(site, "--retries", 0, **settings)
    assert status == 3
    assert says in page["error"]["text"]


def test_counters_are_those_of_the_kernel_and_of_snmpbulkwalk(site):
    """Traffic on swp2 moves the 64-bit counters by what the kernel counted, and snmpbulkwalk reads the same."""
    (site.folder / "fabric.yml").write_text(
        "model: linux-bridge\nswitches: {alpha: {address: 198.18.0.1}, beta: {address: 198.18.0.2}}\n"
        'links: [["alpha:swp1", "beta:swp1"], ["alpha:swp2", "beta:swp3"]]\n'
    )
    (site.folder / "tagloom.yml").write_text("plugin: tagloom\nfabric: fabric.yml\n")
    site.settings()
    status, page = site.tagloom("observe", "-i", site.folder, "--timeout", 2)
    assert (status, page["failed"]) == (0, [])
    alpha = page["switches"]["alpha"]
    ports = {port["name"]: port for port in alpha["ports"]}
    assert (ports["swp2"]["admin_up"], ports["swp2"]["oper_up"], ports["swp2"]["bits"]) == (True, True, 64)
    assert "dot1dBasePortIfIndex: missing" in alpha["complaints"]  # snmpd has no BRIDGE-MIB
    kernel = int(run(*site.inside("alpha", "cat", "/sys/class/net/swp2/statistics/rx_bytes")))
    assert 0 < ports["swp2"]["in_octets"] <= kernel
    index = run(*site.inside("alpha", "cat", "/sys/class/net/swp2/ifindex")).strip()
    walked = run(
        *site.inside("alpha", "snmpbulkwalk", "-v2c", "-c", "watch", "-Oqn", "-m", "", "198.18.0.1"),
        "1.3.6.1.2.1.31.1.1.1.6",
    )
    peer = {line.split()[0].rsplit(".", 1)[1]: int(line.split()[1]) for line in walked.splitlines()}
    assert ports["swp2"]["in_octets"] <= peer[index]
    assert len(peer) == 5  # lo, br0 and three ports
