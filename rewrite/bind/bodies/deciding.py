"""Which columns of a FROM clause decide ties: those that do not follow from the ones before them.

    SELECT … FROM parts p, offers o WHERE p.id = o.part ORDER BY o.price LIMIT 10

    all columns in order                p.id, p.name, p.size, o.part, o.supplier, o.price
    p.id → p.*,  p.id = o.part,
    (o.part, o.supplier) → o.*          p.id, o.supplier

The order is the same, and the others need not be read for it (`relalg.dependencies`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.blocks import Block, Known, Unclear
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.relalg.dependencies import Dependency, dependencies, undetermined
from cqlduck.rewrite.relalg.values import may_vary

Place = tuple[str, str]
"""A column of FROM: the alias of its item, and its name."""


def deciding(select: exp.Select, inputs: Inputs, columns: Sequence[Place]) -> set[Place]:
    """Return which columns decide; all of them where the text leaves anything open.

    Args:
        select: The SELECT.
        inputs: The inputs of the query.
        columns: What decides its ties, in order.
    """
    if not any(map(dependencies, inputs.plans)):
        return set(columns)
    try:
        block = Block(select, inputs, None)
    except Unclear:
        return set(columns)
    # a row that an outer join pads may equal one that is there in what is no key of both
    if not all(item.words <= {"INNER", "SEMI", "ANTI"} for item in block.items):
        return set(columns)
    known = [*_of_items(block), *_of_conditions(block)]
    left = set(undetermined([_name(block, *place) for place in columns], known))
    return {place for place in columns if _name(block, *place) in left}


def _name(block: Block, alias: str, column: str) -> str:
    """Return a name for a column of FROM: an alias may have a dot, the number of an item not."""
    aliases = [item.alias for item in block.items]
    return f"{aliases.index(alias.lower())}.{column.lower()}"


def _of_items(block: Block) -> Iterator[Dependency]:
    """Yield what holds within each input."""
    for item in block.items:
        if item.place is not None:
            plan, names = block.inputs.plans[item.place], block.inputs.names[item.place]
            pairs = zip(plan.columns, names, strict=True)
            written = {known.name: _name(block, item.alias, name) for known, name in pairs}
            found = (each.renamed(written) for each in dependencies(plan))
            yield from (each for each in found if each is not None)


def _of_conditions(block: Block) -> Iterator[Dependency]:
    """Yield what follows from the equalities of WHERE and ON."""
    for condition in _conditions(block):
        if isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
            sides = block.known(condition.this), block.known(condition.expression)
            one, other = (None if side is None else _of(side, block) for side in sides)
            if one and other and one[1] == other[1]:
                yield Dependency(frozenset([one[0]]), frozenset([other[0]]))
                yield Dependency(frozenset([other[0]]), frozenset([one[0]]))


def _conditions(block: Block) -> list[exp.Expr]:
    """Return what is true of each combination of the items' rows."""
    where = block.select.args.get("where")
    whole = [] if where is None else [where.this]
    for item in block.items:
        on = item.join.args.get("on") if item.join is not None and item.is_inner else None
        whole += [] if on is None else [on]
    return [condition for each in whole for condition in conjuncts(each)]


def _of(side: Known, block: Block) -> tuple[str, str] | None:
    """Return the name and type of a column of a block whose equal values are identical."""
    if side.block is not block or not side.type or may_vary(side.type):
        return None
    return _name(block, side.item, side.name), side.type
