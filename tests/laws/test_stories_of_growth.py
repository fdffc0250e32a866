"""Law: however a small fabric grows or shrinks, whoever is in both is reached after every line, and the end proves."""

import random
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.records.fabric import Host, Link, Switch
from tagloom.verify import verify
from thinned import examples

sys.path.insert(0, str(ROOT / "tests" / "rollout"))
from watched import watch

MODEL = "powerconnect-5324"
STARTS = [("ring", (4,)), ("mesh", (2, 2)), ("mesh", (3, 2)), ("complete", (4,)), ("tree", (2, 1))]


def free_port(fabric, s, last=24):
    """Give the highest port of a switch that nothing has."""
    return max(set(range(1, last + 1)) - set(fabric.used_ports[s]))


def host_comes(fabric, draw):
    s = draw(st.integers(0, len(fabric.switches) - 1))
    names = {host.name for host in fabric.hosts}
    name = next(f"x{n}" for n in range(100) if f"x{n}" not in names)
    mac = max(host.mac for host in fabric.hosts) + 0x1_0000_0000
    return replace(fabric, hosts=(*fabric.hosts, Host(name, s, free_port(fabric, s), mac)))


def host_goes(fabric, draw):
    lost = draw(st.integers(0, len(fabric.hosts) - 1))
    return replace(fabric, hosts=tuple(host for h, host in enumerate(fabric.hosts) if h != lost))


def host_moves(fabric, draw):
    which, s = (draw(st.integers(0, len(each) - 1)) for each in (fabric.hosts, fabric.switches))
    port = free_port(fabric, s)
    hosts = (replace(x, switch=s, port=port) if h == which else x for h, x in enumerate(fabric.hosts))
    return replace(fabric, hosts=tuple(hosts))


def address_changes(fabric, draw):
    which = draw(st.integers(0, len(fabric.hosts) - 1))
    mac = max(host.mac for host in fabric.hosts) + 0x1_0000_0001
    return replace(fabric, hosts=tuple(replace(x, mac=mac) if h == which else x for h, x in enumerate(fabric.hosts)))


def link_comes(fabric, draw):
    a = draw(st.integers(0, len(fabric.switches) - 2))
    b = draw(st.integers(a + 1, len(fabric.switches) - 1))
    same = sum({link.a, link.b} == {a, b} for link in fabric.links)
    link = Link(a, free_port(fabric, a), b, free_port(fabric, b), parallel_link=same)
    return replace(fabric, links=(*fabric.links, link))


def link_goes(fabric, draw):
    lost = draw(st.integers(0, len(fabric.links) - 1))
    return replace(fabric, links=tuple(link for i, link in enumerate(fabric.links) if i != lost))


def switch_comes(fabric, draw):
    count = sum(switch.name.startswith("n") for switch in fabric.switches)
    n = len(fabric.switches)
    larger = replace(
        fabric, switches=(*fabric.switches, Switch(f"n{count}", MODEL, ())), ports=(*fabric.ports, fabric.ports[0])
    )
    for s in draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2, unique=True)):
        larger = replace(larger, links=(*larger.links, Link(s, free_port(larger, s), n, free_port(larger, n))))
    mac = max(host.mac for host in fabric.hosts) + 0x1_0000_0002
    return replace(larger, hosts=(*larger.hosts, Host(f"y{mac:x}", n, free_port(larger, n), mac)))


def switch_goes(fabric, draw):
    gone = draw(st.integers(0, len(fabric.switches) - 1))
    index = {s: s - (s > gone) for s in range(len(fabric.switches)) if s != gone}
    return replace(
        fabric,
        switches=tuple(switch for s, switch in enumerate(fabric.switches) if s != gone),
        ports=tuple(ports for s, ports in enumerate(fabric.ports) if s != gone),
        hosts=tuple(replace(h, switch=index[h.switch]) for h in fabric.hosts if h.switch != gone),
        links=tuple(replace(x, a=index[x.a], b=index[x.b]) for x in fabric.links if gone not in (x.a, x.b)),
    )


STEPS = [
    *(host_comes, host_goes, host_moves, address_changes),
    *(link_comes, link_goes, switch_comes, switch_goes),
]


@st.composite
def stories(draw):
    """Draw a fabric and what it becomes: both hold together, and have hosts."""
    family, dims = draw(st.sampled_from(STARTS))
    old = replace(make_fabric(family, *dims, model=MODEL), shape=None)
    new = old
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3)):
        smaller = len(new.switches) < 3 or len(new.hosts) < 3 or len(new.links) < 2
        if step in (host_goes, link_goes, switch_goes) and smaller:
            continue
        later = step(new, draw)
        new = later if len(later.hosts) > 1 and not later.apart else new
    return old, new


def told(old, new, seed, *, keep):
    a = pipeline.plan(old, Path(), texts=False)[0]
    b = pipeline.plan(new, Path(), texts=False, keep=a if keep else None)[0]
    change = None
    with suppress(PlanError):  # none was found, and none is sent: how often is for the long run to say
        change = pipeline.rollout_between(a, b)
    if change is None or change.growth is None:
        return
    watch(change, old, new, random.Random(seed), every=12)
    end = {switch.name: change.after[switch.name] for switch in new.switches}
    assert verify(new, end).proven


@examples(100)
@given(stories(), st.integers(0, 1000), st.booleans())
def test_whoever_is_in_both_is_reached_after_every_line_of_any_story(story, seed, keep):
    told(*story, seed, keep=keep)


@pytest.mark.long
@examples(2_000)
@given(stories(), st.integers(0, 1000), st.booleans())
def test_whoever_is_in_both_is_reached_after_every_line_of_many_stories(story, seed, keep):
    told(*story, seed, keep=keep)
