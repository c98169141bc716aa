"""The dialects that shardc reads and writes, loaded when first used."""

from __future__ import annotations

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


def _spmd() -> Dialect:
    from shardc.dialects.spmd import SPMD

    return SPMD


def make_context() -> Context:
    """A context with builtin, func, stablehlo, chlo, sdy and spmd."""
    context = Context()
    context.load_dialect(Builtin)
    context.register_dialect("func", _func)
    context.register_dialect("stablehlo", _stablehlo)
    context.register_dialect("chlo", _chlo)
    context.register_dialect("sdy", _sdy)
    context.register_dialect("spmd", _spmd)
    return context
