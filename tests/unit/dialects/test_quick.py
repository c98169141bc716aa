"""Operations that are made and copied quickly are as xDSL's."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Region, SSAValue

from shardc.dialects import quick
from shardc.dialects.context import make_context
from shardc.dialects.nested import nested
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes.pipeline import run_to
from tests.golden.programs import written

SOME = [*written()][3::9]


def users(module: ModuleOp) -> list[list[tuple[int, int]]]:
    """Of each value which operations use it as which operand, in the order in which it says so."""
    ops = nested([module])
    number = {op: place for place, op in enumerate(ops)}
    blocks = (block for op in ops for region in op.regions for block in region.blocks)
    values: list[SSAValue] = [value for op in ops for value in op.results]
    values += [arg for block in blocks for arg in block.args]
    return [[(number[use.operation], use.index) for use in value.uses] for value in values]


def copy_of(module: ModuleOp) -> ModuleOp:
    block = Block()
    quick.append(block, [quick.copied(op, {}) for op in module.body.block.ops])
    return ModuleOp(Region(block), dict(module.attributes), module.sym_name)


@pytest.mark.parametrize("name", SOME)
def test_copies_are_as_xdsls(name: str) -> None:
    text, file = written()[name]()
    module = read(text, Options(file=file))
    for stage in ("ir", "local"):
        if stage == "local":
            run_to(make_context(), module, stage)
        before = print_module(module, locations=True, generic=True)
        copy, clone = copy_of(module), module.clone()
        assert print_module(copy, locations=True, generic=True) == before
        assert snapshot(copy).graph == snapshot(module).graph
        assert users(copy) == users(clone)
        copy.verify()
        for op in nested([copy]):
            op.attributes["test"] = op.properties["test"] = UnitAttr()
        assert print_module(module, locations=True, generic=True) == before


def test_what_is_read_may_be_something_else() -> None:
    module = read("mesh m[x=2]\ndef f(a: f32[4], b: f32[4]):\n    return sum(a + b)\n", Options())
    block = nested([module])[-1].parent
    assert block is not None
    a, b = block.args
    add = next(op for op in block.ops if len(op.operands) == 2)
    copy = quick.copied(add, {a: b})
    assert [*copy.operands] == [b, b] and copy.parent is None and copy.results[0].type == add.results[0].type
    quick.append(block, [copy])
    assert block.last_op is copy and copy.prev_op is not None and copy.prev_op.next_op is copy
    with pytest.raises(ValueError, match="in a block already"):
        quick.append(block, [copy])
