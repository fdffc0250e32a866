"""tagloom observe on a running rack: keys, history, rates, a second witness, Prometheus, exit statuses."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request

import netmiko
import pytest
import yaml

from command_line.terminal import HEARS_INTERRUPTS
from fabrics import ROOT
from loopback import served, switch
from tagloom.cli import main
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.read import read_fabric
from tagloom.records.switch_state import SwitchEditor
from waiting import until


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Give the directory of a running rack of four switches of both families, with a build applied."""
    home = tmp_path_factory.mktemp("observe")
    path = home / "f.yml"
    shape = "shape: {family: ring, dims: [4], parallel: 2}\nswitches: {s1: {model: powerconnect-6224}}\n"
    path.write_text(f"name: four\nmodel: powerconnect-5324\n{shape}")
    process.up(Order(read_fabric(path), ROOT / "templates"), home / "lab")
    with contextlib.redirect_stdout(None):
        assert main(["plan", str(path), "-o", str(home / "build")]) == 0
        assert main(["apply", str(home / "build"), "-i", str(home / "lab"), "--allow", "interrupt"]) == 0
    yield home
    process.down(home / "lab")


def observe(answer, site, *words):
    return answer("observe", "-i", site / "lab", *words)


def console(site, name, *lines):
    info = process.read_info(site / "lab")
    with netmiko.ConnectHandler(
        device_type="dell_powerconnect", host="127.0.0.1", port=info.ports[name], username="lab", password="lab"
    ) as session:
        session.send_config_set([*lines, "exit"])


def test_counters_become_rates_in_the_history(site, answer, tmp_path):
    file = tmp_path / "h.db"
    status, first = observe(answer, site, "-o", file)
    assert (status, first["failed"], first["findings"], first["rates"]) == (0, [], [], {})
    assert {"at", "switches", "rates", "failed", "findings", "snapshots", "wrote"} == set(first)
    answer("lab", "ping", "--dir", site / "lab")
    status, second = observe(answer, site, "-o", file)
    shown = second["switches"]["s1"]
    assert (shown["object_id"], shown["name"], shown["complaints"]) == ("1.3.6.1.4.1.674.10895.3010", "s1", [])
    assert shown["ports"][0]["name"] == "1/g1"
    assert len(shown["ports"]) == 32
    assert [n["name"] for n in shown["neighbours"]] == ["s0", "s0", "s2", "s2"]
    carried = {port["name"]: port["in_bps"] for port in second["rates"]["s1"]["ports"]}
    assert carried["1/g5"] > 0
    assert carried["1/g9"] == 0
    with contextlib.closing(sqlite3.connect(file)) as history:
        assert history.execute("SELECT count(*) FROM snapshot").fetchone() == (2,)
        assert history.execute("SELECT count(*) FROM port").fetchone() == (2 * 4 * 32,)


def test_both_versions_and_both_witnesses_agree_with_the_build(site, answer):
    for words in ([], ["--snmp-version", "2c"]):
        status, page = observe(answer, site, "--against", site / "build", *words)
        assert (status, page["findings"]) == (0, [])
    status, page = observe(answer, site, "--running")
    assert (status, page["findings"]) == (0, [])


@pytest.mark.daily
@pytest.mark.slow
def test_a_link_that_was_shut_by_hand_is_named_by_both_ends(site, answer):
    console(site, "s0", "interface ethernet g1", "shutdown", "exit")
    try:
        status, page = observe(answer, site, "--against", site / "build")
        assert status == 1
        (found,) = page["findings"]
        assert found["where"] == "s3:g3 - s0:g1"
        assert (found["expected"], found["actual"]) == ("up", "down over SNMP")
    finally:
        console(site, "s0", "interface ethernet g1", "no shutdown", "exit")
    assert observe(answer, site, "--against", site / "build")[0] == 0


@pytest.mark.slow
def test_a_hand_on_the_console_is_found_by_snmp_alone(site, answer):
    console(site, "s0", "interface ethernet g5", "switchport general pvid 1", "exit")
    try:
        status, page = observe(answer, site, "--against", site / "build")
        assert status == 1
        assert [f["where"] for f in page["findings"]] == ["s0: g5 PVID"]
        assert page["findings"][0]["actual"] == "1 over SNMP"
        assert observe(answer, site, "--running")[0] == 0  # the command line says the same as SNMP
    finally:
        with contextlib.redirect_stdout(None):
            main(["apply", str(site / "build"), "-i", str(site / "lab"), "--drift", "overwrite"])


def test_where_command_line_and_q_bridge_disagree_it_is_a_finding(site, answer, tmp_path):
    """s0's agent is another one, which shows the same switch but for one PVID."""
    from tagloom import platforms  # noqa: PLC0415
    from tagloom.render import parse_configuration  # noqa: PLC0415

    text = process.configurations(site / "lab")["s0"]
    editor = SwitchEditor.of(parse_configuration(platforms.load("powerconnect-5324"), text).state)
    editor.set_pvid(5, 1)
    _, agent = switch(state=editor.freeze())
    settings = yaml.safe_load((site / "lab" / "snmp.yml").read_text())
    with served(agent) as [(host, port)]:
        settings["addresses"]["s0"] = f"{host}:{port}"
        (tmp_path / "snmp.yml").write_text(yaml.safe_dump(settings))
        status, page = observe(answer, site, "--running", "--snmp", tmp_path / "snmp.yml")
    assert status == 1
    assert [f["where"] for f in page["findings"]] == ["s0: g5 PVID"]


@contextlib.contextmanager
def factory_agent(site, tmp_path):
    """Let s0's agent show factory values, whatever the switch runs; yield the words that ask it."""
    _, agent = switch()
    settings = yaml.safe_load((site / "lab" / "snmp.yml").read_text())
    with served(agent) as [(host, port)]:
        settings["addresses"]["s0"] = f"{host}:{port}"
        (tmp_path / "snmp.yml").write_text(yaml.safe_dump(settings))
        yield ["--snmp", tmp_path / "snmp.yml"]


def of_vlans(page):
    """Return what was found of s0's VLANs: the other agent knows nothing of its cables."""
    return [f for f in page["findings"] if f["where"].startswith("s0: ")]


@pytest.mark.slow
def test_an_agent_that_shows_factory_values_is_judged_by_its_command_line(site, answer, tmp_path):
    with factory_agent(site, tmp_path) as words:
        for witness in (["--against", site / "build"], ["--running"]):
            _, page = observe(answer, site, *witness, *words)
            assert of_vlans(page) == []
            assert "judged by the command line" in page["switches"]["s0"]["complaints"][-1]
        console(site, "s0", "interface ethernet g5", "switchport general pvid 1", "exit")
        try:
            status, page = observe(answer, site, "--against", site / "build", *words)
        finally:
            with contextlib.redirect_stdout(None):
                main(["apply", str(site / "build"), "-i", str(site / "lab"), "--drift", "overwrite"])
    assert status == 1
    (found,) = of_vlans(page)
    assert (found["where"], found["actual"]) == ("s0: g5 PVID", "1 on the command line")


def test_factory_values_and_no_command_line_are_a_finding(site, answer, tmp_path):
    with factory_agent(site, tmp_path) as words:
        process.fault(site / "lab", "s0", "refuse-login", after=0.0, at=0)
        try:
            status, page = observe(answer, site, "--against", site / "build", *words)
        finally:
            process.mend(site / "lab", "s0")
    assert status == 1
    assert any(
        found["where"] == "s0: VLANs" and "the command line of s0 cannot be read" in found["actual"]
        for found in page["findings"]
    )


def test_a_switch_that_does_not_answer_is_exit_3_and_the_others_are_read(site, answer):
    process.quirks(site / "lab", {"s2": {"mute": True}})
    try:
        status, page = observe(answer, site, "--timeout", 0.2, "--retries", 0)
    finally:
        process.quirks(site / "lab", {"s2": {"mute": False}})
    assert (status, page["failed"]) == (3, ["s2"])
    assert "no answer in 0.2 s" in page["switches"]["s2"]["error"]
    assert all(len(page["switches"][name]["ports"]) == 32 for name in ("s0", "s1", "s3"))


def test_wrong_keys_are_said_for_every_switch(site, answer, monkeypatch):
    monkeypatch.setenv("TAGLOOM_SNMP_PRIV_PASSWORD", "not-the-password")
    status, page = observe(answer, site)
    assert status == 3
    assert {s["error"] for s in page["switches"].values()} == {"wrong privacy password or protocol for user 'lab'"}


def test_bad_input_is_exit_2_with_every_finding(site, answer, tmp_path):
    (tmp_path / "snmp.yml").write_text("user: ''\naddresses: {s9: 192.0.2.1}\n")
    status, page = observe(answer, site, "--snmp", tmp_path / "snmp.yml")
    assert status == 2
    assert len(page["findings"]) == 3
    settings = yaml.safe_load((site / "lab" / "snmp.yml").read_text()) | {"addresses": {"s9": "192.0.2.1"}}
    (tmp_path / "snmp.yml").write_text(yaml.safe_dump(settings))
    status, page = observe(answer, site, "--snmp", tmp_path / "snmp.yml")
    assert (status, page["findings"][0]["where"]) == (2, "snmp.addresses.s9")
    assert observe(answer, site, "--every", "soon")[1]["findings"][0]["where"] == "--every"
    assert observe(answer, site, "--prometheus", "x:y")[1]["findings"][0]["where"] == "--metrics-port"
    assert answer("observe", "-i", tmp_path)[0] == 2
    status, page = observe(answer, site, "--in-flight", 0, "--timeout", -1, "--retries", -1)
    assert (status, [f["where"] for f in page["findings"]]) == (2, ["--in-flight", "--timeout", "--retries"])
    assert observe(answer, site, "--count", -1)[0] == 2
    status, page = observe(answer, site, "--count", 0, "--every", "soon", "--prometheus", "nine")[:2]
    assert (status, [each["where"] for each in page["findings"]]) == (2, ["--count", "--every", "--metrics-port"])
    words = ("discover", "-i", site / "lab", "--seed", "127.0.0.1:99999")
    assert answer(*words)[1]["findings"][0]["where"] == "--start"
    assert len(answer(*words, "--name", "a b", "--model", "pigeon")[1]["findings"]) == 2


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _snapshots(file):
    """Count what a history holds by now."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as history:
        return history.execute("SELECT count(*) FROM snapshot").fetchone()[0]


def test_it_runs_on_until_ctrl_c_and_prometheus_is_shown_each_reading(site, tmp_path):
    port, file = free_port(), tmp_path / "h.db"
    words = ["observe", "-i", site / "lab", "-o", file, "--every", "0.3s", "--prometheus", port, "--json"]
    running = subprocess.Popen(
        [*HEARS_INTERRUPTS, sys.executable, "-m", "tagloom.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        env=os.environ,
        text=True,
    )
    try:

        def scraped():
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
            return ""

        until(lambda: 'tagloom_switch_up{switch="s3"} 1.0' in scraped(), running)
        until(lambda: _snapshots(file) >= 2, running)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=30)
    finally:
        if running.poll() is None:
            running.kill()
    assert running.returncode == 0
    page = json.loads(out)
    assert page["snapshots"] >= 2
    assert page["rates"]["s0"]["why_none"] == ""
    with contextlib.closing(sqlite3.connect(file)) as history:
        assert history.execute("SELECT count(*) FROM snapshot").fetchone() == (page["snapshots"],)


def test_count_ends_it(site, answer):
    status, page = observe(answer, site, "--every", "0.1s", "--count", 3)
    assert (status, page["snapshots"]) == (0, 3)
