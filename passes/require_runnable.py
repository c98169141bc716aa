"""require-runnable: the module, unchanged, or an error that names all operations that no device can run.

    %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%0) : (tensor<8xf32>) -> tensor<8xf32>
    %2:2 = stablehlo.infeed %t … : …

stops with

    prog.mlir:3:5: error: a host callback (custom_call @xla_ffi_python_cpu_callback) cannot be compiled: …
        note: …; this cannot be compiled either: custom_call @xla_ffi_python_cpu_callback, infeed

These are operations with an effect outside the program, which every device would have; values that are no
arrays of numbers; arithmetic in integers of 4 bits; foreign code for arrays in another order than row
by row; comparisons of one type as if it were another; several replicas. It runs before shardings are looked
for, so that nothing is spent on a program that cannot be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from shardc.diagnostics import ShardcError
from shardc.dialects.convert import python_of
from shardc.dialects.locations import location_of
from shardc.dialects.shared_graph import LARGE, SharedGraph
from shardc.dialects.stablehlo.calls import CustomCallOp
from shardc.dialects.types import type_of
from shardc.graph import Graph, Node, is_complex, is_float, walk
from shardc.graph.types import DTYPES, FOUR_BITS
from shardc.ops import Trait, has, hlo, is_tensor_op
from shardc.ops.custom_calls import HOST_CALL, INSPECTS, RAGGED_ALL_TO_ALL
from shardc.ops.four_bits import computes
from shardc.ops.host_call import HostCall
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.device_numbers import has_groups
from shardc.semantics.lapack import is_known, options_of, routine


class RequireRunnable(GraphPass):
    """Stop at operations that no device can run."""

    name = "require-runnable"

    def rewrite(self, shared: SharedGraph) -> bool:
        _check_replicas(shared.module)
        ops = shared.ops()
        if len(ops) >= LARGE and _are_plain(shared.module, ops):
            return False
        graph = shared.snapshot().graph
        _check_operations(graph)
        check_types(graph)
        return False


def _check_replicas(module: ModuleOp) -> None:
    """A program runs once, on the devices of its mesh."""
    count = module.attributes.get(_REPLICAS)
    if isinstance(count, IntegerAttr) and count.value.data > 1:
        raise ShardcError(
            f"the module is for {count.value.data} replicas, and a program of shardc's has one",
            location_of(module.location),
            f"jax.shard_map writes what jax.pmap did; without {_REPLICAS} it is one replica's program",
        )


def _are_plain(module: ModuleOp, ops: Sequence[Operation]) -> bool:
    """Whether the operations of a module are such as every device can run, as far as that is seen without
    their graph."""
    outer = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    bodies = [[*region.blocks] for op in (*outer, *ops) for region in op.regions]
    if any(len(blocks) != 1 for blocks in bodies):
        return False  # there are jumps, or functions without a body
    names = {op.name for op in ops}
    if not names.isdisjoint(_ASKED) or any(has(name, Trait.EXTERNAL) for name in names):
        return False
    if not all(_TOLD.isdisjoint(op.properties) and _TOLD.isdisjoint(op.attributes) for op in ops):
        return False
    made: dict[int, Attribute] = {id(value.type): value.type for op in ops for value in op.results}
    made.update((id(value.type), value.type) for (block,) in bodies for value in block.args)
    compares = [op for op in ops if op.name == hlo.compare.name]
    stated = (
        (op.operands[0].type, op.properties.get(_COMPARED, op.attributes.get(_COMPARED))) for op in compares
    )
    kinds = {type_of(attr).dtype for attr in made.values()}
    return kinds <= DTYPES.keys() - FOUR_BITS.keys() and not any(
        said is not None and _comparison(type_of(attr).dtype, str(python_of(said)))
        for attr, said in {*stated}
    )


def check_types(graph: Graph) -> None:
    """Per-device code holds arrays of numbers."""
    for value in graph.values:
        dtype = value.type.dtype
        if dtype not in DTYPES:
            raise ShardcError(
                f"a value is of type {dtype}, of which per-device code has none",
                value.loc,
                "tokens order effects, and what is compiled has no effects"
                if dtype.startswith("!")
                else f"convert to one of {', '.join(DTYPES)}",
            )


class _Problem(Struct, frozen=True):
    """Why an operation cannot be compiled, and what helps."""

    message: str
    hint: str | None = None


def _check_operations(graph: Graph) -> None:
    """ShardcError at the first operation that no device can run; it names the others, with their counts."""
    found = [
        (node, problem)
        for function in graph.functions.values()
        for node in walk(function.body)
        if (problem := _problem(node, graph)) is not None
    ]
    if not found:
        return
    node, problem = found[0]
    others = Counter(title(other) for other, _ in found[1:])
    counted = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in others.items())
    also = f"this cannot be compiled either: {counted}" if others else ""
    raise ShardcError(problem.message, node.loc, "; ".join(filter(None, (problem.hint, also))) or None)


def _problem(node: Node, graph: Graph) -> _Problem | None:
    if node.name == hlo.compare.name:
        said = str(node.attrs.get(_COMPARED, _NO_TYPE))
        return _comparison(graph.type(node.operands[0]).dtype, said)
    if computes(node.name):
        return _four_bits(node, graph)
    if "call_target_name" not in node.attrs:
        return _effect(node)
    return _effect(node) or _ragged(node) or _order(node) or _memory(node)


def _comparison(dtype: str, said: str) -> _Problem | None:
    """Numbers are compared as what they are; XLA refuses all else, too."""
    if dtype in DTYPES and said != _NO_TYPE and said not in (kinds := _kinds(dtype)):
        return _Problem(
            f"a comparison of {dtype} cannot be {said}: it is {' or '.join(kinds)}",
            "say so, or nothing: it follows from the type",
        )
    return None


def _four_bits(node: Node, graph: Graph) -> _Problem | None:
    """Integers of 4 bits have no arithmetic."""
    few = [type for type in graph.types((*node.operands, *node.results)) if type.dtype in FOUR_BITS]
    if not few:
        return _effect(node)
    return _Problem(
        f"{title(node)} of {few[0]}: nothing is computed with integers of 4 bits",
        f"convert to {few[0].dtype[0]}8 or to a float before, and back after it: they are stored, moved, "
        "compared and converted",
    )


def _kinds(dtype: str) -> tuple[str, ...]:
    if is_float(dtype):
        return ("FLOAT", "TOTALORDER")
    if is_complex(dtype):
        return ("FLOAT",)
    return ("UNSIGNED",) if dtype[0] in "ub" else ("SIGNED",)


def _effect(node: Node) -> _Problem | None:
    """Nothing may happen outside the program: it would happen once per device, or in another order."""
    target = str(node.attrs.get("call_target_name", ""))
    if target == HOST_CALL:
        return _host_call(node)
    if "callback" in target:
        return _Problem(
            f"a host callback (custom_call @{target}) cannot be compiled: the text does not hold the "
            "function that it calls",
            "shardc.jit(f) compiles callbacks: it has the function; or leave them out of what is lowered",
        )
    if target == INSPECTS and node.attrs.get("has_side_effect"):
        return _Problem(
            "jax.debug.inspect_array_sharding cannot be compiled: it calls back while XLA compiles",
            "leave it out; --explain NAME, or lower(*args).explain(name), says how a value is split",
        )
    is_rng = node.name == hlo.rng.name
    if has(node.name, Trait.EXTERNAL) or is_rng or node.attrs.get("has_side_effect"):
        return _Problem(
            f"{title(node)} has an effect outside the program, which every device would have",
            "use jax.random, whose bits follow from a key" if is_rng else None,
        )
    return None


def _host_call(node: Node) -> _Problem | None:
    """A function on the host, which the program must name."""
    try:
        HostCall.of(node.attrs)
    except ValueError as error:
        return _Problem(str(error))
    return None


def _ragged(node: Node) -> _Problem | None:
    """An exchange whose groups of devices are options of the call."""
    if node.attrs.get("call_target_name") != RAGGED_ALL_TO_ALL or has_groups(node):
        return None
    return _Problem("lax.ragged_all_to_all cannot be compiled without its replica_groups in backend_config")


def _order(node: Node) -> _Problem | None:
    """A routine of LAPACK's that asks a function of the host."""
    target = str(node.attrs.get("call_target_name", ""))
    if routine(target) is None or is_known(target, options_of(node.attrs)):
        return None
    return _Problem(
        f"{title(node)} with an order of eigenvalues cannot be compiled: the text does not hold the function "
        "that chooses those which come first",
        "jax.lax.linalg.schur without sort_eig_vals has no such function",
    )


def _memory(node: Node) -> _Problem | None:
    """Foreign code is given arrays row by row."""
    target = str(node.attrs.get("call_target_name", ""))
    if not target or routine(target) is not None:
        return None
    layouts = [cast("tuple[int, ...]", layout) for key in _LAYOUTS for layout in _tuple(node.attrs.get(key))]
    if all(layout == tuple(reversed(range(len(layout)))) for layout in layouts):
        return None
    return _Problem(f"custom_call @{target} wants arrays that are not stored row by row, as shardc's are")


_REPLICAS = "mhlo.num_replicas"
_COMPARED, _NO_TYPE = "compare_type", "NOTYPE"
_TOLD = {"call_target_name", "has_side_effect"}
_ASKED = {hlo.rng.name, CustomCallOp.name}
"""Operations that may be none that devices can run, or say how."""
_LAYOUTS = ("operand_layouts", "result_layouts")


def _tuple(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()


def title(node: Node) -> str:
    """custom_call @mine"""
    target = node.attrs.get("call_target_name")
    name = node.name.partition(".")[2] if is_tensor_op(node.name) else node.name
    return f"{name} @{target}" if target else name
