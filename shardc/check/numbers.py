"""Integers computed from the device's number: how JAX prints axis_index, as partition_id / 2 % 4.

Their values on all devices are computed, so they vary over the axes along which they differ, and no others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shardc.check.flow import plain
from shardc.check.site import CheckedOp
from shardc.check.state import State
from shardc.graph import Dense, is_integer
from shardc.ops import hlo

Numbers = NDArray[np.int64]

_LIMIT = 2**31


def device_number(site: CheckedOp) -> list[State]:
    """partition_id: the position in the mesh."""
    return [_known(site, np.arange(site.parts.mesh.size))]


def constant(site: CheckedOp) -> list[State]:
    """The same everywhere; a splat of 0 is a partial sum of itself too, and a scalar integer is known."""
    value = cast(Dense, site.node.attrs["value"])
    known = (int(cast(Any, value.data)),) if not value.shape and _gives_integer(site) else None
    return [State(zero=value.is_splat and not value.data, numbers=known)]


def arithmetic(site: CheckedOp) -> list[State]:
    """An operation on known numbers, as long as nothing rounds or wraps; else `plain`."""
    known = [np.array(state.numbers) for state in site.states if state.numbers is not None]
    if len(known) < len(site.states) or not _gives_integer(site):
        return plain(site)
    with np.errstate(divide="ignore"):
        numbers = np.broadcast_to(ARITHMETIC[site.node.name](*known), site.parts.mesh.size)
    in_range = numbers.min() >= 0 and numbers.max() < _LIMIT
    return [_known(site, numbers)] if in_range else plain(site)


def _known(site: CheckedOp, numbers: Numbers) -> State:
    grid = numbers.reshape(site.parts.mesh.devices.shape)
    names = list(site.parts.mesh.sizes)
    changing = {name for i, name in enumerate(names) if (grid != np.take(grid, [0], axis=i)).any()}
    varies = frozenset(part for part in site.parts.all if part.name in changing & site.manual)
    return State(varies, numbers=tuple(numbers.tolist()))


def _gives_integer(site: CheckedOp) -> bool:
    return is_integer(site.graph.type(site.node.results[0]).dtype)


def _same(a: Numbers) -> Numbers:
    return a


ARITHMETIC: dict[str, Callable[..., Numbers]] = {
    hlo.add.name: np.add,
    hlo.convert.name: _same,
    hlo.divide.name: np.floor_divide,
    hlo.multiply.name: np.multiply,
    hlo.remainder.name: np.remainder,
    hlo.subtract.name: np.subtract,
}
