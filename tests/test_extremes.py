"""Extremes of what tuples leave: where they stay nothing is worked out again, and nothing shows.

`tests/laws/aggregate.sql` has the law; here are values that are equal and not the same, and random
relations against DuckDB's own answer at each instant.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import duckdb
import pytest
from counts import fewer_if_brief

import cqlduck

BY_INSTANTS = pytest.mark.parametrize("by_instants", [True, False])
"""Whether each instant has a tick of its own."""


@BY_INSTANTS
@pytest.mark.parametrize("values", [(-0.0, 0.0), (0.0, -0.0)])
def test_a_zero_comes_beside_the_other_one(values: tuple[float, ...], by_instants: bool) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (x DOUBLE)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT max(x) AS high, min(x) AS low FROM r")
        for instant, value in enumerate((*values, *values), 1):
            con.append("r", [(value,)], at=instant)
            if by_instants:
                con.advance(instant)
        con.advance(5)
        text = "SELECT high::VARCHAR AS high, low::VARCHAR AS low FROM q"
        assert con.sql(text).fetchall() == [("0.0", "-0.0")]


@BY_INSTANTS
@pytest.mark.parametrize("seed", range(fewer_if_brief(12)))
def test_they_are_those_of_what_is_there(seed: int, by_instants: bool) -> None:
    """Of values with ties, NULLs, NaN and infinities, which come and leave at any instant."""
    rnd = random.Random(seed)
    queries = [
        "SELECT k, max(v) AS a, min(v) AS b, max(x) AS c, min(t) AS e FROM r GROUP BY k",
        "SELECT min(x) AS a, bool_or(v > 2) AS b, max(t) FILTER (WHERE v > 1) AS c FROM r",
        "SELECT r.k, max(o.v) AS a, min(o.x) AS b FROM r JOIN r AS o ON r.k = o.k GROUP BY r.k",
        "SELECT max(n) AS a, min(n) AS b FROM (SELECT count(*) AS n FROM r GROUP BY k)",
    ]
    with cqlduck.connect() as con, duckdb.connect() as other:
        con.execute("CREATE RELATION r (k INTEGER, v INTEGER, x DOUBLE, t VARCHAR)")
        other.execute("CREATE TABLE r (k INTEGER, v INTEGER, x DOUBLE, t VARCHAR)")
        for number, query in enumerate(queries):
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {query}")
        there: list[tuple[object, ...]] = []
        for instant in range(10):
            come, gone = _come(rnd), rnd.sample(there, rnd.randrange(min(len(there), 3) + 1))
            for row in gone:
                there.remove(row)
            if rnd.random() < 0.3 and come:
                # what comes and leaves at one instant is not there
                con.append("r", come[:1], at=instant)
                con.retract("r", come[:1], at=instant)
            con.append("r", come, at=instant)
            con.retract("r", gone, at=instant)
            there += come
            if by_instants or rnd.random() < 0.3:
                con.advance(instant)
            other.execute("DELETE FROM r")
            if there:
                other.executemany("INSERT INTO r VALUES (?, ?, ?, ?)", there)
            expected = [_rows(other.sql(query).fetchall()) for query in queries]
            if by_instants:
                found = [_rows(con.table(f"q{n}").fetchall()) for n in range(len(queries))]
                assert found == expected, instant
        con.advance(10)
        found = [_rows(con.table(f"q{number}").fetchall()) for number in range(len(queries))]
        assert found == expected
        assert not [row for row in con.check().fetchall() if row[5] == "wrong"]


def _come(rnd: random.Random) -> list[tuple[object, ...]]:
    """Return some rows."""
    ranges: Sequence[Sequence[object]] = (
        (0, 1, None),
        (0, 1, 2, 3, None),
        (0.0, 1.5, float("nan"), float("inf"), -2.0, None),
        ("a", "B", "b", "", None),
    )
    return [tuple(map(rnd.choice, ranges)) for _ in range(rnd.randrange(4))]


def _rows(rows: list[tuple[object, ...]]) -> list[str]:
    """Return rows to be compared, NaN among them."""
    return sorted(map(repr, rows))
