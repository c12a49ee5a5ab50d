"""REFRESH RELATION: the difference between the content and a query becomes elements."""

from __future__ import annotations

from collections import Counter

import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck

NAN = float("nan")


def elements(con, query="q"):
    return Counter(map(repr, con.changes(query).fetchall()))


def shown(*rows):
    return Counter(map(repr, rows))


def test_a_relation_is_made_from_a_table_and_follows_it(con):
    con.execute("""
        CREATE TABLE airports (faa VARCHAR, name VARCHAR);
        INSERT INTO airports VALUES ('JFK', 'Kennedy'), ('LGA', 'Guardia'), ('LGA', 'Guardia');
        CREATE RELATION airports_r FROM airports;
        CREATE CONTINUOUS QUERY q AS SELECT * FROM airports_r;
    """)
    con.advance(4)
    con.execute("""
        DELETE FROM airports WHERE name = 'Kennedy';
        INSERT INTO airports VALUES ('EWR', NULL);
        REFRESH RELATION airports_r;
    """)
    con.advance(6)

    first = [("JFK", "Kennedy", 0, 1), ("LGA", "Guardia", 0, 2)]
    assert shown(*first, ("JFK", "Kennedy", 5, -1), ("EWR", None, 5, 1)) == elements(con)
    (found,) = con.sql("SELECT columns, types, query FROM cql.relations").fetchall()
    assert (["faa", "name"], ["VARCHAR", "VARCHAR"], "FROM airports") == found


def test_nothing_is_refreshed_where_nothing_changed(con):
    con.execute("""
        CREATE RELATION r (a DOUBLE, b INTEGER[]);
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
    """)
    rows = [(NAN, [1]), (None, None), (None, None), (-0.0, [])]
    assert 4 == con.refresh("r", rows, at=1)
    assert 0 == con.refresh("r", list(reversed(rows)), at=2)
    con.advance(2)
    assert 0 == con.refresh("r", rows)
    assert 1 == con.refresh("r", rows[:2] + rows[3:])
    con.advance(4)

    assert [(None, None, 3, -1)] == con.changes("q", since=1).fetchall()


def test_a_query_a_file_and_an_instant(con, tmp_path):
    file = tmp_path / "r.parquet"
    con.execute(f"COPY (SELECT 2 AS b, 'two' AS a) TO '{file}'")
    con.execute("""
        CREATE RELATION r (a VARCHAR, b INTEGER) AT 1 FROM (SELECT 'one', 1);
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
    """)
    con.execute(f"REFRESH RELATION r AT 3 FROM '{file}'")
    con.execute("REFRESH RELATION r AT 5 FROM VALUES ('x', 7), ('x', 7)")
    con.execute("REFRESH RELATION r AT 7")
    con.advance(8)

    changes = [("one", 1, 1, 1), ("one", 1, 3, -1), ("two", 2, 3, 1), ("two", 2, 5, -1)]
    changes += [("x", 7, 5, 2), ("x", 7, 7, -2), ("one", 1, 7, 1)]
    assert shown(*changes) == elements(con)


def test_the_folder_of_a_relation_is_still_the_drop_zone(tmp_path):
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute("CREATE RELATION r (a INTEGER) FROM 'r' PRIMARY KEY (a)")
        assert [("r", None)] == con.sql("SELECT folder, query FROM cql.relations").fetchall()


def test_a_refresh_counts_from_what_is_pending(con):
    con.execute("""
        CREATE RELATION r (k INTEGER, v INTEGER, PRIMARY KEY (k));
        CREATE RELATION bag (k INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
        CREATE CONTINUOUS QUERY b AS SELECT * FROM bag;
    """)
    con.append("r", [(1, 10), (2, 20)], at=2)
    con.refresh("r", [(1, 11), (2, 20), (3, 30)])
    con.append("bag", [(1,), (1,)], at=2)
    con.retract("bag", [(1,)], at=4)
    con.append("bag", [(9,)], at=8)
    con.refresh("bag", [(1,), (2,)], at=5)
    con.advance(9)

    assert shown((1, 11, 2, 1), (2, 20, 2, 1), (3, 30, 2, 1)) == elements(con)
    assert shown((1, 2, 2), (1, 4, -1), (2, 5, 1), (9, 8, 1)) == elements(con, "b")
    assert [] == con.sql("FROM cql.late").fetchall()


def test_what_comes_after_an_upsert_of_the_same_instant_starts_from_it(con):
    con.execute("""
        CREATE RELATION r (k INTEGER, v INTEGER, PRIMARY KEY (k));
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
    """)
    with con.engine.changing():
        thing = con.engine.input("r")
        con.engine.database.execute(
            f"INSERT INTO cql_state.{thing.pending} VALUES (1, 5, 3, 'u', 0), (2, 6, 3, 'u', 1)"
        )
        thing.first_instant = thing.last_instant = 3
        thing.next_seq = 2
    con.execute("UPDATE r SET v = 7 WHERE k = 1; DELETE FROM r WHERE k = 2")
    con.advance(4)

    assert [(1, 7, 3, 1)] == con.changes("q").fetchall()
    assert [] == con.sql("FROM cql.late").fetchall()


@pytest.mark.parametrize(
    ("statement", "kind", "words"),
    [
        ("REFRESH RELATION nobody", cqlduck.CatalogError, "nobody"),
        ("REFRESH RELATION s FROM t", cqlduck.DataError, "stream"),
        ("REFRESH RELATION r", cqlduck.DataError, "not created from a query"),
        ("REFRESH RELATION r FROM nothing_there", cqlduck.ParseError, "nothing_there"),
        ("REFRESH RELATION r FROM (SELECT 1 AS k)", cqlduck.DataError, "lacks v"),
        ("REFRESH RELATION r FROM (SELECT 1 AS k, 'x' AS v)", cqlduck.DataError, "do not fit"),
        ("REFRESH RELATION r AT 5 FROM t", cqlduck.LateError, "heartbeat"),
        ("REFRESH RELATION r AT x FROM t", cqlduck.ParseError, "no instant"),
        ("REFRESH RELATION r FROM t WHERE", cqlduck.ParseError, "WHERE"),
        ("REFRESH RELATION r FROM VALUES (1, 2), (1, 3)", cqlduck.DataError, "k = 1"),
        ("REFRESH RELATION r FROM (SELECT 1 AS k, 2 AS v, 3 AS _ts)", cqlduck.DataError, "_ts"),
        ("CREATE RELATION x FROM (SELECT 1 AS _ts)", cqlduck.BindError, "reserved"),
        ("CREATE RELATION x PRIMARY KEY (b) FROM t", cqlduck.BindError, "b"),
        ("CREATE RELATION x PRIMARY KEY (b)", cqlduck.ParseError, "missing"),
        ("CREATE RELATION x FROM", cqlduck.ParseError, "missing"),
    ],
)
def test_what_is_refused_leaves_all_as_it_was(con, statement, kind, words):
    con.execute("""
        CREATE TABLE t (k INTEGER, v INTEGER);
        CREATE STREAM s (k INTEGER);
        CREATE RELATION r (k INTEGER, v INTEGER, PRIMARY KEY (k));
    """)
    con.append("r", [(1, 2)], at=3)
    con.heartbeat("r", 6)
    with pytest.raises(kind, match=words):
        con.execute(statement)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM r")
    con.advance(7)
    assert [(1, 2)] == con.table("q").fetchall()
    assert [("r",)] == con.sql("SELECT name FROM cql.relations").fetchall()


ROWS = st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["a", None])), max_size=5)


CONTENTS = {
    "contents": st.lists(st.tuples(st.integers(1, 3), ROWS), max_size=5),
    "advances": st.sets(st.integers(0, 15)),
}


@given(**CONTENTS)
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=fewer_if_brief(20))
def test_the_content_is_at_each_instant_the_last_refresh(contents, advances):
    with cqlduck.connect() as con:
        con.execute("""
            CREATE RELATION r (k INTEGER, v VARCHAR);
            CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
        """)
        now, expected = 0, {}
        for step, rows in contents:
            now += step
            con.refresh("r", rows, at=now)
            expected[now] = rows
            if now in advances:
                con.advance(now)
        con.advance(now + 1)
        held = []
        for instant in range(now + 2):
            held = expected.get(instant, held)
            assert Counter(held) == Counter(con.as_of("q", instant).fetchall())
