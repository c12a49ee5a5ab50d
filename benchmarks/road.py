"""Linear Road: tolls and accident alerts on L expressways, each answered within five seconds.

After A. Arasu et al., Linear Road: A Stream Data Management Benchmark (VLDB 2004), in the CQL of
STREAM (the accident query is that of the k-constraints paper, Figure 17, with its segments told
apart by expressway and direction). What differs from the benchmark as published:

* traffic is not simulated but a closed formula, `reports`, that gives the full load of an
  expressway, 1,700 reports a second, from the beginning on, instead of a ramp of three hours;
* account balances and daily expenditures, which ask about the past, are left out;
* volume and speed are those of sliding windows, as in STREAM, and not of clock minutes.

Time is simulated, work is real: reports come at their seconds, a tick takes all that have come when
the one before is done, and a report is answered when its tick is. L counts as held if no report in
the measured time waits longer than five seconds.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from contestants import THREADS

import cqlduck

CARS = 25_500
"""Cars on a direction of an expressway; each reports every 30 seconds."""

LIMIT = 5.0
"""Seconds from a report to its answer."""

WARM_UP = 330
"""Seconds of traffic before anything is measured: more than the longest window."""

MEASURED = 60
TRIP = 40
"""Reports of a car before it leaves the expressway, and another one takes its place."""

STOP = 8
"""Reports that a car in an accident stays where it is."""

QUERIES = """
CREATE STREAM reports (ts BIGINT, cid BIGINT, speed INTEGER, xway INTEGER, dir INTEGER,
    xpos INTEGER, seg INTEGER) TIMESTAMP BY ts;
CREATE RELATION distances (d INTEGER);

CREATE CONTINUOUS QUERY cur_car_seg AS
SELECT last_rep.cid, xway, dir, seg
FROM reports [PARTITION BY cid ROWS 1] last_rep,
    (SELECT DISTINCT cid FROM reports [RANGE 30 SECONDS]) cur_active_cars
WHERE last_rep.cid = cur_active_cars.cid;

CREATE CONTINUOUS QUERY acc_cars AS
SELECT cid FROM reports [PARTITION BY cid ROWS 4]
GROUP BY cid HAVING count(DISTINCT xpos) = 1 AND count(*) = 4;

CREATE CONTINUOUS QUERY acc_seg AS
SELECT DISTINCT xway, dir, seg FROM cur_car_seg, acc_cars WHERE cur_car_seg.cid = acc_cars.cid;

-- the segment of an accident and the four before it, where cars are told and pay no toll
CREATE CONTINUOUS QUERY acc_near AS
SELECT xway, dir, seg AS acc, CASE WHEN dir = 0 THEN seg - d ELSE seg + d END AS seg
FROM acc_seg, distances;

CREATE CONTINUOUS QUERY seg_speed AS
SELECT xway, dir, seg, avg(speed) AS speed FROM reports [RANGE 5 MINUTES] GROUP BY xway, dir, seg;

CREATE CONTINUOUS QUERY seg_volume AS
SELECT xway, dir, seg, count(*) AS cars FROM cur_car_seg GROUP BY xway, dir, seg;

CREATE CONTINUOUS QUERY seg_toll AS
SELECT s.xway, s.dir, s.seg, 2 * (v.cars - 50) * (v.cars - 50) AS toll
FROM seg_speed s, seg_volume v
WHERE s.xway = v.xway AND s.dir = v.dir AND s.seg = v.seg AND s.speed < 40 AND v.cars > 50
    AND NOT EXISTS (SELECT 1 FROM acc_near a
                    WHERE a.xway = s.xway AND a.dir = s.dir AND a.seg = s.seg);

CREATE CONTINUOUS QUERY entries AS SELECT Istream(cid, xway, dir, seg) FROM cur_car_seg;

CREATE CONTINUOUS QUERY tolls AS
SELECT Rstream(e.cid, e.xway, e.dir, e.seg, t.toll) FROM entries [NOW] e, seg_toll t
WHERE e.xway = t.xway AND e.dir = t.dir AND e.seg = t.seg;

CREATE CONTINUOUS QUERY alerts AS
SELECT Rstream(e.cid, e.xway, e.dir, e.seg, a.acc) FROM entries [NOW] e, acc_near a
WHERE e.xway = a.xway AND e.dir = a.dir AND e.seg = a.seg;
"""

# A place `slot` on a direction is a car's for TRIP reports, then another's; report n of a place
# comes at second 30 n + slot % 30. Of some cars the one beside drives along, and stops with it.
_REPORTS = """
    WITH places AS (
        SELECT t AS ts, x // 2 AS xway, x % 2 AS dir, x, t % 30 + 30 * q AS slot,
               t // 30 + hash(t % 30 + 30 * q - (t % 30 + 30 * q) % 2, x, 'age') % {trip} AS n
        FROM range({first}, {last}) ts(t), range({directions}) xs(x), range({groups}) qs(q)
        WHERE t % 30 + 30 * q < {cars}),
    pairs AS (
        SELECT *, slot - slot % 2 AS even, n // {trip} AS trip, n % {trip} AS k,
               hash(even, x, trip, 'accident') % {rare} = 0 AS crash FROM places),
    cars AS (
        SELECT *, (x * {cars} + slot) * 1000 + trip AS cid, if(crash, even, slot) AS leader,
               hash(leader, x, trip, 'begin') % 528000 AS begins,
               CASE WHEN begins // 52800 % 3 = 0 THEN 15 + hash(leader, x, trip, 'speed') % 20
                    ELSE 45 + hash(leader, x, trip, 'speed') % 25 END AS velocity,
               4 + hash(leader, x, trip, 'stop') % {trip_and_stop} AS stops FROM pairs),
    moved AS (
        SELECT *, crash AND k >= stops AND k < stops + {stop} AS stands,
               CASE WHEN NOT crash OR k < stops THEN k WHEN k < stops + {stop} THEN stops
                    ELSE k - {stop} END AS way FROM cars),
    placed AS (SELECT *, (begins + way * velocity * 44) % 528000 AS along FROM moved)
    SELECT ts, cid::BIGINT AS cid, if(stands, 0, velocity)::INTEGER AS speed,
           xway::INTEGER AS xway, dir::INTEGER AS dir,
           if(dir = 0, along, 527999 - along)::INTEGER AS xpos,
           (if(dir = 0, along, 527999 - along) // 5280)::INTEGER AS seg
    FROM placed ORDER BY ts, cid
"""


@dataclass(frozen=True)
class Traffic:
    """Traffic on so many directions; an expressway has two.

    Attributes:
        directions: 2 L.
        cars: Cars on each of them.
        rare: One of so many pairs of cars has an accident.
    """

    directions: int
    cars: int = CARS
    rare: int = 500

    def reports(self, first: int, last: int) -> pa.Table:
        """Return the reports of the seconds from `first` up to, and not with, `last`."""
        query = _REPORTS.format(
            first=first, last=last, directions=self.directions, cars=self.cars,
            groups=-(-self.cars // 30), rare=self.rare, trip=TRIP, stop=STOP,
            trip_and_stop=TRIP - STOP - 8,
        )  # fmt: skip
        with duckdb.connect(config={"threads": THREADS}) as con:
            return con.sql(query).to_arrow_table()


@dataclass
class Held:
    """How L expressways went.

    Attributes:
        expressways: L.
        longest: Seconds that the report that waited longest had to wait; None if a tick failed.
        ticks: Seconds of each tick.
        answers: Tolls and alerts in the measured time.
    """

    expressways: float
    longest: float = 0.0
    ticks: list[float] = field(default_factory=list)
    answers: int = 0

    @property
    def holds(self) -> bool:
        """Whether every report was answered in time."""
        return self.longest <= LIMIT


# -- running ---------------------------------------------------------------------------------------


def open_road(path: Path | str) -> cqlduck.Connection:
    """Return a database with the queries, before any traffic."""
    con = cqlduck.connect(path, threads=THREADS)
    con.execute(QUERIES)
    con.append("distances", [(d,) for d in range(5)], at=0)
    return con


def held(directions: int, folder: Path, measured: int = MEASURED, cars: int = CARS) -> Held:
    """Run so many directions until the measured time is over, or a report waits too long."""
    traffic = Traffic(directions, cars)
    found = Held(directions / 2)
    path = folder / f"road-{directions}.duckdb"
    path.unlink(missing_ok=True)
    with open_road(path) as con:
        for first in range(0, WARM_UP, 30):
            con.tick({"reports": traffic.reports(first, first + 30)}, first + 29)
        done, now = WARM_UP, float(WARM_UP + 1)
        while done < WARM_UP + measured and found.holds:
            until = min(int(now), WARM_UP + measured)
            rows = traffic.reports(done, until)
            started = time.perf_counter()
            con.tick({"reports": rows}, until - 1)
            for name in ("tolls", "alerts"):
                found.answers += con.changes(name, since=done - 1).to_arrow_table().num_rows
            took = time.perf_counter() - started
            _well(con)
            found.ticks.append(took)
            # The first reports of the tick came at second `done`.
            found.longest = max(found.longest, now + took - done)
            done, now = until, max(now + took, until + 1.0)
    path.unlink(missing_ok=True)
    return found


def _well(con: cqlduck.Connection) -> None:
    failed = con.sql("SELECT name, error FROM cql.queries WHERE state <> 'active'").fetchall()
    if failed:
        raise RuntimeError(f"the query {failed[0][0]} failed: {failed[0][1]}")


def largest(measured: int = MEASURED, most: int = 64) -> list[Held]:
    """Find the largest L that holds, to half an expressway; return what was tried, in order.

    Args:
        measured: Seconds of traffic that are measured.
        most: Directions at most.
    """
    tried: dict[int, Held] = {}
    with tempfile.TemporaryDirectory() as folder:

        def holds(directions: int) -> bool:
            tried[directions] = held(directions, Path(folder), measured)
            return tried[directions].holds

        good, bad = 0, 1
        while bad <= most and holds(bad):
            good, bad = bad, 2 * bad
        while bad - good > 1 and bad <= most:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if holds(middle) else (good, middle)
    return [tried[key] for key in sorted(tried)]


# -- checking --------------------------------------------------------------------------------------


def by_hand(rows: list[tuple[Any, ...]], last: int) -> tuple[list[Any], list[Any]]:
    """Return the tolls and the alerts in plain Python, an instant after the other.

    Args:
        rows: Reports in order of time, as `Traffic.reports` has them.
        last: The last instant.
    """
    coming = defaultdict(list)
    for row in rows:
        coming[row[0]].append(row)
    recent: dict[int, deque[tuple[Any, ...]]] = defaultdict(lambda: deque(maxlen=4))
    before: dict[int, tuple[int, int, int]] = {}
    speeds: dict[tuple[int, int, int], list[int]] = defaultdict(lambda: [0, 0])
    standing: set[int] = set()
    tolls, alerts = [], []
    for now in range(last + 1):
        for row in coming[now]:
            four = recent[row[1]]
            four.append(row)
            stands = len(four) == 4 and len({old[5] for old in four}) == 1
            (standing.add if stands else standing.discard)(row[1])
        where = {cid: four[-1][3:5] + four[-1][6:7] for cid, four in recent.items()
                 if four[-1][0] >= now - 30}  # fmt: skip
        stopped = {where[cid] for cid in standing if cid in where}
        for second, sign in ((now, 1), (now - 301, -1)):
            for row in coming.get(second, ()):
                total = speeds[(*row[3:5], row[6])]
                total[0], total[1] = total[0] + sign * row[2], total[1] + sign
        near = {
            (xway, way, seg - d if way == 0 else seg + d, seg)
            for xway, way, seg in stopped
            for d in range(5)
        }
        tolled = _tolls(speeds, where, {place[:3] for place in near})
        for cid, place in where.items():
            if before.get(cid) != place:
                if place in tolled:
                    tolls.append((cid, *place, tolled[place], now))
                alerts += [(cid, *place, acc, now) for *at, acc in near if tuple(at) == place]
        before = where
    return tolls, alerts


def _tolls(speeds: dict[Any, list[int]], where: dict[int, Any], free: set[Any]) -> dict[Any, int]:
    """Return the toll of each segment that has one, from the sums and counts of speeds."""
    cars = Counter(where.values())
    return {
        place: 2 * (cars[place] - 50) ** 2
        for place, (total, count) in speeds.items()
        if count and total / count < 40 and cars[place] > 50 and place not in free
    }


def wrong(directions: int = 2, cars: int = 6_000, seconds: int = 340) -> list[str]:
    """Return what differs between cqlduck and plain Python, on little traffic; none if nothing.

    Ticks are of several lengths. That there are tolls and alerts at all is checked too.
    """
    traffic = Traffic(directions, cars)
    table = traffic.reports(0, seconds)
    listed = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    expected = dict(zip(("tolls", "alerts"), by_hand(listed, seconds - 1), strict=True))
    found = []
    with open_road(":memory:") as con:
        first = 0
        for length in (1, 1, 5, 150, 3, 2, math.inf):
            last = int(min(first + length, seconds))
            con.append("reports", table.filter(
                pa.compute.and_(pa.compute.greater_equal(table["ts"], first),
                                pa.compute.less(table["ts"], last))))  # fmt: skip
            con.advance(last - 1)
            first = last
        _well(con)
        for name, rows in expected.items():
            ours = sorted(con.table(name).fetchall())
            if ours != sorted(rows):
                lost = sorted(set(rows) - set(ours))[:3]
                more = sorted(set(ours) - set(rows))[:3]
                found.append(f"{name}: {len(ours)} rows instead of {len(rows)}; missing {lost}, "
                             f"too many {more}")  # fmt: skip
            if not rows:
                found.append(f"{name}: none in {seconds} s, so nothing was checked")
    return found
