"""Run one rack of sixty-four switches for the tests that discover it."""

import pytest

from fabrics import ROOT
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.read import format_family, read_fabric


@pytest.fixture(scope="session")
def rack64(tmp_path_factory):
    """Give (fabric, directory) of a running 8x8 torus with two links between neighbours, an inventory of its own."""
    directory = tmp_path_factory.mktemp("rack64")
    path = directory / "plan.yml"
    path.write_text(format_family("torus", "torus", (8, 8), 2, 1, "powerconnect-5324"))
    fabric = read_fabric(path)
    process.up(Order(fabric, ROOT / "templates"), directory / "lab")
    yield fabric, directory / "lab"
    process.down(directory / "lab")
