"""unify-meshes: shardings over several meshes of the same devices -> all over the one with the most axes.

    sdy.mesh @pod = <["data"=2, "model"=4]>
    sdy.mesh @ring = <["r"=8]>
    %h = sdy.sharding_constraint %x <@ring, [{"r"}, {}]>

becomes

    sdy.mesh @pod = <["data"=2, "model"=4]>
    %h = sdy.sharding_constraint %x <@pod, [{"data", "model"}, {}]>

A mesh that no sharding names goes too: JAX 0.12 has one for the replica groups of per-device code. Nothing
changes where that is not possible: other devices or another order, axes that do not line up, partial
maxima or collectives over the other mesh. insert-reshards then says that a program runs on one mesh.

An operation on one device, `<[], device_ids=[2]>`, runs on all devices, with a warning; its result is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from shardc.dialects.arrays import is_array
from shardc.dialects.nested import nested
from shardc.dialects.op_attributes import spmd_axes
from shardc.dialects.sdy import MeshOp
from shardc.dialects.sdy_attributes import ManualAxesAttr, ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_collectives import CollectiveOp
from shardc.dialects.sdy_refs import AxisRef, ShardingRef
from shardc.dialects.shardings import PARTIAL, axis_of, axis_ref
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.verify import enclosing_mesh, module_meshes
from shardc.layout import LayoutError, Mesh, axis_named
from shardc.layout.axes import Axis, merge
from shardc.layout.translate import translate
from shardc.ops import Trait, has
from shardc.passes.graph_pass import GraphPass
from shardc.passes.single_device import spread

Edit = Callable[[], None]


class UnifyMeshes(GraphPass):
    """Write all shardings over one mesh, where that is possible."""

    name = "unify-meshes"

    def rewrite(self, shared: SharedGraph) -> bool:
        module = shared.module
        meshes = module_meshes(module)
        named = _used(module)
        if any(name not in meshes for name in named):  # the verifier says where
            return False
        used = [name for name in named if not meshes[name].is_maximal]
        changed = bool(used) and len(used) < len(named) and spread(module, meshes, meshes[used[0]])
        if changed:
            _erase_meshes(module, set(named) - set(_used(module)))
        if len(used) < 2:
            unused = {name for name, mesh in meshes.items() if name not in used and not mesh.is_maximal}
            if used:
                _erase_meshes(module, unused)
            return changed or bool(used and unused)
        for name in sorted(used, key=lambda name: -len(meshes[name].axes)):
            try:
                edits = list(_Translation(meshes, meshes[name]).edits(module))
            except LayoutError:
                continue
            for edit in edits:
                edit()
            _erase_meshes(module, {other for other in used if other != name})
            return True
        return changed


def _used(module: ModuleOp) -> list[str]:
    """The meshes that shardings name, in program order."""
    held = (held for op in nested([module]) for held in (op.properties, op.attributes))
    attrs = {id(attr): attr for each in held for attr in each.values()}
    refs = (ref for attr in attrs.values() for ref in _refs(attr))
    return list(dict.fromkeys(ref.mesh for ref in refs if isinstance(ref.mesh, str)))


def _erase_meshes(module: ModuleOp, names: set[str]) -> None:
    for op in list(module.body.block.ops):
        if isinstance(op, MeshOp) and op.sym_name.data in names:
            op.detach()
            op.erase()


def _attributes(op: Operation) -> dict[str, Attribute]:
    return {**op.properties, **op.attributes}


def _refs(attr: Attribute) -> Iterator[ShardingRef]:
    """The shardings in an attribute."""
    if isinstance(attr, ShardingAttr):
        yield attr.data
    elif isinstance(attr, ShardingPerValueAttr):
        yield from attr.data
    for inner in _inside(attr):
        yield from _refs(inner)


def _inside(attr: Attribute) -> Iterable[Attribute]:
    if is_array(attr):
        return list(attr)
    return attr.data.values() if isinstance(attr, DictionaryAttr) else ()


class _Translation(Struct, frozen=True):
    """Everything that is said over other meshes, said over `target`. LayoutError where that can't be."""

    meshes: Mapping[str, Mesh]
    target: Mesh

    def edits(self, module: ModuleOp) -> Iterator[Edit]:
        for op in nested([module]):
            if isinstance(op, MeshOp):
                continue
            if isinstance(op, CollectiveOp) and any(map(self._foreign, _refs(op.properties["out_sharding"]))):
                raise LayoutError(f"{op.name} is written over another mesh")
            for data in (op.properties, op.attributes):
                for key, attr in data.items():
                    new = self._attribute(op, key, attr)
                    if new is not attr:
                        yield _setting(data, key, new)

    def _attribute(self, op: Operation, key: str, attr: Attribute) -> Attribute:
        if isinstance(attr, ManualAxesAttr):
            return self._manual_axes(attr, enclosing_mesh(op) or self.target)
        if key == "axes" and has(op.name, Trait.ALONG_AXES) and is_array(attr):
            mesh = enclosing_mesh(op) or self.target
            named = [axis_named(name.data, mesh) for name in attr if isinstance(name, StringAttr)]
            return spmd_axes(self._axes(named, mesh), self.target)
        if key.startswith(PARTIAL) and any(
            self._foreign(r) for a in _attributes(op).values() for r in _refs(a)
        ):
            raise LayoutError("a partial maximum or minimum is written over another mesh")
        return self._shardings(attr)

    def _shardings(self, attr: Attribute) -> Attribute:
        """An attribute with every sharding in it translated; itself if there is nothing to translate."""
        if not any(map(self._foreign, _refs(attr))):
            return attr
        if isinstance(attr, ShardingAttr):
            return ShardingAttr(self._sharding(attr.data))
        if isinstance(attr, ShardingPerValueAttr):
            return ShardingPerValueAttr(tuple(map(self._sharding, attr.data)))
        if isinstance(attr, DictionaryAttr):
            if PARTIAL in attr.data:
                raise LayoutError("a partial maximum or minimum is written over another mesh")
            return DictionaryAttr({key: self._shardings(inner) for key, inner in attr.data.items()})
        return ArrayAttr([self._shardings(inner) for inner in _inside(attr)])

    def _foreign(self, ref: ShardingRef) -> bool:
        is_maximal = isinstance(ref.mesh, str) and self.meshes[ref.mesh].is_maximal
        return ref.mesh != self.target.name and not is_maximal

    def _sharding(self, ref: ShardingRef) -> ShardingRef:
        if not self._foreign(ref):
            return ref
        if not isinstance(ref.mesh, str):
            raise LayoutError("a sharding has a mesh of its own")
        mesh = self.meshes[ref.mesh]
        dims = tuple(replace(dim, axes=self._refs(dim.axes, mesh)) for dim in ref.dims)
        replicated, unreduced = (
            tuple(
                axis_ref(axis, self.target)
                for axis in sorted(self._resolved(axes, mesh), key=self.target.order)
            )
            for axes in (ref.replicated, ref.unreduced)
        )
        return ShardingRef(self.target.name, dims, replicated, unreduced)

    def _refs(self, axes: tuple[AxisRef, ...], mesh: Mesh) -> tuple[AxisRef, ...]:
        return tuple(axis_ref(axis, self.target) for axis in self._resolved(axes, mesh))

    def _resolved(self, axes: Iterable[AxisRef], mesh: Mesh) -> tuple[Axis, ...]:
        return self._axes([axis_of(axis, mesh) for axis in axes], mesh)

    def _axes(self, axes: Iterable[Axis], mesh: Mesh) -> tuple[Axis, ...]:
        if mesh == self.target:
            return tuple(axes)
        return merge(part for axis in axes for part in translate(axis, mesh, self.target))

    def _manual_axes(self, attr: ManualAxesAttr, mesh: Mesh) -> Attribute:
        if mesh == self.target:
            return attr
        axes = self._axes(map(mesh.axis, attr.data), mesh)
        if not all(map(self.target.is_full, axes)):
            raise LayoutError("per-device code is written for a part of an axis")
        return ManualAxesAttr(tuple(axis.name for axis in axes))


def _setting(data: dict[str, Attribute], key: str, attr: Attribute) -> Edit:
    def edit() -> None:
        data[key] = attr

    return edit
