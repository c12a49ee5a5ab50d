"""Random queries that may fail, and when they have to by their text: worked out row by row.

A case is a FROM clause of one to four items with conditions in ON and WHERE, some of which raise an
error for some values, and what is selected. `expected` walks through it as the text reads, at each
instant; `check` runs it and compares the instant at which it fails, and what it held before.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import choices
from hypothesis import strategies as st

import cqlduck

LAST = 5
"""The last instant."""

Row = tuple[int | None, str | None]
"""A tuple of an item, (k, x); one that an outer join pads has neither."""

Rows = dict[str, Row]
"""One tuple of each item, by alias."""

Bag = Counter[tuple[int | str | None, ...]]

NOTHING: Row = (None, None)
SOURCES = ("s", "r", "p")
"""A stream and two relations."""


class Raised(Exception):
    """An expression raises an error."""


@dataclass(frozen=True)
class Condition:
    """A condition on one item, or on two: `kind` says which, by `TEXTS`."""

    kind: str
    one: str
    other: str


def number(text: str | None) -> int | None:
    """What a cast of text to INTEGER gives."""
    if text == "bad":
        raise Raised
    return None if text is None else int(text)


def is_more(value: int | None, than: int) -> bool | None:
    return None if value is None else value > than


def are_equal(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one == other


TESTS: dict[str, Callable[[Row, Row], bool | None]] = {
    "{one}.k = {other}.k": lambda one, other: are_equal(one[0], other[0]),
    "{one}.k > 0": lambda one, other: is_more(one[0], 0),
    "{one}.k <> 2": lambda one, other: None if one[0] is None else one[0] != 2,
    "{one_x} > 0": lambda one, other: is_more(number(one[1]), 0),
    "{one_x} = {other}.k": lambda one, other: are_equal(number(one[1]), other[0]),
    "USING (k)": lambda one, other: are_equal(one[0], other[0]),
    "USING (v)": lambda one, other: are_equal(number(one[1]), number(other[1])),
}

OF_ON = sorted(kind for kind in TESTS if not kind.startswith("USING"))
JOINS = (",", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


@dataclass(frozen=True)
class Item:
    """An item of FROM.

    Attributes:
        source: What it reads.
        form: 'plain'; 'late', a subquery with x as a number and a column that nobody reads;
            'chosen', one with a WHERE; 'grouped', the greatest x of each k.
        join: One of `JOINS`; of no meaning for the first one.
        on: The conditions of ON, or the one of USING.
        inside: The conditions of the subquery.
    """

    source: str
    form: str
    join: str
    on: tuple[Condition, ...]
    inside: tuple[Condition, ...]


@dataclass(frozen=True)
class Case:
    """A query over data, and how it is run.

    Attributes:
        items: The items of FROM, with the aliases i0, i1, …
        where: The conditions of WHERE.
        shape: What is selected, one of `SHAPES`.
        only: The conditions of FILTER.
        having: What HAVING asks for, by `HAVINGS`: nothing, more than one tuple before it looks at
            a cast, or a key.
        width: w of the stream's window [RANGE w].
        data: Of each source its tuples, with the instants at which they come and are deleted; one
            that is deleted as it comes is never there.
        cuts: Where time is cut into ticks.
        staged: In which form the statements are.
        recompute: The setting.
    """

    items: tuple[Item, ...]
    where: tuple[Condition, ...]
    shape: str
    only: tuple[Condition, ...]
    having: str
    width: int
    data: dict[str, list[tuple[int, int, str | None, int]]]
    cuts: list[int]
    staged: bool
    recompute: str = "allow"


# -- the text --------------------------------------------------------------------------------------


def value(case: Case, alias: str) -> str:
    """What x of an item is as a number."""
    item = case.items[int(alias[1:])]
    return f"{alias}.v" if item.form == "late" else f"{alias}.x::INT"


def said(case: Case, conditions: Iterable[Condition]) -> str:
    return " AND ".join(
        c.kind.format(one=c.one, other=c.other, one_x=value(case, c.one)) for c in conditions
    )


def item_text(case: Case, place: int) -> str:
    item = case.items[place]
    read = f"s [RANGE {case.width}]" if item.source == "s" else item.source
    inner = {
        "late": f"SELECT k, x::INT AS v, x::DATE AS unread FROM {read}",
        "chosen": f"SELECT k, x FROM {read} AS y WHERE "
        + " AND ".join(c.kind.format(one="y", other="y", one_x="y.x::INT") for c in item.inside),
        "grouped": f"SELECT k, max(x) AS x, sum(x::INT) AS unread FROM {read} GROUP BY k",
    }
    written = f"({inner[item.form]})" if item.form in inner else read
    return f"{written} AS i{place}"


def from_text(case: Case) -> str:
    parts = [item_text(case, 0)]
    for place, item in enumerate(case.items[1:], 1):
        if item.join == ",":
            parts.append(f", {item_text(case, place)}")
        else:
            on = said(case, item.on)
            on = on if on.startswith("USING") else f"ON {on}"
            parts.append(f" {item.join} {item_text(case, place)} {on}")
    where = f" WHERE {said(case, case.where)}" if case.where else ""
    return "".join(parts) + where


def text(case: Case) -> str:
    """The query."""
    last = f"i{len(case.items) - 1}"
    cast, body = value(case, last), from_text(case)
    only = f" FILTER (WHERE {said(case, case.only)})" if case.only else ""
    having = HAVINGS[case.having].format(last=last)
    shapes = {
        "rows": f"SELECT i0.k AS a, {last}.k AS b FROM {body}",
        "cast": f"SELECT i0.k AS a, {cast} AS b FROM {body}",
        "distinct": f"SELECT DISTINCT i0.k AS a, {cast} AS b FROM {body}",
        "unread": f"SELECT a FROM (SELECT i0.k AS a, {cast} AS b FROM {body}) WHERE a > 0",
        "read late": f"SELECT a FROM (SELECT i0.k AS a, {cast} AS b FROM {body})"
        " WHERE a > 0 AND b > 0",
        "groups": f"SELECT i0.k AS a, sum({cast}){only} AS b FROM {body} GROUP BY i0.k{having}",
        "other groups": f"SELECT i0.k AS a, count({cast}){only} AS b, bit_or({cast}){only} AS c"
        f" FROM {body} GROUP BY i0.k{having}",
        "unread groups": f"SELECT a FROM (SELECT i0.k AS a, sum({cast}){only} AS b FROM {body}"
        f" GROUP BY i0.k{having})",
        "union": f"SELECT i0.k AS a, {cast} AS b FROM {body} UNION SELECT k, 0 FROM r WHERE k > 1",
        "scalar": f"SELECT i0.k AS a, (SELECT max(k) FROM p) AS b FROM {body}",
    }
    return shapes[case.shape]


HAVINGS = {
    "": "",
    "counts": " HAVING count(*) > 1 AND max({last}.x)::INT > 0",
    "key": " HAVING i0.k > 0",
}

SHAPES = ("rows", "cast", "distinct", "unread", "read late", "groups", "other groups",
          "unread groups", "union", "scalar")  # fmt: skip


# -- what it means ---------------------------------------------------------------------------------


def judged(case: Case, conditions: Iterable[Condition]) -> list[Condition]:
    """The conditions of ON or WHERE in the order in which they are tested.

    Recomputed, equalities that link two items come first (docs/exactness.md).
    """
    linking = "{one}.k = {other}.k"
    return sorted(
        conditions,
        key=lambda c: case.recompute == "allow" or c.kind != linking or c.one == c.other,
    )


def meets(conditions: Iterable[Condition], rows: Rows) -> bool:
    """Whether rows meet all conditions, tested in order."""
    return all(TESTS[c.kind](rows[c.one], rows[c.other]) for c in conditions)


def there(case: Case, source: str, now: int) -> list[Row]:
    width = case.width if source == "s" else LAST
    return [
        (k, x) for at, k, x, gone in case.data[source] if at <= now <= at + width and now < gone
    ]


def content(case: Case, place: int, now: int) -> list[Row]:
    item = case.items[place]
    rows = there(case, item.source, now)
    if item.form == "chosen":
        return [row for row in rows if meets(item.inside, {"y": row})]
    if item.form == "grouped":
        groups: dict[int | None, list[str | None]] = {}
        for k, x in rows:
            groups.setdefault(k, []).append(x)
        return [
            (k, max((x for x in values if x is not None), default=None))
            for k, values in groups.items()
        ]
    return rows


def combined(
    item: Item, alias: str, lefts: list[Rows], rights: list[Row], names: list[str]
) -> list[Rows]:
    """The combinations of a join: of some rows, with the aliases `names`, and those of an item."""
    found: list[Rows] = []
    partners = [0] * len(rights)
    for left in lefts:
        met = [n for n, row in enumerate(rights) if meets(item.on, {**left, alias: row})]
        found += [{**left, alias: rights[n]} for n in met]
        for n in met:
            partners[n] += 1
        if not met and item.join in ("LEFT JOIN", "FULL JOIN"):
            found.append({**left, alias: NOTHING})
    if item.join in ("RIGHT JOIN", "FULL JOIN"):
        alone = [row for row, count in zip(rights, partners, strict=True) if not count]
        found += [{**dict.fromkeys(names, NOTHING), alias: row} for row in alone]
    return found


def joined(case: Case, now: int) -> list[Rows]:
    """The combinations of FROM and WHERE."""
    done: list[list[Rows]] = []
    current: list[Rows] = [{"i0": row} for row in content(case, 0, now)]
    for place, item in enumerate(case.items[1:], 1):
        rows = content(case, place, now)
        if item.join == ",":
            done.append(current)
            current = [{f"i{place}": row} for row in rows]
            continue
        group = range(max(n for n in range(place) if n == 0 or case.items[n].join == ","), place)
        item = replace(item, on=tuple(judged(case, item.on)))
        current = combined(item, f"i{place}", current, rows, [f"i{n}" for n in group])
    product = [
        {alias: row for part in parts for alias, row in part.items()}
        for parts in itertools.product(*done, current)
    ]
    return [rows for rows in product if meets(judged(case, case.where), rows)]


def or_of(values: Iterable[int]) -> int | None:
    result: int | None = None
    for one in values:
        result = one if result is None else result | one
    return result


def groups(case: Case, found: list[Rows], last: str) -> Iterator[tuple[int | None, list[int]]]:
    """The groups by the first item's k that HAVING keeps, with the numbers that FILTER keeps."""
    by_key: dict[int | None, list[Rows]] = {}
    for rows in found:
        by_key.setdefault(rows["i0"][0], []).append(rows)
    kept = []
    for key, members in by_key.items():
        casts = []
        if case.shape != "unread groups":
            casts = [number(rows[last][1]) for rows in members if meets(case.only, rows)]
        kept.append((key, members, [cast for cast in casts if cast is not None]))
    for key, members, casts in kept:
        if case.having == "key" and not is_more(key, 0):
            continue
        if case.having == "counts":
            texts = [rows[last][1] for rows in members]
            most = max((x for x in texts if x is not None), default=None)
            if not (len(members) > 1 and is_more(number(most), 0)):
                continue
        yield key, casts


def answer(case: Case, now: int) -> Bag:
    """The answer at an instant.

    Raises:
        Raised: The query fails there.
    """
    found = joined(case, now)
    last = f"i{len(case.items) - 1}"
    first = [rows["i0"][0] for rows in found]
    match case.shape:
        case "rows":
            return Counter((rows["i0"][0], rows[last][0]) for rows in found)
        case "unread":
            return Counter((k,) for k in first if is_more(k, 0))
        case "read late":
            positive = [rows for rows in found if is_more(rows["i0"][0], 0)]
            kept = [rows for rows in positive if is_more(number(rows[last][1]), 0)]
            return Counter((rows["i0"][0],) for rows in kept)
        case "scalar":
            most = max((k for k, _ in there(case, "p", now) if k is not None), default=None)
            return Counter((k, most) for k in first)
        case "groups":
            return Counter((k, sum(v) if v else None) for k, v in groups(case, found, last))
        case "other groups":
            return Counter((k, len(v), or_of(v)) for k, v in groups(case, found, last))
        case "unread groups":
            return Counter((k,) for k, _ in groups(case, found, last))
    bag: Bag = Counter((rows["i0"][0], number(rows[last][1])) for rows in found)
    if case.shape == "cast":
        return bag
    if case.shape == "union":
        bag.update((k, 0) for k, _ in there(case, "r", now) if is_more(k, 1))
    return Counter(dict.fromkeys(bag, 1))


def expected(case: Case) -> tuple[int | None, list[Bag]]:
    """The instant at which the query fails, or None; and what it holds at each before that."""
    held: list[Bag] = []
    for now in range(LAST + 1):
        try:
            held.append(answer(case, now))
        except Raised:
            return now, held
    return None, held


# -- how it is drawn and run -----------------------------------------------------------------------


@st.composite
def conditions(
    draw: st.DrawFn, aliases: list[str], most: int, least: int = 0
) -> tuple[Condition, ...]:
    """Conditions on some items."""
    made = st.builds(
        Condition, st.sampled_from(OF_ON), st.sampled_from(aliases),
        st.sampled_from(aliases),
    )  # fmt: skip
    return tuple(draw(st.lists(made, min_size=least, max_size=most, unique=True)))


TEXTS = st.sampled_from(["0", "1", "2", "bad", None])


@st.composite
def tuples(draw: st.DrawFn, source: str) -> list[tuple[int, int, str | None, int]]:
    """Up to three tuples of a source; those of a relation may be deleted."""
    found = []
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, LAST))
        stays = source == "s" or draw(st.integers(0, 2)) > 0
        gone = LAST + 1 if stays else draw(st.integers(at, LAST))
        found.append((at, draw(st.integers(0, 2)), draw(TEXTS), gone))
    return found


@st.composite
def cases(
    draw: st.DrawFn,
    most: int = 4,
    recompute: str = "allow",
    joins: tuple[str, ...] = JOINS,
    on_alone: str | None = None,
) -> Case:
    """Queries of up to `most` items, with these joins; ON may have one kind of condition alone."""
    count = draw(st.integers(1, most))
    items: list[Item] = []
    group = 0
    for place in range(count):
        join = draw(st.sampled_from(joins))
        group = place if join == "," else group
        on = draw(conditions([f"i{n}" for n in range(group, place + 1)], 3, 1)) if place else ()
        if place and on_alone is not None:
            on = (Condition(on_alone, f"i{place - 1}", f"i{place}"),)
        form = draw(st.sampled_from(["plain", "plain", "plain", "late", "chosen", "grouped"]))
        if place == group + 1 and draw(st.integers(0, 3)) == 0:
            form = items[group].form
            named = "v" if form == "late" and on_alone is None else "k"
            on = (Condition(f"USING ({named})", f"i{group}", f"i{place}"),)
        inside = draw(conditions(["y"], 2, 1)) if form == "chosen" else ()
        items.append(Item(draw(st.sampled_from(SOURCES)), form, join, on, inside))
    aliases = [f"i{n}" for n in range(count)]
    where = draw(conditions(aliases, 3))
    if recompute == "always" and any("JOIN" in i.join and i.join != "JOIN" for i in items):
        # it may be tested on tuples that do not stand together (docs/exactness.md)
        where = tuple(condition for condition in where if "one_x" not in condition.kind)
    has_text = items[-1].form != "late"
    return Case(
        tuple(items),
        where,
        draw(st.sampled_from(SHAPES)),
        draw(conditions(aliases, 2)),
        # recomputed, HAVING by a key may spare its aggregates (docs/exactness.md)
        draw(st.sampled_from(["", *(["key"] * (recompute == "allow")), *(["counts"] * has_text)])),
        draw(st.sampled_from([0, 1, 20])),
        {source: draw(tuples(source)) for source in SOURCES},
        draw(st.lists(st.integers(0, LAST), max_size=3)),
        draw(st.booleans()),
        recompute,
    )


def check(case: Case) -> None:
    """Run a case, and compare when it fails and what it held before."""
    fails, held = expected(case)
    with cqlduck.connect(recompute=case.recompute) as con:  # type: ignore[arg-type]
        choices.force_stages(con, case.staged)
        con.execute("CREATE STREAM s (k INTEGER, x VARCHAR)")
        con.execute("CREATE RELATION r (k INTEGER, x VARCHAR)")
        con.execute("CREATE RELATION p (k INTEGER, x VARCHAR)")
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT * FROM ({text(case)})")
        for source in SOURCES:
            for at in range(LAST + 1):
                come = [(k, x) for came, k, x, _ in case.data[source] if came == at]
                gone = [(k, x) for _, k, x, gone in case.data[source] if gone == at]
                if come:
                    con.append(source, come, at=at)
                if gone:
                    con.retract(source, gone, at=at)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for to in (*sorted(case.cuts), LAST):
                con.advance(to)
        ((state, frontier),) = con.sql("SELECT state, frontier FROM cql.queries").fetchall()
        assert ("active" if fails is None else "failed") == state, text(case)
        assert (LAST if fails is None else fails - 1) == int(frontier), text(case)
        changes = con.changes("q").fetchall()
    for now, wanted in enumerate(held):
        found: Bag = Counter()
        for *row, at, weight in changes:
            if at <= now:
                found[tuple(row)] += weight
        assert +wanted == +found, (text(case), now)
