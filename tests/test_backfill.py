"""Backfill: a query that is behind the others comes up in ticks of its own, and says the same."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from counts import fewer_rounds_if_brief, is_brief
from rich.console import Console
from test_ahead import numbers, write
from test_deferred import QUERIES, SCRIPT
from test_families import rows_of
from twins import Twins

import cqlduck
from cqlduck.display import Display

SUMS = "SELECT k, sum(v) AS v FROM s [RANGE 4] GROUP BY k"
ALL = "SELECT a.k FROM s a, s b WHERE a.k = b.k AND a.v = b.v"
"""All of s is kept for it."""

DRAWN = (0, 1, 2)
"""Seeds with which some query is behind for longer than a tick."""


def steps(con: cqlduck.Connection, instants: range) -> None:
    """Run ticks over a stream and a relation."""
    for t in instants:
        con.append("s", [(t % 3, t % 5), (t % 2, t)], at=t)
        con.append("r", [(t % 3, t)], at=t)
        con.advance(t)


def made(path: Path | str = ":memory:", size: int = 4, **settings: Any) -> cqlduck.Connection:
    """Return a connection whose slices are small."""
    con = cqlduck.connect(path, sharing=False, **settings)
    con.engine.backfill.bounds.max_tick = size
    return con


@pytest.fixture
def con() -> Any:
    """Return a connection with a live query, and a stream of which all is kept."""
    with made() as con:
        con.execute(SCRIPT)
        con.execute(f"CREATE CONTINUOUS QUERY live AS {SUMS}")
        con.execute(f"CREATE CONTINUOUS QUERY holds AS {ALL}")
        steps(con, range(1, 20))
        yield con


class Two(Twins):
    """Two databases that are told the same; in the second one all queries run in common ticks."""

    def __init__(self, folder: Path, rnd: random.Random, settings: dict[str, Any]) -> None:
        """Open both."""
        super().__init__(folder, rnd, settings)
        self.size = rnd.choice([1, 3, 10])
        self.open()

    def opened(self, number: int, path: Path | str) -> cqlduck.Connection:
        """Return a connection to one of them."""
        con = made(path, self.size, **self.settings)

        def begin(query: Any) -> None:
            query.backfill_to = None

        if number:
            con.engine.backfill.begin = begin  # type: ignore[method-assign]
        return con

    def execute(self, text: str) -> None:
        """Run a statement in both."""
        self.each(lambda con: con.execute(text) and None, text)

    def compare(self) -> None:
        """Compare all that both say of all queries."""
        for name in self.both[1].queries:
            self.each(lambda con, name=name: con.changes(name))
            self.each(lambda con, name=name: con.sql(f"FROM {name}"))
            mine, other = (con.queries[name] for con in self.both)
            for what in ("state", "began", "frontier", "columns", "error", "complete_from"):
                assert getattr(mine, what) == getattr(other, what), (name, what)
        self.each(lambda con: con.sql("FROM cql.late"))


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(n, marks=pytest.mark.long) for n in range(8, 400))]
)
def test_no_element_depends_on_it(seed: int, tmp_path: Path) -> None:
    """Random registrations, pauses, slices and reopenings between random ticks."""
    rnd = random.Random(seed)
    settings: dict[str, Any] = {}
    if rnd.random() < 0.3:
        settings["window_edge"] = "half_open"
    if rnd.random() < 0.3:
        settings["max_tick"] = rnd.choice([1, 5])
    two = Two(tmp_path, rnd, settings)
    two.execute(SCRIPT)
    # it stands still, so that all is kept: how much is depends on who is behind
    two.execute("CREATE CONTINUOUS QUERY holds AS SELECT s.k FROM s, u, r, p")
    two.execute("ALTER CONTINUOUS QUERY holds DEACTIVATE")
    two.execute(f"CREATE CONTINUOUS QUERY live AS {SUMS}")
    instant, apart = 0, 0
    for number in range(fewer_rounds_if_brief(rnd.choice([6, 12, 24]))):
        names = list(two.both[1].queries)[1:]
        draw = rnd.random()
        if draw < 0.5:
            how = rnd.choice(["history = true", "history = kept", "history = '3 seconds'"])
            text = rnd.choice(QUERIES)
            if rnd.random() < 0.3:
                text = f"SELECT * FROM {rnd.choice(names)}"
            given = rnd.choice([f"WITH ({how})", f"WITH ({how})", ""])
            two.execute(f"CREATE CONTINUOUS QUERY q{number} {given} AS {text}")
        elif draw < 0.75:
            verb = rnd.choice(["DEACTIVATE", "ACTIVATE", "ACTIVATE"])
            # it stands still where it is then
            two.each(lambda con: con.advance())
            two.execute(f"ALTER CONTINUOUS QUERY {rnd.choice(names)} {verb}")
        for _ in range(rnd.randrange(4)):
            instant += rnd.choice([0, 1, 1, 2])
            for name in ("s", "u", "r", "p"):
                rows = rows_of(rnd, "u" if name == "u" else "s")
                at = rnd.choice([instant + 1, instant + 1, instant + 2])
                # how far a tick brings who reads a relation is its heartbeat
                at += 2 * (name in ("r", "p"))
                if name == "p":
                    rows = [row for row in rows if row[0] is not None]
                if rows and name in ("r", "p") and rnd.random() < 0.3:
                    two.each(lambda con, n=name, rows=rows, at=at: con.retract(n, rows, at=at))
                elif rows:
                    two.each(lambda con, n=name, rows=rows, at=at: con.append(n, rows, at=at))
            for name in ("s", "u", "r", "p"):
                two.each(lambda con, n=name, at=instant: con.heartbeat(n, at))
            if rnd.random() < 0.3:
                two.each(lambda con: con.advance())
            else:
                two.both[1].advance()
                two.both[0].follow(slices=rnd.choice([0, 1, 1, 2]))
                apart += two.both[0].engine.has_backfill()
            if rnd.random() < 0.2:
                two.open()
    two.each(lambda con: con.advance())
    two.compare()
    assert not two.both[0].engine.backfill.behind
    assert not [row for row in two.both[0].check().fetchall() if row[5] == "wrong"]
    assert apart or seed not in DRAWN or is_brief()
    for con in two.both:
        con.close()


def test_the_others_go_first(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT count(*) AS n FROM a")
    went: list[tuple[int, int | None]] = []
    known = con.engine.catalogue.queries
    con.engine.on_tick.append(
        lambda report: went.append((known["live"].frontier, known["a"].frontier))
    )
    steps(con, range(20, 21))
    assert went[0] == (20, None)
    assert went[1:] == [(20, t) for t in (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)]
    assert sorted(con.changes("a").fetchall()) == sorted(con.changes("live").fetchall())
    assert con.table("above").fetchall() == con.sql("SELECT count(*) FROM a").fetchall()
    assert con.advance() == 20


def test_what_is_activated_comes_up_between_ticks(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY a AS {SUMS}")
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT max(v) AS v FROM a")
    con.execute("ALTER CONTINUOUS QUERY a DEACTIVATE")
    steps(con, range(20, 30))
    con.execute("ALTER CONTINUOUS QUERY a ACTIVATE")
    assert con.engine.backfill.behind == {"a", "above"}
    con.append("s", [(1, 1)], at=30)
    for name in ("s", "r"):
        con.heartbeat(name, 30)
    con.follow(slices=1)
    frontiers = [con.queries[name].frontier for name in ("live", "a", "above")]
    assert frontiers == [30, 21, 21]
    assert con.sql("SELECT name, backfilled FROM cql.queries WHERE backfilled > 0").fetchall() == [
        ("a", pytest.approx(2 / 10))
    ]
    con.advance()
    assert sorted(con.table("a").fetchall()) == sorted(con.table("live").fetchall())


def test_a_batch_that_comes_meanwhile_is_taken_between_two_slices(tmp_path: Path) -> None:
    write(tmp_path, 0, numbers([1, 2, 3], 0))
    with made(drop_zone=tmp_path, size=1) as con:
        con.execute("CREATE STREAM s (a BIGINT) FROM 's'")
        con.execute("CREATE CONTINUOUS QUERY live AS SELECT count(*) AS n FROM s")
        con.execute("CREATE CONTINUOUS QUERY holds AS SELECT x.a FROM s x, s y WHERE x.a = y.a")
        for number in range(1, 6):
            write(tmp_path, number, numbers([number], number))
        assert con.follow() == 6
        con.execute("CREATE CONTINUOUS QUERY a WITH (history = true) AS SELECT a FROM s [RANGE 2]")
        went = []

        def meanwhile(report: object) -> None:
            known = con.engine.catalogue.queries
            went.append((known["live"].frontier, known["a"].frontier))
            if len(went) == 3:
                write(tmp_path, 6, numbers([6], 6))

        con.engine.on_tick.append(meanwhile)
        assert con.follow() == 1
        assert went == [(4, -1), (4, 0), (4, 1), (5, 1)] + [(5, t) for t in (2, 3, 4, 5)]


def test_another_thread_gets_in_between_two_slices(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
    run, begun = con.engine.tick.run, threading.Event()

    def slowly(*args: Any) -> Any:
        begun.set()
        time.sleep(0.05)
        return run(*args)

    con.engine.tick.run = slowly  # type: ignore[method-assign]
    con.start("1 second")
    assert begun.wait(20)
    con.append("s", [(1, 1)], at=20)
    assert con.engine.backfill.behind == {"a"}
    con.stop()
    # it waited for the slice that ran, and for no more
    assert con.engine.backfill.behind == {"a"}
    con.engine.tick.run = run  # type: ignore[method-assign]
    con.advance(20)
    assert sorted(con.table("a").fetchall()) == sorted(con.table("live").fetchall())


def test_explain_says_how_far_it_is(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
    assert "-- behind: nothing of its way to 19 is done; it goes on between" in con.explain("a")
    known = "SELECT backfilled FROM cql.queries WHERE name = 'a'"
    assert con.queries["a"].backfilled == 0 == con.sql(known).fetchall()[0][0]
    con.follow(slices=1)
    con.engine.go_on(1)
    said = next(line for line in con.explain("a").splitlines() if line.startswith("-- behind"))
    assert "21% of its way to 19 is done, some " in said
    assert con.queries["a"].backfilled == pytest.approx(4 / 19)
    assert con.sql(known).fetchall()[0][0] == pytest.approx(4 / 19)
    con.advance()
    assert "behind" not in con.explain("a")
    assert con.queries["a"].backfilled is None


def test_the_display_of_a_run_shows_it_beside_the_time_of_the_others(
    con: cqlduck.Connection,
) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
    con.engine.go_on(2)
    out = Console(file=io.StringIO(), width=500)
    with Display(con, out):
        pass
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert "event time 19, " in said
    assert "a backfilled 21%" in said


def test_nobody_is_held_where_nobody_else_runs() -> None:
    with made() as con:
        con.execute(SCRIPT)
        con.append("s", [(t % 3, t) for t in range(50)], at=list(range(50)))
        con.advance(50)
        con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
        assert con.engine.backfill.behind == frozenset()
        con.advance(51)
        assert con.sql("SELECT count(*) FROM cql.ticks").fetchall() == [(1,)]
        assert con.engine.query("a").backfill_to is None


def test_a_query_that_fails_on_the_way_holds_nobody_back(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE CONTINUOUS QUERY a WITH (history = true) AS SELECT 1 // (v - 12) AS x FROM s"
    )
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT count(*) AS n FROM a")
    with pytest.warns(RuntimeWarning, match="a failed"):
        steps(con, range(20, 22))
    assert (con.queries["a"].state, con.queries["a"].frontier) == ("failed", 11)
    assert con.queries["live"].frontier == 21
    assert not con.engine.has_backfill()


# -- how far back, and from when on complete -------------------------------------------------------


def test_it_begins_with_what_is_kept() -> None:
    with made() as con:
        con.execute(SCRIPT)
        con.execute("CREATE CONTINUOUS QUERY live AS SELECT k, v FROM s [RANGE 6]")
        steps(con, range(1, 40))
        with pytest.raises(cqlduck.BindError, match="s has been forgotten up to ") as caught:
            con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
        assert "WITH (history = 'kept')" in str(caught.value)
        con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = 'kept') AS {SUMS}")
        con.execute(f"CREATE CONTINUOUS QUERY late AS {SUMS}")
        con.execute("CREATE CONTINUOUS QUERY total AS SELECT count(*) AS n FROM s")
        con.execute("CREATE CONTINUOUS QUERY linear AS SELECT k FROM s WHERE v > 2")
        con.execute("CREATE CONTINUOUS QUERY rows AS SELECT k FROM s [ROWS 3]")
        forgotten = con.engine.input("s").forgotten
        assert forgotten is not None
        assert forgotten < 39 - 6
        known = {name: query.complete_from for name, query in con.queries.items()}
        assert known == {
            "live": None,
            "a": forgotten + 5,
            "late": 44,
            "total": "never",
            "linear": None,
            "rows": "with its rows",
        }
        steps(con, range(40, 45))
        assert con.queries["a"].began == forgotten + 1
        found = con.sql(
            "SELECT name, complete_from FROM cql.queries WHERE complete_from IS NOT NULL"
        )
        assert found.fetchall() == [
            ("a", str(forgotten + 5)),
            ("late", "44"),
            ("total", "never"),
            ("rows", "with its rows"),
        ]
        assert "-- complete: from 44 on; before that it lacks what came up to 39" in con.explain(
            "late"
        )
        assert "-- complete: never; it lacks for good what came up to 39" in con.explain("total")
        assert "-- complete" not in con.explain("linear")
        assert "-- complete: once its windows have as many rows as they hold" in con.explain("rows")


def test_who_reads_one_that_begins_anew_is_complete_when_that_is(con: cqlduck.Connection) -> None:
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT max(v) AS v FROM live")
    steps(con, range(20, 30))
    assert con.queries["above"].complete_from is None
    con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY live AS {SUMS.replace('4', '7')}")
    assert con.queries["live"].complete_from == 37
    assert con.queries["above"].complete_from == 37
    assert "-- complete: from 37 on; " in con.explain("above")


def test_a_family_that_is_activated_comes_up_between_ticks() -> None:
    text = "SELECT k, count(*) AS n FROM s [RANGE 5] WHERE v > {} GROUP BY k"
    with cqlduck.connect() as con:
        con.engine.backfill.bounds.max_tick = 4
        con.execute(SCRIPT)
        con.execute(f"CREATE CONTINUOUS QUERY alone WITH (sharing = false) AS {text.format(2)}")
        for name, constant in (("a", 1), ("b", 2), ("c", 0)):
            con.execute(f"CREATE CONTINUOUS QUERY {name} AS {text.format(constant)}")
        family = con.engine.query("b").family
        assert family is not None
        known = con.engine.catalogue
        members = [one.name for one in known.members_of(known.planned(family))]
        steps(con, range(1, 6))
        for name in members:
            con.execute(f"ALTER CONTINUOUS QUERY {name} DEACTIVATE")
        steps(con, range(6, 20))
        con.execute("ALTER CONTINUOUS QUERY b ACTIVATE")
        assert con.engine.backfill.behind == {family}
        con.follow(slices=1)
        assert con.queries["b"].backfilled == pytest.approx(2 / 14)
        found = con.sql("SELECT backfilled FROM cql.queries WHERE name = 'b'").fetchall()
        assert found == [(pytest.approx(2 / 14),)]
        steps(con, range(20, 24))
        assert sorted(con.table("b").fetchall()) == sorted(con.table("alone").fetchall())
        assert sorted(con.changes("b").fetchall()) == sorted(con.changes("alone").fetchall())


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.long) for n in range(4, 200))]
)
def test_from_then_on_it_says_what_it_would_if_it_had_been_there_for_ever(seed: int) -> None:
    rnd = random.Random(seed)
    texts = rnd.sample([text for text in QUERIES if "//" not in text], 6)
    with made(window_edge=rnd.choice(["closed", "half_open"])) as con:
        con.execute(SCRIPT)
        for number, text in enumerate(texts):
            con.execute(f"CREATE CONTINUOUS QUERY old{number} AS {text}")
        con.execute("CREATE CONTINUOUS QUERY under AS SELECT k, v FROM s [RANGE 5]")
        con.execute("CREATE CONTINUOUS QUERY above AS SELECT k, max(v) AS v FROM under GROUP BY k")
        begun, last = rnd.randrange(2, 14), 30
        for instant in range(1, last):
            for name in ("s", "u", "r", "p"):
                rows = rows_of(rnd, "u" if name == "u" else "s")
                rows = [row for row in rows if name != "p" or row[0] is not None]
                if rows:
                    con.append(name, rows, at=instant)
            con.advance(instant)
            if instant == begun:
                how = rnd.choice(["", "WITH (history = 'kept')"])
                for number, text in enumerate(texts):
                    con.execute(f"CREATE CONTINUOUS QUERY new{number} {how} AS {text}")
                con.execute(
                    f"CREATE CONTINUOUS QUERY newunder {how} AS SELECT k, v FROM s [RANGE 5]"
                )
                con.execute(
                    "CREATE CONTINUOUS QUERY newabove AS "
                    "SELECT k, max(v) AS v FROM newunder GROUP BY k"
                )
        compared = 0
        for name in [f"{number}" for number in range(len(texts))]:
            compared += _compare(con, f"old{name}", f"new{name}")
        compared += _compare(con, "under", "newunder") + _compare(con, "above", "newabove")
        assert compared >= 2


def _compare(con: cqlduck.Connection, old: str, new: str) -> int:
    """Compare two queries from where one is complete; return whether it is."""
    known = con.queries[new]
    if isinstance(known.complete_from, str):
        return 0
    first = known.complete_from if known.complete_from is not None else known.began
    assert first is not None
    if known.kind == "stream":
        assert sorted(con.changes(old, first - 1).fetchall(), key=repr) == sorted(
            con.changes(new, first - 1).fetchall(), key=repr
        )
    else:
        for instant in range(int(first), 30):
            assert sorted(con.as_of(old, instant).fetchall(), key=repr) == sorted(
                con.as_of(new, instant).fetchall(), key=repr
            ), instant
    return 1


def test_explain_create_says_how_much_history_there_is(con: cqlduck.Connection) -> None:
    def said(options: str) -> list[str]:
        rows = con.execute(
            f"EXPLAIN CREATE CONTINUOUS QUERY a WITH ({options}) AS {SUMS}"
        ).fetchall()
        return [line for (line,) in rows if "elements of history" in line]

    assert con.engine.backfill.behind == frozenset()
    (line,) = said("history = true")
    assert line.startswith(
        "--   before, between the ticks of others: 38 elements of history, at most"
    )
    (line,) = said("history = '5 seconds'")
    assert ": 10 elements of history, " in line
    assert said("history = false") == []
    assert list(con.queries) == ["live", "holds"]


KILLED = """
import os, sys
import cqlduck
con = cqlduck.connect(sys.argv[1], sharing=False)
con.engine.backfill.bounds.max_tick = 4
con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
con.execute("CREATE CONTINUOUS QUERY holds AS SELECT a.k FROM s a, s b WHERE a.k = b.k")
con.execute("CREATE CONTINUOUS QUERY live AS SELECT k, sum(v) AS v FROM s [RANGE 4] GROUP BY k")
con.append("s", [(t % 3, t) for t in range(40)], at=list(range(40)))
con.advance(40)
con.execute('''CREATE CONTINUOUS QUERY a WITH (history = true) AS
    SELECT k, sum(v) AS v FROM s [RANGE 4] GROUP BY k''')
seen = []
def told(report):
    seen.append(report)
    if len(seen) == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
con.engine.on_tick.append(told)
con.append("s", [(1, 1)], at=41)
con.advance(41)
"""


@pytest.mark.parametrize("after", [1, 2, 5])
def test_a_kill_in_the_middle_loses_nothing(after: int, tmp_path: Path) -> None:
    path = tmp_path / "app.duckdb"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(after)], check=False)
    assert done.returncode == -signal.SIGKILL
    with made(path) as con:
        assert con.engine.backfill.behind == {"a"}
        con.advance(41)
        assert con.engine.backfill.behind == frozenset()
        assert sorted(con.changes("a").fetchall()) == sorted(con.changes("live").fetchall())
        assert con.sql("SELECT count(*) FROM cql_state.stream_s").fetchall() == [(41,)]
        assert not [row for row in con.check().fetchall() if row[5] == "wrong"]


# -- what was found by attacking it ----------------------------------------------------------------


def test_what_one_below_is_still_to_say_is_lacked() -> None:
    with made() as con:
        con.execute("CREATE STREAM s (v INTEGER); CREATE CONTINUOUS QUERY q AS SELECT v FROM s")
        for t in range(1, 11):
            con.append("s", [(t,)], at=t)
        con.heartbeat("s", 10)
        con.execute("CREATE CONTINUOUS QUERY total AS SELECT count(*) AS n FROM q")
        con.execute("CREATE CONTINUOUS QUERY some AS SELECT v FROM q [RANGE 4]")
        assert con.queries["total"].complete_from == "never"
        assert con.queries["some"].complete_from == 15


def test_the_changes_of_a_relation_begin_with_all_of_it() -> None:
    with made() as con:
        con.execute("CREATE STREAM s (v INTEGER); CREATE RELATION r (k INTEGER)")
        con.append("r", [(1,)], at=3)
        con.heartbeat("r", 9)
        con.advance(9)
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT Istream(k) FROM r")
        con.append("r", [(2,)], at=10)
        con.heartbeat("r", 10)
        con.advance(10)
        assert con.changes("q").fetchall() == [(1, 10, 1), (2, 10, 1)]
        assert con.queries["q"].complete_from == 11


def test_what_may_be_amended_lacks_what_comes_late() -> None:
    with made() as con:
        con.execute("CREATE STREAM s (v INTEGER) LATE AMEND")
        con.heartbeat("s", 10)
        con.advance(10)
        con.execute("CREATE CONTINUOUS QUERY some AS SELECT v FROM s [RANGE 6]")
        con.execute("CREATE CONTINUOUS QUERY total AS SELECT count(*) AS n FROM s")
        found = [con.queries[name].complete_from for name in ("some", "total")]
        assert found == [17, "never"]


def test_what_is_replaced_while_it_is_behind_would_leave_a_gap(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT max(v) AS v FROM a")
    con.follow(slices=1)
    assert "-- behind: it waits for a, which it reads" in con.explain("above")
    anew = f"CREATE OR REPLACE CONTINUOUS QUERY a AS {SUMS.replace('4', '5')}"
    with pytest.raises(cqlduck.CatalogError, match="it is behind the others, at ") as caught:
        con.execute(anew)
    assert "advance() until it is level" in str(caught.value)
    con.advance(20)
    con.execute(anew)


def test_who_is_dropped_is_behind_no_more(con: cqlduck.Connection) -> None:
    for name in ("a", "b"):
        con.execute(f"CREATE CONTINUOUS QUERY {name} WITH (history = true) AS {SUMS}")
        con.follow(slices=1)
    con.execute("DROP CONTINUOUS QUERY a; DROP CONTINUOUS QUERY b")
    assert con.engine.backfill.behind == frozenset()
    con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
    assert "s of ticks to go" not in con.explain("a")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("ALTER CONTINUOUS QUERY a DEACTIVATE", "is done; it stands still"),
        ("DROP CONTINUOUS QUERY live; DROP CONTINUOUS QUERY holds", "there is no other query"),
        ("ALTER CONTINUOUS QUERY a SET (read = 'later')", None),
    ],
)
def test_explain_claims_no_progress_that_does_not_happen(
    con: cqlduck.Connection, told: str, why: str | None
) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY a WITH (history = true) AS {SUMS}")
    con.follow(slices=1)
    con.execute(told)
    said = [line for line in con.explain("a").splitlines() if line.startswith("-- behind")]
    assert [why in line for line in said if why] == [True] * (why is not None)
    if why is None:
        assert said == []
        con.advance(22)
        assert sorted(con.table("a").fetchall()) == sorted(con.table("live").fetchall())


def test_a_batch_that_cannot_be_read_holds_no_slice_back(tmp_path: Path) -> None:
    write(tmp_path, 0, numbers([1, 2, 3], 0))
    with made(drop_zone=tmp_path, size=1) as con:
        con.execute("CREATE STREAM s (a BIGINT) FROM 's'")
        con.execute("CREATE CONTINUOUS QUERY live AS SELECT count(*) AS n FROM s")
        con.execute("CREATE CONTINUOUS QUERY holds AS SELECT x.a FROM s x, s y WHERE x.a = y.a")
        for number in range(1, 9):
            write(tmp_path, number, numbers([number], number))
        con.follow()
        write(tmp_path, 9, numbers([9], 9))
        for path in (tmp_path / "s").glob("batch=*9/*.parquet"):
            path.write_bytes(b"none")
        con.execute("CREATE CONTINUOUS QUERY a WITH (history = true) AS SELECT a FROM s [RANGE 2]")
        errors: list[Exception] = []
        con.start("1 hour", on_error=errors.append)
        con._scheduler._run()
        con.stop()
        assert not con.engine.has_backfill()
        assert con.queries["a"].frontier == con.queries["live"].frontier
        assert [type(error) for error in errors] == [cqlduck.DropZoneError]
