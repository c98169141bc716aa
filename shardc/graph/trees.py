"""How a function takes and gives its tensors: which of them are the items of one tuple, record or dict.

f(x, layer), where a Layer has an `up` and a `down`, takes three tensors: x, layer.up, layer.down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Branch(Struct, frozen=True):
    """A tuple; one with `fields` is a record, whose type is called `record`, or without such a name a dict.

    The keys of a dict are in order, as JAX has them.
    """

    items: tuple[Tree, ...]
    record: str = ""
    fields: tuple[str, ...] = ()

    @property
    def is_dict(self) -> bool:
        return bool(self.fields) and not self.record

    @property
    def is_tuple(self) -> bool:
        return not self.fields and not self.record


Tree: TypeAlias = "Branch | None"
"""None is a leaf: one tensor."""

Nested: TypeAlias = "T | tuple[Nested[T], ...] | dict[str, Nested[T]]"


class Interface(Struct, frozen=True):
    """The parameters, with their names, and the results: a tuple where there are several.

    `docs` says what authors say of records, by the names of these.
    """

    parameters: tuple[tuple[str, Tree], ...]
    results: Tree
    docs: tuple[tuple[str, str], ...] = ()

    @property
    def is_flat(self) -> bool:
        """Whether every parameter and every result is a tensor."""
        given = self.results
        several = given is None or (given.is_tuple and not any(given.items))
        return several and not any(self.arguments.items)

    @property
    def arguments(self) -> Branch:
        """The parameters as a tuple."""
        return Branch(tuple(tree for _, tree in self.parameters))


def flat(parameters: Iterable[str], results: int) -> Interface:
    """The interface of a function that takes and gives tensors."""
    given = None if results == 1 else Branch((None,) * results)
    return Interface(tuple((name, None) for name in parameters), given)


def of_processes(interface: Interface | None) -> Interface | None:
    """What programs for processes take and give: tensors (None) if an argument has a part without any.

    Such a program is called with a tree made from the names of its tensors.
    """
    given = interface.arguments.items if interface else ()
    return None if any(not branch.items for tree in given for branch in branches(tree)) else interface


def leaf_count(tree: Tree) -> int:
    """How many tensors it has."""
    return 1 if tree is None else sum(map(leaf_count, tree.items))


def branches(tree: Tree) -> Iterator[Branch]:
    """The tuples, records and dicts in a tree, those inside others first."""
    if tree is not None:
        for item in tree.items:
            yield from branches(item)
        yield tree


def nested(tree: Tree, leaves: Iterator[T]) -> Nested[T]:
    """Tuples and dicts of these leaves; a record is a tuple."""
    if tree is None:
        return next(leaves)
    items = tuple(nested(item, leaves) for item in tree.items)
    return dict(zip(tree.fields, items, strict=True)) if tree.is_dict else items


def arguments_of(interface: Interface | None, tensors: Sequence[T]) -> list[Nested[T]]:
    """What a function of this interface is called with; without one it takes tensors."""
    if interface is None:
        return list(tensors)
    rest = iter(tensors)
    return [nested(tree, rest) for _, tree in interface.parameters]


def flattened(value: Nested[T]) -> Iterator[T]:
    """The leaves of tuples and dicts, in order."""
    if isinstance(value, tuple | dict):
        for item in value if isinstance(value, tuple) else value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from flattened(item)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield value


def paths(tree: Tree, name: str) -> list[str]:
    """The names of its leaves, under which files have them: layer.up, pair.0."""
    if tree is None:
        return [name]
    keys = tree.fields or map(str, range(len(tree.items)))
    return [path for key, item in zip(keys, tree.items, strict=True) for path in paths(item, f"{name}.{key}")]
