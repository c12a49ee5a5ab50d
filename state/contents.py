"""What the content of a synopsis (`rewrite`'s content) needs, and whether it is still stored.

The content is a SELECT over what is stored below the operator, as of the query's frontier. It can
be computed as long as the stores have not forgotten what the SELECT reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.statements.at_rest import Need
from cqlduck.rewrite.statements.content import Answer, Content
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.registered import Query


def _no_bases(name: str) -> Sequence[Instant]:
    """Return the instants of the bases of a query that has none."""
    return ()


@dataclass(frozen=True)
class Frontier:
    """Where a query that has begun is, and what is kept of its inputs.

    Args:
        query: The query.
        catalogue: What is registered.
        ask: Runs a statement that yields a value.
        shown: Gives an instant as people see it.
        missing: A function that the query calls and that is not registered, or None.
        bases: Gives the instant of the base of a query by its name (`condensed`), if it has one. It
            is after the frontier of queries alone that have expired, which `check` asks for.
    """

    query: Query
    catalogue: Catalogue
    ask: Callable[[str, Mapping[str, int]], int]
    shown: Callable[[Instant | None], str]
    missing: str | None = None
    bases: Callable[[str], Sequence[Instant]] = _no_bases

    @property
    def instants(self) -> dict[str, int]:
        """The parameters of a content's statements."""
        query = self.query
        assert query.frontier is not None
        assert query.begin_instant is not None
        since = NEVER if query.since is None else query.since
        return {"t1": query.frontier, "begin": query.begin_instant, "since": since}

    def given(self, sql: str) -> dict[str, int]:
        """Return those parameters that a statement takes."""
        return {name: value for name, value in self.instants.items() if f"${name}" in sql}

    def value(self, sql: str) -> int:
        """Return the value that a statement yields."""
        return self.ask(sql, self.given(sql))

    def lacks(self, content: Content | Answer) -> str | None:
        """Return why a content cannot be had, or None if it can."""
        if self.missing is not None:
            # under TRY it would be NULL
            return f"the function {self.missing} is not registered"
        if self.query.amend_from is not None:
            return f"late elements at {self.shown(self.query.amend_from)} enter with the next tick"
        return content.reason or self._forgotten_of(content)

    def _forgotten_of(self, content: Content | Answer) -> str | None:
        """Return what the stores have forgotten that the content needs, or None."""
        for need in content.needs:
            known = self._forgotten(need)
            if known is None:
                continue
            after: Instant = NEVER
            if need.after is not None:
                after = Instant(self.value(f"SELECT CAST({need.after.sql('duckdb')} AS BIGINT)"))
            if known > max(after, self.instants["since"]):
                needed = "all of it" if after == NEVER else f"what came after {self.shown(after)}"
                is_trace = isinstance(need.source, Synopsis)
                what = "the trace of a stream below" if is_trace else need.source.name
                return (
                    f"{what} has forgotten what came up to {self.shown(known)}; "
                    f"{needed} would have to be kept"
                )
        return None

    def _forgotten(self, need: Need) -> Instant | None:
        """Return up to which instant the store or log of a source, or a trace, may be cut."""
        if isinstance(need.source, Synopsis):
            begin, frontier = self.query.begin_instant, self.query.frontier
            assert begin is not None
            assert frontier is not None
            reach = need.source.reach
            until = None if reach is None else Instant(frontier - reach - 1)
            return until if until is not None and until >= begin else None
        name = need.source.name.lower()
        if need.source.is_query:
            source, frontier = self.catalogue.queries[name], self.query.frontier
            assert frontier is not None
            later = [at for at in self.bases(source.name) if at > frontier]
            return max(later, default=source.history_from)
        known = self.catalogue.input_of(name)
        return None if known is None else known.forgotten
