"""sdy-remove-all-gather-reduce-scatter-for-cmv1: leave the collectives around products to whoever fuses them.

    %0 = sdy.all_gather [{"x"}, {}] %arg0 out_sharding=<@m, [{}, {}]>
    %1 = stablehlo.dot_general %0, %arg1 {… [{}, {"x"}]}
->  %1 = stablehlo.dot_general %arg0, %arg1 {… [{}, {"x"}]}

What is left says less than it must: `sdy-convert-global-to-local` refuses it, as its operands do not fit.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult
from xdsl.rewriter import Rewriter

from shardc.dialects.makers import made_by
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.shardings import SHARDING
from shardc.ops import hlo, sdy
from shardc.passes.shardy.values import ref_of_value

PRODUCTS = (hlo.dot.name, hlo.dot_general.name)


def leave_to_products(module: ModuleOp) -> None:
    """Take away an all_gather whose one use is a product, and a reduce_scatter of a whole product."""
    for op in list(module.walk()):
        if op.name == sdy.all_gather.name:
            users = [use.operation for use in op.results[0].uses]
            if len(users) == 1 and users[0].name in PRODUCTS:
                Rewriter.replace_op(op, [], [op.operands[0]])
        elif op.name == sdy.reduce_scatter.name and made_by(op.operands[0], *PRODUCTS):
            _let_scatter(op)


def _let_scatter(op: Operation) -> None:
    """Give a product the sharding that a reduce_scatter gives it, unless it is said to be partial."""
    made, product = op.properties["out_sharding"], op.operands[0]
    assert isinstance(made, ShardingAttr) and isinstance(product, OpResult)
    held = ref_of_value(product)
    if held is None or not held.unreduced:
        product.op.attributes[SHARDING] = ShardingPerValueAttr((made.data,))
        Rewriter.replace_op(op, [], [product])
