"""Relational algebra that composes: what linear operators make of tables, as one SELECT.

    Rows  =  Σ  π_columns (σ_predicates (source))

A delta rule says what its operator does to the rows of its input, and writes no SELECT. One idea a
module, each knows only those before it:

* `substitution`: columns are replaced by what they stand for, and which expressions allow it;
* `chain`: the value of one term, π_columns (σ_predicates (source));
* `text`: the SELECT that says a chain;
* `rows`: the sum of chains, and the operations on it;
* `product`: the join of rows, which is again a chain.
"""

from __future__ import annotations

from cqlduck.rewrite.relalg.chain import Chain, Product
from cqlduck.rewrite.relalg.product import joined
from cqlduck.rewrite.relalg.rows import Rows

__all__ = ["Chain", "Product", "Rows", "joined"]
