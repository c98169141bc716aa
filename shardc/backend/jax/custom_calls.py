"""Custom calls: what JAX calls LAPACK for on CPU is written as jax.lax.linalg, which runs on every device.

Others are written as calls of the same target, which whoever runs the program registers with jax.ffi.
"""

from __future__ import annotations

from shardc.backend.jax.casts import cast_over
from shardc.backend.jax.host_calls import host_call
from shardc.backend.jax.local_function import by_local_function
from shardc.backend.jax.structs import struct
from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, call, list_of, raw
from shardc.backend.python.names import quoted
from shardc.backend.python.printers import Printed
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several
from shardc.diagnostics import ShardcError
from shardc.graph import Node
from shardc.ops import hlo
from shardc.ops.custom_calls import HOST_CALL
from shardc.semantics.lapack import options_of, routine

_FUNCTIONS: dict[str, tuple[str, str]] = {
    "potrf": (
        "x",
        """
factor = {lower}
return factor, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "getrf": (
        "x",
        """
factors, pivots, _ = lax.linalg.lu(x)
return factors, pivots + 1, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "gtsv": (
        "lower, diagonal, upper, b",
        """
solution = lax.linalg.tridiagonal_solve(lower, diagonal, upper, b)
return lower, diagonal, upper, solution, jnp.zeros(b.shape[:-2], jnp.int32)
""",
    ),
    "geqrf": (
        "x",
        """
vectors, scales = jnp.linalg.qr(x, mode="raw")
return vectors.mT, scales
""",
    ),
    "gehrd": (
        "x",
        """
vectors, scales = lax.linalg.hessenberg(x)
return vectors, scales, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "sytrd": (
        "x",
        """
vectors, diagonal, off, scales = lax.linalg.tridiagonal(x, lower={is_lower})
return vectors, diagonal, off, scales, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "gees": (
        "x",
        """
form, vectors = lax.linalg.schur(x)
values = jnp.diagonal(form, axis1=-2, axis2=-1)
none = jnp.zeros(x.shape[:-2], jnp.int32)
return form, vectors, values, none, none
""",
    ),
    "geev": (
        "x",
        """
values, left, right = lax.linalg.eig(x)
return {parts}, left, right, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "syevd": (
        "x",
        """
vectors, values = lax.linalg.eigh(x, lower={is_lower}, symmetrize_input=False)
return vectors, values, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "gesdd": (
        "x",
        """
u, values, v = lax.linalg.svd(x, full_matrices={full})
return x, values, u, v, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
}
"""Routine -> parameters and body of the function that stands for it."""

_SINGULAR_VALUES = """
values = lax.linalg.svd(x, compute_uv=False)
rows, columns = x.shape[-2:]
u, v = (jnp.zeros((*x.shape[:-2], n, n), x.dtype) for n in (rows, columns))
return x, values, u, v, jnp.zeros(x.shape[:-2], jnp.int32)
"""
_CHOLESKY = {
    ord("L"): "lax.linalg.cholesky(x, symmetrize_input=False)",
    ord("U"): "lax.linalg.cholesky(x.mT.conj(), symmetrize_input=False).mT.conj()",
}
_REAL_SCHUR = """
form, vectors = lax.linalg.schur(x)
values = jnp.diagonal(form, axis1=-2, axis2=-1)
above, below = (jnp.sqrt(jnp.abs(jnp.diagonal(form, k, -2, -1))) for k in (1, -1))
before, after = (jnp.pad(above * below, [(0, 0)] * (x.ndim - 2) + [ends]) for ends in ((0, 1), (1, 0)))
none = jnp.zeros(x.shape[:-2], jnp.int32)
return form, vectors, values, before - after, none, none
"""
"""A pair of conjugate eigenvalues is a block of two rows, with the real part twice in its diagonal."""

_EIGENVALUES = """
(values,) = lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
left = right = jnp.zeros(x.shape, values.dtype)
return {parts}, left, right, jnp.zeros(x.shape[:-2], jnp.int32)
"""


@JAX.prints(hlo.custom_call)
def custom_call(scope: Scope, node: Node) -> Printed:
    """A function of jax.lax.linalg, or a small one around it before the line that calls it; else
    jax.ffi.ffi_call.
    """
    target = str(node.attrs["call_target_name"])
    if target == HOST_CALL:
        return host_call(scope, node)
    name, options = routine(target), options_of(node.attrs)
    if name is None or not _is_plain(scope, node, name):
        return _foreign(scope, node, target)
    if name in _CALLS:
        function, said = _CALLS[name]
        return call(function, *map(scope.expr, node.operands), **said(options))
    params, text = _FUNCTIONS[name]
    if name == "gesdd" and options["mode"] == ord("N"):
        text = _SINGULAR_VALUES
    if name == "gees" and len(node.results) == 6:
        text = _REAL_SCHUR
    if name == "geev" and ord("V") not in options.values():
        text = _EIGENVALUES
    uplo = options.get("uplo")
    values = {
        "lower": _CHOLESKY.get(uplo or 0, ""),
        "is_lower": str(uplo == ord("L")),
        "full": str(options.get("mode") == ord("A")),
        "parts": "values" if len(node.results) == 4 else "values.real, values.imag",
    }
    return by_local_function(scope, node, name, params, text, values)


def _is_plain(scope: Scope, node: Node, name: str) -> bool:
    """Whether jax.lax.linalg does it: Hessenberg forms of whole matrices only."""
    options = options_of(node.attrs)
    size = scope.type(node.operands[0]).shape[-1]
    return name != "gehrd" or (options["low"], options["high"]) == (1, size)


def _foreign(scope: Scope, node: Node, target: str) -> Printed:
    if options_of(node.attrs) or node.attrs.get("backend_config"):
        raise ShardcError(
            f"custom_call @{target} cannot be written as JAX: the types of its options are not known",
            node.loc,
            hint="a custom call without options is written as jax.ffi.ffi_call",
        )
    results = [struct(scope, value) for value in node.results]
    function = call(
        "jax.ffi.ffi_call", raw(quoted(target)), results[0] if len(results) == 1 else list_of(results)
    )
    varies = scope.emission.varying.get(node.results[0], frozenset[str]())
    done = cast_over(scope, call(function, *(scope.expr(value) for value in node.operands)), varies)
    return done if len(results) == 1 else Several(done)


def _solve_options(options: dict[str, int]) -> dict[str, str]:
    flags = {
        "left_side": options["side"] == ord("L"),
        "lower": options["uplo"] == ord("L"),
        "transpose_a": options["trans_x"] != ord("N"),
        "conjugate_a": options["trans_x"] == ord("C"),
        "unit_diagonal": options["diag"] == ord("U"),
    }
    return {key: "True" for key, value in flags.items() if value}


def _product_options(options: dict[str, int]) -> dict[str, str]:
    return {key: str(bool(options[key])) for key in ("left", "transpose")}


def _no_options(_: dict[str, int]) -> dict[str, str]:
    return {}


_CALLS = {
    "orgqr": ("lax.linalg.householder_product", _no_options),
    "ormqr": ("lax.linalg.ormqr", _product_options),
    "trsm": ("lax.linalg.triangular_solve", _solve_options),
}
"""Routine -> the function that takes and gives the same, and its keywords by the routine's options."""


@JAX.prints(idiom.cholesky)
def cholesky(scope: Scope, node: Node) -> Expr:
    """jnp.linalg.cholesky(x), of x and its adjoint's mean; lax's function of what is symmetric already."""
    (value,) = map(scope.expr, node.operands)
    if node.attrs["symmetrizes"]:
        return call("jnp.linalg.cholesky", value)
    return call("lax.linalg.cholesky", value, symmetrize_input="False")
