"""Closing instants of a relation: from the queue of what was sent to the store of what holds.

The store has a row for each copy of a tuple: from `_cql_enter` until before `_cql_leave`, which is
FOREVER while it is there. So a stream that is joined meets one row of each tuple and not all its
comings and goings. The copy that came first goes first.

Insertions and deletions of one tuple at one instant are judged by their sum. A deletion of what is
not there is recorded in `cql_state.late` and has no effect: with S the running sum of a tuple's
changes, starting from how often it is there, the multiplicity that holds is S − min(0, min S), and
its differences are what comes and goes.

Under a primary key an upsert replaces the tuple of its key; of several in one instant the last by
arrival counts, and insertions and deletions that come after it start from there. A second tuple
under a key is recorded and has no effect.
"""

from __future__ import annotations

from cqlduck.errors import DataError
from cqlduck.rewrite.plan import FOREVER
from cqlduck.state.catalog import Input
from cqlduck.state.connection import Database, quoted


def close(database: Database, thing: Input, until: int, *, strict: bool = False) -> int:
    """Resolve what is pending at or before an instant; return the number of elements written.

    Raises:
        DataError: With `strict`, a deletion of what is not there or a second tuple under a key.
    """
    queue = f"cql_state.{quoted(thing.pending)}"
    found = database.rows(
        "SELECT count(*), coalesce(bool_or(_op <> '+'), false), "
        f"coalesce(bool_and(_op = 'u'), false) FROM {queue} WHERE _ts <= ?",
        [until],
    )[0]
    if not found[0]:
        return 0
    if thing.primary_key and found[2]:
        _latest(database, thing, until)
    elif thing.primary_key:
        _by_key(database, thing, until, strict)
    elif found[1]:
        _deletions(database, thing, until, strict)
    else:
        listed = ", ".join(quoted(c.name) for c in thing.columns)
        database.execute(
            f"INSERT INTO cql_state.{quoted(thing.table)} "
            f"SELECT {listed}, _ts, {FOREVER}, _cql_seq FROM {queue} "
            "WHERE _ts <= ? ORDER BY _ts, _cql_seq",
            [until],
        )
        database.execute(f"DELETE FROM {queue} WHERE _ts <= ?", [until])
        return int(found[0])
    _keep(database, thing)
    database.execute(f"DELETE FROM {queue} WHERE _ts <= ?", [until])
    return int(found[0])


def _keep(database: Database, thing: Input) -> None:
    """Bring the store up to date with the changes in `resolved`: ends of rows, and new rows."""
    store = f"cql_state.{quoted(thing.table)}"
    listed = ", ".join(quoted(c.name) for c in thing.columns)

    def same(left: str, right: str) -> str:
        names = [quoted(c.name) for c in thing.columns]
        return " AND ".join(f"{left}.{n} IS NOT DISTINCT FROM {right}.{n}" for n in names)

    database.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE _cql_lives AS
        WITH come AS (
            SELECT {listed}, _cql_enter, _cql_seq FROM {store} AS s
            WHERE _cql_leave = {FOREVER} AND EXISTS (
                SELECT 1 FROM temp._cql_resolved AS r WHERE r._weight < 0 AND {same("r", "s")})
            UNION ALL
            SELECT {listed}, _ts, NULL FROM (
                SELECT *, unnest(range(_weight)) FROM temp._cql_resolved WHERE _weight > 0)
        ), gone AS (
            SELECT {listed}, _ts FROM (
                SELECT *, unnest(range(-_weight)) FROM temp._cql_resolved WHERE _weight < 0)
        ), first_to_come AS (
            SELECT *, row_number() OVER (
                PARTITION BY {listed} ORDER BY _cql_enter, _cql_seq NULLS LAST) AS _cql_place
            FROM come
        ), first_to_go AS (
            SELECT *, row_number() OVER (PARTITION BY {listed} ORDER BY _ts) AS _cql_place FROM gone
        )
        SELECT c.* EXCLUDE (_cql_place), g._ts AS _cql_end FROM first_to_come AS c
        LEFT JOIN first_to_go AS g ON c._cql_place = g._cql_place AND {same("c", "g")}
        """
    )
    database.execute(
        f"UPDATE {store} AS s SET _cql_leave = l._cql_end FROM temp._cql_lives AS l "
        "WHERE s._cql_seq = l._cql_seq AND l._cql_end IS NOT NULL"
    )
    added = database.execute(
        f"INSERT INTO {store} SELECT {listed}, _cql_enter, coalesce(_cql_end, {FOREVER}), "
        f"row_number() OVER (ORDER BY _cql_enter) - 1 + {thing.next_seq} FROM temp._cql_lives "
        "WHERE _cql_seq IS NULL ORDER BY _cql_enter"
    ).fetchall()
    thing.next_seq += int(added[0][0])


def _deletions(
    database: Database, thing: Input, until: int, strict: bool, *, records: bool = True
) -> None:
    """Resolve insertions and deletions by tuple."""
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    same = " AND ".join(f"q.{quoted(c.name)} IS NOT DISTINCT FROM s.{quoted(c.name)}"
                        for c in thing.columns)  # fmt: skip
    queue, store = (f"cql_state.{quoted(t)}" for t in (thing.pending, thing.table))
    database.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE _cql_judged AS
        WITH fresh AS (
            SELECT {listed}, _ts,
                CAST(sum(CASE WHEN _op = '-' THEN -1 ELSE 1 END) AS BIGINT) AS _cql_d
            FROM {queue} WHERE _ts <= $until GROUP BY {listed}, _ts
        ), before AS (
            SELECT {listed}, NULL::BIGINT AS _ts, count(*) AS _cql_d
            FROM {store} AS s
            WHERE _cql_leave = {FOREVER} AND EXISTS (
                SELECT 1 FROM {queue} AS q WHERE q._ts <= $until AND q._op = '-' AND {same}
            )
            GROUP BY {listed}
        ), running AS (
            SELECT *, sum(_cql_d) OVER (
                PARTITION BY {listed} ORDER BY _ts NULLS FIRST) AS _cql_total
            FROM (SELECT * FROM before UNION ALL SELECT * FROM fresh) AS history
        ), lowest AS (
            SELECT *, least(0, min(_cql_total) OVER (
                PARTITION BY {listed} ORDER BY _ts NULLS FIRST)) AS _cql_low
            FROM running
        )
        SELECT *, _cql_low - coalesce(
            lag(_cql_low) OVER (PARTITION BY {listed} ORDER BY _ts NULLS FIRST), 0) AS _cql_missing
        FROM lowest
        """,
        {"until": until},
    )
    pairs = ", ".join(f"{quoted(c.name)} := {quoted(c.name)}" for c in thing.columns)
    bad = (
        f"SELECT _ts, -_cql_missing, CAST(struct_pack({pairs}) AS VARCHAR) FROM temp._cql_judged "
        "WHERE _cql_missing < 0"
    )
    if records:
        _record(database, thing, bad, "retracts what is not there", strict)
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE _cql_resolved AS SELECT {listed}, _ts, "
        "CAST(_cql_d - _cql_missing AS BIGINT) AS _weight FROM temp._cql_judged "
        "WHERE _ts IS NOT NULL AND _cql_d - _cql_missing <> 0"
    )


def _record(database: Database, thing: Input, bad: str, reason: str, strict: bool) -> None:
    rows = database.rows(f"{bad} ORDER BY ALL LIMIT 1")
    if not rows:
        return
    if strict:
        raise DataError(
            f"{thing.name} {reason}: {rows[0][2]}",
            hint="the setting strict is on; without it this is recorded in cql.late",
        )
    database.execute(
        "INSERT INTO cql_state.late SELECT ?, instant, ?, occurrences, element "
        f"FROM ({bad}) AS bad(instant, occurrences, element)",
        [thing.name, reason],
    )


def _latest(database: Database, thing: Input, until: int) -> None:
    """Resolve upserts alone: of each key and instant the last counts, if it changes anything."""
    names = [quoted(c.name) for c in thing.columns]
    listed = ", ".join(names)
    keys = ", ".join(map(quoted, thing.primary_key))
    queue, store = (f"cql_state.{quoted(t)}" for t in (thing.pending, thing.table))
    same = " AND ".join(
        f"q.{quoted(key)} IS NOT DISTINCT FROM s.{quoted(key)}" for key in thing.primary_key
    )
    over = f"OVER (PARTITION BY {keys} ORDER BY _ts NULLS FIRST)"
    old = ", ".join(f"lag({n}) {over} AS {quoted('_cql_old_' + c.name)}"
                    for n, c in zip(names, thing.columns, strict=True))  # fmt: skip
    was = ", ".join(quoted(f"_cql_old_{c.name}") for c in thing.columns)
    differs = " OR ".join(
        f"{n} IS DISTINCT FROM {quoted('_cql_old_' + c.name)}"
        for n, c in zip(names, thing.columns, strict=True)
    )
    database.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE _cql_resolved AS
        WITH latest AS (
            SELECT {listed}, _ts FROM {queue} WHERE _ts <= $until
            QUALIFY row_number() OVER (PARTITION BY {keys}, _ts ORDER BY _cql_seq DESC) = 1
        ), held AS (
            SELECT {listed}, NULL AS _ts FROM {store} AS s
            WHERE _cql_leave = {FOREVER} AND EXISTS (SELECT 1 FROM latest AS q WHERE {same})
        ), stepped AS (
            SELECT *, {old}, row_number() {over} > 1 AS _cql_was
            FROM (SELECT * FROM held UNION ALL SELECT * FROM latest) AS history
        ), changed AS (
            SELECT * FROM stepped WHERE _ts IS NOT NULL AND (NOT _cql_was OR {differs})
        )
        SELECT {listed}, _ts, 1::BIGINT AS _weight FROM changed
        UNION ALL SELECT {was}, _ts, -1 FROM changed WHERE _cql_was
        """,
        {"until": until},
    )


def _by_key(
    database: Database, thing: Input, until: int, strict: bool, *, records: bool = True
) -> None:
    """Resolve insertions, deletions and upserts by key, one key after the other."""
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    queue, store = (f"cql_state.{quoted(t)}" for t in (thing.pending, thing.table))
    keys = [i for i, c in enumerate(thing.columns) if c.name in thing.primary_key]
    same = " AND ".join(
        f"q.{quoted(thing.columns[i].name)} IS NOT DISTINCT FROM s.{quoted(thing.columns[i].name)}"
        for i in keys
    )
    width = len(thing.columns)
    present = {
        tuple(row[i] for i in keys): row
        for row in database.rows(
            f"SELECT {listed} FROM {store} AS s WHERE _cql_leave = {FOREVER} AND EXISTS "
            f"(SELECT 1 FROM {queue} AS q WHERE q._ts <= ? AND {same})",
            [until],
        )
    }
    written: list[tuple[object, ...]] = []
    bad: list[tuple[object, ...]] = []
    events: dict[tuple[object, ...], list[tuple[object, ...]]] = {}
    for row in database.rows(
        f"SELECT {listed}, _ts, _op FROM {queue} WHERE _ts <= ? ORDER BY _ts, _cql_seq", [until]
    ):
        instant = row[width]
        key = (*(row[i] for i in keys), instant)
        events.setdefault(key, []).append(row)
    for (*parts, instant), rows in events.items():
        key = tuple(parts)
        held = present.get(key)
        wanted = _after(held, rows, width, instant, bad)
        if wanted == held:
            continue
        if held is not None:
            written.append((*held, instant, -1))
            del present[key]
        if wanted is not None:
            written.append((*wanted, instant, 1))
            present[key] = wanted
    if not records:
        bad.clear()
    if bad and strict:
        raise DataError(
            f"{thing.name} {bad[0][1]}: {bad[0][3]}",
            hint="the setting strict is on; without it this is recorded in cql.late",
        )
    for instant, reason, n, element in bad:
        database.execute(
            "INSERT INTO cql_state.late VALUES (?, ?, ?, ?, ?)",
            [thing.name, instant, reason, n, element],
        )
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE _cql_resolved AS SELECT {listed}, _cql_enter AS _ts, "
        f"_cql_enter AS _weight FROM {store} WHERE false"
    )
    marks = ", ".join("?" for _ in range(width + 2))
    for start in range(0, len(written), 500):
        part = written[start : start + 500]
        database.execute(
            f"INSERT INTO temp._cql_resolved VALUES {', '.join(f'({marks})' for _ in part)}",
            [value for row in part for value in row],
        )


def _after(
    held: tuple[object, ...] | None,
    rows: list[tuple[object, ...]],
    width: int,
    instant: object,
    bad: list[tuple[object, ...]],
) -> tuple[object, ...] | None:
    """Return the tuple that a key has after an instant, given its rows there."""
    upserts = [place for place, row in enumerate(rows) if row[width + 1] == "u"]
    if upserts:
        held, rows = rows[upserts[-1]][:width], rows[upserts[-1] + 1 :]
    net: dict[tuple[object, ...], int] = {}
    for row in rows:
        net[row[:width]] = net.get(row[:width], 0) + (1 if row[width + 1] == "+" else -1)
    gone = [t for t, n in net.items() for _ in range(-n)]
    come = [t for t, n in net.items() for _ in range(n)]
    for old in gone:
        if old == held:
            held = None
        else:
            bad.append((instant, "retracts what is not there", 1, str(old)))
    for new in come:
        if held is None:
            held = new
        else:
            bad.append((instant, "is a second row under its primary key", 1, str(new)))
    return held


def content_at(database: Database, thing: Input, until: int) -> str:
    """Return the bag of a relation at an instant, with all that is pending, as a SELECT.

    Its columns are the relation's and `_weight`; what is pending stays pending.

    Args:
        database: The database, inside a transaction.
        thing: The relation.
        until: An instant after its heartbeat.
    """
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    store, queue = (f"cql_state.{quoted(t)}" for t in (thing.table, thing.pending))
    held = f"SELECT {listed}, 1 AS _weight FROM {store} WHERE _cql_leave = {FOREVER}"
    if not database.value(f"SELECT count(*) FROM {queue} WHERE _ts <= ?", [until]):
        return held
    if thing.primary_key:
        _by_key(database, thing, until, strict=False, records=False)
    else:
        _deletions(database, thing, until, strict=False, records=False)
    return f"{held} UNION ALL SELECT {listed}, _weight FROM temp._cql_resolved"
