"""What a push reads of a build or a rollout before any switch is spoken to, and what it refuses there."""

import json

import pytest

from fabrics import make_fabric
from tagloom.apply.build import (
    between,
    digest,
    duplicates_allowed,
    fabric_file,
    flooding,
    left_alone,
    own_wave,
    ports_of,
    proven_texts,
    pruned_of,
    read_waves,
    refuse_unallowed,
)
from tagloom.errors import InputError


@pytest.fixture
def build(tmp_path):
    """Write a rollout of two waves on three switches; s2 is changed by the second alone, most of all s1."""
    texts = {
        "before": {"s0": "a\n", "s1": "a\n", "s2": "a\n"},
        "waves/1": {"s0": "b\n", "s1": "b\nc\nd\n", "s2": "a\n"},
        "waves/2": {"s0": "b\n", "s1": "b\nc\nd\n", "s2": "z\n"},
    }
    for folder, configs in texts.items():
        (tmp_path / folder).mkdir(parents=True)
        for name, text in configs.items():
            (tmp_path / folder / f"{name}.cfg").write_text(text)
    write(tmp_path)
    return tmp_path


def write(build, *, paused=False, save=()):
    waves = [{"name": f"w{n}", "configs": f"waves/{n}", "paused": paused, "drain_seconds": n} for n in (1, 2)]
    (build / "rollout.json").write_text(json.dumps({"before": "before", "waves": waves, "save": list(save)}))


def findings(raised):
    return [(finding.where.rpartition("/")[2], finding.expected, finding.actual) for finding in raised.value.findings]


def test_a_wave_reaches_for_what_it_changes_those_with_the_most_lines_first(build):
    waves = read_waves(build)
    assert [(wave.number, wave.switches) for wave in between(waves, 1, 0, check=False)] == [
        (1, ("s1", "s0")),
        (2, ("s2",)),
    ]
    assert [(wave.number, wave.switches) for wave in between(waves, 2, 2, check=False)] == [(2, ("s2",))]
    own = own_wave(waves, 3)
    assert (own.configs, own.only_own) == (build / "waves/2", True)


def test_a_wave_says_what_it_is_between_and_pauses_nobody_unless_it_is_said(build):
    page = json.loads((build / "rollout.json").read_text())
    del page["waves"][0]["paused"]
    page["waves"][1] |= {"paused": True, "fabrics": ["old.yml", "new.yml"]}
    (build / "rollout.json").write_text(json.dumps(page))
    first, second = read_waves(build)
    assert [(each.paused, each.only_own, each.fabrics) for each in (first, second)] == [
        (False, False, ()),
        (True, False, (build / "old.yml", build / "new.yml")),
    ]
    (build / "rollout.json").unlink()
    (build / "configs").mkdir()
    (alone,) = read_waves(build)
    assert (alone.configs, alone.paused, alone.only_own) == (build / "configs", False, False)


def test_what_must_be_saved_goes_first_and_a_look_reaches_for_all_and_needs_no_save(build):
    write(build, save=["s2"])
    waves = read_waves(build)
    assert [(wave.number, wave.switches) for wave in between(waves, 2, 0, check=False)] == [(0, ("s2",)), (2, ("s2",))]
    assert [(wave.number, wave.switches) for wave in between(waves, 1, 0, check=True)] == [(1, None), (2, None)]


def test_a_wave_without_texts_and_a_switch_that_nobody_knows_the_state_of_are_refused_at_once(build):
    (build / "waves/1/s9.cfg").write_text("a\n")
    (build / "before/s0.cfg").unlink()
    with pytest.raises(InputError) as raised:
        read_waves(build)
    rule = "what each switch holds before the wave that changes it"
    assert findings(raised) == [("rollout.json", rule, f"no {build}/before/{name}.cfg") for name in ("s0", "s9")]
    (build / "waves/2").rename(build / "gone")
    with pytest.raises(InputError) as raised:
        read_waves(build)
    assert findings(raised)[0] == ("rollout.json", "a directory of configurations", f"no {build}/waves/2")


def test_what_is_neither_build_nor_rollout_is_refused(tmp_path):
    with pytest.raises(InputError, match="neither"):
        read_waves(tmp_path)


def test_by_ansible_alone_a_build_needs_leave_to_interrupt_and_a_rollout_that_pauses_any_leave(build):
    refuse_unallowed(build, "")
    write(build, paused=True)
    refuse_unallowed(build, "drain")
    with pytest.raises(InputError) as raised:
        refuse_unallowed(build, "")
    assert findings(raised) == [("tagloom_apply_allow", "drain: this rollout pauses hosts", "''")]
    (build / "rollout.json").unlink()
    refuse_unallowed(build, "interrupt")
    for allow in ("", "drain"):
        with pytest.raises(InputError, match="not proven hitless"):
            refuse_unallowed(build, allow)


def test_a_rollout_between_two_fabrics_is_for_its_own_any_other_for_its_builds(build):
    assert fabric_file(build) == build / "build/fabric.yml"
    (build / "fabric.yml").write_text("")
    assert fabric_file(build) == build / "fabric.yml"
    (build / "rollout.json").unlink()
    (build / "fabric.yml").unlink()
    assert fabric_file(build) == build / "fabric.yml"


def test_a_rollout_names_what_more_it_touches_what_it_leaves_and_after_which_waves_switches_learn(build):
    page = json.loads((build / "rollout.json").read_text())
    pruned = [{"switch": "s0", "vlan": vlan, "port": port} for vlan, port in ((7, 1), (8, 2))]
    more = {"ports": {"s0": [1, 9], "s7": [3]}, "left": "left", "pruned": pruned, "broadcast_duplicates_allowed": True}
    page["waves"][1]["floods"] = True
    (build / "rollout.json").write_text(json.dumps(page | more))
    (build / "left").mkdir()
    for name in ("s8", "s7"):
        (build / "left" / f"{name}.cfg").write_text("")
    fabric = make_fabric("ring", 3)
    own = dict(zip(["s0", "s1", "s2"], map(tuple, fabric.used_ports), strict=True))
    assert ports_of(build, fabric) == own | {"s0": (1, 9)}
    assert pruned_of(build) == {"s0": ((7, 1), (8, 2))}
    assert left_alone(build) == ("s7", "s8")
    assert flooding(build) == {2}
    assert duplicates_allowed(build)
    (build / "rollout.json").unlink()
    assert ports_of(build, fabric) == own
    assert (pruned_of(build), left_alone(build), flooding(build)) == ({}, (), frozenset())
    assert not duplicates_allowed(build)


@pytest.mark.parametrize("broadcast", ["flood", "static-arp"])
def test_a_build_allows_duplicates_where_addresses_are_static(build, broadcast):
    (build / "rollout.json").unlink()
    summary = {"assignment": "fixed", "vlans": 1, "broadcast": broadcast}
    (build / "plan.json").write_text(json.dumps({"routes": {"method": "m", "reason": "r"}, "summary": summary}))
    assert duplicates_allowed(build) is (broadcast == "static-arp")


def test_texts_are_those_that_were_proven_or_refused(build):
    texts = {name: f"{name}\n" for name in ("s0", "s1")}
    for name, text in texts.items():
        (build / "before" / f"{name}.cfg").write_text(text)
    proven = digest(texts, ())
    assert proven_texts(build / "before", ["s0", "s1"], proven, ()) == texts
    assert proven_texts(build / "before", ["s0", "s9"], "", ()) == {"s0": "s0\n"}
    for switches, templates in ((["s0"], ()), (["s0", "s1"], [("all.j2", "x")])):
        with pytest.raises(InputError, match="were proven"):
            proven_texts(build / "before", switches, proven, templates)
    assert len({digest({"a": "bc"}, ()), digest({"ab": "c"}, ()), digest({}, [("a", "bc")]), proven}) == 3
