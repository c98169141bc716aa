"""What stands for a value in the text, and what shape the text itself has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from msgspec import Struct

from shardc.backend.python.expressions import Expr
from shardc.graph import Node


class Term(Struct, frozen=True):
    """The text of a value of a node.

    `shape` is the text's own shape; NumPy's broadcasting expands it to the value's. A `weak` term is a
    Python scalar, which takes the dtype of what it meets. `free` text may be repeated at each use.
    `literal` is the number alone, if it is one.
    `comment` goes above the line of a term that must have its own line.
    """

    expr: Expr
    shape: tuple[int, ...]
    weak: bool = False
    free: bool = False
    literal: str | None = None
    own_line: bool = False
    comment: str | None = None


def common_shape(shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """What NumPy broadcasts shapes that fit to, for sizes that no array could have as well."""
    columns = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return tuple(next((n for n in column if n != 1), 1) for column in columns)[::-1]


class Several(Struct, frozen=True):
    """The text of a node with several results, a tuple; always has its own line, under its `comment`."""

    expr: Expr
    comment: str | None = None


def short(node: Node) -> str:
    """A node's name without its dialect."""
    return node.name.partition(".")[2]
