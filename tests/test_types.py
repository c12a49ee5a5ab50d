"""What comes in is what is stored and shown: each type, each way in, each way out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import cqlduck
from cqlduck.sources import dropzone

Values = list[tuple[Any, ...]]

TYPES: dict[str, tuple[str, list[str]]] = {
    "bool": ("BOOLEAN", ["true", "false"]),
    "int8": ("TINYINT", ["-128", "127"]),
    "uint8": ("UTINYINT", ["255"]),
    "int16": ("SMALLINT", ["-32768"]),
    "uint16": ("USMALLINT", ["65535"]),
    "int32": ("INTEGER", ["-2147483648"]),
    "uint32": ("UINTEGER", ["4294967295"]),
    "int64": ("BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    "uint64": ("UBIGINT", ["18446744073709551615"]),
    "int128": ("HUGEINT", ["'-170141183460469231731687303715884105728'", f"'{2**127 - 1}'"]),
    "uint128": ("UHUGEINT", [f"'{2**128 - 1}'", "1"]),
    "bignum": ("BIGNUM", ["'" + "9876543210" * 6 + "'", "'-5'"]),
    "float": ("FLOAT", ["'-0.0'", "'0.1'", "'-inf'"]),
    "double": ("DOUBLE", ["'-0.0'", "'0.1'", "'inf'"]),
    "dec4": ("DECIMAL(4,1)", ["'-1.5'", "'999.9'"]),
    "dec9": ("DECIMAL(9,2)", ["'1234567.89'"]),
    "dec18": ("DECIMAL(18,3)", ["'-123456789012345.678'"]),
    "dec38": ("DECIMAL(38,10)", ["'1234567890123456789012345678.0123456789'"]),
    "text": ("VARCHAR", ["'é\U0001f600'", "''", "'007'"]),
    "blob": ("BLOB", ["'\\x00\\xFF'", "''"]),
    "bits": ("BIT", ["'101'", "'0101010101'"]),
    "uuid": ("UUID", ["'ffffffff-0000-0000-0000-000000000001'"]),
    "json": ("JSON", ["'{\"a\": [1, null]}'", "'\"x\"'"]),
    "date": ("DATE", ["'2024-02-29'", "'0001-01-01'", "'9999-12-31'"]),
    "time": ("TIME", ["'12:34:56.789012'"]),
    "timetz": ("TIMETZ", ["'12:34:56+02:30'", "'00:00:00-05'"]),
    "ts": ("TIMESTAMP", ["'2024-01-01 00:00:00.000001'", "'0001-01-01'", "'9999-12-31'"]),
    "ts_s": ("TIMESTAMP_S", ["'2024-01-01 00:00:01'"]),
    "ts_ms": ("TIMESTAMP_MS", ["'1969-12-31 23:59:59.999'"]),
    "ts_ns": ("TIMESTAMP_NS", ["'1969-12-31 23:59:59.999999'"]),
    "tstz": ("TIMESTAMPTZ", ["'2024-01-01 00:00:00+02'"]),
    "interval": ("INTERVAL", ["'31 days 01:00:00.000001'", "'-1 day'"]),
    "enum": ("ENUM('a', 'b')", ["'b'"]),
    "ints": ("INTEGER[]", ["[1, NULL, 3]", "[]"]),
    "bools": ("BOOLEAN[]", ["[true, NULL]"]),
    "times": ("TIMESTAMP[]", ["[TIMESTAMP '2024-01-01', NULL]"]),
    "doubles": ("DOUBLE[]", ["[1.5, NULL, 'nan'::DOUBLE]"]),
    "nested": ("INTEGER[][]", ["[[1, NULL], NULL, []]"]),
    "array": ("INTEGER[3]", ["[1, NULL, 3]"]),
    "struct": ("STRUCT(a INTEGER, b VARCHAR[])", ["{'a': 1, 'b': ['x', NULL]}", "{'a': NULL}"]),
    "map": ("MAP(VARCHAR, INTEGER)", ["MAP {'a': 1, 'b': NULL}", "MAP {'c': 2}", "MAP {}"]),
    "numbers": ("MAP(INTEGER, VARCHAR)", ["MAP {1: 'a', 2: NULL}", "MAP {3: 'b'}"]),
    "maps": ("MAP(VARCHAR, INTEGER)[]", ["[MAP {'a': 1}, MAP {'b': 2}]"]),
    "union": (
        "UNION(i INTEGER, s VARCHAR)",
        ["union_value(s := 'x')", "union_value(i := 1)", "union_value(s := '1')"],
    ),
    "bitss": ("BIT[]", ["['101'::BIT, NULL]"]),
    "timetzs": ("STRUCT(z TIMETZ)[]", ["[{'z': '12:00:00+02'::TIMETZ}]"]),
    "variant": ("VARIANT", ["{'a': 1, 'b': [1, 2]}::VARIANT", "'2024-01-01'::DATE", "1.5::DOUBLE"]),
}
"""Values of each type that Python's own objects can hold."""

BEYOND: dict[str, tuple[str, list[str]]] = {
    "float": ("FLOAT", ["'nan'"]),
    "double": ("DOUBLE", ["'nan'"]),
    "date": ("DATE", ["'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'12345-01-01'"]),
    "time": ("TIME", ["'24:00:00'"]),
    "time_ns": ("TIME_NS", ["'12:34:56.789012345'"]),
    "ts": (
        "TIMESTAMP",
        ["'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806'", "'290309-12-22 (BC)'"],
    ),
    "ts_s": ("TIMESTAMP_S", ["'infinity'", "'12000-01-01 00:00:01'"]),
    "ts_ms": ("TIMESTAMP_MS", ["'-infinity'", "'12000-01-01 00:00:00.123'"]),
    "ts_ns": ("TIMESTAMP_NS", ["'2024-01-01 00:00:00.123456789'", "'infinity'"]),
    "tstz": ("TIMESTAMPTZ", ["'infinity'", "'12000-01-01'", "'0044-03-15 (BC)'"]),
    "tstz_ns": ("TIMESTAMPTZ_NS", ["'2024-01-01 00:00:00.123456789+02'"]),
    "interval": ("INTERVAL", ["'14 months 31 days 25:00:00.000001'", "'-1 month 1 day'"]),
    "geometry": ("GEOMETRY", ["'POINT(1 2)'"]),
    "times": ("TIMESTAMP[]", ["['infinity'::TIMESTAMP, '12000-01-01'::TIMESTAMP]"]),
}
"""Values that DuckDB can hold, and Python's objects cannot."""


def rows_of(own: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    return own.sql("SELECT * EXCLUDE (i) FROM t ORDER BY i")


def insert(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for row in own.sql("SELECT * EXCLUDE (i) FROM literals ORDER BY i").fetchall():
        con.execute(f"INSERT INTO r VALUES ({', '.join(row)})")


def parameters(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for row in rows_of(own).fetchall():
        marks = ", ".join("?" for _ in row)
        con.execute(f"INSERT INTO r VALUES ({marks})", list(row))


def select(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    create = own.execute("SELECT sql FROM duckdb_tables() WHERE table_name = 't'").fetchall()
    con.execute(create[0][0])
    for row in own.sql("FROM literals ORDER BY i").fetchall():
        con.execute(f"INSERT INTO t VALUES ({', '.join(map(str, row))})")
    con.execute("INSERT INTO r SELECT * EXCLUDE (i) FROM t")


def created(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.execute("DROP CONTINUOUS QUERY q; DROP RELATION r")
    create = own.execute("SELECT sql FROM duckdb_tables() WHERE table_name = 't'").fetchall()
    con.execute(create[0][0])
    for row in own.sql("FROM literals ORDER BY i").fetchall():
        con.execute(f"INSERT INTO t VALUES ({', '.join(map(str, row))})")
    con.execute("CREATE RELATION r FROM (SELECT * EXCLUDE (i) FROM t)")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM r")


def rows(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append("r", rows_of(own).fetchall(), at=1)


def dicts(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    names = rows_of(own).columns
    con.append("r", [dict(zip(names, row, strict=True)) for row in rows_of(own).fetchall()], at=1)


def texts(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append(
        "r",
        own.sql(f"SELECT COLUMNS(*)::VARCHAR FROM ({rows_of(own).sql_query()})").fetchall(),
        at=1,
    )


def pandas(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append("r", rows_of(own).df(), at=1)


def polars(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append("r", rows_of(own).pl(), at=1)


def lazy(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append("r", rows_of(own).pl().lazy(), at=1)


def arrow(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append("r", rows_of(own).to_arrow_table(), at=1)


def lossless(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    own.execute("SET arrow_lossless_conversion = true")
    con.append("r", rows_of(own).to_arrow_table(), at=1)


def reader(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append("r", rows_of(own).to_arrow_reader(), at=1)


def batches(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for batch in rows_of(own).to_arrow_table().to_batches():
        con.append("r", batch, at=1)


def relation(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.append("r", rows_of(own), at=1)
    con.retract("r", rows_of(own), at=1)
    con.append("r", rows_of(own), at=1)


def parquet(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    rows_of(own).write_parquet(str(folder / "rows.parquet"))
    con.append("r", folder / "rows.parquet", at=1)


def zone(con: cqlduck.Connection, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    hidden = dropzone.hidden_folder(folder / "r", 0)
    stamped = own.sql(f"SELECT *, 1::BIGINT AS _ts FROM ({rows_of(own).sql_query()})")
    stamped.write_parquet(str(hidden / "part-0.parquet"))
    count = len(stamped)
    columns = tuple((name, "VARCHAR") for name in stamped.columns)
    manifest = dropzone.Manifest(
        1, "r", 0, count, 1, 1, None, ("part-0.parquet",), columns, wall_clock=False
    )
    assert dropzone.publish(hidden, manifest)
    con.follow()


Way = Callable[[cqlduck.Connection, duckdb.DuckDBPyConnection, Path], None]
PYTHONS = {rows, dicts, parameters, pandas}
"""Ways through Python's objects, which cannot hold all that DuckDB can."""

NOT_PANDAS = {"uint128", "bignum", "timetz", "timetzs", "int128", "dec18", "dec38", "dec9", "dec4"}
NOT_POLARS = {"interval", "union", "geometry", "variant", "timetz", "timetzs"}
NOT_ARROW = {"bits", "bitss", "uint128", "timetz", "timetzs"}
NOT_PARQUET = {"int128", "uint128", "timetz", "timetzs", "interval", "bignum"}
WITHOUT: dict[Way, set[str]] = {
    # DuckDB's client takes no negative offset of a time of day, and makes one type of the keys of
    # all dicts in a list
    parameters: {"timetz", "maps"},
    # pandas has no such numbers, and a time has no offset there
    pandas: NOT_PANDAS | {"bits", "bitss", "variant", "interval"},
    polars: NOT_POLARS | NOT_ARROW | {"bignum", "tstz_ns", "time", "ts_s", "ts_ms"},
    lazy: NOT_POLARS | NOT_ARROW | {"bignum", "tstz_ns", "time", "ts_s", "ts_ms"},
    # DuckDB's own export has damaged them before they come
    arrow: NOT_ARROW,
    reader: NOT_ARROW,
    batches: NOT_ARROW,
    # the format, or DuckDB's writer, has no such types
    parquet: NOT_PARQUET | {"time_ns", "tstz_ns", "union"},
    zone: NOT_PARQUET | {"time_ns", "tstz_ns", "union"},
}
"""Of some ways: the types that the carrier itself cannot hold."""


@pytest.fixture
def own() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def fill(own: duckdb.DuckDBPyConnection, types: dict[str, tuple[str, list[str]]]) -> None:
    """Make the table `t` of the values, and `literals` of how they are written."""
    count = max(len(values) for _, values in types.values()) + 1
    own.execute(
        f"CREATE TABLE t (i INTEGER, {', '.join(f'{n} {k}' for n, (k, _) in types.items())})"
    )
    own.execute(f"CREATE TABLE literals (i INTEGER, {', '.join(f'{n} VARCHAR' for n in types)})")
    for i in range(count):
        written = [
            f"CAST({values[i]} AS {kind})" if i < len(values) else f"CAST(NULL AS {kind})"
            for kind, values in types.values()
        ]
        own.execute(f"INSERT INTO t VALUES ({i}, {', '.join(written)})")
        own.execute(
            f"INSERT INTO literals VALUES ({i}, {', '.join('?' for _ in written)})", written
        )


def shown(relation: duckdb.DuckDBPyRelation, names: list[str]) -> dict[str, list[str]]:
    """The values of each column as texts, in order: what a bag holds has no order of its own."""
    listed = ", ".join(f'CAST("{name}" AS VARCHAR) AS "{name}"' for name in names)
    found = relation.project(listed).fetchall()
    return {name: sorted(str(row[place]) for row in found) for place, name in enumerate(names)}


def each_way_out(con: cqlduck.Connection, types: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """What each way out shows of the query q."""
    names = list(types)
    yield "table", shown(con.table("q"), names)
    yield "as_of", shown(con.as_of("q", 2), names)
    yield "changes", shown(con.changes("q"), names)
    yield "sql", shown(con.sql("FROM q"), names)
    result = con.execute("FROM q")
    assert result is not None
    yield "execute", shown(result, names)
    for way, table in (
        ("arrow", con.arrow("q")),
        ("subscribe", pa.Table.from_batches(list(con.subscribe("q", since=-5)))),
    ):
        with duckdb.connect() as other:
            other.execute("SET TimeZone = 'UTC'")
            other.register("given", table)
            casts = ", ".join(f'CAST("{n}" AS {k}) AS "{n}"' for n, k in types.items())
            yield way, shown(other.sql(f"SELECT {casts} FROM given"), names)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("values", [TYPES, BEYOND], ids=["plain", "beyond"])
@pytest.mark.parametrize(
    "way",
    [insert, parameters, select, created, rows, dicts, texts, pandas, polars, lazy, arrow, lossless,
     reader, batches, relation, parquet, zone],
)  # fmt: skip
def test_what_comes_in_is_what_goes_out(
    way: Way,
    values: dict[str, tuple[str, list[str]]],
    own: duckdb.DuckDBPyConnection,
    tmp_path: Path,
) -> None:
    if values is BEYOND and way in PYTHONS:
        pytest.skip("Python's objects cannot hold these")
    types = {f"c_{n}": v for n, v in values.items() if n not in WITHOUT.get(way, ())}
    fill(own, types)
    names = list(types)
    want = shown(own.sql("FROM t"), names)
    listed = ", ".join(f"{name} {kind}" for name, (kind, _) in types.items())
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(f"CREATE RELATION r ({listed}) FROM 'r'")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM r")
        way(con, own, tmp_path)
        con.advance(2)
        for out, found in each_way_out(con, {n: k for n, (k, _) in types.items()}):
            wrong = {n: (want[n], found[n]) for n in names if want[n] != found[n]}
            assert not wrong, out
        stored = con.sql("FROM r")
        assert want == shown(stored, names)
        kinds = dict(zip(rows_of(own).columns, rows_of(own).types, strict=True))
        assert kinds == dict(zip(stored.columns, stored.types, strict=True))


BYTES = {
    "binary": pa.binary(),
    "large": pa.large_binary(),
    "view": pa.binary_view(),
    "fixed": pa.binary(2),
}


@pytest.mark.parametrize("nested", [False, True], ids=["plain", "list"])
@pytest.mark.parametrize("given", BYTES.values(), ids=BYTES)
def test_bytes_are_taken_for_bits_by_no_name_that_arrow_has_for_them(
    con: cqlduck.Connection, given: pa.DataType, nested: bool
) -> None:
    """DuckDB gives '101' as the bytes 05 FD; as bits these would be 0000010111111101."""
    bits = b"\x05\xfd"
    kind, value = ("BIT[]", [bits]) if nested else ("BIT", bits)
    con.execute(f"CREATE STREAM s (v {kind}); CREATE STREAM b (v {kind.replace('BIT', 'BLOB')})")
    data = pa.table({"v": pa.array([value], pa.list_(given) if nested else given)})
    with pytest.raises(cqlduck.DataError, match="how many bits"):
        con.append("s", data, at=1)
    assert 1 == con.append("b", data, at=1)


def test_distinct_tuples_are_counted_in_a_file_too(tmp_path: Path) -> None:
    """Found by attack: DuckDB 1.5, whose format files have, knows structs and no tuples."""
    counted = "SELECT count(DISTINCT (a, b)) AS n, count(DISTINCT (b, a)) FILTER (WHERE a > 1) AS m"
    for path in (tmp_path / "some.duckdb", ":memory:"):
        with cqlduck.connect(path) as con:
            con.execute("CREATE STREAM s (a INTEGER, b INTEGER)")
            con.execute(f"CREATE CONTINUOUS QUERY q AS {counted} FROM s [RANGE 1]")
            rows = [(1, 1), (1, 1), (2, 1), (None, None), (None, 1)]
            con.append("s", rows, at=[0, 0, 1, 1, 3])
            con.advance(3)
            answers = [con.as_of("q", t).fetchall() for t in range(4)]
        assert [[(1, 0)], [(3, 1)], [(2, 1)], [(1, 0)]] == answers


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE STREAM t (a TUPLE(INTEGER, INTEGER))",
        "CREATE CONTINUOUS QUERY q AS SELECT (a, a) AS t FROM s [RANGE 1]",
        "CREATE CONTINUOUS QUERY q AS SELECT max((a, a)) AS t FROM s [RANGE 1]",
        "CREATE RELATION r FROM (SELECT (1, 2) AS t)",
        "CREATE TABLE t AS SELECT (1, 2) AS t",
    ],
)
def test_what_a_file_cannot_store_is_refused_with_what_to_write_instead(
    tmp_path: Path, statement: str
) -> None:
    with cqlduck.connect(tmp_path / "some.duckdb") as con:
        con.execute("CREATE STREAM s (a INTEGER)")
        with pytest.raises(cqlduck.NotSupportedError, match="no TUPLE columns") as caught:
            con.execute(statement)
        assert "{'a': a, 'b': b}" in (caught.value.hint or "")
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (a INTEGER)")
        con.execute(statement)
        with pytest.raises(cqlduck.DatabaseError, match="TUPLE") as caught:
            con.snapshot(tmp_path / "copy.duckdb")
        assert "{'a': a, 'b': b}" in (caught.value.hint or "")
