"""overlap: per-device code -> the same with matrix products that run while blocks are sent.

    %1 = "spmd.all_gather"(%x) {axes = ["y"], dim = 0, …} : (tensor<2x4xf32>) -> tensor<4x4xf32>     // y = 2
    %2 = stablehlo.dot_general %1, %w, …

becomes

    %p = "spmd.axis_index"() {axes = ["y"]}
    %b = "spmd.collective_permute"(%x) {axes = ["y"], pairs = …}          // the block of the other device
    %3 = stablehlo.dot_general %x, %w, …                                   // does not wait for it
    %4 = stablehlo.dynamic_update_slice %zeros, %3, 2 * %p, 0
    %5 = stablehlo.dot_general %b, %w, …
    %2 = stablehlo.dynamic_update_slice %4, %5, 2 * ((%p + 1) % 2), 0

and likewise a product whose sum is scattered: its parts are added to sums that come by. Blocks go both ways
around a ring of more than two devices, in a loop where it has more than `unroll`. As many bytes are sent.
With when=auto, only where the machine's figures say that it is quicker. What stays says why in its comment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr

from shardc.check.varying import VaryingTypes
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Node, walk
from shardc.graph.marks import REASON
from shardc.layout import Axis, Mesh
from shardc.ops import spmd
from shardc.passes.graph_pass import GraphPass
from shardc.planning.overlap.candidates import Candidate, Finder, Unsuitable, work
from shardc.planning.overlap.times import BANDWIDTH, FLOPS, LATENCY, LAUNCH, RingMachine, Times
from shardc.rewrite.ring_products import RingRewriter

WHEN = ("off", "on", "auto")


@dataclass(frozen=True)
class Overlap(GraphPass):
    """Overlap collectives with products beside them: always (on), where it is quicker (auto), never (off).

    What follows `unroll` is for auto, the machine's figures (planning/overlap/times.py): microseconds, GB/s,
    Tflop/s. From Python, `times` says for a mesh, axes of it and a product's dtype what a machine takes.
    """

    name = "overlap"
    when: str = "on"
    unroll: int = 4
    latency: int | float = LATENCY * 1e6
    bandwidth: int | float = BANDWIDTH / 1e9
    flops: int | float = FLOPS / 1e12
    launch: int | float = LAUNCH * 1e6
    times: Callable[[Mesh, tuple[Axis, ...], str], Times] | None = None

    def rewrite(self, shared: SharedGraph) -> bool:
        if self.when not in WHEN:
            raise ShardcError(f"overlap can be {', '.join(WHEN)}, not {self.when}")
        if self.when == "off":
            return False
        snap = shared.snapshot()
        with collecting():
            bodies = [_Body(self, snap, node, types) for node, types in shared.per_device()]
            if any([body.run() for body in bodies]):
                shared.drop()
                shared.varying()
        return bool(bodies)

    @property
    def figures(self) -> RingMachine:
        return RingMachine(self.latency / 1e6, self.bandwidth * 1e9, self.flops * 1e12, self.launch / 1e6)


class _Body:
    """One manual computation."""

    def __init__(self, options: Overlap, snap: Snapshot, node: Node, types: VaryingTypes) -> None:
        self.options, self.snap, self.region, self.types = options, snap, node.regions[0], types
        self.rewriter = RingRewriter(snap, types.parts.mesh, options.unroll)
        self.taken: set[int] = set()

    def run(self) -> bool:
        """Overlap what can be, the most bytes first; whether there was any."""
        finder = Finder(self.snap.graph, self.region, self._differs, self._is_partial)
        found: list[Candidate] = []
        for node in walk(self.region):
            if node.name in (spmd.all_gather.name, spmd.reduce_scatter.name):
                try:
                    found.append(finder.candidate(node))
                except Unsuitable as error:
                    self._note(node, str(error))
        found.sort(key=lambda candidate: -work(self.snap.graph, candidate).bytes)
        return any([self._overlap(candidate) for candidate in found])

    def _differs(self, value: int, axes: tuple[Axis, ...]) -> bool:
        return self.types.parts.of(axes) <= self.types[value].varies

    def _is_partial(self, value: int, axes: tuple[Axis, ...]) -> bool:
        return bool(self.types.parts.of(axes) & self.types[value].partial)

    def _note(self, node: Node, why: str) -> None:
        """Say in the comment of a collective why it stays."""
        op = self.snap.ops[node.id]
        held = op.attributes.get(REASON)
        reason = f"{held.data}; " if isinstance(held, StringAttr) else ""
        op.attributes[REASON] = StringAttr(f"{reason}not overlapped: {why}")

    def _overlap(self, candidate: Candidate) -> bool:
        try:
            self._decide(candidate)
            self.rewriter.rewrite(candidate)
        except Unsuitable as error:
            self._note(candidate.node, str(error))
            return False
        self.taken.update(step.node.id for step in candidate.steps)
        return True

    def _decide(self, candidate: Candidate) -> None:
        """Unsuitable where a product is taken, nothing is sent, or it would be slower."""
        if any(step.node.id in self.taken for step in candidate.steps):
            raise Unsuitable("its product goes on with another collective")
        what = work(self.snap.graph, candidate)
        if not what.bytes:
            raise Unsuitable("it sends nothing")
        if self.options.when == "auto":
            times = self._times(candidate)
            apart, together = what.apart(times), what.together(times)
            if together >= apart:
                raise Unsuitable(f"it would take {together * 1e6:.4g} us in place of {apart * 1e6:.4g} us")

    def _times(self, candidate: Candidate) -> Times:
        if self.options.times is None:
            return self.options.figures
        dtype = self.snap.graph.type(candidate.products[0].node.operands[0]).dtype
        return self.options.times(self.types.parts.mesh, candidate.axes, dtype)
