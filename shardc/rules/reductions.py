"""Rules of operations along whole dimensions: reductions and sorting."""

from __future__ import annotations

from collections.abc import Callable

from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, integer, ints, partial_kind
from shardc.rules.rule import FactorRule, Kind


def reduce(op: Op) -> FactorRule:
    """Inputs, then one scalar init each. An init adds to a sum once, wherever the reduced dimensions lie."""
    count = len(op.results)
    inputs, every = range(count), range(2 * count)
    kept = 0
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        operands = dict.fromkeys(inputs, dim)
        if dim in ints(op, "dimensions"):
            builder.factor(size, operands, kind=Kind.REDUCTION)
        else:
            builder.factor(size, operands, dict.fromkeys(inputs, kept))
            kept += 1
    kind = partial_kind(op.combiner, op.results[0].dtype)
    return builder.build(
        reduction=kind,
        linear=[every] if kind == "sum" else [],
        max_only=[every] if kind == "max" else [],
        min_only=[every] if kind == "min" else [],
        once=every[count:] if kind == "sum" else (),
    )


def sort(op: Op) -> FactorRule:
    """The sorted dimension must be whole; it is blocked if no other dimension could be split."""
    sorted_dim = integer(op, "dimension", -1) % op.operands[0].rank
    shape = op.operands[0].shape
    alone = all(size == 1 for dim, size in enumerate(shape) if dim != sorted_dim)
    builder = RuleBuilder(op)
    for dim, size in enumerate(shape):
        if dim == sorted_dim:
            builder.along(dim, size, Kind.REPLICATE, blocked=alone)
        else:
            builder.along(dim, size)
    return builder.build()


RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "stablehlo.reduce": reduce,
    "stablehlo.sort": sort,
}
