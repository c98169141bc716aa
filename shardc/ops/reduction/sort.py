"""sort: several tensors in the order that a body finds between their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import Lying, OpDef, Rate, Spelling, Syntax, Work, of
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, integer
from shardc.ops.untyped import Types, UntypedOp, types_text
from shardc.semantics import ordering as kernels
from shardc.semantics.arrays import Array, Body

_X = TensorType((8, 4), "f32")


def _types(op: UntypedOp) -> Types:
    if not op.operands:
        raise op.error("needs at least one operand")
    first = op.operands[0]
    dim = op.integer("dimension", -1)
    if not -first.rank <= dim < first.rank:
        raise op.error(f"has dimension {dim}, which is no dimension of a tensor of rank {first.rank}")
    if any(type.shape != first.shape for type in op.operands):
        raise op.error(f"needs operands of one shape, got {types_text(op.operands)}")
    op.check_region(0, (TensorType((), "bool"),))
    return op.operands


def _comparisons(op: Op) -> int:
    """n ceil(log2 n) of each row of n: what merging takes at most."""
    rows = op.operands[0]
    return rows.size * max(0, rows.shape[integer(op, "dimension", -1)] - 1).bit_length()


def _rule(op: Op) -> FactorRule:
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


def _strided(op: Op, lying: Lying) -> int:
    """What is sorted along a dimension that is not that of the neighbours, read and written."""
    rows = op.operands[0]
    along = lying[0] == integer(op, "dimension", -1) % rows.rank
    return 0 if along else sum(type.nbytes for type in (*op.operands, *op.results))


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    dimension: Any = op.attrs.get("dimension", arrays[0].ndim - 1)
    return kernels.sort(*arrays, dimension=dimension, less_than=bodies[0] if bodies else None)


sort = define(
    OpDef(
        name="stablehlo.sort",
        doc="Sorts along a dimension; the body compares (lhs, rhs) of every operand in pairs.",
        infer=_types,
        rule=_rule,
        meaning=_meaning,
        work=Work(_comparisons, rate=lambda op: Rate.SORT, strided=_strided),
        syntax=Syntax(
            ("*inputs",),
            ("*results_",),
            attrs={"dimension": "int?", "is_stable": "bool?"},
            regions=("comparator",),
        ),
        example=of("stablehlo.sort", [_X], _X, dimension=1),
        spelling=Spelling(variable="ordered"),
    )
)
