"""The errors of the family: what they keep when they cross to another process."""

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cqlduck
from cqlduck import errors


def family(root: type[errors.Error] = errors.Error) -> Iterator[type[errors.Error]]:
    yield root
    for kind in root.__subclasses__():
        yield from family(kind)


PARTS = {
    "hint": "leave it out",
    "row": 7,
    "field": "a",
    "rows": [3, 5],
    "relation": "r",
    "number": 4,
}


def an_error(kind: type[errors.Error]) -> errors.Error:
    taken = inspect.signature(kind).parameters
    error = kind("it is wrong", **{name: part for name, part in PARTS.items() if name in taken})
    return error.at("SELECT\n  a", 9)


@pytest.mark.parametrize("kind", list(family()), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("carried", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_an_error_is_the_same_elsewhere(
    kind: type[errors.Error], carried: Callable[[errors.Error], errors.Error]
) -> None:
    error = an_error(kind)
    other = carried(error)
    assert type(other) is kind
    assert str(other) == str(error)
    assert vars(other) == vars(error)
    assert (other.args, other.line, other.column) == (error.args, error.line, error.column)


@pytest.mark.parametrize(
    "call",
    [
        lambda con: con.execute("CREATE CONTINUOUS QUERY q AS SELECT b FROM s"),
        lambda con: con.execute("SELECT FROM WHERE"),
        lambda con: con.append("t", [(1,)], at=1),
        lambda con: con.append("s", [("x",)], at=1),
        lambda con: con.append("s", [(1,), (2,)], at=[3, 1]),
        lambda con: con.execute("CREATE STREAM s (a INTEGER)"),
    ],
)
def test_an_error_that_was_raised_is_the_same_elsewhere(
    con: cqlduck.Connection, call: Callable[[cqlduck.Connection], object]
) -> None:
    con.execute("CREATE STREAM s (a INTEGER)")
    with pytest.raises(cqlduck.Error) as caught:
        call(con)
    other = pickle.loads(pickle.dumps(caught.value))
    assert type(other) is type(caught.value)
    assert str(other) == str(caught.value)
    assert vars(other) == vars(caught.value)


def test_the_caret_is_below_what_is_behind_a_tab() -> None:
    shown = str(errors.Error("wrong", text="a\tb c", offset=4)).splitlines()
    assert ["wrong", "LINE 1: a\tb c", "         \t  ^"] == shown


LONG = 70_000 * "x"


def test_the_place_in_a_long_line_is_shown() -> None:
    text = f"SELECT {LONG} + wrong + {LONG}"
    error = errors.Error("wrong", text=text, offset=text.index("wrong"))
    assert error.column == len(LONG) + 11
    _, line, below = str(error).splitlines()
    assert line[below.index("^") :].startswith("wrong")
    assert line.startswith("LINE 1: …")
    assert line.endswith("…")
    assert len(line) < 300


@pytest.mark.parametrize("place", [0, 1, 99, 100, 101, 500, 69_900, 69_999, 70_000])
def test_the_caret_is_below_its_place_anywhere_in_a_long_line(place: int) -> None:
    text = f"{place * 'x'}!{(70_000 - place) * 'x'}"
    _, line, below = str(errors.Error("wrong", text=text, offset=place)).splitlines()
    assert line[below.index("^")] == "!"


def test_a_long_message_shows_its_beginning_and_its_end() -> None:
    error = errors.Error(f"there is no '{LONG}' here", hint=f"the names are {LONG}")
    assert error.message.startswith("there is no 'xxx")
    assert error.message.endswith("xxx' here")
    assert "…" in error.message
    assert len(str(error)) < 700
    many = errors.Error("it is " + "one of " * 10_000)
    assert len(many.message) <= 1000


@pytest.mark.parametrize(
    "call",
    [
        lambda con: con.execute(f"SELECT * FROM {LONG}"),
        lambda con: con.sql(f"SELECT '{LONG}'::INTEGER"),
        lambda con: con.execute(f"CREATE CONTINUOUS QUERY p AS SELECT {LONG} FROM s"),
        lambda con: con.table(LONG),
        lambda con: con.append("r", [(LONG,)], at=1),
        lambda con: con.execute(f"CREATE CONTINUOUS QUERY p WITH ({LONG} = 1) AS SELECT a FROM s"),
        lambda con: con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT a AS {LONG} FROM s"),
        lambda con: cqlduck.connect(history=LONG),
        lambda con: cqlduck.connect(**{LONG: 1}),
    ],
)
def test_an_error_does_not_repeat_a_long_text(
    con: cqlduck.Connection, call: Callable[[cqlduck.Connection], object]
) -> None:
    con.execute("""
        CREATE STREAM s (a VARCHAR); CREATE RELATION r (a INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT a FROM s [NOW];
    """)
    with pytest.raises(cqlduck.Error) as caught:
        call(con)
    assert len(str(caught.value)) < 1500


def test_the_error_of_a_query_that_fails_at_a_long_value_is_short(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM s (a VARCHAR);
        CREATE CONTINUOUS QUERY q AS SELECT a::INTEGER AS n FROM s [NOW];
    """)
    con.append("s", [(LONG,)], at=1)
    with pytest.warns(RuntimeWarning, match="failed at 1") as warned:
        con.advance(2)
    assert len(str(warned[0].message)) < 1500
    with pytest.raises(cqlduck.QueryError) as caught:
        con.table("q")
    assert "Could not convert string 'xxx" in str(caught.value)
    assert "INT32" in str(caught.value)
    assert caught.value.reason is not None
    assert len(caught.value.reason) < 500
    assert len(str(caught.value)) < 1500
    ((error,),) = con.sql("SELECT error FROM cql.queries").fetchall()
    assert len(error) < 1000


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("SHOW CONTINUOUS QUERIES", "this is a statement of CQL", "execute() runs it"),
        ("EXPLAIN CONTINUOUS QUERY q", "this is a statement of CQL", "execute() runs it"),
        ("CREATE STREAM t (a INTEGER)", "this is a statement of CQL", "execute() runs it"),
        ("", "there is no statement", "write a SELECT"),
        (" -- nothing", "there is no statement", "write a SELECT"),
        ("SELECT 1; SELECT 2", "one statement at a time", "one by one"),
    ],
)
def test_sql_says_what_it_does_not_take(
    con: cqlduck.Connection, text: str, message: str, hint: str
) -> None:
    with pytest.raises(cqlduck.Error, match=message) as caught:
        con.sql(text)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("way", ["execute", "sql"])
def test_an_error_inside_of_a_select_is_that_of_the_select(
    con: cqlduck.Connection, way: str
) -> None:
    with pytest.raises(cqlduck.Error) as caught:
        getattr(con, way)("SELECT error('too high')")
    assert "too high" in caught.value.message
    assert "Arrow" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("PIVOT t ON x USING count(*)", [(1, 1, 0), (2, 0, 1)]),
        ("PRAGMA table_info('t')", [(0, "x", "VARCHAR", False, None, False),
                                    (1, "y", "INTEGER", False, None, False)]),
        ("SELECT 1; CALL pragma_database_size()", None),
        ("INSERT INTO t VALUES ('c', 3) RETURNING y + 1 AS z", [(4,)]),
        ("UPDATE t SET y = 9 WHERE x = 'a' RETURNING x, y", [("a", 9)]),
        ("DELETE FROM t WHERE y > 100 RETURNING x", []),
    ],
)  # fmt: skip
def test_rows_of_the_last_statement_are_given_whatever_it_is(
    con: cqlduck.Connection, text: str, rows: list[object] | None
) -> None:
    con.execute("CREATE TABLE t (x VARCHAR, y INTEGER); INSERT INTO t VALUES ('a', 1), ('b', 2)")
    found = con.execute(text)
    assert found is not None
    if rows is not None:
        assert rows == sorted(found.fetchall())


def test_rows_that_are_returned_are_those_that_were_written_once(con: cqlduck.Connection) -> None:
    con.execute("CREATE TABLE t (b BIT, u UHUGEINT, z TIMETZ, i INTEGER)")
    values = f"'101'::BIT, {2**128 - 1}, '12:00:00+02'::TIMETZ"
    found = con.execute(f"INSERT INTO t VALUES ({values}, ?) RETURNING *", [7])
    assert found is not None
    assert con.sql("FROM t").fetchall() == found.fetchall()
    assert [(1,)] == con.sql("SELECT count(*) FROM t").fetchall()
    again = con.execute("UPDATE t SET i = i + 1 RETURNING i")
    assert again is not None
    assert [(8,)] == again.fetchall()
    assert [(8,)] == con.sql("SELECT i FROM t").fetchall()


@pytest.mark.parametrize(
    "text", ["CHECKPOINT", "PRAGMA threads=2", "INSERT INTO t VALUES ('c', 3)"]
)
def test_statements_without_rows_give_none(con: cqlduck.Connection, text: str) -> None:
    con.execute("CREATE TABLE t (x VARCHAR, y INTEGER)")
    assert con.execute(text) is None


def test_a_pivot_that_is_no_select_says_what_to_do(con: cqlduck.Connection) -> None:
    con.execute("CREATE TABLE t (x VARCHAR)")
    with pytest.raises(cqlduck.NotSupportedError) as caught:
        con.sql("PIVOT t ON x USING count(*)")
    assert "name the values" in (caught.value.hint or "")
    assert con.sql("PIVOT t ON x IN ('a') USING count(*)").fetchall()


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO t VALUES ('b')",
        "ALTER TABLE t RENAME x TO z",
        "DROP TABLE t",
    ],
)
def test_a_refresh_whose_query_fails_says_so(con: cqlduck.Connection, change: str) -> None:
    con.execute("""
        CREATE TABLE t (x VARCHAR); INSERT INTO t VALUES ('1');
        CREATE RELATION r FROM (SELECT x::INTEGER AS x FROM t);
    """)
    con.execute(change)
    for refresh in (lambda: con.refresh("r"), lambda: con.execute("REFRESH RELATION r")):
        with pytest.raises(cqlduck.Error) as caught:
            refresh()
        assert "_cql_" not in str(caught.value)
    assert [(1,)] == con.sql("FROM r").fetchall()


def test_small_slips_are_named(con: cqlduck.Connection, tmp_path: Path) -> None:
    con.execute("CREATE STREAM s (a INTEGER); CREATE RELATION r (a INTEGER)")
    con.append("s", [(1,)], at=1)
    with pytest.raises(cqlduck.DataError, match="'10' is no instant") as caught:
        con.advance("10")
    assert "instants are integers in this database" in (caught.value.hint or "")
    with pytest.raises(cqlduck.NotSupportedError, match="a subquery in an expression") as inner:
        con.execute(
            "CREATE CONTINUOUS QUERY p AS SELECT a FROM s [ROWS 2 WHERE a IN (SELECT a FROM r)]"
        )
    assert inner.value.hint
    with pytest.raises(cqlduck.DatabaseError, match="is a folder, and no database"):
        cqlduck.connect(tmp_path)
    found = con.execute("\ufeffSELECT 1 AS a")
    assert found is not None
    assert [(1,)] == found.fetchall()


@pytest.mark.parametrize("name", ["instant", "granularity"])
def test_an_instant_is_a_whole_number_of_microseconds(name: str) -> None:
    with pytest.raises(cqlduck.Error, match="a whole number of microseconds"):
        cqlduck.connect(**{name: "1.9 microseconds"})
    cqlduck.connect(**{name: "1.5 milliseconds"}).close()


def test_a_date_beyond_all_timestamps_is_named_with_its_row(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (t DATE) TIMESTAMP BY t")
    with pytest.raises(cqlduck.DataError) as caught:
        con.append("s", [("2024-01-01",), ("5000000-01-01",)])
    assert (1, "t") == (caught.value.row, caught.value.field)


def test_changes_of_a_bounded_history_sum_up_to_the_answer() -> None:
    with cqlduck.connect(history="5") as con:
        con.execute("CREATE STREAM s (k INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 100]")
        con.append("s", [(1,)], at=0)
        for at in (0, 20, 21):
            con.advance(at)
        assert [(1, 15, 1)] == con.changes("q").fetchall()
        assert [] == con.changes("q", 16).fetchall()
        assert [(1,)] == con.table("q").fetchall()
