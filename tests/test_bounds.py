"""What time says about the other side of a join takes no tuple away, however time is cut."""

from __future__ import annotations

import datetime as dt
import itertools
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cqlduck

EPOCH = dt.datetime(1970, 1, 1)
QUARTER = dt.timedelta(milliseconds=250)

Left, Right = tuple[int, int, int | None], tuple[int, int]
LEFT = st.tuples(st.integers(0, 1), st.integers(-9, 30), st.none() | st.integers(-12, 34))
RIGHT = st.tuples(st.integers(0, 1), st.integers(-9, 30))


def between(low: int, value: int, high: int) -> bool:
    return low <= value <= high


Meets = Callable[[int, int, int], bool]

CONDITIONS: dict[str, tuple[bool, Meets]] = {
    "b.t <= a.u": (True, lambda t, u, o: o <= u),
    "b.t < a.u": (True, lambda t, u, o: o < u),
    "a.u >= b.t": (True, lambda t, u, o: u >= o),
    "a.u > b.t": (True, lambda t, u, o: u > o),
    "b.t = a.u": (True, lambda t, u, o: o == u),
    "b.t BETWEEN a.t AND a.u": (True, lambda t, u, o: between(t, o, u)),
    "a.u BETWEEN b.t AND b.t": (True, lambda t, u, o: between(o, u, o)),
    "(a.t <= b.t AND (b.t <= a.u))": (True, lambda t, u, o: between(t, o, u)),
    "a.t <= b.t AND a.u IS NOT NULL": (False, lambda t, u, o: t <= o),
    "a.t > b.t AND a.u IS NOT NULL": (False, lambda t, u, o: t > o),
    "b.t = a.t AND a.u IS NOT NULL": (True, lambda t, u, o: t == o),
    "b.t >= a.u": (False, lambda t, u, o: o >= u),
    "NOT b.t <= a.u": (False, lambda t, u, o: o > u),
    "(b.t <= a.u OR a.u < b.t)": (False, lambda t, u, o: True),
}
"""Conditions on the times t, u of a and t of b: whether they give a bound, what they mean."""

KEPT = {
    "a.t <= b.t": {"a"},
    "b.t > a.t": {"a"},
    "b.t BETWEEN a.t AND a.u": {"a"},
    "b.t <= a.t": {"b"},
    "a.t = b.t": set(),
    "a.u <= b.t": {"a", "b"},
    "a.t + 0 <= b.t": {"a", "b"},
    "NOT a.t <= b.t": {"a", "b"},
}
"""Conditions, and which streams are kept for a join: what its tuples may still meet."""


THREE: dict[str, Meets] = {
    "a.t <= b.t AND a.t <= c.t": lambda a, b, c: a <= b and a <= c,
    "c.t >= b.t AND a.t <= c.t": lambda a, b, c: c >= b and a <= c,
    "a.t = c.t": lambda a, b, c: a == c,
}
"""Conditions on the times of three inputs."""


def expected(
    lefts: list[Left],
    rights: list[Right],
    meets: Meets,
    instant: Callable[[int], int],
) -> Counter[tuple[Any, ...]]:
    """The pairs, each at the instant at which the later of the two comes."""
    return Counter(
        (t, u, o, instant(max(t, o)))
        for k, t, u in lefts
        for m, o in rights
        if k == m and u is not None and meets(t, u, o)
    )


def found(
    con: cqlduck.Connection,
    condition: str,
    bounded: bool,
    lefts: list[tuple[Any, ...]],
    rights: list[tuple[Any, ...]],
    cuts: list[Any],
) -> list[tuple[Any, ...]]:
    con.execute(
        "CREATE CONTINUOUS QUERY q AS SELECT a.t, a.u, b.t AS o FROM a JOIN b "
        f"ON a.k = b.k AND {condition}"
    )
    moment = "CAST($t0 AS BIGINT) + 1"
    assert (moment in con.explain("q")) == bounded
    # all before the first cut, so that ticks are long and late elements none
    con.append("a", sorted(lefts, key=operator.itemgetter(1)))
    con.append("b", sorted(rights, key=operator.itemgetter(1)))
    for cut in cuts:
        con.advance(cut)
    return [row[:-1] for row in con.changes("q").fetchall() for _ in range(row[-1])]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_integer_time(condition: str) -> None:
    bounded, meets = CONDITIONS[condition]

    @given(
        st.sampled_from(["BIGINT", "INTEGER", "SMALLINT"]),
        st.lists(LEFT, max_size=6),
        st.lists(RIGHT, max_size=6),
        st.sets(st.integers(-10, 30)),
    )
    @example("BIGINT", [(1, 0, 1)], [(1, 1)], {0})
    @settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=5)
    def run(kind: str, lefts: list[Left], rights: list[Right], cuts: set[int]) -> None:
        with cqlduck.connect() as con:
            con.execute(
                f"CREATE STREAM a (k INTEGER, t {kind}, u {kind}) TIMESTAMP BY t;"
                f"CREATE STREAM b (k INTEGER, t {kind}) TIMESTAMP BY t;"
            )
            rows = found(con, condition, bounded, list(lefts), list(rights), [*sorted(cuts), 31])
        assert Counter(rows) == expected(lefts, rights, meets, lambda t: t)

    run()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_wall_clock_time(condition: str) -> None:
    bounded, meets = CONDITIONS[condition]

    def shown(quarters: int | None) -> dt.datetime | None:
        return None if quarters is None else EPOCH + quarters * QUARTER

    def quarters(moment: dt.datetime) -> int:
        return (moment.replace(tzinfo=None) - EPOCH) // QUARTER

    @given(
        st.sampled_from(["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]),
        st.lists(LEFT, max_size=6),
        st.lists(RIGHT, max_size=6),
        st.sets(st.integers(-3, 8)),
    )
    @example("TIMESTAMP", [(1, 0, 4)], [(1, 4)], {1})
    @settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=5)
    def run(kind: str, lefts: list[Left], rights: list[Right], cuts: set[int]) -> None:
        with cqlduck.connect(granularity="1 second") as con:
            con.execute(
                f"CREATE STREAM a (k INTEGER, t {kind}, u {kind}) TIMESTAMP BY t;"
                f"CREATE STREAM b (k INTEGER, t {kind}) TIMESTAMP BY t;"
            )
            rows = found(
                con,
                condition,
                bounded,
                [(k, shown(t), shown(u)) for k, t, u in lefts],
                [(k, shown(o)) for k, o in rights],
                [EPOCH + dt.timedelta(seconds=cut) for cut in [*sorted(cuts), 9]],
            )
        read = [(*map(quarters, row[:3]), quarters(row[3])) for row in rows]
        assert Counter(read) == expected(lefts, rights, meets, lambda t: t // 4 * 4)

    run()


@pytest.mark.parametrize("condition", KEPT)
@pytest.mark.parametrize("order", ["a, b", "b, a"])
def test_what_only_meets_earlier_tuples_is_not_kept(condition: str, order: str) -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM a (k INTEGER, t BIGINT, u BIGINT) TIMESTAMP BY t;"
            "CREATE STREAM b (k INTEGER, t BIGINT) TIMESTAMP BY t;"
            f"CREATE CONTINUOUS QUERY q AS SELECT a.k FROM {order} WHERE a.k = b.k AND {condition}"
        )
        spans = con.engine.compiled["q"].spans
        assert {name for name, span in spans.items() if span is None} == KEPT[condition]


@given(
    st.sampled_from(["a, b, c", "b, c, a", "c, a, b"]),
    st.sampled_from(list(THREE)),
    st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=3, max_size=3),
    st.sets(st.integers(0, 4)),
)
@example("a, b, c", "c.t >= b.t AND a.t <= c.t", [[0], [1], [2, 2]], {1})
@example("a, b, c", "a.t <= b.t AND a.t <= c.t", [[0], [1], [2]], {0, 1})
@settings(deadline=None, max_examples=fewer_if_brief(25))
def test_three_inputs(order: str, condition: str, times: list[list[int]], cuts: set[int]) -> None:
    with cqlduck.connect() as con:
        for name in "abc":
            con.execute(f"CREATE STREAM {name} (t BIGINT) TIMESTAMP BY t")
        con.execute(
            f"CREATE CONTINUOUS QUERY q AS SELECT a.t, b.t AS u, c.t AS v FROM {order} "
            f"WHERE {condition}"
        )
        for name, own in zip("abc", times, strict=True):
            con.append(name, [(t,) for t in sorted(own)])
        for cut in [*sorted(cuts), 5]:
            con.advance(cut)
        rows = [row[:4] for row in con.changes("q").fetchall() for _ in range(row[4])]
    wanted = [(*t, max(t)) for t in itertools.product(*times) if THREE[condition](*t)]
    assert Counter(rows) == Counter(wanted)


def test_a_column_of_another_type_gives_no_bound() -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM a (k INTEGER, u DOUBLE); CREATE STREAM b (k INTEGER, t BIGINT) "
            "TIMESTAMP BY t; CREATE CONTINUOUS QUERY q AS SELECT b.t FROM a, b "
            "WHERE a.k = b.k AND b.t <= a.u"
        )
        assert "CAST($t0 AS BIGINT) + 1" not in con.explain("q")
        con.append("a", [(1, "3"), (2, "9e999")], at=0)
        con.append("b", [(1, 1), (1, 5)])
        con.advance(9)
        assert con.changes("q").fetchall() == [(1, 1, 1)]


@pytest.mark.parametrize(
    ("window", "counts"),
    [
        ("[RANGE 5]", {4: 1, 8: 1, 9: 0}),
        ("[RANGE UNBOUNDED SLIDE 4]", {3: 0, 4: 1, 9: 1}),
        ("[ROWS 1]", {4: 1, 6: 0}),
    ],
)
def test_other_windows_hold_and_lose_older_tuples(window: str, counts: dict[int, int]) -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM a (k INTEGER, u BIGINT); CREATE STREAM b (k INTEGER, t BIGINT) "
            "TIMESTAMP BY t; CREATE CONTINUOUS QUERY q AS SELECT b.t FROM a, "
            f"b {window} WHERE a.k = b.k AND b.t <= a.u"
        )
        con.append("a", [(1, 3)], at=0)
        con.append("b", [(1, 3), (2, 6), (2, 20)])
        for instant, count in counts.items():
            con.advance(instant)
            assert len(con.table("q").fetchall()) == count, instant
