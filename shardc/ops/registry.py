"""All operations by name, and what other rooms ask of them.

Everything here looks the operation up when it is asked, so that operations which an embedding compiler
registers are treated like our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from shardc.diagnostics import did_you_mean, nearest
from shardc.graph import Op, TensorType
from shardc.ops.definition import Meaning, OpDef, RuleFunction, Trait
from shardc.ops.rule import FactorRule
from shardc.ops.untyped import ShapeError, Types, UntypedOp, types_text

_definitions: dict[str, OpDef] = {}
_rules: dict[object, FactorRule | None] = {}


def define(definition: OpDef) -> OpDef:
    """Add an operation. ValueError if one of its name is there.

    With a `Syntax` it can be read, printed and made per device; with a meaning it can be run and proved.
    """
    if definition.name in _definitions:
        raise ValueError(f"operation {definition.name} is defined already")
    _definitions[definition.name] = definition
    _rules.clear()
    return definition


def find(name: str) -> OpDef | None:
    """The operation of that name, if it is known."""
    return _definitions.get(name)


def definitions() -> Iterator[OpDef]:
    """All operations, by name."""
    return iter(sorted(_definitions.values(), key=lambda definition: definition.name))


def near(name: str) -> str | None:
    """A hint with the operation that a misspelt name, or one of a dialect that is not known, may mean."""
    dialect, _, word = name.partition(".")
    written = {one.name: one.name.partition(".") for one in definitions() if one.syntax is not None}
    same = [own for of, _, own in written.values() if of == dialect]
    if same:
        found = nearest(word, same)
        return None if found is None else f"did you mean {dialect}.{found}?"
    return did_you_mean(name, [full for full, (_, _, own) in written.items() if own == word][-1:] or written)


def has(name: str, *traits: Trait) -> bool:
    """Whether an operation is known and has one of the traits."""
    definition = _definitions.get(name)
    return definition is not None and not definition.traits.isdisjoint(traits)


def is_tensor_op(name: str) -> bool:
    """Whether programs write the operation on tensors: one of StableHLO or CHLO."""
    return name.partition(".")[0] in ("stablehlo", "chlo")


def names(*traits: Trait) -> frozenset[str]:
    """The operations that have one of the traits now."""
    return frozenset(name for name in _definitions if has(name, *traits))


def infer(
    name: str,
    operand_types: Sequence[TensorType],
    attrs: Mapping[str, object],
    *,
    results: Sequence[TensorType] | None = None,
    region_results: Sequence[Sequence[TensorType]] = (),
) -> Types:
    """The result types of operation `name`.

    `results` are the types the program states: used where the operands cannot tell (reshape, convert,
    iota, …), checked everywhere else. `region_results` are, per region, the types it returns.
    Raises ShapeError, with the dimensions and sizes that don't fit.
    """
    definition = _definitions.get(name)
    if definition is None or definition.infer is None:
        raise ShapeError(f"{name} is no known operation")
    given = None if results is None else tuple(results)
    untyped = UntypedOp(name, tuple(operand_types), attrs, given, tuple(map(tuple, region_results)))
    types = definition.infer(untyped)
    if given is not None and given != types:
        raise untyped.error(f"gives {types_text(types)}, not {types_text(given)}")
    return types


def infers(name: str) -> bool:
    """Whether the types of an operation are checked."""
    definition = _definitions.get(name)
    return definition is not None and definition.infer is not None


def verify(op: Op) -> None:
    """Raise ShapeError unless operands, attributes and results fit; regions are not looked at."""
    infer(op.name, op.operands, op.attrs, results=op.results)


def meaning(name: str) -> Meaning | None:
    """What an operation computes; None if an interpreter runs it itself, or nobody can."""
    definition = _definitions.get(name)
    return None if definition is None else definition.meaning


def sent(name: str, operand_bytes: int, positions: int) -> int:
    """Bytes that a device sends in collective `name`, in a group of `positions` devices; 0 if it is none."""
    definition = _definitions.get(name)
    if definition is None or definition.sends is None:
        return 0
    return definition.sends(operand_bytes, positions)


def rule_of(op: Op) -> FactorRule | None:
    """The operation's factor rule; None if it has none (constants, loops, calls, unknown operations)."""
    definition = _definitions.get(op.name)
    return None if definition is None else _made(definition.rule, op)


def spreading_rule_of(op: Op) -> FactorRule | None:
    """The rule by which shardings propagate, which is Shardy's; None if the operation has none."""
    definition = _definitions.get(op.name)
    return None if definition is None else _made(definition.spreads or definition.rule, op)


def _made(function: RuleFunction | None, op: Op) -> FactorRule | None:
    if function is None:
        return None
    key = (function, op.key())
    if key not in _rules:
        _rules[key] = function(op)
    return _rules[key]


def give_rule(name: str, function: RuleFunction) -> None:
    """Give the operation `name` of some dialect its rule. ValueError if it has one already."""
    known = _definitions.get(name)
    if known is not None and known.rule is not None:
        raise ValueError(f"operation {name} has a rule already")
    known = known or OpDef(name=name, doc=f"An operation that was registered: {name}.")
    _definitions[name] = replace(known, rule=function)
    _rules.clear()


def forget_rules() -> None:
    """Make rules anew from now on: what a rule depends on has changed."""
    _rules.clear()
