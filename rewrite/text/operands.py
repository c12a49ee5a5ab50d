"""Operands of expressions: literals, names, calls, and what follows them.

See `expressions`, which this is a part of.
"""

from __future__ import annotations

from sqlglot.tokens import Token, TokenType

from cqlduck.errors import ParseError
from cqlduck.rewrite.text.cursor import CLOSING, LITERALS, Cursor, Part, call, made, mark
from cqlduck.rewrite.text.precedence import ARROW, OR, OTHER, PREFIXES

SQLGLOT_NODES = frozenset(
    {"avg", "coalesce", "columns", "count", "cume_dist", "current_date",
     "current_localtime", "current_localtimestamp", "current_time", "current_timestamp",
     "dense_rank", "first_value", "get_current_timestamp", "grouping", "grouping_id", "lag",
     "last_value", "lead", "localtime", "localtimestamp", "max", "min", "now", "nth_value",
     "ntile", "percent_rank", "rank", "row_number", "sum", "today", "transaction_timestamp",
     "unnest"}
)  # fmt: skip
"""Functions that sqlglot reads as nodes of their own, because rules look for these."""

_NO_FUNCTIONS = frozenset(
    {"all", "any", "array", "at", "cube", "exists", "lateral", "map", "materialized", "rollup",
     "row", "sets", "some", "struct", "table", "using", "values"}
)  # fmt: skip
"""Words before a parenthesis that are no names of functions, or are read well."""

_NO_NAMES = (None, TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN)
"""What stands behind EXCLUDE, REPLACE or RENAME that names nothing; None is the end."""

_STARS = frozenset({"exclude", "except", "replace", "rename"})
_ARROW_CALLS = frozenset(
    f"{kind}{what}"
    for kind in ("list_", "array_", "")
    for what in ("transform", "apply", "filter", "reduce")
)

_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in ("year", "month", "day", "hour", "minute", "second", "millisecond", "microsecond",
                 "week", "quarter", "decade", "millenniu", "centur")
    for plural in ("", "s", "y", "ies", "m", "ms", "a")
)  # fmt: skip

_SEPARATORS = frozenset(
    {"and", "anti", "as", "asc", "asof", "between", "by", "cross", "desc", "distinct", "else",
     "end", "except", "exclude", "fetch", "filter", "following", "for", "from", "full", "glob",
     "group", "having", "ilike", "in", "inner", "intersect", "into", "is", "isnull", "join",
     "like", "limit", "natural", "notnull", "offset", "on", "or", "order", "outer", "over",
     "partition", "pivot", "positional", "preceding", "qualify", "recursive", "references",
     "returning", "select", "semi", "similar", "then", "to", "union", "unpivot", "using",
     "values", "when", "where", "window", "with", "within"}
)  # fmt: skip
"""Words that end an expression, or stand before one, and are no operand."""


class Operands(Cursor):
    """Reads operands; what is inside them are expressions again."""

    def expression(self, least: int = ARROW) -> Part:
        """Write an expression of operators that bind at least so tightly."""
        raise NotImplementedError

    def operand(self, least: int, after: Token) -> Part:
        """Write the operand that has to follow an operator."""
        raise NotImplementedError

    def sequence(self, end: int) -> list[Token]:
        """Write what there is up to a place."""
        raise NotImplementedError

    def group(self) -> list[Token]:
        """Write what is in the parentheses or brackets that come next, and these."""
        end = self.closing()
        return [self.advance(), *self.sequence(end), self.close(end)]

    def begins_operand(self) -> bool:
        """Return whether an expression can begin here."""
        token = self.token()
        if token is None:
            return False
        kind = token.token_type
        if kind in LITERALS or kind in CLOSING or kind in (
            TokenType.IDENTIFIER, TokenType.STAR, TokenType.CASE
        ):  # fmt: skip
            return True
        if kind in (TokenType.COMMA, TokenType.SEMICOLON, TokenType.COLON, TokenType.DOT):
            return kind == TokenType.DOT and self.kind(1) == TokenType.NUMBER
        word = token.text.lower()
        if word[:1].isalpha() or word[:1] == "_" or not word.isascii():
            if " " in word:
                return False
            if word in ("filter", "glob", "like") and self.kind(1) == TokenType.L_PAREN:
                return True
            return word not in _SEPARATORS
        return self.symbol() in PREFIXES or kind in (TokenType.PARAMETER, TokenType.HASH)

    def primary(self) -> Part:
        """Write an operand without operators, and what follows it: `::`, `[…]`, `.name`, OVER."""
        token = self.token()
        assert token is not None
        if token.token_type in CLOSING:
            part = Part(self.group())
        elif token.token_type == TokenType.CASE:
            part = self.case()
        elif token.token_type == TokenType.STAR:
            part = self.star([self.advance()])
        elif token.token_type == TokenType.DOT:
            number = [self.advance(), self.advance()]
            part = Part([made(TokenType.NUMBER, f".{number[1].text}", token)])
        elif token.token_type in (TokenType.PARAMETER, TokenType.HASH):
            part = Part([self.advance(), *(self.raw(self.place + 1) if self.token() else [])])
        elif token.token_type in LITERALS:
            part = Part([self.advance()])
            if token.token_type == self.kind() == TokenType.STRING:
                raise ParseError(
                    "two strings stand side by side",
                    hint="write || between them",
                    text=self.text,
                    offset=self.given[self.place].start,
                )
        else:
            word = self.word()
            if word == "LAMBDA" and self.kind(1) != TokenType.L_PAREN:
                return self.lambda_()
            if word == "INTERVAL":
                part = self.interval()
            elif word == "MAP" and self.kind(1) == TokenType.L_BRACE:
                part = self.map_()
            else:
                part = self.named()
        return self.postfixed(part)

    def case(self) -> Part:
        """`CASE … END`."""
        written, depth = [self.advance()], 1
        while self.place < len(self.given):
            if self.begins_operand():
                written += self.expression().tokens
                continue
            token = self.advance()
            written.append(token)
            depth -= token.token_type == TokenType.END
            if not depth:
                break
        return Part(written)

    def star(self, tokens: list[Token]) -> Part:
        """`*` with EXCLUDE, REPLACE and RENAME behind it.

        Raises:
            ParseError: One of them names nothing.
        """
        while (token := self.token()) is not None and token.text.lower() in _STARS:
            if self.kind(1) == TokenType.L_PAREN:
                tokens += [self.advance(), *self.group()]
            elif self.kind(1) in _NO_NAMES:
                raise ParseError(
                    f"{token.text.upper()} names no column",
                    hint="as in * EXCLUDE (a, b), * REPLACE (a + 1 AS a), * RENAME (a AS b)",
                    text=self.text,
                    offset=token.start,
                )
            elif token.text.lower() in ("exclude", "replace") or (
                self.kind(1) in (TokenType.VAR, TokenType.IDENTIFIER)
            ):
                tokens += [self.advance(), self.advance()]
            else:
                break
        return Part(tokens, is_star=True)

    def lambda_(self) -> Part:
        """`lambda x, y: …`, whose body reaches as far as it can."""
        written = [self.advance()]
        while self.place < len(self.given) and self.kind() != TokenType.COLON:
            written.append(self.advance())
        if self.place < len(self.given):
            written.append(self.advance())
        return Part([*written, *self.operand(ARROW, written[0]).tokens])

    def interval(self) -> Part:
        """`INTERVAL 1 DAY`, in all spellings."""
        written = [self.advance()]
        if self.opens():
            written += self.group()
        elif self.kind() in LITERALS:
            written.append(self.advance())
        else:
            return Part(written)
        token = self.token()
        if token is not None and token.text.lower() in _UNITS:
            written.append(self.advance())
        return Part(written)

    def map_(self) -> Part:
        """`MAP {k: v, …}` is `map([k, …], [v, …])`."""
        word = self.advance()
        end = self.closing()
        self.advance()
        sides: list[list[list[Token]]] = [[], []]
        side = 0
        while self.place < end:
            if self.begins_operand():
                sides[side].append(self.expression(OR).tokens)
            else:
                side = int(self.advance().token_type == TokenType.COLON)
        self.close(end)
        lists = [call("list_value", word, values) for values in sides]
        return Part(call("map", word, lists))

    def named(self) -> Part:
        """Write a name, a call, or a literal with its type before it: `DATE '2020-01-01'`."""
        first = self.advance()
        following = self.token()
        if following is not None and following.token_type == TokenType.STRING:
            bits = first.text.lower() in ("x", "b") and following.start == first.end + 1
            if bits:
                self.advance()
                said = self.text[first.start : following.end + 1]
                return Part([made(TokenType.NUMBER, said, first)])
        names = [first]
        while self.kind() == TokenType.DOT and self.kind(1) is not None:
            names.append(self.advance())
            if self.kind() == TokenType.STAR:
                return self.star([*names, self.advance()])
            names.append(self.advance())
        if self.opens():
            return self.called(names)
        if len(names) == 1 and self.kind() == TokenType.STRING:
            names.append(self.advance())
        elif self.word() in ("WITH", "WITHOUT") and (
            self.words("WITH", "TIME", "ZONE") or self.words("WITHOUT", "TIME", "ZONE")
        ):
            names += self.raw(self.place + 3)
            if self.kind() == TokenType.STRING:
                names.append(self.advance())
        return Part(names)

    def called(self, names: list[Token]) -> Part:
        """Write a call; the last of the names is the function's."""
        *schema, function = names
        name = function.text.lower()
        plain = not schema and function.token_type != TokenType.IDENTIFIER
        if plain and name in ("cast", "try_cast"):
            return self.cast(function)
        if plain and name in _FORMS:
            return self.form(function)
        start = self.place
        arguments = self.group()
        if name in _ARROW_CALLS:
            self.refuse_arrow(start, self.place)
        if not (plain and (name in SQLGLOT_NODES or name in _NO_FUNCTIONS)):
            function = mark(function)
        return Part(self.over([*schema, function, *arguments]))

    def refuse_arrow(self, start: int, end: int) -> None:
        """Say what DuckDB 2 wants instead of `x -> x + 1`."""
        depth = 0
        for place in range(start, end):
            kind = self.given[place].token_type
            depth += (kind in CLOSING) - (kind in CLOSING.values())
            if kind != TokenType.ARROW or depth != 1:
                continue
            first = place - 1
            if self.given[first].token_type == TokenType.R_PAREN:
                while self.given[first].token_type != TokenType.L_PAREN:
                    first -= 1
            if self.given[first - 1].token_type == TokenType.COMMA:
                named = "".join(token.text for token in self.given[first:place])
                variables = named.strip("()").replace(",", ", ")
                raise ParseError(
                    "an arrow no longer makes a function",
                    hint=f"write lambda {variables}: …",
                    text=self.text,
                    offset=self.given[place].start,
                )

    def over(self, tokens: list[Token]) -> list[Token]:
        """Write what may follow a call: WITHIN GROUP, FILTER, IGNORE NULLS, OVER."""
        while True:
            word = self.word()
            if word == "WITHIN" and self.words("WITHIN", "GROUP"):
                tokens += self.accept("WITHIN", "GROUP")
                tokens += self.group() if self.opens() else []
            elif word == "FILTER" and self.kind(1) == TokenType.L_PAREN:
                tokens += [self.advance(), *self.group()]
            elif word in ("IGNORE", "RESPECT") and self.words(word, "NULLS"):
                tokens += self.raw(self.place + 2)
            elif word == "OVER" and self.kind(1) is not None:
                tokens.append(self.advance())
                tokens += self.group() if self.opens() else [self.advance()]
            else:
                return tokens

    def cast(self, function: Token) -> Part:
        """`CAST(x AS type)`, whose type is left as it is."""
        end = self.closing()
        written = [function, self.advance()]
        while self.place < end and not self.words("AS"):
            written += self.expression().tokens if self.begins_operand() else [self.advance()]
        return Part([*written, *self.raw(end + 1)])

    def form(self, function: Token) -> Part:
        """Write `extract(a FROM b)` and its kin as the calls that they are."""
        end = self.closing()
        opening = self.advance()
        del opening
        arguments: list[list[Token]] = [[]]
        said: list[str] = []
        while self.place < end:
            token = self.given[self.place]
            word = token.text.lower()
            if token.token_type == TokenType.COMMA or word in _FORM_WORDS:
                said.append("," if token.token_type == TokenType.COMMA else word)
                self.advance()
                arguments.append([])
            elif word in ("both", "leading", "trailing") and not said:
                said.append(word)
                self.advance()
            elif self.begins_operand():
                least = OTHER if function.text.lower() == "position" else ARROW
                arguments[-1] += self.expression(least).tokens
            else:
                arguments[-1].append(self.advance())
        self.close(end)
        name = function.text.lower()
        if any(word != "," for word in said):
            name, arguments = _said_otherwise(name, arguments, said, function)
        # a bare POSITION( would begin the special form again
        quoted = name == "position"
        return Part(call(name, function, [a for a in arguments if a], quoted=quoted))

    def postfixed(self, part: Part) -> Part:
        """Write `::`, `[…]`, `.name`, `.method(…)` and `!` behind an operand."""
        while True:
            kind = self.kind()
            if kind == TokenType.DCOLON:
                part = Part([*part.tokens, self.advance(), *self.type_()])
            elif kind == TokenType.L_BRACKET:
                part = Part([*part.tokens, *self.group()])
            elif kind == TokenType.DOT and self.kind(1) is not None:
                dot, name = self.advance(), self.advance()
                if self.opens():
                    arguments = self.group()[1:-1]
                    rest = [part.tokens, *([arguments] if arguments else [])]
                    quoted = name.token_type == TokenType.IDENTIFIER
                    part = Part(self.over(call(name.text, name, rest, quoted=quoted)))
                else:
                    part = Part([*part.tokens, dot, name])
            elif self.symbol() == "!" and not part.is_star:
                token = self.advance()
                part = Part(call("factorial", token, [part.tokens]))
            else:
                return part

    def type_(self) -> list[Token]:
        """Read the name of a type as it is."""
        if self.token() is None:
            return []
        tokens = [self.advance()]
        while self.kind() == TokenType.DOT and self.kind(1) is not None:
            tokens += [self.advance(), self.advance()]
        if tokens[-1].text.upper() in ("CHARACTER", "CHAR") and self.words("VARYING"):
            tokens.append(self.advance())
        if self.opens():
            tokens += self.raw(self.closing() + 1)
        for words in (("WITH", "TIME", "ZONE"), ("WITHOUT", "TIME", "ZONE")):
            tokens += self.accept(*words)
        while self.kind() == TokenType.L_BRACKET:
            tokens += self.raw(self.closing() + 1)
        return tokens


_FORMS = frozenset({"extract", "overlay", "position", "substring", "trim"})
_FORM_WORDS = frozenset({"from", "for", "in", "placing"})


def _said_otherwise(
    name: str, arguments: list[list[Token]], said: list[str], like: Token
) -> tuple[str, list[list[Token]]]:
    """Return function and arguments of a special form."""
    if name == "extract":
        part = arguments[0][0]
        arguments[0] = [made(TokenType.STRING, part.text, part)]
        return "date_part", arguments
    if name == "position":
        return name, arguments[::-1]
    if name == "substring" and said[0] == "for":
        return name, [arguments[0], [made(TokenType.NUMBER, "1", like)], arguments[1]]
    if name == "trim":
        side = said[0] if said[0] in ("both", "leading", "trailing") else "both"
        name = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}[side]
        return name, arguments[::-1] if "from" in said else arguments
    return name, arguments
