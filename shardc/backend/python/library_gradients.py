"""Derivatives of functions of jax.nn, as JAX's backward pass computes them from values of the forward pass.

    h = jax.nn.gelu(x); …; jax.vjp(jax.nn.gelu, x)[1](g)[0]

    g half + d + 0.044715 d (3 x²), where t = tanh(0.79… (x + 0.044715 x³)), half = 0.5 (1 + t),
        d = 0.79… (e + e t), e = 0.5 (x g) (1 - t), since JAX 0.12
        d = 0.79… 0.5 (x g) ((1 + t) (1 - t))                                gelu by tanh
    -(-1.12… (0.5 x g) exp(-s²) 0.70…) + 0.5 (g erfc(s)), s = -x 0.70…       gelu by erfc
    g s + x g (s (1 - s)), s the sigmoid of x                                silu
    (g / r - sum(g / r² e)) e, where e = exp(x - max x), r = sum(e)          softmax
    g + sum(-g) / r e                                                        log_softmax
    q e, where q = g / r; or g / |r|, and -q where r < 0                     logsumexp

JAX 0.12 takes exp(-s²) in two parts, and then gelu by erfc stays as it is written: the derivative of
jax.lax.erfc does not run in its jax.shard_map on values that vary.

A derivative is one only where the forward pass has the function, too: then what both share is in neither,
and XLA computes it once.
"""

from __future__ import annotations

from shardc.backend.python import group, idiom
from shardc.backend.python.library_logarithms import centred, finite_greatest
from shardc.backend.python.library_run import Dims, Found, Other, Run
from shardc.graph import Node
from shardc.ops import OpDef, chlo, hlo


def gelu_gradient(run: Run, node: Node) -> Found:
    """By tanh, or by erfc."""
    left = run.program.made.get(node.operands[0])
    by_erfc = left is not None and left.name == hlo.negate.name
    return (_by_erfc if by_erfc else _by_tanh)(run, Run(run.program), node)


def _by_tanh(run: Run, forward: Run, node: Node) -> Found:
    both = run.node(node.operands[0], hlo.add)
    g, half = run.node(both.operands[0], hlo.multiply).operands
    tanh = forward.other(forward.node(forward.other(forward.node(half, hlo.multiply), 0.5), hlo.add), 1)
    x = _cubed(forward, forward.node(tanh, hlo.tanh))
    d = both.operands[1]
    slope = run.node(run.other(run.node(d, hlo.multiply), 0.7978845608), hlo.add, hlo.multiply)
    if slope.name == hlo.add.name:
        e, rest = slope.operands
        run.same(run.node(rest, hlo.multiply).operands, (e, tanh))
        product, less = run.node(e, hlo.multiply).operands
        run.used[e] += 1  # used twice
    else:
        product, two = slope.operands
        more, less = run.node(two, hlo.multiply).operands
        run.same(forward.other(forward.node(more, hlo.add), 1), tanh)
    one, subtracted = run.node(less, hlo.subtract).operands
    run.same((run.number(one), subtracted), (1, tanh))
    run.same(
        sorted(run.node(run.other(run.node(product, hlo.multiply), 0.5), hlo.multiply).operands),
        sorted((x, g)),
    )
    scaled, tripled = run.node(node.operands[1], hlo.multiply).operands
    run.same(run.other(run.node(scaled, hlo.multiply), 0.044715), d)
    square = forward.node(run.other(run.node(tripled, hlo.multiply), 3), hlo.multiply)
    run.same(square.operands, (x, x))
    run.used[d] += 1  # used twice
    return _pulled(run, group.gelu, x, g, variant=0)


def _cubed(forward: Run, tanh: Node) -> int:
    """x of tanh(0.79… (x + 0.044715 x³))"""
    total = forward.node(forward.other(forward.node(tanh.operands[0], hlo.multiply), 0.7978845608), hlo.add)
    x = total.operands[0]
    cube = forward.node(forward.other(forward.node(total.operands[1], hlo.multiply), 0.044715), hlo.multiply)
    square = forward.node(cube.operands[0] if cube.operands[1] == x else cube.operands[1], hlo.multiply)
    forward.same((*square.operands, x in cube.operands), (x, x, True))
    return x


def _by_erfc(run: Run, forward: Run, node: Node) -> Found:
    inner = run.other(run.node(run.node(node.operands[0], hlo.negate).operands[0], hlo.multiply), 0.5**0.5)
    scaled, power = run.node(inner, hlo.multiply).operands
    product = run.node(run.other(run.node(scaled, hlo.multiply), -1.1283791671), hlo.multiply)
    exponent = run.node(run.node(power, hlo.exponential).operands[0], hlo.negate).operands[0]
    (s,) = run.node(exponent, chlo.square).operands
    g, erfc = run.node(run.other(run.node(node.operands[1], hlo.multiply), 0.5), hlo.multiply).operands
    run.same(forward.node(erfc, chlo.erfc).operands[0], s)
    x = forward.node(forward.other(forward.node(s, hlo.multiply), 0.5**0.5), hlo.negate).operands[0]
    half = product.operands[0] if product.operands[1] == g else product.operands[1]
    run.same((forward.other(forward.node(half, hlo.multiply), 0.5), g in product.operands), (x, True))
    return _pulled(run, group.gelu, x, g, variant=1)


def silu_gradient(run: Run, node: Node) -> Found:
    g, s = run.node(node.operands[0], hlo.multiply).operands
    forward = Run(run.program)
    (x,) = forward.node(s, idiom.sigmoid, hlo.logistic).operands
    product, slope = run.node(node.operands[1], hlo.multiply).operands
    run.same(sorted(run.node(product, hlo.multiply).operands), sorted((x, g)))
    one, less = run.node(slope, hlo.multiply).operands
    number, subtracted = run.node(less, hlo.subtract).operands
    run.same((one, run.number(number), subtracted), (s, 1, s))
    return _pulled(run, group.silu, x, g)


def softmax_gradient(run: Run, node: Node) -> Found:
    for whole, e in (node.operands, node.operands[::-1]):
        if not _is(run, whole, hlo.add) or not _is(run, e, hlo.exponential):
            continue
        x, dims = _power(run, e)
        for quotient, rest in _orders(run.node(whole, hlo.add)):
            if _is(run, quotient, hlo.divide):
                g, r = run.node(quotient, hlo.divide).operands
                _is_sum(run, r, e, dims)
                summed, along = run.reduced(run.node(rest, hlo.negate).operands[0], "sum")
                run.same(along, dims)
                product = run.node(summed, hlo.multiply)
                scaled = run.node(_beside(product, e), hlo.multiply)
                one, square = run.node(_beside(scaled, g), hlo.divide).operands
                run.same(run.number(one), 1)
                for factor in run.node(square, hlo.multiply).operands:
                    run.same(run.before_shapes(factor), run.before_shapes(r))
                return _pulled(run, group.softmax, x, g, dimensions=dims)
    raise Other


def log_softmax_gradient(run: Run, node: Node) -> Found:
    for g, rest in _orders(node):
        if not _is(run, rest, hlo.multiply):
            continue
        for ratio, e in _orders(run.node(rest, hlo.multiply)):
            if _is(run, ratio, hlo.divide) and _is(run, e, hlo.exponential):
                x, dims = _power(run, e)
                summed, r = run.node(ratio, hlo.divide).operands
                _is_sum(run, r, e, dims)
                negative, along = run.reduced(summed, "sum")
                run.same((along, run.node(negative, hlo.negate).operands[0]), (dims, g))
                return _pulled(run, group.log_softmax, x, g, dimensions=dims)
    raise Other


def logsumexp_gradient(run: Run, node: Node) -> Found:
    for quotient, e in _orders(node):
        if not _is(run, e, hlo.exponential):
            continue
        forward = Run(run.program)
        x, spread = forward.node(forward.node(e, hlo.exponential).operands[0], hlo.subtract).operands
        if _is(run, quotient, hlo.add):
            g, r = _by_sign(run, forward, run.node(quotient, hlo.add))
        elif _is(run, quotient, hlo.divide):
            g, r = run.node(quotient, hlo.divide).operands
        else:
            continue
        along = finite_greatest(forward, forward.through(spread), x)
        _is_sum(run, r, e, along)
        shape = tuple(size for dim, size in enumerate(run.shape(x)) if dim not in along)
        run.same(run.shape(g), shape)
        return _pulled(run, idiom.logsumexp, x, g, dimensions=along)
    raise Other


def _by_sign(run: Run, forward: Run, both: Node) -> tuple[int, int]:
    """g and r of q where r >= 0 and -q elsewhere, q = g / |r|"""
    above, below = both.operands
    test, q, zero = run.node(above, hlo.select).operands
    again, nothing, other = run.node(run.node(below, hlo.negate).operands[0], hlo.select).operands
    sign = run.node(test, hlo.compare)
    for value in (test, q):
        run.used[value] += 1  # used twice
    r, least = sign.operands
    g, size = run.node(q, hlo.divide).operands
    run.same((again, other, sign.attrs["comparison_direction"]), (test, q, "GE"))
    run.same({run.number(number) for number in (zero, nothing, least)}, {0})
    run.same(forward.node(size, hlo.abs_).operands[0], r)
    return g, r


def _power(run: Run, e: int) -> tuple[int, Dims]:
    """x of exp(x - max x), and the dimensions of that maximum."""
    forward = Run(run.program)
    return centred(forward, forward.node(e, hlo.exponential).operands[0])


def _is_sum(run: Run, r: int, e: int, dims: Dims) -> None:
    run.same(Run(run.program).reduced(r, "sum"), (e, dims))


def _orders(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return node.operands, node.operands[::-1]


def _beside(node: Node, value: int) -> int:
    """The operand of a commutative operation beside this one."""
    if value not in node.operands:
        raise Other
    return node.operands[0] if node.operands[1] == value else node.operands[1]


def _is(run: Run, value: int, definition: OpDef) -> bool:
    made = run.program.made.get(run.before_shapes(value))
    return made is not None and made.name == definition.name


def _pulled(run: Run, function: OpDef, x: int, g: int, **attrs: object) -> Found:
    graph = run.program.graph
    run.same(graph.type(x).dtype, graph.type(g).dtype)
    return idiom.pulled_back, [x, g], {"function": function.name, **attrs}
