"""Inputs of a join that drop tuples, and conditions that wait until one is met."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import choices
import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st
from test_filters import STREAM, TEXTS, batch, counting, option

import cqlduck
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.plan import Join, unique
from cqlduck.rewrite.plan.filters import filters
from cqlduck.rewrite.plan.orders import FILTERS, order_name
from cqlduck.rewrite.statements.ordered import OrderedFilters
from cqlduck.streamon.points import INTERVALS, STAGES, WRITTEN

RELATIONS = (
    "CREATE RELATION r (k INTEGER PRIMARY KEY, y VARCHAR); CREATE RELATION p (a INTEGER, "
    "b VARCHAR, z VARCHAR, PRIMARY KEY (a, b)); CREATE RELATION d (k INTEGER);"
)
IN = "s.k IN (SELECT k FROM r)"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (f"x ~ 'a' AND {IN}", ["in r: \"s.k\" = \"match0\""]),
        ("x ~ 'a' AND EXISTS (SELECT 1 FROM r WHERE r.k = s.k AND r.y > 'a')",
         ["in r: \"s.k\" = \"match0\""]),
        # it may hold more than once what is met, as EXISTS asks for no more than one
        ("x ~ 'a' AND s.k IN (SELECT k FROM d)", ["in d: \"s.k\" = \"match0\""]),
        ("x ~ 'a' AND EXISTS (SELECT 1 FROM p WHERE p.a = s.k AND p.b = s.x)",
         ["in p: \"s.k\" = \"match0\" AND \"s.x\" = \"match1\""]),
        (f"x ~ 'a' AND {IN} AND k IN (SELECT a FROM p WHERE z LIKE 'a%')",
         ["in r: \"s.k\" = \"match0\"", "in p: \"s.k\" = \"match1\""]),
        # what is neither a key nor asked for once makes more of a tuple
        ("x ~ 'a' AND k > 3", None),
        # without a costly condition there is nothing that could wait
        (IN, None),
        # what may raise is tested where the text has it
        (f"x ~ 'a' AND {IN} AND x::INTEGER > 3", None),
        # a subquery with a state cannot be probed
        ("x ~ 'a' AND k IN (SELECT k FROM d GROUP BY k HAVING count(*) > 1)", None),
    ],
)  # fmt: skip
def test_inputs_that_are_met_once_take_part(
    con: cqlduck.Connection, where: str, expected: list[str] | None
) -> None:
    con.execute(STREAM + RELATIONS)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k, x FROM s [RANGE 3] WHERE {where}")
    found = [one for one in con.engine.compiled["q"].ordered if isinstance(one, OrderedFilters)]
    assert (found[0].names[1:] if found else None) == (expected and tuple(expected))


@pytest.mark.parametrize(
    ("source", "takes_part"), [("s [RANGE 3], r", True), ("s [RANGE 3], d AS r", False)]
)
def test_what_is_looked_up_by_a_key_takes_part(
    con: cqlduck.Connection, source: str, takes_part: bool
) -> None:
    con.execute(STREAM + RELATIONS)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT s.k FROM {source} "
                "WHERE s.k = r.k AND x ~ 'a'")  # fmt: skip
    found = [one for one in con.engine.compiled["q"].ordered if isinstance(one, OrderedFilters)]
    assert [len(one.names) for one in found] == ([2] if takes_part else [])


def test_a_condition_behind_an_input_is_tested_of_what_has_met_it(con: cqlduck.Connection) -> None:
    con.execute(STREAM + RELATIONS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT x FROM s [RANGE 3] "
                f"WHERE x ~ 'a' AND x LIKE '%b%' AND {IN}")  # fmt: skip
    compiled = con.engine.compiled["q"]
    (about,) = (one for one in compiled.ordered if isinstance(one, OrderedFilters))
    for order, early, late in (
        ((0, 1, 2), ["~", "LIKE"], []), ((0, 2, 1), ["~"], ["LIKE"]), ((2, 1, 0), [], ["LIKE", "~"])
    ):  # fmt: skip
        form = Form(staged=True, orders=((about.site, order),))
        mine = [step for step in compiled.steps.of(form) if about.site in step.sites]
        (stage,) = (step.sql for step in mine if "_cql_lives_" in step.sql.split(" AS ")[0])
        joins = [step.sql for step in mine if "_cql_lives_" not in step.sql.split(" AS ")[0]]
        assert len(joins) == 2
        assert conditions_in(stage) == early
        # the pipeline of what arrives, for which the stage has tested; and that of the relation
        assert conditions_in(joins[0]) == late
        assert conditions_in(joins[1]) == early + late
        for sql in joins:
            guarded = sql[sql.index("9223372036854775807\n    THEN") :] if late else ""
            assert conditions_in(guarded) == late


def test_a_condition_behind_an_input_waits_for_those_ahead_of_it(con: cqlduck.Connection) -> None:
    con.execute(STREAM + RELATIONS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 3] "
                f"WHERE x ~ 'a' AND {IN} AND k IN (SELECT k FROM d)")  # fmt: skip
    (node,) = (n for n in unique(con.engine.compiled["q"].plan) if isinstance(n, Join))
    chosen = filters(node)
    assert chosen is not None
    assert (chosen.place, chosen.met) == (0, (1, 2))
    (condition,) = chosen.conditions
    for order, met in (((0, 1, 2), None), ((1, 0, 2), {1}), ((2, 0, 1), {2}), ((2, 1, 0), {1, 2})):
        assert chosen.behind(order) == ({} if met is None else {id(condition): met})
        assert chosen.ahead(order) == ([condition] if met is None else [])


def conditions_in(sql: str) -> list[str]:
    """Return which conditions are tested, in the order in which they stand."""
    words = {"~": "REGEXP_MATCHES", "LIKE": "LIKE"}
    found = {word: sql.find(text) for word, text in words.items() if text in sql}
    return sorted(found, key=lambda word: found[word])


QUERIES = {
    "in": f"SELECT k, x FROM s [RANGE 3] WHERE x ~ 'a' AND x LIKE '%b%' AND {IN}",
    "exists": "SELECT k, x FROM s [NOW] WHERE x ~ 'b' AND "
              "EXISTS (SELECT 1 FROM d WHERE d.k = s.k)",
    "unbounded": f"SELECT k, x FROM s WHERE NOT x ~ 'c$' AND {IN}",
    "lookup": "SELECT s.x, r.y FROM s [RANGE 4 SLIDE 2], r WHERE r.k = s.k AND s.x LIKE '%b%' "
              "AND r.y <> 'y1'",
    "of the relation": "SELECT r.y FROM r WHERE r.y ~ '[0-4]' AND r.k IN "
                       "(SELECT k FROM s [RANGE 3])",
    "two": f"SELECT k, x FROM s [RANGE 3] WHERE x ~ 'a' AND {IN} AND EXISTS "
           "(SELECT 1 FROM p WHERE p.a = s.k AND p.b = s.x AND p.z ~ '[02468]')",
    "both ways": "SELECT a.k, b.x FROM s [RANGE 2] AS a, s [RANGE 5] AS b WHERE a.x = b.x "
                 "AND a.x ~ 'b' AND a.k IN (SELECT k FROM r)",
    "outer": "SELECT s.x, r.y FROM s [RANGE 3] LEFT JOIN r ON r.k = s.k AND s.x ~ 'a'",
    "none": "SELECT s.x FROM s [RANGE 3] WHERE s.x ~ 'a' "
            f"AND k NOT IN (SELECT k FROM d WHERE k IS NOT NULL) AND {IN}",
    "counted": f"SELECT k, count(*) AS n FROM s [RANGE 3] WHERE x ~ 'a' AND {IN} GROUP BY k",
    "istream": f"ISTREAM(SELECT k, x FROM s [RANGE 3] WHERE x ~ 'b' AND {IN})",
}  # fmt: skip


def meet(con: cqlduck.Connection, ticks: range, cut: int) -> None:
    """Let tuples come, and relations change in between, also for tuples that are there."""
    stood: dict[str, list[tuple[object, ...]]] = {"r": [], "d": [], "p": []}
    for t in ticks:
        con.append("s", batch([(n % 7, TEXTS[(n + t) % 9], t) for n in range(24)]))
        for name, rows in stood.items():
            if rows and t % 3 == 2:
                con.retract(name, [rows.pop()], at=t)
        if t % 2:
            stood["r"] = [((t + n) % 7, f"y{t + n}") for n in range(3)]
            stood["d"] = [(t % 5,), (None,), (t % 5,)]
            stood["p"] = [(k % 7, x, f"{k}") for k in (t, t + 1) for x in {*TEXTS[:5]}]
            for name, rows in stood.items():
                con.append(name, rows, at=t)
        if t % cut == 0:
            con.advance(t)
    con.advance(ticks.stop)


def answers(con: cqlduck.Connection) -> list[tuple[object, ...]]:
    return sorted(con.changes("q").fetchall(), key=repr)


@pytest.mark.parametrize("name", QUERIES)
def test_orders_with_inputs_change_no_element(name: str) -> None:
    found: dict[str, list[tuple[object, ...]]] = {}
    options = [WRITTEN]
    while options:
        order = options.pop()
        with cqlduck.connect() as con:
            con.execute(STREAM + RELATIONS + f"CREATE CONTINUOUS QUERY q AS {QUERIES[name]}")
            if not found:
                about = con.engine.compiled["q"].ordered
                (names,) = {len(one.names) for one in about if isinstance(one, OrderedFilters)}
                options = [*map(order_name, itertools.permutations(range(names)))]
            choices.force_stages(con, len(found) % 3 != 2)
            con.pin(FILTERS, order)
            meet(con, range(7), 1 + len(found) % 2)
            assert {o for o, _ in option(con)} == {order}
            assert {state for (state,) in con.check().project("state").fetchall()} == {"right"}
            found[order] = answers(con)
    assert len(found[WRITTEN]) > 5
    assert [order for order, one in found.items() if one != found[WRITTEN]] == []


def drawn_query(drawn: random.Random) -> str:
    """Return a query with costly conditions and inputs that are met once, in any order."""
    costly = ["s.x ~ 'a'", "s.x LIKE '%b%'", "NOT s.x ~ 'c$'", "length(s.x) > 1"]
    windows = ["", "[NOW]", "[RANGE 2]", "[RANGE 4 SLIDE 2]", "[PARTITION BY k ROWS 2]", "[ROWS 9]"]
    met = [
        IN,
        "EXISTS (SELECT 1 FROM d WHERE d.k = s.k)",
        "EXISTS (SELECT 1 FROM p WHERE p.b = s.x AND p.a = s.k AND p.z ~ '[0-4]')",
        "s.k IN (SELECT o.k FROM s [RANGE 2] AS o WHERE o.x ~ 'c')",
        "s.x IN (SELECT b FROM p)",
    ]
    conditions = drawn.sample(costly, drawn.randint(1, 2)) + drawn.sample(met, drawn.randint(1, 2))
    source = f"s {drawn.choice(windows)}"
    shown = "s.k, s.x"
    if drawn.random() < 0.3:
        source, shown = f"{source}, r", "s.x, r.y"
        conditions.append("r.k = s.k")
    drawn.shuffle(conditions)
    where = " AND ".join(conditions)
    if drawn.random() < 0.2:
        return f"SELECT DISTINCT {shown} FROM {source} WHERE {where}"
    if drawn.random() < 0.2:
        return (
            f"SELECT s.k, o.y FROM {source} "
            f"LEFT JOIN r AS o ON o.k = s.k AND s.x ~ 'b' WHERE {where}"
        )
    if drawn.random() < 0.3:
        return f"SELECT s.x, count(*) AS n FROM {source} WHERE {where} GROUP BY s.x"
    query = f"SELECT {shown} FROM {source} WHERE {where}"
    return f"ISTREAM({query})" if drawn.random() < 0.3 else query


@settings(max_examples=fewer_if_brief(25), deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_orders_with_inputs_follow_each_other_without_a_trace(seed: int) -> None:
    drawn = random.Random(seed)
    query, cut = drawn_query(drawn), drawn.randint(1, 4)
    with cqlduck.connect() as con:
        con.execute(STREAM + RELATIONS + f"CREATE CONTINUOUS QUERY q AS {query}")
        con.pin(FILTERS, WRITTEN)
        meet(con, range(10), 1)
        expected = answers(con)
    with cqlduck.connect() as con:
        choices.draw(con, seed, everywhere=True)
        con.execute(STREAM + RELATIONS + f"CREATE CONTINUOUS QUERY q AS {query}")
        meet(con, range(10), cut)
        assert ("wrong",) not in con.check().project("state").fetchall()
        assert answers(con) == expected, query


@pytest.mark.parametrize("distinct", [True, False])
def test_masks_say_what_matches_no_tuple_of_an_input(
    con: cqlduck.Connection, distinct: bool
) -> None:
    con.execute(STREAM + RELATIONS)
    policy = counting(con)
    source = "d" if distinct else "r"
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 3] "
                f"WHERE x ~ 'a' AND k IN (SELECT k FROM {source})")  # fmt: skip
    con.append(source, [(1, "a"), (2, "b")] if not distinct else [(1,), (1,), (2,), (None,)], at=0)
    tuples = [(1, "a"), (1, "b"), (2, "a"), (3, "a"), (3, "b"), (3, "c"), (None, "a")]
    con.tick({"s": batch([(k, x, 1) for k, x in tuples])}, to=1)
    (found,) = policy.found
    # the last one has no k, and so matches nothing
    assert dict(found.masks) == {0b00: 2, 0b01: 1, 0b10: 2, 0b11: 2}


@pytest.mark.parametrize("staged", [True, False])
def test_a_function_is_called_for_what_has_met_the_input_alone(
    con: cqlduck.Connection, staged: bool
) -> None:
    called: list[int] = []

    def classify(k: int) -> bool:
        called.append(k)
        return True

    con.create_function(
        "classify", classify, ["INTEGER"], "BOOLEAN", exception_handling="return_null"
    )
    con.execute(STREAM + RELATIONS)
    con.execute(
        f"CREATE CONTINUOUS QUERY q AS SELECT x FROM s [RANGE 3] WHERE classify(k) AND {IN}"
    )
    choices.force_stages(con, staged)
    con.append("r", [(7, "y")], at=0)
    for t, order in enumerate((WRITTEN, "2 1", "1 2"), 1):
        con.pin(FILTERS, order)
        called.clear()
        con.tick({"s": batch([(n % 100, "a", t) for n in range(1000)])}, to=t)
        # without stages DuckDB may leave out by itself what joins with nothing
        assert set(called) == ({7} if order == "2 1" else set(range(100))) or not staged
        assert order != "2 1" or set(called) == {7}
    assert '--   2: in r: "s.k" = "match0"' in con.explain("q")


@pytest.mark.parametrize(
    ("condition", "called"),
    [("many(s.k) AND few(s.k)", {"few": 200, "many": 2}), ("many(s.k)", {"many": 200})],
)
def test_what_is_summed_up_by_interval_is_tested_in_order_ahead_of_inputs(
    con: cqlduck.Connection, condition: str, called: dict[str, int]
) -> None:
    found: Counter[str] = Counter()

    def many(k: int) -> bool:
        found["many"] += 1
        return True

    def few(k: int) -> bool:
        found["few"] += 1
        return k == 7

    for function in (many, few):
        con.create_function(
            function.__name__, function, ["INTEGER"], "BOOLEAN", exception_handling="return_null"
        )
    con.execute(
        "CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE RELATION r (k INTEGER PRIMARY KEY, w INTEGER);"
        "CREATE CONTINUOUS QUERY q AS SELECT r.k, count(*) AS n FROM s [RANGE 3], r "
        f"WHERE {condition} AND s.k = r.k AND s.v > r.w GROUP BY r.k"
    )
    choices.force(con, STAGES, INTERVALS)
    con.pin(FILTERS, "2 1" if len(called) == 1 else "2 1 3")
    con.append("r", [(7, 3), (8, 3)], at=0)
    con.advance(0)
    found.clear()
    con.tick({"s": [(number % 100, number % 9, 1) for number in range(200)]}, to=1)
    assert called == found
    expected = [(7, 2)] if "few" in called else [(7, 2), (8, 1)]
    assert expected == sorted(con.table("q").fetchall())


def test_of_inputs_with_as_many_conditions_the_one_with_a_choice_counts(
    con: cqlduck.Connection,
) -> None:
    con.execute(STREAM + RELATIONS)
    for source in ("s [RANGE 3], r", "r, s [RANGE 3]"):
        con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT s.x FROM {source} "
                    "WHERE s.x ~ 'a' AND r.y ~ 'b' AND s.k = r.k "
                    "AND s.k IN (SELECT k FROM d)")  # fmt: skip
        about = con.engine.compiled["q"].ordered
        (found,) = (one for one in about if isinstance(one, OrderedFilters))
        assert found.names[0] == "REGEXP_MATCHES(\"s.x\", 'a')"
        assert len(found.names) == 3
