"""From text to syntax tree, and what to say of a text that is none."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from msgspec.structs import replace

from shardc.diagnostics import Location, ShardcError, register_source
from shardc.frontend.text.characters import instead, told
from shardc.frontend.text.depth import check_depth
from shardc.frontend.text.hints import AFTER_TARGET, ENDS, Wrong, hint_of, near_keyword
from shardc.frontend.text.indentation import OPERATORS, Indentation
from shardc.frontend.text.syntax import Pos, Program, SyntaxProblem
from shardc.frontend.text.tree import TreeBuilder, pos_of
from shardc.frontend.text.tree_expressions import reading
from shardc.frontend.text.wrong_lines import NO_SIZE, problem_of
from shardc.grammar import tables


def parse(text: str, file: str, imported: bool = False) -> Program:
    """The syntax tree of a .shard program. Raises ShardcError, with the place in `file`.

    The places of an imported text name its file.
    """
    text = text.removeprefix("\ufeff")
    register_source(file, text)
    token = reading.set(file if imported else None)
    try:
        _check_length(text)
        _check_tabs(text)
        program = replace(_parse(text), file=file)
        check_depth(program)
        return program
    except UnexpectedInput as error:
        problem = _problem(error, text)
    except SyntaxProblem as error:
        problem = error
    finally:
        reading.reset(token)
    raise ShardcError(problem.message, Location(file, problem.pos.line, problem.pos.col), problem.hint)


def _parse(text: str) -> Program:
    tree: object = _parser().parse(text)  # pyright: ignore[reportUnknownMemberType]
    assert isinstance(tree, Program)
    return tree


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return tables.parser(postlex=Indentation(), transformer=TreeBuilder())


@lru_cache(maxsize=1)
def _keywords() -> dict[str, str]:
    """Token -> the word that it is, of the words that the grammar names."""
    words = {terminal.name: terminal.pattern.value for terminal in _parser().terminals}
    return {name: word for name, word in words.items() if word.isalpha()}


MAX_LINES = 100_000
"""Lines of a program that are neither empty nor comments."""


def _check_length(text: str) -> None:
    count = 0
    for number, line in enumerate(text.split("\n") if text.count("\n") >= MAX_LINES else (), 1):
        count += bool(line.partition("#")[0].strip())
        if count > MAX_LINES:
            hint = "a loop over stacked layers stays a loop"
            raise SyntaxProblem(f"a program has at most {MAX_LINES} lines", Pos(number, 1), hint)


def _check_tabs(text: str) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        col = line.partition("#")[0].find("\t")
        if col >= 0:
            raise SyntaxProblem("this line has a tab", Pos(number, col + 1), "indent and align with spaces")


# ---- errors

_WORDS = {
    "NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "IMAGINARY": "a number",
    "STRING": "a text in quotes",
    "LONG_STRING": "a text in quotes",
    "COMPARE": "a comparison",
    "SHIFT": "<<",
    "OPEN": "?",
    "PRIORITY": "a priority like :p1",
    "_NL": "the end of the line",
    "_INDENT": "an indented block",
    "_DEDENT": "the end of the block",
    "$END": "the end of the file",
    "DOTS": "...",
    "AUGMENT": "an operator like +=",
}

_PUNCTUATION = {
    "COMMA": ",",
    "COLON": ":",
    "EQUAL": "=",
    "DOT": ".",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "LBRACE": "{",
    "RBRACE": "}",
    "TILDE": "~",
    "ARROW": "->",
}

_EXPRESSION = frozenset(
    ("NAME", "INT", "FLOAT", "IMAGINARY", "STRING", "LPAR", "LSQB", "LBRACE", "DOTS", "MINUS")
)


def _problem(error: UnexpectedInput, text: str) -> SyntaxProblem:
    line = text.split("\n")[max(error.line, 1) - 1] if error.line > 0 else ""
    if problem := problem_of(line, error.line):
        return problem
    if isinstance(error, UnexpectedToken):
        token = cast(Token, error.token)  # pyright: ignore[reportUnknownMemberType]
        return _unexpected_token(token, error.accepts or error.expected, text)
    pos = Pos(max(error.line, 1), max(error.column, 1))
    if isinstance(error, UnexpectedCharacters):
        char = cast(str, error.char)  # pyright: ignore[reportUnknownMemberType]
        if char in "\"'":
            long = line[: pos.col].endswith(char * 3)  # of three, the first two are read as an empty text
            what = f"this {char * 3} is not closed" if long else "this quote is not closed on its line"
            return SyntaxProblem(what, Pos(pos.line, pos.col - 2) if long else pos)
        return SyntaxProblem(f"the character {told(char)} has no meaning here", pos, instead(char))
    return SyntaxProblem("the file ends too early", pos)


_DECLARATIONS = "import, mesh, axes, size, const, record, assert and def do; values are computed in functions"

_ELSEWHERE = {
    **dict.fromkeys(("fn", "fun", "func", "function", "async"), "a function begins with def"),
    **dict.fromkeys(("class", "struct", "type"), "a record has tensors by name: record Layer:"),
}
"""Words that begin declarations of other languages -> what begins them here."""

_VALUES = "values are computed in functions; an array from outside is a parameter without annotation"


def _unexpected_token(token: Token, expected: set[str], text: str) -> SyntaxProblem:
    pos = pos_of(token)
    if token.type == "_INDENT":
        pos = Pos(token.end_line or pos.line, len(token) + 1)
        hint = "a statement goes on in the next line inside brackets; a block begins below a colon"
        return SyntaxProblem("this line is indented, and the line above it begins no block", pos, hint)
    opened = _opened(text, pos)
    words = [word for name, word in _keywords().items() if name in expected]
    before = text.split("\n")[pos.line - 1][: pos.col - 1] if pos.line else ""
    wrong = Wrong(token, expected, before, opened[0] if opened else "", words)
    if "DEF" in expected and "RETURN" not in expected and token.type == "NAME":
        hint = near_keyword(wrong) or _declaration(token, text)
        return SyntaxProblem(f'"{token}" begins no declaration', pos, hint)
    if token.type == "MINUS" and {"NAME", "INT"} <= expected:
        return SyntaxProblem(NO_SIZE, pos)
    found = _found(token)
    if opened and str(token).isidentifier() and not before.strip():
        hint = f"line {pos.line} begins with {found}"
        return SyntaxProblem(f'this "{opened[0]}" is not closed', opened[1], hint)
    if token.type in ENDS:
        pos = _end_of_line(token, text)
    hint = hint_of(wrong)
    wanted = _wanted(expected)
    if wanted is None:
        return SyntaxProblem(f"{found} has no place here", pos, hint)
    return SyntaxProblem(f"expected {wanted}, found {found}", pos, hint)


_BRACKETS = re.compile(r"""\"{3}(?:.|\n)*?\"{3}|"[^"\n]*"|'[^'\n]*'|#[^\n]*|[()\[\]{}]""")
"""Texts, comments, and brackets outside of them."""


def _opened(text: str, end: Pos) -> tuple[str, Pos] | None:
    """The innermost bracket that is open at a place, and where it stands."""
    opened: list[tuple[str, Pos]] = []
    lines = text.split("\n")[: end.line]
    before = "\n".join([*lines[:-1], lines[-1][: end.col - 1]])
    for found in _BRACKETS.finditer(before):
        if found[0] in "([{":
            line = before.count("\n", 0, found.start())
            opened.append((found[0], Pos(line + 1, found.start() - before.rfind("\n", 0, found.start()))))
        elif found[0] in ")]}" and opened:
            opened.pop()
    return opened[-1] if opened else None


def _declaration(token: Token, text: str) -> str:
    """What can stand where a word begins no declaration."""
    if token in _ELSEWHERE:
        return _ELSEWHERE[token]
    line = text.split("\n")[(token.line or 1) - 1]
    given = line.partition("=")[2].strip()
    if given and (given[0].isdigit() or given[0] in "-(["):
        return f"const {token} = {given} names what is known while compiling"
    return _VALUES if given else _DECLARATIONS


def _found(token: Token) -> str:
    if token.type in ENDS:
        return _WORDS[token.type]
    return str(token) if token.type == "STRING" else f'"{token}"'


def _wanted(expected: set[str]) -> str | None:
    """The expected tokens as words; None if they are too many to help."""
    words: list[str] = []
    rest = set(expected)
    if rest >= AFTER_TARGET:
        rest -= {"LSQB", "LPAR", "DOT", "AUGMENT"}  # rarer than a name alone: x[i] = v, print(x), x += v
    if rest >= _EXPRESSION:
        words.append("an expression")
        rest -= _EXPRESSION | {"PLUS", "TILDE", "LAMBDA"}
    operators = rest & OPERATORS
    rest -= operators
    if operators - {"STAR"}:  # alone, it begins a dimension: *B
        rest -= {"DOT", "LPAR", "LSQB"}
        if "_NL" in rest:
            rest = {"_NL"}
    if "COLON" in rest and "ARROW" in rest:
        rest.remove("ARROW")  # what a function returns need not be written
    names = {_WORDS.get(name) or f'"{_PUNCTUATION.get(name, name.lower())}"' for name in rest}
    words += sorted(names, key=lambda word: (word.startswith('"'), word))
    if not words or len(words) > 4:
        return None
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _end_of_line(token: Token, text: str) -> Pos:
    """Just after the last character of the line a newline token ends."""
    line = token.line or 1
    lines = text.split("\n")
    return (
        Pos(line, len(lines[line - 1].partition("#")[0].rstrip()) + 1) if line <= len(lines) else Pos(line, 1)
    )
