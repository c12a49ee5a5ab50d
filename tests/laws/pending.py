"""Rules of relations: what the changes that are pending come to, given what the store holds.

A block gives `held`, the rows of the store, and `changes`, whose last column is the operation: `+`,
`-` or `u`. Its `node` is the `Relation`, but for the columns. All rows are numbered in order; a row
that is held no more has a number from 100 on. `kept outcome` is what the rule says of these numbers
(`rewrite/operators/relation`); a test compares it with `relation_model`.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import duckdb
import reference
from relation_model import Case, Element, Model
from sqlglot import exp

from cqlduck.rewrite.operators import (
    bags,
    outcome,
    primary_key,
    primary_key_insertions,
    primary_key_once,
    primary_key_swap,
    relation,
)
from cqlduck.rewrite.plan import FOREVER, Column
from laws import text
from laws.bench import Part, Written
from laws.blocks import Law

RULES = {
    "bags.outcome": bags.outcome,
    "primary_key.outcome": primary_key.outcome,
    "primary_key.latest": primary_key.latest,
    "primary_key_once.outcome": primary_key_once.outcome,
    "primary_key_once.without_upserts": primary_key_once.without_upserts,
    "primary_key_swap.changed": primary_key_swap.changed,
    "primary_key_swap.exceptions": primary_key_swap.exceptions,
    "primary_key_insertions.occupied": primary_key_insertions.occupied,
}
CHANGED = {
    "primary_key_swap.exceptions": primary_key_swap.changed,
    "primary_key_insertions.occupied": outcome.changed_by_insertions,
}
"""What a rule reads in `Scratch.changed`."""
ENDED = 100
SECONDS = 1.0
"""After so long a statement is broken off: what is broken may recur without end."""


class Pending:
    """A database with the tables of a relation."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self.held, self.changes = law.inputs
        self.columns = tuple(Column(name, kind) for name, kind in self.held.columns)
        self.con = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})
        listed = ", ".join(f"{c.name} {c.type}" for c in self.columns)
        more = "_cql_enter BIGINT, _cql_leave BIGINT, _cql_seq BIGINT"
        self.con.execute(f"""
            CREATE SCHEMA cql_state;
            CREATE TABLE cql_state.store ({listed}, {more});
            CREATE TABLE cql_state.queue ({listed}, _op VARCHAR, _ts BIGINT, _cql_seq BIGINT);
        """)
        there = [one for one in self.held.tuples if one.leave is None]
        gone = [one for one in self.held.tuples if one.leave is not None]
        rows = [(n, one, FOREVER) for n, one in enumerate(there)]
        rows += [(ENDED + n, one, one.leave or 0) for n, one in enumerate(gone)]
        # the last ones first: no statement may rely on the order of rows
        for number, one, leave in reversed(rows):
            row = f"{one.row}, {one.enter}, {leave}, {number}"
            self.con.execute(f"INSERT INTO cql_state.store VALUES ({row})")
        for number, one in reversed(list(enumerate(self.changes.tuples, len(there)))):
            row = f"{one.row}, {one.enter}, {number}"
            self.con.execute(f"INSERT INTO cql_state.queue VALUES ({row})")
        key = eval(law.node, {"Relation": lambda key=(), **_: key})
        self.case = Case(
            "",
            bool(key),
            tuple(_keyed(self._row(one.row), len(key)) for one in there),
            tuple(
                Element(
                    _keyed(self._row(one.row)[:-1], len(key)),
                    one.enter,
                    str(self._row(one.row)[-1]),
                )
                for one in self.changes.tuples
                if one.enter <= law.ticks[-1]
            ),
        )
        self.kept = Counter(reference.normal(self._row(row)) for row in law.kept["outcome"])

    def written(self) -> Written:
        """Return what the rule of the block writes."""
        of = eval(self.law.node, {"Relation": self._relation})
        tree = text.plain(RULES[self.law.operator](of))
        return Written((Part("delta", "what the changes come to", tree),), ())

    def _relation(
        self, key: tuple[str, ...] = (), lead: str | None = None, **how: Any
    ) -> relation.Relation:
        known = relation.Relation(self.columns, key, "store", "queue", **how)
        if lead is None:
            return known
        known = replace(known, scratch=relation.Scratch("few", "held", "changed", lead))
        until = {"until": self.law.ticks[-1]}
        self._make("few", relation.queued(known), until)
        self._make("held", relation.candidates(known), {})
        if self.law.operator in CHANGED:
            self._make("changed", CHANGED[self.law.operator](known), until | {"instant": 3})
        return known

    def _make(self, table: str, tree: exp.Expr, values: dict[str, int]) -> None:
        used = {one.this for one in tree.find_all(exp.Placeholder)}
        rows, given = tree.sql("duckdb"), {name: values[name] for name in used}
        self.con.execute(f"CREATE OR REPLACE TEMPORARY TABLE {table} AS {rows}", given)

    def run(self, statements: Written) -> list[str]:
        """Run the statement; return what is wrong.

        Raises:
            duckdb.Error: It fails, or takes too long.
        """
        (part,) = statements.parts
        used = {one.this for one in part.tree.find_all(exp.Placeholder)}
        last = self.law.ticks[-1]
        values = {name: v for name, v in {"until": last, "instant": last}.items() if name in used}
        watch = threading.Timer(SECONDS, self.con.interrupt)
        watch.start()
        try:
            rows = self.con.execute(part.tree.sql("duckdb"), values).fetchall()
        finally:
            watch.cancel()
        found: Counter[Any] = Counter(map(reference.normal, rows))
        missing = [f"missing {row}" for row in (self.kept - found).elements()]
        return missing + [f"extra {row}" for row in (found - self.kept).elements()]

    @property
    def gives(self) -> object:
        """The lifetimes that the block lists, and how often which tuple has no effect.

        Of a rule that asks about keys, what it says of them.
        """
        rows = [*self.case.held, *(one.row for one in self.case.elements)]
        if self.law.operator in CHANGED:
            return self.kept
        kept = list(self.kept.elements())
        if self.law.operator == "primary_key_swap.changed":
            width = len(self.columns)
            kept = [(seq, enter if rowid is None else None, leave, 0)
                    for enter, leave, seq, rowid, *_ in (row[width:] for row in kept)]  # fmt: skip
        lives = [(n, enter, leave) for n, enter, leave, _ in kept if leave is not None]
        wrong = {(at, rows[n]): count for n, at, leave, count in kept if leave is None}
        return sorted(lives, key=repr), wrong

    def defined(self) -> object:
        """Return what the model says of these."""
        if self.law.operator in CHANGED:
            is_swap = self.law.operator == "primary_key_swap.exceptions"
            return Counter((exceptions if is_swap else occupied)(self.case))
        model = Model(self.case)
        return sorted(model.lives, key=repr), dict(model.wrong)

    def _row(self, row: str) -> Any:
        return self.con.execute(f"SELECT {row}").fetchone()


def _keyed(row: Any, width: int) -> Any:
    """Return a row with its key as one value."""
    return row if width < 2 else (row[:width], *row[width:])


def exceptions(case: Case) -> list[tuple[bool]]:
    """Return of each key that does not swap its tuple once at most whether nothing changes."""
    found = []
    for key in {one.row[0] for one in case.elements}:
        (held,) = [row for row in case.held if row[0] == key] or [None]
        mine = Counter(
            (one.row == held, one.operation) for one in case.elements if one.row[0] == key
        )
        goes, comes = mine[True, "-"], mine[False, "+"]
        is_of_others = bool(mine[False, "-"] or mine[True, "+"])
        if is_of_others or goes > 1 or comes > 1 or (comes and held is not None and not goes):
            found.append((set(mine) == {(True, "-"), (True, "+")} and goes == mine[True, "+"],))
    return found


def occupied(case: Case) -> list[tuple[int]]:
    """Return the first row of each key that gets two, or has one, of those that get any."""
    rows: dict[object, list[int]] = {}
    for number, row in enumerate((*case.held, *(one.row for one in case.elements))):
        rows.setdefault(row[0], []).append(number)
    return [(min(numbers),) for numbers in rows.values() if len(numbers) > 1]
