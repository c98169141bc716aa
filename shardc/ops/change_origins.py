"""The sharding that a change of layout starts from, as its attributes and `out_sharding` imply it.

`sdy.all_gather [{"x"}, {}] %0 out_sharding=<@pod, [{}, {}]>` starts from `[{"x"}, {}]`, whatever %0 is
said to be. LayoutError where the attributes name axes that `out_sharding` cannot have gained or lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from shardc.layout import Axis, LayoutError, Sharding
from shardc.layout.axes import merge
from shardc.layout.difference import subtract
from shardc.ops import sharding_changes as changes

Axes = tuple[Axis, ...]
Attrs = Mapping[str, object]


def origin(name: str, attrs: Attrs, kind: str = "sum") -> Sharding | None:
    """What the operand's sharding has to be; None for a collective_permute, which does not say.

    `kind` is how partial results combine that the change ends. LayoutError if there is no such sharding.
    """
    target = cast(Sharding, attrs["out_sharding"])
    find = _ORIGINS.get(name)
    if find is None:
        return None
    source = find(target, attrs, kind)
    source.check()
    return source


def reduced_axes(name: str, attrs: Attrs) -> Axes:
    """The axes over which a change combines partial results."""
    if name == changes.all_reduce.name:
        return cast(Axes, attrs["reduction_axes"])
    if name == changes.reduce_scatter.name:
        return tuple(axis for axes in _lists(attrs, "reduce_scatter_axes") for axis in axes)
    return ()


def _lists(attrs: Attrs, key: str) -> Sequence[Axes]:
    return cast("Sequence[Axes]", attrs[key])


def _longer(target: Sharding, lists: Sequence[Axes]) -> Sharding:
    """With axes at the end of each dimension."""
    pairs = zip(target.dims, _of_rank(target, lists), strict=True)
    return target.with_dims([merge((*dim.axes, *axes)) for dim, axes in pairs])


def _shorter(target: Sharding, lists: Sequence[Axes]) -> Sharding:
    """Without axes at the end of each dimension."""
    pairs = zip(target.dims, _of_rank(target, lists), strict=True)
    return target.with_dims([_without(dim.axes, axes, target) for dim, axes in pairs])


def _of_rank(target: Sharding, lists: Sequence[Axes]) -> Sequence[Axes]:
    if len(lists) != target.rank:
        raise LayoutError(f"axes are listed for {len(lists)} dimensions, and {target} has {target.rank}")
    return lists


def _without(axes: Axes, gone: Axes, target: Sharding) -> Axes:
    """`axes` without those at its end."""
    left = subtract(axes, gone)
    if merge((*left, *gone)) != merge(axes):
        raise LayoutError(f"{target} does not end in the axes that the change adds to it")
    return left


def _ended(sharding: Sharding, axes: Axes, kind: str) -> Sharding:
    """Partial over more axes."""
    if sharding.unreduced:
        kind = sharding.kind
    return replace(sharding, unreduced=(*sharding.unreduced, *axes), kind=kind)


def _begun(target: Sharding, axes: Axes) -> Sharding:
    """Partial over fewer axes."""
    if subtract(axes, target.unreduced):
        raise LayoutError(f"{target} is not partial over the axes that the change makes it partial over")
    return replace(target, unreduced=subtract(target.unreduced, axes))


def _moved_back(target: Sharding, attrs: Attrs, kind: str) -> Sharding:
    moves = cast("Sequence[tuple[Axes, int, int]]", attrs["params"])
    came: list[Axes] = [()] * target.rank
    went: list[Axes] = [()] * target.rank
    sources: list[int] = [0] * target.rank
    for axes, source, to in moves:
        if not (0 <= source < target.rank and 0 <= to < target.rank):
            raise LayoutError(f"axes move from dimension {source} to {to}, and {target} has {target.rank}")
        went[source] = (*went[source], *axes)
        came[to] = (*came[to], *axes)
        sources[to] += 1
    for dim, count in enumerate(sources):
        if count > 1:
            came[dim] = _as_there(target.dims[dim].axes, came[dim])
    both = [dim for dim in range(target.rank) if went[dim] and came[dim]]
    if both:
        raise LayoutError(f"axes leave dimension {both[0]} and enter it; these are two changes")
    return _longer(_shorter(target, came), went)


def _as_there(axes: Axes, came: Axes) -> Axes:
    """What came from several dimensions, in the order of the target, which its moves do not say."""
    return came if subtract(came, axes) else subtract(axes, subtract(axes, came))


def _gathered(target: Sharding, attrs: Attrs, kind: str) -> Sharding:
    return _longer(target, _lists(attrs, "gathering_axes"))


def _sliced(target: Sharding, attrs: Attrs, kind: str) -> Sharding:
    return _shorter(target, _lists(attrs, "slicing_axes"))


def _reduced(target: Sharding, attrs: Attrs, kind: str) -> Sharding:
    return _ended(target, reduced_axes(changes.all_reduce.name, attrs), kind)


def _scattered(target: Sharding, attrs: Attrs, kind: str) -> Sharding:
    lists = _lists(attrs, "reduce_scatter_axes")
    axes = reduced_axes(changes.reduce_scatter.name, attrs)
    return _ended(_shorter(target, lists), axes, kind)


def _from_copies(target: Sharding, attrs: Attrs, kind: str) -> Sharding:
    return _begun(target, cast(Axes, attrs["axes"]))


def _from_blocks(target: Sharding, attrs: Attrs, kind: str) -> Sharding:
    lists = _lists(attrs, "axes")
    return _longer(_begun(target, tuple(axis for axes in lists for axis in axes)), lists)


_ORIGINS: dict[str, Callable[[Sharding, Attrs, str], Sharding]] = {
    changes.all_gather.name: _gathered,
    changes.all_slice.name: _sliced,
    changes.all_to_all.name: _moved_back,
    changes.all_reduce.name: _reduced,
    changes.reduce_scatter.name: _scattered,
    changes.replicated_to_unreduced.name: _from_copies,
    changes.sharded_to_unreduced.name: _from_blocks,
}
