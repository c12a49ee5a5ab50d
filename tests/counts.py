"""How many cases a test takes.

A property whose generator stands in `test_many_cases` is run there on thousands (`make long`). In
CI, where the same cases come each time, it takes a tenth of what it takes elsewhere, and of the
costliest tests of many cases each n-th one runs, see `EACH`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Item = TypeVar("Item")

LEAST = 3


def fewer_in_ci(count: int) -> int:
    """Return how many cases a property takes that `test_many_cases` runs too.

    Args:
        count: How many it takes elsewhere: on a developer's machine, and against mutants.
    """
    return max(LEAST, count // 10) if in_ci() else count


def some_in_ci(items: Sequence[Item], each: int) -> Sequence[Item]:
    """Return each n-th of what a test goes through, from the first on; all elsewhere."""
    return items[::each] if in_ci() else items


def in_ci() -> bool:
    """Return whether the tests run for a change, and not for a developer or against a mutant."""
    return bool(settings.get_current_profile_name() == "ci")


EACH = {
    "test_algebra.py::test_results_are_duckdbs_whatever_the_cut": 2,
    "test_answering.py::test_rehearsals_leave_nothing_behind": 2,
    "test_answering.py::test_what_is_chosen_changes_no_answer": 2,
    "test_answers_anew.py::test_a_process_that_is_killed_while_it_goes_loses_nothing": 3,
    "test_answers_anew.py::test_each_kind_of_query_can_be_answered_anew": 3,
    "test_answers_anew.py::test_it_goes_to_and_fro_and_nothing_shows": 2,
    "test_backfill.py::test_a_kill_in_the_middle_loses_nothing": 3,
    "test_backfill.py::test_from_then_on_it_says_what_it_would_if_it_had_been_there_for_ever": 8,
    "test_backfill.py::test_no_element_depends_on_it": 16,
    "test_bad_input.py::test_a_batch_that_cannot_be_taken": 3,
    "test_bad_input.py::test_a_query_that_is_refused": 3,
    "test_bad_input.py::test_one_namespace_without_regard_to_case": 2,
    "test_bad_input.py::test_rows_that_do_not_fit": 2,
    "test_bad_input.py::test_what_is_nested_deeply_is_done_or_refused": 6,
    "test_below.py::test_what_is_around_stays_incremental": 2,
    "test_bounds.py::test_integer_time": 5,
    "test_bounds.py::test_wall_clock_time": 5,
    "test_caches.py::test_a_cache_that_has_grown_too_large_is_dropped": 2,
    "test_caches.py::test_a_cache_that_takes_more_than_it_may_is_given_up": 2,
    "test_caches.py::test_an_algorithm_selects_the_caches": 2,
    "test_caches.py::test_caches_change_no_element": 20,
    "test_cases.py::test_a_case_agrees_with_what_was_recorded": 8,
    "test_catalog.py::test_views_show_the_catalogue": 6,
    "test_claims.py::test_a_manifest_that_is_wrong_about_its_rows": 2,
    "test_connection.py::test_inputs_called_as_anything_inside": 2,
    "test_connection.py::test_texts_that_are_all_different_are_not_compressed": 6,
    "test_connection.py::test_times_of_arrow_are_judged_as_a_scan_does": 2,
    "test_connection.py::test_what_can_be_appended": 3,
    "test_current.py::test_a_comparison_is_a_lifetime_on_wall_clock_time": 6,
    "test_deferred.py::test_a_deferred_query_says_what_it_says_in_each_tick": 20,
    "test_deferred.py::test_killed_while_it_is_read_it_goes_on": 3,
    "test_deferred.py::test_who_reads_has_it_answered": 2,
    "test_dropping.py::test_what_depends_on_it_goes_and_nothing_else": 3,
    "test_durations.py::test_a_range_that_is_no_whole_number_of_instants": 3,
    "test_durations.py::test_an_interval_before_now_is_not_rounded": 6,
    "test_emptiness.py::test_idle_ticks_of_all_forms_change_nothing": 6,
    "test_emptiness.py::test_what_is_not_run_would_write_nothing": 2,
    "test_expiry.py::test_a_query_begins_from_now_as_one_that_is_registered_now": 2,
    "test_failing_order.py::test_when_it_fails": 10,
    "test_families.py::test_a_change_that_stops_at_any_statement_is_undone": 6,
    "test_families.py::test_a_constant_compares_as_it_does_in_the_text": 6,
    "test_families.py::test_a_member_leaves_with_what_it_has": 9,
    "test_families.py::test_an_aggregate_that_raises_fails_whom_it_fails_alone": 2,
    "test_families.py::test_global_aggregates_of_a_family_have_their_row_over_nothing": 6,
    "test_families.py::test_members_say_what_they_say_alone": 9,
    "test_families.py::test_ranges_before_the_kind_of_time_is_known": 6,
    "test_families.py::test_what_history_has_forgotten_is_refused_at_once": 6,
    "test_families.py::test_what_looks_back_otherwise_is_right_for_later_members": 2,
    "test_families.py::test_windows_of_other_lengths_are_one_plan": 6,
    "test_footers.py::test_columns_are_matched_as_duckdb_names_them": 3,
    "test_footers.py::test_rows_are_numbered_in_order_of_files": 2,
    "test_footers.py::test_times_are_judged_as_a_scan_does": 10,
    "test_frame_values.py::test_objects_of_a_frame_are_what_they_are_alone": 2,
    "test_functions.py::test_values_of_any_type_go_in_and_out": 2,
    "test_functions.py::test_what_is_refused": 4,
    "test_fuzz.py::test_any_number_is_taken_or_an_error": 6,
    "test_fuzz.py::test_what_is_mangled_gets_an_error_with_a_place_and_changes_nothing": 2,
    "test_fuzz.py::test_what_was_found": 6,
    "test_golden.py::test_sql_is_the_golden_one_and_runs": 8,
    "test_growth.py::test_a_tick_costs_the_same_after_many": 2,
    "test_growth.py::test_the_trace_of_a_stream_is_cut_behind_the_windows_above": 3,
    "test_ingest.py::test_a_far_year_is_taken_and_shown": 3,
    "test_ingest.py::test_a_text_with_an_offset_is_a_moment": 3,
    "test_interrupts.py::test_interrupted_again_and_again_nothing_is_lost_or_there_twice": 2,
    "test_join_orders.py::test_orders_change_no_answer": 9,
    "test_join_syntax.py::test_joins_in_parentheses_are_those_of_duckdb": 6,
    "test_keys.py::test_a_padded_key_is_no_key_of_what_is_above": 2,
    "test_keys.py::test_keys": 2,
    "test_laws.py::test_it_holds_in_each_form_of_all_that_may_be_asked": 10,
    "test_memory.py::test_what_is_bounded_does_not_grow_and_all_else_does": 16,
    "test_merging.py::test_who_is_merged_says_what_it_says_alone": 12,
    "test_migrations.py::test_a_migration_that_fails_at_its_end_leaves_the_file_as_it_was": 6,
    "test_migrations.py::test_a_synopsis_that_the_plan_has_otherwise_is_filled_with_its_content": 9,
    "test_migrations.py::test_it_goes_on_where_it_stopped": 12,
    "test_migrations.py::test_it_is_migrated_once": 3,
    "test_names.py::test_a_name_means_what_it_means_in_duckdb": 6,
    "test_nulls.py::test_columns_that_have_values": 2,
    "test_offsets.py::test_a_parameter_is_a_moment_in_a_query_by_name_and_with_conflicts": 3,
    "test_offsets.py::test_a_text_with_an_offset_is_a_moment_in_every_expression": 2,
    "test_papers.py::test_relation_to_stream": 2,
    "test_papers.py::test_what_a_window_holds": 6,
    "test_plans.py::test_a_plan_is_read_as_it_was_written": 3,
    "test_plans.py::test_a_query_keeps_the_macros_and_types_that_it_names": 6,
    "test_plans.py::test_statements_of_a_form_that_is_damaged_are_made_anew": 2,
    "test_plans_agree.py::test_an_option_that_is_forced_runs_and_changes_no_answer": 12,
    "test_postponed_names.py::test_names_mean_what_they_mean_in_duckdb": 6,
    "test_processes.py::test_a_child_of_a_busy_process_never_waits": 2,
    "test_processes.py::test_a_forked_child_is_refused_and_harms_nothing": 2,
    "test_queryplan.py::test_each_form_has_names_of_any_signs": 3,
    "test_queryplan.py::test_each_plan_can_be_shown_in_each_form": 6,
    "test_queryplan.py::test_no_sign_of_a_query_is_one_of_the_picture": 3,
    "test_random_joins.py::test_a_probe_takes_the_parameters_that_its_statements_have": 6,
    "test_relation_rules.py::test_values_of_any_type_pass_through_a_relation_as_they_came": 6,
    "test_retention.py::test_history_that_a_window_still_reads_is_kept": 2,
    "test_rewritten.py::test_a_pivot_without_a_law_is_as_in_duckdb": 12,
    "test_rewritten.py::test_a_value_that_names_what_is_around": 6,
    "test_rewritten.py::test_limit_chooses_by_the_order_of_a_set_operation": 6,
    "test_rewritten.py::test_limit_chooses_from_a_set_operation": 2,
    "test_rewritten.py::test_nothing_is_recomputed_and_all_is_as_in_duckdb": 8,
    "test_search.py::test_answers_are_those_of_duckdb": 3,
    "test_semantics.py::test_aggregates_without_a_running_sum": 3,
    "test_sql_differential.py::test_a_query_over_a_query_that_is_worked_out_again": 6,
    "test_sql_differential.py::test_a_window_over_a_stream_of_what_is_worked_out_again": 2,
    "test_sql_differential.py::test_each_construct": 6,
    "test_sql_differential.py::test_hand_written": 36,
    "test_sql_differential.py::test_under_an_operator": 4,
    "test_strategies.py::test_scripts_append_all_in_order_and_in_time": 2,
    "test_strategies.py::test_the_oracle_evaluates_what_is_drawn_and_often_there_is_something": 2,
    "test_tpch.py::test_a_query_equals_duckdb_that_answers_anew": 8,
    "test_types.py::test_what_comes_in_is_what_goes_out": 6,
    "test_values.py::test_arrays_pass_left_joins_with_their_nulls": 7,
    "test_widening.py::test_a_member_leaves_with_what_it_shows": 6,
    "test_widening.py::test_a_name_means_what_it_means_alone": 6,
    "test_widening.py::test_one_plan_computes_them": 8,
    "test_widening.py::test_widening_that_stops_at_any_statement_is_undone": 2,
}
"""Which of its cases a test takes in CI: each n-th one, from the first on, see `is_left_out`."""

SPARSE = 6
"""From which n on it does not matter which values the cases have."""

Values = frozenset[tuple[str, str]]
"""The parameters of a case: the name of each, and its value as text."""


def is_left_out(cases: Sequence[tuple[str, Values]]) -> list[bool]:
    """Return for tests, in order, whether CI leaves them out.

    A value that several cases of a test have is in one that runs: with each second case of two
    parameters, of which the last has two values, one of these would never run. Of a test that takes
    each sixth case, or fewer, `make test` alone runs all values.

    Args:
        cases: Their names, such as 'tests/test_bounds.py::test_integer_time[<]', and parameters.
    """
    of = [name.removeprefix("tests/").split("[")[0] for name, _ in cases]
    frequent = Counter(
        (test, v) for test, (_, values) in zip(of, cases, strict=True) for v in values
    )
    number, run = Counter[str](), set[tuple[str, tuple[str, str]]]()
    found = []
    for test, (_, values) in zip(of, cases, strict=True):
        each = EACH.get(test, 1)
        mine = {(test, value) for value in values if each < SPARSE and frequent[test, value] > 1}
        is_out = bool(number[test] % each) and mine <= run
        number[test] += 1
        run |= set() if is_out else mine
        found.append(is_out)
    return found
