"""Factor rules as text on the operations: the pass sdy-populate-op-sharding-rules, and keep-sharding-rules.

    %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
->  %0 = stablehlo.tanh %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from shardc.diagnostics import warn
from shardc.dialects.locations import location_of
from shardc.dialects.makers import made_by
from shardc.dialects.sdy import ReshardOp
from shardc.dialects.sdy_attributes import ShardingRuleAttr
from shardc.dialects.snapshot import snapshot
from shardc.dialects.stablehlo.calls import CustomCallOp
from shardc.graph import walk
from shardc.ops import hlo, op_of, sdy
from shardc.ops.custom_calls import has_rule
from shardc.ops.registry import spreading_rule_of
from shardc.ops.rule import FactorRule, Kind
from shardc.passes.propagate import RULE
from shardc.propagation.links import combines_seed, kept_whole, seeds
from shardc.rules.conservative import conservative_rule_of


@dataclass(frozen=True)
class PopulateRules(ModulePass):
    """Write every operation's factor rule on it: `sdy.sharding_rule = #sdy.op_sharding_rule<…>`."""

    name = "sdy-populate-op-sharding-rules"

    conservative_propagation: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        warn_of_unknown_call(op)
        write_rules(op, self.conservative_propagation)


def warn_of_unknown_call(module: ModuleOp) -> None:
    """Say of the first custom call without a rule that nothing is propagated through it, as Shardy does."""
    for op in module.walk():
        if isinstance(op, CustomCallOp) and RULE not in op.attributes:
            target = op.call_target_name.data
            if target != "sdy_testonly" and not has_rule(target):
                text = f"custom call @{target} is unknown to SDY sharding rule registry"
                warn(text, location_of(op.location), "nothing is propagated through it")
                return


def write_rules(module: ModuleOp, conservative: bool = False) -> None:
    """Give every operation without a rule of its own that of the table.

    Shardy has none for reshards, and for reshapes of arrays without elements.
    """
    find = conservative_rule_of if conservative else spreading_rule_of
    snap = snapshot(module)
    states = seeds(snap.graph)
    for function in snap.graph.functions.values():
        for node in walk(function.body):
            op = snap.ops[node.id]
            found = op_of(snap.graph, node)
            empty = node.name == hlo.reshape.name and found.operands[0].size == 0
            known = RULE in op.attributes or isinstance(op, ReshardOp) or empty
            rule = None if known else find(found)
            if rule is not None:
                special = _IN_PLACE.get(op.name)
                rule = rule if special is None else special(op, rule)
                rule = kept_whole(rule) if combines_seed(node, states) else rule
                op.attributes[RULE] = ShardingRuleAttr(str(rule))


def drop_rules(module: ModuleOp) -> None:
    """Remove the rules that no user wrote."""
    for op in module.walk():
        rule = op.attributes.get(RULE)
        if isinstance(rule, ShardingRuleAttr) and not rule.data.endswith("custom"):
            del op.attributes[RULE]


def _update_at_known_place(op: Operation, rule: FactorRule) -> FactorRule:
    """Shardy's rule for constant indices: the update's factors may be sharded, which helps nobody."""
    if not all(_is_constant(index) for index in op.operands[2:]):
        return rule
    return replace(rule, factors=tuple(replace(factor, kind=Kind.PASS) for factor in rule.factors))


def _is_constant(value: SSAValue) -> bool:
    return made_by(value, hlo.constant.name, sdy.constant.name)


def _concatenate_slices(op: Operation, rule: FactorRule) -> FactorRule:
    """Shardy's rule where all operands are slices, or slices of one of them: the joined dimension is
    permuted, as by a roll.
    """
    slices = [operand for operand in op.operands if made_by(operand, hlo.slice_.name)]
    others = {operand for operand in op.operands if operand not in slices}
    sources = {operand.owner.operands[0] for operand in slices if isinstance(operand.owner, Operation)}
    if not slices or (others and others != sources):
        return rule
    kinds = {Kind.REPLICATE: Kind.PERMUTATION}
    return replace(rule, factors=tuple(replace(f, kind=kinds.get(f.kind, f.kind)) for f in rule.factors))


_IN_PLACE: dict[str, Callable[[Operation, FactorRule], FactorRule]] = {
    hlo.concatenate.name: _concatenate_slices,
    hlo.dynamic_update_slice.name: _update_at_known_place,
}
"""Operations whose rule Shardy chooses by what makes their operands. Propagation comes out the same."""
