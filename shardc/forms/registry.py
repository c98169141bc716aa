"""How local forms are attached to operations.

    @form(hlo.gather, "masked", splits=found_factors)
    def gather(site: Site) -> list[Any]: ...

    @plain_form(hlo.iota)
    def iota(site: Site) -> list[Any]: ...

Every operation has the plain form, the operation itself on blocks; `plain_form` replaces it where blocks
need more. `form` adds a further way to run an operation, which may split factors that the plain form may not.
Forms are tried in the order in which they are attached.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from msgspec import Struct

from shardc.forms.factors import NO_FACTORS, FactorSet
from shardc.forms.site import Site
from shardc.graph import Op
from shardc.ops import OpDef
from shardc.ops.rule import FactorRule

Build = Callable[[Site], list[Any]]
"""Builds an operation on blocks: the local results."""

Splits = Callable[[Op, FactorRule], FactorSet]
"""The factors that a form may split and the plain form may not."""


class After(Enum):
    """What results are over the axes of a factor that only this form may split."""

    SPLIT = "split"  # the dimension is split as in the operands
    PARTIAL = "partial"  # a partial sum
    WHOLE = "whole"  # the form ends the split itself


def no_factors(op: Op, rule: FactorRule) -> FactorSet:
    """None."""
    return NO_FACTORS


class Form(Struct, frozen=True):
    """A way to run an operation: its builder, the factors only it may split, what that makes of results."""

    name: str
    build: Build
    splits: Splits = no_factors
    after: After = After.SPLIT


PLAIN: dict[str, Build] = {}
FORMS: dict[str, tuple[Form, ...]] = {}


def plain_form(*definitions: OpDef) -> Callable[[Build], Build]:
    """Attach the function as the plain form of the operations."""

    def attach(build: Build) -> Build:
        PLAIN.update(dict.fromkeys((definition.name for definition in definitions), build))
        return build

    return attach


def form(
    definition: OpDef, name: str, splits: Splits, after: After = After.SPLIT
) -> Callable[[Build], Build]:
    """Attach the function as a further form of an operation, called `name` in `shardc.form`."""

    def attach(build: Build) -> Build:
        FORMS[definition.name] = (*FORMS.get(definition.name, ()), Form(name, build, splits, after))
        return build

    return attach
