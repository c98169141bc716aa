"""Equal operations are found as xDSL finds them, attributes being numbers."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.common_subexpression_elimination import OperationInfo, cse
from xdsl.transforms.dead_code_elimination import region_dce

from shardc.dialects.context import make_context
from shardc.dialects.nested import nested
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.passes.pipeline import COMPUTING, run_to
from shardc.rewrite.equal_operations import merge_equal_operations
from shardc.rewrite.unused import remove_unused
from tests.unit.rewrite.folding.programs import step

LOOP = """mesh pod[data=2, model=4]

def main(x: f32[8@data, 16], y: f32[8@data, 16]) -> f32[8@data, 16]:
    z = tanh(x) + tanh(x) * y
    for i in range(3):
        z = max(tanh(x), axis=1, keepdims=True) + sort(z) * max(tanh(x), axis=1, keepdims=True) + sort(z)
    return z + tanh(x) * y
"""


def local(text: str) -> ModuleOp:
    """A per-device program in which equal operations stand beside each other."""
    module = read(text, "test.shard")
    run_to(make_context(), module, "local", without=(COMPUTING,))
    return module


@pytest.mark.parametrize("text", [LOOP, step(3)], ids=["loop", "step"])
def test_as_xdsl_finds_them(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = local(text)
    before, expected = print_module(module), module.clone()
    cse(expected)
    monkeypatch.setattr(OperationInfo, "__hash__", lambda _: pytest.fail("attributes were hashed"))
    merge_equal_operations(module)
    assert print_module(module) == print_module(expected) != before


@pytest.mark.parametrize("text", [LOOP, step(3)], ids=["loop", "step"])
def test_what_is_unused_goes_as_with_xdsl(text: str) -> None:
    module = local(text)
    for op in nested([module])[::5]:  # nothing uses these
        if op.results and op.parent is not None:
            op.parent.insert_op_after(op.clone(), op)
    before, expected = print_module(module), module.clone()
    region_dce(expected.body)
    remove_unused(module.body)
    assert print_module(module) == print_module(expected) != before
