"""A program whose devices hold no more than so many bytes at a time, as cheaply as can be found.

The bound is on the report's own peak: the program is compiled with measures that take less memory, and what
comes out is measured. The measures:

* *release*: variables end with their last use. This costs nothing and changes no communication.
* *split*: results that propagation leaves whole leave main split as the arguments of their types are, also
  where that sends more (open_results.py).
* *regather*: weights are gathered again for later uses, as few as are needed.
* *lean*: each change of layout takes the way of least memory.
* *apart*: collectives are not combined, where they otherwise would be: what is one is all there at once.

What fits without any is left as it is. Then release alone is tried, then it together with all sets of the
others; the cheapest that fits is taken, by time on the machine, or by bytes sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis.per_device import Peak
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.graph import Graph
from shardc.passes.pipeline import Options as ByPass
from shardc.passes.pipeline import run_to, saying
from shardc.planning.machines import Machine
from shardc.report.cost import Cost, cost_of
from shardc.report.show import amount

TRIALS = 24
"""Programs that are compiled to find which weights need not be gathered again."""
NAMED = 4
"""Arrays that an error names."""
COMBINED = "combine-collectives"
"""The pass that *apart* leaves out."""


class Measures(Struct, frozen=True):
    """What is done to take less memory. `kept` are the later uses of weights that do not gather again."""

    release: bool = False
    split: bool = False
    lean: bool = False
    regather: bool = False
    apart: bool = False
    kept: frozenset[int] = frozenset()

    def options(self, given: ByPass, told: Callable[[list[int]], None] | None = None) -> ByPass:
        """The options of passes with which a program is compiled so."""
        options: dict[str, Mapping[str, Any]] = dict(given)
        if self.split:
            options.update(saying(given, "insert-reshards", split_results=True))
        if self.lean:
            options["reshards-to-collectives"] = {"lean": True}
            options.update(saying(options, "insert-reshards", lean=True))
        if self.regather:
            options["regather"] = {"kept": self.kept, "told": told}
        if self.apart:
            options.pop(COMBINED, None)
        return {**options, "release": {}} if self.release else options


class _Trial(Struct, frozen=True):
    """A program compiled with some measures: its local module, what it costs, the copies gathered again."""

    measures: Measures
    graph: Graph
    cost: Cost
    again: tuple[int, ...]

    @property
    def peak(self) -> int:
        return self.cost.memory.peak

    def price(self) -> tuple[int, int, int]:
        """Time or bytes; equal ones by the memory."""
        return (self.cost.time.total_ns if self.cost.time else 0, self.cost.bytes, self.peak)


def within(
    module: ModuleOp, limit: int, options: ByPass, machine: Machine | None, peak: Callable[..., Peak]
) -> ByPass:
    """The options of passes with which no device holds more than `limit` bytes.

    `peak` measures a local module (backend.numpy.peak). ShardcError, with what is largest at the peak and the
    least that would do, if nothing tried fits.
    """
    start = module.clone()
    with collecting():
        run_to(make_context(), start, "sharded", options=options)

    def tried(measures: Measures) -> _Trial:
        return _tried(start.clone(), measures, options, machine, peak)

    trials: list[_Trial] = []
    for measures in _cheap_first():
        trials.append(tried(measures))
        if trials[-1].peak <= limit:
            return measures.options(options)
    trials += [tried(measures) for measures in _dear(COMBINED in options)]
    fitting = _distinct(trial for trial in trials if trial.peak <= limit)
    if not fitting:
        raise _too_much(min(trials, key=lambda trial: (trial.peak, trial.price())), limit, peak)
    best = min((_fewest(trial, limit, tried) for trial in fitting), key=_Trial.price)
    return best.measures.options(options)


def _cheap_first() -> Iterator[Measures]:
    """What sends no more."""
    yield Measures()
    yield Measures(release=True)


def _dear(combined: bool) -> Iterator[Measures]:
    """All sets of the others; `combined` says whether there is anything to leave apart."""
    for apart in (False, True) if combined else (False,):
        for split, regather, lean in product((False, True), repeat=3):
            if split or regather or lean or apart:
                yield Measures(True, split, lean, regather, apart)


def _distinct(trials: Iterable[_Trial]) -> list[_Trial]:
    """Without those in which more measures make no difference."""
    known: dict[object, _Trial] = {}
    for trial in trials:
        known.setdefault((trial.price(), trial.again), trial)
    return list(known.values())


def _tried(
    module: ModuleOp,
    measures: Measures,
    options: ByPass,
    machine: Machine | None,
    peak: Callable[..., Peak],
) -> _Trial:
    again: list[int] = []
    with collecting():
        run_to(make_context(), module, "local", "sharded", measures.options(options, again.extend))
        graph = snapshot(module).graph
        cost = cost_of(graph, peak(graph), machine)
    return _Trial(measures, graph, cost, tuple(again))


def _fewest(trial: _Trial, limit: int, tried: Callable[[Measures], _Trial]) -> _Trial:
    """The trial with as few copies gathered again as fit: the largest are kept first, in halves."""
    order = sorted(range(len(trial.again)), key=lambda number: (-trial.again[number], number))
    queue, left = [order] if order else [], TRIALS
    while queue and left:
        some, left = queue.pop(0), left - 1
        measures = replace(trial.measures, kept=trial.measures.kept | set(some))
        other = tried(measures)
        if other.peak <= limit:
            trial = other
        elif len(some) > 1:
            half = len(some) // 2
            queue += [some[:half], some[half:]]
    return trial


def _too_much(least: _Trial, limit: int, peak: Callable[..., Peak]) -> ShardcError:
    found = peak(least.graph, True)
    names = [f"{held.name} {held.type} of {amount(held.nbytes)}" for held in found.alive[:NAMED]]
    largest = f"the largest then are {', '.join(names)}; " if names else ""
    return ShardcError(
        f"a device holds {found.nbytes} bytes at least, and {limit} are allowed",
        found.where,
        f"{largest}allow {found.nbytes} (--memory), or split more tensors",
    )
