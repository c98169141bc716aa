"""Running passes, with few of many equal layers where that is worth it, and what of it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from xdsl.ir import Attribute, Operation

from shardc.diagnostics import Diagnostic, collecting, pass_on
from shardc.dialects.shared_graph import SharedGraph
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.folding.notes import Unlike, has_own

if TYPE_CHECKING:
    from shardc.rewrite.folding.cut import Cut
    from shardc.rewrite.folding.edited import Edited
    from shardc.rewrite.folding.kept import Own
    from shardc.rewrite.folding.skeleton import Skeleton
    from shardc.rewrite.folding.weight import Weigh
    from shardc.rewrite.kept_module import Key

_Whole = tuple[list[Operation], dict[str, Attribute]]
"""A module's operations, and its attributes."""

Options = Mapping[str, Mapping[str, Any]]
"""Pass name -> its options."""

FOLDING = ("fold-layers", "unfold-layers")
"""The passes around those that see few of many equal layers, on the way from text to a device's program."""

OUTLINING = "outline-calls"
"""The first pass to which it matters whether numbers of layers are equal."""


class Entry(Struct, frozen=True):
    """A pass on the way to a stage. One that is `by_option` runs only where there are options for it, and
    looks across layers, unless it is `layerwise`.

    The pass `join-slices` is the class JoinSlices of passes/join_slices.py.
    """

    stage: str
    name: str
    by_option: bool = False
    layerwise: bool = False

    @property
    def across(self) -> bool:
        """Whether it looks across layers, at which collectives can wait for which."""
        return self.by_option and not self.layerwise

    def load(self) -> type[GraphPass]:
        """Import the pass."""
        module = import_module(f"shardc.passes.{self.name.replace('-', '_')}")
        return getattr(module, self.name.title().replace("-", ""))


class Run(Struct, frozen=True):
    """Passes that run on a module, each with its options."""

    shared: SharedGraph
    options: Options
    each: bool
    weigh: Weigh | None = None
    """How much work a folded program and its per-device one are."""

    @property
    def weighs(self) -> bool:
        """Whether that is asked."""
        return self.weigh is not None

    def plainly(self, entries: Sequence[Entry]) -> None:
        """Run those that don't fold."""
        for entry in entries:
            if entry.name not in FOLDING:
                self._one(entry.load()(**self.options.get(entry.name, {})))

    def folding(self, entries: Sequence[Entry], skeleton: Skeleton | None = None) -> None:
        """Run all, with few of many equal layers from FOLDING's first to its last. Where it is kept what
        those before OUTLINING make of a program with this skeleton, only the others run.

        The layers are put back before the first pass that looks across them. Where layers that are equal have
        become unlike on the way, those that are equal but for functions count as different; where none are,
        all layers go that way.
        """
        at, after = ([entry.name for entry in entries].index(name) for name in FOLDING)
        across = next((place for place, entry in enumerate(entries) if entry.across), None)
        unfolds, after = entries[after], after if across is None else across
        outlining = min(after, [entry.name for entry in entries].index(OUTLINING))
        unfold = partial(self._unfolding, unfolds, across is None)
        folded, outline, rest = entries[at + 1 : outlining], entries[outlining:after], entries[after:]
        edited, ways = self._edited(entries[:outlining], skeleton), (True, False)
        whole = self._now()
        with collecting() as warnings:
            said = self._said(outline) or ()
            outlined = None if edited is None else edited.take(self.shared.module, self.weighs, said)
            found = self._taken(outlined)
            differ = has_own(self.shared.module)
            done = found and unfold(() if outlined else outline)
        if found and not done:
            self._back(whole)
            ways = (False,) if differ else ()
        elif done:
            pass_on(warnings)
            self.plainly(rest)
            return
        before: list[Diagnostic] = []
        try:
            with collecting() as before:
                self.plainly(entries[:at])
        finally:
            pass_on(before)
        for functions in ways:
            whole = self._now()
            cuts = self.fold(entries[at], functions)
            if not cuts:
                break
            differ = has_own(self.shared.module)
            if edited is not None and functions:
                edited.see(self.shared.module, cuts)
            with collecting() as warnings:
                sought, outlined = self._remembering(folded, outline)
                done = unfold(() if outlined else outline)
            if done:
                pass_on(warnings)
                if edited is not None and functions and sought is not None:
                    edited.keep(*sought, before)
                self.plainly(rest)
                return
            self._back(whole)
            if not differ:
                break
        self.plainly(entries[at:])

    def _unfolding(self, unfolds: Entry, outlines: bool, entries: Sequence[Entry]) -> bool:
        """Run passes on a folded program, and put its layers back, of which functions are made where it
        `outlines`; False where they are unlike, and the module is half rewritten."""
        try:
            self.plainly(entries)
            asked: dict[str, Any] = {"options": self.options} | ({} if outlines else {"outlines": False})
            self._one(unfolds.load()(**asked))
        except Unlike:
            return False
        return True

    def _edited(self, entries: Sequence[Entry], skeleton: Skeleton | None) -> Edited | None:
        """What is kept of programs with a skeleton; None if nothing is, or if somebody listens to passes."""
        said = None if skeleton is None else self._said(entries)
        if skeleton is None or said is None:
            return None
        from shardc.rewrite.folding.edited import Edited

        return Edited(skeleton, *said)

    def _said(self, entries: Sequence[Entry]) -> list[str] | None:
        """Passes with their options; None where somebody listens to them."""
        options = [(entry.name, self.options.get(entry.name, {})) for entry in entries]
        if any(callable(each) for _, held in options for each in held.values()):
            return None
        return [f"{name} {sorted(held.items())!r}" for name, held in options]

    def _now(self) -> _Whole:
        module = self.shared.module
        return list(module.body.block.ops), dict(module.attributes)

    def _back(self, whole: _Whole) -> None:
        """Let these be the module's operations and attributes again, of which none lacks layers."""
        block = self.shared.module.body.block
        for op in list(block.ops):
            op.detach()
        block.add_ops(whole[0])
        self.shared.module.attributes = whole[1]
        self.shared.drop()

    def fold(self, entry: Entry, functions: bool = True) -> Sequence[Cut]:
        """Take layers out where that is worth it, also those of other `functions`; what was cut out."""
        cuts: list[Cut] = []
        said = self.options.get(entry.name, {})
        self._one(entry.load()(**{"functions": functions, **said, "told": cuts.extend}))
        return cuts

    def _remembering(
        self, entries: Sequence[Entry], outline: Sequence[Entry]
    ) -> tuple[tuple[Key, Own] | None, bool]:
        """Run passes on a folded program, or take what they made of it in an earlier compilation; what that
        is kept by, if it may be, and whether those that `outline` have run too."""
        from shardc.dialects.kept_attributes import Unkept
        from shardc.rewrite.folding import kept
        from shardc.rewrite.kept_module import watched

        module, said, outlining = self.shared.module, self._said(entries), self._said(outline) or ()
        sought = None if said is None else kept.sought(module, *said)
        if sought is None:
            self._weighed(entries)
            return None, False
        key, own = sought
        found = kept.put(key, module, own, self.weighs, outlining)
        if self._taken(found):
            return sought, bool(found)
        with watched() as seen:
            with kept.made(key, module, own) as made:
                self._weighed(entries)
            if made.of_any:
                self.plainly(outline)
        if made.of_any and outlining:
            with suppress(Unkept):
                kept.keep(own.outlined(key, outlining), module, own, seen)
        return sought, made.of_any

    def _weighed(self, entries: Sequence[Entry]) -> None:
        """Run passes on a folded program, and note how much work it is."""
        from shardc.rewrite.folding.weight import weighed

        with weighed(self.shared.module, self.weigh):
            self.plainly(entries)

    def _taken(self, found: bool | None) -> bool:
        """Whether something that was kept has been put into the module."""
        if found is not None:
            self.shared.drop()
            if self.each:
                self.shared.module.verify()
        return found is not None

    def _one(self, chosen: GraphPass) -> None:
        if chosen.rewrite(self.shared):
            self.shared.drop()
        if self.each:
            self.shared.module.verify()
