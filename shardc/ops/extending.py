"""What embedding compilers add: operations, and rules of operations and of custom calls.

    register("toy.scale", rule)                # enough to propagate and to insert reshards
    register_call("my_target", rule)           # likewise, of stablehlo.custom_call @my_target
    define(OpDef(name="toy.mix", …))           # all the way to per-device code

What a compilation finds depends on this code from then on, which no key of the user's cache folder knows: the
process keeps nothing there, and takes nothing from it.
"""

from __future__ import annotations

from collections.abc import Callable

from shardc import cache
from shardc.graph import Op
from shardc.ops import registry
from shardc.ops.custom_calls import TARGETS
from shardc.ops.definition import OpDef, RuleFunction
from shardc.ops.rule import FactorRule


def define(definition: OpDef) -> OpDef:
    """Add an operation. ValueError if one of its name is there.

    With a `Syntax` it can be read, printed and made per device; with a meaning it can be run and proved.
    """
    cache.keep_nothing()
    return registry.define(definition)


def register(name: str, function: RuleFunction) -> None:
    """Give the operation `name` of some dialect its rule. ValueError if it has one already.

    That is enough to propagate and to insert reshards; `define` adds one that is compiled as ours are.
    """
    cache.keep_nothing()
    registry.give_rule(name, function)


def register_call(target: str, function: Callable[[Op], FactorRule | None]) -> None:
    """Give the custom call of `target` its rule. ValueError if it has one already."""
    if target in TARGETS:
        raise ValueError(f"custom call {target} has a rule already")
    cache.keep_nothing()
    TARGETS[target] = function
    registry.forget_rules()
