"""The dialects that shardc reads and writes, loaded when first used."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Dialect


def _func() -> Dialect:
    from xdsl.dialects.func import Func

    return Func


def _stablehlo() -> Dialect:
    from shardc.dialects.stablehlo.dialect import STABLEHLO

    return STABLEHLO


def _chlo() -> Dialect:
    from shardc.dialects.chlo import CHLO

    return CHLO


def _sdy() -> Dialect:
    from shardc.dialects.sdy import SDY

    return SDY


def _shardc() -> Dialect:
    from shardc.dialects.joins import SHARDC

    return SHARDC


def _spmd() -> Dialect:
    from shardc.dialects.spmd import SPMD

    return SPMD


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "func": _func,
    "stablehlo": _stablehlo,
    "chlo": _chlo,
    "sdy": _sdy,
    "spmd": _spmd,
    "shardc": _shardc,
}
"""Dialect name -> a function that imports it."""


def make_context() -> Context:
    """A context with builtin, func, stablehlo, chlo, sdy, spmd and shardc."""
    context = Context()
    context.load_dialect(Builtin)
    for name, factory in DIALECTS.items():
        context.register_dialect(name, factory)
    return context
