"""Plans and their statements as text, for the database.

The stored plan has what the engine needs of it between ticks. Its statements, which are many times
larger, are stored by form, and read when a tick needs that form. So opening a database neither
compiles nor parses. The logical plan is not stored: it is compiled from the query's text, when a
form is needed that has not been written yet. Texts are JSON of plain values, and contain no code.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from cqlduck.rewrite.physical.arrivals import Passing, Prefetch
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.physical.outline import Outline
from cqlduck.rewrite.physical.quiet import Quiet
from cqlduck.rewrite.physical.statement import Reusable, Synopsis
from cqlduck.rewrite.plan import Column, Plan, Source
from cqlduck.rewrite.plan.join_graph import JoinGraph, SpanningTree
from cqlduck.rewrite.plan.orders import Site
from cqlduck.rewrite.plan.partial import Link
from cqlduck.rewrite.plan.segments import Cached
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.statements.ordered import (
    JoinCaches,
    JoinPipeline,
    Ordered,
    OrderedFilters,
    TableSearch,
)
from cqlduck.rewrite.statements.steps import Step, Steps
from cqlduck.rewrite.text.time import Clock

_FACTS = tuple(f.name for f in fields(Compiled) if f.name != "steps")


def plan_text(compiled: Compiled) -> str:
    """Return what is asked of a plan between ticks as text."""
    return json.dumps({name: getattr(compiled, name) for name in _FACTS}, default=_plain)


def plan_of(text: str, name: str, clock: Clock, make: Callable[[str], Plan]) -> Compiled:
    """Return a plan from its text.

    Args:
        text: From `plan_text`.
        name: The query.
        clock: The clock.
        make: Makes the logical plan of the query's text, of the id that its root has to have.
    """
    facts: dict[str, Any] = json.loads(text)
    facts["columns"] = _columns(facts["columns"])
    facts["sources"] = {key: _source(source) for key, source in facts["sources"].items()}
    facts["synopses"] = tuple(
        Synopsis(**{**synopsis, "columns": _columns(synopsis["columns"])})
        for synopsis in facts["synopses"]
    )
    facts["ordered"] = tuple(map(_ordered, facts["ordered"]))
    shown = facts["outline"]
    if shown is not None:
        lists = {name: tuple(shown[name]) for name in ("columns", "conditions", "places")}
        facts["outline"] = Outline(**{**shown, **lists})
    return Compiled(**facts, steps=Steps(name, clock, functools.partial(make, facts["root"])))


def steps_text(steps: tuple[Step, ...]) -> str:
    """Return the statements of a form as text."""
    return json.dumps(steps, default=_plain)


def steps_of(text: str) -> tuple[Step, ...]:
    """Return the statements of a form from their text."""
    return tuple(_step(step) for step in json.loads(text))


def form_text(form: Form) -> str:
    """Return a form as text, the same for equal ones."""
    return json.dumps(_plain(form), sort_keys=True)


def form_of(text: str) -> Form:
    """Return a form from its text."""
    found = json.loads(text)
    orders = tuple((Site(*site), tuple(order)) for site, order in found.pop("orders", ()))
    caches = tuple(
        (number, tuple(map(_cached, caching))) for number, caching in found.pop("caches", ())
    )
    searches = tuple((number, key) for number, key in found.pop("searches", ()))
    return Form(**found, orders=orders, caches=caches, searches=searches)


def _cached(values: tuple[list[int], list[int] | None, int | None]) -> Cached:
    segment, users, slots = values
    return Cached(tuple(segment), None if users is None else tuple(users), slots)


def _step(values: dict[str, Any]) -> Step:
    values["parameters"] = frozenset(values["parameters"])
    values["needs"] = tuple(map(tuple, values["needs"]))
    values["unless"] = tuple(Quiet(**quiet) for quiet in values["unless"])
    values["sites"] = frozenset(Site(*site) for site in values["sites"])
    if values["passing"] is not None:
        columns, rest = values["passing"]["columns"], values["passing"]["rest"]
        values["passing"] = Passing(tuple(columns), rest)
    if values["prefetch"] is not None:
        values["prefetch"] = Prefetch(**values["prefetch"])
    if values["shared"] is not None:
        shared = values["shared"]
        quiet = None if shared["quiet"] is None else Quiet(**shared["quiet"])
        values["shared"] = Reusable(shared["table"], frozenset(shared["parameters"]), quiet)
    return Step(**values)


def _ordered(values: dict[str, Any]) -> Ordered:
    values["site"] = Site(*values["site"])
    if "segments" in values:
        values["graph"] = _graph(values["graph"])
        values["names"] = tuple(values["names"])
        values["segments"] = tuple(map(tuple, values["segments"]))
        for name in ("ends", "running", "unordered"):
            values[name] = tuple(values[name])
        values["links"] = tuple(Link(*link) for link in values["links"])
        pipelines = [_ordered(one) for one in values.pop("pipelines")]
        found = tuple(one for one in pipelines if isinstance(one, JoinPipeline))
        return JoinCaches(**values, pipelines=found)
    if "graph" in values:
        values["graph"] = _graph(values["graph"])
        for name in ("names", "default"):
            values[name] = tuple(values[name])
        tree = values["tree"]
        if tree is not None:
            values["tree"] = SpanningTree(tree["root"], tuple(map(tuple, tree["paths"])))
        return JoinPipeline(**values)
    if "keys" in values:
        lists = {name: tuple(values[name]) for name in ("names", "keys")}
        return TableSearch(**{**values, **lists})
    return OrderedFilters(**{**values, "names": tuple(values["names"])})


def _graph(graph: dict[str, Any]) -> JoinGraph:
    equalities = tuple(map(tuple, graph["equalities"]))
    return JoinGraph(graph["count"], equalities, tuple(graph["others"]))


def _source(stored: dict[str, Any]) -> Source:
    lists = {"columns": _columns(stored["columns"]), "primary_key": tuple(stored["primary_key"])}
    return Source(**{**stored, **lists})


def _columns(listed: list[dict[str, str]]) -> tuple[Column, ...]:
    return tuple(Column(**column) for column in listed)


def _plain(value: Any) -> Any:
    """Return a set, or a value with fields, as one of which JSON is made."""
    if isinstance(value, frozenset):
        return sorted(value)
    return {f.name: getattr(value, f.name) for f in fields(value)}
