"""Cases from public reports, each under its own name: configurations, pages, lists and profiles that once went wrong.

Inputs stand in `tests/data/public-cases`, a folder each, with where it is from. `test_public_cases_on_wires.py` has the
cases of agents and consoles.
"""

import re
import shutil

import pytest

from fabrics import ROOT, make_fabric
from tagloom import platforms
from tagloom.errors import InputError
from tagloom.observe.address_pages import NO_VLAN, address_page, learnt_on_page
from tagloom.pipeline.proving import prove_what_runs
from tagloom.platforms.detect import by_text
from tagloom.platforms.secrets import scrub
from tagloom.read.host_lists import read_host_list
from tagloom.read.profiles import tau
from tagloom.records.switch_state import Membership
from tagloom.render.parse import read_text

CASES = ROOT / "tests" / "data" / "public-cases"
HOST = 0x021E_C900_0000  # 02:1e:c9:00:00:00, plus a host's number


def text_of(case, name="s.cfg"):
    return (CASES / case / name).read_text("utf-8")


def read(model, case):
    """Return how a configuration is read, and each VLAN's ports: their names, untagged and tagged."""
    platform = platforms.load(model)
    found = read_text(platform, text_of(case), "s", list(range(1, platform.physical_ports + 1)))
    members = {}
    for vlan, row in zip(found.state.vlans.tolist(), found.state.membership.tolist(), strict=True):
        members[vlan] = tuple(
            {platform.port_name(port) for port, how in enumerate(row, start=1) if how == kind}
            for kind in (Membership.UNTAGGED, Membership.TAGGED)
        )
    return found, members


def read_whole(model, case):
    """Return each VLAN's ports of a configuration of which no line may be named; of VLAN 1, those that left it."""
    found, members = read(model, case)
    assert (found.findings, found.unknown_lines) == ((), ())
    untagged, tagged = members.pop(1)
    assert tagged == set()
    return members, set(platforms.load(model).port_names) - untagged


# --- configurations --------------------------------------------------------------------------------------------------


def test_8024f_words_name_their_models_with_a_small_c():
    found = [by_text(line).models for line in text_of("8024f-words", "texts.txt").splitlines()]
    assert found == [("powerconnect-8024f",), ("powerconnect-7048",)]


@pytest.mark.kernel
def test_eos_stp_off_per_vlan_is_named_on_a_ring():
    """The agents report that the last switch blocks a port: that is VLAN 1's tree, which VLAN 7 does not have."""
    fabric = make_fabric("ring", 3, model="arista-7050tx-64")
    texts = {switch.name: text_of("eos-stp-off-per-vlan") for switch in fabric.switches}
    found = prove_what_runs(fabric, texts, ((2, fabric.used_ports[2][1]),))
    assert not found.proven
    assert [(line.switch, line.line, line.text) for line in found.unknown_lines] == [
        (switch.name, number, text)
        for switch in fabric.switches
        for number, text in ((3, "spanning-tree mode rapid-pvst"), (4, "no spanning-tree vlan-id 7"))
    ]


def test_eos_trunk_list_missing_vlan_is_left_out_and_no_line_is_called_refused():
    found, members = read("arista-7050tx-64", "eos-trunk-list-missing-vlan")
    assert (found.findings, found.refused) == ((), ())
    assert [(line.line, line.text) for line in found.unknown_lines] == [(11, "ip address 192.0.2.1/31")]
    everywhere = set(platforms.load("arista-7050tx-64").port_names)
    assert members == {1: (everywhere - {"Et5", "Et6"}, set()), 110: (set(), {"Et5"})}


def test_n4032_ports_are_twenty_four_of_ten_gigabit():
    assert by_text(text_of("n4032-ports")).models == ("n-series:N4032",)
    ports = {"Te1/0/3", "Te1/0/24"}
    assert read_whole("n-series:N4032", "n4032-ports") == ({10: (ports, set())}, ports)


def test_os6_trunk_list_absolute_carries_its_vlans_and_no_other():
    members, left = read_whole("n-series", "os6-trunk-list-absolute")
    assert members == {10: (set(), {"Gi1/0/46"}), 20: (set(), {"Gi1/0/46"}), 30: (set(), set())}
    assert left == set()


def test_os6_vlan_list_wraps_over_lines_that_are_all_read():
    members, left = read_whole("n-series", "os6-vlan-list-wraps")
    on_trunk = {vlan: (set(), {"Gi1/0/1"}) for vlan in (201, 202, 203)}
    assert members == {vlan: (set(), set()) for vlan in (2, 5, 11, 12, 13, 207, 230)} | on_trunk
    assert left == set()


def test_sg_default_trunk_is_a_trunk_without_a_line_that_says_so():
    members, left = read_whole("cisco-sg300-28", "sg-default-trunk")
    assert members == {10: (set(), {"gi26"}), 20: ({"gi26"}, set()), 30: (set(), {"gi26"})}
    assert left == {"gi26"}


def test_sg300_header_is_no_unknown_line():
    assert read_whole("cisco-sg300-28", "sg300-header") == ({10: ({"gi1"}, set())}, {"gi1"})


def test_stack_units_are_read_with_and_without_a_model_that_counts_them():
    ports = {"Gi1/0/3", "Gi2/0/1"}
    assert read_whole("n-series:units=2", "stack-units") == ({10: (ports, set())}, ports)
    found, members = read("n-series", "stack-units")
    assert (found.findings, found.unknown_lines, found.further_ports) == ((), (), ("Gi2/0/1",))
    assert members[10] == (ports, set())
    assert not ports & members[1][0]


def test_scrub_trap_communities_and_keys_are_hidden_and_their_keywords_are_shown():
    secret = text_of("scrub-trap-communities", "lines.txt")
    hidden = re.sub('"?Zx9Secret"?', "<hidden>", secret)
    # hidden too, which may be secrets as well as they may be none
    beside = {"community-group <hidden> grp": "community-group <hidden> <hidden>", '"abc"': "<hidden>"}
    for old, new in beside.items():
        assert hidden.count(old) == 1
        hidden = hidden.replace(old, new)
    assert scrub(secret).splitlines() == hidden.splitlines()


# --- pages, lists and profiles ---------------------------------------------------------------------------------------


def test_eos_mac_table_days_every_row_is_read():
    page = text_of("eos-mac-table-days", "page.txt")
    rows = {(1, HOST + 1): 3, (1, HOST + 2): 4, (1, HOST + 3): 5}
    assert address_page(platforms.load("arista-7050tx-64"), page) == (rows, ())
    assert learnt_on_page(platforms.load("arista-7050tx-64"), page) == rows


@pytest.mark.parametrize(
    ("model", "page", "ports"),
    [("mikrotik-crs326-24g-2s", "routeros.txt", (4, 5)), ("linux-bridge:lan1-4", "fdb.json", (1, 2))],
)
def test_unfiltered_bridge_hosts_are_read_without_a_vlan(model, page, ports):
    rows = {(NO_VLAN, HOST + 1): ports[0], (1, HOST + 2): ports[1]}
    assert address_page(platforms.load(model), text_of("unfiltered-bridge-hosts", page)) == (rows, ())


OURS = 0x001E_C900_0000  # 00:1e:c9:00:00:00, plus a host's number
# the kind of a list, its addresses, and the hosts of the fabric without one
LISTED = {
    "uci": ("openwrt", {"h0": OURS + 1, "h1": OURS + 2}, ["h2", "h3"]),
    "ww.yml": ("warewulf", {"h0": OURS + 1}, ["h1", "h2", "h3"]),
    "xcat.csv": ("xcat", {"h0": OURS + 1, "h0-b": OURS + 0x11, "h1": OURS + 2}, ["h2", "h3"]),
    "arp": ("arp", {"192.0.2.10": OURS + 1, "h1": OURS + 2}, ["h0", "h2", "h3"]),
    "neigh": ("arp", {"192.0.2.10": OURS + 1}, ["h0", "h1", "h2", "h3"]),
}
NO_HOST = "expected a host of the fabric, actual"
STRANGERS = {
    "xcat.csv": [f"xcat.csv:2: {NO_HOST} h0-b, 00:1e:c9:00:00:11"],
    "arp": [f"arp:1: {NO_HOST} 192.0.2.10, 00:1e:c9:00:00:01 (that of h0)"],
    "neigh": [f"neigh:1: {NO_HOST} 192.0.2.10, 00:1e:c9:00:00:01 (that of h0)"],
}


@pytest.mark.parametrize("name", LISTED)
def test_hosts_list_kind_is_told_by_its_text_and_never_an_ansible_inventory(run, tmp_path, name):
    kind, addresses, silent = LISTED[name]
    for each in (name, "fabric.yml"):
        shutil.copy(CASES / "hosts-list-kind" / each, tmp_path)
    found = read_host_list(tmp_path / name)
    assert (found.kind, {each.name: each.mac for each in found.addresses}) == (kind, addresses)
    status, out, error = run("hosts", "import", tmp_path / name, tmp_path / "fabric.yml")
    assert status == 1  # since hosts of the fabric are missing in each of the lists
    assert f"{len(silent)} hosts of which no address was seen: {', '.join(silent)}\n" in out
    strangers = [line for line in (out + error).splitlines() if NO_HOST in line]
    assert [line.removeprefix(f"{tmp_path}/") for line in strangers] == STRANGERS.get(name, [])


def test_tau_multi_metrics_are_one_run_of_which_the_times_are_read():
    both, times = tau(CASES / "tau-multi-metrics"), tau(CASES / "tau-multi-metrics" / "MULTI__TIME")
    assert both == times
    assert (both.ranks, both.seconds, both.communication_seconds) == (2, 5.0, 0.5)
    assert both.cells == {(0, 1): (10_000.0, 10.0), (1, 0): (10_000.0, 10.0)}
    with pytest.raises(InputError, match="expected profiles of wall-clock time in microseconds"):
        tau(CASES / "tau-multi-metrics" / "MULTI__PAPI_TOT_CYC")
