"""What meets bounds of a relation is summed up by interval, and no element depends on it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.physical.form import Form

CREATE = """
    CREATE STREAM s (k INTEGER, j INTEGER, v INTEGER, p DOUBLE, d DECIMAL(8, 2), x VARCHAR,
        w DOUBLE);
    CREATE STREAM u (k INTEGER, v INTEGER);
    CREATE RELATION r (m INTEGER, j INTEGER, c INTEGER, p DOUBLE, d DECIMAL(6, 1), x VARCHAR,
        e INTEGER, w BIGINT);
"""

SUMMED = (
    "SELECT s.k, m, count(*) AS n, sum(v) AS t FROM s [RANGE 3], r WHERE s.v > c GROUP BY s.k, m"
)


def has_intervals(con: cqlduck.Connection, name: str = "q") -> bool:
    """Return whether the pairs of a query can be done without."""
    return con.engine.compiled[name].steps.offers(Form(single=True)).has_intervals


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (SUMMED, True),
        (SUMMED.replace("s.v > c", "c <= s.v"), True),
        (SUMMED.replace("s.v > c", "s.v > c AND s.j = r.j AND s.k > 0 AND m < 9"), True),
        (SUMMED.replace("s.v > c", "s.p < r.p"), True),
        (SUMMED.replace("s.v > c", "s.p < r.c"), True),
        (SUMMED.replace("s.v > c", "s.d >= r.d"), True),
        (SUMMED.replace("s.v > c", "s.d >= r.c"), True),
        ("SELECT m, avg(v) AS a, count(*) AS n FROM s, r WHERE v > c GROUP BY m", True),
        ("SELECT m, sum(v * 2) AS a FROM s [ROWS 3], r WHERE v > c GROUP BY m HAVING a > 3", True),
        # of bounds that differ DuckDB may make the same double, and order texts otherwise
        (SUMMED.replace("s.v > c", "s.p < r.d"), False),
        (SUMMED.replace("s.v > c", "s.x < r.x"), False),
        # several comparisons, others, or expressions
        (SUMMED.replace("s.v > c", "s.v BETWEEN c AND r.j"), True),
        (SUMMED.replace("s.v > c", "s.v > c AND s.k < c"), False),
        (SUMMED.replace("s.v > c", "s.v > c AND s.v >= m"), False),
        (SUMMED.replace("s.v > c", "s.v > c AND s.v < m AND s.v < c"), False),
        (SUMMED.replace("s.v > c", "s.v <> c"), False),
        (SUMMED.replace("s.v > c", "s.v + 1 > c"), False),
        (SUMMED.replace("s.v > c", "s.v = c"), False),
        # two bounds may be equal to one value
        (SUMMED.replace("s.v > c", "s.v > c AND s.x = r.x"), True),
        (SUMMED.replace("s.v > c", "s.v > c AND s.p = r.j"), True),
        (SUMMED.replace("s.v > c", "s.v > c AND s.p = r.d"), False),
        # to take away what is beyond the upper bound might overflow
        (SUMMED.replace("sum(v)", "avg(v::HUGEINT)"), True),
        (SUMMED.replace("sum(v)", "sum(v::BIGINT)").replace("> c", "BETWEEN c AND e"), True),
        (SUMMED.replace("sum(v)", "sum(v::HUGEINT)").replace("> c", "BETWEEN c AND e"), False),
        # what is summed up is of bounds, or no sum
        ("SELECT m, sum(c) AS a FROM s [RANGE 3], r WHERE v > c GROUP BY m", False),
        ("SELECT m, sum(v + c) AS a FROM s [RANGE 3], r WHERE v > c GROUP BY m", False),
        ("SELECT m + 1 AS m, count(*) AS n FROM s [RANGE 3], r WHERE v > c GROUP BY 1", False),
        ("SELECT m, max(v) AS a FROM s [RANGE 3], r WHERE v > c GROUP BY m", False),
        ("SELECT m, count(DISTINCT v) AS a FROM s [RANGE 3], r WHERE v > c GROUP BY m", False),
        ("SELECT count(*) AS a FROM s [RANGE 3], r WHERE v > c", False),
        # no relation of a user's
        ("SELECT u.k, count(*) AS n FROM s [NOW], u [NOW] WHERE s.v > u.v GROUP BY u.k", False),
    ],
)  # fmt: skip
def test_which_pairs_an_aggregate_can_do_without(text: str, has: bool) -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {text}")
        assert has_intervals(con) == has


def test_pairs_with_settled_bounds_are_not_formed() -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {SUMMED}")
        con.pin("stages", "intervals", "q")
        settled = []
        for at in range(11):
            if at in (0, 5):
                con.append("r", [(at, 0, 0, 0, 0, "", 0, 0)], at=at)
            con.append("s", [(1, 0, 5, 0, 0, "", 0)], at=at)
            con.advance(at)
            base = con.engine.database
            name = base.value(
                "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '_cql_bounds%'"
            )
            settled.append(base.value(f'SELECT count(*) FROM temp."{name}"'))
        # one that comes meets what is there in the tick in which it comes
        assert settled == [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("conditions", "called", "rows", "bounds"),
    [
        ("v > c AND s.j = r.j", "count(*)", [(3, 2.0**53, 1)], [(2, 2**53, 0), (2, 2**53 + 1, 0)]),
        ("v BETWEEN c AND e", "sum(h)", [(9, 0, 2**126), (8, 0, 2**126), (4, 0, 5)], [(2, 0, 5)]),
        ("v BETWEEN c AND e", "avg(h)", [(9, 0, 2**126), (8, 0, 2**126), (4, 0, 5)], [(2, 0, 5)]),
    ],
)
def test_what_bounds_do_not_tell_apart_or_leave_out_counts_as_in_pairs(
    conditions: str, called: str, rows: list[tuple[Any, ...]], bounds: list[tuple[Any, ...]]
) -> None:
    """A DOUBLE may be equal to two BIGINTs, and what a bound leaves out may not overflow."""
    found = []
    for option in ("intervals", "whole"):
        with cqlduck.connect() as con:
            con.execute(
                "CREATE STREAM s (v INTEGER, j DOUBLE, h HUGEINT);"
                "CREATE RELATION r (c INTEGER, j BIGINT, e INTEGER);"
                f"CREATE CONTINUOUS QUERY q AS SELECT c, r.j, {called} AS n FROM s [RANGE 3], r "
                f"WHERE {conditions} GROUP BY c, r.j"
            )
            con.pin("stages", option, "q")
            con.append("r", bounds, at=0)
            con.advance(0)
            con.append("s", rows, at=1)
            con.advance(1)
            found.append(sorted(con.table("q").fetchall()))
    assert found[0] == found[1] != []


CALLS = ["count(*)", "count(v)", "sum(v)", "avg(v)", "sum(s.d)", "count(*) FILTER (WHERE s.k > 0)",
         "sum(v * s.k)"]  # fmt: skip
VALUES = st.one_of(st.none(), st.integers(0, 4))
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=6)
BOUNDS = st.lists(st.tuples(st.booleans(), st.integers(0, 2), VALUES, VALUES, VALUES), max_size=3)
TICKS = st.lists(
    st.lists(st.tuples(st.sampled_from([0, 0, 1, 1, 6]), ROWS, BOUNDS), min_size=1, max_size=3),
    min_size=1,
    max_size=6,
)


def wide(value: int | None) -> int | None:
    """Return a number of which a DOUBLE does not tell each from the next."""
    return None if value is None else 2**53 + value


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Draw a query that sums up what meets bounds."""
    window = draw(st.sampled_from(["[RANGE 2]", "[NOW]", "", "[ROWS 2]", "[RANGE 4 SLIDE 2]"]))
    compared = draw(
        st.sampled_from(
            ["s.v {} r.c", "r.c {} s.v", "s.p {} r.c", "s.d {} r.d", "s.p {} r.p", "s.w {} r.w"]
        )
    )
    conditions = [compared.format(draw(st.sampled_from(["<", "<=", ">", ">="])))]
    if draw(st.booleans()):
        lower, upper = draw(st.sampled_from([">", ">="])), draw(st.sampled_from(["<", "<="]))
        between = st.sampled_from([f"s.v {lower} r.c AND s.v {upper} r.e", "s.v BETWEEN c AND e"])
        conditions = [draw(between)]
    conditions += draw(
        st.lists(st.sampled_from(["s.j = r.j", "s.w = r.w", "s.k < 3", "r.m > 0"]), unique=True)
    )
    keys = draw(st.sampled_from(["s.k, r.m", "r.m", "r.m, r.c", "s.k, s.j, r.m", "r.m, r.j"]))
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    listed = ", ".join(f"{call} AS a{place}" for place, call in enumerate(calls))
    where = " AND ".join(draw(st.permutations(conditions)))
    tables = draw(st.permutations([f"s {window}", "r"]))
    return f"SELECT {keys}, {listed} FROM {', '.join(tables)} WHERE {where} GROUP BY {keys}"


@given(text=queries(), ticks=TICKS, edge=st.sampled_from(["closed", "half_open"]))
@settings(max_examples=fewer_if_brief(40), deadline=None)
def test_no_element_depends_on_it(text: str, ticks: Any, edge: str) -> None:
    with (
        cqlduck.connect(threads=1, window_edge=edge) as con,
        cqlduck.connect(threads=1, window_edge=edge) as other,
    ):
        at, both = 0, (con, other)
        for one, option in zip(both, ("intervals", "whole"), strict=True):
            one.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {text}")
            one.pin("stages", option, "q")
        for number, tick in enumerate(ticks):
            at += 1
            for step, rows, bounds in tick:
                at += step
                made = [(k, j, v, v, v, "", wide(k)) for k, j, v in rows]
                for one in both:
                    if made:
                        one.append("s", made, at=at)
                for comes, m, j, c, e in bounds:
                    row = (m, j, c, c, c, "", e, wide(e))
                    for one in both:
                        if comes:
                            one.append("r", [row], at=at)
                        else:
                            one.execute(f"DELETE FROM r WHERE m = {m}")
            if number % 3 == 2:
                at += 1
            for one in both:
                one.advance(at)
            found, expected = (sorted(one.changes("q").fetchall(), key=repr) for one in both)
            assert found == expected
        assert sorted(con.table("q").fetchall(), key=repr) == sorted(
            other.table("q").fetchall(), key=repr
        )


def test_a_member_that_joins_later_has_what_came_after_it() -> None:
    text = "SELECT k, count(*) AS n, sum(v) AS t FROM s [RANGE 4] WHERE v {} GROUP BY k"
    conditions = ["> 3", "> 5", "BETWEEN 2 AND 6", "BETWEEN 5 AND 9"]
    with cqlduck.connect() as con, cqlduck.connect(sharing=False) as alone:
        for one in (con, alone):
            one.execute(CREATE)
        for at in range(16):
            if at % 3 == 0 and at < 12:
                for number, condition in enumerate(conditions):
                    name = f"q{at}_{number}"
                    for one in (con, alone):
                        one.execute(f"CREATE CONTINUOUS QUERY {name} AS {text.format(condition)}")
                con.pin("stages", "intervals", name)
            for one in (con, alone):
                one.append("s", [(v % 2, 0, v, 0, 0, "", 0) for v in range(at % 2, 11)], at=at)
                one.advance(at)
        for name in con.queries:
            found, expected = (sorted(one.changes(name).fetchall()) for one in (con, alone))
            assert found == expected, name
        families = {family for (family,) in con.sql("SELECT family FROM cql.queries").fetchall()}
        # of comparisons and of BETWEEN; those that begin with time take those that join later
        assert len(families) == 2
        assert all(has_intervals(con, family.lower()) for family in families)


SHARED = ["count(*)", "count(v)", "sum(v)", "avg(v)", "sum(s.d)", "max(v)", "min(v)", "mode(v)"]
"""Calls that cannot fail, and have no constants: those are cut out of texts."""


def shape(chance: random.Random) -> str:
    """Draw what queries have in common that differ in the lengths of windows, and in constants."""
    sign = chance.choice(["<", "<=", ">", ">="])
    compared = chance.choice(
        ["", f"v {sign} {{c}}", f"v {sign} {{c}}", "v BETWEEN {c} AND {e}",
         f"v {sign} {{c}} AND j = {{e}}", "j = {e}"]
    )  # fmt: skip
    own = [one for one in ("k <= j", "p IS NOT NULL") if chance.random() < 0.4]
    where = " AND ".join(filter(None, [*own, compared]))
    listed = ", ".join(
        f"{call} AS a{at}" for at, call in enumerate(chance.sample(SHARED, chance.randrange(1, 3)))
    )
    keys = chance.choice(["k", "k, j"])
    condition = f" WHERE {where}" if where else ""
    return f"SELECT {keys}, {listed} FROM s [RANGE {{w}}]{condition} GROUP BY {keys}"


@pytest.mark.parametrize("seed", range(14))
def test_windows_of_several_lengths_are_summed_up_as_each_alone(seed: int) -> None:
    chance = random.Random(seed)
    text, edge = shape(chance), chance.choice(["closed", "half_open"])
    with (
        cqlduck.connect(threads=1, window_edge=edge) as con,
        cqlduck.connect(threads=1, window_edge=edge, sharing=False) as alone,
    ):
        at, number, both = 0, 0, (con, alone)
        for one in both:
            one.execute(CREATE)
        con.pin("stages", "intervals")
        for tick in range(12):
            for _ in range(4 if not tick else chance.randrange(2) if tick < 7 else 0):
                # lengths of one family are up to twice the shortest
                w = chance.choice([0, 3, 4, 5, 6, 7, 8]) if number else 8
                made = text.format(w=w, c=chance.randrange(-1, 4), e=chance.randrange(5))
                for one in both:
                    one.execute(f"CREATE CONTINUOUS QUERY q{number} AS {made}")
                number += 1
            if tick and chance.random() < 0.2:
                dropped = chance.choice([*con.queries])
                for one in both:
                    one.execute(f"DROP CONTINUOUS QUERY {dropped}")
            at += 1
            for step in chance.choice([[0], [0, 1], [0, 1, 2], [1, 7], []]):
                at += step
                drawn = [[chance.choice([None, *range(5)]) for _ in range(3)] for _ in range(5)]
                rows = [(k, j, v, v, v, "", wide(k)) for k, j, v in drawn]
                for one in both:
                    one.append("s", rows, at=at)
            for one in both:
                one.advance(at)
            for name in con.queries:
                found, expected = (sorted(one.changes(name).fetchall(), key=repr) for one in both)
                assert found == expected, (name, text)


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("SELECT k, count(*) AS n FROM s [RANGE {w}] GROUP BY k", True),
        ("SELECT k, count(*) AS n FROM s [RANGE {w}] WHERE v > {c} GROUP BY k", True),
        ("SELECT k, sum(v) AS t FROM s [RANGE {w}] WHERE v BETWEEN {c} AND 9 GROUP BY k", True),
        ("SELECT k, sum(v) AS t FROM s [RANGE {w}] WHERE v > {c} AND j < 9 GROUP BY k", False),
        ("SELECT k, max(v) AS t FROM s [RANGE {w}] WHERE v > {c} GROUP BY k", False),
    ],
)
def test_windows_of_which_lengths_are_summed_up_together(text: str, has: bool) -> None:
    with cqlduck.connect() as con:
        con.execute(CREATE)
        for number, w in enumerate((8, 7, 6)):
            made = text.format(w=w, c=number)
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {made}")
        con.pin("stages", "intervals")
        con.append("s", [(1, 0, 5, 0, 0, "", 0)], at=1)
        con.advance(1)
        (family,) = {
            name for (name,) in con.sql("SELECT family FROM cql.queries").fetchall() if name
        }
        assert has_intervals(con, family.lower()) == has
        if has:
            con.execute(f"CREATE CONTINUOUS QUERY q9 AS {text.format(w=5, c=1)}")
            base, settled = con.engine.database, []
            for at in range(2, 11):
                con.append("s", [(1, 0, 5, 0, 0, "", 0)], at=at)
                con.advance(at)
                name = base.value(
                    "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '_cql_bounds%'"
                )
                settled.append(base.value(f'SELECT count(*) FROM temp."{name}"'))
            # the one that came later forms pairs until what was there before has left
            assert settled == [3] * 6 + [4] * 3
