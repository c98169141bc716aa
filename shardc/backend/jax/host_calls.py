"""Calls of functions on the host, as JAX has them: jax.debug.print("loss {}", loss).

Of whole arrays one device calls, and all get what the function returns. A pure function each device calls for
itself: nothing is sent, and no device waits for one where it raises. In per-device code each device calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from shardc.backend.jax.structs import struct
from shardc.backend.python.carried import below_mark
from shardc.backend.python.expressions import Expr, call, index, list_of, name, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.backend.python.printers import Printed
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several, Term
from shardc.graph import Node
from shardc.ops.host_call import HostCall


def one_device() -> str:
    """The function that calls on whole arrays go through, as text."""
    return below_mark("shardc.backend.jax", "one_device.py")


_FUNCTIONS = {"pure_callback": "jax.pure_callback", "io_callback": "io_callback"}


def host_call(scope: Scope, node: Node) -> Printed:
    """A line of its own, so that calls stay in order."""
    told = HostCall.of(node.attrs)
    operands = [scope.expr(value) for value in node.operands]
    axes = [axis for axis, _ in scope.emission.mesh.axes] if scope.emission.mesh else []
    axes = [axis for axis in axes if axis not in told.manual and told.kind != "pure_callback"]
    structs = [struct(scope, value) for value in node.results]
    results = structs[0] if len(structs) == 1 else list_of(structs) if structs else name("None")
    if axes:
        params = [f"x{i}" if len(operands) > 1 else "x" for i in range(len(operands))]
        inner = _call(told, results, [name(param) for param in params])
        function = raw(f"lambda{' ' * bool(params)}{', '.join(params)}: {inner.text}")
        over = raw(quoted(axes[0])) if len(axes) == 1 else tuple_of([raw(quoted(axis)) for axis in axes])
        done = call("one_device", over, function, results, *operands)
    else:
        done = _call(told, results, operands)
    if not node.results:
        scope.writer.statement("", done)
        scope.done(node.operands)
        return None
    if len(structs) > 1:
        return Several(done)
    return Term(done, scope.type(node.results[0]).shape, own_line=True)


def _call(told: HostCall, results: Expr, operands: Sequence[Expr]) -> Expr:
    if told.kind == "debug.print":
        count = len(operands) - len(told.keywords)
        keywords = dict(zip(told.keywords, operands[count:], strict=True))
        return call("jax.debug.print", raw(quoted(told.format)), *operands[:count], **keywords)
    function = index(name("host_functions"), [quoted(told.name)])
    if told.kind == "debug.callback":
        return call("jax.debug.callback", function, *operands)
    method = None if told.vmap_method is None else raw(quoted(told.vmap_method))
    return call(_FUNCTIONS[told.kind], function, results, *operands, vmap_method=method)
