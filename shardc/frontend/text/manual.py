"""Decorators: @shard_map functions have global types outside, and see the blocks of one device inside;
@per_device functions are for those to call.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.text import sharded_text
from shardc.diagnostics import did_you_mean, listed
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated, dims_of
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.logical import Logical, items_of
from shardc.frontend.text.scope import DeviceScope
from shardc.graph.types import TensorType
from shardc.layout import Axis, Mesh, Sharding
from shardc.layout.difference import subtract
from shardc.layout.sharding import Dim


class Manual(Struct, frozen=True):
    """What a @shard_map function is manual over, and the specs of its parameters and results."""

    mesh: Mesh
    axes: tuple[str, ...]
    in_shardings: tuple[Sharding, ...]
    out_shardings: tuple[Sharding, ...]

    def local(self, type: TensorType, sharding: Sharding) -> TensorType:
        """The block of a tensor: its dimensions divided, rounding up, by the manual axes that split them."""
        parts = [
            Dim(tuple(axis for axis in dim.axes if axis.name in self.axes)).parts for dim in sharding.dims
        ]
        return type.with_shape(tuple(-(-n // p) for n, p in zip(type.shape, parts, strict=True)))

    def unmentioned(self, index: int) -> tuple[Axis, ...]:
        """The axes over which the type of result `index` says that all devices have the same."""
        sharding = self.out_shardings[index]
        return subtract(tuple(map(self.mesh.axis, self.axes)), sharding.axes())

    def misfit(self, index: int, type: TensorType, found: TensorType) -> tuple[str, str]:
        """Why a block of result `index`, of that global type, cannot be of the type found, and what helps."""
        sharding = self.out_shardings[index]
        why = f", the block of {sharded_text(type, sharding)}" if self.local(type, sharding) != type else ""
        if found.rank < type.rank:
            hint = "reshape the block, or psum it and leave the axis out"
        elif found.rank > type.rank:
            hint = "reshape the block, or keep its dimensions with tiled=True where a collective adds one"
        else:
            sizes = [n * dim.parts for n, dim in zip(found.shape, sharding.dims, strict=True)]
            return why, f"such blocks make up {sharded_text(found.with_shape(tuple(sizes)), sharding)}"
        return why, f"a result has the dimensions of its blocks: {hint}"


def manual_of(
    e: Emitter,
    function: s.Function,
    meshes: dict[str, Mesh],
    logical: Logical,
    parameters: list[Annotated],
    results: list[Annotated],
) -> Manual:
    """Check the decorator and the types of a @shard_map function."""
    decorator = function.decorator
    assert decorator is not None
    mesh = _mesh(e, function, meshes, [*parameters, *results])
    axes = _axes(e, decorator, mesh, logical)
    whole = len(axes) == len(mesh.axes)
    specs = [_spec(e, mesh, axes, whole, annotated) for annotated in (*parameters, *results)]
    count = len(parameters)
    return Manual(mesh, axes, tuple(specs[:count]), tuple(specs[count:]))


def _mesh(e: Emitter, function: s.Function, meshes: dict[str, Mesh], types: list[Annotated]) -> Mesh:
    """The one mesh of all types."""
    found: Mesh | None = None
    for annotated in types:
        if annotated.sharding is None:
            continue
        if found is not None and annotated.sharding.mesh != found:
            raise e.error(
                f"this type is on mesh {annotated.sharding.mesh.name},"
                f" and others of {function.name} are on {found.name}",
                "per-device code runs on one mesh",
                annotated.pos,
            )
        found = annotated.sharding.mesh
    if found is not None:
        return found
    if len(meshes) == 1:
        return next(iter(meshes.values()))
    raise e.error(
        f"no type of {function.name} says on which mesh it runs" if meshes else "@shard_map without a mesh",
        "name it after a type: f32[8] replicated on pod"
        if meshes
        else "declare one: mesh pod[data=2, model=4]",
        function.pos,
    )


def device_scope(e: Emitter, function: s.Function, meshes: dict[str, Mesh], logical: Logical) -> DeviceScope:
    """The mesh and axes of a @per_device function: those it names, or all of the only mesh."""
    decorator = function.decorator
    assert decorator is not None
    value = _option(e, decorator, "axes")
    items = () if value is None else tuple(items_of(e, value, logical))
    named = {item.id for item in items if isinstance(item, s.Name)}
    fitting = [mesh for mesh in meshes.values() if named <= set(mesh.sizes)]
    if len(fitting) != 1:
        hint = (
            "name its axes: @per_device(axes=(i,))" if fitting else "declare one: mesh pod[data=2, model=4]"
        )
        raise e.error(f"on which mesh {function.name} runs is not clear", hint, decorator.pos)
    return fitting[0], _axes(e, decorator, fitting[0], logical)


def names_axes(e: Emitter, function: s.Function) -> bool:
    """Whether the decorator says axes=…, so that the types say nothing of how other axes split."""
    return function.decorator is not None and _option(e, function.decorator, "axes") is not None


def allows_uneven(e: Emitter, function: s.Function) -> bool:
    """Whether the decorator says uneven=True: the last blocks of a dimension may hold padding."""
    return _flag(e, function.decorator, "uneven", default=False)


def promises(e: Emitter, function: s.Function) -> bool:
    """Whether the decorator says check=False: results are the same where their types say so, on its word."""
    return not _flag(e, function.decorator, "check", default=True)


def _flag(e: Emitter, decorator: s.Decorator | None, name: str, *, default: bool) -> bool:
    value = None if decorator is None else _option(e, decorator, name)
    if value is None:
        return default
    if not isinstance(value, s.Name) or value.id not in ("True", "False"):
        raise e.error(f"{name}= is True or False", pos=value.pos)
    return value.id == "True"


def _option(e: Emitter, decorator: s.Decorator, name: str) -> s.Expr | None:
    """The value of name=… in a decorator."""
    known = OPTIONS[decorator.name]
    unknown = [keyword for keyword in decorator.keywords if keyword.name not in known]
    if decorator.args or unknown:
        *most, last = [f"{option}=…" for option in known]
        takes = f"{', '.join(most)} and {last}" if most else last
        hint = next((INSTEAD[keyword.name] for keyword in unknown if keyword.name in INSTEAD), None)
        if unknown and hint is None:
            hint = did_you_mean(unknown[0].name, known)
        place = unknown[0] if unknown else decorator.args[0]
        raise e.error(f"@{decorator.name} takes {takes} only", hint, place.pos)
    return next((keyword.value for keyword in decorator.keywords if keyword.name == name), None)


OPTIONS = {"shard_map": ("axes", "uneven", "check"), "per_device": ("axes",)}
"""The decorators of the language, and what they take."""

INSTEAD = {
    "mesh": "a mesh is declared above: mesh pod[data=2, model=4]",
    "in_specs": "the types of the parameters say it: x: f32[8@i, 16]",
    "out_specs": "the types of the results say it: -> f32[8@i, 16]",
    "axis_names": "axes=(i,) names the axes that the function is written per device of",
    "check_rep": "check=False promises what the types of the results say",
    "check_vma": "check=False promises what the types of the results say",
}
"""What jax.shard_map is told otherwise."""

DECORATED = {"partial": "@shard_map stands alone: the types of parameters and results say the specs"}
"""What is said otherwise by decorators of Python."""


def _axes(e: Emitter, decorator: s.Decorator, mesh: Mesh, logical: Logical) -> tuple[str, ...]:
    """axes=(i,) in mesh order; all axes by default."""
    value = _option(e, decorator, "axes")
    if value is None:
        return tuple(mesh.sizes)
    chosen: list[str] = []
    for item in items_of(e, value, logical):
        if not isinstance(item, s.Name) or item.id not in mesh.sizes:
            hint = listed(item.id if isinstance(item, s.Name) else "", mesh.sizes, "they are")
            raise e.error(f"axes= names axes of mesh {mesh.name}", hint, item.pos)
        if item.id in chosen:
            raise e.error(f"axes= names {item.id} twice", pos=item.pos)
        chosen.append(item.id)
    if not chosen:
        raise e.error(f"@{decorator.name} over no axis", pos=value.pos)
    return tuple(name for name in mesh.sizes if name in chosen)


def _spec(e: Emitter, mesh: Mesh, axes: tuple[str, ...], whole: bool, annotated: Annotated) -> Sharding:
    """The sharding of a parameter or result as in or out spec. Without annotation: whole on every device."""
    if annotated.sharding is None:
        return Sharding(mesh, (Dim(open=not whole),) * annotated.type.rank)
    sharding = annotated.sharding
    if whole and any(dim.open or dim.priority is not None for dim in dims_of(annotated.written)):
        raise e.error(
            "the types of a @shard_map function say exactly how they are split: no ? and no priority",
            pos=annotated.pos,
        )
    for dim in sharding.dims:
        free = [axis.name not in axes for axis in dim.axes]
        if sorted(free) != free:
            raise e.error(
                "the axes that this function is manual over stand before the others in a dimension",
                pos=annotated.pos,
            )
    if whole:
        return replace(sharding, dims=tuple(Dim(dim.axes) for dim in sharding.dims))
    return replace(sharding, dims=tuple(_with_others(dim, axes) for dim in sharding.dims))


def _with_others(dim: Dim, axes: tuple[str, ...]) -> Dim:
    """A dimension may be split further by the axes left to the compiler, unless it names some of them."""
    return replace(dim, open=dim.open or all(axis.name in axes for axis in dim.axes))
