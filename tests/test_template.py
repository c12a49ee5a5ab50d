"""The template: what a new database has is the same, whether it was copied or made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cqlduck
from cqlduck.state import migrations, template

FACTS = {
    "duckdb_tables()": "schema_name, table_name, comment, column_count, check_constraint_count",
    "duckdb_views()": "schema_name, view_name, comment, length(sql)",
    "duckdb_columns()": (
        "schema_name, table_name, column_name, column_index, comment, column_default, is_nullable, "
        "data_type"
    ),
    "duckdb_constraints()": "schema_name, table_name, constraint_index, constraint_text",
    "duckdb_functions()": "schema_name, function_name, comment, parameters, macro_definition",
}


def facts(con: cqlduck.Connection) -> list[Any]:
    """Return what a database has, but for the order in which views replace columns."""
    rows = con.engine.database.rows
    found = [
        rows(f"SELECT {columns} FROM {function} WHERE database_name = 'cqlduck'")
        for function, columns in FACTS.items()
    ]
    # the views over the tables of what is registered are made anew whenever that may have changed
    return [
        sorted((row for row in each if f"{row[0]}.{row[1]}" not in migrations.LISTS), key=repr)
        for each in found
    ]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> template.Template:
    """Return a template that has not been made."""
    made = template.Template(migrations._fill)
    monkeypatch.setattr(migrations, "TEMPLATE", made)
    return made


def texts(path: Path | str) -> tuple[list[str], list[Any]]:
    """Return the statements that make a database, and what it has then."""
    said: list[str] = []
    with cqlduck.connect(path, trace=lambda text, _: said.append(text)) as con:
        return [text for text in said if "CREATE" in text or "COPY" in text], facts(con)


@pytest.mark.parametrize("place", ["memory", "a file"])
def test_what_is_copied_is_what_statements_make(
    place: str, fresh: template.Template, tmp_path: Path
) -> None:
    found = [texts(":memory:" if place == "memory" else tmp_path / f"{n}.duckdb") for n in range(4)]
    assert [len(said) > 40 for said, _ in found] == [True, True, False, False]
    assert found[2][0] == [f"COPY FROM DATABASE {template.NAME} TO cqlduck (SCHEMA)"]
    assert found[0][1] == found[1][1] == found[2][1] == found[3][1]
    assert len(found[0][1][0]) > 20


def test_a_database_that_was_copied_works_and_has_no_template_attached(
    fresh: template.Template, tmp_path: Path
) -> None:
    for number in range(template.AFTER):
        cqlduck.connect(tmp_path / f"{number}.duckdb").close()
    with cqlduck.connect(tmp_path / "app.duckdb") as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        con.append("s", [(1,)], at=1)
        con.advance(1)
        attached = con.sql("SELECT database_name FROM duckdb_databases()").fetchall()
        assert (template.NAME,) not in attached
    with cqlduck.connect(tmp_path / "app.duckdb") as con:
        assert con.table("q").fetchall() == [(1, 1)]
        assert con.sql("SELECT name FROM cql.streams").fetchall() == [("s",)]


def test_without_room_for_it_databases_are_made(
    fresh: template.Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> str:
        raise OSError("no space left on device")

    monkeypatch.setattr(template.tempfile, "mkdtemp", full)
    for _ in range(template.AFTER + 2):
        said, _facts = texts(":memory:")
        assert len(said) > 40


def test_a_template_that_is_gone_is_made_anew(fresh: template.Template) -> None:
    for _ in range(template.AFTER + 1):
        said, _facts = texts(":memory:")
    path = fresh.file()
    assert path is not None
    path.unlink()
    said, _facts = texts(":memory:")
    assert len(said) == 1


CHILD = """
import os, sys
import cqlduck
from cqlduck.state import migrations
for _ in range(4):
    cqlduck.connect().close()
path = migrations.TEMPLATE.file()
assert path.exists()
child = os.fork()
if not child:
    # its parent's file is not its own
    assert migrations.TEMPLATE.file() is None
    cqlduck.connect().close()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert path.exists()
print(path)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_it_goes_with_the_process_that_made_it() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).parent.exists()


# -- a file that is opened again -------------------------------------------------------------------


def test_what_is_whole_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "app.duckdb"
    _, had = texts(path)
    said, has = texts(path)
    assert [text for text in said if "VIEW cql." in text] == []
    assert had == has


@pytest.mark.parametrize(
    "harm",
    [
        "DROP VIEW cql.queries",
        "DROP VIEW cql_state.moved_queries",
        "UPDATE cql_state.settings SET value = 'other' WHERE name = 'schema_digest'",
        "DELETE FROM cql_state.settings WHERE name = 'schema_digest'",
    ],
)
def test_what_is_missing_or_of_another_version_is_made(harm: str, tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "app.duckdb"
    _, had = texts(path)
    with duckdb.connect(path) as shell:
        shell.execute(harm)
    said, has = texts(path)
    assert [text for text in said if "VIEW cql.queries" in text]
    assert had == has
    said, _ = texts(path)
    assert not [text for text in said if "VIEW cql.queries" in text]


# -- what was found by attacking it ----------------------------------------------------------------


@pytest.mark.parametrize("harm", [b"", b"none"])
def test_a_template_that_cannot_be_read_is_done_without(
    harm: bytes, fresh: template.Template
) -> None:
    for _ in range(template.AFTER + 1):
        texts(":memory:")
    path = fresh.file()
    assert path is not None
    path.write_bytes(harm)
    for _ in range(2):
        said, _facts = texts(":memory:")
        assert len(said) > 40


def test_one_that_cannot_be_filled_is_tried_once(
    fresh: template.Template, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import duckdb

    monkeypatch.setattr(template.tempfile, "tempdir", str(tmp_path))
    tried = []

    def fill(_: object) -> None:
        tried.append(1)
        raise duckdb.IOException("full")

    fresh._fill = fill
    for _ in range(template.AFTER + 3):
        cqlduck.connect().close()
    assert tried == [1]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept(
    fresh: template.Template, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(template.tempfile, "tempdir", str(tmp_path))
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    names = [f"{template.PREFIX}{ended}-x", f"{template.PREFIX}{os.getppid()}-y", "another"]
    for name in names:
        (tmp_path / name).mkdir()
    for _ in range(template.AFTER + 1):
        cqlduck.connect().close()
    left = {path.name for path in tmp_path.iterdir()}
    assert set(names[1:]) < left
    assert names[0] not in left
