"""Relational algebra that composes: chains of linear operators over tables, as one SELECT.

    Rows  =  Σ  π_columns (σ_predicates (source))

A law applies operations to the rows of its input, and writes no SELECT. Each module is one idea,
and imports only those before it:

* `substitution`: replacing columns by expressions, and which expressions allow it;
* `chain`: the value of one term, π_columns (σ_predicates (source));
* `select`: the SELECT of a chain;
* `rows`: the sum of chains, and the operations on it;
* `product`: the join of rows, which is again a chain.
"""

from __future__ import annotations

from cqlduck.rewrite.relalg.chain import Chain, Product
from cqlduck.rewrite.relalg.product import joined
from cqlduck.rewrite.relalg.rows import Rows

__all__ = ["Chain", "Product", "Rows", "joined"]
