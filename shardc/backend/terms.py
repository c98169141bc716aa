"""What stands for a value in the text, and what shape the text itself has."""

from __future__ import annotations

from dataclasses import dataclass

from shardc.backend.expressions import Expr


@dataclass(frozen=True, slots=True)
class Term:
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


@dataclass(frozen=True, slots=True)
class Several:
    """The text of a node with several results, a tuple; always has its own line."""

    expr: Expr
