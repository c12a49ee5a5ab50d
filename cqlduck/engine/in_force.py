"""The settings of a connection while it is open.

Most can be set at any time, and are in force from the next tick on, as if the database had been
closed and opened with other ones. What a transaction sets that is undone is undone too. Their rows
are written when somebody is about to read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from cqlduck.state import settings
from cqlduck.state.connection import Database

Values = Mapping[str, object]
"""The values of settings, by name."""


class SettingsInForce:
    """The settings that are in force.

    Args:
        database: The database.
        apply: Puts values into force.
    """

    def __init__(self, database: Database, apply: Callable[[Values], None]) -> None:
        """Begin with none; `begin` says which there are."""
        self._database = database
        self._apply = apply
        self.kept: tuple[Values, bool] = MappingProxyType({}), True
        """The values, and whether their rows are those of the database."""
        database.participants.append(self)

    @property
    def values(self) -> Values:
        """The values."""
        return self.kept[0]

    def begin(self, values: Values) -> None:
        """Note with which values the database was opened."""
        self.kept = MappingProxyType(dict(values)), False

    def change(self, values: Values) -> None:
        """Put other values into force, inside a change."""
        self.kept = MappingProxyType({**self.values, **values}), False
        self._apply(self.values)
        self.flush()

    def roll_back(self, kept: tuple[Values, bool]) -> None:
        """Put those into force again that were then."""
        if kept[0] is not self.values:
            self._apply(kept[0])
        self.kept = kept

    @property
    def holds_some(self) -> bool:
        """Whether the rows may be others."""
        return not self.kept[1]

    def flush(self) -> None:
        """Write the rows; inside a transaction."""
        settings.write(self._database, {n: shown(v) for n, v in self.values.items()})
        self.kept = self.values, True


def shown(value: object) -> str | None:
    """Return the value of a setting as text; None if it has none.

    >>> shown(True), shown("1 day"), shown(None), shown(print)
    ('true', '1 day', None, 'a function')
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return "a function" if callable(value) else str(value)
