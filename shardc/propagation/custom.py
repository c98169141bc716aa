"""Factor rules as text, as users put them on custom calls.

([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}, custom
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from shardc.graph import Op
from shardc.ops.rule import Dims, Factor, FactorRule, Kind, name

_FACTOR = r"(?:z_\d+|[i-z])"
_TENSOR = rf"\[\s*(?:{_FACTOR}+(?:\s*,\s*{_FACTOR}+)*)?\s*\]"
_TENSORS = rf"\s*(?:{_TENSOR}(?:\s*,\s*{_TENSOR})*)?\s*"
_SIZE = rf"({_FACTOR})\s*=\s*(\d+)"
_SET = rf"(\w+)\s*=\s*\{{(\s*(?:{_FACTOR}(?:\s*,\s*{_FACTOR})*\s*)?)\}}"
_NAME = re.compile(_FACTOR)
_RULE = (
    rf"\s*\((?P<operands>{_TENSORS})\)\s*->\s*\((?P<results>{_TENSORS})\)\s*"
    rf"(?:\{{\s*(?P<sizes>{_SIZE}(?:\s*,\s*{_SIZE})*)?\s*\}}\s*)?"
    rf"(?P<sets>(?:{_SET}\s*)*)(?:,\s*custom\s*)?"
)
_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.PASS}
_BLOCKED = "blocked_propagation"


def parse_rule(text: str) -> FactorRule:
    """The rule that a text in sdy's notation stands for. ValueError if it is none."""
    match = re.fullmatch(_RULE, text)
    if match is None:
        raise ValueError(
            f"{text!r} is no sharding rule; one looks like ([i, k], [k, j])->([i, j]) {{i=8, …}}"
        )
    pairs = re.findall(_SIZE, match["sizes"] or "")
    size = {_factor(name): int(number) for name, number in pairs}
    sets = [
        (key, [_factor(name) for name in _NAME.findall(names)])
        for key, names in re.findall(_SET, match["sets"])
    ]
    operands, results = _tensors(match["operands"]), _tensors(match["results"])
    used = {factor for dims in (*operands, *results) for dim in dims for factor in dim}
    wrong = _problem(size, len(pairs), sets, used)
    if wrong:
        raise ValueError(f"{text!r} is no sharding rule: {wrong}")
    kinds = {factor: _KINDS[key] for key, factors in sets if key in _KINDS for factor in factors}
    blocked = {factor for key, factors in sets if key == _BLOCKED for factor in factors}
    made = tuple(Factor(size[i], kinds.get(i, Kind.PASS), i in blocked) for i in range(len(size)))
    return FactorRule(made, operands, results)


def _problem(size: dict[int, int], count: int, sets: Sequence[tuple[str, list[int]]], used: set[int]) -> str:
    """What is wrong with the factors of a rule; nothing if they fit together."""
    keys = [key for key, _ in sets]
    unknown = [key for key in keys if key not in _KINDS and key != _BLOCKED]
    if unknown:
        return unknown[0]
    if len(set(keys)) < len(keys) or len(size) < count:
        return "something stands twice"
    if sorted(size) != list(range(len(size))) or used - size.keys():
        return "a factor has no size"
    if size.keys() - used:
        return f"no dimension has factor {name(min(size.keys() - used))}"
    kinds = [factor for key, factors in sets if key in _KINDS for factor in factors]
    blocked = [factor for key, factors in sets if key == _BLOCKED for factor in factors]
    if any(len(set(listed)) < len(listed) for listed in (kinds, blocked)):
        return "a factor is of one kind, and listed once"
    strange = {*kinds, *blocked} - size.keys()
    return f"no dimension has factor {name(min(strange))}" if strange else ""


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
        tuple(tuple(map(_factor, _NAME.findall(dim))) for dim in tensor[1:-1].split(",") if dim.strip())
        for tensor in re.findall(_TENSOR, text)
    )
