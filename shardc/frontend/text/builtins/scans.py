"""associative_scan: each element combined with all before it, in a logarithmic number of steps.

While halves divide evenly among the devices, neighbours are combined and half as many elements are scanned,
all of them still where they were; what remains is combined with what lies 1, 2, 4, … elements before. Along a
dimension that is split, every step exchanges what lies at the borders of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from shardc.frontend.text.builtins.elementwise import comparison, where
from shardc.frontend.text.builtins.reductions import axis_of
from shardc.frontend.text.builtins.shapes import flip, slice_dim, stack
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.trees import leaves, rebuilt, tensors_of
from shardc.frontend.text.values import FunctionName, Tensor, Value, describe
from shardc.graph.types import TensorType
from shardc.ops import hlo

Tensors = Sequence[Tensor]


def associative_scan(
    e: Emitter, fn: FunctionName, elems: Value, reverse: bool = False, axis: int = 0
) -> Value:
    """jax.lax.associative_scan: fn takes two values of the form of `elems`, of any size along `axis`, and
    gives them combined, element by element; `elems` is a tensor, or a tuple or record of them.
    """
    tensors = tensors_of(elems)
    if not tensors or any(not isinstance(leaf, Tensor) for leaf in leaves(elems)):
        raise e.error(f"associative_scan: elems is tensors, not {describe(elems)}")
    dims = [axis_of(e, axis, tensor.rank) for tensor in tensors]
    sizes = [tensor.shape[dim] for tensor, dim in zip(tensors, dims, strict=True)]
    if len(set(sizes)) > 1:
        texts = ", ".join(map(str, sizes))
        raise e.error(f"associative_scan: the tensors have {texts} elements along axis {axis}")
    scan = _Scan(e, fn, elems, dims)
    if reverse:
        tensors = scan.flipped(tensors)
    found = scan.whole(tensors)
    return rebuilt(elems, scan.flipped(found) if reverse else found)


class _Scan:
    """One scan: its function, the form of its values, and the dimension of each tensor."""

    def __init__(self, e: Emitter, fn: FunctionName, elems: Value, dims: Sequence[int]) -> None:
        self.e, self.fn, self.elems, self.dims = e, fn, elems, dims

    def whole(self, tensors: Tensors) -> list[Tensor]:
        """All elements combined with those before them."""
        halves: list[Tensors] = []
        while self._halves(tensors):
            first, second = self._neighbours(tensors, 0), self._neighbours(tensors, 1)
            halves.append(first)
            tensors = self._combined(first, second)
        found = self._doubling(tensors)
        for first in reversed(halves):
            found = self._interleaved(self._after(first, found, 1), found)
        return found

    def flipped(self, tensors: Tensors) -> list[Tensor]:
        return [flip(self.e, tensor, dim) for tensor, dim in zip(tensors, self.dims, strict=True)]

    def _size(self, tensors: Tensors) -> int:
        return tensors[0].shape[self.dims[0]]

    def _halves(self, tensors: Tensors) -> bool:
        """Whether half as many elements are as many on each device, whatever axes split them."""
        devices = max((mesh.size for mesh in self.e.meshes.values()), default=1)
        size = self._size(tensors)
        return size > 1 and size % (2 * devices) == 0

    def _combined(self, left: Tensors, right: Tensors) -> list[Tensor]:
        """fn of both, which keeps the types."""
        value = self.fn.apply(rebuilt(self.elems, left), rebuilt(self.elems, right))
        found = tensors_of(value)
        if [t.shape for t in found] != [t.shape for t in right]:
            texts = [", ".join(str(t.type) for t in one) for one in (right, found)]
            raise self.e.error(
                f"associative_scan: {self.fn.name} of {texts[0]} gives {texts[1] or describe(value)}",
                "it combines two values element by element",
            )
        return [self.e.cast(one, other.dtype) for one, other in zip(found, right, strict=True)]

    def _neighbours(self, tensors: Tensors, which: int) -> list[Tensor]:
        """Of every two elements the first or the second."""
        found: list[Tensor] = []
        for tensor, dim in zip(tensors, self.dims, strict=True):
            shape = tensor.shape
            pairs = self.e.reshape(tensor, (*shape[:dim], shape[dim] // 2, 2, *shape[dim + 1 :]))
            one = slice_dim(self.e, pairs, dim + 1, which, which + 1)
            found.append(self.e.reshape(one, (*shape[:dim], shape[dim] // 2, *shape[dim + 1 :])))
        return found

    def _interleaved(self, first: Tensors, second: Tensors) -> list[Tensor]:
        found: list[Tensor] = []
        for one, other, dim in zip(first, second, self.dims, strict=True):
            shape = (*one.shape[:dim], 2 * one.shape[dim], *one.shape[dim + 1 :])
            found.append(self.e.reshape(stack(self.e, (one, other), dim + 1), shape))
        return found

    def _doubling(self, tensors: Tensors) -> list[Tensor]:
        """Each combined with what lies 1, then 2, 4, … elements before."""
        found, distance = list(tensors), 1
        while distance < self._size(tensors):
            found = self._after(found, found, distance)
            distance *= 2
        return found

    def _after(self, tensors: Tensors, before: Tensors, distance: int) -> list[Tensor]:
        """Each element combined with that of `before` so many places before it; the first ones stay."""
        e = self.e
        shifted: list[Tensor] = []
        masks: list[Tensor] = []
        for tensor, other, dim in zip(tensors, before, self.dims, strict=True):
            moved = tuple(distance if i == dim else 0 for i in range(tensor.rank))
            padded = e.op(
                hlo.pad.name,
                other,
                e.splat(0, TensorType((), other.dtype)),
                edge_padding_low=moved,
                edge_padding_high=tuple(-size for size in moved),
                interior_padding=(0,) * tensor.rank,
            )
            places = e.op(hlo.iota.name, result=TensorType(tensor.shape, "i32"), iota_dimension=dim)
            mask = comparison(e, places, e.splat(distance, places.type), "GE")
            masks.append(mask)
            shifted.append(where(e, mask, padded, tensor))  # no zeros that fn would divide by
        combined = self._combined(shifted, tensors)
        return [where(e, mask, one, other) for mask, one, other in zip(masks, combined, tensors, strict=True)]
