"""Names that several things have: columns of FROM, aliases of the SELECT list, places.

Which of them a clause means is up to DuckDB: its answer over what the relations have is the one to
be given, tick by tick, whatever stands below or above the clause.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import duckdb
import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck

T = TypeVar("T")
R = [(1, 10, 3.0), (2, 20, 1.0), (3, 30, None), (3, 40, -2.0), (4, 50, 7.0), (None, 60, 2.0),
     (1, 21, 2.5), (2, 1, 0.0)]  # fmt: skip
U = [(1, 7), (2, 5), (3, 6), (3, 4), (5, 1), (None, 2)]
TABLES = "r (k INTEGER, v INTEGER, x DOUBLE)", "u (k INTEGER, w INTEGER)"
STEPS = 4


def shown(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return rows as what equals what: −0.0 is 0.0, and 2 is 2.0."""
    return [repr([v + 0.0 if isinstance(v, (int, float)) else v for v in row]) for row in rows]


def is_ordered(text: str) -> bool:
    """Return whether a query says in which order its answer is shown."""
    before, _, order = text.rpartition(" ORDER BY ")
    is_last = bool(before) and order.count("(") == order.count(")")
    return is_last and not any(word in text for word in (" LIMIT ", " OFFSET ", "DISTINCT ON"))


def differences(texts: Sequence[str], **options: Any) -> Iterator[tuple[str, int]]:
    """Yield which queries differ from DuckDB's answer after which part of the rows.

    Rows come one after the other; one that a group begins with goes again.
    """
    with duckdb.connect() as base, cqlduck.connect(threads=1, **options) as con:
        for table in TABLES:
            base.execute(f"CREATE TABLE {table}")
            con.execute(f"CREATE RELATION {table}")
        for number, text in enumerate(texts):
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {text}")
        for at in range(STEPS + 1):
            for table, rows in (("r", R), ("u", U)):
                places = ", ".join("?" * len(rows[0]))
                if at == STEPS:
                    con.retract(table, rows[:1], at=at)
                    base.execute(f"DELETE FROM {table} WHERE rowid = 0")
                else:
                    con.append(table, rows[at::STEPS], at=at)
                    base.executemany(f"INSERT INTO {table} VALUES ({places})", rows[at::STEPS])
            con.advance(at)
            for number, text in enumerate(texts):
                expected = shown(base.execute(text).fetchall())
                got = shown(con.table(f"q{number}").fetchall())
                if expected != got and (is_ordered(text) or sorted(expected) != sorted(got)):
                    yield text, at


FROM = "FROM r JOIN u ON r.k = u.k"
WRITTEN = (
    # a name alone is an alias first, in an expression a column
    "SELECT DISTINCT ON (k) v % 20 AS k, x FROM r ORDER BY k, v",
    f"SELECT DISTINCT ON (k) v % 20 AS k, x {FROM} ORDER BY 1, v, w",
    "SELECT DISTINCT ON (x) k AS x, v FROM r ORDER BY 1, v",
    "SELECT DISTINCT ON (x) * REPLACE (k AS x) FROM r ORDER BY 3, v",
    "SELECT DISTINCT ON (k) * RENAME (k AS v, v AS k) FROM r ORDER BY 2, k",
    "SELECT -x AS x, list(k ORDER BY k) AS l FROM r GROUP BY r.x ORDER BY x LIMIT 2",
    "SELECT v AS k, k AS v FROM r ORDER BY k DESC, v LIMIT 1",
    "SELECT v AS k, k AS v FROM r ORDER BY k + 0 DESC, r.v LIMIT 1",
    "SELECT * REPLACE (-v AS v) FROM r WHERE k > 0 ORDER BY v LIMIT 2",
    "SELECT * RENAME (v AS k, k AS v) FROM r WHERE x > 0 ORDER BY k DESC LIMIT 2",
    f"SELECT r.* REPLACE (v % 20 AS v), w {FROM} ORDER BY v, w, r.k, x LIMIT 3",
    "SELECT * EXCLUDE (x) RENAME (v AS z), list(x ORDER BY x) AS l FROM r GROUP BY k, z",
    "SELECT v % 20 AS k, rank() OVER (PARTITION BY k ORDER BY v) AS n FROM r",
    # parentheses around it change nothing
    "SELECT v AS k, k AS v, x FROM r ORDER BY (k) DESC, v LIMIT 1",
    "SELECT k AS n, count(*) AS k FROM r GROUP BY r.k ORDER BY (k) DESC, 1 LIMIT 1",
    f"SELECT DISTINCT ON ((x)) w AS x {FROM} ORDER BY (x), v",
    "SELECT k, v FROM r ORDER BY (2) DESC LIMIT 2",
    # what an alias stands for may be a number, and is no place
    "SELECT k, 2 AS z, v FROM r ORDER BY z, v DESC LIMIT 2",
    "SELECT k, 2 AS z, v FROM r ORDER BY 2, v DESC LIMIT 2",
    "SELECT k, 3 AS z, v FROM r WHERE k > 0 ORDER BY (z), v DESC LIMIT 2",
    f"SELECT r.*, 1 AS z {FROM} ORDER BY -z, v, w LIMIT 2",
    f"SELECT DISTINCT ON (z) r.k, v, 2 AS z {FROM} ORDER BY z, v DESC, w",
    f"SELECT v, 'a' AS z {FROM} ORDER BY z, v DESC, w LIMIT 2",
    # of several with one name it is the last
    "SELECT k AS z, v AS z FROM r WHERE z > 10",
    "SELECT k AS z, v AS z, z + 1 AS y FROM r",
    "SELECT k AS z, v AS z FROM r WHERE x > 0 ORDER BY z + 0 DESC LIMIT 2",
    "SELECT DISTINCT ON (z) v AS z, k AS z, x FROM r ORDER BY z, v",
    "SELECT k AS z, v AS z, count(*) AS n FROM r GROUP BY ALL HAVING z > 10",
    # in HAVING a key comes before an alias, and that before a column
    "SELECT k % 2 AS k, max(x) AS m FROM r GROUP BY k HAVING k > 0",
    "SELECT k % 2 AS k, max(x) AS m FROM r GROUP BY k % 2 HAVING k > 0",
    "SELECT k % 2 AS k, max(x) AS m FROM r GROUP BY 1 HAVING k + 1 > 1",
    "SELECT k % 2 AS k, max(x) AS m FROM r GROUP BY ROLLUP (r.k % 2) HAVING k = 0",
    "SELECT k, max(v) AS v FROM r GROUP BY k HAVING v > 20",
    "SELECT max(v) AS v FROM r HAVING v > 10",
    f"SELECT max(v) AS k, min(w) AS w {FROM} GROUP BY v HAVING w > 2",
    "SELECT v AS k, k AS v, count(*) AS n FROM r GROUP BY r.v, r.k HAVING k > 2",
    # and GROUP BY ALL groups by the columns that HAVING names
    "SELECT k % 2 AS k, max(x) AS m FROM r GROUP BY ALL HAVING k = 0",
    "SELECT k % 2 AS z, max(x) AS m FROM r GROUP BY ALL HAVING z = 0",
    "SELECT k % 2 AS z, max(x) AS m FROM r GROUP BY ALL HAVING k + max(v) > 20",
    "SELECT count(*) AS n FROM r GROUP BY ALL HAVING k > 1 AND count(*) > 1",
    "SELECT * REPLACE (k % 2 AS k), count(*) AS n FROM r GROUP BY ALL HAVING k = 1",
    "SELECT * RENAME (k AS v, v AS k), count(*) AS n FROM r GROUP BY ALL HAVING k = 10",
    f"SELECT r.k % 2 AS z, sum(count(*)) OVER () AS n {FROM} GROUP BY ALL HAVING z = 0",
    "SELECT k % 2 AS k, sum(count(*)) OVER () AS n FROM r GROUP BY ALL HAVING k = 0",
    "SELECT k % 2 AS k, list(v ORDER BY v) AS l FROM r WHERE v > 0 GROUP BY ALL HAVING k = 0",
    "SELECT -v AS x, count(*) AS k, sum(count(*)) OVER () AS v FROM r GROUP BY ALL HAVING x < -20",
    "SELECT *, v % 20 AS z, sum(count(*)) OVER () AS n FROM r GROUP BY ALL HAVING z = 0",
    "SELECT k % 2 AS z, count(*) AS n FROM r GROUP BY ALL HAVING z = 0 ORDER BY n DESC, z LIMIT 2",
    # ORDER BY may be an expression of what is listed, under another name too
    "SELECT -v AS w, k FROM r ORDER BY -r.v, k",
    "SELECT -v AS v, k FROM r ORDER BY -(-v), 1, 2",
    "SELECT k + 1 AS j, v FROM r ORDER BY -(k + 1), j * 2, v",
    "SELECT *, v % 20 AS z FROM r ORDER BY r.v % 20 + k, z, v, 1",
    f"SELECT r.k, w AS v {FROM} ORDER BY -(r.k + u.w), 1, 2",
    "SELECT k, count(*) AS n FROM r GROUP BY k ORDER BY count(*) + coalesce(k, 0), k",
    "SELECT DISTINCT k FROM r ORDER BY k + 1",
    "SELECT DISTINCT k AS j FROM r ORDER BY -r.k",
    "SELECT DISTINCT k % 2 AS j FROM r ORDER BY -(r.k % 2)",
    "SELECT DISTINCT k, v AS k2 FROM r ORDER BY r.v - k, 1, 2 LIMIT 3",
    "SELECT DISTINCT k AS j FROM r WHERE v > 1 ORDER BY -k, 1 LIMIT 2",
    "SELECT DISTINCT k FROM r GROUP BY k ORDER BY min(v) LIMIT 2",
    "SELECT DISTINCT -k AS v, x AS z FROM r WHERE k > 0 ORDER BY -(x), 1, 2 LIMIT 3",
    "SELECT DISTINCT v AS x, x AS v FROM r ORDER BY x - v, 1, 2 LIMIT 3",
    f"SELECT DISTINCT r.k, w {FROM} ORDER BY r.k - u.w, 1, 2 LIMIT 3",
)
OPEN = (
    "SELECT DISTINCT k FROM r ORDER BY v",
    "SELECT DISTINCT k FROM r ORDER BY v LIMIT 2",
    "SELECT DISTINCT k FROM r ORDER BY k + v LIMIT 2",
    "SELECT DISTINCT k % 2 AS k FROM r ORDER BY r.k",
    "SELECT DISTINCT k % 2 AS k FROM r ORDER BY k + 1",
    "SELECT DISTINCT k % 2 AS k FROM r WHERE v > 1 ORDER BY k + 1 LIMIT 1",
    "SELECT DISTINCT k FROM r GROUP BY k, v ORDER BY v LIMIT 2",
    "SELECT DISTINCT k, v FROM r ORDER BY k, row_number() OVER (ORDER BY v) LIMIT 2",
    f"SELECT DISTINCT r.k {FROM} ORDER BY w LIMIT 2",
    "SELECT k FROM (SELECT DISTINCT k FROM r ORDER BY v OFFSET 1)",
)
"""Queries whose order DuckDB takes from one of several rows, whichever it meets."""


@pytest.mark.parametrize("recompute", ["allow", "always"])
@pytest.mark.parametrize("text", OPEN)
def test_what_distinct_leaves_open_orders_nothing(text: str, recompute: str) -> None:
    with cqlduck.connect(recompute=recompute) as con:
        for table in TABLES:
            con.execute(f"CREATE RELATION {table}")
        with pytest.raises(cqlduck.NotSupportedError, match="DISTINCT makes one") as caught:
            con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
    assert caught.value.hint


@pytest.mark.parametrize(
    "text", ["SELECT -v AS v FROM r ORDER BY v + 1", "SELECT v FROM r ORDER BY r.k"]
)
def test_no_column_of_another_name_orders_an_answer(text: str) -> None:
    with cqlduck.connect() as con:
        con.execute(f"CREATE RELATION {TABLES[0]}")
        with pytest.raises(cqlduck.NotSupportedError, match="no column of the answer"):
            con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")


@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_a_name_means_what_it_means_in_duckdb(recompute: str) -> None:
    assert [] == list(differences(WRITTEN, recompute=recompute))


# -------------------------------------------------------------------------------------- random

FROMS = (
    "r",
    "r JOIN u ON r.k = u.k",
    "r JOIN u USING (k)",
    "r LEFT JOIN u ON r.k = u.k",
    "(SELECT k AS v, v AS k, x FROM r) AS r",
    "r FULL JOIN u USING (k)",
    "r SEMI JOIN u ON r.k = u.k",
    "r JOIN (SELECT k, max(w) AS w FROM u GROUP BY k) u USING (k)",
)
STARS = ("*", "r.*", "* EXCLUDE (v)", "r.* REPLACE (-v AS v)", "r.* RENAME (v AS k, k AS v)",
         "r.* REPLACE (v % 2 AS k)", "* RENAME (v AS z)")  # fmt: skip


class Drawn:
    """Draws queries whose aliases are names of columns too."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.source = self.one(FROMS)
        self.others = (
            ("w", "u.k", "u.w") if " u " in self.source and "SEMI" not in self.source else ()
        )
        self.order = ", ".join(["r.k", "r.v", "r.x", *(["u.k", "u.w"] if self.others else [])])

    def one(self, options: Sequence[T]) -> T:
        chosen: T = self.draw(st.sampled_from(options))
        return chosen

    def some(self, drawn: Callable[[], str], most: int = 3) -> list[str]:
        return [drawn() for _ in range(self.one(range(1, most + 1)))]

    def term(self, depth: int = 0) -> str:
        """Return a name, or an expression over some."""
        named = self.one(("k", "v", "x", "r.k", "r.v", "K", "z", *self.others))
        if depth > 1 or self.one((True, False)):
            return named
        inner = self.term(depth + 1)
        return self.one((f"({inner})", f"-{inner}", f"{inner} + 0", f"coalesce({inner}, 0)", "2"))

    def item(self, value: str | None = None) -> str:
        value = value or self.term()
        alias = self.one(("", "k", "v", "w", "x", "z", "V"))
        return f"{value} AS {alias}" if alias else value

    def rest(self, order: str) -> str:
        """Return WHERE, or nothing, and what may follow."""
        where = f" WHERE {self.term()} > {self.one((-1, 1))}" if self.one((True, False)) else ""
        return f" FROM {self.source}{where}{order}"

    def query(self) -> str:
        """Return a query that leaves no tie open."""
        way, limit = self.one(("", " DESC", " NULLS FIRST")), f" LIMIT {self.one((1, 2, 3))}"
        items = self.some(self.item)
        ordered = f" ORDER BY {self.term()}{way}, {self.order}"
        over = f"OVER (PARTITION BY {self.term()} ORDER BY {self.order})"
        match self.one(("limit", "star", "on", "over", "qualify", "group", "group", "order")):
            case "limit":
                return f"SELECT {', '.join(items)}" + self.rest(ordered + limit)
            case "order":
                places = ", ".join(str(n + 1) for n in range(len(items)))
                term = self.one((self.term(), f"-({self.one(items).split(' AS ')[0]})"))
                order = f" ORDER BY {term}{way}, {places}{self.one(('', limit))}"
                word = self.one(("", "DISTINCT "))
                return f"SELECT {word}{', '.join(items)}" + self.rest(order)
            case "star":
                return f"SELECT {self.one(STARS)}" + self.rest(ordered + limit)
            case "on":
                on = self.term()
                shown = self.one((", ".join(items), self.one(STARS)))
                order = f" ORDER BY {on}, {self.order}"
                return f"SELECT DISTINCT ON ({on}) {shown}" + self.rest(order)
            case "over":
                items.append(self.item(f"{self.one(('rank()', f'max({self.term()})'))} {over}"))
                return f"SELECT {', '.join(items)}" + self.rest("")
            case "qualify":
                tail = f" QUALIFY row_number() {over} = 1"
                return f"SELECT {', '.join(items)}" + self.rest(tail)
        items.append(self.item(self.one(("count(*)", f"list(r.v ORDER BY {self.order})"))))
        by = self.one(("ALL", ", ".join(self.some(self.term, 2))))
        if self.one((True, False)):
            items.append(self.item("sum(count(*)) OVER ()"))
        if self.one((True, False)):
            test = self.one((self.term(), self.term(), f"max({self.term()})", "count(*)"))
            by += f" HAVING {test} {self.one(('>', '<>'))} {self.one((0, 1, 2))}"
        places = ", ".join(str(n + 1) for n in range(len(items)))
        chosen = f" ORDER BY {self.term()}{way}, {places}{limit}" if self.one((True, False)) else ""
        return f"SELECT {', '.join(items)}" + self.rest(f" GROUP BY {by}{chosen}")


@st.composite
def queries(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[str]:
    """Queries that DuckDB and cqlduck take."""
    drawn = [Drawn(draw).query() for _ in range(10)]
    found = []
    with duckdb.connect() as base, cqlduck.connect(threads=1) as con:
        for table in TABLES:
            base.execute(f"CREATE TABLE {table}")
            con.execute(f"CREATE RELATION {table}")
        for text in drawn:
            with contextlib.suppress(duckdb.Error, cqlduck.Error):
                base.execute(text)
                con.execute(f"CREATE CONTINUOUS QUERY q{len(found)} AS {text}")
                found.append(text)
    return found


def check(count: int) -> None:
    @given(texts=queries(), recompute=st.sampled_from(["allow", "allow", "always"]))
    @settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def run(texts: list[str], recompute: str) -> None:
        assert [] == list(differences(texts, recompute=recompute))

    run()


def test_random_names() -> None:
    check(fewer_if_brief(6))


@pytest.mark.long
def test_more_random_names() -> None:
    check(30)


@pytest.mark.parametrize("call", ["s. sum(v) v", "s.v.avg(v, 1)", "s.upper(v, v)", "s.count(1, 2)"])
def test_a_method_of_too_many_arguments_is_refused_in_words(call: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        with pytest.raises(cqlduck.BindError):
            con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT {call} FROM s [RANGE 20]")
