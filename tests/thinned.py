"""Say what `make test` leaves to `make test-daily` or `test-long`: some of a test's cases, most of a law's examples."""

import pytest
from hypothesis import settings


def examples(count):
    """Return the settings of a law that tries `count` examples in a long run, and a share of them in others."""
    drawn = settings.default.max_examples  # 6 in `make test`, 100 or more elsewhere
    return settings(max_examples=max(min(10, drawn // 2), count * min(drawn, 100) // 100))


def few(cases, *kept):
    """Return the cases of a parametrised test, all but the `kept` ones, by their places, marked as long."""
    return _marked(cases, kept, pytest.mark.long)


def daily(cases, *kept):
    """Return the cases of a parametrised test, all but the `kept` ones, by their places, marked as daily."""
    return _marked(cases, kept, pytest.mark.daily)


def _marked(cases, kept, mark):
    return [
        case if place in kept else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
        for place, case in enumerate(cases)
    ]
