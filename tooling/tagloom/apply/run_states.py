"""The life cycle of a run: its states, and every transition between them.

MOVES alone decides how a run may go on. The journal changes a state only by a move, and a move that is not in the table
is an error.
"""

from __future__ import annotations

from enum import Enum

RUNNING = "running"  # a command works on it
INTERRUPTED = "interrupted"  # that command is gone
DONE = "done"
STOPPED = "stopped"  # between two waves: on request, or because others changed a switch
FAILED = "failed"  # a switch did
UNDONE = "undone"  # reverted by a later run
LEFT = "left"  # for a later run
UNFINISHED = (RUNNING, INTERRUPTED, STOPPED, FAILED)  # its switches may be in a state between its start and its target


class Move(Enum):
    """An event in a run's life."""

    BEGIN_WAVE = "a wave of it begins"
    GO_ON = "its waves are pushed, or pushed again"
    COMPLETE = "its last wave is on all switches"
    STOP = "it ends between two waves"
    FAIL = "a switch is not where a wave wants it"
    INTERRUPT = "its command is found to be gone"
    UNDO = "a later run has taken it back"
    LEAVE = "a later run begins from what it left"


MOVES: dict[Move, dict[str, str]] = {
    Move.BEGIN_WAVE: {RUNNING: RUNNING},
    Move.GO_ON: dict.fromkeys(UNFINISHED, RUNNING),
    Move.COMPLETE: {RUNNING: DONE},
    Move.STOP: dict.fromkeys(UNFINISHED, STOPPED),  # also before it goes on, and after one of its waves was undone
    Move.FAIL: dict.fromkeys((RUNNING, STOPPED, FAILED), FAILED),  # also when others have finished without the switch
    Move.INTERRUPT: {RUNNING: INTERRUPTED},
    Move.UNDO: dict.fromkeys((*UNFINISHED, DONE), UNDONE),
    Move.LEAVE: dict.fromkeys(UNFINISHED, LEFT),
}


class IllegalMoveError(RuntimeError):
    """A bug in tagloom: a run was to make a move that its state does not permit."""

    def __init__(self, move: Move, state: str) -> None:
        super().__init__(f"a run that is {state} cannot be moved by {move.name}: {move.value}")
