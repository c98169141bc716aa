"""Factors of matrices by LAPACK with the tests around it, as runs of nodes: `jnp.linalg.cholesky`.

factor, info = potrf((x + x.T) / 2)
where(row >= column, where(info == 0, factor, nan), 0)    ->  jnp.linalg.cholesky(x)
"""

from __future__ import annotations

from math import isnan
from typing import cast

from shardc.backend.python import idiom
from shardc.backend.python.library_run import Dims, Found, Other, Run
from shardc.graph import Node, is_complex
from shardc.ops import hlo
from shardc.semantics.lapack import options_of, routine


def cholesky(run: Run, node: Node) -> Found:
    """What the routine says it has found, else NaN. Above the diagonal JAX's function has zeros."""
    found, factor, fill = node.operands
    test = run.node(found, hlo.compare)
    made = run.node(factor, hlo.custom_call)
    run.same(run.node(test.operands[0], hlo.custom_call), made)
    run.same((factor, test.operands[0]), tuple(made.results))
    run.same((test.attrs["comparison_direction"], run.number(test.operands[1])), ("EQ", 0))
    run.same(routine(str(made.attrs["call_target_name"])), "potrf")
    run.same(options_of(made.attrs).get("uplo"), ord("L"))
    run.same(isnan(run.number(fill)), True)
    try:
        again = Run(run.program)
        whole = _symmetrized(again, made.operands[0])
        run.same(again.is_closed, True)
    except Other:
        return idiom.cholesky, made.operands, {"symmetrizes": False}
    for value, uses in again.used.items():
        run.used[value] += uses
    return idiom.cholesky, [whole], {"symmetrizes": True}


def symmetrized(run: Run, node: Node) -> Found:
    """Eigenvectors of a matrix and its transpose's mean."""
    run.same((node.attrs["routine"], "symmetrizes" in node.attrs), ("syevd", False))
    return idiom.factors, [_symmetrized(run, node.operands[0])], {**node.attrs, "symmetrizes": True}


def triangular_cholesky(run: Run, node: Node) -> Found:
    """Zeros above the diagonal where there are such."""
    mask, factor, zero = node.operands
    made = run.node(factor, idiom.cholesky)
    run.same((made.results[0], run.number(zero)), (factor, 0))
    test = Run(run.program).node(mask, hlo.compare)
    run.same(test.attrs["comparison_direction"], "GE")
    rank = len(run.shape(factor))
    for side, dim in zip(test.operands, (rank - 2, rank - 1), strict=True):
        run.same(_counted(run, mask, test.results[0], side), dim)
    return idiom.cholesky, made.operands, dict(made.attrs)


def _symmetrized(run: Run, value: int) -> int:
    """x of (x + x.T) / 2."""
    mean = run.node(value, hlo.divide)
    total = run.node(mean.operands[0], hlo.add)
    turned = run.node(total.operands[1], hlo.transpose)
    (x,) = turned.operands
    rank = len(run.shape(x))
    order = (*range(rank - 2), rank - 1, rank - 2)
    run.same(
        (mean.results[0], total.operands, turned.attrs["permutation"]), (value, (x, turned.results[0]), order)
    )
    run.same((run.number(mean.operands[1]), is_complex(run.program.graph.type(x).dtype)), (2, False))
    return x


def _counted(run: Run, value: int, test: int, side: int) -> int:
    """The dimension of `value`, which repeats a test, along which a side of the test counts."""
    place = side
    ways = list[Dims]()
    for source, stop in ((value, test), (side, -1)):
        place = source
        while place != stop:
            made = run.program.made.get(place)
            if made is None or made.name == hlo.iota.name:
                break
            run.same(made.name, hlo.broadcast_in_dim.name)
            ways.append(cast(Dims, made.attrs["broadcast_dimensions"]))
            place = made.operands[0]
    made = run.program.made.get(place)
    if made is None or made.name != hlo.iota.name:
        raise Other
    dim = cast(int, made.attrs["iota_dimension"])
    for way in reversed(ways):
        dim = way[dim]
    return dim
