"""What may be done otherwise while a graph is executed, and who is told of what happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from shardc.graph import Node, Op
from shardc.interpret.collectives import Blocks
from shardc.layout import Sharding
from shardc.ops import meaning
from shardc.ops.definition import Meaning
from shardc.semantics.arrays import Array

Machine = TypeVar("Machine")
"""What executes the graph: devices.py's Lockstep."""

Trace = Callable[[Node, list[Blocks]], None]
"""Called after every node with the blocks of its results."""

Show = Callable[[Node, Blocks, Sequence[int], Callable[[int], bool]], None]
"""Called with what a node shows, the devices' numbers by position, and which positions have come to it."""

Env = dict[int, Blocks]
"""Blocks by value."""

Loop = Callable[[Machine, Node, list[Blocks], Env], list[Blocks] | None]
"""Runs a loop or a call in another way; None leaves it to the machine."""

Together = Callable[[Op, Sequence[Sequence[Array]]], Sequence[Sequence[Array]] | None]
"""Computes an operation on the operands of several devices at once; None: they are done one by one."""


class Ends(Protocol):
    """May stand in the place of cutting what a computation of devices takes, and joining what it makes."""

    def cut(self, whole: Blocks, sharding: Sharding) -> Blocks | None: ...
    def join(self, blocks: Blocks, sharding: Sharding, shape: tuple[int, ...]) -> Blocks | None: ...


class Hooks(Struct, Generic[Machine], frozen=True):
    """`check` demands that devices agree where a manual computation's out_shardings say they hold copies.

    `meanings` says what operations compute, by name; `loop` may run loops and calls in its own way, and
    `together` an operation on all devices; `ends` may say what blocks are of the whole program's values.
    `turn` is called for every turn of a loop.
    """

    check: bool = True
    trace: Trace | None = None
    meanings: Callable[[str], Meaning | None] = meaning
    loop: Loop[Machine] | None = None
    show: Show | None = None
    together: Together | None = None
    ends: Ends | None = None
    turn: Callable[[Node], None] | None = None
