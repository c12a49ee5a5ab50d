"""`current_timestamp` and similar functions: inside a continuous query they mean τ.

They become one function in the syntax tree, now(), with casts around it (`normalize`). On
wall-clock time it is a TIMESTAMP WITH TIME ZONE, on integer time a BIGINT: the instant itself.

A comparison of it with an expression that does not depend on τ holds from some instant on, or up to
one. With f the side of τ and A the other,

    f(τ) = ⌊(τ + before) / step⌋ · step + after

never decreases, so two instants suffice for all comparisons: the first τ with f(τ) ≥ A, and the
first one with f(τ) > A. A conjunct of WHERE becomes a restriction of lifetimes that way
(`plan.During`); in other places these are the instants at which the result may change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from cqlduck.errors import BindError, NotSupportedError, ParseError
from cqlduck.rewrite.plan import FOREVER, Filter, Plan, Project, StreamScan, TimeWindow, chain_of
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.relalg.builders import cast
from cqlduck.rewrite.relalg.elements import add, ceil_to, floor_to, number
from cqlduck.rewrite.text.parsed import is_now
from cqlduck.rewrite.text.time import Clock, Duration, parse_duration

CALLED: dict[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "timestamp",
    exp.Localtimestamp: "local",
    exp.CurrentDate: "date",
    exp.CurrentTime: "time",
    exp.Localtime: "localtime",
}
NAMED = {
    "now": "timestamp",
    "transaction_timestamp": "timestamp",
    "get_current_timestamp": "timestamp",
    "current_localtimestamp": "local",
    "current_localtime": "localtime",
}
"""What functions mean that sqlglot does not know."""
DAY = 86_400_000_000
MOMENTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE", "TIMESTAMP_S", "TIMESTAMP_MS",
           "VARCHAR", '"NULL"', "NULL")  # fmt: skip
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
           "UINTEGER", "UBIGINT", "UHUGEINT", '"NULL"', "NULL")  # fmt: skip
SMALL_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
COMPARISONS: dict[type[exp.Expr], str] = {
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.EQ: "=",
}
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
ABOVE_ALL_INSTANTS = 9_200_000_000_000_000_000
"""More than any instant of integer time; a DOUBLE has it exactly."""


def mentions(tree: exp.Expr) -> bool:
    """Return whether an expression depends on τ."""
    return any(is_now(node) for node in tree.walk())


def normalize(tree: exp.Query, clock: Clock | None) -> exp.Query:
    """Return a query in which all of the kin are now() with casts around it.

    Args:
        tree: The query.
        clock: The clock, or None while the kind of time is open.

    Raises:
        BindError: They are mentioned, and the kind of time is open; or a date on integer time.
    """
    kin = [node for node in tree.walk() if _meaning(node) is not None]
    if not kin:
        return tree
    if clock is None:
        raise BindError(
            f"{kin[0].sql('duckdb').lower()} depends on the kind of time, which is not known yet",
            hint="declare a stream with TIMESTAMP BY, or call heartbeat(), before this query",
        )
    tree = tree.copy()
    for node in reversed(list(tree.walk())):
        meaning = _meaning(node)
        if meaning is None:
            continue
        written = node.sql("duckdb").lower()
        new = _value(meaning, written, clock)
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            new = exp.alias_(new, written, quoted=True)
        if isinstance(node, exp.Anonymous) and meaning == "age":
            midnight = cast(_value("date", written, clock), "TIMESTAMP")
            new = exp.Anonymous(this="age", expressions=[midnight, node.expressions[0].copy()])
        node.replace(new)
    if clock.kind == "integer":
        _count_intervals(tree, clock)
    return tree


def _meaning(node: exp.Expr) -> str | None:
    """Return 'timestamp', 'local', 'date', 'time', 'localtime' or 'age', or None."""
    if isinstance(node, exp.Anonymous):
        name = str(node.name).lower()
        is_age = name == "age" and len(node.expressions) == 1
        return "age" if is_age else NAMED.get(name)
    return CALLED.get(type(node))


def _value(meaning: str, written: str, clock: Clock) -> exp.Expr:
    now = exp.Anonymous(this="now")
    if clock.kind == "integer":
        if meaning not in ("timestamp", "local"):
            raise BindError(
                f"{written} has no meaning on integer time",
                hint="current_timestamp is the instant there, a BIGINT",
            )
        return exp.Anonymous(this="epoch_us", expressions=[now])
    types = {"local": "TIMESTAMP", "date": "DATE", "time": "TIMETZ"}
    if meaning == "localtime":
        return cast(cast(now, "TIMESTAMP"), "TIME")
    return cast(now, types[meaning]) if meaning in types else now


def _count_intervals(tree: exp.Expr, clock: Clock) -> None:
    """On integer time, write an interval beside τ as a number of instants."""
    for node in list(tree.find_all(exp.Add, exp.Sub, *COMPARISONS)):
        for mine, other in ((node.this, node.expression), (node.expression, node.this)):
            bare = without_parens(mine)
            if isinstance(bare, exp.Interval) and mentions(other):
                try:
                    count = clock.exact(parse_duration(bare.sql("duckdb")))
                except ParseError:
                    continue
                mine.replace(_number(count, bare.sql("duckdb")))


def _number(count: Fraction, written: str) -> exp.Expr:
    """Return a number of instants as a literal, which is exact.

    Raises:
        BindError: It has no exact literal, as a third of an instant.
    """
    if count.denominator == 1:
        return number(int(count))
    shown = f"{float(count):.9f}".rstrip("0")
    if Fraction(shown) != count:
        raise BindError(
            f"{written} is {count} instants",
            hint="write a number of instants, or a multiple of one",
        )
    return exp.Literal.number(shown)


def at(tree: exp.Expr, clock: Clock, instant: exp.Expr) -> exp.Expr:
    """Return an expression with an instant, a BIGINT, in the place of τ."""
    tree = exp.paren(tree.copy())
    for node in [node for node in tree.walk() if is_now(node)]:
        if clock.kind == "integer":
            around = node.parent
            assert around is not None
            around.replace(cast(instant.copy(), "BIGINT"))
        else:
            micros = exp.Mul(this=instant.copy(), expression=number(clock.granularity))
            made = exp.Anonymous(this="make_timestamp", expressions=[micros])
            node.replace(cast(made, "TIMESTAMPTZ"))
    inner = tree.this
    inner.pop()
    return inner  # type: ignore[no-any-return]  # sqlglot's args are untyped


# -- comparisons ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steps:
    """The function f of a comparison, in raw time: microseconds, or instants on integer time."""

    before: int = 0
    step: int = 1
    after: int = 0
    is_date: bool = False


@dataclass(frozen=True)
class Comparison:
    """`value operator f(τ)`; the value does not depend on τ.

    `subtracts` says that it was written as the comparison of a difference with a constant.
    """

    value: exp.Expr
    operator: str
    steps: Steps
    subtracts: bool = False


def split(tree: exp.Expr) -> list[exp.Expr]:
    """Return `x BETWEEN a AND b` that mentions τ as two conditions; any other one as it is."""
    bare = without_parens(tree)
    if not isinstance(bare, exp.Between) or bare.args.get("symmetric") or not mentions(bare):
        return [tree]
    return [
        exp.GTE(this=bare.this.copy(), expression=bare.args["low"].copy()),
        exp.LTE(this=bare.this.copy(), expression=bare.args["high"].copy()),
    ]


def compared(tree: exp.Expr, clock: Clock) -> Comparison | None:
    """Return a condition as a comparison with τ, plus or minus constants; None if it is none."""
    tree = without_parens(tree)
    operator = COMPARISONS.get(type(tree))
    if operator is None:
        return None
    left, right = tree.this, without_parens(tree.expression)
    if mentions(left):
        left, right, operator = tree.expression, without_parens(left), TURNED[operator]
    if mentions(left):
        return None
    steps = _steps(right, clock)
    if steps is not None:
        return Comparison(left.copy(), operator, steps)
    if not isinstance(right, exp.Sub):
        return None
    first, second = right.this, right.expression
    if mentions(first) and mentions(second):
        return None
    # k op f − A is A op f − k, and k op A − f is A turned f + k
    steps = _steps(first if mentions(first) else second, clock)
    length = None if steps is None else _length(left, steps, clock)
    if steps is None or length is None:
        return None
    if mentions(first):
        return Comparison(second.copy(), operator, replace(steps, after=steps.after - length), True)
    longer = replace(steps, after=steps.after + length)
    return Comparison(first.copy(), TURNED[operator], longer, True)


def _steps(tree: exp.Expr, clock: Clock) -> Steps | None:
    """Return an expression of τ and constants as steps, or None."""
    tree = without_parens(tree)
    if _is_instant(tree, clock):
        return Steps()
    if isinstance(tree, exp.Cast) and clock.kind == "wall":
        inner = _steps(tree.this, clock)
        kind = tree.to.sql("duckdb").upper()
        if inner is None or (inner.is_date and kind == "DATE"):
            return inner
        if kind in ("TIMESTAMPTZ", "TIMESTAMP"):
            return replace(inner, is_date=False)
        if kind == "DATE" and inner.step == 1:
            return Steps(inner.before + inner.after, DAY, 0, True)
        return None
    if isinstance(tree, (exp.Add, exp.Sub)):
        first, second = tree.this, tree.expression
        if not mentions(first) and isinstance(tree, exp.Add):
            first, second = second, first
        if mentions(second):
            return None
        inner = _steps(first, clock)
        length = None if inner is None else _length(second, inner, clock)
        if inner is None or length is None:
            return None
        sign = -1 if isinstance(tree, exp.Sub) else 1
        is_date = inner.is_date and not isinstance(_unsigned(second)[1], exp.Interval)
        return replace(inner, after=inner.after + sign * length, is_date=is_date)
    return None


def _is_instant(tree: exp.Expr, clock: Clock) -> bool:
    if clock.kind == "integer" and isinstance(tree, exp.Anonymous) and tree.name == "epoch_us":
        tree = tree.expressions[0]
    return is_now(tree)


def _length(tree: exp.Expr, steps: Steps, clock: Clock) -> int | None:
    """Return a constant that is added to τ, in raw time, or None if it has no fixed length."""
    sign, bare = _unsigned(tree)
    if isinstance(bare, exp.Interval) and clock.kind == "wall":
        try:
            length = parse_duration(bare.sql("duckdb")).microseconds
        except ParseError:
            return None
        return None if length is None else sign * int(length)
    if isinstance(bare, exp.Literal) and not bare.is_string and bare.name.isdigit():
        if clock.kind == "integer":
            return sign * int(bare.name)
        return sign * int(bare.name) * DAY if steps.is_date else None
    return None


def _unsigned(tree: exp.Expr) -> tuple[int, exp.Expr]:
    tree = without_parens(tree)
    if isinstance(tree, exp.Neg):
        sign, inner = _unsigned(tree.this)
        return -sign, inner
    return 1, tree


# -- instants -------------------------------------------------------------------------------------


def is_exact(known: Comparison, kind: str, clock: Clock) -> bool:
    """Return whether a comparison with values of a type can be said in instants exactly."""
    if clock.kind == "wall":
        return kind in MOMENTS
    if kind in NUMBERS:
        return True
    # a difference of doubles is rounded
    return not known.subtracts and (kind == "DOUBLE" or kind.startswith("DECIMAL"))


def lifetime(known: Comparison, kind: str, clock: Clock) -> tuple[exp.Expr | None, exp.Expr | None]:
    """Return the first instant at which a comparison holds, and the first one after the last."""
    first = _first(known, kind, clock, beyond=known.operator in ("<", ">="))
    match known.operator:
        case "<" | "<=":
            return first, None
        case ">" | ">=":
            return None, first
        case _:
            return first, _first(known, kind, clock, beyond=True)


def turns(known: Comparison, kind: str, clock: Clock) -> list[exp.Expr]:
    """Return the instants at which f(τ) reaches the value of a comparison, and passes it."""
    return [_first(known, kind, clock, beyond=beyond) for beyond in (False, True)]


def _first(known: Comparison, kind: str, clock: Clock, *, beyond: bool) -> exp.Expr:
    """Return the first instant τ with f(τ) ≥ A, or with f(τ) > A; NULL if A is."""
    steps = known.steps
    if clock.kind == "integer":
        if kind in SMALL_INTEGERS:
            return add(cast(known.value.copy(), "BIGINT"), int(beyond) - steps.after)
        whole: exp.Expr = cast(known.value.copy(), "HUGEINT")
        if kind not in NUMBERS:
            rounded = exp.Floor if beyond else exp.Ceil
            whole = rounded(this=exp.paren(known.value.copy()))
        low, high = exp.Neg(this=number(ABOVE_ALL_INSTANTS)), number(ABOVE_ALL_INSTANTS)
        clamped = exp.Case().when(exp.GT(this=whole, expression=high), high.copy())
        clamped = clamped.when(exp.LT(this=whole.copy(), expression=low), low.copy())
        clamped = clamped.else_(cast(whole.copy(), "BIGINT"))
        return add(clamped, int(beyond) - steps.after)
    moment = cast(known.value.copy(), "TIMESTAMPTZ")
    raw: exp.Expr = exp.Anonymous(this="epoch_us", expressions=[moment])
    raw = add(raw, (steps.step if beyond else 0) - steps.after)
    if steps.step > 1:
        raw = floor_to(raw, steps.step) if beyond else ceil_to(raw, steps.step)
    raw = add(raw, -steps.before)
    if clock.granularity > 1:
        raw = exp.IntDiv(this=ceil_to(raw, clock.granularity), expression=number(clock.granularity))
    never = exp.Anonymous(this="isinf", expressions=[moment.copy()])
    epoch = cast(exp.Literal.string("epoch"), "TIMESTAMPTZ")
    end = exp.Case().when(exp.GT(this=moment.copy(), expression=epoch), number(FOREVER))
    return exp.Case().when(never, end.else_(exp.Neg(this=number(FOREVER)))).else_(raw)


def reach(known: Comparison, clock: Clock) -> Duration:
    """Return how many instants after the instant of its value a comparison can hold at most."""
    granule = clock.granularity if clock.kind == "wall" else 1
    steps = known.steps
    return Duration(max((granule + steps.step - 2 - steps.before - steps.after) // granule + 1, 0))


def bounded(plan: Plan, name: str, width: Duration) -> Plan:
    """Return a relation without tuples that are further back than `width` in a timestamp.

    Where the column `name` is the timestamp of a stream under an unbounded window, the window needs
    no more; any other plan stays as it is.
    """
    match plan:
        case Filter():
            return replace(plan, input=bounded(plan.input, name, width))
        case Project():
            made = dict(zip((c.name for c in plan.columns), plan.expressions, strict=True))[name]
            inner = made if isinstance(made, exp.Column) else _instant_shown(made)
            return (
                plan
                if inner is None
                else replace(plan, input=bounded(plan.input, inner.name, width))
            )
        case TimeWindow(width=None, slide=None):
            *_, stream = chain_of(plan.input)
            if isinstance(stream, StreamScan) and name in (stream.instant, *stream.timestamps):
                return replace(plan, width=width)
            return plan
        case _:
            return plan


def _instant_shown(made: exp.Expr) -> exp.Column | None:
    """Return the column of an instant that is shown as a timestamp."""
    if not isinstance(made, exp.Anonymous) or made.name != "make_timestamp":
        return None
    (micros,) = made.expressions
    column = micros.this if isinstance(micros, exp.Mul) else None
    return column if isinstance(column, exp.Column) and column.name.endswith("._ts") else None


def refuse(tree: exp.Expr, where: str) -> None:
    """Refuse τ where it has no meaning.

    Raises:
        NotSupportedError: The expression mentions it, not yet normalized.
    """
    if any(_meaning(node) is not None for node in tree.walk()):
        raise NotSupportedError(
            f"the current time cannot stand in {where}", hint="compare it with a column in WHERE"
        )
