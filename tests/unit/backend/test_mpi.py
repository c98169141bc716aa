"""What a program for MPI carries, and what it imports."""

from __future__ import annotations

import ast
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import shardc
from shardc.backend.mpi.bundle import bundle

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/*.shard"))
INSTALLED = {"numpy", "ml_dtypes", "mpi4py", "scipy"}

INDEXED = """mesh pod[data=2, model=4]
def main(table: f32[64@model, 8], at: i32[16@data]) -> f32[16@data, 8]:
    return take(table, at, axis=0)
"""


def imported(text: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names - set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_programs_import_nothing_of_shardc(path: Path):
    text = shardc.compile(path.read_text(), target="mpi").source
    assert {"numpy", "mpi4py"} <= imported(text) <= INSTALLED
    assert max(map(len, text.splitlines())) <= 114  # what is carried is indented


def test_array_functions_are_carried():
    text = shardc.compile(INDEXED, target="mpi").source
    assert "shardc." not in text.replace("shardc.\n", "")
    module = shardc.compile(INDEXED, target="mpi").module
    assert module.GROUPS and module.PARAMS["at"][2] == ("data",)


def test_blocks_are_gone_once_nobody_has_them():
    module = shardc.compile(INDEXED, target="mpi").module
    blocks = [np.zeros(4), np.ones(4)]
    held = [weakref.ref(block) for block in blocks]
    made = module.like(({"b": 0}, 1), blocks)
    assert made[1] is blocks[1]
    del made, blocks
    assert [block() for block in held] == [None, None]  # not only when the collector runs


def test_names_of_the_source_do_not_hide_those_of_the_program():
    text = """mesh pod[data=2]
def join(x: f32[8@data]) -> f32[8@data]:
    return x + 1.0
def main(cut: f32[8@data], PARAMS: f32[8@data]) -> f32[8]:
    return join(cut) * PARAMS
"""
    tree = ast.parse(shardc.compile(text, target="mpi").source)
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(defined) == len(set(defined))


def test_a_bundle_has_what_its_functions_name():
    made = bundle("shardc.semantics.ops", ["gather"])
    space: dict[str, object] = {}
    exec("\n".join([*made.imports, *made.definitions.values()]), space)
    assert callable(space["gather"])
    assert not any("shardc" in line for line in made.imports)
