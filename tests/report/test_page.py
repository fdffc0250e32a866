"""The report as a page: what it holds, and that it works in a real browser, by mouse and by keyboard."""

import json
import math
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from browser import Browser

import needs
from fabrics import ROOT, make_fabric, make_irregular
from tagloom.pipeline import read_build
from tagloom.pipeline.reporting import report
from tagloom.platforms import PortWatts
from tagloom.platforms.power import fabric_watts
from tagloom.predict.eee import POWERCONNECT_5548, overhead_seconds
from tagloom.predict.energy import Rates, energy
from tagloom.records.forecast import Interruption
from tagloom.report.html import html_document as render
from tagloom.report.layout import draw
from tagloom.report.panels import energy_facts, energy_groups, energy_verdict, performance_groups
from tagloom.report.terminal import forecast_payload
from waiting import until

pytestmark = pytest.mark.kernel

LU = ROOT / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"
PORT = re.compile(r'class="port p-eee" d="M([\d.]+) ([\d.]+)l[^>]*data-words')
MONDAY = 1_767_614_400.0  # 2026-01-05, noon by UTC


SWITCH = re.compile(r'data-name="(s\d+)"[^>]*><circle cx="([\d.]+)" cy="([\d.]+)"')
LEADS = re.compile(r'<text x="([\d.]+)" y="([\d.]+)">(s\d+)</text>(?!</g>)')


def near(where, x, y):
    """Give the switch that is drawn nearest to a point."""
    return min(where, key=lambda name: math.hypot(where[name][0] - x, where[name][1] - y))


@pytest.fixture(scope="module")
def path(site):
    from tagloom.cli import main  # noqa: PLC0415 - beside its one use

    words = ["report", site / "b1", "-o", site / "r.html", "--traffic", LU, "--seconds", "10"]
    words += ["--settings", site / "night.json", "--rollout", site / "to-night", "--timetable", site / "day.yml"]
    words += ["--price", "0.3", "--currency", "EUR", "--co2", "0.4"]
    assert main([str(word) for word in words]) == 0
    return site / "r.html"


@pytest.fixture(scope="module")
def sleepy(tmp_path_factory):
    """Give the page of eight hosts on switches with EEE: three speak seldom, often and all the time, one is cut off."""
    home = tmp_path_factory.mktemp("sleepy")
    shape = "shape: {family: ring, dims: [4], hosts: 2}"
    (home / "f.yml").write_text(f'name: sleepy\nmodel: powerconnect-5548\neee: "on"\n{shape}\n')
    from tagloom.cli import main  # noqa: PLC0415 - as above

    assert main(["plan", str(home / "f.yml"), "-o", str(home / "b")]) == 0
    rows = "h0,h1,1000,10\nh2,h3,800000,800\nh3,h2,800000,800\nh4,h5,50000000,50000\n"
    (home / "t.csv").write_text(f"# seconds: 1\nsource,destination,bytes,messages\n{rows}")
    watts = {"powerconnect-5548": PortWatts(20.0, {1000: 1.5}, "a meter")}
    found = report(home / "b", at_seconds=MONDAY, traffic_file=home / "t.csv", eee=POWERCONNECT_5548, power=watts)
    away = np.zeros((8, 8))
    away[0, 1:], away[1:, 0], away[5, 6] = 3.2, 3.2, 1.5
    cut = Interruption(away, None, (("move", "a port trains anew", 3.2),), "table 6")
    found = replace(found, forecast=replace(found.forecast, interruption=cut))
    (home / "r.html").write_text(render(found, "now"))
    return home / "r.html", found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    needs.require("chromium")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.mark.slow
def test_the_page_names_nothing_outside_itself(path):
    text = path.read_text("utf-8")
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|src=", text)
    assert "default-src 'none'" in text


def test_every_link_is_there_with_its_state_and_every_wave(path, site):
    text = path.read_text("utf-8")
    off = len(json.loads((site / "night.json").read_text())["off"])
    assert len(re.findall(r'class="link l\d s-off" d="M', text)) == off
    assert len(re.findall(r'<path id="k\d+"', text)) == 64
    waves = json.loads((site / "to-night" / "rollout.json").read_text())["waves"]
    assert [f"{n}. {w['name']}" in text for n, w in enumerate(waves, start=1)] == [True] * len(waves)


def test_what_was_not_given_is_said_to_be_left_out(site, answer):
    status, page = answer("report", site / "b0", "-o", site / "plain.html")
    assert status == 0
    given = [line.rpartition("--")[2] for line in page["left_out"]]
    assert given == ["profile", "rollout", "timetable", "co2"]
    text = (site / "plain.html").read_text()
    assert "Power over the timetable" not in text
    assert "power over the timetable: give --timetable" in text


def test_the_heading_over_energy_and_the_sources_are_of_what_is_there(site, path, run):
    assert '<h2 id="energy-head">Energy, cost and CO2</h2>' in path.read_text("utf-8")
    heads = {"Energy": [], "Energy and cost": ["--price", "0.3"], "Energy and CO2": ["--co2", "0.4"]}
    for head, given in heads.items():
        words = ["--traffic", LU, "--seconds", "10"] if given else []
        assert run("report", site / "b0", "-o", site / "head.html", *words, *given)[0] == 0
        text = (site / "head.html").read_text("utf-8")
        assert f'<h2 id="energy-head">{head}</h2>' in text
        assert "no traffic given" not in text
        assert "<dt>watts before, watts after</dt>" in text


def test_a_profile_splits_the_run_into_computation_and_communication(site, answer):
    profile = ROOT / "tests" / "data" / "profiles" / "cg.S.4.tau"
    status, page = answer("report", site / "b1", "-o", site / "split.html", "--profile", profile)
    assert status == 0
    assert [line.rpartition("--")[2] for line in page["left_out"]] == ["rollout", "timetable", "co2"]
    run = (
        (site / "split.html")
        .read_text()
        .partition("<figcaption>One run of the application")[2]
        .partition("</figure")[0]
    )
    before = [float(width) for width in re.findall(r'class="p[01]" style="width:([\d.]+)%', run)][:2]
    assert before[0] / sum(before) == pytest.approx(1 - 0.065784 / 0.467679, abs=1e-3)  # as the profile says


def test_curves_and_the_day_are_the_models_own_numbers(site):
    found = report(site / "b1", at_seconds=MONDAY, timetable=site / "day.yml")
    for point in found.gaps[::20]:
        assert point.random_wait_seconds == overhead_seconds(point.gap_seconds, POWERCONNECT_5548)
    full = fabric_watts(read_build(site / "b0").fabric)
    night = json.loads((site / "night.json").read_text())["watts_after"]
    assert found.days == ("every day",)
    assert [step.at_seconds for step in found.day] == [0, 6.5 * 3600, 20 * 3600]
    assert found.day[1].links_off == 0
    assert [step.settings for step in found.day] == ["night.json", "all-on", "night.json"]
    assert found.day[2].watts == pytest.approx(night)
    assert found.day[1].watts == pytest.approx(full, rel=0.01)  # slowed links keep their speed in a planned build


def test_the_saving_of_a_timetable_is_said_by_the_year(site):
    """From 06:30 to 20:00 all links are on: 13.5 of 24 hours save nothing."""
    night = json.loads((site / "night.json").read_text())
    kwh = (night["watts_before"] - night["watts_after"]) * 10.5 / 24 * 365.25 * 24 / 1000
    text = render(report(site / "b0", at_seconds=MONDAY, timetable=site / "day.yml"), "now")
    said = re.search(r'<p id="yearly">.*: ([\d,]+) kWh a year', text)[1]
    assert float(said.replace(",", "")) == pytest.approx(kwh, abs=0.51)


def test_the_yearly_saving_of_a_timetable_has_its_cost_and_its_co2(site, path):
    said = re.search(
        r'<p id="yearly">.*: ([\d,]+) kWh a year, ([\d,]+) EUR and ([\d,]+) kg of CO2\.', path.read_text("utf-8")
    )
    kwh, cost, co2 = (float(each.replace(",", "")) for each in said.groups())
    assert cost == pytest.approx(0.3 * kwh, abs=1)
    assert co2 == pytest.approx(0.4 * kwh, abs=1)
    found = report(site / "b0", at_seconds=MONDAY, timetable=site / "day.yml", rates=Rates(0.3))
    assert re.search(r"kWh a year, [\d,]+ of the price's currency\.", unescape(render(found, "now")))
    assert "kWh a year.</p>" in render(report(site / "b0", at_seconds=MONDAY, timetable=site / "day.yml"), "now")


def test_a_timetable_whose_days_differ_is_drawn_for_a_week_by_the_clock_on_the_wall(site):
    """Cron words as `tagloom run` understands them: ranges, weekdays, the timetable's own zone."""
    rules = '- {when: "0 7 * * 1-5", settings: all-on}\n- {when: "30 19 * * *", settings: night.json}\n'
    (site / "week.yml").write_text(f"timezone: Europe/Berlin\nrules:\n{rules}")
    found = report(site / "b0", at_seconds=MONDAY, timetable=site / "week.yml")
    assert found.days == ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    on = [step.at_seconds for step in found.day if step.settings == "all-on"]
    assert on == [(24 * day + 7) * 3600 for day in range(5)]
    assert found.day[0].settings == "night.json"
    assert [step.at_seconds for step in found.day[-2:]] == [(24 * day + 19.5) * 3600 for day in (5, 6)]


def test_a_tree_shown_is_the_links_of_one_vlan_and_reaches_all_switches(site):
    build = read_build(site / "b0")
    found = report(site / "b0", at_seconds=MONDAY)
    assert len(found.trees) == build.vlans + build.protection.detour_vlans
    for links in found.trees.values():
        only = build.fabric.with_links_down(set(range(64)) - set(links))
        assert only.reached(0).all()
        assert len(links) == len(build.fabric.switches) - 1


@pytest.mark.parametrize(
    "fabric",
    [
        make_fabric("mesh", 3, 4, 2),
        make_fabric("hypercube", 5),
        make_fabric("fat-tree", 2, 4, 2),
        make_fabric("dragonfly", 5, 2),
        make_fabric("ring", 7),
        make_irregular([1] * 6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 4)]),
        make_irregular([1, 1], [(0, 1)]),
    ],
    ids=lambda f: f"{f.name}-{len(f.switches)}",
)
def test_no_two_switches_are_drawn_on_each_other_and_all_on_the_sheet(fabric):
    drawn = draw(fabric)
    at = np.array(drawn.points)
    apart = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)) + 1e9 * np.eye(len(at))
    assert apart.min() > 2 * 13  # the circles of two switches
    assert (at >= 0).all()
    assert (at <= (drawn.width, drawn.height)).all()
    assert all(path.startswith("M") for path in drawn.paths)


def test_bad_inputs_are_all_named_at_once(site, answer, tmp_path):
    (tmp_path / "day.yml").write_text(
        'rules:\n- {when: "0 25 * * 1-5", settings: no.json}\n- {when: "7 7 * * *", settings: other.json}\n'
    )
    words = [
        "--price",
        "-1",
        "--settings",
        tmp_path / "no.json",
        "--traffic",
        tmp_path / "no.csv",
        "--rollout",
        site,
        "--timetable",
    ]
    status, page = answer("report", site / "b0", "-o", tmp_path / "r.html", *words, tmp_path / "day.yml")
    assert status == 2
    where = [finding["where"] for finding in page["findings"]]
    assert where == [
        "--price",
        str(tmp_path / "no.json"),
        str(tmp_path / "no.csv"),
        str(site),
        f"{tmp_path / 'day.yml'}: rules[0].settings",
        f"{tmp_path / 'day.yml'}: rules[0].when",
        f"{tmp_path / 'day.yml'}: rules[1].settings",
    ]
    assert not (tmp_path / "r.html").exists()


def test_every_host_port_is_drawn_with_its_state_and_has_its_verdict(sleepy, path):
    """The verdicts are the forecast's own: rare messages may find a sleeping port, dense ones leave it no sleep."""
    text, found = sleepy[0].read_text("utf-8"), sleepy[1]
    assert len(re.findall(r'<path class="port p-eee"[^>]*data-words', text)) == 8
    said = {port.host: port.verdict for port in found.forecast.ports}
    assert (said["h0"], said["h2"], said["h4"]) == ("on", "lengthen", "off")
    for port in found.forecast.ports:
        assert port.reason in unescape(text)
    assert "host ports asleep save" in text
    drawn = draw(found.fabric)
    for link in found.fabric.links:  # the ring's links leave to the sides: no port stands on one
        (ax, ay), (bx, by) = drawn.points[link.a], drawn.points[link.b]
        for x, y in PORT.findall(text):
            there = np.array([float(x) - ax, float(y) + 3.4 - ay])
            along = np.array([bx - ax, by - ay]) / np.hypot(bx - ax, by - ay)
            if 0 < there @ along < 30:
                assert abs(there @ np.array([-along[1], along[0]])) > 5
    assert len(re.findall(r'<circle class="port"[^>]*data-words', path.read_text("utf-8"))) == 16  # 5324s never sleep


def test_sections_about_sleep_are_there_for_models_that_can_sleep_alone(sleepy, path):
    for page, there in ((sleepy[0], True), (path, False)):
        text = page.read_text("utf-8")
        assert [f'id="{name}"' in text for name in ("ports", "eee", "port-table")] == [there] * 3
        assert ("host port EEE" in text, 'href="#ports"' in text) == (there, there)


def test_what_leads_around_an_edge_says_where_it_leads(path):
    """In the 4x4 torus: each switch of an edge has the one of the opposite edge beyond its stubs."""
    text = path.read_text("utf-8")
    where = {name: (float(x), float(y)) for name, x, y in SWITCH.findall(text)}
    leads = {(near(where, float(x), float(y)), name) for x, y, name in LEADS.findall(text)}
    across = {(f"s{4 * n}", f"s{4 * n + 3}") for n in range(4)} | {(f"s{n}", f"s{n + 12}") for n in range(4)}
    assert leads == across | {(b, a) for a, b in across}
    assert len(LEADS.findall(text)) == len(leads)  # once for the two parallel links


def test_a_saving_that_slows_the_run_too_much_is_told_to_cost_more(site):
    """Saravanan et al. 2013: links at 100 Mb/s save watts, but a run ten times as long draws more in the end."""
    found = report(site / "b0", at_seconds=MONDAY, traffic_file=LU, seconds=10.0, settings=site / "night.json")
    less = forecast_payload(found.forecast)
    assert energy_verdict(less) == (True, energy_verdict(less)[1])
    assert "less energy to the end of a run" in energy_verdict(less)[1]
    slow = replace(found.forecast, seconds_predicted=replace(found.forecast.seconds_predicted, value=20.0))
    fabric = found.fabric
    dear = replace(slow, energy=energy(fabric.with_links_up(), fabric, slow, Rates(host_watts=90.0)))
    for watts, shown in ((400.0, True), (2.9e9, False)):
        page = {**less, "break_even_host_watts": watts}
        page["sources"] = {**page["sources"], "break_even_host_watts": "here"}
        assert ("draws over 400 W" in energy_verdict(page)[1]) == shown, "no host draws more than a town"
        assert ("here" in [source for _, _, source in energy_facts(page)]) == shown
    good, words = energy_verdict(forecast_payload(dear))
    assert not good
    assert "costs more than it saves" in words
    assert '<p class="verdict no" id="pays"><strong>NO</strong>' in render(replace(found, forecast=dear), "now")


def test_sleep_that_slows_the_run_too_much_is_told_to_cost_more(sleepy):
    found = sleepy[1]
    assert energy_verdict(forecast_payload(found.forecast))[0]  # of the switches alone, it pays
    slow = replace(found.forecast, seconds_predicted=replace(found.forecast.seconds_predicted, value=1.2))
    hosts = energy(found.fabric, found.fabric, slow, Rates(host_watts=90.0))
    good, words = energy_verdict(forecast_payload(replace(slow, energy=hosts)))
    assert not good
    assert "costs more than it saves" in words


def test_bars_are_as_long_as_their_numbers(path, site):
    found = report(site / "b1", at_seconds=MONDAY, traffic_file=LU, seconds=10.0, rates=Rates(0.3, 0.4))
    page = forecast_payload(found.forecast)
    groups = {group.name: group for group in [*performance_groups(page), *energy_groups(page)]}
    names = ("One run of the application", "Power of all switches", "Energy of one run", "Cost of one run")
    for name, key in zip(names, ("seconds", "watts", "joules", "cost"), strict=True):
        before = page.get(f"{key}_before", page.get("seconds_base"))
        after = page.get(f"{key}_after", page.get({"seconds": "seconds_predicted"}.get(key, key)))
        long = [sum(width for _, width in bar.parts) for bar in groups[name].bars]
        assert long == pytest.approx([100 * x / max(before, after) for x in (before, after)])
        assert name in path.read_text("utf-8")
    assert "CO2 of one run" in groups
    intervals = [bar.interval for group in groups.values() for bar in group.bars if bar.interval]
    assert intervals
    assert not [words for words in intervals if len(set(re.findall(r"[\d.]+", words))) < 2], "both ends read the same"


def test_load_is_shown_of_capacity_and_beside_the_busiest(path):
    """The traffic is a trickle: of capacity it is of the lowest class, beside the busiest link it is of all."""
    text = path.read_text("utf-8")
    links = re.findall(r'class="link l(\d) s-\w+" d="[^"]*" data-relative="(\d)"', text)
    assert len(links) == 64
    assert {level for level, _ in links} == {"0", "1"}
    assert {relative for _, relative in links} >= {"0", "5"}
    legend = text.partition('id="legend-load"')[2].partition("</div>")[0]
    assert re.findall(r"up to ([\d.]+) % of capacity", legend) == ["20", "40", "60", "80", "100"]


def test_no_number_has_an_exponent_and_costs_have_their_currency(path):
    body = re.sub(r"<(style|script)>.*?</\1>", "", path.read_text("utf-8"), flags=re.DOTALL)
    assert re.findall(r"\b\d[\d.]*e[+-]\d+", body) == []
    cost = body.partition("<figcaption>Cost of one run")[2].partition("</figure")[0]
    assert "EUR" in cost


def test_a_currency_is_a_sign_or_a_short_name(site, answer):
    words = ("predict", site / "b1", "--traffic", LU, "--seconds", 10, "--price", "0.3", "--currency")
    assert answer(*words, "€")[1]["currency"] == "€"
    status, page = answer(*words, "<b>")
    assert (status, page["findings"][0]["where"]) == (2, "--currency")


# --- in a browser ----------------------------------------------------------------------------------------------------


def shown(browser, selector):
    return browser.ask(f"document.querySelector({selector!r}).checkVisibility()")


def paper(browser):
    return browser.ask("getComputedStyle(document.body).backgroundColor")


def test_the_mouse_switches_colours_states_and_trees(browser, path):
    browser.open(path)
    assert [url for url in browser.asked if not url.startswith("file:")] == []
    style = "getComputedStyle(document.querySelector('#links .s-off')).strokeDasharray"
    assert browser.ask(style) != "none"  # off is dotted, whatever its colour
    assert shown(browser, "#legend-load")
    thick = "getComputedStyle(document.querySelector('#links [data-relative=\"5\"]')).strokeWidth"
    assert browser.ask(thick) == "2px"
    browser.click("input[name=mode][value=busiest]")
    assert browser.ask(thick) == "6.2px"
    assert shown(browser, "#legend-busiest")
    browser.click("input[name=mode][value=state]")
    assert shown(browser, "#legend-state")
    assert not shown(browser, "#legend-load")
    assert browser.ask("document.querySelector('#drawing').dataset.mode") == "state"
    dashes = [
        browser.ask(f"getComputedStyle(document.querySelector('#links .s-{s}')).strokeDasharray")
        for s in ("on", "off", "slow")
    ]
    assert len(set(dashes)) == 3
    vlan = browser.ask("document.querySelector('#vlan').options[1].value")
    browser.ask("v = document.querySelector('#vlan'); v.selectedIndex = 1; v.dispatchEvent(new Event('change'))")
    count = browser.ask("document.querySelectorAll('#links .in').length")
    assert f"VLAN {vlan} ({count} links)" in browser.ask("document.querySelector('#about').textContent")
    assert count == 15
    browser.click("#more")
    assert browser.ask("document.querySelector('#sheet').scrollWidth > document.querySelector('#sheet').clientWidth")
    browser.click("#less")
    browser.click("#k0")
    assert browser.ask("document.querySelector('#k0').getAttribute('aria-selected')") == "true"


def warm(browser, selector):
    """Return whether a line is red or orange: the colours of a link that is nearly full."""
    stroke = browser.ask(f"getComputedStyle(document.querySelector({selector!r})).stroke")
    red, _, blue = (int(each) for each in re.findall(r"\d+", stroke)[:3])
    return red > blue


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_load_is_alarming_of_capacity_alone(browser, path, site, run, dark):
    """A plan without traffic loads its links evenly, and the busiest link of a trickle is idle: neither is red."""
    assert run("report", site / "b0", "-o", site / "counts.html")[0] == 0
    browser.open(site / "counts.html", dark=dark)
    assert "host pairs" in browser.ask("document.querySelector('#legend-load').textContent")
    assert not warm(browser, "#links .l5")
    assert not warm(browser, "#legend-load .l5")
    browser.open(path, dark=dark)
    assert warm(browser, "#legend-load .l5")
    browser.click("input[name=mode][value=busiest]")
    assert not warm(browser, '#links [data-relative="5"]')
    assert not warm(browser, '#legend-busiest [data-relative="5"]')


def test_the_keyboard_reaches_all_of_it(browser, path):
    browser.open(path)
    reached = []
    for _ in range(30):
        browser.key("Tab", 9)
        reached.append(browser.ask("(e => e.id || e.name || e.tagName)(document.activeElement)"))
    assert [
        word for word in ("theme", "mode", "vlan", "find", "less", "more", "k0", "SUMMARY") if word not in reached
    ] == []
    assert reached.index("vlan") < reached.index("k0") < reached.index("SUMMARY")
    browser.ask("document.querySelector('#k0').focus()")
    first = browser.ask("document.querySelector('#about').textContent")
    browser.key("ArrowRight", 39)
    assert browser.ask("document.activeElement.id") == "k1"
    assert browser.ask("document.querySelector('#about').textContent") != first
    browser.key("End", 35)
    assert browser.ask("document.activeElement.id") == "k63"
    browser.ask("f = document.querySelector('#find'); f.value = 's5'; f.dispatchEvent(new Event('change'))")
    assert "s5:" in browser.ask("document.querySelector('#about').textContent")
    browser.ask("f.value = 'nobody'; f.dispatchEvent(new Event('change'))")
    assert "nobody" in browser.ask("document.querySelector('#about').textContent")


def test_ports_are_sifted_by_verdict_and_any_pair_is_asked_for(browser, sleepy):
    browser.open(sleepy[0])
    rows = "[...document.querySelectorAll('#port-table tbody tr')].filter(r => r.checkVisibility()).length"
    assert browser.ask(rows) == 8
    for verdict in ("on", "off", "lengthen"):
        browser.click(f"input[name=verdict][value={verdict}]")
        assert browser.ask(rows) == sum(port.verdict == verdict for port in sleepy[1].forecast.ports)
    browser.ask("document.querySelector('input[name=verdict]').focus()")
    browser.key("ArrowRight", 39)  # by keyboard: the next of the choices
    assert browser.ask("document.querySelector('input[name=verdict]:checked').value") == "on"
    assert browser.ask("document.querySelector('#between').textContent") == "h0 does not reach h1 for 3.2 s"
    ask = "e = document.querySelector('#{}'); e.selectedIndex = {}; e.dispatchEvent(new Event('change'))"
    for source, destination, words in (
        (5, 6, "h5 does not reach h6 for 1.5 s"),
        (6, 5, "h6 always reaches h5"),
        (6, 6, "the same host"),
    ):
        browser.ask(ask.format("from", source))
        browser.ask(ask.format("to", destination))
        assert browser.ask("document.querySelector('#between').textContent") == words
    browser.ask("document.querySelector('#hosts .port').scrollIntoView({block: 'center'})")
    line = (
        "(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('#hosts .port').getBoundingClientRect())"
    )
    x, y = browser.ask(line)
    browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert browser.ask("document.querySelector('#about').textContent").startswith("h0 at s0:")


def test_dark_follows_the_system_and_the_switch(browser, path):
    browser.open(path, dark=True)
    dark = paper(browser)
    browser.click("input[name=theme][value=light]")
    light = paper(browser)
    assert light != dark
    browser.open(path)
    assert paper(browser) == light
    browser.click("input[name=theme][value=dark]")
    assert paper(browser) == dark


def test_a_phone_never_scrolls_sideways(browser, path, sleepy):
    browser.open(path, width=360, height=740, mobile=True)
    assert browser.ask("document.documentElement.scrollWidth") <= 360
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.click("#more")
    assert browser.ask("document.documentElement.scrollWidth") <= 360
    browser.open(sleepy[0], width=360, height=740, mobile=True)
    assert browser.ask("document.documentElement.scrollWidth") <= 360
    browser.open(path)


@pytest.mark.slow
@pytest.mark.parametrize("side", [20, pytest.param(32, marks=pytest.mark.long)], ids=["400", "1024"])
def test_a_large_fabric_on_a_phone_has_no_names_too_small_to_read_and_finding_one_enlarges_it(
    browser, tmp_path, run, side
):
    run("new", "torus", "--dims", side, side, "-o", tmp_path / "f.yml")
    assert run("plan", tmp_path / "f.yml", "--routing", "tree", "-o", tmp_path / "b")[0] == 0
    assert run("report", tmp_path / "b", "-o", tmp_path / "r.html")[0] == 0
    height = "document.querySelector('[data-name=s210] text').getBoundingClientRect().height"
    visible = "getComputedStyle(document.querySelector('[data-name=s211] text')).visibility"
    browser.open(tmp_path / "r.html", width=390, height=800, mobile=True)
    until(lambda: browser.ask(visible) == "hidden")
    assert shown(browser, "#far")
    browser.ask("(f => { f.value = 's210'; f.dispatchEvent(new Event('change')); })(document.querySelector('#find'))")
    until(lambda: browser.ask(visible) == "visible")
    assert browser.ask(height) >= 5
    assert not shown(browser, "#far")
    assert browser.ask("document.documentElement.scrollWidth") <= 390


def test_it_prints(browser, path):
    browser.open(path, dark=True)
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert not shown(browser, ".controls")
    assert paper(browser) == "rgb(255, 255, 255)"
    assert len(browser.send("Page.printToPDF")["data"]) > 20_000
    browser.send("Emulation.setEmulatedMedia", media="")
