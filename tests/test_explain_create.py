"""EXPLAIN CREATE CONTINUOUS QUERY: what would be made and dropped, and what a tick would take."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import cqlduck
from cqlduck.streamon.estimates import Measured, estimates
from cqlduck.streamon.measures import Measures

COUNTS = "SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k"
SUMS = "SELECT k, sum(v) AS n FROM s [RANGE 5] GROUP BY k"


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect(sharing=False) as made:
        made.execute(f"""
            CREATE STREAM s (k INTEGER, v INTEGER);
            CREATE RELATION r (k INTEGER, PRIMARY KEY (k));
            CREATE CONTINUOUS QUERY q AS {COUNTS};
        """)
        yield made


def run(con: cqlduck.Connection, ticks: int, rows: int = 20, first: int = 0) -> None:
    """Run ticks that all are measured, as something reads SysStream."""
    con.execute("CREATE CONTINUOUS QUERY watch AS SELECT * FROM SysStream [NOW]")
    for t in range(first, first + ticks):
        con.append("s", [(i % 4, i) for i in range(rows)], at=t)
        con.advance(t)


def parts(con: cqlduck.Connection, text: str) -> dict[str, list[str]]:
    """Return the lines of each part of what EXPLAIN says, by heading."""
    rows = con.execute(f"EXPLAIN CREATE {text}")
    assert rows is not None
    found: dict[str, list[str]] = {}
    heading = ""
    for (line,) in rows.fetchall():
        if line.startswith("--   "):
            found[heading].append(line.removeprefix("--   "))
        elif line.startswith("-- "):
            heading = line.removeprefix("-- ")
            found.setdefault(heading, [])
    return found


def tick_of(found: dict[str, list[str]]) -> list[str]:
    ((lines),) = [lines for heading, lines in found.items() if heading.startswith("a tick of it")]
    return lines


def ids(con: cqlduck.Connection, query: str) -> list[tuple[int, str]]:
    rows = con.sql("SELECT number, id FROM cql.operators WHERE query = ?", [query]).fetchall()
    return sorted(rows)


def listed(found: dict[str, list[str]], done: str) -> list[tuple[int, str]]:
    lines = [x for x in found["operators kept, made and dropped"] if x.startswith(f"{done}: ")]
    matches = [re.match(r"\w+: operator (\d+), .* \((\w+)\)", line) for line in lines]
    return sorted((int(m[1]), m[2]) for m in matches if m is not None)


def test_it_lists_the_operators_that_are_then_made_dropped_or_kept(con) -> None:
    found = parts(con, f"CONTINUOUS QUERY p AS {SUMS}")
    assert [] == listed(found, "kept") == listed(found, "dropped")
    con.execute(f"CREATE CONTINUOUS QUERY p AS {SUMS}")
    assert ids(con, "p") == listed(found, "made")
    shared = [x for x in found["operators kept, made and dropped"] if "; q has the same" in x]
    assert 2 == len(shared)  # the window and what it projects
    found = parts(con, f"OR REPLACE CONTINUOUS QUERY p AS {SUMS}")
    assert ids(con, "p") == listed(found, "kept")
    assert [] == listed(found, "made") == listed(found, "dropped")
    found = parts(con, "OR REPLACE CONTINUOUS QUERY p AS SELECT DISTINCT v FROM s [ROWS 4]")
    assert ids(con, "p") == listed(found, "dropped")
    tables = con.sql("SELECT table_name FROM cql.synopses WHERE query = 'p'").fetchall()
    dropped = [x for x in found["synopses made and dropped"] if x.startswith("dropped: ")]
    assert sorted(name for (name,) in tables) == sorted(x.rpartition(", ")[2] for x in dropped)
    assert ["its answer, its log and its history"] == found["what goes with the old p"]
    con.execute("CREATE OR REPLACE CONTINUOUS QUERY p AS SELECT DISTINCT v FROM s [ROWS 4]")
    assert ids(con, "p") == listed(found, "made")


def test_what_others_read_stays(con) -> None:
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT max(n) AS n FROM q")
    found = parts(con, f"OR REPLACE CONTINUOUS QUERY q AS {COUNTS.replace('5', '6')}")
    (line,) = found["what goes with the old q"]
    assert line.startswith("its log and history stay for above; at the first instant")


def test_the_same_words_in_the_place_of_what_failed_begin_again(con) -> None:
    body = "SELECT 10 // k AS n FROM s [RANGE 5]"
    con.execute(f"CREATE CONTINUOUS QUERY fails AS {body}")
    con.append("s", [(0, 1)], at=0)
    with pytest.warns(RuntimeWarning, match="fails failed at 0"):
        con.advance(0)
    found = parts(con, f"OR REPLACE CONTINUOUS QUERY fails AS {body}")
    assert ids(con, "fails") == listed(found, "made") == listed(found, "dropped")
    con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY fails AS {body}")
    assert [("active",)] == con.sql("SELECT state FROM cql.queries WHERE name = 'fails'").fetchall()


def test_what_was_not_measured_is_unknown(con) -> None:
    lines = tick_of(parts(con, f"CONTINUOUS QUERY p AS {SUMS}"))
    assert [
        "s: unknown how many rows come in a tick",
        "operator 0, project: unknown: no other project was measured",
        "operator 1, aggregate: unknown: no other aggregate was measured",
        "in all: unknown how many rows, unknown how long, as that of operators 0, 1 is",
    ] == lines
    run(con, 6)
    lines = tick_of(parts(con, "CONTINUOUS QUERY p AS SELECT s.v FROM s [RANGE 5], r "
                               "WHERE s.k = r.k"))  # fmt: skip
    assert "s: 20 rows come in a tick" in lines
    assert any(x.endswith("unknown: no other binary-join was measured") for x in lines)
    assert lines[-1].startswith("in all: unknown how many rows, unknown how long")


def test_what_another_query_has_is_expected_to_do_what_it_does_there(con) -> None:
    run(con, 10)
    measured = {one.number: one.measures for one in con.plan("q", analyze=True).operators}
    lines = tick_of(parts(con, f"CONTINUOUS QUERY p AS {COUNTS}"))
    for number, kind in enumerate(("project", "aggregate")):
        did = measured[number]
        assert did is not None
        (line,) = [x for x in lines if x.startswith(f"operator {number}, {kind}")]
        assert f"{did.rows_in:,.4g} rows in, {did.rows_out:,.4g} rows out, " in line
        assert f", {1e3 * did.seconds:.3g} ms, as operator {number} of q, which is the same" in line
    total = sum(one.seconds for one in measured.values() if one is not None)
    assert f"in all: some {measured[0].rows_out:,.4g} rows, some {1e3 * total:.3g} ms" == lines[-1]


def test_what_is_of_a_kind_is_expected_to_take_as_long_for_a_row(con) -> None:
    run(con, 8)
    lines = tick_of(parts(con, f"CONTINUOUS QUERY p AS {SUMS}"))
    (line,) = [x for x in lines if x.startswith("operator 1, aggregate: 20 rows in, ")]
    assert "of its kind took in " in line
    assert re.fullmatch(r"in all: some \S+ rows, some \S+ ms", lines[-1])


def test_rates_are_those_of_the_last_ticks(con) -> None:
    run(con, 10, rows=5)
    for t in range(10, 40):
        con.append("s", [(1, i) for i in range(50)], at=t)
        con.advance(t)
    assert "s: 50 rows come in a tick" in tick_of(parts(con, f"CONTINUOUS QUERY p AS {SUMS}"))
    found = tick_of(parts(con, "CONTINUOUS QUERY p AS SELECT sum(n) AS n FROM q"))
    assert re.match(r"q: \S+ rows come in a tick", found[0])


def test_it_registers_nothing(con) -> None:
    run(con, 3)

    def there() -> list[object]:
        views = ("queries", "operators", "synopses", "relations", "properties")
        return [con.sql(f"FROM cql.{view}").fetchall() for view in views]

    before = there()
    parts(con, f"CONTINUOUS QUERY p AS {SUMS}")
    parts(con, f"OR REPLACE CONTINUOUS QUERY q AS {SUMS}")
    assert before == there()


def test_the_estimate_follows_from_rows_and_seconds_that_were_measured(con) -> None:
    compiled = con.engine.compile("p", SUMS)
    known = [
        Measured("x", 1, "another", "aggregate", Measures(100.0, 10.0, 0.1, 0.2), 3),
        Measured("y", 2, "one more", "aggregate", Measures(300.0, 30.0, 0.1, 0.2), 2),
        # nothing is known of what came to it
        Measured("z", 1, "unlike", "aggregate", Measures(None, 900.0, None, 9.0), 1),
        Measured("x", 0, "another", "project", Measures(10.0, 10.0, 1.0, 0.01), 3),
    ]
    found = {one.number: one for one in estimates(compiled, {"s": 1000.0}, known)}
    aggregate, project = found[1], found[0]
    assert (1000.0, 100.0, 1.0) == (aggregate.rows_in, aggregate.rows_out, aggregate.seconds)
    assert "as 2 of its kind took in 5 ticks that were measured" in aggregate.basis
    assert project.seconds == pytest.approx(0.1)
    assert (0.0, 1000.0) == (found[4].seconds, found[4].rows_out)
    # with the same id, which its project has too, it is that operator
    same = compiled.operators[1]
    known.append(Measured("w", 5, same.id, same.kind, Measures(7.0, 3.0, 0.4, 0.5), 1))
    found = {one.number: one for one in estimates(compiled, {}, known)}
    assert (7.0, 3.0, 0.5) == (found[1].rows_in, found[1].rows_out, found[1].seconds)
    assert "as operator 5 of w, which is the same, in 1 tick that was measured" == found[1].basis
    assert (3.0, 3.0) == (found[0].rows_in, found[0].rows_out)
    # of unlike ids, and nothing comes that is known
    known.pop()
    found = {one.number: one for one in estimates(compiled, {}, known)}
    assert [None, None] == [found[1].seconds, found[0].rows_out]
    assert "unknown, as what comes to it is" == found[1].basis


@pytest.fixture
def families() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as made:
        made.execute("CREATE STREAM s (k INTEGER, v INTEGER); CREATE STREAM late (k INTEGER, "
                     "v INTEGER) LATE AMEND; CREATE MACRO twice(x) AS 2 * x")  # fmt: skip
        yield made


ABOVE = "SELECT k, count(*) AS n FROM s [RANGE 5] WHERE v > {} GROUP BY k"


def with_what(con: cqlduck.Connection, text: str) -> str:
    (line,) = parts(con, text)["with what it is computed"]
    return line


def test_it_says_which_family_a_query_joins_and_then_it_does(families) -> None:
    con = families
    con.append("s", [(1, 1)], at=0)
    con.advance(1)
    assert with_what(con, f"CONTINUOUS QUERY a AS {ABOVE.format(1)}").startswith(
        "it has a plan of its own: no query says the same"
    )
    con.execute(f"CREATE CONTINUOUS QUERY a AS {ABOVE.format(1)}")
    found = parts(con, f"CONTINUOUS QUERY b AS {ABOVE.format(2)}")
    assert ["it forms the family _cql_family_1 with a: they differ in constants alone"] == found[
        "with what it is computed"
    ]
    operators = found["operators kept, made and dropped"]
    assert len(ids(con, "a")) == sum(x.startswith("dropped, of a: ") for x in operators)
    made = listed(found, "made")
    con.execute(f"CREATE CONTINUOUS QUERY b AS {ABOVE.format(2)}")
    assert "_cql_family_1" == con.engine.query("a").family == con.engine.query("b").family
    assert made == ids(con, "b")
    run(con, 5, first=2)
    found = parts(con, f"CONTINUOUS QUERY c AS {ABOVE.format(3)}")
    assert [
        "it joins _cql_family_1, one plan for 2 queries, which differ in constants alone"
    ] == found["with what it is computed"]
    assert ids(con, "b") == listed(found, "kept")
    assert [] == listed(found, "made")
    assert ["none"] == found["synopses made and dropped"]
    lines = tick_of(found)
    assert any("of _cql_family_1, which is the same" in line for line in lines)
    assert re.fullmatch(r"in all: some \S+ rows, some \S+ ms", lines[-1])
    con.execute(f"CREATE CONTINUOUS QUERY c AS {ABOVE.format(3)}")
    assert "_cql_family_1" == con.engine.query("c").family
    # a member that is replaced joins it again, the last one does not
    text = f"OR REPLACE CONTINUOUS QUERY c AS {ABOVE.format(4)}"
    assert with_what(con, text).startswith("it joins _cql_family_1, one plan for 3 queries")
    con.execute("DROP CONTINUOUS QUERY a; DROP CONTINUOUS QUERY b")
    assert with_what(con, text).startswith("it has a plan of its own: no query says the same")


REASONS = [
    ("CONTINUOUS QUERY b WITH (sharing = false) AS " + ABOVE.format(2), "sharing is off for it"),
    ("CONTINUOUS QUERY b WITH (history = true) AS " + ABOVE.format(2), "it asks for history"),
    ("CONTINUOUS QUERY b AS SELECT k, v FROM s [RANGE 9]", "no query says the same"),
    ("CONTINUOUS QUERY b AS SELECT k, v FROM late [RANGE 5] WHERE v > 2",
     "it reads a stream with LATE AMEND"),
    ("CONTINUOUS QUERY b AS SELECT DISTINCT k FROM s WHERE v > 2 OR k = 3",
     "no query says the same"),
    ("CONTINUOUS QUERY b AS SELECT k, v FROM s WHERE k < 5",
     "it shows tuples that f does not show, and f others"),
    ("CONTINUOUS QUERY b AS SELECT k, count(*) AS n FROM s WHERE v > 2 GROUP BY k",
     "the constants in which it differs from e cannot be a relation"),
    ("CONTINUOUS QUERY b AS SELECT k, v FROM s [ROWS 3]",
     "it and g differ in constants alone, but one of these stands where none is cut out"),
    ("OR REPLACE CONTINUOUS QUERY a AS " + ABOVE.format(2),
     "a, in whose place it comes, is read by others"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), REASONS)
def test_it_says_why_a_plan_is_a_querys_own_and_then_it_is(families, text: str, why: str) -> None:
    con = families
    con.execute(f"""
        CREATE CONTINUOUS QUERY a AS {ABOVE.format(1)};
        CREATE CONTINUOUS QUERY c AS SELECT max(n) AS n FROM a;
        CREATE CONTINUOUS QUERY d AS SELECT k, v FROM late [RANGE 5] WHERE v > 1;
        CREATE CONTINUOUS QUERY e AS SELECT k, count(*) AS n FROM s WHERE v > 1 GROUP BY k;
        CREATE CONTINUOUS QUERY f AS SELECT k, v FROM s WHERE v > 1 OR k = 2;
        CREATE CONTINUOUS QUERY g AS SELECT k, v FROM s [ROWS 2];
    """)
    assert with_what(con, text).startswith(f"it has a plan of its own: {why}")
    con.execute(f"CREATE {text}")
    name = "a" if text.startswith("OR REPLACE") else "b"
    assert con.engine.query(name).family is None
