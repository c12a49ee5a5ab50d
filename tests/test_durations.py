"""Durations that are no whole number of instants: they are exact, or refused."""

from __future__ import annotations

from typing import Any

import pytest

import cqlduck

ELEMENTS = [0, 1, 2, 2, 4, 7, 8]


@pytest.mark.parametrize("edge", ["closed", "half_open"])
@pytest.mark.parametrize(
    "length", ["0.5", "1.5", "2", "2.25", "999 MILLISECONDS", "1500 MILLISECONDS"]
)
@pytest.mark.parametrize("sharing", [True, False])
def test_a_range_that_is_no_whole_number_of_instants(edge: str, length: str, sharing: bool) -> None:
    """It holds the instants that lie in it; a family has two of them."""
    w = float(length.split()[0]) / (1000 if " " in length else 1)
    other = length.replace("0.5", "0.75").replace("1.5", "1.25").replace("1500", "1250")
    with cqlduck.connect(window_edge=edge, sharing=sharing) as con:
        con.execute("CREATE STREAM s (at BIGINT) TIMESTAMP BY at")
        con.execute("CREATE STREAM clock (at BIGINT) TIMESTAMP BY at")
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT at FROM s [RANGE {length}]")
        con.execute(f"CREATE CONTINUOUS QUERY other AS SELECT at FROM s [RANGE {other}]")
        con.append("s", [(at,) for at in ELEMENTS])
        con.append("clock", [(20,)])
        con.advance(16)
        for now in range(16):
            held = [
                at for at in ELEMENTS
                if (now - w <= at if edge == "closed" else now - w < at) and at <= now
            ]  # fmt: skip
            assert held == sorted(at for (at,) in con.as_of("q", now).fetchall()), now


@pytest.mark.parametrize("operator", [">", ">=", "<", "<=", "="])
@pytest.mark.parametrize("instant", [None, "250 milliseconds", "4 seconds"])
@pytest.mark.parametrize("length", ["1500 milliseconds", "2 seconds", "3 seconds"])
def test_an_interval_before_now_is_not_rounded(
    operator: str, instant: str | None, length: str
) -> None:
    seconds = {"1500 milliseconds": 1.5, "2 seconds": 2.0, "3 seconds": 3.0}[length]
    unit = {None: 1.0, "250 milliseconds": 0.25, "4 seconds": 4.0}[instant]
    compare = {">": float.__gt__, ">=": float.__ge__, "<": float.__lt__, "<=": float.__le__,
               "=": float.__eq__}[operator]  # fmt: skip
    with cqlduck.connect(**({"instant": instant} if instant else {})) as con:
        con.execute("CREATE STREAM s (at BIGINT) TIMESTAMP BY at")
        con.execute(
            f"CREATE CONTINUOUS QUERY q AS SELECT at FROM s "
            f"WHERE at {operator} current_timestamp - INTERVAL '{length}'"
        )
        con.append("s", [(at,) for at in ELEMENTS])
        con.advance(20)
        for now in range(20):
            bound = now - seconds / unit
            held = [at for at in ELEMENTS if at <= now and compare(float(at), bound)]
            assert held == sorted(at for (at,) in con.as_of("q", now).fetchall()), now


@pytest.mark.parametrize(
    ("settings", "window", "unit"),
    [
        ({}, "TUMBLE 1500 MILLISECONDS", "1 second"),
        ({}, "RANGE 3 SLIDE 1.5", "1 second"),
        ({}, "HOP 3 EVERY 1.5", "1 second"),
        ({"instant": "5 seconds"}, "TUMBLE 8 SECONDS", "5 seconds"),
        ({"granularity": "1 minute"}, "RANGE 1 HOUR SLIDE 90 SECONDS", "60 seconds"),
        ({"granularity": "1 minute"}, "TUMBLE 90 SECONDS", "60 seconds"),
    ],
    ids=str,
)
def test_a_window_slides_by_whole_instants(
    settings: dict[str, Any], window: str, unit: str
) -> None:
    kind = "TIMESTAMP" if "granularity" in settings else "BIGINT"
    with cqlduck.connect(**settings) as con:
        con.execute(f"CREATE STREAM s (at {kind}) TIMESTAMP BY at")
        with pytest.raises(cqlduck.BindError, match=f"which are {unit} long") as caught:
            con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT at FROM s [{window}]")
        assert f"a multiple of {unit}" in str(caught.value.hint)
        assert caught.value.line == 1


LONG = 2**62


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE STREAM t (k INTEGER) OUT OF ORDER WITHIN {}",
        "CREATE STREAM t (k INTEGER) AHEAD AT MOST {}",
        "ALTER STREAM s SET (out_of_order_within = '{}')",
        "CREATE CONTINUOUS QUERY q AS SELECT at FROM s [RANGE {}]",
        "CREATE CONTINUOUS QUERY q AS SELECT at FROM s [TUMBLE {}]",
        "CREATE CONTINUOUS QUERY q WITH (keep = '{}') AS SELECT at FROM s [RANGE 3]",
        "CREATE CONTINUOUS QUERY q WITH (history = '{}') AS SELECT at FROM s [RANGE 3]",
    ],
)
@pytest.mark.parametrize("length", [str(LONG + 1), "999999999999999999 WEEKS"])
def test_a_duration_that_cannot_be_counted_is_refused_at_its_place(
    con: cqlduck.Connection, statement: str, length: str
) -> None:
    con.execute("CREATE STREAM s (at BIGINT)")
    with pytest.raises(cqlduck.ParseError, match=f"{length} is too long") as caught:
        con.execute(statement.format(length))
    assert caught.value.line == 1
    assert caught.value.hint


def test_an_element_may_be_late_by_all_of_time(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE STREAM s (at BIGINT) OUT OF ORDER WITHIN {LONG}")
    for at in (-5, -LONG):
        con.append("s", [(at,)], at=at)
    assert [(2,)] == con.sql("SELECT count(*) FROM s").fetchall()
    assert [(str(-LONG - 1),)] == con.sql("SELECT heartbeat FROM cql.streams").fetchall()


def test_rows_that_cannot_be_counted_are_refused(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (at BIGINT)")
    with pytest.raises(cqlduck.ParseError, match="at most 2147483647, not 2147483648") as caught:
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT at FROM s [ROWS {2**31}]")
    assert "RANGE UNBOUNDED" in str(caught.value.hint)
