"""The one way to read: what has to be in the database before, and how an answer is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from cqlduck.engine.core import Core, log
from cqlduck.errors import DatabaseError, first_line
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import answers, machine
from cqlduck.state.buffers import Buffer
from cqlduck.state.registered import Input, Query


class Reading(Core):
    """An engine whose answers and logs are read."""

    def flush(self, *, everything: bool = False, inputs: Sequence[Input] | None = None) -> None:
        """Write what buffers hold of the logs, so that all can be read.

        Args:
            everything: Whether rows go into the stores of streams too, ticks into `cql.ticks`, and
                what is chosen into `cql.points`.
            inputs: The inputs of which rows go there then; by default all.
        """
        buffers: list[Buffer] = [self.output_buffer]
        if everything:
            buffers += [self.tick_buffer, self.streamon]
        if not everything:
            inputs = ()
        elif inputs is None:
            inputs = tuple(self.catalogue.inputs.values())
        if self.input_buffer.holds_some(inputs) or any(buffer.holds_some for buffer in buffers):
            with self.changing():
                self.input_buffer.flush(inputs)
                for buffer in buffers:
                    buffer.flush()

    def reading(
        self,
        *,
        everything: bool = False,
        inputs: Sequence[Input] | None = None,
        is_large: bool = True,
        answers: Iterable[Query] = (),
    ) -> None:
        """Have the database ready for somebody who is about to read it: the one way to do so.

        Args:
            everything: Whether that may be anything: the stores of streams, `cql.ticks`, and what
                is chosen.
            inputs: The inputs whose stores are read then; by default all.
            is_large: Whether it may be much, for which all threads are.
            answers: The queries whose answers are read: what is kept of them is written anew where
                the elements since outweigh it.
        """
        if everything and self.settings.holds_some:
            # no change of what is registered: nothing else is written with it
            with self.database.transaction():
                self.settings.flush()
        # in a file logs are written with their ticks
        if everything or self.database.in_memory:
            self.flush(everything=everything, inputs=inputs)
        asked = {one.name: one for one in map(self.planned, answers)}
        kept = [q for q in asked.values() if self.compiled[q.name.lower()].answer is None]
        if kept:
            self.keep_answers(kept)
        threads = self.database.threads
        if is_large:
            threads.small = 0
            if threads.before is not None:
                threads.all()

    def keep_answers(self, queries: Iterable[Query] | None = None) -> None:
        """Write the kept answers of queries anew where the elements since outweigh them.

        It is done apart from ticks, because after a long history it takes as long as many of them.
        Answers can be read without, so if it fails that is only logged.

        Args:
            queries: The queries; by default all.
        """
        with self.lock:
            # in a tick, where a listener may read, others still see the answers as they were
            if self.closed or self.database.depth:
                return
            self.flush()
            wanted = self.catalogue.running if queries is None else queries
            try:
                for query in self.housekeeping.outweighed(wanted):
                    self.database.threads.all()
                    with self.changing():
                        self.housekeeping.keep_answer(query)
            except (duckdb.Error, DatabaseError) as error:
                if isinstance(error, DatabaseError) and not machine.is_told(error):
                    raise  # an interruption
                log.warning("an answer is read from its log: %s", first_line(error))
                if self.database.is_invalid:
                    self._attach_again()

    def is_net(self, query: Query) -> bool:
        """Return whether no two elements in a query's log have the same tuple and instant."""
        if query.projection:
            # a tuple leaves and returns where another column of its family changes
            return False
        return self.compiled[query.planned_by].is_net and not self.catalogue.amends(query)

    def is_lasting(self, query: Query) -> bool:
        """Return whether what is in a query's log up to its frontier stays as it is, and is much.

        Nothing else than to drop the query, or to bound its history from now on, takes it away.
        """
        kept = query.keep if query.keep is not None else self.history
        stays = kept in (None, "unbounded") and not self.catalogue.amends(query)
        return stays and query.frontier is not None and answers.is_long(self.database, query)

    def synopsis_answer(self, query: Query) -> str | None:
        """Return how a query's answer is read from its synopses, or None."""
        return self.compiled[query.planned_by].answer

    def answer_sql(self, query: Query, until: Instant | None = None) -> str:
        """Return the SELECT of a query's answer at an instant, or at its frontier."""
        return answers.answer_sql(
            self.catalogue.clock, query, self.compiled[query.planned_by].answer, until
        )
