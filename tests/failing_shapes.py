"""Texts that may raise an error, each with what it means: expressions, conditions and queries.

What a text means is worked out here tuple by tuple, as it reads: conditions are tested in their
order of the tuples that meet the ones before, and an expression is worked out for those that meet
all of them. `Raised` says that the query fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Row = tuple[int | None, str | None]
"""k and x, of the stream s and of the relation r alike."""

Bag = Counter[tuple[object, ...]]
"""What a query holds at an instant."""

Value = TypeVar("Value")
Result = TypeVar("Result")


class Raised(Exception):
    """An expression raises an error."""


# -- expressions and conditions --------------------------------------------------------------------


def within(value: int | None, most: int) -> int | None:
    """Return a number that a type holds whose greatest value is `most`."""
    if value is not None and not -most - 1 <= value <= most:
        raise Raised
    return value


def tiny(value: int | None) -> int | None:
    """Return what a cast to TINYINT gives."""
    return within(value, 127)


def number(text: str | None) -> int | None:
    """Return what a cast of text to INTEGER gives."""
    if text == "bad":
        raise Raised
    return None if text is None else int(text)


def tried(text: str | None) -> int | None:
    """Return what TRY_CAST of text to INTEGER gives."""
    return None if text in ("bad", None) else int(str(text))


def of(value: Value | None, function: Callable[[Value], Result]) -> Result | None:
    """Return what a function gives that is NULL of NULL."""
    return None if value is None else function(value)


def divided(days: int, parts: int | None) -> int | None:
    """Return the days of an interval that is divided."""
    if parts == 0:
        raise Raised
    return of(parts, lambda by: days // by)


EXPRESSIONS: Mapping[str, Callable[[Row], int | None]] = {
    "{0}.x::INTEGER": lambda row: number(row[1]),
    "CAST({0}.x AS INTEGER) + {0}.k": lambda row: of(
        number(row[1]), lambda v: of(row[0], lambda k: v + k)
    ),
    "({0}.k * 60)::TINYINT": lambda row: tiny(of(row[0], lambda k: k * 60)),
    "(TRY_CAST({0}.x AS INTEGER) * 20)::TINYINT": lambda row: tiny(
        of(tried(row[1]), lambda v: v * 20)
    ),
    "{0}.k + 2147483645": lambda row: within(of(row[0], lambda k: k + 2147483645), 2147483647),
    "extract('day' FROM INTERVAL '6 days' / ({0}.k - 2))::INTEGER": lambda row: divided(
        6, of(row[0], lambda k: k - 2)
    ),
    "CASE WHEN {0}.k = 1 THEN {0}.x::INTEGER ELSE 0 END": lambda row: (
        number(row[1]) if row[0] == 1 else 0
    ),
    "CASE WHEN {0}.x <> 'bad' THEN {0}.x::INTEGER END": lambda row: tried(row[1]),
    "coalesce({0}.x::INTEGER, {0}.k)": lambda row: (
        row[0] if number(row[1]) is None else number(row[1])
    ),
    "coalesce({0}.k, {0}.x::INTEGER)": lambda row: number(row[1]) if row[0] is None else row[0],
}
"""Over a tuple of `{0}`, all of whole numbers."""

CONDITIONS: Mapping[str, Callable[[Row], bool | None]] = {
    "{0}.k > 1": lambda row: of(row[0], lambda k: k > 1),
    "{0}.x <> 'bad'": lambda row: of(row[1], lambda x: x != "bad"),
    "{0}.x IS NOT NULL": lambda row: row[1] is not None,
    "{0}.x::INTEGER < 7": lambda row: of(number(row[1]), lambda v: v < 7),
    "({0}.k * 60)::TINYINT > 60": lambda row: of(
        tiny(of(row[0], lambda k: k * 60)), lambda v: v > 60
    ),
    "{0}.x::INTEGER IS NOT NULL": lambda row: number(row[1]) is not None,
}
SAFE = ("{0}.k > 1", "{0}.x <> 'bad'", "{0}.x IS NOT NULL")
"""The conditions that never raise."""


@dataclass(frozen=True)
class Parts:
    """What a shape is filled with.

    Attributes:
        expression: One of `EXPRESSIONS`, over s.
        other: Another one, over r.
        conditions: Those of WHERE, in their order.
    """

    expression: str
    other: str
    conditions: tuple[str, ...]

    def met(self, rows: Iterable[Row]) -> list[Row]:
        """Return the tuples that meet all conditions; each is tested if those before it are met."""
        return [row for row in rows if all(CONDITIONS[c](row) for c in self.conditions)]

    def value(self, row: Row) -> int | None:
        """Return what the expression is of a tuple."""
        return EXPRESSIONS[self.expression](row)

    def values(self, rows: Iterable[Row]) -> list[int | None]:
        """Return what the expression is of tuples."""
        return [self.value(row) for row in rows]

    def second(self, row: Row) -> int | None:
        """Return what the other expression is of a tuple."""
        return EXPRESSIONS[self.other](row)


# -- queries ---------------------------------------------------------------------------------------

Meaning = Callable[[Parts, list[Row], list[Row]], Bag]
"""What a query holds, of its parts, the content of the window on s, and that of r."""


def known(values: Iterable[Value | None]) -> list[Value]:
    """Return the values that are not NULL."""
    return [value for value in values if value is not None]


def groups(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> dict[Hashable, list[Row]]:
    """Return the tuples by what GROUP BY says of them."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def by_k(parts: Parts, rows: list[Row]) -> dict[Hashable, list[Row]]:
    """Return the tuples that meet WHERE by their k."""
    return groups(parts.met(rows), lambda row: row[0])


def greatest(rows: Iterable[Row]) -> str | None:
    """Return max(x)."""
    return max(known(x for _, x in rows), default=None)


def projected(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter((row[0], parts.value(row)) for row in parts.met(s))


def aggregated(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter(
        (k, min(known(parts.values(rows)), default=None)) for k, rows in by_k(parts, s).items()
    )


def total(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    values = known(parts.values(parts.met(s)))
    return Counter([(len(values), sum(values) if values else None)])


def in_the_middle(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter(
        (k, of(known(parts.values(rows)) or None, median)) for k, rows in by_k(parts, s).items()
    )


def keyed(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter(Counter(parts.values(parts.met(s))).items())


def counted_once(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter((k, len({*known(parts.values(rows))})) for k, rows in by_k(parts, s).items())


def filtered(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter(
        (k, len(rows), len(known(parts.values(parts.met(rows)))))
        for k, rows in groups(s, lambda row: row[0]).items()
    )


def behind_having(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    kept = {k: rows for k, rows in by_k(parts, s).items() if greatest(rows) not in ("bad", None)}
    return Counter((k, number(greatest(rows))) for k, rows in kept.items())


def counted(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter((k, tiny(len(rows) * 50)) for k, rows in by_k(parts, s).items())


def in_having(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    least = {k: known(parts.values(rows)) for k, rows in by_k(parts, s).items()}
    return Counter((k,) for k, values in least.items() if values and min(values) > 1)


def guarded_having(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    few = {k: rows for k, rows in by_k(parts, s).items() if k != 2}
    return Counter((k,) for k, rows in few.items() if (tiny(len(rows) * 50) or 0) > 50)


def nested_groups(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    counts = [len(rows) for rows in by_k(parts, s).values()]
    return Counter(Counter(n for n in counts if (tiny(n * 50) or 0) > 0).items())


def distinct(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter({(value,) for value in parts.values(parts.met(s))})


def limited(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    made = [(parts.value(row), row[0]) for row in parts.met(s)]
    made.sort(key=lambda row: [(v is None, v or 0) for v in row])
    return Counter(made[:2])


def in_subquery(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    kept = [row for row in parts.met(s) if of(row[0], lambda k: k > 1)]
    return Counter((row[0], parts.value(row)) for row in kept)


def unread(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    return Counter((k,) for k, _x in parts.met(s))


def pairs(s: Iterable[Row], r: Iterable[Row]) -> list[tuple[Row, Row]]:
    """Return the tuples that are equal in k, which NULL never is."""
    return [(one, other) for one in s for other in r if one[0] == other[0] is not None]


def joined(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    met = [(one, other) for one, other in pairs(s, r) if parts.met([one])]
    return Counter((parts.value(one), parts.second(other)) for one, other in met)


def outer(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    found: Bag = Counter()
    for one in parts.met(s):
        partners = [other for _, other in pairs([one], r)]
        found.update((one[0], number(other[1])) for other in partners or [(None, None)])
    return found


def sides(parts: Parts, s: list[Row], r: list[Row]) -> tuple[Bag, Bag]:
    """Return what a set operation combines."""
    left: Bag = Counter((value,) for value in parts.values(parts.met(s)))
    right: Bag = Counter((parts.second(row),) for row in r)
    return left, right


def united_all(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    left, right = sides(parts, s, r)
    return left + right


def united(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    left, right = sides(parts, s, r)
    return Counter(set(left) | set(right))


def subtracted_all(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    left, right = sides(parts, s, r)
    return left - right


def subtracted(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    left, right = sides(parts, s, r)
    return Counter(set(left) - set(right))


def intersected_all(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    left, right = sides(parts, s, r)
    return left & right


def among(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    """IN is about the rows of the subquery with a row outside: without one it raises nothing."""
    met = parts.met(s)
    return Counter(row for row in met if r and parts.value(row) in known(k for k, _ in r))


def not_among(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    met, listed = parts.met(s), [k for k, _ in r]
    if not listed:
        return Counter(met)
    values = [(row, parts.value(row)) for row in met]
    absent = [(row, v) for row, v in values if None not in (v, *listed)]
    return Counter(row for row, v in absent if v not in listed)


def matched(parts: Parts, s: list[Row], r: list[Row]) -> list[tuple[Row, Row]]:
    """Return the pairs that ON takes; it is worked out for each of them."""
    both = [(one, other, parts.value(one), parts.second(other)) for one in s for other in r]
    return [(one, other) for one, other, v, u in both if v == u is not None]


def linked(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return Counter((one[0], other[0]) for one, other in matched(parts, s, r) if parts.met([one]))


def linked_once(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    distinct = list(dict.fromkeys((k, None) for k, _ in r))
    values = [(one, parts.value(one)) for one in s if distinct]
    met = [one for one, v in values for k, _ in distinct if v == k is not None]
    return Counter(parts.met(met))


def with_partner(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    met = {one for one, _ in matched(parts, s, r)}
    return Counter(parts.met(row for row in s if row in met))


def alone(s: Iterable[Row], r: Iterable[Row]) -> list[Row]:
    """Return the tuples of s that are equal in k to none of r."""
    met = {one for one, _ in pairs(s, r)}
    return [row for row in s if row not in met]


def without_partner(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    met = {one for one, _ in matched(parts, s, r)}
    return Counter(parts.met(row for row in s if row not in met))


def behind_antijoin(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return Counter((value,) for value in parts.values(parts.met(alone(s, r))))


def absent(rows: list[Row], r: list[Row]) -> list[Row]:
    """Return the tuples whose k is NOT IN r."""
    listed = [k for k, _ in r]
    if None in listed:
        return []
    return [row for row in rows if not listed or (row[0] is not None and row[0] not in listed)]


def before_not_in(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return Counter((value,) for value in parts.values(absent(parts.met(s), r)))


def behind_not_in(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return Counter((value,) for value in parts.values(parts.met(absent(s, r))))


def aggregated_alone(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return aggregated(parts, alone(s, r), [])


def padded(s: list[Row], r: list[Row]) -> list[tuple[Row, Row]]:
    """Return the pairs that are equal in k, and each tuple of s that is in none beside NULLs."""
    return [*pairs(s, r), *((one, (None, None)) for one in alone(s, r))]


def behind_outer_join(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    met = [(one, other) for one, other in padded(s, r) if parts.met([one])]
    return Counter(
        (one[0], parts.value(one) if other[0] is None else other[0]) for one, other in met
    )


def beside_outer_join(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    met = [(one, other) for one, other in padded(s, r) if parts.met([one])]
    return Counter((parts.value(one), other[1]) for one, other in met)


def padded_alone(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    kept = [one for one, other in padded(s, r) if other[0] is None]
    return Counter((row[0],) for row in parts.met(kept))


def padded_on_both_sides(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    found = [*padded(s, r), *(((None, None), other) for other in alone(r, s))]
    values = [(one, other, parts.value(one)) for one, other in found if parts.met([one])]
    return Counter((one[0], parts.second(other) if v is None else v) for one, other, v in values)


def met_again(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    """Return what ON makes of pairs of which the one is less in k, and WHERE of that."""
    less = [
        (one, other) for one in s for other in r
        if None not in (one[0], other[0]) and one[0] < other[0]  # type: ignore[operator]
    ]  # fmt: skip
    met = [(one, other) for one, other in less if of(parts.value(one), lambda v: v > 0)]
    kept = [(one, other) for one, other in met if parts.met([one])]
    return Counter((one[0], other[0]) for one, other in kept)


def unlike_sevens(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    sevens = [row for row in s if row[1] == "7"]
    return Counter((value,) for value in parts.values(parts.met(alone(s, sevens))))


def but_sevens(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    others = [row for row in s if row[1] != "7"]
    return Counter((value,) for value in parts.values(parts.met(others)))


def antijoin_met_again(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return met_again(parts, alone(s, r), r)


def left_met_again(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return met_again(parts, [*(Counter(s) - Counter(r)).elements()], r)


def chosen_met_again(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    return met_again(Parts(parts.expression, parts.other, ()), parts.met(s), r)


def first_met_again(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    in_order = sorted(s, key=lambda row: [(v is None, v or 0, v or "") for v in row])
    return met_again(parts, in_order[:2], r)


def added(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    found: Bag = Counter()
    for one, other in pairs(s, r):
        v, u = parts.value(one), parts.second(other)
        total = None if v is None or u is None else within(v + u, 2147483647)
        if total is not None and total > 3 and parts.met([one]):
            found[one[0], other[0]] += 1
    return found


def numbered(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    values = parts.values(parts.met(s))
    counts = Counter(values)
    return Counter((value, counts[value]) for value in values)


def over_groups(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    met = parts.met(s)
    sums = {k: sum(known(parts.values(rows))) for k, rows in by_k(parts, s).items()}
    return Counter((k, tiny(sums[k] * 20)) for k, _x in met)


def qualified(parts: Parts, s: list[Row], _: list[Row]) -> Bag:
    kept = [row for rows in by_k(parts, s).values() if len(rows) > 1 for row in rows]
    return Counter((row[0], parts.value(row)) for row in kept)


def beside_a_number(parts: Parts, s: list[Row], r: list[Row]) -> Bag:
    most = max(known([parts.second(row) for row in r]), default=None)
    return Counter((row[0], most) for row in parts.met(s))


def of_relation(parts: Parts, _: list[Row], r: list[Row]) -> Bag:
    return Counter((k, tiny(len(rows) * 50)) for k, rows in by_k(parts, r).items())


@dataclass(frozen=True)
class Shape:
    """A query: its text and what it holds.

    Attributes:
        text: With `{e}` and `{o}` for the expressions, `{w}` for the window, `{c}` for what WHERE
            says of s, and `{d}` for what it says of r.
        meaning: What it holds at an instant.
        always: Whether that is so too where the query is worked out again at each instant.
    """

    text: str
    meaning: Meaning
    always: bool = True


SHAPES: Mapping[str, Shape] = {
    "projection": Shape("SELECT s.k, {e} AS v FROM s {w} WHERE {c}", projected),
    "aggregate": Shape("SELECT s.k, min({e}) AS v FROM s {w} WHERE {c} GROUP BY s.k", aggregated),
    "aggregate over all": Shape(
        "SELECT count({e}) AS n, sum({e})::BIGINT AS v FROM s {w} WHERE {c}", total),
    "other aggregate": Shape(
        "SELECT s.k, median({e}) AS v FROM s {w} WHERE {c} GROUP BY s.k", in_the_middle),
    "group key": Shape("SELECT {e} AS v, count(*) AS n FROM s {w} WHERE {c} GROUP BY {e}", keyed),
    "distinct aggregate": Shape(
        "SELECT s.k, count(DISTINCT {e}) AS n FROM s {w} WHERE {c} GROUP BY s.k", counted_once),
    "filter": Shape(
        "SELECT s.k, count(*) AS m, count({e}) FILTER (WHERE {c}) AS n FROM s {w} GROUP BY s.k",
        filtered),
    "behind having": Shape(
        "SELECT s.k, max(s.x)::INTEGER AS v FROM s {w} WHERE {c} GROUP BY s.k "
        "HAVING max(s.x) <> 'bad'", behind_having),
    "counted": Shape(
        "SELECT s.k, (count(*) * 50)::TINYINT AS n FROM s {w} WHERE {c} GROUP BY s.k", counted),
    "having": Shape("SELECT s.k FROM s {w} WHERE {c} GROUP BY s.k HAVING min({e}) > 1", in_having),
    "guarded having": Shape(
        "SELECT s.k FROM s {w} WHERE {c} GROUP BY s.k "
        "HAVING s.k IS DISTINCT FROM 2 AND (count(*) * 50)::TINYINT > 50", guarded_having),
    "nested groups": Shape(
        "SELECT i.n, count(*) AS m FROM "
        "(SELECT s.k, count(*) AS n FROM s {w} WHERE {c} GROUP BY s.k) AS i "
        "WHERE (i.n * 50)::TINYINT > 0 GROUP BY i.n", nested_groups),
    "distinct": Shape("SELECT DISTINCT {e} AS v FROM s {w} WHERE {c}", distinct),
    "limit": Shape(
        "SELECT {e} AS v, s.k FROM s {w} WHERE {c} ORDER BY v, s.k LIMIT 2", limited),
    "subquery": Shape(
        "SELECT i.k, i.v FROM (SELECT s.k, {e} AS v FROM s {w} WHERE {c}) AS i WHERE i.k > 1",
        in_subquery),
    "unread": Shape("SELECT i.k FROM (SELECT s.k, {e} AS v FROM s {w} WHERE {c}) AS i", unread),
    "join": Shape("SELECT {e} AS v, {o} AS u FROM s {w} JOIN r ON s.k = r.k WHERE {c}", joined),
    "outer join": Shape(
        "SELECT s.k, r.x::INTEGER AS u FROM s {w} LEFT JOIN r ON s.k = r.k WHERE {c}", outer),
    "union all": Shape(
        "SELECT {e} AS v FROM s {w} WHERE {c} UNION ALL SELECT {o} AS v FROM r", united_all),
    "union": Shape("SELECT {e} AS v FROM s {w} WHERE {c} UNION SELECT {o} AS v FROM r", united),
    "except all": Shape(
        "SELECT {e} AS v FROM s {w} WHERE {c} EXCEPT ALL SELECT {o} AS v FROM r", subtracted_all),
    "except": Shape(
        "SELECT {e} AS v FROM s {w} WHERE {c} EXCEPT SELECT {o} AS v FROM r", subtracted),
    "intersect all": Shape(
        "SELECT {e} AS v FROM s {w} WHERE {c} INTERSECT ALL SELECT {o} AS v FROM r",
        intersected_all),
    "in": Shape(
        "SELECT s.k, s.x FROM s {w} WHERE {c} AND {e} IN (SELECT r.k FROM r)", among, False),
    "not in": Shape(
        "SELECT s.k, s.x FROM s {w} WHERE {c} AND {e} NOT IN (SELECT r.k FROM r)", not_among,
        False),
    "equal join": Shape(
        "SELECT s.k, r.k AS j FROM s {w} JOIN r ON {e} = {o} WHERE {c}", linked, False),
    "equal to one": Shape(
        "SELECT s.k, s.x FROM s {w} JOIN (SELECT DISTINCT k FROM r) AS r ON {e} = r.k WHERE {c}",
        linked_once, False),
    "semijoin": Shape(
        "SELECT s.k, s.x FROM s {w} SEMI JOIN r ON {e} = {o} WHERE {c}", with_partner, False),
    "antijoin": Shape(
        "SELECT s.k, s.x FROM s {w} ANTI JOIN r ON {e} = {o} WHERE {c}", without_partner, False),
    "behind antijoin": Shape(
        "SELECT {e} AS v FROM s {w} ANTI JOIN r ON s.k = r.k WHERE {c}", behind_antijoin, False),
    "behind not exists": Shape(
        "SELECT {e} AS v FROM s {w} WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = s.k) AND {c}",
        behind_antijoin, False),
    "behind not in": Shape(
        "SELECT {e} AS v FROM s {w} WHERE s.k NOT IN (SELECT r.k FROM r) AND {c}",
        behind_not_in, False),
    "before not in": Shape(
        "SELECT {e} AS v FROM s {w} WHERE {c} AND s.k NOT IN (SELECT r.k FROM r)",
        before_not_in, False),
    "aggregate over antijoin": Shape(
        "SELECT s.k, min({e}) AS v FROM s {w} ANTI JOIN r ON s.k = r.k WHERE {c} GROUP BY s.k",
        aggregated_alone, False),
    "behind outer join": Shape(
        "SELECT s.k, coalesce(r.k, {e}) AS v FROM s {w} LEFT JOIN r ON s.k = r.k WHERE {c}",
        behind_outer_join, False),
    "beside outer join": Shape(
        "SELECT {e} AS v, r.x AS u FROM s {w} LEFT JOIN r ON s.k = r.k WHERE {c}",
        beside_outer_join, False),
    "padded": Shape(
        "SELECT s.k FROM s {w} LEFT JOIN r ON s.k = r.k WHERE r.k IS NULL AND {c}",
        padded_alone, False),
    "full join": Shape(
        "SELECT s.k, coalesce({e}, {o}) AS v FROM s {w} FULL JOIN r ON s.k = r.k WHERE {c}",
        padded_on_both_sides, False),
    "antijoin of one stream": Shape(
        "SELECT {e} AS v FROM s {w} ANTI JOIN (SELECT k FROM s {w} WHERE x = '7') AS o "
        "ON s.k = o.k WHERE {c}", unlike_sevens, False),
    "except of one stream": Shape(
        "SELECT {e} AS v FROM (SELECT k, x FROM s {w} EXCEPT ALL "
        "SELECT k, x FROM s {w} WHERE x = '7') AS s WHERE {c}", but_sevens, False),
    "join over antijoin": Shape(
        "SELECT s.k, r.k AS j FROM (SELECT s.k, s.x FROM s {w} ANTI JOIN r ON s.k = r.k) AS s "
        "JOIN r ON s.k < r.k AND {e} > 0 WHERE {c}", antijoin_met_again, False),
    "join over except": Shape(
        "SELECT s.k, r.k AS j FROM (SELECT s.k, s.x FROM s {w} EXCEPT ALL SELECT k, x FROM r) AS s "
        "JOIN r ON s.k < r.k AND {e} > 0 WHERE {c}", left_met_again, False),
    "join over selection": Shape(
        "SELECT s.k, r.k AS j FROM (SELECT s.k, s.x FROM s {w} WHERE {c}) AS s "
        "JOIN r ON s.k < r.k AND {e} > 0", chosen_met_again, False),
    "join over limit": Shape(
        "SELECT s.k, r.k AS j FROM (SELECT s.k, s.x FROM s {w} ORDER BY s.k, s.x LIMIT 2) AS s "
        "JOIN r ON s.k < r.k AND {e} > 0 WHERE {c}", first_met_again, False),
    "sum of both": Shape(
        "SELECT s.k, r.k AS j FROM s {w} JOIN r ON s.k = r.k AND {e}::INTEGER + ({o})::INTEGER > 3 "
        "WHERE {c}", added, False),
    "window function": Shape(
        "SELECT {e} AS v, count(*) OVER (PARTITION BY {e}) AS n FROM s {w} WHERE {c}", numbered),
    "behind window function": Shape(
        "SELECT s.k, (coalesce(sum({e}) OVER (PARTITION BY s.k), 0) * 20)::TINYINT AS v "
        "FROM s {w} WHERE {c}", over_groups),
    "qualify": Shape(
        "SELECT s.k, {e} AS v FROM s {w} WHERE {c} "
        "QUALIFY count(*) OVER (PARTITION BY s.k) > 1", qualified),
    "scalar subquery": Shape(
        "SELECT s.k, (SELECT max({o}) FROM r) AS v FROM s {w} WHERE {c}", beside_a_number, False),
    "relation": Shape(
        "SELECT r.k, (count(*) * 50)::TINYINT AS n FROM r WHERE {d} GROUP BY r.k", of_relation),
}  # fmt: skip
