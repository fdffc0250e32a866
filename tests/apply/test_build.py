"""What a push reads of a build or a rollout before any switch is spoken to, and what it refuses there."""

import json

import pytest

from tagloom.apply.build import between, fabric_file, read_waves, refuse_unallowed
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
