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
    """insert-reshards. `enable_full_version` changes nothing: all reshards are always inserted."""

    name = "sdy-insert-explicit-reshards"
    enable_full_version: bool = False


@dataclass(frozen=True)
class ReshardToCollectives(ReshardsToCollectives):
    """reshards-to-collectives."""

    name = "sdy-reshard-to-collectives"


@dataclass(frozen=True)
class ConvertGlobalToLocal(Localize):
    """localize."""

    name = "sdy-convert-global-to-local"
