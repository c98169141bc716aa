"""pad-windows: windows over a padded tensor -> windows with that padding over the tensor, if it is split.

    %0 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] : … -> tensor<66xf32>     // %x is [x]
    %1 = "stablehlo.reduce_window"(%0, %zero) <{window_dimensions = array<i64: 3>}> … -> tensor<64xf32>

becomes

    %1 = "stablehlo.reduce_window"(%x, %zero) <{…, padding = dense<1> : …, base_dilations = array<i64: 1>}> …

and windows of which only a part is used become those; gradients of max pooling have their own operation:

    %2 = stablehlo.pad %x, %lowest, low = [1], high = [1], interior = [0] : … -> tensor<66xf32>
    %3 = "stablehlo.select_and_scatter"(%2, %s, %zero) … : … -> tensor<66xf32>
    %4 = stablehlo.slice %3 [1:65] : (tensor<66xf32>) -> tensor<64xf32>

becomes

    %4 = "shardc.unpool"(%x, %s, %lowest, %zero) <{…, padding = dense<1> : …}> … : … -> tensor<64xf32>

JAX writes gradients of pooling so, and people write convolutions so. 66 elements are split elsewhere than 64,
so nearly all would change places, and back. What is padded is what changes no window: zeros of sums and
products, the least of maxima. What else is padded with stays, and dimensions that are whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.convert import attribute_of, python_of
from shardc.dialects.derive import op_class
from shardc.dialects.makers import erase_unused, made_by, owner
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.dialects.types import type_of
from shardc.graph import ConvDims, Node, identity, walk
from shardc.ops import combiner, hlo, op_of, own
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.constants import splat_of
from shardc.rewrite.slice_ranges import WIDTHS, Ints, Range
from shardc.rewrite.zeros import is_negative_zero

Pairs = Sequence[Ints]


class PadWindows(GraphPass):
    """Let windows reach over a tensor, and not over one that is padded before."""

    name = "pad-windows"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, changed = shared.snapshot(), False
        windows = dict[Operation, Node]()
        for node in [node for f in snap.graph.functions.values() for node in walk(f.body)]:
            if node.name in _DILATIONS:
                changed |= _reaches_over(snap, node)
            if node.name in _SLIDING:
                windows[snap.ops[node.id]] = node
            if node.name in (hlo.slice_.name, hlo.pad.name):
                changed |= _is_part(snap, node, windows)
        return changed


class _Padded(Struct, frozen=True):
    """A tensor, what is around it and between its elements, and how much of that."""

    tensor: SSAValue
    fill: SSAValue
    low: Ints
    high: Ints
    interior: Ints


def _padded(value: SSAValue) -> _Padded | None:
    """What padding makes a value of; None of others, and of padding by less than nothing."""
    if not made_by(value, hlo.pad.name):
        return None
    pad = owner(value)
    low, high, interior = (cast(Ints, python_of(pad.properties[key])) for key in WIDTHS)
    tensor, fill = pad.operands
    return None if min(low + high, default=0) < 0 else _Padded(tensor, fill, low, high, interior)


class _Windows(Struct, frozen=True):
    """Along which dimensions of the operand and of the result windows run, what is around the operand, and
    how far apart its elements are: of a reduce_window or a convolution."""

    dims: Ints
    results: Ints
    padding: Pairs
    apart: Ints

    @classmethod
    def of(cls, node: Node, op: Operation) -> _Windows:
        dims = results = tuple(range(type_of(op.operands[0].type).rank))
        if node.name == hlo.convolution.name:
            numbers = cast(ConvDims, node.attrs["dimension_numbers"])
            dims, results = numbers.input_spatial, numbers.output_spatial
        around, apart = (
            python_of(op.properties[key]) if key in op.properties else None
            for key in ("padding", _DILATIONS[node.name])
        )
        count = len(dims)
        padding, ones = cast(Pairs, around or ((0, 0),) * count), (1,) * count
        return cls(dims, results, padding, cast(Ints, apart or ones))


def _reaches_over(snap: Snapshot, node: Node) -> bool:
    """Let a reduce_window or a convolution pad its operand itself."""
    op, sharding = snap.ops[node.id], snap.graph.values[node.operands[0]].sharding
    padded = _padded(op.operands[0])
    if padded is None or sharding is None or not _is_nothing(snap, node, padded.fill):
        return False
    windows = _Windows.of(node, op)
    widths = [*zip(padded.low, padded.high, padded.interior, strict=True)]
    wide = [dim for dim, each in enumerate(widths) if any(each)]
    if not {*wide} <= {*windows.dims} or not any(sharding.dims[dim].axes for dim in wide):
        return False
    inside, old = [widths[dim] for dim in windows.dims], op.operands[0]
    padding = tuple(
        (low + below * step, high + above * step)
        for (low, high), (below, above, _), step in zip(windows.padding, inside, windows.apart, strict=True)
    )
    apart = tuple(step * (between + 1) for step, (*_, between) in zip(windows.apart, inside, strict=True))
    op.operands[0] = padded.tensor
    op.properties["padding"] = attribute_of("padding", padding)
    op.properties[_DILATIONS[node.name]] = attribute_of(_DILATIONS[node.name], apart)
    erase_unused(old)
    return True


def _is_nothing(snap: Snapshot, node: Node, fill: SSAValue) -> bool:
    """Whether elements of that value change no window."""
    if node.name == hlo.convolution.name:
        return _is_number(fill, 0)
    op = op_of(snap.graph, node)
    if len(op.operands) != 2 or op.combiner not in ("sum", "prod", "max", "min"):
        return False
    least, init = identity(op.combiner, op.operands[0].dtype), snap.ops[node.id].operands[1]
    return all(_is_number(value, least) and not is_negative_zero(value) for value in (fill, init))


def _is_number(value: SSAValue, number: object) -> bool:
    """Whether a value is one constant, or one in another dtype, as JAX pads with."""
    element = splat_of(owner(value).operands[0] if made_by(value, hlo.convert.name) else value)
    return element is not None and bool(type_of(value.type).numpy.type(element) == number)


def _is_part(snap: Snapshot, node: Node, windows: Mapping[Operation, Node]) -> bool:
    """Put windows in the place of a part of more, which nothing else uses; what takes all is the windows."""
    op, sharding = snap.ops[node.id], snap.graph.values[node.results[0]].sharding
    part, whole = Range.taken(op), op.operands[0]
    if part is None or sharding is None:
        return False
    made = owner(whole) if made_by(whole, *_SLIDING) else None
    if made is None or made not in windows:
        return False
    shape = type_of(whole.type).shape
    if shape == part.shape:
        op.results[0].replace_all_uses_with(whole)
        Rewriter.erase_op(op)
        return True
    ends = [size - limit for size, limit in zip(shape, part.limits, strict=True)]
    cut = [*zip(part.starts, ends, strict=True)]
    split = any(each.axes and any(pair) for each, pair in zip(sharding.dims, cut, strict=True))
    if len(made.results) > 1 or not split or not whole.has_one_use():
        return False
    if made.name == hlo.select_and_scatter.name:
        return _unpooled(snap, windows[made], made, op, part)
    return _fewer(windows[made], made, op, cut)


def _fewer(node: Node, made: Operation, op: Operation, cut: Pairs) -> bool:
    """Leave windows out that are not in a part of the result: so many first and last ones. A reduce_window
    keeps padding of at least 0, which JAX asks for."""
    windows = _Windows.of(node, made)
    steps = cast(Ints, node.attrs.get("window_strides") or (1,) * len(windows.dims))
    padding: list[Ints] = []
    for (low, high), step, dim in zip(windows.padding, steps, windows.results, strict=True):
        first, last = cut[dim]
        padding.append((low - first * step, high - last * step))
    fits = node.name == hlo.convolution.name or min(map(min, padding)) >= 0
    if not fits or any(any(pair) and dim not in windows.results for dim, pair in enumerate(cut)):
        return False
    _replaced(op, made, made.__class__, list(made.operands), padding)
    return True


def _unpooled(snap: Snapshot, node: Node, made: Operation, op: Operation, part: Range) -> bool:
    """Put an unpool in the place of a select_and_scatter that adds, and of a slice that undoes padding."""
    padded, around = _padded(made.operands[0]), cast(Pairs, node.attrs.get("padding") or ())
    adds = combiner(node.regions[1], snap.graph) == "sum"
    if padded is None or not adds or any(padded.interior) or any(map(any, around)):
        return False
    if part.starts != padded.low or part.shape != type_of(padded.tensor.type).shape:
        return False
    _, source, init = made.operands
    padding = zip(padded.low, padded.high, strict=True)
    _replaced(op, made, op_class(own.unpool), [padded.tensor, source, padded.fill, init], [*padding])
    return True


def _replaced(
    op: Operation, made: Operation, kind: type[Operation], operands: list[SSAValue], padding: Sequence[Ints]
) -> None:
    """Put windows with other padding in the place of `op`, which is a part of those that were `made`."""
    new = kind.create(
        operands=operands,
        result_types=[op.results[0].type],
        properties={**made.properties, "padding": attribute_of("padding", tuple(padding))},
        attributes={**made.attributes, **op.attributes},
        regions=[made.detach_region(region) for region in [*made.regions]],
        location=made.location,
    )
    Rewriter.insert_op(new, InsertPoint.before(op))
    new.results[0].name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(new.results[0])
    erase_unused(op.results[0])


_DILATIONS = {hlo.reduce_window.name: "base_dilations", hlo.convolution.name: "lhs_dilation"}
"""The attribute that says how far apart elements of the operand are."""

_SLIDING = (*_DILATIONS, hlo.select_and_scatter.name)
