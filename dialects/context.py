"""The dialects that shardc reads and writes, loaded when first used.

Classes that follow from definitions are made when an operation of theirs is first met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.utils.exceptions import AlreadyRegisteredConstructException

from shardc.ops import find


def _func() -> Dialect:
    from xdsl.dialects.func import Func

    return Func


def _stablehlo() -> Dialect:
    from shardc.dialects.stablehlo.dialect import STABLEHLO

    return STABLEHLO


def _chlo() -> Dialect:
    from shardc.dialects.chlo_attributes import ATTRIBUTES

    return Dialect("chlo", [], ATTRIBUTES)


def _sdy() -> Dialect:
    from shardc.dialects.sdy import SDY

    return SDY


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "func": _func,
    "stablehlo": _stablehlo,
    "chlo": _chlo,
    "sdy": _sdy,
    "spmd": partial(Dialect, "spmd"),
    "shardc": partial(Dialect, "shardc"),
}
"""Dialect name -> a function that imports it."""


class OpenContext(Context):
    """A context that derives classes of operations, of those in no dialect too, when they are asked for."""

    def load_attr_or_type(self, attr: type[Attribute]) -> None:
        """Load an attribute or a type; AlreadyRegisteredConstructException if one has its name.

        Context asks for subclasses of TypeAttribute, for which Python looks at each of them for every
        attribute, and keeps what it saw; the bases tell the same.
        """
        is_type = TypeAttribute in attr.__mro__
        loaded = cast(dict[str, type[Attribute]], self._loaded_types if is_type else self._loaded_attrs)
        if attr.name in loaded:
            raise AlreadyRegisteredConstructException(f"{attr.name} has already been loaded")
        loaded[attr.name] = attr

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        known = super().get_optional_op(name, dialect_stack=dialect_stack)
        if known is not None:
            return known
        definition = find(name)
        if definition is None or definition.syntax is None:
            return None
        from shardc.dialects.derive import op_class

        self.load_op(op_class(definition))
        return op_class(definition)


def make_context() -> Context:
    """A context with builtin, func, stablehlo, chlo, sdy, spmd, shardc and whatever was registered."""
    context = OpenContext()
    context.load_dialect(Builtin)
    for name, factory in DIALECTS.items():
        context.register_dialect(name, factory)
    return context
