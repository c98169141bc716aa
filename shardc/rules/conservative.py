"""Rules for conservative propagation, which shards nothing that a partitioner may find hard to partition.

Dimensions that a window, a slice or padding runs along let nothing through; those of convolutions and of
concatenations have no common factor at all.

    concatenate   ([i, j], [i, j])->([i, j]) need_replication={j}   ->   ([i, j], [i, k])->([i, l])
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import cast

from msgspec.structs import replace

from shardc.graph.attrs import ConvDims
from shardc.graph.program import Op
from shardc.ops import hlo
from shardc.ops.registry import spreading_rule_of
from shardc.ops.rule import Dims, Factor, FactorRule, Kind
from shardc.ops.rule_builder import integer


def conservative_rule_of(op: Op) -> FactorRule | None:
    """The rule of an operation for conservative propagation; None if it has none."""
    rule = spreading_rule_of(op)
    change = _CHANGED.get(op.name)
    return rule if rule is None or change is None else change(op, rule)


def _blocked(op: Op, rule: FactorRule) -> FactorRule:
    """Factors that are permuted or needed whole are blocked."""
    return replace(
        rule,
        factors=tuple(
            replace(f, blocked=f.blocked or f.kind in (Kind.PERMUTATION, Kind.REPLICATE))
            for f in rule.factors
        ),
    )


def _concatenate(op: Op, rule: FactorRule) -> FactorRule:
    joined = integer(op, "dimension", 0)
    return _without(rule, {factor for dims in rule.results for factor in dims[joined]})


def _convolution(op: Op, rule: FactorRule) -> FactorRule:
    dims = cast(ConvDims, op.attrs["dimension_numbers"])
    spatial = [rule.operands[0][dim] for dim in dims.input_spatial]
    spatial += [rule.operands[1][dim] for dim in dims.kernel_spatial]
    spatial += [rule.results[0][dim] for dim in dims.output_spatial]
    return _without(rule, {factor for factors in spatial for factor in factors})


def _without(rule: FactorRule, dropped: Collection[int]) -> FactorRule:
    """The rule without some factors; a dimension that loses all of its own gets one of size 1."""
    kept = [factor for factor in range(len(rule.factors)) if factor not in dropped]
    number = {factor: i for i, factor in enumerate(kept)}
    factors = [rule.factors[factor] for factor in kept]

    def tensor(dims: Dims) -> Dims:
        made: list[tuple[int, ...]] = []
        for dim in dims:
            left = tuple(number[factor] for factor in dim if factor in number)
            if not left:
                left = (len(factors),)
                factors.append(Factor(1, plain=False))
            made.append(left)
        return tuple(made)

    operands, results = tuple(map(tensor, rule.operands)), tuple(map(tensor, rule.results))
    return replace(rule, factors=tuple(factors), operands=operands, results=results)


_CHANGED: dict[str, Callable[[Op, FactorRule], FactorRule]] = {
    hlo.concatenate.name: _concatenate,
    hlo.convolution.name: _convolution,
    hlo.pad.name: _blocked,
    hlo.reduce_window.name: _blocked,
    hlo.select_and_scatter.name: _blocked,
    hlo.slice_.name: _blocked,
}
