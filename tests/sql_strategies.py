"""Random queries of any SQL, on the inputs, windows and scripts of `strategies`.

`sql_cases()` draws a `Case` whose queries reach beyond the first subset: outer, semi, anti and ASOF
joins, subqueries in expressions, set operations, CTEs, LATERAL, DISTINCT ON, LIMIT, window
functions, grouping sets, all kinds of aggregates. They mix with the queries of `strategies`, as
subqueries and as named queries, so that what is worked out again stands over and under what has a
delta rule.

A query is written once, as a text with places: `⟦i⟧` is leg i, `⟦+ … +⟧` is for the oracle alone
and `⟦- … -⟧` for the engine alone, `⟦( … )⟧` is a SELECT list that may get an operator. Where SQL
leaves a tie open the oracle's text breaks it, by all columns of the FROM clause in order; the
engine's text does not.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from kinds import KINDS
from reference import (
    R2S,
    Hop,
    Now,
    PartitionRows,
    Query,
    Range,
    Rows,
    Source,
    Tumble,
    Unbounded,
    Window,
    is_monotonic,
    yields_stream,
)
from strategies import (
    MOST_ROWS,
    Case,
    Column,
    Refs,
    _Builder,
    _Draft,
    _Flags,
    _Known,
    _phases,
    _script,
)

# ------------------------------------------------------------------------------------- texts


def oracle_text(text: str) -> str:
    """Return plain SQL, with `{i}` in the place of leg i.

    >>> oracle_text("SELECT ⟦( * )⟧ FROM ⟦0⟧ x LIMIT 1⟦+ OFFSET 0 +⟧")
    'SELECT * FROM {0} x LIMIT 1 OFFSET 0 '
    """
    text = re.sub(r"⟦-.*?-⟧", "", text)
    text = text.replace("⟦+", "").replace("+⟧", "").replace("⟦(", "").replace(")⟧", "")
    return re.sub(r"⟦(\d+)⟧", r"{\1}", text).replace("  ", " ")


def engine_text(
    text: str, legs: Sequence[tuple[str, str]], operator: str | None = None, around: bool = False
) -> str:
    """Return the CQL.

    Args:
        text: The query.
        legs: Each leg's source as text, and its window as text or "".
        operator: `Istream`, `Dstream`, `Rstream` or None.
        around: Whether the operator stands around the whole query or in its SELECT list.
    """

    def leg(found: re.Match[str]) -> str:
        source, spec = legs[int(found[1])]
        return f"{source} {spec}".strip()

    text = re.sub(r"⟦\+.*?\+⟧", "", text)
    text = text.replace("⟦-", "").replace("-⟧", "")
    listed = operator is not None and not around and text.count("⟦(") == 1
    if listed:
        text = text.replace("⟦(", f"{operator}(").replace(")⟧", ")")
    text = text.replace("⟦(", "").replace(")⟧", "")
    text = re.sub(r"⟦(\d+)⟧", leg, text)
    text = text.replace("  ", " ")
    return text if operator is None or listed else f"{operator}({text})"


_WINDOWS: dict[str, Callable[..., Window]] = {
    r"NOW": lambda: Now(),
    r"RANGE UNBOUNDED": lambda: Unbounded(),
    r"RANGE (\d+)": lambda w: Range(int(w)),
    r"RANGE (\d+) SLIDE (\d+)": lambda w, s: Range(int(w), int(s)),
    r"ROWS (\d+)": lambda n: Rows(int(n)),
    r"PARTITION BY (\w+) ROWS (\d+)": lambda by, n: PartitionRows((by,), int(n)),
    r"HOP (\d+) EVERY (\d+)": lambda w, s: Hop(int(w), int(s)),
    r"TUMBLE (\d+)": lambda w: Tumble(int(w)),
}


def written(
    name: str, text: str, sources: Sequence[Source], r2s: R2S | None = None, **options: Any
) -> Query:
    """Return the query of a text in which `⟦s ROWS 2⟧` is a leg.

    Args:
        name: Its name.
        text: The text.
        sources: What its legs may name.
        r2s: A relation-to-stream operator; it is put around the query.
        options: More of `Query`.
    """
    known = {source.name: source for source in sources}
    legs: list[tuple[Source, Window | None]] = []
    texts: list[tuple[str, str]] = []

    def leg(found: re.Match[str]) -> str:
        source, spec = found[1], (found[2] or "").strip()
        legs.append((known[source], _window_of(spec) if spec else None))
        texts.append((source, f"[{spec}]" if spec else ""))
        return f"⟦{len(legs) - 1}⟧"

    text = re.sub(r"⟦([a-z]\w*)( [^⟧]*)?⟧", leg, text)
    default: R2S | None = "istream" if options.get("monotonic") else None
    return Query(
        name,
        oracle_text(text),
        tuple(legs),
        r2s or default,
        engine_text(text, texts, r2s.title() if r2s else None),
        **options,
    )


def _window_of(text: str) -> Window:
    for pattern, made in _WINDOWS.items():
        found = re.fullmatch(pattern, text)
        if found:
            return made(*found.groups())
    raise ValueError(f"not a window: {text}")


CONSTRUCTS: Mapping[str, str] = {
    "LEFT JOIN": r"\bLEFT JOIN\b",
    "RIGHT JOIN": r"\bRIGHT JOIN\b",
    "FULL JOIN": r"\bFULL JOIN\b",
    "SEMI JOIN": r"\bSEMI JOIN\b",
    "ANTI JOIN": r"\bANTI JOIN\b",
    "CROSS JOIN": r"\bCROSS JOIN\b",
    "NATURAL JOIN": r"\bNATURAL\b",
    "ASOF JOIN": r"\bASOF\b",
    "EXISTS": r"(?<!NOT )\bEXISTS\b",
    "NOT EXISTS": r"\bNOT EXISTS\b",
    "IN (SELECT)": r"(?<!NOT )\bIN \(SELECT\b",
    "NOT IN (SELECT)": r"\bNOT IN \(SELECT\b",
    "ANY": r"\bANY \(SELECT\b",
    "ALL": r"[<>=] ALL \(SELECT\b",
    "scalar subquery": r"\(SELECT (max|min|count|sum)\(",
    "EXCEPT": r"\bEXCEPT (?!ALL)",
    "EXCEPT ALL": r"\bEXCEPT ALL\b",
    "INTERSECT": r"\bINTERSECT (?!ALL)",
    "INTERSECT ALL": r"\bINTERSECT ALL\b",
    "UNION": r"\bUNION (?!ALL|BY)",
    "PIVOT": r"\bPIVOT\b",
    "UNPIVOT": r"\bUNPIVOT\b",
    "UNION BY NAME": r"\bBY NAME\b",
    "CTE": r"\bWITH \w+",
    "VALUES": r"\bVALUES\b",
    "unnest": r"\bunnest\(",
    "LATERAL": r"\bLATERAL\b",
    "DISTINCT ON": r"\bDISTINCT ON\b",
    "LIMIT": r"\bLIMIT\b",
    "OFFSET": r"\bOFFSET\b",
    "OVER": r"\bOVER\b",
    "QUALIFY": r"\bQUALIFY\b",
    "GROUPING SETS": r"\bGROUPING SETS\b",
    "ROLLUP": r"\bROLLUP\b",
    "CUBE": r"\bCUBE\b",
    "DISTINCT aggregate": r"\w\(DISTINCT\b",
    "FILTER": r"\bFILTER\b",
    "list": r"\blist\(",
    "string_agg": r"\bstring_agg\(",
    "first, last": r"\b(first|last|any_value)\(",
    "arg_max, arg_min": r"\barg_(max|min)\(",
    "mode": r"\bmode\(",
    "median, quantile": r"\b(median|quantile_cont|quantile_disc)\(",
    "stddev, variance": r"\b(stddev|var_pop)\(",
    "histogram": r"\bhistogram\(",
    "bool_and, bit_xor": r"\b(bool_and|bool_or|bit_xor)\(",
    "struct": r"\bstruct_pack\(",
    "map": r"\bmap\(",
}
"""What a query's text shows, by a pattern."""


def constructs(text: str) -> set[str]:
    """Return the constructs that a query's text shows."""
    return {name for name, pattern in CONSTRUCTS.items() if re.search(pattern, text)}


# ---------------------------------------------------------------------------------- building

Aggregated = tuple[str, str | None, bool]
"""An aggregate, its kind, None for one of another, and whether it is exact."""


@dataclass(frozen=True)
class _Shaped:
    """A query that is being built: its text, and its columns, None for one of another kind.

    `grows` is None where the definition of a monotonic query leaves it open.
    """

    text: str
    columns: tuple[Column | None, ...]
    size: int
    grows: bool | None = False


class _SqlBuilder(_Builder):
    """Draws queries of any SQL; each `shape_…` is a construct."""

    shapes: Sequence[str] = ()
    plain = 30

    # Parts.

    def query(self, name: str, depth: int = 0, stream: bool | None = None) -> _Known:
        if self.chance(self.plain if depth == 0 else 60):
            return super().query(name, depth, stream)
        draft = _Draft()
        shape = self.one(self.shapes)
        made: _Shaped = getattr(self, f"shape_{shape}")(draft, depth)
        monotonic = bool(made.grows) and is_monotonic(draft.legs, aggregates=False)
        open_ = made.grows is None and is_monotonic(draft.legs, aggregates=False)
        operator: R2S | None = None
        if stream is not False:
            operators: list[R2S | None] = [None] * (3 if stream else 5)
            operators += ["istream", "istream", "dstream", "rstream", "rstream"]
            operator = self.one(operators)
            if open_ and operator is None:
                operator = "istream"
        r2s = operator
        if operator is None and (stream or (stream is None and monotonic)):
            r2s = "istream"
        word = self.one([str.title, str.upper])(operator or "")
        cql = engine_text(made.text, draft.texts, word or None, around=self.chance(70))
        query = Query(
            name,
            oracle_text(made.text),
            tuple(draft.legs),
            r2s,
            cql,
            inline=stream is not None,
            monotonic=monotonic,
        )
        named = tuple(column for column in made.columns if column is not None)
        whole = len(named) == len(made.columns)
        total = made.size * (6 if r2s == "rstream" else 2)
        # A source with a column of another kind cannot be ordered by all its columns.
        usable = named if whole else ()
        return _Known(query, usable, made.size, total, starable=whole)

    def source(
        self, draft: _Draft, depth: int, room: int = MOST_ROWS, ordered: bool = False
    ) -> tuple[str, Refs, int, str]:
        """Return a leg as an item of FROM, its columns, its most rows, and its alias.

        Args:
            draft: The query, which gets the leg.
            depth: How many queries are around it.
            room: The most rows.
            ordered: Whether all its columns must be known and exact, so that it has an order.
        """
        known, spec, text, source = self.leg(depth, room, optional=False)
        if known is None or source is None or (ordered and not self.has_order(known)):
            known = self.known[0]
            source = known.source.name
            spec, text = self.window(known) if yields_stream(known.source) else (None, "")
        draft.legs.append((known.source, spec))
        draft.texts.append((source, text))
        self.aliases += 1
        alias = f"x{self.aliases}"
        item = f"⟦{len(draft.legs) - 1}⟧" + self.one([" AS ", " "]) + alias
        refs = [(f"{alias}.{column.name}", column) for column in known.columns]
        return item, refs, max(self.rows_in(known, spec), 1), alias

    def has_order(self, known: _Known) -> bool:
        return known.starable and known.exact

    def listed(self, refs: Refs, least: int = 1, most: int = 3) -> tuple[str, tuple[Column, ...]]:
        """Return SELECT items under names of their own, and their columns."""
        items, columns = [], []
        for _ in range(self.between(least, most)):
            text, kind, exact = self.scalar(refs)
            name = self.name()
            items.append(f"{text} AS {name}")
            columns.append(Column(name, kind, exact))
        return ", ".join(items), tuple(columns)

    def condition(self, left: Refs, right: Refs, equal: int = 75) -> str:
        """Return a condition over columns of both sides; equality of keys is the most frequent."""
        pairs = [
            (one, other)
            for one, a in left
            for other, b in right
            if a.exact and b.exact and a.kind == b.kind
        ]
        if not pairs:
            return "true"
        keys = [p for p in pairs if p[0].endswith(".k") and p[1].endswith(".k")]
        parts = []
        if self.chance(equal):
            one, other = self.one(keys or pairs)
            parts.append(f"{one} {self.one(['=', '=', 'IS NOT DISTINCT FROM'])} {other}")
        if not parts or self.chance(30):
            one, other = self.one(pairs)
            parts.append(f"{one} {self.one(['<', '<=', '<>', '>'])} {other}")
        return " AND ".join(parts)

    def where(self, refs: Refs, percent: int = 25) -> str:
        exact = [ref for ref in refs if ref[1].exact]
        return f" WHERE {self.predicate(exact)}" if exact and self.chance(percent) else ""

    def terms(self, refs: Refs) -> str:
        """Return all columns in order, as terms of ORDER BY."""
        return ", ".join(f"{text} NULLS LAST" for text, _ in refs)

    def order(self, refs: Refs, ties: Refs | None = None) -> str:
        """Return the terms of an ORDER BY; the oracle's go on with all columns."""
        text, _ = self.one([ref for ref in refs if ref[1].exact])
        way = self.one(["", " DESC", " DESC NULLS FIRST", " NULLS FIRST"])
        return f"{text}{way}⟦+, {self.terms(ties or refs)} +⟧"

    def exact_of(self, refs: Refs, *kinds: str) -> list[tuple[str, Column]]:
        return [ref for ref in refs if ref[1].exact and (not kinds or ref[1].kind in kinds)]

    # Joins.

    def shape_join(self, draft: _Draft, depth: int) -> _Shaped:
        left, lrefs, n, _ = self.source(draft, depth, 60)
        right, rrefs, m, _ = self.source(draft, depth, MOST_ROWS // n)
        kind = self.one(["LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "CROSS", "LEFT OUTER", "FULL"])
        if kind == "CROSS":
            items, columns = self.listed([*lrefs, *rrefs])
            text = f"SELECT ⟦({items})⟧ FROM {left} CROSS JOIN {right}{self.where(lrefs)}"
            return _Shaped(text, columns, n * m, True)
        using = all("k" in {c.name for _, c in refs} for refs in (lrefs, rrefs))
        using = using and len({c.kind for _, c in [*lrefs, *rrefs] if c.name == "k"}) == 1
        using = using and all(c.exact for _, c in [*lrefs, *rrefs] if c.name == "k")
        refs = lrefs if kind in ("SEMI", "ANTI") else [*lrefs, *rrefs]
        if using and self.chance(40):
            condition = "USING (k)"
            key = Column("k", next(c.kind for _, c in lrefs if c.name == "k"))
            refs = [("k", key), *(ref for ref in refs if ref[1].name != "k")]
        else:
            condition = f"ON {self.condition(lrefs, rrefs)}"
        third = ""
        if kind not in ("SEMI", "ANTI") and condition.startswith("ON") and self.chance(20):
            more, mrefs, _, _ = self.source(draft, depth, 4)
            third = f" LEFT JOIN {more} ON {self.condition(refs, mrefs)}"
            refs = [*refs, *mrefs]
        items, columns = self.listed(refs)
        where = self.where([ref for ref in refs if "." in ref[0]])
        joined = f"{left} {kind} JOIN {right} {condition}"
        if self.chance(20):
            joined = f"({joined})"
        text = f"SELECT ⟦({items})⟧ FROM {joined}{third}{where}"
        return _Shaped(text, columns, n * m + n + m, None if kind == "SEMI" else False)

    def shape_natural(self, draft: _Draft, depth: int) -> _Shaped:
        """Return a NATURAL join, of inputs, whose one common column is k, or of one with itself."""
        one, other = self.one(self.inputs_known()), self.one(self.inputs_known())
        parts = []
        for known in (one, other):
            spec, text = self.window(known) if yields_stream(known.source) else (None, "")
            draft.legs.append((known.source, spec))
            draft.texts.append((known.source.name, text))
            self.aliases += 1
            parts.append((f"⟦{len(draft.legs) - 1}⟧ AS x{self.aliases}", f"x{self.aliases}", known))
        kind = self.one(["NATURAL JOIN", "NATURAL LEFT JOIN", "NATURAL FULL JOIN"])
        common = {c.name for c in one.columns} & {c.name for c in other.columns}
        refs = [(c.name, c) for c in one.columns if c.name in common]
        for _, alias, known in parts:
            refs += [(f"{alias}.{c.name}", c) for c in known.columns if c.name not in common]
        items, columns = self.listed(refs)
        text = f"SELECT ⟦({items})⟧ FROM {parts[0][0]} {kind} {parts[1][0]}"
        return _Shaped(text, columns, one.size * other.size, kind == "NATURAL JOIN")

    def inputs_known(self) -> list[_Known]:
        return [known for known in self.known if not isinstance(known.source, Query)]

    def shape_asof(self, draft: _Draft, depth: int) -> _Shaped:
        left, lrefs, n, _ = self.source(draft, depth, 60, ordered=True)
        right, rrefs, _, alias = self.source(draft, depth, 60, ordered=True)
        pairs = [
            (one, other)
            for one, a in lrefs
            for other, b in rrefs
            if a.exact and b.exact and a.kind == b.kind
        ]
        if not pairs:
            return self.shape_top(draft, depth)
        one, other = self.one(pairs)
        sign = self.one([">=", ">", "<=", "<"])
        outer = self.one(["", "LEFT "])
        keys = [(a, b) for a, b in pairs if a.endswith(".k") and b.endswith(".k")]
        equal = f"{keys[0][0]} = {keys[0][1]} AND " if keys and self.chance(70) else ""
        condition = f"{equal}{one} {sign} {other}"
        nearest = f"{other} {'DESC' if '>' in sign else ''} NULLS LAST, {self.terms(rrefs)}"
        items, columns = self.listed([*lrefs, *rrefs])
        inner = f"(SELECT * FROM {right} WHERE {condition} ORDER BY {nearest} LIMIT 1)"
        oracle = f"⟦+ {outer}JOIN LATERAL {inner} AS {alias} ON true +⟧"
        engine = f"⟦- ASOF {outer}JOIN {right} ON {condition} -⟧"
        return _Shaped(f"SELECT ⟦({items})⟧ FROM {left}{oracle}{engine}", columns, n)

    def shape_aggregate_over_join(self, draft: _Draft, depth: int) -> _Shaped:
        left, lrefs, n, _ = self.source(draft, depth, 40, ordered=True)
        right, rrefs, m, _ = self.source(draft, depth, 20, ordered=True)
        key, column = self.one(self.exact_of(lrefs))
        items, columns = self.aggregates([*lrefs, *rrefs])
        on = self.condition(lrefs, rrefs)
        name = self.name()
        kind = self.one(["LEFT", "FULL", "RIGHT"])
        text = f"SELECT ⟦({key} AS {name}, {items})⟧ FROM {left} {kind} JOIN {right} ON {on}"
        made = (Column(name, column.kind), *columns)
        return _Shaped(f"{text} GROUP BY {self.one([key, '1', 'ALL'])}", made, n + m)

    def shape_window_over_join(self, draft: _Draft, depth: int) -> _Shaped:
        """Return a window function, or DISTINCT ON, over a join: by a column of either side."""
        left, lrefs, n, _ = self.source(draft, depth, 40, ordered=True)
        right, rrefs, m, _ = self.source(draft, depth, 20, ordered=True)
        refs = [*lrefs, *rrefs]
        keys = [ref for ref in refs if ref[0].endswith(".k")] or refs
        key, _ = self.one(keys)
        items, columns = self.listed(refs, 1, 2)
        name, order = self.name(), f"ORDER BY {self.order(self.exact_of(refs), refs)}"
        kind = self.one(["LEFT ", "FULL ", "RIGHT ", ""])
        joined = f"{left} {kind}JOIN {right} ON {self.condition(lrefs, rrefs, equal=90)}"
        joined += self.where(refs)
        if self.chance(30):
            order = order.replace("ORDER BY ", f"ORDER BY {key}, ", 1)
            text = f"SELECT DISTINCT ON ({key}) {items} FROM {joined} {order}"
            return _Shaped(text, columns, n + m)
        both = f"{key}, {self.one(refs)[0]}" if self.chance(40) else key
        call = self.one(
            [f"row_number() OVER (PARTITION BY {both} {order})",
             f"count(*) OVER (PARTITION BY {both})"]
        )  # fmt: skip
        text = f"SELECT ⟦({items}, {call} AS {name})⟧ FROM {joined}"
        return _Shaped(text, (*columns, Column(name, "int")), n * m + n + m)

    # Subqueries in expressions.

    def subquery(self, draft: _Draft, depth: int, refs: Refs, where: bool) -> tuple[str, bool]:
        """Return a boolean expression with a subquery, and whether it is IN or EXISTS."""
        inner, irefs, _, _ = self.source(draft, depth + 1, 30)
        both = self.condition(refs, irefs)
        exact = self.exact_of(refs)
        form = self.one(["exists", "in", "not exists", "not in", "any", "all", "scalar", "top"])
        correlated = self.chance(50)
        pairs = [(a, b) for a in exact for b in self.exact_of(irefs) if a[1].kind == b[1].kind]
        if form in ("exists", "not exists") or not pairs:
            condition = f" WHERE {both}" if correlated or self.chance(50) else self.where(irefs, 80)
            word = "NOT EXISTS" if form == "not exists" else "EXISTS"
            return f"{word} (SELECT 1 FROM {inner}{condition})", word == "EXISTS" and where
        (outer, _), (value, column) = self.one(pairs)
        more = f" WHERE {both}" if correlated else self.where(irefs)
        if depth < 2 and self.chance(25):
            inner, more = self.inner(draft, depth, irefs, inner, more)
        if form in ("in", "not in", "any", "all") and self.chance(15):
            # a value that names what is around the subquery
            around = self.one([text for text, c in exact if c.kind == column.kind])
            value = self.one([around, f"coalesce({value}, {around})"])
        if form in ("in", "not in"):
            word = "NOT IN" if form == "not in" else "IN"
            return f"{outer} {word} (SELECT {value} FROM {inner}{more})", word == "IN" and where
        if form in ("any", "all"):
            sign = self.one(["=", "<>", "<", ">="])
            return f"{outer} {sign} {form.upper()} (SELECT {value} FROM {inner}{more})", False
        sign = self.one(["=", "<>", "<=", ">"])
        if form == "top":
            order = self.one(["", " DESC"])
            return (
                f"{outer} {sign} (SELECT {value} FROM {inner}{more} ORDER BY {value}{order} "
                "LIMIT 1)",
                False,
            )
        function = self.one(["max", "min"])
        return f"{outer} {sign} (SELECT {function}({value}) FROM {inner}{more})", False

    def inner(
        self, draft: _Draft, depth: int, refs: Refs, item: str, where: str
    ) -> tuple[str, str]:
        """Return FROM and WHERE of a subquery with one more item, or a subquery of its own."""
        other, orefs, _, _ = self.source(draft, depth + 2, 10)
        both = self.condition(refs, orefs)
        glue = " AND " if where else " WHERE "
        pairs = [(a, b) for a in self.exact_of(refs) for b in self.exact_of(orefs)
                 if a[1].kind == b[1].kind]  # fmt: skip
        if not pairs or self.chance(40):
            return f"{item}, {other}", f"{where}{glue}{both}"
        (mine, _), (value, column) = self.one(pairs)
        function = self.one(["max", "min", "count"] if column.kind == "int" else ["max", "min"])
        sign = self.one(["=", "<>", "<=", ">"])
        test = f"{mine} {sign} (SELECT {function}({value}) FROM {other} WHERE {both})"
        return item, f"{where}{glue}{test}"

    def shape_where_subquery(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60)
        test, grows = self.subquery(draft, depth, refs, where=True)
        if self.chance(20):
            second, _ = self.subquery(draft, depth, refs, where=True)
            test, grows = f"{test} {self.one(['AND', 'OR'])} {second}", False
        if self.chance(20) and self.exact_of(refs):
            test = f"{self.comparison(self.exact_of(refs))} AND {test}"
        costly = self.pipeline(self.exact_of(refs)) if self.chance(40) else None
        if costly is not None:
            test = f"({test}) AND {costly}" if " OR " in test else f"{costly} AND {test}"
        items, columns = self.listed(refs)
        text = f"SELECT ⟦({items})⟧ FROM {item} WHERE {test}"
        return _Shaped(text, columns, n, True if grows and " AND " not in test else None)

    def shape_mark(self, draft: _Draft, depth: int) -> _Shaped:
        """Return a test for partners where a truth value is needed."""
        item, refs, n, _ = self.source(draft, depth, 60)
        exact = self.exact_of(refs) or [("1", Column("", "int"))]
        tests = [self.subquery(draft, depth, refs, where=True) for _ in range(self.between(1, 2))]
        test, other = tests[0][0], tests[-1][0]
        plain = self.comparison(exact)
        form = self.one(["or", "not", "case", "filter", "listed", "key", "is null"])
        items, columns = self.listed(refs, 1, 2)
        name = self.name()
        if form in ("or", "not", "case"):
            where = {
                "or": f"{plain} OR ({other} AND {test})",
                "not": f"NOT ({plain} AND {test}) OR {other}",
                "case": f"CASE WHEN {plain} THEN {test} WHEN {other} THEN {plain} ELSE {test} END",
            }[form]
            text = f"SELECT ⟦({items})⟧ FROM {item} WHERE {where}"
            grows = None if form == "or" and all(grows for _, grows in tests) else False
            return _Shaped(text, columns, n, grows)
        if form == "filter":
            key, column = self.one(exact)
            one = self.name()
            text = (
                f"SELECT ⟦({key} AS {one}, count(*) FILTER (WHERE {plain} OR {test}) AS {name})⟧ "
                f"FROM {item} GROUP BY {key}"
            )
            return _Shaped(text, (Column(one, column.kind), Column(name, "int")), n)
        if form == "key":
            one = self.name()
            text = f"SELECT ⟦({test} AS {name}, count(*) AS {one})⟧ FROM {item} GROUP BY {name}"
            return _Shaped(text, (Column(name, "bool"), Column(one, "int")), 3)
        value = {
            "listed": self.one([test, f"NOT ({test})", f"({test}) AND {other}"]),
            "is null": f"({test}) IS NULL",
        }[form]
        distinct = "DISTINCT " if len(exact) == len(refs) and self.chance(20) else ""
        text = f"SELECT ⟦({distinct}{items}, {value} AS {name})⟧ FROM {item}{self.where(refs)}"
        return _Shaped(text, (*columns, Column(name, "bool")), n)

    def shape_marked_groups(self, draft: _Draft, depth: int) -> _Shaped:
        """Return a grouped query with a test for partners of the groups."""
        item, refs, n, _ = self.source(draft, depth, 60)
        inner, irefs, _, _ = self.source(draft, depth + 1, 30)
        key, column = self.one(self.exact_of(refs) or [("1", Column("", "int"))])
        one, other, name = (self.name() for _ in range(3))
        same = [text for text, c in self.exact_of(irefs) if c.kind == column.kind]
        numbers = [text for text, c in self.exact_of(irefs, "int")]
        tests = [f"EXISTS (SELECT 1 FROM {inner}{self.where(irefs)})"]
        if same:
            value = self.one(same)
            tests += [f"{key} IN (SELECT {value} FROM {inner})"]
            tests += [
                f"{key} {self.one(['NOT IN', '<= ANY', '<> ALL'])} (SELECT {value} FROM {inner})"
            ]
            tests += [f"EXISTS (SELECT 1 FROM {inner} WHERE {value} {self.one(['=', '<'])} {key})"]
        if numbers:
            value = self.one(numbers)
            tests += [f"count(*) {self.one(['IN', 'NOT IN'])} (SELECT {value} FROM {inner})"]
        test = self.one(tests)
        text = f"SELECT ⟦({key} AS {one}, count(*) AS {other}"
        made = [Column(one, column.kind), Column(other, "int")]
        if self.chance(50):
            text += f", {test} AS {name})⟧ FROM {item} GROUP BY {key}"
            return _Shaped(text, (*made, Column(name, "bool")), n)
        more = self.one(["", " OR count(*) > 2", " AND count(*) < 3"])
        text += f")⟧ FROM {item} GROUP BY {key} HAVING {self.one(['', 'NOT '])}{test}{more}"
        return _Shaped(text, tuple(made), n)

    def shape_listed_subquery(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60)
        items, columns = self.listed(refs, 1, 2)
        name = self.name()
        if self.chance(50):
            test, _ = self.subquery(draft, depth, refs, where=False)
            made = Column(name, "bool")
        else:
            inner, irefs, _, _ = self.source(draft, depth + 1, 30)
            more = f" WHERE {self.condition(refs, irefs)}" if self.chance(60) else ""
            if not more:
                more = self.where(irefs)
            value, column = self.one(self.exact_of(irefs) or [("1", Column("", "int"))])
            calls = [("count(*)", "int"), (f"max({value})", column.kind)]
            calls += [(f"sum({value})", column.kind)] if column.kind in ("int", "decimal") else []
            call, kind = self.one(calls)
            if self.chance(20):
                # a value that is there only if another one says so
                other, orefs, _, _ = self.source(draft, depth + 2, 10)
                limit = f"(SELECT count(*) FROM {other}{self.where(orefs)})"
                more += f" HAVING count(*) {self.one(['<=', '>'])} {limit}"
            test, made = f"(SELECT {call} FROM {inner}{more})", Column(name, kind)
        text = f"SELECT ⟦({items}, {test} AS {name})⟧ FROM {item}{self.where(refs)}"
        return _Shaped(text, (*columns, made), n)

    def shape_grouped_subquery(self, draft: _Draft, depth: int) -> _Shaped:
        """Return a grouped query with a subquery in HAVING."""
        item, refs, n, _ = self.source(draft, depth, 60)
        inner, _, _, _ = self.source(draft, depth + 1, 30)
        key, column = self.one(self.exact_of(refs) or [("1", Column("", "int"))])
        one, other = self.name(), self.name()
        text = (
            f"SELECT ⟦({key} AS {one}, count(*) AS {other})⟧ FROM {item} GROUP BY {key} "
            f"HAVING count(*) {self.one(['<', '>=', '='])} (SELECT count(*) FROM {inner})"
        )
        return _Shaped(text, (Column(one, column.kind), Column(other, "int")), n)

    # Set operations, CTEs, and items of FROM that are not sources.

    def shape_pivot(self, draft: _Draft, depth: int) -> _Shaped:
        ordered = self.chance(50)
        item, refs, n, _ = self.source(draft, depth, 60, ordered)
        if self.chance(25):
            # it stands on the whole join
            inner, irefs, m, _ = self.source(draft, depth + 1, 20)
            a, b = self.name(), self.name()
            value, column = self.one(irefs)
            ordered = ordered and column.exact
            more = [(f"{a}.{b}", replace(column, name=b))]
            join = self.one(["CROSS JOIN", "JOIN", "LEFT JOIN"])
            on = "" if "CROSS" in join else f" ON {self.condition(refs, more)}"
            item = f"{item} {join} (SELECT {value} AS {b} FROM {inner}) AS {a}{on}"
            refs, n = [*refs, *more], n * (m + 1)
        keys = self.exact_of(refs, "int", "varchar")
        alias, cells = self.name(), [self.name(), self.name()]
        if not keys or self.chance(50):
            return self.unpivoted(item, refs, alias, n)
        (key, column), (_, other) = self.one(keys), self.one(refs)
        values = [*KINDS[column.kind].literals, "NULL"]
        first = self.one(values)
        second = self.one([value for value in values if value != first])
        numbers = self.exact_of(refs, "int")
        grouped = other.exact
        call, kind = "count(*)", "int"
        if numbers and self.chance(60):
            value = self.one(numbers)[1].name
            calls = [(f"sum({value})", "int"), (f"max({value})", "int")]
            if ordered:
                told = [(c.name, c) for _, c in refs if grouped or c.name in (value, column.name)]
                calls += [(f"first({value}⟦+ ORDER BY {self.terms(told)}+⟧)", "int")]
            call, kind = self.one(calls)
        made = [Column(name, kind) for name in cells]
        group = f" GROUP BY {other.name}" if grouped else ""
        on = key.split(".")[1]
        if column.kind == "varchar" and self.chance(15):
            on = f"upper({on})"
        named = f"{first} AS {cells[0]}, {second} AS {cells[1]}"
        items, columns = self.listed([(f"{alias}.{c.name}", c) for c in made])
        pivot = f"PIVOT ({call} FOR {on} IN ({named}){group}) AS {alias}"
        return _Shaped(f"SELECT ⟦({items})⟧ FROM {item} {pivot}", columns, n)

    def unpivoted(self, item: str, refs: Refs, alias: str, rows: int) -> _Shaped:
        """Return an UNPIVOT of one or more columns of one kind."""
        kind = self.one(refs)[1].kind
        columns = [column for _, column in refs if column.kind == kind]
        taken = [column for column in columns if self.chance(70)] or columns[:1]
        name, value = self.name(), self.name()
        exact = all(column.exact for column in taken)
        made = [(f"{alias}.{name}", Column(name, "varchar"))]
        made += [(f"{alias}.{value}", Column(value, kind, exact))]
        made += [(f"{alias}.{c.name}", c) for _, c in refs if c not in taken]
        items, shown = self.listed(made)
        nulls = self.one(["", "INCLUDE NULLS ", "EXCLUDE NULLS "])
        listed = ", ".join(column.name for column in taken)
        pivot = f"UNPIVOT {nulls}({value} FOR {name} IN ({listed})) AS {alias}"
        text = f"SELECT ⟦({items})⟧ FROM {item} {pivot}{self.where(made)}"
        return _Shaped(text, shown, rows * len(taken))

    def shape_set_operation(self, draft: _Draft, depth: int) -> _Shaped:
        word = self.one(
            ["EXCEPT", "INTERSECT", "UNION", "EXCEPT ALL", "INTERSECT ALL", "UNION BY NAME",
             "UNION ALL BY NAME"]
        )  # fmt: skip
        left, lrefs, n, _ = self.source(draft, depth, 60)
        right, rrefs, m, _ = self.source(draft, depth, 60)
        lrefs, rrefs = self.exact_of(lrefs), self.exact_of(rrefs)
        kinds = [self.one(lrefs)[1].kind if lrefs else "int" for _ in range(self.between(1, 2))]
        names = [self.name() for _ in kinds]
        listed = {name: Column(name, kind) for name, kind in zip(names, kinds, strict=True)}
        mine = self.scalars(lrefs, list(listed.values()))
        theirs = list(listed.values())
        if "NAME" in word:
            theirs = [
                replace(column, name=self.name()) if self.chance(30) else column
                for column in reversed(theirs)
                if self.chance(80) or column is theirs[0]
            ]
            listed |= {column.name: column for column in theirs if column.name not in listed}
        others = self.scalars(rrefs, theirs)
        sides = [self.side(left, lrefs, mine), self.side(right, rrefs, others)]
        names, columns = list(listed), tuple(listed.values())
        text = f" {word} ".join(sides)
        grows: bool | None = True if word == "UNION" else None
        if word.startswith(("EXCEPT", "INTERSECT")):
            grows = False
        if self.chance(10):
            # the order of what is shown, which no element depends on
            text += f"⟦- ORDER BY {self.one(names)} -⟧"
        elif self.chance(40):
            by = self.sides_order(draft, depth, columns, [[*mine.values()], [*others.values()]])
            terms = ", ".join(f"{name} NULLS LAST" for name in names)
            chosen = [f" LIMIT {self.between(0, 3)}", f" OFFSET {self.between(0, 2)}"]
            cut = self.one([chosen[0], chosen[1], "".join(chosen)])
            text += f" ORDER BY {by}{self.one(['', ' DESC'])}⟦+, {terms} +⟧{cut}"
            grows = False
        return _Shaped(text, columns, n + m, grows)

    def sides_order(
        self, draft: _Draft, depth: int, columns: Sequence[Column], sides: list[list[str]]
    ) -> str:
        """Return the first term of ORDER BY of a set operation: of its result, or of a side."""
        column = self.one(columns)
        forms = [column.name, str(self.between(1, len(columns))), f"{column.name} IS NULL"]
        forms += [
            text
            for side in sides
            for text in side
            if side.count(text) == 1 and not text.startswith("CAST(") and "current" not in text
        ]
        if depth < 2 and self.chance(25):
            inner, irefs, _, _ = self.source(draft, depth + 1, 30)
            values = [text for text, c in self.exact_of(irefs) if c.kind == column.kind]
            values = values or [f"NULL::{KINDS[column.kind].type}"]
            word = self.one(["IN", "NOT IN"])
            return f"{column.name} {word} (SELECT {self.one(values)} FROM {inner})"
        return self.one(forms)

    def scalars(self, refs: Refs, columns: Sequence[Column]) -> dict[str, str]:
        """Return expressions of the kinds of columns, by their names."""
        return {column.name: self.scalar(refs, column.kind)[0] for column in columns}

    def side(self, item: str, refs: Refs, listed: Mapping[str, str]) -> str:
        """Return a side of a set operation with these columns."""
        items = ", ".join(f"{text} AS {name}" for name, text in listed.items())
        return f"SELECT {items} FROM {item}{self.where(refs)}"

    def shape_cte(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 20)
        items, columns = self.listed(self.exact_of(refs), 1, 2)
        w, a, b = (self.name() for _ in range(3))
        hint = self.one(["", "", "MATERIALIZED ", "NOT MATERIALIZED "])
        body = f"SELECT {items} FROM {item}{self.where(refs)}"
        grows: bool | None = True
        if self.chance(40):
            body = f"SELECT DISTINCT {items} FROM {item}"
        if self.chance(30):
            body += f" ORDER BY ALL LIMIT {self.between(1, 3)}"
            grows = False
        left = [(f"{a}.{column.name}", column) for column in columns]
        right = [(f"{b}.{column.name}", column) for column in columns]
        form = self.one(["alone", "twice", "outer", "subquery", "chain"])
        picked, made = self.listed(left if form in ("alone", "subquery", "chain") else left + right)
        text = f"WITH {w} AS {hint}({body}) SELECT ⟦({picked})⟧ FROM {w} AS {a}"
        size = n
        if form == "twice":
            text += f" JOIN {w} AS {b} ON {self.condition(left, right)}"
            size = n * n
        elif form == "outer":
            text += f" LEFT JOIN {w} AS {b} ON {self.condition(left, right)}"
            size, grows = n * n, False
        elif form == "subquery":
            text += f" WHERE {left[0][0]} < (SELECT max({b}.{columns[0].name}) FROM {w} AS {b})"
            grows = False
        elif form == "chain":
            v = self.name()
            text = (
                f"WITH {w} AS ({body}), {v} AS (SELECT * FROM {w}) "
                f"SELECT ⟦({picked})⟧ FROM {v} AS {a}"
            )
        return _Shaped(text, made, size, grows)

    def shape_values(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60)
        v = self.name()
        numbers = self.exact_of(refs, "int")
        rows = "(VALUES (1, 'a'), (2, 'b'), (NULL, 'c')) AS " + f"{v}(n, w)"
        if self.chance(50):
            rows = f"unnest([1, 2, NULL, 2]) AS {v}(n)"
        elif self.chance(30):
            rows = f"range(3) AS {v}(n)"
        picked, columns = self.listed([*refs, (f"{v}.n", Column("n", "int"))])
        joined = self.one([", ", " CROSS JOIN "])
        if numbers and self.chance(70):
            kind = self.one([" JOIN ", " LEFT JOIN "])
            on = f" ON {self.one(numbers)[0]} {self.one(['=', '<'])} {v}.n"
            return _Shaped(f"SELECT ⟦({picked})⟧ FROM {item}{kind}{rows}{on}", columns, n * 4, None)
        return _Shaped(f"SELECT ⟦({picked})⟧ FROM {item}{joined}{rows}", columns, n * 4, None)

    def shape_unnest(self, draft: _Draft, depth: int) -> _Shaped:
        """Return unnest of what depends on the row, in the SELECT list or in FROM."""
        item, refs, n, _ = self.source(draft, depth, 60)
        text, column = self.one(self.exact_of(refs) or [("1", Column("", "int"))])
        items, columns = self.listed(refs, 1, 2)
        name, v = self.name(), self.name()
        made = (*columns, Column(name, column.kind))
        many = f"[{text}, {text}]"
        if self.chance(50):
            text = f"SELECT {items}, unnest({many}) AS {name} FROM {item}"
        else:
            text = f"SELECT ⟦({items}, {v}.u AS {name})⟧ FROM {item}, unnest({many}) AS {v}(u)"
        return _Shaped(text, made, n * 2, None)

    def shape_lateral(self, draft: _Draft, depth: int) -> _Shaped:
        left, lrefs, n, _ = self.source(draft, depth, 40)
        right, rrefs, m, _ = self.source(draft, depth, 10, ordered=True)
        name, value = self.name(), self.name()
        on = self.condition(lrefs, rrefs)
        text, column = self.one(self.exact_of(rrefs))
        if self.chance(50):
            inner = f"SELECT max({text}) AS {value} FROM {right} WHERE {on}"
        elif self.chance(50):
            inner = f"SELECT {text} AS {value} FROM {right} WHERE {on}"
        else:
            inner = (
                f"SELECT {text} AS {value} FROM {right} WHERE {on} "
                f"ORDER BY {self.order(self.exact_of(rrefs), rrefs)} LIMIT {self.between(1, 2)}"
            )
        refs = [*lrefs, (f"{name}.{value}", Column(value, column.kind))]
        items, columns = self.listed(refs)
        joined = self.one(
            [f", LATERAL ({inner}) AS {name}", f" CROSS JOIN LATERAL ({inner}) AS {name}",
             f" LEFT JOIN LATERAL ({inner}) AS {name} ON true", f", ({inner}) AS {name}"]
        )  # fmt: skip
        return _Shaped(f"SELECT ⟦({items})⟧ FROM {left}{joined}", columns, n * m, None)

    # Order.

    def shape_distinct_on(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60, ordered=True)
        keys = [self.one(refs)[0] for _ in range(self.between(1, 2))]
        items, columns = self.listed(refs)
        # The keys come first: what DISTINCT ON keeps is what ORDER BY has first for each.
        order = f" ORDER BY {', '.join(keys)}, {self.order(refs)}"
        if self.chance(40):
            order = f"⟦+ ORDER BY {self.terms(refs)} +⟧"
        text = f"SELECT DISTINCT ON ({', '.join(keys)}) {items} FROM {item}{self.where(refs)}"
        return _Shaped(text + order, columns, n)

    def shape_top(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60, ordered=True)
        if self.chance(30):
            more, others, _, _ = self.source(draft, depth, max(MOST_ROWS // n, 1), ordered=True)
            item += f" JOIN {more} ON {self.condition(refs, others)}"
            refs = [*refs, *others]
        items, columns = self.listed(refs)
        order = f" ORDER BY {self.order(refs)}"
        if self.chance(20):
            order = f"⟦+ ORDER BY {self.terms(refs)} +⟧"
        most = self.between(0, 3)
        text = f"SELECT {items} FROM {item}{self.where(refs)}{order} LIMIT {most}"
        if self.chance(30):
            text += f" OFFSET {self.between(0, 2)}"
        return _Shaped(text, columns, most)

    def shape_window_function(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60, ordered=True)
        part = f"PARTITION BY {self.one(refs)[0]} " if self.chance(60) else ""
        order = f"ORDER BY {self.order(refs)}"
        loose = re.sub(r"⟦\+.*?\+⟧", "", order)
        value, column = self.one(refs)
        numbers = self.exact_of(refs, "int", "decimal")
        functions: list[tuple[str, str]] = [
            (f"row_number() OVER ({part}{order})", "int"),
            (f"rank() OVER ({part}{loose})", "int"),
            (f"dense_rank() OVER ({part}{loose})", "int"),
            (f"lag({value}) OVER ({part}{order})", column.kind),
            (f"lead({value}, 2) OVER ({part}{order})", column.kind),
            (f"first_value({value}) OVER ({part}{order})", column.kind),
            (f"ntile(2) OVER ({part}{order})", "int"),
            (f"count(*) OVER ({part}{loose})", "int"),
            (f"count(*) OVER ({part})", "int"),
            (f"max({value}) OVER ({part}{loose})", column.kind),
        ]
        if numbers:
            number, known = self.one(numbers)
            frame = self.one(
                ["ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS UNBOUNDED PRECEDING",
                 "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"]
            )  # fmt: skip
            functions += [
                (f"sum({number}) OVER ({part}{order} {frame})", known.kind),
                (f"sum({number}) OVER ({part}{loose})", known.kind),
                (f"sum({number}) OVER ({part}{loose} GROUPS 1 PRECEDING)", known.kind),
            ]
        call, kind = self.one(functions)
        items, columns = self.listed(refs, 1, 2)
        name = self.name()
        if self.chance(30):
            tail = f" QUALIFY row_number() OVER ({part}{order}) {self.one(['= 1', '<= 2'])}"
        else:
            tail = ""
        text = f"SELECT ⟦({items}, {call} AS {name})⟧ FROM {item}{self.where(refs)}{tail}"
        return _Shaped(text, (*columns, Column(name, kind)), n)

    # Groups and aggregates.

    def shape_grouping_sets(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60)
        exact = self.exact_of(refs) or refs[:1]
        one = self.one(exact)
        other = self.one(exact)
        if one == other:
            grouped, keys = self.one([f"ROLLUP ({one[0]})", f"CUBE ({one[0]})"]), [one]
        else:
            a, b = one[0], other[0]
            grouped = self.one(
                [f"ROLLUP ({a}, {b})", f"CUBE ({a}, {b})", f"GROUPING SETS (({a}, {b}), ({a}), ())",
                 f"GROUPING SETS (({a}), ({b}))", f"{a}, ROLLUP ({b})"]
            )  # fmt: skip
            keys = [one, other]
        items, columns = [], []
        for text, column in keys:
            name = self.name()
            items.append(f"{text} AS {name}")
            columns.append(Column(name, column.kind))
        if self.chance(40):
            drawn, more = self.aggregates(refs)
            if self.chance(50):
                one_name = self.name()
                drawn += f", grouping({keys[0][0]}) AS {one_name}"
                more = (*more, Column(one_name, "int"))
        else:
            text, kind, is_exact = self.aggregate(refs)
            one_name, name = self.name(), self.name()
            drawn = (
                f"grouping({', '.join(text for text, _ in keys)}) AS {one_name}, {text} AS {name}"
            )
            more = (Column(one_name, "int"), Column(name, kind, is_exact))
        having = f" HAVING count(*) {self.one(['> 1', '<> 1'])}" if self.chance(20) else ""
        text = (
            f"SELECT ⟦({', '.join(items)}, {drawn})⟧ FROM {item}{self.where(refs)} "
            f"GROUP BY {grouped}{having}"
        )
        return _Shaped(text, (*columns, *more), n * 4)

    def shape_aggregate(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60, ordered=True)
        items, columns = self.aggregates(refs, self.between(1, 3))
        where = self.where(refs)
        if self.chance(40):
            return _Shaped(f"SELECT ⟦({items})⟧ FROM {item}{where}", columns, 1)
        key, column = self.one(refs)
        name = self.name()
        by_all = self.chance(20)
        grouped = "ALL" if by_all else key
        text = f"SELECT ⟦({key} AS {name}, {items})⟧ FROM {item}{where} GROUP BY {grouped}"
        if by_all:
            # a column of HAVING is a key too: more rows than groups by what is shown
            shown, _ = self.one([(name, column), *refs])
            text += f" HAVING {shown} IS NOT NULL OR max({key}) IS NULL"
        elif self.chance(30):
            # a condition whose text begins with an aggregate
            one, other = self.rich_aggregate(refs)[0], self.rich_aggregate(refs)[0]
            test = self.one(["count(*) > 1", f"{other} IS NULL", f"{other} IS NOT NULL"])
            text += (
                f" HAVING {one} IS {self.one(['', 'NOT '])}NULL {self.one(['AND', 'OR'])} {test}"
            )
        if self.chance(20):
            places = ", ".join(str(i + 1) for i in range(len(columns) + 1))
            shown = [name, *(c.name for c in columns if c is not None)]
            text += f" ORDER BY {self.one(['1', '2', *shown])} DESC⟦+, {places} +⟧ LIMIT 2"
        return _Shaped(text, (Column(name, column.kind), *columns), n)

    def aggregates(self, refs: Refs, count: int = 1) -> tuple[str, tuple[Column | None, ...]]:
        """Return aggregates of all kinds under names, and their columns."""
        items, columns = [], []
        chosen = [self.rich_aggregate(refs) for _ in range(count)]
        if self.chance(10):
            # equal ones, beside one that may be DISTINCT
            chosen = [*chosen, self.rich_aggregate(refs), *chosen, *chosen]
        for text, kind, is_exact in chosen:
            name = self.name()
            items.append(f"{text} AS {name}")
            columns.append(None if kind is None else Column(name, kind, is_exact))
        return ", ".join(items), tuple(columns)

    def rich_aggregate(self, refs: Refs) -> Aggregated:
        """Return an aggregate, its kind, None for one of another, and whether it is exact.

        Those that depend on the order of tuples need all columns of FROM to be exact and known.
        """
        exact = self.exact_of(refs)
        if not exact:
            return "count(*)", "int", True
        value, column = self.one(exact)
        by, _ = self.one(exact)
        ties = f"⟦+ ORDER BY {self.terms(refs)} +⟧"
        order = f"ORDER BY {by}{self.one(['', ' DESC'])}⟦+, {self.terms(refs)} +⟧"
        options = self._aggregates_of(value, column.kind, exact)
        if len(exact) == len(refs):
            options += self._aggregates_in_order(value, column.kind, exact, by, ties, order)
        return self.one(options)

    def _aggregates_of(self, value: str, kind: str, exact: Refs) -> list[Aggregated]:
        """Return the aggregates that have one result for any order of tuples."""
        options: list[Aggregated] = [
            (f"count(DISTINCT {value})", "int", True),
            (f"min({value})", kind, True),
            (f"histogram({value})", None, True),
            (f"count(*) FILTER (WHERE {self.comparison(exact)})", "int", True),
            (f"bool_and({value} IS NULL)", "bool", True),
            (f"quantile_disc({value}, 0.5)", kind, True),
        ]
        if kind in ("int", "decimal", "double"):
            options += [
                (f"sum(DISTINCT {value})", kind, True),
                (f"sum({value}) FILTER (WHERE {self.comparison(exact)})", kind, True),
                (f"bool_or({value} > 0)", "bool", True),
            ]
        if kind in ("int", "double"):
            options += [
                (f"median({value})", "double", True),
                (f"quantile_cont({value}, 0.25)", "double", True),
                (f"round(stddev({value}), 6)", "double", False),
                (f"round(var_pop({value}), 6)", "double", False),
            ]
        if kind == "int":
            options += [(f"bit_xor({value})", "int", True)]
        return options

    def _aggregates_in_order(
        self, value: str, kind: str, exact: Refs, by: str, ties: str, order: str
    ) -> list[Aggregated]:
        """Return those of tuples in an order, which `ties` and `order` are."""
        options: list[Aggregated] = [
            (f"list({value}{ties})", None, True),
            (f"list({value} {order})", None, True),
            (f"list({value} {order}) FILTER (WHERE {self.comparison(exact)})", None, True),
            (f"list(DISTINCT {value}⟦+ ORDER BY {value} NULLS LAST +⟧)", None, True),
            (f"first({value}{ties})", kind, True),
            (f"first({value} {order})", kind, True),
            (f"last({value}{ties})", kind, True),
            (f"last({value} {order})", kind, True),
            (f"any_value({value}{ties})", kind, True),
            (f"arg_max({value}, {by}{ties})", kind, True),
            (f"arg_min({value}, {by}{ties})", kind, True),
            (f"mode({value}{ties})", kind, True),
        ]
        if kind == "int":
            most = f"coalesce(abs({value}) % 2, 0) + 1"
            options += [
                (f"max({by}, {most}{ties})", None, True),
                (f"min({by}, {most}{ties})", None, True),
            ]
        if kind == "varchar":
            options += [
                (f"string_agg({value}, ','{ties})", "varchar", True),
                (f"string_agg({value}, '/' {order})", "varchar", True),
                (
                    f"string_agg(DISTINCT {value}, ','⟦+ ORDER BY {value} NULLS LAST +⟧)",
                    "varchar",
                    True,
                ),
            ]
        return options

    # Expressions.

    def shape_expression(self, draft: _Draft, depth: int) -> _Shaped:
        item, refs, n, _ = self.source(draft, depth, 60)
        text, _ = self.one(self.exact_of(refs) or [("1", Column("", "int"))])
        other, _ = self.one(self.exact_of(refs) or [("1", Column("", "int"))])
        forms = [
            f"CASE WHEN {text} IS NULL THEN '-' ELSE {text}::VARCHAR END",
            f"TRY_CAST({text} AS INTEGER)",
            f"struct_pack(a := {text}, b := {other})",
            f"struct_pack(a := {text}).a",
            f"[{text}, {text}]",
            f"[{text}, NULL][1]",
            f"list_filter([{text}, NULL], lambda v: v IS NOT NULL)",
            f"map(['x'], [{text}])",
            f"nullif({text}, {text})",
            f"coalesce({text}::VARCHAR, {other}::VARCHAR)",
        ]
        name = self.name()
        items, _ = self.listed(refs, 1, 2)
        picked = f"{items}, {self.one(forms)} AS {name}"
        distinct = "DISTINCT " if self.chance(20) and len(self.exact_of(refs)) == len(refs) else ""
        made = f"SELECT ⟦({distinct}{picked})⟧ FROM {item}{self.where(refs)}"
        return _Shaped(made, (None,), n, True)


SHAPES = tuple(
    name.removeprefix("shape_") for name in vars(_SqlBuilder) if name.startswith("shape_")
)
"""The constructs that can be asked for one by one."""

# ------------------------------------------------------------------------------- strategies


@st.composite
def sql_cases(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    *,
    shapes: Sequence[str] = SHAPES,
    plain: int = 30,
    wide: bool = False,
    negative: bool = True,
    later: bool = True,
    restarts: bool = False,
    disorder: bool = False,
    timestamp_by: bool = False,
    paced: bool = False,
    most_queries: int = 2,
    typed: bool = False,
    undated: bool = False,
    functions: bool = False,
) -> Case:
    """Draw a case.

    Args:
        draw: Given by hypothesis.
        shapes: The constructs, of `SHAPES`.
        plain: How many of a hundred queries are of `strategies`.
        wide: As in `strategies.cases`, like those that follow.
        negative: Sometimes timestamps below 0.
        later: Sometimes queries that are registered when time has gone on.
        restarts: Sometimes restarts in the script.
        disorder: Sometimes streams that are out of order within a declared bound.
        timestamp_by: Sometimes streams whose timestamp is a column.
        paced: Streams alone, and all windows hop by the same step.
        most_queries: The most queries that are registered.
        typed: Columns of more of DuckDB's types.
        undated: Relations with changes of the beginning of time.
        functions: Calls of functions of Python.
    """
    flags = _Flags(
        wide, False, negative, later, restarts, disorder, timestamp_by, False, paced,
        most_queries, typed, undated, functions,
    )  # fmt: skip
    builder = _SqlBuilder(draw, flags)
    builder.shapes, builder.plain = shapes, plain
    t_begin = -builder.between(1, 6) if negative and builder.chance(20) else 0
    t_end = t_begin + builder.between(2, 12)
    inputs = builder.inputs(t_begin, t_end)
    queries: list[Query] = []
    marks = _phases(builder, inputs, t_begin, t_end)
    quiet = [mark.to for mark in marks if mark.quiet]
    for i in range(builder.between(1, most_queries)):
        known = builder.query(f"q{i}")
        query = known.source
        assert isinstance(query, Query)
        earliest = queries[-1].registered_at if queries else None
        options = [to for to in quiet if earliest is None or to >= earliest]
        at = earliest
        if later and options and builder.chance(25):
            at = builder.one(options)
        query = replace(query, registered_at=at)
        queries.append(query)
        if known.columns and known.total <= MOST_ROWS:
            builder.known.append(replace(known, source=query))
    script = _script(builder, inputs, queries, marks)
    return Case(tuple(inputs), tuple(queries), t_begin, t_end, tuple(script))
