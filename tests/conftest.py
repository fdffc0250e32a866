"""Give every test the templates, and fabrics by family."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tagloom.read.fabric_file import parse_fabric

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("tagloom", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("tagloom")


def make_fabric(family, *dims, parallel=1, hosts=1, model="linux-bridge", extra=""):
    """Read a generated fabric; linux-bridge has ports enough for anything."""
    shape = f"{{family: {family}, dims: {list(dims)}, parallel: {parallel}, hosts: {hosts}}}"
    return parse_fabric(f"name: {family}\nmodel: {model}\nshape: {shape}\n{extra}", "test")


@pytest.fixture(scope="session")
def templates():
    return ROOT / "templates"


@pytest.fixture(scope="session")
def npb():
    return ROOT / "tests" / "data" / "npb"
