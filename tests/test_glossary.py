"""The glossary and the code have the same words.

`docs/glossary.md` names modules, classes and functions that must exist, and words that no name may
have. Names are those of modules, classes, public functions and methods, and public constants.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
FOLDERS = ("rewrite", "state", "cqlduck")

# Where a word of the glossary may stand, if its one meaning has a place of its own.
_CACHES = (
    *("rewrite/plan", "rewrite/physical", "rewrite/operators/caches", "rewrite/statements"),
    *("rewrite/operators/partial_caches", "state", "cqlduck/streamon"),
)
ONLY_IN = {"rule": ("rewrite/rules",), "queue": (), "cache": _CACHES}


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def names_in(path: Path) -> Iterator[str]:
    """Yield the public names that a module defines, and its own."""
    if path.stem != "__init__":
        yield path.stem
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets: list[ast.expr] = []
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            targets = [x for t in node.targets for x in getattr(t, "elts", [t])]
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if isinstance(node, ast.ClassDef):
            yield from (m.name for m in node.body if isinstance(m, ast.FunctionDef))
        yield from (t.id for t in targets if isinstance(t, ast.Name))


def defined() -> dict[str, list[str]]:
    """Return for each name, public or not, the files that define it."""
    found: dict[str, list[str]] = {}
    for path in sources():
        for name in names_in(path):
            found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    return found


def words(name: str) -> list[str]:
    """Return the words of a name, in small letters.

    A constant that is one word is in capitals: that is another word.
    """
    if re.fullmatch(r"[A-Z]+", name) and len(name) > 1:
        return [name, name.lower()]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in spaced.lower().split("_") if word]


def rows() -> Iterator[list[str]]:
    """Yield the cells of each row of the glossary's tables."""
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "word":
            yield cells


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def entries() -> list[list[str]]:
    return [[*row, ""][:5] for row in rows() if len(row) >= 4]


def forbidden() -> set[str]:
    """Return the words that no name may have."""
    by_word = {word for row in rows() if len(row) == 2 for word in quoted(row[0])}
    return by_word | {word for row in entries() for word in quoted(row[4])}


def plural(word: str) -> tuple[str, str]:
    return word, f"{word}s"


def wrong_names() -> set[str]:
    """Return the names that have a word which is not for them."""
    bad, found = forbidden(), set()
    for name, files in defined().items():
        if name.startswith("_"):
            continue
        for word in words(name):
            places = next((p for w, p in ONLY_IN.items() if word in plural(w)), ("",))
            if word in bad or not all(file.startswith(places) for file in files):
                found.add(name)
    return found


def test_the_glossary_is_read() -> None:
    assert {"stream", "store", "tick", "point"} <= {row[0] for row in entries()}
    assert {"apart", "leg", "MOST"} <= forbidden()
    assert ["MAX", "max"] == words("MAX")
    assert ["max", "row", "group"] == words("MAX_ROW_GROUP")
    assert ["row", "window"] == words("RowWindow")


def test_a_word_has_one_entry() -> None:
    known = [row[0] for row in entries()]
    assert sorted(set(known)) == sorted(known)
    assert not set(known) & forbidden()


def test_what_the_glossary_names_is_there() -> None:
    known = set(defined()) | {p.parent.relative_to(ROOT).as_posix() for p in sources()}
    missing = [
        (row[0], name)
        for row in entries()
        for name in quoted(row[3])
        if name not in known and not name.startswith("cql.")
    ]
    assert [] == missing


def test_views_that_the_glossary_names_are_there() -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "sql").glob("*.sql"))
    views = [name for row in entries() for name in quoted(row[3]) if name.startswith("cql.")]
    assert [] == [name for name in views if name not in text]


def test_names_have_the_words_of_the_glossary() -> None:
    assert set() == wrong_names()
