"""The ledger: what adapting has cost at each point, what it has brought, and what was decided.

It answers the what-if question of plan logging (thesis, section 7.1): whether adaptivity pays. A
switch is credited with what was measured when it was confirmed: the difference of what an element
took before it and after it, for all elements since, until the next switch. What was only modelled
stands beside it. Nothing is credited to what a user has chosen.

What is credited in a transaction that is undone is undone too. Each tick credits each point that
it comes to, so that is only counted, and made a part of the accounts once, for all points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cqlduck.rewrite.text.time import Instant
from cqlduck.state import accounts, observations
from cqlduck.state.accounts import BLOCK_TICKS, Account
from cqlduck.state.choices import Point
from cqlduck.state.connection import Database
from cqlduck.state.observations import CONFIRMED, RETURNED, STAYS, Noted, Observation

FIRST_WRITTEN, WRITTEN_PROBES = 2, 16
"""After how many probes of a point what was found is written with the tick, and how often then."""


@dataclass(frozen=True)
class Entries:
    """The ledger as a value.

    Attributes:
        accounts: By point what it has cost and brought.
        noted: What was decided and is not written yet.
        unwritten: The points whose account the database has otherwise.
        has_news: Whether some of that is written with its tick.
    """

    accounts: Mapping[Point, Account] = field(default_factory=dict)
    noted: tuple[Noted, ...] = ()
    unwritten: frozenset[Point] = frozenset()
    has_news: bool = False


class Ledger:
    """The accounts of all points.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with what is stored."""
        self._database = database
        self._number = 1
        self._ran: dict[Point, float] = {}
        """What is to be credited of the transaction that runs, by point."""
        self._entries = Entries(accounts.load_accounts(database))
        database.participants.append(self)

    @property
    def number(self) -> int:
        """The number of the tick that runs, or of the next one."""
        return self._number

    @number.setter
    def number(self, number: int) -> None:
        if number // BLOCK_TICKS != self._number // BLOCK_TICKS:
            self._credit_all()
        self._number = number

    # -- in transactions --------------------------------------------------------------------------

    def _read(self) -> Entries:
        self._credit_all()
        return self._entries

    def _write(self, entries: Entries) -> None:
        self._ran.clear()
        self._entries = entries

    kept = property(_read, _write, doc="All that is known, as a value.")

    def roll_back(self, kept: Entries) -> None:
        """Know what was known then."""
        self.kept = kept

    @property
    def holds_some(self) -> bool:
        """Whether something is known that is not written."""
        return bool(self._ran or self._entries.unwritten or self._entries.noted)

    def flush(self) -> None:
        """Write what has changed; inside a transaction."""
        kept = self.kept
        if kept.noted:
            observations.write(self._database, kept.noted)
        mine = {point: kept.accounts[point] for point in kept.unwritten}
        accounts.write_accounts(self._database, mine)
        self.kept = Entries(kept.accounts)

    def forget(self, owner: str) -> None:
        """Forget a query or stream; inside a change."""
        kept = self.kept
        self.kept = Entries(
            {p: account for p, account in kept.accounts.items() if p.owner != owner},
            observations.of_owner(kept.noted, owner),
            frozenset(p for p in kept.unwritten if p.owner != owner),
            kept.has_news,
        )
        accounts.forget(self._database, [owner])
        observations.forget(self._database, owner)

    # -- what it has cost -------------------------------------------------------------------------

    def probed(self, point: Point, seconds: float) -> None:
        """Charge a probe.

        To write what it has found takes longer than the probe. So that is done with the first that
        say something, with every `WRITTEN_PROBES`th, with a choice, and when somebody looks.
        """
        mine = self._account(point)
        is_news = (mine.probes + 1) % WRITTEN_PROBES == 0 or mine.probes + 1 == FIRST_WRITTEN
        self._put(
            point,
            replace(
                mine,
                probes=mine.probes + 1,
                probe_seconds=mine.probe_seconds + seconds,
                block_cost=mine.block_cost + seconds,
            ),
            is_news=is_news,
        )

    def trial(self, point: Point, seconds: float) -> None:
        """Charge a trial with the seconds by which it took longer than what stands, or less.

        Both count: of options that take as long the trials cost nothing, all in all.
        """
        mine = self._account(point)
        self._put(
            point,
            replace(
                mine,
                trials=mine.trials + 1,
                trial_seconds=mine.trial_seconds + seconds,
                block_cost=mine.block_cost + seconds,
            ),
        )

    def filled(self, point: Point, caches: int, seconds: float) -> None:
        """Charge the caches that were filled."""
        mine = self._account(point)
        self._put(
            point,
            replace(
                mine,
                fills=mine.fills + caches,
                fill_seconds=mine.fill_seconds + seconds,
                block_cost=mine.block_cost + seconds,
            ),
            is_news=True,
        )

    # -- what it has brought ----------------------------------------------------------------------

    def switched(
        self, point: Point, expected: float | None, measured: float | None, *, returns: bool
    ) -> None:
        """Note that another option was chosen because of what was measured.

        Args:
            point: The point.
            expected: What it is expected to save, seconds for an element; None is not known.
            measured: What it saves as measured, seconds for a tick, where options are tried.
            returns: Whether the option before comes back, because this one was no better.
        """
        mine = self._account(point)
        if returns:
            # what it has cost is credited when that is known, for the elements since the switch
            account = replace(
                mine,
                returned=mine.returned + 1,
                saves_expected=mine.before_expected,
                saves_measured=mine.before_measured,
                units=mine.units or 0.0,
            )
        else:
            account = replace(
                mine,
                switches=mine.switches + 1,
                saves_expected=expected,
                saves_measured=measured,
                before_expected=mine.saves_expected,
                before_measured=mine.saves_measured,
                units=0.0,
            )
        self._put(point, account, is_news=True)

    def ended(self, point: Point) -> None:
        """Credit nothing to what stands from now on: a user has chosen it, or nobody."""
        mine = self.kept.accounts.get(point)
        if mine is not None and mine.units is not None:
            account = self._account(point)
            self._put(point, replace(account, saves_expected=None, saves_measured=None, units=None))

    def ran(self, point: Point, units: float) -> None:
        """Credit a tick to the option that stands.

        Args:
            point: The point.
            units: How many elements it had, or 1 where what is measured is a tick.
        """
        mine = self._entries.accounts.get(point)
        if mine is not None and mine.units is not None:
            self._ran[point] = self._ran.get(point, 0.0) + units

    def note(self, point: Point, seen: Observation, instant: Instant | None) -> None:
        """Note what was decided; if it is about a switch, credit what was measured of it."""
        units = self._account(point).units
        is_known = seen.before is not None and seen.measured is not None
        if units is not None and is_known and seen.outcome in (CONFIRMED, RETURNED):
            saved = (seen.before or 0.0) - (seen.measured or 0.0)
            self._credit(point, None, saved * units)
            mine = self._account(point)
            goes_on = saved if seen.outcome == CONFIRMED else mine.before_measured
            self._put(point, replace(mine, saves_measured=goes_on, units=0.0))
        noted = (*self.kept.noted, Noted(self.number, instant, point, seen))
        has_news = self.kept.has_news or seen.outcome != STAYS
        self.kept = replace(self.kept, noted=noted, has_news=has_news)

    # -- as values --------------------------------------------------------------------------------

    def _credit_all(self) -> None:
        """Credit to the options that stand what ran since this was done last."""
        if not self._ran:
            return
        ran, self._ran = self._ran, {}
        found = dict(self._entries.accounts)
        for point, units in ran.items():
            mine = found[point] = self._in_block(found[point])
            if mine.units is not None and mine.saves_measured is None:
                mine = found[point] = replace(mine, units=mine.units + units)
            if (mine.saves_expected, mine.saves_measured) != (None, None):
                saves = (mine.saves_expected, mine.saves_measured)
                expected, measured = (None if one is None else one * units for one in saves)
                found[point] = _credited(mine, expected, measured)
        kept = self._entries
        self._entries = replace(kept, accounts=found, unwritten=kept.unwritten | ran.keys())

    def _account(self, point: Point) -> Account:
        """Return the account of a point, with the block of the tick that runs."""
        return self._in_block(self.kept.accounts.get(point))

    def _in_block(self, mine: Account | None) -> Account:
        """Return an account with the block of the tick that runs."""
        block = self._number // BLOCK_TICKS
        if mine is None:
            return Account(block=block)
        if mine.block == block:
            return mine
        follows = mine.block == block - 1
        return replace(
            mine,
            block=block,
            block_cost=0.0,
            block_expected=None,
            block_measured=None,
            last_cost=mine.block_cost if follows else 0.0,
            last_expected=mine.block_expected if follows else None,
            last_measured=mine.block_measured if follows else None,
        )

    def _credit(self, point: Point, expected: float | None, measured: float | None) -> None:
        self._put(point, _credited(self._account(point), expected, measured))

    def _put(self, point: Point, account: Account, *, is_news: bool = False) -> None:
        kept = self.kept
        self.kept = replace(
            kept,
            accounts={**kept.accounts, point: account},
            unwritten=kept.unwritten | {point},
            has_news=kept.has_news or is_news,
        )


def _credited(mine: Account, expected: float | None, measured: float | None) -> Account:
    """Return an account that is credited with what was saved, as far as that is known."""
    return replace(
        mine,
        expected=_sum(mine.expected, expected),
        measured=_sum(mine.measured, measured),
        block_expected=_sum(mine.block_expected, expected),
        block_measured=_sum(mine.block_measured, measured),
    )


def _sum(some: float | None, more: float | None) -> float | None:
    """Return a sum of what is known; None if nothing is.

    >>> _sum(None, None), _sum(None, 1.0), _sum(2.0, 1.0)
    (None, 1.0, 3.0)
    """
    if some is None or more is None:
        return more if some is None else some
    return some + more
