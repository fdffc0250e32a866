"""NetBox: what a real one (4.6.8) answered of a small rack, served again page by page over HTTP on loopback."""

import json
import os
import re
from uuid import uuid4

import pynetbox
import pytest

import needs
from tagloom.read import read_fabric

EXPECTED = """\
  s0: {model: powerconnect-5324, at: [], address: "192.0.2.10"}
  s1: {model: powerconnect-5324, at: [], address: "192.0.2.11"}
  s2: {model: powerconnect-5324, at: []}
  s3: {model: powerconnect-6248, at: []}
hosts:
  node0: {switch: s0, port: "g6", mac: "00:1e:c9:00:00:00"}
  node0-idrac: {switch: s1, port: "g5", mac: "00:1e:c9:00:01:00"}
  node1: {switch: s1, port: "g6", mac: "00:1e:c9:00:00:01"}
  node2: {switch: s2, port: "g6", mac: "00:1e:c9:00:00:02"}
  node3: {switch: s3, port: "1/g6"}
links:
  - {ends: ["s0:g1", "s1:g1"], speed: 100}
  - {ends: [["s0:g2", "s0:g3"], ["s3:1/g2", "s3:1/g3"]], lag: [1, 4]}
  - ["s1:g2", "s2:g1"]
  - {ends: ["s1:g4", "s3:1/g4"], state: down}
  - ["s2:g2", "s3:1/g1"]
"""
REMARKS = {
    ("s0:g4", "cable #7 (planned), which is not: left out"),
    ("s2:g5", "cable to nowhere (connected) ends at pp1:R2: reserved"),
    ("node3:eth0", "none: one is made up"),
}


def test_switches_links_hosts_and_addresses_become_a_fabric_file(run, netbox, tmp_path, monkeypatch):
    """Through a patch panel, aggregated, shut, slower; what leads nowhere keeps its port for itself."""
    monkeypatch.setattr("tagloom.adapters.netbox.PAGE_OBJECTS", 5)
    status, out, _ = run("import", netbox.url, "-o", tmp_path / "f.yml", "--filter", "site=lab", "--json")
    answer = json.loads(out)
    assert (status, answer["switches"], answer["links"], answer["hosts"]) == (1, 4, 5, 5)
    assert {(each["where"], each["actual"]) for each in answer["findings"]} == REMARKS
    text = (tmp_path / "f.yml").read_text()
    assert text.endswith(EXPECTED)
    assert 'reserved:\n  s2: ["g5"]\n' in text
    assert len(netbox.asked) > 10  # pages
    assert all("site=lab" in each or "device_id=" in each for each in netbox.asked)
    assert run("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0


def test_a_directory_of_answers_gives_the_same_file_as_the_netbox(run, netbox, netbox_answers):
    assert run("import", netbox_answers)[1] == run("import", netbox.url)[1]


def test_the_token_is_shown_nowhere_and_goes_to_no_other_server(run, netbox, serve_netbox, monkeypatch):
    other = serve_netbox()
    netbox.next = other.url
    monkeypatch.setattr("tagloom.adapters.netbox.PAGE_OBJECTS", 5)
    status, _, err = run("import", netbox.url)
    assert status == 3
    assert "another server" in err
    assert other.asked == []
    monkeypatch.setenv("TAGLOOM_NETBOX_TOKEN", "nbt_wrong.secret")
    status, out, err = run("import", netbox.url, "--json")
    assert status == 3
    assert "403" in err
    assert "TAGLOOM_NETBOX_TOKEN" in err
    assert "***" in err
    assert "secret" not in out + err


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://netbox.example", "a token over http can be read on the way"),
        ("https://me:secret@netbox.example", "without login or query"),
        ("https://netbox.example?token=secret", "without login or query"),
        ("https://[", "without login or query"),
    ],
)
@pytest.mark.usefixtures("netbox_token")
def test_a_url_that_would_show_a_secret_is_refused(run, url, why):
    status, out, err = run("import", url, "--json", "--filter", "no")
    assert status == 2
    assert why in err
    assert "secret" not in out + err


def test_what_is_asked_speaks_http(run, tmp_path):
    status, _, err = run("export", "netbox-context", tmp_path, "--netbox", "ftp://netbox.example")
    assert (status, "such as https://netbox.example" in err) == (2, True)
    assert "expected a build made by tagloom plan" in err, "with all else that is wrong"


def test_every_fault_of_what_netbox_says_is_told_at_once(run, serve_netbox, netbox_objects, tmp_path):
    for device in netbox_objects["devices"]:
        if device["name"] == "s3":
            device["device_type"] |= {"model": "Ice Cube 9", "slug": "ice-cube-9"}
    for each in netbox_objects["interfaces"]:
        if (each["device"]["name"], each["name"]) == ("s1", "g1"):
            each["name"] = "g77"
        if each["device"]["name"] == "node1":
            each["mac_address"], each["mac_addresses"] = "01:00:5e:00:00:01", []
    netbox = serve_netbox(netbox_objects)
    status, _, err = run("import", netbox.url, "-o", tmp_path / "f.yml")
    assert status == 2
    for where, actual in (("s3", "Dell Ice Cube 9"), ("node1", "01:00:5e:00:00:01"), ("s0:g1 - s1:g77", "'g77'")):
        assert re.search(rf"^{netbox.url}: {where}: expected .*, actual {actual}$", err, re.MULTILINE)
    assert not (tmp_path / "f.yml").exists()
    status, _, err = run("import", netbox.url, "-o", tmp_path / "f.yml", "--model", "powerconnect-6248")
    assert (status, "Ice Cube" in err) == (2, False)


def test_a_cable_that_leads_to_no_port_of_the_kind_it_is_said_to_lead_to_is_left_out(run, netbox_objects, tmp_path):
    plugged = next(
        each for each in netbox_objects["interfaces"] if (each["device"]["name"], each["name"]) == ("s0", "g1")
    )
    assert plugged["connected_endpoints_type"] == "dcim.interface"
    plugged["connected_endpoints"] = []
    for name, page in netbox_objects.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(page))
    status, out, err = run("import", tmp_path, "-o", tmp_path / "f.yml")
    assert status == 1, err
    assert "s0:g1: expected a cable to another port" in out


def test_damaged_answers_are_told_by_file_and_key(run, tmp_path):
    (tmp_path / "devices.json").write_text('{"results": [{"id": "one"}], "next": null}')
    (tmp_path / "interfaces.json").write_text('{"results": [], "next": "https://x"}')
    status, _, err = run("import", tmp_path)
    assert status == 2
    assert "the whole list (?limit=0)" in err
    (tmp_path / "interfaces.json").write_text("[]")
    status, _, err = run("import", tmp_path)
    assert "devices: 0.name: expected this key, actual none" in err


# --- out -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def build(run, netbox_answers, tmp_path):
    """Return a build of what the NetBox has, a link of it off."""
    assert run("import", netbox_answers, "-o", tmp_path / "f.yml")[0] == 1
    assert run("plan", tmp_path / "f.yml", "--off", "s0:g1", "-o", tmp_path / "b")[0] == 0
    return tmp_path / "b"


def test_contexts_say_the_plan_and_where_ports_lead_and_are_written_only_if_asked(run, netbox, build):
    status, out, _ = run("export", "netbox-context", build)
    alone = {each["name"]: each["local_context_data"]["tagloom"] for each in json.loads(out)}
    assert (status, list(alone)) == (0, ["s0", "s1", "s2", "s3"])
    assert alone["s0"]["ports"]["g1"] == {"to": "s1:g1", "state": "down", "mbps": 100}
    assert alone["s0"]["ports"]["g3"] == {"to": "s3:1/g3", "state": "up"}
    assert alone["s3"]["ports"]["1/g6"] == {"to": "node3", "state": "up"}
    status, out, _ = run("export", "netbox-context", build, "--netbox", netbox.url)
    both = {each["name"]: each["local_context_data"] for each in json.loads(out)}
    assert both["s0"] == {"ntp": ["192.0.2.1"], "tagloom": alone["s0"]}
    assert netbox.patched == []


def test_what_others_keep_in_a_context_stays_and_only_what_differs_is_written(run, netbox, build):
    words = ("export", "netbox-context", build, "--netbox", netbox.url, "--write", "--json", "--filter", "site=lab")
    status, out, _ = run(*words)
    assert (status, json.loads(out)["changed"]) == (0, ["s0", "s1", "s2", "s3"])
    sent = {each["id"]: each for each in netbox.patched}
    assert all(set(each) == {"id", "local_context_data"} for each in sent.values())
    context = next(each for each in netbox.objects["devices"] if each["name"] == "s0")["local_context_data"]
    assert (context["ntp"], context["tagloom"]["fabric"]) == (["192.0.2.1"], "imported")
    status, out, _ = run(*words)
    assert (json.loads(out)["changed"], len(netbox.patched)) == ([], 4)


def test_switches_that_a_netbox_does_not_have_are_told_and_nothing_is_written(run, netbox, build):
    netbox.objects["devices"] = [each for each in netbox.objects["devices"] if each["name"] not in {"s1", "s3"}]
    status, _, err = run("export", "netbox-context", build, "--netbox", netbox.url, "--write")
    assert status == 2
    assert [f"{netbox.url}: {name}: expected one device, actual 0" in err for name in ("s1", "s3")] == [True, True]
    assert netbox.patched == []
    assert run("export", "dot", build, "--write")[0] == 2
    assert run("export", "netbox-context", build, "--write")[0] == 2


def test_addresses_of_hosts_are_taken_from_a_netbox(run, netbox, tmp_path):
    """Of the devices that the fabric file has as hosts; a management controller's is left out."""
    text = "name: mine\nmodel: powerconnect-5324\nswitches: {s0: {}}\n"
    text += "hosts: {node0: {switch: s0, port: g1}, node3: {switch: s0, port: g2}}\n"
    (tmp_path / "f.yml").write_text(text)
    status, out, _ = run("hosts", "import", netbox.url, tmp_path / "f.yml", "--json")
    answer = json.loads(out)
    assert (status, [each["host"] for each in answer["learned"]], answer["silent"]) == (1, ["node0"], ["node3"])
    assert read_fabric(tmp_path / "f.yml").hosts[0].mac == 0x001EC9000000


# --- a real one ------------------------------------------------------------------------------------------------------


@pytest.fixture
def real():
    """Return a NetBox of NETBOX_URL, with a triangle of switches, a host at each, in a site of their own."""
    needs.require("NetBox", "a token for NetBox")
    url = os.environ["NETBOX_URL"]
    api = pynetbox.api(url, token=os.environ["TAGLOOM_NETBOX_TOKEN"])
    name = f"tagloom-{uuid4().hex[:8]}"
    words = {"name": name, "slug": name}
    site, maker = api.dcim.sites.create(**words), api.dcim.manufacturers.create(**words)
    roles = [api.dcim.device_roles.create(name=f"{r} {name}", slug=f"{r}-{name}") for r in ("switch", "server")]
    kinds = [
        api.dcim.device_types.create(manufacturer=maker.id, model=model, slug=f"{name}-{n}")
        for n, model in enumerate(("PowerConnect 5324", "PowerEdge"))
    ]
    ports = {}

    def device(called, kind, names):
        made = api.dcim.devices.create(
            name=f"{name}-{called}", site=site.id, role=roles[kind].id, device_type=kinds[kind].id, status="active"
        )
        for port in names:
            ports[called, port] = api.dcim.interfaces.create(device=made.id, name=port, type="1000base-t")
        return made

    def cable(one, other):
        ends = [[{"object_type": "dcim.interface", "object_id": ports[end].id}] for end in (one, other)]
        api.dcim.cables.create(a_terminations=ends[0], b_terminations=ends[1], status="connected")

    switches = [device(f"s{n}", 0, ("g1", "g2", "g3")) for n in range(3)]
    for n in range(3):
        device(f"h{n}", 1, ("eth0",))
        mac = f"00:1E:C9:00:00:0{n}"
        api.dcim.mac_addresses.create(
            mac_address=mac, assigned_object_type="dcim.interface", assigned_object_id=ports[f"h{n}", "eth0"].id
        )
        cable((f"s{n}", "g1"), (f"s{(n + 1) % 3}", "g2"))
        cable((f"s{n}", "g3"), (f"h{n}", "eth0"))
    switches[0].update({"local_context_data": {"ntp": ["192.0.2.1"]}})
    return url, name, api


def test_a_real_netbox_gives_a_fabric_and_takes_the_plan_of_it(real, run, tmp_path):
    url, name, api = real
    words = ("import", url, "-o", tmp_path / "f.yml", "--filter", f"site={name}", "--json")
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    assert [json.loads(out)[key] for key in ("switches", "links", "hosts")] == [3, 3, 3]
    fabric = read_fabric(tmp_path / "f.yml")
    assert sorted(host.mac for host in fabric.hosts) == [0x001EC9000000 + n for n in range(3)]
    assert {switch.model for switch in fabric.switches} == {"powerconnect-5324"}
    assert run("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    words = (
        "export",
        "netbox-context",
        tmp_path / "b",
        "--netbox",
        url,
        "--filter",
        f"site={name}",
        "--write",
        "--json",
    )
    status, out, _ = run(*words)
    assert (status, json.loads(out)["changed"]) == (0, [f"{name}-s{n}" for n in range(3)])
    kept = api.dcim.devices.get(name=f"{name}-s0").local_context_data
    assert kept["ntp"] == ["192.0.2.1"]
    assert kept["tagloom"]["ports"]["g1"] == {"to": f"{name}-s1:g2", "state": "up"}
    assert json.loads(run(*words)[1])["changed"] == []
    assert run("hosts", "import", url, tmp_path / "f.yml", "--check")[0] == 0
