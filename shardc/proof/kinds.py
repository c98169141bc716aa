"""The kinds of draws that every proof has."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.graph import Graph
from shardc.graph.types import TensorType, is_inexact

KINDS = ("mixed", "positive", "tied")
"""What inputs are like: of both signs; above zero; a few small numbers again and again."""

SHORT = ("mixed", "tied")
"""The draws of a short proof without integers."""


def kinds_of(full: Graph) -> Sequence[str]:
    """Those of a short proof (short.py)."""
    return kinds_with(full.types(full.main.body.args))


def kinds_with(types: Sequence[TensorType]) -> Sequence[str]:
    """The same of a program with arguments of these types."""
    return KINDS if _sampled(types) else SHORT


def sampled(whole: Graph) -> list[str]:
    """The dtypes of arguments that are whole numbers: their values are sampled."""
    return _sampled(whole.types(whole.main.body.args))


def _sampled(types: Sequence[TensorType]) -> list[str]:
    return sorted({type.dtype for type in types if not is_inexact(type.dtype)})
