"""A function compiled for arguments of some types and shardings: what `shardc.jit(f).lower(*args)` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from jax.sharding import NamedSharding, PartitionSpec
from msgspec import Struct
from msgspec.structs import replace as changed

from shardc import api
from shardc.collector import no_garbage_collection
from shardc.diagnostics import Diagnostic, ShardcError
from shardc.frontend.jax import text_of
from shardc.frontend.jax_equations import equations
from shardc.graph.trees import arguments_of
from shardc.jaxside import kept
from shardc.jaxside.callbacks import HostFunctions, check
from shardc.jaxside.calling import with_caller
from shardc.jaxside.constants import large_constants
from shardc.jaxside.definition import at_definition
from shardc.jaxside.leaves import is_key
from shardc.jaxside.memories import moves_left_out
from shardc.jaxside.own_main import own_main
from shardc.jaxside.own_mesh import Lying, on_own_mesh
from shardc.jaxside.partitioned import own_partitions_left_out
from shardc.jaxside.placement import AnyMesh, abstract, meshes_in, on_axes, on_devices, with_mesh
from shardc.jaxside.untyped import jax
from shardc.layout import Dim, Mesh, Sharding
from shardc.options import Options

if TYPE_CHECKING:
    from shardc.explain.records import Explanation
    from shardc.report.cost import Cost


class Lowered(Struct, frozen=True, dict=True):
    """A compiled function.

    mlir: what JAX lowered the function to. program: what shardc made of it. results: the tree of the results'
    types. The program runs on the devices of the first of `known` meshes that fits it. own_rules: the
    operations of JAX in the function with derivatives of their own, which the program's text does not tell.
    maps_by_rules: whether it has rules of its own for jax.vmap.
    """

    mlir: str
    program: api.Program
    results: Any
    options: Options
    known: tuple[AnyMesh, ...] = ()
    own_rules: frozenset[str] = frozenset()
    maps_by_rules: bool = False
    stage: Callable[[], Any] | None = None

    @property
    def source(self) -> str:
        """The emitted program, a Python file that needs jax and numpy only."""
        return self.program.source

    @property
    def mesh(self) -> Mesh | None:
        """The mesh of devices; None where no value has a sharding."""
        return self.program.mesh

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What the compiler warns of, in order."""
        return self.program.warnings

    @property
    def out_info(self) -> Any:
        """The tree of the results' types."""
        return self.results

    def cost(self, **named: Any) -> Cost:
        """What the program costs each device; the options are those of `shardc.cost`."""
        return api.cost(self.mlir, self.options, **named)

    def explain(self, name: str | None = None) -> Explanation:
        """Why the tensors called `name` are split as they are; without a name an overview."""
        return api.explain(self.mlir, name, self.options)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Any:
        """The jax.stages.Compiled of the emitted program, which takes and gives the function's trees."""
        return self.emitted.compile(compiler_options)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """What JAX lowers the emitted program to: what `compile` gives to XLA."""
        return str(self.emitted.as_text(dialect, debug_info=debug_info))

    @property
    def in_tree(self) -> Any:
        """The tree of (args, kwargs)."""
        return self.emitted.in_tree

    @property
    def out_tree(self) -> Any:
        """The tree of the results."""
        return jax.tree.structure(self.results)

    @property
    def args_info(self) -> Any:
        """The types of (args, kwargs), and which of them are donated."""
        return self.emitted.args_info

    @property
    def in_avals(self) -> Any:
        """JAX's types of (args, kwargs)."""
        return self.emitted.in_avals

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Which leaves of the arguments are donated."""
        return self.emitted.donate_argnums

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """`as_text`, as an object of the compiler's."""
        return self.emitted.compiler_ir(dialect)

    def cost_analysis(self) -> Any:
        """What XLA says of the emitted program before it compiles it."""
        return self.emitted.cost_analysis()

    @cached_property
    def emitted(self) -> Any:
        """The jax.stages.Lowered of the emitted program. Only for what shardc.jit lowered."""
        assert self.stage is not None, "made by shardc.jit"
        return self.stage()

    @property
    def in_shardings(self) -> tuple[NamedSharding | None, ...]:
        """Where the leaves of the arguments lie."""
        return tuple(map(self._named, self.program.arguments[len(self.program.captured) :]))

    @property
    def out_shardings(self) -> Any:
        """Where the results lie, as a tree: as out_shardings said, or as found."""
        tree = jax.tree.structure(self.results)
        return jax.tree.unflatten(tree, [self._named(sharding) for sharding in self.program.results])

    def typed_argument(self, number: int, leaf: Any) -> Any:
        """The type of an argument, with the sharding that it has in the program."""
        return abstract(leaf, self.in_shardings[number])

    def typed_result(self, number: int, leaf: Any) -> Any:
        """The type of a result's leaf, with the sharding that it has in the program."""
        return abstract(leaf, self._named(self.program.results[number]))

    def _named(self, sharding: Sharding | None) -> NamedSharding | None:
        if sharding is None:
            return None
        sizes = dict(sharding.mesh.axes)
        known = [self.whole_mesh or self.device_mesh, self.device_mesh]
        fits = [mesh for mesh in known if mesh.axis_names == tuple(sizes)]
        mesh = fits[0] if fits else on_axes(self.device_mesh, sizes)
        entries = [_entry(dim, sharding.mesh) for dim in sharding.dims]
        while entries and entries[-1] is None:
            entries.pop()  # as JAX writes the shardings of results
        return NamedSharding(mesh, PartitionSpec(*entries))

    def _on_whole_mesh(self, sharding: Sharding | None, type: Any) -> Lying | None:
        """How a result lies on `whole_mesh`; None where it is split over another mesh."""
        named = self._named(sharding)
        if sharding is None or named is None:
            return Lying(PartitionSpec())
        if named.mesh != self.whole_mesh:
            return None
        plain = jax.eval_shape(jax.random.key_data, type) if is_key(type) else type
        whole, own = prod(named.shard_shape(plain.shape)), prod(sharding.local_shape(plain.shape))
        return Lying(named.spec, (whole - own) * plain.dtype.itemsize)

    @property
    def device_mesh(self) -> AnyMesh:
        """The mesh that the program runs on."""
        return self._meshes[0]

    @property
    def whole_mesh(self) -> AnyMesh | None:
        """The user's mesh where the program runs on another: of parts of its axes, or none explicit."""
        return self._meshes[1]

    @cached_property
    def _meshes(self) -> tuple[AnyMesh, AnyMesh | None]:
        return on_devices(self.program.module.mesh, self.known)

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The emitted program's `main` of the function's arguments, on the devices of the user's mesh."""
        main = own_main(self.program)
        self.stay_on_devices()
        if self.whole_mesh is None:
            return main
        types = jax.tree.leaves(self.results)
        results = [self._on_whole_mesh(*each) for each in zip(self.program.results, types, strict=True)]
        return on_own_mesh(main, self.device_mesh, self.whole_mesh, results)

    def stay_on_devices(self) -> None:
        """From now on the program runs on `device_mesh`; by itself it runs on the first devices there are."""
        mesh = self.device_mesh
        setattr(self.program.module, "mesh", lambda: mesh)

    def nested(self, leaves: Sequence[Any]) -> list[Any]:
        """The arguments of `run` that have these leaves."""
        every = [*self.program.captured, *leaves]
        return list(arguments_of(self.program.interface, every))[len(self.program.captured) :]

    def staged_by(self, stage: Callable[[], Any]) -> Lowered:
        """The same, with what makes `emitted`."""
        return changed(self, stage=stage)


class Traced(Struct, frozen=True):
    """What `shardc.jit(f).trace(*args)` gives: `stage` is JAX's own of the function, which has the rest.

    compiled: what makes the Lowered. emitted: what makes JAX's own stage of the emitted program.
    """

    stage: Any
    compiled: Callable[[], Lowered]
    emitted: Callable[[], Any]

    def lower(self, **said: Any) -> Any:
        """The Lowered; with options of JAX's, such as lowering_platforms, JAX's own of the emitted program.

        jax.export asks for the latter.
        """
        return self.emitted().lower(**said) if said else self.compiled()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stage, name)


def _entry(dim: Dim, mesh: Mesh) -> Any:
    """The entry of a PartitionSpec. Sub-axes are no whole axes there; their dimension counts as whole."""
    if not dim.axes or not all(map(mesh.is_full, dim.axes)):
        return None
    names = [axis.name for axis in dim.axes]
    return names[0] if len(names) == 1 else tuple(names)


@no_garbage_collection()
def lowered(
    traced: Any,
    options: Options,
    file: str,
    known: Iterable[AnyMesh] = (),
    prove: bool | None = None,
    captured: tuple[Any, ...] = (),
) -> Lowered:
    """Compile what JAX traced. ShardcError if shardc cannot; `file` is what errors call the text.

    known: meshes of the user's, whose devices the program may run on; those in the function are added.
    prove: as in shardc.compile. captured: the first arguments, which are no arguments of the function's.
    """
    names = frozenset(str(equation.primitive.name) for equation in equations(traced.jaxpr))
    check(traced.jaxpr)
    host = HostFunctions()
    found = (*known, *meshes_in(traced.jaxpr))
    text = with_mesh(with_caller(text_of(traced, host.lowering())), found)
    chosen = changed(options, language="mlir", file=file)
    own_rules = frozenset(name for name in names if name.startswith(_OWN_RULES))
    try:
        program = kept.compiled(text, chosen, prove)
    except ShardcError as error:
        told = at_definition(error.diagnostic, file, traced)
        raise ShardcError(told.message, told.loc, told.hint) from None
    warned = (at_definition(warning, file, traced) for warning in program.warnings)
    warnings = (*warned, *_said_of(traced.jaxpr))
    program = changed(program, captured=captured, warnings=warnings)
    if host.functions:
        program.module.host_functions.update(host.functions)
    return Lowered(text, program, traced.out_info, chosen, found, own_rules, _MAPPED in names)


def _said_of(jaxpr: Any) -> tuple[Diagnostic, ...]:
    """What is warned of in a traced function."""
    return (*large_constants(jaxpr), *moves_left_out(jaxpr), *own_partitions_left_out(jaxpr))


_MAPPED = "custom_vmap_call"
_OWN_RULES = ("custom_jvp", "custom_vjp", "stop_gradient")
