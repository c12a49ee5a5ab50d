"""The worked examples of the STREAM papers, with data and expectations worked out by hand.

The texts are those of "STREAM: The Stanford Data Stream Management System" (`chapter`), of Babu's
thesis "Adaptive Query Processing in Data Stream Management Systems" (`thesis`), of "Query
Processing, Approximation, and Resource Management" (`cidr`), of "Exploiting k-Constraints to Reduce
Memory Overhead" (`k_constraints`), and of "Continuous Queries over Data Streams". A test says where
its text is not the paper's letter by letter. An instant is a second, so 2 Minutes are 120 instants.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
import reference

import cqlduck

# (instant, values) in arrival order, or (instant, sign, values) for a relation.
Elements = list[tuple[Any, ...]]

# How time is cut into ticks: "The order of execution has no effect on the data in the query
# result" (chapter, 3.5), so each example is run in each of these ways.
CUTS = ("at once", "where something happens", "and around it")


@pytest.fixture(params=CUTS)
def cut(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Run:
    """One query over inputs, run up to an instant under a way to cut time."""

    def __init__(
        self, create: str, query: str, inputs: Mapping[str, Elements], end: int, cut: str
    ) -> None:
        moments = {element[0] for elements in inputs.values() for element in elements}
        ticks = {"at once": set(), CUTS[1]: moments}.get(
            cut, {m + d for m in moments for d in (-1, 0, 1, 120, 121)}
        )
        with cqlduck.connect() as con:
            con.execute(create)
            con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
            since = -1
            for until in sorted({t for t in ticks if 0 <= t < end} | {end}):
                for name, elements in inputs.items():
                    for element in elements:
                        if since < element[0] <= until:
                            put = con.retract if element[1] == "-" else con.append
                            put(name, [element[-1]], at=element[0])
                since = con.advance(until)
                assert until == since
            self.columns = con.changes("q").columns
            rows = con.changes("q").fetchall()
            self.kind = con.sql("SELECT kind FROM cql.queries").fetchall()[0][0]
            self.final = Counter(con.table("q").fetchall())
            self.as_of = {}
            if self.kind == "relation" and end < 20:
                self.as_of = {t: Counter(con.as_of("q", t).fetchall()) for t in range(end + 1)}
        self.elements = sorted(rows, key=lambda row: (row[-2], row[-1], repr(row)))


def bags(letters: Iterable[str]) -> dict[int, Counter[tuple[Any, ...]]]:
    """A relation at each instant from 0 on; "13" is the bag of the tuples (1) and (3)."""
    return {t: Counter((int(letter),) for letter in bag) for t, bag in enumerate(letters)}


# ------------------------------------------------------- chapter, 2.2: windows and what they hold

S = "CREATE STREAM S (A INTEGER, K VARCHAR)"
# Two share instant 4, nothing happens at 0, 3, 5, 6 and 9.
INTO_S: Elements = [
    (1, (1, "x")),
    (2, (2, "y")),
    (4, (3, "x")),
    (4, (4, "y")),
    (7, (5, "x")),
    (8, (6, "x")),
]
LAST_TWO = ["", "1", "12", "12", "34", "34", "34", "45", "56", "56"]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        # The N tuples with the largest timestamps ≤ τ.
        ("[Rows 1]", ["", "1", "2", "2", "4", "4", "4", "5", "6", "6"]),
        ("[Rows 2]", LAST_TWO),
        ("[Rows Unbounded]", ["", "1", "12", "12"] + ["1234"] * 3 + ["12345"] + ["123456"] * 2),
        # All tuples with timestamps between τ − ω and τ.
        ("[Range 2]", ["", "1", "12", "12", "234", "34", "34", "5", "56", "56"]),
        ("[Range 2 Seconds]", ["", "1", "12", "12", "234", "34", "34", "5", "56", "56"]),
        ("[Range 1]", ["", "1", "12", "2", "34", "34", "", "5", "56", "6"]),
        ("[Range 0]", ["", "1", "2", "", "34", "", "", "5", "6", ""]),
        ("[Now]", ["", "1", "2", "", "34", "", "", "5", "6", ""]),
        # The union of a tuple-based window on each substream.
        ("[Partition By K Rows 1]", ["", "1", "12", "12", "34", "34", "34", "45", "46", "46"]),
        (
            "[Partition By K Rows 2]",
            ["", "1", "12", "12", "1234", "1234", "1234", "2345", "2456", "2456"],
        ),
        ("[Partition By A, K Rows 1]", ["", "1", "12", "12"] + ["1234"] * 3 + ["12345"]
         + ["123456"] * 2),
    ],
)  # fmt: skip
def test_what_a_window_holds(cut: str, window: str, expected: list[str]) -> None:
    run = Run(S, f"Select count(*) As n, A From S {window} Group By A", {"S": INTO_S}, 9, cut)
    assert {
        t: Counter((n, a) for (a,), n in bag.items()) for t, bag in bags(expected).items()
    } == run.as_of


# ------------------------------------------------------------ chapter, 2.2: relation to stream


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        # R(τ) − R(τ−1)
        ("Istream", [(1, 1, 1), (2, 2, 1), (3, 4, 1), (4, 4, 1), (5, 7, 1), (6, 8, 1)]),
        # R(τ−1) − R(τ)
        ("Dstream", [(1, 4, 1), (2, 4, 1), (3, 7, 1), (4, 8, 1)]),
        # Every current tuple at every instant.
        ("Rstream", [(int(a), t, 1) for t, bag in enumerate(LAST_TWO) for a in bag]),
    ],
)
def test_relation_to_stream(cut: str, operator: str, expected: Elements) -> None:
    for text in (
        f"Select {operator}(A) From S [Rows 2]",
        f"{operator}(Select A From S [Rows 2])",
    ):
        run = Run(S, text, {"S": INTO_S}, 9, cut)
        assert "stream" == run.kind
        assert expected == run.elements


def test_a_tuple_that_is_replaced_by_its_like_is_neither_inserted_nor_deleted(cut: str) -> None:
    same: Elements = [(1, (7, "x")), (3, (7, "x")), (4, (7, "x")), (4, (8, "x"))]
    one = {
        "Istream": [(7, 1, 1), (8, 4, 1)],
        "Dstream": [(7, 4, 1)],
        "Rstream": [(7, 1, 1), (7, 2, 1), (7, 3, 1), (8, 4, 1), (8, 5, 1)],
    }
    for operator, expected in one.items():
        run = Run(S, f"Select {operator}(A) From S [Rows 1]", {"S": same}, 5, cut)
        assert expected == run.elements


# ------------------------------------------------------------------------- chapter, 2.2: example 1


@pytest.mark.parametrize(
    "text",
    [
        "Select Istream(*) From S [Rows Unbounded] Where S.A > 10",
        # "syntactic shortcuts and defaults"
        "Select * From S Where S.A > 10",
    ],
)
def test_chapter_example_1(cut: str, text: str) -> None:
    into: Elements = [
        (1, (11, "x")),
        (2, (10, "x")),
        (4, (12, "y")),
        (4, (3, "y")),
        (4, (12, "y")),
        (6, (None, "z")),
        (7, (11, "x")),
    ]
    run = Run(S, text, {"S": into}, 9, cut)
    assert "stream" == run.kind
    assert ["A", "K", "_ts", "_weight"] == run.columns
    assert [(11, "x", 1, 1), (12, "y", 4, 2), (11, "x", 7, 1)] == run.elements
    assert Counter(
        [(11, "x", 1), (12, "y", 4), (12, "y", 4), (11, "x", 7)]
    ) == run.final  # fmt: skip


# ------------------------------------------------------------------------- chapter, 2.2: example 2

TWO = "CREATE STREAM S1 (A INTEGER, P VARCHAR); CREATE STREAM S2 (A INTEGER, Q VARCHAR)"
INTO_TWO: dict[str, Elements] = {
    "S1": [(1, (11, "p")), (5, (12, "q")), (8, (11, "r")), (110, (9, "s"))],
    "S2": [(3, (11, "u")), (4, (9, "v")), (6, (12, "w")), (100, (11, "x"))],
}


def test_chapter_example_2(cut: str) -> None:
    text = "Select * From S1 [Rows 1000], S2 [Range 2 Minutes] Where S1.A = S2.A And S1.A > 10"
    run = Run(TWO, text, INTO_TWO, 230, cut)
    assert "relation" == run.kind
    assert ["A", "P", "A_1", "Q", "_ts", "_weight"] == run.columns
    # Of S1 all stay; u is there from 3 to 123, w to 126, x from 100 to 220.
    assert [
        (11, "p", 11, "u", 3, 1),
        (12, "q", 12, "w", 6, 1),
        (11, "r", 11, "u", 8, 1),
        (11, "p", 11, "x", 100, 1),
        (11, "r", 11, "x", 100, 1),
        (11, "p", 11, "u", 124, -1),
        (11, "r", 11, "u", 124, -1),
        (12, "q", 12, "w", 127, -1),
        (11, "p", 11, "x", 221, -1),
        (11, "r", 11, "x", 221, -1),
    ] == run.elements
    assert Counter() == run.final


def test_chapter_example_2_where_the_window_is_full(cut: str) -> None:
    text = "Select * From S1 [Rows 2], S2 [Range 2 Minutes] Where S1.A = S2.A And S1.A > 10"
    run = Run(TWO, text, INTO_TWO, 230, cut)
    # r puts p out at 8. At 110 s puts q out: a filter does not commute with [Rows 2].
    assert [
        (11, "p", 11, "u", 3, 1),
        (12, "q", 12, "w", 6, 1),
        (11, "p", 11, "u", 8, -1),
        (11, "r", 11, "u", 8, 1),
        (11, "r", 11, "x", 100, 1),
        (12, "q", 12, "w", 110, -1),
        (11, "r", 11, "u", 124, -1),
        (11, "r", 11, "x", 221, -1),
    ] == run.elements


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (1000, [(11, 3, 1), (12, 6, 1), (11, 8, 1), (11, 100, 2)]),
        # At 8 one 11 goes and one comes: nothing is inserted.
        (2, [(11, 3, 1), (12, 6, 1), (11, 100, 1)]),
    ],
)
def test_chapter_example_2_as_a_stream(cut: str, rows: int, expected: Elements) -> None:
    text = (
        f"Select Istream(S1.A) From S1 [Rows {rows}], S2 [Range 2 Minutes] "
        "Where S1.A = S2.A And S1.A > 10"
    )
    run = Run(TWO, text, INTO_TWO, 230, cut)
    assert "stream" == run.kind
    assert expected == run.elements


# ------------------------------------------------------------------------- chapter, 2.2: example 3


def test_chapter_example_3(cut: str) -> None:
    create = "CREATE STREAM S (A INTEGER); CREATE RELATION R (A INTEGER, B VARCHAR)"
    text = "Select Rstream(S.A, R.B) From S [Now], R Where S.A = R.A"
    inputs: dict[str, Elements] = {
        "R": [(0, "+", (1, "x")), (2, "+", (1, "y")), (4, "-", (1, "x")), (5, "+", (3, "z"))],
        "S": [(1, (1,)), (2, (1,)), (3, (2,)), (4, (1,)), (6, (1,)), (6, (1,)), (7, (3,))],
    }
    run = Run(create, text, inputs, 9, cut)
    assert "stream" == run.kind
    # What R holds at the very instant, changes of that instant included.
    assert [
        (1, "x", 1, 1),
        (1, "x", 2, 1),
        (1, "y", 2, 1),
        (1, "y", 4, 1),
        (1, "y", 6, 2),
        (3, "z", 7, 1),
    ] == run.elements


# --------------------------------------------------------------------------- chapter, 3.5: a plan


def test_a_full_window_writes_both_elements_at_one_instant(cut: str) -> None:
    """⟨s, τ, +⟩, and ⟨r, τ, −⟩ with r the earliest: "both … occur logically at the same time"."""
    into: Elements = [(10, (1, "a")), (20, (2, "b")), (30, (3, "c")), (31, (1, "d"))]
    run = Run(S, "Select * From S [Rows 2]", {"S": into}, 40, cut)
    assert [
        (1, "a", 10, 1),
        (2, "b", 20, 1),
        (1, "a", 30, -1),
        (3, "c", 30, 1),
        (2, "b", 31, -1),
        (1, "d", 31, 1),
    ] == run.elements


def test_a_window_of_a_thousand_rows(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM S1 (A INTEGER)")
    con.execute("CREATE CONTINUOUS QUERY q AS Select * From S1 [Rows 1000]")
    con.append("S1", [(n,) for n in range(1000)], at=list(range(1000)))
    con.advance(1000)
    assert 1000 == con.changes("q").count("*").fetchall()[0][0]
    con.append("S1", [(n,) for n in range(1000, 1003)], at=[1001, 1001, 1005])
    con.advance(1005)
    rows = con.changes("q", since=999).fetchall()
    assert [
        (0, 1001, -1), (1, 1001, -1), (1000, 1001, 1), (1001, 1001, 1), (2, 1005, -1),
        (1002, 1005, 1),
    ] == sorted(rows, key=lambda row: (row[1], row[2], row[0]))  # fmt: skip
    assert 1000 == con.table("q").count("*").fetchall()[0][0]


def test_a_join_meets_each_element_with_the_other_synopsis(cut: str) -> None:
    """⟨s, τ, ±⟩ makes ⟨s·t, τ, ±⟩ for each matching t, and symmetrically."""
    text = "Select S1.P, S2.Q From S1 [Rows 1], S2 [Range 2 Minutes] Where S1.A = S2.A"
    inputs: dict[str, Elements] = {
        "S1": [(2, (11, "s")), (9, (12, "other")), (20, (11, "again"))],
        "S2": [(1, (11, "t")), (1, (11, "t")), (1, (11, "u")), (5, (11, "v")), (7, (13, "no"))],
    }
    run = Run(TWO, text, inputs, 130, cut)
    assert [
        # ⟨s, 2, +⟩ meets three tuples of the other side, two of them alike.
        ("s", "u", 2, 1),
        ("s", "t", 2, 2),
        # ⟨v, 5, +⟩ from the other side meets s.
        ("s", "v", 5, 1),
        # ⟨s, 9, −⟩ takes all of them away.
        ("s", "t", 9, -2),
        ("s", "u", 9, -1),
        ("s", "v", 9, -1),
        ("again", "u", 20, 1),
        ("again", "v", 20, 1),
        ("again", "t", 20, 2),
        # ⟨t, 122, −⟩: the range has passed.
        ("again", "t", 122, -2),
        ("again", "u", 122, -1),
        ("again", "v", 126, -1),
    ] == run.elements


def test_both_sides_of_a_join_change_at_one_instant(cut: str) -> None:
    text = "Select S1.P, S2.Q From S1 [Rows 1], S2 [Rows 1] Where S1.A = S2.A"
    inputs: dict[str, Elements] = {
        "S1": [(1, (11, "a")), (3, (11, "b")), (5, (12, "c"))],
        "S2": [(1, (11, "x")), (3, (11, "y")), (5, (12, "z"))],
    }
    run = Run(TWO, text, inputs, 9, cut)
    # Never ("a", "y") or ("b", "x"): at 3 both windows have moved.
    assert {
        0: Counter(),
        1: Counter([("a", "x")]),
        2: Counter([("a", "x")]),
        3: Counter([("b", "y")]),
        4: Counter([("b", "y")]),
        **{t: Counter([("c", "z")]) for t in range(5, 10)},
    } == run.as_of
    assert [
        ("a", "x", 1, 1),
        ("a", "x", 3, -1),
        ("b", "y", 3, 1),
        ("b", "y", 5, -1),
        ("c", "z", 5, 1),
    ] == run.elements


# --------------------------------------------------------------------- thesis, 2.1.3: two examples


@pytest.mark.parametrize(
    "text",
    [
        """
        Select  Istream(*)
        From    S [Rows Unbounded]
        Where   S.A > 10 and S.B < 20 and S.C > 40
        """,
        """
        Select  *
        From    S
        Where   S.A > 10 and S.B < 20 and S.C > 40
        """,
    ],
)
def test_thesis_example_1(cut: str, text: str) -> None:
    create = "CREATE STREAM S (A INTEGER, B INTEGER, C INTEGER)"
    into: Elements = [
        (1, (11, 19, 41)),
        # Each filter alone refuses one of these.
        (2, (10, 19, 41)),
        (3, (11, 20, 41)),
        (4, (11, 19, 40)),
        (5, (12, 0, 99)),
        (5, (12, 0, 99)),
        (6, (None, 0, 99)),
        (8, (11, 19, 41)),
    ]
    run = Run(create, text, {"S": into}, 9, cut)
    assert "stream" == run.kind
    assert [(11, 19, 41, 1, 1), (12, 0, 99, 5, 2), (11, 19, 41, 8, 1)] == run.elements


THESIS = "CREATE STREAM S1 (A INTEGER, B INTEGER); CREATE STREAM S2 (A INTEGER, C VARCHAR)"
INTO_THESIS: dict[str, Elements] = {
    "S1": [(1, (11, 5)), (2, (12, 25)), (3, (13, 5))],
    "S2": [(2, (11, "u")), (3, (12, "v")), (4, (13, "w")), (122, (11, "z"))],
}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            1000,
            [
                (11, 5, 11, "u", 2, 1),
                (13, 5, 13, "w", 4, 1),
                (11, 5, 11, "z", 122, 1),
                (11, 5, 11, "u", 123, -1),
                (13, 5, 13, "w", 125, -1),
                (11, 5, 11, "z", 243, -1),
            ],
        ),
        # (12, 25) fails B < 20 and takes its place in the window all the same.
        (
            2,
            [
                (11, 5, 11, "u", 2, 1),
                (11, 5, 11, "u", 3, -1),
                (13, 5, 13, "w", 4, 1),
                (13, 5, 13, "w", 125, -1),
            ],
        ),
    ],
)
def test_thesis_example_2(cut: str, rows: int, expected: Elements) -> None:
    text = f"""
        Select  *
        From    S1 [Rows {rows}], S2 [Range 2 Minutes]
        Where   S1.A = S2.A and S1.A > 10 and S1.B < 20
    """
    run = Run(THESIS, text, INTO_THESIS, 250, cut)
    assert "relation" == run.kind
    assert expected == run.elements


def test_thesis_example_2_as_a_stream(cut: str) -> None:
    text = """
        Select  Istream(S1.A)
        From    S1 [Rows 1000], S2 [Range 2 Minutes]
        Where   S1.A = S2.A and S1.A > 10 and S1.B < 20
    """
    run = Run(THESIS, text, INTO_THESIS, 250, cut)
    assert [(11, 2, 1), (13, 4, 1), (11, 122, 1)] == run.elements


# ------------------------------------------------------------- chapter, 4.1 and 6.1: aggregation


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (200, [(1, 5, 1, 1), (1, 5, 2, -1), (1, 9, 2, 1), (2, 4, 3, 1)]),
        # At 5 the 9 is gone, at 6 the 4.
        (
            3,
            [
                (1, 5, 1, 1),
                (1, 5, 2, -1),
                (1, 9, 2, 1),
                (2, 4, 3, 1),
                (1, 9, 5, -1),
                (1, 7, 5, 1),
                (2, 4, 6, -1),
                (2, 3, 6, 1),
            ],
        ),
    ],
)
def test_chapter_4_1_and_thesis_2_3_1(cut: str, rows: int, expected: Elements) -> None:
    into: Elements = [(1, (1, 5)), (2, (1, 9)), (3, (2, 4)), (4, (1, 7)), (5, (2, 1)), (6, (2, 3))]
    text = f"Select A, Max(B) From S1 [Rows {rows}] Group By A"
    run = Run("CREATE STREAM S1 (A INTEGER, B INTEGER)", text, {"S1": into}, 9, cut)
    assert "relation" == run.kind
    assert expected == run.elements


def test_chapter_6_1(cut: str) -> None:
    create = "CREATE STREAM SensorReadings (Temp DOUBLE)"
    into: Elements = [(10, (20.0,)), (100, (30.0,)), (310, (10.0,)), (311, (50.0,))]
    text = "Select Avg(Temp) From SensorReadings [Range 5 Minutes]"
    run = Run(create, text, {"SensorReadings": into}, 700, cut)
    # At 310 the reading of 10 is there still. At 401 the 30 leaves, and the average stays.
    assert [
        (None, 0, 1),
        (None, 10, -1),
        (20.0, 10, 1),
        (20.0, 100, -1),
        (25.0, 100, 1),
        (25.0, 310, -1),
        (20.0, 310, 1),
        (20.0, 311, -1),
        (30.0, 311, 1),
        (30.0, 611, -1),
        (50.0, 611, 1),
        (50.0, 612, -1),
        (None, 612, 1),
    ] == run.elements


# --------------------------------------------------------------------------- CIDR 2003, 2.1
# "Query Processing, Approximation, and Resource Management in a Data Stream Management System",
# in its own dialect. Its quotation marks are written as SQL has them, client id as one word.

REQUESTS = "CREATE STREAM Requests (client_id INTEGER, domain VARCHAR, URL VARCHAR)"


@pytest.mark.parametrize("ticks", [1, 5])
def test_cidr_the_requests_of_the_last_day(con: cqlduck.Connection, ticks: int) -> None:
    """On wall-clock time, with "one attribute as TIMESTAMP (e.g., … reqTime)" (2.2)."""
    con.execute("""
        CREATE STREAM Requests (client_id INTEGER, domain VARCHAR, URL VARCHAR, reqTime TIMESTAMP)
            TIMESTAMP BY reqTime;
        CREATE CONTINUOUS QUERY q AS
            SELECT COUNT(*) FROM Requests S [RANGE 1 DAY PRECEDING]
            WHERE S.domain = 'stanford.edu';
    """)
    moments = [
        ("stanford.edu", dt.datetime(2002, 7, 1, 9)),
        ("berkeley.edu", dt.datetime(2002, 7, 1, 10)),
        ("stanford.edu", dt.datetime(2002, 7, 1, 20)),
        ("stanford.edu", dt.datetime(2002, 7, 2, 9)),
    ]
    for domain, moment in moments:
        con.append("Requests", [(1, domain, "/", moment)])
        if ticks > 1:
            con.advance()
    con.advance(dt.datetime(2002, 7, 9))
    instant = dt.timedelta(microseconds=1)
    # At 9 o'clock of the second day there are three: both ends of the day count.
    assert [
        (1, dt.datetime(2002, 7, 1, 9), 1),
        (1, dt.datetime(2002, 7, 1, 20), -1),
        (2, dt.datetime(2002, 7, 1, 20), 1),
        (2, dt.datetime(2002, 7, 2, 9), -1),
        (3, dt.datetime(2002, 7, 2, 9), 1),
        (3, dt.datetime(2002, 7, 2, 9) + instant, -1),
        (2, dt.datetime(2002, 7, 2, 9) + instant, 1),
        (2, dt.datetime(2002, 7, 2, 20) + instant, -1),
        (1, dt.datetime(2002, 7, 2, 20) + instant, 1),
        (1, dt.datetime(2002, 7, 3, 9) + instant, -1),
        (0, dt.datetime(2002, 7, 3, 9) + instant, 1),
    ] == sorted(con.changes("q").fetchall(), key=lambda row: row[1:])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            10,
            [(0, 0, 1), (0, 1, -1), (1, 1, 1), (1, 4, -1), (2, 4, 1), (2, 5, -1), (3, 5, 1)],
        ),
        # At 5 one of client 1 goes and one comes; at 7 its last two are none of the CS server's.
        (
            2,
            [(0, 0, 1), (0, 1, -1), (1, 1, 1), (1, 4, -1), (2, 4, 1), (2, 7, -1), (1, 7, 1)],
        ),
    ],
)
def test_cidr_the_last_requests_of_each_client(cut: str, rows: int, expected: Elements) -> None:
    """ "Predicates applied before determining the sliding window cutoffs", and after it."""
    text = f"""
        SELECT COUNT(*)
        FROM Requests S [PARTITION BY S.client_id ROWS {rows} PRECEDING
                         WHERE S.domain = 'stanford.edu']
        WHERE S.URL LIKE 'http://cs.stanford.edu/%'
    """
    cs, www = "http://cs.stanford.edu/a", "http://www.stanford.edu/"
    into: Elements = [
        (1, (1, "stanford.edu", cs)),
        # No request for the domain: it pushes nothing out, wherever its page is.
        (2, (1, "mit.edu", cs)),
        (3, (1, "stanford.edu", www)),
        (4, (2, "stanford.edu", cs)),
        (5, (1, "stanford.edu", cs)),
        (6, (1, "stanford.edu", www)),
        (7, (1, "stanford.edu", www)),
    ]
    run = Run(REQUESTS, text, {"Requests": into}, 9, cut)
    assert expected == run.elements


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            10_000,
            [(0, 0, 1), (0, 1, -1), (1, 1, 1), (1, 4, -1), (2, 4, 1), (2, 5, -1), (3, 5, 1)],
        ),
        (
            2,
            [(0, 0, 1), (0, 1, -1), (1, 1, 1), (1, 5, -1), (2, 5, 1), (2, 6, -1), (1, 6, 1)],
        ),
    ],
)
def test_cidr_requests_joined_before_the_window(cut: str, rows: int, expected: Elements) -> None:
    """The example with all requests: "the stream of requests must be joined … before"."""
    create = f"{REQUESTS}; CREATE RELATION Domains (domain VARCHAR, class VARCHAR)"
    text = f"""
        SELECT COUNT(*) FROM
        (SELECT R.class FROM Requests S, Domains R WHERE S.domain = R.domain) T
        [ROWS {rows} PRECEDING] WHERE T.class = 'commerce'
    """
    inputs: dict[str, Elements] = {
        "Domains": [
            (0, "+", ("a.com", "commerce")),
            (0, "+", ("b.org", "other")),
            (5, "+", ("x.com", "commerce")),
        ],
        # "Additional result tuples may be produced if relations are updated" (2.4): x.com at 5.
        "Requests": [
            (t, (1, domain, "/"))
            for t, domain in [(1, "a.com"), (2, "b.org"), (3, "x.com"), (4, "a.com"), (6, "b.org")]
        ],
    }
    run = Run(create, text, inputs, 9, cut)
    # T is commerce, other, commerce, commerce, other at 1, 2, 4, 5, 6.
    assert expected == run.elements


def test_cidr_a_sample_of_the_requests(cut: str) -> None:
    """The example letter by letter; what the sample keeps is what the hash of numbers says."""
    create = f"{REQUESTS}; CREATE RELATION Domains (domain VARCHAR, class VARCHAR)"
    text = """
        SELECT COUNT(*) FROM
        (SELECT R.class FROM Requests S 10% SAMPLE, Domains R WHERE S.domain = R.domain)
        T [ROWS 10000 PRECEDING] WHERE T.class = 'commerce'
    """
    requests = [(t, (t, "a.com", "/")) for t in range(1, 61)]
    inputs = {"Domains": [(0, "+", ("a.com", "commerce"))], "Requests": requests}
    kept = [t for t, _ in reference.sampled(requests, reference.Sampled(10, "requests"), False)]
    expected: Elements = [(0, 0, 1)]
    for n, t in enumerate(kept):
        expected += [(n, t, -1), (n + 1, t, 1)]

    run = Run(create, text, inputs, 62, cut)

    assert 1 <= len(kept) <= 15
    assert expected == run.elements


# ------------------------------------------ thesis, 1.3, 3.3 and 6.1.1; k-constraints, 1.1: links


def test_the_traffic_common_to_three_links(cut: str) -> None:
    create = "; ".join(f"CREATE STREAM {link} (pid INTEGER, size INTEGER)" for link in "CBO")
    text = """
        Select  sum(C.size)
        From    C [Range 10 minutes], B [Range 10 minutes], O [Range 10 minutes]
        Where   C.pid = B.pid and B.pid = O.pid
    """
    inputs: dict[str, Elements] = {
        "C": [(0, (1, 100)), (5, (2, 50)), (7, (3, 10))],
        "B": [(10, (1, 100)), (20, (2, 50))],
        "O": [(30, (1, 100)), (400, (2, 50))],
    }
    run = Run(create, text, inputs, 700, cut)
    # A packet counts until the first of its three tuples is more than ten minutes old.
    assert [
        (None, 0, 1),
        (None, 30, -1),
        (100, 30, 1),
        (100, 400, -1),
        (150, 400, 1),
        (150, 601, -1),
        (50, 601, 1),
        (50, 606, -1),
        (None, 606, 1),
    ] == run.elements


# ------------------------------------------------------------------ thesis, 4: pipelined filters


def test_thesis_4_1_1(cut: str) -> None:
    """`lookup` in a table of prefixes is EXISTS, and `match` is DuckDB's `contains`.

    A packet is looked up when it comes, so it stands in a [Now].
    """
    create = "CREATE STREAM Packets (destAddr VARCHAR, data VARCHAR); CREATE RELATION T (p VARCHAR)"
    text = """
        Select  Rstream(*)
        From    Packets P [Now]
        Where   exists (Select 1 From T Where starts_with(P.destAddr, T.p)) and
                contains(P.data, '0xa8') = true and
                contains(P.data, '0x7b') = true
    """
    inputs: dict[str, Elements] = {
        "T": [(0, "+", ("10.1.",)), (5, "-", ("10.1.",)), (5, "+", ("192.",))],
        "Packets": [
            (1, ("10.1.0.9", "0xa8, 0x7b")),
            (2, ("10.2.0.9", "0xa8, 0x7b")),
            (3, ("10.1.0.9", "0xa8")),
            (4, ("10.1.4.4", "0x7b0xa8")),
            (5, ("10.1.4.4", "0x7b0xa8")),
            (6, ("192.0.2.1", "0xa8, 0x7b")),
        ],
    }
    run = Run(create, text, inputs, 9, cut)
    assert "stream" == run.kind
    assert [
        ("10.1.0.9", "0xa8, 0x7b", 1, 1),
        ("10.1.4.4", "0x7b0xa8", 4, 1),
        ("192.0.2.1", "0xa8, 0x7b", 6, 1),
    ] == run.elements


def test_thesis_4_7(cut: str) -> None:
    """Windows of 10,000 rows are written without the comma, and here have two; S0 by its column."""
    create = "; ".join(f"CREATE STREAM S{i} (A INTEGER)" for i in range(3))
    text = """
        Select  *
        From    S0
        Where   S0.A in (Select  *
                         From    S1 [Rows 2])  and
                S0.A in (Select  *
                         From    S2 [Rows 2])
    """
    inputs: dict[str, Elements] = {
        "S0": [(1, (7,)), (4, (8,))],
        "S1": [(2, (7,)), (3, (8,)), (5, (9,))],
        "S2": [(3, (7,)), (6, (8,)), (7, (1,))],
    }
    run = Run(create, text, inputs, 9, cut)
    # A window forgets, so this is a relation.
    assert "relation" == run.kind
    assert [(7, 3, 1), (7, 5, -1), (8, 6, 1)] == run.elements


# ------------------------------------------------------------- thesis, 5 and 6: windowed joins


def test_thesis_5_4_three_streams(cut: str) -> None:
    """R', S' and T' of the experiments, without the primes; windows of two, two and one row."""
    create = "CREATE STREAM R (A INTEGER); CREATE STREAM S (A INTEGER, B INTEGER);"
    text = """
        Select  *
        From    R [Rows 2], S [Rows 2], T [Rows 1]
        Where   R.A = S.A and S.B = T.B
    """
    inputs: dict[str, Elements] = {
        "R": [(1, (1,)), (4, (2,)), (8, (3,))],
        "S": [(2, (1, 10)), (5, (2, 10)), (9, (5, 5))],
        "T": [(3, (10,)), (7, (20,)), (10, (10,))],
    }
    run = Run(f"{create} CREATE STREAM T (B INTEGER)", text, inputs, 12, cut)
    assert [
        (1, 1, 10, 10, 3, 1),
        (2, 2, 10, 10, 5, 1),
        (1, 1, 10, 10, 7, -1),
        (2, 2, 10, 10, 7, -1),
        (2, 2, 10, 10, 10, 1),
    ] == run.elements


def test_thesis_5_4_n_streams(cut: str) -> None:
    create = "; ".join(f"CREATE STREAM S{i} (A INTEGER)" for i in (1, 2, 3, 4))
    text = """
        Select  *
        From    S1 [Rows 1], S2 [Rows 1], S3 [Rows 1], S4 [Rows 2]
        Where   S1.A = S2.A and S2.A = S3.A and S3.A = S4.A
    """
    inputs: dict[str, Elements] = {
        "S1": [(1, (1,))],
        "S2": [(2, (1,)), (6, (2,))],
        "S3": [(3, (1,))],
        "S4": [(4, (1,)), (5, (1,))],
    }
    run = Run(create, text, inputs, 9, cut)
    assert [(1, 1, 1, 1, 4, 1), (1, 1, 1, 1, 5, 1), (1, 1, 1, 1, 6, -2)] == run.elements


@pytest.mark.parametrize(
    ("window", "condition", "expected"),
    [
        (
            "[Range 5 Minutes]",
            "",
            [
                (1, 5, 1, "u", 50, 1),
                (2, 20, 2, "v", 100, 1),
                (1, 5, 1, "u", 301, -1),
                (2, 20, 2, "v", 401, -1),
                (1, 30, 1, "w", 700, 1),
                (1, 30, 1, "w", 951, -1),
            ],
        ),
        # Example 6.1.4
        (
            "[Range 5 Minutes]",
            "and S1.B > 10",
            [
                (2, 20, 2, "v", 100, 1),
                (2, 20, 2, "v", 401, -1),
                (1, 30, 1, "w", 700, 1),
                (1, 30, 1, "w", 951, -1),
            ],
        ),
        # Example 6.1.5: "tuple-based windows do not commute with filter predicates": (3, 0), which
        # fails, pushes (2, 20) out.
        (
            "[Rows 1]",
            "and S1.B > 10",
            [
                (2, 20, 2, "v", 100, 1),
                (2, 20, 2, "v", 200, -1),
                (1, 30, 1, "w", 700, 1),
                (1, 30, 1, "w", 951, -1),
            ],
        ),
    ],
)
def test_thesis_6_1_5(cut: str, window: str, condition: str, expected: Elements) -> None:
    text = f"""
        Select  *
        From    S1 {window}, S2 [Range 10 Minutes]
        Where   S1.A = S2.A {condition}
    """
    inputs: dict[str, Elements] = {
        "S1": [(0, (1, 5)), (100, (2, 20)), (200, (3, 0)), (700, (1, 30))],
        "S2": [(50, (1, "u")), (100, (2, "v")), (350, (1, "w"))],
    }
    run = Run(THESIS, text, inputs, 1100, cut)
    assert expected == run.elements


def test_thesis_example_6_3_4(cut: str) -> None:
    """The paper's own tuples; `*` shows the columns of a join twice, where it shows them once."""
    create = """
        CREATE STREAM S1 (A INTEGER, B INTEGER);
        CREATE STREAM S2 (B INTEGER, C INTEGER);
        CREATE STREAM S3 (C INTEGER, D INTEGER)
    """
    text = """
        Select  *
        From    S1 [Rows Unbounded], S2 [Rows Unbounded], S3 [Rows 1]
        Where   S1.B = S2.B and S2.C = S3.C and S3.D > 10
    """
    inputs: dict[str, Elements] = {
        "S1": [(1, (1, 2))],
        "S2": [(2, (2, 4))],
        # The arrival of a new tuple at 5 expires (4, 12). At 6 comes one that fails the filter.
        "S3": [(3, (4, 12)), (5, (9, 20)), (6, (4, 5)), (8, (4, 11))],
    }
    run = Run(create, text, inputs, 9, cut)
    assert [
        (1, 2, 2, 4, 4, 12, 3, 1),
        (1, 2, 2, 4, 4, 12, 5, -1),
        (1, 2, 2, 4, 4, 11, 8, 1),
    ] == run.elements


# --------------------------------------------------------- k-constraints, 1.4; thesis, 6.11


def test_k_constraints_1_4(cut: str) -> None:
    """Windows of 50,000 rows are written without the comma, and here have two."""
    create = "CREATE STREAM S1 (A INTEGER); CREATE STREAM S2 (A INTEGER, B INTEGER)"
    text = """
        Select  Istream(*)
        From    S1 [Rows 2], S2 [Rows 2]
        Where   S1.A = S2.A and S2.B > 10
    """
    inputs: dict[str, Elements] = {
        "S1": [(1, (1,)), (3, (2,)), (6, (1,))],
        "S2": [(2, (1, 11)), (4, (2, 5)), (5, (2, 20)), (7, (1, 12))],
    }
    run = Run(create, text, inputs, 9, cut)
    assert "stream" == run.kind
    assert [(1, 1, 11, 2, 1), (2, 2, 20, 5, 1), (1, 1, 12, 7, 1)] == run.elements


def test_the_segments_with_accidents_of_linear_road(cut: str) -> None:
    """Figure 6.19 of the thesis, 17 of k-constraints; its `Select cid` says LastRep.cid here."""
    create = "CREATE STREAM CarStr (cid INTEGER, xpos INTEGER, sid INTEGER)"
    text = """
        Select distinct sid From
          (Select LastRep.cid, sid From
            (CarStr [Partition By cid Rows 1]) as LastRep,
            (Select distinct cid From
              CarStr [Range 30 seconds]) as CurActiveCars
           Where LastRep.cid = CurActiveCars.cid)
         as CurCarSeg,
         (Select cid
          From CarStr [Partition By cid Rows 4]
          Group By cid
          Having count (distinct xpos) = 1 and count(*) = 4)
         as AccCars
        Where CurCarSeg.cid = AccCars.cid
    """
    reports = [(t, (1, 500, 7)) for t in (0, 10, 20, 30, 70)] + [(80, (1, 600, 8))]
    reports += [(t, (2, 100 + t, 3)) for t in (5, 15, 25, 35)]
    reports += [(t, (3, 510, 7)) for t in (31, 32, 33, 34)]
    run = Run(create, text, {"CarStr": sorted(reports)}, 130, cut)
    # Car 1 stands still from 30 on and is not heard of at 61; car 3, in the same segment, is so
    # from 34 to 64. Car 1 reports again at 70, and moves at 80.
    assert [(7, 30, 1), (7, 65, -1), (7, 70, 1), (7, 80, -1)] == run.elements


# ------------------------------------------- "Continuous Queries over Data Streams", section 3
# Before there was CQL: queries over streams in SQL, without windows.

PACKETS = "(saddr INTEGER, daddr INTEGER, id INTEGER, length INTEGER, timestamp INTEGER)"


def test_continuous_queries_q1(cut: str) -> None:
    """What the operator is notified of is the answer; getminute is a division, T is 100."""
    text = """
        Select    sum(length)
        From      PTb
        Group By  timestamp // 60
        Having    sum(length) > 100
    """
    lengths = [(10, 60), (50, 50), (70, 90), (119, 20), (119, 5), (120, 7)]
    into: Elements = [(t, (1, 2, t, n, t)) for t, n in lengths]
    run = Run(f"CREATE STREAM PTb {PACKETS}", text, {"PTb": into}, 130, cut)
    assert [(110, 50, 1), (115, 119, 1)] == run.elements


def test_continuous_queries_q2(cut: str) -> None:
    """The quotient of two queries: each in FROM."""
    create = f"CREATE STREAM PTc {PACKETS}; CREATE STREAM PTb {PACKETS}"
    text = """
        Select common.n / whole.n As fraction From
        (Select  count(*) As n
         From    PTc As C, PTb As B
         Where   C.saddr = B.saddr and C.daddr = B.daddr
                 and C.id = B.id) As common,
        (Select count(*) As n From PTb) As whole
        Where whole.n > 0
    """
    inputs: dict[str, Elements] = {
        "PTc": [(1, (1, 2, 71, 10, 1)), (6, (1, 2, 73, 10, 6))],
        "PTb": [(2, (1, 2, 71, 10, 2)), (3, (9, 2, 72, 10, 3)), (5, (1, 2, 73, 10, 5))],
    }
    run = Run(create, text, inputs, 9, cut)
    assert [
        (1.0, 2, 1),
        (1.0, 3, -1),
        (0.5, 3, 1),
        (0.5, 5, -1),
        (1 / 3, 5, 1),
        (1 / 3, 6, -1),
        (2 / 3, 6, 1),
    ] == run.elements


def test_continuous_queries_q3(cut: str) -> None:
    """The pairs with more traffic than 95 % of all: one, when there are more than twenty."""
    text = """
        With Load As
        (Select  saddr, daddr, sum(length) as traffic
         From    PTb
         Group By saddr, daddr)
        Select  saddr, daddr, traffic
        From    Load As L1
        Where   (Select  count(*)
                 From    Load as L2
                 Where   L2.traffic < L1.traffic) >
                (Select  0.95 * count(*) From Load)
        Order By traffic
    """
    into: Elements = [(t, (t, 100 + t, t, t, t)) for t in range(1, 22)]
    into += [(22, (1, 101, 22, 100, 22)), (23, (22, 122, 23, 1000, 23))]
    run = Run(f"CREATE STREAM PTb {PACKETS}", text, {"PTb": into}, 30, cut)
    assert [
        (21, 121, 21, 21, 1),
        (21, 121, 21, 22, -1),
        (1, 101, 101, 22, 1),
        (1, 101, 101, 23, -1),
        (22, 122, 1000, 23, 1),
    ] == run.elements
