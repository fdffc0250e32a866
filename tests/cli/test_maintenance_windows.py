"""Outside the maintenance windows of its inventory nothing is begun, and the time of the next one is told."""

import pytest

PLAN = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3]}\n"
CLOSED = 'windows:\n- {when: "0 0 29 2 *", hours: 0.01}\n'


@pytest.fixture
def inventory(tmp_path, answer):
    (tmp_path / "fabric.yml").write_text(PLAN)
    (tmp_path / "tagloom.yml").write_text("plugin: tagloom.network.fabric\nfabric: fabric.yml\n")
    assert answer("plan", tmp_path / "fabric.yml", "-o", tmp_path / "b")[0] == 0
    return tmp_path


@pytest.mark.parametrize("command", [["apply", "b"], ["replace", "s0", "--build", "b"]], ids=["apply", "replace"])
def test_nothing_is_begun_outside(inventory, answer, command):
    (inventory / "windows.yml").write_text(CLOSED)
    words = [inventory / word if word == "b" else word for word in command]
    status, page = answer(*words, "-i", inventory)
    assert (status, page["advice"]) == (1, ["--outside-window"])
    assert "maintenance windows" in page["refused"]
    assert "-02-29 00:00" in page["next"]
    assert not (inventory / "runs").exists()


def test_windows_that_cannot_be_read_are_told_with_all_else(inventory, answer):
    (inventory / "windows.yml").write_text('windows:\n- {when: "61 * * * *", hours: 1.0}\n')
    status, page = answer("apply", inventory / "none", "-i", inventory, "--outside-window")
    assert status == 2
    assert len(page["findings"]) > 1
