"""The tuples, records and dicts that a function takes and gives, as an attribute of it.

shardc.interface = {names = ["x", "layer"],
                    takes = [unit, {fields = ["up", "down"], items = [unit, unit], record = "Layer"}],
                    gives = unit, docs = {Layer = "A layer."}}

A dict is a record without a name.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute

from shardc.graph.trees import Branch, Interface, Tree, leaf_count

INTERFACE = "shardc.interface"
"""The attribute's name."""


def attr_of_interface(interface: Interface) -> DictionaryAttr:
    """The attribute that says it."""
    docs = {name: StringAttr(doc) for name, doc in interface.docs}
    return DictionaryAttr(
        {
            **({"docs": DictionaryAttr(docs)} if docs else {}),
            "gives": _attr(interface.results),
            "names": _texts(name for name, _ in interface.parameters),
            "takes": ArrayAttr([_attr(tree) for _, tree in interface.parameters]),
        }
    )


def interface_of(attr: Attribute | None, arguments: int, results: int) -> Interface | None:
    """What the attribute of a function of so many tensors says.

    None where there is none, and where a pass changed the function so that it no longer fits.
    """
    match attr:
        case DictionaryAttr(
            data={"gives": gives, "names": ArrayAttr() as names, "takes": ArrayAttr() as takes, **rest}
        ):
            docs = _docs(rest.get("docs"))
        case _:
            return None
    if len(names.data) != len(takes.data):
        return None
    try:
        trees = [_tree(one) for one in takes.data]
        found = Interface(tuple(zip(_words(names), trees, strict=True)), _tree(gives), docs)
    except ValueError:
        return None
    fits = leaf_count(found.arguments) == arguments and leaf_count(found.results) == results
    return found if fits else None


def _docs(attr: Attribute | None) -> tuple[tuple[str, str], ...]:
    if not isinstance(attr, DictionaryAttr):
        return ()
    return tuple((name, doc.data) for name, doc in attr.data.items() if isinstance(doc, StringAttr))


def _attr(tree: Tree) -> Attribute:
    if tree is None:
        return UnitAttr()
    items = ArrayAttr([_attr(item) for item in tree.items])
    if tree.is_tuple:
        return items
    named = {"record": StringAttr(tree.record)} if tree.record else {}
    return DictionaryAttr({"fields": _texts(tree.fields), "items": items, **named})


def _tree(attr: Attribute) -> Tree:
    """ValueError if it is none."""
    match attr:
        case UnitAttr():
            return None
        case ArrayAttr():
            return Branch(tuple(map(_tree, attr.data)))
        case DictionaryAttr(
            data={
                "fields": ArrayAttr() as fields,
                "items": ArrayAttr() as items,
                **rest,
            }
        ):
            words, name = _words(fields), rest.get("record")
            record = name.data if isinstance(name, StringAttr) else ""
            sort = record if name is not None else words
            if sort and len(words) == len(set(words)) == len(items.data):
                return Branch(tuple(map(_tree, items.data)), record, words)
        case _:
            pass
    raise ValueError(f"{attr} is no tree")


def _texts(words: Iterable[str]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(word) for word in words])


def _words(attr: ArrayAttr[Attribute]) -> tuple[str, ...]:
    words = tuple(word.data for word in attr.data if isinstance(word, StringAttr))
    if len(words) < len(attr.data):
        raise ValueError("a name is a text")
    return words
