"""Sliding windows: (a) to (h), each with the whole change stream of every instant.

The DuckDB statements are the floor: all data at once, window functions where a state runs along in
time, interval arithmetic where tuples have lifetimes.
"""

from __future__ import annotations

import loops
from workload import Workload

# From the state after each instant of a group to its changes: the old one goes, the new one comes.
# `stood` and `stands` say whether the group is there before and after.
_TURNED = """
    SELECT sym, {columns}, ts AS _ts, _weight FROM (
        SELECT *, unnest(CASE WHEN stood AND stands THEN [-1, 1] WHEN stands THEN [1]
                         ELSE [-1] END) AS _weight
        FROM state WHERE (stood OR stands) AND (stood <> stands OR {differ}))"""

_A = """
    WITH touched AS (
        SELECT sym, ts, sum(p)::BIGINT AS p, sum(n)::INTEGER AS n FROM (
            SELECT sym, ts, price AS p, 1 AS n FROM trades
            UNION ALL SELECT sym, ts + 60, -price, -1 FROM trades WHERE ts + 60 <= {last})
        GROUP BY sym, ts),
    running AS (
        SELECT sym, ts, p, n, sum(p) OVER w AS total, sum(n) OVER w AS rows FROM touched
        WINDOW w AS (PARTITION BY sym ORDER BY ts)),
    state AS (
        SELECT sym, ts, rows > n AS stood, rows > 0 AS stands, (total - p) / (rows - n) AS old_mean,
               rows - n AS old_rows, total / rows AS new_mean, rows AS new_rows FROM running)
""" + _TURNED.format(
    columns="if(_weight < 0, old_mean, new_mean) AS mean, "
    "CAST(if(_weight < 0, old_rows, new_rows) AS BIGINT) AS trades",
    differ="old_mean <> new_mean OR old_rows <> new_rows",
)

_B = """
    WITH x AS (SELECT id, a, ts, coalesce(lead(ts, 1000) OVER (ORDER BY ts, id), 1e9::BIGINT) AS u
               FROM s1),
    joined AS (
        SELECT x.id AS left_id, s2.id AS right_id, x.a, greatest(x.ts, s2.ts) AS enter,
               least(x.u, s2.ts + 121) AS leave
        FROM x JOIN s2 ON x.a = s2.a AND x.ts < s2.ts + 121 AND s2.ts < x.u WHERE x.a > 10)
    SELECT left_id, right_id, a, enter AS _ts, 1 AS _weight FROM joined
    UNION ALL SELECT left_id, right_id, a, leave, -1 FROM joined WHERE leave <= {last}
"""

_C = """
    WITH tops AS (
        SELECT sym, ts, id, max(price) OVER (PARTITION BY sym ORDER BY ts, id ROWS 9 PRECEDING)
               AS top FROM trades),
    ends AS (SELECT sym, ts, arg_max(top, id) AS top FROM tops GROUP BY sym, ts),
    state AS (
        SELECT sym, ts, top, lag(top) OVER (PARTITION BY sym ORDER BY ts) AS old,
               old IS NOT NULL AS stood, true AS stands FROM ends)
""" + _TURNED.format(columns="if(_weight < 0, old, top) AS top", differ="old <> top")

_D = """
    WITH touched AS (
        SELECT sym, ts, min(price) AS lo, max(price) AS hi, count(*) AS n FROM trades
        GROUP BY sym, ts
        UNION ALL BY NAME
        SELECT DISTINCT sym, ts + 60 AS ts FROM trades AS gone WHERE ts + 60 <= {last}),
    moments AS (
        SELECT sym, ts, min(lo) AS lo, max(hi) AS hi FROM touched GROUP BY sym, ts),
    framed AS (
        SELECT sym, ts, min(lo) OVER w AS low, max(hi) OVER w AS high FROM moments
        WINDOW w AS (PARTITION BY sym ORDER BY ts RANGE BETWEEN 59 PRECEDING AND CURRENT ROW)),
    state AS (
        SELECT sym, ts, low, high, lag(low) OVER w AS old_low, lag(high) OVER w AS old_high,
               old_low IS NOT NULL AS stood, low IS NOT NULL AS stands FROM framed
        WINDOW w AS (PARTITION BY sym ORDER BY ts))
""" + _TURNED.format(
    columns="if(_weight < 0, old_low, low) AS low, if(_weight < 0, old_high, high) AS high",
    differ="old_low <> low OR old_high <> high",
)

_E = """
    WITH joined AS (
        SELECT r.id AS r_id, s.id AS s_id, t.id AS t_id, greatest(r.ts, s.ts, t.ts) AS enter,
               least(r.ts, s.ts, t.ts) + 60 AS leave
        FROM r JOIN s ON r.a = s.a AND abs(r.ts - s.ts) < 60
             JOIN t ON s.b = t.b AND abs(s.ts - t.ts) < 60 AND abs(r.ts - t.ts) < 60)
    SELECT r_id, s_id, t_id, enter AS _ts, 1 AS _weight FROM joined
    UNION ALL SELECT r_id, s_id, t_id, leave, -1 FROM joined WHERE leave <= {last}
"""

_G1 = """
    WITH touched AS (
        SELECT a, ts, sum(n)::INTEGER AS n FROM (
            SELECT a, ts, 1 AS n FROM s1
            UNION ALL SELECT a, ts + 10, -1 FROM s1 WHERE ts + 10 <= {last})
        GROUP BY a, ts),
    running AS (
        SELECT a, ts, n, sum(n) OVER (PARTITION BY a ORDER BY ts) AS rows FROM touched)
    SELECT a, ts AS _ts, if(rows > 0, 1, -1) AS _weight FROM running
    WHERE (rows > 0) <> (rows > n)
"""

# Of each left tuple: the stretches of its lifetime in which no tuple on the right overlaps.
_G2 = """
    WITH touched AS (
        SELECT a, ts, sum(n)::INTEGER AS n FROM (
            SELECT a, ts, 1 AS n FROM s2 UNION ALL SELECT a, ts + 121, -1 FROM s2)
        GROUP BY a, ts),
    running AS (
        SELECT a, ts, sum(n) OVER w AS rows, lead(ts, 1, 1e9::BIGINT) OVER w AS next FROM touched
        WINDOW w AS (PARTITION BY a ORDER BY ts)),
    firsts AS (SELECT a, min(ts) AS ts FROM s2 GROUP BY a),
    holes AS (
        SELECT a, ts, next FROM running WHERE rows = 0
        UNION ALL SELECT a, -1, ts FROM firsts
        UNION ALL SELECT DISTINCT a, -1, 1e9::BIGINT FROM s1 WHERE a NOT IN (FROM firsts SELECT a)),
    lives AS (
        SELECT s1.id, s1.a, greatest(s1.ts, h.ts) AS enter, least(s1.ts + 60, h.next) AS leave
        FROM s1 JOIN holes h ON s1.a = h.a AND s1.ts < h.next AND h.ts < s1.ts + 60)
    SELECT id, a, enter AS _ts, 1 AS _weight FROM lives WHERE enter <= {last}
    UNION ALL SELECT id, a, leave, -1 FROM lives WHERE leave <= {last}
"""

_G3 = """
    WITH matched AS (
        SELECT s1.id AS left_id, s1.ts AS born, s2.id AS right_id,
               greatest(s1.ts, s2.ts) AS enter, least(s1.ts + 10, s2.ts + 60) AS leave
        FROM s1 JOIN s2 ON s1.a = s2.a AND s1.ts < s2.ts + 60 AND s2.ts < s1.ts + 10),
    covered AS (
        SELECT *, max(leave) OVER (PARTITION BY left_id ORDER BY enter, right_id
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until,
               max(leave) OVER (PARTITION BY left_id) AS ends FROM matched),
    alone AS (
        SELECT left_id, coalesce(until, born) AS enter, covered.enter AS leave FROM covered
        UNION ALL SELECT left_id, max(ends), max(born) + 10 FROM covered GROUP BY left_id
        UNION ALL SELECT id, ts, ts + 10 FROM s1 WHERE id NOT IN (SELECT left_id FROM matched)),
    lives AS (
        SELECT left_id, right_id, enter, leave FROM matched
        UNION ALL SELECT left_id, NULL, enter, leave FROM alone WHERE enter < leave)
    SELECT left_id, right_id, enter AS _ts, 1 AS _weight FROM lives WHERE enter <= {last}
    UNION ALL SELECT left_id, right_id, leave, -1 FROM lives WHERE leave <= {last}
"""

_H = """
    WITH touched AS (
        SELECT sym, ts, price FROM trades
        UNION ALL SELECT DISTINCT sym, ts + 60, NULL FROM trades WHERE ts + 60 <= {last}),
    framed AS (
        SELECT sym, ts, median(price) OVER (
            PARTITION BY sym ORDER BY ts RANGE BETWEEN 59 PRECEDING AND CURRENT ROW) AS middle
        FROM touched),
    moments AS (SELECT DISTINCT sym, ts, middle FROM framed),
    state AS (
        SELECT sym, ts, middle, lag(middle) OVER (PARTITION BY sym ORDER BY ts) AS old,
               old IS NOT NULL AS stood, middle IS NOT NULL AS stands FROM moments)
""" + _TURNED.format(columns="if(_weight < 0, old, middle) AS middle", differ="old <> middle")

_NOW_60 = "ts BETWEEN {now} - 59 AND {now}"


def _windows(name: str, title: str, streams: str, cql: str, once: str, recompute: str,
             python: loops.Loop | None = None) -> Workload:  # fmt: skip
    relations = ("rates",) if "rates" in streams else ()
    return Workload(
        name, title, "windows", tuple(streams.split()), cql, once, recompute, True, python,
        relations,
    )  # fmt: skip


WORKLOADS = (
    _windows(
        "a", "mean and count by symbol, RANGE 59", "trades",
        "SELECT sym, avg(price) AS mean, count(*) AS trades FROM trades [RANGE 59] GROUP BY sym",
        _A,
        f"SELECT sym, avg(price) AS mean, count(*) AS trades FROM trades WHERE {_NOW_60} "
        "GROUP BY sym",
        loops.mean_and_count,
    ),
    _windows(
        "b", "join of ROWS 1000 with RANGE 2 MINUTES", "s1 s2",
        "SELECT s1.id AS left_id, s2.id AS right_id, s1.a "
        "FROM s1 [ROWS 1000], s2 [RANGE 2 MINUTES] WHERE s1.a = s2.a AND s1.a > 10",
        _B,
        "SELECT x.id AS left_id, s2.id AS right_id, x.a FROM (FROM s1 ORDER BY id DESC LIMIT 1000) "
        "x JOIN s2 ON x.a = s2.a WHERE x.a > 10 AND s2.ts BETWEEN {now} - 120 AND {now}",
        loops.rows_with_range,
    ),
    _windows(
        "c", "max by symbol, PARTITION BY sym ROWS 10", "trades",
        "SELECT sym, max(price) AS top FROM trades [PARTITION BY sym ROWS 10] GROUP BY sym",
        _C,
        "SELECT sym, max(price) AS top FROM (FROM trades QUALIFY row_number() OVER "
        "(PARTITION BY sym ORDER BY id DESC) <= 10) GROUP BY sym",
        loops.top_of_rows,
    ),
    _windows(
        "d", "min and max by symbol, RANGE 59", "trades",
        "SELECT sym, min(price) AS low, max(price) AS high FROM trades [RANGE 59] GROUP BY sym",
        _D,
        f"SELECT sym, min(price) AS low, max(price) AS high FROM trades WHERE {_NOW_60} "
        "GROUP BY sym",
        loops.extremes,
    ),
    _windows(
        "e", "join of three RANGE 59", "r s t",
        "SELECT r.id AS r_id, s.id AS s_id, t.id AS t_id "
        "FROM r [RANGE 59], s [RANGE 59], t [RANGE 59] WHERE r.a = s.a AND s.b = t.b",
        _E,
        "SELECT r.id AS r_id, s.id AS s_id, t.id AS t_id FROM r, s, t WHERE r.a = s.a "
        f"AND s.b = t.b AND r.{_NOW_60} AND s.{_NOW_60} AND t.{_NOW_60}",
        loops.three_ranges,
    ),
    _windows(
        "f", "a stream [NOW] with a relation, Rstream", "trades rates",
        "SELECT Rstream(n.id, n.price, rates.rate) FROM trades [NOW] n, rates "
        "WHERE n.sym = rates.sym",
        "SELECT t.id, t.price, r.rate, t.ts AS _ts, 1 AS _weight FROM trades t "
        "ASOF JOIN rates r ON t.sym = r.sym AND t.ts >= r._ts",
        "",
    ),
    _windows(
        "g1", "distinct, RANGE 9", "s1", "SELECT DISTINCT a FROM s1 [RANGE 9]", _G1,
        "SELECT DISTINCT a FROM s1 WHERE ts BETWEEN {now} - 9 AND {now}",
    ),
    _windows(
        "g2", "NOT EXISTS over windows", "s1 s2",
        "SELECT s1.id, s1.a FROM s1 [RANGE 59] WHERE NOT EXISTS "
        "(SELECT 1 FROM s2 [RANGE 2 MINUTES] WHERE s2.a = s1.a)",
        _G2,
        f"SELECT id, a FROM s1 WHERE {_NOW_60} AND NOT EXISTS (SELECT 1 FROM s2 WHERE s2.a = s1.a "
        "AND s2.ts BETWEEN {now} - 120 AND {now})",
    ),
    _windows(
        "g3", "left join over windows", "s1 s2",
        "SELECT s1.id AS left_id, s2.id AS right_id FROM s1 [RANGE 9] "
        "LEFT JOIN s2 [RANGE 59] ON s1.a = s2.a",
        _G3,
        "SELECT x.id AS left_id, y.id AS right_id FROM (FROM s1 WHERE ts BETWEEN {now} - 9 AND "
        "{now}) x LEFT JOIN (FROM s2 WHERE " + _NOW_60 + ") y ON x.a = y.a",
    ),
    _windows(
        "h", "median by symbol, RANGE 59", "trades",
        "SELECT sym, median(price) AS middle FROM trades [RANGE 59] GROUP BY sym",
        _H,
        f"SELECT sym, median(price) AS middle FROM trades WHERE {_NOW_60} GROUP BY sym",
    ),
)  # fmt: skip
"""Aggregates and joins (a to e), and what else windows are used for (f to h)."""
