"""What products and convolutions of a written NumPy program allocate, in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from shardc.backend.numpy.allocation.calls import BUFFER, Allocation, Evaluation, allocates, row_major
from shardc.backend.numpy.allocation.storage import View, fresh, runs_evenly
from shardc.backend.python import idiom
from shardc.backend.python.products import is_einsum, is_product, subscripts, terms_of
from shardc.graph import ConvDims, DotDims, is_narrow
from shardc.ops import hlo
from shardc.semantics.contraction import WINDOWS


@allocates(hlo.dot_general, idiom.einsum)
def product(it: Evaluation) -> Allocation:
    """Narrow floats are multiplied as f32; einsum copies parts of operands that lie in another order, or, of
    matrices, whole operands whose dimensions are no rows and columns as they lie."""
    view = row_major(it).view
    if is_narrow(it.dtype):
        product, wide = 4 * prod(it.shape), sum(4 * it.elements(i) for i in range(2))
        freed = sum(it.bytes_of(i) for i in range(2) if it.temporary[i])
        return Allocation(view, max(product, wide + product - it.nbytes - freed))
    dims = cast(DotDims, it.node.attrs["dot_dimension_numbers"])
    lhs, rhs = it.operands
    ranks = [len(lhs.shape), len(rhs.shape)]
    if not is_einsum(it.node, ranks):
        return Allocation(view)
    if is_product(it.node, ranks):
        return _matrices(it, view)
    view = _einsum_result(it, view)
    uneven = not all(runs_evenly(operand, fresh(None, operand.shape)) for operand in it.operands)
    terms = prod(it.shape) * prod(lhs.shape[d] for d in dims.lhs_contracting)
    return Allocation(view, 2 * min(BUFFER, terms) * it.itemsize if uneven else 0)


def _matrices(it: Evaluation, view: View) -> Allocation:
    """NumPy multiplies the second operand by the first. Batch, rows and columns are fused to one dimension
    each, and an operand is copied where it cannot be seen so; the result has them in that order in memory."""
    lhs, rhs = it.operands
    first, second, out, turned = terms_of(it.node, [len(lhs.shape), len(rhs.shape)])
    lhs, rhs = (rhs, lhs) if turned else (lhs, rhs)
    batch = [letter for letter in second if letter in first and letter in out]
    summed = [letter for letter in second if letter in first and letter not in out]
    rows = [letter for letter in second if letter not in first]
    columns = [letter for letter in first if letter not in second]
    copied = _copied(rhs, second, (batch, rows, summed)) + _copied(lhs, first, (batch, summed, columns))
    inside, sizes = [*batch, *rows, *columns], dict(zip(out, it.shape, strict=True))
    result = fresh(view.buffer, [sizes[letter] for letter in inside])
    if inside != [*out] or max(map(len, (batch, rows, columns))) > 1:
        result = result.transposed([inside.index(letter) for letter in out])
    return Allocation(result, copied * it.itemsize)


def _copied(view: View, letters: str, groups: Sequence[Sequence[str]]) -> int:
    """Elements that are copied to have one dimension for each group."""
    turned = view.transposed([letters.index(letter) for group in groups for letter in group])
    sizes = dict(zip(letters, view.shape, strict=True))
    fused = turned.reshaped([prod(sizes[letter] for letter in group) for group in groups])
    return prod(view.shape) if fused is None else 0


def _einsum_result(it: Evaluation, view: View) -> View:
    """The result of an einsum: in memory, its dimensions follow the operands' as far as they agree.

    NumPy's iterator inserts each dimension before those whose strides are smaller in an operand of both.
    """
    terms, _, out = subscripts(it.node, len(it.operands[0].shape), len(it.operands[1].shape)).partition("->")
    strides = [
        dict(zip(letters, operand.strides, strict=True))
        for letters, operand in zip(terms.split(","), it.operands, strict=True)
    ]
    order: list[str] = []
    for letter in out:
        place = len(order)
        for j in reversed(range(len(order))):
            known = [(s[letter], s[order[j]]) for s in strides if s.get(letter) and s.get(order[j])]
            if known and all(new > old for new, old in known):
                place = j
            elif known:
                break
        order.insert(place, letter)
    sizes = dict(zip(out, it.shape, strict=True))
    packed = fresh(view.buffer, [sizes[letter] for letter in order])
    return packed.transposed([order.index(letter) for letter in out])


@allocates(hlo.convolution)
def convolution(it: Evaluation) -> Allocation:
    """The padded image, some of its windows as a matrix, the kernel as columns, and what is multiplied."""
    dims = cast(ConvDims, it.node.attrs["dimension_numbers"])
    image, kernel = (it.graph.type(value) for value in it.node.operands)
    padding = cast("tuple[tuple[int, int], ...]", it.node.attrs.get("padding", ()))
    dilation = cast("tuple[int, ...]", it.node.attrs.get("lhs_dilation", ()))
    spatial = [image.shape[d] for d in dims.input_spatial]
    spread = [(n - 1) * by + 1 for n, by in zip(spatial, dilation or (1,) * len(spatial), strict=True)]
    padded = [n + sum(ends) for n, ends in zip(spread, padding or ((0, 0),) * len(spatial), strict=True)]
    itemsize = max(4, image.numpy.itemsize)
    groups = cast(int, it.node.attrs["feature_group_count"]) * cast(int, it.node.attrs["batch_group_count"])
    places = prod(it.shape[d] for d in (dims.output_batch, *dims.output_spatial))
    window = prod(kernel.shape[d] for d in (dims.kernel_input_feature, *dims.kernel_spatial))
    samples = image.shape[dims.input_batch] * image.shape[dims.input_feature]
    elements = samples * prod(padded) if padded != spatial else 0
    elements += _part(groups * places * window, max(image.shape, default=1)) + 2 * kernel.size
    return Allocation(row_major(it).view, elements * itemsize)


def _part(windows: int, size: int) -> int:
    """Elements of the windows that are copied at a time, along a dimension of a size."""
    step = max(1, WINDOWS * size // max(1, windows))
    return min(windows, -(-windows * step // size))
