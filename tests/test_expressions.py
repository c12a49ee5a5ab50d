"""Expressions keep their meaning on the way through sqlglot.

The judge is DuckDB: its own parser gives the syntax tree of the text as it was written and of the
text that we write, and both must be the same; where they may differ in spelling, values and types
must be. The lists are DuckDB's too: every function that it has, and all pairs of its operators.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import cqlduck
from cqlduck.rewrite.text.queries import parse_query

DATABASE = duckdb.connect()


def normal(node: Any) -> Any:
    """Drop places and spellings from DuckDB's syntax tree."""
    if isinstance(node, list):
        return [normal(part) for part in node]
    if not isinstance(node, dict):
        return node
    aside = ("query_location", "query_location_length", "is_operator", "qualified_name")
    kept = {key: normal(value) for key, value in node.items() if key not in aside}
    if kept.get("type") == "OPERATOR_IS_NOT_NULL":
        inner = {**kept, "type": "OPERATOR_IS_NULL"}
        return {"class": "OPERATOR", "type": "OPERATOR_NOT", "alias": "", "children": [inner]}
    if "literal" in kept:
        kept["literal"]["text"] = kept["literal"]["text"].replace("_", "")
    for key in ("type_name", "function_name"):
        if key in kept:
            kept[key] = kept[key].upper()
    return kept


def read(query: str) -> list[Any] | None:
    """Return DuckDB's trees of a SELECT list, or None if its parser refuses the text."""
    try:
        (found,) = DATABASE.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    except duckdb.Error:
        return None
    tree = json.loads(found)
    return None if tree["error"] else normal(tree["statements"][0]["node"]["select_list"])


AROUND_CALLS = (exp.Filter, exp.Window, exp.WithinGroup, exp.IgnoreNulls)
OPERANDS = (exp.Binary, exp.Unary, exp.In, exp.Between, exp.Cast, exp.Bracket, exp.Func)


def grouped(tree: exp.Expr) -> exp.Expr:
    """Return a tree with parentheses around each operand: as sqlglot has grouped it."""

    def visit(node: exp.Expr) -> None:
        for child in list(node.iter_expressions()):
            visit(child)
            plain = isinstance(child, (exp.Paren, exp.DataType, exp.Dot, exp.PropertyEQ, exp.If))
            bare = isinstance(node, (exp.Paren, exp.Select, exp.Dot, *AROUND_CALLS))
            if isinstance(child, OPERANDS) and not plain and not bare:
                child.replace(exp.paren(child.copy(), copy=False))

    copy = tree.copy()
    visit(copy)
    return copy


def check(expressions: list[str]) -> None:
    """Compare expressions that DuckDB reads with what is made of them, many in one query."""
    query = f"SELECT {', '.join(expressions)} FROM s"
    tree = parse_query(query).tree
    for written in (tree, grouped(tree)):
        ours, theirs = read(written.sql("duckdb")), read(query)
        assert ours is not None, written.sql("duckdb")
        for expression, mine, wanted in zip(expressions, ours, theirs, strict=True):
            assert wanted == mine, expression


def chunks(expressions: list[str], size: int = 200) -> list[list[str]]:
    return [expressions[at : at + size] for at in range(0, len(expressions), size)]


# -- functions -------------------------------------------------------------------------------------

NOW = {"current_date", "current_localtime", "current_localtimestamp", "current_time",
       "current_timestamp", "get_current_time", "get_current_timestamp", "localtime",
       "localtimestamp", "now", "today", "transaction_timestamp"}  # fmt: skip
"""The kin of `current_timestamp`, which mean the instant: see test_current.py."""


def test_every_function_of_duckdb_is_called_as_it_was_written():
    rows = DATABASE.execute(
        "SELECT DISTINCT function_name, len(parameters) FROM duckdb_functions() "
        "WHERE function_type IN ('scalar', 'macro', 'aggregate', 'window') ORDER BY ALL"
    ).fetchall()
    calls = [
        f"{name}({', '.join('abcdefgh'[:count])})"
        for name, count in rows
        if name.replace("_", "a").isalnum() and count <= 8 and name not in NOW
    ]
    readable = [call for call in calls if read(f"SELECT {call} FROM s") is not None]
    assert len(readable) > 1000
    for chunk in chunks(readable):
        check(chunk)


def test_every_operator_of_duckdb_is_called_as_it_was_written():
    rows = DATABASE.execute(
        "SELECT DISTINCT function_name, len(parameters) FROM duckdb_functions() "
        "WHERE function_type = 'scalar' AND NOT regexp_matches(function_name, '^\\w') "
    ).fetchall()
    assert len(rows) > 30
    check([f'"{name}"({", ".join("abc"[:count])})' for name, count in rows])
    written = [f"{name} a" if count == 1 else f"a {name} b" for name, count in rows]
    check([one for one in written if read(f"SELECT {one} FROM s") is not None])


# -- operators -------------------------------------------------------------------------------------

BINARY = [
    "->", "OR", "AND", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "=", "<>", "LIKE", "NOT LIKE",
    "SIMILAR TO", "NOT SIMILAR TO", "IN", "NOT IN", "~", "!~", "~~~", "!~~*", "^@", "<->", "->>",
    "||", "&", "<<", "+", "-", "*", "/", "//", "%", "^", "**",
]  # fmt: skip
MORE = ["==", "!=", "<", "<=", ">", ">=", "<=>", "ILIKE", "NOT ILIKE", "GLOB", "~~", "!~~", "~~*",
        "@>", "<@", "&&", "|", ">>"]  # fmt: skip
PREFIX = ["NOT ", "-", "+", "~", "@", "!", "- -", "NOT -", "@ -"]
POSTFIX = [
    " IS NULL", " IS NOT NULL", " ISNULL", " NOTNULL", " IS TRUE", " COLLATE x", "::INT", "[1]",
    " AT TIME ZONE 'x'", " BETWEEN 1 AND 2", " NOT BETWEEN 1 AND 2", " IN (1, 2)", " NOT IN (1)",
    " LIKE 'a' ESCAPE 'b'", " SIMILAR TO 'a' ESCAPE 'b'", "!", ".f(1)", "[1:2]",
]  # fmt: skip


def combinations(binary: list[str]) -> list[str]:
    pairs = itertools.product(binary, binary)
    return [
        *(f"a {one} b {other} c" for one, other in pairs),
        *(f"{sign}a {one} b" for sign in PREFIX for one in binary),
        *(f"a {one} {sign}b" for sign in PREFIX for one in binary),
        *(f"a {one} b{behind}" for behind in POSTFIX for one in binary),
        *(f"a{behind} {one} b" for behind in POSTFIX for one in binary),
        *(f"{sign}a{behind}" for sign in PREFIX for behind in POSTFIX),
        *(f"a{behind}{more}" for behind in POSTFIX for more in POSTFIX),
    ]


def grouping(binary: list[str]) -> int:
    readable = [one for one in combinations(binary) if read(f"SELECT {one} FROM s") is not None]
    for chunk in chunks(readable):
        check(chunk)
    return len(readable)


def test_operators_group_as_in_duckdb():
    assert grouping(BINARY[::2]) > 800


@pytest.mark.long
def test_all_operators_group_as_in_duckdb():
    assert grouping([*BINARY, *MORE]) > 4000


# -- literals and special forms --------------------------------------------------------------------

FORMS = r"""
x'41'
B'101'
1e3
1E-3
.5
5.
1_000
100000000000000000000
E'a\tb\'c'
$$te'xt$$
$tag$a$$b$tag$
'it''s'
TIMESTAMP '2020-01-01 00:00:00'
UUID '00000000-0000-0000-0000-000000000000'
BLOB '\x41'
{'a': 1, 'b': x}
{a: 1, "b c": {d: [1]}}
[1, 2, 3]
[]
MAP {'a': 1, k: v + 1}
MAP {}
MAP([1], [2])
(1, 2)
ROW(1, 2)
a[1]
a[1:2]
a[:2]
a[1:]
a[1:3:2]
a[:-:2]
a['k']
s.x.y
(s).x
f(x).y
a.upper()
s.a.upper().lower()
'abc'.upper()
(a || b).substr(1, 2)
l.list_transform(lambda x: x + 1)
list_transform(l, lambda x, i: x + i * k)
apply(l, lambda x: x -> 'a')
reduce(l, lambda x, y: x + y, 100)
list_transform(l, lambda x: list_transform(x, lambda y: {'a': y, 'b': x[1]}))
[x + 1 for x in l]
[f(x) for x in l if x > 1 and not (x in (2, 3))]
[x + i for x, i in l]
a IS NOT UNKNOWN
a BETWEEN b + 1 AND c || d AND e
a BETWEEN ASYMMETRIC -b AND c
a NOT BETWEEN ASYMMETRIC (b) AND c
a BETWEEN "asymmetric" AND "symmetric"
a IN [1, 2]
a IN (SELECT 1)
a NOT IN l AND b
EXISTS (SELECT 1)
a = ANY (SELECT 1)
CASE WHEN a -> b THEN c END
CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' ELSE z ^ 2 END
POSITION('a' IN b || c)
SUBSTRING(a FROM 2)
SUBSTRING(a FROM 2 FOR 3)
SUBSTRING(a, 2, 3)
TRIM(a)
TRIM(BOTH FROM a)
TRIM(LEADING 'x' FROM a)
TRIM(TRAILING FROM a)
TRIM('x' FROM a)
TRIM(a, 'x')
OVERLAY(a PLACING 'x' FROM 2 FOR 1)
a COLLATE NOCASE.NOACCENT = b
a::STRUCT("x y" INT, b DECIMAL(10,2)[])
a::"my type"
a::TIMESTAMP_S::TIMESTAMP_MS
CAST(a + 1 AS DECIMAL(10, 2))
TRY_CAST(a AS INT[3])
TRY(a / b)
count(*) FILTER (WHERE a)
count()
sum(DISTINCT a)
list(a ORDER BY b DESC NULLS FIRST)
mode() WITHIN GROUP (ORDER BY a)
percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC)
arg_max(a, b, 3)
sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) + 1
lead(a IGNORE NULLS) OVER (ORDER BY b)
struct_pack(a := 1, b := x -> 'a')
unnest(l, recursive := true)
COLUMNS(*)
COLUMNS('a|b') + 1
* EXCLUDE (a) REPLACE (b + 1 AS b)
s.* EXCLUDE (a)
"upper"(a)
main.upper(a)
system.main.upper(a)
a -> 'b' -> 'c'
a ->> '$.x'
f(a -> 'x', b)
f(a, b -> 'x' = 1)
"select"."from"
"a""b" + λ
a AS b
"""
SPELT = r"""
@NULL
@ CASE WHEN true THEN -1 END
0x1F
DATE '2020-01-01' + 1
TIMESTAMPTZ '2020-01-01 00:00:00+01'
TIMESTAMP WITH TIME ZONE '2020-01-01'
TIME '12:00'
DECIMAL '1.5'
HUGEINT '5'
INTERVAL 1 DAY
INTERVAL '1' DAY
INTERVAL '1 day'
INTERVAL (i + 1) HOURS
INTERVAL '1 year 2 months'
INTERVAL 1.5 DAY
INTERVAL 3 QUARTER * 2
DATE '2020-01-31' + INTERVAL 1 MONTH
ARRAY[1, 2]
i::VARCHAR(10)
i::DECIMAL
i::UHUGEINT
i::INT8
EXTRACT(year FROM tm)
EXTRACT('isodow' FROM tm)
i IS NOT TRUE
a NOT ILIKE 'B$%' ESCAPE '$'
typeof(.5)
typeof(x'41')
a IS NOT NULL IS TRUE
quantile_cont(f, [0.25, 0.5])
MAP {}::MAP(INT, VARCHAR)
"""
TABLE = """
CREATE TABLE s (i INTEGER, b BIGINT, f DOUBLE, n DECIMAL(8, 2), t BOOLEAN, a VARCHAR, c VARCHAR,
    l INTEGER[], r STRUCT(x INTEGER, y VARCHAR), j JSON, d DATE, tm TIMESTAMP, v INTERVAL)
"""
VALUES = [
    """INSERT INTO s VALUES (3, -7, 2.5, 1.25, true, 'Abc', 'b', [1, 2, NULL], {x: 4, y: 'q'},
        '{"a": {"b": 5}, "x.y": 7}', '2020-01-31', '2020-01-31 12:30:00', INTERVAL 1 DAY)""",
    """INSERT INTO s VALUES (0, 12, -0.5, 7, false, 'zz', 'Zz', [], {x: NULL, y: 'Z'}, '{}',
        '1999-12-31', '1999-12-31 23:59:59.5', INTERVAL 90 MINUTES)""",
    "INSERT INTO s VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
    "NULL)",
]


def test_literals_and_special_forms_are_read_as_in_duckdb():
    written = FORMS.strip().split("\n")
    for expression in written:
        assert read(f"SELECT {expression} FROM s") is not None, expression
        check([expression])


@pytest.fixture(scope="module")
def table():
    with duckdb.connect() as database:
        database.execute(TABLE)
        for row in VALUES:
            database.execute(row)
        yield database


def value(database: duckdb.DuckDBPyConnection, query: str) -> Any:
    """Return types and values of a query, or that it fails."""
    try:
        found = database.execute(query)
        return [str(column[1]) for column in found.description], repr(found.fetchall())
    except duckdb.Error:
        return None


def test_what_is_spelt_otherwise_has_the_same_values_and_types(table):
    for expression in SPELT.strip().split("\n"):
        query = f"SELECT {expression} FROM s"
        wanted = value(table, query)
        assert wanted is not None, expression
        assert wanted == value(table, parse_query(query).tree.sql("duckdb")), expression


NUMBERS = st.sampled_from(["i", "b", "f", "n", "2", "-1", "0.5", "r.x", "l[1]", "s.i", "1e2"])
TEXTS = st.sampled_from(["a", "c", "'b%'", "r.y", "s.a", "$$b$$", "a.lower()", "j ->> 'x.y'"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from([*BINARY, *MORE])
    return st.one_of(
        st.builds("{} {} {}".format, inner, signs, inner),
        st.builds("{}{}".format, st.sampled_from(PREFIX), inner),
        st.builds("{}{}".format, inner, st.sampled_from([*POSTFIX, "::DOUBLE", "::VARCHAR"])),
        st.builds("({})".format, inner),
        st.builds("coalesce({}, {})".format, inner, inner),
        st.builds("log2(abs({})::DOUBLE + 1)".format, inner),
        st.builds("jaro_winkler_similarity({}::VARCHAR, {}::VARCHAR, 0.3)".format, inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("[{}, {}].list_transform(lambda x: x = {})".format, inner, inner, inner),
        st.builds("{{'a': {}}}.a".format, inner),
        st.builds("if({}, {}, NULL)".format, inner, inner),
        st.builds("{} BETWEEN {} AND {}".format, inner, inner, inner),
        st.builds("TRY_CAST({} AS INTEGER)".format, inner),
    )


LEAVES = st.one_of(NUMBERS, TEXTS, st.sampled_from(["t", "d", "tm", "l", "j", "NULL", "v", "r"]))


@settings(max_examples=150, deadline=None)
@given(st.recursive(LEAVES, larger, max_leaves=6))
def test_a_random_expression_has_the_value_and_the_type_that_it_has_in_duckdb(table, expression):
    query = f"SELECT {expression} FROM s"
    if read(query) is None:
        return
    try:
        tree = parse_query(query).tree
    except cqlduck.ParseError:
        # a text that only looks like an expression, such as `a!c`, may be refused
        assert value(table, query) is None, expression
        return
    wanted = value(table, query)
    assert wanted == value(table, tree.sql("duckdb")), expression
    assert wanted == value(table, grouped(tree).sql("duckdb")), expression


# -- in a continuous query -------------------------------------------------------------------------

RUN = r"""
jaro_winkler_similarity(a, 'abd', 0.9)
date_add(d, INTERVAL 1 DAY)
log2(f)
alias(i)
a.upper()
a.upper().lower()
s.a.upper()
r.y.upper()
l.list_transform(lambda x: x + i)
apply(l, lambda x: x + 1)
reduce([1, 2, 3], lambda x, y: x + y)
list_reduce([i, 2], lambda x, y: x - y)
time_bucket(INTERVAL 1 HOUR, tm, INTERVAL 1 MINUTE)
x'41'
j -> 'a' -> 'b'
j ->> 'x.y'
i ^ 2
b // 2
@ -b
r.*
s.*
r.* EXCLUDE (x)
r.* RENAME (x AS z)
MAP {}::MAP(VARCHAR, INT)
{'p': i, 'q': b}
[x * b for x in l if x > 1]
EXTRACT(year FROM tm)
tm AT TIME ZONE 'UTC'
trim(BOTH 'A' FROM a)
a SIMILAR TO 'A.*'
a LIKE '%b%' ESCAPE '$'
i IN [1, 3]
i IN l
a COLLATE NOCASE = 'ABC'
.5
1_000
if(i > 0, 'y', 'n')
b::VARCHAR || 'x'
(i)
r['x']
(i, b)
s
sum(i)
count(*)
sum(f).round(2)
b.sum()
max(b) FILTER (WHERE i > 0)
list(i ORDER BY b DESC)
string_agg(a, '-' ORDER BY i)
percentile_cont(0.5) WITHIN GROUP (ORDER BY f)
row_number() OVER (ORDER BY b)
unnest([i, b])
COLUMNS('i|b')
#1
{'a': i}.a
({'a': i}).a
{'a': {'c': i}}.a.c
{'a': i}['a']
struct_pack(a := i).a
"""


def test_names_types_and_values_in_a_query_are_those_of_duckdb(table):
    written = RUN.strip().split("\n")
    columns = TABLE.strip().removeprefix("CREATE TABLE")
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.execute(TABLE)
    database.execute(VALUES[0])
    with cqlduck.connect() as con:
        con.execute(f"CREATE STREAM {columns}")
        for place, expression in enumerate(written):
            con.execute(f"CREATE CONTINUOUS QUERY q{place} AS SELECT {expression} FROM s [NOW]")
        con.append("s", database.execute("FROM s").to_arrow_table(), at=5)
        con.advance(5)
        for place, expression in enumerate(written):
            wanted = database.execute(f"SELECT {expression} FROM s")
            shown = con.table(f"q{place}")
            assert [column[0] for column in wanted.description] == shown.columns, expression
            types = [str(column[1]) for column in wanted.description]
            assert types == [str(kind) for kind in shown.types], expression
            rows = sorted(map(repr, wanted.fetchall()))
            assert rows == sorted(map(repr, shown.fetchall())), expression
    database.close()


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("a < b < c", "chained"),
        ("a = b <> c", "chained"),
        ("list_transform(l, x -> x + 1)", "arrow"),
        ("list_reduce(l, (x, y) -> x + y)", "arrow"),
        ("'a' 'b'", "strings"),
        ("a + ", "missing"),
        ("NOT", "missing"),
        ("a BETWEEN SYMMETRIC b AND c", "BETWEEN SYMMETRIC"),
        ("a NOT BETWEEN symmetric (b) AND c", "BETWEEN SYMMETRIC"),
        ("first(a IGNORE NULLS)", "IGNORE NULLS"),
        ("~-1", "operator ~-"),
        ("a %-b", "operator %-"),
        ("a =@b", "operator =@"),
    ],
)
def test_what_duckdb_does_not_read_is_refused_with_its_place(expression, said):
    query = f"SELECT {expression} FROM s"
    with pytest.raises(cqlduck.ParseError, match=said) as error:
        parse_query(query)
    assert error.value.hint is not None or said == "missing"
    assert 7 <= error.value.offset <= len(query)
