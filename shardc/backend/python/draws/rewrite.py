"""Calls whose functions draw random numbers as jax.random does, as one node each.

    call @_normal(%key), which is threefry2x32 of the key and the places of a block, a mantissa, erf_inv
    ->  idiom.drawn(%key) {kind = "normal", shape = (8, 16), split = (("data",), ())}

What the function computes is compared with what jax.random computes (forms.py), element by element; its name
says nothing. A device's block is found too: the number of an element in the whole array says where it lies.
An array of which nothing but blocks are read is drawn as those.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.emitted_mesh import EmittedMesh
from shardc.analysis.per_device import PerDeviceProgram
from shardc.analysis.usage import usage
from shardc.backend.python import idiom
from shardc.backend.python.draws import forms, is_split
from shardc.backend.python.draws.elements import Affine
from shardc.backend.python.draws.evaluate import Array, Evaluation, Known, Unknown
from shardc.backend.python.draws.keys import Found, Keys, is_key, placed
from shardc.backend.python.draws.kinds import Bound, kinds
from shardc.backend.python.draws.shuffles import shuffled
from shardc.graph import Graph, Node, Region, TensorType, is_float, walk
from shardc.ops import Trait, func, has, hlo, spmd

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


def _read_whole(graph: Graph) -> set[int]:
    """What something else than a device's own block is read of."""
    bodies = [function.body for function in graph.functions.values()]
    nodes = (node for body in bodies for node in walk(body))
    return {value for node in nodes if node.name != spmd.all_slice.name for value in node.operands}


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


class _Scope(Struct):
    """What is known of a region's values: their elements, and how many operations made them.

    drawn: values that follow from the cipher in a few steps. Others than integers and constants are not
    looked into, and no key is.
    """

    known: Known
    level: dict[int, int] = {}
    drawn: set[int] = set()


class _Rewriting:
    def __init__(self, graph: Graph, mesh: EmittedMesh | None, is_own: Callable[[Node], bool]) -> None:
        self.graph, self.is_own = graph, is_own
        self.evaluation = Evaluation(graph, mesh, self._called)
        self.keys = Keys(self.evaluation)
        self.ciphers: dict[str, bool] = {}
        self.shuffles: dict[str, int | None] = {}
        self.read_whole = _read_whole(graph)

    def is_cipher(self, name: str) -> bool:
        if name not in self.ciphers:
            self.ciphers[name] = False  # while it is looked at: a function is not in itself
            self.ciphers[name] = forms.is_cipher(self.evaluation, name)
        return self.ciphers[name]

    def _shuffled(self, node: Node) -> Found | None:
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
        return forms.enciphered(evaluation, name, args) if self.is_cipher(name) else None

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
            made = forms.enciphered(self.evaluation, str(node.attrs["callee"]), args)
            scope.known.update(zip(node.results, made, strict=True))
            scope.drawn.update(node.results)
            return Node(node.id, idiom.cipher.name, node.operands, node.results, {}, (), node.loc)
        if len(node.results) != 1:
            scope.known.update(opaque)
            return node
        (result,) = node.results
        drawn = scope.drawn.intersection(node.operands)
        found = self._found(node, scope) if is_call or (drawn and self._is_last(node)) else None
        level = max((scope.level.get(value, 0) for value in node.operands), default=0) + 1
        made = self.evaluation.or_opaque(node, scope.known)
        if found is not None and result not in self.read_whole and not is_key(self.graph.type(result)):
            scope.known[result] = self._array(node, scope)
            scope.drawn.add(result)
        elif is_call or level > _MOST_STEPS or self._is_beyond(node, bool(drawn), made):
            scope.known.update(opaque)
        else:
            scope.known[result] = made
            scope.level[result] = level
            scope.drawn.update(node.results if drawn else ())
        return node if found is None else found

    def _is_last(self, node: Node) -> bool:
        """Whether something drawn may end with a node; a block is cut off one that is needed anyway."""
        cut = node.name == spmd.all_slice.name
        return node.name in _LAST and not (cut and node.operands[0] in self.read_whole)

    def _is_beyond(self, node: Node, drawn: bool, made: Array) -> bool:
        """Whether what a value is made of does not matter."""
        type = self.graph.type(node.results[0])
        if type == _KEY:
            return not self._counts(made)
        return not (drawn or not is_float(type.dtype) or node.name in _CONSTANTS)

    def _counts(self, array: Array) -> bool:
        """Whether two numbers are places of a block, and no key."""
        found = self.evaluation.elements.forms[array(self.evaluation.at(_KEY.shape))]
        return isinstance(found, Affine) and bool(found.terms)

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
        args = [self._given(value, scope) for value in node.operands]
        (array,) = self.evaluation.function(str(node.attrs["callee"]), args)
        return array

    def _given(self, value: int, scope: _Scope) -> Array:
        """An argument of a call; no keys are looked into."""
        keys = is_key(self.graph.type(value))
        return self.evaluation.opaque(value) if keys else scope.known[value]

    def _drawn(self, node: Node, array: Array, scope: _Scope) -> Found | None:
        type = self.graph.type(node.results[0])
        if is_key(type):
            found = self.keys.derived(array, type.shape[:-1], node, scope.known)
            if found is not None:
                return found
        at = self.evaluation.at(type.shape)
        expr = array(at)
        if type.dtype == "i32":
            return self._integers(expr, node, scope)
        words, key = self.keys.words(expr) or (None, None)
        block = words and key and self.keys.block(words, key, type.shape)
        if words is None or key is None or block is None:
            return None
        for kind, candidate, operands, attrs in kinds(
            self.evaluation.elements, words, expr, type, self._bounds(node, scope, at, key.batch)
        ):
            if candidate == expr:
                drawn = {"kind": kind, **placed(block, key), "dtype": type.dtype}
                return [key.value, *operands], {**drawn, **attrs}
        return None

    def _integers(self, expr: int, node: Node, scope: _Scope) -> Found | None:
        """Integers between two numbers: of the two keys that a key is split into."""
        elements, shape = self.evaluation.elements, self.graph.type(node.results[0]).shape
        found = self.keys.all_words(expr)
        of_keys = ((words, self.keys.key_of(words)) for words in found)
        given, key = next(((words, key) for words, key in of_keys if key is not None), (None, None))
        if given is None or key is None or len(found) != 4:
            return None
        zero = elements.integer(0, "u32")
        halves = [forms.Words(given.key, (zero, elements.integer(i, "u32"))) for i in (0, 1)]
        keys = [half.each(elements) for half in halves]
        number = next((words.number for words in found if words.key == keys[0]), given.number)
        higher, lower = (forms.Words(key, number) for key in keys)
        block = self.keys.block(higher, key, shape)
        if block is None:
            return None
        for low, high in product(self._whole_bounds(node, scope), repeat=2):
            if forms.integer(elements, higher, lower, low.expr, high.expr) == expr:
                ends = {"low": low.constant, "high": high.constant}
                operands = [key.value, *(b.value for b in (low, high) if b.value is not None)]
                drawn = {"kind": "randint", **placed(block, key), "dtype": "i32"}
                return operands, {**drawn, **ends}
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

    def _bounds(self, node: Node, scope: _Scope, at: Sequence[int], batch: int) -> list[Bound]:
        """The floats that a node is given; of several keys only what is one number for all."""
        found: list[Bound] = []
        for value in node.operands:
            type = self.graph.type(value)
            shapes = ((),) if batch else ((), self.graph.type(node.results[0]).shape)
            if not is_float(type.dtype) or type.shape not in shapes:
                continue
            expr = scope.known[value](tuple(at) if type.shape else ())
            constant = self.evaluation.elements.float(expr)
            found.append(Bound(expr, constant, None if constant is not None else value, not type.shape))
        return found


_MOST_STEPS = 40
"""Of so many operations an integer is made, or a number from the cipher's words."""

_LAST = {
    definition.name
    for definition in (
        hlo.maximum,
        hlo.multiply,
        hlo.negate,
        hlo.xor,
        hlo.compare,
        hlo.concatenate,
        spmd.all_slice,
    )
}
"""What comes last in what jax.random computes."""

_CONSTANTS = {definition.name for definition in (hlo.constant, hlo.broadcast_in_dim, hlo.convert)}
"""What a constant is made with."""
