"""The SELECTs of `table`, `as_of` and `changes`, which EXPLAIN shows too."""

from __future__ import annotations

from collections.abc import Iterable

from cqlduck.engine import Engine
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.statements.memory import Stored, memory_of
from cqlduck.rewrite.text.names import SYSTEM
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import answers
from cqlduck.state.registered import Query


def of_table(engine: Engine, query: Query) -> str:
    """Return the SELECT of the answer at the frontier; of a stream, of its elements."""
    if query.kind == "stream" and engine.is_lasting(query):
        return answers.tuples_sql(engine.clock, query, query.frontier)
    return engine.answer_sql(query)


def of_changes(engine: Engine, query: Query, since: Instant | None, until: Instant | None) -> str:
    """Return the SELECT of the net elements with since < `_ts` ≤ until."""
    is_net = engine.is_net(query)
    if not engine.is_lasting(query) or query.frontier is None:
        return answers.changes_sql(engine.clock, query, since, until, is_net=is_net)
    until = min(t for t in (until, query.frontier) if t is not None)
    known = engine.results.logs.known(query, since, is_net=is_net)
    return answers.changes_sql(
        engine.clock,
        query,
        since,
        until,
        is_net=is_net or known.is_net,
        in_order=known.in_order,
    )


def stored(engine: Engine, name: str, compiled: Compiled) -> list[Stored]:
    """Return what a query keeps, or would keep, and what bounds it."""
    read = map(engine.catalogue.inputs.get, compiled.sources)
    amended = [thing.name for thing in read if thing is not None and thing.late == "AMEND"]
    return memory_of(compiled, f"answer_{name}", amended)


def memory(kept: Iterable[Stored], history: str | None) -> str:
    """Return what a query keeps, and what bounds it, as comments.

    Args:
        kept: What it keeps.
        history: How long its changes are kept, or None.
    """
    lines = [f"--   {one}" for one in kept]
    said = "each change is kept; WITH (keep = '7 days'), or the setting history, bounds it"
    if history is not None and history != "unbounded":
        said = f"bounded by {history}"
    return "\n".join(["-- what it keeps", *lines, f"--   its history: {said}"])


def weight(query: Query, planned: Query) -> str:
    """Return in a comment how important a query is, and what depends on that.

    Args:
        query: The query.
        planned: The query whose plan computes it.
    """
    said = f"-- weight {query.weight:g}"
    if planned is not query:
        said += f"; its family counts as {planned.weight:g}"
    return f"{said}: where not all ticks are measured, its are as often as its weight says"


def explain(engine: Engine, query: Query, notes: str = "") -> str:
    """Return the plan of a query, the statements of its ticks, and those of reads.

    That of `as_of` is of the instant before the frontier: at the frontier `table` has it.

    Args:
        engine: The engine.
        query: The query.
        notes: What was measured of it, to stand between the plan and the statements.
    """
    parts = [engine.explain(query, notes), f"-- read by table\n{of_table(engine, query)};"]
    if query.frontier is not None:
        earlier = engine.answer_sql(query, Instant(query.frontier - 1))
        parts.append(f"-- read by as_of, an instant before the frontier\n{earlier};")
    parts.append(f"-- read by changes\n{of_changes(engine, query, None, None)};")
    planned = engine.planned(query)
    parts.append(weight(query, planned))
    kept = stored(engine, planned.name, engine.compiled[planned.name.lower()])
    parts.append(memory(kept, query.keep or engine.history))
    if any(thing is engine.catalogue.system for thing in engine.catalogue.inputs_of(planned)):
        parts.append(
            f"-- {SYSTEM} says what ticks did: what it has depends on how time is cut into them"
        )
    return "\n\n".join(parts)
