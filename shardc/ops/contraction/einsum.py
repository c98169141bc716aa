"""einsum: a product of two operands whose dimensions are letters, summed over those that the result lacks."""

from __future__ import annotations

import re
from math import prod

from msgspec import Struct

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Syntax, Trait, Work, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, partial_kind
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import contraction as kernels


class Subscripts(Struct, frozen=True):
    """One letter for each dimension of both operands and of the result: ij,jk->ik."""

    operands: tuple[str, ...]
    result: str

    @classmethod
    def of(cls, config: str) -> Subscripts:
        """The text of `einsum_config`, which is not checked here."""
        left, _, result = config.replace(" ", "").partition("->")
        return cls(tuple(left.split(",")), result)

    @property
    def letters(self) -> tuple[str, ...]:
        """All letters: those of the result, then those that are summed over, each once."""
        return tuple(dict.fromkeys((*self.result, *"".join(self.operands))))


def _types(op: UntypedOp) -> Types:
    lhs, rhs = op.arity(2)
    names, sizes = _subscripts(op), dict[str, int]()
    for letters, type in zip(names.operands, (lhs, rhs), strict=True):
        op.check_length(f'"{letters}"', letters, type.rank)
        for letter, size in zip(letters, type.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise op.error(f"has sizes {sizes[letter]} and {size} for {letter}, of {lhs} and {rhs}")
    for letter in names.result:
        if letter not in sizes:
            raise op.error(f"has no operand with {letter}, which its result has")
    if lhs.dtype != rhs.dtype and op.given is None:
        raise op.error(f"of {lhs} and {rhs} needs its result type stated (results=)")
    return (TensorType(tuple(sizes[letter] for letter in names.result), op.result_dtype(lhs.dtype)),)


def _subscripts(op: UntypedOp) -> Subscripts:
    config = op.get("einsum_config", str)
    names = Subscripts.of(config)
    if "->" not in config or len(names.operands) != 2:
        raise op.error(f'has the config "{config}"; one is "ij,jk->ik"')
    for letters in (*names.operands, names.result):
        if not re.fullmatch("[a-zA-Z]*", letters) or len(set(letters)) != len(letters):
            raise op.error(f'has "{letters}" in "{config}"; each dimension has a letter of its own')
    return names


def _rule(op: Op) -> FactorRule:
    """A factor for each letter; those that the result lacks are reductions."""
    names, sizes = Subscripts.of(str(op.attrs["einsum_config"])), _sizes(op)
    builder = RuleBuilder(op)
    for letter in names.letters:
        operands = {i: letters.index(letter) for i, letters in enumerate(names.operands) if letter in letters}
        if letter in names.result:
            builder.factor(sizes[letter], operands, {0: names.result.index(letter)})
        else:
            builder.factor(sizes[letter], operands, kind=Kind.REDUCTION)
    return builder.build(reduction=partial_kind("sum", op.results[0].dtype), linear=[[0], [1]])


def _multiply_adds(op: Op) -> int:
    """A multiplication and an addition for every combination of the letters' values."""
    return 2 * prod(_sizes(op).values())


def _sizes(op: Op) -> dict[str, int]:
    names = Subscripts.of(str(op.attrs["einsum_config"]))
    return {
        letter: size
        for letters, type in zip(names.operands, op.operands, strict=True)
        for letter, size in zip(letters, type.shape, strict=True)
    }


einsum = define(
    OpDef(
        name="stablehlo.einsum",
        doc='`stablehlo.einsum %0, %1, config = "ij,jk->ik" : (…) -> …`: a product summed over letters.',
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.einsum, "einsum_config", dtype=True),
        work=Work(_multiply_adds),
        traits=frozenset((Trait.PRODUCT,)),
        syntax=Syntax(
            ("lhs", "rhs"),
            attrs={"einsum_config": "str"},
            format=f"$lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict {FUNCTIONAL}",
        ),
        example=of(
            "stablehlo.einsum",
            [TensorType((2, 8, 4), "f32"), TensorType((4, 6), "f32")],
            TensorType((8, 2, 6), "f32"),
            einsum_config="bik,kj->ibj",
        ),
    )
)
