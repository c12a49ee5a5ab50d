"""Any name may stand between quotes, wherever a name can stand."""

from __future__ import annotations

import cqlduck

ODD = ["x.y", "a b", 'q"t', "ORDER", "9", "λ", "ä-ö"]
TABLES = """
    CREATE STREAM "my.s" ("x.y" INTEGER, "a b" INTEGER, "q""t" INTEGER, "ORDER" INTEGER,
        "ts.1" BIGINT, "9" INTEGER, "λ" INTEGER, "ä-ö" INTEGER) TIMESTAMP BY "ts.1";
    CREATE RELATION "r r" ("x.y" INTEGER, "a b" INTEGER, "select" VARCHAR,
        PRIMARY KEY ("x.y", "a b"));
"""
QUERIES = {
    'SELECT "x.y" FROM "my.s" [PARTITION BY "x.y" ROWS 1]': [(1,), (2,)],
    'SELECT z."x.y" FROM "my.s" [PARTITION BY z."x.y" ROWS 1] z': [(1,), (2,)],
    'SELECT "a b" FROM "my.s" [PARTITION BY "my.s"."x.y", "q""t", "9" ROWS 2]': [(2,), (2,), (2,)],
    'SELECT "x.y" FROM (SELECT "x.y" FROM "my.s") [PARTITION BY "x.y" ROWS 1] q': [(1,), (2,)],
    'SELECT "x.y" FROM "my.s" [ROWS 3 WHERE "my.s"."q""t" > 0 AND "x.y" > 1]': [(2,)],
    'SELECT "x.y", count(*) AS "n.n" FROM "my.s" [ROWS 3] GROUP BY "x.y"': [(1, 2), (2, 1)],
    'SELECT "λ", max("a b") AS "m m" FROM "my.s" [ROWS 3] GROUP BY ALL ORDER BY "m m"': [(6, 2)],
    'SELECT "select" FROM "my.s" [ROWS 3] JOIN "r r" USING ("x.y", "a b")': [("x",), ("x",)],
    'SELECT "al.ias"."9" FROM "my.s" [ROWS 1] AS "al.ias" NATURAL LEFT JOIN "r r"': [(7,)],
    'SELECT "ORDER" AS "A.B" FROM "my.s" [ROWS 9] LIMIT 1': [(4,)],
}  # fmt: skip


def test_odd_names_are_found_in_queries_windows_and_statements():
    with cqlduck.connect() as con:
        con.execute(TABLES)
        for place, query in enumerate(QUERIES):
            con.execute(f'CREATE CONTINUOUS QUERY "q.{place}" AS {query}')
        con.append("my.s", [(1, 2, 3, 4, 5, 7, 6, 0), (1, 2, 3, 4, 6, 7, 6, 0)])
        con.execute(
            'INSERT INTO "my.s" ("x.y", "a b", "q""t", "ORDER", "ts.1", "9", "λ") '
            "VALUES (2, 2, 3, 4, 7, 7, 6)"
        )
        con.execute(
            'INSERT INTO "r r" ("a b", "select", "x.y") VALUES (2, \'y\', 1), (1, \'z\', 1)'
        )
        con.execute('UPDATE "r r" SET "select" = \'x\' WHERE "a b" = 2')
        con.execute('DELETE FROM "r r" WHERE "a b" = 1 AND "x.y" = 1')
        con.advance(10)
        for place, (query, rows) in enumerate(QUERIES.items()):
            assert rows == sorted(con.table(f"q.{place}").fetchall()), query
        assert ["x.y", "n.n"] == con.table("q.5").columns
        con.execute('DROP CONTINUOUS QUERY "q.5"')


def test_every_name_can_be_a_key_of_a_window():
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in ODD]
    with cqlduck.connect() as con:
        con.execute(TABLES)
        for place, name in enumerate(quoted):
            con.execute(
                f"CREATE CONTINUOUS QUERY q{place} AS "
                f'SELECT {name} FROM "my.s" [PARTITION BY {name} ROWS 1]'
            )
        con.append("my.s", [(1, 2, 3, 4, 5, 6, 7, 8), (9, 9, 9, 9, 9, 9, 9, 9)])
        con.advance(20)
        for place, name in enumerate(ODD):
            shown = con.table(f"q{place}")
            assert ([name], 2) == (shown.columns, len(shown.fetchall()))
