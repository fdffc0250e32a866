"""Waves go out over sessions that are open as they do by Ansible: read, agreed on, in order, waited for, read back."""

import json
from contextlib import ExitStack, contextmanager
from threading import Lock

import pytest

from tagloom.apply.outcomes import Fault
from tagloom.apply.run_directory import Job, request_stop
from tagloom.lab import process
from tagloom.operate.direct_push import DirectHost, DirectPush
from tagloom.share import share_directory


@pytest.fixture
def direct(bench):
    """Return what pushes over sessions with all switches that are open, and stay so."""
    sessions = {name: bench.connection(name) for name in bench.names}
    locks = {name: Lock() for name in sessions}

    @contextmanager
    def lend(name):
        with locks[name]:
            yield sessions[name]

    with ExitStack() as stack:
        for session in sessions.values():
            session.kept = True
            stack.enter_context(session)
            stack.callback(setattr, session, "kept", False)
        hosts = {name: DirectHost(("127.0.0.1", bench.info.ports[name]), out_of_band=True) for name in bench.names}
        yield DirectPush(hosts, lend, share_directory() / "templates")


def waits(place, **of_the_first):
    """Write into a rollout what is waited for after its first wave."""
    page = json.loads((place / "rollout.json").read_text())
    page["waves"][0] |= of_the_first
    (place / "rollout.json").write_text(json.dumps(page))


def test_waves_go_out_one_after_the_other_over_open_sessions_and_are_saved(bench, direct):
    place = bench.write_rollout({}, {"pvid": 101})
    heard = []
    outcomes = bench.do(direct, Job(place), on_progress=lambda each: heard.append(each.number))
    assert outcomes.good, outcomes.to_json()
    assert heard == [1] * len(bench.names) + [2] * len(bench.names)
    assert (outcomes.waves, outcomes.reached) == (2, 2)
    assert all(bench.state(name) == bench.target(name, pvid=101) for name in bench.names)
    assert bench.configurations(startup=True) == bench.configurations()
    assert all(each.backup for each in outcomes.outcomes)


def test_what_a_look_has_read_must_still_be_there_when_lines_are_sent(bench, direct):
    place = bench.write_rollout({})
    looked = bench.do(direct, Job(place, check=True, first_wave=1, last_wave=1))
    assert [each.changed for each in looked.outcomes] == [True] * len(bench.names)
    bench.type("s1", "interface ethernet 1/g3", "shutdown", "exit")
    bench.type("s2", "interface ethernet g24", "shutdown", "exit")
    before = bench.configurations()
    outcomes = bench.do(direct, Job(place))
    assert set(outcomes.failed_by(Fault.DRIFT)) == {"s2"}
    assert set(outcomes.failed_by(Fault.STOPPED)) == {"s0", "s1", "s3"}
    assert bench.configurations() == before


def test_a_look_that_finds_a_session_to_have_ended_logs_in_once_more(bench, direct):
    process.fault(bench.rack, "s1", "drop-before", line="show running-config")
    looked = bench.do(direct, Job(bench.write_rollout({}), check=True, first_wave=1, last_wave=1))
    assert looked.good, looked.to_json()


def test_a_wait_for_links_ends_when_both_ends_of_all_that_were_switched_on_are_seen_up(bench, direct):
    for switch, port in (("s0", "g1"), ("s1", "1/g2")):
        bench.type(switch, f"interface ethernet {port}", "shutdown", "exit")
    place = bench.write_rollout({}, {"pvid": 101})
    waits(place, drain_seconds=3600, until_up=True)
    asked = []

    def seen_up(ports):
        asked.append(ports)
        return len(asked) > 1

    direct.seen_up = seen_up
    assert bench.do(direct, Job(place)).good
    assert {name: list(ports) for name, ports in asked[0].items() if ports} == {"s0": [1], "s1": [2]}


def test_a_wait_for_frames_to_leave_is_not_cut_short_and_an_end_that_is_asked_for_is_heard_in_it(bench, direct):
    place = bench.write_rollout({}, {"pvid": 101})
    waits(place, drain_seconds=3600)
    direct.seen_up = lambda _ports: pytest.fail("there is nothing to look for")
    outcomes = bench.do(direct, Job(place), on_progress=lambda _outcome: request_stop(bench.run_directory))
    assert (outcomes.stopped, outcomes.failed, outcomes.reached) == (True, (), 1)
    assert all(bench.state(name) == bench.target(name) for name in bench.names)


def test_one_switch_that_refuses_a_line_ends_the_run_with_its_wave(bench, direct):
    process.fault(bench.rack, "s3", "reject", line="pvid")
    outcomes = bench.do(direct, Job(bench.write_rollout({}, {"pvid": 101})))
    assert (outcomes.failed, outcomes.reached, outcomes.error) == (("s3",), 1, "")
    assert bench.state("s0") == bench.target("s0")
