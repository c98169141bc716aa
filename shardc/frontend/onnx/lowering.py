"""ModelProto -> StableHLO: walks the nodes in order, folds what is known, and lowers the rest.

y = Relu(x)                         func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                              ->      %zero = stablehlo.constant dense<0.0> …
                                      %y = stablehlo.maximum %x, %zero
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from onnx import FunctionProto, GraphProto, NodeProto, TensorProto
from onnx.defs import OpSchema
from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import Location, ShardcError, register_source
from shardc.frontend.onnx.bodies import NodeBodies
from shardc.frontend.onnx.builder import ModelBuilder
from shardc.frontend.onnx.errors import MISFITS, Dynamic, Invalid, Lost, Unsupported
from shardc.frontend.onnx.fold import folded
from shardc.frontend.onnx.functions import Functions, nodes_of
from shardc.frontend.onnx.functions import opsets_of as function_opsets
from shardc.frontend.onnx.inputs import Dimensions, given_array
from shardc.frontend.onnx.listing import Listing
from shardc.frontend.onnx.model import MOST_DEPTH, MOST_NODES, Model, check_depth, opsets_of, twice
from shardc.frontend.onnx.names import Names
from shardc.frontend.onnx.node import Node
from shardc.frontend.onnx.operators.sequences import OPERATORS as SEQUENCES
from shardc.frontend.onnx.outputs import check_outputs
from shardc.frontend.onnx.problems import Problems, misfit
from shardc.frontend.onnx.schema import attributes_of, check_counts, check_dtypes, schema_of
from shardc.frontend.onnx.stored import Stored
from shardc.frontend.onnx.table import OPERATORS
from shardc.frontend.onnx.tensors import Annotations, Tensors
from shardc.frontend.onnx.values import Array, Known, Listed, Opaque, Scope, Unknown, Value
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.layout import Mesh, Sharding


class Lowering:
    """Lowers one model: `dims` are sizes of symbols, `values` inputs that are fixed while compiling."""

    def __init__(
        self,
        model: Model,
        dims: Mapping[str, int],
        values: Mapping[str, Array],
        said: Annotations | None = None,
    ) -> None:
        check_depth(model)
        self.opsets = opsets_of(model)
        self.model = model
        self.file = model.file
        self.said = said or Annotations()
        self.values = values
        self._functions = Functions(model.proto)
        self.calls: list[str] = []
        self._left = MOST_NODES
        self._listing = Listing(model.proto)
        register_source(self.file, self._listing.text, self._listing.titles)
        self.builder = ModelBuilder()
        self._e = Emitter(self.builder, self.file)
        self._dims = Dimensions(model, dims)
        self._arguments: list[Sharding | None] = []
        self._results: list[Sharding | None] = []
        self.problems = Problems(model.proto.graph, values)
        self._names = Names()
        self.tensors = Tensors(self.file, self._e, self.builder, self._names, self.said)
        self.constants = Stored(model, self.tensors, self._arguments)

    # ---- the model

    @property
    def module(self) -> ModuleOp:
        return self.builder.module

    @property
    def mesh(self) -> Mesh | None:
        return self.said.mesh

    @property
    def weights(self) -> dict[str, TensorProto]:
        """Argument of main -> stored tensor, in the order of the arguments."""
        return self.constants.weights

    def build(self) -> None:
        """Build main. ShardcError with all that is wrong."""
        graph = self.model.proto.graph
        if self.mesh is not None:
            self.builder.mesh(self.mesh)
        stored = {tensor.name for tensor in graph.initializer}
        given = [i for i in graph.input if i.name not in stored]
        self._check_once(*(i.name for i in given), *(o for node in graph.node for o in node.output))
        types = {i.name: self._dims.input_type(i) for i in given if i.name not in self.values}
        opaque = [type for type in types.values() if isinstance(type, str)]
        for kind in opaque:
            self.problems.form(f"input of kind {kind}")
        if not opaque:
            self._dims.check()
        dense = {name: type for name, type in types.items() if isinstance(type, TensorType)}
        with self._e.at(Pos(1, 1)):
            for type in dense.values():
                self._e.check_size(type)
        locs = [Location(self.file, 1, 1, self._names.fresh(name)) for name in dense]
        self._arguments += [self.tensors.sharding(name, type) for name, type in dense.items()]
        with self.builder.func(
            "main", list(dense.values()), locs=locs, shardings=self._arguments, result_shardings=self._results
        ) as args:
            self.constants.main = self.builder.current_block
            scope: Scope = {name: Opaque(name, str(type)) for name, type in types.items()}
            for (name, type), arg in zip(dense.items(), args, strict=True):
                scope[name] = Value(name, type, emitted=Tensor(arg, type))
                self.tensors.speak(name, scope[name])
            for i in given:
                if i.name in self.values:
                    scope[i.name] = self.constants.known(i.name, given_array(i, self.values[i.name]))
                    self.tensors.speak(i.name, scope[i.name])
            outputs = self._graph(graph, scope)
            self.problems.check(self.file, self._listing)
            check_outputs(self._e, self._dims, self._listing, graph, outputs)
            self.builder.ret([self._result(value).value for value in outputs])
            self.constants.tidy()
        self.tensors.check()

    def _result(self, value: Value) -> Tensor:
        self._results.append(self.tensors.sharding(value.name, value.type))
        return value.tensor()

    # ---- graphs

    def _graph(self, graph: GraphProto, scope: Scope) -> list[Value]:
        """Lower the nodes of a graph, and give its outputs."""
        made = [output for node in graph.node for output in node.output]
        self._check_once(*(t.name for t in graph.initializer), *made)
        self._names.among(made)
        for tensor in graph.initializer:
            scope[tensor.name] = self.constants.stored(tensor)
            self.tensors.speak(tensor.name, scope[tensor.name])
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = Opaque(sparse.values.name, "sparse tensor")
        declared = {i.name: self._dims.declared(i) for i in (*graph.value_info, *graph.output)}
        self._nodes(graph.node, scope, declared)
        found: list[Value] = []
        for output in graph.output:
            value = scope.get(output.name)
            if value is None:
                raise self._wrong(f"nothing makes output {output.name}")
            if isinstance(value, Opaque | Listed):
                self.problems.form(f"output of kind {value.kind}")
            if isinstance(value, Value):
                found.append(value)
            else:
                self.problems.lost(output.name)
        return found

    def _check_once(self, *names: str) -> None:
        if name := twice(names):
            raise self._wrong(f"{name} is made more than once")

    def _wrong(self, text: str) -> ShardcError:
        """At the line that is lowered, or the first, of inputs, where none is."""
        return self._e.error(text, pos=Pos(max(1, self._e.loc.line), 1))

    def body(self, graph: GraphProto, inputs: Sequence[Value], scope: Scope) -> list[Value]:
        """The outputs of a body at the place where the builder stands."""
        inner = dict(scope)
        if len(inputs) != len(graph.input):
            raise Invalid(f"a body takes {len(graph.input)} values and is given {len(inputs)}")
        for info, value in zip(graph.input, inputs, strict=True):
            inner[info.name] = value
            if value.name:
                self.problems.passed(info.name, value.name)
        outputs = self._graph(graph, inner)
        if len(outputs) != len(graph.output):
            raise Lost
        return outputs

    # ---- nodes

    def _nodes(
        self, nodes: Iterable[NodeProto], scope: Scope, declared: Mapping[str, TensorType | None]
    ) -> None:
        for node in nodes:
            with self._e.at(Pos(self._listing.line(node) or self._e.loc.line, 1)):
                self._left -= 1
                if self._left < 0:
                    raise self._e.error(f"the model comes to more than {MOST_NODES} nodes")
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
        if name in self.calls:
            raise Invalid(f"function {name} calls itself")
        if len(self.calls) == MOST_DEPTH:
            raise Invalid(f"functions call each other more than {MOST_DEPTH} deep")
        self._check_once(*function.input, *(o for one in function.node for o in one.output))
        inner: Scope = {n: v for n, v in zip(function.input, inputs, strict=False) if v is not None}
        outer, self.opsets = self.opsets, function_opsets(function, self.opsets)
        for inside, value in inner.items():
            self.problems.passed(inside, value.name)
        self.calls.append(name)
        try:
            nodes = nodes_of(function, node, schema)
            for one in nodes:
                self.problems.made(one)
            self._nodes(nodes, inner, {})
        finally:
            self.calls.pop()
            self.opsets = outer
        return [inner.get(output) for output in function.output]

    def _node(self, node: NodeProto, scope: Scope, declared: Mapping[str, TensorType | None]) -> None:
        outputs = [name for name in node.output if name]
        try:
            results = self._lowered(node, scope, declared)
        except Invalid as error:
            raise self._e.error(str(error)) from None
        except Unsupported as error:
            self.problems.form(str(error))
            results = []
        except Dynamic as error:
            self.problems.dynamic(node, error)
            results = []
        except Lost:
            results = []
        except MISFITS as error:
            raise self._e.error(misfit(node, scope, error)) from error
        for index, name in enumerate(node.output):
            result = results[index] if index < len(results) else None
            if name:
                made = Unknown(name) if result is None else result
                scope[name] = self.tensors.annotated(name, made) if isinstance(made, Value) else made
        if results and len(results) < len(outputs):
            self.problems.form(f"{node.op_type} with {len(outputs)} outputs")

    def _lowered(
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
        inputs = self.tensors.inputs(node, scope, lists=name in SEQUENCES)
        if inputs is None:
            self.problems.operators(self._functions.missing(node, self.opsets))
            return []
        check_dtypes(node, schema, [None if value is None else value.type.dtype for value in inputs])
        version = schema.since_version if schema else 1
        types = [declared.get(out) for out in node.output]
        bodies = NodeBodies(self, scope)
        read = enumerate(map(scope.get, node.input))
        lists = {index: value for index, value in read if isinstance(value, Listed)}
        given = Node(
            self._e, node.op_type, version, attributes, inputs, list(node.output), types, bodies, lists
        )
        arrays = [value.array for value in inputs if value is not None]
        if all(array is not None for array in arrays) and arrays:
            made = folded(node, [None if v is None else v.array for v in inputs], self.opsets)
            if made is not None:
                return list(self.constants.folded(given, lower, made))
        lowered = lower(given)
        items = lowered if isinstance(lowered, Sequence) else [lowered]
        return [self._value(out, item) for out, item in zip(node.output, items, strict=False)]

    def _expanded(
        self, node: NodeProto, schema: OpSchema | None, name: str, scope: Scope
    ) -> list[Known | None]:
        """A node whose operator has no lowering of its own: what it is made of, if that is known."""
        if not self._functions.has(node, schema):
            self.problems.operator(name)
            self.problems.operators(self._functions.missing(node, self.opsets))
            return []
        inputs = self.tensors.inputs(node, scope)
        if inputs is None:
            return []
        function = self._functions.body(node, schema, self.opsets.get(node.domain, 1), inputs)
        if function is None:
            self.problems.operator(name)
            return []
        return self._call(function, node, schema, inputs)

    def _value(self, name: str, item: Tensor | Value | Listed | None) -> Value | Listed | None:
        if isinstance(item, Listed):
            return Listed(name, item.items)
        if isinstance(item, Tensor):
            return Value(name, item.type, emitted=item)
        if item is not None and item.emitted is None and item.array is not None:
            return self.constants.known(name, item.array)
        return item
