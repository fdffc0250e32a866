"""Each page of benchmarks/results names the command that gives its figures, and a test computes them again.

What is counted or simulated is computed again: a part of it here, the whole where tests marked `long` run. Seconds are
of one machine and one day: of those, what the page makes of them is computed again.
"""

import importlib.util
import re
import sys
import tomllib

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.graph.flows import flows_of
from tagloom.graph.paths import channel_load
from tagloom.lab.sleeping_link import virtual_host
from tagloom.measure import idle_gap
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.flows import finish
from tagloom.records.measurement import GapPoint
from tagloom.route import route
from thinned import few

RESULTS = ROOT / "benchmarks" / "results"
PAGES = sorted(page.stem for page in RESULTS.glob("*.md") if page.stem != "README")
# The test that holds a page to what its command gives, for the pages that this one does not.
ELSEWHERE = {
    "clock": "run/test_links_by_the_clock.py",
    "install": "docs/test_readme.py",
    "miwa": "predict/test_miwa.py",
    "predict-errors": "predict/test_predict_error.py",
    "rate-switch": "predict/test_rate_switch.py",
    "repair-on-bridges": "dataplane/test_repair_on_bridges.py",
    "rps-transfers": "predict/test_rate_switch.py",
    "savings": "regulate/test_savings.py",
    "selection": "regulate/test_selection_page.py",
    "table-12": "docs/test_papers.py",
    "table-3": "weave/test_table_3.py",
    "tagged-bridges": "dataplane/test_tagged_bridges.py",
}
HERE = (
    "coverage",
    "eee-errors",
    "fuzz",
    "lossless",
    "measuring",
    "mutants",
    "performance",
    "pinned",
    "protection",
    "push",
)
HERE += ("repair", "reweave", "stories", "timetable")
COMMAND = re.compile(r"`(?:PYTHONPATH=tooling )?(?:python )?((?:benchmarks|tests)/[\w/]+\.py|make [a-z]+)([^`]*)`")


def script(name):
    """Return a benchmark as a module; benchmarks import one another by name."""
    if name not in sys.modules:
        folder = str(ROOT / "benchmarks")
        spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, folder)
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(folder)
    return sys.modules[name]


def text(page):
    return (RESULTS / f"{page}.md").read_text("utf-8")


def flowing(page):
    """Return a page's text without its line breaks."""
    return " ".join(text(page).split())


def table(page, start):
    """Return the rows below the head of a table that starts with `start`, as lists of cells."""
    lines = text(page).partition(f"\n{start}")[2].splitlines()[2:]
    whole = lines[: next((n for n, line in enumerate(lines) if not line.startswith("|")), len(lines))]
    assert whole, start
    return [[cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")] for line in whole]


def numbers(cell):
    return re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", cell)


def interval(number):
    """Return the least and the greatest that is rounded to a number in print."""
    plain = number.replace(",", "")
    half = 0.5 * 10.0 ** -len(plain.partition(".")[2])
    return float(plain) - half, float(plain) + half


def is_ratio(said, above, below):
    """Return whether a printed ratio may be that of two sums of printed numbers."""
    (low, high), *both = interval(said), *([interval(n) for n in some] for some in (above, below))
    (least, most), (fewest, many) = ([sum(side) for side in zip(*some, strict=True)] for some in both)
    return least / many <= high and low <= most / fewest


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_a_command_that_is_there(page):
    """Its options are those of its script, its target is one of the Makefile."""
    found = COMMAND.findall(text(page))
    assert found
    for command, options in found:
        if command.startswith("make "):
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
            assert command.removeprefix("make ") in targets
        else:
            code = (ROOT / command).read_text("utf-8")
            assert [option for option in re.findall(r"--[a-z-]+", options) if f'"{option}"' not in code] == []


def test_every_page_is_held_to_its_command_by_a_test():
    assert sorted([*HERE, *ELSEWHERE]) == PAGES
    code = (ROOT / "tests" / "results" / "test_result_pages.py").read_text("utf-8")
    assert [page for page in HERE if not re.search(rf'\b(text|table|flowing)\("{page}"', code)] == []
    for page, file in ELSEWHERE.items():
        held = (ROOT / "tests" / file).read_text("utf-8")
        assert f"{page}.md" in held or f'"{page}"' in held, page


# --- pages that their scripts write again ---------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("row", few(list(range(8)), 3, 6, 7))
def test_pinned_plans_are_those_of_the_page(row):
    pinned = script("pinned")
    name, make, routing = list(pinned.ROWS.values())[row]
    lines = [line for line in text("pinned").splitlines() if line.startswith("|")][2:]
    assert len(lines) == len(pinned.ROWS)
    assert pinned.row(name, make(), routing) == f"{lines[row]}\n"
    assert text("pinned").startswith(pinned.HEAD)
    assert text("pinned").endswith(pinned.TAIL)


PROTECTED = [
    "complete 8",
    "Clos 4 x 4",
    "hypercube 4",
    "torus 8 x 8",
    "mesh 8 x 8",
    *(f"random {n}-regular 64" for n in (4, 3)),
]


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", few(PROTECTED, 0, 1))
def test_detours_of_a_fabric_are_those_of_the_page(name):
    protection = script("protection")
    assert list(protection.FABRICS) == PROTECTED
    written = table("protection", f"| {' | '.join(protection.HEADER)} |")
    assert len(written) == 2 * len(PROTECTED)
    made = protection.rows(name, protection.FABRICS[name])
    assert [list(cells[:-1]) for cells in made] == [cells[:-1] for cells in written if cells[0] == name]


@pytest.mark.long
def test_the_curve_of_detours_is_that_of_the_page():
    protection = script("protection")
    made = protection.curve(protection.FABRICS["random 4-regular 64"])
    assert [list(cells) for cells in made] == table("protection", f"| {' | '.join(protection.CURVE_HEADER)} |")


def test_what_the_page_of_detours_says_of_its_goals_are_figures_of_its_tables():
    rows = {tuple(cells[:2]): cells for cells in table("protection", "| fabric | prefer |")}
    _, _, _, left, _, entries, hops, load, _ = rows["random 4-regular 64", "load"]
    curve = table("protection", "| longer | trees |")
    said = flowing("protection")
    assert f"reaches both there: {load} and {hops}, with {entries} entries in the fullest switch" in said
    assert left == "0"
    assert float(load) <= 1.5
    assert float(hops) <= 1.3
    assert f"and {curve[-1][-1]} at the end of the curve" in said
    assert [load, hops, entries] == next([c[-1], c[-2], c[5]] for c in curve if c[:3] == ["1.16", "4", "1.3"])
    torus, mesh = (rows[name, "load"][7] for name in ("torus 8 x 8", "mesh 8 x 8"))
    assert f"The torus stays at {torus} and the mesh at {mesh}" in said
    assert min(int(rows[n, "load"][5].replace(",", "")) for n in ("mesh 8 x 8", "random 3-regular 64")) > 16_000
    four, eight = (next(c[-1] for c in curve if c[:3] == ["1.16", parts, "-"]) for parts in ("4", "8"))
    assert f"lowered {four} to" in said
    assert float(eight) < float(four)


DEVICE = "PowerConnect 5548 (1 ms, 182 us, 60 us), 1 Gb/s"


def without_speed(lines):
    """Return lines without how many times faster a forecast is, the last cell of a row of runs."""
    return [re.sub(r" \| \d+ times \|$", " |", line) for line in lines]


@pytest.mark.kernel
def test_a_row_of_errors_under_sleep_is_what_the_script_computes():
    eee_error = script("eee_error")
    device, rng = eee_error.DEVICES[DEVICE], np.random.default_rng(8)
    programs = [eee_error.npb(name, 4, mean, rng) for name in eee_error.NPB for mean in (3e-4, 1e-3, 3e-3)]
    found = eee_error.compare(programs, *eee_error.stars(*device), *device)
    row = without_speed(eee_error.table(DEVICE, {"4 processes": found}))[-2]
    part = text("eee-errors").partition("\n## Traffic like the NAS")[2].partition("\n## ")[0]
    assert row in without_speed(part.partition(f"\n### {DEVICE}")[2].partition("\n### ")[0].splitlines())


@pytest.mark.kernel
def test_words_and_closed_forms_of_errors_under_sleep_are_the_scripts():
    eee_error = script("eee_error")
    written = text("eee-errors").splitlines()
    assert "\n".join(written) == text("eee-errors").removesuffix("\n")
    assert [line for line in eee_error.page([], []).splitlines() if line not in written] == []
    counted = eee_error.one_link_table(1000)  # frames simulated: too few for the page's two columns
    assert len(counted) == 25
    for made in counted[2:-1]:
        cells = made.split(" | ")
        assert any(line.split(" | ")[:4] == cells[:4] and line.split(" | ")[5:7] == cells[5:7] for line in written)
    times = [int(line.split()[-3]) for line in written if line.endswith("times |")]
    assert min(times) >= 2


@pytest.mark.long
def test_all_errors_under_sleep_are_what_the_script_computes():
    eee_error = script("eee_error")
    made = eee_error.page(eee_error.sections(), eee_error.one_link_table())
    assert without_speed(made.splitlines()) == without_speed(text("eee-errors").splitlines())


@pytest.mark.long
def test_a_day_of_paths_woven_anew_is_that_of_the_page():
    reweave = script("reweave")
    measured = {name: reweave.measure(shape, 1, 10) for name, shape in reweave.FABRICS.items()}
    assert reweave.page(measured, 10) == text("reweave").partition(reweave.RACK)[0]


def test_the_page_of_paths_woven_anew_is_laid_out_by_its_script():
    reweave = script("reweave")
    made = dict.fromkeys(("static", "balanced", "counters", "matrix", "one"), 1.0)
    counts = dict.fromkeys(("cycles", "changes", "refused", "known_changes"), 0)
    lines = reweave.page(dict.fromkeys(reweave.FABRICS, made | counts | {"spread": [1.0]}), 10).splitlines()
    written = text("reweave").partition(reweave.RACK)[0].splitlines()
    assert [line.split(" | ")[0] for line in lines] == [line.split(" | ")[0] for line in written]
    for _, static, *woven, spread, one in table("reweave", "| fabric | static plan"):
        mean, least, most = numbers(spread)
        assert static == "1.00"
        assert float(least) <= float(mean) <= float(most) <= float(one)
        assert max(map(float, woven)) <= float(one)


def test_what_paths_that_stay_carry_on_the_rack_is_that_of_the_page():
    """The rack counts what is computed of the static plan; `run` begins with it, and never ends a job below it."""
    day = script("reweave_rack")
    computed, cycles = day.beside(day.rack_fabric())
    made = [day.row(job, each, each["static"], (0.0, 0.0)) for job, each in zip(day.JOBS, computed, strict=True)]
    whole = day.over_the_day(computed)
    made.append(day.row("all", whole, whole["static"], (0.0, None)))
    written = table("reweave", day.HEADER)
    for line, cells in zip(made, written, strict=True):
        again = [cell.strip() for cell in line.strip("| ").split(" | ")]
        assert again[:3] + again[5:] == cells[:3] + cells[5:]
        static, bound = float(cells[1]), float(cells[6])
        assert static <= float(cells[3]) <= float(cells[4] or cells[6]) <= bound, cells[0]
    assert f"{cycles} of {day.SPREADS} close a cycle" in flowing("reweave")
    _, static, balanced, woven, _, spread, _ = written[-1]
    assert float(woven) > float(numbers(spread)[0]) > float(static)
    said = " ".join((ROOT / "docs" / "reweave.md").read_text("utf-8").split())
    assert f"allowed {woven} Mb/s, {static} with the static plan." in said
    assert f"reaches {numbers(spread)[0]} on average for the same frames, and the plan for even load {balanced}" in said


def hastes(part):
    """Split the rack's part of a page into what `run` carried in all of each job's time, and the rest of its lines.

    Whether a change pays is asked in seconds of this machine: where it is busy, paths change half an hour later.
    """
    lines = [line.split(" | ") for line in part.partition("```")[0].splitlines()]
    rows = [cells for cells in lines if len(cells) == 7 and cells[3].isdecimal()]
    return [float(cells.pop(3)) for cells in rows], lines


@pytest.mark.long
def test_a_day_of_shifting_traffic_on_the_rack_is_that_of_the_page(tmp_path):
    """A running timetable weaves paths anew for each job; every frame arrives, and ports count what the page says."""
    day = script("reweave_rack")
    clock, reported = day.live(tmp_path)
    carried, lines = hastes(day.rack_page(clock, reported))
    written, expected = hastes("".join(text("reweave").partition(day.RACK)[1:]))
    assert lines == expected
    assert len(carried) == len(day.JOBS) + 1
    static = [each.mbps for each in (*clock.static, day.together(clock.static))]
    assert all(low - 0.5 <= made <= said for low, made, said in zip(static, carried, written, strict=True))
    assert carried[-1] > 1.3 * static[-1]


@pytest.mark.long
@pytest.mark.parametrize("day", ["office", "busy", "hard"])
def test_what_three_settings_save_of_a_day_is_that_of_the_page(day, capsys):
    script("timetable").measure(8, day, 5, 3, each=False)
    saved, kept = re.findall(r"3 settings: ([\d.]+) % saved, .*, ([\d.]+) % of what", capsys.readouterr().out)[0]
    written = next(cells for cells in table("timetable", "| day, 288") if cells[0].startswith(f"{day}:"))
    assert written[1:3] == [f"{float(saved):.1f} %", f"{kept} %"]


def test_the_days_of_the_page_are_those_of_the_script():
    timetable = script("timetable")
    written = table("timetable", "| day, 288 matrices, 3 settings")
    assert len(timetable.day_of(timetable.fabric_of(4), "office", 5)) == 288
    for (name, (_, _, busiest)), (title, saved, *kept) in zip(timetable.DAYS.items(), written, strict=True):
        assert title.startswith(f"{name}: ")
        assert f"up to {busiest / 1e6:.0f} MB/s" in title
        bound, found = (float(numbers(saved)[0]) / float(numbers(cell)[0]) for cell in kept)
        assert bound >= found  # what no settings exceed, and what some save


# --- performance ----------------------------------------------------------------------------------------------------


def test_networks_of_table_11_and_latencies_are_those_of_the_page():
    flows = script("flows")
    written = text("performance")
    for part in (flows.TEXT, flows.FIG_10, flows.AFTER_TREE):
        assert part in written
    made = [*(flows.network_row(network) for network in flows.NETWORKS), *flows.latencies()]
    assert [line for line in made if f"\n{line}\n" not in written] == []


@pytest.mark.parametrize("cluster", few(list(range(5)), 0))
def test_a_cluster_beside_its_tree_is_that_of_the_page(cluster):
    flows = script("flows")
    assert f"\n{flows.cluster_row(*flows.CLUSTERS[cluster])}\n" in text("performance")


def test_what_the_page_says_beside_simgrid_is_laid_out_by_the_script():
    flows = script("flows")
    assert f"{flows.CASES} random fabrics and patterns" in flowing("performance")
    asked = {"1 %": 0.01, "5 %": 0.05}
    for _, worst, most in table("performance", "| | worst difference | asked for |"):
        assert (float(worst.removesuffix(" %")) / 100 if "%" in worst else float(worst)) <= asked[most]
    for _, theirs, ours, times in table("performance", "| 256 hosts all-to-all, 65,280 flows"):
        assert is_ratio(times, [theirs], [ours])
        assert float(times) >= 20
    for _, seconds, peak in table("performance", "| | CPU s (asked for: 20)"):
        assert float(seconds) <= 20
        assert float(peak) <= 2
    fabric = make_fabric("torus", 8, 8, parallel=2, hosts=4)
    volume = np.full((256, 256), 1e6)
    np.fill_diagonal(volume, 0.0)
    same = flows_of(fabric, route(fabric), volume)
    assert len(same.volume_bytes) == 65_280
    assert f"Sizes alike end in {finish(same).rounds} events here" in flowing("performance")


# --- what a page makes of the seconds it was given --------------------------------------------------------------------


def test_ratios_of_measured_seconds_follow_from_them():
    for where, theirs, ours, latency, peak in table("measuring", "| where | NPtcp"):
        near, far = numbers(theirs), numbers(ours)
        assert is_ratio(latency, [far[0]], [near[0]]), where
        assert is_ratio(peak, [far[1]], [near[1]]), where
        assert float(latency) <= 1.5, where
        assert float(peak) >= 0.95, where
    fast, slow = ([numbers(cells[at]) for cells in table("push", "| | fast | slow")] for at in (1, 2))
    push = script("push")
    for sent, ours, times, pool, wide, whole, whole_times in (fast, slow):
        assert is_ratio(times[0], sent, ours)
        assert float(times[0]) >= push.GOAL_RATIO
        assert float(wide[0]) <= push.GOAL_POOL_RATIO * float(pool[0]) + push.GOAL_POOL_SECONDS
        assert is_ratio(whole_times[0], sent, whole)
        assert float(whole_times[0]) >= push.GOAL_WHOLE_RATIO
        assert len(sent) == len(ours) == len(whole) == push.ROUNDS
    assert f"that take {1000 * push.DELAY_SECONDS:.0f} ms a command" in flowing("push")
    assert f"`network_cli`, libssh, {push.FORKS} forks" in flowing("push")
    assert len(push.LINES) == 60
    seconds = {cells[0]: cells[1:] for cells in table("lossless", "| switches | tagloom")}
    said = re.findall(r"(\d+)( times)? at ([\d,]+\d)", flowing("lossless").partition("The goal, 20 times")[2])
    assert len(said) == 2
    for times, _, switches in said:
        ours, theirs = seconds[switches]
        assert is_ratio(times, [theirs], [ours]), switches


def test_a_virtual_links_policy_is_found_as_the_page_says():
    """In the rows of real frames a part of each time is the machine's; here answers are drawn by chance alone."""
    host, points = virtual_host(POWERCONNECT_5548), []

    def ask(gap, repeats):
        gaps, trips = host(gap, repeats)
        return GapPoint(tuple(gaps), tuple(trips))

    idle_gap.probe(ask, 0.5e-3, 4e-3, 40, note=lambda *_: None, into=points)
    found = idle_gap.fit_policy(points)
    said = next(cells for cells in table("measuring", "| link | found: time-out") if cells[0].startswith("virtual"))
    assert said[1] == f"{1e6 * found.timeout.value:.0f} us"
    assert said[2:] == [f"{1e6 * each.value:.1f} us" for each in (found.sleep, found.wake)]


def test_rows_of_fuzzing_are_as_many_files_for_each_reader_and_faults_in_all_as_their_causes():
    for seed, files, readers, faults in table("fuzz", "| seed | files"):
        count = int(files.replace(",", ""))
        if readers.isdecimal():
            assert count % int(readers) == 0, seed
        assert numbers(faults), seed
    said = flowing("fuzz")
    first = table("fuzz", "| seed | files")[0]
    each = int(first[1].replace(",", "")) // int(first[2])
    parts = [int(n) for n in re.findall(rf"\((\d+) of {each};", said)]
    assert sum(parts) == int(numbers(first[3])[0])
    assert (
        f"The other {int(first[2]) - len(parts)} readers gave none of {(int(first[2]) - len(parts)) * each:,}" in said
    )
    named = re.findall(r"`(tests/[\w/]+\.py)`", said)
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_a_cable_of_the_page_of_repairs_cuts_as_many_pairs_as_it_says():
    """The first cable of the plan, which the script breaks under `run`: each pair's two directions count as two."""
    written = {cells[0]: numbers(cells[1]) for cells in table("repair", "| means | pairs cut")}
    for side, means in ((4, "replan, by `tagloom run`"), (8, "the same, 8x8 torus (`--run --switches 64`)")):
        fabric = make_fabric("torus", side, side, parallel=2, hosts=1, model="powerconnect-5324")
        build = pipeline.plan(fabric, ROOT / "templates", texts=False)[0]
        cut = channel_load(fabric, build.routes, None)[:2].sum()
        assert written[means] == [f"{cut:.0f}", f"{len(fabric.hosts) * (len(fabric.hosts) - 1):,}"]


def test_the_table_of_stories_has_the_rows_of_its_script_and_adds_up():
    spec = importlib.util.spec_from_file_location("figures", ROOT / "tests" / "stories" / "figures.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    written = dict(table("stories", "| | |"))
    assert list(written) == [what for what, _ in figures.rows([])]
    events = [int(n) for n in numbers(written["events"])]
    assert events[0] == sum(events[1:])
    assert sum(map(int, numbers(written["steps of changes"]))) >= events[1]
    assert int(written["pairs really interrupted"]) <= int(written["pairs announced as interrupted"])


def test_mutants_of_each_part_are_noticed_alike_or_survive():
    counted = "| mutants | noticed | of these by time | equivalent | survived |"
    scored, before = table("mutants", f"| part {counted} score |"), table("mutants", f"| part, by seed 1 {counted}")
    assert len(before) == 5
    for part, *counts in [row[:-1] for row in scored] + before:
        mutants, noticed, by_time, equivalent, survived = map(int, counts)
        assert noticed + equivalent + survived == mutants, part
        assert by_time <= noticed, part
    for part, _, noticed, _, _, survived, score in scored:
        assert score == f"{100 * int(noticed) / (int(noticed) + int(survived)):.1f} %", part


def test_what_is_left_of_branches_adds_up_and_the_command_holds_the_goal():
    parts, files = table("coverage", "| part | left |"), table("coverage", "| file | left |")
    left, whole = (sum(int(row[at].replace(",", "")) for row in parts) for at in (1, 2))
    said = f"**{100 - 100 * left / whole:.2f} %**, {left:,} of {whole:,} left."
    assert said in flowing("coverage")
    statements, branches = re.search(r"of ([\d,]+) statements and ([\d,]+) branches", flowing("coverage")).groups()
    assert int(statements.replace(",", "")) + int(branches.replace(",", "")) == whole
    for _, some, of, covered, _ in parts:
        assert covered == f"{100 - 100 * int(some) / int(of.replace(',', '')):.1f} %"
    counts = [int(row[1]) for row in files]
    assert counts == sorted(counts, reverse=True)
    assert all((ROOT / "tooling" / "tagloom" / row[0].strip("`")).is_file() and row[2] for row in files)
    report = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]["report"]
    assert report["fail_under"] == 95 <= 100 - 100 * left / whole
