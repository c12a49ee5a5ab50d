"""The parser's tests once more, under sqlglot as it is without its compiled build."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sqlglot

# Some minutes, so it is no part of `make test`.
pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
TESTS = ("tests/test_rewrite.py", "tests/test_golden.py")
IS_COMPILED = "import sqlglot.parser; assert not sqlglot.parser.__file__.endswith('.py')"


def run(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder before all others on its path."""
    env = os.environ | ({} if path is None else {"PYTHONPATH": str(path)})
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sources of the sqlglot that is installed, and nothing compiled."""
    if run("-c", IS_COMPILED).returncode:
        pytest.skip("sqlglot[c] is not installed: all tests run without it")
    folder = tmp_path_factory.mktemp("interpreted")
    assert sqlglot.__file__ is not None
    sources = Path(sqlglot.__file__).parent
    without = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(sources, folder / "sqlglot", ignore=without)
    return folder


def test_the_parser_passes_its_tests_without_the_compiled_build(interpreted: Path) -> None:
    assert run("-c", IS_COMPILED, path=interpreted).returncode
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, path=interpreted)
    assert 0 == done.returncode, done.stdout[-5000:]
    assert "passed" in done.stdout
