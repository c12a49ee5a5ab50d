"""Answers: the log of a query's elements, its answer at the frontier, and how both stay small.

Every query has the log `changes_<name>` of its elements. The view under the query's own name shows
the answer. An aggregate or a row window that is the root of the plan has the answer in its synopsis
(a SELECT of tuples of weight 1, see `Compiled.answer`). Any other query that yields a relation has
`answer_<name>`: its answer at the instant `answer_instant`; the answer at the frontier is that plus
the elements since. The table is written anew when the elements since outweigh it, so its upkeep
costs a constant factor. That happens when the answer is read, and when a file is closed, but in no
tick, unless a bounded history ends in the tick.
"""

from __future__ import annotations

from collections.abc import Mapping

from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.plan.log_names import log_of
from cqlduck.rewrite.text.time import Clock, Instant
from cqlduck.state import members
from cqlduck.state.columns import same_rows, typed, values_of_group, weighted_rows
from cqlduck.state.connection import ALIAS, Database, quoted
from cqlduck.state.netting import compact, rewrite
from cqlduck.state.registered import Query
from cqlduck.state.row_groups import ROW_GROUP_ROWS

LONG_LOG_ELEMENTS = ROW_GROUP_ROWS
"""How many elements a log has at least to be read without a copy: a row group."""

TAIL = 50_000
"""How many elements may follow the kept answer at least."""


def create(
    database: Database, clock: Clock, query: Query, held: str | None, *, has_log: bool = False
) -> None:
    """Make the tables and the view of a query's answer.

    Args:
        database: The database, inside a transaction.
        clock: The clock of the database.
        query: The query.
        held: How its answer is read from its synopses, or None.
        has_log: Whether it goes on with the log of the query that it replaces.
    """
    changes = f"cql_state.{quoted(query.changes)}"
    if not has_log:
        database.execute(
            f"CREATE TABLE {changes} ({typed(query.columns)}, _ts BIGINT, _weight BIGINT)"
        )
    database.execute(
        f"COMMENT ON TABLE {changes} IS 'The elements of a query: its answer''s changes.'"
    )
    if query.kind == "relation" and held is None:
        answer = f"cql_state.{quoted(query.answer)}"
        database.execute(f"CREATE TABLE {answer} ({typed(query.columns)}, _weight BIGINT)")
        database.execute(f"COMMENT ON TABLE {answer} IS 'A query''s answer at an earlier instant.'")
    view(database, clock, query, None if has_log else held)


def hold(
    database: Database, clock: Clock, query: Query, before: str | None, held: str | None
) -> None:
    """Let the answer of a query be read as its new plan has it, between two ticks.

    Args:
        database: The database, inside a transaction.
        clock: The clock of the database.
        query: A query that has begun.
        before: How it was read from synopses, which are gone, or None.
        held: How it is read from those that there are now, or None.
    """
    if query.kind != "relation" or before == held:
        return
    answer = f"cql_state.{quoted(query.answer)}"
    if held is not None:
        database.execute(f"DROP TABLE IF EXISTS {answer}")
        query.answer_instant = None
    elif before is not None:
        database.execute(f"CREATE TABLE {answer} ({typed(query.columns)}, _weight BIGINT)")
        database.execute(f"COMMENT ON TABLE {answer} IS 'A query''s answer at an earlier instant.'")
        query.answer_instant = None
        keep(database, clock, query)
    view(database, clock, query, held)


def drop(database: Database, query: Query, *, keep_log: bool = False) -> None:
    """Remove the tables and the view of a query's answer, or all of them but its log."""
    database.execute(f"DROP VIEW IF EXISTS {quoted(query.name)}")
    if not keep_log:
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(query.changes)}")
    if query.shape is not None:
        database.execute(f"DROP VIEW IF EXISTS cql_state.{quoted(query.standing_answer)}")
    for table in (query.answer, query.beside):
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(table)}")


def retract_replaced(database: Database, clock: Clock, query: Query, held: str | None) -> None:
    """Let a query follow the one that it replaces: at its first instant what stood leaves.

    Without one its log has nothing from before, and there is nothing to leave.

    Args:
        database: The database, inside a transaction.
        clock: The clock of the database.
        query: A query that has a frontier, and has just moved from it for the first time.
        held: How its answer is read from its synopses, or None.
    """
    assert query.since is not None
    changes = f"cql_state.{quoted(query.changes)}"
    if query.kind == "relation" and database.value(
        f"SELECT EXISTS (SELECT 1 FROM {changes} WHERE _ts <= {query.since})"
    ):
        first = query.since + 1
        net = (
            f"SELECT {values_of_group(query.columns)}, {first}::BIGINT AS _ts, "
            f"CAST(sum(if(_ts = {first}, _weight, -_weight)) AS BIGINT) AS _weight "
            f"FROM {changes} WHERE _ts <= {first} GROUP BY {same_rows(query.columns)} HAVING "
            f"sum(if(_ts = {first}, _weight, -_weight)) <> 0"
        )
        rewrite(database, changes, net, f" WHERE _ts = {first}")
    if held is not None:
        view(database, clock, query, held)


def shown(clock: Clock, column: str = "_ts") -> str:
    """Return a column of instants in the type in which people see them, as SQL."""
    if clock.kind == "integer":
        return column
    return f"make_timestamp({column} * {clock.granularity})"


def before_all(clock: Clock) -> str:
    """Return what is before all instants, in the type in which people see them, as SQL."""
    return f"({NEVER})::BIGINT" if clock.kind == "integer" else "'-infinity'::TIMESTAMP"


def view(database: Database, clock: Clock, query: Query, held: str | None) -> None:
    """Make the view under the query's own name."""
    if query.shape is None:
        database.view(quoted(query.name), _answer_sql(clock, query, held, None))
    elif query.kind == "relation":
        listed = ", ".join(quoted(c.name) for c in query.columns)
        source = _weighted_sql(query, None, "")
        if held is not None:
            source = f"SELECT {listed}, 1::BIGINT AS _weight FROM ({held}) AS content"
        database.view(f"cql_state.{quoted(query.standing_answer)}", source)


def create_member(database: Database, clock: Clock, member: Query) -> None:
    """Make the views of a member of a family: of its log, and the one under its own name.

    The log of one that was merged begins with the log that it had. One that is not active shows
    what it had at its frontier; its family may have gone on.

    Args:
        database: The database, inside a transaction.
        clock: The clock of the database.
        member: The member.
    """
    known = members.conditions(member)
    if member.state != "active":
        known.append("false" if member.frontier is None else f"_ts <= {member.frontier}")
    before = ""
    if member.has_before:
        before = f"FROM cql_state.{quoted(member.before)} UNION ALL "
        known.append(f"_ts > {member.merged_at}")
    where = f" WHERE {' AND '.join(known)}" if known else ""
    assert member.family is not None
    log = log_of(member.family)
    database.view(
        f"cql_state.{quoted(member.changes)}",
        f"{before}SELECT {members.columns(member)}, _ts, _weight "
        f"FROM cql_state.{quoted(log)}{where}",
    )
    database.view(quoted(member.name), _answer_sql(clock, member, None, None))


def drop_member(
    database: Database, member: Query, *, keep_log: bool = False, keep_before: bool = False
) -> None:
    """Remove what there is of a member of a family.

    Args:
        database: The database, inside a transaction.
        member: The member.
        keep_log: Whether its log stays, which is a table by now.
        keep_before: Whether the log stays that it had before it was merged.
    """
    database.execute(f"DROP VIEW IF EXISTS {quoted(member.name)}")
    if not keep_log:
        database.execute(f"DROP VIEW IF EXISTS cql_state.{quoted(member.changes)}")
    if not keep_before:
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(member.before)}")


def copy_before(database: Database, member: Query) -> None:
    """Let a member have in a table what its log has shown: it goes to another family.

    Args:
        database: The database, inside a transaction.
        member: The member.
    """
    before = f"cql_state.{quoted(member.before)}"
    source = f"FROM cql_state.{quoted(member.changes)}"
    if member.has_before:
        database.execute(f"INSERT INTO {before} {source} WHERE _ts > {member.merged_at}")
    else:
        database.execute(f"CREATE TABLE {before} AS {source}")
        database.execute(f"COMMENT ON TABLE {before} IS '{_BEFORE}'")


_BEFORE = "The elements of a query, from before a family computed it."


def set_before(database: Database, query: Query) -> None:
    """Let the log of a query whose plan goes be what it had before it was merged into a family.

    Args:
        database: The database, inside a transaction.
        query: The query, of whose answer nothing is left but its log.
    """
    log, before = f"cql_state.{quoted(query.changes)}", quoted(query.before)
    database.execute(f"ALTER TABLE {log} RENAME TO {before}")
    database.execute(f"COMMENT ON TABLE cql_state.{before} IS '{_BEFORE}'")


def drop_before(database: Database, clock: Clock, member: Query) -> None:
    """Drop what a member had before it was merged: history does not go so far back any more."""
    database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(member.before)}")
    create_member(database, clock, member)


def begin_with(database: Database, family: Query, content: str, given: Mapping[str, int]) -> None:
    """Let the history of a family that has just been made begin with its answer at its frontier.

    Args:
        database: The database, inside a transaction.
        family: The family; it has a frontier.
        content: Its answer there, as a SELECT of (columns, `_weight`).
        given: The parameters of that.
    """
    listed = values_of_group(family.columns)
    database.execute(
        f"INSERT INTO cql_state.{quoted(family.changes)} SELECT {listed}, "
        f"{family.frontier}::BIGINT, CAST(sum(_weight) AS BIGINT) FROM ({content}) AS standing "
        f"GROUP BY {same_rows(family.columns)} HAVING sum(_weight) <> 0",
        given,
    )


def separate(database: Database, member: Query, *, is_net: bool) -> None:
    """Let the log of a member be a table of its own, with what its view has shown so far.

    Args:
        database: The database, inside a transaction.
        member: The member.
        is_net: Whether no two elements in it may have the same tuple and instant.
    """
    log = f"cql_state.{quoted(member.changes)}"
    source = f"FROM {log}"
    if member.projection and is_net:
        listed = values_of_group(member.columns)
        source = (
            f"SELECT {listed}, _ts, CAST(sum(_weight) AS BIGINT) AS _weight FROM {log} "
            f"GROUP BY {same_rows(member.columns)}, _ts HAVING sum(_weight) <> 0 ORDER BY _ts"
        )
    database.execute(f"CREATE TEMPORARY TABLE _cql_separate AS {source}")
    database.execute(f"DROP VIEW {log}")
    database.execute(f"CREATE TABLE {log} AS FROM temp._cql_separate")
    database.execute("DROP TABLE temp._cql_separate")


def answer_sql(clock: Clock, query: Query, held: str | None, until: Instant | None = None) -> str:
    """Return the SELECT of the answer at an instant, or at the frontier."""
    # before it begins its synopses are empty, but its log may have what it replaces
    return _answer_sql(clock, query, None if query.begin_instant is None else held, until)


def _answer_sql(clock: Clock, query: Query, held: str | None, until: Instant | None) -> str:
    listed = ", ".join(quoted(c.name) for c in query.columns)
    changes = f"cql_state.{quoted(query.changes)}"
    bound = "" if until is None else f" AND _ts <= {until}"
    if query.kind == "stream":
        return _tuples_sql(clock, query, f"FROM {changes} WHERE true{bound}")
    order = f" {query.order_by}" if query.order_by else ""
    is_now = until is None or until == query.frontier
    if held is not None and is_now and query.family is None:
        return f"SELECT {listed} FROM ({held}) AS kept{order}"
    source = weighted_sql(query) if is_now else _weighted_sql(query, until, bound)
    return weighted_rows(query.columns, source) + order


def weighted_sql(query: Query) -> str:
    """Return the SELECT of (columns, `_weight`) that sum up to the answer at the frontier."""
    if query.family is None or query.state != "active":
        return _weighted_sql(query, None, "")
    known = members.conditions(query)
    where = f" WHERE {' AND '.join(known)}" if known else ""
    standing = f"cql_state.{quoted(f'standing_{query.family}')}"
    return f"SELECT {members.columns(query)}, _weight FROM {standing}{where}"


def _weighted_sql(query: Query, until: Instant | None, bound: str) -> str:
    """Return the SELECT of elements whose weights sum up to the answer at an instant."""
    listed = ", ".join(quoted(c.name) for c in query.columns)
    changes = f"cql_state.{quoted(query.changes)}"
    if query.answer_instant is None or (until is not None and until < query.answer_instant):
        return f"SELECT {listed}, _weight FROM {changes} WHERE true{bound}"
    return (
        f"SELECT {listed}, _weight FROM cql_state.{quoted(query.answer)} UNION ALL "
        f"SELECT {listed}, _weight FROM {changes} WHERE _ts > {query.answer_instant}{bound}"
    )


def tuples_sql(clock: Clock, query: Query, until: Instant | None) -> str:
    """Return the SELECT of the tuples that a stream had up to an instant, from its log alone."""
    return _tuples_sql(clock, query, _logged(query, None, until))


def _tuples_sql(clock: Clock, query: Query, source: str) -> str:
    listed = ", ".join(quoted(c.name) for c in query.columns)
    order = f" {query.order_by}" if query.order_by else ""
    return (
        f"SELECT {listed}, {shown(clock)} AS _ts FROM (SELECT {listed}, _ts, "
        f"unnest(range(_weight)) AS _cql_copy {source}) AS copies{order}"
    )


def changes_sql(
    clock: Clock,
    query: Query,
    since: Instant | None,
    until: Instant | None,
    *,
    is_net: bool = False,
    in_order: bool = False,
) -> str:
    """Return the SELECT of the net elements with since < `_ts` ≤ until, in the order of time.

    Args:
        clock: The clock of the database.
        query: The query.
        since: The instant after which they are, or None.
        until: The instant up to which they are, or None.
        is_net: Whether they are net in its log: no two have the same tuple and instant.
        in_order: Whether they are in the order of time there.
    """
    if is_net:
        order = "" if in_order else " ORDER BY _ts"
        return f"{new_sql(clock, query, since, until)}{order}"
    listed = ", ".join(quoted(c.name) for c in query.columns)
    return (
        f"SELECT {listed}, {shown(clock)} AS _ts, _weight FROM "
        f"(SELECT {values_of_group(query.columns)}, _ts, "
        f"CAST(sum(_weight) AS BIGINT) AS _weight {_logged(query, since, until)} "
        f"GROUP BY {same_rows(query.columns)}, _ts HAVING sum(_weight) <> 0 ORDER BY _ts) AS net"
    )


def new_sql(clock: Clock, query: Query, since: Instant | None, until: Instant | None) -> str:
    """Return the SELECT of the elements with since < `_ts` ≤ until, as they were written.

    Equal elements may be rows of their own, and instants in any order.
    """
    listed = ", ".join(quoted(c.name) for c in query.columns)
    return f"SELECT {listed}, {shown(clock)} AS _ts, _weight {_logged(query, since, until)}"


def _logged(query: Query, since: Instant | None, until: Instant | None) -> str:
    low = "" if since is None else f" AND _ts > {since}"
    high = "" if until is None else f" AND _ts <= {until}"
    # in full, for who reads it from outside of the database
    return f"FROM {ALIAS}.cql_state.{quoted(query.changes)} WHERE true{low}{high}"


def is_long(database: Database, query: Query) -> bool:
    """Return whether the log of a query is so long that to copy it takes time."""
    count = database.value(f"SELECT count(*) FROM cql_state.{quoted(query.changes)}")
    return int(count) >= LONG_LOG_ELEMENTS


def is_outweighed(database: Database, query: Query, tail: int) -> bool:
    """Return whether the elements since the kept answer outweigh it.

    Args:
        database: The database.
        query: A query that has a kept answer.
        tail: How many elements there are since.
    """
    if tail <= TAIL:
        return False
    kept = int(database.value(f"SELECT count(*) FROM cql_state.{quoted(query.answer)}"))
    return tail > 2 * kept


def tail_of(database: Database, query: Query) -> int:
    """Count the elements since the kept answer of a query."""
    since = "" if query.answer_instant is None else f" WHERE _ts > {query.answer_instant}"
    changes = f"cql_state.{quoted(query.changes)}"
    return int(database.value(f"SELECT count(*) FROM {changes}{since}"))


def last_of(database: Database, query: Query, until: Instant) -> Instant | None:
    """Return the last instant at or before another one of a query's changes, or None."""
    # what stands at the start of history is no change
    since = "" if query.history_from is None else f" AND _ts > {query.history_from}"
    changes = f"cql_state.{quoted(query.changes)}"
    last = database.value(f"SELECT max(_ts) FROM {changes} WHERE _ts <= {until}{since}")
    return None if last is None else Instant(last)


def keep(database: Database, clock: Clock, query: Query) -> None:
    """Write the kept answer anew, as of the frontier."""
    listed = ", ".join(quoted(c.name) for c in query.columns)
    answer = f"cql_state.{quoted(query.answer)}"
    changes = f"cql_state.{quoted(query.changes)}"
    since = "" if query.answer_instant is None else f" WHERE _ts > {query.answer_instant}"
    net = (
        f"SELECT {values_of_group(query.columns)}, CAST(sum(_weight) AS BIGINT) AS _weight "
        f"FROM (SELECT {listed}, _weight FROM {answer} "
        f"UNION ALL SELECT {listed}, _weight FROM {changes}{since}) AS elements "
        f"GROUP BY {same_rows(query.columns)} HAVING sum(_weight) <> 0"
    )
    rewrite(database, answer, net)
    query.answer_instant = query.frontier
    view(database, clock, query, None)


def forget_history(
    database: Database, clock: Clock, query: Query, held: str | None, until: Instant
) -> None:
    """Drop what history holds up to an instant; the answer at that instant stays as its start."""
    if query.kind == "relation":
        if held is None and (query.answer_instant is None or query.answer_instant < until):
            keep(database, clock, query)
        compact(database, query.changes, query.columns, until)
    else:
        changes = f"cql_state.{quoted(query.changes)}"
        database.execute(f"DELETE FROM {changes} WHERE _ts <= {until}")
    query.history_from = until
