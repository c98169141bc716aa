"""Products of stacks. A matrix that all slices share meets them in one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from shardc.graph.attrs import LETTERS, ConvDims, DotDims
from shardc.ops import hlo
from shardc.ops.batches.movement import alike, behind
from shardc.ops.batching import Batch, Batching, Unbatched
from shardc.ops.definition import OpDef
from shardc.ops.derivatives.terms import Term
from shardc.semantics.lapack import routine


def _dot(b: Batch) -> Sequence[Term]:
    """Both stacks: the slices are a batch dimension. One stack: its slices are one more free dimension."""
    dims = cast(DotDims, b.op.attrs["dot_dimension_numbers"])
    attrs = {name: value for name, value in b.op.attrs.items() if name != LETTERS}
    left, right = 0 in b.stacks, 1 in b.stacks
    both = (0,) if left and right else ()
    shifted = DotDims(
        (*both, *(behind(dims.lhs_batching) if left else dims.lhs_batching)),
        (*both, *(behind(dims.rhs_batching) if right else dims.rhs_batching)),
        behind(dims.lhs_contracting) if left else dims.lhs_contracting,
        behind(dims.rhs_contracting) if right else dims.rhs_contracting,
    )
    x, y = cast("Sequence[Term]", b.given)
    (type,) = b.results
    at = 0
    if not both:
        batch = len(dims.lhs_batching)
        at = batch if left else batch + b.op.operands[0].rank - batch - len(dims.lhs_contracting)
        shape = b.op.results[0].shape
        type = type.with_shape((*shape[:at], b.size, *shape[at:]))
    made = x.op(hlo.dot_general, y, result=type, **{**attrs, "dot_dimension_numbers": shifted})
    rest = [dim for dim in range(len(type.shape)) if dim != at]
    return [made.transpose([at, *rest])]


def _merged(x: Term, dim: int) -> Term:
    """A stack whose slices are laid one after another along a dimension of theirs."""
    rank = len(x.shape)
    order = [d for d in range(1, rank)]
    moved = x.transpose([*order[:dim], 0, *order[dim:]])
    shape = moved.shape
    return moved.reshape((*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def _parted(x: Term, dim: int, size: int) -> Term:
    """The slices of a dimension, as a stack."""
    shape = x.shape
    parted = x.reshape((*shape[:dim], size, shape[dim] // size, *shape[dim + 1 :]))
    rest = [d for d in range(len(parted.shape)) if d != dim]
    return parted.transpose([dim, *rest])


def _convolution(b: Batch) -> Sequence[Term]:
    """Slices of the images are more images, those of the kernel more features, those of both more groups."""
    dims = cast(ConvDims, b.op.attrs["dimension_numbers"])
    groups, batches = (cast(int, b.op.attrs.get(f"{n}_group_count", 1)) for n in ("feature", "batch"))
    stacks = b.stacks if groups == batches == 1 else frozenset((0, 1))
    x: Term = b.full(0) if 0 in stacks else b.given[0]
    kernel: Term = b.full(1) if 1 in stacks else b.given[1]
    attrs, out = dict(b.op.attrs), dims.output_feature
    if len(stacks) == 2:
        by = "batch" if batches > 1 else "feature"
        attrs[f"{by}_group_count"] = (batches if batches > 1 else groups) * b.size
        x = _merged(x, dims.input_batch if batches > 1 else dims.input_feature)
    elif 0 in stacks:
        x, out = _merged(x, dims.input_batch), dims.output_batch
    if 1 in stacks:
        kernel = _merged(kernel, dims.kernel_output_feature)
    (type,) = b.op.results
    shape = tuple(n * b.size if dim == out else n for dim, n in enumerate(type.shape))
    made = x.op(hlo.convolution, kernel, result=type.with_shape(shape), **attrs)
    return [_parted(made, out, b.size)]


def _call(b: Batch) -> Sequence[Term]:
    """LAPACK takes stacks of matrices. What the call says of memory is said of arrays of another rank."""
    _check_call(str(b.op.attrs["call_target_name"]))
    attrs = {name: value for name, value in b.op.attrs.items() if name not in _OF_MEMORY}
    stack = replace(b, op=replace(b.op, attrs=attrs))
    return stack.build(stack.every())


_OF_MEMORY = ("operand_layouts", "result_layouts", "output_operand_aliases", "mhlo.frontend_attributes")


def _check_call(target: str) -> None:
    if routine(target) is None:
        raise Unbatched(f"nothing is known of custom call {target} but its types")


CONTRACTION: dict[OpDef, Batching] = {
    hlo.cholesky: alike,
    hlo.convolution: _convolution,
    hlo.custom_call: _call,
    hlo.dot_general: _dot,
    hlo.fft: alike,
    hlo.triangular_solve: alike,
}
