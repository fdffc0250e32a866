"""docs/papers.md has a row for every table, figure and equation of the papers, and says what its script computes."""

import csv
import importlib.util
import re

import pytest

from fabrics import ROOT
from thinned import few

SPEC = importlib.util.spec_from_file_location("papers", ROOT / "benchmarks" / "papers.py")
papers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(papers)
koibuchi = papers.paper_koibuchi
table_12 = koibuchi.table_12
TABLE_12 = (ROOT / "benchmarks" / "results" / "table-12.md").read_text("utf-8")
WRITTEN = (ROOT / "docs" / "papers.md").read_text("utf-8")
# Tables, figures, equations and theorems of each paper, by the first and the last of each.
ALL = {
    "Koibuchi": {"T": (1, 12), "F": (1, 13), "eq. ": (1, 1), "Theorem ": (1, 2)},
    "Miwa": {"T": (1, 3), "F": (1, 11), "eq. ": (1, 4)},
    "Blanquicet": {"T": (1, 2), "F": (1, 3), "eq. ": (1, 1)},
    "Mansbach": {"F": (1, 18), "eq. ": (1, 6)},
}


def rows():
    for section in WRITTEN.split("\n## ")[1:]:
        paper = re.split(r"\W", section)[0]
        for line in section.splitlines():
            if line.startswith("| ") and not line.startswith(("| where", "| ---")):
                yield paper, [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.slow
def test_the_page_says_what_its_script_computes():
    assert papers.page() == WRITTEN


@pytest.mark.parametrize("paper", ["paper_miwa", "paper_rps", "paper_netpipe"])
def test_rows_are_those_that_their_script_computes(paper):
    module = getattr(papers, paper)
    section = WRITTEN.partition(f"{module.TITLE}.\n")[2].partition("\n## ")[0]
    assert [f"| {' | '.join(row)} |" for row in module.rows()] == section.strip().splitlines()[2:]


def test_every_table_figure_and_equation_of_the_papers_has_a_row():
    for paper, kinds in ALL.items():
        places = [cells[0] for name, cells in rows() if name == paper]
        for kind, (first, last) in kinds.items():
            word = {"F": r"F(?:ig\. )?"}.get(kind, kind)
            seen = set()
            for place in places:
                for one, to in re.findall(rf"(?:^|, ){word}(\d+)[a-z]?(?: to (?:{word})?(\d+))?", place):
                    seen |= set(range(int(one), int(to or one) + 1))
            assert seen == set(range(first, last + 1)), (paper, kind)


def test_every_row_has_a_number_of_ours_and_its_command_or_says_why_not():
    for paper, (where, *_, ours, how) in rows():
        assert (ours == "-") == how.startswith("none: "), (paper, where)
        scripts = re.findall(r"`python (benchmarks/\w+\.py)(?: --[a-z]+)?`", how)
        assert ours == "-" or scripts or "`tagloom " in how or how == "the same", (paper, where)
        assert all((ROOT / script).is_file() for script in scripts)


def test_every_row_gives_the_papers_value_or_a_reason():
    """The page is written from the papers' texts: nothing is left to look up."""
    for _, cells in rows():
        assert len(cells) == len(papers.HEADER), cells
        assert not re.search("not in our notes|not known here|could not be read", " ".join(cells)), cells


@pytest.mark.kernel
def test_rows_of_koibuchi_on_switches_are_what_its_module_computes():
    for row in koibuchi.tables_of_switches():
        assert f"\n| {' | '.join(row)} |\n" in WRITTEN


def test_our_table_11_is_the_papers():
    line = next(cells for paper, cells in rows() if paper == "Koibuchi" and cells[0] == "T11")
    assert line[2] == line[3] == ", ".join(f"{hops:.2f}" for *_, hops in koibuchi.TABLE_11.values())


# How often a run of class S does what its part does in step 0, and in the others: with one more iteration to warm up,
# and once more faces for each start, the error's norm (LU) and the verification (SP).
TIMES = {"ft": (8, 8), "lu": (54, 51), "sp": (102, 101)}


@pytest.mark.parametrize("ranks", [4, 16])
@pytest.mark.parametrize("name", TIMES)
def test_the_messages_of_a_benchmark_are_those_it_was_seen_to_send(name, ranks):
    """FT's are of its collectives alone; LU sends less than 300 bytes more, in the sums it prints at its end."""
    with (ROOT / "tests" / "data" / "npb" / f"{name}.S.{ranks}.matrix.csv").open() as file:
        kind = "wire" if name == "ft" else "ext"
        seen = {
            (int(r["src"]), int(r["dst"])): [int(r[f"{kind}_{n}"]) for n in ("bytes", "msgs")]
            for r in csv.DictReader(file)
        }
    made = dict.fromkeys(seen, (0.0, 0))
    for step, a, b, size in getattr(table_12, name)("S", ranks).messages:
        times = TIMES[name][step > 0]
        made[a, b] = made[a, b][0] + times * size, made[a, b][1] + times
    for pair in (each for each in seen if each[0] != each[1]):
        if name == "ft":
            assert made[pair][0] == pytest.approx(seen[pair][0], rel=5e-3), pair
        else:
            bytes_more, more = (there - here for there, here in zip(seen[pair], made[pair], strict=True))
            assert (bytes_more, more) == (0, 0) or (name == "lu" and 0 < bytes_more < 300 and more <= 3), pair


def times_on_the_page():
    """Read the seconds of every network and benchmark from the page of table 12."""
    found = {name: {} for name in table_12.NETWORKS}
    for part in TABLE_12.split("\n## ")[1:]:
        head = part.split("\n")[0]
        for line in part.splitlines():
            name, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
            if name in found and head in table_12.COMPUTE:
                found[name][head] = float(cells[1].split()[0])
            elif name in found:
                found[name] = {b: float(cell.split(",")[0]) for b, cell in zip(table_12.COMPUTE, cells, strict=True)}
    return found


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("network", "benchmark"),
    few([(n, b) for b in ("LU.128", "SP.225", "FT.128") for n in table_12.NETWORKS], 0, 2),
)
def test_a_run_of_table_12_takes_what_its_page_says(network, benchmark):
    assert f"{table_12.seconds(network, benchmark):.1f}" == f"{times_on_the_page()[network][benchmark]:.1f}"


def test_what_the_page_of_table_12_makes_of_its_seconds_follows_from_them():
    """But for the last digit, as the page's seconds are rounded."""
    head, *again = table_12.page(times_on_the_page()).split("\n## ")
    assert TABLE_12.startswith(f"{head}\n## ")
    for part, written in zip(again, TABLE_12.split("\n## ")[1:], strict=True):
        assert re.sub(r"[\d.]+", "", part) == re.sub(r"[\d.]+", "", written)
        numbers = [[float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)] for text in (part, written)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1.01)


@pytest.mark.kernel
def test_ft_moves_no_faster_than_its_busiest_channel():
    """The line's middle link carries what 64 ranks send to the other 64; with PAUSE, others wait behind it."""
    part = table_12.ft("S", 128)
    across = sum(size for _, a, b, size in part.messages if a < 64 <= b)
    assert part.times * 8e-9 * across < table_12.seconds("Tree(1link), a line", "FT.128", "S") - 8.6
