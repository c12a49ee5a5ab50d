"""Properties: the facts about a node's elements and lifetimes, one value a node, derived bottom-up.

A property is one-sided. If it is False, None or empty nothing is known; otherwise it holds for all
data. Each kind of node derives its properties in one function, from those of its inputs. A node is
immutable, so its properties are derived once and stay with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

from sqlglot import exp

from cqlduck.rewrite.plan.conditions import COMPARISONS, conjuncts
from cqlduck.rewrite.plan.nodes import (
    Aggregate,
    Anew,
    Cache,
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RowWindow,
    Sample,
    SetOperation,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    VaryingWindow,
)
from cqlduck.rewrite.plan.sources import Column, RelationScan, StreamScan
from cqlduck.rewrite.plan.traversal import chain_of, derived_once
from cqlduck.rewrite.text.time import Duration


@dataclass(frozen=True)
class Properties:
    """What holds for a node, whatever the data.

    Attributes:
        is_stream: The node yields a stream, else a relation.
        is_numbered: The elements of the stream arrived one by one, each with a sequence number.
        is_monotonic: The relation can only grow, by its syntax (chapter, section 2.2): only streams
            under unbounded windows, combined by projection, WHERE, inner joins, DISTINCT, UNION, IN
            and EXISTS.
        is_append_only: No element has a negative weight.
        has_unit_elements: Each element is one insertion, of weight 1.
        has_unit_weights: Each lifetime is one tuple, of weight 1.
        is_instantaneous: Each tuple lives for one instant, because it needs one of a `[NOW]`.
        needs_now: Each tuple needs a `[NOW]` tuple of the same instant, though it may be shown as
            part of another, as in a group.
        never_expires: No lifetime has an end.
        frame_width: w, if the tuples at τ are those of the last w instants and τ, each once.
        period: The relation changes at multiples of so many instants alone, after its first tick.
        has_groups: An operator that makes one tuple of several is in the node or below it.
        is_compact: Elements need no netting before they are kept: by the node's law no tuple comes
            and goes at one instant, or each has a lifetime that is not empty, so that a log has at
            most two elements a tuple.
        is_consolidated: No two elements have the same tuple and instant.
        not_null: Columns that have a value in each tuple.
        key: Columns of which no two tuples that stand at one instant have the same values.
    """

    is_stream: bool = False
    is_numbered: bool = False
    is_monotonic: bool = False
    is_append_only: bool = False
    has_unit_elements: bool = False
    has_unit_weights: bool = False
    is_instantaneous: bool = False
    needs_now: bool = False
    never_expires: bool = False
    frame_width: Duration | None = None
    period: Duration | None = None
    has_groups: bool = False
    is_compact: bool = False
    is_consolidated: bool = False
    not_null: frozenset[str] = frozenset()
    key: frozenset[str] | None = None


@derived_once
def properties(plan: Plan) -> Properties:
    """Return the properties of a node."""
    known = _derived(plan, *map(properties, plan.children))
    return replace(known, not_null=_comparable(plan, known.not_null))


@singledispatch
def _derived(plan: Plan, *inputs: Properties) -> Properties:
    """Return the properties of a node from those of its inputs: a function for each kind."""
    raise AssertionError(f"{type(plan).__name__} is no node")


# -- streams ---------------------------------------------------------------------------------------


@_derived.register
def _stream(plan: StreamScan) -> Properties:
    is_base = not plan.source.is_query
    return Properties(
        is_stream=True,
        is_numbered=is_base,
        is_append_only=True,
        has_unit_elements=is_base,
        not_null=frozenset() if plan.instant is None else frozenset([plan.instant]),
    )


@_derived.register
def _relation(plan: RelationScan) -> Properties:
    is_query, key = plan.source.is_query, plan.source.primary_key
    pairs = zip(plan.source.columns, plan.names, strict=True)
    shown = {known.name: name for known, name in pairs if name is not None}
    return Properties(
        has_unit_weights=not is_query,
        never_expires=is_query,
        is_compact=not is_query,
        key=frozenset(shown[name] for name in key) if key and shown.keys() >= set(key) else None,
    )


@_derived.register
def _sample(plan: Sample, stream: Properties) -> Properties:
    # of an element of weight k each tuple is kept or not by itself
    return Properties(
        is_stream=True,
        is_numbered=stream.is_numbered,
        is_append_only=True,
        has_groups=stream.has_groups,
        not_null=stream.not_null,
    )


@_derived.register
def _to_stream(plan: ToStream, inner: Properties) -> Properties:
    return Properties(
        is_stream=True,
        is_append_only=True,
        period=None if plan.kind == "rstream" else inner.period,
        has_groups=inner.has_groups,
        is_consolidated=plan.kind == "rstream" or not inner.is_append_only,
        not_null=inner.not_null,
    )


# -- windows ---------------------------------------------------------------------------------------


@_derived.register
def _time_window(plan: TimeWindow, stream: Properties) -> Properties:
    is_single = _has_single_elements(plan.input)
    is_now = plan.width == 0 and plan.slide is None and not plan.hop and not plan.half_open
    is_unbounded = plan.width is None
    # the trace of a derived stream is written at any instant
    *_, source = chain_of(plan.input)
    return Properties(
        is_monotonic=is_unbounded,
        is_append_only=is_unbounded,
        has_unit_elements=is_unbounded and stream.has_unit_elements,
        has_unit_weights=is_single,
        is_instantaneous=is_now,
        needs_now=is_now,
        never_expires=is_unbounded,
        frame_width=_frame_width(plan) if is_single else None,
        period=plan.slide if isinstance(source, StreamScan) else None,
        has_groups=stream.has_groups,
        is_compact=is_single,
        not_null=stream.not_null,
    )


def _frame_width(plan: TimeWindow) -> Duration | None:
    if plan.width is None:
        return None
    if plan.hop:
        assert plan.slide is not None
        return Duration(plan.width - 1) if plan.width % plan.slide == 0 else None
    if plan.slide is not None or (plan.half_open and plan.width == 0):
        return None
    return Duration(plan.width - 1) if plan.half_open else plan.width


@_derived.register
def _varying_window(plan: VaryingWindow, stream: Properties) -> Properties:
    is_single = _has_single_elements(plan.input)
    return Properties(
        has_unit_weights=is_single,
        has_groups=stream.has_groups,
        is_compact=is_single,
        not_null=stream.not_null | {plan.name},
    )


@_derived.register
def _row_window(plan: RowWindow, stream: Properties) -> Properties:
    is_single = _has_single_elements(plan.input)
    return Properties(
        has_unit_weights=is_single,
        is_compact=is_single,
        has_groups=stream.has_groups,
        not_null=stream.not_null,
    )


def _has_single_elements(stream: Plan) -> bool:
    """Return whether each element of a stream is one tuple: it arrived so, or was sampled."""
    return properties(stream).is_numbered or any(isinstance(n, Sample) for n in chain_of(stream))


# -- linear operators ------------------------------------------------------------------------------


@_derived.register
def _filter(plan: Filter, inner: Properties) -> Properties:
    return replace(
        inner,
        is_consolidated=inner.is_consolidated and not inner.is_stream,
        not_null=inner.not_null | _compared([plan.predicate]),
    )


@_derived.register
def _during(plan: During, inner: Properties) -> Properties:
    return Properties(
        has_unit_weights=inner.has_unit_weights,
        is_instantaneous=inner.is_instantaneous,
        needs_now=inner.needs_now,
        never_expires=inner.never_expires and not plan.ends,
        has_groups=inner.has_groups,
        is_compact=inner.has_unit_weights,
        not_null=inner.not_null,
    )


@_derived.register
def _project(plan: Project, inner: Properties) -> Properties:
    pairs = zip(plan.expressions, plan.columns, strict=True)
    shown = {e.name: c.name for e, c in pairs if isinstance(e, exp.Column)}
    shows_all = {known.name for known in plan.input.columns} <= shown.keys()
    key = None
    if inner.key is not None and inner.key <= shown.keys():
        key = frozenset(shown[name] for name in inner.key)
    return replace(
        inner,
        is_compact=inner.is_compact and (shows_all or not inner.has_groups),
        is_consolidated=inner.is_consolidated and shows_all,
        not_null=frozenset(
            known.name
            for value, known in zip(plan.expressions, plan.columns, strict=True)
            if isinstance(value, exp.Column) and value.name in inner.not_null
        ),
        key=key,
    )


@_derived.register
def _union_all(plan: UnionAll, *inputs: Properties) -> Properties:
    first, *others = (inner.not_null for inner in inputs)
    return replace(
        _of_several(inputs),
        has_unit_elements=all(inner.has_unit_elements for inner in inputs),
        has_unit_weights=all(inner.has_unit_weights for inner in inputs),
        is_instantaneous=all(inner.is_instantaneous for inner in inputs),
        needs_now=all(inner.needs_now for inner in inputs),
        not_null=first.intersection(*others),
    )


@_derived.register
def _difference(plan: Difference, left: Properties, right: Properties) -> Properties:
    return Properties(
        is_instantaneous=left.is_instantaneous and right.is_instantaneous,
        needs_now=left.needs_now,
        never_expires=left.never_expires and right.never_expires,
        period=_common_period([left, right]),
        has_groups=left.has_groups or right.has_groups,
        not_null=left.not_null,
    )


# -- joins, groups and sets ------------------------------------------------------------------------


@_derived.register
def _join(plan: Join, *inputs: Properties) -> Properties:
    return replace(
        _of_several(inputs),
        is_instantaneous=any(inner.is_instantaneous for inner in inputs),
        needs_now=any(inner.needs_now for inner in inputs),
        not_null=_compared(plan.predicates).union(*(inner.not_null for inner in inputs)),
    )


@_derived.register
def _aggregate(plan: Aggregate, inner: Properties) -> Properties:
    counts = frozenset(call.name for call in plan.calls if call.function == "count")
    sums = ("count", "sum", "avg")
    return Properties(
        has_unit_weights=True,
        needs_now=inner.needs_now and not plan.everything,
        period=inner.period,
        has_groups=True,
        is_compact=True,
        # what other aggregates give may differ and be equal, as 0.0 and −0.0 are
        is_consolidated=all(call.function in sums for call in plan.calls),
        not_null=(inner.not_null & frozenset(plan.keys)) | counts,
        key=frozenset(plan.keys) if plan.keys else None,
    )


@_derived.register
def _distinct(plan: Distinct, inner: Properties) -> Properties:
    return Properties(
        is_monotonic=inner.is_monotonic,
        is_append_only=inner.is_monotonic,
        has_unit_elements=inner.has_unit_elements,
        has_unit_weights=True,
        needs_now=inner.needs_now,
        never_expires=inner.is_append_only,
        period=inner.period,
        has_groups=True,
        is_compact=True,
        is_consolidated=True,
        not_null=inner.not_null,
        key=_names(plan.columns),
    )


@_derived.register
def _set_operation(plan: SetOperation, left: Properties, right: Properties) -> Properties:
    is_except = plan.kind == "except"
    return Properties(
        needs_now=left.needs_now or (right.needs_now and not is_except),
        period=_common_period([left, right]),
        has_groups=left.has_groups or right.has_groups,
        not_null=left.not_null if is_except else left.not_null | right.not_null,
    )


@_derived.register
def _recompute(plan: Recompute, *inputs: Properties) -> Properties:
    is_monotonic = plan.grows and all(inner.is_monotonic for inner in inputs)
    return Properties(
        is_monotonic=is_monotonic,
        is_append_only=is_monotonic,
        never_expires=True,
        has_groups=True,
        is_compact=True,
    )


@_derived.register
def _anew(plan: Anew, inner: Properties) -> Properties:
    return Properties(never_expires=True, has_groups=True, is_compact=True, is_consolidated=True)


@_derived.register
def _trace(plan: Trace, inner: Properties) -> Properties:
    return Properties(
        is_stream=inner.is_stream,
        is_monotonic=inner.is_monotonic,
        is_append_only=inner.is_append_only,
        is_instantaneous=inner.is_instantaneous,
        needs_now=inner.needs_now,
        never_expires=not inner.is_instantaneous,
        period=None if inner.is_stream else inner.period,
        has_groups=inner.has_groups,
        not_null=inner.not_null,
        key=inner.key,
    )


@_derived.register
def _net(plan: Net, inner: Properties) -> Properties:
    return Properties(
        is_instantaneous=inner.is_instantaneous,
        needs_now=inner.needs_now,
        period=inner.period,
        has_groups=inner.has_groups,
        is_compact=True,
        is_consolidated=True,
        not_null=inner.not_null,
        key=inner.key,
    )


@_derived.register
def _cache(plan: Cache, inner: Properties, *askers: Properties) -> Properties:
    return inner


# -- what several derive ---------------------------------------------------------------------------


def _of_several(inputs: Sequence[Properties]) -> Properties:
    """Return what holds of a union and of a join alike."""
    is_monotonic = all(inner.is_monotonic for inner in inputs)
    return Properties(
        is_monotonic=is_monotonic,
        is_append_only=is_monotonic,
        never_expires=all(inner.never_expires for inner in inputs),
        period=_common_period(inputs),
        has_groups=any(inner.has_groups for inner in inputs),
        is_compact=all(inner.has_unit_weights and not inner.has_groups for inner in inputs),
    )


def _common_period(inputs: Sequence[Properties]) -> Duration | None:
    """Return the period of what changes when any input does."""
    periods = [inner.period for inner in inputs if inner.period is not None]
    return Duration(math.gcd(*periods)) if len(periods) == len(inputs) else None


def _names(columns: Iterable[Column]) -> frozenset[str]:
    return frozenset(known.name for known in columns)


# -- columns without NULL --------------------------------------------------------------------------

_MAYBE_LISTS = (exp.All, exp.Any, exp.Anonymous)
"""As what ALL and ANY are read: of a list ALL is as any function that sqlglot does not know."""

_ODD = ("UNION", "VARIANT")
"""How types begin whose values may be no NULL and yet equal nothing, as a union of NULL does."""


def _comparable(plan: Plan, names: frozenset[str]) -> frozenset[str]:
    """Return those columns of a node whose values equal themselves."""
    if not names:
        return names
    return frozenset(
        [c.name for c in plan.columns if c.name in names and not c.type.startswith(_ODD)]
    )


def _compared(predicates: Iterable[exp.Expr]) -> frozenset[str]:
    """Return the columns that are not NULL where all predicates are true.

    A comparison of a column is not true where the column is NULL, so the tuples that meet it have a
    value there.
    """
    operands: list[exp.Expr | None] = []
    for condition in (c for predicate in predicates for c in conjuncts(predicate)):
        match condition:
            case _ if isinstance(condition, COMPARISONS):
                # with ALL of an empty list any comparison is true
                pair = [condition.this, condition.expression]
                if not any(isinstance(side, _MAYBE_LISTS) for side in pair):
                    operands += pair
            case exp.Between():
                operands += [condition.this, condition.args["low"], condition.args["high"]]
            case exp.In(this=value) | exp.Not(this=exp.Is(this=value, expression=exp.Null())):
                operands.append(value)
    return frozenset(o.name for o in operands if isinstance(o, exp.Column))
