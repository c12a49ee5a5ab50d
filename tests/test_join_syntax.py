"""A JOIN says what it joins on, as in DuckDB: what DuckDB's parser refuses is refused here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import duckdb
import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.text.queries import parse_query

KINDS = [
    "JOIN", "INNER JOIN", "CROSS JOIN", "NATURAL JOIN", "LEFT JOIN", "RIGHT OUTER JOIN",
    "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "ASOF JOIN", "ASOF LEFT JOIN", "NATURAL LEFT JOIN",
    "POSITIONAL JOIN", ",",
]  # fmt: skip
ITEMS = ["t", "(SELECT * FROM t) u", "(t JOIN r USING (k)) x"]
SAID = ["", "ON s.k = 1", "USING (k)"]
CHAINS = [
    "s JOIN t JOIN r ON t.k = r.k",
    "s JOIN t JOIN r ON t.k = r.k ON s.k = t.k",
    "s JOIN t ON s.k = t.k JOIN r",
    "s, t JOIN r",
    "s JOIN t USING (k), r",
    "(s JOIN t)",
    "s JOIN LATERAL (SELECT s.k AS z) y",
    "s CROSS JOIN LATERAL (SELECT s.k AS z) y",
    "(FROM s JOIN t) x",
]


def test_a_join_is_read_exactly_if_duckdb_reads_it():
    database = duckdb.connect()
    written = [f"s {k} {i} {on}".strip() for k, i, on in itertools.product(KINDS, ITEMS, SAID)]
    for name in "str":
        database.execute(f"CREATE TABLE {name} (k INTEGER, v INTEGER)")
    refused = 0
    for clause in [*written, *CHAINS]:
        query = f"SELECT 1 AS one FROM {clause}"
        try:
            database.extract_statements(query)
        except duckdb.Error:
            refused += 1
            with pytest.raises(cqlduck.ParseError):
                parse_query(query)
        else:
            parse_query(query)
    assert 30 < refused < len(written)


def test_a_join_without_on_is_told_of_cross_join_and_shown():
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE RELATION r (k INTEGER)")
        text = "CREATE CONTINUOUS QUERY q AS SELECT * FROM s JOIN r"
        with pytest.raises(cqlduck.ParseError, match="has no condition") as error:
            con.execute(text)
        assert text.index("r", text.index("JOIN")) == error.value.offset
        assert "CROSS JOIN" in error.value.hint
        con.execute(text.replace("JOIN", "CROSS JOIN"))
        con.append("s", [(1,), (2,)], at=1)
        con.append("r", [(7,)], at=1)
        con.advance(1)
        assert [(1, 7), (2, 7)] == sorted(con.table("q").fetchall())


IN_PARENTHESES = [
    "SELECT r.k, a.w FROM r, ((SELECT k, v AS w FROM s) a LEFT JOIN t ON t.k = a.k)",
    "SELECT r.k, a.w FROM r LEFT JOIN ((SELECT k, v AS w FROM s) a LEFT JOIN t ON t.k = a.k) "
    "ON r.k = a.k",
    "SELECT * FROM ((SELECT k, v AS w FROM s) a JOIN t ON t.k = a.k)",
    "SELECT * FROM ((SELECT k AS j, v AS w FROM s) a JOIN t ON t.k = a.j) AS x",
    "SELECT w FROM (((SELECT k AS j, v AS w FROM s) a JOIN t ON t.k = a.j) JOIN r ON r.k = a.j)",
    "SELECT w FROM ((SELECT k AS j, v AS w FROM s) a NATURAL JOIN (SELECT k AS j FROM t) b)",
    "SELECT w FROM (((SELECT k AS j, v AS w FROM s)) a SEMI JOIN t ON t.k = a.j)",
    "SELECT k, (SELECT max(v) FROM r) AS m FROM ((SELECT k FROM s) a CROSS JOIN (SELECT v FROM t))",
    # parentheses around parentheses, and what has two aliases
    "SELECT k, v FROM ((s))",
    "SELECT y.k FROM ((s) AS x) AS y",
    "SELECT p, v FROM (s AS x(p)) AS y",
    "SELECT i.k FROM ((SELECT k FROM s) AS i)",
    "SELECT i.k FROM ((SELECT k FROM s)) AS i",
    "SELECT y.k, y.v FROM ((SELECT k, v FROM s) AS x) AS y JOIN ((t)) USING (k)",
    "SELECT s.k, t.v FROM ((s JOIN t USING (k)))",
    "SELECT x.w FROM ((s JOIN (SELECT k, v AS w FROM t) b USING (k)) AS x)",
    # USING on a side that has one of its own
    "SELECT k, s.v, t.v AS w FROM r JOIN (s JOIN t USING (k)) USING (k)",
    "SELECT k, s.v, t.v AS w FROM r LEFT JOIN (s RIGHT JOIN t USING (k)) USING (k)",
    "SELECT k, r.k AS j, s.k AS l, t.k AS m FROM r FULL JOIN (s FULL JOIN t USING (k)) USING (k)",
    "SELECT k, s.v FROM (s FULL JOIN t USING (k)) FULL JOIN (r JOIN s AS u USING (k)) USING (k)",
    "SELECT k, w FROM (SELECT k, v AS w FROM r) a NATURAL JOIN (s JOIN t USING (k, v))",
    "SELECT k, u.v FROM r RIGHT JOIN (s FULL JOIN t USING (k)) USING (k) JOIN s AS u USING (k)",
    # what is said in parentheses is said before an outer join around them
    "SELECT r.k, s.v FROM (s JOIN t ON s.v > t.v) FULL JOIN r ON r.k = s.k",
    "SELECT r.k, s.v FROM (s JOIN t ON s.v > t.v) RIGHT JOIN r ON true",
    "SELECT r.k, s.v FROM ((s JOIN t USING (v)) RIGHT JOIN r ON r.k = s.k) CROSS JOIN t AS u",
    "SELECT r.k, s.v FROM t AS u, (s JOIN t USING (v)) RIGHT JOIN r ON s.k = r.k",
    # two joins, each with its own
    "SELECT s.k, r.k AS j, u.v FROM s JOIN t USING (k), r JOIN t AS u USING (k)",
    "SELECT s.k, r.k AS j FROM (s JOIN t USING (k)) CROSS JOIN (r JOIN t AS u USING (k))",
    "SELECT k FROM r SEMI JOIN (s JOIN t USING (k)) ON r.k = s.k",
    "SELECT k, r.v FROM r ANTI JOIN (s JOIN t USING (k)) USING (k)",
    "SELECT k, s.v FROM s CROSS JOIN (r SEMI JOIN t USING (k)) WHERE k = 2",
    # a name in ON is one of its own join's
    "SELECT r.k, a.v AS w FROM r CROSS JOIN (s AS a JOIN (SELECT k AS j FROM t) b ON k = j)",
    "SELECT s.k, j FROM s JOIN t USING (k), r JOIN (SELECT v AS j FROM t AS u) b ON k > j - 4",
]


@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_joins_in_parentheses_are_those_of_duckdb(recompute):
    content = {"s": [(1, 1), (2, 2), (2, 3)], "t": [(2, 4), (2, 5), (4, 6)], "r": [(1, 7), (2, 8)]}
    database = duckdb.connect()
    with cqlduck.connect(recompute=recompute) as con:
        for name, rows in content.items():
            database.execute(f"CREATE TABLE {name} (k INTEGER, v INTEGER)")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
            con.execute(f"CREATE RELATION {name} (k INTEGER, v INTEGER)")
            con.append(name, rows, at=1)
        for number, text in enumerate(IN_PARENTHESES):
            body = f"SELECT count(*) AS n, * FROM ({text}) GROUP BY ALL"
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {body}")
        con.advance(2)
        for number, text in enumerate(IN_PARENTHESES):
            body = f"SELECT count(*) AS n, * FROM ({text}) GROUP BY ALL"
            wanted = database.execute(body).fetchall()
            found = con.sql(f"FROM q{number}").fetchall()
            assert sorted(wanted, key=repr) == sorted(found, key=repr), text


AMBIGUOUS = [
    "SELECT k FROM s JOIN t USING (k), r JOIN t AS u USING (k)",
    "SELECT k FROM (s JOIN t USING (k)) JOIN (r JOIN t AS u USING (k)) ON s.k < r.k",
    "SELECT s.k FROM s CROSS JOIN t JOIN r USING (k)",
    "SELECT s.k FROM r JOIN (s CROSS JOIN t) USING (k)",
    "SELECT s.k FROM (s JOIN t USING (v)) JOIN r USING (k)",
    "SELECT s.k FROM (s JOIN t ON s.k = t.k) JOIN (r JOIN t AS u ON k = 1) ON true",
]


@pytest.mark.parametrize("text", AMBIGUOUS)
@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_a_name_of_several_columns_is_refused_as_in_duckdb(text, recompute):
    database = duckdb.connect()
    with cqlduck.connect(recompute=recompute) as con:
        for name in "str":
            database.execute(f"CREATE TABLE {name} (k INTEGER, v INTEGER)")
            con.execute(f"CREATE RELATION {name} (k INTEGER, v INTEGER)")
        with pytest.raises(duckdb.BinderException):
            database.execute(text)
        with pytest.raises(cqlduck.BindError, match=r"(?i)ambiguous|several items"):
            con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")


# -- FROM clauses, drawn ------------------------------------------------------------------------

COLUMNS = {"s": ("k", "v"), "t": ("k", "v"), "r": ("k", "w"), "u": ("k", "x")}
"""The relations of random FROM clauses."""

INNER = ("JOIN", "CROSS JOIN", "NATURAL JOIN", ",")
OUTER = ("LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "NATURAL LEFT JOIN", "NATURAL FULL JOIN")


class From:
    """A random FROM clause: items, some of them joins in parentheses, and the names in it."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def one(self, values: Sequence[str]) -> str:
        return self.draw(st.sampled_from(values))

    def alias(self) -> str:
        self.count += 1
        return f"i{self.count}"

    def item(self, depth: int) -> tuple[str, list[str]]:
        """Return an item, and the names of what it shows."""
        kind = self.one(["relation", "subquery", "join", "join"] if depth else ["relation"])
        alias, name = self.alias(), self.one([*COLUMNS])
        if kind == "relation":
            text = self.one(["{0} AS {1}", "{0} AS {1}", "({0} AS {1})", "(({0})) AS {1}"])
            return text.format(name, alias), [alias]
        if kind == "subquery":
            text = self.one(["({0}) AS {1}", "(({0}) AS {1})", "(({0}) AS z) AS {1}"])
            query = f"SELECT k, {COLUMNS[name][1]} FROM {name}"
            return text.format(query, alias), [alias]
        text, names = self.joined(depth - 1)
        if self.draw(st.integers(0, 3)) == 0:
            return f"({text}) AS {alias}", [alias]
        return (f"(({text}))" if self.draw(st.integers(0, 3)) == 0 else f"({text})"), names

    def joined(self, depth: int) -> tuple[str, list[str]]:
        """Return one to three items, joined."""
        text, names = self.item(depth)
        for _ in range(self.draw(st.integers(0 if depth == 2 else 1, 2))):
            kinds = [*INNER, *OUTER, "SEMI JOIN", "ANTI JOIN"]
            # what stands in parentheses is one join
            kind = self.one([k for k in kinds if k != "," or depth == 2])
            other, theirs = self.item(depth)
            said = ""
            if kind not in ("CROSS JOIN", ",") and "NATURAL" not in kind:
                pair = f"ON {self.one(names)}.k {self.one(['=', '=', '<'])} {self.one(theirs)}.k"
                said = self.one(["USING (k)", "USING (k)", pair, pair, "ON w = v", "ON v < x"])
            text = f"{text} {kind} {other} {said}".strip()
            names = names if kind in ("SEMI JOIN", "ANTI JOIN") else names + theirs
        return text, names


@st.composite
def queries(draw: st.DrawFn) -> str:
    clause = From(draw)
    text, names = clause.joined(2)
    shown = [f"{name}.k AS k{n}" for n, name in enumerate(names)]
    listed = clause.one(["*", ", ".join(shown), ", ".join(["k", *shown])])
    where = clause.one(["", "", " WHERE k > 1", f" WHERE {clause.one(names)}.k IS NULL"])
    return f"SELECT {listed} FROM {text}{where}"


OUTSIDE = (
    "s AS a CROSS JOIN (r AS c JOIN u AS d ON w = v) AS e",
    "s AS a CROSS JOIN (r AS c JOIN u AS d ON w = a.v) AS e",
    "s AS a CROSS JOIN (s AS b CROSS JOIN (r AS c JOIN u AS d ON w = v) AS e) AS f",
    "s AS a CROSS JOIN (s AS b CROSS JOIN (r AS c JOIN u AS d ON w = v))",
    "s AS a CROSS JOIN (u AS b CROSS JOIN (r AS c JOIN u AS d ON w = v))",
    "s AS a, s AS b JOIN (r AS c JOIN u AS d ON w = v) ON b.k = c.k",
    "s AS a JOIN (r AS c JOIN u AS d ON w = v) ON a.k = c.k, s AS z",
    "(s AS a NATURAL JOIN s AS b) CROSS JOIN (s AS e CROSS JOIN (r AS c JOIN u AS d ON w = v))",
)


@pytest.mark.parametrize("clause", OUTSIDE)
def test_a_name_in_parentheses_is_of_the_nearest_join_around_that_has_it(clause: str) -> None:
    database = duckdb.connect()
    rows = {"s": [(1, 5), (2, 6)], "r": [(1, 5), (2, 5), (1, 6)], "u": [(1, 7), (2, 8)]}
    with cqlduck.connect() as con:
        for name, listed in {n: COLUMNS[n] for n in rows}.items():
            columns = ", ".join(f"{column} INTEGER" for column in listed)
            database.execute(f"CREATE TABLE {name} ({columns})")
            con.execute(f"CREATE RELATION {name} ({columns})")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows[name])
            con.append(name, rows[name], at=1)
        wanted = database.execute(f"SELECT * FROM {clause}").fetchall()
        assert 0 < len(wanted) < 40
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT * FROM {clause}")
        con.advance(1)
        assert sorted(wanted) == sorted(con.table("q").fetchall())


MERGED_TWICE = (
    ("(s AS a JOIN s AS c USING (k)) SEMI JOIN (s AS b JOIN s AS d USING (k)) ON a.k = b.k", True),
    ("(s AS a JOIN s AS c USING (k)) ANTI JOIN (s AS b SEMI JOIN s AS d USING (k)) ON a.k = b.k",
     True),
    ("(s AS a JOIN s AS c USING (k)) SEMI JOIN (s AS b JOIN s AS d USING (k)) ON a.k = b.k "
     "JOIN s AS e USING (k)", True),
    ("s AS a SEMI JOIN (s AS b JOIN s AS d USING (k)) ON a.k = b.k", False),
    ("(s AS a JOIN s AS c USING (k)) SEMI JOIN s AS b ON a.k = b.k", False),
    ("(s AS a JOIN s AS c USING (k)) SEMI JOIN (s AS b JOIN s AS d USING (v)) ON a.k = b.k", False),
)  # fmt: skip


@pytest.mark.parametrize(("clause", "is_ambiguous"), MERGED_TWICE)
def test_a_name_merged_on_both_sides_of_a_semijoin_is_ambiguous(
    clause: str, is_ambiguous: bool
) -> None:
    text = f"SELECT a.v FROM {clause}{'' if clause.endswith('USING (k)') else ' WHERE k > 0'}"
    database = duckdb.connect()
    database.execute("CREATE TABLE s (k INTEGER, v INTEGER)")
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION s (k INTEGER, v INTEGER)")
        query = f"CREATE CONTINUOUS QUERY q AS {text}"
        if is_ambiguous:
            with pytest.raises(duckdb.BinderException, match="Ambiguous"):
                database.execute(text)
            with pytest.raises(cqlduck.BindError, match=r"ambiguous|several items"):
                con.execute(query)
        else:
            database.execute(text)
            con.execute(query)


VALUE = st.sampled_from([1, 2, 3, None])
CONTENTS = st.fixed_dictionaries(
    {name: st.lists(st.tuples(VALUE, VALUE), max_size=4) for name in COLUMNS}
)
FROM_CLAUSES = {"query": queries(), "contents": CONTENTS}


@settings(max_examples=fewer_if_brief(settings.default.max_examples))
@given(**FROM_CLAUSES)
def test_any_from_clause_is_that_of_duckdb(
    query: str, contents: dict[str, list[tuple[int | None, int | None]]]
) -> None:
    database = duckdb.connect()
    with cqlduck.connect() as con:
        for name, columns in COLUMNS.items():
            listed = ", ".join(f"{column} INTEGER" for column in columns)
            database.execute(f"CREATE TABLE {name} ({listed})")
            con.execute(f"CREATE RELATION {name} ({listed})")
            if contents[name]:
                database.executemany(f"INSERT INTO {name} VALUES (?, ?)", contents[name])
                con.append(name, contents[name], at=1)
        try:
            wanted = database.execute(query).fetchall()
        except duckdb.BinderException:
            with pytest.raises(cqlduck.BindError):
                con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
            return
        con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
        con.advance(1)
        assert sorted(wanted, key=repr) == sorted(con.table("q").fetchall(), key=repr)
