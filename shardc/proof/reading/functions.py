"""Functions of an emitted text that it calls more than once: read once, they stay functions of the program.

x = layer(comm, x, w1)            func.func @layer(%0: tensor<4x8xf32>, %1: tensor<8x8xf32>) …
x = layer(comm, x, w2)     ->     %2 = func.call @layer(%x, %w1)
%3 = func.call @layer(%2, %w2)
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from shardc.ops import func
from shardc.proof.reading.recorded import Recorded, Recorder
from shardc.proof.values import Beyond


def reached(functions: Sequence[ast.FunctionDef], name: str) -> frozenset[str]:
    """The name, and those that its function names, and so on."""
    names: dict[str, set[str]] = defaultdict(set)
    for function in functions:
        names[function.name] |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    found, rest = {name}, [name]
    while rest:
        new = names[rest.pop()] - found
        found |= new
        rest += new
    return frozenset(found)


def called_often(functions: Sequence[ast.stmt]) -> list[str]:
    """The names of functions that stand in more than one call."""
    defined = [each.name for each in functions if isinstance(each, ast.FunctionDef)]
    nodes = (node for function in functions for node in ast.walk(function))
    calls = Counter(n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    return [name for name in dict.fromkeys(defined) if calls[name] > 1]


def read_once(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which runs once for arrays of the same types and ranges and the same other things; with
    keywords it runs each time.
    """
    made: dict[tuple[object, ...], tuple[str, bool]] = {}
    others: list[object] = []  # they live as long, so that no two have one id

    def call(*given: Any, **named: Any) -> Any:
        if named:
            return function(*given, **named)
        arrays = [each for each in given if isinstance(each, Recorded)]
        others.extend(given)
        ranges = recorder.bounds
        key = tuple(
            (each.type, ranges.get(each.value)) if isinstance(each, Recorded) else id(each) for each in given
        )
        if key not in made:
            made[key] = _recorded(recorder, function, given)
        name, single = made[key]
        found = recorder.op(func.call, *arrays, callee=name)
        return found[0] if single else tuple(found)

    return call


def _recorded(recorder: Recorder, function: Callable[..., Any], given: Sequence[Any]) -> tuple[str, bool]:
    """The name of the function in the program, and whether it gives an array, not a tuple of them."""
    functions, single = recorder.builder.graph.functions, False
    types = [each.type for each in given if isinstance(each, Recorded)]

    def body(_: object, *values: int) -> list[int]:
        nonlocal single
        arrays = iter(values)
        taken = [Recorded(recorder, next(arrays)) if isinstance(each, Recorded) else each for each in given]
        for own, each in zip(taken, given, strict=True):
            if isinstance(own, Recorded) and each.value in recorder.bounds:
                recorder.bounds[own.value] = recorder.bounds[each.value]
        result = function(*taken)
        single = isinstance(result, Recorded)
        results = [result] if single else list(result)
        if not all(isinstance(each, Recorded) for each in results):
            raise Beyond("functions that give more than arrays")
        return [each.value for each in results]

    name = f"{function.__name__}.{len(functions)}"
    recorder.builder.function(name, types, body, public=False)
    return name, single
