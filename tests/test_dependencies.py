"""Functional dependencies, and ties that are broken by what does not follow from others."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck

CREATE = """
    CREATE RELATION p (a BIGINT, k BIGINT, j BIGINT, x DOUBLE) PRIMARY KEY (k);
    CREATE RELATION o (k BIGINT, l BIGINT, b BIGINT, x DOUBLE) PRIMARY KEY (k, l);
    CREATE RELATION n (k BIGINT, c VARCHAR, b INTEGER);
    CREATE RELATION m (x DOUBLE);
"""
COLUMNS = {"p": "akjx", "o": "klbx", "n": "kcb"}


def terms(con: cqlduck.Connection, body: str) -> str:
    """Return the ORDER BY of what a query chooses, `p.k, o.l`."""
    con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    line = next(line for line in con.explain("q").splitlines() if " recompute: " in line)
    found = re.search(r"ORDER BY (.*?)(\) AS| LIMIT)", line)
    assert found is not None, line
    con.execute("DROP CONTINUOUS QUERY q")
    return found[1].replace('"_cql_below".', "").replace('"', "")


@pytest.mark.parametrize(
    ("body", "decide"),
    [
        ("SELECT a FROM p LIMIT 1", "p.a, p.k"),
        ("SELECT b FROM o LIMIT 1", "o.k, o.l"),
        ("SELECT c FROM n LIMIT 1", "n.k, n.c, n.b"),
        ("SELECT row_number() OVER (ORDER BY b) AS r FROM o", "b, o.k, o.l"),
        ("SELECT a FROM p, o WHERE p.k = o.k LIMIT 1", "p.a, p.k, o.l"),
        ("SELECT a FROM p JOIN o ON p.j = o.b LIMIT 1", "p.a, p.k, o.k, o.l"),
        ("SELECT a FROM o, p WHERE o.k = p.k LIMIT 1", "o.k, o.l"),
        ("SELECT a FROM o, p WHERE o.b = p.k AND p.k > 1 LIMIT 1", "o.k, o.l"),
        # what follows from what follows
        ("SELECT 1 AS i FROM o, p, n WHERE o.b = p.k AND n.k = p.j LIMIT 1", "o.k, o.l, n.c, n.b"),
        # equal in part alone, by another type, or in values that may differ
        ("SELECT a FROM p, o WHERE p.k = o.l LIMIT 1", "p.a, p.k, o.k"),
        ("SELECT 1 AS i FROM p, n WHERE p.k = n.b LIMIT 1", "p.a, p.k, n.k, n.c, n.b"),
        ("SELECT 1 AS i FROM n, o WHERE o.x = n.k LIMIT 1", "n.k, n.c, n.b, o.k, o.l"),
        ("SELECT a FROM p, m WHERE p.x = m.x LIMIT 1", "p.a, p.k, m.x, (NOT SIGNBIT(m.x))"),
        # an equality under OR is none
        ("SELECT a FROM p, o WHERE p.k = o.k OR o.b = 1 LIMIT 1", "p.a, p.k, o.k, o.l"),
        # a key that is not shown, or of several rows by outer joins and unions
        ("SELECT a FROM (SELECT a, j FROM p) AS p LIMIT 1", "p.a, p.j"),
        (
            "SELECT a FROM o LEFT JOIN p ON o.k = p.k LIMIT 1",
            "o.k, o.l, o.b, o.x, (NOT SIGNBIT(o.x)), p.a, p.k, p.j, p.x, (NOT SIGNBIT(p.x))",
        ),
        (
            "SELECT u.k FROM (FROM p UNION ALL FROM p) AS u LIMIT 1",
            "u.a, u.k, u.j, u.x, (NOT SIGNBIT(u.x))",
        ),
    ],
)
@pytest.mark.parametrize("way", ["allow", "always"])
def test_what_decides(body: str, decide: str, way: str) -> None:
    with cqlduck.connect(recompute=way) as con:
        con.execute(CREATE)
        found = terms(con, body)
        # the columns of a join are called after its items
        assert re.sub(r"(_cql_below|p|o|n)\.(\w\.)", r"\2", found) in (
            decide,
            decide.replace("p.p.", "p."),
        )


def test_a_group_is_told_by_its_keys() -> None:
    with cqlduck.connect() as con:
        con.execute(CREATE)
        of_groups = "(SELECT b, k, count(*) AS m FROM o GROUP BY b, k)"
        found = terms(con, f"SELECT row_number() OVER (ORDER BY m) AS r FROM {of_groups} AS g")
        assert found == "m, g.b, g.k"
        of_keys = "(SELECT a, k, x, sum(j) AS m FROM p GROUP BY k, a, x)"
        found = terms(con, f"SELECT row_number() OVER (ORDER BY m) AS r FROM {of_keys} AS g")
        assert found == "m, g.a, g.k"


@pytest.mark.parametrize("way", ["allow", "always"])
@pytest.mark.parametrize(
    "body",
    [
        """SELECT list("a.b".c) AS l FROM r AS a, s AS "a.b" """,
        """SELECT "a.b".c, "a.b".v FROM r AS a, s AS "a.b" LIMIT 2""",
        """SELECT list("a.b".c) AS l FROM r AS a, s AS "a.b", LATERAL (SELECT a.k + 1 AS t) z""",
        """SELECT (SELECT list("a.b".c) FROM r AS a, s AS "a.b" WHERE a.k > r.k) AS l FROM r""",
        """SELECT a."b.c" AS x, "a.b".c AS y FROM r AS a, s AS "a.b" ORDER BY "a.b".c LIMIT 2""",
    ],
)
def test_names_with_dots_are_two_columns(body: str, way: str) -> None:
    said = []
    for keys in ((", PRIMARY KEY (k)", ", PRIMARY KEY (c)"), ("", "")):
        with cqlduck.connect(recompute=way) as con:
            con.execute(f"""
                CREATE RELATION r (k BIGINT, "b.c" BIGINT{keys[0]});
                CREATE RELATION s (c BIGINT, v BIGINT{keys[1]});
                CREATE CONTINUOUS QUERY q AS {body}
            """)
            con.append("r", [(1, 5), (2, 6)], at=1)
            con.append("s", [(9, 1), (8, 2), (3, 3)], at=1)
            con.advance(1)
            con.append("s", [(1, 0)], at=2)
            con.advance(2)
            said.append(sorted(map(repr, con.changes("q").fetchall())))
    assert said[0] == said[1]
    assert said[0]


# -- the same as without keys ----------------------------------------------------------------------

FROM = (
    "p",
    "o",
    "p, o WHERE p.k = o.k",
    "o, p WHERE o.b = p.k",
    "p JOIN o ON p.j = o.l",
    "o JOIN p ON o.k = p.k AND o.l = p.j",
    "n, o WHERE n.k = o.k",
    "n JOIN p ON n.b = p.k",
    "n, o, p WHERE n.k = o.l AND o.b = p.k",
    "p, o WHERE p.x = o.x",
    "p LEFT JOIN o ON p.k = o.k",
    "o LEFT JOIN p ON o.b = p.k",
    "o FULL JOIN p ON o.l = p.k",
    "p SEMI JOIN o ON p.k = o.k",
    "(SELECT j, k, a FROM p WHERE j < 2) AS p",
    "(SELECT j, a, x FROM p) AS p",
    "(SELECT a, j, max(k) AS k FROM p GROUP BY a, j) AS p",
    "(FROM p UNION ALL FROM p) AS p",
)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Draw a query whose answer depends on how ties are broken."""
    origin = draw(st.sampled_from(FROM))
    items = [i for i in "pon" if re.search(rf"\b{i}\b(?!\.)", origin.split(" WHERE ")[0])]
    if " SEMI " in origin:
        items.remove("o")
    if origin.startswith("("):
        columns = [f"p.{c}" for c in re.findall(r"\w", origin[8:15]) if c in "ajkx"] or ["p.a"]
        columns = ["p.a"] if "GROUP" in origin or "UNION" in origin else columns
    else:
        columns = [f"{i}.{c}" for i in items for c in COLUMNS[i]]
    column = st.sampled_from(columns)
    shown, by, order = draw(column), draw(column), draw(column)
    direction = draw(st.sampled_from(["", " DESC", " DESC NULLS FIRST"]))
    return draw(
        st.sampled_from(
            [
                f"SELECT {shown} AS s FROM {origin} ORDER BY {order}{direction} LIMIT 2",
                f"SELECT {shown} AS s FROM {origin} LIMIT 2 OFFSET 1",
                f"SELECT DISTINCT ON ({by}) {by} AS b, {shown} AS s FROM {origin}"
                f" ORDER BY {by}, {order}{direction}",
                f"SELECT {shown} AS s, row_number() OVER (PARTITION BY {by} ORDER BY {order})"
                f" AS r FROM {origin}",
                f"SELECT {shown} AS s, lag({by}) OVER (ORDER BY {order}{direction}) AS r"
                f" FROM {origin}",
                f"SELECT {by} AS b, list({shown}) AS s FROM {origin} GROUP BY {by}",
                f"SELECT {by} AS b, arg_max({shown}, {order}) AS s FROM {origin} GROUP BY {by}",
            ]
        )
    )


def changes(rnd: random.Random, rows: dict[Any, Any], name: str) -> tuple[list[Any], list[Any]]:
    """Return the rows that go at an instant and those that come; of each key there is one."""
    small = [None, 0, 1, 2]
    gone, new = [], []
    for _ in range(rnd.randint(0, 3)):
        k, of = rnd.randint(0, 3), rnd.randint(0, 2)
        key = k if name == "p" else (k, of)
        x = rnd.choice([None, 0.0, -0.0, 1.5])
        row = (rnd.choice(small), k, rnd.choice(small), x)
        row = row if name == "p" else (k, of, rnd.choice(small), x)
        if key in rows and rows[key] not in new:
            gone.append(rows.pop(key))
        if key not in rows and rnd.random() < 0.8:
            rows[key] = row
            new.append(row)
    return gone, new


@settings(max_examples=fewer_if_brief(90))
@given(body=bodies(), seed=st.integers(0, 2**32))
def test_a_key_changes_no_answer(body: str, seed: int) -> None:
    """What a key says is used to break ties, and breaks them as all columns do."""
    rnd = random.Random(seed)
    way = rnd.choice(["allow", "always"])
    with cqlduck.connect(recompute=way) as keyed, cqlduck.connect(recompute=way) as plain:
        keyed.execute(CREATE)
        plain.execute(re.sub(r" PRIMARY KEY \(.*?\)", "", CREATE))
        state: dict[str, dict[Any, Any]] = {"p": {}, "o": {}}
        for con in (keyed, plain):
            con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        for now in range(1, rnd.randint(3, 9)):
            for name, rows in state.items():
                gone, new = changes(rnd, rows, name)
                for con in (keyed, plain):
                    if gone:
                        con.retract(name, gone, at=now)
                    if new:
                        con.append(name, new, at=now)
            if rnd.random() < 0.5:
                row = (rnd.choice([None, 0, 1, 2]), rnd.choice("ab"), rnd.choice([None, 0, 1]))
                for con in (keyed, plain):
                    con.append("n", [row], at=now)
            if rnd.random() < 0.6:
                assert keyed.advance(now) == plain.advance(now)
        keyed.advance(20)
        plain.advance(20)
        said = [sorted(map(repr, c.changes("q").fetchall())) for c in (keyed, plain)]
        assert said[0] == said[1], body
