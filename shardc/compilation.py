"""From a module to any stage of its compilation, as the options say.

The command and the API both compile by these functions; warnings go to whoever collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.graph import Graph
from shardc.options import BEST, Options
from shardc.outcome import stated
from shardc.passes.pipeline import COMPUTING, compute, run_to
from shardc.rewrite.folding.weight import Weight, work_of

if TYPE_CHECKING:
    from shardc.planning.machines import Machine
    from shardc.planning.program import Counted
    from shardc.report.placement import Placement
    from shardc.rewrite.kept_program import Sought


def machine_of(options: Options) -> Machine | None:
    """The machine that the options name, with its links for mesh axes. ShardcError if there is none."""
    if options.machine is None:
        return None
    from shardc.planning.machines import load, with_axes

    links = options.links or {}
    return with_axes(load(options.machine), {} if isinstance(links, str) else dict(links))


def by_pass(options: Options) -> Mapping[str, Mapping[str, Any]]:
    """Pass name -> what the options say to it, for passes.pipeline.run_to."""
    machine = machine_of(options)
    return {
        "require-rules": {"fallback": options.fallback},
        "reshards-to-collectives": {"memory_limit": options.memory_limit},
        "insert-reshards": {"machine": machine, "lean": options.memory_limit is not None},
        **_overlap(options, machine),
        **({"regather": {}} if options.regather else {}),
        **_late(options, machine),
        **_combined(options, machine),
        **({"stage-collectives": {"machine": machine}} if machine and machine.has_stages else {}),
        **_stacked(options, machine),
    }


def _late(options: Options, machine: Machine | None) -> Mapping[str, Mapping[str, Any]]:
    """What the options say to the pass gather-late: latency, unless memory is bound."""
    latency = machine is not None and machine.has_latency and options.memory is None
    return {"gather-late": {"machine": machine}} if latency else {}


def _combined(options: Options, machine: Machine | None) -> Mapping[str, Mapping[str, Any]]:
    """What the options say to the pass combine-collectives, if it is to run: latency says what is worth it,
    and where there is none, all that is within `combine`."""
    if options.combine == 0:
        return {}
    limit = {} if options.combine is None else {"bytes": options.combine}
    if machine is not None and machine.has_latency:
        return {"combine-collectives": {**limit, "machine": machine}}
    return {"combine-collectives": limit} if limit else {}


def _stacked(options: Options, machine: Machine | None) -> Mapping[str, Mapping[str, Any]]:
    """What the options say to the pass stack-exchanges, if it is to run: on JAX's programs, unless memory is
    bound, since a device holds all of a stack at once."""
    bound = options.memory is not None or options.memory_limit is not None
    if options.target != "jax" or options.combine == 0 or bound:
        return {}
    limit = {} if options.combine is None else {"bytes": options.combine}
    return {"stack-exchanges": {**limit, "machine": machine}}


def _overlap(options: Options, machine: Machine | None) -> Mapping[str, Mapping[str, Any]]:
    """What the options say to the pass overlap, if it is to run."""
    if options.overlap == "off":
        return {}
    from shardc.report.overlap import pass_options

    return {"overlap": pass_options(options.overlap, machine)}


def by_memory(module: ModuleOp, options: Options) -> Mapping[str, Mapping[str, Any]]:
    """The same, with what latency and a bound on a device's memory ask for. ShardcError if nothing is within
    it."""
    told = by_latency(module, options)
    if options.memory is None:
        return told
    from shardc.backend.numpy import peak
    from shardc.report.within import within

    return within(module, options.memory, told, machine_of(options), peak)


def by_latency(module: ModuleOp, options: Options) -> Mapping[str, Mapping[str, Any]]:
    """What the options say to passes, and on a machine with latency which collectives will be combined."""
    told, machine = by_pass(options), machine_of(options)
    if machine is None or not machine.has_latency or "combine-collectives" not in told:
        return told
    from shardc.report.combined import with_shares

    return with_shares(module, machine, told, options.memory is not None)


def counted_on(module: ModuleOp, options: Options) -> tuple[Counted, ...]:
    """What plans count on to be combined later, for explain_module."""
    from shardc.planning.program import Counted

    return by_latency(module, options)["insert-reshards"].get("counted", (Counted(),))


def placed(module: ModuleOp, options: Options) -> Placement | None:
    """Number the devices of the module's mesh so that axes are on the links that suit them, if the options
    ask for it; which these are. ShardcError if there is no mesh to number."""
    machine = machine_of(options)
    if options.links != BEST or machine is None:
        return None
    from shardc.report.placement import place

    return place(module, machine, lambda trial: by_memory(trial, options))


def seek(module: ModuleOp, options: Options) -> Sought | None:
    """What is to be looked for of a module in the cache folder before it is compiled; None if nothing is. Its
    file may have another name now."""
    from shardc.rewrite.kept_program import sought

    return sought(module, *stated(replace(options, file="")))


def lower(
    module: ModuleOp,
    options: Options,
    stage: str = "local",
    kept: Sought | None = None,
    weight: Weight | None = None,
) -> Graph:
    """Take a module to a stage, in place; what it is there. kept: what `seek` gave, if it was asked. weight:
    to be found where layers go out of it.
    """
    if stage != "local":
        placed(module, options)
        told = by_memory(module, options) if stage == "collectives" else by_pass(options)
        run_to(make_context(), module, stage, options=told)
        return snapshot(module).graph
    kept, weighed = kept or seek(module, options), weight is not None
    if kept is None or not kept.take(module, weighed):
        with kept.made(module, weighed) if kept else nullcontext():
            placed(module, options)
            told = by_memory(module, options)
            run_to(
                make_context(),
                module,
                stage,
                options=told,
                without=(COMPUTING,),
                verified=False,
                skeleton=kept and kept.skeleton,
                weigh=weight and weight.weigh,
            )
    work = work_of(module)
    if weight is not None:
        weight.found = work
    compute(module, kept and kept.told)
    return snapshot(module).graph


def restored(kept: Sought) -> Graph | None:
    """A program at the stage local, from the cache folder; None if that has it not."""
    module = ModuleOp([])
    if not kept.take(module):
        return None
    work_of(module)
    compute(module, kept.told)
    return snapshot(module).graph


Emitter = Callable[..., str]
"""Writes a graph; all but the language's own take the kind of comments too."""


def emit(graph: Graph, target: str, process_data: bool = False, comments: str = "brief") -> str:
    """A local program as text: jax, numpy, mpi, or shard for a program of the language with per-device code.

    With `process_data` JAX's has `main_local`, which takes what each process holds. `comments` are those of
    shardc.Options.
    """
    if target == "jax" and process_data:
        from shardc.backend import jax

        return jax.emit(graph, process_data, comments)
    emitter = _EMITTERS[target]()
    return emitter(graph) if target == "shard" else emitter(graph, comments=comments)


def argument_specs(graph: Graph) -> list[str]:
    """The PartitionSpec of each argument of a program in Python, as text; empty without a mesh."""
    from shardc.backend.python.interface import argument_specs as specs

    return specs(graph)


def _jax() -> Emitter:
    from shardc.backend.jax import emit

    return emit


def _numpy() -> Emitter:
    from shardc.backend.numpy import emit

    return emit


def _mpi() -> Emitter:
    from shardc.backend.mpi import emit

    return emit


def _shard() -> Emitter:
    from shardc.backend.shard import emit

    return emit


_EMITTERS: dict[str, Callable[[], Emitter]] = {
    "jax": _jax,
    "numpy": _numpy,
    "mpi": _mpi,
    "shard": _shard,
}
