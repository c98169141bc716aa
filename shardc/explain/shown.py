"""print and breakpoint while a program runs on emulated devices: one device's block, and a stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.analysis.shown import device_shown, heading, position_shown
from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Node
from shardc.interpret.collectives import Blocks
from shardc.interpret.hooks import Show

_ASKS = "Enter goes on, a device's number shows its block, q ends: "


def shower(graph: Graph, say: Callable[[str], object], ask: Callable[[str], str] | None = None) -> Show:
    """Says what a node shows; at a breakpoint `ask`, if there is somebody to ask, what comes next."""

    def show(node: Node, blocks: Blocks, devices: Sequence[int], awake: Callable[[int], bool]) -> None:
        def one(device: int) -> None:
            position = position_shown(node, devices, device)
            text, block = heading(graph, node, devices, device), blocks[position]
            if not awake(position):
                say(f"{text}: not on this device, which takes another way")
            else:
                say(f"{text}:\n{block}" if block.ndim else f"{text}: {block!s}")

        if not awake(position_shown(node, devices)):
            return
        one(device_shown(node))
        while node.attrs.get("stop") and ask is not None:
            answer = ask(_ASKS).strip()
            if not answer:
                return
            if answer == "q":
                raise ShardcError("ended at this breakpoint", node.loc)
            if answer.isdecimal() and int(answer) in devices:
                one(int(answer))
            else:
                say(f"the devices are {', '.join(map(str, sorted(devices)))}")

    return show
