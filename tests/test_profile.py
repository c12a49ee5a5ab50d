"""Profiles: what they count, that it adds up, and that it changes nothing."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import choices
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import cqlduck
from cqlduck import cli
from cqlduck.rewrite.physical.form import Form
from cqlduck.sources.dropzone import BatchWriter
from cqlduck.state.profile import BETWEEN, BOOKKEEPING, COMMIT, INGEST, Line, Profile

SCRIPT = """\
CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE RELATION r (k INTEGER, name VARCHAR);
CREATE CONTINUOUS QUERY counts AS SELECT k, count(*) AS n FROM s [RANGE 2] GROUP BY k;
CREATE CONTINUOUS QUERY named AS SELECT s.k, r.name FROM s [ROWS 3], r WHERE s.k = r.k;
"""
WALL = """\
CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t FROM 's';
CREATE CONTINUOUS QUERY counts AS SELECT k, count(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k;
"""
START = datetime(2013, 1, 1)


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as made:
        choices.force_stages(made, False)
        made.execute(SCRIPT)
        yield made


def feed(con: cqlduck.Connection, first: int, last: int) -> None:
    """Run a tick for each instant, each with three elements."""
    for instant in range(first, last):
        con.append("s", [(k, instant) for k in (1, 2, instant)])
        con.advance(instant)


def of(lines: list[Line], level: str) -> list[Line]:
    return [line for line in lines if line.level == level]


# --- what is counted ------------------------------------------------------------------------------


def test_lines_add_up_to_the_whole(con: cqlduck.Connection) -> None:
    with con.profile() as profile:
        feed(con, 0, 5)
    lines, report = profile.lines(), profile.report()
    whole = of(lines, "query") + of(lines, "bookkeeping")
    assert pytest.approx(report["ms"]) == sum(line.ms for line in whole)
    assert pytest.approx(1) == sum(line.share for line in whole)
    for query in of(lines, "query"):
        for level in ("operator", "statement"):
            parts = [x.ms for x in of(lines, level) if x.query == query.query]
            assert pytest.approx(query.ms) == sum(parts)


def test_statements_are_those_of_the_plan(con: cqlduck.Connection) -> None:
    with con.profile() as profile:
        feed(con, 0, 4)
    for name in ("counts", "named"):
        steps = con.engine.compiled[name].steps.of(Form(single=True))
        lines = [x for x in of(profile.lines(), "statement") if x.query == name]
        # the ticks have one instant each
        assert sorted((s.operator, s.purpose) for s in steps) == sorted(
            (x.operator, x.what) for x in lines
        )
        assert {4} == {x.runs for x in lines}
        described = {
            (number, f"{kind}: {text}")
            for number, kind, text in con.sql(
                f"SELECT number, kind, description FROM cql.operators WHERE query = '{name}'"
            ).fetchall()
        }
        operators = [x for x in of(profile.lines(), "operator") if x.query == name]
        assert {(x.operator, x.what) for x in operators} <= described


def test_rows_are_those_written(con: cqlduck.Connection) -> None:
    con.append("r", [(1, "one"), (2, "two")], at=0)
    with con.profile() as profile:
        feed(con, 0, 6)
    out = {"counts": 0, "named": 0}
    for line in of(profile.lines(), "statement"):
        if line.what == "write the elements of the answer":
            out[line.query or ""] = line.rows or 0
    assert out == {
        name: con.sql(f"SELECT count(*) FROM cql_state.changes_{name}").fetchall()[0][0]
        for name in out
    }
    assert sum(out.values()) == profile.elements_out
    assert 20 == profile.elements_in
    ingest = next(x for x in of(profile.lines(), "bookkeeping") if x.what == INGEST)
    assert 20 == ingest.rows


def test_ticks_are_counted_one_by_one(con: cqlduck.Connection) -> None:
    with con.profile() as profile:
        feed(con, 0, 7)
    assert 7 == profile.ticks
    report = profile.report()
    assert 0 < report["p50_ms"] <= report["p95_ms"] <= report["ms"]


def test_only_the_block_is_counted(con: cqlduck.Connection) -> None:
    feed(con, 0, 3)
    with con.profile() as profile:
        feed(con, 3, 5)
    before = profile.report()
    feed(con, 5, 8)
    assert before == profile.report()
    assert 2 == profile.ticks


def test_frames_count_what_no_frame_inside_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    profile = Profile(lambda name: ())
    for _ in range(2):
        with profile.part(BETWEEN):  # opens at 0
            with profile.part(INGEST):  # 1
                pass  # 2
            with profile.part(INGEST):  # 3
                pass  # 4
            profile.ticked(taken=1, written=0)
            with profile.part(COMMIT):  # 5
                pass  # 6
        profile.committed()  # 7
    found = {line.what: (line.ms, line.p50_ms) for line in profile.lines()}
    assert {INGEST: (4000, 2000), COMMIT: (2000, 1000), BETWEEN: (8000, 4000)} == found
    assert 14000 == profile.report()["ms"]


def test_a_query_that_fails_is_counted_too(con: cqlduck.Connection) -> None:
    con.execute("CREATE CONTINUOUS QUERY bad AS SELECT CAST('x' || k AS INTEGER) AS i FROM s [NOW]")
    with con.profile() as profile:
        feed(con, 0, 3)
    assert "failed" == con.engine.query("bad").state
    lines = profile.lines()
    assert pytest.approx(1) == sum(x.share for x in of(lines, "query") + of(lines, "bookkeeping"))


def test_of_a_plan_that_is_gone(con: cqlduck.Connection) -> None:
    with con.profile() as profile:
        feed(con, 0, 2)
        con.execute("DROP CONTINUOUS QUERY named")
    gone = [x for x in of(profile.lines(), "operator") if x.query == "named"]
    assert gone
    assert {"of a plan that no longer exists"} == {x.what for x in gone}


def test_answers_are_the_same_with_a_profile(con: cqlduck.Connection) -> None:
    with cqlduck.connect() as plain:
        plain.execute(SCRIPT)
        feed(plain, 0, 6)
        with con.profile(deep=True):
            feed(con, 0, 6)
        for name in ("counts", "named"):
            assert sorted(plain.changes(name).fetchall()) == sorted(con.changes(name).fetchall())


def test_one_profile_at_a_time(con: cqlduck.Connection) -> None:
    with con.profile(), pytest.raises(cqlduck.Error, match="being taken already"), con.profile():
        pass
    assert con.engine.database.profile is None


def test_profile_ends_with_the_block_that_fails(con: cqlduck.Connection) -> None:
    with pytest.raises(cqlduck.DataError), con.profile():
        con.append("s", [("x", "y")])
    with con.profile() as profile:
        feed(con, 0, 1)
    assert 1 == profile.ticks


def test_deep_looks_into_statements(con: cqlduck.Connection) -> None:
    with con.profile(deep=True) as profile:
        feed(con, 0, 3)
    inside = of(profile.lines(), "duckdb")
    assert {"INSERT", "planner", "optimizer"} <= {line.what for line in inside}
    assert any(line.what == "TABLE_SCAN" and line.rows for line in inside)
    scanned = [(line.level, line.scanned) for line in profile.lines()]
    assert all(number is None for level, number in scanned if level == "duckdb")
    by_level = {level: sum(n for at, n in scanned if at == level) for level in
                ("query", "operator", "statement")}  # fmt: skip
    assert by_level["query"] == by_level["operator"] == by_level["statement"] > 0
    assert "scanned" in str(profile)
    off = con.engine.database.rows("SELECT current_setting('enable_profiling')")
    with cqlduck.connect() as other:
        assert off == other.engine.database.rows("SELECT current_setting('enable_profiling')")


def test_deep_counts_what_is_scanned_of_a_relation_too() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER PRIMARY KEY, v INTEGER)")
        con.append("r", [(k, 0) for k in range(3000)], at=1)
        con.advance(1)
        con.retract("r", [(1000, 0)], at=2)
        with con.profile(deep=True) as profile:
            con.advance(2)
    scanned = {line.what: line.scanned for line in profile.lines()}
    assert 3000 <= scanned["relations"] < 10_000
    assert 0 == scanned["commit"]


def test_as_text_and_as_json(con: cqlduck.Connection) -> None:
    with con.profile() as profile:
        feed(con, 0, 2)
    text = str(profile)
    assert "1 aggregate: COUNT(*) BY s.k" in text
    assert "write the elements of the answer" in text
    report = json.loads(json.dumps(profile.report()))
    assert 2 == report["ticks"]
    assert {"level", "query", "operator", "what", "ms", "share", "p50_ms", "p95_ms", "rows",
            "runs", "scanned"} == set(report["lines"][0])  # fmt: skip


def test_of_nothing() -> None:
    with cqlduck.connect() as con, con.profile() as profile:
        pass
    assert 0 == profile.report()["ms"] == profile.report()["p95_ms"]
    assert [] == profile.lines()


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an application and a drop zone of two batches."""
    monkeypatch.chdir(tmp_path)
    Path("app.cql").write_text(WALL)
    for number in range(2):
        begin = START + timedelta(hours=number)
        rows = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "t": pa.array([begin] * 3)})
        end = begin + timedelta(hours=1, microseconds=-1)
        assert BatchWriter("drop", "s", ts="t").write_batch(number, rows, heartbeat=end)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


@pytest.mark.usefixtures("here")
def test_command_prints_a_table() -> None:
    done = call("profile", "app.cql", "--drop-zone", "drop")
    assert 0 == done.exit_code, done.output
    assert "6 elements in" in done.stdout
    assert "1 aggregate: COUNT(*) BY s.k" in done.stdout
    assert f"ingest: {BOOKKEEPING[INGEST]}" in done.stdout


@pytest.mark.usefixtures("here")
def test_command_prints_json_alone() -> None:
    done = call("profile", "app.cql", "--drop-zone", "drop", "--deep", "--json")
    assert 0 == done.exit_code, done.output
    report = json.loads(done.stdout)
    assert 6 == report["elements_in"]
    assert {"query", "operator", "statement", "duckdb", "bookkeeping"} == {
        line["level"] for line in report["lines"]
    }


@pytest.mark.usefixtures("here")
def test_command_leaves_the_database_as_it_is() -> None:
    with cqlduck.connect("app.duckdb") as con:
        con.execute(WALL.replace(" FROM 's'", ""))
        con.append("s", [(1, START)])
        con.advance(START)
    before = Path("app.duckdb").read_bytes()
    Path("more.cql").write_text("INSERT INTO s VALUES (7, '2013-01-01 01:00'), (7, '2013-01-02');")
    arguments = ("profile", "-d", "app.duckdb", "--script", "more.cql", "--to", "2013-01-03")
    done = call(*arguments, "--json")
    assert 0 == done.exit_code, done.output
    assert 2 == json.loads(done.stdout)["elements_in"]
    assert before == Path("app.duckdb").read_bytes()


@pytest.mark.usefixtures("here")
def test_run_prints_a_profile_at_the_end() -> None:
    done = call("run", "app.cql", "-z", "drop", "--profile")
    assert 0 == done.exit_code, done.output
    assert "counts (2 rows)" in done.stdout
    assert "write the elements of the answer" in done.stdout


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "there is nothing to profile"),
        (("app.cql",), "say with --drop-zone where they are"),
        (("app.cql", "-z", "nowhere"), "there is no drop zone nowhere"),
        (("-d", "nowhere.duckdb"), "there is no database nowhere.duckdb"),
        (("app.cql", "-z", "drop", "--script", "nowhere.cql"), "there is no file nowhere.cql"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], says: str) -> None:
    done = call("profile", *arguments)
    assert 1 == done.exit_code
    assert says in done.stderr
