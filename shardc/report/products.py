"""What products and convolutions of a written NumPy program allocate, in bytes."""

from __future__ import annotations

from math import prod
from typing import cast

from shardc.backend.ops_dot import is_einsum, subscripts
from shardc.graph import ConvDims, DotDims
from shardc.report.calls import BUFFER, Call, Outcome, row_major
from shardc.report.storage import View, fresh, runs_evenly

NARROW = ("bf16", "f16")


def product(call: Call) -> Outcome:
    """16-bit floats are multiplied as f32; einsum copies parts of operands that lie in another order."""
    view = row_major(call).view
    if call.dtype in NARROW:
        product, wide = 4 * prod(call.shape), sum(4 * call.elements(i) for i in range(2))
        freed = sum(call.bytes_of(i) for i in range(2) if call.temporary[i])
        return Outcome(view, max(product, wide + product - call.nbytes - freed))
    dims = cast(DotDims, call.node.attrs["dot_dimension_numbers"])
    lhs, rhs = call.operands
    if not is_einsum(call.node, [len(lhs.shape), len(rhs.shape)]):
        return Outcome(view)
    view = _einsum_result(call, view)
    uneven = not all(runs_evenly(operand, fresh(None, operand.shape)) for operand in call.operands)
    terms = prod(call.shape) * prod(lhs.shape[d] for d in dims.lhs_contracting)
    return Outcome(view, 2 * min(BUFFER, terms) * call.itemsize if uneven else 0)


def _einsum_result(call: Call, view: View) -> View:
    """The result of an einsum: in memory, its dimensions follow the operands' as far as they agree.

    NumPy's iterator inserts each dimension before those whose strides are smaller in an operand of both.
    """
    terms, _, out = subscripts(call.node, len(call.operands[0].shape), len(call.operands[1].shape)).partition(
        "->"
    )
    strides = [
        dict(zip(letters, operand.strides, strict=True))
        for letters, operand in zip(terms.split(","), call.operands, strict=True)
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
    sizes = dict(zip(out, call.shape, strict=True))
    packed = fresh(view.buffer, [sizes[letter] for letter in order])
    return packed.transposed([order.index(letter) for letter in out])


def convolution(call: Call) -> Outcome:
    """The padded image, its windows as rows of a matrix, and the kernel as columns."""
    dims = cast(ConvDims, call.node.attrs["dimension_numbers"])
    image, kernel = (call.graph.type(value) for value in call.node.operands)
    padding = cast("tuple[tuple[int, int], ...]", call.node.attrs.get("padding", ()))
    dilation = cast("tuple[int, ...]", call.node.attrs.get("lhs_dilation", ()))
    spatial = [image.shape[d] for d in dims.input_spatial]
    spread = [(n - 1) * by + 1 for n, by in zip(spatial, dilation or (1,) * len(spatial), strict=True)]
    padded = [n + sum(ends) for n, ends in zip(spread, padding or ((0, 0),) * len(spatial), strict=True)]
    itemsize = max(4, image.numpy.itemsize)
    places = prod(call.shape[d] for d in (dims.output_batch, *dims.output_spatial))
    window = prod(kernel.shape[d] for d in (dims.kernel_input_feature, *dims.kernel_spatial))
    samples = image.shape[dims.input_batch] * image.shape[dims.input_feature]
    elements = samples * prod(padded) + places * window + kernel.size
    return Outcome(row_major(call).view, elements * itemsize)
