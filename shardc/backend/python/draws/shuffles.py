"""Functions that put an array in a random order as jax.random.permutation does: sorts by random bits.

    key, own = split(key);  x = sort_key_val(bits(own, shape), x)     once or several times

More often the larger the array is, so that few elements have equal bits every time.
"""

from __future__ import annotations

from math import ceil, log, prod

from shardc.backend.python.draws import forms
from shardc.backend.python.draws.evaluate import Evaluation, Unknown
from shardc.backend.python.sorting import Order, order_of
from shardc.graph import Node, TensorType, walk
from shardc.ops import hlo

_BY_BITS = Order(keys=1, descending=False, total=False)


def shuffled(evaluation: Evaluation, name: str) -> int | None:
    """The dimension along which a function (u32[2], T[S]) -> T[S] shuffles; None if it does not."""
    graph, body = evaluation.graph, evaluation.graph.functions[name].body
    types, results = graph.types(body.args), graph.types(body.results)
    if len(types) != 2 or types[0] != TensorType((2,), "u32") or results != types[1:]:
        return None
    sorts = [node for node in body.nodes if node.name == hlo.sort.name and len(node.results) == 2]
    if not sorts or len(sorts) != _rounds(types[1].shape):
        return None
    try:
        by_bits = _are_by_bits(evaluation, name, sorts)
    except Unknown:
        return None
    dims = {node.attrs["dimension"] for node in sorts}
    (dim,) = dims if len(dims) == 1 else (None,)
    return dim if by_bits and isinstance(dim, int) and sorts[-1].results[1] == body.results[0] else None


def _rounds(shape: tuple[int, ...]) -> int:
    """How often jax.random sorts."""
    return ceil(3 * log(max(1, prod(shape))) / log(2**32 - 1))


def _are_by_bits(evaluation: Evaluation, name: str, sorts: list[Node]) -> bool:
    """Whether each sorts what the one before gave, by the bits of the key's next half."""
    graph, elements = evaluation.graph, evaluation.elements
    body = graph.functions[name].body
    known = evaluation.inside(body, [evaluation.opaque(value) for value in body.args], {})
    made = {result: node for node in walk(body) for result in node.results}
    first, second = (known[body.args[0]]((elements.integer(i),)) for i in (0, 1))
    key, x = (first, second), body.args[1]
    shape = graph.type(x).shape
    at, zero = evaluation.at(shape), elements.integer(0, "u32")
    number = elements.integer(0)
    for size, place in zip(shape, at, strict=True):
        number = elements.apply(hlo.multiply.name, "i64", number, elements.integer(size))
        number = elements.apply(hlo.add.name, "i64", number, place)
    number = elements.apply(hlo.convert.name, "u32", number)
    for node in sorts:
        key, own = (forms.Words(key, (zero, elements.integer(i, "u32"))).each(elements) for i in (0, 1))
        bits, values = node.operands
        if values != x or known[bits](at) != forms.bits(elements, forms.Words(own, (zero, number))):
            return False
        if not node.attrs.get("is_stable") or order_of(node, graph, made) != _BY_BITS:
            return False
        x = node.results[1]
    return True
