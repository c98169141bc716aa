"""shardc.join: the end of one tensor, then the beginning of the next: rolls and rotated halves."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Syntax, Trait, of
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, integer
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels

_X = TensorType((8, 4), "f32")


def _types(op: UntypedOp) -> Types:
    """Slices of the operands along a dimension, one after another."""
    starts, limits = op.integers("start_indices"), op.integers("limit_indices")
    first = op.operands[0] if op.operands else None
    if first is None or len(starts) != len(op.operands) or len(limits) != len(op.operands):
        raise op.error("needs operands, and a start and a limit for each")
    dim = op.dimension("dimension", first.rank)
    size = 0
    for start, limit, type in zip(starts, limits, op.operands, strict=True):
        rest = type.with_shape((*type.shape[:dim], first.shape[dim], *type.shape[dim + 1 :]))
        if rest != first or not 0 <= start <= limit <= type.shape[dim]:
            raise op.error(f"has {start}:{limit} of {type}, joined to {first} along dimension {dim}")
        size += limit - start
    return (first.with_shape((*first.shape[:dim], size, *first.shape[dim + 1 :])),)


def _rule(op: Op) -> FactorRule:
    """The joined dimension is permuted."""
    joined = integer(op, "dimension", 0)
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.results[0].shape):
        builder.along(dim, size, Kind.PERMUTATION if dim == joined else Kind.PASS)
    every = range(len(op.operands))
    return builder.build(linear=[every], monotone=[every])


join = define(
    OpDef(
        name="shardc.join",
        doc="The end of one tensor and the beginning of the next, joined along a dimension.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.join, "dimension", "start_indices", "limit_indices"),
        traits=frozenset((Trait.MOVES,)),
        syntax=Syntax(
            ("*inputs",),
            attrs={"dimension": "int", "start_indices": "ints", "limit_indices": "ints"},
        ),
        example=of(
            "shardc.join",
            [_X, _X],
            TensorType((5, 4), "f32"),
            dimension=0,
            start_indices=(7, 0),
            limit_indices=(8, 4),
        ),
    )
)
