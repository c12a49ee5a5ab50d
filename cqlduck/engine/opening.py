"""Queries as a file has them: plans are taken or compiled, and what is stored follows them."""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.engine.catching_up import CatchingUp
from cqlduck.engine.completeness import NOT_KNOWN, complete_from
from cqlduck.errors import DatabaseError, Error, warn
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.statement import DISPOSABLE
from cqlduck.rewrite.statements.refreshing import following, is_anew, refusal
from cqlduck.rewrite.text.names import OURS, is_reserved, of_ours
from cqlduck.rewrite.text.tokens import has_same_words
from cqlduck.state import answers, catalog_rows, inspection, plans, records, synopses
from cqlduck.state.contents import Frontier
from cqlduck.state.registered import WAITS, Query


class Opening(CatchingUp):
    """An engine that compiles queries, and opens those of a database."""

    def open_queries(self) -> None:
        """Take the plans of the queries that are there, and bring to them what is stored."""
        base = self.database
        for function in self.catalogue.functions.values():
            base.functions.define(function, None)
        self.condensed.opened()
        self.housekeeping.opened()
        changed = self._compile_all()
        self._adopt(changed)
        self.caches.opened()
        self.indexes.opened()
        for key in changed:
            name = self.catalogue.planned(key).name
            plans.renew(base, name, self.compiled[key])
            self.streamon.forget(name, keeps_pins=True)
        self.streamon.shown.opened()
        self.turn_waiting()
        self._warn_of_names()
        for query in self.catalogue.queries.values():
            if query.complete_from == NOT_KNOWN:
                planned = self.compiled[query.planned_by]
                query.complete_from = complete_from(self.catalogue, query, planned)
        self._inspectable()

    def _warn_of_names(self) -> None:
        """Warn of columns that a file of another version has, and that nobody may name so now."""
        for thing in self.catalogue.inputs.values():
            names = [c.name for c in thing.columns if is_reserved(c.name)]
            if names:
                warn(
                    f"the {thing.kind} {thing.name} has the column {names[0]}, which is a reserved "
                    "name: what reads it, and changes of it, may be wrong; copy it into one with "
                    "other names"
                )

    def compile(self, name: str, body: str) -> Compiled:
        """Compile a query against what is registered now.

        Raises:
            Error: Of the family, with its place in the query.
        """
        compiled = self.compiler.compile(self.catalogue, name, body)
        for column in compiled.columns:
            # a macro may have called it so
            if column.name.lower().startswith(OURS) and not self.has_text(name, body):
                raise of_ours(column.name).at(body, 0)
        return compiled

    def has_text(self, name: str, body: str) -> bool:
        """Return whether a query has a text already, which another version may have accepted."""
        query = self.catalogue.queries.get(name.lower())
        return query is not None and has_same_words(query.body, body)

    def recompile(self, query: Query) -> Compiled:
        """Compile a query that is registered, with the macros as they were then.

        Raises:
            Error: Of the family, with its place in the query.
        """
        compiled = self._recompiled(query, query.is_anew)
        if query.is_anew and not is_anew(compiled):
            # another version of cqlduck may not have this plan for it
            query.is_anew = False
        return compiled

    def _recompiled(self, query: Query, is_anew: bool) -> Compiled:
        """Compile the one plan of a query that is registered, or the other.

        Raises:
            Error: Of the family, with its place in the query.
        """
        constants = None if query.shape is None else self.catalogue.constants_of(query)
        kept = self.compiler.compile(self.catalogue, query.name, query.body, query.taken, constants)
        if not is_anew:
            return kept
        try:
            anew = self.compiler.compile(
                self.catalogue, query.name, query.body, query.taken, is_anew=True
            )
        except Error:
            return kept
        return following(kept, anew) if refusal(kept, anew) is None else kept

    def _compile_all(self) -> list[str]:
        """Take the plans that are stored, and compile the queries that have none of this version.

        Returns:
            The queries that were compiled, by lower-case name.

        Raises:
            DatabaseError: One of these is refused now.
        """
        queries, changed = self.catalogue.running, list[str]()
        # plans are made when they are asked for, and queries may have gone to others by then
        modes = {query.name: query.is_anew for query in queries}
        stored = plans.load(
            self.database,
            self.clock,
            [query.name for query in queries],
            lambda name: self._recompiled(self.catalogue.planned(name), modes[name]),
        )
        for query in queries:
            key = query.name.lower()
            if key in stored:
                self.compiled[key] = stored[key]
            else:
                try:
                    self.compiled[key] = self.recompile(query)
                except Error as error:
                    raise DatabaseError(
                        f"the continuous query {query.name} cannot be compiled any more: "
                        f"{error.message}",
                        hint="another version of cqlduck has made it, or something that it names "
                        "is gone; make that again with duckdb, or use that version",
                    ) from error
                query.taken = self.compiled[key].taken
                changed.append(key)
        return changed

    def _adopt(self, changed: Sequence[str]) -> None:
        """Bring what another version of cqlduck has written to the plans that would run.

        Args:
            changed: The queries that were compiled anew, by lower-case name.

        Raises:
            DatabaseError: That cannot be done.
        """
        if self.database.is_new:
            return
        there: dict[str, set[str]] = {}
        for name, table in self.database.rows(
            "SELECT query, table_name FROM cql_state.synopses WHERE NOT list_contains(?, kind)",
            [DISPOSABLE],
        ):
            there.setdefault(name, set()).add(table)
        described = {
            name for (name,) in self.database.rows("SELECT DISTINCT query FROM cql_state.operators")
        }
        for query in self.catalogue.running:
            key = query.name.lower()
            compiled, is_anew = self.compiled[key], key in changed
            has_all = there.get(query.name, set()) == {s.name for s in compiled.synopses}
            if not has_all or (is_anew and not synopses.fits(self.database, query.name, compiled)):
                missing = self.missing_function(query)
                frontier = Frontier(query, self.catalogue, self.database.value, self.shown, missing)
                synopses.adopt(self.database, frontier, compiled)
                is_empty = query.begin_instant is None and query.since is not None
                held = None if is_empty else compiled.answer
                # the view that is there names synopses that may be gone
                answers.view(self.database, self.clock, query, held)
            elif is_anew or query.name not in described:
                synopses.describe(self.database, query.name, compiled)

    def turn_waiting(self) -> None:
        """Let the queries wait whose functions are not registered, and the others go on."""
        if self.catalogue.functions:
            for query in self.catalogue.running:
                if query.state == "active" or query.state.startswith(WAITS):
                    state = self.active_state(query)
                    if state != query.state:
                        self.catalogue.turn(query, state)
                        if state == "active":
                            self.backfill.begin(query)
            self.recount()

    def _inspectable(self) -> None:
        """Bring what people look at up to date with what is registered."""
        if self.database.is_new:
            return
        with self.database.transaction():
            inspection.refresh_all(self.database, self.catalogue, self.condensed.bases)
            self.database.execute("DELETE FROM cql_state.stubs")
            for query in self.catalogue.running:
                inspection.write_stubs(self.database, query, self.stubs(query))
            records.cut_all(self.database, self.kept_records)
            catalog_rows.save(self.database, self.catalogue, self.ticks, (), {})
