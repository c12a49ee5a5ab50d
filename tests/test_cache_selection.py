"""Candidate caches and which of them are selected: the examples of the thesis, and bounds."""

from __future__ import annotations

import itertools
import random

import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

from cqlduck.rewrite.plan.orders import Order
from cqlduck.streamon.candidates import (
    Candidate,
    Orders,
    candidates,
    globally_consistent,
    groups,
    in_pipelines,
    parents,
    partner,
    prefixes,
)
from cqlduck.streamon.selection import Prices, exhaustive, greedy, recursive, selected


def from_one(*texts: str) -> Orders:
    """Return orders that are written with numbers from 1."""
    orders = [tuple(int(digit) - 1 for digit in text) for text in texts]
    return {order[0]: order for order in orders}


SIX = from_one("123456", "213546", "321456", "451236", "542316", "621453")
"""The pipelines of example 5.5.1."""

ONE_ATTRIBUTE = [frozenset(range(6))]


def listed(some: list[Candidate]) -> dict[int, list[str]]:
    """Return by pipeline the segments of candidates; all with numbers from 1."""
    found: dict[int, list[str]] = {}
    for one in some:
        text = "".join(str(place + 1) for place in one.segment)
        found.setdefault(one.pipeline + 1, []).append(text)
    return found


def test_example_5_4_3() -> None:
    """Figure 5.7: R₂, R₃ may be cached in ΔR₁'s pipeline, R₂, R₁ not in that of ΔR₃."""
    orders = from_one("123", "231", "321")
    assert {1: ["23"]} == listed(candidates(orders))
    # it is a segment of that pipeline all the same
    assert {3: ["12"]} == listed(in_pipelines(orders, [(0, 1)]))


def test_example_5_5_1() -> None:
    assert [(0, 1), (3, 4), (0, 1, 2), (0, 1, 2, 3, 4)] == prefixes(SIX)
    found = candidates(SIX, ONE_ATTRIBUTE)
    assert ["12", "123"] == listed(found)[4]
    assert ["12", "45", "12345"] == listed(found)[6]
    # figure 5.8
    tree = {
        (one.pipeline + 1, one.segment): None if parent is None else parent.segment
        for one, parent in parents(found).items()
    }
    assert (0, 1, 2) == tree[4, (0, 1)]
    assert tree[4, (0, 1, 2)] is None
    assert (0, 1, 2, 3, 4) == tree[6, (0, 1)] == tree[6, (3, 4)]
    assert tree[6, (0, 1, 2, 3, 4)] is None


def test_example_5_5_2() -> None:
    shared = {
        segment: [one.pipeline + 1 for one in mine]
        for (segment, _), mine in groups(candidates(SIX, ONE_ATTRIBUTE)).items()
    }
    assert [3, 4, 6] == shared[0, 1]
    assert [4, 5] == shared[0, 1, 2]


def test_example_5_7_1() -> None:
    """ΔR₆'s pipeline begins with R₂, R₃, but ΔR₂'s with R₁: of that it is (R₂ ⋈ R₃) ⋉ R₁."""
    orders = {**SIX, **from_one("623451")}
    assert (1, 2) not in prefixes(orders)
    assert (0, 1, 2) in prefixes(orders)
    assert (0,) == partner(orders, (1, 2))
    (there,) = (one for one in in_pipelines(orders, [(1, 2)]) if one.pipeline == 5)
    assert (1, 2) == (there.first, there.last)
    # what satisfies the invariant needs no partner; with all others everything does
    assert () == partner(orders, (0, 1, 2))
    assert (0, 1, 2, 3, 4) == partner(orders, (5,))
    every = [(1, 2), (0, 1, 2), (1, 2, 3, 4, 5), (0, 2, 3, 4, 5)]
    assert [(0, 2, 3, 4, 5), (1, 2, 3, 4, 5), (1, 2)] == globally_consistent(orders, every)


def test_candidates_with_other_keys_are_not_shared() -> None:
    """R₁ is joined with R₂ by another attribute than R₄ with R₃."""
    orders = from_one("1234", "2314", "3214", "4321")
    a, b, c = frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})
    keys = {one.pipeline: one.key for one in candidates(orders, [a, b, c]) if one.segment == (1, 2)}
    assert {0: (a,), 3: (c,)} == keys
    assert 2 == len(groups(one for one in candidates(orders, [a, b, c]) if one.segment == (1, 2)))
    # whole caches have all keys
    assert 1 == len(groups(one for one in candidates(orders) if one.segment == (1, 2)))


def test_a_segment_that_others_interrupt_is_no_candidate() -> None:
    """{1, 2} satisfies the invariant, but ΔR₅'s pipeline has 3 between."""
    assert "12" not in listed(candidates(SIX))[5]


# -- selection ------------------------------------------------------------------------------------


def grown(drawn: random.Random, places: list[int]) -> list[object]:
    """Return a tree over inputs, whose nodes are to satisfy the prefix invariant."""
    if len(places) < 3:
        return [*places]
    cut = drawn.randint(1, len(places) - 1)
    parts = [places[:cut], places[cut:]]
    return [part[0] if len(part) == 1 else grown(drawn, part) for part in parts]


def leaves(node: object) -> list[int]:
    return [node] if isinstance(node, int) else [one for part in node for one in leaves(part)]  # type: ignore[attr-defined]


def shuffled(drawn: random.Random, node: object) -> list[int]:
    """Return the inputs below a node, those below each of its own together."""
    if isinstance(node, int):
        return [node]
    parts = [shuffled(drawn, part) for part in node]  # type: ignore[attr-defined]
    drawn.shuffle(parts)
    return [one for part in parts for one in part]


def order(drawn: random.Random, tree: object, first: int) -> Order:
    """Return an order that meets what is near in the tree first."""
    found: list[int] = []
    node = tree
    while not isinstance(node, int):
        (inside,) = (part for part in node if first in leaves(part))  # type: ignore[attr-defined]
        others = [shuffled(drawn, part) for part in node if part is not inside]  # type: ignore[attr-defined]
        drawn.shuffle(others)
        found = [*(one for part in others for one in part), *found]
        node = inside
    return (first, *found)


def drawn_prices(seed: int) -> tuple[list[Candidate], Prices]:
    """Return candidates of a join of 3 to 6 inputs, some of them shared, and prices."""
    drawn = random.Random(seed)
    count = drawn.randint(3, 6)
    places = [*range(count)]
    drawn.shuffle(places)
    tree = grown(drawn, places)
    found = candidates({place: order(drawn, tree, place) for place in range(count)})
    steps = {
        place: [drawn.choice([0.1, 1, 5, 20]) * drawn.random() for _ in range(count - 1)]
        for place in range(count)
    }
    uses = {one: 8 * drawn.random() for one in found}
    return found, Prices(steps, uses, {one.cache: 20 * drawn.random() ** 2 for one in found})


def least(some: list[Candidate], prices: Prices) -> float:
    """Return the least cost of all subsets that do not overlap, by brute force."""
    best = prices.of(())
    for count in range(1, len(some) + 1):
        for chosen in itertools.combinations(some, count):
            pairs = itertools.combinations(chosen, 2)
            if not any(one.covers(other) or other.covers(one) for one, other in pairs):
                best = min(best, prices.of(chosen))
    return best


def harmonic(count: int) -> float:
    return sum(1 / number for number in range(1, count + 1))


@settings(max_examples=fewer_if_brief(300), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_exhaustive_one_is_exact_and_the_greedy_one_close(seed: int) -> None:
    some, prices = drawn_prices(seed)
    best = prices.of(exhaustive(some, prices))
    if len(some) <= 9:
        assert best == pytest.approx(least(some, prices))
    count = len(prices.steps)
    found = greedy(some, prices)
    assert not any(one.covers(other) for one in found for other in found)
    assert best - 1e-9 <= prices.of(found) <= harmonic(count * (count - 1)) * best + 1e-9


@settings(max_examples=fewer_if_brief(300), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_without_shared_candidates_recursion_is_exact(seed: int) -> None:
    some, prices = drawn_prices(seed)
    alone = [mine[0] for mine in groups(some).values()]
    found = selected(alone, prices)
    assert prices.of(found) == pytest.approx(prices.of(exhaustive(alone, prices)))
    net = {one: prices.benefit(one) - prices.maintenance[one.cache] for one in alone}
    assert set(found) == set(recursive(alone, net.__getitem__))


def test_with_shared_candidates_recursion_is_not_enough() -> None:
    """No pipeline pays for the cache of 1 and 2 alone; three do together."""
    some = [one for one in candidates(SIX) if one.segment == (0, 1)]
    steps = {place: [1.0] * 5 for place in range(6)}
    prices = Prices(steps, dict.fromkeys(some, 0.5), {some[0].cache: 3.0})
    assert () == recursive(some, lambda one: prices.benefit(one) - prices.maintenance[one.cache])
    assert set(some) == set(selected(some, prices)) == set(exhaustive(some, prices))
    assert 30 - 3 * 1.5 + 3.0 == prices.of(some)


def test_what_costs_more_than_it_brings_is_not_selected() -> None:
    some = candidates(SIX)
    steps = {place: [1.0] * 5 for place in range(6)}
    prices = Prices(steps, dict.fromkeys(some, 0.5), {one.cache: 100.0 for one in some})
    assert () == greedy(some, prices) == exhaustive(some, prices) == selected(some, prices)


def test_of_caches_in_each_other_a_pipeline_uses_one() -> None:
    some = [one for one in candidates(SIX) if one.pipeline == 3]
    steps = {place: [1.0] * 5 for place in range(6)}
    uses = {one: 0.1 for one in some}
    prices = Prices(steps, uses, {one.cache: 0.1 for one in some})
    for algorithm in (greedy, exhaustive, selected):
        assert [(0, 1, 2)] == [one.segment for one in algorithm(some, prices)]
