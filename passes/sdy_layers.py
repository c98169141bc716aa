"""Shardy's passes by Shardy's names: single layers of propagation, the whole pipeline, and rules as text.

A layer works on a module that is prepared already. It copies no constants, applies no constraints, and the
only data-flow edges are those that stand in the module as `sdy.data_flow_edge`. It removes what nobody uses.

    %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
->  %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {?}]>]>} : …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ConstantOp as SdyConstantOp
from shardc.dialects.sdy import DataFlowEdgeOp, ReshardOp, ShardingConstraintOp, ShardingGroupOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingRuleAttr
from shardc.dialects.shardings import attr_of, sharding_of
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.dialects.stablehlo.data_movement import ConstantOp
from shardc.dialects.stablehlo.indexing import DynamicUpdateSliceOp
from shardc.dialects.verify import module_meshes
from shardc.graph import walk
from shardc.layout import Sharding
from shardc.passes.propagate import RULE, Propagate, check_strategy, read_custom_rules, write_result
from shardc.propagation import Options, propagate
from shardc.propagation.dead import dead_nodes
from shardc.propagation.edges import EdgesOf, edges_of, explicit
from shardc.rules.rule import FactorRule, Kind
from shardc.rules.table import rule_of


@dataclass(frozen=True)
class _Layer(ModulePass):
    """The options that every layer of Shardy's has. Those for debugging change nothing here."""

    keep_sharding_rules: bool = False
    conservative_propagation: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False
    module_dump_directory: str = ""

    def options(self) -> Options:
        """What runs."""
        raise NotImplementedError

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        edges = _take_edges(op)
        snap = snapshot(op)
        read_custom_rules(snap)
        numbers = {ssa: number for number, ssa in enumerate(snap.ssa)}
        owners = {numbers[edge.owner]: edge.start for edge in edges}
        options = replace(self.options(), whole_axes=self.conservative_propagation)
        result = propagate(snap.graph, options, owners=owners)
        found = {owner: result.sharding(owner) for owner in owners}
        for body in result.bodies:
            for owner in owners:
                body.shardings.pop(owner, None)
        write_result(snap, snap.graph, result)
        for edge in edges:
            edge.put_back(found[numbers[edge.owner]])
        _erase_dead(snap, explicit(owners))
        if self.keep_sharding_rules:
            _write_rules(op)
        else:
            _drop_rules(op)


@dataclass(frozen=True)
class BasicPropagate(_Layer):
    """One sweep with the basic strategy."""

    name = "sdy-basic-propagate"

    def options(self) -> Options:
        return Options("basic", op_priorities=False, user_priorities=False)


@dataclass(frozen=True)
class AggressivePropagate(_Layer):
    """A sweep with each strategy."""

    name = "sdy-aggressive-propagate"

    propagation_strategy: str = "aggressive"

    def options(self) -> Options:
        return Options(check_strategy(self.propagation_strategy), op_priorities=False, user_priorities=False)


@dataclass(frozen=True)
class OpPriorityPropagate(_Layer):
    """The strategies in rounds of operations."""

    name = "sdy-op-priority-propagate"

    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    def options(self) -> Options:
        rounds = self.run_op_priority_propagation
        return Options(check_strategy(self.propagation_strategy), rounds, user_priorities=False)


@dataclass(frozen=True)
class UserPriorityPropagate(_Layer):
    """All layers."""

    name = "sdy-user-priority-propagate"

    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    def options(self) -> Options:
        return Options(check_strategy(self.propagation_strategy), self.run_op_priority_propagation)


@dataclass(frozen=True)
class PropagationPipeline(ModulePass):
    """Preparation, all layers, and what Shardy's export does."""

    name = "sdy-propagation-pipeline"

    conservative_propagation: bool = False
    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        Propagate(
            check_strategy(self.propagation_strategy),
            self.run_op_priority_propagation,
            whole_axes=self.conservative_propagation,
            divisible=True,
            closed=True,
        ).apply(ctx, op)
        for inner in list(op.walk()):
            if isinstance(inner, ShardingGroupOp):
                inner.detach()
            elif isinstance(inner, ShardingConstraintOp):
                _to_reshard(inner)
            elif isinstance(inner, ConstantOp):
                _to_sdy_constant(inner)
        _erase_unused_functions(op)
        _erase_dead(snapshot(op), edges_of)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                _merge_constants(function.body.block)


@dataclass(frozen=True)
class PopulateRules(ModulePass):
    """Write every operation's factor rule on it: `sdy.sharding_rule = #sdy.op_sharding_rule<…>`."""

    name = "sdy-populate-op-sharding-rules"

    conservative_propagation: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _write_rules(op)


def _write_rules(module: ModuleOp) -> None:
    snap = snapshot(module)
    for function in snap.graph.functions.values():
        for node in walk(function.body):
            op = snap.ops[node.id]
            rule = rule_of(snap.graph.op(node)) if RULE not in op.attributes else None
            if isinstance(op, DynamicUpdateSliceOp) and rule is not None:
                rule = _at_known_place(op, rule)
            if rule is not None:
                op.attributes[RULE] = ShardingRuleAttr(str(rule))


def _drop_rules(module: ModuleOp) -> None:
    """Remove the rules that no user wrote."""
    for op in module.walk():
        rule = op.attributes.get(RULE)
        if isinstance(rule, ShardingRuleAttr) and not rule.data.endswith("custom"):
            del op.attributes[RULE]


def _at_known_place(op: DynamicUpdateSliceOp, rule: FactorRule) -> FactorRule:
    """Shardy's rule for constant indices: the update's factors may be sharded, which helps nobody."""
    if not all(isinstance(index.owner, ConstantOp) for index in op.start_indices):
        return rule
    return replace(rule, factors=tuple(replace(factor, kind=Kind.PASS) for factor in rule.factors))


@dataclass(frozen=True, slots=True)
class _Edge:
    """A data-flow edge taken out of the module."""

    owner: SSAValue
    start: Sharding | None
    op: DataFlowEdgeOp

    def put_back(self, sharding: Sharding | None) -> None:
        """Insert the edge again behind its owner, with another sharding."""
        uses = [(use.operation, use.index) for use in self.owner.uses]
        properties = {} if sharding is None else {"sharding": attr_of(sharding)}
        made = DataFlowEdgeOp.create(
            operands=[self.owner],
            result_types=[self.owner.type],
            properties=properties,
            attributes=self.op.attributes,
        )
        locate(made, location_of(self.op.location))
        Rewriter.insert_op(made, _behind(self.owner))
        for user, number in uses:
            user.operands[number] = made.result


def _behind(value: SSAValue) -> InsertPoint:
    """Behind what makes a value, and behind the edges that are there already."""
    owner = value.owner
    following = owner.first_op if isinstance(owner, Block) else owner.next_op
    while isinstance(following, DataFlowEdgeOp):
        following = following.next_op
    assert following is not None  # blocks end in terminators
    return InsertPoint.before(following)


def _take_edges(module: ModuleOp) -> list[_Edge]:
    """Remove the data-flow edges; their users use the owners."""
    meshes = module_meshes(module)
    edges: list[_Edge] = []
    for op in [op for op in module.walk() if isinstance(op, DataFlowEdgeOp)]:
        start = sharding_of(op.sharding, meshes) if isinstance(op.sharding, ShardingAttr) else None
        edges.append(_Edge(op.input, start, op))
        op.result.replace_all_uses_with(op.input)
        op.detach()
        op.operands = ()
    return edges


def _erase_dead(snap: Snapshot, edges: EdgesOf) -> None:
    for number in sorted(dead_nodes(snap.graph, edges), reverse=True):
        snap.ops[number].detach()
        snap.ops[number].erase(safe_erase=False)


def _to_reshard(op: ShardingConstraintOp) -> None:
    made = ReshardOp.create(
        operands=[op.input],
        result_types=[op.result.type],
        properties={"sharding": op.sharding},
        attributes=op.attributes,
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)


def _erase_unused_functions(module: ModuleOp) -> None:
    """Remove private functions that nobody calls, directly or not."""
    while True:
        called = {op.callee.string_value() for op in module.walk() if isinstance(op, CallOp)}
        functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
        unused = [f for f in functions if f.sym_visibility and f.sym_name.data not in called]
        for function in unused:
            function.detach()
            function.erase()
        if not unused:
            return


def _merge_constants(block: Block) -> None:
    """Let equal constants of a block be one, the first."""
    first: dict[tuple[object, ...], SdyConstantOp] = {}
    for op in list(block.ops):
        if isinstance(op, SdyConstantOp):
            known = first.setdefault((op.value, *sorted(op.attributes.items())), op)
            if known is not op:
                Rewriter.replace_op(op, [], [known.output])
        for region in op.regions:
            _merge_constants(region.block)


def _to_sdy_constant(op: ConstantOp) -> None:
    made = SdyConstantOp.create(
        result_types=op.result_types, properties=op.properties, attributes=op.attributes
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)


LAYERS: dict[str, Callable[[], type[ModulePass]]] = {
    layer.name: (lambda layer=layer: layer)
    for layer in (
        BasicPropagate,
        AggressivePropagate,
        OpPriorityPropagate,
        UserPriorityPropagate,
        PropagationPipeline,
        PopulateRules,
    )
}
"""Shardy's name -> the pass, as `PASSES` has it."""
