"""Products of all shapes beside collectives over all groups: overlapped, they are equal and send as much."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.overlapping import Product, same_results, traffic
from tests.sampling import examples

MESHES = {
    "pod[i=2]": ("i",),
    "pod[i=3]": ("i",),
    "pod[i=5, j=2]": ("i", "j"),
    "pod[i=4, j=2]": ("i", "j", "(i, j)", "(j, i)"),
    "pod[i=7]": ("i",),
    "pod[i=3, j=2]": ("(i, j)", "(j, i)"),
    "pod[i=2, j=2, k=3]": ("(k, i)", "(j, i, k)", "k"),
}


def devices(mesh: str, axes: str) -> int:
    """How many positions the axes have."""
    count = 1
    for axis in mesh[4:-1].split(", "):
        name, _, size = axis.partition("=")
        count *= int(size) if name in axes else 1
    return count


@st.composite
def products(draw: st.DrawFn) -> Product:
    mesh = draw(st.sampled_from(sorted(MESHES)))
    axes = draw(st.sampled_from(MESHES[mesh]))
    side, letter = draw(
        st.sampled_from(
            [*(("lhs", x) for x in "bmk"), *(("rhs", x) for x in "bkn"), *(("result", x) for x in "bmn")]
        )
    )
    n, size = devices(mesh, axes), st.integers(1, 3)
    split = {letter} | ({"k"} if side == "result" else {"n" if side == "lhs" else "m"})
    sizes = [draw(size) * (n if x in split else 1) for x in "bmkn"]
    return Product(
        mesh,
        axes,
        side,
        letter,
        (sizes[0], sizes[1], sizes[2], sizes[3]),
        draw(st.sampled_from(["f32", "i32"])),
    )


@settings(max_examples=examples(40))
@given(products(), st.integers(1, 13))
def test_equal(product: Product, unroll: int) -> None:
    plain, overlapped = same_results(product.text, when="on", unroll=unroll)
    before, after = traffic(plain), traffic(overlapped)
    assert before.total() == after.total() > 0
    assert set(after) == {"collective_permute"}
