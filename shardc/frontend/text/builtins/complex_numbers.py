"""Complex numbers: complex, real, imag, conj, angle."""

from __future__ import annotations

from math import pi

from shardc.frontend.text.builtins.elementwise import float_together
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Number, Operand, Tensor
from shardc.graph.types import is_complex, is_narrow
from shardc.ops import chlo, hlo


def complex_(e: Emitter, x: Operand, y: Operand = 0.0) -> Tensor | complex:
    """x + y * 1j: a number of two numbers, a tensor of anything else."""
    if isinstance(x, Number) and isinstance(y, Number):
        return complex(x, y)
    left, right = float_together(e, x, y)
    if is_complex(left.dtype):
        raise e.error(f"complex takes real parts, not {left.type}", "x + y * 1j adds complex numbers")
    if is_narrow(left.dtype):
        left, right = e.cast(left, "f32"), e.cast(right, "f32")
    return e.op(hlo.complex_.name, left, right)


def real(e: Emitter, x: Operand) -> Tensor:
    """The real part; a real tensor is its own."""
    tensor = e.tensor(x)
    return e.op(hlo.real.name, tensor) if is_complex(tensor.dtype) else tensor


def imag(e: Emitter, x: Operand) -> Tensor:
    """The imaginary part, which is zero for a real tensor."""
    tensor = e.tensor(x)
    return e.op(hlo.imag.name, tensor) if is_complex(tensor.dtype) else e.splat(0, tensor.type, tensor.weak)


def conj(e: Emitter, x: Operand) -> Tensor:
    """x with its imaginary part negated."""
    tensor = e.tensor(x)
    return e.op(chlo.conj.name, tensor) if is_complex(tensor.dtype) else tensor


def angle(e: Emitter, z: Operand, deg: bool = False) -> Tensor:
    """The angle of a complex number with the positive real axis, -pi to pi; in degrees if `deg`."""
    tensor = e.inexact(z)
    result = e.op(hlo.atan2.name, imag(e, tensor), real(e, tensor))
    return e.op(hlo.multiply.name, *e.together(result, 180 / pi)) if deg else result
