"""Operations that give one of their operands: what each of a kind is then.

%1 = stablehlo.multiply %x, 1       is %x
%2 = stablehlo.slice %x [0:8, 0:4]  is %x, which has that type
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.types import type_of
from shardc.graph import identity, is_float, is_integer
from shardc.ops import hlo, spmd
from shardc.ops.extremes import COMPARES
from shardc.rewrite.constants import is_splat, repeated, splat_of
from shardc.rewrite.slice_ranges import WIDTHS
from shardc.rewrite.zeros import ignores_sign_of_zero, is_negative_zero


def _chosen(op: Operation) -> SSAValue | None:
    """What a constant predicate chooses, or any of two that are one value or one constant."""
    if (same := either_way(op)) is not None:
        return same
    choice, first, second = op.operands
    if is_splat(choice, True) or _one_constant(first, second):
        return first
    return second if is_splat(choice, False) else None


def either_way(op: Operation) -> SSAValue | None:
    """What is chosen between one value and itself."""
    if op.name != hlo.select.name or op.operands[1] is not op.operands[2]:
        return None
    return op.operands[1]


def _one_constant(first: SSAValue, second: SSAValue) -> bool:
    one, other = splat_of(first), splat_of(second)
    return one is not None and other is not None and one.tobytes() == other.tobytes()


def _compared_with_truth(op: Operation) -> SSAValue | None:
    """p != False and p == True are p."""
    value, truth = op.operands
    if type_of(value.type).dtype != "bool":
        return None
    direction = python_of(_attribute(op, "comparison_direction"))
    return value if is_splat(truth, {"NE": False, "EQ": True}.get(str(direction))) else None


def _condition(op: Operation) -> SSAValue | None:
    """A condition as numbers, 0 and 1, that are compared so that 1 alone is true, is the condition."""
    direction = COMPARES[str(python_of(_attribute(op, "comparison_direction")))]
    for place, value in enumerate(op.operands):
        made, number = value.owner, splat_of(op.operands[1 - place])
        if number is None or not isinstance(made, Operation) or made.name != hlo.convert.name:
            continue
        (condition,) = made.operands
        pairs = [(each, number) if place == 0 else (number, each) for each in (0, 1)]
        told = [bool(direction(*pair)) for pair in pairs]
        if type_of(condition.type).dtype == "bool" and told == [False, True]:
            return condition
    return None


def _compared(op: Operation) -> SSAValue | None:
    in_order = "compare_type" in op.properties and python_of(op.properties["compare_type"]) == "TOTALORDER"
    return _compared_with_truth(op) or (None if in_order else _condition(op))


def _same_type(op: Operation) -> SSAValue | None:
    """An operation that cannot change anything but the type, and doesn't."""
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


def _whole(op: Operation) -> SSAValue | None:
    """What is written in the place of everything."""
    array, update = op.operands[:2]
    return update if update.type == array.type else None


def _in_order(op: Operation) -> SSAValue | None:
    return _same_type(op) if _reshapes(op) else None


def _over_nothing(op: Operation) -> SSAValue | None:
    """What is reduced over no dimension, or over dimensions of size 1 that were only just added."""
    if not _reshapes(op):
        return None
    (value, _), over = op.operands, python_of(_attribute(op, "dimensions"))
    made = value.owner
    if over and not (isinstance(made, Operation) and made.name != hlo.reduce.name and _reshapes(made)):
        return None
    before = made.operands[0] if over and isinstance(made, Operation) else value
    return before if before.type == op.results[0].type else None


def _windows_of_one(op: Operation) -> SSAValue | None:
    """What is reduced over windows of one element each, which lie where the elements are."""
    value, kind = op.operands[0], _combination(op)
    windows, padding = python_of(_attribute(op, "window_dimensions")), op.properties.get("padding")
    if kind is None or set(cast("tuple[int, ...]", windows)) - {1}:
        return None
    if padding is not None and np.any(np.asarray(python_of(padding))):
        return None
    from_identity = is_splat(op.operands[1], identity(kind, type_of(value.type).dtype))
    return value if from_identity and value.type == op.results[0].type else None


def reshaped_back(op: Operation) -> SSAValue | None:
    """The tensor that an operation gives back, of the same type, from which dimensions of size 1 came and
    went since.
    """
    size, value = type_of(op.results[0].type).size, op.results[0]
    while type_of(value.type).size == size and isinstance(value.owner, Operation) and _reshapes(value.owner):
        value = value.owner.operands[0]
        if value.type == op.results[0].type:
            return value
    return None


def _reshapes(op: Operation) -> bool:
    """Whether the elements stay in order: reshapes, broadcasts in order, and reductions over dimensions of
    size 1 from the identity, which they may use or not.
    """
    if op.name == hlo.broadcast_in_dim.name:
        dims = cast("tuple[int, ...]", python_of(_attribute(op, "broadcast_dimensions")))
        return list(dims) == sorted(dims)
    if op.name != hlo.reduce.name:
        return op.name == hlo.reshape.name
    kind = _combination(op)
    if kind is None:
        return False
    value, start = map(type_of, (op.operands[0].type, op.operands[1].type))
    over = cast("tuple[int, ...]", python_of(_attribute(op, "dimensions")))
    return all(value.shape[dim] == 1 for dim in over) and is_splat(
        op.operands[1], identity(kind, start.dtype)
    )


def _unpadded(op: Operation) -> SSAValue | None:
    widths = [cast("tuple[int, ...]", python_of(_attribute(op, key))) for key in WIDTHS]
    return None if any(map(any, widths)) else op.operands[0]


def _unturned(op: Operation) -> SSAValue | None:
    (value,), dims = op.operands, cast("tuple[int, ...]", python_of(_attribute(op, "dimensions")))
    return value if all(type_of(value.type).shape[dim] == 1 for dim in dims) else None


def _times_one(op: Operation) -> SSAValue | None:
    left, right = op.operands
    return left if is_splat(right, 1) else right if is_splat(left, 1) else None


def _plus_zero(op: Operation) -> SSAValue | None:
    """-0.0 + 0.0 is another number than -0.0."""
    dtype, (left, right) = type_of(op.results[0].type).dtype, op.operands
    value = left if is_splat(right, 0) else right if is_splat(left, 0) else None
    if value is None:
        return None
    alike = is_integer(dtype) or (is_float(dtype) and ignores_sign_of_zero(op.results[0]))
    return value if alike else None


def _minus_zero(op: Operation) -> SSAValue | None:
    """-0.0 - 0.0 is -0.0; but of zeros with a sign nothing is known here."""
    dtype, (left, right) = type_of(op.results[0].type).dtype, op.operands
    is_real = is_integer(dtype) or is_float(dtype)
    return left if is_real and is_splat(right, 0) and not is_negative_zero(right) else None


def _twice(op: Operation) -> SSAValue | None:
    """What an operation that takes itself back is done to twice."""
    made = op.operands[0].owner
    return made.operands[0] if isinstance(made, Operation) and made.name == op.name else None


def _over_one(op: Operation) -> SSAValue | None:
    left, right = op.operands
    return left if is_splat(right, 1) else None


def _both(op: Operation) -> SSAValue | None:
    """p & True is p, p & False is False; so it is with the bits of integers, all of them or none."""
    left, right = op.operands
    every = True if type_of(left.type).dtype == "bool" else -1
    for value, other in ((left, right), (right, left)):
        if is_splat(value, every) or is_splat(other, 0):
            return other
    return None


def _either(op: Operation) -> SSAValue | None:
    """p | False is p, p | True is True; so it is with the bits of integers, none of them or all."""
    left, right = op.operands
    every = True if type_of(left.type).dtype == "bool" else -1
    for value, other in ((left, right), (right, left)):
        if is_splat(value, 0) or is_splat(other, every):
            return other
    return None


def _identity_partial(op: Operation) -> SSAValue | None:
    """A constant that is the identity of the combination is partial as it is."""
    kind = cast(str, python_of(_attribute(op, "kind")))
    dtype = type_of(op.results[0].type).dtype
    return op.operands[0] if is_splat(op.operands[0], identity(kind, dtype)) else None


def _reduced_constant(op: Operation) -> SSAValue | None:
    """The largest or least of one constant on all devices is that, and so is a sum of zeros."""
    kind = cast(str, python_of(_attribute(op, "kind")))
    element = splat_of(op.operands[0])
    if element is None or kind in ("max", "min"):
        return None if element is None else op.operands[0]
    return op.operands[0] if bool(element == identity(kind, type_of(op.results[0].type).dtype)) else None


def _combination(op: Operation) -> str | None:
    """How a reduction of one operand combines."""
    body = op.regions[0].block
    combine, end = body.first_op, body.last_op
    if len(op.operands) != 2 or not combine or not end:
        return None
    of_bools = type_of(op.operands[0].type).dtype == "bool"
    kind = (_COMBINES | _OF_BOOLS if of_bools else _COMBINES).get(combine.name)
    plain = set(combine.operands) == set(body.args) and [*end.operands] == [*combine.results]
    return kind if plain else None


def largest_of_one(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """The largest or least of one constant, from that or from the identity."""
    kind = _combination(op) if op.name == hlo.reduce.name else None
    if kind not in ("max", "min"):
        return None
    (value, start), type = op.operands, type_of(op.operands[0].type)
    element = splat_of(value)
    if (
        element is None
        or not type.size
        or not (is_splat(start, element) or is_splat(start, identity(kind, type.dtype)))
    ):
        return None
    return repeated(op, element, builder)


_COMBINES = {hlo.add.name: "sum", hlo.multiply.name: "prod", hlo.maximum.name: "max", hlo.minimum.name: "min"}
_OF_BOOLS = {hlo.or_.name: "max", hlo.and_.name: "min"}


def _attribute(op: Operation, name: str) -> Attribute:
    return op.properties[name] if name in op.properties else op.attributes[name]


IDENTITIES: dict[str, Callable[[Operation], SSAValue | None]] = {
    spmd.all_reduce.name: _reduced_constant,
    spmd.to_partial.name: _identity_partial,
    hlo.add.name: _plus_zero,
    hlo.and_.name: _both,
    hlo.broadcast_in_dim.name: _in_order,
    hlo.compare.name: _compared,
    hlo.convert.name: _same_type,
    hlo.divide.name: _over_one,
    hlo.dynamic_slice.name: _same_type,
    hlo.dynamic_update_slice.name: _whole,
    hlo.multiply.name: _times_one,
    hlo.negate.name: _twice,
    hlo.not_.name: _twice,
    hlo.or_.name: _either,
    hlo.pad.name: _unpadded,
    hlo.reduce.name: _over_nothing,
    hlo.reduce_window.name: _windows_of_one,
    hlo.reshape.name: _same_type,
    hlo.reverse.name: _unturned,
    hlo.select.name: _chosen,
    hlo.slice_.name: _same_type,
    hlo.subtract.name: _minus_zero,
}
"""The operand that an operation of a kind gives, None where it is none."""
