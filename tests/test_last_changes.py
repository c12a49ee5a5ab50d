"""What is remembered of the last changes of relations changes no answer.

The other implementation remembers nothing, and looks for changes in the stores.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.state.changed import RelationChanges
from cqlduck.state.connection import quoted

RELATIONS = {
    "r": "CREATE RELATION r (k INTEGER, v INTEGER)",
    "p": "CREATE RELATION p (k INTEGER, v INTEGER, w INTEGER, PRIMARY KEY (k, v))",
}
QUERIES = {
    "passed": "SELECT k, v FROM r WHERE v > 1",
    "joined": "SELECT r.k, r.v, p.w FROM r JOIN p USING (k)",
    "padded": "SELECT r.k, p.w FROM r LEFT JOIN p ON r.k = p.k",
    "missing": "SELECT k FROM p WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL)",
    "counted": "SELECT k, count(*) AS n FROM r GROUP BY k",
    "listed": "SELECT k, list(v ORDER BY v, w) AS l FROM p GROUP BY k",
    "first": "SELECT k, v, w FROM p ORDER BY w DESC LIMIT 2",
    "gone": "Dstream(SELECT k, v FROM r)",
    "windowed": "SELECT s.k, r.v FROM s [RANGE 2] JOIN r USING (k)",
}
CHANGES = ("DELETE FROM r WHERE k = 1", "UPDATE r SET v = v + 1", "DELETE FROM p",
           "UPDATE p SET w = 7 WHERE k = 2")  # fmt: skip

Step = tuple[Any, ...]


class Blind(RelationChanges):
    """Remembers nothing."""

    def is_as_before(self, store: str, low: int) -> bool:
        return False

    def read(self, store: str, low: int) -> str:
        return f"cql_state.{quoted(store)} WHERE (_cql_enter > low OR _cql_leave <= high)"


def test_a_relation_has_no_changes_of_one_that_had_its_name(con: cqlduck.Connection) -> None:
    con.execute(f"{RELATIONS['r']}; CREATE CONTINUOUS QUERY passed AS {QUERIES['passed']}")
    con.append("r", [(7, 7)], at=100)
    con.advance(100)
    con.execute("DROP CONTINUOUS QUERY passed; DROP RELATION r")
    con.execute(f"{RELATIONS['r']}; CREATE CONTINUOUS QUERY passed AS {QUERIES['passed']}")
    for until in (20, 99, 101):
        con.advance(until)
    assert [] == con.changes("passed").fetchall()


def test_a_query_that_is_behind_reads_more_than_the_last_changes(con: cqlduck.Connection) -> None:
    """The other query has the relation closed twice before it goes on."""
    con.execute(f"""
        {RELATIONS["r"]};
        CREATE CONTINUOUS QUERY counted AS {QUERIES["counted"]};
        CREATE CONTINUOUS QUERY passed AS {QUERIES["passed"]};
    """)
    con.append("r", [(1, 2)], at=1)
    con.advance(1)
    con.execute("ALTER CONTINUOUS QUERY passed DEACTIVATE")
    for at in (2, 3):
        con.append("r", [(at, at)], at=at)
        con.advance(at)
    con.execute("ALTER CONTINUOUS QUERY passed ACTIVATE")
    con.append("r", [(4, 4)], at=4)
    con.advance(4)
    assert [(k, max(k, 2), k, 1) for k in range(1, 5)] == sorted(con.changes("passed").fetchall())


def test_a_group_may_have_the_name_of_the_row_ids(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k INTEGER, v INTEGER) PRIMARY KEY (k);
        CREATE CONTINUOUS QUERY distinct_ones AS
            SELECT DISTINCT v % 3 AS "rowid", k % 2 AS b FROM r;
        CREATE CONTINUOUS QUERY counted AS
            SELECT x."RowId" AS v, count(*) AS n
            FROM (SELECT v % 3 AS "RowId" FROM r) x GROUP BY 1;
    """)
    for t in range(1, 7):
        con.append("r", [(10 * t + k, k * t) for k in range(4)], at=t)
        if t > 2:
            con.retract("r", [(10 * (t - 1) + k, k * (t - 1)) for k in range(3)], at=t)
        con.advance(t)
    rows = con.sql("FROM r").fetchall()
    assert sorted({(v % 3, k % 2) for k, v in rows}) == sorted(
        con.table("distinct_ones").fetchall()
    )
    counts = Counter(v % 3 for _, v in rows)
    assert sorted(counts.items()) == sorted(con.table("counted").fetchall())


def test_a_column_may_have_the_name_of_the_row_ids(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (rowid INTEGER, v INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT rowid, v FROM r;
    """)
    con.append("r", [(1, 1), (1, 2), (0, 3)], at=1)
    con.advance(1)
    con.retract("r", [(1, 2)], at=2)
    con.advance(2)
    con.retract("r", [(0, 3)], at=3)
    con.advance(3)
    con.retract("r", [(1, 1)], at=4)
    con.advance(4)
    assert [
        (0, 3, 1, 1),
        (0, 3, 3, -1),
        (1, 1, 1, 1),
        (1, 1, 4, -1),
        (1, 2, 1, 1),
        (1, 2, 2, -1),
    ] == (sorted(con.changes("q").fetchall()))


@st.composite
def steps(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Step]:
    """Draw what is done; instants go on from where time is."""
    values = st.sampled_from([1, 2, 2, 3, None])
    rows = {
        name: st.lists(st.tuples(*[values] * width), min_size=1, max_size=3)
        for name, width in (("r", 2), ("p", 3), ("s", 1))
    }
    soon = st.sampled_from([1, 1, 1, 2, 3])
    changes = [
        st.tuples(st.just("append"), st.just(name), rows[name], soon) for name in ("r", "p", "s")
    ]
    changes += [st.tuples(st.just("retract"), st.just(n), rows[n], soon) for n in RELATIONS]
    named = st.sampled_from(sorted(QUERIES))
    some = st.one_of(
        *changes,
        st.tuples(st.just("advance"), st.integers(0, 3)),
        st.tuples(st.just("advance"), st.integers(1, 3)),
        st.tuples(st.just("execute"), st.sampled_from(CHANGES)),
        st.tuples(st.just("heartbeat"), st.sampled_from(sorted(RELATIONS)), soon),
        st.tuples(st.just("register"), named),
        st.tuples(st.just("stop"), named),
        st.tuples(st.just("go on"), named),
        st.tuples(st.just("anew"), st.sampled_from(sorted(RELATIONS))),
        st.tuples(st.just("reopen")),
    )
    first = [("register", name) for name in draw(st.lists(named, min_size=1, max_size=3))]
    return [*first, *draw(st.lists(some, min_size=5, max_size=30)), ("advance", 4)]


def take(con: cqlduck.Connection, step: Step, now: int) -> None:
    """Take a step; what cannot be done is left out."""
    match step:
        case ("append" | "retract" as call, name, rows, soon):
            getattr(con, call)(name, rows, at=now + soon)
        case ("advance", length):
            con.advance(now + length)
        case ("execute", text):
            con.execute(text)
        case ("heartbeat", name, soon):
            con.heartbeat(name, now + soon)
        case ("register", name):
            con.execute(f"CREATE CONTINUOUS QUERY IF NOT EXISTS {name} AS {QUERIES[name]}")
        case ("stop", name):
            con.execute(f"ALTER CONTINUOUS QUERY {name} DEACTIVATE")
        case ("go on", name):
            con.execute(f"ALTER CONTINUOUS QUERY {name} ACTIVATE")
        case ("anew", name):
            for query in list(con.queries):
                con.execute(f"DROP CONTINUOUS QUERY {query}")
            con.execute(f"DROP RELATION {name}; {RELATIONS[name]}")


def played(done: list[Step], path: str, *, is_blind: bool) -> list[Any]:
    """Take steps; return what was refused, and all changes after each advance."""
    found: list[Any] = []
    now, con = -1, cqlduck.connect(path, threads=1)
    con.execute(f"CREATE STREAM s (k INTEGER); {'; '.join(RELATIONS.values())}")
    for step in done:
        if step == ("reopen",) and not is_blind:
            con.close()
            con = cqlduck.connect(path, threads=1)
        if is_blind:
            con.engine.last_changes.__class__ = Blind
        try:
            take(con, step, now)
        except cqlduck.Error as error:
            found.append(str(error))
        if step[0] == "advance":
            now += step[1]
            found.append({q: sorted(con.changes(q).fetchall(), key=repr) for q in con.queries})
    with con:
        wrong = [row for row in con.check().fetchall() if row[5] == "wrong"]
    return [*found, wrong]


def check(count: int) -> None:
    @given(done=steps())
    @settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def run(done: list[Step]) -> None:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = played(done, str(Path(folder) / "some.duckdb"), is_blind=False)
        assert ours == played(done, ":memory:", is_blind=True)
        assert [] == ours[-1]

    run()


def test_random_changes() -> None:
    check(fewer_if_brief(10))
