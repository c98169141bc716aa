"""Operations and attributes as JSON are the same when they are read again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from shardc.dialects import kept_attributes, kept_operations
from shardc.dialects.context import make_context
from shardc.dialects.convert import dense
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.read import read
from shardc.graph import Dense
from shardc.graph.types import DTYPES
from shardc.options import Options
from shardc.passes.pipeline import run_to
from tests.golden.programs import written

SOME = [*written()][::7]


def round_trip(attr: Attribute) -> Any:
    return kept_attributes.read(json.loads(json.dumps(kept_attributes.written(attr))))


@pytest.mark.parametrize("name", SOME)
def test_programs(name: str) -> None:
    text, file = written()[name]()
    module = read(text, Options(file=file))
    for stage in ("ir", "local"):
        if stage == "local":
            run_to(make_context(), module, stage)
        kept = json.loads(json.dumps(kept_operations.written(module.body.block.ops)))
        again = ModuleOp(kept_operations.read(kept, make_context()), {}, module.sym_name)
        again.attributes = dict(round_trip(DictionaryAttr(module.attributes)).data)
        assert print_module(again, locations=True, generic=True) == print_module(module, True, True)
        assert snapshot(again).graph == snapshot(module).graph


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants(dtype: str) -> None:
    kind = DTYPES[dtype][1]
    for array in (np.arange(6).reshape(2, 3).astype(kind), np.array(1).astype(kind), np.zeros((0, 3), kind)):
        attr = dense(Dense(array, array.shape or (4, 4)))
        again = round_trip(attr)
        assert again == attr and again.data.value.data.dtype == kind
        assert type(again.data.value.data) is type(attr.data.value.data)


def test_bits_of_floats() -> None:
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 0x3F4C422A], np.uint32).view(np.float32)
    attr = dense(Dense(bits, bits.shape))
    assert round_trip(attr) == attr


def test_what_has_no_form() -> None:
    with pytest.raises(Unkept, match="a set"):
        kept_attributes.written(StringAttr({"a"}))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["os:system", "shardc.cache:put", "shardc.cache:os", "xdsl.ir:Operation"])
def test_other_classes_are_not_made(name: str) -> None:
    with pytest.raises(Unkept):
        kept_attributes.read([name, "x"])
