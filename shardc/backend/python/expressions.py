"""Python expressions with their precedence, so that parentheses stand where Python or a reader needs them.

binary("+", name("x"), call("jnp.exp", name("y")))  ->  x + jnp.exp(y)
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import force_setattr

from shardc.backend.python.names import quoted

ATOM, POSTFIX, POWER, UNARY, PRODUCT, SUM, SHIFT, AND, XOR, OR, COMPARE, TERNARY = range(12, 0, -1)

_LEVELS = {
    **dict.fromkeys(("*", "/", "//", "%", "@"), PRODUCT),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("<<", ">>"), SHIFT),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARE),
    "&": AND,
    "^": XOR,
    "|": OR,
    "**": POWER,
}
MANY, _SHORT = 9, 20
"""So many items of at most so many characters share lines."""
_ASSOCIATIVE = {"&", "|", "^"}


class Expr(Struct, frozen=True):
    """One expression: `head` + `items` joined by commas + `tail`. Only calls and displays have items.

    `level` says how tightly the outermost operator binds, `reads` which variables occur, `weight` how
    many operations it nests, `op` the outermost binary operator. `chain` is what stands between operators
    that bind alike, each with the one before it. `thinner` is the same without dimensions of size 1, and
    which these are.
    """

    head: str
    items: tuple[Expr, ...] = ()
    tail: str = ""
    level: int = ATOM
    reads: frozenset[str] = frozenset()
    weight: int = 0
    op: str | None = None
    chain: tuple[tuple[str, Expr], ...] = ()
    thinner: tuple[Expr, tuple[int, ...]] | None = None
    text: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "text", self.head + ", ".join(i.text for i in self.items) + self.tail)

    def __str__(self) -> str:
        return self.text

    @property
    def is_variable(self) -> bool:
        """Whether it is the name of one and no more."""
        return self.text.isidentifier() and self.text in self.reads

    @property
    def is_enclosed(self) -> bool:
        """Whether it is a chain in parentheses."""
        return self.op is None and bool(self.chain)

    @property
    def is_tuple(self) -> bool:
        """Whether it is a display of several items in parentheses."""
        return (self.head, self.tail) == ("(", ")") and len(self.items) > 1

    def at(self, level: int) -> str:
        """The text, in parentheses if it binds less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"

    def enclosed_at(self, level: int) -> Expr:
        """The same in parentheses if it binds less tightly than `level`."""
        if self.level >= level:
            return self
        return Expr(f"({self.text})", reads=self.reads, weight=self.weight, chain=self.chain)

    def lines(self, prefix: str, indent: str, width: int) -> list[str]:
        """`prefix` and the expression on one line if it fits, else one item a line, or many short ones, or a
        line for each of its chain."""
        if len(prefix) + len(self.text) <= width or not (self.items or self.chain):
            return [prefix + self.text]
        if self.chain:
            return self._two_sides(prefix, indent, width) or self._chained(prefix, indent, width)
        head, tail = (self.head, self.tail) if self.head else ("(", ")")
        inner = indent + "    "
        together = inner + ", ".join(item.text for item in self.items)
        if len(together) <= width and tail[:1] == ")":
            return [prefix + head, together, indent + tail]
        tail = tail.removeprefix(",")  # every item has one
        if self._shares_lines():
            listed = textwrap.wrap(", ".join(i.text for i in self.items) + ",", width - len(inner))
            return [prefix + head, *(inner + line for line in listed), indent + tail]
        broken = [prefix + head]
        for item in self.items:
            *most, last = item._as_item(inner, width - 1)
            broken += [*most, last + ","]
        return [*broken, indent + tail]

    def _shares_lines(self) -> bool:
        """Whether several of its items are on one line: many short ones, and numbers in a list."""
        numbers = self.head == "[" and not any(item.reads or item.items for item in self.items)
        return (numbers or len(self.items) >= MANY) and all(len(i.text) <= _SHORT for i in self.items)

    def _chained(self, prefix: str, indent: str, width: int) -> list[str]:
        """In parentheses, which it may have already: on a line of its own if it fits, else in one for each
        of the chain."""
        inner = indent + "    "
        bare = self.text[1:-1] if self.is_enclosed else self.text
        together = [inner + bare] if len(inner) + len(bare) <= width else self._links(inner, inner, width)
        return [f"{prefix}(", *together, f"{indent})"]

    def _links(self, prefix: str, indent: str, width: int) -> list[str]:
        """A line for each of the chain, which stands in brackets."""
        (_, first), *others = self.chain
        found = first.lines(prefix, indent, width)
        for op, part in others:
            found += part.lines(f"{indent}{op} ", indent, width)
        return found

    def _two_sides(self, prefix: str, indent: str, width: int) -> list[str]:
        """With one operator, broken inside of the brackets of a side that has a short one beside it, or those
        of both; none if there are none or that is too long still."""
        if self.op is None or len(self.chain) != 2:
            return []
        (_, left), (op, right) = self.chain
        if min(len(left.text), len(right.text)) > _SHORT and not (left.is_enclosed and right.is_enclosed):
            return []
        *above, last = left.lines(prefix, indent, width)
        found = [*above, *right.lines(f"{last} {op} ", indent, width)]
        return found if max(map(len, found)) <= width else []

    def _as_item(self, indent: str, width: int) -> list[str]:
        """In the brackets of a call or display."""
        if self.op is None or len(indent) + len(self.text) <= width:
            return self.lines(indent, indent, width)
        return self._two_sides(indent, indent, width) or self._links(indent, indent, width)


def raw(text: str, level: int = ATOM) -> Expr:
    """Text that reads no variable: a literal, a module's attribute."""
    return Expr(text, level=level)


def name(text: str) -> Expr:
    """A variable, or an item of one: layer.up, pair[0]."""
    return Expr(text, reads=frozenset((re.split(r"[.[]", text, maxsplit=1)[0],)))


def call(function: str | Expr, *args: Expr | str, **keywords: Expr | str | None) -> Expr:
    """function(*args, **keywords); keywords that are None are left out."""
    given = [arg if isinstance(arg, Expr) else raw(arg) for arg in args]
    given += [keyword(key, value) for key, value in keywords.items() if value is not None]
    head = function if isinstance(function, str) else function.at(POSTFIX)
    reads = frozenset[str]() if isinstance(function, str) else function.reads
    return _display(head + "(", given, ")", reads, POSTFIX, 1)


def method(value: Expr, function: str, *args: Expr | str, **keywords: Expr | str | None) -> Expr:
    """value.function(*args). A long line is broken inside the longer of both calls."""
    made = call(attribute(value, function), *args, **keywords)
    after = made.text.removeprefix(value.text)
    if not value.items or value.level < POSTFIX or len(value.text) < len(after):
        return made
    return Expr(value.head, value.items, value.tail + after, POSTFIX, made.reads, made.weight)


def keyword(key: str, value: Expr | str) -> Expr:
    """key=value, as an item of a call."""
    value = value if isinstance(value, Expr) else raw(value)
    return Expr(f"{key}={value.head}", value.items, value.tail, TERNARY, value.reads, value.weight)


def lambda_of(parameter: str, body: Expr) -> Expr:
    """lambda x: body, as an item of a call; the body is a call."""
    text = f"lambda {parameter}: "
    return Expr(text + body.head, body.items, body.tail, TERNARY, body.reads - {parameter}, body.weight)


def tuple_of(items: Sequence[Expr]) -> Expr:
    """(a, b), (a,) or ()."""
    return _display("(", items, ",)" if len(items) == 1 else ")", frozenset(), ATOM, 0)


def several(items: Sequence[Expr]) -> Expr:
    """a, b: the right side of an assignment."""
    if not items:
        return raw("()")
    return items[0] if len(items) == 1 else _display("", items, "", frozenset(), TERNARY, 0)


def list_of(items: Sequence[Expr]) -> Expr:
    """[a, b]."""
    return _display("[", items, "]", frozenset(), ATOM, 0)


def dict_of(keys: Sequence[str], values: Sequence[Expr], *, of: str = "") -> Expr:
    """{"a": x, "b": y}; with what is in the dict `of`."""
    first = [Expr(f"**{of}", reads=name(of).reads)] if of else []
    items = [
        Expr(f"{quoted(key)}: {value.head}", value.items, value.tail, TERNARY, value.reads, value.weight)
        for key, value in zip(keys, values, strict=True)
    ]
    return _display("{", [*first, *items], "}", frozenset(), ATOM, 0)


def _display(
    head: str, items: Sequence[Expr], tail: str, reads: frozenset[str], level: int, weight: int
) -> Expr:
    reads = reads.union(*(item.reads for item in items))
    return Expr(head, tuple(items), tail, level, reads, weight + sum(item.weight for item in items))


def binary(op: str, left: Expr, right: Expr) -> Expr:
    """left op right."""
    level = _LEVELS[op]
    one, other = _side(op, left, level), _side(op, right, level, right=True)
    chain = one.chain if one is left and left.op is not None and left.level == level else (("", one),)
    return Expr(
        f"{one} {op} {other}",
        level=level,
        reads=left.reads | right.reads,
        weight=left.weight + right.weight + 1,
        op=op,
        chain=(*chain, (op, other)),
    )


def _side(op: str, side: Expr, level: int, right: bool = False) -> Expr:
    """A side of a binary operator. `a * b @ c`, `a & b | c`, `a + b >> c` and `a < b == c` are not left to
    the reader.
    """
    if level == COMPARE or op == "**":
        return side.enclosed_at(level + 1)
    mixed = side.op is not None and side.op != op and (side.level == level and "@" in (op, side.op))
    bitwise = side.op is not None and side.op != op and level <= SHIFT
    if mixed or bitwise or (right and side.level == level and op not in _ASSOCIATIVE):
        return side.enclosed_at(ATOM)
    return side.enclosed_at(level)


def unary(op: str, value: Expr) -> Expr:
    """-value, ~value."""
    return Expr(f"{op}{value.at(UNARY)}", level=UNARY, reads=value.reads, weight=value.weight + 1)


def applied(function: Expr, tail: str, *reads: Expr) -> Expr:
    """What a call gives with a `tail` that reads more; a long line is broken inside of the call."""
    after = frozenset[str]().union(*(expr.reads for expr in reads))
    weight = function.weight + sum(expr.weight for expr in reads) + 1
    return Expr(function.head, function.items, function.tail + tail, POSTFIX, function.reads | after, weight)


def attribute(value: Expr, field_name: str) -> Expr:
    """value.field_name."""
    text = f"{value.at(POSTFIX)}.{field_name}"
    return Expr(text, level=POSTFIX, reads=value.reads, weight=value.weight)


def index(value: Expr, items: Sequence[Expr | str]) -> Expr:
    """value[items]; x[:, None][:, 0] is x."""
    given = [item if isinstance(item, Expr) else raw(item) for item in items]
    texts = [item.text for item in given]
    if value.thinner is not None and texts == _dropping(value.thinner[1]):
        return value.thinner[0]
    reads = value.reads.union(*(item.reads for item in given))
    new = tuple(dim for dim, item in enumerate(texts) if item == "None")
    thinner = (value, new) if new and {*texts} <= {":", "None"} else None
    text = f"{value.at(POSTFIX)}[{', '.join(texts)}]"
    return Expr(text, level=POSTFIX, reads=reads, weight=value.weight + 1, thinner=thinner)


def _dropping(dims: tuple[int, ...]) -> list[str]:
    """What stands in brackets that take these dimensions away."""
    return ["0" if dim in dims else ":" for dim in range(max(dims) + 1)]


def integers(values: Sequence[int]) -> Expr:
    """A tuple of integers; many equal ones are (0,) * n."""
    if len(values) > 4 and len(set(values)) == 1:
        return raw(f"({values[0]},) * {len(values)}", PRODUCT)
    return tuple_of([raw(str(int(v))) for v in values])
