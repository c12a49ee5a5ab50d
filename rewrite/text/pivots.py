"""PIVOT and UNPIVOT behind a join stand on all that is joined before them, back to a comma.

    q, r JOIN s USING (k) PIVOT (…)  =  q, (SELECT * FROM r JOIN s USING (k)) PIVOT (…)

sqlglot reads them as a part of the join, or of its right item where the join has no condition.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.text.parsed import words_of


def stand_on_joins(tree: exp.Expr) -> None:
    """Put what is joined before a PIVOT or UNPIVOT into a subquery below it, in place."""
    for clause in list(tree.find_all(exp.From)):
        around = clause.parent
        joins = around.args.get("joins") if isinstance(around, exp.Select) else None
        if around is not None and joins:
            first, others = _grouped(clause.this, joins)
            clause.set("this", first)
            around.set("joins", others)
    for item in list(tree.find_all(exp.Table, exp.Subquery)):
        joins = item.args.get("joins")
        if joins and isinstance(item.parent, exp.Subquery):
            item.set("joins", None)
            parent = item.parent
            first, others = _grouped(item, joins)
            first.set("joins", others)
            parent.set("this", first)
    for item in list(tree.find_all(exp.Subquery)):
        inner = item.this
        joins = inner.args.get("joins")
        if item.args.get("pivots") and joins and isinstance(inner, (exp.Table, exp.Subquery)):
            inner.set("joins", None)
            item.set("this", _all_of(inner, joins))


def _grouped(first: exp.Expr, joins: list[exp.Expr]) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return the first item of a FROM clause and its joins, with pivots on subqueries."""
    others: list[exp.Expr] = []
    for join in joins:
        others.append(join)
        pivots = list(join.args.get("pivots") or [])
        if words_of(join) & {"NATURAL", "CROSS", "POSITIONAL"}:
            pivots = [*(join.this.args.get("pivots") or []), *pivots]
            join.this.set("pivots", None)
        if not pivots:
            continue
        join.set("pivots", None)
        commas = [place for place, other in enumerate(others) if not words_of(other)]
        head = others[commas[-1]].this if commas else first
        inner = others[commas[-1] + 1 :] if commas else others
        whole = exp.Subquery(this=_all_of(head, inner), pivots=pivots)
        if commas:
            others = [*others[: commas[-1]], exp.Join(this=whole)]
        else:
            first, others = whole, []
    return first, others


def _all_of(first: exp.Expr, joins: list[exp.Expr]) -> exp.Select:
    query = exp.select("*").from_(first, copy=False)
    query.set("joins", joins)
    return query
