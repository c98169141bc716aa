"""Building IR: the graph.builder interface over xDSL operations.

b = IRBuilder()
b.mesh(Mesh("pod", (("x", 4),)))
with b.func("main", [TensorType((8, 4), "f32")], locs=[Location("p.shard", 1, 7, "x")]) as (x,):
    with b.at(Location("p.shard", 2, 3, "h")):
        h = b.one("stablehlo.exponential", x)
    b.ret([h])
b.module
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from shardc.dialects.context import make_context
from shardc.dialects.convert import attribute_of
from shardc.dialects.locations import locate
from shardc.dialects.op_attributes import op_attributes
from shardc.dialects.shardings import mesh_attr
from shardc.dialects.sidecars import set_function_shardings
from shardc.dialects.types import attr_of_type, type_of
from shardc.dialects.verify import enclosing_mesh, module_meshes
from shardc.graph.builder import Body
from shardc.graph.types import UNKNOWN, Location, TensorType
from shardc.layout import Mesh, Sharding
from shardc.ops import func, hlo, infer, sdy

Value = SSAValue


class IRBuilder:
    """Builds operations at an insertion point; implements graph.builder.Builder with V = SSAValue."""

    def __init__(self, module: ModuleOp | None = None) -> None:
        self.module = ModuleOp([]) if module is None else module
        self.meshes = module_meshes(self.module)
        self._context = make_context()
        self._block: Block = self.module.body.block
        self._before: Operation | None = None
        self._loc = UNKNOWN
        self._tags: dict[str, Attribute] = {}

    # Where, and with what location and tags

    @contextmanager
    def at(self, loc: Location) -> Generator[None]:
        """Operations built inside have this location; their results get its name."""
        old, self._loc = self._loc, loc
        try:
            yield
        finally:
            self._loc = old

    @contextmanager
    def tagged(self, tags: Mapping[str, object]) -> Generator[None]:
        """Operations built inside carry these extra attributes, such as {"shardc.group": "softmax#1/7"}."""
        old = self._tags
        self._tags = {**old, **{name: attribute_of(name, value) for name, value in tags.items()}}
        try:
            yield
        finally:
            self._tags = old

    @contextmanager
    def inside(self, block: Block, before: Operation | None = None) -> Generator[None]:
        """Operations built inside go to the end of `block`, or before one of its operations."""
        old = self._block, self._before
        self._block, self._before = block, before
        try:
            yield
        finally:
            self._block, self._before = old

    def before(self, op: Operation) -> None:
        """From now on operations go before `op`."""
        block = op.parent_block()
        if block is None:
            raise ValueError(f"{op.name} is in no block")
        self._block, self._before = block, op

    def insert(self, op: Operation, loc: Location | None = None) -> Operation:
        """Put an operation at the insertion point, with a location and the current tags."""
        loc = self._loc if loc is None else loc
        locate(op, loc)
        op.attributes.update(self._tags)
        if loc.name and SSAValue.is_valid_name(loc.name):
            for result in op.results:
                result.name_hint = loc.name
        if self._before is None:
            self._block.add_op(op)
        else:
            self._block.insert_op_before(op, self._before)
        return op

    @property
    def last(self) -> Operation | None:
        """The operation before the insertion point."""
        return self._block.last_op if self._before is None else self._before.prev_op

    @property
    def tags(self) -> Mapping[str, Attribute]:
        """The extra attributes that operations get here."""
        return self._tags

    # graph.builder.Builder

    def type_of(self, value: Value) -> TensorType:
        """The type of a value."""
        return type_of(value.type)

    def op(
        self,
        name: str,
        /,
        *operands: Value,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[Value]:
        """Build an operation; see graph.builder.Builder.op. Unknown names and attributes are ValueErrors."""
        cls = self._class(name)
        built = [self._region(name, body) for body in regions]
        region_results = [[self.type_of(value) for value in values] for _, values in built]
        types = infer(
            name,
            [self.type_of(value) for value in operands],
            attrs,
            results=results,
            region_results=region_results,
        )
        properties, attributes = op_attributes(cls, attrs, self.current_mesh)
        op = cls.create(
            operands=operands,
            result_types=[attr_of_type(type) for type in types],
            properties=properties,
            attributes=attributes,
            regions=[region for region, _ in built],
        )
        return list(self.insert(op).results)

    def one(self, name: str, /, *operands: Value, result: TensorType | None = None, **attrs: object) -> Value:
        """The same for an operation with one result and no regions."""
        results = None if result is None else [result]
        (value,) = self.op(name, *operands, results=results, regions=(), **attrs)
        return value

    def _class(self, name: str) -> type[IRDLOperation]:
        cls = self._context.get_optional_op(name)
        if cls is None or not issubclass(cls, IRDLOperation):
            raise ValueError(f"{name} is no operation of the dialects")
        return cls

    def _region(self, name: str, body: Body) -> tuple[Region, Sequence[Value]]:
        types, build = body
        block = Block(arg_types=[attr_of_type(type) for type in types])
        for arg in block.args:
            locate(arg, self._loc)
        region = Region(block)
        with self.inside(block):
            values = build(self, *block.args)
            self.ret(values, sdy.return_.name if name.startswith("sdy.") else hlo.return_.name)
        return region, values

    def ret(self, values: Sequence[Value], name: str = func.return_.name) -> None:
        """Build the terminator of the current block."""
        self.insert(self._class(name).create(operands=list(values)))

    def current_mesh(self) -> Mesh:
        """The mesh that axis names belong to at the insertion point; ValueError if that is open."""
        parent = self._block.parent_op()
        mesh = self._manual_mesh or (enclosing_mesh(parent) if parent is not None else None)
        if mesh is None and len(self.meshes) == 1:
            return next(iter(self.meshes.values()))
        if mesh is None:
            raise ValueError("which mesh the axes belong to is open: there is no manual computation around")
        return mesh

    _manual_mesh: Mesh | None = None

    # Modules and functions

    def mesh(self, mesh: Mesh) -> None:
        """Define a mesh at the start of the module, unless it is there."""
        if mesh.name in self.meshes:
            return
        attributes = {"shardc.processes": attribute_of("", mesh.processes)} if mesh.processes > 1 else {}
        op = self._class(sdy.mesh.name).create(
            properties={"sym_name": StringAttr(mesh.name), "mesh": mesh_attr(mesh)}, attributes=attributes
        )
        locate(op, self._loc)
        block = self.module.body.block
        after = next((old for old in block.ops if old.name != sdy.mesh.name), None)
        if after is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, after)
        self.meshes[mesh.name] = mesh

    @contextmanager
    def func(
        self,
        name: str,
        types: Sequence[TensorType],
        *,
        locs: Sequence[Location] | None = None,
        shardings: Sequence[Sharding | None] | None = None,
        result_shardings: Sequence[Sharding | None] | None = None,
        public: bool = True,
    ) -> Generator[tuple[BlockArgument, ...]]:
        """A function at the end of the module; what is built inside, up to `ret`, is its body.

        Its result types are those of the values that `ret` got.
        """
        block = Block(arg_types=[attr_of_type(type) for type in types])
        for arg, loc in zip(block.args, locs or [self._loc] * len(types), strict=True):
            locate(arg, loc)
            if loc.name and SSAValue.is_valid_name(loc.name):
                arg.name_hint = loc.name
        func = FuncOp(name, (list(block.arg_types), []), Region(block), "public" if public else "private")
        with self.inside(self.module.body.block), self._untagged():
            self.insert(func)
        with self.inside(block):
            yield block.args
        results = block.last_op.operand_types if block.last_op is not None else ()
        func.properties["function_type"] = FunctionType.from_lists(list(block.arg_types), list(results))
        set_function_shardings(func, shardings, result_shardings)

    @contextmanager
    def _untagged(self) -> Generator[None]:
        old, self._tags = self._tags, {}
        try:
            yield
        finally:
            self._tags = old

    # Shardings

    def constraint(self, value: Value, sharding: Sharding) -> Value:
        """The value with the user's annotation."""
        return self.one(sdy.sharding_constraint.name, value, sharding=sharding)

    def reshard(self, value: Value, sharding: Sharding) -> Value:
        """The value in another sharding."""
        return self.one(sdy.reshard.name, value, sharding=sharding)

    def manual_computation(
        self,
        operands: Sequence[Value],
        body: Callable[..., Sequence[Value]],
        *,
        local_types: Sequence[TensorType],
        in_shardings: Sequence[Sharding],
        out_shardings: Sequence[Sharding],
        results: Sequence[TensorType],
        manual_axes: Sequence[str] | None = None,
    ) -> list[Value]:
        """A computation per device: `body(builder, *blocks)` returns the results' local blocks.

        `results` are the global types. By default all axes of the mesh are manual.
        """
        mesh = next((s.mesh for s in (*in_shardings, *out_shardings)), None) or self.current_mesh()
        old, self._manual_mesh = self._manual_mesh, mesh
        try:
            return self.op(
                sdy.manual_computation.name,
                *operands,
                results=results,
                regions=[(local_types, body)],
                in_shardings=tuple(in_shardings),
                out_shardings=tuple(out_shardings),
                manual_axes=tuple(mesh.sizes if manual_axes is None else manual_axes),
            )
        finally:
            self._manual_mesh = old
