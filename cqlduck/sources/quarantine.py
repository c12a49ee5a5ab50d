"""Quarantine: batches that were passed over, with the reason, for `cql.batches`.

A late batch is recognized when it is read. With the setting `strict`, a deletion of a tuple that is
not there, or a second row under a primary key, is recognized when its instant closes, which may be
in a later tick: so with `strict` the batches of relations whose rows may still be open are stored
in `cql_state.open_batches`, as ranges of the numbers of their rows. When such an element is found,
all open rows of its batch are removed.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.engine import Engine
from cqlduck.errors import DropZoneError
from cqlduck.sources.dropzone import Batch
from cqlduck.state import batches
from cqlduck.state.registered import Input
from cqlduck.state.relations import WrongElement


def pass_over(engine: Engine, thing: Input, batch: Batch, reason: str) -> None:
    """Pass over the next batch of an input, inside a change."""
    thing.next_batch = batch.number + 1
    thing.waiting_for = None
    batches.quarantine(engine.database, thing, batch.number, batch.manifest.rows, reason)


def told(thing: Input, passed: Sequence[Batch], reason: str) -> DropZoneError:
    """Return what is to be told of batches that were passed over; of none, of those before."""
    numbers = ", ".join(str(batch.number) for batch in passed)
    which = f"batch {numbers}" if passed else "a batch that had been taken"
    return DropZoneError(
        f"{which} of {thing.name} is passed over: {reason}",
        hint="cql.batches lists it, and its files are where they were",
    )


def note_open(engine: Engine, thing: Input, batch: Batch, first: int) -> None:
    """With `strict`, note the rows of a relation's batch that has been taken, inside a change.

    Args:
        engine: The engine.
        thing: The input.
        batch: The batch.
        first: The number that its first row got.
    """
    if engine.strict and thing.kind == "relation" and first != thing.next_seq:
        batches.note_open(engine.database, thing, batch.number, batch.manifest.rows, first)


def of_wrong(engine: Engine, taking: Sequence[Batch], wrong: WrongElement) -> bool:
    """Quarantine the batch of an element that has no effect; return whether that could be done.

    Args:
        engine: The engine, in which the change that failed has been undone.
        taking: The batches of that relation that the change took, one at most.
        wrong: The element.
    """
    with engine.changing():
        thing = engine.input(wrong.relation)
        if wrong.number >= thing.next_seq:
            for batch in taking:
                pass_over(engine, thing, batch, wrong.message)
            return bool(taking)
        found = batches.withdraw(engine.database, thing, wrong.number)
        for number, rows in found:
            if thing.taken_batch == number:
                thing.taken_batch = thing.taken_rows = None
            batches.quarantine(engine.database, thing, number, rows, wrong.message)
        # what is pending has changed
        engine.recount()
        return bool(found)
