"""HAVING: what its names mean, and what it makes keys of under GROUP BY ALL.

As in DuckDB, an expression is first a key of GROUP BY, a name alone then an alias of the SELECT
list, and only then a column of FROM. GROUP BY ALL has no keys of its own to look in, and groups by
each column that HAVING names outside of aggregates too:

    SELECT k % 2 AS k, max(x) FROM s GROUP BY k % 2 HAVING k = 0      k is k % 2
    SELECT k % 2 AS k, max(x) FROM s GROUP BY k HAVING k = 0          k is s.k, which is the key
    SELECT k % 2 AS k, max(x) FROM s GROUP BY ALL HAVING k = 0        k is k % 2; by k % 2 and s.k
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.scope import Scope, resolve
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.plan.trees import nodes


def resolve_having(
    tree: exp.Expr,
    scope: Scope,
    aliases: Mapping[str, exp.Expr],
    keys: Collection[exp.Expr],
    aggregates: frozenset[str],
) -> exp.Expr:
    """Return the condition of HAVING over the columns of the combined relation.

    Args:
        tree: The condition.
        scope: The FROM clause.
        aliases: Resolved expressions of the SELECT list by lower-case alias.
        keys: Those of GROUP BY, resolved; nothing under GROUP BY ALL.
        aggregates: The names of aggregate functions.

    Raises:
        BindError: A column that is not there, or is ambiguous.
        NotIncremental: It has no law.
    """
    tree = exp.paren(tree.copy())
    values = dict(scope.values)
    inside = {id(n) for call in aggregate_calls(tree, aggregates) for n in call.walk()}
    for named in list(nodes(tree, exp.Column)):
        alias = aliases.get(named.parts[0].name.lower())
        if len(named.parts) > 1 or alias is None or id(named) in inside:
            continue
        if _is_column(named, scope) and not _is_in_key(named, scope, keys):
            meant = f"_cql_alias.{named.name.lower()}"
            values[meant] = alias
            named.replace(exp.column(exp.to_identifier(meant, quoted=True)))
    return resolve(tree.this, replace(scope, values=values), aliases)


def _is_column(named: exp.Column, scope: Scope) -> bool:
    """Return whether one item of FROM has a column of this name."""
    try:
        return scope.find(named.name) is not None
    except BindError:
        return False  # which of several is not asked of an alias: resolving it raises the error


def _is_in_key(named: exp.Expr, scope: Scope, keys: Collection[exp.Expr]) -> bool:
    """Return whether a name, or an expression around it, is a key of GROUP BY."""
    around: exp.Expr | None = named
    while around is not None and keys:
        try:
            if without_parens(resolve(around, scope)) in keys:
                return True
        except (BindError, NotIncremental):
            return False  # there is an alias in it, which no key has
        around = around.parent
    return False


def keys_of_having(having: exp.Expr, aggregates: frozenset[str]) -> list[exp.Expr]:
    """Return the columns that GROUP BY ALL groups by because HAVING names them.

    >>> from sqlglot import parse_one
    >>> keys = keys_of_having(parse_one("k + max(x) > 5 OR k % 2 = j"), frozenset(["max"]))
    >>> [key.sql() for key in keys]
    ['j', 'k']
    """
    inside = {id(n) for call in aggregate_calls(having, aggregates) for n in call.walk()}
    found = (named.copy() for named in nodes(having, exp.Column) if id(named) not in inside)
    return list(dict.fromkeys(found))
