"""Groups of an aggregate found through an index: what runs, what it finds, when it is chosen."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import choices
import duckdb
import pyarrow as pa
import pytest

import cqlduck
from cqlduck.errors import Error
from cqlduck.rewrite.operators.search import MAX_ELEMENTS, MAX_KEYS
from cqlduck.rewrite.plan.orders import Site
from cqlduck.rewrite.plan.searches import SEARCH
from cqlduck.rewrite.statements.ordered import NOWHERE, TableSearch
from cqlduck.state.probing import RowsCounted
from cqlduck.state.profile import Profile
from cqlduck.streamon import confirming, lookups, searching
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import SCAN, Facts
from cqlduck.streamon.searching import LEAST_ROWS, MOST_TICKS, Searching

KEYED = "CREATE RELATION r (k INTEGER, g VARCHAR, v INTEGER, PRIMARY KEY (k, g, v));"
BAG = "CREATE RELATION r (k INTEGER, g VARCHAR, v INTEGER);"
STREAM = "CREATE STREAM r (k INTEGER, g VARCHAR, v INTEGER);"
GROUPS = 5_000
SCANS = [("CREATE", "Index Scan"), ("DELETE", "Index Scan")]
"""How the groups are read: where a value is missing, if DuckDB does not know that there is none."""


def sums(key: str, keys: Sequence[str], *, never_null: bool = False) -> str:
    """Return a query of sums by keys, of which it shows one."""
    known = " WHERE " + " AND ".join(f"{k} IS NOT NULL" for k in keys) if never_null else ""
    return (
        f"CREATE CONTINUOUS QUERY q AS SELECT {key} AS key, sum(v) AS s, max(v) AS m FROM r{known} "
        f"GROUP BY {', '.join(keys)};"
    )


class Seen(Profile):
    """Notes how statements scan tables whose names have something in them."""

    def __init__(self, table: str) -> None:
        super().__init__(lambda _: (), deep=True)
        self.table = table
        self.scans: list[tuple[str, str]] = []

    def inside(self, text: str) -> None:
        said = json.loads(text)
        if "operator" in said and not said["query"]["sql"].startswith("CREATE INDEX"):
            verb = said["query"]["sql"].split()[0]
            self.scans += [(verb, kind) for kind in _scans(said["operator"], self.table)]


def _scans(operators: list[dict[str, Any]], table: str) -> Iterator[str]:
    for one in operators:
        info = one["extra_info"]
        if one["type"] == "TABLE_SCAN" and table in str(info.get("Table")):
            yield info["Type"]
        yield from _scans(one.get("children", []), table)


@contextmanager
def seen(con: cqlduck.Connection, table: str = "_groups") -> Iterator[Seen]:
    """Note how tables are scanned in the block; by default synopses of groups."""
    base, found = con.engine.database, Seen(table)
    with con.profile(deep=True) as counted:
        base.profile = found
        yield found
        base.profile = counted


def indexed(con: cqlduck.Connection) -> list[str]:
    """Return the columns that have an index."""
    found = con.engine.database.rows(
        "SELECT sql FROM duckdb_indexes() WHERE table_name LIKE '%groups' ORDER BY ALL"
    )
    return [text.rpartition("(")[2].rstrip(");").strip('"') for (text,) in found]


def fill(con: cqlduck.Connection, groups: int = GROUPS) -> None:
    """Have a relation have groups, of two tuples each."""
    keys = [n // 2 for n in range(2 * groups)]
    names = [f"g{n}" for n in keys]
    rows = {"k": pa.array(keys, pa.int32()), "g": names, "v": pa.array([0, 1] * groups, pa.int32())}
    con.append("r", pa.table(rows), at=1)
    con.advance(1)


@pytest.mark.parametrize(("keys", "option"), [(("k",), "1"), (("k", "g"), "1"), (("k", "g"), "2")])
@pytest.mark.parametrize("never_null", [True, False])
def test_few_changes_find_their_groups_through_the_index(never_null, keys, option) -> None:
    """Also if a key may be NULL: then such groups are looked for besides."""
    with cqlduck.connect() as con:
        con.execute(BAG + sums(keys[-1], keys, never_null=never_null))
        fill(con)
        con.pin("search", option, "q")
        con.append("r", [(1, "g1", 5), (7, "g7", 5), (8, "g8", 7)], at=2)
        with seen(con) as found:
            con.advance(2)
        assert found.scans == SCANS
        answer = dict(con.sql("SELECT key, m FROM q WHERE s > 1").fetchall())
        changed = {1: 5, 7: 5, 8: 7}
        assert answer == (changed if keys[-1] == "k" else {f"g{k}": m for k, m in changed.items()})


def test_what_is_shown_is_the_form_with_the_index(con: cqlduck.Connection) -> None:
    con.execute(BAG + sums("k", ("k",), never_null=True))
    fill(con)
    before = con.explain("q")
    con.pin("search", "1", "q")
    con.append("r", [(1, "g1", 5)], at=2)
    con.advance(2)
    assert "an index on key 1" in con.explain("q")
    assert "an index on key 1" not in before
    con.pin("search", "scan", "q")
    con.append("r", [(1, "g1", 5)], at=3)
    con.advance(3)
    assert "an index on key 1" not in con.explain("q")


@pytest.mark.parametrize("keys", [("k",), ("k", "g")])
@pytest.mark.parametrize("never_null", [True, False])
def test_ticks_of_several_instants_find_theirs_too(never_null, keys) -> None:
    with cqlduck.connect() as con:
        con.execute(BAG + sums(keys[0], keys, never_null=never_null))
        fill(con)
        con.pin("search", "1", "q")
        # of values that are a range DuckDB makes two comparisons, for which it uses no index
        for at in (2, 5, 9):
            con.append("r", [(at, f"g{at}", at)], at=at)
        with seen(con) as found:
            con.advance(9)
        assert found.scans == SCANS
        shown = con.sql("SELECT key, m FROM q WHERE m > 1 ORDER BY 1").fetchall()
        assert shown == [(2, 2), (5, 5), (9, 9)]


@pytest.mark.parametrize("relation", [KEYED, BAG])
def test_few_changes_find_the_rows_of_a_relation_through_an_index(relation) -> None:
    """Also where such rows have ended before, and where changes have several instants."""
    with cqlduck.connect() as con:
        con.execute(relation + "CREATE CONTINUOUS QUERY q AS FROM r WHERE v > 1")
        fill(con)
        con.pin("search", "2", "r")
        there = {key: 1 for key in (7, 70, 700, 71, 4000)}
        for at, keys in ((2, (7, 70, 700)), (3, (7, 71)), (5, (70, 4000))):
            for place, key in enumerate(keys):
                instant = at + (place if at == 5 else 0)
                con.retract("r", [(key, f"g{key}", there[key])], at=instant)
                there[key] = at
                con.append("r", [(key, f"g{key}", at)], at=instant)
            with seen(con, "relation_r") as found:
                con.advance(at + (at == 5))
            assert {("CREATE", "Index Scan"), ("UPDATE", "Index Scan")} <= set(found.scans)
            assert ("UPDATE", "Sequential Scan") not in found.scans
            shown = dict(con.sql("SELECT k, v FROM q").fetchall())
            assert shown == {key: value for key, value in there.items() if value > 1}
        assert con.sql("FROM cql.late").fetchall() == []


@pytest.mark.parametrize("count", [MAX_KEYS // 2, MAX_ELEMENTS // 2, MAX_ELEMENTS])
@pytest.mark.parametrize("relation", [KEYED, BAG])
def test_more_changes_find_rows_of_a_relation_than_find_groups(relation, count) -> None:
    """For those alone DuckDB looks up so many values, and not for what else the tick does."""
    threshold = "SELECT current_setting('dynamic_or_filter_threshold')"
    with cqlduck.connect() as con:
        con.execute(relation + "CREATE CONTINUOUS QUERY q AS FROM r WHERE v > 1")
        fill(con, 20 * MAX_ELEMENTS)
        con.pin("search", "1", "r")
        # not a range, which would be two comparisons
        keys = [7 + 3 * n + n % 2 for n in range(count // 2)]
        for at, before in ((2, 1), (3, 2)):
            con.retract("r", [(key, f"g{key}", before) for key in keys], at=at)
            con.append("r", [(key, f"g{key}", at) for key in keys], at=at)
            with seen(con, "relation_r") as found:
                con.advance(at)
            assert ("CREATE", "Index Scan") in found.scans
            assert ("CREATE", "Sequential Scan") not in found.scans
            assert con.engine.database.value(threshold) == MAX_KEYS
            shown = sorted(con.sql("SELECT k, v FROM q").fetchall())
            assert shown == [(key, at) for key in keys]


def test_an_index_goes_before_many_elements_come(tmp_path: Path) -> None:
    """It would take longer to keep it; and a relation whose first elements come is renamed."""
    with cqlduck.connect(tmp_path / "some.duckdb") as con:
        con.execute(BAG + "CREATE CONTINUOUS QUERY q AS FROM r")
        con.pin("search", "1", "r")
        con.append("r", [(1, "g1", 5), (2, "g2", 5)], at=1)
        con.advance(1)
        con.append("r", [(1, "g1", 6)] * 40, at=2)
        con.advance(2)
        assert con.engine.indexes.of("r") == ()
        for at in (3, 4):
            con.append("r", [(1, "g1", at)], at=at)
            con.retract("r", [(1, "g1", 6)], at=at)
            con.advance(at)
        assert [one.place for one in con.engine.indexes.of("r")] == [0]
    with cqlduck.connect(tmp_path / "some.duckdb") as con:
        assert [one.place for one in con.engine.indexes.of("r")] == [0]
        con.append("r", [(3, "g1", 7)] * 1000, at=5)
        con.advance(5)
        assert con.engine.indexes.of("r") == ()
        assert con.engine.database.value("SELECT count(*) FROM duckdb_indexes()") == 0
        assert len(con.table("q").fetchall()) == 1042
        con.append("r", [(4, "g1", 7)], at=6)
        con.advance(6)
        con.execute("DROP CONTINUOUS QUERY q; DROP RELATION r")
        assert con.engine.indexes.kept == {}


def test_without_the_option_there_is_no_index() -> None:
    with cqlduck.connect() as con:
        con.execute(BAG + sums("k", "k"))
        fill(con)
        con.pin("search", "1", "q")
        con.append("r", [(1, "g1", 5)], at=2)
        con.advance(2)
        threshold = "SELECT current_setting('dynamic_or_filter_threshold')"
        assert (indexed(con), con.engine.database.value(threshold)) == (["r.k"], MAX_KEYS)
        con.pin("search", "scan", "q")
        con.append("r", [(1, "g1", 6)], at=3)
        with seen(con) as found:
            con.advance(3)
        assert "Index Scan" not in {kind for _, kind in found.scans}
        assert indexed(con) == []
        assert con.engine.database.value(threshold) < MAX_KEYS


def test_only_a_key_of_the_aggregate_is_an_option() -> None:
    with cqlduck.connect() as con:
        con.execute(BAG + sums("k", "k"))
        con.pin("search", "2")
        con.append("r", [(1, "g1", 5)], at=1)
        con.advance(1)
        assert indexed(con) == []
        with pytest.raises(Error, match="the point search has no option 0"):
            con.pin("search", "0")
        with pytest.raises(Error, match="the point search has no option k"):
            con.pin("search", "k")
        with pytest.raises(Error, match="options are texts, such as 'scan'"):
            con.pin("search", 1)


@pytest.mark.parametrize("given", [KEYED, BAG, STREAM])
@pytest.mark.parametrize(("key", "by"), [("k", "k"), ("k, g", "k, g"), ("v, k", "v, k")])
def test_answers_are_those_of_duckdb(given, key, by) -> None:
    """NULL among the keys, ticks of one instant and of several, the option changes in between."""
    drawn = random.Random(f"{given}{key}")
    calls = "sum(v) AS s, count(*) AS n, max(v) AS m, count(DISTINCT g) AS d"
    never = given == KEYED
    with cqlduck.connect() as con, duckdb.connect() as right:
        window = " [RANGE UNBOUNDED]" if given == STREAM else ""
        con.execute(f"{given} CREATE CONTINUOUS QUERY q AS SELECT {key}, {calls} FROM r{window} "
                    f"GROUP BY {by}")  # fmt: skip
        right.execute("CREATE TABLE r (k INTEGER, g VARCHAR, v INTEGER)")
        rows: list[tuple[Any, ...]] = []
        for tick in range(30):
            if tick % 4 == 1:
                # of the relation too
                con.pin("search", drawn.choice(["1", "2", "scan", "1,2"]))
            for at in range(3 * tick, 3 * tick + drawn.choice([1, 3])):
                for _ in range(4):
                    if rows and given != STREAM and drawn.random() < 0.4:
                        gone = drawn.choice(rows)
                        rows.remove(gone)
                        con.retract("r", [gone], at=at)
                        continue
                    nothing = [] if never else [None]
                    row = (drawn.choice([*nothing, *range(5)]), drawn.choice([*nothing, "a", "b"]),
                           drawn.choice([*nothing, *range(4)]))  # fmt: skip
                    if not never or row not in rows:
                        rows.append(row)
                        con.append("r", [row], at=at)
            con.advance(3 * tick + 2)
            right.execute("DELETE FROM r")
            if rows:
                right.executemany("INSERT INTO r VALUES (?, ?, ?)", rows)
            wanted = right.sql(f"SELECT {key}, {calls} FROM r GROUP BY {by}").fetchall()
            assert sorted(con.table("q").fetchall(), key=repr) == sorted(wanted, key=repr)
        assert [row for row in con.check().fetchall() if row[5] == "wrong"] == []


@pytest.mark.parametrize("undone", [False, True])
def test_an_index_outlives_the_process(tmp_path: Path, undone: bool) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(BAG + sums("k", "k"))
        fill(con, 50)
        con.pin("search", "1", "q")
        con.append("r", [(1, "g1", 5)], at=2)
        con.advance(2)
    with cqlduck.connect(path) as con:
        assert [one.place for one in con.engine.indexes.of("q")] == [0]
        if undone:
            con.pin("search", None, "q")
        con.append("r", [(1, "g1", 7)], at=3)
        con.advance(3)
        assert indexed(con) == ([] if undone else ["r.k"])
        assert con.sql("SELECT m FROM q WHERE key = 1").fetchall() == [(7,)]
        copy = con.snapshot(tmp_path / "copy.duckdb")
    with duckdb.connect(str(copy), read_only=True) as shown:
        assert shown.sql("SELECT max(m) FROM q").fetchall()


def test_a_tick_that_is_undone_undoes_its_index() -> None:
    with cqlduck.connect() as con:
        con.execute(BAG + sums("k", "k"))
        fill(con, 50)
        con.pin("search", "1", "q")
        con.append("r", [(1, "g1", 2)], at=2)
        base, made = con.engine.database, list[str]()

        def fails(sql: str, _: object) -> None:
            if sql.startswith("CREATE INDEX"):
                made.append(sql)
            if sql.startswith("DELETE") and "_groups" in sql:
                raise ZeroDivisionError

        base.trace = fails
        with pytest.raises(ZeroDivisionError):
            con.advance(2)
        base.trace = None
        assert made
        assert (indexed(con), con.engine.indexes.kept) == ([], {})
        con.advance(2)
        assert indexed(con) == ["r.k"]
        con.pin("search", "scan", "q")
        con.append("r", [(1, "g1", 3)], at=3)
        base.trace = fails
        with pytest.raises(ZeroDivisionError):
            con.advance(3)
        base.trace = None
        assert indexed(con) == ["r.k"]
        con.pin("search", "1", "q")
        con.advance(3)
        assert base.value("SELECT current_setting('dynamic_or_filter_threshold')") == MAX_KEYS
        con.execute("DROP CONTINUOUS QUERY q")
        assert (indexed(con), con.engine.indexes.kept) == ([], {})


def test_indexes_are_chosen_by_what_is_modelled_and_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an aggregate and of a relation; the choice stands when the file is opened again."""
    for module in (lookups, searching):
        monkeypatch.setattr(module, "LEAST_ROWS", 1000)
    # a scan as of 10 million rows, which an index is known to save
    monkeypatch.setattr(searching, "SCANNED_SECONDS", 1e-5)
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    path = tmp_path / "some.duckdb"
    chosen = "SELECT owner, option, chosen_by FROM cql.points WHERE point = 'search' ORDER BY owner"
    expected = [("q", "1", "measured"), ("r", "1", "measured")]
    with cqlduck.connect(path) as con:
        choices.measure(con)
        con.engine.streamon.budget.ticks = 1e6
        con.execute(BAG + sums("k", "k"))
        fill(con)
        for at in range(2, 12):
            con.append("r", [(at, f"g{at}", at)], at=at)
            con.advance(at)
        assert con.sql(chosen).fetchall() == expected
        assert indexed(con) == ["r.k"]
        reasons = con.sql("SELECT reason FROM cql.plan_log WHERE point = 'search'").fetchall()
        assert all(one.startswith("to find the rows is modelled to take") for (one,) in reasons)
        assert [one.place for one in con.engine.indexes.of("r")] == [0]
    with cqlduck.connect(path) as con:
        con.append("r", [(3, "g3", 30)], at=12)
        con.advance(12)
        assert con.sql(chosen).fetchall() == expected
        assert con.sql("SELECT m FROM q WHERE key = 3").fetchall() == [(30,)]
        assert [row for row in con.check().fetchall() if row[5] != "right"] == []


# -- the policy -----------------------------------------------------------------------------------

ABOUT = TableSearch(Site(SEARCH, 1), ("a", "b"), (0, 1), "q_groups")


def policy(groups: int, values: tuple[int, ...], earned: float = 100.0) -> Searching:
    """Return a policy that has counted groups."""
    found = Searching(Budget(ticks=earned))
    found.saw(facts(10), SCAN, None, RowsCounted(ABOUT.site, groups, values, 0.001))
    return found


def facts(elements: int, stored: int = 10**7) -> Facts:
    return Facts(elements, stored=lambda: stored, about=ABOUT)


def found(mine: Searching, elements: int, seconds: float, now: str = SCAN) -> str | None:
    """Return the option that is better after a few ticks that took so long."""
    for _ in range(4):
        mine.saw(facts(elements), now, seconds, None)
    known = mine._of(elements).median(now)
    better = mine.better(now, known, facts(elements))
    return None if better is None else better.option


def test_many_groups_have_an_index_on_the_key_of_most_values() -> None:
    assert found(policy(2_000_000, (10, 2_000_000)), 10, 0.02) == "2"
    assert found(policy(2_000_000, (2_000_000, 10)), 10, 0.02) == "1"


def test_more_rows_of_a_relation_are_looked_up_than_groups() -> None:
    rows, values = 6_000_000, (1_500_000, 7)
    of_relation = replace(ABOUT, site=NOWHERE)
    for count, expected in ((MAX_KEYS + 1, "1"), (MAX_ELEMENTS, "1"), (MAX_ELEMENTS + 1, None)):
        mine = policy(rows, values)
        for about, option in ((ABOUT, None), (of_relation, expected)):
            given = Facts(count, stored=lambda: rows, about=about)
            better = mine.better(SCAN, 0.05 / count, given)
            assert (None if better is None else better.option) == option
    # as many rows have one of the values as DuckDB finds by a scan alone
    mine = policy(rows, (100_000, 7))
    given = Facts(MAX_KEYS, stored=lambda: rows, about=of_relation)
    assert mine.better(SCAN, 0.05 / MAX_KEYS, given) is None


def test_few_groups_many_changes_or_common_values_have_none() -> None:
    assert found(policy(LEAST_ROWS, (LEAST_ROWS, 1)), 50, 0.02) is None
    assert found(policy(2_000_000, (2_000_000, 1)), MAX_KEYS + 1, 0.02) is None
    assert found(policy(2_000_000, (10, 10)), 10, 0.02) is None
    # what the statements take beside is so much that little is saved
    assert found(policy(2_000_000, (2_000_000, 1)), 10, 2.0) is None


def test_an_index_goes_when_ticks_have_become_large() -> None:
    assert found(policy(2_000_000, (2_000_000, 1)), 10_000, 0.1, "1") == SCAN
    assert found(policy(2_000_000, (2_000_000, 1)), 10, 0.005, "1") is None


def test_it_waits_until_the_index_may_be_built() -> None:
    mine = policy(2_000_000, (2_000_000, 1), earned=1.0)
    assert found(mine, 10, 0.02) is None
    assert mine.is_due
    assert not mine.waits
    mine.budget.ticks = 100.0
    assert mine.waits
    assert found(mine, 10, 0.02) == "1"
    # what a scan has cost more so far counts as well: 8 ms a tick, for an index that takes 500
    mine = policy(2_000_000, (2_000_000, 1), earned=1.0)
    for ticks, option in ((30, None), (40, None), (70, "1")):
        mine._ticks = ticks
        assert found(mine, 10, 0.02) == option


def test_groups_are_counted_where_there_may_be_many() -> None:
    mine = Searching(Budget(ticks=100.0))
    asked: list[int] = []

    def stored() -> int:
        asked.append(1)
        return LEAST_ROWS - 1

    few = Facts(10, stored=stored, about=ABOUT)
    assert all(mine.wants(few, SCAN) is None for _ in range(1000))
    # rarer and rarer
    assert 8 < len(asked) < 16
    many = Searching(Budget(ticks=100.0))
    assert many.wants(facts(10), SCAN) is not None
    many.saw(facts(10), SCAN, None, RowsCounted(ABOUT.site, LEAST_ROWS - 1, (5, 5), 0.001))
    # most of what is stored are no groups
    assert not many.is_due
    assert all(many.wants(facts(10), SCAN) is None for _ in range(MOST_TICKS))
    assert many.wants(facts(10), SCAN) is not None


def test_what_was_counted_survives() -> None:
    before = policy(2_000_000, (5, 2_000_000))
    after = Searching(Budget(ticks=100.0))
    after.restore(json.loads(json.dumps(before.state())))
    assert (after.rows, after.values) == (before.rows, before.values)
    assert found(after, 10, 0.02) == "2"
