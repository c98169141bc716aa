"""Arrays that a function uses without being given them, where they lie on several devices.

    def layer(x): return x @ w          # w lies split over `model`
    ->  compiled as layer(w, x): the program takes w's blocks, split as they are

JAX makes constants of what a function captures: whole ones, with their numbers in the text.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from shardc.backend.python.names import identifier
from shardc.frontend.jax import staged
from shardc.jaxside.held import lifted
from shardc.jaxside.placement import placed
from shardc.jaxside.untyped import jax, jax_core

Captured = tuple[Any, ...]


def with_captured(
    function: Callable[..., Any], options: Mapping[str, Any], traced: Any, args: Any, kwargs: Any
) -> tuple[Any, Captured]:
    """What JAX traced, with the captured arrays on several devices as its first arguments; these arrays.

    `traced` is the function's with jax.jit's `options` for these arguments.
    """
    closed = lifted(traced.jaxpr)
    consts: Sequence[Any] = closed.consts
    where = [i for i, const in enumerate(consts) if placed(const) is not None]
    if not where:
        return traced, ()
    captured = tuple(consts[i] for i in where)

    def function_of_all(*values: Any, **named: Any) -> Any:
        held = list(consts)
        for i, value in zip(where, values, strict=False):
            held[i] = value
        leaves = jax.tree.leaves((values[len(where) :], named))
        given = [leaf for leaf in leaves if isinstance(leaf, jax.core.Tracer)]
        results = jax_core().jaxpr_as_fun(jax_core().ClosedJaxpr(closed.jaxpr, held))(*given)
        return jax.tree.unflatten(jax.tree.structure(traced.out_info), results)

    function_of_all.__name__ = getattr(function, "__name__", "function")
    signature = inspect.signature(function)
    first = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY)
        for name in _names(function, captured, signature.parameters)
    ]
    setattr(
        function_of_all,
        "__signature__",
        signature.replace(parameters=[*first, *signature.parameters.values()]),
    )
    shifted = _shifted(options, len(where), len(traced.args_info[0]))
    return staged(function_of_all, **shifted).trace(*captured, *args, **kwargs), captured


def _shifted(options: Mapping[str, Any], count: int, positional: int) -> dict[str, Any]:
    """jax.jit's options for a function with `count` more arguments before its `positional` traced ones."""
    found = dict(options)
    ways: Any = found.get("in_shardings")
    if ways is not None:
        each = ways if type(ways) in (tuple, list) else (ways,) * positional
        found["in_shardings"] = (*(None,) * count, *each)
    numbers = found.get("static_argnums")
    if numbers is not None:
        several = (numbers,) if isinstance(numbers, int) else numbers
        found["static_argnums"] = tuple(n + count if n >= 0 else n for n in several)
    return found


def _names(function: Any, captured: Captured, taken: Mapping[str, Any]) -> Iterator[str]:
    """Parameters for the arrays: called as the variables that the function has them in."""
    known, sought = dict[int, str](), {id(array) for array in captured}
    for name, array in _variables(function):
        if id(array) in sought:
            sought.remove(id(array))
            known[id(array)] = name
        if not sought:
            break
    used = set(taken)
    for array in captured:
        wish = name = known.get(id(array), "captured")
        count = 0
        while name in used:
            count += 1
            name = f"{wish}_{count}"
        used.add(name)
        yield name


def _variables(function: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in the variables around a function and around those it calls, with names by their paths."""
    pending, seen = [function], set[int]()
    while pending:
        plain: Any = inspect.unwrap(pending.pop(0))
        if isinstance(plain, functools.partial):
            pending.append(plain.func)
        elif inspect.ismethod(plain):
            pending += [plain.__func__, plain.__self__]
        elif id(plain) in seen or inspect.isclass(plain):
            continue
        elif inspect.isfunction(plain):
            seen.add(id(plain))
            for variable, value in (*inspect.getclosurevars(plain).nonlocals.items(), *_globals(plain)):
                for name, leaf in _leaves(variable, value):
                    yield name, leaf
                    pending += [leaf] if callable(leaf) else []
        else:
            seen.add(id(plain))
            yield from _leaves("", getattr(plain, "__dict__", {}))
            pending += [plain.__call__] if callable(plain) and inspect.ismethod(plain.__call__) else []


def _globals(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The global variables that a function and those defined in it may read."""
    codes, seen = [function.__code__], set[str]()
    for code in codes:
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
        for name in code.co_names:
            if name in function.__globals__ and name not in seen:
                seen.add(name)
                yield name, function.__globals__[name]


def _leaves(variable: str, value: Any) -> Iterator[tuple[str, Any]]:
    for path, leaf in jax.tree_util.tree_leaves_with_path(value):
        name = identifier(variable + jax.tree_util.keystr(path))
        if name is not None:
            yield name, leaf
