"""What shardc knows of an operation: one record, of which every table of operations is a view.

cbrt = unary("stablehlo.cbrt", REAL, np.cbrt, increasing, doc="The cube root.", array="cbrt", language="cbrt")

The record has the operation's name, how its result types follow from its operands, how it may be sharded
(its factor rule), what it computes, what it costs, what kind of thing it is (its traits), and how the
languages that shardc reads and writes spell it. It refers to NumPy and to nothing of xDSL or JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from shardc.graph import Op, TensorType
from shardc.ops.batching import Batching
from shardc.ops.derivative import Derivative
from shardc.ops.rule import FactorRule
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics.arrays import Array, Body

Infer = Callable[[UntypedOp], Types]
"""Result types of an operation. Raises ShapeError with what does not fit."""

RuleFunction = Callable[[Op], FactorRule | None]
"""The factor rule of one operation; None if these operands have none."""


Moved = tuple[tuple[int, ...], tuple[int, ...]]
"""Bytes read of each operand, bytes written of each result."""


class Meaning(Protocol):
    """What an operation computes: the list of its results. `bodies` are its regions as functions of arrays;
    they are not needed where `op.combiner` names what the region does.
    """

    def __call__(self, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]: ...


class Trait(Enum):
    """A property that many operations share, and that some part of the compiler asks for."""

    __hash__ = object.__hash__  # asked for often, and Enum's own is written in Python

    ELEMENTWISE = "each element of the result follows from the elements at the same place"
    SOURCE = "makes its result from attributes alone"
    PRODUCT = "multiplies and sums: a dot product or a convolution"
    MATMUL = "multiplies matrices"
    VIEW = "shows the elements of its operand in another shape"
    MOVES = "lays elements out anew and computes nothing"
    IDENTITY = "gives its operands back unchanged"
    ANNOTATION = "says something of shardings, and is gone once they are decided"
    SAME_LAYOUT = "lays each result out as the operand of the same number"
    REGION = "its regions run as parts of the program around them: loops, branches, manual code"
    LOOP = "runs its regions again and again"
    BRANCH = "runs one of its regions"
    TERMINATOR = "ends a region"
    CALL = "runs another function"
    COLLECTIVE = "an exchange between the devices of a group, in per-device code"
    COMBINES = "a collective that combines blocks elementwise, and so ends partial results"
    GLOBAL_COLLECTIVE = "a change of a global value's layout, which becomes one collective"
    GROUPED = "an exchange between replica groups, as StableHLO writes them"
    RANDOM = "makes random bits"
    EFFECT = "does more than compute its results"
    SHOWS = "shows values to whoever runs the program"
    KEPT = "stays in a program where nothing uses its results"
    EXTERNAL = "exchanges data with what is outside the program"
    EXCERPT = "gives all of its operand or a part of it, in another shape or dtype"
    ALONG_AXES = "names the axes of the mesh that it runs along, in per-device code"


class Rate(StrEnum):
    """How quickly a machine does operations that are no products: each has a number in its file."""

    OTHER = "other"
    """Arithmetic on elements, on many of them at once."""
    FUNCTION = "function"
    """Functions of elements that are approximated by many operations: exp, tanh, powers, roots."""
    CHOICE = "choice"
    """Elements of which one is chosen: maximum, clamp, select."""
    SERIAL = "serial"
    """Elements taken one after the other: cumulative sums."""
    ARGMAX = "argmax"
    """Elements compared one after the other, with their places: argmax, top_k."""
    SORT = "sort"
    """Comparisons of elements that are sorted."""
    SCATTER = "scatter"
    """Elements combined with others at places that are looked up."""
    CONVOLUTION = "convolution"
    """Operations of convolutions, which have the rate of products where they have none of their own."""


Lying = tuple[int, ...]
"""Of each operand, then of each result, the dimension along which its neighbours in memory lie."""


def as_written(op: Op) -> Lying:
    """Every tensor lies row after row: neighbours are along the last dimension with several elements."""
    types = (*op.operands, *op.results)
    return tuple(max((d for d, n in enumerate(type.shape) if n > 1), default=0) for type in types)


def in_order(op: Op, lying: Lying) -> int:
    """Nothing is read across the order in which it lies."""
    return 0


class Work(Struct, frozen=True):
    """What running an operation once takes on one device.

    `operations` counts arithmetic on elements. `moved` are the bytes read of each operand and written of each
    result, where that is not all of them (a gather reads only the rows that it takes), by their types. `rate`
    says how quickly they are done, for what is no product. `turned` are bytes that are read across the order
    in which they lie: neighbours in memory are not used together. `strided` are those of a machine that does
    not fuse: what goes along a dimension that is not that of the neighbours; `copied` are operands of
    which it makes copies that it can work on. `timed` are operations that are no arithmetic, and take time on
    machines that have their rate.
    """

    operations: Callable[[Op], int]
    moved: Callable[[Op], Moved] | None = None
    rate: Callable[[Op], Rate] = lambda op: Rate.OTHER
    turned: Callable[[Op, Lying], int] = in_order
    strided: Callable[[Op, Lying], int] = in_order
    copied: Callable[[Op], int] = lambda op: 0
    timed: Callable[[Op], int] = lambda op: 0


def per_result(op: Op) -> int:
    """One operation per element of every result."""
    return sum(type.size for type in op.results)


def per_operand(op: Op) -> int:
    """One operation per element of the first operand."""
    return op.operands[0].size


def per_update(op: Op) -> int:
    """One operation per element of the last operand."""
    return op.operands[-1].size


def kept(op: Op) -> Moved:
    """Of the first operand is read what the result has of it; the others are read whole."""
    others = (type.nbytes for type in op.operands[1:])
    return (op.results[0].nbytes, *others), (op.results[0].nbytes,)


COMPUTES = Work(per_result)
APPROXIMATES = Work(per_result, rate=lambda op: Rate.FUNCTION)
CHOOSES = Work(per_result, rate=lambda op: Rate.CHOICE)
SELECTS = Work(lambda op: 0, rate=lambda op: Rate.CHOICE, timed=per_result)
READS = Work(per_operand)
UPDATES = Work(per_update)
FREE = Work(lambda op: 0)
KEEPS = Work(lambda op: 0, kept)


class Syntax(Struct, frozen=True):
    """How the operation is written in MLIR; dialects/ derives its class from this.

    operands, results: names; one that starts with `*` stands for any number. attrs: name -> kind (see
    dialects/attribute_kinds.py), with `?` behind the kind of one that may be absent. regions: names, with `*`
    as well. format: the declarative assembly format, None for MLIR's generic form. same_sizes: operands of
    any number have equal numbers (`SameVariadicOperandSize`). tensors: operands and results are tensors;
    False where tokens and tuples may stand too.
    """

    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ("result",)
    attrs: Mapping[str, str] = {}
    format: str | None = None
    regions: tuple[str, ...] = ()
    same_sizes: bool = False
    tensors: bool = True


class Takes(Enum):
    """What a built-in of the .shard language does with operands of other dtypes."""

    FLOATS = "integers become f32 first"
    NUMBERS = "bool becomes i32"
    ROUNDS = "nothing happens to integers"
    ALIKE = "operands get one dtype"
    TRUTHS = "anything but zero is true"


class Spelling(Struct, frozen=True):
    """How programs write the operation. An operator is written as its symbol, a function by its full name.

    language: the built-in of the .shard language, and what it takes. numpy, jax: None where a printer of the
    backend says more; numpy is `ops.name` where a function of shardc.semantics is called. Operands are the
    arguments, unless the text says where they and attributes stand: `np.broadcast_to({0}, {sizes})`. strict:
    the function wants operands of one dtype and shape, as those of `ops` always do. called: what messages
    call it where it is no built-in. variable: what emitted code calls a result that has no name.
    """

    language: str | None = None
    takes: Takes = Takes.FLOATS
    numpy: str | None = None
    jax: str | None = None
    strict: bool = False
    called: str | None = None
    variable: str = "t"


class OpDef(Struct, frozen=True, kw_only=True, eq=False):
    """One operation. Two definitions are the same only if they are one object; names are unique.

    infer is None for operations that are never checked (tokens, tuples); rule for those whose sharding
    something else decides (constants, loops, calls); meaning for those that an interpreter runs itself
    (control flow, communication). spreads: the rule of propagation, where Shardy ties fewer dimensions than
    may be split together. sends: bytes that a device sends, from the bytes of its operand and the
    number of positions in the group, for collectives; steps: messages of the ring one after the other, from
    the number of positions. title: what people call it, where that is not its
    name. example: one operation of this kind, which pages show. derivative: how its results change with its
    operands; None if nobody said, which gradients report, or `ops/derivatives/` is not imported. batching:
    how it runs on stacks (`ops/batches/`), likewise.
    """

    name: str
    doc: str
    infer: Infer | None = None
    rule: RuleFunction | None = None
    spreads: RuleFunction | None = None
    meaning: Meaning | None = None
    work: Work = FREE
    traits: frozenset[Trait] = frozenset()
    syntax: Syntax | None = None
    spelling: Spelling = Spelling()
    sends: Callable[[int, int], int] | None = None
    steps: Callable[[int], int] | None = None
    title: str | None = None
    example: Op | None = None
    derivative: Derivative | None = None
    batching: Batching | None = None

    def differentiate(self, derivative: Derivative) -> None:
        """Give the definition its derivative, whose formula names operations that are defined later."""
        force_setattr(self, "derivative", derivative)

    def batch(self, batching: Batching) -> None:
        """Give the definition its rule for stacks, likewise."""
        force_setattr(self, "batching", batching)

    @property
    def dialect(self) -> str:
        """What the name begins with."""
        return self.name.partition(".")[0]

    @property
    def short(self) -> str:
        """The name without its dialect."""
        return self.name.partition(".")[2]

    def has(self, trait: Trait) -> bool:
        return trait in self.traits

    def __repr__(self) -> str:
        return f"<{self.name}>"


def of(
    name: str,
    operands: Sequence[TensorType],
    *results: TensorType,
    combiner: str | None = None,
    **attrs: object,
) -> Op:
    """An operation for an example."""
    return Op(name, tuple(operands), results, attrs, combiner)
