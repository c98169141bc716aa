"""How a trace shows an operation and the blocks it makes: a line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shardc.check.communication import said
from shardc.graph import Node
from shardc.layout import Axis, Mesh, text_of
from shardc.layout.groups import group_of, position_over
from shardc.ops import Trait, has, spmd

Array = NDArray[np.generic]


def operation(node: Node, mesh: Mesh) -> str:
    """tanh; psum over j"""
    if not has(node.name, Trait.ALONG_AXES):
        return node.name.partition(".")[2]
    axes = cast("tuple[Axis, ...]", node.attrs["axes"])
    return f"{said(node)} over {', '.join(text_of(axis, mesh) for axis in axes)}"


def sender(node: Node, mesh: Mesh, position: int) -> str:
    """Of a permute, from whom a position of the mesh receives: ", from device 3"."""
    if node.name != spmd.collective_permute.name:
        return ""
    axes = cast("tuple[Axis, ...]", node.attrs["axes"])
    pairs = cast("Sequence[tuple[int, int]]", node.attrs["pairs"])
    along, group = position_over(mesh, axes), group_of(mesh, axes)
    sources = {destination: source for source, destination in pairs}
    if int(along[position]) not in sources:
        return ", from none"
    (found,) = np.flatnonzero((along == sources[int(along[position])]) & (group == group[position]))
    return f", from device {int(mesh.devices.reshape(-1)[found])}"


def summary(array: Array) -> str:
    """What a block holds: the number, or the range and the mean; NaN and infinity are counted."""
    if array.size == 0:
        return "no elements"
    if array.size == 1:
        return str(array.reshape(-1)[0])
    if array.dtype == np.bool_:
        return f"{int(array.sum())} of {array.size} true"
    if array.dtype.kind == "c":
        return f"magnitudes {summary(np.abs(array))}"
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    lost = "" if finite.size == array.size else f", {array.size - finite.size} not finite"
    if finite.size == 0:
        return f"nothing finite of {array.size}"
    return f"{finite.min():.4g} to {finite.max():.4g}, mean {finite.mean():.4g}{lost}"
