"""Runs a per-device function on emulated devices: cut the arrays, run every device, join the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shardc import layout
from shardc.layout import LayoutError, Sharding
from shardc.runtime.blocks import join
from shardc.runtime.collectives import Array, read_only
from shardc.runtime.groups import MeshGroups
from shardc.runtime.mesh import Axes, Entry, names_of, sharding_of
from shardc.runtime.scheduler import EmulatedComm, Scheduler
from shardc.semantics.blocks import cut

Spec = Sequence[Entry]
Partials = Mapping[int, tuple[Axes, str]]


def emulate(
    device_main: Callable[..., Any],
    mesh: layout.Mesh,
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    *,
    partial_out: Partials | None = None,
    out_shapes: Mapping[int, Sequence[int]] | None = None,
) -> Callable[..., Any]:
    """A function of the global arrays that runs `device_main(comm, *blocks)` on every device of the mesh.

    One spec per argument and per result. A dimension that its axes don't divide is cut into blocks of the
    ceiling size, the last ones filled up with zeros; for such a result `out_shapes` says the global shape.
    `partial_out` gives (axes, kind) for the results, by number, of which each device holds a partial result:
    the global array is their combination. The function returns one array if device_main does, else a tuple.

    Raises DivergenceError if devices don't meet in the same collectives, LayoutError if arrays don't fit the
    specs, ReplicationError if devices differ in a result that its spec says is equal on them; an exception of
    a device comes through, with a note that names the device.
    """
    partial_out, out_shapes = partial_out or {}, out_shapes or {}

    def main(*arrays: ArrayLike) -> Any:
        if len(arrays) != len(in_specs):
            raise TypeError(f"there are {len(in_specs)} in_specs, but {len(arrays)} arrays")
        blocks = [
            _blocks(np.asarray(x), _sharding(mesh, spec, np.ndim(x), None, f"argument {i}"))
            for i, (x, spec) in enumerate(zip(arrays, in_specs, strict=True))
        ]

        def device(comm: EmulatedComm) -> Any:
            return device_main(comm, *(of_positions[comm.position] for of_positions in blocks))

        results = Scheduler(MeshGroups(mesh), device).run()
        rows = [_row(result) for result in results]
        _check_numbers(rows, len(out_specs), mesh)
        outputs = tuple(_whole([row[i] for row in rows], i, spec) for i, spec in enumerate(out_specs))
        return outputs if isinstance(results[0], (tuple, list)) else outputs[0]

    def _whole(blocks: list[Array], i: int, spec: Spec) -> Array:
        sharding = _sharding(mesh, spec, blocks[0].ndim, partial_out.get(i), f"result {i}")
        even = [n * dim.parts for n, dim in zip(blocks[0].shape, sharding.dims, strict=True)]
        return join(blocks, sharding, tuple(out_shapes.get(i, even)), f"result {i}")

    return main


def _blocks(x: Array, sharding: Sharding) -> list[Array]:
    return [read_only(block) for block in cut(x, sharding)]


def _sharding(
    mesh: layout.Mesh, spec: Spec, rank: int, partial: tuple[Axes, str] | None, what: str
) -> Sharding:
    try:
        sharding = sharding_of(mesh, spec, rank)
        if partial is not None:
            axes, kind = partial
            unreduced = tuple(mesh.axis(name) for name in names_of(axes))
            sharding = replace(sharding, unreduced=unreduced, kind=kind).check()
        return sharding
    except LayoutError as error:
        raise LayoutError(f"{what}: {error}") from None


def _row(result: object) -> list[Array]:
    several = isinstance(result, (tuple, list))
    return [np.asarray(item) for item in (cast(Sequence[Any], result) if several else (result,))]


def _check_numbers(rows: list[list[Array]], expected: int, mesh: layout.Mesh) -> None:
    for position, row in enumerate(rows):
        if len(row) != expected:
            device = MeshGroups(mesh).device(position)
            raise ValueError(f"{device} returns {len(row)} results; there are {expected} out_specs")
