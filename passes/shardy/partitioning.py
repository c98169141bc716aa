"""Shardy's partitioning passes by their names, done by shardc's own planner.

The passes are those of shardc's pipeline, on the main function: insert-reshards, reshards-to-collectives and
localize. The reshards are the cheapest that the planner finds, not those of Shardy's text.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardc.passes.insert_reshards import InsertReshards
from shardc.passes.localize import Localize
from shardc.passes.reshards_to_collectives import ReshardsToCollectives


@dataclass(frozen=True)
class InsertExplicitReshards(InsertReshards):
    """insert-reshards. The options change nothing: all reshards are always inserted, at calls too."""

    name = "sdy-insert-explicit-reshards"
    enable_full_version: bool = False
    avoid_reshards_on_calls: bool = False


@dataclass(frozen=True)
class ReshardToCollectives(ReshardsToCollectives):
    """reshards-to-collectives. `keep_redundant_reshards` changes nothing: a reshard to what is there goes."""

    name = "sdy-reshard-to-collectives"
    keep_redundant_reshards: bool = False


@dataclass(frozen=True)
class ConvertGlobalToLocal(Localize):
    """localize. The options say how Shardy writes replica groups and which collectives it joins; shardc's
    name the axes of the mesh, and are joined where that sends less."""

    name = "sdy-convert-global-to-local"
    per_dim_all_gather: bool = False
    combine_multi_dimension_reduce_scatter: bool = False
    enable_rgv3: bool = False
