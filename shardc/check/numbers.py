"""Integers computed from the device's number: how JAX prints axis_index, as partition_id / 2 % 4.

Their values on all devices are computed, so that they vary over the axes along which they differ, and no others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shardc.check.flow import plain
from shardc.check.site import Site
from shardc.check.state import State
from shardc.graph import Dense, is_integer

Numbers = NDArray[np.int64]


def device_number(site: Site) -> list[State]:
    """partition_id: the position in the mesh."""
    return [_state(site, np.arange(site.parts.mesh.size))]


def constant(site: Site) -> list[State]:
    """The same everywhere; a splat of 0 is a partial sum of itself too, and a scalar integer is known."""
    value = cast(Dense, site.node.attrs["value"])
    (type,) = site.graph.types(site.node.results)
    zero = value.is_splat and not value.data
    if type.rank or not is_integer(type.dtype):
        return [State(zero=zero)]
    return [State(zero=zero, numbers=(int(cast(Any, value.data)),) * site.parts.mesh.size)]


def arithmetic(site: Site) -> list[State]:
    """An operation on known numbers; `plain` where one is not known."""
    known = [state.numbers for state in site.states]
    if not all(numbers is not None for numbers in known):
        return plain(site)
    return [_state(site, ARITHMETIC[site.node.name](*map(np.array, known)))]


def _state(site: Site, numbers: Numbers) -> State:
    grid = numbers.reshape(site.parts.mesh.devices.shape)
    varies = frozenset(a for a in site.parts.all if a.name in site.manual and _changes(site, grid, a.name))
    return State(varies, numbers=tuple(numbers.tolist()))


def _changes(site: Site, grid: Numbers, name: str) -> bool:
    index = list(site.parts.mesh.sizes).index(name)
    return bool((grid != np.take(grid, [0], axis=index)).any())


def _quotient(a: Numbers, b: Numbers) -> Numbers:
    return a // np.maximum(b, 1)


def _remainder(a: Numbers, b: Numbers) -> Numbers:
    return a % np.maximum(b, 1)


def _same(a: Numbers) -> Numbers:
    return a


ARITHMETIC: dict[str, Callable[..., Numbers]] = {
    "stablehlo.add": np.add,
    "stablehlo.convert": _same,
    "stablehlo.divide": _quotient,
    "stablehlo.multiply": np.multiply,
    "stablehlo.remainder": _remainder,
    "stablehlo.subtract": np.subtract,
}
