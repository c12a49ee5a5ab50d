"""The oracle: CQL by the papers' definitions, instant by instant, as plainly as possible.

It shares nothing with the engine. Time is integers. At each instant a window is a list
comprehension over the elements, the query is plain DuckDB SQL over tables that hold what the
windows hold, and Istream, Dstream and Rstream are differences of bags.

    >>> s = Stream("s", [("a", "BIGINT")], [(1, (10,)), (2, (20,))])
    >>> q = Query("q", "SELECT sum(a) FROM {0}", [(s, Now())], r2s="istream")
    >>> net_elements(evaluate(q, None, 2))
    {0: Counter({(None,): 1}), 1: Counter({(10,): 1}), 2: Counter({(20,): 1})}
"""

import atexit
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

import duckdb
import python_functions

Row = tuple[Any, ...]
Columns = Sequence[tuple[str, str]]
Elements = Sequence[tuple[int, Row]]
Edge = Literal["closed", "half_open"]
R2S = Literal["istream", "dstream", "rstream"]

# ---------------------------------------------------------------------------------- inputs

BEGINNING = -math.inf
"""The instant of what a relation holds from the beginning of time on; it begins no time."""


@dataclass(frozen=True)
class Stream:
    """An unbounded bag of (timestamp, tuple), here in arrival order.

    `timestamp_by` and `out_of_order` only tell how the stream is declared: the column that
    repeats the timestamp, if one does, and by how much the arrival order may be out of order.
    """

    name: str
    columns: Columns
    elements: Elements = ()
    timestamp_by: str | None = None
    out_of_order: int = 0


@dataclass(frozen=True)
class Relation:
    """A time-varying bag, as the changes (timestamp, +1 or -1, tuple) that make it."""

    name: str
    columns: Columns
    changes: Sequence[tuple[float, int, Row]] = ()

    def at(self, tau: int) -> Counter[Row]:
        """Return R(τ), the bag of the net changes up to τ."""
        bag: Counter[Row] = Counter()
        for ts, weight, row in self.changes:
            if ts <= tau:
                bag[normal(row)] += weight
        if any(weight < 0 for weight in bag.values()):
            raise ValueError(f"relation {self.name} holds less than nothing at {tau}")
        return +bag


# --------------------------------------------------------------------------------- windows


@dataclass(frozen=True)
class Range:
    """`[RANGE w]`, with a slide `[RANGE w SLIDE s]`."""

    w: int
    slide: int | None = None
    where: str | None = None


@dataclass(frozen=True)
class Now:
    """`[NOW]`."""

    where: str | None = None


@dataclass(frozen=True)
class Unbounded:
    """`[RANGE UNBOUNDED]` and `[ROWS UNBOUNDED]`."""

    where: str | None = None


@dataclass(frozen=True)
class Rows:
    """`[ROWS n]`, with a slide `[ROWS n SLIDE m]`."""

    n: int
    slide: int | None = None
    where: str | None = None


@dataclass(frozen=True)
class PartitionRows:
    """`[PARTITION BY a, … ROWS n]`, with a range `[… ROWS n RANGE w]` or a slide `[… SLIDE m]`.

    With both, the slide is in instants, and moves the window as in `[RANGE w SLIDE s]`.
    """

    by: tuple[str, ...]
    n: int
    range: int | None = None
    where: str | None = None
    slide: int | None = None


@dataclass(frozen=True)
class Hop:
    """`[HOP w EVERY s]`."""

    w: int
    s: int
    where: str | None = None


@dataclass(frozen=True)
class Tumble:
    """`[TUMBLE w]`, which is `[HOP w EVERY w]`."""

    w: int
    where: str | None = None


@dataclass(frozen=True)
class Sampled:
    """`n% SAMPLE` of a stream, under a window or none.

    Attributes:
        percent: n.
        seed: The name of the stream in lower case.
        window: The window, or None.
    """

    percent: int
    seed: str
    window: "Window | None" = None


Window = Range | Now | Unbounded | Rows | PartitionRows | Hop | Tumble | Sampled


def window(
    elements: Elements,
    columns: Columns,
    spec: Window,
    tau: int,
    window_edge: Edge = "closed",
) -> list[Row]:
    """Return the tuples that the window holds at τ.

    Args:
        elements: (timestamp, tuple) in arrival order, or `in_derived_order`.
        columns: Their names and DuckDB types.
        spec: The window.
        tau: The instant.
        window_edge: Whether τ - w itself is in a range.
    """
    if isinstance(spec, Sampled):
        raise TypeError("a sample is taken of a stream, before the window")
    if spec.where is not None:
        elements = _filtered(elements, columns, spec.where)
    # By timestamp; the sort is stable, so ties stay in arrival order.
    seen = [(ts, row) for ts, row in sorted(elements, key=_timestamp) if ts <= tau]

    def in_range(ts: int, w: int, at: int) -> bool:
        return (at - w <= ts if window_edge == "closed" else at - w < ts) and ts <= at

    match spec:
        case Unbounded():
            return [row for ts, row in seen]
        case Now():
            return [row for ts, row in seen if ts == tau]
        case Range(w, slide):
            at = tau if slide is None else tau // slide * slide
            return [row for ts, row in seen if in_range(ts, w, at)]
        case Rows(n, slide):
            arrived = len(seen) if slide is None else len(seen) // slide * slide
            return [row for ts, row in seen[:arrived][-n:]]
        case PartitionRows(by, n, int() as w, _, int() as slide):
            at = tau // slide * slide
            return window(elements, columns, PartitionRows(by, n, w), at, window_edge)
        case PartitionRows(by, n, w, _, slide):
            names = [name.lower() for name, _ in columns]
            keys = [names.index(column.lower()) for column in by]
            partitions: dict[Row, list[tuple[int, Row]]] = {}
            for ts, row in seen:
                partitions.setdefault(tuple(row[i] for i in keys), []).append((ts, row))
            arrived = [p[: len(p) // (slide or 1) * (slide or 1)] for p in partitions.values()]
            last = [element for partition in arrived for element in partition[-n:]]
            return [row for ts, row in last if w is None or in_range(ts, w, tau)]
        case Hop(w, s):
            at = tau // s * s
            return [row for ts, row in seen if at - w <= ts < at]
        case Tumble(w):
            return window(elements, columns, Hop(w, w), tau)
    raise TypeError(f"not a window: {spec!r}")


def sampled(elements: Elements, spec: Sampled, derived: bool) -> Elements:
    """Return the elements whose number has a `mixed` among the lowest n of a hundred.

    A base element's number is that of its arrival, from 0; a derived one's is its instant and its
    place among those of the instant, from 1.
    """
    kept, place, last = [], 0, None
    for arrival, (ts, row) in enumerate(elements):
        place = place + 1 if ts == last else 1
        last = ts
        numbers = (ts, place) if derived else (arrival,)
        if mixed(spec.seed, *numbers) * 100 < spec.percent * 2**32:
            kept.append((ts, row))
    return kept


def mixed(seed: str, *numbers: int) -> int:
    """Return 32 bits that look random, of a name and numbers of 64 bits."""
    digest = hashlib.sha256(seed.encode()).digest()
    found, second = (int.from_bytes(digest[at : at + 4], "little") for at in (0, 4))
    for value in numbers:
        lower, upper = value % 2**32, value // 2**32 % 2**32
        word = lower ^ upper * 0x2C1B3C6D % 2**32 ^ found
        word = (word ^ word >> 16) * 0x21F0AAAD % 2**32
        word = (word ^ word >> 15 ^ second) * 0x735A2D97 % 2**32
        found = (word ^ word >> 15) * 0x2C1B3C6D % 2**32
    return found


def in_derived_order(stream: Mapping[int, Counter[Row]]) -> list[tuple[int, Row]]:
    """Return the elements of a derived stream by timestamp, ties by all columns, NULLs last."""
    return [
        (ts, row) for ts in sorted(stream) for row in sorted(stream[ts].elements(), key=_nulls_last)
    ]


def _nulls_last(row: Row) -> list[tuple[int, Any]]:
    """Return a key that sorts as DuckDB does: values, then NaN, then NULL."""
    return [
        (2, 0)
        if value is None
        else (1, 0)
        if _is_nan(value)
        else (0, _nulls_last(value) if isinstance(value, tuple) else value)
        for value in row
    ]


def _timestamp(element: tuple[int, Row]) -> int:
    return element[0]


def _filtered(elements: Elements, columns: Columns, where: str) -> Elements:
    """Return the elements whose tuples satisfy the SQL predicate `where`."""
    con = _connection()
    _create(con, "filtered", [*columns, ("cql_position", "BIGINT")])
    _fill(con, "filtered", [(*row, i) for i, (_, row) in enumerate(elements)])
    kept = con.execute(f"SELECT cql_position FROM filtered WHERE {where} ORDER BY ALL").fetchall()
    return [elements[i] for (i,) in kept]


# --------------------------------------------------------------------------------- queries


@dataclass(frozen=True)
class Query:
    """A query: plain SQL over legs, then perhaps a relation-to-stream operator.

    Attributes:
        name: Its name, or any text for a subquery.
        sql: DuckDB SQL in which `{0}`, `{1}`, … stand for its legs, and `current_timestamp` for
            the instant.
        legs: (source, window). A base stream or a query that yields a stream may stand without
            a window, which is the unbounded one; a relation or a query that yields one must.
        r2s: The operator, defaults resolved (`default_r2s`).
        cql: The same query as CQL text.
        registered_at: The frontier at which it was registered; None is before anything.
        inline: Whether it is a subquery, which begins with the query around it.
        monotonic: Whether it is monotonic by its syntax.
    """

    name: str
    sql: str
    legs: Sequence[tuple["Source", Window | None]]
    r2s: R2S | None = None
    cql: str = ""
    registered_at: int | None = None
    inline: bool = False
    monotonic: bool = False


Source = Stream | Relation | Query


def yields_stream(source: Source) -> bool:
    """Return whether the source is a stream, or a query that yields one."""
    return isinstance(source, Stream) or (isinstance(source, Query) and source.r2s is not None)


def is_monotonic(legs: Iterable[tuple[Source, Window | None]], aggregates: bool) -> bool:
    """Return whether a query over the legs is monotonic by its syntax.

    Args:
        legs: All its legs, those of set operations included.
        aggregates: Whether it groups or aggregates, or is otherwise more than projection, WHERE,
            inner joins, DISTINCT and UNION.
    """
    return not aggregates and all(
        isinstance(spec.window if isinstance(spec, Sampled) else spec, Unbounded | None)
        if yields_stream(source)
        else isinstance(source, Query) and source.inline and source.monotonic
        for source, spec in legs
    )


def default_r2s(query: Query) -> R2S | None:
    """Return the operator of a query that names none: Istream if it is monotonic."""
    return "istream" if query.monotonic else None


def beginning(*sources: Source) -> int:
    """Return where time begins: 0, or the smallest timestamp of any element if negative."""
    stamps = [0]
    for source in sources:
        match source:
            case Stream():
                stamps += [ts for ts, _ in source.elements]
            case Relation():
                stamps += [int(ts) for ts, _, _ in source.changes if ts != BEGINNING]
            case Query():
                stamps += [beginning(leg) for leg, _ in source.legs]
    return min(stamps)


# ------------------------------------------------------------------------------ evaluation


@dataclass
class Result:
    """What a query says at every instant from `begin` to `end`.

    Attributes:
        query: The query.
        columns: Its column names and DuckDB types.
        begin: Its first instant.
        end: The last instant that was evaluated.
        relation: The instantaneous relation at each instant, for a stream query the one under
            the relation-to-stream operator.
        stream: For a stream query the elements at each instant, else None.
    """

    query: Query
    columns: Columns
    begin: int
    end: int
    relation: dict[int, Counter[Row]] = field(default_factory=dict)
    stream: dict[int, Counter[Row]] | None = None


def evaluate(
    query: Query,
    t_begin: int | None,
    t_end: int,
    con: duckdb.DuckDBPyConnection | None = None,
    registered_at: int | None = None,
    window_edge: Edge = "closed",
) -> Result:
    """Return what `query` says at every instant up to `t_end`.

    A query that was registered at the frontier f begins at f + 1, with relations as they are
    and the elements of streams after f.

    Args:
        query: The query.
        t_begin: The beginning of time; None is the beginning of each query's own inputs.
        t_end: The last instant.
        con: A connection to evaluate on; None is one that all calls share.
        registered_at: The frontier f; None is `query.registered_at`.
        window_edge: Whether ranges are closed or half open.
    """
    run = _Run(con or _connection(), t_begin, t_end, window_edge)
    if registered_at is not None:
        query = replace(query, registered_at=registered_at)
    return _registered(query, run)


def evaluate_all(
    queries: Iterable[Query],
    t_begin: int | None,
    t_end: int,
    con: duckdb.DuckDBPyConnection | None = None,
    window_edge: Edge = "closed",
) -> list[Result]:
    """Return `evaluate` of each query; one that others read is evaluated once."""
    run = _Run(con or _connection(), t_begin, t_end, window_edge)
    return [_registered(query, run) for query in queries]


@dataclass(frozen=True)
class _Run:
    """What is the same for all queries of an evaluation, and the named ones that are done."""

    con: duckdb.DuckDBPyConnection
    t_begin: int | None
    t_end: int
    window_edge: Edge
    done: list[Result] = field(default_factory=list)


def _registered(query: Query, run: _Run) -> Result:
    """Return the result of a query that begins by itself, not with one around it."""
    for result in run.done:
        if result.query is query:
            return result
    since = query.registered_at
    begin = beginning(query) if run.t_begin is None else run.t_begin
    result = _evaluate(query, begin if since is None else since + 1, since, run)
    run.done.append(result)
    return result


def _evaluate(query: Query, begin: int, since: int | None, run: _Run) -> Result:
    con = run.con
    legs = [_leg(source, spec, begin, since, run) for source, spec in query.legs]
    for i, (columns, _) in enumerate(legs):
        _create(con, f"leg{i}", columns)
    sql = re.sub(r"\{(\d+)\}", r"leg\1", query.sql)
    described = con.execute("DESCRIBE " + _at(sql, begin)).fetchall()
    result = Result(query, [(name, kind) for name, kind, *_ in described], begin, run.t_end)

    timed = _at(sql, begin) != sql
    held: list[list[Row]] = [[] for _ in legs]
    relation: Counter[Row] | None = None
    for tau in range(begin, run.t_end + 1):
        holds = [content(tau) for _, content in legs]
        if relation is None or holds != held or timed:
            for i, (before, now) in enumerate(zip(held, holds, strict=True)):
                if before != now:
                    _fill(con, f"leg{i}", now)
            held = holds
            relation = Counter(normal(row) for row in con.execute(_at(sql, tau)).fetchall())
        result.relation[tau] = relation
    if query.r2s is not None:
        result.stream = _to_stream(result.relation, query.r2s)
    return result


def _at(sql: str, tau: int) -> str:
    """Return SQL with an instant in the place of `current_timestamp`."""
    return re.sub(r"\bcurrent_timestamp\b", f"CAST({tau} AS BIGINT)", sql)


def _leg(
    source: Source, spec: Window | None, begin: int, since: int | None, run: _Run
) -> tuple[Columns, Callable[[int], list[Row]]]:
    """Return a leg's columns, and the function from an instant to what the leg holds then."""
    columns: Columns
    elements: Elements
    match source:
        case Relation():
            if spec is not None:
                raise ValueError(f"a window on the relation {source.name}")
            return source.columns, lambda tau: _expanded(source.at(tau))
        case Stream():
            columns, elements = source.columns, source.elements
        case Query():
            inner = (
                _evaluate(source, begin, since, run) if source.inline else _registered(source, run)
            )
            if inner.stream is None:
                if spec is not None:
                    raise ValueError(f"a window on the relation {source.name}")
                return inner.columns, lambda tau: _expanded(inner.relation.get(tau, Counter()))
            columns, elements = inner.columns, in_derived_order(inner.stream)
    if isinstance(spec, Sampled):
        elements = sampled(elements, spec, derived=isinstance(source, Query))
        spec = spec.window
    spec = spec or Unbounded()
    elements = [(ts, normal(row)) for ts, row in elements if since is None or ts > since]
    if spec.where is not None:
        elements = _filtered(elements, columns, spec.where)
        spec = replace(spec, where=None)
    return columns, lambda tau: window(elements, columns, spec, tau, run.window_edge)


def _to_stream(relation: Mapping[int, Counter[Row]], r2s: R2S) -> dict[int, Counter[Row]]:
    """Return the elements at each instant; before its beginning a relation is empty."""
    stream = {}
    before: Counter[Row] = Counter()
    for tau, now in relation.items():
        match r2s:
            case "istream":
                stream[tau] = now - before
            case "dstream":
                stream[tau] = before - now
            case "rstream":
                stream[tau] = Counter(now)
        before = now
    return stream


def _expanded(bag: Counter[Row]) -> list[Row]:
    """Return the bag's tuples, in the one order that makes equal bags equal lists."""
    return sorted(bag.elements(), key=_nulls_last)


# --------------------------------------------------------------------------------- elements


def net_elements(result: Result) -> dict[int, Counter[Row]]:
    """Return the net change at each instant that has one, tuple to weight."""
    if result.stream is not None:
        return {ts: Counter(bag) for ts, bag in result.stream.items() if bag}
    changes = {}
    before: Counter[Row] = Counter()
    for ts, now in result.relation.items():
        change = Counter(now)
        change.subtract(before)
        changes[ts] = _nonzero(change)
        before = now
    return {ts: change for ts, change in changes.items() if change}


def from_changes(rows: Iterable[Row]) -> dict[int, Counter[Row]]:
    """Return the net change at each instant of rows (column, …, _ts, _weight)."""
    changes: dict[int, Counter[Row]] = {}
    for *row, ts, weight in rows:
        changes.setdefault(ts, Counter())[normal(tuple(row))] += weight
    changes = {ts: _nonzero(change) for ts, change in sorted(changes.items())}
    return {ts: change for ts, change in changes.items() if change}


def bag_of(rows: Iterable[Row]) -> Counter[Row]:
    """Return rows as a bag, to be compared with `Result.relation[t]`."""
    return Counter(normal(tuple(row)) for row in rows)


def _nonzero(change: Counter[Row]) -> Counter[Row]:
    return Counter({row: weight for row, weight in change.items() if weight})


# ------------------------------------------------------------------------------- comparison


class Struct(tuple[tuple[Any, Any], ...]):
    """The fields of a struct, in a form that a bag can hold."""


def normal(value: Any) -> Any:
    """Return the value in a form that a bag can hold: one NaN, tuples for lists and structs."""
    if isinstance(value, Struct):
        return value
    if isinstance(value, tuple | list):
        return tuple(normal(item) for item in value)
    if isinstance(value, dict):
        return Struct((key, normal(item)) for key, item in value.items())
    return math.nan if _is_nan(value) else value


def canonical(value: Any) -> Any:
    """Return a form that is equal exactly for equal values of one type.

    1, 1.0, Decimal(1) and True differ; NaN equals NaN, and -0.0 equals 0.0.
    """
    if isinstance(value, tuple | list):
        return tuple(canonical(item) for item in value)
    if isinstance(value, dict):
        return tuple((key, canonical(item)) for key, item in value.items())
    if isinstance(value, bool | int | float | Decimal):
        return (type(value).__name__, math.nan if _is_nan(value) else value)
    return value


def differences(
    expected: Result | Mapping[int, Counter[Row]],
    actual: Result | Mapping[int, Counter[Row]],
    since: int | None = None,
    until: int | None = None,
    tolerance: float = 1e-9,
    absolute: float = 0.0,
) -> list[str]:
    """Return a line for each instant and tuple whose net weights differ; none if they agree.

    Doubles agree within a relative `tolerance`; all else agrees exactly, in type too. What is
    inserted is compared to what is inserted, and what is deleted to what is deleted, so a
    double that moves by a hair where nothing changed is a difference.

    Args:
        expected: A result, or net elements as `net_elements` and `from_changes` give them.
        actual: The same.
        since: Compare only after this instant.
        until: Compare only up to this instant.
        tolerance: The relative tolerance of doubles.
        absolute: Their absolute tolerance.
    """
    expected = net_elements(expected) if isinstance(expected, Result) else expected
    actual = net_elements(actual) if isinstance(actual, Result) else actual
    lines = []
    for ts in sorted(expected.keys() | actual.keys()):
        if (since is not None and ts <= since) or (until is not None and ts > until):
            continue
        for sign in (+1, -1):
            missing, extra = _unmatched(
                _part(expected.get(ts, Counter()), sign),
                _part(actual.get(ts, Counter()), sign),
                tolerance,
                absolute,
            )
            lines += [f"at {ts}: missing {sign * n:+d} {_shown(row)}" for row, n in missing]
            lines += [f"at {ts}: extra {sign * n:+d} {_shown(row)}" for row, n in extra]
    return lines


def bag_differences(expected: Counter[Row], actual: Counter[Row], **options: Any) -> list[str]:
    """Return `differences` of two bags, such as an answer at one instant."""
    lines = differences({0: expected}, {0: actual}, **options)
    return [line.removeprefix("at 0: ") for line in lines]


def _part(bag: Counter[Row], sign: int) -> Counter[Any]:
    """Return the insertions or the deletions of a net change, its tuples canonical."""
    part: Counter[Any] = Counter()
    for row, weight in bag.items():
        if weight * sign > 0:
            part[canonical(row)] += weight * sign
    return part


def _unmatched(
    expected: Counter[Any], actual: Counter[Any], tolerance: float, absolute: float
) -> tuple[list[tuple[Any, int]], list[tuple[Any, int]]]:
    """Return what is left of both bags when equal tuples, then close ones, are paired."""
    missing, extra = expected - actual, actual - expected
    for row in sorted(missing, key=repr):
        for other in sorted(extra, key=repr):
            paired = min(missing[row], extra[other])
            if paired and _close(row, other, tolerance, absolute):
                missing[row] -= paired
                extra[other] -= paired
    return sorted((+missing).items(), key=repr), sorted((+extra).items(), key=repr)


def _close(one: Any, other: Any, tolerance: float, absolute: float) -> bool:
    """Return whether two canonical values are equal but for the tolerance of doubles."""
    if isinstance(one, float) and isinstance(other, float):
        if _is_nan(one) or _is_nan(other):
            return _is_nan(one) and _is_nan(other)
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=absolute)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(
            _close(a, b, tolerance, absolute) for a, b in zip(one, other, strict=True)
        )
    return bool(one == other)


def _shown(row: Any) -> str:
    """Return a canonical tuple as it reads: NULL, 1, 1.0, 1.50::DECIMAL, 'a'."""

    def one(value: Any) -> str:
        match value:
            case None:
                return "NULL"
            case ("Decimal", Decimal() as number):
                return f"{number}::DECIMAL"
            case ("bool" | "int" | "float", number):
                return repr(number)
            case tuple():
                return _shown(value)
        return repr(value)

    return "(" + ", ".join(one(value) for value in row) + ")"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


# -------------------------------------------------------------------------------- the tables

_shared: list[duckdb.DuckDBPyConnection] = []


def _connection() -> duckdb.DuckDBPyConnection:
    """Return the connection that all evaluations share."""
    if not _shared:
        _shared.append(duckdb.connect())
        python_functions.register(_shared[0])
        atexit.register(_shared.clear)
        _shared[0].execute("SET threads = 1")
    return _shared[0]


def _create(con: duckdb.DuckDBPyConnection, table: str, columns: Columns) -> None:
    """Make an empty temporary table, in place of one of that name."""
    named = [(name.replace('"', '""'), kind) for name, kind in columns]
    declared = ", ".join(f'"{name}" {kind}' for name, kind in named)
    con.execute(f"CREATE OR REPLACE TEMP TABLE {table} ({declared})")


def _fill(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Row]) -> None:
    """Make the table hold just these rows."""
    con.execute(f"TRUNCATE {table}")
    if rows:
        marks = "(" + ", ".join("?" * len(rows[0])) + ")"
        values = [_parameter(value) for row in rows for value in row]
        con.execute(f"INSERT INTO {table} VALUES " + ", ".join([marks] * len(rows)), values)


def _parameter(value: Any) -> Any:
    """Return a normal value as DuckDB takes it."""
    if isinstance(value, Struct):
        return {key: _parameter(item) for key, item in value}
    return [_parameter(item) for item in value] if isinstance(value, tuple) else value
