"""A module as a Graph, and the shardings of a Graph written back onto the module.

Ids are dense and in program order. A `stablehlo.dot` is the `dot_general` that it stands for, and
the dimension of a sort is counted from the front. Attribute
values, types and shardings are converted once per attribute object, so equal operations that share their
attributes (as the reader makes them) cost a dictionary look-up.
"""

# pyright: reportPrivateUsage=false
# op.operands makes an object each time, and properties of names and types are calls

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir import Region as IRRegion
from xdsl.irdl import IRDLOperation

from shardc.collector import no_garbage_collection
from shardc.diagnostics import ShardcError
from shardc.dialects.arrays import is_array
from shardc.dialects.convert import python_attrs, python_of
from shardc.dialects.locations import location_of
from shardc.dialects.nested import nested, ops_of
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.shardings import PARTIAL, SHARDING, sharding_of
from shardc.dialects.trees import INTERFACE, interface_of
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes, own_mesh
from shardc.graph.attrs import DotDims
from shardc.graph.marks import LAYER
from shardc.graph.program import Function, Graph, Node, Region, Value
from shardc.graph.types import Location, TensorType
from shardc.layout import LayoutError, Mesh, Sharding, replicated
from shardc.ops import hlo, sdy

DOC = "shardc.doc"
"""The attribute of a function with what its author says of it; of a module, for those that are inlined."""

ABOUT = "shardc.about"
"""The attribute of a module with what its author says of it."""


class Snapshot(Struct):
    """A graph; the operation of every node id; the SSA value of every value id."""

    module: ModuleOp
    graph: Graph
    ops: list[Operation] = []
    ssa: list[SSAValue] = []

    def copied(self, module: ModuleOp) -> Snapshot:
        """That of a copy of the module, whose graph may be given other shardings."""
        (mine, ops), same = map(_inside, (self.module, module)), dict[int, SSAValue]()
        for one, other in zip(mine, ops, strict=True):
            same.update(zip(map(id, one.results), other.results, strict=True))
            for region, copy in zip(one.regions, other.regions, strict=True):
                same.update(zip(map(id, region.block.args), copy.block.args, strict=True))
        functions = {name: replace(function) for name, function in self.graph.functions.items()}
        graph = replace(self.graph, functions=functions, values=[replace(each) for each in self.graph.values])
        own = [op for op in ops if not isinstance(op, FuncOp)]
        return Snapshot(module, graph, own, [same[id(value)] for value in self.ssa])


def _inside(module: ModuleOp) -> list[Operation]:
    """Functions and their operations."""
    return nested(op for op in module.body.block.ops if isinstance(op, FuncOp))


def snapshot(module: ModuleOp) -> Snapshot:
    """The module as a graph. Raises ShardcError where a mesh, sharding or body cannot be."""
    with no_garbage_collection():
        return _Reader(module).read()


class _Reader:
    def __init__(self, module: ModuleOp) -> None:
        try:
            meshes = module_meshes(module)
        except LayoutError as error:
            raise ShardcError(str(error), _mesh_location(module)) from None
        self.result = Snapshot(module, Graph(meshes, about=_text(module.attributes.get(ABOUT))))
        self.graph = self.result.graph
        self.numbers: dict[int, int] = {}  # by the id of the SSA value
        self.types: dict[int, TensorType] = {}
        self.locations: dict[int, Location] = {}
        self.attrs: dict[tuple[object, ...], dict[str, object]] = {}
        self.shardings: dict[tuple[int, ...], list[Sharding]] = {}
        self.only_mesh = next(iter(meshes.values())) if len(meshes) == 1 else None

    def read(self) -> Snapshot:
        for op in self.result.module.body.block.ops:
            if isinstance(op, FuncOp):
                self.graph.functions[op.sym_name.data] = self.function(op)
        return self.result

    def function(self, op: FuncOp) -> Function:
        loc = self.location(op.location)
        if len(op.body.blocks) != 1:
            raise ShardcError(f"function @{op.sym_name.data} has no body, or one with jumps", loc)
        body = self.region(op.body, self.only_mesh)
        for value, attrs in zip(body.args, _dicts(op.arg_attrs, len(body.args)), strict=True):
            known = self.graph.values[value]
            known.sharding = self.sharding(attrs, known.type, known.loc)
        outputs = op.function_type.outputs.data
        results = [
            self.sharding(attrs, self.type(type), loc)
            for attrs, type in zip(_dicts(op.res_attrs, len(outputs)), outputs, strict=True)
        ]
        visibility = op.sym_visibility
        public = visibility is None or visibility.data == "public"
        text = _text(op.attributes.get(DOC))
        interface = interface_of(op.attributes.get(INTERFACE), len(body.args), len(outputs))
        return Function(op.sym_name.data, body, results, loc, public, text, interface)

    def region(self, region: IRRegion, mesh: Mesh | None) -> Region:
        block = region.block
        args = tuple([self.value(arg, self.location(arg.location)) for arg in block.args])
        return Region(args, [self.node(op, mesh) for op in ops_of(block)])

    def value(self, ssa: SSAValue, loc: Location, sharding: Sharding | None = None) -> int:
        values = self.graph.values
        number = len(values)
        hint = ssa._name
        if hint and loc.name is None:
            loc = loc.named(hint)
        attr = ssa._type
        type = self.types.get(id(attr)) or self.type(attr)
        values.append(Value(number, type, loc, sharding))
        self.result.ssa.append(ssa)
        self.numbers[id(ssa)] = number
        return number

    def node(self, op: Operation, mesh: Mesh | None) -> Node:
        number, regions, numbers = len(self.result.ops), op.regions, self.numbers
        self.result.ops.append(op)
        loc = self.locations.get(id(op.location)) or self.location(op.location)
        try:
            if regions:
                mesh = own_mesh(op, self.graph.meshes) or mesh
            attrs = self.attributes(op, mesh)
            shardings = self.result_shardings(op)
            name = op.name
            if name == hlo.dot.name:
                name = hlo.dot_general.name
                dims = DotDims.of_dot(self.type(op.operands[0].type).rank)
                attrs = {**attrs, "dot_dimension_numbers": dims}
            elif regions and name == hlo.sort.name:
                attrs = _from_the_front(attrs, self.type(op.operands[0].type).rank)
        except LayoutError as error:
            raise ShardcError(str(error), loc) from None
        used = op._operands
        operands = tuple([numbers[id(v)] for v in used])
        node = Node(number, name, operands, (), attrs, (), loc)
        if regions:
            node.regions = tuple([self.body(region, mesh, loc) for region in regions])
        results = op.results
        if len(shardings) == len(results):
            node.results = tuple(
                [self.value(result, loc, known) for result, known in zip(results, shardings, strict=True)]
            )
        else:
            node.results = tuple([self.value(result, loc) for result in results])
        return node

    def body(self, region: IRRegion, mesh: Mesh | None, loc: Location) -> Region:
        if len(region.blocks) != 1:
            raise ShardcError("a body is one block without jumps", loc)
        return self.region(region, mesh)

    # Conversions, each once per attribute object

    def type(self, attr: Attribute) -> TensorType:
        known = self.types.get(id(attr))
        if known is None:
            known = self.types[id(attr)] = type_of(attr)
        return known

    def location(self, attr: Attribute) -> Location:
        known = self.locations.get(id(attr))
        if known is None:
            known = self.locations[id(attr)] = location_of(attr)
        return known

    def attributes(self, op: Operation, mesh: Mesh | None) -> dict[str, object]:
        properties, attributes = op.properties, op.attributes
        place = attributes.get(LAYER) if attributes else None
        if place is not None:  # each has its own
            attributes = {name: attr for name, attr in attributes.items() if name != LAYER}
        key = (op.name, id(mesh), *properties, *map(id, properties.values()))
        if attributes:
            key = (*key, *attributes, *map(id, attributes.values()))
        known = self.attrs.get(key)
        if known is None:
            own = op.get_irdl_definition().attributes if isinstance(op, IRDLOperation) else ()
            beside = own_mesh(op, self.graph.meshes) or mesh
            known = python_attrs(properties, attributes, own, self.graph.meshes, beside)
            self.attrs[key] = known
        return known if place is None else {**known, LAYER: python_of(place)}

    def result_shardings(self, op: Operation) -> Sequence[Sharding | None]:
        """Those of all results, or nothing."""
        attr = op.attributes.get(SHARDING) if op.attributes else None
        if attr is None or not isinstance(attr, ShardingPerValueAttr) or not op.results:
            return ()
        partial = op.attributes.get(PARTIAL)
        key = (id(attr), id(partial), *[id(result.type) for result in op.results])
        known = self.shardings.get(key)
        if known is None:
            one = [partial] * len(attr.data)
            partials: Sequence[Attribute | None] = list(partial) if is_array(partial) else one
            if not len(attr.data) == len(partials) == len(op.results):
                raise LayoutError(f"{len(attr.data)} shardings are given to {len(op.results)} results")
            known = self.shardings[key] = [
                fitted(sharding_of(ref, self.graph.meshes, partial), self.type(result.type))
                for ref, partial, result in zip(attr.data, partials, op.results, strict=True)
            ]
        return known

    def sharding(self, attrs: Mapping[str, Attribute], type: TensorType, loc: Location) -> Sharding | None:
        attr = attrs.get(SHARDING)
        if not isinstance(attr, ShardingAttr):
            return None
        try:
            return fitted(sharding_of(attr, self.graph.meshes, attrs.get(PARTIAL)), type)
        except LayoutError as error:
            raise ShardcError(str(error), loc) from None


class OpenReader:
    """A graph of what is built so far: bodies that have no end, and the functions that they call."""

    def __init__(self, module: ModuleOp, mesh: Mesh | None = None) -> None:
        self._reader, self._mesh = _Reader(module), mesh
        self._functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self.graph = self._reader.graph

    def function(self, op: FuncOp) -> Function:
        """A function that has ended; those that it calls are in the graph."""
        self._called(op.body.block)
        return self._reader.function(op)

    def region(self, args: Sequence[SSAValue], block: Block) -> Region:
        """What a body has so far."""
        self._called(block)
        numbers = tuple(self._reader.value(arg, self._reader.location(_location(arg))) for arg in args)
        return Region(numbers, [self._reader.node(op, self._mesh) for op in block.ops])

    def number(self, value: SSAValue) -> int:
        """The number of a value in the graph."""
        return self._reader.numbers[id(value)]

    def _called(self, block: Block) -> None:
        """Read the functions that operations of a block call."""
        for op in block.walk():
            if not isinstance(op, CallOp):
                continue
            symbol = op.callee.string_value()
            if symbol not in self.graph.functions:
                callee = self._functions[symbol]
                self._called(callee.body.block)
                self.graph.functions[symbol] = self._reader.function(callee)


def _location(value: SSAValue) -> Attribute:
    assert isinstance(value, BlockArgument)
    return value.location


def fitted(sharding: Sharding, type: TensorType) -> Sharding:
    """The sharding, if it has the tensor's rank; one for a single device is written without dimensions."""
    if sharding.mesh.is_maximal:
        return replicated(sharding.mesh, type.rank)
    if sharding.rank != type.rank:
        raise LayoutError(f"a sharding of {sharding.rank} dimensions, {sharding}, is given to {type}")
    return sharding


def _text(attr: Attribute | None) -> str | None:
    return attr.data if isinstance(attr, StringAttr) else None


def _mesh_location(module: ModuleOp) -> Location:
    meshes = (op for op in module.body.block.ops if op.name == sdy.mesh.name)
    return next((location_of(op.location) for op in meshes), Location())


def _dicts(attr: ArrayAttr[DictionaryAttr] | None, count: int) -> list[Mapping[str, Attribute]]:
    return [{}] * count if attr is None else [entry.data for entry in attr]


def _from_the_front(attrs: dict[str, object], rank: int) -> dict[str, object]:
    """The attributes of a sort, whose dimension may be counted from the back."""
    dim = attrs.get("dimension")
    return {**attrs, "dimension": dim + rank} if isinstance(dim, int) and dim < 0 else attrs
