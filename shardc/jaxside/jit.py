"""`shardc.jit`: what stands where `jax.jit` stood.

    step = shardc.jit(step, donate_argnums=0)        # or @shardc.jit, or @shardc.jit(static_argnames="n")
    params, loss = step(params, batch)               # compiled by shardc at the first call, run by JAX
    step.lower(params, batch).source                 # the program that each device runs

A call goes through jax.jit, whose function, when JAX traces it for new types, compiles the user's function
with shardc and calls the emitted program:

    jax.jit(f)(*args)  ->  jax.jit(lambda *args: emitted program of f for these types and shardings)(*args)

So trees, static arguments, donation, caching and dispatch are JAX's own, and the result can be called in
other jitted code, in jax.grad, jax.vmap and lax.scan.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypedDict, Unpack, overload

from shardc.collector import no_garbage_collection
from shardc.diagnostics import ShardcError
from shardc.frontend.jax import staged
from shardc.jaxside.captured import with_captured
from shardc.jaxside.compiler import Compiler, inside, is_inside
from shardc.jaxside.leaves import as_weak
from shardc.jaxside.lowered import Lowered, Traced
from shardc.jaxside.mapped import runnable
from shardc.jaxside.placement import (
    AnyMesh,
    Path,
    Placement,
    abstract,
    automatic,
    check_traced,
    lies_on_a_mesh,
    meshes,
    placed,
    placement,
)
from shardc.jaxside.untyped import jax
from shardc.options import PassOptions, options_of

OUTER_VALUE = "{name} uses a value of the function around it, which JAX is tracing"


class JitOptions(TypedDict, total=False):
    """What jax.jit's options of these names say."""

    in_shardings: Any
    out_shardings: Any
    static_argnums: int | tuple[int, ...] | None
    static_argnames: str | tuple[str, ...] | None
    donate_argnums: int | tuple[int, ...] | None
    donate_argnames: str | tuple[str, ...] | None
    keep_unused: bool
    inline: bool
    compiler_options: dict[str, Any] | None


class AllOptions(PassOptions, JitOptions, total=False):
    """The options of shardc.jit: those of jax.jit, and those of a compilation; prove is shardc.compile's."""

    prove: bool | None


def _again(function: Callable[..., Any], options: dict[str, Any]) -> Jitted:
    """The function of a pickle, in the process that reads it."""
    return Jitted(function, options)


_LOWERING = ("in_shardings", "out_shardings", "static_argnums", "static_argnames")


@overload
def jit(function: Callable[..., Any], **options: Unpack[AllOptions]) -> Jitted: ...
@overload
def jit(**options: Unpack[AllOptions]) -> Callable[[Callable[..., Any]], Jitted]: ...
def jit(function: Any = None, **options: Any) -> Any:
    """Compile a function with shardc when it is called; the options are jax.jit's, and `shardc.Options`'.

    Shardings come from in_shardings and out_shardings, else from the arrays given, else from the mesh that
    jax.set_mesh set and the constraints in the function. ShardcError if there are none, and for what shardc
    cannot compile. Without a function it is a decorator.
    """
    if function is None:
        return functools.partial(jit, **options)
    return Jitted(function, options)


class Jitted:
    """A function that shardc compiles when it is called; made by `shardc.jit`."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        jax_knows = JitOptions.__annotations__
        ours = {key: value for key, value in options.items() if key not in jax_knows}
        theirs = {key: value for key, value in options.items() if key in jax_knows and value is not None}
        name = getattr(function, "__name__", "function")
        prove: bool | None = ours.pop("prove", None)
        self._compiler = Compiler(name, options_of("jit", PassOptions, None, ours), prove)
        self._jit_options = theirs
        self._lowering = {key: theirs[key] for key in _LOWERING if key in theirs}
        self._stages = staged(function, **self._lowering)
        if theirs.keys() - self._lowering.keys():
            jax.jit(function, **theirs)  # which says what is wrong with the other options
        self._stated = tuple(meshes([self._jit_options.get(key) for key in _LOWERING[:2]]))
        self._programs: dict[Any, Lowered] = {}
        self._calls: dict[Any, Any] = {}
        functools.update_wrapper(self, function)
        self.__name__: str = self._stages.__name__  # JAX gives one to a functools.partial and an object too
        self.__qualname__: str = self._stages.__qualname__
        self._function = function
        self._options = options

    def __reduce__(self) -> Any:
        """What is left out of a pickle is what was compiled."""
        return _again, (self._function, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if jax.config.jax_disable_jit:
            return self._function(*args, **kwargs)
        if is_inside():
            return self._plain(*args, **kwargs)
        key = placement((args, kwargs)), _ambient()
        if key in self._calls:
            return self._calls[key](*args, **kwargs)
        with no_garbage_collection():  # while JAX traces, shardc compiles and XLA does
            return self._at(key)(*args, **kwargs)

    @functools.cached_property
    def _plain(self) -> Any:
        """The function for calls in one that shardc compiles: a part of that."""
        return jax.jit(self._function, **self._jit_options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method, where a class has it."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<shardc.jit of {self._compiler.name}>"

    def __copy__(self) -> Jitted:
        """Itself, as copies of functions are."""
        return self

    def __deepcopy__(self, memo: Any) -> Jitted:
        return self

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for arguments like these: arrays or jax.ShapeDtypeStructs, in trees."""
        found = self._lowered(args, kwargs, _ambient())
        return found.staged_by(lambda: self._call(args, kwargs).lower(*args, **kwargs))

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function traced for arguments like these; its `lower()` is that of `lower(*args, **kwargs)`."""
        with inside():
            traced = self._stages.trace(*args, **kwargs)
        return Traced(
            traced,
            lambda: self.lower(*args, **kwargs),
            lambda: self._call(args, kwargs).trace(*args, **kwargs),
        )

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The tree of the results' types; nothing is compiled."""
        return self._plain.eval_shape(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget all compilations, and what JAX traced for them."""
        self._programs.clear()
        self._calls.clear()
        self._stages.clear_cache()
        self._plain.clear_cache()

    def _cache_size(self) -> int:
        """How many types and shardings of arguments it was called with, as jax.jit's own counts them."""
        return sum(call._cache_size() for call in self._calls.values())

    def _call(self, args: Any, kwargs: Any) -> Any:
        """jax.jit of the emitted programs for arguments placed as these are."""
        return self._at((placement((args, kwargs)), _ambient()))

    def _at(self, key: tuple[Placement, AnyMesh | None]) -> Any:
        if key not in self._calls:
            self._calls[key] = jax.jit(self._emitted(*key), **self._jit_options)
        return self._calls[key]

    def _emitted(self, placed: Placement, ambient: AnyMesh | None) -> Callable[..., Any]:
        """What JAX traces in the function's place."""
        known, function, compiler = dict(placed), self._function, self._compiler

        def call(*args: Any, **kwargs: Any) -> Any:
            leaves, tree = jax.tree.flatten((args, kwargs))
            if any(map(_is_concrete, leaves)):
                return function(*args, **kwargs)  # JAX looks for the operation that made a NaN
            abstracted = jax.tree_util.tree_map_with_path(functools.partial(_abstract, known), (args, kwargs))
            program = self._lowered(abstracted[0], abstracted[1], ambient)
            traced = [leaf for leaf in leaves if isinstance(leaf, jax.core.Tracer)]
            static = [None if isinstance(leaf, jax.core.Tracer) else [leaf] for leaf in leaves]

            def flat(*values: Any) -> list[Any]:  # which JAX keeps, and no tracer with it
                given = iter(values)
                all_ = [next(given) if leaf is None else leaf[0] for leaf in static]
                args, kwargs = jax.tree.unflatten(tree, all_)
                return jax.tree.leaves(function(*args, **kwargs))

            run = runnable(flat, program, functools.partial(compiler.derived, program.known))
            types, results = jax.tree.flatten(program.results)
            return jax.tree.unflatten(results, map(as_weak, run(*traced), types))

        return functools.wraps(function)(call)

    def _lowered(self, args: Any, kwargs: Any, ambient: AnyMesh | None) -> Lowered:
        with inside():
            traced = self._stages.trace(*args, **kwargs)
        key = traced.jaxpr, placement((args, kwargs)), ambient
        if key not in self._programs:
            if len(traced.jaxpr.in_avals) != len(jax.tree.leaves(traced.args_info)):
                raise ShardcError(OUTER_VALUE.format(name=self._compiler.name), hint="give it as an argument")
            check_traced(traced.jaxpr)
            with inside():
                traced, captured = with_captured(self._function, self._lowering, traced, args, kwargs)
            lying = [placed(array) for array in captured]
            in_types = ambient or any(map(lies_on_a_mesh, traced.jaxpr.in_avals))
            stated = self._stated if in_types else tuple(map(automatic, self._stated))
            known = (*stated, *meshes([sharding for _, sharding in key[1]]), *meshes(lying))
            known = (ambient, *known) if ambient else known
            self._programs[key] = self._compiler.compile(traced, known, captured)
        return self._programs[key]


def _abstract(known: dict[Path, Any], path: Path, leaf: Any) -> Any:
    """The type of a traced argument; static ones as they are."""
    return abstract(leaf, known.get(path)) if isinstance(leaf, jax.core.Tracer) else leaf


def _is_concrete(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)


def _ambient() -> AnyMesh | None:
    """The mesh that jax.set_mesh set; while JAX traces it tells no devices. None where there is none."""
    try:
        mesh = jax.sharding.get_mesh()
    except ValueError:
        mesh = jax.sharding.get_abstract_mesh()
    return None if mesh.empty else mesh
