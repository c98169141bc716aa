"""The per-device program on emulated devices, against the single-device program in f64.

Both errors are measured against f64: that of the devices, and that of the single-device program in the
program's own dtypes. How far the devices may be off is said by tolerance.py.

What is smaller than that does not show, a term of 1e-8 of the result in f32. So the per-device program is
computed in f64 too (`in_f64`), and compared by what f64 rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shardc.graph import Graph
from shardc.interpret.compared import Array, Compared
from shardc.interpret.decisions import SAMPLES, nearby
from shardc.interpret.judge import Judge
from shardc.interpret.reference import Reference, Sampled
from shardc.interpret.run import run
from shardc.interpret.tolerance import FACTOR, UNIT, bounds
from shardc.interpret.wide import WIDER, run_wide, wide_graph, widened


def compare(
    reference: Reference,
    local: Graph,
    arrays: Sequence[Array],
    got: Sequence[Array] | None = None,
    *,
    in_f64: bool = False,
) -> list[Compared]:
    """Run the reference and the per-device program on the same arguments; one entry per result.

    `got` are the per-device program's results where it was run elsewhere. `in_f64`: what is as it should be
    is also compared as both programs are in f64.
    """
    exact = reference.exact(arrays)
    own, decisions = reference.own(arrays)
    got = run(local, arrays) if got is None else got
    types = local.types(local.main.body.results)
    limits = bounds(local)
    judges = [
        Judge(index, type, *three, limit, decisions.get(index, []))
        for index, (type, three, limit) in enumerate(
            zip(types, zip(exact, own, got, strict=True), limits, strict=True)
        )
    ]
    if any(judge.doubtful for judge in judges):
        _sample(reference.own, arrays, judges)
    wide = None
    if any(judge.spills.any() for judge in judges):
        wide = run_wide(local, arrays)
        for judge, array in zip(judges, wide, strict=True):
            judge.spilled = judge.spills & judge.near(array)
    found = [judge.verdict() for judge in judges]
    if not in_f64 or not _rounds(local) or not all(result.same for result in found):
        return found
    return _in_f64(reference, local, arrays, exact, wide or run_wide(local, arrays), found)


def _in_f64(
    reference: Reference,
    local: Graph,
    arrays: Sequence[Array],
    exact: Sequence[Array],
    wide: Sequence[Array],
    found: Sequence[Compared],
) -> list[Compared]:
    """The same results, with what a comparison in f64 says of those that are floats.

    One device is as far off in f64 as in its own dtype, times the ratio of the roundings, of which f32 has
    the least.
    """
    graph = wide_graph(local)
    types = graph.types(graph.main.body.results)
    ratio = FACTOR * UNIT["f64"] / UNIT["f32"]
    judges = [
        Judge(result.index, type, true, true, have, limit + ratio * result.own, [])
        for result, type, true, have, limit in zip(found, types, exact, wide, bounds(graph), strict=True)
    ]
    if any(judge.doubtful for judge in judges):
        _sample(reference.nearby, list(map(widened, arrays)), judges)
    return [
        result if judge.integers else replace(result, wide=judge.verdict(), alike=reference.alike)
        for result, judge in zip(found, judges, strict=True)
    ]


def _sample(sampled: Sampled, arrays: Sequence[Array], judges: Sequence[Judge]) -> None:
    """Tell the judges what one device gives for arguments nearby, with sums in other orders."""
    for seed in range(SAMPLES):
        results, found = sampled(nearby(arrays, seed), seed)
        for judge, sample in zip(judges, results, strict=True):
            judge.learn(sample, found.get(judge.index, []))


def _rounds(graph: Graph) -> bool:
    """Whether it computes with floats that are narrower than f64."""
    return any(value.type.dtype in WIDER for value in graph.values)
