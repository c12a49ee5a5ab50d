"""Runs the statements of a block tick by tick, and compares what they say with what it gives."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import reference
from sqlglot import exp

from cqlduck.rewrite.physical.arrivals import arrivals_of, changes_of, stream_of
from cqlduck.rewrite.physical.form import UNSTAGED, Form
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.statement import Statement, Synopsis
from cqlduck.rewrite.plan import FOREVER, NEVER, Join, Plan
from cqlduck.rewrite.plan.lengths import met
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import ENTER, LEAVE, TS, WEIGHT, named, parameter
from laws import inputs, plans, text
from laws.blocks import Given, Law, Timed

ANSWERS = ("elements", "lives", "standing", "alive", "rows", "answer")

Counting = Callable[[Sequence[object]], bool]
"""Says of a tuple whether it has to be there."""

SECONDS = 5.0
"""After so long a statement is broken off."""


@dataclass(frozen=True)
class Part:
    """A statement of a tick: of which kind it is, what it is for, and the tree."""

    kind: str
    purpose: str
    tree: exp.Expr
    each: str | None = None
    is_hidden: bool = False
    """Whether another block shows it and breaks it."""

    @property
    def title(self) -> str:
        return f"upkeep: {self.purpose}" if self.kind == "upkeep" else self.purpose


@dataclass(frozen=True)
class Written:
    """What an operator writes: the statements of a tick in order, and its synopses."""

    parts: tuple[Part, ...]
    synopses: tuple[Synopsis, ...]

    def __str__(self) -> str:
        shown = (part for part in self.parts if not part.is_hidden)
        return "\n".join(f"-- {part.title}\n{text.written(part.tree)};" for part in shown)

    def with_part(self, place: int, tree: exp.Expr | None) -> Written:
        """Return the same with another statement in a place, or none.

        If that is an answer, other answers go: they show nothing.
        """
        part = self.parts[place]
        wanted = {part.kind, "lives"} if part.kind == "standing" else {part.kind}
        answers = set(ANSWERS) if part.kind not in ANSWERS else wanted
        parts: list[Part] = []
        for number, other in enumerate(self.parts):
            if number == place and tree is not None:
                parts.append(replace(part, tree=tree))
            elif number != place and (other.kind not in ANSWERS or other.kind in answers):
                parts.append(other)
        return Written(tuple(parts), self.synopses)


def written(law: Law, plan: Plan, form: Form | None = None, *, every: bool = False) -> Written:
    """Return what the operator of a block writes.

    Args:
        law: The block.
        plan: Its node.
        form: The form; None is the block's.
        every: Whether all is asked that the operator can answer, and not just what the block asks.
    """
    writer = inputs.writer(law, plan, form or form_of(law))
    asked: list[Part] = []
    names = [n for n in ANSWERS if _may_answer(writer.operator(plan), n)] if every else law.asks
    for name in names:
        bounds = (None, parameter("t1")) if name == "rows" else ()
        query = _query(getattr(writer, name)(plan, *bounds), plan, name)
        if query is not None:
            asked.append(Part(name, name, text.plain(query)))
    after = [part for part in asked if part.kind == "answer"]
    asked = [part for part in asked if part not in after]
    parts = (
        *_parts("delta", writer.statements), *asked, *_parts("upkeep", writer.updates), *after,
    )  # fmt: skip
    shown = (replace(part, is_hidden=bool({part.kind, part.purpose} & law.hides)) for part in parts)
    return Written(tuple(shown), tuple(writer.synopses))


def _may_answer(operator: Operator[Plan], name: str) -> bool:
    """Return whether an operator can be asked a question."""
    match name:
        case "standing" | "alive":
            if isinstance(operator.node, Join) and met(operator.node) is None:
                # what reads its content reads a trace
                return False
            return type(operator).standing is not Operator.standing
        case "rows":
            return operator.properties.is_stream and type(operator).rows is not Operator.rows
        case _:
            return True


def form_of(law: Law) -> Form:
    """Return the form of ticks for which a block's statements are."""
    names = ("single", "staged", "reduces", "stepwise", "intervals")
    return Form(**{name: name in law.form for name in names}) if law.form else UNSTAGED


def _parts(kind: str, statements: Sequence[Statement]) -> Iterator[Part]:
    for one in statements:
        yield Part(kind, one.purpose, text.plain(one.tree), one.each)


_TIMES = {"elements": (TS, WEIGHT), "rows": (TS, WEIGHT), "answer": (WEIGHT,)}


def _query(rows: object, plan: Plan, name: str) -> exp.Query | None:
    if rows is None:
        return None
    names = [*(c.name for c in plan.columns), *_TIMES.get(name, (ENTER, LEAVE, WEIGHT))]
    return rows.project([named(column(n), n) for n in names], name).query()  # type: ignore[attr-defined]


class Bench:
    """A database with the inputs of a block, cut into ticks.

    Args:
        law: The block.
        ticks: The last instants of the ticks; None are the block's.
    """

    def __init__(self, law: Law, ticks: Sequence[int] | None = None) -> None:
        self.law = law
        self.plan = plans.node(law)
        self.ticks = tuple(ticks or law.ticks)
        self.bounds = list(zip((law.begin - 1, *self.ticks), self.ticks, strict=False))
        self.con = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})
        # what a plan says does not depend on it, and small data takes longer to plan than to read
        self.con.execute("PRAGMA disable_optimizer; CREATE SCHEMA given; CREATE SCHEMA cql_state")
        for given in law.inputs:
            self._store(given)
        for place, (t0, t1) in enumerate(self.bounds):
            self.con.execute(f"CREATE SCHEMA tick{place}")
            for given in law.inputs:
                self._cut(given, f"tick{place}", t0, t1)
        if law.operator in inputs.LEAVES:
            self._keep_as_the_catalogue_does(law.inputs[0])
        if "VaryingWindow" in law.node:
            name = law.inputs[1].name
            self.con.execute(f"CREATE TABLE cql_state.{name} AS FROM given.{name}")
        self.gives = self._elements(law.gives)
        self.kept = {name: self._kept(rows) for name, rows in law.kept.items()}

    def _store(self, given: Given) -> None:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in given.columns)
        time = f"{ENTER} BIGINT, {LEAVE} BIGINT, {WEIGHT} BIGINT, _cql_seq BIGINT"
        self.con.execute(f"CREATE TABLE given.{given.name} ({columns}, {time})")
        # the last ones first: no statement may rely on the order of rows
        for number, one in reversed(list(enumerate(given.tuples))):
            leave = FOREVER if one.leave is None else one.leave
            row = f"{one.row}, {one.enter}, {leave}, {one.weight}, {number}"
            self.con.execute(f"INSERT INTO given.{given.name} VALUES ({row})")

    def _keep_as_the_catalogue_does(self, given: Given) -> None:
        """Make the table of a leaf, and the macros by which it is read."""
        name = given.name
        if self.law.operator == "Relation":
            query = f"SELECT * EXCLUDE (n) FROM given.{name}, range({WEIGHT}) AS times(n)"
            self.con.execute(f"""
                CREATE TABLE cql_state.{name} AS {query};
                CREATE TEMPORARY MACRO {changes_of(name)}(low, high) AS TABLE
                    FROM cql_state.{name} WHERE {ENTER} > low OR {LEAVE} <= high;
            """)
            return
        query = f"SELECT * EXCLUDE ({LEAVE}) RENAME ({ENTER} AS {TS}) FROM given.{name}"
        self.con.execute(f"""
            CREATE TABLE cql_state.{name} AS {query};
            CREATE VIEW cql_state.condensed_{name} AS FROM cql_state.{name};
            CREATE TEMPORARY MACRO {stream_of(name)}() AS TABLE FROM cql_state.{name};
            CREATE TEMPORARY MACRO {arrivals_of(name)}(low, high) AS TABLE
                FROM cql_state.{name} WHERE {TS} > low AND {TS} <= high;
        """)

    def _cut(self, given: Given, schema: str, t0: int, t1: int) -> None:
        """Make the tables of an input, as the statements of a tick see it."""
        columns = ", ".join(f'"{name}"' for name, _ in given.columns)

        def make(table: str, listed: str, where: str) -> None:
            select = f"SELECT {columns}, {listed} FROM given.{given.name} WHERE {where}"
            self.con.execute(f"CREATE TABLE {schema}.{table} AS {select}")

        if given.is_stream:
            element = f"{ENTER} AS {TS}, {WEIGHT}, _cql_seq"
            make(given.name, element, "true")
            make(f"delta_{given.name}", element, f"{ENTER} > {t0} AND {ENTER} <= {t1}")
            return
        begins, ends = (f"{time} > {t0} AND {time} <= {t1}" for time in (ENTER, LEAVE))
        life = f"{ENTER}, {LEAVE}, {WEIGHT}"
        make(f"lives_{given.name}", life, f"{begins} OR {ends}")
        make(given.name, life, f"{ENTER} <= {t0} AND {LEAVE} > {t1}")
        make(f"alive_{given.name}", life, f"{ENTER} <= {t1} AND {LEAVE} > {t0}")
        make(f"delta_{given.name}", f"{ENTER} AS {TS}, {WEIGHT}", begins)
        gone = f"SELECT {columns}, {LEAVE}, -{WEIGHT} FROM given.{given.name} WHERE {ends}"
        self.con.execute(f"INSERT INTO {schema}.delta_{given.name} {gone}")

    def _elements(self, given: Sequence[Timed]) -> dict[int, Counter[reference.Row]]:
        """Return elements by instant, values of the types of the node's columns."""
        kinds = [c.type for c in self.plan.columns]
        rows = [(*self._row(one.row, kinds), one.enter, one.weight) for one in given]
        return reference.from_changes(rows)

    def _row(self, row: str, kinds: Sequence[str] | None = None) -> reference.Row:
        if kinds is not None:
            names = [f"c{place}" for place in range(len(kinds))]
            cast = ", ".join(f"CAST({n} AS {k})" for n, k in zip(names, kinds, strict=True))
            row = f"{cast} FROM (VALUES ({row})) AS v({', '.join(names)})"
        return self.con.execute(f"SELECT {row}").fetchone() or ()

    def _kept(self, rows: Sequence[str]) -> Counter[object]:
        return Counter(reference.normal(self._row(row)) for row in rows)

    def run(self, statements: Written) -> list[str]:
        """Run the statements tick by tick, from empty synopses on; return what is wrong.

        After a tick in which something is, no other follows.

        Raises:
            duckdb.Error: A statement fails, or takes too long.
        """
        watch = threading.Timer(SECONDS, self.con.interrupt)
        watch.start()
        try:
            return self._run(statements)
        finally:
            watch.cancel()

    def _run(self, statements: Written) -> list[str]:
        for synopsis in statements.synopses:
            columns = ", ".join(f'"{c.name}" {c.type}' for c in synopsis.columns)
            name = f'cql_state."{synopsis.name}"'
            self.con.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        prepared = [(part, part.tree.sql("duckdb")) for part in statements.parts]
        for place, (t0, t1) in enumerate(self.bounds):
            self.con.execute(f"SET schema = 'tick{place}'")
            values = {"t0": t0, "t1": t1, "low": NEVER if place == 0 else t0}
            values |= {"begin": self.law.begin, "since": self.law.begin - 1}
            answers: dict[str, list[reference.Row]] = {}
            for part, sql in prepared:
                rows = self._execute(part, sql, values)
                if part.kind in ANSWERS:
                    answers[part.kind] = rows
            wrong = list(self._wrong(answers, t0, t1, self._counting()))
            if wrong:
                return wrong
        return list(self._wrongly_kept(statements.synopses))

    def _execute(self, part: Part, sql: str, values: Mapping[str, int]) -> list[reference.Row]:
        taken = set(re.findall(r"\$(\w+)", sql))
        times: list[Mapping[str, object]] = [values]
        if part.each is not None:
            table = exp.to_identifier(part.each, quoted=True).sql("duckdb")
            rows = self.con.execute(f"SELECT * FROM temp.{table} ORDER BY ALL").fetchall()
            times = [{**values, "at": at, "next": following} for at, following in rows]
        found = []
        for given in times:
            some = {name: value for name, value in given.items() if name in taken}
            found = self.con.execute(sql, some).fetchall()
        return found

    def _counting(self) -> Counting:
        """Return what says whether a tuple has to be there in the tick."""
        if self.law.within is None:
            return lambda row: True
        columns, query = self.law.within
        places = [[c.name for c in self.plan.columns].index(name) for name in columns]
        # NULL is equal to nothing
        keys = {key for key in self.con.execute(query).fetchall() if None not in key}
        return lambda row: tuple(row[place] for place in places) in keys

    def _wrong(
        self,
        answers: Mapping[str, list[reference.Row]],
        t0: int,
        t1: int,
        counts: Counting,
    ) -> Iterator[str]:
        """Yield in what the answers of a tick are not what the block gives."""
        elements, contents = {}, {}
        for name, rows in answers.items():
            if any(None in row[len(self.plan.columns) :] for row in rows):
                yield f"{name} in ({t0}, {t1}]: an instant or a weight is NULL"
                return
            yield from (f"{name} in ({t0}, {t1}]: no weight: {row}" for row in rows if not row[-1])
            if name in _MEANT:
                stray = [row for row in rows if not _MEANT[name](*row[-3:-1], t0, t1)]
                empty = [row for row in rows if row[-3] >= row[-2]]
                yield from (f"{name} in ({t0}, {t1}]: not asked for: {row}" for row in stray)
                yield from (f"{name} in ({t0}, {t1}]: never there: {row}" for row in empty)
            match name:
                case "elements":
                    elements[name] = rows
                case "rows":
                    # all up to the end of the tick, and not only those of it
                    known = {ts: change for ts, change in self.gives.items() if ts <= t1}
                    lines = reference.differences(known, reference.from_changes(rows))
                    yield from (f"rows {line}" for line in lines)
                case "lives":
                    elements[name] = list(_as_elements(rows, t0, t1))
                case "standing":
                    # with those that begin or end, they are all that touch the tick
                    contents[name] = rows + answers["lives"]
                case "alive":
                    contents[name] = rows
                case "answer":
                    yield from (f"at {t1}: not of weight 1: {row}" for row in rows if row[-1] != 1)
                    contents[name] = [(*row[:-1], t1, FOREVER, row[-1]) for row in rows]
        gives = {ts: change for ts, change in self.gives.items() if t0 < ts <= t1}
        for name, rows in elements.items():
            lines = reference.differences(gives, reference.from_changes(rows))
            yield from (f"{name} {line}" for line in lines)
        for name, rows in contents.items():
            for tau in range(t1 if name == "answer" else t0, t1 + 1):
                wanted, there = (
                    _of(bag, counts) for bag in (self._content(tau), _there(rows, tau))
                )
                lines = reference.bag_differences(wanted, there)
                yield from (f"{name} in ({t0}, {t1}] at {tau}: {line}" for line in lines)

    def _wrongly_kept(self, synopses: Sequence[Synopsis]) -> Iterator[str]:
        """Yield in what synopses are not what the block says that is kept."""
        known = {synopsis.kind: synopsis.name for synopsis in synopses}
        for kind, rows in self.kept.items():
            found = self.con.execute(f'SELECT * FROM cql_state."{known[kind]}"').fetchall()
            kept: Counter[object] = Counter(map(reference.normal, found))
            yield from (f"kept {kind}: missing {row}" for row in (rows - kept).elements())
            yield from (f"kept {kind}: extra {row}" for row in (kept - rows).elements())

    def _content(self, tau: int) -> Counter[reference.Row]:
        bag: Counter[reference.Row] = Counter()
        for ts, change in self.gives.items():
            if ts <= tau:
                bag.update(change)
        return Counter({row: weight for row, weight in bag.items() if weight})

    def defined(self) -> dict[int, Counter[reference.Row]] | None:
        """Return the elements that the definition gives, if the block has one."""
        if self.law.means is None:
            return None
        body = self.law.means
        r2s = next(
            (w for w in ("istream", "dstream", "rstream") if body.lower().startswith(w)), None
        )
        body = body if r2s is None else body[len(r2s) :]
        legs = [self._leg(*leg) for leg in re.findall(r"\{(\w+)(?: ([^}]*))?\}", body)]
        numbers = iter(range(len(legs)))
        sql = re.sub(r"\{[^}]*\}", lambda _: f"{{{next(numbers)}}}", body)
        query = reference.Query("law", sql, legs, r2s)  # type: ignore[arg-type]
        edge = "half_open" if "half_open=True" in self.law.node else "closed"
        result = reference.evaluate(query, self.law.begin, self.ticks[-1], window_edge=edge)  # type: ignore[arg-type]
        return reference.net_elements(result)

    def _leg(self, name: str, window: str) -> tuple[reference.Source, reference.Window | None]:
        (given,) = (one for one in self.law.inputs if one.name == name)
        kinds = [kind for _, kind in given.columns]
        rows = [(one, self._row(one.row, kinds)) for one in given.tuples]
        if given.is_stream:
            elements = [(one.enter, row) for one, row in rows]
            made = eval(window, vars(reference)) if window else None
            if given.facts.get("is_numbered") is False:
                # what a query yields has weights, and an order of its own
                grown = [(one.enter, one.weight, row) for one, row in rows]
                relation = reference.Relation(name, given.columns, grown)
                query = reference.Query(name, "SELECT * FROM {0}", [(relation, None)], "istream")
                return query, made
            return reference.Stream(name, given.columns, elements), made
        changes: list[tuple[float, int, reference.Row]] = []
        for one, row in rows:
            changes.append((one.enter, one.weight, row))
            if one.leave is not None:
                changes.append((one.leave, -one.weight, row))
        return reference.Relation(name, given.columns, changes), None


_MEANT = {
    "lives": lambda enter, leave, t0, t1: t0 < enter <= t1 or t0 < leave <= t1,
    "standing": lambda enter, leave, t0, t1: enter <= t0 and leave > t1,
    "alive": lambda enter, leave, t0, t1: enter <= t1 and leave > t0,
}
"""Which lifetimes an answer has."""


def _of(bag: Counter[reference.Row], counts: Counting) -> Counter[reference.Row]:
    return Counter({row: weight for row, weight in bag.items() if counts(row)})


def _there(rows: Sequence[reference.Row], tau: int) -> Counter[reference.Row]:
    """Return the tuples whose lifetime covers an instant, with their weights."""
    bag: Counter[reference.Row] = Counter()
    for *row, enter, leave, weight in rows:
        if enter <= tau < leave:
            bag[reference.normal(tuple(row))] += weight
    return Counter({row: weight for row, weight in bag.items() if weight})


def _as_elements(rows: list[reference.Row], t0: int, t1: int) -> Iterator[reference.Row]:
    for *row, enter, leave, weight in rows:
        if enter > t0:
            yield (*row, enter, weight)
        if leave <= t1:
            yield (*row, leave, -weight)
