"""No column of a user is called as one that stands beside it where rows are stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import cqlduck
from cqlduck.engine import opening
from cqlduck.registration import queries
from cqlduck.rewrite.text import columns
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


@pytest.mark.parametrize("name", [*STORED, "_cql_at", '"_CQL_next"'])
def test_what_statements_compute_is_no_name_of_a_query(con: cqlduck.Connection, name: str) -> None:
    con.execute("CREATE RELATION r (k INTEGER, v INTEGER)")
    body = f"SELECT k, v AS {name} FROM r ORDER BY v LIMIT 2"
    for text in (
        f"CREATE CONTINUOUS QUERY q AS {body}",
        f"EXPLAIN CREATE CONTINUOUS QUERY q AS {body}",
    ):
        with pytest.raises(cqlduck.BindError, match=r"_\w+ is a reserved name") as caught:
            con.execute(text)
        assert "begin with _cql_" in str(caught.value.hint)
        assert caught.value.column == text.index(name) + 1
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT '_cql_at' AS a /* _cql_at */ FROM r")


@pytest.mark.parametrize(
    "body",
    [
        "SELECT k AS '_cql_x' FROM r",
        "SELECT '_cql_x': k FROM r",
        "SELECT * RENAME (k AS '_cql_x') FROM r",
        "SELECT COLUMNS('k') AS '_cql_x' FROM r",
        "SELECT b FROM (VALUES (1, 2)) x('_cql_x', b), r",
        "WITH '_cql_x' AS (SELECT 1 AS a) SELECT a FROM '_cql_x', r",
        "SELECT k FROM r AS '_cql_x'",
        "SELECT unnest({'_cql_x': k}) FROM r",
    ],
)
def test_no_query_gets_such_a_name_in_otherwise(con: cqlduck.Connection, body: str) -> None:
    con.execute("CREATE RELATION r (k INTEGER, v INTEGER)")
    with pytest.raises(cqlduck.BindError, match="_cql_x is a reserved name") as caught:
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    assert caught.value.column > len("CREATE CONTINUOUS QUERY q AS ")
    assert not con.queries


def test_no_macro_brings_such_a_name_into_an_answer(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (k INTEGER, v INTEGER)")
    con.execute("CREATE MACRO f() AS TABLE SELECT k AS _cql_x FROM r")
    with pytest.raises(cqlduck.BindError, match="_cql_x is a reserved name"):
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM f()")
    con.execute("CREATE MACRO _cql_f(a) AS a + 1")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT _cql_f(k) AS n FROM r")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE RELATION _cql_x (k INTEGER)",
        "CREATE STREAM _CQL_x (k INTEGER)",
        "CREATE RELATION _cql_x FROM (SELECT 1 AS a)",
        "CREATE CONTINUOUS QUERY _cql_x AS FROM r",
        "EXPLAIN CREATE CONTINUOUS QUERY _cql_x AS FROM r",
    ],
)
def test_nothing_is_called_so(con: cqlduck.Connection, statement: str) -> None:
    con.execute("CREATE RELATION r (k INTEGER)")
    with pytest.raises(cqlduck.BindError, match=re.compile("_cql_x is a reserved name", re.I)):
        con.execute(statement)
    assert ["r"] == [*con.streams, *con.relations, *con.queries]


def test_a_file_that_has_such_a_column_is_opened_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.duckdb"
    with monkeypatch.context() as patched:
        patched.setattr(columns, "is_reserved", lambda _: False)
        with cqlduck.connect(path) as con:
            con.execute("CREATE RELATION r (k INTEGER, _cql_rowid INTEGER)")
            con.execute("CREATE RELATION s (k INTEGER)")
    with pytest.warns(RuntimeWarning, match="the relation r has the column _cql_rowid") as caught:
        cqlduck.connect(path).close()
    assert len(caught) == 1


@pytest.mark.parametrize(
    "body", ["SELECT _cql_t.a FROM s [ROWS 2] AS _cql_t", "SELECT a AS _cql_x FROM s [ROWS 2]"]
)
def test_a_query_of_an_older_version_is_registered_anew_with_its_own_text(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "old.duckdb"
    with monkeypatch.context() as older, cqlduck.connect(file) as con:
        older.setattr(queries, "refuse_ours", lambda body: None)
        older.setattr(opening, "OURS", "none of ours")
        con.execute(f"CREATE STREAM s (a INTEGER); CREATE CONTINUOUS QUERY q AS {body}")
        con.append("s", [(1,)], at=1)
        con.advance(2)
    anew = f"CREATE OR REPLACE CONTINUOUS QUERY q WITH (weight = 2) AS {body} -- as it was"
    with cqlduck.connect(file) as con:
        con.execute(f"EXPLAIN {anew}")
        con.execute(anew)
        con.execute(f"CREATE CONTINUOUS QUERY IF NOT EXISTS q AS {body}")
        assert con.table("q").fetchall() == [(1,)]
        for other in (f"{body} WHERE a > 1", body.replace("_cql_", "_cql_y")):
            with pytest.raises(cqlduck.BindError, match="is a reserved name"):
                con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY q AS {other}")
        with pytest.raises(cqlduck.BindError, match="is a reserved name"):
            con.execute(f"CREATE CONTINUOUS QUERY other AS {body}")
