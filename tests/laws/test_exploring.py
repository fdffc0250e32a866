"""Exploration draws new examples, and keeps and retries what failed once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase


def test_an_example_that_failed_is_the_first_that_is_tried_again(tmp_path, request):
    if request.config.getoption("--hypothesis-seed") is not None:
        pytest.skip("with --hypothesis-seed, Hypothesis does not retry examples that failed")
    assert settings.get_profile("explore").database is not None
    profile = settings(settings.get_profile("explore"), database=DirectoryBasedExampleDatabase(tmp_path))
    drawn = []

    @settings(profile)
    @given(st.integers(0, 10**9))
    def law(number):
        drawn.append(number)
        assert number < 10**6

    with pytest.raises(AssertionError):
        law()
    smallest = drawn[-1]
    drawn.clear()
    with pytest.raises(AssertionError):
        law()
    assert drawn[0] == smallest == 10**6


def test_laws_of_every_day_draw_the_same_examples_each_time():
    assert settings.get_profile("tagloom").derandomize
