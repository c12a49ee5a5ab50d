"""Very many random cases of each generator: `make long CASES=20000`.

The cases come in parts, each with a seed of its own, so that processes share them, the progress
can be seen, and a part that fails can be run again by itself. A part is the same cases for the same
generator. `SEED` is that of the first part; `GENERATORS=any_sql,amendments` chooses some.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import failing
import pytest
import test_amend
import test_batches
import test_beginning
import test_content
import test_dependencies
import test_differential
import test_dml
import test_failing_queries
import test_functions
import test_identity
import test_join_syntax
import test_last_row
import test_lateness
import test_options
import test_quarantine
import test_random_joins
import test_refresh
import test_retention
import test_sql_differential
import test_standing_still
import test_twice
import test_value_chains
import test_values
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from sql_strategies import sql_cases

import cqlduck

CASES = int(os.environ.get("CASES", "20000"))
FIRST = int(os.environ.get("SEED", "0"))
CHOSEN = os.environ.get("GENERATORS", "")

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Generator:
    """Random cases of one kind.

    Attributes:
        check: What fails if something is wrong; what is drawn are its arguments.
        cases: What is drawn, by the names of the arguments.
        part: How many cases make a part.
        zone: If `check` gets a connection and its drop zone first, as a pair: its settings.
    """

    check: Callable[..., object]
    cases: Mapping[str, st.SearchStrategy[Any]]
    part: int = 500
    zone: Mapping[str, Any] | None = None


def as_in(test: Callable[..., object]) -> Callable[..., object]:
    """Return what a property test does with a case."""
    return test.hypothesis.inner_test  # type: ignore[attr-defined, no-any-return]


GENERATORS: Mapping[str, Generator] = {
    # windows, joins, groups, restarts
    "subset": Generator(
        lambda case: test_differential.on_disk_if_it_restarts(case, threads=1),
        {"case": test_differential.ANY_CASE},
    ),
    "any_sql": Generator(
        test_sql_differential.on_disk_if_it_restarts,
        {
            "case": test_sql_differential.ANY_CASE,
            "window_edge": st.sampled_from(["closed", "half_open"]),
        },
    ),
    # functions of Python in expressions, as filters, over restarts
    "functions": Generator(
        test_sql_differential.on_disk_if_it_restarts, {"case": test_functions.ANY_CASE}
    ),
    "rewritten": Generator(
        test_sql_differential.on_disk_if_it_restarts,
        {
            "case": sql_cases(shapes=test_sql_differential.REWRITTEN, plain=10, restarts=True),
            "recompute": st.sampled_from(["allow", "always"]),
        },
    ),
    # ties in relations that say their keys, and in those that do not
    "ties": Generator(
        as_in(test_dependencies.test_a_key_changes_no_answer),
        {"body": test_dependencies.bodies(), "seed": st.integers(0, 2**32)},
        part=200,
    ),
    # settings and options of queries together
    "options": Generator(test_options.check, test_options.TOGETHER),
    # what is kept is what it should be
    "contents": Generator(test_content.play, test_content.DRAWN, part=200),
    # what has one id, and differs by what was exchanged in it
    "ids": Generator(
        as_in(test_identity.test_what_has_one_id_computes_the_same), test_identity.SEEDS, part=50
    ),
    # logs and answers that are always made small
    "small_logs": Generator(
        as_in(test_retention.test_keeping_logs_and_answers_small_shows_in_nothing),
        {"case": test_retention.ANY_CASE},
    ),
    # batches of a drop zone
    "batches": Generator(test_batches.check, {"delivery": test_batches.deliveries()}, part=100),
    "value_chains": Generator(
        test_value_chains.check,
        {"chain": test_value_chains.chains(), "recompute": st.sampled_from(["allow", "always"])},
    ),
    "equal_values": Generator(
        test_values.check,
        {"world": test_values.worlds(), "recompute": st.sampled_from(["allow", "always"])},
    ),
    "standing_still": Generator(
        as_in(
            test_standing_still.test_random_graphs_of_queries_say_what_the_reference_says_up_to_their_frontiers
        ),
        test_standing_still.GRAPHS,
    ),
    "amendments": Generator(
        as_in(test_amend.test_as_if_nothing_had_been_late), {"data": st.data()}
    ),
    "late_appends": Generator(
        as_in(test_lateness.test_appends_are_judged_by_the_letter),
        test_lateness.APPENDS,
        zone={"threads": 1},
    ),
    "late_batches": Generator(
        as_in(test_lateness.test_no_cut_of_following_changes_what_is_late),
        test_lateness.BATCHES,
        part=100,
        zone={"threads": 1},
    ),
    "quarantined_batches": Generator(
        as_in(test_quarantine.test_no_cut_of_following_changes_what_is_quarantined),
        test_quarantine.BATCHES,
        part=100,
        zone={"threads": 1, "strict": True},
    ),
    "beginning_of_time": Generator(
        as_in(test_beginning.test_the_order_of_statements_and_of_ticks_changes_nothing),
        {"data": st.data()},
    ),
    "statements": Generator(
        as_in(test_dml.test_the_content_is_what_the_last_statement_left), test_dml.STATEMENTS
    ),
    "replaced_queries": Generator(
        as_in(test_twice.test_readers_of_a_replaced_query_go_on), test_twice.REPLACEMENTS
    ),
    # conditions that may raise, anywhere
    "failing": Generator(failing.check, {"case": failing.cases()}),
    "failing_again": Generator(failing.check, {"case": failing.cases(most=1, recompute="always")}),
    "failing_linked": Generator(failing.check, {"case": failing.cases(most=2, recompute="always")}),
    "failing_queries": Generator(
        test_failing_queries.check, {"case": test_failing_queries.cases()}, part=100
    ),
    "refreshed_relations": Generator(
        as_in(test_refresh.test_the_content_is_at_each_instant_the_last_refresh),
        test_refresh.CONTENTS,
    ),
    "from_clauses": Generator(
        as_in(test_join_syntax.test_any_from_clause_is_that_of_duckdb),
        test_join_syntax.FROM_CLAUSES,
    ),
    # joins of several inputs, with all probes
    "joins": Generator(test_random_joins.check, {"case": test_random_joins.cases()}, part=100),
    "last_rows": Generator(as_in(test_last_row.test_the_last_row), test_last_row.LAST_ROWS),
}


def parts() -> Iterator[tuple[str, int]]:
    """Yield the names of the chosen generators, each with the numbers of its parts."""
    for name in CHOSEN.split(",") if CHOSEN else GENERATORS:
        for part in range(-(-CASES // GENERATORS[name].part)):
            yield name, part


@pytest.mark.parametrize(("name", "part"), list(parts()))
def test_many_cases(name: str, part: int, tmp_path: Path) -> None:
    generator = GENERATORS[name]
    if generator.zone is None:
        run(generator, part)
        return
    with cqlduck.connect(drop_zone=tmp_path, **generator.zone) as con:
        run(generator, part, (con, tmp_path))


def run(generator: Generator, part: int, *place: Any) -> None:
    """Check a part of a generator's cases."""
    count, ran = min(generator.part, CASES), 0

    @seed(FIRST + part)
    @given(**generator.cases)
    @settings(
        suppress_health_check=test_differential.QUIET,
        deadline=None,
        max_examples=count,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        print_blob=True,
    )
    def one(**case: Any) -> None:
        nonlocal ran
        generator.check(*place, **case)
        ran += 1

    one()
    assert ran >= count
