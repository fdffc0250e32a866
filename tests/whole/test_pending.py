"""`--json` of every command that can push says whether something would be sent: `pending`.

For `apply` and `rollback`, test_exit_statuses.py says it of more cases.
"""

import pytest

from command_line.terminal import Terminal
from tagloom.cli.applying import PUSHING
from tagloom.lab import process
from thinned import daily

pytestmark = pytest.mark.slow

GOOD, NO, DEVICE_FAILED = 0, 1, 3
PUSHED = (("apply", "b", "--allow", "interrupt"),)
CUT = (*PUSHED, ("cut", "s0", "g1"))
TIMETABLE = "timezone: UTC\nrepair: propose\nrules:\n  - {when: '0 0 * * *', off: [s0:g1]}\n"

# What was done before, the command, its exit status, and whether something would be sent or is left to send.
PAGES = {
    "no way back, previewed": (PUSHED, "rollback --check", NO, False),
    "an interrupted run, previewed": ((*PUSHED, ("interrupt", "s1")), "apply --resume --check", GOOD, True),
    "an interrupted run, resumed": ((*PUSHED, ("interrupt", "s1")), "apply --resume", GOOD, False),
    "an interrupted run, where it stands": ((*PUSHED, ("interrupt", "s1")), "abort", GOOD, True),
    "nothing to stop": (PUSHED, "abort", GOOD, False),
    "nothing to confirm": (PUSHED, "confirm", NO, False),
    "a switch back with an old configuration": (PUSHED, "apply b --readmit s0 --check", GOOD, False),
    "without a switch": (PUSHED, "apply b --without s2 --check", GOOD, True),
    "nothing is dead": (PUSHED, "repair --check", GOOD, False),
    "a cable is dead, previewed": (CUT, "repair --check", NO, True),
    "a cable is dead": (CUT, "repair", GOOD, False),
    "a cable is down and the pairs are rerouted": ((*CUT, ("repair",)), "repair --check", NO, False),
    "a box that was used": (PUSHED, "replace s1 --check --used --allow interrupt", GOOD, True),
    "a box that is not new": (PUSHED, "replace s1 --check", NO, False),
    "first lines": ((), "bootstrap addressed.yml --network 127.0.0.0/8 -o first", GOOD, True),
    "a timetable, previewed": (PUSHED, "run day.yml --once --check", GOOD, True),
    "a timetable": (PUSHED, "run day.yml --once", GOOD, False),
}
# The rest is `make test-daily`'s.
EVERY_TIME = (
    "an interrupted run, previewed",
    "an interrupted run, resumed",
    "nothing to confirm",
    "a cable is dead, previewed",
    "a box that was used",
    "a timetable, previewed",
)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Plan a ring of three and another way through it, and start its rack."""
    terminal = Terminal(tmp_path_factory.mktemp("pending"))
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("plan", "f.yml", "-o", "other", "--routing", "tree", "--previous", "b")
    (terminal.home / "day.yml").write_text(TIMETABLE)
    addresses = "".join(f"  s{n}: {{address: 127.0.0.{n + 10}}}\n" for n in range(3))
    (terminal.home / "addressed.yml").write_text((terminal.home / "f.yml").read_text() + f"switches:\n{addresses}")
    with terminal.lab("f.yml"):
        yield terminal


def prepare(terminal, steps):
    for word, *more in steps:
        if word == "cut":
            process.fault(terminal.rack, more[0], "cable", port=more[1])
        elif word == "interrupt":
            process.quirks(terminal.rack, {more[0]: {"drop_after": 20}})
            terminal("apply", "other", expect=DEVICE_FAILED)
        else:
            terminal(word, *more)


def test_every_command_that_pushes_is_in_the_list():
    assert {command.split()[0] for _, command, *_ in PAGES.values()} == PUSHING


@pytest.mark.parametrize("case", daily(PAGES, *(n for n, case in enumerate(PAGES) if case in EVERY_TIME)))
def test_a_page_says_whether_something_would_be_sent(case, running):
    steps, command, status, pending = PAGES[case]
    terminal = running.fresh()
    prepare(terminal, steps)
    assert terminal.answer(*command.split(), expect=status)["pending"] is pending
