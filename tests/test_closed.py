"""A connection that is closed says so, whatever is asked of it; what it gave away stays sound."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import cqlduck

SCRIPT = """
    CREATE STREAM s (k INTEGER);
    CREATE RELATION r (k INTEGER);
    CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s GROUP BY k;
    CREATE CONTINUOUS QUERY p AS SELECT k FROM s;
"""
GIVEN = {
    "text": "SELECT 1",
    "name": "r",
    "data": [(1,)],
    "at": 50,
    "to": 50,
    "rows": {"s": [{"k": 1, "_ts": 50}]},
    "limit": 1,
    "slices": 1,
    "query": "q",
    "t": 5,
    "since": 1,
    "until": 3,
    "timeout": 0,
    "parameters": [],
    "path": "copy.duckdb",
    "deep": False,
    "analyze": True,
    "every": "1 hour",
    "on_error": None,
    "point": "stages",
    "option": "whole",
    "owner": "q",
    "function": abs,
    "return_type": "BIGINT",
    "type": "native",
    "null_handling": "default",
    "exception_handling": "default",
    "side_effects": False,
}
"""An argument for each parameter of a public method: who adds a parameter adds it here."""

HARMLESS = {"close", "stop", "interrupt"}
"""Who ends things, perhaps from several threads, need not know whether they are over already."""

FACTS = {"drop_zone"}
"""What was said at the beginning, and needs no database."""

PUBLIC = sorted(n for n in {*dir(cqlduck.Connection), *FACTS} if not n.startswith("_"))
ASKED = [n for n in PUBLIC if n not in HARMLESS | FACTS]


@pytest.fixture(scope="module", params=["memory", "file", "drop zone"])
def closed(request: Any, tmp_path_factory: Any) -> cqlduck.Connection:
    folder: Path = tmp_path_factory.mktemp("closed")
    zone = folder / "zone" if request.param == "drop zone" else None
    where = ":memory:" if request.param == "memory" else folder / "some.duckdb"
    con = cqlduck.connect(where, drop_zone=zone)
    con.execute(SCRIPT)
    con.append("s", [(i % 3,) for i in range(9)], at=range(9))
    con.advance(9)
    con.start(every="1 hour")
    con.close()
    return con


def refused(call: Any) -> None:
    with pytest.raises(cqlduck.Error) as caught:
        call()
    assert type(caught.value) is cqlduck.DatabaseError
    assert ("the connection is closed", "connect again") == (
        caught.value.message,
        caught.value.hint,
    )


def used(con: cqlduck.Connection, name: str, *, fully: bool) -> Any:
    """Use a public attribute: read a property, call a method, enter a block."""
    found = getattr(con, name)
    if not callable(found):
        return found
    parameters = inspect.signature(found).parameters.values()
    given = {p.name: GIVEN[p.name] for p in parameters if fully or p.default is p.empty}
    result = found(**given)
    return result.__enter__() if hasattr(result, "__exit__") else result


@pytest.mark.parametrize("fully", [False, True])
@pytest.mark.parametrize("name", ASKED)
def test_each_method_and_property_says_so(
    closed: cqlduck.Connection, name: str, fully: bool
) -> None:
    refused(lambda: used(closed, name, fully=fully))


def test_it_says_so_before_it_looks_at_anything_else(closed: cqlduck.Connection) -> None:
    for call in (
        lambda: closed.sql("SELCT"),
        lambda: closed.execute("CREATE STREEM"),
        lambda: closed.append("nothing", object()),
        lambda: closed.retract("s", []),
        lambda: closed.refresh("s"),
        lambda: closed.tick([]),  # type: ignore[arg-type]
        lambda: closed.table("nothing"),
        lambda: closed.as_of("q", "never"),
        lambda: closed.unregister("nothing"),
        lambda: closed.start(every="now and then"),
        closed.__enter__,
    ):
        refused(call)


def test_who_ends_it_again_does_no_harm(closed: cqlduck.Connection) -> None:
    for name in HARMLESS:
        assert used(closed, name, fully=False) is None
    closed.__exit__(None, None, None)
    assert ", closed>" in repr(closed)
    assert "closed" in closed._repr_html_()


@pytest.fixture
def con(tmp_path: Path) -> Iterator[cqlduck.Connection]:
    with cqlduck.connect(tmp_path / "some.duckdb") as connection:
        connection.execute(SCRIPT)
        yield connection


def fill(con: cqlduck.Connection) -> None:
    for at in range(3):
        con.append("s", [(at,)], at=at)
        con.advance(at)


def test_what_was_read_stays(con: cqlduck.Connection) -> None:
    fill(con)
    queries, streams, found = con.queries, con.streams, con.execute("FROM q ORDER BY k")
    table = con.arrow("q")
    con.close()
    assert 2 == queries["q"].frontier
    assert 3 == streams["s"].elements
    assert "q" in repr(queries)
    assert "s" in streams._repr_html_()
    assert found is not None
    assert [(0, 1), (1, 1), (2, 1)] == found.fetchall()
    assert 3 == table.num_rows


def test_a_relation_of_duckdb_s_says_so_in_its_words(con: cqlduck.Connection) -> None:
    """Each of them the same, those that are read from a log and those that were read before too."""
    con.append("s", [(i,) for i in range(30_000)], at=0)
    con.advance(1)
    relations = [
        con.table("q"),
        con.table("p"),
        con.changes("q"),
        con.changes("p"),
        con.as_of("q", 1),
        con.sql("FROM p"),
    ]
    relations += [relation.filter("k > 5") for relation in relations]
    for relation in relations[::2]:
        assert 1 == len(relation.limit(1).fetchall())
    con.close()
    for relation in relations:
        for call in (relation.fetchall, relation.to_arrow_table, relation.show):
            with pytest.raises(duckdb.ConnectionException, match="already been closed"):
                call()
    with cqlduck.connect() as other:
        other.execute("CREATE STREAM p (k INTEGER)")
        with pytest.raises(cqlduck.DataError, match=r"cannot be read.*closed"):
            other.append("p", relations[1], at=1)


def test_a_subscription_that_has_not_given_all_says_so(con: cqlduck.Connection) -> None:
    put = [con.subscribe("p", since=-1) for _ in range(3)]
    fill(con)
    assert [0, 1, 2] == next(put[0])["k"].to_pylist()
    con.append("s", [(7,)], at=7)
    con.advance(7)
    assert [7] == next(put[0])["k"].to_pylist()
    con.close()
    # the first one has given all
    assert [] == list(put[0])
    refused(lambda: next(put[1]))
    refused(lambda: asyncio.run(anext(put[2])))  # type: ignore[arg-type]
    # and then they are over
    assert [] == list(put[1])


def test_a_block_that_is_profiled_may_close_it(con: cqlduck.Connection) -> None:
    fill(con)
    with con.profile(deep=True) as profile:
        con.advance(5)
        con.close()
    assert profile.lines()


def test_a_long_read_of_another_thread_ends(tmp_path: Path) -> None:
    """It would hold the file for as long as it takes, which is hours here."""
    con = cqlduck.connect(tmp_path / "some.duckdb")
    con.execute("CREATE TABLE tens AS SELECT i FROM range(10) AS tens(i)")
    crossed = " CROSS JOIN ".join(f"tens t{i}" for i in range(14))
    told: list[str] = []

    def read() -> None:
        try:
            con.sql(f"SELECT count(*) FROM {crossed} WHERE random() + t0.i + t13.i < 9")
        except cqlduck.Error as error:
            told.append(error.message)

    thread = threading.Thread(target=read)
    threads = con.engine.database.threads
    thread.start()
    while not threads.readers:
        time.sleep(0.001)
    con.close()
    thread.join(60)
    assert ["the connection is closed"] == told
    cqlduck.connect(tmp_path / "some.duckdb").close()


def test_who_reads_while_another_thread_closes_is_told_the_same(tmp_path: Path) -> None:
    con = cqlduck.connect(tmp_path / "some.duckdb")
    con.execute(SCRIPT)
    fill(con)
    told: list[Any] = []
    reading = threading.Event()

    def read() -> None:
        while True:
            try:
                con.sql("FROM q").fetchall()
                con.table("q").fetchall()
            except duckdb.Error:
                # of a relation that was there already
                continue
            except cqlduck.Error as error:
                told.append(error.message)
                return
            reading.set()

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert reading.wait(60)
    con.close()
    for thread in threads:
        thread.join(60)
    assert ["the connection is closed"] * 3 == told
