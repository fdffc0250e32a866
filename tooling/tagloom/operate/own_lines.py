"""Send the operator's own lines in a run of their own, once the forwarding of all switches is where it was to be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tagloom.apply.journal import SAVED
from tagloom.apply.run_states import DONE, Move
from tagloom.errors import PlanError
from tagloom.read import read_fabric
from tagloom.render import site_lines

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.apply.journal import Run
    from tagloom.apply.outcomes import Outcomes
    from tagloom.apply.playbook import Progress
    from tagloom.operate.waves import ApplyContext, WaveSequence

KIND = "lines"  # of a run


def own_lines_of(sequence: WaveSequence) -> dict[str, list[dict[str, Any]]]:
    """Return the operator's own lines of each switch of the build that waves lead to, as plain values.

    Raises InputError where they do not prove.
    """
    target = sequence.directory / "build" / "fabric.yml"
    fabric = read_fabric(target) if target.is_file() else sequence.fabric
    return {name: [line.to_json() for line in lines] for name, lines in site_lines(fabric).items()}


def send(
    context: ApplyContext,
    sequence: WaveSequence,
    source: str,
    switches: Collection[str],
    on_progress: Progress | None,
) -> tuple[Run, Outcomes]:
    """Send some switches the own lines that they lack, in a run of its own. `sequence` is that of a build."""
    run, sequence = context.begin(sequence, KIND, source)
    outcomes = context.push(run, sequence, limit=switches, on_progress=on_progress)
    return context.journal.run(run.id), outcomes


def joined(first: Outcomes, own: Outcomes) -> Outcomes:
    """Return the outcomes of an apply with those of the own lines that went out after it."""
    return replace(
        first,
        outcomes=(*first.outcomes, *own.outcomes),
        error=first.error or own.error,
        stopped=first.stopped or own.stopped,
        seconds=first.seconds + own.seconds,
    )


def left_behind(context: ApplyContext, run: Run) -> tuple[str, ...]:
    """Return remarks on the own lines that went out after a run: its rollback leaves them where they are."""
    sent: dict[str, int] = {}
    for later in context.journal.runs(run.fabric):
        if later.kind == KIND and later.id > run.id:
            for row in context.journal.switches(later.id):
                if row.state == SAVED and row.lines:
                    sent[row.switch] = sent.get(row.switch, 0) + len([each for each in row.lines if each != "exit"])
    if not sent:
        return ()
    names = ", ".join(f"{name} ({count})" for name, count in sorted(sent.items()))
    return (f"LEFT AS THEY ARE, lines of your own: {names}; a rollback does not know what stood there before",)


def refuse_for_alone(context: ApplyContext, run: Run) -> None:
    """Raise PlanError where own lines alone went out after a run: it is not what its operator applied last."""
    for later in context.journal.runs(run.fabric):
        if later.id > run.id and later.kind == KIND and later.state == DONE and later.name != run.name:
            rule = "a rollback takes back forwarding, and leaves lines of your own as they are"
            witness = f"what was applied last, {later.source}, changed such lines alone"
            raise PlanError(rule, witness, f"tagloom rollback {run.source} takes back the forwarding of run {run.name}")


def give_up(context: ApplyContext) -> None:
    """Leave a run of own lines that did not end, so that what came before it can be undone."""
    run = context.journal.unfinished()
    if run is not None and run.kind == KIND:
        context.journal.move(run.id, Move.LEAVE, "its lines stay as far as they were sent")
