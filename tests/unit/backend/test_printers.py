"""How printers are found: attached ones, shared ones, and those that a definition spells."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from shardc.backend import jax, numpy, shard
from shardc.backend.jax.target import JAX
from shardc.backend.numpy.target import NUMPY
from shardc.backend.python import group, idiom
from shardc.backend.python.expressions import Expr, raw
from shardc.backend.python.printers import Printers
from shardc.backend.python.scope import Scope
from shardc.backend.shard.target import SHARD
from shardc.graph import Node
from shardc.ops import OpDef, definitions, find, hlo
from shardc.ops.meanings import KernelMeaning
from shardc.semantics import ops

PSEUDO = [value for room in (idiom, group) for value in vars(room).values() if isinstance(value, OpDef)]


def one(scope: Scope, node: Node) -> Expr:
    return raw("1")


def two(scope: Scope, node: Node) -> Expr:
    return raw("2")


def test_attached_printers_come_first_and_spelled_ones_last() -> None:
    shared = Printers()
    shared.prints(hlo.add, hlo.subtract)(one)
    printers = Printers(lambda definition: two if definition in (hlo.add, hlo.multiply) else None, shared)
    printers.prints(hlo.subtract)(two)
    assert printers.find(hlo.subtract.name) is two
    assert printers.find(hlo.add.name) is one
    assert printers.find(hlo.multiply.name) is two
    assert printers.find(hlo.sqrt.name) is None and hlo.sqrt.name not in printers
    assert hlo.subtract.name in printers and "stablehlo.nothing" not in printers


def test_a_second_printer_is_an_error() -> None:
    printers = Printers()
    printers.prints(hlo.add)(one)
    with pytest.raises(ValueError, match=r"stablehlo\.add has a printer already"):
        printers.prints(hlo.add)(two)


def test_idioms_and_groups_are_operations_of_no_program() -> None:
    assert {definition.name for definition in PSEUDO if find(definition.name)} == set()
    assert len({definition.name for definition in PSEUDO}) == len(PSEUDO) > 15


@pytest.mark.parametrize("definition", PSEUDO, ids=lambda definition: definition.name)
def test_some_language_writes_each(definition: OpDef) -> None:
    assert any(definition.name in printers for printers in (JAX, NUMPY, SHARD))


def test_functions_of_ops_are_there() -> None:
    """What NumPy programs call by name is what the definition means."""
    for definition in definitions():
        text = definition.spelling.numpy or ""
        assert not text.startswith("ops.") or callable(getattr(ops, text.removeprefix("ops."), None)), text
        if isinstance(definition.meaning, KernelMeaning):
            assert getattr(ops, definition.meaning.function.__name__) is definition.meaning.function


@pytest.mark.parametrize("room", [jax, numpy, shard], ids=lambda room: room.__name__)
def test_every_module_that_attaches_printers_is_listed(room: ModuleType) -> None:
    files = Path(str(room.__file__)).parent.glob("*.py")
    attaching = {path.stem for path in files if ".prints(" in path.read_text("utf-8")}
    assert attaching == {module.__name__.rpartition(".")[2] for module in room.PRINTERS}
