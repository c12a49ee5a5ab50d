"""In which forms the statements of queries run, as people see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import FIRST, Form, Orders
from cqlduck.rewrite.plan.orders import Order, Site, order_of
from cqlduck.rewrite.plan.searches import SEARCH, Searches, key_of
from cqlduck.rewrite.plan.segments import CACHES, Caches, Caching, caching_of_text
from cqlduck.rewrite.statements.steps import Steps
from cqlduck.state import choices, plans
from cqlduck.state.connection import Database
from cqlduck.streamon import points
from cqlduck.streamon.executor import Choices, Executor
from cqlduck.streamon.points import INTERVALS, REDUCED, STAGES, STEPWISE, Facts
from cqlduck.streamon.stages import form_of

SINGLE = replace(FIRST, single=True)
"""The form of one instant, in stages."""

Forms = Mapping[str, tuple[Form, ...]]
"""By lower-case name of the query the forms of which statements are shown."""


class Shown:
    """What runs, from the options that are chosen, and what `cql.operators` shows of it.

    Args:
        database: The database.
        compiled: The queries' statements, by lower-case name.
        executor: Knows the options that are in force.

    Attributes:
        kept: What is shown.
        written: How many forms each plan had when they were shown last.
    """

    def __init__(
        self, database: Database, compiled: Mapping[str, Compiled], executor: Executor
    ) -> None:
        """Begin with nothing that is shown."""
        self._database = database
        self._compiled = compiled
        self._executor = executor
        self._looked: Choices = {}
        self.kept: Forms = {}
        self.written: Mapping[str, tuple[Steps, int]] = {}
        database.participants.append(self)

    def roll_back(self, kept: Forms) -> None:
        """Show what was shown then."""
        self.kept = kept
        self._looked, self.written = {}, {}

    @property
    def is_outdated(self) -> bool:
        """Whether other statements may run than are shown."""
        return self._look() != (self._looked, self.written)

    def _look(self) -> tuple[Choices, Mapping[str, tuple[Steps, int]]]:
        """Return what says, when it is another one, that other statements may run."""
        return self._executor.kept.choices, plans.written(self._compiled)

    def flush(self) -> None:
        """Have `cql.operators` show what runs; in a transaction."""
        looked = self._look()
        if looked != (self._looked, self.written):
            runs = self._run()
            texts = {
                compiled.steps.name: compiled.steps.texts(runs[name])
                for name, compiled in self._compiled.items()
                if runs[name] != self.kept.get(name, (FIRST,))
            }
            choices.show(self._database, texts)
            self.kept, (self._looked, self.written) = runs, looked

    def opened(self) -> None:
        """Take note of what the database shows when it has been opened."""
        self.kept, (self._looked, self.written) = self._run(), self._look()

    def forget(self, name: str) -> None:
        """Show nothing of a query that is dropped, or has another plan."""
        self.kept = {key: forms for key, forms in self.kept.items() if key != name.lower()}

    def forms(self, query: str) -> tuple[Form, ...]:
        """Return the forms that ticks of several instants run, and then those of one.

        Ticks of unlike sizes may run unlike ones; what was chosen last comes first.
        """
        found = self._forms().get(query, {})
        return *found.get(False, (FIRST,)), *found.get(True, (SINGLE,))

    def _forms(self) -> dict[str, dict[bool, tuple[Form, ...]]]:
        """Return these of all queries, where something was chosen."""
        found: dict[str, dict[bool, tuple[Form, ...]]] = {}
        last: dict[tuple[str, bool], int] = {}
        for point, choice in self._executor.kept.choices.items():
            if point.name == STAGES and point.owner is not None and point.ticks is not None:
                single = points.is_single(point.ticks)
                form = self._form(point.owner, choice.option, single=single)
                mine = found.setdefault(point.owner, {})
                known = mine.get(single, ())
                if choice.since >= last.get((point.owner, single), 0):
                    last[point.owner, single] = choice.since
                    mine[single] = (form, *(one for one in known if one != form))
                elif form not in known:
                    mine[single] = (*known, form)
        for name, chosen in self._standing().items():
            mine = found.setdefault(name, {})
            for single, default in ((False, FIRST), (True, SINGLE)):
                forms = mine.get(single, (default,))
                mine[single] = tuple(chosen.of(one) for one in forms)
        return found

    def _form(self, query: str, option: str, *, single: bool) -> Form:
        compiled, asked = self._compiled.get(query.lower()), Form(single, staged=True)
        is_plain = option not in (REDUCED, STEPWISE, INTERVALS)
        # to know it takes to read the statements
        if is_plain or compiled is None or not compiled.steps.has(asked):
            return form_of(option, single, Facts())
        steps = compiled.steps
        return form_of(option, single, Facts(**steps.offers(asked)._asdict()))

    def _standing(self) -> dict[str, SiteOptions]:
        """Return what stands at sites, of queries in which some is no default."""
        found: dict[str, list[tuple[Site, str]]] = {}
        for point, choice in self._executor.kept.choices.items():
            if point.owner is not None and point.operator is not None:
                compiled = self._compiled.get(point.owner.lower())
                if compiled is not None and not compiled.ordered:
                    # chosen for the other plan of a query that is answered anew
                    continue
                site = Site(point.name, point.operator, point.input)
                found.setdefault(point.owner, []).append((site, choice.option))
        # as the points of a plan are: by operator, and by input
        chosen = {
            name: in_force(sorted(mine, key=lambda one: one[0].place))
            for name, mine in found.items()
        }
        return {name: mine for name, mine in chosen.items() if any(mine)}

    def _run(self) -> Forms:
        """Return in which forms queries run that have run, by lower-case name."""
        chosen, found = self._forms(), {}
        for name, compiled in self._compiled.items():
            mine = chosen.get(compiled.steps.name, {})
            one = (form for form in mine.get(True, (SINGLE,)) if compiled.steps.has(form))
            found[name] = *mine.get(False, (FIRST,)), *one
        return found


class SiteOptions(NamedTuple):
    """What is in force at the sites of a query; what is not listed is the default.

    Attributes:
        orders: The orders.
        caches: The caches of joins.
        searches: The keys by which groups are found through an index.
    """

    orders: Orders
    caches: Caches
    searches: Searches

    def of(self, form: Form) -> Form:
        """Return a form with it."""
        return replace(form, orders=self.orders, caches=self.caches, searches=self.searches)


def in_force(options: Iterable[tuple[Site, str]]) -> SiteOptions:
    """Return what is in force of the options of sites; the others are defaults."""
    orders: list[tuple[Site, Order]] = []
    caches: list[tuple[int, Caching]] = []
    searches: list[tuple[int, int]] = []
    for site, option in options:
        if site.kind == SEARCH:
            key = key_of(option)
            searches += [] if key is None else [(site.operator, key)]
        elif site.kind == CACHES:
            caching = caching_of_text(option)
            caches += [] if caching is None else [(site.operator, caching)]
        else:
            order = order_of(option)
            orders += [] if order is None else [(site, order)]
    return SiteOptions(tuple(orders), tuple(caches), tuple(searches))
