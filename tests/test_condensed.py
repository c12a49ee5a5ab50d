"""The logs of queries that others read, up to an instant summed up: nobody sees a difference."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.state import condensed

CREATE = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE RELATION r (k INTEGER, v INTEGER);
    CREATE CONTINUOUS QUERY sums AS SELECT k, sum(v) AS v FROM s [RANGE 3] GROUP BY k;
    CREATE CONTINUOUS QUERY few AS SELECT k, v FROM r WHERE v < 3;
"""

READERS = (
    "SELECT a.k, a.v, b.v AS w FROM sums AS a JOIN few AS b ON a.k = b.k",
    "SELECT k FROM few WHERE NOT EXISTS (FROM sums WHERE sums.k = few.k AND sums.v > few.v)",
    "SELECT k, list(v) AS l FROM few GROUP BY k",
    "SELECT a.v AS k, b.v FROM few AS a, few AS b WHERE a.k = b.k",
    "SELECT k, v FROM sums ORDER BY v DESC, k LIMIT 2",
    "SELECT few.k, s.v FROM few LEFT JOIN s [RANGE 2] ON few.k = s.k",
)


@pytest.fixture(params=[0, 3])
def tail(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(condensed, "TAIL", request.param)
    least: int = request.param
    return least


def rows(con: cqlduck.Connection, name: str) -> int:
    ((count,),) = con.sql(f"SELECT count(*) FROM cql_state.{name}").fetchall()
    return int(count)


@pytest.mark.parametrize("answer", ["incremental", "recomputed"])
def test_what_a_reader_reads_stays_short(tail: int, answer: str) -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {READERS[0]}")
        con.pin("answer", answer)
        con.append("r", [(k, 1) for k in range(3)], at=0)
        for at in range(60):
            con.append("s", [(at % 3, at)], at=at)
            con.advance(at)
            expected = con.sql(
                "SELECT a.k, a.v, b.v AS w FROM sums AS a JOIN few AS b ON a.k = b.k"
            ).fetchall()
            assert Counter(con.table("q").fetchall()) == Counter(expected)
        assert rows(con, "changes_sums") > 150
        assert rows(con, "condensed_sums") <= max(tail, 2 * 3) + 3 + 4


def test_the_log_stays_as_it_is(tail: int) -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {READERS[0]}")
        seen = []
        for at in range(12):
            con.append("s", [(0, at)], at=at)
            con.advance(at)
            seen.append(con.table("sums").fetchall())
        assert [con.as_of("sums", at).fetchall() for at in range(12)] == seen


def test_who_begins_further_back_finds_what_was_there_then(tail: int) -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {READERS[2]}")
        for at in range(9):
            con.append("r", [(at % 2, at % 4)], at=at)
            con.advance(at)
        assert con.engine.condensed.of("few")
        con.execute(f"CREATE CONTINUOUS QUERY late WITH (history = true) AS {READERS[2]}")
        con.advance(9)
        for at in range(10):
            mine, other = (sorted(con.as_of(name, at).fetchall()) for name in ("late", "q"))
            assert mine == other


def test_a_reader_that_stands_still_holds_it_back(tail: int) -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {READERS[3]}")
        for at in range(9):
            if at == 3:
                con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
            con.append("r", [(0, at % 4)], at=at)
            con.advance(at)
        assert all(instant <= 2 for instant in con.engine.condensed.of("few"))
        con.execute("ALTER CONTINUOUS QUERY q ACTIVATE")
        con.advance(9)
        expected = con.sql(READERS[3]).fetchall()
        assert Counter(con.table("q").fetchall()) == Counter(expected)


def test_history_that_is_cut_behind_it_is_not_read_twice(tail: int) -> None:
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE CONTINUOUS QUERY q AS {READERS[3]};
            ALTER CONTINUOUS QUERY few SET (keep = '2');
        """)
        for at in range(9):
            con.append("r", [(0, at % 4)], at=at)
            con.advance(at)
        assert con.engine.condensed.of("few")
        for at in (20, 40, 60):
            # nothing comes, so nothing is condensed, and all that was is cut
            con.advance(at)
        con.append("r", [(0, 1)], at=61)
        con.advance(61)
        expected = con.sql(READERS[3]).fetchall()
        assert Counter(con.table("q").fetchall()) == Counter(expected)


def test_a_file_has_it_also_while_nobody_reads_it(tail: int, tmp_path: Path) -> None:
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {READERS[3]}")
        for at in range(9):
            con.append("r", [(0, at % 4)], at=at)
            con.advance(at)
        con.execute("DROP CONTINUOUS QUERY q")
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        con.execute(f"CREATE CONTINUOUS QUERY q WITH (history = true) AS {READERS[3]}")
        con.advance(9)
        assert sorted(con.as_of("q", 2).fetchall()) == [
            (v, w) for v in (0, 1, 2) for w in (0, 1, 2)
        ]


def test_time_of_another_kind_changes_the_columns_of_it(tail: int) -> None:
    with cqlduck.connect() as con:
        con.execute("""
            CREATE STREAM s (k INTEGER);
            CREATE CONTINUOUS QUERY last AS SELECT k, _ts AS t FROM s [ROWS 2];
            CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM last;
        """)
        for day in range(1, 9):
            con.append("s", [(day,), (day,)], at=f"2020-01-{day:02}")
            con.advance(f"2020-01-{day:02}")
            assert con.table("q").fetchall() == [(2,)]


def test_what_an_expired_reader_keeps_is_still_right(tail: int) -> None:
    with cqlduck.connect(standing="3 seconds", sharing=False) as con:
        con.execute(f"""{CREATE}
            CREATE CONTINUOUS QUERY q AS SELECT v, sum(k) AS k FROM few GROUP BY v;
            CREATE CONTINUOUS QUERY other AS {READERS[2]};
        """)
        for at in range(30):
            if at == 9:
                con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
            con.append("r", [(0, at % 4)], at=at)
            con.append("s", [(0, at)], at=at)
            con.advance(at)
        assert con.queries["q"].state == "expired"
        # it holds nothing back
        (base,) = con.engine.condensed.of("few")
        assert base > 20
        found = {(row[0], row[5]) for row in con.check().fetchall()}
        assert "wrong" not in {state for _, state in found}
        assert ("q", "cannot be had") in found
        con.execute("ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW")
        con.append("r", [(1, 2)], at=30)
        con.advance(30)
        expected = con.sql("SELECT v, sum(k) AS k FROM few GROUP BY v").fetchall()
        assert Counter(con.table("q").fetchall()) == Counter(expected)
        assert "wrong" not in {row[5] for row in con.check().fetchall()}


def test_a_file_has_it_and_a_name_that_looks_like_its_end_is_none(
    tail: int, tmp_path: Path
) -> None:
    name = '"WHERE _ts > 7"'
    script = f"""
        CREATE RELATION r (k INTEGER);
        CREATE CONTINUOUS QUERY {name} AS SELECT k FROM r;
        CREATE CONTINUOUS QUERY q AS SELECT a.k FROM {name} AS a, {name} AS b WHERE a.k = b.k;
    """
    known: list[Any] = []
    for at in range(6):
        with cqlduck.connect(tmp_path / "a.duckdb") as con:
            if at == 0:
                con.execute(script)
            assert con.engine.condensed.of("WHERE _ts > 7") == tuple(known[-1] if known else ())
            con.append("r", [(at % 2,)], at=at)
            con.advance(at)
            known.append(con.engine.condensed.of("WHERE _ts > 7"))
            expected = con.sql(f"SELECT a.k FROM {name} AS a, {name} AS b WHERE a.k = b.k")
            assert Counter(con.table("q").fetchall()) == Counter(expected.fetchall())
    assert known[-1]


def test_a_file_that_does_not_say_the_instant_of_a_base_has_the_log_read(
    tail: int, tmp_path: Path
) -> None:
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {READERS[3]}")
        for at in range(9):
            con.append("r", [(0, at % 4)], at=at)
            con.advance(at)
        assert con.engine.condensed.of("few")
        con.engine.database.execute("COMMENT ON VIEW cql_state.condensed_few IS NULL")
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        assert not con.engine.condensed.of("few")
        assert rows(con, "base_few") == 0
        con.append("r", [(1, 2)], at=9)
        con.advance(9)
        expected = con.sql(READERS[3]).fetchall()
        assert Counter(con.table("q").fetchall()) == Counter(expected)
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        assert tail or con.engine.condensed.of("few") == (9,)
        assert "wrong" not in {row[5] for row in con.check().fetchall()}


def test_nothing_is_left_of_what_is_dropped(tail: int) -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {READERS[0]}")
        con.append("s", [(0, 1)], at=0)
        con.advance(5)
        con.execute("DROP CONTINUOUS QUERY sums CASCADE; DROP CONTINUOUS QUERY few")
        left = con.sql(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'cql_state' "
            "AND (starts_with(table_name, 'base_') OR starts_with(table_name, 'condensed_'))"
        ).fetchall()
        assert left == []


def test_a_stream_that_is_replaced_has_none(tail: int) -> None:
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE CONTINUOUS QUERY new AS SELECT Istream(k, v) FROM few;
            CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM new [RANGE 5];
            CREATE OR REPLACE CONTINUOUS QUERY new AS SELECT Istream(k, v) FROM few WHERE v > 0;
            DROP CONTINUOUS QUERY new CASCADE;
        """)
        left = con.sql(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'cql_state' "
            "AND table_name IN ('base_new', 'condensed_new')"
        ).fetchall()
        assert left == []


few = st.sampled_from([None, 0, 1, 2])
change = st.tuples(st.just("change"), st.sampled_from("sr"), st.booleans(), few, few)
other = st.one_of(
    st.tuples(st.just("register"), st.sampled_from(READERS), st.sampled_from(["false", "true"])),
    st.tuples(st.just("pin"), st.sampled_from(["incremental", "recomputed"])),
    st.tuples(st.just("stand"), st.integers(0, 3)),
    st.tuples(st.just("go"), st.integers(0, 3)),
    st.tuples(st.just("replace"), st.sampled_from(["v < 3", "v < 2", "v < 3 OR v IS NULL"])),
    st.tuples(st.just("bound"), st.sampled_from(["2", "5", "unbounded"])),
    st.just(("open",)),
)
step = st.tuples(st.lists(st.one_of(change, change, other), max_size=5), st.integers(1, 3))


class Script:
    """A random script, of what each tick said."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.con = cqlduck.connect(path)
        self.con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q0 AS {READERS[0]}")
        self.names = ["q0"]
        self.now = 0
        self.held: Counter[Any] = Counter()

    def run(self, steps: Any) -> list[Any]:
        said = []
        for actions, until in steps:
            for action in actions:
                getattr(self, action[0])(*action[1:])
            self.now += until
            self.con.advance(self.now)
            said.append([self.answer(name) for name in (*self.names, "sums", "few")])
        said.append([sorted(map(str, self.con.changes(n).fetchall())) for n in self.names])
        self.con.close()
        return said

    def answer(self, name: str) -> Any:
        return sorted(map(str, self.con.table(name).fetchall()))

    def change(self, name: str, goes: bool, k: int | None, v: int | None) -> None:
        if name == "s":
            self.con.append("s", [(k, v)], at=self.now + 1)
        elif goes and self.held[k, v]:
            self.held[k, v] -= 1
            self.con.retract("r", [(k, v)], at=self.now + 1)
        else:
            self.held[k, v] += 1
            self.con.append("r", [(k, v)], at=self.now + 1)

    def register(self, body: str, history: str) -> None:
        if len(self.names) < 5:
            name = f"q{len(self.names)}"
            since = f"WITH (history = {history})"
            self.con.execute(f"CREATE CONTINUOUS QUERY {name} {since} AS {body}")
            self.names.append(name)

    def pin(self, option: str) -> None:
        self.con.pin("answer", option)

    def stand(self, number: int) -> None:
        name = self.names[number % len(self.names)]
        if self.con.queries[name].state == "active":
            self.con.execute(f"ALTER CONTINUOUS QUERY {name} DEACTIVATE")

    def go(self, number: int) -> None:
        name = self.names[number % len(self.names)]
        if self.con.queries[name].state != "active":
            self.con.execute(f"ALTER CONTINUOUS QUERY {name} ACTIVATE")

    def replace(self, where: str) -> None:
        self.con.execute(
            f"CREATE OR REPLACE CONTINUOUS QUERY few AS SELECT k, v FROM r WHERE {where}"
        )

    def bound(self, keep: str) -> None:
        self.con.execute(f"ALTER CONTINUOUS QUERY few SET (keep = '{keep}')")

    def open(self) -> None:
        self.con.close()
        self.con = cqlduck.connect(self.path)


@given(steps=st.lists(step, min_size=2, max_size=8), tail=st.integers(0, 3))
@settings(deadline=None, max_examples=fewer_if_brief(40))
def test_no_answer_depends_on_it(
    steps: Any, tail: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    said = []
    for least in (tail, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(condensed, "TAIL", least)
            said.append(Script(tmp_path_factory.mktemp("c") / "a.duckdb").run(steps))
    assert said[0] == said[1]
