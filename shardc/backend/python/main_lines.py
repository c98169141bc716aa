"""Lines of main that take and give tuples, records and dicts: model = Model(*model)."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.backend.python.expressions import Expr, call, dict_of, name, tuple_of
from shardc.backend.python.names import Names, quoted
from shardc.backend.python.records import (
    built,
    is_several,
    key_of,
    leaf_places,
    made_of,
    own_names,
    pattern,
    places,
    results,
)
from shardc.backend.python.writer import Writer
from shardc.graph.trees import Interface, Tree, branches, leaf_count


def accept(writer: Writer, interface: Interface) -> None:
    """Lines that make records of what main is given: any tuples of their fields. Lists become tuples."""
    names = Names(own_names(interface))
    for param, tree in interface.parameters:
        if tree is None:
            continue
        inner = [*branches(tree)]
        if any(branch.is_dict for branch in inner):
            made = _accepted(tree, param)
            if made is not None:
                writer.statement(f"{param} = ", made)
        elif all(branch.record for branch in inner):
            for place, branch in places(tree, param):
                _replace(writer, param, place, branch.record)
        else:
            parts = [names.taken(key_of(place).replace(".", "_")) for place in leaf_places(tree, param)]
            writer.unpack(pattern(tree, iter(parts)), name(param))
            writer.statement(f"{param} = ", built(tree, map(name, parts)))


def _accepted(tree: Tree, place: str) -> Expr | None:
    """What is to stand for a part of an argument; None for itself."""
    if tree is None:
        return None
    keys = [quoted(key) for key in tree.fields] if tree.is_dict else [str(i) for i in range(len(tree.items))]
    inner = [f"{place}[{key}]" for key in keys]
    made = [_accepted(item, own) for item, own in zip(tree.items, inner, strict=True)]
    if tree.is_dict:
        changed = [(key, expr) for key, expr in zip(tree.fields, made, strict=True) if expr is not None]
        whole = len(changed) == len(made)
        return dict_of(*zip(*changed, strict=True), of="" if whole else place) if changed else None
    if not any(made):
        return call(tree.record, f"*{place}") if tree.record else call("tuple", name(place))
    return made_of(tree, [expr or name(own) for expr, own in zip(made, inner, strict=True)])


def finish(
    writer: Writer, interface: Interface, leaves: Sequence[tuple[str, Expr | None]], done: Expr
) -> None:
    """Lines that return the results, which `done` gives. leaves: a name for each tensor, and what becomes of
    it; None where it stays as it is.
    """
    if all(expr is None for _, expr in leaves):
        writer.statement("return ", done)
        return
    rest, targets, exprs, items = iter(leaves), list[Expr](), list[Expr](), dict[str, str]()
    for tree in results(interface):
        own = [next(rest) for _ in range(leaf_count(tree))]
        parts = [(expr or name(variable)) for variable, expr in own]
        if all(expr is None for _, expr in own):
            tree, own, parts = None, own[:1], parts[:1]
        if any(branch.is_dict for branch in branches(tree)):
            whole = f"{own[0][0]}_tree"
            found = leaf_places(tree, whole)
            items |= {v: place for (v, expr), place in zip(own, found, strict=True) if expr is not None}
            parts = [expr or name(place) for (_, expr), place in zip(own, found, strict=True)]
            targets.append(name(whole))
        else:
            targets.append(pattern(tree, (variable for variable, _ in own)))
        exprs.append(built(tree, iter(parts)))
    several_ = is_several(interface)
    writer.unpack(tuple_of(targets) if several_ else targets[0], done)
    for variable, place in items.items():
        writer.statement(f"{variable} = ", name(place))
    writer.statement("return ", tuple_of(exprs) if several_ else exprs[0])


def _replace(writer: Writer, param: str, place: str, record: str) -> None:
    """layer = Layer(*layer); or model = model._replace(layer=Layer(*model.layer))"""
    made = f"{record}(*{place})"
    while place != param:
        place, _, field = place.rpartition(".")
        made = f"{place}._replace({field}={made})"
    writer.statement(f"{param} = ", Expr(made, reads=frozenset((param,))))
