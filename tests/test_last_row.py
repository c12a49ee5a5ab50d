"""ROWS 1 has the last row of each partition at every instant, however time is cut."""

from __future__ import annotations

from collections import Counter

import choices
from counts import fewer_if_brief
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cqlduck

Row = tuple[int, int | None, int]
ROWS = st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 1), st.integers(0, 2)))

QUERIES = {
    "SELECT k, v FROM s [PARTITION BY k ROWS 1]": ("k", "arrival"),
    "SELECT k, v FROM s [ROWS 1]": ("", "arrival"),
    "SELECT k, v FROM d [PARTITION BY k ROWS 1]": ("k", "value"),
    "SELECT k, v FROM d [ROWS 1]": ("", "value"),
}
"""Queries: by what they partition, and what is last in an instant, in which d has no order."""


def changes(rows: list[Row], by: str, last: str) -> Counter[tuple[int | None, int, int, int]]:
    """The changes of the content, from one instant to the next."""
    found: Counter[tuple[int | None, int, int, int]] = Counter()
    held: dict[int | None, tuple[int | None, int]] = {}
    for instant in range(7):
        now = [row[1:] for row in rows if row[0] == instant]
        if last == "value":
            now.sort(key=lambda row: (row[0] is None, row[0] or 0, row[1]))
        before = Counter(held.values())
        for row in now:
            held[row[0] if by else 0] = row
        after = Counter(held.values())
        found.update({(*row, instant, 1): n for row, n in (after - before).items()})
        found.update({(*row, instant, -1): n for row, n in (before - after).items()})
    return found


LAST_ROWS = {
    "query": st.sampled_from(list(QUERIES)),
    "rows": ROWS,
    "cuts": st.sets(st.integers(0, 6)),
    "staged": st.sampled_from([None, True, False]),
}


@given(**LAST_ROWS)
@example(
    "SELECT k, v FROM s [PARTITION BY k ROWS 1]",
    [(0, 1, 0), (0, None, 0), (1, 1, 1), (2, None, 1), (2, None, 2), (3, 1, 2)],
    {0},
    None,
)
@settings(
    suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=fewer_if_brief(25)
)
def test_the_last_row(query: str, rows: list[Row], cuts: set[int], staged: bool | None) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    with cqlduck.connect() as con:
        choices.force_stages(con, staged)
        con.execute(
            "CREATE STREAM s (k BIGINT, v BIGINT); CREATE CONTINUOUS QUERY d AS SELECT k, v FROM s;"
            f"CREATE CONTINUOUS QUERY q AS {query}"
        )
        since = -1
        for cut in sorted(cuts | {6}):
            for instant, *row in rows:
                if since < instant <= cut:
                    con.append("s", [tuple(row)], at=instant)
            con.heartbeat("s", cut)
            con.advance(cut)
            since = cut
        found = Counter(con.changes("q").fetchall())
    assert found == changes(rows, *QUERIES[query])
