"""Calls whose functions draw random numbers as jax.random does, as one node each.

    call @_normal(%key), which is threefry2x32 of the key and the places of a block, a mantissa, erf_inv
    ->  idiom.drawn(%key) {kind = "normal", shape = (8, 16), split = (("data",), ())}

What the function computes is compared with what jax.random computes (forms.py), element by element; its name
says nothing. A device's block is found too: the number of an element in the whole array says where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import cast

from shardc.analysis.emitted_mesh import EmittedMesh
from shardc.analysis.per_device import PerDeviceProgram
from shardc.analysis.usage import usage
from shardc.backend.python import idiom
from shardc.backend.python.draws import forms, is_split
from shardc.backend.python.draws.elements import Affine, Applied, Element
from shardc.backend.python.draws.evaluate import Array, Evaluation, Known, Unknown
from shardc.backend.python.draws.kinds import Bound, kinds
from shardc.backend.python.draws.places import Block, block_of
from shardc.backend.python.draws.shuffles import shuffled
from shardc.graph import Graph, Node, Region, TensorType, is_float
from shardc.ops import Trait, func, has, hlo

_KEY = TensorType((2,), "u32")


def rewritten(program: PerDeviceProgram, is_own: Callable[[Node], bool]) -> PerDeviceProgram:
    """The program with what is recognised as one node each: with_draws, for programs with functions."""
    rewriting = _Rewriting(program.graph, program.mesh, is_own)
    if not any(rewriting.is_cipher(name) for name in program.graph.functions):
        return program
    body = _alive(rewriting.region(program.body, {}))
    functions = {
        name: replace(function, body=_alive(rewriting.region(function.body, {})))
        for name, function in program.graph.functions.items()
        if function is not program.function
    }
    functions[program.function.name] = program.function
    graph = Graph(program.graph.meshes, functions, program.graph.values)
    return replace(program, graph=graph, body=body)


def _alive(region: Region) -> Region:
    """A region without what is used by nobody any more."""
    return _without(region, usage(region).live)


def _without(region: Region, live: Container[int]) -> Region:
    nodes = [
        replace(node, regions=tuple(_without(inner, live) for inner in node.regions))
        if node.regions
        else node
        for node in region.nodes
        if id(node) in live
    ]
    return Region(region.args, nodes)


_Found = tuple[Sequence[int], dict[str, object]]
"""The operands of a node, and its attributes."""


@dataclass
class _Scope:
    """What is known of a region's values: their elements, and how many operations made them.

    drawn: values that follow from the cipher in a few steps. Others than integers and constants are not
    looked into, and no key is.
    """

    known: Known
    level: dict[int, int] = field(default_factory=dict[int, int])
    drawn: set[int] = field(default_factory=set[int])


class _Rewriting:
    def __init__(self, graph: Graph, mesh: EmittedMesh | None, is_own: Callable[[Node], bool]) -> None:
        self.graph, self.is_own = graph, is_own
        self.evaluation = Evaluation(graph, mesh, self._called)
        self.ciphers: dict[str, bool] = {}
        self.shuffles: dict[str, int | None] = {}

    def is_cipher(self, name: str) -> bool:
        if name not in self.ciphers:
            self.ciphers[name] = False  # while it is looked at: a function is not in itself
            self.ciphers[name] = forms.is_cipher(self.evaluation, name)
        return self.ciphers[name]

    def _shuffled(self, node: Node) -> _Found | None:
        """An array in a random order."""
        if node.name != func.call.name:
            return None
        name = str(node.attrs["callee"])
        if name not in self.shuffles:
            self.shuffles[name] = shuffled(self.evaluation, name)
        dim, type = self.shuffles[name], self.graph.type(node.results[0])
        if dim is None:
            return None
        placed = {"kind": "permutation", "shape": type.shape, "split": ((),) * type.rank, "dtype": type.dtype}
        return node.operands, {**placed, "dimension": dim}

    def _called(self, evaluation: Evaluation, name: str, args: Sequence[Array]) -> Sequence[Array] | None:
        return forms.enciphered(evaluation.elements, args) if self.is_cipher(name) else None

    def region(self, region: Region, around: Known) -> Region:
        scope = _Scope(dict(around))
        scope.known.update((value, self.evaluation.opaque(value)) for value in region.args)
        return Region(region.args, [self._node(node, scope) for node in region.nodes])

    def _node(self, node: Node, scope: _Scope) -> Node:
        opaque = {value: self.evaluation.opaque(value) for value in node.results}
        if node.regions:
            scope.known.update(opaque)
            if not has(node.name, Trait.REGION):
                return node
            return replace(node, regions=tuple(self.region(inner, scope.known) for inner in node.regions))
        is_call = node.name == func.call.name
        if is_call and self.is_cipher(str(node.attrs["callee"])):
            args = [scope.known[value] for value in node.operands]
            made = forms.enciphered(self.evaluation.elements, args)
            scope.known.update(zip(node.results, made, strict=True))
            scope.drawn.update(node.results)
            return Node(node.id, idiom.cipher.name, node.operands, node.results, {}, (), node.loc)
        if len(node.results) != 1:
            scope.known.update(opaque)
            return node
        (result,) = node.results
        drawn = scope.drawn.intersection(node.operands)
        found = self._found(node, scope) if is_call or (drawn and node.name in _LAST) else None
        level = max((scope.level.get(value, 0) for value in node.operands), default=0) + 1
        if is_call or level > _MOST_STEPS or self._is_beyond(node, bool(drawn)):
            scope.known.update(opaque)
        else:
            scope.known[result] = self.evaluation.or_opaque(node, scope.known)
            scope.level[result] = level
            scope.drawn.update(node.results if drawn else ())
        return node if found is None else found

    def _is_beyond(self, node: Node, drawn: bool) -> bool:
        """Whether what a value is made of does not matter."""
        type = self.graph.type(node.results[0])
        return type == _KEY or not (drawn or not is_float(type.dtype) or node.name in _CONSTANTS)

    def _found(self, node: Node, scope: _Scope) -> Node | None:
        """The node that draws what a node gives, if that is all that it is."""
        try:
            found = self._shuffled(node) or self._drawn(node, self._array(node, scope), scope)
        except Unknown:
            return None
        if found is None:
            return None
        made = Node(node.id, idiom.drawn.name, tuple(found[0]), node.results, found[1], (), node.loc)
        return made if not is_split(made) or self.is_own(made) else None

    def _array(self, node: Node, scope: _Scope) -> Array:
        """The elements of what a node gives."""
        if node.name != func.call.name:
            return self.evaluation.element_of(node, scope.known)
        args = [scope.known[value] for value in node.operands]
        (array,) = self.evaluation.function(str(node.attrs["callee"]), args)
        return array

    def _drawn(self, node: Node, array: Array, scope: _Scope) -> _Found | None:
        type = self.graph.type(node.results[0])
        if type.dtype == "u32" and type.shape[-1:] == (2,):
            found = self._keys(array, type.shape[:-1], node, scope)
            if found is not None:
                return found
        at = self.evaluation.at(type.shape)
        expr = array(at)
        if type.dtype == "i32":
            return self._integers(expr, node, scope)
        words = self._words(expr)
        block = None if words is None else self._block(words, type.shape)
        if words is None or block is None:
            return None
        for kind, candidate, operands, attrs in kinds(
            self.evaluation.elements, words, expr, type, self._bounds(node, scope, at)
        ):
            if candidate == expr:
                placed = {"kind": kind, "shape": block.shape, "split": block.split, "dtype": type.dtype}
                return [self._key_of(words), *operands], {**placed, **attrs}
        return None

    def _integers(self, expr: int, node: Node, scope: _Scope) -> _Found | None:
        """Integers between two numbers: of the two keys that a key is split into."""
        elements, shape = self.evaluation.elements, self.graph.type(node.results[0]).shape
        found = self._all_words(expr)
        given = next((words for words in found if self._is_key(words.key)), None)
        if given is None or len(found) != 4:
            return None
        zero = elements.integer(0, "u32")
        halves = [forms.Words(given.key, (zero, elements.integer(i, "u32"))) for i in (0, 1)]
        keys = [half.each(elements) for half in halves]
        number = next((words.number for words in found if words.key == keys[0]), given.number)
        higher, lower = (forms.Words(key, number) for key in keys)
        block = self._block(higher, shape)
        if block is None:
            return None
        for low, high in product(self._whole_bounds(node, scope), repeat=2):
            if forms.integer(elements, higher, lower, low.expr, high.expr) == expr:
                ends = {"low": low.constant, "high": high.constant}
                operands = [self._key_of(given), *(b.value for b in (low, high) if b.value is not None)]
                placed = {"kind": "randint", "shape": block.shape, "split": block.split, "dtype": "i32"}
                return operands, {**placed, **ends}
        return None

    def _words(self, expr: int) -> forms.Words | None:
        """The words of the cipher in an expression, if they are of one key and one number."""
        found = self._all_words(expr)
        return found[0] if len(found) == 1 and self._is_key(found[0].key) else None

    def _all_words(self, expr: int) -> list[forms.Words]:
        """The words of the cipher in an expression, each pair of a key and a number once."""
        operands = dict.fromkeys(
            form.operands
            for form in self.evaluation.elements.reached(expr)
            if isinstance(form, Applied) and form.name.startswith(forms.CIPHER)
        )
        return [forms.Words((k0, k1), (x0, x1)) for k0, k1, x0, x1 in operands]

    def _is_key(self, key: tuple[int, int]) -> bool:
        """Whether two words are a key that the call is given."""
        first, second = (self.evaluation.elements.forms[word] for word in key)
        if not isinstance(first, Element) or self.graph.type(first.value) != _KEY:
            return False
        places = [self.evaluation.elements.integer(i) for i in (0, 1)]
        return [first.index, second] == [(places[0],), Element(first.value, (places[1],), "u32")]

    def _key_of(self, words: forms.Words) -> int:
        return cast(Element, self.evaluation.elements.forms[words.key[0]]).value

    def _block(self, words: forms.Words, shape: Sequence[int]) -> Block | None:
        """Where a block lies whose elements have these numbers, which are below 2^32."""
        if self.evaluation.elements.whole(words.number[0]) != 0:
            return None
        form = self.evaluation.elements.forms[words.number[1]]
        return block_of(form, self.evaluation.symbols(shape)) if isinstance(form, Affine) else None

    def _keys(self, array: Array, shape: tuple[int, ...], node: Node, scope: _Scope) -> _Found | None:
        """Keys of a key: split into some, or with a number folded in."""
        elements, at = self.evaluation.elements, self.evaluation.at(shape)
        first, second = (array((*at, elements.integer(i))) for i in (0, 1))
        words = self._words(first)
        if words is None or words.each(elements) != (first, second) or elements.whole(words.number[0]) != 0:
            return None
        key, number = self._key_of(words), elements.forms[words.number[1]]
        if shape:
            block = block_of(number, self.evaluation.symbols(shape)) if isinstance(number, Affine) else None
            if block is None or any(block.split):
                return None
            return [key], {"kind": "split", "shape": shape, "split": block.split}
        if isinstance(number, Affine) and not number.terms:
            return [key], {"kind": "fold_in", "data": number.constant}
        for value in node.operands:
            type = self.graph.type(value)
            if type.shape == () and type.dtype in ("i32", "u32"):
                data = elements.apply(hlo.convert.name, "u32", scope.known[value](()))
                if data == words.number[1]:
                    return [key, value], {"kind": "fold_in"}
        return None

    def _whole_bounds(self, node: Node, scope: _Scope) -> list[Bound]:
        """The integers that a node is given."""
        exprs = {
            value: scope.known[value](())
            for value in node.operands
            if self.graph.type(value) == TensorType((), "i32")
        }
        constants = {value: self.evaluation.elements.whole(expr) for value, expr in exprs.items()}
        return [
            Bound(expr, constants[value], value if constants[value] is None else None)
            for value, expr in exprs.items()
        ]

    def _bounds(self, node: Node, scope: _Scope, at: Sequence[int]) -> list[Bound]:
        """The floats that a node is given."""
        found: list[Bound] = []
        for value in node.operands:
            type = self.graph.type(value)
            if not is_float(type.dtype) or type.shape not in ((), self.graph.type(node.results[0]).shape):
                continue
            expr = scope.known[value](tuple(at) if type.shape else ())
            constant = self.evaluation.elements.float(expr)
            found.append(Bound(expr, constant, None if constant is not None else value, not type.shape))
        return found


_MOST_STEPS = 40
"""Of so many operations an integer is made, or a number from the cipher's words."""

_LAST = {
    definition.name
    for definition in (hlo.maximum, hlo.multiply, hlo.negate, hlo.xor, hlo.compare, hlo.concatenate)
}
"""What comes last in what jax.random computes."""

_CONSTANTS = {definition.name for definition in (hlo.constant, hlo.broadcast_in_dim, hlo.convert)}
"""What a constant is made with."""
