"""A local function of several lines, where JAX has no function for an operation."""

from __future__ import annotations

from collections.abc import Mapping

from shardc.backend.python.expressions import Expr, call
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several
from shardc.graph import Node


def by_local_function(
    scope: Scope, node: Node, name: str, params: str, text: str, values: Mapping[str, str]
) -> Expr | Several:
    """Writes `def name(params):` with the lines of `text`, filled in from `values`, and calls it."""
    arrays = [scope.variable(value) for value in node.operands]
    function = scope.names.fresh(name)
    scope.names.pin(function)
    with scope.writer.inner_function(f"def {function}({params}):"):
        scope.writer.lines(text.format(**values))
    done = call(function, *arrays)
    return done if len(node.results) == 1 else Several(done)
