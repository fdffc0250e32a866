"""A command of the operator's hears of every event, and holds up nothing."""

import json
import os
import sys

import pytest

from tagloom.adapters.event_hook import EventHook
from tagloom.errors import InputError
from waiting import until


def test_each_event_reaches_the_command_as_json_and_nobody_waits_for_it(tmp_path):
    heard = tmp_path / "heard"
    script = tmp_path / "hook.py"
    script.write_text(f"import sys, time\ntext = sys.stdin.read()\nopen({str(heard)!r}, 'a').write(text)\n")
    hook = EventHook(f"{sys.executable} {script}")
    hook({"event": "dead", "parts": ["s0:g1 - s1:g2"]})
    until(lambda: heard.exists() and heard.read_text().endswith("\n"))
    assert json.loads(heard.read_text()) == {"event": "dead", "parts": ["s0:g1 - s1:g2"]}
    hook.close()


def test_a_command_that_takes_nothing_or_hangs_is_waited_for_by_nobody_and_ended(tmp_path):
    script, pid = tmp_path / "hook.sh", tmp_path / "pid"
    script.write_text(f"echo $$ > {pid}.new\nmv {pid}.new {pid}\nexec sleep 3600\n")
    hook = EventHook(f"sh {script}")
    hook({"event": "dead", "parts": ["x" * 1_000_000]})  # more than a pipe holds
    until(pid.exists)
    hook.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize("command", ["no-such-command --here", "'", ""])
def test_a_command_that_is_none_is_a_finding(command):
    with pytest.raises(InputError, match="--on-event"):
        EventHook(command)
