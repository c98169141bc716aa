"""What the notations' texts mean, what is written, and why something cannot be read or written."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding
from shardc.layout.compare import same_layout
from shardc.layout.notations import NOTATIONS, dtensor, hlo, jax, sbp, sdy
from shardc.layout.slices import slices

MESH = Mesh("mesh", (("x", 2), ("y", 4)))
X, Y = MESH.axis("x"), MESH.axis("y")
Y0, Y1 = Axis("y", 2), Axis("y", 2, 2)


def lay(*dims: tuple[Axis, ...], partial: tuple[Axis, ...] = (), kind: str = "sum") -> Sharding:
    return Sharding(MESH, tuple(map(Dim, dims)), (), partial, kind)


WRITTEN = {
    "mindspore": 'Layout((2, 4), ("x", "y"))("y", "None")',
    "jax": "P('y')",
    "sdy": '#sdy.sharding<@mesh, [{"y"}, {}]>',
    "hlo": "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
    "sbp": "(B, S(0))",
    "dtensor": "(Replicate(), Shard(0))",
    "onnx": "{device = [-1, -2, -3, -4] index_to_device_group_map = {-1: [0, 4], -2: [1, 5], -3: [2, 6], "
    "-4: [3, 7]} sharded_dim = [{axis = 0 simple_sharding = [{num_shards = 4}]}]}",
}


@pytest.mark.parametrize("name", NOTATIONS)
def test_one_sharding_in_all_notations(name: str):
    sharding = lay((Y,), ())
    assert NOTATIONS[name].write(sharding) == WRITTEN[name]
    assert same_layout(NOTATIONS[name].read(WRITTEN[name], MESH, 2), sharding)


MESHES = {
    "jax": "Mesh(np.array(jax.devices()).reshape(2, 4), ('x', 'y'))",
    "sdy": 'sdy.mesh @mesh = <["x"=2, "y"=4]>',
    "sbp": 'placement("cpu", ranks=[[0, 1, 2, 3], [4, 5, 6, 7]])',
    "dtensor": 'DeviceMesh("cpu", [[0, 1, 2, 3], [4, 5, 6, 7]], mesh_dim_names=("x", "y"))',
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes(name: str):
    notation = NOTATIONS[name]
    assert notation.read_mesh and notation.write_mesh
    assert notation.write_mesh(lay()) == MESHES[name]
    read = notation.read_mesh(MESHES[name])
    assert read == (Mesh("placement", (("x0", 2), ("x1", 4))) if name == "sbp" else MESH)


# JAX


@pytest.mark.parametrize(
    "text",
    [
        "NamedSharding(mesh=Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto)), spec=P('x', None, ('y',)), "
        "memory_kind=device)",
        "NamedSharding(jax.make_mesh((2, 4), ('x', 'y')), P('x', None, 'y'))",
        "jax.NamedSharding(Mesh(np.array(jax.devices()).reshape(2, 4), ('x', 'y')), P('x', None, 'y'))",
    ],
)
def test_named_shardings(text: str):
    assert jax.read(text) == lay((X,), (), (Y,))


def test_device_order_in_jax():
    mesh = Mesh("mesh", (("x", 2), ("y", 2)), (3, 1, 2, 0))
    text = jax.named_sharding(Sharding(mesh, (Dim((mesh.axis("y"),)),)))
    assert (
        text == "NamedSharding(Mesh(np.array(jax.devices())[[3, 1, 2, 0]].reshape(2, 2), ('x', 'y')), P('y'))"
    )
    assert jax.read(text).mesh == mesh


MADE = {
    "jax.make_mesh((2, 2 * 2), ('i', 'j'), axis_types=(AxisType.Auto,) * 2)": (
        (("i", 2), ("j", 4)),
        tuple(range(8)),
    ),
    "Mesh(np.array(jax.devices()[:4]), ('i',))": ((("i", 4),), (0, 1, 2, 3)),
    "Mesh(jax.devices()[2:6], 'i')": ((("i", 4),), (2, 3, 4, 5)),
    "Mesh(np.array(jax.devices()[:4])[[2, 0]], ('i',))": ((("i", 2),), (2, 0)),
    "Mesh(np.arange(6).reshape(2, -1).T, ('i', 'j'))": ((("i", 3), ("j", 2)), (0, 3, 1, 4, 2, 5)),
    "Mesh(mesh_utils.create_device_mesh((2, 2)), ('i', 'j'))": ((("i", 2), ("j", 2)), (0, 1, 2, 3)),
    "jax.make_mesh((2, 1), ('i', 'j'), devices=jax.devices()[3:5])": ((("i", 2), ("j", 1)), (3, 4)),
    "devices = np.array(jax.devices()[:4])\nm = Mesh(devices, ('i',))  # mesh.shape['i'] = 4": (
        (("i", 4),),
        (0, 1, 2, 3),
    ),
    "devices = np.array(jax.devices())\nm = Mesh(devices.reshape(4, 2), ('i', 'j'))": (
        (("i", 4), ("j", 2)),
        tuple(range(8)),
    ),
    "rows = 2; cols = 4; Mesh(np.array(jax.devices()).reshape(rows, cols), ('x', 'y'))": (
        (("x", 2), ("y", 4)),
        tuple(range(8)),
    ),
}


@pytest.mark.parametrize("text", MADE)
def test_meshes_as_code_makes_them(text: str):
    mesh = jax.read_mesh(text)
    assert (mesh.axes, tuple(mesh.rank_of(int(device)) for device in mesh.devices.flat)) == MADE[text]


def test_jax_specs():
    assert jax.read("NamedSharding(mesh, P('x'))", MESH) == lay((X,))
    assert jax.read("P()", MESH, 2) == lay((), ())
    assert jax.read("PartitionSpec(('y', 'x'), unreduced=frozenset())", MESH) == lay((Y, X))
    assert jax.read("P('x', unreduced={'y'})", MESH) == lay((X,), partial=(Y,))
    assert jax.write(lay((X,), partial=(Y,))) == "P('x', unreduced={'y'})"
    free = Sharding(MESH, (Dim(open=True), Dim((X,))))
    assert jax.write(free) == "P(P.UNCONSTRAINED, 'x')" and jax.read(jax.write(free), MESH) == free


def test_parts_of_axes_become_axes():
    sharding = lay((Y1,), (Y0, X))
    assert jax.write(sharding) == "P('y_1', ('y_0', 'x'))"
    assert jax.write_mesh(sharding) == "Mesh(np.array(jax.devices()).reshape(2, 2, 2), ('x', 'y_0', 'y_1'))"


# OneFlow and PyTorch


def test_sbp_names():
    long = "(oneflow.sbp.split(dim=0), oneflow.sbp.partial_sum)"
    assert sbp.read(long, MESH, 2) == sbp.read("(S(0), P)", MESH, 2) == lay((X,), (), partial=(Y,))
    assert sbp.read_mesh('oneflow.placement(type="cuda", ranks=[[4, 5], [6, 7]])').ranks == (4, 5, 6, 7)


def test_nd_sbp_is_balanced_axis_by_axis():
    assert sbp.nd_slices([6], [2, 2], ["S(0)", "S(0)"])[:, 0].tolist() == [[0, 2], [2, 3], [3, 5], [5, 6]]
    assert sbp.nd_slices([6, 4], [2, 3], ["P", "S(0)"])[4].tolist() == [[2, 4], [0, 4]]


def test_the_gradient_is_the_dual():
    assert sbp.write(sbp.dual(sbp.read("(S(0), B)", MESH))) == "(S(0), P)"
    assert sbp.write(sbp.dual(sbp.read("(P, S(1))", MESH))) == "(B, S(1))"


def test_strided_shards():
    """The later axis splits first, then the earlier one."""
    text = "(_StridedShard(0, split_factor=4), Shard(0))"
    assert dtensor.write(lay((Y, X))) == text
    assert dtensor.read(text, MESH) == lay((Y, X))
    assert dtensor.read("[_StridedShard(dim=0, sf=4), Shard(dim=0)]", MESH) == lay((Y, X))
    three = Mesh("mesh", (("a", 2), ("b", 3), ("c", 5)))
    a, b, c = (three.axis(n) for n in "abc")
    middle = Sharding(three, (Dim((b, a, c)),))
    assert dtensor.write(middle) == "(_StridedShard(0, split_factor=3), Shard(0), Shard(0))"
    assert dtensor.write(Sharding(three, (Dim((c, b, a)),))) == (
        "(_StridedShard(0, split_factor=15), _StridedShard(0, split_factor=5), Shard(0))"
    )


def test_dtensor_meshes():
    assert dtensor.read_mesh("init_device_mesh('cuda', (2, 4), mesh_dim_names=('x', 'y'))") == MESH
    assert dtensor.read_mesh("DeviceMesh('cuda', [2, 0])") == Mesh("mesh", (("x0", 2),), (1, 0), ranks=(0, 2))
    assert dtensor.read("(Replicate(), Partial(max))", MESH, 1) == lay((), partial=(Y,), kind="max")


# HLO


def test_hlo_on_a_mesh_of_its_own():
    read = hlo.read("{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}")
    assert str(read) == "[x1, -]" and read.mesh.axes == (("x0", 4), ("x1", 2))
    listed = hlo.read("{devices=[2,2]0,1,3,2}")
    assert listed.mesh.device_ids == (0, 1, 3, 2) and hlo.write(listed) == "{devices=[2,2]0,1,3,2}"
    assert hlo.read("{devices=[2,2]0,2,1,3}").mesh.device_ids is None


def test_hlo_uses_parts_of_axes():
    text = "{devices=[2,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={unreduced}}"
    assert hlo.read(text, MESH) == lay((Y1,), (Y0,), partial=(X,))
    assert hlo.write(lay((Y1,), (Y0,), partial=(X,))) == text


def test_hlo_constants():
    assert hlo.read("{maximal device=3}", rank=1).mesh == Mesh("mesh", (), (3,))
    assert hlo.write(hlo.read("{maximal device=3}", rank=1)) == "{maximal device=3}"
    assert hlo.read("{replicated}", MESH, 2) == lay((), ())
    assert hlo.write(hlo.read("{unreduced}", MESH, 1)) == "{unreduced}"
    both = hlo.write(lay((Y0,), partial=(Y1,)))
    assert both == "{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dims={unreduced, replicated}}"
    assert hlo.read(both, MESH) == lay((Y0,), partial=(Y1,))


# Shardy


def test_sdy_text():
    text = '#sdy.sharding<@mesh, [{"y":(1)2, ?}p1, {?}], replicated={"x"}, unreduced={"y":(2)2}>'
    read = sdy.read(text, MESH)
    assert read == Sharding(MESH, (Dim((Y0,), True, 1), Dim(open=True)), (X,), (Y1,))
    assert sdy.write(read) == text
    assert sdy.read(text.removeprefix("#sdy.sharding"), MESH) == read


def test_a_mesh_spelled_out():
    text = '#sdy.sharding<mesh<["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>, [{"x"}]>'
    assert sdy.read(text).mesh == Mesh("", (("x", 2), ("y", 2)), (0, 2, 1, 3))
    assert sdy.write(sdy.read(text)) == text


# What cannot be read

UNREADABLE = [
    ("jax", "P('x')", None, "does not tell the mesh"),
    ("jax", "P('z')", MESH, "has no axis z; it has x, y"),
    ("jax", "P('x', 'x')", MESH, "axis x is used twice"),
    ("jax", "P('x', None, None)", MESH, "the spec has 3 dimensions, the tensor 2"),
    ("jax", "P(0)", MESH, "axes are named in quotes"),
    ("jax", "P('x', partial={'y'})", MESH, "has no partial"),
    ("jax", "Spec('x')", MESH, "a sharding in JAX is P"),
    ("jax", "NamedSharding(P('x'))", MESH, "needs spec"),
    ("jax", "NamedSharding(Mesh(jax.devices(), ('x',)), P('x'))", None, "as many devices as there are"),
    ("jax", "NamedSharding(jax.make_mesh((2,) * n, ('x',)), P('x'))", None, r"\(2,\) \* n is no product"),
    ("jax", "NamedSharding(mesh, P('x'))", None, "a mesh is Mesh"),
    ("jax", "NamedSharding(Mesh(devices.T, ('x',)), P('x'))", None, "devices stands for no devices here"),
    ("jax", "NamedSharding(Mesh(devices.reshape(2), ('x',)), P('x'))", None, "devices stands for no devices"),
    ("jax", "NamedSharding(Mesh(8, ('x',)), P('x'))", None, "devices are np.array"),
    ("jax", "NamedSharding(Mesh(jax.devices()[4:], ('x',)), P('x'))", None, "count from 0, to an end"),
    ("jax", "NamedSharding(Mesh(jax.devices()[:n], ('x',)), P('x'))", None, "n is no number of a place"),
    (
        "jax",
        "NamedSharding(Mesh(jax.devices()[:4][[4]], ('x',)), P('x'))",
        None,
        r"no devices at all the places",
    ),
    ("jax", "NamedSharding(Mesh(jax.devices()[:4].reshape(3), ('x',)), P('x'))", None, "no mesh of 3"),
    ("jax", "NamedSharding(Mesh(np.arange(n), ('x',)), P('x'))", None, "n is no number that is known"),
    ("jax", f"NamedSharding(Mesh(jax.devices()[1:{10**30}], ('x',)), P('x'))", None, "beyond the numbers of"),
    ("jax", "NamedSharding(jax.make_mesh((2,), ('x', 'y')), P('x'))", None, "of 1 dimensions has 2 names"),
    ("jax", "P('x'", MESH, r"expected a comma or '\)', found the end"),
    ("jax", "P('x'; !)", MESH, "cannot read '!"),
    ("jax", "[" * 100, MESH, "nest more than 50 deep"),
    ("sdy", "#sdy.sharding<@other, [{}, {}]>", MESH, "there is no mesh @other; the one given is @mesh"),
    ("sdy", "#sdy.sharding<@mesh, [{}]>", None, "give mesh @mesh"),
    ("sdy", '#sdy.sharding<@mesh, [{?, "x"}, {}]>', MESH, "expected . at the end of a dimension"),
    ("sdy", '#sdy.sharding<@mesh, [{"y":(3)2}, {}]>', MESH, "is not a part of axis y of size 4"),
    ("sdy", '#sdy.sharding<@mesh, [{"x"}, {}], partial={"y"}>', MESH, "expected replicated="),
    ("sdy", "#sdy.sharding<@mesh, [{}, {}]", MESH, "expected '>', found the end"),
    ("sdy", "#sdy.sharding<@mesh, [{}, {}, {}]>", MESH, "has 3 dimensions, the tensor 2"),
    ("sdy", "#sdy.sharding<@mesh, [{x}, {}]>", MESH, "expected a name in quotes, found x"),
    ("hlo", "replicated", MESH, "HLO shardings are in braces"),
    ("hlo", "{replicated}", None, "does not tell the mesh: give it"),
    ("hlo", "{manual}", MESH, "inside a shard_map"),
    ("hlo", "{unknown}", MESH, "says nothing"),
    ("hlo", "{devices=[2,2,2]<=[8] last_tile_dims={manual}}", MESH, "of kind manual: .* inside a shard_map"),
    ("hlo", "{devices=[2,1,4]<=[8] last_tile_dim}", MESH, "cannot read 'last_tile_dim'"),
    ("hlo", "{devices=[2,2]0,1,2,2}", MESH, "must be 0 to 3, once each"),
    ("hlo", "{devices=[2,2]<=[8]}", MESH, "are 8 devices, the tiles 4"),
    ("hlo", "{devices=[2,4]<=[2,4]T(0,0)}", MESH, "does not permute 2 dimensions"),
    ("hlo", "{devices=[1,2]<=[2]}", MESH, "2 devices are not those of mesh"),
    ("hlo", "{devices=[4,2]0,1,2,3,4,5,7,6}", MESH, "do not follow"),
    ("hlo", "{devices=[9999999,9999999]<=[8]}", MESH, "more than 16777216 devices"),
    ("hlo", "{tiled}", MESH, "is not HLO"),
    ("sbp", "(S(0), B)", None, "give the placement"),
    ("sbp", "(S(0),)", MESH, "1 components for the 2 axes"),
    ("sbp", "(S(7), B)", MESH, "splits dimensions 0 to 6, not 7"),
    ("sbp", "(S(-1), B)", MESH, "splits dimensions 0 to 6, not -1"),
    ("sbp", "(S(2), B)", MESH, "axis x splits dimension 2 of a tensor of 2"),
    ("sbp", "(P(mean), B)", MESH, "there is no partial mean; the kinds are sum, max, min"),
    ("sbp", "(P(max), P(min))", MESH, "one tensor cannot be partial in two ways: max, min"),
    ("sbp", "(S(0), X)", MESH, "X is none of S.i., B and P"),
    ("dtensor", "(Shard(0), Replicate())", None, "give the device mesh"),
    ("dtensor", "(Shard(0), Partial('avg'))", MESH, "a mean is a sum times 1/n"),
    ("dtensor", "(Partial('max'), Partial())", MESH, "partial in two ways: max, sum"),
    ("dtensor", "(_StridedShard(0, split_factor=3), Shard(0))", MESH, "cannot come after a split by 3"),
    ("dtensor", "(Shard(), Replicate())", MESH, "Shard needs the number dim"),
    ("dtensor", "(Split(0), Replicate())", MESH, "Split is none of"),
    ("dtensor", "(Shard, Replicate())", MESH, "is no placement"),
]


@pytest.mark.parametrize(("name", "text", "mesh", "message"), UNREADABLE)
def test_unreadable(name: str, text: str, mesh: Mesh | None, message: str):
    with pytest.raises(LayoutError, match=message):
        NOTATIONS[name].read(text, mesh, 2)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sbp", 'placement("cpu", ranks=[[0, 1], [2]])', "no rectangular array"),
        ("sbp", 'placement("cpu", ranks=[0, 0])', "device 0 is listed twice"),
        ("sbp", 'placement("cpu", ranks=[-1, 0])', "-1 is no device number"),
        ("sbp", 'place("cpu", ranks=[0])', "is no placement"),
        ("sbp", 'placement("cpu", ranks=["a"])', "no array of numbers"),
        ("dtensor", "Mesh(0)", "is no DeviceMesh"),
        ("dtensor", "DeviceMesh('cpu', [0, 1], mesh_dim_names=('a', 'b'))", "cannot be named"),
        ("dtensor", "init_device_mesh('cpu', (1000000, 1000000))", "at most 16777216"),
        ("dtensor", "init_device_mesh('cpu', (0,))", "positive numbers"),
        ("jax", "P('x')", "a mesh is Mesh"),
        ("sdy", 'sdy.mesh @m = <["x"=a]>', "expected a number, found a"),
        ("sdy", 'sdy.mesh m = <["x"=2]>', "expected @ and a name, found m"),
    ],
)
def test_unreadable_meshes(name: str, text: str, message: str):
    read = NOTATIONS[name].read_mesh
    assert read
    with pytest.raises(LayoutError, match=message):
        read(text)


# What cannot be written


@pytest.mark.parametrize("name", [n for n in NOTATIONS if n not in ("jax", "sdy")])
def test_annotations_are_no_layouts(name: str):
    with pytest.raises(LayoutError, match=r"dimension 0 is open, which .* cannot say"):
        NOTATIONS[name].write(Sharding(MESH, (Dim((X,), True),)))
    with pytest.raises(LayoutError, match="dimension 0 has a priority"):
        NOTATIONS[name].write(Sharding(MESH, (Dim((X,), False, 1),)))


def test_what_jax_cannot_say():
    for sharding, message in (
        (Sharding(MESH, (Dim((X,), True),)), "dimension 0 is open"),
        (Sharding(MESH, (Dim((X,), False, 0),)), "has a priority"),
        (Sharding(MESH, (Dim(open=True),), (X,)), "cannot keep axes out"),
        (Sharding(Mesh("m", (), (1,)), (Dim(),)), "SingleDeviceSharding"),
    ):
        with pytest.raises(LayoutError, match=message):
            jax.write(sharding)


def test_sbp_and_the_order_of_axes():
    with pytest.raises(LayoutError, match="dimension 0 is split by y before x, SBP splits in the order"):
        sbp.write(lay((Y, X)))


def test_uneven_blocks_differ():
    even, sharding = (8,), lay((Y,))
    for name, message in {
        "jax": "JAX has no such uneven blocks",
        "onnx": "ONNX has no such uneven blocks",
        "sbp": "elements of dimension 0 are in blocks of 2, 2, 2, 0, 2, 2, 2, 0; OneFlow makes 2, 2, 1, 1",
    }.items():
        assert NOTATIONS[name].write(sharding, even)
        with pytest.raises(LayoutError, match=message):
            NOTATIONS[name].write(sharding, (6,))
    for name in ("hlo", "sdy", "dtensor"):
        assert NOTATIONS[name].write(sharding, (6,))
    with pytest.raises(LayoutError, match="blocks of 2, 2, 2, 2, 2, 2, 0, 0; DTensor makes 2, 2, 1, 1"):
        dtensor.write(lay((X, Y0)), (6,))


@pytest.mark.parametrize("name", ["mindspore", "hlo", "sbp", "dtensor", "onnx"])
def test_one_device(name: str):
    sharding = Sharding(Mesh("mesh", (), (3,)), (Dim(),))
    notation = NOTATIONS[name]
    mesh = (
        notation.read_mesh(notation.write_mesh(sharding))
        if notation.read_mesh and notation.write_mesh
        else None
    )
    assert same_layout(notation.read(notation.write(sharding), mesh, 1), sharding)


def test_own_device_numbers():
    sharding = replace(lay((X,)), mesh=replace(MESH, ranks=tuple(range(8, 16))))
    for name in ("hlo", "jax", "sdy"):
        notation = NOTATIONS[name]
        with pytest.raises(LayoutError, match=r"from 0 to 7; these are \[8, 9"):
            (notation.write_mesh or notation.write)(sharding)
    assert sbp.write_mesh(sharding) == 'placement("cpu", ranks=[[8, 9, 10, 11], [12, 13, 14, 15]])'
    assert slices(sharding, (2,)).shape == (8, 1, 2)
