"""The logs of queries that other queries read, up to an instant summed up.

The log of a query has each of its changes, as far back as history goes. Who reads the query as it
stands, in a join or to be answered anew, would read more of it in each tick. So it reads

    condensed_<query>  =  base_<query>  +  the elements after n

where the base has the answer at an instant n, dated there: the sums of the elements up to n. At
instants from n on both come to the same. So n is never beyond the frontier of a reader, unless that
has expired: then it reads no more, and the content of its synopses cannot be had. One that
begins further back has the log read as it is again (`admit`). The base is written anew when the
elements since outweigh it, so its upkeep costs a constant factor, and what a reader scans is in
proportion to the answer.

What changes in a tick is read from the log itself. The base has no content of its own: it may go at
any time. It is there as long as somebody reads the query, without rows until the first are summed
up; `cql.stores` lists it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cqlduck.rewrite.plan.log_names import CONDENSED
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import inspection, netting
from cqlduck.state.catalog import Catalogue
from cqlduck.state.columns import same_rows, typed, values_of_group
from cqlduck.state.connection import ALIAS, Database, quoted
from cqlduck.state.disposable import Disposable
from cqlduck.state.registered import Query

TAIL = 20_000
"""How many elements may follow a base at least: to read them takes about a millisecond."""

BASE_AT = "Summed up to the instant "
"""What the comment of a view begins with whose base has rows; the instant follows."""

_UNTIL = re.compile(rf"{BASE_AT}(-?\d+)")


class Condensed(Disposable[Instant]):
    """The condensed logs of a database, by name of the query: the instants of their bases.

    A base without rows has none, and is known all the same.

    Args:
        database: The database.
        catalogue: What is registered.

    Attributes:
        tails: How many elements follow each base, as far as they have been counted.
    """

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        """Know none before the database is `opened`."""
        super().__init__(database, catalogue)
        self.tails: dict[str, int] = {}

    def opened(self) -> None:
        """Take note of what the database has, and make what one of another version has not."""
        if self.database.is_new:
            return
        there: dict[str, str | None] = dict(
            self.database.rows(
                "SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'cql_state' "
                f"AND database_name = '{ALIAS}' AND starts_with(view_name, '{CONDENSED}')"
            )
        )
        for query in self.catalogue.queries.values():
            if query.condensed in there:
                comment = there[query.condensed]
                if comment is None:
                    # written by a version that did not say the instant
                    self._know(query.name, ())
                    self._read_log(query)
                else:
                    found = _UNTIL.fullmatch(comment)
                    self._know(query.name, (Instant(int(found[1])),) if found else ())
        for query in self._read():
            self.create(query)
        self.drop_unread()

    def _know(self, owner: str, there: tuple[Instant, ...]) -> None:
        self.kept = {**self.kept, owner: there}

    @property
    def bases(self) -> Sequence[Query]:
        """The queries that have a base."""
        known = (self.catalogue.queries.get(name.lower()) for name in self.kept)
        return sorted((one for one in known if one is not None), key=lambda one: one.position)

    def _read(self) -> Iterator[Query]:
        """Yield the queries that yield a relation which another query reads."""
        for name in self.catalogue.reading.readers:
            query = self.catalogue.queries.get(name.lower())
            if query is not None and query.kind == "relation":
                yield query

    def read_by(self, reader: Query) -> Iterator[Query]:
        """Yield the queries that yield a relation which a query reads itself."""
        for name in reader.inputs:
            query = self.catalogue.queries.get(name.lower())
            if query is not None and query.kind == "relation":
                yield query

    def create(self, query: Query) -> None:
        """Make what is read of a query, if it is not there: for now its log."""
        if query.name in self.kept:
            return
        base = f"cql_state.{quoted(query.base)}"
        self.database.execute(
            f"CREATE TABLE IF NOT EXISTS {base} ({typed(query.columns)}, _ts BIGINT, "
            "_weight BIGINT)"
        )
        self.database.execute(
            f"COMMENT ON TABLE {base} IS 'A query''s answer at an earlier instant, for others.'"
        )
        self._read_log(query)
        self._know(query.name, ())
        inspection.refresh_bases(self.database, self.bases, query)

    def drop(self, query: Query) -> None:
        """Remove what was read of a query, if it is there."""
        if query.name not in self.kept:
            return
        self.kept = {name: at for name, at in self.kept.items() if name != query.name}
        self.tails.pop(query.name, None)
        inspection.refresh_bases(self.database, self.bases, query)
        self.database.execute(f"DROP VIEW IF EXISTS cql_state.{quoted(query.condensed)}")
        self.database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(query.base)}")

    def drop_unread(self) -> None:
        """Remove what was read of queries that nobody reads any more."""
        for query in self.bases:
            if not self.catalogue.readers(query):
                self.drop(query)

    def renew(self, query: Query) -> None:
        """Have the log of a query be read as it is: its plan is another one, or its columns."""
        self.drop(query)
        if query.kind == "relation" and self.catalogue.readers(query):
            self.create(query)

    def reset(self, query: Query) -> None:
        """Have the log of a query be read as it is."""
        if self.of(query.name):
            self._know(query.name, ())
            self.tails.pop(query.name, None)
            self._read_log(query)

    def _read_log(self, query: Query) -> None:
        """Have the view be the log, and the base have no rows."""
        self._define(query, f"FROM cql_state.{quoted(query.changes)}", "The log as it is.")
        self.database.execute(f"DELETE FROM cql_state.{quoted(query.base)}")

    def _define(self, query: Query, sql: str, comment: str) -> None:
        """Write the view, with a comment that `opened` reads."""
        view = f"cql_state.{quoted(query.condensed)}"
        self.database.view(view, sql)
        self.database.execute(f"COMMENT ON VIEW {view} IS '{comment}'")

    def admit(self, reader: Query, behind: Instant | None) -> None:
        """Let a query that begins find what it reads as it was then.

        Args:
            reader: The query.
            behind: The instant behind which it begins; None is the first of all.
        """
        for query in self.read_by(reader):
            if any(behind is None or at > behind for at in self.of(query.name)):
                self.reset(query)

    def forgets(self, query: Query, until: Instant) -> None:
        """Take note that the log of a query is about to be cut, or made net, up to an instant."""
        if any(at < until for at in self.of(query.name)):
            self.reset(query)

    def ran(self, planned: Query, elements: int) -> None:
        """Take note of how many elements a query, or a family, has written."""
        for query in (planned, *self.catalogue.members_of(planned)):
            if query.name in self.tails:
                self.tails[query.name] += elements

    def recount(self) -> None:
        """Forget what was counted, because a change has been undone."""
        self.tails.clear()

    def finish(self) -> None:
        """Write the bases anew that what came since outweighs; inside a tick, at its end."""
        for query in self._read():
            tail = self.tails.get(query.name)
            if tail is None:
                tail = self.tails[query.name] = self._count(query)
            if tail > TAIL:
                self._condense(query)

    def _count(self, query: Query) -> int:
        since = "".join(f" WHERE _ts > {at}" for at in self.of(query.name))
        log = f"cql_state.{quoted(query.changes)}"
        return int(self.database.value(f"SELECT count(*) FROM {log}{since}"))

    def _condense(self, query: Query) -> None:
        until, base = self._least(query), f"cql_state.{quoted(query.base)}"
        known = self.of(query.name)
        if until is None or any(at >= until for at in known):
            return
        if known:
            rows = int(self.database.value(f"SELECT count(*) FROM {base}"))
            if self.tails[query.name] <= 2 * rows:
                return
        listed = ", ".join(quoted(c.name) for c in query.columns)
        source = query.condensed if known else query.changes
        net = (
            f"SELECT {values_of_group(query.columns)}, {until}::BIGINT AS _ts, "
            "CAST(sum(_weight) AS BIGINT) AS _weight "
            f"FROM cql_state.{quoted(source)} WHERE _ts <= {until} "
            f"GROUP BY {same_rows(query.columns)} HAVING sum(_weight) <> 0"
        )
        netting.rewrite(self.database, base, net)
        self._know(query.name, (until,))
        log = f"cql_state.{quoted(query.changes)}"
        self._define(
            query,
            f"SELECT {listed}, _ts, _weight FROM {base} UNION ALL "
            f"SELECT {listed}, _ts, _weight FROM {log} WHERE _ts > {until}",
            f"{BASE_AT}{until}",
        )
        self.tails[query.name] = self._count(query)

    def _least(self, query: Query) -> Instant | None:
        """Return up to which instant no reader needs the changes of a query; None if all are."""
        found, readers = query.frontier, self.catalogue.live_readers(query)
        for one in (query, *self.catalogue.queries_of(query), *readers):
            if self.catalogue.reading.amending[one.name]:
                return None
        for reader in readers:
            behind = reader.since if reader.begin_instant is None else reader.frontier
            if behind is None or found is None:
                return None
            found = min(found, behind)
        return found
