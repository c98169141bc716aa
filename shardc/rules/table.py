"""The table of factor rules: operation name -> function from the operation to its rule."""

from __future__ import annotations

from collections.abc import Callable

from shardc.graph.program import Op
from shardc.rules import calls, elementwise, indexing, linalg, movement, per_device, reductions, windows
from shardc.rules.rule import FactorRule

RuleFunction = Callable[[Op], FactorRule | None]

RULES: dict[str, RuleFunction] = {
    **calls.RULES,
    **elementwise.RULES,
    **indexing.RULES,
    **linalg.RULES,
    **movement.RULES,
    **per_device.RULES,
    **reductions.RULES,
    **windows.RULES,
}

_known: dict[object, FactorRule | None] = {}


def rule_of(op: Op) -> FactorRule | None:
    """The operation's rule; None if it has none (constants, iota, loops, calls, unknown operations)."""
    function = RULES.get(op.name)
    if function is None:
        return None
    key = op.key()
    if key not in _known:
        _known[key] = function(op)
    return _known[key]


def register_call(target: str, function: RuleFunction) -> None:
    """Give the custom call of `target` its rule. ValueError if it has one already."""
    if target in calls.CALLS:
        raise ValueError(f"custom call {target} has a rule already")
    calls.CALLS[target] = function
    _known.clear()


def register(name: str, function: RuleFunction) -> None:
    """Give the operation `name` of some dialect its rule. ValueError if it has one already."""
    if name in RULES:
        raise ValueError(f"operation {name} has a rule already")
    RULES[name] = function
    _known.clear()
