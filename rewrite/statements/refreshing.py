"""The two ways to keep a query's answer up: incrementally, or by answering it anew.

The second is the same query, bound as a whole (as the setting `recompute` = 'always' binds it)
below an `Anew`. `refusal` says for which queries both give the same elements and the same errors,
and can follow each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cqlduck.rewrite.operators.anew import leaves
from cqlduck.rewrite.plan import (
    Aggregate,
    Anew,
    Distinct,
    Filter,
    Net,
    Plan,
    Project,
    Recompute,
    RelationScan,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    chain_of,
    unique,
)
from cqlduck.rewrite.plan.aggregates import EXTREMES
from cqlduck.rewrite.relalg.values import FLOATING
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.text.time import Duration

INCREMENTAL, RECOMPUTED = "incremental", "recomputed"
"""The options of the point `answer`."""


def option_of(*, is_anew: bool) -> str:
    """Return the option by which a query is answered."""
    return RECOMPUTED if is_anew else INCREMENTAL


def answered_anew(plan: Plan) -> Plan:
    """Return the plan of a query, bound as a whole, that is answered anew at each change."""
    if isinstance(plan, ToStream):
        return replace(plan, input=answered_anew(plan.input))
    return Anew(plan)


def is_anew(compiled: Compiled) -> bool:
    """Return whether a query is answered anew."""
    return any(isinstance(node, Anew) for node in unique(compiled.plan))


def refusal(kept: Compiled, anew: Compiled) -> str | None:
    """Return why a query cannot be answered anew in the place of its plan, or None if it can.

    Args:
        kept: The plan that is incremental.
        anew: The one that is not.
    """
    if (kept.kind, kept.columns) != (anew.kind, anew.columns):
        return "answered anew, its columns have other types"
    return _about_plan(kept.plan) or _about_spans(kept, anew)


def _about_plan(plan: Plan) -> str | None:
    """Return what of an incremental plan forbids it."""
    for node in unique(plan):
        if isinstance(node, Aggregate):
            for call in node.calls:
                if call.function not in EXTREMES and _is_floating(call.type):
                    return f"{call.call.sql('duckdb')} is a DOUBLE, whose last digits may differ"
    return None


def refusal_of_plan(plan: Plan) -> str | None:
    """Return why a query cannot be answered anew, by its plan as a whole; None if it can."""
    while isinstance(plan, ToStream):
        plan = plan.input
    for node in unique(plan):
        match node:
            case Recompute():
                if node.turns or node.always:
                    return "it reads the current time"
                if node.is_guarded:
                    return "a condition may raise an error, and which rows it is tested on may show"
            case TimeWindow():
                *_, source = chain_of(node.input)
                if not isinstance(source, StreamScan):
                    return "it has a window on a stream that a subquery yields"
            case (
                Anew() | Aggregate() | Distinct() | Filter() | Net() | Project() | RelationScan()
                | StreamScan() | Trace() | UnionAll()
            ):  # fmt: skip
                pass
            case _:
                return f"what stood of a {type(node).__name__} is not kept in a store"
    return None if leaves(plan) else "it reads nothing"


def _about_spans(kept: Compiled, anew: Compiled) -> str | None:
    """Return of which stream more would have to be kept."""
    for name, span in anew.spans.items():
        if longest(kept.spans.get(name, Duration(0)), span) != kept.spans.get(name, Duration(0)):
            return f"all that its answer follows from of {name} would have to be kept"
    return None


def longest(one: Duration | None, other: Duration | None) -> Duration | None:
    """Return the longer of two spans; None is without bound."""
    return None if one is None or other is None else max(one, other)


def following(kept: Compiled, anew: Compiled) -> Compiled:
    """Return a plan that answers anew, and keeps of streams what the other one needs.

    Elements that the other one has written stay in the log, and are net only if its are.
    """
    spans: Mapping[str, Duration | None] = kept.spans
    merged = {
        name: longest(spans.get(name, Duration(0)), anew.spans.get(name, Duration(0)))
        for name in {**spans, **anew.spans}
    }
    return replace(anew, spans=merged, is_net=kept.is_net and anew.is_net)


def _is_floating(type_name: str) -> bool:
    return any(kind in type_name for kind in FLOATING)
