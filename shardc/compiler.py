"""shardc from Python: a program in, the program of each device out.

program = shardc.compile(text)                          # .shard or StableHLO text
program = shardc.from_jax(f, x, w, in_shardings=…)      # a JAX function
program.source                                          # what `shardc -o` writes
program.main(x, w)                                      # runs it, on the devices there are
shardc.cost(text, machine="tpu-v5e")                    # what `shardc --cost` says, as data
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shardc.explain.diagnostics import Diagnostic, ShardcError, collecting, register_source
from shardc.layout import Mesh

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from shardc.passes.pipeline import Options
    from shardc.report.cost import Cost

TARGETS = ("jax", "numpy")
LANGUAGES = ("mlir", "shard")


@dataclass(frozen=True)
class Program:
    """A compiled program: its text, and the functions in it.

    `mesh` is None where no mesh is used; `warnings` are those of the compilation, in order. The text is
    executed when one of its functions is first asked for.
    """

    source: str
    mesh: Mesh | None
    target: str
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)

    @property
    def main(self) -> Callable[..., Any]:
        """The function of the global arrays, in the order of the program's parameters."""
        return self.module.main

    @property
    def device_main(self) -> Callable[..., Any]:
        """The function that each device runs on its blocks; where there is no mesh, `main`."""
        return getattr(self.module, "device_main", self.module.main)

    @cached_property
    def module(self) -> ModuleType:
        """The text as a module. Tracebacks show its lines."""
        name = f"<shardc {hash(self.source) & 0xFFFFFFFF:08x}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        module = ModuleType("shardc_program")
        exec(compile_source(self.source, name), module.__dict__)
        return module


def compile_source(source: str, name: str) -> Any:
    """Python's own compile, which `compile` below hides."""
    import builtins

    return builtins.compile(source, name, "exec")


def compile(
    text: str,
    *,
    target: str = "jax",
    language: str | None = None,
    file: str = "<text>",
    defines: Mapping[str, int] | None = None,
    entry: str | None = None,
    fallback: str = "error",
    overlap: str = "off",
    machine: str | None = None,
    links: Mapping[str, str] | None = None,
    memory_limit: int | None = None,
    regather: bool = False,
    combine: int | None = None,
) -> Program:
    """Compile a program's text. ShardcError, which points into the text as `file`, if it is wrong.

    `language` is "shard" or "mlir"; without one, text with a func.func is MLIR. `defines` and `entry` are the
    command's -D and --entry, for .shard only; `fallback`, `overlap`, `machine`, `links`,
    `memory_limit`, `regather` and `combine` are its options.
    """
    from shardc.dialects.context import make_context
    from shardc.dialects.snapshot import snapshot
    from shardc.passes.pipeline import run_to
    from shardc.planning.meshes import mesh_of

    if target not in TARGETS:
        raise ShardcError(f"{target} is no target; they are {', '.join(TARGETS)}")
    with collecting() as warnings:
        module = _read(text, language, file, defines, entry)
        options = _pass_options(fallback, overlap, machine, links, memory_limit, regather, combine)
        run_to(make_context(), module, "local", options=options)
        graph = snapshot(module).graph
        source = _emitter(target)(graph)
    return Program(source, mesh_of(graph) if graph.meshes else None, target, tuple(warnings))


def cost(
    text: str,
    *,
    machine: str | None = None,
    links: Mapping[str, str] | None = None,
    tries: int | None = None,
    language: str | None = None,
    file: str = "<text>",
    defines: Mapping[str, int] | None = None,
    entry: str | None = None,
    fallback: str = "error",
    overlap: str = "off",
    memory_limit: int | None = None,
    regather: bool = False,
    combine: int | None = None,
) -> Cost:
    """What a program costs each device; the arguments are those of `compile` and of `shardc --cost`.

    Warnings of the compilation are not shown. ShardcError if the program or the machine's file is wrong.
    """
    from shardc.cli.cost import cost_module, machine_of

    with collecting():
        module = _read(text, language, file, defines, entry)
        options = _pass_options(fallback, overlap, machine, links, memory_limit, regather, combine)
        return cost_module(module, options, machine_of(machine, dict(links or {})), tries)


def _pass_options(
    fallback: str,
    overlap: str,
    machine: str | None,
    links: Mapping[str, str] | None,
    memory_limit: int | None,
    regather: bool,
    combine: int | None,
) -> Options:
    from shardc.cli.cost import machine_of
    from shardc.passes.pipeline import by_option
    from shardc.report.overlap import pass_options

    on = machine_of(machine, dict(links or {}))
    found = {
        "require-rules": {"fallback": fallback},
        "reshards-to-collectives": {"memory_limit": memory_limit},
        "overlap": pass_options(overlap, on),
    }
    return {**found, **by_option(regather, combine)}


def _read(
    text: str, language: str | None, file: str, defines: Mapping[str, int] | None, entry: str | None
) -> ModuleOp:
    from shardc.cli.driver import READERS

    language = language or ("mlir" if "func.func" in text else "shard")
    if language not in LANGUAGES:
        raise ShardcError(f"{language} is no language; they are {', '.join(LANGUAGES)}")
    register_source(file, text)
    return READERS[f".{language}"](text, file, dict(defines or {}), entry)


def from_jax(
    function: Callable[..., Any],
    *avals: Any,
    in_shardings: Any = None,
    out_shardings: Any = None,
    target: str = "jax",
    fallback: str = "error",
    overlap: str = "off",
    memory_limit: int | None = None,
    regather: bool = False,
    combine: int | None = None,
) -> Program:
    """Compile a JAX function for arguments like `avals`; the shardings are jax.jit's.

    `main` takes and returns flat lists: the leaves of the arguments' pytrees, in order.
    """
    from shardc.frontend.jax import lower

    text = lower(function, *avals, in_shardings=in_shardings, out_shardings=out_shardings)
    name = getattr(function, "__name__", "function")
    return compile(
        text,
        target=target,
        language="mlir",
        file=f"<{name}>",
        fallback=fallback,
        overlap=overlap,
        memory_limit=memory_limit,
        regather=regather,
        combine=combine,
    )


def _emitter(target: str) -> Callable[[Any], str]:
    if target == "numpy":
        from shardc.backend.numpy import emit
    else:
        from shardc.backend.jax import emit
    return emit
