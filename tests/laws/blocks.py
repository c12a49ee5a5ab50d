"""The format of the files: heads with data, and SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.sql"))

AS_ABOVE = "as above"

_HEAD = re.compile(r"-- (?P<name>[^:]+?):(?: (?P<value>.*))?$")
_INPUT = re.compile(r"(?P<stream>stream )?(?P<name>\w+)\((?P<columns>.*)\)(?P<facts>[^)]*)$")
_TIME = re.compile(r"(?P<enter>-?\d+)(?P<to>\.\.(?P<leave>-?\d+)?)?: (?P<tuples>.*)$")
_TUPLE = re.compile(
    r"\s*(?P<weight>-?\d*)\((?P<row>(?:[^()']|'(?:[^']|'')*'|\((?:[^()])*\))*)\)"
)  # fmt: skip


@dataclass(frozen=True)
class Timed:
    """A tuple as SQL, with its weight, from an instant on and up to before another, or for ever."""

    row: str
    weight: int
    enter: int
    leave: int | None = None


@dataclass(frozen=True)
class Given:
    """An input: its columns, what holds of it, and its tuples."""

    name: str
    columns: tuple[tuple[str, str], ...]
    is_stream: bool
    facts: dict[str, object]
    tuples: tuple[Timed, ...]


@dataclass
class Law:
    """A block; `head` is all above the line, as it is written."""

    file: str
    head: str
    sql: str
    title: str = ""
    operator: str = ""
    node: str = ""
    means: str | None = None
    asks: tuple[str, ...] = ("elements",)
    form: frozenset[str] = frozenset()
    hides: frozenset[str] = frozenset()
    within: tuple[tuple[str, ...], str] | None = None
    """Columns, and the query of the keys that count in a tick; None if all do."""
    begin: int = 0
    ticks: tuple[int, ...] = ()
    inputs: list[Given] = field(default_factory=list)
    gives: list[Timed] = field(default_factory=list)
    kept: dict[str, list[str]] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.head}\n----\n{self.sql}\n"


def read(file: str) -> list[Law]:
    """Return the blocks of a file."""
    text = (FOLDER / f"{file}.sql").read_text(encoding="utf-8")
    parts = re.split(r"^(?=-- law: )", text, flags=re.M)
    split = (re.split(r"^----$", part, maxsplit=1, flags=re.M) for part in parts if part)
    above: dict[str, list[str]] = {}
    return [_block(file, above, *(half.strip() for half in halves)) for halves in split]


def write(file: str, laws: Sequence[Law]) -> None:
    """Write the blocks of a file."""
    (FOLDER / f"{file}.sql").write_text("\n".join(map(str, laws)), encoding="utf-8")


def _block(file: str, above: dict[str, list[str]], head: str, sql: str = "") -> Law:
    law = Law(file, head, sql)
    for name, value, own in _entries(head):
        below = above[name] if value == AS_ABOVE else own
        above[name] = below
        listed = tuple(part.strip() for part in value.split(",") if part.strip())
        match name:
            case "law":
                law.title = value
            case "operator" | "node" | "means":
                setattr(law, name, " ".join([value, *below]).strip())
            case "asks":
                law.asks = listed
            case "form":
                law.form = frozenset(listed)
            case "begin":
                law.begin = int(value)
            case "within":
                columns, query = value.split(" in ", 1)
                law.within = tuple(columns.split(", ")), query
            case "hides":
                law.hides = frozenset(listed)
            case "ticks":
                law.ticks = tuple(map(int, listed))
            case "gives":
                law.gives = _timed(below)
            case _ if name.startswith("same, "):
                twice = [title for title in below if title in law.same or below.count(title) > 1]
                assert twice == [], f"listed twice in {file}: {twice}"
                law.same |= dict.fromkeys(below, name.removeprefix("same, "))
            case _ if name.startswith("kept "):
                law.kept[name.removeprefix("kept ")] = [t.row for t in _timed(below, "0: ")]
            case _:
                law.inputs.append(_given(name, below))
    return law


def _entries(head: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each key, its value, and the lines below it."""
    below: list[str] = []
    name, value = "", ""
    for line in head.splitlines():
        if line.startswith("--  "):
            below.append(line.removeprefix("--").strip())
            continue
        if name:
            yield name, value, below
        key = _HEAD.match(line)
        assert key is not None, f"no line of a head: {line}"
        name, value, below = key["name"], key["value"] or "", []
    yield name, value, below


def _given(name: str, below: Sequence[str]) -> Given:
    found = _INPUT.match(name)
    assert found is not None, f"no input: {name}"
    columns = [part.strip().split(" ", 1) for part in re.split(r",(?![^(]*\))", found["columns"])]
    facts = eval(f"dict({', '.join(map(_fact, found['facts'].split()))})")
    assert isinstance(facts, dict)
    typed = tuple((column, kind) for column, kind in columns)
    return Given(found["name"], typed, bool(found["stream"]), facts, tuple(_timed(below)))


def _fact(word: str) -> str:
    return word if "=" in word else f"{word}=True"


def _timed(lines: Sequence[str], time: str = "") -> list[Timed]:
    found = []
    for line in (part.strip() for below in lines for part in below.split(";")):
        when = _TIME.match(time + line)
        assert when is not None, f"no instant and tuples: {line}"
        leave = None if when["leave"] is None else int(when["leave"])
        place = 0
        tuples = when["tuples"].rstrip()
        while place < len(tuples):
            one = _TUPLE.match(tuples, place)
            assert one is not None, f"no tuple: {tuples[place:]}"
            weight = int(one["weight"] + "1" if one["weight"] in ("", "-") else one["weight"])
            found.append(Timed(one["row"], weight, int(when["enter"]), leave))
            place = one.end()
    return found
