"""Which rows are late or ahead, what becomes of them, and that no cut of time changes it.

`Stream` below is the rule read literally, one row after the other; what cqlduck does is compared to
it, for appends and for batches of the drop zone, however following is cut into calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.sources import dropzone

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
END = 60
ELEMENTS = pa.schema([("v", pa.int64()), ("_ts", pa.int64())])

Row = tuple[int, int]
"""A timestamp and a value."""


@dataclass
class Stream:
    """A stream on integer time, by the letter."""

    late: str
    bound: int
    ahead: int | None
    heartbeat: int | None = None
    last: int | None = None
    taken: list[Row] = field(default_factory=list)
    recorded: list[tuple[str, str, int, str | None]] = field(default_factory=list)

    @property
    def declaration(self) -> str:
        ahead = "" if self.ahead is None else f"AHEAD AT MOST {self.ahead}"
        return (
            f"CREATE STREAM s (v BIGINT) OUT OF ORDER WITHIN {self.bound} LATE {self.late} {ahead}"
        )

    def promise(self, instant: int) -> None:
        self.heartbeat = instant if self.heartbeat is None else max(self.heartbeat, instant)

    def arrive(self, rows: Sequence[Row]) -> list[int]:
        """Take rows in; return the positions of those for which they are all refused."""
        limit = None
        if self.ahead is not None and self.last is not None:
            reached = self.last if self.heartbeat is None else max(self.last, self.heartbeat)
            limit = reached + self.ahead
        edge = self.heartbeat
        faults: dict[int, str] = {}
        for place, (ts, _) in enumerate(rows):
            if limit is not None and ts > limit:
                faults[place] = "ahead"
                continue
            if edge is not None and ts <= edge:
                faults[place] = "late"
            own = ts - self.bound - 1
            edge = own if edge is None else max(edge, own)
        if faults and self.late == "REJECT":
            return sorted(faults)
        self._record(rows, faults)
        left = [
            row
            for place, row in enumerate(rows)
            if place not in faults or (self.late, faults[place]) == ("AMEND", "late")
        ]
        self.taken += left
        for ts, _ in left:
            self.last = ts if self.last is None else max(self.last, ts)
        if self.last is not None:
            self.promise(self.last - self.bound - 1)
        return []

    def _record(self, rows: Sequence[Row], faults: dict[int, str]) -> None:
        if self.late == "DROP":
            for fault, reason in (("ahead", "ahead"), ("late", "late, dropped")):
                times = [rows[place][0] for place, found in faults.items() if found == fault]
                if times:
                    self.recorded.append((str(max(times)), reason, len(times), None))
            return
        reasons = {"late": "late, amends" if self.late == "AMEND" else "late", "ahead": "ahead"}
        for place, fault in faults.items():
            ts, v = rows[place]
            self.recorded.append((str(ts), reasons[fault], 1, f"{{'v': {v}}}"))


def state(con: cqlduck.Connection) -> list[Any]:
    """Heartbeat, what is recorded, and the elements in the order of their arrival."""
    heartbeat = con.sql("SELECT heartbeat FROM cql.streams").fetchall()[0][0]
    recorded = con.sql("SELECT instant, reason, occurrences, element FROM cql.late ORDER BY ALL")
    stored = con.sql("SELECT _ts, v FROM cql_state.stream_s ORDER BY _cql_seq")
    return [heartbeat, recorded.fetchall(), stored.fetchall()]


def expected(stream: Stream) -> list[Any]:
    heartbeat = None if stream.heartbeat is None else str(stream.heartbeat)
    recorded = sorted(stream.recorded, key=lambda row: tuple(map(str, row)))
    return [heartbeat, recorded, stream.taken]


streams = st.builds(
    Stream,
    late=st.sampled_from(["REJECT", "DROP", "KEEP", "AMEND"]),
    bound=st.integers(0, 2),
    ahead=st.none() | st.integers(0, 6),
)
times = st.integers(0, 12) | st.just(30)
arrivals = st.lists(st.tuples(times, st.integers(0, 9)), max_size=4)

# It looks back on all, so nothing is forgotten.
QUERY = "CREATE CONTINUOUS QUERY q AS SELECT a.v, a.v + b.v AS w FROM s [RANGE 3] a, s b"


@pytest.fixture(scope="module")
def zone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[cqlduck.Connection, Path]]:
    """A connection for many cases, each with a stream of its own, and its drop zone."""
    root = tmp_path_factory.mktemp("zone")
    with cqlduck.connect(threads=1, drop_zone=root) as con:
        yield con, root


# ------------------------------------------------------------------------------------------ append


def test_a_late_error_says_which_row_moved_the_heartbeat(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (v BIGINT) OUT OF ORDER WITHIN 1")
    with pytest.raises(cqlduck.LateError, match="heartbeat is at 7, moved there by row 1 at 9"):
        con.append("s", [(1,), (2,), (3,), (4,)], at=[8, 9, 6, 5])
    con.append("s", [(1,), (2,)], at=[8, 9])
    with pytest.raises(cqlduck.LateError, match=r"is at 7, moved there by \{'v': 2\} at 9"):
        con.append("s", [(3,)], at=6)
    con.heartbeat("s", 8)
    with pytest.raises(cqlduck.LateError, match=r"is at 8, moved there by heartbeat\(\)"):
        con.append("s", [(3,)], at=8)


def test_what_is_ahead_moves_no_heartbeat(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (v BIGINT) AHEAD AT MOST 10; CREATE STREAM o (v BIGINT)")
    con.append("s", [(1,)], at=1000)  # the first is free
    with pytest.raises(cqlduck.LateError, match=r"row 1 is at 1012.* AHEAD AT MOST 10 allows 1010"):
        con.append("s", [(2,), (3,)], at=[1005, 1012])
    assert 1 == con.append("s", [(2,)], at=[1010])
    # over a true gap the heartbeat leads
    con.heartbeat("s", 5000)
    assert 1 == con.append("s", [(3,)], at=[5010])
    with pytest.raises(cqlduck.LateError, match="allows 5020"):
        con.append("s", [(4,)], at=[5021])
    # the rows of one append are all judged by what was before it
    assert 2 == con.append("s", [(5,), (6,)], at=[5020, 5011 + 9])


@pytest.mark.parametrize(
    ("policy", "recorded"),
    [
        ("DROP", [("99", "ahead", 1, None), ("3", "late, dropped", 1, None)]),
        ("KEEP", [("99", "ahead", 1, "{'v': 2}"), ("3", "late", 1, "{'v': 3}")]),
        ("AMEND", [("99", "ahead", 1, "{'v': 2}"), ("3", "late, amends", 1, "{'v': 3}")]),
    ],
)
def test_what_is_ahead_meets_the_late_policy(
    policy: str, recorded: list[Any], con: cqlduck.Connection
) -> None:
    con.execute(f"CREATE STREAM s (v BIGINT) LATE {policy} AHEAD AT MOST 5")
    con.append("s", [(1,)], at=5)
    # were 99 to count, 6 would be late
    assert (3 if policy == "AMEND" else 2) == con.append(
        "s", [(2,), (3,), (4,), (5,)], at=[99, 3, 6, 7]
    )
    rows = con.sql("SELECT instant, reason, occurrences, element FROM cql.late ORDER BY reason")
    assert recorded == rows.fetchall()
    assert [("6", "7", "5")] == con.sql(
        "SELECT heartbeat, last_element, ahead_at_most FROM cql.streams"
    ).fetchall()


def test_ahead_on_the_clock_on_the_wall(tmp_path: Path) -> None:
    path = tmp_path / "it.duckdb"
    declaration = """
        CREATE STREAM s (v BIGINT, at TIMESTAMP) TIMESTAMP BY at
            AHEAD AT MOST 1 HOUR OUT OF ORDER WITHIN 5 MINUTES
    """
    with cqlduck.connect(path, granularity="1 second") as con:
        con.execute(declaration)
        con.append("s", [(1, "2013-01-01 12:00:00.7")])
        with pytest.raises(cqlduck.LateError, match="3600 seconds allows 2013-01-01 13:00:00"):
            con.append("s", [(2, "2013-01-01 13:00:01")])
    with cqlduck.connect(path) as con:
        # instants are compared, not microseconds
        assert 1 == con.append("s", [(2, "2013-01-01 13:00:00.999")])
        assert [("3600 seconds",)] == con.sql("SELECT ahead_at_most FROM cql.streams").fetchall()


APPENDS = {
    "stream": streams,
    "steps": st.lists(arrivals | times, max_size=6),
    "arrow": st.booleans(),
}


@given(**APPENDS)
@settings(
    suppress_health_check=QUIET,
    deadline=None,
    max_examples=fewer_if_brief(settings().max_examples // 4),
)
def test_appends_are_judged_by_the_letter(
    zone: tuple[cqlduck.Connection, Path],
    stream: Stream,
    steps: list[list[Row] | int],
    arrow: bool,
) -> None:
    con, _ = zone
    con.execute(f"DROP STREAM IF EXISTS s; {stream.declaration}")
    for step in steps:
        if isinstance(step, int):
            con.heartbeat("s", step)
            stream.promise(step)
            continue
        data: Any = [(v,) for _, v in step]
        if arrow:
            data = pa.table({"v": [v for _, v in step], "_ts": [ts for ts, _ in step]}, ELEMENTS)
        refused = stream.arrive(step)
        at = None if arrow else [ts for ts, _ in step]
        if refused:
            with pytest.raises(cqlduck.LateError) as caught:
                con.append("s", data, at=at)
            assert refused == caught.value.rows
        else:
            con.append("s", data, at=at)
    assert expected(stream) == state(con)
    con.execute("DROP STREAM s")


# ---------------------------------------------------------------------- ALTER STREAM … HEARTBEAT


def far_ahead(con: cqlduck.Connection) -> None:
    """A row of s at 9000 closes it; the other stream holds q back, and o reads that alone."""
    con.execute("""
        CREATE STREAM s (v BIGINT) LATE KEEP;
        CREATE STREAM other (v BIGINT);
        CREATE CONTINUOUS QUERY q AS SELECT s.v FROM s, other WHERE s.v = other.v;
        CREATE CONTINUOUS QUERY o AS SELECT count(*) AS n FROM other;
    """)
    con.append("other", [(1,), (2,)], at=[4, 7])
    con.append("s", [(1,), (2,), (3,)], at=[3, 9, 9000])
    assert 6 == con.advance()


def test_the_heartbeat_can_be_taken_back(con: cqlduck.Connection) -> None:
    far_ahead(con)
    con.execute("ALTER STREAM s HEARTBEAT 8")
    recorded = con.sql("SELECT input, instant, reason, occurrences, element FROM cql.late")
    reason = "after the heartbeat taken back"
    assert [
        ("s", "9", reason, 1, "{'v': 2}"),
        ("s", "9000", reason, 1, "{'v': 3}"),
    ] == recorded.fetchall()
    assert [("8", "3", "3")] == con.sql(
        "SELECT heartbeat, first_element, last_element FROM cql.streams WHERE name = 's'"
    ).fetchall()
    # the stream goes on as if they had never come
    assert 2 == con.append("s", [(2,), (1,)], at=[9, 10])
    assert 30 == con.advance(30)
    assert [(1, 4, 1), (2, 9, 1), (1, 10, 1)] == con.changes("q").fetchall()


def test_nothing_of_a_stream_may_be_left(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (v BIGINT) AHEAD AT MOST 5")
    con.append("s", [(1,)], at=9000)
    con.execute("ALTER STREAM s HEARTBEAT 8")
    assert [("8", None, None)] == con.sql(
        "SELECT heartbeat, first_element, last_element FROM cql.streams"
    ).fetchall()
    # the first row is free again
    assert 1 == con.append("s", [(1,)], at=20)


def test_what_a_query_has_passed_is_not_taken_back(con: cqlduck.Connection) -> None:
    far_ahead(con)
    before = state(con)
    with pytest.raises(cqlduck.DataError, match=r"answers beyond 5 are out: q \(at 6\)") as caught:
        con.execute("ALTER STREAM s HEARTBEAT 5")
    assert "drop" in str(caught.value.hint)
    with pytest.raises(cqlduck.DataError, match="is at 8999, which is not after 9001"):
        con.execute("ALTER STREAM s HEARTBEAT 9001")
    assert before == state(con)
    # a query that does not read it may be beyond
    con.execute("DROP CONTINUOUS QUERY q; ALTER STREAM s HEARTBEAT 5")
    assert "5" == state(con)[0]


@pytest.mark.parametrize(
    ("statement", "kind", "words"),
    [
        ("ALTER STREAM nothing HEARTBEAT 1", cqlduck.CatalogError, "nothing"),
        ("ALTER STREAM r HEARTBEAT 1", cqlduck.CatalogError, "relation"),
        ("ALTER STREAM s HEARTBEAT 1", cqlduck.DataError, "none"),
        ("ALTER STREAM s HEARTBEAT", cqlduck.ParseError, "ends too early"),
        ("ALTER STREAM s HEARTBEAT now", cqlduck.ParseError, "no instant"),
        ("ALTER STREAM s HEARTBEAT 1 2", cqlduck.ParseError, "end here"),
        ("ALTER STREAM s RENAME TO t", cqlduck.ParseError, "HEARTBEAT"),
        ("CREATE STREAM t (v BIGINT) AHEAD AT MOST", cqlduck.ParseError, "duration"),
        ("CREATE STREAM t (v BIGINT) AHEAD OF TIME 3", cqlduck.ParseError, "AHEAD AT MOST"),
        ("CREATE STREAM t (v BIGINT) AHEAD AT MOST 2 MONTHS", cqlduck.ParseError, "fixed length"),
    ],
)
def test_statements_that_are_refused(
    statement: str, kind: type[cqlduck.Error], words: str, con: cqlduck.Connection
) -> None:
    con.execute("CREATE STREAM s (v BIGINT); CREATE RELATION r (v BIGINT)")
    with pytest.raises(kind) as caught:
        con.execute(statement)
    assert words in str(caught.value)


# --------------------------------------------------------------------------------------- drop zone


@dataclass(frozen=True)
class Sent:
    """A batch: the rows of its files, and its heartbeat."""

    files: tuple[tuple[Row, ...], ...]
    heartbeat: int | None = None

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.files for row in rows]


sent = st.builds(
    Sent,
    files=st.lists(st.lists(st.tuples(times, st.integers(0, 9)), max_size=3).map(tuple),
                   max_size=2).map(tuple),
    heartbeat=st.none() | times,
)  # fmt: skip


def write(folder: Path, number: int, batch: Sent) -> None:
    hidden = dropzone.hidden_folder(folder, number)
    rows = batch.rows
    names = [f"part-{i}.parquet" for i in range(len(batch.files))] if rows else []
    for name, file in zip(names, batch.files, strict=False):
        columns = {"v": [v for _, v in file], "_ts": [ts for ts, _ in file]}
        pq.write_table(pa.table(columns, ELEMENTS), hidden / name)
    stamps = [ts for ts, _ in rows]
    reach = dropzone.Extent(len(rows), min(stamps), max(stamps), False) if rows else None
    manifest = dropzone.describe(folder.name, number, reach, batch.heartbeat, names, ELEMENTS)
    (hidden / dropzone.MANIFEST).write_text(manifest.to_json())
    # as `publish` does, but for what makes it outlast a crash of the machine
    hidden.rename(dropzone.batch_folder(folder, number))


def followed(
    con: cqlduck.Connection, folder: str, stream: Stream, cuts: Sequence[int | None]
) -> list[Any]:
    """What there is after following with these limits, and then to the end."""
    con.execute(f"{stream.declaration} FROM '{folder}'; {QUERY}")
    for limit in (*cuts, None):
        con.follow(limit=limit)
    passed = con.sql("SELECT batch FROM cql.batches WHERE state = 'quarantined'").fetchall()
    found = [*state(con), [number for (number,) in passed]]
    con.advance(END)
    if stream.late == "AMEND":
        # corrections come at the instant that was open when the late row came
        found.append(sorted(con.table("q").fetchall()))
    else:
        found.append(sorted(con.changes("q").fetchall()))
    con.execute("DROP CONTINUOUS QUERY q; DROP STREAM s")
    return found


def test_a_batch_that_is_ahead_is_quarantined_and_following_goes_on(
    zone: tuple[cqlduck.Connection, Path], tmp_path: Path
) -> None:
    con, root = zone
    for number, ts in enumerate((5, 500, 6)):
        write(root / tmp_path.name, number, Sent((((ts, number),),)))
    stream = Stream("REJECT", 0, 10)
    found = followed(con, tmp_path.name, stream, [])
    assert ["5", [], [(5, 0), (6, 2)], [1]] == found[:4]


FOLDERS = itertools.count()
BATCHES = {
    "stream": streams,
    "batches": st.lists(sent, min_size=1, max_size=5),
    "cuts": st.just([1, 1, 1, 1]) | st.lists(st.integers(1, 3), min_size=1, max_size=4),
}


@example(
    stream=Stream("KEEP", 0, None),
    batches=[Sent((((1, 1),),)), Sent((((5, 1),),)), Sent((((2, 1),),))],
    cuts=[1, 1],
)
@given(**BATCHES)
@settings(
    suppress_health_check=QUIET,
    deadline=None,
    max_examples=fewer_if_brief(settings().max_examples // 12),
)
def test_no_cut_of_following_changes_what_is_late(
    zone: tuple[cqlduck.Connection, Path], stream: Stream, batches: list[Sent], cuts: list[int]
) -> None:
    con, root = zone
    con.execute("DROP CONTINUOUS QUERY IF EXISTS q; DROP STREAM IF EXISTS s")
    folder = f"case{next(FOLDERS)}"
    for number, batch in enumerate(batches):
        write(root / folder, number, batch)
    together = followed(con, folder, stream, [])
    assert together == followed(con, folder, stream, cuts)
    stream = replace(stream, taken=[], recorded=[])
    quarantined = []
    for number, batch in enumerate(batches):
        if stream.arrive(batch.rows):
            quarantined.append(number)
        elif batch.heartbeat is not None:
            stream.promise(batch.heartbeat)
    assert [*expected(stream), quarantined] == together[:4]
