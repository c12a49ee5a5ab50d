"""chDB: ClickHouse in the process; materialized views as insert triggers.

A view sees what one INSERT brings and adds it to a table of partial states, which ClickHouse merges
in the background; an answer is made from these when it is read. The streams themselves are not kept
(engine Null): each query keeps what it needs. All of the queries can be said.

A tick inserts a file of each stream, and reads. Where the answer only grows (q0 to q3, q20) it
reads the new rows and empties the table `answer`; of windows (q5, q7, q8, q12) it reads those that
the tick completed, as they do not change any more; else the whole answer (q4, q15, q18).

A view is triggered by one stream. So a join that changes on both sides (q3, q4, q20) is two views:
what comes on either side is joined with what came on the other before. That finds each pair once,
because one INSERT runs after the other. Within a view the name of its stream means what is being
inserted, in subqueries too.

What a view cannot do is to see how other rows' states change. So the outer aggregate of q4, the
maxima over windows of q5 and q7, and the join of q8 are left to the reading query. It works on a
row for each auction (q4), pane and auction (q5), highest bid of an INSERT (q7), person and seller
of a window (q8).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
from chdb.session import Session
from protocol import Clock, Task, main

EPOCH = "1970-01-01T00:00:00"

STREAMS = {
    "person": "id Int64, name String, city String, state String, dateTime DateTime64(6)",
    "auction": "id Int64, itemName String, seller Int64, category Int32, expires DateTime64(6), "
    "dateTime DateTime64(6)",
    "bid": "auction Int64, bidder Int64, price Int64, dateTime DateTime64(6)",
}
"""Their columns. They are inserted in this order: most bids then find their auction."""


@dataclass(frozen=True)
class Query:
    """A query in two parts.

    Attributes:
        views: Statements that create the tables of states, and the views that fill them.
        answer: What reads them, at the end of event time `now`; that of the tick before is `since`.
        grows: Whether the answer is what all ticks together have read.
    """

    views: str
    answer: str = "SELECT * FROM answer"
    grows: bool = True

    @property
    def empties(self) -> bool:
        """Whether the views write new rows of the answer, to be read once."""
        return "CREATE TABLE answer " in self.views


_END = "toStartOfInterval(dateTime, INTERVAL 10 SECOND) + INTERVAL 10 SECOND"
_COMPLETED = "due > {since:DateTime64(6)} AND due <= {now:DateTime64(6)}"

# The engine Join keeps a hash table, which a trigger need not build anew. Of a bid without auction
# `known` is 0: such a bid is kept for the auction that comes later.
_AUCTIONS = """
    CREATE TABLE auctions (id Int64, itemName String, seller Int64, category Int32,
        opens DateTime64(6), expires DateTime64(6), known UInt8)
    ENGINE = Join(ANY, LEFT, id);
    CREATE MATERIALIZED VIEW to_auctions TO auctions AS
    SELECT id, itemName, seller, category, dateTime AS opens, expires, 1 AS known FROM auction;

    CREATE TABLE early (auction Int64, bidder Int64, price Int64, dateTime DateTime64(6))
    ENGINE = MergeTree ORDER BY auction;
    CREATE MATERIALIZED VIEW to_early TO early AS
    SELECT b.auction AS auction, bidder, price, dateTime
    FROM bid b ANY LEFT JOIN auctions a ON b.auction = a.id WHERE NOT known;
"""
_EARLY = "(SELECT * FROM early WHERE auction IN (SELECT id FROM auction))"

QUERIES = {
    "q0": Query("""
        CREATE TABLE answer (auction Int64, bidder Int64, price Int64, dateTime DateTime64(6))
        ENGINE = Memory;
        CREATE MATERIALIZED VIEW to_answer TO answer AS
        SELECT auction, bidder, price, dateTime FROM bid;
    """),
    "q1": Query("""
        CREATE TABLE answer (auction Int64, bidder Int64, price Float64, dateTime DateTime64(6))
        ENGINE = Memory;
        CREATE MATERIALIZED VIEW to_answer TO answer AS
        SELECT auction, bidder, price * 0.908 AS price, dateTime FROM bid;
    """),
    "q2": Query("""
        CREATE TABLE answer (auction Int64, price Int64) ENGINE = Memory;
        CREATE MATERIALIZED VIEW to_answer TO answer AS
        SELECT auction, price FROM bid WHERE auction % 123 = 0;
    """),
    "q3": Query("""
        CREATE TABLE persons (id Int64, name String, city String, state String)
        ENGINE = MergeTree ORDER BY id;
        CREATE MATERIALIZED VIEW to_persons TO persons AS
        SELECT id, name, city, state FROM person WHERE state IN ('OR', 'ID', 'CA');

        CREATE TABLE auctions (id Int64, seller Int64) ENGINE = MergeTree ORDER BY seller;
        CREATE MATERIALIZED VIEW to_auctions TO auctions AS
        SELECT id, seller FROM auction WHERE category = 10;

        CREATE TABLE answer (name String, city String, state String, id Int64) ENGINE = Memory;
        CREATE MATERIALIZED VIEW by_person TO answer AS
        SELECT name, city, state, a.id AS id FROM person p
        JOIN (SELECT * FROM auctions WHERE seller IN (SELECT id FROM person)) a ON p.id = a.seller
        WHERE state IN ('OR', 'ID', 'CA');
        CREATE MATERIALIZED VIEW by_auction TO answer AS
        SELECT name, city, state, a.id AS id FROM auction a
        JOIN (SELECT * FROM persons WHERE id IN (SELECT seller FROM auction)) p ON a.seller = p.id
        WHERE category = 10;
    """),
    "q4": Query(
        f"""{_AUCTIONS}
        CREATE TABLE finals (id Int64, category Int32, final SimpleAggregateFunction(max, Int64))
        ENGINE = AggregatingMergeTree ORDER BY (id, category);
        CREATE MATERIALIZED VIEW by_bid TO finals AS
        SELECT b.auction AS id, category, max(price) AS final
        FROM bid b ANY LEFT JOIN auctions a ON b.auction = a.id
        WHERE known AND dateTime BETWEEN opens AND expires GROUP BY id, category;
        CREATE MATERIALIZED VIEW by_auction TO finals AS
        SELECT a.id AS id, category, max(price) AS final
        FROM auction a JOIN {_EARLY} b ON a.id = b.auction
        WHERE b.dateTime BETWEEN a.dateTime AND expires GROUP BY id, category;
        """,
        """
        SELECT category, avg(final) AS mean FROM
            (SELECT category, max(final) AS final FROM finals GROUP BY id, category)
        GROUP BY category
        """,
        grows=False,
    ),
    "q5": Query(
        """
        CREATE TABLE panes (pane DateTime64(6), auction Int64, num UInt64)
        ENGINE = SummingMergeTree ORDER BY (pane, auction);
        CREATE MATERIALIZED VIEW to_panes TO panes AS
        SELECT toStartOfInterval(dateTime, INTERVAL 2 SECOND) AS pane, auction, count() AS num
        FROM bid GROUP BY pane, auction;
        """,
        f"""
        SELECT auction, num, due FROM (
            SELECT auction, sum(num) AS num, due, max(num) OVER (PARTITION BY due) AS most FROM (
                SELECT auction, num, pane + toIntervalSecond(after) AS due
                FROM panes ARRAY JOIN [2, 4, 6, 8, 10] AS after
                WHERE pane > {{since:DateTime64(6)}} - INTERVAL 10 SECOND)
            WHERE {_COMPLETED} GROUP BY due, auction)
        WHERE num = most
        """,
    ),
    "q7": Query(
        f"""
        CREATE TABLE highest (auction Int64, price Int64, bidder Int64, due DateTime64(6))
        ENGINE = MergeTree ORDER BY due;
        CREATE MATERIALIZED VIEW to_highest TO highest AS
        SELECT auction, price, bidder, {_END} AS due FROM bid
        WHERE (due, price) IN (SELECT {_END} AS due, max(price) FROM bid GROUP BY due);
        """,
        f"""
        SELECT auction, price, bidder, due FROM highest
        WHERE {_COMPLETED} AND (due, price) IN
            (SELECT due, max(price) FROM highest WHERE {_COMPLETED} GROUP BY due)
        """,
    ),
    "q8": Query(
        f"""
        CREATE TABLE persons (id Int64, name String, due DateTime64(6))
        ENGINE = ReplacingMergeTree ORDER BY (due, id, name);
        CREATE MATERIALIZED VIEW to_persons TO persons AS
        SELECT id, name, {_END} AS due FROM person;

        CREATE TABLE sellers (id Int64, due DateTime64(6))
        ENGINE = ReplacingMergeTree ORDER BY (due, id);
        CREATE MATERIALIZED VIEW to_sellers TO sellers AS
        SELECT DISTINCT seller AS id, {_END} AS due FROM auction;
        """,
        f"""
        SELECT DISTINCT id, name, due FROM persons
        WHERE {_COMPLETED} AND (due, id) IN (SELECT due, id FROM sellers WHERE {_COMPLETED})
        """,
    ),
    "q12": Query(
        f"""
        CREATE TABLE counts (bidder Int64, bids UInt64, due DateTime64(6))
        ENGINE = SummingMergeTree ORDER BY (due, bidder);
        CREATE MATERIALIZED VIEW to_counts TO counts AS
        SELECT bidder, count() AS bids, {_END} AS due FROM bid GROUP BY due, bidder;
        """,
        f"SELECT bidder, sum(bids) AS bids, due FROM counts WHERE {_COMPLETED} GROUP BY ALL",
    ),
    # A bitmap counts distinct integers exactly, and is smaller and faster here than uniqExact.
    "q15": Query(
        """
        CREATE TABLE statistics (
            day Date32,
            bids SimpleAggregateFunction(sum, UInt64),
            low SimpleAggregateFunction(sum, UInt64),
            middle SimpleAggregateFunction(sum, UInt64),
            high SimpleAggregateFunction(sum, UInt64),
            bidders AggregateFunction(groupBitmap, Int64),
            low_bidders AggregateFunction(groupBitmapIf, Int64, UInt8),
            auctions AggregateFunction(groupBitmap, Int64),
            high_auctions AggregateFunction(groupBitmapIf, Int64, UInt8))
        ENGINE = AggregatingMergeTree ORDER BY day;
        CREATE MATERIALIZED VIEW to_statistics TO statistics AS
        SELECT toDate32(dateTime) AS day, count() AS bids, countIf(price < 10000) AS low,
            countIf(price >= 10000 AND price < 1000000) AS middle,
            countIf(price >= 1000000) AS high, groupBitmapState(bidder) AS bidders,
            groupBitmapIfState(bidder, price < 10000) AS low_bidders,
            groupBitmapState(auction) AS auctions,
            groupBitmapIfState(auction, price >= 1000000) AS high_auctions
        FROM bid GROUP BY day;
        """,
        """
        SELECT day, sum(bids) AS bids, sum(low) AS low, sum(middle) AS middle, sum(high) AS high,
            groupBitmapMerge(bidders) AS bidders, groupBitmapIfMerge(low_bidders) AS low_bidders,
            groupBitmapMerge(auctions) AS auctions,
            groupBitmapIfMerge(high_auctions) AS high_auctions
        FROM statistics GROUP BY day
        """,
        grows=False,
    ),
    "q18": Query(
        """
        CREATE TABLE last (auction Int64, bidder Int64, price Int64, dateTime DateTime64(6))
        ENGINE = ReplacingMergeTree(dateTime) ORDER BY (bidder, auction);
        CREATE MATERIALIZED VIEW to_last TO last AS
        SELECT auction, bidder, price, dateTime FROM bid;
        """,
        "SELECT auction, bidder, price, dateTime FROM last FINAL",
        grows=False,
    ),
    "q20": Query(f"""{_AUCTIONS}
        CREATE TABLE answer (auction Int64, bidder Int64, price Int64, dateTime DateTime64(6),
            itemName String, seller Int64)
        ENGINE = Memory;
        CREATE MATERIALIZED VIEW by_bid TO answer AS
        SELECT b.auction AS auction, bidder, price, dateTime, itemName, seller
        FROM bid b ANY LEFT JOIN auctions a ON b.auction = a.id WHERE known AND category = 10;
        CREATE MATERIALIZED VIEW by_auction TO answer AS
        SELECT b.auction AS auction, bidder, price, b.dateTime AS dateTime, itemName, seller
        FROM auction a JOIN {_EARLY} b ON a.id = b.auction WHERE category = 10;
    """),
}


def run(task: Task) -> Clock:
    """Run a query tick by tick."""
    query = QUERIES[task.query]
    clock = Clock()
    read: list[pa.Table] = []
    with Session() as db:
        db.query(f"SET max_threads = {task.threads}, session_timezone = 'UTC'")
        db.query("SET output_format_arrow_compression_method = 'none'")
        for name in task.files:
            db.query(f"CREATE TABLE {name} ({STREAMS[name]}) ENGINE = Null")
        db.query(query.views)
        _answer(db, query, EPOCH, EPOCH)
        for number, (since, now) in enumerate(pairwise((EPOCH, *task.now))):
            clock.start()
            for name, columns in STREAMS.items():
                if name in task.files:
                    _insert(db, name, columns, task.files[name][number])
            answer = _answer(db, query, since, now)
            clock.stop()
            read = [*read, answer] if query.grows else [answer]
    if task.output is not None:
        pq.write_table(_plain(pa.concat_tables(read)), task.output)
    return clock


def _insert(db: Session, name: str, columns: str, file: str) -> None:
    listed = ", ".join(column.split()[0] for column in columns.split(", "))
    db.query(f"INSERT INTO {name} SELECT {listed} FROM file('{file}', Parquet)")


def _answer(db: Session, query: Query, since: str, now: str) -> pa.Table:
    parameters = {"since": since, "now": now} if "{since" in query.answer else None
    # Its own "ArrowTable" points into memory that it has given back if that is not compressed.
    answer = db.query(query.answer, "Arrow", params=parameters).bytes()
    if query.empties:
        db.query("TRUNCATE TABLE answer")
    return pa.ipc.open_file(answer).read_all()


def _plain(answer: pa.Table) -> pa.Table:
    """Return it with timestamps that have no time zone; ClickHouse gives them UTC."""
    kinds = [
        pa.timestamp("us") if pa.types.is_timestamp(kind) else kind for kind in answer.schema.types
    ]
    return answer.cast(pa.schema(zip(answer.schema.names, kinds, strict=True)))


if __name__ == "__main__":
    main(run)
