"""Nexmark in CQL, at a granularity of one second of event time.

Where an answer changes with every window (q5, q7, q8, q12) DuckDB's batch statement gives the
change stream of all of them; of the others the final answer is compared. A stream's `_ts` is the
second in which the row came.
"""

from __future__ import annotations

from workload import Workload

_SECOND = "date_trunc('second', {})"

# From the content of each window to changes: a window that begins at `b` is the answer from b + w
# on, until the next one.
_CHANGES = """
    SELECT {columns}, _ts, CAST(sum(n) AS BIGINT) AS _weight FROM (
        SELECT {columns}, due AS _ts, 1 AS n FROM content WHERE due < {{end}}
        UNION ALL SELECT {columns}, due + INTERVAL {step}, -1 FROM content
        WHERE due + INTERVAL {step} < {{end}})
    GROUP BY ALL HAVING sum(n) <> 0"""


def _changes(columns: str, step: str) -> str:
    return _CHANGES.format(columns=columns, step=f"'{step}'")


_TEN = "time_bucket(INTERVAL '10 seconds', {}) + INTERVAL '10 seconds'"

_WINNING = (
    "SELECT category, avg(final) AS mean FROM (SELECT a.id, a.category, max(b.price) AS final "
    "FROM auction a JOIN bid b ON a.id = b.auction "
    "WHERE b.dateTime BETWEEN a.dateTime AND a.expires GROUP BY a.id, a.category) "
    "GROUP BY category"
)

_HOT = (
    "SELECT n.auction, n.num FROM (SELECT auction, count(*) AS num "
    "FROM bid [HOP 10 SECONDS EVERY 2 SECONDS] GROUP BY auction) n, "
    "(SELECT max(num) AS most FROM (SELECT auction, count(*) AS num "
    "FROM bid [HOP 10 SECONDS EVERY 2 SECONDS] GROUP BY auction)) m WHERE n.num = m.most"
)

_HOT_CONTENT = """
    WITH panes AS (
        SELECT auction, time_bucket(INTERVAL '2 seconds', dateTime) AS pane, count(*) AS num
        FROM bid GROUP BY ALL),
    counts AS (
        SELECT auction, pane + to_seconds(2 + 2 * k) AS due, CAST(sum(num) AS BIGINT) AS num
        FROM panes, range(5) AS ks(k) GROUP BY ALL),
    content AS (FROM counts QUALIFY num = max(num) OVER (PARTITION BY due))
"""

_HIGHEST_CONTENT = f"""
    WITH content AS (
        SELECT auction, price, bidder, {_TEN.format("dateTime")} AS due FROM bid
        QUALIFY price = max(price) OVER (PARTITION BY due))
"""

_NEW_USERS_CONTENT = f"""
    WITH content AS (
        SELECT DISTINCT p.id, p.name, {_TEN.format("p.dateTime")} AS due
        FROM person p JOIN auction a ON p.id = a.seller AND
        time_bucket(INTERVAL '10 seconds', p.dateTime)
        = time_bucket(INTERVAL '10 seconds', a.dateTime))
"""

_BIDS_CONTENT = f"""
    WITH content AS (
        SELECT bidder, count(*) AS bids, {_TEN.format("dateTime")} AS due FROM bid GROUP BY ALL)
"""

_STATISTICS = (
    "SELECT CAST(dateTime AS DATE) AS day, count(*) AS bids, "
    "count(*) FILTER (WHERE price < 10000) AS low, "
    "count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle, "
    "count(*) FILTER (WHERE price >= 1000000) AS high, count(DISTINCT bidder) AS bidders, "
    "count(DISTINCT bidder) FILTER (WHERE price < 10000) AS low_bidders, "
    "count(DISTINCT auction) AS auctions, "
    "count(DISTINCT auction) FILTER (WHERE price >= 1000000) AS high_auctions "
    "FROM bid GROUP BY CAST(dateTime AS DATE)"
)

_LAST_TEN = (
    "dateTime >= time_bucket(INTERVAL '10 seconds', {now}) - INTERVAL '10 seconds' "
    "AND dateTime < time_bucket(INTERVAL '10 seconds', {now})"
)


def _stream(columns: str, rest: str, moment: str = "dateTime") -> tuple[str, str]:
    """Return the CQL of a monotonic query, and the batch statement with the second of each row."""
    second = _SECOND.format(moment)
    return f"SELECT {columns} {rest}", f"SELECT {columns}, {second} AS _ts {rest}"


_Q0 = _stream("auction, bidder, price, dateTime", "FROM bid")
_Q1 = _stream("auction, bidder, price * 0.908 AS price, dateTime", "FROM bid")
_Q2 = _stream("auction, price", "FROM bid WHERE auction % 123 = 0")
_Q3 = _stream(
    "p.name, p.city, p.state, a.id",
    "FROM auction a JOIN person p ON a.seller = p.id "
    "WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
    "greatest(a.dateTime, p.dateTime)",
)
_Q20 = _stream(
    "b.auction, b.bidder, b.price, b.dateTime, a.itemName, a.seller",
    "FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10",
    "greatest(b.dateTime, a.dateTime)",
)


def _final(name: str, title: str, streams: str, query: str, once: str | None = None) -> Workload:
    """A workload whose final answer is compared."""
    batch = once or query
    return Workload(name, title, "nexmark", tuple(streams.split()), query, batch, batch, False)


def _windowed(
    name: str, title: str, streams: str, cql: str, content: str, columns: str, step: str, last: str
) -> Workload:
    """A workload whose change stream is compared: the answer is the last window's."""
    once = content + _changes(columns, step)
    every = f"{content} SELECT {columns}, due FROM content WHERE due <= {{now}}"
    return Workload(
        name, title, "nexmark", tuple(streams.split()), cql, once, last, every_window=every
    )


WORKLOADS = (
    _final("q0", "pass through", "bid", *_Q0),
    _final("q1", "currency", "bid", *_Q1),
    _final("q2", "selection", "bid", *_Q2),
    _final("q3", "local items", "auction person", *_Q3),
    _final("q4", "mean winning price by category", "auction bid", _WINNING),
    _windowed(
        "q5", "hot items", "bid", _HOT, _HOT_CONTENT, "auction, num", "2 seconds",
        "SELECT auction, count(*) AS num FROM bid WHERE "
        "dateTime >= time_bucket(INTERVAL '2 seconds', {now}) - INTERVAL '10 seconds' "
        "AND dateTime < time_bucket(INTERVAL '2 seconds', {now}) GROUP BY auction "
        "QUALIFY num = max(num) OVER ()",
    ),
    _windowed(
        "q7", "highest bid", "bid",
        "SELECT b.auction, b.price, b.bidder FROM bid [TUMBLE 10 SECONDS] b, "
        "(SELECT max(price) AS most FROM bid [TUMBLE 10 SECONDS]) m WHERE b.price = m.most",
        _HIGHEST_CONTENT, "auction, price, bidder", "10 seconds",
        f"SELECT auction, price, bidder FROM bid WHERE {_LAST_TEN} "
        "QUALIFY price = max(price) OVER ()",
    ),
    _windowed(
        "q8", "new users", "person auction",
        "SELECT DISTINCT p.id, p.name FROM person [TUMBLE 10 SECONDS] p, "
        "auction [TUMBLE 10 SECONDS] a WHERE p.id = a.seller",
        _NEW_USERS_CONTENT, "id, name", "10 seconds",
        f"SELECT DISTINCT p.id, p.name FROM (FROM person WHERE {_LAST_TEN}) p "
        f"JOIN (FROM auction WHERE {_LAST_TEN}) a ON p.id = a.seller",
    ),
    _windowed(
        "q12", "bids by bidder and window", "bid",
        "SELECT bidder, count(*) AS bids FROM bid [TUMBLE 10 SECONDS] GROUP BY bidder",
        _BIDS_CONTENT, "bidder, bids", "10 seconds",
        f"SELECT bidder, count(*) AS bids FROM bid WHERE {_LAST_TEN} GROUP BY bidder",
    ),
    _final("q15", "bidding statistics by day", "bid", _STATISTICS),
    _final(
        "q18", "last bid by bidder and auction", "bid",
        "SELECT auction, bidder, price, dateTime FROM bid [PARTITION BY bidder, auction ROWS 1]",
        "SELECT auction, bidder, price, dateTime FROM bid QUALIFY row_number() OVER "
        "(PARTITION BY bidder, auction ORDER BY dateTime DESC) = 1",
    ),
    _final("q20", "bids with their auction", "bid auction", *_Q20),
)  # fmt: skip
"""The queries of W1."""
