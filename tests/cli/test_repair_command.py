"""What tagloom repair is given wrongly is told at once, and nothing is done."""

import json

from tagloom.cli import main


def test_all_that_is_wrong_is_told_at_once(tmp_path, capsys):
    assert main(["repair", "-i", str(tmp_path / "nowhere"), "--hold", "soon", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["where"] for each in found] == ["--hold", "-i"]


def test_a_fabric_to_which_nothing_was_applied_is_bad_input(tmp_path, capsys):
    (tmp_path / "fabric.yml").write_text("name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3]}\n")
    (tmp_path / "tagloom.yml").write_text("plugin: tagloom.network.fabric\nfabric: fabric.yml\n")
    (tmp_path / "snmp.yml").write_text("version: 2c\ncommunity: public\n")
    assert main(["repair", "-i", str(tmp_path), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["where"] for each in found] == ["repair"]
    assert "tagloom apply" in found[0]["expected"]
