"""The inventory: streams, relations and queries, as values for people.

`Connection.streams`, `relations` and `queries` are mappings from names to descriptions. They are
read-only, and do not change as time goes on. A notebook shows them as tables.
"""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from cqlduck.engine import Engine
from cqlduck.engine.completeness import WITH_ROWS, is_partial
from cqlduck.errors import CatalogError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import Clock
from cqlduck.state import instants, registered

ShownInstant = int | datetime.datetime | str
"""An instant as people see it: an int on integer time, else a datetime in UTC."""

MAX_CHARACTERS = 60
"""How many characters of a value a table has at most."""


@dataclass(frozen=True)
class Entry:
    """What a stream, a relation and a query have in common.

    Attributes:
        name: Its name, as it was written.
        columns: The DuckDB type of each column.
    """

    name: str
    columns: Mapping[str, str]

    def __repr__(self) -> str:
        """Return one line that says what it is."""
        shown = ", ".join(f"{key} {value}" for key, value in _facts(self) if key != "name")
        return f"<{type(self).__name__.lower()} {self.name}: {shown}>"

    def _repr_html_(self) -> str:
        """Return a table of what is known, for a notebook."""
        return _table(("", self.name), _facts(self))


@dataclass(frozen=True, repr=False)
class Stream(Entry):
    """A stream.

    Attributes:
        timestamp_by: The column that has the timestamps, or None.
        out_of_order_within: How far behind an element may be, or None.
        late: What becomes of later ones: REJECT, DROP, KEEP or AMEND.
        ahead_at_most: How far ahead an element may be, or None.
        folder: The folder of the drop zone that it reads, or None.
        heartbeat: The instant up to which it is complete, or None.
        first_element: The least instant of an element, or None.
        last_element: The greatest, or None.
        elements: How many elements came.
        waiting_for: Why following its folder stands still, or None.
    """

    timestamp_by: str | None
    out_of_order_within: str | None
    late: str
    ahead_at_most: str | None
    folder: str | None
    heartbeat: ShownInstant | None
    first_element: ShownInstant | None
    last_element: ShownInstant | None
    elements: int
    waiting_for: str | None


@dataclass(frozen=True, repr=False)
class Relation(Entry):
    """A relation.

    Attributes:
        primary_key: The columns of its primary key.
        folder: The folder of the drop zone that it reads, or None.
        text: The query that it was created from, or None.
        heartbeat: The instant up to which it is complete, or None.
        first_element: The least instant of an insertion or deletion, or None.
        last_element: The greatest, or None.
        elements: How many insertions and deletions came.
        waiting_for: Why following its folder stands still, or None.
    """

    primary_key: tuple[str, ...]
    folder: str | None
    text: str | None
    heartbeat: ShownInstant | None
    first_element: ShownInstant | None
    last_element: ShownInstant | None
    elements: int
    waiting_for: str | None


@dataclass(frozen=True, repr=False)
class Query(Entry):
    """A continuous query.

    Attributes:
        kind: What it yields: stream or relation.
        state: active, inactive, failed, expired, or 'waits for function f'.
        began: Its first instant, or None if it has not begun.
        frontier: The instant up to which its answer is final, or None.
        read: 'later' if it is answered when somebody reads it, or None.
        answer_instant: If it is, the instant at which its view shows the answer, or None.
        complete_from: The instant from which it says what it would if it had been there for ever;
            None if it does from its first instant on, 'never' if it lacks something for
            good, 'with its rows' if windows in rows have to get as many first.
        backfilled: If it is behind the others, which share of its way it has gone, from 0 to 1.
        inputs: The streams, relations and queries that it reads.
        keep: How long its changes are kept, or None for the setting `history`.
        weight: How important it is beside the others, 1.0 by default.
        error: Why it failed, or None.
        text: The SELECT that it stands for.
    """

    kind: str
    state: str
    began: ShownInstant | None
    frontier: ShownInstant | None
    read: str | None
    answer_instant: ShownInstant | None
    complete_from: ShownInstant | None
    backfilled: float | None
    inputs: tuple[str, ...]
    keep: str | None
    weight: float
    error: str | None
    text: str


class NoSuchName(CatalogError, KeyError):
    """There is nothing of this name."""


T = TypeVar("T", bound=Entry)


class Inventory(Mapping[str, T], Generic[T]):
    """Things by name, in the order of registration; letters' case does not count."""

    def __init__(self, title: str, things: Iterable[T]) -> None:
        """Keep the things."""
        self._title = title
        self._things = {thing.name: thing for thing in things}
        self._names = {name.lower(): name for name in self._things}

    def __getitem__(self, name: str) -> T:
        """Return the thing of a name.

        Raises:
            CatalogError: There is none; a KeyError too.
        """
        found = self._names.get(name.lower())
        if found is None:
            hint = suggestion(name, self._things, "there are")
            raise NoSuchName(f"{name} is not among the {self._title}", hint=hint)
        return self._things[found]

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._things)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._things)

    def __repr__(self) -> str:
        """Return a table of the facts that are known of any of them."""
        head, rows = self._facts()
        return "\n".join(_aligned([head, *rows])) if rows else f"no {self._title}"

    def _repr_html_(self) -> str:
        """Return that table for a notebook."""
        head, rows = self._facts()
        return _table(head, rows) if rows else f"<p>no {html.escape(self._title)}</p>"

    def _facts(self) -> tuple[list[str], list[list[str]]]:
        facts = [dict(_facts(thing)) for thing in self._things.values()]
        head = list(dict.fromkeys(key for known in facts for key in known))
        return head, [[known.get(key, "") for key in head] for known in facts]


def streams(engine: Engine) -> Inventory[Stream]:
    """Return the streams as they are now."""
    return Inventory(
        "streams",
        [
            Stream(
                timestamp_by=thing.timestamp_by,
                out_of_order_within=thing.bound_text,
                late=thing.late,
                ahead_at_most=thing.ahead_text,
                **_input(engine.clock, thing),
            )
            for thing in engine.catalogue.inputs.values()
            if thing.kind == "stream"
        ],
    )


def relations(engine: Engine) -> Inventory[Relation]:
    """Return the relations as they are now."""
    return Inventory(
        "relations",
        [
            Relation(primary_key=thing.primary_key, text=thing.query, **_input(engine.clock, thing))
            for thing in engine.catalogue.inputs.values()
            if thing.kind == "relation"
        ],
    )


def _input(clock: Clock, thing: registered.Input) -> dict[str, Any]:
    """Return the facts that a stream and a relation have in common."""
    return {
        "name": thing.name,
        "columns": _columns(thing.columns),
        "folder": thing.source,
        "heartbeat": instants.public(clock, thing.heartbeat),
        "first_element": instants.public(clock, thing.first_instant),
        "last_element": instants.public(clock, thing.last_instant),
        "elements": thing.next_seq,
        "waiting_for": thing.waiting_for,
    }


def queries(engine: Engine) -> Inventory[Query]:
    """Return the continuous queries as they are now."""
    clock = engine.clock
    return Inventory(
        "queries",
        [
            Query(
                name=query.name,
                columns=_columns(query.columns),
                kind=query.kind,
                state=query.state,
                began=instants.public(clock, query.begin_instant),
                frontier=instants.public(clock, query.closed_to),
                read="later" if query.is_deferred else None,
                answer_instant=instants.public(
                    clock, query.frontier if query.is_deferred else None
                ),
                complete_from=_complete_from(clock, query),
                backfilled=engine.backfill.fraction(engine.planned(query)),
                inputs=query.inputs,
                keep=query.keep,
                weight=query.weight,
                error=query.error,
                text=query.body,
            )
            for query in engine.catalogue.queries.values()
        ],
    )


def _complete_from(clock: Clock, query: registered.Query) -> ShownInstant | None:
    """Return the instant from which a query lacks nothing, as people see it."""
    if query.complete_from is None:
        return "never"
    if query.complete_from == WITH_ROWS:
        return "with its rows"
    return instants.public(clock, query.complete_from) if is_partial(query) else None


def summary(engine: Engine) -> str:
    """Return in a line what a connection has."""
    if engine.closed:
        return f"{engine.database.path}, closed"
    kinds = [thing.kind for thing in engine.catalogue.inputs.values()]
    counts = [
        (kinds.count("stream"), "stream", "streams"),
        (kinds.count("relation"), "relation", "relations"),
        (len(engine.catalogue.queries), "query", "queries"),
    ]
    shown = [f"{count} {one if count == 1 else more}" for count, one, more in counts]
    return ", ".join([engine.database.path, *shown, f"frontier {engine.shown(engine.frontier())}"])


def _columns(columns: Sequence[Column]) -> Mapping[str, str]:
    return MappingProxyType({column.name: column.type for column in columns})


def _facts(thing: Entry) -> list[tuple[str, str]]:
    """Return what is known of a thing, as texts."""
    found = []
    for field in fields(thing):
        value: Any = getattr(thing, field.name)
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} {kind}" for name, kind in value.items())
        elif isinstance(value, tuple):
            value = ", ".join(value)
        if value is not None and value != "":
            found.append((field.name.replace("_", " "), " ".join(str(value).split())))
    return found


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, each column as wide as its widest value."""
    cells = [[_short(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; a value that is cut is whole when one points at it."""

    def cell(tag: str, value: str) -> str:
        title = f' title="{html.escape(value)}"' if len(value) > MAX_CHARACTERS else ""
        return f"<{tag}{title}>{html.escape(_short(value))}</{tag}>"

    def line(tag: str, values: Sequence[str]) -> str:
        return f"<tr>{''.join(cell(tag, value) for value in values)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
