"""Which dtype an operation computes in: JAX's promotion lattice, with weak Python scalars.

Going up the edges from each operand, the first dtype they share. A Python number has no dtype of its own: an
int enters at int*, a float at float*, a complex number at complex*, below every dtype of its kind, so `x * 2`
keeps x's dtype. Where the answer is int*, float* or complex* itself it becomes i32, f32 or c64 and stays
weak. Floats of 8 bits and integers of 4 have a way up to no other dtype.
(https://docs.jax.dev/en/latest/type_promotion.html)
"""

from __future__ import annotations

from functools import cache

from shardc.graph.types import FOUR_BITS, FP8

_ABOVE: dict[str, tuple[str, ...]] = {
    "bool": ("int*",),
    "int*": (*FOUR_BITS, "i8", "u8"),
    **dict.fromkeys(FOUR_BITS, ()),
    "i8": ("i16",),
    "u8": ("i16", "u16"),
    "i16": ("i32",),
    "u16": ("i32", "u32"),
    "i32": ("i64",),
    "u32": ("i64", "u64"),
    "i64": ("float*",),
    "u64": ("float*",),
    "float*": (*FP8, "bf16", "f16", "complex*"),
    **dict.fromkeys(FP8, ()),
    "bf16": ("f32",),
    "f16": ("f32",),
    "f32": ("f64", "c64"),
    "f64": ("c128",),
    "complex*": ("c64",),
    "c64": ("c128",),
    "c128": (),
}

WEAK = {"i32": "int*", "f32": "float*", "c64": "complex*"}
DEFAULT = {"int*": "i32", "float*": "f32", "complex*": "c64"}

DTYPES = tuple(name for name in _ABOVE if not name.endswith("*"))
"""The dtypes of the language."""

SPELLED = {name: name for name in DTYPES} | {mlir: name for name, (mlir, _) in FP8.items()}
"""What a program may call them: f8e4m3fn, or f8E4M3FN as MLIR does."""


class NoPromotion(ValueError):
    """Dtypes without a common one above them."""


def promote(operands: tuple[tuple[str, bool], ...]) -> tuple[str, bool]:
    """The common dtype of (dtype, weak) pairs, and whether it is weak. NoPromotion names two without one."""
    nodes = [WEAK[dtype] if weak and dtype in WEAK else dtype for dtype, weak in operands]
    node = nodes[0]
    for other in nodes[1:]:
        found = _join(node, other)
        if found is None:
            raise NoPromotion(f"{node} and {other} have no common dtype")
        node = found
    return DEFAULT.get(node, node), node in DEFAULT


@cache
def _join(left: str, right: str) -> str | None:
    shared = _up(left) & _up(right)
    return next((node for node in shared if shared <= _up(node)), None)


@cache
def _up(node: str) -> frozenset[str]:
    return frozenset((node,)).union(*map(_up, _ABOVE[node]))
