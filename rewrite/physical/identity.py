"""The id of an operator: a digest of its kind, its parameters and its inputs' ids.

The id is the same in every query and process that computes the same. It does not depend on the
names that people gave: a column has a **meaning** instead, which is a digest of its origin (a
column of an input of the catalogue, by that input's number; an expression over meanings), and
expressions are compared by the meanings of their columns. Nor does it depend on an order without
meaning: conjuncts, the operands of =, the inputs of inner joins and unions, the aggregates of a
group, the columns of a projection. A projection that only removes or renames columns is no
operation at all: it has the id of its input.

    id(leaf)    = H(kind, number in the catalogue)
    id(node)    = H(kind, parameters over meanings, ids of the inputs)
    meaning(c)  = H(the expression of c, meanings of the columns in it)

Columns that do not affect which tuples there are, are not part of a node's id; for DISTINCT, a set
operation or Istream they are. If nothing numbers the tuples of a stream, their columns in order
decide which came first, so that the id of a row window or of a sample has them too.

Two equal inputs of a join differ only by their place. Among all ways to number them the one with
the least digest counts, so `a.k = b.v` of a relation with itself is `b.k = a.v`.

Conjuncts that may raise an error keep their places: those before them guard them
(`rewrite.plan.raising`). A recomputed query is digested as its SQL text, names included.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations, product

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Anew,
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    VaryingWindow,
    derived_once,
    properties,
)
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.raising import can_raise

LENGTH = 12
"""How many hexadecimal digits an id has: of a million operators two are alike once in 560 times."""

WAYS = 120
"""In how many ways equal inputs of a join are numbered at most; beyond, the text's order counts."""

_SYMMETRIC = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_TURNED: Mapping[type[exp.Expr], type[exp.Binary]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}


@dataclass(frozen=True)
class Identity:
    """What tells an operator from all others.

    Attributes:
        id: What it computes.
        meanings: For each of its columns, by name, what that is.
    """

    id: str
    meanings: Mapping[str, str]


@derived_once
def identity(node: Plan) -> Identity:
    """Return the identity of the operator that a node of a plan is."""
    inputs = list(map(identity, node.children))
    match node:
        case StreamScan() | RelationScan():
            return _leaf(node)
        case Join():
            return _join(node, inputs)
        case UnionAll():
            return _union(node, inputs)
        case Difference() | SetOperation():
            return _two_sides(node, inputs)
        case Recompute():
            return _recompute(node, inputs)
        case Project():
            (only,) = inputs
            return _project(node, only)
        case Aggregate():
            (only,) = inputs
            return _aggregate(node, only)
        case VaryingWindow():
            (only,) = inputs
            edge = node.limit, node.half_open
            own = digest("varying", node.widths.number, node.column, *edge, only.id)
            return Identity(own, {**only.meanings, node.name: digest("width", own)})
        case _:
            (only,) = inputs
            return Identity(digest(*_parameters(node, only), only.id), only.meanings)


def _parameters(node: Plan, only: Identity) -> Iterator[object]:
    """Yield the kind of an operator that keeps its input's columns, and its parameters."""
    match node:
        case TimeWindow():
            yield from ("time", node.width, node.slide, node.hop, node.half_open)
        case RowWindow():
            yield from ("rows", node.rows, node.width, node.half_open, node.slide, node.every)
            yield from sorted(only.meanings[name] for name in node.partition_by)
            yield from _arrival(node, only)
        case Sample():
            yield from ("sample", str(node.percent.normalize()), node.seed)
            yield from _arrival(node, only)
        case Filter():
            yield "select"
            yield from _conjuncts(conjuncts(node.predicate), only.meanings, node)
        case During():
            for kind, ends in (("begins", node.begins), ("ends", node.ends)):
                yield kind
                yield from sorted(over_meanings(end, only.meanings) for end in ends)
        case Distinct():
            yield "distinct"
            yield from sorted(only.meanings.values())
        case ToStream():
            yield node.kind
            yield from sorted(only.meanings.values())
        case Trace():
            yield "materialize"
        case Anew():
            yield "anew"
        case Net():
            yield from ("net", node.is_kept)
            yield from sorted(only.meanings.values())
        case _:
            raise AssertionError(f"{type(node).__name__} has no parameters")


def _arrival(node: RowWindow | Sample, only: Identity) -> Iterator[object]:
    """Yield what says in which order tuples of one instant arrive: all columns, unless numbered."""
    if not properties(node.input).is_numbered:
        yield "by"
        yield from (only.meanings[known.name] for known in node.columns)


def _leaf(node: StreamScan | RelationScan) -> Identity:
    own = digest(node.source.kind, node.source.is_query, node.source.number)
    meanings = {
        name: digest("of", own, known.name)
        for name, known in zip(node.names, node.source.columns, strict=True)
        if name is not None
    }
    if isinstance(node, StreamScan) and node.instant is not None:
        meanings[node.instant] = digest("instant", own)
    return Identity(own, meanings)


def _project(node: Project, only: Identity) -> Identity:
    """Return that of the input, where columns are only left out or called otherwise."""
    meanings: dict[str, str] = {}
    made: set[str] = set()
    for known, expression in zip(node.columns, node.expressions, strict=True):
        if isinstance(expression, exp.Column):
            meanings[known.name] = only.meanings[expression.name]
        else:
            meanings[known.name] = digest("column", over_meanings(expression, only.meanings))
            made.add(meanings[known.name])
    return Identity(digest("project", only.id, *sorted(made)) if made else only.id, meanings)


def _join(node: Join, inputs: Sequence[Identity]) -> Identity:
    """Return the least of the identities that the numberings of equal inputs give."""
    places = sorted(range(len(inputs)), key=lambda place: (inputs[place].id, place))
    alike = [list(group) for _, group in groupby(places, key=lambda place: inputs[place].id)]
    ways: Iterable[tuple[tuple[int, ...], ...]] = product(*map(permutations, alike))
    if math.prod(math.factorial(len(group)) for group in alike) > WAYS:
        ways = [tuple(map(tuple, alike))]
    found = (_numbered(node, inputs, way) for way in ways)
    return min(found, key=lambda one: (one.id, sorted(one.meanings.values())))


def _numbered(node: Join, inputs: Sequence[Identity], way: tuple[tuple[int, ...], ...]) -> Identity:
    order = [(place, number) for group in way for number, place in enumerate(group)]
    meanings: dict[str, str] = {}
    for place, number in order:
        # two windows on a stream have its columns both, so a column is one of an input's
        known = inputs[place]
        meanings |= {n: digest("input", known.id, number, m) for n, m in known.meanings.items()}
    said = _conjuncts(node.predicates, meanings, node)
    shown = {c.name: meanings[c.name] for c in node.columns}
    ids = [inputs[place].id for place, _ in order]
    return Identity(digest("join", *ids, "on", *said), shown)


def _union(node: UnionAll, inputs: Sequence[Identity]) -> Identity:
    names = [known.name for known in node.columns]
    rows = sorted((known.id, *(known.meanings[name] for name in names)) for known in inputs)
    ids, *parts = zip(*rows, strict=True)
    meanings = {n: digest("union", *part) for n, part in zip(names, parts, strict=True)}
    return Identity(digest("union", *ids, *sorted(meanings.values())), meanings)


def _two_sides(node: Difference | SetOperation, inputs: Sequence[Identity]) -> Identity:
    left, right = inputs
    kind = "difference" if isinstance(node, Difference) else f"{node.kind} {node.all}"
    pairs = {c.name: (left.meanings[c.name], right.meanings[c.name]) for c in node.columns}
    listed = sorted(digest(*pair) for pair in pairs.values())
    meanings = {name: digest(kind, *pair) for name, pair in pairs.items()}
    if isinstance(node, Difference):
        # what is left are tuples of the left one
        meanings = dict(left.meanings)
    return Identity(digest(kind, left.id, right.id, *listed), meanings)


def _recompute(node: Recompute, inputs: Sequence[Identity]) -> Identity:
    said = node.query.sql("duckdb")
    turns = [(place, over_meanings(tree, inputs[place].meanings)) for place, tree in node.turns]
    read = [[known.meanings[c.name] for c in plan.columns]
            for known, plan in zip(inputs, node.inputs, strict=True)]  # fmt: skip
    own = digest(
        "recompute", said, node.always, repr(node.names), repr(read), repr(turns),
        *(known.id for known in inputs),
    )  # fmt: skip
    return Identity(own, {c.name: digest("result", own, n) for n, c in enumerate(node.columns)})


def _aggregate(node: Aggregate, only: Identity) -> Identity:
    keys = {key: only.meanings[key] for key in node.keys}
    calls = {call.name: _call(call, only.meanings) for call in node.calls}
    shown = keys | calls
    listed = [*sorted(keys.values()), "calls", *sorted(calls.values())]
    return Identity(digest("aggregate", only.id, node.everything, *listed), shown)


def _call(call: AggregateCall, meanings: Mapping[str, str]) -> str:
    return digest(call.function, call.distinct, call.type, over_meanings(call.call, meanings))


def _conjuncts(
    conditions: Sequence[exp.Expr], meanings: Mapping[str, str], node: Filter | Join
) -> list[str]:
    """Return conditions over meanings, sorted as far as none of them may raise."""
    types = {c.name: c.type for child in node.children for c in child.columns}
    found: list[str] = []
    ahead: list[str] = []
    for condition in conditions:
        said = over_meanings(condition, meanings)
        if can_raise(condition, types):
            found += [*sorted(ahead), said]
            ahead = []
        else:
            ahead.append(said)
    return [*found, *sorted(ahead)]


def over_meanings(tree: exp.Expr, meanings: Mapping[str, str]) -> str:
    """Return an expression as text, with meanings in the place of columns."""
    return _over(tree, lambda name: meanings.get(name, name)).sql("duckdb")


def _over(tree: exp.Expr, meaning: Callable[[str], str]) -> exp.Expr:
    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            return exp.to_identifier(meaning(node.name), quoted=True)
        return node

    copy = tree.copy().transform(replaced, copy=False)
    # the innermost first: a comparison of comparisons is put in order by what these came to
    for node in reversed(list(copy.find_all(*_SYMMETRIC, *_TURNED))):
        one, other = node.this, node.expression
        if type(node) in _TURNED:
            turned = _TURNED[type(node)](this=other, expression=one)
            if node is copy:
                copy = turned
            else:
                node.replace(turned)
        elif one.sql("duckdb") > other.sql("duckdb"):
            node.set("this", other)
            node.set("expression", one)
    return copy


def digest(*parts: object) -> str:
    """Return a digest of some parts, each as text."""
    text = "\x1f".join(map(str, parts))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
