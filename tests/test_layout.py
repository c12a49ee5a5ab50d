"""The rooms lie side by side in the repository and are one package when installed."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cqlduck

ROOT = Path(__file__).parent.parent
ROOMS = ("cqlduck", "rewrite", "state", "sql")


def load_pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_name(folder: Path) -> str:
    """The package that a folder is when installed, such as cqlduck.rewrite.rules."""
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "cqlduck" else ("cqlduck", *parts))


def test_packages_listed_are_the_folders_with_init() -> None:
    listed = load_pyproject()["tool"]["setuptools"]["packages"]
    found = [
        package_name(init.parent) for room in ROOMS for init in (ROOT / room).rglob("__init__.py")
    ]
    assert sorted(found) == sorted(listed)


def test_every_folder_with_modules_has_init() -> None:
    folders = {module.parent for room in ROOMS for module in (ROOT / room).rglob("*.py")}
    assert [] == sorted(str(f) for f in folders if not (f / "__init__.py").exists())


def test_each_room_is_mapped() -> None:
    mapped = load_pyproject()["tool"]["setuptools"]["package-dir"]
    assert {package_name(ROOT / room): room for room in ROOMS} == mapped


def test_the_floors_of_rewrite_are_checked_exhaustively() -> None:
    contracts = load_pyproject()["tool"]["importlinter"]["contracts"]
    floors = {
        container
        for contract in contracts
        if contract["type"] == "layers" and contract["exhaustive"]
        for container in contract["containers"]
        if container.startswith("cqlduck.rewrite")
    }
    folders = {init.parent for init in (ROOT / "rewrite").rglob("__init__.py")}
    assert sorted(floors) == sorted(package_name(folder) for folder in folders)


def test_version_is_the_one_in_pyproject() -> None:
    version = load_pyproject()["project"]["version"]
    assert version == cqlduck.__version__
    assert version == importlib.metadata.version("cqlduck"), "install again: pip install -e ."


def test_only_cqlduck_lands_top_level() -> None:
    top_level = importlib.metadata.distribution("cqlduck").read_text("top_level.txt")
    assert top_level is not None
    assert ["cqlduck"] == top_level.split()


@pytest.mark.parametrize("room", ["rewrite", "state", "sql"])
def test_room_is_no_module_of_its_own(room: str, tmp_path: Path) -> None:
    code = f"import importlib.util; assert importlib.util.find_spec({room!r}) is None"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


LONGEST = 60
"""How many lines a function has at most, without its docstring."""


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the functions of a module, each with how many lines it has without its docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            said = ast.get_docstring(node, clean=False)
            lines = node.end_lineno - node.lineno + 1 - (said.count("\n") + 1 if said else 0)
            yield f"{path.relative_to(ROOT)}: {node.name}", lines


def test_no_function_is_long() -> None:
    modules = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    long = [name for path in modules for name, lines in functions(path) if lines > LONGEST]
    assert [] == long


def test_what_stays_together_is_there(request: pytest.FixtureRequest) -> None:
    """The table in conftest.py names files and tests as text."""
    (conftest,) = (
        plugin
        for plugin in request.config.pluginmanager.get_plugins()
        if hasattr(plugin, "TOGETHER")
    )
    for begins in conftest.TOGETHER:
        file, _, name = begins.partition("::")
        assert name in (ROOT / file).read_text(encoding="utf-8"), begins
    scheduling = conftest.Scheduling
    group = {scheduling._split_scope(None, f"{begins}[1]") for begins in conftest.TOGETHER}
    assert group == set(conftest.TOGETHER.values())
    alone = "tests/test_sparksink.py::test_alone"
    assert alone == scheduling._split_scope(None, alone)
