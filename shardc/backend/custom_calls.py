"""Custom calls: what JAX calls LAPACK for on CPU is written as jax.lax.linalg, which runs on every device.

Others are written as calls of the same target, which whoever runs the program registers with jax.ffi.
"""

from __future__ import annotations

import re
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, call, integers, list_of, raw
from shardc.backend.names import quoted
from shardc.backend.terms import Several
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Node
from shardc.semantics.lapack import is_known

OPTIONS = "mhlo.backend_config"

_FUNCTIONS: dict[str, tuple[str, str]] = {
    "potrf": (
        "x",
        """
factor = {lower}
return factor, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "trsm": ("a, b", "return lax.linalg.triangular_solve(a, b, {options})"),
    "getrf": (
        "x",
        """
factors, pivots, _ = lax.linalg.lu(x)
return factors, pivots + 1, jnp.zeros(x.shape[:-2], jnp.int32)
""",
    ),
    "geqrf": (
        "x",
        """
vectors, scales = jnp.linalg.qr(x, mode="raw")
return vectors.mT, scales
""",
    ),
    "orgqr": ("vectors, scales", "return lax.linalg.householder_product(vectors, scales)"),
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
_SAME = {"ungqr": "orgqr", "heevd": "syevd"}


def options_of(node: Node) -> dict[str, int]:
    """The options that a routine is called with: one letter each, as its code."""
    return dict(cast("tuple[tuple[str, int], ...]", node.attrs.get(OPTIONS) or ()))


def in_jax(body: Body, node: Node) -> Printed:
    """A small function of jax.lax.linalg, before the line that calls it; else jax.ffi.ffi_call."""
    target = str(node.attrs["call_target_name"])
    if not is_known(target):
        return _foreign(body, node, target)
    routine = _routine(target)
    options = options_of(node)
    params, text = _FUNCTIONS[routine]
    if routine == "gesdd" and options["mode"] == ord("N"):
        text = _SINGULAR_VALUES
    uplo = options.get("uplo")
    values = {
        "lower": _CHOLESKY.get(uplo or 0, ""),
        "is_lower": str(uplo == ord("L")),
        "full": str(options.get("mode") == ord("A")),
        "options": _solve_options(options) if routine == "trsm" else "",
    }
    arrays = [body.variable(value) for value in node.operands]
    function = body.names.fresh(routine)
    body.names.pin(function)
    with body.writer.inner_function(f"def {function}({params}):"):
        body.writer.lines(text.format(**values))
    done = call(function, *arrays)
    return done if len(node.results) == 1 else Several(done)


def in_numpy(body: Body, node: Node) -> Printed:
    """ops.lapack(target, *operands, options…)."""
    target = str(node.attrs["call_target_name"])
    if not is_known(target):
        raise ShardcError(
            f"custom_call @{target} cannot be written as NumPy: what it does is not known", node.loc
        )
    options = {key: raw(f'ord("{chr(code)}")') for key, code in options_of(node).items()}
    done = call("ops.lapack", raw(quoted(target)), *(body.expr(value) for value in node.operands), **options)
    return Several(done)


def _routine(target: str) -> str:
    name = re.sub(r"lapack_[sdcz](\w+)_ffi", r"\1", target)
    return _SAME.get(name, name)


def _foreign(body: Body, node: Node, target: str) -> Printed:
    if node.attrs.get(OPTIONS):
        raise ShardcError(
            f"custom_call @{target} cannot be written as JAX: the types of its options are not known",
            node.loc,
            hint="a custom call without options is written as jax.ffi.ffi_call",
        )
    results = [_struct(body, value) for value in node.results]
    function = call(
        "jax.ffi.ffi_call", raw(quoted(target)), results[0] if len(results) == 1 else list_of(results)
    )
    done = call(function, *(body.expr(value) for value in node.operands))
    return done if len(results) == 1 else Several(done)


def _struct(body: Body, value: int) -> Expr:
    """jax.ShapeDtypeStruct, with the mesh axes that the result varies over."""
    type = body.type(value)
    varies = sorted(body.context.varying.get(value, frozenset[str]()))
    axes = raw("{" + ", ".join(map(quoted, varies)) + "}") if varies else None
    dtype = body.target.dtype(type.dtype)
    return call("jax.ShapeDtypeStruct", integers(type.shape), dtype, vma=axes)


def _solve_options(options: dict[str, int]) -> str:
    flags = {
        "left_side": options["side"] == ord("L"),
        "lower": options["uplo"] == ord("L"),
        "transpose_a": options["trans_x"] != ord("N"),
        "conjugate_a": options["trans_x"] == ord("C"),
        "unit_diagonal": options["diag"] == ord("U"),
    }
    return ", ".join(f"{key}=True" for key, value in flags.items() if value)


JAX: dict[str, Printer] = {"stablehlo.custom_call": in_jax}
NUMPY: dict[str, Printer] = {"stablehlo.custom_call": in_numpy}
