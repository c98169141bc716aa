"""The specs of what main takes and gives: those of a tree that occurs again have a variable.

params_specs = {"up": P(None, "model"), "down": P("model", None), …}
run = jax.shard_map(device_main, …, in_specs=(params_specs, P("data")), out_specs=params_specs)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from shardc.backend.python.expressions import Expr, binary, name, raw, tuple_of
from shardc.backend.python.names import Names, identifier
from shardc.backend.python.records import made_of, own_names, results
from shardc.backend.python.writer import Writer
from shardc.graph.trees import Branch, Interface, Tree, branches

_ALIKE = 3
"""So many equal items of a tuple are written as one, multiplied."""
_SHORT = 60
"""Specs of at most so many characters are written again, but for a record's."""


def specs(
    writer: Writer, interface: Interface, taken: Iterator[Expr], given: Iterator[Expr], prefixes: bool = False
) -> tuple[list[Expr], list[Expr]]:
    """The specs of parameters and of results, of which there is one or more, and lines that make the
    variables in them.

    With `prefixes` one spec may stand for a tree with dicts whose tensors all have it.
    """
    several = _Specs(writer, Names(own_names(interface)), prefixes)
    entering = [several.read(tree, taken) for tree in interface.arguments.items]
    leaving = [several.read(tree, given) for tree in results(interface)]
    for one in (*entering, *leaving):
        several.count(one)
    wished = [param for param, _ in interface.parameters]
    return (
        [several.written(one, wish) for one, wish in zip(entering, wished, strict=True)],
        [several.written(one, "result") for one in leaving],
    )


class _Spec:
    """The specs of one tree, written in full, and those of its parts; none where one stands for all."""

    def __init__(self, tree: Tree, parts: list[_Spec], whole: Expr) -> None:
        self.branch: Branch | None = tree if parts else None
        self.parts, self.whole = parts, whole


class _Specs:
    """All specs. `often`: how many times a text occurs, in which each that occurs again counts once."""

    def __init__(self, writer: Writer, names: Names, prefixes: bool) -> None:
        self.writer, self.names, self.prefixes = writer, names, prefixes
        self.often = Counter[str]()
        self.variables: dict[str, Expr] = {}

    def read(self, tree: Tree, leaves: Iterator[Expr]) -> _Spec:
        if tree is None:
            return _Spec(None, [], next(leaves))
        parts = [self.read(item, leaves) for item in tree.items]
        texts = {part.whole.text for part in parts}
        alike = self.prefixes and len(texts) == 1 and not any(part.parts for part in parts)
        if alike and any(branch.is_dict for branch in branches(tree)):
            return parts[0]
        return _Spec(tree, parts, made_of(tree, [part.whole for part in parts]))

    def count(self, spec: _Spec) -> None:
        self.often[spec.whole.text] += 1
        if self.often[spec.whole.text] == 1:
            for part in spec.parts:
                self.count(part)

    def written(self, spec: _Spec, wish: str) -> Expr:
        """The specs as they are printed where `wish` has them; those that have no variable yet get one."""
        text = spec.whole.text
        if text in self.variables or spec.branch is None:
            return self.variables.get(text, spec.whole)
        keys = spec.branch.fields or (wish.removesuffix("s"),) * len(spec.parts)
        parts = [self.written(part, key) for part, key in zip(spec.parts, keys, strict=True)]
        made = _made(spec.branch, parts)
        if self.often[text] == 1 or (not spec.branch.record and len(text) <= _SHORT):
            return made
        stem = spec.branch.record.lower() or identifier(wish) or "tree"
        self.variables[text] = name(self.names.taken(f"{stem}_specs"))
        self.writer.statement(f"{self.variables[text]} = ", made)
        return self.variables[text]


def _made(branch: Branch, parts: list[Expr]) -> Expr:
    """The display of a tree; (layer_specs,) * 12 for a tuple of equal items."""
    alike = len({part.text for part in parts}) == 1 and len(parts) >= _ALIKE
    if not alike or not branch.is_tuple or not (parts[0].is_variable or parts[0].items):
        return made_of(branch, parts)
    return binary("*", tuple_of(parts[:1]), raw(str(len(parts))))
