"""Functions of Python: registered, called, missing after opening, replaced, and wrong."""

import functools
import os
import signal
import subprocess
import sys
import textwrap
import warnings

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from sql_strategies import sql_cases
from test_sql_differential import on_disk_if_it_restarts

import cqlduck
from cqlduck.registration.functions import digest

ANY_CASE = sql_cases(functions=True, plain=40, restarts=True)

STREAM = "CREATE STREAM s (k INTEGER, line VARCHAR);"


@settings(
    max_examples=fewer_if_brief(40),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
@given(ANY_CASE)
def test_queries_that_call_functions(case):
    on_disk_if_it_restarts(case)


def is_long(line: str) -> bool:
    return len(line) > 2


def risky(line: str) -> int:
    if line == "bad":
        raise ValueError("no such line")
    return len(line)


def needs_more(x: int, *, y: int) -> int:
    return x + y


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.duckdb"


@pytest.fixture
def con():
    with cqlduck.connect() as con:
        con.execute(STREAM)
        yield con


# ------------------------------------------------------------------------------------- calls


def test_types_come_from_annotations(con):
    con.create_function("is_long", is_long)
    assert con.sql("SELECT is_long('abc'), is_long(NULL)").fetchall() == [(True, None)]
    assert con.sql("SELECT parameters, return_type FROM cql.functions").fetchall() == [
        (["VARCHAR"], "BOOLEAN")
    ]


def test_a_function_may_give_null_itself(con):
    con.create_function("first_digit", lambda x: x if x > 1 else None, ["INTEGER"], "INTEGER")
    assert con.sql("SELECT first_digit(1), first_digit(2)").fetchall() == [(None, 2)]


def test_nulls_are_passed_on_request(con):
    con.create_function(
        "known", lambda x: "-" if x is None else x, ["VARCHAR"], "VARCHAR", null_handling="special"
    )
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, known(line) AS line FROM s [ROWS 2]")
    con.append("s", [(1, None), (2, "b")], at=1)
    con.advance(1)
    assert sorted(con.table("q").fetchall()) == [(1, "-"), (2, "b")]


def test_arrow_functions_get_arrays(con):
    con.create_function("size", pc.utf8_length, ["VARCHAR"], "INTEGER", type="arrow")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT sum(size(line)) AS n FROM s")
    con.append("s", [(1, "abc"), (2, "de"), (3, None)], at=[1, 2, 3])
    con.advance(3)
    assert con.table("q").fetchall() == [(5,)]


@pytest.mark.parametrize("kind", ["native", "arrow"])
def test_a_null_argument_gives_null_without_a_call(con, kind):
    def seven(*given):
        values = [one.to_pylist() if kind == "arrow" else [one] for one in given]
        assert None not in [value for one in values for value in one]
        return pa.array([7] * len(values[0])) if kind == "arrow" else 7

    con.create_function("seven", seven, ["INTEGER", "VARCHAR"], "BIGINT", type=kind)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, seven(k, line) AS n FROM s [ROWS 9]")
    con.append("s", [(1, "a"), (None, "b"), (2, None), (None, None), (3, "c")], at=1)
    con.append("s", [(None, None)], at=2)
    con.advance(2)
    assert sorted(con.table("q").fetchall(), key=str) == [
        (1, 7), (2, None), (3, 7), (None, None), (None, None), (None, None),
    ]  # fmt: skip


VALUES = {
    "DECIMAL(18, 3)": "1.5", "HUGEINT": "170141183460469231731687303715884105727",
    "INTEGER[]": "[1, NULL, 2]", "INTEGER[3]": "[1, NULL, 2]", "INTEGER[][]": "[[1, NULL], NULL]",
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': 1, 'b': NULL}", "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
    "UUID": "'eeccb8c5-9943-b2bb-bb5e-222f4e14b687'", "BLOB": r"'\xAA\x00a'",
    "TIMESTAMPTZ": "'2024-01-01 00:00:00+02'", "INTERVAL": "'1 month 3 days 2 seconds'",
    "ENUM('x', 'y')": "'y'", "TIMESTAMP": "'2024-01-01 00:00:00.123456'", "DOUBLE": "'nan'",
    "DOUBLE[]": "['1.5', 'inf']", "UNION(n INTEGER, s VARCHAR)": "union_value(n := 1)",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["native", "arrow"])
@pytest.mark.parametrize("name", VALUES)
def test_values_of_any_type_go_in_and_out(con, name, kind):
    con.create_function("same", lambda x: x, [name], name, type=kind)
    value = f"({VALUES[name]})::{name}"
    con.execute(f"CREATE RELATION t (k INTEGER, v {name})")
    con.execute("""
        CREATE CONTINUOUS QUERY q AS
            SELECT k, same(v) IS NOT DISTINCT FROM v AS right, same(v) IS NULL AS no FROM t
    """)
    con.execute(f"INSERT INTO t VALUES (1, {value}), (2, NULL), (3, {value})")
    con.advance(1)
    assert sorted(con.table("q").fetchall()) == [
        (1, True, False), (2, True, True), (3, True, False),
    ]  # fmt: skip


def test_values_of_numpy_are_values_of_python(con):
    con.create_function("twice", lambda x: np.int64(2 * x), ["INTEGER"], "BIGINT")
    con.create_function("pair", lambda x: np.array([x, x]), ["INTEGER"], "BIGINT[]")
    con.create_function("lost", lambda x: np.float64("nan"), ["INTEGER"], "DOUBLE")
    found = con.sql("SELECT twice(2), pair(1), isnan(lost(1))").fetchall()
    assert found == [(4, [1, 1], True)]


def test_an_array_has_a_value_for_each_row(con):
    con.create_function("short", lambda x: pa.array([1]), ["BIGINT"], "BIGINT", type="arrow")
    for text in ("SELECT short(x) FROM range(3) t(x)",
                 "SELECT short(x) FROM (VALUES (1), (NULL), (3)) t(x)"):  # fmt: skip
        with pytest.raises(cqlduck.Error, match=r"short\(…\) gave 1 values of [23] rows"):
            con.sql(text)


def test_nested_types(con):
    con.create_function(
        "halves",
        lambda pair: {"low": min(pair["ends"]), "all": [max(pair["ends"])]},
        ["STRUCT(ends INTEGER[])"],
        'STRUCT(low INTEGER, "all" INTEGER[])',
    )
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT halves({'ends': [k, 7]}) AS h FROM s [NOW]")
    con.append("s", [(1, "a")], at=1)
    con.advance(1)
    assert con.table("q").fetchall() == [({"low": 1, "all": [7]},)]


def test_everywhere_in_a_query(con):
    con.create_function("size", len, ["VARCHAR"], "BIGINT")
    con.execute("""
        CREATE RELATION r (n BIGINT, word VARCHAR);
        CREATE MACRO double_size(x) AS 2 * size(x);
        CREATE CONTINUOUS QUERY q AS
            SELECT size(s.line) AS n, max(size(r.word)) AS w, double_size(min(s.line)) AS d
            FROM s [RANGE 5] JOIN r ON size(s.line) = r.n
            WHERE size(r.word) > 1 GROUP BY size(s.line) HAVING size(max(s.line)) < 9
    """)
    con.append("r", [(2, "ab"), (3, "abc"), (2, "x")])
    con.append("s", [(1, "aa"), (2, "bbb"), (3, "cccc")], at=[1, 2, 3])
    con.advance(3)
    assert sorted(con.table("q").fetchall()) == [(2, 2, 4), (3, 3, 6)]


def test_the_name_of_an_unnamed_column_is_the_call(con):
    con.create_function("risky", risky, exception_handling="return_null")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT risky(line) FROM s [NOW]")
    assert list(con.queries["q"].columns) == ["risky(line)"]


# --------------------------------------------------------------------------------- exceptions


def test_an_exception_fails_the_query_and_names_the_row(con):
    con.create_function("risky", risky)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT risky(line) AS n FROM s [NOW]")
    con.append("s", [(1, "a"), (2, "bad"), (3, "c")], at=[1, 2, 3])
    with pytest.warns(RuntimeWarning, match=r"failed at 2: risky\('bad'\) raised ValueError: no"):
        con.advance(3)
    with pytest.raises(cqlduck.QueryError) as caught:
        con.table("q")
    assert caught.value.reason == "risky('bad') raised ValueError: no such line"
    assert caught.value.row == "s(k = 2, line = 'bad')"
    assert con.as_of("q", 1).fetchall() == [(1,)]


def test_where_guards_a_call(con):
    con.create_function("risky", risky)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT risky(line) AS n FROM s WHERE line <> 'bad'")
    con.append("s", [(1, "a"), (2, "bad"), (3, "cc")], at=[1, 2, 3])
    con.advance(3)
    assert con.table("q").fetchall() == [(1, 1), (2, 3)]


def test_an_exception_gives_null_on_request(con):
    con.create_function("risky", risky, exception_handling="return_null")
    con.create_function("wrong", lambda x: "none", ["INTEGER"], "INTEGER",
                        exception_handling="return_null")  # fmt: skip
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT risky(line) AS n, wrong(k) AS w FROM s [NOW]")
    con.append("s", [(1, "a"), (2, "bad")], at=[1, 1])
    con.advance(1)
    assert sorted(con.table("q").fetchall(), key=str) == [(1, None), (None, None)]


def test_only_what_raises_nothing_can_be_ordered(con):
    con.create_function("risky", risky)
    con.create_function("sure", risky, exception_handling="return_null")
    con.execute("""
        CREATE CONTINUOUS QUERY a AS SELECT k FROM s WHERE sure(line) > 1 AND sure(line) < 5;
        CREATE CONTINUOUS QUERY b AS SELECT k FROM s WHERE risky(line) > 1 AND sure(line) < 5;
        CREATE CONTINUOUS QUERY c AS
            SELECT k FROM s WHERE TRY(risky(line)) > 1 AND line LIKE '%a%' AND risky(line) < 5;
    """)
    found = {n: [len(p.names) for p in con.engine.compiled[n].ordered] for n in "abc"}
    assert found == {"a": [2], "b": [], "c": [2]}


def test_sql_says_what_a_function_raised(con):
    con.create_function("risky", risky)
    with pytest.raises(cqlduck.Error) as caught:
        con.sql("SELECT risky('bad')")
    assert caught.value.message == "risky('bad') raised ValueError: no such line"


# ------------------------------------------------------------------- waiting for a function


def opened(path, **functions):
    con = cqlduck.connect(path)
    for name, (call, *types) in functions.items():
        con.create_function(name, call, *types)
    return con


def made(path):
    con = opened(path, is_long=(is_long,), size=(len, ["VARCHAR"], "BIGINT"))
    con.execute(STREAM)
    con.execute("""
        CREATE CONTINUOUS QUERY q AS
            SELECT is_long(line) AS long, size(max(line)) AS most FROM s GROUP BY is_long(line);
        CREATE CONTINUOUS QUERY above AS SELECT most FROM q;
        CREATE CONTINUOUS QUERY other AS SELECT count(*) AS n FROM s;
    """)
    con.append("s", [(1, "abc"), (2, "d")], at=[1, 2])
    con.advance(2)
    return con


def test_queries_wait_for_their_functions_and_hold_nobody_back(path):
    made(path).close()
    con = opened(path)
    assert [q.state for q in con.queries.values()] == [
        "waits for function is_long", "active", "active",
    ]  # fmt: skip
    assert con.sql("SELECT state FROM cql.queries WHERE name = 'q'").fetchall() == [
        ("waits for function is_long",)
    ]
    con.append("s", [(3, "abcd")], at=[5])
    assert con.advance(5) == 2, "the one above waits, too"
    assert con.table("other").fetchall() == [(3,)]
    assert sorted(con.table("q").fetchall()) == [(False, 1), (True, 3)]
    con.create_function("is_long", is_long)
    assert con.queries["q"].state == "waits for function size"
    con.create_function("size", len, ["VARCHAR"], "BIGINT")
    assert con.queries["q"].state == "active"
    assert con.advance(5) == 5
    assert sorted(con.table("q").fetchall()) == [(False, 1), (True, 4)]
    assert sorted(con.table("above").fetchall()) == [(1,), (4,)]
    con.close()


def test_answers_are_read_without_functions(path):
    made(path).close()
    with duckdb.connect(path, read_only=True) as shell:
        assert sorted(shell.execute("FROM q").fetchall()) == [(False, 1), (True, 3)]
        assert shell.execute("SELECT name FROM cql.functions ORDER BY 1").fetchall() == [
            ("is_long",), ("size",),
        ]  # fmt: skip


def test_what_waits_is_checked_as_far_as_it_can_be(path):
    made(path).close()
    with opened(path) as con:
        states = {(row[0], row[5]) for row in con.check().fetchall()}
    assert ("q", "right") not in states
    assert {state for query, state in states if query == "other"} <= {"right", "cannot be had"}


def test_a_call_under_try_that_cannot_be_made_is_no_null_in_a_check(path):
    def registered(con):
        con.create_function(
            "sure", lambda line: len(line), ["VARCHAR"], "INTEGER", exception_handling="return_null"
        )

    with cqlduck.connect(path) as con:
        registered(con)
        con.execute(STREAM)
        con.execute(
            "CREATE CONTINUOUS QUERY q AS "
            "SELECT k, sum(sure(line)) AS n FROM s [RANGE 50] GROUP BY k"
        )
        con.append("s", [(1, "abc"), (2, "d")], at=[1, 2])
        con.advance(2)
        assert {row[5] for row in con.check().fetchall()} == {"right"}
    with cqlduck.connect(path) as con:
        said = {(row[5], row[7]) for row in con.check().fetchall()}
        assert said == {("cannot be had", "the function sure is not registered")}
        registered(con)
        assert {row[5] for row in con.check().fetchall()} == {"right"}


def test_who_deactivates_a_waiting_query_keeps_it_so(path):
    made(path).close()
    with opened(path) as con:
        con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
        con.create_function("is_long", is_long)
        con.create_function("size", len, ["VARCHAR"], "BIGINT")
        assert con.queries["q"].state == "inactive"
        con.execute("ALTER CONTINUOUS QUERY q ACTIVATE")
        assert con.queries["q"].state == "active"


def test_to_activate_a_query_does_not_bring_its_function(path):
    made(path).close()
    with opened(path) as con:
        con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE; ALTER CONTINUOUS QUERY q ACTIVATE")
        assert con.queries["q"].state == "waits for function is_long"


def test_a_script_may_run_again_before_its_functions_are_registered(path):
    made(path).close()
    with opened(path) as con:
        con.execute("CREATE CONTINUOUS QUERY late AS SELECT is_long(line) AS n FROM s [ROWS 1]")
        con.append("s", [(3, "abcd")], at=[5])
        con.advance(5)
        con.create_function("is_long", is_long)
        con.advance(5)
        assert con.table("late").fetchall() == [(True,)]


def test_to_call_what_is_not_registered_says_so(path):
    made(path).close()
    with opened(path) as con, pytest.raises(cqlduck.Error) as caught:
        con.sql("SELECT is_long('a')")
    assert caught.value.message == (
        "the function is_long is not registered; con.create_function does it"
    )
    assert caught.value.hint is None


def test_another_rewriter_plans_it_anew_without_the_function(path):
    made(path).close()
    with duckdb.connect(path) as shell:
        shell.execute("UPDATE cql_state.plans SET version = 'old'")
    with opened(path) as con:
        assert con.queries["q"].state == "waits for function is_long"
        con.append("s", [(3, "abcd")], at=[5])
        con.create_function("is_long", is_long)
        con.create_function("size", len, ["VARCHAR"], "BIGINT")
        con.advance(5)
        assert sorted(con.table("q").fetchall()) == [(False, 1), (True, 4)]


def test_a_killed_process_leaves_queries_that_wait(path):
    script = f"""
        import os, signal, sys
        sys.path[:0] = {[os.path.dirname(__file__)]!r}
        import test_functions
        con = test_functions.made({str(path)!r})
        con.append("s", [(3, "abcd")], at=[5])
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -signal.SIGKILL
    with opened(path, is_long=(is_long,), size=(len, ["VARCHAR"], "BIGINT")) as con:
        assert con.advance(5) == 5
        assert sorted(con.table("q").fetchall()) == [(False, 1), (True, 4)]


# ------------------------------------------------------------------- replaced and removed


def test_another_source_warns(path):
    made(path).close()
    with opened(path) as con:
        with pytest.warns(RuntimeWarning, match="is_long has another source .* q go on with it"):
            con.create_function("is_long", lambda line: len(line) > 3, ["VARCHAR"], "BOOLEAN")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            con.create_function("size", len, ["VARCHAR"], "BIGINT")
        con.append("s", [(3, "xyz")], at=[5])
        con.advance(5)
        assert sorted(con.table("q").fetchall()) == [(False, 3), (True, 3)]


def test_another_signature_is_refused_while_queries_call_it(path):
    con = made(path)
    with pytest.raises(cqlduck.CatalogError) as caught:
        con.create_function("size", len, ["VARCHAR"], "INTEGER")
    assert caught.value.message == (
        "q call size(VARCHAR) -> BIGINT, and this is size(VARCHAR) -> INTEGER"
    )
    con.execute("DROP CONTINUOUS QUERY above; DROP CONTINUOUS QUERY q")
    con.create_function("size", len, ["VARCHAR"], "INTEGER")
    assert con.sql("SELECT typeof(size('a'))").fetchall() == [("INTEGER",)]
    con.close()


def test_removed_only_when_nobody_calls_it(path):
    con = made(path)
    with pytest.raises(cqlduck.CatalogError, match="size is called by q"):
        con.remove_function("size")
    con.execute("DROP CONTINUOUS QUERY above; DROP CONTINUOUS QUERY q")
    con.remove_function("Size")
    assert con.sql("SELECT name FROM cql.functions").fetchall() == [("is_long",)]
    with pytest.raises(cqlduck.CatalogError, match="there is no function size"):
        con.remove_function("size")
    con.create_function("SIZE", len, ["VARCHAR"], "BIGINT")
    con.close()


def test_an_undone_registration_leaves_the_one_before(con, monkeypatch):
    con.create_function("size", len, ["VARCHAR"], "BIGINT")

    def fails(*_):
        raise RuntimeError("no room")

    monkeypatch.setattr("cqlduck.state.catalog_rows.write_function", fails)
    with pytest.raises(RuntimeError):
        con.create_function("size", lambda x: 0, ["VARCHAR"], "BIGINT")
    with pytest.raises(RuntimeError):
        con.create_function("other", lambda x: 0, ["VARCHAR"], "BIGINT")
    assert con.sql("SELECT size('abc')").fetchall() == [(3,)]
    with pytest.raises(cqlduck.Error, match="other"):
        con.sql("SELECT other('abc')")


# ----------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("f", 1), {}, "1 is no function"),
        (("f", lambda x: 1), {}, "the function f does not fit: "),
        (("f", lambda x: 1, None, "INTEGER"), {}, "the function f does not say which types it has"),
        (("f", lambda *x: 1, None, "INTEGER"), {}, "the function f does not say which types"),
        (("f", lambda x: 1, ["NOPE"], "INTEGER"), {}, "the function f does not fit: "),
        (("f", lambda x, y: 1, ["INTEGER"], "INTEGER"), {}, "the function f does not fit: "),
        (("lower", is_long), {}, "DuckDB has a function or macro lower already"),
        (("Lower", is_long), {}, "DuckDB has a function or macro Lower already"),
        (("select", is_long), {}, "'select' cannot be the name of a function"),
        *(
            ((name, is_long), {}, f"{name!r} cannot be the name of a function")
            for name in (
                "istream", "Rstream", "ifnull", "try", "extract", "window", "timestamp", "date",
                "int", "varchar", "table", "collate", "describe", "lambda",
            )
        ),
        (("f", lambda x: x, "BIGINT", "BIGINT"), {}, "the types of the parameters of f are no"),
        (("f", needs_more), {}, "the function f does not fit: "),
        (
            ("f", lambda x: x, ["BIT"], "INTEGER"), {"type": "arrow"},
            "the function f cannot have the type BIT: ",
        ),
        (
            ("f", lambda x: x, ["INTEGER"], "STRUCT(a TIMETZ)"), {"type": "arrow"},
            "the function f cannot have the type TIME WITH TIME ZONE: ",
        ),
        (("f", lambda x: x, ["VARCHAR"], "JSON"), {"type": "arrow"}, "the function f cannot have"),
        (("f", lambda x: x, ["INTEGER"], "TIMESTAMP_NS[]"), {}, "the function f cannot have"),
        (("a b", is_long), {}, "'a b' cannot be the name of a function"),
        (("", is_long), {}, "a name is not empty"),
        (("coalesce", is_long), {}, "'coalesce' cannot be the name of a function"),
        ((7, is_long), {}, "7 is no name"),
        (("f", is_long), {"side_effects": True}, "a function with side effects cannot be part"),
        (("f", is_long), {"type": "numpy"}, "'numpy' is no type of a function"),
        (("f", is_long), {"null_handling": None}, "None is no null_handling of a function"),
        (
            ("f", pc.utf8_length, ["VARCHAR"], "INTEGER"),
            {"type": "arrow", "exception_handling": "return_null"},
            "a function of Arrow arrays cannot have exception_handling = 'return_null'",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(con, arguments, options, message):
    with pytest.raises(cqlduck.Error) as caught:
        con.create_function(*arguments, **options)
    assert caught.value.message.startswith(message)
    assert caught.value.hint
    assert con.sql("FROM cql.functions").fetchall() == []


def test_order_by_a_call_is_refused(con):
    con.create_function("size", len, ["VARCHAR"], "BIGINT")
    with pytest.raises(cqlduck.NotSupportedError, match="ORDER BY calls size") as caught:
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT line FROM s [ROWS 3] ORDER BY size(line)")
    assert "size(…) under a name" in str(caught.value.hint)
    con.execute(
        "CREATE CONTINUOUS QUERY q AS "
        "SELECT line, size(line) AS n FROM s [ROWS 3] ORDER BY size(line) DESC LIMIT 1"
    )


def test_a_function_may_not_call_the_connection(con):
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s [NOW]")
    said = []

    def nosy(x: int) -> int:
        for call in (lambda: con.table("q"), lambda: con.sql("SELECT 1"), con.close, con.advance):
            with pytest.raises(cqlduck.DatabaseError) as caught:
                call()
            said.append(caught.value.message)
        return x

    con.create_function("nosy", nosy)
    con.sql("SELECT nosy(1)").fetchall()
    assert said[-1].startswith("the function nosy calls the connection")
    con.execute("CREATE CONTINUOUS QUERY p AS SELECT nosy(k) AS k FROM s [NOW]")
    con.append("s", [(1, "a")], at=1)
    con.advance(1)
    assert con.table("p").fetchall() == [(1,)]


@pytest.mark.usefixtures("ctrl_c")
def test_an_interruption_stops_slow_functions():
    # on one thread, which is the main one: only that one runs the handlers of signals
    with cqlduck.connect(threads=1) as con:
        con.execute(STREAM)
        con.create_function(
            "slow", lambda x: os.kill(os.getpid(), signal.SIGINT) or x, ["INTEGER"], "INTEGER"
        )
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT slow(k) AS k FROM s [ROWS 5]")
        con.append("s", pa.table({"k": list(range(10_000)), "line": ["x"] * 10_000}), at=1)
        with pytest.raises(KeyboardInterrupt):
            con.advance(1)
        assert con.queries["q"].state == "active"
        assert con.queries["q"].frontier is None


# ------------------------------------------------------------------------------------ digests


def test_digests_tell_sources_apart():
    def one(x):
        return x + 1

    def other(x):
        return x + 2

    namespace: dict = {}
    exec("def f(x): return [y + 1 for y in x]", namespace)
    first = namespace["f"]
    exec("def f(x): return [y + 2 for y in x]", namespace)

    class Model:
        def __init__(self, weight):
            self.weight = weight

        def __call__(self, x):
            return x * self.weight

        def predict(self, x):
            return x

    found = [
        one, other, first, namespace["f"], len, abs, Model(1), Model(1).predict,
        functools.partial(one, 1), functools.partial(one, 2),
    ]  # fmt: skip
    assert len({digest(call) for call in found}) == len(found)
    assert digest(Model(1)) == digest(Model(2)), "the source is the same"
    assert digest(one) == digest(functools.wraps(one)(lambda x: one(x)))


def test_a_digest_is_the_same_in_each_process():
    """It has neither addresses nor the order of sets."""
    script = f"""
        import functools, sys
        sys.path[:0] = {sys.path!r}
        from cqlduck.registration.functions import digest
        space = {{}}
        exec("def f(x): return x in {{'a', 'b', 'c', 'd', 'e'}}", space)
        print(digest(space["f"]), digest(functools.partial(map, object(), lambda x: x)))
    """
    found = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1
