"""dot_general: a product summed over the contracting dimensions, for every index of the batching ones."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import cast

from shardc.graph import DotDims, Op
from shardc.graph.types import TensorType
from shardc.ops.definition import Lying, OpDef, Spelling, Syntax, Trait, Work, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, partial_kind
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import contraction as kernels


def product_type(op: UntypedOp, dims: DotDims) -> Types:
    """Batching dimensions, then those left of lhs, then those left of rhs."""
    lhs, rhs = op.arity(2)
    op.check_dims("lhs dimension", (*dims.lhs_batching, *dims.lhs_contracting), lhs.rank)
    op.check_dims("rhs dimension", (*dims.rhs_batching, *dims.rhs_contracting), rhs.rank)
    for what, left, right in (
        ("batch", dims.lhs_batching, dims.rhs_batching),
        ("contract", dims.lhs_contracting, dims.rhs_contracting),
    ):
        if len(left) != len(right):
            raise op.error(f"has {len(left)} and {len(right)} dimensions to {what}")
        for i, j in zip(left, right, strict=True):
            if lhs.shape[i] != rhs.shape[j]:
                raise op.error(
                    f"cannot {what} dimension {i} of {lhs}, of size {lhs.shape[i]}, "
                    f"with dimension {j} of {rhs}, of size {rhs.shape[j]}"
                )
    if lhs.dtype != rhs.dtype and op.given is None:
        raise op.error(f"of {lhs} and {rhs} needs its result type stated (results=)")
    batch = tuple(lhs.shape[i] for i in dims.lhs_batching)
    left_free = _free(lhs, (*dims.lhs_batching, *dims.lhs_contracting))
    right_free = _free(rhs, (*dims.rhs_batching, *dims.rhs_contracting))
    return (TensorType(batch + left_free + right_free, op.result_dtype(lhs.dtype)),)


def _free(type: TensorType, used: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for dim, size in enumerate(type.shape) if dim not in used)


def _types(op: UntypedOp) -> Types:
    return product_type(op, op.get("dot_dimension_numbers", DotDims))


def _rule(op: Op) -> FactorRule:
    """Factors: batching, free of the left, free of the right, contracting."""
    dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
    lhs, rhs = op.operands
    builder = RuleBuilder(op)
    out = 0
    for left, right in zip(dims.lhs_batching, dims.rhs_batching, strict=True):
        builder.factor(lhs.shape[left], {0: left, 1: right}, {0: out})
        out += 1
    for operand, bound in (
        (0, dims.lhs_batching + dims.lhs_contracting),
        (1, dims.rhs_batching + dims.rhs_contracting),
    ):
        for dim, size in enumerate(op.operands[operand].shape):
            if dim not in bound:
                builder.factor(size, {operand: dim}, {0: out})
                out += 1
    for left, right in zip(dims.lhs_contracting, dims.rhs_contracting, strict=True):
        builder.factor(lhs.shape[left], {0: left, 1: right}, kind=Kind.REDUCTION)
    return builder.build(reduction=partial_kind("sum", rhs.dtype), linear=[[0], [1]])


def _multiply_adds(op: Op) -> int:
    """2mnk operations for m x k by k x n."""
    dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
    lhs = op.operands[0].shape
    return 2 * op.results[0].size * prod(lhs[d] for d in dims.lhs_contracting)


def _turned(op: Op, lying: Lying) -> int:
    """The factor whose free dimension is the result's outer one, where its neighbours are not summed; and
    then the other too if its neighbours are. Products with a vector read in any order."""
    dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
    lhs, rhs = op.operands
    if _multiply_adds(op) in (2 * lhs.size, 2 * rhs.size):
        return 0
    factors = [(lhs, lying[0] in dims.lhs_contracting), (rhs, lying[1] in dims.rhs_contracting)]
    if lying[2] < op.results[0].rank - rhs.rank + len(dims.rhs_batching) + len(dims.rhs_contracting):
        factors.reverse()
    (outer, outer_summed), (inner, inner_summed) = factors
    return 0 if outer_summed else outer.nbytes + (inner.nbytes if inner_summed else 0)


def _copied(op: Op) -> int:
    """Operands that are no matrices as they lie: the dimensions that both have, those that are summed, or the
    others are not next to each other."""
    dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
    sides = (dims.lhs_batching, dims.lhs_contracting), (dims.rhs_batching, dims.rhs_contracting)
    return sum(
        type.nbytes
        for type, (batch, summed) in zip(op.operands, sides, strict=True)
        for others in [tuple(d for d in range(type.rank) if d not in batch + summed)]
        if not all(_adjacent(type, group) for group in (batch, summed, others))
    )


def _adjacent(type: TensorType, dims: tuple[int, ...]) -> bool:
    """Whether dimensions are one after the other, but for those of size 1."""
    long = [dim for dim in range(type.rank) if type.shape[dim] > 1]
    places = [long.index(dim) for dim in dims if dim in long]
    return all(after == before + 1 for before, after in pairwise(places))


dot_general = define(
    OpDef(
        name="stablehlo.dot_general",
        doc="A product summed over the contracting dimensions, for every index of the batching ones.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.dot_general, "dot_dimension_numbers", dtype=True),
        work=Work(_multiply_adds, turned=_turned, copied=_copied),
        traits=frozenset(
            (
                Trait.PRODUCT,
                Trait.MATMUL,
            )
        ),
        syntax=Syntax(
            ("lhs", "rhs"),
            attrs={
                "dot_dimension_numbers": "dot",
                "precision_config": "precision_config?",
                "algorithm": "dot_algorithm?",
            },
            format=(
                "$lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) "
                "custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) "
                f"attr-dict {FUNCTIONAL}"
            ),
        ),
        example=of(
            "stablehlo.dot_general",
            [TensorType((2, 8, 4), "f32"), TensorType((2, 4, 6), "f32")],
            TensorType((2, 8, 6), "f32"),
            dot_dimension_numbers=DotDims((0,), (0,), (2,), (1,)),
        ),
        spelling=Spelling(called="a product", variable="product"),
    )
)
