"""Changes of shape that give what there was, or a part of it: see identities."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.backend.python.exact_numbers import Known
from shardc.backend.python.moves import unmoved
from shardc.graph import Node
from shardc.ops import hlo

_OF_EACH = tuple(
    each.name for each in (hlo.abs_, hlo.exponential, hlo.log, hlo.negate, hlo.rsqrt, hlo.sqrt, hlo.tanh)
)


def same(known: Known, node: Node, value: int) -> Node | None:
    """The node as one that gives `value`, if that has its type and varies as it does."""
    result = node.results[0]
    alike = known.graph.type(result) == known.graph.type(value)
    more = known.varying.get(result, frozenset[str]()) - known.varying.get(value, frozenset[str]())
    if not alike or more:
        return None
    return Node(node.id, idiom.same.name, (value,), node.results, {}, (), node.loc)


def reshaped_back(known: Known, node: Node) -> Node | None:
    """A reshape of a reshape, or a broadcast that is one, to the shape before."""
    made = known.made.get(node.operands[0])
    if made is None or made.name != hlo.reshape.name:
        return None
    if node.name == hlo.broadcast_in_dim.name:
        dims = cast("tuple[int, ...]", node.attrs["broadcast_dimensions"])
        if list(dims) != sorted(dims):
            return None
    return same(known, node, made.operands[0])


def reshaped_around(known: Known, node: Node) -> Node | None:
    """A function of each element between a reshape and the one that takes it back."""
    made = known.only(node.operands[0], *_OF_EACH)
    before = None if made is None else known.made.get(made.operands[0])
    if made is None or before is None or before.name not in (hlo.reshape.name, hlo.broadcast_in_dim.name):
        return None
    if known.graph.type(before.operands[0]) != known.graph.type(node.results[0]):
        return None
    if known.graph.type(before.results[0]).size != known.graph.type(node.results[0]).size:
        return None
    return replace(made, id=node.id, operands=before.operands, results=node.results, loc=node.loc)


def spread_back(known: Known, node: Node) -> Node | None:
    """A broadcast of what had dimensions of size 1, of those: x[:, 0][:, None] beside an array is x."""
    made, shape = known.made.get(node.operands[0]), known.shape(node.results[0])
    if made is None or made.name != hlo.reshape.name:
        return None
    before, after = known.shape(made.operands[0]), known.shape(node.operands[0])
    dims = cast("tuple[int, ...]", node.attrs["broadcast_dimensions"])
    longer = [(dim, size) for dim, size in zip(dims, after, strict=True) if size != 1]
    if len(before) != len(shape) or not after or list(dims) != sorted(dims):
        return None
    if longer != [(dim, size) for dim, size in enumerate(before) if size != 1]:
        return None
    attrs = {**node.attrs, "broadcast_dimensions": tuple(range(len(shape)))}
    return replace(node, operands=made.operands, attrs=attrs)


def item_kept(known: Known, node: Node) -> Node | None:
    """What stands at a place, in its dimension again, as a slice: x[:, 0][:, None] is x[:, :1]."""
    made, result = known.only(node.operands[0], idiom.item.name), known.shape(node.results[0])
    if made is None:
        return None
    at = dict(cast("tuple[tuple[int, int], ...]", made.attrs["at"]))
    shape = known.shape(made.operands[0])
    dims = cast("tuple[int, ...]", node.attrs.get("broadcast_dimensions", ()))
    if result != tuple(1 if dim in at else size for dim, size in enumerate(shape)) or list(dims) != sorted(
        dims
    ):
        return None
    attrs = {
        "start_indices": tuple(at.get(dim, 0) for dim in range(len(shape))),
        "limit_indices": tuple(at[dim] + 1 if dim in at else size for dim, size in enumerate(shape)),
        "strides": (1,) * len(shape),
    }
    return Node(node.id, hlo.slice_.name, made.operands, node.results, attrs, (), node.loc)


def cut(known: Known, node: Node) -> Node | None:
    """Padding that is negative at ends and nowhere else is a slice."""
    ends = [cast("tuple[int, ...]", node.attrs[key]) for key in ("edge_padding_low", "edge_padding_high")]
    inner = cast("tuple[int, ...]", node.attrs["interior_padding"])
    shape = known.shape(node.operands[0])
    if any(inner) or any(end > 0 for end in (*ends[0], *ends[1])) or not any((*ends[0], *ends[1])):
        return None
    low, high = ends
    attrs = {
        "start_indices": tuple(-end for end in low),
        "limit_indices": tuple(size + end for size, end in zip(shape, high, strict=True)),
        "strides": (1,) * len(shape),
    }
    return Node(node.id, hlo.slice_.name, node.operands[:1], node.results, attrs, (), node.loc)


def part(known: Known, node: Node) -> Node | None:
    """A slice of what is joined that is one of its parts."""
    made = known.made.get(node.operands[0])
    if made is None or made.name != hlo.concatenate.name:
        return None
    dim, at = cast(int, made.attrs["dimension"]), 0
    starts, stops = (cast("tuple[int, ...]", node.attrs[key]) for key in ("start_indices", "limit_indices"))
    for piece in made.operands:
        size = known.shape(piece)[dim]
        if (starts[dim], stops[dim]) == (at, at + size) and known.shape(piece) == known.shape(
            node.results[0]
        ):
            return same(known, node, piece)
        at += size
    return None


def sliced_again(known: Known, node: Node) -> Node | None:
    """A slice of a slice that nothing else reads, as one."""
    made = known.only(node.operands[0], hlo.slice_.name)
    if made is None:
        return None
    (begin, _, by), (start, stop, step) = (
        [cast("tuple[int, ...]", each.attrs[key]) for key in ("start_indices", "limit_indices", "strides")]
        for each in (made, node)
    )
    dims = range(len(begin))
    starts = tuple(begin[dim] + start[dim] * by[dim] for dim in dims)
    attrs = {
        "start_indices": starts,
        "limit_indices": tuple(max(starts[dim], begin[dim] + (stop[dim] - 1) * by[dim] + 1) for dim in dims),
        "strides": tuple(step[dim] * by[dim] for dim in dims),
    }
    return replace(node, operands=made.operands, attrs=attrs)


def moved_back(known: Known, node: Node) -> Node | None:
    """A change of shape, if with those before it it gives back what there was."""
    value = unmoved(known.graph, node, known.made)
    return None if value is None else same(known, node, value)
