"""Rules of custom calls, random bits, collectives in the global view, and sdy's own operations."""

from __future__ import annotations

import re
from collections.abc import Callable

from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, integer, pointwise
from shardc.rules.elementwise import identity, opaque
from shardc.rules.rule import FactorRule, Kind


def custom_call(op: Op) -> FactorRule | None:
    """By target. None for targets nobody knows."""
    target = str(op.attrs["call_target_name"])
    if _LAPACK.fullmatch(target):
        return batched(op)
    function = CALLS.get(target)
    return None if function is None else function(op)


def has_rule(target: str) -> bool:
    """Whether custom calls of a target have a rule."""
    return target in CALLS or _LAPACK.fullmatch(target) is not None


_LAPACK = re.compile(r"(lapack_[sdcz]|(cu|hip)(solver|blas)_)\w+_ffi")


def batched(op: Op) -> FactorRule:
    """One matrix after another: the dimensions before the last two are shared, all others stay whole."""
    batch = op.operands[0].rank - 2
    builder = RuleBuilder(op)
    for dim in range(batch):
        builder.along(dim, op.operands[0].shape[dim])
    for i, operand in enumerate(op.operands):
        for dim in range(batch, operand.rank):
            builder.factor(operand.shape[dim], {i: dim}, plain=False)
    for i, result in enumerate(op.results):
        for dim in range(batch, result.rank):
            builder.factor(result.shape[dim], results={i: dim}, plain=False)
    return builder.build()


def on_matrices(op: Op) -> FactorRule:
    """Pointwise to sdy, but each matrix (the last two dimensions) is computed as a whole."""
    shape = op.results[0].shape
    builder = RuleBuilder(op)
    for dim, size in enumerate(shape):
        builder.along(dim, size, plain=dim < len(shape) - 2)
    return builder.build()


def rotation(op: Op) -> FactorRule:
    """Pointwise to sdy, but elements move."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.results[0].shape):
        builder.along(dim, size, plain=False)
    return builder.build()


def eigh(op: Op) -> FactorRule:
    """Matrices -> eigenvectors, eigenvalues."""
    shape = op.operands[0].shape
    rows, columns = len(shape) - 2, len(shape) - 1
    builder = RuleBuilder(op)
    for dim in range(rows):
        builder.along(dim, shape[dim])
    builder.factor(shape[rows], {0: rows}, {0: rows}, plain=False)
    builder.factor(shape[columns], {0: columns}, {0: columns, 1: rows}, plain=False)
    return builder.build()


def qr(op: Op) -> FactorRule:
    """Matrices -> reflectors (same shape), their scales."""
    shape = op.operands[0].shape
    rows, columns = len(shape) - 2, len(shape) - 1
    builder = RuleBuilder(op)
    for dim in range(rows):
        builder.along(dim, shape[dim])
    builder.factor(shape[rows], {0: rows}, {0: rows}, Kind.REPLICATE)
    builder.factor(shape[columns], {0: columns}, {0: columns}, Kind.REPLICATE)
    builder.factor(op.results[1].shape[rows], results={1: rows}, kind=Kind.REPLICATE)
    return builder.build()


def householder_product(op: Op) -> FactorRule:
    """Reflectors and their scales -> matrices of the reflectors' shape."""
    shape = op.operands[0].shape
    rows, columns = len(shape) - 2, len(shape) - 1
    builder = RuleBuilder(op)
    for dim in range(rows):
        builder.along(dim, shape[dim])
    builder.factor(shape[rows], {0: rows}, {0: rows}, Kind.REPLICATE)
    builder.factor(shape[columns], {0: columns}, {0: columns}, Kind.REPLICATE)
    builder.factor(op.operands[1].shape[rows], {1: rows}, kind=Kind.REPLICATE)
    return builder.build()


def top_k(op: Op) -> FactorRule:
    """Values and positions of the k largest along a dimension, the last of chlo's, which must be whole.

    sdy has a rule for the custom call only, and there takes the dimension for pass-through if k is its size.
    """
    shape = op.operands[0].shape
    builder = RuleBuilder(op)
    for dim, (size, kept) in enumerate(zip(shape, op.results[0].shape, strict=True)):
        whole = size != kept or (op.name == "chlo.top_k" and dim == len(shape) - 1)
        plain = False if whole or dim == len(shape) - 1 else None
        builder.along(dim, size, Kind.REPLICATE if whole else Kind.PASS, blocked=size != kept, plain=plain)
    return builder.build()


def approx_top_k(op: Op) -> FactorRule:
    """Values, positions and their two inits -> values and positions, shorter in one dimension."""
    builder = RuleBuilder(op)
    for dim, (size, kept) in enumerate(zip(op.operands[0].shape, op.results[0].shape, strict=True)):
        if size == kept:
            builder.along(dim, size)
        else:
            builder.factor(size, {0: dim, 1: dim}, plain=False)
            builder.factor(kept, results={0: dim, 1: dim}, kind=Kind.REPLICATE, blocked=True)
    return builder.build()


def rng_bit_generator(op: Op) -> FactorRule:
    """State -> state, bits. Sharded bits would be the same bits on every device, so they are not plain."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        builder.factor(size, {0: dim}, {0: dim}, Kind.REPLICATE, blocked=True)
    for dim, size in enumerate(op.results[1].shape):
        builder.factor(size, results={1: dim}, plain=False)
    return builder.build()


def batch_norm_inference(op: Op) -> FactorRule:
    """Operand, then scale, offset, mean and variance over the feature dimension."""
    feature = integer(op, "feature_index", 0)
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        per_feature = dict.fromkeys(range(1, 5), 0) if dim == feature else {}
        builder.factor(size, {0: dim, **per_feature}, {0: dim})
    return builder.build()


def _resizing(op: Op, changed: tuple[int, ...]) -> FactorRule:
    """Every dimension passes through but the `changed` ones, which have a factor on either side."""
    operand, result = op.operands[0].shape, op.results[0].shape
    builder = RuleBuilder(op)
    for dim, size in enumerate(operand):
        if dim not in changed:
            builder.along(dim, size)
    for dim in changed:
        builder.factor(operand[dim], {0: dim}, kind=Kind.REPLICATE)
        builder.factor(result[dim], results={0: dim}, kind=Kind.REPLICATE)
    return builder.build()


def all_gather(op: Op) -> FactorRule:
    """The gathered dimension grows."""
    return _resizing(op, (integer(op, "all_gather_dim", 0),))


def all_to_all(op: Op) -> FactorRule:
    """One dimension shrinks, one grows; they may be the same."""
    dims = (integer(op, "split_dimension", 0), integer(op, "concat_dimension", 0))
    return _resizing(op, tuple(dict.fromkeys(dims)))


def reduce_scatter(op: Op) -> FactorRule:
    """The scattered dimension shrinks."""
    return _resizing(op, (integer(op, "scatter_dimension", 0),))


CALLS: dict[str, Callable[[Op], FactorRule | None]] = {
    "ApproxTopK": approx_top_k,
    "Cholesky": on_matrices,
    "CompactWyHelper": on_matrices,
    "Eigh": eigh,
    "InspectSharding": identity,
    "InvertDiagBlocksLowerTriangular": on_matrices,
    "InvertDiagBlocksUpperTriangular": on_matrices,
    "LayoutConstraint": identity,
    "MoveToDevice": identity,
    "MoveToHost": identity,
    "PartialReduce": approx_top_k,
    "ProductOfElementaryHouseholderReflectors": householder_product,
    "Qr": qr,
    "QrDecompositionBlock": qr,
    "X64Combine": opaque,
    "X64SplitHigh": opaque,
    "X64SplitLow": opaque,
    "_SPMDInternalOp_MultiRotate": rotation,
    "_SPMDInternalOp_RotateRight": rotation,
    "annotate_device_placement": identity,
    "mhlo.erf": pointwise,
    "mhlo.topk": top_k,
}

RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "chlo.top_k": top_k,
    "sdy.reshard": identity,
    "sdy.sharding_constraint": identity,
    "stablehlo.all_gather": all_gather,
    "stablehlo.all_reduce": opaque,
    "stablehlo.all_to_all": all_to_all,
    "stablehlo.batch_norm_inference": batch_norm_inference,
    "stablehlo.collective_broadcast": opaque,
    "stablehlo.collective_permute": opaque,
    "stablehlo.cross-replica-sum": opaque,
    "stablehlo.custom_call": custom_call,
    "stablehlo.reduce_scatter": reduce_scatter,
    "stablehlo.rng_bit_generator": rng_bit_generator,
}
