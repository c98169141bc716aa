"""The single-device program: runs a whole Graph on global arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.graph.program import Graph
from shardc.interpret.devices import Lockstep
from shardc.interpret.hooks import Hooks, Show, Trace
from shardc.ops import meaning
from shardc.ops.definition import Meaning
from shardc.semantics.arrays import Array


def run(
    graph: Graph,
    inputs: Sequence[Array],
    function: str | None = None,
    *,
    check: bool = True,
    trace: Trace | None = None,
    show: Show | None = None,
    meanings: Callable[[str], Meaning | None] = meaning,
) -> list[Array]:
    """The results of a function (main by default) of global arrays.

    Shardings and the collectives of sdy change nothing here. A manual computation runs on the blocks of all
    its devices; `check` demands that devices agree where its out_shardings say they hold copies. `trace` is
    called after every node with the blocks of its results, `show` with what the program shows; `meanings`
    says what operations compute. Raises ValueError if the inputs don't fit the function, ShardcError where
    the program cannot be run.
    """
    entry = graph.main if function is None else graph.functions[function]
    types = graph.types(entry.body.args)
    if len(types) != len(inputs):
        raise ValueError(f"{entry.name} takes {len(types)} arrays, got {len(inputs)}")
    for number, (type, array) in enumerate(zip(types, inputs, strict=True)):
        if array.shape != type.shape or array.dtype != type.numpy:
            raise ValueError(
                f"argument {number} of {entry.name} is {type}, got {array.dtype}{list(array.shape)}"
            )
    machine = Lockstep(graph, hooks=Hooks(check, trace, meanings, show=show))
    return [result[0] for result in machine.run(entry.body, [[array] for array in inputs], {})]
