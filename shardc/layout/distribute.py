"""Tensors as their devices' blocks, and back: what a layout means in values.

Blocks are keyed by the numbers under which the world knows the devices, so layouts on different devices, and
in different notations, exchange tensors through these two functions. No padding: blocks may differ in shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardc.layout.limits import finfo, iinfo
from shardc.layout.mesh import LayoutError
from shardc.layout.sharding import Sharding
from shardc.layout.slices import blocks, local_shapes, partials, replica_groups, slices
from shardc.layout.uneven import Policy

Array = NDArray[Any]
Blocks = Mapping[int, Array]

COMBINE: dict[str, Callable[[Array, Array], Array]] = {"sum": np.add, "max": np.maximum, "min": np.minimum}
"""How two partial results of each kind combine."""


def distribute(tensor: Array, sharding: Sharding, policy: Policy = "ceil") -> dict[int, Array]:
    """Device -> its block. Of partial results the first holds the values, the others what changes nothing."""
    table = slices(sharding, tensor.shape, policy)
    number = partials(sharding)
    nothing = neutral(tensor.dtype, sharding.kind)
    found: dict[int, Array] = {}
    for device, rank in enumerate(devices_of(sharding)):
        block = tensor[tuple(slice(start, stop) for start, stop in table[device].tolist())]
        found[rank] = block.copy() if number[device] == 0 else np.full_like(block, nothing)
    return found


def assemble(held: Blocks, sharding: Sharding, policy: Policy = "ceil", check_copies: bool = True) -> Array:
    """The tensor that the blocks make up.

    Its shape is that of the blocks together. LayoutError if a block is missing, if their shapes are not those
    of the policy, or if copies differ; without `check_copies` the first one counts.
    """
    devices = devices_of(sharding)
    for rank in devices:
        if rank not in held:
            raise LayoutError(f"device {rank} gives no block")
    shape = global_shape(held, sharding, policy)
    groups = replica_groups(sharding)
    if check_copies:
        _check_copies(held, groups.tolist(), devices)
    first = held[devices[0]]
    result = np.full(shape, neutral(first.dtype, sharding.kind), first.dtype)
    table = slices(sharding, shape, policy)
    for device in groups[:, 0].tolist():
        region = tuple(slice(start, stop) for start, stop in table[device].tolist())
        result[region] = COMBINE[sharding.kind](result[region], held[devices[device]])
    return result


def global_shape(held: Blocks, sharding: Sharding, policy: Policy = "ceil") -> tuple[int, ...]:
    """The shape of the tensor of which these are the blocks; LayoutError if they are of none."""
    devices = devices_of(sharding)
    shapes = np.array([held[rank].shape for rank in devices if held[rank].ndim == sharding.rank], np.int64)
    if len(shapes) != len(devices):
        raise LayoutError(f"blocks of a tensor of {sharding.rank} dimensions have other numbers of them")
    shape: list[int] = []
    for i, dim in enumerate(sharding.dims):
        _, first = np.unique(blocks(sharding.mesh, dim.axes), return_index=True)
        shape.append(int(shapes[first, i].sum()))
    wrong = np.argwhere(shapes != local_shapes(sharding, shape, policy))
    if len(wrong):
        device, i = wrong[0].tolist()
        wanted = local_shapes(sharding, shape, policy)[device, i]
        raise LayoutError(
            f"dimension {i} of device {devices[device]}'s block has {shapes[device, i]} elements; "
            f"of {shape[i]} it holds {wanted} ({policy})"
        )
    return tuple(shape)


def devices_of(sharding: Sharding) -> Sequence[int]:
    """The numbers under which the world knows the devices, in the order of every table of devices."""
    mesh = sharding.mesh
    if mesh.is_maximal:
        return mesh.device_ids or ()
    return mesh.ranks or range(mesh.size)


def _check_copies(held: Blocks, groups: Sequence[Sequence[int]], devices: Sequence[int]) -> None:
    for first, *others in groups:
        for other in others:
            a, b = held[devices[first]], held[devices[other]]
            if not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
                raise LayoutError(
                    f"devices {devices[first]} and {devices[other]} should hold copies; their values differ"
                )


def neutral(dtype: np.dtype[Any], kind: str) -> Any:
    """What changes nothing when combined by `kind` (sum, max, min)."""
    if kind == "sum":
        return dtype.type(0)
    if dtype.kind == "b":
        return dtype.type(kind == "min")
    if dtype.name.startswith(("int", "uint")):
        ends = iinfo(dtype).min, iinfo(dtype).max
    elif np.isinf(np.array(np.inf).astype(dtype)):
        ends = -np.inf, np.inf
    else:  # a float of 8 bits without infinities
        ends = finfo(dtype).min, finfo(dtype).max
    return dtype.type(ends[0 if kind == "max" else 1])
