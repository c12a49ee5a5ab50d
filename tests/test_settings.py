"""The keywords of `connect`: what they are, and what is no setting or no value of one."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
from pathlib import Path
from typing import Any, get_type_hints

import duckdb
import pytest

import cqlduck
from cqlduck.settings import IN_WORDS, Settings

KEYWORDS = {
    name: parameter
    for name, parameter in inspect.signature(cqlduck.connect).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def test_the_signature_has_each_setting_with_its_type_and_default() -> None:
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    assert list(KEYWORDS) == list(fields) == sorted(fields)
    assert {n: p.default for n, p in KEYWORDS.items()} == {n: f.default for n, f in fields.items()}
    hints = get_type_hints(cqlduck.connect)
    assert get_type_hints(Settings) == {name: hints[name] for name in fields}
    assert cqlduck.Connection is hints["return"]
    assert {"drop_zone", "progress", "trace"} == set(fields) - set(IN_WORDS)


def test_help_says_what_each_setting_is() -> None:
    text = pydoc.plain(pydoc.render_doc(cqlduck.connect))
    for name in KEYWORDS:
        assert f"        {name}: " in text
    assert "kwargs" not in text


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"max_tik": 3}, "there is no setting max_tik", "did you mean max_tick?"),
        ({"Granularity": "1 second"}, "no setting Granularity", "did you mean granularity?"),
        ({"colour": "red"}, "there is no setting colour", "window_edge"),
        ({"window_edge": "open"}, "closed or half_open", ""),
        ({"recompute": True}, "allow, refuse or always", ""),
        ({"granularity": "1"}, "granularity is a duration", "1 second"),
        ({"instant": "0 seconds"}, "instant is a duration", "1 second"),
        ({"history": "long"}, "long", ""),
        ({"history": "unbounded"}, "unbounded", "without the setting all changes are kept"),
        ({"max_tick": 0}, "max_tick is a whole number", ""),
        ({"max_tick": True}, "max_tick is a whole number", ""),
        ({"standing": "100"}, "standing is a duration", "unbounded"),
        ({"records": 0}, "records is a whole number", ""),
        ({"threads": "many"}, "threads is a whole number", ""),
    ],
)
def test_what_is_no_setting_is_an_error(settings: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(cqlduck.Error, match=message) as caught:
        cqlduck.connect(**settings)
    assert hint in (caught.value.hint or "")


def test_none_is_as_if_it_were_left_out() -> None:
    nothing: dict[str, Any] = {n: None for n, p in KEYWORDS.items() if p.default is None}
    with cqlduck.connect(":memory:", **nothing) as con:
        assert "closed" == con.engine.catalogue.settings["window_edge"]
    with cqlduck.connect(max_tick=7, window_edge="half_open") as con:
        assert 7 == con.engine.max_tick
        assert "half_open" == con.engine.catalogue.settings["window_edge"]


FIXED = [
    "SET TimeZone = 'Asia/Tokyo'",
    "SET SESSION TimeZone = 'Asia/Tokyo'",
    "/* a */ SET timezone TO 'Asia/Tokyo'",
    "PRAGMA timezone = 'Asia/Tokyo'",
    "RESET TimeZone",
    'SET "integer_division" = true',
    "SET integer_division = true",
    "SET GLOBAL default_collation = 'nocase'",
    "SET null_order = 'nulls_first'",
    "SET default_order = 'desc'",
    "SET ieee_floating_point_ops = false",
    "SET preserve_insertion_order = false",
    "SET scalar_subquery_error_on_multiple_rows = false",
    "SET schema = 'cql_state'",
    "SET search_path = 'cql_state'",
]


@pytest.mark.parametrize("statement", FIXED)
def test_what_sql_means_is_not_to_be_set(con: cqlduck.Connection, statement: str) -> None:
    listed = "SELECT name, value FROM duckdb_settings() ORDER BY name"
    # a reader has settings of its own
    before, ours = con.sql(listed).fetchall(), con.engine.database.rows(listed)
    for script in (statement, f"CREATE TABLE t (a INTEGER); {statement}"):
        with pytest.raises(cqlduck.NotSupportedError) as caught:
            con.execute(script)
        assert caught.value.hint
        assert before == con.sql(listed).fetchall()
        assert ours == con.engine.database.rows(listed)
    con.execute("SET VARIABLE a = 1; SET max_temp_directory_size = '1 GiB'")


@pytest.mark.parametrize("statement", ["/* a */ BEGIN", "-- a\nUSE temp", "  /**/ COMMIT"])
def test_a_comment_hides_no_statement(con: cqlduck.Connection, statement: str) -> None:
    with pytest.raises(cqlduck.NotSupportedError):
        con.execute(statement)


@pytest.mark.parametrize(
    "head",
    ["MACRO sum(a)", "OR REPLACE MACRO Abs(a)", "TEMP MACRO max(a)", "FUNCTION main.range(a, b)",
     "OR REPLACE TEMPORARY FUNCTION coalesce(a)", "MACRO IF NOT EXISTS row_number()",
     'MACRO "unnest"(a)', "MACRO list_sum(a)"],
)  # fmt: skip
def test_a_macro_hides_no_function_of_ticks(con: cqlduck.Connection, head: str) -> None:
    con.execute("CREATE STREAM s (k INTEGER)")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT sum(k) AS v, max(k) AS m FROM s [RANGE 5]")
    with pytest.raises(cqlduck.NotSupportedError, match="function of DuckDB"):
        con.execute(f"CREATE {head} AS 42")
    con.execute("CREATE SCHEMA own; CREATE MACRO own.sum(a) AS 42; CREATE MACRO summed(a) AS a")
    con.append("s", [(3,)], at=1)
    con.advance(2)
    assert [(3, 3)] == con.table("q").fetchall()


def with_macro(path: Path, macro: str) -> None:
    """Make a database with a query, and then a macro in it by DuckDB alone."""
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT sum(k) AS v, max(k) AS m FROM s [RANGE 5]")
        con.append("s", [(3,)], at=1)
        con.advance(2)
    with duckdb.connect(path) as own:
        own.execute(f"CREATE {macro}")


@pytest.mark.parametrize(
    ("macro", "kind"),
    [("MACRO sum(a) AS 42", "MACRO"), ("MACRO Max(a) AS 'x'", "MACRO"),
     ("MACRO greatest(a, b) AS a", "MACRO"), ('MACRO "+"(a, b) AS 42', "MACRO"),
     ("MACRO range(a) AS TABLE SELECT 1", "MACRO TABLE"),
     ("MACRO duckdb_tables() AS TABLE SELECT 1", "MACRO TABLE")],
)  # fmt: skip
def test_a_file_with_a_macro_that_hides_a_function_is_not_opened(
    tmp_path: Path, macro: str, kind: str
) -> None:
    path = tmp_path / "a.db"
    with_macro(path, macro)
    before = path.read_bytes()
    with pytest.raises(cqlduck.DatabaseError, match="hides a function of DuckDB") as caught:
        cqlduck.connect(path)
    assert "with duckdb" in (caught.value.hint or "")
    assert before == path.read_bytes()
    name = macro.split()[1].split("(")[0]
    with duckdb.connect(path) as own:
        own.execute(f"DROP {kind} {name}")
    with cqlduck.connect(path) as con:
        con.append("s", [(4,)], at=3)
        con.advance(4)
        assert [(7, 4)] == con.table("q").fetchall()


@pytest.mark.parametrize(
    "macro",
    ["MACRO shown(a) AS 42", "MACRO _cql_arrivals_s(a, b) AS TABLE SELECT 1",
     "OR REPLACE MACRO cql_state.shown(a) AS 42", "MACRO _cql_stream_s() AS TABLE SELECT 1",
     "SCHEMA own; CREATE MACRO own.sum(a) AS 42"],
)  # fmt: skip
def test_macros_that_no_tick_calls_change_nothing(tmp_path: Path, macro: str) -> None:
    with_macro(tmp_path / "a.db", macro)
    with cqlduck.connect(tmp_path / "a.db") as con:
        con.append("s", [(4,)], at=3)
        con.advance(4)
        assert [(7, 4)] == con.table("q").fetchall()
        assert [("4",)] == con.sql("SELECT frontier FROM cql.queries").fetchall()
