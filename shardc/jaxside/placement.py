"""Where arguments lie, and on which mesh of devices: what jax.jit would find out from its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jax.sharding import Mesh, NamedSharding, Sharding

from shardc.diagnostics import ShardcError
from shardc.jaxside.untyped import jax

Path = tuple[Any, ...]
Placement = tuple[tuple[Path, Sharding], ...]
"""The shardings of those leaves of (args, kwargs) that have one, by their paths; it can be a key."""


def placement(arguments: Any) -> Placement:
    """The shardings of the arrays among the arguments that were put on several devices."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(arguments)
    return tuple((path, leaf.sharding) for path, leaf in leaves if _is_placed(leaf))


def _is_placed(leaf: Any) -> bool:
    if isinstance(leaf, jax.core.Tracer):
        _check_batch(leaf)
        return False
    sharding = getattr(leaf, "sharding", None)
    committed = getattr(leaf, "committed", True)
    return isinstance(sharding, Sharding) and committed and _device_count(sharding) > 1


def _device_count(sharding: Sharding) -> int:
    devices: Any = sharding
    return sharding.mesh.size if isinstance(sharding, NamedSharding) else len(devices.device_set)


def _check_batch(leaf: Any) -> None:
    """ShardcError if jax.vmap maps over a dimension that is split."""
    value, dim = getattr(leaf, "val", None), getattr(leaf, "batch_dim", None)
    sharding = getattr(value, "sharding", None)
    if not isinstance(dim, int) or not isinstance(sharding, NamedSharding):
        return
    axes = sharding.spec[dim] if dim < len(sharding.spec) else None
    if axes:
        raise ShardcError(
            f"jax.vmap maps over dimension {dim} of an argument, which is split over {axes}",
            hint="map inside the function that shardc.jit compiles, or over a dimension that is not split",
        )


def abstract(leaf: Any, sharding: Sharding | None) -> Any:
    """The type of a traced leaf, with the sharding of the array that it stands for.

    Where the axes of the mesh are explicit, JAX's type has it.
    """
    type: Any = jax.typeof(leaf)
    known = getattr(type, "sharding", None)
    if sharding is None and isinstance(known, NamedSharding) and any(known.spec):
        sharding = known
    weak = bool(getattr(type, "weak_type", False))
    return jax.ShapeDtypeStruct(type.shape, type.dtype, weak_type=weak, sharding=sharding)


def meshes(shardings: Any) -> Iterator[Mesh]:
    """The meshes of the shardings in a tree."""
    for leaf in jax.tree.leaves(shardings):
        if isinstance(leaf, NamedSharding) and isinstance(leaf.mesh, Mesh):
            yield leaf.mesh


def meshes_in(jaxpr: Any) -> Iterator[Mesh]:
    """The meshes that the operations of a traced function name."""
    for equation in equations(jaxpr):
        for value in jax.tree.leaves(list(equation.params.values())):
            yield from [value] if isinstance(value, Mesh) else meshes(value)


def equations(jaxpr: Any) -> Iterator[Any]:
    """The operations of a traced function, those of the functions in it too."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for value in jax.tree.leaves(list(equation.params.values())):
            if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
                yield from equations(value)


def on_devices(emitted: Callable[[], Mesh], known: Iterable[Mesh]) -> Mesh:
    """The mesh that a program runs on: the user's own, where it is known.

    The emitted program's `mesh()` counts JAX's devices from 0; the user's mesh may have other ones. Where the
    program cuts an axis of the user's into several, the devices keep their order.
    """
    own = emitted()
    for mesh in known:
        if dict(mesh.shape) == dict(own.shape) and mesh.axis_names == own.axis_names:
            return mesh
        if mesh.size == own.size:
            return Mesh(mesh.devices.reshape(own.devices.shape), own.axis_names)
    return own
