"""The lines of a program: their indentation, the blank lines between them, and comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lark import Token
from msgspec import Struct

from shardc.formatter.concrete import LAYOUT, Comment, Source, Written, end_line, tokens_of
from shardc.formatter.document import WIDTH, Behind, Doc, join, lines
from shardc.formatter.phrases import Phrases


class Row(Struct, frozen=True):
    """A statement's line, the head of a block, or a comment, on these lines of the source.

    `level` is its indentation, `col` what it is in the source, `opens` whether a block follows; `major`:
    a function or a record begins; `joined`: what is above belongs to it, as a decorator does.
    """

    level: int
    doc: Doc
    first: int
    last: int
    col: int
    opens: bool = False
    major: bool = False
    joined: bool = False
    comment: bool = False


def written(source: Source, ending: str) -> str:
    """The text of a program; `ending` ends its lines."""
    rows = _with_comments(list(_Rows(source).program()), source.comments)
    made: list[str] = []
    for before, (i, row) in zip([None, *rows], enumerate(rows), strict=False):
        made += [""] * _blank(before, row, rows, i)
        made += lines(row.doc, row.level, WIDTH)
    return "".join(line + ending for line in made)


def _blank(before: Row | None, row: Row, rows: Sequence[Row], i: int) -> int:
    """How many blank lines stand between two rows."""
    if before is None:
        return 0
    gap = row.first - before.last - 1
    if before.opens or _goes_on(rows, i):
        return 0
    if row.level:
        return max(min(gap, 1), int(_begins_major(rows, i) or _ends_major(rows, i)))
    ends = before.level > 0 or before.major
    least = int(ends or (_begins_major(rows, i) and not (before.comment and gap == 0)))
    return max(least, min(gap, 2))


def _goes_on(rows: Sequence[Row], i: int) -> bool:
    """Whether a row stands between a decorator and its function."""
    while rows[i].comment and i + 1 < len(rows):
        i += 1
    return rows[i].joined


def _begins_major(rows: Sequence[Row], i: int) -> bool:
    """Whether a row begins a function or a record, or is a comment directly above one that does."""
    while rows[i].comment and i + 1 < len(rows) and rows[i + 1].first == rows[i].last + 1:
        i += 1
    return rows[i].major


def _ends_major(rows: Sequence[Row], i: int) -> bool:
    """Whether the row follows a function inside another one."""
    above = next((one for one in reversed(rows[:i]) if one.level <= rows[i].level and not one.comment), None)
    return rows[i - 1].level > rows[i].level and above is not None and (above.major or above.joined)


def _with_comments(rows: Sequence[Row], comments: Sequence[Comment]) -> list[Row]:
    """The rows and the comments between them, each at the level where it belongs."""
    made: list[Row] = []
    columns: dict[int, int] = {0: 1}
    left = list(comments)
    for row in (*rows, None):
        last = made[-1] if made else None
        deepest = (last.level + last.opens) if last else 0
        level = row.level if row else 0
        while left and (row is None or left[0].line < row.first):
            comment = left.pop(0)
            if level < deepest:
                fitting = [one for one in range(level, deepest + 1) if columns.get(one, 1) <= comment.col]
                deepest = max(fitting, default=level)
            place = max(level, deepest)
            place = level if row and last and last.opens and not made[-1].comment else place
            made.append(Row(place, comment.text, comment.line, comment.line, comment.col, comment=True))
        if row:
            columns[row.level] = row.col
            made.append(row)
    return made


class _Rows:
    """Walks through the statements of a program."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.phrases = Phrases(source.beside)

    def program(self) -> Iterator[Row]:
        for item in self.source.tree.children:
            if not isinstance(item, Token):
                yield from self._statement(item, 0)

    def _statement(self, node: Written, level: int) -> Iterator[Row]:
        if node.data in ("statement", "item"):
            inner = node.children[0]
            assert not isinstance(inner, Token)
            yield from self._statement(inner, level)
        elif node.data == "function":
            yield from self._function(node, level)
        elif node.data == "record_type":
            yield from self._record(node)
        elif node.data == "branch":
            yield from self._branch(node, level)
        elif node.data in ("loop", "while_loop"):
            *head, body = node.children
            assert not isinstance(body, Token)
            yield from self._block(str(node.data), head, body, level)
        else:
            yield self._row(str(node.data), [node], level)

    def _function(self, node: Written, level: int) -> Iterator[Row]:
        *head, body = node.children
        assert not isinstance(body, Token)
        above = head[0]
        if not isinstance(above, Token):
            head = head[1:]
            for number, decorator in enumerate(above.children):
                yield self._row("decorator", [decorator], level, major=not number, joined=number > 0)
            yield from self._block("function", head, body, level, joined=True)
        else:
            yield from self._block("function", head, body, level, major=True)

    def _record(self, node: Written) -> Iterator[Row]:
        tokens = [child for child in node.children if not (isinstance(child, Token) and child.type in LAYOUT)]
        at = tokens.index(":")  # pyright: ignore[reportArgumentType]
        yield self._row("record_type", tokens[: at + 1], 0, opens=True, major=True)
        for field in tokens[at + 1 :]:
            yield self._row("field", [field], 1)

    def _branch(self, node: Written, level: int) -> Iterator[Row]:
        word: list[Written | Token] = []
        for child in node.children:
            if isinstance(child, Token) or child.data not in ("condition", "block"):
                word.append(child)
            elif child.data == "block":
                yield from self._block("branch", word, child, level)
            else:
                *condition, body = child.children
                assert not isinstance(body, Token)
                yield from self._block("branch", [*word, *condition], body, level)
                word = []

    def _block(
        self,
        rule: str,
        head: list[Written | Token],
        body: Written,
        level: int,
        major: bool = False,
        joined: bool = False,
    ) -> Iterator[Row]:
        """The head of a block and the statements in it; one behind the colon stays there if it fits."""
        statements = [child for child in body.children if not isinstance(child, Token)]
        if not any(isinstance(child, Token) and child.type == "_INDENT" for child in body.children):
            row = self._row(rule, [*head, *statements], level, major=major, joined=joined)
            made = lines(row.doc, level, WIDTH)
            if len(made) == 1 and len(made[0]) <= WIDTH:
                yield row
                return
        yield self._row(rule, head, level, opens=True, major=major, joined=joined)
        for statement in statements:
            yield from self._statement(statement, level + 1)

    def _row(
        self,
        rule: str,
        parts: list[Written | Token],
        level: int,
        opens: bool = False,
        major: bool = False,
        joined: bool = False,
    ) -> Row:
        """A row of its own. The comment behind its last token does not break it."""
        every = [token for part in parts for token in tokens_of(part) if token.type not in LAYOUT]
        first, last = every[0], every[-1]
        with self.phrases.around(first, last) as (_, behind):
            doc = self.phrases.phrase(parts[0]) if len(parts) == 1 else self.phrases.parts(rule, parts, False)
        doc = join(doc, *map(Behind, behind))
        return Row(level, doc, first.line or 0, end_line(last), first.column or 1, opens, major, joined)
