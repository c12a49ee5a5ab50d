"""By which keys recomputed queries divide their inputs."""

import re

import pytest
from test_sql_differential import case_of, check, of_text

import cqlduck

KEYED = {
    # groups
    "SELECT k, list(a) AS l FROM r2 GROUP BY k": "k",
    "SELECT a AS x, k AS y, list(v) AS l FROM r2 GROUP BY ALL": "k, a",
    "SELECT list(a) AS l, k + 1 AS j FROM r2 GROUP BY 2, k HAVING count(*) > 1": "k",
    "SELECT list(a) AS l FROM r2 GROUP BY k + 1": None,
    "SELECT k, list(a) AS l FROM r2 GROUP BY ROLLUP (k)": None,
    "SELECT list(a) AS l FROM r2": None,
    "SELECT k, list(a) AS l FROM r2 GROUP BY k LIMIT 3": None,
    # WHERE is incremental, and below
    "SELECT k, list(a) AS l FROM r2 WHERE a > (SELECT max(c) FROM r) GROUP BY k": "k",
    "SELECT k, list(a) AS l, (SELECT max(c) FROM r) AS m FROM r2 GROUP BY k": None,
    # windows
    "SELECT k, lag(a) OVER (PARTITION BY k, a ORDER BY v) AS n FROM r2": "k, a",
    "SELECT rank() OVER w AS n, lag(v) OVER (PARTITION BY a) AS m FROM r2"
    " WINDOW w AS (PARTITION BY a, k)": "a",
    "SELECT rank() OVER (PARTITION BY k) AS n, lag(v) OVER (PARTITION BY a) AS m FROM r2": None,
    "SELECT k, rank() OVER (ORDER BY k) AS n FROM r2": None,
    "SELECT k FROM r2 QUALIFY row_number() OVER (PARTITION BY k) = 1": "k",
    "SELECT DISTINCT k, lag(a) OVER (PARTITION BY k) AS n FROM r2": "k",
    "SELECT DISTINCT a, lag(a) OVER (PARTITION BY k) AS n FROM r2": None,
    "SELECT k, rank() OVER (PARTITION BY k ORDER BY count(*)) AS n FROM r2 GROUP BY k, a": "k",
    "SELECT k, rank() OVER (PARTITION BY a ORDER BY k) AS n FROM r2 GROUP BY k, a": "a",
    "SELECT k, rank() OVER (ORDER BY count(*)) AS n FROM r2 GROUP BY k": None,
    # DISTINCT ON, and row by row
    "SELECT DISTINCT ON (k) a FROM r2": "k",
    "SELECT DISTINCT ON (k + 1) a FROM r2": None,
    "SELECT DISTINCT ON (k) a FROM r2 ORDER BY k LIMIT 2": None,
    "SELECT k, unnest([a, k]) AS n FROM r2": "k, a, v",
    "SELECT k, n FROM r2, range(a) t(n) WHERE n > k": "k, a, v",
    "SELECT DISTINCT a, unnest([k, a]) AS n FROM r2": "a",
    # joins, whichever of their parts are inputs
    "SELECT x.a, y.c FROM r2 x ASOF JOIN r y ON x.k = y.k AND x.a >= y.c": "k",
    "SELECT x.a, y.c FROM r2 x ASOF LEFT JOIN r y ON x.k = y.k AND x.a >= y.c": "k",
    "SELECT x.a, y.c FROM r2 x ASOF JOIN r y ON x.a >= y.c WHERE x.k = y.k": None,
    "SELECT x.a, z.b FROM r2 x ASOF LEFT JOIN r y ON x.k = y.k AND x.a >= y.c"
    " LEFT JOIN r3 z ON z.k = y.k": "k",
    "SELECT x.a, z.b FROM r2 x ASOF LEFT JOIN r y ON x.k = y.k AND x.a >= y.c"
    " LEFT JOIN r3 z ON z.k IS NOT DISTINCT FROM y.k": None,
    "SELECT x.a, z.b FROM r2 x ASOF JOIN r y ON x.k = y.k AND x.a >= y.c CROSS JOIN r3 z"
    " LEFT JOIN r w ON w.k = z.k AND x.k = z.k": None,
    "SELECT x.a, z.b FROM r2 x ASOF JOIN r y ON x.k = y.k AND x.a >= y.c CROSS JOIN r3 z"
    " LEFT JOIN r w ON w.k = z.k AND x.k = w.k": None,
    "SELECT x.a, z.b FROM r2 x ASOF JOIN r y ON x.k = y.k AND x.a >= y.c CROSS JOIN r3 z"
    " LEFT JOIN r w ON w.k = z.k WHERE x.k = z.k": "k",
    # subqueries
    "SELECT a IN (SELECT c FROM r WHERE r.k = r2.k) AS i FROM r2": "k",
    "SELECT a IN (SELECT c FROM r WHERE r.k = r2.a) AS i FROM r2": "a",
    "SELECT (SELECT c FROM r WHERE r.k = r2.k ORDER BY c LIMIT 1) AS i FROM r2": "k",
    "SELECT (SELECT c FROM r WHERE r.c = r2.k ORDER BY c LIMIT 1) IN "
    "(SELECT b FROM r3 WHERE r3.k = r2.a) AS i FROM r2": None,
    "SELECT EXISTS (SELECT 1 FROM r WHERE r.k = r2.v) AS i FROM r2": None,
    "SELECT a, m FROM r2, (SELECT max(c) AS m FROM r WHERE r.k = r2.k) z": "k",
    "SELECT a, m FROM r2, LATERAL (SELECT max(c) AS m FROM r WHERE r.k >= r2.k) z": None,
}


@pytest.mark.parametrize("query", KEYED)
def test_keys(con, query):
    con.execute(f"""
        CREATE RELATION r (k BIGINT, c BIGINT);
        CREATE RELATION r2 (k BIGINT, a BIGINT, v VARCHAR);
        CREATE RELATION r3 (k BIGINT, b BIGINT);
        CREATE CONTINUOUS QUERY q AS {query}
    """)
    line = next(line for line in con.explain("q").splitlines() if " recompute: " in line)
    by = re.search(r"\(by ([^:]*): ", line)
    assert KEYED[query] == (None if by is None else by[1])


def test_the_whole_is_recomputed_where_the_setting_says_so():
    with cqlduck.connect(recompute="always") as con:
        con.execute("CREATE RELATION r (k BIGINT, c BIGINT)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, list(c) AS l FROM r GROUP BY k")
        assert "(by k: " not in con.explain("q")


PADDED = (
    "SELECT y.k, list(a⟦+ ORDER BY x.k, a, v, y.k, c+⟧) AS l FROM ⟦s RANGE 3⟧ x "
    "LEFT JOIN ⟦r⟧ y ON x.k = y.k GROUP BY y.k",
    "SELECT x.k, list(c⟦+ ORDER BY x.k, a, v, y.k, c+⟧) AS l FROM ⟦s RANGE 3⟧ x "
    "RIGHT JOIN ⟦r⟧ y ON x.k = y.k GROUP BY x.k",
    "SELECT x.k, y.k AS j, count(*) OVER (PARTITION BY x.k) AS n FROM ⟦s RANGE 3⟧ x "
    "FULL JOIN ⟦r⟧ y ON x.k = y.k",
    "SELECT x.a, count(*) OVER (PARTITION BY y.k, b) AS n FROM ⟦s RANGE 3⟧ x "
    "LEFT JOIN ⟦r⟧ y ON x.k = y.k LEFT JOIN ⟦u⟧ z ON z.k IS NOT DISTINCT FROM y.k",
    "SELECT x.a, (SELECT count(*) FROM ⟦u⟧ z WHERE z.k = y.k) AS n FROM ⟦s RANGE 3⟧ x "
    "LEFT JOIN ⟦r⟧ y ON x.k = y.k",
    "SELECT x.a, unnest([a, c]) AS n FROM ⟦s RANGE 3⟧ x LEFT JOIN ⟦r⟧ y ON x.a = y.c "
    "WHERE x.k = y.k",
    "SELECT x.a, unnest([a, c, b]) AS n FROM ⟦s RANGE 3⟧ x, ⟦u⟧ z LEFT JOIN ⟦r⟧ y "
    "ON z.k = y.k WHERE x.k = z.k",
)


@pytest.mark.parametrize("text", PADDED)
def test_a_padded_key_is_no_key_of_what_is_above(text):
    for cuts in ([2, 3, 8], []):
        check(case_of([of_text(text)], cuts))
