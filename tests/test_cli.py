"""The command line: what each command prints, leaves behind, and exits with."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import cqlduck
from cqlduck import application, cli, display
from cqlduck.sources.dropzone import BatchWriter

APPLICATION = """\
CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t FROM 's';
CREATE RELATION names (k INTEGER, name VARCHAR);
CREATE TABLE plain (i INTEGER);
INSERT INTO plain VALUES (1);

CREATE CONTINUOUS QUERY counts AS
SELECT k, count(*) AS n FROM s [RANGE UNBOUNDED] GROUP BY k;
CREATE CONTINUOUS QUERY fives AS SELECT Istream(k) FROM s [NOW] WHERE k = 5;
"""
CQLDUCK = [sys.executable, "-c", "from cqlduck.cli import main; main()"]
START = datetime(2013, 1, 1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with an application."""
    monkeypatch.chdir(tmp_path)
    Path("app.cql").write_text(APPLICATION)
    Path("drop").mkdir()
    return tmp_path


def batch(number: int, *keys: int, root: Path | str = "drop") -> None:
    """Write a batch of an hour, with a row a minute."""
    begin = START + timedelta(hours=number)
    rows = pa.table(
        {
            "k": pa.array(keys, pa.int32()),
            "t": pa.array([begin + timedelta(minutes=i) for i in range(len(keys))]),
        }
    )
    end = begin + timedelta(hours=1, microseconds=-1)
    assert BatchWriter(root, "s", ts="t").write_batch(number, rows, heartbeat=end)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


def run(*arguments: str) -> Result:
    return call("run", "app.cql", "--database", "app.duckdb", "--drop-zone", "drop", *arguments)


def counts(database: Path | str = "app.duckdb") -> list[tuple[int, int]]:
    with cqlduck.connect(database) as con:
        return con.table("counts").order("k").fetchall()


def words(text: str) -> str:
    return " ".join(text.split())


# --- run ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_run_takes_what_is_there_and_prints_the_answers() -> None:
    batch(0, 1, 2, 5)
    batch(1, 1, 5)
    done = run()
    assert 0 == done.exit_code, done.output
    assert "event time 2013-01-01 01:59:59, 5 events" in done.stdout
    assert "counts (3 rows)" in done.stdout
    assert "fives (2 rows) k _ts" in words(done.stdout).replace("─", "")
    assert [(1, 2), (2, 1), (5, 2)] == counts()


@pytest.mark.usefixtures("here")
def test_run_again_goes_on() -> None:
    batch(0, 1)
    assert 0 == run().exit_code
    batch(1, 1, 2)
    done = run()
    assert 0 == done.exit_code, done.output
    assert "2 events" in done.stdout
    assert [(1, 2), (2, 1)] == counts()
    with cqlduck.connect("app.duckdb") as con:
        assert [(1,)] == con.sql("SELECT count(*) FROM plain").fetchall()


@pytest.mark.usefixtures("here")
def test_comments_and_line_breaks_are_no_change_and_new_statements_run() -> None:
    batch(0, 1)
    assert 0 == run().exit_code
    changed = APPLICATION.replace("GROUP BY k", "-- for each\n  GROUP BY k")
    more = "CREATE CONTINUOUS QUERY more AS SELECT n FROM counts;"
    Path("app.cql").write_text(f"{changed}\n{more}")
    batch(1, 1)
    done = run()
    assert 0 == done.exit_code, done.output
    assert "more (1 row)" in done.stdout
    assert [(1, 2)] == counts()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("count(*)", "max(k)", "LINE 6: CREATE CONTINUOUS QUERY counts AS"),
        ("k = 5", "k = '5'", "LINE 8: "),
        ("FROM 's'", "OUT OF ORDER WITHIN 1 MINUTE FROM 's'", "LINE 1: CREATE STREAM s"),
        ("name VARCHAR", "name DATE", "LINE 2: "),
    ],
)
def test_changed_statement_is_refused(old: str, new: str, place: str) -> None:
    assert 0 == run().exit_code
    Path("app.cql").write_text(APPLICATION.replace(old, new))
    done = run()
    assert 1 == done.exit_code
    assert re.match(r"app\.cql:\d+:\d+: error: the database has ", done.stderr)
    assert place in done.stderr
    assert "a new database" in done.stderr


@pytest.mark.usefixtures("here")
def test_changed_query_is_replaced_on_request() -> None:
    batch(0, 1)
    assert 0 == run().exit_code
    changed = APPLICATION.replace("CREATE CONT", "CREATE OR REPLACE CONT")
    Path("app.cql").write_text(changed.replace("count(*)", "100 + count(*)"))
    batch(1, 1)
    done = run()
    assert 0 == done.exit_code, done.output
    assert [(1, 101)] == counts()
    batch(2, 1)
    assert 0 == run().exit_code
    assert [(1, 102)] == counts(), "the same text begins nothing anew"


@pytest.mark.usefixtures("here")
def test_statement_that_may_run_again_does() -> None:
    again = (
        "CREATE OR REPLACE MACRO twice(x) AS x * {}; CREATE TABLE IF NOT EXISTS plain (i INTEGER);"
    )
    Path("app.cql").write_text(APPLICATION + again.format(2))
    assert 0 == run().exit_code
    Path("app.cql").write_text(APPLICATION + again.format(3))
    done = run()
    assert 0 == done.exit_code, done.output
    with cqlduck.connect("app.duckdb") as con:
        assert [(12,)] == con.sql("SELECT twice(4)").fetchall()


@pytest.mark.usefixtures("here")
def test_wrong_batch_is_shown_and_the_other_inputs_go_on() -> None:
    Path("app.cql").write_text("CREATE RELATION r (i INTEGER) FROM 'r';" + APPLICATION)
    batch(0, 1)
    Path("drop/r/batch=000000000000").mkdir(parents=True)
    done = run()
    assert 1 == done.exit_code
    assert 1 == done.output.count("a batch without a manifest")
    assert [(1, 1)] == counts()


@pytest.mark.usefixtures("here")
def test_query_that_fails_is_shown() -> None:
    Path("app.cql").write_text(
        APPLICATION
        + "CREATE CONTINUOUS QUERY bad AS SELECT CAST('x' || k AS INTEGER) AS i FROM s [NOW];"
    )
    batch(0, 1)
    done = run()
    assert 1 == done.exit_code
    assert "bad: failed at 2013-01-01 00:00" in words(done.stdout)
    assert "counts (1 row)" in done.stdout


@pytest.mark.usefixtures("here")
def test_what_reads_a_query_that_failed_is_shown_as_standing_still() -> None:
    Path("app.cql").write_text(
        APPLICATION + "CREATE CONTINUOUS QUERY fails AS SELECT k, (k - 7)::UTINYINT AS n FROM s;"
        "CREATE CONTINUOUS QUERY above AS SELECT count(*) AS n FROM fails [RANGE UNBOUNDED]"
    )
    batch(0, 9, 5)
    done = run()
    assert 1 == done.exit_code
    assert "above: the continuous query above stands still, because fails" in done.stdout
    assert "above (" not in done.stdout
    assert "RuntimeWarning" not in done.output
    assert "counts (2 rows)" in done.stdout


@pytest.mark.usefixtures("here")
def test_a_batch_that_is_passed_over_is_told_once() -> None:
    batch(0, 1)
    batch(1, 2)
    late = {"k": pa.array([3], pa.int32()), "t": pa.array([START])}
    assert BatchWriter("drop", "s", ts="t").write_batch(2, pa.table(late))
    done = run()
    assert 1 == done.exit_code
    assert 1 == words(done.output).count("batch 2 of s is passed over: 1 of the rows")
    assert 0 == run().exit_code


@pytest.mark.usefixtures("here")
def test_a_folder_without_batches_is_told() -> None:
    assert f"s: there is no folder {Path('drop') / 's'}" in words(run().output)
    Path("drop/s").mkdir()
    assert "s: " not in run().output
    Path("drop/s/data.csv").write_text("k,t\n")
    Path("drop/s/_spark_metadata").mkdir()
    said = words(run().output)
    assert "has no folder batch=0000000000, but data.csv; a batch has a number" in said
    batch(0, 1)
    assert "data.csv" not in run().output


@pytest.mark.usefixtures("here")
def test_run_in_memory_without_drop_zone() -> None:
    Path("own.cql").write_text(
        "CREATE RELATION r (i INTEGER); CREATE CONTINUOUS QUERY q AS SELECT sum(i) AS n FROM r;"
        "INSERT INTO r VALUES (3), (4);"
    )
    done = call("run", "own.cql", "--rows", "1")
    assert 0 == done.exit_code, done.output
    assert "q (" in done.stdout


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run none.cql", "there is no file none.cql"),
        ("run app.cql", "the application reads from folders (s)"),
        ("run app.cql --drop-zone none", "there is no drop zone none"),
        ("run app.cql --set speed=1", "there is no setting speed on the command line"),
        ("run app.cql --set Speed=1", "there is no setting Speed on the command line"),
        ("run app.cql --set history", "history has no value"),
        ("check foreign.duckdb", "foreign.duckdb is a database that cqlduck has not made"),
        ("explain -d foreign.duckdb q", "foreign.duckdb is a database that cqlduck has not made"),
        ("shell foreign.duckdb", "foreign.duckdb is a database that cqlduck has not made"),
        ("snapshot foreign.duckdb x.duckdb", "foreign.duckdb is a database that cqlduck has not"),
        ("check locked.duckdb", "locked.duckdb cannot be opened"),
        ("run app.cql -z drop --set window_edge=round", "window_edge is closed or half_open"),
        (
            "run app.cql -z drop -d none/app.duckdb",
            "of the database none/app.duckdb does not exist",
        ),
        ("run app.cql -z drop -d app.cql", "cannot be opened"),
        ("explain none.cql", "there is no file none.cql"),
        ("run empty.cql", "empty.cql is empty"),
        ("serve empty.cql", "empty.cql is empty"),
        ("explain app.cql q", "there is no continuous query q"),
        ("explain app.cql counts fives", "fives is too much"),
        ("explain foreign.duckdb", "foreign.duckdb is a database that cqlduck has not made"),
        ("run foreign.duckdb", "foreign.duckdb is a database of DuckDB, and not an application"),
        ("explain -d none.duckdb q", "there is no database none.duckdb"),
        ("check none.duckdb", "there is no database none.duckdb"),
        ("shell none.duckdb", "there is no database none.duckdb"),
        ("snapshot none.duckdb copy.duckdb", "there is no database none.duckdb"),
    ],
)
def test_errors_end_with_1_and_no_traceback(arguments: str, message: str) -> None:
    duckdb.connect("foreign.duckdb").close()
    Path("locked.duckdb").write_text("no database")
    Path("empty.cql").write_text("\n")
    before = Path("foreign.duckdb").read_bytes()
    done = call(*arguments.split())
    assert before == Path("foreign.duckdb").read_bytes()
    assert 1 == done.exit_code
    assert done.stderr.startswith("error: ")
    assert message in words(done.stderr)
    assert "Traceback" not in done.output


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("is_whole", [False, True])
def test_commands_say_the_same_of_a_file_that_cannot_be_opened(is_whole: bool) -> None:
    with cqlduck.connect("bad.duckdb") as con:
        con.execute("CREATE STREAM s (k INTEGER)")
    written = bytearray(Path("bad.duckdb").read_bytes())
    if is_whole:
        written[4096:12000] = b"U" * 7904
    else:
        del written[5000:]
    Path("bad.duckdb").write_bytes(written)
    said = [call(command, "bad.duckdb") for command in ("check", "serve", "shell")]
    assert [one.exit_code for one in said] == [1, 1, 1]
    assert len({one.stderr for one in said}) == 1
    assert "\nhint: " in said[0].stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "setting", ["Sharing=False", "STRICT=true", "unbounded=Allow", "Window_Edge=CLOSED"]
)
def test_settings_are_written_in_capitals_or_not(setting: str) -> None:
    Path("one.cql").write_text("CREATE STREAM s (k INTEGER);")
    done = call("run", "one.cql", "--set", setting)
    assert 0 == done.exit_code, done.output


@pytest.mark.usefixtures("here")
def test_a_file_that_is_neither_text_nor_database_is_told() -> None:
    Path("odd").write_bytes(b"\xa0\xff" * 100)
    done = call("serve", "odd")
    assert 1 == done.exit_code
    assert "hint: an application is a file of CQL" in done.stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("SELECT 1;\nFROM cql.queries; SHOW STREAMS", True),
        ("EXPLAIN SELECT 1", True),
        ("-- nothing", False),
        ("SELECT 1; CREATE TABLE t (a INTEGER)", False),
        ("CREATE STREAM s (a INTEGER); SELECT 1", False),
        ("SET VARIABLE v = 1", False),
    ],
)
def test_an_application_that_only_reads_is_told(text: str, is_told: bool) -> None:
    Path("reads.cql").write_text(text)
    done = call("run", "reads.cql")
    assert 0 == done.exit_code, done.output
    assert ("warning: reads.cql only reads" in done.stderr) == is_told
    assert ("hint: CREATE CONTINUOUS QUERY" in done.stderr) == is_told


@pytest.mark.usefixtures("here")
def test_error_has_its_place_and_leaves_nothing() -> None:
    Path("app.cql").write_text(APPLICATION + "CREATE CONTINUOUS QUERY q AS SELECT kk FROM s [NOW];")
    done = run()
    assert 1 == done.exit_code
    shown = re.search(r"^(LINE 9: .*)\n( *)\^$", done.stderr, re.MULTILINE)
    assert shown
    assert shown[1][len(shown[2]) :].startswith("kk")
    assert done.stderr.startswith("app.cql:9:37: error: there is no column kk")
    Path("app.cql").write_text(APPLICATION)
    assert 0 == run().exit_code


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "command",
    [
        ["run"],
        ["explain"],
        ["profile"],
        ["profile", "app.cql", "--script"],
        ["run", "-d", "a.duckdb"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("wrong", "place"),
    [("CREATE STREM x (k INTEGER)", "3:10"), ("CREATE RELATION s (k INTEGER)", "3:19"),
     ("CREATE CONTINUOUS QUERY q AS\nSELECT v FROM s [NOW]", "4:8")],
)  # fmt: skip
def test_an_error_names_the_file_as_compilers_do(
    command: list[str], wrong: str, place: str
) -> None:
    file = Path("wrong.cql")
    file.write_text(f"CREATE STREAM s (k INTEGER);\n\n  {wrong};")
    if "--script" in command:
        file.write_text(f"\n\n  {wrong};")
        Path("app.cql").write_text("CREATE STREAM s (k INTEGER);")
    if "-d" in command:
        with cqlduck.connect("a.duckdb") as con:
            con.execute("CREATE STREAM s (k INTEGER)")
    done = call(*command, str(file))
    assert 1 == done.exit_code
    said = done.stderr.splitlines()
    assert any(line.startswith(f"wrong.cql:{place}: error: ") for line in said), done.stderr


def test_wrong_usage_ends_with_2() -> None:
    assert 2 == call("run").exit_code
    assert 2 == call("run", "app.cql", "--poll", "0").exit_code


@pytest.mark.parametrize("command", ["run", "demo", "explain", "check", "shell", "snapshot"])
def test_help_has_an_example(command: str) -> None:
    done = call(command, "--help")
    assert 0 == done.exit_code
    assert f"cqlduck {command}" in words(done.stdout.partition("For example:")[2])


def test_version() -> None:
    assert f"cqlduck {cqlduck.__version__}\n" == call("--version").stdout


def test_ctrl_c_before_commands_are_imported_ends_quietly() -> None:
    code = (
        "import sys, types; import cqlduck.cli as cli; assert 'duckdb' not in sys.modules\n"
        "class Interrupted(types.ModuleType):\n"
        "    def __getattr__(self, name):\n"
        "        raise KeyboardInterrupt\n"
        "sys.modules['cqlduck.cli.commands'] = Interrupted('commands')\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (130, "", "") == (done.returncode, done.stdout, done.stderr)


def test_core_commands_import_no_spark() -> None:
    code = "import sys; sys.modules['pyspark'] = None; import cqlduck.cli, cqlduck.demo.run"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- explain, shell, snapshot ---------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_explain_of_an_application_and_of_a_database() -> None:
    every = call("explain", "app.cql")
    assert 0 == every.exit_code, every.output
    assert ["counts", "fives"] == re.findall(r"^-- (\w+)$", every.stdout, re.MULTILINE)
    one = call("explain", "app.cql", "counts")
    assert "aggregate" in one.stdout
    assert one.stdout.strip() in every.stdout
    assert not Path("app.duckdb").exists()
    run()
    assert (
        one.stdout.strip() == call("explain", "--database", "app.duckdb", "counts").stdout.strip()
    )
    assert one.stdout == call("explain", "app.duckdb", "counts").stdout
    assert every.stdout == call("explain", "app.duckdb").stdout


@pytest.mark.usefixtures("here")
def test_explain_in_other_forms() -> None:
    pictures = call("explain", "app.cql", "--as", "mermaid").stdout
    assert ["counts", "fives"] == re.findall(r"^%% (\w+)$", pictures, re.MULTILINE)
    assert 2 == pictures.count("flowchart BT")
    plans = call("explain", "app.cql", "--as", "json").stdout
    one, end = json.JSONDecoder().raw_decode(plans)
    other = json.loads(plans[end:])
    assert ["counts", "fives"] == [one["query"], other["query"]]
    refused = call("explain", "app.cql", "--analyze")
    assert 1 == refused.exit_code
    assert "has measured nothing" in refused.output
    run()
    analyzed = call("explain", "--analyze", "-d", "app.duckdb", "counts")
    assert 0 == analyzed.exit_code, analyzed.output
    assert re.search("groups has .* rows", analyzed.stdout)
    shown = call("explain", "-d", "app.duckdb", "counts", "--as", "sql").stdout
    with cqlduck.connect("app.duckdb") as con:
        assert con.sql(shown).fetchall()
    assert 2 == call("explain", "app.cql", "--as", "pdf").exit_code


def test_explain_of_the_example() -> None:
    example = Path(cqlduck.sql.__file__).parent / "examples" / "flights.cql"
    done = call("explain", str(example))
    assert 0 == done.exit_code, done.output
    assert "-- bad_weather" in done.stdout


@pytest.mark.usefixtures("here")
def test_check_says_what_is_wrong_of_a_database_and_of_a_snapshot() -> None:
    batch(0, 1, 2)
    run()
    call("snapshot", "app.duckdb", "copy.duckdb")
    for database in ("app.duckdb", "copy.duckdb"):
        done = call("check", database)
        assert 0 == done.exit_code, done.output
        assert "aggregate: COUNT(*) BY s.k" in done.stdout
        assert ", 0 wrong, " in done.stdout
    assert 1 == call("check", "app.duckdb", "nothing").exit_code
    with cqlduck.connect("copy.duckdb") as con:
        (table,) = {line[4] for line in con.check("counts").fetchall() if line[3] != "answer"}
        con.engine.database.execute(f'UPDATE cql_state."{table}" SET _cql_n = 9')
    done = call("check", "copy.duckdb", "--json")
    assert 1 == done.exit_code
    found = {x["kind"]: x["state"] for x in json.loads(done.stdout) if x["query"] == "counts"}
    assert {"groups": "wrong", "answer": "wrong"} == found
    assert "comparisons fail, of counts" in words(done.stderr)
    assert "CREATE OR REPLACE CONTINUOUS QUERY" in words(done.stderr)
    done = call("check", "copy.duckdb", "counts")
    assert "rows missing or too many" in words(done.stdout)


@pytest.mark.usefixtures("here")
def test_shell_shows_the_answers_read_only() -> None:
    pytest.importorskip("duckdb_cli")
    batch(0, 1, 2)
    run()
    line = [*CQLDUCK, "shell", "app.duckdb", "-c"]
    done = subprocess.run(
        [*line, "FROM counts", "-c", "SELECT name FROM cql.queries"], capture_output=True, text=True
    )
    assert 0 == done.returncode, done.stderr
    assert "fives" in done.stdout
    done = subprocess.run([*line, "DROP VIEW counts"], capture_output=True, text=True)
    assert 0 != done.returncode
    assert "read-only" in done.stdout + done.stderr


@pytest.mark.usefixtures("here")
def test_shell_says_that_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(display.shutil, "which", lambda *_, **__: None)
    done = call("shell", "app.duckdb")
    assert 1 == done.exit_code
    assert "the DuckDB shell is not installed\nhint: pip install duckdb-cli" in done.stderr


@pytest.mark.usefixtures("here")
def test_snapshot_opens_anywhere() -> None:
    batch(0, 1, 2)
    run()
    done = call("snapshot", "app.duckdb", "copy.duckdb")
    assert (0, "wrote copy.duckdb\n") == (done.exit_code, done.stdout)
    with duckdb.connect("copy.duckdb", read_only=True) as con:
        assert [(1, 1), (2, 1)] == con.execute("FROM counts ORDER BY k").fetchall()


# --- signals --------------------------------------------------------------------------------------

FOLLOW = ["run", "app.cql", "-d", "app.duckdb", "-z", "drop", "--follow", "--poll", "0.05"]


@pytest.fixture
def following(here: Path) -> Iterator[subprocess.Popen[str]]:
    """`cqlduck run --follow`, once it follows; killed in the end."""
    batch(0, 1)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    child = subprocess.Popen(
        [*CQLDUCK, *FOLLOW],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
    )
    try:
        assert child.stdout is not None
        ready, _, _ = select.select([child.stdout], [], [], 60)
        assert ready, "nothing was printed"
        yield child
    finally:
        child.kill()
        child.communicate()


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signal_closes_the_database(
    following: subprocess.Popen[str], number: signal.Signals, code: int
) -> None:
    batch(1, 1, 2)
    time.sleep(1)
    following.send_signal(number)
    out, error = following.communicate(timeout=30)
    assert (code, "") == (following.returncode, error.replace(application.STOPPING, ""))
    assert "counts (2 rows)" in out
    assert not Path("app.duckdb.wal").exists()
    assert [(1, 2), (2, 1)] == counts()


def test_others_read_a_copy_while_it_runs(here: Path) -> None:
    batch(0, 1)
    command = [*CQLDUCK, *FOLLOW, "--snapshot", "copy.duckdb", "--every", "0.1"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def read() -> list[tuple[int, int]]:
        if not Path("copy.duckdb").exists():
            return []
        with duckdb.connect("copy.duckdb", read_only=True) as con:
            return con.execute("FROM counts ORDER BY k").fetchall()

    try:
        until(lambda: read() == [(1, 1)])
        batch(1, 1, 2)
        until(lambda: read() == [(1, 2), (2, 1)])
        written = Path("copy.duckdb").stat().st_mtime_ns
        time.sleep(0.5)
        assert written == Path("copy.duckdb").stat().st_mtime_ns, "nothing has changed"
    finally:
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=30)
    assert (130, "") == (child.returncode, error.replace(application.STOPPING, ""))
    assert "counts (2 rows)" in out
    assert [(1, 2), (2, 1)] == counts()


def test_a_copy_has_what_was_taken_without_a_tick(here: Path) -> None:
    batch(0, 1)
    command = [*CQLDUCK, *FOLLOW, "--snapshot", "copy.duckdb", "--every", "0.1"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def taken() -> int:
        if not Path("copy.duckdb").exists():
            return 0
        with duckdb.connect("copy.duckdb", read_only=True) as con:
            return int(con.execute("SELECT next_batch FROM cql.streams").fetchall()[0][0])

    try:
        until(lambda: taken() == 1)
        # it is late as a whole
        rows = pa.table({"k": pa.array([1], pa.int32()), "t": [START]})
        assert BatchWriter("drop", "s", ts="t").write_batch(1, rows, heartbeat=START)
        until(lambda: taken() == 2)
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)
    assert taken() == 2


@pytest.mark.parametrize(
    "arguments", [("--every", "3"), ("--snapshot", "a.duckdb", "--every", "inf")]
)
def test_every_is_about_copies(here: Path, arguments: tuple[str, ...]) -> None:
    batch(0, 1)
    done = run(*arguments)
    assert done.exit_code == 1
    assert "--every says after how many seconds another copy is written" in words(done.output)


def test_what_is_warned_of_is_told_though_an_error_follows() -> None:
    told: list[str] = []
    watcher = Mock(spec=application.Watcher, warn=lambda error: told.append(error.message))

    def fails() -> None:
        warnings.warn("a batch is passed over", RuntimeWarning, stacklevel=1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), application._telling(watcher):
        fails()
    assert ["a batch is passed over"] == told


@pytest.mark.usefixtures("here")
def test_a_copy_that_cannot_be_written_is_told_and_the_application_goes_on() -> None:
    batch(0, 1)
    Path("taken").mkdir()
    done = run("--snapshot", "taken", "--every", "0.01")
    assert 1 == done.exit_code
    assert 1 == words(done.output).count("taken is a folder")
    assert "counts (1 row)" in done.stdout


def test_database_in_use(following: subprocess.Popen[str]) -> None:
    until(lambda: Path("app.duckdb").exists())
    for arguments in (["shell", "app.duckdb"], ["snapshot", "app.duckdb", "copy.duckdb"], FOLLOW):
        done = call(*arguments)
        assert 1 == done.exit_code
        assert "app.duckdb is in use by another process" in done.stderr


def test_kill_and_the_same_again(following: subprocess.Popen[str]) -> None:
    batch(1, 1, 2)
    time.sleep(0.5)
    following.kill()
    following.wait()
    batch(2, 2)
    done = run()
    assert 0 == done.exit_code, done.output
    assert [(1, 2), (2, 2)] == counts()


def test_a_display_is_no_listener_for_whom_ticks_would_run_otherwise() -> None:
    with cqlduck.connect() as con, display.Display(con, display.console()) as shown:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        con.append("s", [(1,), (2,)], at=1)
        con.advance(1)
        assert ([], 2) == (con.engine.on_tick, shown.events)


def test_who_stops_what_takes_long_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application, "SECONDS_BEFORE_HINT", 0.05)
    with application.Stop():
        signal.raise_signal(signal.SIGINT)
        until(lambda: application.STOPPING in capfd.readouterr().err)
    with application.Stop() as stop:
        signal.raise_signal(signal.SIGTERM)
    time.sleep(0.2)
    assert (143, "") == (stop.code, capfd.readouterr().err)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_output_that_cannot_be_written_is_no_traceback(here: Path) -> None:
    command = [sys.executable, "-m", "cqlduck", "explain", "app.cql"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert ["error: the output cannot be written: No space left on device"] == (
        done.stderr.splitlines()
    )


def test_second_signal_interrupts() -> None:
    with application.Stop() as stop:
        assert (False, 0) == (bool(stop), stop.code)
        signal.raise_signal(signal.SIGINT)
        stop.wait(60)
        assert (True, 130) == (bool(stop), stop.code)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


# --- the display ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_display_on_a_terminal() -> None:
    batch(0, 1, 2, 5)
    out = Console(file=io.StringIO(), force_terminal=True, width=100, height=30)
    with cqlduck.connect(drop_zone="drop") as con:
        con.execute(APPLICATION)
        with display.Display(con, out) as shown:
            shown.bars = lambda: [("day", 1, 2)]
            con.follow()
            shown._next_answers = 0
            shown.update()
            shown.warn(cqlduck.Error("something [bold]is[/bold] wrong"))
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    for part in ("2013-01-01 00:59:59", "3 events", "1 of 2", "counts", "5 · 1", "[bold]is[/bold]"):
        assert part in text


@pytest.mark.usefixtures("here")
def test_display_elsewhere_is_a_line_now_and_then() -> None:
    out = Console(file=io.StringIO(), width=100)
    with cqlduck.connect(drop_zone="drop") as con:
        con.execute(APPLICATION)
        with display.Display(con, out) as shown:
            for _ in range(100):
                shown.update()
    assert isinstance(out.file, io.StringIO)
    assert ["event time –, 0 events, 0 a second, 0 batches"] * 2 == out.file.getvalue().splitlines()
