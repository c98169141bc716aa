"""The tuples, records and dicts that main takes and gives, as a Python program has them.

class Layer(NamedTuple):            def main(x, layer):
    up: jax.Array                       layer = Layer(*layer)
    down: jax.Array                     …
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from keyword import iskeyword

from shardc.backend.python.expressions import Expr, call, dict_of, name, several, tuple_of
from shardc.backend.python.names import Names, identifier, quoted
from shardc.backend.python.writer import Writer, paragraphs
from shardc.graph.trees import Branch, Interface, Tree, branches, leaf_count

IMPORT = "from typing import NamedTuple"
_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|\[(\d+)\]')
"""[0], outside of a key's quotes."""


def python_interface(interface: Interface, names: Names) -> Interface:
    """The same with names that Python takes; `names` gives those of parameters and of classes."""
    fresh = (names.taken(identifier(name) or f"arg{i}") for i, (name, _) in enumerate(interface.parameters))
    parameters = [*zip(fresh, (tree for _, tree in interface.parameters), strict=True)]
    trees = (*(tree for _, tree in parameters), interface.results)
    classes: dict[tuple[str, tuple[str, ...]], str] = {}
    for branch in (branch for tree in trees for branch in branches(tree)):
        key = branch.record, branch.fields
        if branch.record and key not in classes:
            classes[key] = names.taken(identifier(branch.record) or "Record")

    def spelled(tree: Tree) -> Tree:
        if tree is None:
            return None
        items = tuple(map(spelled, tree.items))
        if not tree.record:
            return Branch(items, "", tree.fields)
        return Branch(items, classes[tree.record, tree.fields], _field_names(tree.fields))

    said = dict(interface.docs)
    docs = tuple((spelling, said[record]) for (record, _), spelling in classes.items() if record in said)
    taken = tuple((param, spelled(tree)) for param, tree in parameters)
    return Interface(taken, spelled(interface.results), docs)


def _field_names(fields: Sequence[str]) -> tuple[str, ...]:
    """As they are, but for what no field of a NamedTuple is called."""
    found: list[str] = []
    for number, field in enumerate(fields):
        plain = field if field.isascii() and field.isidentifier() else f"field{number}"
        wish = plain.lstrip("_") or f"field{number}"
        wish = f"{wish}_" if iskeyword(wish) else wish
        while wish in found:
            wish += "_"
        found.append(wish)
    return tuple(found)


def parameters(interface: Interface) -> list[str]:
    """What main is called with."""
    return [name for name, _ in interface.parameters]


def takes_dicts(interface: Interface) -> bool:
    """Whether an argument is a dict, or has one in it."""
    return any(branch.is_dict for tree in interface.arguments.items for branch in branches(tree))


def class_names(interface: Interface) -> list[str]:
    """The classes of its records."""
    return list(dict.fromkeys(branch.record for branch in _branches(interface) if branch.record))


def own_names(interface: Interface) -> list[str]:
    """What nothing else in main may be called."""
    return [*parameters(interface), *class_names(interface)]


def kept_names(interface: Interface) -> list[str]:
    """What main's body may not assign to: classes, and the variables that hold records."""
    return [*class_names(interface), *(name for name, tree in interface.parameters if tree is not None)]


def _branches(interface: Interface) -> Iterator[Branch]:
    for tree in (*interface.arguments.items, interface.results):
        yield from branches(tree)


def leaf_places(tree: Tree, variable: str) -> list[str]:
    """What stands for its leaves, in order: layers.up, pair[0], params["w"]."""
    if tree is None:
        return [variable]
    return [one for inner, item in parts(tree, variable) for one in leaf_places(item, inner)]


def key_of(place: str) -> str:
    """What a leaf is called in tables: pair.0 for pair[0]; params["w"] as it is."""
    return _NUMBER.sub(lambda found: f".{found[1]}" if found[1] else found[0], place)


def table_key(place: str) -> str:
    """`key_of` as a string of a program."""
    key = key_of(place)
    return repr(key) if '"' in key else quoted(key)


def parts(branch: Branch, variable: str) -> Iterator[tuple[str, Tree]]:
    """Its items, and what stands for each."""
    for number, item in enumerate(branch.items):
        key = quoted(branch.fields[number]) if branch.is_dict else str(number)
        yield f"{variable}.{branch.fields[number]}" if branch.record else f"{variable}[{key}]", item


def built(tree: Tree, leaves: Iterator[Expr]) -> Expr:
    """The expression that makes a tree of these leaves: Layer(up, down)."""
    return next(leaves) if tree is None else made_of(tree, [built(item, leaves) for item in tree.items])


def made_of(branch: Branch, items: Sequence[Expr]) -> Expr:
    """Layer(up, down), {"up": up}, or (up, down)."""
    if branch.is_dict:
        return dict_of(branch.fields, items)
    return call(branch.record, *items) if branch.record else tuple_of(items)


def returned(interface: Interface, leaves: Iterator[Expr]) -> Expr:
    """What `return` gives: the results, of these leaves. A record that is an argument's is not made anew.

    What has no leaves is: an empty tuple is nobody's.
    """
    known: dict[tuple[Branch, str], str] = {}
    for param, tree in interface.parameters:
        for place, branch in places(tree, param):
            if leaf_count(branch):
                known[branch, built(branch, map(name, leaf_places(branch, place))).text] = place

    def made(tree: Tree) -> tuple[Expr, list[Expr]]:
        """The expression, and its leaves."""
        if tree is None:
            leaf = next(leaves)
            return leaf, [leaf]
        items = [made(item) for item in tree.items]
        own = [leaf for _, inner in items for leaf in inner]
        place = known.get((tree, built(tree, iter(own)).text))
        exprs = [expr for expr, _ in items]
        return (made_of(tree, exprs) if place is None else name(place)), own

    items = [made(tree)[0] for tree in results(interface)]
    return several(items) if len(items) > 1 or not is_several(interface) else tuple_of(items)


def pattern(tree: Tree, names: Iterator[str]) -> Expr:
    """The targets of an assignment of a tree: loss, (up, down)."""
    return next(map(name, names)) if tree is None else tuple_of([pattern(item, names) for item in tree.items])


def places(tree: Tree, place: str) -> Iterator[tuple[str, Branch]]:
    """Where tuples and records are, outer ones first."""
    if tree is not None:
        yield place, tree
        for inner, item in parts(tree, place):
            yield from places(item, inner)


def results(interface: Interface) -> tuple[Tree, ...]:
    """The results one by one."""
    given = interface.results
    return given.items if given is not None and given.is_tuple else (given,)


def is_several(interface: Interface) -> bool:
    """Whether main returns a tuple of results."""
    return interface.results is not None and interface.results.is_tuple


def define_classes(writer: Writer, interface: Interface, array: str) -> None:
    """The classes of the records, whose leaves are of the class `array`."""
    written, docs = set[str](), dict(interface.docs)
    for branch in _branches(interface):
        if not branch.record or branch.record in written:
            continue
        written.add(branch.record)
        with writer.indented(f"class {branch.record}(NamedTuple):"):
            if branch.record in docs:
                writer.docstring(*paragraphs(docs[branch.record]))
                writer.blank()
            for field, item in zip(branch.fields, branch.items, strict=True):
                writer.line(f"{field}: {_annotation(item, array, writer.room(f'{field}: '))}")
        writer.blank(2)


def _annotation(tree: Tree, array: str, room: int) -> str:
    """Its type, with as much of what is inside as fits on the line."""
    texts = [_to(tree, array, depth) for depth in range(_depth(tree), -1, -1)]
    return next((text for text in texts if len(text) <= room), texts[-1])


def _to(tree: Tree, array: str, depth: int) -> str:
    """The type of a tree down to a depth."""
    if tree is None:
        return array
    if tree.record or depth == 0:
        return tree.record or ("dict" if tree.is_dict else "tuple")
    items = [_to(item, array, depth - 1) for item in tree.items]
    if tree.is_dict:
        return f"dict[str, {' | '.join(dict.fromkeys(items))}]"
    return f"tuple[{', '.join(items) or '()'}]"


def _depth(tree: Tree) -> int:
    return 0 if tree is None else 1 + max(map(_depth, tree.items), default=0)
