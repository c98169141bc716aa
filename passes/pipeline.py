"""Which passes run when: text -> ir -> sharded -> collectives -> local.

The module is verified where it comes in (by the reader) and where it goes out. With `verify_each`, or where
the environment sets SHARDC_VERIFY_EACH, it is verified after every pass as well, and each graph that passes
share is compared with a fresh one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardc.collector import no_garbage_collection
from shardc.diagnostics import collecting, warn
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.wellformed import verify
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.folding.notes import Unlike, has_own
from shardc.rewrite.folding.places import NOTED


class Entry(Struct, frozen=True):
    """A pass on the way to a stage. One that is `by_option` runs only where there are options for it, and
    looks across layers, unless it is `layerwise`.

    The pass `join-slices` is the class JoinSlices of passes/join_slices.py.
    """

    stage: str
    name: str
    by_option: bool = False
    layerwise: bool = False

    def load(self) -> type[GraphPass]:
        """Import the pass."""
        module = import_module(f"shardc.passes.{self.name.replace('-', '_')}")
        return getattr(module, self.name.title().replace("-", ""))


PIPELINE = (
    Entry("sharded", "inline-calls"),
    Entry("sharded", "require-runnable"),
    Entry("sharded", "drop-open-constraints"),
    Entry("sharded", "name-axes"),
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

FOLDING = ("fold-layers", "unfold-layers")
"""The passes around those that see few of many equal layers, on the way from text to a device's program."""

OUTLINING = "outline-calls"
"""The first pass to which it matters whether numbers of layers are equal."""

READING = (OUTLINING, "outline-repeats")
"""The passes that change nothing that a program takes: they are for who reads it."""

COMPUTING = "simplify-local"
"""The last pass, the only one to which it matters which numbers a program has, beside which are equal."""

PASSES: dict[str, Callable[[], type[GraphPass]]] = {entry.name: entry.load for entry in PIPELINE}
"""Pass name -> a function that imports it."""

Options = Mapping[str, Mapping[str, Any]]
"""Pass name -> its options."""


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
) -> None:
    """Take a module from the end of stage `start` to that of `stage`, and verify what comes out, if it is to
    be `verified`.

    `verify_each` is what the environment says, unless given. Passes `without` which it goes are none of those
    that fold. ShardcError if the program is wrong.
    """
    each = _each() if verify_each is None else verify_each
    stages, options = list(STAGES), options or {}
    wanted = stages[stages.index(start) + 1 : stages.index(stage) + 1]
    asked = [e for e in PIPELINE if e.stage in wanted and e.name not in without]
    entries = [e for e in asked if e.name in options or not e.by_option]
    run = _Run(SharedGraph(module, checked=each), options, each)
    with no_garbage_collection():
        if start == "ir" and stage == "local":
            run.folding(entries)
        else:
            run.plainly(entries)
        if verified:
            verify(module)


def shard(module: ModuleOp, options: Options) -> bool:
    """Take a module to the stage "sharded", unless layers of it are taken out on the way from text to a
    device's program; whether it was. If not, it is left on the way."""
    entries = [entry for entry in PIPELINE if entry.stage == "sharded"]
    at = [entry.name for entry in entries].index(FOLDING[0])
    each = _each()
    run = _Run(SharedGraph(module, checked=each), options, each)
    with no_garbage_collection():
        run.plainly(entries[:at])
        if run.fold(entries[at]):
            return False
        run.plainly(entries[at + 1 :])
    return True


def compute(module: ModuleOp, told: Callable[[Sequence[Any]], None] | None = None) -> None:
    """Run the pass COMPUTING on a module that run_to took to the end without it; verify what comes out.

    told: as that pass has it.
    """
    (entry,) = (entry for entry in PIPELINE if entry.name == COMPUTING)
    each = _each()
    with no_garbage_collection():
        options = {} if told is None else {COMPUTING: {"told": told}}
        _Run(SharedGraph(module, checked=each), options, each).plainly([entry])
        verify(module)


def _each() -> bool:
    """Whether the environment asks for a verification after each pass."""
    return bool(os.environ.get("SHARDC_VERIFY_EACH"))


class _Run(Struct, frozen=True):
    """Passes that run on a module, each with its options."""

    shared: SharedGraph
    options: Options
    each: bool

    def plainly(self, entries: Sequence[Entry]) -> None:
        """Run those that don't fold."""
        for entry in entries:
            if entry.name not in FOLDING:
                self._one(entry.load()(**self.options.get(entry.name, {})))

    def folding(self, entries: Sequence[Entry]) -> None:
        """Run all, with few of many equal layers from FOLDING's first to its last.

        Most passes that are by option look across layers, at which collectives can wait for which: the layers
        are put back before the first that does. Where layers that are equal have become unlike on the way,
        those that are equal but for functions count as different; where none are, all layers go that way.
        """
        at, after = ([entry.name for entry in entries].index(name) for name in FOLDING)
        looks = (place for place, entry in enumerate(entries) if entry.by_option and not entry.layerwise)
        across = next(looks, None)
        unfolds, after = entries[after], after if across is None else across
        self.plainly(entries[:at])
        outlining = min(after, [entry.name for entry in entries].index(OUTLINING))
        for functions in (True, False):
            tops = list(self.shared.module.body.block.ops)
            if not self.fold(entries[at], functions):
                break
            differ = has_own(self.shared.module)
            unfold = unfolds.load()(**({} if across is None else {"outlines": False}))
            try:
                with collecting() as warnings:
                    self._remembering(entries[at + 1 : outlining])
                    self.plainly(entries[outlining:after])
                    self._one(unfold)
            except Unlike:
                self._back(tops)
                if not differ:
                    break
            else:
                for each in warnings:
                    warn(each.message, each.loc, each.hint)
                self.plainly(entries[after:])
                return
        self.plainly(entries[at:])

    def _back(self, tops: Sequence[Operation]) -> None:
        """Let these be the module's operations again, of which none lacks layers."""
        block = self.shared.module.body.block
        for op in list(block.ops):
            op.detach()
        block.add_ops(tops)
        for name in NOTED:
            self.shared.module.attributes.pop(name, None)
        self.shared.drop()

    def fold(self, entry: Entry, functions: bool = True) -> bool:
        """Take layers out where that is worth it, also those of other `functions`; whether any were."""
        whole, said = list[Operation](), self.options.get(entry.name, {})
        self._one(entry.load()(**{"functions": functions, **said, "told": whole.append}))
        return bool(whole)

    def _remembering(self, entries: Sequence[Entry]) -> None:
        """Run passes on a folded program, or take what they made of it in an earlier compilation."""
        from shardc.rewrite.folding import kept

        said = [f"{entry.name} {sorted(self.options.get(entry.name, {}).items())!r}" for entry in entries]
        listens = any(
            callable(each) for entry in entries for each in self.options.get(entry.name, {}).values()
        )
        key = None if listens else kept.key_of(self.shared.module, *said)
        if key is None:
            self.plainly(entries)
        elif kept.take(key, self.shared.module):
            self.shared.drop()
            if self.each:
                self.shared.module.verify()
        else:
            with kept.made(key, self.shared.module):
                self.plainly(entries)

    def _one(self, chosen: GraphPass) -> None:
        if chosen.rewrite(self.shared):
            self.shared.drop()
        if self.each:
            self.shared.module.verify()
