"""From tokens to tokens: newlines and indentation as in Python.

Newlines inside brackets are dropped, a missing last newline is added, and a change of indentation becomes
_INDENT and _DEDENT. Also the place where a Python keyword that is used as a name is caught.
"""

from __future__ import annotations

from collections.abc import Iterator
from keyword import iskeyword

from lark import Token
from lark.lark import PostLex

from shardc.frontend.text.syntax import Pos, SyntaxProblem

MAX_BRACKETS = 100
"""How deep brackets may be nested."""

MAX_OPERATORS = 20_000
"""How many operators between operands a statement may have: refused as it is read, not when it is built."""

OPERATORS = frozenset(
    "PLUS MINUS STAR SLASH FLOOR_DIVIDE PERCENT AT BAR CARET AMPERSAND SHIFT POWER COMPARE IF".split()
)
"""What may stand between operands."""

_OPENING = {"LPAR": "(", "LSQB": "[", "LBRACE": "{"}
_CLOSING = {"RPAR": "(", "RSQB": "[", "RBRACE": "{"}
_BRACKETS = frozenset((*_OPENING, *_CLOSING))
_OPERANDS = frozenset(("NAME", "INT", "FLOAT", "IMAGINARY", "STRING", "LONG_STRING", "DOTS", *_CLOSING))
"""What operands end with; a minus after anything else is a sign."""

ANOTHER_NAME = "choose another name: the compiled program is Python"
"""What to do about a name that is a keyword."""

INSTEAD = {
    "and": "& is elementwise and, and binds first: (a > b) & (c > d)",
    "or": "| is elementwise or, and binds first: (a > b) | (c > d)",
    "not": "~ is elementwise not",
    "if": "a if known else b is decided while compiling; where(condition, x, y) chooses elementwise",
    "else": "where(condition, x, y) chooses elementwise",
    "while": "a loop is a statement: while change > EPS carrying x, change:",
    "is": "== compares",
    "pass": "a block has at least one statement; a function ends in return",
    "try": "nothing fails while a program runs; assert is checked while it is compiled",
    "raise": 'assert COND, "message" is checked while a program is compiled',
    "break": "a loop that ends early says so at its head: while COND carrying x:",
    "continue": "where(condition, x, y) keeps what a turn does not change",
    "with": "what a block would hold open does not exist here",
    "yield": "a loop stacks what its turns make: for x in xs collecting y:",
    "del": "a value that is not used again takes no memory",
    "global": "a function returns what it changes",
    "nonlocal": "a function returns what it changes",
}
"""What to write for a word of Python that the language lacks."""


class Indentation(PostLex):
    """The filter between lark's lexer and its parser. Raises SyntaxProblem."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Add _INDENT and _DEDENT; see the module."""
        indents = [0]
        brackets: list[Token] = []
        last: Token | None = None
        ended, operators = True, 0
        for token in stream:
            if token.type == "_NL":
                if not brackets:
                    ended, operators = True, 0
                    yield token
                    yield from _indentation(token, indents)
                continue
            if last is None and (token.column or 1) > 1 and token.line == 1:
                raise SyntaxProblem("this line is indented, and nothing above it begins a block", _pos(token))
            if token.type == "NAME":
                _check_name(token)
            elif token.type in _BRACKETS:
                _check_brackets(token, brackets)
            elif token.type in OPERATORS:
                operators += last is not None and last.type in _OPERANDS
            if operators > MAX_OPERATORS:
                hint = "give parts of it names; a loop over stacked terms stays a loop"
                raise SyntaxProblem(f"a statement has at most {MAX_OPERATORS} operators", _pos(token), hint)
            last, ended = token, False
            yield token
        if brackets:
            opened = brackets[-1]
            raise SyntaxProblem(f'the file ends before this "{opened}" is closed', _pos(opened))
        if last is not None:
            end = Token.new_borrow_pos("_NL", "\n", last)
            if not ended:
                yield end
            yield from (Token.new_borrow_pos("_DEDENT", "", end) for _ in indents[1:])


def _indentation(token: Token, indents: list[int]) -> Iterator[Token]:
    """The _INDENT or _DEDENTs that a newline stands for; `indents` is the stack of open blocks."""
    tail = token.rsplit("\n", 1)[1]
    if tail.startswith("#") or tail.lstrip(" ").startswith("#"):
        return  # a comment at the very end of the file
    indent = len(tail)
    if indent > indents[-1]:
        indents.append(indent)
        yield Token.new_borrow_pos("_INDENT", tail, token)
        return
    while indent < indents[-1]:
        indents.pop()
        yield Token.new_borrow_pos("_DEDENT", tail, token)
    if indent != indents[-1]:
        raise SyntaxProblem(
            "this line is indented less than the block above it and more than the one around that",
            Pos(token.end_line or 1, indent + 1),
        )


def _check_name(token: Token) -> None:
    if iskeyword(token) and token not in ("True", "False", "None"):
        raise keyword_problem(token, _pos(token), INSTEAD.get(token, ANOTHER_NAME))


def keyword_problem(word: str, pos: Pos, hint: str = ANOTHER_NAME) -> SyntaxProblem:
    """What is wrong with a keyword of Python where a name belongs."""
    return SyntaxProblem(f"{word} is a keyword of Python and cannot be a name here", pos, hint)


def _check_brackets(token: Token, brackets: list[Token]) -> None:
    if token.type in _OPENING:
        if len(brackets) >= MAX_BRACKETS:
            raise SyntaxProblem(
                f"brackets are nested more than {MAX_BRACKETS} deep",
                _pos(token),
                "give a part of the expression a name",
            )
        brackets.append(token)
    elif token.type in _CLOSING and brackets and brackets[-1] == _CLOSING[token.type]:
        brackets.pop()


def _pos(token: Token) -> Pos:
    return Pos(token.line or 1, token.column or 1)
