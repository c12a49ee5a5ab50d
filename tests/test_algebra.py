"""Aggregates from accumulators equal DuckDB's own over the tuples that are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pytest

import cqlduck
from cqlduck.rewrite.physical.algebra import FUNCTIONS, aggregations
from cqlduck.rewrite.plan import Aggregate, walk

Element = tuple[tuple[Any, ...], int]

CALLS = {
    "count": "count(v)",
    "sum": "sum(v)",
    "avg": "avg(v)",
    "min": "min(v)",
    "max": "max(v)",
    "count_if": "count_if(v > 3) FILTER (WHERE b)",
    "bool_and": "bool_and(b)",
    "bool_or": "bool_or(v > 3)",
    "bit_and": "bit_and(v)",
    "bit_or": "bit_or(v)",
    "var_pop": "var_pop(v)",
    "var_samp": "var_samp(v)",
    "variance": "variance(v)",
    "stddev": "stddev(v)",
    "stddev_pop": "stddev_pop(v)",
    "stddev_samp": "stddev_samp(v)",
}

WINDOWS: dict[str, Callable[[Sequence[Element], int], list[Element]]] = {
    "[RANGE UNBOUNDED]": lambda all_, at: [e for e in all_ if e[1] <= at],
    "[RANGE 3]": lambda all_, at: [e for e in all_ if at - 3 <= e[1] <= at],
    "[ROWS 4]": lambda all_, at: [e for e in all_ if e[1] <= at][-4:],
    "[HOP 6 EVERY 2]": lambda all_, at: [e for e in all_ if at // 2 * 2 - 6 <= e[1] < at // 2 * 2],
    "[TUMBLE 3]": lambda all_, at: [e for e in all_ if at // 3 * 3 - 3 <= e[1] < at // 3 * 3],
}

ELEMENTS: list[Element] = [
    ((1, 7, None), 0), ((1, -2, True), 1), ((2, None, None), 1), ((None, 2147483647, False), 2),
    ((1, 7, False), 2), ((2, 5, True), 4), ((2, -2147483648, True), 4), ((1, 4, True), 5),
    ((1, 4, True), 5), ((None, None, True), 9), ((1, 3, False), 10),
]  # fmt: skip
CUTS = ((12,), (0, 1, 2, 4, 5, 12))


def close(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return left == right


def test_every_function_is_called_here() -> None:
    assert set(FUNCTIONS) == set(CALLS)


def rows_of(relation: duckdb.DuckDBPyRelation) -> list[tuple[Any, ...]]:
    return sorted(relation.fetchall(), key=str)


def run(con: cqlduck.Connection, window: str, listed: str, cut: Sequence[int]) -> None:
    con.execute(
        "CREATE STREAM s (k INTEGER, v INTEGER, b BOOLEAN);"
        f"CREATE CONTINUOUS QUERY grouped AS SELECT k, {listed} FROM s {window} GROUP BY k;"
        f"CREATE CONTINUOUS QUERY whole AS SELECT {listed} FROM s {window}"
    )
    before = -1
    for to in cut:
        new = [e for e in ELEMENTS if before < e[1] <= to]
        if new:
            con.append("s", [row for row, _ in new], at=[at for _, at in new])
        con.advance(to)
        before = to


@pytest.mark.parametrize("window", WINDOWS)
def test_results_are_duckdbs_whatever_the_cut(window: str) -> None:
    listed = ", ".join(f"{call} AS {name}_" for name, call in CALLS.items())
    with cqlduck.connect(threads=1) as con, cqlduck.connect(threads=1) as other:
        run(con, window, listed, CUTS[0])
        run(other, window, listed, CUTS[1])
        for query in ("grouped", "whole"):
            assert rows_of(con.changes(query)) == rows_of(other.changes(query))
        plain = duckdb.connect()
        plain.execute("CREATE TABLE s (k INTEGER, v INTEGER, b BOOLEAN)")
        for at in (0, 2, 4, 5, 6, 9, 12):
            plain.execute("DELETE FROM s")
            for row, _ in WINDOWS[window](ELEMENTS, at):
                plain.execute("INSERT INTO s VALUES (?, ?, ?)", row)
            for query, keys, group in (("grouped", "k, ", "GROUP BY k"), ("whole", "", "")):
                expected = rows_of(plain.sql(f"SELECT {keys}{listed} FROM s {group}"))
                found = rows_of(con.as_of(query, at))
                assert len(expected) == len(found)
                for pair in zip(expected, found, strict=True):
                    assert all(map(close, *pair)), (at, pair)


RECOMPUTED = {
    # what makes a call one that is recomputed, over a window that tuples leave
    "no inverse": "bool_or(b)",
    "squares that do not add up exactly": "stddev(d)",
    "an argument that may raise": "count_if(CAST(t AS INTEGER) > 3)",
    "distinct values": "stddev(DISTINCT v)",
}


@pytest.mark.parametrize("reason", RECOMPUTED)
def test_what_has_no_accumulators_is_recomputed(con: cqlduck.Connection, reason: str) -> None:
    con.execute("CREATE STREAM s (v INTEGER, b BOOLEAN, d DOUBLE, t VARCHAR)")
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT {RECOMPUTED[reason]} AS x FROM s [ROWS 3]")
    plan = con.engine.compiled["q"].plan
    (node,) = (node for node in walk(plan) if isinstance(node, Aggregate))
    assert [True] == [made.is_holistic for made in aggregations(node)]
