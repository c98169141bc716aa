"""Collectives between numbered devices, and what puts those over the axes of the mesh in their place.

Which axes, and which parts of axes, groups lie along is worked out from the numbers (layout/groups.py);
groups that lie along none are an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from msgspec import Struct
from xdsl.ir import SSAValue

from shardc.diagnostics import ShardcError
from shardc.dialects.build import IRBuilder
from shardc.forms.localize import replay
from shardc.forms.site import scalar, spread
from shardc.graph import Graph, Node
from shardc.layout import Axis, Mesh, text_of
from shardc.layout.groups import Numbers, axes_of_pairs, axes_of_rows
from shardc.ops import hlo, op_of, spmd
from shardc.ops.custom_calls import RAGGED_ALL_TO_ALL
from shardc.ops.rule_builder import partial_kind
from shardc.rewrite.device_numbers import (
    device_numbers,
    is_of_partitions_of_replicas,
    is_of_the_only_replica,
)

Axes = tuple[Axis, ...]

_NOBODY = -1
"""What StableHLO fills up smaller groups with."""

_ALONG_AXES = "the devices of a group differ along whole axes, or along a part of one that divides it"


class Site(Struct, frozen=True):
    """One collective over numbered devices. `manual` names the axes that its code is written for."""

    graph: Graph
    manual: tuple[str, ...]
    node: Node
    mesh: Mesh
    builder: IRBuilder

    def attr(self, key: str) -> int:
        return cast(int, self.node.attrs[key])

    def positions(self, key: str) -> Numbers:
        """The positions in the mesh of the devices in an attribute."""
        try:
            numbers = device_numbers(self.node, key)
        except (KeyError, TypeError, ValueError):
            raise self.error(f"{title(self.node)} names no devices in its {key}") from None
        if key == "replica_groups" and (numbers == _NOBODY).any():
            text = f"the groups of {title(self.node)} are of different sizes: {_rows(numbers)}"
            raise self.error(text, _ALONG_AXES)
        if not ((0 <= numbers) & (numbers < self.mesh.size)).all():
            raise self.error(f"{title(self.node)} names devices that mesh {self.mesh} does not have")
        return np.argsort(self.mesh.devices.reshape(-1))[numbers]

    def axes(self, ordered: bool = True) -> Axes:
        """The axes along which the groups lie; if not `ordered`, members may be in any order."""
        rows = self.positions("replica_groups")
        if is_of_partitions_of_replicas(self.node):
            rows = self._everyone(rows)
        elif is_of_the_only_replica(self.node, rows):
            return ()
        axes = axes_of_rows(self.mesh, rows if ordered else np.sort(rows, axis=-1))
        if axes is None:
            raise self.error(
                f"the groups of {title(self.node)} do not lie along axes of mesh {self.mesh}: {_rows(rows)}",
                _ALONG_AXES,
            )
        for axis in axes:
            if axis.name not in self.manual:
                raise self.error(
                    f"{title(self.node)} over {text_of(axis, self.mesh)}, "
                    "which this code is not written per device of",
                    f"it is written over {', '.join(self.manual)}",
                )
        return axes

    def _everyone(self, replicas: Numbers) -> Numbers:
        """All devices of the group of the one replica."""
        if self.node.name != hlo.all_reduce.name or replicas.tolist() != [[0]]:
            raise self.error(
                f"the groups of {title(self.node)} are of replicas, of which there is one: {_rows(replicas)}",
                "use_global_device_ids makes them groups of devices",
            )
        return np.arange(self.mesh.size)[None]

    def error(self, message: str, hint: str | None = None) -> ShardcError:
        return ShardcError(message, self.node.loc, hint)


def _rows(rows: Numbers) -> str:
    """The first few."""
    shown = ", ".join(str([number for number in row if number != _NOBODY]) for row in rows[:4].tolist())
    return shown + (", …" if len(rows) > 4 else "")


def title(node: Node) -> str:
    """The name without its dialect."""
    return node.name.partition(".")[2]


# Collectives


def all_reduce(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Each operand combined over the axes."""
    axes = site.axes(ordered=False)
    return [_combined(site, x, axes) if axes else x for x in operands]


def all_gather(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Each operand's blocks joined: everyone gets the same."""
    axes, dim = site.axes(), site.attr("all_gather_dim")
    if not axes:
        return operands
    return [site.builder.one(spmd.all_gather.name, x, axes=axes, dim=dim, invariant=True) for x in operands]


def reduce_scatter(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """The operand combined over the axes; each device keeps its part."""
    axes, dim = site.axes(), site.attr("scatter_dimension")
    (x,) = operands
    kind = _kind(site, x)
    if not axes:
        return operands
    if kind is None:
        return [site.builder.one(spmd.all_slice.name, _combined(site, x, axes), axes=axes, dim=dim)]
    return [site.builder.one(spmd.reduce_scatter.name, x, axes=axes, dim=dim, kind=kind)]


def all_to_all(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Parts of one dimension exchanged for parts of another."""
    axes = site.axes()
    split, concat = site.attr("split_dimension"), site.attr("concat_dimension")
    if not axes:
        return operands
    return [
        site.builder.one(spmd.all_to_all.name, x, axes=axes, split_dim=split, concat_dim=concat)
        for x in operands
    ]


def collective_permute(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Blocks sent along pairs; without any, everyone gets zeros."""
    pairs = tuple((int(a), int(b)) for a, b in site.positions("source_target_pairs").reshape(-1, 2))
    if is_of_the_only_replica(site.node, np.array(pairs)):
        return operands
    found = axes_of_pairs(site.mesh, pairs, site.manual)
    if found is None:
        raise site.error(
            f"the pairs of {title(site.node)} do not lie along {', '.join(site.manual)}, "
            f"which this code is written per device of: {_rows(np.array(pairs))}",
            "devices that differ only along other axes must send alike, and not to each other",
        )
    axes, own = found
    (x,) = operands
    if not own:
        return [scalar(site.builder, 0, site.builder.type_of(x))]
    return [site.builder.one(spmd.collective_permute.name, x, axes=axes, pairs=own) if axes else x]


def collective_broadcast(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """The block of a group's first device."""
    axes = site.axes()
    (x,) = operands
    return [site.builder.one(spmd.collective_broadcast.name, x, axes=axes, root=0) if axes else x]


def ragged_all_to_all(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Rows sent where tables of each device say; over an axis of one device to itself."""
    axes = site.axes() or tuple(Axis(name, 1) for name in site.manual if site.mesh.sizes[name] == 1)[:1]
    if not axes:
        raise site.error(
            f"{title(site.node)} within each device, which has no axis of size 1 here",
            "over the axes of a group, devices send to each other",
        )
    return [site.builder.one(spmd.ragged_all_to_all.name, *operands, axes=axes)]


def _kind(site: Site, x: SSAValue) -> str | None:
    """How the region of a reduction combines: sum, max, min, or None if it takes a gather."""
    combiner = op_of(site.graph, site.node).combiner
    kind = partial_kind(combiner, site.builder.type_of(x).dtype)
    if kind is None and combiner not in NEUTRAL:
        raise site.error(
            f"{title(site.node)} combines by a function that is no sum, maximum, product, and, or, xor"
        )
    return kind


def _combined(site: Site, x: SSAValue, axes: Axes) -> SSAValue:
    """The operand combined over the axes; by a gather where there is no collective for it."""
    builder, kind = site.builder, _kind(site, x)
    if kind is not None:
        return builder.one(spmd.all_reduce.name, x, axes=axes, kind=kind)
    graph, type = site.graph, builder.type_of(x)
    row = spread(builder, x, (1, *type.shape), tuple(range(1, type.rank + 1)))
    rows = builder.one(spmd.all_gather.name, row, axes=axes, dim=0, invariant=True)
    init = scalar(builder, NEUTRAL[str(op_of(graph, site.node).combiner)], type.with_shape(()))
    region = replay(graph, site.node.regions[0])
    return builder.op(hlo.reduce.name, rows, init, results=[type], regions=[region], dimensions=(0,))[0]


NEUTRAL = {"prod": 1, "xor": 0, "bitor": 0, "bitand": -1}
"""What changes nothing in the combinations that are reduced after a gather."""

Way = Callable[[Site, list[SSAValue]], list[SSAValue]]

NAMED: dict[str, Way] = {
    hlo.all_gather.name: all_gather,
    hlo.all_reduce.name: all_reduce,
    hlo.all_to_all.name: all_to_all,
    hlo.collective_broadcast.name: collective_broadcast,
    hlo.collective_permute.name: collective_permute,
    hlo.reduce_scatter.name: reduce_scatter,
}
"""Collectives between numbered devices -> what puts one over named axes in their place."""


def way(node: Node) -> Way | None:
    """What puts a collective over named axes in the place of one between numbered devices."""
    if node.attrs.get("call_target_name") == RAGGED_ALL_TO_ALL:
        return ragged_all_to_all
    return NAMED.get(node.name)
