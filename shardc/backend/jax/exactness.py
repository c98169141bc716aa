"""How exact an operation has to be, in JAX's words: the algorithm of a product, the error of a function."""

from __future__ import annotations

import re

from shardc.backend.python.expressions import Expr, call, raw
from shardc.backend.python.printers import Printed, Printer
from shardc.backend.python.scope import Scope
from shardc.diagnostics import ShardcError
from shardc.graph import Node

ACCURACY = "result_accuracy"
"""The attribute that says how exact a function has to be."""

_FIELD = re.compile(r"(\w+) = ([^,]+)")


def algorithm(node: Node) -> str | None:
    """The name of a product's algorithm: BF16_BF16_F32. ShardcError if JAX has none."""
    said = node.attrs.get("algorithm")
    if said is None:
        return None
    fields = dict(_FIELD.findall(str(said)))
    lhs, rhs, sums = (fields[f"{what}_type"] for what in ("lhs_precision", "rhs_precision", "accumulation"))
    parts = int(fields["num_primitive_operations"])
    quick = fields["allow_imprecise_accumulation"] == "true"
    alone = fields["lhs_component_count"] == fields["rhs_component_count"] == "1"
    if lhs.startswith("f8") and rhs.startswith("f8") and sums == "f32" and parts == 1 and alone:
        return "ANY_F8_ANY_F8_F32" + "_FAST_ACCUM" * quick
    name = f"{lhs}_{rhs}_{sums}".upper() + (f"_X{parts}" if parts > 1 else "")
    if name not in _PRESETS or quick or not alone:
        raise ShardcError(f"JAX has no algorithm of products <{said}>", node.loc)
    return name


_PRESETS = {
    *(f"{dtype}_{dtype}_{dtype}".upper() for dtype in ("f16", "bf16", "f32", "f64")),
    *("F16_F16_F32", "BF16_BF16_F32", "TF32_TF32_F32"),
    *("BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "TF32_TF32_F32_X3"),
}


def accurate(function: str, plain: Printer) -> Printer:
    """A function of `lax` where the program says how exact, else as `plain` has it."""

    def printer(scope: Scope, node: Node) -> Printed:
        accuracy = _accuracy(node)
        if accuracy is None:
            return plain(scope, node)
        return call(f"lax.{function}", scope.expr(node.operands[0]), accuracy=accuracy)

    return printer


def _accuracy(node: Node) -> Expr | None:
    """lax.AccuracyMode.HIGHEST, or lax.Tolerance(…); None if nothing is asked for."""
    said = str(node.attrs.get(ACCURACY) or "")
    mode = re.search(r"<\s*(\w+)\s*>", said)
    if mode is None or mode[1] == "DEFAULT":
        return None
    if mode[1] == "HIGHEST":
        return raw("lax.AccuracyMode.HIGHEST")
    fields = {key: value for key, value in _FIELD.findall(said) if key in ("atol", "rtol", "ulps")}
    return call("lax.Tolerance", **{key: str(float(v)) if key != "ulps" else v for key, v in fields.items()})
