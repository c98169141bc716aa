"""Exact meanings of what makes, moves, multiplies and combines elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from shardc.graph import Op, TensorType
from shardc.graph.attrs import Dense, DotDims
from shardc.ops import chlo, find, hlo, sdy
from shardc.proof import arithmetic, field
from shardc.proof.draws import Draw
from shardc.proof.field import Residues
from shardc.proof.meanings_elementwise import furthest
from shardc.proof.order import order, representative
from shardc.proof.table import exact, exact_complex
from shardc.proof.values import Beyond, Floats, any_special, make, special, whole
from shardc.proof.values import exact as as_exact
from shardc.semantics import contraction, ops
from shardc.semantics.arrays import Array, Body


@exact(hlo.constant, sdy.constant)
def constant(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    value = cast(Dense, op.attrs["value"])
    return [np.broadcast_to(whole(value.data.astype(np.float64)), value.shape)]


@exact(hlo.iota)
def iota(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    dimension = cast(int, op.attrs["iota_dimension"])
    return [whole(ops.iota(iota_dimension=dimension, shape=op.results[0].shape, dtype=np.dtype(np.float64)))]


@exact_complex(hlo.dynamic_slice, hlo.dynamic_update_slice, hlo.gather)
@exact(hlo.dynamic_slice, hlo.dynamic_update_slice, hlo.gather)
def indexed(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """Indices are integers, and elements move."""
    definition = find(op.name)
    assert definition is not None and definition.meaning is not None
    return definition.meaning(op, arrays, *bodies)


@exact_complex(hlo.scatter)
@exact(hlo.scatter)
def scatter(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    dims: Any = op.attrs["scatter_dimension_numbers"]
    body = None if op.combiner == "set" else bodies[0]
    return ops.scatter(
        arrays[:count],
        arrays[count],
        arrays[count + 1 :],
        body,
        scatter_dimension_numbers=dims,
        kind="set" if body is None else None,
    )


@exact(hlo.reduce)
def reduce(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    dimensions = cast("tuple[int, ...]", tuple(cast(Any, op.attrs["dimensions"])))
    if op.combiner == "sum" and count == 1:
        return [arithmetic.add(arithmetic.total(as_exact(arrays[0]), dimensions), as_exact(arrays[1]))]
    wanted = _WANTED.get(op.combiner or "") if count == 1 else None
    body: Body = bodies[0] if wanted is None else lambda *pair: furthest(draw, pair, wanted)
    return ops.reduce_with(arrays[:count], arrays[count:], body, dimensions=dimensions)


_WANTED = {"max": 1, "min": -1}
"""What `furthest` is asked for, by the name of what a reduction does."""


@exact_complex(hlo.sort)
@exact(hlo.sort)
def sort(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """Sorted are the elements' numbers, by what the body says of the elements."""
    dimension = cast(int, op.attrs.get("dimension", arrays[0].ndim - 1))
    shape = arrays[0].shape
    numbers = np.arange(arrays[0].size).reshape(shape)
    flat = [array.reshape(-1) for array in arrays]

    def less_than(left: Array, right: Array) -> list[Array]:
        return bodies[0](*(array[numbers] for array in flat for numbers in (left, right)))

    (order,) = ops.sort(numbers, dimension=dimension, less_than=less_than)
    draw.decided(order != numbers)
    return [array[order] for array in flat]


@exact(chlo.top_k)
def top_k(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """The greatest come first, of equals those that were; by their numbers, as sort does."""
    (operand,), k = arrays, cast(int, op.attrs["k"])
    if any_special(operand):
        raise Beyond("infinities in top_k")
    flat, numbers = operand.reshape(-1), np.arange(operand.size).reshape(operand.shape)

    def greater(left: Array, right: Array) -> list[Array]:
        return [order(flat[left], flat[right]) > 0]

    (found,) = ops.sort(numbers, dimension=operand.ndim - 1, less_than=greater)
    draw.decided(found != numbers)
    found = found[..., :k]
    return [flat[found], (found % operand.shape[-1]).astype(np.int32)]


@exact(hlo.dot_general, hlo.convolution)
def product(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """What is linear in both operands, digit by digit: sums of products of digits are exact in f64."""
    left, right = map(as_exact, arrays)
    if any_special(left, right):
        return [_infinite_product(draw, op, left, right)]
    terms = _terms(op)
    bits = next((bits for bits in (21, 16) if terms * (1 + field.BITS // bits) << 2 * bits <= 1 << 53), None)
    if bits is None:
        raise Beyond(f"sums of {terms} products")
    if op.name == hlo.dot_general.name and op.results[0].size <= _AT_ONCE:
        return [_matrix_product(op, left, right, bits)]
    residue: Residues | None = None
    first, second = (field.limbs(side["residue"], bits) for side in (left, right))
    for place in range(len(first) + len(second) - 1):
        pairs = [(a, second[place - i]) for i, a in enumerate(first) if 0 <= place - i < len(second)]
        sums = sum((_in_floats(op, a, b) for a, b in pairs[1:]), _in_floats(op, *pairs[0]))
        part = field.of_limb_sums(sums, place * bits)
        residue = part if residue is None else field.add(residue, part)
    assert residue is not None
    shadows = (_in_floats(op, left[which], right[which]) for which in SHADOWS)
    return [make(residue, *shadows)]


_AT_ONCE = 1 << 20
"""The elements of a product up to which all pairs of digits are multiplied by one call."""


def _matrix_product(op: Op, left: Array, right: Array, bits: int) -> Array:
    """dot_general of stacks of matrices: each digit of one by all of the other, summed by their places."""
    a, b = contraction.matrices(left, right, cast(DotDims, op.attrs["dot_dimension_numbers"]))
    first, second = (np.array(field.limbs(side["residue"], bits)) for side in (a, b))
    count = len(first)
    sums = np.zeros((2 * count - 1, *a.shape[:-1], b.shape[-1]))
    for place, digits in enumerate(first):
        sums[place : place + count] += np.matmul(digits, second)
    at = bits * np.arange(len(sums)).reshape(-1, *[1] * (sums.ndim - 1))
    rotated = field.rotate(field.fold(sums.astype(np.uint64)), at)
    residue = field.fold(np.add.reduce(rotated))  # of up to seven numbers, which is below 2^64
    shadows = (np.matmul(a[which], b[which]) for which in SHADOWS)
    return make(residue, *shadows).reshape(op.results[0].shape)


def _terms(op: Op) -> int:
    """How many products an element is the sum of, at most."""
    left, right = op.operands
    if op.name == hlo.convolution.name:
        return right.size
    dims = cast(DotDims, op.attrs["dot_dimension_numbers"])
    return prod(left.shape[dim] for dim in dims.lhs_contracting)


def _infinite_product(draw: Draw, op: Op, left: Array, right: Array) -> Array:
    """The product of what is finite, and where signs and infinities alone give no number, what they give."""
    zero = whole(np.asarray(0.0))
    (result,) = product(draw, op, [np.where(special(x), zero, x) for x in (left, right)])
    signs = _in_floats(op, representative(left), representative(right))
    return np.where(np.isfinite(signs), result, whole(signs))


def _in_floats(op: Op, left: Floats, right: Floats) -> Floats:
    return of_floats(op, [left, right])[0]


SHADOWS = ("shadow", "other")


def of_floats(op: Op, arrays: Sequence[Floats]) -> Sequence[Floats]:
    """What an operation means in f64."""
    definition = find(op.name)
    assert definition is not None and definition.meaning is not None
    wide = replace(op, results=tuple(TensorType(type.shape, "f64") for type in op.results))
    return definition.meaning(wide, arrays)
