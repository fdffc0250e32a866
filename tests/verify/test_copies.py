"""How many copies of a broadcast hosts may hear while a wave lands: the most of any choice of line positions."""

import numpy as np

from tagloom.verify.wave import _most_copies

ARRIVALS, HOSTS = 3, 4  # frame states 0 .. 2; what is at a host is 3 and more


def most(*rows):
    """Bound the copies from rows (frame state, choice, where to), those nearest to hosts first."""
    state, choice, to = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return _most_copies(state, choice, to, ARRIVALS, HOSTS)[:ARRIVALS].tolist()


def test_copies_add_up_along_branches_and_the_worst_choice_counts():
    assert most((0, 0, 3), (0, 0, 4), (1, 1, 0), (1, 1, 5), (2, 2, 0), (2, 3, 1)) == [2, 3, 3]


def test_what_leads_nowhere_adds_nothing_and_the_bound_is_the_number_of_hosts():
    assert most((0, 0, -1), (1, 1, 0), (1, 1, 3)) == [0, 1, 0]
    assert most((0, 0, 3), (0, 0, 4), (0, 0, 5), (1, 1, 0), (1, 1, 0)) == [3, HOSTS, 0]
