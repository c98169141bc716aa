"""Which passes run when: text -> ir -> sharded -> collectives -> local.

The module is verified where it comes in (by the reader) and where it goes out. With `verify_each`, or where
the environment sets SHARDC_VERIFY_EACH, it is verified after every pass as well, and each graph that passes
share is compared with a fresh one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from shardc.collector import no_garbage_collection
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.wellformed import verify
from shardc.passes.graph_pass import GraphPass
from shardc.passes.running import FOLDING, OUTLINING, Entry, Options, Run

if TYPE_CHECKING:
    from shardc.rewrite.folding.skeleton import Skeleton
    from shardc.rewrite.folding.weight import Weigh

PIPELINE = (
    Entry("sharded", "inline-calls"),
    Entry("sharded", "require-runnable"),
    Entry("sharded", "drop-open-constraints"),
    Entry("sharded", "name-axes"),
    Entry("sharded", "keep-blocks"),
    Entry("sharded", "hoist-invariants"),
    Entry("sharded", "hoist-computations"),
    Entry("sharded", "batch-indices"),
    Entry("sharded", "unify-meshes"),
    Entry("sharded", "fold-layers"),
    Entry("sharded", "propagate"),
    Entry("sharded", "unmerge-dimensions"),
    Entry("sharded", "check"),
    Entry("collectives", "require-rules"),
    Entry("collectives", "drop-unused"),
    Entry("collectives", "join-padded"),
    Entry("collectives", "slice-parts"),
    Entry("collectives", "pad-windows"),
    Entry("collectives", "fold-padding"),
    Entry("collectives", "update-in-shape"),
    Entry("collectives", "index-windows"),
    Entry("collectives", "join-slices"),
    Entry("collectives", "reduce-in-shape"),
    Entry("collectives", "insert-reshards"),
    Entry("collectives", "reshards-to-collectives"),
    Entry("local", "localize"),
    Entry("local", "declare-partials"),
    Entry("local", "check"),
    Entry("local", "drop-unit-axes"),
    Entry("local", "share-collectives"),
    Entry("local", "regather", by_option=True),
    Entry("local", "gather-late"),
    Entry("local", "sink-collectives"),
    Entry("local", "overlap", by_option=True),
    Entry("local", "combine-collectives", by_option=True),
    Entry("local", "stage-collectives", by_option=True),
    Entry("local", "stack-exchanges", by_option=True, layerwise=True),
    Entry("local", "release", by_option=True),
    Entry("local", "outline-calls"),
    Entry("local", "outline-repeats"),
    Entry("local", "unfold-layers"),
    Entry("local", "simplify-local"),
)
"""All passes, in the order in which they run."""

STAGES: dict[str, tuple[str, ...]] = {
    stage: tuple(entry.name for entry in PIPELINE if entry.stage == stage)
    for stage in ("ir", "sharded", "collectives", "local")
}
"""Stage name -> the passes that lead to it from the stage before."""

READING = (OUTLINING, "outline-repeats")
"""The passes that change nothing that a program takes: they are for who reads it."""

PLANNING = "insert-reshards"

PREPARING = tuple(takewhile(lambda name: name != PLANNING, STAGES["collectives"]))
"""The passes between the stage "sharded" and PLANNING."""

COMPUTING = "simplify-local"
"""The last pass, the only one to which it matters which numbers a program has, beside which are equal."""

PASSES: dict[str, Callable[[], type[GraphPass]]] = {entry.name: entry.load for entry in PIPELINE}
"""Pass name -> a function that imports it."""


def saying(options: Options, name: str, **more: object) -> Options:
    """The options, and more that they say to a pass."""
    return {**options, name: {**options.get(name, {}), **more}}


def run_to(
    context: Context,
    module: ModuleOp,
    stage: str,
    start: str = "ir",
    options: Options | None = None,
    verify_each: bool | None = None,
    without: Collection[str] = (),
    verified: bool = True,
    skeleton: Skeleton | None = None,
    weigh: Weigh | None = None,
) -> None:
    """Take a module from the end of stage `start` to that of `stage`, and verify what comes out, if it is to
    be `verified`.

    `verify_each` is what the environment says, unless given. Passes `without` which it goes are none of those
    that fold. skeleton: that of the module, where what was made of it may be kept. weigh: of a folded program
    it is noted how much work it is (rewrite/folding/weight.py). ShardcError if the program is wrong.
    """
    each = _each() if verify_each is None else verify_each
    stages, options = list(STAGES), options or {}
    wanted = stages[stages.index(start) + 1 : stages.index(stage) + 1]
    asked = [e for e in PIPELINE if e.stage in wanted and e.name not in without]
    entries = [e for e in asked if e.name in options or not e.by_option]
    run = Run(SharedGraph(module, checked=each), options, each, weigh)
    with no_garbage_collection():
        if start == "ir" and stage == "local":
            run.folding(entries, skeleton)
        else:
            run.plainly(entries)
        if verified:
            verify(module)


def run_between(module: ModuleOp, first: str, behind: str) -> None:
    """Run the passes from the first one named so to the last before `behind`, but for those by option, on all
    layers. They share what they see of the module."""
    names, each = [entry.name for entry in PIPELINE], _each()
    entries = PIPELINE[names.index(first) : names.index(behind)]
    with no_garbage_collection():
        Run(SharedGraph(module, checked=each), {}, each).plainly([e for e in entries if not e.by_option])


def prepare(module: ModuleOp, options: Options) -> bool:
    """Run the passes on the way to the stage "local" that come before PLANNING; whether on all layers. If
    not, few of many equal ones stand for all."""
    entries = PIPELINE[: [entry.name for entry in PIPELINE].index(PLANNING)]
    entries = [entry for entry in entries if entry.name in options or not entry.by_option]
    at = [entry.name for entry in entries].index(FOLDING[0])
    each = _each()
    run = Run(SharedGraph(module, checked=each), options, each)
    with no_garbage_collection():
        run.plainly(entries[:at])
        few = run.fold(entries[at])
        run.plainly(entries[at + 1 :])
    return not few


def across(options: Options) -> tuple[str, ...]:
    """The passes by option, of these options, that look across layers."""
    return tuple(entry.name for entry in PIPELINE if entry.across and entry.name in options)


def compute(module: ModuleOp, told: Callable[[Sequence[Any]], None] | None = None) -> None:
    """Run the pass COMPUTING on a module that run_to took to the end without it; verify what comes out.

    told: as that pass has it.
    """
    (entry,) = (entry for entry in PIPELINE if entry.name == COMPUTING)
    each = _each()
    with no_garbage_collection():
        options = {} if told is None else {COMPUTING: {"told": told}}
        Run(SharedGraph(module, checked=each), options, each).plainly([entry])
        verify(module)


def _each() -> bool:
    """Whether the environment asks for a verification after each pass."""
    return bool(os.environ.get("SHARDC_VERIFY_EACH"))
