"""Functions of Python in random queries: in the engine as users register them, and in DuckDB."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

NAME = "py_"
"""What their names begin with."""


def py_next(x: int) -> int:
    return 2 * x + 1


def py_known(x: int | None) -> int:
    return 7 if x is None else x


def py_back(x: str) -> str:
    return x[::-1]


def py_short(x: pa.Array) -> pa.Array:
    return pc.less(pc.utf8_length(x), 2)


def py_filled(x: pa.Array) -> pa.Array:
    return pc.fill_null(pc.less(x, "1"), True)


def py_late(x: str) -> bool:
    return x > "0"


def py_sure(x: str) -> bool:
    if x in ("1", "b", ""):
        raise ValueError(x)
    return x > "1"


RETURN_NULL = {"exception_handling": "return_null"}

FUNCTIONS: Sequence[tuple[Any, str, str, Mapping[str, Any]]] = [
    (py_next, "BIGINT", "BIGINT", {}),
    (py_known, "BIGINT", "BIGINT", {"null_handling": "special"}),
    (py_back, "VARCHAR", "VARCHAR", {}),
    (py_short, "VARCHAR", "BOOLEAN", {"type": "arrow"}),
    (py_filled, "VARCHAR", "BOOLEAN", {"type": "arrow"}),
    (py_late, "VARCHAR", "BOOLEAN", RETURN_NULL),
    (py_sure, "VARCHAR", "BOOLEAN", RETURN_NULL),
]

OF = {
    "int": ["py_next", "py_known"],
    "varchar": ["py_back"],
    "bool": ["py_short", "py_filled", "py_late", "py_sure", "py_sure"],
}
"""Names by the kind of what they return, which for numbers and texts is that of their argument."""


def register(con: Any) -> None:
    """Register them, with a connection of cqlduck or of DuckDB."""
    for function, given, returned, options in FUNCTIONS:
        con.create_function(function.__name__, function, [given], returned, **options)
