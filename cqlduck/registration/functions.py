"""Users' functions: registered, replaced, removed.

Their signatures are part of the database, the Python functions are not: a process registers them
again after opening, before which the queries that call them wait. A function may be replaced under
the queries that call it, for example by one that runs faster; its digest shows it, so there is a
warning. For what has come before, these queries have kept, and emitted, what the old one said.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

import duckdb
from duckdb import func
from sqlglot import exp

from cqlduck.engine import Engine
from cqlduck.errors import BindError, CatalogError, Error, NotSupportedError, first_line, warn
from cqlduck.rewrite.text.cutting import OPERATORS
from cqlduck.rewrite.text.parsing import parse_expression
from cqlduck.rewrite.text.spelling import said_by_duckdb, suggestion
from cqlduck.state import catalog_rows, listing
from cqlduck.state.functions import ARROW, Function, with_parameters

_APART = "cql_function"
"""What a function is called in the database that is asked for its types."""

_NOT_IN_ARROW = re.compile(r"\b(BIT|UHUGEINT|TIME WITH TIME ZONE)\b")
"""Types of which DuckDB makes other values in Arrow."""

_NOT_FROM_PYTHON = re.compile(r"\bTIMESTAMP_(S|MS|NS)\b")
"""Types to which DuckDB does not convert values of Python."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)

_TYPES = "say its types: create_function(name, function, ['VARCHAR'], 'BOOLEAN')"


def create(engine: Engine, function: Function, call: Callable[..., Any]) -> list[str]:
    """Register a function; the queries that wait for it go on with the next tick.

    Args:
        engine: The engine.
        function: What is known of it (`described`).
        call: The Python function.

    Returns:
        The queries that call it and began with another source.

    Raises:
        CatalogError: Queries call one of this name and another signature.
    """
    with engine.opened():
        base, known = engine.database, engine.catalogue.functions.get(function.name.lower())
        callers = [query.name for query in engine.catalogue.callers(function.name)]
        if known is not None and callers and known.signature != function.signature:
            raise CatalogError(
                f"{', '.join(callers)} call {known}, and this is {function}",
                hint="register it as it was, or under another name, or drop these queries first",
            )
        before = base.functions.call_of(function.name)
        try:
            base.functions.define(function, call)
            with engine.changing():
                catalog_rows.write_function(base, function)
                engine.catalogue.functions[function.name.lower()] = function
                engine.turn_waiting()
        except BaseException:
            if known is None:
                base.functions.remove(function.name)
            else:
                base.functions.define(known, before)
            raise
        return [] if known is None or known.digest == function.digest else callers


def register(engine: Engine, function: Function, call: Callable[..., Any]) -> None:
    """Register a function as `create` does; warn where queries go on with another source.

    Raises:
        Error: As `create`.
    """
    callers = create(engine, function, call)
    if callers:
        warn(
            f"the function {function.name} has another source than when it was registered before; "
            f"{', '.join(callers)} go on with it: what came before is not evaluated again "
            "while it stays, and is evaluated with the new one when it leaves, so that answers "
            "may be wrong until all of it has left; where that matters, drop them and create "
            "them anew"
        )


def has_side_effects() -> NotSupportedError:
    """Return what to say of a function that does more than to return a value."""
    return NotSupportedError(
        "a function with side effects cannot be part of a continuous query",
        hint="how often it is called is not fixed; do what it does with the elements that "
        "subscribe() gives",
    )


def remove(engine: Engine, name: str) -> None:
    """Remove a function.

    Raises:
        CatalogError: There is none of this name, or queries call it.
    """
    with engine.opened():
        known = engine.catalogue.functions.get(name.lower())
        if known is None:
            names = [function.name for function in engine.catalogue.functions.values()]
            raise CatalogError(
                f"there is no function {name}", hint=suggestion(name, names, "there are")
            )
        if callers := engine.catalogue.callers(name):
            raise CatalogError(
                f"{known.name} is called by {', '.join(query.name for query in callers)}",
                hint="drop these queries first",
            )
        with engine.changing():
            catalog_rows.delete_function(engine.database, name)
            del engine.catalogue.functions[name.lower()]
        engine.database.functions.remove(name)


def refuse_name(engine: Engine, name: str) -> None:
    """Refuse the name of a function, unless there is one, if SQL would not call it by that.

    Raises:
        CatalogError: DuckDB has a function or macro of this name.
        NotSupportedError: It is no name, or means something else.
    """
    if name.lower() in engine.catalogue.functions:
        return
    if listing.has_function(engine.database, name):
        raise CatalogError(
            f"DuckDB has a function or macro {name} already", hint="choose another name"
        )
    if not _is_callable(name):
        raise NotSupportedError(
            f"{name!r} cannot be the name of a function",
            hint="take letters of ASCII, digits and underscores, and no word of SQL",
        )


def _is_callable(name: str) -> bool:
    """Return whether CQL and DuckDB read a name before parentheses as that of a function."""
    if not (name.isidentifier() and name.isascii()) or name.upper() in OPERATORS:
        return False
    try:
        tree = parse_expression(f"{name}(a, b)")
    except Error:
        return False
    if not (isinstance(tree, exp.Anonymous) and tree.name == name):
        return False
    # as ifnull(…) and try(…) show, DuckDB has syntax of its own that looks like a call
    given, returned = "STRUCT(cql_given INTEGER)", "STRUCT(cql_returned INTEGER)"
    with duckdb.connect() as apart:
        try:
            apart.create_function(name, lambda value: value, [given], returned)
            shown = apart.execute(f"DESCRIBE SELECT {name}(NULL::{given})").fetchall()
        except duckdb.Error:
            return False
    return bool(shown[0][1] == returned)


def described(
    name: str,
    call: Callable[..., Any],
    parameters: Sequence[Any] | None,
    return_type: Any,
    handling: tuple[str, str, str],
) -> Function:
    """Return what is kept of a function; types that are not given are those of its annotations.

    Args:
        name: Its name.
        call: The Python function.
        parameters: The types of its parameters, as DuckDB takes them, or None.
        return_type: That of its values, or None.
        handling: Its `type`, `null_handling` and `exception_handling`.

    Raises:
        BindError: Types are missing, or are none.
    """
    kind, nulls, exceptions = handling
    if kind == ARROW and exceptions != "default":
        raise NotSupportedError(
            "a function of Arrow arrays cannot have exception_handling = 'return_null'",
            hint="which rows come together is not fixed, so neither is which of them would be "
            "NULL; catch the exception in the function, for the values that raise it",
        )
    if isinstance(parameters, (str, bytes)):
        raise BindError(f"the types of the parameters of {name} are no list", hint=_TYPES)
    with duckdb.connect() as apart:
        try:
            asked = call
            if parameters is not None and return_type is not None:
                # DuckDB would count the parameters that have a default, too
                _refuse_unfit(call, len(parameters))
                asked = with_parameters(lambda *values: values, len(parameters))
            types = None if parameters is None else list(parameters)
            way = func.ARROW if kind == ARROW else func.NATIVE
            apart.create_function(_APART, asked, types, return_type, type=way)
        except (duckdb.Error, TypeError, ValueError) as error:
            raise BindError(
                f"the function {name} does not fit: {said_by_duckdb(first_line(error))}",
                hint=_TYPES,
            ) from error
        found = apart.execute(
            "SELECT parameter_types, return_type, varargs FROM duckdb_functions() "
            "WHERE function_name = ?",
            [_APART],
        ).fetchone()
    assert found is not None
    given, returned, varargs = found
    open_types = {"ANY", "NULL", '"NULL"', None}
    if varargs is not None or open_types & {*given, returned}:
        raise BindError(f"the function {name} does not say which types it has", hint=_TYPES)
    try:
        _refuse_unfit(call, len(given))
    except TypeError as error:
        raise BindError(f"the function {name} does not fit: {error}", hint=_TYPES) from error
    _refuse_types(name, kind, given, returned)
    return Function(name, tuple(given), returned, kind, nulls, exceptions, digest(call))


def _refuse_types(name: str, kind: str, given: Sequence[str], returned: str) -> None:
    """Refuse types whose values DuckDB does not hand over to Python, or back.

    Raises:
        NotSupportedError: There is one.
    """
    unfit = _NOT_IN_ARROW if kind == ARROW else _NOT_FROM_PYTHON
    concerned = [*given, returned] if kind == ARROW else [returned]
    found = next(filter(None, map(unfit.search, concerned)), None)
    if found is None and kind == ARROW:
        found = re.search(r"\bJSON\b", returned)
    if found is not None:
        way = "Arrow arrays" if kind == ARROW else "values of rows"
        raise NotSupportedError(
            f"the function {name} cannot have the type {found[0]}: DuckDB does not exchange it as "
            f"{way}",
            hint="cast it: VARCHAR has each value of BIT, UHUGEINT, JSON, and of times with an "
            "offset; TIMESTAMP has microseconds",
        )


def _refuse_unfit(call: Callable[..., Any], count: int) -> None:
    """Refuse a function that cannot be called with so many arguments.

    Raises:
        TypeError: It cannot.
    """
    try:
        signature = inspect.signature(call)
    except ValueError:
        return  # what is written in C may not say
    signature.bind(*range(count))


def digest(call: Callable[..., Any]) -> str:
    """Return a digest of the source of a function.

    Where there is no source, as in a Python shell, it is that of its code; of what is written in C
    it is that of its name.
    """
    found = hashlib.sha256()
    for part in _parts(call):
        found.update(part)
    return found.hexdigest()[:16]


def _parts(call: Any) -> Iterator[bytes]:
    if isinstance(call, functools.partial):
        yield from _parts(call.func)
        given = repr((call.args, sorted(call.keywords.items())))
        # where an object lies in memory is another place in the next process
        yield _ADDRESS.sub("", given).encode()
        return
    call = inspect.unwrap(call)
    call = getattr(call, "__func__", call)
    if not (inspect.isfunction(call) or inspect.isbuiltin(call) or inspect.isclass(call)):
        # an object that can be called
        call = type(call)
    try:
        yield textwrap.dedent(inspect.getsource(call)).encode()
    except (OSError, TypeError):
        code = getattr(call, "__code__", None)
        if code is None:
            yield f"{call.__module__}.{call.__qualname__}".encode()
        else:
            yield from _of_code(code)


def _of_code(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr(code.co_names).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        elif isinstance(constant, frozenset):
            # in which order it is shown is the process's
            yield repr(sorted(map(repr, constant))).encode()
        else:
            yield repr(constant).encode()
