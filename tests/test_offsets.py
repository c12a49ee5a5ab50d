"""Texts with an offset that INSERT and UPDATE write: the same moment however they are written."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

import cqlduck

OFFSET = "2024-01-01 00:00:00+02"
IN_UTC = dt.datetime(2023, 12, 31, 22)
TIME = "TIMESTAMP '2020-02-02 02:02:02'"
PLAIN = dt.datetime(2020, 2, 2, 2, 2, 2)

TYPES = {
    "t": "TIMESTAMP",
    "m": "TIMESTAMP_MS",
    "n": "TIMESTAMP_NS",
    "d": "DATE",
    "x": "VARCHAR",
    "s": "STRUCT(a TIMESTAMP, b VARCHAR)",
    "l": "TIMESTAMP[]",
    "p": "MAP(VARCHAR, TIMESTAMP)",
    "w": "STRUCT(a STRUCT(c TIMESTAMP)[])",
}
O = f"'{OFFSET}'"  # noqa: E741
WRITTEN: list[tuple[str, str, Any]] = [
    # a type, an expression that is assigned to a column of it, and what is in it then
    ("t", O, IN_UTC),
    ("t", f"({O})", IN_UTC),
    ("t", f"(({O}))", IN_UTC),
    ("t", f"$${OFFSET}$$", IN_UTC),
    ("t", f"coalesce({O}, {TIME})", IN_UTC),
    ("t", f"coalesce(NULL, {TIME}, {O})", PLAIN),
    ("t", f"COALESCE(NULL, ({O}), {TIME})", IN_UTC),
    ("t", f"ifnull({O}, {TIME})", IN_UTC),
    ("t", f"nullif({O}, {TIME})", IN_UTC),
    ("t", f"greatest({O}, {TIME})", IN_UTC),
    ("t", f"if(1 = 1, {O}, {TIME})", IN_UTC),
    ("t", f"CASE WHEN 1 = 1 THEN {O} END", IN_UTC),
    ("t", f"CASE 1 WHEN 2 THEN {TIME} ELSE {O} END", IN_UTC),
    ("t", f"CASE WHEN 1 = 1 THEN CASE WHEN 1 = 2 THEN {TIME} ELSE {O} END ELSE {TIME} END", IN_UTC),
    ("t", f"(SELECT {O})", IN_UTC),
    ("t", f"(SELECT coalesce({O}, {TIME}) AS found)", IN_UTC),
    ("t", "concat('2024-01-01 ', '00:00:00+02')", IN_UTC),
    ("t", "'2024-01-01 00:00:00' || '+02'", IN_UTC),
    ("t", f"[{O}, {TIME}][1]", dt.datetime(2024, 1, 1)),
    ("t", f"CAST({O} AS TIMESTAMP)", dt.datetime(2024, 1, 1)),
    ("t", f"TIMESTAMP {O}", dt.datetime(2024, 1, 1)),
    ("t", f"CASE WHEN {TIME} < {O} THEN {TIME} END", PLAIN),
    ("t", f"{TIME}", PLAIN),
    ("t", "NULL", None),
    ("m", f"coalesce({O}, CAST({TIME} AS TIMESTAMP_MS))", IN_UTC),
    ("n", f"coalesce({O}, CAST({TIME} AS TIMESTAMP_NS))", IN_UTC),
    ("d", O, IN_UTC.date()),
    ("d", f"coalesce({O}, DATE '2020-02-02')", IN_UTC.date()),
    ("d", "'2024-01-01'", dt.date(2024, 1, 1)),
    ("d", "DATE '2024-01-01'", dt.date(2024, 1, 1)),
    ("x", f"coalesce({O}, 'y')", OFFSET),
    ("s", f"{{'a': {O}, 'b': {O}}}", {"a": IN_UTC, "b": OFFSET}),
    ("s", f"{{a: coalesce({O}, {TIME}), b: ({O})}}", {"a": IN_UTC, "b": OFFSET}),
    ("s", f"struct_pack(a := coalesce({O}, {TIME}), b := {O})", {"a": IN_UTC, "b": OFFSET}),
    ("s", f"row(coalesce({O}, {TIME}), {O})", {"a": IN_UTC, "b": OFFSET}),
    ("s", f"'{{a: {OFFSET}, b: x}}'", {"a": IN_UTC, "b": "x"}),
    ("l", f"[{O}]", [IN_UTC]),
    ("l", f"[{O}, {TIME}, NULL]", [IN_UTC, PLAIN, None]),
    ("l", f"list_value({TIME}, {O})", [PLAIN, IN_UTC]),
    ("l", f"coalesce([{TIME}, {O}], [])", [PLAIN, IN_UTC]),
    ("p", f"MAP {{'{OFFSET}': {O}, 'y': {TIME}}}", {OFFSET: IN_UTC, "y": PLAIN}),
    ("w", f"{{'a': [{{'c': {O}}}, {{'c': {TIME}}}]}}", {"a": [{"c": IN_UTC}, {"c": PLAIN}]}),
]  # fmt: skip

COLUMNS = [f"c{place}" for place in range(len(WRITTEN))]
CREATED = ", ".join(f"c{place} {TYPES[kind]}" for place, (kind, *_) in enumerate(WRITTEN))
LISTED = ", ".join(COLUMNS)
NULLS = ", ".join(f"CAST(NULL AS {TYPES[kind]})" for kind, *_ in WRITTEN)
EXPRESSIONS = ", ".join(expression for _, expression, _ in WRITTEN)
NAMED = ", ".join(f"{each[1]} AS {name}" for each, name in zip(WRITTEN, COLUMNS, strict=True))
EXCLUDED = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS)
SET = ", ".join(f"{name} = {each[1]}" for each, name in zip(WRITTEN, COLUMNS, strict=True))
# DuckDB takes no subquery there
SET_AT_A_CONFLICT = SET.replace("(SELECT ", "(").replace(" AS found)", ")")

WAYS = {
    "values": f"INSERT INTO r ({LISTED}, k) VALUES ({EXPRESSIONS}, 1)",
    "rows": f"INSERT INTO r VALUES (2, {NULLS}), (1, {EXPRESSIONS})",
    "select": f"INSERT INTO r ({LISTED}, k) SELECT DISTINCT {EXPRESSIONS}, 1",
    "beside a star": f"INSERT INTO r SELECT *, {EXPRESSIONS} FROM (SELECT 1 AS z)",
    "union": f"INSERT INTO r SELECT 2, {NULLS} UNION ALL (SELECT 1, {EXPRESSIONS})",
    "by name": f"INSERT INTO r BY NAME SELECT {NAMED}, 1 AS k",
    "reads itself": f"INSERT INTO r SELECT 1, {EXPRESSIONS} WHERE NOT EXISTS (FROM r WHERE k = 1)",
    "update": f"UPDATE r SET {SET} WHERE k = 0; UPDATE r SET k = k + 1",
    "update of rows": f"UPDATE r SET (k, {LISTED}) = (1, {EXPRESSIONS}) WHERE k = 0",
    "conflict": f"INSERT INTO r (k, {LISTED}) VALUES (0, {EXPRESSIONS}) "
    f"ON CONFLICT DO UPDATE SET {EXCLUDED}; UPDATE r SET k = k + 1",
    "conflict of a query": f"INSERT INTO r SELECT 0, {EXPRESSIONS} "
    f"ON CONFLICT DO UPDATE SET {EXCLUDED}; UPDATE r SET k = k + 1",
    "conflict by name": f"INSERT INTO r BY NAME SELECT {NAMED}, 1 AS k ON CONFLICT DO NOTHING",
    "set at a conflict": f"INSERT INTO r (k) VALUES (0) ON CONFLICT DO UPDATE SET "
    f"{SET_AT_A_CONFLICT} WHERE excluded.k = 0; UPDATE r SET k = k + 1",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_text_with_an_offset_is_a_moment_in_every_expression(way: str) -> None:
    with cqlduck.connect() as con:
        con.execute(f"CREATE RELATION r (k INTEGER PRIMARY KEY, {CREATED})")
        con.execute("INSERT INTO r (k) VALUES (0)")
        con.execute(WAYS[way])
        con.advance(1)
        (found,) = con.sql(f"SELECT {LISTED} FROM r WHERE k = 1").fetchall()
    wrong = [
        (kind, expression, value)
        for (kind, expression, want), value in zip(WRITTEN, found, strict=True)
        if value != want
    ]
    assert not wrong


PARAMETERS = [
    ("INSERT INTO r (k, t) VALUES (1, coalesce(?, {time}))", [OFFSET]),
    ("INSERT INTO r (k, t) SELECT $1, coalesce($2, {time})", [1, OFFSET]),
    ("INSERT INTO r (k, t) SELECT $k, $t ON CONFLICT DO NOTHING", {"k": 1, "t": OFFSET}),
    ("INSERT INTO r (k, t) VALUES (?, ?) ON CONFLICT DO NOTHING", [1, OFFSET]),
    ("INSERT INTO r (k) VALUES (1) ON CONFLICT DO NOTHING; UPDATE r SET t = (?)", [OFFSET]),
    ("INSERT INTO r (k, t) VALUES (1, ?) ON CONFLICT DO NOTHING", [IN_UTC]),
    ("INSERT INTO r (k, t) VALUES (1, ?) ON CONFLICT DO NOTHING", [IN_UTC.replace(tzinfo=dt.UTC)]),
]


def test_a_parameter_with_an_offset_is_a_moment_wherever_it_stands() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER PRIMARY KEY, t TIMESTAMP)")
        for instant, (text, parameters) in enumerate(PARAMETERS):
            *before, last = text.format(time=TIME).split("; ")
            for statement in before:
                con.execute(statement)
            con.execute(last, parameters)
            con.advance(instant)
            assert [(1, IN_UTC)] == con.sql("FROM r").fetchall(), text
            con.execute("DELETE FROM r")


@pytest.mark.parametrize("query", [
    "SELECT 1 AS k, concat($1, '') AS t", "SELECT t, k FROM (SELECT $1 AS t, 1 AS k)",
    "(SELECT k, concat($1) AS t FROM (SELECT 1 AS k))", "SELECT 1 AS k, $1 AS t",
])  # fmt: skip
@pytest.mark.parametrize("how", ["", " BY NAME"])
@pytest.mark.parametrize("rest", ["", " ON CONFLICT DO NOTHING",
                                  " ON CONFLICT DO UPDATE SET t = excluded.t"])  # fmt: skip
def test_a_parameter_is_a_moment_in_a_query_by_name_and_with_conflicts(
    query: str, how: str, rest: str
) -> None:
    columns = "k, t" if query.startswith(("SELECT 1", "(")) else "t, k"
    target = "r" if how else f"r ({columns})"
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER, t TIMESTAMP, d DATE, PRIMARY KEY (k))")
        con.execute(f"INSERT INTO {target}{how} {query}{rest}", [OFFSET])
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT t FROM r")
        con.advance(0)
        assert [(IN_UTC,)] == con.table("q").fetchall()


def test_what_is_compared_stays_as_duckdb_has_it() -> None:
    statements = [
        f"UPDATE r SET t = {TIME} WHERE t = {O}",
        f"UPDATE r SET t = CASE WHEN t < {O} THEN NULL ELSE t END",
        f"UPDATE r SET (t) = ({TIME}) WHERE t IN ({O}, {TIME}) AND t IS DISTINCT FROM {TIME}",
        f"DELETE FROM r WHERE t = {O}",
        "UPDATE r SET t = DEFAULT",
    ]
    with cqlduck.connect() as con, duckdb.connect() as own:
        con.execute("CREATE RELATION r (t TIMESTAMP)")
        own.execute("CREATE TABLE r (t TIMESTAMP)")
        for instant, statement in enumerate(statements):
            for each in (con, own):
                each.execute("DELETE FROM r; INSERT INTO r VALUES ('2024-01-01'), ('2023-12-31')")
                each.execute(statement)
            con.advance(instant)
            want = own.execute("FROM r ORDER BY ALL").fetchall()
            assert want == con.sql("FROM r ORDER BY ALL").fetchall(), statement


@pytest.mark.parametrize(("kind", "expression", "want"), [
    ("TIMESTAMP", f"CAST({O} AS VARIANT)", IN_UTC),
    ("DATE", f"CAST({O} AS VARIANT)", IN_UTC.date()),
    ("TIMESTAMP", f"CAST({O} AS ENUM({O}))", IN_UTC),
    ("TIMESTAMP", f"to_json({O})", IN_UTC),
    ("TIMESTAMP", f"CAST({TIME} AS VARIANT)", PLAIN),
    ("STRUCT(a TIMESTAMP, b TIMESTAMP[])", f"CAST({{'a': {O}}} AS VARIANT)",
     {"a": IN_UTC, "b": None}),
    ("TIMESTAMP[]", f"[CAST({O} AS VARIANT)]", [IN_UTC]),
])  # fmt: skip
@pytest.mark.parametrize("rest", ["", " ON CONFLICT DO NOTHING"])
def test_a_column_of_a_query_holds_texts_in_other_types_too(
    kind: str, expression: str, want: Any, rest: str
) -> None:
    with cqlduck.connect() as con:
        con.execute(f"CREATE RELATION r (k INTEGER PRIMARY KEY, x {kind})")
        con.execute(f"INSERT INTO r SELECT 1, x FROM (SELECT {expression} AS x){rest}")
        con.advance(0)
        assert [(want,)] == con.sql("SELECT x FROM r").fetchall()


LEAVES = st.sampled_from([(O, IN_UTC), (TIME, PLAIN), ("NULL", None)])


@st.composite
def expressions(draw: st.DrawFn, deep: int = 3) -> tuple[str, dt.datetime | None]:
    """An expression of texts and times, and the moment that it is."""
    if not deep or draw(st.booleans()):
        return draw(LEAVES)
    one, other = draw(expressions(deep - 1)), draw(expressions(deep - 1))
    chosen = draw(st.booleans())
    first, second = one[0], other[0]
    # what is compared is not stored, so it means what it means in DuckDB, which mixes no
    # subquery of a text with a time
    compared, with_it = draw(LEAVES)[0], draw(LEAVES)[0]
    return draw(st.sampled_from([
        (f"({first})", one[1]),
        (f"(SELECT {first})", one[1]),
        (f"coalesce({first}, {second})", one[1] or other[1]),
        (f"CASE WHEN {chosen} THEN {first} ELSE {second} END", (one if chosen else other)[1]),
        (f"if({chosen}, {first}, {second})", (one if chosen else other)[1]),
        (f"CASE {compared} WHEN {with_it} THEN {TIME} ELSE {TIME} END", PLAIN),
    ]))  # fmt: skip


@given(values=st.lists(expressions(), min_size=20, max_size=20))
@settings(max_examples=2)
def test_whatever_an_expression_is_made_of_its_texts_are_moments(
    values: list[tuple[str, dt.datetime | None]],
) -> None:
    listed = ", ".join(f"c{place}" for place in range(len(values)))
    created = ", ".join(f"c{place} TIMESTAMP" for place in range(len(values)))
    made = ", ".join(value for value, _ in values)
    with cqlduck.connect() as con:
        con.execute(f"CREATE RELATION r (k INTEGER, {created})")
        con.execute(f"INSERT INTO r VALUES (1, {made})")
        con.execute(f"INSERT INTO r SELECT 2, {made}")
        con.execute("INSERT INTO r (k) VALUES (3)")
        con.execute(f"UPDATE r SET ({listed}) = ({made}) WHERE k = 3")
        con.advance(1)
        found = con.sql(f"SELECT {listed} FROM r").fetchall()
    assert [tuple(moment for _, moment in values)] * 3 == found


def test_pieces_are_found_in_every_statement_of_a_script() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (x VARCHAR, t TIMESTAMP, PRIMARY KEY (x))")
        con.execute(
            f"INSERT INTO main.r VALUES ('a', {O}), ('b', coalesce({O}, {TIME}));\n"
            f"  INSERT INTO cqlduck.main.r /* main. */ SELECT 'c', coalesce({O}, {TIME});"
            f"INSERT INTO main.r VALUES ('a', NULL) ON CONFLICT DO UPDATE SET t = {TIME};"
            f"UPDATE main.r SET t = coalesce({O}, {TIME}) WHERE x = 'a'"
        )
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT x, t FROM r")
        con.advance(0)
        assert [(x, IN_UTC) for x in "abc"] == sorted(con.table("q").fetchall())


@pytest.mark.parametrize("head", ["", "SELECT 1;", "INSERT INTO main.s VALUES (0, NULL);"])
def test_a_long_list_of_values_is_cut_into_words_once(
    monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    """It takes as long as DuckDB takes to read it."""
    cut: list[str] = []
    tokenize = Dialect.tokenize

    def counted(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        cut.append(sql)
        return tokenize(self, sql, *args, **kwargs)

    monkeypatch.setattr(Dialect, "tokenize", counted)
    rows = ", ".join(f"({i}, {O})" for i in range(1, 200))
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, t TIMESTAMP)")
        con.execute(f"{head} INSERT INTO s VALUES {rows}")
        assert 1 == sum(rows in sql for sql in cut)
        assert {(IN_UTC,)} == set(con.sql("SELECT t FROM s WHERE k > 0").fetchall())


# -- texts without an offset -----------------------------------------------------------------------

STAGED = """
    CREATE TABLE staging (k INTEGER, x VARCHAR);
    INSERT INTO staging VALUES (1, '2024-01-01'), (2, NULL);
"""


@pytest.mark.parametrize("kind", ["TIMESTAMP", "DATE", "TIMESTAMP_NS"])
@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO r SELECT k, coalesce(x, '2024-02-02') FROM staging",
        "INSERT INTO r SELECT k, ifnull(x, ('2024-02-02')) FROM staging",
        "INSERT INTO r SELECT k, CASE WHEN x IS NULL THEN '2024-02-02' ELSE x END FROM staging",
        "INSERT INTO r SELECT k, greatest(x, '2024-2-02') FROM staging",
        "INSERT INTO r BY NAME SELECT k, if(x IS NULL, '2024-03-03', x) AS t FROM staging",
        "INSERT INTO r SELECT k, x FROM staging WHERE k = 1 UNION SELECT 1, '2024-01-01'",
        "INSERT INTO r SELECT 1, '2024-01-01' UNION SELECT 1, '2024-1-1'",
        "INSERT INTO r SELECT 1, '2024-01-01' EXCEPT SELECT 1, '2024-1-1'",
        "INSERT INTO r VALUES (1, greatest('2024-1-05', '2024-01-10'))",
        "INSERT INTO r SELECT 1, nullif('2024-01-01', '2024-1-1')",
        "INSERT INTO r SELECT i, CASE WHEN i = 1 THEN '2024-1-05' ELSE '2024-01-10' END AS z "
        "FROM range(3) AS t (i) ORDER BY z LIMIT 1",
        "INSERT INTO r VALUES (1, NULL); UPDATE r SET t = coalesce(s.x, '2024-02-02') "
        "FROM staging AS s WHERE s.k = r.k",
    ],
)
def test_texts_without_an_offset_are_what_they_are_to_duckdb(text: str, kind: str) -> None:
    with cqlduck.connect() as con, duckdb.connect() as plain:
        con.execute(f"{STAGED} CREATE RELATION r (k INTEGER, t {kind}); {text}")
        con.advance("2030-01-01")
        plain.execute(f"{STAGED} CREATE TABLE r (k INTEGER, t {kind}); {text}")
        read = "SELECT k, t::VARCHAR FROM r ORDER BY ALL"
        assert plain.sql(read).fetchall() == con.sql(read).fetchall()
