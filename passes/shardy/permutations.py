"""sdy-resolve-permutation-factors: no dimension is split whose elements move between devices.

    %0 = stablehlo.slice %arg0 [1:7, 0:8] {… [{"x"}, {}]}
->  %0 = sdy.reshard %arg0 <@m, [{}, {}]>
    %1 = stablehlo.slice %0 [1:7, 0:8] {… [{}, {}]}
    %2 = sdy.reshard %1 <@m, [{"x"}, {}]>                                    // enable-halo-exchange=false
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.shardings import SHARDING, Meshes, per_value, sharding_of
from shardc.dialects.snapshot import snapshot
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes
from shardc.graph import walk
from shardc.layout import Sharding, replicated
from shardc.ops import op_of
from shardc.ops.registry import spreading_rule_of
from shardc.ops.rule import Dims, FactorRule, Kind
from shardc.passes.shardy.reshards import reshard_operand, reshard_result
from shardc.passes.shardy.values import ref_of_value


@dataclass(frozen=True)
class ResolvePermutationFactors(ModulePass):
    """With `enable_halo_exchange=false`, gather dimensions with a permutation factor around the operation.

    By default nothing changes: `localize` exchanges the elements that move, which sends less.
    """

    name = "sdy-resolve-permutation-factors"

    enable_halo_exchange: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.enable_halo_exchange:
            return
        snap, meshes = snapshot(op), module_meshes(op)
        for function in snap.graph.functions.values():
            for node in walk(function.body):
                rule = spreading_rule_of(op_of(snap.graph, node))
                if rule is not None and any(factor.kind is Kind.PERMUTATION for factor in rule.factors):
                    _gather_around(snap.ops[node.id], rule, meshes)


def _gather_around(op: Operation, rule: FactorRule, meshes: Meshes) -> None:
    """Reshard operands and results so that no permuted dimension of the operation is split."""
    for number, dims in enumerate(rule.operands):
        held = _sharding(op.operands, number, meshes)
        if held is not None and (whole := _whole(held, dims, rule)) != held:
            reshard_operand(op, number, whole)
    wanted = [_sharding(op.results, number, meshes) for number in range(len(op.results))]
    known = next((sharding for sharding in wanted if sharding is not None), None)
    if known is None:
        return
    shardings = [
        sharding or replicated(known.mesh, type_of(result.type).rank)
        for sharding, result in zip(wanted, op.results, strict=True)
    ]
    wholes = [_whole(sharding, dims, rule) for sharding, dims in zip(shardings, rule.results, strict=True)]
    if wholes != shardings:
        op.attributes[SHARDING] = per_value(wholes)
        for number, (whole, sharding) in enumerate(zip(wholes, shardings, strict=True)):
            if whole != sharding:
                reshard_result(op, number, sharding)


def _sharding(values: Sequence[SSAValue], number: int, meshes: Meshes) -> Sharding | None:
    ref = ref_of_value(values[number])
    return None if ref is None else sharding_of(ShardingAttr(ref), meshes)


def _whole(sharding: Sharding, dims: Dims, rule: FactorRule) -> Sharding:
    """The sharding without the axes of permuted dimensions."""
    kept = [
        replace(dim, axes=()) if any(rule.factors[f].kind is Kind.PERMUTATION for f in factors) else dim
        for dim, factors in zip(sharding.dims, dims, strict=True)
    ]
    return replace(sharding, dims=tuple(kept))
