"""The exact meaning of every operation: a few are written down, the rest follows from the definition.

    @exact(hlo.add)
    def add(draw, op, arrays, *bodies): ...

An operation on integers and truth values means what it means in NumPy. One that only moves elements does so
to exact arrays by the same function. An elementwise function of floats that is not written down is a random
function (functions.py). So it is with complex numbers, whose meanings are written down besides. What is left
is beyond the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from shardc.graph import Op
from shardc.ops import OpDef, Trait, find, has
from shardc.ops.definition import Meaning
from shardc.proof.draws import Draw
from shardc.proof.values import COMPLEX, EXACT, Beyond, is_exact, stands_for
from shardc.semantics.arrays import Array, Body


class ExactMeaning(Protocol):
    """What an operation computes of exact arrays, in one draw of the random functions."""

    def __call__(self, draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]: ...


_EXACT: dict[str, ExactMeaning] = {}
_COMPLEX: dict[str, ExactMeaning] = {}


def exact(*definitions: OpDef) -> Callable[[ExactMeaning], ExactMeaning]:
    """Decorates the exact meaning of some operations where one of their operands or results is of floats."""

    def register(meaning: ExactMeaning) -> ExactMeaning:
        _EXACT.update((definition.name, meaning) for definition in definitions)
        return meaning

    return register


def exact_complex(*definitions: OpDef) -> Callable[[ExactMeaning], ExactMeaning]:
    """Decorates the exact meaning of some operations where an operand or a result is of complex numbers."""

    def register(meaning: ExactMeaning) -> ExactMeaning:
        _COMPLEX.update((definition.name, meaning) for definition in definitions)
        return meaning

    return register


def meanings(draw: Draw) -> Callable[[str], Meaning | None]:
    """All operations' meanings in one draw, by name."""
    return lambda name: None if _plain(name) is None else partial(_meaning, draw)


def _plain(name: str) -> Meaning | None:
    definition = find(name)
    return None if definition is None else definition.meaning


def _meaning(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    dtypes = [stands_for(type.dtype) for type in op.results]
    found = _found(draw, op, arrays, dtypes, *bodies)
    if draw.moved is None:
        return found
    return [draw.moved(array) if is_exact(array) else array for array in found]


def _found(
    draw: Draw, op: Op, arrays: Sequence[Array], dtypes: Sequence[np.dtype[Any]], *bodies: Body
) -> list[Array]:
    plain = _plain(op.name)
    assert plain is not None
    all_dtypes = {*(array.dtype for array in arrays), *dtypes}
    if EXACT not in all_dtypes and COMPLEX not in all_dtypes:
        return plain(op, arrays, *bodies)
    table = _COMPLEX if COMPLEX in all_dtypes else _EXACT
    if op.name in table:
        return table[op.name](draw, op, arrays, *bodies)
    if not op.results or has(op.name, Trait.MOVES, Trait.IDENTITY):
        return plain(op, arrays, *bodies)
    if has(op.name, Trait.ELEMENTWISE):
        from shardc.proof.functions import random_function

        return random_function(draw, op, arrays)
    raise Beyond(f"what {op.name} makes of {'complex numbers' if table is _COMPLEX else 'floats'}")
