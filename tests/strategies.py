"""Random cases: inputs, queries and the ticks over them, for hypothesis.

`cases()` draws a `Case`. Each query is built once as a structure and rendered twice, as CQL text
for the engine and as plain SQL over legs for the oracle in `reference`. Domains are tight, so
that ties, duplicates, NULLs and changes that cancel are the rule: two or three keys, a few
values, at most twelve elements a stream, at most sixteen instants.

What it leaves out on purpose, since the semantics leave it open or doubles would not be exact:
sums, groups and comparisons of averages, and inputs that begin at different negative instants.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, TypeVar

import python_functions
from hypothesis import strategies as st
from kinds import FEW, KINDS
from reference import (
    BEGINNING,
    R2S,
    Hop,
    Now,
    PartitionRows,
    Query,
    Range,
    Relation,
    Result,
    Row,
    Rows,
    Sampled,
    Source,
    Stream,
    Tumble,
    Unbounded,
    Window,
    evaluate_all,
    is_monotonic,
    yields_stream,
)

T = TypeVar("T")

EXTREMES = [float("nan"), float("inf"), -0.0, 1e300]
KEYS: dict[str, list[Any]] = {"int": [1, 2, 3], "varchar": ["a", "b", "c"]}
# How many rows a leg and a query may come to hold, by a rough estimate.
MOST_ROWS = 400


# ------------------------------------------------------------------------------------ cases


@dataclass(frozen=True)
class Register:
    """Register the query, with options such as `keep = 3`."""

    query: Query
    options: str = ""


@dataclass(frozen=True)
class Append:
    """Append elements, in arrival order: (ts, values), for a relation (ts, weight, values)."""

    input: Stream | Relation
    elements: Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Advance:
    """Advance time on every input to this instant, and run."""

    to: int


@dataclass(frozen=True)
class Restart:
    """Close the database and open it again."""


Step = Register | Append | Advance | Restart


@dataclass(frozen=True)
class Case:
    """Inputs, queries in order of registration, and the steps that an engine takes.

    `script` registers the queries, appends every element before its instant is closed, and ends
    with the advance to `t_end`. `cuts` are the instants that it advances to. A later query may
    read an earlier one by its name.
    """

    inputs: Sequence[Stream | Relation]
    queries: Sequence[Query]
    t_begin: int
    t_end: int
    script: Sequence[Step]

    @property
    def cuts(self) -> list[int]:
        """The instants that the script advances to."""
        return [step.to for step in self.script if isinstance(step, Advance)]

    @property
    def declarations(self) -> list[str]:
        """The statements that create the inputs."""
        timed = any("current_timestamp" in query.cql for query in self.queries)
        settles = ["CREATE STREAM settles_time (t BIGINT) TIMESTAMP BY t"] if timed else []
        return settles + [declaration(source) for source in self.inputs]

    @property
    def texts(self) -> list[str]:
        """The statements that register the queries, in order."""
        return [registration(query) for query in self.queries]

    def expected(self) -> list[Result]:
        """Return what the oracle says of each query, in their order."""
        return evaluate_all(self.queries, None, self.t_end)

    def __str__(self) -> str:
        """Return the case as a script that reads well in a failure."""
        lines = [text + ";" for text in self.declarations]
        for step in self.script:
            match step:
                case Register(query, options):
                    lines.append(registration(query, options) + ";")
                case Append(source, elements):
                    lines.append(f"-- append {source.name}: {list(elements)}")
                case Advance(to):
                    lines.append(f"-- advance {to}")
                case Restart():
                    lines.append("-- restart")
        return "\n".join(lines)


def declaration(source: Stream | Relation) -> str:
    """Return the statement that creates the input."""
    columns = ", ".join(f"{name} {kind}" for name, kind in source.columns)
    match source:
        case Relation():
            return f"CREATE RELATION {source.name} ({columns})"
        case Stream():
            text = f"CREATE STREAM {source.name} ({columns})"
            if source.timestamp_by:
                text += f" TIMESTAMP BY {source.timestamp_by}"
            if source.out_of_order:
                text += f" OUT OF ORDER WITHIN {source.out_of_order}"
            return text


def registration(query: Query, options: str = "") -> str:
    """Return the statement that registers the query, with options or without any."""
    given = f" WITH ({options})" if options else ""
    return f"CREATE CONTINUOUS QUERY {query.name}{given} AS {query.cql}"


# --------------------------------------------------------------------------------- structure


@dataclass(frozen=True)
class Column:
    """A column that an expression can name; not `exact` if it is the average of something."""

    name: str
    kind: str
    exact: bool = True


@dataclass(frozen=True)
class FromItem:
    """A leg by its number, under its alias, with what joins it to those before."""

    leg: int
    alias: str
    as_written: str
    connector: str = ""
    condition: str = ""


@dataclass(frozen=True)
class Select:
    """One SELECT; several are a UNION ALL."""

    items: tuple[str, ...]
    froms: tuple[FromItem, ...]
    where: str | None = None
    group: str | None = None
    having: str | None = None
    distinct: bool = False


def render_sql(body: Sequence[Select]) -> str:
    """Return the plain SQL, with `{i}` in the place of leg i."""
    return " UNION ALL ".join(
        _render(select, lambda item: f"{{{item.leg}}} AS {item.alias}") for select in body
    )


def render_cql(
    body: Sequence[Select],
    legs: Sequence[tuple[str, str]],
    operator: str | None = None,
    around: bool = False,
) -> str:
    """Return the CQL text.

    Args:
        body: The query.
        legs: Each leg's source as text, and its window as text or "".
        operator: `Istream`, `Dstream`, `Rstream` or None.
        around: Whether the operator stands around the whole query or in its SELECT list.
    """

    def leg(item: FromItem) -> str:
        source, spec = legs[item.leg]
        return item.as_written.format(source=source, window=spec).strip().replace("  ", " ")

    if operator is None:
        return " UNION ALL ".join(_render(select, leg) for select in body)
    if around or len(body) > 1:
        text = " UNION ALL ".join(_render(select, leg) for select in body)
        return f"{operator}({text})"
    return _render(body[0], leg, operator)


def _render(select: Select, leg: Callable[[FromItem], str], operator: str | None = None) -> str:
    listed = ("DISTINCT " if select.distinct else "") + ", ".join(select.items)
    text = "SELECT " + (f"{operator}({listed})" if operator else listed) + " FROM "
    for item in select.froms:
        text += item.connector + leg(item) + item.condition
    text += f" WHERE {select.where}" if select.where else ""
    text += f" GROUP BY {select.group}" if select.group else ""
    return text + (f" HAVING {select.having}" if select.having else "")


def render_window(spec: Window | None, casing: Callable[[str], str] = str.upper) -> str:
    """Return the window as CQL text, its keywords in the given casing."""
    if spec is None:
        return ""
    match spec:
        case Now():
            words = "now"
        case Unbounded():
            words = "range unbounded"
        case Range(w, slide):
            words = f"range {w}" + (f" slide {slide}" if slide is not None else "")
        case Rows(n, slide):
            words = f"rows {n}" + (f" slide {slide}" if slide is not None else "")
        case PartitionRows(_, n, w, _, slide):
            words = f"partition by @ rows {n}" + (f" range {w}" if w is not None else "")
            words += f" slide {slide}" if slide is not None else ""
        case Hop(w, s):
            words = f"hop {w} every {s}"
        case Tumble(w):
            words = f"tumble {w}"
        case Sampled():
            raise TypeError("a sample is rendered with its window")
    text = casing(words)
    if isinstance(spec, PartitionRows):
        text = text.replace("@", ", ".join(spec.by))
    if spec.where:
        text += " " + casing("where") + " " + spec.where
    return f"[{text}]"


# ---------------------------------------------------------------------------------- building


@dataclass(frozen=True)
class _Flags:
    wide: bool
    extremes: bool
    negative: bool
    later: bool
    restarts: bool
    disorder: bool
    timestamp_by: bool
    current: bool
    paced: bool
    most_queries: int
    typed: bool = False
    undated: bool = False
    functions: bool = False


@dataclass(frozen=True)
class _Known:
    """A source for a FROM: its named columns, and by a rough estimate its most rows.

    `size` is what it holds as a relation, `total` what comes through it as a stream; `*` has
    names for all its columns if it is `starable`.
    """

    source: Source
    columns: tuple[Column, ...]
    size: int
    total: int
    starable: bool = True

    @property
    def exact(self) -> bool:
        return all(column.exact for column in self.columns)


@dataclass
class _Draft:
    """The legs of a query that is being built, and their texts."""

    legs: list[tuple[Source, Window | None]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)


Refs = list[tuple[str, Column]]


class _Builder:
    """Draws inputs and queries; its methods are the grammar."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], flags: _Flags) -> None:
        self.draw = draw
        self.flags = flags
        self.nameless: dict[str, str] = {}
        """The kinds of what is listed without a name, by its text."""
        self.names = 0
        self.aliases = 0
        self.known: list[_Known] = []
        self.pace = self.between(1, 3) if flags.paced else 0

    # Drawing; everything shrinks towards the first, the smallest, the absent.

    def one(self, options: Sequence[T]) -> T:
        chosen: T = self.draw(st.sampled_from(options))
        return chosen

    def chance(self, percent: int) -> bool:
        return self.between(0, 99) >= 100 - percent

    def between(self, low: int, high: int) -> int:
        number: int = self.draw(st.integers(low, high))
        return number

    def name(self) -> str:
        self.names += 1
        return f"c{self.names}"

    # Inputs.

    def inputs(self, t_begin: int, t_end: int) -> list[Stream | Relation]:
        key = self.one(["int", "varchar"])
        keys = KEYS[key][: self.between(2, 3)] + ([None] if self.chance(40) else [])
        forms = self.one(["s", "ss", "sr", "ssr", "srr", "sss", "r"])
        if self.flags.paced:
            forms = self.one(["s", "ss", "sss"])
        letters = list("abcdefgh")
        inputs: list[Stream | Relation] = []
        for form in forms:
            name = form + str(len(inputs))
            kinds = [
                self.one(list(KINDS if self.flags.typed else FEW))
                for _ in range(self.between(1, 2))
            ]
            columns = [Column("k", key), *(Column(letters.pop(0), kind) for kind in kinds)]
            cells = [st.sampled_from(keys), *(st.sampled_from(self.domain(k)) for k in kinds)]
            rows = st.tuples(*cells)
            made: Stream | Relation
            if form == "s":
                made, columns = self.stream(name, columns, rows, t_begin, t_end)
            else:
                made = self.relation(name, columns, rows, t_begin, t_end)
            inputs.append(made)
            total = len(made.elements) if isinstance(made, Stream) else len(made.changes)
            self.known.append(_Known(made, tuple(columns), max(total, 1), max(total, 1)))
        return inputs

    def domain(self, kind: str) -> list[Any]:
        extremes = EXTREMES if kind == "double" and self.flags.extremes else []
        return [*KINDS[kind].values, *extremes]

    def instants(self, t_begin: int, t_end: int) -> st.SearchStrategy[int]:
        """Return a strategy of timestamps: any, or few, so that there are many ties."""
        if self.chance(40):
            few = [self.between(t_begin, t_end) for _ in range(3)]
            return st.sampled_from(few)
        return st.integers(t_begin, t_end)

    def stream(
        self,
        name: str,
        columns: list[Column],
        rows: st.SearchStrategy[Row],
        t_begin: int,
        t_end: int,
    ) -> tuple[Stream, list[Column]]:
        elements = self.draw(
            st.lists(
                st.tuples(self.instants(t_begin, t_end), rows),
                min_size=self.one([0, 3, 6, 8]),
                max_size=12,
            )
        )
        if t_begin < 0:
            elements = [(t_begin, self.draw(rows)), *elements[:11]]
        elements.sort(key=lambda element: element[0])
        late = self.between(1, 3) if self.flags.disorder and self.chance(50) else 0
        if late:
            # Who comes later by at most `late` than his timestamp says is never late.
            delayed = [(element[0] + self.between(0, late), element) for element in elements]
            elements = [element for _, element in sorted(delayed, key=lambda pair: pair[0])]
        stamp = None
        if self.flags.timestamp_by and self.chance(50):
            stamp = "t" + name[1:]
            columns = [*columns, Column(stamp, "int")]
            elements = [(ts, (*row, ts)) for ts, row in elements]
        declared = [(column.name, KINDS[column.kind].type) for column in columns]
        return Stream(name, declared, elements, stamp, late), columns

    def relation(
        self,
        name: str,
        columns: list[Column],
        rows: st.SearchStrategy[Row],
        t_begin: int,
        t_end: int,
    ) -> Relation:
        moves = self.draw(
            st.lists(
                st.tuples(self.instants(t_begin, t_end), st.integers(0, 99), rows),
                min_size=self.one([0, 3, 6, 8]),
                max_size=10,
            )
        )
        if t_begin < 0:
            moves = [(t_begin, 0, self.draw(rows)), *moves[:9]]
        if self.flags.undated and self.chance(60):
            first = st.tuples(st.just(BEGINNING), st.integers(0, 99), rows)
            moves = [*self.draw(st.lists(first, min_size=1, max_size=5)), *moves]
        moves.sort(key=lambda move: move[0])
        held: list[Row] = []
        changes: list[tuple[float, int, Row]] = []
        for ts, how, row in moves:
            if how >= 50 and held:
                # The last one is often of the same instant, and cancels.
                row = held.pop(how % len(held) if how < 80 else -1)
                changes.append((ts, -1, row))
            else:
                held.append(row)
                changes.append((ts, +1, row))
        if self.chance(30):
            # Deletions before the insertions that they undo: only the net change counts.
            changes = [
                change
                for _, instant in groupby(changes, key=lambda change: change[0])
                for change in reversed(list(instant))
            ]
        return Relation(
            name, [(column.name, KINDS[column.kind].type) for column in columns], changes
        )

    # Windows.

    def window(self, known: _Known, required: bool = False) -> tuple[Window | None, str]:
        """Return a window on a source that yields a stream, and its text; at times of a sample."""
        spec, text = self._window(known, required)
        source = known.source
        if isinstance(source, Query) and (source.inline or not known.exact):
            return spec, text
        if not self.flags.wide or not self.chance(12):
            return spec, text
        percent = self.one([25, 50, 80])
        sample = f"{percent}% {self.one(['SAMPLE', 'sample'])}"
        parts = [sample, text] if self.chance(50) else [text, sample]
        return Sampled(percent, source.name.lower(), spec), " ".join(parts).strip()

    def _window(self, known: _Known, required: bool) -> tuple[Window | None, str]:
        kinds = ["unbounded", "range", "now"] if required else ["", "unbounded", "range", "now"]
        kinds += ["range"]
        if known.exact:
            # Elsewhere the last digit of an average would decide which tuples are the last.
            kinds += ["rows", "partition", "rows", "partition"]
        if self.flags.wide:
            kinds += ["range slide", "hop", "tumble"]
            kinds += ["rows slide", "partition range", "partition slide"] if known.exact else []
            kinds += ["partition range slide"] if known.exact else []
        if self.flags.paced:
            kinds = ["paced"]
        kind = self.one(kinds)
        if not kind:
            return None, ""
        where = None
        exact = [(column.name, column) for column in known.columns if column.exact]
        if self.flags.wide and exact and self.chance(25):
            where = self.predicate(exact)
        spec: Window
        match kind:
            case "unbounded":
                spec = Unbounded(where)
            case "now":
                spec = Now(where)
            case "range":
                spec = Range(self.between(0, 5), None, where)
            case "range slide":
                spec = Range(self.between(0, 5), self.between(1, 4), where)
            case "rows":
                spec = Rows(self.between(1, 4), None, where)
            case "rows slide":
                spec = Rows(self.between(1, 4), self.between(1, 3), where)
            case "hop":
                spec = Hop(self.between(1, 5), self.between(1, 4), where)
            case "tumble":
                spec = Tumble(self.between(1, 4), where)
            case "paced":
                hops = self.one([1, 1, 2, 3])
                spec = Tumble(self.pace, where)
                if hops > 1:
                    spec = Hop(hops * self.pace, self.pace, where)
            case _:
                names = [column.name for column in known.columns]
                by = tuple(names[: self.between(1, min(2, len(names)))])
                within = self.between(0, 4) if "range" in kind else None
                slide = self.between(1, 3) if "slide" in kind else None
                spec = PartitionRows(by, self.between(1, 3), within, where, slide)
        casing = self.one([str.upper, str.upper, str.title, str.lower])
        text = render_window(spec, casing)
        if isinstance(spec, Unbounded) and self.chance(50):
            text = text.replace(casing("range"), casing("rows"), 1)
        elif self.flags.wide and isinstance(spec, Range | Rows) and self.chance(25):
            text = re.sub(r"(?<=^\[)(\w+ \d+)", r"\1 " + casing("preceding"), text)
        elif self.flags.wide and isinstance(spec, Range) and self.chance(25):
            text = re.sub(r"(?<=^\[)(\w+ \d+)", r"\1 " + casing("seconds"), text)
        return spec, text

    def rows_in(self, known: _Known, spec: Window | None) -> int:
        """Return by a rough estimate how many rows the leg holds at most."""
        if not yields_stream(known.source):
            return known.size
        match spec:
            case Rows(n):
                return min(n, known.total)
            case PartitionRows(_, n):
                return min(4 * n, known.total)
        return known.total

    # Expressions.

    def scalar(
        self, refs: Refs, kind: str | None = None, alone: bool = True
    ) -> tuple[str, str, bool]:
        """Return an expression, of the kind if one is given, its kind, and if it is exact.

        The current time stands in it `alone`, or with a column.
        """
        if self.flags.current and kind in (None, "int") and self.chance(8):
            numbers = [text for text, c in refs if c.kind == "int" and c.exact]
            if numbers:
                return f"current_timestamp - {self.one(numbers)}", "int", True
            if alone:
                return self.one(["current_timestamp + 0", "current_timestamp % 3"]), "int", True
        if kind is not None:
            refs = [(text, column) for text, column in refs if column.kind == kind]
        if not refs:
            kind = kind or "int"
            return KINDS[kind].literal, kind, True
        text, column = self.one(refs)
        if not column.exact or self.chance(50):
            return text, column.kind, column.exact
        others = [other for other, c in refs if c.kind == column.kind and c.exact]
        forms = KINDS[column.kind].forms
        form, becomes = self.one([f for f in forms if kind in (None, f[1])])
        other = self.one(others) if "{other}" in form else ""
        made = re.sub(r"{(other)?}", lambda found: other if found[1] else text, form)
        if self.flags.functions and becomes in ("int", "varchar") and self.chance(40):
            # a sum is a HUGEINT
            given = f"TRY_CAST({made} AS BIGINT)" if becomes == "int" else made
            made = f"{self.one(python_functions.OF[becomes])}({given})"
        return made, becomes, True

    def predicate(self, refs: Refs, timed: bool = False) -> str:
        """Return a predicate over exact columns, perhaps of two parts, perhaps with the time."""
        first = self.comparison(refs, timed)
        if self.chance(60 if self.flags.functions else 8):
            first = self.pipeline(refs) or first
        if not self.chance(25):
            return first
        second = self.comparison(refs, timed)
        return self.one(
            [f"{first} AND {second}", f"({first} OR {second})", f"{first} AND NOT ({second})"]
        )

    def pipeline(self, refs: Refs) -> str | None:
        """Return several filters whose order can be chosen, or None without a column for them."""
        usable = [text for text, column in refs if column.kind in ("int", "text", "bool")]
        forms = [
            "{} LIKE '%%'", "{} NOT LIKE '%a%'", "{} ~ '^[-0-2a-c]'", "NOT ({} ~ '2$')",
            "NOT contains({}, '0')", "length({}) < 5", "{} SIMILAR TO '-?[0-9]|[a-z]+'",
            "lower('A') = 'a'", "'ab' LIKE 'a%'",
        ]  # fmt: skip
        if self.flags.functions:
            forms = [*forms[:3], *(f"{name}({{}})" for name in python_functions.OF["bool"])]
        found = [
            self.one(forms).replace("{}", f"{self.one(usable)}::VARCHAR")
            for _ in range(self.between(2, 3) if usable else 0)
        ]
        return " AND ".join(found) or None

    def comparison(self, refs: Refs, timed: bool = False) -> str:
        text, column = self.one(refs)
        numeric = column.kind in ("int", "double", "decimal")
        if timed and self.flags.current and numeric and self.chance(60):
            return self.moment(text)
        literals = KINDS[column.kind].literals
        others = [t for t, c in refs if c.kind == column.kind and t != text]
        right = self.one(others) if others and self.chance(30) else self.one(literals)
        form = self.one(
            [
                "{} > {right}",
                "{} = {right}",
                "{} <> {right}",
                "{} <= {right}",
                "{} IS NOT NULL",
                "{} IS NULL",
                "{} IN ({right}, {literal})",
                "{} IS DISTINCT FROM {right}",
            ]
        )
        if column.kind == "bool":
            form = self.one(["{} = {right}", "{} IS NULL"])
        form = form.replace("{right}", right).replace("{literal}", self.one(literals))
        return form.replace("{}", text)

    def moment(self, text: str) -> str:
        """Return a comparison of a number with the current time."""
        form = self.one(
            [
                "{} > current_timestamp - {n}",
                "{} >= current_timestamp - {n}",
                "current_timestamp > {} + {n}",
                "{} + {n} <= current_timestamp",
                "{} = current_timestamp - {n}",
                "current_timestamp - {} < {n}",
                "{} BETWEEN current_timestamp - {n} AND current_timestamp",
                "current_timestamp BETWEEN {} AND {} + {n}",
                "{} <> current_timestamp - {n}",
            ]
        )
        return form.replace("{n}", str(self.between(0, 9))).replace("{}", text)

    def aggregate(self, refs: Refs, kind: str | None = None) -> tuple[str, str, bool]:
        """Return an aggregate, its kind, and whether it is exact."""
        options = ["count(*)", "count", "min", "max", "count distinct"]
        numbers = [r for r in refs if r[1].exact and r[1].kind in ("int", "double", "decimal")]
        if numbers:
            options += ["sum", "avg", "sum", "avg", "sum distinct", "avg distinct"]
        function = self.one(options)
        if "distinct" in function:
            return self.distinct_aggregate(function.split()[0], refs, numbers)
        if function == "count(*)":
            return self.one(["count(*)", "count(*)", "count(*) + 1"]), "int", True
        if function in ("sum", "avg"):
            ref = self.one(numbers)
            text, becomes, _ = self.scalar([ref], ref[1].kind, alone=False)
            if function == "avg":
                return f"avg({text})", "double", False
            return f"sum({text})", becomes, True
        text, becomes, exact = self.scalar(refs, alone=False)
        if function == "count":
            return f"count({text})", "int", True
        return f"{function}({text})", becomes, exact

    def distinct_aggregate(self, function: str, refs: Refs, numbers: Refs) -> tuple[str, str, bool]:
        """Return an aggregate over distinct values, perhaps with FILTER."""
        exact = [ref for ref in refs if ref[1].exact]
        if function == "count":
            text, becomes, _ = self.scalar(exact, alone=False)
            becomes = "int"
        else:
            ref = self.one(numbers)
            text, becomes, _ = self.scalar([ref], ref[1].kind, alone=False)
        only = f" FILTER (WHERE {self.predicate(exact)})" if exact and self.chance(30) else ""
        text = f"{function}(DISTINCT {text}){only}"
        return text, "double" if function == "avg" else becomes, function != "avg"

    # Queries.

    def query(self, name: str, depth: int = 0, stream: bool | None = None) -> _Known:
        """Return a query, as a source for others.

        Args:
            name: Its name, for a subquery any text.
            depth: How many queries are around it.
            stream: For a subquery whether it stands under a window; None for a named query.
        """
        draft = _Draft()
        shape = self.one(["plain", "aggregate", "plain", "aggregate", "union"])
        if shape == "union":
            select, columns, first = self.select(draft, "plain", depth, 2)
            kinds = [
                column.kind if column else self.nameless[select.items[place]]
                for place, column in enumerate(columns)
            ]
            other, others, second = self.select(draft, "plain", depth, 2, kinds)
            body, size = [select, other], first + second
            columns = [
                column and Column(column.name, column.kind, column.exact and bool(o and o.exact))
                for column, o in zip(columns, others, strict=True)
            ]
        else:
            select, columns, size = self.select(draft, shape, depth, 2 if depth else 3)
            body = [select]

        timed = any("current_timestamp" in render_sql([part]) for part in body)
        monotonic = is_monotonic(draft.legs, aggregates=shape == "aggregate" or timed)
        operator: R2S | None = None
        if stream is not False:
            operators: list[R2S | None] = [None] * (3 if stream else 5)
            operators += ["istream", "istream", "dstream", "rstream", "rstream"]
            operator = self.one(operators)
        r2s = operator
        if operator is None and (stream or (stream is None and monotonic)):
            r2s = "istream"
        word = self.one([str.title, str.title, str.upper, str.lower])(operator or "")
        cql = render_cql(body, draft.texts, word or None, around=self.chance(40))
        made = Query(
            name,
            render_sql(body),
            tuple(draft.legs),
            r2s,
            cql,
            inline=stream is not None,
            monotonic=monotonic,
        )
        named = tuple(column for column in columns if column is not None)
        total = size * (6 if r2s == "rstream" else 2)
        return _Known(made, named, size, total, len(named) == len(columns))

    def select(
        self,
        draft: _Draft,
        shape: str,
        depth: int,
        most: int,
        kinds: list[str] | None = None,
    ) -> tuple[Select, list[Column | None], int]:
        """Return a SELECT, its columns, None for one without a name, and its most rows.

        Args:
            draft: The query, which gets the legs.
            shape: `plain` or `aggregate`.
            depth: How many queries are around it.
            most: The most legs.
            kinds: The kinds that its columns must have, if it is the second of a union.
        """
        froms, legs, size = self.froms(draft, depth, most)
        alone = len(froms) == 1 and self.chance(50)
        refs: Refs = [
            (column.name if alone else f"{item.alias}.{column.name}", column)
            for item, known in zip(froms, legs, strict=True)
            for column in known.columns
        ]
        exact = [ref for ref in refs if ref[1].exact]
        conditions = []
        for i, item in enumerate(froms):
            if item.connector == ", " and self.chance(80):
                conditions += self.equality(froms[: i + 1], legs[: i + 1])
        if exact and self.chance(70 if self.flags.current else 30):
            conditions.append(self.predicate(exact, timed=True))
        if len(froms) > 1 and exact and self.chance(15):
            conditions += [found] if (found := self.pipeline(exact)) else []
        where = " AND ".join(conditions) or None
        select = Select((), tuple(froms), where)
        if shape == "aggregate":
            return self.aggregated(select, refs, size)

        if kinds is None and self.chance(25):
            starred = self.starred(froms, legs)
            if starred is not None:
                distinct = all(column.exact for column in starred) and self.chance(25)
                return replace(select, items=("*",), distinct=distinct), [*starred], size
        wanted: Sequence[str | None] = kinds or [None] * self.between(1, 3)
        drawn = [self.scalar(refs, kind) for kind in wanted]
        items, columns = self.named(drawn)
        distinct = all(is_exact for _, _, is_exact in drawn) and self.chance(25)
        return replace(select, items=items, distinct=distinct), columns, size

    def aggregated(
        self, select: Select, refs: Refs, size: int
    ) -> tuple[Select, list[Column | None], int]:
        """Return the SELECT with groups and aggregates."""
        exact = [ref for ref in refs if ref[1].exact]
        keys = []
        if exact and not self.chance(25):
            keys = [self.scalar(exact) for _ in range(self.between(1, 2))]
        # A constant would be a position, and a key that stands twice is one.
        keys = list({key[0]: key for key in keys}.values())
        aggregates = [self.aggregate(refs) for _ in range(self.between(1, 3))]
        group = None
        shown = keys
        if keys:
            group = "ALL" if self.chance(30) else ", ".join(text for text, _, _ in keys)
            if group != "ALL" and self.chance(15):
                shown = keys[1:]
        drawn = [*aggregates, *shown] if self.chance(20) else [*shown, *aggregates]
        having = None
        if self.chance(25):
            tested = [a for a in aggregates if a[2]] or [("count(*)", "int", True)]
            text, kind, _ = self.one(tested)
            having = self.comparison([(text, Column("", kind))], timed=self.chance(30))
        items, columns = self.named(drawn)
        made = replace(select, items=items, group=group, having=having)
        return made, columns, size if keys else 1

    def named(
        self, drawn: list[tuple[str, str, bool]]
    ) -> tuple[tuple[str, ...], list[Column | None]]:
        """Return SELECT items and their columns: most under a name of their own."""
        items: list[str] = []
        columns: list[Column | None] = []
        taken: set[str] = set()
        for text, kind, exact in drawn:
            bare = text.split(".")[-1] if re.fullmatch(r"(\w+\.)?[a-z]\w*", text) else None
            if bare in ("true", "false"):
                bare = None
            if bare and bare not in taken and self.chance(60):
                items.append(text)
                columns.append(Column(bare, kind, exact))
            elif not bare and text not in taken and self.chance(10):
                items.append(text)
                columns.append(None)
                self.nameless[text] = kind
            else:
                name = self.name()
                items.append(f"{text} AS {name}")
                columns.append(Column(name, kind, exact))
            taken.update((text, bare or text))
        return tuple(items), columns

    def starred(self, froms: list[FromItem], legs: list[_Known]) -> list[Column] | None:
        """Return the columns of `*`, or None where a name would come twice or is not there."""
        columns: list[Column] = []
        for item, known in zip(froms, legs, strict=True):
            if not known.starable:
                return None
            merged = item.condition.startswith(" USING")
            columns += [c for c in known.columns if not (merged and c.name == "k")]
        names = [column.name for column in columns]
        return columns if len(names) == len(set(names)) else None

    def froms(
        self, draft: _Draft, depth: int, most: int
    ) -> tuple[list[FromItem], list[_Known], int]:
        """Return the FROM list, what it reads, and how many rows the join has at most."""
        froms: list[FromItem] = []
        legs: list[_Known] = []
        size = 1
        for i in range(self.one([1, 1, 2, 2, 3][: 2 * most - 1])):
            known, spec, text, source = self.leg(depth, MOST_ROWS // size, bool(froms))
            if known is None or source is None:
                break
            held = self.rows_in(known, spec)
            if froms and size * held > MOST_ROWS:
                break
            size *= max(held, 1)
            taken = {item.alias for item in froms}
            item = self.from_item(len(draft.legs), known, source, taken)
            draft.legs.append((known.source, spec))
            draft.texts.append((source, text))
            if i:
                item = self.joined(item, froms, legs, known)
            froms.append(item)
            legs.append(known)
        return froms, legs, size

    def leg(
        self, depth: int, room: int, optional: bool
    ) -> tuple[_Known | None, Window | None, str, str | None]:
        """Return a source, its window, the window's text and the source's."""
        if depth < 2 and self.chance(20 if depth == 0 else 10):
            stream = self.chance(40)
            known = self.query("subquery", depth + 1, stream)
            text = "(" + known.source.cql + ")" if isinstance(known.source, Query) else ""
            if known.columns and not (optional and self.most_rows(known) > room):
                if not stream:
                    return known, None, "", text
                named = re.search(r"\b(istream|dstream|rstream)\(", text[:24], re.IGNORECASE)
                spec, rendered = self.window(known, required=named is None)
                return known, spec, rendered, text
        fitting = [known for known in self.known if self.most_rows(known) <= room]
        if not fitting:
            if optional:
                return None, None, "", None
            fitting = self.known[:1]
        # Named queries stand last and are taken as often as all inputs together.
        queries = [known for known in fitting if isinstance(known.source, Query)]
        known = self.one(queries if queries and self.chance(50) else fitting)
        spec, rendered = self.window(known) if yields_stream(known.source) else (None, "")
        return known, spec, rendered, known.source.name

    def most_rows(self, known: _Known) -> int:
        return known.total if yields_stream(known.source) else known.size

    def from_item(self, leg: int, known: _Known, source: str, taken: set[str]) -> FromItem:
        """Return the leg with its alias in one of its places."""
        bare = not source.startswith("(") and source not in taken
        form = self.one(
            [
                *(["{source} {window}"] * 2 if bare else []),
                "{source} {window} AS ALIAS",
                "{source} {window} ALIAS",
                "{source} ALIAS {window}",
                "{source} AS ALIAS {window}",
            ]
        )
        if "ALIAS" not in form:
            return FromItem(leg, source, form)
        self.aliases += 1
        alias = f"x{self.aliases}"
        return FromItem(leg, alias, form.replace("ALIAS", alias))

    def joined(
        self, item: FromItem, froms: list[FromItem], legs: list[_Known], known: _Known
    ) -> FromItem:
        """Return the item joined to those before it."""
        if froms[-1].connector == ", " or self.chance(40):
            return replace(item, connector=", ")
        connector = self.one([" JOIN ", " JOIN ", " INNER JOIN "])
        keys = [column for leg in [*legs, known] for column in leg.columns if column.name == "k"]
        usable = len(keys) == len(legs) + 1 and len({c.kind for c in keys}) == 1
        usable = usable and all(c.exact for c in keys)
        usable = usable and all(f.condition.startswith(" USING") for f in froms[1:])
        if usable and self.chance(50):
            return replace(item, connector=connector, condition=" USING (k)")
        on = self.equality([*froms, item], [*legs, known]) if self.chance(75) else []
        if not on or self.chance(25):
            on += self.inequality([*froms, item], [*legs, known])
        exact = [(f"{item.alias}.{c.name}", c) for c in known.columns if c.exact]
        if self.flags.current and exact and self.chance(30):
            on.append(self.comparison(exact, timed=True))
        return replace(item, connector=connector, condition=" ON " + (" AND ".join(on) or "true"))

    def pairs(self, froms: list[FromItem], legs: list[_Known]) -> list[tuple[str, str]]:
        """Return the pairs of comparable columns of the last leg and those before it."""
        last = [(f"{froms[-1].alias}.{c.name}", c) for c in legs[-1].columns if c.exact]
        return [
            (f"{item.alias}.{before.name}", text)
            for text, column in last
            for item, known in zip(froms[:-1], legs[:-1], strict=True)
            for before in known.columns
            if before.exact and before.kind == column.kind
        ]

    def equality(self, froms: list[FromItem], legs: list[_Known]) -> list[str]:
        pairs = self.pairs(froms, legs)
        if not pairs:
            return []
        # The plain equijoin on k is the most frequent, and finds the most partners.
        pairs.sort(key=lambda pair: not all(text.endswith(".k") for text in pair))
        left, right = self.one([pairs[0], pairs[0], *pairs[:3]])
        operator = self.one(["=", "=", "=", "IS NOT DISTINCT FROM"])
        return [f"{left} {operator} {right}"]

    def inequality(self, froms: list[FromItem], legs: list[_Known]) -> list[str]:
        pairs = self.pairs(froms, legs)
        if not pairs:
            return []
        left, right = self.one(pairs)
        return [f"{left} {self.one(['<', '<=', '<>', '>'])} {right}"]


# ------------------------------------------------------------------------------- strategies


@st.composite
def cases(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    *,
    wide: bool = False,
    extremes: bool = False,
    negative: bool = True,
    later: bool = True,
    restarts: bool = True,
    disorder: bool = False,
    timestamp_by: bool = False,
    current: bool = False,
    paced: bool = False,
    most_queries: int = 3,
    typed: bool = False,
    undated: bool = False,
) -> Case:
    """Draw a case.

    Args:
        draw: Given by hypothesis.
        wide: WHERE in windows, SLIDE, HOP, TUMBLE, PARTITION BY with RANGE, units, PRECEDING.
        extremes: NaN, infinity, -0.0 and 1e300 among the doubles.
        negative: Sometimes timestamps below 0; then every input begins at the same instant.
        later: Sometimes queries that are registered when time has gone on.
        restarts: Sometimes restarts in the script.
        disorder: Sometimes streams that are out of order within a declared bound.
        timestamp_by: Sometimes streams whose timestamp is a column.
        current: `current_timestamp` in conditions and elsewhere.
        paced: Streams alone, and all windows hop by the same step.
        most_queries: The most queries that are registered.
        typed: Columns of more of DuckDB's types.
        undated: Relations with changes of the beginning of time.
    """
    flags = _Flags(
        wide, extremes, negative, later, restarts, disorder, timestamp_by, current, paced,
        most_queries, typed, undated,
    )  # fmt: skip
    builder = _Builder(draw, flags)
    t_begin = -builder.between(1, 6) if negative and builder.chance(20) else 0
    t_end = t_begin + builder.between(2, 15)
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


@dataclass(frozen=True)
class _Phase:
    """What is appended before an advance: for each input its elements up to this position.

    It is quiet if nothing is there that lies ahead, so that the frontier is the advance.
    """

    to: int
    upto: tuple[int, ...]
    quiet: bool


def _arrivals(source: Stream | Relation) -> Sequence[tuple[Any, ...]]:
    return source.elements if isinstance(source, Stream) else source.changes


def _phases(
    builder: _Builder, inputs: Sequence[Stream | Relation], t_begin: int, t_end: int
) -> list[_Phase]:
    """Return the advances, the last one to `t_end`, and how far data has come at each."""
    cuts = builder.draw(
        st.one_of(
            st.lists(st.integers(t_begin - 1, t_end - 1), max_size=5, unique=True).map(sorted),
            st.just(list(range(t_begin, t_end))),
        )
    )
    phases = []
    reached = [0] * len(inputs)
    for to in [*cuts, t_end]:
        for i, source in enumerate(inputs):
            arrivals = _arrivals(source)
            due = max((n + 1 for n, arrival in enumerate(arrivals) if arrival[0] <= to), default=0)
            reached[i] = max(reached[i], due)
            if builder.chance(25):
                reached[i] = builder.between(reached[i], len(arrivals))
        ahead = any(
            arrival[0] > to
            for i, source in enumerate(inputs)
            for arrival in _arrivals(source)[: reached[i]]
        )
        quiet = not ahead and t_begin <= to < t_end
        phases.append(_Phase(to, tuple(reached), quiet))
    return phases


def _script(
    builder: _Builder,
    inputs: Sequence[Stream | Relation],
    queries: Sequence[Query],
    phases: Sequence[_Phase],
) -> list[Step]:
    """Return the steps: appends in random batches, advances, registrations, restarts."""
    script: list[Step] = [Register(query) for query in queries if query.registered_at is None]
    before = (0,) * len(inputs)
    restart = builder.flags.restarts and builder.chance(50)
    for phase in phases:
        for i, source in enumerate(inputs):
            batch = list(_arrivals(source)[before[i] : phase.upto[i]])
            while batch:
                n = len(batch) if builder.chance(60) else builder.between(1, len(batch))
                script.append(Append(source, tuple(batch[:n])))
                batch = batch[n:]
                if restart and builder.chance(10):
                    script.append(Restart())
        script.append(Advance(phase.to))
        script += [Register(query) for query in queries if query.registered_at == phase.to]
        if restart and builder.chance(30):
            script.append(Restart())
        before = phase.upto
    return script
