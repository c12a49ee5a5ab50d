"""What a transaction has written, and what was committed before, are read as one."""

from __future__ import annotations

import pytest

import cqlduck
from cqlduck.state import catalog_rows

FIRST_TWO = {
    "limit": "SELECT * FROM t ORDER BY n LIMIT 2",
    "row_number": "SELECT * EXCLUDE k FROM "
    "(SELECT *, row_number() OVER (ORDER BY n) AS k FROM t) WHERE k <= 2",
    "row_number by partition": "SELECT * EXCLUDE k FROM "
    "(SELECT *, row_number() OVER (PARTITION BY a ORDER BY n) AS k FROM t) WHERE k <= 2",
    "qualify": "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY n) <= 2",
}


@pytest.mark.parametrize("sql", FIRST_TWO.values(), ids=FIRST_TWO)
def test_the_first_rows_are_of_both(con: cqlduck.Connection, sql: str) -> None:
    """DuckDB would find them by row ids, of which its scans lose some of the committed at times."""
    database = con.engine.database
    database.execute("CREATE TABLE t (n BIGINT, a VARCHAR, b VARCHAR, c VARCHAR, d VARCHAR)")
    for low, high in ((0, 4), (4, 5), (5, 8)):
        with database.transaction():
            database.execute(
                f"INSERT INTO t SELECT n, 'a', 'b', 'c', 'd' FROM range({low}, {high}) AS r(n); "
                f"DELETE FROM t WHERE n < {high - 1}"
            )
    with database.transaction():
        database.execute("INSERT INTO t SELECT n, 'a', 'b', 'c', 'd' FROM range(8, 10) AS r(n)")
        for _ in range(250):
            assert [(7,), (8,)] == [row[:1] for row in sorted(database.rows(sql))]


def test_the_settings_that_this_rests_on_are_not_to_be_set(con: cqlduck.Connection) -> None:
    with pytest.raises(cqlduck.NotSupportedError, match="disabled_optimizers"):
        con.execute("SET disabled_optimizers = ''")


def test_what_cannot_be_undone_at_once_is_undone_with_the_next_call(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute("CREATE STREAM s (k INTEGER)")
    with monkeypatch.context() as patch:

        def fails(_: object) -> None:
            raise RuntimeError("not now")

        patch.setattr(catalog_rows, "load", fails)
        with pytest.raises(cqlduck.CatalogError, match="s is there already") as caught:
            con.execute("CREATE STREAM a (k INTEGER); CREATE STREAM s (k INTEGER)")
    assert ["undoing it met another error: not now"] == caught.value.__notes__
    assert ["s"] == list(con.streams)
    with pytest.raises(cqlduck.CatalogError, match="there is no stream or relation a"):
        con.append("a", [(1,)], at=1)
    con.execute("CREATE STREAM a (k INTEGER)")
    assert 1 == con.append("a", [(1,)], at=1)
