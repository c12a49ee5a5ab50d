"""Generalizing: whether the constants of a query can be a relation, and what that one is like.

The text of a query has a `Shape`; here its plan and the catalogue are asked. A query is generalized
if its answer over all constants at once, by the number of the member, is the answer of each:

- every operator takes the member as one more key; a global aggregate gets a group for each member,
  which the member's row keeps there over nothing; nothing is recomputed;
- each stream has a window with a bound, or its elements pass one by one, so that the join with
  constants needs no past of it but what the window has; or all of it is kept anyway;
- nothing can raise: what fails, fails for all members.

A constant takes the type of the column that it is compared with, as DuckDB's literals do, and one
that stands alone its own. Beside another expression it gets a type that has all constants of its
kind: what compares with a literal of that kind and with such a column compares in the same way with
both, and elsewhere DuckDB does not bind the text of the family. Where a type would change what is
compared, the constant stays in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from cqlduck.engine import Engine
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import (
    Aggregate,
    Column,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    Source,
    unique,
    value_of,
)
from cqlduck.rewrite.plan.aggregates import value_may_raise
from cqlduck.rewrite.plan.conditions import conjuncts, names_in
from cqlduck.rewrite.plan.guards import may_raise
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.text.constants import Constant
from cqlduck.rewrite.text.queries import QuerySyntax, parse_query
from cqlduck.rewrite.text.shapes import ALIAS, MEMBER, SINCE, Shape
from cqlduck.rewrite.text.time import parse_duration
from cqlduck.rewrite.text.tokens import tokenize
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Input, Query

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")

_SCALE = re.compile(r"DECIMAL\(\d+, ?(\d+)\)")
_MOST_SCALE = 38 - 19
"""How many digits behind the point leave room for those of a BIGINT before it."""


@dataclass(frozen=True)
class Generalized:
    """A query whose constants are a relation.

    Attributes:
        now: The place behind the name of the stream whose elements it emits; None if it has a
            window for each.
        since: The aliases of the streams whose windows look back, if members may begin later than
            the family.
        types: Of each constant its type.
        is_open: Whether they may.
        is_global: Whether it is a global aggregate.
    """

    now: int | None
    since: tuple[str, ...]
    types: tuple[str, ...]
    is_open: bool
    is_global: bool


def generalized(
    engine: Engine, compiled: Compiled, shape: Shape, *, begin_at_once: bool
) -> Generalized | None:
    """Return how a query is generalized; None if it cannot be.

    Args:
        engine: The engine.
        compiled: The plan that the query has alone.
        shape: Its shape.
        begin_at_once: Whether it begins with the family, so that this may be one of queries that
            all do.
    """
    nodes = list(unique(compiled.plan))
    if not all(map(_is_general, nodes)):
        return None
    syntax = parse_query(shape.text)
    items = _items(syntax)
    known = {**engine.catalogue.inputs, **engine.catalogue.queries}
    if items is None or syntax.samples or any(t.name.lower() not in known for t in items.values()):
        return None
    types = tuple(_type(engine, items, constant) for constant in shape.constants)
    if any(kind is None for kind in types):
        return None
    now, looks_back, can_begin_later = None, [], _joins_plainly(syntax)
    passes = len(items) == 1 and compiled.kind == "stream" and not shape.has_operator
    passes = passes and not any(isinstance(node, Distinct) for node in nodes)
    for alias, table in items.items():
        source = _source(engine, table)
        if source.kind != "stream":
            continue
        place = int(table.this.meta["start"])
        window = syntax.windows.get(place)
        if window is None and passes:
            now = next(t.end + 1 for t in tokenize(shape.text) if t.start == place)
        elif window is None or not window.now:
            looks_back.append(quoted(alias))
            if window is None or window.unbounded:
                # the join with constants needs all of it, for members that come and go
                if compiled.spans.get(source.name, 0) is not None:
                    return None
            elif window.slide_rows is not None:
                # counted from the first row, which is another one for each member
                can_begin_later = False
    if looks_back and not (can_begin_later or begin_at_once):
        return None
    # while the kind of time is open, instants have no type
    is_open = not looks_back or (can_begin_later and not engine.catalogue.time_is_open)
    if not (is_open or begin_at_once):
        return None
    # without a stream nothing says when time begins for a member
    if not any(map(partial(_reads_a_stream, engine), compiled.sources.values())):
        return None
    return Generalized(
        now,
        tuple(looks_back) if is_open else (),
        tuple(kind for kind in types if kind is not None),
        is_open,
        any(map(_is_global, nodes)),
    )


def _reads_a_stream(engine: Engine, source: Source) -> bool:
    """Return whether an input is a stream, or a query that reads one, itself or through others."""
    query = engine.catalogue.queries.get(source.name.lower())
    if query is None:
        return source.kind == "stream"
    return any(one.kind == "stream" for one in engine.catalogue.inputs_of(query))


def _is_global(node: Plan) -> bool:
    """Return whether an operator is a global aggregate, or that of a family."""
    if not isinstance(node, Aggregate):
        return False
    return node.everything or all(key.startswith(f"{ALIAS}.") for key in node.keys)


def _joins_plainly(syntax: QuerySyntax) -> bool:
    """Return whether what a stream had before a member began can be left out behind the join.

    An outer join pads a tuple that has no partner, which it may have in what came before.
    """
    return not any(
        joined.args.get("side") or joined.args.get("kind") not in (None, "", "INNER", "CROSS")
        for joined in syntax.tree.args.get("joins") or ()
    )


def _source(engine: Engine, table: exp.Table) -> Input | Query:
    """Return the stream, relation or query of a table of FROM."""
    key = table.name.lower()
    return engine.catalogue.inputs.get(key) or engine.catalogue.queries[key]


def _is_general(node: Plan) -> bool:
    """Return whether the law of an operator stays as it is with the member as one more key."""
    match node:
        case Recompute():
            return False
        case Aggregate():
            if any(value_may_raise(call.call, call.argument_type) for call in node.calls):
                return False
            # groups by literals alone would be taken for those of a global aggregate
            values = [value_of(node.input, key) for key in node.keys]
            return node.everything or any(value.find(exp.Column) for value in values)
        case Filter() | Join():
            return not may_raise(node)
        case Project():
            types = {c.name: c.type for c in node.input.columns}
            return not any(can_raise(expression, types) for expression in node.expressions)
    return True


def _items(syntax: QuerySyntax) -> dict[str, exp.Table] | None:
    """Return the tables of FROM by alias; None if there is something else, or one twice."""
    tree = syntax.tree
    source = tree.args.get("from_")
    if not isinstance(tree, exp.Select) or source is None or tree.args.get("laterals"):
        return None
    found = [source.this, *(joined.this for joined in tree.args.get("joins") or ())]
    tables = [one for one in found if isinstance(one, exp.Table) and not one.args.get("db")]
    plain = [one for one in tables if isinstance(one.this, exp.Identifier)]
    items = {one.alias_or_name: one for one in plain}
    return items if len(items) == len(found) else None


def _type(engine: Engine, items: dict[str, exp.Table], constant: Constant) -> str | None:
    """Return the type that a constant has in the relation; None if it stays in the text.

    A literal of DuckDB takes on the type that it is compared with; a column does not.
    """
    if constant.place == "listed":
        return constant.literal_type
    if constant.place == "window":
        if engine.catalogue.settings.get("time") is None and _is_in_units(constant):
            # how many instants that is shows when the first time comes
            return None
        # windows over the answers of others need their elements kept for as long as the limit
        item = items.get(constant.column[0])
        is_own = item is not None and item.name.lower() in engine.catalogue.inputs
        return constant.exact_type if is_own else None
    if constant.kind != "text" and _has_long_decimals(engine, items.values()):
        return None
    if not constant.column:
        return constant.exact_type
    *where, name = (part.lower() for part in constant.column)
    found = []
    for alias, table in items.items():
        if not where or where == [alias.lower()]:
            columns = _source(engine, table).columns
            found += [c.type for c in columns if c.name.lower() == name]
    if len(found) != 1:
        return None
    kind = found[0]
    if constant.kind == "whole" and kind in _WHOLE:
        return "BIGINT"
    if constant.kind == "text" and kind in ("VARCHAR", "DATE", "TIMESTAMP"):
        return kind
    if constant.kind in ("whole", "decimal") and kind == "DOUBLE":
        return kind
    if constant.kind in ("whole", "decimal") and kind.startswith("DECIMAL("):
        return f"DECIMAL(18,{constant.scale})"
    return None


def _has_long_decimals(engine: Engine, tables: Iterable[exp.Table]) -> bool:
    """Return whether a DECIMAL has so many digits behind its point that a number may not fit.

    What is compared gets one type, of at most 38 digits, of which a constant that is a column takes
    19 before the point; as a literal it takes those that it has.
    """
    kinds = [c.type for table in tables for c in _source(engine, table).columns]
    scales = [int(found[1]) for kind in kinds for found in _SCALE.finditer(kind)]
    return max(scales, default=0) > _MOST_SCALE


def is_as(
    compiled: Compiled,
    kind: str,
    order: str | None,
    columns: tuple[Column, ...],
    *,
    is_general: bool,
) -> bool:
    """Return whether the plan of a family yields what its members yield, and the member.

    Args:
        compiled: The plan.
        kind: Whether a member yields a 'stream' or a 'relation'.
        order: Its ORDER BY, or nothing.
        columns: Its columns.
        is_general: Whether the family has a relation of constants.
    """
    if compiled.kind != kind or compiled.order != order:
        return False
    if not is_general:
        return compiled.columns == columns
    nodes = list(unique(compiled.plan))
    if any(isinstance(node, Recompute) or _may_fail_for_one(node) for node in nodes):
        return False
    own = [column for column in compiled.columns if not column.name.startswith("_cql_")]
    has_member = any(column.name == MEMBER for column in compiled.columns)
    return tuple(own) == columns and has_member


def _may_fail_for_one(node: Plan) -> bool:
    """Return whether a condition may raise by a constant, which would fail all members.

    A text is cast where it stands, if what it is compared with is none.
    """
    match node:
        case Filter():
            conditions, inputs = [*conjuncts(node.predicate)], [node.input]
        case Join():
            conditions, inputs = [*node.predicates], [*node.inputs]
        case _:
            return False
    types = {column.name: column.type for plan in inputs for column in plan.columns}
    others = {f"{ALIAS}.{name}" for name in (MEMBER, SINCE)}
    read = [{n for n in names_in([one]) if n.startswith(f"{ALIAS}.")} for one in conditions]
    pairs = zip(conditions, read, strict=True)
    return any(can_raise(one, types) for one, names in pairs if names - others)


def _is_in_units(constant: Constant) -> bool:
    """Return whether the range of a window is written in units, not in instants."""
    return parse_duration(constant.sql).microseconds is not None


def value(engine: Engine, constant: Constant) -> str:
    """Return a constant as it stands in the relation, as SQL.

    Raises:
        Error: The range of a window that there cannot be.
    """
    if constant.place != "window":
        return constant.sql
    is_half_open = engine.catalogue.half_open
    length = parse_duration(constant.sql)
    return str(engine.clock.instants(length, rounded_up=is_half_open))
