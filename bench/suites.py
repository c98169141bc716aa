"""The programs that are measured: the ruler's, more of their kind, and some with plans made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

SUITES = ("bench.ruler.programs", "bench.more_programs", "bench.hand_plans")
"""Modules with a table PROGRAMS of what ruler/programs.py calls a Program."""

JUDGED = SUITES[:2]
"""The suites for checks and memory; the programs of hand_plans.py are of the same kinds."""


def texts(suites: tuple[str, ...] = SUITES) -> Iterator[tuple[str, Callable[[], str]]]:
    """Name of every program, and what makes its text."""
    for suite in suites:
        module = import_module(suite)
        for name, program in programs(module).items():
            yield name, lambda module=module, program=program: lowered(module, program)


def programs(suite: ModuleType) -> Mapping[str, Any]:
    """The programs of a suite by name, in its order."""
    return suite.PROGRAMS


def lowered(suite: ModuleType, program: Any) -> str:
    """A program as JAX lowers it for the devices of its mesh, however many there are here."""
    from jax.sharding import AbstractMesh, AxisType

    axes: dict[str, int] = program.mesh
    mesh = AbstractMesh((*axes.values(),), (*axes,), axis_types=(AxisType.Auto,) * len(axes))
    traced = suite.jitted(program, mesh).trace(*suite.avals(program))
    return traced.lower(lowering_platforms=("cpu",)).as_text()
