"""Factor rules as text, as users put them on custom calls.

([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}, custom
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from shardc.graph import Op
from shardc.ops.rule import Dims, Factor, FactorRule, Kind

_NAME = re.compile(r"z_\d+|[i-z]")
_TENSOR = re.compile(r"\[([^\]]*)\]")
_SET = re.compile(r"(\w+)=\{([^}]*)\}")
_KINDS = {kind.value: kind for kind in Kind}


def parse_rule(text: str) -> FactorRule:
    """The rule that a text in sdy's notation stands for. ValueError if it is none."""
    match = re.match(r"\s*\(([^)]*)\)\s*->\s*\(([^)]*)\)\s*(?:\{([^}]*)\})?(.*)$", text, re.DOTALL)
    if match is None:
        raise ValueError(
            f"{text!r} is no sharding rule; one looks like ([i, k], [k, j])->([i, j]) {{i=8, …}}"
        )
    operands, results, sizes, rest = match.groups()
    size = {_factor(name): int(n) for name, n in re.findall(r"(z_\d+|[i-z])=(\d+)", sizes or "")}
    sets = {key: {_factor(name) for name in _NAME.findall(names)} for key, names in _SET.findall(rest)}
    unknown = sets.keys() - _KINDS.keys() - {"blocked_propagation"}
    if unknown or sorted(size) != list(range(len(size))):
        raise ValueError(f"{text!r} is no sharding rule: {', '.join(unknown) or 'a factor has no size'}")
    kinds = {factor: _KINDS[key] for key, factors in sets.items() if key in _KINDS for factor in factors}
    blocked = sets.get("blocked_propagation", set())
    factors = tuple(Factor(size[i], kinds.get(i, Kind.PASS), i in blocked) for i in range(len(size)))
    return FactorRule(factors, _tensors(operands), _tensors(results))


def check_rule(rule: FactorRule, op: Op) -> None:
    """ValueError if a rule is not about tensors like those of the operation."""
    ranks = [[type.rank for type in types] for types in (op.operands, op.results)]
    own = [[len(dims) for dims in tensors] for tensors in (rule.operands, rule.results)]
    if ranks != own:
        raise ValueError(
            f"the sharding rule {rule} is for operands of rank {own[0]} and results of rank {own[1]}, "
            f"but those of {op.name} have rank {ranks[0]} and {ranks[1]}"
        )
    for dims in rule.tensors:
        factors = [factor for dim in dims for factor in dim]
        if len(set(factors)) < len(factors):
            raise ValueError(f"the sharding rule {rule} uses a factor twice in one tensor")
    used = {factor for dims in rule.tensors for dim in dims for factor in dim}
    if used - set(range(len(rule.factors))):
        raise ValueError(f"the sharding rule {rule} gives no size for some of its factors")
    kept = {factor for dims in rule.results for dim in dims for factor in dim}
    if any(rule.factors[factor].kind is Kind.REDUCTION for factor in kept):
        raise ValueError(f"the sharding rule {rule} has a reduction factor in a result")


def unlike_dimensions(rule: FactorRule, op: Op) -> Iterator[str]:
    """The dimensions of the operation that the rule's factors do not make up."""
    for type, dims in zip((*op.operands, *op.results), rule.tensors, strict=True):
        for number, (size, dim) in enumerate(zip(type.shape, dims, strict=True)):
            made = prod(rule.factors[factor].size for factor in dim)
            if dim and made != size:
                yield f"dimension {number} of {type} has factors of size {made} in the sharding rule {rule}"


def _factor(name: str) -> int:
    return int(name[2:]) + 17 if name.startswith("z_") else ord(name) - ord("i")


def _tensors(text: str) -> tuple[Dims, ...]:
    return tuple(
        tuple(tuple(map(_factor, _NAME.findall(dim))) for dim in tensor.split(",") if dim.strip())
        for tensor in _TENSOR.findall(text)
    )
