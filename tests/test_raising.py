"""Conditions and expressions that may raise: when a query fails follows from its text and the data.

Not from how time is cut into ticks, from the form of the statements, or from what DuckDB works out
first. The expected instant is found pair by pair, as the text reads.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import choices
import duckdb
import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

import cqlduck
from cqlduck.rewrite.plan import raising
from cqlduck.rewrite.plan.castable import is_castable
from cqlduck.rewrite.text.queries import parse_query

S, R = tuple[int, int, str | None], tuple[int, int, str | None]
"""A tuple of the stream (t, k, x), and of the relation (from which instant it is there, k, y)."""


class Raised(Exception):
    """A condition raises for a pair."""


def number(text: str | None) -> int | None:
    if text == "bad":
        raise Raised
    return None if text is None else int(text)


def is_more(value: int | None, than: int) -> bool | None:
    return None if value is None else value > than


def are_equal(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one == other


CONDITIONS: dict[str, Callable[[S, R], bool | None]] = {
    "s.k = r.k": lambda s, r: s[1] == r[1],
    "s.x::INT > 0": lambda s, r: is_more(number(s[2]), 0),
    "r.y::INT > 0": lambda s, r: is_more(number(r[2]), 0),
    "s.x::INT = r.k": lambda s, r: are_equal(number(s[2]), r[1]),
    "s.k = r.y::INT": lambda s, r: are_equal(s[1], number(r[2])),
    "s.k > 0": lambda s, r: s[1] > 0,
    # a constant that is no number raises for each row that it meets
    "r.k = 'bad'": lambda s, r: are_equal(r[1], number("bad")),
    "s.k = CASE WHEN s.t > 2 THEN 'bad' ELSE '1' END": lambda s, r: are_equal(
        s[1], number("bad" if s[0] > 2 else "1")
    ),
}

WINDOWS = {"NOW": 0, "RANGE 1": 1, "RANGE 20": 20}

SHAPES = {
    "on": "SELECT s.t, r.k FROM s [{window}] JOIN r ON {conditions}",
    "where": "SELECT s.t, r.k FROM s [{window}], r WHERE {conditions}",
    "exists": "SELECT s.t FROM s [{window}] WHERE EXISTS (SELECT 1 FROM r WHERE {conditions})",
}

LAST = 6


def expected(
    shape: str, width: int, conditions: list[str], lefts: list[S], rights: list[R]
) -> tuple[int | None, list[Counter[tuple[int, ...]]]]:
    """The instant at which the query fails, or None; and what it holds at each before that."""
    held: list[Counter[tuple[int, ...]]] = []
    for now in range(LAST + 1):
        found: Counter[tuple[int, ...]] = Counter()
        for s in (s for s in lefts if s[0] <= now <= s[0] + width):
            there = [r for r in rights if r[0] <= now]
            try:
                met = [r for r in there if all(CONDITIONS[c](s, r) for c in conditions)]
            except Raised:
                return now, held
            if shape == "exists":
                found[(s[0],)] += bool(met)
            else:
                found.update((s[0], r[1]) for r in met)
        held.append(+found)
    return None, held


TEXT = st.sampled_from(["0", "1", "2", "bad", None])
LEFTS = st.lists(st.tuples(st.integers(0, LAST), st.integers(0, 2), TEXT), max_size=4)
RIGHTS = st.lists(st.tuples(st.integers(0, LAST), st.integers(0, 2), TEXT), max_size=4)
ORDERS = st.lists(st.sampled_from(sorted(CONDITIONS)), min_size=1, max_size=4, unique=True)


@settings(max_examples=fewer_if_brief(25), suppress_health_check=[HealthCheck.too_slow])
@example("on", "NOW", ["s.k = r.k", "s.x::INT > 0"], [(0, 1, "bad")], [(1, 1, "1")], [0], True)
@example("on", "NOW", ["s.x::INT > 0", "s.k = r.k"], [(0, 1, "bad")], [(0, 2, "1")], [], True)
@example("where", "RANGE 20", ["s.x::INT = r.k"], [(0, 1, "bad")], [(3, 2, "1")], [1], False)
@example("where", "NOW", ["s.k = r.k", "r.k = 'bad'"], [(0, 1, None)], [(0, 2, None)], [], True)
@example("exists", "NOW", ["r.y::INT > 0"], [(0, 1, "1")], [(1, 2, "bad")], [], False)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    window=st.sampled_from(sorted(WINDOWS)),
    conditions=ORDERS,
    lefts=LEFTS,
    rights=RIGHTS,
    cuts=st.lists(st.integers(0, LAST), max_size=3),
    staged=st.booleans(),
)
def test_a_query_fails_at_the_first_pair_that_raises(
    shape: str,
    window: str,
    conditions: list[str],
    lefts: list[S],
    rights: list[R],
    cuts: list[int],
    staged: bool,
) -> None:
    fails, held = expected(shape, WINDOWS[window], conditions, lefts, rights)
    with cqlduck.connect() as con:
        choices.force_stages(con, staged)
        con.execute("CREATE STREAM s (t BIGINT, k INTEGER, x VARCHAR) TIMESTAMP BY t")
        con.execute("CREATE RELATION r (k INTEGER, y VARCHAR)")
        body = SHAPES[shape].format(window=window, conditions=" AND ".join(conditions))
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        for t, k, x in sorted(lefts, key=lambda s: s[0]):
            con.append("s", [(t, k, x)])
        for t, k, y in sorted(rights, key=lambda r: r[0]):
            con.append("r", [(k, y)], at=t)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for to in (*sorted(cuts), LAST):
                con.advance(to)
        ((state, frontier),) = con.sql("SELECT state, frontier FROM cql.queries").fetchall()
        assert ("active" if fails is None else "failed") == state
        assert (LAST if fails is None else fails - 1) == int(frontier)
        changes = con.changes("q").fetchall()
    for now, content in enumerate(held):
        found: Counter[tuple[int, ...]] = Counter()
        for *row, at, weight in changes:
            if at <= now:
                found[tuple(row)] += weight
        assert content == +found


def cases() -> Iterator[tuple[str, bool]]:
    for safe in (
        "i > 1", "i > 1.5 AND d > 2", "i = b", "b < d", "v = 'x'", "v LIKE 'a%'", "i IN (1, 2)",
        "i IS NULL OR NOT v = 'y'", "coalesce(i, 0) > b", "CAST(i AS BIGINT) = b", "d * 2 + d > 1",
        "CASE WHEN v = 'x' THEN i ELSE 0 END = 1", "TRY_CAST(v AS INTEGER) = i", "lower(v) = 'x'",
        "v ~ 'a+'", "NOT regexp_matches(v, 'a', 'i')", "regexp_full_match(v, 'a')",
        "v SIMILAR TO 'a'", "contains(v, 'a')", "ends_with(v, 'a')",
        "v || 'a' = v", "'a' || v || 'b' LIKE 'a%'", "concat(v, 'b') = v", "trim(v) = 'x'",
        "ltrim(v, 'a') = rtrim(v)", "replace(v, 'a', 'b') = reverse(v)", "v || NULL = v",
        "i BETWEEN 1 AND b", "CAST(b AS VARCHAR) = v", "i IS NOT DISTINCT FROM b",
        "m < 24", "m BETWEEN 0.05 AND -0.5", "m = i", "m = b", "coalesce(m, 0.5) > i", "m = '1'",
        "m = d", "m < 0.2 * d",
        "i = '-5' AND b IN (1, '2') AND d < '1.5'", "m = '-1.005'", "l = 'true' AND e = 'z'",
        "CASE WHEN l THEN 1 ELSE 0 END = d", "CASE WHEN l THEN 'a' ELSE 'b' END = v",
        "coalesce(NULL, 0.5) < m", "CAST('1' AS BIGINT) = i", "t = '1995-01-31'", "i = (1)",
        "z >= '1995-01-31 10:30' AND z < TIMESTAMP '1995-02-28 10:30:00.5'", "u = '255'",
        "x < '2 days' AND l = 'f'",
        "ts > '1995-01-31 10:30:00.5' AND ms IN ('1995-01-31', '9999-12-31T23:59:59.999999')",
        "ns BETWEEN '1678-01-01' AND '2261-12-31 23:59:59.999999'", "ts = TIMESTAMP_S '1995-01-31'",
        "tz < '23:59' OR tz > '10:30:00+15:59' OR tz = '10:30:00.5-01' OR tz = TIMETZ '10:30'",
        "o >= '1995-01-31' AND o < TIMESTAMPTZ '1995-02-28 10:30'",
        "t < DATE '1995-01-31' + INTERVAL 3 MONTH", "t >= (DATE '1995-01-31') - INTERVAL 90 DAY",
    ):  # fmt: skip
        yield safe, safe == "i > 1.5 AND d > 2"
    for unsafe in (
        "CAST(v AS INTEGER) = 1", "i + 1 > 2", "v = 1", "v = i", "b // i = 1",
        "CAST(b AS INTEGER) = 1", "v ~ v", "i ~ 'a'", "v SIMILAR TO lower(v)", "contains(l, 'a')",
        "CAST(v || 'a' AS INTEGER) = 1", "v || 'a' = i", "replace(v, 'a', 1 + i) = 'x'",
        "length()", "lower() = 'a'", "contains()", "regexp_matches()",
        "regexp_matches(v, 'a', v)", "v ~ NULL", "regexp_matches(CAST(i AS DATE), 'a')",
        "CASE WHEN v = 'x' THEN i + 1 ELSE 0 END = 1", "coalesce(CAST(v AS INTEGER), 0) = 1",
        "sqrt(d) > 1", "-i = 1", "w < 0.001", "w = m", "m < 1e3", "m IN (1, '2')",
        "i = 'x'", "i IN (1, 'x')", "i = '3000000000'", "u = '256'", "u = '-1'", "m = (1e3)",
        "m = '99999999999999'", "t = '1995-02-30'", "t = '1995-01-31x'", "l = 'x'", "l AND 'x'",
        "CAST('x' AS INTEGER) = i", "CAST(300 AS TINYINT) = i", "'x' = 1", "x < 'soon'",
        "i = CASE WHEN l THEN '1' ELSE '2' END", "i = coalesce(NULL, '1')", "j = 'x'",
        "coalesce(i, 'x') = 1", "CASE WHEN l THEN i ELSE 'x' END = 1", "d < -('x')",
        "ns > '1677-12-31'", "ns > '2262-01-01'", "ns = TIMESTAMP_NS '1677-01-01'",
        "ts = '1995-02-30'",
        "tz = '10:30+01'", "tz = '10:30:00+16'", "tz = '24:00:00'", "tz = '10:30:00 UTC'",
        "ts = TIMESTAMP '1995-01-31'", "ts = ms",
        "t < DATE '1995-01-31' + INTERVAL (i) MONTH", "t + INTERVAL 3 MONTH > t",
        "t < DATE '1995-01-31' + INTERVAL 100000 YEAR", "t < TIMESTAMP '1995-01-31 12:00:00'",
    ):  # fmt: skip
        yield unsafe, True


@pytest.mark.parametrize(("text", "unsafe"), list(cases()))
def test_what_may_raise(text: str, unsafe: bool) -> None:
    types = {"i": "INTEGER", "b": "BIGINT", "d": "DOUBLE", "v": "VARCHAR", "t": "DATE"}
    types |= {"m": "DECIMAL(15,2)", "w": "DECIMAL(38,0)", "l": "BOOLEAN", "e": "ENUM('a')"}
    types |= {"z": "TIMESTAMP", "u": "UTINYINT", "x": "INTERVAL", "j": "JSON"}
    types |= {"ts": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "ns": "TIMESTAMP_NS"}
    types |= {"tz": "TIME WITH TIME ZONE", "o": "TIMESTAMP WITH TIME ZONE"}
    assert unsafe == raising.can_raise(condition(text), types)


def condition(text: str) -> exp.Expr:
    """Return a condition as the engine reads it: most functions by their names."""
    return parse_query(f"SELECT i FROM s WHERE {text}").tree.args["where"].this


DAYS = ["0000-01-01", "0001-01-01", "1677-12-31", "1678-01-01", "1995-02-28", "1995-02-29",
        "2261-12-31", "2262-01-01", "9999-12-31", "10000-01-01", "1995-1-1"]  # fmt: skip
CLOCKS = ["00:00", "23:59", "24:00", "9:00", "23:59:59", "23:60:00", "23:59:60", "00:00:00.1",
          "23:59:59.999999", "23:59:59.9999999"]  # fmt: skip
OFFSETS = ["", "Z", "+1", "+01", "-15", "+15:59", "-16", "+16:00", " +01", "+01:60", "-00"]
NUMBERS = [
    "0", "-0", "1.5", "1e3", "127", "-128", "128", "255", "256", "-1", "9" * 10, "9" * 18, "9" * 19,
    "9" * 38, "99.994", "99.995", "99.99", "100", "00099.9", ".5", "5.",
]  # fmt: skip
WORDS = [
    "", "true", "T", "f", "yes", "x", "2 days", "3 WEEKS", "-1 day", "1000000 years", "1 d", "a\\x",
    "00000000-0000-0000-0000-00000000000A", "00000000-0000-0000-0000-0000000",
]  # fmt: skip
KINDS = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
    "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL(4,2)", "DECIMAL(38,0)", "DATE",
    "TIME", "TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE", "INTERVAL", "UUID", "BLOB", "VARCHAR",
]  # fmt: skip


def constants() -> list[str]:
    moments = [f"{day}{by}{clock}" for day in DAYS for by in " T" for clock in CLOCKS]
    clocks = [f"{clock}{offset}" for clock in CLOCKS for offset in OFFSETS]
    return [*DAYS, *moments, *clocks, *NUMBERS, *WORDS]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_castable_is_cast(kind: str) -> None:
    found = [text for text in constants() if is_castable(text, kind)]
    assert found
    with duckdb.connect() as shell:
        cast = f"SELECT count(CAST(text AS {kind})) FROM (SELECT unnest(?) AS text)"
        assert [(len(found),)] == shell.execute(cast, [found]).fetchall()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAST(v AS INTEGER) = b + 1 OR i IS NULL", ["CAST(v AS INT)", "b + 1"]),
        # all of an operand: what is around a part may raise too
        ("CAST(i * 60 AS TINYINT) = b", ["CAST(i * 60 AS TINYINT)"]),
        ("coalesce(CAST(v AS INTEGER), i) = b", ["COALESCE(CAST(v AS INT), i)"]),
        ("unknown(v) = b", ["UNKNOWN(v)"]),
        # it may raise though its operands do not
        ("i + b > 3", ["i + b"]),
        ("CAST(v AS INTEGER) + b > 3", ["CAST(v AS INT) + b"]),
        ("CAST(v AS INTEGER) = w", ["CAST(v AS INT) = w"]),
        ("i = b", []),
    ],
)  # fmt: skip
def test_the_parts_that_may_raise(text: str, expected: list[str]) -> None:
    """Of `i` and `v` of one input, `b` and `w` of another."""
    types = {"i": "INTEGER", "v": "VARCHAR", "b": "BIGINT", "w": "VARCHAR"}

    def is_one(tree: exp.Expr) -> bool:
        return len({c.name in "iv" for c in tree.find_all(exp.Column)}) <= 1

    tree = parse_one(text, read="duckdb")
    found = [part.sql("duckdb") for part in raising.parts(tree, types, is_one)]
    assert expected == found


@pytest.mark.parametrize("kind", ["", "LEFT"])
@pytest.mark.parametrize("cuts", [[], [0], [1], [0, 1, 2]], ids=str)
def test_an_expression_of_a_subquery_is_worked_out_for_rows_that_are_needed(
    con: cqlduck.Connection, kind: str, cuts: list[int]
) -> None:
    con.execute("CREATE STREAM s (t BIGINT, k INTEGER) TIMESTAMP BY t")
    con.execute("CREATE RELATION r (k INTEGER, y VARCHAR)")
    inner = "(SELECT k, coalesce(y::INTEGER, 0) AS v, y::DATE AS unread FROM r)"
    body = f"SELECT s.k, j.v FROM s [NOW] {kind} JOIN {inner} j ON s.k = j.k"
    con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    con.append("r", [(1, "7"), (2, "bad"), (3, "bad")], at=1)
    con.append("s", [(0, 1), (1, 1), (3, 3)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for to in (*cuts, 2, 4):
            con.advance(to)
    early = [(1, None, 0, 1), (1, None, 1, -1)] if kind else []
    assert sorted([*early, (1, 7, 1, 1), (1, 7, 2, -1)], key=str) == sorted(
        con.changes("q").fetchall(), key=str
    )
    ((state, frontier),) = con.sql("SELECT state, frontier FROM cql.queries").fetchall()
    assert ("failed", 2) == (state, int(frontier))
