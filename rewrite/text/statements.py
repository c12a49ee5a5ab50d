"""The statements of CQL as dataclasses, and those that are passed on to DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot.tokens import Token

from cqlduck.rewrite.text.time import WrittenDuration


@dataclass(frozen=True)
class CreateStream:
    """`CREATE STREAM name (columns)` with any of the clauses that `STREAM_CLAUSES` lists."""

    name: str
    columns: tuple[tuple[str, str], ...]
    timestamp_by: str | None = None
    bound: WrittenDuration | None = None
    late: str = "REJECT"
    source: str | None = None
    ahead: WrittenDuration | None = None
    if_not_exists: bool = False
    offset: int = 0


@dataclass(frozen=True)
class CreateRelation:
    """`CREATE RELATION name [(columns)] [PRIMARY KEY (…)] [[AT instant] FROM …]`.

    `source` is a folder of the drop zone, `query` SQL for its content; without columns it has the
    query's.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    primary_key: tuple[str, ...] = ()
    source: str | None = None
    query: str | None = None
    at: str | int | None = None
    if_not_exists: bool = False
    offset: int = 0


@dataclass(frozen=True)
class RefreshRelation:
    """`REFRESH RELATION name [AT instant] [FROM …]`."""

    name: str
    query: str | None = None
    at: str | int | None = None
    offset: int = 0


@dataclass(frozen=True)
class CreateQuery:
    """`CREATE [OR REPLACE] CONTINUOUS QUERY [IF NOT EXISTS] name [WITH (…)] AS body`.

    With FROM PLAN in the place of AS, `id` is what the root of its plan has to be.
    """

    name: str
    body: str
    options: tuple[tuple[str, str], ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    offset: int = 0
    body_offset: int = 0
    id: str | None = None


@dataclass(frozen=True)
class Drop:
    """`DROP STREAM|RELATION|CONTINUOUS QUERY [IF EXISTS] name [CASCADE|RESTRICT]`."""

    kind: str
    name: str
    if_exists: bool = False
    offset: int = 0
    cascade: bool = False


@dataclass(frozen=True)
class AlterQuery:
    """`ALTER CONTINUOUS QUERY name ACTIVATE [FROM NOW]|DEACTIVATE|SET (…)`."""

    name: str
    action: str
    options: tuple[tuple[str, str], ...] = ()
    offset: int = 0


@dataclass(frozen=True)
class AlterStream:
    """`ALTER STREAM name HEARTBEAT instant`, or `SET (…)` without a heartbeat."""

    name: str
    heartbeat: str | int | None
    offset: int = 0
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Show:
    """`SHOW STREAMS|RELATIONS|CONTINUOUS QUERIES`."""

    kind: str
    offset: int = 0


@dataclass(frozen=True)
class Explain:
    """`EXPLAIN [ANALYZE] CONTINUOUS QUERY name [AS TEXT|JSON|MERMAID|SQL]`."""

    name: str
    offset: int = 0
    analyze: bool = False
    form: str = "TEXT"


@dataclass(frozen=True)
class ExplainCreate:
    """`EXPLAIN CREATE [OR REPLACE] CONTINUOUS QUERY …`: what the statement would do."""

    create: CreateQuery
    offset: int = 0


@dataclass(frozen=True)
class Dml:
    """An INSERT, UPDATE or DELETE; `name` is its target as written, `text` the whole statement.

    `tokens` are those of the text, which may be long: no caller need tokenize it again. `start`
    is the place of the text in the script, and `offset` that of the name.
    """

    kind: str
    name: str
    text: str
    offset: int = 0
    start: int = field(default=0, compare=False)
    tokens: Sequence[Token] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True)
class Sql:
    """A statement of DuckDB's own."""

    text: str
    offset: int = 0


Statement = (
    CreateStream
    | CreateRelation
    | RefreshRelation
    | CreateQuery
    | Drop
    | AlterQuery
    | AlterStream
    | Show
    | Explain
    | ExplainCreate
    | Dml
    | Sql
)
