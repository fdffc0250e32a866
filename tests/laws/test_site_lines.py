"""The operator's own lines: rendered by switch, and rejected by file, line and cell if they touch what is planned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT
from strategies import switch_states
from tagloom import platforms
from tagloom.errors import InputError
from tagloom.lab.console import Console
from tagloom.lab.device import Device, UnmanagedConfig
from tagloom.platforms.factory import factory
from tagloom.read import read_fabric
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.change import PORT_CELLS, Cell, difference
from tagloom.records.switch_state import FlowControl, Frames, Membership, PortMode
from tagloom.render import (
    line_changes,
    missing_lines,
    render_commands,
    render_configuration,
    site_commands,
    site_lines,
    with_trusted_lines,
)
from thinned import examples

MODELS = ("powerconnect-5324", "powerconnect-5548", "powerconnect-6248", "powerconnect-7024", "n-series")
EACH_MODEL = pytest.mark.parametrize("model", MODELS)
MAC = 0x0200_0000_0009


def fabric_with(text, model="powerconnect-5324", name="all", extra="", **others):
    fabric = parse_fabric(f"name: row\nmodel: {model}\nshape: {{family: ring, dims: [3]}}\n{extra}", "f.yml")
    files = {name: text, **others}
    return fabric.with_templates(tuple(sorted((f"site/{key}.j2", value) for key, value in files.items())))


def lines_of(text, model="powerconnect-5324", **how):
    return [line.title for line in site_lines(fabric_with(text, model, **how))["s0"]]


def refusals(text, model="powerconnect-5324", **how):
    with pytest.raises(InputError) as refused:
        site_lines(fabric_with(text, model, **how))
    return {finding.where: f"{finding.expected}; {finding.actual}" for finding in refused.value.findings}


# One edit for each cell that a switch has: a cell without one fails the test below.
EDITS = {
    Cell.FLOODING: lambda e: e.flooding.__setitem__(0, False),
    Cell.LEARNING: lambda e: e.learning.__setitem__(0, False),
    Cell.VLAN: lambda e: e.create_vlan(200),
    Cell.VLAN_NAME: lambda e: (e.create_vlan(200), e.name_vlan(200, "office")),
    Cell.MODE: lambda e: e.mode.__setitem__(0, PortMode.GENERAL),
    Cell.MEMBER: lambda e: (e.mode.__setitem__(0, PortMode.GENERAL), e.set_member(1, 1, Membership.TAGGED)),
    Cell.PVID: lambda e: (e.mode.__setitem__(0, PortMode.GENERAL), e.pvid.__setitem__(0, 0)),
    Cell.ENTRY: lambda e: (e.create_vlan(200), e.set_entry(200, MAC, [1])),
    Cell.INGRESS_FILTER: lambda e: (
        e.mode.__setitem__(0, PortMode.GENERAL),
        e.ingress_filter.__setitem__(0, False),
    ),
    Cell.FRAMES: lambda e: (e.mode.__setitem__(0, PortMode.GENERAL), e.frames.__setitem__(0, Frames.TAGGED_ONLY)),
    Cell.ENABLED: lambda e: e.enabled.__setitem__(0, False),
    Cell.NEGOTIATION: lambda e: e.negotiation.__setitem__(0, False),
    Cell.SPEED: lambda e: e.speed_mbps.__setitem__(0, 100),
    Cell.FLOW_CONTROL: lambda e: setattr(e, "flow_control", [FlowControl.ON] * e.ports),
    Cell.EEE: lambda e: setattr(e, "eee", [not each for each in e.eee]),
    Cell.PORT_SPANNING_TREE: lambda e: e.port_spanning_tree.__setitem__(0, False),
    Cell.LAG: lambda e: e.lag.__setitem__(0, e.ports),
    Cell.SPANNING_TREE: lambda e: setattr(e, "spanning_tree", False),
    Cell.AGING: lambda e: setattr(e, "aging_seconds", 77),
    Cell.BPDU_FILTERING: lambda e: setattr(e, "bpdu_filtering", True),
}
NOT_THERE = {  # cells for which a model has no line at all
    Cell.FLOODING: {*MODELS},
    Cell.LEARNING: {*MODELS},
    Cell.BPDU_FILTERING: {"powerconnect-6248", "powerconnect-7024", "n-series"},
    Cell.EEE: {"powerconnect-5324", "powerconnect-6248"},
}


def as_a_page(platform, before, after):
    """Write the lines from one state to another, and with each of those that do something what that is."""
    changes = difference(before, after)
    lines = [line for line in line_changes(platform, changes, before) if line[0] != "exit"]
    return "\n".join(render_commands(platform, changes, before)), lines


def refused_lines(page, model):
    rows = page.splitlines()
    return {rows[int(where.split(":")[1]) - 1]: said for where, said in refusals(page, model).items()}


@EACH_MODEL
@pytest.mark.parametrize("cell", Cell)
def test_a_line_that_changes_a_cell_is_refused_with_file_line_and_cell(cell, model):
    platform = platforms.load(model)
    if model in NOT_THERE.get(cell, ()):
        return
    here, there = factory(platform), factory(platform)
    EDITS[cell](there)
    page, lines = as_a_page(platform, here.freeze(), there.freeze())
    found = refused_lines(page, model)
    assert {line for line, _ in lines} <= set(found)
    of_it = [line for line, changes in lines if any(change.cell is cell for change in changes)]
    assert of_it
    assert all(f" {cell.value}" in found[line] for line in of_it[-1:]), found
    back, lines = as_a_page(platform, there.freeze(), here.freeze())
    found = refused_lines(back, model)
    assert {line for line, _ in lines} <= set(found)
    undone = [line for line, changes in lines if any(change.cell is cell for change in changes)]
    if cell in PORT_CELLS:  # others go with their VLAN
        assert all(f" {cell.value}" in found[line] for line in undone[-1:]), found


@EACH_MODEL
def test_a_line_that_takes_an_entry_away_is_refused(model):
    """Whatever address it names: on a switch without that entry it does nothing."""
    platform = platforms.load(model)
    here = factory(platform)
    here.create_vlan(200)
    there = here.freeze()
    here.set_entry(200, MAC, [1])
    page, lines = as_a_page(platform, here.freeze(), there)
    found = refused_lines(page, model)
    assert lines
    assert all(f" {Cell.ENTRY.value}" in found[line] for line, _ in lines)


@EACH_MODEL
def test_a_block_may_lack_its_exit(model):
    platform, shut = platforms.load(model), factory(platforms.load(model))
    EDITS[Cell.ENABLED](shut)
    page, _ = as_a_page(platform, factory(platform).freeze(), shut.freeze())
    opened = page.splitlines()[0]
    whole = lines_of(f"{opened}\ndescription up\nexit\nhostname a\n", model)
    assert lines_of(f"{opened}\ndescription up\nhostname a\n", model) == whole
    assert len(whole) == 2


@EACH_MODEL
@examples(15)
@given(data=st.data())
def test_whatever_leads_from_one_state_to_another_is_refused_line_by_line(model, data):
    platform = platforms.load(model)
    before, after = data.draw(switch_states(platform)), data.draw(switch_states(platform))
    page, lines = as_a_page(platform, before, after)
    if lines:
        assert {line for line, _ in lines} <= set(refused_lines(page, model))


@EACH_MODEL
def test_users_ntp_snmp_and_descriptions_are_taken_with_switch_fabric_and_site_variables(model):
    text = (
        "{# what all say #}\n! and this is no line\nhostname {{ fabric.name }}-{{ switch.name }}\n"
        "{% for server in site.ntp %}\nsntp server {{ server }}\n{% endfor %}\n"
        "snmp-server community {{ secret.community }} ro\nusername ops password {{ secret['ops'] }} level 15\n"
        "{% for port in switch.ports if port.kind == 'host' %}\n{{ port.interface }}\n"
        '  description "to {{ port.peer }}"\n{% endfor %}\n'
    )
    extra = "site: {ntp: [192.0.2.1]}\nswitches: {s0: {site: {ntp: [192.0.2.9, 192.0.2.8]}}}\n"
    found = lines_of(text, model, extra=extra)
    assert found[:5] == [
        "hostname row-s0",
        "sntp server 192.0.2.9",
        "sntp server 192.0.2.8",
        "snmp-server community ******** ro",
        "username ops password ******** level 15",
    ]
    assert len(found) == 6
    assert found[5].endswith(': description "to h0"')
    assert [line.where for line in site_lines(fabric_with(text, model, extra=extra))["s0"]] == [
        f"templates/site/all.j2:{n}" for n in (3, 5, 5, 7, 8, 11)
    ]


def typed(device, lines):
    """Type configuration lines at a virtual switch's console."""
    console = Console(device)
    console.start()
    login = "lab\nlab\n" if console.family.login_in_shell else ""
    console.feed("\n".join([f"{login}enable", "configure", *lines, ""]))


@EACH_MODEL
def test_what_a_switch_lacks_is_sent_is_shown_afterwards_and_changes_no_cell(model):
    platform = platforms.load(model)
    fabric = fabric_with(
        "hostname b\nsntp server 192.0.2.7\nsnmp-server community {{ secret.c }} ro\nno logging 192.0.2.254\n"
        "{% for port in switch.ports %}\n{{ port.interface }}\ndescription  'to {{ port.peer }}'\n{% endfor %}\n",
        model,
    )
    wanted, secrets = site_lines(fabric)["s0"], {"c": "kellerfalle7"}
    device = Device(
        "s0",
        platform,
        lambda state: render_configuration(platform, state, ROOT / "templates"),
        UnmanagedConfig.born("s0", 0, platform, ()),
    )
    state = device.editor.freeze()
    assert missing_lines(platform, device.running_config(), wanted, secrets) == wanted
    typed(device, [line.replace("<secret:c>", "kellerfalle7") for line in site_commands(platform, wanted)])
    assert missing_lines(platform, device.running_config(), wanted, secrets) == ()
    assert device.editor.freeze() == state
    port = wanted[-1].ports[0]
    typed(device, [wanted[-1].block, "no description", "exit", "logging 192.0.2.254", "hostname c"])
    lacking = missing_lines(platform, device.running_config(), wanted, secrets)
    assert [line.text for line in lacking] == ["hostname b", "no logging 192.0.2.254", wanted[-1].text]
    assert lacking[-1].ports == (port,)


def test_the_families_and_the_models_files_come_after_that_of_all():
    text = {"all": "hostname a\n", "ros": "snmp-server location b\n", "powerconnect-5324": "snmp-server contact c\n"}
    assert lines_of(text.pop("all"), **text) == ["hostname a", "snmp-server location b", "snmp-server contact c"]
    assert lines_of("hostname a\n", "powerconnect-6248", **text) == ["hostname a"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("exit", "leaves the configuration"),
        ("end", "leaves the configuration"),
        ("configure", "leaves or saves"),
        ("copy running-config startup-config", "leaves or saves"),
        ("write memory", "leaves or saves"),
        ("ip address 192.0.2.77 255.255.255.0", "may end the session"),
        ("snmp-server set sysName.0 x", "any object"),
        ("snmp-server  SET sysName.0 x", "any object"),
        ("snmp-server se sysName.0 x", "any object"),
        ("lldp LLDPDU flooding", "keep to themselves"),
        ("COPY running-config startup-config", "leaves or saves"),
        ("Write  memory", "leaves or saves"),
        ("mystery 5", "--trust-foreign"),
        ("no ip telnet", "does not tell whether it is done"),
        ("hostname a?", "gives help"),
        ("hostname Zürich", "plain characters"),
        ("hostname a\tb", "plain characters"),
        (f"hostname {'x' * 200}", "at most 149 characters"),
        ("snmp-server community public ro", "{{ secret.NAME }}"),
        ("username bob password {{ secret.x | upper }}", "without a filter"),
        ("hostname {{ site.name }}", "has no attribute 'name'"),
        ("hostname {{ site }}", "a value of one line expected, not dict"),
        ("{% if %}", "Jinja"),
        ("hostname a\nhostname b", "one line for 'hostname'"),
        ("{% include 'lines.j2' %}", "what a site template is given"),
        ("banner motd #", "--trust-foreign"),
    ],
)
def test_what_cannot_be_sent_or_read_back_is_refused(line, said):
    found = refusals(f"{line}\n")
    assert len(found) == 1
    assert said in next(iter(found.values()))


@pytest.mark.parametrize("value", ["a\\nshutdown", "a\\rshutdown", "a\\u2028b", "\\eb"])
def test_a_value_with_a_line_break_is_refused(value):
    found = refusals("hostname a\nsnmp-server location {{ site.where }}\n", extra=f'site: {{where: "{value}"}}\n')
    assert list(found) == ["templates/site/all.j2:2"]
    assert "a value of one line" in next(iter(found.values()))


def test_a_secret_never_stands_in_a_finding():
    found = refusals("username bob password geheim\nsnmp-server community heimlich ro\nradius-server key still\n")
    assert len(found) == 3
    assert not any(word in text for word in ("geheim", "heimlich", "still") for text in found.values())


@pytest.mark.parametrize("line", ["shut", "SHUTDOWN", "sw mode general", "int ethernet g1", "vl 7"])
def test_a_line_that_begins_like_one_of_tagloom_is_trusted_by_nobody(line):
    opened = "" if line.startswith(("int", "vl")) else "interface ethernet g1\n"
    with pytest.raises(InputError, match="begins like"):
        site_lines(with_trusted_lines(fabric_with(f"{opened}{line}\n")))


def test_an_unknown_line_is_trusted_by_itself_alone_and_by_name():
    fabric = with_trusted_lines(fabric_with("mystery 5\n"))
    assert dict(fabric.templates)["site/trusted.txt"] == "mystery 5\n"
    assert [line.text for line in site_lines(fabric)["s0"]] == ["mystery 5"]
    other = fabric.with_templates((("site/all.j2", "mystery 6\n"), ("site/trusted.txt", "mystery 5\n")))
    with pytest.raises(InputError, match="mystery 6"):
        site_lines(other)


def test_the_example_to_copy_is_taken():
    fabric = read_fabric(ROOT / "inventory/own-lines/fabric.yml")
    found = {name: [line.title for line in lines] for name, lines in site_lines(fabric).items()}
    assert list(found) == ["s0", "s1", "s2", "s3"]
    assert 'snmp-server location "row 5"' in found["s2"]
    assert found["s0"][-2:] == ['interface ethernet g3: description "to h0 "', "sntp unicast client enable"]


def test_a_linux_bridge_is_told_where_its_lines_belong():
    assert "Ansible's own modules" in next(iter(refusals("hostname a\n", "linux-bridge").values()))
    fabric = fabric_with("{% if switch.family != 'linux-bridge' %}\nhostname a\n{% endif %}\n", "linux-bridge")
    assert site_lines(fabric) == {}
