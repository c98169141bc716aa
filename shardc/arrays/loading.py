"""Blocks of arrays from files: every device its own, each byte range once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from shardc.arrays.checkpoint import Checkpoint, Stored, open_checkpoint
from shardc.arrays.entry import Array
from shardc.arrays.placed import Bounds, Placed, extent, part
from shardc.diagnostics import ShardcError, did_you_mean
from shardc.graph.types import name_of

Blocks = dict[str, dict[int, Array]]
"""Array -> device number -> block, of the ceiling size in every dimension."""


def load(
    path: str | Checkpoint, layouts: Mapping[str, Placed], devices: Iterable[int] | None = None
) -> Blocks:
    """The blocks of some devices (all, without) of the arrays that `layouts` names.

    Where blocks are short, zeros fill them up; devices that hold copies share one array. Only the byte ranges
    of these blocks are read, and what is read is checked against the file's checksums. ShardcError names the
    array that is missing, has another shape or dtype, or is damaged; nothing is read before all fit.
    """
    checkpoint = open_checkpoint(path) if isinstance(path, str) else path
    found = {name: matching(checkpoint, name, placed) for name, placed in layouts.items()}
    chosen = None if devices is None else tuple(devices)
    return {name: _load(found[name], placed, chosen) for name, placed in layouts.items()}


def matching(checkpoint: Checkpoint, name: str, placed: Placed) -> Stored:
    """The array of that name; ShardcError unless it is there, with the shape and dtype that are expected."""
    stored = checkpoint.arrays.get(name)
    if stored is None:
        raise ShardcError(
            f"{checkpoint.path} has no array {name}", hint=did_you_mean(name, checkpoint.arrays)
        )
    if stored.shape != placed.type.shape or stored.dtype != placed.type.numpy:
        raise ShardcError(
            f"{checkpoint.path}: {name} is {type_text(stored.dtype, stored.shape)}, and {placed.type} is "
            "expected"
        )
    return stored


def type_text(dtype: np.dtype[np.generic], shape: Collection[int]) -> str:
    """f32[2, 8]"""
    return f"{name_of(dtype) or dtype}[{', '.join(map(str, shape))}]"


def _load(stored: Stored, placed: Placed, devices: tuple[int, ...] | None) -> dict[int, Array]:
    known: dict[Bounds, Array] = {}
    blocks: dict[int, Array] = {}
    for device in range(len(placed.bounds)) if devices is None else devices:
        bounds = placed.bounds[device if placed.sharding is not None else 0]
        if bounds not in known:
            known[bounds] = _block(stored, placed, bounds)
        blocks[device] = known[bounds]
    return blocks


def _block(stored: Stored, placed: Placed, bounds: Bounds) -> Array:
    shape = extent(bounds)
    full = shape == placed.block_shape
    block = (np.empty if full else np.zeros)(placed.block_shape, stored.dtype)
    stored.read(bounds, block[part(tuple((0, size) for size in shape))])
    return block
