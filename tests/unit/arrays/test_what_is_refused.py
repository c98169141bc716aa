"""Files that the package of their format refuses, and arrays for which a format has no place."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open

from shardc.arrays import Placed, load, open_checkpoint, reshard, save
from shardc.diagnostics import ShardcError
from shardc.graph.types import DTYPES, TensorType


def entry(shape: list[object], start: object, stop: object, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


HEADERS = {
    "two arrays overlap": json.dumps({"a": entry([4], 0, 16), "b": entry([4], 8, 24)}),
    "a gap between two": json.dumps({"a": entry([4], 0, 16), "b": entry([1], 20, 24)}),
    "a gap before the first": json.dumps({"a": entry([4], 8, 24)}),
    "an offset that is no whole number": json.dumps({"a": entry([6], 0.0, 24.0)}),
    "a size that is no whole number": json.dumps({"a": entry([6.0], 0, 24)}),
    "a size that is a text": json.dumps({"a": entry(["6"], 0, 24)}),
    "a size that is true": json.dumps({"a": entry([True, 6], 0, 24)}),
    "lists in lists": "[" * 100_000,
    "half of a character": '{"\\ud800": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}',
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_headers_that_the_package_refuses(tmp_path: Path, header: str) -> None:
    file = tmp_path / "w.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(24))
    with pytest.raises(SafetensorError), safe_open(file, "np"):
        pass
    with pytest.raises(ShardcError, match=r"w\.safetensors is no safetensors file"):
        open_checkpoint(str(file))


def test_an_index_of_lists_in_lists(tmp_path: Path) -> None:
    (tmp_path / "w.index.json").write_text("[" * 100_000)
    with pytest.raises(ShardcError, match=r"w.index.json is not JSON"):
        open_checkpoint(str(tmp_path / "w.index.json"))


@pytest.mark.parametrize("dtype", ["f8e4m3fnuz", "f8e5m2fnuz"])
def test_floats_without_a_negative_zero(tmp_path: Path, dtype: str) -> None:
    array = np.arange(8, dtype=np.uint8).view(DTYPES[dtype][1])
    layout = Placed(TensorType((8,), dtype))
    save(str(tmp_path / "w.safetensors"), {"w": {0: array}}, {"w": layout})
    assert load(str(tmp_path / "w.safetensors"), {"w": layout})["w"][0].tobytes() == array.tobytes()
    with safe_open(tmp_path / "w.safetensors", "np") as package:
        assert package.get_slice("w").get_shape() == [8]


WRONG = [
    ("out", "w", "c128", "safetensors, and so a folder of blocks, has no dtype complex128, which w has"),
    ("out.safetensors", "w", "c128", "has no dtype complex128, which w has"),
    ("out.npz", "w", "bf16", "have no dtype bfloat16, which w has"),
    ("out.zarr", "a\\b", "f32", "a\\b is no name in a zarr group"),
    ("out.zarr", "a/../b", "f32", "a/../b is no name in a zarr group"),
    ("out.orbax", "a\\b", "f32", "a\\b is no name in an orbax checkpoint"),
]


@pytest.mark.parametrize(("target", "name", "dtype", "message"), WRONG)
def test_what_a_format_has_no_place_for_leaves_nothing(
    tmp_path: Path, target: str, name: str, dtype: str, message: str
) -> None:
    if target.endswith((".zarr", ".orbax")):
        pytest.importorskip("tensorstore")
    array = np.zeros(4, DTYPES[dtype][1])
    layouts = {name: Placed(TensorType((4,), dtype))}
    with pytest.raises(ShardcError, match=re.escape(message)):
        save(str(tmp_path / target), {name: {0: array}}, layouts)
    assert not os.listdir(tmp_path)


def test_a_folder_of_blocks_takes_no_file_s_place(tmp_path: Path) -> None:
    from shardc.arrays.saving import check_target

    (tmp_path / "out").write_text("kept")
    with pytest.raises(ShardcError, match="a file has that name"):
        check_target(str(tmp_path / "out"))


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing yet"])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, there: bool) -> None:
    layout = Placed(TensorType((4,), "f32"))
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk/w.safetensors", tmp_path / "latest.safetensors"
    if there:
        real.write_bytes(b"old")
    link.symlink_to(real)
    save(str(link), {"w": {0: np.arange(4, dtype=np.float32)}}, {"w": layout})
    assert link.is_symlink() and os.listdir(tmp_path / "disk") == ["w.safetensors"]
    np.testing.assert_array_equal(load(str(link), {"w": layout})["w"][0], np.arange(4))
    reshard(open_checkpoint(str(real)), {"w": layout}, str(link))
    assert link.is_symlink() and sorted(os.listdir(tmp_path)) == ["disk", "latest.safetensors"]
    np.testing.assert_array_equal(load(str(link), {"w": layout})["w"][0], np.arange(4))
