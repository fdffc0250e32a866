"""Law: a machine that starts or migrates at hosts with a prefix of addresses is a proven rollout, and gets its frames.

Frames to a machine that no entry names yet are flooded: it hears each once. What switches have learnt shows a machine
that started; entries pin one that migrated, so a list of hosts has to say that.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, SMALL_FABRICS, make_fabric
from tagloom.errors import InputError, PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.lab.directory import Order, read_order, write_order
from tagloom.observe.addresses import choose, learned_addresses, with_changes
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.addresses import SeenAddress
from test_several_addresses import frames_arrive, planned
from thinned import examples

FIRST_MACHINE = 0x5254_0000_0001  # QEMU's own addresses begin so
CARDS = 0x001E_C900_0000  # hosts' own


def hypervisors(draw):
    """Return a small fabric whose hosts have cards of their own, and take machines at two of them or more."""
    family, dims, options = draw(st.sampled_from(SMALL_FABRICS))
    fabric = make_fabric(family, *dims, **options)
    count = len(fabric.hosts)
    taking = draw(st.sets(st.integers(0, count - 1), min_size=2, max_size=count))
    hosts = (
        replace(host, mac=CARDS + h, prefixes=("52:54:00",) if h in taking else ())
        for h, host in enumerate(fabric.hosts)
    )
    return replace(fabric, hosts=tuple(hosts)), sorted(taking)


def seen_at(fabric, tables, *, change=False):
    """Return what tables of learnt addresses change, as `hosts learn` says it."""
    at = {host.name: host.name for host in fabric.hosts}
    return choose(fabric, learned_addresses(fabric, tables), at, "an address", change=change)


def heard_by_flooding(fabric, state, h, machine):
    """Return whether every other host's frame to a machine at host `h` that no entry names comes there once."""
    for a in fabric.hosts:
        if a is not fabric.hosts[h]:
            sent = Dataplane(fabric, state).unicast(a.name, fabric.hosts[h].name, mac=machine)
            if (sent.delivered_to.get(fabric.hosts[h].name), sent.storm) != (1, "") or not sent.flooded:
                return False
    return True


def proven_rollout(before, fabric):
    """Return the rollout from a build to a fabric of changed addresses, which frames to all that stay are kept by."""
    target, proof, _ = planned(fabric, assignment=before.assignment, keep=before)
    assert proof.proven, [str(finding) for finding in proof.findings]
    rollout = rollout_between(before, target)
    known = {mac for host in fabric.hosts for mac in host.macs}
    stay = {host.name: {mac for mac in host.macs if mac in known} for host in before.fabric.hosts}
    both = replace(
        fabric,
        hosts=tuple(
            replace(host, mac=macs[0], also=macs[1:])
            for host in fabric.hosts
            if (macs := tuple(mac for mac in host.macs if mac in stay[host.name]))
        ),
    )
    for wave in rollout.waves:
        assert frames_arrive(both, wave.state)
    assert frames_arrive(fabric, rollout.waves[-1].state)
    return target


@examples(25)
@given(st.data(), st.sampled_from(["fixed", "renamed"]))
def test_machines_that_start_are_learnt_and_become_a_rollout_of_their_entries(data, assignment):
    fabric, taking = hypervisors(data.draw)
    before, _, _ = planned(fabric, assignment=assignment)
    places = data.draw(st.lists(st.sampled_from(taking), min_size=1, max_size=3))
    machines = {FIRST_MACHINE + i: h for i, h in enumerate(places)}
    plane = Dataplane(fabric, before.state)
    for machine, h in machines.items():
        assert before.duplicates_allowed or heard_by_flooding(fabric, before.state, h, machine)
        plane.broadcast(fabric.hosts[h].name, sender=machine)
    for host in fabric.hosts:
        plane.broadcast(host.name)  # hosts' own addresses are pinned, and not learnt
    changes = seen_at(fabric, {switch.name: plane.learned(switch.name) for switch in fabric.switches})
    assert (changes.changed, changes.unknown, changes.findings) == ((), (), ())
    expected = {fabric.hosts[h].name: (fabric.hosts[h].mac,) for h in machines.values()}
    for machine, h in machines.items():
        expected[fabric.hosts[h].name] += (machine,)
    assert {each.host: each.macs for each in changes.learned} == expected
    proven_rollout(before, with_changes(fabric, changes.learned))


@examples(25)
@given(st.data())
def test_a_machine_that_migrates_is_shown_by_no_table_but_by_a_list_and_becomes_a_rollout(data):
    fabric, taking = hypervisors(data.draw)
    old, new = data.draw(st.permutations(taking))[:2]
    machine, own = FIRST_MACHINE, data.draw(st.booleans())  # whether the hosts have cards of their own that are known
    bare = {old: (machine,)} | ({} if own else {new: (FIRST_MACHINE + 1,)})
    running = replace(
        fabric,
        hosts=tuple(
            replace(host, mac=bare[h][0]) if not own and h in bare else replace(host, also=bare.get(h, ()))
            for h, host in enumerate(fabric.hosts)
        ),
    )
    before, _, _ = planned(running)
    plane = Dataplane(running, before.state)
    plane.broadcast(running.hosts[new].name, sender=machine)
    tables = {switch.name: plane.learned(switch.name) for switch in running.switches}
    assert seen_at(running, tables, change=True).to_write(change=True) == (), "entries pin it at its old place"
    names = {host.name: host.name for host in running.hosts}
    listed = [SeenAddress(machine, "list:1", running.hosts[new].name)]
    shy = choose(running, listed, names, "an address")
    assert (shy.to_write(change=False), len(shy.findings)) == ((), 1)
    changes = choose(running, listed, names, "an address", change=True)
    target = with_changes(running, changes.to_write(change=True))
    assert machine in target.hosts[new].macs
    assert machine not in target.hosts[old].macs
    assert target.hosts[old].invented == (not own)
    proven_rollout(before, target)


A, B = CARDS + 0xA, CARDS + 0xB
MACHINE = FIRST_MACHINE


def chosen(hosts, *rows, change=False, extra=""):
    """Return what rows of (host, address) change in a ring of three hosts, and what findings say."""
    fabric = make_fabric("ring", 3, extra=f"hosts: {{{hosts}}}\n{extra}")
    at = {host.name: host.name for host in fabric.hosts}
    changes = choose(fabric, [SeenAddress(m, f"at-{h}", h) for h, m in rows], at, "an address", change=change)
    return {each.host: each.macs for each in changes.to_write(change=change)}, [str(each) for each in changes.findings]


TAKES = 'mac_prefix: "52:54:00"'
H0 = f'h0: {{mac: "00:1e:c9:00:00:0a", {TAKES}}}'


def test_a_machine_is_no_new_card_of_a_host_that_is_silent():
    assert chosen(H0, ("h0", MACHINE), ("h1", B), ("h2", B + 1))[0]["h0"] == (A, MACHINE)
    assert chosen(H0, ("h0", MACHINE), ("h0", B), ("h1", B + 2), ("h2", B + 1), change=True)[0]["h0"] == (B, MACHINE)


def test_a_host_may_have_a_prefix_alone():
    hosts = f"h0: {{{TAKES}}}, h1: {{mac: [], {TAKES}}}, h2: {{mac: '00:1e:c9:00:00:0b'}}"
    written, found = chosen(hosts, ("h0", MACHINE), ("h0", MACHINE + 1), ("h1", MACHINE + 2))
    assert written == {"h0": (MACHINE, MACHINE + 1), "h1": (MACHINE + 2,)}
    assert found == []


def test_an_address_of_another_beginning_is_named_as_before():
    written, found = chosen(H0, ("h0", A), ("h0", B), ("h1", B + 1), ("h2", B + 2))
    assert "h0" not in written
    assert found == []


def test_a_machine_goes_to_no_host_without_such_a_prefix_nor_of_another_network():
    with_it = f'h0: {{mac: ["00:1e:c9:00:00:0a", "52:54:00:00:00:01"], {TAKES}}}'
    silent = ("h2", B + 2)
    written, found = chosen(with_it, ("h1", MACHINE), silent, change=True)
    assert "h0" not in written
    assert any("that of h0 in the file" in each for each in found)
    other = f"{with_it}, h1: {{mac: '00:1e:c9:00:00:0b', {TAKES}}}"
    assert chosen(other, ("h1", MACHINE), silent, change=True)[0] == {
        "h0": (A,), "h1": (B, MACHINE), "h2": (B + 2,),
    }  # fmt: skip
    written, _ = chosen(other, ("h1", MACHINE), silent, change=True, extra="networks: {one: [h0], two: [h1, h2]}\n")
    assert written == {"h2": (B + 2,)}


def test_a_machine_at_two_hosts_is_named_and_stays():
    with_it = f'h0: {{mac: ["00:1e:c9:00:00:0a", "52:54:00:00:00:01"], {TAKES}}}, h1: {{{TAKES}}}'
    written, found = chosen(with_it, ("h0", MACHINE), ("h1", MACHINE), ("h1", B), ("h2", B + 2), change=True)
    assert written == {"h1": (B,), "h2": (B + 2,)}
    assert any("52:54:00:00:00:01: expected one host" in each for each in found)


def test_a_table_that_machines_overfill_is_refused_with_their_number():
    fabric = make_fabric("ring", 4, hosts=2, model="powerconnect-5324", extra=f"hosts: {{h0: {{{TAKES}}}}}\n")
    seen = [SeenAddress(MACHINE + i, "at-h0", "h0") for i in range(9000)]
    changes = choose(fabric, seen, {host.name: host.name for host in fabric.hosts}, "an address")
    with pytest.raises(PlanError, match="holds at most") as told:
        planned(with_changes(fabric, changes.learned))
    assert "for 8 hosts with 9007 addresses" in str(told.value)


def test_where_switches_do_not_learn_a_list_shows_what_started():
    """Under `pinned`, ports learn nothing: who sends is known by entries."""
    fabric = make_fabric("ring", 3, extra=f"hosts: {{{H0}}}\n")
    before, _, _ = planned(fabric, assignment="pinned")
    plane = Dataplane(fabric, before.state)
    plane.broadcast("h0", sender=MACHINE)
    assert seen_at(fabric, {switch.name: plane.learned(switch.name) for switch in fabric.switches}).learned == ()
    names = {host.name: host.name for host in fabric.hosts}
    changes = choose(fabric, [SeenAddress(MACHINE, "list:1", "h0")], names, "an address")
    proven_rollout(before, with_changes(fabric, changes.learned))


def test_a_new_card_at_a_port_of_several_networks_is_that_of_each():
    networks = "networks: {one: [h0, h1], two: {hosts: [h2], tagged: [h0, h1], vlan: 20}}\n"
    fabric = make_fabric("ring", 3, extra=f"hosts: {{{H0}}}\n{networks}")
    names = {host.name: host.name for host in fabric.hosts}
    seen = [SeenAddress(B, "at-h0", "h0"), SeenAddress(MACHINE, "at-h0", "h0")]
    changes = choose(fabric.one_host_a_port, seen, names, "an address", change=True)
    target = with_changes(fabric, changes.to_write(change=True))
    assert {host.name: host.macs for host in target.hosts if host.name.startswith("h0")} == {
        "h0": (B, MACHINE),
        "h0@two": (B, MACHINE),
    }
    before, _, _ = planned(fabric, routing="auto")
    build, proof, _ = planned(target, routing="auto", keep=before)
    assert proof.proven
    last = rollout_between(before, build).waves[-1].state
    ping = Dataplane(target, last).ping_all()
    assert (ping.pairs, ping.lost, ping.overheard, ping.storm) == (8, (), (), "")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ('mac_prefix: "52:54:0"', '"52:54:0"'),
        ('mac_prefix: ["52:54:00", "52-54-00"]', "52:54:00 twice"),
        ('mac_prefix: "01:00:5e"', "group addresses"),
        ('mac_prefix: "02:00:00:01"', "tagloom makes up"),
        ("mac_prefix: 52:54:00", "text (quote it)"),
        ('mac_prefix: "52:54:00", uplink: true', "none at an uplink"),
        ('mac_prefx: "52:54:00"', "(did you mean mac_prefix?)"),
        ("mac: []", "a MAC address, or several"),
    ],
)
def test_what_is_no_prefix_is_named(said, found):
    with pytest.raises(InputError) as told:
        make_fabric("ring", 3, extra=f"hosts: {{h0: {{{said}}}}}\n")
    assert found in str(told.value)
    assert "hosts.h0" in str(told.value)


def test_prefixes_are_kept_by_the_file_of_a_build_and_by_the_rack(tmp_path):
    fabric = make_fabric("ring", 3, extra=f"hosts: {{{H0}, h1: {{mac: [], mac_prefix: [0242.AC, 52-54-00]}}}}\n")
    assert [host.prefixes for host in fabric.hosts] == [("52:54:00",), ("02:42:ac", "52:54:00"), ()]
    assert fabric.hosts[1].invented
    assert parse_fabric(format_fabric(fabric), "again").hosts == fabric.hosts
    write_order(tmp_path, Order(fabric, ROOT / "templates"))
    assert read_order(tmp_path).fabric.hosts == fabric.hosts
