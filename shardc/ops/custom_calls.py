"""Rules of custom calls by their target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from shardc.graph import Op
from shardc.ops.elementwise.rules import identity, opaque
from shardc.ops.reduction.top_k import top_k_rule
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, pointwise
from shardc.semantics.lapack import options_of, routine


def call_rule(op: Op) -> FactorRule | None:
    """The rule of a custom call; None for targets nobody knows."""
    target = str(op.attrs["call_target_name"])
    if _LAPACK.fullmatch(target):
        return batched(op)
    function = TARGETS.get(target)
    return None if function is None else function(op)


def has_rule(target: str) -> bool:
    """Whether custom calls of a target have a rule."""
    return target in TARGETS or _LAPACK.fullmatch(target) is not None


def targets() -> Iterator[str]:
    """The targets that have a rule, besides those of LAPACK."""
    return iter(sorted(TARGETS))


_LAPACK = re.compile(r"(lapack_[sdcz]|(cu|hip)(solver|blas)_)\w+_ffi")

_DIAGONALS = re.compile(r"\w+gtsv2?\w*_ffi")


def batched(op: Op) -> FactorRule:
    """One matrix after another: the dimensions before its own are shared, all others stay whole.

    A matrix has two dimensions, or one if it is given by its diagonals. What a triangular matrix divides is
    several columns, or rows where the matrix stands on the right, and each is divided by itself.
    """
    if routine(str(op.attrs["call_target_name"])) == "trsm":
        return _divided(op)
    batch = op.operands[0].rank - (1 if _DIAGONALS.fullmatch(str(op.attrs["call_target_name"])) else 2)
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


def _divided(op: Op) -> FactorRule:
    """Triangular matrices, and matrices that they divide -> quotients."""
    (shape, divided), on_left = (operand.shape for operand in op.operands), _is_on_left(op)
    rows, columns = len(shape) - 2, len(shape) - 1
    each, solved = (columns, rows) if on_left else (rows, columns)
    builder = _stacked(op)
    builder.factor(divided[each], {1: each}, {0: each})
    for operands, results in (({0: rows}, {}), ({0: columns}, {}), ({1: solved}, {}), ({}, {0: solved})):
        builder.factor(shape[rows], operands, results, plain=False)
    return builder.build(linear=[[1]])


def _is_on_left(op: Op) -> bool:
    return options_of(op.attrs).get("side") == ord("L")


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


def _stacked(op: Op) -> RuleBuilder:
    """A rule in which the dimensions before those of a matrix are shared."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape[:-2]):
        builder.along(dim, size)
    return builder


def eigh(op: Op) -> FactorRule:
    """Matrices -> eigenvectors, eigenvalues."""
    shape = op.operands[0].shape
    rows, columns = len(shape) - 2, len(shape) - 1
    builder = _stacked(op)
    builder.factor(shape[rows], {0: rows}, {0: rows}, plain=False)
    builder.factor(shape[columns], {0: columns}, {0: columns, 1: rows}, plain=False)
    return builder.build()


def qr(op: Op) -> FactorRule:
    """Matrices -> reflectors (same shape), their scales."""
    shape = op.operands[0].shape
    rows, columns = len(shape) - 2, len(shape) - 1
    builder = _stacked(op)
    builder.factor(shape[rows], {0: rows}, {0: rows}, Kind.REPLICATE)
    builder.factor(shape[columns], {0: columns}, {0: columns}, Kind.REPLICATE)
    builder.factor(op.results[1].shape[rows], results={1: rows}, kind=Kind.REPLICATE)
    return builder.build()


def householder_product(op: Op) -> FactorRule:
    """Reflectors and their scales -> matrices of the reflectors' shape."""
    shape = op.operands[0].shape
    rows, columns = len(shape) - 2, len(shape) - 1
    builder = _stacked(op)
    builder.factor(shape[rows], {0: rows}, {0: rows}, Kind.REPLICATE)
    builder.factor(shape[columns], {0: columns}, {0: columns}, Kind.REPLICATE)
    builder.factor(op.operands[1].shape[rows], {1: rows}, kind=Kind.REPLICATE)
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


RAGGED_ALL_TO_ALL = "ragged_all_to_all"
"""The target that lax.ragged_all_to_all has in StableHLO, with its groups in `backend_config`."""

INSPECTS = "InspectSharding"
"""The target of jax.debug.inspect_array_sharding, which gives its operand."""

HOST_CALL = "shardc_host"
"""The target of a call of a function on the host, which knows whole arrays; `backend_config` says which."""


def on_host(op: Op) -> FactorRule:
    """Whole arrays in, whole arrays out."""
    builder = RuleBuilder(op)
    for i, operand in enumerate(op.operands):
        for dim, size in enumerate(operand.shape):
            builder.factor(size, {i: dim}, kind=Kind.REPLICATE)
    for i, result in enumerate(op.results):
        for dim, size in enumerate(result.shape):
            builder.factor(size, results={i: dim}, kind=Kind.REPLICATE)
    return builder.build()


TARGETS: dict[str, Callable[[Op], FactorRule | None]] = {
    "ApproxTopK": approx_top_k,
    "Cholesky": on_matrices,
    "CompactWyHelper": on_matrices,
    "Eigh": eigh,
    INSPECTS: identity,
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
    HOST_CALL: on_host,
    "mhlo.erf": pointwise,
    "mhlo.topk": top_k_rule,
    "xla.megascale.provide_metadata": identity,
}
