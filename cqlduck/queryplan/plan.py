"""The plan of a registered query, read from the engine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cqlduck import selects
from cqlduck.engine import Engine
from cqlduck.queryplan import mermaid, rendered, sizes
from cqlduck.queryplan.model import (
    PlanChange,
    PlanChoice,
    PlanOperator,
    PlanStatement,
    PlanSynopsis,
)
from cqlduck.registration import meetings
from cqlduck.registration.options import options_of
from cqlduck.registration.prospects import prospect, said
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.explain import linearity_of
from cqlduck.rewrite.plan import Plan, RelationScan, StreamScan, unique
from cqlduck.rewrite.statements.memory import Stored, bound_of
from cqlduck.rewrite.text.plans import PLAN_VERSION
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.state import choices
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Query
from cqlduck.streamon import measures
from cqlduck.streamon.measures import Measures

MAX_CHANGES = 10
"""How many of the last changes of choices a plan has."""


@dataclass(frozen=True)
class QueryPlan:
    """The plan of a query.

    Attributes:
        query: The query.
        kind: 'stream' or 'relation': what it yields.
        body: Its text.
        id: The id of its root.
        family: The queries that are computed by one plan with it, in their order.
        operators: The operators, by number; 0 is the root.
        changes: The last changes of choices, the newest first.
        measured_ticks: How many of the last ticks the measures are of; None if nobody asked.
        text: The plan as EXPLAIN prints it.
    """

    query: str
    kind: str
    body: str
    id: str
    family: tuple[str, ...]
    operators: tuple[PlanOperator, ...]
    changes: tuple[PlanChange, ...]
    measured_ticks: int | None
    text: str

    def __str__(self) -> str:
        """Return it as EXPLAIN prints it."""
        return self.text

    def shown(self, form: str) -> str:
        """Return it as TEXT, JSON, MERMAID or SQL."""
        if form == "TEXT":
            return self.text
        made = {"JSON": self.json, "MERMAID": self.mermaid, "SQL": self.sql}[form]
        return made()

    def json(self) -> str:
        """Return it as JSON; CREATE CONTINUOUS QUERY … FROM PLAN registers such a query."""
        values = dataclasses.asdict(self)
        del values["text"]
        return json.dumps({"version": PLAN_VERSION, **values}, indent=2, ensure_ascii=False)

    def mermaid(self) -> str:
        """Return a picture: a flowchart in Mermaid's language."""
        return mermaid.flowchart(self.query, self.kind, self.operators)

    def sql(self) -> str:
        """Return the SELECT over the inspection views that says the same."""
        is_measured = self.measured_ticks is not None
        return rendered.sql(self.query, self.operators, is_measured=is_measured)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the picture and the text, for a notebook."""
        return {"text/vnd.mermaid": self.mermaid(), "text/plain": self.text}


def plan_of(engine: Engine, query: Query, *, analyze: bool = False) -> QueryPlan:
    """Return the plan of a query as it stands.

    Args:
        engine: The engine.
        query: The query.
        analyze: Whether to say what its operators did in the last ticks that were measured, and how
            much they keep, which reads a sample of each table.
    """
    engine.reading(everything=True)
    planned = engine.planned(query)
    compiled = engine.compiled[query.planned_by]
    members = [one.name for one in engine.catalogue.members_of(planned)]
    ticks = engine.streamon.profiler.last(planned.name)
    kept = selects.stored(engine, planned.name, compiled)
    size = partial(sizes.size, engine.database) if analyze else None
    found = measures.by_operator(compiled.plan, ticks) if analyze else {}
    operators = _operators(engine, query, planned, compiled, kept, found, size)
    changes = _changes(engine, planned)
    notes = rendered.notes(operators, changes, len(ticks)) if analyze else ""
    text = selects.explain(engine, query, "\n\n".join(filter(None, (notes, _alone(engine, query)))))
    root = compiled.root
    if planned is not query or query.is_anew:
        # what it computes does not depend on how
        compiler = engine.compiler
        root = compiler.compile(engine.catalogue, query.name, query.body, query.taken).root
    return QueryPlan(
        query.name,
        query.kind,
        query.body,
        root,
        tuple(members),
        operators,
        changes,
        len(ticks) if analyze else None,
        text,
    )


def _alone(engine: Engine, query: Query) -> str:
    """Return in a comment why a query has a plan of its own; nothing if it has none."""
    if query.family is not None:
        return ""
    statement = CreateQuery(query.name, query.body, options_of(query))
    own = engine.compiled[query.name.lower()]
    found = prospect(engine, statement, own, query, is_new=False)
    if found.candidate is None and found.widened is None:
        why = f"-- {query.name} has a plan of its own: {found.why}"
    else:
        why = f"-- {query.name} has a plan of its own; created anew {said(engine, found)}"
    meeting = meetings.said(engine, query)
    return f"{why}\n--   {meeting}" if meeting else why


def _operators(
    engine: Engine,
    query: Query,
    planned: Query,
    compiled: Compiled,
    kept: Iterable[Stored],
    found: Mapping[int, Measures],
    size: sizes.Size | None,
) -> tuple[PlanOperator, ...]:
    forms = engine.streamon.shown.forms(planned.name)
    shown: dict[int, list[PlanStatement]] = {}
    for step, form in compiled.steps.shown(forms):
        one = PlanStatement(step.purpose, "" if form is None else str(form), step.sql)
        shown.setdefault(step.operator, []).append(one)
    for filled in compiled.steps.fills(forms[0]):
        if filled.sql is not None:
            one = PlanStatement("fill a cache, when it is made", "", filled.sql)
            shown.setdefault(filled.synopsis.operator, []).append(one)
    tables: dict[int, list[PlanSynopsis]] = {}
    bounds = {one.table: str(one.bound) for one in kept}
    readers = _members(engine, planned) or (query.name,)
    for synopsis in (*compiled.synopses, *engine.caches.of(planned.name)):
        table = _synopsis(synopsis.kind, synopsis.name, readers, bounds, size)
        tables.setdefault(synopsis.operator, []).append(table)
    chosen = _choices(engine, planned)
    nodes = list(unique(compiled.plan))
    numbers = {id(node): number for number, node in enumerate(nodes)}
    rows = {row.number: row for row in compiled.operators}
    listed = []
    for number, node in enumerate(nodes):
        above, store = _input(engine, node, bounds, size)
        if number == 0:
            above = tuple(one.name for one in engine.catalogue.readers(query))
        listed.append(
            PlanOperator(
                number,
                rows[number].id,
                rows[number].kind,
                rows[number].description,
                linearity_of(node),
                tuple(numbers[id(child)] for child in node.children),
                above if number == 0 else tuple(one for one in above if one not in readers),
                (*store, *tables.get(number, ())),
                tuple(shown.get(number, ())),
                tuple(chosen.get(number, ())),
                found.get(number),
            )
        )
    return tuple(listed)


def _members(engine: Engine, planned: Query) -> tuple[str, ...]:
    return tuple(one.name for one in engine.catalogue.members_of(planned))


def _synopsis(
    kind: str,
    table: str,
    readers: tuple[str, ...],
    bounds: Mapping[str, str],
    size: sizes.Size | None,
) -> PlanSynopsis:
    name = f"cql_state.{quoted(table)}"
    rows, taken = (None, None) if size is None else size(name)
    return PlanSynopsis(kind, name, readers, bounds.get(table), rows, taken)


def _input(
    engine: Engine, node: Plan, bounds: Mapping[str, str], size: sizes.Size | None
) -> tuple[tuple[str, ...], tuple[PlanSynopsis, ...]]:
    """Return the queries that read an input, and its store; nothing of another operator.

    Of a query that yields a relation these are its log and the base of that.
    """
    if not isinstance(node, (StreamScan, RelationScan)):
        return (), ()
    source = node.source
    catalogue = engine.catalogue
    thing = catalogue.queries.get(source.name.lower()) or catalogue.input_of(source.name)
    assert thing is not None
    readers = tuple(
        name
        for reader in catalogue.readers(thing)
        for name in _members(engine, reader) or (reader.name,)
    )
    kind = "log" if source.is_query else "store"
    tables = [_synopsis(kind, source.table, readers, bounds, size)]
    if isinstance(thing, Query) and thing.kind == "relation":
        bound = {thing.base: str(bound_of(node))}
        tables.append(_synopsis("base", thing.base, readers, bound, size))
    return readers, tuple(tables)


def _choices(engine: Engine, planned: Query) -> dict[int, list[PlanChoice]]:
    """Return what stands at the points of a query, by operator; of the query itself at the root."""
    found: dict[int, list[PlanChoice]] = {}
    for point, choice in sorted(engine.streamon.executor.kept.choices.items(), key=str):
        if point.owner == planned.name:
            reason = choices.last_reason(engine.database, point, ())
            found.setdefault(point.operator or 0, []).append(
                PlanChoice(
                    point.name,
                    None if point.input is None else point.input + 1,
                    point.ticks or "",
                    choice.option,
                    choice.options,
                    choice.chosen_by,
                    choice.since,
                    reason,
                )
            )
    return found


def _changes(engine: Engine, planned: Query) -> tuple[PlanChange, ...]:
    rows = engine.database.rows(
        "SELECT tick, point, operator, from_option, to_option, chosen_by, reason "
        "FROM cql_state.plan_log WHERE owner = ? ORDER BY number DESC LIMIT ?",
        [planned.name, MAX_CHANGES],
    )
    return tuple(PlanChange(*row) for row in rows)
