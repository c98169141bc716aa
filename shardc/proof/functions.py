"""Functions that no algebra is known of: random functions of the residues, the real ones of the shadows.

Of complex numbers each part of the result is a random function of both parts of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.graph.types import is_complex as is_complex_dtype
from shardc.ops import chlo, find, hlo
from shardc.proof import field
from shardc.proof.draws import Draw
from shardc.proof.values import INF, NAN, NEGATIVE_INF, exact, is_complex, make, pair, parts, same, whole
from shardc.semantics.arrays import Array

KNOWN: dict[str, tuple[float, ...]] = {
    hlo.exponential.name: (0.0,),
    hlo.exponential_minus_one.name: (0.0,),
    hlo.log.name: (1.0, 0.0),
    hlo.log_plus_one.name: (0.0,),
    hlo.sqrt.name: (0.0, 1.0),
    hlo.rsqrt.name: (1.0, 0.0),
    hlo.cbrt.name: (0.0, 1.0),
    hlo.sine.name: (0.0,),
    hlo.cosine.name: (0.0,),
    hlo.tan.name: (0.0,),
    hlo.tanh.name: (0.0,),
    chlo.erf.name: (0.0,),
    chlo.square.name: (),
}
"""The arguments beside the infinities at which a function's value is a number that the programs may know."""


def real(op: Op, shadows: Sequence[Array]) -> Array:
    """The operation's meaning in f64, or in complex numbers of two."""
    definition = find(op.name)
    assert definition is not None and definition.meaning is not None
    dtypes = [("c128" if is_complex_dtype(type.dtype) else "f64") for type in op.results]
    wide = tuple(TensorType(type.shape, dtype) for type, dtype in zip(op.results, dtypes, strict=True))
    (result,) = definition.meaning(replace(op, results=wide), [np.asarray(s) for s in shadows])
    return np.asarray(result, wide[0].numpy)


def random_function(draw: Draw, op: Op, arrays: Sequence[Array]) -> list[Array]:
    """An elementwise operation as a random function of its operands' residues."""
    if any(map(is_complex, arrays)):
        return [_complex_function(draw, op, arrays)]
    operands = [exact(array) for array in arrays]
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    residues = [np.broadcast_to(operand["residue"], shape) for operand in operands]
    draw.hashes(op.name, int(np.prod(shape)))
    shadow, other = (real(op, [operand[which] for operand in operands]) for which in ("shadow", "other"))
    result = make(field.hashed(draw.key(op.name, *sorted(op.attrs.items())), residues), shadow, other)
    if len(operands) == 1:
        _known_points(op, operands[0], result)
    if op.results[0].dtype == "bool":
        return [result["residue"] % np.uint64(2) == 1]
    return [result]


def _complex_function(draw: Draw, op: Op, arrays: Sequence[Array]) -> Array:
    operands = np.broadcast_arrays(*arrays)
    residues = [each["residue"] for operand in operands for each in parts(operand)]
    draw.hashes(op.name, operands[0].size)
    shadows = [real(op, [_shadow(operand, which) for operand in operands]) for which in ("shadow", "other")]
    found: list[Array] = []
    for name, of in (("re", np.real), ("im", np.imag)):
        key = draw.key(op.name, name, *sorted(op.attrs.items()))
        found.append(make(field.hashed(key, residues), *map(of, shadows)))
    result = pair(*found)
    for point in KNOWN.get(op.name, ()) if len(operands) == 1 else ():
        places = same(operands[0], whole(np.asarray(complex(point))))
        if places.any():
            result[places] = whole(np.round(real(op, [np.asarray(complex(point))]), 12))
    return result


def _shadow(operand: Array, which: str) -> Array:
    if is_complex(operand):
        return operand["re"][which] + 1j * operand["im"][which]
    return operand[which]


def _known_points(op: Op, operand: Array, result: Array) -> None:
    """Put the real values where the argument is an infinity, NaN, or one of KNOWN."""
    codes = operand["residue"]
    for point in (*KNOWN.get(op.name, ()), np.inf, -np.inf, np.nan):
        places = np.asarray(codes == _code(point))
        if places.any():
            result[places] = _value_at(op, point)


def _code(point: float) -> np.uint64:
    if np.isinf(point):
        return INF if point > 0 else NEGATIVE_INF
    return NAN if np.isnan(point) else np.uint64(point)


def _value_at(op: Op, point: float) -> Array:
    value = real(op, [np.asarray(point)])
    value = np.where(np.abs(value) < 1e300, np.round(value, 12), value)
    return whole(np.asarray(value))
