"""Functions of elements that differ in nothing but what they compute.

    kind("stablehlo.sine") == kind("stablehlo.cosine")      # no partial result goes through either
    kind("stablehlo.tanh") == kind("stablehlo.logistic")    # both increase

Those are approximated, which takes equally long, and of one kind are defined for the same dtypes, are sharded
alike and take the same attributes.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache, partial

from shardc.ops.definition import APPROXIMATES, OpDef, Trait
from shardc.ops.registry import find


def kind(name: str) -> Hashable:
    """Equal for functions of one kind; None of all other operations."""
    definition = find(name)
    return None if definition is None else _kind(definition)


@cache
def _kind(definition: OpDef) -> Hashable:
    infer = definition.infer
    if definition.work is not APPROXIMATES or definition.traits != frozenset({Trait.ELEMENTWISE}):
        return None
    if not isinstance(infer, partial) or definition.syntax is None:
        return None
    attrs = tuple(definition.syntax.attrs.items())
    return (infer.func, infer.args, *infer.keywords.items()), definition.rule, attrs
