"""What is shown is what runs: each statement is one that `cql.operators` and EXPLAIN have.

The trace hook sees all statements. In a tick, what reads or writes a synopsis, the log of a query
or a temporary table is a statement of an operator. All others are bookkeeping over the tables of
inputs and of the catalogue. Reads run what EXPLAIN shows for them.
"""

from __future__ import annotations

from pathlib import Path

import choices
import pytest

import cqlduck

APPLICATION = """
    CREATE STREAM s (k INTEGER, v DOUBLE, t INTEGER) TIMESTAMP BY t;
    CREATE RELATION r (k INTEGER, name VARCHAR);
    CREATE CONTINUOUS QUERY summed AS
        SELECT name, sum(v) AS v, median(v) AS m FROM s [RANGE 3] JOIN r USING (k) GROUP BY name;
    CREATE CONTINUOUS QUERY passed AS SELECT k, v + 1 AS w FROM s WHERE v > 1;
    CREATE CONTINUOUS QUERY paned AS SELECT k, count(*) AS n FROM s [TUMBLE 4] GROUP BY k;
    CREATE CONTINUOUS QUERY ranked AS
        SELECT k, row_number() OVER (ORDER BY k) AS n FROM s [RANGE 2];
    CREATE CONTINUOUS QUERY firsts AS SELECT DISTINCT k FROM s;
"""
QUERIES = ("summed", "passed", "paned", "ranked", "firsts")


def run(con: cqlduck.Connection, first: int, last: int, step: int) -> None:
    for t in range(first, last, step):
        con.append("s", [(t % 3, 0.5 * t, t), (1, 1e300, t)])
        if t % 4 == 0:
            con.append("r", [(t % 3, "x")], at=t)
        con.advance(t)


def is_of_operators(con: cqlduck.Connection, sql: str) -> bool:
    """Return whether a statement touches what operators of queries read and write."""
    own = [name for (name,) in con.sql("SELECT table_name FROM cql_state.synopses").fetchall()]
    own += [f"changes_{query}" for query in QUERIES]
    if 'temp."_cql_changed_' in sql:
        return False  # what a relation does itself
    return 'temp."_cql_' in sql or any(f'"{name}"' in sql for name in own)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("on_disk", [False, True])
def test_each_statement_of_a_tick_is_shown(on_disk: bool, staged: bool, tmp_path: Path) -> None:
    seen: list[str] = []
    path = tmp_path / "shown.duckdb" if on_disk else ":memory:"
    with cqlduck.connect(path, trace=lambda sql, _: seen.append(sql), threads=1) as con:
        # forced, so that no tick tries another option
        choices.force_stages(con, staged)
        con.execute(APPLICATION)
        run(con, 0, 8, 1)
        run(con, 8, 20, 3)
        del seen[:]
        run(con, 20, 23, 1)
        run(con, 23, 30, 3)
        ran = list(dict.fromkeys(seen))
        of_operators = [sql for sql in ran if is_of_operators(con, sql)]
        assert len(of_operators) > 20
        shown = [sql for (sql,) in con.sql("SELECT sql FROM cql.operators").fetchall()]
        explained = "\n".join(con.explain(query) for query in QUERIES)
        # a statement that writes the log may be asked for its elements alone
        assert [] == [sql for sql in of_operators if not any(sql in one for one in shown)]
        assert [] == [sql for sql in of_operators if sql not in explained]


def test_each_statement_of_a_read_is_explained() -> None:
    seen: list[str] = []
    with cqlduck.connect(trace=lambda sql, _: seen.append(sql), threads=1) as con:
        con.execute(APPLICATION)
        run(con, 0, 8, 1)
        for query in QUERIES:
            for read in (
                lambda q: con.table(q),
                lambda q: con.as_of(q, 6),
                lambda q: con.changes(q),
            ):
                text = con.explain(query)
                del seen[:]
                read(query).fetchall()
                made = [sql.split(" AS ", 1)[1] for sql in seen if sql.startswith("CREATE ")]
                assert 1 == len(made)
                assert made[0] in text
