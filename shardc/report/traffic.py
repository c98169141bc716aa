"""The collectives of a device's program: what each sends, how often, where and why.

Bytes are those of the comments in the written program (OpDef.sends): the ring algorithms' per device.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.collectives import axes_of, bytes_sent, operand_bytes, pairs_of, sends, title_of
from shardc.analysis.emitted_mesh import EmittedMesh
from shardc.analysis.per_device import PerDeviceProgram
from shardc.diagnostics import visible
from shardc.graph import Graph, Location
from shardc.graph.marks import REASON, TOGETHER
from shardc.layout import Axis, size_of
from shardc.planning.machines import is_strided
from shardc.report.executions import Executions, Run


class Removal(Struct, frozen=True):
    """A change of one annotation after which a collective is gone and fewer bytes are sent.

    `what` is `argument x`, `result 0` or `constraint in line 7`; `annotation` its type then, as in a .shard
    program. The rest is of the program with it, per device: `bytes` sent, `matmul_flops`, `argument_bytes`.
    """

    what: str
    annotation: str
    bytes: int
    matmul_flops: int
    argument_bytes: int


class Collective(Struct, frozen=True):
    """One collective of the per-device program, or equal ones.

    op: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast or permute; `kind` sum, max or min if it
    reduces.
    axes: what it goes over, major to minor; `group` is the number of devices in each group.
    operand: the type of the block that a device gives, like f32[16, 64].
    bytes: what a device sends each time; `times` it runs (0: in a branch that sends less than another one),
    at least if `at_least`, since data end the loop around it.
    where: file:line; `reason` why it is there; `from_source` if the program itself calls it.
    removals: annotations that would remove it, the best first; None if that was not looked into.
    over, pairs, operand_bytes, strided: for the machine: mesh axes, a permute's (from, to), the operand's
    size, and whether blocks are columns.
    """

    op: str
    kind: str | None
    axes: tuple[str, ...]
    group: int
    operand: str
    bytes: int
    times: int
    at_least: bool
    where: str
    reason: str
    from_source: bool
    removals: tuple[Removal, ...] | None = None
    over: tuple[Axis, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    operand_bytes: int = 0
    strided: bool = False

    @property
    def total(self) -> int:
        """Bytes that a device sends in all runs."""
        return self.bytes * self.times


def collectives(program: PerDeviceProgram) -> tuple[Collective, ...]:
    """Those of a program in its order; equal ones are one entry, with their times added."""
    entries: list[tuple[Collective, int]] = []
    for run, entry in each_collective(program):
        if TOGETHER in run.node.attrs and entries:
            before, _ = entries.pop()
            entry = _together(before, entry)
        entries.append((entry, run.times))
    found: dict[Collective, Collective] = {}
    for entry, times in entries:
        have = found.setdefault(entry, replace(entry, times=0))
        found[entry] = replace(have, times=have.times + times)
    return tuple(found.values())


def each_collective(program: PerDeviceProgram) -> Iterator[tuple[Run, Collective]]:
    """Those of a program in its order, each as if it ran once, and how often it does."""
    if program.mesh is None:
        return
    for run in Executions(program, lambda node: bytes_sent(program.graph, node)).runs:
        if sends(run.node):
            yield run, _entry(program.graph, program.mesh, run)


def _together(one: Collective, other: Collective) -> Collective:
    """Two that are sent in one go (passes/combine_collectives.py)."""
    return replace(
        one,
        operand=f"{one.operand}, {other.operand}",
        bytes=one.bytes + other.bytes,
        reason=f"{one.reason}; and {other.reason}",
        operand_bytes=one.operand_bytes + other.operand_bytes,
    )


def _entry(graph: Graph, mesh: EmittedMesh, run: Run) -> Collective:
    """A collective as if it ran once."""
    node = run.node
    axes = axes_of(node)
    reason = node.attrs.get(REASON)
    return Collective(
        op=title_of(node),
        kind=str(node.attrs["kind"]) if "kind" in node.attrs else None,
        axes=mesh.names(axes),
        group=size_of(axes),
        operand=", ".join(str(graph.type(value)) for value in node.operands),
        bytes=bytes_sent(graph, node),
        times=min(run.times, 1),
        at_least=run.at_least,
        where=place(node.loc),
        reason=str(reason) if reason else "the program calls it",
        from_source=not reason,
        over=axes,
        pairs=pairs_of(node),
        operand_bytes=operand_bytes(graph, node),
        strided=isinstance(dim := node.attrs.get("dim"), int)
        and is_strided(graph.type(node.operands[0]).shape, dim),
    )


def place(loc: Location) -> str:
    """file:line, as far as it is known; without directories, which are not the program's."""
    file = visible(Path(loc.file).name) if loc.file else ""
    return f"{file}:{loc.line}" if loc.line else file
