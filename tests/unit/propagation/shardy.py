"""jaxlib's Shardy as an oracle for propagation: the same module through both, value by value.

Shardy's own passes split constants and clean up; then its module is read into a Graph, with Shardy's factor
rules, so that only propagation is compared. Operations are told apart by a `tag` attribute, which stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import sdy
from msgspec.structs import replace

from shardc.dialects.context import make_context
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read
from shardc.graph import Function, Graph, Node, Region, TensorType, Value
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.ops.rule import Factor, FactorRule, Kind
from shardc.passes.propagate import Propagate
from shardc.propagation import Options, Result, propagate
from shardc.propagation.manual import complete

CLEAN = (
    "symbol-dce,sdy-lift-inlined-meshes,sdy-remove-size-one-axes,sdy-propagate-sharding-from-func-to-call,"
    "sdy-constant-or-scalar-splitter,symbol-dce,sdy-manual-axes-cleanup"
)
IMPORT = (
    "sdy-add-data-flow-edges,sdy-flatten-call-graph,symbol-dce,"
    "sdy-import-func-calls{add-data-flow-edges-on-named-computations=true},symbol-dce,"
    "sdy-apply-sharding-constraints,sdy-sharding-group-import,sdy-pre-order-funcs"
)
PASSES = {
    "basic": "sdy-basic-propagate",
    "aggressive": "sdy-aggressive-propagate",
    "op": "sdy-op-priority-propagate",
    "user": "sdy-user-priority-propagate",
}
OPTIONS = {
    "basic": Options("basic", op_priorities=False, user_priorities=False),
    "aggressive": Options(op_priorities=False, user_priorities=False),
    "op": Options(user_priorities=False),
    "user": Options(),
}

Shardings = dict[str, list[str]]
"""Tag of an operation, or name of a function's side -> the shardings of its results, as text."""


def compare(text: str, layer: str = "user") -> tuple[Shardings, Shardings]:
    """Shardy's shardings and shardc's."""
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        _run(module, CLEAN)
        _tag(module)
        graph = _Reader(module).read()
        copy = ir.Module.parse(str(module))
        _run(copy, f"{IMPORT},{PASSES[layer]}")
        theirs = _shardings(copy)
    ours = _ours(propagate(graph, OPTIONS[layer], rules=lambda op: None))
    return theirs, {key: ours[key] for key in theirs if key in ours}


def compare_pass(text: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The same for the pass `propagate`, which reads the text itself and splits and merges constants.

    An operation may have become several, some of which Shardy has removed, so this compares the sets of
    shardings that each one ended up with.
    """
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        _run(module, "symbol-dce,sdy-lift-inlined-meshes")
        _tag(module)
        tagged = str(module)
        _run(module, f"{CLEAN},{IMPORT},{PASSES['user']}")
        theirs = _sets(_shardings(module))
    ours = read(tagged, "tagged.mlir")
    Propagate().apply(make_context(), ours)
    ours.verify()
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        found = _sets(_shardings(ir.Module.parse(print_module(ours))))
    shown = {key: shardings for key, shardings in theirs.items() if key in found or shardings}
    dead = {key: found[key] - shardings for key, shardings in shown.items() if "#" in key and key in found}
    return shown, {key: found[key] - dead.get(key, set()) for key in shown if key in found}


def run_passes(text: str, passes: str) -> str:
    """What Shardy's passes make of a module."""
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        _run(module, passes)
        return str(module)


def run_each(text: str, passes: list[str]) -> str:
    """The same for passes on modules and passes on functions, one after the other."""
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for name in passes:
            _run(module, name if _is_of_modules(name) else f"func.func({name})")
        return str(module)


def _is_of_modules(name: str) -> bool:
    try:
        passmanager.PassManager.parse(f"builtin.module({name})")
    except ValueError:
        return False
    return True


def _sets(found: Shardings) -> dict[str, set[str]]:
    return {key: set(shardings) - {"None"} for key, shardings in found.items() if "arguments" not in key}


def _run(module: ir.Module, passes: str) -> None:
    passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)


def _tag(module: ir.Module) -> None:
    count = 0

    def visit(op: Any) -> ir.WalkResult:
        nonlocal count
        if op.results:
            op.attributes["tag"] = ir.StringAttr.get(f"{op.name}#{count}")
            count += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)


def _shardings(module: ir.Module) -> Shardings:
    meshes = _meshes(module)
    found: Shardings = {}

    def add(tag: str, shardings: list[str]) -> None:
        found.setdefault(tag, []).extend(shardings)

    def visit(op: Any) -> ir.WalkResult:
        view = op.opview if hasattr(op, "opview") else op
        if op.name == "func.func":
            name = ir.StringAttr(op.attributes["sym_name"]).value
            count = len(view.regions[0].blocks[0].arguments)
            add(f"{name} arguments", _dict_shardings(op, "arg_attrs", count, meshes))
            results = len(ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).results)
            add(f"{name} results", _dict_shardings(op, "res_attrs", results, meshes))
        elif "tag" in op.attributes:
            tag = ir.StringAttr(op.attributes["tag"]).value
            add(tag, [_text(s) for s in _result_shardings(op, meshes)])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _result_shardings(op: Any, meshes: dict[str, Mesh]) -> list[Sharding | None]:
    edges = [_edge_after(result) for result in op.results]
    if any(edges):
        return [_of_edge(edge, meshes) for edge in edges]
    if op.name == "sdy.manual_computation":
        names = [_string(a) for a in sdy.ManualAxesAttr(op.attributes["manual_axes"])]
        shardings = sdy.TensorShardingPerValueAttr(op.attributes["out_shardings"]).shardings
        return [complete(_sharding(s, meshes), tuple(names)) for s in shardings]
    attribute = "sdy.sharding"
    if op.name in ("sdy.sharding_constraint", "sdy.reshard"):
        return [_sharding(op.attributes["sharding"], meshes)]
    if attribute not in op.attributes:
        return [None] * len(op.results)
    return [_sharding(s, meshes) for s in sdy.TensorShardingPerValueAttr(op.attributes[attribute]).shardings]


def _edge_after(value: Any) -> Any:
    users = [use.owner for use in value.uses]
    return next((user for user in users if user.operation.name == "sdy.data_flow_edge"), None)


def _of_edge(edge: Any, meshes: dict[str, Mesh]) -> Sharding | None:
    if edge is None or "sharding" not in edge.operation.attributes:
        return None
    return _sharding(edge.operation.attributes["sharding"], meshes)


def _dict_shardings(op: Any, key: str, count: int, meshes: dict[str, Mesh]) -> list[str]:
    if key not in op.attributes:
        return ["None"] * count
    return [_text(s) for s in _annotations(op, key, count, meshes)]


def _annotations(op: Any, key: str, count: int, meshes: dict[str, Mesh]) -> list[Sharding | None]:
    if key not in op.attributes:
        return [None] * count
    dicts = [ir.DictAttr(d) for d in ir.ArrayAttr(op.attributes[key])]
    return [_sharding(d["sdy.sharding"], meshes) if "sdy.sharding" in d else None for d in dicts]


def _wide(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes if axis.size > 1)


def _text(sharding: Sharding | None) -> str:
    if sharding is None:
        return "None"
    dims = tuple(replace(dim, axes=_wide(dim.axes)) for dim in sharding.dims)
    sharding = replace(
        sharding, dims=dims, replicated=_wide(sharding.replicated), unreduced=_wide(sharding.unreduced)
    )
    if not any(True for _ in sharding.axes()) and all(dim.open for dim in dims):
        return "None"
    named = [
        [f"{axis.name}:({axis.pre}){axis.size}" for axis in axes]
        for axes in (sharding.replicated, sharding.unreduced)
    ]
    return f"{sharding.mesh.name}{sharding} replicated={named[0]} unreduced={named[1]}"


def _ours(result: Result) -> Shardings:
    found: Shardings = {}
    graph = result.graph

    def add(region: Region, function: str) -> None:
        for node in region.nodes:
            if "tag" in node.attrs:
                for body in result.bodies:
                    if body.function == function:
                        found.setdefault(str(node.attrs["tag"]), []).extend(
                            _text(body.shardings.get(value)) for value in node.results
                        )
            for inner in node.regions:
                add(inner, function)

    for name, function in graph.functions.items():
        add(function.body, name)
        if name in result.results:
            found[f"{name} arguments"] = [_text(result.sharding(arg)) for arg in function.body.args]
            found[f"{name} results"] = [_text(s) for s in result.results[name]]
    return found


def _meshes(module: ir.Module) -> dict[str, Mesh]:
    found: dict[str, Mesh] = {}
    for op in module.body.operations:
        if op.operation.name == "sdy.mesh":
            name = ir.StringAttr(op.operation.attributes["sym_name"]).value
            mesh = sdy.MeshAttr(op.operation.attributes["mesh"])
            axes = [sdy.MeshAxisAttr(a) for a in mesh.axes]
            ids = tuple(mesh.device_ids) or None
            found[name] = Mesh(name, tuple((a.name, a.size) for a in axes), ids)
    return found


def _sharding(attribute: Any, meshes: dict[str, Mesh]) -> Sharding:
    value = sdy.TensorShardingAttr(attribute)
    mesh = meshes[ir.FlatSymbolRefAttr(value.mesh_or_ref).value]

    def axis(attribute: Any) -> Axis:
        ref = sdy.AxisRefAttr(attribute)
        if ref.sub_axis_info is None:
            return mesh.axis(ref.name)
        info = sdy.SubAxisInfoAttr(ref.sub_axis_info)
        return Axis(ref.name, info.size, info.pre_size)

    dims = [sdy.DimensionShardingAttr(d) for d in value.dimension_shardings]
    return Sharding(
        mesh,
        tuple(
            Dim(tuple(axis(a) for a in d.axes), not d.is_closed, None if d.priority == -1 else d.priority)
            for d in dims
        ),
        tuple(axis(a) for a in value.replicated_axes),
        tuple(axis(a) for a in value.unreduced_axes),
    )


@dataclass
class _Reader:
    """jaxlib's module -> Graph, with attributes only where propagation looks at them."""

    module: ir.Module
    graph: Graph = field(default_factory=Graph)
    values: dict[Any, int] = field(default_factory=dict)
    count: int = 0

    def read(self) -> Graph:
        meshes = self.graph.meshes = _meshes(self.module)
        rules = ir.Module.parse(str(self.module))
        passmanager.PassManager.parse("builtin.module(func.func(sdy-populate-op-sharding-rules))").run(
            rules.operation
        )
        for op in rules.body.operations:
            if op.operation.name == "func.func":
                self._function(op, meshes)
        return self.graph

    def _function(self, op: Any, meshes: dict[str, Mesh]) -> None:
        block = op.regions[0].blocks[0]
        attributes = op.operation.attributes
        name = ir.StringAttr(attributes["sym_name"]).value
        public = "sym_visibility" not in attributes or "private" not in str(attributes["sym_visibility"])
        body = self._block(block)
        args = _annotations(op.operation, "arg_attrs", len(body.args), meshes)
        for value, sharding in zip(body.args, args, strict=True):
            self.graph.values[value].sharding = sharding
        results = len(ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value).results)
        shardings = _annotations(op.operation, "res_attrs", results, meshes)
        self.graph.functions[name] = Function(name, body, shardings, public=public)

    def _block(self, block: Any) -> Region:
        args = tuple(self._value(arg) for arg in block.arguments)
        return Region(args, [self._node(op.operation) for op in block.operations])

    def _value(self, value: Any) -> int:
        if isinstance(value.type, ir.RankedTensorType):
            type = ir.RankedTensorType(value.type)
            made = TensorType(tuple(type.shape), str(type.element_type))
        else:
            made = TensorType((), str(value.type))
        self.graph.values.append(Value(len(self.graph.values), made))
        self.values[value] = len(self.graph.values) - 1
        return self.values[value]

    def _node(self, op: Any) -> Node:
        operands = tuple(self.values[o] for o in op.operands)
        regions = tuple(self._block(r.blocks[0]) for r in op.regions if len(r.blocks))
        results = tuple(self._value(r) for r in op.results)
        attrs = self._attrs(op)
        if "sdy.sharding" in op.attributes:
            given = sdy.TensorShardingPerValueAttr(op.attributes["sdy.sharding"]).shardings
            for result, sharding in zip(results, given, strict=True):
                self.graph.values[result].sharding = _sharding(sharding, self.graph.meshes)
        self.count += 1
        return Node(self.count, op.name, operands, results, attrs, regions)

    def _attrs(self, op: Any) -> dict[str, object]:
        given, meshes = op.attributes, self.graph.meshes
        attrs: dict[str, object] = {}
        for key in ("in_shardings", "out_shardings"):
            if key in given:
                attrs[key] = tuple(
                    _sharding(s, meshes) for s in sdy.TensorShardingPerValueAttr(given[key]).shardings
                )
        for key in ("tag", "call_target_name"):
            if key in given:
                attrs[key] = ir.StringAttr(given[key]).value
        if "callee" in given:
            attrs["callee"] = ir.FlatSymbolRefAttr(given["callee"]).value
        if "sharding" in given:
            attrs["sharding"] = _sharding(given["sharding"], meshes)
        if "group_id" in given:
            attrs["group_id"] = ir.IntegerAttr(given["group_id"]).value
        if "manual_axes" in given:
            attrs["manual_axes"] = tuple(_string(a) for a in sdy.ManualAxesAttr(given["manual_axes"]))
        if "allowed_direction" in given:
            number = ir.IntegerAttr(given["allowed_direction"]).value
            attrs["allowed_direction"] = ("NONE", "FORWARD", "BACKWARD", "BOTH")[number]
        if "sdy.sharding_rule" in given:
            attrs["sdy.sharding_rule"] = _rule(sdy.OpShardingRuleAttr(given["sdy.sharding_rule"]))
        return attrs


def _rule(rule: Any) -> FactorRule:
    kinds = {
        **{i: Kind.REDUCTION for i in rule.reduction_factors},
        **{i: Kind.REPLICATE for i in rule.need_replication_factors},
        **{i: Kind.PERMUTATION for i in rule.permutation_factors},
    }
    blocked = set(rule.blocked_propagation_factors)
    factors = tuple(
        Factor(size, kinds.get(i, Kind.PASS), i in blocked) for i, size in enumerate(rule.factor_sizes)
    )
    sides = [
        tuple(
            tuple(tuple(sdy.DimMappingAttr(d).factor_indices) for d in sdy.TensorMappingAttr(m).dim_mappings)
            for m in mappings
        )
        for mappings in (rule.operand_mappings, rule.result_mappings)
    ]
    return FactorRule(factors, sides[0], sides[1])


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ir.StringAttr(value).value
