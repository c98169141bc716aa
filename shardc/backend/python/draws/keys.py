"""Keys in expressions: whose words the cipher was given, and the keys that are made of a key.

threefry2x32(key[0], key[1], 0, n)                  one key
threefry2x32(keys[i, 0], keys[i, 1], 0, n)          one for each place along the first dimensions, of a vmap
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shardc.backend.python.draws import forms
from shardc.backend.python.draws.elements import Affine, Applied, Element
from shardc.backend.python.draws.evaluate import Array, Evaluation, Known
from shardc.backend.python.draws.places import Block, block_of
from shardc.graph import Node, TensorType
from shardc.ops import hlo

Found = tuple[Sequence[int], dict[str, object]]
"""The operands of a node that draws, and its attributes."""


class Key(Struct, frozen=True):
    """A value of a key, or of keys along `batch` dimensions."""

    value: int
    batch: int


def is_key(type: TensorType) -> bool:
    """Whether a value of this type may be a key, or keys."""
    return type.dtype == "u32" and type.shape[-1:] == (2,)


def placed(block: Block, key: Key) -> dict[str, object]:
    """What one key gives, and along how many dimensions there are keys."""
    return {"shape": block.shape, "split": block.split, **_along(key)}


def _along(key: Key) -> dict[str, object]:
    return {"batch": key.batch} if key.batch else {}


class Keys:
    """The keys in the expressions of one program."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation, self.graph = evaluation, evaluation.graph

    def all_words(self, expr: int) -> list[forms.Words]:
        """The words of the cipher in an expression, each pair of a key and a number once."""
        operands = dict.fromkeys(
            form.operands
            for form in self.evaluation.elements.reached(expr)
            if isinstance(form, Applied) and form.name.startswith(forms.CIPHER)
        )
        return [forms.Words((k0, k1), (x0, x1)) for k0, k1, x0, x1 in operands]

    def words(self, expr: int) -> tuple[forms.Words, Key] | None:
        """The words of the cipher in an expression, if they are of one key and one number, and that key."""
        found = self.all_words(expr)
        key = self.key_of(found[0]) if len(found) == 1 else None
        return None if key is None else (found[0], key)

    def key_of(self, words: forms.Words) -> Key | None:
        """The key whose two words these are; of keys, the one at the same place as what is drawn."""
        first, second = (self.evaluation.elements.forms[word] for word in words.key)
        if not isinstance(first, Element) or not is_key(self.graph.type(first.value)):
            return None
        shape = self.graph.type(first.value).shape[:-1]
        at, integer = self.evaluation.at(shape), self.evaluation.elements.integer
        same = (first.index, second) == ((*at, integer(0)), Element(first.value, (*at, integer(1)), "u32"))
        return Key(first.value, len(shape)) if same else None

    def block(self, words: forms.Words, key: Key, shape: Sequence[int]) -> Block | None:
        """Where a block lies whose elements have these numbers, which are below 2^32.

        `shape` is of what is drawn of all keys, the block's is of what one gives.
        """
        if self._rest(words, key, shape) is None:
            return None
        form = self.evaluation.elements.forms[words.number[1]]
        places = self.evaluation.symbols(shape)[key.batch :]
        return block_of(form, places) if isinstance(form, Affine) else None

    def _rest(self, words: forms.Words, key: Key, shape: Sequence[int]) -> Sequence[int] | None:
        """The shape of what one key gives, of the numbers below 2^32; None if keys are of another shape."""
        keys = self.graph.type(key.value).shape[:-1]
        fits = tuple(shape[: key.batch]) == keys and self.evaluation.elements.whole(words.number[0]) == 0
        return shape[key.batch :] if fits else None

    def derived(self, array: Array, shape: tuple[int, ...], node: Node, known: Known) -> Found | None:
        """Keys of a shape: a key split into some, or with a number folded in."""
        elements, at = self.evaluation.elements, self.evaluation.at(shape)
        first, second = (array((*at, elements.integer(i))) for i in (0, 1))
        found = self.words(first)
        if found is None or found[0].each(elements) != (first, second):
            return None
        words, key = found
        rest = self._rest(words, key, shape)
        if rest is None:
            return None
        if not rest:
            return self._folded(words.number[1], key, shape, node, known)
        block = self.block(words, key, shape)
        if block is None:
            return None
        return [key.value], {"kind": "split", **placed(block, key), "dtype": "u32"}

    def _folded(
        self, number: int, key: Key, shape: tuple[int, ...], node: Node, known: Known
    ) -> Found | None:
        """A key with a number folded in: a constant, one of the program, or of several keys one for each."""
        elements = self.evaluation.elements
        folded = {"kind": "fold_in", **_along(key)}
        constant = elements.whole(number)
        if constant is not None:
            return [key.value], {**folded, "data": constant}
        for value in node.operands:
            type = self.graph.type(value)
            if type.shape in ((), shape) and type.dtype in ("i32", "u32"):
                at = self.evaluation.at(type.shape)
                if elements.apply(hlo.convert.name, "u32", known[value](at)) == number:
                    return [key.value, value], {**folded, "each": True} if type.shape else folded
        return None
