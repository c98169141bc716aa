"""ModelProto -> StableHLO: walks the nodes in order, folds what is known, and lowers the rest.

y = Relu(x)                         func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                              ->      %zero = stablehlo.constant dense<0.0> …
                                      %y = stablehlo.maximum %x, %zero
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto
from onnx.defs import OpSchema
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from shardc.diagnostics import Location, ShardcError, did_you_mean, register_source
from shardc.dialects.locations import locate
from shardc.dialects.types import attr_of_type
from shardc.frontend.onnx.builder import ModelBuilder
from shardc.frontend.onnx.devices import Stated, sharding_on
from shardc.frontend.onnx.dtypes import DTYPES, dtype_name
from shardc.frontend.onnx.errors import Dynamic, Invalid, Unsupported
from shardc.frontend.onnx.fold import MOST, folded
from shardc.frontend.onnx.functions import Functions, nodes_of
from shardc.frontend.onnx.functions import opsets_of as function_opsets
from shardc.frontend.onnx.inputs import Dimensions
from shardc.frontend.onnx.listing import Listing
from shardc.frontend.onnx.model import Model, array_of, opsets_of, tensor_type
from shardc.frontend.onnx.names import Names
from shardc.frontend.onnx.node import Node
from shardc.frontend.onnx.operators.maths import literal
from shardc.frontend.onnx.problems import Problems
from shardc.frontend.onnx.schema import attributes_of, check_counts, has_body, schema_of, subgraphs
from shardc.frontend.onnx.table import OPERATORS
from shardc.frontend.onnx.values import Array, Known, Opaque, Unknown, Value
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.layout import Mesh, Sharding
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.ops import sdy

SMALL = 16
"""Elements of a stored tensor that is a literal; larger ones are arguments of main."""

Scope = dict[str, Known]


class Lowering:
    """Lowers one model. `weights`: argument of main -> stored tensor, in the order of the arguments."""

    def __init__(
        self,
        model: Model,
        dims: Mapping[str, int],
        values: Mapping[str, Array],
        mesh: Mesh | None = None,
        wished: AbstractSet[str] = frozenset(),
        wish: Callable[[str, TensorType], Sharding | None] = lambda name, type: None,
        stated: Stated | None = None,
    ) -> None:
        self.opsets = opsets_of(model)
        self.model = model
        self.functions = Functions(model.proto)
        self._calls: list[str] = []
        self.listing = Listing(self.model.proto)
        self.file = model.file
        register_source(self.file, self.listing.text)
        self.builder = ModelBuilder()
        self.e = Emitter(self.builder, self.file)
        self.dims = Dimensions(model, dims)
        self.values = values
        self.wished = wished
        self.wish = wish
        self.stated = stated
        self.specs = _specs(stated)
        self.types: dict[str, TensorType] = {}
        self.spoken: dict[str, list[SSAValue]] = {}
        self.known_arrays: dict[str, Array] = {}
        self.mesh = mesh
        self.names = Names()
        self.weights: dict[str, TensorProto] = {}
        self.arguments: list[Sharding | None] = []
        self.results: list[Sharding | None] = []
        self.problems = Problems(self.model.proto.graph)
        self._main: Block | None = None
        self._literals: dict[tuple[Block, Value], Tensor] = {}
        self._named: set[str] = set()

    # ---- the model

    @property
    def module(self) -> ModuleOp:
        return self.builder.module

    def build(self) -> None:
        """Build main. ShardcError with all that is wrong."""
        graph = self.model.proto.graph
        if self.mesh is not None:
            self.builder.mesh(self.mesh)
        stored = {tensor.name for tensor in graph.initializer}
        given = [i for i in graph.input if i.name not in stored]
        types = {i.name: self._input_type(i) for i in given if i.name not in self.values}
        opaque = [type for type in types.values() if isinstance(type, str)]
        for kind in opaque:
            self.problems.form(f"input of kind {kind}")
        if not opaque:
            self.dims.check()
        dense = {name: type for name, type in types.items() if isinstance(type, TensorType)}
        locs = [Location(self.file, 1, 1, self.names.fresh(name)) for name in dense]
        self.arguments += [self._sharding(name, type) for name, type in dense.items()]
        with self.builder.func(
            "main", list(dense.values()), locs=locs, shardings=self.arguments, result_shardings=self.results
        ) as args:
            self._main = self.builder.current_block
            scope: Scope = {name: Opaque(name, str(type)) for name, type in types.items()}
            for (name, type), arg in zip(dense.items(), args, strict=True):
                scope[name] = Value(name, type, emitted=Tensor(arg, type))
                self._speak(name, scope[name])
            for i in given:
                if i.name in self.values:
                    scope[i.name] = self._given(i)
                    self._speak(i.name, scope[i.name])
            outputs = self.graph(graph, scope)
            self.problems.check(self.file, self.listing)
            self.builder.ret([self._result(value).value for value in outputs])
        self._check_shardings()

    def _result(self, value: Value) -> Tensor:
        self.results.append(self._sharding(value.name, value.type))
        return value.tensor()

    def _given(self, info: ValueInfoProto) -> Value:
        """An input whose value is given while compiling."""
        elem = info.type.tensor_type.elem_type
        array = self.values[info.name]
        if elem not in DTYPES:
            raise ShardcError(f"input {info.name} is of {dtype_name(elem)}")
        type = TensorType(tuple(array.shape), DTYPES[elem])
        if array.dtype != type.numpy:
            raise ShardcError(f"input {info.name} is of {type.dtype}, and its value of {array.dtype}")
        return self.known(info.name, array)

    def _input_type(self, info: ValueInfoProto) -> TensorType | str:
        kind = info.type.WhichOneof("value")
        elem = info.type.tensor_type.elem_type
        if kind != "tensor_type":
            return str(kind).removesuffix("_type").replace("_", " ")
        if elem not in DTYPES:
            return f"tensor of {dtype_name(elem)}"
        type = self.dims.type_of(info)
        self.e.check_size(type)
        return type

    # ---- graphs

    def graph(self, graph: GraphProto, scope: Scope) -> list[Value]:
        """Lower the nodes of a graph, and give its outputs."""
        for tensor in graph.initializer:
            scope[tensor.name] = self._stored(tensor)
            self._speak(tensor.name, scope[tensor.name])
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = Opaque(sparse.values.name, "sparse tensor")
        declared = {i.name: self.dims.declared(i) for i in (*graph.value_info, *graph.output)}
        self._nodes(graph.node, scope, declared)
        found: list[Value] = []
        for output in graph.output:
            value = scope.get(output.name)
            if value is None:
                raise self.e.error(f"nothing makes output {output.name}")
            if isinstance(value, Opaque):
                self.problems.form(f"output of kind {value.kind}")
            if isinstance(value, Value):
                found.append(value)
            else:
                self.problems.lost(output.name)
        return found

    def body(self, graph: GraphProto, inputs: Sequence[Value], scope: Scope) -> list[Value]:
        """The outputs of a body at the place where the builder stands."""
        inner = dict(scope)
        if len(inputs) != len(graph.input):
            raise Invalid(f"a body takes {len(graph.input)} values and is given {len(inputs)}")
        for info, value in zip(graph.input, inputs, strict=True):
            inner[info.name] = value
        outputs = self.graph(graph, inner)
        if len(outputs) != len(graph.output):
            raise Unsupported("with a body that cannot be lowered")
        return outputs

    # ---- nodes

    def _nodes(
        self, nodes: Iterable[NodeProto], scope: Scope, declared: Mapping[str, TensorType | None]
    ) -> None:
        for node in nodes:
            with self.e.at(Pos(self.listing.line(node) or self.e.loc.line, 1)):
                self._node(node, scope, declared)

    def _call(
        self,
        function: FunctionProto,
        node: NodeProto,
        schema: OpSchema | None,
        inputs: Sequence[Value | None],
    ) -> list[Known | None]:
        """The results of a function's body, lowered here."""
        name = f"{function.domain}:{function.name}"
        if name in self._calls:
            raise Invalid(f"function {name} calls itself")
        inner: Scope = {n: v for n, v in zip(function.input, inputs, strict=False) if v is not None}
        outer, self.opsets = self.opsets, function_opsets(function, self.opsets)
        for inside, value in inner.items():
            self.problems.passed(inside, value.name)
        self._calls.append(name)
        try:
            nodes = nodes_of(function, node, schema)
            for one in nodes:
                self.problems.made(one)
            self._nodes(nodes, inner, {})
        finally:
            self._calls.pop()
            self.opsets = outer
        return [inner.get(output) for output in function.output]

    def _node(self, node: NodeProto, scope: Scope, declared: Mapping[str, TensorType | None]) -> None:
        outputs = [name for name in node.output if name]
        try:
            results = self._results(node, scope, declared)
        except Invalid as error:
            raise self.e.error(str(error)) from None
        except Unsupported as error:
            self.problems.form(str(error))
            results = []
        except Dynamic as error:
            self.problems.dynamic(node, error)
            results = []
        for index, name in enumerate(node.output):
            result = results[index] if index < len(results) else None
            if name:
                made = Unknown(name) if result is None else result
                scope[name] = self._annotated(name, made) if isinstance(made, Value) else made
        if results and len(results) < len(outputs):
            self.problems.form(f"{node.op_type} with {len(outputs)} outputs")

    def _results(
        self, node: NodeProto, scope: Scope, declared: Mapping[str, TensorType | None]
    ) -> list[Known | None]:
        schema = schema_of(node, self.opsets)
        name = f"{node.domain}:{node.op_type}" if node.domain else node.op_type
        lower = OPERATORS.get(name)
        if lower is None:
            return self._expanded(node, schema, name, scope)
        if schema is None and not node.domain:
            raise Invalid(f"there is no operator {name} in opset {self.opsets.get('', 'none')}")
        attributes = attributes_of(node, schema) if schema else {a.name: a for a in node.attribute}
        if schema:
            check_counts(node, schema)
        inputs = self._inputs(node, scope)
        if inputs is None:
            self._count_bodies(node)
            return []
        arrays = [value.array for value in inputs if value is not None]
        if all(array is not None for array in arrays) and arrays:
            made = folded(node, [None if v is None else v.array for v in inputs], self.opsets)
            if made is not None:
                return [self.known(out, array) for out, array in zip(node.output, made, strict=False)]
        lowered = lower(
            Node(
                self.e,
                node.op_type,
                schema.since_version if schema else 1,
                attributes,
                inputs,
                list(node.output),
                [declared.get(out) for out in node.output],
                _Bodies(self, scope),
            )
        )
        items = lowered if isinstance(lowered, Sequence) else [lowered]
        return [self._value(out, item) for out, item in zip(node.output, items, strict=False)]

    def _expanded(
        self, node: NodeProto, schema: OpSchema | None, name: str, scope: Scope
    ) -> list[Known | None]:
        """A node whose operator has no lowering of its own: what it is made of, if that is known."""
        if not self._has_function(node, schema):
            self.problems.operator(name)
            self._count_bodies(node)
            return []
        inputs = self._inputs(node, scope)
        if inputs is None:
            return []
        function = self.functions.body(node, schema, self.opsets.get(node.domain, 1), inputs)
        if function is None:
            self.problems.operator(name)
            return []
        return self._call(function, node, schema, inputs)

    def _has_function(self, node: NodeProto, schema: OpSchema | None) -> bool:
        return self.functions.own(node) is not None or (schema is not None and has_body(schema))

    def _value(self, name: str, item: Tensor | Value | None) -> Value | None:
        if item is None or not isinstance(item, Tensor):
            if item is not None and item.emitted is None and item.array is not None:
                return self.known(name, item.array)
            return item
        return Value(name, item.type, emitted=item)

    def _inputs(self, node: NodeProto, scope: Scope) -> list[Value | None] | None:
        """The values of a node's inputs; None if one of them could not be made."""
        found: list[Value | None] = []
        lost = False
        for name in node.input:
            value = scope.get(name) if name else None
            if name and value is None:
                raise Invalid(f"{node.op_type} reads {name}, which nothing made before")
            if isinstance(value, Opaque):
                raise Unsupported(f"{node.op_type} of {value.kind}")
            if isinstance(value, Unknown):
                lost = True
            else:
                found.append(self._used(node, value) if value is not None else None)
        return None if lost else found

    def _count_bodies(self, node: NodeProto) -> None:
        """Count the operators without a lowering in bodies that are not lowered."""
        for body in subgraphs(node):
            for inner in body.node:
                name = f"{inner.domain}:{inner.op_type}" if inner.domain else inner.op_type
                if name not in OPERATORS and not self._has_function(inner, schema_of(inner, self.opsets)):
                    self.problems.operator(name)
                self._count_bodies(inner)

    # ---- values

    def known(self, name: str, array: Array) -> Value:
        """A value known while compiling: a literal where somebody uses it."""
        from shardc.graph.types import DTYPES as KINDS

        dtype = next((k for k, (_, kind) in KINDS.items() if kind == array.dtype), None)
        if dtype is None:
            raise Unsupported(f"constant of {array.dtype}")
        value = Value(name, TensorType(tuple(array.shape), dtype), array)
        value.make = lambda: self._literal(value)
        return value

    def _literal(self, value: Value) -> Tensor:
        """The constant in the block where the builder stands."""
        block = self.builder.current_block
        key = (block, value)
        if key not in self._literals:
            assert value.array is not None
            self._literals[key] = literal(self.e, value.array)
        return self._literals[key]

    def _stored(self, tensor: TensorProto) -> Value | Opaque:
        """A tensor that the model stores: a literal if it is small, else an argument of main."""
        try:
            type = tensor_type(tensor)
            size = type.size
            keep = size <= (MOST if type.dtype in ("i64", "i32", "bool") else SMALL)
            array = array_of(tensor, self.model.folder) if keep else None
        except ValueError as error:
            if tensor.data_type not in DTYPES:
                return Opaque(tensor.name, f"tensor of {dtype_name(tensor.data_type)}")
            raise ShardcError(f"{self.file}: stored tensor {tensor.name}: {error}") from None
        if array is not None and size <= SMALL and tensor.name not in self.wished:
            return self.known(tensor.name, array)
        value = Value(tensor.name, type, array)
        value.make = lambda: self._argument(value, tensor)
        return value

    def stored(self, tensor: TensorProto) -> Value:
        """The value of a Constant node."""
        value = self._stored(tensor)
        if isinstance(value, Opaque):
            raise Unsupported(f"constant: {value.kind}")
        return value

    def _argument(self, value: Value, tensor: TensorProto) -> Tensor:
        """A further argument of main, for a stored tensor."""
        assert self._main is not None
        arg = self._main.insert_arg(attr_of_type(value.type), len(self._main.args))
        name = self.names.fresh(value.name)
        locate(arg, Location(self.file, 1, 1, name))
        arg.name_hint = name
        self.arguments.append(self._sharding(value.name, value.type))
        self.weights[name] = tensor
        value.emitted = Tensor(arg, value.type)
        self._speak(value.name, value)
        return value.emitted

    # ---- annotations

    def _sharding(self, name: str, type: TensorType) -> Sharding | None:
        """The user's, else the one that the model states where the tensor is made, or first read."""
        if name in self.wished:
            self._named.add(name)
            sharding = self.wish(name, type)
        else:
            sharding = self._stated(name, type, self.specs.made.get(name))
        if sharding is not None and sharding.rank != type.rank:
            raise ShardcError(
                f"{self.file}: the sharding of {name} is for {sharding.rank} dimensions; it is {type}"
            )
        return sharding

    def _stated(self, name: str, type: TensorType, spec: ShardingSpec | None) -> Sharding | None:
        if spec is None or self.mesh is None:
            return None
        return sharding_on(self.mesh, name, spec, type.rank, self.file)

    def _annotated(self, name: str, value: Value) -> Value:
        """The value with its name, and with the annotation it has."""
        value.name = name
        sharding = self._sharding(name, value.type)
        if sharding is not None:
            plain = value.tensor()
            self._speak(name, Value(name, value.type, value.array, emitted=plain))
            constrained = self.e.op(sdy.sharding_constraint.name, plain, sharding=sharding)
            value = Value(name, value.type, value.array, emitted=constrained)
        if value.emitted is not None:
            self.builder.name([value.emitted.value], [self.names.fresh(name)])
        self._speak(name, value)
        return value

    def _used(self, node: NodeProto, value: Value) -> Value:
        """The value in the layout that the model states for it at this node."""
        spec = self.specs.used.get((id(node), value.name))
        if spec is None or spec == self.specs.made.get(value.name) or value.name in self.wished:
            return value
        sharding = self._stated(value.name, value.type, spec)
        if sharding is None:
            return value
        moved = self.e.op(sdy.sharding_constraint.name, value.tensor(), sharding=sharding)
        return Value(value.name, value.type, value.array, emitted=moved)

    def _speak(self, name: str, value: Known) -> None:
        """Remember what stands for a tensor of the model."""
        if isinstance(value, Value):
            self.types[name] = value.type
            if value.array is not None:
                self.known_arrays[name] = value.array
            if value.emitted is not None:
                self.spoken.setdefault(name, []).append(value.emitted.value)

    def _check_shardings(self) -> None:
        unknown = [name for name in self.wished if name not in self._named]
        if unknown:
            hint = did_you_mean(unknown[0], list(self.types))
            raise ShardcError(
                f"{self.file}: no tensor of the program is called {', '.join(unknown)}", hint=hint
            )


@dataclass(frozen=True)
class _Specs:
    """Specifications by tensor where it is made or first read, and by node where it is read."""

    made: dict[str, ShardingSpec]
    used: dict[tuple[int, str], ShardingSpec]


def _specs(stated: Stated | None) -> _Specs:
    made: dict[str, ShardingSpec] = {}
    used: dict[tuple[int, str], ShardingSpec] = {}
    for node, name, spec in stated.specs if stated else ():
        plain = replace(spec, tensor_name="")
        if name in node.output:
            made[name] = plain
        else:
            used[id(node), name] = plain
    for (_, name), spec in used.items():
        made.setdefault(name, spec)
    return _Specs(made, used)


class _Bodies:
    """Lowers the bodies of one node in the scope of that node."""

    def __init__(self, lowering: Lowering, scope: Scope) -> None:
        self._lowering = lowering
        self._scope = scope

    def body(self, graph: GraphProto, inputs: Sequence[Value]) -> list[Value]:
        return self._lowering.body(graph, inputs, self._scope)

    def stored(self, tensor: TensorProto) -> Value:
        return self._lowering.stored(tensor)

    def known(self, name: str, array: Array) -> Value:
        return self._lowering.known(name, array)

    def aside(self, block: Block) -> AbstractContextManager[None]:
        return self._lowering.builder.inside(block)
