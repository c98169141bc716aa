"""What each collective computes: from the arrays of one group, in position order, to each position's result.

Reductions go in position order and once for the whole group, so every position gets the same bits; narrow
floats are added in f32 and rounded once. Results that several positions share are one read-only array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardc.semantics.arrays import is_narrow
from shardc.semantics.blocks import combine

Array = NDArray[Any]
Params = Mapping[str, Any]
Collective = Callable[[Sequence[Array], Params], list[Array]]


def read_only(array: Array) -> Array:
    """A view that cannot be written through; what is shared between devices is handed out so."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def psum(blocks: Sequence[Array], params: Params) -> list[Array]:
    return _shared(_sum(blocks), len(blocks))


def pmean(blocks: Sequence[Array], params: Params) -> list[Array]:
    """The sum over the number of positions; integers give floats, as in JAX."""
    total = _sum(blocks)
    if not _is_inexact(total.dtype):
        total = total.astype(np.float64 if total.dtype.itemsize == 8 else np.float32)
    return _shared(np.asarray(total / np.asarray(len(blocks), total.dtype)), len(blocks))


def pmax(blocks: Sequence[Array], params: Params) -> list[Array]:
    return _shared(combine(blocks, "max"), len(blocks))


def pmin(blocks: Sequence[Array], params: Params) -> list[Array]:
    return _shared(combine(blocks, "min"), len(blocks))


def psum_scatter(blocks: Sequence[Array], params: Params) -> list[Array]:
    """Each position's own block of the sum along `scatter_dimension`; untiled drops that dimension."""
    dim = params["scatter_dimension"]
    parts = split(_sum(blocks), dim, len(blocks))
    return [read_only(part if params["tiled"] else np.squeeze(part, dim)) for part in parts]


def all_gather(blocks: Sequence[Array], params: Params) -> list[Array]:
    """All blocks, joined along `axis`, or untiled stacked along a new one."""
    join = np.concatenate if params["tiled"] else np.stack
    return _shared(join(blocks, axis=params["axis"]), len(blocks))


def all_to_all(blocks: Sequence[Array], params: Params) -> list[Array]:
    """Position p gets the p-th piece along `split_axis` of every block, joined along `concat_axis`.

    Untiled, the split dimension has one element per position and goes; a new one comes at `concat_axis`.
    """
    n, split_axis, concat_axis = len(blocks), params["split_axis"], params["concat_axis"]
    shape = list(blocks[0].shape)
    shape[split_axis : split_axis + 1] = [n, shape[split_axis] // n]
    pieces = np.moveaxis(np.stack(blocks).reshape([n, *shape]), split_axis + 1, 0)  # [to, from, …]
    if not params["tiled"]:
        return list(np.moveaxis(np.squeeze(pieces, split_axis + 2), 1, concat_axis + 1))
    joined = [*shape[:split_axis], *shape[split_axis + 1 :]]
    joined[concat_axis] *= n
    return list(np.moveaxis(pieces, 1, concat_axis + 1).reshape([n, *joined]))


def ppermute(blocks: Sequence[Array], params: Params) -> list[Array]:
    """A copy of the source's array for each (source, destination) in `perm`; zeros for the others."""
    sources: dict[int, int] = {destination: source for source, destination in params["perm"]}
    return [
        np.copy(blocks[sources[position]]) if position in sources else np.zeros_like(block)
        for position, block in enumerate(blocks)
    ]


def pbroadcast(blocks: Sequence[Array], params: Params) -> list[Array]:
    """The array of position `source`, for all."""
    source: int = params["source"]
    return _shared(np.copy(blocks[source]), len(blocks))


def split(block: Array, axis: int, parts: int) -> list[Array]:
    """`parts` equal pieces of `block` along `axis`, as views."""
    return np.split(block, parts, axis=axis)


def _sum(blocks: Sequence[Array]) -> Array:
    if blocks[0].dtype == np.bool_:
        return combine([block.astype(np.int32) for block in blocks], "sum")
    return combine(blocks, "sum")


def _shared(result: Array, positions: int) -> list[Array]:
    return [read_only(result)] * positions


def _is_inexact(dtype: np.dtype[Any]) -> bool:
    return is_narrow(dtype) or np.issubdtype(dtype, np.inexact)


COLLECTIVES: dict[str, Collective] = {
    "psum": psum,
    "pmean": pmean,
    "pmax": pmax,
    "pmin": pmin,
    "psum_scatter": psum_scatter,
    "all_gather": all_gather,
    "all_to_all": all_to_all,
    "pbroadcast": pbroadcast,
    "ppermute": ppermute,
}
