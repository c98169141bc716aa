"""read_back(text, whole): the program that an emitted JAX text runs, as JAX itself lowers it.

The text's functions are traced by JAX for arguments of the global program's types, on a mesh without devices;
the StableHLO that comes out, with shard_map's bodies as per-device code, is read like any other. So what the
names of JAX mean is what JAX makes of them. The text reaches functions of jax.numpy and jax.lax, and nothing
that runs or writes anything.
"""

from __future__ import annotations

import ast
import base64
import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from shardc.diagnostics import ShardcError, register_source
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph
from shardc.graph.trees import arguments_of, of_processes
from shardc.proof.reading.along_axes import along_axes
from shardc.proof.reading.functions import called_often, reached
from shardc.proof.reading.records import records_of
from shardc.proof.values import Beyond, Refused

FILE = "the emitted text"
"""What locations in it are of."""

MOST_DEVICES = 1 << 20

_WIDE = "jax.config.update('jax_enable_x64', True)"
_BUILTINS = {
    name: getattr(builtins, name)
    for name in ("complex", "float", "len", "range", "tuple", "zip", "RuntimeError")
}
_BUILTINS["__import__"] = builtins.__import__  # for JAX's own, first imports; no text can name it
_FILES = frozenset({"fromfile", "load", "save", "savez"})
_JAX = (
    "ShapeDtypeStruct", "default_prng_impl", "enable_x64", "grad", "shard_map", "threefry_partitionable",
    "vjp", "vmap",
)  # fmt: skip
_NUMPY = ("array", "frombuffer", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
          "float16", "float32", "float64", "complex64", "complex128", "bool_", "inf", "nan")  # fmt: skip


class Names:
    """Some names of a module, and `others`; its modules `linalg` and `fft` likewise. More raise Beyond."""

    def __init__(self, module: ModuleType, only: Collection[str] | None = None, **others: object) -> None:
        self._module, self._only = module, only
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name, None)
        if isinstance(found, ModuleType) and name in ("linalg", "fft"):
            return Names(found)
        allowed = name not in _FILES if self._only is None else name in self._only
        if found is None or isinstance(found, ModuleType) or not allowed or name.startswith("_"):
            raise Beyond(f"the name {self._module.__name__}.{name} in an emitted text")
        return found


def read_back(text: str, whole: Graph) -> Graph:
    """The program of a text whose `main` takes the arrays of the global program.

    Raises Beyond where the text does what cannot be read, or JAX is not there; Refused where it does what
    Python or JAX refuse.
    """
    try:
        import jax
    except ImportError:
        raise Beyond("JAX is not installed, and texts of this target") from None
    tree = ast.parse(text)
    wide = any(isinstance(node, ast.Expr) and ast.unparse(node) == _WIDE for node in tree.body)
    types, interface = whole.types(whole.main.body.args), whole.main.interface
    if any(isinstance(node, ast.FunctionDef) and node.name == "main_local" for node in tree.body):
        interface = of_processes(interface)
    with jax.enable_x64(wide):
        given = arguments_of(interface, [jax.ShapeDtypeStruct(t.shape, t.numpy) for t in types])
        lowered = _lowered(_functions(tree), given, records_of(tree.body))
    register_source(FILE, text)
    try:
        return along_axes(snapshot(read(lowered, "what JAX makes of it")).graph)
    except ShardcError as error:
        message = f"what JAX makes of the emitted text ({error.diagnostic.message})"
        raise Beyond(f"{message}, and such texts") from error


def _functions(tree: ast.Module) -> ast.Module:
    """The functions that are traced: main, and those that it names, by way of others too. What starts
    devices or moves what processes hold is beside the program.

    Raises Beyond for names that lead out of what they are given.
    """
    named = reached([node for node in tree.body if isinstance(node, ast.FunctionDef)], "main")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in named]
    for node in (inner for function in functions for inner in ast.walk(function)):
        names = [getattr(node, key) for key in ("attr", "id", "name", "arg") if hasattr(node, key)]
        if any(isinstance(name, str) and name.startswith("__") for name in names):
            raise Beyond("names with two underscores")
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.ClassDef):
            raise Beyond("texts that import or define more")
    return ast.Module([*functions], [])


def _lowered(functions: ast.Module, arguments: Sequence[Any], records: Mapping[str, Any]) -> str:
    """The StableHLO text of `main`."""
    jax: Any = import_module("jax")
    namespace = {**names_of_text(), **records}
    if any(isinstance(node, ast.Name) and node.id == _CIPHER for node in ast.walk(functions)):
        # which takes a while to import
        namespace[_CIPHER] = Names(getattr(import_module("jax.extend.random"), _CIPHER), ("bind",))
    try:
        exec(compile(functions, FILE, "exec"), namespace)
        for name in called_often(functions.body):
            namespace[name] = _traced_once(namespace[name])
        traced = jax.jit(namespace["main"], keep_unused=True).trace(*arguments)
        lowered = traced.lower(lowering_platforms=("cpu",), _private_parameters=_whole_operations(jax))
        return str(lowered.as_text(debug_info=True))
    except Beyond:
        raise
    except NameError as error:
        if error.name and hasattr(builtins, error.name):  # else a local one that has no value yet
            raise Beyond(f"the name {error.name} in an emitted text") from error
        raise Refused(_first_line(error)) from error
    except Exception as error:
        raise Refused(_first_line(error)) from error


def _whole_operations(jax: Any) -> Any:
    """Lowering in which abs of complex numbers is one operation, which the newest JAX writes as many with
    decisions: how it keeps sums of squares from overflowing.
    """
    stablehlo: Any = import_module("jaxlib.mlir.dialects.stablehlo")

    def absolute(_: Any, operand: Any) -> list[Any]:
        return [stablehlo.abs(operand)]

    parameters: Any = import_module("jax.interpreters.mlir").LoweringParameters
    return parameters(override_lowering_rules=((jax.lax.abs_p, absolute),))


def _traced_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a function of arrays does is lowered once for arrays of the same types, as a function."""
    jax: Any = import_module("jax")
    jitted = jax.jit(function)

    def call(*given: Any, **named: Any) -> Any:
        arrays = all(isinstance(each, jax.Array) for each in (*given, *named.values()))
        return (jitted if arrays else function)(*given, **named)

    return call


def _shown(text: str, *arrays: object) -> None:
    """What is printed changes no result."""


_SILENT = SimpleNamespace(print=_shown)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


_CIPHER = "threefry2x32_p"


def names_of_text() -> dict[str, Any]:
    """What the names of an emitted text are, but the cipher's."""
    jax: Any = import_module("jax")
    from jax.sharding import PartitionSpec

    def devices() -> range:
        return range(MOST_DEVICES)

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    return {
        "__builtins__": _BUILTINS,
        "base64": SimpleNamespace(b64decode=base64.b64decode),
        "jax": Names(
            jax, _JAX, devices=devices, jit=jit, nn=Names(jax.nn), random=Names(jax.random), debug=_SILENT
        ),
        "jnp": Names(jax.numpy),
        "lax": Names(jax.lax),
        "np": Names(np, _NUMPY),
        "Mesh": _mesh,
        "P": PartitionSpec,
    }


def _mesh(devices: Any, names: Sequence[str]) -> Any:
    """A mesh of these numbers, without devices; JAX's own has automatic axes, too."""
    from jax.sharding import AbstractMesh, AxisType

    numbers = np.asarray(devices)
    if len(set(numbers.ravel().tolist())) < numbers.size:
        raise Refused("a device is in the mesh twice")
    return AbstractMesh(numbers.shape, tuple(names), axis_types=(AxisType.Auto,) * len(names))
