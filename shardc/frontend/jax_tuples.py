"""What JAX's paths leave open of the tuples that a function takes and gives, said in the text of the module.

f(pair, *rest)  ->  func.func public @main(... loc("pair[0]"), ... loc("pair[1]"), ... loc("rest[0]"))
                    attributes {shardc.tuples = [["pair", 2]]}

The path `pair[0]` may be the item of a tuple as well as an argument of `*pair`, and items at the end of a
tuple that have no tensors are in no path. So these are stated with their lengths: arguments that are tuples
or lists, and tuples and lists, wherever they are, that end so.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

TUPLES = "shardc.tuples"
"""The attribute's name, on the entry of a module: pairs of a path and a length."""


def say_tuples(module: Any, traced: Any) -> None:
    """Say it on the entry of a module of jaxlib's, which JAX lowered a jax.stages.Traced to, in place."""
    found = dict(_found(traced))
    if not found:
        return
    ir: Any = import_module("jaxlib.mlir.ir")
    entry = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    with module.context:
        number = ir.IntegerType.get_signless(64)
        pairs = [[ir.StringAttr.get(path), ir.IntegerAttr.get(number, found[path])] for path in found]
        entry.attributes[TUPLES] = ir.ArrayAttr.get([ir.ArrayAttr.get(pair) for pair in pairs])


def _found(traced: Any) -> Iterator[tuple[str, int]]:
    """Paths and lengths; a path is said twice where a tuple that is an argument ends so."""
    jax: Any = import_module("jax")
    positional, named = traced.args_info
    names = iter(traced.jaxpr.debug_info.arg_names or ())
    arguments: list[Any] = [*positional, *named.values()]
    for argument in arguments:
        paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(argument)[0]]
        first, *_ = [next(names, "") for _ in paths] or [""]
        if first:
            name = first.removesuffix(jax.tree_util.keystr(paths[0]))
            if name.isidentifier() and _is_tuple(argument):
                yield name, len(argument)
            yield from _open(argument, name)
    yield from _open(traced.out_info, "result")


def _open(tree: Any, path: str) -> Iterator[tuple[str, int]]:
    """The tuples in a tree, itself one of them, whose last item has no tensors."""
    jax: Any = import_module("jax")

    def is_inside(part: Any) -> bool:
        return part is not tree

    children = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_inside)[0]
    if not jax.tree.leaves(tree) or (len(children) == 1 and children[0][1] is tree):
        return
    if _is_tuple(tree) and not jax.tree.leaves(tree[-1]):
        yield path, len(tree)
    for step, child in children:
        yield from _open(child, path + jax.tree_util.keystr(step))


def _is_tuple(tree: Any) -> bool:
    """Whether its items have numbers in JAX's paths."""
    named = hasattr(tree, "_fields")
    return isinstance(tree, list | tuple) and not named
