"""A run moves along its table alone: no other state can be written, and every state can be reached."""

import pytest

from tagloom.apply.journal import Journal
from tagloom.apply.run_states import DONE, LEFT, MOVES, RUNNING, UNDONE, UNFINISHED, IllegalMoveError, Move

STATES = {*UNFINISHED, DONE, UNDONE, LEFT}
WAYS = {RUNNING: (), "interrupted": (Move.INTERRUPT,), DONE: (Move.COMPLETE,), "stopped": (Move.STOP,)} | {
    "failed": (Move.FAIL,), UNDONE: (Move.COMPLETE, Move.UNDO), LEFT: (Move.STOP, Move.LEAVE)
}  # fmt: skip


@pytest.fixture
def journal(tmp_path):
    (tmp_path / "order").mkdir()
    with Journal(tmp_path / "journal.db") as journal:
        yield journal


def run_in(journal, state, tmp_path):
    """Begin a run and lead it to a state."""
    words = {"name": "r", "kind": "apply", "fabric": "ring", "source": "b", "command": "c", "operator": "o"}
    run = journal.begin(**words, waves=2, proven=True, order=tmp_path / "order")
    for move in WAYS[state]:
        journal.move(run.id, move)
    assert journal.run(run.id).state == state
    return run.id


def test_the_table_speaks_of_these_states_and_leads_out_of_no_end():
    assert set(WAYS) == STATES == {RUNNING} | {there for moves in MOVES.values() for there in moves.values()}
    assert set(MOVES) == set(Move)
    assert not {UNDONE, LEFT} & {here for moves in MOVES.values() for here in moves}


@pytest.mark.parametrize("state", sorted(STATES))
@pytest.mark.parametrize("move", Move)
def test_a_move_that_is_not_in_the_table_is_not_written(journal, tmp_path, state, move):
    run = run_in(journal, state, tmp_path)
    if state in MOVES[move]:
        journal.move(run, move, "why")
        assert (journal.run(run).state, journal.run(run).note) == (MOVES[move][state], "why")
        return
    with pytest.raises(IllegalMoveError, match=f"a run that is {state} cannot be moved by {move.name}"):
        journal.move(run, move, "why")
    assert (journal.run(run).state, journal.run(run).note) == (state, "")


def test_a_wave_begins_in_a_run_that_runs_alone(journal, tmp_path):
    run = run_in(journal, RUNNING, tmp_path)
    journal.begin_wave(run, 2)
    journal.begin_wave(run, 1)  # switches that fell behind catch up
    assert journal.run(run).wave == 2
    journal.interrupt()
    with pytest.raises(IllegalMoveError):
        journal.begin_wave(run, 3)
    assert (journal.run(run).state, journal.run(run).wave) == ("interrupted", 2)
