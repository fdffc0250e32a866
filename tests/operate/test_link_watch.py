"""A push that waits for links alone goes on once both ends of each were seen up, and is not cut short otherwise."""

from contextlib import nullcontext
from threading import Event

from fabrics import ROOT, make_fabric
from tagloom.apply.run_directory import Job, RunDirectory
from tagloom.errors import DeviceError
from tagloom.operate.link_watch import links_watched, raised_ports
from tagloom.pipeline.planning import plan

PATIENCE = 60.0
PORTS = {"s0": [1], "s1": [3]}


def files_of(tmp_path):
    files = RunDirectory(tmp_path)
    files.start(Job(tmp_path))
    return files


def test_links_are_looked_at_after_their_wave_until_all_are_up(tmp_path):
    files, looked, both = files_of(tmp_path), [], Event()

    def seen_up(ports):
        looked.append((dict(ports), files.completed_at(2) is not None))
        if len(looked) == 3:
            both.set()
        return len(looked) >= 3

    with links_watched(files, {2: PORTS}, lambda: nullcontext(seen_up)):
        files.complete(1)
        files.complete(2)
        assert both.wait(PATIENCE)
    assert files.links_up(2).exists()
    assert looked == [(PORTS, True)] * 3
    files.start(Job(tmp_path))
    assert not files.links_up(2).exists()  # another push starts over


def test_switches_that_cannot_be_read_leave_the_wait_as_it_is(tmp_path):
    files, looked = files_of(tmp_path), Event()

    def seen_up(_ports):
        looked.set()
        raise DeviceError("s0", "", "no answer")

    with links_watched(files, {1: PORTS}, lambda: nullcontext(seen_up)):
        files.complete(1)
        assert looked.wait(PATIENCE)
    assert not files.links_up(1).exists()
    with links_watched(files, {1: PORTS}, None):  # no SNMP
        files.complete(1)
    assert not files.links_up(1).exists()


def test_the_ports_that_a_wave_raises_are_those_that_were_off():
    fabric = make_fabric("ring", 3, parallel=2, model="powerconnect-5324")
    on, off = (plan(each, ROOT / "templates")[0].state for each in (fabric, fabric.with_links_down({0})))
    link = fabric.links[0]
    ends = {fabric.switches[s].name: [p] for s, p in ((link.a, link.a_port), (link.b, link.b_port))}
    assert raised_ports(off, on) == ends
    assert raised_ports(on, off) == raised_ports(on, on) == {}
