"""Closing instants of a relation: from the queue of what was sent to the log of what holds.

Insertions and deletions of one tuple at one instant are judged by their sum. A deletion of what is
not there is recorded in `cql_state.late` and has no effect: with S the running sum of a tuple's
changes, starting from how often it is there, the multiplicity that holds is S − min(0, min S), and
the log gets its differences.

Under a primary key an upsert replaces the tuple of its key; of several in one instant the last by
arrival counts. A second tuple under a key is recorded and has no effect.
"""

from __future__ import annotations

from cqlduck.errors import DataError
from cqlduck.state.catalog import Input
from cqlduck.state.connection import Database, quoted


def close(database: Database, thing: Input, until: int, *, strict: bool = False) -> int:
    """Resolve what is pending at or before an instant; return the number of elements written.

    Raises:
        DataError: With `strict`, a deletion of what is not there or a second tuple under a key.
    """
    queue = f"cql_state.{quoted(thing.pending)}"
    found = database.rows(
        f"SELECT count(*), coalesce(bool_or(_op <> '+'), false) FROM {queue} WHERE _ts <= ?",
        [until],
    )[0]
    if not found[0]:
        return 0
    if thing.primary_key:
        _upserts(database, thing, until, strict)
    elif found[1]:
        _deletions(database, thing, until, strict)
    else:
        listed = ", ".join(quoted(c.name) for c in thing.columns)
        database.execute(
            f"CREATE OR REPLACE TEMP TABLE _cql_resolved AS SELECT {listed}, _ts, "
            f"CAST(count(*) AS BIGINT) AS _weight FROM {queue} WHERE _ts <= $until "
            f"GROUP BY {listed}, _ts",
            {"until": until},
        )
    database.execute(
        f"INSERT INTO cql_state.{quoted(thing.table)} SELECT * FROM temp._cql_resolved ORDER BY _ts"
    )
    database.execute(f"DELETE FROM {queue} WHERE _ts <= ?", [until])
    return int(found[0])


def _deletions(database: Database, thing: Input, until: int, strict: bool) -> None:
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
            SELECT {listed}, NULL::BIGINT AS _ts, CAST(sum(_weight) AS BIGINT) AS _cql_d
            FROM {store} AS s
            WHERE EXISTS (
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


def _upserts(database: Database, thing: Input, until: int, strict: bool) -> None:
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
            f"SELECT {listed} FROM {store} AS s WHERE EXISTS "
            f"(SELECT 1 FROM {queue} AS q WHERE q._ts <= ? AND {same}) "
            f"GROUP BY {listed} HAVING sum(_weight) > 0",
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
        f"CREATE OR REPLACE TEMP TABLE _cql_resolved AS SELECT {listed}, _ts, _weight "
        f"FROM {store} WHERE false"
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
    upserts = [row[:width] for row in rows if row[width + 1] == "u"]
    if upserts:
        return upserts[-1]
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


def net_content(thing: Input) -> str:
    """Return the bag of a relation with all that is pending, as a SELECT with `_weight`."""
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    return (
        f"SELECT {listed}, _weight FROM cql_state.{quoted(thing.table)} UNION ALL "
        f"SELECT {listed}, CASE WHEN _op = '-' THEN -1 ELSE 1 END AS _weight "
        f"FROM cql_state.{quoted(thing.pending)}"
    )
