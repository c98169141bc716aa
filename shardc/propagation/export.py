"""What Shardy does to the shardings it found before it hands them on. All of it is optional here.

shardc itself needs none of this: it can cut a dimension that its axes don't divide, and parts of axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from shardc.graph import Graph
from shardc.layout import Axis, Dim, Sharding
from shardc.propagation.flow import Flow
from shardc.propagation.lists import dividing_part
from shardc.propagation.sweep import SweepState


def divisible(sharding: Sharding, shape: Sequence[int]) -> Sharding:
    """The sharding with each dimension's axes cut back to what divides it; of an axis a part may stay."""
    dims = tuple(
        replace(dim, axes=_dividing(dim.axes, size)) for dim, size in zip(sharding.dims, shape, strict=True)
    )
    return replace(sharding, dims=dims)


def whole_axes(sharding: Sharding) -> Sharding:
    """The sharding with each open dimension's axes cut off before the first part of an axis."""
    dims = tuple(replace(dim, axes=_whole(dim.axes, sharding)) if dim.open else dim for dim in sharding.dims)
    return replace(sharding, dims=dims)


def closed(sharding: Sharding) -> Sharding:
    """The sharding with closed dimensions, and nothing about replicated axes."""
    return replace(sharding, dims=tuple(Dim(dim.axes) for dim in sharding.dims), replicated=())


def divide_borders(flow: Flow, state: SweepState, graph: Graph) -> None:
    """Cut the shardings of arguments and results of public functions back to whole axes that divide them."""
    for place, shape in _borders(flow, graph):
        sharding = state[place]
        if sharding is not None:
            state[place] = whole_axes(divisible(sharding, shape))


def close_all(state: SweepState) -> None:
    """Close every sharding."""
    for place in range(len(state.flow.start)):
        sharding = state[place]
        if sharding is not None:
            state[place] = closed(sharding)


def _borders(flow: Flow, graph: Graph) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The places of arguments and results of public functions, with their shapes."""
    for instance in flow.instances:
        if not instance.path:
            body = graph.functions[instance.function].body
            yield from ((instance.places[arg], graph.type(arg).shape) for arg in body.args)
            shapes = (type.shape for type in graph.types(body.results))
            yield from zip(flow.results[instance.function], shapes, strict=True)


def _dividing(axes: tuple[Axis, ...], size: int) -> tuple[Axis, ...]:
    for place, axis in enumerate(axes):
        part = dividing_part(axis, size)
        if part != axis:
            return (*axes[:place], part) if part is not None else axes[:place]
        size //= axis.size
    return axes


def _whole(axes: tuple[Axis, ...], sharding: Sharding) -> tuple[Axis, ...]:
    for place, axis in enumerate(axes):
        if not sharding.mesh.is_full(axis):
            return axes[:place]
    return axes
