"""The oracle against expectations worked out by hand from the papers' definitions."""

import math
from collections import Counter
from decimal import Decimal

import pytest
from reference import (
    Hop,
    Now,
    PartitionRows,
    Query,
    Range,
    Relation,
    Rows,
    Stream,
    Tumble,
    Unbounded,
    bag_differences,
    beginning,
    canonical,
    default_r2s,
    differences,
    evaluate,
    from_changes,
    in_derived_order,
    is_monotonic,
    net_elements,
    window,
)

COLUMNS = [("k", "VARCHAR"), ("a", "BIGINT")]
# Two elements share instant 3, nothing happens at 2 and 5, and one key is NULL.
ELEMENTS = [
    (1, ("x", 1)),
    (3, ("y", 2)),
    (3, ("x", 3)),
    (4, (None, 4)),
    (6, ("x", 5)),
    (7, (None, 6)),
]
S = Stream("s", COLUMNS, ELEMENTS)


def values(spec, tau, elements=ELEMENTS, **options):
    return [a for _, a in window(elements, COLUMNS, spec, tau, **options)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # From instant 0 to instant 10.
        (Range(2), ["", "1", "1", "123", "234", "234", "45", "56", "56", "6", ""]),
        (Range(0), ["", "1", "", "23", "4", "", "5", "6", "", "", ""]),
        (Now(), ["", "1", "", "23", "4", "", "5", "6", "", "", ""]),
        (Unbounded(), ["", "1", "1", "123", "1234", "1234", "12345"] + ["123456"] * 4),
        (Rows(1), ["", "1", "1", "3", "4", "4", "5", "6", "6", "6", "6"]),
        (Rows(2), ["", "1", "1", "23", "34", "34", "45", "56", "56", "56", "56"]),
        (PartitionRows(("k",), 1), ["", "1", "1", "23", "234", "234", "245"] + ["256"] * 4),
        (PartitionRows(("K",), 2), ["", "1", "1", "123", "1234", "1234", "2345"] + ["23456"] * 4),
        (
            PartitionRows(("k",), 1, range=2),
            ["", "1", "1", "23", "234", "234", "45", "56", "56", "6", ""],
        ),
        (
            PartitionRows(("k",), 1, range=2, slide=3),
            ["", "", "", "23", "23", "23", "45", "45", "45", "6", "6"],
        ),
        (Range(2, slide=3), ["", "", "", "123", "123", "123", "45", "45", "45", "6", "6"]),
        (Range(10, slide=4), ["", "", "", ""] + ["1234"] * 4 + ["123456"] * 3),
        (Rows(2, slide=2), ["", "", "", "12", "34", "34", "34", "56", "56", "56", "56"]),
        (Rows(1, slide=4), ["", "", "", "", "4", "4", "4", "4", "4", "4", "4"]),
        (PartitionRows(("k",), 1, slide=2), ["", "", "", "3", "3", "3", "3"] + ["36"] * 4),
        (Hop(4, 2), ["", "", "1", "1", "123", "123", "234", "234", "45" + "6", "456", "56"]),
        (Tumble(3), ["", "", "", "1", "1", "1", "234", "234", "234", "56", "56"]),
        (Range(2, where="a <> 2"), ["", "1", "1", "13", "34", "34", "45", "56", "56", "6", ""]),
        (Rows(1, where="k = 'x'"), ["", "1", "1", "3", "3", "3", "5", "5", "5", "5", "5"]),
        (Rows(2, slide=2, where="k = 'x'"), ["", "", "", "13"] + ["13"] * 7),
        (PartitionRows(("k",), 1, where="a < 5"), ["", "1", "1", "23"] + ["234"] * 7),
        (Tumble(3, where="k IS NULL"), ["", "", "", "", "", "", "4", "4", "4", "6", "6"]),
    ],
    ids=str,
)
def test_a_window_holds_what_its_definition_says(spec, expected):
    held = ["".join(sorted(str(a) for a in values(spec, tau))) for tau in range(11)]
    assert expected == held


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (Range(2), ["", "1", "1", "23", "234", "4", "5", "56", "6", "", ""]),
        (Now(), ["", "1", "", "23", "4", "", "5", "6", "", "", ""]),
        (Range(2, slide=3), ["", "", "", "23", "23", "23", "5", "5", "5", "", ""]),
        (
            PartitionRows(("k",), 1, range=2),
            ["", "1", "1", "23", "234", "4", "5", "56", "6", "", ""],
        ),
        (
            PartitionRows(("k",), 1, range=2, slide=3),
            ["", "", "", "23", "23", "23", "5", "5", "5", "", ""],
        ),
        (Tumble(3), ["", "", "", "1", "1", "1", "234", "234", "234", "56", "56"]),
    ],
    ids=str,
)
def test_a_half_open_range_leaves_out_its_lower_end(spec, expected):
    held = [
        "".join(sorted(str(a) for a in values(spec, tau, window_edge="half_open")))
        for tau in range(11)
    ]
    assert expected == held


def test_windows_that_slide_are_aligned_to_zero_below_it_too():
    elements = [(-5, ("x", 1)), (-3, ("x", 2)), (-1, ("x", 3))]
    held = [values(Tumble(2), tau, elements) for tau in range(-5, 2)]
    assert [[], [1], [1], [2], [2], [3], [3]] == held
    held = [values(Range(1, slide=2), tau, elements) for tau in range(-5, 2)]
    assert [[], [1], [1], [2], [2], [3], [3]] == held


def test_rows_goes_by_timestamp_and_then_by_arrival():
    elements = [(5, ("x", 1)), (3, ("x", 2)), (5, ("x", 3)), (4, ("x", 4))]
    assert [4, 1, 3] == values(Rows(3), 5, elements)
    assert [2, 4] == values(Rows(2), 4, elements)


def test_rows_on_a_derived_stream_breaks_ties_by_all_columns_nulls_last():
    stream = {4: Counter({("b", 1): 1, ("a", 2): 2, ("a", None): 1, (None, 0): 1})}
    rows = [row for _, row in in_derived_order(stream)]
    assert [("a", 2), ("a", 2), ("a", None), ("b", 1), (None, 0)] == rows
    derived = Query("d", "SELECT * FROM {0}", [(S, Unbounded())], r2s="istream")
    last = Query("q", "SELECT a FROM {0}", [(derived, Rows(1))])
    held = evaluate(last, None, 4).relation
    # At 3 both ('y', 2) and ('x', 3) enter: the last by columns is ('y', 2).
    assert [Counter(), Counter([(1,)]), Counter([(1,)]), Counter([(2,)])] == [
        held[t] for t in range(4)
    ]


R = Relation(
    "r",
    [("k", "VARCHAR"), ("b", "BIGINT")],
    [
        (0, +1, ("x", 10)),
        (2, +1, ("y", 20)),
        (2, +1, ("y", 20)),
        (4, -1, ("y", 20)),
        (4, +1, ("z", 0)),
        (4, -1, ("z", 0)),
        (5, -1, ("x", 10)),
        (5, +1, ("x", 11)),
    ],
)


def test_a_relation_is_the_bag_of_its_net_changes():
    everything = Query("q", "SELECT * FROM {0}", [(R, None)])
    result = evaluate(everything, None, 6)
    y = ("y", 20)
    assert [
        Counter([("x", 10)]),
        Counter([("x", 10)]),
        Counter([("x", 10), y, y]),
        Counter([("x", 10), y, y]),
        Counter([("x", 10), y]),
        Counter([("x", 11), y]),
        Counter([("x", 11), y]),
    ] == [result.relation[t] for t in range(7)]
    assert {
        0: Counter({("x", 10): 1}),
        2: Counter({y: 2}),
        4: Counter({y: -1}),
        5: Counter({("x", 10): -1, ("x", 11): 1}),
    } == net_elements(result)


def test_a_relation_never_holds_less_than_nothing():
    bad = Relation("r", [("a", "BIGINT")], [(1, -1, (1,))])
    with pytest.raises(ValueError, match="less than nothing at 1"):
        evaluate(Query("q", "SELECT * FROM {0}", [(bad, None)]), None, 1)


@pytest.mark.parametrize(
    ("r2s", "expected"),
    [
        ("istream", {0: {"x10": 1}, 2: {"y20": 2}, 5: {"x11": 1}}),
        ("dstream", {4: {"y20": 1}, 5: {"x10": 1}}),
        (
            "rstream",
            {
                0: {"x10": 1},
                1: {"x10": 1},
                2: {"x10": 1, "y20": 2},
                3: {"x10": 1, "y20": 2},
                4: {"x10": 1, "y20": 1},
                5: {"x11": 1, "y20": 1},
                6: {"x11": 1, "y20": 1},
            },
        ),
    ],
)
def test_relation_to_stream_operators(r2s, expected):
    query = Query("q", "SELECT k || b FROM {0}", [(R, None)], r2s=r2s)
    result = evaluate(query, None, 6)
    assert expected == {
        ts: {text: n for (text,), n in bag.items()} for ts, bag in net_elements(result).items()
    }


def test_istream_counts_multiplicity_and_not_arrivals():
    # At 4 one 1 leaves and another comes: nothing is inserted.
    s = Stream("s", [("a", "BIGINT")], [(1, (1,)), (1, (1,)), (4, (1,)), (4, (2,))])
    query = Query("q", "SELECT * FROM {0}", [(s, Rows(3))], r2s="istream")
    assert {1: Counter({(1,): 2}), 4: Counter({(2,): 1})} == net_elements(evaluate(query, None, 5))


def test_chapter_example_1_a_filter_streams_what_passes():
    # Select Istream(*) From S [Rows Unbounded] Where S.A > 10
    s = Stream("s", [("a", "BIGINT")], [(1, (5,)), (2, (11,)), (2, (11,)), (4, (10,)), (5, (12,))])
    legs = [(s, Unbounded())]
    query = Query("q", "SELECT * FROM {0} AS s WHERE s.a > 10", legs, r2s="istream")
    assert {2: Counter({(11,): 2}), 5: Counter({(12,): 1})} == net_elements(
        evaluate(query, None, 9)
    )
    # Select * From S Where S.A > 10
    assert is_monotonic([(s, None)], aggregates=False)
    short = Query("q", query.sql, [(s, None)], monotonic=True)
    assert default_r2s(short) == "istream"


S1 = Stream("s1", [("a", "BIGINT")], [(1, (11,)), (2, (12,)), (2, (9,)), (6, (11,)), (7, (12,))])
S2 = Stream("s2", [("a", "BIGINT"), ("b", "VARCHAR")], [(2, (11, "p")), (5, (12, "q"))])


def test_chapter_example_2_a_windowed_join():
    # Select * From S1 [Rows 2], S2 [Range 3] Where S1.A = S2.A And S1.A > 10
    sql = "SELECT * FROM {0} AS s1, {1} AS s2 WHERE s1.a = s2.a AND s1.a > 10"
    query = Query("q", sql, [(S1, Rows(2)), (S2, Range(3))])
    result = evaluate(query, None, 10)
    p, q = (11, 11, "p"), (12, 12, "q")
    # At 2 S1 holds 12 and 9, since both came at 2 and pushed 11 out. At 5 q meets 12, which
    # leaves at 6 (9 and 11 are the last two), comes again at 7 and meets q up to 5 + 3.
    assert {
        5: Counter({q: 1}),
        6: Counter({q: -1}),
        7: Counter({q: 1}),
        9: Counter({q: -1}),
    } == net_elements(result)
    assert all(p not in bag for bag in result.relation.values())
    # Select Istream(S1.A) …
    sql = "SELECT s1.a FROM {0} AS s1, {1} AS s2 WHERE s1.a = s2.a AND s1.a > 10"
    query = Query("q", sql, query.legs, r2s="istream")
    assert {5: Counter({(12,): 1}), 7: Counter({(12,): 1})} == net_elements(
        evaluate(query, None, 10)
    )


def test_chapter_example_3_a_stream_probes_a_stored_table():
    # Select Rstream(S.A, R.B) From S [Now], R Where S.A = R.A
    s = Stream("s", [("a", "VARCHAR")], [(1, ("x",)), (1, ("x",)), (3, ("y",)), (5, ("x",))])
    sql = "SELECT s.a, r.b FROM {0} AS s, {1} AS r WHERE s.a = r.k"
    query = Query("q", sql, [(s, Now()), (R, None)], r2s="rstream")
    assert {
        1: Counter({("x", 10): 2}),
        3: Counter({("y", 20): 2}),
        5: Counter({("x", 11): 1}),
    } == net_elements(evaluate(query, None, 8))


def test_chapter_section_3_5_a_full_window_changes_in_one_instant():
    # A window of 2 that is full: s enters and the earliest, s', leaves, both at one instant;
    # each change meets the contents of the other window, and the select lets some pass.
    s1 = Stream(
        "s1", [("a", "BIGINT"), ("i", "BIGINT")], [(1, (11, 1)), (2, (12, 2)), (4, (11, 3))]
    )
    s2 = Stream("s2", [("a", "BIGINT")], [(1, (11,)), (3, (12,)), (3, (9,))])
    queue3 = evaluate(Query("q3", "SELECT * FROM {0}", [(s1, Rows(2))]), None, 5)
    assert {
        1: Counter({(11, 1): 1}),
        2: Counter({(12, 2): 1}),
        4: Counter({(11, 3): 1, (11, 1): -1}),
    } == net_elements(queue3)
    sql = "SELECT s1.i FROM {0} AS s1, {1} AS s2 WHERE s1.a = s2.a AND s1.a > 10"
    joined = evaluate(Query("q6", sql, [(s1, Rows(2)), (s2, Range(120))]), None, 5)
    assert {
        1: Counter({(1,): 1}),
        3: Counter({(2,): 1}),
        4: Counter({(3,): 1, (1,): -1}),
    } == net_elements(joined)


def test_thesis_example_2_1_1_a_conjunction_of_filters():
    # Select Istream(*) From S [Rows Unbounded] Where S.A > 10 and S.B < 20 and S.C > 40
    s = Stream(
        "s",
        [("a", "BIGINT"), ("b", "BIGINT"), ("c", "BIGINT")],
        [
            (1, (11, 19, 41)),
            (2, (10, 19, 41)),
            (2, (11, 20, 41)),
            (3, (11, 19, None)),
            (4, (99, 0, 50)),
        ],
    )
    sql = "SELECT * FROM {0} AS s WHERE s.a > 10 AND s.b < 20 AND s.c > 40"
    query = Query("q", sql, [(s, Unbounded())], r2s="istream")
    assert {1: Counter({(11, 19, 41): 1}), 4: Counter({(99, 0, 50): 1})} == net_elements(
        evaluate(query, None, 5)
    )


def test_thesis_example_2_1_2_a_windowed_join_with_filters():
    # Select * From S1 [Rows 3], S2 [Range 2] Where S1.A = S2.A and S1.A > 10 and S1.B < 20
    s1 = Stream(
        "s1",
        [("a", "BIGINT"), ("b", "BIGINT")],
        [(1, (11, 5)), (1, (11, 20)), (2, (10, 5)), (4, (11, 6))],
    )
    s2 = Stream("s2", [("a", "BIGINT")], [(2, (11,)), (2, (10,)), (3, (11,))])
    sql = "SELECT * FROM {0} AS s1, {1} AS s2 WHERE s1.a = s2.a AND s1.a > 10 AND s1.b < 20"
    query = Query("q", sql, [(s1, Rows(3)), (s2, Range(2))])
    old, new = (11, 5, 11), (11, 6, 11)
    # At 4 the first element leaves S1's window with both its partners, and (11, 6) meets both;
    # S2's elements leave at 5 and 6.
    assert {
        2: Counter({old: 1}),
        3: Counter({old: 1}),
        4: Counter({old: -2, new: 2}),
        5: Counter({new: -1}),
        6: Counter({new: -1}),
    } == net_elements(evaluate(query, None, 8))


def test_a_global_aggregate_has_its_row_from_the_beginning_on():
    counted = Query("q", "SELECT count(*), sum(a) FROM {0}", [(S, Range(1))])
    assert {
        0: Counter({(0, None): 1}),
        1: Counter({(0, None): -1, (1, 1): 1}),
        3: Counter({(1, 1): -1, (2, 5): 1}),
    } == {ts: bag for ts, bag in net_elements(evaluate(counted, None, 3)).items()}
    early = Stream("e", COLUMNS, [(-2, ("x", 1))])
    assert -2 == beginning(early)
    assert {-2: Counter({(1,): 1}), 0: Counter({(1,): -1, (0,): 1})} == net_elements(
        evaluate(Query("q", "SELECT count(*) FROM {0}", [(early, Range(1))]), None, 3)
    )


def test_each_query_begins_with_its_own_inputs_unless_told():
    early = Stream("e", COLUMNS, [(-2, ("x", 1))])
    late = Query("late", "SELECT count(*) AS n FROM {0}", [(S, Now())])
    both = Query("both", "SELECT n FROM {0}, {1}", [(late, None), (early, Unbounded())])
    assert -2 == beginning(both)
    assert [0] == list(net_elements(evaluate(both, None, 0)))
    assert [-2] == list(net_elements(evaluate(both, -2, 0)))
    inline = Query("late", late.sql, late.legs, inline=True)
    both = Query("both", both.sql, [(inline, None), (early, Unbounded())])
    assert [-2] == list(net_elements(evaluate(both, None, 0)))


def test_a_query_registered_later_takes_relations_as_they_are_and_streams_from_then_on():
    # At 3 the relation holds x10 and two y20; of the stream only what comes after 3 counts.
    content = Query("q", "SELECT k || b FROM {0}", [(R, None)], r2s="istream")
    assert {4: Counter({("x10",): 1, ("y20",): 1}), 5: Counter({("x11",): 1})} == net_elements(
        evaluate(content, None, 6, registered_at=3)
    )
    rows = Query("q", "SELECT a FROM {0}", [(S, Rows(2))], registered_at=3)
    assert {4: Counter({(4,): 1}), 6: Counter({(5,): 1}), 7: Counter({(4,): -1, (6,): 1})} == (
        net_elements(evaluate(rows, None, 8))
    )
    # It reads a query that was there before: a relation as it is, a stream from then on.
    total = Query("total", "SELECT sum(a) AS n FROM {0}", [(S, None)])
    later = Query("q", "SELECT n FROM {0}", [(total, None)], registered_at=4)
    assert {5: Counter({(10,): 1}), 6: Counter({(10,): -1, (15,): 1})} == net_elements(
        evaluate(later, None, 6)
    )
    totals = Query("total", total.sql, total.legs, r2s="istream")
    later = Query("q", "SELECT n FROM {0}", [(totals, Unbounded())], registered_at=4)
    assert {6: Counter({(15,): 1})} == net_elements(evaluate(later, None, 6))
    # A subquery begins with the query around it.
    inline = Query("sub", totals.sql, totals.legs, r2s="istream", inline=True)
    later = Query("q", "SELECT n FROM {0}", [(inline, Unbounded())], registered_at=4)
    assert {5: Counter({(None,): 1}), 6: Counter({(5,): 1})} == net_elements(
        evaluate(later, None, 6)
    )


def test_queries_read_queries():
    per_key = Query("q", "SELECT k, count(*) AS n FROM {0} GROUP BY k", [(S, Rows(3))])
    most = Query("q", "SELECT max(n) AS n, count(*) AS keys FROM {0}", [(per_key, None)])
    assert {
        0: Counter({(None, 0): 1}),
        1: Counter({(None, 0): -1, (1, 1): 1}),
        3: Counter({(1, 1): -1, (2, 2): 1}),
        4: Counter({(2, 2): -1, (1, 3): 1}),
        6: Counter({(1, 3): -1, (2, 2): 1}),
    } == net_elements(evaluate(most, None, 7))


def test_a_window_stands_on_streams_only():
    relation = Query("q", "SELECT * FROM {0}", [(S, Rows(1))])
    for source in (R, relation):
        with pytest.raises(ValueError, match="a window on the relation"):
            evaluate(Query("q", "SELECT * FROM {0}", [(source, Now())]), None, 1)


def test_monotonic_is_only_streams_under_unbounded_windows():
    derived = Query("d", "SELECT a FROM {0}", [(S, None)], r2s="istream", monotonic=True)
    part = Query("p", "SELECT a FROM {0}", [(S, None)], inline=True, monotonic=True)
    named = Query("n", "SELECT count(*) FROM {0}", [(S, None)])
    assert is_monotonic([(S, None), (S, Unbounded()), (derived, None), (part, None)], False)
    assert not is_monotonic([(S, None)], aggregates=True)
    assert not is_monotonic([(S, Rows(1))], aggregates=False)
    assert not is_monotonic([(S, None), (R, None)], aggregates=False)
    assert not is_monotonic([(named, None)], aggregates=False)
    assert default_r2s(named) is None


def test_differences_keep_types_apart_and_doubles_together():
    nan = float("nan")
    assert canonical((1, "a", None)) == canonical((1, "a", None))
    assert canonical(nan) == canonical(float("nan"))
    assert canonical(-0.0) == canonical(0.0)
    assert canonical(Decimal("1.50")) == canonical(Decimal("1.5"))
    different = [1, 1.0, Decimal(1), True, "1", None]
    assert len(different) == len({canonical(value) for value in different})

    one = {1: Counter({(0.1 + 0.2, "a"): 1}), 4: Counter({(nan,): 2, (-0.0,): -1})}
    same = {1: Counter({(0.3, "a"): 1}), 4: Counter({(math.nan,): 2, (0.0,): -1})}
    assert [] == differences(one, same)
    assert ["at 1: missing +1 (0.3, 'a')", "at 1: extra +1 (0.301, 'a')"] == differences(
        same, {1: Counter({(0.301, "a"): 1}), 4: same[4]}
    )
    # What did not change emits nothing, not even a hair's breadth.
    assert ["at 2: extra +1 (0.30000000000000004)", "at 2: extra -1 (0.3)"] == differences(
        {}, {2: Counter({(0.3,): -1, (0.1 + 0.2,): 1})}
    )
    assert ["at 1: missing -2 (1, NULL)", "at 1: extra -2 (1.50::DECIMAL, NULL)"] == differences(
        {1: Counter({(1, None): -2})}, {1: Counter({(Decimal("1.50"), None): -2})}
    )
    assert [] == differences({1: Counter({(1,): 1})}, {9: Counter({(1,): 1})}, since=1, until=8)
    assert ["missing +1 (1)"] == bag_differences(Counter([(1,), (1,)]), Counter([(1,)]))


def test_changes_are_compared_net():
    rows = [("a", 1, 1), ("a", 1, -1), ("b", 2, 1), ("b", 2, 2), (math.nan, 3, 1)]
    assert {2: Counter({("b",): 3}), 3: Counter({(math.nan,): 1})} == from_changes(rows)


def test_types_are_those_of_duckdb():
    s = Stream("s", [("d", "DECIMAL(9,2)"), ("a", "BIGINT")], [(0, (Decimal("1.25"), 3))])
    query = Query("q", "SELECT sum(d) AS d, sum(a) AS a, avg(a) AS m FROM {0}", [(s, None)])
    result = evaluate(query, None, 0)
    assert [("d", "DECIMAL(38,2)"), ("a", "HUGEINT"), ("m", "DOUBLE")] == result.columns
    assert Counter([(Decimal("1.25"), 3, 3.0)]) == result.relation[0]
    assert (
        Counter([(Decimal("1.25"),)])
        == (evaluate(Query("o", "SELECT d FROM {0}", [(query, None)]), None, 0).relation[0])
    )
