"""Runs of nodes that are a logarithm of a sum of powers, or end in one: see library_idioms."""

from __future__ import annotations

from shardc.backend.python import group, idiom
from shardc.backend.python.library_run import Dims, Found, Other, Run, kept
from shardc.graph import Node, has_infinities
from shardc.ops import hlo


def centred(run: Run, value: int) -> tuple[int, Dims]:
    """x and the dimensions along which its greatest is subtracted; JAX's functions find that from -inf on."""
    made = run.node(value, hlo.subtract)
    x, dims = Run(run.program).reduced(made.operands[1], "max")  # which others may use, too
    run.same(has_infinities(run.program.graph.type(x).dtype), True)
    run.same(x, made.operands[0])
    run.same(len(dims), 1)
    return x, dims


def log_softmax(run: Run, node: Node) -> Found:
    """x - max x - log(sum(exp(x - max x)))"""
    less = node.operands[0]
    powers, dims = run.reduced(run.node(node.operands[1], hlo.log).operands[0], "sum")
    run.same(run.node(powers, hlo.exponential).operands[0], less)
    run.used[less] += 1
    x, along = centred(run, less)
    run.same(along, dims)
    return group.log_softmax, [x], {"dimensions": dims}


def logsumexp(run: Run, node: Node) -> Found:
    """log(sum(exp(x - max x))) + max x, where that maximum is finite or else 0; or of the sum's size"""
    for logarithm, greatest in (node.operands, node.operands[::-1]):
        made = run.program.made.get(logarithm)
        if made is None or made.name != hlo.log.name:
            continue
        total = without_size(run, run.node(logarithm, hlo.log).operands[0])
        powers, dims = run.reduced(total, "sum")
        less = run.node(run.node(powers, hlo.exponential).operands[0], hlo.subtract)
        run.same(run.through(less.operands[1]), greatest)
        x = less.operands[0]
        run.same(finite_greatest(run, greatest, x), dims)
        run.used[greatest] += 1
        run.same(kept(run, x, dims, node.results[0]), False)
        return idiom.logsumexp, [x], {"dimensions": dims}
    raise Other


def without_size(run: Run, value: int) -> int:
    """What a size is of: the value itself, if it is no absolute value."""
    made = run.program.made.get(run.before_shapes(value))
    return run.node(value, hlo.abs_).operands[0] if made and made.name == hlo.abs_.name else value


def finite_greatest(run: Run, value: int, x: int) -> Dims:
    """Along which dimensions a value is the greatest of x, where that is finite, and else 0."""
    finite = run.node(value, hlo.select)
    greatest = finite.operands[1]
    found, dims = Run(run.program).reduced(greatest, "max")  # which others may use, too
    run.same(run.node(finite.operands[0], hlo.is_finite).operands[0], greatest)
    run.same((found, run.number(finite.operands[2])), (x, 0))
    return dims


def logaddexp(run: Run, node: Node) -> Found:
    """max(x, y) + log1p(exp(-abs(x - y))), and x + y where x - y is no number; with y = 0 softplus"""
    test, both, else_ = node.operands
    difference = run.node(test, idiom.isnan).operands[0]
    total = run.node(else_, hlo.add)
    for greatest, logarithm in (total.operands, total.operands[::-1]):
        made = run.program.made.get(logarithm)
        if made is None or made.name != hlo.log_plus_one.name:
            continue
        powers = run.node(run.node(logarithm, hlo.log_plus_one).operands[0], hlo.exponential)
        negated = run.node(powers.operands[0], hlo.negate)
        size = Run(run.program).node(negated.operands[0], hlo.abs_)  # which others may use, too
        run.same(size.operands[0], difference)
        maximum = Run(run.program).node(greatest, hlo.maximum)  # a relu, which others may use
        if difference in maximum.operands:
            return _softplus(run, difference, maximum, both)
        of = run.node(difference, hlo.subtract).operands
        run.used[difference] += 2
        run.same((sorted(maximum.operands), sorted(run.node(both, hlo.add).operands)), (sorted(of),) * 2)
        return idiom.logaddexp, of, {}
    raise Other


def _softplus(run: Run, x: int, maximum: Node, both: int) -> Found:
    """x - 0 is written x, and so may x + 0 be, where x is not -0.0 (a product)."""
    run.same(run.other(maximum, 0), x)
    if both != x:
        made = run.node(both, hlo.add, idiom.same)
        run.same(made.operands[0] if made.name == idiom.same.name else run.other(made, 0), x)
    return group.softplus, [x], {}
