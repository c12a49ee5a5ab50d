"""What a workload is: one query, said three ways, over the streams of a data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from data import Dataset

Loop = Callable[[Dataset], dict[str, list[Any]]]
"""Plain Python by hand: reads the files, returns columns, `_ts` and `_weight` among them."""


@dataclass(frozen=True)
class Workload:
    """One query of the benchmarks.

    Attributes:
        name: As in the tables, such as 'a' or 'q4'.
        title: What it is, in a few words.
        family: 'windows' or 'nexmark', the data it reads.
        streams: The inputs, each a table of this name in the SQL.
        cql: The continuous query.
        once: One DuckDB statement over all data. Its rows are net changes (columns, `_ts`,
            `_weight`) if `changes`, else those of the final answer. `{last}` is the last instant.
        recompute: DuckDB's query for the answer at `{now}`.
        changes: Whether the whole change stream is compared, or the final answer.
        python: The same by hand, if there is one.
        relations: Inputs that are relations.
        every_window: Where the answer is the last window's, DuckDB's query for the content of all
            windows up to `{now}`: what the change stream has.
    """

    name: str
    title: str
    family: str
    streams: tuple[str, ...]
    cql: str
    once: str
    recompute: str
    changes: bool = True
    python: Loop | None = None
    relations: tuple[str, ...] = ()
    every_window: str | None = None

    def declarations(self) -> str:
        """Return the CREATE statements of the inputs, each FROM its folder in the drop zone."""
        return "\n".join(DECLARED[name] for name in self.streams)


DECLARED = {
    "trades": "CREATE STREAM trades (id BIGINT, ts BIGINT, sym INTEGER, price INTEGER) "
    "TIMESTAMP BY ts FROM 'trades';",
    "s1": "CREATE STREAM s1 (id BIGINT, ts BIGINT, a INTEGER) TIMESTAMP BY ts FROM 's1';",
    "s2": "CREATE STREAM s2 (id BIGINT, ts BIGINT, a INTEGER) TIMESTAMP BY ts FROM 's2';",
    "r": "CREATE STREAM r (id BIGINT, ts BIGINT, a INTEGER) TIMESTAMP BY ts FROM 'r';",
    "s": "CREATE STREAM s (id BIGINT, ts BIGINT, a INTEGER, b INTEGER) TIMESTAMP BY ts FROM 's';",
    "t": "CREATE STREAM t (id BIGINT, ts BIGINT, b INTEGER) TIMESTAMP BY ts FROM 't';",
    "rates": "CREATE RELATION rates (sym INTEGER, rate INTEGER) PRIMARY KEY (sym) FROM 'rates';",
    "person": "CREATE STREAM person (id BIGINT, name VARCHAR, city VARCHAR, state VARCHAR, "
    "dateTime TIMESTAMP) TIMESTAMP BY dateTime FROM 'person';",
    "auction": "CREATE STREAM auction (id BIGINT, itemName VARCHAR, seller BIGINT, "
    "category INTEGER, expires TIMESTAMP, dateTime TIMESTAMP) TIMESTAMP BY dateTime "
    "FROM 'auction';",
    "bid": "CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP) "
    "TIMESTAMP BY dateTime FROM 'bid';",
}
"""How each input is declared in CQL."""
