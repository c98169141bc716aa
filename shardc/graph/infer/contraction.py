"""Products that sum: dot_general, convolution, and the linear algebra of StableHLO."""

from __future__ import annotations

from dataclasses import replace

from shardc.graph.attrs import ConvDims, DotDims
from shardc.graph.infer.call import Call, Rule, Types
from shardc.graph.infer.elementwise import check_class
from shardc.graph.infer.window import windowed
from shardc.graph.types import TensorType


def _dot_general(call: Call) -> Types:
    lhs, rhs = call.arity(2)
    dims = call.get("dot_dimension_numbers", DotDims)
    call.check_dims("lhs dimension", (*dims.lhs_batching, *dims.lhs_contracting), lhs.rank)
    call.check_dims("rhs dimension", (*dims.rhs_batching, *dims.rhs_contracting), rhs.rank)
    for what, left, right in (
        ("batch", dims.lhs_batching, dims.rhs_batching),
        ("contract", dims.lhs_contracting, dims.rhs_contracting),
    ):
        if len(left) != len(right):
            raise call.error(f"has {len(left)} and {len(right)} dimensions to {what}")
        for i, j in zip(left, right, strict=True):
            if lhs.shape[i] != rhs.shape[j]:
                raise call.error(
                    f"cannot {what} dimension {i} of {lhs}, of size {lhs.shape[i]}, "
                    f"with dimension {j} of {rhs}, of size {rhs.shape[j]}"
                )
    if lhs.dtype != rhs.dtype and call.given is None:
        raise call.error(f"of {lhs} and {rhs} needs its result type stated (results=)")
    batch = tuple(lhs.shape[i] for i in dims.lhs_batching)
    left_free = _free(lhs, (*dims.lhs_batching, *dims.lhs_contracting))
    right_free = _free(rhs, (*dims.rhs_batching, *dims.rhs_contracting))
    return (TensorType(batch + left_free + right_free, call.result_dtype(lhs.dtype)),)


def _dot(call: Call) -> Types:
    lhs, rhs = call.arity(2)
    if lhs.rank not in (1, 2) or rhs.rank not in (1, 2):
        raise call.error(f"takes vectors and matrices, got {lhs} and {rhs}")
    attrs = {**call.attrs, "dot_dimension_numbers": DotDims.of_dot(lhs.rank)}
    return _dot_general(replace(call, attrs=attrs))


def _free(type: TensorType, used: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for dim, size in enumerate(type.shape) if dim not in used)


def _convolution(call: Call) -> Types:
    lhs, rhs = call.arity(2)
    dims = call.get("dimension_numbers", ConvDims)
    spatial = len(dims.input_spatial)
    if lhs.rank != spatial + 2 or rhs.rank != spatial + 2:
        raise call.error(f"over {spatial} spatial dimensions needs rank {spatial + 2}, got {lhs} and {rhs}")
    groups = call.integer("feature_group_count", 1)
    batches = call.integer("batch_group_count", 1)
    features, kernel_features = lhs.shape[dims.input_feature], rhs.shape[dims.kernel_input_feature]
    outputs, batch = rhs.shape[dims.kernel_output_feature], lhs.shape[dims.input_batch]
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        raise call.error(f"has {groups} feature groups and {batches} batch groups; one of them must be 1")
    if features != kernel_features * groups:
        raise call.error(
            f"has {features} input features, but a kernel for {groups} groups of {kernel_features}"
        )
    if outputs % groups or outputs % batches or batch % batches:
        raise call.error(
            f"cannot split {outputs} output features and batch {batch} in {groups} feature "
            f"and {batches} batch groups"
        )
    shape = [0] * lhs.rank
    shape[dims.output_batch] = batch // batches
    shape[dims.output_feature] = outputs
    sizes = windowed(
        call,
        tuple(lhs.shape[d] for d in dims.input_spatial),
        tuple(rhs.shape[d] for d in dims.kernel_spatial),
        call.integers("window_strides", (1,) * spatial),
        call.pairs("padding", ((0, 0),) * spatial),
        call.integers("lhs_dilation", (1,) * spatial),
        call.integers("rhs_dilation", (1,) * spatial),
    )
    for dim, size in zip(dims.output_spatial, sizes, strict=True):
        shape[dim] = size
    return (TensorType(tuple(shape), call.result_dtype(lhs.dtype)),)


def _cholesky(call: Call) -> Types:
    operand = call.one()
    check_class(call, operand, "fc")
    _check_square(call, operand)
    return (operand,)


def _triangular_solve(call: Call) -> Types:
    a, b = call.arity(2)
    _check_square(call, a)
    side = -2 if call.get("left_side", bool) else -1
    if a.dtype != b.dtype or a.rank != b.rank or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[side]:
        raise call.error(f"cannot solve {a} for {b}")
    return (b,)


def _check_square(call: Call, type: TensorType) -> None:
    if type.rank < 2 or type.shape[-1] != type.shape[-2]:
        raise call.error(f"needs square matrices, got {type}")


def _features(call: Call, operand: TensorType) -> TensorType:
    """The type of a batch norm's per-feature operands, after checking those that are given."""
    feature = call.dimension("feature_index", operand.rank)
    type = operand.with_shape((operand.shape[feature],))
    for other in call.operands[1:]:
        if other not in (type, operand):
            raise call.error(f"needs {type} for each feature of {operand}, got {other}")
    return type


def _batch_norm_inference(call: Call) -> Types:
    operand = call.arity(5)[0]
    _features(call, operand)
    return (operand,)


def _batch_norm_training(call: Call) -> Types:
    operand = call.arity(3)[0]
    type = _features(call, operand)
    return (operand, type, type)


def _batch_norm_grad(call: Call) -> Types:
    operand = call.arity(5)[0]
    type = _features(call, operand)
    return (operand, type, type)


CONTRACTION: dict[str, Rule] = {
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.convolution": _convolution,
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular_solve,
    "stablehlo.batch_norm_inference": _batch_norm_inference,
    "stablehlo.batch_norm_training": _batch_norm_training,
    "stablehlo.batch_norm_grad": _batch_norm_grad,
}
