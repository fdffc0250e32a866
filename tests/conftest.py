"""Give every test the templates and the traffic matrices."""

import pytest
from hypothesis import HealthCheck, settings

from fabrics import ROOT

settings.register_profile("tagloom", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("tagloom")


@pytest.fixture(scope="session")
def templates():
    return ROOT / "templates"


@pytest.fixture(scope="session")
def npb():
    return ROOT / "tests" / "data" / "npb"
