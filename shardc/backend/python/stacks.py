"""One part of many: `ws[i]` of a stack, `ys.at[i].set(y)`, `x[:, 3]`.

dynamic_slice; reshape           ->  idiom.layer        ws[i], x[:, i]
reshape; dynamic_update_slice    ->  idiom.put_layer    ys.at[i].set(y)
slice; reshape                   ->  idiom.item         x[:, 3]
"""

from __future__ import annotations

from typing import Protocol, cast

from shardc.backend.python import idiom
from shardc.backend.python.ranges import Range, bounds
from shardc.graph import Node
from shardc.ops import hlo

_RESHAPES = (hlo.reshape.name, hlo.broadcast_in_dim.name)


class Program(Protocol):
    """The nodes that make its values, their shapes, and what its loops count."""

    made: dict[int, Node]
    counters: dict[int, Range]

    def only(self, value: int, *names: str) -> Node | None: ...

    def shape(self, value: int) -> tuple[int, ...]: ...


def layer(folder: Program, node: Node) -> Node | None:
    made = folder.only(node.operands[0], hlo.dynamic_slice.name, idiom.sliced.name)
    if made is None:
        return None
    stack, *starts = made.operands
    shape, sizes = folder.shape(stack), cast("tuple[int, ...]", made.attrs["slice_sizes"])
    cut = [dim for dim, size in enumerate(sizes) if size != shape[dim]] or [0]
    axis, size = cut[0], shape[cut[0]]
    if len(cut) > 1 or sizes[axis] != 1 or folder.shape(node.results[0]) != shape[:axis] + shape[axis + 1 :]:
        return None
    from_end = cast("tuple[bool, ...]", made.attrs.get("from_end", (False,) * len(shape)))
    inside = _inside(folder, starts[axis], size)
    attrs = {"axis": axis, "counter": inside, "from_end": from_end[axis : axis + 1]}
    return Node(node.id, idiom.layer.name, (stack, starts[axis]), node.results, attrs, (), node.loc)


def put_layer(folder: Program, node: Node) -> Node | None:
    stack, update, start = node.operands[:3] if len(node.operands) > 2 else (0, 0, 0)
    made = folder.made.get(update)
    shape = folder.shape(stack)
    if made is None or made.name not in _RESHAPES or folder.shape(made.operands[0]) != shape[1:] or not shape:
        return None
    if folder.shape(update) != (1, *shape[1:]) or not _inside(folder, start, shape[0]):
        return None
    operands = (stack, made.operands[0], start)
    return Node(node.id, idiom.put_layer.name, operands, node.results, {}, (), node.loc)


def item(folder: Program, node: Node) -> Node | None:
    """x[:, 3], x[1]"""
    made = folder.only(node.operands[0], hlo.slice_.name)
    if made is None:
        return None
    bounds = zip(
        *(cast("tuple[int, ...]", made.attrs[k]) for k in ("start_indices", "limit_indices")), strict=True
    )
    shape = folder.shape(made.operands[0])
    found = list(enumerate(zip(bounds, shape, strict=True)))
    whole = [d for d, ((start, stop), size) in found if (start, stop) == (0, size) and size != 1]
    at = tuple((d, start) for d, ((start, stop), _) in found if stop == start + 1 and d not in whole)
    fits = len(whole) + len(at) == len(shape) and folder.shape(node.results[0]) == tuple(
        shape[d] for d in whole
    )
    if not fits:
        return None
    return Node(node.id, idiom.item.name, made.operands, node.results, {"at": at}, (), node.loc)


def _inside(folder: Program, start: int, size: int) -> bool:
    """Whether an index stays within a dimension, as far as its making from loops' counters tells."""
    found = bounds(start, folder.made, folder.counters)
    return found is not None and found[0] >= 0 and found[1] < size
