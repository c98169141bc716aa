"""Custom calls in NumPy: those of LAPACK, which shardc.semantics knows."""

from __future__ import annotations

from shardc.backend.numpy.target import NUMPY
from shardc.backend.python.custom_calls import is_letter
from shardc.backend.python.expressions import call, raw
from shardc.backend.python.names import quoted
from shardc.backend.python.printers import Printed
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several
from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Node, walk
from shardc.ops import hlo
from shardc.semantics.lapack import is_known, options_of


def refuse_unknown(graph: Graph) -> None:
    """ShardcError for the first custom call of a program that NumPy has nothing for."""
    for function in graph.functions.values():
        for node in walk(function.body):
            if node.name == hlo.custom_call.name and not _is_known(node):
                target = node.attrs["call_target_name"]
                message = f"custom_call @{target} cannot be written as NumPy: what it does is not known"
                raise ShardcError(message, node.loc)


def _is_known(node: Node) -> bool:
    return is_known(str(node.attrs["call_target_name"]), options_of(node.attrs))


@NUMPY.prints(hlo.custom_call)
def custom_call(scope: Scope, node: Node) -> Printed:
    """ops.lapack(target, *operands, options…). Calls that `refuse_unknown` refuses have no options: who asks
    what such a program holds does not run it.
    """
    target = str(node.attrs["call_target_name"])
    told = options_of(node.attrs) if _is_known(node) else {}
    options = {
        key: raw(f'ord("{chr(code)}")' if is_letter(key, code) else str(code)) for key, code in told.items()
    }
    done = call("ops.lapack", raw(quoted(target)), *(scope.expr(value) for value in node.operands), **options)
    if not node.results:
        scope.writer.statement("", done)
        scope.done(node.operands)
        return None
    return Several(done)
