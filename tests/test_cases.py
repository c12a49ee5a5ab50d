"""The conformance cases recorded by other engines, where their folder is there."""

import importlib.util
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import cqlduck

FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "cases"
SOURCES = ("feldera", "risingwave", "sensorbee", "stream_prototype")
# The ways in which each case is cut into ticks: at once, and at random, a number for the seed.
WAYS = ("once", 1, 2)
# Cases with more instants are cut beside those at which something happens.
MANY = 40

# No construct of these may be refused any more. A case that begins to pass is added here.
MUST_PASS = (
    "feldera-q5-batch_2_updates_hotness_to_new_window",
    "feldera-q5-latest_bid_determines_window",
    "feldera-q5-multiple_auctions_have_same_hotness",
    "feldera-q5-windows_rounded_to_2_s_boundary",
    "feldera-q7-latest_bid_determines_window",
    "feldera-q7-multiple_max_bids",
    "feldera-q7-tumble_into_new_window",
    "feldera-q7-window_boundary_above",
    "feldera-q7-window_boundary_below",
    "feldera-q7-window_boundary_lower",
    "feldera-q7-window_boundary_upper",
    "rw-aggregate-bit_agg-agg_mv",
    "rw-aggregate-boolean-mv",
    "rw-aggregate-count_star-mv-query",
    "rw-aggregate-distinct_agg-mv1",
    "rw-aggregate-distinct_agg-mv2",
    "rw-aggregate-distinct_agg-mv3",
    "rw-aggregate-distinct_agg-mv4",
    "rw-aggregate-distinct_agg-mv5",
    "rw-aggregate-selective_agg-mv1",
    "rw-aggregate-selective_agg-mv2",
    "rw-aggregate-string_agg-mv1",
    "rw-aggregate-string_agg-mv3",
    "rw-aggregate-two_phase_agg-m1",
    "rw-append_only-mv1",
    "rw-append_only-mv3-query",
    "rw-append_only-mv4",
    "rw-append_only-mv5",
    "rw-basic-mv1-query",
    "rw-basic-mv2-query",
    "rw-basic-mv3-query",
    "rw-basic-mv5-query",
    "rw-batch_refresh_periodic-mv_up",
    "rw-batch_refresh_snapshot-mv_up",
    "rw-bug_fixes-issue_12299-mv2",
    "rw-bug_fixes-issue_8570-mv",
    "rw-bug_fixes-mv_on_singleton_mv_4153-mv",
    "rw-bug_fixes-mv_on_singleton_mv_4153-mvjoin",
    "rw-delta_join-delta_join_snapshot-v",
    "rw-delta_join-delta_join_snapshot_no_index-v",
    "rw-delta_join-delta_join_upstream-v",
    "rw-delta_join-delta_join_upstream-v-2",
    "rw-delta_join-delta_join_upstream_no_index-v",
    "rw-delta_join-delta_join_upstream_with_index_different_types-m1",
    "rw-dynamic_filter-mv1",
    "rw-dynamic_filter-mv2",
    "rw-except-v",
    "rw-extreme_null-mv2-query",
    "rw-extreme_null-mv3-query",
    "rw-group_top_n-group_top_1-mv",
    "rw-grouping_sets-cube-v",
    "rw-grouping_sets-grouping_sets-v",
    "rw-grouping_sets-grouping_sets-v_flag_only",
    "rw-grouping_sets-rollup-v",
    "rw-intersect-v",
    "rw-join-join-3way-mv1-query",
    "rw-join-join-mv1-query",
    "rw-join-join-mv2-query",
    "rw-join-join-mv3-query",
    "rw-join-join-mv4-query",
    "rw-join-join-mv_full_outer_cond-query",
    "rw-mv_on_mv-m1-query",
    "rw-mv_on_mv-m10-query",
    "rw-mv_on_mv-m11-query",
    "rw-mv_on_mv-m12-query",
    "rw-mv_on_mv-m13-query",
    "rw-mv_on_mv-m14",
    "rw-mv_on_mv-m15-query",
    "rw-mv_on_mv-m2-query",
    "rw-mv_on_mv-m3-query",
    "rw-mv_on_mv-m4-query",
    "rw-mv_on_mv-m5-query",
    "rw-mv_on_mv-m6-query",
    "rw-mv_on_mv-m7-query",
    "rw-mv_on_mv-m8-query",
    "rw-mv_on_mv-m9-query",
    "rw-nexmark-q0",
    "rw-nexmark-q1",
    "rw-nexmark-q101",
    "rw-nexmark-q103",
    "rw-nexmark-q104",
    "rw-nexmark-q105",
    "rw-nexmark-q106",
    "rw-nexmark-q15",
    "rw-nexmark-q17",
    "rw-nexmark-q2",
    "rw-nexmark-q22",
    "rw-nexmark-q3",
    "rw-nexmark-q4",
    "rw-nexmark-q7",
    "rw-nexmark-q8",
    "rw-nexmark-q9",
    "rw-null_safe_equal_join-v",
    "rw-null_safe_equal_join-v-2",
    "rw-order_by-mv1-query",
    "rw-order_by-mv2-query",
    "rw-order_by-mv3-query",
    "rw-order_by-mv5-query",
    "rw-order_by-mv6-query",
    "rw-order_by-mv7-query",
    "rw-outer_join-v",
    "rw-queryable_internal_state-group_agg-mv",
    "rw-union-v",
    "rw-union-v2",
    "sensorbee-count-constant",
    "sensorbee-count-empty",
    "sensorbee-count-global",
    "sensorbee-count-global-having",
    "sensorbee-count-star",
    "sensorbee-dstream-column-seconds",
    "sensorbee-dstream-column-tuples",
    "sensorbee-dstream-const-seconds",
    "sensorbee-dstream-const-tuples",
    "sensorbee-dstream-multiplicities",
    "sensorbee-group-count-after",
    "sensorbee-group-count-inside",
    "sensorbee-group-count-null",
    "sensorbee-group-count-where-aggregated",
    "sensorbee-group-count-where-grouped",
    "sensorbee-group-having-column",
    "sensorbee-group-max-having-count",
    "sensorbee-group-only",
    "sensorbee-istream-column-seconds",
    "sensorbee-istream-column-tuples",
    "sensorbee-istream-const-seconds",
    "sensorbee-istream-const-tuples",
    "sensorbee-rstream-column-seconds",
    "sensorbee-rstream-column-tuples",
    "sensorbee-rstream-const-seconds",
    "stream-test1",
    "stream-test10",
    "stream-test2",
    "stream-test3",
    "stream-test4",
    "stream-test5",
    "stream-test6",
    "stream-test7",
    "stream-test8",
    "stream-test9",
)

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the folder of conformance cases is not beside the repository"
)


@cache
def all_cases() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for source in SOURCES:
        text = (FOLDER / f"{source}.json").read_text(encoding="utf-8")
        for case in json.loads(text)["cases"]:
            found[case["id"]] = case
    return found


@cache
def comparison() -> ModuleType:
    spec = importlib.util.spec_from_file_location("case_comparison", FOLDER / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --------------------------------------------------------------------------------------- adapter


def events(case: dict[str, Any]) -> list[tuple[int, str, str, list[Any]]]:
    """All elements as (instant, input, sign, values), by instant, then arrival."""
    found = []
    for name, source in case["inputs"].items():
        if source["kind"] == "stream":
            found += [(tau, name, "+", values) for tau, values in source["elements"]]
        else:
            found += [(tau, name, sign, values) for tau, sign, values in source["changes"]]
    return sorted(found, key=lambda event: event[0])


def cuts(case: dict[str, Any], way: str | int) -> list[int]:
    """The instants to advance to, `t_end` last."""
    end = case["t_end"]
    known = sorted({tau + d for tau, *_ in events(case) for d in (-1, 0, 1)} | {0})
    inside = list(range(end)) if end <= MANY else [tau for tau in known if 0 <= tau < end]
    if way == "once":
        return [end]
    # A text as the seed, so that the cuts of a case are the same in every run.
    chance = random.Random(f"{case['id']} {way}")
    return [*sorted(chance.sample(inside, min(len(inside), chance.randint(1, 4)))), end]


def runs(
    batch: Sequence[tuple[int, str, str, list[Any]]],
) -> Iterator[tuple[str, str, list[tuple[Any, ...]], list[int]]]:
    """What one tick takes, by input and sign: (input, sign, rows in arrival order, instants)."""
    for name, sign in dict.fromkeys(event[1:3] for event in batch):
        mine = [event for event in batch if event[1:3] == (name, sign)]
        yield name, sign, [tuple(values) for *_, values in mine], [tau for tau, *_ in mine]


def register(con: cqlduck.Connection, case: dict[str, Any]) -> None:
    for name, source in case["inputs"].items():
        columns = ", ".join(f'"{column}" {kind}' for column, kind in source["columns"])
        con.execute(f"CREATE {source['kind'].upper()} {name} ({columns})")
    for view in case["views"]:
        con.execute(f"CREATE CONTINUOUS QUERY {view['name']} AS {view['cql']}")
    con.execute(f"CREATE CONTINUOUS QUERY the_case AS {case['cql']}")


def plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return float(value) if hasattr(value, "as_integer_ratio") else str(value)


def produced(con: cqlduck.Connection, case: dict[str, Any], way: str | int) -> list[list[Any]]:
    """Feed a registered case; return its output in the shape of `expected`."""
    left = events(case)
    for until in cuts(case, way):
        taken = [event for event in left if event[0] <= until]
        left = left[len(taken) :]
        for name, sign, rows, instants in runs(taken):
            put = con.append if sign == "+" else con.retract
            put(name, rows, at=instants)
        con.advance(until)
    output: list[list[Any]] = []
    for *values, tau, weight in con.changes("the_case").fetchall():
        shown = [plain(value) for value in values]
        if case["result"] == "stream":
            assert weight > 0
            output += [[tau, shown]] * weight
        else:
            output += [[tau, "+" if weight > 0 else "-", shown]] * abs(weight)
    return output


# ----------------------------------------------------------------------------------------- tests


def ids() -> list[str]:
    return sorted({*MUST_PASS, *(all_cases() if FOLDER.is_dir() else ())})


@pytest.mark.parametrize("name", ids())
def test_a_case_agrees_with_what_was_recorded(name: str) -> None:
    case = all_cases()[name]
    if case["ties"] == ["derived"]:
        pytest.skip("the papers leave open what it yields: ties on a derived stream")
    for way in WAYS:
        with cqlduck.connect() as con:
            try:
                register(con, case)
            except cqlduck.NotSupportedError as error:
                if name in MUST_PASS:
                    raise
                pytest.skip(f"refused: {error.message}")
            output = produced(con, case, way)
            failed = con.sql("SELECT error FROM cql.queries WHERE state <> 'active'").fetchall()
        assert [] == failed
        assert [] == comparison().differences(case, case["result"], output), way


def test_what_must_pass_is_among_the_cases() -> None:
    assert set() == set(MUST_PASS) - set(all_cases())
