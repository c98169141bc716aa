"""Arrays of one call, as runs of nodes: `jnp.eye`, `jnp.linspace`, `jnp.repeat`, `jnp.tile`, `jnp.stack`.

row + k == column, as a number of some dtype     ->  idiom.eye       jnp.eye(4, k=1, dtype=jnp.float32)
a (1 - i / 7) + b (i / 7), and b as the last     ->  idiom.linspace  jnp.linspace(a, b, 8, dtype=jnp.float32)
a new dimension that joins the one before it     ->  idiom.repeat    jnp.repeat(x, 2, axis=1)
a new dimension that joins the one after it      ->  idiom.tile      jnp.tile(x, (1, 2, 1))
a concatenation along a new dimension of each    ->  idiom.stack     jnp.stack([x, y], axis=1)
a concatenation of numbers                       ->  constant        jnp.array([0, 42], jnp.uint32)
"""

from __future__ import annotations

from math import isclose
from typing import cast

import numpy as np

from shardc.backend.python import idiom
from shardc.backend.python.library_run import Dims, Found, Other, Run
from shardc.graph import Dense, Node, is_integer
from shardc.ops import hlo

_FEW = 8


def eye(run: Run, node: Node) -> Found:
    """Whether a place is on a diagonal. Who uses the places besides has them computed for himself."""
    shape = run.shape(node.results[0])
    run.same((node.attrs["comparison_direction"], len(shape)), ("EQ", 2))
    found = dict(_counted(Run(run.program), value) for value in node.operands)
    run.same(sorted(found), [0, 1])
    return idiom.eye, [], {"diagonal": found[0] - found[1]}


def eye_of_numbers(run: Run, node: Node) -> Found:
    """The same as numbers."""
    return idiom.eye, [], dict(Run(run.program).node(node.operands[0], idiom.eye).attrs)


def _counted(run: Run, value: int) -> tuple[int, int]:
    """The dimension along which a value counts, and from what number on."""
    run.same(is_integer(run.program.graph.type(value).dtype), True)
    made = run.program.made.get(value)
    if made is not None and made.name == hlo.iota.name:
        return cast(int, made.attrs["iota_dimension"]), 0
    made = run.node(value, hlo.add, hlo.broadcast_in_dim)
    if made.name == hlo.broadcast_in_dim.name:
        dim, start = _counted(run, made.operands[0])
        run.same(run.shape(made.operands[0])[dim] > 1, True)
        return cast(Dims, made.attrs["broadcast_dimensions"])[dim], start
    for one, other in (made.operands, made.operands[::-1]):
        number = run.program.splat(other)
        if number is not None:
            dim, start = _counted(run, one)
            return dim, start + int(cast(int, number))
    raise Other


_NEAR = {"f32": 2**-21, "f64": 2**-50}
"""How far a quotient that is rounded may be from that of the numbers, by their dtype: four units."""


def linspace(run: Run, node: Node) -> Found:
    """Numbers at equal distances, of which the last is the end itself. Who uses what is inside besides has it
    computed for himself.
    """
    run = Run(run.program)
    dtype = run.program.graph.type(node.results[0]).dtype
    run.same((len(node.operands), dtype in _NEAR), (2, True))
    before, last = node.operands
    total = run.node(before, hlo.add)
    run.same((run.shape(before), run.shape(last)), (run.shape(total.results[0]), (1,)))
    falling, rising = total.operands
    scaled = run.node(falling, hlo.multiply)
    for start, rest in (scaled.operands, scaled.operands[::-1]):
        first = run.before_shapes(start)
        if run.program.splat(first) is not None:
            left = run.node(rest, hlo.subtract)
            part = run.node(left.operands[1], hlo.divide)
            counting = run.node(part.operands[0], hlo.iota).results[0]
            found = run.number(left.operands[0]), run.number(part.operands[1]), counting
            run.same(found, (1, *run.shape(before), part.operands[0]))
            run.same(_is_rising(run, rising, run.number(last), part), True)
            return idiom.linspace, [first, last], {}
    raise Other


def _is_rising(run: Run, value: int, stop: float, part: Node) -> bool:
    """Whether a value is stop * (i / n), or (stop / n) * i."""
    (step,), (counting, count) = part.results, part.operands
    if (stop, value) == (1, step):
        return True
    made = run.node(value, hlo.multiply)
    for scale, rest in (made.operands, made.operands[::-1]):
        if rest == step:
            return run.number(scale) == stop
        if rest == counting:
            near = _NEAR[run.program.graph.type(value).dtype]
            return isclose(_quotient(run, scale), stop / run.number(count), rel_tol=near)
    return False


def _quotient(run: Run, value: int) -> float:
    if run.program.splat(value) is not None:
        return run.number(value)
    whole, part = (run.number(run.before_shapes(x)) for x in run.node(value, hlo.divide).operands)
    return whole / part


def listed(run: Run, node: Node) -> Found:
    """A few numbers side by side, the same everywhere."""
    result = node.results[0]
    type = run.program.graph.type(result)
    run.same((type.rank, run.program.varying.get(result, frozenset[str]())), (1, frozenset[str]()))
    run.same((2 <= type.size <= _FEW, len(node.operands)), (True, type.size))
    elements = [run.program.splat(value) for value in node.operands]
    run.same(None in elements, False)
    return hlo.constant, [], {"value": Dense(np.array(elements, type.numpy), type.shape)}


def stack(run: Run, node: Node) -> Found:
    """Arrays side by side along a new dimension."""
    axis, parts = cast(int, node.attrs["dimension"]), list[int]()
    run.same(len(node.operands) > 1, True)
    for part in node.operands:
        made = run.node(part, hlo.broadcast_in_dim, hlo.reshape)
        (x,) = made.operands
        thin, shape = run.shape(part), run.shape(x)
        places = tuple(dim for dim in range(len(thin)) if dim != axis)
        run.same((made.results[0], thin), (part, (*shape[:axis], 1, *shape[axis:])))
        run.same(made.attrs.get("broadcast_dimensions", places), places)
        parts.append(x)
    return idiom.stack, parts, {"axis": axis}


def repeated(run: Run, node: Node) -> Found:
    """A new dimension that becomes one with another beside it: behind that each element or slice is repeated,
    before it the whole. Dimensions of size 1 come and go.
    """
    wide = run.node(node.operands[0], hlo.broadcast_in_dim)
    run.same(wide.results[0], node.operands[0])
    thin = _thin(run, wide)
    x = _before_ones(run, wide.operands[0])
    new = [
        dim
        for dim, (size, own) in enumerate(zip(run.shape(wide.results[0]), thin, strict=True))
        if size != own
    ]
    run.same((len(new), _large(thin)), (1, _large(run.shape(x))))
    count, shape, result = run.shape(wide.results[0])[new[0]], run.shape(x), run.shape(node.results[0])
    axes = [
        axis for axis, size in enumerate(shape) if result == (*shape[:axis], size * count, *shape[axis + 1 :])
    ]
    run.same(len(axes), 1)
    (axis,) = axes
    behind = len(_large(thin[: new[0]])) - len(_large(shape[:axis]))
    run.same(behind in (0, 1 if shape[axis] > 1 else 0), True)
    definition = idiom.repeat if behind or shape[axis] == 1 else idiom.tile
    return definition, [x], {"axis": axis, "count": count}


def _thin(run: Run, wide: Node) -> Dims:
    """The shape of a broadcast's result in which what is repeated has size 1."""
    dims = cast(Dims, wide.attrs["broadcast_dimensions"])
    run.same(dims, tuple(sorted(dims)))
    sizes = dict(zip(dims, run.shape(wide.operands[0]), strict=True))
    return tuple(sizes.get(dim, 1) for dim in range(len(run.shape(wide.results[0]))))


def _before_ones(run: Run, value: int) -> int:
    """A value before it gets dimensions of size 1."""
    while True:
        try:
            made = Run(run.program).node(value, hlo.reshape, hlo.broadcast_in_dim)
        except Other:
            return value
        dims = cast(Dims, made.attrs.get("broadcast_dimensions", ()))
        fits = _large(run.shape(made.operands[0])) == _large(run.shape(value))
        if not fits or list(dims) != sorted(dims):
            return value
        value = run.node(value, hlo.reshape, hlo.broadcast_in_dim).operands[0]


def _large(shape: Dims) -> Dims:
    return tuple(size for size in shape if size != 1)
