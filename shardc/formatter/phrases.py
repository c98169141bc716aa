"""From the tree of a statement to a text with breaks: where spaces stand, and where a line may end."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from lark import Token

from shardc.formatter.concrete import LAYOUT, Beside, Written, end_line, first_token, start_of, tokens_of
from shardc.formatter.document import (
    FRESH,
    HARD,
    LINE,
    SOFT,
    WIDTH,
    Behind,
    Doc,
    IfBroken,
    Nest,
    group,
    join,
    one_line,
    separated,
)

_CLOSING = {"(": ")", "[": "]", "{": "}"}

_TIGHT = frozenset(
    """
    attribute axis_ref axis_size call decorator dim dotted index keyword notated_call open_split replicated
    rest split unary
    """.split()
)
"""Rules whose parts stand side by side."""

_NAMED_BRACKETS = frozenset(
    "augmented_store function mesh partial show store tensor_type notated_call replicated".split()
)
"""Rules in which a bracket follows a name without a space."""

_LISTS = frozenset("arguments axis_list axis_sizes dims parameters sequence several subscripts".split())
"""Rules that are items between brackets, which another rule writes."""

_TAKE_A_COMMA = _LISTS | frozenset(
    "bracketed device_order import_names loop names record several_results tuple_type while_loop".split()
)
"""Rules whose brackets hold a list: with a comma behind one item it is the same list. Everywhere else a comma
would make a tuple, or no program."""

_LEVELS = {
    **dict.fromkeys(("PLUS", "MINUS"), "sum"),
    **dict.fromkeys(("STAR", "SLASH", "FLOOR_DIVIDE", "PERCENT", "AT"), "product"),
}
"""Operators that bind alike -> what they are."""

_SIMPLE = ("name", "number", "string")


class Phrases:
    """Writes the parts of one text; `beside` has its comments."""

    def __init__(self, beside: Mapping[int, Beside]) -> None:
        self.beside = beside

    def phrase(self, node: Written | Token, inside: bool = False) -> Doc:
        """A part of a statement; `inside` of brackets lines may end."""
        if isinstance(node, Token):
            return self.token(node)
        children = [child for child in node.children if not _is_layout(child)]
        match node.data:
            case "binary":
                return self._chain(node, inside)
            case "choice" | "comprehension" if inside:
                return self._with_breaks(node, children)
            case "slicing":
                return self._slicing(children)
            case _:
                return self.parts(str(node.data), children, inside)

    def token(self, token: Token) -> Doc:
        """A token with the comments beside it."""
        beside = self.beside.get(start_of(token))
        if beside is None:
            return str(token)
        before = [part for comment in beside.before for part in (FRESH, comment, HARD)]
        return join(*before, str(token), *map(Behind, beside.behind))

    def parts(self, rule: str, children: Sequence[Written | Token], inside: bool) -> Doc:
        """The parts of a rule, with spaces where they belong, and its brackets as groups."""
        made: list[Doc] = []
        last: Written | Token | None = None
        at = 0
        while at < len(children):
            child = children[at]
            if last is not None and _has_space(rule, last, child, children):
                made.append(" ")
            closing = _CLOSING.get(child) if isinstance(child, Token) else None
            if closing is None and rule == "function":
                made.append(_in_one_piece(self.phrase(child, inside)))
            elif closing is None:
                made.append(self.phrase(child, inside))
            else:
                end = next(i for i in range(at, len(children)) if children[i] == closing)
                made.append(self._brackets(rule, children[at : end + 1]))
                at = end
            last = children[at]
            at += 1
        return join(*made)

    @contextmanager
    def around(self, first: Token, last: Token) -> Generator[tuple[list[str], list[str]]]:
        """The comments before and behind a part, which inside is written without them."""
        before, behind = (self.beside.get(start_of(token), Beside()) for token in (first, last))
        said = before.before, behind.behind
        before.before, behind.behind = [], []
        try:
            yield said
        finally:
            before.before, behind.behind = said

    # ---- brackets

    def _item(self, rule: str, parts: Sequence[Written | Token]) -> tuple[Doc, list[str]]:
        """What stands between two commas, and the comments behind it."""
        *_, last = tokens_of(parts[-1])
        with self.around(first_token(parts[0]), last) as (before, behind):
            doc = self.parts(rule, parts, True) if len(parts) > 1 else self.phrase(parts[0], True)
        return join(*(part for comment in before for part in (FRESH, comment, HARD)), doc), behind

    def _brackets(self, rule: str, parts: Sequence[Written | Token]) -> Doc:
        opening, *content, closing = parts
        assert isinstance(opening, Token) and isinstance(closing, Token)
        if len(content) == 1 and not isinstance(content[0], Token) and content[0].data in _LISTS:
            rule, content = str(content[0].data), content[0].children
        items, commas = _items(content)
        after = self.beside.get(start_of(closing), Beside())
        ends = [part for comment in after.before for part in (HARD, comment)]
        close = join(str(closing), *map(Behind, after.behind))
        behind = [close.parts[0]]
        said = list(close.parts[1:])
        if not items:
            inner = join(self.token(opening), Nest(join(*ends)), *([HARD] if ends else []), *behind)
            return join(inner, *said)
        docs = [self._item(rule, item) for item in items]
        tuple_of_one = rule in ("sequence", "several") and len(items) == 1
        is_list = rule in _TAKE_A_COMMA and not tuple_of_one
        comma = IfBroken(",") if is_list or len(items) > 1 else None
        rows = _rows(items, commas) if _opens_a_line(opening, items) else None
        if rows is None:
            body = self._row(docs, commas, comma, tuple_of_one)
            inner = group(self.token(opening), Nest(join(SOFT, body, *ends)), SOFT, *behind)
            return join(inner, *said)
        made: list[Doc] = []
        for number, row in enumerate(rows):
            mark = "," if comma and (len(rows) > 1 or len(commas) == len(items)) else comma
            is_last = number == len(rows) - 1
            here = [docs[i] for i in row]
            made.append(self._row(here, commas[row[0] : row[-1] + 1], mark if is_last else ",", tuple_of_one))
        inner = join(self.token(opening), Nest(join(HARD, separated(made, HARD), *ends)), HARD, *behind)
        return join(inner, *said)

    def _row(
        self,
        docs: Sequence[tuple[Doc, list[str]]],
        commas: Sequence[Token],
        last: Doc | None,
        always: bool,
    ) -> Doc:
        """Items with commas: on one line, or each on its own. `last` follows the last one."""
        made: list[Doc] = []
        for i, (doc, behind) in enumerate(docs):
            comma = self.beside.get(start_of(commas[i])) if i < len(commas) else None
            is_last = i == len(docs) - 1
            mark = ("," if always else last or "") if is_last else ","
            said = [*behind, *comma.before, *comma.behind] if comma else behind
            made.append(join(doc, mark, *map(Behind, said)))
        return group(separated(made, LINE))

    # ---- expressions

    def _chain(self, node: Written, inside: bool) -> Doc:
        """a + b - c: the operators of one level in one group, each before its operand."""
        level = _level(node)
        pairs: list[tuple[Token, Written | Token]] = []
        left: Written | Token = node
        while not isinstance(left, Token) and left.data == "binary" and _level(left) == level:
            left, operator, right = left.children
            pairs.append((cast(Token, operator), right))
        docs = [self.phrase(left, inside)]
        for operator, operand in reversed(pairs):
            docs.append(join(self.token(operator), " ", self.phrase(operand, inside)))
        return group(separated(docs, LINE if inside else " "))

    def _with_breaks(self, node: Written, children: Sequence[Written | Token]) -> Doc:
        """`a if b else c` and `[a for b in c]` in brackets: a line may end before if, else and for."""
        if node.data == "comprehension":
            return self.parts("comprehension", children, True)
        words: list[list[Written | Token]] = [[]]
        for child in children:
            words += [[]] if isinstance(child, Token) and child in ("if", "else") else []
            words[-1].append(child)
        return group(separated([self.parts("", word, True) for word in words], LINE))

    def _slicing(self, children: Sequence[Written | Token]) -> Doc:
        """a:b, and a + 1 : b + 1 where a part is more than a name or a number."""
        loose = not all(isinstance(child, Token) or _is_simple(child) for child in children)
        made: list[Doc] = []
        for i, child in enumerate(children):
            if loose and i and isinstance(child, Token) != isinstance(children[i - 1], Token):
                made.append(" ")
            made.append(self.phrase(child, True))
        return join(*made)


def _in_one_piece(results: Doc) -> Doc:
    """What a function returns, on one line if it can be: its parameters are to be broken first."""
    text = one_line(results)
    return results if text is None or len(text) > WIDTH - len(") -> :") else text


def _is_layout(node: Written | Token) -> bool:
    return isinstance(node, Token) and node.type in LAYOUT


def _level(node: Written) -> str:
    operator = cast(Token, node.children[1])
    return _LEVELS.get(operator.type, operator.type)


def _is_simple(node: Written) -> bool:
    if node.data in ("unary", "attribute"):
        return all(isinstance(child, Token) or _is_simple(child) for child in node.children)
    return node.data in _SIMPLE


def _has_space(
    rule: str, last: Written | Token, node: Written | Token, children: Sequence[Written | Token]
) -> bool:
    """Whether a space stands between two parts of a rule."""
    if isinstance(node, Token) and node in (",", ":"):
        return False
    if rule in _TIGHT or (isinstance(last, Token) and last == "*"):
        return False
    if rule == "parameter" and "=" in (last, node):
        return ":" in children
    if isinstance(node, Token) and node in ("(", "["):
        return rule not in _NAMED_BRACKETS
    return not (rule == "show" and "." in (last, node))


def _items(content: Sequence[Written | Token]) -> tuple[list[list[Written | Token]], list[Token]]:
    """What stands between the commas, and the commas."""
    items: list[list[Written | Token]] = [[]]
    commas: list[Token] = []
    for part in content:
        if isinstance(part, Token) and part == ",":
            commas.append(part)
            items.append([])
        else:
            items[-1].append(part)
    return [item for item in items if item], commas


def _opens_a_line(opening: Token, items: Sequence[Sequence[Written | Token]]) -> bool:
    """Whether the author begins a new line after a bracket."""
    return (first_token(items[0][0]).line or 0) > end_line(opening)


def _rows(items: Sequence[Sequence[Written | Token]], commas: Sequence[Token]) -> list[list[int]]:
    """The numbers of the items on each of the author's lines."""
    rows: list[list[int]] = [[0]]
    for i in range(1, len(items)):
        *_, last = tokens_of(items[i - 1][-1])
        if (first_token(items[i][0]).line or 0) > max(end_line(last), end_line(commas[i - 1])):
            rows.append([])
        rows[-1].append(i)
    return rows
