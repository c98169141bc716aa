"""Programs on a mesh of their own, beside the user's: with axes in parts, or with axes that are not explicit.

    data=2, model=4  ->  data=2, model_0=2, model_1=2, of the same devices

JAX takes a shard_map on the mesh that is set alone, and arrays alone whose types name that mesh or none. So
the program's mesh is set while JAX traces the program. What types of arguments say of the user's mesh, whose
axes are explicit then, is left out: options may state other shardings than those. Results are on the user's
mesh again. One over parts of axes stays on the program's mesh where no mesh is set and no axis is explicit;
elsewhere the parts are gathered, with a warning, since the user's mesh cannot say it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec
from msgspec import Struct

from shardc.jaxside.placement import AnyMesh, automatic
from shardc.jaxside.untyped import jax
from shardc.jaxside.warned import warn

GATHERED = (
    "result {number}, {type}, lies over parts of the mesh's axes, which JAX cannot say on that mesh: it is "
    "gathered to {spec}, {sent} bytes per device; state how it lies, in out_shardings or by a constraint"
)


class Lying(Struct, frozen=True):
    """How a result lies on the user's mesh.

    sent: the bytes that each device receives, of the result's blocks over parts of axes, for it to lie so.
    """

    spec: PartitionSpec
    sent: int = 0


def on_own_mesh(
    main: Callable[..., Any], own: AnyMesh, whole: AnyMesh, results: Sequence[Lying | None]
) -> Callable[..., Any]:
    """The function `main`, which runs on the mesh `own`, of arrays on the mesh `whole`.

    results: how they lie on `whole`; None of one that is split over another mesh, and stays so.
    """
    sets, untyped = jax.sharding.use_abstract_mesh, _without_devices(automatic(whole))
    is_explicit = AxisType.Explicit in whole.axis_types

    @jax.jit
    def run(*arrays: Any) -> Any:
        must_say = is_explicit or not jax.sharding.get_abstract_mesh().empty
        if is_explicit:
            with sets(untyped):
                arrays = jax.sharding.reshard(arrays, PartitionSpec())
        with sets(_without_devices(own)):
            made, tree = jax.tree.flatten(main(*arrays))
        with sets(_without_devices(whole)):
            laid = [
                array
                if lying is None or (lying.sent and not must_say)
                else _lying(number, array, lying, whole)
                for number, (array, lying) in enumerate(zip(made, results, strict=True))
            ]
        return jax.tree.unflatten(tree, laid)

    return run


def _lying(number: int, array: Any, lying: Lying, whole: AnyMesh) -> Any:
    """A result on the mesh `whole`, which is set; a warning where it is gathered for that."""
    if lying.sent:
        type = jax.typeof(array).str_short()
        warn(GATHERED.format(number=number, type=type, spec=lying.spec, sent=lying.sent))
    laid = jax.sharding.reshard(array, _of_axes(AxisType.Explicit, lying.spec, whole))
    if not lying.sent or AxisType.Auto not in whole.axis_types:
        return laid
    rest = NamedSharding(whole, _of_axes(AxisType.Auto, lying.spec, whole))
    return jax.lax.with_sharding_constraint(laid, rest)


def _of_axes(axis_type: AxisType, spec: PartitionSpec, mesh: AnyMesh) -> PartitionSpec:
    """What a spec says of axes of a type: the types of arrays tell how they lie over explicit ones alone."""
    chosen = {name for name, each in zip(mesh.axis_names, mesh.axis_types, strict=True) if each == axis_type}
    named: list[Any] = [entry if isinstance(entry, tuple) else (entry,) for entry in spec]
    kept = [tuple(name for name in names if name in chosen) for names in named]
    return PartitionSpec(*(names or None for names in kept))


def _without_devices(mesh: AnyMesh) -> AbstractMesh:
    return mesh.abstract_mesh if isinstance(mesh, Mesh) else mesh
