"""StableHLO's collectives, as JAX's shard_map prints them: groups of device numbers instead of axis names.

Numbers are row-major positions of the mesh. An all_gather's result is the same over its axes: the text does
not tell JAX's two all_gathers apart, and every device of a group does get the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from shardc.check.communication import moved, reduced
from shardc.check.site import CheckedOp
from shardc.check.state import State
from shardc.graph import Dense
from shardc.layout import Axis, size_of
from shardc.ops import hlo, op_of


def all_reduce(site: CheckedOp) -> list[State]:
    """Varying or partial over the groups' axes -> the same."""
    return [reduced(site, _group_axes(site), _kind(site))]


def reduce_scatter(site: CheckedOp) -> list[State]:
    """Varying or partial over the groups' axes -> varying."""
    axes = _group_axes(site)
    state = reduced(site, axes, _kind(site))
    return [replace(state, varies=state.varies | axes)]


def all_gather(site: CheckedOp) -> list[State]:
    """-> the same over the groups' axes."""
    axes = _group_axes(site)
    state = moved(site, axes)
    return [replace(state, varies=state.varies - axes)]


def all_to_all(site: CheckedOp) -> list[State]:
    """-> varying over the groups' axes."""
    return [moved(site, _group_axes(site))]


def collective_permute(site: CheckedOp) -> list[State]:
    """-> varying over the axes along which something moves."""
    pairs = _numbers(site, "source_target_pairs")
    return [moved(site, frozenset(axis for axis in site.parts.all if _differ(site, axis, pairs)))]


def _group_axes(site: CheckedOp) -> frozenset[Axis]:
    """The axes along which the members of a group differ; ShardcError if the groups are not those of axes."""
    groups = _numbers(site, "replica_groups")
    axes = frozenset(axis for axis in site.parts.all if _differ(site, axis, groups))
    if size_of(axes) != groups.shape[1] or groups.size != site.parts.mesh.size:
        raise site.error(f"the groups of {site.op_name} are not the devices that differ along some mesh axes")
    return axes


def _differ(site: CheckedOp, axis: Axis, groups: NDArray[np.int64]) -> bool:
    """Whether devices of one row stand at different places along the axis."""
    places = site.parts.mesh.coordinates(axis)[groups]
    return bool((places != places[:, :1]).any())


def _numbers(site: CheckedOp, key: str) -> NDArray[np.int64]:
    value = site.node.attrs[key]
    return np.array(value.array() if isinstance(value, Dense) else value, np.int64)


def _kind(site: CheckedOp) -> str:
    return op_of(site.graph, site.node).combiner or "a reduction"


GROUPED: dict[str, Callable[[CheckedOp], list[State]]] = {
    hlo.all_gather.name: all_gather,
    hlo.all_reduce.name: all_reduce,
    hlo.all_to_all.name: all_to_all,
    hlo.collective_permute.name: collective_permute,
    hlo.reduce_scatter.name: reduce_scatter,
}
