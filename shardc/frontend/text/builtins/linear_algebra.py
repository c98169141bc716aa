"""Linear algebra of stacks of matrices, as jnp.linalg and jax.lax.linalg have it; LAPACK decomposes."""

from __future__ import annotations

from functools import partial
from typing import Any

from shardc.frontend.text.annotations import Annotated
from shardc.frontend.text.builtins.complex_numbers import conj
from shardc.frontend.text.builtins.creation import eye
from shardc.frontend.text.builtins.diagonals import diagonal
from shardc.frontend.text.builtins.elementwise import abs_, comparison
from shardc.frontend.text.builtins.gathers import take_along_axis
from shardc.frontend.text.builtins.operators import BINARY, add, multiply, remainder, subtract
from shardc.frontend.text.builtins.products import matmul, same_dtype
from shardc.frontend.text.builtins.reductions import prod, sum_
from shardc.frontend.text.builtins.shapes import slice_dim, swapaxes, tril, triu
from shardc.frontend.text.derivative_rules import CustomRule
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.places import Pos
from shardc.frontend.text.trees import tensors_of
from shardc.frontend.text.typed import written_as
from shardc.frontend.text.values import Dtype, Operand, Tensor, Value
from shardc.graph.types import TensorType, is_complex
from shardc.ops import func, hlo
from shardc.semantics.lapack import OPTIONS

_LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
"""What LAPACK's routines for a dtype begin with."""


def matrices(e: Emitter, name: str, a: Operand, square: bool = True) -> Tensor:
    """Matrices of floats; an error for what is none."""
    x = e.inexact(a)
    if x.rank < 2 or (square and x.shape[-1] != x.shape[-2]):
        hint = f"the last two dimensions are those of {'square ' if square else ''}matrices"
        raise e.error(f"{name} of {x.type}", hint)
    if x.dtype not in _LETTERS:
        raise e.error(f"{name} of {x.type}: LAPACK has no {x.dtype}", "astype(x, f32) converts")
    return x


def lapack(
    e: Emitter, routine: str, operands: list[Tensor], results: list[TensorType], **options: int
) -> list[Tensor]:
    """A call of a LAPACK routine, under the name that JAX calls it by."""
    config: dict[str, Any] = {OPTIONS: tuple((key, options[key]) for key in sorted(options))}
    target = f"lapack_{_LETTERS[operands[0].dtype]}{routine}_ffi"
    return e.ops(
        hlo.custom_call.name, *operands, results=results, weak=False, call_target_name=target, **config
    )


def info_of(x: Tensor) -> TensorType:
    """The type of what LAPACK says of each matrix."""
    return TensorType(x.shape[:-2], "i32")


def succeeded(e: Emitter, info: Tensor, x: Tensor) -> Tensor:
    """x where LAPACK succeeded, elsewhere NaN."""
    good = comparison(e, info, e.splat(0, info.type), "EQ")
    good = e.broadcast_in_dim(good, x.shape, range(info.rank))
    return e.op(hlo.select.name, good, x, e.splat(float("nan"), x.type))


def adjoint(e: Emitter, x: Tensor) -> Tensor:
    """The conjugate of matrices, transposed."""
    return conj(e, swapaxes(e, x, -1, -2)) if is_complex(x.dtype) else swapaxes(e, x, -1, -2)


def _symmetrized(e: Emitter, x: Tensor) -> Tensor:
    return BINARY["/"](e, add(e, x, adjoint(e, x)), 2)


def cholesky(e: Emitter, a: Operand, upper: bool = False, symmetrize_input: bool = True) -> Tensor:
    """The factor L of a = L L^H, of matrices made symmetric first; NaN where there is none."""
    x = matrices(e, "cholesky", a)
    x = _symmetrized(e, x) if symmetrize_input else x
    factor = e.op(hlo.cholesky.name, x, lower=not upper)
    return triu(e, factor) if upper else tril(e, factor)


def triangular_solve(
    e: Emitter,
    a: Operand,
    b: Operand,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Tensor:
    """x with op(a) x = b (left_side) or x op(a) = b, of a triangle of a, as in jax.lax.linalg."""
    left, right = (e.inexact(one) for one in same_dtype(e, a, b))
    matrices(e, "triangular_solve", left)
    vectors = right.rank == left.rank - 1 and left_side
    right = e.reshape(right, (*right.shape, 1)) if vectors else right
    if right.rank < 2 or right.shape[-2 if left_side else -1] != left.shape[-1]:
        raise e.error(
            f"triangular_solve of {left.type} and {right.type}: the sizes differ",
            "it solves a x = b" if left_side else "it solves x a = b; left_side=True is for a x = b",
        )
    batch = e.broadcast_shape(left.shape[:-2], right.shape[:-2])
    left, right = (e.broadcast_to(one, (*batch, *one.shape[-2:])) for one in (left, right))
    if conjugate_a and not transpose_a and is_complex(left.dtype):
        left = conj(e, left)
    how = "ADJOINT" if transpose_a and conjugate_a else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
    result = e.op(
        hlo.triangular_solve.name,
        left,
        right,
        left_side=left_side,
        lower=lower,
        unit_diagonal=unit_diagonal,
        transpose_a=how,
    )
    return e.reshape(result, result.shape[:-1]) if vectors else result


def solve_triangular(
    e: Emitter,
    a: Operand,
    b: Operand,
    trans: int = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> Tensor:
    """The same as scipy.linalg has it: a x = b, of vectors or matrices b."""
    if trans not in (0, 1, 2):
        raise e.error(f"solve_triangular: trans is 0, 1 or 2, not {trans}")
    return triangular_solve(e, a, b, True, lower, trans > 0, trans == 2, unit_diagonal)


def _lu(e: Emitter, x: Tensor) -> tuple[Tensor, Tensor]:
    """L and U in one matrix, and the rows that were exchanged, counted from 1."""
    pivots = TensorType((*x.shape[:-2], min(x.shape[-2:])), "i32")
    factors, pivots, _ = lapack(e, "getrf", [x], [x.type, pivots, info_of(x)])
    return factors, pivots


def solve(e: Emitter, a: Operand, b: Operand) -> Tensor:
    """x with a x = b, of a vector b or of matrices, by LU."""
    from shardc.ops.derivatives.matrices import permutation
    from shardc.ops.derivatives.terms import Term

    left, right = (e.inexact(one) for one in same_dtype(e, a, b))
    left = matrices(e, "solve", left)
    vector = right.rank == 1
    right = e.reshape(right, (*right.shape, 1)) if vector else right
    if right.rank < 2 or right.shape[-2] != left.shape[-1]:
        raise e.error(f"solve of {left.type} and {e.tensor(b).type}: the sizes differ")
    factors, pivots = _lu(e, left)
    batch = e.broadcast_shape(left.shape[:-2], right.shape[:-2])
    order = Tensor(permutation(Term(e.builder, pivots.value), left.shape[-1]).v, pivots.type)
    order = e.broadcast_to(e.reshape(order, (*order.shape, 1)), (*batch, left.shape[-1], right.shape[-1]))
    factors = e.broadcast_to(factors, (*batch, *factors.shape[-2:]))
    right = e.broadcast_to(right, (*batch, *right.shape[-2:]))
    moved = take_along_axis(e, right, order, -2)
    inner = triangular_solve(e, factors, moved, left_side=True, lower=True, unit_diagonal=True)
    result = triangular_solve(e, factors, inner, left_side=True)
    return e.reshape(result, result.shape[:-1]) if vector else result


def inv(e: Emitter, a: Operand) -> Tensor:
    """The inverse."""
    x = matrices(e, "inv", a)
    return solve(e, x, e.broadcast_to(eye(e, x.shape[-1], None, Dtype(x.dtype)), x.shape))


def _parity(e: Emitter, pivots: Tensor) -> Tensor:
    """How many rows were exchanged, modulo 2."""
    place = e.op(hlo.iota.name, result=pivots.type, iota_dimension=pivots.rank - 1)
    moved = comparison(e, pivots, add(e, place, 1), "NE")
    return remainder(e, sum_(e, moved, -1, False), 2)


def det(e: Emitter, a: Operand) -> Tensor:
    """The determinant, by LU."""
    factors, pivots = _lu(e, matrices(e, "det", a))
    product = prod(e, diagonal(e, factors, 0, -2, -1), -1, False)
    odd = _parity(e, pivots)
    return multiply(e, product, e.cast(add(e, multiply(e, odd, -2), 1), product.dtype))


def slogdet(e: Emitter, a: Operand) -> tuple[Tensor, ...]:
    """The sign of the determinant, and the logarithm of its size."""
    factors, pivots = _lu(e, matrices(e, "slogdet", a))
    found = diagonal(e, factors, 0, -2, -1)
    odd = e.cast(add(e, multiply(e, _parity(e, pivots), -2), 1), found.dtype)
    sign = multiply(e, prod(e, e.op(hlo.sign.name, found), -1, False), odd)
    return sign, sum_(e, e.op(hlo.log.name, abs_(e, found)), -1, False)


def eigh(e: Emitter, a: Operand, UPLO: str = "L", symmetrize_input: bool = True) -> tuple[Tensor, ...]:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices."""
    x = matrices(e, "eigh", a)
    x = _symmetrized(e, x) if symmetrize_input else x
    if UPLO not in ("L", "U"):
        raise e.error(f'eigh: UPLO is "L" or "U", not "{UPLO}"')
    real = {"c64": "f32", "c128": "f64"}.get(x.dtype, x.dtype)
    values = TensorType(x.shape[:-1], real)
    name = "heevd" if is_complex(x.dtype) else "syevd"
    vectors, values, info = lapack(e, name, [x], [x.type, values, info_of(x)], mode=ord("V"), uplo=ord(UPLO))
    return succeeded(e, info, values), succeeded(e, info, vectors)


def eigvalsh(e: Emitter, a: Operand, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices."""
    return eigh(e, a, UPLO)[0]


def qr(e: Emitter, a: Operand) -> Value:
    """Q with orthonormal columns and R, upper triangular, of a = Q R: the reduced form."""
    x = matrices(e, "qr", a, square=False)
    size = min(x.shape[-2:])
    shapes = (*x.shape[:-2], x.shape[-2], size), (*x.shape[:-2], size, x.shape[-1])
    symbol = e.helper("qr", [x.type], partial(_qr, e))
    pos = Pos(e.loc.line, e.loc.col, e.loc.file)

    def forward(one: Value) -> Value:
        assert isinstance(one, Tensor)
        pair = tuple(_qr(e, one))
        return pair, pair

    def backward(saved: Value, ct: Value) -> Value:
        if x.shape[-2] < x.shape[-1]:
            hint = "it has one where there are at least as many rows as columns"
            raise e.error(f"qr of {x.type} has no derivative", hint)
        return (_qr_backward(e, tensors_of(saved), tensors_of(ct)),)

    parameter = Annotated(x.type, None, written_as(x.type, pos))
    e.rules.customs[symbol] = CustomRule("qr", (parameter,), forward, backward)
    results = [x.type.with_shape(shape) for shape in shapes]
    return tuple(e.ops(func.call.name, x, results=results, weak=False, callee=symbol))


def _qr(e: Emitter, x: Tensor) -> list[Tensor]:
    size = min(x.shape[-2:])
    packed, scales = lapack(e, "geqrf", [x], [x.type, TensorType((*x.shape[:-2], size), x.dtype)])
    name = "ungqr" if is_complex(x.dtype) else "orgqr"
    first = slice_dim(e, packed, x.rank - 1, 0, size)
    (q,) = lapack(e, name, [first, scales], [first.type])
    return [q, triu(e, slice_dim(e, packed, x.rank - 2, 0, size))]


def _qr_backward(e: Emitter, saved: list[Tensor], ct: list[Tensor]) -> Tensor:
    """(ct_Q + Q copyltu(R ct_R^H - ct_Q^H Q)) R^-H, where copyltu repeats the lower triangle above."""
    (q, r), (ct_q, ct_r) = saved, ct
    both = subtract(e, matmul(e, r, adjoint(e, ct_r)), matmul(e, adjoint(e, ct_q), q))
    symmetric = add(e, tril(e, both), adjoint(e, tril(e, both, -1)))
    whole = add(e, ct_q, matmul(e, q, symmetric))
    return triangular_solve(e, r, whole, transpose_a=True, conjugate_a=True)


def svd(e: Emitter, a: Operand, full_matrices: bool = True, compute_uv: bool = True) -> Value:
    """u, the singular values, descending, and the adjoint of v; or the singular values alone."""
    x = matrices(e, "svd", a, square=False)
    rows, columns = x.shape[-2:]
    size, whole = min(rows, columns), full_matrices or not compute_uv
    real = {"c64": "f32", "c128": "f64"}.get(x.dtype, x.dtype)
    shapes = ((rows, rows), (columns, columns)) if whole else ((rows, size), (size, columns))
    u, v = (x.type.with_shape((*x.shape[:-2], *shape)) for shape in shapes)
    values = TensorType((*x.shape[:-2], size), real)
    mode = ord("N") if not compute_uv else ord("A") if full_matrices and rows != columns else ord("S")
    _, values, u, v, info = lapack(e, "gesdd", [x], [x.type, values, u, v, info_of(x)], mode=mode)
    if not compute_uv:
        return succeeded(e, info, values)
    return succeeded(e, info, u), succeeded(e, info, values), succeeded(e, info, v)
