"""The form of a tick's statements.

All forms of a plan write the same elements and synopses; which one is fastest depends on the number
of elements, and on the size of the state that they meet.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from cqlduck.rewrite.plan.orders import FILTERS, Order, Site
from cqlduck.rewrite.plan.searches import Searches
from cqlduck.rewrite.plan.segments import Caches, caching_text

Orders = tuple[tuple[Site, Order], ...]
"""The orders that are chosen, by site; at others it is the default."""


@dataclass(frozen=True)
class Form:
    """For which kind of tick statements are written.

    DuckDB (release 2.0) plans a statement before it has seen a row, and of a range of a table it
    expects a fifth of all rows. So where few elements meet a large state, it may read the state
    into a hash table. What is staged it knows: how many rows there are, and their least and
    greatest values, by which it skips parts of the state. With many elements, or a small state, a
    stage is a copy for nothing.

    Args:
        single: Whether the tick has one instant.
        staged: Whether what meets a state is kept in a temporary table first.
        reduces: Whether by the keys of that a state is reduced, where it is met by several
            (`operators.reduction`).
        stepwise: Whether each input of a pipeline is met in a statement of its own, and a state
            that it meets by several keys is reduced by those of what is left (`operators.join`).
        intervals: Whether what is staged and meets bounds of a relation is summed up by interval
            (`operators.intervals`).
        orders: The orders that are chosen, of filters and of pipelines of joins.
        caches: The segments of joins that have caches.
        searches: The keys by which groups are found through an index (`operators.search`).
    """

    single: bool = False
    staged: bool = False
    reduces: bool = False
    stepwise: bool = False
    intervals: bool = False
    orders: Orders = ()
    caches: Caches = ()
    searches: Searches = ()

    def __str__(self) -> str:
        """Return it as people read it.

        >>> str(Form(single=True, staged=True))
        'a tick of one instant, in stages'
        >>> str(Form(staged=True, reduces=True))
        'a tick of instants, in stages that reduce states'
        >>> str(Form(staged=True, stepwise=True))
        'a tick of instants, in stages, input by input'
        >>> str(Form(orders=((Site(FILTERS, 2), (1, 0)),)))
        'a tick of instants, filters of operator 2 in the order 2 1'
        >>> str(Form(caches=((1, (((0, 2), None, None),)),)))
        'a tick of instants, inputs 1+3 of operator 1 in a cache'
        >>> str(Form(searches=((3, 1),)))
        'a tick of instants, groups of operator 3 by an index on key 2'
        """
        notes = [", in stages"] if self.staged else []
        notes += [" that reduce states"] if self.reduces else []
        notes += [", input by input"] if self.stepwise else []
        notes += [" by interval"] if self.intervals else []
        for site, order in self.orders:
            places = " ".join(str(place + 1) for place in order)
            what = "filters" if site.kind == FILTERS else "inputs"
            notes.append(f", {what} of operator {site.operator} in the order {places}")
        for number, caching in self.caches:
            notes.append(f", inputs {caching_text(caching)} of operator {number} in a cache")
        for number, key in self.searches:
            notes.append(f", groups of operator {number} by an index on key {key + 1}")
        return f"a tick of {'one instant' if self.single else 'instants'}{''.join(notes)}"

    def order(self, site: Site) -> Order | None:
        """Return the order that is chosen at a site, or None for the default."""
        return next((order for at, order in self.orders if at == site), None)

    def search(self, operator: int) -> int | None:
        """Return the key by which the groups of an operator are found, from 0, or None."""
        return next((key for number, key in self.searches if number == operator), None)

    def __hash__(self) -> int:
        """Return its hash, which is asked for in each tick of each query."""
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        listed = self.orders, self.caches, self.searches
        return hash(
            (self.single, self.staged, self.reduces, self.stepwise, self.intervals, *listed)
        )

    @property
    def is_chosen(self) -> bool:
        """Whether something is chosen of which there are many options."""
        return bool(self.orders or self.caches or self.searches)


UNSTAGED = Form()
"""Several instants, without stages."""

FIRST = Form(staged=True)
"""Several instants, in stages: what a query's first ticks run."""
