"""What a program says of the derivatives of its functions: @custom_vjp and @remat, by symbol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shardc.frontend.text.values import Value

if TYPE_CHECKING:
    from shardc.frontend.text.typed import Typed


@dataclass(frozen=True, slots=True)
class CustomRule:
    """`forward` takes the function's parameters and gives its result and residuals; `backward` takes the
    residuals and the cotangent of the result, and gives those of the parameters.
    """

    name: str
    parameters: tuple[Typed, ...]
    forward: Callable[..., Value]
    backward: Callable[..., Value]


@dataclass(slots=True)
class DerivativeRules:
    """By the symbol of the function."""

    customs: dict[str, CustomRule] = field(default_factory=dict[str, CustomRule])
    rematerialised: set[str] = field(default_factory=set[str])
