"""The trees of a module that JAX lowered, from the paths in its text, as the attribute shardc.interface.

(%arg0 … loc("params['b']"), %arg1 … loc("params['w']"), %arg2 … loc("x")) -> (… {jax.result_info = "result"})
->  main(params, x), where params is a dict of two tensors

JAX writes `['w']` for a dict, `[0]` for a tuple or a list, `.w` for an object with attributes, which becomes
a record, called as shardc.classes (jax_said.py) says or else after its place. What is a tuple itself is a
parameter for each item: JAX writes `*args` so; unless shardc.tuples says that it is an argument. Parts of a
tree without tensors are in no path: in a tuple they are empty tuples, at its end where shardc.tuples says so,
elsewhere nothing. A parameter whose paths make no tree stays one per tensor, and so do all where JAX was not
asked for paths, which `lowered.as_text(debug_info=True)` has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardc.dialects.locations import location_of
from shardc.dialects.trees import INTERFACE, attr_of_interface
from shardc.frontend.jax_said import CLASSES, TUPLES
from shardc.graph.trees import Branch, Interface, Tree

_RESULT_INFO = "jax.result_info"
_STEP = re.compile(
    r"""\.(?P<field>[^\W\d]\w*)|\[(?P<key>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]|\[(?P<item>\d{1,6})\]"""
)
_ROOT = re.compile(r"[^\W\d]\w*")
_MOST_EMPTY = 64
"""Items of a tuple before one with tensors that may be without."""

Step = tuple[str, str | int]
"""How a path goes on: field, key or item, and which."""

_Place = tuple["str | Step", ...]
"""A root, and the steps from it."""


def read_trees(module: ModuleOp) -> None:
    """Say on the entry of a module that JAX lowered which trees it takes and gives, in place."""
    for function in module.body.block.ops:
        if isinstance(function, FuncOp) and function.sym_name.data == "main":
            known = _Known(_lengths(function), _classes(function))
            if INTERFACE not in function.attributes and function.body.blocks:
                interface = _interface(function, known)
                if interface is not None and not interface.is_flat:
                    function.attributes[INTERFACE] = attr_of_interface(interface)


def _lengths(function: FuncOp) -> dict[_Place, int]:
    """The lengths of tuples that are said, by where they are."""
    said = _said(function, TUPLES)
    return {place: fact.value.data for place, fact in said if isinstance(fact, IntegerAttr)}


def _classes(function: FuncOp) -> dict[_Place, str]:
    """The classes of objects that are said, by where they are."""
    said = _said(function, CLASSES)
    return {place: fact.data for place, fact in said if isinstance(fact, StringAttr)}


def _said(function: FuncOp, attribute: str) -> Iterator[tuple[_Place, Attribute]]:
    """What is said of places; it is taken away. An attribute of another form says nothing."""
    stated = function.attributes.pop(attribute, None)
    for pair in cast("ArrayAttr[Attribute]", stated).data if isinstance(stated, ArrayAttr) else ():
        match pair:
            case ArrayAttr(data=(StringAttr(data=path), fact)):
                steps = _steps(path, _root(path))
                if steps is not None:
                    yield (_root(path), *steps), fact
            case _:
                pass


def _interface(function: FuncOp, known: _Known) -> Interface | None:
    """None where JAX does not say what the arguments or the results are."""
    given = [_result_info(attr) for attr in function.res_attrs or ()]
    names = [location_of(arg.location).name or "" for arg in function.body.block.args]
    if not given or None in given or not all(names) or len(given) < len(function.function_type.outputs):
        return None
    parameters: list[tuple[str, Tree]] = []
    roots: set[str] = set()
    for root, group in groupby(names, _root):
        own = list(group)
        tree = None if root in roots else _tree([_steps(name, root) for name in own], root, known)
        roots.add(root)
        parameters += [(name, None) for name in own] if tree is None else _taken(root, tree, known)
    results = _tree([_steps(text or "", "result") for text in given], "result", known)
    if results is None and given != ["result"]:
        results = Branch((None,) * len(given))
    return Interface(tuple(parameters), results)


def _taken(root: str, tree: Branch, known: _Known) -> list[tuple[str, Tree]]:
    """The parameters that a tree is: one, or the items of a tuple, which may be `*args`."""
    if not tree.is_tuple or (root,) in known.lengths:
        return [(root, tree)]
    return [(f"{root}.{i}", item) for i, item in enumerate(tree.items) if item != Branch(())]


def _result_info(attr: DictionaryAttr) -> str | None:
    info = attr.data.get(_RESULT_INFO)
    return info.data if isinstance(info, StringAttr) else None


def _root(name: str) -> str:
    found = _ROOT.match(name)
    return found[0] if found else ""


def _steps(path: str, root: str) -> Sequence[Step] | None:
    """What follows the root; None for a text that is no path."""
    position, found = len(root), list[Step]()
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            return None
        kind = str(step.lastgroup)
        text = step[kind]
        found.append((kind, ast.literal_eval(text) if kind != "field" else text))
        position = step.end()
    return found if root and path.startswith(root) else None


_Parts = tuple[tuple[str, ...], tuple[Tree, ...]]


class _Known(Struct):
    """What is said of places, and the records found.

    JAX's paths do not name records; where no class is said, each has the name of where it is first.
    """

    lengths: Mapping[_Place, int]
    classes: Mapping[_Place, str]
    names: dict[tuple[str, _Parts], str] = {}

    def named(self, fields: tuple[str, ...], items: tuple[Tree, ...], name: str, place: _Place) -> str:
        """The name of a record; `name` is that of its place."""
        said = self.classes.get(place, "")
        words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if not word.isdigit()]
        wish = said or "".join(word[:1].upper() + word[1:] for word in words) or "Record"
        known = set(self.names.values())
        number = next(n for n in range(len(known) + 1) if f"{wish}{n or ''}" not in known)
        return self.names.setdefault((said, (fields, items)), f"{wish}{number or ''}")


def _tree(paths: Sequence[Sequence[Step] | None], root: str, known: _Known) -> Tree:
    """The tree of these paths, in their order; None for one tensor, and where they make none."""
    found = [path for path in paths if path is not None]
    try:
        return _grown(found, root, (root,), known) if len(found) == len(paths) else None
    except ValueError:
        return None


def _grown(paths: Sequence[Sequence[Step]], name: str, place: _Place, known: _Known) -> Tree:
    """ValueError where they make none."""
    if len(paths) == 1 and not paths[0]:
        return None
    if not all(paths):
        raise ValueError("a tensor has no items")
    kinds = {path[0][0] for path in paths}
    if len(kinds) > 1:
        raise ValueError("paths of two kinds")
    kind = kinds.pop()
    parts = [(step, [path[1:] for path in group]) for step, group in groupby(paths, lambda path: path[0])]
    keys = [key for (_, key), _ in parts]
    if len(set(keys)) < len(keys) or (
        kind != "field" and keys != sorted(keys, key=str if kind == "key" else int)
    ):
        raise ValueError("items in another order than JAX's")
    names = [f"{name}_{key}" if kind == "item" else str(key) for key in keys]
    items = [
        _grown(inner, own, (*place, step), known) for own, (step, inner) in zip(names, parts, strict=True)
    ]
    if kind == "item":
        numbered = {int(key): item for key, item in zip(keys, items, strict=True)}
        return _tuple(numbered, known.lengths.get(place, 0))
    fields = tuple(map(str, keys))
    record = known.named(fields, tuple(items), name, place) if kind == "field" else ""
    return Branch(tuple(items), record, fields)


def _tuple(items: dict[int, Tree], least: int) -> Branch:
    count = max(*items, least - 1) + 1
    if count - len(items) > _MOST_EMPTY:
        raise ValueError("numbers that are no tuple's")
    return Branch(tuple(items.get(number, Branch(())) for number in range(count)))
