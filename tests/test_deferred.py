"""Deferred queries: WITH (read = 'later') a query says what it says when it runs in each tick."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from counts import fewer_rounds_if_brief, is_brief
from test_families import rows_of
from test_merging import ALIKE
from twins import Twins

import cqlduck

SCRIPT = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE STREAM u (k INTEGER, v INTEGER, name VARCHAR, price DOUBLE, cost DECIMAL(8, 2),
        huge HUGEINT);
    CREATE RELATION r (k INTEGER, w INTEGER);
    CREATE RELATION p (k INTEGER, w INTEGER, PRIMARY KEY (k));
"""
QUERIES = [
    *ALIKE,
    "SELECT k, w FROM p",
    "SELECT s.k, p.w FROM s [RANGE 3], p WHERE s.k = p.k",
    "SELECT k, sum(price) AS x FROM u [RANGE 6] GROUP BY k",
    "SELECT Rstream(k, count(*) AS n) FROM s [NOW] GROUP BY k",
    "SELECT max(w) AS w FROM r",
    "SELECT k, w FROM p ORDER BY w DESC, k LIMIT 1",
]


class Two(Twins):
    """Two databases that are told the same; in the first one queries are read later."""

    def __init__(self, folder: Path, rnd: random.Random, settings: dict[str, Any]) -> None:
        """Open both."""
        super().__init__(folder, rnd, settings)
        self.least = rnd.choice([0, 4, 20, 20_000])
        self.open()

    def opened(self, number: int, path: Path | str) -> cqlduck.Connection:
        """Return a connection to one of them."""
        con = cqlduck.connect(path, sharing=False, **self.settings)
        if not number:
            con.engine.deferral.least = self.least
        return con

    def execute(self, text: str) -> None:
        """Run a statement in both; the second one knows nothing of what is read later."""
        now = re.sub(r"WITH \(read = '\w+'\)", "", text)
        self.each(lambda con: con.execute(now if con is self.both[1] else text) and None, text)

    def read(self, name: str) -> None:
        """Read a query some way."""
        known = self.both[1].queries[name]
        at = 0 if known.frontier is None else known.frontier
        since = self.rnd.choice([None, max(at - 2, 0)])
        ways: list[Callable[[cqlduck.Connection], Any]] = [
            lambda con: con.table(name),
            lambda con: [tuple(row.items()) for row in con.arrow(name).to_pylist()],
            lambda con: con.changes(name),
            lambda con: con.changes(name, since),
            lambda con: con.as_of(name, at),
            lambda con: con.as_of(name, max(at - 1, 0)),
            lambda con: con.sql(f'SELECT count(*) FROM "{name}"'),
            lambda con: con.sql(f"SELECT * FROM {name}, (SELECT count(*) FROM p)"),
            lambda con: con.execute(f"CREATE OR REPLACE TABLE copied AS FROM {name}"),
            lambda con: [row for batch in con.subscribe(name, since) for row in batch.to_pylist()],
        ]
        self.each(self.rnd.choice(ways))

    def compare(self) -> None:
        """Compare all that both say of all queries."""
        for name in self.both[1].queries:
            self.each(lambda con, name=name: con.changes(name))
            self.each(lambda con, name=name: con.sql(f"FROM {name}"))
            mine, other = (con.queries[name] for con in self.both)
            for what in ("state", "began", "frontier", "columns", "error"):
                assert getattr(mine, what) == getattr(other, what), (name, what)
        self.each(lambda con: con.sql("FROM cql.late"))

    def close(self) -> None:
        """Close both."""
        for con in self.both:
            con.close()


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(n, marks=pytest.mark.long) for n in range(10, 400))]
)
def test_a_deferred_query_says_what_it_says_in_each_tick(seed: int, tmp_path: Path) -> None:
    """Random statements, reads and reopenings between random ticks, in two databases."""
    rnd = random.Random(seed)
    settings: dict[str, Any] = {}
    if rnd.random() < 0.3:
        settings["window_edge"] = "half_open"
    if rnd.random() < 0.3:
        settings["max_tick"] = rnd.choice([1, 5])
    two = Two(tmp_path, rnd, settings)
    two.execute(SCRIPT)
    instant, stood = 0, 0
    for number in range(fewer_rounds_if_brief(rnd.choice([6, 12, 24]))):
        names = list(two.both[1].queries)
        draw = rnd.random()
        if draw < 0.5:
            how = rnd.choice(["WITH (read = 'later')", "WITH (read = 'later')", ""])
            text = rnd.choice(QUERIES)
            if names and rnd.random() < 0.3:
                text = f"SELECT * FROM {rnd.choice(names)}"
            two.execute(f"CREATE CONTINUOUS QUERY q{number} {how} AS {text}")
        elif names and draw < 0.6:
            name = rnd.choice(names)
            to = rnd.choice(["later", "default"])
            two.both[0].execute(f"ALTER CONTINUOUS QUERY {name} SET (read = '{to}')")
        elif names and draw < 0.7:
            verb = rnd.choice(["DEACTIVATE", "ACTIVATE", "ACTIVATE"])
            two.execute(f"ALTER CONTINUOUS QUERY {rnd.choice(names)} {verb}")
        for _ in range(rnd.randrange(4)):
            instant += rnd.choice([0, 1, 1, 2])
            for name in ("s", "u", "r", "p"):
                rows = rows_of(rnd, "u" if name == "u" else "s")
                at = rnd.choice([instant + 1, instant + 1, instant + 2])
                if name == "p":
                    rows = [row for row in rows if row[0] is not None]
                if not rows:
                    continue
                if name in ("r", "p") and rnd.random() < 0.4:
                    two.each(lambda con, n=name, rows=rows: con.append(n, rows))
                elif name in ("r", "p") and rnd.random() < 0.3:
                    two.each(lambda con, n=name, rows=rows, at=at: con.retract(n, rows, at=at))
                else:
                    two.each(lambda con, n=name, rows=rows, at=at: con.append(n, rows, at=at))
            if rnd.random() < 0.2:
                two.execute(f"UPDATE r SET w = {rnd.randrange(9)} WHERE k = {rnd.randrange(3)}")
            if rnd.random() < 0.1:
                two.each(lambda con, at=instant: con.heartbeat("s", at))
            # relations have no heartbeats of their own: that is how far ticks bring their readers
            by_streams = rnd.random() < 0.3
            for con in two.both:
                for name in ("s", "u") if by_streams else ():
                    con.heartbeat(name, instant)
                con.advance(*(() if by_streams else (instant,)))
            stood += sum(q.promised is not None for q in two.both[0].engine.catalogue.running)
        if rnd.random() < 0.2:
            two.open()
        for name in rnd.sample(names, min(len(names), rnd.choice([0, 0, 1, 2]))):
            two.read(name)
    two.compare()
    assert not two.both[0].engine.behind()
    assert not [row for row in two.both[0].check().fetchall() if row[5] == "wrong"]
    assert stood or two.least < 20_000 or seed >= 10 or is_brief()
    two.close()


def steps(con: cqlduck.Connection, instants: range) -> None:
    """Run ticks over a stream and a relation."""
    for t in instants:
        con.append("s", [(t % 3, t % 5), (t % 2, t)], at=t)
        con.append("r", [(t % 3, t)], at=t)
        con.advance(t)


SUMS = "SELECT k, sum(v) AS v FROM s [RANGE 4] GROUP BY k"


def behind(con: cqlduck.Connection) -> list[str]:
    """Return the names of the queries that somebody has to read to have them answered."""
    return [query.name for query in con.engine.behind()]


@pytest.fixture
def con() -> Any:
    """Return a connection with a deferred query, and one above it."""
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        con.execute(f"CREATE CONTINUOUS QUERY a WITH (read = 'later') AS {SUMS}")
        con.execute("CREATE CONTINUOUS QUERY b WITH (read = 'later') AS SELECT max(v) AS m FROM a")
        con.execute(f"CREATE CONTINUOUS QUERY alone AS {SUMS}")
        steps(con, range(1, 10))
        yield con


def test_ticks_leave_it_alone_and_say_where_it_is(con: cqlduck.Connection) -> None:
    assert behind(con) == ["a", "b"]
    seen = "SELECT name, frontier, answer_instant, read FROM cql.queries ORDER BY name"
    said = [("a", "9", "1", "later"), ("alone", "9", "9", None), ("b", "9", "1", "later")]
    assert con.sql(seen).fetchall() == said
    assert (con.queries["a"].frontier, con.queries["a"].answer_instant) == (9, 1)
    assert con.queries["alone"].answer_instant is None
    assert "-- read: later; it is answered when it is read, and stands at 1" in con.explain("a")
    assert con.advance(10) == 10


@pytest.mark.parametrize(
    ("read", "left"),
    [
        (lambda con: con.table("a"), ["b"]),
        (lambda con: con.table("b"), []),
        (lambda con: con.arrow("b"), []),
        (lambda con: con.changes("a"), ["b"]),
        (lambda con: con.as_of("a", 0), ["a", "b"]),
        (lambda con: con.as_of("a", 8), ["b"]),
        (lambda con: con.subscribe("a"), ["b"]),
        (lambda con: con.sql("FROM a"), ["b"]),
        (lambda con: con.sql('FROM "B"'), []),
        (lambda con: con.sql("FROM alone"), ["a", "b"]),
        (lambda con: con.execute("SELECT * FROM main.a"), ["b"]),
        (lambda con: con.execute("INSERT INTO r SELECT k, v FROM a"), ["b"]),
        (lambda con: con.execute("INSERT INTO r VALUES (1, 2)"), ["a", "b"]),
        (lambda con: con.execute("SHOW CONTINUOUS QUERIES"), ["a", "b"]),
        (lambda con: con.execute("CREATE CONTINUOUS QUERY c AS SELECT v FROM a"), []),
        (lambda con: con.execute("ALTER CONTINUOUS QUERY b DEACTIVATE"), []),
        (lambda con: con.execute("UPDATE cql.properties SET value = NULL WHERE name = 'read'"), []),
        (lambda con: con.explain("a"), ["a", "b"]),
        (lambda con: con.check(), ["a", "b"]),
        (lambda con: con.heartbeat("s", 12), ["a", "b"]),
    ],
)
def test_who_reads_has_it_answered(
    con: cqlduck.Connection, read: Callable[[cqlduck.Connection], object], left: list[str]
) -> None:
    read(con)
    assert behind(con) == left
    assert sorted(con.table("a").fetchall()) == sorted(con.table("alone").fetchall())


def test_a_snapshot_has_it_answered_and_a_closed_file_says_at_which_instant(
    con: cqlduck.Connection, tmp_path: Path
) -> None:
    path = con.snapshot(tmp_path / "snapshot.duckdb")
    assert not behind(con)
    wanted = sorted(con.table("alone").fetchall())
    with duckdb.connect(path, read_only=True) as shell:
        assert sorted(shell.sql("FROM a").fetchall()) == wanted
    with cqlduck.connect(path) as again:
        steps(again, range(10, 14))
        assert sorted(behind(again)) == ["a", "b"]
    with duckdb.connect(path, read_only=True) as shell:
        assert sorted(shell.sql("FROM a").fetchall()) == wanted
        seen = "SELECT frontier, answer_instant FROM cql.queries WHERE name = 'a'"
        assert shell.sql(seen).fetchall() == [("13", "9")]
    with cqlduck.connect(path) as again:
        assert again.queries["a"].frontier == 13
        assert sorted(again.table("a").fetchall()) == sorted(again.table("alone").fetchall())


def test_a_data_frame_is_no_view_over_it(tmp_path: Path) -> None:
    with cqlduck.connect(tmp_path / "app.duckdb") as con:
        con.execute(SCRIPT)
        con.execute(f"CREATE CONTINUOUS QUERY a WITH (read = 'later') AS {SUMS}")
        con.execute(f"CREATE CONTINUOUS QUERY alone AS {SUMS}")
    # whoever had the file before may have made views
    with cqlduck.connect(tmp_path / "app.duckdb") as con:
        con.register("frame", {"k": [1]})
        steps(con, range(1, 5))
        rows = con.sql("SELECT * FROM alone, frame WHERE alone.k = frame.k").fetchall()
        assert (len(rows), behind(con)) == (1, ["a"])
        con.execute("CREATE VIEW seen AS FROM frame")
        steps(con, range(5, 7))
        con.sql("FROM alone")
        assert behind(con) == []


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("CREATE VIEW seen AS {}", "seen"),
        ("CREATE TEMP VIEW seen AS {}", "seen"),
        ("CREATE SCHEMA mine; CREATE VIEW mine.x AS {}; CREATE VIEW y AS FROM mine.x", "y"),
        ("CREATE SCHEMA mine; CREATE MACRO mine.seen() AS TABLE {}", "mine.seen()"),
        ("CREATE TEMP MACRO seen() AS TABLE {}", "seen()"),
    ],
)
def test_who_has_a_view_over_it_reads_it(con: cqlduck.Connection, made: str, read: str) -> None:
    con.execute(made.format("SELECT sum(v) AS v FROM cqlduck.main.a"))
    steps(con, range(10, 13))
    assert behind(con) == ["a", "b"]
    assert con.execute(f"FROM {read}").fetchall() == con.sql("SELECT sum(v) FROM alone").fetchall()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lambda con: con.engine.on_tick.append(print), "a listener may read it in each tick"),
        (lambda con: con.execute("CREATE CONTINUOUS QUERY c AS SELECT v FROM a"), "c reads it"),
        (
            lambda con: con.execute("CREATE CONTINUOUS QUERY c AS SELECT * FROM SysStream"),
            "SysStream is read, and says what it does",
        ),
    ],
)
def test_what_has_it_run_in_each_tick(
    con: cqlduck.Connection, given: Callable[[cqlduck.Connection], object], why: str
) -> None:
    given(con)
    steps(con, range(10, 13))
    assert "a" not in behind(con)
    assert f"-- read: later, but it is answered in each tick: {why}" in con.explain("a")
    assert con.engine.query("a").frontier == 12


def test_it_leaves_no_more_unread_than_it_keeps() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        con.engine.deferral.least = 30
        con.execute(f"CREATE CONTINUOUS QUERY a WITH (read = 'later') AS {SUMS}")
        counts = []
        for t in range(1, 80):
            con.append("s", [(t % 3, 1), (t % 4, 1)], at=t)
            con.advance(t)
            counts.append(con.engine.deferral.unread(con.engine.query("a")))
        assert max(counts) == 30
        ran = con.sql("SELECT count(*) FROM cql.ticks WHERE queries > 0").fetchall()
        assert ran == [(len([n for n in counts if n == 0]),)]
        assert 4 <= counts.count(0) <= 7


def test_relations_close_in_ticks_that_do_not_answer_it() -> None:
    """The heartbeat of a relation is where ticks have brought a query that reads it."""
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        con.execute("""
            CREATE CONTINUOUS QUERY c WITH (read = 'later') AS
                SELECT s.k, p.w FROM s [RANGE 9], p WHERE s.k = p.k
        """)
        for instant in (1, 3, 21):
            con.append("s", [(1, 1)], at=instant)
            con.heartbeat("s", instant)
            con.advance()
            assert con.relations["p"].heartbeat == instant
            assert behind(con) == (["c"] if instant > 1 else [])
        con.execute("INSERT INTO p VALUES (1, 2)")
        con.heartbeat("s", 24)
        con.advance()
        con.execute("UPDATE p SET w = 3")
        con.heartbeat("s", 26)
        con.advance()
        changes = sorted(con.changes("c").fetchall())
        assert changes == [(1, 2, 22, 1), (1, 2, 25, -1), (1, 3, 25, 1)]


def test_it_fails_where_it_would_have_failed() -> None:
    said = []
    for option in ("WITH (read = 'later')", ""):
        with cqlduck.connect() as con:
            con.execute(SCRIPT)
            con.execute(f"CREATE CONTINUOUS QUERY a {option} AS SELECT k, 1 // (v - 3) AS x FROM s")
            con.execute(f"CREATE CONTINUOUS QUERY b {option} AS SELECT max(x) AS m FROM a [ROWS 2]")
            if option:
                steps(con, range(1, 9))
                assert con.queries["b"].frontier == 8
            else:
                with pytest.warns(RuntimeWarning, match="a failed"):
                    steps(con, range(1, 9))
            with pytest.raises(cqlduck.QueryError) as caught:
                con.table("b")
            known = [(q.state, q.frontier, q.error) for q in con.queries.values()]
            said.append((str(caught.value), known, con.changes("b").fetchall()))
            assert not behind(con)
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ['a"b', "a b", "Ünë", "a.b", "$a", "SELECT", "a'"])
def test_whatever_it_is_called_sql_finds_it(name: str) -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        quoted = '"' + name.replace('"', '""') + '"'
        con.execute(f"CREATE CONTINUOUS QUERY {quoted} WITH (read = 'later') AS {SUMS}")
        con.execute(f"CREATE CONTINUOUS QUERY alone AS {SUMS}")
        steps(con, range(1, 5))
        assert behind(con) == [name]
        assert con.sql(f"FROM {quoted} ORDER BY k").fetchall() == (
            con.sql("FROM alone ORDER BY k").fetchall()
        )


def test_what_waits_for_a_function_is_promised_still(tmp_path: Path) -> None:
    def opened() -> cqlduck.Connection:
        return cqlduck.connect(tmp_path / "app.duckdb")

    def registered(con: cqlduck.Connection) -> None:
        con.create_function("twice", lambda x: 2 * x, ["BIGINT"], "BIGINT")

    later = "WITH (read = 'later')"
    with opened() as con:
        registered(con)
        con.execute(SCRIPT)
        con.execute(f"CREATE CONTINUOUS QUERY a {later} AS SELECT max(twice(v)) AS v FROM s")
        con.execute(f"CREATE CONTINUOUS QUERY b {later} AS SELECT max(v) AS v FROM a")
        for t in range(1, 5):
            con.append("s", [(t, t)], at=t)
            con.advance(t)
    with opened() as con:
        state = "waits for function twice"
        for name in ("a", "b"):
            assert con.queries[name].frontier == 4
            for read in (con.table, con.arrow, con.changes, con.subscribe):
                with pytest.raises(cqlduck.QueryError, match=f"a {state}"):
                    read(name)
            for read in (con.sql, con.execute):
                with pytest.raises(cqlduck.QueryError, match=f"a {state}"):
                    read(f"FROM {name}")
        con.execute("CREATE STREAM another (k INTEGER)")
        con.snapshot(tmp_path / "copy.duckdb")
        assert (con.queries["a"].state, con.queries["b"].frontier) == (state, 4)
        registered(con)
        assert con.table("b").fetchall() == [(8,)]
        con.append("s", [(1, 9)], at=5)
        con.advance(5)
        wanted = [(2, 1, 1), (2, 2, -1), (4, 2, 1), (4, 3, -1), (6, 3, 1), (6, 4, -1), (8, 4, 1),
                  (8, 5, -1), (18, 5, 1)]  # fmt: skip
        for name in ("a", "b"):
            found = con.changes(name).order("_ts, _weight").fetchall()
            assert [row for row in found if row[0] is not None] == wanted


@pytest.mark.parametrize("again", [False, True], ids=["once", "under the other"])
def test_another_function_is_for_what_comes_after_it(con: cqlduck.Connection, again: bool) -> None:
    def plus(added: int) -> None:
        con.create_function("plus", lambda x: x + added, ["BIGINT"], "BIGINT")

    plus(1)
    con.execute("CREATE CONTINUOUS QUERY now AS SELECT plus(v) AS v FROM s")
    con.execute("CREATE CONTINUOUS QUERY below WITH (read = 'later') AS SELECT plus(v) AS v FROM s")
    con.execute("CREATE CONTINUOUS QUERY later WITH (read = 'later') AS FROM below")
    steps(con, range(10, 14))
    plus(100)
    if again:
        plus(1000)
    steps(con, range(14, 16))
    wanted = sorted(con.changes("now").fetchall(), key=repr)
    assert wanted
    for name in ("later", "below"):
        assert sorted(con.changes(name).fetchall(), key=repr) == wanted


def test_an_error_of_the_function_before_is_not_lost(con: cqlduck.Connection) -> None:
    def strict(x: int) -> int:
        if x == 12:
            raise ValueError("a dozen")
        return x

    con.create_function("checked", strict, ["BIGINT"], "BIGINT")
    con.execute("CREATE CONTINUOUS QUERY f WITH (read = 'later') AS SELECT checked(v) AS v FROM s")
    con.advance(10)
    con.append("s", [(1, 12)], at=11)
    con.advance(12)
    assert con.queries["f"].state == "active"
    with pytest.warns(RuntimeWarning, match="checked has another source"):
        con.create_function("checked", lambda x: x, ["BIGINT"], "BIGINT")
    assert (con.queries["f"].state, con.queries["f"].frontier) == ("failed", 10)


def test_listeners_find_it_answered_and_hear_of_no_tick_of_its_own(
    con: cqlduck.Connection,
) -> None:
    seen: list[tuple[int, bool]] = []
    con.engine.on_tick.append(
        lambda report: seen.append(
            (
                report.until,
                sorted(con.table("a").fetchall()) == sorted(con.table("alone").fetchall()),
            )
        )
    )
    assert sorted(con.table("b").fetchall()) == con.sql("SELECT max(v) FROM alone").fetchall()
    assert seen == []
    steps(con, range(10, 13))
    assert seen == [(10, True), (11, True), (12, True)]


def test_what_history_let_go_of_while_it_was_answered_is_refused() -> None:
    with cqlduck.connect(history="8 seconds") as con:
        con.execute(SCRIPT)
        con.execute(f"CREATE CONTINUOUS QUERY a WITH (read = 'later') AS {SUMS}")
        steps(con, range(1, 41))
        with pytest.raises(cqlduck.DataError, match="the history of a begins at 32"):
            con.changes("a", 5)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("FROM query_table(?)", ["a"]),
        ("FROM query(?)", ["FROM a"]),
        ("FROM query_table(chr(97))", None),
        ("SELECT k, sum(v * _weight)::HUGEINT FROM cql_state.changes_a GROUP BY k", None),
    ],
)
def test_sql_that_does_not_name_it_reads_it(
    con: cqlduck.Connection, text: str, values: list[str] | None
) -> None:
    found = sorted(con.sql(text, values).fetchall())
    assert "a" not in behind(con)
    if "changes" not in text:
        assert found == sorted(con.table("alone").fetchall())


def test_what_is_interrupted_is_promised_still(con: cqlduck.Connection) -> None:
    engine = con.engine
    run = engine.tick.run

    def interrupted(*args: Any) -> Any:
        engine.tick.run = run
        raise duckdb.InterruptException("stopped")

    engine.tick.run = interrupted
    with pytest.raises(cqlduck.DatabaseError):
        con.table("a")
    assert con.queries["a"].frontier == 9
    assert sorted(con.table("a").fetchall()) == sorted(con.table("alone").fetchall())


KILLED = """
import os, sys
import cqlduck
con = cqlduck.connect(sys.argv[1], max_tick=4)
con.execute('''
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE CONTINUOUS QUERY a WITH (read = 'later') AS
        SELECT k, sum(v) AS v FROM s [RANGE 4] GROUP BY k;
    CREATE CONTINUOUS QUERY alone AS SELECT k, sum(v) AS v FROM s [RANGE 4] GROUP BY k;
''')
for t in range(1, 40):
    con.append("s", [(t % 3, t), (t % 2, t)], at=t)
    con.advance(t)
seen = []
con.engine.database.trace = lambda text, values: seen.append(1) or (
    len(seen) > int(sys.argv[2]) and os.kill(os.getpid(), 9))
con.table("a")
"""


@pytest.mark.parametrize("after", [3, 20, 55])
def test_killed_while_it_is_read_it_goes_on(tmp_path: Path, after: int) -> None:
    path = tmp_path / "app.duckdb"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(after)], env=os.environ)
    assert done.returncode == -signal.SIGKILL
    with cqlduck.connect(path, max_tick=4) as con:
        assert con.queries["a"].frontier == 39
        mine, alone = (sorted(con.changes(name).fetchall()) for name in ("a", "alone"))
        assert mine == alone


def test_it_has_a_plan_of_its_own() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        for name, option in (("a", ""), ("b", "WITH (read = 'later')"), ("c", "")):
            con.execute(f"CREATE CONTINUOUS QUERY {name} {option} AS {SUMS}")
        known = {q.name: q.family for q in con.engine.catalogue.queries.values()}
        assert known["b"] is None
        assert known["a"] == known["c"] is not None
        con.execute("ALTER CONTINUOUS QUERY a SET (read = 'later')")
        assert con.engine.query("a").family is None
        steps(con, range(1, 20))
        assert sorted(behind(con)) == ["a", "b"]
        said = con.execute(
            f"EXPLAIN CREATE CONTINUOUS QUERY d WITH (read = 'later') AS {SUMS}"
        ).fetchall()
        assert any("it is answered when it is read" in line for (line,) in said)
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY b AS " + SUMS)
        assert con.queries["b"].read is None
        answers = [sorted(con.table(name).fetchall()) for name in "abc"]
        assert answers[0] == answers[1] == answers[2]


def test_over_what_late_elements_correct_it_is_refused() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER) LATE AMEND")
        with pytest.raises(cqlduck.NotSupportedError, match="a stream with LATE AMEND"):
            con.execute("CREATE CONTINUOUS QUERY a WITH (read = 'later') AS SELECT k FROM s")
        assert not con.queries
        con.execute("CREATE CONTINUOUS QUERY a AS SELECT k FROM s [RANGE 3]")
        with pytest.raises(cqlduck.NotSupportedError, match="a stream with LATE AMEND"):
            con.execute("ALTER CONTINUOUS QUERY a SET (read = 'later')")
        con.execute("CREATE CONTINUOUS QUERY b WITH (read = 'later') AS SELECT max(k) AS m FROM a")
        con.append("s", [(1,), (7,)], at=[1, 2])
        con.advance(3)
        assert con.table("b").fetchall() == [(7,)]
        con.append("s", [(9,)], at=[1])
        con.advance(4)
        assert (behind(con), con.table("b").fetchall()) == (["b"], [(9,)])


def test_another_word_is_refused(con: cqlduck.Connection) -> None:
    with pytest.raises(cqlduck.Error, match="no value of read") as caught:
        con.execute("CREATE CONTINUOUS QUERY c WITH (read = 'latr') AS SELECT k FROM s")
    assert "did you mean later" in str(caught.value)
