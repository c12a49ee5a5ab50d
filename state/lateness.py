"""Lateness: which rows come too late or too far ahead, and what happens to them.

A row is **late** if its instant is at or before the heartbeat of its input. For a stream that is
the greater of the heartbeat before the arrival and the one that earlier rows of the same arrival
imply. A row of a stream `AHEAD AT MOST d` is **ahead** if its instant is more than d after the
later of the stream's heartbeat and its greatest timestamp, both before the arrival; the first rows
of a stream are exempt. A row that is ahead makes no other row late.

`judge` reads the rows of one arrival, staged in the temporary table `_cql_incoming`, and applies
the stream's policy to both kinds. REJECT refuses the arrival, DROP and KEEP leave such rows out and
record them, AMEND appends the late ones and leaves out those that are ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.errors import LateError
from cqlduck.rewrite.text.time import Clock, Instant, RawTime
from cqlduck.state import records
from cqlduck.state.connection import Database, quoted
from cqlduck.state.instants import (
    heartbeat_after,
    instant_of,
    instant_sql,
    raw_of,
    shown_instant,
    shown_raw,
)
from cqlduck.state.registered import Input

SHOWN = 5
"""How many offending rows a message names."""

WIDE = 80
"""How much of an element a message shows."""

LOWERED_HEARTBEAT = "after the heartbeat taken back"
"""The reason in `cql.late` of elements that `ALTER STREAM … HEARTBEAT` removed."""


@dataclass(frozen=True)
class Judged:
    """What became of rows that were late or ahead.

    Args:
        left_out: How many rows are not taken.
        amends: The least instant of late rows that are taken under AMEND, or None.
    """

    left_out: int = 0
    amends: Instant | None = None


def limit(clock: Clock, thing: Input) -> Instant | None:
    """Return the last instant that a row of the next arrival may have; None if there is none."""
    if thing.ahead is None or thing.last_instant is None:
        return None
    reached = thing.last_instant
    if thing.heartbeat is not None:
        reached = max(reached, thing.heartbeat)
    return Instant(reached + instant_of(clock, RawTime(thing.ahead)))


def judge(database: Database, clock: Clock, thing: Input) -> Judged:
    """Apply the policy of an input to the staged rows; those that are left out leave the stage.

    Raises:
        LateError: Rows that are late or ahead, under REJECT.
    """
    last = limit(clock, thing)
    if thing.kind == "relation" and thing.heartbeat is None:
        return Judged()
    database.execute(
        "CREATE OR REPLACE TEMP TABLE _cql_late_rows AS SELECT _cql_row AS _cql_late, "
        "fault AS _cql_fault, edge AS _cql_edge "
        f"FROM ({_faults(clock, thing, last)}) AS judged WHERE fault IS NOT NULL"
    )
    counts = dict(database.rows("SELECT _cql_fault, count(*) FROM temp._cql_late_rows GROUP BY 1"))
    if not counts:
        return Judged()
    if thing.late == "REJECT":
        raise _refusal(database, clock, thing, last)
    _record(database, clock, thing)
    left_out = "true" if thing.late != "AMEND" else "_cql_fault = 'ahead'"
    amends = None
    if thing.late == "AMEND" and "late" in counts:
        earliest = database.value(
            "SELECT min(_ts) FROM temp._cql_incoming WHERE _cql_row IN "
            "(SELECT _cql_late FROM temp._cql_late_rows WHERE _cql_fault = 'late')"
        )
        amends = instant_of(clock, RawTime(earliest))
    database.execute(
        "CREATE OR REPLACE TEMP TABLE _cql_incoming AS SELECT * FROM temp._cql_incoming WHERE "
        f"_cql_row NOT IN (SELECT _cql_late FROM temp._cql_late_rows WHERE {left_out}) "
        "ORDER BY _cql_row"
    )
    taken = counts.get("late", 0) if thing.late == "AMEND" else 0
    return Judged(sum(counts.values()) - taken, amends)


def _faults(clock: Clock, thing: Input, last: Instant | None) -> str:
    """Return the SELECT of the staged rows' faults: 'late', 'ahead' or NULL.

    `edge` is the heartbeat that a row has to be after.
    """
    instant = instant_sql(clock, "_ts")
    own = "NULL" if thing.heartbeat is None else str(thing.heartbeat)
    if thing.kind == "relation":
        return (
            f"SELECT _cql_row, CASE WHEN {instant} <= {own} THEN 'late' END AS fault, "
            f"{own} AS edge FROM temp._cql_incoming"
        )
    ahead = "false" if last is None else f"{instant} > {last}"
    granule = clock.granularity if clock.kind == "wall" else 1
    raw = f"(highest - {thing.bound})"
    implied = f"(({raw}) - ((({raw}) % {granule}) + {granule}) % {granule}) // {granule} - 1"
    return (
        "SELECT _cql_row, CASE WHEN is_ahead THEN 'ahead' WHEN instant <= edge THEN 'late' END "
        f"AS fault, edge FROM (SELECT *, greatest({own}, {implied}) AS edge FROM (SELECT _cql_row, "
        "instant, is_ahead, max(_ts) FILTER (WHERE NOT is_ahead) OVER (ORDER BY _cql_row "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest FROM (SELECT _cql_row, _ts, "
        f"{instant} AS instant, {ahead} AS is_ahead FROM temp._cql_incoming) AS rows) AS reached)"
    )


def _record(database: Database, clock: Clock, thing: Input) -> None:
    """Write the rows that are late or ahead into `cql_state.late`; under DROP only how many."""
    instant = instant_sql(clock, "_ts")
    late = {"DROP": "late, dropped", "KEEP": "late", "AMEND": "late, amends"}[thing.late]
    reason = f"CASE _cql_fault WHEN 'ahead' THEN 'ahead' ELSE '{late}' END"
    source = "temp._cql_incoming JOIN temp._cql_late_rows ON _cql_late = _cql_row"
    if thing.late == "DROP":
        shown = (
            f"max({instant}), {reason}, count(*), NULL FROM {source} "
            "GROUP BY _cql_fault ORDER BY _cql_fault"
        )
    else:
        # the rows of each table have a rowid too
        element = _element(thing, "_cql_incoming.")
        shown = f"{instant}, {reason}, 1, {element} FROM {source} ORDER BY _cql_row"
    database.execute(f"INSERT INTO cql_state.late SELECT ?, {shown}", [thing.name])
    records.note(database, records.LATE, thing.name)


def _element(thing: Input, of: str = "") -> str:
    names = [(quoted(c.name), f"{of}{quoted(c.name)}") for c in thing.columns]
    listed = ", ".join(f"{name} := {value}" for name, value in names)
    return f"CAST(struct_pack({listed}) AS VARCHAR)"


# -- the words of a refusal ------------------------------------------------------------------------


def _refusal(database: Database, clock: Clock, thing: Input, last: Instant | None) -> LateError:
    """Return the error that says of each kind which rows they are, and what they are judged by."""
    found = database.rows(
        "SELECT _cql_late, _cql_fault, _cql_edge, _ts FROM temp._cql_late_rows "
        "JOIN temp._cql_incoming ON _cql_late = _cql_row ORDER BY _cql_late"
    )
    parts, hints = [], []
    for fault in ("late", "ahead"):
        rows = [row for row in found if row[1] == fault]
        if not rows:
            continue
        listed = ", ".join(str(row[0]) for row in rows[:SHOWN]) + (", …" * (len(rows) > SHOWN))
        first, _, edge, raw = rows[0]
        if fault == "late":
            why = f"the heartbeat is at {shown_instant(clock, edge)}, "
            why += _mover(database, clock, thing, first, edge)
            declared = (
                "send rows in order, declare OUT OF ORDER WITHIN, or LATE DROP, KEEP or AMEND"
            )
            hints.append(declared if thing.kind == "stream" else "send rows in order")
        else:
            why = f"AHEAD AT MOST {thing.ahead_text} allows {shown_instant(clock, last)}"
            hints.append(f"correct them; over a true gap heartbeat('{thing.name}', …) leads")
        verb, noun = ("is", "row") if len(rows) == 1 else ("are", "rows")
        parts.append(
            f"{len(rows)} of the rows for {thing.name} {verb} {fault}: {noun} {listed} "
            f"(row {first} is at {shown_raw(clock, raw)}, {why})"
        )
    hint = "; ".join([*hints, "nothing was taken"])
    return LateError("; ".join(parts), rows=[row[0] for row in found], hint=hint)


def _mover(database: Database, clock: Clock, thing: Input, row: int, edge: int) -> str:
    """Say what moved the heartbeat to where it makes a staged row late."""
    if thing.kind == "stream" and (thing.heartbeat is None or edge > thing.heartbeat):
        place, raw = database.rows(
            "SELECT _cql_row, _ts FROM temp._cql_incoming WHERE _cql_row < ? AND _cql_row NOT IN "
            "(SELECT _cql_late FROM temp._cql_late_rows WHERE _cql_fault = 'ahead') "
            "ORDER BY _ts DESC, _cql_row LIMIT 1",
            [row],
        )[0]
        return f"moved there by row {place} at {shown_raw(clock, raw)}"
    own = thing.kind == "stream" and thing.last_raw is not None
    if not own or heartbeat_after(clock, thing.last_raw or RawTime(0), thing.bound) != edge:
        return "moved there by heartbeat(), advance(), a manifest or a query's tick"
    found = database.rows(
        f"SELECT {_element(thing)} FROM cql_state.{quoted(thing.table)} WHERE _ts = ? "
        "ORDER BY _cql_seq LIMIT 1",
        [thing.last_instant],
    )
    element = "an element that is forgotten"
    if found:
        text = str(found[0][0])
        element = text if len(text) <= WIDE else text[: WIDE - 1] + "…"
    return f"moved there by {element} at {shown_raw(clock, thing.last_raw)}"


# -- ALTER STREAM … HEARTBEAT ----------------------------------------------------------------------


def lower_heartbeat(database: Database, clock: Clock, thing: Input, until: Instant) -> int:
    """Take a stream's heartbeat back to an instant; return how many elements left for `cql.late`.

    No query may be beyond that instant. Elements after it leave the stream.

    Args:
        database: The database, inside a transaction; the stream's rows are all in its store.
        clock: The clock.
        thing: The stream.
        until: An instant at or before its heartbeat.
    """
    store = f"cql_state.{quoted(thing.table)}"
    left = database.execute(
        f"INSERT INTO cql_state.late SELECT ?, _ts, '{LOWERED_HEARTBEAT}', 1, {_element(thing)} "
        f"FROM {store} WHERE _ts > {until} ORDER BY _cql_seq",
        [thing.name],
    )[0][0]
    records.note(database, records.LATE, thing.name)
    database.execute(f"DELETE FROM {store} WHERE _ts > {until}")
    thing.heartbeat = until
    if thing.last_instant is not None and thing.last_instant > until:
        assert thing.first_instant is not None
        if thing.first_instant > until:
            thing.first_instant = thing.last_instant = thing.last_raw = None
        else:
            last = database.value(f"SELECT max(_ts) FROM {store}")
            # what is forgotten was not after it either
            thing.last_instant = until if last is None else Instant(last)
            thing.last_raw = raw_of(clock, thing.last_instant)
    return int(left)
