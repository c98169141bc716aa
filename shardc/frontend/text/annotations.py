"""What a written type means: a tensor type, and the sharding it asks for.

A type with any annotation on a dimension closes the dimensions without one, and so does `replicated`.
`replicated(model)` and `partial(sum: model)` close none. A type without any annotation has no sharding.
An annotation in another system's words, P("data", None), stands alone and says all.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shardc.diagnostics import listed, warn
from shardc.frontend.text import static
from shardc.frontend.text import syntax as s
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.logical import Logical, physical
from shardc.frontend.text.notations import named_axes, read_notation
from shardc.frontend.text.promotion import DTYPES, SPELLED
from shardc.frontend.text.syntax import Pos
from shardc.graph.types import TensorType
from shardc.layout import Mesh, Sharding
from shardc.layout.axes import Axis
from shardc.layout.mesh import LayoutError
from shardc.layout.sharding import KINDS, Dim

Uneven = Literal["warned", "wrong", "allowed"]

_S = TypeVar("_S", s.Replicated, s.Partial, s.On, s.Notated)


class Annotated(Struct, frozen=True):
    """A tensor type, the sharding it was written with, and how it was written; `weak` as of a Tensor."""

    type: TensorType
    sharding: Sharding | None
    written: s.Type
    weak: bool = False

    @property
    def pos(self) -> Pos:
        return self.written.pos


class Types:
    """Resolves written types against the program's meshes and sizes."""

    def __init__(self, e: Emitter, meshes: dict[str, Mesh], sizes: dict[str, int]) -> None:
        self.e, self.meshes, self.sizes = e, meshes, sizes
        self.constants: dict[str, int] = {}
        self.no_sizes: dict[str, str] = {}
        """What the other constants are, in words."""
        self.bound: dict[str, int] = self.constants
        """What else a dimension may name: constants, and what the call of a function binds."""
        self.logical: Logical = {}
        self.rests: dict[str, tuple[int, ...]] = {}
        """The sizes that the call binds *names to."""

    def resolve(self, written: s.Type, uneven: Uneven = "warned") -> Annotated:
        """The meaning of a type. `uneven`: what is done about dimensions that their axes don't divide."""
        if written.dtype not in SPELLED:
            raise self.e.error(
                f"unknown dtype {written.dtype}",
                listed(written.dtype, DTYPES, "the dtypes are"),
                written.pos,
            )
        written = physical(self.e, self._expanded(written), self.logical)
        shape = tuple(self.size(dim.size) for dim in dims_of(written))
        type = TensorType(shape, SPELLED[written.dtype])
        with self.e.at(written.pos):
            self.e.check_size(type)
        sharding = self._sharding(written, len(shape))
        if sharding is not None and uneven != "allowed":
            self._check_even(type, sharding, written, uneven == "wrong")
        return Annotated(type, sharding, written)

    def _expanded(self, written: s.Type) -> s.Type:
        """A type with the dimensions of *B written out."""
        dims: list[s.DimType | s.Rest] = []
        for dim in written.dims:
            if isinstance(dim, s.DimType):
                dims.append(dim)
            elif dim.name in self.rests:
                dims += [s.DimType(dim.pos, s.Number(dim.pos, size)) for size in self.rests[dim.name]]
            else:
                hint = f"a parameter of a function that is called does: def f(x: f32[*{dim.name}, 4]):"
                raise self.e.error(f"nothing binds *{dim.name} here", hint, dim.pos)
        return replace(written, dims=tuple(dims))

    # ---- sizes

    def size(self, expr: s.Expr) -> int:
        """The value of a dimension's size; an error unless it is a whole number from 0."""
        value = self.number(expr)
        if value < 0:
            raise self.e.error(f"a size is at least 0, and this is {value}", pos=expr.pos)
        return value

    def number(self, expr: s.Expr) -> int:
        """The value of an expression of sizes. Left operands are walked in a loop, so chains may be long."""
        chain: list[s.Binary] = []
        while isinstance(expr, s.Binary):
            chain.append(expr)
            expr = expr.left
        value = self._leaf(expr)
        for node in reversed(chain):
            try:
                result = static.binary(node.op, value, self.number(node.right))
            except static.StaticError as error:
                raise self.e.error(str(error), pos=node.op_pos) from None
            assert isinstance(result, int)
            value = result
        return value

    def _leaf(self, expr: s.Expr) -> int:
        if isinstance(expr, s.Number) and isinstance(expr.value, int):
            return expr.value
        assert isinstance(expr, s.Name)
        if expr.id in self.bound:
            return self.bound[expr.id]
        if expr.id in self.no_sizes:
            what = f"{expr.id} is {self.no_sizes[expr.id]}, and a size is a whole number from 0"
            raise self.e.error(what, pos=expr.pos)
        if expr.id not in self.sizes:
            hint = listed(expr.id, self.sizes, "the sizes are") or f"say it above: size {expr.id} = 128"
            raise self.e.error(f"unknown size {expr.id}", hint, expr.pos)
        return self.sizes[expr.id]

    # ---- shardings

    def _sharding(self, written: s.Type, rank: int) -> Sharding | None:
        notated = _only(self.e, [x for x in written.suffixes if isinstance(x, s.Notated)])
        if notated is not None:
            return self._notated(written, notated, rank)
        everywhere = _only(
            self.e, [x for x in written.suffixes if isinstance(x, s.Replicated) and x.axes is None]
        )
        whole = _only(self.e, [x for x in written.suffixes if isinstance(x, s.Replicated) and x.axes])
        partial = _only(self.e, [x for x in written.suffixes if isinstance(x, s.Partial)])
        mesh = self._mesh(written)
        annotated = any(dim.annotated for dim in dims_of(written))
        if not (annotated or everywhere or whole or partial) or mesh is None:
            return None
        split = next((dim for dim in dims_of(written) if dim.axes or dim.open), None)
        if everywhere and split:
            raise self.e.error(
                "replicated contradicts the split of a dimension",
                "replicated(axis) says only that this axis never splits the tensor",
                everywhere.pos,
            )
        closed = annotated or everywhere is not None
        dims = tuple(
            Dim(self._axes(mesh, dim.axes), dim.open if dim.annotated else not closed, dim.priority)
            for dim in dims_of(written)
        )
        if partial and partial.kind not in KINDS:
            raise self.e.error(
                f"{partial.kind} is no kind of partial result",
                listed(partial.kind, KINDS, "the kinds are"),
                partial.pos,
            )
        sharding = Sharding(
            mesh,
            dims,
            self._axes(mesh, (whole.axes if whole else None) or ()),
            self._axes(mesh, partial.axes if partial else ()),
            partial.kind if partial else "sum",
        )
        self._check_used_once(written, sharding)
        return sharding.joined()

    def _notated(self, written: s.Type, notated: s.Notated, rank: int) -> Sharding | None:
        """The meaning of `P("data", None)` and the like, which say all about the sharding."""
        other = next((x for x in written.suffixes if not isinstance(x, s.Notated | s.On)), None)
        place = other or next((dim for dim in dims_of(written) if dim.annotated), None)
        if place is not None:
            raise self.e.error("this type says its sharding in two ways", "leave one of them out", place.pos)
        mesh = self._mesh(written)
        if mesh is None:
            return None
        try:
            return read_notation(notated.written, mesh, rank).joined()
        except LayoutError as error:
            raise self.e.error(str(error), pos=notated.pos) from None

    def _mesh(self, written: s.Type) -> Mesh | None:
        """The mesh that `on` names, or the one that has the axes."""
        refs = _axis_refs(written)
        named = _only(self.e, [x for x in written.suffixes if isinstance(x, s.On)])
        if named:
            if named.mesh not in self.meshes:
                hint = listed(named.mesh, self.meshes, "the meshes are")
                raise self.e.error(f"unknown mesh {named.mesh}", hint, named.pos)
            mesh = self.meshes[named.mesh]
            for ref in refs:
                self._check_axis(mesh, ref)
            return mesh
        annotated = refs or written.suffixes or any(dim.annotated for dim in dims_of(written))
        if not annotated:
            return None
        place = refs[0].pos if refs else written.pos
        if not self.meshes:
            raise self.e.error("there is no mesh", "declare one: mesh pod[data=2, model=4]", place)
        fitting = [m for m in self.meshes.values() if all(ref.name in m.sizes for ref in refs)]
        if len(fitting) > 1:
            names = " and ".join(mesh.name for mesh in fitting)
            what = f"axis {refs[0].name} is in the meshes" if refs else "the type could be on"
            hint = f"name the mesh after the type: {written.dtype}[…] on {fitting[0].name}"
            raise self.e.error(f"{what} {names}", hint, place)
        if not fitting:
            self._no_mesh(refs)
        return fitting[0]

    def _no_mesh(self, refs: list[s.AxisRef]) -> None:
        for ref in refs:
            if not any(ref.name in mesh.sizes for mesh in self.meshes.values()):
                if len(self.meshes) == 1:
                    self._check_axis(next(iter(self.meshes.values())), ref)
                every = tuple(name for mesh in self.meshes.values() for name in mesh.sizes)
                raise self.e.error(
                    f"no mesh has an axis {ref.name}", listed(ref.name, every, "the axes are"), ref.pos
                )
        names = ", ".join(dict.fromkeys(ref.name for ref in refs))
        raise self.e.error(f"no mesh has all of the axes {names}", pos=refs[0].pos)

    def _check_axis(self, mesh: Mesh, ref: s.AxisRef) -> None:
        if ref.name not in mesh.sizes:
            hint = listed(ref.name, mesh.sizes, f"the axes of {mesh.name} are")
            raise self.e.error(f"mesh {mesh.name} has no axis {ref.name}", hint, ref.pos)

    def _axes(self, mesh: Mesh, refs: tuple[s.AxisRef, ...]) -> tuple[Axis, ...]:
        return tuple(self._axis(mesh, ref) for ref in refs)

    def _axis(self, mesh: Mesh, ref: s.AxisRef) -> Axis:
        full = mesh.sizes[ref.name]
        if ref.part is None:
            return Axis(ref.name, full)
        pre, size = ref.part
        if pre < 1 or size < 2 or full % (pre * size):
            raise self.e.error(
                f"{ref.name}:({pre}){size} is not a part of axis {ref.name}, which has size {full}",
                f"(pre)size: {ref.name} seen as pre x size x rest, all whole numbers",
                ref.pos,
            )
        return Axis(ref.name, size, pre)

    def _check_used_once(self, written: s.Type, sharding: Sharding) -> None:
        seen: list[Axis] = []
        for ref, axis in zip(_axis_refs(written), sharding.axes(), strict=False):
            for other in seen:
                if axis.overlaps(other):
                    raise self.e.error(
                        f"axis {axis.name} is used twice in this type",
                        "an axis stands in a type only once: leave it out here",
                        ref.pos,
                    )
                if not axis.coexists(other):
                    raise self.e.error(
                        f"these parts of axis {axis.name} have no common refinement", pos=ref.pos
                    )
            seen.append(axis)
        try:
            sharding.check()
        except LayoutError as error:
            raise self.e.error(str(error), pos=written.pos) from None

    def _check_even(self, type: TensorType, sharding: Sharding, written: s.Type, blocks: bool) -> None:
        for i in sharding.uneven(type.shape):
            size, parts = type.shape[i], sharding.dims[i].parts
            names = ", ".join(axis.name for axis in sharding.dims[i].axes)
            uneven = f"{names} ({parts} devices) does not divide dimension {i} of {type}"
            block, pos = -(-size // parts), dims_of(written)[i].pos
            if blocks:
                raise self.e.error(
                    uneven,
                    f"per-device code needs equal blocks: pad the dimension to {block * parts}, "
                    "or allow padding in the last blocks with @shard_map(uneven=True)",
                    pos,
                )
            warn(
                f"{uneven}: blocks have size {block},"
                f" and {block * parts - size} of {block * parts} places are padding",
                self.e.place(pos),
            )


def dims_of(written: s.Type) -> tuple[s.DimType, ...]:
    """The dimensions of a type that has all of them written."""
    return tuple(dim for dim in written.dims if isinstance(dim, s.DimType))


def _axis_refs(written: s.Type) -> list[s.AxisRef]:
    """All axes a type names, in the order of Sharding.axes."""
    refs = [ref for dim in dims_of(written) for ref in dim.axes]
    refs += [ref for x in written.suffixes if isinstance(x, s.Notated) for ref in named_axes(x.written)]
    refs += [ref for x in written.suffixes if isinstance(x, s.Replicated) for ref in x.axes or ()]
    return refs + [ref for x in written.suffixes if isinstance(x, s.Partial) for ref in x.axes]


def _only(e: Emitter, suffixes: list[_S]) -> _S | None:
    if len(suffixes) > 1:
        raise e.error("this stands twice after one type", pos=suffixes[1].pos)
    return suffixes[0] if suffixes else None
