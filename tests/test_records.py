"""Records for people to look at are bounded, and their sums stay right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from counts import fewer_if_brief
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.sources import dropzone
from cqlduck.state import records

S = "CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t"


def late(con: cqlduck.Connection) -> list[tuple[Any, ...]]:
    return con.sql("SELECT input, reason, occurrences, element, instant FROM cql.late").fetchall()


def sums(rows: list[tuple[Any, ...]]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for name, reason, count, *_ in rows:
        found[name, reason] += count
    return found


ARRIVALS = st.lists(
    st.tuples(st.sampled_from("sd"), st.lists(st.integers(0, 20), min_size=1, max_size=6)),
    min_size=3,
    max_size=12,
)


@given(arrivals=ARRIVALS, kept=st.integers(1, 9))
@settings(max_examples=fewer_if_brief(15), deadline=None, phases=(Phase.explicit, Phase.generate))
def test_late_elements_are_the_newest_and_all_are_counted(
    arrivals: list[tuple[str, list[int]]], kept: int
) -> None:
    """As many occurrences as without a bound, of each input and reason; those kept come last."""
    found = []
    for most in (kept, 10_000):
        with cqlduck.connect(records=most) as con:
            con.execute(f"{S} OUT OF ORDER WITHIN 3 LATE KEEP")
            con.execute(f"{S.replace('STREAM s', 'STREAM d')} LATE DROP")
            con.execute("CREATE RELATION r (a INTEGER)")
            for n, (name, times) in enumerate(arrivals):
                con.append(name, [(n, t) for t in times])
                con.retract("r", [(n,)], at=n)
            con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM r")
            con.advance(50)
            found.append(late(con))
    cut, whole = found
    assert sums(cut) == sums(whole)
    assert sums(cut)["r", "retracts what is not there"] == len(arrivals)
    for name in "sdr":
        kept_here = [row for row in cut if row[0] == name]
        all_here = [row for row in whole if row[0] == name]
        reasons = len({row[1] for row in all_here})
        assert len(kept_here) <= kept + kept // 4 + reasons
        newest = [row for row in kept_here if row[4] is not None]
        assert newest == all_here[len(all_here) - len(newest) :]
        assert len(newest) >= min(kept, len(all_here))


def test_a_bound_holds_after_opening_and_dropping(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(f"{S} LATE KEEP; CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
        con.append("s", [(0, 9)])
        con.append("s", [(n, 1) for n in range(1, 31)])
        assert 30 == len(late(con))
    with cqlduck.connect(path, records=4) as con:
        expected = [("s", "late", 1, f"{{'a': {n}, 't': 1}}", "1") for n in range(27, 31)]
        assert [*expected, ("s", "late", 26, None, None)] == late(con)
        con.append("s", [(31, 1)])
        assert [5, 26] == [len(late(con)) - 1, late(con)[-1][2]], "a quarter more may stay"
        con.append("s", [(32, 1)])
        assert [4, 28] == [len(late(con)) - 1, late(con)[-1][2]]
        con.execute("DROP CONTINUOUS QUERY q; DROP STREAM s")
        con.execute(f"{S} LATE KEEP")
        assert [] == late(con)


def test_what_is_undone_is_not_counted(con: cqlduck.Connection) -> None:
    con.execute(f"{S} LATE KEEP")
    con.append("s", [(0, 9)])
    with pytest.raises(cqlduck.Error):
        con.execute("INSERT INTO s VALUES (1, 1); SELECT no_such_column FROM s")
    assert [] == late(con)
    assert set() == con.engine.database.recorded


def test_corrections_are_the_newest() -> None:
    with cqlduck.connect(records=3) as con:
        con.execute(f"{S} LATE AMEND; CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM s")
        for n in range(10):
            con.append("s", [(n, 10 * n + 5)])
            con.advance(10 * n + 5)
            con.append("s", [(n, 10 * n)])
            con.advance(10 * n + 6)
        found = con.sql("SELECT query, instant, element, weight, published FROM cql.corrections")
        rows = found.fetchall()
        changes = con.changes("q").filter("_weight > 0").order("_ts").fetchall()
    assert 20 == changes[-1][0]
    assert len(rows) <= 5
    assert {"q"} == {row[0] for row in rows}
    assert 0 == sum(row[3] for row in rows), "each correction takes one row back, and gives one"
    assert (None, None) == rows[-1][1:3]


def test_quarantined_batches_are_counted_and_none_is_taken_twice(tmp_path: Path) -> None:
    zone, path = tmp_path / "zone", tmp_path / "a.duckdb"

    def write(number: int, times: list[int]) -> None:
        writer = dropzone.BatchWriter(zone, "s", ts="t")
        writer.write_batch(number, pa.table({"a": times, "t": times}))

    def batches(con: cqlduck.Connection) -> list[tuple[Any, ...]]:
        return con.sql("SELECT batch, row_count, state, reason FROM cql.batches").fetchall()

    with cqlduck.connect(path, drop_zone=zone, records=2) as con:
        con.execute("CREATE STREAM s (a BIGINT, t BIGINT) TIMESTAMP BY t FROM 's';"
                    "CREATE CONTINUOUS QUERY q AS SELECT a FROM s")  # fmt: skip
        write(0, [50, 51])
        for n in range(8):
            write(n + 1, [n])
            con.follow()
        write(9, [60])
        con.follow()
        found = batches(con)
        assert (9, 1, "taken", None) in found
        assert [7, 8] == [row[0] for row in found if row[2] == "quarantined"][:2]
        assert [(None, 6, "quarantined", "6 batches before these")] == [
            row for row in found if row[0] is None
        ]
    with cqlduck.connect(path, drop_zone=zone, records=2) as con:
        assert 0 == con.follow()
        assert found == batches(con)
        con.advance(70)
        assert [50, 51, 60] == [row[0] for row in con.changes("q").order("a").fetchall()]
        assert 10 == con.sql("SELECT next_batch FROM cql.streams").fetchall()[0][0]


def test_records_of_this_change_and_of_earlier_ones_are_cut_alike(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB filters `rowid` wrongly, now and then, where committed rows stand beside new ones."""
    database = con.engine.database
    for table in (f"late_{n}" for n in range(60)):
        monkeypatch.setattr(records, "KINDS", (kind := records.Kind(table, "o", "''", "1"),))
        database.execute(f"CREATE TABLE cql_state.{table} (o VARCHAR, number BIGINT)")
        written = 0
        for count in (4, 1, 3, 2, 5):
            with database.transaction():
                database.execute(
                    f"INSERT INTO cql_state.{table} SELECT 's', n FROM range($low, $high) AS r(n)",
                    {"low": written, "high": written + count},
                )
                written += count
                records.note(database, kind, "s")
                records.cut(database, 1)
            assert [(written - 1,)] == database.rows(f"SELECT number FROM cql_state.{table}")
        counted = f"SELECT records FROM cql_state.cut_records WHERE kind = '{table}'"
        assert written - 1 == database.value(counted)
