"""index-windows: windows that indices place in a split dimension -> elements, each at an index of its own.

    %0 = "stablehlo.scatter"(%x, %i, %u) <update_window_dims = [1], input_batching_dims = [0],
                                          scatter_indices_batching_dims = [0],
                                          scatter_dims_to_operand_dims = [1], index_vector_dim = 1>
             // %x: tensor<4x64xf32>, [-, s]; %i: tensor<4x1xi32>; %u: tensor<4x2xf32>

becomes

    %1 = …                                       // tensor<4x2x1xi32>: i and i + 1 for each i in %i
    %0 = "stablehlo.scatter"(%x, %1, %u) <inserted_window_dims = [1], …, index_vector_dim = 2>

So `jax.vmap` leaves dynamic_update_slice and dynamic_slice: a cache gets rows at a place of its own for each
sequence. A window may lie across the border of two blocks; of an element each device sees whether it has it,
so nothing of %x is sent. A scatter leaves out windows that do not fit, a gather moves them inside: so do the
indices. Windows larger than a block stay, and those of size 1 of a gather, which has a form for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue

from shardc.analysis.shardings import known_shardings
from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.locations import location_of
from shardc.dialects.makers import erase_unused
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.stablehlo.attributes import GatherAttr, ScatterAttr
from shardc.dialects.types import type_of
from shardc.forms.site import compare, scalar, spread
from shardc.graph import GatherDims, Node, ScatterDims, TensorType, walk
from shardc.layout import Sharding
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass

Ints = tuple[int, ...]


class IndexWindows(GraphPass):
    """Index the elements of windows."""

    name = "index-windows"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, builder, changed = shared.snapshot(), IRBuilder(shared.module), False
        nodes = [node for f in snap.graph.functions.values() for node in walk(f.body) if _is_indexed(node)]
        known = known_shardings(snap.graph) if nodes else {}
        for node in nodes:
            op, sharding = snap.ops[node.id], known.get(node.operands[0])
            while sharding and (window := _window(op, sharding)):
                _index(op, window, builder)
                changed = True
        return changed


class _Window(Struct, frozen=True):
    """Of which dimension of the tensor a window has `size` elements, which component of an index places it,
    and which dimension of the updates, or of what is gathered, it is."""

    dim: int
    whole: int
    size: int
    component: int
    place: int


def _is_indexed(node: Node) -> bool:
    return node.name == hlo.gather.name or (node.name == hlo.scatter.name and len(node.results) == 1)


def _dims(op: Operation) -> tuple[GatherDims | ScatterDims, Ints, Ints, Ints]:
    """The dimension numbers, those of windows, what is left out of windows, what indices place."""
    if op.name == hlo.gather.name:
        dims = cast(GatherDims, python_of(op.properties["dimension_numbers"]))
        out = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
        return dims, dims.offset_dims, out, dims.start_index_map
    dims = cast(ScatterDims, python_of(op.properties["scatter_dimension_numbers"]))
    out = (*dims.inserted_window_dims, *dims.input_batching_dims)
    return dims, dims.update_window_dims, out, dims.scatter_dims_to_operand_dims


def _windows_of(op: Operation) -> SSAValue:
    """What has windows as some of its dimensions: updates, or what is gathered."""
    return op.results[0] if op.name == hlo.gather.name else op.operands[2]


def _window(op: Operation, sharding: Sharding) -> _Window | None:
    """The first window in a split dimension that is to be indexed."""
    dims, windows, out, mapped = _dims(op)
    shape, indices = type_of(op.operands[0].type).shape, type_of(op.operands[1].type)
    blocks, sizes = sharding.local_shape(shape), type_of(_windows_of(op).type).shape
    is_last = indices.rank - 1 <= dims.index_vector_dim
    kept = [dim for dim in range(len(shape)) if dim not in out]
    for dim, place in zip(kept, windows, strict=True):
        size, least = sizes[place], 1 if op.name == hlo.scatter.name else 2
        fits = least <= size <= blocks[dim] and size < shape[dim]
        if is_last and fits and dim in mapped and sharding.dims[dim].axes and indices.dtype in ("i32", "i64"):
            return _Window(dim, shape[dim], size, mapped.index(dim), place)
    return None


def _index(op: Operation, window: _Window, builder: IRBuilder) -> None:
    """Make one window's dimension one of indices."""
    dims, windows, _, _ = _dims(op)
    at = window.place - sum(other < window.place for other in windows)
    old = op.operands[1]
    builder.before(op)
    with builder.at(location_of(op.location).named(None)):
        indices = _indices(op, window, at, builder)
    op.operands[1] = indices
    erase_unused(old)
    left = tuple(place for place in windows if place != window.place)
    vector = type_of(indices.type).rank - 1
    if isinstance(dims, GatherDims):
        changed = replace(
            dims,
            offset_dims=left,
            collapsed_slice_dims=tuple(sorted((*dims.collapsed_slice_dims, window.dim))),
            start_indices_batching_dims=_behind(dims.start_indices_batching_dims, at),
            index_vector_dim=vector,
        )
        op.properties["dimension_numbers"] = GatherAttr(changed)
        sizes = list(cast(Ints, python_of(op.properties["slice_sizes"])))
        sizes[window.dim] = 1
        op.properties["slice_sizes"] = DenseArrayBase.from_list(i64, sizes)
    else:
        changed = replace(
            dims,
            update_window_dims=left,
            inserted_window_dims=tuple(sorted((*dims.inserted_window_dims, window.dim))),
            scatter_indices_batching_dims=_behind(dims.scatter_indices_batching_dims, at),
            index_vector_dim=vector,
        )
        op.properties["scatter_dimension_numbers"] = ScatterAttr(changed)
    op.properties["indices_are_sorted"] = BoolAttr.from_bool(False)


def _behind(dims: Sequence[int], at: int) -> Ints:
    """Dimensions of indices after one was put in."""
    return tuple(dim + (dim >= at) for dim in dims)


def _indices(op: Operation, window: _Window, at: int, b: IRBuilder) -> SSAValue:
    """The indices of elements, with dimension `at` for those of a window, and the vector as the last one."""
    dims, _, _, mapped = _dims(op)
    given, type = op.operands[1], type_of(op.operands[1].type)
    batch = type.shape[:-1] if dims.index_vector_dim < type.rank else type.shape
    grown = (*batch[:at], window.size, *batch[at:])
    parts: list[SSAValue] = []
    for number in range(len(mapped)):
        part = given if len(mapped) == 1 else _component(given, number, b)
        part = (
            part
            if type_of(part.type).shape == batch
            else b.one(hlo.reshape.name, part, result=type.with_shape(batch))
        )
        is_window = number == window.component
        part = _inside(op, window, part, b) if is_window and window.size > 1 else part
        part = spread(b, part, grown, tuple(dim + (dim >= at) for dim in range(len(batch))))
        if is_window and window.size > 1:
            step = b.one(hlo.iota.name, result=type.with_shape(grown), iota_dimension=at)
            part = b.one(hlo.add.name, part, step)
        parts.append(b.one(hlo.reshape.name, part, result=type.with_shape((*grown, 1))))
    return parts[0] if len(parts) == 1 else b.one(hlo.concatenate.name, *parts, dimension=len(grown))


def _component(indices: SSAValue, number: int, b: IRBuilder) -> SSAValue:
    shape = type_of(indices.type).shape
    starts, limits = (*(0 for _ in shape[:-1]), number), (*shape[:-1], number + 1)
    return b.one(
        hlo.slice_.name, indices, start_indices=starts, limit_indices=limits, strides=(1,) * len(shape)
    )


def _inside(op: Operation, window: _Window, starts: SSAValue, b: IRBuilder) -> SSAValue:
    """Starts of windows that fit: of others a gather takes the nearest that does, a scatter none."""
    type: TensorType = type_of(starts.type)
    last = window.whole - window.size
    if op.name == hlo.gather.name:
        number = type.with_shape(())
        return b.one(hlo.clamp.name, scalar(b, 0, number), starts, scalar(b, last, number))
    fits = [compare(b, starts, which, scalar(b, n, type)) for which, n in (("GE", 0), ("LE", last))]
    return b.one(hlo.select.name, b.one(hlo.and_.name, *fits), starts, scalar(b, window.whole, type))
