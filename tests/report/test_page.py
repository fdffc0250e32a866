"""The report as a page: what it holds, and that it works in a real browser, by mouse and by keyboard."""

import json
import re

import numpy as np
import pytest
from browser import Browser, chromium

from fabrics import ROOT, make_fabric, make_irregular
from tagloom.pipeline import read_build
from tagloom.pipeline.reporting import report
from tagloom.platforms.power import fabric_watts
from tagloom.predict.eee import POWERCONNECT_5548, overhead_seconds
from tagloom.report.layout import draw

LU = ROOT / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"
APT = "no Chromium:  sudo apt install --no-install-recommends chromium"


@pytest.fixture(scope="module")
def path(site):
    from tagloom.cli import main  # noqa: PLC0415 - beside its one use

    words = ["report", site / "b1", "-o", site / "r.html", "--traffic", LU, "--seconds", "10"]
    words += ["--settings", site / "night.json", "--rollout", site / "to-night", "--timetable", site / "day.yml"]
    assert main([str(word) for word in words]) == 0
    return site / "r.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if chromium() is None:
        pytest.skip(APT)
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


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
    assert [line.rpartition("--")[2] for line in page["left_out"]] == ["traffic", "rollout", "timetable"]
    text = (site / "plain.html").read_text()
    assert "Power over the timetable" not in text
    assert "power over the day: give --timetable" in text


def test_curves_and_the_day_are_the_models_own_numbers(site):
    found = report(site / "b1", timetable=site / "day.yml")
    for point in found.gaps[::20]:
        assert point.random_wait_seconds == overhead_seconds(point.gap_seconds, POWERCONNECT_5548)
    full = fabric_watts(read_build(site / "b0").fabric)
    night = json.loads((site / "night.json").read_text())["watts_after"]
    assert [step.at_seconds for step in found.day] == [6.5 * 3600, 20 * 3600]
    assert found.day[0].links_off == 0
    assert [step.settings for step in found.day] == ["all-on", "night.json"]
    assert found.day[1].watts == pytest.approx(night)
    assert found.day[0].watts == pytest.approx(full, rel=0.01)  # slowed links keep their speed in a planned build


def test_a_tree_shown_is_the_links_of_one_vlan_and_reaches_all_switches(site):
    build = read_build(site / "b0")
    found = report(site / "b0")
    assert len(found.trees) == build.vlans
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
        'rules:\n- {when: "0 20 * * 1-5", settings: no.json}\n- {when: "7 7 * * *", settings: other.json}\n'
    )
    words = ["--settings", tmp_path / "no.json", "--traffic", tmp_path / "no.csv", "--rollout", site, "--timetable"]
    status, page = answer("report", site / "b0", "-o", tmp_path / "r.html", *words, tmp_path / "day.yml")
    assert status == 2
    where = [finding["where"] for finding in page["findings"]]
    assert where == [
        str(tmp_path / "no.json"),
        str(tmp_path / "no.csv"),
        str(site),
        f"{tmp_path / 'day.yml'}: rules[0].when",
        str(tmp_path / "other.json"),
    ]
    assert not (tmp_path / "r.html").exists()


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


def test_a_phone_never_scrolls_sideways(browser, path):
    browser.open(path, width=360, height=740, mobile=True)
    assert browser.ask("document.documentElement.scrollWidth") <= 360
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.click("#more")
    assert browser.ask("document.documentElement.scrollWidth") <= 360
    browser.open(path)


def test_it_prints(browser, path):
    browser.open(path, dark=True)
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert not shown(browser, ".controls")
    assert paper(browser) == "rgb(255, 255, 255)"
    assert len(browser.send("Page.printToPDF")["data"]) > 20_000
    browser.send("Emulation.setEmulatedMedia", media="")
