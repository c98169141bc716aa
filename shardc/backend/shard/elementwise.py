"""Elementwise operations that the .shard language writes for some dtypes or attributes only."""

from __future__ import annotations

from shardc.backend.python import idiom
from shardc.backend.python.elementwise import COMPARISONS
from shardc.backend.python.expressions import binary, call
from shardc.backend.python.printers import Printed
from shardc.backend.python.scope import Scope
from shardc.backend.shard.raw import operation
from shardc.backend.shard.spelling import function, is_signed, operands, operator
from shardc.backend.shard.target import SHARD
from shardc.graph import Node, is_complex, is_inexact
from shardc.ops import hlo


@SHARD.prints(hlo.compare)
def compare(scope: Scope, node: Node) -> Printed:
    if node.attrs.get("compare_type") == "TOTALORDER":
        return operation(scope, node)
    return binary(COMPARISONS[str(node.attrs["comparison_direction"])], *operands(scope, node))


@SHARD.prints(hlo.convert)
def convert(scope: Scope, node: Node) -> Printed:
    """astype(x, bf16); to bool the language compares with 0, which a conversion does not."""
    target = scope.type(node.results[0]).dtype
    if target == "bool":
        return operation(scope, node)
    return call("astype", scope.expr(node.operands[0]), target)


@SHARD.prints(hlo.select)
def select(scope: Scope, node: Node) -> Printed:
    exprs = operands(scope, node, first=1)
    if scope.term(node.operands[0]).weak:
        exprs[0] = scope.expr(node.operands[0])
    return call("where", *exprs)


SHARD.prints(hlo.abs_)(function("abs", lambda dtype: is_signed(dtype) or is_complex(dtype)))
SHARD.prints(hlo.is_finite)(function("isfinite"))
SHARD.prints(hlo.logistic)(function("sigmoid"))
SHARD.prints(hlo.divide)(operator("/", is_inexact))
SHARD.prints(hlo.power)(operator("**", is_inexact))
SHARD.prints(idiom.remainder)(operator("%", is_signed))
SHARD.prints(idiom.floored)(operator("//", is_signed))
