"""The loop of jnp.searchsorted: places are halved until each number has its own.

mid = low + (high - low) // 2
low, high = where(v <= a[mid], low, mid), where(v <= a[mid], mid, high)    from 0 and n on, log2(n + 1) times
"""

from __future__ import annotations

from math import ceil, log2

from shardc.analysis.loops import counted
from shardc.backend.python import idiom
from shardc.backend.python.library_run import Found, Other, Run
from shardc.graph import Node, Region, is_float
from shardc.ops import hlo

_SIDES = {"LE": "left", "LT": "right"}


def searchsorted(run: Run, node: Node) -> Found:
    """Of the last conversion; nobody sees what else the loop carries."""
    (found,) = node.operands
    loop = run.program.made.get(found)
    if loop is None or loop.name != hlo.while_.name:
        raise Other
    counts = counted(loop, run.program.constants)
    run.same((len(loop.results), run.program.graph.type(node.results[0]).dtype), (3, "i32"))
    run.same([run.program.count.get(r, 0) for r in loop.results], [int(r == found) for r in loop.results])
    high = loop.results.index(found)
    (low, *others) = [at for at in range(3) if counts is not None and at not in (high, counts.index)]
    run.same(others, [])
    table, numbers, side = _halved(Run(run.program), loop.regions[1], low, high)
    n = run.shape(table)[0]
    run.same(counts and counts.trips, ceil(log2(n + 1)))
    run.same([run.number(loop.operands[at]) for at in (low, high)], [0, n])
    return idiom.searchsorted, [table, numbers], {"side": side}


def _halved(run: Run, body: Region, low: int, high: int) -> tuple[int, int, str]:
    """The sorted numbers, those that are looked for, and the side of equal ones."""
    test, middle, rest = run.node(body.results[high], hlo.select).operands
    run.same(rest, body.args[high])
    run.same(run.node(body.results[low], hlo.select).operands, (test, body.args[low], middle))
    first, half = run.node(middle, hlo.add).operands
    distance, two = run.node(half, hlo.divide, idiom.floor_divide).operands
    run.same((first, run.number(two)), (body.args[low], 2))
    run.same(run.node(distance, hlo.subtract).operands, (body.args[high], body.args[low]))
    compared = run.node(test, hlo.compare)
    v, element = (_plain(run, side) for side in compared.operands)
    take = run.node(element, idiom.take)
    table, places = take.operands
    run.same((run.before_shapes(places), len(run.shape(table))), (middle, 1))
    run.same(run.shape(v), run.shape(middle))
    run.same(any(v in each.results for each in body.nodes) or v in body.args, False)
    side = _SIDES.get(str(compared.attrs["comparison_direction"]))
    if side is None:
        raise Other
    return table, v, side


def _plain(run: Run, value: int) -> int:
    """A number before zeros are made equal, and NaNs, as JAX does before it compares."""
    if not is_float(run.program.graph.type(value).dtype):
        return value
    test, _, zeros = run.node(value, hlo.select).operands
    is_zero, zero, x = run.node(zeros, hlo.select).operands
    run.same(run.node(test, idiom.isnan).operands[0] in (x, zeros), True)
    equal = run.node(is_zero, hlo.compare)
    run.same((equal.operands[0], equal.attrs["comparison_direction"]), (x, "EQ"))
    run.same((run.number(equal.operands[1]), run.number(zero)), (0, 0))
    return x
