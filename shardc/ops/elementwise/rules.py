"""Rules of operations that compute every element from the elements at the same place.

All have one factor per dimension. What differs is how partial results flow through them.
"""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import FP8, is_complex, is_float, is_integer
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import pointwise

_WIDER = {
    **dict.fromkeys(FP8, ("bf16", "f32", "f64", "c64", "c128")),
    "bf16": ("f32", "f64", "c64", "c128"),
    "f16": ("f32", "f64", "c64", "c128"),
    "f32": ("f64", "c64", "c128"),
    "f64": ("c128",),
    "c64": ("c128",),
}


def opaque(op: Op) -> FactorRule:
    """No partial result flows through: abs, compare, power, log of a partial maximum that may be -inf, …"""
    return pointwise(op)


def identity(op: Op) -> FactorRule:
    """x -> x, wherever it is."""
    return pointwise(op, linear=[[0]], monotone=[[0]])


def increasing(op: Op) -> FactorRule:
    """exp, tanh, floor, …: defined everywhere, and never decreasing."""
    return pointwise(op, monotone=[[0]])


def decreasing(op: Op) -> FactorRule:
    """erfc: defined everywhere, and never increasing."""
    return pointwise(op, antitone=[[0]])


def add(op: Op) -> FactorRule:
    """a + b. The sums of integers may wrap, so partial maxima flow only through those of floats."""
    if op.operands[0].dtype == "bool":
        return either(op)
    monotone = [[0], [1]] if is_float(op.operands[0].dtype) else []
    return pointwise(op, linear=[[0, 1]], monotone=monotone)


def subtract(op: Op) -> FactorRule:
    """a - b."""
    real = is_float(op.operands[0].dtype)
    return pointwise(op, linear=[[0, 1]], monotone=[[0]] if real else [], antitone=[[1]] if real else [])


def negate(op: Op) -> FactorRule:
    """-x. The lowest integer is its own negative, so partial maxima flow only through floats."""
    return pointwise(op, linear=[[0]], antitone=[[0]] if is_float(op.operands[0].dtype) else [])


def multiply(op: Op) -> FactorRule:
    """a * b: linear in either, with the other equal everywhere."""
    if op.operands[0].dtype == "bool":
        return both(op)
    return pointwise(op, linear=[[0], [1]])


def divide(op: Op) -> FactorRule:
    """a / b: linear in a, but integers round."""
    return pointwise(op, linear=[] if is_integer(op.operands[0].dtype) else [[0]])


def maximum(op: Op) -> FactorRule:
    """max(a, b), which distributes over max and min in one operand, over max in both."""
    if op.operands[0].dtype == "bool":
        return either(op)
    return pointwise(op, monotone=[[0], [1]], max_only=[[0, 1]])


def minimum(op: Op) -> FactorRule:
    """min(a, b)."""
    if op.operands[0].dtype == "bool":
        return both(op)
    return pointwise(op, monotone=[[0], [1]], min_only=[[0, 1]])


def either(op: Op) -> FactorRule:
    """a or b; on bool it is the maximum."""
    if op.operands[0].dtype != "bool":
        return opaque(op)
    return pointwise(op, monotone=[[0], [1]], max_only=[[0, 1]])


def both(op: Op) -> FactorRule:
    """a and b; on bool it is the minimum."""
    if op.operands[0].dtype != "bool":
        return opaque(op)
    return pointwise(op, monotone=[[0], [1]], min_only=[[0, 1]])


def invert(op: Op) -> FactorRule:
    """not x: bitwise on integers, where it is -1 - x, and never increasing."""
    return pointwise(op, antitone=[[0]])


def select(op: Op) -> FactorRule:
    """pred ? a : b; pred may be a scalar."""
    return pointwise(op, linear=[[1, 2]], monotone=[[1, 2]])


def clamp(op: Op) -> FactorRule:
    """min(max(x, low), high); low and high may be scalars."""
    return pointwise(op, monotone=[[0], [1], [2]])


def convert(op: Op) -> FactorRule:
    """To another dtype. Sums survive where nothing is rounded, order where nothing wraps."""
    source, target = op.operands[0].dtype, op.results[0].dtype
    return pointwise(
        op,
        linear=[[0]] if _keeps_sums(source, target) else [],
        monotone=[[0]] if _keeps_order(source, target) else [],
    )


def complex_parts(op: Op) -> FactorRule:
    """real(x), imag(x), conj(x)."""
    return pointwise(op, linear=[[0]])


def complex_of(op: Op) -> FactorRule:
    """a + bi."""
    return pointwise(op, linear=[[0, 1]])


def _keeps_sums(source: str, target: str) -> bool:
    return source == target or target in _WIDER.get(source, ())


def _keeps_order(source: str, target: str) -> bool:
    if source == target or is_float(target):
        return not is_complex(source)
    if source == "bool":
        return is_integer(target)
    if not (is_integer(source) and is_integer(target)):
        return False
    widens = int(source[1:]) < int(target[1:])
    return widens and (source[0] == target[0] or source[0] == "u")
