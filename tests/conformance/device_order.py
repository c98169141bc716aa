"""Which device stands where in the mesh of a process_local case.

The cases were recorded with meshes whose device order they don't name. It is, in this order:

1. the key `devices` of the input, where there is one
2. what `shards_by_process` of the expected result says on which device holds which block
3. the picture in the case's name: doc_1212_3434 is a 4x4 array in which process 0 has the cells 1; fig1 and
   fig2 are the two figures of the documentation of jax.make_array_from_process_local_data
4. the first order of the mesh's axes, ascending first, for which processes share each dimension as the case
   says in `distinct_shards_per_dim` (doc_l2g_permuted)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import permutations
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from shardc.layout import Sharding
from shardc.layout.slices import slices
from shardc.runtime import uniformity

FIGURES = {"fig1": ("0123", "2103", "4675", "4567"), "fig2": ("0213", "0213", "4657", "4657")}


def ordered(sharding: Sharding, case: Mapping[str, Any]) -> Sharding:
    """The sharding with the mesh's devices in the case's order."""
    found = (rule(sharding, case) for rule in RULES)
    order = next((order for order in found if order is not None), None)
    return sharding if order is None else with_order(sharding, order)


def with_order(sharding: Sharding, order: list[int]) -> Sharding:
    """The sharding on the same axes over devices in another order."""
    mesh = replace(sharding.mesh, device_ids=tuple(order))
    return replace(sharding, mesh=mesh)


def stated(sharding: Sharding, case: Mapping[str, Any]) -> list[int] | None:
    """The order that the input states."""
    devices = case["input"].get("devices")
    return None if devices is None else np.array(devices).flatten().tolist()


def of_shards(sharding: Sharding, case: Mapping[str, Any]) -> list[int] | None:
    """The order for which each device holds the block that it is listed with."""
    processes = case["expected"].get("shards_by_process")
    if not processes:
        return None
    free: dict[object, list[int]] = {}
    for position, bounds in enumerate(slices(sharding, case["expected"]["result_shape"]).tolist()):
        free.setdefault(str(bounds), []).append(position)
    order = [-1] * sharding.mesh.size
    for shard in sorted((shard for shards in processes for shard in shards), key=lambda s: s["device"]):
        order[free[str(shard["index"])].pop(0)] = shard["device"]
    return order


def of_picture(sharding: Sharding, case: Mapping[str, Any]) -> list[int] | None:
    """The order that the picture in the case's name shows, cells of a process in row-major order."""
    rows = picture(case["case"].split()[0])
    sizes = tuple(size for _, size in sharding.mesh.axes)
    if not rows or len(sizes) != 2:
        return None
    cells = np.array([[int(cell) for cell in row] for row in rows])
    step = [max(1, have // want) for have, want in zip(cells.shape, sizes, strict=True)]
    cells = cells[:: step[0], :: step[1]]
    cells = np.tile(cells, [want // have for have, want in zip(cells.shape, sizes, strict=True)])
    if cells.shape != sizes:
        return None
    labels, number = np.unique(cells, return_inverse=True)
    process = number.flatten() * sharding.mesh.processes // len(labels)
    return np.argsort(np.argsort(process, kind="stable")).tolist()


def picture(name: str) -> tuple[str, ...]:
    """The rows of the picture that a name holds or refers to."""
    rows = tuple(re.findall(r"(?<=_)\d{2,}(?=_|$)", name))
    return FIGURES.get(name.split("_")[0], rows if len({len(row) for row in rows}) == 1 else ())


def of_axes(sharding: Sharding, case: Mapping[str, Any]) -> list[int] | None:
    """The first order of the axes that shares dimensions among processes as the case says."""
    wanted = case["expected"].get("distinct_shards_per_dim")
    sizes = [size for _, size in sharding.mesh.axes]
    for axes in permutations(range(len(sizes))) if wanted else ():
        count = np.arange(prod(sizes)).reshape([sizes[axis] for axis in axes])
        order = count.transpose(np.argsort(axes)).flatten().tolist()
        if [v.shares or "NonUniform" for v in uniformity(with_order(sharding, order))] == wanted:
            return order
    return None


RULES: tuple[Callable[[Sharding, Mapping[str, Any]], list[int] | None], ...] = (
    stated,
    of_shards,
    of_picture,
    of_axes,
)
