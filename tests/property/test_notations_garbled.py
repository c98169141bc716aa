"""Garbled text is refused with a LayoutError, and nothing else happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.notations import NOTATIONS
from shardc.layout.notations.onnx_text import read_spec
from tests.sampling import examples

MESH = Mesh("mesh", (("x", 2), ("y", 4)))
TEXTS = {
    "mindspore": [
        'Layout((2, 4), ("x", "y"), rank_list=[7, 6, 5, 4, 3, 2, 1, 0])("x", ("y", "None"))',
        "{'a': (1,)}",
    ],
    "jax": ["P('x', None, unreduced={'y'})", "NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=P(('x', 'y')))"],
    "sdy": ['#sdy.sharding<@mesh, [{"y":(1)2, ?}p1, {}], replicated={"x"}>', '<mesh<["x"=2]>, [{"x"}]>'],
    "hlo": [
        "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dims={replicated}}",
        "{devices=[2,2]0,1,3,2}",
        "{replicated}",
    ],
    "sbp": ["(S(0), B)", "(oneflow.sbp.split(dim=0), oneflow.sbp.partial_sum)"],
    "dtensor": ["(_StridedShard(0, split_factor=4), Shard(0))", '(Partial("max"), Replicate())'],
    "onnx": [
        "{device = [-1] device_map = {-1: [0, 1]} sharded_dim = [{axis = 0 simple_sharding = "
        "[{num_shards = 1}]}]}"
    ],
}
MESHES = {
    "jax": [
        "Mesh(np.array(jax.devices())[[1, 0]].reshape(2, 1), ('x', 'y'))",
        "jax.make_mesh((2, 4), ('x', 'y'))",
    ],
    "sdy": ['sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[0, 1]>'],
    "sbp": ['placement("cpu", ranks=[[0, 1], [2, 3]])'],
    "dtensor": ["DeviceMesh('cpu', [[0, 1]], mesh_dim_names=('x', 'y'))", "init_device_mesh('cpu', (2, 4))"],
}


@st.composite
def garbled(draw: st.DrawFn, texts: list[str]) -> str:
    """A text with some stretches of it replaced by others, or by marks and numbers."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 3))):
        start, stop = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        stop = min(stop, start + draw(st.integers(0, 12)))
        piece = draw(
            st.sampled_from(
                ["", "(", ")", "[", "]", "{", "}", ",", "=", ":", '"', "-1", "0", "9", "None", text[:9]]
            )
        )
        text = text[:start] + piece + text[stop:]
    return text


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=examples(150))
@given(data=st.data())
def test_shardings(name: str, data: st.DataObject):
    text = data.draw(garbled(TEXTS[name]))
    try:
        read = NOTATIONS[name].read(text, MESH, data.draw(st.sampled_from([None, 1, 2])))
    except LayoutError as error:
        assert str(error)
    else:
        assert isinstance(read, Sharding) and read == read.check()


@pytest.mark.parametrize("name", MESHES)
@settings(max_examples=examples(150))
@given(data=st.data())
def test_meshes(name: str, data: st.DataObject):
    read = NOTATIONS[name].read_mesh
    assert read
    try:
        read(data.draw(garbled(MESHES[name])))
    except LayoutError as error:
        assert str(error)


@settings(max_examples=examples(150))
@given(text=garbled(TEXTS["onnx"]))
def test_specifications(text: str):
    try:
        read_spec(text).check(2)
    except LayoutError as error:
        assert str(error)
