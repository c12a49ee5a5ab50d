"""The id of an operator says what it computes: not its names, not an order that says nothing."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.physical import identity

CATALOG = """
    CREATE STREAM s (k INTEGER, x DOUBLE, y VARCHAR);
    CREATE STREAM t (k INTEGER, z BIGINT);
    CREATE RELATION r (k INTEGER, name VARCHAR);
"""

FIXED = [
    ("SELECT k, x FROM s", "7bf91200bc18"),
    ("SELECT k FROM s [RANGE 5]", "ca7aa8b32f72"),
    ("SELECT k FROM s [RANGE 5 SLIDE 2]", "b041572aaa19"),
    ("SELECT k FROM s [ROWS 3]", "957e6dc5acbe"),
    ("SELECT * FROM s [PARTITION BY k ROWS 3]", "f6dc491b352b"),
    ("SELECT k FROM s [NOW] WHERE x > 1", "7157736a96b6"),
    ("SELECT DISTINCT k FROM s [RANGE 5]", "5c0d3fa1d708"),
    ("SELECT k, count(*) AS n, sum(x) AS x FROM s [RANGE 5] GROUP BY k", "8dac56774dd3"),
    ("SELECT count(*) AS n FROM s [RANGE 5]", "9d7959570655"),
    ("SELECT s.k, r.name FROM s [RANGE 5], r WHERE s.k = r.k AND s.x > 1", "faad2f05e002"),
    ("SELECT s.k FROM s [RANGE 5], t [RANGE 3], r WHERE s.k = t.k AND t.k = r.k", "8b6af61083dd"),
    ("SELECT k FROM s [RANGE 5] WHERE k IN (SELECT k FROM r)", "664c5df7da9f"),
    ("SELECT k FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM r)", "e1711ef7efc5"),
    ("SELECT s.k, r.name FROM s [RANGE 5] LEFT JOIN r ON s.k = r.k", "2e2d3cb6880f"),
    ("SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM r", "95306b9767fc"),
    ("SELECT k FROM s [RANGE 5] EXCEPT SELECT k FROM r", "58a6dcda7ed0"),
    ("Istream(SELECT k FROM s [RANGE 5])", "f3c2cd076337"),
    ("Rstream(SELECT k FROM r)", "39dc4f563f0a"),
    ("SELECT k, x FROM s [RANGE 5] ORDER BY x LIMIT 3", "2f594d795676"),
    ("SELECT k FROM s 10% SAMPLE [RANGE 5]", "001589478966"),
    ("SELECT a.k FROM r AS a JOIN r AS b ON a.k = b.k AND a.name < b.name", "b26e69a773b7"),
]
"""Ids are in databases: who changes how they are made writes a migration."""


@pytest.fixture(scope="module")
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as connection:
        connection.execute(CATALOG)
        yield connection


def ids(con: cqlduck.Connection, text: str) -> list[str]:
    """Return the ids of a query's operators, from the top."""
    return [operator.id for operator in con.engine.compile("q", text).operators]


def said(con: cqlduck.Connection, text: str) -> tuple[str, ...]:
    """Return the id of a query, and what its columns mean."""
    found = identity(con.engine.compile("q", text).plan)
    return (found.id, *sorted(found.meanings.values()))


@pytest.mark.parametrize(("text", "expected"), FIXED)
def test_ids_are_the_same_in_every_version(
    con: cqlduck.Connection, text: str, expected: str
) -> None:
    assert expected == ids(con, text)[0]


def test_what_differs_has_another_id() -> None:
    assert len(FIXED) == len({expected for _, expected in FIXED})


SAME = [
    # names
    ["SELECT k AS a FROM s [RANGE 5]", "SELECT b.k FROM s [RANGE 5] AS b",
     "SELECT c.d FROM (SELECT k AS d FROM s [RANGE 5]) AS c"],
    ["SELECT k, sum(x) AS a, count(*) AS b FROM s [ROWS 5] GROUP BY k",
     "SELECT o.k AS c, count(*) AS d, sum(o.x) AS e FROM s [ROWS 5] AS o GROUP BY o.k"],
    # conjuncts, operands, directions
    ["SELECT k FROM s [RANGE 5] WHERE x > 1 AND y = 'a'",
     "SELECT k FROM s [RANGE 5] WHERE 'a' = y AND 1 < x"],
    ["SELECT k FROM s [RANGE 5] WHERE (x > k) = (y = 'a')",
     "SELECT k FROM s [RANGE 5] WHERE (y = 'a') = (k < x)",
     "SELECT k FROM s [RANGE 5] WHERE (k < x) = ('a' = y)"],
    # inputs of joins
    ["SELECT s.k, r.name FROM s [RANGE 5], t [ROWS 2], r WHERE s.k = t.k AND t.k = r.k",
     "SELECT a.k, c.name FROM r AS c, t [ROWS 2] AS b, s [RANGE 5] AS a "
     "WHERE b.k = a.k AND c.k = b.k"],
    ["SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM r",
     "SELECT k FROM r UNION ALL SELECT k AS j FROM s [RANGE 5]"],
    # equal inputs
    ["SELECT a.k FROM r AS a, r AS b WHERE a.k = b.k AND a.name < b.name",
     "SELECT j.k FROM r AS i, r AS j WHERE j.name < i.name AND i.k = j.k"],
    ["SELECT a.name FROM r AS a, r AS b, r AS c WHERE a.k = b.k AND b.name = c.name",
     "SELECT z.name FROM r AS x, r AS y, r AS z WHERE z.k = y.k AND x.name = y.name"],
]  # fmt: skip


@pytest.mark.parametrize("texts", SAME, ids=[texts[0] for texts in SAME])
def test_names_and_orders_that_say_nothing_are_not_in_it(
    con: cqlduck.Connection, texts: list[str]
) -> None:
    assert 1 == len({said(con, text) for text in texts})


OTHERS = [
    ["SELECT k FROM s [RANGE 5]", "SELECT k FROM s [RANGE 6]", "SELECT k FROM t [RANGE 5]",
     "SELECT k FROM s [ROWS 5]", "SELECT k + 1 AS k FROM s [RANGE 5]",
     "SELECT DISTINCT k FROM s [RANGE 5]"],
    ["SELECT DISTINCT k FROM s [RANGE 5]", "SELECT DISTINCT k, x FROM s [RANGE 5]"],
    ["SELECT DISTINCT k FROM s [RANGE UNBOUNDED]", "SELECT DISTINCT k, x FROM s [RANGE UNBOUNDED]"],
    ["SELECT (k * 60)::TINYINT AS v FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM r)",
     "SELECT (k * 60)::TINYINT AS v FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM t [ROWS 5])"],
    ["Istream(SELECT k FROM r)", "Istream(SELECT k, name FROM r)", "Dstream(SELECT k FROM r)"],
    ["SELECT a.k FROM r AS a, r AS b WHERE a.k = b.k AND a.name < b.name",
     "SELECT b.k FROM r AS a, r AS b WHERE a.k < b.k AND a.name = b.name"],
    # two windows on one stream
    ["SELECT a.k FROM s [RANGE 5] AS a, s [RANGE 6] AS b WHERE a.k = 1",
     "SELECT a.k FROM s [RANGE 5] AS a, s [RANGE 6] AS b WHERE b.k = 1"],
    # all columns in order say which of several tuples came first
    *([f"SELECT k FROM (SELECT Istream({listed}) FROM s [RANGE 5]) {window}"
       for listed in ("k, x", "x, k")]
      for window in ("[ROWS 2]", "[PARTITION BY k ROWS 1]", "50% SAMPLE [RANGE 5]")),
    ["SELECT k FROM r EXCEPT SELECT k FROM t [RANGE 5]",
     "SELECT k FROM t [RANGE 5] EXCEPT SELECT k FROM r"],
    ["SELECT k, name FROM r UNION ALL SELECT k, y FROM s [RANGE 5]",
     "SELECT name, k::VARCHAR AS k FROM r UNION ALL SELECT k::VARCHAR, y FROM s [RANGE 5]"],
    # the first guards the second
    ["SELECT k FROM s [RANGE 5] WHERE k = 1 AND y::INTEGER > 0",
     "SELECT k FROM s [RANGE 5] WHERE y::INTEGER > 0 AND k = 1"],
    ["SELECT k, sum(x) AS v FROM s [RANGE 5] GROUP BY k",
     "SELECT k, sum(DISTINCT x) AS v FROM s [RANGE 5] GROUP BY k",
     "SELECT k, max(x) AS v FROM s [RANGE 5] GROUP BY k"],
]  # fmt: skip


@pytest.mark.parametrize("texts", OTHERS, ids=[texts[0] for texts in OTHERS])
def test_what_it_computes_is_in_it(con: cqlduck.Connection, texts: list[str]) -> None:
    assert len(texts) == len({ids(con, text)[0] for text in texts})


def test_distinct_is_about_its_columns(con: cqlduck.Connection) -> None:
    """Below the operator that makes a stream of it, which is about the same columns."""
    texts = [f"SELECT DISTINCT {listed} FROM s [RANGE UNBOUNDED]" for listed in ("k", "k, x", "x")]
    found = [con.engine.compile("q", text).operators for text in texts]
    distinct = [o.id for listed in found for o in listed if o.kind == "duplicate-eliminate"]
    assert 3 == len(distinct) == len(set(distinct))


def test_columns_of_equal_inputs_mean_different_things(con: cqlduck.Connection) -> None:
    body = "FROM r AS a, r AS b WHERE a.k = b.k AND a.name < b.name"
    found = [said(con, f"SELECT {column} {body}") for column in ("a.name", "b.name", "a.k")]
    assert 1 == len({operator for operator, *_ in found})
    assert 3 == len(set(found))


ITEMS = ["s [RANGE 5] AS a", "s [RANGE 5] AS b", "r AS c", "r AS d", "t [ROWS 2] AS e"]
LINKS = ["a.k = b.k", "b.k = c.k", "c.name = d.name", "d.k = e.k", "a.x > 1", "c.k > 2"]


@settings(max_examples=10, deadline=None)
@given(items=st.permutations(ITEMS), links=st.permutations(LINKS), seed=st.integers(0, 99))
def test_a_join_is_the_same_however_it_is_written(
    con: cqlduck.Connection, items: list[str], links: list[str], seed: int
) -> None:
    text = f"SELECT a.x, e.z FROM {', '.join(items)} WHERE {' AND '.join(links)}"
    aliases = list("abcde")
    random.Random(seed).shuffle(aliases)
    names = dict(zip("abcde", aliases, strict=True))
    renamed = re.sub(r"\b([a-e])(?=[. ,]|$)", lambda found: names[found[1]] + "1", text)
    plain = f"SELECT a.x, e.z FROM {', '.join(ITEMS)} WHERE {' AND '.join(LINKS)}"
    assert said(con, plain) == said(con, renamed)


GROUND = """
    CREATE STREAM s (k INTEGER, x INTEGER);
    CREATE STREAM t (k INTEGER, x INTEGER);
    CREATE RELATION r (k INTEGER, x INTEGER);
"""
"""Inputs of the same columns, so that one may stand in the place of another."""

PLACES = [
    "r", "s [RANGE 2]", "s [RANGE 3]", "s [ROWS 2]", "t [NOW]", "t [RANGE 3]",
    "(SELECT Istream(k, x) FROM s [RANGE 2]) [ROWS 1]",
    "(SELECT Istream(x, k) FROM s [RANGE 2]) [ROWS 1]",
    "(SELECT Istream(x AS k, k AS x) FROM s [RANGE 2]) [PARTITION BY k ROWS 1]",
    "(SELECT Istream(x, k) FROM s [RANGE 2]) 50% SAMPLE [RANGE 3]",
    "(SELECT DISTINCT k, x FROM s [RANGE 3])", "(SELECT k, max(x) AS x FROM t [ROWS 3] GROUP BY k)",
]  # fmt: skip
MEETINGS = ["{0} AS a, {1} AS b", "{0} AS a LEFT JOIN {1} AS b ON a.x = b.k",
            "{0} AS a FULL JOIN {1} AS b ON a.k = b.k AND a.x < b.x"]  # fmt: skip
BODIES = [
    "SELECT a.k, b.x FROM {from} WHERE {one} AND {other}",
    "SELECT DISTINCT a.k, b.x FROM {from} WHERE {one}",
    "SELECT a.k, sum(b.x) AS x FROM {from} WHERE {one} GROUP BY a.k",
    "SELECT a.k, count(b.k) FILTER (WHERE {one}) AS x FROM {from} GROUP BY a.k",
    "SELECT a.k - b.x AS k, b.k - a.x AS x FROM {from} WHERE {one}",
    "SELECT a.k, b.x FROM {from} WHERE {one} EXCEPT SELECT b.k, a.x FROM {from}",
    "SELECT a.k, b.x FROM {from} WHERE {one} UNION ALL SELECT k, x FROM r",
    "SELECT a.k, b.x FROM {from} WHERE {one} AND a.x NOT IN (SELECT k FROM r)",
]
CONDITIONS = ["a.k = b.k", "a.k < b.x", "a.x > 1", "a.x = b.k"]


def alike(rng: random.Random) -> list[str]:
    """Return some queries that differ by what is exchanged in them."""
    body, meeting = rng.choice(BODIES), rng.choice(MEETINGS)
    places, conditions = rng.choices(PLACES, k=2), rng.choices(CONDITIONS, k=2)
    found = set()
    for _ in range(6):
        rng.shuffle(places)
        rng.shuffle(conditions)
        one, other = conditions
        text = body.replace("{from}", meeting.format(*places))
        text = text.replace("{one}", one).replace("{other}", other)
        for this, that in (("a.", "b."), (".k", ".x")):
            if rng.random() < 0.5:
                text = re.sub(
                    r"\b[ab]\.[kx]\b",
                    lambda m, t=this, u=that: m[0].replace(t, "?").replace(u, t).replace("?", u),
                    text,
                )
        found.add(text)
    return sorted(found)


SEEDS: dict[str, st.SearchStrategy[int]] = {"seed": st.integers(0, 10**6)}


@settings(max_examples=4, deadline=None)
@given(**SEEDS)
def test_what_has_one_id_computes_the_same(seed: int) -> None:
    """Columns of one meaning, that is: the names and the order of columns are not in it."""
    rng = random.Random(seed)
    with cqlduck.connect() as con:
        con.execute(GROUND)
        texts = alike(rng)
        known = {text: identity(con.engine.compile("q", text).plan) for text in texts}
        members = defaultdict(list)
        for text, found in known.items():
            members[found.id].append(text)
        compared = [text for group in members.values() if len(group) > 1 for text in group]
        for number, text in enumerate(compared):
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {text}")
        for at in range(1, 9):
            for name in ("s", "t", "r"):
                rows = [(rng.randint(0, 2), rng.randint(0, 2)) for _ in range(rng.randint(0, 2))]
                con.append(name, rows, at=at)
        con.advance(12)
        said = {}
        for number, text in enumerate(compared):
            meanings = [known[text].meanings[c] for c in con.changes(f"q{number}").columns[:-2]]
            order = sorted(range(len(meanings)), key=meanings.__getitem__)
            rows = [tuple(row[p] for p in (*order, -2, -1))
                    for row in con.changes(f"q{number}").fetchall()]  # fmt: skip
            key = (known[text].id, *sorted(meanings))
            first, expected = said.setdefault(key, (text, sorted(rows, key=repr)))
            assert expected == sorted(rows, key=repr), (first, text)


def test_each_operator_has_one_and_those_of_its_inputs(con: cqlduck.Connection) -> None:
    text = "SELECT s.k, count(*) AS n FROM s [RANGE 5], r WHERE s.k = r.k GROUP BY s.k"
    compiled = con.engine.compile("q", text)
    known = {operator.id for operator in compiled.operators}
    assert all(set(operator.inputs) <= known for operator in compiled.operators)
    assert identity(compiled.plan).id == compiled.operators[0].id
    assert [operator.inputs for operator in compiled.operators if operator.kind == "stream"] == [()]


def test_an_operator_that_stands_twice_has_two_instances() -> None:
    text = """
        SELECT a.n, b.n AS m FROM (SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k) AS a
        JOIN (SELECT z.k, count(*) AS n FROM s [RANGE 5] AS z GROUP BY z.k) AS b ON a.k = b.k
    """
    with cqlduck.connect() as con:
        con.execute(CATALOG)
        con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
        con.append("s", [(1, 1.0, "a"), (1, 2.0, "b"), (2, 3.0, "c")], at=[1, 2, 3])
        con.advance(4)
        assert [(1, 1), (2, 2)] == sorted(con.table("q").fetchall())
        aggregates = [o for o in con.engine.compiled["q"].operators if o.kind == "aggregate"]
        assert 2 == len(aggregates)
        assert 1 == len({operator.id for operator in aggregates})
        tables = [name for (name,) in con.sql("SELECT table_name FROM cql.synopses").fetchall()]
        assert 2 == len(set(tables)) == len(tables)


def test_a_number_is_for_life() -> None:
    with cqlduck.connect() as con:
        con.execute(CATALOG)
        con.execute("CREATE CONTINUOUS QUERY below AS SELECT k FROM s [RANGE 5]")
        con.execute("CREATE CONTINUOUS QUERY above AS SELECT DISTINCT k FROM below")
        before = con.engine.compiled["above"].operators
        con.execute("DROP STREAM t; CREATE STREAM u (k INTEGER)")
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY below AS SELECT k FROM s [RANGE 6]")
        after = con.engine.compile("above", con.engine.query("above").body).operators
        assert [o.id for o in before] == [o.id for o in after]
