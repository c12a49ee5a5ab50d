"""The model of a relation's pending changes: instant by instant, in the order of arrival."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from cqlduck.rewrite.plan import FOREVER

Tuple = tuple[object, ...]
"""A row; where values are of all types, which values it has."""


@dataclass(frozen=True)
class Element:
    row: Tuple
    instant: int
    operation: str


@dataclass(frozen=True)
class Case:
    """A relation's store and queue; rows are numbered in order.

    The first value of a row is its key, which is kept in two columns if it is `wide`.
    """

    type: str
    keyed: bool
    held: tuple[Tuple, ...]
    elements: tuple[Element, ...]
    wide: bool = False


@dataclass
class Model:
    """What holds of a case: lifetimes (row, from, until), and sums that have no effect."""

    case: Case

    def __post_init__(self) -> None:
        self.lives: list[tuple[int, int | None, int]] = []
        self.wrong: Counter[tuple[int, Tuple]] = Counter()
        first = len(self.case.held)
        self.there: dict[Tuple, list[tuple[int, int | None]]] = defaultdict(list)
        for number, row in enumerate(self.case.held):
            self.there[row].append((number, None))
        numbered = [(first + n, element) for n, element in enumerate(self.case.elements)]
        for instant in sorted({e.instant for e in self.case.elements}):
            now = [(n, e) for n, e in numbered if e.instant == instant]
            if not self.case.keyed:
                self._change(instant, now)
                continue
            for key in {e.row[0] for _, e in now}:
                self._change_key(instant, key, [(n, e) for n, e in now if e.row[0] == key])
        for copies in self.there.values():
            self.lives += [(n, enter, FOREVER) for n, enter in copies if enter is not None]

    def _change(self, instant: int, now: list[tuple[int, Element]]) -> None:
        for row, total in _sums(now).items():
            comes = [n for n, e in now if e.row == row and e.operation == "+"]
            self.there[row] += [(n, instant) for n in comes[len(comes) - max(total, 0) :]]
            for _ in range(-total):
                if self.there[row]:
                    number, enter = self.there[row].pop(0)
                    self.lives.append((number, enter, instant))
                else:
                    self.wrong[instant, row] -= 1

    def _change_key(self, instant: int, key: int, now: list[tuple[int, Element]]) -> None:
        old = next((row for row, copies in self.there.items() if copies and row[0] == key), None)
        new = (old, None)
        sets = [place for place, (_, e) in enumerate(now) if e.operation == "u"]
        if sets:
            number, element = now[sets[-1]]
            new, now = (element.row, number), now[sets[-1] + 1 :]
        sums = _sums(now)
        for row in sums:
            for _ in range(-sums[row]):
                if row == new[0]:
                    new = (None, None)
                else:
                    self.wrong[instant, row] -= 1
        comes: dict[Tuple, int] = {}
        for number, element in now:
            if element.operation == "+" and sums[element.row] > 0:
                comes.setdefault(element.row, number)
        for row, number in comes.items():
            for _ in range(sums[row]):
                if new[0] is None:
                    new = (row, number)
                else:
                    self.wrong[instant, row] += 1
        if new[0] == old:
            return
        if old is not None:
            gone, enter = self.there[old].pop()
            self.lives.append((gone, enter, instant))
        if new[0] is not None:
            self.there[new[0]].append((new[1], instant))


def _sums(now: list[tuple[int, Element]]) -> Counter[Tuple]:
    sums: Counter[Tuple] = Counter()
    for _, element in now:
        sums[element.row] += -1 if element.operation == "-" else 1
    return sums
