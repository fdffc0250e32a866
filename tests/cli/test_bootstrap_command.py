"""`tagloom bootstrap` writes files to paste, and names the switches for which it knows nothing to paste."""

from dataclasses import replace

from fabrics import make_fabric
from tagloom import platforms
from tagloom.read.fabric_text import format_fabric

WORDS = ("--network", "192.0.2.0/24", "-o", "first")


def written(path, *models):
    """Write a ring of switches of some models, which have addresses."""
    ring = make_fabric("ring", len(models))
    switches = tuple(
        replace(switch, model=model, address=f"192.0.2.{s + 1}")
        for s, (switch, model) in enumerate(zip(ring.switches, models, strict=True))
    )
    ports = tuple(platforms.load(model).ports for model in models)
    path.write_text(format_fabric(replace(ring, switches=switches, ports=ports, shape=None)), "utf-8")
    return path


def test_switches_that_nothing_is_known_to_be_pasted_at_are_named(tmp_path, run, answer, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models = ("powerconnect-5324", "sf-0420g", "sf-0420g")
    fabric = written(tmp_path / "fabric.yml", *models)
    status, page = answer("bootstrap", fabric, *WORDS)
    assert (status, page["left_out"]) == (0, ["s1", "s2"])
    assert [*map(str, page["written"])] == ["first/s0.txt", "first/labels.html"]
    said = run("bootstrap", fabric, *WORDS)[1]
    assert "by hand   s1, s2: tagloom knows no first lines of sf-0420g" in said
    assert "paste" in said
    assert "next" in said


def test_where_nothing_can_be_pasted_nothing_is_named_next(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("bootstrap", written(tmp_path / "fabric.yml", *["sf-0420g"] * 3), *WORDS)[1]
    assert "by hand" in said
    assert "next" not in said
    assert "replace" not in said
