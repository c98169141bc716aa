"""Which passes run when: text -> ir -> sharded -> collectives -> local."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

STAGES: dict[str, tuple[str, ...]] = {
    "ir": (),
    "sharded": (
        "inline-calls",
        "drop-open-constraints",
        "name-axes",
        "hoist-invariants",
        "unify-meshes",
        "propagate",
        "keep-apart",
        "check",
    ),
    "collectives": (
        "require-rules",
        "join-slices",
        "reduce-in-shape",
        "insert-reshards",
        "reshards-to-collectives",
    ),
    "local": (
        "localize",
        "declare-partials",
        "check",
        "drop-unit-axes",
        "share-collectives",
        "regather",
        "gather-late",
        "combine-collectives",
        "overlap",
        "outline-calls",
        "outline-repeats",
        "simplify-local",
    ),
}
"""Stage name -> the passes that lead to it from the stage before."""

BY_OPTION = ("combine-collectives", "overlap", "regather")
"""Passes that run only where there are options for them."""


def _check() -> type[ModulePass]:
    from shardc.passes.check import Check

    return Check


def _combine_collectives() -> type[ModulePass]:
    from shardc.passes.combine_collectives import CombineCollectives

    return CombineCollectives


def _drop_open_constraints() -> type[ModulePass]:
    from shardc.passes.drop_open_constraints import DropOpenConstraints

    return DropOpenConstraints


def _drop_unit_axes() -> type[ModulePass]:
    from shardc.passes.drop_unit_axes import DropUnitAxes

    return DropUnitAxes


def _declare_partials() -> type[ModulePass]:
    from shardc.passes.declare_partials import DeclarePartials

    return DeclarePartials


def _gather_late() -> type[ModulePass]:
    from shardc.passes.gather_late import GatherLate

    return GatherLate


def _hoist_invariants() -> type[ModulePass]:
    from shardc.passes.hoist_invariants import HoistInvariants

    return HoistInvariants


def _inline_calls() -> type[ModulePass]:
    from shardc.passes.inline_calls import InlineCalls

    return InlineCalls


def _insert_reshards() -> type[ModulePass]:
    from shardc.passes.insert_reshards import InsertReshards

    return InsertReshards


def _join_slices() -> type[ModulePass]:
    from shardc.passes.join_slices import JoinSlices

    return JoinSlices


def _keep_apart() -> type[ModulePass]:
    from shardc.passes.keep_apart import KeepApart

    return KeepApart


def _localize() -> type[ModulePass]:
    from shardc.passes.localize import Localize

    return Localize


def _name_axes() -> type[ModulePass]:
    from shardc.passes.name_axes import NameAxes

    return NameAxes


def _outline_calls() -> type[ModulePass]:
    from shardc.passes.outline_calls import OutlineCalls

    return OutlineCalls


def _outline_repeats() -> type[ModulePass]:
    from shardc.passes.outline_repeats import OutlineRepeats

    return OutlineRepeats


def _overlap() -> type[ModulePass]:
    from shardc.passes.overlap import Overlap

    return Overlap


def _propagate() -> type[ModulePass]:
    from shardc.passes.propagate import Propagate

    return Propagate


def _reduce_in_shape() -> type[ModulePass]:
    from shardc.passes.reduce_in_shape import ReduceInShape

    return ReduceInShape


def _regather() -> type[ModulePass]:
    from shardc.passes.regather import Regather

    return Regather


def _require_rules() -> type[ModulePass]:
    from shardc.passes.require_rules import RequireRules

    return RequireRules


def _reshards_to_collectives() -> type[ModulePass]:
    from shardc.passes.reshards_to_collectives import ReshardsToCollectives

    return ReshardsToCollectives


def _share_collectives() -> type[ModulePass]:
    from shardc.passes.share_collectives import ShareCollectives

    return ShareCollectives


def _simplify_local() -> type[ModulePass]:
    from shardc.passes.simplify_local import SimplifyLocal

    return SimplifyLocal


def _unify_meshes() -> type[ModulePass]:
    from shardc.passes.unify_meshes import UnifyMeshes

    return UnifyMeshes


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "check": _check,
    "combine-collectives": _combine_collectives,
    "drop-open-constraints": _drop_open_constraints,
    "drop-unit-axes": _drop_unit_axes,
    "declare-partials": _declare_partials,
    "gather-late": _gather_late,
    "hoist-invariants": _hoist_invariants,
    "inline-calls": _inline_calls,
    "insert-reshards": _insert_reshards,
    "join-slices": _join_slices,
    "keep-apart": _keep_apart,
    "localize": _localize,
    "name-axes": _name_axes,
    "outline-calls": _outline_calls,
    "outline-repeats": _outline_repeats,
    "overlap": _overlap,
    "propagate": _propagate,
    "reduce-in-shape": _reduce_in_shape,
    "regather": _regather,
    "require-rules": _require_rules,
    "reshards-to-collectives": _reshards_to_collectives,
    "share-collectives": _share_collectives,
    "simplify-local": _simplify_local,
    "unify-meshes": _unify_meshes,
}
"""Pass name -> a function that imports it."""


Options = Mapping[str, Mapping[str, Any]]
"""Pass name -> its options."""


def by_option(regather: bool, combine: int | None) -> Options:
    """The options that make the passes run which are only for those who ask."""
    found: dict[str, dict[str, Any]] = {"regather": {}} if regather else {}
    return {**found, "combine-collectives": {"bytes": combine}} if combine else found


def run_to(
    context: Context, module: ModuleOp, stage: str, start: str = "ir", options: Options | None = None
) -> None:
    """Take a module from the end of stage `start` to the end of `stage`, verifying after each pass."""
    names, options = list(STAGES), options or {}
    for name in names[names.index(start) + 1 : names.index(stage) + 1]:
        for pass_name in STAGES[name]:
            if pass_name in options or pass_name not in BY_OPTION:
                PASSES[pass_name]()(**options.get(pass_name, {})).apply(context, module)
                module.verify()
