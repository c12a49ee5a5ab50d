"""`LATE AMEND`: after late elements the answer is what it would be if nothing had been late."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import reference
import strategies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

SCRIPT = """
    CREATE STREAM s (k BIGINT, v BIGINT) LATE AMEND;
    CREATE CONTINUOUS QUERY kept AS SELECT k, v FROM s WHERE v > 0;
    CREATE CONTINUOUS QUERY counted AS SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k;
    CREATE CONTINUOUS QUERY above AS SELECT sum(n) AS total FROM counted;
    CREATE CONTINUOUS QUERY running AS SELECT Istream(count(*) AS n) FROM s;
"""


def late_ones(con: cqlduck.Connection) -> None:
    """(1, 10) at 3 and (2, 20) at 4 come when 6 is closed; 7 is the first open instant."""
    con.append("s", [(1, 1), (2, 2), (1, 3)], at=[1, 2, 5])
    con.advance(6)
    assert 2 == con.append("s", [(1, 10), (2, 20)], at=[3, 4])


def test_what_was_published_stays_and_the_difference_comes_at_the_first_open_instant(con) -> None:
    con.execute(SCRIPT)
    late_ones(con)
    before = {name: con.changes(name).fetchall() for name in ("kept", "counted", "above")}
    assert Counter({(1, 2): 1, (2, 1): 1}) == Counter(con.table("counted").fetchall())

    con.advance(7)

    kept, counted, above = (con.changes(n).fetchall() for n in ("kept", "counted", "above"))
    assert before["kept"] == kept[:3]
    assert [(1, 10, 7, 1), (2, 20, 7, 1)] == sorted(kept[3:])
    assert before["counted"] == [row for row in counted if row[-2] < 7]
    expected = [(1, 2, 7, -1), (1, 3, 7, 1), (2, 1, 7, -1), (2, 2, 7, 1)]
    assert expected == sorted(row for row in counted if row[-2] == 7)
    # a query that reads the stream through another one sees the corrections as elements
    assert [(3, 7, -1), (5, 7, 1)] == sorted(row for row in above if row[-2] == 7)
    con.append("s", [(3, 0)], at=12)
    con.advance(14)
    # from 14 on the window begins at 4: the late element of 4 is in it, that of 3 has left
    assert [(1, 1), (2, 1), (3, 1)] == sorted(con.table("counted").fetchall())


def test_corrections_are_marked(con) -> None:
    con.execute(SCRIPT)
    late_ones(con)
    con.advance(7)
    marked = con.sql("SELECT * FROM cql.corrections WHERE query = 'counted' ORDER BY ALL")
    assert [
        ("counted", "7", "{'k': 1, 'n': 2}", -1, True),
        ("counted", "7", "{'k': 1, 'n': 3}", 1, True),
        ("counted", "7", "{'k': 2, 'n': 1}", -1, True),
        ("counted", "7", "{'k': 2, 'n': 2}", 1, True),
    ] == marked.fetchall()
    reasons = con.sql("SELECT input, instant, reason, occurrences FROM cql.late ORDER BY ALL")
    assert [("s", "3", "late, amends", 1), ("s", "4", "late, amends", 1)] == reasons.fetchall()


def test_a_stream_takes_nothing_back(con) -> None:
    """The last of k is 3 at 5; with 2 at 4 in between Istream of the last two is another one."""
    con.execute("""
        CREATE STREAM s (v BIGINT) LATE AMEND;
        CREATE CONTINUOUS QUERY q AS SELECT Istream(sum(v) AS total) FROM s [ROWS 2];
    """)
    con.append("s", [(1,), (3,)], at=[1, 5])
    con.advance(6)
    con.append("s", [(2,)], at=4)
    con.advance(8)
    # 1 at 1, 1 + 3 at 5; it would have been 1 at 1, 1 + 2 at 4, 2 + 3 at 5
    assert [(None, 0, 1), (1, 1, 1), (4, 5, 1), (3, 7, 1), (5, 7, 1)] == [
        row for row in con.changes("q").fetchall()
    ]
    marked = con.sql("SELECT element, weight, published FROM cql.corrections ORDER BY ALL")
    assert [
        ("{'total': 3}", 1, True),
        ("{'total': 4}", -1, False),
        ("{'total': 5}", 1, True),
    ] == marked.fetchall()


def test_what_no_query_has_passed_is_no_amendment(con) -> None:
    """The other input holds the query back, so its answer at the late instant is not out yet."""
    con.execute("""
        CREATE STREAM s (v BIGINT) LATE AMEND;
        CREATE STREAM other (w BIGINT);
        CREATE CONTINUOUS QUERY q AS SELECT v, w FROM s [RANGE 5], other [RANGE 5];
    """)
    con.append("other", [(7,)], at=2)
    con.append("s", [(1,)], at=9)
    assert 1 == con.advance()
    con.append("s", [(2,)], at=4)
    # what needs no amendment is not worked out again either
    assert [(None,)] == con.sql("SELECT amend_from FROM cql_state.queries").fetchall()
    con.advance(20)
    assert [(2, 7, 4, 1), (2, 7, 8, -1)] == con.changes("q").fetchall()
    assert [] == con.sql("FROM cql.corrections").fetchall()


def test_an_element_from_before_the_beginning_is_taken_too(con) -> None:
    con.execute("""
        CREATE STREAM s (v BIGINT) LATE AMEND;
        CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM s;
    """)
    con.append("s", [(1,)], at=3)
    con.advance(4)
    con.append("s", [(1,)], at=-2)
    con.advance(5)
    assert [(0, 0, 1), (0, 3, -1), (1, 3, 1), (1, 5, -1), (2, 5, 1)] == sorted(
        con.changes("q").fetchall(), key=lambda row: row[1:]
    )


def test_an_amendment_survives_a_restart(tmp_path) -> None:
    path = tmp_path / "amended.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(SCRIPT)
        late_ones(con)
    with cqlduck.connect(path) as con:
        con.advance(7)
        assert Counter({(1, 3): 1, (2, 2): 1}) == Counter(con.table("counted").fetchall())


def test_an_amendment_that_fails_stops_the_query_alone(con) -> None:
    con.execute("""
        CREATE STREAM s (t VARCHAR) LATE AMEND;
        CREATE CONTINUOUS QUERY n AS SELECT sum(CAST(t AS INTEGER)) AS total FROM s;
        CREATE CONTINUOUS QUERY every AS SELECT count(*) AS n FROM s;
    """)
    con.append("s", [("1",), ("2",)], at=[1, 5])
    con.advance(6)
    published = con.changes("n").fetchall()
    con.append("s", [("x",)], at=3)
    con.advance(8)
    ((state, error),) = con.sql("SELECT state, error FROM cql.queries WHERE name = 'n'").fetchall()
    assert "failed" == state
    assert error.startswith("at 7: ")
    assert published == con.changes("n").fetchall()
    assert [(3,)] == con.table("every").fetchall()


def test_what_an_amendment_needs_is_not_forgotten(con) -> None:
    con.execute("""
        CREATE STREAM s (v BIGINT) LATE AMEND;
        CREATE STREAM other (v BIGINT);
        CREATE RELATION r (v BIGINT, name VARCHAR);
        CREATE CONTINUOUS QUERY q AS
            SELECT name, count(*) AS n FROM s [RANGE 3], other [RANGE 3], r
            WHERE s.v = other.v AND s.v = r.v GROUP BY name;
        CREATE CONTINUOUS QUERY every AS SELECT count(*) AS n FROM s;
    """)
    con.append("r", [(1, "old")], at=0)
    con.retract("r", [(1, "old")], at=5)
    con.append("r", [(1, "new")], at=5)
    for at in range(60):
        con.append("s", [(2,)], at=at)
        con.append("other", [(1,)], at=at)
        con.advance(at)
    con.append("s", [(1,), (1,)], at=[1, 58])
    con.advance(60)
    assert [("new", 3)] == con.table("q").fetchall()
    assert [(62,)] == con.table("every").fetchall()


def test_sql_says_amend_where_it_lists_the_policies(con) -> None:
    con.execute("CREATE STREAM s (v BIGINT)")
    con.append("s", [(1,)], at=3)
    with pytest.raises(cqlduck.LateError, match="AMEND"):
        con.append("s", [(1,)], at=2)


# -------------------------------------------------------------------------------------- random


@given(data=st.data())
@settings(suppress_health_check=QUIET, deadline=None, max_examples=settings().max_examples // 4)
def test_as_if_nothing_had_been_late(data) -> None:
    """Some elements up to an instant are held back until it is closed.

    Up to that instant the answer is that of the others, and after it that of all.
    """
    case = data.draw(strategies.cases(restarts=False, later=False, wide=True, most_queries=1))
    (query,) = case.queries
    end = case.t_end
    edge = data.draw(st.integers(case.t_begin, end - 1), label="closed")
    ontime, whole, held = {}, {}, {}
    for source in case.inputs:
        if not isinstance(source, reference.Stream):
            continue
        chosen = [data.draw(st.integers(0, 3)) == 0 for _ in source.elements]
        past = [ts <= edge for ts, _ in source.elements]
        pairs = list(zip(source.elements, chosen, past, strict=True))
        first = [e for e, late, old in pairs if old and not late]
        held[source.name] = [e for e, late, old in pairs if old and late]
        rest = [e for e, _, old in pairs if not old]
        ontime[source.name] = replace(source, elements=first)
        whole[source.name] = replace(source, elements=first + held[source.name] + rest)

    with cqlduck.connect(threads=1) as con:
        for text in case.declarations:
            stream = text.startswith("CREATE STREAM")
            con.execute(text + " LATE AMEND" if stream else text)
        con.execute(strategies.registration(query))
        for source in case.inputs:
            if isinstance(source, reference.Stream):
                put(con, source.name, ontime[source.name].elements)
                continue
            for ts, sign, row in source.changes:
                (con.append if sign > 0 else con.retract)(source.name, [row], at=ts)
        con.advance(edge)
        for name, elements in held.items():
            put(con, name, elements)
        for name, source in whole.items():
            put(con, name, source.elements[len(ontime[name].elements) + len(held[name]) :])
        con.advance(end)
        found = reference.from_changes(con.changes(query.name).fetchall())

    before = reference.evaluate(over(query, ontime), None, edge)
    after = reference.evaluate(over(query, whole), None, end)
    net = reference.net_elements(before)
    then = reference.net_elements(after)
    corrections: Counter = Counter()
    for sign, changes in ((1, then), (-1, net)):
        for ts, change in changes.items():
            if ts <= edge:
                for row, weight in change.items():
                    corrections[row] += sign * weight
    expected = dict(net)
    for ts, change in then.items():
        if ts > edge:
            expected[ts] = Counter(change)
    if query.r2s is not None:
        corrections = +corrections
    expected[edge + 1] = Counter(expected.get(edge + 1, Counter()))
    for row, weight in corrections.items():
        expected[edge + 1][row] += weight
    problems = reference.differences(expected, found)
    assert not problems, f"closed at {edge}, held {held}: {problems[:5]}\n{case}"


def put(con, name: str, elements) -> None:
    """Append elements in arrival order, those of a column's time as they are."""
    if elements:
        con.append(name, [row for _, row in elements], at=[ts for ts, _ in elements])


def over(query: reference.Query, streams) -> reference.Query:
    """The query over other elements of its streams."""
    legs = []
    for source, window in query.legs:
        if isinstance(source, reference.Query):
            source = over(source, streams)
        elif isinstance(source, reference.Stream):
            source = streams[source.name]
        legs.append((source, window))
    return replace(query, legs=tuple(legs))
