"""A program with all that is written: every token in a tree, and the comments beside it."""

from __future__ import annotations

import marshal
import pickle
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any, TypeAlias

from lark import Lark, Token, Tree
from msgspec import Struct

from shardc import cache
from shardc.frontend.text.indentation import Indentation

Written: TypeAlias = "Tree[Token]"

LAYOUT = ("_NL", "_INDENT", "_DEDENT")
"""Tokens that are newlines and indentation."""

_COMMENT = re.compile(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|"[^"\n]*"|\'[^\'\n]*\'|(#[^\n]*)')
"""A text in quotes, or in a group a comment."""


class Comment(Struct, frozen=True):
    """A comment on a line of its own outside of brackets, at this line and column from 1."""

    line: int
    col: int
    text: str


class Beside(Struct):
    """The comments that go with a token: on lines of their own before it, and behind it."""

    before: list[str] = []
    behind: list[str] = []


class Source(Struct, frozen=True):
    """The tree of a text, the comments between its lines, and those beside tokens by where these begin."""

    tree: Written
    comments: tuple[Comment, ...]
    beside: dict[int, Beside]


def concrete(text: str) -> Source:
    """The source of a text that parses."""
    tree = _parser().parse(text)  # pyright: ignore[reportUnknownMemberType]
    tokens = [token for token in tokens_of(tree) if token.type not in LAYOUT]
    between: list[Comment] = []
    beside: dict[int, Beside] = {}
    before, depth = 0, 0
    for match in _COMMENT.finditer(text):
        if match[1] is None:
            continue
        while before < len(tokens) and start_of(tokens[before]) < match.start():
            depth += _OPENS.get(str(tokens[before])[:1], 0) if len(tokens[before]) == 1 else 0
            before += 1
        line = text.count("\n", 0, match.start()) + 1
        col = match.start() - text.rfind("\n", 0, match.start())
        comment = _spaced(match[1])
        last = tokens[before - 1] if before else None
        if last is not None and end_line(last) == line:
            beside.setdefault(start_of(last), Beside()).behind.append(comment)
        elif depth:
            beside.setdefault(start_of(tokens[before]), Beside()).before.append(comment)
        else:
            between.append(Comment(line, col, comment))
    return Source(tree, tuple(between), beside)


_OPENS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def _spaced(comment: str) -> str:
    """A comment with a space after its #, unless it is of another kind, such as #! or #:."""
    comment = comment.rstrip()
    return comment if comment[1:2] in ("", " ", "#", "!", ":", "\t") else f"# {comment[1:]}"


def tokens_of(tree: Written | Token) -> Iterator[Token]:
    """The tokens of a tree in their order."""
    todo: list[Written | Token] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Token):
            yield node
        else:
            todo += reversed(node.children)


def first_token(node: Written | Token) -> Token:
    """The first token of a part."""
    return next(tokens_of(node))


def start_of(token: Token) -> int:
    """Where a token begins in the text, from 0."""
    return token.start_pos or 0


def end_line(token: Token) -> int:
    """The line on which a token ends."""
    return token.end_line or 0


@lru_cache(maxsize=1)
def _parser() -> Lark:
    """A parser of the same grammar that keeps every token; its tables are those in the cache folder."""
    kept = cache.get("tables of the formatter")
    if kept is not None:
        return Lark._load_from_dict(**marshal.loads(kept), postlex=Indentation())  # pyright: ignore
    options: dict[str, Any] = {"keep_all_tokens": True, "maybe_placeholders": False}
    grammar = files("shardc.grammar").joinpath("shard.lark").read_text(encoding="utf-8")
    parser = Lark(grammar, parser="lalr", postlex=Indentation(), **options)
    tables = BytesIO()
    parser.save(tables, exclude_options=("postlex",))  # pyright: ignore
    cache.put(marshal.dumps(pickle.loads(tables.getvalue())), "tables of the formatter")
    return parser
