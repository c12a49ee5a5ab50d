"""What is said runs: examples in docstrings, the README, the pages in docs, the example programs.

A block of a page runs if its fence says ```python or ```cql and nothing more; write another word
behind (```cql fragment) where something is not meant to run. A page is one program, from top to
bottom; a block that does not fit what is above it may begin anew. A bare SELECT is registered as a
continuous query.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import cqlduck
import cqlduck.rewrite
import cqlduck.sql
import cqlduck.state
from cqlduck.errors import Error, NotSupportedError
from cqlduck.rewrite import parse_script
from cqlduck.rewrite.text.statements import Sql
from cqlduck.rewrite.text.tokens import tokenize
from cqlduck.settings import AT_ANY_TIME, LASTING, Settings

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
EXAMPLES = sorted((ROOT / "sql" / "examples").glob("*.cql"))
LIMITS = ROOT / "docs" / "limits.md"

# Walking cqlduck.__path__ alone does not reach the rooms that lie beside it.
ROOMS = ("cqlduck", "cqlduck.rewrite", "cqlduck.state", "cqlduck.sql")


def module_names() -> list[str]:
    found = set(ROOMS)
    for room in ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            if not module.name.endswith(".__main__"):
                found.add(module.name)
    return sorted(found)


def imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "cqlduck").split(".")[0] == "cqlduck":
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


MODULES = module_names()


# -- docstrings -----------------------------------------------------------------------------------


def test_all_rooms_are_walked() -> None:
    assert {"cqlduck.engine", "cqlduck.rewrite.operators.join", "cqlduck.state.tick"} <= set(
        MODULES
    )


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    failed, _ = doctest.testmod(imported(name))
    assert 0 == failed


def test_there_are_examples_in_docstrings() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    rewrite = [imported(name) for name in MODULES if name.startswith("cqlduck.rewrite")]
    assert any(test.examples for module in rewrite for test in finder.find(module))


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what a module defines for others: functions, classes, methods and properties."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            yield name, value
            for inner, member in vars(value).items():
                if not inner.startswith("_") and (
                    isinstance(member, (property, classmethod, staticmethod))
                    or inspect.isfunction(member)
                ):
                    yield f"{name}.{inner}", member
        elif inspect.isfunction(value):
            yield name, value


@pytest.mark.parametrize("name", MODULES)
def test_what_is_public_has_a_docstring(name: str) -> None:
    module = imported(name)
    bare = [
        known
        for known, value in public(module)
        # A dataclass without a docstring gets its own signature as one.
        if not (value.__doc__ or "").strip() or value.__doc__.startswith(f"{known}(")
    ]
    assert [] == bare
    assert (module.__doc__ or "").strip()


# -- programs in CQL ------------------------------------------------------------------------------


def pieces(text: str) -> list[str]:
    """Return the statements of a script as texts."""
    ends = [token.start for token in tokenize(text) if text[token.start] == ";"]
    starts = [0, *[end + 1 for end in ends]]
    cut = [text[i:j] for i, j in zip(starts, [*ends, len(text)], strict=True)]
    return [piece for piece in cut if parse_script(piece)]


def register(con: cqlduck.Connection, text: str) -> None:
    """Run a script; a bare SELECT in it is registered as a continuous query."""
    for place, piece in enumerate(pieces(text)):
        (statement,) = parse_script(piece)
        bare = re.match(r"\(?\s*(SELECT|WITH|[IDR]stream\s*\()", piece[statement.offset :], re.I)
        if isinstance(statement, Sql) and bare:
            con.execute(f"CREATE CONTINUOUS QUERY shown{place} AS {statement.text}")
            con.execute(f"DROP CONTINUOUS QUERY shown{place}")
        else:
            con.execute(piece)


def test_register_takes_bare_queries() -> None:
    with cqlduck.connect() as con:
        register(
            con,
            "CREATE STREAM s (k INTEGER); -- one; two\nSELECT k FROM s [ROWS 5];\n"
            "Istream(SELECT k FROM s [NOW]); /* ; */ INSERT INTO s VALUES (1); ;",
        )
        assert 1 == len(con.sql("FROM s").fetchall())
        with pytest.raises(Error):
            register(con, "SELECT nothing FROM s")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_registers(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("--"), "an example begins with a comment that says what it shows"
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(text)
        queries = con.sql("FROM cql.queries").fetchall()
        assert queries
        con.execute(text)
        assert queries == con.sql("FROM cql.queries").fetchall()


def test_examples_are_packaged() -> None:
    for path in EXAMPLES:
        assert path.read_text(encoding="utf-8") == cqlduck.sql.example(path.stem)


# -- pages ----------------------------------------------------------------------------------------


def blocks(path: Path, language: str) -> list[str]:
    """Return the fenced blocks of a page whose fence says just the language."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    pattern = rf"^( *)```{language} *\n(.*?)^\1``` *$"
    found = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", body, flags=re.MULTILINE) for indent, body in found]


def test_blocks_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```cql\nA\n```\n```cql fragment\nB\n```\n- x\n\n  ```cql\n  C\n    D\n  ```\n")
    assert ["A\n", "C\n  D\n"] == blocks(page, "cql")


def described() -> str:
    """Return the README and all pages."""
    return "\n".join(p.read_text(encoding="utf-8") for p in [README, *PAGES] if p.is_file())


def run_python(path: Path, code: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run blocks as one program; return what it prints."""
    names: dict[str, Any] = {"__name__": path.stem}
    for place, block in enumerate(code):
        exec(compile(block, f"{path.name}, python block {place + 1}", "exec"), names)
    for value in names.values():
        if isinstance(value, cqlduck.Connection):
            value.close()
    return capsys.readouterr().out


def test_readme_runs_twice_and_shows_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = blocks(README, "python")
    assert any("cqlduck.connect" in block for block in code), "the README has no example"
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        printed = run_python(README, code, capsys)
        for shown in blocks(README, "text"):
            assert shown in printed


WITHOUT_FRAMES = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def test_readme_needs_no_frames(tmp_path: Path) -> None:
    """`import cqlduck` and the README's examples do without pandas and polars, where they are."""
    code = "\n".join(blocks(README, "python"))
    for program in ("import cqlduck; cqlduck.connect().close()", code):
        subprocess.run(
            [sys.executable, "-c", WITHOUT_FRAMES + program], cwd=tmp_path, check=True, timeout=300
        )


@pytest.mark.parametrize("path", [README, *PAGES], ids=lambda path: path.stem)
def test_cql_of_a_page_registers(path: Path, tmp_path: Path) -> None:
    con = cqlduck.connect(drop_zone=tmp_path)
    try:
        for block in blocks(path, "cql"):
            try:
                register(con, block)
            except Error:
                con.close()
                con = cqlduck.connect(drop_zone=tmp_path)
                register(con, block)
    finally:
        con.close()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_python_of_a_page_runs(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(path, blocks(path, "python"), capsys)


# A path of the repository, or a dotted name of ours, between backticks.
PATHS = re.compile(r"`((?:cqlduck|rewrite|state|sql|tests|benchmarks)/[\w./*-]*)`")
DOTTED = re.compile(r"`((?:cqlduck\.)?(?:rewrite|state)\.[\w.]+)`")


def is_there(name: str) -> bool:
    """Return whether a dotted name is a module of ours, or something in one."""
    module, rest = f"cqlduck.{name.removeprefix('cqlduck.')}", list[str]()
    while module not in MODULES and "." in module:
        module, _, last = module.rpartition(".")
        rest.insert(0, last)
    found: Any = importlib.import_module(module)
    for part in rest:
        found = getattr(found, part, None) or getattr(found, "__annotations__", {}).get(part)
    return found is not None


@pytest.mark.parametrize("path", [README, *PAGES], ids=lambda path: path.stem)
def test_files_that_a_page_names_are_there(path: Path) -> None:
    named = PATHS.findall(path.read_text(encoding="utf-8"))
    assert [] == [name for name in named if not list(ROOT.glob(name.rstrip("/")))]


def test_names_in_docstrings_of_modules_are_there() -> None:
    said = {name: imported(name).__doc__ or "" for name in MODULES}
    assert [] == [
        (name, dotted)
        for name, text in said.items()
        for dotted in DOTTED.findall(text)
        if not is_there(dotted)
    ]
    assert [] == [
        (name, path)
        for name, text in said.items()
        for path in PATHS.findall(text)
        if not list(ROOT.glob(path.rstrip("/")))
    ]


# Cqlduck is in no package index: its name alone would install what somebody else calls so.
BY_NAME = re.compile(r"pip install ['\"]?cqlduck(?!\S* @ )")


def test_extras_are_installed_from_a_checkout() -> None:
    sources = [
        path for room in ("cqlduck", "rewrite", "state") for path in (ROOT / room).rglob("*.py")
    ]
    pages = [README, ROOT / "CHANGELOG.md", *PAGES, *sources]
    assert [] == [p.name for p in pages if BY_NAME.search(p.read_text(encoding="utf-8"))]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in re.findall(
        r"how_to_install\([\"'](\w+)", "".join(p.read_text(encoding="utf-8") for p in sources)
    ):
        assert extra in project["optional-dependencies"]
        assert f"| `{extra}` |" in README.read_text(encoding="utf-8")


# -- the reference --------------------------------------------------------------------------------

REFERENCE = ROOT / "docs" / "reference.md"
KINDS = {
    **dict.fromkeys((one.name for one in fields(Settings)), "when the database is opened"),
    **dict.fromkeys(AT_ANY_TIME, "at any time"),
    **dict.fromkeys(LASTING, "when the database is made"),
}


def lines_of(heading: str) -> dict[str, list[str]]:
    """Return the cells of a table of the reference by the name in the first one."""
    text = REFERENCE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \|(.*)\|$", text, re.MULTILINE)
    found = {name: [cell.strip() for cell in rest.split(" | ")] for name, rest in rows}
    assert len(rows) == len(found), "a name has two lines"
    return found


def test_the_reference_lists_the_settings() -> None:
    lines, given = lines_of("Settings"), inspect.signature(cqlduck.connect).parameters
    assert [name for name in given if name != "database"] == list(lines)
    assert KINDS == {name: cells[1] for name, cells in lines.items()}
    said = {name: cells[0].strip("`") for name, cells in lines.items() if "`" in cells[0]}
    assert said == {
        name: f"{given[name].default:_}" if type(given[name].default) is int else found
        for name in lines
        if (found := repr(given[name].default)) != "None"
    }


def test_the_reference_lists_the_views() -> None:
    with cqlduck.connect() as con:
        views = con.sql(
            "SELECT 'cql.' || view_name FROM duckdb_views() WHERE schema_name = 'cql' ORDER BY ALL"
        ).fetchall()
    assert [name for (name,) in views] == list(lines_of("Views of schema cql"))


# -- the command line -----------------------------------------------------------------------------


def commands() -> dict[str, Any]:
    typer = pytest.importorskip("typer")
    cli = importlib.import_module("cqlduck.cli")
    found = typer.main.get_command(cli.app)
    assert found.commands
    return dict(found.commands)


def test_commands_and_their_parameters_have_help() -> None:
    for name, command in commands().items():
        assert (command.help or "").strip(), name
        assert [] == [(name, p.name) for p in command.params if not (p.help or "").strip()]


def test_commands_are_described() -> None:
    text = described()
    if not text.strip():
        pytest.skip("there are no README and no docs yet")
    assert [] == [name for name in commands() if f"cqlduck {name}" not in text]


# -- limits ---------------------------------------------------------------------------------------

CATALOG = """
    CREATE STREAM s (k INTEGER, v BIGINT, d DOUBLE, a INTEGER[]);
    CREATE STREAM t (k INTEGER, w BIGINT);
    CREATE RELATION r (k INTEGER, name VARCHAR);
    CREATE TABLE plain (k INTEGER);
    CREATE MACRO more(x, y := 1) AS sum(x) + y;
    CREATE MACRO typed(x INTEGER) AS x + 1, (x VARCHAR) AS x || '1';
    CREATE CONTINUOUS QUERY standing AS SELECT k FROM s [RANGE 10];
"""

# What is refused, and the word by which docs/limits.md names it. A SELECT is the body of a query.
REFUSED = (
    ("SELECT NULL::INTEGER" + "[]" * 61 + " AS a FROM s", "60 levels"),
    (
        "WITH RECURSIVE c AS (SELECT k FROM s UNION SELECT k + 1 FROM c WHERE k < 3) "
        "SELECT k FROM (SELECT k FROM c) x [ROWS 5]",
        "recursive CTE",
    ),
    ("CREATE STREAM x (k INTEGER NOT NULL)", "NOT NULL"),
    ("CREATE STREAM x (k INTEGER, PRIMARY KEY (k))", "PRIMARY KEY"),
    ("INSERT INTO s VALUES (1) ON CONFLICT DO NOTHING", "ON CONFLICT"),
    (
        "CREATE RELATION x (k INTEGER[] PRIMARY KEY); "
        "INSERT INTO x VALUES ([1]) ON CONFLICT DO NOTHING",
        "ON CONFLICT",
    ),
    ("SELECT k FROM s USING SAMPLE 10%", "SAMPLE"),
    ("SELECT k FROM s TABLESAMPLE 10%", "SAMPLE"),
    ("SELECT k FROM (SELECT k FROM s) TABLESAMPLE 10%", "SAMPLE"),
    ("SELECT list(k) FROM s USING SAMPLE 10%", "SAMPLE"),
    ("SELECT * FROM (PIVOT s ON k USING sum(v))", "PIVOT"),
    ("SELECT * FROM (PIVOT s ON k + 1 IN (2) USING sum(v))", "k + 1"),
    ("SELECT * FROM (PIVOT s ON k IN (2) USING sum(v) FILTER (WHERE v > 1))", "FILTER"),
    ("SELECT k FROM s FOR UPDATE", "FOR UPDATE"),
    ("SELECT k INTO x FROM s", "SELECT INTO"),
    ("SELECT k FROM s AT (VERSION => 1)", "AT"),
    ("SELECT * FROM (SUMMARIZE s)", "SUMMARIZE"),
    ("SELECT s.k FROM s POSITIONAL JOIN r", "POSITIONAL JOIN"),
    ("SELECT s.k FROM s ASOF FULL JOIN t ON s.k >= t.k", "ASOF RIGHT"),
    ("SELECT a FROM read_csv('x.csv') x", "table function"),
    ("SELECT k FROM plain", "plain table"),
    ("SELECT k FROM s WHERE k IN (SELECT Istream(k) FROM t)", "Istream"),
    ("SELECT k FROM s WHERE k = $1", "parameters"),
    ("SELECT k, random() AS x FROM s", "random"),
    ("SELECT k, uuid() AS x FROM s", "uuid"),
    ("SELECT k, bitstring_agg(k) AS b FROM s GROUP BY k", "bitstring_agg"),
    ("SELECT DISTINCT k::VARIANT AS k FROM s", "VARIANT"),
    ("SELECT k FROM s [ROWS 5 WHERE v > now()]", "current_timestamp"),
    ("SELECT k FROM s [ROWS 5] ORDER BY current_timestamp", "current_timestamp"),
    ("SELECT more(v) AS n FROM s", "macro"),
    ("SELECT typed(k) AS n FROM s", "macro"),
    ("SELECT max(name COLLATE NOCASE) AS m FROM r", "COLLATE"),
    ("SELECT k FROM s ORDER BY v", "ORDER BY"),
    ("SELECT k, count(*) AS n FROM s GROUP BY k ORDER BY sum(v)", "ORDER BY"),
    ("SELECT DISTINCT k FROM s ORDER BY v LIMIT 3", "DISTINCT"),
    (
        "SELECT * REPLACE (-k AS k) FROM s UNION ALL SELECT * FROM s ORDER BY -k LIMIT 3",
        "above a set operation",
    ),
    ("SELECT k FROM s GROUP BY k ORDER BY count(*)", "ORDER BY"),
    ("BEGIN", "BEGIN"),
    ("DELETE FROM s", "DELETE"),
    ("UPDATE s SET k = 1", "UPDATE"),
    ("INSERT INTO s SELECT * FROM s", "INSERT"),
)


@pytest.fixture(scope="module")
def catalog() -> Iterator[cqlduck.Connection]:
    """One database for all: what is refused leaves everything as it was."""
    with cqlduck.connect() as con:
        con.execute(CATALOG)
        yield con


def run_refused(con: cqlduck.Connection, text: str) -> None:
    is_body = text.startswith(("SELECT", "WITH"))
    con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY q AS {text}" if is_body else text)


@pytest.mark.parametrize(("text", "word"), REFUSED, ids=[text for text, _ in REFUSED])
def test_is_refused(catalog: cqlduck.Connection, text: str, word: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        run_refused(catalog, text)
    error = caught.value
    assert 1 == error.line
    assert not error.message.endswith(".")


@pytest.mark.parametrize(("text", "word"), REFUSED, ids=[text for text, _ in REFUSED])
def test_limits_name_what_is_refused(text: str, word: str) -> None:
    if not LIMITS.is_file():
        pytest.skip("docs/limits.md is not there yet")
    pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
    assert re.search(pattern, LIMITS.read_text(encoding="utf-8"), re.IGNORECASE), word


def test_rstream_at_every_microsecond_is_refused() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM e (k INTEGER, at TIMESTAMP) TIMESTAMP BY at")
        with pytest.raises(NotSupportedError, match="microsecond"):
            con.execute("CREATE CONTINUOUS QUERY q AS SELECT Rstream(k) FROM e [RANGE 1 SECOND]")
    if LIMITS.is_file():
        assert "Rstream" in LIMITS.read_text(encoding="utf-8")


def raised_in(module: ModuleType) -> dict[tuple[str, int], str]:
    """Return the places where a module raises NotSupportedError, and what it says there."""
    path = module.__file__
    assert path is not None
    text = Path(path).read_text(encoding="utf-8")
    return {
        (path, node.lineno): ast.get_source_segment(text, node) or ""
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
        and node.exc.func.id == "NotSupportedError"
    }


def test_every_refusal_is_in_the_list(catalog: cqlduck.Connection) -> None:
    names = [n for n in MODULES if n.startswith("cqlduck.rewrite")] + ["cqlduck.statements.dml"]
    places = {place: said for name in names for place, said in raised_in(imported(name)).items()}
    for text, _ in REFUSED:
        try:
            run_refused(catalog, text)
        except Error as error:
            trace = error.__traceback__
            while trace is not None:
                places.pop((trace.tb_frame.f_code.co_filename, trace.tb_lineno), None)
                trace = trace.tb_next
    exempt = (
        "this Rstream would repeat",  # it needs another kind of time: the test above
        "the current time stands where",  # the same: tests/test_current.py
        "an aggregate of the current time alone",  # the same
        "RETURNING on",  # of INSERT, UPDATE and DELETE, not of a query
        "raise NotSupportedError(reason)",  # of a point of choice: tests/test_answers_anew.py
        "there is no law for",  # only under the setting that refuses these
        "macros that call each other",  # which DuckDB does not make: a test of their own
        "would keep",  # only under the setting that refuses it: tests/test_memory.py
        "ORDER BY calls {name}",  # a function of Python: tests/test_functions.py
        "in FROM is not supported",  # for what sqlglot may make of a FROM clause one day
    )
    assert [] == [said for said in places.values() if not any(part in said for part in exempt)]
