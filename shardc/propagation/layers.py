"""The layers around a sweep, innermost first: strategies, op priorities, user priorities."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from shardc.layout import Dim, Sharding
from shardc.propagation.priorities import ROUNDS
from shardc.propagation.step import Strategy
from shardc.propagation.sweep import SweepState

Layer = Callable[[SweepState], None]


def by_strategy(state: SweepState, strategies: tuple[Strategy, ...], round: int | None = None) -> None:
    """One sweep with each strategy."""
    for strategy in strategies:
        state.sweep(strategy, round)


def by_op_priority(state: SweepState, strategies: tuple[Strategy, ...]) -> None:
    """The strategies in five rounds, each of which lets shardings flow through more operations."""
    for round in range(ROUNDS):
        by_strategy(state, strategies, round)


def by_user_priority(state: SweepState, inner: Layer) -> None:
    """The inner layer once per priority that annotations give their dimensions, most important (0) first.

    A dimension of a later priority is closed and empty until its turn, and its axes may not split the tensor
    elsewhere.
    """
    waiting: dict[int, list[tuple[int, Sharding]]] = {}
    for place in range(len(state.flow.start)):
        sharding = state[place]
        if sharding is None:
            continue
        for priority in {dim.priority or 0 for dim in sharding.dims} - {0}:
            waiting.setdefault(priority, []).append((place, sharding))
        state[place] = without_later(sharding)
    inner(state)
    for priority in sorted(waiting):
        for place, sharding in waiting[priority]:
            now = state[place]
            assert now is not None
            state[place] = with_priority(now, sharding, priority)
        inner(state)


def without_later(sharding: Sharding) -> Sharding:
    """The annotation as it counts for priority 0."""
    later = [axis for dim in sharding.dims if dim.priority for axis in dim.axes]
    dims = tuple(Dim() if dim.priority else replace(dim, priority=None) for dim in sharding.dims)
    return replace(sharding, dims=dims, replicated=(*sharding.replicated, *later))


def with_priority(now: Sharding, annotation: Sharding, priority: int) -> Sharding:
    """`now` with the dimensions of a priority as they were annotated, and their axes free again."""
    dims = tuple(
        replace(given, priority=None) if given.priority == priority else dim
        for dim, given in zip(now.dims, annotation.dims, strict=True)
    )
    freed = {axis for dim in annotation.dims if dim.priority == priority for axis in dim.axes}
    return replace(now, dims=dims, replicated=tuple(axis for axis in now.replicated if axis not in freed))
