"""What bounds what a query keeps: the verdict, beside what is seen to grow."""

import pytest

import cqlduck
from cqlduck import selects
from cqlduck.rewrite.statements.memory import Growth, memory_of
from cqlduck.state import retention

INPUTS = """
    CREATE STREAM s (k INTEGER, v BIGINT, x DOUBLE);
    CREATE STREAM u (k INTEGER, w BIGINT);
    CREATE RELATION r (k INTEGER, name VARCHAR);
"""
OTHERS = """
    CREATE STREAM late (k INTEGER) LATE AMEND;
    CREATE CONTINUOUS QUERY z WITH (keep = '9') AS SELECT k, v FROM s;
"""

QUERIES = {
    "a filter": "SELECT k, v FROM s WHERE v > 3",
    "a window": "SELECT * FROM s [RANGE 20]",
    "a window, grouped": "SELECT k, sum(x) AS x FROM s [RANGE 20] GROUP BY k",
    "a stream, grouped": "SELECT k, count(*) AS n FROM s GROUP BY k",
    "a stream, grouped by what goes on": "SELECT v, count(*) AS n, sum(x) AS x FROM s GROUP BY v",
    "a stream, counted": "SELECT count(*) AS n FROM s",
    "a median": "SELECT median(v) AS m FROM s",
    "a median over a window": "SELECT k, median(v) AS m FROM s [RANGE 20] GROUP BY k",
    "rows": "SELECT * FROM s [ROWS 7]",
    "rows by partition": "SELECT * FROM s [PARTITION BY v ROWS 2]",
    "rows by partition and range": "SELECT * FROM s [PARTITION BY v ROWS 2 RANGE 20]",
    "tumbling": "SELECT k, max(v) AS m FROM s [TUMBLE 10] GROUP BY k",
    "distinct": "SELECT DISTINCT v FROM s",
    "distinct in a window": "SELECT DISTINCT v FROM s [RANGE 20]",
    "a join of streams": "SELECT s.v, u.w FROM s, u WHERE s.v = u.w",
    "a join of windows": "SELECT s.v, u.w FROM s [RANGE 20], u [RANGE 9] WHERE s.v = u.w",
    "a join with now": "SELECT s.v, u.w FROM s [NOW], u WHERE s.v = u.w",
    "a join with a relation": "SELECT s.v, r.name FROM s [RANGE 20], r WHERE s.k = r.k",
    "in": "SELECT v FROM s [RANGE 20] WHERE k IN (SELECT k FROM r)",
    "in a stream": "SELECT v FROM s [NOW] WHERE v IN (SELECT w FROM u)",
    "an outer join": "SELECT s.v, u.w FROM s [RANGE 20] LEFT JOIN u [RANGE 9] ON s.k = u.k",
    "except": "SELECT v FROM s EXCEPT SELECT w FROM u",
    "except a relation": "SELECT v FROM s EXCEPT SELECT k FROM r",
    "except in windows": "SELECT v FROM s [RANGE 20] EXCEPT ALL SELECT w FROM u [RANGE 20]",
    "a stream in a window": (
        "SELECT count(*) AS n FROM (SELECT Istream(v) FROM s [RANGE 5]) [RANGE 20]"
    ),
    "a stream that is joined": (
        "SELECT z.v, u.w FROM (SELECT Istream(v) FROM s [ROWS 3]) z, u [NOW] WHERE z.v = u.w"
    ),
    "a limit": "SELECT v FROM s [RANGE 20] ORDER BY v LIMIT 3",
    "a limit over all": "SELECT v FROM s ORDER BY v LIMIT 3",
    "the last minutes": "SELECT k, v FROM s WHERE v > current_timestamp - 20",
    "union": "SELECT v FROM s [RANGE 20] UNION SELECT w FROM u [ROWS 3]",
    "a relation, grouped": "SELECT name, count(*) AS n FROM r GROUP BY name",
    "a stream beside a relation": "SELECT k FROM s UNION ALL SELECT k FROM r",
    "a window beside a relation": "SELECT k FROM s [RANGE 20] UNION ALL SELECT k FROM r",
    "grouped by a constant": "SELECT 7 AS c, count(*) AS n FROM s GROUP BY c",
    "grouped by a constant beside a column": "SELECT 7 AS c, v, count(*) AS n FROM s GROUP BY ALL",
    "grouped by a relation's column": (
        "SELECT name, count(*) AS n FROM s, r WHERE s.k = r.k GROUP BY name"
    ),
    "grouped by what equals a relation's column": (
        "SELECT x.v, upper(r.name) AS u, count(*) AS n FROM s x, u, r "
        "WHERE x.v = u.w AND u.w = r.k GROUP BY ALL"
    ),
    "grouped by a condition": (
        "SELECT v > 3 AS large, k IS NULL AS b, sum(v) AS v FROM s GROUP BY ALL"
    ),
    "grouped by a condition beside a column": (
        "SELECT v > 3 AS large, v, count(*) AS n FROM s GROUP BY ALL"
    ),
    "distinct constants": "SELECT DISTINCT 7 AS c, NULL AS d FROM s",
    "not in": "SELECT k FROM s [RANGE 5] WHERE k NOT IN (SELECT w FROM u)",
    "a query's stream, joined": "SELECT z.v, u.w FROM z, u [RANGE 5] WHERE z.v = u.w",
    "a query's stream in a window": "SELECT z.v, u.w FROM z [RANGE 9], u [NOW] WHERE z.v = u.w",
    "late and amended": "SELECT k, count(*) AS n FROM late [RANGE 20] GROUP BY k",
    "late and amended, beside a query": "SELECT late.k, z.v FROM late [NOW], z [RANGE 9]",
}


def sizes(con, name):
    """Return how many rows each thing has that a query keeps, by what it is."""
    con.engine.reading(everything=True)
    base = con.engine.database
    return {
        one.what: int(base.value(f'SELECT count(*) FROM cql_state."{one.table}"'))
        for one in kept(con, name)
    }


def kept(con, name):
    return selects.stored(con.engine, name, con.engine.compiled[name])


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_bounded_does_not_grow_and_all_else_does(name, monkeypatch):
    monkeypatch.setattr(retention, "LOG", 10)
    with cqlduck.connect() as con:
        con.execute(INPUTS + OTHERS)
        con.heartbeat("s", -1)
        con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES[name]}")
        con.engine.housekeeping.trace_room = 1
        con.append("r", [(k, "ab"[k % 2]) for k in range(3)])
        seen = []
        for t in range(0, 160, 5):
            at = range(t, t + 5)
            con.append("s", [(i % 3, i, float("inf") if i % 2 else 1.0) for i in at], at=at)
            con.append("u", [(i % 3, i) for i in at], at=at)
            con.append("late", [(i % 3,) for i in at], at=at)
            # a relation that changes, and stays as large as it is
            con.retract("r", [(t % 3, "ab"[t % 3 % 2])], at=t)
            con.append("r", [(t % 3, "ab"[t % 3 % 2])], at=t)
            con.advance(t + 4)
            if t in (75, 155):
                seen.append(sizes(con, "q"))
        before, after = seen
        for one in kept(con, "q"):
            if one.bound.growth <= Growth.RELATION:
                assert after[one.what] <= 1.2 * before[one.what] + 30, str(one)
            elif one.bound.growth is Growth.EVER:
                assert after[one.what] >= 1.8 * before[one.what], str(one)
            elif "s.k" not in str(one):
                # with each new v, and each infinity
                assert after[one.what] >= 1.8 * before[one.what], str(one)


VERDICTS = [
    ("a filter", ["the store of s is bounded by the last instant of s"]),
    (
        "a stream, grouped",
        [
            "the store of s is bounded by the last instant of s",
            "groups of operator 1 grows with each new s.k; it would be bounded by a window: "
            "s [RANGE 1 HOUR]",
        ],
    ),
    (
        "rows by partition",
        [
            "the store of s is bounded by the last instant of s",
            "rows of operator 1 grows with each new v of s; it would be bounded by RANGE beside "
            "ROWS",
        ],
    ),
    (
        "a join with now",
        [
            "the store of s is bounded by the last 2 instants of s",
            "the store of u grows for ever, with each element of u; it would be bounded by a "
            "window: u [RANGE 1 HOUR]",
        ],
    ),
    (
        "a stream beside a relation",
        [
            "the store of s is bounded by the last instant of s",
            "the answer grows for ever, with each element of s; it would be bounded by a window: "
            "s [RANGE 1 HOUR]",
        ],
    ),
    (
        "grouped by a constant",
        [
            "the store of s is bounded by the last instant of s",
            "groups of operator 1 is bounded: one row",
        ],
    ),
    (
        "grouped by what equals a relation's column",
        [
            "the store of s grows for ever, with each element of s; it would be bounded by a "
            "window: s [RANGE 1 HOUR]",
            "the store of u grows for ever, with each element of u; it would be bounded by a "
            "window: u [RANGE 1 HOUR]",
            "groups of operator 1 is bounded by the relation r",
        ],
    ),
    (
        "grouped by a condition",
        [
            "the store of s is bounded by the last instant of s",
            "groups of operator 1 is bounded: the values of BOOLEAN",
        ],
    ),
    (
        "grouped by a condition beside a column",
        [
            "the store of s is bounded by the last instant of s",
            "groups of operator 1 grows with each new s.v; it would be bounded by a window: "
            "s [RANGE 1 HOUR]",
        ],
    ),
    (
        "a query's stream, joined",
        [
            "the log of z grows for ever, with each element of z; it would be bounded by a window: "
            "z [RANGE 1 HOUR]",
            "the store of u is bounded by the last 7 instants of u",
        ],
    ),
    (
        "in",
        [
            "the store of s is bounded by the last 22 instants of s",
            "groups of operator 4 is bounded by the relation r",
        ],
    ),
]


@pytest.fixture
def con():
    with cqlduck.connect() as con:
        con.execute(INPUTS)
        yield con


@pytest.mark.parametrize(("name", "verdicts"), VERDICTS, ids=[name for name, _ in VERDICTS])
def test_the_verdict_in_words(con, name, verdicts):
    con.execute(OTHERS)
    compiled = con.engine.compile("q", QUERIES[name])
    assert list(map(str, memory_of(compiled))) == verdicts


def lines(con, text):
    return [line for (line,) in con.execute(text).fetchall()]


def test_explain_create_does_nothing_and_says_what_it_would_do(con):
    text = "CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k"
    said = lines(con, f"EXPLAIN {text}")
    assert "0 project: " in said[0]
    assert any(line.startswith("--   made: groups of operator") for line in said)
    assert "--   groups of operator 1 is bounded by s [RANGE 5]" in said
    assert not con.queries
    con.execute(text)
    assert "--   q says the same, and goes on" in lines(
        con, "EXPLAIN CREATE OR REPLACE" + text.removeprefix("CREATE")
    )
    said = lines(con, "EXPLAIN CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT k FROM s")
    assert any(line.startswith("--   dropped: groups of operator") for line in said)
    assert "--   q is there already, and stays as it is" in lines(
        con, "EXPLAIN CREATE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT k FROM s"
    )
    assert con.queries["q"].text.startswith("SELECT k, count(*)")


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("EXPLAIN CREATE CONTINUOUS QUERY s AS SELECT 1 FROM u", "s is there already", 33),
        ("EXPLAIN CREATE CONTINUOUS QUERY z AS SELECT no FROM s", "there is no column no", 45),
        ("EXPLAIN CREATE CONTINUOUS QUERY z WITH (kep = 3) AS SELECT k FROM s", "", 41),
        ("EXPLAIN CREATE CONTINUOUS z", "", 27),
    ],
)
def test_explain_create_refuses_what_create_refuses(con, text, message, column):
    with pytest.raises(cqlduck.Error) as caught:
        con.execute(text)
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q AS SELECT k FROM s [RANGE 5]", "q is read by above, and its columns would no longer"),
        ("q AS SELECT k, n FROM q", "q would read itself"),
        ("above AS SELECT n FROM above", "above would read itself"),
        ("q AS SELECT k, n FROM above, s", "q is read by above, and the new one would read above"),
        (
            "q WITH (history = true) AS SELECT k, count(*) AS n FROM s [ROWS 6] GROUP BY k",
            "q is read by above, and a new one with history",
        ),
    ],
)
def test_explain_create_refuses_a_replacement_as_create_does(con, text, message):
    con.execute("""
        CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k;
        CREATE CONTINUOUS QUERY above AS SELECT sum(n) AS n FROM q;
    """)
    for verb in ("EXPLAIN CREATE", "CREATE"):
        with pytest.raises(cqlduck.CatalogError) as caught:
            con.execute(f"{verb} OR REPLACE CONTINUOUS QUERY {text}")
        assert caught.value.message.startswith(message)


def test_explain_create_of_what_is_there_shows_what_stays(con):
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT DISTINCT v FROM s")
    said = lines(con, "EXPLAIN CREATE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT no FROM nothing")
    assert "--   q is there already, and stays as it is" in said
    assert any("grows with each new s.v; it would be bounded by" in line for line in said)


def test_history_is_a_part_of_memory(con):
    text = "EXPLAIN CREATE CONTINUOUS QUERY q WITH (keep = '7') AS SELECT k FROM s"
    assert "--   its history: bounded by 7" in lines(con, text)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
    assert lines(con, "EXPLAIN CONTINUOUS QUERY q")[-1].startswith("--   its history: each change")


def test_what_grows_for_ever_is_refused_on_request():
    with cqlduck.connect(unbounded="refuse") as con:
        con.execute(INPUTS)
        con.execute(f"CREATE CONTINUOUS QUERY a AS {QUERIES['a stream, grouped']}")
        for verb in ("CREATE", "CREATE OR REPLACE", "EXPLAIN CREATE"):
            with pytest.raises(cqlduck.NotSupportedError) as caught:
                con.execute(f"{verb} CONTINUOUS QUERY q AS {QUERIES['a join of streams']}")
            assert caught.value.message == (
                "q would keep the store of s, which grows for ever, with each element of s"
            )
            assert "s [RANGE 1 HOUR]" in str(caught.value.hint)
        assert list(con.queries) == ["a"]
    with pytest.raises(cqlduck.Error, match="unbounded is allow or refuse, not 'no'"):
        cqlduck.connect(unbounded="no")
