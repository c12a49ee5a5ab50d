"""INSERT, UPDATE and DELETE: what they read, what they leave pending, and what they say of keys."""

from __future__ import annotations

from collections import Counter

import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.state import relations


def bag(con: cqlduck.Connection, query: str) -> Counter[tuple]:
    return Counter(con.table(query).fetchall())


def late(con: cqlduck.Connection) -> list[tuple]:
    return con.sql("SELECT input, reason, occurrences, element FROM cql.late").fetchall()


# ------------------------------------------------------------------------ what is pending is read


def test_a_statement_reads_what_is_pending_in_other_relations(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION a (k INTEGER);
        CREATE RELATION b (k INTEGER);
        CREATE VIEW of_a AS SELECT k FROM a;
        CREATE MACRO most() AS (SELECT max(k) FROM a);
        CREATE CONTINUOUS QUERY q AS SELECT k FROM b;
        INSERT INTO a VALUES (1), (2);
        INSERT INTO b SELECT k FROM a;
        INSERT INTO b SELECT k + 10 FROM main.a;
        INSERT INTO b SELECT k + 20 FROM of_a WHERE k < most();
        UPDATE b SET k = k + 100 WHERE k IN (SELECT k FROM a WHERE k > 1);
        DELETE FROM b USING a WHERE b.k = a.k;
        CREATE RELATION c FROM of_a;
    """)
    con.advance(3)
    assert Counter({(102,): 1, (11,): 1, (12,): 1, (21,): 1}) == bag(con, "q")
    assert [(1,), (2,)] == sorted(con.sql("FROM c").fetchall())


def test_relations_show_what_is_closed_again_after_a_statement(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION a (k INTEGER); CREATE RELATION b (k INTEGER)")
    con.execute("INSERT INTO a VALUES (1)")
    con.execute("INSERT INTO b SELECT k FROM a")
    assert [] == con.sql("FROM a").fetchall()
    with pytest.raises(cqlduck.Error):
        con.execute("INSERT INTO b SELECT CAST('x' AS INTEGER) FROM a")
    assert [] == con.sql("FROM a").fetchall()


def test_a_stream_takes_what_is_pending_in_a_relation(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION a (k INTEGER);
        CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS SELECT k FROM s;
        INSERT INTO a VALUES (1);
        INSERT INTO s SELECT k, 7 FROM a;
    """)
    con.advance(9)
    assert [(1, 7, 1)] == con.changes("q").fetchall()


# --------------------------------------------------------------- what was left out does not revive


def test_what_was_left_out_for_its_key_does_not_revive(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k INTEGER, v VARCHAR) PRIMARY KEY (k);
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
        INSERT INTO r VALUES (1, 'first');
    """)
    con.advance(3)
    con.execute("INSERT INTO r VALUES (1, 'second')")
    con.execute("DELETE FROM r WHERE v = 'first'")
    con.advance(5)
    assert [(1, "first", 0, 1), (1, "first", 4, -1)] == con.changes("q").fetchall()
    assert [("r", "is a second row under its primary key", 1, "{'k': 1, 'v': second}")] == late(con)


def test_a_deletion_that_was_wrong_takes_nothing_later(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (v INTEGER); CREATE CONTINUOUS QUERY q AS SELECT v FROM r")
    con.append("r", [(1,)], at=4)
    con.retract("r", [(2,)], at=4)
    con.execute("UPDATE r SET v = 2")
    con.advance(5)
    assert [(2, 4, 1)] == con.changes("q").fetchall()
    assert [("r", "retracts what is not there", 1, "{'v': 2}")] == late(con)


def test_an_element_without_an_effect_counts_for_the_instant_of_the_next() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (v INTEGER); CREATE CONTINUOUS QUERY q AS SELECT v FROM r")
        con.append("r", [(1,)], at=4)
        con.retract("r", [(2,)], at=20)
        con.execute("INSERT INTO r VALUES (3)")
        con.advance(30)
        assert [(1, 4, 1), (3, 20, 1)] == con.changes("q").fetchall()


def test_the_comment_of_relations_tells_what_elements_are() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (v INTEGER); INSERT INTO r VALUES (1); DELETE FROM r")
        con.retract("r", [(2,)])
        assert [(3,)] == con.sql("SELECT elements FROM cql.relations").fetchall()
        ((comment,),) = con.sql(
            "SELECT comment FROM duckdb_views() WHERE schema_name = 'cql' "
            "AND view_name = 'relations'"
        ).fetchall()
    assert "the number of its elements, which are insertions and deletions" in comment


def test_strict_stops_a_statement_over_what_has_no_effect() -> None:
    with cqlduck.connect(strict=True) as con:
        con.execute("CREATE RELATION r (k INTEGER PRIMARY KEY, v INTEGER)")
        con.execute("INSERT INTO r VALUES (1, 1), (1, 2)")
        with pytest.raises(cqlduck.DataError, match="second row"):
            con.execute("DELETE FROM r WHERE v = 1")
        assert [] == late(con)


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 1), st.integers(0, 2)),
        st.tuples(st.just("retract"), st.integers(0, 1), st.integers(0, 2)),
        st.tuples(st.just("insert"), st.integers(0, 1), st.integers(0, 2)),
        st.tuples(st.just("update"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("delete"), st.integers(0, 1), st.integers(0, 2)),
        st.tuples(st.just("advance"), st.just(0), st.just(0)),
    ),
    min_size=2,
    max_size=7,
)


STATEMENTS = {"keyed": st.booleans(), "changes": CHANGES}


@given(**STATEMENTS)
@settings(
    deadline=None, max_examples=fewer_if_brief(25), suppress_health_check=[HealthCheck.too_slow]
)
def test_the_content_is_what_the_last_statement_left(keyed: bool, changes: list[tuple]) -> None:
    """What UPDATE and DELETE see and leave is what holds when the instant closes."""
    with cqlduck.connect() as con:
        con.execute(f"CREATE RELATION r (k INTEGER, v INTEGER{', PRIMARY KEY (k)' * keyed})")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM r")
        time, left = 0, None
        for what, one, other in changes:
            left = None
            if what == "advance":
                time += 1
                con.advance(time)
            elif what in ("append", "retract"):
                getattr(con, what)("r", [(one, other)])
            elif what == "insert":
                con.execute(f"INSERT INTO r VALUES ({one}, {other})")
            else:
                before = pending_content(con)
                if what == "update":
                    con.execute(f"UPDATE r SET v = {other} WHERE v = {one}")
                    left = Counter((k, other if v == one else v) for k, v in before.elements())
                else:
                    con.execute(f"DELETE FROM r WHERE k = {one} AND v >= {other}")
                    left = Counter(
                        (k, v) for k, v in before.elements() if not (k == one and v >= other)
                    )
        con.advance(time + 1)
        if left is not None:
            assert left == bag(con, "q")


def pending_content(con: cqlduck.Connection) -> Counter[tuple]:
    """Return what a statement would read of `r`."""
    with con.engine.changing():
        database = con.engine.database
        content, _ = relations.content_at(
            database, con.engine.input("r"), 2**62, con.engine.relation_buffer
        )
        return Counter(database.rows(content))


# ------------------------------------------------------------------------------ what can be written


def test_a_column_may_have_the_name_of_its_table(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM v (v INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT v FROM v [ROWS 9];
        INSERT INTO v (v) VALUES (1);
        INSERT INTO v (v) SELECT v.n FROM range(2, 4) AS v(n);
    """)
    con.advance(5)
    assert Counter({(1,): 1, (2,): 1, (3,): 1}) == bag(con, "q")


def test_conflicts_of_an_insert_go_by_the_primary_key(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k INTEGER PRIMARY KEY, v VARCHAR);
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
        INSERT INTO r VALUES (1, 'a');
    """)
    con.advance(1)
    con.execute("""
        INSERT INTO r VALUES (1, 'b'), (2, 'c') ON CONFLICT DO NOTHING;
        INSERT INTO r VALUES (2, 'd'), (3, 'e')
            ON CONFLICT (k) DO UPDATE SET v = r.v || excluded.v;
    """)
    con.advance(2)
    assert Counter({(1, "a"): 1, (2, "cd"): 1, (3, "e"): 1}) == bag(con, "q")
    assert [] == late(con)


def test_a_key_with_a_null_is_no_conflict_and_an_error(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (k INTEGER, v VARCHAR, PRIMARY KEY (k))")
    con.execute("INSERT INTO r VALUES (NULL, 'x') ON CONFLICT DO NOTHING")
    con.advance(1)
    with pytest.raises(cqlduck.DataError, match=r"under the primary key \(NULL\)") as caught:
        con.execute("INSERT INTO r VALUES (NULL, 'y') ON CONFLICT (k) DO UPDATE SET v = excluded.v")
    assert caught.value.hint
    con.execute("UPDATE r SET v = 'z' WHERE k IS NULL")
    con.advance(2)
    assert [(None, "z")] == con.sql("FROM r").fetchall()
    assert [] == late(con)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("INSERT INTO bag VALUES (1) ON CONFLICT DO NOTHING", ["bag", "PRIMARY KEY"]),
        ("INSERT INTO s VALUES (1) ON CONFLICT DO NOTHING", ["s", "stream"]),
        ("INSERT INTO lists VALUES ([1]) ON CONFLICT DO NOTHING", ["lists", "index"]),
        ("INSERT INTO s SELECT * FROM s", ["reads s"]),
        ("WITH x AS (SELECT 1 AS k) DELETE FROM s USING x", ["DELETE", "stream"]),
    ],
)
def test_what_cannot_be_is_refused(con: cqlduck.Connection, text: str, words: list[str]) -> None:
    con.execute("""
        CREATE STREAM s (k INTEGER);
        CREATE RELATION bag (k INTEGER);
        CREATE RELATION lists (k INTEGER[]) PRIMARY KEY (k);
    """)
    with pytest.raises(cqlduck.NotSupportedError) as caught:
        con.execute(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_with_may_stand_before_every_change(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k INTEGER, v INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
        WITH x AS (SELECT 1 AS k, 2 AS v), y AS (FROM x UNION ALL SELECT 3, 4)
            INSERT INTO r SELECT * FROM y;
        WITH x(n) AS (SELECT 1) UPDATE r SET v = 5 FROM x WHERE k = n;
        WITH x AS MATERIALIZED (SELECT 3 AS n) DELETE FROM main.r WHERE k IN (SELECT n FROM x);
    """)
    con.advance(1)
    assert [(1, 5)] == con.table("q").fetchall()


def test_the_schema_may_stand_before_every_name(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM main.s (k INTEGER);
        CREATE RELATION cqlduck.main.r (k INTEGER, v INTEGER);
        CREATE CONTINUOUS QUERY main.p AS SELECT k FROM main.s [ROWS 5];
        CREATE CONTINUOUS QUERY main.q AS
            SELECT s.k, v FROM main.p s JOIN cqlduck.main.r ON s.k = r.k;
        INSERT INTO main.r VALUES (1, 2), (2, 3);
        UPDATE main.r SET v = 4 WHERE k = 1;
        DELETE FROM main.r WHERE k = 2;
        REFRESH RELATION main.r FROM (SELECT k, v + 1 AS v FROM main.r);
        ALTER CONTINUOUS QUERY main.q SET (keep = default);
        EXPLAIN CONTINUOUS QUERY main.q;
    """)
    con.append("main.s", [(1,)], at=1)
    con.heartbeat("cqlduck.main.s", 2)
    con.advance(2)
    assert [(1, 5)] == con.table("main.q").fetchall() == con.sql("FROM main.q").fetchall()
    con.execute("DROP CONTINUOUS QUERY main.q; DROP CONTINUOUS QUERY main.p; DROP STREAM main.s")
    for text in ("SELECT * FROM other.r", "SELECT * FROM other.main.r"):
        with pytest.raises(cqlduck.Error, match="other"):
            con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")


@pytest.mark.parametrize("kind", ["STREAM", "RELATION"])
@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ("a INTEGER ¦NOT NULL", "NOT NULL"),
        ("a INTEGER ¦DEFAULT 3", "DEFAULT"),
        ("a INTEGER ¦CHECK (a > 0)", "CHECK"),
        ("a INTEGER, ¦CHECK (a > 0)", "CHECK"),
        ("a INTEGER, ¦CONSTRAINT c UNIQUE (a)", "CONSTRAINT"),
        ("a INTEGER ¦UNIQUE", "UNIQUE"),
        ("a INTEGER ¦REFERENCES t", "REFERENCES"),
        ("a INTEGER, ¦FOREIGN KEY (a) REFERENCES t (a)", "FOREIGN KEY"),
        ("a INTEGER, b INTEGER ¦GENERATED ALWAYS AS (a + 1)", "GENERATED"),
        ("a INTEGER, b ¦AS (a + 1)", "GENERATED"),
        ("a VARCHAR ¦COLLATE NOCASE", "COLLATE"),
    ],
)
def test_constraints_are_refused_by_name(
    con: cqlduck.Connection, kind: str, columns: str, word: str
) -> None:
    place = columns.index("¦") + len(f"CREATE {kind} x (")
    with pytest.raises(cqlduck.NotSupportedError) as caught:
        con.execute(f"CREATE {kind} x ({columns.replace('¦', '')})")
    assert word in caught.value.message
    assert caught.value.hint
    assert place == caught.value.offset
    assert kind in caught.value.message


def test_a_stream_has_no_key_and_a_relation_one(con: cqlduck.Connection) -> None:
    for text in ("a INTEGER PRIMARY KEY", "a INTEGER, PRIMARY KEY (a)"):
        with pytest.raises(cqlduck.NotSupportedError, match="PRIMARY KEY"):
            con.execute(f"CREATE STREAM x ({text})")
    for text in ("(a INTEGER PRIMARY KEY, b INTEGER PRIMARY KEY)", "(a INTEGER PRIMARY KEY) PRIMARY"
                 " KEY (a)"):  # fmt: skip
        with pytest.raises(cqlduck.ParseError, match="two primary keys"):
            con.execute(f"CREATE RELATION x {text}")
    con.execute("CREATE RELATION r (check INTEGER\n PRIMARY  KEY, e ENUM('DEFAULT', 'NOT NULL'))")
    assert [(["check"],)] == con.sql("SELECT primary_key FROM cql.relations").fetchall()
