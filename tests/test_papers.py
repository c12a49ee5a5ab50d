"""The worked examples of the STREAM papers, with data and expectations worked out by hand.

The texts are those of "STREAM: The Stanford Data Stream Management System", sections 2.2 and 3.5
(`chapter`), and of Babu's thesis "Adaptive Query Processing in Data Stream Management Systems",
section 2.1.3 (`thesis`). An instant is a second, so 2 Minutes are 120 instants.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

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
