"""What is known of a point of choice, as rows: `cql_state.profiles` and `cql_state.accounts`.

A profile is what the policy of a point has found so far, such as its profile window, as JSON; with
it a database that is opened again goes on. An account is what adapting the point has cost, and what
it has brought. `cqlduck.streamon` says what is in them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cqlduck.state.choices import Point
from cqlduck.state.connection import Database

BLOCK_TICKS = 128
"""Over how many ticks sums are for the last ones: those of this block and of the one before."""


@dataclass(frozen=True)
class Account:
    """What adapting a point has cost, and what it has brought; seconds, all in all.

    Attributes:
        probes: How many probes ran.
        probe_seconds: What they took.
        trials: How often another option ran to be measured.
        trial_seconds: By how much longer these ticks took than with the option that stood, all
            together; below 0 if less.
        fills: How often a cache was filled.
        fill_seconds: What that took.
        switches: How often another option was chosen because of what was measured.
        returned: How many of these were taken back.
        expected: What the switches were expected to save, of the elements since.
        measured: What they saved, as measured when they were confirmed, of the elements since.
        block: Which `BLOCK_TICKS` ticks the sums `block_…` are of, counted from 0.
        block_cost, block_expected, block_measured: The same sums over the block.
        last_cost, last_expected, last_measured: The same over the block before.
        saves_expected, saves_measured: Seconds that the option saves that stands, for an element or
            a tick; None is not known.
        units: How many elements, or ticks, it has run for before it was known what it saves;
            None if it was not chosen by what was measured.
        before_expected, before_measured: What the option before saved, in case it comes back.
    """

    probes: int = 0
    probe_seconds: float = 0.0
    trials: int = 0
    trial_seconds: float = 0.0
    fills: int = 0
    fill_seconds: float = 0.0
    switches: int = 0
    returned: int = 0
    expected: float | None = None
    measured: float | None = None
    block: int = 0
    block_cost: float = 0.0
    block_expected: float | None = None
    block_measured: float | None = None
    last_cost: float = 0.0
    last_expected: float | None = None
    last_measured: float | None = None
    saves_expected: float | None = None
    saves_measured: float | None = None
    units: float | None = None
    before_expected: float | None = None
    before_measured: float | None = None


_FIELDS = [one.name for one in dataclasses.fields(Account)]
_KEY = ("point", "owner", "operator", "ticks", "input")


def load_accounts(database: Database) -> dict[Point, Account]:
    """Return the accounts that are stored."""
    if database.is_new:
        return {}
    rows = database.rows(f"SELECT {', '.join((*_KEY, *_FIELDS))} FROM cql_state.accounts")
    return {Point(*row[:5]): Account(*row[5:]) for row in rows}


def load_profiles(database: Database) -> dict[Point, str]:
    """Return the profiles that are stored, as JSON."""
    if database.is_new:
        return {}
    rows = database.rows(f"SELECT {', '.join(_KEY)}, known FROM cql_state.profiles")
    return {Point(*row[:5]): row[5] for row in rows}


def write_accounts(database: Database, accounts: Mapping[Point, Account]) -> None:
    """Write accounts in place of what is there of the same points; inside a transaction."""
    _replace(database, "accounts", {p: list(dataclasses.astuple(a)) for p, a in accounts.items()})


def write_profiles(database: Database, tick: int, profiles: Mapping[Point, str]) -> None:
    """Write profiles in place of what is there of the same points.

    Args:
        database: The database, inside a transaction.
        tick: The number of the tick.
        profiles: The profiles, as JSON.
    """
    _replace(database, "profiles", {point: [tick, known] for point, known in profiles.items()})


def _replace(database: Database, table: str, rows: Mapping[Point, list[object]]) -> None:
    if not rows:
        return
    keys = [[p.name, p.owner, p.operator, p.ticks, p.input] for p in rows]
    same = " AND ".join(f"t.{name} IS NOT DISTINCT FROM n.{name}" for name in _KEY)
    marks = ", ".join(["(?, ?, ?, ?, ?)"] * len(keys))
    database.execute(
        f"DELETE FROM cql_state.{table} AS t USING (VALUES {marks}) AS n ({', '.join(_KEY)}) "
        f"WHERE {same}",
        [value for key in keys for value in key],
    )
    values = [[*key, *row] for key, row in zip(keys, rows.values(), strict=True)]
    marks = ", ".join(["(" + ", ".join(["?"] * len(values[0])) + ")"] * len(values))
    database.execute(
        f"INSERT INTO cql_state.{table} VALUES {marks}", [one for row in values for one in row]
    )


def forget(database: Database, owners: Iterable[str]) -> None:
    """Remove the profiles and accounts of queries or streams; inside a transaction."""
    for owner in owners:
        for table in ("profiles", "accounts"):
            database.execute(f"DELETE FROM cql_state.{table} WHERE owner = ?", [owner])
