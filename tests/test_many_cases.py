"""Very many random cases against the reference evaluator: `make long CASES=20000`.

The cases come in parts, each with a seed of its own, so that processes share them, the progress
can be seen, and a part that fails can be run again by itself. A part is the same cases for the same
generator.
"""

from __future__ import annotations

import os

import pytest
import strategies
import test_differential
import test_sql_differential
from hypothesis import Phase, given, seed, settings

PART = 500
PARTS = range(-(-int(os.environ.get("CASES", "20000")) // PART))
FIRST = int(os.environ.get("SEED", "0"))

pytestmark = pytest.mark.long


def run(part: int, cases, check) -> None:
    """Check a part of the cases."""
    ran = 0

    @seed(FIRST + part)
    @given(case=cases)
    @settings(
        suppress_health_check=test_differential.QUIET,
        deadline=None,
        max_examples=PART,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        print_blob=True,
    )
    def one(case: strategies.Case) -> None:
        nonlocal ran
        check(case)
        ran += 1

    one()
    assert ran >= PART


@pytest.mark.parametrize("part", PARTS)
def test_many_cases(part):
    """What `tests/test_differential.py` draws: windows, joins, groups, restarts."""
    run(
        part,
        test_differential.ANY_CASE,
        lambda case: test_differential.on_disk_if_it_restarts(case, threads=1),
    )


@pytest.mark.parametrize("part", PARTS)
def test_many_sql_cases(part):
    """What `tests/test_sql_differential.py` draws: any SQL; under either window_edge in turn."""
    edge = ("closed", "half_open")[part % 2]
    run(
        part,
        test_sql_differential.ANY_CASE,
        lambda case: test_sql_differential.on_disk_if_it_restarts(case, window_edge=edge),
    )
