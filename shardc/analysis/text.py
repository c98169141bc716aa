"""What messages and comments call things: `f32[16@data, 64] partial(sum: model)`, `add in line 4`."""

from __future__ import annotations

import re
from functools import lru_cache

from shardc.diagnostics import Location, place
from shardc.graph.program import Node
from shardc.graph.types import TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding, axis_named, text_of
from shardc.ops import func


@lru_cache(maxsize=1 << 14)
def sharded_text(type: TensorType, sharding: Sharding) -> str:
    """A global type with the axes that split each dimension, and what is partial."""
    sizes = ", ".join(dim_text(n, dim, sharding) for n, dim in zip(type.shape, sharding.dims, strict=True))
    partial = ", ".join(text_of(axis, sharding.mesh) for axis in sharding.unreduced)
    return f"{type.dtype}[{sizes}]" + (f" partial({sharding.kind}: {partial})" if partial else "")


def sharding_said(text: str, mesh: Mesh) -> Sharding:
    """The layout that sharded_text wrote. LayoutError if it is none on the mesh."""
    sizes, _, partial = text.partition("[")[2].partition("]")
    kind, _, names = partial.strip().removeprefix("partial(").removesuffix(")").partition(": ")
    axes = [match["several"] or match["one"] or "" for match in _SPLIT.finditer(sizes)]
    return Sharding(
        mesh, tuple(Dim(_axes(each, mesh)) for each in axes), (), _axes(names, mesh), kind or "sum"
    ).check()


_AXIS = r"[^,()@]+(?::\(\d+\)\d+)?"
_SPLIT = re.compile(rf"\d+(?:@(?:\((?P<several>{_AXIS}(?:, {_AXIS})+)\)|(?P<one>{_AXIS})))?(?:, |$)")
"""A size, and the axes that split it."""


def _axes(text: str, mesh: Mesh) -> tuple[Axis, ...]:
    return tuple(axis_named(name, mesh) for name in text.split(", ")) if text else ()


def dim_text(size: int, dim: Dim, sharding: Sharding) -> str:
    """`64`, `64@data` or `64@(data, model)`."""
    names = [text_of(axis, sharding.mesh) for axis in dim.axes]
    if not names:
        return str(size)
    return f"{size}@{names[0]}" if len(names) == 1 else f"{size}@({', '.join(names)})"


def operation(node: Node) -> str:
    """An operation's name; of a custom call, the function of JAX that it is, or its target."""
    target = str(node.attrs.get("call_target_name") or "")
    match = _ROUTINE.fullmatch(target)
    if match and match[1] in _FUNCTIONS:
        return _FUNCTIONS[match[1]]
    return f"custom_call @{target}" if target else node.name.partition(".")[2]


_ROUTINE = re.compile(r"(?:lapack_[sdcz]|(?:cu|hip)(?:solver|blas)_)(\w+)_ffi")

_FUNCTIONS = {
    "gees": "schur",
    "geev": "eig",
    "gehrd": "hessenberg",
    "geqrf": "qr",
    "gesdd": "svd",
    "getrf": "lu",
    "gtsv": "tridiagonal_solve",
    "heevd": "eigh",
    "hetrd": "tridiagonal",
    "orgqr": "householder_product",
    "ormqr": "householder_multiply",
    "potrf": "cholesky",
    "syevd": "eigh",
    "sytrd": "tridiagonal",
    "trsm": "triangular_solve",
    "ungqr": "householder_product",
    "unmqr": "householder_multiply",
}
"""LAPACK's routines -> what a person calls them."""


def name_of(loc: Location) -> str | None:
    """What the source calls a value, if anything: `jit(f)/add` is where JAX has its operation."""
    return None if loc.name is None or loc.name.startswith("jit(") else loc.name


def title(node: Node) -> str:
    """An operation as a person would call it: its name, and its line, or what stands there."""
    name = "the result" if node.name == func.return_.name else operation(node)
    if name == "return":
        name = "the next step"
    return f"{name} {place(node.loc)}" if node.loc.line and node.name != func.return_.name else name


def readable(count: int) -> str:
    """Bytes: 6 KiB, 1.5 MiB, 40 B."""
    size, unit = float(count), "B"
    for bigger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, bigger
    return f"{size:.1f}".removesuffix(".0") + f" {unit}"
