"""The parser's tests once more, under sqlglot's compiled build, where there is one to install."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

# Downloads some 20 MB, so it is no part of `make test`.
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
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled build of the sqlglot that is installed."""
    folder = tmp_path_factory.mktemp("compiled")
    same = version("sqlglot")
    pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    wanted = [f"sqlglot=={same}", f"sqlglotc=={same}"]
    # a build from source would need a compiler, and minutes
    done = run(*pip, "--only-binary=:all:", "--target", str(folder), *wanted)
    if done.returncode:
        pytest.skip(f"sqlglotc {same} cannot be installed: {done.stderr.strip()[-300:]}")
    return folder


def test_the_parser_passes_its_tests_under_the_compiled_build(compiled: Path) -> None:
    there = run("-c", IS_COMPILED, path=compiled)
    assert 0 == there.returncode, there.stderr
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, path=compiled)
    assert 0 == done.returncode, done.stdout[-5000:]
    assert "passed" in done.stdout
