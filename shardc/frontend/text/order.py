"""The functions of a program in the order they need each other."""

from __future__ import annotations

from collections.abc import Mapping

from shardc.frontend.text import syntax as s
from shardc.frontend.text.depth import children, expressions, statements
from shardc.frontend.text.emitter import Emitter


def ordered(functions: Mapping[str, s.Function], e: Emitter) -> list[s.Function]:
    """All functions, callees before callers. Recursion is an error."""
    done: dict[str, s.Function] = {}
    for root in functions.values():
        path: list[tuple[s.Function, list[s.Name]]] = [(root, _mentions(root, functions))]
        while path:
            function, names = path[-1]
            if function.name in done or not names:
                done[function.name] = function
                path.pop()
                continue
            name = names.pop(0)
            if any(name.id == outer.name for outer, _ in path):
                through = " -> ".join([*(outer.name for outer, _ in path), name.id])
                raise e.error(f"functions cannot be recursive: {through}", pos=name.pos)
            if name.id not in done:
                callee = functions[name.id]
                path.append((callee, _mentions(callee, functions)))
    return list(done.values())


def _mentions(function: s.Function, functions: Mapping[str, s.Function]) -> list[s.Name]:
    """Where a function names functions of the program."""
    found: list[s.Name] = []
    defaults = [parameter.default for parameter in function.parameters if parameter.default is not None]
    rules = [arg for rule in function.rules for arg in rule.args]
    stack: list[s.Expr | s.Slice | s.Statement] = [*defaults, *rules, *reversed(function.body)]
    while stack:
        node = stack.pop()
        if isinstance(node, s.Name) and node.id in functions:
            found.append(node)
        elif isinstance(node, s.Statement):
            stack += [*reversed(statements(node)), *reversed(expressions(node))]
        else:
            stack += reversed(list(children(node)))
    return found
