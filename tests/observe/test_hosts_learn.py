"""tagloom hosts learn on a running rack: addresses that switches have learnt go into the operator's fabric file."""

import contextlib
import hashlib
import json
import shutil
from dataclasses import replace

import pytest

from fabrics import ROOT, make_fabric
from tagloom.cli import main
from tagloom.errors import InputError
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.observe.addresses import choose, learn
from tagloom.read import read_fabric
from tagloom.read.fabric_addresses import FabricText
from tagloom.records.addresses import AddressChange, SeenAddress

SHAPE = "shape: {family: ring, dims: [4], parallel: 2}\nswitches: {s1: {model: powerconnect-6224}}\n"
HEAD = f"# ours\nname: four\nmodel: powerconnect-5324\n{SHAPE}"
MACS = {f"h{n}": f"00:1e:c9:00:00:0{n}" for n in range(4)}
STRANGER = "00:1e:c9:00:00:09"
MACHINE = "00:1e:c9:00:00:07"  # of a virtual machine on h3


@contextlib.contextmanager
def sending(home):
    """Give the directory of a running rack from factory, whose hosts have sent, and one that no fabric file has."""
    hosts = "".join(f'  {name}: {{mac: "{mac}"}}\n' for name, mac in MACS.items())
    path = home / "rack.yml"
    path.write_text(f'{HEAD}hosts:\n{hosts}  x: {{switch: s2, port: g20, mac: "{STRANGER}"}}\n')
    process.up(Order(read_fabric(path), ROOT / "templates"), home / "lab")
    with contextlib.redirect_stdout(None):
        assert main(["lab", "ping", "--dir", str(home / "lab")]) == 0
    yield home / "lab"
    process.down(home / "lab")


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    with sending(tmp_path_factory.mktemp("learn")) as directory:
        yield directory


@pytest.fixture
def file(tmp_path):
    """Give a function that writes a fabric file with some words about hosts."""

    def write(hosts, reserved="reserved: {s2: [g20]}\n"):
        path = tmp_path / "f.yml"
        path.write_text(HEAD + reserved + hosts)
        return path

    return write


def macs_of(path):
    return {host.name: host.mac for host in read_fabric(path).hosts}


WANTED = {name: int(mac.replace(":", ""), 16) for name, mac in MACS.items()}


def test_hosts_without_an_address_get_the_one_that_is_learnt_and_the_rest_of_the_file_stays(rack, file, answer):
    path = file("hosts:\n  # the gateway\n  h2: {mac: 001e.c900.0002}   # card of May\n")
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert (status, page["findings"], page["changed"], page["unknown"], page["silent"]) == (0, [], [], [], [])
    learned = {
        "host": "h0",
        "mac": MACS["h0"],
        "macs": [MACS["h0"]],
        "before": None,
        "where": "s0:g5",
        "moved": False,
        "migrated": [],
    }
    assert page["learned"][0] == learned
    assert [each["host"] for each in page["learned"]] == ["h0", "h1", "h3"]
    assert (page["wrote"], page["invented"], page["hosts"]) == (str(path), 0, 4)
    assert path.read_text() == (
        f"{HEAD}reserved: {{s2: [g20]}}\nhosts:\n  # the gateway\n  h2: {{mac: 001e.c900.0002}}   # card of May\n"
        f'  h0: {{mac: "{MACS["h0"]}"}}\n  h1: {{mac: "{MACS["h1"]}"}}\n  h3: {{mac: "{MACS["h3"]}"}}\n'
    )
    assert macs_of(path) == WANTED
    assert not any(host.invented for host in read_fabric(path).hosts)
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert (status, page["learned"], page["wrote"]) == (0, [], "")


def test_check_writes_nothing_and_another_file_is_written_beside(rack, file, answer, tmp_path):
    path = file("")
    before = path.read_bytes(), path.stat().st_mtime_ns
    status, page = answer("hosts", "learn", path, "-i", rack, "--check")
    assert (status, len(page["learned"]), page["wrote"]) == (0, 4, "")
    assert answer("hosts", "learn", path, "-i", rack, "-o", tmp_path / "new.yml")[0] == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert macs_of(tmp_path / "new.yml") == WANTED


def test_another_address_than_the_files_is_named_and_written_when_asked_for(rack, file, answer, run):
    path = file('hosts:\n  h1: {mac: "00:1e:c9:ff:ff:ff"}\n')
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert status == 1
    changed = {"host": "h1", "mac": MACS["h1"], "macs": [MACS["h1"]], "before": "00:1e:c9:ff:ff:ff"}
    assert page["changed"] == [{**changed, "where": "s1:1/g5", "moved": False, "migrated": []}]
    assert [each["where"] for each in page["findings"]] == ["h1 at s1:1/g5"]
    assert macs_of(path) == WANTED | {"h1": 0x001E_C9FF_FFFF}
    status, shown, _ = run("hosts", "learn", path, "-i", rack, "--replace")
    assert status == 0
    assert "changed" in shown
    assert macs_of(path) == WANTED


def test_a_known_address_is_replaced_only_by_one_that_was_shown_before(rack, file, run):
    path = file('hosts:\n  h1: {mac: "00:1e:c9:ff:ff:ff"}\n')
    before = path.read_bytes()
    words = ("hosts", "learn", path, "-i", rack, "--replace")
    status, shown, _ = run(*words)
    assert (status, path.read_bytes()) == (1, before)
    assert "once they were shown" in shown
    path.write_text(path.read_text().replace("ff:ff:ff", "ee:ee:ee"))  # another change than the one that was shown
    assert run(*words)[0] == 1
    assert run(*words)[0] == 0
    assert macs_of(path) == WANTED
    path.write_bytes(before)
    assert run(*words, "--force")[0] == 0
    assert macs_of(path) == WANTED


def test_two_hosts_that_changed_places_are_written_together(rack, file, answer):
    path = file(f'hosts:\n  h0: {{mac: "{MACS["h1"]}"}}\n  h1: {{mac: "{MACS["h0"]}"}}\n')
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert (status, len(page["changed"])) == (1, 2)
    assert answer("hosts", "learn", path, "-i", rack, "--replace")[0] == 0
    assert macs_of(path) == WANTED


def test_an_address_at_a_port_without_a_host_is_named(rack, file, answer):
    path = file("", reserved="")
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert status == 1
    assert page["unknown"] == [{"mac": STRANGER, "where": "s2:g20", "host": "", "name": ""}]
    assert "s2:g20" in page["findings"][0]["where"]
    assert macs_of(path) == WANTED


def test_addresses_that_were_made_up_are_no_hosts_own_where_they_are_met(tmp_path, answer, run):
    """A rack that is started from a file without addresses has those that every command makes up for it."""
    (tmp_path / "f.yml").write_text("name: square\nmodel: powerconnect-5324\nshape: {family: mesh, dims: [2, 2]}\n")
    process.up(Order(read_fabric(tmp_path / "f.yml"), ROOT / "templates"), tmp_path / "lab")
    try:
        process.ping(tmp_path / "lab")
        status, page = answer("hosts", "learn", tmp_path / "f.yml", "-i", tmp_path / "lab")
        said = run("hosts", "learn", tmp_path / "f.yml", "-i", tmp_path / "lab")[1]
    finally:
        process.down(tmp_path / "lab")
    assert (status, page["invented"], page["learned"], page["silent"]) == (1, 4, [], [])
    assert page["made_up"] == ["h0", "h1", "h2", "h3"]
    assert "4 hosts with the address that tagloom made up" in " ".join(said.split())


def test_a_host_of_which_nothing_is_learnt_is_named(rack, file, answer):
    path = file("hosts:\n  h4: {switch: s3, port: g12}\n  h5: {switch: s3, port: g13, mac: '00:1e:c9:00:00:05'}\n")
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert (status, page["silent"], page["invented"]) == (1, ["h4", "h5"], 1)
    assert [each["where"] for each in page["findings"]] == ["h4 at s3:g12"]


def test_a_switch_that_does_not_answer_costs_its_own_hosts(rack, file, answer):
    process.quirks(rack, {"s3": {"mute": True}})
    try:
        path = file("")
        status, page = answer("hosts", "learn", path, "-i", rack, "--timeout", 0.5, "--retries", 0)
    finally:
        process.quirks(rack, {"s3": {"mute": False}})
    assert (status, page["failed"], page["silent"], page["invented"]) == (3, ["s3"], [], 1)
    assert {name: macs_of(path)[name] for name in ("h0", "h1", "h2")} == {n: WANTED[n] for n in ("h0", "h1", "h2")}


def test_bad_input_changes_nothing(rack, file, answer):
    path = file("hosts:\n  h0: &a {mac: '00:1e:c9:ff:ff:ff'}\n  h1: {mac: zz}\n")
    digest = hashlib.sha256(path.read_bytes()).digest()
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert (status, len(page["findings"])) == (2, 1)
    assert hashlib.sha256(path.read_bytes()).digest() == digest


def test_a_file_that_somebody_changed_meanwhile_is_left_alone(file):
    path = file("hosts: {}\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    read = FabricText(path)
    new = [AddressChange(name, mac, None, "") for name, mac in WANTED.items()]
    read.write(new, path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf#")
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n")
    with pytest.raises(InputError, match="changed by somebody else"):
        read.write(new, path)


MOVED = f'hosts:\n  x: {{switch: s3, port: g12, mac: "{STRANGER}"}}  # to be moved\n'
MOVED += "".join(f'  {name}: {{mac: "{mac}"}}\n' for name, mac in MACS.items())


def test_a_host_that_moved_is_named_and_its_place_is_written_when_asked_for(rack, file, answer):
    path = file(MOVED, reserved="")
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert (status, page["unknown"], page["silent"], page["wrote"]) == (1, [], [], "")
    moved = {
        "host": "x",
        "mac": STRANGER,
        "macs": [STRANGER],
        "before": STRANGER,
        "where": "s2:g20",
        "moved": True,
        "migrated": [],
    }
    assert page["changed"] == [moved]
    assert [each["where"] for each in page["findings"]] == ["x at s3:g12"]
    assert answer("hosts", "learn", path, "-i", rack, "--replace")[0] == 0
    assert f'  x: {{switch: "s2", port: "g20", mac: "{STRANGER}"}}  # to be moved\n' in path.read_text()
    assert answer("hosts", "learn", path, "-i", rack)[0] == 0


def test_watching_proposes_a_proven_rollout_for_what_changed_and_no_more(rack, file, answer, tmp_path):
    """One host has another card, one stands elsewhere: their entries change, and every other pair is kept."""
    path = file(MOVED.replace(MACS["h1"], "00:1e:c9:ff:ff:ff"), reserved="")
    assert answer("plan", path, "-o", tmp_path / "build")[0] == 0
    watch = ("hosts", "learn", path, "-i", rack, "--watch", tmp_path / "build", "--proposal", tmp_path / "new")
    before = path.read_bytes()
    status, page = answer(*watch, "--every", "0.1s")
    assert (status, page["wrote"]) == (1, str(tmp_path / "new"))
    assert sorted(each["host"] for each in page["changed"]) == ["h1", "x"]
    rollout = page["rollout"]
    kept, moved = len(MACS) * (len(MACS) - 1), 2 * len(MACS)
    assert [rollout[f"pairs_{what}"] for what in ("kept", "added", "removed")] == [kept, moved, moved]
    assert (rollout["hitless"], rollout["interrupted_pairs"]) == (True, 0)
    lines = "".join(each.read_text() for each in (tmp_path / "new" / "waves").rglob("commands/s0.txt"))
    entries = {line for line in lines.splitlines() if "bridge address" in line}
    assert {line.split("address ")[1][:17] for line in entries} == {MACS["h1"], "00:1e:c9:ff:ff:ff"}
    assert path.read_bytes() == before
    new = read_fabric(tmp_path / "new" / "build" / "fabric.yml")
    assert {host.name: host.mac for host in new.hosts} == WANTED | {"x": int(STRANGER.replace(":", ""), 16)}
    status, proof = answer("verify", tmp_path / "new" / "build")
    assert (status, proof["unreachable_pairs"], proof["deadlock_free"]) == (0, 0, True)


def test_watching_ends_without_a_change_when_told_to(rack, file, answer, tmp_path):
    path = file("hosts:\n" + "".join(f'  {name}: {{mac: "{mac}"}}\n' for name, mac in MACS.items()))
    assert answer("plan", path, "-o", tmp_path / "build")[0] == 0
    watch = ("hosts", "learn", path, "-i", rack, "--watch", tmp_path / "build")
    status, page = answer(*watch, "--proposal", tmp_path / "new", "--every", "0.1s", "--count", 2)
    assert (status, page["changed"], page["wrote"], page["rollout"]) == (0, [], "", {})
    path.write_text(path.read_text().replace(MACS["h0"], "00:1e:c9:ff:ff:ff"))
    status, page = answer(*watch, "--every", "x", "--count", 0, "--check")
    assert status == 2
    assert sorted(each["where"].partition(":")[0] for each in page["findings"]) == sorted(
        ["--check", "--count", "--every", "--watch", str(tmp_path / "build")]
    )


A, B, C = 0x001E_C900_000A, 0x001E_C900_000B, 0x001E_C900_000C


def chosen(*rows, change=False, several=False, extra=""):
    """Give what addresses, as (host, MAC), change in a ring of three hosts, and who is spoken of in findings."""
    fabric = make_fabric("ring", 3, extra=extra)
    seen = [SeenAddress(mac, f"at-{host}", host) for host, mac in rows]
    at = {host.name: host.name for host in fabric.hosts}
    changes = choose(fabric, seen, at, "an address", change=change, several=several)
    return (
        changes,
        {each.host: each.mac for each in changes.to_write(change=change)},
        [finding.where for finding in changes.findings],
    )


OWN = "hosts: {h0: {mac: 00:1e:c9:00:00:0a}, h1: {mac: 00:1e:c9:00:00:0b}}\n"


def test_of_several_addresses_none_is_chosen_but_that_of_the_file_stays():
    changes, written, named = chosen(("h0", A), ("h0", C), ("h1", C + 1), ("h1", C + 2), ("h2", C + 3), extra=OWN)
    assert written == {"h2": C + 3}
    assert named == ["h1"]
    assert [(each.host, each.mac) for each in changes.unknown] == [("h0", C), ("h1", C + 1), ("h1", C + 2)]


def test_an_address_at_two_hosts_is_nobodys():
    changes, written, named = chosen(("h0", A), ("h1", A), ("h2", C))
    assert written == {"h2": C}
    assert named == ["00:1e:c9:00:00:0a"]
    assert changes.changed == ()


def test_no_host_takes_the_address_that_another_keeps():
    """A card of h0 was moved to h2, and h0 is off."""
    _, written, named = chosen(("h1", B), ("h2", A), extra=OWN, change=True)
    assert written == {}
    assert named == ["h2"]


def test_several_takes_all_addresses_of_a_host_beside_those_of_the_file():
    rows = [("h0", A), ("h0", C), ("h1", C + 1), ("h2", C + 3), ("h2", C + 2)]
    changes, _, named = chosen(*rows, extra=OWN, several=True)
    assert {each.host: each.macs for each in changes.learned} == {"h0": (A, C), "h1": (B, C + 1), "h2": (C + 3, C + 2)}
    assert (changes.changed, changes.unknown, named) == ((), (), [])


def test_of_a_host_with_several_addresses_any_may_be_silent_and_a_further_one_is_named():
    own = "hosts: {h0: {mac: [00:1e:c9:00:00:0a, 00:1e:c9:00:00:0b]}}\n"
    changes, written, named = chosen(("h0", B), ("h1", C), extra=own)
    assert (written, named, changes.unknown) == ({"h1": C}, ["h2"], ())
    assert chosen(("h0", C), ("h1", C + 1), ("h2", C + 2), extra=own)[1:] == ({"h1": C + 1, "h2": C + 2}, ["h0"])
    assert chosen(("h0", C), ("h1", B), extra=own, several=True)[1:] == ({"h0": C}, ["h2", "h1"])


def test_uplinks_are_passed_over():
    own = "hosts: {h0: {uplink: true}, h1: {uplink: true, mac: 00:1e:c9:00:00:0b}}\n"
    changes, written, named = chosen(("h0", A), ("h2", C), ("", B), extra=own, several=True)
    assert (written, named, changes.silent) == ({"h2": C}, ["at-"], ())  # at a free port: a stranger, and whose it is
    assert "(that of h1)" in str(changes.findings[0])


@pytest.fixture
def without_snmp(rack, tmp_path, monkeypatch):
    """Give the rack's inventory as somebody has it who has set up no SNMP."""
    monkeypatch.delenv("TAGLOOM_SNMP_COMMUNITY", raising=False)
    monkeypatch.delenv("TAGLOOM_SNMP_USER", raising=False)
    shutil.copytree(rack, tmp_path / "plain", ignore=shutil.ignore_patterns("snmp.yml", "runs", "*.log"))
    return tmp_path / "plain"


def test_where_no_snmp_is_set_up_the_command_lines_own_tables_are_read(rack, file, answer, without_snmp):
    """Rows of both families, also of the lab's 6224; what SNMP shows is what the tables show."""
    over_snmp = answer("hosts", "learn", file(""), "-i", rack)[1]
    path = file("")
    status, page = answer("hosts", "learn", path, "-i", without_snmp)
    assert (status, page["source"], page["over_ssh"], page["findings"]) == (0, "SSH", ["s0", "s1", "s2", "s3"], [])
    assert page["learned"] == over_snmp["learned"]
    assert macs_of(path) == WANTED


def test_a_switch_whose_command_line_shows_no_table_costs_its_own_hosts():
    row = {"mac": "00:1e:c9:00:00:0a", "ifname": "swp3", "vlan": 1, "master": "br0", "state": ""}
    pages = {"s0": "no such command", "s1": json.dumps([row])}, {"s2": "login refused", "s3": "timed out"}
    seen = learn(make_fabric("ring", 4), {}, None, pages=lambda _models: pages)
    assert seen.failed == {"s0": "its page is no table of addresses", "s2": "login refused", "s3": "timed out"}
    assert ([each.host for each in seen.learned], seen.silent, seen.over_ssh) == (["h1"], (), ("s1",))


def test_a_virtual_machine_is_learnt_beside_its_host_when_asked_for(file, answer, tmp_path):
    with sending(tmp_path) as rack:
        _learn_of_a_machine(rack, file, answer)


def _learn_of_a_machine(rack, file, answer):
    mine = read_fabric(rack / "fabric.yml").hosts
    machine = int(MACHINE.replace(":", ""), 16)
    process.plug(rack, [replace(host, also=(machine,)) if host.name == "h3" else host for host in mine])
    answer("lab", "ping", "--dir", rack)
    own = "".join(f'  {name}: {{mac: "{mac}"}}\n' for name, mac in MACS.items())
    path = file(f"hosts:\n{own}")
    status, page = answer("hosts", "learn", path, "-i", rack)
    assert (status, page["learned"], page["unknown"][0]["mac"]) == (0, [], MACHINE)
    status, page = answer("hosts", "learn", path, "-i", rack, "--several")
    assert (status, page["unknown"], page["changed"]) == (0, [], [])
    assert page["learned"] == [
        {
            "host": "h3",
            "mac": MACHINE,
            "macs": [MACS["h3"], MACHINE],
            "before": MACS["h3"],
            "where": "s3:g5",
            "moved": False,
            "migrated": [],
        }
    ]
    assert f'h3: {{mac: ["{MACS["h3"]}", "{MACHINE}"]}}' in path.read_text()
    assert answer("hosts", "learn", path, "-i", rack, "--several")[1]["learned"] == []
