"""Runs of nodes that are one function of jax.numpy or jax.nn, made one node.

    minimum(hi, maximum(lo, x))                           ->  idiom.clip         jnp.clip(x, lo, hi)
    concatenate(x[:, k:], x[:, :k])                       ->  idiom.roll         jnp.roll(x, -k, axis=1)
    sum(x) / count                                        ->  group.mean         jnp.mean(x, axis=1)
    sum((x - mean(x)) ** 2) / count                       ->  idiom.var          jnp.var(x, axis=1)
    exp(x - max x) / its sum, and its logarithm           ->  group.softmax, group.log_softmax
    log(sum(exp(x - max x))) + max x                      ->  idiom.logsumexp    jax.nn.logsumexp(x, axis=1)
    max(x, y) + log1p(exp(-abs(x - y)))                   ->  idiom.logaddexp    jnp.logaddexp(x, y)
    the same of y = 0                                     ->  group.softplus     jax.nn.softplus(x)
    1 / (1 + exp(-x)), x times that                       ->  idiom.sigmoid, group.silu
    0.5 x (1 + tanh(0.79… (x + 0.044715 x³)))             ->  group.gelu         jax.nn.gelu(x)
    derivatives of these in a backward pass               ->  idiom.pulled_back  jax.vjp(jax.nn.gelu, x)
    ids[:, None] == arange(n) as numbers                  ->  idiom.one_hot      jax.nn.one_hot(ids, n)
    x != x                                                ->  idiom.isnan        jnp.isnan(x)
    LAPACK's factor where it says that it found one       ->  idiom.cholesky     jnp.linalg.cholesky(x)
    gather along one dimension, clipped or NaN beyond it  ->  idiom.take_along   jnp.take_along_axis
    gather of whole slices, NaN beyond the ends           ->  idiom.take_filled  jnp.take(x, ids, axis=0)
    the same at one place                                 ->  idiom.item         x[:, 3]
    scatter of whole slices, not beyond the ends          ->  idiom.put          x.at[:, i].set(v)
    gather at indices of several dimensions               ->  idiom.elements     y[jnp.arange(4), j]
    scatter at indices of several dimensions              ->  idiom.put_elements y.at[i, j].set(v)
    scatter at one known place                            ->  idiom.put_slices   y.at[:, 2:4].set(v)
    eye, linspace, repeat, stack, tile                    ->  library_arrays.py
    argsort, bincount, searchsorted                       ->  library_order.py, library_search.py

A run is one only if nothing else uses what is inside, and the author named nothing of it. What a device holds
decides: a mean over a split dimension divides by another count, and stays as it is.
"""

from __future__ import annotations

from math import prod
from typing import cast

from shardc.backend.python import group, idiom
from shardc.backend.python.library_arrays import eye, eye_of_numbers, linspace, listed, repeated, stack
from shardc.backend.python.library_elements import (
    elements,
    elements_by_numbers,
    put_elements,
    put_elements_by_numbers,
    put_slices,
)
from shardc.backend.python.library_factors import cholesky, symmetrized, triangular_cholesky
from shardc.backend.python.library_gradients import (
    gelu_gradient,
    log_softmax_gradient,
    logsumexp_gradient,
    silu_gradient,
    softmax_gradient,
)
from shardc.backend.python.library_indexing import (
    put,
    take_along,
    take_along_clipped,
    take_filled,
    take_rows_clipped,
)
from shardc.backend.python.library_logarithms import centred, log_softmax, logaddexp, logsumexp
from shardc.backend.python.library_order import bincount
from shardc.backend.python.library_run import Dims, Found, Other, Run, kept, matching
from shardc.backend.python.library_search import searchsorted
from shardc.backend.python.library_windows import sliced_each, updated_each
from shardc.graph import Node, is_float
from shardc.ops import chlo, hlo


def _clip(run: Run, node: Node) -> Found:
    for high, inner in (node.operands, node.operands[::-1]):
        if run.program.splat(high) is not None:
            made = run.node(inner, hlo.maximum)
            run.same(len(run.used), 1)
            for low, x in (made.operands, made.operands[::-1]):
                if run.program.splat(low) is not None:
                    return idiom.clip, [x, low, high], {}
    raise Other


def _roll(run: Run, node: Node) -> Found:
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


def _mean_of(run: Run, node: Node) -> tuple[int, Dims]:
    """What a division takes the mean of, and over which dimensions."""
    run.same(run.program.graph.type(node.results[0]).dtype in ("f32", "f64"), True)
    x, dims = run.reduced(node.operands[0], "sum")
    run.same(run.number(node.operands[1]), prod(run.shape(x)[dim] for dim in dims))
    return x, dims


def _mean(run: Run, node: Node) -> Found:
    x, dims = _mean_of(run, node)
    return group.mean, [x], {"dimensions": dims, "keepdims": kept(run, x, dims, node.results[0])}


def _var(run: Run, node: Node) -> Found:
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
    keepdims = kept(run, x, dims, node.results[0])
    return idiom.var, [x], {"dimensions": dims, "keepdims": keepdims}


def _rounded(run: Run, node: Node) -> Found:
    """A sum, mean or variance of wider floats, of which the narrow ones are made again. A variance reads the
    wider ones twice.
    """
    narrow = run.program.graph.type(node.results[0]).dtype
    run.same(narrow in ("bf16", "f16"), True)
    made = run.node(node.operands[0], hlo.reduce, idiom.keepdims, group.mean, idiom.var)
    function = {group.mean.name: "mean", idiom.var.name: "var"}.get(made.name, "sum")
    if function == "sum":
        wide, dims = Run(run.program).reduced(made.results[0], "sum")
    else:
        wide, dims = made.operands[0], cast(Dims, made.attrs["dimensions"])
    widened = Run(run.program).node(wide, hlo.convert)
    (x,) = widened.operands
    run.same([made.results[0], widened.results[0]], [node.operands[0], wide])
    run.same([run.program.graph.type(value).dtype for value in (x, wide)], [narrow, "f32"])
    keepdims = kept(run, x, dims, node.results[0])
    return idiom.rounded, [x], {"function": function, "dimensions": dims, "keepdims": keepdims}


def _softmax(run: Run, node: Node) -> Found:
    powers = run.node(node.operands[0], hlo.exponential)
    summed, dims = run.reduced(node.operands[1], "sum")
    run.same(summed, node.operands[0])
    run.used[summed] += 1
    x, along = centred(run, powers.operands[0])
    run.same(along, dims)
    return group.softmax, [x], {"dimensions": dims}


def _sigmoid_of(run: Run, node: Node) -> int:
    run.same(run.number(node.operands[0]), 1)
    powers = run.node(run.other(run.node(node.operands[1], hlo.add), 1), hlo.exponential)
    return run.node(powers.operands[0], hlo.negate).operands[0]


def _sigmoid(run: Run, node: Node) -> Found:
    return idiom.sigmoid, [_sigmoid_of(run, node)], {}


def _silu(run: Run, node: Node) -> Found:
    for x, gate in (node.operands, node.operands[::-1]):
        made = run.program.made.get(gate)
        if made is not None and made.name in (idiom.sigmoid.name, hlo.logistic.name):
            run.same(run.node(gate, idiom.sigmoid, hlo.logistic).operands[0], x)
            return group.silu, [x], {}
    raise Other


def _gelu(run: Run, node: Node) -> Found:
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


def _one_hot(run: Run, node: Node) -> Found:
    """Classes are counted in a new last dimension."""
    test = run.node(node.operands[0], hlo.compare)
    run.same(test.attrs["comparison_direction"], "EQ")
    shape = run.shape(node.results[0])
    for ids, classes in (test.operands, test.operands[::-1]):
        counting = run.program.made.get(run.before_shapes(classes))
        if counting is None or counting.name != hlo.iota.name:
            continue
        source = run.through(ids)
        run.through(classes)
        spread = _place(run, classes, counting)
        run.same((spread, run.shape(source)), (len(shape) - 1, shape[:-1]))
        run.same(_leading(run, ids, source), True)
        return idiom.one_hot, [source], {"classes": shape[-1]}
    raise Other


def _place(run: Run, value: int, counting: Node) -> int:
    """The dimension of a value along which an iota counts."""
    made = run.program.made[value]
    if made is counting:
        return cast(int, counting.attrs["iota_dimension"])
    if made.name != hlo.broadcast_in_dim.name:
        raise Other
    return cast(Dims, made.attrs["broadcast_dimensions"])[_place(run, made.operands[0], counting)]


def _leading(run: Run, value: int, source: int) -> bool:
    """Whether a value repeats its source along new last dimensions."""
    if value == source:
        return True
    made = run.program.made[value]
    rank = len(run.shape(made.operands[0]))
    if made.name == hlo.broadcast_in_dim.name and made.attrs["broadcast_dimensions"] != tuple(range(rank)):
        return False
    return made.name == hlo.broadcast_in_dim.name and _leading(run, made.operands[0], source)


def _isnan(run: Run, node: Node) -> Found:
    run.same(node.attrs["comparison_direction"], "NE")
    run.same(node.operands[0], node.operands[1])
    run.same(is_float(run.program.graph.type(node.operands[0]).dtype), True)
    return idiom.isnan, [node.operands[0]], {}


MATCHERS = {
    hlo.add.name: (matching(logsumexp), *map(matching, (gelu_gradient, silu_gradient, log_softmax_gradient))),
    hlo.compare.name: tuple(map(matching, (_isnan, eye))),
    hlo.concatenate.name: tuple(map(matching, (_roll, linspace))),
    hlo.convert.name: tuple(map(matching, (_one_hot, eye_of_numbers, searchsorted, _rounded))),
    hlo.divide.name: tuple(map(matching, (_softmax, _var, _mean, _sigmoid))),
    idiom.factors.name: (matching(symmetrized),),
    hlo.gather.name: tuple(
        map(matching, (take_along_clipped, elements, take_rows_clipped, elements_by_numbers))
    ),
    hlo.minimum.name: (matching(_clip),),
    hlo.multiply.name: tuple(map(matching, (_silu, _gelu, softmax_gradient, logsumexp_gradient))),
    hlo.reshape.name: (matching(repeated),),
    hlo.scatter.name: tuple(
        map(matching, (bincount, put, put_elements, put_slices, put_elements_by_numbers))
    ),
    hlo.select.name: tuple(
        map(matching, (logaddexp, take_along, take_filled, cholesky, triangular_cholesky))
    ),
    hlo.subtract.name: (matching(log_softmax),),
}
"""What to try of a node, by its name, the largest first."""

LAST = {
    hlo.concatenate.name: (matching(listed), matching(stack)),
    hlo.gather.name: (matching(sliced_each),),
    hlo.scatter.name: (matching(updated_each),),
}
"""What to try when all else is found: indices of gathers and scatters are columns that are joined, too, and
windows of size 1 are elements.
"""
