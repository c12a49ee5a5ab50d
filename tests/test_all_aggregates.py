"""Every aggregate that DuckDB lists, over every type that it takes.

Each is worked out by its own rule and again at each change, under two cuts of time, over tuples
that come, go, tie and are NULL. What comes out has to be what plain DuckDB says of the tuples that
are there, in the order of ties, and the same whatever the cut. What the tables below leave out is
refused, or has its reason there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from counts import some_if_brief

import cqlduck
from cqlduck.rewrite.plan.aggregates import ADDITIVE, EXTREMES, RECOMPUTED

TYPES: dict[str, Sequence[str]] = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("1", "-2", "7"),
    "SMALLINT": ("1", "-2", "7"),
    "INTEGER": ("1", "-2", "7"),
    "BIGINT": ("1", "-2", "7"),
    "HUGEINT": ("1", "-2", "7"),
    "UTINYINT": ("1", "2", "7"),
    "USMALLINT": ("1", "2", "7"),
    "UINTEGER": ("1", "2", "7"),
    "UBIGINT": ("1", "2", "7"),
    "UHUGEINT": ("1", "2", "7"),
    "BIGNUM": ("1", "-2", "7"),
    "DECIMAL(9,2)": ("1.25", "-2.5", "7"),
    "DECIMAL(30,4)": ("1.25", "-2.5", "7"),
    "FLOAT": ("1.5", "-0.0", "0.0", "-2.25"),
    "DOUBLE": ("1.5", "-0.0", "0.0", "-2.25"),
    "VARCHAR": ("a", "b", ""),
    "BLOB": ("a", "\\xFF", ""),
    "BIT": ("0101", "1100", "0000"),
    "DATE": ("2013-01-01", "2013-01-02", "1969-12-31"),
    "TIME": ("01:00:00", "02:00:00.5", "23:00:00"),
    "TIMETZ": ("01:00:00+00", "02:00:00+01", "23:00:00+00"),
    "TIMESTAMP": ("2013-01-01 10:00:00", "2013-01-02", "1969-12-31"),
    "TIMESTAMP_S": ("2013-01-01 10:00:00", "2013-01-02", "1969-12-31"),
    "TIMESTAMP_MS": ("2013-01-01 10:00:00", "2013-01-02", "1969-12-31"),
    "TIMESTAMP_NS": ("2013-01-01 10:00:00", "2013-01-02", "1979-12-31"),
    "TIMESTAMPTZ": ("2013-01-01 10:00:00+00", "2013-01-02 00:00:00+00", "1969-12-31 00:00:00+00"),
    "INTERVAL": ("1 month", "30 days", "1 day", "24 hours"),
    "UUID": ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"),
    "ENUM('x', 'y')": ("x", "y"),
    "JSON": ("1", '{"a": 2}', "null"),
    "INTEGER[]": ("[1, 2]", "[1]", "[NULL]"),
    "DOUBLE[2]": ("[1.5, -0.0]", "[1.5, 0.0]", "[2.0, 1.0]"),
    "STRUCT(a INTEGER, b VARCHAR)": ("{'a': 1, 'b': 'x'}", "{'a': 1, 'b': NULL}"),
    "MAP(VARCHAR, INTEGER)": ("{a=1}", "{a=2}", "{}"),
}
FEW = ("DOUBLE",)

FORMS = ("{f}(x)", "{f}(x, 0.3)", "{f}(x, y)", "{f}(y, x)", "{f}(x, 2)", "{f}(DISTINCT x)",
         "{f}(x) FILTER (WHERE y > 2)", "{f}(x, 0, 20)", "{f}(x, ';')")  # fmt: skip
"""How an aggregate may be called; y is a DOUBLE."""

COUNTED = ("{f}(x, 0.3)", "{f}(x, y)", "{f}(y, x)")
"""Not of MIN and MAX, whose second argument is how many there should be."""

CANONICAL = {
    "DOUBLE": "(x + 0)", "FLOAT": "(x + 0::FLOAT)", "INTERVAL": "normalized_interval(x)",
    "DOUBLE[2]": "CASE WHEN x IS NOT NULL THEN [x[1] + 0, x[2] + 0]::DOUBLE[2] END",
}  # fmt: skip
"""What stands for all values that are equal, where distinct ones are listed as text."""

TIES = {"INTERVAL": "datepart('year', x) * 12 + datepart('month', x), datepart('day', x)"}
"""What tells values apart that are equal, in the order of ties; their text for other types."""

NO_QUERY = {
    "combine_aggr": "takes states of other aggregates",
    "count_star": "is count(*)",
    "bitstring_agg": "is refused without bounds",
    "histogram_exact": "takes bins: see the test of a further argument",
    "lttb": "takes three arguments: a line and how many of its points to keep",
    "reservoir_quantile": "draws a sample at random",
    "approx_top_k": "is not deterministic, says DuckDB, and is refused",
    "approx_quantile": "an estimate, which may depend on how the tuples are put together",
    "sum_no_overflow": "is DuckDB's own, for sums that it knows to fit",
    "decimal_average": "is DuckDB's own, under avg",
    "variant_group_object": "makes a VARIANT",
}
ELEMENTS = [
    (1, 1, 0, 1.0), (1, 1, 1, 2.0), (1, 2, 0, 4.0), (2, 1, 0, 1.0), (2, 2, None, 3.0),
    (3, 1, 2, 5.0), (3, 1, 1, 5.0), (3, 2, 2, None), (5, 1, 3, 2.0), (5, 2, 1, 1.0),
    (6, 2, 0, 6.0), (9, 1, None, 1.0), (10, 1, 1, 0.5), (10, 1, 0, 0.25), (10, 2, 2, 4.0),
]  # fmt: skip
"""(instant, k, place of x among the values of its type, y)."""
END = 15


def literal(kind: str, place: int | None) -> str:
    values = TYPES[kind]
    if place is None:
        return f"NULL::{kind}"
    text = values[place % len(values)].replace("'", "''")
    return f"'{text}'::{kind}"


def functions() -> list[str]:
    found = duckdb.sql(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate' "
        "AND schema_name = 'main' ORDER BY 1"
    ).fetchall()
    return [name for (name,) in found if name not in NO_QUERY]


def calls(kind: str) -> list[str]:
    """Return the calls of all aggregates that DuckDB takes for a type."""
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t (k INTEGER, x {kind}, y DOUBLE)")
    con.execute(f"INSERT INTO t VALUES (1, {literal(kind, 0)}, 1), (1, {literal(kind, 1)}, 3)")
    found = []
    for function in functions():
        for form in FORMS:
            call = form.format(f=function)
            if function in EXTREMES and form in COUNTED:
                continue
            if function.startswith("histogram") and form == "{f}(y, x)":
                # bins must not be NULL, and x is at times
                continue
            try:
                con.execute(f"SELECT k, {call} FROM t GROUP BY k").fetchall()
            except duckdb.Error:
                continue
            found.append(call)
    con.close()
    return found


def has_own_rule(call: str) -> bool:
    return call.split("(")[0] in RECOMPUTED.union(ADDITIVE, EXTREMES)


def answers(kind: str, listed: Sequence[str], window: str, cuts: Sequence[int], **options: Any):
    """Return what the engine says of the calls at each instant, as text and as values."""
    with cqlduck.connect(threads=1, **options) as con:
        con.execute(f"CREATE STREAM s (k INTEGER, x {kind}, y DOUBLE)")
        columns = ", ".join(f"{call} AS c{place}" for place, call in enumerate(listed))
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k, {columns} FROM s {window} GROUP BY k")
        texts = ", ".join(f"c{place}::VARCHAR" for place in range(len(listed)))
        con.execute(f"CREATE CONTINUOUS QUERY texts AS SELECT k, {texts} FROM q")
        since = 0
        for cut in [*cuts, END]:
            for instant in range(since + 1, cut + 1):
                rows = [
                    f"({k}, {literal(kind, place)}, {'NULL' if y is None else y})"
                    for at, k, place, y in ELEMENTS
                    if at == instant
                ]
                if rows:
                    source = f"SELECT * FROM (VALUES {', '.join(rows)}) AS v(k, x, y)"
                    con.append("s", con.sql(source), at=instant)
            con.advance(cut)
            since = cut
        values = [sorted(con.as_of("q", at).fetchall(), key=first) for at in range(END + 1)]
        return values, sorted(map(repr, con.changes("texts").fetchall()))


def first(row: Sequence[Any]) -> Any:
    return row[0]


def expected(kind: str, listed: Sequence[str], inside: Any) -> list[list[tuple[Any, ...]]]:
    """Return what plain DuckDB says of the calls over the tuples of each instant."""
    con = duckdb.connect()
    con.execute("SET threads = 1")
    con.execute("SET TimeZone = 'UTC'")
    found = []
    for now in range(END + 1):
        con.execute(f"CREATE OR REPLACE TABLE came (k INTEGER, x {kind}, y DOUBLE)")
        for _, k, place, y in inside(now):
            con.execute(f"INSERT INTO came VALUES ({k}, {literal(kind, place)}, ?)", [y])
        ties = TIES.get(kind, "x::VARCHAR")
        con.execute(f"CREATE OR REPLACE TABLE s AS FROM came ORDER BY k, x, {ties}, y")
        # the order of distinct values is nobody's in DuckDB, and that of the values here
        one = CANONICAL.get(kind, "x")
        settled = [c.replace("DISTINCT x", f"DISTINCT {one} ORDER BY {one}") for c in listed]
        rows = con.execute(f"SELECT k, {', '.join(settled)} FROM s GROUP BY k").fetchall()
        found.append(sorted(rows, key=first))
    con.close()
    return found


def is_close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        both = math.isnan(one) and math.isnan(other)
        return both or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_close, one, other))
    return bool(one == other)


WINDOWS = {
    "[RANGE 3]": lambda now: [e for e in ELEMENTS if now - 3 <= e[0] <= now],
    "[ROWS 4]": lambda now: [e for e in ELEMENTS if e[0] <= now][-4:],
    "[PARTITION BY k ROWS 2]": lambda now: [
        e for k in (1, 2) for e in [e for e in ELEMENTS if e[0] <= now and e[1] == k][-2:]
    ],
    "[RANGE UNBOUNDED]": lambda now: [e for e in ELEMENTS if e[0] <= now],
    "[TUMBLE 4]": lambda now: [e for e in ELEMENTS if now // 4 * 4 - 4 <= e[0] < now // 4 * 4],
}


def check(kind: str, window: str, each: int = 1) -> None:
    """Compare all aggregates, or each n-th one, with those of DuckDB over what the window holds."""
    known = some_if_brief(calls(kind), each)
    wrong = []
    for listed in (
        [c for c in known if has_own_rule(c)],
        [c for c in known if not has_own_rule(c)],
    ):
        wanted = expected(kind, listed, WINDOWS[window])
        found, elements = answers(kind, listed, window, [])
        _, others = answers(kind, listed, window, [1, 2, 3, 6, 9, 10, 13])
        again, _ = answers(kind, listed, window, [5], recompute="always")
        assert elements == others, f"{window} depends on the cut"
        for name, actual in (("own", found), ("again", again)):
            for now in range(END + 1):
                assert [row[0] for row in actual[now]] == [row[0] for row in wanted[now]]
                for mine, theirs in zip(actual[now], wanted[now], strict=True):
                    for call, one, other in zip(listed, mine[1:], theirs[1:], strict=True):
                        if not is_close(one, other):
                            wrong.append((call, name, now, one, other))
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("form", ["{call}", "{call} OVER (PARTITION BY k)"])
@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_a_further_argument_is_that_of_the_first_tuple(form: str, recompute: str) -> None:
    """`max(x, n)` and `histogram(x, bins)` of many n and bins go by the order of ties."""
    listed = ["max(x, n)", "min(x, n)", "max(x, n + 1)", "histogram(x, b)", "histogram_exact(x, b)"]
    rows = [(1, 5, 2, [1]), (1, 4, 1, [2]), (1, 3, 2, [3, 4]), (1, 9, 1, [2]), (1, 4, 3, [7])]
    calls = ", ".join(form.format(call=call) for call in listed)
    group = "" if "OVER" in form else "GROUP BY k"
    kinds = "(k INTEGER, x INTEGER, n INTEGER, b INTEGER[])"
    with cqlduck.connect(threads=1, recompute=recompute) as con, duckdb.connect() as plain:
        con.execute(f"CREATE STREAM s {kinds}")
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k, {calls} FROM s [ROWS 3] {group}")
        for place, row in enumerate(rows):
            con.append("s", [row], at=place + 1)
        con.advance(len(rows))
        for place in range(len(rows)):
            plain.execute(f"CREATE OR REPLACE TABLE s {kinds}")
            for row in sorted(rows[max(place - 2, 0) : place + 1]):
                plain.execute("INSERT INTO s VALUES (?, ?, ?, ?)", row)
            wanted = plain.execute(f"SELECT k, {calls} FROM s {group}").fetchall()
            assert con.as_of("q", place + 1).fetchall() == wanted


@pytest.mark.parametrize("word", ["AND", "OR"])
@pytest.mark.parametrize("call", ["sum(d)", "first(d)", "list(d)[1]", "count(*)", "max(d, k)[1]"])
def test_an_aggregate_that_a_condition_begins_with(call: str, word: str) -> None:
    """The whole condition is no aggregate, though its text begins with one's name."""
    condition = f"{call} > 1 {word} max(k) > 2"
    with cqlduck.connect(recompute="always") as con, duckdb.connect() as plain:
        con.execute("CREATE STREAM s (k INTEGER, d DOUBLE)")
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k FROM s GROUP BY k HAVING {condition}")
        con.execute(f"CREATE CONTINUOUS QUERY p AS SELECT {condition} AS holds FROM s")
        rows = [(1, 0.5), (1, 2.5), (2, 3.0), (3, 0.25)]
        con.append("s", rows, at=1)
        con.advance(1)
        plain.execute("CREATE TABLE s (k INTEGER, d DOUBLE)")
        plain.executemany("INSERT INTO s VALUES (?, ?)", rows)
        wanted = plain.sql(f"SELECT k FROM s GROUP BY k HAVING {condition} ORDER BY k").fetchall()
        assert sorted(con.table("q").fetchall()) == wanted
        assert con.table("p").fetchall() == plain.sql(f"SELECT {condition} FROM s").fetchall()


@pytest.mark.long
def test_every_aggregate_is_tried_or_has_a_reason() -> None:
    tried = {call.split("(")[0] for kind in TYPES for call in calls(kind)}
    assert set(functions()) == tried


@pytest.mark.parametrize("kind", FEW)
def test_aggregates_over_types(kind: str) -> None:
    check(kind, "[RANGE 3]", each=9)


@pytest.mark.long
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", TYPES)
def test_aggregates_over_all_types(kind: str, window: str) -> None:
    check(kind, window)


@pytest.mark.parametrize("name", ["reservoir_quantile", "combine_aggr"])
def test_what_depends_on_more_than_the_tuples_is_refused(name: str) -> None:
    calls = {"reservoir_quantile": "reservoir_quantile(x, 0.5, 10)"}
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, x DOUBLE, y DOUBLE)")
        call = calls.get(name, f"{name}(x)")
        with pytest.raises(cqlduck.Error):
            con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT {call} AS c FROM s")
