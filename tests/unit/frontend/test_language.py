"""What programs become: shardings, constraints, loops, functions, names, groups, per-device code."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.graph.program import Graph, Node, walk
from shardc.interpret.run import run
from shardc.layout import Axis, Mesh
from tests.tolerance import assert_near

POD = "mesh pod[data=2, model=4]\n"


def graph_of(source: str, **options: object) -> Graph:
    module = read(source, "p.shard", **options)  # type: ignore[arg-type]
    module.verify()
    return snapshot(module).graph


def nodes_of(graph: Graph, name: str) -> list[Node]:
    return [node for f in graph.functions.values() for node in walk(f.body) if node.name == name]


# ---- types


@pytest.mark.parametrize(
    ("written", "sharding"),
    [
        ("f32[16, 64]", None),
        ("f32[16@data, 64]", "[data, -]"),
        ("f32[16@(data, model), 64]", "[(data, model), -]"),
        ("f32[16@(model, data), 64@?]", "[(model, data), -?]"),
        ("f32[16@data?, 64]", "[data?, -]"),
        ("f32[16, 64@model:(2)2]", "[-, model:(2)2]"),
        ("f32[16@(model:(1)2, data), 64@model:(2)2]", "[(model:(1)2, data), model:(2)2]"),
        ("f32[16, 64] replicated", "[-, -]"),
        ("f32[16, 64] replicated(model)", "[-?, -?]"),
        ("f32[16, 64] partial(sum: model)", "[-?, -?] partial(sum: model)"),
        ("f32[16@data, 64] partial(max: model)", "[data, -] partial(max: model)"),
        ("f32[16, 64] replicated partial(min: model)", "[-, -] partial(min: model)"),
        ("f32[16@data, 64] on pod", "[data, -]"),
        ("f32[16, 64] on pod", None),
        ("f32[] replicated", "[]"),
    ],
)
def test_types(written: str, sharding: str | None) -> None:
    """The sharding of a written type, closed and open dimensions as the manual says."""
    graph = graph_of(POD + f"def f(x: {written}):\n    return x\n")
    found = graph.values[graph.main.body.args[0]].sharding
    assert (None if found is None else str(found)) == sharding


def test_priority_and_replicated_axes() -> None:
    graph = graph_of(POD + "def f(x: f32[16@data?:p1, 64@?:p0] replicated(model)):\n    return x\n")
    sharding = graph.values[graph.main.body.args[0]].sharding
    assert sharding is not None
    assert [dim.priority for dim in sharding.dims] == [1, 0]
    assert sharding.replicated == (Axis("model", 4),)


def test_meshes() -> None:
    source = "mesh a[x=2, y=2] devices [0, 2, 1, 3] processes 2\nmesh b[x=4]\n"
    graph = graph_of(source + "def f(t: f32[8@x] on b, u: f32[8@y]):\n    return t + u\n")
    assert graph.meshes["a"] == Mesh("a", (("x", 2), ("y", 2)), (0, 2, 1, 3), 2)
    first, second = (graph.values[arg].sharding for arg in graph.main.body.args)
    assert first is not None and second is not None
    assert (first.mesh.name, second.mesh.name) == ("b", "a")


def test_sizes_and_defines() -> None:
    source = "size B = 4, F = B * 2\ndef f(x: f32[B, F // 2 + 1]):\n    return x * F\n"
    assert str(graph_of(source).type(graph_of(source).main.body.args[0])) == "f32[4, 5]"
    graph = graph_of(source, defines={"B": 8})
    assert str(graph.type(graph.main.body.args[0])) == "f32[8, 9]"


# ---- functions


def test_entry_is_main_or_last() -> None:
    source = "".join(f"def {name}(x: f32[4]):\n    return x\n" for name in ("f", "{}", "h"))
    assert list(graph_of(source.format("g")).functions) == ["h"]
    assert list(graph_of(source.format("main")).functions) == ["main"]
    assert list(graph_of(source.format("main"), entry="f").functions) == ["f"]


def test_calls_in_any_order() -> None:
    """Only the entry is public; functions stand in the order of the text; unused ones are left out."""
    source = """
def main(x: f32[4]) -> (f32[4], f32[4]):
    y, z = pair(x, by=2)
    return z, y
def unused(x: f32[4]):
    return x
def pair(x: f32[4], by: f32[]):
    return twice(x) * by, x
def twice(x: f32[4]):
    return x + x
"""
    graph = graph_of(source)
    assert [(f.name, f.public) for f in graph.functions.values()] == [
        ("main", True),
        ("pair", False),
        ("twice", False),
    ]
    first, second = run(graph, [np.arange(4, dtype=np.float32)])
    np.testing.assert_array_equal(second, 4 * first)


def test_errors_in_unused_functions_are_found() -> None:
    from shardc.diagnostics import ShardcError

    with pytest.raises(ShardcError, match="unknown name y"):
        read("def g(x: f32[4]):\n    return y\ndef main(x: f32[4]):\n    return x\n", "p.shard")


def test_constraints_and_results() -> None:
    source = (
        POD + "def f(x: f32[16, 64]) -> f32[16, 64@model]:\n    y: f32[16@data, 64] = x * 2\n    return y\n"
    )
    graph = graph_of(source)
    (constraint,) = nodes_of(graph, "sdy.sharding_constraint")
    assert str(constraint.attrs["sharding"]) == "[data, -]"
    assert constraint.loc.name == "y"
    assert [str(sharding) for sharding in graph.main.result_shardings] == ["[-, model]"]


def test_a_type_without_sharding_is_no_constraint() -> None:
    graph = graph_of("def f(x: f32[4]):\n    y: f32[4] = x + 1\n    return y\n")
    assert not nodes_of(graph, "sdy.sharding_constraint")


# ---- names, places, groups


def test_names_and_places() -> None:
    graph = graph_of(
        "def f(x: f32[4, 8], w: f32[8, 8]):\n    h = tanh(x @ w)\n    v, i = top_k(h, 2)\n    return v\n"
    )
    assert [graph.values[arg].loc.name for arg in graph.main.body.args] == ["x", "w"]
    (dot,), (tanh,), (top,) = (
        nodes_of(graph, n) for n in ("stablehlo.dot_general", "stablehlo.tanh", "chlo.top_k")
    )
    assert (str(dot.loc), dot.loc.name) == ("p.shard:2:16", None)
    assert (str(tanh.loc), tanh.loc.name) == ("p.shard:2:9", "h")
    assert [graph.values[result].loc.name for result in top.results] == ["v", "i"]


def test_groups() -> None:
    """Composites are flat operations that know to which call they belong, and how many they are."""
    graph = graph_of("def f(x: f32[4, 8]):\n    y = softmax(relu(x), axis=1)\n    return std(y, axis=0)\n")
    groups = [
        str(node.attrs["shardc.group"]) for node in walk(graph.main.body) if "shardc.group" in node.attrs
    ]
    assert {group: groups.count(group) for group in groups} == {
        "relu#1/2": 2,
        "softmax#2/9": 9,
        "var#3/11": 11,
    }


def test_output_is_deterministic() -> None:
    source = POD + "def f(x: f32[16@data, 64]):\n    return softmax(x) + sum(x)\n"
    first, second = (print_module(read(source, "p.shard"), locations=True) for _ in range(2))
    assert first == second


# ---- loops


def test_loop_over_stacks() -> None:
    source = """
def f(x: f32[4, 8], ups: f32[3, 8, 16], downs: f32[3, 16, 8], b: f32[8]):
    s = 0.0
    for up, down in ups, downs carrying x, s:
        h = tanh(x @ up)
        x = h @ down + b
        s = s + sum(h)
    return x, s
"""
    graph = graph_of(source)
    (loop,) = nodes_of(graph, "stablehlo.while")
    assert [str(type) for type in graph.types(loop.operands)] == [
        *("f32[3, 8, 16]", "f32[3, 16, 8]", "f32[8]"),  # the stacks, and what the body reads
        *("i32[]", "f32[4, 8]", "f32[]"),  # the counter, and what is carried
    ]
    assert loop.regions[1].results[:3] == loop.regions[1].args[:3]
    rng = np.random.default_rng(0)
    x, ups, downs, b = (rng.normal(size=s).astype(np.float32) for s in ((4, 8), (3, 8, 16), (3, 16, 8), (8,)))
    got = run(graph, [x, ups, downs, b])
    total = np.float32(0)
    for up, down in zip(ups, downs, strict=True):
        h = np.tanh(x @ up)
        x, total = h @ down + b, total + h.sum()
    assert_near(got[0], x, terms=3 * (8 + 16))
    assert_near(got[1], total, terms=3 * (8 + 16 + 64), magnitude=3 * 64)


def test_counted_and_nested_loops() -> None:
    source = """
def f(x: i32[3]):
    for i in range(4) carrying x:
        y = x
        for j in range(3) carrying y:
            y = y + i * j
        x = y
    return x
"""
    (got,) = run(graph_of(source), [np.zeros(3, np.int32)])
    np.testing.assert_array_equal(got, np.full(3, sum(i * j for i in range(4) for j in range(3))))


def test_a_loop_hides_what_it_does_not_carry() -> None:
    """Inside a loop a name may be used again; the carried ones alone come out."""
    source = """
def f(x: f32[4], ws: f32[3, 4]):
    h = x * 2
    for w in ws carrying x:
        h = x + w
        x = h
    h = x - 1
    return h
"""
    x, ws = np.ones(4, np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
    (got,) = run(graph_of(source), [x, ws])
    assert_near(got, x + ws.sum(0) - 1, terms=4)


def test_loops_may_use_the_same_names() -> None:
    source = """
def f(x: f32[4], ws: f32[3, 4]):
    for w in ws carrying x:
        h = x + w
        x = h
    for w in ws carrying x:
        h = x * w
        for i in range(2) carrying h:
            x = h
            h = x + i
        x = h
    return x
"""
    x, ws = np.ones(4, np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
    (got,) = run(graph_of(source), [x, ws])
    want = x + ws.sum(0)
    for w in ws:
        want = want * w + 1
    assert_near(got, want, terms=9)


# ---- per-device code

IJ = "mesh pod[i=4, j=2]\n@shard_map\n"


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("x: f32[12@i, 12]) -> f32[12@i, 24@j]", "return x", lambda x: np.tile(x, (1, 2))),
        ("x: f32[12@i, 12@j]) -> f32[12@i, 6]", "return psum(x, j)", lambda x: x[:, :6] + x[:, 6:]),
        ("x: f32[12@i, 12@j]) -> f32[3, 12@j]", "return psum(x, i)", lambda x: x.reshape(4, 3, 12).sum(0)),
        (
            "x: f32[12@i, 12@j]) -> f32[3, 6]",
            "return psum(x, (i, j))",
            lambda x: x.reshape(4, 3, 2, 6).sum((0, 2)),
        ),
        ("x: f32[12@i, 12]) -> f32[3, 12]", "return pmax(x, i)", lambda x: x.reshape(4, 3, 12).max(0)),
        ("x: f32[12@i, 12]) -> f32[3, 12]", "return pmin(x, i)", lambda x: x.reshape(4, 3, 12).min(0)),
        (
            "x: f32[12@i, 12]) -> f32[3, 12]",
            "return pmean(x, axis_name=i)",
            lambda x: x.reshape(4, 3, 12).mean(0),
        ),
        (
            "x: f32[12, 12]) -> f32[12@i, 12]",
            "return psum_scatter(x, i, tiled=True)",
            lambda x: 4 * x,
        ),
        (
            "x: f32[4, 12]) -> f32[12@i]",
            "return psum_scatter(x[:, 0:3], i)",
            lambda x: 4 * x[:, :3].reshape(12),
        ),
        (
            "x: f32[12@i, 12]) -> f32[48@i, 12]",
            "return all_gather(x, i, tiled=True)",
            lambda x: np.tile(x, (4, 1)),
        ),
        (
            "x: f32[12@i, 12]) -> f32[16@i, 3, 12]",
            "return all_gather(x, i)",
            lambda x: np.tile(x.reshape(4, 3, 12), (4, 1, 1)),
        ),
        (
            "x: f32[12@i, 12]) -> f32[12, 12@i]",
            "return all_to_all(x, i, 1, 0, tiled=True)",
            lambda x: x,
        ),
        (
            "x: f32[4, 12@i]) -> f32[3, 16@i]",
            "return all_to_all(x, i, 0, 1)",
            lambda x: np.concatenate([x[d].reshape(4, 3).T for d in range(4)], 1),
        ),
        (
            "x: f32[12@i, 12]) -> f32[12@i, 12]",
            "return ppermute(x, i, ((0, 1), (1, 2)))",
            lambda x: np.concatenate([np.zeros((3, 12)), x[0:6], np.zeros((3, 12))]),
        ),
        (
            "x: f32[12@i, 12]) -> f32[12@i, 12]",
            "return x * axis_index(i) + axis_size((i, j))",
            lambda x: x * np.repeat(np.arange(4), 3)[:, None] + 8,
        ),
        (
            "x: f32[12@i, 12]) -> f32[12@i, 12]",
            "return ppermute(x, i, [(k, (k + 1) % axis_size(i)) for k in range(axis_size(i))])",
            lambda x: np.roll(x, 3, 0),
        ),
        (
            "x: f32[12@i, 12]) -> f32[3, 12]",
            "return psum((x, (2 * x)[None]), i)[1][0] / psum(1, i)",
            lambda x: x.reshape(4, 3, 12).sum(0) / 2,
        ),
        (
            "x: f32[12, 12]) -> f32[2, 12, 12]",
            "return stack([x * a + b for a, b in ((1, 2), (3, 4))]"
            " ) * stack([x - k for k in range(4, 0, -2)])",
            lambda x: np.stack((x + 2, x * 3 + 4)) * np.stack((x - 4, x - 2)),
        ),
    ],
)
def test_per_device_code(header: str, body: str, expected) -> None:  # type: ignore[no-untyped-def]
    """The seed's f1 to f5, and every collective, with the values the global program has."""
    graph = graph_of(IJ + f"def f({header}:\n    {body}\n")
    rng = np.random.default_rng(1)
    x = rng.normal(size=graph.type(graph.main.body.args[0]).shape).astype(np.float32)
    (got,) = run(graph, [x])
    assert_near(got, expected(x), terms=12)


def test_a_branch_and_a_turn_per_device() -> None:
    """A @shard_map function may be a branch, or what a loop does."""
    source = """mesh pod[i=4, j=2]
@shard_map
def f(k: i32[], a: f32[8@i]) -> (i32[], f32[8@i]):
    return k + 1, a - pmean(a, i)
def g(k: i32[], a: f32[8]) -> (i32[], f32[8]):
    return k, -a
def go(k: i32[], a: f32[8]) -> bool[]:
    return k < 3
def main(a: f32[8], n: i32[]) -> f32[8]:
    k, b = while_loop(go, f, (0, a * a))
    k, c = cond(n > 0, f, g, k, a)
    return b + c
"""
    x = np.arange(8, dtype=np.float32)
    (got,) = run(graph_of(source), [x, np.array(1, np.int32)])
    without_mean = lambda a: a - np.tile(a.reshape(4, 2).mean(0), 4)  # noqa: E731
    assert_near(got, without_mean(x * x) + without_mean(x), terms=8)


def test_manual_over_one_axis() -> None:
    source = IJ.rstrip() + "(axes=(i,))\ndef f(x: f32[8@(i, j), 6]) -> f32[2, 6]:\n    return psum(x, i)\n"
    (manual,) = nodes_of(graph_of(source), "sdy.manual_computation")
    assert manual.attrs["manual_axes"] == ("i",)
    graph = graph_of(source)
    assert [str(graph.type(arg)) for arg in nodes_of(graph, "sdy.manual_computation")[0].regions[0].args] == [
        "f32[2, 6]"
    ]


def test_jaxlib_parses_what_is_printed() -> None:
    """The IR is the common one. (spmd operations are ours; jaxlib knows none of them.)"""
    pytest.importorskip("jax")
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    source = (
        POD
        + """
def block(x: f32[16, 64], w: f32[64, 64]):
    h = gelu(x @ w)
    return h, argmax(h, axis=1)
def main(x: f32[16@data, 64], ws: f32[3, 64, 64@model?:p1], t: f32[100@model, 64] replicated(data)):
    for w in ws carrying x:
        h, i = block(x, w)
        x: f32[16@data, 64@?] = softmax(h) + take(t, i, axis=0)
    v, i = top_k(cumsum(x, axis=1), 3)
    return v, sort(i, axis=1), x[:, ::2]
"""
    )
    with make_ir_context():
        ir.Module.parse(print_module(read(source, "p.shard"))).operation.verify()


def test_targets_in_brackets() -> None:
    """(a, b) = f(x) is a, b = f(x), over several lines too."""
    head = "def f(x: f32[4]):\n    return x, 2 * x\ndef main(x: f32[4]):\n"
    plain = graph_of(head + "    a, b = f(x)\n    return a - b\n")
    bracketed = graph_of(head + "    (a,\n     b) = f(x)\n    return a - b\n")
    for graph in (plain, bracketed):
        assert len(nodes_of(graph, "stablehlo.subtract")) == 1
