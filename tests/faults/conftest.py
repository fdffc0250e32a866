"""Give the stages: racks that run a build, with a rollout to another."""

import os

import pytest

from stage import Stage
from tagloom.lab import process


@pytest.fixture(scope="session")
def seed():
    """Say which lines the faults strike at; TAGLOOM_FAULTS_SEED takes others."""
    return int(os.environ.get("TAGLOOM_FAULTS_SEED", "20261121"))


def staged(home, *family):
    made = Stage(home, *family)
    yield made
    process.down(made.rack)


@pytest.fixture(scope="session")
def ring_of_four(tmp_path_factory):
    yield from staged(tmp_path_factory.mktemp("ring"), "ring", "--dims", 4)


@pytest.fixture(scope="session")
def pair_of_two(tmp_path_factory):
    yield from staged(tmp_path_factory.mktemp("pair"), "mesh", "--dims", 2, 1, "--parallel", 2)


@pytest.fixture
def ring(ring_of_four):
    """Four PowerConnect 5324 in a ring."""
    ring_of_four.begin()
    return ring_of_four


@pytest.fixture
def pair(pair_of_two):
    """Two PowerConnect 5324 with two cables between them."""
    pair_of_two.begin()
    return pair_of_two
