"""The options of a compilation: one record, which the command, the API and the passes share.

The command makes it from its arguments, `shardc.compile(text, overlap="on")` from its keywords. Defaults and
possible values are stated here only, and wrong values are refused here, in the same words for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from shardc.diagnostics import ShardcError, did_you_mean

TARGETS = ("jax", "numpy", "mpi")
LANGUAGES = ("mlir", "shard", "onnx")
FALLBACKS = ("error", "replicate")
COMMENTS = ("brief", "full")
OVERLAPS = ("off", "on", "auto")
BEST = "best"
"""In the place of links of axes: find them."""


class Options(Struct, frozen=True, kw_only=True):
    """How a program is read, compiled and written. ShardcError for a value that has no meaning.

    target: what is emitted. language: of the text; found out from the text where it is None. file: what
    errors call the text. defines: the sizes of a .shard program that get other values. entry: the function
    compiled. fallback: what becomes of an operation that has no rule. overlap: where products go on while
    blocks travel; auto asks what is quicker on the machine. machine: its name or its file. links: the link
    of a mesh axis, by the names of both, or `best`: the axes number the devices in the quickest order.
    memory: the most bytes that a device may hold at a time; of what that may take, memory_limit is one part
    (bytes that a step of a change of layout may take, operand and result), regather another (whether the
    backward pass gathers all weights again). combine: bytes up to which collectives become one; 0 leaves
    them apart. process_data: whether a JAX program has main_local, which takes what each process holds.
    comments: brief has types where a layout changes and at the heads of functions, full on every line.
    """

    target: str = "jax"
    language: str | None = None
    file: str = "<text>"
    defines: Mapping[str, int] | None = None
    entry: str | None = None
    fallback: str = "error"
    overlap: str = "off"
    machine: str | None = None
    links: Mapping[str, str] | str | None = None
    memory: int | None = None
    memory_limit: int | None = None
    regather: bool = False
    combine: int | None = None
    process_data: bool = False
    comments: str = "brief"

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise _none_of(f"{self.target} is no target; they are {', '.join(TARGETS)}", self.target, TARGETS)
        if self.language is not None and self.language not in LANGUAGES:
            text = f"{self.language} is no language; they are {', '.join(LANGUAGES)}"
            raise _none_of(text, self.language, LANGUAGES)
        for name, known in (("fallback", FALLBACKS), ("overlap", OVERLAPS), ("comments", COMMENTS)):
            value = getattr(self, name)
            if value not in known:
                raise _none_of(f"{name} can be {', '.join(known)}, not {value}", value, known)
        _check_bytes("a device's memory", self.memory, 1)
        _check_bytes("the memory limit", self.memory_limit, 1)
        _check_bytes("the size up to which collectives are combined", self.combine, 0)
        if self.memory is not None and (self.memory_limit is not None or self.regather):
            raise ShardcError("memory bounds all that a device holds: leave out memory_limit and regather")
        if isinstance(self.links, str) and self.links != BEST:
            raise ShardcError(f"links are those of mesh axes, or {BEST}, not {self.links}")
        if self.links and self.machine is None:
            raise ShardcError("links are those of a machine, and none is named")


def _none_of(message: str, word: object, known: Sequence[str]) -> ShardcError:
    return ShardcError(message, hint=did_you_mean(str(word), known))


def _check_bytes(what: str, value: object, least: int) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise ShardcError(f"{what} is a whole number of bytes from {least}, not {value}")


class SourceOptions(TypedDict, total=False):
    """The options that say what a text is."""

    language: str | None
    file: str
    defines: Mapping[str, int] | None
    entry: str | None


class ExplainOptions(SourceOptions, total=False):
    """Those, and the machine that the program is planned for."""

    machine: str | None
    links: Mapping[str, str] | str | None


class PassOptions(TypedDict, total=False):
    """The options that passes read."""

    fallback: str
    overlap: str
    machine: str | None
    links: Mapping[str, str] | str | None
    memory: int | None
    memory_limit: int | None
    regather: bool
    combine: int | None


class CostOptions(SourceOptions, PassOptions, total=False):
    """All but the target."""


class CompileOptions(CostOptions, total=False):
    """All options."""

    target: str
    process_data: bool
    comments: str


class JaxOptions(PassOptions, total=False):
    """The options for a program whose text JAX writes."""

    target: str
    process_data: bool
    comments: str


def options_of(function: str, kind: type[Any], given: Options | None, named: Mapping[str, Any]) -> Options:
    """The options of a call of the API: those given, with those named changed.

    TypeError, as Python's own, for a name that is no key of the TypedDict `kind`.
    """
    for name in named:
        if name not in kind.__optional_keys__:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
    return replace(given or Options(), **named)
