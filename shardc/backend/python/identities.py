"""Operations that give what they are given, and numbers that follow from numbers: nobody writes them.

    x ** 1.0                                    ->  x
    0.0 + jnp.sum(x), (1.0 - x) + 0.0           ->  jnp.sum(x), 1.0 - x    where the sum is never -0.0
    p & True, p | False                         ->  p
    where(p, x, x), where(p, 1.0, 0.0)          ->  x, p.astype(jnp.float32)
    p.astype(jnp.int32).astype(jnp.float32)     ->  p.astype(jnp.float32)
    x.astype(jnp.float32).astype(jnp.bfloat16)  ->  x                      of a bf16
    zeros((4, 1)).at[:, 0].add(full((4,), 2.0)) ->  full((4, 1), 2.0)
    jnp.sum(x, axis=1) of one column            ->  x[:, 0]
    0 - i                                       ->  -i                     of integers
    x[:, None][:, 0], (-x[:, None])[:, 0]       ->  x, -x
    square(0.0), -(0.25)                        ->  0.0, -0.25             where the result is not rounded
    jnp.stack([i, j], axis=1)[:, :1]            ->  i[:, None]
    jnp.einsum(",ab->ab", s, m)                 ->  s * m
    jnp.einsum("ab,bc->ac", x, w).T             ->  w.T @ x.T
    x.T.T, x[:, None].transpose(2, 1, 0)[0].T   ->  x                      moves.py
    jnp.sqrt(4.0), jnp.float32(4)               ->  2.0, 4.0               exact_numbers.py
    lax.pad(x, 0.0, ((-1, 0, 0),))              ->  x[1:]
    jnp.abs(jnp.exp(x))                         ->  jnp.exp(x)             analysis/sizes.py
    x[:, 1:][:, ::2]                            ->  x[:, 1::2]
    -x + y, x + -y, x - -y                      ->  y - x, x - y, x + y

Values vary over the same mesh axes afterwards: where(p, x, x) of a p that differs between devices stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.analysis.sizes import Sizes
from shardc.backend.python import idiom
from shardc.backend.python.exact_numbers import Known, form_of_number, number
from shardc.backend.python.shape_identities import (
    cut,
    item_kept,
    moved_back,
    part,
    reshaped_around,
    reshaped_back,
    same,
    sliced_again,
    spread_back,
)
from shardc.backend.python.zero_signs import Floats
from shardc.graph import LETTERS, DotDims, Node, ScatterDims, identity, is_float, is_integer
from shardc.ops import chlo, combiner, hlo


def _beside(known: Known, node: Node, number: object) -> int | None:
    """The operand of a binary operation beside one that is this number everywhere."""
    for value, other in (node.operands[::-1], node.operands):
        if known.splat(other) == number:
            return value
    return None


def _further(known: Known, node: Node) -> Node:
    """A node that was made here, as what it is equal to."""
    found = (attempt(known, node) for attempt in IDENTITIES[node.name])
    return next((each for each in found if each is not None), node)


def _to_the_first(known: Known, node: Node) -> Node | None:
    base, exponent = node.operands
    return same(known, node, base) if known.splat(exponent) == 1 else None


def _and_zero(known: Known, node: Node) -> Node | None:
    """x + 0.0 is x but where x is -0.0."""
    value = _beside(known, node, 0)
    if value is None or not Floats(known.graph, known.made).never_negative_zero(value):
        return None
    return same(known, node, value)


def _less_nothing(known: Known, node: Node) -> Node | None:
    value, number = node.operands
    zero = known.splat(number)
    is_zero = zero is not None and zero == 0 and not np.signbit(np.real(cast(np.generic, zero)))
    return same(known, node, value) if is_zero else None


def _from_zero(known: Known, node: Node) -> Node | None:
    """0 - i of integers is -i; of floats that is another zero."""
    if known.splat(node.operands[0]) != 0 or not is_integer(known.graph.type(node.results[0]).dtype):
        return None
    return Node(node.id, hlo.negate.name, node.operands[1:], node.results, {}, (), node.loc)


def _added_negative(known: Known, node: Node) -> Node | None:
    """x + -y is x - y."""
    for value, other in (node.operands, node.operands[::-1]):
        made = known.made.get(other)
        if made is not None and made.name == hlo.negate.name:
            operands = value, made.operands[0]
            return Node(node.id, hlo.subtract.name, operands, node.results, {}, (), node.loc)
    return None


def _subtracted_negative(known: Known, node: Node) -> Node | None:
    """x - -y is x + y."""
    made = known.made.get(node.operands[1])
    if made is None or made.name != hlo.negate.name:
        return None
    operands = node.operands[0], made.operands[0]
    return Node(node.id, hlo.add.name, operands, node.results, {}, (), node.loc)


def _by_one(known: Known, node: Node) -> Node | None:
    """Of floats, as quotients of integers become `//`."""
    if not is_float(known.graph.type(node.results[0]).dtype):
        return None
    if node.name == hlo.divide.name:
        value = node.operands[0] if known.splat(node.operands[1]) == 1 else None
    else:
        value = _beside(known, node, 1)
    return None if value is None else same(known, node, value)


def _neutral(truth: bool) -> Callable[[Known, Node], Node | None]:
    def attempt(known: Known, node: Node) -> Node | None:
        value = _beside(known, node, truth) if known.graph.type(node.results[0]).dtype == "bool" else None
        return None if value is None else same(known, node, value)

    return attempt


def _no_choice(known: Known, node: Node) -> Node | None:
    _, first, second = node.operands
    return same(known, node, first) if first == second else None


def _as_numbers(known: Known, node: Node) -> Node | None:
    """1.0 where a condition is and 0.0 elsewhere: the condition as numbers."""
    condition, one, zero = node.operands
    dtype = known.graph.type(node.results[0]).dtype
    numbers = [known.splat(one), known.splat(zero)]
    if not is_float(dtype) or numbers != [1, 0] or np.signbit(cast(np.generic, numbers[1])):
        return None
    if known.shape(condition) != known.shape(node.results[0]):
        return None
    return Node(node.id, hlo.convert.name, (condition,), node.results, {}, (), node.loc)


def _by_way_of_numbers(known: Known, node: Node) -> Node | None:
    """A condition as integers, as other numbers: the condition as those."""
    made = known.only(node.operands[0], hlo.convert.name)
    if made is None or known.graph.type(made.operands[0]).dtype != "bool":
        return None
    return replace(node, operands=made.operands)


def _narrowed_back(known: Known, node: Node) -> Node | None:
    """Floats as wider ones, which may be spread, as what they were."""
    made = known.made.get(node.operands[0])
    spread = made if made is not None and made.name == hlo.broadcast_in_dim.name else None
    made = known.made.get(spread.operands[0]) if spread else made
    if made is None or made.name != hlo.convert.name:
        return None
    (value,) = made.operands
    narrow, wide = (known.graph.type(each).dtype for each in (value, *made.results))
    if known.graph.type(node.results[0]).dtype != narrow or (narrow, wide) not in _WIDER:
        return None
    if spread is None:
        return same(known, node, value)
    return _further(known, replace(node, name=spread.name, operands=(value,), attrs=spread.attrs))


def _into_one_place(known: Known, node: Node) -> Node | None:
    """Added to zeros that have one place for them in some dimensions: only these dimensions are added."""
    if len(node.operands) != 3 or combiner(node.regions[0], known.graph) != "sum":
        return None
    table, places, updates = node.operands
    dims = cast(ScatterDims, node.attrs["scatter_dimension_numbers"])
    shape, rank = known.shape(table), len(known.shape(updates))
    gone = [dim for dim in range(len(shape)) if dim in dims.inserted_window_dims]
    whole = tuple(size for dim, size in enumerate(shape) if dim not in gone)
    if dims.input_batching_dims or dims.update_window_dims != tuple(range(rank)):
        return None
    if known.shape(updates) != whole or any(shape[dim] != 1 for dim in gone):
        return None
    if known.splat(table) != 0 or known.splat(places) != 0:
        return None
    if not Floats(known.graph, known.made).never_negative_zero(updates):
        return None
    return Node(node.id, hlo.reshape.name, (updates,), node.results, {}, (), node.loc)


def _signless(known: Known, node: Node) -> Node | None:
    value = Sizes(known.graph, known.made, known.splat, idiom.same.name).itself(node)
    return None if value is None else same(known, node, value)


def _over_ones(known: Known, node: Node) -> Node | None:
    """A reduction over dimensions of size 1 from the identity, which a reduction may use or not."""
    kind = combiner(node.regions[0], known.graph)
    if len(node.operands) != 2 or kind not in _REDUCTIONS:
        return None
    value, start = node.operands
    shape, dims = known.shape(value), cast("tuple[int, ...]", node.attrs["dimensions"])
    dtype = known.graph.type(value).dtype
    if not dims or any(shape[dim] != 1 for dim in dims) or dtype == "bool":
        return None
    if known.splat(start) != identity(kind, dtype):
        return None
    return _further(known, Node(node.id, hlo.reshape.name, (value,), node.results, {}, (), node.loc))


def _scaled(known: Known, node: Node) -> Node | None:
    """A product of a number and an array."""
    shapes = [known.shape(value) for value in node.operands]
    if () not in shapes or len({known.graph.type(v).dtype for v in (*node.operands, *node.results)}) != 1:
        return None
    if node.attrs.get("algorithm"):
        return None
    return _further(known, Node(node.id, hlo.multiply.name, node.operands, node.results, {}, (), node.loc))


def _transposed_product(known: Known, node: Node) -> Node | None:
    """The product of two matrices, transposed, is that of the transposed ones in the other order."""
    made = known.only(node.operands[0], hlo.dot_general.name)
    if made is None or [len(known.shape(value)) for value in made.operands] != [2, 2]:
        return None
    dims = cast(DotDims, made.attrs["dot_dimension_numbers"])
    if dims.lhs_batching or len(dims.lhs_contracting) != 1 or made.attrs.get("algorithm"):
        return None
    swapped = DotDims((), (), dims.rhs_contracting, dims.lhs_contracting)
    attrs = {key: value for key, value in made.attrs.items() if key != LETTERS}
    attrs["dot_dimension_numbers"] = swapped
    if "precision_config" in attrs:
        attrs["precision_config"] = tuple(reversed(cast("tuple[str, ...]", attrs["precision_config"] or ())))
    return replace(made, operands=made.operands[::-1], results=node.results, attrs=attrs, loc=node.loc)


_REDUCTIONS = ("sum", "max", "min", "prod")
_WIDER = {("bf16", "f32"), ("f16", "f32"), ("bf16", "f64"), ("f16", "f64"), ("f32", "f64")}
"""Floats, and wider ones that have all of them."""

IDENTITIES: dict[str, tuple[Callable[[Known, Node], Node | None], ...]] = {
    chlo.square.name: (number,),
    hlo.add.name: (number, _and_zero),
    hlo.and_.name: (_neutral(True),),
    hlo.broadcast_in_dim.name: (reshaped_back, item_kept, moved_back, spread_back),
    hlo.convert.name: (number, _by_way_of_numbers, _narrowed_back),
    hlo.divide.name: (number, _by_one),
    hlo.exponential.name: (number,),
    hlo.log.name: (number,),
    hlo.dot_general.name: (_scaled,),
    hlo.multiply.name: (number, _by_one),
    hlo.negate.name: (number,),
    hlo.or_.name: (_neutral(False),),
    hlo.pad.name: (cut,),
    hlo.power.name: (_to_the_first,),
    hlo.reduce.name: (_over_ones,),
    hlo.reshape.name: (form_of_number, reshaped_back, item_kept, reshaped_around, moved_back),
    hlo.scatter.name: (_into_one_place,),
    hlo.select.name: (_no_choice, _as_numbers),
    hlo.slice_.name: (part, sliced_again),
    hlo.sqrt.name: (number,),
    hlo.subtract.name: (number, _less_nothing, _from_zero),
    hlo.transpose.name: (moved_back, _transposed_product),
}
"""What to try of a node, by its name."""

SIGNLESS = {hlo.abs_.name: (_signless,), hlo.add.name: (_signless,)}
"""Likewise, where there is an absolute value: before other runs are looked for, of which it may be one."""

SIGNS = {hlo.add.name: (_added_negative,), hlo.subtract.name: (_subtracted_negative,)}
"""Likewise, where there is a negative: after all other runs, in some of which a negative is added."""
