"""By which keys a recomputed query divides its inputs.

    Q(R₁, …, Rₙ)  =  Σ_κ Q(σ_{k₁ = κ} R₁, …, σ_{kₙ = κ} Rₙ)        NULL being a key of its own

holds for columns k₁, …, kₙ of the inputs if no clause brings tuples of different keys together, and
no row is there without a tuple. The clauses are followed from FROM on, for each class of columns
that equalities make one value:

    FROM            each item has a column of the class; an outer, semi-, anti- or ASOF join says so
                    in its own ON, as its other rows come and go by what it meets
    GROUP BY        a key is in the class; ROLLUP, CUBE and GROUPING SETS are not looked into
    OVER            each has one in PARTITION BY
    DISTINCT [ON]   one is shown, or chosen by
    LIMIT, OFFSET, aggregates of everything: of no class
    subqueries      of expressions, and LATERAL: their WHERE compares a column of the class with one
                    around them for equality, so that the rest of them sees tuples of one key alone

Rows that an outer join pads have NULL for a key that they may not be of, so such a column divides
an input but is no key of what is above. Where the text leaves anything open, there are no keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.blocks import Block, Item, Known, Unclear
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import aggregates_of, group_keys
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.text.parsed import aliases_of

_FROM = {"kind", "expressions", "from_", "joins", "where"}
_CLAUSES = _FROM | {"group", "having", "qualify", "distinct", "order", "windows"}
_JOINS = {"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "ASOF"}

Keys = dict[int, str]
"""By the number of an input, the name of a column in the query."""


def keys_of(body: exp.Query, inputs: Inputs) -> tuple[tuple[str, ...], ...]:
    """Return for each input the columns that are its key, as many in each; nothing if none are.

    Args:
        body: The query.
        inputs: Its inputs.
    """
    if not isinstance(body, exp.Select) or body.find(exp.With) is not None:
        return ()
    try:
        found = list(_Divided(Block(body, inputs, None)).divisions())
    except Unclear:
        return ()
    places = range(len(inputs.plans))
    whole = [d.keys for d in found if set(d.keys) == set(places)]
    keys = list(dict.fromkeys(tuple(key[place] for place in places) for key in whole))
    return tuple(tuple(_column(inputs, n, key[n]) for key in keys) for n in places) if keys else ()


def _column(inputs: Inputs, place: int, name: str) -> str:
    pairs = zip(inputs.names[place], inputs.plans[place].columns, strict=True)
    return next(known.name for written, known in pairs if written.lower() == name)


@dataclass(frozen=True)
class _Division:
    """A class of columns by whose value a block divides the inputs that it reads.

    Attributes:
        keys: A column of each input.
        columns: Those of the block that are in it.
        shown: Those that have the key's value in each row.
    """

    keys: Keys
    columns: frozenset[Known]
    shown: frozenset[Known]


class _Divided:
    """The divisions of one block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.of_items: dict[str, list[_Division]] = {}
        self.bound: list[Item] = []
        """Subqueries in FROM that read what is beside them."""
        for item in block.items:
            if item.words - _JOINS:
                raise Unclear
            if item.inner is not None and item.reads_inputs and not item.inner.is_correlated():
                self.of_items[item.alias] = list(_Divided(item.inner).divisions())
            elif item.place is None and item.reads_inputs:
                self.bound.append(item)
        self.keyed = [i for i in block.items if i.place is not None or i.alias in self.of_items]
        self.classes: dict[Known, Known] = {}
        """What is equal to what: from a column to the next of its class."""
        self.linked: dict[str, set[Known]] = {}
        """By item of an outer, semi-, anti- or ASOF join, the columns that its ON compares."""
        self.pins: list[tuple[Known, Known]] = []
        """Columns of the block, and columns around it that WHERE compares them with."""
        self._check_order()
        self._link()

    def _check_order(self) -> None:
        """See to it that each row has a tuple of an input in it, from the first item on."""
        items, keyed, bound = self.block.items, self.keyed, self.bound
        if any(i.words & {"RIGHT", "FULL"} for i in items) and len(items) > 2:
            raise Unclear
        has_key = False
        for item in items:
            may_pad = not item.is_inner and item.words != {"LEFT"}
            if (not has_key and not item.is_inner) or (item in bound and may_pad):
                raise Unclear
            if item not in keyed and item.words & {"RIGHT", "FULL"}:
                raise Unclear
            has_key = has_key or item in keyed

    # -- what is equal to what ---------------------------------------------------------------------

    def _link(self) -> None:
        """Find the columns that are equal in each row, item by item, then by WHERE."""
        block = self.block
        for number, item in enumerate(block.items):
            on = None if item.join is None else item.join.args.get("on")
            before = {earlier.alias for earlier in block.items[:number]}
            for name in item.equal_names:
                first = [i for i in block.items[:number] if name in i.columns]
                if first and name in item.columns:
                    sides = Known(block, first[0].alias, name), Known(block, item.alias, name)
                    self._equal(*sides, item, before)
            for condition in conjuncts(on) if on is not None else []:
                self._condition(condition, item, before)
        where = block.select.args.get("where")
        if where is None or any(item.words & {"RIGHT", "FULL"} for item in block.items):
            return
        for condition in conjuncts(where.this):
            self._condition(condition, None, set())

    def _condition(self, condition: exp.Expr, item: Item | None, before: set[str]) -> None:
        """Take a condition for what it says: of WHERE, or of the ON of an item."""
        if not isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
            return
        one, other = self.block.known(condition.this), self.block.known(condition.expression)
        if one is None or other is None or not one.type or one.type != other.type:
            return
        is_mine = one.block is self.block, other.block is self.block
        if all(is_mine):
            # where NULL counts as equal, a padded row would meet what it is not the key of
            is_padded = one.item in self._padded() or other.item in self._padded()
            if isinstance(condition, exp.EQ) or not is_padded:
                self._equal(one, other, item, before)
        elif any(is_mine) and isinstance(condition, exp.EQ) and (item is None or item.is_inner):
            self.pins.append((one, other) if is_mine[0] else (other, one))

    def _equal(self, one: Known, other: Known, item: Item | None, before: set[str]) -> None:
        """Put two columns into one class; what an outer join compares only adds its own item."""
        if not one.type or one.type != other.type:
            return
        if item is not None and not item.is_inner:
            mine, theirs = (one, other) if one.item == item.alias else (other, one)
            linked = self.linked.setdefault(item.alias, set())
            if mine.item != item.alias or theirs.item not in before or mine in linked:
                return
            linked.add(mine)
        self.classes[self._root(one)] = self._root(other)

    def _root(self, known: Known) -> Known:
        while (above := self.classes.get(known, known)) != known:
            known = above
        return known

    def _padded(self) -> set[str]:
        """Return the items whose columns may be NULL for want of a partner."""
        found: set[str] = set()
        for number, item in enumerate(self.block.items):
            if item.words & {"LEFT", "FULL"}:
                found.add(item.alias)
            if item.words & {"RIGHT", "FULL"}:
                found |= {earlier.alias for earlier in self.block.items[:number]}
        return found

    # -- divisions ---------------------------------------------------------------------------------

    def divisions(self) -> Iterator[_Division]:
        """Yield the divisions of the whole block."""
        clauses = {name for name, value in self.block.select.args.items() if value}
        if not clauses <= _CLAUSES:
            return
        hidden = {item.alias for item in self.block.items if item.words & {"SEMI", "ANTI"}}
        for keys, columns in self._of_from():
            shown = {c for c in columns if c.item not in self._padded() | hidden}
            if not self._keeps_apart(frozenset(shown)):
                continue
            inside = self._inside(columns)
            whole = None if inside is None else _together([keys, inside])
            if whole is not None:
                yield _Division(whole, frozenset(columns), frozenset(shown))

    def _of_from(self) -> Iterator[tuple[Keys, set[Known]]]:
        """Yield the classes that have a column in each item of FROM that is an input."""
        if not self.keyed:
            return
        first = self.keyed[0]
        roots = dict.fromkeys(
            self._root(Known(self.block, first.alias, name)) for name in first.columns
        )
        for root in roots:
            keys: list[Keys] = []
            columns: set[Known] = set()
            for item in self.keyed:
                mine = [
                    known
                    for known in (Known(self.block, item.alias, name) for name in item.columns)
                    if self._root(known) == root and _is_plain(known.type)
                ]
                if not item.is_inner:
                    mine = [known for known in mine if known in self.linked.get(item.alias, ())]
                found = next((key for known in mine for key in self._keys(item, known)), None)
                if found is None:
                    break
                keys.append(found)
                columns.update(mine)
            else:
                whole = _together(keys)
                if whole is not None:
                    yield whole, columns

    def _keys(self, item: Item, known: Known) -> Iterator[Keys]:
        """Yield how a column of an item divides the inputs below it."""
        if item.place is not None:
            yield {item.place: known.name}
        elif item.inner is not None:
            read = item.inner.shows(known.name)
            yield from (d.keys for d in self.of_items[item.alias] if read in d.shown)

    def _keeps_apart(self, shown: frozenset[Known]) -> bool:
        """Return whether GROUP BY, OVER and DISTINCT keep the keys apart."""
        block, select = self.block, self.block.select
        group, distinct = select.args.get("group"), select.args.get("distinct")
        if group is not None or aggregates_of(select, block.inputs):
            if group is None or group.find(exp.Rollup, exp.Cube, exp.GroupingSets) is not None:
                return False
            if {name for name, value in group.args.items() if value} - {"expressions", "all"}:
                return False
            by = group_keys(select, block.inputs)
            if not any(block.known(key) in shown for key in by):
                return False
        elif any(isinstance(n, exp.AggFunc) and not _is_windowed(n) for n in block.own()):
            return False
        for window in (node for node in block.own() if isinstance(node, exp.Window)):
            by = window.args.get("partition_by") or []
            if window.args.get("alias") or not any(block.known(key) in shown for key in by):
                return False
        if distinct is None:
            return True
        if (on := distinct.args.get("on")) is not None:
            aliases = aliases_of(select)
            return any(block.known(_meant(key, aliases)) in shown for key in _listed(on))
        names = block.shown()
        return names is not None and any(block.shows(name) in shown for name in names)

    def _inside(self, columns: Iterable[Known]) -> Keys | None:
        """Return how the subqueries divide what they read; None if one does not."""
        own = self.block.own()
        queries: list[exp.Expr] = [n for n in own if isinstance(n, (exp.Select, exp.SetOperation))]
        queries += [item.tree for item in self.bound]
        return _together([_bound(q, self.block, set(columns)) for q in queries])


def _bound(tree: exp.Expr, outer: Block, around: set[Known]) -> Keys | None:
    """Return how a query divides its inputs whose rows have to equal a column around it.

    Args:
        tree: The query.
        outer: The block that it stands in.
        around: The columns around it that have the key, or NULL.
    """
    while isinstance(tree, (exp.Subquery, exp.Lateral)) and isinstance(tree.this, exp.Query):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        sides = (tree.this, tree.expression)
        return _together([_bound(side, outer, around) for side in sides])
    if not isinstance(tree, exp.Select):
        return None
    inner = _Divided(Block(tree, outer.inputs, outer))
    if not inner.keyed:
        return inner._inside(around)
    for keys, columns in inner._of_from():
        if any(mine in columns and theirs in around for mine, theirs in inner.pins):
            inside = inner._inside(columns | around)
            whole = None if inside is None else _together([keys, inside])
            if whole is not None:
                return whole
    return None


def _together(keys: Iterable[Keys | None]) -> Keys | None:
    """Return the columns of all inputs; None if there are none, or an input has several."""
    whole: Keys = {}
    for each in keys:
        if each is None or any(whole.get(place, name) != name for place, name in each.items()):
            return None
        whole |= each
    return whole


def _is_plain(kind: str) -> bool:
    """Return whether equal values of a type are found by hashing them."""
    return bool(kind) and "VARIANT" not in kind


def _is_windowed(call: exp.Expr) -> bool:
    around = call.find_ancestor(exp.Window, exp.Select)
    return isinstance(around, exp.Window)


def _listed(on: exp.Expr) -> list[exp.Expr]:
    return on.expressions if isinstance(on, exp.Tuple) else [on]


def _meant(key: exp.Expr, aliases: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return what a key of DISTINCT ON means: of a name an alias, before a column of FROM."""
    is_name = isinstance(key, exp.Column) and not key.table
    return aliases.get(key.name.lower(), key) if is_name else key
