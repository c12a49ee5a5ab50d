"""What `n% SAMPLE` keeps looks random: the right share, each element apart from the others.

Nothing here is drawn: the samples are the same in each run, so a bound that holds today holds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pytest
import reference
from sqlglot import exp

import cqlduck
from cqlduck.rewrite.operators import sampling
from cqlduck.rewrite.relalg import Rows

COUNT = 200_000
SHARES = (0.1, 1, 5, 10, 50, 90)
LAGS = (1, 2, 3, 4, 7, 16, 100, 1024, 4096, 65_536)
NAMES = ("s", "t", "bids", "a_stream_with_a_long_name")
SIGMA = 4.5
"""Of a thousand numbers from a bell curve, one is further off in one of 150 cases."""


def hashes(name: str, numbers: str, *words: str) -> list[int]:
    """Return the hashes of rows of `words`, by the SQL that a tick runs."""
    rows = Rows.of(exp.to_table("numbers"), words)
    mixed, hashed = sampling.mixed(rows, words, words, name)
    text = mixed.project([hashed.as_("hash")]).query().sql("duckdb")
    with duckdb.connect() as con:
        found = con.execute(f"WITH numbers AS ({numbers}) {text}").fetchall()
    return [value for (value,) in found]


def mask(found: Sequence[int], share: float) -> int:
    """Return which hashes are among the lowest, as bits."""
    below = math.ceil(share * 2**32 / 100)
    return int("".join("01"[value < below] for value in found), 2)


def off(count: int, of: int, p: float) -> float:
    """Return how many standard deviations a count is off that of `of` throws."""
    return abs(count - of * p) / math.sqrt(of * p * (1 - p))


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[int]]:
    """The hashes of the first elements of streams."""
    numbers = f"SELECT range AS n FROM range({COUNT})"
    return {name: hashes(name, numbers, "n") for name in NAMES}


def test_the_statement_works_out_what_the_reference_does() -> None:
    edges = [
        0,
        1,
        2**16,
        2**31 - 1,
        2**31,
        2**32 - 1,
        2**32,
        2**32 + 1,
        2**40 + 5,
        2**62,
        2**63 - 1,
    ]
    pairs = [(ts, place) for ts in (*edges, -1, -(2**32), -(2**62)) for place in edges]
    rows = ", ".join(f"({ts}::BIGINT, {place}::BIGINT)" for ts, place in pairs)
    numbers = f"SELECT * FROM (VALUES {rows}) AS v(a, b)"
    for name in NAMES:
        assert [reference.mixed(name, *pair) for pair in pairs] == hashes(name, numbers, "a", "b")
        assert [reference.mixed(name, b) for _, b in pairs] == hashes(name, numbers, "b")


@pytest.mark.parametrize("share", SHARES)
def test_a_sample_has_its_share(drawn: dict[str, list[int]], share: float) -> None:
    p, size = share / 100, 1000
    for name, found in drawn.items():
        assert off(mask(found, share).bit_count(), COUNT, p) < SIGMA, name
        # chi-square: each thousand has about its share too, neither more evenly nor less
        parts = [found[at : at + size] for at in range(0, COUNT, size)]
        counts = [mask(part, share).bit_count() for part in parts]
        square = sum((count - size * p) ** 2 for count in counts) / (size * p * (1 - p))
        spread = math.sqrt(
            2 * len(parts) + len(parts) * (1 - 6 * p * (1 - p)) / (size * p * (1 - p))
        )
        assert abs(square - len(parts)) < SIGMA * spread, name


def test_hashes_are_spread_evenly(drawn: dict[str, list[int]]) -> None:
    """Chi-square over 256 parts, by the upper bits."""
    for name, found in drawn.items():
        counts = [0] * 256
        for value in found:
            counts[value >> 24] += 1
        expected = COUNT / 256
        square = sum((count - expected) ** 2 for count in counts) / expected
        assert abs(square - 255) < SIGMA * math.sqrt(2 * 255), name


@pytest.mark.parametrize("share", SHARES)
def test_whether_an_element_is_kept_says_nothing_of_others(
    drawn: dict[str, list[int]], share: float
) -> None:
    """Of its neighbours, of those a power of 2 away, of the same number in other streams."""
    p = share / 100
    masks = {name: mask(found, share) for name, found in drawn.items()}
    if COUNT * p * p < 10:
        return
    for name, bits in masks.items():
        for lag in LAGS:
            both = (bits & (bits >> lag)).bit_count()
            assert off(both, COUNT - lag, p * p) < SIGMA, (name, lag)
        three = (bits & (bits >> 1) & (bits >> 2)).bit_count()
        assert COUNT * p**3 < 10 or off(three, COUNT - 2, p**3) < SIGMA, name
    for one, other in itertools.combinations(NAMES, 2):
        both = (masks[one] & masks[other]).bit_count()
        assert off(both, COUNT, p * p) < SIGMA, (one, other)


def test_elements_beyond_two_to_the_32_are_sampled_too() -> None:
    ranges = [(start, start + 20_000) for start in (2**32, 2**33, 3 * 2**40)]
    for start, end in ranges:
        found = hashes("s", f"SELECT range AS n FROM range({start}, {end})", "n")
        assert off(mask(found, 10).bit_count(), 20_000, 0.1) < SIGMA
    first = mask(hashes("s", "SELECT range AS n FROM range(20_000)", "n"), 10)
    assert off((first & mask(found, 10)).bit_count(), 20_000, 0.01) < SIGMA


def test_instants_and_places_are_mixed() -> None:
    """Ten elements at each microsecond, millisecond, second and hour of wall-clock time."""
    for step in (1, 1_000, 1_000_000, 3_600_000_000):
        numbers = (
            f"SELECT 1_357_000_000_000_000 + i * {step} AS a, p AS b "
            "FROM range(5_000) AS t(i), range(1, 11) AS u(p) ORDER BY ALL"
        )
        bits = mask(hashes("n", numbers, "a", "b"), 20)
        assert off(bits.bit_count(), 50_000, 0.2) < SIGMA, step
        for lag in (1, 2, 9, 10, 11, 100):
            assert off((bits & (bits >> lag)).bit_count(), 50_000 - lag, 0.04) < SIGMA, (step, lag)


def test_ticks_keep_what_the_hash_says_and_smaller_samples_are_part_of_larger_ones() -> None:
    count = 20_000
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (a BIGINT, t BIGINT) TIMESTAMP BY t")
        for n in (1, 5, 10, 50):
            con.execute(f"CREATE CONTINUOUS QUERY q{n} AS SELECT a FROM s {n}% SAMPLE")
        for start in range(0, count, 5_000):
            numbers = pa.array(range(start, start + 5_000), pa.int64())
            con.tick({"s": pa.table({"a": numbers, "t": numbers})}, start + 4_999)
        kept = {n: {a for a, *_ in con.changes(f"q{n}").fetchall()} for n in (1, 5, 10, 50)}
    assert kept[1] < kept[5] < kept[10] < kept[50]
    for n, found in kept.items():
        assert found == {a for a in range(count) if reference.mixed("s", a) * 100 < n * 2**32}
