"""Where arguments lie, and on which mesh of devices: what jax.jit would find out from its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain, count
from typing import Any

import numpy as np
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec, Sharding

from shardc.diagnostics import ShardcError
from shardc.frontend.jax_equations import equations
from shardc.jaxside.untyped import jax

TOKEN = "an argument is a token, of which per-device code has none"
REFERENCE = "an argument is a mutable array (jax.new_ref), and a compiled program changes none"
SYMBOLIC = "an argument is {type}, and a program is compiled for sizes that are numbers"
NAMED_AXIS = "the function uses the axis {axis!r} of a jax.vmap, jax.pmap or jax.shard_map around it"

AnyMesh = Mesh | AbstractMesh
"""A mesh of devices, or the one of a function around, which JAX traces and which it will run on."""

_MODULE = re.compile(r"^module .*\{$", re.M)

Path = tuple[Any, ...]
Placement = tuple[tuple[Path, Sharding], ...]
"""The shardings of those leaves of (args, kwargs) that have one, by their paths; it can be a key."""


def placement(arguments: Any) -> Placement:
    """The shardings of the arrays among the arguments that were put on several devices, or on a mesh."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(arguments)
    found = ((path, placed(leaf)) for path, leaf in leaves)
    return tuple((path, sharding) for path, sharding in found if sharding is not None)


def placed(leaf: Any) -> Sharding | None:
    """Where an array was put, if on several devices or on a mesh, which may have one device. A tracer of a
    derivative or of jax.vmap has an array.
    """
    if isinstance(leaf, jax.core.Tracer):
        if isinstance(getattr(leaf, "batch_dim", None), int):
            _check_whole(leaf.batch_dim, getattr(leaf.val, "sharding", None))
            return _without(leaf.batch_dim, placed(leaf.val))
        primal = getattr(leaf, "primal", None)
        return None if primal is None else placed(primal)
    sharding = getattr(leaf, "sharding", None)
    committed = getattr(leaf, "committed", True)
    return sharding if isinstance(sharding, Sharding) and committed and _is_on_a_mesh(sharding) else None


def _is_on_a_mesh(sharding: Sharding) -> bool:
    devices: Any = sharding
    return not sharding.mesh.empty if isinstance(sharding, NamedSharding) else len(devices.device_set) > 1


def _check_whole(dim: int, sharding: Any) -> None:
    """ShardcError if jax.vmap maps over a dimension that is split."""
    spec = sharding.spec if isinstance(sharding, NamedSharding) else ()
    axes = spec[dim] if dim < len(spec) else None
    if axes:
        raise ShardcError(
            f"jax.vmap maps over dimension {dim} of an argument, which is split over {axes}",
            hint="map inside the function that shardc.jit compiles, or over a dimension that is not split",
        )


def _without(dim: int, sharding: Sharding | None) -> Sharding | None:
    """That of the slices along a dimension."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    entries = [entry for i, entry in enumerate(sharding.spec) if i != dim]
    return NamedSharding(sharding.mesh, PartitionSpec(*entries))


def abstract(leaf: Any, sharding: Sharding | None) -> Any:
    """The type of a traced leaf, with the sharding of the array that it stands for.

    Where the axes of the mesh are explicit, JAX's type has it. ShardcError for a token.
    """
    type: Any = jax.typeof(leaf)
    check_array(type)
    if not hasattr(type, "shape"):
        raise ShardcError(TOKEN, hint="tokens order effects, and what is compiled has no effects")
    known = getattr(type, "sharding", None)
    if sharding is None and isinstance(known, NamedSharding) and any(known.spec):
        sharding = known
    weak = bool(getattr(type, "weak_type", False))
    return jax.ShapeDtypeStruct(type.shape, type.dtype, weak_type=weak, sharding=sharding)


def check_array(type: Any) -> None:
    """ShardcError if a type is that of a mutable array, or has a size that JAX knows by name only."""
    if hasattr(type, "inner_aval"):
        raise ShardcError(REFERENCE, hint="give the function an array, and return the new one")
    if any(not isinstance(size, int | np.integer) for size in getattr(type, "shape", ())):
        message = SYMBOLIC.format(type=type.str_short())
        raise ShardcError(message, hint="export the function for each size that it is to have")


def check_traced(jaxpr: Any) -> None:
    """ShardcError if what JAX traced changes its arguments, has sizes without a number, or uses an axis that
    no mesh has.
    """
    for aval in jaxpr.in_avals:
        check_array(aval)
    for effect in jaxpr.effects:
        if type(effect).__name__ == "NamedAxisEffect":
            message = NAMED_AXIS.format(axis=effect.name)
            raise ShardcError(message, hint="compile the function with its jax.vmap: shardc.jit(jax.vmap(…))")


def meshes(shardings: Any) -> Iterator[AnyMesh]:
    """The meshes of the shardings in a tree."""
    for leaf in jax.tree.leaves(shardings):
        if isinstance(leaf, NamedSharding):
            yield leaf.mesh


def meshes_in(jaxpr: Any) -> Iterator[Mesh]:
    """The meshes that the operations of a traced function name, where they name devices."""
    for equation in equations(jaxpr):
        for value in jax.tree.leaves(list(equation.params.values())):
            found = [value] if isinstance(value, Mesh) else meshes(value)
            yield from (mesh for mesh in found if isinstance(mesh, Mesh))


def with_mesh(text: str, meshes: Iterable[AnyMesh]) -> str:
    """The text of a module, with the mesh of one device that its function runs on.

    JAX says nothing of it: of a jax.shard_map only collectives of one device are left.
    """
    mesh = next((mesh for mesh in meshes if mesh.size == 1), None)
    if mesh is None:
        return text
    from shardc.ops import sdy  # a program that is kept is found without the operations

    if f"{sdy.mesh.name} @" in text:
        return text
    axes = ", ".join(f'"{name}"={size}' for name, size in mesh.shape.items())
    names = chain(["mesh"], map("mesh_{}".format, count()))
    name = next(name for name in names if f"@{name}(" not in text)
    stated = f"{sdy.mesh.name} @{name} = <[{axes}]>"
    return _MODULE.sub(lambda found: f"{found[0]}\n  {stated}", text, count=1)


def lies_on_a_mesh(aval: Any) -> bool:
    """Whether a type says on which mesh, with explicit axes, its values are."""
    sharding = getattr(aval, "sharding", None)
    return sharding is not None and not sharding.mesh.empty


def automatic(mesh: AnyMesh) -> AnyMesh:
    """The mesh for values whose types say nothing of it: shardings that options state are in no types, also
    where the axes of their mesh are explicit."""
    types = (AxisType.Auto,) * len(mesh.axis_names)  # JAX 0.12 has another default for an AbstractMesh
    if isinstance(mesh, Mesh):
        return Mesh(mesh.devices, mesh.axis_names, axis_types=types)
    return AbstractMesh(mesh.axis_sizes, mesh.axis_names, axis_types=types)


def on_devices(emitted: Callable[[], Mesh], known: Iterable[AnyMesh]) -> tuple[AnyMesh, AnyMesh | None]:
    """The mesh that a program runs on, and the user's where that has other or explicit axes, None where not.

    The emitted program's `mesh()` counts JAX's devices from 0; the user's mesh, where it is known, may have
    other ones. Where the program cuts an axis of the user's into several, the devices keep their order.
    Of the known meshes, the one that is set comes first; those with devices come before those without.
    """
    own = emitted()
    fits = [mesh for mesh in known if mesh.size == own.size]
    if not fits:
        return own, None
    fits.sort(key=lambda mesh: not isinstance(mesh, Mesh))
    alike = [mesh for mesh in fits if tuple(mesh.shape.items()) == tuple(own.shape.items())]
    plain = [mesh for mesh in alike if AxisType.Explicit not in mesh.axis_types]
    mesh = plain[0] if plain else on_axes((alike or fits)[0], own.shape)
    return mesh, None if fits[0] in plain else fits[0]


def on_axes(mesh: AnyMesh, axes: Mapping[str, int]) -> AnyMesh:
    """The same devices in the same order, on these axes, none of which is explicit.

    Of a mesh that tells no devices they are those of the mesh that is set: JAX lowers a program on other axes
    than those only with its devices.
    """
    sizes, names = tuple(axes.values()), tuple(axes)
    given: Any = import_module("jax._src.mesh").get_concrete_mesh()
    is_other = (mesh.axis_sizes, mesh.axis_names) != (sizes, names)
    if is_other and isinstance(mesh, AbstractMesh) and given is not None and given.shape == mesh.shape:
        mesh = given
    if isinstance(mesh, Mesh):
        return automatic(Mesh(mesh.devices.reshape(sizes), names))
    return automatic(AbstractMesh(sizes, names))
