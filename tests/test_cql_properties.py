"""`cql.properties`: what can be set, its values, and the ways to set them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import cqlduck
from cqlduck.rewrite.text.options import OF_QUERIES, OF_STREAMS
from cqlduck.settings import AT_ANY_TIME, LASTING, Settings

SCRIPT = """
    CREATE STREAM s (k INTEGER, v INTEGER) OUT OF ORDER WITHIN 3 LATE KEEP;
    CREATE STREAM "odd s" (k INTEGER);
    CREATE RELATION r (k INTEGER, name VARCHAR, PRIMARY KEY (k));
    CREATE CONTINUOUS QUERY q WITH (keep = '100', weight = 2) AS
        SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k;
    CREATE CONTINUOUS QUERY p AS SELECT k FROM "odd s" [ROWS 2];
"""


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as made:
        made.execute(SCRIPT)
        yield made


def value(con: cqlduck.Connection, name: str, owner: str | None = None) -> str | None:
    rows = con.sql(
        "SELECT value FROM cql.properties WHERE name = ? AND owner IS NOT DISTINCT FROM ?",
        [name, owner],
    ).fetchall()
    ((found,),) = rows
    return found


def everything(con: cqlduck.Connection) -> list[tuple[object, ...]]:
    return con.sql("FROM cql.properties").fetchall()


def test_it_lists_all_settings_and_options_with_their_defaults(con: cqlduck.Connection) -> None:
    rows = con.sql("SELECT name, value, default_value, is_changeable FROM cql.properties "
                   "WHERE kind = 'database'").fetchall()  # fmt: skip
    known = {name: (shown, default, is_free) for name, shown, default, is_free in rows}
    of_connection = Settings().of_connection
    assert {*of_connection, *LASTING, "time"} == set(known)
    assert set(AT_ANY_TIME) == {name for name, row in known.items() if row[2]}
    for name, default in of_connection.items():
        text = str(default).lower() if isinstance(default, bool) else default
        shown = None if text is None else str(text)
        assert (name, shown, shown) == (name, *known[name][:2])
    for name in ("granularity", "instant", "recompute", "window_edge"):
        assert known[name][0] == known[name][1] is not None
    assert "integer" == known["time"][0]
    for kind, options in (("query", OF_QUERIES), ("stream", OF_STREAMS)):
        rows = con.sql("SELECT DISTINCT name FROM cql.properties WHERE is_changeable AND kind = ?",
                       [kind]).fetchall()  # fmt: skip
        written = {name for (name,) in rows} - {"active"}
        assert set(options) - {"history"} == written
    assert (
        []
        == con.sql(
            "FROM cql.properties WHERE meaning IS NULL OR statement IS NULL OR changes IS NULL"
        ).fetchall()
    )


def test_values_are_those_of_the_catalogue(con: cqlduck.Connection) -> None:
    assert ("100", "2", "true", None) == tuple(
        value(con, name, "q") for name in ("keep", "weight", "active", "sharing")
    )
    assert ("3", "keep", None) == tuple(
        value(con, name, "s") for name in ("out_of_order_within", "late", "ahead_at_most")
    )
    assert "k" == value(con, "primary_key", "r")
    assert (2.0, 1.0) == tuple(con.engine.query(name).weight for name in "qp")


WANTED = [
    ("q", "weight", "2.5"),
    ("q", "keep", "50"),
    ("q", "keep", "unbounded"),
    ("q", "sharing", "true"),
    ("q", "sharing", "false"),
    ("p", "weight", "1000000"),
    ("s", "late", "drop"),
    ("s", "ahead_at_most", "7"),
    ("odd s", "out_of_order_within", "2"),
]


@pytest.mark.parametrize(("owner", "name", "text"), WANTED)
def test_it_says_the_statement_that_sets_it_and_update_does_the_same(
    owner: str, name: str, text: str
) -> None:
    found = []
    for way in ("ALTER", "UPDATE"):
        with cqlduck.connect() as con:
            con.execute(SCRIPT)
            if way == "ALTER":
                ((statement,),) = con.sql(
                    "SELECT statement FROM cql.properties WHERE owner = ? AND name = ?",
                    [owner, name],
                ).fetchall()
                con.execute(statement.replace("…", f"'{text}'"))
            else:
                con.execute(
                    "UPDATE cql.properties SET value = ? WHERE owner = ? AND name = ?",
                    [text, owner, name],
                )
            assert text == value(con, name, owner)
            found.append(everything(con))
            con.execute(
                "UPDATE cql.properties SET value = NULL WHERE owner = ? AND name = ?",
                [owner, name],
            )
            ((now, default),) = con.sql(
                "SELECT value, default_value FROM cql.properties WHERE owner = ? AND name = ?",
                [owner, name],
            ).fetchall()
            assert now == default
    assert found[0] == found[1]


@pytest.mark.parametrize("name", AT_ANY_TIME)
def test_settings_are_set_as_their_statement_says(con: cqlduck.Connection, name: str) -> None:
    text = {"history": "9", "max_tick": "7", "records": "3", "standing": "unbounded"}.get(name)
    text = text or {"unbounded": "refuse", "strict": "true"}.get(name, "false")
    ((statement, before),) = con.sql(
        f"SELECT statement, value FROM cql.properties WHERE owner IS NULL AND name = '{name}'"
    ).fetchall()
    assert before != text
    con.execute(statement.replace("…", text))
    assert text == value(con, name)


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [("unbounded", "Refuse", "refuse"), ("standing", "UNBOUNDED", "unbounded"),
     ("sharing", "False", "false"), ("strict", "TRUE", "true")],
)  # fmt: skip
def test_the_words_of_settings_are_written_in_capitals_or_not(
    con: cqlduck.Connection, name: str, written: str, value: str
) -> None:
    con.execute(f"UPDATE cql.properties SET value = '{written}' WHERE name = '{name}'")
    found = f"SELECT value FROM cql.properties WHERE name = '{name}' AND owner IS NULL"
    assert [(value,)] == con.sql(found).fetchall()


def test_a_query_is_paused_and_goes_on(con: cqlduck.Connection) -> None:
    con.execute("UPDATE cql.properties SET value = false WHERE name = 'active' AND owner = 'q'")
    assert ("inactive", "active") == tuple(con.queries[name].state for name in "qp")
    ((statement,),) = con.sql(
        "SELECT statement FROM cql.properties WHERE name = 'active' AND owner = 'q'"
    ).fetchall()
    assert "ALTER CONTINUOUS QUERY q ACTIVATE" == statement
    con.execute("UPDATE cql.properties SET value = DEFAULT WHERE name = 'active'")
    assert "active" == con.queries["q"].state


@pytest.mark.parametrize(
    ("text", "kind", "message", "hint"),
    [
        ("SET value = 5 WHERE name = 'wieght'", cqlduck.CatalogError, "no property meets",
         "did you mean weight?"),
        ("SET value = 'x' WHERE name = 'weight' AND owner = 'q'", cqlduck.ParseError,
         "x is no value of weight", "weight is a positive number, or default"),
        ("SET value = -1 WHERE name = 'weight'", cqlduck.ParseError, "-1 is no value of weight",
         "positive"),
        ("SET value = 'inf' WHERE name = 'weight'", cqlduck.ParseError, "inf is no value", "posit"),
        ("SET value = 'perhaps' WHERE name = 'active'", cqlduck.ParseError,
         "perhaps is no value of active", "active is true, false or default"),
        ("SET value = 'kep' WHERE name = 'late'", cqlduck.ParseError, "kep is no value of late",
         "did you mean keep?"),
        ("SET value = 'amend' WHERE name = 'late'", cqlduck.NotSupportedError,
         "s has LATE KEEP, which cannot become LATE AMEND", "DROP STREAM"),
        ("SET value = '1 fortnight' WHERE name = 'keep'", cqlduck.ParseError, "unknown unit", ""),
        ("SET value = 0 WHERE name = 'max_tick'", cqlduck.Error, "max_tick is a whole number", ""),
        ("SET value = 'no' WHERE name = 'strict'", cqlduck.Error, "strict is True or False", ""),
        ("SET value = 2 WHERE name = 'threads'", cqlduck.NotSupportedError,
         "threads cannot be changed", "connect("),
        ("SET value = 'half_open' WHERE name = 'window_edge'", cqlduck.NotSupportedError,
         "window_edge cannot be changed", "make another database"),
        ("SET value = 'v' WHERE name = 'primary_key'", cqlduck.NotSupportedError,
         "primary_key of r cannot be changed", "DROP RELATION r"),
        ("SET name = 'x' WHERE name = 'keep'", cqlduck.NotSupportedError,
         "only the column value can be set", ""),
        ("SET valu = 1", cqlduck.BindError, "valu", ""),
        # several, of which one is wrong
        ("SET value = 3 WHERE name IN ('weight', 'max_tick', 'threads')",
         cqlduck.NotSupportedError, "threads cannot be changed", ""),
        ("SET value = '30' WHERE name IN ('records', 'weight', 'keep', 'active')",
         cqlduck.ParseError, "30 is no value of active", ""),
        ("SET value = 'false' WHERE name IN ('strict', 'adaptive', 'sharing', 'records')",
         cqlduck.Error, "records is a whole number", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_set_is_told_and_nothing_is_done(
    con: cqlduck.Connection, text: str, kind: type, message: str, hint: str
) -> None:
    before = everything(con)
    with pytest.raises(cqlduck.Error) as caught:
        con.execute(f"UPDATE cql.properties {text}")
    assert kind is type(caught.value)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert before == everything(con)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO cql.properties (name) VALUES ('x')", "INSERT on cql.properties"),
        ("DELETE FROM cql.properties WHERE name = 'weight'", "DELETE on cql.properties"),
        ("UPDATE cql.properties SET value = 2 WHERE name = 'weight' RETURNING value",
         "RETURNING on cql.properties"),
        ("SET max_tick = 5", "max_tick is a setting of cqlduck"),
        ("ALTER STREAM r SET (late = keep)", "r is a relation"),
        ("ALTER STREAM s SET (lat = keep)", "there is no option lat"),
        ("ALTER STREAM s SET (late = keep, late = drop)", "the option late is there twice"),
    ],
)  # fmt: skip
def test_other_statements_are_refused(con: cqlduck.Connection, text: str, message: str) -> None:
    before = everything(con)
    with pytest.raises(cqlduck.Error) as caught:
        con.execute(text)
    assert message in caught.value.message
    assert before == everything(con)


def test_what_a_script_sets_that_fails_later_is_as_it_was(con: cqlduck.Connection) -> None:
    before, engine = everything(con), con.engine
    with pytest.raises(cqlduck.Error):
        con.execute(
            "UPDATE cql.properties SET value = 7 WHERE name IN ('max_tick', 'weight', 'records');"
            "ALTER STREAM s SET (late = drop, out_of_order_within = 9); SELECT 1 / 'x'"
        )
    assert before == everything(con)
    assert (2_000_000, 2_000_000, 10_000) == (
        engine.max_tick, engine.bounds.max_tick, engine.kept_records
    )  # fmt: skip
    assert (2.0, "KEEP", 3) == (
        engine.query("q").weight, engine.input("s").late, engine.input("s").bound
    )  # fmt: skip


def test_a_statement_sees_what_those_before_it_set(con: cqlduck.Connection) -> None:
    rows = con.execute(
        "ALTER CONTINUOUS QUERY q SET (weight = 3);"
        "UPDATE cql.properties p SET value = CAST(value AS DOUBLE) * 2 WHERE p.name = 'weight';"
        "ALTER STREAM s SET (late = drop);"
        "SELECT owner, value FROM cql.properties WHERE name IN ('weight', 'late') ORDER BY ALL"
    )
    assert rows is not None
    assert [("odd s", "reject"), ("p", "2"), ("q", "6"), ("s", "drop")] == rows.fetchall()
    assert {"p": 2.0, "q": 6.0} == {name: con.engine.query(name).weight for name in "pq"}


def test_those_of_objects_stay_and_those_of_the_connection_go(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path, max_tick=10) as con:
        con.execute(SCRIPT)
        con.execute("UPDATE cql.properties SET value = 4 WHERE name IN ('weight', 'max_tick')")
        con.execute("ALTER STREAM s SET (ahead_at_most = 20)")
    with duckdb.connect(path, read_only=True) as plain:
        rows = plain.sql("SELECT owner, name, value FROM cql.properties").fetchall()
        assert (None, "max_tick", "4") in rows
        assert ("q", "weight", "4") in rows
    with cqlduck.connect(path) as con:
        assert "2000000" == value(con, "max_tick")
        assert ["4", "4"] == [value(con, "weight", owner) for owner in "qp"]
        assert "20" == value(con, "ahead_at_most", "s")
        assert 20 == con.engine.input("s").ahead


def fed(con: cqlduck.Connection, upto: int) -> None:
    for t in range(upto - 10, upto):
        con.append("s", [(t % 3, t), (t % 2, t)], at=t)


@pytest.mark.parametrize(
    "settings",
    [{"history": "4"}, {"max_tick": 3}, {"history": "6", "max_tick": 1, "adaptive": False}],
)
def test_it_is_as_if_the_database_had_been_opened_with_it(
    settings: dict[str, object], tmp_path: Path
) -> None:
    def of(con: cqlduck.Connection) -> tuple[object, ...]:
        seen = [sorted(con.changes("n").fetchall()), sorted(con.table("n").fetchall())]
        seen += [con.sql("SELECT history_from FROM cql_state.queries").fetchall()]
        return (*seen, con.sql("SELECT until FROM cql.ticks").fetchall())

    script = """CREATE STREAM s (k INTEGER, v INTEGER);
        CREATE CONTINUOUS QUERY n AS SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k"""
    found = []
    for way in ("set", "opened"):
        path = tmp_path / f"{way}.duckdb"
        con = cqlduck.connect(path)
        con.execute(script)
        fed(con, 10)
        con.advance(10)
        if way == "set":
            for name, text in settings.items():
                con.execute(
                    "UPDATE cql.properties SET value = ? WHERE kind = 'database' AND name = ?",
                    [text, name],
                )
        else:
            con.close()
            con = cqlduck.connect(path, **settings)  # type: ignore[arg-type]
        fed(con, 21)
        con.advance(25)
        found.append(of(con))
        con.close()
    assert found[0] == found[1]


def test_sharing_and_unbounded_count_for_queries_that_follow(con: cqlduck.Connection) -> None:
    text = "CREATE CONTINUOUS QUERY {} AS SELECT v FROM s [RANGE 5] WHERE k = {}"
    con.execute(text.format("a", 1))
    con.execute(
        "UPDATE cql.properties SET value = 'false' WHERE name = 'sharing' AND owner IS NULL"
    )
    con.execute(text.format("b", 2))
    assert [None, None] == [con.engine.query(name).family for name in "ab"]
    con.execute("UPDATE cql.properties SET value = 'true' WHERE name = 'sharing' AND owner IS NULL")
    con.execute(text.format("c", 3))
    assert con.engine.query("c").family is not None
    assert con.engine.query("a").family == con.engine.query("c").family
    con.execute("UPDATE cql.properties SET value = 'refuse' WHERE name = 'unbounded'")
    with pytest.raises(cqlduck.NotSupportedError):
        con.execute(
            "CREATE CONTINUOUS QUERY d AS SELECT a.v FROM s [RANGE 5] a, s b WHERE a.k = b.k"
        )


def test_rows_that_follow_meet_other_policies(con: cqlduck.Connection) -> None:
    con.append("s", [(1, 1)], at=10)
    assert 0 == con.append("s", [(1, 1)], at=5)  # late, kept
    con.execute("ALTER STREAM s SET (late = reject)")
    with pytest.raises(cqlduck.LateError):
        con.append("s", [(1, 1)], at=5)
    con.execute("ALTER STREAM s SET (out_of_order_within = default, ahead_at_most = 10)")
    con.append("s", [(1, 1)], at=8)  # the heartbeat is still that of before
    con.append("s", [(1, 1)], at=12)
    assert 11 == con.engine.input("s").heartbeat
    with pytest.raises(cqlduck.LateError):
        con.append("s", [(1, 1)], at=30)


def test_fewer_records_are_cut_at_once(con: cqlduck.Connection) -> None:
    con.append("s", [(1, 1)], at=100)
    con.append("s", [(1, t) for t in range(40)], at=list(range(40)))
    assert 40 == len(con.sql("FROM cql.late").fetchall())
    con.execute("UPDATE cql.properties SET value = 5 WHERE name = 'records'")
    assert 6 == len(con.sql("FROM cql.late").fetchall())


def test_the_options_of_a_member_are_its_own(con: cqlduck.Connection) -> None:
    text = "CREATE CONTINUOUS QUERY {} WITH (weight = {}) AS SELECT v FROM s [RANGE 5] WHERE k = {}"
    for at, name in enumerate("abc"):
        con.execute(text.format(name, at + 1, at))
    assert {"1", "2", "3"} == {value(con, "weight", name) for name in "abc"}
    con.execute("ALTER CONTINUOUS QUERY b SET (weight = 9)")
    con.execute("ALTER CONTINUOUS QUERY b SET (keep = '9')")
    assert ["1", "9", "3"] == [value(con, "weight", name) for name in "abc"]
    # the same text keeps the query, and sets what is written
    con.execute("CREATE OR REPLACE " + text.format("c", 7, 2).removeprefix("CREATE "))
    assert "7" == value(con, "weight", "c")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        con.append("s", [(1, 5)], at=3)
        con.advance(9)
    assert ["1", "9", "7"] == [value(con, "weight", name) for name in "abc"]
