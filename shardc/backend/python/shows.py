"""print and breakpoint in Python: one device prints its block."""

from __future__ import annotations

from shardc.analysis.shown import heading, position_shown
from shardc.backend.python.expressions import Expr, binary, call, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.backend.python.scope import Scope
from shardc.graph import Node


def devices_of(scope: Scope) -> list[int]:
    """The devices' numbers, by position."""
    mesh = scope.emission.mesh
    return [0] if mesh is None else mesh.mesh.devices.reshape(-1).tolist()


def is_shown_here(scope: Scope, node: Node, axis_index: str) -> Expr | None:
    """The condition under which a device shows its block; None where there is one device."""
    mesh = scope.emission.mesh
    if mesh is None or not mesh.axes:
        return None
    names = [raw(quoted(name)) for name, _ in mesh.axes]
    axes = names[0] if len(names) == 1 else tuple_of(names)
    return binary("==", call(axis_index, axes), raw(str(position_shown(node, devices_of(scope)))))


def print_by_python(scope: Scope, node: Node) -> None:
    """if comm.axis_index("x") == 0: print(…)"""
    emission, (value,) = scope.emission, node.operands
    text = heading(emission.graph, node, devices_of(scope)) + ":"
    separator = quoted("\n") if emission.graph.type(value).rank else None
    shown = call("print", raw(quoted(text)), scope.variable(value), sep=separator)
    condition = is_shown_here(scope, node, "comm.axis_index")
    if condition is None:
        emission.writer.statement("", shown)
    else:
        with emission.writer.indented(f"if {condition}:"):
            emission.writer.statement("", shown)
    scope.done(node.operands)
