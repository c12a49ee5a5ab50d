"""Who subscribes gets all elements after a point, or hears that history has let go of some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck

SCRIPT = """
    CREATE STREAM s (k BIGINT);
    CREATE CONTINUOUS QUERY q WITH (keep = '4 seconds') AS {body};
    CREATE CONTINUOUS QUERY everything AS {body};
"""
BODIES = {
    "stream": "SELECT k FROM s WHERE k > 0",
    "relation": "SELECT k, count(*) AS n FROM s [RANGE 2] GROUP BY k",
    "held": "SELECT count(*) AS n FROM s",
}


def net(elements: Iterable[tuple[Any, ...]]) -> Counter[tuple[object, ...]]:
    """The weights of elements; a stream gives equal ones as they were written."""
    weights: Counter[tuple[object, ...]] = Counter()
    for *element, weight in elements:
        weights[tuple(element)] += weight
    return weights


def rows(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in batch.to_pylist()]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_since_before_kept_history_is_refused(body: str, con: cqlduck.Connection) -> None:
    con.execute(SCRIPT.format(body=body))
    for t in range(1, 20):
        con.append("s", [(1,)], at=t)
        con.advance(t)
    start = con.engine.query("q").history_from
    assert start is not None
    with pytest.raises(cqlduck.DataError, match=f"the history of q begins at {start}"):
        con.subscribe("q", since=start - 1)
    found = [row for batch in con.subscribe("q", since=start) for row in rows(batch)]
    assert net(con.changes("everything", since=start).fetchall()) == net(found)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_who_subscribes_too_slowly_hears_of_it(body: str, con: cqlduck.Connection) -> None:
    con.execute(SCRIPT.format(body=body))
    con.append("s", [(1,)], at=1)
    con.advance(1)
    slow = con.subscribe("q", since=0)
    con.append("s", [(2,), (3,)], at=[2, 30])
    con.advance(30)
    with pytest.raises(cqlduck.DataError, match="q was too slow: it has elements up to 0") as error:
        next(slow)
    assert "keep" in str(error.value.hint)
    assert [] == list(slow)


@pytest.mark.parametrize("kind", ["stream", "held"])
def test_who_has_all_is_not_refused_where_nothing_happened(
    kind: str, con: cqlduck.Connection
) -> None:
    """Between two elements more time may pass than is kept."""
    con.execute(SCRIPT.format(body=BODIES[kind]))
    got: list[tuple[Any, ...]] = []
    subscription = con.subscribe("q", since=-1)
    for t in range(0, 500, 50):
        con.append("s", [(1,)], at=t)
        con.advance(t)
        got += rows(next(subscription))
    assert net(con.changes("everything").fetchall()) == net(got)


steps = st.lists(
    st.tuples(st.integers(1, 7), st.lists(st.integers(0, 2), max_size=3), st.booleans()),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("on_disk", [False, True])
@given(body=st.sampled_from(list(BODIES.values())), steps=steps)
@settings(deadline=None, max_examples=max(1, settings().max_examples // 20))
def test_all_or_an_error(
    steps: list[tuple[int, list[int], bool]],
    body: str,
    on_disk: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Time moves on, elements come, and the subscriber reads, or does not."""
    path: str | Path = tmp_path_factory.mktemp("d") / "it.duckdb" if on_disk else ":memory:"
    with cqlduck.connect(path, threads=1) as con:
        con.execute(SCRIPT.format(body=body))
        now = position = -1
        subscription: Iterator[pa.RecordBatch] = con.subscribe("q", since=position)
        for pause, values, reads in steps:
            now += pause
            if values:
                con.append("s", [(k,) for k in values], at=now)
            con.advance(now)
            wanted = con.changes("everything", since=position).fetchall()
            if not (reads and wanted):
                continue
            start = con.engine.query("q").history_from
            if start is not None and any(row[-2] <= start for row in wanted):
                with pytest.raises(cqlduck.DataError, match="too slow"):
                    next(subscription)
                subscription = con.subscribe("q")
            else:
                assert net(wanted) == net(rows(next(subscription)))
            position = now
