"""Which factors of an operation a local form may split: `(op, rule) -> factor numbers`."""

from __future__ import annotations

from shardc.graph import Op
from shardc.ops.rule import FactorRule, Kind

FactorSet = frozenset[int]
NO_FACTORS: FactorSet = frozenset()


def of_kind(rule: FactorRule, *kinds: Kind) -> FactorSet:
    """The factors of some kinds."""
    return frozenset(i for i, factor in enumerate(rule.factors) if factor.kind in kinds)


def reduced(op: Op, rule: FactorRule) -> FactorSet:
    """Reduced factors, where no collective does the reduction."""
    return of_kind(rule, Kind.REDUCTION) if rule.reduction is None else NO_FACTORS


def extremes(op: Op, rule: FactorRule) -> FactorSet:
    """The reduced factors of argmax and argmin."""
    return reduced(op, rule) if op.combiner in ("argmax", "argmin") else NO_FACTORS


def products(op: Op, rule: FactorRule) -> FactorSet:
    """The reduced factors of what multiplies."""
    return reduced(op, rule) if op.combiner == "prod" else NO_FACTORS


def last(op: Op, rule: FactorRule) -> FactorSet:
    """The last dimension of the first operand."""
    return frozenset(rule.operands[0][-1])


def sliced(op: Op, rule: FactorRule) -> FactorSet:
    """The dimensions of which the result has only a part."""
    sizes, shape = op.results[0].shape, op.operands[0].shape
    return frozenset(
        f for d, (s, n) in enumerate(zip(sizes, shape, strict=True)) if s < n for f in rule.operands[0][d]
    )


def permuted(op: Op, rule: FactorRule) -> FactorSet:
    """Dimensions whose elements move from block to block."""
    return frozenset(i for i, f in enumerate(rule.factors) if f.kind is not Kind.REDUCTION and not f.is_plain)


def looked_up(op: Op, rule: FactorRule) -> FactorSet:
    """Dimensions of the first operand in which an index says what is read."""
    return _indexed(rule) & of_kind(rule, Kind.REDUCTION)


def written(op: Op, rule: FactorRule) -> FactorSet:
    """Dimensions of the first operand in which an index says what is written."""
    return _indexed(rule) & of_kind(rule, Kind.PASS)


def _indexed(rule: FactorRule) -> FactorSet:
    return frozenset(f for dim in rule.operands[0] for f in dim if not rule.factors[f].is_plain)
