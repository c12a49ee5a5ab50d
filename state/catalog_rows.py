"""The catalogue as rows: how streams, relations and queries are loaded and saved.

The views `cql_state.inputs` and `cql_state.queries` have what the next start needs. What a
transaction changed in memory is saved at its end.

Each tick moves heartbeats, counters and frontiers. DuckDB (release 2.0) takes half a millisecond
for a statement that writes one row; so a tick writes one row in all, in `cql_state.ticks`, which
lists what has moved since the rows of inputs and queries were written. Of these lists the last
counts, for rows that are older (`as_of`), and the views look there.

In memory the row of an input that arrivals have moved may wait (`Waiting`), as rows of ticks may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database
from cqlduck.state.functions import Function
from cqlduck.state.registered import Input, Query

ROWS = {"inputs": "input_rows", "queries": "query_rows"}
"""Where the rows of inputs and queries stand."""

_ASIDE = ("columns", "saved", "written")
"""Fields of inputs and queries that are no columns."""

MOVING = {
    "inputs": (
        "heartbeat",
        "first_instant",
        "last_raw",
        "last_instant",
        "forgotten",
        "next_seq",
        "next_batch",
        "taken_batch",
        "taken_rows",
    ),
    "queries": ("begin_instant", "frontier", "answer_instant", "history_from", "promised"),
}
"""What ticks move, in the order in which a tick's row lists it after the position."""

_MUTABLE = {
    "inputs": (*MOVING["inputs"], "waiting_for", "bound"),
    "queries": (
        *MOVING["queries"],
        "state",
        "error",
        "error_reason",
        "error_row",
        "since",
        "keep",
        "amend_from",
        "taken",
        "weight",
        "sharing",
        "is_anew",
        "is_deferred",
        "backfill_from",
        "backfill_to",
        "complete_from",
    ),
}
"""What changes of inputs and queries."""

_STATES: Mapping[str, Callable[[Input | Query], tuple[object, ...]]] = {
    kind: attrgetter(*names) for kind, names in _MUTABLE.items()
}
"""Gives what changes of inputs and queries, in the order of `_MUTABLE`."""

MAX_LISTED_MOVES = 64
"""How many inputs, or queries, the row of a tick lists at most; of more the rows are written."""

MAX_LOGGED_TICKS = 10_000


@dataclass(frozen=True)
class Ticked:
    """A tick for people to look at: a row of `cql.ticks`."""

    number: int
    since: Instant | None
    until: Instant
    queries: int
    elements: int
    seconds: float


TickRow = list[object]
"""A row of `cql_state.ticks`: the tick, and what has moved of inputs and of queries."""


@dataclass(frozen=True)
class Waiting:
    """The row of an input that is to be written.

    Attributes:
        state: What changes of it, in the order of `_MUTABLE`.
        as_of: The last tick before.
    """

    state: tuple[object, ...]
    as_of: int


WaitingRows = Mapping[str, Waiting]
"""The rows of inputs that wait, by the names of these."""


def load(database: Database, *, is_empty: bool = False) -> Catalogue:
    """Read the catalogue.

    Args:
        database: The database.
        is_empty: Whether nothing can have been registered.
    """
    catalogue = Catalogue()
    catalogue.settings = {n: v for n, v in database.rows("SELECT * FROM cql_state.settings")}
    if is_empty:
        return catalogue
    for row in database.rows("SELECT * FROM cql_state.functions"):
        function = Function(row[0], tuple(row[1]), *row[2:])
        catalogue.functions[function.name.lower()] = function
    for kind in ("inputs", "queries"):
        if not database.value(f"SELECT count(*) FROM cql_state.{ROWS[kind]}"):
            # to plan the view takes ten times as long
            continue
        made: type[Input | Query] = Input if kind == "inputs" else Query
        names = [f.name for f in fields(made) if f.name not in _ASIDE]
        listed = ", ".join([*names, "column_names", "column_types"])
        for row in database.rows(f"SELECT {listed} FROM cql_state.{kind} ORDER BY position"):
            values = dict(zip(names, row[: len(names)], strict=True))
            for key in ("primary_key", "inputs", "projection", "selection"):
                if key in values:
                    values[key] = tuple(values[key])
            columns = tuple(Column(n, t) for n, t in zip(row[-2], row[-1], strict=True))
            thing = made(columns=columns, **values)
            thing.saved = _state(kind, thing)
            catalogue.add(thing)
    return catalogue


def last_tick(database: Database) -> int:
    """Return the number of the last tick; 0 if there was none."""
    if database.is_new:
        return 0
    return int(database.value("SELECT coalesce(max(number), 0) FROM cql_state.ticks") or 0)


def write_function(database: Database, function: Function) -> None:
    """Write the row of a user's function, in the place of one of the same name."""
    delete_function(database, function.name)
    values = [_plain(getattr(function, f.name)) for f in fields(function)]
    database.execute("INSERT INTO cql_state.functions VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def delete_function(database: Database, name: str) -> None:
    """Delete the row of a user's function."""
    database.execute("DELETE FROM cql_state.functions WHERE lower(name) = ?", [name.lower()])


def choose(database: Database, catalogue: Catalogue, settings: Mapping[str, str]) -> None:
    """Write settings that were not chosen before; a database keeps them for life."""
    if settings:
        marks = ", ".join(["(?, ?)"] * len(settings))
        values = [value for pair in settings.items() for value in pair]
        database.execute(f"INSERT INTO cql_state.settings VALUES {marks}", values)
        catalogue.settings.update(settings)
        catalogue.__dict__.pop("clock", None)


def insert(database: Database, thing: Input | Query) -> None:
    """Write the row of something new."""
    kind = "inputs" if isinstance(thing, Input) else "queries"
    names = [f.name for f in fields(thing) if f.name not in _ASIDE]
    values = [_plain(getattr(thing, name)) for name in names]
    values += [[c.name for c in thing.columns], [c.type for c in thing.columns]]
    listed = ", ".join([*names, "column_names", "column_types", "as_of"])
    marks = ", ".join("?" for _ in values)
    last = "(SELECT coalesce(max(number), 0) FROM cql_state.ticks)"
    database.execute(
        f"INSERT INTO cql_state.{ROWS[kind]} ({listed}) VALUES ({marks}, {last})", values
    )
    thing.saved = thing.written = _state(kind, thing)


def move(database: Database, thing: Input | Query) -> None:
    """Write the row of an input or query anew: more of it has changed than `save` looks at."""
    delete(database, thing)
    insert(database, thing)


def delete(database: Database, thing: Input | Query) -> None:
    """Delete the row of what is dropped."""
    rows = ROWS["inputs" if isinstance(thing, Input) else "queries"]
    database.execute(f"DELETE FROM cql_state.{rows} WHERE name = ?", [thing.name])


def save(
    database: Database,
    catalogue: Catalogue,
    last: int,
    ticks: Sequence[Ticked],
    waiting: WaitingRows,
    *,
    may_wait: bool = False,
) -> tuple[list[TickRow], WaitingRows]:
    """Write what changed of inputs and queries since they were read or written last.

    Args:
        database: The database, inside a transaction.
        catalogue: What is registered.
        last: The number of the last tick before these.
        ticks: The ticks that changed it, if any did.
        waiting: The rows that wait.
        may_wait: Whether others may wait too.

    Returns:
        The rows of the ticks, which are still to be written, and the rows that wait.
    """
    at = ticks[-1].number if ticks else last
    there = [*catalogue.inputs.values(), *catalogue.constants.values()]
    # none is of an input that is dropped: who runs a statement has all that waits written before
    rows = dict(waiting)
    if may_wait and not ticks:
        for thing in _moved(there):
            state = _state("inputs", thing)
            rows[thing.name] = Waiting(state, at)
            thing.saved = thing.written = state
    inputs = _save(database, "inputs", there, at, bool(ticks), rows)
    # what moves of members is their family's
    queries = _save(database, "queries", catalogue.running, at, bool(ticks), {})
    listed = [
        [
            *(getattr(tick, f.name) for f in fields(tick)),
            *([inputs, queries] if tick.number == at else [[], []]),
        ]
        for tick in ticks
    ]
    return listed, rows


def _moved(inputs: Sequence[Input]) -> list[Input]:
    """Return the inputs of which nothing has changed but what ticks move."""
    state, names, moving = _STATES["inputs"], _MUTABLE["inputs"], MOVING["inputs"]
    return [
        thing
        for thing in inputs
        if state(thing) != thing.saved
        and thing.saved
        and all(
            old == new or name in moving
            for name, old, new in zip(names, thing.saved, state(thing), strict=True)
        )
    ]


def write_waiting(database: Database, rows: WaitingRows) -> None:
    """Write the rows of inputs that wait."""
    names = _MUTABLE["inputs"]
    sets = "".join(f"{name} = ?, " for name in names)
    for name, row in rows.items():
        database.execute(
            f"UPDATE cql_state.{ROWS['inputs']} SET {sets}as_of = ? WHERE name = ?",
            [*row.state, row.as_of, name],
        )


def write_ticks(database: Database, rows: Sequence[TickRow]) -> None:
    """Write the rows of ticks, in their order; of many ticks only the last are kept."""
    marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
    values = [value for row in rows for value in row]
    database.execute(f"INSERT INTO cql_state.ticks VALUES {marks}", values)
    for number, *_ in rows:
        assert isinstance(number, int)
        if number % 1000 == 0:
            database.execute(
                "DELETE FROM cql_state.ticks WHERE number <= ?", [number - MAX_LOGGED_TICKS]
            )


def _save(
    database: Database,
    kind: str,
    things: Sequence[Input | Query],
    at: int,
    ticked: bool,
    waiting: dict[str, Waiting],
) -> list[list[object]]:
    """Write the rows that have to be; return what the row of tick `at` has to list, if there is."""
    # of all that is registered, in each change: no function of ours is called for one of them
    state = _STATES[kind]
    changed = [thing for thing in things if state(thing) != thing.saved]
    if not ticked:
        _update(database, kind, changed, at, waiting)
        return []
    moving, names = MOVING[kind], _MUTABLE[kind]
    others = [
        thing
        for thing in changed
        if any(
            old != new and name not in moving
            for name, old, new in zip(names, thing.saved, state(thing), strict=True)
        )
    ]
    if others:
        _update(database, kind, others, at, waiting)
    moved = [thing for thing in things if state(thing) != thing.written]
    if len(moved) > MAX_LISTED_MOVES:
        _update(database, kind, moved, at, waiting)
        return []
    for thing in moved:
        thing.saved = state(thing)
    return [[t.position, *(getattr(t, name) for name in moving)] for t in moved]


def _update(
    database: Database,
    kind: str,
    things: Iterable[Input | Query],
    as_of: int,
    waiting: dict[str, Waiting],
) -> None:
    """Write the rows of inputs or queries as they are after a tick; none of these waits then."""
    names = _MUTABLE[kind]
    alike: dict[tuple[tuple[str, object], ...], list[int]] = {}
    for thing in things:
        if waiting.pop(thing.name, None) is not None:
            thing.written = None
        state = _state(kind, thing)
        before = thing.written or (None,) * len(names)
        both = zip(names, before, state, strict=True)
        changed = tuple((n, new) for n, old, new in both if old != new or thing.written is None)
        alike.setdefault(changed, []).append(thing.position)
        thing.saved = thing.written = state
    # an UPDATE for each kind of change: one that joins with VALUES costs as much as four of these
    for changed, positions in alike.items():
        sets = "".join(f"{name} = ?, " for name, _ in changed)
        database.execute(
            f"UPDATE cql_state.{ROWS[kind]} SET {sets}as_of = ? WHERE list_contains(?, position)",
            [*(new for _, new in changed), as_of, positions],
        )


def _state(kind: str, thing: Input | Query) -> tuple[object, ...]:
    return _STATES[kind](thing)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
