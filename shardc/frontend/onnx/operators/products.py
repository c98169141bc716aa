"""Matrix products."""

from __future__ import annotations

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import add, compare, concat, iota, mul, row, slice_, sub
from shardc.frontend.text.builtins.products import einsum, matmul
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor


def _matmul(n: Node) -> Tensor:
    return matmul(n.e, n.x(0), n.x(1))


def _gemm(n: Node) -> Tensor:
    """alpha A' B' + beta C, where the ' are transpositions if the node says so."""
    e = n.e
    left = "ki" if n.int("transA") else "ik"
    right = "jk" if n.int("transB") else "kj"
    result = einsum(e, f"{left},{right}->ij", n.x(0), n.x(1))
    alpha, beta = n.float("alpha", 1.0), n.float("beta", 1.0)
    result = result if alpha == 1 else mul(e, result, alpha)
    if not n.has(2) or beta == 0:
        return result
    return add(e, result, n.x(2) if beta == 1 else mul(e, n.x(2), beta))


def _einsum(n: Node) -> Tensor:
    """NumPy's einsum; a letter that stands twice in one operand is its diagonal."""
    e = n.e
    left, arrow, output = n.text("equation").replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        dots = "..." if "." in left else ""
        output = dots + "".join(sorted({x for x in letters if letters.count(x) == 1}))
    operands = n.xs()
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in left]
    for place in range(len(operands)):
        while twice := next((c for c in terms[place] if c != "." and terms[place].count(c) > 1), None):
            fresh = free.pop()
            terms[place] = fresh.join(terms[place].rsplit(twice, 1))
            at = terms[place].replace("...", "", 1).index(twice)
            size = operands[place].shape[at - terms[place].replace("...", "", 1).__len__()]
            rows, columns = (iota(e, (size, size), dim) for dim in (0, 1))
            operands.append(e.cast(compare(e, "EQ", rows, columns), operands[place].dtype))
            terms.append(twice + fresh)
    return einsum(e, ",".join(terms) + "->" + output, *operands)


def _shifted(e: Emitter, x: Tensor, zero: Tensor | None, at: int) -> Tensor:
    """x - zero in i32; a zero point of one dimension lies along dimension `at`."""
    whole = e.cast(x, "i32")
    if zero is None:
        return whole
    point = e.cast(zero, "i32")
    if point.rank == 1 and point.type.size > 1:
        point = e.broadcast_in_dim(point, whole.shape, (at % whole.rank,))
    elif point.type.size == 1:
        point = e.reshape(point, ())
    return sub(e, whole, point)


def _matmul_integer(n: Node) -> Tensor:
    e = n.e
    a = _shifted(e, n.x(0), n.x(2) if n.has(2) else None, -2)
    return matmul(e, a, _shifted(e, n.x(1), n.x(3) if n.has(3) else None, -1))


def _qlinear_matmul(n: Node) -> Tensor:
    """The 32-bit products, scaled, rounded to even, and clamped to the result's type."""
    from shardc.frontend.onnx.operators.quantise import requantise

    e = n.e
    a = _shifted(e, n.x(0), n.x(2), -2)
    b = _shifted(e, n.x(3), n.x(5), -1)
    product = e.cast(matmul(e, a, b), "f32")
    a_scale, b_scale = e.cast(n.x(1), "f32"), e.cast(n.x(4), "f32")
    a_scale = (
        e.broadcast_in_dim(a_scale, product.shape, (product.rank - 2,))
        if a_scale.rank == 1 and a_scale.type.size > 1
        else e.reshape(a_scale, ())
        if a_scale.rank == 1
        else a_scale
    )
    scaled = mul(e, mul(e, product, a_scale), b_scale)
    return requantise(e, scaled, e.cast(n.x(6), "f32"), n.x(7))


def _det(n: Node) -> Tensor:
    """Laplace's expansion along the first row."""
    x = n.x(0)
    size = x.shape[-1]
    if x.rank < 2 or x.shape[-2] != size or not 1 <= size <= 5:
        raise n.unsupported(f"of {x.type}: matrices of 1 to 5 rows")
    return _determinant(n.e, x)


def _determinant(e: Emitter, x: Tensor) -> Tensor:
    size, rank = x.shape[-1], x.rank
    first = row(e, x, rank - 2, 0)
    if size == 1:
        return row(e, first, rank - 2, 0)
    below = slice_(e, x, rank - 2, 1, size)
    total: Tensor | None = None
    for column in range(size):
        parts = [slice_(e, below, rank - 1, a, b) for a, b in ((0, column), (column + 1, size)) if a < b]
        term = mul(e, row(e, first, rank - 2, column), _determinant(e, concat(e, parts, rank - 1)))
        if total is None:
            total = term
        else:
            total = sub(e, total, term) if column % 2 else add(e, total, term)
    assert total is not None
    return total


OPERATORS: dict[str, Lower] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Einsum": _einsum,
    "MatMulInteger": _matmul_integer,
    "QLinearMatMul": _qlinear_matmul,
    "Det": _det,
}
