"""Tests wait for events: only tests/waiting.py sleeps, and what is listed here with its reason."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent

# By file and function; what a switch, an agent or a meter of the tests takes its time with is no wait of a test.
WITH_REASON = {
    "conformance/hostile_switch.py": "a switch that is slow, or never answers",
    "conformance/test_hostile_switch.py": "a switch that is slow, or never answers",
    "dataplane/spanning.py": "no event of a kernel's spanning tree says that none will follow",
    "faults/test_faults.py": "counters sampled until a process ends",
    "measure/test_power.py": "a meter that is unplugged",
    "observe/test_snmp_adapter.py": "an agent that is slow at each answer",
    "run/test_day_with_failures.py": "the agents' clocks count hundredths of a second",
    "stories/days.py": "the agents' clocks count hundredths of a second, and a push is aborted in its middle",
    "run/test_run_rack.py": "the agents' clocks count hundredths of a second",
    "waiting.py": "in between two looks",
}


def sleeping(tree):
    """List the rows in which a module sleeps; for no time, it gives a turn to others."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [node.func for node in calls if not (node.args and ast.unparse(node.args[0]) == "0")]
    modules = {"time", "asyncio"}
    return [
        call.lineno
        for call in calls
        if isinstance(call, ast.Attribute)
        and call.attr == "sleep"
        and isinstance(call.value, ast.Name)
        and call.value.id in modules
    ]


def test_no_test_waits_for_a_time():
    found = {str(path.relative_to(TESTS)): sleeping(ast.parse(path.read_text())) for path in TESTS.rglob("*.py")}
    assert {name for name, rows in found.items() if rows} == set(WITH_REASON)


def test_a_sleep_is_found():
    assert sleeping(
        ast.parse("import time\n\ndef f():\n    time.sleep(1)\n    clock.sleep(2)\n    time.sleep(0)\n")
    ) == [4]
