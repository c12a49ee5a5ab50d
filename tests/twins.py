"""Two databases that are told the same, of which one runs it in another way."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cqlduck


class Twins(ABC):
    """Two databases, in memory or as files; a subclass says how each is opened.

    Args:
        folder: Where the files are.
        rnd: Draws whether there are any.
        settings: For both.
    """

    def __init__(self, folder: Path, rnd: random.Random, settings: dict[str, Any]) -> None:
        """Open both."""
        self.folder, self.rnd, self.settings = folder, rnd, settings
        self.in_memory = rnd.random() < 0.4
        self.both: list[cqlduck.Connection] = []

    @abstractmethod
    def opened(self, number: int, path: Path | str) -> cqlduck.Connection:
        """Return a connection to one of them, the first being 0."""

    def open(self) -> None:
        """Open both, new or again; what is in memory stays open."""
        if self.in_memory and self.both:
            return
        for con in self.both:
            con.close()
        paths = [":memory:" if self.in_memory else self.folder / f"{n}.duckdb" for n in range(2)]
        self.both = [self.opened(number, path) for number, path in enumerate(paths)]

    def each(self, work: Callable[[cqlduck.Connection], Any], text: str = "") -> None:
        """Do the same in both, with the same outcome; a text says what if it is not."""
        said = []
        for con in self.both:
            try:
                found = work(con)
                rows = found if isinstance(found, (list, int, type(None))) else found.fetchall()
                said.append(sorted(rows, key=repr) if isinstance(rows, list) else rows)
            except cqlduck.Error as error:
                said.append((type(error), error.message))
        assert said[0] == said[1], text
