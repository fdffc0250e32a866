"""A switch that lost its configuration: who gets in, over a serial line and telnet, and how it is brought back."""

import contextlib
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import termios
from pathlib import Path

import paramiko
import pytest
import yaml

from lab_fabrics import TEMPLATES, fabric
from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.shell import LinuxSwitch
from tagloom.adapters.ssh import Access
from tagloom.cli import main
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.lab.manners import MANNERS
from tagloom.operate.status import sent_log
from tagloom.platforms.first_contact import PASSWORD, FirstContact, first_contact_lines
from tagloom.platforms.secrets import scrub
from tagloom.read import read_fabric
from tagloom.records.fabric import Switch
from tagloom.records.snmp import Credentials
from thinned import daily, few
from waiting import until

pytestmark = pytest.mark.slow

MODELS = ["powerconnect-5324", "powerconnect-5548", "powerconnect-6248", "n-series"]
CISCOS = ["cisco-sg300-28", "cisco-cbs350-24t-4g"]  # which have a user from the factory
ROUTEROS = "mikrotik-crs326-24g-2s"  # which has a user without a password, and keeps each line as it takes it
COMWARE, HUAWEI = "hpe-5130-24g-4sfp", "huawei-s5731-s24t4x"
LINUX = "linux-bridge"  # as it was just installed: root alone, at its console
ALL = [*MODELS, *CISCOS, COMWARE, HUAWEI, LINUX, ROUTEROS]
LASTING = (
    "/etc/hostname",
    "/etc/tagloom/address.sh",
    "/etc/snmp/snmpd.conf.d/tagloom.conf",
    "/var/lib/snmp/snmpd.conf",
)
LASTING += ("/etc/default/lldpd",)  # what a Linux machine keeps of its first login
ADDRESS = ["interface vlan 1", "ip address 192.0.2.9 255.255.255.0", "exit"]
GLOBAL_ADDRESS = ["ip address 192.0.2.9 255.255.255.0"]  # of a 62xx
USER = ["username ops password first-day level 15", "crypto key generate rsa", "ip ssh server"]


class Line:
    """One end of a serial line or of a telnet session."""

    def __init__(self, directory, switch, kind):
        where = process.console(directory, switch)
        if kind == "telnet":
            host, port = where["telnet"].split(":")
            self._wire = socket.create_connection((host, int(port)))
            self._file = self._wire.fileno()
        else:
            self._file = os.open(where["serial"], os.O_RDWR | os.O_NOCTTY)
            termios.tcflush(self._file, termios.TCIFLUSH)  # what was shown while nobody looked
        os.set_blocking(self._file, False)
        self.shown = ""

    def type(self, line, then):
        """Type a line, and wait until the screen ends with what is expected."""
        self.shown = ""
        os.write(self._file, line.encode() + b"\r")
        until(lambda: self._read().endswith(then), seconds=20)
        return self.shown

    def _read(self):
        with contextlib.suppress(BlockingIOError):
            self.shown += os.read(self._file, 4096).decode("latin-1")
        return self.shown.rstrip(" ")


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    directory = tmp_path_factory.mktemp("factory")
    links = [(n, n + 1, n + 1, n + 1) for n in range(len(ALL) - 1)]
    process.up(Order(fabric(len(ALL), links, models=ALL), TEMPLATES), directory)
    process.keep(directory)
    yield directory
    process.down(directory)


@pytest.fixture
def factory(rack):
    """Return a rack whose switches all lost their configurations."""
    process.restore(rack)
    for number in range(len(ALL)):
        process.fault(rack, f"s{number}", "factory")
    return rack


def login(directory, number, user, password, info=None):
    """Log in over SSH by the keys of an inventory, and return the running configuration."""
    port = (info or process.read_info(directory)).ports[f"s{number}"]
    known = str(directory / "known_hosts")
    access = Access("127.0.0.1", port, user, password, known_hosts=known, fast_cli=True)
    with connect(f"s{number}", platforms.load(ALL[number]), access) as connection:
        if isinstance(connection, LinuxSwitch):
            connection.send(["id ops >/dev/null 2>&1"])
            return "".join(f"{path} {connection._request(f'cat {path}')}\n" for path in LASTING)
        return connection.running_configuration()


@pytest.mark.parametrize("number", range(len(MODELS)), ids=MODELS)
def test_from_the_factory_only_a_console_gets_in_until_it_has_said_who_may(factory, number):
    with pytest.raises(DeviceError):
        login(factory, number, "lab", "lab")
    assert "hostname" not in process.configurations(factory)[f"s{number}"]
    line = Line(factory, f"s{number}", ["telnet", "serial"][number % 2])
    assert "User" not in line.type("", "console>")
    line.type("enable", "console#")
    line.type("configure", "(config)#")
    for each in [*(GLOBAL_ADDRESS if MODELS[number] == "powerconnect-6248" else ADDRESS), *USER]:
        line.type(each, ")#")
    assert "username ops" in login(factory, number, "ops", "first-day")
    with pytest.raises(DeviceError, match="refused for user 'ops'"):
        login(factory, number, "ops", "lab")
    line.type("exit", "console#")
    saved = line.type("copy running-config startup-config", "?" if number < 2 else ")")
    assert "(" in saved
    line.type("y", "console#")
    process.reboot(factory, f"s{number}")
    assert "username ops" in login(factory, number, "ops", "first-day")
    line = Line(factory, f"s{number}", "serial")
    line.type("", ":")
    line.type("ops", "Password:")
    line.type("wrong", ":")
    assert "failed" in line.shown
    line.type("ops", "Password:")
    line.type("first-day", "console>")


def test_delete_startup_config_and_reload_lead_there_too_and_a_lab_can_be_restored(rack):
    process.restore(rack)
    line = Line(rack, "s0", "telnet")
    line.type("", "User Name:")
    line.type("lab", "Password:")
    line.type("lab", ">")
    line.type("enable", "#")
    line.type("delete startup-config", "(y/n)")
    line.type("y", "#")
    assert "watchtower" in process.configurations(rack)["s0"]
    line.type("reload", "(y/n)")
    os.write(line._file, b"y\r")
    until(lambda: "watchtower" not in process.configurations(rack)["s0"])
    with pytest.raises(DeviceError):
        login(rack, 0, "lab", "lab")
    process.restore(rack)
    assert "watchtower" in login(rack, 0, "lab", "lab")


def test_the_command_says_where_consoles_are(rack, capsys):
    assert main(["lab", "console", "s1", "--dir", str(rack)]) == 0
    shown = capsys.readouterr().out
    assert all(each in shown for each in process.console(rack, "s1").values())


# --- bootstrap: from the factory to the inventory's login -------------------------------------------------------------


def site(rack, place, password="first-day-9"):  # noqa: S107 - of a rack on loopback
    """Make an inventory of the rack's switches whose user is to be made, and who has no host keys yet."""
    place.mkdir()
    for name in ("fabric.yml", "tagloom.yml", "snmp.yml"):
        shutil.copy(rack / name, place / name)
    variables = yaml.safe_load((rack / "group_vars/all.yml").read_text())
    variables |= {
        "ansible_user": "ops",
        "ansible_password": password,
        "tagloom_known_hosts": str(place / "known_hosts"),
    }
    (place / "group_vars").mkdir()
    (place / "group_vars/all.yml").write_text(yaml.safe_dump(variables))
    return place


def bootstrap(capfd, place, *words, expect=0):
    """Run the command on an inventory; return its answer, with what it said besides."""
    command = ["bootstrap", str(place / "fabric.yml"), "--network", "127.0.0.0/8", *map(str, words), "--json"]
    status = main(command)
    shown = capfd.readouterr()
    assert status == expect, shown
    assert "first-day" not in shown.out + shown.err
    return json.loads(shown.out) | {"said": shown.err}


def lines_of(rack, number, kind):
    return [f"--{kind}", process.console(rack, f"s{number}")[kind]]


SECRETS = ("first-day-9", "lab-auth-password", "lab-priv-password")


def assert_logged(place, number, over):
    """Hold the log to what was typed at a console last: who, where, every line, and no secret."""
    entry = sent_log(place / "runs", 1)[0]
    by = f"{getpass.getuser()}@{socket.gethostname()}"
    assert (entry["by"], entry["kind"], entry["state"], entry["note"]) == (by, "typed", "done", over)
    assert entry["command"] == f"tagloom bootstrap {place}/fabric.yml"
    (row,) = entry["switches"]
    assert (row["switch"], row["sent"], row["error"]) == (f"s{number}", len(row["lines"]), "")
    assert "ops" in str(row["lines"])
    assert "<hidden>" in str(row["lines"])
    kept = b"".join(path.read_bytes() for path in (place / "runs").glob("journal.db*"))
    assert b"ops" in kept
    assert not [secret for secret in SECRETS if secret.encode() in kept]


KINDS = [(number, kind) for number in range(len(ALL)) for kind in ("serial", "telnet")]


@pytest.mark.parametrize(("number", "kind"), few(KINDS, 0, 7, 13), ids=str)  # all grammars' roots, both wires
def test_bootstrap_brings_a_switch_from_the_factory_to_the_inventorys_login(factory, number, kind, tmp_path, capfd):
    place = site(factory, tmp_path / "site")
    page = bootstrap(capfd, place, "--switch", f"s{number}", *lines_of(factory, number, kind))
    assert (page["configured"], page["enrolled"]) == ([f"s{number}"], [f"s{number}"])
    assert page["known_hosts"] == str(place / "known_hosts")
    text = login(place, number, "ops", "first-day-9", process.read_info(factory))
    assert re.search(
        rf"(hostname|sysname) s{number}\b|identity set name=s{number}\b|^/etc/hostname s{number}$", text, re.MULTILINE
    )
    of_snmp = r"snmp-server user lab tagloom (auth-sha|v3 auth sha)|name=lab security=private"
    of_snmp += '|usm-user v3 lab (group )?tagloom|createUser lab SHA "'
    assert re.search(of_snmp, text)
    assert "lldp" in text
    process.reboot(factory, f"s{number}")
    assert login(place, number, "ops", "first-day-9", process.read_info(factory)) == text, "it was saved"
    assert_logged(place, number, " ".join(lines_of(factory, number, kind))[2:])
    telnet = ["--telnet", process.console(factory, f"s{number}")["telnet"]]
    page = bootstrap(capfd, place, "--switch", f"s{number}", *telnet)
    assert page["enrolled"] == [], "a second time it logs in, types the same, and knows the key"
    again = login(place, number, "ops", "first-day-9", process.read_info(factory))
    shown = [sorted(line for line in each.splitlines() if "createUser" not in line) for each in (again, text)]
    assert shown[0] == shown[1], "and nothing is twice"  # but what snmpd takes out as it starts


def test_a_console_of_another_model_is_typed_nothing_that_changes_it(factory, tmp_path, capfd):
    place = site(factory, tmp_path / "site")
    page = bootstrap(capfd, place, "--switch", "s1", *lines_of(factory, 2, "telnet"), expect=2)
    (found,) = page["findings"]
    assert "powerconnect-5548" in found["expected"]
    assert "6248" in found["actual"]
    line = Line(factory, "s2", "telnet")
    line.type("enable", "console#")
    assert "ops" not in line.type("show running-config", "console#")


CLEAR = "console   s{} over telnet {}: passwords go there in clear"


@pytest.mark.parametrize("command", daily(["bootstrap", "record"], 0))
def test_telnet_is_named_with_what_it_shows_to_all_who_listen(factory, command, tmp_path, capfd):
    place = site(factory, tmp_path / "site")
    for kind in ("telnet", "serial"):
        line = lines_of(factory, 0, kind)
        if command == "bootstrap" or kind == "telnet":
            said = bootstrap(capfd, place, "--switch", "s0", *line)["said"]
        if command == "record":
            assert main(["record", "s0", "-i", str(place), "-o", str(tmp_path / "s0.json"), *line]) == 0
            said = capfd.readouterr().err
        wording = {"telnet": CLEAR.format(0, line[1]), "serial": f"console   s0 over serial {line[1]}"}
        assert wording[kind] in said.splitlines()


def test_a_switch_of_every_family_that_has_a_console_is_tried():
    """So "every family" stays true when one is added: its lines must be tried here, both ways."""
    known = [platforms.load(model) for model in platforms.models()]
    assert {platform.grammar for platform in known if platform.has_first_contact} == {
        platforms.load(model).grammar for model in ALL
    }
    assert {(ALL[number], kind) for number, kind in KINDS} == {(m, k) for m in ALL for k in ("serial", "telnet")}


# What the inventory must say of a console besides, where it can be talked to then.
SAID = {"loses-some-typed": {"tagloom_careful": True}, "loses-some-shown": {"tagloom_echo": False}}
# A switch from its factory has no user to be asked for, or whose password enable could want.
OF_USERS = {name for name, manner in MANNERS.items() if manner.asks_to_enable or dict(manner.asks).get("Password:")}
FIRST_MANNERS = [name for name in MANNERS if name not in OF_USERS | {"asks-small"}]
DAILY = FIRST_MANNERS.index("loses-some-typed")


@pytest.mark.daily
@pytest.mark.parametrize("name", few(FIRST_MANNERS, DAILY))
def test_a_new_switch_whose_console_has_any_manners_is_brought_to_its_login(factory, name, tmp_path, capfd):
    """Characters that a slow console drops are noticed: each line is looked at before Return."""
    place, number = site(factory, tmp_path / "site"), 2 * (FIRST_MANNERS.index(name) % 2)  # ROS, FASTPATH
    path = place / "group_vars/all.yml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | SAID.get(name, {})))
    process.manner(factory, f"s{number}", name)
    try:
        kind = ["serial", "telnet"][FIRST_MANNERS.index(name) % 2]
        page = bootstrap(capfd, place, "--switch", f"s{number}", *lines_of(factory, number, kind))
        assert page["configured"] == [f"s{number}"]
    finally:
        process.manner(factory, f"s{number}")
    text = login(place, number, "ops", "first-day-9", process.read_info(factory))
    wanted = bootstrap(capfd, place, "-o", tmp_path / "out", "--secrets")["written"]
    typed = Path(next(path for path in wanted if path.endswith(f"/s{number}.txt"))).read_text().splitlines()
    shown = {line.strip() for line in text.splitlines()}
    for line in typed:
        if line.split()[0] in ("hostname", "ip", "lldp", "snmp-server"):
            assert line in shown or line.startswith(("ip ssh", "snmp-server user", "snmp-server engineID")), line


@pytest.mark.daily
@pytest.mark.parametrize("left_in", ["system-view", "interface GigabitEthernet1/0/3"])
def test_a_comware_console_that_was_left_in_a_view_is_led_out_of_it(factory, left_in, tmp_path, capfd):
    place, number = site(factory, tmp_path / "site"), ALL.index(COMWARE)
    line = Line(factory, f"s{number}", "serial")
    line.type("", ">")
    line.type("system-view", "]")
    if left_in != "system-view":
        line.type(left_in, "]")
    page = bootstrap(capfd, place, "--switch", f"s{number}", *lines_of(factory, number, "serial"))
    assert page["configured"] == [f"s{number}"]


@pytest.fixture
def own_key(tmp_path):
    """Make an RSA key of the operator's, as ssh-keygen writes it."""
    key = paramiko.RSAKey.generate(2048)
    key.write_private_key_file(tmp_path / "id_rsa")
    (tmp_path / "id_rsa.pub").write_text(f"ssh-rsa {key.get_base64()} ops@here\n")
    return tmp_path / "id_rsa"


def key_login(directory, number, key, password, info):
    known = str(directory / "known_hosts")
    access = Access(
        "127.0.0.1", info.ports[f"s{number}"], "ops", password, known_hosts=known, fast_cli=True, key_file=str(key)
    )
    with connect(f"s{number}", platforms.load(ALL[number]), access) as connection:
        return connection.running_configuration()


CISCOS = [number for number in range(len(ALL)) if ALL[number].startswith("cisco")]


@pytest.mark.parametrize("number", few([*CISCOS, *range(len(MODELS))], 2), ids=lambda number: ALL[number])
def test_a_key_of_the_operators_logs_in_besides_the_password(factory, number, tmp_path, own_key, capfd):
    place = site(factory, tmp_path / "site")
    words = ["--switch", f"s{number}", *lines_of(factory, number, "serial"), "--user-key", f"{own_key}.pub"]
    bootstrap(capfd, place, *words)
    info = process.read_info(factory)
    text = key_login(place, number, own_key, "first-day-9", info)
    assert "crypto key pubkey-chain ssh" in text
    if number in CISCOS:  # "auto-login": nothing else is asked
        assert key_login(place, number, own_key, "", info) == text
        other = paramiko.RSAKey.generate(2048)
        other.write_private_key_file(tmp_path / "other")
        with pytest.raises(DeviceError, match="refused"):
            key_login(place, number, tmp_path / "other", "wrong", info)
    assert login(place, number, "ops", "first-day-9", info) == text
    process.reboot(factory, f"s{number}")
    assert key_login(place, number, own_key, "first-day-9", info) == text, "it was saved"


def test_the_key_that_an_inventory_logs_in_with_is_written_without_being_named(rack, tmp_path, own_key, capfd):
    place, out = site(rack, tmp_path / "site"), tmp_path / "out"
    bootstrap(capfd, place, "-o", out)
    assert "pubkey" not in (out / "s0.txt").read_text()
    variables = yaml.safe_load((place / "group_vars/all.yml").read_text())
    variables["ansible_ssh_private_key_file"] = str(own_key)
    (place / "group_vars/all.yml").write_text(yaml.safe_dump(variables))
    bootstrap(capfd, place, "-o", out)
    rows = re.findall("key-string row (.*)", (out / "s0.txt").read_text())
    assert "".join(rows) == Path(f"{own_key}.pub").read_text().split()[1]
    assert max(map(len, rows)) <= 40


def test_a_user_key_that_is_none_is_told_with_all_else(rack, tmp_path, capfd):
    place, out = site(rack, tmp_path / "site"), tmp_path / "out"
    (tmp_path / "id_ed25519.pub").write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA ops@here\n")
    (tmp_path / "torn.pub").write_text("ssh-rsa AAAAB3Nz!\n")
    for name, words in (("id_ed25519.pub", "ssh-ed25519"), ("torn.pub", "ssh-rsa"), ("none.pub", "")):
        page = bootstrap(capfd, place, "-o", out, "--switch", "s99", "--user-key", tmp_path / name, expect=2)
        assert [each["where"] for each in page["findings"]] == ["--switch", "--user-key"]
        assert words in page["findings"][1]["actual"]
    assert not out.exists()


@pytest.mark.parametrize("number", few(CISCOS, 0), ids=lambda number: ALL[number])
def test_a_user_of_the_factory_who_still_gets_in_is_named_with_what_removes_them(factory, number, tmp_path, capfd):
    place, name = site(factory, tmp_path / "site"), f"s{number}"
    words = ["--switch", name, *lines_of(factory, number, "telnet")]
    assert bootstrap(capfd, place, *words)["factory_user"] == "", "where making another one removes them"
    process.quirks(factory, {name: {"keeps_factory": True}})
    assert bootstrap(capfd, place, *words)["factory_user"] == "cisco"
    command = ["bootstrap", str(place / "fabric.yml"), "--network", "127.0.0.0/8", *words]
    assert main(command) == 0
    shown = capfd.readouterr().out
    assert f"{name} still lets cisco in" in shown
    assert "no username cisco" in shown
    line = Line(factory, name, "serial")
    for typed, then in (
        ("", ":"),
        ("ops", "Password:"),
        ("first-day-9", ">"),
        ("enable", "#"),
        ("configure", "(config)#"),
    ):
        line.type(typed, then)
    line.type("no username cisco", "(config)#")
    line.type("exit", "#")
    assert bootstrap(capfd, place, *words)["factory_user"] == ""


RACK = len(ALL) - 1  # the number of RouterOS's switch


def secrets_of_first_login(capfd, factory, tmp_path, *words, expect=0):
    """Bootstrap RouterOS's switch over its serial line; return the site, and the command's answer."""
    tmp_path.mkdir(exist_ok=True)
    place = site(factory, tmp_path / "site")
    words = ["--switch", f"s{RACK}", *lines_of(factory, RACK, "serial"), *words]
    return place, bootstrap(capfd, place, *words, expect=expect)


def admin_gets_in(factory, place, password):
    port = process.read_info(factory).ports[f"s{RACK}"]
    access = Access("127.0.0.1", port, "admin", password, known_hosts=str(place / "known_hosts"), fast_cli=True)
    try:
        with connect(f"s{RACK}", platforms.load(ROUTEROS), access):
            return True
    except DeviceError:
        return False


def test_routeros_admin_takes_the_inventorys_password_and_the_fabrics_ports_leave_the_factorys_bridge(
    factory, tmp_path, capfd
):
    place, page = secrets_of_first_login(capfd, factory, tmp_path)
    assert page["factory_user"] == ""
    assert admin_gets_in(factory, place, "first-day-9")
    assert not admin_gets_in(factory, place, "")
    text = process.configurations(factory)[f"s{RACK}"]
    left = re.findall(r"bridge port add bridge=bridge .*interface=(\S+)", text)
    platform, used = platforms.load(ROUTEROS), read_fabric(place / "fabric.yml").used_ports[RACK]
    assert left == [name for port, name in enumerate(platform.port_names, start=1) if port not in used]
    assert "192.168.88.1/24" in text, "what somebody may be logged in through stays"


def test_routeros_with_a_password_printed_on_the_box_is_let_in_by_that(factory, tmp_path, capfd, monkeypatch):
    process.quirks(factory, {f"s{RACK}": {"printed": "QX7WLD0PZ2"}})
    process.fault(factory, f"s{RACK}", "factory")
    _, page = secrets_of_first_login(capfd, factory, tmp_path, expect=3)
    assert "TAGLOOM_FACTORY_PASSWORD" in str(page)
    monkeypatch.setenv("TAGLOOM_FACTORY_PASSWORD", "QX7WLD0PZ2")
    _, page = secrets_of_first_login(capfd, factory, tmp_path / "again")
    assert page["configured"] == [f"s{RACK}"]
    process.quirks(factory, {f"s{RACK}": {"printed": ""}})


@pytest.mark.daily
def test_routeros_whose_console_was_left_logged_in_keeps_its_factorys_user_and_that_is_said(factory, tmp_path, capfd):
    line = Line(factory, f"s{RACK}", "serial")
    for typed, then in (("", "Login:"), ("admin", "Password:"), ("", "[Y/n]:"), ("n", "password>")):
        line.type(typed, then)
    line.type("\x03", ">")
    place, page = secrets_of_first_login(capfd, factory, tmp_path)
    assert page["factory_user"] == "admin"
    assert admin_gets_in(factory, place, "")
    words = ["--network", "127.0.0.0/8", "--switch", f"s{RACK}", *lines_of(factory, RACK, "telnet")]
    assert main(["bootstrap", str(place / "fabric.yml"), *words]) == 0
    assert f"on s{RACK}: /user disable admin" in capfd.readouterr().out


@pytest.mark.daily
def test_routeros_lets_a_user_with_a_key_in_by_that_alone(factory, tmp_path, own_key, capfd):
    place = site(factory, tmp_path / "site")
    variables = yaml.safe_load((place / "group_vars/all.yml").read_text())
    variables["ansible_ssh_private_key_file"] = str(own_key)
    (place / "group_vars/all.yml").write_text(yaml.safe_dump(variables))
    bootstrap(capfd, place, "--switch", f"s{RACK}", *lines_of(factory, RACK, "telnet"))
    info = process.read_info(factory)
    text = key_login(place, RACK, own_key, "", info)
    assert "identity" in text
    with pytest.raises(DeviceError, match="refused"):
        login(place, RACK, "ops", "first-day-9", info)
    process.reboot(factory, f"s{RACK}")
    assert key_login(place, RACK, own_key, "", info) == text, "it keeps each line as it takes it"


def test_a_line_that_routeros_refuses_ends_it_without_a_secret(factory, tmp_path, capfd):
    process.quirks(factory, {f"s{RACK}": {"reject_line": "snmp community"}})
    _, page = secrets_of_first_login(capfd, factory, tmp_path, expect=3)
    process.quirks(factory, {f"s{RACK}": {"reject_line": ""}})
    assert "failure: not permitted" in str(page)
    assert "lab-auth-password" not in str(page)


SHELL = ALL.index(LINUX)  # the number of the Linux machine


@pytest.mark.daily
def test_a_linux_machines_key_logs_in_besides_its_password_and_lasts(factory, tmp_path, own_key, capfd):
    place = site(factory, tmp_path / "site")
    words = ["--switch", f"s{SHELL}", *lines_of(factory, SHELL, "telnet"), "--user-key", f"{own_key}.pub"]
    bootstrap(capfd, place, *words)
    info = process.read_info(factory)
    assert "swp1" in key_login(place, SHELL, own_key, "", info)
    login(place, SHELL, "ops", "first-day-9", info)
    process.reboot(factory, f"s{SHELL}")
    assert "swp1" in key_login(place, SHELL, own_key, "", info)
    with pytest.raises(DeviceError):
        login(place, SHELL, "root", "", info)


@pytest.mark.daily
def test_a_linux_machine_whose_root_has_a_password_is_let_in_by_that(factory, tmp_path, capfd, monkeypatch):
    line = Line(factory, f"s{SHELL}", "serial")
    for typed, then in (
        ("", "login:"),
        ("root", "#"),
        ("printf '%s\\n' root:installed | chpasswd", "#"),
        ("exit", ":"),
    ):
        line.type(typed, then)
    place = site(factory, tmp_path / "site")
    words = ["--switch", f"s{SHELL}", *lines_of(factory, SHELL, "serial")]
    page = bootstrap(capfd, place, *words, expect=3)
    assert "TAGLOOM_FACTORY_PASSWORD" in str(page)
    monkeypatch.setenv("TAGLOOM_FACTORY_PASSWORD", "installed")
    assert bootstrap(capfd, place, *words)["configured"] == [f"s{SHELL}"]


@pytest.mark.parametrize("refused", ["chpasswd", "createUser"])
def test_a_line_that_a_linux_machine_refuses_ends_it_without_a_secret(factory, refused, tmp_path, capfd):
    place = site(factory, tmp_path / "site")
    process.quirks(factory, {f"s{SHELL}": {"reject_line": refused}})
    page = bootstrap(capfd, place, "--switch", f"s{SHELL}", *lines_of(factory, SHELL, "serial"), expect=3)
    (row,) = sent_log(place / "runs", 1)[0]["switches"]
    assert (row["state"], refused in row["lines"][row["sent"]]) == ("failed", True)
    assert "Operation not permitted" in row["error"]
    process.quirks(factory, {f"s{SHELL}": {"reject_line": ""}})
    assert "Operation not permitted" in str(page)
    assert not any(secret in str(page) for secret in ("first-day", "lab-auth-password", "lab-priv-password"))


@pytest.mark.parametrize("version", ["3", "2c", ""])
@pytest.mark.parametrize("user", ["ops", "root"])
def test_a_linux_machines_first_lines_mean_to_a_real_shell_what_they_say(version, user, tmp_path):
    password, word = r"a'b$HOME\`x`%s|&;#9", "p`w$1\\'2"
    snmp = Credentials(version, "lab", auth_password=word, priv_password=word, community=word) if version else None
    contact = FirstContact("192.0.2.9", "255.255.255.0", user, password, "192.0.2.1", "AAAA" * 9, snmp, device="eno1")
    lines = first_contact_lines(Switch("s0", LINUX), (1, 2), contact, TEMPLATES)
    said = {}
    for line in lines:
        real = line.replace("~ops", f"{tmp_path}/home").replace("~root", f"{tmp_path}/home")
        command, _, path = real.partition(" > ") if " >> " not in real else real.partition(" >> ")
        subprocess.run(["/bin/sh", "-n", "-c", real], check=True)
        if command.startswith("printf"):
            real = command.replace("| chpasswd", "| cat")
            said[path or "chpasswd"] = subprocess.run(["/bin/sh", "-c", real], check=True, capture_output=True).stdout
    assert said["chpasswd"].decode() == f"{user}:{password}\n"
    assert said["/etc/tagloom/address.sh"].decode().splitlines() == [
        "#!/bin/sh",
        "ip link set dev eno1 up",
        "ip address replace 192.0.2.9/24 dev eno1",
        "ip route replace default via 192.0.2.1 dev eno1",
    ]
    if version:
        kept = said["/etc/snmp/snmpd.conf.d/tagloom.conf"].decode() + said.get("/var/lib/snmp/snmpd.conf", b"").decode()
        last = f'createUser lab SHA "{word}" AES "{word}"' if version == "3" else f"rocommunity {word}"
        assert kept.splitlines()[-1] == last
    assert not any(scrub(line).count(secret) for line in lines for secret in (password, word) if user == "ops")


def test_what_a_linux_machine_cannot_be_told_is_said_beforehand(rack, tmp_path, capfd):
    place = site(rack, tmp_path / "site")
    words = ["-o", tmp_path / "out", "--user", "Ops.9", "--device", "eth 0"]
    page = bootstrap(capfd, place, *words, expect=2)
    assert [each["where"] for each in page["findings"]] == ["--device"]
    page = bootstrap(capfd, place, *words[:4], expect=2)
    assert [each["where"] for each in page["findings"]] == [f"s{SHELL}: ansible_user"]
    bootstrap(capfd, place, *words[:2], "--device", "eno1")
    assert "ip address replace 127.0.0.1/8 dev eno1" in (tmp_path / "out" / f"s{SHELL}.txt").read_text()


def test_snmp_that_routeros_has_not_is_told_beforehand(rack, tmp_path, capfd):
    place = site(rack, tmp_path / "site")
    text = (place / "snmp.yml").read_text()
    (place / "snmp.yml").write_text(text + "auth_protocol: SHA-256\npriv_protocol: AES-256\n")
    page = bootstrap(capfd, place, "-o", tmp_path / "out", expect=2)
    assert [each["where"] for each in page["findings"]] == [
        f"s{RACK}: snmp auth_protocol",
        f"s{RACK}: snmp priv_protocol",
    ]
    assert not (tmp_path / "out").exists()


def test_another_key_than_the_enrolled_one_is_refused_with_the_command_that_takes_it(factory, tmp_path, capfd):
    place = site(factory, tmp_path / "site")
    port = process.read_info(factory).ports["s0"]
    other = paramiko.RSAKey.generate(2048)
    (place / "known_hosts").write_text(f"[127.0.0.1]:{port} {other.get_name()} {other.get_base64()}\n")
    page = bootstrap(capfd, place, "--switch", "s0", *lines_of(factory, 0, "serial"), expect=2)
    (finding,) = page["findings"]
    assert "1 finding; the lines of s0 were typed" in page["said"]
    assert f"ssh-keygen -R '[127.0.0.1]:{port}' -f {place}/known_hosts" in finding["actual"]


def test_what_is_pasted_has_no_password_unless_it_is_asked_for(rack, tmp_path, capfd):
    place, out = site(rack, tmp_path / "site"), tmp_path / "out"
    page = bootstrap(capfd, place, "-o", out)
    assert sorted(page["written"]) == sorted(
        map(str, [*(out / f"s{n}.txt" for n in range(len(ALL))), out / "labels.html"])
    )
    for number in range(len(ALL) - 1):
        text = (out / f"s{number}.txt").read_text()
        says = f"username ops password {PASSWORD} {'level' if number < len(MODELS) else 'privilege'} 15"
        of_others = {COMWARE: f"password simple {PASSWORD}", HUAWEI: f"irreversible-cipher {PASSWORD}"}
        says = (of_others | {LINUX: f"printf '%s\\n' 'ops:{PASSWORD}' | chpasswd\n"}).get(ALL[number], says)
        assert says in text
        assert "first-day" not in text
        assert "lab-auth-password" not in text
        saves = {COMWARE: "save force\n", HUAWEI: "\nsave\n", LINUX: "systemctl restart lldpd\n"}
        assert text.endswith(saves.get(ALL[number], "copy running-config startup-config\n"))
    text = (out / f"s{len(ALL) - 1}.txt").read_text()
    assert f'/user add name="ops" group=full password="{PASSWORD}"' in text
    assert "first-day" not in text
    assert "lab-auth-password" not in text
    labels = (out / "labels.html").read_text()
    assert labels.count("<section>") == len(ALL)
    assert "<td>s0:g1</td><td>s1</td>" in labels
    bootstrap(capfd, place, "-o", tmp_path / "secret", "--secrets")
    path = tmp_path / "secret" / "s0.txt"
    assert "username ops password first-day-9 level 15" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_wrong_is_told_at_once_and_nothing_is_written(rack, tmp_path, capfd):
    place, out = site(rack, tmp_path / "site", password="two words"), tmp_path / "out"
    words = ["-o", out, "--serial", "/dev/null", "--network", "10.0.0.0/8", "--gateway", "192.0.2.1", "--switch", "s99"]
    page = bootstrap(capfd, place, *words, expect=2)
    assert [each["where"] for each in page["findings"]] == ["--gateway", "bootstrap", "--switch"]
    page = bootstrap(capfd, place, "-o", out, "--network", "10.0.0.0/8", expect=2)
    assert [each["where"] for each in page["findings"]] == [f"switches.s{n}.address" for n in range(len(ALL))]
    page = bootstrap(capfd, place, "-o", out, "--secrets", expect=2)
    assert "two words" not in str(page)
    assert not out.exists()
    page = bootstrap(capfd, place, "--switch", "s0", "--telnet", "127.0.0.1:1", expect=2)
    assert page["findings"][0]["where"] == "s0: ansible_password"
