"""unary(…) and binary(…): an elementwise operation in one line.

    cbrt = unary("stablehlo.cbrt", REAL, np.cbrt, increasing, doc="The cube root.", array="cbrt")

classes: the classes of dtype it is defined for. kernel: what it computes, a function of arrays. flow: how
partial results go through it (rules.py). array: the name that jax.numpy and NumPy share, or an operator;
jax, numpy: the full name where they differ; NumPy programs call a kernel of shardc.semantics where no name is
given. language: the built-in of the .shard language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from shardc.graph import Op, TensorType
from shardc.ops.definition import (
    APPROXIMATES,
    COMPUTES,
    FREE,
    Infer,
    Meaning,
    OpDef,
    RuleFunction,
    Spelling,
    Syntax,
    Takes,
    Trait,
    Work,
)
from shardc.ops.elementwise.rules import opaque
from shardc.ops.elementwise.types import same
from shardc.ops.formats import SAME_TYPE
from shardc.ops.registry import define
from shardc.ops.untyped import UntypedOp
from shardc.semantics.arrays import Array, Body

REAL, INEXACT, INTEGER, SIGNED = "f", "fc", "iu", "ifc"
NUMBER, LOGICAL, ANY = "iufc", "biu", "biufc"
"""Classes of dtype, by the letters of elementwise/types.py."""

_DTYPE = {INTEGER: "i32", LOGICAL: "i32", **dict.fromkeys((REAL, INEXACT, SIGNED, NUMBER, ANY), "f32")}
"""What the examples are of."""

Kernel = Callable[..., Array]

_UNARY = Syntax(("operand",), format=f"$operand attr-dict {SAME_TYPE}")
_ACCURATE = Syntax(("operand",), attrs={"result_accuracy": "result_accuracy?"}, format=_UNARY.format)
_BINARY = Syntax(("lhs", "rhs"), format=f"$lhs `,` $rhs attr-dict {SAME_TYPE}")
_CHLO_UNARY = Syntax(("operand",), format="$operand attr-dict `:` type($operand) `->` type($result)")
_CHLO_BINARY = Syntax(
    ("lhs", "rhs"), format="$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"
)


def meaning_of(kernel: Kernel, *keys: str) -> Meaning:
    """A kernel of the operands and the attributes `keys`; its result is cast, not reshaped."""

    def meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
        attrs: dict[str, Any] = {key: op.attrs[key] for key in keys if key in op.attrs}
        return [np.asarray(kernel(*arrays, **attrs), op.results[0].numpy)]

    return meaning


def unary(
    name: str,
    classes: str,
    kernel: Kernel,
    flow: RuleFunction = opaque,
    *,
    doc: str,
    infer: Infer | None = None,
    array: str | None = None,
    jax: str | None = None,
    numpy: str | None = None,
    language: str | None = None,
    takes: Takes = Takes.FLOATS,
    variable: str = "t",
    accuracy: bool = False,
    syntax: Syntax | None = None,
    work: Work | None = None,
    dtype: str | None = None,
) -> OpDef:
    """An operation of one operand; `dtype` is that of its example, f32 or i32 if None. What says how accurate
    its result is is approximated."""
    return _elementwise(
        name,
        kernel,
        flow,
        infer or partial(same, 1, classes),
        doc=doc,
        work=work or (APPROXIMATES if accuracy else COMPUTES),
        syntax=syntax or (_CHLO_UNARY if name.startswith("chlo.") else _ACCURATE if accuracy else _UNARY),
        spelling=_spelling(kernel, array, jax, numpy, language, takes, variable=variable),
        operands=(TensorType((8, 4), dtype or _DTYPE[classes]),),
    )


def binary(
    name: str,
    classes: str,
    kernel: Kernel,
    flow: RuleFunction = opaque,
    *,
    doc: str,
    array: str | None = None,
    jax: str | None = None,
    numpy: str | None = None,
    language: str | None = None,
    takes: Takes = Takes.FLOATS,
    strict: bool = False,
    called: str | None = None,
    work: Work = COMPUTES,
) -> OpDef:
    """An operation of two operands of one type."""
    return _elementwise(
        name,
        kernel,
        flow,
        partial(same, 2, classes),
        doc=doc,
        work=work,
        syntax=_CHLO_BINARY if name.startswith("chlo.") else _BINARY,
        spelling=_spelling(kernel, array, jax, numpy, language, takes, strict, called),
        operands=(TensorType((8, 4), _DTYPE[classes]),) * 2,
    )


def structured(
    name: str,
    kernel: Kernel | None,
    flow: RuleFunction,
    infer: Infer,
    *,
    doc: str,
    keys: Sequence[str] = (),
    syntax: Syntax,
    example: Op,
    meaning: Meaning | None = None,
    work: Work = FREE,
    spelling: Spelling = Spelling(),
    traits: Sequence[Trait] = (Trait.ELEMENTWISE,),
) -> OpDef:
    """An elementwise operation whose operands are of different types, or which has attributes `keys`."""
    return define(
        OpDef(
            name=name,
            doc=doc,
            infer=infer,
            rule=flow,
            meaning=meaning or meaning_of(kernel, *keys) if kernel else meaning,
            work=work,
            traits=frozenset(traits),
            syntax=syntax,
            spelling=spelling,
            example=example,
        )
    )


def _spelling(
    kernel: Kernel,
    array: str | None,
    jax: str | None,
    numpy: str | None,
    language: str | None,
    takes: Takes,
    strict: bool = False,
    called: str | None = None,
    variable: str = "t",
) -> Spelling:
    operator = array is not None and not array.isidentifier()
    both = {xp: array if operator or array is None else f"{xp}.{array}" for xp in ("jnp", "np")}
    numpy = numpy or both["np"] or f"ops.{kernel.__name__}"
    return Spelling(language, takes, numpy, jax or both["jnp"], strict, called, variable)


def _elementwise(
    name: str,
    kernel: Kernel,
    flow: RuleFunction,
    infer: Infer,
    *,
    doc: str,
    work: Work,
    syntax: Syntax,
    spelling: Spelling,
    operands: tuple[TensorType, ...],
) -> OpDef:
    """An operation whose example has these operands."""
    return structured(
        name,
        kernel,
        flow,
        infer,
        doc=doc,
        work=work,
        syntax=syntax,
        spelling=spelling,
        example=Op(name, operands, infer(UntypedOp(name, operands, {})), {}),
    )
