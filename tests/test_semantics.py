"""Each rule of the semantics, a test for each: what holds at every instant, worked out by hand.

`play` cuts time into one tick and into many, so that every rule is also a test of batch invariance.
What concerns files, the drop zone and messages stands in `test_bad_input`,
`test_connection` and `test_dropzone_format`.
"""

import datetime as dt
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import choices
import pytest
import reference

import cqlduck

Elements = list[tuple[Any, ...]]
# (instant, values) of a stream, (instant, sign, values) of a relation; in arrival order.
Inputs = Mapping[str, Sequence[tuple[Any, ...]]]

S = "CREATE STREAM s (a INTEGER, b VARCHAR)"
R = "CREATE RELATION r (a INTEGER, b VARCHAR)"
# Two share instant 2; nothing happens at 0, 3, 5 and after 6.
INTO_S = [(1, (1, "x")), (2, (2, "y")), (2, (3, "x")), (4, (4, "y")), (6, (5, "x"))]


def at(text: str) -> dt.datetime:
    """An instant of wall-clock time."""
    return dt.datetime.fromisoformat(text)


def elements(con: cqlduck.Connection, query: str = "q") -> Elements:
    """The net elements: by instant, deletions first, and then always in the same order."""
    return sorted(con.changes(query).fetchall(), key=lambda row: (row[-2], row[-1], repr(row)))


def bag(changes: Elements) -> Counter[str]:
    """What is there after all these elements."""
    held: Counter[str] = Counter()
    for *values, _, weight in changes:
        held[alike(values)] += weight
    return +held


def alike(values: Sequence[Any]) -> str:
    """A tuple as text, equal for equal tuples: -0.0 is 0.0."""
    return repr([value + 0.0 if isinstance(value, float) else value for value in values])


def put(
    con: cqlduck.Connection, inputs: Inputs, since: Any, until: Any, alone: bool = True
) -> None:
    """Append and retract what lies in (since, until], each row alone or all that follow at once."""
    for name, arrivals in inputs.items():
        now = [a for a in arrivals if (since is None or since < a[0]) and a[0] <= until]
        runs = itertools.groupby(enumerate(now), lambda at: (at[1][1] == "-", alone and at[0]))
        for (is_retracted, _), run in runs:
            change = con.retract if is_retracted else con.append
            instants, rows = zip(*((arrival[0], arrival[-1]) for _, arrival in run), strict=True)
            change(name, rows, at=instants)


def ways(inputs: Inputs, end: Any) -> Iterator[list[Any]]:
    """Two ways to cut time: one tick, and one for each instant or where something happens."""
    moments = {arrival[0] for arrivals in inputs.values() for arrival in arrivals}
    yield [end]
    if isinstance(end, int) and end < 40:
        yield list(range(min([0, *moments]), end + 1))
    else:
        yield sorted({m for m in moments if m < end} | {end})


def play(
    create: str, query: str | Mapping[str, str], inputs: Inputs, end: Any, **settings: Any
) -> Elements:
    """The elements of query q over these inputs up to an instant, however time is cut."""
    queries = {"q": query} if isinstance(query, str) else query
    found = []
    for cuts in ways(inputs, end):
        with cqlduck.connect(**settings) as con:
            con.execute(create)
            for name, text in queries.items():
                con.execute(f"CREATE CONTINUOUS QUERY {name} AS {text}")
            since = None
            for until in cuts:
                put(con, inputs, since, until, alone=len(cuts) > 1)
                con.advance(until)
                since = until
            assert not [query.error for query in con.queries.values() if query.error is not None]
            found.append(elements(con))
            if con.engine.query("q").kind == "relation":
                assert bag(found[-1]) == Counter(map(alike, con.table("q").fetchall()))
    assert all(repr(found[0]) == repr(other) for other in found), "ticks show"
    return found[0]


def contents(create: str, query: str, inputs: Inputs, end: int, **settings: Any) -> list[str]:
    """What a query over column a holds at each instant from 0 on: "13" is the bag of 1 and 3."""
    held: list[str] = []
    bag: list[str] = []
    changes = play(create, query, inputs, end, **settings)
    for instant in range(end + 1):
        for value, ts, weight in changes:
            if ts == instant and weight > 0:
                bag += [str(value)] * weight
        for value, ts, weight in changes:
            for _ in range(-weight if ts == instant else 0):
                bag.remove(str(value))
        held.append("".join(sorted(bag)))
    return held


def refused(call: Any, kind: type[cqlduck.Error], *words: str) -> cqlduck.Error:
    """The error of a call: of this kind, with these words in what it says."""
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word.lower() in str(caught.value).lower()
    return caught.value


# --------------------------------------------------------------------------------------------- time


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM s [NOW]",
        "SELECT count(DISTINCT a) AS n FROM s [NOW]",
        "SELECT count(*) AS n FROM s [NOW] LIMIT 1",
    ],
)
def test_integer_time_begins_at_0(text: str) -> None:
    """A global aggregate has its row over nothing from instant 0 on, whatever comes first."""
    assert [(0, 0, 1), (0, 3, -1), (1, 3, 1), (1, 4, -1), (0, 4, 1)] == play(
        S, text, {"s": [(3, (1, "x"))]}, 6
    )


def test_integer_time_begins_at_the_first_element_if_that_is_negative() -> None:
    """Below 0 the smallest timestamp begins time."""
    into = [(-4, (1, "x")), (-2, (2, "y"))]
    assert [(1, -4, 1), (1, -2, -1), (2, -2, 1)] == play(
        S, "SELECT count(*) AS n FROM s [ROWS 9]", {"s": into}, 3
    )


def test_wall_clock_time_begins_with_the_smallest_timestamp_of_any_input() -> None:
    """A heartbeat begins nothing; the relation's element at 09:00 does, before the stream's."""
    inputs = {
        "s": [(at("2013-01-01 10:00"), (1, "x"))],
        "r": [(at("2013-01-01 09:00"), "+", (1, "z"))],
    }
    query = "SELECT count(*) AS n FROM s [ROWS 5], r WHERE s.a = r.a"
    with cqlduck.connect(granularity="1 hour") as con:
        con.execute(f"{S}; {R}; CREATE CONTINUOUS QUERY q AS {query}")
        con.advance(at("2012-06-01"))
        assert [] == elements(con)
        put(con, inputs, None, at("2013-01-01 10:00"))
        con.advance(at("2013-01-01 12:00"))
        assert [
            (0, at("2013-01-01 09:00"), 1),
            (0, at("2013-01-01 10:00"), -1),
            (1, at("2013-01-01 10:00"), 1),
        ] == elements(con)


def test_timestamps_are_floored_to_the_granularity_for_time_only() -> None:
    """12:00:00.7 lies in the granule 12:00:00, also before 1970; the value stays as it was."""
    create = "CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t"
    early, late = at("1969-12-31 23:59:58.7"), at("2013-01-01 12:00:00.7")
    with cqlduck.connect(granularity="1 second") as con:
        con.execute(f"{create}; CREATE CONTINUOUS QUERY q AS SELECT Istream(t) FROM s [NOW]")
        con.append("s", [(early,), (late,)])
        con.advance(at("2013-01-02"))
        assert [
            (early, at("1969-12-31 23:59:58"), 1),
            (late, at("2013-01-01 12:00:00"), 1),
        ] == elements(con)


def test_a_date_stands_for_its_midnight() -> None:
    """A DATE as timestamp is 00:00 UTC of that day."""
    with cqlduck.connect(granularity="1 hour") as con:
        con.execute("""
            CREATE STREAM s (d DATE) TIMESTAMP BY d;
            CREATE CONTINUOUS QUERY q AS SELECT d FROM s [RANGE 23 HOURS];
        """)
        con.append("s", [(dt.date(2013, 1, 5),)])
        con.advance(at("2013-01-07"))
        day = dt.date(2013, 1, 5)
        assert [(day, at("2013-01-05"), 1), (day, at("2013-01-06"), -1)] == elements(con)


@pytest.mark.parametrize(
    ("beat", "closed"),
    [
        ("12:00:00.999998", "11:59:59"),
        ("12:00:00.999999", "12:00:00"),
        ("12:00:01", "12:00:00"),
    ],
)
def test_a_heartbeat_closes_only_granules_that_end_at_or_before_it(beat: str, closed: str) -> None:
    """No element at or before t is to come: 12:00:00 is closed when its last microsecond is."""
    with cqlduck.connect(granularity="1 second") as con:
        con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
        con.append("s", [(1, "x")], at=at("2013-01-01"))
        con.heartbeat("s", at(f"2013-01-01 {beat}"))
        assert at(f"2013-01-01 {closed}") == con.advance()


@pytest.mark.parametrize(("settings", "left"), [({}, 120), ({"instant": "30 seconds"}, 4)])
def test_an_instant_of_integer_time_stands_for_a_second_or_what_is_set(
    settings: dict[str, str], left: int
) -> None:
    """RANGE 2 MINUTES is 120 instants of a second, or 4 of half a minute."""
    assert [(1, 7, 1), (1, 7 + left + 1, -1)] == play(
        S, "SELECT a FROM s [RANGE 2 MINUTES]", {"s": [(7, (1, "x"))]}, 500, **settings
    )


def test_a_bare_number_counts_instants_and_needs_integer_time() -> None:
    """RANGE 3 is three instants; on wall-clock time it is an error that asks for a unit."""
    query = "SELECT a FROM s [RANGE 3]"
    assert [(1, 7, 1), (1, 11, -1)] == play(S, query, {"s": [(7, (1, "x"))]}, 20)
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (a INTEGER, t TIMESTAMP) TIMESTAMP BY t")
        refused(
            lambda: con.execute(f"CREATE CONTINUOUS QUERY q AS {query}"), cqlduck.BindError, "unit"
        )


@pytest.mark.parametrize("window", ["RANGE 1 MONTH", "RANGE 1 DAY SLIDE 1 YEAR", "TUMBLE 1 YEAR"])
def test_durations_are_fixed(window: str, con: cqlduck.Connection) -> None:
    """Months and years have no fixed length, so RANGE, SLIDE and HOP refuse them."""
    con.execute(S)
    text = f"CREATE CONTINUOUS QUERY q AS SELECT a FROM s [{window}]"
    refused(lambda: con.execute(text), cqlduck.ParseError, "fixed length")


def test_slides_are_aligned_to_the_epoch() -> None:
    """A tumbling week begins on a Thursday, as 1970-01-01 did, whenever the first element is."""
    monday = at("2013-01-07")
    assert [(1, at("2013-01-10"), 1), (1, at("2013-01-17"), -1)] == play(
        S,
        "SELECT a FROM s [TUMBLE 1 WEEK]",
        {"s": [(monday, (1, "x"))]},
        at("2013-02-01"),
        granularity="1 hour",
    )


# ----------------------------------------------------------------------------- streams, relations


def test_a_stream_is_a_bag_of_tuples_with_timestamps() -> None:
    """The same tuple twice at one instant is there twice; the weight says so."""
    into = [(1, (1, "x")), (1, (1, "x")), (3, (1, "x"))]
    assert [(1, 1, 2), (1, 3, 1)] == play(S, "SELECT a FROM s", {"s": into}, 4)


def test_a_relation_changes_by_insertions_and_deletions() -> None:
    """R(τ) is a bag at every instant; a deletion takes one of two equal tuples."""
    changes = [(1, "+", (1, None)), (1, "+", (1, None)), (3, "-", (1, None)), (5, "+", (2, "y"))]
    assert ["", "11", "11", "1", "1", "12", "12"] == contents(
        R, "SELECT a FROM r WHERE a > 0", {"r": changes}, 6
    )


def test_elements_are_columns_instant_and_a_weight_that_is_never_0() -> None:
    """What comes and goes at the same instant is no element."""
    with cqlduck.connect() as con:
        con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s [ROWS 1]")
        con.append("s", [(1, "x"), (1, "y"), (2, "x"), (2, "y")], at=[1, 2, 3, 4])
        con.advance(9)
        assert ["a", "_ts", "_weight"] == con.changes("q").columns
        assert [(1, 1, 1), (1, 3, -1), (2, 3, 1)] == elements(con)
        # nor is it stored
        con.execute(
            "CREATE CONTINUOUS QUERY z AS SELECT 0 * n AS z FROM "
            "(SELECT count(*) AS n FROM s [ROWS 5])"
        )
        con.append("s", [(3, "x"), (3, "y")], at=[10, 11])
        con.advance(12)
        assert [(0, 10, 1)] == elements(con, "z")
        assert [(1,)] == con.sql("SELECT count(*) FROM cql_state.changes_z").fetchall()


# ----------------------------------------------------------------------------------------- windows


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("[RANGE 2]", ["", "1", "123", "123", "234", "4", "45", "5", "5", ""]),
        ("[RANGE 0]", ["", "1", "23", "", "4", "", "5", "", "", ""]),
        ("[NOW]", ["", "1", "23", "", "4", "", "5", "", "", ""]),
        ("[RANGE 2 PRECEDING]", ["", "1", "123", "123", "234", "4", "45", "5", "5", ""]),
    ],
)
def test_a_range_holds_both_its_ends(window: str, expected: list[str]) -> None:
    """RANGE w at τ is [τ−w, τ]; NOW is w = 0; PRECEDING means nothing more."""
    assert expected == contents(S, f"SELECT a FROM s {window}", {"s": INTO_S}, 9)


def test_a_half_open_range_leaves_its_far_end_out() -> None:
    """Under window_edge = 'half_open' RANGE w is (τ−w, τ]; w = 0 is then empty."""
    for window, expected in (
        ("[RANGE 2]", ["", "1", "123", "23", "4", "4", "5", "5", "", ""]),
        ("[RANGE 1]", ["", "1", "23", "", "4", "", "5", "", "", ""]),
        ("[RANGE 0]", [""] * 10),
    ):
        assert expected == contents(
            S, f"SELECT a FROM s {window}", {"s": INTO_S}, 9, window_edge="half_open"
        )
    counted = "SELECT count(*) AS n FROM s [RANGE 2]"
    assert [*"0132111100"] == contents(S, counted, {"s": INTO_S}, 9, window_edge="half_open")


@pytest.mark.parametrize("window", ["[NOW]", "[HOP 3 EVERY 2]", "[TUMBLE 3]", "[ROWS 2]"])
def test_the_edge_is_for_ranges_alone(window: str) -> None:
    """NOW, HOP, TUMBLE and ROWS are the same under both edges."""
    query = f"SELECT a FROM s {window}"
    assert contents(S, query, {"s": INTO_S}, 12) == contents(
        S, query, {"s": INTO_S}, 12, window_edge="half_open"
    )


@pytest.mark.parametrize("window", ["[RANGE UNBOUNDED]", "[ROWS UNBOUNDED]", ""])
def test_an_unbounded_window_forgets_nothing(window: str) -> None:
    """A stream without a window has RANGE UNBOUNDED; a relation keeps all that came."""
    text = f"SELECT DISTINCT a FROM s {window} WHERE a IN (SELECT a FROM r)"
    inputs = {"s": INTO_S, "r": [(0, "+", (a, "z")) for a in range(6)]}
    assert ["", "1", "123", "123", "1234", "1234", "12345", "12345"] == contents(
        f"{S}; {R}", text, inputs, 7
    )


def test_rows_are_the_last_by_timestamp_and_ties_go_by_arrival() -> None:
    """Of the two at instant 2 the one that came later is the newer."""
    assert ["", "1", "3", "3", "4", "4", "5"] == contents(
        S, "SELECT a FROM s [ROWS 1]", {"s": INTO_S}, 6
    )
    assert ["", "1", "23", "23", "34", "34", "45"] == contents(
        S, "SELECT a FROM s [ROWS 2]", {"s": INTO_S}, 6
    )


def test_rows_go_by_timestamp_where_arrival_is_another_order() -> None:
    """A tuple that arrives late, but within the bound, takes the place of its timestamp."""
    create = "CREATE STREAM s (a INTEGER) TIMESTAMP BY a OUT OF ORDER WITHIN 5"
    with cqlduck.connect() as con:
        con.execute(f"{create}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s [ROWS 1]")
        con.append("s", [(5,), (3,), (4,), (7,)])
        con.advance(8)
        assert [(3, 3, 1), (3, 4, -1), (4, 4, 1), (4, 5, -1), (5, 5, 1), (5, 7, -1), (7, 7, 1)] == (
            elements(con)
        )


def test_a_partition_has_its_own_last_rows() -> None:
    """PARTITION BY b ROWS 1: the last x and the last y; NULLs are one partition."""
    query = "SELECT a FROM s [PARTITION BY b ROWS 1]"
    assert ["", "1", "23", "23", "34", "34", "45"] == contents(S, query, {"s": INTO_S}, 6)
    nulls = [(1, (1, None)), (2, (2, None)), (2, (3, "x")), (5, (4, None))]
    assert ["", "1", "23", "23", "23", "34"] == contents(S, query, {"s": nulls}, 5)


def test_a_partition_with_a_range_holds_what_is_in_both() -> None:
    """PARTITION BY b ROWS 1 RANGE 1: the last of each partition while it is in [τ−1, τ]."""
    query = "SELECT a FROM s [PARTITION BY b ROWS 1 RANGE 1]"
    assert ["", "1", "23", "23", "4", "4", "5", "5", ""] == contents(S, query, {"s": INTO_S}, 8)
    half = contents(S, query, {"s": INTO_S}, 8, window_edge="half_open")
    assert ["", "1", "23", "", "4", "", "5", "", ""] == half


def test_where_inside_the_brackets_filters_before_the_window() -> None:
    """[ROWS 1 WHERE b = 'y'] is the last y; WHERE outside takes the last, if it is a y."""
    inside = "SELECT a FROM s [ROWS 1 WHERE b = 'y']"
    outside = "SELECT a FROM s [ROWS 1] WHERE b = 'y'"
    assert ["", "", "2", "2", "4", "4", "4"] == contents(S, inside, {"s": INTO_S}, 6)
    assert ["", "", "", "", "4", "4", ""] == contents(S, outside, {"s": INTO_S}, 6)


def test_a_sliding_range_changes_only_at_multiples() -> None:
    """RANGE 2 SLIDE 3 at τ is what RANGE 2 held at ⌊τ/3⌋·3, negative instants included."""
    query = "SELECT a FROM s [RANGE 2 SLIDE 3]"
    assert ["", "", "", "123", "123", "123", "45", "45", "45", ""] == contents(
        S, query, {"s": INTO_S}, 9
    )
    half = contents(S, query, {"s": INTO_S}, 9, window_edge="half_open")
    assert ["", "", "", "23", "23", "23", "5", "5", "5", ""] == half
    # with another that ends at the same boundary
    both = f"{S}; CREATE STREAM t (c INTEGER)"
    assert ["", "", "", "", "", "", "", "45", "45", ""] == contents(
        both, f"{query} x, t [RANGE 1]", {"s": INTO_S, "t": [(7, (0,))]}, 9
    )
    assert [(1, -3, 1), (2, 0, 1), (1, 0, -1), (2, 3, -1)] == sorted(
        play(S, query, {"s": [(-4, (1, "x")), (-2, (2, "y"))]}, 4), key=lambda e: (e[1], -e[2])
    )


def test_a_sliding_row_window_changes_after_every_mth_arrival() -> None:
    """ROWS 2 SLIDE 2: after arrivals 2 and 4 it is what ROWS 2 held then."""
    assert ["", "", "12", "12", "34", "34", "34"] == contents(
        S, "SELECT a FROM s [ROWS 2 SLIDE 2]", {"s": INTO_S}, 6
    )
    # Sliding further than it is long: of three arrivals the last two.
    assert ["", "", "23", "23", "23", "23", "23"] == contents(
        S, "SELECT a FROM s [ROWS 2 SLIDE 3]", {"s": INTO_S}, 6
    )


def test_a_sliding_partition_changes_after_every_mth_arrival_in_it() -> None:
    """PARTITION BY b ROWS 1 SLIDE 2: the second x comes at 2, the second y at 4."""
    assert ["", "", "3", "3", "34", "34", "34"] == contents(
        S, "SELECT a FROM s [PARTITION BY b ROWS 1 SLIDE 2]", {"s": INTO_S}, 6
    )


def test_a_partition_with_a_range_slides_in_time() -> None:
    """PARTITION BY b ROWS 1 RANGE 2 SLIDE 3 at τ: the same without SLIDE, at ⌊τ/3⌋·3."""
    query = "SELECT a FROM s [PARTITION BY b ROWS 1 RANGE 2 SLIDE 3]"
    assert ["", "", "", "23", "23", "23", "45", "45", "45", ""] == contents(
        S, query, {"s": INTO_S}, 9
    )
    half = contents(S, query, {"s": INTO_S}, 9, window_edge="half_open")
    assert ["", "", "", "23", "23", "23", "5", "5", "5", ""] == half
    # what joins with it between its boundaries sees what stands
    both = f"{S}; CREATE STREAM t (c INTEGER)"
    inputs = {"s": INTO_S, "t": [(2, (0,)), (5, (0,)), (8, (0,))]}
    assert ["", "", "", "", "", "23", "", "", "45", ""] == contents(
        both, f"{query} x, t [NOW]", inputs, 9
    )


def test_a_hop_is_half_open() -> None:
    """HOP 3 EVERY 2 at τ: with B = ⌊τ/2⌋·2 the tuples of [B−3, B)."""
    assert ["", "", "1", "1", "123", "123", "4", "4", "5", "5", "", ""] == contents(
        S, "SELECT a FROM s [HOP 3 EVERY 2]", {"s": INTO_S}, 11
    )


def test_a_tumbling_window_is_a_hop_as_wide_as_its_step() -> None:
    """TUMBLE 2 is HOP 2 EVERY 2: at τ the tuples of the last full pair of instants."""
    expected = ["", "", "1", "1", "23", "23", "4", "4", "5", "5", ""]
    for window in ("[TUMBLE 2]", "[HOP 2 EVERY 2]"):
        assert expected == contents(S, f"SELECT a FROM s {window}", {"s": INTO_S}, 10)


@pytest.mark.parametrize("beside", ["", " UNION ALL SELECT b, a, a AS n FROM r"])
def test_an_aggregate_of_a_tumbling_window_is_that_of_one_pane(beside: str) -> None:
    """Panes (0, 3], (3, 6] and (9, 12] have x; y goes after its first and comes again in the last.

    So a result that a pane repeats is no change, and one that nothing follows goes. Beside a
    relation, which changes at any instant, there is a rule of its own for that.
    """
    arrivals = [
        (1, (7, "x")), (2, (5, "x")), (2, (4, "y")), (4, (7, "x")), (5, (3, "x")), (9, (1, "y")),
        (9, (1, "x")), (11, (1, "y")),
    ]  # fmt: skip
    assert [
        ("x", 7, 2, 3, 1),
        ("y", 4, 1, 3, 1),
        ("y", 4, 1, 6, -1),
        ("x", 7, 2, 9, -1),
        ("x", 1, 1, 12, 1),
        ("y", 1, 2, 12, 1),
        ("x", 1, 1, 15, -1),
        ("y", 1, 2, 15, -1),
    ] == play(
        f"{S}; {R}",
        "SELECT b, max(a) AS top, count(*) AS n FROM s [TUMBLE 3] GROUP BY b" + beside,
        {"s": arrivals, "r": []},
        20,
    )


HOPPING = [
    (0, (1, "x")), (1, (1, "x")), (1, (2, "y")), (3, (2, "y")), (3, (2, "y")), (4, (1, None)),
    (5, (2, "y")), (11, (1, "x")),
]  # fmt: skip


def test_the_greatest_counts_of_a_hopping_window() -> None:
    """Each boundary B of 2 has the tuples of [B−4, B): its panes are counted once, and added up.

    At 2: x 2, y 1. At 4: x 2, y 3. At 6: y 3, NULL 1. At 8: y 1, NULL 1. At 12 and 14: x 1.
    """
    counted = "SELECT b, count(*) AS n FROM s [HOP 4 EVERY 2] GROUP BY b"
    query = f"SELECT c.b, c.n FROM ({counted}) c, (SELECT max(n) AS most FROM ({counted})) m "
    assert [
        ("x", 2, 2, 1),
        ("x", 2, 4, -1),
        ("y", 3, 4, 1),
        ("y", 3, 8, -1),
        ("y", 1, 8, 1),
        (None, 1, 8, 1),
        ("y", 1, 10, -1),
        (None, 1, 10, -1),
        ("x", 1, 12, 1),
        ("x", 1, 16, -1),
    ] == play(S, query + "WHERE c.n = m.most", {"s": HOPPING}, 17)


@pytest.mark.parametrize(
    "twice",
    [
        "WITH x AS ({counted}) SELECT b || '' AS b, n FROM x UNION ALL SELECT b || '', n FROM x",
        "{counted} UNION ALL {counted}",
        "SELECT b, count(*) AS n FROM s [HOP 4 EVERY 2] GROUP BY GROUPING SETS ((b), (b))",
    ],
)
def test_panes_that_are_read_twice_are_kept_once(twice: str) -> None:
    """Found by attack: the synopsis of the panes was made once for each projection of them."""
    counted = "SELECT b, count(*) AS n FROM s [HOP 4 EVERY 2] GROUP BY b"
    once = play(S, counted, {"s": HOPPING}, 17)
    assert once
    doubled = [(*row, 2 * weight) for *row, weight in once]
    assert doubled == play(S, twice.format(counted=counted), {"s": HOPPING}, 17)


def test_parts_of_panes_make_the_aggregates_of_a_hopping_window() -> None:
    arrivals = [(0, (-4, "x")), (2, (None, "x")), (3, (6, "x")), (4, (7, "x")), (5, (7, "x"))]
    aggregates = "min(a) AS low, max(a) AS high, sum(a) AS total, count(a) AS known, count(*) AS n"
    assert [
        ("x", -4, -4, -4, 1, 1, 2, 1),
        ("x", -4, -4, -4, 1, 1, 4, -1),
        ("x", -4, 6, 2, 2, 3, 4, 1),
        ("x", -4, 6, 2, 2, 3, 6, -1),
        ("x", 6, 7, 20, 3, 4, 6, 1),
        ("x", 6, 7, 20, 3, 4, 8, -1),
        ("x", 7, 7, 14, 2, 2, 8, 1),
        ("x", 7, 7, 14, 2, 2, 10, -1),
    ] == play(S, f"SELECT b, {aggregates} FROM s [HOP 4 EVERY 2] GROUP BY b", {"s": arrivals}, 12)


def test_windows_that_tumble_together_meet_pane_by_pane() -> None:
    """Of s: 1 1 in the pane to 3, 2 to 6, 1 to 9. Of t: 1 to 3, 1 2 to 6, 1 1 to 9."""
    inputs = {
        "s": [(0, (1, "x")), (2, (1, "x")), (4, (2, "x")), (8, (1, "y"))],
        "t": [(1, (1,)), (3, (1,)), (5, (2,)), (6, (1,)), (7, (1,))],
    }
    create = f"{S}; CREATE STREAM t (a INTEGER)"
    window = "[TUMBLE 3]"
    both = f"SELECT s.a FROM s {window}, t {window} WHERE s.a = t.a"
    assert ["", "", "", "11", "11", "11", "2", "2", "2", "11", "11", "11", ""] == contents(
        create, both, inputs, 12
    )
    for query, expected in {
        f"SELECT DISTINCT a FROM ({both})": ["", "1", "2", "1", ""],
        f"SELECT a FROM s {window} EXCEPT SELECT a FROM t {window}": ["", "", "", "", ""],
        f"SELECT a FROM t {window} EXCEPT ALL SELECT a FROM s {window}": ["", "", "1", "1", ""],
        f"SELECT a FROM s {window} INTERSECT ALL SELECT a FROM t {window}": ["", "1", "2", "1", ""],
        f"SELECT DISTINCT a FROM (SELECT a FROM s {window} UNION ALL SELECT a FROM t {window})": [
            "", "1", "12", "1", "",
        ],
        f"SELECT a FROM s {window} WHERE EXISTS (SELECT 1 FROM t {window} WHERE t.a = s.a)": [
            "", "11", "2", "1", "",
        ],
        f"SELECT a FROM t {window} WHERE a NOT IN (SELECT a FROM s {window})": [
            "", "", "1", "", "",
        ],
    }.items():  # fmt: skip
        assert [x for x in expected for _ in range(3)][:13] == contents(create, query, inputs, 12)


def test_a_count_over_an_empty_pane_meets_what_an_extreme_would_not() -> None:
    """The pane to 6 has no tuple of t: its count is 0 there, and its sum NULL."""
    create = f"{S}; CREATE STREAM t (a INTEGER)"
    inputs = {
        "s": [(1, (0, "x")), (1, (2, "x")), (4, (0, "x")), (5, (2, "x"))],
        "t": [(0, (1,)), (2, (1,))],
    }
    query = "SELECT s.a FROM s [TUMBLE 3], (SELECT {} AS x FROM t [TUMBLE 3]) c WHERE s.a = c.x"
    for aggregate, expected in {
        "count(*)": ["", "2", "0", ""],
        "sum(a)": ["", "2", "", ""],
        "count(a) + coalesce(max(a), 0) - 1": ["", "2", "", ""],
    }.items():
        assert [x for x in expected for _ in range(3)][:11] == contents(
            create, query.format(aggregate), inputs, 10
        )


def test_istream_of_what_hops_has_what_is_new_at_each_boundary() -> None:
    query = "SELECT ISTREAM(b, count(*) AS n) FROM s [HOP 4 EVERY 2] GROUP BY b"
    assert [
        ("x", 2, 2, 1),
        ("y", 1, 2, 1),
        ("y", 3, 4, 1),
        (None, 1, 6, 1),
        ("y", 1, 8, 1),
        ("x", 1, 12, 1),
    ] == play(S, query, {"s": HOPPING}, 17)


def test_between_panes_an_aggregate_without_keys_is_that_of_nothing() -> None:
    arrivals = [(4, (7, "x")), (5, (5, "x")), (7, (6, "y")), (13, (6, "y"))]
    assert [
        (None, 0, 0, 1),
        (None, 0, 6, -1),
        (6.0, 2, 6, 1),
        (6.0, 2, 9, -1),
        (6.0, 1, 9, 1),
        (6.0, 1, 12, -1),
        (None, 0, 12, 1),
        (None, 0, 15, -1),
        (6.0, 1, 15, 1),
        (6.0, 1, 18, -1),
        (None, 0, 18, 1),
    ] == play(S, "SELECT median(a) AS middle, count(a) AS n FROM s [TUMBLE 3]", {"s": arrivals}, 20)


@pytest.mark.parametrize("window", ["", "[RANGE 9]"])
def test_distinct_arguments_of_one_type_are_counted_apart(window: str) -> None:
    """1 and 2 are values of `a` and of `c`; `c` is NULL once; of `a` above 1 there is 2 alone."""
    create = "CREATE STREAM s (k VARCHAR, a INTEGER, c INTEGER, d VARCHAR)"
    arrivals = [
        (0, ("x", 1, 2, "1")), (0, ("y", 2, 2, "1")), (2, ("x", 2, 1, "1")), (2, ("x", 1, 1, "2")),
        (4, ("x", 2, None, None)), (4, ("y", 1, 1, "1")),
    ]  # fmt: skip
    query = (
        "SELECT k, count(DISTINCT a) AS a, sum(DISTINCT c) AS c, "
        "count(DISTINCT a) FILTER (WHERE a > 1) AS above, count(DISTINCT d) AS d, count(*) AS n "
        f"FROM s {window} GROUP BY k"
    )
    assert [
        ("x", 1, 2, 0, 1, 1, 0, 1),
        ("y", 1, 2, 1, 1, 1, 0, 1),
        ("x", 1, 2, 0, 1, 1, 2, -1),
        ("x", 2, 3, 1, 2, 3, 2, 1),
        ("x", 2, 3, 1, 2, 3, 4, -1),
        ("y", 1, 2, 1, 1, 1, 4, -1),
        ("x", 2, 3, 1, 2, 4, 4, 1),
        ("y", 2, 3, 1, 1, 2, 4, 1),
    ] == play(create, query, {"s": arrivals}, 8)


@pytest.mark.parametrize("window", ["", "[RANGE 9]"])
def test_one_value_under_conditions_of_which_each_alone_may_hold(window: str) -> None:
    """1 comes below 5 alone, 2 under either condition, 3 above 5 alone, 4 under none."""
    create = "CREATE STREAM s (a INTEGER, c INTEGER)"
    arrivals = [(0, (1, 1)), (0, (4, 5)), (1, (2, 9)), (2, (3, 9)), (2, (2, 2)), (2, (None, 9))]
    query = (
        "SELECT count(DISTINCT a) FILTER (WHERE c < 5) AS below, "
        f"count(DISTINCT a) FILTER (WHERE c > 5) AS above FROM s {window}"
    )
    assert [
        (1, 0, 0, 1),
        (1, 0, 1, -1),
        (1, 1, 1, 1),
        (1, 1, 2, -1),
        (2, 2, 2, 1),
    ] == play(create, query, {"s": arrivals}, 4)


@pytest.mark.parametrize("staged", [False, True])
def test_of_one_instant_the_last_arrival_of_each_partition_stays(staged: bool) -> None:
    with cqlduck.connect() as con:
        choices.force_stages(con, staged)
        con.execute(
            f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a, b FROM s [PARTITION BY b ROWS 1];"
            "CREATE CONTINUOUS QUERY last AS SELECT a, b FROM s [ROWS 1]"
        )
        for instant, rows in enumerate(
            [[(1, "x"), (2, None), (3, "x")], [(4, None), (5, "y"), (4, None)], [(6, "x")], []]
        ):
            con.append("s", rows, at=instant)
            con.advance(instant)
        assert [
            (2, None, 0, 1),
            (3, "x", 0, 1),
            (2, None, 1, -1),
            (4, None, 1, 1),
            (5, "y", 1, 1),
            (3, "x", 2, -1),
            (6, "x", 2, 1),
        ] == elements(con)
        assert [
            (3, "x", 0, 1),
            (3, "x", 1, -1),
            (4, None, 1, 1),
            (4, None, 2, -1),
            (6, "x", 2, 1),
        ] == elements(con, "last")


def test_of_several_new_rows_the_first_pushes_the_old_one_out() -> None:
    with cqlduck.connect() as con:
        con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a, b FROM s [PARTITION BY b ROWS 1]")
        rows = [(1, (1, None)), (1, (2, "x")), (1, (3, "y"))]
        rows += [(2, (4, None)), (2, (5, "x")), (3, (6, None)), (5, (7, None)), (5, (8, None))]
        for since, until in [(0, 1), (1, 5)]:
            put(con, {"s": rows}, since, until)
            con.advance(until)
        assert [
            *[(1, None, 1, 1), (2, "x", 1, 1), (3, "y", 1, 1)],
            *[(1, None, 2, -1), (2, "x", 2, -1), (4, None, 2, 1), (5, "x", 2, 1)],
            *[(4, None, 3, -1), (6, None, 3, 1), (6, None, 5, -1), (8, None, 5, 1)],
        ] == elements(con)
        assert con.table("q").order("a").fetchall() == [(3, "y"), (5, "x"), (8, None)]


@pytest.mark.parametrize("staged", [False, True])
def test_what_several_joins_read_is_not_cut_by_the_conditions_of_one(staged: bool) -> None:
    with cqlduck.connect() as con:
        choices.force_stages(con, staged)
        con.execute(
            f"{S}; CREATE STREAM u (c INTEGER); CREATE CONTINUOUS QUERY q AS "
            "SELECT a, b FROM s [RANGE 9], u [RANGE 9] WHERE a = c AND b = 'x' "
            "UNION ALL SELECT a, b FROM s [RANGE 9], u [RANGE 9] WHERE a = c"
        )
        con.append("u", [(1,), (2,)], at=0)
        con.advance(0)
        con.append("s", [(1, "x"), (2, "y")], at=1)
        con.advance(1)
        assert [(2, "y", 1, 1), (1, "x", 1, 2)] == elements(con)


def test_a_condition_about_another_input_is_not_in_a_stage() -> None:
    with cqlduck.connect() as con:
        choices.force_stages(con, True)
        con.execute(
            f"{S}; CREATE STREAM u (c INTEGER, d INTEGER); CREATE CONTINUOUS QUERY q AS "
            "SELECT a, d FROM s [RANGE 9], u [RANGE 9] WHERE a = c AND d IS NULL AND b = 'x'"
        )
        con.append("u", [(1, None), (2, 5)], at=0)
        con.advance(0)
        con.append("s", [(1, "x"), (2, "x"), (1, "y")], at=1)
        con.advance(1)
        assert [(1, None, 1, 1)] == elements(con)


def test_a_window_stands_on_a_named_query_that_yields_a_stream() -> None:
    """Istream of the last x is a stream; ROWS 1 on it keeps its last element."""
    queries = {
        "last": "SELECT Istream(a) FROM s [ROWS 1 WHERE b = 'x']",
        "q": "SELECT a FROM last [RANGE 1]",
    }
    assert [
        (1, 1, 1),
        (3, 2, 1),
        (1, 3, -1),
        (3, 4, -1),
        (5, 6, 1),
        (5, 8, -1),
    ] == play(S, queries, {"s": INTO_S}, 9)


def test_a_subquery_under_a_window_gets_istream() -> None:
    """(SELECT a FROM s [ROWS 1]) [NOW] is the Istream of that relation, seen for an instant."""
    implicit = "SELECT a FROM (SELECT a FROM s [ROWS 1]) [NOW]"
    explicit = "SELECT a FROM (SELECT Istream(a) FROM s [ROWS 1]) [NOW]"
    expected = ["", "1", "3", "", "4", "", "5", ""]
    assert expected == contents(S, implicit, {"s": INTO_S}, 7)
    assert expected == contents(S, explicit, {"s": INTO_S}, 7)


def test_a_sample_keeps_the_elements_that_a_hash_of_their_numbers_says() -> None:
    """Of the numbers 0, 1, …; the lowest n of a hundred, whatever the tuples are."""
    arrivals = [(i // 12, (i, "x")) for i in range(60)]
    kept = [i for i in range(60) if reference.mixed("s", i) < 2**32 // 4]
    assert 8 <= len(kept) <= 22
    for query in (
        "SELECT a FROM s 25% SAMPLE",
        "SELECT x.a FROM s AS x 25% SAMPLE [RANGE UNBOUNDED]",
        "SELECT a FROM s [ROWS UNBOUNDED] 25% SAMPLE",
        "SELECT a FROM s 25.0% SAMPLE",
    ):
        assert [(i, i // 12, 1) for i in kept] == sorted(play(S, query, {"s": arrivals}, 6)), query
    everything = sorted(play(S, "SELECT a FROM s 100% SAMPLE", {"s": arrivals}, 6))
    assert [(i, i // 12, 1) for i in range(60)] == everything


def test_a_sample_is_taken_before_the_window() -> None:
    """`[ROWS 2]` holds the last two that were kept, and a WHERE in it comes after the sample."""
    arrivals = [(i // 2, (i, "x" if i % 2 else "y")) for i in range(30)]
    kept = [row[0] for row in play(S, "SELECT a FROM s 30% SAMPLE", {"s": arrivals}, 16)]
    last = {row[0] for row in play(S, "SELECT a FROM s 30% SAMPLE [ROWS 2]", {"s": arrivals}, 16)}
    assert set(kept) == last
    odd = play(S, "SELECT Istream(a) FROM s 30% SAMPLE [ROWS 1 WHERE b = 'x']", {"s": arrivals}, 16)
    assert [i for i in kept if i % 2] == [row[0] for row in odd]


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    arrivals = [(0, (i, "x")) for i in range(100)]
    shares = [
        {row[0] for row in play(S, f"SELECT a FROM s {n}% SAMPLE", {"s": arrivals}, 1)}
        for n in (1, 10, 50, 99.5)
    ]
    assert shares[0] < shares[1] < shares[2] < shares[3]


def test_a_sample_of_a_derived_stream_goes_by_instant_and_place() -> None:
    """Of a named query and of a subquery, which has its alias for a name."""
    arrivals = [(i // 4, (i, "x")) for i in range(40)]
    queries = {"n": "SELECT Istream(a + 1 AS a) FROM s [ROWS 3]", "q": "SELECT a FROM n 50% SAMPLE"}
    derived = [(i // 4, (i + 1,)) for i in range(40)]
    # of each instant's four only the last three are ever in the window
    derived = [(ts, row) for ts, row in derived if (row[0] - 1) % 4]
    expected = reference.sampled(derived, reference.Sampled(50, "n"), True)
    found = play(S, queries, {"s": arrivals}, 12)
    assert [(row[0], ts, 1) for ts, row in expected] == sorted(found)
    text = "SELECT t.a FROM (SELECT Istream(a + 1 AS a) FROM s [ROWS 3]) 50% SAMPLE t"
    expected = reference.sampled(derived, reference.Sampled(50, "t"), True)
    found = play(S, text, {"s": arrivals}, 12)
    assert [(row[0], ts, 1) for ts, row in expected] == sorted(found)


def test_a_sample_of_a_relation_is_an_error_that_says_so(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (a INTEGER)")
    text = "CREATE CONTINUOUS QUERY q AS SELECT a FROM r 10% SAMPLE"
    refused(lambda: con.execute(text), cqlduck.BindError, "r is a relation", "sample")


@pytest.mark.parametrize("source", ["r", "counted"])
def test_a_window_on_a_relation_is_an_error_that_says_so(
    source: str, con: cqlduck.Connection
) -> None:
    """A relation, and a named query that yields one, have no elements to window."""
    con.execute(f"{S}; {R}; CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS a FROM s")
    text = f"CREATE CONTINUOUS QUERY q AS SELECT a FROM {source} [ROWS 5]"
    refused(lambda: con.execute(text), cqlduck.BindError, "relation", source)


# --------------------------------------------------------------------- relation to relation, stream


def test_division_of_integers_is_a_double_and_union_is_a_set() -> None:
    """Between the streams it is DuckDB's SQL."""
    inputs = {"s": [(1, (1, "x")), (1, (1, "x"))]}
    assert [(0.5, 1, 1), (0.5, 2, -1)] == play(
        S,
        "SELECT a / 2 AS h FROM s [NOW] UNION SELECT a / 2 AS h FROM s [RANGE 0]",
        inputs,
        3,
    )
    assert [(1, 1, 4), (1, 2, -4)] == play(
        S, "SELECT a FROM s [NOW] UNION ALL SELECT a FROM s [RANGE 0]", inputs, 3
    )


def test_a_union_of_what_only_grows_has_what_both_inputs_have_once() -> None:
    inputs = {"s": [(1, (1, "x")), (2, (2, "x"))], "t": [(1, (1, "y")), (3, (2, "y"))]}
    create = f"{S}; CREATE STREAM t (a INTEGER, b VARCHAR)"
    text = "SELECT a FROM s UNION SELECT a FROM t"
    assert [(1, 1, 1), (2, 2, 1)] == play(create, text, inputs, 3)


def test_aggregates_ignore_nulls_and_group_them() -> None:
    """DuckDB's meaning at every instant: count(x) and avg pass over NULL, GROUP BY does not."""
    create = "CREATE STREAM s (k INTEGER, x INTEGER)"
    into = [(1, (None, 4)), (1, (None, None)), (2, (7, None)), (3, (7, 6)), (3, (None, 2))]
    text = "SELECT k, count(*) AS n, count(x) AS c, sum(x) AS t, avg(x) AS m, max(x) AS h"
    assert [
        (None, 2, 1, 4, 4.0, 4, 1, 1),
        (7, 1, 0, None, None, None, 2, 1),
        (7, 1, 0, None, None, None, 3, -1),
        (None, 2, 1, 4, 4.0, 4, 3, -1),
        (7, 2, 1, 6, 6.0, 6, 3, 1),
        (None, 1, 1, 2, 2.0, 2, 3, 1),
        (7, 2, 1, 6, 6.0, 6, 4, -1),
        (7, 1, 1, 6, 6.0, 6, 4, 1),
        (7, 1, 1, 6, 6.0, 6, 5, -1),
        (None, 1, 1, 2, 2.0, 2, 5, -1),
    ] == sorted(
        play(create, f"{text} FROM s [RANGE 1] GROUP BY k", {"s": into}, 6),
        key=lambda row: (row[-2], row[-1], row[0] is None),
    )


def test_a_value_that_becomes_null_or_ceases_to_be_is_a_change() -> None:
    """The group stays, and its sum goes from NULL to 6 and back."""
    create = "CREATE STREAM s (k INTEGER, x INTEGER)"
    into = [(1, (7, None)), (2, (7, 6)), (3, (7, None)), (4, (7, None))]
    assert [
        (7, None, 1, 1),
        (7, None, 2, -1),
        (7, 6, 2, 1),
        (7, 6, 4, -1),
        (7, None, 4, 1),
        (7, None, 6, -1),
    ] == play(create, "SELECT k, sum(x) AS t FROM s [RANGE 1] GROUP BY k", {"s": into}, 7)


@pytest.mark.parametrize("name", ["max", "median", "list"])
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        # Of group 1 come 9 at 1, 5 at 2, 2 and 1 at 4; of group 2 come 3 at 2, 8 at 3.
        ("RANGE 1", {1: [9], 2: [9, 5], 3: [5], 4: [2, 1], 5: [2, 1], 6: []}),
        ("RANGE 2 SLIDE 2", {1: [], 2: [9, 5], 4: [5, 2, 1], 6: [2, 1], 8: []}),
        ("HOP 4 EVERY 2", {2: [9], 4: [9, 5], 6: [5, 2, 1], 8: [2, 1]}),
        ("PARTITION BY k ROWS 2", {1: [9], 2: [9, 5], 4: [2, 1]}),
        ("PARTITION BY v ROWS 2", {1: [9], 2: [9, 5], 4: [9, 5, 2, 1]}),
        ("ROWS 3", {1: [9], 2: [9, 5], 3: [5], 4: [2, 1]}),
    ],
)
def test_aggregates_without_a_running_sum(
    window: str, name: str, expected: dict[int, list[int]]
) -> None:
    """max, median and list at every instant are those of the tuples that the window holds."""
    create = "CREATE STREAM s (k INTEGER, v INTEGER)"
    into = [(1, (1, 9)), (2, (1, 5)), (2, (2, 3)), (3, (2, 8)), (4, (1, 2)), (4, (1, 1))]
    call = {"max": max, "median": statistics.median, "list": sorted}[name]
    text = f"SELECT {name}(v) AS x FROM s [{window}] WHERE k = 1 GROUP BY k"
    if "PARTITION" in window:
        # Without a condition above the window its groups are frames of the log.
        text = f"SELECT k, {name}(v) AS x FROM s [{window}] GROUP BY k"
    changes: Elements = []
    before: list[int] = []
    for instant, held in expected.items():
        if not before or not held or call(before) != call(held):
            changes += [(call(before), instant, -1)] if before else []
            changes += [(call(held), instant, 1)] if held else []
        before = held
    found = play(create, text, {"s": into}, 9)
    assert changes == [row[-3:] for row in found if len(row) == 3 or row[0] == 1]


def test_a_scalar_subquery_has_a_value_at_every_instant() -> None:
    """Each tuple and how many of its kind came in this instant or the last; none is 0, not NULL."""
    like = "SELECT a, (SELECT count(*) FROM s [RANGE 1] y WHERE y.b = x.b) AS n FROM s [NOW] x"
    assert [
        (1, 1, 1, 1),
        (1, 1, 2, -1),
        (2, 1, 2, 1),
        (3, 2, 2, 1),
        (2, 1, 3, -1),
        (3, 2, 3, -1),
        (4, 1, 4, 1),
        (4, 1, 5, -1),
        (5, 1, 6, 1),
    ] == play(S, like, {"s": INTO_S}, 6)
    none = "SELECT Istream(a, (SELECT count(*) FROM r WHERE r.b = s.b) AS n) FROM s"
    expected = [(1, 0, 1, 1), (2, 0, 2, 1), (3, 0, 2, 1), (4, 0, 4, 1), (5, 0, 6, 1)]
    assert expected == play(f"{S}; {R}", none, {"s": INTO_S, "r": []}, 6)
    above = "SELECT Istream(a) FROM s [NOW] WHERE a > (SELECT avg(a) FROM s [ROWS 3])"
    # 1 is not above 1; 3 is above 2; 4 above 3; 5 above 4
    assert [(3, 2, 1), (4, 4, 1), (5, 6, 1)] == play(S, above, {"s": INTO_S}, 6)


def test_a_join_is_exact_where_both_sides_change() -> None:
    """R1(τ) ⋈ R2(τ): with insertions and deletions on both sides, at one instant and apart."""
    create = f"{R}; CREATE RELATION p (a INTEGER, c VARCHAR)"
    inputs = {
        "r": [(1, "+", (1, "x")), (1, "+", (1, "x")), (3, "-", (1, "x")), (5, "+", (1, "y")),
              (7, "-", (1, "x")), (7, "-", (1, "y"))],
        "p": [(2, "+", (1, "u")), (3, "+", (1, "v")), (5, "-", (1, "u")), (7, "-", (1, "v")),
              (7, "+", (1, "w"))],
    }  # fmt: skip
    assert [
        ("x", "u", 2, 2),
        ("x", "u", 3, -1),
        ("x", "v", 3, 1),
        ("x", "u", 5, -1),
        ("y", "v", 5, 1),
        ("x", "v", 7, -1),
        ("y", "v", 7, -1),
    ] == play(create, "SELECT r.b, p.c FROM r, p WHERE r.a = p.a", inputs, 9)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        # ROWS 2 holds: nothing, 1, 23, 23, 34, 34, 45
        ("Istream", [(1, 1, 1), (2, 2, 1), (3, 2, 1), (4, 4, 1), (5, 6, 1)]),
        ("Dstream", [(1, 2, 1), (2, 4, 1), (3, 6, 1)]),
        (
            "Rstream",
            [(1, 1, 1), (2, 2, 1), (3, 2, 1), (2, 3, 1), (3, 3, 1), (3, 4, 1), (4, 4, 1),
             (3, 5, 1), (4, 5, 1), (4, 6, 1), (5, 6, 1)],
        ),
    ],
)  # fmt: skip
def test_relation_to_stream_at_every_instant(operator: str, expected: Elements) -> None:
    """Istream is R(τ) − R(τ−1), Dstream R(τ−1) − R(τ), Rstream R(τ) at every instant."""
    for text in (
        f"SELECT {operator}(a) FROM s [ROWS 2]",
        f"{operator}(SELECT a FROM s [ROWS 2])",
        f"SELECT {operator}(*) FROM (SELECT a FROM s [ROWS 2])",
    ):
        assert expected == play(S, text, {"s": INTO_S}, 6)


def test_rstream_begins_and_goes_on_where_nothing_happens() -> None:
    """A row over nothing is repeated from instant 0 on, at instants without elements too."""
    assert [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 3, 1), (1, 4, 1), (0, 5, 1)] == play(
        S, "SELECT Rstream(count(*) AS n) FROM s [RANGE 1]", {"s": [(3, (1, "x"))]}, 5
    )


def test_what_is_replaced_by_its_like_is_in_neither_istream_nor_dstream() -> None:
    """Bags are subtracted: a tuple that leaves as an equal one comes is no change."""
    into = [(1, (7, "x")), (3, (7, "x")), (4, (8, "x"))]
    assert [(7, 1, 1), (8, 4, 1)] == play(S, "SELECT Istream(a) FROM s [ROWS 1]", {"s": into}, 5)
    assert [(7, 4, 1)] == play(S, "SELECT Dstream(a) FROM s [ROWS 1]", {"s": into}, 5)


def test_the_operator_applies_to_distinct_having_and_limit() -> None:
    """It stands around the whole SELECT: what it compares is the result of all clauses."""
    into = [(1, (7, "x")), (2, (7, "y")), (3, (8, "x")), (4, (9, "x"))]
    assert [(7, 1, 1), (8, 3, 1), (9, 4, 1)] == play(
        S, "SELECT Istream(DISTINCT a) FROM s [ROWS 2]", {"s": into}, 5
    )
    # x is alone twice from 4 on, y never.
    assert [("x", 4, 1)] == play(
        S,
        "SELECT Istream(b) FROM s [ROWS 2] GROUP BY b HAVING count(*) = 2",
        {"s": into},
        5,
    )
    # The least of the last two: 7, 7, 7, 8.
    assert [(7, 1, 1), (8, 4, 1)] == play(
        S, "SELECT Istream(a) FROM s [ROWS 2] ORDER BY a LIMIT 1", {"s": into}, 5
    )


def test_order_by_alone_only_orders_what_table_shows(con: cqlduck.Connection) -> None:
    """The relation, and so its elements, are the same without it."""
    query = "SELECT a FROM s [ROWS 3]"
    con.execute(f"""
        {S};
        CREATE CONTINUOUS QUERY q AS {query} ORDER BY a DESC;
        CREATE CONTINUOUS QUERY plain AS {query};
    """)
    put(con, {"s": INTO_S}, None, 9)
    con.advance(9)
    assert [(5,), (4,), (3,)] == con.table("q").fetchall()
    assert elements(con, "plain") == elements(con, "q")


def test_rstream_on_wall_clock_time_needs_a_now_or_a_granularity() -> None:
    """A standing relation would come again at every microsecond; a [NOW] tuple comes once."""
    create = f"{S}; {R}"
    standing = "SELECT Rstream(a) FROM s [RANGE 1 HOUR]"
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (a INTEGER, t TIMESTAMP) TIMESTAMP BY t")
        text = f"CREATE CONTINUOUS QUERY q AS {standing}"
        refused(lambda: con.execute(text), cqlduck.NotSupportedError, "granularity")
    noon = at("2013-01-01 12:00")
    inputs = {"r": [(noon, "+", (1, "z"))], "s": [(noon + dt.timedelta(hours=1), (1, "x"))]}
    assert [(1, "z", noon + dt.timedelta(hours=1), 1)] == play(
        create,
        "SELECT Rstream(s.a, r.b) FROM s [NOW], r WHERE s.a = r.a",
        inputs,
        noon + dt.timedelta(hours=2),
    )
    assert [(1, noon + dt.timedelta(hours=h), 1) for h in (1, 2)] == play(
        create, standing, inputs, noon + dt.timedelta(hours=4), granularity="1 hour"
    )


NEEDS_NOW = [
    "SELECT Rstream(DISTINCT a) FROM s [NOW]",
    "SELECT Rstream(a, count(*) AS n, max(b) AS m) FROM s [NOW] GROUP BY a",
    "SELECT Rstream(a, n) FROM (SELECT a, count(*) AS n FROM s [NOW] GROUP BY a) AS x WHERE n < 2",
    "SELECT Rstream(a) FROM (SELECT a FROM s [NOW] UNION SELECT b FROM s [NOW]) AS x",
    "SELECT Rstream(a) FROM (SELECT a FROM s [NOW] EXCEPT SELECT b FROM s [NOW]) AS x",
    "SELECT Rstream(r.a) FROM r WHERE EXISTS (SELECT 1 FROM s [NOW] WHERE s.a = r.a)",
    "SELECT Rstream(r.a, x.n) FROM r, (SELECT a, count(*) AS n FROM s [NOW] GROUP BY a) AS x "
    "WHERE r.a = x.a",
]


@pytest.mark.parametrize("text", NEEDS_NOW)
@pytest.mark.parametrize("cuts", [(), (3,), (1, 2, 3, 10**7, 10**12)])
def test_rstream_of_what_needs_now_costs_what_comes(text: str, cuts: tuple[int, ...]) -> None:
    """At each instant of integer time, and over weeks of microseconds in one tick."""
    base = dt.datetime(2020, 1, 1)
    elements = [(1, 2, 0), (1, 3, 0), (2, 1, 1), (1, 3, 2), (1, 1, 3), (2, 2, 3), (1, 1, 50)]
    far = [(1, 1, 10**12), (1, 1, 10**12 + 1), (3, 1, 2 * 10**12)]
    found = []
    for is_wall in (False, True):

        def when(instant: int, is_wall: bool = is_wall) -> object:
            return base + dt.timedelta(microseconds=instant) if is_wall else instant

        mine = [*elements, *far] if is_wall else elements
        with cqlduck.connect() as con:
            kind = "TIMESTAMP" if is_wall else "BIGINT"
            con.execute(f"CREATE STREAM s (a INTEGER, b INTEGER, t {kind}) TIMESTAMP BY t; "
                        "CREATE RELATION r (a INTEGER)")  # fmt: skip
            con.append("r", [(1,), (1,), (2,)], at=when(0))
            con.heartbeat("r", when(3 * 10**12))
            con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
            con.append("s", [(a, b, when(t)) for a, b, t in mine])
            for cut in (*cuts, 3 * 10**12) if is_wall else (99,):
                con.advance(when(cut))
            assert len(cuts) + 1 >= con.sql("SELECT count(*) FROM cql.ticks").fetchall()[0][0]
            rows = con.changes("q").fetchall()
        if is_wall:
            rows = [(*row[:-2], (row[-2] - base) // dt.timedelta(microseconds=1), row[-1])
                    for row in rows]  # fmt: skip
        found.append(sorted(row for row in rows if row[-2] < 99))
    assert found[0] == found[1] != []
    assert rows[-1][-2] >= 10**12


@pytest.mark.parametrize(
    ("standing", "hint", "instead"),
    [
        ("Rstream(SELECT a FROM s [NOW] ORDER BY a LIMIT 1)", "write Istream",
         "Istream(SELECT a FROM s [NOW] ORDER BY a LIMIT 1)"),
        ("SELECT Rstream(a, row_number() OVER (ORDER BY a) AS n) FROM s [NOW]", "write Istream",
         "SELECT Istream(a, row_number() OVER (ORDER BY a) AS n) FROM s [NOW]"),
        ("SELECT Rstream(count(*)) FROM s [NOW]", "GROUP BY something",
         "SELECT Rstream(count(*)) FROM s [NOW] GROUP BY t"),
        ("SELECT Rstream(a) FROM r", "join with a [NOW] window",
         "SELECT Rstream(a) FROM r JOIN s [NOW] USING (a)"),
    ],
)  # fmt: skip
def test_what_an_rstream_at_microseconds_is_refused_for_has_a_way_round(
    standing: str, hint: str, instead: str
) -> None:
    """What the hint says is accepted, and a granularity helps all of them."""
    inputs = (
        "CREATE STREAM s (a INTEGER, t TIMESTAMP) TIMESTAMP BY t; CREATE RELATION r (a INTEGER)"
    )
    with cqlduck.connect() as con:
        con.execute(inputs)
        text = f"CREATE CONTINUOUS QUERY q AS {standing}"
        refused(lambda: con.execute(text), cqlduck.NotSupportedError, hint, "granularity")
        con.execute(f"CREATE CONTINUOUS QUERY q AS {instead}")
    with cqlduck.connect(granularity="1 second") as con:
        con.execute(f"{inputs}; {text}")


# ---------------------------------------------------------------------------------------- defaults


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT a FROM s WHERE a > 1", "stream"),
        ("SELECT s.a FROM s, u WHERE s.a = u.a", "stream"),
        ("SELECT DISTINCT a FROM s [ROWS UNBOUNDED]", "stream"),
        ("SELECT a FROM s UNION SELECT a FROM u", "stream"),
        ("SELECT a FROM s WHERE a IN (SELECT a FROM u)", "stream"),
        ("SELECT a FROM s WHERE EXISTS (SELECT 1 FROM u WHERE u.a = s.a)", "stream"),
        ("SELECT a FROM s [RANGE 5]", "relation"),
        ("SELECT a FROM s [ROWS 5]", "relation"),
        ("SELECT s.a FROM s, u [NOW] WHERE s.a = u.a", "relation"),
        ("SELECT s.a FROM s, r WHERE s.a = r.a", "relation"),
        ("SELECT count(*) AS n FROM s", "relation"),
        ("SELECT max(a) AS m FROM s GROUP BY b", "relation"),
        ("SELECT a FROM s EXCEPT SELECT a FROM u", "relation"),
        ("SELECT a FROM s WHERE a NOT IN (SELECT a FROM u)", "relation"),
        ("SELECT a FROM s ORDER BY a LIMIT 2", "relation"),
        ("SELECT s.a FROM s LEFT JOIN u ON s.a = u.a", "relation"),
    ],
)
def test_monotonic_queries_yield_their_istream_and_all_others_a_relation(
    text: str, kind: str, con: cqlduck.Connection
) -> None:
    """Unbounded streams under projection, WHERE, inner join, DISTINCT, UNION, IN, EXISTS alone."""
    con.execute(f"{S}; {R}; CREATE STREAM u (a INTEGER, b VARCHAR)")
    con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
    assert [(kind,)] == con.sql("SELECT kind FROM cql.queries").fetchall()


# -------------------------------------------------------------------------------------- heartbeats


def test_a_heartbeat_promises_that_nothing_at_or_before_it_comes(con: cqlduck.Connection) -> None:
    """After the heartbeat 5 an element at 5 is late and one at 6 is not."""
    con.execute(S)
    con.heartbeat("s", 5)
    refused(lambda: con.append("s", [(1, "x")], at=5), cqlduck.LateError)
    assert 1 == con.append("s", [(1, "x")], at=6)


@pytest.mark.parametrize(("bound", "frontier"), [("", 9), ("OUT OF ORDER WITHIN 3", 6)])
def test_a_stream_gives_itself_the_heartbeat_m_less_b_less_1(
    bound: str, frontier: int, con: cqlduck.Connection
) -> None:
    """After timestamp 10 and with the bound b, all before 10 − b is closed, and 10 − b is not."""
    con.execute(f"""
        CREATE STREAM s (t INTEGER) TIMESTAMP BY t {bound};
        CREATE CONTINUOUS QUERY q AS SELECT t FROM s [NOW];
    """)
    con.append("s", [(10,)])
    assert frontier == con.advance()
    # What is late is judged element by element: the first 12 lets the second one be no earlier.
    refused(lambda: con.append("s", [(12,), (frontier + 2,)]), cqlduck.LateError, "row 1")
    refused(lambda: con.append("s", [(frontier,)]), cqlduck.LateError)
    assert 1 == con.append("s", [(frontier + 1,)])
    assert 2 == con.append("s", [(12,), (frontier + 3,)])


def test_lower_heartbeats_are_ignored(con: cqlduck.Connection) -> None:
    """A promise that was given stands."""
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s [NOW]")
    con.heartbeat("s", 7)
    con.heartbeat("s", 3)
    assert 7 == con.advance()
    assert 7 == con.advance(5)


def test_the_frontier_is_the_smallest_heartbeat_and_relations_never_hold_it_back(
    con: cqlduck.Connection,
) -> None:
    """Two streams, and a relation that nobody has said anything about."""
    con.execute(f"""
        {S}; {R}; CREATE STREAM u (a INTEGER);
        CREATE CONTINUOUS QUERY q AS
            SELECT s.a FROM s [NOW], u [ROWS 1], r WHERE s.a = u.a AND u.a = r.a;
    """)
    con.heartbeat("s", 8)
    assert con.advance() is None
    con.heartbeat("u", 5)
    assert 5 == con.advance()
    con.heartbeat("u", 11)
    assert 8 == con.advance()


def test_answers_exist_up_to_the_frontier_and_never_change(con: cqlduck.Connection) -> None:
    """As of 3 stays what it was when time goes on; as of what is not closed is an error."""
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s [RANGE 2]")
    put(con, {"s": INTO_S}, None, 9)
    con.advance(3)
    before = con.as_of("q", 3).order("a").fetchall()
    assert [(1,), (2,), (3,)] == before
    refused(lambda: con.as_of("q", 4), cqlduck.DataError, "frontier")
    con.advance(9)
    assert before == con.as_of("q", 3).order("a").fetchall()


# -------------------------------------------------------------------------------------------- late


def test_late_elements_are_rejected_with_all_that_came_with_them(con: cqlduck.Connection) -> None:
    """REJECT is the default: nothing is taken, and the error names the rows."""
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    con.heartbeat("s", 5)
    rows = [(1, "x"), (2, "x"), (3, "x")]
    error = refused(lambda: con.append("s", rows, at=[6, 5, 7]), cqlduck.LateError, "row 1")
    assert isinstance(error, cqlduck.LateError)
    assert [1] == error.rows
    con.advance(9)
    assert [] == elements(con)


@pytest.mark.parametrize(
    ("policy", "recorded"),
    [
        ("DROP", [("s", "5", "late, dropped", 2, None)]),
        (
            "KEEP",
            [("s", "4", "late", 1, "{'a': 4, 'b': z}"), ("s", "5", "late", 1, "{'a': 2, 'b': x}")],
        ),
    ],
)
def test_late_elements_are_counted_or_stored(
    policy: str, recorded: Elements, con: cqlduck.Connection
) -> None:
    """DROP counts them and KEEP stores them in cql.late; both take the others."""
    con.execute(f"{S} LATE {policy}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    con.heartbeat("s", 5)
    assert 1 == con.append("s", [(1, "x"), (2, "x"), (4, "z")], at=[6, 5, 4])
    con.advance(9)
    assert [(1, 6, 1)] == elements(con)
    listed = "input, instant, reason, occurrences, element"
    assert recorded == con.sql(f"SELECT {listed} FROM cql.late ORDER BY 2").fetchall()


# ------------------------------------------------------------------------ rules that close the gaps


def test_what_came_before_a_query_neither_stands_nor_leaves() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER)")
        # somebody else needs what came, so it is kept
        con.execute("CREATE CONTINUOUS QUERY other AS SELECT k FROM s [RANGE 9]")
        con.append("s", [(1,)], at=4)
        con.advance(5)
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 3]")
        con.append("s", [(2,)], at=6)
        con.advance(20)
        assert [(2, 6, 1), (2, 10, -1)] == con.changes("q").fetchall()


def test_a_query_begins_after_the_frontier_with_relations_as_they_are(
    con: cqlduck.Connection,
) -> None:
    """Registered at 4: r as it is, with what it holds since 1; of s only what comes after 4."""
    con.execute(f"{S}; {R}; CREATE CONTINUOUS QUERY first AS SELECT a FROM s [NOW]")
    con.append("r", [(1, "z"), (2, "z")], at=1)
    con.retract("r", [(2, "z")], at=3)
    con.append("s", [(1, "early"), (1, "last")], at=[2, 4])
    con.advance(4)
    con.execute("""
        CREATE CONTINUOUS QUERY q AS
            SELECT s.b AS x, r.b AS y FROM s [RANGE UNBOUNDED] s, r WHERE s.a = r.a;
        CREATE CONTINUOUS QUERY kept AS SELECT a FROM r WHERE a > 0;
        CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS n FROM s [RANGE 9];
    """)
    con.append("s", [(1, "late")], at=6)
    con.advance(8)
    assert [("late", "z", 6, 1)] == elements(con)
    assert [(1, 5, 1)] == elements(con, "kept")
    assert [(0, 5, 1), (0, 6, -1), (1, 6, 1)] == elements(con, "counted")
    # a query is a relation like any other
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT a FROM kept")
    con.advance(10)
    assert [(1, 9, 1)] == elements(con, "above")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM s [NOW] LIMIT 2", [(1, 2)]),
        ("SELECT a, row_number() OVER () AS n FROM s [NOW]", [(1, 1, 1), (1, 2, 1), (2, 3, 1)]),
        ("SELECT first(a) AS f, last(b) AS l FROM s [NOW]", [(1, None, 1)]),
        ("SELECT arg_max(a, 0) AS m FROM s [NOW]", [(1, 1)]),
        ("SELECT list(a) AS l FROM s [NOW]", [([1, 1, 2], 1)]),
        ("SELECT mode(b) AS m FROM s [NOW]", [("x", 1)]),
        ("SELECT DISTINCT ON (a) a, b FROM s [NOW]", [(1, "x", 1), (2, None, 1)]),
        ("SELECT a FROM (SELECT Istream(a, b) FROM s [NOW]) [ROWS 1]", [(2, 1)]),
        ("SELECT b FROM (SELECT Istream(b) FROM s [NOW]) [ROWS 1]", [(None, 1)]),
        # The columns that nobody reads are columns too: the last is (1, 2), and then (2, 0).
        ("SELECT c FROM (SELECT Istream(a, 2 - a AS c) FROM s [NOW]) [ROWS 1]", [(0, 1)]),
    ],
)
def test_ties_are_broken_by_all_columns_nulls_last(text: str, expected: Elements) -> None:
    """Row numbers, LIMIT, first, arg_max, list, mode, DISTINCT ON, ROWS on a derived stream.

    The tuples come in the order (2, NULL), (1, y), (1, x); by all columns it is the reverse.
    """
    into = [(1, (2, None)), (1, (1, "y")), (1, (1, "x"))]
    found = [row for row in play(S, text, {"s": into}, 1) if row[-2] == 1 and row[-1] > 0]
    wanted = [(*row[:-1], 1, row[-1]) for row in expected]
    assert sorted(map(repr, wanted)) == sorted(map(repr, found))


def test_a_named_stream_keeps_the_columns_that_break_its_ties() -> None:
    """Of (1, 2 − 1), (1, 1) and (2, 0) the last is (2, 0), though nobody reads the first column."""
    into = [(1, (2, None)), (1, (1, "y")), (1, (1, "x"))]
    named = {"i": "SELECT Istream(a, 2 - a AS c) FROM s [NOW]", "q": "SELECT c FROM i [ROWS 1]"}
    assert [(0, 1, 1)] == play(S, named, {"s": into}, 1)


def test_a_weight_of_k_is_k_tuples() -> None:
    """Three equal tuples of a derived stream fill a window of three rows."""
    into = [(1, (1, "x")), (1, (1, "x")), (1, (2, "x")), (2, (0, "x"))]
    text = "SELECT a FROM (SELECT Istream(a) FROM s [NOW]) [ROWS 3]"
    assert ["", "112", "012"] == contents(S, text, {"s": into}, 2)
    named = {"i": "SELECT Istream(a) FROM s [NOW]", "q": "SELECT a, count(*) FROM i GROUP BY a"}
    assert [(0, 1, 2, 1), (1, 2, 1, 1), (2, 1, 1, 1)] == sorted(play(S, named, {"s": into}, 2))
    numbered = {
        "i": "SELECT a, b FROM s [RANGE UNBOUNDED] WHERE a > 0 UNION ALL SELECT a, b FROM s [NOW]",
        "q": "SELECT Istream(a, row_number() OVER (ORDER BY a) AS n) FROM i",
    }
    found = [row for row in play(S, numbered, {"s": into}, 1) if row[2] == 1]
    assert [(1, n, 1, 1) for n in (1, 2, 3, 4)] + [(2, n, 1, 1) for n in (5, 6)] == sorted(found)


DOUBLES = "CREATE STREAM s (k INTEGER, x DOUBLE)"


def test_sums_of_doubles_are_those_of_the_current_tuples() -> None:
    """Whatever passed through: 1e300, an infinity and NaN leave nothing behind."""
    into = [(1, (1, 0.1)), (2, (1, 1e300)), (4, (1, math.inf)), (6, (1, math.nan)), (9, (1, 0.3))]
    found = play(DOUBLES, "SELECT sum(x) AS t FROM s [RANGE 1] GROUP BY k", {"s": into}, 12)
    expected = [
        (0.1, 1, 1),
        (0.1, 2, -1),
        (1e300, 2, 1),
        (1e300, 4, -1),
        (math.inf, 4, 1),
        (math.inf, 6, -1),
        (math.nan, 6, 1),
        (math.nan, 8, -1),
        (0.3, 9, 1),
        (0.3, 11, -1),
    ]
    assert [e[1:] for e in expected] == [e[1:] for e in found]
    assert [e[0] for e in expected] == pytest.approx([e[0] for e in found], 1e-9, nan_ok=True)


def test_small_doubles_count_as_much_as_large_ones() -> None:
    """1e-20 and 3e-20 are 4e-20, which no sum of fixed digits would say."""
    into = [(1, (1, 1e-20)), (1, (1, 3e-20)), (1, (2, 5e-9))]
    found = play(DOUBLES, "SELECT k, avg(x) AS m FROM s [NOW] GROUP BY k", {"s": into}, 1)
    assert [1, 2] == [row[0] for row in found]
    assert [2e-20, 5e-9] == pytest.approx([row[1] for row in found], rel=1e-9, abs=0)


def test_what_has_not_changed_emits_nothing() -> None:
    """A sum that is 5 before and after is no element; NaN is NaN, and −0.0 is shown as it came."""
    into = [(1, (1, 2.0)), (1, (1, 3.0)), (2, (1, 1.0)), (2, (1, 4.0))]
    text = "SELECT sum(x) AS t, count(*) AS n FROM s [NOW] GROUP BY k"
    assert [(5.0, 2, 1, 1), (5.0, 2, 3, -1)] == play(DOUBLES, text, {"s": into}, 4)
    same = [(1, (1, math.nan)), (2, (1, math.nan)), (3, (1, 0.0)), (4, (1, -0.0))]
    found = play(DOUBLES, "SELECT x FROM s [ROWS 1]", {"s": same}, 5)
    assert [("nan", 1, 1), ("nan", 3, -1), ("0.0", 3, 1), ("0.0", 4, -1), ("-0.0", 4, 1)] == [
        (str(x), ts, weight) for x, ts, weight in found
    ]


def test_integers_and_decimals_are_exact() -> None:
    """2^62 four times is 2^64; a cent is a cent."""
    create = "CREATE STREAM s (a BIGINT, d DECIMAL(18, 2))"
    into = [(1, (2**62, "0.01"))] * 4
    text = "SELECT sum(a) AS a, sum(d) = 0.04 AS d FROM s [NOW] GROUP BY s.a"
    assert [(2**64, True, 1, 1), (2**64, True, 2, -1)] == play(create, text, {"s": into}, 3)


def test_retractions_are_judged_net_for_each_instant(con: cqlduck.Connection) -> None:
    """−x before +x at one instant is no change; −y alone is recorded and has no effect."""
    con.execute(f"{R}; CREATE CONTINUOUS QUERY q AS SELECT a FROM r WHERE a > 0")
    con.retract("r", [(1, "x")], at=2)
    con.append("r", [(1, "x")], at=2)
    con.retract("r", [(2, "y"), (2, "y")], at=3)
    con.append("r", [(2, "y")], at=4)
    # one of two is there
    con.append("r", [(3, "z")], at=1)
    con.retract("r", [(3, "z"), (3, "z")], at=3)
    con.append("r", [(3, "z")], at=5)
    con.advance(6)
    assert [(3, 1, 1), (3, 3, -1), (2, 4, 1), (3, 5, 1)] == elements(con)
    assert [("3", "retracts what is not there", 2), ("3", "retracts what is not there", 1)] == (
        con.sql("SELECT instant, reason, occurrences FROM cql.late ORDER BY ALL DESC").fetchall()
    )


def test_a_second_row_under_a_primary_key_is_recorded(con: cqlduck.Connection) -> None:
    """The first stands; a deletion and an insertion at one instant replace it."""
    con.execute("""
        CREATE RELATION r (a INTEGER PRIMARY KEY, b VARCHAR);
        CREATE CONTINUOUS QUERY q AS SELECT a, b FROM r WHERE a > 0;
    """)
    con.append("r", [(1, "x")], at=1)
    con.append("r", [(1, "y")], at=2)
    con.append("r", [(1, "z")], at=3)
    con.retract("r", [(1, "x")], at=3)
    con.advance(4)
    assert [(1, "x", 1, 1), (1, "x", 3, -1), (1, "z", 3, 1)] == elements(con)
    assert [("2", 1)] == con.sql("SELECT instant, occurrences FROM cql.late").fetchall()


def test_strict_makes_a_wrong_retraction_an_error_before_anything_moves() -> None:
    """With the setting `strict` the tick is refused and the frontier stays."""
    with cqlduck.connect(strict=True) as con:
        con.execute(f"{R}; CREATE CONTINUOUS QUERY q AS SELECT a FROM r WHERE a > 0")
        con.append("r", [(1, "x")], at=1)
        con.retract("r", [(2, "y")], at=3)
        assert 2 == con.advance(2)
        refused(lambda: con.advance(4), cqlduck.DataError, "retracts what is not there")
        assert [(1, 1, 1)] == elements(con)
        assert [("2",)] == con.sql("SELECT frontier FROM cql.queries").fetchall()


def test_what_is_not_deterministic_is_refused(con: cqlduck.Connection) -> None:
    """An answer depends on the data and the instant alone."""
    con.execute(S)
    for function in ("random()", "uuid()"):
        text = f"CREATE CONTINUOUS QUERY q AS SELECT {function} AS x FROM s"
        refused(lambda text=text: con.execute(text), cqlduck.NotSupportedError, "deterministic")


def test_a_query_that_fails_stops_before_that_instant_and_the_others_go_on(
    con: cqlduck.Connection,
) -> None:
    """At 3 the text is no number: what was answered up to 2 stands, with the error and its row."""
    con.execute(f"""
        {S};
        CREATE CONTINUOUS QUERY q AS SELECT CAST(b AS INTEGER) AS n FROM s;
        CREATE CONTINUOUS QUERY other AS SELECT a FROM s;
    """)
    con.append("s", [(1, "10"), (2, "eleven"), (3, "12")], at=[1, 3, 5])
    con.advance(6)
    assert [(10, 1, 1)] == elements(con)
    assert [(1, 1, 1), (2, 3, 1), (3, 5, 1)] == elements(con, "other")
    state, frontier, error = con.sql(
        "SELECT state, frontier, error FROM cql.queries WHERE name = 'q'"
    ).fetchall()[0]
    assert ("failed", "2") == (state, frontier)
    assert "at 3" in error
    assert "eleven" in error


def test_where_guards_the_projection() -> None:
    """What WHERE refuses is not computed: no division of text, no failed cast."""
    into = [(1, (1, "10")), (2, (2, "eleven")), (3, (3, "12"))]
    assert [(10, 1, 1), (12, 3, 1)] == play(
        S, "SELECT CAST(b AS INTEGER) AS n FROM s WHERE a <> 2", {"s": into}, 4
    )


@pytest.mark.parametrize("source", ["plain", "seen", "read_csv('x.csv')"])
def test_what_has_no_history_is_refused(source: str, con: cqlduck.Connection) -> None:
    """Plain tables, views over them and table functions: load them into a relation."""
    con.execute(f"{S}; CREATE TABLE plain (a INTEGER); CREATE VIEW seen AS FROM plain")
    text = f"CREATE CONTINUOUS QUERY q AS SELECT s.a FROM s, {source} AS t"
    refused(lambda: con.execute(text), cqlduck.NotSupportedError, "CREATE RELATION")


def test_streams_take_insert_only(con: cqlduck.Connection) -> None:
    """UPDATE and DELETE on a stream are errors; INSERT is an element."""
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    con.execute("INSERT INTO s VALUES (1, 'x')")
    for text in ("UPDATE s SET a = 2", "DELETE FROM s"):
        refused(lambda text=text: con.execute(text), cqlduck.Error, "stream")
    con.advance(3)
    assert [(1, 0, 1)] == elements(con)


def test_sql_changes_get_the_first_instant_that_is_open(con: cqlduck.Connection) -> None:
    """The one after the heartbeat, or that of the latest pending element if later."""
    con.execute(f"{R}; CREATE CONTINUOUS QUERY q AS SELECT a FROM r WHERE a > 0")
    con.advance(4)
    con.execute("INSERT INTO r VALUES (1, 'x')")
    con.append("r", [(2, "y")], at=8)
    con.execute("INSERT INTO r VALUES (3, 'z')")
    con.execute("DELETE FROM r WHERE a = 1")
    con.advance(9)
    assert [(1, 5, 1), (1, 8, -1), (2, 8, 1), (3, 8, 1)] == elements(con)


def test_reserved_names_and_what_star_leaves_out(con: cqlduck.Connection) -> None:
    """_ts, _weight and _op are nobody's columns; _ts can be named, and is not part of *."""
    for name in ("_ts", "_Weight", "_OP"):
        text = f"CREATE STREAM t (a INTEGER, {name} INTEGER)"
        refused(lambda text=text: con.execute(text), cqlduck.Error, "reserved")
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT *, _ts + 1 AS next FROM s")
    con.append("s", [(1, "x")], at=6)
    con.advance(7)
    assert ["a", "b", "next", "_ts", "_weight"] == con.changes("q").columns
    assert [(1, "x", 7, 6, 1)] == elements(con)


def test_streams_relations_queries_and_tables_share_one_namespace(con: cqlduck.Connection) -> None:
    """Without regard to case."""
    con.execute(f"{S}; CREATE TABLE plain (a INTEGER)")
    for text in ("CREATE RELATION S (a INTEGER)", "CREATE STREAM Plain (a INTEGER)"):
        refused(lambda text=text: con.execute(text), cqlduck.CatalogError, "there already")
    con.execute("CREATE CONTINUOUS QUERY Q AS SELECT A FROM S")
    refused(lambda: con.execute("CREATE TABLE q (a INTEGER)"), cqlduck.Error)
    assert ["A", "_ts", "_weight"] == con.changes("q").columns


def test_nothing_runs_where_no_window_moves(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE STREAM s (k INTEGER);"
        "CREATE CONTINUOUS QUERY q AS SELECT x.k, count(*) AS n FROM s [RANGE 5 SLIDE 6] x, "
        "s [HOP 8 EVERY 4] y WHERE x.k = y.k GROUP BY x.k"
    )
    seen: list[tuple[int, int]] = []
    for t in range(-20, 30):
        con.append("s", [(t % 2,)], at=t)
        with con.profile() as profile:
            con.advance(t)
        ran = sum(1 for line in profile.lines() if line.level == "statement")
        if t > -20:
            assert (ran > 0) == (t % 2 == 0), "the greatest common divisor of 6 and 4 is 2"
        seen += [(t, n) for k, n in con.table("q").fetchall() if k == 0]
    expected = []
    for t in range(-20, 30):
        left = range(max(-20, t // 6 * 6 - 5), t // 6 * 6 + 1)
        right = range(max(-20, t // 4 * 4 - 8), t // 4 * 4)
        pairs = sum(1 for x in left if x % 2 == 0) * sum(1 for y in right if y % 2 == 0)
        expected += [(t, pairs)] if pairs else []
    assert expected == seen


@pytest.mark.parametrize("inner", ["SELECT Istream(k) FROM s [NOW]", "SELECT k FROM s [TUMBLE 3]"])
def test_a_window_over_a_subquery_takes_in_what_comes_while_it_rests(inner: str) -> None:
    found = []
    for step in (1, 25):
        with cqlduck.connect() as con:
            con.execute(
                "CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t;"
                f"CREATE CONTINUOUS QUERY q AS SELECT k FROM ({inner}) [TUMBLE 10]"
            )
            for t in range(25):
                con.append("s", [(t, t)])
                if (t + 1) % step == 0:
                    con.advance(t)
            found.append(sorted(con.changes("q").fetchall()))
    assert found[0] == found[1]
    assert len(found[0]) > 20


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT a, count(DISTINCT s) AS n FROM s WHERE (a, 1) IN (SELECT k, 1 FROM r) GROUP BY a",
         [(1, 2)]),
        ("SELECT a, to_json(s) AS j FROM s WHERE (a, b) IN (SELECT k, 5 FROM r)",
         [(1, '{"a":1,"b":5,"p":{"x":7},"l":[1],"c":"one","t":1}', 1)]),
        ("SELECT a, p.x FROM s WHERE (a, b) IN (SELECT k, 5 FROM r)", [(1, 7, 1)]),
        ("SELECT a, c.upper() AS u FROM s WHERE (a, b) IN (SELECT k, 5 FROM r)", [(1, "ONE", 1)]),
        ("SELECT s.a, z.m FROM s, (SELECT s.b + 1 AS m) z WHERE (s.a, b) IN (SELECT k, 5 FROM r)",
         [(1, 6, 1)]),
        ("SELECT a, u, count(*) AS n FROM s, unnest(s.l) AS z(u) WHERE b = 5 GROUP BY ROLLUP(a, u)",
         [(1, 1, 1), (1, None, 1), (None, None, 1)]),
    ],
    ids=["a row counted", "a row as JSON", "a field", "a method", "another leg", "a list"],
)  # fmt: skip
def test_a_query_that_is_recomputed_names_what_it_likes(
    con: cqlduck.Connection, query: str, answer: list[tuple[object, ...]]
) -> None:
    con.execute("""
        CREATE STREAM s (a BIGINT, b BIGINT, p STRUCT(x BIGINT), l BIGINT[], c VARCHAR, t BIGINT)
            TIMESTAMP BY t;
        CREATE STREAM r (k BIGINT, t BIGINT) TIMESTAMP BY t;
    """)
    con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
    con.append("s", [(1, 5, {"x": 7}, [1], "one", 1), (1, 6, {"x": 8}, [2, 3], "two", 1)])
    con.append("r", [(1, 1)])
    con.advance(2)
    assert sorted(con.table("q").fetchall(), key=repr) == sorted(answer, key=repr)
