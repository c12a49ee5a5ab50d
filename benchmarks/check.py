"""Whether two outputs are the same bag of rows; doubles to six decimals."""

from __future__ import annotations

from pathlib import Path

import duckdb

SHOWN = 3
"""How many rows of each side are shown where they differ."""

_FLOATS = ("DOUBLE", "FLOAT", "DECIMAL")
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT")


def difference(expected: Path, found: Path) -> tuple[int, str | None]:
    """Compare two Parquet files by name of column; `_weight` k is k rows.

    Returns:
        The number of rows of the expected, and None or what differs.
    """
    with duckdb.connect(config={"threads": 2}) as con:
        columns = con.execute(f"DESCRIBE FROM '{expected}'").fetchall()
        have = {row[0] for row in con.execute(f"DESCRIBE FROM '{found}'").fetchall()}
        missing = [row[0] for row in columns if row[0] not in have]
        rows = con.execute(f"SELECT count(*) FROM '{expected}'").fetchall()[0][0]
        if missing or len(columns) != len(have):
            return rows, f"columns differ: {sorted(have)}"
        listed = ", ".join(_plain(row[0], row[1]) for row in columns)
        for name, path in (("expected", expected), ("found", found)):
            con.execute(f"CREATE VIEW {name} AS SELECT {listed} FROM '{path}'")
        if _print(con, "expected", columns) == _print(con, "found", columns):
            return rows, None
        return rows, _what(con)


def _plain(name: str, kind: str) -> str:
    if kind.startswith(_FLOATS):
        return f'round("{name}"::DOUBLE, 6) AS "{name}"'
    if kind in _INTEGERS:
        return f'"{name}"::BIGINT AS "{name}"'
    return f'"{name}"'


def _print(con: duckdb.DuckDBPyConnection, view: str, columns: list[tuple[str, ...]]) -> object:
    """Return the number of rows and a sum of their hashes, which does not see their order."""
    names = [row[0] for row in columns]
    listed = ", ".join(f'"{name}"' for name in names)
    weight = "_weight" if "_weight" in names else "1"
    return con.execute(
        f"SELECT count(*), sum({weight}), sum(hash({listed})::HUGEINT) FROM {view}"
    ).fetchall()


def _what(con: duckdb.DuckDBPyConnection) -> str | None:
    """Return rows that one side has and the other has not, or None if only the split differs."""
    parts = []
    weighted = any(row[0] == "_weight" for row in con.execute("DESCRIBE expected").fetchall())
    for name in ("expected", "found"):
        rows = f"SELECT * EXCLUDE (_weight), sum(_weight) AS _weight FROM {name} GROUP BY ALL"
        con.execute(
            f"CREATE TEMP TABLE net_{name} AS "
            + (f"{rows} HAVING sum(_weight) <> 0" if weighted else f"FROM {name}")
        )
    for one, other, word in (("expected", "found", "missing"), ("found", "expected", "too many")):
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE lost AS FROM net_{one} EXCEPT ALL FROM net_{other}"
        )
        count = con.execute("SELECT count(*) FROM lost").fetchall()[0][0]
        if count:
            order = "_ts" if weighted else "ALL"
            shown = con.execute(f"FROM lost ORDER BY {order} LIMIT {SHOWN}").fetchall()
            parts.append(f"{count:,} rows {word}, such as {'; '.join(map(str, shown))}")
    return " · ".join(parts) or None
