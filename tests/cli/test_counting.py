"""How far a push is: outcomes counted as they come, also those of waves that are found on the way."""

from tagloom.cli.inputs import counting


def told(of, outcomes):
    said = []
    tell = counting(lambda done, of: said.append((done, of)), of)
    for _ in range(outcomes):
        tell(None)
    return said


def test_what_was_expected_is_counted_to_its_end():
    assert told(3, 3) == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_more_than_was_expected_is_another_round_and_never_6_of_5():
    assert told(2, 5) == [(0, 2), (1, 2), (2, 2), (3, 4), (4, 4), (5, 6)]


def test_where_nobody_knows_how_many_there_will_be_it_is_those_that_came():
    assert told(None, 2) == [(0, 1), (1, 1), (2, 2)]
