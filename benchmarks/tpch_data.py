"""TPC-H as a workload of view maintenance: the tables, the queries, and what changes in a tick.

The tables come from `tpchgen-cli`, as Parquet files that are written once for a scale. A tick is
one instant. Of the rows that it changes half are insertions of whole orders with their lines, a
quarter deletions of such, and a quarter updates of lines (quantity and price), drawn over all keys.
The queries that read no order (q2, q11, q16) have the same shares of `partsupp` instead.

    <data>/tpch-1/lineitem.parquet
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

QUERIES = tuple(f"q{number}" for number in range(1, 23))
OF_PARTSUPP = ("q2", "q11", "q16")
"""Queries that change with `partsupp`, as they read no order and no line."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
"""The primary key of each table."""

LINES_OF_AN_ORDER = 4


def text(query: str, scale: float) -> str:
    """Return the text of a query with its usual parameters.

    Args:
        query: Its name, such as 'q1'.
        scale: The scale of the data, of which q11's fraction depends.
    """
    path = Path(__file__).parent / "tpch_queries" / f"{query}.sql"
    return path.read_text(encoding="utf-8").replace("{fraction}", f"{0.0001 / scale:.10f}")


def tables(query: str) -> tuple[str, ...]:
    """Return the tables that a query reads."""
    said = text(query, 1)
    return tuple(name for name in KEYS if f" {name}" in said.replace(",", " "))


def generated(folder: Path, scale: float) -> Path:
    """Return the folder of the tables as Parquet; write them if they are not there."""
    done = folder / f"tpch-{scale:g}"
    if not done.exists():
        hidden = folder / f".tpch-{scale:g}"
        shutil.rmtree(hidden, ignore_errors=True)
        command = str(Path(sys.executable).parent / "tpchgen-cli")
        subprocess.run(
            [command, "parquet", "-s", f"{scale:g}", "--output-dir", str(hidden)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        hidden.rename(done)
    return done


@dataclass(frozen=True)
class Change:
    """What changes in a table in one tick.

    Attributes:
        inserted: The rows that come.
        deleted: The rows that go, whole.
        old: The rows that are updated, as they are before.
        new: The same as they are after, in the same order.
    """

    inserted: pa.Table
    deleted: pa.Table
    old: pa.Table
    new: pa.Table

    @property
    def rows(self) -> int:
        """How many rows are inserted, deleted or updated."""
        return int(self.inserted.num_rows + self.deleted.num_rows + self.old.num_rows)


@dataclass
class Drawer:
    """Draws what a tick changes, from the tables as they are.

    Args:
        con: Has the tables.
        fraction: How many of the rows of the tables that change do so in a tick.
    """

    con: duckdb.DuckDBPyConnection
    fraction: float
    _tick: int = field(default=0, init=False)

    def of(self, query: str) -> dict[str, Change]:
        """Return what a tick changes, by table; the tables stay as they are."""
        self._tick += 1
        return self._partsupp() if query in OF_PARTSUPP else self._orders()

    def _count(self, *names: str) -> int:
        counted = [self.con.execute(f"SELECT count(*) FROM {n}").fetchall()[0][0] for n in names]
        return max(4, round(self.fraction * sum(counted)))

    def _sampled(self, name: str, source: str, key: str, rows: int) -> None:
        # DuckDB 2.0 draws a reservoir of few rows from the first row group alone
        drawn = f"ORDER BY hash({key}, '{name}', {self._tick}) LIMIT {rows}"
        self.con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {source} {drawn}")

    def _table(self, query: str) -> pa.Table:
        return self.con.sql(query).to_arrow_table()

    def _orders(self) -> dict[str, Change]:
        rows = self._count("orders", "lineitem")
        each = 1 + LINES_OF_AN_ORDER
        for name, part in (("models", 2), ("gone", 4)):
            few = max(1, rows // (part * each))
            self._sampled(name, "SELECT o_orderkey FROM orders", "o_orderkey", few)
        self.con.execute(
            "CREATE OR REPLACE TEMP TABLE renamed AS SELECT o_orderkey AS model, "
            "(SELECT max(o_orderkey) FROM orders) + row_number() OVER () AS key FROM models"
        )
        self._sampled(
            "lines",
            "SELECT * FROM lineitem ANTI JOIN gone ON l_orderkey = o_orderkey",
            "l_orderkey, l_linenumber",
            max(1, rows // 4),
        )
        quantity = f"(1 + hash(l_orderkey, l_linenumber, {self._tick}) % 50)::DECIMAL(15, 2)"
        price = "(l_extendedprice / l_quantity * quantity)::DECIMAL(15, 2)"
        updated = (
            "SELECT * EXCLUDE (quantity) REPLACE (quantity AS l_quantity, "
            f"{price} AS l_extendedprice) FROM (SELECT *, {quantity} AS quantity FROM lines)"
        )
        gone = "SEMI JOIN gone ON"
        return {
            "orders": Change(
                self._table(
                    "SELECT o.* REPLACE (r.key::BIGINT AS o_orderkey) "
                    "FROM orders o JOIN renamed r ON o.o_orderkey = r.model"
                ),
                self._table(f"SELECT * FROM orders {gone} orders.o_orderkey = gone.o_orderkey"),
                *[self._table("SELECT * FROM orders LIMIT 0")] * 2,
            ),
            "lineitem": Change(
                self._table(
                    "SELECT l.* REPLACE (r.key::BIGINT AS l_orderkey) "
                    "FROM lineitem l JOIN renamed r ON l.l_orderkey = r.model"
                ),
                self._table(f"SELECT * FROM lineitem {gone} l_orderkey = o_orderkey"),
                self._table("SELECT * FROM lines"),
                self._table(updated),
            ),
        }

    def _partsupp(self) -> dict[str, Change]:
        rows = self._count("partsupp")
        self._sampled("drawn", "SELECT * FROM partsupp", "ps_partkey, ps_suppkey", rows)
        self.con.execute(
            "CREATE OR REPLACE TEMP TABLE numbered AS "
            "SELECT *, row_number() OVER () AS n FROM drawn"
        )
        new = (
            "SELECT DISTINCT ON (ps_partkey, ps_suppkey) n.* EXCLUDE (n) REPLACE "
            "(1 + (ps_suppkey + 7 * n) % (SELECT max(s_suppkey) FROM supplier) AS ps_suppkey) "
            "FROM numbered n WHERE n % 4 < 2"
        )
        updated = (
            "SELECT * EXCLUDE (n) REPLACE ((ps_supplycost + 1)::DECIMAL(15, 2) AS ps_supplycost, "
            "ps_availqty + 1 AS ps_availqty) FROM numbered WHERE n % 4 = 3"
        )
        return {
            "partsupp": Change(
                self._table(
                    f"FROM ({new}) AS fresh ANTI JOIN partsupp USING (ps_partkey, ps_suppkey)"
                ),
                self._table("SELECT * EXCLUDE (n) FROM numbered WHERE n % 4 = 2"),
                self._table("SELECT * EXCLUDE (n) FROM numbered WHERE n % 4 = 3"),
                self._table(updated),
            )
        }
