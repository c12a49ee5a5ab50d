"""Windows and samples: from a stream to a relation, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from sqlglot import exp

from cqlduck.errors import BindError, NotSupportedError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.conditions import no_aggregate
from cqlduck.rewrite.bind.context import Context
from cqlduck.rewrite.bind.scope import Item, Scope, inner_name, resolve
from cqlduck.rewrite.plan import (
    Aggregate,
    Column,
    Filter,
    Plan,
    Recompute,
    RowWindow,
    Sample,
    StreamScan,
    TimeWindow,
    ToStream,
    VaryingWindow,
    chain_of,
    properties,
    walk,
)
from cqlduck.rewrite.text.parsed import place_of
from cqlduck.rewrite.text.shapes import ALIAS, WIDTH
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import ZERO, Duration, WrittenDuration
from cqlduck.rewrite.text.windows import SampleSyntax, WindowSyntax

Hung = TypeVar("Hung", WindowSyntax, SampleSyntax)

_OPEN = (
    "instants are integers as long as nothing says that time is wall-clock time; a heartbeat with "
    "a date does, or a stream with TIMESTAMP BY"
)


def window_of(context: Context, tree: exp.Expr) -> WindowSyntax | None:
    """Return the window that was written after an item of FROM, or None."""
    return _hung(context, "window", context.syntax.windows, tree)


def sample_of(context: Context, tree: exp.Expr) -> SampleSyntax | None:
    """Return the `n% SAMPLE` that was written after an item of FROM, or None."""
    return _hung(context, "sample", context.syntax.samples, tree)


def _hung(context: Context, what: str, written: Mapping[int, Hung], tree: exp.Expr) -> Hung | None:
    places = []
    clause = tree.args.get("alias")
    if clause is not None and isinstance(clause.this, exp.Identifier):
        places.append(clause.this.meta.get("start"))
    if isinstance(tree, exp.Table) and isinstance(tree.this, exp.Identifier):
        places.append(tree.this.meta.get("start"))
    found = [written[p] for p in places if p is not None and p in written]
    if len(found) > 1:
        raise BindError(f"a second {what} on the same stream", offset=found[0].offset)
    if not found:
        return None
    context.used.add(found[0].offset)
    return found[0]


def windowed(
    catalog: Catalog,
    stream: StreamScan | ToStream | Sample,
    window: WindowSyntax | None,
    alias: str,
    pairs: tuple[tuple[str, Column], ...],
) -> Plan:
    """Return the window on a stream; one without brackets is unbounded.

    Args:
        catalog: The catalogue.
        stream: The stream.
        window: What was written in brackets, or None.
        alias: What the item of FROM is called.
        pairs: Its public names, and its columns.
    """
    if window is None:
        return TimeWindow(stream, None)
    try:
        return _in_brackets(catalog, stream, window, alias, pairs)
    except (BindError, NotSupportedError) as error:
        error.offset = window.offset if error.offset is None else error.offset
        raise


def _in_brackets(
    catalog: Catalog,
    stream: StreamScan | ToStream | Sample,
    window: WindowSyntax,
    alias: str,
    pairs: tuple[tuple[str, Column], ...],
) -> Plan:
    clock, half_open = catalog.clock, catalog.half_open
    only = Scope(volatile=catalog.volatile)
    only.items.append(Item(alias, stream, pairs))
    inner: StreamScan | ToStream | Sample | Filter = stream
    if window.where is not None:
        no_aggregate(catalog, window.where, "WHERE")
        current_time.refuse(window.where, "a window")
        inner = Filter(stream, resolve(_unqualified(window.where, stream), only))
    is_half_open = half_open and not window.hop
    width = None
    if window.range is not None:
        width = clock.instants(window.range, rounded_up=is_half_open)
    slide = None if window.slide is None else _slide(catalog, window.slide)
    if window.rows is not None:
        keys = tuple(_partition(names, at, only) for names, at in window.partition_by)
        edge = half_open and width is not None
        return RowWindow(inner, window.rows, keys, width, edge, window.slide_rows, slide)
    if window.now:
        return TimeWindow(inner, ZERO)
    if window.unbounded:
        return TimeWindow(inner, None, slide)
    if window.widths:
        assert width is not None
        relation, name = window.widths
        widths = catalog.lookup(relation) if relation.startswith(ALIAS) else None
        if widths is None:
            raise BindError("RANGE ends after its length", hint="as in [RANGE 5 MINUTES]")
        return VaryingWindow(inner, widths, name, width, half_open, inner_name(alias, WIDTH))
    written = None
    if window.range is not None and window.range.microseconds is not None and not window.where:
        written = " ".join(window.text.upper().split()) + "]"
    return TimeWindow(inner, width, slide, window.hop, is_half_open, written)


def _slide(catalog: Catalog, written: WrittenDuration) -> Duration:
    """Return by how many instants a window slides.

    Raises:
        BindError: By none, or by a fraction of one.
    """
    clock = catalog.clock
    slide, exact = clock.instants(written), clock.exact(written)
    if slide >= 1 and slide == exact:
        return slide
    is_open = catalog.time_is_open and bool(written.microseconds)
    if slide < 1:
        hint = _OPEN if is_open else None
        raise BindError("a window slides by at least one instant", hint=hint)
    setting = "instant" if clock.kind == "integer" else "granularity"
    unit = WrittenDuration(Fraction(clock.unit), None).shown
    raise BindError(
        f"a window slides by whole instants, which are {unit} long, not by {written.shown}",
        hint=_OPEN if is_open else f"write a multiple of {unit}; the setting {setting} says it",
    )


def _unqualified(tree: exp.Expr, stream: StreamScan | ToStream | Sample) -> exp.Expr:
    """Let the condition in a window name the stream itself, besides its alias."""
    *_, base = chain_of(stream)
    if not isinstance(base, StreamScan):
        return tree
    copy = tree.copy()
    for node in copy.find_all(exp.Column):
        if node.table.lower() == base.source.name.lower():
            node.set("table", None)
    return copy


def _partition(names: Sequence[str], place: int, scope: Scope) -> str:
    (item,) = scope.items
    found = item.find(names[-1])
    if found is None:
        raise BindError(
            f"PARTITION BY names {'.'.join(names)}, which is no column of {item.alias}",
            hint=suggestion(names[-1], [public for public, _ in item.names], "columns"),
            offset=place,
        )
    return found.name


def sampled(
    stream: StreamScan | ToStream, sample: SampleSyntax | None, seed: str
) -> StreamScan | ToStream | Sample:
    """Return the sample of a stream that was written; all of it if none was."""
    if sample is None or sample.percent == 100:
        return stream
    return Sample(stream, sample.percent, seed.lower())


def to_stream(catalog: Catalog, plan: Plan, kind: str, tree: exp.Expr | None = None) -> ToStream:
    """Return a relation as a stream.

    Args:
        catalog: The catalogue.
        plan: The relation.
        kind: 'istream', 'dstream' or 'rstream'.
        tree: Where the operator was written, if it was.

    Raises:
        BindError: The plan is a stream already.
        NotSupportedError: An Rstream without end at every microsecond.
    """
    if properties(plan).is_stream:
        raise BindError(
            "a relation-to-stream operator applies to a relation, and this yields a stream",
            hint="use one operator only, or a window between the two",
            offset=None if tree is None else place_of(tree),
        )
    clock = catalog.clock
    if (
        kind == "rstream"
        and clock.kind == "wall"
        and clock.granularity == 1
        and not properties(plan).needs_now
    ):
        raise _standing(plan, None if tree is None else place_of(tree))
    return ToStream(plan, kind)  # type: ignore[arg-type]  # one of the three words


def _standing(plan: Plan, offset: int | None) -> NotSupportedError:
    """Return the error of an Rstream whose relation may stand where there is no `[NOW]` tuple."""
    hint = "join with a [NOW] window"
    for node in walk(plan):
        if not all(properties(inner).needs_now for inner in node.children):
            continue
        match node:
            case Recompute():
                return NotSupportedError(
                    "an Rstream at microseconds is not supported where "
                    f"{node.reason} has it recomputed",
                    hint="write Istream, which shows a tuple once while it stands, or connect with "
                    "a granularity such as '1 second'",
                    offset=offset,
                )
            case Aggregate(everything=True):
                hint = (
                    "GROUP BY something, because an aggregate of everything has its row at every "
                    "instant"
                )
                break
            case _:
                pass
    return NotSupportedError(
        "this Rstream would repeat a standing relation at every microsecond",
        hint=f"{hint}, or connect with a granularity such as '1 second'",
        offset=offset,
    )
