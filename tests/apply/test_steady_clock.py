"""Every wait of netmiko and paramiko is measured by a clock that is never set."""

import re
import time
from pathlib import Path

import netmiko
import paramiko

from tagloom.adapters import ssh, steady_clock

PLACE = Path(netmiko.__file__).parents[1]
OF_OTHERS = {
    *("netmiko/calix/calix_b6.py", "netmiko/ericsson/ericsson_mltn.py"),  # switches that tagloom has no model of
    "netmiko/huawei/huawei_smartax.py",  # as above
    "paramiko/proxy.py",  # a ProxyCommand, which tagloom opens none of
    *("paramiko/sftp_attr.py", "paramiko/sftp_client.py", "paramiko/sftp_file.py"),  # times of files
}


def test_no_module_that_waits_is_left_out():
    folders = [Path(package.__file__).parent for package in (netmiko, paramiko)]
    reads = re.compile(r"\btime\.time\(|from time import .*\btime\b")
    files = [path for folder in folders for path in folder.rglob("*.py") if reads.search(path.read_text("utf-8"))]
    waiting = {Path(module.__file__).relative_to(PLACE).as_posix() for module in steady_clock.WAITING}
    assert {path.relative_to(PLACE).as_posix() for path in files} == OF_OTHERS | waiting


def test_they_wait_by_it_and_this_process_does_not():
    assert ssh.time.time is time.time
    assert {module.time.time for module in steady_clock.WAITING} == {time.monotonic}
