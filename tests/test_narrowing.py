"""Narrowing: families whose members all have a condition in common end between two ticks."""

from __future__ import annotations

from pathlib import Path

import pytest
from counts import fewer_if_brief
from stops import Stops
from test_merging import families_of
from test_widening import GROUPS, SCRIPT, explained, register, run, told

import cqlduck

NARROWED = [
    # the first one shows all; whether the others are one family again
    (["SELECT v FROM s [RANGE 3]", "SELECT v, k FROM s [RANGE 3] WHERE v > 1"], False),
    (["SELECT v FROM s [RANGE 3]", "SELECT k FROM s [RANGE 3] WHERE v > 1",
      "SELECT d FROM s [RANGE 3] WHERE v > 1 AND k = 1"], True),
    (["SELECT v FROM s", "SELECT k FROM s WHERE v > 1", "SELECT Istream(v) FROM s WHERE v > 1"],
     False),
    ([f"SELECT k, count(*) AS n {GROUPS}", f"SELECT sum(v) AS n {GROUPS} HAVING count(*) > 1",
      "SELECT k FROM s [RANGE 3] WHERE k = 1 GROUP BY k HAVING count(*) > 1"], True),
    (["SELECT k, w FROM s [ROWS 3] LEFT JOIN r USING (k)",
      "SELECT v, w FROM s [ROWS 3] LEFT JOIN r USING (k) WHERE w IS NULL"], False),
]  # fmt: skip


@pytest.mark.parametrize(("bodies", "again"), NARROWED)
def test_a_family_ends_that_shows_more_than_its_members(
    bodies: list[str], again: bool, tmp_path: Path
) -> None:
    """Its members go on alone, or in a narrower family; also if the process ends in between."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            con.execute(SCRIPT)
            families = register(con, *bodies)
            assert len(set(families)) == 1
            assert (families[0] is not None) == sharing
            window = "" if con.engine.query("q1").kind == "relation" else " [RANGE 2]"
            con.execute(f"CREATE CONTINUOUS QUERY reader AS SELECT count(*) AS n FROM q1{window}")
            run(con)
            con.execute("DROP CONTINUOUS QUERY q0")
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            run(con, 20)
            families = {name: f for name, f in families_of(con).items() if name != "reader"}
            assert (None not in families.values()) == (again and sharing), families
            found.append(told(con))
            assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
    assert found[0] == found[1]


def test_a_family_stays_whose_members_cannot_leave_are_pinned_or_stand_still() -> None:
    """What an unbounded aggregate has is nowhere else."""
    bodies = ["SELECT k, count(*) AS n FROM s GROUP BY k",
              "SELECT k, max(v) AS m FROM s WHERE k > 0 GROUP BY k"]  # fmt: skip
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        register(con, *bodies)
        run(con)
        before = con.table("q1").fetchall()
        con.execute("DROP CONTINUOUS QUERY q0")
        run(con, 20)
        assert families_of(con) == {"q1": "_cql_family_1"}
        assert len(con.table("q1").fetchall()) >= len(before)
        said = con.explain("q1").splitlines()
        assert said[0].startswith("-- q1 is computed by _cql_family_1, whose only member it is; it")
        assert "it shows more than is asked of it: q1 cannot leave its family" in said[1]
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        register(con, *NARROWED[0][0])
        run(con)
        con.execute("ALTER CONTINUOUS QUERY q1 DEACTIVATE; DROP CONTINUOUS QUERY q0")
        run(con, 20)
        assert families_of(con) == {"q1": "_cql_family_1"}
        con.execute("ALTER CONTINUOUS QUERY q1 ACTIVATE")
        con.advance(30)
        assert families_of(con) == {"q1": None}


def test_a_family_stays_if_no_member_shows_all_that_the_others_show() -> None:
    """Apart they would need a plan each."""
    part = "SELECT v FROM s [RANGE 3] WHERE v > 0 AND k = {}"
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        register(con, "SELECT v, k FROM s [RANGE 3]", *map(part.format, range(3)))
        run(con)
        con.execute("DROP CONTINUOUS QUERY q0")
        run(con, 20)
        assert set(families_of(con).values()) == {"_cql_family_1"}
        con.execute("DROP CONTINUOUS QUERY q1; DROP CONTINUOUS QUERY q2")
        con.advance(30)
        assert families_of(con) == {"q3": None}


def test_many_parts_of_one_query_are_a_family_of_their_own() -> None:
    """With each that a wide family takes it is compiled anew."""
    part = "SELECT v FROM s [RANGE 3] WHERE v > 0 AND k = {}"
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        families = register(con, "SELECT v, k FROM s [RANGE 3]", *map(part.format, range(12)))
        # it has v > 0 and seven values of k
        assert families == 8 * ["_cql_family_1"] + 5 * ["_cql_family_2"]
        text = explained(con, f"EXPLAIN CREATE CONTINUOUS QUERY z AS {part.format(77)} AND d > 1")
        assert "_cql_family_1 would have more than 8 conditions" in text


def test_what_was_pinned_lets_a_family_end() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        register(con, *NARROWED[0][0])
        con.pin("stages", "whole", "q1")
        con.execute("DROP CONTINUOUS QUERY q0")
        run(con)
        assert families_of(con) == {"q1": "_cql_family_1"}
        con.pin("stages", None, "q1")
        run(con, 20)
        assert families_of(con) == {"q1": None}


@pytest.mark.parametrize("edge", ["closed", "half_open"])
def test_history_of_who_has_left_a_family_has_no_hole(edge: str) -> None:
    """In memory its log is a table, which history bounds as it bounds what lies in the buffer."""
    with cqlduck.connect(history="3", window_edge=edge) as con:
        con.execute(SCRIPT)
        register(con, "SELECT Rstream(v) FROM s [RANGE 2]",
                 "SELECT Rstream(k) FROM s [RANGE 2] WHERE k = 1")  # fmt: skip
        run(con)
        con.execute("DROP CONTINUOUS QUERY q0")
        run(con, 10)
        begin = con.engine.query("q1").history_from
        instants = {row[1] for row in con.changes("q1").fetchall()}
        assert instants
        assert min(instants) > begin


def test_narrowing_that_stops_at_any_statement_is_undone(tmp_path: Path) -> None:
    trace = Stops()
    with cqlduck.connect(tmp_path / "a.duckdb", trace=trace) as con:
        con.execute(SCRIPT)
        register(con, *NARROWED[1][0])
        run(con)
        con.execute("DROP CONTINUOUS QUERY q0")
        before, ways = told(con), set[str | None]()

        def check(stops: int) -> None:
            assert told(con) == before, stops
            # undone as a whole, or done as a whole before a merge that is undone
            ways.add(*set(families_of(con).values()))

        stops = trace.each_time(con.engine.between_ticks, check, step=9 // fewer_if_brief(9))
        assert stops > 10
        assert ways == {"_cql_family_1", None}
        assert told(con) == before
        run(con, 20)
        after = told(con)
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        assert told(con) == after
