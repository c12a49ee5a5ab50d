"""The join graph of a join, and the orders in which a pipeline may meet its inputs (thesis, 5.2).

The vertices are the inputs; conditions link them. A pipeline begins with one input and meets the
others one by one. As a heuristic of the paper, no order has a Cartesian product as long as there is
an input that is linked: legal are the orders in which each next input is one of those that are
linked best, by an equality, by another condition, or not at all.

What DuckDB can join by an equality may depend on several inputs, as in `a.x + b.x = c.x`, so a link
is a pair of sets. Sets of inputs are masks, in which bit i is input i.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.plan.nodes import Join
from cqlduck.rewrite.plan.orders import Order, is_order
from cqlduck.rewrite.plan.properties import properties
from cqlduck.rewrite.plan.trees import nodes

BY_EQUALITY, BY_CONDITION, UNLINKED = range(3)
"""How an input is linked to others."""


@dataclass(frozen=True)
class JoinGraph:
    """The join graph of a join.

    Attributes:
        count: How many inputs there are.
        equalities: Of each equality between inputs, those that its sides read.
        others: Of each other condition on several inputs, those that it reads.
    """

    count: int
    equalities: tuple[tuple[int, int], ...]
    others: tuple[int, ...] = ()

    def link(self, met: int, place: int) -> int:
        """Return how an input is linked to those that were met: 0 best, 2 not at all.

        Args:
            met: The inputs that were met.
            place: The input.
        """
        if any(True for _ in self._keys(met, place)):
            return BY_EQUALITY
        mine = 1 << place
        reads = (*(one | other for one, other in self.equalities), *self.others)
        is_linked = any(read & mine and read & met and not read & ~(met | mine) for read in reads)
        return BY_CONDITION if is_linked else UNLINKED

    def _keys(self, met: int, place: int) -> Iterator[int]:
        """Yield of each equality that links an input what its other side reads."""
        mine = 1 << place
        for one, other in self.equalities:
            if one == mine and not other & ~met:
                yield other
            if other == mine and not one & ~met:
                yield one

    def following(self, met: int) -> list[int]:
        """Return the inputs that may be met next."""
        links = {
            place: self.link(met, place) for place in range(self.count) if not met >> place & 1
        }
        best = min(links.values(), default=None)
        return [place for place, link in links.items() if link == best]

    def allows(self, order: Order) -> bool:
        """Return whether a pipeline may meet the inputs in an order, of which the first is its."""
        if not is_order(order, self.count):
            return False
        return all(
            at in self.following(mask_of(order[:place])) for place, at in enumerate(order) if place
        )

    def has_choice(self, order: Order) -> bool:
        """Return whether there are legal orders besides one."""
        return any(
            len(self.following(mask_of(order[:place]))) > 1 for place in range(1, self.count)
        )

    def tree(self, root: int) -> SpanningTree | None:
        """Return a spanning tree of the shortest paths, or None if equalities do not link all."""
        paths: dict[int, tuple[int, ...]] = {root: ()}
        while len(paths) < self.count:
            met, found = mask_of(tuple(paths)), {}
            for place in range(self.count):
                before = next(self._keys(met, place), None) if place not in paths else None
                if before is not None:
                    whole = [at for end in paths if before >> end & 1 for at in paths[end]]
                    found[place] = *dict.fromkeys(whole), place
            if not found:
                return None
            paths.update(found)
        return SpanningTree(root, tuple(paths[place] for place in range(self.count)))


@dataclass(frozen=True)
class SpanningTree:
    """A spanning tree of a join graph: a cyclic join is ordered as the acyclic one (5.2.3).

    The join with Rⱼ in the pipeline of Rᵢ is a logical filter: the join along the path from Rᵢ to
    Rⱼ. It drops a tuple of Rᵢ that this path leads nowhere. The path also is the precedence: what
    is on it is joined before Rⱼ.

    Attributes:
        root: Rᵢ.
        paths: By input, the path to it: without Rᵢ, the input itself last.
    """

    root: int
    paths: tuple[tuple[int, ...], ...]

    @property
    def others(self) -> tuple[int, ...]:
        """The inputs besides the root, by number: logical filter k is the path to the k-th."""
        return tuple(place for place in range(len(self.paths)) if place != self.root)

    def before(self, place: int) -> int:
        """Return the inputs that have to be joined before one, the root among them."""
        return mask_of(self.paths[place][:-1]) | 1 << self.root

    def pipeline(self, filters: Order) -> Order:
        """Return the order of a pipeline that follows from one of its logical filters.

        The paper's map: in the order of the filters, what is missing on the path of each.
        """
        others = self.others
        whole = [place for number in filters for place in self.paths[others[number]]]
        return self.root, *dict.fromkeys(whole)

    def filters(self, order: Order) -> Order:
        """Return the logical filters in the order in which a pipeline joins where they end."""
        numbers = {place: number for number, place in enumerate(self.others)}
        return tuple(numbers[place] for place in order[1:])


def mask_of(places: Sequence[int]) -> int:
    """Return a set of inputs."""
    return sum(1 << place for place in places)


def join_graph(node: Join) -> JoinGraph:
    """Return the join graph of a join."""
    whose = owners(node)
    equalities, others = [], []
    for predicate in node.predicates:
        read = places(predicate, whose)
        if len(read) < 2:
            continue
        if isinstance(predicate, (exp.EQ, exp.NullSafeEQ)):
            sides = places(predicate.this, whose), places(predicate.expression, whose)
            if all(sides) and not sides[0] & sides[1]:
                equalities.append((mask_of(tuple(sides[0])), mask_of(tuple(sides[1]))))
                continue
        others.append(mask_of(tuple(read)))
    return JoinGraph(len(node.inputs), tuple(equalities), tuple(others))


def owners(node: Join) -> dict[str, int]:
    """Return the place of the input that has each column."""
    return {c.name: place for place, plan in enumerate(node.inputs) for c in plan.columns}


def places(tree: exp.Expr, whose: Mapping[str, int]) -> set[int]:
    """Return the places of the inputs that an expression reads."""
    return {whose[c.name] for c in nodes(tree, exp.Column) if c.name in whose}


def meets_once(node: Join, met: set[int], place: int) -> bool:
    """Return whether each combination of some inputs matches a tuple of another one at most.

    Equalities give it the values of a key then.

    Args:
        node: The join.
        met: The inputs, by place.
        place: The other one.
    """
    whose, shown = owners(node), set()
    for predicate in node.predicates:
        if isinstance(predicate, (exp.EQ, exp.NullSafeEQ)):
            for side, other in (
                (predicate.this, predicate.expression),
                (predicate.expression, predicate.this),
            ):
                if isinstance(side, exp.Column) and whose.get(side.name) == place:
                    read = places(other, whose)
                    if read and read <= met:
                        shown.add(side.name)
    key = properties(node.inputs[place]).key
    return bool(shown) and key is not None and key <= shown
