"""How far queries can go: what the definition says, and at a cost that is linear in the queries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cqlduck
from cqlduck.progress import Progress
from cqlduck.state.catalog import Catalogue
from cqlduck.state.registered import Input, Query

SETTINGS = {"time": "integer", "granularity": "1", "instant": "1000000"}


def calls(run: Callable[[], object]) -> int:
    """Return how many functions are called, of Python and of C: a look at each query is one."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(trace)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def query(position: int, inputs: tuple[str, ...], frontier: int | None = 5) -> Query:
    return Query(position, f"q{position}", "", "stream", (), inputs, frontier=frontier)


def chain(length: int) -> Catalogue:
    """A stream, and queries each of which reads the one before."""
    known = Catalogue(dict(SETTINGS))
    known.add(Input(0, "s", "stream", (), heartbeat=9))
    for place in range(length):
        known.add(query(place, (f"q{place - 1}" if place else "s",)))
    return known


@pytest.mark.parametrize("stopped", [False, True], ids=["all go on", "one has stopped"])
@pytest.mark.parametrize("apart", [False, True], ids=["none apart", "one apart"])
def test_targets_of_a_chain_cost_as_much_for_each_query(stopped: bool, apart: bool) -> None:
    def cost(length: int) -> int:
        known = chain(length)
        if stopped:
            known.turn(known.queries["q3"], "inactive")
        progress = Progress(known, {}, in_memory=True)
        progress.exclude(["q2"] if apart else [])
        assert known.reading
        return calls(lambda: [progress.target(q) for q in known.queries.values()])

    costs = {length: cost(length) for length in (50, 100, 200)}
    assert costs[100] - costs[50] <= (costs[200] - costs[100]) / 2 + 50
    assert costs[200] < 4.2 * costs[50]


@st.composite
def catalogues(draw: st.DrawFn) -> tuple[Catalogue, list[str]]:
    """Draw what is registered, with queries in several states, and the names of some apart."""
    known = Catalogue(dict(SETTINGS))
    instants = st.none() | st.integers(0, 9)
    names = []
    for place in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["stream", "relation"]))
        source = draw(st.sampled_from([None, "folder"]))
        thing = Input(place, f"i{place}", kind, (), source=source, heartbeat=draw(instants))
        known.add(thing)
        names.append(thing.name)
    for place in range(draw(st.integers(1, 6))):
        read = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
        known.add(query(place, tuple(read), draw(instants)))
        names.append(f"q{place}")
        if draw(st.booleans()):
            one = draw(st.sampled_from(sorted(known.queries)))
            state = draw(st.sampled_from(["active", "inactive", "failed", "expired"]))
            known.turn(known.queries[one], state)
    apart = st.lists(st.sampled_from(sorted(q.name for q in known.queries.values())), unique=True)
    return known, draw(apart)


def heard(known: Catalogue, query: Query) -> int | None:
    """The least heartbeat of a query's inputs: of those with a source, if there are any."""
    inputs = known.inputs_of(query)
    holding = [i for i in inputs if i.kind == "stream" or i.source is not None] or inputs
    beats = [i.heartbeat for i in holding if i.heartbeat is not None]
    return min(beats) if beats and len(beats) == len(holding) else None


@given(catalogues())
def test_a_target_is_what_its_definition_says(case: tuple[Catalogue, list[str]]) -> None:
    known, apart = case
    progress = Progress(known, {}, in_memory=True)
    progress.exclude(apart)
    for one in known.queries.values():
        stopped = [q for q in known.queries_of(one) if q.state != "active" or q.name in apart]
        beats = [heard(known, one), *(q.frontier for q in stopped)]
        defined = [beat for beat in beats if beat is not None]
        assert progress.target(one) == (min(defined) if len(defined) == len(beats) else None)
        assert progress.waits(one) == (
            one.state != "active" or any(q.state != "active" for q in known.queries_of(one))
        )


@pytest.mark.parametrize("shape", ["in a chain", "beside each other"])
def test_a_tick_costs_as_much_for_each_query(shape: str) -> None:
    def cost(count: int) -> int:
        with cqlduck.connect(threads=1) as con:
            con.execute("CREATE STREAM s (k INTEGER)")
            for place in range(count):
                source = f"q{place - 1}" if shape == "in a chain" and place else "s"
                con.execute(f"CREATE CONTINUOUS QUERY q{place} AS SELECT k FROM {source}")
            for t in (1, 2):
                con.tick({"s": [(t,)]}, t)
            return calls(lambda: con.tick({"s": [(3,)]}, 3))

    few, some, many = cost(4), cost(8), cost(16)
    assert many - some <= 2.2 * (some - few)
