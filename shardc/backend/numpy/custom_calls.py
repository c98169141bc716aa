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
from shardc.graph import Node
from shardc.ops import hlo
from shardc.semantics.lapack import is_known, options_of


@NUMPY.prints(hlo.custom_call)
def custom_call(scope: Scope, node: Node) -> Printed:
    """ops.lapack(target, *operands, options…)."""
    target = str(node.attrs["call_target_name"])
    if not is_known(target, options_of(node.attrs)):
        raise ShardcError(
            f"custom_call @{target} cannot be written as NumPy: what it does is not known", node.loc
        )
    options = {
        key: raw(f'ord("{chr(code)}")' if is_letter(key, code) else str(code))
        for key, code in options_of(node.attrs).items()
    }
    done = call("ops.lapack", raw(quoted(target)), *(scope.expr(value) for value in node.operands), **options)
    return Several(done)
