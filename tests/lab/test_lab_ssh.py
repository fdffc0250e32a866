"""Speak to the rack over SSH with netmiko's own drivers, and show the traps the drivers hold."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import netmiko
import paramiko
import pytest
from netmiko.exceptions import (
    ConfigInvalidException,
    NetmikoAuthenticationException,
    ReadTimeout,
)

from tagloom import platforms
from tagloom.lab import process
from tagloom.lab.console import LOCKED
from tagloom.platforms.grammar import Grammar

ERRORS = Grammar.of(platforms.load("powerconnect-5324")).error_pattern


# Conversations in which netmiko sleeps for seconds on end. Each has a switch of its own, and all run at once.


def netmikos_driver_for_ros_configures_shows_and_saves(rack, connect):
    whole_session(rack, connect("s3", "dell_powerconnect"), "s3", "g5", "Y")


def netmikos_driver_for_fastpath_configures_shows_and_saves(rack, connect):
    whole_session(rack, connect("s4", "dell_os6"), "s4", "1/g5", "y")


def whole_session(rack, connection, switch, port, yes):
    assert connection.find_prompt() == f"{switch}#"
    lines = ["vlan database", "vlan 10", "exit", f"interface ethernet {port}", "switchport mode general", "exit"]
    connection.send_config_set(lines, error_pattern=ERRORS)
    shown = connection.send_command("show running-config")
    assert "switchport mode general" in shown
    assert f"hostname {switch}" in shown
    assert shown.replace("\r", "").strip() == process.configurations(rack)[switch].strip()
    assert process.configurations(rack, startup=True)[switch] != process.configurations(rack)[switch]
    saved = connection.save_config(confirm=True, confirm_response=yes)
    assert re.search("Copy succeeded|Configuration Saved!", saved)
    assert process.configurations(rack, startup=True)[switch] == process.configurations(rack)[switch]
    connection.disconnect()


def a_sub_mode_looks_to_netmiko_like_no_configuration_mode(rack, connect):
    del rack
    connection = connect("s5", "dell_powerconnect")
    connection.send_command("configure", expect_string=r"\(config\)#")
    assert connection.check_config_mode() is True
    connection.send_command("interface ethernet g7", expect_string=r"\(config-if\)#")
    assert connection.check_config_mode() is False
    with pytest.raises(ValueError, match="Failed to enter configuration mode"):
        connection.config_mode()
    connection.send_command("exit", expect_string=r"\(config\)#")  # the handling: every batch ends with exit
    assert connection.check_config_mode() is True


def netmikos_save_does_not_answer_the_question_unless_told_to(rack, connect):
    connection = connect("s6", "dell_powerconnect", read_timeout_override=1)
    connection.send_command("configure", expect_string=r"\(config\)#")
    connection.send_command("hostname s6b", expect_string=r"\(config\)#")
    connection.send_command("hostname s6", expect_string=r"\(config\)#")
    connection.send_command("logging 192.0.2.253", expect_string=r"\(config\)#")
    connection.send_command("end", expect_string=r"s6#")
    with pytest.raises(ReadTimeout):
        connection.save_config()
    connection.write_channel("N\n")  # the question is still open
    connection.read_until_pattern(r"s6# ?$")
    assert "192.0.2.253" not in process.configurations(rack, startup=True)["s6"]
    assert "Copy succeeded" in connection.save_config(confirm=True, confirm_response="Y")
    assert "192.0.2.253" in process.configurations(rack, startup=True)["s6"]


def ros_lets_nobody_in_with_a_wrong_password(rack, connect):
    del rack
    with pytest.raises((NetmikoAuthenticationException, ReadTimeout, netmiko.NetmikoTimeoutException)):
        connect("s7", "dell_powerconnect", password="wrong", conn_timeout=2, read_timeout_override=2)


def an_error_line_is_seen_by_netmikos_error_pattern(rack, connect):
    del rack
    connection = connect("s7", "dell_powerconnect")
    with pytest.raises(ConfigInvalidException, match="VLAN was not created by user"):
        connection.send_config_set(["interface vlan 999"], error_pattern=ERRORS)


SCENES = (
    netmikos_driver_for_ros_configures_shows_and_saves,
    netmikos_driver_for_fastpath_configures_shows_and_saves,
    a_sub_mode_looks_to_netmiko_like_no_configuration_mode,
    netmikos_save_does_not_answer_the_question_unless_told_to,
    ros_lets_nobody_in_with_a_wrong_password,
    an_error_line_is_seen_by_netmikos_error_pattern,
)


@pytest.fixture(scope="module")
def played(rack, connect):
    with ThreadPoolExecutor(len(SCENES)) as pool:
        return {scene: pool.submit(scene, rack, connect) for scene in SCENES}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_conversation(played, scene):
    played[scene].result()


def test_paramiko_still_offers_what_an_old_switch_answers():
    assert int(version("paramiko").split(".")[0]) < 4
    assert {"ssh-rsa", "ssh-dss"} <= set(paramiko.Transport._preferred_keys)  # type: ignore[attr-defined]
    exchanges = {"diffie-hellman-group14-sha1", "diffie-hellman-group1-sha1"}
    assert exchanges <= set(paramiko.Transport._preferred_kex)  # type: ignore[attr-defined]


def test_fastpath_refuses_authentication_none_and_takes_a_password(connect):
    with pytest.raises((NetmikoAuthenticationException, netmiko.NetmikoTimeoutException, paramiko.SSHException)):
        connect("s1", "dell_powerconnect")
    with pytest.raises(NetmikoAuthenticationException):
        connect("s1", "dell_os6", password="wrong")
    assert connect("s1", "dell_os6").find_prompt() == "s1#"


@pytest.mark.usefixtures("restore")
def test_quirks_can_be_changed_while_the_rack_runs(rack, connect):
    connection = connect("s2", "dell_powerconnect")
    process.quirks(rack, {"s2": {"delay_seconds": 0.2, "raw": True}})
    begun = time.monotonic()
    assert "PowerConnect 5324" in connection.send_command("show system")
    assert time.monotonic() - begun > 0.2
    process.quirks(rack, {"s2": {"delay_seconds": 0.0, "drop_after": 1}})
    with pytest.raises((OSError, ReadTimeout, netmiko.NetmikoTimeoutException)):
        connection.send_command("show version", read_timeout=1)
    assert process.status(rack)["switches"]["s2"]["quirks"]["drop_after"] == 0
    process.quirks(rack, {"s2": {"locked": True}})
    connection = connect("s2", "dell_powerconnect")
    assert LOCKED in connection.send_command("configure")


@pytest.mark.usefixtures("restore")
def test_what_was_configured_over_ssh_is_what_the_frames_meet(rack, connect):
    assert process.ping(rack)["reached"] == 6
    way = [["s0", 24, 1, 1], ["s1", 1, 1, 2], ["s1", 1, 1, 24], ["s2", 2, 1, 24]]  # h2 is not known yet: flooded
    assert process.ping(rack, "h0", "h2")["path"] == way
    assert "dynamic" in connect("s0", "dell_powerconnect").send_command("show bridge address-table")
    connection = connect("s1", "dell_os6")
    for line in ("configure", "interface ethernet 1/g2", "shutdown", "end"):
        connection.send_command(line, expect_string=r"#$")
    assert re.search(r"(?m)^1/g2 +Gigabit - Level .* Down", connection.send_command("show interfaces status"))
    answer = process.ping(rack)
    assert (answer["pairs"], answer["reached"], answer["lost"]) == (6, 2, 4)
    assert ["h0", "h2"] in answer["lost_pairs"]
    far = connect("s2", "dell_powerconnect").send_command("show interfaces status")
    assert re.search(r"(?m)^g2 +1G-Copper +-- .* Down", far)
    assert re.search(r"(?m)^g24 +1G-Copper +Full +1000 +Enabled +Off +Up", far)
    process.reboot(rack, "s1")
    assert process.ping(rack)["reached"] == 6
