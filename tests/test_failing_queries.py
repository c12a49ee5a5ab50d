"""Queries that fail: at the instant at which their text does, whatever the cut.

A query fails at the first instant at which an expression raises over what its windows hold, as
`failing_shapes` works it out. Up to there its changes are those of its text.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import choices
from counts import fewer_if_brief
from failing_shapes import (
    CONDITIONS,
    EXPRESSIONS,
    SAFE,
    SHAPES,
    Bag,
    Parts,
    Raised,
    Row,
    groups,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cqlduck

END = 9
"""The last instant."""

# -- windows ---------------------------------------------------------------------------------------

Element = tuple[int, Row]
"""A tuple, and the instant at which it comes."""

Window = Callable[[Sequence[Element], int], list[Row]]
"""What a window on s holds, of all elements, at an instant."""


def between(first: Callable[[int], int], last: Callable[[int], int]) -> Window:
    return lambda elements, now: [row for at, row in elements if first(now) <= at <= last(now)]


def newest(count: int, key: Callable[[Row], Hashable] = lambda _: 0) -> Window:
    def content(elements: Sequence[Element], now: int) -> list[Row]:
        there = groups((row for at, row in elements if at <= now), key)
        return [row for rows in there.values() for row in rows[-count:]]

    return content


def chosen(elements: Sequence[Element], now: int) -> list[Row]:
    return [row for at, row in elements if now - 2 <= at <= now and row[1] not in ("bad", None)]


WINDOWS: Mapping[str, Window] = {
    "[NOW]": between(lambda now: now, lambda now: now),
    "[RANGE 2]": between(lambda now: now - 2, lambda now: now),
    "[RANGE UNBOUNDED]": between(lambda now: -1, lambda now: now),
    "[RANGE 1 SLIDE 4]": between(lambda now: now // 4 * 4 - 1, lambda now: now // 4 * 4),
    "[TUMBLE 3]": between(lambda now: now // 3 * 3 - 3, lambda now: now // 3 * 3 - 1),
    "[HOP 1 EVERY 3]": between(lambda now: now // 3 * 3 - 1, lambda now: now // 3 * 3 - 1),
    "[RANGE 2 WHERE x <> 'bad']": chosen,
    "[ROWS 2]": newest(2),
    "[PARTITION BY k ROWS 1]": newest(1, lambda row: row[0]),
}

# -- cases -----------------------------------------------------------------------------------------

Stay = tuple[int, Row, int | None]
"""A tuple of the relation: when it comes, and when it leaves, if it does."""


@dataclass(frozen=True)
class Case:
    """A query, what comes, and how it is run.

    Attributes:
        shape: One of `SHAPES`.
        window: One of `WINDOWS`.
        parts: What fills the shape.
        operator: A relation-to-stream operator, or nothing.
        elements: What comes on s.
        stays: What comes and leaves in r.
        cuts: Where time is cut into ticks.
        ahead: Whether all is there from the start; else each tick gets what it takes in.
        restarts: Whether the database is on disk, and opened anew after each tick.
        company: Whether there are queries above it, beside it, and one that is the same.
        staged: In which form the statements are, or in either, drawn.
        recompute: The setting.
        begins: Where a query `held` has the window, from the start, and the query that is tried
            begins over it: after which cut, or from the start too (-1).
    """

    shape: str
    window: str
    parts: Parts
    elements: tuple[Element, ...]
    stays: tuple[Stay, ...] = ()
    cuts: tuple[int, ...] = ()
    operator: str = ""
    ahead: bool = False
    restarts: bool = False
    company: bool = True
    staged: bool | None = None
    recompute: str = "allow"
    begins: int | None = None

    @property
    def text(self) -> str:
        """The query."""
        conditions = " AND ".join(self.parts.conditions) or "true"
        text = SHAPES[self.shape].text.format(
            e=self.parts.expression.format("s"),
            o=self.parts.other.format("r"),
            c=conditions.format("s"),
            d=conditions.format("r"),
            w=self.window,
        )
        if self.begins is not None:
            text = text.replace(f"s {self.window}", "held AS s")
        return f"{self.operator}({text})" if self.operator else text

    def held(self) -> Iterator[Bag]:
        """Yield what the query holds at each instant, up to the one before it fails."""
        for now in range(END + 1):
            if self.begins is not None and now <= self.begins:
                yield Bag()
                continue
            s = WINDOWS[self.window](self.elements, now)
            r = [row for at, row, end in self.stays if at <= now and (end is None or now < end)]
            try:
                yield SHAPES[self.shape].meaning(self.parts, s, r)
            except Raised:
                return

    def expected(self) -> list[Bag]:
        """Return the sum of the query's changes at each instant, up to the one before it fails."""
        before, stream, found = Bag(), Bag(), []
        for bag in self.held():
            if not self.operator:
                found.append(bag)
                continue
            put = {"Istream": bag - before, "Dstream": before - bag, "Rstream": bag}
            stream, before = stream + put[self.operator], bag
            found.append(stream)
        return found


ROWS = st.tuples(
    st.sampled_from([1, 2, 3, 2, None]), st.sampled_from(["1", "2", "7", "bad", None, "1"])
)


def in_time(least: int, most: int) -> st.SearchStrategy[tuple[Element, ...]]:
    elements = st.lists(st.tuples(st.integers(0, END), ROWS), min_size=least, max_size=most)
    return elements.map(lambda found: tuple(sorted(found, key=lambda element: element[0])))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a query with its data."""
    fragile = st.lists(st.sampled_from(sorted({*CONDITIONS} - {*SAFE})), max_size=1)
    parts = Parts(
        draw(st.sampled_from(sorted(EXPRESSIONS))),
        draw(st.sampled_from(sorted(EXPRESSIONS))),
        (*draw(st.lists(st.sampled_from(SAFE), max_size=2, unique=True)), *draw(fragile)),
    )
    recompute = draw(st.sampled_from(["allow", "allow", "always"]))
    shapes = [name for name in sorted(SHAPES) if recompute == "allow" or SHAPES[name].always]
    stays = tuple(
        (at, row, draw(st.none() | st.integers(at + 1, END + 1)))
        for at, row in draw(in_time(0, draw(st.sampled_from([0, 4, 4]))))
    )
    some = st.lists(st.integers(0, END - 1), max_size=4, unique=True)
    cuts = tuple(draw(some.map(sorted) | st.just(range(END))))
    window = draw(st.sampled_from(sorted(WINDOWS)))
    # without a bound `held` is a stream, and what came before counts for nobody
    is_stream = "UNBOUNDED" in window
    begins = None if is_stream else draw(st.sampled_from([None, None, -1, *cuts]))
    return Case(
        draw(st.sampled_from(shapes)),
        window,
        parts,
        draw(in_time(1, 7)),
        stays,
        cuts,
        draw(st.sampled_from(["", "", "", "Istream", "Dstream", "Rstream"])),
        # with all there, time goes on to the end at once
        begins in (None, -1) and draw(st.booleans()),
        draw(st.sampled_from([False] * 5 + [True])),
        draw(st.booleans()),
        draw(st.sampled_from([None, True, False])),
        recompute,
        begins,
    )


# -- how it is run ---------------------------------------------------------------------------------


def sums(changes: Sequence[tuple[Any, ...]], until: int) -> list[Bag]:
    """Return the sum of changes at each instant."""
    found, held = [], Bag()
    for now in range(until + 1):
        for *row, at, weight in changes:
            if at == now:
                held[tuple(row)] += weight
        found.append(+held)
    assert all(at <= until for *_, at, _ in changes)
    return found


@contextmanager
def place(case: Case) -> Iterator[str]:
    """Give the place of the database."""
    if not case.restarts:
        yield ":memory:"
        return
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "case.duckdb")


def connected(case: Case, database: str) -> cqlduck.Connection:
    con = cqlduck.connect(database, threads=1, recompute=case.recompute)  # type: ignore[arg-type]
    choices.force_stages(con, case.staged)
    return con


def bring(con: cqlduck.Connection, case: Case, since: int, until: int) -> None:
    """Append and retract what comes and leaves after an instant, up to another one."""
    for at, row in case.elements:
        if since < at <= until:
            con.append("s", [row], at=at)
    comings = [(at, con.append, row) for at, row, _ in case.stays]
    leavings = [(end, con.retract, row) for _, row, end in case.stays if end is not None]
    for at, change, row in sorted([*comings, *leavings], key=lambda change: change[0]):
        if since < at <= until:
            change("r", [row], at=at)


def queries(case: Case) -> dict[str, str]:
    """Return the queries of a case: the one that may fail, and its company."""
    made = {"q": case.text}
    if case.company:
        made |= {"above": "SELECT count(*) AS n FROM q", "beside": "SELECT k FROM s"}
        made |= {"again": case.text}
    return made


def register(con: cqlduck.Connection, case: Case) -> None:
    for name, text in queries(case).items():
        con.execute(f"CREATE CONTINUOUS QUERY {name} AS {text}")


def check(case: Case) -> None:
    """Run a query, and compare where it stops, and what it says up to there."""
    expected = case.expected()
    reached = len(expected) - 1
    with place(case) as database:
        con = connected(case, database)
        con.execute("CREATE STREAM s (k INTEGER, x VARCHAR)")
        con.execute("CREATE RELATION r (k INTEGER, x VARCHAR)")
        if case.begins is not None:
            con.execute(f"CREATE CONTINUOUS QUERY held AS SELECT k, x FROM s {case.window}")
        if case.begins in (None, -1):
            register(con, case)
        since = -1
        for cut in (*case.cuts, END):
            bring(con, case, since, END + 1 if case.ahead else cut)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                con.advance(cut)
            since = END + 1 if case.ahead else cut
            if cut == case.begins:
                register(con, case)
            if case.restarts:
                con.close()
                con = connected(case, database)
        with con:
            rows = con.sql("SELECT name, state, frontier FROM cql.queries").fetchall()
            found = {name: (state, -1 if at is None else int(at)) for name, state, at in rows}
            stops = ("active" if reached == END else "failed", reached)
            stands = {"q": stops, "above": ("active", reached), "again": stops}
            for name in queries(case):
                assert stands.get(name, ("active", END)) == found[name], (name, case.text)
            assert expected == sums(con.changes("q").fetchall(), reached), case.text


BEYOND = Case(
    "behind having", "[RANGE UNBOUNDED]",
    Parts("{0}.x::INTEGER", "{0}.x::INTEGER", ("({0}.k * 60)::TINYINT > 60",)),
    ((0, (1, "1")), (0, (2, "1")), (0, (2, "1")), (0, (2, "1")), (2, (1, None)), (7, (3, "1"))),
    cuts=(2, 4),
)  # fmt: skip
"""What raises comes after the instants in which the one that fails is looked for."""

GONE = Case(
    "projection", "[RANGE 2]", Parts("{0}.x::INTEGER", "{0}.x::INTEGER", ()),
    ((1, (3, "bad")), (5, (1, "1"))), cuts=(4,), begins=4,
)  # fmt: skip
"""What raises has left the query below before the one above begins."""

ALONE = Case(
    "in", "[RANGE 2]", Parts("{0}.x::INTEGER", "{0}.x::INTEGER", ("{0}.x::INTEGER < 7",)),
    ((1, (1, "bad")), (2, (1, "7"))),
)  # fmt: skip
"""What raises stands before an IN that nothing is ever in."""

STAYS = Case(
    "projection", "[NOW]", Parts("{0}.x::INTEGER", "{0}.x::INTEGER", ()),
    ((3, (1, "bad")),), cuts=(2, 3, 4), operator="Dstream", begins=-1,
)  # fmt: skip
"""What raises has come, and nothing has left yet."""


@settings(
    max_examples=fewer_if_brief(6), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@example(STAYS)
@example(BEYOND)
@example(GONE)
@example(ALONE)
@given(cases())
def test_a_query_fails_where_its_text_does(case: Case) -> None:
    check(case)
