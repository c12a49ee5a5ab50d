"""How many cases a test takes.

`make test` is brief, so that it ends in twenty minutes on two cores: a property whose generator
stands in `test_many_cases` takes a twenty-fourth of its cases, of the costliest tests of many cases
each n-th one runs, see `EACH`, and some tests do not run, `OUT`, `HALVED`. The same cases come each
time. `make thorough` runs all tests, with all of their cases, which takes hours; so does pytest by
itself, for who works on a file. `make long` runs the generators on thousands.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Item = TypeVar("Item")

LEAST = 2


def fewer_if_brief(count: int) -> int:
    """Return how many cases a property takes that `test_many_cases` runs too.

    Args:
        count: How many it takes elsewhere.
    """
    return max(LEAST, count // 24) if is_brief() else count


def fewer_rounds_if_brief(count: int) -> int:
    """Return how many rounds a random script of a test has: what one costs grows with them."""
    return -(-count // 3) if is_brief() else count


def some_if_brief(items: Sequence[Item], each: int) -> Sequence[Item]:
    """Return each n-th of what a test goes through, from the first on; all elsewhere."""
    return items[::each] if is_brief() else items


def is_brief() -> bool:
    """Return whether few cases are to run, as in `make test`."""
    return bool(settings.get_current_profile_name() == "brief")


EACH = {
    "test_algebra.py::test_results_are_duckdbs_whatever_the_cut": 6,
    "test_answering.py::test_rehearsals_leave_nothing_behind": 2,
    "test_answering.py::test_what_is_chosen_changes_no_answer": 2,
    "test_answers_anew.py::test_a_process_that_is_killed_while_it_goes_loses_nothing": 3,
    "test_answers_anew.py::test_each_kind_of_query_can_be_answered_anew": 9,
    "test_answers_anew.py::test_it_goes_to_and_fro_and_nothing_shows": 4,
    "test_backfill.py::test_a_kill_in_the_middle_loses_nothing": 3,
    "test_backfill.py::test_explain_claims_no_progress_that_does_not_happen": 2,
    "test_backfill.py::test_from_then_on_it_says_what_it_would_if_it_had_been_there_for_ever": 8,
    "test_backfill.py::test_no_element_depends_on_it": 16,
    "test_bad_input.py::test_a_batch_that_cannot_be_taken": 9,
    "test_bad_input.py::test_a_query_that_fails_stops_before_that_instant": 2,
    "test_bad_input.py::test_a_query_that_is_refused": 12,
    "test_bad_input.py::test_a_statement_that_is_refused": 4,
    "test_bad_input.py::test_one_namespace_without_regard_to_case": 8,
    "test_bad_input.py::test_rows_that_do_not_fit": 8,
    "test_bad_input.py::test_the_file_and_the_row_of_a_batch_are_named": 4,
    "test_bad_input.py::test_what_is_nested_deeply_is_done_or_refused": 18,
    "test_bad_input.py::test_wherever_it_fails": 3,
    "test_bases.py::test_no_base_is_left_that_nobody_reads": 3,
    "test_below.py::test_the_first_are_chosen_from_equal_values_that_are_not_the_same": 3,
    "test_below.py::test_what_is_around_stays_incremental": 8,
    "test_below.py::test_what_may_mean_something_else_stays_whole": 4,
    "test_benchmarks.py::test_what_a_peer_is_compared_with_has_no_instants_of_changes": 4,
    "test_bounds.py::test_integer_time": 15,
    "test_bounds.py::test_wall_clock_time": 15,
    "test_caches.py::test_a_cache_that_has_grown_too_large_is_dropped": 2,
    "test_caches.py::test_a_cache_that_takes_more_than_it_may_is_given_up": 2,
    "test_caches.py::test_an_algorithm_selects_the_caches": 4,
    "test_caches.py::test_an_option_is_written_in_one_way": 4,
    "test_caches.py::test_caches_change_no_element": 20,
    "test_caches.py::test_where_nothing_is_linked_or_stored_there_is_no_cache": 3,
    "test_cases.py::test_a_case_agrees_with_what_was_recorded": 32,
    "test_catalog.py::test_views_show_the_catalogue": 12,
    "test_claims.py::test_a_manifest_that_is_right_whatever_the_types": 4,
    "test_claims.py::test_a_manifest_that_is_wrong_about_its_rows": 2,
    "test_cli.py::test_changed_statement_is_refused": 3,
    "test_cli.py::test_signal_closes_the_database": 2,
    "test_composition.py::test_substitution_changes_no_answer": 4,
    "test_composition.py::test_what_subqueries_read_several_times_does_not_double_with_each": 3,
    "test_connection.py::test_execute_does_all_or_nothing": 3,
    "test_connection.py::test_inputs_called_as_anything_inside": 8,
    "test_connection.py::test_texts_that_are_all_different_are_not_compressed": 6,
    "test_connection.py::test_times_of_arrow_are_judged_as_a_scan_does": 6,
    "test_connection.py::test_what_can_be_appended": 12,
    "test_connection.py::test_what_with_names_changes_nothing": 5,
    "test_cql_properties.py::test_it_is_as_if_the_database_had_been_opened_with_it": 2,
    "test_cql_properties.py::test_it_says_the_statement_that_sets_it_and_update_does_the_same": 4,
    "test_cql_properties.py::test_settings_are_set_as_their_statement_says": 3,
    "test_cql_properties.py::test_what_cannot_be_set_is_told_and_nothing_is_done": 4,
    "test_current.py::test_a_comparison_is_a_lifetime_on_wall_clock_time": 6,
    "test_deferred.py::test_a_deferred_query_says_what_it_says_in_each_tick": 20,
    "test_deferred.py::test_killed_while_it_is_read_it_goes_on": 3,
    "test_deferred.py::test_what_has_it_run_in_each_tick": 2,
    "test_deferred.py::test_whatever_it_is_called_sql_finds_it": 3,
    "test_deferred.py::test_who_has_a_view_over_it_reads_it": 3,
    "test_deferred.py::test_who_reads_has_it_answered": 8,
    "test_dependencies.py::test_names_with_dots_are_two_columns": 4,
    "test_dependencies.py::test_what_decides": 4,
    "test_dropping.py::test_what_depends_on_it_goes_and_nothing_else": 6,
    "test_durations.py::test_a_duration_that_cannot_be_counted_is_refused_at_its_place": 5,
    "test_durations.py::test_a_range_that_is_no_whole_number_of_instants": 12,
    "test_durations.py::test_an_interval_before_now_is_not_rounded": 6,
    "test_emptiness.py::test_idle_ticks_of_all_forms_change_nothing": 6,
    "test_emptiness.py::test_what_is_not_run_would_write_nothing": 2,
    "test_expiry.py::test_a_query_begins_from_now_as_one_that_is_registered_now": 6,
    "test_expiry.py::test_it_survives_a_kill": 2,
    "test_explain_create.py::test_it_says_why_a_plan_is_a_querys_own_and_then_it_is": 3,
    "test_failing_order.py::test_when_it_fails": 10,
    "test_families.py::test_a_change_that_stops_at_any_statement_is_undone": 12,
    "test_families.py::test_a_constant_compares_as_it_does_in_the_text": 18,
    "test_families.py::test_a_constant_that_is_no_date_is_what_it_is_alone": 2,
    "test_families.py::test_a_member_leaves_with_what_it_has": 9,
    "test_families.py::test_an_aggregate_that_raises_fails_whom_it_fails_alone": 6,
    "test_families.py::test_global_aggregates_of_a_family_have_their_row_over_nothing": 6,
    "test_families.py::test_members_say_what_they_say_alone": 18,
    "test_families.py::test_ranges_before_the_kind_of_time_is_known": 12,
    "test_families.py::test_what_history_has_forgotten_is_refused_at_once": 6,
    "test_families.py::test_what_looks_back_otherwise_is_right_for_later_members": 4,
    "test_families.py::test_who_subscribes_to_a_member_too_slowly_hears_of_it": 2,
    "test_families.py::test_windows_of_other_lengths_are_one_plan": 24,
    "test_filters.py::test_orders_of_filters_of_joins_change_no_answer": 2,
    "test_filters_of_joins.py::test_orders_with_inputs_change_no_element": 8,
    "test_footers.py::test_batches_that_differ_are_not_read_together": 2,
    "test_footers.py::test_columns_are_matched_as_duckdb_names_them": 9,
    "test_footers.py::test_files_of_a_batch_that_differ_are_read_as_duckdb_reads_them": 2,
    "test_footers.py::test_rows_are_numbered_in_order_of_files": 6,
    "test_footers.py::test_times_are_judged_as_a_scan_does": 30,
    "test_frame_values.py::test_objects_of_a_frame_are_what_they_are_alone": 6,
    "test_functions.py::test_values_of_any_type_go_in_and_out": 8,
    "test_functions.py::test_what_is_refused": 16,
    "test_fuzz.py::test_a_statement_that_ends_anywhere_is_done_or_an_error": 3,
    "test_fuzz.py::test_any_number_is_taken_or_an_error": 18,
    "test_fuzz.py::test_what_is_mangled_gets_an_error_with_a_place_and_changes_nothing": 2,
    "test_fuzz.py::test_what_was_found": 6,
    "test_golden.py::test_sql_is_the_golden_one_and_runs": 32,
    "test_growth.py::test_a_queue_leaves_no_rows_behind_that_scans_would_pass": 2,
    "test_growth.py::test_a_tick_and_a_registration_are_linear_in_queries": 2,
    "test_growth.py::test_a_tick_costs_the_same_after_many": 2,
    "test_growth.py::test_the_trace_of_a_stream_is_cut_behind_the_windows_above": 6,
    "test_ingest.py::test_a_far_year_is_taken_and_shown": 9,
    "test_ingest.py::test_a_text_with_an_offset_is_a_moment": 12,
    "test_interrupts.py::test_a_call_that_reads_raises_what_the_handler_raises_at_any_moment": 4,
    "test_interrupts.py::test_interrupt_stops_what_runs_and_leaves_all_as_it_was": 3,
    "test_interrupts.py::test_interrupted_again_and_again_nothing_is_lost_or_there_twice": 2,
    "test_intervals.py::test_which_pairs_an_aggregate_can_do_without": 4,
    "test_join_orders.py::test_orders_change_no_answer": 9,
    "test_join_syntax.py::test_a_name_in_parentheses_is_of_the_nearest_join_around_that_has_it": 3,
    "test_join_syntax.py::test_joins_in_parentheses_are_those_of_duckdb": 6,
    "test_keys.py::test_a_padded_key_is_no_key_of_what_is_above": 6,
    "test_keys.py::test_keys": 8,
    "test_killed_sharing.py::test_a_change_of_families_that_is_killed_is_done_or_not": 4,
    "test_laws.py::test_a_mutation_is_noticed": 9,
    "test_laws.py::test_it_holds_in_each_form_of_all_that_may_be_asked": 20,
    "test_memory.py::test_what_is_bounded_does_not_grow_and_all_else_does": 48,
    "test_merging.py::test_what_was_said_before_goes_with_history": 2,
    "test_merging.py::test_who_is_merged_says_what_it_says_alone": 24,
    "test_merging.py::test_who_subscribes_too_slowly_hears_of_it_and_nobody_else_does": 2,
    "test_merging.py::test_windows_in_rows_are_alike_once_they_have_the_same_rows": 4,
    "test_meter.py::test_a_connection_shows_how_far_it_is": 2,
    "test_migrations.py::test_a_migration_that_fails_at_its_end_leaves_the_file_as_it_was": 12,
    "test_migrations.py::test_a_synopsis_that_the_plan_has_otherwise_is_filled_with_its_content": 9,
    "test_migrations.py::test_it_goes_on_where_it_stopped": 12,
    "test_migrations.py::test_it_is_migrated_once": 9,
    "test_mutants.py::test_a_mutant_is_noticed": 2,
    "test_names.py::test_what_distinct_leaves_open_orders_nothing": 4,
    "test_narrowing.py::test_a_family_ends_that_shows_more_than_its_members": 3,
    "test_nulls.py::test_columns_that_have_values": 8,
    "test_offsets.py::test_a_parameter_is_a_moment_in_a_query_by_name_and_with_conflicts": 12,
    "test_offsets.py::test_a_text_with_an_offset_is_a_moment_in_every_expression": 6,
    "test_operators.py::test_statements_are_those_of_operators": 3,
    "test_options.py::test_a_duration_is_the_same_however_it_is_written": 3,
    "test_options.py::test_options_that_are_none": 4,
    "test_packaging.py::test_core_works_without_spark": 2,
    "test_packaging.py::test_every_room_imports_from_elsewhere": 2,
    "test_packaging.py::test_script_has_help": 2,
    "test_papers.py::test_a_tuple_that_is_replaced_by_its_like_is_neither_inserted_nor_deleted": 2,
    "test_papers.py::test_chapter_4_1_and_thesis_2_3_1": 3,
    "test_papers.py::test_chapter_example_2_as_a_stream": 3,
    "test_papers.py::test_cidr_a_sample_of_the_requests": 2,
    "test_papers.py::test_cidr_requests_joined_before_the_window": 3,
    "test_papers.py::test_cidr_the_last_requests_of_each_client": 3,
    "test_papers.py::test_continuous_queries_q3": 2,
    "test_papers.py::test_relation_to_stream": 6,
    "test_papers.py::test_the_segments_with_accidents_of_linear_road": 2,
    "test_papers.py::test_the_traffic_common_to_three_links": 2,
    "test_papers.py::test_thesis_4_7": 2,
    "test_papers.py::test_thesis_5_4_n_streams": 2,
    "test_papers.py::test_thesis_5_4_three_streams": 2,
    "test_papers.py::test_thesis_6_1_5": 4,
    "test_papers.py::test_thesis_example_2": 3,
    "test_papers.py::test_what_a_window_holds": 18,
    "test_permissions.py::test_what_may_not_be_read_holds_its_own_input": 3,
    "test_pipelines.py::test_duckdb_keeps_the_written_order": 4,
    "test_plans.py::test_a_plan_is_read_as_it_was_written": 12,
    "test_plans.py::test_a_plan_that_is_damaged_is_made_anew": 3,
    "test_plans.py::test_a_query_keeps_the_macros_and_types_that_it_names": 6,
    "test_plans.py::test_statements_of_a_form_that_is_damaged_are_made_anew": 6,
    "test_plans.py::test_the_same_words_take_macros_as_they_are_now": 2,
    "test_plans_agree.py::test_an_option_that_is_forced_runs_and_changes_no_answer": 24,
    "test_processes.py::test_a_child_of_a_busy_process_never_waits": 2,
    "test_processes.py::test_a_forked_child_is_refused_and_harms_nothing": 2,
    "test_progress.py::test_a_tick_costs_as_much_for_each_query": 2,
    "test_queryplan.py::test_each_form_has_names_of_any_signs": 9,
    "test_queryplan.py::test_each_plan_can_be_shown_in_each_form": 24,
    "test_queryplan.py::test_explain_shows_what_the_plan_says": 4,
    "test_queryplan.py::test_no_sign_of_a_query_is_one_of_the_picture": 3,
    "test_raising.py::test_an_expression_of_a_subquery_is_worked_out_for_rows_that_are_needed": 3,
    "test_random_joins.py::test_a_probe_takes_the_parameters_that_its_statements_have": 6,
    "test_refresh.py::test_what_is_refused_leaves_all_as_it_was": 4,
    "test_relation_rules.py::test_values_of_any_type_pass_through_a_relation_as_they_came": 18,
    "test_results.py::test_a_log_that_is_net_has_one_row_each": 2,
    "test_results.py::test_a_result_stays_as_it_was": 3,
    "test_results.py::test_what_is_over_leaves_nothing": 2,
    "test_retention.py::test_history_that_a_window_still_reads_is_kept": 4,
    "test_rewritten.py::test_a_pivot_without_a_law_is_as_in_duckdb": 48,
    "test_rewritten.py::test_a_value_that_names_what_is_around": 12,
    "test_rewritten.py::test_limit_chooses_by_the_order_of_a_set_operation": 6,
    "test_rewritten.py::test_limit_chooses_from_a_set_operation": 2,
    "test_rewritten.py::test_nothing_is_recomputed_and_all_is_as_in_duckdb": 32,
    "test_search.py::test_answers_are_those_of_duckdb": 9,
    "test_search.py::test_few_changes_find_their_groups_through_the_index": 3,
    "test_semantics.py::test_aggregates_without_a_running_sum": 9,
    "test_semantics.py::test_an_unbounded_window_forgets_nothing": 2,
    "test_semantics.py::test_monotonic_queries_yield_their_istream_and_all_others_a_relation": 4,
    "test_semantics.py::test_panes_that_are_read_twice_are_kept_once": 2,
    "test_semantics.py::test_relation_to_stream_at_every_instant": 2,
    "test_semantics.py::test_the_edge_is_for_ranges_alone": 3,
    "test_semantics.py::test_ties_are_broken_by_all_columns_nulls_last": 4,
    "test_settings.py::test_a_file_with_a_macro_that_hides_a_function_is_not_opened": 3,
    "test_settings.py::test_a_macro_hides_no_function_of_ticks": 3,
    "test_settings.py::test_macros_that_no_tick_calls_change_nothing": 3,
    "test_sharing.py::test_what_queries_have_in_common_is_worked_out_once": 2,
    "test_shown.py::test_each_statement_of_a_tick_is_shown": 3,
    "test_spark_writer.py::test_numbers_out_of_range_are_an_error": 3,
    "test_spelling.py::test_each_keyword_of_ours_is_met_with_what_was_meant": 4,
    "test_sql_differential.py::test_a_query_over_a_query_that_is_worked_out_again": 12,
    "test_sql_differential.py::test_a_window_over_a_stream_of_what_is_worked_out_again": 6,
    "test_sql_differential.py::test_any_sql": 2,
    "test_sql_differential.py::test_bounded_ticks_change_nothing": 2,
    "test_sql_differential.py::test_each_construct": 18,
    "test_sql_differential.py::test_hand_written": 72,
    "test_sql_differential.py::test_under_an_operator": 4,
    "test_stems.py::test_a_change_that_stops_at_any_statement_is_undone": 3,
    "test_stems.py::test_one_plan_computes_them": 12,
    "test_strategies.py::test_scripts_append_all_in_order_and_in_time": 2,
    "test_system_stream.py::test_a_test_of_selectivity_over_some_time": 2,
    "test_system_stream.py::test_it_is_ours_alone": 3,
    "test_system_stream.py::test_it_is_there_while_it_is_read": 2,
    "test_template.py::test_a_template_that_cannot_be_read_is_done_without": 2,
    "test_template.py::test_what_is_copied_is_what_statements_make": 2,
    "test_template.py::test_what_is_missing_or_of_another_version_is_made": 3,
    "test_tpch.py::test_a_query_equals_duckdb_that_answers_anew": 24,
    "test_twice.py::test_what_is_read_is_not_replaced_by_what_does_not_fit": 3,
    "test_types.py::test_what_comes_in_is_what_goes_out": 18,
    "test_values.py::test_a_sign_inside_of_a_struct_outlasts_what_makes_elements_net": 5,
    "test_values.py::test_arrays_pass_left_joins_with_their_nulls": 21,
    "test_values.py::test_both_sides_of_an_equality_keep_their_values": 3,
    "test_variables.py::test_no_table_gets_the_name_of_a_registered_frame": 4,
    "test_variables.py::test_variables_of_each_kind": 3,
    "test_widening.py::test_a_member_leaves_with_what_it_shows": 12,
    "test_widening.py::test_a_name_means_what_it_means_alone": 6,
    "test_widening.py::test_one_plan_computes_them": 24,
    "test_widening.py::test_other_tuples_have_another_plan": 4,
    "test_widening.py::test_widening_that_stops_at_any_statement_is_undone": 2,
}
"""Which cases of a test are in a brief run: each n-th, from the first on, see `is_left_out`."""

OUT = {
    "test_demo.py::TestDemo::test_kill_and_the_same_again",
    "test_mutants.py::test_a_mutant_is_noticed",
    "test_names.py::test_a_name_means_what_it_means_in_duckdb",
    "test_postponed_names.py::test_names_mean_what_they_mean_in_duckdb",
    "test_strategies.py::test_every_construct_of_the_subset_is_reached",
    "test_strategies.py::test_every_wide_construct_is_reached",
    "test_strategies.py::test_the_oracle_evaluates_what_is_drawn_and_often_there_is_something",
    "test_weights.py::test_a_query_of_more_weight_is_measured_more_often",
}
"""Tests that a brief run leaves out: of the tests themselves, or whose like runs beside them."""

HALVED = {
    "test_adaptivity.py",
    "test_all_aggregates.py",
    "test_amend.py",
    "test_answering.py",
    "test_answers_anew.py",
    "test_backfill.py",
    "test_bad_input.py",
    "test_bases.py",
    "test_below.py",
    "test_benchmarks.py",
    "test_bounds.py",
    "test_caches.py",
    "test_catalog.py",
    "test_cli.py",
    "test_condensed.py",
    "test_connection.py",
    "test_content.py",
    "test_cql_properties.py",
    "test_deferred.py",
    "test_dependencies.py",
    "test_dml.py",
    "test_emptiness.py",
    "test_expiry.py",
    "test_explain_create.py",
    "test_expressions.py",
    "test_failing_order.py",
    "test_failures.py",
    "test_families.py",
    "test_filters.py",
    "test_filters_of_joins.py",
    "test_footers.py",
    "test_full_disk.py",
    "test_functions.py",
    "test_fuzz.py",
    "test_growth.py",
    "test_identity.py",
    "test_ingest.py",
    "test_inside.py",
    "test_instants.py",
    "test_interrupts.py",
    "test_intervals.py",
    "test_join_orders.py",
    "test_join_syntax.py",
    "test_lateness.py",
    "test_merging.py",
    "test_migrations.py",
    "test_names.py",
    "test_narrowing.py",
    "test_open_files.py",
    "test_papers.py",
    "test_pins.py",
    "test_pipelines.py",
    "test_plans.py",
    "test_plans_agree.py",
    "test_profile.py",
    "test_queryplan.py",
    "test_raising.py",
    "test_records.py",
    "test_refresh.py",
    "test_relation_buffer.py",
    "test_relation_rules.py",
    "test_results.py",
    "test_retention.py",
    "test_rewritten.py",
    "test_search.py",
    "test_semantics.py",
    "test_server.py",
    "test_shown.py",
    "test_sparksink.py",
    "test_sql_differential.py",
    "test_stems.py",
    "test_system_stream.py",
    "test_template.py",
    "test_twice.py",
    "test_values.py",
    "test_waiting.py",
    "test_widening.py",
}
"""Costly files, of whose tests a brief run takes the first, the third and so on."""

SPARSE = 6
"""From which n on it does not matter which values the cases have."""

Values = frozenset[tuple[str, str]]
"""The parameters of a case: the name of each, and its value as text."""


def outside(count: int, part: str) -> list[bool]:
    """Return for tests, in order, whether they are no part of a run of several.

    Args:
        count: How many tests there are.
        part: Which part runs, such as '2/8'.

    Raises:
        ValueError: There is no such part.
    """
    number, _, parts = part.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise ValueError(f"PART is {part}, which is none: the second of eight parts is 2/8")
    return [index % int(parts) != int(number) - 1 for index in range(count)]


def is_left_out(cases: Sequence[tuple[str, Values]]) -> list[bool]:
    """Return for tests, in order, whether a brief run leaves them out.

    A value that several cases of a test have is in one that runs: with each second case of two
    parameters, of which the last has two values, one of these would never run. Of a test that takes
    each sixth case, or fewer, `make thorough` alone runs all values, and those of `OUT`
    and each second test of a file of `HALVED`.

    Args:
        cases: Their names, such as 'tests/test_bounds.py::test_integer_time[<]', and parameters.
    """
    of = [name.removeprefix("tests/").split("[")[0] for name, _ in cases]
    frequent = Counter(
        (test, v) for test, (_, values) in zip(of, cases, strict=True) for v in values
    )
    number, run = Counter[str](), set[tuple[str, tuple[str, str]]]()
    out = OUT.union(*(tests[1::2] for tests in _by_file(of).values()))
    found = []
    for test, (_, values) in zip(of, cases, strict=True):
        each = EACH.get(test, 1)
        mine = {(test, value) for value in values if each < SPARSE and frequent[test, value] > 1}
        is_out = test in out or (number[test] % each > 0 and mine <= run)
        number[test] += 1
        run |= set() if is_out else mine
        found.append(is_out)
    return found


def _by_file(tests: Sequence[str]) -> dict[str, list[str]]:
    """Return the tests of each file of `HALVED`, each once."""
    found: dict[str, list[str]] = {}
    for test in dict.fromkeys(tests):
        file = test.split("::")[0]
        if file in HALVED:
            found.setdefault(file, []).append(test)
    return found
