"""Expressions of a subquery that may raise, in a recomputed query.

This is `rules.postpone` for SQL instead of plans:

    Q(π_f(x)→y (S))  =  Q[y := f(x)] (π_x (S))                         where f may raise

A subquery in FROM is an input, so DuckDB would evaluate f for all of its rows, including those
without a partner in a join. In the text of the query f is evaluated for the rows that the
conditions before it keep. Where an outer join may pad the input, y is NULL for a padded row, which
a column shows that is true in every row of the input.

It runs after `ties`, which read all columns of an input, and before `guarded`, which orders
conditions by whether they may raise. Where USING names y, the join is written with ON. An input
stays unchanged if the text does not show which of its columns are read: in NATURAL joins and
pivots, under `*` beside a USING that names other columns, and for ambiguous names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.bodies.guarded import column_types, is_inner
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.named_columns import write_in_place, write_using_as_on
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.plan import Column, Plan, Project, Recompute, place_in
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.rules.postpone import is_small, meant_by, written
from cqlduck.rewrite.text.parsed import aliases_of, unwrapped, words_of

_MANY = (exp.Query, exp.Window, exp.Unnest, exp.Explode, exp.Columns, exp.Parameter)
"""What an expression must not have: it reads more than one row, or makes more than one."""


def postpone_shown(body: exp.Query, known: Inputs, kept: Collection[int]) -> None:
    """Work out in a query what its inputs show and may raise; change both in place.

    Args:
        body: The query.
        known: Its inputs.
        kept: The places of inputs that something else reads too.
    """
    for place in range(len(known.plans)):
        found = _shown(known.plans[place], known.catalog)
        if found is None or place in kept:
            continue
        base, meant = found
        types = {c.name: c.type for c in base.columns}
        names = dict(
            zip((c.name for c in known.plans[place].columns), known.names[place], strict=True)
        )
        late = {name for name, value in meant.items() if can_raise(value, types)}
        reader = _Reader.of(body, known, place) if late else None
        if reader is None or not reader.sees([names[name] for name in late]):
            continue
        read = dict.fromkeys(
            c.name for name in sorted(late) for c in meant[name].find_all(exp.Column)
        )
        below = {name: f"{name} of input {place}" for name in read}
        is_there = f"_cql_there{place}" if reader.may_be_padded else None
        columns = [c for c in known.plans[place].columns if c.name not in late]
        listed = [meant[c.name] for c in columns]
        new = [Column(below[name], types[name]) for name in read]
        listed += [column(name) for name in read]
        if is_there is not None or not [*columns, *new]:
            is_there = is_there or f"_cql_there{place}"
            new.append(Column(is_there, "BOOLEAN"))
            listed.append(exp.true())
        reader.put(
            {names[name].lower(): _named(meant[name], below, reader.alias) for name in late},
            is_there if reader.may_be_padded else None,
        )
        known.plans[place] = Project(base, tuple(listed), (*columns, *new))
        known.names[place] = (*(names[c.name] for c in columns), *(c.name for c in new))


def _shown(plan: Plan, catalog: Catalog) -> tuple[Plan, dict[str, exp.Expr]] | None:
    """Return the input and the expressions of a projection; None if it is no projection."""
    match plan:
        case Project():
            meant = meant_by(plan)
            inner = _shown(plan.input, catalog)
            if any(value.find(*_MANY) or current_time.mentions(value) for value in meant.values()):
                return None
            if inner is None:
                return plan.input, meant
            base, below = inner
            if not is_small(meant.values(), below):
                return plan.input, meant
            return base, {name: written(value, below) for name, value in meant.items()}
        case Recompute():
            return _shown_again(plan, catalog)
        case _:
            return None


def _shown_again(plan: Recompute, catalog: Catalog) -> tuple[Plan, dict[str, exp.Expr]] | None:
    """Return the same of an input that is itself recomputed, as one SELECT of rows."""
    select = unwrapped(plan.query)
    if not isinstance(select, exp.Select):
        return None
    clauses = {key for key, value in select.args.items() if value}
    if not clauses <= {"expressions", "from_", "joins", "where"}:
        return None
    if len(select.expressions) != len(plan.columns):
        return None
    inputs = Inputs(catalog, plan)
    types = column_types(select, inputs)
    base: list[tuple[exp.Expr, Column]] = []
    meant: dict[str, exp.Expr] = {}
    below: dict[tuple[str, str], str] = {}
    is_late = False
    # DuckDB knows aliases in WHERE too
    bare = [c for c in select.find_all(exp.Column) if not c.table]
    by_alias = {c.name.lower() for c in bare if _owner(inputs, c, select) is None}
    for listed, known in zip(select.expressions, plan.columns, strict=True):
        value = listed.unalias()
        if value.is_star or any(True for _ in aggregate_calls(value, catalog.aggregates)):
            return None
        read = list(value.find_all(exp.Column))
        may_move = (
            can_raise(value, types)
            and known.name.lower() not in by_alias
            and not value.find(*_MANY)
            and not current_time.mentions(value)
            and all(_owner(inputs, c, select) is not None for c in read)
        )
        if not may_move:
            base.append((value.copy(), known))
            meant[known.name] = column(known.name)
            continue
        is_late = True
        for c in read:
            owner = _owner(inputs, c, select)
            assert owner is not None
            below[c.table.lower(), c.name.lower()] = owner.name
            if owner not in [known for _, known in base]:
                base.append((c.copy(), owner))
        copy = exp.paren(value.copy())
        for c in list(copy.find_all(exp.Column)):
            c.replace(column(below[c.table.lower(), c.name.lower()]))
        meant[known.name] = copy
    if not is_late:
        return None
    if len({c.name for _, c in base}) != len(base):
        return None
    query = select.copy()
    query.set(
        "expressions",
        [exp.alias_(value, c.name, quoted=True) for value, c in base] or [exp.true()],
    )
    columns = tuple(c for _, c in base) or (Column("there", "BOOLEAN"),)
    return replace(plan, query=query, columns=columns), meant


def _owner(inputs: Inputs, read: exp.Column, select: exp.Select) -> Column | None:
    """Return the one column that a name stands for, called after its item, or None."""
    found: list[Column] = []
    for item, join in from_items(select):
        columns = inputs.columns_of(item)
        if columns is None or (join is not None and _is_odd(join)):
            return None
        if not read.table and join is not None and _merges(join, read.name):
            return None
        if read.table.lower() in ("", item.alias.lower()):
            found += [
                Column(f"{item.alias}.{c.name}", c.type)
                for c in columns
                if c.name.lower() == read.name.lower()
            ]
    return found[0] if len(found) == 1 and len(read.parts) <= 2 else None


def _merges(join: exp.Join, name: str) -> bool:
    """Return whether USING makes one column of those of a name."""
    return any(one.name.lower() == name.lower() for one in join.args.get("using") or [])


@dataclass(frozen=True)
class _Reader:
    """The SELECT of a query that reads an input, and what is around it.

    Attributes:
        body: The query.
        select: The SELECT.
        alias: What the input is called in it.
        known: The inputs.
        place: The number of the input.
        may_be_padded: Whether an outer join may put NULLs in the place of a row.
    """

    body: exp.Query
    select: exp.Select
    alias: str
    known: Inputs
    place: int
    may_be_padded: bool

    @classmethod
    def of(cls, body: exp.Query, known: Inputs, place: int) -> _Reader | None:
        """Return what reads an input; None if there is nothing to gain, or it does not show."""
        readers = [t for t in body.find_all(exp.Table) if place_in(t) == place]
        if len(readers) != 1:
            return None
        (table,) = readers
        select = table.find_ancestor(exp.Select)
        if select is None or not table.alias or table.args.get("pivots"):
            return None
        items = from_items(select)
        if table not in [item for item, _ in items]:
            return None
        if len(items) == 1 and select.args.get("where") is None and not _is_plain(select):
            return None
        others = [
            node
            for node in body.find_all(exp.Table, exp.Subquery, exp.Lateral, exp.Unnest, exp.Values)
            if node is not table and node.alias_or_name.lower() == table.alias.lower()
        ]
        joins = [join for _, join in items if join is not None]
        if others or any(_is_odd(join) for join in joins) or body.find(exp.Pivot, exp.Columns):
            return None
        padded = not all(is_inner(join) for join in joins)
        return cls(body, select, table.alias, known, place, padded)

    def sees(self, names: Sequence[str]) -> bool:
        """Return whether the query shows each use of columns; stars become lists of names."""
        wanted = {name.lower() for name in names}
        used = {
            name.name.lower()
            for _, join in from_items(self.select)
            for name in (join.args.get("using") if join is not None else None) or ()
        }
        if used & wanted and not write_using_as_on(self.select, self.known):
            return False
        items = [
            item
            for item in self.body.find_all(exp.Table, exp.Subquery, exp.Lateral, exp.Unnest)
            if isinstance(item.parent, (exp.From, exp.Join)) and place_in(item) is None
        ]
        others = {
            name.lower()
            for place, columns in enumerate(self.known.names)
            if place != self.place
            for name in columns
        }
        hidden = [c.expression for c in self.body.find_all(exp.Comprehension)]
        for dot in self.body.find_all(exp.Dot):  # as in v.abs()
            hidden += dot.find_all(exp.Identifier)
        if any(name.name.lower() in wanted for name in hidden):
            return False
        for read in self.body.find_all(exp.Column):
            if read.table.lower() in wanted and read.table.lower() != self.alias.lower():
                return False  # a field of what a column holds
            if isinstance(read.this, exp.Star):
                continue
            if not read.table and read.name.lower() == self.alias.lower():
                return False
            if not read.table and read.name.lower() in wanted and self._may_be_alias(read):
                return False
            is_bare = not read.table and read.name.lower() in wanted
            if is_bare and (items or read.name.lower() in others):
                return False
            if len(read.parts) > 2:
                return False
        return self._opened()

    def _may_be_alias(self, read: exp.Column) -> bool:
        """Return whether a name may be that of an item of a SELECT list, and not a column.

        In WHERE, GROUP BY and the list itself a column goes before an alias. So it does inside of a
        term of ORDER BY; a term that is a name is the alias, and stays one.
        """
        around = read.find_ancestor(exp.Select)
        while around is not None:
            if read.name.lower() in aliases_of(around):
                clause: exp.Expr = read
                while clause.parent is not around and clause.parent is not None:
                    clause = clause.parent
                if around is not self.select or clause.arg_key in ("having", "qualify", "distinct"):
                    return True
            if around is self.select:
                return False
            around = around.find_ancestor(exp.Select)
        return True

    def _opened(self) -> bool:
        """Put names in the place of stars; return whether that could be done."""
        for star in list(self.body.find_all(exp.Star)):
            if isinstance(star.parent, exp.Count):
                continue
            around = star.find_ancestor(exp.Select)
            node = star.parent if isinstance(star.parent, exp.Column) else star
            if around is not self.select:
                items = [] if around is None else from_items(around)
                mine = isinstance(node, exp.Column) and node.table.lower() == self.alias.lower()
                if mine or not items:
                    return False
                continue
            if not self._open(node, star):
                return False
        return True

    def _open(self, node: exp.Expr, star: exp.Star) -> bool:
        items = from_items(self.select)
        hidden = star.args.get("except_") or []
        if node.parent is not self.select or any(star.args.get(k) for k in ("replace", "rename")):
            return False
        if not all(isinstance(h, exp.Identifier) for h in hidden):
            return False
        if any(join is not None and join.args.get("using") for _, join in items):
            return False
        without = {h.name.lower() for h in hidden}
        listed: list[exp.Expr] = []
        for item, _ in items:
            columns = self.known.columns_of(item)
            if columns is None:
                return False
            if isinstance(node, exp.Column) and node.table.lower() != item.alias.lower():
                continue
            listed += [column(c.name, item.alias) for c in columns if c.name.lower() not in without]
        whole = self.select.expressions
        at = next(n for n, e in enumerate(whole) if e is node)
        self.select.set("expressions", [*whole[:at], *listed, *whole[at + 1 :]])
        return True

    def put(self, meant: Mapping[str, exp.Expr], is_there: str | None) -> None:
        """Put what columns stand for in their place.

        Args:
            meant: What they stand for, by name in lower case.
            is_there: The column that tells a row from NULLs of an outer join.
        """
        shown = aliases_of(self.select)
        for read in list(self.body.find_all(exp.Column)):
            name = read.name.lower()
            if name not in meant or read.table.lower() not in ("", self.alias.lower()):
                continue
            term = read.parent
            is_term = isinstance(term, exp.Ordered) and term.find_ancestor(
                exp.Select, exp.Window, exp.Func
            ) is self.select  # fmt: skip
            if not read.table and is_term and name in shown:
                continue
            value: exp.Expr = exp.paren(meant[name].copy())
            if is_there is not None:
                there = column(is_there, self.alias)
                value = exp.Case(ifs=[exp.If(this=there, true=value)])
            write_in_place(read, value)


def _named(value: exp.Expr, names: Mapping[str, str], alias: str) -> exp.Expr:
    """Return an expression over the columns of an input as the query names them."""
    copy = exp.paren(value.copy())
    for read in list(copy.find_all(exp.Column)):
        read.replace(column(names[read.name], alias))
    return copy


def _is_plain(select: exp.Select) -> bool:
    """Return whether a SELECT only lists expressions over rows, for a query around it to read."""
    return {key for key, value in select.args.items() if value} <= {"expressions", "from_"}


def _is_odd(join: exp.Join) -> bool:
    return not words_of(join) <= {"INNER", "CROSS", "OUTER", "LEFT", "RIGHT", "FULL"}
