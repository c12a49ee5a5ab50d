"""The context of binding: the catalogue, the syntax, and a way to bind a nested query.

FROM, SELECT and subqueries contain queries, and a query contains them. They ask the context to bind
these, so that each module imports only those below it; the binder implements the context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.scope import Scope
from cqlduck.rewrite.bind.semijoin import Partners
from cqlduck.rewrite.plan import Plan, Source, properties
from cqlduck.rewrite.text.parsed import place_of
from cqlduck.rewrite.text.queries import QuerySyntax


@dataclass(frozen=True)
class Cte:
    """A common table expression and the ones that it sees."""

    tree: exp.Expr
    ctes: Ctes


Ctes = dict[str, Cte]


@dataclass(frozen=True)
class Scalar:
    """A subquery that yields a value: `value` over the columns of `plan`, met by `links`.

    In the tree stands `name` in its place. Without `links` the plan has one tuple, always. With a
    `mark`, a column of this name says whether there is a tuple that `links` meet; `is_correlated`
    is whether the subquery names columns around it.
    """

    name: str
    plan: Plan
    value: exp.Expr
    links: tuple[exp.Expr, ...] = ()
    mark: str = ""
    is_correlated: bool = False


@dataclass
class Context(ABC):
    """Binds one query.

    Args:
        catalog: The catalogue.
        syntax: The query.

    Attributes:
        sources: The streams, relations and queries that it reads.
        used: The windows and samples that stand on something, by their places.
        called: What columns are called that name what may be gone; see `macros.Captured`.
        partners: Builds joins that ask whether there is a partner.
    """

    catalog: Catalog
    syntax: QuerySyntax
    sources: dict[str, Source] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    called: dict[str, Sequence[str]] = field(default_factory=dict)
    partners: Partners = field(init=False)

    def __post_init__(self) -> None:
        """Make what builds joins that ask whether there is a partner."""
        self.partners = Partners(self.catalog)

    @abstractmethod
    def query(self, tree: exp.Expr, ctes: Ctes) -> Plan:
        """Return the plan of a query, under the common table expressions that it sees."""

    @abstractmethod
    def scalars(self, tree: exp.Select, scope: Scope, ctes: Ctes) -> list[Scalar]:
        """Put values into the places of a SELECT's scalar subqueries; return what yields them."""

    def relation(self, side: exp.Expr, ctes: Ctes, around: exp.Expr) -> Plan:
        """Return the plan of one side of a set operation."""
        plan = self.query(side.copy(), ctes)
        if properties(plan).is_stream:
            raise BindError(
                f"{around.key.upper()} combines relations, and one side yields a stream",
                hint="put the relation-to-stream operator around the whole of it",
                offset=place_of(around),
            )
        return plan


def with_ctes(tree: exp.Expr, ctes: Ctes) -> Ctes:
    """Return the common table expressions that a query sees, its own included."""
    clause = tree.args.get("with_")
    if clause is None:
        return ctes
    inner = dict(ctes)
    for cte in clause.expressions:
        body = cte.this
        columns = cte.args["alias"].columns
        if columns:
            body = exp.Subquery(
                this=body.copy(),
                alias=exp.TableAlias(this=exp.to_identifier(cte.alias), columns=columns),
            )
            body = exp.select("*").from_(body, copy=False)
        inner[cte.alias.lower()] = Cte(body, dict(inner))
    return inner
