"""Subscriptions that wait: in threads, in event loops, for some time or until nothing comes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pyarrow as pa
import pytest

import cqlduck
from cqlduck.subscription import ChangeSignal, Subscription

SCRIPT = "CREATE STREAM s (a BIGINT); CREATE CONTINUOUS QUERY q AS SELECT a FROM s [ROWS 1]"
# So long that it is over only if something hangs.
PATIENCE = 120.0


def rows(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in batch.to_pylist()), key=lambda row: row[1:])


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as connection:
        connection.execute(SCRIPT)
        yield connection


def put(con: cqlduck.Connection, t: int) -> None:
    con.append("s", [(t,)], at=t)
    con.heartbeat("s", t)


def test_tasks_read_while_the_scheduler_runs(con: cqlduck.Connection) -> None:
    """Several tasks of one loop, which go on as elements come and end when it stops."""

    async def collect(subscription: Subscription, heard: asyncio.Queue[Any]) -> list[Any]:
        got = []
        async for batch in subscription:
            got += rows(batch)
            for row in rows(batch):
                await heard.put(row)
        return got

    async def run() -> None:
        heard = [asyncio.Queue[Any]() for _ in range(5)]
        tasks = [asyncio.create_task(collect(con.subscribe("q"), one)) for one in heard]
        con.start(every="10 milliseconds")
        expected = []
        for t in (1, 2, 3):
            await asyncio.to_thread(put, con, t)
            new = [(t - 1, t, -1), (t, t, 1)][t == 1 :]
            expected += new
            for one in heard:
                assert new == [await asyncio.wait_for(one.get(), PATIENCE) for _ in new]
        await asyncio.to_thread(con.stop)
        assert [expected] * 5 == await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)

    asyncio.run(run())


def test_the_position_0_is_a_position() -> None:
    """Where history has a bound, and begins before it."""
    with cqlduck.connect(history="5 seconds") as con:
        con.execute("CREATE STREAM s (k BIGINT); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        for t in range(-9, 1):
            con.append("s", [(t,)], at=t)
            con.advance(t)
        subscription = con.subscribe("q")
        con.append("s", [(1,)], at=1)
        con.advance(1)
        assert [(1, 1, 1)] == [row for batch in subscription for row in rows(batch)]


@pytest.mark.parametrize("since", [None, 0, 30, 58, 59])
def test_a_query_that_has_failed_raises_when_its_elements_are_read(since: int | None) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (x VARCHAR)")
        con.execute("CREATE CONTINUOUS QUERY bad AS SELECT x::INTEGER AS i FROM s")
        con.append("s", [("1",)], at=20)
        con.append("s", [("no",)], at=60)
        with pytest.warns(RuntimeWarning, match="failed at 60"):
            con.advance(61)
        subscription = con.subscribe("bad", since=since)
        if since == 0:
            assert [(1, 20, 1)] == rows(next(subscription))
        with pytest.raises(cqlduck.QueryError, match="failed at 60"):
            next(subscription)


def test_the_event_loop_is_free_while_a_task_waits(con: cqlduck.Connection) -> None:
    con.start(every="1 hour")

    async def run() -> None:
        before = threading.active_count()
        waiting = [asyncio.ensure_future(anext(con.subscribe("q"))) for _ in range(40)]
        for _ in range(200):
            await asyncio.sleep(0)
        # none of the threads that looked for elements waits
        assert threading.active_count() - before < 40
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert all(task.cancelled() for task in waiting)

    asyncio.run(run())
    assert [] == con.engine.changed._wakers
    # A loop that is closed does not trouble who ticks.
    put(con, 1)
    con.advance(1)


def test_a_cancelled_task_loses_nothing(con: cqlduck.Connection) -> None:
    con.start(every="1 hour")

    async def run() -> list[Any]:
        subscription = con.subscribe("q", since=-1)
        waiting = asyncio.ensure_future(anext(subscription))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.to_thread(put, con, 1)
        await asyncio.to_thread(con.advance)
        return rows(await anext(subscription))

    assert [(1, 1, 1)] == asyncio.run(run())


def test_without_a_scheduler_it_ends_at_once(con: cqlduck.Connection) -> None:
    async def run(**options: Any) -> list[Any]:
        return [rows(batch) async for batch in con.subscribe("q", since=-1, **options)]

    assert [] == asyncio.run(run())
    put(con, 1)
    con.advance()
    for options in ({}, {"timeout": PATIENCE}, {"timeout": 0}):
        assert [[(1, 1, 1)]] == asyncio.run(run(**options))
        assert [[(1, 1, 1)]] == [rows(b) for b in con.subscribe("q", since=-1, **options)]


def test_a_timeout_ends_it(con: cqlduck.Connection) -> None:
    put(con, 1)
    con.advance()
    con.start(every="1 hour")

    async def run(subscription: AsyncIterator[pa.RecordBatch]) -> list[Any]:
        return [rows(batch) async for batch in subscription]

    for timeout in (0, 0.01):
        subscription = con.subscribe("q", since=-1, timeout=timeout)
        assert [[(1, 1, 1)]] == [rows(batch) for batch in subscription]
        assert [[(1, 1, 1)]] == asyncio.run(run(con.subscribe("q", since=-1, timeout=timeout)))
    put(con, 2)
    con.advance()
    # what has ended stays so
    assert [] == list(subscription)
    assert [(1, 2, -1), (2, 2, 1)] == rows(next(con.subscribe("q", since=1, timeout=0)))


def test_closing_ends_it(con: cqlduck.Connection) -> None:
    con.start(every="1 hour")
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(list(con.subscribe("q"))))
    thread.start()

    async def run() -> list[Any]:
        task = asyncio.create_task(collect())
        await asyncio.sleep(0)
        await asyncio.to_thread(con.close)
        return await asyncio.wait_for(task, PATIENCE)

    async def collect() -> list[Any]:
        return [batch async for batch in con.subscribe("q")]

    assert [] == asyncio.run(run())
    thread.join(PATIENCE)
    assert [[]] == got


def test_an_error_comes_to_who_waits(con: cqlduck.Connection) -> None:
    con.start(every="1 hour")
    subscription = con.subscribe("q")

    async def run() -> None:
        task = asyncio.ensure_future(anext(subscription))
        await asyncio.sleep(0)
        await asyncio.to_thread(con.execute, "DROP CONTINUOUS QUERY q")
        con.execute("CREATE CONTINUOUS QUERY other AS SELECT a FROM s [ROWS 1]")
        await asyncio.to_thread(put, con, 1)
        await asyncio.to_thread(con.advance)
        with pytest.raises(cqlduck.CatalogError, match="q"):
            await asyncio.wait_for(task, PATIENCE)

    asyncio.run(run())
    assert [] == list(subscription)


def test_no_change_is_missed() -> None:
    """It may change between the look and the wait: then there is no wait."""
    changed = ChangeSignal()
    batch = pa.record_batch({"a": [1]})
    looks: list[int | None] = []

    def fetch(position: int | None) -> tuple[list[pa.RecordBatch], int | None]:
        looks.append(position)
        if len(looks) == 1:
            with changed:
                changed.notify_all()
            return [], 7
        return [batch], 8

    assert batch == next(Subscription(fetch, lambda: True, changed, None, None))
    assert [None, 7] == looks
    looks.clear()

    async def run() -> pa.RecordBatch:
        return await anext(Subscription(fetch, lambda: True, changed, None, PATIENCE))

    assert batch == asyncio.run(run())


def test_the_last_tick_before_the_end_is_given() -> None:
    """What goes on may stop after a look that found nothing, having brought something."""
    batch = pa.record_batch({"a": [1]})
    come: list[pa.RecordBatch] = []
    running = [True]

    def fetch(position: int | None) -> tuple[list[pa.RecordBatch], int | None]:
        found, come[:] = list(come), []
        if running.pop():
            come.append(batch)
            with changed:
                changed.notify_all()
        running.append(False)
        return found, position

    changed = ChangeSignal()
    assert [batch] == list(Subscription(fetch, lambda: running[-1], changed, None, None))


def test_waiting_gives_up() -> None:
    changed = ChangeSignal()
    assert not changed.wait_beyond(0, time.monotonic())
    with changed:
        changed.notify_all()
    assert changed.wait_beyond(0, None)


def test_a_task_that_is_cancelled_while_it_fetches_takes_nothing() -> None:
    batch = pa.record_batch({"a": [1]})
    fetching, go = threading.Event(), threading.Event()
    batches = [[batch], []]

    def fetch(position: int | None) -> tuple[list[pa.RecordBatch], int | None]:
        fetching.set()
        assert go.wait(60)
        return batches.pop(0), position

    async def run() -> list[pa.RecordBatch]:
        waiting = Subscription(fetch, lambda: False, ChangeSignal(), None, None)
        task = asyncio.ensure_future(anext(waiting))
        assert await asyncio.to_thread(fetching.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        return [batch async for batch in waiting]

    assert [batch] == asyncio.run(run())
