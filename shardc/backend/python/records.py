"""The tuples and records that main takes and gives, as a Python program has them.

class Layer(NamedTuple):            def main(x, layer):
    up: jax.Array                       layer = Layer(*layer)
    down: jax.Array                     …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from keyword import iskeyword

from shardc.backend.python.expressions import Expr, call, name, several, tuple_of
from shardc.backend.python.names import Names, identifier
from shardc.backend.python.writer import Writer
from shardc.graph.trees import Branch, Interface, Tree, branches, leaf_count

IMPORT = "from typing import NamedTuple"


def python_interface(interface: Interface, names: Names) -> Interface:
    """The same with names that Python takes; `names` gives those of parameters and of classes."""
    fresh = (_fresh(names, identifier(name) or f"arg{i}") for i, (name, _) in enumerate(interface.parameters))
    parameters = [*zip(fresh, (tree for _, tree in interface.parameters), strict=True)]
    trees = (*(tree for _, tree in parameters), interface.results)
    classes: dict[tuple[str, tuple[str, ...]], str] = {}
    for branch in (branch for tree in trees for branch in branches(tree)):
        key = branch.record, branch.fields
        if branch.record and key not in classes:
            classes[key] = _fresh(names, identifier(branch.record) or "Record")

    def spelled(tree: Tree) -> Tree:
        if tree is None:
            return None
        items = tuple(map(spelled, tree.items))
        if not tree.record:
            return Branch(items)
        return Branch(items, classes[tree.record, tree.fields], _field_names(tree.fields))

    return Interface(tuple((param, spelled(tree)) for param, tree in parameters), spelled(interface.results))


def _fresh(names: Names, wish: str) -> str:
    chosen = names.fresh(wish)
    names.pin(chosen)
    return chosen


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
    """What stands for its leaves, in order: layers.up, pair[0]."""
    if tree is None:
        return [variable]
    return [one for inner, item in _walk(tree, variable) for one in leaf_places(item, inner)]


def key_of(place: str) -> str:
    """What a leaf is called in tables and files: pair.0 for pair[0]."""
    return place.replace("[", ".").replace("]", "")


def _walk(branch: Branch, variable: str) -> Iterator[tuple[str, Tree]]:
    for number, item in enumerate(branch.items):
        yield f"{variable}.{branch.fields[number]}" if branch.record else f"{variable}[{number}]", item


def built(tree: Tree, leaves: Iterator[Expr]) -> Expr:
    """The expression that makes a tree of these leaves: Layer(up, down)."""
    if tree is None:
        return next(leaves)
    items = [built(item, leaves) for item in tree.items]
    return call(tree.record, *items) if tree.record else tuple_of(items)


def returned(interface: Interface, leaves: Iterator[Expr]) -> Expr:
    """What `return` gives: the results, of these leaves. A record that is an argument's is not made anew."""
    known: dict[tuple[Branch, str], str] = {}
    for param, tree in interface.parameters:
        for place, branch in _inner(tree, param):
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
        expr = call(tree.record, *exprs) if tree.record else tuple_of(exprs)
        return (expr if place is None else name(place)), own

    items = [made(tree)[0] for tree in results(interface)]
    return several(items) if len(items) > 1 or not is_several(interface) else tuple_of(items)


def pattern(tree: Tree, names: Iterator[str]) -> Expr:
    """The targets of an assignment of a tree: loss, (up, down)."""
    return next(map(name, names)) if tree is None else tuple_of([pattern(item, names) for item in tree.items])


def _inner(tree: Tree, place: str) -> Iterator[tuple[str, Branch]]:
    """Where tuples and records are, outer ones first."""
    if tree is not None:
        yield place, tree
        for inner, item in _walk(tree, place):
            yield from _inner(item, inner)


def told(tree: Tree, leaves: Iterator[str]) -> str:
    """For docstrings: f32[], Layer(up: f32[8, 64], down: f32[64, 8]), Layer."""
    _, text = _told(tree, leaves, set())
    return text if tree is None or tree.record else text[1:-1]


def _told(tree: Tree, leaves: Iterator[str], said: set[str]) -> tuple[str, str]:
    """The text in full, and without what was said of a record before."""
    if tree is None:
        text = next(leaves)
        return text, text
    items = [_told(item, leaves, said) for item in tree.items]
    heads = [f"{field}: " for field in tree.fields] or [""] * len(items)
    long, short = (
        f"{tree.record}({', '.join(map(''.join, zip(heads, texts, strict=True)))})"
        for texts in ([full for full, _ in items], [brief for _, brief in items])
    )
    if tree.record and long in said:
        return long, tree.record
    said.add(long)
    return long, short


def specs(
    writer: Writer, interface: Interface, taken: Iterator[Expr], given: Iterator[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """The specs of parameters and of results, of which there is one or more.

    Of a record that occurs again with the same ones they get a variable.
    """
    entering = [built(tree, taken) for tree in interface.arguments.items]
    leaving = [built(tree, given) for tree in results(interface)]
    both = *interface.arguments.items, *results(interface)
    trees = [*zip(both, (*entering, *leaving), strict=True)]
    often = Counter(expr.text for tree, expr in trees if tree is not None and tree.record)
    names, variables = Names(own_names(interface)), dict[str, Expr]()
    for tree, expr in trees:
        if tree is not None and often[expr.text] > 1 and expr.text not in variables:
            variables[expr.text] = name(_fresh(names, f"{tree.record.lower()}_specs"))
            writer.statement(f"{variables[expr.text]} = ", expr)
    return [variables.get(e.text, e) for e in entering], [variables.get(e.text, e) for e in leaving]


def results(interface: Interface) -> tuple[Tree, ...]:
    """The results one by one."""
    given = interface.results
    return (given,) if given is None or given.record else given.items


def is_several(interface: Interface) -> bool:
    """Whether main returns a tuple of results."""
    return interface.results is not None and not interface.results.record


def define_classes(writer: Writer, interface: Interface, array: str) -> None:
    """The classes of the records, whose leaves are of the class `array`."""
    written: set[str] = set()
    for branch in _branches(interface):
        if not branch.record or branch.record in written:
            continue
        written.add(branch.record)
        with writer.indented(f"class {branch.record}(NamedTuple):"):
            for field, item in zip(branch.fields, branch.items, strict=True):
                writer.line(f"{field}: {_annotation(item, array)}")
        writer.blank(2)


def _annotation(tree: Tree, array: str) -> str:
    if tree is None:
        return array
    return tree.record or f"tuple[{', '.join(_annotation(item, array) for item in tree.items) or '()'}]"


def accept(writer: Writer, interface: Interface) -> None:
    """Lines that make records of what main is given: any tuples of their fields."""
    names = Names(own_names(interface))
    for param, tree in interface.parameters:
        if tree is None:
            continue
        inner = [*branches(tree)]
        if all(branch.record for branch in inner):
            for place, branch in _inner(tree, param):
                _replace(writer, param, place, branch.record)
            continue
        parts = [_fresh(names, key_of(place).replace(".", "_")) for place in leaf_places(tree, param)]
        writer.unpack(pattern(tree, iter(parts)), name(param))
        writer.statement(f"{param} = ", built(tree, map(name, parts)))


def finish(
    writer: Writer, interface: Interface, leaves: Sequence[tuple[str, Expr | None]], done: Expr
) -> None:
    """Lines that return the results, which `done` gives. leaves: a name for each tensor, and what becomes of
    it; None where it stays as it is.
    """
    if all(expr is None for _, expr in leaves):
        writer.statement("return ", done)
        return
    rest, targets, exprs = iter(leaves), list[Expr](), list[Expr]()
    for tree in results(interface):
        own = [next(rest) for _ in range(leaf_count(tree))]
        if all(expr is None for _, expr in own):
            tree, own = None, own[:1]
        targets.append(pattern(tree, (variable for variable, _ in own)))
        exprs.append(built(tree, (expr or name(variable) for variable, expr in own)))
    several_ = is_several(interface)
    writer.unpack(tuple_of(targets) if several_ else targets[0], done)
    writer.statement("return ", tuple_of(exprs) if several_ else exprs[0])


def _replace(writer: Writer, param: str, place: str, record: str) -> None:
    """layer = Layer(*layer); or model = model._replace(layer=Layer(*model.layer))"""
    made = f"{record}(*{place})"
    while place != param:
        place, _, field = place.rpartition(".")
        made = f"{place}._replace({field}={made})"
    writer.statement(f"{param} = ", Expr(made, reads=frozenset((param,))))
