"""Pictures are well-formed, show every device once, and those of the pages are as the command draws them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from shardc.cli.layout import main
from shardc.explain.blocks_grid import grid_of
from shardc.explain.picture import draw
from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.notations import jax, sbp

PAGES = Path(__file__).parents[3] / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
MESH = Mesh("mesh", (("x", 2), ("y", 4), ("z", 2)))


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}text")]


def sharded(spec: str, rank: int) -> Sharding:
    return jax.read(spec, MESH, rank)


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ("P()", ()),
        ("P('x')", (8,)),
        ("P('x', 'y')", (8, 8)),
        ("P('x', 'y', 'z')", (8, 8, 8)),
        ("P('x', None, 'y', None, 'z')", (2, 3, 4, 1, 2)),
        ("P(None, None, None, None)", (2, 3, 4, 1)),
        ("P('y', unreduced={'x'})", (6, 2)),
        ("P(('x', 'y', 'z'))", (1000000, 7)),
    ],
)
def test_every_device_is_shown_once(spec: str, shape: tuple[int, ...]) -> None:
    picture = draw(sharded(spec, len(shape)), shape)
    shown = [text for text in texts(picture) if text.isdigit()]
    assert sorted(map(int, shown)) == list(range(16)) or "hold nothing" in picture


def test_boxes_lie_within_the_picture_and_do_not_overlap() -> None:
    root = ET.fromstring(draw(sharded("P('x', ('y', 'z'))", 2), (5, 11), "ceil"))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = [
        tuple(float(rect.get(key, 0)) for key in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("rx") == "6"
    ]
    assert len(boxes) == 12
    for i, (x, y, w, h) in enumerate(boxes):
        assert 0 <= x and x + w <= width and 0 <= y and y + h <= height
        for x2, y2, w2, h2 in boxes[:i]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_what_the_legend_says() -> None:
    plain = texts(draw(sharded("P(('x', 'y', 'z'))", 1), (16,)))
    assert not any(text.startswith(("=", "+", "hold")) for text in plain)
    assert "=  copies: the devices hold the same" in texts(draw(sharded("P('x')", 1), (4,)))
    partial = texts(draw(sharded("P('x', unreduced={'y'})", 1), (4,)))
    assert "+  partial results, hatched: their sum is the block" in partial
    assert "hold nothing: 6, 7, 14, 15" in texts(draw(sharded("P('y')", 1), (3,)))


def test_many_copies_are_counted() -> None:
    mesh = Mesh("mesh", (("x", 40),))
    assert "… 40 copies" in texts(draw(jax.read("P()", mesh, 1), (4,)))
    assert "… 40 partial results" in texts(draw(jax.read("P(unreduced={'x'})", mesh, 1), (4,)))


def test_uneven_blocks_have_their_sizes() -> None:
    sharding = sbp.read("(S(0), S(0))", sbp.read_mesh("[[0, 1], [2, 3]]"), 1)
    assert grid_of(sharding, (6,), "balanced").ranges == (((0, 2), (2, 3), (3, 5), (5, 6)),)
    assert grid_of(sharding, (6,), "ceil").empty == (3,)


def test_processes_have_colours() -> None:
    sharding = jax.read("P('x')", Mesh("mesh", (("x", 4),), None, 2), 1)
    picture = draw(sharding, (4,))
    assert {"process 0", "process 1"} <= set(texts(picture))
    assert "device 3 of process 1: [3:4]" in picture


def test_what_is_too_fine_or_empty() -> None:
    with pytest.raises(LayoutError, match="2048 blocks"):
        draw(jax.read("P('x')", Mesh("mesh", (("x", 2048),)), 1), (2048,))
    with pytest.raises(LayoutError, match="0 blocks"):
        draw(sharded("P('x')", 1), (0,))


def test_titles_are_escaped() -> None:
    assert "<b>" in texts(draw(sharded("P()", 1), (2,), title="<b>"))


COMMANDS = {
    "partial": ("sbp", "--mesh", "[[0, 1, 2, 3], [4, 5, 6, 7]]", "--spec", "(P, S(0))", "--shape", "10,4"),
    "article": (
        *("mindspore", "--device-matrix", "2,1,2,2,1", "--alias", "a,b,c,d,e", "--tensor-map", "b,d,e,c,a"),
        *("--shape", "1,2,1,2,2"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_pictures_of_the_pages(name: str, tmp_path: Path) -> None:
    assert main((*COMMANDS[name], "--picture", str(tmp_path / "a.svg"))) == 0
    assert (tmp_path / "a.svg").read_text() == (PAGES / f"{name}.svg").read_text()
