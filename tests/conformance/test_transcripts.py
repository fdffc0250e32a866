"""A recorded console settles what was marked likely, is played again by the rack, and has nothing of its owner's.

Every file in tests/data/transcripts is replayed, and one more where TAGLOOM_TRANSCRIPT names it.
"""

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line.terminal import HEARS_INTERRUPTS
from fabrics import ROOT
from recorded import faults_of
from settle_marks import KEPT, PAGE, page_of
from tagloom import platforms
from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.cli import main
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.operate.recording import ModeRecorder
from tagloom.operate.status import sent_log
from tagloom.platforms.evidence import first_login, settle, settled_by
from tagloom.platforms.family import RELOAD, families, family, relatives, settled_lines
from tagloom.platforms.first_contact import first_lines
from tagloom.platforms.grammar import Grammar
from tagloom.read.transcript_file import read_transcript
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.records.transcript import HELP, SHOW, Page, Transcript
from thinned import daily, few
from waiting import until

pytestmark = pytest.mark.slow

FREE = {
    "powerconnect-5324": "g20,g21",
    "powerconnect-5548": "gi1/0/20,gi1/0/21",
    "powerconnect-6224": "1/g20,1/g21",
    "n-series": "gi1/0/20,gi1/0/21",
    "cisco-cbs350-24t-4g": "gi20,gi21",
    "hpe-5130-24g-4sfp": "GE1/0/20,GE1/0/21",
    "huawei-s5731-s24t4x": "GE0/0/20,GE0/0/21",
}
RECORDED = [*sorted((ROOT / "tests/data/transcripts").glob("*.json"))]
RECORDED += [Path(os.environ["TAGLOOM_TRANSCRIPT"])] if os.environ.get("TAGLOOM_TRANSCRIPT") else []


@pytest.fixture(params=few(FREE, 2))
def model(request):
    return request.param


def record(capsys, rack, model, file, *words, expect=0):
    status = main(["record", model, "-i", str(rack), "-o", str(file), *words, "--json"])
    shown = capsys.readouterr()
    assert status == expect, shown
    return json.loads(shown.out)


@pytest.mark.daily
def test_a_transcript_confirms_what_the_help_knows_and_is_played_again(conformance_rack, model, tmp_path, capsys):
    rack, first, second = conformance_rack, tmp_path / "first.json", tmp_path / "second.json"
    before = process.configurations(rack)
    page = record(capsys, rack, model, first)
    assert page["refuted"] == []
    assert [each["words"] for each in page["open"]] in ([], ["name {name}"])
    assert len(page["confirmed"]) > (4 if "huawei" in model else 10)
    assert process.configurations(rack) == before
    text = first.read_text()
    for private in ("watchtower", "spare-for-plant", "plant", "192.0.2.254", "0" * 31):
        assert private not in text
    transcript = read_transcript(first)
    assert faults_of(first) == []
    assert transcript.manners["erases"]
    assert transcript.manners["login"] == (["User Name:", "Password:"] if "5" in model and model[0] != "h" else [])
    assert transcript.firmware.count(".") >= 2 or transcript.firmware.startswith("V200R")

    unknown = [
        typed for typed in (each["words"].split()[0] for each in page["confirmed"]) if typed not in {"no", "undo"}
    ][-1]
    payload = json.loads(text)
    for each in payload["pages"]:
        if each["kind"] == HELP and each["typed"] == "":
            each["answer"] = [line for line in each["answer"] if line.split()[:1] != [unknown]]
    first.write_text(json.dumps(payload))
    process.play(rack, model, first)
    try:
        page = record(capsys, rack, model, second)
    finally:
        process.play(rack, model, None)
    assert page["refuted"]
    assert all(each["words"].split()[0] == unknown for each in page["refuted"])
    asked = [(p.kind, p.context, p.typed, p.answer) for p in read_transcript(first).pages]
    assert [(p.kind, p.context, p.typed, p.answer) for p in read_transcript(second).pages] == asked


@pytest.mark.parametrize("model", few(FREE, 2, 4))
def test_what_help_says_of_a_reload_and_of_a_first_login_is_recorded(conformance_rack, model, tmp_path, capsys):
    file = tmp_path / "first.json"
    page = record(capsys, conformance_rack, model, file)
    transcript, grammar = read_transcript(file), Grammar.of(platforms.load(model))
    asked = grammar.session.helps
    assert asked, "also where no words are known: they may be there"
    assert None not in [transcript.answer(HELP, "", typed) for typed in asked]
    if grammar.scheduled_reload is not None:
        assert set(grammar.scheduled_reload.offers) <= set(transcript.answer(HELP, "", "reload ").split())
        assert transcript.answer(SHOW, "", "show reload") == "No scheduled reload"
    lines = [each["words"] for each in page["first_login"]]
    of_snmp = (
        "snmp-server user ... tagloom ",
        "snmp-agent usm-user v3 ... tagloom ",
        "snmp-agent usm-user v3 ... group tagloom",
    )
    assert any(line.startswith(of_snmp) for line in lines)
    inside = transcript.manners["prompts"]
    verdicts = {line.name: line.context in inside for line in first_lines(platforms.load(model))}
    assert {each["words"]: each["verdict"] == "confirmed" for each in page["first_login"]} == verdicts
    reasons = {each["why"] for each in page["first_login"] if each["verdict"] == "open"}
    assert reasons <= {*transcript.manners["not_asked"].values()}
    assert set(transcript.manners["prompts"]) >= {"config", "interface", "interface-vlan"}


BLOCKS = {
    "n-series": ("interface vlan 1", "ip address 192.0.2.77 255.255.255.0", "exit"),
    "hpe-5130-24g-4sfp": (
        *("local-user operator7 class manage", "service-type ssh terminal", "quit"),
        *("interface Vlan-interface1", "ip address 192.0.2.77 255.255.255.0", "quit"),
        *("line vty 0 63", "authentication-mode scheme", "quit"),
    ),
    "cisco-cbs350-24t-4g": (
        *("crypto key pubkey-chain ssh", "user-key operator7 rsa", "key-string row AAAAB3NzaC1yc2E", "exit", "exit"),
    ),
}


@pytest.fixture(scope="module")
def rack_with_blocks(tmp_path_factory):
    directory = tmp_path_factory.mktemp("blocks")
    ports = tuple(platforms.load(model).ports for model in BLOCKS)
    fabric = Fabric(
        name="blocks",
        switches=tuple(Switch(model, model) for model in BLOCKS),
        hosts=(Host("h0", 0, 24, 0x02_00_00_00_00_00), Host("h1", 1, 24, 0x02_00_00_00_00_01)),
        links=(Link(0, 1, 1, 1), Link(1, 2, 2, 2)),
        ports=ports,
    )
    process.up(Order(fabric, ROOT / "templates"), directory)
    for model, lines in BLOCKS.items():
        with session(directory, model) as switch:
            switch.send(lines)
    yield directory
    process.down(directory)


def session(rack, model):
    port = process.read_info(rack).ports[model]
    access = Access("127.0.0.1", port, "lab", "lab", known_hosts=str(rack / "known_hosts"), fast_cli=True)
    return SshSwitch(model, platforms.load(model), access)


@pytest.mark.daily
@pytest.mark.parametrize("model", few(sorted(BLOCKS), 0, 1))
def test_help_is_asked_inside_the_blocks_that_are_there_and_none_is_made(rack_with_blocks, model, tmp_path, capsys):
    rack, file = rack_with_blocks, tmp_path / "first.json"
    before = process.configurations(rack)
    page = record(capsys, rack, model, file)
    assert (page["error"], page["refuted"]) == ("", [])
    assert process.configurations(rack) == before
    transcript = read_transcript(file)
    found = {each["words"]: each for each in page["first_login"]}
    users_keys = [each for words, each in found.items() if words.startswith("crypto key pubkey-chain ssh / ")]
    assert {each["verdict"] for each in page["first_login"] if each not in users_keys} >= {"confirmed"}
    opened = {line.opens for line in first_lines(platforms.load(model))} - {"", "interface-vlan"}
    there = {context for context in opened if context in transcript.manners["prompts"]}
    assert there, "one of its blocks was entered"
    assert opened - there == set(transcript.manners["not_asked"])
    for line in first_lines(platforms.load(model)):
        if line.context in there:
            assert found[line.name]["verdict"] == "confirmed"
            assert transcript.answer(HELP, line.context, " ".join([line.typed[0], ""])) is not None
    assert all("take away the key" in each["why"] for each in users_keys if model.startswith("cisco"))
    assert "operator7" not in file.read_text()

    process.play(rack, model, file)
    try:
        again = record(capsys, rack, model, tmp_path / "second.json")
    finally:
        process.play(rack, model, None)
    assert again["first_login"] == page["first_login"]


def test_a_context_that_a_switch_does_not_enter_is_said_to_be_one(conformance_rack, tmp_path, capsys):
    rack, model, file = conformance_rack, "powerconnect-5324", tmp_path / "first.json"
    process.quirks(rack, {model: {"reject_line": "^interface vlan "}})
    try:
        page = record(capsys, rack, model, file)
    finally:
        process.quirks(rack, {model: {"reject_line": ""}})
    assert page["refuted"] == []
    transcript = read_transcript(file)
    assert "bad parameter" in transcript.manners["not_asked"]["interface-vlan"]
    assert [each["words"] for each in page["open"]] == ["no name"]
    assert page["open"][0]["why"] == transcript.manners["not_asked"]["interface-vlan"]
    assert "interface" in transcript.manners["prompts"], "the other blocks are asked all the same"


class AnotherTypes:
    """A console at which, while it is asked, somebody else sends a line to the same switch."""

    def __init__(self, console, other):
        self._console, self._other = console, other

    def __getattr__(self, name):
        return getattr(self._console, name)

    def erases(self):
        with self._other as other:
            other.send(("snmp-server location elsewhere",))
        return self._console.erases()


def test_a_configuration_that_is_another_at_the_end_is_said_to_be_one(rack_with_blocks):
    rack, model = rack_with_blocks, "n-series"
    recorder = ModeRecorder(platforms.load(model))
    with session(rack, model) as console:
        assert recorder.record(console, 20) == ""
    recorder = ModeRecorder(platforms.load(model))
    with session(rack, model) as console:
        said = recorder.record(AnotherTypes(console, session(rack, model)), 20)
    assert said == "the running configuration is another than at the beginning: 0 lines less, 1 more"


def test_a_value_of_a_first_login_is_confirmed_by_help_that_describes_it():
    platform = platforms.load("powerconnect-5324")
    answers = {
        "username ": "  WORD<1-20>   Specify the user name",
        "username word-1 ": "  nopassword\n  password",
        "username word-1 password ": "  WORD<1-159>",
        "username word-1 password login-word-1 ": "  encrypted\n  level\n  <cr>",
        "username word-1 password login-word-1 level ": "  <1-15>  the level",
        "username word-1 password login-word-1 level 15 ": "  <cr>",
    }
    pages = [Page(HELP, "config", typed, answer, 0.0) for typed, answer in answers.items()]
    transcript = Transcript(platform.model, "ros", "", "", (*pages, Page(HELP, "config", "", "  username", 0.0)))
    verdicts = {each.words: each.verdict for each in first_login(platform, transcript)}
    assert verdicts["username ... password ... level 15"] == "confirmed"
    row = {"ros": {"first login: username ... password ... level 15": "s0.json: powerconnect-5324, firmware not said"}}
    assert settled_by({"s0.json": transcript}) == row
    after = settled_lines(family("ros"), row["ros"])["first_lines"]["username ... password ... level 15"]
    assert (after["mark"], after["source"][:8]) == ("confirmed", "s0.json:")


@pytest.mark.parametrize("name", [name for name in families() if family(name).get("first_lines")])
def test_lines_of_a_first_login_that_have_a_mark_are_lines_that_are_typed(name):
    known = [platforms.load(model) for model in platforms.models() if platforms.load(model).grammar]
    typed = {line.name for each in known if name in relatives(each.grammar) for line in first_lines(each)}
    inherited = {words for each in relatives(name)[1:] for words in family(each)["first_lines"]}
    assert set(family(name)["first_lines"]) - inherited <= typed
    assert {each["mark"] for each in family(name)["first_lines"].values()} <= {"confirmed", "confirmed-kin"}
    assert all(each["source"] for each in family(name)["first_lines"].values())


SG300 = {
    "show ": "  reload",
    "reload ": "  cancel\n  in",
    "reload in ": "  <1-999>  minutes",
}


@pytest.mark.parametrize(
    ("helped", "shown", "verdict"),
    [
        ({}, "No scheduled reload", "confirmed"),
        ({}, "Image reload scheduled for later (in 5 minutes)", "open"),
        ({}, "% Unrecognized command", "refuted"),
        ({"reload ": "  slot\n  <cr>"}, "No scheduled reload", "refuted"),
        ({"reload ": ""}, "No scheduled reload", "open"),
        ({"reload in ": "  hour"}, "No scheduled reload", "refuted"),
    ],
)
def test_words_for_a_reload_that_are_likely_are_settled_as_lines_are(helped, shown, verdict):
    platform = platforms.load("cisco-sg300-28")
    pages = [Page(HELP, "", typed, answer, 0.0) for typed, answer in (SG300 | helped).items()]
    transcript = Transcript(
        platform.model, "sg300", "1.4.0.88", "", (*pages, Page(SHOW, "", "show reload", shown, 0.0))
    )
    (found,) = [each for each in settle(platform, transcript) if each.key == RELOAD]
    assert found.verdict == verdict
    before = family("sg300")
    after = settled_lines(before, {RELOAD: "s0.json: cisco-sg300-28"})
    assert (before[RELOAD]["mark"], after[RELOAD]["mark"]) == ("likely", "confirmed")
    assert settled_by({"s0.json": transcript}).get("sg300", {}).keys() == (
        {RELOAD} if verdict == "confirmed" else set()
    )


def test_help_that_lacks_a_word_of_a_first_login_refutes_its_line():
    platform = platforms.load("powerconnect-5324")
    transcript = Transcript(platform.model, "ros", "", "", (Page(HELP, "config", "", "  hostname\n  lldp", 0.0),))
    verdicts = {each.words: each.verdict for each in first_login(platform, transcript)}
    assert verdicts["ip ssh server"] == "refuted"
    assert verdicts["lldp enable"] == "open", "nobody asked what follows"


def test_lines_are_tried_on_what_is_free_read_back_and_undone(conformance_rack, model, tmp_path, capsys):
    rack, file = conformance_rack, tmp_path / "tried.json"
    before = process.configurations(rack)
    free = ["--try", "--ports", FREE[model], "--vlans", "3001,3002"]
    page = record(capsys, rack, model, file, *free)
    assert page["error"] == ""
    assert process.configurations(rack) == before
    assert any("3001" in each.typed for each in read_transcript(file).pages)
    undone, done = sent_log(rack / "runs", 2)
    for each, line in ((done, "3001"), (undone, "no vlan")):
        assert (each["command"], each["state"], each["note"]) == (f"tagloom record {model}", "done", "ssh")
        (row,) = each["switches"]
        assert (row["switch"], row["sent"]) == (model, len(row["lines"]))
        assert any(line in text.replace("undo", "no") for text in row["lines"])
    process.quirks(rack, {model: {"reject_line": "pvid (vlan )?3001"}})
    try:
        page = record(capsys, rack, model, file, *free, expect=3)
    finally:
        process.quirks(rack, {model: {"reject_line": ""}})
    assert "all was undone" in page["error"]
    assert process.configurations(rack) == before


TRIAL = ["--try", "--ports", "g20,g21", "--vlans", "3001,3002"]


@pytest.mark.parametrize(
    ("line", "kind"),
    few(list(itertools.product(["^vlan 3001", "pvid 3001", "^no vlan 3001"], ["drop-before", "drop-after"])), 1, 2),
)
def test_a_trial_whose_session_breaks_is_undone_in_another(conformance_rack, kind, line, tmp_path, capsys):
    rack, name, file = conformance_rack, "powerconnect-5324", tmp_path / "s0.json"
    before = process.configurations(rack)
    process.fault(rack, name, kind, line=line)
    page = record(capsys, rack, name, file, *TRIAL, expect=3)
    assert "all was undone" in page["error"]
    assert process.configurations(rack) == before
    assert read_transcript(file).pages


def test_what_undoes_a_trial_is_said_where_nobody_gets_in_any_more(conformance_rack, tmp_path, capsys):
    rack, name, file = conformance_rack, "powerconnect-5324", tmp_path / "s0.json"
    before, saved = process.configurations(rack), process.configurations(rack, startup=True)
    process.fault(rack, name, "refuse-login", line="^vlan 3001")
    process.fault(rack, name, "drop-after", line="pvid 3001")
    page = record(capsys, rack, name, file, *TRIAL, expect=3)
    process.mend(rack)
    assert "what was tried may be there still: nothing was saved, a reload leads back" in page["error"]
    assert process.configurations(rack) != before
    assert process.configurations(rack, startup=True) == saved
    process.reboot(rack, name)
    assert process.configurations(rack) == before


@pytest.mark.daily
def test_an_interrupt_during_a_trial_is_heard_once_all_is_undone(conformance_rack, tmp_path):
    rack, name = conformance_rack, "powerconnect-5324"
    before = process.configurations(rack)
    process.quirks(rack, {name: {"delay_seconds": 0.03}})
    words = ["record", name, "-i", str(rack), "-o", str(tmp_path / "s0.json"), *TRIAL]
    begun = subprocess.Popen([*HEARS_INTERRUPTS, sys.executable, "-m", "tagloom.cli", *words], cwd=tmp_path)
    try:
        until(lambda: "3001" in process.configurations(rack)[name] or begun.poll() is not None)
        begun.send_signal(signal.SIGINT)
        assert begun.wait(60) == 128 + signal.SIGINT
    finally:
        begun.kill()
        process.quirks(rack, {name: {"delay_seconds": 0.0}})
    assert process.configurations(rack) == before


@pytest.mark.parametrize(("kind", "name"), daily([("serial", "powerconnect-5324"), ("telnet", "powerconnect-6224")], 1))
def test_a_console_is_recorded_over_a_serial_line_and_telnet_as_over_ssh(
    conformance_rack, kind, name, tmp_path, capsys
):
    rack, over_ssh, over_line = conformance_rack, tmp_path / "ssh.json", tmp_path / "line.json"
    before = process.configurations(rack)
    line = [f"--{kind}", process.console(rack, name)[kind]]
    free = ["--try", "--ports", FREE[name], "--vlans", "3001,3002"]
    page = record(capsys, rack, name, over_line, *line, *free)
    assert (page["refuted"], page["error"]) == ([], "")
    assert page["confirmed"] == record(capsys, rack, name, over_ssh, *free)["confirmed"]
    assert process.configurations(rack) == before
    pages = [
        [(p.kind, p.context, p.typed, p.answer) for p in read_transcript(path).pages] for path in (over_line, over_ssh)
    ]
    assert pages[0] == pages[1]
    assert "watchtower" not in over_line.read_text()
    page = record(capsys, rack, name, over_line, "--serial", "/dev/null", "--telnet", "x:y", expect=2)
    assert [each["where"] for each in page["findings"]] == ["--serial", "--telnet"]


def test_what_is_not_free_or_not_there_is_told_at_once(conformance_rack, tmp_path, capsys):
    rack, file = conformance_rack, tmp_path / "none.json"
    page = record(capsys, rack, "powerconnect-5324", file, "--try", "--ports", "g1,x9", expect=2)
    assert [each["where"] for each in page["findings"]] == ["--ports", "--ports", "--try"]
    page = record(capsys, rack, "powerconnect-5324", file, "--try", "--ports", "g20", "--vlans", "1", expect=2)
    assert [each["where"] for each in page["findings"]] == ["--vlans"]
    assert record(capsys, rack, "s9", file, expect=2)["findings"][0]["where"] == "SWITCH"
    assert not file.exists()


def test_a_transcript_in_its_place_confirms_what_was_likely_with_itself_as_the_source(
    conformance_rack, tmp_path, capsys
):
    rack, model = conformance_rack, "powerconnect-5324"
    folder = tmp_path / "kept"
    folder.mkdir()
    page = record(capsys, rack, model, folder / "s0.json")
    rows = [row for row in csv.DictReader(page_of(folder).splitlines()) if row["family"] == "ros"]
    found = {row["line"]: row["source"] for row in rows}
    keys = sorted(each["line"] for each in page["confirmed"])
    first = [each for each in page["first_login"] if each["mark"] == "likely" and each["verdict"] == "confirmed"]
    assert len(first) > 5
    assert sorted(found) == sorted([*keys, *(each["line"] for each in first)])
    before = family("ros")["lines"]
    after = settled_lines(family("ros"), found)["lines"]
    assert {key for key in after if after[key] != before[key]} == set(keys)
    for key in keys:
        assert (before[key]["mark"], after[key]["mark"]) == ("likely", "confirmed")
        assert after[key]["source"].startswith(f"s0.json: {model}, firmware ")
    marks = settled_lines(family("ros"), found)["first_lines"]
    for each in first:
        assert marks[each["words"]]["mark"] == "confirmed"
        assert marks[each["words"]]["source"].startswith(f"s0.json: {model}, firmware ")
    payload = json.loads((folder / "s0.json").read_text())
    payload["pages"] = [each for each in payload["pages"] if each["kind"] != HELP]
    payload["pages"].append({"kind": "tried", "context": "", "typed": "lldp", "seconds": 0, "answer": ["x"]})
    (folder / "s0.json").write_text(json.dumps(payload))
    assert page_of(folder) == "family,line,source\n", "what nobody asked stays likely"


def test_the_page_of_settled_lines_is_what_the_transcripts_say():
    assert PAGE.read_text("utf-8") == page_of(KEPT), "make settle writes it"


SECRET = st.text("abcdefghjkmnpqrstuvwxyzABCDEFGH0123456789-_%+", min_size=6, max_size=12).map("Z{}9".format)
SHOWN = ("username", "snmp-server", "hostname", "enable")  # what other pages show, too
LINES = (
    "username {} password {} level 15 encrypted",
    "snmp-server community {} ro",
    "snmp-server user {} tagloom auth-sha {} priv-aes {}",
    "snmp-server location {} {}",
    "hostname {}",
    "enable password level 15 {}",
    "radius-server host 10.1.2.3 key {}",
    "banner motd {} {}",
    "{}",
    "some line that nobody knows {}",
    "interface ethernet g20\ndescription {} {}\nexit",
    "interface vlan 7\nname {}\nexit",
)


@given(st.data())
def test_no_secret_or_name_of_a_configuration_is_ever_written_down(data):
    platform = platforms.load("powerconnect-5324")
    known, used, learnt, lines = data.draw(SECRET), [], [], ["vlan database", "vlan 7", "exit"]
    for line in data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6)):
        words = data.draw(st.lists(SECRET, min_size=line.count("{}"), max_size=line.count("{}")))
        used += words
        learnt += words if line.startswith(SHOWN) else []
        lines.append(line.format(*words))
    recorder = ModeRecorder(platform, [known])
    recorder.keep("show running-config", "\n".join(lines) + "\n", 0.1)
    page = f"Vlan 7 {' '.join(learnt)} {known}\nSystem Location: {used[0]}\nIP Address..... 10.9.8.7\n"
    recorder.keep("show vlan", page, 0.1)
    text = json.dumps(recorder.transcript().to_json())
    assert [word for word in (known, *used, "10.1.2.3", "10.9.8.7") if word in text] == []


def test_what_real_switches_were_recorded_to_answer_is_read_as_tagloom_reads_it():
    assert {path.name: faults_of(path) for path in RECORDED} == {path.name: [] for path in RECORDED}


def test_help_that_completes_the_last_word_has_lost_a_blank_and_refutes_nothing():
    platform = platforms.load("powerconnect-5324")
    pages = [Page(HELP, "config", "", "  username", 0.0), Page(HELP, "config", "username ", "  username", 0.0)]
    transcript = Transcript(platform.model, "ros", "", "", tuple(pages))
    verdicts = {each.words: (each.verdict, each.why) for each in first_login(platform, transcript)}
    verdict, why = verdicts["username ... password ... level 15"]
    assert (verdict, "blank behind 'username' was lost" in why) == ("open", True)


def test_every_page_says_how_long_its_answer_took(rack_with_blocks):
    ticks = itertools.count()
    recorder = ModeRecorder(platforms.load("n-series"), clock=lambda: float(next(ticks)))
    with session(rack_with_blocks, "n-series") as console:
        recorder.record(console, 20)
    assert {page.seconds for page in recorder.transcript().pages} == {1.0}
