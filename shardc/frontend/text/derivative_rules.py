"""What a program says of the derivatives of its functions: @custom_vjp and @remat, by symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from shardc.diagnostics import did_you_mean
from shardc.frontend.text import syntax as s
from shardc.frontend.text.values import Value

if TYPE_CHECKING:
    from shardc.frontend.text.program import ProgramReader
    from shardc.frontend.text.signature import Signature
    from shardc.frontend.text.typed import Typed


class CustomRule(Struct, frozen=True):
    """`forward` takes the function's parameters and gives its result and residuals; `backward` takes the
    residuals and the cotangent of the result, and gives those of the parameters.
    """

    name: str
    parameters: tuple[Typed, ...]
    forward: Callable[..., Value]
    backward: Callable[..., Value]


class DerivativeRules(Struct):
    """By the symbol of the function."""

    customs: dict[str, CustomRule] = {}
    rematerialised: set[str] = set()


def note_rules(program: ProgramReader, function: s.Function, signature: Signature) -> None:
    """Enter what the decorators of a function say."""
    e = program.e
    for rule in function.rules:
        if rule.name == "remat":
            if rule.args or rule.keywords:
                raise e.error("@remat takes nothing", pos=rule.pos)
            e.rules.rematerialised.add(signature.symbol)
            continue
        names = [arg for arg in rule.args if isinstance(arg, s.Name)]
        if len(names) != 2 or len(rule.args) != 2 or rule.keywords:
            hint = "forward(x, …) returns (value, residuals); backward(residuals, cotangent) the cotangents"
            raise e.error("@custom_vjp names two functions: @custom_vjp(forward, backward)", hint, rule.pos)
        forward, backward = (_applied(program, name) for name in names)
        e.rules.customs[signature.symbol] = CustomRule(function.name, signature.parameters, forward, backward)


def _applied(program: ProgramReader, name: s.Name) -> Callable[..., Value]:
    """A call of a function of the program."""
    if name.id not in program.functions:
        hint = did_you_mean(name.id, program.functions)
        raise program.e.error(f"unknown function {name.id}", hint, name.pos)

    def apply(*args: Value) -> Value:
        return program.function_value(program.scope(), name.id, name.pos).apply(*args)

    return apply
