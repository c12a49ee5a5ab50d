"""No column of a user is called as one that stands beside it where rows are stored."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import cqlduck
from cqlduck.rewrite.text.names import RESERVED, STORED


@pytest.mark.parametrize("kind", ["STREAM", "RELATION"])
def test_each_column_of_a_store_that_is_not_the_users_is_refused_by_name(
    con: cqlduck.Connection, kind: str
) -> None:
    """Whichever columns the tables have: these are asked, not the list."""
    con.execute(f"CREATE {kind} x (a INTEGER)")
    stored = con.engine.database.rows(
        "SELECT DISTINCT column_name FROM duckdb_columns() WHERE schema_name = 'cql_state' AND "
        "table_oid IN (SELECT table_oid FROM duckdb_columns() WHERE schema_name = 'cql_state' "
        "AND column_name = 'a')"
    )
    beside = {name for (name,) in stored} - {"a"}
    assert beside & set(STORED)
    assert beside <= {*RESERVED, *STORED}
    made: list[Callable[[str], str]] = [
        lambda name: f"CREATE {kind} y (b INTEGER, {name} INTEGER)",
        lambda name: f'CREATE {kind} y ("{name.upper()}" INTEGER)',
    ]
    if kind == "RELATION":
        made.append(lambda name: f"CREATE RELATION y FROM (SELECT 1 AS {name})")
    for name in sorted(beside):
        for statement in made:
            with pytest.raises(cqlduck.Error, match=re.compile(f"{name}.*reserved", re.I)):
                con.execute(statement(name))
    assert ["x"] == [*con.streams, *con.relations]


def test_a_query_may_call_its_columns_so(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (a INTEGER)")
    listed = ", ".join(f"a AS {name}" for name in STORED)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT {listed} FROM s [ROWS 2]")
    con.execute(
        f"CREATE CONTINUOUS QUERY w AS SELECT {', '.join(STORED)} FROM q WHERE _cql_seq > 0"
    )
    con.append("s", [(1,), (2,), (0,)], at=[1, 2, 3])
    con.advance(4)
    assert [(2, 2, 2)] == con.table("w").fetchall()
