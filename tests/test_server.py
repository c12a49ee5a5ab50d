"""The page: what a browser gets of a connection, and who gets nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.error import HTTPError
from xml.etree import ElementTree as Xml

import pytest
from flask.testing import FlaskClient
from markupsafe import escape
from typer.testing import CliRunner

import cqlduck
from cqlduck import cli
from cqlduck.errors import Error, how_to_install
from cqlduck.server import Server, lookups, pictures
from cqlduck.server.pages import VIEWS, Pages

APPLICATION = """
CREATE STREAM s (k INTEGER, v INTEGER, t TIMESTAMP) TIMESTAMP BY t;
CREATE RELATION r (k INTEGER, name VARCHAR, PRIMARY KEY (k));
CREATE CONTINUOUS QUERY q AS
SELECT r.name, count(*) AS n FROM s [RANGE 1 HOUR], r WHERE s.k = r.k AND v < 99 GROUP BY r.name;
CREATE CONTINUOUS QUERY top AS SELECT * FROM q ORDER BY n DESC LIMIT 3;
CREATE CONTINUOUS QUERY raw AS SELECT Istream(k, v) FROM s [NOW] WHERE v > 5;
CREATE CONTINUOUS QUERY "odd / <name>" AS SELECT count(*) AS n FROM s [ROWS 5];
INSERT INTO r VALUES (1, 'one'), (2, '<b>two</b>'), (3, NULL);
INSERT INTO s VALUES (1, 10, '2026-01-01 10:00'), (2, 20, '2026-01-01 10:01');
INSERT INTO s VALUES (3, 5, '2026-01-01 10:02'), (1, 70, '2026-01-01 10:03');
"""

SQL = {
    "a join": "SELECT a.k FROM s [RANGE 5] a, s [RANGE 9] b, r WHERE a.k = b.k AND b.k = r.k",
    "one input twice": "SELECT k FROM r WHERE k IN (SELECT k FROM r WHERE v > 1) OR v = 1",
    "set operations": "SELECT k FROM r UNION SELECT k FROM s [NOW] EXCEPT SELECT v FROM r",
    "a wide one": "SELECT " + ", ".join(f"sum(k + {i}) AS c{i}" for i in range(30)) + " FROM r",
    "a subquery": "SELECT k, (SELECT max(v) FROM r) AS m FROM s [ROWS 3] ORDER BY k LIMIT 2",
    "an outer join": "SELECT s.k, r.v FROM s [RANGE 3] LEFT JOIN r ON s.k = r.k",
}


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    """A connection with something in it."""
    with cqlduck.connect() as found:
        found.execute(APPLICATION)
        found.advance("2026-01-01 10:30")
        yield found


def client(con: cqlduck.Connection, *, with_sql: bool = True) -> FlaskClient:
    """Return a browser that goes to a connection's pages."""
    app = Pages(con, hosts={"localhost"}, with_sql=with_sql).app
    app.testing = True  # errors that are none of the family are raised
    return app.test_client()


def test_first_page_lists_what_there_is(con: cqlduck.Connection) -> None:
    text = client(con).get("/").text
    for name in ("q", "top", "raw", "odd / &lt;name&gt;", "s", "r"):
        assert f">{name}<" in text
    assert "2026-01-01 10:30:00" in text
    assert text.count("<rect") == len(con.sql("FROM cql.ticks").fetchall()) > 0


def test_first_page_of_an_empty_database() -> None:
    with cqlduck.connect() as con:
        text = client(con).get("/").text
    assert "There is no query yet" in text
    assert "No tick has run yet" in text


def test_first_page_moves(con: cqlduck.Connection) -> None:
    browser = client(con)
    before = browser.get("/part/overview").text
    con.advance("2026-01-01 10:45")
    after = browser.get("/part/overview").text
    assert "10:45:00" not in before
    assert "10:45:00" in after


def test_late_elements_are_listed(con: cqlduck.Connection) -> None:
    assert "Late" not in client(con).get("/").text
    con.retract("r", [{"k": 9, "name": "nobody"}])
    con.advance("2026-01-01 11:00")
    assert "Late" in client(con).get("/").text


@pytest.mark.parametrize("name", ["q", "Q", "top", "raw", "odd / <name>"])
def test_page_of_a_query(con: cqlduck.Connection, name: str) -> None:
    got = client(con).get(f"/query/{name}")
    assert got.status_code == 200
    plan = con.plan(name)
    for operator in plan.operators:
        assert f'id="operator-{operator.number}"' in got.text
        assert f'href="#operator-{operator.number}"' in got.text
    assert got.text.count('<pre class="code">') == 1 + sum(
        len(operator.statements) for operator in plan.operators
    )


def test_changes_of_choices_of_a_query(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE CONTINUOUS QUERY Mixed AS SELECT a.k FROM s [RANGE 9 SECONDS] a, r, s [NOW] b"
    )
    con.advance("2026-01-01 10:40")
    browser = client(con)
    assert "None yet" in browser.get("/query/mixed").text
    con.pin("stages", "whole", "Mixed")
    con.append("s", [{"k": 1, "v": 1, "t": "2026-01-01 10:41"}])
    con.advance("2026-01-01 10:50")
    (change, *_) = con.plan("Mixed").changes
    text = browser.get("/query/mixed").text
    assert "None yet" not in text
    assert f"<td>{change.before}</td>" in text
    assert f"<td>{change.after}</td>" in text


def test_control_characters_leave_a_picture_readable() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (v VARCHAR)")
        con.execute("CREATE CONTINUOUS QUERY \"a\x01b\" AS SELECT v FROM r WHERE v = 'x\x02y'")
        picture = Xml.fromstring(pictures.plan(con.plan("a\x01b")))
    assert "a b" in "".join(picture.itertext())


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "cqlduck.server")
    monkeypatch.setitem(sys.modules, "cqlduck.server", None)
    (tmp_path / "app.cql").write_text("CREATE STREAM s (k INTEGER)")
    done = CliRunner().invoke(cli.app, ["serve", str(tmp_path / "app.cql")])
    assert done.exit_code == 1
    assert how_to_install("serve") in done.stderr


def test_answers_are_text_and_no_markup(con: cqlduck.Connection) -> None:
    text = client(con).get("/part/answer/q").text
    assert "<td>&lt;b&gt;two&lt;/b&gt;</td>" in text
    assert '<td><span class="said">NULL</span></td>' in text
    assert text.count("<tr>") == 1 + len(con.table("q").fetchall())


def test_answer_of_a_stream_begins_with_the_newest(con: cqlduck.Connection) -> None:
    found = lookups.answer(con, "raw")
    assert [row[1] for row in found.rows] == ["70", "20", "10"]


def test_answer_keeps_its_order(con: cqlduck.Connection) -> None:
    con.execute("CREATE CONTINUOUS QUERY last AS SELECT k FROM r ORDER BY k DESC")
    con.advance("2026-01-01 10:40")
    assert lookups.answer(con, "last").rows == (("3",), ("2",), ("1",))


def test_long_answers_are_cut(con: cqlduck.Connection) -> None:
    found = lookups.table(con, f"FROM range({lookups.MAX_ROWS})")
    assert (len(found.rows), found.has_more) == (lookups.MAX_ROWS, False)
    found = lookups.table(con, f"FROM range({lookups.MAX_ROWS + 1})")
    assert (len(found.rows), found.has_more) == (lookups.MAX_ROWS, True)


def test_failed_query_says_why(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE CONTINUOUS QUERY bad AS SELECT CAST(name AS INTEGER) AS i FROM r WHERE k = 1"
    )
    con.advance("2026-01-01 10:50")
    browser = client(con)
    assert "failed" in browser.get("/").text
    got = browser.get("/query/bad")
    assert got.status_code == 200
    assert "Could not convert string" in got.text


def test_unknown_names(con: cqlduck.Connection) -> None:
    browser = client(con)
    for path in ("/query/tip", "/part/answer/tip", "/api/plan/tip"):
        got = browser.get(path)
        assert got.status_code == 404
        assert "tip" in got.text
    assert browser.get("/api/nothing").status_code == 404
    assert browser.get("/nothing").status_code == 404


@pytest.mark.parametrize("view", VIEWS)
def test_views_as_json(con: cqlduck.Connection, view: str) -> None:
    got = client(con).get(f"/api/{view}")
    assert got.mimetype == "application/json"
    found = con.sql(f"FROM cql.{view}")
    assert len(json.loads(got.text)) == len(found.fetchall())
    for row in json.loads(got.text):
        assert list(row) == list(found.columns)


def test_every_view_can_be_had(con: cqlduck.Connection) -> None:
    there = con.sql("SELECT view_name FROM duckdb_views() WHERE schema_name = 'cql'").fetchall()
    assert {name for (name,) in there} == set(VIEWS)


def test_plan_as_json(con: cqlduck.Connection) -> None:
    got = json.loads(client(con).get("/api/plan/q").text)
    assert got["id"] == con.plan("q").id


# --- any SELECT -----------------------------------------------------------------------------------


def test_select(con: cqlduck.Connection) -> None:
    got = client(con).post("/sql", data={"sql": "SELECT n + 41 AS m FROM q WHERE name = 'one'"})
    assert '<td class="number">43</td>' in got.text


def test_wrong_select(con: cqlduck.Connection) -> None:
    got = client(con).post("/sql", data={"sql": "SELECT nope FROM q"})
    assert got.status_code == 200
    assert "nope" in got.text
    assert "^" in got.text


@pytest.mark.parametrize(
    "sql",
    ["INSERT INTO r VALUES (7, 'x')", "DROP CONTINUOUS QUERY q", "DELETE FROM r", "",
     "COPY (SELECT 1) TO 'x.csv'", "SELECT 1; DROP CONTINUOUS QUERY q"],
)  # fmt: skip
def test_nothing_can_be_changed(
    con: cqlduck.Connection, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = con.sql("FROM cql_state.relation_r ORDER BY ALL").fetchall()
    got = client(con).post("/sql", data={"sql": sql})
    assert 'class="error"' in got.text
    assert list(con.queries) == ["q", "top", "raw", "odd / <name>"]
    assert con.sql("FROM cql_state.relation_r ORDER BY ALL").fetchall() == before
    assert not list(tmp_path.iterdir())


def test_no_select_beyond_this_machine(con: cqlduck.Connection) -> None:
    browser = client(con, with_sql=False)
    assert browser.post("/sql", data={"sql": "SELECT 1"}).status_code == 404
    assert "/sql" not in browser.get("/").text


# --- strangers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", ""])
def test_other_names_are_refused(con: cqlduck.Connection, host: str) -> None:
    got = client(con).get("/api/queries", headers={"Host": host})
    assert got.status_code == 403
    assert '"q"' not in got.text


@pytest.mark.parametrize("host", ["localhost", "localhost:8642", "LOCALHOST:1"])
def test_own_name(con: cqlduck.Connection, host: str) -> None:
    assert client(con).get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(("site", "code"), [("cross-site", 403), ("same-site", 403),
                                            ("same-origin", 200), ("none", 200)])  # fmt: skip
def test_forms_of_other_pages(con: cqlduck.Connection, site: str, code: int) -> None:
    got = client(con).post("/sql", data={"sql": "SELECT 1"}, headers={"Sec-Fetch-Site": site})
    assert got.status_code == code


def test_pages_load_nothing_of_others(con: cqlduck.Connection) -> None:
    browser = client(con)
    for path in ("/", "/query/q", "/nothing", "/static/page.css"):
        with browser.get(path) as got:
            assert got.headers["Content-Security-Policy"].startswith("default-src 'self'")
    page = browser.get("/query/q").text
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    assert " style=" not in page


# --- pictures -------------------------------------------------------------------------------------

_NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("text", SQL.values(), ids=SQL)
def test_boxes_of_a_plan_do_not_overlap(text: str) -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM s (k INTEGER, v INTEGER); CREATE RELATION r (k INTEGER, v INTEGER)"
        )
        con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
        plan = con.plan("q", analyze=True)
    picture = Xml.fromstring(pictures.plan(plan))
    width, height = (float(picture.attrib[side]) for side in ("width", "height"))
    boxes = [
        tuple(float(one.attrib[name]) for name in ("x", "y", "width", "height"))
        for one in picture.iter(f"{_NAMESPACE}rect")
    ]
    assert len(boxes) == 1 + len(plan.operators)
    for number, (x, y, wide, high) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + wide <= width
        assert y + high <= height
        for left, top, broad, tall in boxes[:number]:
            apart = x >= left + broad or left >= x + wide or y >= top + tall or top >= y + high
            assert apart
    arrows = list(picture.iter(f"{_NAMESPACE}path"))
    assert len(arrows) == 1 + sum(len(one.inputs) for one in plan.operators)
    for arrow in arrows:
        numbers = list(map(float, re.findall(r"-?[\d.]+", arrow.attrib["d"])))
        assert numbers[1] > numbers[-1], "elements flow upwards"


def test_text_of_a_box_fits() -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM s (k INTEGER, v INTEGER); CREATE RELATION r (k INTEGER, v INTEGER)"
        )
        con.execute(f"CREATE CONTINUOUS QUERY q AS {SQL['a wide one']}")
        picture = Xml.fromstring(pictures.plan(con.plan("q", analyze=True)))
    lines = [text.text or "" for text in picture.iter(f"{_NAMESPACE}text")]
    assert max(map(len, lines)) <= pictures.MAX_LETTERS


def test_bars_of_ticks() -> None:
    ticks = [
        {"number": n, "until": n, "elements": 0, "seconds": seconds}
        for n, seconds in ((3, 0.001), (2, 0.004), (1, 0.0))
    ]
    bars = list(Xml.fromstring(pictures.ticks(ticks)).iter(f"{_NAMESPACE}rect"))
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights == [1, pictures.BARS, pictures.BARS / 4]
    assert Xml.fromstring(pictures.ticks([])).tag == f"{_NAMESPACE}svg"


# --- the server -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_server_answers_while_the_connection_goes_on(con: cqlduck.Connection, host: str) -> None:
    with Server(con, host) as server:
        for minute in range(31, 40):
            con.advance(f"2026-01-01 10:{minute}")
            with urllib.request.urlopen(f"{server.url}api/queries") as got:
                rows = json.load(got)
            assert {row["frontier"] for row in rows} == {f"2026-01-01 10:{minute}:00"}
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(server.url)


def test_server_of_a_port_in_use(con: cqlduck.Connection) -> None:
    with Server(con) as server:
        port = int(server.url.rstrip("/").rpartition(":")[2])
        with pytest.raises(Error, match=f"cannot listen at 127.0.0.1, port {port}"):
            Server(con, port=port)


def test_server_beyond_this_machine_has_no_sql(con: cqlduck.Connection) -> None:
    with Server(con, "0.0.0.0") as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert urllib.request.urlopen(url).status == 200
        with pytest.raises(HTTPError, match="404"):
            urllib.request.urlopen(f"{url}sql")


# --- the command ----------------------------------------------------------------------------------


def serving(*arguments: str, cwd: Path) -> tuple[subprocess.Popen[str], str]:
    """Run `cqlduck serve` at a free port, and return it with the URL that it says."""
    line = [sys.executable, "-c", "from cqlduck.cli import main; main()", "serve"]
    child = subprocess.Popen(
        [*line, *arguments, "--port", "0"],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert child.stdout is not None
    said = child.stdout.readline()
    found = re.match(r"(http://127\.0\.0\.1:\d+/) shows ", said)
    assert found, said + child.stdout.read()
    return child, found[1]


def end(child: subprocess.Popen[str], code: int) -> str:
    """End a command by SIGTERM, and return what it has printed."""
    child.send_signal(signal.SIGTERM)
    printed, _ = child.communicate(timeout=60)
    assert child.returncode == code, printed
    return printed


def test_application_and_then_its_database(tmp_path: Path) -> None:
    (tmp_path / "app.cql").write_text(APPLICATION)
    child, url = serving("app.cql", "-d", "app.duckdb", cwd=tmp_path)
    try:
        wait_for(f"{url}part/answer/q", "&lt;b&gt;two")
    finally:
        end(child, 128 + signal.SIGTERM)
    child, url = serving("app.duckdb", cwd=tmp_path)
    try:
        assert "&lt;b&gt;two" in read(f"{url}query/q")
    finally:
        end(child, 128 + signal.SIGTERM)
    with cqlduck.connect(tmp_path / "app.duckdb") as con:
        assert len(con.table("q").fetchall()) == 3


def read(url: str) -> str:
    """Return a page."""
    with urllib.request.urlopen(url) as got:
        return str(got.read().decode())


def wait_for(url: str, text: str) -> None:
    """Read a page until it has a text."""
    for _ in range(600):
        if text in read(url):
            return
    raise AssertionError(read(url))


def test_neither_application_nor_database(tmp_path: Path) -> None:
    (tmp_path / "app.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 500)
    for arguments, said in (
        (["nothing.cql"], "there is no file nothing.cql"),
        (["app.duckdb", "-d", "other.duckdb"], "app.duckdb is a database itself"),
        (["app.duckdb"], "the database app.duckdb"),
    ):
        line = [sys.executable, "-c", "from cqlduck.cli import main; main()", "serve", *arguments]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_browser(con: cqlduck.Connection, tmp_path: Path) -> None:
    """Chromium draws the pages, its scripts run, and its console stays empty."""
    known = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = next(filter(None, map(shutil.which, known)), None)
    if browser is None:
        pytest.skip("no Chromium is installed")
    with Server(con) as server:
        for page, text in (("", ">top</a>"), ("query/q", "binary-join")):
            done = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                 f"--user-data-dir={tmp_path}", "--virtual-time-budget=5000", "--dump-dom",
                 server.url + page],
                capture_output=True, text=True, check=True, timeout=120,
            )  # fmt: skip
            assert text in done.stdout
            assert re.search(r'data-fetched="[1-9]', done.stdout), "nothing was fetched again"
            assert "CONSOLE" not in done.stderr


VALUES = {
    "TIMESTAMP 'infinity'": "infinity",
    "TIMESTAMP '2013-01-01 00:00:00.123456'": "2013-01-01 00:00:00.123456",
    "123456789.123::DOUBLE": "123456789.123",
    "INTERVAL '1 month 3 days'": "1 month 3 days",
    "[1.5, NULL]": "[1.5, NULL]",
    "{'a': DATE '2020-01-01'}": "{'a': 2020-01-01}",
    "'–'": "–",
    "NULL": None,
}


def test_values_are_shown_as_duckdb_writes_them(con: cqlduck.Connection) -> None:
    found = lookups.as_text(con, f"SELECT {', '.join(VALUES)};")
    assert found.rows == (tuple(VALUES.values()),)
    assert found.numbers == tuple(value == "123456789.123" for value in VALUES.values())
    long = lookups.as_text(con, "SELECT repeat('x', 100000) AS v -- as it is").rows[0][0]
    assert long == "x" * lookups.MAX_CHARACTERS + "…"
    assert lookups.as_text(con, "SHOW TABLES").columns == ("name",)
    with pytest.raises(cqlduck.Error) as caught:
        lookups.as_text(con, "SELECT nothing")
    assert (caught.value.line, caught.value.column) == (1, 8)


def test_a_statement_that_fails_runs_once() -> None:
    ran: list[str] = []
    con = cqlduck.connect(trace=lambda sql, parameters: ran.append(sql))
    with con, pytest.raises(cqlduck.Error, match="late") as caught:
        lookups.as_text(con, " SELECT\n  error('late')  ; -- as it is")
    assert sum("error('late')" in sql for sql in ran) == 1
    assert caught.value.text == " SELECT\n  error('late')  ; -- as it is"


@pytest.mark.parametrize(
    "sql", ["SELECT 1) AS a, (SELECT 2", "SELECT 1) UNION (SELECT 2", "SELECT 1 /*", "SELECT 1)--"]
)
def test_what_is_no_statement_alone_is_none(con: cqlduck.Connection, sql: str) -> None:
    with pytest.raises(cqlduck.ParseError):
        lookups.as_text(con, sql)


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1; -- one", "SELECT 1;;", "-- one\nSELECT 1 -- two", "(SELECT 1)", "VALUES (1)",
     "WITH a AS (SELECT 1) FROM a", "/* one */ SHOW TABLES", "DESCRIBE r", "SUMMARIZE r",
     "EXPLAIN SELECT 1", "SELECT ')'", "SELECT 1 AS a, 2 AS a"],
)  # fmt: skip
def test_any_statement_that_reads_is_shown(con: cqlduck.Connection, sql: str) -> None:
    assert lookups.as_text(con, sql).rows


@pytest.mark.parametrize("sql", ["INSERT INTO r VALUES (7, 'x')", "SET threads = 1", "BEGIN"])
def test_a_refusal_speaks_of_the_page(con: cqlduck.Connection, sql: str) -> None:
    text = client(con).post("/sql", data={"sql": sql}).text
    assert "this page only reads" in text
    assert "()" not in text


def test_a_long_name_does_not_make_the_first_page_wide() -> None:
    long = "n" * 5000
    with cqlduck.connect() as con:
        con.execute(f"""
            CREATE STREAM {long} (a INTEGER); CREATE RELATION r{long} (a INTEGER);
            CREATE CONTINUOUS QUERY q{long} AS SELECT a FROM {long} [ROWS 1];
        """)
        text = unescape(client(con).get("/").text)
    assert max(map(len, re.findall(r"(?<=>)[^<>]*(?=<)", text))) < 200
    for name in (long, f"r{long}", f"q{long}"):
        assert f'title="{name}"' in text


def test_a_statement_may_not_take_for_ever(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "SECONDS", 0.2)
    asked = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"
    got = client(con).post("/sql", data={"sql": asked})
    assert "took longer than 0.2 seconds" in got.text
    assert con.sql("SELECT 1", timeout=60).fetchall() == [(1,)]


def test_the_origin_of_a_form_is_this_server(con: cqlduck.Connection) -> None:
    for origin, code in (("http://localhost", 200), ("http://evil.example", 403), ("null", 403)):
        got = client(con).post("/sql", data={"sql": "SELECT 1"}, headers={"Origin": origin})
        assert got.status_code == code, origin


@pytest.mark.parametrize("name", ["/lead", "..", ".", "a/../b", "a?b=c&d", "two words", 'q"x'])
def test_links_lead_to_queries_of_any_name(con: cqlduck.Connection, name: str) -> None:
    quoted = name.replace('"', '""')
    con.execute(f'CREATE CONTINUOUS QUERY "{quoted}" AS SELECT k FROM r')
    browser = client(con)
    links = re.findall(r'href="(/query[^"]*)"', browser.get("/").text)
    titles = [re.search(r"<h1>(.*)</h1>", browser.get(unescape(one)).text) for one in links]
    assert escape(name) in [found[1] for found in titles if found]


def test_a_query_that_cannot_go_on_says_why(con: cqlduck.Connection) -> None:
    con.execute("CREATE CONTINUOUS QUERY above AS SELECT count(*) AS n FROM q")
    con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
    browser = client(con)
    assert "stands still" in browser.get("/").text
    assert "with q (inactive), which it reads" in browser.get("/query?name=above").text


@pytest.mark.parametrize(
    ("host", "said"), [("", "the host is empty"), ("300.1.1.1", "no address of this machine")]
)
def test_a_host_that_is_none_is_named(con: cqlduck.Connection, host: str, said: str) -> None:
    with pytest.raises(Error, match=said) as caught:
        Server(con, host=host)
    assert caught.value.hint


def test_a_program_gets_an_error_as_json(con: cqlduck.Connection) -> None:
    for path in ("/api/nothing", "/api/plan/nothing"):
        got = client(con).get(path)
        assert got.status_code == 404
        assert "nothing" in json.loads(got.text)["error"]
