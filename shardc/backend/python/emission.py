"""What every printer may look at: the program, the target language, the mesh, the names of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from msgspec import Struct, field

from shardc.analysis.emitted_mesh import EmittedMesh
from shardc.analysis.loops import Constants
from shardc.backend.python.printers import Printer, Printers
from shardc.backend.python.total_order import makers
from shardc.backend.python.trace import Trace
from shardc.backend.python.writer import Writer
from shardc.graph import DTYPES, Graph, Node, is_builtin


def _never(graph: Graph, made: Mapping[int, Node], value: int, user: Node) -> bool:
    return False


class Target(Struct, frozen=True):
    """A language to write: its name, its array module, and its printers.

    `otherwise` prints what has no printer, if the language can. `tuples` says that a variable may hold one,
    `deletes` that what variables hold takes memory until they are deleted, `written_over`
    of a value and the operation that uses it that what this gives goes into its memory, if it has no name.
    """

    language: str
    xp: str
    printers: Printers
    otherwise: Printer | None = None
    tuples: bool = True
    deletes: bool = False
    written_over: Callable[[Graph, Mapping[int, Node], int, Node], bool] = _never

    def printer(self, name: str) -> Printer | None:
        """What prints an operation, if the language can say it."""
        return self.printers.find(name) or self.otherwise

    def dtype(self, dtype: str) -> str:
        """jnp.float32, np.int32; ml_dtypes.bfloat16 is no type of NumPy's."""
        module = self.xp if self.xp == "jnp" or is_builtin(dtype) else "ml_dtypes"
        return f"{module}.{'bool_' if dtype == 'bool' else DTYPES[dtype][1].name}"


class Emission(Struct, dict=True):
    """What all scopes of one written program share."""

    graph: Graph
    target: Target
    writer: Writer
    mesh: EmittedMesh | None = None
    functions: dict[str, str] = {}  # callee -> its Python name
    leading: tuple[str, ...] = ()  # what per-device functions that communicate take before their arrays
    silent: set[str] = set()  # callees that do not communicate
    default_integer: str = "i32"  # the dtype of a bare integer
    varying: Mapping[int, frozenset[str]] = {}
    trace: Trace = field(default_factory=Trace)
    full: bool = False  # whether every line says the types of what it makes

    def leading_of(self, callee: str | None = None) -> tuple[str, ...]:
        """What a function takes before its arrays; None is device_main."""
        return () if callee in self.silent else self.leading

    @cached_property
    def made(self) -> dict[int, Node]:
        """What makes each value, as the program has it."""
        return makers(self.graph)

    @cached_property
    def constants(self) -> Constants:
        """The scalar integers of the program, which say how loops count."""
        return Constants(self.graph)
