"""More of NumPy's products, and what is made of them: inner, tensordot, kron, cross, norm, trapezoid, …"""

from __future__ import annotations

from math import inf

from shardc.frontend.text.builtins.creation import eye
from shardc.frontend.text.builtins.elementwise import abs_, comparison
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.operators import multiply
from shardc.frontend.text.builtins.products import dot_general, matmul, same_dtype
from shardc.frontend.text.builtins.reductions import axes_of, axis_of, max_, min_, sum_
from shardc.frontend.text.builtins.shapes import (
    concatenate,
    ravel,
    slice_dim,
)
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dims, Dtype, Operand, Scalar, Tensor, Value, describe
from shardc.graph.attrs import DotDims
from shardc.graph.types import is_complex
from shardc.ops import chlo, hlo


def inner(e: Emitter, a: Operand, b: Operand) -> Tensor:
    """The sum over the last dimension of both."""
    left, right = same_dtype(e, a, b)
    if not left.rank or not right.rank:
        return multiply(e, left, right)
    return tensordot_over(e, left, right, (left.rank - 1,), (right.rank - 1,))


def vdot(e: Emitter, a: Operand, b: Operand) -> Tensor:
    """The sum of the products of all elements; of complex numbers, of the conjugates of a."""
    left, right = same_dtype(e, a, b)
    left = e.op(chlo.conj.name, left) if is_complex(left.dtype) else left
    return matmul(e, ravel(e, left), ravel(e, right))


def vecdot(e: Emitter, x1: Operand, x2: Operand, axis: int = -1) -> Tensor:
    """The products of vectors along an axis."""
    left, right = e.together(x1, x2)
    left = e.op(chlo.conj.name, left) if is_complex(left.dtype) else left
    return sum_(e, multiply(e, left, right), axis, False)


def tensordot(e: Emitter, a: Tensor, b: Tensor, axes: Value = 2) -> Tensor:
    """The sum over the last dimensions of a and as many first ones of b, or over those that `axes` pairs."""
    left, right = same_dtype(e, a, b)
    if isinstance(axes, int):
        if not 0 <= axes <= min(left.rank, right.rank):
            raise e.error(f"tensordot of {left.type} and {right.type} over {axes} dimensions")
        return tensordot_over(e, left, right, tuple(range(left.rank - axes, left.rank)), tuple(range(axes)))
    pairs = axes if isinstance(axes, tuple) else ()
    sides = [tuple(one for one in _each(side) if isinstance(one, int)) for side in pairs]
    if len(sides) != 2 or len(sides[0]) != len(sides[1]):
        raise e.error("tensordot: axes is a number, or the dimensions of a and as many of b")
    first, second = (
        tuple(axis_of(e, one, t.rank) for one in side) for side, t in zip(sides, (left, right), strict=True)
    )
    return tensordot_over(e, left, right, first, second)


def _each(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def tensordot_over(
    e: Emitter, left: Tensor, right: Tensor, first: tuple[int, ...], second: tuple[int, ...]
) -> Tensor:
    """The sum over these dimensions, pair by pair."""
    sizes, others = [left.shape[d] for d in first], [right.shape[d] for d in second]
    if sizes != others:
        raise e.error(
            f"{left.type} and {right.type}: the contracted dimensions have sizes {sizes} and {others}"
        )
    return dot_general(e, left, right, DotDims((), (), first, second))


def kron(e: Emitter, a: Operand, b: Operand) -> Tensor:
    """Each element of a times all of b, as blocks."""
    left, right = same_dtype(e, a, b)
    rank = max(left.rank, right.rank)
    first, second = (e.reshape(t, (*(1,) * (rank - t.rank), *t.shape)) for t in (left, right))
    both = tuple(n for pair in zip(first.shape, second.shape, strict=True) for n in pair)
    spread = e.broadcast_in_dim(first, both, tuple(range(0, 2 * rank, 2)))
    product = multiply(e, spread, e.broadcast_in_dim(second, both, tuple(range(1, 2 * rank, 2))))
    return e.reshape(product, tuple(x * y for x, y in zip(first.shape, second.shape, strict=True)))


def cross(e: Emitter, a: Operand, b: Operand, axis: int = -1) -> Tensor:
    """The product of vectors of three numbers, perpendicular to both."""
    left, right = e.together(a, b)
    dim = axis_of(e, axis, left.rank)
    if left.shape[dim] != 3:
        raise e.error(f"cross of {left.type}: dimension {dim} has 3 numbers")

    def part(x: Tensor, i: int) -> Formula:
        return Formula(e, slice_dim(e, x, dim, i % 3, i % 3 + 1))

    parts = [
        part(left, i + 1) * part(right, i + 2) - part(left, i + 2) * part(right, i + 1) for i in range(3)
    ]
    return concatenate(e, tuple(one.tensor for one in parts), dim)


def matrix_power(e: Emitter, a: Tensor, n: int) -> Tensor:
    """a @ a @ …, n times."""
    if a.rank < 2 or a.shape[-1] != a.shape[-2] or n < 0:
        raise e.error(
            f"matrix_power of {a.type} by {n}", "of square matrices by a number that is not negative"
        )
    result: Tensor | None = None
    while n:
        if n % 2:
            result = a if result is None else matmul(e, result, a)
        n //= 2
        a = matmul(e, a, a) if n else a
    return e.broadcast_to(eye(e, a.shape[-1], None, Dtype(a.dtype)), a.shape) if result is None else result


def trapezoid(e: Emitter, y: Tensor, x: Operand | None = None, dx: Scalar = 1.0, axis: int = -1) -> Tensor:
    """The integral of values at places x, or dx apart."""
    values, dim = e.inexact(y), axis_of(e, axis, y.rank)
    size = values.shape[dim]
    before, after = slice_dim(e, values, dim, 0, size - 1), slice_dim(e, values, dim, 1, size)
    width: Formula | float = float(dx)
    if x is not None:
        x = e.tensor(x)
        if x.rank != 1 and x.shape != y.shape:
            raise e.error(f"trapezoid: places {x.type} for values {y.type}")
        along = x.rank - 1 if x.rank == 1 else dim
        gaps = Formula(e, slice_dim(e, x, along, 1, size)) - slice_dim(e, x, along, 0, size - 1)
        shape = (
            tuple(size - 1 if i == dim else 1 for i in range(y.rank)) if x.rank == 1 else gaps.tensor.shape
        )
        width = Formula(e, e.reshape(gaps.tensor, shape))
    return sum_(e, ((Formula(e, after) + before) * width * 0.5).tensor, dim, False)


def polyval(e: Emitter, p: Tensor, x: Operand) -> Tensor:
    """The polynomial with these coefficients, the highest power first."""
    if p.rank != 1:
        raise e.error(f"polyval: p is a vector, not {p.type}")
    total = Formula(e, e.splat(0, p.type.with_shape(e.tensor(x).shape)))
    for i in range(p.shape[0]):
        coefficient = e.reshape(slice_dim(e, p, 0, i, i + 1), ())
        total = Formula(e, x) * total + coefficient if i else total + coefficient
    return total.tensor


def norm(e: Emitter, x: Tensor, ord: Value = None, axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The length of vectors, or the root of the sum of squares of matrices; `ord` as in jnp.linalg.norm."""
    values = e.inexact(x)
    dims = axes_of(e, axis, x.rank)
    matrices = len(dims) == 2
    if ord is None or (ord == "fro" and matrices) or (ord == 2 and len(dims) == 1):
        size = Formula(e, values).of(abs_)
        return e.op(hlo.sqrt.name, sum_(e, (size * size).tensor, dims, keepdims))
    if len(dims) not in (1, 2):
        raise e.error(
            f"norm: ord {describe(ord)} over {len(dims)} dimensions", "axis names one or two of them"
        )
    if not isinstance(ord, int | float) or (matrices and ord not in (1, inf, -1, -inf)):
        hint = (
            'of matrices it is 1, -1, inf, -inf or "fro"' if matrices else "of vectors it is a number or inf"
        )
        raise e.error(f"norm: ord {describe(ord)} of {'matrices' if matrices else 'vectors'}", hint)
    sizes = abs_(e, values)
    if matrices:
        rows, columns = (axis_of(e, dim, x.rank) for dim in axis) if isinstance(axis, tuple) else dims
        summed, chosen = ((rows,), (columns,)) if abs(ord) == 1 else ((columns,), (rows,))
        total = sum_(e, sizes, summed, True)
        found = max_(e, total, chosen, True) if ord > 0 else min_(e, total, chosen, True)
        kept = found.shape if keepdims else tuple(n for d, n in enumerate(found.shape) if d not in dims)
        return e.reshape(found, kept)
    if abs(ord) == inf:
        return max_(e, sizes, dims, keepdims) if ord > 0 else min_(e, sizes, dims, keepdims)
    if ord == 0:
        nonzero = comparison(e, *e.together(sizes, 0.0), direction="NE")
        return sum_(e, e.cast(nonzero, sizes.dtype), dims, keepdims)
    if ord == 1:
        return sum_(e, sizes, dims, keepdims)
    powers = Formula(e, sizes).op(hlo.power, float(ord))
    return Formula(e, sum_(e, powers.tensor, dims, keepdims)).op(hlo.power, 1 / ord).tensor
