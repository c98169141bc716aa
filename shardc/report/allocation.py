"""What each operation of a written NumPy program allocates: nothing (a view), its result, and what it needs
meanwhile.

A rule takes a `Call` and gives an `Outcome`. The table at the end lists the operations that are not simply
one new array; products and convolutions are in products.py. Sizes are in bytes.
"""

from __future__ import annotations

from math import prod
from typing import cast

from shardc.layout import Axis, size_of
from shardc.report.calls import BUFFER, Call, Outcome, Rule, array, buffers, row_major
from shardc.report.products import convolution, product
from shardc.report.storage import Buffer, View, fresh

ELISION = 256 * 1024
"""From this size on, NumPy's operators write into an operand that is a temporary."""

INDEX = 8
"""NumPy takes elements by 64-bit indices."""


def takes_numbers(name: str) -> bool:
    """Whether an operation broadcasts what is smaller than its type, such as a Python number."""
    rule = RULES.get(name, array)
    return rule is array or name in _ELEMENTWISE


def operand(call: Call) -> Outcome:
    return Outcome(call.operands[0])


def operator(commutes: bool) -> Rule:
    """x + y; large temporaries are written over, the second only if the operator commutes."""

    def rule(call: Call) -> Outcome:
        last = len(call.operands) if commutes else 1
        if any(view.shape not in ((), call.shape) for view in call.operands):
            return array(call)
        for view, temporary, value in list(
            zip(call.operands, call.temporary, call.node.operands, strict=True)
        )[:last]:
            fits = view.buffer is not None and view.shape == call.shape and view.buffer.nbytes == call.nbytes
            if temporary and fits and call.nbytes >= ELISION and call.graph.type(value).dtype == call.dtype:
                return Outcome(view, buffers(call, view))
        return array(call)

    return rule


def with_copies(count: int) -> Rule:
    """A function that needs `count` more arrays like its result."""
    return lambda call: Outcome(array(call).view, count * call.nbytes)


def reshape(call: Call) -> Outcome:
    """A view, or a copy where the dimensions don't lie so in memory."""
    view = call.operands[0].reshaped(call.shape)
    return row_major(call) if view is None else Outcome(view)


def transpose(call: Call) -> Outcome:
    return Outcome(call.operands[0].transposed(call.ints("permutation")))


def broadcast(call: Call) -> Outcome:
    """The operand, of the same elements in `call.shape`, whose new dimensions have size 1."""
    value, places = call.operands[0], call.ints("broadcast_dimensions")
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = value.transposed(order) if order != sorted(order) else value
    return Outcome(moved.reshaped(call.shape) or moved)


def slice_(call: Call) -> Outcome:
    return Outcome(call.operands[0].sliced(call.shape, call.ints("strides")))


def part(call: Call) -> Outcome:
    """dynamic_slice, and this device's block: a view of a part."""
    value = call.operands[0]
    return Outcome(value.sliced(call.shape, (1,) * len(call.shape)))


def layer(call: Call) -> Outcome:
    """ws[i]"""
    value = call.operands[0]
    return Outcome(View(value.buffer, value.shape[1:], value.strides[1:]))


def reduce(call: Call) -> Outcome:
    """A combination without a name of its own goes through the elements in pairs, then pairs of pairs."""
    if len(call.node.results) == 1:
        return row_major(call)
    types = [call.graph.type(value) for value in call.node.operands[: len(call.node.results)]]
    halves = sum(type.nbytes for type in types) * 3 // 4
    return Outcome(row_major(call).view, halves + 3 * min(BUFFER, types[0].size) * types[0].numpy.itemsize)


def argmax(call: Call) -> Outcome:
    """NumPy finds i64, along the last dimension of a copy if it is another."""
    rank, axis = len(call.operands[0].shape), cast(int, call.node.attrs["axis"])
    copy = 0 if axis == rank - 1 else call.bytes_of(0)
    return Outcome(row_major(call).view, INDEX * prod(call.shape) + copy)


def take(call: Call) -> Outcome:
    return Outcome(row_major(call).view, INDEX * call.elements(1))


def gather(call: Call) -> Outcome:
    """The indices, as i64, clipped, and added up."""
    return Outcome(row_major(call).view, 3 * INDEX * call.elements(1))


def scatter(call: Call) -> Outcome:
    """For every update its place, of which there are several while it is computed, and whether it is inside;
    then those that are inside, and the result."""
    updates = call.elements(-1)
    places = 2 if INDEX * updates >= ELISION else 3
    finding = (places * INDEX + 1) * updates + INDEX * min(BUFFER, updates) - call.nbytes
    writing = (INDEX + 1) * updates + call.bytes_of(-1)
    return Outcome(row_major(call).view, max(finding, writing))


def reduce_scatter(call: Call) -> Outcome:
    """By max and min, a block of the whole."""
    if call.node.attrs.get("kind", "sum") == "sum":
        return row_major(call)
    whole = call.nbytes * size_of(cast("tuple[Axis, ...]", call.node.attrs["axes"]))
    return Outcome(fresh(Buffer(whole), call.shape))


_COMMUTING = {f"stablehlo.{name}" for name in ("add", "multiply", "and", "or", "xor")}
_OTHER_OPERATORS = {f"stablehlo.{name}" for name in ("subtract", "divide", "negate", "not")}
_ELEMENTWISE = {
    *_COMMUTING,
    *_OTHER_OPERATORS,
    *(f"stablehlo.{name}" for name in ("broadcast_in_dim", "complex", "logistic", "rsqrt")),
    "group.silu",
}

RULES: dict[str, Rule] = {
    **dict.fromkeys(_COMMUTING, operator(True)),
    **dict.fromkeys(_OTHER_OPERATORS, operator(False)),
    "stablehlo.broadcast_in_dim": broadcast,
    "stablehlo.complex": with_copies(1),
    "stablehlo.concatenate": row_major,
    "stablehlo.dot_general": product,
    "stablehlo.dynamic_slice": part,
    "stablehlo.dynamic_update_slice": row_major,
    "stablehlo.gather": gather,
    "stablehlo.iota": row_major,
    "stablehlo.logistic": with_copies(1),
    "stablehlo.optimization_barrier": operand,
    "stablehlo.pad": row_major,
    "stablehlo.convolution": convolution,
    "stablehlo.reduce": reduce,
    "stablehlo.reshape": reshape,
    "stablehlo.reverse": lambda call: Outcome(call.operands[0]),
    "stablehlo.rsqrt": with_copies(1),
    "stablehlo.scatter": scatter,
    "stablehlo.slice": slice_,
    "stablehlo.transpose": transpose,
    "group.mean": row_major,
    "group.silu": with_copies(1),
    "idiom.einsum": product,
    "idiom.argmax": argmax,
    "idiom.argmin": argmax,
    "idiom.keepdims": row_major,
    "idiom.layer": layer,
    "idiom.put_layer": row_major,
    "idiom.same": operand,
    "idiom.take": take,
    "spmd.all_reduce": row_major,
    "spmd.all_gather": row_major,
    "spmd.all_slice": part,
    "spmd.all_to_all": row_major,
    "spmd.collective_permute": row_major,
    "spmd.reduce_scatter": reduce_scatter,
    "spmd.to_partial": operand,
    "spmd.vary": operand,
}
