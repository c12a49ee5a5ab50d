"""Functional dependencies: which columns of a node follow from which others.

K → D: two tuples that stand at one instant and are equal in K are the same in D.

    a node with a key K          K → all columns (`properties`)
    σ_p(R), R ⋈_p S, …           those of the inputs; a → b and b → a where p has a = b
    γ_K(R)                       those of R among K
    π(R)                         those whose K is shown, as far as D is
    R + S, outer joins           none: a tuple of one side may equal one of the other in K

So a column that follows from the ones before it decides nothing in ORDER BY, and need not be read
for that. An equality counts between columns of one type whose equal values are identical.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    Cache,
    Column,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    SetOperation,
    Trace,
    properties,
)
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.traversal import derived_once
from cqlduck.rewrite.relalg.equalities import sides_of
from cqlduck.rewrite.relalg.values import may_vary


@dataclass(frozen=True)
class Dependency:
    """Columns that follow from others.

    Attributes:
        given: K, by name.
        columns: D.
    """

    given: frozenset[str]
    columns: frozenset[str]

    def renamed(self, names: Mapping[str, str]) -> Dependency | None:
        """Return it by other names; None if a column of K has none, or no column of D."""
        columns = frozenset(names[name] for name in self.columns if name in names)
        if not columns or not self.given <= names.keys():
            return None
        return Dependency(frozenset(names[name] for name in self.given), columns)


def undetermined(names: Iterable[str], dependencies: Sequence[Dependency]) -> list[str]:
    """Return the columns that do not follow from those before them, in order.

    >>> key = Dependency(frozenset("k"), frozenset("kab"))
    >>> undetermined("akbc", [key])
    ['a', 'k', 'c']
    """
    known: set[str] = set()
    left = []
    for name in names:
        if name not in known:
            left.append(name)
            known = _closure(known | {name}, dependencies)
    return left


def _closure(names: set[str], dependencies: Sequence[Dependency]) -> set[str]:
    """Return all columns that follow from some."""
    while True:
        more = {n for d in dependencies if d.given <= names for n in d.columns} - names
        if not more:
            return names
        names = names | more


def of_equalities(
    conditions: Iterable[exp.Expr], types: Mapping[str, str]
) -> tuple[Dependency, ...]:
    """Return what follows from conditions that are all true.

    Args:
        conditions: Each may be an AND of several.
        types: The types of their columns, by name.
    """
    pairs = (sides_of(each) for condition in conditions for each in conjuncts(condition))
    names = ([side.name for side in pair] for pair in pairs if pair)
    return tuple(
        Dependency(frozenset([one]), frozenset([other]))
        for a, b in names
        if a in types and types[a] == types.get(b) and not may_vary(types[a])
        for one, other in ((a, b), (b, a))
    )


@derived_once
def dependencies(plan: Plan) -> tuple[Dependency, ...]:
    """Return those of a node that are known; there may be others."""
    key, columns = properties(plan).key, frozenset(known.name for known in plan.columns)
    own = () if key is None or key == columns else (Dependency(key, columns),)
    return tuple(dict.fromkeys((*own, *_derived(plan))))


@singledispatch
def _derived(plan: Plan) -> tuple[Dependency, ...]:
    """Return those of the inputs that a node keeps, and its own but for its key."""
    return ()


@_derived.register
def _filter(plan: Filter) -> tuple[Dependency, ...]:
    return (*dependencies(plan.input), *of_equalities([plan.predicate], _types(plan.columns)))


@_derived.register(During)
@_derived.register(Distinct)
@_derived.register(Net)
@_derived.register(Cache)
@_derived.register(Trace)
def _of_input(plan: During | Distinct | Net | Cache | Trace) -> tuple[Dependency, ...]:
    return dependencies(plan.input)


@_derived.register
def _project(plan: Project) -> tuple[Dependency, ...]:
    pairs = zip(plan.expressions, plan.columns, strict=True)
    names = {value.name: c.name for value, c in pairs if isinstance(value, exp.Column)}
    found = (each.renamed(names) for each in dependencies(plan.input))
    return tuple(each for each in found if each is not None)


@_derived.register
def _join(plan: Join) -> tuple[Dependency, ...]:
    of_inputs = [each for inner in plan.inputs for each in dependencies(inner)]
    types = _types([c for inner in plan.inputs for c in inner.columns])
    return (*of_inputs, *of_equalities(plan.predicates, types))


@_derived.register
def _aggregate(plan: Aggregate) -> tuple[Dependency, ...]:
    keys = {name: name for name in plan.keys}
    among = (each.renamed(keys) for each in dependencies(plan.input))
    return tuple(each for each in among if each is not None)


@_derived.register
def _set_operation(plan: SetOperation) -> tuple[Dependency, ...]:
    return dependencies(plan.left)


def _types(columns: Iterable[Column]) -> dict[str, str]:
    return {known.name: known.type for known in columns}
