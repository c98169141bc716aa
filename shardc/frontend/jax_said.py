"""What JAX's paths leave open of the trees that a function takes and gives, said in the text of the module.

f(pair, layer, *rest)  ->  func.func public @main(... loc("pair[0]"), ... loc("pair[1]"), ... loc("layer.w"),
                                                  ... loc("rest[0]"))
    attributes {shardc.tuples = [["pair", 2]], shardc.classes = [["layer", "Dense"]]}

The path `pair[0]` may be the item of a tuple as well as an argument of `*pair`, and items at the end of a
tuple that have no tensors are in no path. So these are stated with their lengths: arguments that are tuples
or lists, and tuples and lists, wherever they are, that end so. Objects are stated with the names of their
classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

TUPLES = "shardc.tuples"
"""The attribute's name, on the entry of a module: pairs of a path and a length."""

CLASSES = "shardc.classes"
"""Another's: pairs of a path and a name."""


def say_trees(module: Any, traced: Any) -> None:
    """Say it on the entry of a module of jaxlib's, which JAX lowered a jax.stages.Traced to, in place."""
    roots = list(_roots(traced))
    every = [part for tree, path in roots for part in _parts(tree, path)]
    arguments = ((path, len(tree)) for tree, path in roots[:-1] if path.isidentifier() and _is_tuple(tree))
    lengths = dict(arguments) | {path: len(tree) for tree, path in every if _ends_in_nothing(tree)}
    classes = {path: type(tree).__name__ for tree, path in every if _has_attributes(tree)}
    ir: Any = import_module("jaxlib.mlir.ir")
    entry = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    with module.context:
        number = ir.IntegerType.get_signless(64)
        _say(entry, TUPLES, ((path, ir.IntegerAttr.get(number, length)) for path, length in lengths.items()))
        _say(entry, CLASSES, ((path, ir.StringAttr.get(name)) for path, name in classes.items()))


def _say(entry: Any, attribute: str, facts: Iterable[tuple[str, Any]]) -> None:
    """Pairs of a path and a fact, where there are some."""
    ir: Any = import_module("jaxlib.mlir.ir")
    pairs = [ir.ArrayAttr.get([ir.StringAttr.get(path), fact]) for path, fact in facts]
    if pairs:
        entry.attributes[attribute] = ir.ArrayAttr.get(pairs)


def _roots(traced: Any) -> Iterator[tuple[Any, str]]:
    """The arguments that have tensors, each with what its paths begin with, and at last the results."""
    jax: Any = import_module("jax")
    positional, named = traced.args_info
    names = iter(traced.jaxpr.debug_info.arg_names or ())
    for argument in (*positional, *named.values()):
        paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(argument)[0]]
        first, *_ = [next(names, "") for _ in paths] or [""]
        if first:
            yield argument, first.removesuffix(jax.tree_util.keystr(paths[0]))
    yield traced.out_info, "result"


def _parts(tree: Any, path: str) -> Iterator[tuple[Any, str]]:
    """The parts of a tree that have tensors and are none, with their paths; itself one of them."""
    jax: Any = import_module("jax")
    steps = _steps(tree)
    if steps and jax.tree.leaves(tree):
        yield tree, path
        for step, child in steps:
            yield from _parts(child, path + jax.tree_util.keystr(step))


def _steps(tree: Any) -> list[tuple[Any, Any]]:
    """The ways to the parts of a tree, with these; none of a tensor."""
    jax: Any = import_module("jax")

    def is_inside(part: Any) -> bool:
        return part is not tree

    found = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_inside)[0]
    return [] if len(found) == 1 and found[0][1] is tree else found


def _has_attributes(tree: Any) -> bool:
    """Whether JAX's paths name its parts as attributes."""
    jax: Any = import_module("jax")
    return all(isinstance(step[0], jax.tree_util.GetAttrKey) for step, _ in _steps(tree))


def _is_tuple(tree: Any) -> bool:
    """Whether its items have numbers in JAX's paths."""
    named = hasattr(tree, "_fields")
    return isinstance(tree, list | tuple) and not named


def _ends_in_nothing(tree: Any) -> bool:
    """Whether it is a tuple whose last item has no tensors."""
    jax: Any = import_module("jax")
    return _is_tuple(tree) and not jax.tree.leaves(tree[-1])
