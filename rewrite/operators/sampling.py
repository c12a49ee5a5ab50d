"""Samples of streams.

    Δ(n% SAMPLE S) = {s ∈ ΔS : h(name, number(s)) < n/100 · 2³²}

A `Sample` is linear: whether an element is sampled depends on its number alone. That is its
position in the order of arrival, from 0; an element of a derived stream has none, there it is the
instant, and the position among the elements of that instant, from 1, by all columns. h is the same
in every process and version, so a replay samples the same elements, and 5 % are a subset of 10 %.

h mixes words of 32 bits in BIGINTs, in which nothing overflows: three times the upper bits are
folded onto the lower ones (xor, shift) and spread (times an odd number below 2³¹, modulo 2³²). With
two rounds, the decisions for elements 4,096 apart depended on each other. The stream's name enters
twice, so the samples of two streams differ in more than their order. Each step is a SELECT of its
own, because it reads the previous result more than once.

A number beyond 2³² has a second word, which shifts the place from which elements are decided.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Sample, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    SEQ,
    TS,
    WEIGHT,
    copies,
    named,
    number,
    once,
    parameter,
    references,
)
from cqlduck.rewrite.relalg.values import identity_columns
from cqlduck.rewrite.text.time import Duration

WORD = 2**32 - 1
"""The lower 32 bits, of which hashes are."""

SPREAD = (0x21F0AAAD, 0x735A2D97, 0x2C1B3C6D)
"""What each of the three steps multiplies by."""

_HASH = "_cql_hash"


def seeds(name: str) -> tuple[int, int]:
    """Return the two words of a stream's name."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


class Sampling(Operator[Sample]):
    """The elements of a stream whose hash is small enough."""

    def elements(self) -> Rows:
        """Return those that come in the tick."""
        return self.writer.rows(self.node, parameter("t0"), parameter("t1"))

    def rows(
        self, low: exp.Expr | None, high: exp.Expr, span: Duration | None, extra: tuple[str, ...]
    ) -> Rows:
        """Return the elements of the sample with `low` < `_ts` ≤ `high`, each of weight 1."""
        kept = tuple(dict.fromkeys((SEQ, *extra)))
        if properties(self.node.input).is_numbered:
            stream = self.writer.rows(self.node.input, low, high, span=span, extra=kept)
            words = [SEQ]
        else:
            stream = _in_places(self.writer.rows(self.node.input, low, high, span=span), self.node)
            words = [TS, SEQ]
        listed = [*(c.name for c in self.node.columns), TS, WEIGHT, *kept]
        stream, hashed = mixed(stream, listed, words, self.node.seed)
        chosen = exp.LT(this=exp.paren(hashed), expression=number(self.node.below))
        return stream.where(chosen, alias="stream").project(
            [*references(self.node.columns), *map(column, (TS, WEIGHT, *extra))], "stream"
        )


def mixed(
    rows: Rows, listed: Sequence[str], words: Sequence[str], name: str
) -> tuple[Rows, exp.Expr]:
    """Return rows, and their hash as an expression over them, of 32 bits.

    Args:
        rows: The rows.
        listed: Their columns.
        words: Which of these are hashed, BIGINTs.
        name: What else is: the name of a stream.
    """
    first, second = seeds(name)
    state: exp.Expr = number(first)
    for word in words:
        rows = _with(rows, listed, _xor(_folded(column(word)), state))
        rows = _with(rows, listed, _spread(_mixed(16), 0))
        rows = _with(rows, listed, _spread(_xor(_mixed(15), number(second)), 1))
        state = _spread(_mixed(15), 2)
    return rows, state


def _with(rows: Rows, listed: Sequence[str], hashed: exp.Expr) -> Rows:
    """Return rows with the next step of their hash."""
    return rows.project([*map(column, listed), named(hashed, _HASH)], "stream")


def _folded(value: exp.Expr) -> exp.Expr:
    """Return a BIGINT, which may be negative, in one word."""
    upper = _low(exp.paren(_shifted(value.copy(), 32)))
    return _xor(_low(value), _spread(exp.paren(upper), 2))


def _mixed(bits: int) -> exp.Expr:
    """Return the hash with its upper bits folded onto the lower ones."""
    return _xor(column(_HASH), _shifted(column(_HASH), bits))


def _spread(value: exp.Expr, step: int) -> exp.Expr:
    return _low(exp.paren(exp.Mul(this=value, expression=number(SPREAD[step]))))


def _xor(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="xor", expressions=[left, right])


def _shifted(value: exp.Expr, bits: int) -> exp.Expr:
    return exp.BitwiseRightShift(this=value, expression=number(bits))


def _low(value: exp.Expr) -> exp.Expr:
    return exp.BitwiseAnd(this=value, expression=number(WORD))


def _in_places(rows: Rows, node: Sample) -> Rows:
    """Number the tuples of each instant by all columns, NULLs last; a weight of k is k tuples."""
    place = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(TS)],
        order=exp.Order(
            expressions=[
                exp.Ordered(this=c, nulls_first=False) for c in identity_columns(node.columns)
            ]
        ),
    )
    listed = [*references(node.columns), column(TS), once(), named(place, SEQ)]
    return copies(rows, node.columns).project(listed, "copies")
