"""`LATE AMEND`: after late elements the answer is what it would be if nothing had been late."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import reference
import strategies
from counts import fewer_if_brief
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


@pytest.mark.parametrize("keep", [None, "2 seconds"])
def test_a_mark_is_set_once_and_taken_off(keep: str | None, con) -> None:
    """What is later than history is published all the same, and no correction comes twice."""
    con.execute("""
        CREATE STREAM s (v BIGINT) LATE AMEND;
        CREATE CONTINUOUS QUERY q AS SELECT Istream(sum(v) AS total) FROM s [ROWS 2];
    """)
    if keep:
        con.execute(f"ALTER CONTINUOUS QUERY q SET (keep = '{keep}')")
    con.append("s", [(1,), (3,)], at=[1, 5])
    con.advance(20)
    rounds = []
    for v, ts in ((2, 4), (9, 2), (1, 6)):
        con.append("s", [(v,)], at=ts)
        until = con.advance(con.advance() + 1)
        elements = con.changes("q", since=until - 1).fetchall()
        seen = Counter({row[:1]: row[-1] for row in elements})
        marked = con.sql(
            "SELECT element, weight FROM cql.corrections "
            f"WHERE NOT published AND instant = '{until}'"
        )
        rounds.append((seen, sorted(marked.fetchall())))
    # 1, 1 + 3; then 1, 1 + 2, 2 + 3; then 1, 1 + 9, 9 + 2, 2 + 3; then 3 + 1 too
    assert [
        (Counter({(3,): 1, (5,): 1}), [("{'total': 4}", -1)]),
        (Counter({(10,): 1, (11,): 1}), [("{'total': 3}", -1)]),
        (Counter(), [("{'total': 4}", 1)]),
    ] == rounds


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
@settings(
    suppress_health_check=QUIET,
    deadline=None,
    max_examples=fewer_if_brief(settings().max_examples // 6),
)
def test_as_if_nothing_had_been_late(data) -> None:
    """Some elements come a round or two late; after each round an instant is closed.

    What comes after a round is what the query gives over all that is there. What it would have said
    before comes at the first open instant, and a stream takes nothing back. How long history is
    kept changes none of it.
    """
    case = data.draw(strategies.cases(restarts=False, later=False, wide=True, most_queries=1))
    (query,) = case.queries
    edge = st.integers(case.t_begin, case.t_end - 1)
    edges = sorted(data.draw(st.sets(edge, min_size=1, max_size=3), label="closed"))
    closed = [*edges, case.t_end]
    keep = data.draw(st.none() | st.integers(1, 3), label="keep")
    chosen = data.draw(st.sampled_from([{}, {"max_tick": 1}]), label="settings")
    if keep is not None and data.draw(st.booleans(), label="of all queries"):
        chosen = {**chosen, "history": f"{keep} seconds"}
    rounds = arrivals(data, case.inputs, edges)

    with cqlduck.connect(threads=1, **chosen) as con:
        for text in case.declarations:
            stream = text.startswith("CREATE STREAM")
            con.execute(text + " LATE AMEND" if stream else text)
        con.execute(strategies.registration(query))
        if keep is not None and "history" not in chosen:
            con.execute(f"ALTER CONTINUOUS QUERY {query.name} SET (keep = '{keep} seconds')")
        for source in case.inputs:
            if not isinstance(source, reference.Stream):
                for ts, sign, row in source.changes:
                    (con.append if sign > 0 else con.retract)(source.name, [row], at=ts)
        for number, until in enumerate(closed):
            for name, elements in rounds[number].items():
                put(con, name, elements)
            con.advance(until)
        found = reference.from_changes(con.changes(query.name).fetchall())
        start = con.engine.query(query.name).history_from
        marked = con.sql(
            "SELECT CAST(instant AS BIGINT), published, CAST(sum(abs(weight)) AS BIGINT) "
            "FROM cql.corrections GROUP BY ALL ORDER BY ALL"
        ).fetchall()

    expected, corrections = published(query, case.inputs, rounds, closed)
    if start is not None:
        # what stands at the start of a relation's history is its sum
        expected = {ts: change for ts, change in expected.items() if ts > start}
        found = {ts: change for ts, change in found.items() if ts > start}
    problems = reference.differences(expected, found)
    assert not problems, f"closed at {closed}, came {rounds}: {problems[:5]}\n{case}"
    assert corrections == marked, f"closed at {closed}, came {rounds}\n{case}"


def arrivals(data, inputs, edges) -> list[dict[str, list]]:
    """What comes of each stream in each round: elements that are late, then those that are not."""
    rounds = [{} for _ in range(len(edges) + 1)]
    for source in inputs:
        if not isinstance(source, reference.Stream):
            continue
        late = [[] for _ in rounds]
        on_time = [[] for _ in rounds]
        for element in source.elements:
            turn = sum(edge < element[0] for edge in edges)
            delay = data.draw(st.sampled_from([0, 0, 0, 1, 2]), label="delay")
            (late if delay else on_time)[min(turn + delay, len(edges))].append(element)
        for number, found in enumerate(rounds):
            found[source.name] = late[number] + on_time[number]
    return rounds


def published(query, inputs, rounds, closed):
    """What is to be there; what `cql.corrections` lists: instant, published, sum of |weight|."""
    expected: dict[int, Counter] = {}
    corrections: Counter = Counter()
    marks: Counter = Counter()
    before = None
    for number, until in enumerate(closed):
        streams = {
            source.name: replace(
                source, elements=[e for r in rounds[: number + 1] for e in r[source.name]]
            )
            for source in inputs
            if isinstance(source, reference.Stream)
        }
        changes = reference.net_elements(reference.evaluate(over(query, streams), None, until))
        if before is not None:
            missing = total(changes, before)
            missing.subtract(total(expected, before))
            missing.subtract(marks)
            opened = expected.setdefault(before + 1, Counter())
            for row, weight in missing.items():
                mark = 0
                if query.r2s is not None:
                    mark = weight if weight < 0 else min(weight, -marks[row])
                marks[row] += mark
                opened[row] += weight - mark
                corrections[before + 1, False] += abs(mark)
                corrections[before + 1, True] += abs(weight - mark)
        for ts, change in changes.items():
            if before is None or ts > before:
                expected.setdefault(ts, Counter()).update(change)
        before = until
    return expected, sorted((*key, count) for key, count in corrections.items() if count)


def total(changes, until: int) -> Counter:
    """The weights of all elements up to an instant."""
    found: Counter = Counter()
    for ts, change in changes.items():
        if ts <= until:
            found.update(change)
    return found


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
