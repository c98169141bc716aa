"""What each operation of a written NumPy program allocates: nothing (a view), its result, and what it needs
meanwhile.

A rule takes a `Call` and gives an `Outcome`. The table at the end lists the operations that are not simply
one new array. Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import cast

from shardc.backend.ops_dot import is_einsum, subscripts
from shardc.graph import ConvDims, DotDims, Graph, Node
from shardc.layout import Axis, size_of
from shardc.report.storage import Buffer, View, fresh, runs_evenly

ELISION = 256 * 1024
"""From this size on, NumPy's operators write into an operand that is a temporary."""

BUFFER = 8192
"""How many elements NumPy copies at a time of an operand that lies in another order, or is broadcast."""

INDEX = 8
"""NumPy takes elements by 64-bit indices."""

NARROW = ("bf16", "f16")


@dataclass(frozen=True, slots=True)
class Call:
    """One operation as it runs. `shape` is that of the array it makes: smaller than the result's where NumPy
    broadcasts later. `temporary` says which operands nothing else holds.
    """

    graph: Graph
    node: Node
    shape: tuple[int, ...]
    operands: tuple[View, ...]
    temporary: tuple[bool, ...]

    @property
    def dtype(self) -> str:
        return self.graph.type(self.node.results[0]).dtype

    @property
    def itemsize(self) -> int:
        return self.graph.type(self.node.results[0]).numpy.itemsize

    @property
    def nbytes(self) -> int:
        """Of the result."""
        return prod(self.shape) * self.itemsize

    def ints(self, key: str) -> tuple[int, ...]:
        return cast("tuple[int, ...]", self.node.attrs[key])

    def elements(self, operand: int) -> int:
        return self.graph.type(self.node.operands[operand]).size

    def bytes_of(self, operand: int) -> int:
        return self.graph.type(self.node.operands[operand]).nbytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result, and how much is allocated beside it until the operation is done."""

    view: View
    meanwhile: int = 0


Rule = Callable[[Call], Outcome]


def takes_numbers(name: str) -> bool:
    """Whether an operation broadcasts what is smaller than its type, such as a Python number."""
    rule = RULES.get(name, array)
    return rule is array or name in _ELEMENTWISE


def array(call: Call) -> Outcome:
    """Element by element: a new array, laid out as its operands are."""
    view = fresh(Buffer(call.nbytes), call.shape, call.operands)
    return Outcome(view, buffers(call, view))


def buffers(call: Call, result: View) -> int:
    """What NumPy copies parts of operands to, which don't run evenly with the result."""
    elements = min(BUFFER, prod(call.shape))
    return sum(
        elements * call.graph.type(value).numpy.itemsize
        for view, value in zip(call.operands, call.node.operands, strict=True)
        if view.buffer is not None and not runs_evenly(view, result)
    )


def row_major(call: Call) -> Outcome:
    return Outcome(fresh(Buffer(call.nbytes), call.shape))


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


def product(call: Call) -> Outcome:
    """16-bit floats are multiplied as f32; einsum copies parts of operands that lie in another order."""
    view = row_major(call).view
    if call.dtype in NARROW:
        product, wide = 4 * prod(call.shape), sum(4 * call.elements(i) for i in range(2))
        freed = sum(call.bytes_of(i) for i in range(2) if call.temporary[i])
        return Outcome(view, max(product, wide + product - call.nbytes - freed))
    dims = cast(DotDims, call.node.attrs["dot_dimension_numbers"])
    lhs, rhs = call.operands
    if not is_einsum(call.node, [len(lhs.shape), len(rhs.shape)]):
        return Outcome(view)
    view = _einsum_result(call, view)
    uneven = not all(runs_evenly(operand, fresh(None, operand.shape)) for operand in call.operands)
    terms = prod(call.shape) * prod(lhs.shape[d] for d in dims.lhs_contracting)
    return Outcome(view, 2 * min(BUFFER, terms) * call.itemsize if uneven else 0)


def _einsum_result(call: Call, view: View) -> View:
    """The result of an einsum: in memory, its dimensions follow the operands' as far as they agree.

    NumPy's iterator inserts each dimension before those whose strides are smaller in an operand of both.
    """
    terms, _, out = subscripts(call.node, len(call.operands[0].shape), len(call.operands[1].shape)).partition(
        "->"
    )
    strides = [
        dict(zip(letters, operand.strides, strict=True))
        for letters, operand in zip(terms.split(","), call.operands, strict=True)
    ]
    order: list[str] = []
    for letter in out:
        place = len(order)
        for j in reversed(range(len(order))):
            known = [(s[letter], s[order[j]]) for s in strides if s.get(letter) and s.get(order[j])]
            if known and all(new > old for new, old in known):
                place = j
            elif known:
                break
        order.insert(place, letter)
    sizes = dict(zip(out, call.shape, strict=True))
    packed = fresh(view.buffer, [sizes[letter] for letter in order])
    return packed.transposed([order.index(letter) for letter in out])


def convolution(call: Call) -> Outcome:
    """The padded image, its windows as rows of a matrix, and the kernel as columns."""
    dims = cast(ConvDims, call.node.attrs["dimension_numbers"])
    image, kernel = (call.graph.type(value) for value in call.node.operands)
    padding = cast("tuple[tuple[int, int], ...]", call.node.attrs.get("padding", ()))
    dilation = cast("tuple[int, ...]", call.node.attrs.get("lhs_dilation", ()))
    spatial = [image.shape[d] for d in dims.input_spatial]
    spread = [(n - 1) * by + 1 for n, by in zip(spatial, dilation or (1,) * len(spatial), strict=True)]
    padded = [n + sum(ends) for n, ends in zip(spread, padding or ((0, 0),) * len(spatial), strict=True)]
    itemsize = max(4, image.numpy.itemsize)
    places = prod(call.shape[d] for d in (dims.output_batch, *dims.output_spatial))
    window = prod(kernel.shape[d] for d in (dims.kernel_input_feature, *dims.kernel_spatial))
    samples = image.shape[dims.input_batch] * image.shape[dims.input_feature]
    elements = samples * prod(padded) + places * window + kernel.size
    return Outcome(row_major(call).view, elements * itemsize)


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
