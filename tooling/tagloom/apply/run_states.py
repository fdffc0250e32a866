"""The life of a run: every state that it can be in, and every move that leads from one to another.

All that decides how a run may go on stands in MOVES. The journal writes a state by a move alone, and a move that is not
in the table cannot be written.
"""

from __future__ import annotations

from enum import Enum

RUNNING = "running"  # a command works on it
INTERRUPTED = "interrupted"  # the command that did is gone
DONE = "done"
STOPPED = "stopped"  # between two waves: as asked, or since others changed a switch
FAILED = "failed"  # a switch did
UNDONE = "undone"  # by a later run
LEFT = "left"  # for a later run
UNFINISHED = (RUNNING, INTERRUPTED, STOPPED, FAILED)  # its switches may stand between where it began and where it leads


class Move(Enum):
    """What happens to a run."""

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
    Move.STOP: dict.fromkeys(UNFINISHED, STOPPED),  # before it goes on, too; and once one of its waves was undone
    Move.FAIL: dict.fromkeys((RUNNING, STOPPED, FAILED), FAILED),  # once others have finished without the switch, too
    Move.INTERRUPT: {RUNNING: INTERRUPTED},
    Move.UNDO: dict.fromkeys((*UNFINISHED, DONE), UNDONE),
    Move.LEAVE: dict.fromkeys(UNFINISHED, LEFT),
}


class IllegalMoveError(RuntimeError):
    """A fault of ours: a run was to be moved from a state that the move does not lead from."""

    def __init__(self, move: Move, state: str) -> None:
        super().__init__(f"a run that is {state} cannot be moved by {move.name}: {move.value}")
