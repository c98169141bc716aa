"""What shardc says to a case of jax.make_array_from_process_local_data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.notations import jax
from shardc.runtime import (
    DistributedArray,
    global_shape_of,
    local_shape_of,
    make_array_from_process_local_data,
    uniformity,
)
from tests.conformance.device_order import ordered


def process_local(case: Mapping[str, Any]) -> dict[str, Any]:
    """The global shape that shardc infers, what a process addresses, and the array or why there is none."""
    given = case["input"]
    sharding = sharding_of(case)
    local, shape = tuple(given["local_shape"]), given.get("global_shape")
    verdicts = uniformity(sharding)
    found: dict[str, Any] = {
        "inferred_global": _inferred(sharding, local),
        "distinct_shards_per_dim": [verdict.shares or "NonUniform" for verdict in verdicts],
        "num_addressable_indices": None if shape is None else _addressable(sharding, shape),
    }
    try:
        # The cases' data differ between replicas, at which JAX does not look.
        array = make_array_from_process_local_data(sharding, local_data(given), shape, check_replicas=False)
    except LayoutError as error:
        return found | {"error": str(error), "result_shape": None, "shards_by_process": None}
    shards = [_shards(array, process) for process in range(sharding.mesh.processes)]
    return found | {"error": None, "result_shape": array.shape, "shards_by_process": shards}


def sharding_of(case: Mapping[str, Any]) -> Sharding:
    """The sharding of a case."""
    return ordered(ascending(case["input"]), case)


def ascending(given: Mapping[str, Any]) -> Sharding:
    """The sharding of an input with its devices in ascending order; the axes are called as in its spec."""
    sizes, rank = given["mesh_shape"], len(given["local_shape"])
    named = sorted(set(re.findall(r"'(\w+)'", given["spec"])))
    letters = "xyzw" if set(named) & set("xyzw") else "abcdefgh"
    mesh = Mesh("mesh", tuple(zip(letters, sizes, strict=False)), None, given["processes"])
    return jax.read(given["spec"], mesh, rank)


def local_data(given: Mapping[str, Any]) -> list[np.ndarray]:
    """The data of every process: "arange" or "100*process + arange", or the arrays themselves."""
    text = given["local_data"]
    if not isinstance(text, str):
        return [np.array(data) for data in text]
    data = np.arange(np.prod(given["local_shape"], dtype=int)).reshape(given["local_shape"])
    step = re.match(r"(\d+)\s*\*\s*process", text)
    return [data + (int(step[1]) if step else 0) * process for process in range(given["processes"])]


def _inferred(sharding: Sharding, local: tuple[int, ...]) -> list[int | None]:
    """The global shape, with None for what is not uniform."""
    try:
        return list(global_shape_of(sharding, local))
    except LayoutError:
        return [n * v.shares if v.shares else None for n, v in zip(local, uniformity(sharding), strict=True)]


def _addressable(sharding: Sharding, shape: list[int | None]) -> list[int] | str:
    try:
        return list(local_shape_of(sharding, [int(size) if size is not None else -1 for size in shape]))
    except LayoutError as error:
        return f"ERR {error}"


def _shards(array: DistributedArray, process: int) -> list[dict[str, Any]]:
    return [
        {
            "device": shard.device,
            "index": [list(bounds) for bounds in shard.index],
            "data": shard.data.tolist(),
        }
        for shard in array.addressable_shards(process)
    ]
