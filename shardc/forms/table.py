"""Which local forms an operation has.

Every operation has the plain one, which `PLAIN` replaces where blocks need more than the operation itself.
`FORMS` lists further ways to run an operation, each of which may split factors that the plain form may not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shardc.forms.creation import constant, iota
from shardc.forms.dynamic import dynamic_slice, dynamic_update_slice, static_slice
from shardc.forms.indexing import gather, scatter
from shardc.forms.movement import concatenate, join, pad, reverse, slice_
from shardc.forms.plain import custom_call, plain
from shardc.forms.reductions import arg_extreme, cumulative, cumulative_dims, reduce_candidates, top_k
from shardc.forms.site import Site
from shardc.forms.sliding import convolution, reduce_window, sliding_dims, spatial_factors
from shardc.graph import Op
from shardc.rules import FactorRule, Kind

Factors = frozenset[int]
NONE: Factors = frozenset()


class After(Enum):
    """What results are over the axes of a factor that only this form may split."""

    SPLIT = "split"  # the dimension is split as in the operands
    PARTIAL = "partial"  # a partial sum
    WHOLE = "whole"  # the form ends the split itself


@dataclass(frozen=True)
class Form:
    """A way to run an operation: its builder, the factors only it may split, what that makes of results."""

    name: str
    build: Callable[[Site], list[Any]]
    splits: Callable[[Op, FactorRule], Factors] = lambda op, rule: NONE
    after: After = After.SPLIT


def _of_kind(rule: FactorRule, *kinds: Kind) -> Factors:
    return frozenset(i for i, factor in enumerate(rule.factors) if factor.kind in kinds)


def _reduced(op: Op, rule: FactorRule) -> Factors:
    return _of_kind(rule, Kind.REDUCTION) if rule.reduction is None else NONE


def _extremes(op: Op, rule: FactorRule) -> Factors:
    return _reduced(op, rule) if op.combiner in ("argmax", "argmin") else NONE


def _sliding(op: Op, rule: FactorRule) -> Factors:
    return sliding_dims(op, rule) - _running(op, rule)


def _last(op: Op, rule: FactorRule) -> Factors:
    return frozenset(rule.operands[0][-1])


def _running(op: Op, rule: FactorRule) -> Factors:
    return frozenset(f for dim in cumulative_dims(op) for f in rule.operands[0][dim])


def _sliced(op: Op, rule: FactorRule) -> Factors:
    sizes, shape = op.results[0].shape, op.operands[0].shape
    return frozenset(
        f for d, (s, n) in enumerate(zip(sizes, shape, strict=True)) if s < n for f in rule.operands[0][d]
    )


def _permuted(op: Op, rule: FactorRule) -> Factors:
    """Dimensions whose elements move from block to block."""
    return frozenset(i for i, f in enumerate(rule.factors) if f.kind is not Kind.REDUCTION and not f.is_plain)


def _indexed(op: Op, rule: FactorRule) -> Factors:
    return frozenset(f for dim in rule.operands[0] for f in dim if not rule.factors[f].is_plain)


def _found(op: Op, rule: FactorRule) -> Factors:
    return _indexed(op, rule) & _of_kind(rule, Kind.REDUCTION)


def _written(op: Op, rule: FactorRule) -> Factors:
    return _indexed(op, rule) & _of_kind(rule, Kind.PASS)


PLAIN: dict[str, Callable[[Site], list[Any]]] = {
    "shardc.join": join,
    "stablehlo.constant": constant,
    "sdy.constant": constant,
    "stablehlo.custom_call": custom_call,
    "stablehlo.iota": iota,
}

FORMS: dict[str, tuple[Form, ...]] = {
    "stablehlo.reduce": (
        Form("extreme", arg_extreme, _extremes, After.WHOLE),
        Form("candidates", reduce_candidates, _reduced, After.WHOLE),
    ),
    "chlo.top_k": (Form("candidates", top_k, _last, After.WHOLE),),
    "stablehlo.convolution": (Form("moved", convolution, spatial_factors),),
    "stablehlo.reduce_window": (
        Form("block_totals", cumulative, _running),
        Form("moved", reduce_window, _sliding),
    ),
    "stablehlo.gather": (Form("masked", gather, _found),),
    "stablehlo.scatter": (Form("masked", scatter, _written),),
    "stablehlo.slice": (
        Form("masked", static_slice, _sliced, After.PARTIAL),
        Form("moved", slice_, _permuted),
    ),
    "shardc.join": (Form("moved", join, _permuted),),
    "stablehlo.pad": (Form("moved", pad, _permuted),),
    "stablehlo.concatenate": (Form("moved", concatenate, _permuted),),
    "stablehlo.reverse": (Form("moved", reverse, _permuted),),
    "stablehlo.dynamic_slice": (Form("masked", dynamic_slice, _sliced, After.PARTIAL),),
    "stablehlo.dynamic_update_slice": (Form("masked", dynamic_update_slice, _written),),
}


def forms_of(op_name: str) -> tuple[Form, ...]:
    """All forms of an operation, the plain one first."""
    return (Form("plain", PLAIN.get(op_name, plain)), *FORMS.get(op_name, ()))


def form_named(op_name: str, name: str) -> Form:
    """The form of that name; KeyError if the operation has none such."""
    for form in forms_of(op_name):
        if form.name == name:
            return form
    raise KeyError(f"{op_name} has no local form {name}")
