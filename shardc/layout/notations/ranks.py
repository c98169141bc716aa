"""Meshes given as arrays of device numbers, one dimension of the array per axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardc.layout.mesh import LayoutError, Mesh, mesh_of_ranks
from shardc.layout.notations.values import Value

MOST = 1 << 24
"""More devices than this are taken for a slip."""


def array_of(value: Value) -> NDArray[np.int64]:
    """A nested list of numbers as an array of at least one dimension. LayoutError if it is none."""
    try:
        array = np.array(value)
    except ValueError as error:
        raise LayoutError(f"{value} is no rectangular array of numbers") from error
    if array.dtype.kind != "i" or array.ndim < 1:
        raise LayoutError(f"{value} is no array of numbers")
    return array.astype(np.int64)


def count_of(sizes: object) -> int:
    """The number of devices in a mesh of these sizes. LayoutError if they are no sizes, or too many."""
    numbers: list[object] = list(sizes) if isinstance(sizes, Sequence) else [sizes]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    counts = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and n > 0]
    if len(counts) != len(numbers):
        raise LayoutError(f"the sizes of a mesh are positive numbers, not {sizes}")
    if prod(counts) > MOST:
        raise LayoutError(f"a mesh of {prod(counts)} devices; at most {MOST}")
    return prod(counts)


def numbers_of(*bounds: int) -> range:
    """As range, of numbers that devices may have. LayoutError where a bound is beyond them."""
    if beyond := [bound for bound in bounds if abs(bound) > MOST]:
        raise LayoutError(f"{beyond[0]} is beyond the numbers of devices; there are at most {MOST}")
    return range(*bounds)


def mesh_of_array(array: NDArray[np.int64], names: Value = None, name: str = "mesh") -> Mesh:
    """The mesh with these devices and axis names; x0, x1, … without names."""
    names = names or tuple(f"x{i}" for i in range(array.ndim))
    if not isinstance(names, tuple | list) or len(names) != array.ndim:
        raise LayoutError(f"a mesh of {array.ndim} dimensions cannot be named {names}")
    axes = tuple((str(axis), size) for axis, size in zip(names, array.shape, strict=True))
    return mesh_of_ranks(name, axes, [int(rank) for rank in array.flat])


def ranks_of(mesh: Mesh) -> list[object]:
    """The nested list of the world's numbers of the devices."""
    flat = np.array([mesh.rank_of(int(device)) for device in mesh.devices.flat])
    return flat.reshape(mesh.devices.shape).tolist()
