"""Subqueries in subqueries, as SELECTs are composed: the answers of plain SQL, and texts that end."""

from __future__ import annotations

import duckdb
import pytest

import cqlduck

LEVELS = 14

NESTED = [
    ("SELECT x + x - x AS x FROM ({0})", "{0}"),
    ("SELECT x + x - x AS x FROM ({0}) WHERE x > 0", "SELECT sum(x), max(x) FROM ({0})"),
    (
        "SELECT CASE WHEN x > 0 THEN x + x - x ELSE -x END AS x FROM ({0})",
        "SELECT a.x, b.x AS y FROM ({0}) a JOIN {s} b ON a.x > b.x",
    ),
    (
        "SELECT x + x - x AS x FROM ({0}) UNION ALL SELECT x FROM {s} WHERE x > 2",
        "SELECT x, row_number() OVER (ORDER BY x) AS n FROM ({0})",
    ),
]


@pytest.mark.parametrize(("step", "reader"), NESTED)
def test_what_subqueries_read_several_times_does_not_double_with_each(
    step: str, reader: str
) -> None:
    """The values may raise, so they move; written in each place they would be 3¹⁴ additions."""
    body = "SELECT x FROM {s}"
    for _ in range(LEVELS):
        body = step.format(body, s="{s}")
    body = reader.format(body, s="{s}")
    with cqlduck.connect() as con, duckdb.connect() as db:
        con.execute("CREATE STREAM s (x BIGINT)")
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body.format(s='s [RANGE 5]')}")
        con.append("s", [(x,) for x in (1, 2, 3, -1)], at=[0, 1, 2, 3])
        con.advance(4)
        db.execute("CREATE TABLE s AS FROM (VALUES (1::BIGINT), (2), (3), (-1)) AS v(x)")
        expected = sorted(db.execute(body.format(s="s")).fetchall())
        assert expected == sorted(con.table("q").fetchall())
