"""The pure room without a database: scripts, queries, time, plans, rules, and where errors point.

In the tables of errors a `^` stands before the place that the caret should be under.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp, parse_one
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

import cqlduck.rewrite
from cqlduck.errors import BindError, CatalogError, Error, NotSupportedError, ParseError
from cqlduck.rewrite import Compiled, compile_query, explain, parse_script
from cqlduck.rewrite.bind.binder import Binder
from cqlduck.rewrite.bind.functions import UserFunctions
from cqlduck.rewrite.bind.macros import Macro, Macros, expand_macros
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Difference,
    During,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    Source,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    properties,
    unique,
    walk,
)
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.rules import RULES, optimize
from cqlduck.rewrite.rules.canonical import canonical_values
from cqlduck.rewrite.rules.distinct_arguments import distinct_arguments
from cqlduck.rewrite.rules.group_distinct import group_distinct
from cqlduck.rewrite.rules.materialize import materialize
from cqlduck.rewrite.rules.merge_equal import merge_equal
from cqlduck.rewrite.rules.net import net
from cqlduck.rewrite.rules.postpone import materialize_raising, postpone
from cqlduck.rewrite.rules.prune import prune
from cqlduck.rewrite.rules.row_over_nothing import row_over_nothing
from cqlduck.rewrite.text.parsed import remove_operator
from cqlduck.rewrite.text.queries import QuerySyntax, parse_query
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.statements import (
    AlterQuery,
    AlterStream,
    CreateQuery,
    CreateRelation,
    CreateStream,
    Dml,
    Drop,
    Explain,
    Show,
    Sql,
)
from cqlduck.rewrite.text.time import Clock, WrittenDuration, parse_duration

S = Source(
    "s",
    "stream",
    (
        Column("k", "INTEGER"),
        Column("v", "BIGINT"),
        Column("d", "DOUBLE"),
        Column("a", "INTEGER[]"),
        Column("now", "INTEGER"),
    ),
    "stream_s",
)
T = Source("t", "stream", (Column("k", "INTEGER"), Column("w", "BIGINT")), "stream_t")
R = Source("r", "relation", (Column("k", "INTEGER"), Column("name", "VARCHAR")), "relation_r")


@dataclass
class Catalog:
    """A catalogue without a database; sqlglot says what types there are."""

    clock: Clock = field(default_factory=lambda: Clock("integer"))
    half_open: bool = False
    aggregates: frozenset[str] = frozenset({"count", "sum", "avg", "min", "max", "median", "list"})
    volatile: frozenset[str] = frozenset({"random", "now", "current_timestamp"})
    tables: frozenset[str] = frozenset({"plain"})
    recompute: str = "allow"
    time_is_open: bool = False
    macros: Macros = field(default_factory=dict)
    called: Mapping[str, Sequence[str]] = field(default_factory=dict)
    functions: UserFunctions = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def lookup(self, name: str) -> Source | None:
        return {"s": S, "t": T, "r": R}.get(name.lower())

    def is_table(self, name: str) -> bool:
        return name in self.tables

    def names(self) -> Sequence[str]:
        return ["s", "t", "r"]

    def describe(self, sql: str) -> Sequence[Column]:
        tree = annotate_types(qualify(parse_one(sql, read="duckdb"), dialect="duckdb"))
        shown = {"INT": "INTEGER", "TEXT": "VARCHAR"}
        types = [known.type.sql("duckdb") for known in tree.selects]
        return [
            Column(known.alias_or_name, shown.get(kind, kind))
            for known, kind in zip(tree.selects, types, strict=True)
        ]

    def described(self, sql: str) -> Sequence[tuple[str, str]] | None:
        return [(known.name, known.type) for known in self.describe(sql)]

    def defined(self, name: str) -> str | None:
        return None


def compiled(body: str, **settings: Any) -> Compiled:
    return compile_query("q", body, Catalog(**settings))


def bound(body: str, **settings: Any) -> Plan:
    """Return the plan before the rules."""
    return Binder(Catalog(**settings), parse_query(body)).bind()


def lines(plan: Plan) -> list[str]:
    return [line.strip().split(" ", 1)[1] for line in explain.tree(plan)]


def kinds(plan: Plan) -> list[str]:
    return [explain.kind_of(node) for node in walk(plan)]


def marked(text: str) -> tuple[str, int]:
    """Return a text without its `^`, and where it was."""
    offset = text.index("^")
    return text[:offset] + text[offset + 1 :], offset


def fails(run: Callable[[str], object], kind: type[Error], text: str) -> Error:
    """Run a marked text; check kind and place of the error, and that the caret is shown there."""
    plain, offset = marked(text)
    with pytest.raises(kind) as caught:
        run(plain)
    error = caught.value
    assert kind is type(error)
    before = plain[:offset].split("\n")
    assert (len(before), len(before[-1]) + 1) == (error.line, error.column)
    shown = str(error).split("\n")
    place = next(i for i, line in enumerate(shown) if line.startswith("LINE "))
    head = f"LINE {len(before)}: "
    assert head + plain.split("\n")[len(before) - 1] == shown[place]
    assert " " * (len(head) + len(before[-1])) + "^" == shown[place + 1]
    assert not error.message.endswith(".")
    return error


# -- scripts --------------------------------------------------------------------------------------

A = (("a", "INT"),)
MINUTES = WrittenDuration(Fraction(300_000_000), None)

STATEMENTS = (
    ("CREATE STREAM s (a INT)", CreateStream("s", A)),
    ("create stream if not exists s (a INT);", CreateStream("s", A, if_not_exists=True)),
    (
        "CREATE STREAM s (a INT, b DECIMAL(10, 2), c STRUCT(x INT, y INT[])) TIMESTAMP BY A",
        CreateStream(
            "s",
            (("a", "INT"), ("b", "DECIMAL(10, 2)"), ("c", "STRUCT(x INT, y INT[])")),
            timestamp_by="a",
        ),
    ),
    (
        "CREATE STREAM s (a INT) OUT OF ORDER WITHIN 5 MINUTES LATE drop FROM 'x/y'",
        CreateStream("s", A, None, MINUTES, "DROP", "x/y"),
    ),
    (
        "CREATE STREAM s (a INT) FROM 'x' LATE KEEP OUT OF ORDER WITHIN 5 TIMESTAMP BY a",
        CreateStream("s", A, "a", WrittenDuration(None, Fraction(5)), "KEEP", "x"),
    ),
    (
        "CREATE STREAM s (a INT) AHEAD AT MOST 5 MINUTES OUT OF ORDER WITHIN 5 LATE AMEND",
        CreateStream("s", A, None, WrittenDuration(None, Fraction(5)), "AMEND", ahead=MINUTES),
    ),
    ("ALTER STREAM s HEARTBEAT -5", AlterStream("s", -5)),
    ("alter stream s heartbeat '2013-01-01'", AlterStream("s", "2013-01-01")),
    ('CREATE STREAM "my s" ("an a" INT)', CreateStream("my s", (("an a", "INT"),))),
    ("CREATE RELATION r (a INT)", CreateRelation("r", A)),
    (
        "CREATE RELATION IF NOT EXISTS r (a INT, b INT) PRIMARY KEY (B, a) FROM 'x'",
        CreateRelation("r", (("a", "INT"), ("b", "INT")), ("b", "a"), "x", if_not_exists=True),
    ),
    (
        "CREATE RELATION r (a INT, b INT, PRIMARY KEY (a, b))",
        CreateRelation("r", (("a", "INT"), ("b", "INT")), ("a", "b")),
    ),
    ("CREATE RELATION r (a INT PRIMARY KEY)", CreateRelation("r", A, ("a",))),
    ("CREATE CONTINUOUS QUERY q AS SELECT 1", CreateQuery("q", "SELECT 1")),
    (
        "CREATE OR REPLACE CONTINUOUS QUERY q WITH (keep = 1, history 'true') AS\n  SELECT a[1] ;",
        CreateQuery("q", "SELECT a[1]", (("keep", "1"), ("history", "true")), or_replace=True),
    ),
    (
        "CREATE CONTINUOUS QUERY if not exists q AS SELECT 1",
        CreateQuery("q", "SELECT 1", if_not_exists=True),
    ),
    ("CREATE CONTINUOUS QUERY if AS SELECT 1", CreateQuery("if", "SELECT 1")),
    ("DROP STREAM s", Drop("STREAM", "s")),
    ("DROP RELATION IF EXISTS r", Drop("RELATION", "r", if_exists=True)),
    ("DROP CONTINUOUS QUERY q", Drop("QUERY", "q")),
    ("ALTER CONTINUOUS QUERY q ACTIVATE", AlterQuery("q", "ACTIVATE")),
    ("ALTER CONTINUOUS QUERY q DEACTIVATE", AlterQuery("q", "DEACTIVATE")),
    ("ALTER CONTINUOUS QUERY q activate from now", AlterQuery("q", "ACTIVATE FROM NOW")),
    ("ALTER CONTINUOUS QUERY q SET (keep = 1)", AlterQuery("q", "SET", (("keep", "1"),))),
    ("SHOW STREAMS", Show("STREAMS")),
    ("show relations", Show("RELATIONS")),
    ("SHOW CONTINUOUS QUERIES;", Show("QUERIES")),
    ("EXPLAIN CONTINUOUS QUERY q", Explain("q")),
    ('explain  continuous query "q 1";', Explain("q 1")),
    ("INSERT INTO s VALUES (1)", Dml("INSERT", "s", "INSERT INTO s VALUES (1)")),
    ("DELETE FROM r WHERE a = 1", Dml("DELETE", "r", "DELETE FROM r WHERE a = 1")),
    ("UPDATE m.r SET a = 1;", Dml("UPDATE", "m.r", "UPDATE m.r SET a = 1")),
    ("SELECT 1", Sql("SELECT 1")),
    ("FROM s", Sql("FROM s")),
    ("CREATE TABLE streams (a INT)", Sql("CREATE TABLE streams (a INT)")),
    ("CREATE OR REPLACE VIEW v AS SELECT 1", Sql("CREATE OR REPLACE VIEW v AS SELECT 1")),
    ("DROP TABLE stream", Sql("DROP TABLE stream")),
    ("SHOW TABLES", Sql("SHOW TABLES")),
    ("EXPLAIN SELECT 1", Sql("EXPLAIN SELECT 1")),
    ("SELECT 'a;b' -- c;d\n, 1", Sql("SELECT 'a;b' -- c;d\n, 1")),
)


def unplaced(statement: object) -> object:
    """Return the parts of a statement that are neither places nor the tokens of its text."""
    values = {k: v for k, v in vars(statement).items() if "offset" not in k and k != "tokens"}
    for name in ("bound", "ahead"):
        if values.get(name) is not None:
            values[name] = (values[name].microseconds, values[name].instants)
    return type(statement), values


@pytest.mark.parametrize(("text", "expected"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
def test_statement(text: str, expected: object) -> None:
    (found,) = parse_script(text)
    assert unplaced(expected) == unplaced(found)


def test_script_is_cut_at_semicolons_outside_of_texts() -> None:
    text = """
        -- a comment; with a semicolon
        CREATE STREAM s (a INT); ;
        SELECT ';' /* ; */, "b;c" FROM s;
        SELECT $$ ; $$
    """
    assert ["CreateStream", "Sql", "Sql"] == [type(s).__name__ for s in parse_script(text)]


def test_empty_script_has_no_statements() -> None:
    assert [] == parse_script("")
    assert [] == parse_script(" ;; -- nothing\n")


def test_statements_know_their_places() -> None:
    text = "SELECT 1;\nCREATE STREAM s (a INT);\nCREATE CONTINUOUS QUERY q AS\n  SELECT a FROM s"
    sql, stream, query = parse_script(text)
    assert text.index("SELECT") == sql.offset
    assert text.index("s (a") == stream.offset
    assert text.index("q AS") == query.offset
    assert isinstance(query, CreateQuery)
    assert text.index("SELECT a") == query.body_offset
    assert text[query.body_offset :] == query.body


SCRIPT_ERRORS = (
    ("CREATE STREAM ^(a INT)", "expected a name here"),
    ("CREATE STREAM ^'s' (a INT)", "expected a name here"),
    ("SELECT 1;\nCREATE STREAM s ^TIMESTAMP BY a", "the columns are missing"),
    ("CREATE STREAM s (a INT) ^PRIMARY KEY (a)", "no clause of CREATE STREAM"),
    ("CREATE STREAM s (a INT,\n  ^A INT)", "column A is declared twice"),
    ("CREATE STREAM s (^_ts INT)", "_ts is a reserved name"),
    ("CREATE STREAM s (a INT, ^_Weight INT)", "_Weight is a reserved name"),
    ("CREATE RELATION s (^_op INT)", "_op is a reserved name"),
    ("CREATE STREAM s (a^)", "type of column a is missing"),
    ("CREATE STREAM s (^)", "expected a name"),
    ("CREATE STREAM s (a INT) TIMESTAMP BY ^b", "TIMESTAMP BY names b"),
    ("CREATE STREAM s (a INT) LATE ^SOON", "LATE is one of REJECT, DROP, KEEP, AMEND"),
    ("CREATE STREAM s (a INT) FROM ^folder", "a string in single quotes"),
    ("CREATE STREAM s (a INT) OUT OF ORDER WITHIN ^LATE DROP", "a duration is missing"),
    ("CREATE STREAM s (a INT) OUT OF ORDER WITHIN ^1 MONTH", "no fixed length"),
    ("CREATE RELATION ^r (a INT) PRIMARY KEY (b)", "PRIMARY KEY names b"),
    ("CREATE RELATION r (a INT) ^TIMESTAMP BY a", "no clause of CREATE RELATION"),
    ("CREATE CONTINUOUS ^q AS SELECT 1", "expected QUERY"),
    ("CREATE CONTINUOUS QUERY q ^SELECT 1", "expected AS"),
    ("CREATE CONTINUOUS QUERY q WITH (keep = 1) ^SELECT 1", "expected AS"),
    ("CREATE CONTINUOUS QUERY q WITH ^a = 1 AS SELECT 1", "expected ("),
    ("DROP STREAM s ^CASCADES", "should end here"),
    ("DROP CONTINUOUS ^q", "expected QUERY"),
    ("ALTER CONTINUOUS QUERY q ^STOP", "needs an action"),
    ("ALTER CONTINUOUS QUERY q ACTIVATE ^now", "should end here"),
    ("SHOW STREAMS ^please", "should end here"),
    ("EXPLAIN CONTINUOUS QUERY q ^please", "should end here"),
)


@pytest.mark.parametrize(("text", "message"), SCRIPT_ERRORS, ids=[t for t, _ in SCRIPT_ERRORS])
def test_script_error_has_a_place(text: str, message: str) -> None:
    assert message in fails(parse_script, ParseError, text).message


LEFT_OPEN = (
    ("SELECT ^'a", "this ' is"),
    ("SELECT ^'a''", "this ' is"),
    ("SELECT 1;\nSELECT 'b', ^'a;\nSELECT 2;", "this ' is"),
    ("SELECT 'a' AS it ^'; SELECT 2", "this ' is"),
    (r"SELECT e'a\'', ^e'a\'", "this ' is"),
    ('CREATE STREAM ^"s (a INT); SELECT 1', 'this " is'),
    ("SELECT 1 ^/* b", "this comment is"),
    ("SELECT 1; -- it's\n^/* b\nSELECT '*'/\n;", "this comment is"),
    ("SELECT '/*' ^/* b /* c */ d", "this comment is"),
    ("SELECT $$ ' $$, ^$a$ ' $$", "this $a$ is"),
)


@pytest.mark.parametrize(("text", "message"), LEFT_OPEN, ids=[t for t, _ in LEFT_OPEN])
def test_what_is_left_open_is_an_error_where_it_begins(text: str, message: str) -> None:
    error = fails(parse_script, ParseError, text)
    assert f"{message} never closed" in error.message
    assert error.hint is not None
    assert error.hint.endswith("at its end")


@pytest.mark.parametrize("text", ["CREATE CONTINUOUS QUERY q AS", "CREATE STREAM", "DROP STREAM"])
def test_what_ends_too_early_is_an_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_script(text)
    assert len(text) - 1 <= (caught.value.offset or 0) <= len(text)


# -- windows --------------------------------------------------------------------------------------


def windows(text: str) -> dict[str, str]:
    """Return each window as it was written, by the word at the place that it stands for."""
    syntax = parse_query(text)
    return {
        (re.match(r'\w+|"[^"]*"', text[place:]) or [""])[0]: text[
            window.offset : closing(text, window.offset) + 1
        ]
        for place, window in syntax.windows.items()
    }


def closing(text: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if not depth:
            return place
    raise AssertionError(text)


WINDOWS = (
    ("SELECT a FROM s [ROWS 5]", {"s": "[ROWS 5]"}),
    ("SELECT a FROM s[ROWS 5]", {"s": "[ROWS 5]"}),
    ("SELECT a FROM s [ROWS 5] AS x", {"s": "[ROWS 5]"}),
    ("SELECT a FROM s [ROWS 5] x", {"s": "[ROWS 5]"}),
    ("SELECT a FROM s AS x [ROWS 5]", {"x": "[ROWS 5]"}),
    ("SELECT a FROM s x [ROWS 5]", {"x": "[ROWS 5]"}),
    ('SELECT a FROM "s" [NOW] AS "my x"', {'"s"': "[NOW]"}),
    ('SELECT a FROM s AS "x[NOW]" [ROWS 2]', {'"x[NOW]"': "[ROWS 2]"}),
    ("SELECT 1 FROM s [NOW], t [ROWS 2]", {"s": "[NOW]", "t": "[ROWS 2]"}),
    (
        "SELECT 1 FROM s [NOW] JOIN t [ROWS 2] u ON s.a = u.a JOIN r [NOW] USING (a)",
        {"s": "[NOW]", "t": "[ROWS 2]", "r": "[NOW]"},
    ),
    ("SELECT 1 FROM s JOIN t ON s.a[1] = t.a, r [NOW]", {"r": "[NOW]"}),
    (
        "SELECT 1 FROM (SELECT b FROM t [ROWS 2]) AS x, s [NOW]",
        {"t": "[ROWS 2]", "s": "[NOW]"},
    ),
    ("SELECT 1 FROM (SELECT b FROM t) [ROWS 2] AS x", {"x": "[ROWS 2]"}),
    ("SELECT 1 FROM (SELECT b FROM t) AS x [ROWS 2]", {"x": "[ROWS 2]"}),
    ("WITH x AS (SELECT a FROM s [NOW]) SELECT a FROM x", {"s": "[NOW]"}),
    ("SELECT a FROM s [NOW] UNION ALL SELECT a FROM t [ROWS 1]", {"s": "[NOW]", "t": "[ROWS 1]"}),
    ("SELECT a FROM s WHERE a IN (SELECT a FROM t [NOW])", {"t": "[NOW]"}),
    ("SELECT a, (SELECT max(a) FROM t [ROWS 1]) FROM s", {"t": "[ROWS 1]"}),
    ("FROM s [NOW]", {"s": "[NOW]"}),
    ("SELECT a FROM s [range 5\n  preceding] WHERE a > 1", {"s": "[range 5\n  preceding]"}),
    ("SELECT a FROM s /* [NOW] */ [ROWS 1] -- [NOW]", {"s": "[ROWS 1]"}),
    ("SELECT a FROM s [ROWS 1 WHERE a[1] = 2]", {"s": "[ROWS 1 WHERE a[1] = 2]"}),
    ("SELECT Istream(a[1]) FROM s [NOW]", {"s": "[NOW]"}),
    ("Istream(SELECT a FROM s [NOW])", {"s": "[NOW]"}),
    # no windows
    ("SELECT a[1] FROM s", {}),
    ("SELECT a[1:2] FROM s WHERE a[1] = 2 GROUP BY a[1] HAVING a[1] > 0 ORDER BY a[1]", {}),
    ("SELECT a[now] FROM s", {}),
    ("SELECT a[rows] FROM s WHERE a[now] > a[range]", {}),
    ("SELECT 1 FROM s JOIN t ON s.a[now] = t.a", {}),
    ("SELECT 1 FROM unnest(x[1:2])", {}),
    ("SELECT 1 FROM unnest(x[now])", {}),
    ("SELECT 1 FROM range(x[now])", {}),
    ("SELECT [1, 2] AS x, '[NOW]' AS y FROM s", {}),
    ("SELECT [now] AS x FROM s", {}),
    ("SELECT a FROM s WHERE b = 's [ROWS 5]'", {}),
    ('SELECT "a [NOW]" FROM s', {}),
    ("SELECT extract(year FROM a[now]) FROM s", {}),
    ("SELECT substring(b FROM a[now]) FROM s", {}),
)


@pytest.mark.parametrize(("text", "expected"), WINDOWS, ids=[text for text, _ in WINDOWS])
def test_windows_are_found(text: str, expected: dict[str, str]) -> None:
    assert expected == windows(text)


def test_what_is_not_a_window_stays() -> None:
    tree = parse_query("SELECT a[now] AS x, a[1 : 2] AS y FROM s [NOW] WHERE a[1] = 2").tree
    assert "SELECT a[now] AS x, a[1:2] AS y FROM s WHERE a[1] = 2" == tree.sql("duckdb")


def test_windows_and_operators_are_cut_out_of_what_is_parsed() -> None:
    tree = parse_query("SELECT Istream(a)\nFROM s 5% SAMPLE [ROWS\n 5] x").tree
    assert remove_operator(tree.find(exp.Select)) == "istream"
    assert "SELECT a FROM s AS x" == tree.sql("duckdb")


def only(text: str) -> Any:
    (window,) = parse_query(f"SELECT a FROM s [{text}]").windows.values()
    return window


def test_parts_of_a_window() -> None:
    assert only("NOW").now
    assert only("now PRECEDING").now
    assert only("UNBOUNDED").unbounded
    assert only("RANGE UNBOUNDED PRECEDING").unbounded
    assert only("ROWS UNBOUNDED").unbounded
    assert 5 == only("ROWS 5 PRECEDING").rows
    assert 30_000_000 == only("RANGE 30 SECONDS").range.microseconds
    assert 30_000_000 == only("RANGE INTERVAL '30 seconds' PRECEDING").range.microseconds
    assert 5 == only("RANGE 5").range.instants
    slides, steps = only("RANGE 10 SLIDE 5"), only("ROWS 10 SLIDE 5")
    assert (10, 5) == (slides.range.instants, slides.slide.instants)
    assert (10, 5) == (steps.rows, steps.slide_rows)
    both = only("PARTITION BY a ROWS 3 RANGE 10 SLIDE 5")
    assert (5, None) == (both.slide.instants, both.slide_rows)
    hop, tumble = only("HOP 10 EVERY 5"), only("TUMBLE 10")
    assert (True, 10, 5) == (hop.hop, hop.range.instants, hop.slide.instants)
    assert (True, 10, 10) == (tumble.hop, tumble.range.instants, tumble.slide.instants)
    parted = only('PARTITION BY a, s."b" ROWS 3 RANGE 10 WHERE c > 1')
    assert [("a",), ("s", "b")] == [name for name, _ in parted.partition_by]
    assert (3, 10, "c > 1") == (parted.rows, parted.range.instants, parted.where.sql("duckdb"))


WINDOW_ERRORS = (
    ("SELECT a FROM s [ROWS ^0]", "ROWS needs a whole number of at least 1"),
    ("SELECT a FROM s [ROWS ^x]", "ROWS needs a whole number"),
    ("SELECT a FROM s [ROWS ^1.5]", "ROWS needs a whole number"),
    ("SELECT a FROM s [ROWS ^²]", "ROWS needs a whole number"),
    ("SELECT a FROM s [ROWS 1,^²00]", "its thousands have three digits"),
    ("SELECT a FROM s [ROWS 5 SLIDE ^\u0663]", "SLIDE needs a whole number"),
    ("SELECT a FROM s [RANGE ^\u0663]", "no duration"),
    ("SELECT a FROM s [RANGE ^1 YEAR]", "no fixed length"),
    ("SELECT a FROM s [RANGE ^5 LIGHTYEARS]", "unknown unit"),
    ("SELECT a FROM s [NOW ^5]", "should end here"),
    ("SELECT a FROM s ^[ROWS 5", "never closed"),
    ("SELECT 1 FROM s,\n  t [HOP 10 ^SLIDE 5]", "expected EVERY"),
    ("SELECT 1 FROM s,\n  t [HOP ^10 BY 5]", "unknown unit BY"),
    ("SELECT 1 FROM s [HOP 6 EVERY 6 ^SLIDE 2]", "the window should end here, found 'SLIDE'"),
    ("SELECT 1 FROM s [TUMBLE 6 ^SLIDE 2]", "the window should end here, found 'SLIDE'"),
    ("SELECT k,^, name FROM r", "there is nothing before the comma"),
    ("SELECT ^, k FROM r", "there is nothing before the comma"),
    ("SELECT k, name FROM r GROUP BY k,^, name", "there is nothing before the comma"),
    ("SELECT coalesce(^, k) FROM r", "there is nothing before the comma"),
    ("SELECT Istream(a)^, b FROM s", "whole SELECT list"),
    ("SELECT a + ^Istream(b) FROM s", "whole SELECT list"),
    ("SELECT Istream^(a FROM s", "never closed"),
    ("^DELETE FROM s", "a continuous query is a SELECT"),
    ("^CALL pragma_version()", "a continuous query is a SELECT"),
    ("^EXPLAIN SELECT 1", "a continuous query is a SELECT"),
    ("^DROP TABLE s RESTRICT all of it", "a continuous query is a SELECT"),
    ("^PIVOT s ON k", "a continuous query is a SELECT"),
)


@pytest.mark.parametrize(("text", "message"), WINDOW_ERRORS, ids=[t for t, _ in WINDOW_ERRORS])
def test_query_error_has_a_place(text: str, message: str, caplog: pytest.LogCaptureFixture) -> None:
    assert message in fails(parse_query, ParseError, text).message
    # sqlglot would say there what it cannot read
    assert [] == caplog.records


def test_partitions_need_rows() -> None:
    with pytest.raises(ParseError, match="PARTITION BY needs ROWS"):
        parse_query("SELECT a FROM s [PARTITION BY a RANGE 5]")
    with pytest.raises(ParseError, match="ROWS and RANGE together need PARTITION BY"):
        parse_query("SELECT a FROM s [ROWS 5 RANGE 5]")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM s 10% SAMPLE",
        "SELECT a FROM s [ROWS 5] 10% sample",
        "SELECT a FROM s 10% SAMPLE [ROWS 5] AS x",
        "SELECT a FROM s AS x 10% SAMPLE [ROWS 5]",
        "SELECT a FROM (SELECT a FROM u) 10% SAMPLE [ROWS 5] AS x",
        "SELECT a FROM (SELECT a FROM u) [ROWS 5] 10% SAMPLE",
        "SELECT a FROM (SELECT a FROM u) 10% SAMPLE",
        "SELECT a FROM r JOIN s 10% SAMPLE ON true",
    ],
)
def test_samples_and_windows_hang_on_one_name(text: str) -> None:
    syntax = parse_query(text)
    ((key, sample),) = syntax.samples.items()
    assert sample.percent == 10
    assert text[sample.offset :].lower().startswith("10% sample")
    assert set(syntax.windows) <= {key}


def test_samples_that_are_none() -> None:
    fails(parse_query, ParseError, "SELECT a FROM s ^0% SAMPLE")
    fails(parse_query, ParseError, "SELECT a FROM s ^100.1% SAMPLE")
    fails(parse_query, ParseError, "SELECT a FROM s 5% SAMPLE ^10% SAMPLE")


def test_thousands_may_have_commas() -> None:
    ((_, window),) = parse_query("SELECT a FROM s [ROWS 1,000,000 SLIDE 2,000]").windows.items()
    assert (window.rows, window.slide_rows) == (1_000_000, 2_000)
    fails(parse_query, ParseError, "SELECT a FROM s [ROWS 10,^00]")
    fails(parse_query, ParseError, "SELECT a FROM s [ROWS 10,^b]")


# -- relation-to-stream operators -----------------------------------------------------------------


def operator(syntax: QuerySyntax) -> str | None:
    tree = syntax.tree
    assert isinstance(tree, exp.Select)
    return remove_operator(tree)


OPERATORS = (
    ("SELECT Istream(a, b) FROM s", "istream", "SELECT a, b FROM s"),
    ("SELECT istream(*) FROM s", "istream", "SELECT * FROM s"),
    ("SELECT RSTREAM(a AS b) FROM s WHERE a > 1", "rstream", "SELECT a AS b FROM s WHERE a > 1"),
    ("SELECT Dstream(DISTINCT a) FROM s", "dstream", "SELECT DISTINCT a FROM s"),
    ("Dstream(SELECT a FROM s)", "dstream", "SELECT * FROM (SELECT a FROM s)"),
    ("SELECT a FROM s", None, "SELECT a FROM s"),
    ("SELECT istream FROM s", None, "SELECT istream FROM s"),
    ("SELECT 'Istream(a)' AS x FROM s", None, "SELECT 'Istream(a)' AS x FROM s"),
    ('SELECT "istream"(a) AS x FROM s', None, None),
)


@pytest.mark.parametrize(("text", "kind", "rest"), OPERATORS, ids=[o[0] for o in OPERATORS])
def test_operator_is_taken(text: str, kind: str | None, rest: str | None) -> None:
    syntax = parse_query(text)
    assert kind == operator(syntax)
    if rest is not None:
        assert rest == syntax.tree.sql("duckdb")


# -- time -----------------------------------------------------------------------------------------

SECOND = 1_000_000
DURATIONS = (
    ("5 MINUTES", 300 * SECOND),
    ("5 minutes", 300 * SECOND),
    ("5minutes", 300 * SECOND),
    ("1 MINUTE", 60 * SECOND),
    ("1 HOUR 30 MINUTES", 5400 * SECOND),
    ("1h30m", 5400 * SECOND),
    ("1 day 1 second", 86_401 * SECOND),
    ("2 WEEKS", 14 * 86_400 * SECOND),
    ("1.5 SECONDS", 1_500_000),
    ("0.25 ms", 250),
    ("500 MS", 500_000),
    ("500 milliseconds", 500_000),
    ("7 us", 7),
    ("7 MICROSECONDS", 7),
    ("30 s", 30 * SECOND),
    ("30 sec", 30 * SECOND),
    ("2 mins", 120 * SECOND),
    ("2 d", 2 * 86_400 * SECOND),
    ("INTERVAL '5 minutes'", 300 * SECOND),
    ("INTERVAL '5' MINUTES", 300 * SECOND),
    ("INTERVAL 5 MINUTES", 300 * SECOND),
    ("interval '1 hour 30 minutes'", 5400 * SECOND),
    ("'90 seconds'", 90 * SECOND),
    ("  90 seconds  ", 90 * SECOND),
    ("0 SECONDS", 0),
    ("01:30:00", 5400 * SECOND),
    ("INTERVAL '2 days 100:00:01.5'", (48 * 3600 + 100 * 3600) * SECOND + SECOND * 3 // 2),
    ("00:00:00.000001", 1),
)


@pytest.mark.parametrize(("text", "micros"), DURATIONS, ids=[text for text, _ in DURATIONS])
def test_duration_in_units(text: str, micros: int) -> None:
    assert WrittenDuration(Fraction(micros), None) == parse_duration(text)


@pytest.mark.parametrize(
    ("text", "instants"), [("120", 120), ("'120'", 120), ("0", 0), ("2.5", Fraction(5, 2))]
)
def test_bare_number_counts_instants(text: str, instants: Fraction) -> None:
    assert WrittenDuration(None, Fraction(instants)) == parse_duration(text)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "''", "MINUTES", "five minutes", "-5 MINUTES", "5 MONTHS", "1 YEAR", "1 quarter",
     "2 DECADES", "1 MINUTE 5", "5 5", "5 PARSECS", "1 HOUR, 5 MINUTES", "INTERVAL", "1e3 SECONDS",
     "'5 minutes", "-01:00:00", "1:2:3", "5 01:00:00", "01:00:00 1 DAY", "01:00:00:00", "1:00",
     "01:60:00", "\u0663", "5 SECONDS²"],
)  # fmt: skip
def test_no_duration(text: str) -> None:
    with pytest.raises(ParseError):
        parse_duration(text)


def test_duration_is_in_units_or_in_instants() -> None:
    with pytest.raises(ValueError, match="either"):
        WrittenDuration(None, None)
    with pytest.raises(ValueError, match="either"):
        WrittenDuration(Fraction(1), Fraction(1))


def test_instants_of_integer_time_stand_for_a_second() -> None:
    clock = Clock("integer")
    assert 120 == clock.instants(parse_duration("2 MINUTES"))
    assert 7 == clock.instants(parse_duration("7"))
    assert 0 == clock.instants(parse_duration("999 MILLISECONDS"))
    assert 2 == Clock("integer", instant=60 * SECOND).instants(parse_duration("150 SECONDS"))
    assert "BIGINT" == clock.public_type


def test_instants_of_wall_clock_time_are_granules() -> None:
    assert 120 * SECOND == Clock("wall").instants(parse_duration("2 MINUTES"))
    clock = Clock("wall", granularity=SECOND)
    assert 120 == clock.instants(parse_duration("2 MINUTES"))
    assert 1 == clock.instants(parse_duration("1.9 SECONDS"))
    assert "TIMESTAMP" == clock.public_type
    with pytest.raises(BindError, match="bare number"):
        clock.instants(parse_duration("5"))


def test_clock_moves() -> None:
    for kind, granularity, instant in (("lunar", 1, 1), ("wall", 0, 1), ("integer", 1, 0)):
        with pytest.raises(ValueError, match=r"time|granularity"):
            Clock(kind, granularity, instant)


def test_bare_number_on_wall_clock_time_is_refused_where_it_stands() -> None:
    def run(text: str) -> object:
        return compiled(text, clock=Clock("wall"))

    error = fails(run, BindError, "SELECT k FROM s ^[RANGE 5]")
    assert "RANGE 30 SECONDS" in str(error)


# -- nodes ----------------------------------------------------------------------------------------

s = StreamScan(S, ("k", "v", None, None, None))
t = StreamScan(T, ("t.k", "t.w"))
r = RelationScan(R, ("r.k", "r.name"))
true = exp.true()
K = Column("k", "INTEGER")

WRONG: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("scan, a name too few", lambda: StreamScan(S, ("k",)), "one name for each column"),
    ("relation, a name too many", lambda: RelationScan(R, ("k", "b", "c")), "one name for each"),
    ("negative range", lambda: TimeWindow(s, -1), "not negative"),
    ("slide of nothing", lambda: TimeWindow(s, 5, 0), "at least one instant"),
    ("hop without slide", lambda: TimeWindow(s, 5, hop=True), "width and a slide"),
    ("hop without width", lambda: TimeWindow(s, None, 5, hop=True), "width and a slide"),
    ("no rows", lambda: RowWindow(s, 0), "at least one row"),
    ("slide of no rows", lambda: RowWindow(s, 5, slide=0), "slides by at least one row"),
    ("slide of a range", lambda: RowWindow(s, 5, ("k",), 9, slide=1), "without a range"),
    ("moves by no instant", lambda: RowWindow(s, 5, ("k",), 9, every=0), "at least one instant"),
    ("partition by nobody", lambda: RowWindow(s, 1, ("x",)), "the stream lacks"),
    ("sample of nothing", lambda: Sample(s, Decimal(0), "s"), "more than 0"),
    ("no restriction", lambda: During(r, (), ()), "a beginning or an end"),
    ("column too few", lambda: Project(r, (column("r.k"),), ()), "one column for each"),
    ("columns twice", lambda: Project(r, (true, true), (K, Column("K", "X"))), "there twice"),
    ("join of one", lambda: Join((r,)), "at least two inputs"),
    ("join of the same columns", lambda: Join((r, r)), "there twice"),
    ("key of nobody", lambda: Aggregate(r, ("x",), ()), "no columns of the input"),
    ("global with keys", lambda: Aggregate(r, ("r.k",), (), True), "has no keys"),
    (
        "recompute, a name too few",
        lambda: Recompute((r,), (("k",),), exp.select("1"), (K,), "x"),
        "one name for each",
    ),
    ("union of one", lambda: UnionAll((r,)), "at least two inputs"),
    ("union of others", lambda: UnionAll((r, TimeWindow(t, 1))), "the same columns"),
    ("difference of others", lambda: Difference(r, TimeWindow(t, 1)), "the same columns"),
    ("except of others", lambda: SetOperation(r, TimeWindow(t, 1), "except"), "the same columns"),
    (
        "aggregate called as a key",
        lambda: Aggregate(
            r, ("r.k",), (AggregateCall("R.K", "count", exp.Count(this=exp.Star()), None, "X"),)
        ),
        "there twice",
    ),
)


@pytest.mark.parametrize(("make", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_node_that_means_nothing_cannot_be_built(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_every_check_of_a_node_has_a_case() -> None:
    path = Path(cqlduck.rewrite.plan.__file__ or "")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checks = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Raise)}
    for _, make, _ in WRONG:
        with pytest.raises(ValueError, match=r".") as caught:
            make()
        checks.discard(caught.traceback[-1].lineno + 1)
    assert set() == checks


def test_columns_of_nodes() -> None:
    assert (K, Column("v", "BIGINT")) == s.columns
    timed = StreamScan(S, ("k", None, None, None, None), "at")
    assert (K, Column("at", "BIGINT")) == timed.columns
    call = AggregateCall("n", "count", exp.Count(this=exp.Star()), None, "BIGINT")
    grouped = Aggregate(TimeWindow(s, 5), ("k",), (call,))
    assert (K, Column("n", "BIGINT")) == grouped.columns
    joined = Join((TimeWindow(s, 5), r))
    assert (*s.columns, *r.columns) == joined.columns


def test_reach_of_a_window() -> None:
    assert None is TimeWindow(s, None).reach
    assert 1 == TimeWindow(s, 0).reach
    assert 16 == TimeWindow(s, 10, 5).reach


def test_what_yields_a_stream() -> None:
    assert properties(s).is_stream
    assert properties(Filter(s, true)).is_stream
    assert properties(ToStream(r, "dstream")).is_stream
    assert not properties(r).is_stream
    assert not properties(TimeWindow(s, 1)).is_stream
    assert not properties(Filter(TimeWindow(s, 1), true)).is_stream


def test_what_lives_for_an_instant() -> None:
    now, ten = TimeWindow(t, 0), TimeWindow(t, 10)
    assert properties(now).is_instantaneous
    assert properties(Join((now, r))).is_instantaneous
    assert properties(Filter(now, true)).is_instantaneous
    assert not properties(UnionAll((now, ten))).is_instantaneous
    assert not properties(TimeWindow(t, 0, 5)).is_instantaneous
    grouped = Aggregate(now, ("t.k",), ())
    assert not properties(grouped).is_instantaneous
    assert properties(grouped).needs_now
    assert not properties(Aggregate(now, (), (), True)).needs_now
    assert not properties(ten).needs_now
    assert properties(Difference(now, now)).needs_now
    assert properties(Difference(now, now)).is_instantaneous
    assert not properties(Difference(now, ten)).is_instantaneous
    assert properties(SetOperation(now, ten, "except")).needs_now
    assert not properties(SetOperation(ten, now, "except")).needs_now
    assert properties(SetOperation(ten, now, "intersect")).needs_now


# -- rules ----------------------------------------------------------------------------------------


def test_rules_in_order() -> None:
    expected = (
        row_over_nothing,
        merge_equal,
        prune,
        postpone,
        distinct_arguments,
        canonical_values,
        materialize_raising,
        group_distinct,
        net,
        materialize,
        merge_equal,
    )
    assert expected == RULES
    plan = bound("SELECT k FROM s [RANGE 5]")
    assert merge_equal(materialize(prune(plan))) == optimize(plan)


def test_equal_joins_are_one_though_others_read_other_columns() -> None:
    """The text stands in a subquery too, as in the eleventh query of TPC-H."""
    joined = "FROM s [RANGE 5] JOIN r ON s.k = r.k"
    text = (
        f"SELECT r.k, sum(s.v) AS v {joined} GROUP BY r.k "
        f"HAVING sum(s.v) > (SELECT sum(s.v + s.k) {joined})"
    )
    joins = [n for n in unique(optimize(bound(text))) if isinstance(n, Join) and n.predicates]
    assert 1 == len(joins)
    below = {known.name for known in joins[0].columns}
    assert {"s.v", "s.k", "r.k"} == below


RULED = (
    "SELECT x.k FROM s [RANGE 5] x LEFT JOIN r y ON x.k = y.k AND x.v > 3",
    "SELECT * FROM s [RANGE 5] x NATURAL FULL JOIN r y",
    "SELECT x.k FROM s [ROWS 5] x RIGHT JOIN t y USING (k) LEFT JOIN r z ON z.k > x.k",
    "SELECT k FROM s [RANGE 5] ANTI JOIN r USING (k)",
    "SELECT x.k FROM s [RANGE 5] x SEMI JOIN r y ON x.k < y.k",
    "SELECT k FROM s [RANGE 5] WHERE k IN (SELECT k FROM r) AND NOT EXISTS (SELECT 1 FROM t)",
    "SELECT k FROM s [RANGE 5] s WHERE k NOT IN (SELECT r.k FROM r WHERE r.name = s.d::VARCHAR)",
    "SELECT k FROM s [RANGE 5] WHERE v >= ALL (SELECT w FROM t [NOW])",
    "SELECT k FROM s [RANGE 5] WHERE k IN (SELECT k FROM t GROUP BY k HAVING count(*) > 1)",
    "SELECT k FROM s [RANGE 5] WHERE v > (SELECT avg(v) FROM s [RANGE 9])",
    "SELECT k, (SELECT count(*) + 1 FROM t [NOW] y WHERE y.k = x.k) AS n FROM r x",
    "SELECT k, sum(v) AS n FROM s [NOW] GROUP BY k HAVING sum(v) > (SELECT max(w) FROM t)",
    "SELECT count(*) AS n, (SELECT count(*) FROM r) AS m FROM s",
    "SELECT k FROM s [RANGE 5] WHERE v > 3 OR EXISTS (SELECT 1 FROM r)",
    "SELECT k, k IN (SELECT k FROM r) AS known FROM s [RANGE 5]",
    "SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM r",
    "SELECT k FROM s [RANGE 5] INTERSECT SELECT k FROM r EXCEPT SELECT k FROM t",
)


@pytest.mark.parametrize("text", RULED)
def test_has_a_delta_rule(text: str) -> None:
    assert not [n for n in walk(optimize(bound(text))) if isinstance(n, Recompute)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k FROM s [RANGE 5] WHERE v = (SELECT w FROM t [NOW] LIMIT 1)",
        "SELECT k FROM s [RANGE 5] WHERE v = (SELECT max(w) FROM t [NOW] GROUP BY k)",
        "SELECT k FROM s [RANGE 5] x WHERE v = (SELECT max(w) FROM t y WHERE y.k > x.k)",
        "SELECT k, (SELECT max(w) FROM t y WHERE y.k = x.k) AS m, sum(v) FROM s x GROUP BY k",
        "SELECT k FROM s [RANGE 5] WHERE v > 3 OR (k, v) IN (SELECT k, w FROM t)",
        "SELECT k, v IN (SELECT w FROM t WHERE t.k = s.k) AS known FROM s [RANGE 5]",
    ],
)
def test_subquery_is_worked_out_again(text: str) -> None:
    (node,) = [n for n in walk(optimize(bound(text))) if isinstance(n, Recompute)]
    assert "a subquery in an expression" == node.reason


def test_distinct_arguments_are_summed() -> None:
    text = "SELECT k, count(*) AS n, count(DISTINCT v) AS m FROM s [RANGE 5] GROUP BY k"
    plan = optimize(bound(text))
    assert 'aggregate: COUNT("row"), COUNT("distinct s.v") BY s.k' in lines(plan)
    assert "duplicate-eliminate: s.k, distinct s.v" in lines(plan)


@pytest.mark.parametrize("other", ["median(v)", "max(v)", "min(d)"])
def test_distinct_arguments_beside_what_is_worked_out_again(other: str) -> None:
    plan = bound(f"SELECT k, {other} AS x, count(DISTINCT d) AS n FROM s [RANGE 5] GROUP BY k")
    assert plan == distinct_arguments(plan)


def test_what_is_read_twice_is_one() -> None:
    text = "SELECT x.k FROM s [RANGE 5] x, t [RANGE 5] y WHERE x.k = y.k AND x.k NOT IN "
    plan = optimize(bound(f"{text} (SELECT k FROM r)"))
    assert 1 == len([n for n in unique(plan) if isinstance(n, Trace)])
    assert any(line.endswith("(the same)") for line in lines(plan))


def test_prune_leaves_out_what_nobody_reads() -> None:
    plan = bound("SELECT x.k FROM (SELECT k, v, d FROM s [RANGE 5]) x")
    assert 'project: "s.k" AS k, "s.v" AS v, "s.d" AS d' in lines(plan)
    pruned = lines(prune(plan))
    assert 'project: "s.k" AS k' in pruned
    assert len(lines(plan)) == len(pruned)


def scanned(plan: Plan) -> list[tuple[str, ...]]:
    return [
        tuple(c.name for c in node.columns)
        for node in walk(plan)
        if isinstance(node, (StreamScan, RelationScan))
    ]


SCANNED = (
    ("SELECT k FROM s [RANGE 5]", [("s.k",)]),
    ("SELECT k FROM s [RANGE 5] WHERE v > 1", [("s.k", "s.v")]),
    ("SELECT count(*) AS n FROM s [RANGE 5]", [("s.k",)]),
    ("SELECT sum(v) AS n FROM s [RANGE 5] GROUP BY d", [("s.v", "s.d")]),
    ("SELECT s.v FROM s [RANGE 5] JOIN r ON s.k = r.k", [("s.k", "s.v"), ("r.k",)]),
    ("SELECT v FROM s [PARTITION BY k ROWS 1]", [("s.k", "s.v")]),
    ("SELECT v FROM s [ROWS 1 WHERE k > 1]", [("s.k", "s.v")]),
    ("SELECT _ts AS at FROM t [RANGE 5]", [("t._ts",)]),
    ("SELECT w FROM t [RANGE 5] WHERE _ts > 3", [("t.w", "t._ts")]),
)


@pytest.mark.parametrize(("text", "expected"), SCANNED, ids=[text for text, _ in SCANNED])
def test_prune_reads_only_what_is_needed(text: str, expected: list[tuple[str, ...]]) -> None:
    assert expected == scanned(prune(bound(text)))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x.k FROM (SELECT DISTINCT k, v FROM s [RANGE 5]) x",
        "SELECT x.k FROM (SELECT k, v FROM s [RANGE 5] UNION SELECT k, w FROM t [RANGE 5]) x",
        "SELECT x.k FROM (SELECT Istream(k, v) FROM s [RANGE 5]) [RANGE 5] x",
        "SELECT x.k FROM (SELECT Istream(k, v) FROM s [RANGE 5]) [ROWS 5] x",
    ],
)
def test_prune_keeps_what_is_a_key(text: str) -> None:
    assert {"s.k", "s.v"} <= set(scanned(prune(bound(text)))[0])


def test_prune_is_done_after_once() -> None:
    plan = prune(bound("SELECT x.k FROM (SELECT k, v FROM s [RANGE 5]) x JOIN r USING (k)"))
    assert plan == prune(plan)


KEPT = "materialize: the log of its elements"
MATERIALIZED = (
    ("SELECT max(x.v) AS m FROM (SELECT s.v FROM s [RANGE 5] JOIN t USING (k)) x", 1),
    ("SELECT Rstream(s.v) FROM s [RANGE 5] JOIN t USING (k)", 1),
    ("SELECT k FROM (SELECT Istream(k) FROM s [RANGE 5]) [ROWS 2] x", 1),
    ("SELECT k FROM (SELECT Istream(k) FROM s [RANGE 5]) [RANGE 2 WHERE k > 1] x", 1),
    # what keeps its tuples itself
    ("SELECT 1 AS x FROM (SELECT k, count(*) AS n FROM s GROUP BY k) x JOIN r USING (k)", 0),
    ("SELECT 1 AS x FROM (SELECT DISTINCT k FROM s) x JOIN (SELECT DISTINCT k FROM t) y USING (k)",
     0),
    ("SELECT Rstream(k, count(*) AS n) FROM s [RANGE 5] GROUP BY k", 0),
    ("SELECT median(n) AS m FROM (SELECT k, count(*) AS n FROM s GROUP BY k) x", 0),
    ("SELECT s.k FROM s [RANGE 5] JOIN t [ROWS 2] USING (k) JOIN r USING (k)", 0),
    ("SELECT 1 AS x FROM (SELECT k FROM s [RANGE 5] WHERE v > 1) x JOIN r USING (k)", 0),
    ("SELECT 1 AS x FROM (SELECT k FROM s [NOW] UNION ALL SELECT k FROM r) x JOIN t USING (k)", 0),
    ("SELECT Rstream(k) FROM s [RANGE 5]", 0),
    ("SELECT Rstream(k) FROM s [NOW] JOIN r USING (k)", 0),
    ("SELECT median(v) AS m FROM s [RANGE 5]", 0),
    ("SELECT sum(n) AS m FROM (SELECT k, count(*) AS n FROM s GROUP BY k) x", 0),
    ("SELECT Istream(k, count(*) AS n) FROM s [RANGE 5] GROUP BY k", 0),
)  # fmt: skip


@pytest.mark.parametrize(("text", "traces"), MATERIALIZED, ids=[text for text, _ in MATERIALIZED])
def test_materialize_keeps_what_is_read_again(text: str, traces: int) -> None:
    plan = bound(text)
    assert 0 == lines(plan).count(KEPT)
    assert traces == lines(materialize(plan)).count(KEPT)


def test_materialize_is_done_after_once() -> None:
    for text, _ in MATERIALIZED:
        plan = materialize(bound(text))
        assert plan == materialize(plan)


# -- what a query yields --------------------------------------------------------------------------

MONOTONIC = (
    "SELECT k FROM s",
    "SELECT k FROM s [RANGE UNBOUNDED]",
    "SELECT k FROM s [UNBOUNDED]",
    "SELECT k + 1 AS x FROM s WHERE v > 1",
    "SELECT DISTINCT k FROM s",
    "SELECT s.v FROM s JOIN t USING (k)",
    "SELECT k FROM s UNION SELECT k FROM t",
    "SELECT k FROM s UNION ALL SELECT k FROM t",
    "SELECT x.k FROM (SELECT k FROM s) x",
    "WITH x AS (SELECT k FROM s) SELECT k FROM x",
)
NOT_MONOTONIC = (
    "SELECT k FROM r",
    "SELECT k FROM s [RANGE 5]",
    "SELECT k FROM s [ROWS 5]",
    "SELECT k FROM s [NOW]",
    "SELECT s.v FROM s JOIN r USING (k)",
    "SELECT s.v FROM s JOIN t [ROWS 1] USING (k)",
    "SELECT count(*) AS n FROM s",
    "SELECT k FROM s GROUP BY k",
    "SELECT k FROM s UNION SELECT k FROM r",
)


@pytest.mark.parametrize("text", MONOTONIC)
def test_monotonic_query_yields_its_istream(text: str) -> None:
    found = compiled(text)
    assert "stream" == found.kind
    assert "i-stream" == kinds(found.plan)[0]
    inner = bound(text)
    assert isinstance(inner, ToStream)
    assert properties(inner.input).is_monotonic
    assert properties(inner.input).is_append_only


@pytest.mark.parametrize("text", NOT_MONOTONIC)
def test_other_queries_yield_a_relation(text: str) -> None:
    found = compiled(text)
    assert "relation" == found.kind
    assert not properties(found.plan).is_monotonic
    assert not {"i-stream", "d-stream", "r-stream"} & set(kinds(found.plan))


@pytest.mark.parametrize("word", ["Istream", "Dstream", "Rstream"])
def test_an_operator_says_what_a_query_yields(word: str) -> None:
    for text in (f"SELECT {word}(k) FROM s [RANGE 5]", f"{word}(SELECT k FROM s [RANGE 5])"):
        found = compiled(text)
        assert "stream" == found.kind
        assert word == lines(found.plan)[0].split(": ")[1]


def test_subquery_under_a_window_gets_an_istream() -> None:
    found = compiled("SELECT k FROM (SELECT k FROM s [RANGE 5]) [ROWS 2] x")
    assert "relation" == found.kind
    assert "i-stream" in kinds(found.plan)


def test_edge_of_windows_is_a_setting() -> None:
    text = "SELECT 1 AS x FROM s [RANGE 5], t [NOW], t [HOP 4 EVERY 2] u"
    closed, half_open = lines(bound(text)), lines(bound(text, half_open=True))
    assert "seq-window: [RANGE 5]" in closed
    assert "seq-window: [RANGE 5, half-open]" in half_open
    for same in ("seq-window: [NOW]", "seq-window: [HOP 4 EVERY 2]"):
        assert same in closed
        assert same in half_open


def test_joins_in_parentheses_are_not_lost() -> None:
    for text in (
        "SELECT s.v AS x FROM s JOIN (t JOIN r ON t.k = r.k) ON s.k = t.k",
        "SELECT 1 AS x FROM (t [ROWS 2] JOIN r USING (k))",
    ):
        try:
            plan = compiled(text).plan
        except NotSupportedError:
            continue
        leaves = {n.source.name for n in walk(plan) if isinstance(n, (StreamScan, RelationScan))}
        assert {"t", "r"} <= leaves


CLAUSES = (
    ("(SELECT k FROM s) LIMIT 1", "LIMIT 1"),
    ("(SELECT k FROM s) UNION (SELECT k FROM t) LIMIT 1", "LIMIT 1"),
    ("SELECT k FROM ((SELECT k FROM s) LIMIT 1) x", "LIMIT 1"),
    ("SELECT k FROM ((SELECT k FROM s) OFFSET 1) x", "OFFSET 1"),
    ("Istream(SELECT k FROM s [ROWS 1]) LIMIT 1", "LIMIT 1"),
    ("SELECT k FROM s TABLESAMPLE 10%", "SAMPLE"),
    ("SELECT k FROM (SELECT k FROM s) x TABLESAMPLE 10%", "SAMPLE"),
    ("SELECT * FROM (SELECT k FROM s) PIVOT (count(*) FOR k IN (1, 2))", "COUNT("),
    ("SELECT k FROM s AT (VERSION => 1)", "VERSION"),
    ("SELECT k FROM s WITH ORDINALITY", "ORDINALITY"),
)


@pytest.mark.parametrize(("text", "clause"), CLAUSES, ids=[text for text, _ in CLAUSES])
def test_clause_is_in_the_plan_or_refused(text: str, clause: str) -> None:
    try:
        plan = compiled(text).plan
    except (NotSupportedError, ParseError):
        return
    assert clause in "\n".join(lines(plan))


MACROS: Macros = {
    "total": [Macro(("x",), "(sum(x) + 1)")],
    "twice": [Macro(("x",), "(total(x) + total(x))")],
    "plain": [Macro(("x",), "(x + 1)")],
    "one": [Macro(("x",), "sum(x)"), Macro(("x", "y"), "sum((x * y))")],
    "reads": [Macro((), "(SELECT max(k) FROM plain)")],
    "dice": [Macro((), "random()")],
    "loop": [Macro(("x",), "(loop2(x) + sum(x))")],
    "loop2": [Macro(("x",), "loop(x)")],
}


def test_aggregates_in_macros_are_seen() -> None:
    for call, sums in (
        ("total(v)", 1),
        ("twice(v)", 1),
        ("one(v, k)", 1),
        ("total(x := v)", 1),
        ("total(v) FILTER (WHERE k = 1)", 1),
        ("plain(sum(v))", 1),
    ):
        plan = compiled(f"SELECT k, {call} AS n FROM s GROUP BY k", macros=MACROS).plan
        (found,) = [node for node in walk(plan) if isinstance(node, Aggregate)]
        assert ["sum"] * sums == [known.function for known in found.calls], call


TABLE_MACROS: Macros = {
    "above": [Macro(("x",), "SELECT k, name FROM r WHERE k > x", True)],
    "both": [Macro((), "FROM above(1) UNION ALL FROM above(2)", True)],
    "plain": [Macro((), "SELECT max(k) AS k FROM plain", True)],
    "total": [Macro((), "SELECT sum(k) AS n FROM s", True), Macro(("x",), "(sum(x) + 1)")],
}


@pytest.mark.parametrize(
    ("call", "same"),
    [
        ("above(3)", '(SELECT k, name FROM r WHERE k > (3)) AS "above"'),
        ("above(x := 3) t", "(SELECT k, name FROM r WHERE k > (3)) AS t"),
        ("above(1 + 2) t(a)", "(SELECT k, name FROM r WHERE k > (1 + 2)) AS t(a)"),
        (
            "s JOIN above(3) USING (k)",
            's JOIN (SELECT k, name FROM r WHERE k > (3)) AS "above" USING (k)',
        ),
        ("total()", '(SELECT SUM(k) AS n FROM s) AS "total"'),
        (
            "both() t",
            '(SELECT * FROM (SELECT k, name FROM r WHERE k > (1)) AS "above" '
            'UNION ALL SELECT * FROM (SELECT k, name FROM r WHERE k > (2)) AS "above") AS t',
        ),
    ],
)
def test_a_table_macro_is_the_subquery_that_it_stands_for(call: str, same: str) -> None:
    tree = parse_query(f"SELECT * FROM {call}").tree
    expand_macros(tree, TABLE_MACROS, frozenset(), frozenset())
    assert f"SELECT * FROM {same}".replace('"', "") == tree.sql("duckdb").replace('"', "")


def test_a_window_stays_with_what_it_was_written_after() -> None:
    # in the macro `s` stands where `t` does in the query
    text = "SELECT sum(w) AS n, m() AS x FROM t [ROWS 5]"
    definition = f"(SELECT max(s.k){' ' * (text.index('t [') - 21)}FROM s)"
    assert text.index("t [") == definition.index("s)")
    plan = compiled(text, macros={"m": [Macro((), definition)]}).plan
    (window,) = [node for node in walk(plan) if isinstance(node, RowWindow)]
    (scan,) = [node for node in walk(window) if isinstance(node, StreamScan)]
    assert "t" == scan.source.name


def test_what_a_table_macro_hides_is_refused_as_without_it() -> None:
    for call in ("plain()", "above()", "above(1) WITH ORDINALITY"):
        with pytest.raises(NotSupportedError):
            compiled(f"SELECT * FROM {call}", macros=TABLE_MACROS)
    for call in ("reads()", "dice()", "total(v, v)", "loop(v)"):
        with pytest.raises(NotSupportedError):
            compiled(f"SELECT {call} AS n FROM s", macros=MACROS)


def test_star_leaves_timestamps_out() -> None:
    assert ("k", "w") == tuple(c.name for c in compiled("SELECT * FROM t [NOW]").columns)
    timed = compiled("SELECT *, _ts AS at FROM t [NOW]").columns
    assert ("k", "w", "at") == tuple(c.name for c in timed)


def test_order_by_is_for_the_table() -> None:
    assert 'ORDER BY "k" DESC' in (compiled("SELECT k FROM r ORDER BY r.k DESC").order or "")
    assert None is compiled("SELECT k FROM r").order


def test_same_text_is_the_same_plan_and_sql() -> None:
    text = "SELECT s.k, count(*) AS n FROM s [RANGE 5] JOIN r USING (k) GROUP BY s.k"
    assert compiled(text).explain() == compiled(text).explain()


# -- errors ---------------------------------------------------------------------------------------

BIND_ERRORS = (
    ("SELECT k FROM ^x", CatalogError, "there are: s, t, r"),
    ("SELECT k\nFROM s\nJOIN ^ss USING (k)", CatalogError, "did you mean s?"),
    ("SELECT name FROM ^R2", CatalogError, "did you mean r?"),
    ("SELECT ^nme FROM r", BindError, "did you mean name?"),
    ("SELECT r.^nme FROM r", BindError, "did you mean name?"),
    ("SELECT ^x.name FROM r", BindError, "did you mean r.name?"),
    ("SELECT k,\n       ^zzzzz FROM r", BindError, "columns: k, r.k, name, r.name"),
    ("SELECT ^k FROM s [NOW], t [NOW]", BindError, "write s.k or t.k"),
    ("SELECT k FROM r WHERE k > ^nam", BindError, "did you mean name?"),
    ("SELECT s.k FROM s [NOW] JOIN r ON s.k = r.^kk", BindError, "did you mean k?"),
    ("SELECT k FROM r GROUP BY ^kkk", BindError, "columns: "),
    ("SELECT k FROM r GROUP BY k HAVING ^nmae > 'x'", BindError, "did you mean name?"),
    ("SELECT k FROM s [PARTITION BY ^kk ROWS 2]", BindError, "did you mean k?"),
    ("SELECT k FROM s [ROWS 2 WHERE ^vv > 1]", BindError, None),
    ("SELECT k FROM r ^[ROWS 5]", BindError, "leave the window out"),
    ("SELECT k FROM s [ROWS 5] ^[NOW]", ParseError, None),
    ("SELECT k FROM s [ROWS 5] x ^[NOW]", BindError, None),
    ("SELECT k FROM r WHERE ^sum(k) > 1", BindError, "HAVING"),
    ("SELECT * EXCLUDE (kk) FROM r", BindError, "did you mean k?"),
    ("SELECT 1 AS x FROM s [NOW], ^s [NOW]", BindError, "an alias"),
    ("SELECT k, ^random() AS x FROM r", NotSupportedError, "the data alone"),
    ("SELECT k FROM ^plain", NotSupportedError, "CREATE RELATION"),
    ("SELECT k FROM r ORDER BY ^name", NotSupportedError, "select the column too"),
)


@pytest.mark.parametrize(
    ("text", "kind", "hint"), BIND_ERRORS, ids=[text for text, *_ in BIND_ERRORS]
)
def test_bind_error_says_what_and_where(text: str, kind: type[Error], hint: str | None) -> None:
    if "^" in text:
        error = fails(compiled, kind, text)
    else:
        with pytest.raises(kind) as caught:
            compiled(text)
        error = caught.value
        assert 1 == error.line
    if hint is not None:
        assert hint in (error.hint or "")


MESSAGES = (
    ("SELECT 1 AS x", BindError, "the query reads nothing"),
    ("SELECT k FROM r GROUP BY 2", BindError, "GROUP BY 2 is out of range"),
    ("SELECT k, count(*) AS n FROM r", BindError, "neither a key of GROUP BY"),
    ("SELECT k FROM r UNION SELECT k, name FROM r", BindError, "have 1 and 2 columns"),
    ("SELECT Istream(k) FROM s UNION SELECT k FROM t", BindError, "one side yields a stream"),
    ("SELECT 1 AS x FROM s NATURAL JOIN (SELECT name FROM r) x", BindError, "no common column"),
    ("SELECT 1 AS x FROM s JOIN r USING (name)", BindError, "USING names name"),
    ("SELECT a FROM t AS t (a, b, c)", BindError, "3 names are given"),
    ("SELECT k AS _ts FROM r", BindError, "_ts is a reserved name"),
    ("WITH c(_ts) AS (SELECT k FROM r) SELECT * FROM c", BindError, "_ts is a reserved name"),
    ("SELECT * FROM (SELECT k, name FROM r) c(k, _TS)", BindError, "_TS is a reserved name"),
    ("SELECT * FROM s [RANGE 5] AS c(_ts)", BindError, "_ts is a reserved name"),
    ("SELECT * FROM (SELECT _ts FROM s [RANGE 5])", BindError, "* matches no column"),
    ("SELECT * EXCLUDE (k, name) FROM r", BindError, "* matches no column"),
    ("SELECT k FROM s [RANGE 5 SLIDE 0]", BindError, "slides by at least one instant"),
    ("", ParseError, "empty"),
    ("SELECT k FROM", ParseError, ""),
    ("SELECT k FROM r WHERE", ParseError, ""),
    ("SELECT (k FROM r", ParseError, ""),
)


@pytest.mark.parametrize(("text", "kind", "message"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_error_says_what_is_wrong(text: str, kind: type[Error], message: str) -> None:
    with pytest.raises(kind) as caught:
        compiled(text)
    error = caught.value
    assert message in error.message
    assert text == error.text
    assert 1 == error.line
    assert not error.message.endswith(".")


def test_rstream_at_every_microsecond_needs_now() -> None:
    wall = Clock("wall")
    for text in ("SELECT Rstream(name) FROM r", "SELECT Rstream(k) FROM s [RANGE 1 SECOND]"):
        with pytest.raises(NotSupportedError, match="every microsecond") as caught:
            compiled(text, clock=wall)
        assert "granularity" in (caught.value.hint or "")
        assert compiled(text, clock=Clock("wall", granularity=SECOND)).repeats
    assert not compiled("SELECT Rstream(name) FROM s [NOW] JOIN r USING (k)", clock=wall).repeats


def test_suggestion() -> None:
    assert "did you mean Carrier?" == suggestion("carier", ["origin", "Carrier"], "columns")
    assert "columns: a, b" == suggestion("carrier", ["a", "b", "a"], "columns")
    assert "there are: none" == suggestion("x", [], "there are")


def test_deep_nesting_is_an_error_of_the_family() -> None:
    text = f"SELECT {'(' * 3000}k{')' * 3000} AS x FROM r"
    with pytest.raises(Error):
        compiled(text)


# -- the room -------------------------------------------------------------------------------------

KEYWORDS = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|MERGE|CREATE|DROP|FROM|WHERE|JOIN|GROUP BY|ORDER BY|HAVING"
    r"|UNION|VALUES|WITH|OVER|CAST|CASE|DISTINCT)\b"
)
MODULES = sorted(Path(cqlduck.rewrite.__file__ or "").parent.rglob("*.py"))


def texts_of_errors(tree: ast.AST) -> set[int]:
    """Return the nodes inside of errors that are made: their messages may name clauses."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            found |= {id(inner) for inner in ast.walk(node)}
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            name = name.id if isinstance(name, ast.Name) else name
            if isinstance(name, str) and (name.endswith("Error") or name == "fail"):
                found |= {id(inner) for inner in ast.walk(node)}
    return found


def sql_texts(code: str) -> list[tuple[int, str]]:
    """Return f-strings, formats and sums of strings that have an SQL keyword in them."""
    tree = ast.parse(code)
    allowed = texts_of_errors(tree)
    found = []
    for node in ast.walk(tree):
        if id(node) in allowed:
            continue
        parts: list[ast.AST] = []
        if isinstance(node, ast.JoinedStr):
            parts = list(node.values)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            parts = [node.func.value] if node.func.attr in ("format", "join") else []
        for part in parts:
            if (
                isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and KEYWORDS.search(part.value)
            ):
                found.append((part.lineno, part.value))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_sql_is_made_of_trees(path: Path) -> None:
    assert [] == sql_texts(path.read_text(encoding="utf-8"))


def test_sql_in_a_text_would_be_found() -> None:
    assert sql_texts('f"SELECT {x}"')
    assert sql_texts('"a FROM " + x')
    assert sql_texts('"SELECT %s" % x')
    assert sql_texts('"DELETE {}".format(x)')
    assert not sql_texts('raise ParseError(f"SELECT {x}")')
    assert not sql_texts('f"from {x}"')


def test_every_module_of_the_room_is_seen() -> None:
    assert {"binder", "compile", "join", "time_windows"} <= {path.stem for path in MODULES}


@pytest.mark.parametrize(
    ("body", "period"),
    [
        ("SELECT a FROM s [TUMBLE 10]", 10),
        ("SELECT a, count(*) AS n FROM s [RANGE 7 SLIDE 4] GROUP BY a", 4),
        ("SELECT x.a FROM s [HOP 12 EVERY 6] x, s [RANGE 30 SLIDE 4] y WHERE x.a = y.a", 2),
        ("SELECT a FROM s [TUMBLE 6] EXCEPT SELECT a FROM s [TUMBLE 9]", 3),
        ("SELECT Istream(a) FROM s [TUMBLE 10]", 10),
        ("SELECT Rstream(a) FROM s [TUMBLE 10]", None),
        ("SELECT a FROM s [RANGE 10]", None),
        ("SELECT k FROM (SELECT Istream(k) FROM s [NOW]) [TUMBLE 10]", None),
        ("SELECT k FROM (SELECT Istream(k) FROM s [TUMBLE 5]) [TUMBLE 10]", None),
        ("SELECT x.k, y.v FROM s [TUMBLE 10] x LEFT JOIN s [TUMBLE 4] y ON x.k = y.k", 2),
        ("SELECT x.a FROM s [TUMBLE 10] x, s [NOW] y WHERE x.a = y.a", None),
        ("SELECT x.k FROM s [TUMBLE 10] x, r WHERE x.k = r.k", None),
        ("SELECT a FROM s [RANGE 10 SLIDE 5] UNION ALL SELECT a FROM s [ROWS 3]", None),
        ("SELECT a FROM s [ROWS 3 SLIDE 2]", None),
        ("SELECT median(a) AS m FROM s [TUMBLE 10] WHERE a > current_timestamp", None),
        ("SELECT a, row_number() OVER (ORDER BY a) AS n FROM s [TUMBLE 10]", None),
    ],
)
def test_period_is_where_windows_move(body: str, period: int | None) -> None:
    assert period == compiled(body).period


HOT = "SELECT k, count(*) AS n FROM s [HOP 10 EVERY 2] GROUP BY k"


@pytest.mark.parametrize(
    ("body", "is_whole"),
    [
        ("SELECT k, max(v) AS top FROM s [TUMBLE 5] GROUP BY k", True),
        ("SELECT k, median(v) AS mid FROM s [TUMBLE 5] GROUP BY k", True),
        (f"SELECT h.k FROM ({HOT}) h, (SELECT max(n) AS m FROM ({HOT})) WHERE h.n = m", True),
        ("SELECT DISTINCT x.k FROM s [TUMBLE 5] x, s [TUMBLE 5] y WHERE x.k = y.k", True),
        ("SELECT k FROM s [TUMBLE 5] EXCEPT SELECT k FROM s [TUMBLE 5] WHERE v > 1", True),
        ("SELECT Dstream(DISTINCT k) FROM s [TUMBLE 5]", True),
        ("SELECT DISTINCT k FROM s [HOP 10 EVERY 2]", True),
        # nothing meets, so lifetimes say all
        ("SELECT k FROM s [TUMBLE 5]", False),
        ("SELECT k FROM s [TUMBLE 5] UNION ALL SELECT k FROM s [TUMBLE 5]", False),
        # other instants
        ("SELECT DISTINCT k FROM s [RANGE 5]", False),
        ("SELECT x.k FROM s [TUMBLE 5] x, s [TUMBLE 4] y WHERE x.k = y.k", False),
        ("SELECT x.k FROM s [TUMBLE 5] x, r WHERE x.k = r.k", False),
        ("SELECT Rstream(DISTINCT k) FROM s [TUMBLE 5]", False),
        # a row over nothing, which may be there or meet something at any boundary
        ("SELECT max(v) AS top FROM s [TUMBLE 5]", False),
        ("SELECT x.k FROM s [TUMBLE 5] x, (SELECT count(*) AS n FROM s [TUMBLE 5]) y WHERE v = n",
         False),
        ("SELECT x.k FROM s [TUMBLE 5] x, (SELECT max(v) AS n FROM s [TUMBLE 5]) y", False),
        # the last bits of a sum depend on its order
        ("SELECT k, sum(d) AS total FROM s [TUMBLE 5] GROUP BY k", False),
        # what would be done over for each pane of the window
        ("SELECT k, median(v) AS mid FROM s [HOP 10 EVERY 2] GROUP BY k", False),
        ("SELECT k, count(DISTINCT v) AS n FROM s [HOP 10 EVERY 2] GROUP BY k", False),
        ("SELECT k, max(v) AS m, count(DISTINCT v) AS n FROM s [HOP 10 EVERY 2] GROUP BY k",
         False),
        ("SELECT k, count(*) AS n FROM s [HOP 34 EVERY 2] GROUP BY k", False),
        ("SELECT k, count(*) AS n FROM s [HOP 5 EVERY 2] GROUP BY k", False),
    ],
)  # fmt: skip
def test_what_hops_together_is_worked_out_whole(body: str, is_whole: bool) -> None:
    kinds = {synopsis.kind for synopsis in compiled(body).synopses}
    assert ("content" in kinds) is is_whole
