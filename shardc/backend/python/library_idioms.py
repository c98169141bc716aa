"""Runs of nodes that are one function of jax.numpy or jax.nn, made one node.

    minimum(hi, maximum(lo, x))                           ->  idiom.clip         jnp.clip(x, lo, hi)
    concatenate(x[:, k:], x[:, :k])                       ->  idiom.roll         jnp.roll(x, -k, axis=1)
    sum(x) / count                                        ->  group.mean         jnp.mean(x, axis=1)
    sum((x - mean(x)) ** 2) / count                       ->  idiom.var          jnp.var(x, axis=1)
    exp(x - max x) / its sum, and its logarithm           ->  group.softmax, group.log_softmax
    log(sum(exp(x - max x))) + max x                      ->  idiom.logsumexp    jax.nn.logsumexp(x, axis=1)
    1 / (1 + exp(-x)), x times that                       ->  idiom.sigmoid, group.silu
    0.5 x (1 + tanh(0.79… (x + 0.044715 x³)))             ->  group.gelu         jax.nn.gelu(x)
    ids[:, None] == arange(n) as numbers                  ->  idiom.one_hot      jax.nn.one_hot(ids, n)
    x != x                                                ->  idiom.isnan        jnp.isnan(x)
    gather along one dimension, NaN beyond its ends       ->  idiom.take_along   jnp.take_along_axis

A run is one only if nothing else uses what is inside, and the author named nothing of it. What a device holds
decides: a mean over a split dimension divides by another count, and stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import isclose, isnan, prod
from typing import Protocol, cast

import numpy as np

from shardc.backend.python import group, idiom
from shardc.backend.python.names import source_name
from shardc.graph import GatherDims, Graph, Node
from shardc.ops import OpDef, chlo, combiner, hlo

_SHAPES = (hlo.broadcast_in_dim.name, hlo.reshape.name, idiom.same.name)
Dims = tuple[int, ...]


class Program(Protocol):
    """What makes each value, how often it is used, the element of a constant."""

    graph: Graph
    made: dict[int, Node]
    count: Mapping[int, int]

    def splat(self, value: int) -> object: ...


class _Other(Exception):
    """The nodes are something else."""


class _Run:
    """Nodes on the way from a last one back; `used` counts how often the run uses what it makes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.used: Counter[int] = Counter()

    def node(self, value: int, *definitions: OpDef) -> Node:
        """What makes a value, if it is one of these; through changes of shape."""
        made = self._made(value)
        while made.name in _SHAPES and made.name not in [d.name for d in definitions]:
            value = made.operands[0]
            made = self._made(value)
        if made.name not in [definition.name for definition in definitions]:
            raise _Other
        return made

    def _made(self, value: int) -> Node:
        made = self.program.made.get(value)
        if made is None or source_name(self.program.graph.values[value].loc) is not None:
            raise _Other
        self.used[value] += 1
        return made

    def through(self, value: int) -> int:
        """A value before changes of shape."""
        made = self.program.made.get(value)
        while made is not None and made.name in _SHAPES:
            value = self._made(value).operands[0]
            made = self.program.made.get(value)
        return value

    def number(self, value: int) -> float:
        found = self._real(value)
        if found is None:
            raise _Other
        return found

    def _real(self, value: int) -> float | None:
        """The one number that a value is everywhere; None if it is none, or a complex one."""
        found = self.program.splat(value)
        return None if found is None or isinstance(found, np.complexfloating) else float(cast(float, found))

    def other(self, node: Node, number: float) -> int:
        """The operand of a commutative operation beside one that is a number."""
        for one, other in (node.operands, node.operands[::-1]):
            found = self._real(one)
            if found is not None and isclose(found, number, rel_tol=1e-6):
                return other
        raise _Other

    def reduced(self, value: int, kind: str) -> tuple[int, Dims]:
        """What a reduction that begins with its neutral element reduces, and over which dimensions."""
        made = self.node(value, hlo.reduce, idiom.keepdims)
        if len(made.operands) != 2 or combiner(made.regions[0], self.program.graph) != kind:
            raise _Other
        if kind == "sum" and self.number(made.operands[1]) != 0:
            raise _Other
        if kind == "max" and self.number(made.operands[1]) != -float("inf"):
            raise _Other
        return made.operands[0], cast(Dims, made.attrs["dimensions"])

    def shape(self, value: int) -> Dims:
        return self.program.graph.type(value).shape

    def same(self, one: object, other: object) -> None:
        if one != other:
            raise _Other

    @property
    def is_closed(self) -> bool:
        """Whether nothing else uses what is inside."""
        return all(self.program.count.get(value, 0) == uses for value, uses in self.used.items())


_Found = tuple[OpDef, Sequence[int], dict[str, object]]
_Matcher = Callable[[_Run, Node], _Found]


def _clip(run: _Run, node: Node) -> _Found:
    for high, inner in (node.operands, node.operands[::-1]):
        if run.program.splat(high) is not None:
            made = run.node(inner, hlo.maximum)
            run.same(len(run.used), 1)
            for low, x in (made.operands, made.operands[::-1]):
                if run.program.splat(low) is not None:
                    return idiom.clip, [x, low, high], {}
    raise _Other


def _roll(run: _Run, node: Node) -> _Found:
    run.same(len(node.operands), 2)
    first, second = (run.node(value, hlo.slice_) for value in node.operands)
    axis = cast(int, node.attrs["dimension"])
    x, shape = first.operands[0], run.shape(first.operands[0])
    run.same((second.operands[0], run.shape(node.results[0]), len(run.used)), (x, shape, 2))
    split = cast(Dims, first.attrs["start_indices"])[axis]
    for part, start, stop in ((first, split, shape[axis]), (second, 0, split)):
        starts, stops = [0] * len(shape), list(shape)
        starts[axis], stops[axis] = start, stop
        said = tuple(part.attrs[key] for key in ("start_indices", "limit_indices", "strides"))
        run.same(said, (tuple(starts), tuple(stops), (1,) * len(shape)))
    shift = shape[axis] - split if 2 * split > shape[axis] else -split
    return idiom.roll, [x], {"axis": axis, "shift": shift}


def _mean_of(run: _Run, node: Node) -> tuple[int, Dims]:
    """What a division takes the mean of, and over which dimensions."""
    run.same(run.program.graph.type(node.results[0]).dtype in ("f32", "f64"), True)
    x, dims = run.reduced(node.operands[0], "sum")
    run.same(run.number(node.operands[1]), prod(run.shape(x)[dim] for dim in dims))
    return x, dims


def _kept(run: _Run, x: int, dims: Dims, result: int) -> bool:
    """Whether the dimensions stay, of size 1; other shapes than that and without them are none of ours."""
    shape, found = run.shape(x), run.shape(result)
    if found == tuple(size for dim, size in enumerate(shape) if dim not in dims):
        return False
    run.same(found, tuple(1 if dim in dims else size for dim, size in enumerate(shape)))
    return True


def _mean(run: _Run, node: Node) -> _Found:
    x, dims = _mean_of(run, node)
    return group.mean, [x], {"dimensions": dims, "keepdims": _kept(run, x, dims, node.results[0])}


def _var(run: _Run, node: Node) -> _Found:
    squares, dims = _mean_of(run, node)
    square = run.node(squares, hlo.multiply, chlo.square)
    run.same(len(set(square.operands)), 1)
    run.used[square.operands[0]] += len(square.operands) - 1
    centred = run.node(square.operands[0], hlo.subtract)
    x = centred.operands[0]
    mean = run.node(centred.operands[1], hlo.divide, group.mean)
    if mean.name == group.mean.name:
        run.same((mean.operands[0], mean.attrs["dimensions"]), (x, dims))
    else:
        run.same(_mean_of(run, mean), (x, dims))
    keepdims = _kept(run, x, dims, node.results[0])
    return idiom.var, [x], {"dimensions": dims, "keepdims": keepdims}


def _centred(run: _Run, value: int) -> tuple[int, Dims]:
    """x and the dimensions along which its greatest is subtracted."""
    made = run.node(value, hlo.subtract)
    x, dims = run.reduced(made.operands[1], "max")
    run.same(x, made.operands[0])
    run.same(len(dims), 1)
    return x, dims


def _softmax(run: _Run, node: Node) -> _Found:
    powers = run.node(node.operands[0], hlo.exponential)
    summed, dims = run.reduced(node.operands[1], "sum")
    run.same(summed, node.operands[0])
    run.used[summed] += 1
    x, along = _centred(run, powers.operands[0])
    run.same(along, dims)
    return group.softmax, [x], {"dimensions": dims}


def _log_softmax(run: _Run, node: Node) -> _Found:
    centred = node.operands[0]
    powers, dims = run.reduced(run.node(node.operands[1], hlo.log).operands[0], "sum")
    run.same(run.node(powers, hlo.exponential).operands[0], centred)
    run.used[centred] += 1
    x, along = _centred(run, centred)
    run.same(along, dims)
    return group.log_softmax, [x], {"dimensions": dims}


def _logsumexp(run: _Run, node: Node) -> _Found:
    for logarithm, greatest in (node.operands, node.operands[::-1]):
        made = run.program.made.get(logarithm)
        if made is None or made.name != hlo.log.name:
            continue
        total = run.node(run.node(logarithm, hlo.log).operands[0], hlo.abs_).operands[0]
        powers, dims = run.reduced(total, "sum")
        centred = run.node(run.node(powers, hlo.exponential).operands[0], hlo.subtract)
        run.same(run.through(centred.operands[1]), greatest)
        finite = run.node(greatest, hlo.select)
        run.used[greatest] += 1
        x, along = run.reduced(finite.operands[1], "max")
        run.same(run.node(finite.operands[0], hlo.is_finite).operands[0], finite.operands[1])
        run.used[finite.operands[1]] += 1
        run.same((x, along, run.number(finite.operands[2])), (centred.operands[0], dims, 0))
        run.same(_kept(run, x, dims, node.results[0]), False)
        return idiom.logsumexp, [x], {"dimensions": dims}
    raise _Other


def _sigmoid_of(run: _Run, node: Node) -> int:
    run.same(run.number(node.operands[0]), 1)
    powers = run.node(run.other(run.node(node.operands[1], hlo.add), 1), hlo.exponential)
    return run.node(powers.operands[0], hlo.negate).operands[0]


def _sigmoid(run: _Run, node: Node) -> _Found:
    return idiom.sigmoid, [_sigmoid_of(run, node)], {}


def _silu(run: _Run, node: Node) -> _Found:
    for x, gate in (node.operands, node.operands[::-1]):
        made = run.program.made.get(gate)
        if made is not None and made.name in (idiom.sigmoid.name, hlo.logistic.name):
            run.same(run.node(gate, idiom.sigmoid, hlo.logistic).operands[0], x)
            return group.silu, [x], {}
    raise _Other


def _gelu(run: _Run, node: Node) -> _Found:
    """x * (0.5 * (1 + tanh(0.79… * (x + 0.044715 * x³)))), or 0.5 * x * erfc(-x / √2)."""
    x, rest = node.operands
    made = run.node(rest, hlo.multiply, chlo.erfc)
    if made.name == chlo.erfc.name:
        half = run.node(x, hlo.multiply)
        x = run.other(half, 0.5)
        scaled = run.node(made.operands[0], hlo.multiply)
        run.same(run.node(run.other(scaled, 0.5**0.5), hlo.negate).operands[0], x)
        return group.gelu, [x], {"variant": 1}
    tanh = run.node(run.other(run.node(run.other(made, 0.5), hlo.add), 1), hlo.tanh)
    total = run.node(run.other(run.node(tanh.operands[0], hlo.multiply), 0.7978845608), hlo.add)
    run.same(total.operands[0], x)
    cube = run.node(run.other(run.node(total.operands[1], hlo.multiply), 0.044715), hlo.multiply)
    square = run.node(cube.operands[0] if cube.operands[1] == x else cube.operands[1], hlo.multiply)
    run.same((*square.operands, x in cube.operands), (x, x, True))
    return group.gelu, [x], {"variant": 0}


def _one_hot(run: _Run, node: Node) -> _Found:
    """Classes are counted in a new last dimension."""
    test = run.node(node.operands[0], hlo.compare)
    run.same(test.attrs["comparison_direction"], "EQ")
    shape = run.shape(node.results[0])
    for ids, classes in (test.operands, test.operands[::-1]):
        counting = run.program.made.get(_before(run, classes))
        if counting is None or counting.name != hlo.iota.name:
            continue
        source = run.through(ids)
        run.through(classes)
        spread = _place(run, classes, counting)
        run.same((spread, run.shape(source)), (len(shape) - 1, shape[:-1]))
        run.same(_leading(run, ids, source), True)
        return idiom.one_hot, [source], {"classes": shape[-1]}
    raise _Other


def _before(run: _Run, value: int) -> int:
    """A value before broadcasts, which are not counted."""
    made = run.program.made.get(value)
    while made is not None and made.name in _SHAPES:
        value = made.operands[0]
        made = run.program.made.get(value)
    return value


def _place(run: _Run, value: int, counting: Node) -> int:
    """The dimension of a value along which an iota counts."""
    made = run.program.made[value]
    if made is counting:
        return cast(int, counting.attrs["iota_dimension"])
    if made.name != hlo.broadcast_in_dim.name:
        raise _Other
    return cast(Dims, made.attrs["broadcast_dimensions"])[_place(run, made.operands[0], counting)]


def _leading(run: _Run, value: int, source: int) -> bool:
    """Whether a value repeats its source along new last dimensions."""
    if value == source:
        return True
    made = run.program.made[value]
    rank = len(run.shape(made.operands[0]))
    if made.name == hlo.broadcast_in_dim.name and made.attrs["broadcast_dimensions"] != tuple(range(rank)):
        return False
    return made.name == hlo.broadcast_in_dim.name and _leading(run, made.operands[0], source)


def _take_along(run: _Run, node: Node) -> _Found:
    """Rows by indices that count from the end if negative, and NaN where there is none."""
    found, rows, fill = node.operands
    run.same(isnan(run.number(fill)), True)
    gather = run.node(rows, hlo.gather)
    table, places = gather.operands
    shape, result = run.shape(table), run.shape(node.results[0])
    dims = cast(GatherDims, gather.attrs["dimension_numbers"])
    (axis,) = dims.start_index_map if len(dims.start_index_map) == 1 else (-1,)
    others = tuple(dim for dim in range(len(shape)) if dim != axis)
    wanted = GatherDims((), (axis,), others, others, (axis,), len(shape))
    run.same((dims, gather.attrs["slice_sizes"]), (wanted, (1,) * len(shape)))
    run.same((run.shape(rows), run.shape(places)), (result, (*result, 1)))
    inside = run.node(found, hlo.reduce)
    run.same(
        (combiner(inside.regions[0], run.program.graph), inside.attrs["dimensions"]), ("and", (len(shape),))
    )
    run.same(bool(run.number(inside.operands[1])), True)
    bounds = [run.node(value, hlo.compare) for value in run.node(inside.operands[0], hlo.and_).operands]
    for test, direction, bound in zip(bounds, ("GE", "LE"), (0, shape[axis] - 1), strict=True):
        run.same((test.operands[0], test.attrs["comparison_direction"]), (places, direction))
        run.same(run.number(test.operands[1]), bound)
        run.used[places] += 1
    ids = run.node(places, hlo.reshape).operands[0]
    run.same(run.shape(ids), result)
    return idiom.take_along, [table, _from_the_end(run, ids, shape[axis])], {"axis": axis}


def _from_the_end(run: _Run, ids: int, size: int) -> int:
    """What stands for itself plus the size where it is negative."""
    made = run.node(ids, hlo.select)
    test, more, plain = made.operands
    negative = run.node(test, hlo.compare)
    run.same((negative.operands[0], negative.attrs["comparison_direction"]), (plain, "LT"))
    run.same((run.number(negative.operands[1]), run.other(run.node(more, hlo.add), size)), (0, plain))
    return plain


def _isnan(run: _Run, node: Node) -> _Found:
    run.same(node.attrs["comparison_direction"], "NE")
    run.same(node.operands[0], node.operands[1])
    run.same(run.program.graph.type(node.operands[0]).dtype in ("f16", "bf16", "f32", "f64"), True)
    return idiom.isnan, [node.operands[0]], {}


def _matching(matcher: _Matcher) -> Callable[[Program, Node], Node | None]:
    def attempt(program: Program, node: Node) -> Node | None:
        run = _Run(program)
        try:
            definition, operands, attrs = matcher(run, node)
        except _Other:
            return None
        if not run.is_closed:
            return None
        return Node(node.id, definition.name, tuple(operands), node.results, attrs, (), node.loc)

    return attempt


MATCHERS = {
    hlo.add.name: (_matching(_logsumexp),),
    hlo.compare.name: (_matching(_isnan),),
    hlo.concatenate.name: (_matching(_roll),),
    hlo.convert.name: (_matching(_one_hot),),
    hlo.divide.name: tuple(map(_matching, (_softmax, _var, _mean, _sigmoid))),
    hlo.minimum.name: (_matching(_clip),),
    hlo.multiply.name: tuple(map(_matching, (_silu, _gelu))),
    hlo.select.name: (_matching(_take_along),),
    hlo.subtract.name: (_matching(_log_softmax),),
}
"""What to try of a node, by its name, the largest first."""
