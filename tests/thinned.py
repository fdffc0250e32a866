"""Say what `make test` leaves to `make test-long`: some of a test's cases, and most of a law's examples."""

import pytest
from hypothesis import settings


def examples(count):
    """Return the settings of a law that tries `count` examples in a long run, and a share of them in others."""
    drawn = settings.default.max_examples  # 10 in `make test`, 100 or more elsewhere
    return settings(max_examples=max(min(10, drawn // 2), count * min(drawn, 100) // 100))


def few(cases, *kept):
    """Return the cases of a parametrised test, all but the `kept` ones, by their places, marked as long."""
    return [
        case if place in kept else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for place, case in enumerate(cases)
    ]
