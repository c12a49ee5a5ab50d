"""TPC-H: all 22 queries over tables that change, tick by tick equal to DuckDB that answers anew.

The tables are small, and of few values: those that the queries ask for, and some beside them.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tpch
import tpch_data
from tpch_data import KEYS, Drawer

import cqlduck

TICKS = 2
CHANGED = 0.1
SCALE = 0.05
"""What q11 takes its fraction from: so that some parts are important and some are not."""

NATIONS = ("FRANCE", "GERMANY", "BRAZIL", "CANADA", "SAUDI ARABIA", "CHINA")


def _pick(number: int, *values: str) -> str:
    """Return SQL for one of some values, by the row and a number of the column."""
    listed = ", ".join(f"'{value}'" for value in values)
    return f"([{listed}])[1 + (hash(i, {number}) % {len(values)})::INTEGER]"


def _upto(number: int, most: int) -> str:
    """Return SQL for a whole number below `most`."""
    return f"(hash(i, {number}) % {most})::INTEGER"


def _money(number: int, most: int) -> str:
    return f"({_upto(number, most)} / 4)::DECIMAL(15, 2)"


def _day(number: int, year: int, years: int) -> str:
    return f"(DATE '{year}-01-01' + {_upto(number, 365 * years)})::DATE"


ROWS = {"region": 5, "nation": 6, "supplier": 12, "customer": 30, "part": 24, "partsupp": 60,
        "orders": 150, "lineitem": 600}  # fmt: skip
TABLES = {
    "region": "i AS r_regionkey, (['EUROPE', 'AMERICA', 'MIDDLE EAST', 'ASIA', 'AFRICA'])[i + 1] "
    "AS r_name, '' AS r_comment",
    "nation": f"i AS n_nationkey, ({list(NATIONS)})[i + 1] AS n_name, "
    "([0, 0, 1, 3, 2, 3])[i + 1] AS n_regionkey, '' AS n_comment",
    "supplier": f"i AS s_suppkey, 'Supplier#' || i AS s_name, 'street' AS s_address, "
    f"{_upto(1, 6)} AS s_nationkey, '13-' || i AS s_phone, {_money(2, 900)} AS s_acctbal, "
    f"{_pick(3, 'none', 'none', 'Customer slow Complaints')} AS s_comment",
    "customer": f"i AS c_custkey, 'Customer#' || i AS c_name, 'street' AS c_address, "
    f"{_upto(1, 6)} AS c_nationkey, {_pick(2, '13-1', '31-2', '99-3')} AS c_phone, "
    f"({_money(3, 900)} - 50)::DECIMAL(15, 2) AS c_acctbal, "
    f"{_pick(4, 'BUILDING', 'MACHINERY')} AS c_mktsegment, '' AS c_comment",
    "part": f"i AS p_partkey, {_pick(1, 'forest green', 'green', 'red')} AS p_name, "
    f"'Manufacturer#1' AS p_mfgr, {_pick(2, 'Brand#12', 'Brand#23', 'Brand#23', 'Brand#45')} "
    f"AS p_brand, {_pick(3, 'ECONOMY ANODIZED STEEL', 'PROMO BRASS', 'MEDIUM POLISHED BRASS')} "
    f"AS p_type, {_pick(4, '15', '3', '9')}::INTEGER AS p_size, "
    f"{_pick(5, 'SM CASE', 'MED BOX', 'MED BOX', 'MED BAG')} AS p_container, "
    f"{_money(6, 90)} AS p_retailprice, '' AS p_comment",
    "partsupp": f"i % 24 AS ps_partkey, (i * 5 + i // 24) % 12 AS ps_suppkey, {_upto(1, 400)} "
    f"AS ps_availqty, {_money(2, 12)} AS ps_supplycost, '' AS ps_comment",
    "orders": f"i AS o_orderkey, {_upto(1, 24)} AS o_custkey, {_pick(2, 'F', 'O')} "
    f"AS o_orderstatus, {_money(3, 900)} AS o_totalprice, {_day(4, 1993, 4)} AS o_orderdate, "
    f"{_pick(5, '1-URGENT', '2-HIGH', '3-MEDIUM')} AS o_orderpriority, 'Clerk' AS o_clerk, "
    f"0 AS o_shippriority, {_pick(6, 'none', 'special deposits requests')} AS o_comment",
    "lineitem": f"i // 4 AS l_orderkey, {_upto(1, 60)} % 24 AS l_partkey, "
    f"({_upto(1, 60)} * 5 + {_upto(1, 60)} // 24) % 12 AS l_suppkey, "
    f"i % 4 AS l_linenumber, CASE WHEN i // 4 % 7 = 0 THEN 90 ELSE 1 + {_upto(3, 24)} END"
    "::DECIMAL(15, 2) AS l_quantity, "
    f"{_money(4, 400)} AS l_extendedprice, ({_upto(5, 11)} / 100)::DECIMAL(15, 2) AS l_discount, "
    f"0.02::DECIMAL(15, 2) AS l_tax, {_pick(6, 'R', 'N')} AS l_returnflag, "
    f"{_pick(7, 'F', 'O')} AS l_linestatus, {_day(8, 1993, 4)} AS l_shipdate, "
    f"{_day(9, 1993, 4)} AS l_commitdate, {_day(10, 1993, 4)} AS l_receiptdate, "
    f"{_pick(11, 'DELIVER IN PERSON', 'NONE')} AS l_shipinstruct, "
    f"{_pick(12, 'AIR', 'MAIL', 'SHIP')} AS l_shipmode, '' AS l_comment",
}


@pytest.fixture
def tables() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect()) as con:
        for name, columns in TABLES.items():
            source = f"range({ROWS[name]}) AS numbers(number)"
            con.execute(
                f"CREATE TABLE {name} AS SELECT {columns} "
                f"FROM (SELECT number::BIGINT AS i FROM {source})"
            )
        yield con


def registered(con: cqlduck.Connection, tables: duckdb.DuckDBPyConnection, query: str) -> str:
    """Make the relations of a query, register it as `answer`, and return its text."""
    for name in tpch_data.tables(query):
        columns = tables.execute(f"DESCRIBE {name}").fetchall()
        listed = ", ".join(f"{column[0]} {column[1]}" for column in columns)
        con.execute(f"CREATE RELATION {name} ({listed}) PRIMARY KEY ({', '.join(KEYS[name])})")
        con.append(name, tables.sql(f"FROM {name}").to_arrow_table(), at=0)
    text = tpch_data.text(query, SCALE)
    con.execute(f"CREATE CONTINUOUS QUERY answer AS {text}")
    return text


def pairs(profile: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """Yield how many pairs of rows each join without an equality meets, and its conditions.

    An equality of instants alone is none: each row of an instant meets all others of it.
    """
    inner = profile.get("children", [])
    for child in inner:
        yield from pairs(child)
    if "JOIN" in profile["type"] or profile["type"] == "CROSS_PRODUCT":
        conditions = profile["extra_info"].get("Conditions", [])
        listed = [conditions] if isinstance(conditions, str) else conditions
        if not any(_is_equality(condition) for condition in listed):
            yield math.prod(child["intermediate_rows"] for child in inner), listed


def _is_equality(condition: str) -> bool:
    sides = re.split(" = | IS NOT DISTINCT FROM ", condition)
    return len(sides) == 2 and not {"_ts", "_cql_at"} & set(sides)


@contextlib.contextmanager
def profiled(con: cqlduck.Connection, profile: Path) -> Iterator[list[tuple[int, Any]]]:
    """Collect what the joins of the block's statements meet (`pairs`)."""
    database = con.engine.database
    met: list[tuple[int, Any]] = []
    operators: list[str] = []

    def look(*_: object) -> None:
        if profile.exists() and profile.stat().st_size:
            for operator in json.loads(profile.read_text())["operator"]:
                operators.append(operator["type"])
                met.extend(pairs(operator))
            profile.unlink()

    database.execute("SET enable_profiling = 'json'")
    database.execute(f"SET profiling_output = '{profile}'")
    database.trace = look
    yield met
    database.trace = None
    database.execute("RESET enable_profiling")
    assert operators


@pytest.mark.parametrize("query", tpch_data.QUERIES)
def test_a_query_equals_duckdb_that_answers_anew(
    query: str, tables: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """Instants, of which there are few, meet all rows of a table; tables are joined by keys."""
    with cqlduck.connect() as con:
        text = registered(con, tables, query)
        drawer = Drawer(tables, CHANGED)
        seen = 0
        for now in range(TICKS + 1):
            if now:
                changes = drawer.of(query)
                tpch.taken_by_duckdb(tables, changes)
                tpch.taken_by_cqlduck(con, changes, now)
            with profiled(con, tmp_path / "profile.json") as met:
                con.advance(now)
            right = tables.sql(text).to_arrow_table()
            assert "" == tpch.difference(con.arrow("answer"), right)
            seen += right.num_rows
            for count, conditions in met:
                assert count <= 3 * sum(ROWS.values()), conditions
        assert seen > 0
