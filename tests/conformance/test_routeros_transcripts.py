"""A recorded RouterOS console settles what was marked likely by what its menus take, and has nothing of its owner's."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded import faults_of
from tagloom import platforms
from tagloom.cli import main
from tagloom.lab import process
from tagloom.operate.recording_menus import MenuRecorder
from tagloom.platforms.evidence import first_login, settle, settled_by
from tagloom.platforms.family import family, settled_lines
from tagloom.platforms.menu_evidence import PROBE, children, likely_lines, menu_questions
from tagloom.platforms.routeros import EXPORT, HOSTS, RESOURCE
from tagloom.read.transcript_file import read_transcript
from tagloom.records.transcript import HELP, SHOW, TRIED, Page, Transcript

MODEL = "mikrotik-crs326-24g-2s"
FREE = ("--try", "--ports", "ether20,ether21", "--vlans", "3001,3002")
SET_OF_PORTS = ":put [/console inspect as-value request=child path=interface,bridge,port,set]"
FLOODS = ':put [/console inspect as-value request=completion input="/interface bridge port set learn="]'


def record(capsys, rack, file, *words, expect=0):
    status = main(["record", MODEL, "-i", str(rack), "-o", str(file), *words, "--json"])
    shown = capsys.readouterr()
    assert status == expect, shown
    return json.loads(shown.out)


def asked(path):
    return [(page.kind, page.context, page.typed, page.answer) for page in read_transcript(path).pages]


def play(rack, file, changed):
    """Have the switch answer a transcript of which some answers are others."""
    payload = json.loads(file.read_text())
    for page in payload["pages"]:
        page["answer"] = changed.get(page["typed"], page["answer"])
    file.write_text(json.dumps(payload))
    process.play(rack, MODEL, file)


def test_a_transcript_confirms_what_the_menus_take_and_is_played_again(conformance_rack, tmp_path, capsys):
    rack, first, second = conformance_rack, tmp_path / "first.json", tmp_path / "second.json"
    before = process.configurations(rack)
    page = record(capsys, rack, first)
    assert (page["refuted"], page["open"], page["error"], page["firmware"]) == ([], [], "", "7.18")
    assert [each["line"] for each in page["confirmed"]] == likely_lines()
    assert {each["verdict"] for each in page["first_login"]} == {"confirmed"}
    assert process.configurations(rack) == before
    transcript = read_transcript(first)
    assert faults_of(first) == []
    assert [each.typed for each in transcript.pages if each.kind == SHOW] == [EXPORT, RESOURCE, HOSTS]
    assert [each.typed for each in transcript.pages if each.kind == HELP] == [*menu_questions(platforms.load(MODEL))]

    known = children(transcript.answer(HELP, "", SET_OF_PORTS))
    without = ";".join(f"name={name};node-type={kind};type=child" for name, kind in known.items() if name != "learn")
    play(rack, first, {SET_OF_PORTS: [without], FLOODS: ["completion=auto;show=true;completion=[;show=false"]})
    try:
        page = record(capsys, rack, second)
    finally:
        process.play(rack, MODEL, None)
    assert [(each["line"], each["why"]) for each in page["refuted"]] == [("floods", f"{SET_OF_PORTS} has no learn")]
    assert asked(second) == asked(first)
    assert len(faults_of(second)) == 1, "and such a file of a real switch would fail the suite"


def test_a_word_that_stands_behind_no_property_is_refuted(conformance_rack, tmp_path, capsys):
    rack, file = conformance_rack, tmp_path / "first.json"
    record(capsys, rack, file)
    play(rack, file, {FLOODS: ["completion=auto;offset=9;show=true;completion=yes;show=false"]})
    try:
        page = record(capsys, rack, tmp_path / "second.json")
    finally:
        process.play(rack, MODEL, None)
    assert [(each["line"], each["why"]) for each in page["refuted"]] == [("floods", f"{FLOODS} has no yes")]


def test_a_console_that_inspects_nothing_leaves_all_open_and_says_so(conformance_rack, tmp_path, capsys):
    rack, file = conformance_rack, tmp_path / "first.json"
    record(capsys, rack, file)
    payload = json.loads(file.read_text())
    old = {"kind": "help", "context": "", "typed": PROBE, "seconds": 0, "answer": ["bad command name inspect"]}
    file.write_text(json.dumps({**payload, "pages": [*payload["pages"], old]}))
    process.play(rack, MODEL, file)
    try:
        page = record(capsys, rack, tmp_path / "second.json")
    finally:
        process.play(rack, MODEL, None)
    assert [each["line"] for each in page["open"]] == likely_lines()
    assert {each["why"] for each in page["open"]} == {"the console has no /console inspect, which RouterOS 7 has"}
    assert read_transcript(tmp_path / "second.json").answer(HELP, "", SET_OF_PORTS) is None


def test_lines_are_tried_on_what_is_free_read_back_and_undone(conformance_rack, tmp_path, capsys):
    rack, file = conformance_rack, tmp_path / "tried.json"
    before = process.configurations(rack)
    page = record(capsys, rack, file, *FREE)
    assert page["error"] == ""
    assert process.configurations(rack) == before
    tried = [each.typed for each in read_transcript(file).pages if each.kind == TRIED]
    assert any("vlan-ids=3001" in each for each in tried)
    by_trial = [each["line"] for each in page["confirmed"] if each["why"] == "tried, and read back as typed"]
    assert by_trial
    process.quirks(rack, {MODEL: {"reject_line": "pvid=3001"}})
    try:
        page = record(capsys, rack, file, *FREE, expect=3)
    finally:
        process.quirks(rack, {MODEL: {"reject_line": ""}})
    assert "all was undone" in page["error"]
    assert process.configurations(rack) == before
    page = record(capsys, rack, file, "--try", "--ports", "ether20,x9", expect=2)
    assert [each["where"] for each in page["findings"]] == ["--ports", "--try"]


@pytest.mark.parametrize("kind", ["serial", "telnet"])
def test_it_is_recorded_over_a_serial_line_and_telnet_as_over_ssh(conformance_rack, kind, tmp_path, capsys):
    rack, over_ssh, over_line = conformance_rack, tmp_path / "ssh.json", tmp_path / "line.json"
    page = record(capsys, rack, over_line, f"--{kind}", process.console(rack, MODEL)[kind])
    assert (page["refuted"], page["error"]) == ([], "")
    assert page["confirmed"] == record(capsys, rack, over_ssh)["confirmed"]
    assert asked(over_line) == asked(over_ssh)


def test_a_transcript_in_its_place_confirms_what_was_likely(conformance_rack, tmp_path, capsys):
    page = record(capsys, conformance_rack, tmp_path / "s0.json")
    found = settled_by({"s0.json": read_transcript(tmp_path / "s0.json")})["routeros"]
    first = [each["line"] for each in page["first_login"] if each["mark"] == "likely"]
    assert sorted(found) == sorted([*(each["line"] for each in page["confirmed"]), *first])
    before, after = family("routeros")["lines"], settled_lines(family("routeros"), found)["lines"]
    assert {key for key in after if after[key] != before[key]} == {each["line"] for each in page["confirmed"]}
    assert {after[key]["mark"] for key in likely_lines()} == {"confirmed"}


def test_a_menu_that_nobody_has_is_refuted_and_one_that_nobody_asked_stays_open():
    platform = platforms.load(MODEL)
    hosts = ":put [/console inspect as-value request=child path=interface,bridge,host]"
    menu = Page(HELP, "", hosts, "name=host;node-type=dir;type=self;name=add;node-type=cmd;type=child", 0.0)
    transcript = Transcript(MODEL, "routeros", "7.18", "", (menu,))
    verdicts = {each.key: each.verdict for each in settle(platform, transcript)}
    assert {key for key, verdict in verdicts.items() if verdict == "refuted"} == {"entry_moved", "no_entry"}
    assert set(verdicts.values()) == {"refuted", "open"}
    assert {each.verdict for each in first_login(platform, transcript)} == {"open"}


SECRET = st.text("abcdefghjkmnpqrstuvwxyzABCDEFGH0123456789-_%+", min_size=6, max_size=12).map("Z{}9".format)
SHOWN = ("/system identity", "/interface list", "/interface ethernet", "/interface bridge port")
LINES = (
    "/system identity set name={}",
    "/interface list add name={}",
    "/interface ethernet set [ find default-name=ether7 ] comment={}",
    '/interface bridge port add bridge=tagloom comment="{} {}" interface=ether3',
    "/snmp community set [ find default=yes ] name={}",
    '/ppp secret add name={} password="{}"',
    "/interface wireless security-profiles set [ find default=yes ] wpa2-pre-shared-key={}",
    "/ip address add address=10.1.2.3/24 comment={} interface=bridge network=10.1.2.0",
    "/radius add address=10.1.2.4 secret={} service=login",
    "{}",
    "# software id = {}",
    "# serial number = {}",
    '/system script add name={} source=":put {}"',
)


@given(st.data())
def test_no_secret_or_name_of_an_export_is_ever_written_down(data):
    known, used, learnt, lines = data.draw(SECRET), [], [], ["/interface bridge add name=tagloom vlan-filtering=yes"]
    for line in data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6)):
        words = data.draw(st.lists(SECRET, min_size=line.count("{}"), max_size=line.count("{}")))
        used += words
        learnt += words if line.startswith(SHOWN) else []
        lines.append(line.format(*words))
    recorder = MenuRecorder(platforms.load(MODEL), [known])
    recorder.keep(EXPORT, "\n".join(lines) + "\n", 0.1)
    recorder.keep(HOSTS, f" 0    mac-address=00:01:02:03:04:05 on-interface={' '.join(learnt)} {known} 10.9.8.7", 0.1)
    text = json.dumps(recorder.transcript().to_json())
    assert [word for word in (known, *used, "10.1.2.3", "10.9.8.7", "00:01:02") if word in text] == []
