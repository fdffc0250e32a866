"""One session with one switch of the virtual rack, at its console itself: the wire has tests of its own."""

import math
from contextlib import suppress
from functools import partial

import pytest

from tagloom import platforms
from tagloom.apply.journal import READ_BACK, SAVED, SENDING, Journal
from tagloom.apply.outcomes import Fault
from tagloom.apply.own_lines import OwnLines, send_own_lines
from tagloom.apply.scheduled_reloads import Armed, ScheduledReload, ScheduledReloads
from tagloom.apply.session import Session
from tagloom.apply.switch import configure_switch
from tagloom.errors import DeviceError
from tagloom.lab.console import Console
from tagloom.lab.device import Device, UnmanagedConfig
from tagloom.records.site_lines import SiteLine
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor
from tagloom.render import missing_lines, site_commands

MODEL = "powerconnect-5324"
PLATFORM = platforms.load(MODEL)
PORTS = (1, 2, 24)
SECRET = "kellerfalle7"


class AtConsole:
    """A session at a switch's console, whose lines are taken or refused as the switch does.

    `ends_at` is a line at which the session breaks; `broken` are steps that fail as a session that is lost does.
    """

    def __init__(self, device):
        self.device, self.sent, self.done, self.broken = device, [], [], set()
        self.before_line, self.after_line = lambda _line: None, lambda _line: None
        self.saves, self.words, self.why, self.refused, self.seconds = True, "ROS", "", "", 0.0
        self.scheduled = []

    def __enter__(self):
        self._do("login")
        self.sent = []
        self.console = Console(self.device)
        self.console.start()
        self.console.feed("lab\nlab\nenable\n")
        return self

    def __exit__(self, *_):
        self.done.append("logout")
        self.console.close()

    def _do(self, what):
        self.done.append(what)
        if what in self.broken:
            raise DeviceError(self.device.name, "", f"lost at {what}")

    def identity(self):
        return self.words

    def running_configuration(self):
        self._do("read")
        return self.device.running_config()

    def startup_configuration(self):
        self._do("read saved")
        return self.device.startup_config() if self.saves else None

    def send(self, lines):
        self._do("send")
        self.console.feed("configure\n")
        for line in lines:
            self.before_line(line)
            if "%" in self.console.feed(f"{line}\n") or line in self.broken:
                raise DeviceError(self.device.name, line, "refused")
            self.sent.append(line)
            self.after_line(line)
        self.console.feed("\x1a")
        return ()

    def save(self, text):
        self._do("save")
        self.saved_text = text
        if self.saves:
            self.device.save()
        return self.saves

    def batch_seconds(self, lines):
        self.batch = lines
        return self.seconds

    def why_no_reload(self):
        return self.why

    def schedule_reload(self, minutes):
        self._do("schedule")
        self.scheduled.append(minutes)
        return self.refused

    def call_off_reload(self):
        self._do("call off")
        self.scheduled.clear()


class Place:
    """A switch, its journal, and what is pushed to it."""

    def __init__(self, words, state, path):
        self.language, self.path, self.target = words, path, state
        self.device = Device("s0", PLATFORM, words.text, UnmanagedConfig.born("s0", 0, PLATFORM, PORTS))
        self.wire = AtConsole(self.device)
        (path / "order").mkdir()
        self.journal = Journal(path / "journal.db")
        row = {"name": "r", "kind": "apply", "fabric": "f", "source": "b", "command": "c", "operator": "o"}
        self.run = self.journal.begin(**row, waves=1, proven=True, order=path / "order").id
        self.initial = self.state

    @property
    def state(self):
        return self.device.editor.freeze()

    @property
    def is_saved(self):
        return self.language.parse(self.device.startup_config())[0] == self.state

    def session(self, **more):
        journal = self.journal.wave_journal(self.run, 1, "s0")
        return Session(self.wire, "s0", backups=self.path / "backups", wave="w", wave_journal=journal, **more)

    def push(self, state=None, *, check=False, session=None, **more):
        wanted = self.target if state is None else state
        more = {"out_of_band": True} | more
        return configure_switch(session or self.session(), self.language, wanted, PORTS, check=check, **more)

    def rows(self):
        return [(row.state, row.lines, row.sent, row.error) for row in self.journal.switches(self.run)]

    def type(self, *lines):
        with self.wire:
            self.wire.send(lines)

    def changed(self, change):
        """Return the target with a change."""
        editor = SwitchEditor.of(self.target)
        change(editor)
        return editor.freeze()


@pytest.fixture
def place(words_of, target_of, tmp_path):
    return Place(words_of(MODEL), target_of(PLATFORM.ports), tmp_path)


def test_a_switch_is_read_backed_up_sent_its_lines_read_back_and_saved(place):
    text = place.device.running_config()
    outcome = place.push()
    assert (outcome.error, outcome.fault, outcome.findings) == ("", Fault.NONE, ())
    assert (outcome.wave, outcome.number) == ("w", 1)
    assert place.language.text(place.state) == place.language.text(place.target) == outcome.after
    assert place.is_saved
    assert (outcome.changed, outcome.saved, outcome.volatile, outcome.unsaved, outcome.read) == (
        *(True, True, False, False, True),
    )
    assert outcome.before == place.language.text(place.initial)
    assert outcome.commands == outcome.sent != ()
    assert (place.path / "backups/s0.cfg").read_text() == text
    assert outcome.backup == str(place.path / "backups/s0.cfg")
    assert place.wire.done == ["login", "read", "send", "read", "save", "logout"]
    assert place.wire.saved_text == outcome.after
    assert place.rows() == [(SAVED, outcome.commands, len(outcome.sent), "")]
    (row,) = place.journal.switches(place.run)
    assert (row.before, row.after) == (outcome.before, outcome.after)
    again = place.push()
    assert (again.changed, again.saved, again.unsaved, again.commands, again.error) == (False, False, False, (), "")
    assert place.wire.done[6:] == ["login", "read", "read saved", "logout"]
    assert len(list((place.path / "backups").iterdir())) == 1


def test_a_check_says_what_would_be_sent_and_sends_nothing(place):
    outcome = place.push(check=True)
    assert (outcome.changed, outcome.sent, outcome.saved, outcome.backup) == (True, (), False, "")
    assert outcome.commands
    assert outcome.after == place.language.text(place.target)
    assert place.state == place.initial
    assert place.wire.done == ["login", "read", "read saved", "logout"]
    assert not outcome.unsaved
    place.type("vlan database", "vlan 77", "exit")
    outcome = place.push(place.state, check=True)
    assert (outcome.changed, outcome.unsaved) == (False, True)


def test_a_switch_that_needs_no_lines_is_saved_where_it_is_not(place):
    place.push()
    place.type("vlan database", "vlan 77", "exit")
    assert not place.is_saved
    outcome = configure_switch(place.session(), place.language, None, PORTS, check=False)
    assert (outcome.error, outcome.changed, outcome.saved, outcome.unsaved) == ("", False, True, True)
    assert place.is_saved
    assert place.wire.done[-4:] == ["read", "read saved", "save", "logout"]
    place.wire.saves = False  # one that keeps none of its own
    outcome = configure_switch(place.session(), place.language, None, PORTS, check=False)
    assert (outcome.unsaved, outcome.saved) == (False, False)


def test_another_model_is_not_even_read(place, words_of):
    place.wire.words = "PowerConnect 6248, a stackable switch, 3.3.18.1, VxWorks 6.6"
    place.language = words_of(MODEL)
    for outcome in (
        place.push(),
        send_own_lines(place.session(), place.language, OwnLines((SiteLine("a"),), lambda *_: (), tuple)),
    ):
        assert outcome.fault == Fault.REFUSED
        assert outcome.error.startswith("refused, nothing was sent: switch: model: expected powerconnect-5324")
        assert not outcome.read
    assert "read" not in place.wire.done


def test_what_others_left_between_two_waves_is_accepted_and_anything_else_is_drift(place):
    expected = place.changed(lambda editor: editor.set_member(101, 24, Membership.NONE))
    place.push(expected)
    outcome = place.push(expected=expected, check=True)
    assert outcome.error == ""
    place.type("interface ethernet g24", "switchport general pvid 101", "exit")
    outcome = place.push(expected=expected)
    assert (outcome.fault, outcome.sent, outcome.changed) == (Fault.DRIFT, (), False)
    assert [str(finding) for finding in outcome.findings] == ["s0: g24 pvid: expected 100, actual 101"]
    assert outcome.error == f"refused, nothing was sent: {outcome.findings[0]}"
    place.type("interface ethernet g24", "switchport general pvid 100", "exit")
    place.type("interface ethernet g24", "switchport general allowed vlan add 101 untagged", "exit")  # half of the wave
    assert place.push(expected=expected).error == ""


def test_a_change_that_was_proven_from_what_was_read_needs_exactly_that(place):
    held = place.state
    place.type("interface ethernet g1", "switchport mode general", "exit")
    outcome = place.push(held=held)
    assert (outcome.fault, outcome.sent) == (Fault.DRIFT, ())
    assert [str(finding) for finding in outcome.findings] == ["s0: g1 mode: expected access, actual general"]
    assert not place.push(held=held, check=True).failed  # a look is no push
    assert place.push(held=place.state).error == ""


def test_a_look_ahead_starts_where_the_wave_before_ends(place):
    expected = place.changed(lambda editor: editor.set_member(101, 24, Membership.NONE))
    outcome = place.push(expected=expected, ahead=True, check=True)
    assert (outcome.error, outcome.changed, outcome.unsaved) == ("", True, False)
    assert outcome.before == place.language.text(expected)
    assert outcome.after == place.language.text(place.target)
    assert any("101" in line for line in outcome.commands)
    assert place.state == place.initial
    assert "read saved" not in place.wire.done


def test_an_unnamed_vlan_that_a_wave_ends_is_removed(place):
    """A switch that was told to make a VLAN and not yet to name it; one of nobody's knowledge stays."""

    def unnamed(editor):
        editor.create_vlan(300)
        editor.set_member(300, 1, Membership.TAGGED)

    lines = ("vlan database", "vlan 300", "exit")
    member = ("interface ethernet g1", "switchport general allowed vlan add 300 tagged", "exit")
    place.push()
    place.type(*lines, *member)
    assert 300 in place.state.vlans
    assert place.push().commands == ()
    assert 300 in place.state.vlans
    assert place.push(expected=place.changed(unnamed)).error == ""
    assert 300 not in place.state.vlans


def test_what_the_operator_owns_is_refused_with_each_reason(place):
    place.type("vlan database", "vlan 100", "exit", "interface vlan 100", "name cameras", "exit")
    outcome = place.push()
    assert (outcome.fault, outcome.sent, outcome.changed) == (Fault.REFUSED, (), False)
    assert any("100" in str(finding) for finding in outcome.findings)
    assert outcome.read


def test_management_must_not_be_cut_where_it_is_in_the_fabrics_vlan(place):
    ports = tuple(range(1, PLATFORM.physical_ports + 1))
    editor = SwitchEditor.of(place.target)
    for port in ports:
        editor.set_member(1, port, Membership.NONE)
        editor.mode[port - 1] = PortMode.GENERAL
    push = partial(configure_switch, place.session(), place.language, editor.freeze(), ports, check=True)
    assert push(out_of_band=True).error == ""
    assert "management" in push(out_of_band=False).error
    assert "management" in push().error  # unless it is said


def test_lines_that_others_wait_for_are_not_sent_where_one_of_them_failed(place):
    asked = []
    outcome = place.push(session=place.session(agree=asked.append))
    assert asked == [True]
    assert (outcome.fault, outcome.sent) == (Fault.STOPPED, ())
    assert "another switch of this wave" in outcome.error
    assert place.rows() == [("failed", (), 0, outcome.error)]
    other = place.changed(lambda editor: editor.set_pvid(24, 101))
    place.push(other)
    place.type("interface ethernet g24", "switchport general pvid 1", "exit")
    outcome = place.push(expected=other, session=place.session(agree=asked.append))
    assert asked == [True, False]  # drift is told to the others
    assert outcome.fault == Fault.DRIFT


def test_a_switch_that_may_not_be_read_is_left(place):
    outcome = place.push(session=place.session(released=lambda: False))
    assert (outcome.error, outcome.read) == ("", False)
    assert place.wire.done == ["login", "logout"]
    own = OwnLines((SiteLine("sntp server 192.0.2.7"),), lambda *_: (), tuple)
    assert not send_own_lines(place.session(released=lambda: False), place.language, own).read


def test_a_line_that_a_switch_refuses_ends_the_session_there_and_is_written_down(place):
    commands = place.push(check=True).commands
    place.wire.broken.add(commands[3])
    outcome = place.push()
    assert (outcome.fault, outcome.command, outcome.error) == (Fault.DEVICE, commands[3], "refused")
    assert outcome.sent == commands[:3]
    assert (outcome.changed, outcome.saved) == (True, False)
    assert place.rows() == [("failed", commands, 3, "refused")]
    assert not place.is_saved


def test_a_stop_is_heeded_before_each_line(place):
    answers = iter([False, False, True])
    outcome = place.push(session=place.session(stop=lambda: next(answers)))
    assert (outcome.fault, len(outcome.sent), outcome.command) == (Fault.STOPPED, 2, outcome.commands[2])
    assert outcome.error == "stopped before this line, as asked"


def test_a_switch_that_holds_something_else_afterwards_is_not_saved(place):
    commands = place.push(check=True).commands

    def spoil(line):
        if line == commands[-1]:
            place.device.editor.set_pvid(24, 101)

    place.wire.after_line = spoil
    outcome = place.push()
    assert (outcome.fault, outcome.saved, outcome.changed) == (Fault.DEVICE, False, True)
    assert [str(finding) for finding in outcome.findings] == ["s0: g24 pvid: expected 100, actual 101"]
    assert outcome.error == f"accepted every line, but reads back with 1 difference: {outcome.findings[0]}; not saved"
    assert "save" not in place.wire.done


def test_a_backup_or_a_journal_that_cannot_be_written_keeps_every_line_back(place):
    (place.path / "backups").write_text("in the way")
    outcome = place.push()
    assert (outcome.fault, outcome.sent) == (Fault.CONTROLLER, ())
    assert outcome.error.startswith("nothing was sent: ")
    assert place.state == place.initial
    (place.path / "backups").unlink()
    with place.journal.writing() as wire:
        wire.execute("drop table switches")
    outcome = place.push()
    assert (outcome.fault, outcome.sent) == (Fault.CONTROLLER, ())
    assert outcome.error.startswith("nothing was sent: ")
    place.wire.after_line = lambda _line: (_ for _ in ()).throw(OSError("disk"))
    outcome = place.push(session=Session(place.wire, "s0", backups=place.path / "backups"))
    assert (outcome.fault, outcome.error, len(outcome.sent)) == (Fault.CONTROLLER, "disk", 1)


def test_a_switch_that_cannot_save_says_that_a_reboot_loses_it(place):
    place.wire.saves = False
    outcome = place.push()
    assert (outcome.error, outcome.saved, outcome.volatile) == ("", True, True)


def test_the_time_that_others_take_is_not_counted(place):
    ticks = iter(range(100))
    outcome = place.push(session=place.session(clock=lambda: float(next(ticks))), check=True)
    assert outcome.seconds == 5.0 - 2.0  # six looks at the clock: begin, twice two for others, end


def test_progress_is_written_down_step_by_step(place):
    states = []
    save = place.wire.save
    place.wire.after_line = lambda _line: states.append(place.rows()[0][0])

    def look_and_save(text):
        states.append(place.rows()[0][0])
        return save(text)

    place.wire.save = look_and_save
    outcome = place.push()
    assert states == [SENDING] * len(outcome.sent) + [READ_BACK]


# The operator's own lines.


def own_lines(*texts, **secrets):
    return OwnLines(
        tuple(map(SiteLine, texts)), partial(missing_lines, PLATFORM), partial(site_commands, PLATFORM), secrets
    )


def test_own_lines_that_are_missing_are_sent_and_secrets_are_hidden(place):
    own = own_lines("sntp server 192.0.2.7", "snmp-server community <secret:c> ro", c=SECRET)
    waits = []

    def agree(good):
        waits.append(good)
        return good

    outcome = send_own_lines(place.session(agree=agree), place.language, own)
    assert (outcome.error, outcome.saved, outcome.read, outcome.changed) == ("", True, True, True)
    assert waits == [True]
    assert outcome.own_lines == ("sntp server 192.0.2.7", "snmp-server community ******** ro")
    assert outcome.before == outcome.after == place.language.text(place.initial)
    text = place.device.running_config()
    assert f"snmp-server community {SECRET} ro" in text
    assert SECRET not in str(outcome) + str(place.rows())
    assert place.rows()[0][0] == SAVED
    again = send_own_lines(place.session(), place.language, own)
    assert (again.error, again.sent, again.saved, again.own_lines, again.changed) == ("", (), False, (), False)


def test_own_lines_are_not_sent_where_another_switch_failed(place):
    own = own_lines("sntp server 192.0.2.7")
    outcome = send_own_lines(place.session(agree=lambda _good: False), place.language, own)
    assert (outcome.fault, outcome.error, outcome.sent) == (
        *(Fault.STOPPED, "nothing was sent: another switch failed", ()),
    )


def test_own_lines_that_a_switch_does_not_show_afterwards_are_not_saved(place):
    own = own_lines("sntp server 192.0.2.7", "sntp server 192.0.2.8")
    taken = place.device.running_config
    place.device.running_config = lambda: taken().replace("sntp server 192.0.2.8", "sntp server 192.0.2.9")
    outcome = send_own_lines(place.session(), place.language, own)
    assert (outcome.fault, outcome.saved) == (Fault.DEVICE, False)
    (finding,) = outcome.findings
    assert (finding.where, finding.actual) == ("s0: sntp server 192.0.2.8", "not there")
    assert outcome.error == f"accepted every line, but {finding}; not saved"


def test_own_lines_that_change_a_cell_of_the_fabric_are_not_saved(place):
    place.push()
    place.wire.after_line = lambda _line: place.device.editor.set_pvid(24, 101)
    outcome = send_own_lines(place.session(), place.language, own_lines("sntp server 192.0.2.7"))
    assert outcome.fault == Fault.DEVICE
    assert [finding.where for finding in outcome.findings] == ["s0: g24 pvid"]


# A reload at a set time.


@pytest.fixture
def kept(place):
    return ScheduledReloads(place.journal)


def armed(place, kept, seconds=90.0, **more):
    return place.session(reload=Armed(kept, "s0", place.run, seconds, **more))


def test_a_switch_is_armed_before_its_first_line_and_called_off_when_it_is_saved(place, kept, clock):
    since, known = clock(), []
    place.wire.after_line = lambda _line: known.append(kept.all())
    outcome = place.push(session=armed(place, kept))
    assert (outcome.error, outcome.reload) == ("", "called off")
    assert all(each == known[0] for each in known)
    (row,) = known[0]
    assert (row.switch, row.run) == ("s0", place.run)
    assert since + 120 <= row.until <= clock() + 120  # whole minutes
    assert kept.all() == []
    assert place.wire.scheduled == []
    assert place.wire.done == [
        *("login", "read", "read saved", "schedule", "send", "read", "save", "call off", "logout"),
    ]
    assert place.wire.batch == len(outcome.commands)


@pytest.mark.parametrize(("seconds", "batch", "minutes"), [(60.0, 0.0, 1), (60.0, 61.0, 2), (200.0, 61.0, 4)])
def test_a_reload_leaves_time_for_all_lines(place, kept, seconds, batch, minutes):
    place.wire.seconds = batch
    told = []
    place.wire.after_line = lambda _line: told.append(list(place.wire.scheduled))
    place.push(session=armed(place, kept, seconds))
    assert told[0] == [minutes] == [math.ceil(max(seconds, batch) / 60)]


def test_what_a_switch_holds_is_saved_first_where_it_is_not(place, kept):
    place.type("vlan database", "vlan 77", "exit")
    before = place.language.text(place.state)
    saved = []
    save = place.wire.save

    def keep_and_save(text):
        saved.append(text)
        return save(text)

    place.wire.save = keep_and_save
    assert place.push(session=armed(place, kept)).reload == "called off"
    assert saved == [before, place.language.text(place.state)]


def test_remarks_in_what_is_saved_are_no_difference(place, kept):
    taken = place.device.startup_config
    place.device.startup_config = lambda: f"! saved at noon\n\n  {taken()}"
    place.push(session=armed(place, kept))
    assert place.wire.done.count("save") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"why": "no words"}, "none: no words"),
        ({"refused": "busy"}, "none: busy"),
        ({"saves": False}, "none: it cannot save what it holds"),
    ],
)
def test_a_switch_that_cannot_be_told_gets_its_lines_all_the_same(place, kept, change, said):
    for name, value in change.items():
        setattr(place.wire, name, value)
    outcome = place.push(session=armed(place, kept))
    assert (outcome.error, outcome.reload) == ("", said)
    assert kept.all() == []
    assert "call off" not in place.wire.done


def test_a_switch_without_a_time_is_not_told(place, kept):
    assert place.push(session=armed(place, kept, 0.0)).reload == ""
    assert "schedule" not in place.wire.done
    assert "call off" not in place.wire.done


def test_a_switch_that_failed_but_stands_is_called_off(place, kept):
    place.wire.broken.add(place.push(check=True).commands[2])
    outcome = place.push(session=armed(place, kept))
    assert (outcome.fault, outcome.reload) == (Fault.DEVICE, "called off")
    assert kept.all() == []


def test_a_switch_that_breaks_is_called_off_in_another_session_or_left_to_its_reload(place, kept):
    commands = place.push(check=True).commands
    place.wire.broken |= {commands[2], "call off"}
    outcome = place.push(session=armed(place, kept))
    assert outcome.reload.startswith("reloads at ")
    assert outcome.reload.endswith("lost at call off")
    assert outcome.error.startswith("refused; reloads at ")
    assert outcome.error.endswith(" from what it held before the wave")
    assert [row.switch for row in kept.all()] == ["s0"]
    assert place.wire.done.count("login") == 3  # the check, the push, and another try
    place.wire.broken.remove("call off")
    calls = iter([DeviceError("s0", "", "once")])
    call_off = place.wire.call_off_reload

    def fail_once():
        with suppress(StopIteration):
            raise next(calls)
        call_off()

    place.wire.call_off_reload = fail_once
    outcome = place.push(session=armed(place, kept))
    assert (outcome.reload, outcome.error) == ("called off", "refused")
    assert kept.all() == []


@pytest.mark.parametrize(("on_the_wall", "since_the_login"), [(31.0, 0.0), (-3600.0, 31.0)], ids=["both", "set back"])
def test_nothing_is_saved_a_moment_before_a_reload(place, kept, clock, on_the_wall, since_the_login):
    passed = [0.0]

    def later(seconds, wall):
        def after(_line):
            passed[0], clock.now = seconds, began + wall

        return after

    def session():
        return place.session(reload=Armed(kept, "s0", place.run, 60.0), clock=lambda: passed[0])

    began = clock.now
    place.wire.after_line = later(since_the_login, on_the_wall)
    outcome = place.push(session=session())
    assert (outcome.fault, outcome.saved) == (Fault.DEVICE, False)
    assert outcome.error == "not saved: it reloads in a moment, as it was told before its lines"
    began, passed[0] = clock.now, 0.0
    place.wire.after_line = later(29.0, 29.0)
    assert place.push(place.changed(lambda editor: editor.set_pvid(24, 101)), session=session()).saved


def test_what_an_older_push_left_is_called_off_first(place, kept):
    kept.arm("s0", place.run, 5.0)
    assert kept.all() == [ScheduledReload("s0", place.run, 5.0)]
    place.push(session=armed(place, kept, 0.0), check=True)
    assert kept.all() != []  # nobody says that one is pending
    place.push(session=armed(place, kept, 0.0, pending=True), check=True)
    assert kept.all() == []
    assert place.wire.done[-4:] == ["call off", "read", "read saved", "logout"]
