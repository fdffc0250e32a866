"""Ranks of a profile fill hosts by a number on each, in every command that reads traffic."""

import pytest

from fabrics import make_fabric
from tagloom.read.fabric_text import format_fabric

pytestmark = pytest.mark.kernel

HEADER = "src,dst,wire_bytes,wire_msgs\n"
RANKS = HEADER + "0,1,9000,9\n0,2,1000,1\n1,3,500,5\n3,6,200,2\n7,0,800,8\n"  # two on a host: 0 -> 1 stays there
HOSTS = "source,destination,bytes,messages\nh0,h1,1500,6\nh1,h3,200,2\nh3,h0,800,8\n"


@pytest.fixture(autouse=True)
def ring(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.yml").write_text(format_fabric(make_fabric("ring", 4)))
    (tmp_path / "ranks.csv").write_text(RANKS)
    (tmp_path / "hosts.csv").write_text(HOSTS)
    (tmp_path / "places.csv").write_text("".join(f"{rank},h{rank // 2}\n" for rank in range(8)))


def chosen(page):
    """Return a page of regulate without its remarks."""
    return {key: value for key, value in page.items() if key != "remarks"}


def test_two_ranks_on_each_host_are_the_traffic_of_their_hosts(answer):
    words = "regulate", "ring.yml", "--seconds", "60", "--traffic"
    expected = answer(*words, "hosts.csv")
    for more in (
        ["--ranks-per-host", "2"],
        ["--placement", "block", "--ranks-per-host", "2"],
        ["--placement", "places.csv"],
    ):
        status, page = answer(*words, "ranks.csv", *more)
        assert (status, chosen(page)) == (0, chosen(expected[1]))
        assert any(line.startswith("9 messages stay on their hosts") for line in page["remarks"])
    status, page = answer(*words, "ranks.csv")
    assert (status, page["findings"][0]["actual"]) == (2, "8")
    assert "--ranks-per-host" in page["findings"][0]["expected"]


@pytest.mark.parametrize("command", ["plan", "regulate", "timetable", "predict", "report"])
def test_a_number_that_cannot_be_is_a_finding_of_every_command(answer, command):
    status, page = answer("plan", "ring.yml", "-o", "build")
    assert status == 0
    words = {
        "plan": ("ring.yml", "-o", "other", "--traffic"),
        "regulate": ("ring.yml", "--seconds", "60", "--traffic"),
        "timetable": ("ring.yml", "-o", "day.yml", "--traffic"),
        "predict": ("build", "--seconds", "60", "--traffic"),
        "report": ("build", "-o", "page.html", "--seconds", "60", "--traffic"),
    }[command]
    for more in (
        ["--ranks-per-host", "0"],
        ["--ranks-per-host", "1000000"],
        ["--placement", "places.csv", "--ranks-per-host", "2"],
    ):
        status, page = answer(command, *words, "ranks.csv", *more)
        assert status == 2
        wheres = [each["where"] for each in page["findings"]]
        assert "--ranks-per-host" in wheres
        assert "--placement" not in wheres
    status, page = answer(command, *words, "ranks.csv", "--ranks-per-host", "2")
    assert "per host" not in str(page.get("findings"))
