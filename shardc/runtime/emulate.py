"""Runs a per-device function on emulated devices: cut the arrays, run every device, join the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from shardc import layout
from shardc.layout import LayoutError, Sharding
from shardc.runtime.blocks import join
from shardc.runtime.collectives import Array, read_only
from shardc.runtime.groups import MeshGroups
from shardc.runtime.mesh import Axes, Entry, P, names_of, sharding_of
from shardc.runtime.scheduler import EmulatedComm, Scheduler
from shardc.runtime.trees import leaves, like
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

    One spec per argument and per result; a tuple, a NamedTuple or a dict of specs is for such a one of
    arrays, and what is said of results by number counts the arrays. A dimension that its axes don't divide is
    cut into blocks of the ceiling size, the last ones filled up with zeros; for such a result `out_shapes`
    says the global shape.
    `partial_out` gives (axes, kind) for the results, by number, of which each device holds a partial result:
    the global array is their combination. The function returns one array if device_main does, else a tuple.

    Raises DivergenceError if devices don't meet in the same collectives, LayoutError if arrays don't fit the
    specs, ReplicationError if devices differ in a result that its spec says is equal on them; an exception of
    a device comes through, with a note that names the device.
    """
    partial_out, out_shapes = partial_out or {}, out_shapes or {}
    entering, leaving = specs_of(in_specs), specs_of(out_specs)

    def main(*arguments: Any) -> Any:
        if len(arguments) != len(in_specs):
            raise TypeError(f"there are {len(in_specs)} in_specs, but {len(arguments)} arrays")
        arrays = [
            array for spec, given in zip(in_specs, arguments, strict=True) for array in _given(spec, given)
        ]
        blocks = [
            _blocks(np.asarray(x), _sharding(mesh, spec, np.ndim(x), None, f"argument {i}"))
            for i, (x, spec) in enumerate(zip(arrays, entering, strict=True))
        ]

        def device(comm: EmulatedComm) -> Any:
            own = iter([of_positions[comm.position] for of_positions in blocks])
            return device_main(comm, *(_like(spec, own) for spec in in_specs))

        results = [
            tuple(cast(Sequence[Any], result)) if isinstance(result, list) else result
            for result in Scheduler(MeshGroups(mesh), device).run()
        ]
        rows = [[np.asarray(item) for item in leaves(result)] for result in results]
        _check_numbers(rows, len(leaving), mesh)
        return like(results[0], [_whole([row[i] for row in rows], i, spec) for i, spec in enumerate(leaving)])

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


def _is_tree(spec: object) -> bool:
    """Whether it is a tuple or a dict of specs; a plain tuple may be a spec itself."""
    if isinstance(spec, dict):
        return True
    if not isinstance(spec, tuple) or isinstance(spec, P):
        return False
    items = cast("tuple[object, ...]", spec)
    return hasattr(items, "_fields") or any(isinstance(item, P) or _is_tree(item) for item in items)


def specs_of(tree: Sequence[Any]) -> list[Spec]:
    """The specs in a sequence of specs and of tuples and dicts of them."""
    return [one for spec in tree for one in (specs_of(_items(spec)) if _is_tree(spec) else [spec])]


def _items(spec: Any) -> Sequence[Any]:
    return [*cast("dict[str, Any]", spec).values()] if isinstance(spec, dict) else spec


def _given(spec: Any, value: Any) -> list[ArrayLike]:
    """The arrays of an argument that has this spec. TypeError if it has not so many."""
    if not _is_tree(spec):
        return [value]
    if isinstance(spec, dict):
        spec, value = _by_key(cast("dict[str, Any]", spec), value)
    if len(spec) != len(value):
        raise TypeError(f"there are {len(spec)} specs for a tuple of {len(value)} arrays")
    return [array for inner, item in zip(spec, value, strict=True) for array in _given(inner, item)]


def _by_key(spec: dict[str, Any], value: Any) -> tuple[list[Any], list[Any]]:
    """Specs, and the items of a dict that they are for. TypeError if it has other keys."""
    if not isinstance(value, dict) or cast("dict[str, Any]", value).keys() != spec.keys():
        raise TypeError(f"a dict with the keys {', '.join(spec)} is expected")
    return list(spec.values()), [value[key] for key in spec]


def _like(spec: Any, blocks: Iterator[Array]) -> Any:
    """The tuples, records and dicts that a spec is, of blocks."""
    if not _is_tree(spec):
        return next(blocks)
    if isinstance(spec, dict):
        named = cast("dict[str, Any]", spec)
        return {key: _like(inner, blocks) for key, inner in named.items()}
    own = [_like(inner, blocks) for inner in spec]
    return type(spec)(*own) if hasattr(spec, "_fields") else tuple(own)


def _check_numbers(rows: list[list[Array]], expected: int, mesh: layout.Mesh) -> None:
    for position, row in enumerate(rows):
        if len(row) != expected:
            device = MeshGroups(mesh).device(position)
            raise ValueError(f"{device} returns {len(row)} results; there are {expected} out_specs")
