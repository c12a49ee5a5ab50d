"""A database that an older version has written goes on where it stopped."""

from __future__ import annotations

import lzma
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cqlduck
from cqlduck import sql

WRITTEN = Path(__file__).parent / "databases"
"""Databases that older versions wrote of `SCRIPT` and `filled`, by the version of their schema."""

SCRIPT = """
    CREATE STREAM s (k INTEGER, x DOUBLE);
    CREATE STREAM u (k INTEGER, y VARCHAR);
    CREATE RELATION r (k INTEGER, name VARCHAR);
    CREATE CONTINUOUS QUERY sums AS
        SELECT k, sum(x) AS x, count(*) AS n FROM s [RANGE 10] GROUP BY k;
    CREATE CONTINUOUS QUERY ever AS SELECT k, avg(x) AS x FROM s [RANGE UNBOUNDED] GROUP BY k;
    CREATE CONTINUOUS QUERY lasts AS SELECT k, x FROM s [PARTITION BY k ROWS 2];
    CREATE CONTINUOUS QUERY met AS SELECT s.k, s.x, r.name FROM s [RANGE 5], r WHERE s.k = r.k;
    CREATE CONTINUOUS QUERY some AS SELECT DISTINCT k FROM u [ROWS 3];
    CREATE CONTINUOUS QUERY without AS
        SELECT k FROM s [RANGE 4] WHERE k NOT IN (SELECT k FROM u [RANGE 6]);
    CREATE CONTINUOUS QUERY most AS SELECT max(n) AS n FROM sums;
    CREATE CONTINUOUS QUERY top AS SELECT k, x FROM ever ORDER BY x DESC LIMIT 1;
"""
QUERIES = ("sums", "ever", "lasts", "met", "some", "without", "most", "top")


def fill(con: cqlduck.Connection, instants: range) -> None:
    for t in instants:
        con.append("s", [(t % 3, t * 0.1)], at=t)
        con.append("u", [(t % 4, str(t))], at=t)


def filled(con: cqlduck.Connection) -> None:
    con.execute(SCRIPT)
    con.append("r", [(1, "a"), (2, "b")], at=1)
    fill(con, range(1, 9))
    con.advance(9)


@pytest.fixture(params=range(len(sql.migrations())))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of a database with the schema of an older version."""
    path = tmp_path / "old.duckdb"
    path.write_bytes(lzma.decompress((WRITTEN / f"schema_{request.param}.duckdb.xz").read_bytes()))
    return path


def answers(con: cqlduck.Connection) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    for name in QUERIES:
        yield name, sorted(con.changes(name).fetchall(), key=repr)
        yield name, sorted(con.table(name).fetchall(), key=repr)


def test_it_goes_on_where_it_stopped(old: Path) -> None:
    with cqlduck.connect(old) as con, cqlduck.connect() as new:
        filled(new)
        assert dict(answers(new)) == dict(answers(con))
        for one in (con, new):
            fill(one, range(10, 20))
            one.retract("r", [(1, "a")], at=14)
            one.advance(17)
        assert dict(answers(new)) == dict(answers(con))
        assert [] == con.sql("SELECT name FROM cql.queries WHERE state <> 'active'").fetchall()


def test_it_is_migrated_once(old: Path) -> None:
    cqlduck.connect(old).close()
    said: list[str] = []
    with cqlduck.connect(old, trace=lambda text, _: said.append(text)) as con:
        assert not [text for text in said if text.startswith(("ALTER", "DROP TABLE"))]
        assert {"id", "inputs"} <= set(con.sql("FROM cql.operators").columns)
        (count,) = con.sql("SELECT count(DISTINCT query) FROM cql.operators").fetchall()
        assert (len(QUERIES),) == count
        con.execute("CREATE STREAM another (k INTEGER)")
        numbers = con.engine.catalogue
        known = [t.number for t in (*numbers.inputs.values(), *numbers.queries.values())]
        assert len(set(known)) == len(known) == len(QUERIES) + 4


def test_a_migration_that_fails_at_its_end_leaves_the_file_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    def fail(*_: object) -> None:
        raise cqlduck.DatabaseError("out of luck")

    def columns() -> list[tuple[str, ...]]:
        with duckdb.connect(old, read_only=True) as con:
            return con.sql("SELECT table_name, column_name FROM duckdb_columns()").fetchall()

    before, had = old.read_bytes(), columns()
    monkeypatch.setattr("cqlduck.streamon.shown.Shown.opened", fail)
    with pytest.raises(cqlduck.DatabaseError, match="out of luck"):
        cqlduck.connect(old)
    assert columns() == had
    assert len(before) == len(old.read_bytes())


def test_what_cannot_be_made_anew_is_named_and_the_file_stays_as_it_was(tmp_path: Path) -> None:
    import duckdb

    def content() -> dict[str, int]:
        with duckdb.connect(path, read_only=True) as con:
            tables = con.sql("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
            return {
                t: con.sql(f'SELECT count(*) FROM cql_state."{t}"').fetchall() for (t,) in tables
            }

    path = tmp_path / "other.duckdb"
    with cqlduck.connect(path) as con:
        filled(con)
        fill(con, range(10, 40))
        con.advance(39)
    with duckdb.connect(path) as con:
        con.execute("DELETE FROM cql_state.synopses WHERE query = 'ever' AND kind = 'groups'")
    before = content()
    for _ in range(2):
        with pytest.raises(
            cqlduck.DatabaseError,
            match=r"synopses .* of the continuous query ever .* ever_\w+_groups \(aggregate: .*\) "
            r"cannot be made anew: s has forgotten what came up to .* would have to be kept",
        ):
            cqlduck.connect(path)
        assert before == content()


@pytest.fixture(scope="module")
def as_written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database that this version has written."""
    path = tmp_path_factory.mktemp("written") / "some.duckdb"
    written(path)
    return path


def written(path: Path) -> None:
    with cqlduck.connect(path) as con:
        filled(con)


@pytest.mark.parametrize("change", ["another column", "another name", "gone", "one too many"])
@pytest.mark.parametrize("query", ["sums", "lasts", "some", "without", "most"])
def test_a_synopsis_that_the_plan_has_otherwise_is_filled_with_its_content(
    query: str, change: str, tmp_path: Path, as_written: Path
) -> None:
    import duckdb

    path = tmp_path / "other.duckdb"
    shutil.copy(as_written, path)
    with duckdb.connect(path) as con:
        con.execute("UPDATE cql_state.plans SET version = $v", {"v": "of another rewriter"})
        tables = con.execute(
            "SELECT table_name FROM cql_state.synopses WHERE query = ?", [query]
        ).fetchall()
        assert tables
        for (table,) in tables:
            if change == "another column":
                con.execute(f'ALTER TABLE cql_state."{table}" ADD COLUMN more INTEGER')
            elif change == "another name":
                # of an operator that computes something else
                con.execute(f'ALTER TABLE cql_state."{table}" RENAME TO "{table}_other"')
                con.execute(f'DELETE FROM cql_state."{table}_other"')
                con.execute(
                    "UPDATE cql_state.synopses SET table_name = ? WHERE table_name = ?",
                    [f"{table}_other", table],
                )
                con.execute(
                    "UPDATE cql_state.operators SET description = ? WHERE query = ?",
                    ["another", query],
                )
            elif change == "gone":
                con.execute(f'DROP TABLE cql_state."{table}"')
                con.execute("DELETE FROM cql_state.synopses WHERE table_name = ?", [table])
            else:
                con.execute(f'CREATE TABLE cql_state."{table}_more" (k INTEGER)')
                con.execute(
                    "INSERT INTO cql_state.synopses VALUES (?, 99, 'groups', ?, NULL, false, 0)",
                    [query, f"{table}_more"],
                )
    with cqlduck.connect(path) as con, cqlduck.connect() as new:
        filled(new)
        for one in (con, new):
            fill(one, range(10, 20))
            one.retract("r", [(1, "a")], at=14)
            one.advance(17)
        assert dict(answers(new)) == dict(answers(con))
        assert {"right", "cannot be had"} >= {row[5] for row in con.check().fetchall()}
    with duckdb.connect(path) as con:
        left = con.sql("SELECT table_name FROM duckdb_tables()").fetchall()
        assert not [name for (name,) in left if name.endswith(("_more", "_other", " of before"))]


def test_views_read_the_synopses_of_this_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version may keep a trace, so that what is above it is another operator."""
    import duckdb

    path = tmp_path / "other.duckdb"
    with monkeypatch.context() as other, cqlduck.connect(path) as con:
        rule = sys.modules["cqlduck.rewrite.rules.materialize"]
        other.setattr(rule, "_has_extremes", lambda node: False)
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        for number, width in enumerate((8, 7, 6)):
            con.execute(
                f"CREATE CONTINUOUS QUERY q{number} AS SELECT k, max(v) AS x FROM s "
                f"[RANGE {width}] WHERE v > {number} GROUP BY k"
            )
        con.append("s", [(1, 3), (2, 5)], at=1)
        con.advance(1)
        expected = sorted(con.table("q1").fetchall())
    assert expected
    with duckdb.connect(path) as con:
        assert con.execute("FROM cql_state.synopses WHERE kind = 'trace'").fetchall()
        con.execute("UPDATE cql_state.plans SET version = $v", {"v": "of another rewriter"})
    with cqlduck.connect(path) as con:
        assert not con.sql("FROM cql_state.synopses WHERE kind = 'trace'").fetchall()
        assert expected == sorted(con.table("q1").fetchall())
        assert expected == sorted(con.sql("FROM q1").fetchall())
        assert {"right"} == {row[5] for row in con.check().fetchall()}
    with duckdb.connect(path) as con:
        assert expected == sorted(con.execute("FROM q1").fetchall())


def test_what_is_shown_is_what_this_version_runs(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "other.duckdb"
    written(path)
    with duckdb.connect(path) as con:
        con.execute("UPDATE cql_state.plans SET version = $v", {"v": "of another rewriter"})
        con.execute("UPDATE cql_state.operators SET sql = $s", {"s": "of another rewriter"})
    with cqlduck.connect(path) as con:
        assert [] == con.sql("FROM cql.operators WHERE sql = 'of another rewriter'").fetchall()


def test_a_later_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "later.duckdb"
    with cqlduck.connect(path) as con:
        con.engine.database.execute(
            "UPDATE cql_state.settings SET value = ? WHERE name = ?", ["99", "schema_version"]
        )
    with pytest.raises(cqlduck.DatabaseError, match=r"later version of cqlduck.*version 99"):
        cqlduck.connect(path)
