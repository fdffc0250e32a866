"""Every wait of netmiko and paramiko is measured by a clock that is never set."""

import time
from pathlib import Path

import netmiko
import paramiko

from tagloom.adapters import ssh, steady_clock

OF_OTHERS = {
    *("calix_b6.py", "ericsson_mltn.py", "huawei_smartax.py"),  # switches that tagloom has no model of
    "proxy.py",  # a ProxyCommand, which tagloom opens none of
    *("sftp_attr.py", "sftp_client.py", "sftp_file.py"),  # times of files
}


def test_no_module_that_waits_is_left_out():
    folders = [Path(package.__file__).parent for package in (netmiko, paramiko)]
    named = {
        path.name for folder in folders for path in folder.rglob("*.py") if "time.time()" in path.read_text("utf-8")
    }
    assert named == OF_OTHERS | {Path(module.__file__).name for module in steady_clock.WAITING}


def test_they_wait_by_it_and_this_process_does_not():
    assert ssh.time.time is time.time
    assert {module.time.time for module in steady_clock.WAITING} == {time.monotonic}
