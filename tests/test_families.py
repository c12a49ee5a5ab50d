"""Families: what queries say that one plan computes is what they say alone.

The same statements go to two databases, one of which shares; whatever is registered, dropped,
paused, replaced, made to fail or reopened between ticks, each query has the same elements and the
same answer in both.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from counts import is_brief
from stops import Stops

import cqlduck
from cqlduck.compiler import Compiler
from cqlduck.rewrite.text.shapes import shapes_of

SHAPES = [
    "SELECT k, v FROM s WHERE v > {0}",
    "SELECT * FROM s WHERE k = {0} AND v >= {1}",
    "SELECT Istream(k, v) FROM s [NOW] WHERE {0} < v",
    "SELECT k, v FROM s [NOW] WHERE v BETWEEN {0} AND {1}",
    "SELECT k, count(*) AS n, sum(v) AS t FROM s [RANGE 3] WHERE v > {0} GROUP BY k",
    "SELECT k, max(v) AS m FROM s [ROWS 3] WHERE v <> {0} GROUP BY k HAVING max(v) > 1",
    "SELECT DISTINCT k FROM s [RANGE 2] x WHERE x.v <= {0}",
    "SELECT Dstream(k) FROM s [RANGE 2] WHERE v = {0}",
    "SELECT Rstream(s.k, r.w) FROM s [NOW], r WHERE s.k = r.k AND r.w > {0}",
    "SELECT s.k, r.w FROM s [RANGE 3], r WHERE s.k = r.k AND v > {0} AND w < {1}",
    "SELECT x.k, y.v FROM s [RANGE 2] x, u [ROWS 2] y WHERE x.k = y.k AND x.v > {0}",
    "SELECT k, avg(v) AS a FROM s [PARTITION BY k ROWS 2] WHERE v > -{0} GROUP BY ALL",
    "SELECT k, count(*) AS n FROM s [RANGE 4 SLIDE 2] WHERE v > {0} GROUP BY k",
    "SELECT s.*, r.w FROM s [RANGE 1] LEFT JOIN r ON s.k = r.k WHERE v > {0} ORDER BY v",
    "SELECT name, count(*) AS n FROM u [RANGE 2] WHERE name >= 'a{0}' GROUP BY name",
    "SELECT k, v FROM u [RANGE 2] WHERE price > {0}.5 AND cost < {1}",
    "SELECT r.k, w, v FROM r LEFT JOIN s [RANGE 4] ON r.k = s.k WHERE w > {0}",
    "SELECT r.k, w, v FROM s [RANGE 3] FULL JOIN r ON r.k = s.k WHERE r.k < {0}",
    "SELECT k, v FROM s [ROWS 4 SLIDE 2] WHERE v > {0}",
    "SELECT k, list(v) AS l, first(v) AS f FROM s [RANGE 3] WHERE v > {0} GROUP BY k",
    "SELECT k, median(v) AS m, mode(v) AS o FROM s [RANGE 3] WHERE v > {0} GROUP BY k",
    "SELECT k, string_agg(name) AS n FROM u [ROWS 4] WHERE v > {0} GROUP BY k",
    "SELECT k, count(DISTINCT v) AS n, max(_ts) AS t FROM s [RANGE 3] WHERE v > {0} GROUP BY k",
    "SELECT k, v FROM s [TUMBLE 2] WHERE v > {0}",
    "SELECT k, sum(huge) AS h FROM u [RANGE 2] WHERE v > {0} GROUP BY k",
    # global aggregates
    "SELECT count(*) AS n FROM s [RANGE 3] WHERE v > {0}",
    "SELECT count(*) AS n, sum(v) AS t, count(DISTINCT k) AS d, {1} AS level FROM s [RANGE 2] x "
    "WHERE v > {0} HAVING count(*) < {1}",
    "SELECT max(name) AS m, median(v) AS h, list(v) AS l FROM u [ROWS 3] WHERE v <= {0}",
    "SELECT avg(w) FILTER (WHERE v > 1) AS a, min(v) AS m FROM s [RANGE 3], r "
    "WHERE s.k = r.k AND w > {0}",
    "SELECT Rstream(count(v) AS c, bool_or(v > 2) AS b) FROM s [NOW] WHERE k <> {0}",
    "SELECT Istream(string_agg(name) AS names) FROM u [RANGE 1] WHERE cost < {1}",
    # constants of HAVING, of the SELECT list, beside expressions
    "SELECT k, sum(v) AS t FROM s [RANGE 3] GROUP BY k HAVING sum(v) > {0}",
    "SELECT k, avg(v) AS a FROM s [RANGE 3] WHERE v < {1} GROUP BY ALL HAVING avg(v) >= {0}.5",
    "SELECT k, {0} AS level, 'a{1}' AS label, {0}.5 AS share FROM s [RANGE 2] WHERE v > {1}",
    "SELECT {0} AS level, k, count(*) AS n FROM s [RANGE 2] GROUP BY k HAVING count(*) > {1}",
    "SELECT DISTINCT {0} AS level, k FROM s WHERE v > {1}",
    "SELECT name, 'x' AS one FROM u [RANGE 2] WHERE upper(name) > 'A{0}' ORDER BY name",
    "SELECT *, {0} AS level FROM s [NOW]",
    "SELECT {0} AS level, count(*) AS n FROM s [RANGE 2] WHERE v > 1 GROUP BY level",
    # constants inside of conjuncts
    "SELECT k, v FROM s [RANGE 3] WHERE v > {0} OR k = {1}",
    "SELECT k, count(*) AS n FROM s [RANGE 2] WHERE k IN ({0}, {1}, 3) AND v > 0 GROUP BY k",
    "SELECT name, v FROM u WHERE name NOT LIKE '_{0}%' OR price IN ({1}, 2.25)",
    "SELECT k, sum(v) AS t FROM s [RANGE {0}] WHERE NOT (v < {1} AND k <> {0}) GROUP BY k "
    "HAVING sum(v) > {0} OR (count(*) IN (1, {1}))",
    "SELECT count(*) AS n FROM s [RANGE 3], r WHERE s.k = r.k AND (v < {0} OR r.w IN ({1}))",
    "SELECT s.k, u.v FROM s, u [RANGE UNBOUNDED] WHERE s.k = u.k AND s.v > {0}",
    # what has no constants that can be cut out is shared only if it is equal
    "SELECT count(*) AS n FROM s WHERE v > {0}",
    "SELECT k, count(*) AS n FROM s WHERE v > {0} GROUP BY k",
    "SELECT k, v FROM s [RANGE 3] WHERE v > {0} ORDER BY v DESC, k LIMIT 2",
    "SELECT k FROM s [RANGE 2] EXCEPT SELECT k FROM u [RANGE 2] WHERE v > {0}",
    "SELECT k, v / k AS x FROM s [RANGE 3] WHERE v > {0}",
    "SELECT k, 1 // (v - 2) AS x FROM u [RANGE 3] WHERE v >= {0}",
]
READERS = [
    "SELECT count(*) AS n FROM {0}",
    "SELECT k FROM {0} WHERE k > 0",
    "SELECT 6 // (k - 1) AS x FROM {0}",
    "SELECT k, n FROM {0} [ROWS 3]",
    "SELECT n, count(*) AS c FROM {0} GROUP BY n",
    "SELECT Istream(n) FROM {0}",
]
SOURCES = [
    # FROM, the conditions of WHERE that all have, GROUP BY, the items, the conditions of HAVING,
    # and those of WHERE that some have
    (
        "s [RANGE 3] {a}",
        ["{a}.v > 0"],
        " GROUP BY {a}.k",
        [
            "{a}.k",
            "count(*) AS n",
            "sum(v) AS n",
            "sum({a}.v) AS t",
            "max(v)",
            "count(DISTINCT v)",
            "avg(v) AS a",
            "median({a}.v) AS n",
            "count(v) FILTER (WHERE v > 2) AS f",
            "{a}.k AS x",
            "k IS NULL AS b",
        ],
        ["count(*) > 1", "sum(v) > 3", "{a}.k = 1", "max({a}.v) < 4"],
        ["k = 1", "({a}.k IN (0, 1) OR k IS NULL)", "v < 4"],
    ),
    (
        "s [RANGE 2] {a}",
        [],
        "",
        ["count(*) AS n", "sum(v) AS k", "min({a}.v) AS n", "bool_or(v > 2) AS b"],
        ["count(*) > 1", "max(v) > 2"],
        ["v > 1"],
    ),
    (
        "s [RANGE 3] {a}, r {b}",
        ["{a}.k = {b}.k"],
        "",
        ["{a}.k", "v AS n", "w", "{b}.w AS n", "v", "{a}.v > w AS b", "*", "1 AS one"],
        [],
        ["v > 1", "1 < {b}.w", "{a}.v <> w"],
    ),
    (
        "u [ROWS 3] {a} LEFT JOIN r {b} ON {a}.k = {b}.k",
        ["v > 0"],
        "",
        ["{a}.k", "v AS n", "w", "price", "cost AS n", "name", "upper(name) AS u", "{b}.*"],
        [],
        ["(w IS NULL OR {b}.w = 2)", "upper(name) > 'A1'", "{a}.cost BETWEEN 0 AND 2"],
    ),
    ("s", [], "", ["k", "v", "v AS n", "k AS v", "k > v AS n", "*"], [], ["v > 1", "NOT k = 1"]),
    (
        "u [RANGE 2] {a}",
        [],
        "",
        ["price AS n", "{a}.k", "huge", "name", "k AS n"],
        [],
        ["{a}.price > -1", "EXISTS (SELECT 1 FROM r WHERE r.k = {a}.k)", "v IS DISTINCT FROM k"],
    ),
    ("u [RANGE 2]", [], "", ["DISTINCT k", "k", "DISTINCT k, v AS n", "price"], [], ["v > 1"]),
]

STEMS = [
    # FROM and what follows the SELECT list; what queries show of it
    (
        "FROM s [RANGE 3] WHERE v > {0} GROUP BY k",
        ["k, count(*) AS n", "sum(v) AS n, k", "k", "avg(v) AS k", "max(v) AS n", "k, min(v) AS n",
         "DISTINCT k", "k, median(v) AS n", "k IS NULL AS n, count(v)", "k, {1} AS n"],
    ),
    (
        "FROM s [RANGE 2] x WHERE x.v <= {0} AND k <> {1}",
        ["count(*) AS n", "sum(v) AS n, max(x.v)", "bool_or(v > 2) AS n", "avg(k) AS n", "k, v"],
    ),
    ("FROM s WHERE v > {0}", ["k, v", "v AS n", "*", "k, k > v AS n", "v AS k, k AS n"]),
    ("FROM s [NOW] WHERE v BETWEEN {0} AND {1}", ["k", "v AS n, k", "Istream(k)", "Rstream(v, k)"]),
    (
        "FROM s [RANGE 3], r WHERE s.k = r.k AND v > {0} AND w < {1}",
        ["s.k, w AS n", "v AS n", "w", "*", "r.k, 1 + w AS n", "Rstream(w)", "Istream(s.k)"],
    ),
    (
        "FROM s [RANGE 3] GROUP BY k HAVING sum(v) > {0}",
        ["k, count(*) AS n", "sum(v) AS n", "avg(v) AS n, k"],
    ),
    (
        "FROM u [ROWS 3] x LEFT JOIN r y ON x.k = y.k WHERE price > {0}.5 OR name = 'a{1}'",
        ["x.k, name AS n", "w AS n", "cost, huge", "upper(name) AS n"],
    ),
    ("FROM s [RANGE 2] GROUP BY ALL HAVING count(*) > {0}", ["k", "k, sum(v) AS n", "v AS n"]),
]  # fmt: skip

SCRIPT = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE STREAM u (k INTEGER, v INTEGER, name VARCHAR, price DOUBLE, cost DECIMAL(8, 2),
        huge HUGEINT);
    CREATE RELATION r (k INTEGER, w INTEGER);
"""


@dataclass
class Pair:
    """Two databases that are told the same; the first one shares."""

    folder: Path
    settings: dict[str, Any]
    is_wall: bool = False
    in_memory: bool = False
    both: list[cqlduck.Connection] = field(default_factory=list)

    def open(self) -> None:
        """Open both, new or again; what is in memory stays open."""
        if self.in_memory and self.both:
            return
        for connection in self.both:
            connection.close()
        self.both = [
            cqlduck.connect(
                ":memory:" if self.in_memory else self.folder / f"{name}.duckdb",
                sharing=sharing,
                **self.settings,
            )
            for name, sharing in (("one", True), ("each", False))
        ]

    def at(self, instant: int) -> Any:
        """Return an instant as it is written."""
        if not self.is_wall:
            return instant
        return datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=instant)

    def execute(self, text: str) -> bool:
        """Run a statement in both; return whether they take it, which is the same in both."""
        outcomes = []
        for connection in self.both:
            try:
                connection.execute(text)
                outcomes.append(None)
            except cqlduck.Error as error:
                outcomes.append((type(error), error.message))
        assert outcomes[0] == outcomes[1], text
        return outcomes[0] is None

    def append(self, name: str, rows: list[tuple[Any, ...]], at: int) -> None:
        """Append rows in both."""
        if rows:
            for connection in self.both:
                connection.append(name, rows, at=self.at(at))

    def advance(self, to: int) -> None:
        """Advance both; queries may fail."""
        for connection in self.both:
            while True:
                try:
                    connection.advance(self.at(to))
                    break
                except cqlduck.QueryError:
                    continue

    def compare(self) -> None:
        """Compare all queries."""
        one, each = self.both
        assert list(one.queries) == list(each.queries)
        for name in each.queries:
            mine, alone = one.queries[name], each.queries[name]
            assert (mine.state, mine.columns, mine.error) == (
                alone.state,
                alone.columns,
                alone.error,
            ), name
            if mine.state == "active":
                assert (mine.began, mine.frontier) == (alone.began, alone.frontier), name
            asked = []
            if "history" not in self.settings:
                asked = [
                    lambda con, name=name: con.changes(name),
                    lambda con, name=name: con.sql(f"FROM {name}"),
                ]
                if not any(query.error for query in each.queries.values()):
                    asked.append(lambda con, name=name: con.table(name))
            if alone.frontier is not None and alone.began is not None:
                step = datetime.timedelta(seconds=1) if self.is_wall else 1
                for back in (3, 6) if "history" in self.settings else (10**6,):
                    at = max(alone.frontier - back * step, alone.began)
                    if "history" in self.settings:
                        asked.append(lambda con, name=name, at=at: con.changes(name, since=at))
                    if alone.kind == "relation":
                        asked.append(lambda con, name=name, at=at: con.as_of(name, at))
            for ask in asked:
                found = [answered(ask, con) for con in (one, each)]
                if None not in found:
                    assert found[0] == found[1], (name, alone.text)


def answered(
    ask: Callable[[cqlduck.Connection], Any], con: cqlduck.Connection
) -> list[tuple[Any, ...]] | None:
    """Return what a connection answers, or None where its history does not reach."""
    try:
        return sorted(ask(con).fetchall(), key=repr)
    except cqlduck.DataError:
        return None


def rows_of(rnd: random.Random, name: str) -> list[tuple[Any, ...]]:
    """Return some rows for an input, with ties, NULLs and duplicates."""

    def value(most: int) -> int | None:
        return None if rnd.random() < 0.1 else rnd.randrange(-1, most)

    count = rnd.choice([0, 0, 1, 2, 4])
    if name == "u":
        return [
            (
                value(3),
                value(5),
                f"a{rnd.randrange(4)}",
                rnd.randrange(8) / 2,
                rnd.randrange(5),
                rnd.choice([0, 1, None, 2**126]),
            )
            for _ in range(count)
        ]
    return [(value(3), value(5)) for _ in range(count)]


def unlike(rnd: random.Random, number: int) -> str:
    """Return a query that shows something of a source, of which others show something else."""
    source, fixed, groups, items, having, optional = SOURCES[number]
    listed = rnd.sample(items, rnd.randrange(1, min(5, len(items) + 1)))
    if any("DISTINCT k" in item for item in listed):
        listed = listed[:1]
    text = ", ".join(listed)
    operator = rnd.choice(["", "", "", "Rstream", "Istream", "Dstream"])
    if operator and "DISTINCT k" not in text:
        text = f"{operator}({text})"
    conditions = rnd.sample(having, min(rnd.choice([0, 0, 1, 2]), len(having)))
    # mostly one query shows all that another shows
    more = optional[: rnd.choice([0, 0, 1, 2, 3])]
    if rnd.random() < 0.2:
        more = rnd.sample(optional, rnd.randrange(len(optional) + 1))
    where = rnd.sample([*fixed, *more], len(fixed) + len(more))
    text = f"SELECT {text} FROM {source}"
    if where:
        text += f" WHERE {' AND '.join(where)}"
    text += groups
    if conditions:
        text += f" HAVING {' AND '.join(conditions)}"
    a, b = rnd.choice([("a", "b"), ("x", "y")])
    return text.format(a=a, b=b)


def statements(rnd: random.Random, names: list[str], shapes: list[str]) -> Iterator[str]:
    """Yield some statements over queries, most of them of few shapes: so they have families."""
    if rnd.random() < 0.4:
        # the stem is that of the shapes, so that a script has few of them
        rest, lists = STEMS[SHAPES.index(shapes[0]) % len(STEMS)]
        for fresh in rnd.sample(range(14), rnd.randrange(2, 5)):
            text = f"SELECT {rnd.choice(lists)} {rest}".format(rnd.randrange(4), rnd.randrange(5))
            if rnd.random() < 0.3:
                text = text.replace("[RANGE 3]", f"[RANGE {rnd.randrange(1, 4)}]")
            yield f"CREATE OR REPLACE CONTINUOUS QUERY q{fresh} AS {text}"
    if rnd.random() < 0.4:
        source = rnd.choice([0, 0, rnd.randrange(len(SOURCES))])
        for fresh in rnd.sample(range(14), rnd.randrange(2, 5)):
            body = unlike(rnd, source)
            yield f"CREATE OR REPLACE CONTINUOUS QUERY q{fresh} AS {body}"
    for _ in range(rnd.choice([0, 1, 2, 5])):
        fresh = f"q{rnd.randrange(14)}"
        shape = rnd.choice(shapes if rnd.random() < 0.8 else SHAPES)
        body = shape.format(rnd.randrange(4), rnd.randrange(5))
        if rnd.random() < 0.5:
            body = re.sub(r"\[RANGE \d\]", lambda _: f"[RANGE {rnd.randrange(7)}]", body)
        known = rnd.choice(names) if names else fresh
        yield rnd.choice(
            [
                *[f"CREATE CONTINUOUS QUERY IF NOT EXISTS {fresh} AS {body}"] * 8,
                f"CREATE OR REPLACE CONTINUOUS QUERY {known} AS {body}",
                f"DROP CONTINUOUS QUERY IF EXISTS {known}",
                f"ALTER CONTINUOUS QUERY {known} DEACTIVATE",
                f"ALTER CONTINUOUS QUERY {known} ACTIVATE",
                f"ALTER CONTINUOUS QUERY {known} ACTIVATE FROM NOW",
                f"CREATE CONTINUOUS QUERY IF NOT EXISTS {fresh} AS "
                + rnd.choice(READERS).format(known),
            ]
        )


def leave(con: cqlduck.Connection, name: str) -> bool:
    """Let a query have a plan of its own, if it can; return whether it has one."""
    refused = ""
    try:
        con.execute(f"ALTER CONTINUOUS QUERY {name} SET (sharing = false)")
    except cqlduck.NotSupportedError as error:
        refused = error.message
    assert not refused or "stands still" in refused or "cannot leave its family" in refused
    assert bool(refused) == (con.engine.query(name).family is not None)
    return not refused


SEEDS = 5
"""How many random scripts run each time; `pytest -m long tests/test_families.py` has more."""


@pytest.mark.parametrize(
    "seed", [*range(SEEDS), *(pytest.param(n, marks=pytest.mark.long) for n in range(SEEDS, 200))]
)
def test_members_say_what_they_say_alone(seed: int, tmp_path: Path) -> None:
    """Random statements between random ticks, in two databases."""
    rnd = random.Random(seed)
    is_wall = rnd.random() < 0.3
    settings: dict[str, Any] = {}
    if rnd.random() < 0.3:
        settings["window_edge"] = "half_open"
    if is_wall and random.Random(-seed).random() < 0.7:
        settings["granularity"] = "1 second"
    if rnd.random() < 0.4:
        settings["history"] = "4 seconds" if is_wall else rnd.choice(["2", "5"])
    pair = Pair(tmp_path, settings, is_wall, in_memory=rnd.random() < 0.3)
    pair.open()
    pair.execute(SCRIPT)
    if is_wall and rnd.random() < 0.5:
        # else time is open until the first element comes
        pair.execute("CREATE STREAM clock (t TIMESTAMP) TIMESTAMP BY t")
    instant, leaving = 0, random.Random(seed)
    shapes = random.Random(-seed).sample(SHAPES, 3)
    for number in range(6 if is_brief() else 12):
        names = list(pair.both[1].queries)
        for name in names:
            if leaving.random() < 0.1:
                leave(pair.both[0], name)
            elif leaving.random() < 0.1:
                pair.both[0].execute(f"ALTER CONTINUOUS QUERY {name} SET (sharing = true)")
        if leaving.random() < 0.2:
            wanted = leaving.random() < 0.7
            pair.both[0].execute(
                f"UPDATE cql.properties SET value = {wanted} "
                "WHERE name = 'sharing' AND owner IS NULL"
            )
        goes_on = False
        for text in statements(rnd, names, shapes):
            # a member is then where its family is, alone it goes there in the next tick
            goes_on |= " ACTIVATE" in text
            if is_wall:
                text = re.sub(r"\[RANGE (\d)\]", r"[RANGE \1 SECONDS]", text)
                text = text.replace("[RANGE 4 SLIDE 2]", "[RANGE 4 SECONDS SLIDE 2 SECONDS]")
                text = text.replace("[TUMBLE 2]", "[TUMBLE 2 SECONDS]")
            pair.execute(text)
        assert_who_reads_whom_is_known(pair.both[0])
        instant += rnd.choice([1, 1, 1, 2, 3])
        for at in range(instant, instant + rnd.choice([1, 2, 4])):
            for name in ("s", "u", "r"):
                pair.append(name, rows_of(rnd, name), at)
            instant = at
        if rnd.random() < 0.85 or goes_on:
            pair.advance(instant)
        if rnd.random() < 0.1:
            pair.open()
        if number % 3 == 2:
            # what is compared goes back to the beginning
            pair.compare()
    problems = [row for row in pair.both[0].check().fetchall() if row[5] == "wrong"]
    assert not problems
    while left := list(pair.both[0].queries):
        for name in reversed(left):
            pair.execute(f"DROP CONTINUOUS QUERY {name}")
    one = pair.both[0]
    assert not one.engine.catalogue.families
    assert not one.engine.catalogue.constants
    for table in ("operators", "synopses", "plans", "statements", "stubs", "query_rows"):
        assert not one.sql(f"FROM cql_state.{table}").fetchall()
    tables = [n for (n,) in one.sql("SELECT table_name FROM duckdb_tables()").fetchall()]
    assert not [name for name in tables if "cql_constants" in name or "cql_family" in name]
    for con in pair.both:
        con.close()


def assert_who_reads_whom_is_known(con: cqlduck.Connection) -> None:
    """What registrations and drops have added and removed is what there is."""
    known = con.engine.catalogue
    fresh = dataclasses.replace(known)
    assert (known.next_position, known.next_number) == (fresh.next_position, fresh.next_number)
    assert [q.name for q in known.running] == [q.name for q in fresh.running]
    for fact in dataclasses.fields(known.reading):
        both = [getattr(one.reading, fact.name).items() for one in (known, fresh)]
        # of a family that takes its first member there is a list without members
        now, anew = ({name: value for name, value in items if value} for items in both)
        if fact.name in ("above", "readers"):
            # in the order in which a tick runs them, which of those that need not wait for each
            # other is no matter
            now, anew = (
                {name: sorted(one.name for one in some) for name, some in facts.items()}
                for facts in (now, anew)
            )
        assert now == anew, fact.name


def told(con: cqlduck.Connection) -> dict[str, Any]:
    """Return what a connection has of each query, and of families."""
    found: dict[str, Any] = {}
    for name, query in con.queries.items():
        rows = sorted(con.changes(name).fetchall(), key=repr)
        answer = sorted(con.sql(f"FROM {name}").fetchall(), key=repr)
        found[name] = (query.state, query.frontier, query.columns, rows, answer)
    for table in ("query_rows", "input_rows", "synopses", "stubs", "operators"):
        rows = con.sql(f"SELECT * EXCLUDE (as_of) FROM cql_state.{table}" if "rows" in table
                       else f"FROM cql_state.{table}").fetchall()  # fmt: skip
        found[table] = sorted(rows, key=repr)
    return found


CHANGES = [
    "CREATE CONTINUOUS QUERY c AS SELECT k, count(*) AS n FROM s [RANGE 3] WHERE v > 3 GROUP BY k",
    "CREATE CONTINUOUS QUERY c AS SELECT k, v FROM s WHERE v > 9",
    "DROP CONTINUOUS QUERY a",
    "DROP CONTINUOUS QUERY d",
    "ALTER CONTINUOUS QUERY a DEACTIVATE",
    "ALTER CONTINUOUS QUERY a ACTIVATE",
    "CREATE OR REPLACE CONTINUOUS QUERY b AS SELECT k, v AS n FROM s [RANGE 2]",
    "CREATE OR REPLACE CONTINUOUS QUERY a AS SELECT k, 1::BIGINT AS n FROM s [RANGE 2] WHERE v > 1",
    "ALTER CONTINUOUS QUERY b SET (keep = '5')",
    "ALTER CONTINUOUS QUERY b SET (sharing = false)",
]


@pytest.mark.parametrize("text", CHANGES)
def test_a_change_that_stops_at_any_statement_is_undone(text: str, tmp_path: Path) -> None:
    """What joins, leaves, pauses or replaces is one transaction, whichever statement is last."""
    trace = Stops()

    with cqlduck.connect(tmp_path / "a.duckdb", trace=trace) as con:
        con.execute(SCRIPT)
        shape = "SELECT k, count(*) AS n FROM s [RANGE 3] WHERE v > {} GROUP BY k"
        con.append("s", [(1, 2), (2, 5)], at=1)
        con.advance(1)
        for name, least in (("a", 1), ("b", 4)):
            con.execute(f"CREATE CONTINUOUS QUERY {name} AS {shape.format(least)}")
        con.execute("CREATE CONTINUOUS QUERY d AS SELECT k, v FROM s WHERE v > 2")
        con.execute("CREATE CONTINUOUS QUERY reader AS SELECT max(n) AS top FROM a")
        if text == "DROP CONTINUOUS QUERY a":
            con.execute("DROP CONTINUOUS QUERY reader")
        con.append("s", [(1, 2), (2, 5)], at=2)
        con.advance(2)
        before = told(con)

        def check(stops: int) -> None:
            assert told(con) == before, stops

        stops = trace.each(con, text, check)
        assert stops > 3 or "SET" in text
        con.append("s", [(1, 7), (2, 10)], at=3)
        con.advance(4)
        assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
        after = told(con)
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        assert told(con) == after


def cut(text: str) -> list[str]:
    """Return what the first shape of a text cuts out."""
    return [c.sql for c in shapes_of(text)[0].constants]


@pytest.mark.parametrize("is_wall", [False, True])
def test_a_family_that_was_founded_before_time_began_takes_later_members(is_wall: bool) -> None:
    """The first members have all that comes, later ones what comes after them."""
    unit = " SECONDS" if is_wall else ""
    text = f"SELECT k, count(*) AS n FROM s [RANGE 5{unit}] WHERE v > {{}} GROUP BY k"
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            timed = "k INTEGER, v INTEGER, at TIMESTAMP) TIMESTAMP BY at" if is_wall else (
                "k INTEGER, v INTEGER)")  # fmt: skip
            con.execute(f"CREATE STREAM s ({timed}")
            for n in range(2):
                con.execute(f"CREATE CONTINUOUS QUERY q{n} AS {text.format(n)}")
            for at in range(1, 12):
                if at == 4:
                    for n in (2, 3):
                        con.execute(f"CREATE CONTINUOUS QUERY q{n} AS {text.format(n)}")
                rows: list[tuple[object, ...]] = [(v % 3, v) for v in range(at)]
                if is_wall:
                    con.append("s", [(*row, f"2026-01-01 00:00:{at:02}") for row in rows])
                    con.advance(f"2026-01-01 00:00:{at:02}")
                else:
                    con.append("s", rows, at=at)
                    con.advance(at)
            found.append({n: sorted(con.changes(f"q{n}").fetchall()) for n in range(4)})
            families = {one.family for one in con.engine.catalogue.queries.values()}
            assert len(families) == 1
            assert (families == {None}) == (not sharing)
    assert found[0] == found[1]
    # what the window has of before it is not its own
    assert min(row[-2] for row in found[0][3]) > min(row[-2] for row in found[0][1])


def test_who_reads_a_member_that_stands_still_begins_where_that_one_is() -> None:
    """The family has gone on, and forgotten what its streams had: the log of the member has not."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing, history="2") as con:
            con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
            for n in range(2):
                con.execute(
                    f"CREATE CONTINUOUS QUERY q{n} AS "
                    f"SELECT k, count(*) AS n FROM s [RANGE 2] WHERE v > {n} GROUP BY k"
                )
            for at in range(1, 4):
                con.append("s", [(v % 3, v) for v in range(at)], at=at)
                con.advance(at)
            con.execute("ALTER CONTINUOUS QUERY q0 DEACTIVATE")
            for at in range(4, 20):
                con.append("s", [(v % 3, v) for v in range(at)], at=at)
                con.advance(at)
            con.execute("CREATE CONTINUOUS QUERY above AS SELECT Istream(n) FROM q0")
            assert con.queries["above"].frontier == 3
            con.execute("ALTER CONTINUOUS QUERY q0 ACTIVATE")
            con.advance(20)
            found.append(con.as_of("q0", 19).fetchall())
            assert con.queries["above"].frontier == 20
            assert [] == con.check().filter("state <> 'right'").fetchall()
            found.append(sorted(con.changes("above").fetchall()))
    assert found[:2] == found[2:]


EITHER = [
    # the constants of three queries, the last of which is registered later
    ("SELECT k, v FROM s [RANGE 3] WHERE v > {0} OR k = {0}", (5, 6, 7)),
    ("SELECT k, v FROM s [RANGE 3] WHERE {0} < v OR {0} = k", (5, 6, 7)),
    ("SELECT {0} AS n, k, v FROM s [RANGE 3] WHERE v > k OR k IS NULL", (1, 2, 3)),
    ("SELECT k, count(*) AS n FROM s [RANGE {0}] WHERE v > k OR k IS NULL GROUP BY k", (2, 3, 4)),
    ("SELECT count(*) AS n FROM s [RANGE 3] WHERE v > {0} OR k = 1 OR v IS NULL", (5, 6, 7)),
    ("SELECT k FROM s [RANGE 3] WHERE NOT v < {0} AND k > 0 OR v = 1", (5, 6, 7)),
]


@pytest.mark.parametrize(("text", "constants"), EITHER)
def test_conditions_of_a_family_are_about_all_of_where(
    text: str, constants: tuple[int, ...]
) -> None:
    """Where WHERE is no conjunction: else they were about its last part alone."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
            for n in constants[:2]:
                con.execute(query(f"q{n}", text.format(n)))
            con.append("s", [(7, 9), (1, 9)], at=1)
            con.advance(1)
            con.execute(query("late", text.format(constants[2])))
            for at in range(2, 9):
                con.append("s", [(3, 0), (at, 8), (at, 8)][at % 2 :], at=at)
                con.advance(at)
            found.append({name: sorted(con.changes(name).fetchall()) for name in con.queries})
            assert sharing == (con.engine.query("late").family is not None)
    assert found[0] == found[1]


NO_TEXTS = [
    "SELECT id, count(*) AS n FROM s [RANGE 3] GROUP BY id HAVING id IN ('{}', '{}')",
    "SELECT k FROM s [RANGE 3] WHERE coalesce(id, id) = '{}'",
    "SELECT k FROM s [RANGE 3] WHERE id = '{}' OR k = 3",
    "SELECT k FROM s [RANGE 3] WHERE id IN ('{}')",
]


@pytest.mark.parametrize("text", NO_TEXTS)
def test_a_text_that_is_cast_where_it_stands_fails_its_query_alone(text: str) -> None:
    right = "00000000-0000-0000-0000-00000000000a"
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute("CREATE STREAM s (id UUID, k INTEGER)")
            con.execute(query("a", text.format(right, right)))
            con.execute(query("b", text.format("oops", right)))
            con.append("s", [(right, 1)], at=1)
            with pytest.warns(RuntimeWarning, match="b failed at 1.*oops"):
                con.advance(1)
            assert [one.state for one in con.queries.values()] == ["active", "failed"]
            assert 1 == len(con.changes("a").fetchall())


def test_readers_are_named_and_not_their_family() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        con.execute(query("q", "SELECT k, v FROM s [RANGE 3] WHERE v > 0"))
        for n in range(2):
            con.execute(query(f"r{n}", f"SELECT k FROM q WHERE k > {n}"))
        text = "OR REPLACE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [NOW] GROUP BY k"
        for verb in ("CREATE", "EXPLAIN CREATE"):
            with pytest.raises(cqlduck.CatalogError) as caught:
                con.execute(f"{verb} {text}")
            assert caught.value.message.startswith("q is read by r0, r1, and its columns")
        text = "OR REPLACE CONTINUOUS QUERY q AS SELECT k, v FROM s [RANGE 2] WHERE v > 0"
        said = "\n".join(row[0] for row in con.execute(f"EXPLAIN CREATE {text}").fetchall())
        assert "its log and history stay for r0, r1; at" in said


def test_a_further_member_is_parsed_and_compiled_by_nobody(monkeypatch) -> None:
    """Registered are rows, and two views; how many members there are does not matter."""
    said: list[str] = []
    compiled: list[str] = []
    compile_one = Compiler.compile

    def compiling(self: Compiler, catalogue: Any, name: str, *args: Any, **more: Any) -> Any:
        compiled.append(name)
        return compile_one(self, catalogue, name, *args, **more)

    monkeypatch.setattr(Compiler, "compile", compiling)
    with cqlduck.connect(trace=lambda sql, _: said.append(sql)) as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        text = "SELECT k, count(*) AS n FROM s [RANGE 5] WHERE v > {} OR k = {} GROUP BY k"
        for n in range(2):
            con.execute(query(f"q{n}", text.format(n, n)))
        assert "q0" in compiled
        counts = []
        for n in range(2, 8):
            compiled.clear()
            said.clear()
            con.execute(query(f"q{n}", text.format(n, n)))
            assert compiled == []
            assert not [sql for sql in said if sql.startswith("DESCRIBE")]
            counts.append(len(said))
        assert max(counts) == min(counts) <= 10
        assert 2 == sum("CREATE" in sql and "VIEW" in sql for sql in said)


def test_one_wrong_query_among_many_of_a_shape_leaves_none() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        texts = [query(f"q{n}", f"SELECT k, v FROM s WHERE v > {n}") + ";" for n in range(300)]
        texts[217] = texts[217].replace("v >", "w >")
        with pytest.raises(cqlduck.BindError, match=r"\bw\b") as caught:
            con.execute("\n".join(texts))
        assert caught.value.line == 218
        assert [] == [*con.queries]
        for view in ("operators", "synopses"):
            assert [] == con.sql(f"FROM cql.{view}").fetchall()
        texts[217] = texts[217].replace("w >", "v >")
        con.execute("\n".join(texts))
        assert 300 == len(con.queries)


def test_who_left_may_be_merged_again() -> None:
    shape = "SELECT k, count(*) AS n FROM s [RANGE 3] WHERE v > {} GROUP BY k"
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        for name, least in (("a", 1), ("b", 2), ("same", 1)):
            con.execute(query(name, shape.format(least)))

        def feed(first: int, last: int) -> None:
            for at in range(first, last):
                con.append("s", [(v % 2, v) for v in range(at % 5)], at=at)
                con.advance(at)

        feed(1, 4)
        con.execute("ALTER CONTINUOUS QUERY a SET (sharing = false)")
        feed(4, 12)
        assert con.engine.query("a").family is None
        con.execute("ALTER CONTINUOUS QUERY a SET (sharing = true)")
        feed(12, 20)
        assert con.engine.query("a").family == con.engine.query("same").family is not None
        assert sorted(con.changes("a").fetchall()) == sorted(con.changes("same").fetchall())
        assert [] == con.check().filter("state <> 'right'").fetchall()


def test_constants_inside_of_conjuncts_are_cut_out_last() -> None:
    """All pairs meet in such a join: first the shapes without them are looked at."""

    def inside(condition: str, clause: str = "WHERE") -> list[str]:
        shapes = shapes_of(f"SELECT k FROM s [NOW] {clause} {condition}")
        return [c.sql for c in shapes[-1].constants]

    assert inside("v > 5 OR k = 'it''s'") == ["5", "'it''s'"]
    assert inside("NOT v > 5 AND (k = 1)") == ["5", "1"]
    assert inside("NOT (v) > 5 OR 3 < abs(v + 1)") == ["5", "3"]
    assert inside("CASE WHEN v > 5 AND v < 9 THEN v = 3 ELSE 4 = v END") == ["5", "9", "3", "4"]
    assert inside("v IN (1, -2) AND lower(n) NOT IN ('a') AND n NOT LIKE 'b%'") == [
        "1", "-2", "'a'", "'b%'"]  # fmt: skip
    assert inside("coalesce(v > 5, k ILIKE 'a')") == ["5", "'a'"]
    assert inside("count(*) > 5 OR sum(v) IN (1, 2)", "GROUP BY k HAVING") == ["5", "1", "2"]
    for uncut in ("v > 1e3", "v > 5 + 1", "5 > 6", "v > NULL OR FALSE", "v > '5'::INTEGER",
                  "v IS NOT NULL = 5", "v NOT BETWEEN 1 AND 2", "v BETWEEN 1 AND 2 OR v > 5",
                  "v > 1234567890123456789 OR FALSE", "j -> 'a' = 'b'", "v > 5 IS NULL",
                  "n LIKE 'a' = 'b'", "3 < v < 5", "v IN (1, NULL)", "v IN (1, '2')",
                  "v IN (w, 1)", "v IN (1 + 1)", "(v, k) IN ((1, 2))", "n LIKE 'a' || 'b'",
                  "n LIKE 'a' ESCAPE 'b'", "v::INTEGER = 5 OR FALSE", "n LIKE 5", "x[1] = [v > 5]",
                  " OR ".join(f"v = {n}" for n in range(17))):  # fmt: skip
        assert inside(uncut) == [], uncut
    kept, *_, last = shapes_of("SELECT k FROM s [RANGE 5] WHERE (v > 1 OR k = 2) AND w = 3")
    assert [c.sql for c in kept.constants] == ["3"]
    assert [c.sql for c in last.constants] == ["5", "1", "2", "3"]


def test_constants_are_cut_out_where_a_column_can_stand() -> None:
    """The shape of a text, and what stays in it."""

    def where(condition: str) -> list[str]:
        return cut(f"SELECT k FROM s [NOW] WHERE {condition}")

    assert where("v > 5 AND k = 'it''s' AND -3 <= s.v") == ["5", "'it''s'", "-3"]
    assert where("v BETWEEN 1 AND 2 AND k <> 4.50") == ["1", "2", "4.50"]
    assert where("CASE WHEN v > 5 AND v < 9 THEN v = 3 END AND k = 1") == ["1"]
    assert where("v + 1 > 5 AND lower(n) || 'x' = 'ax' AND 7 < abs(v)") == ["5", "'ax'", "7"]
    assert where("CASE WHEN v BETWEEN 1 AND 2 THEN v ELSE 0 END BETWEEN 3 AND 4") == ["3", "4"]
    for uncut in ("v > 5 OR k = 1", "NOT v > 5", "(v > 5)", "v > 1e3", "v IN (1, 2)",
                  "v > 5 + 1", "5 > 6", "v > NULL", "v > '5'::INTEGER", "v IS NOT NULL = 5",
                  "v NOT BETWEEN 1 AND 2", "v > 1234567890123456789", "j -> 'a' = 'b'",
                  "v > 5 IS NULL", "n LIKE 'a' = 'b'", "3 < v < 5", "NOT (v) > 5"):  # fmt: skip
        assert where(uncut) == [], uncut
    for text in ("SELECT k FROM s WHERE v > (SELECT 5)", "SELECT k FROM s WHERE v > 5 LIMIT 3",
                 "SELECT k FROM s WHERE v > 5 UNION ALL SELECT 1", "FROM s SELECT k WHERE v > 5",
                 "SELECT sum(v) OVER () FROM s WHERE v > 5", "WITH a AS (SELECT 1) SELECT 2",
                 "SELECT k FROM s JOIN u USING (k) WHERE v > 5"):  # fmt: skip
        assert cut(text) == [], text
    same = [shapes_of(f"SELECT k FROM s /* {n} */ WHERE v > {n}")[0].key for n in (1, 22)]
    assert same[0] == same[1]
    others = ["v > 1.5", "v > 'a'", "v >= 1", "w > 1", "1 > v"]
    keys = {shapes_of(f"SELECT k FROM s WHERE {one}")[0].key for one in others}
    assert len({*keys, same[0]}) == len(others) + 1


def test_constants_of_having_and_of_the_list_are_cut_out() -> None:
    """With their types, where they stand alone: these are types of columns of the answer."""
    text = "SELECT k, {} AS a, {} AS b FROM s [NOW] GROUP BY k HAVING count(*) > {}"
    assert cut(text.format("5", "-1.5", "3")) == ["5", "-1.5", "3"]
    keys = [shapes_of(text.format(*one))[0].key for one in (
        ("5", "1.5", "3"), ("6", "-2.5", "4"), ("5", "11.5", "3"), ("5", "1.25", "3"),
        ("'5'", "1.5", "3"), ("1234567890", "1.5", "3"),
    )]  # fmt: skip
    assert keys[0] == keys[1]
    assert len(set(keys)) == 5
    assert cut("SELECT 5, 6 n, 7 + 1 AS m, k FROM s [NOW]") == []
    shapes = shapes_of("SELECT 1 AS n FROM s [RANGE 5] WHERE v > 2 AND v + 1 > 3")
    assert [len(shape.constants) for shape in shapes] == [3, 1, 0, 4]
    for window in ("NOW", "RANGE 0", "RANGE 5 SLIDE 2", "RANGE 1 HOUR 5 MINUTES", "ROWS 5",
                   "RANGE UNBOUNDED", "RANGE 5 WHERE v > 3", "TUMBLE 5",
                   "RANGE 1.5 HOURS"):  # fmt: skip
        assert [len(s.constants) for s in shapes_of(f"SELECT k FROM s [{window}]")] == [0]


def test_who_does_not_share_says_so_in_its_plan() -> None:
    """Members name their family; others have none."""
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        for n in range(3):
            con.execute(f"CREATE CONTINUOUS QUERY q{n} AS SELECT k FROM s [NOW] WHERE v > {n}")
            con.execute(f"CREATE CONTINUOUS QUERY g{n} AS SELECT max(v) FROM s WHERE v // {n} > 1")
        families = con.sql("SELECT name, family FROM cql.queries ORDER BY name").fetchall()
        assert families == [("g0", None), ("g1", None), ("g2", None),
                            *[(f"q{n}", "_cql_family_1") for n in range(3)]]  # fmt: skip
        assert con.explain("q1").startswith(
            "-- q1 is computed by _cql_family_1, one plan for 3 queries, which differ in constants "
            "alone; it is number 2\n--   the others: q0, q2\n\n0 project"
        )
        assert len(con.sql("FROM cql.operators WHERE query = 'q2'").fetchall()) == 5
        for name in ("_cql_family_1", "_cql_constants_1"):
            for text in (f"CREATE STREAM {name} (k INTEGER)", f"DROP CONTINUOUS QUERY {name}",
                         f"CREATE CONTINUOUS QUERY x AS SELECT * FROM {name}",
                         f"INSERT INTO {name} VALUES (1)"):  # fmt: skip
                with pytest.raises(cqlduck.Error):
                    con.execute(text)
        with pytest.raises(cqlduck.CatalogError, match="s is read by "):
            con.execute("DROP STREAM s")
        assert list(con.relations) == ["r"]
        assert [name for (name,) in con.sql("SELECT name FROM cql.relations").fetchall()] == ["r"]


GROUPS = "SELECT k, count(*) AS n FROM s [RANGE 10] WHERE v > {} GROUP BY k"


def both_ways(script: list[str | int]) -> list[dict[str, list[tuple[Any, ...]]]]:
    """Return what queries say after a script, with sharing and without.

    A number is an instant: an element arrives there, and both advance to it.
    """
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute(SCRIPT)
            for step in script:
                if isinstance(step, str):
                    con.execute(step)
                else:
                    con.append("s", [(step % 2, step)], at=step)
                    con.advance(step)
            assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
            found.append(
                {
                    name: [
                        sorted(con.changes(name).fetchall(), key=repr),
                        sorted(con.sql(f"FROM {name}").fetchall(), key=repr),
                    ]
                    for name in con.queries
                }
            )
    return found


def query(name: str, body: str) -> str:
    """Return the statement that registers a query."""
    return f"CREATE CONTINUOUS QUERY {name} AS {body}"


def test_a_member_begins_where_it_is_registered() -> None:
    """Members of equal constants that are registered at other instants begin there."""
    first = [query(f"q{n}", GROUPS.format(n)) for n in range(2)]
    later = [query(f"p{n}", GROUPS.format(1)) for n in range(4)]
    script = [*first, 1, 2, *later[:2], 3, later[2], 4, later[3], 5]
    mine, alone = both_ways(script)
    assert mine == alone
    assert mine["p0"] == mine["p1"]
    assert mine["p1"] != mine["p2"] != mine["p3"]


@pytest.mark.parametrize(
    "listed",
    ["count(*) AS n", "list(v) AS l", "sum(v) AS t, count(DISTINCT k) AS n",
     "{0} AS c, max(v) AS m", "bool_or(true) AS b, median(5) AS m, count(1) AS n, sum(1) AS t",
     "count(*) FILTER (WHERE v > 7) AS n, string_agg(k) FILTER (WHERE v > 5) AS t"],
)  # fmt: skip
def test_global_aggregates_of_a_family_have_their_row_over_nothing(listed: str) -> None:
    """From where each begins, whether it is registered before time begins or later."""
    bodies = [f"SELECT {listed} FROM s [RANGE 2] WHERE v > {{0}}".format(n) for n in range(9)]
    script: list[str | int] = [query(f"q{n}", bodies[n]) for n in range(2)]
    script += ["CREATE CONTINUOUS QUERY z AS SELECT k FROM s [NOW]", 3, 4]
    script += [query(f"p{n}", bodies[n + 5]) for n in range(3)]
    script += [5, 8, "DROP CONTINUOUS QUERY p1", 9, query("p1", bodies[8]), 20, 30]
    mine, alone = both_ways(script)
    assert mine == alone
    assert any(weight < 0 for *_, weight in mine["p0"][0])


def test_time_begins_for_a_family_with_the_first_element(tmp_path: Path) -> None:
    """On wall-clock time; that members are registered is none, nor that the file is reopened."""
    found = []
    for sharing in (True, False):
        rows: list[Any] = []

        def opened(sharing: bool = sharing) -> cqlduck.Connection:
            path = tmp_path / f"{sharing}.duckdb"
            return cqlduck.connect(path, sharing=sharing, granularity="1 second")

        with opened() as con:
            con.execute(SCRIPT + "CREATE STREAM clock (t TIMESTAMP) TIMESTAMP BY t")
            con.advance("2024-01-01")
            for n in range(3):
                con.execute(query(f"q{n}", f"SELECT count(*) AS n FROM s [NOW] WHERE v > {n}"))
            assert (families_of(con) != [None] * 3) == sharing
            con.advance("2024-01-01 00:00:05")
            rows += [(q.began, con.table(name).fetchall()) for name, q in con.queries.items()]
        with opened() as con:
            rows += [(q.began, con.table(name).fetchall()) for name, q in con.queries.items()]
            con.append("s", [(1, 2)], at="2024-01-01 00:00:07")
            con.advance("2024-01-01 00:00:09")
            rows += [(q.began, con.changes(name).fetchall()) for name, q in con.queries.items()]
        found.append(rows)
    assert found[0] == found[1]


def test_groups_by_a_literal_alone_have_no_row_over_nothing() -> None:
    """Other than a global aggregate."""
    bodies = [f"SELECT {n} AS c, count(*) AS n FROM s [RANGE 2] WHERE v > {n} GROUP BY c"
              for n in range(3)]  # fmt: skip
    mine, alone = both_ways([*(query(f"q{n}", body) for n, body in enumerate(bodies)), 1, 2, 9])
    assert mine == alone


WINDOWED = [
    "SELECT k, count(*) AS n FROM s [RANGE {0}] WHERE v > {1} GROUP BY k",
    "SELECT count(*) AS n, max(v) AS m, {1} AS level FROM s [RANGE {0}]",
    "SELECT x.k, y.v AS other FROM s [RANGE {0}] x, s [RANGE {1}] AS y WHERE x.k = y.k",
    "SELECT s.k, r.w FROM s [RANGE {0}], r WHERE s.k = r.k",
    "SELECT Dstream(k) FROM s [RANGE {0}]",
    "SELECT DISTINCT * FROM s [RANGE {0}] WHERE v <> {1}",
]


@pytest.mark.parametrize(
    ("body", "edge"),
    [*((body, "closed") for body in WINDOWED), *((body, "half_open") for body in WINDOWED[::3])],
)
def test_windows_of_other_lengths_are_one_plan(body: str, edge: str) -> None:
    """Their lengths are constants of the family, for members that come later, too."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing, window_edge=edge) as con:
            con.execute(SCRIPT + "INSERT INTO r VALUES (0, 5), (1, 6)")
            con.execute(query("z", "SELECT k FROM s [NOW]"))
            rows: list[Any] = []
            for t in range(1, 24):
                con.append("s", [(t % 2, t), (t % 3, t % 4)], at=t)
                con.advance(t)
                if t in (3, 4, 6, 8):
                    con.execute(query(f"q{t}", body.format(t + 2, t + 3)))
                if t == 12:
                    con.execute("DROP CONTINUOUS QUERY q4")
                    con.execute(query("q12", body.format(16, 5)))
                if t > 15:
                    rows += [sorted(con.table(name).fetchall(), key=repr) for name in con.queries]
            if sharing:
                assert families_of(con) == ["_cql_family_1", None, *["_cql_family_1"] * 2, None]
            assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
            rows += [sorted(con.changes(n).fetchall(), key=repr) for n in con.queries]
            found.append(rows)
    assert found[0] == found[1]


def test_a_window_is_of_a_family_up_to_its_longest_one() -> None:
    """Units and powers of four tell families from each other; one of equal windows is plain."""
    lengths = ["90 SECONDS", "2 MINUTES", "200 SECONDS", "3 MINUTES", "300 SECONDS", "100 SECOND"]
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        con.advance("2024-01-01")
        for n, length in enumerate(lengths):
            con.execute(query(f"q{n}", f"SELECT k, v FROM s [RANGE {length}]"))
        assert families_of(con) == ["_cql_family_1", "_cql_family_2", "_cql_family_1",
                                    "_cql_family_2", None, None]  # fmt: skip
        assert "[RANGE _cql_constants_1._cql_0, at most 256000000]" in con.explain("q0")
        for n in range(2):
            con.execute(query(f"p{n}", f"SELECT k FROM s [RANGE 60 SECONDS] WHERE v > {n}"))
        assert "RANGE 60 SECONDS" in con.explain("p1")
        for text in ("[RANGE 5 SECONDS OF _cql_constants_1._cql_0]", "[RANGE 5 SECONDS OF r.w]"):
            with pytest.raises(cqlduck.BindError, match="RANGE ends after its length"):
                con.execute(query("wrong", f"SELECT k FROM s {text}"))


@pytest.mark.parametrize("edge", ["closed", "half_open"])
@pytest.mark.parametrize("granularity", [None, "1 second", "1 minute"])
@pytest.mark.parametrize("reopens", [False, True])
def test_ranges_before_the_kind_of_time_is_known(
    edge: str, granularity: str | None, reopens: bool, tmp_path: Path
) -> None:
    """A number of instants, as a constant of a family is, says nothing about hours then."""
    bodies = [
        "SELECT k, count(*) AS n FROM s [RANGE {} HOURS] GROUP BY k",
        "SELECT k FROM s [RANGE {} MINUTES]",
        "SELECT k FROM s [RANGE 2 HOURS] WHERE v > {}",
    ]
    found = []
    for sharing in (True, False):
        path = tmp_path / f"{sharing}.duckdb"
        settings = {"granularity": granularity} if granularity else {}
        con = cqlduck.connect(path, sharing=sharing, window_edge=edge, **settings)
        con.execute(SCRIPT)
        for place, body in enumerate(bodies):
            for length in (200, 240):
                con.execute(query(f"q{place}_{length}", body.format(length // (99, 1, 99)[place])))
        if reopens:
            con.close()
            con = cqlduck.connect(path)
        con.append("s", [(1, 5), (2, 9)], at="2024-01-01 00:00:00")
        for minutes in (1, 119, 120, 121, 199, 200, 201, 240, 241):
            con.advance(f"2024-01-01 {minutes // 60:02}:{minutes % 60:02}:00")
        con.execute(query("later", bodies[0].format(3)))
        con.append("s", [(1, 7)], at="2024-01-01 05:00:00")
        con.execute("ALTER CONTINUOUS QUERY q0_200 SET (sharing = false)")
        con.advance("2024-01-02 00:00:00")
        found.append({name: con.changes(name).fetchall() for name in con.queries})
        assert all(found[-1].values())
        con.close()
    shared, alone = ({n: sorted(rows) for n, rows in one.items()} for one in found)
    assert shared == alone


def test_numbers_that_may_not_fit_a_long_decimal_stay_in_the_text() -> None:
    """DuckDB gives both sides one type, of 38 digits: a query fails that would not alone."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute("CREATE STREAM s (m DECIMAL(38, 30), n DECIMAL(38, 10))")
            for name, condition in (
                ("low", "m > 1.5"), ("high", "m > 123456789.5"),
                ("one", "n > 1.5"), ("two", "n > 123456789.5"),
                ("three", "m > 1"), ("four", "m > 2"),
            ):  # fmt: skip
                con.execute(query(name, f"SELECT m FROM s [RANGE 2] WHERE {condition}"))
            con.append("s", [("2.5", "3.5")], at=1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                con.advance(3)
            states = con.sql("SELECT name, state FROM cql.queries ORDER BY name").fetchall()
            found.append((states, [con.changes(name).fetchall() for name in ("low", "three")]))
    assert found[0] == found[1]
    assert ("low", "active") in found[0][0]
    assert ("high", "failed") in found[0][0]


def families_of(con: cqlduck.Connection) -> list[str | None]:
    """Return the families of all queries, by name."""
    rows = con.sql("SELECT family FROM cql.queries ORDER BY name").fetchall()
    return [family for (family,) in rows]


def test_constants_of_having_and_of_the_list_are_rows_of_a_family() -> None:
    """One plan has all queries that differ in them; each has its own columns."""
    body = "SELECT k, {0} AS level, count(*) AS n FROM s [RANGE 9] GROUP BY k HAVING sum(v) > {1}"
    script: list[str | int] = [query(f"q{n}", body.format(n, 3 * n)) for n in range(4)]
    mine, alone = both_ways([*script, *range(1, 9)])
    assert mine == alone
    assert mine["q1"] != mine["q2"]
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        con.execute(";".join(str(one) for one in script))
        assert families_of(con) == ["_cql_family_1"] * 4


COMPARED = [
    ("max(m)", ["'sad'", "'ok'", "'none'"]),
    ("max(d)", ["'2024-01-02'", "'2024-01-03'"]),
    ("sum(d4)", ["1", "2", "-3"]),
    ("sum(d4)", ["1.10", "2.25", "-3.00"]),
    ("max(f)", ["0.1", "0.3"]),
    ("avg(f)", ["16777217", "0"]),
    ("sum(b)", ["9223372036854775", "-1"]),
    ("max(u)", ["5", "7"]),
    ("bool_or(k > 1)", ["1", "0", "2"]),
    ("max(k % 2 = 1)", ["'true'", "'x'"]),
    ("lower(max(t))", ["'a'", "'b'", "''"]),
    ("max(t)", ["5", "6"]),
    ("max(i)", ["'5'", "'1 day'"]),
]
"""Expressions over columns of many types, and constants of one kind."""


@pytest.mark.parametrize(("compared", "constants"), COMPARED)
def test_a_constant_compares_as_it_does_in_the_text(compared: str, constants: list[str]) -> None:
    """Whatever stands beside it: where a column would compare otherwise it stays in the text."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
            con.execute("CREATE STREAM s (k INTEGER, m mood, d DATE, d4 DECIMAL(4, 2), f FLOAT,"
                        "b BIGINT, u UBIGINT, t VARCHAR, i INTERVAL)")  # fmt: skip
            outcomes: list[Any] = []
            for sign, word in ((">", "more"), ("=", "equal"), ("<=", "less")):
                for n, constant in enumerate(constants):
                    body = (f"SELECT k, count(*) AS n FROM s [RANGE 9] GROUP BY k "
                            f"HAVING {compared} {sign} {constant}")  # fmt: skip
                    try:
                        con.execute(query(f"{word}{n}", body))
                    except cqlduck.Error as error:
                        outcomes.append(error.message)
            con.execute("""INSERT INTO s SELECT n, ['sad', 'ok', 'happy'][n]::mood,
                DATE '2024-01-01' + n, n * 1.1, n / 10, 2 ** 53 + n, 4 + n, chr(96 + n),
                to_days(n) FROM (VALUES (1), (2), (3)) AS numbers (n)""")
            with contextlib.suppress(cqlduck.QueryError):
                con.advance(2)
            for name, one in con.queries.items():
                rows = sorted(con.changes(name).fetchall())
                outcomes.append((name, one.state, one.error, rows))
            found.append(outcomes)
    assert found[0] == found[1]


def test_a_number_is_given_once() -> None:
    """Who comes right after a member has left has nothing of what that one had."""
    script: list[str | int] = [query(f"q{n}", GROUPS.format(n)) for n in range(3)]
    more = [5, 6, "DROP CONTINUOUS QUERY q2", query("p", GROUPS.format(2)), 7, 8]
    more += ["DROP CONTINUOUS QUERY p", query("q2", GROUPS.format(4)), 9, 10]
    mine, alone = both_ways(
        ["CREATE CONTINUOUS QUERY z AS SELECT k FROM s [NOW]", 1, *script, *more]
    )
    assert mine == alone


def test_a_member_that_stands_still_shows_what_it_had() -> None:
    """The family goes on; activated, the member is where the family is."""
    script: list[str | int] = [query(f"q{n}", GROUPS.format(n)) for n in range(2)]
    script += [1, 2, "ALTER CONTINUOUS QUERY q0 DEACTIVATE", 3, 4]
    mine, alone = both_ways(script)
    assert mine == alone
    assert mine["q0"] != mine["q1"]
    mine, alone = both_ways([*script, "ALTER CONTINUOUS QUERY q0 ACTIVATE", 5])
    assert mine == alone


def test_what_a_member_had_is_deleted_with_it() -> None:
    """In the log and the answer of the family, at the next tick."""
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        for n in range(3):
            con.execute(query(f"q{n}", f"SELECT k, v FROM s WHERE v >= {n}"))
            con.execute(query(f"p{n}", f"SELECT k, v FROM s [RANGE 20] WHERE v >= {n}"))
        for t in range(5):
            con.append("s", [(1, t)], at=t)
            con.advance(t)
        con.execute("DROP CONTINUOUS QUERY q1; DROP CONTINUOUS QUERY p1")
        con.append("s", [(1, 5)], at=5)
        con.advance(5)
        for family in ("_cql_family_1", "_cql_family_2"):
            found = con.sql(f'SELECT DISTINCT _cql_member FROM cql_state."changes_{family}"')
            assert sorted(found.fetchall()) == [(1,), (3,)]
        assert [row for row in con.sql("FROM _cql_constants_1").fetchall()] == [
            (1, None, 0), (3, None, 2)
        ]  # fmt: skip


@pytest.mark.parametrize("body", ["SELECT k, v FROM s WHERE v >= {}", GROUPS])
def test_who_subscribes_to_a_member_too_slowly_hears_of_it(body: str) -> None:
    with cqlduck.connect(history="4") as con:
        con.execute(SCRIPT)
        for n in range(2):
            con.execute(query(f"q{n}", body.format(n)))
        batches = con.subscribe("q1", timeout=0)
        for t in range(40):
            con.append("s", [(1, t)], at=t)
            con.advance(t)
        start = con.engine.query("q1").history_from
        assert start is not None
        with pytest.raises(cqlduck.DataError, match="q1 was too slow"):
            next(iter(batches))
        with pytest.raises(cqlduck.DataError, match=f"the history of q1 begins at {start}"):
            con.as_of("q1", start - 1)


@pytest.mark.parametrize("is_paused", [False, True])
@pytest.mark.parametrize("in_file", [False, True])
def test_what_history_has_forgotten_is_refused_at_once(
    in_file: bool, is_paused: bool, tmp_path: Path
) -> None:
    """Of members too, in the tick in which it goes, also of one that stands still."""
    path = tmp_path / "a.duckdb" if in_file else ":memory:"
    con = cqlduck.connect(path, history="4")
    con.execute(SCRIPT)
    for n in range(2):
        con.execute(query(f"q{n}", f"SELECT k, v FROM s [RANGE 90] WHERE v > {n}"))
    refused = 0
    for t in range(1, 25):
        if t % 3:
            con.append("s", [(t, t)], at=t)
        con.advance(t)
        if t == 12 and is_paused:
            con.execute("ALTER CONTINUOUS QUERY q0 DEACTIVATE")
        if t % 8 == 0 and in_file:
            con.close()
            con = cqlduck.connect(path, history="4")
        for at in range(1, min(t, 12 if is_paused else t) + 1):
            came = [n for n in range(1, at + 1) if n % 3]
            try:
                assert sorted(k for k, _ in con.as_of("q0", at).fetchall()) == came
            except cqlduck.DataError:
                refused += 1
                continue
            later = con.changes("q0", since=at).fetchall()
            assert all(k == ts > at for k, _, ts, _ in later), (t, at, later)
    assert refused
    con.close()


@pytest.mark.parametrize("text", ["DROP CONTINUOUS QUERY q0",
                                  "ALTER CONTINUOUS QUERY q0 ACTIVATE FROM NOW"])  # fmt: skip
def test_history_is_bounded_again_when_no_member_stands_still(text: str) -> None:
    with cqlduck.connect(history="4") as con:
        con.execute(SCRIPT)
        for n in range(2):
            con.execute(query(f"q{n}", f"SELECT k, v FROM s [RANGE 3] WHERE v > {n}"))
        for t in range(1, 40):
            if t in (10, 30):
                con.execute("ALTER CONTINUOUS QUERY q0 DEACTIVATE" if t == 10 else text)
            con.append("s", [(1, t)], at=t)
            con.advance(t)
            start = con.engine.query("q1").history_from
            if 7 < t <= 10 or t >= 30:
                assert start is not None
                assert start >= t - 8
            elif t > 10:
                assert start is not None
                assert start <= 10


def test_who_subscribes_hears_nothing_of_what_stands_when_history_goes() -> None:
    with cqlduck.connect(history="4") as con:
        con.execute(SCRIPT)
        for n in range(2):
            con.execute(query(f"q{n}", f"SELECT k, v FROM s [RANGE 90] WHERE v > {n}"))
        con.append("s", [(1, 5)], at=1)
        con.advance(1)
        waiting = {t: con.subscribe("q0", since=1, timeout=0) for t in range(2, 20)}
        for t, batches in waiting.items():
            con.advance(t)
            assert not [batch for batch in batches if batch.num_rows], t


@pytest.mark.parametrize(
    "body",
    [
        "SELECT r.k, w, v FROM r LEFT JOIN s [RANGE 10] ON r.k = s.k WHERE w > {}",
        "SELECT r.k, w, v FROM s [RANGE 10] RIGHT JOIN r ON r.k = s.k WHERE w > {}",
        "SELECT k, v FROM s [ROWS 4 SLIDE 3] WHERE v > {}",
        "SELECT k, first(v) AS f FROM s [RANGE 10] WHERE v > {} GROUP BY k",
        "SELECT k, count(*) AS n FROM s [RANGE UNBOUNDED] WHERE v > {} GROUP BY k",
        "SELECT x.k, y.v FROM s x, s [RANGE UNBOUNDED] y WHERE x.k = y.k AND x.v > {}",
    ],
)
def test_what_looks_back_otherwise_is_right_for_later_members(body: str) -> None:
    """Outer joins pad what meets nothing of a member's own; slides in rows count from its first."""
    script: list[str | int] = ["INSERT INTO r VALUES (0, 9), (1, 9), (2, 9)", 1, 2, 3]
    for n in range(4):
        script += [query(f"q{n}", body.format(n % 2)), 4 + 2 * n, 5 + 2 * n]
    mine, alone = both_ways(script)
    assert mine == alone


def test_no_stream_is_kept_for_a_family_alone() -> None:
    """A join with constants would need all of a stream without a window, a sum over it nothing."""
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER); CREATE STREAM u (k INTEGER)")
        for n in range(2):
            con.execute(query(f"sum{n}", f"SELECT k, sum(v) AS t FROM s WHERE v > {n} GROUP BY k"))
            con.execute(query(f"join{n}", f"SELECT v FROM u, u AS o, s [NOW] WHERE v > {n}"))
        for at in range(20):
            con.append("s", [(1, at)], at=at)
            con.append("u", [(at,)], at=at)
            con.advance(at)
        assert con.engine.query("join0").family is not None
        assert con.sql("SELECT count(*) FROM cql_state.stream_u").fetchall() == [(20,)]
        # these are kept for the last instant alone
        assert con.sql("SELECT count(*) < 5 FROM cql_state.stream_s").fetchall() == [(True,)]


@pytest.mark.parametrize("valid", [0, 1, 2])
def test_a_constant_that_is_no_date_is_what_it_is_alone(valid: int) -> None:
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute("CREATE STREAM s (k INTEGER, d DATE)")
            for day in ("2024-01-01", "2024-01-02")[:valid]:
                con.execute(query(f"q{day[-1]}", f"SELECT k FROM s [NOW] WHERE d > '{day}'"))
            for name in ("p1", "p2"):
                con.execute(query(name, "SELECT k FROM s [NOW] WHERE d > 'nonsense'"))
            con.append("s", [(1, datetime.date(2024, 1, 2))], at=1)
            with pytest.warns(RuntimeWarning, match="nonsense"):
                con.advance(1)
            states = [(name, one.state) for name, one in con.queries.items()]
            assert states == [*[(f"q{n + 1}", "active") for n in range(valid)],
                              ("p1", "failed"), ("p2", "failed")]  # fmt: skip


@pytest.mark.parametrize(
    "aggregate", ["sum(h)", "avg(h)", "sum(c)", "kurtosis(p)", "skewness(p)", "sum(DISTINCT h)"]
)
def test_an_aggregate_that_raises_fails_whom_it_fails_alone(aggregate: str) -> None:
    """An overflow in the groups of one member is none in those of the others."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute("CREATE STREAM s (k INTEGER, v INTEGER, h HUGEINT, c DECIMAL(38, 0), "
                        "p DOUBLE)")  # fmt: skip
            for least in (0, 5):
                con.execute(query(f"q{least}", f"SELECT k, {aggregate} AS a FROM s [RANGE 3] "
                                  f"WHERE v > {least} GROUP BY k"))  # fmt: skip
            large = [(1, n, 2**127 - n, 10**38 - n, (-1) ** n * 1e300) for n in range(1, 5)]
            con.append("s", [*large, *[(1, n, n, n, n) for n in range(6, 12)]], at=1)
            with pytest.warns(RuntimeWarning, match="q0 failed at 1"):
                con.advance(1)
            states = [one.state for one in con.queries.values()]
            found.append((states, sorted(con.changes("q5").fetchall())))
    assert found[0] == found[1]
    assert found[0][0] == ["failed", "active"]


@pytest.mark.parametrize("aggregate", ["sum(v)", "avg(p)", "stddev(v)", "max(h)", "count(h)"])
def test_an_aggregate_that_never_raises_is_generalized(aggregate: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER, h HUGEINT, p DOUBLE)")
        for least in (0, 5):
            con.execute(query(f"q{least}", f"SELECT k, {aggregate} AS a FROM s [RANGE 3] "
                              f"WHERE v > {least} GROUP BY k"))  # fmt: skip
        assert con.sql("SELECT count(family) FROM cql.queries").fetchall() == [(2,)]


def test_a_family_that_has_expired_does_not_come_back() -> None:
    """A member that began after its family stood still cannot go on with what is not kept."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing, standing="5 seconds") as con:
            con.execute(SCRIPT)
            con.execute(query("p", "SELECT k FROM s [RANGE 2]"))
            con.advance(0)
            for n in range(3):
                con.execute(query(f"q{n}", GROUPS.format(n)))
            for t in range(1, 40):
                con.append("s", [(1, t)], at=t)
                con.advance(t)
                if t == 10:
                    con.execute("; ".join(f"ALTER CONTINUOUS QUERY q{n} DEACTIVATE"
                                          for n in range(3)))  # fmt: skip
                if t == 12:
                    con.execute(query("late", GROUPS.format(7)))
                    con.execute("ALTER CONTINUOUS QUERY late DEACTIVATE")
                if t == 16:
                    con.execute("ALTER CONTINUOUS QUERY late ACTIVATE")
                if t == 30:
                    con.execute("DROP CONTINUOUS QUERY q1")
                    con.execute(query("last", GROUPS.format(5)))
            rows = {name: sorted(con.changes(name).fetchall()) for name in con.queries}
            states = {name: one.state for name, one in con.queries.items()}
            found.append((rows, states))
    assert found[0] == found[1]


def test_what_is_pinned_stays_pinned() -> None:
    """A query of which a user wants something keeps its own plan."""
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        con.execute(query("q0", "SELECT k FROM s [NOW] WHERE v > 1"))
        con.pin("stages", "whole", "q0")
        con.execute(query("q1", "SELECT k FROM s [NOW] WHERE v > 2"))
        pins = "SELECT owner FROM cql.points WHERE chosen_by = 'user'"
        assert con.sql(pins).fetchall() == [("q0",)]
        assert con.sql("SELECT family FROM cql.queries").fetchall() == [(None,), (None,)]


def members(con: cqlduck.Connection, body: str, count: int) -> list[str]:
    """Register queries that differ in a constant; return their names."""
    for at in range(count):
        con.execute(f"CREATE CONTINUOUS QUERY m{at} AS {body.format(at)}")
    names = [f"m{at}" for at in range(count)]
    assert all(con.engine.query(name).family is not None for name in names)
    return names


@pytest.mark.parametrize(
    ("body", "is_read"),
    [(SHAPES[4], True), (SHAPES[0], False), (SHAPES[9], True), (SHAPES[6], False)],
)
def test_a_member_leaves_with_what_it_has(body: str, is_read: bool, tmp_path: Path) -> None:
    pair = Pair(tmp_path, {})
    pair.open()
    pair.execute(SCRIPT)
    one = pair.both[0]
    for at in range(3):
        pair.execute(f"CREATE CONTINUOUS QUERY m{at} AS {body.format(at, 4)}")
    if is_read:
        pair.execute("CREATE CONTINUOUS QUERY above AS SELECT count(*) AS n FROM m1")
    rnd = random.Random(7)

    def run(ticks: range) -> None:
        for t in ticks:
            pair.append("s", [(t % 3, 1 + t % 4), (1, rnd.randrange(5))], t)
            pair.append("r", [(t % 3, 1 + t % 3)], t)
            pair.advance(t)
            pair.compare()

    run(range(8))
    (family,) = one.engine.catalogue.families.values()
    assert leave(one, "m1")
    pair.compare()
    assert ["m0", "m2"] == [m.name for m in one.engine.catalogue.members_of(family)]
    run(range(8, 12))
    pair.open()
    one = pair.both[0]
    run(range(12, 16))
    # the last two take the family with them
    assert leave(one, "m0")
    assert leave(one, "m2")
    assert not one.engine.catalogue.families
    run(range(16, 22))
    assert not [row for row in one.check().fetchall() if row[5] == "wrong"]
    for con in pair.both:
        con.close()


def test_a_member_that_leaves_keeps_its_history(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"history": "4"})
    pair.open()
    pair.execute(SCRIPT)
    for at in range(2):
        pair.execute(f"CREATE CONTINUOUS QUERY m{at} AS {SHAPES[4].format(at)}")
    one, each = pair.both
    for t in range(12):
        pair.append("s", [(t % 3, 1 + t % 4)], t)
        pair.advance(t)
    assert leave(one, "m1")
    for t in range(12, 20):
        starts = [con.engine.query("m1").history_from for con in pair.both]
        assert starts[0] == starts[1]
        assert starts[0] is not None
        found = [sorted(con.as_of("m1", starts[0]).fetchall()) for con in (one, each)]
        assert found[0] == found[1]
        pair.append("s", [(t % 3, 1 + t % 4)], t)
        pair.advance(t)
    for con in pair.both:
        con.close()


def test_who_stands_still_cannot_leave() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        members(con, SHAPES[4], 2)
        con.append("s", [(1, 2)], at=1)
        con.advance(2)
        con.execute("ALTER CONTINUOUS QUERY m0 DEACTIVATE")
        before = told(con)
        with pytest.raises(cqlduck.NotSupportedError, match="m0 stands still") as caught:
            con.execute("ALTER CONTINUOUS QUERY m0 SET (sharing = false, weight = 3)")
        assert "ACTIVATE first" in str(caught.value.hint)
        assert before == told(con)


def test_what_is_forgotten_cannot_leave() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        for number, called in enumerate(("max", "min")):
            body = f"SELECT k, {called}(v) AS m FROM s GROUP BY k"
            con.execute(f"CREATE CONTINUOUS QUERY m{number} AS {body}")
        assert con.engine.query("m0").family is not None
        for t in range(9):
            con.append("s", [(1, t)], at=t)
            con.advance(t)
        before = told(con)
        with pytest.raises(cqlduck.NotSupportedError) as caught:
            con.execute("ALTER CONTINUOUS QUERY m0 SET (weight = 2, sharing = false)")
        assert caught.value.message.startswith("m0 cannot leave its family: ")
        assert "s has forgotten what came up to" in caught.value.message
        assert before == told(con)


def test_a_family_may_have_the_name_of_one_whose_members_have_left() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
        for least in (1, 2):
            con.execute(
                f"CREATE CONTINUOUS QUERY q{least} AS SELECT k, count(*) AS n FROM s [RANGE 5] "
                f"WHERE v > {least} GROUP BY k"
            )
        con.tick({"s": [(1, 5, 1)]}, 1)
        names = con.sql("SELECT DISTINCT family FROM cql.queries").fetchall()
        con.execute("DROP CONTINUOUS QUERY q1; DROP CONTINUOUS QUERY q2")
        con.execute("""
            CREATE CONTINUOUS QUERY counts AS SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k;
            CREATE CONTINUOUS QUERY sums AS SELECT k, sum(v) AS v FROM s [RANGE 5] GROUP BY k;
        """)
        assert names == con.sql("SELECT DISTINCT family FROM cql.queries").fetchall()
        con.tick({"s": [(1, 7, 2)]}, 2)
        assert [(1, 7)] == con.table("sums").fetchall()


def test_a_query_is_registered_alone_and_stays_so() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        text = "CREATE CONTINUOUS QUERY {} WITH (sharing = {}) AS " + SHAPES[0]
        con.execute(text.replace("{0}", "1").format("a", "false"))
        con.execute(text.replace("{0}", "2").format("b", "true"))
        con.execute(text.replace("{0}", "3").format("c", "default"))
        families = [con.engine.query(name).family for name in "abc"]
        assert families[0] is None
        assert families[1] is not None
        assert families[1] == families[2]
    with cqlduck.connect(sharing=False) as con:
        con.execute(SCRIPT)
        for at, name in enumerate("abc"):
            wish = "default" if name == "c" else "true"
            con.execute(text.replace("{0}", str(at)).format(name, wish))
        families = [con.engine.query(name).family for name in "abc"]
        assert families[0] == families[1] is not None
        assert families[2] is None


def test_queries_share_a_plan_where_memory_has_to_be_bounded() -> None:
    pairs = "SELECT x.v FROM s x, s [RANGE 3] y WHERE x.k = y.k AND x.v > {}"
    with cqlduck.connect(unbounded="refuse") as con:
        con.execute(SCRIPT)
        members(con, SHAPES[4], 3)
        with pytest.raises(cqlduck.NotSupportedError, match="m3 would keep"):
            con.execute(f"CREATE CONTINUOUS QUERY m3 AS {pairs.format(1)}")
        # also where others of its shape were registered when it was allowed
        con.execute("UPDATE cql.properties SET value = 'allow' WHERE name = 'unbounded'")
        for name in ("a", "b"):
            con.execute(f"CREATE CONTINUOUS QUERY {name} AS {pairs.format(1)}")
        assert con.engine.query("a").family is not None
        con.execute("UPDATE cql.properties SET value = 'refuse' WHERE name = 'unbounded'")
        for verb in ("CREATE", "EXPLAIN CREATE"):
            with pytest.raises(cqlduck.NotSupportedError, match="c would keep the store of s"):
                con.execute(f"{verb} CONTINUOUS QUERY c AS {pairs.format(1)}")


def test_what_a_member_left_behind_goes_though_the_process_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(SCRIPT)
        members(con, SHAPES[0], 3)
        con.append("s", [(k, v) for k in range(4) for v in range(9)], at=1)
        con.advance(1)
        family = con.engine.catalogue.family_of(con.engine.query("m2"))
        assert family is not None
        log, number = family.changes, con.engine.query("m2").member
        count = f"SELECT count(*) > 0 FROM cql_state.{log} WHERE _cql_member = {number}"
        assert [(True,)] == con.sql(count).fetchall()
        con.execute("DROP CONTINUOUS QUERY m2")
    with cqlduck.connect(path) as con:
        for t in (2, 3, 4):
            con.append("s", [(1, 1)], at=t)
            con.advance(t)
        assert [(False,)] == con.sql(count).fetchall()
