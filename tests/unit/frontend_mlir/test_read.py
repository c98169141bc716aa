"""Reading MLIR text: places, and errors that point at them."""

import pytest
from xdsl.dialects.builtin import CallSiteLoc

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.mlir import ModuleParser, read
from shardc.frontend.mlir_locations import LocationReader
from shardc.graph import Location, walk

MAIN = """func.func @main(%a: tensor<4xf32>, %b: tensor<2xf32>) -> tensor<4xf32> {{
  {}
  return %a : tensor<4xf32>
}}"""


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("%0 = stablehlo.add %a, %b : tensor<4xf32>", "2:", "%b|type"),
        (
            "%0 = stablehlo.ad %a, %a : tensor<4xf32>",
            "2:8",
            "no operation stablehlo.ad\n(.*\n)*.*mean stablehlo.pad",
        ),
        ("%0 = other.op %a : tensor<4xf32>", "2:8", "there is no operation other.op"),
        ("%0 = mhlo.tanh %a : tensor<4xf32>", "2:8", "no operation mhlo.tanh\n(.*\n)*.*mean stablehlo.tanh"),
        ('%0 = "mhlo.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf32>', "2:9", "mean stablehlo.tanh"),
        ("let a = tanh", "2:3", "there is no operation let\n(.*\n)*.*MLIR text"),
        ("%0 = stablehlo.add %a, %q : tensor<4xf32>", "2:26", "%q is used but not defined"),
        ("%0 = stablehlo.add %a, %bb : tensor<4xf32>", "2:26", "not defined\n(.*\n)*.*did you mean %b"),
        ("%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>", "2:32", "nesting of the elements"),
        ("%0 = stablehlo.constant dense<1.0 : tensor<3xf32>", "2:32", "a constant does not end"),
        ("%0 = stablehlo.slice %a [0:9] : (tensor<4xf32>) -> tensor<9xf32>", "2:3", "slice"),
        ("%0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<5xf32>", "2:3", "reshape"),
        ("%0 = stablehlo.negate %a : (tensor<4xf32>) -> tensor<?xf32>", "2:3", "dynamic shape"),
        ("%0 = stablehlo.negate %a : tensor<4xf32> loc(#loc9)", "2:44", "#loc9 is not defined"),
        ("%0 = stablehlo.negate %a : tensor<4xf32> loc(x", "2:44", "a location does not end"),
        ('%0 = "spmd.vary"(%a) {axes = ["x"]} : (tensor<4xf32>) -> tensor<4xf32>', "2:3", "only inside sdy"),
        ("%0 = stablehlo.compare LX, %a, %a : (tensor<4xf32>) -> tensor<4xi1>", "2:", "LX is no comparison"),
        ("%a = stablehlo.negate %a : tensor<4xf32>", "2:3", "%a is already defined"),
    ],
)
def test_errors_have_a_place(line, place, message):
    with pytest.raises(ShardcError, match=message) as caught:
        read(MAIN.format(line), "a.mlir")
    text = str(caught.value)
    assert text.startswith(f"a.mlir:{place}")
    assert "\n" in text and "^" in text


def test_a_name_of_another_function_is_not_defined():
    text = MAIN.format("%q = stablehlo.add %a, %a : tensor<4xf32>") + "\n"
    with pytest.raises(ShardcError, match="%q is used but not defined") as caught:
        read(text + text.replace("%q =", "%r =").replace("@main", "@f").replace("%a, %a", "%a, %q"), "a.mlir")
    assert str(caught.value).startswith("a.mlir:6:26:")


def test_a_text_may_begin_with_a_byte_order_mark():
    text = "\ufeff" + MAIN.format("%0 = stablehlo.ad %a, %a : tensor<4xf32>")
    with pytest.raises(ShardcError) as caught:
        read(text, "a.mlir")
    assert str(caught.value).startswith("a.mlir:2:8:")
    read(text.replace("ad ", "add "), "a.mlir")


@pytest.mark.parametrize("text", ["", " \n", "\ufeff"])
def test_an_empty_text_has_no_function(text):
    with pytest.raises(ShardcError, match="the module has no function") as caught:
        read(text, "a.mlir")
    assert str(caught.value).startswith("a.mlir:1:1:")


@pytest.mark.parametrize("end", range(0, 160, 7))
def test_truncated_text_is_an_error_with_a_place(end):
    text = ("module {\n" + MAIN.format("%0 = stablehlo.add %a, %a : tensor<4xf32>"))[:end]
    with pytest.raises(ShardcError) as caught:
        read(text, "a.mlir")
    assert str(caught.value).startswith("a.mlir:")


def test_deep_nesting_is_an_error():
    with pytest.raises(ShardcError, match="nested too deeply"):
        read("module {" * 5000, "a.mlir")


def test_an_absurd_shape_is_no_work():
    module = read("""func.func @main() -> tensor<1000000000x1000000000xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<1000000000x1000000000xf32>
  return %0 : tensor<1000000000x1000000000xf32>
}""")
    assert "dense<1.000000e+00> : tensor<1000000000x1000000000xf32>" in print_module(module)


LOCATED = """#loc1 = loc("x")
module {
  func.func @main(%a: tensor<4xf32> loc("x"), %b: tensor<4xf32> loc("b"("m.py":1:2))) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %b : tensor<4xf32> loc(#loc7)
    %1 = stablehlo.add %0, %b : tensor<4xf32> loc(#loc8)
    %2 = stablehlo.add %1, %b : tensor<4xf32> loc(fused<"meta">[#loc3, "n.py":7:8])
    %3 = stablehlo.add %2, %b : tensor<4xf32> loc(#loc)
    %4 = stablehlo.add %3, %b : tensor<4xf32>
    return %4 : tensor<4xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("m.py":3:4 to :61)
#loc4 = loc("f"(#loc3))
#loc7 = loc("jit(f)/add"(callsite(#loc4 at "n.py":5:6)))
#loc8 = loc("h"("m.py":9:1))
"""


def places(text):
    graph = snapshot(read(text, "a.mlir")).graph
    return [graph.values[value].loc for value in graph.main.body.args], [
        node.loc for node in walk(graph.main.body)
    ]


def test_locations_and_forward_aliases():
    args, nodes = places(LOCATED)
    assert args == [Location("a.mlir", 3, 19, "x"), Location("m.py", 1, 3, "b")]
    assert nodes[:3] == [
        Location("m.py", 3, 5, "jit(f)/add"),
        Location("m.py", 9, 2, "h"),
        Location("m.py", 3, 5),
    ]
    assert nodes[3:5] == [Location("a.mlir", 7, 5), Location("a.mlir", 8, 5)]


def test_locations_survive_printing():
    module = read(LOCATED, "a.mlir")
    again = read(print_module(module, locations=True), "b.mlir")
    first = [location_of(op.location) for op in module.walk()]
    assert [location_of(op.location) for op in again.walk()] == first


def test_an_alias_is_read_once():
    aliases = '#loc1 = loc("a.py":1:2)\n#loc2 = loc("f"(#loc1))\n'
    found = LocationReader(aliases)
    one, other = found.read('callsite("x"(#loc1) at #loc2)'), found.read('callsite("y"(#loc1) at #loc2)')
    assert isinstance(one, CallSiteLoc)
    assert isinstance(other, CallSiteLoc)
    assert one.caller is other.caller
    assert one.callee != other.callee


def test_an_alias_defined_by_itself_is_an_error():
    text = MAIN.format("%0 = stablehlo.negate %a : tensor<4xf32> loc(#loc1)") + "\n#loc1 = loc(#loc1)\n"
    with pytest.raises(ShardcError, match="#loc1 is defined by itself"):
        read(text, "a.mlir")


def test_bodies_written_in_one_line_have_the_place_of_their_operation():
    across = "applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>"
    _, nodes = places(f"""func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.reduce(%a init: %z) {across}
  %1 = stablehlo.reduce(%a init: %0) {across}
  return %1 : tensor<f32>
}}""")
    assert [(loc.line, loc.col) for loc in nodes] == [(2, 3)] * 3 + [(3, 3)] * 3 + [(4, 3)]


def test_aliases_that_follow_each_other_are_passed_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    skip = ModuleParser._parse_alias_def
    monkeypatch.setattr(ModuleParser, "_parse_alias_def", lambda self: (passed.append(""), skip(self)))
    aliases = [f'#loc{n} = loc("m.py":{n}:1)' for n in range(50)]
    located = MAIN.format("%0 = stablehlo.negate %a : tensor<4xf32> loc(#loc30)")
    text = "\n".join((*aliases[:20], located, *aliases[20:]))
    graph = snapshot(read(text)).graph
    assert next(walk(graph.main.body)).loc == Location("m.py", 30, 2)
    assert len(passed) == 2


def test_what_follows_an_alias_in_its_line_is_read() -> None:
    text = f'#loc1 = loc("a")\n#loc1 = loc("b") junk\n{MAIN.format("")}'
    with pytest.raises(ShardcError, match="2:18: error: there is no operation junk"):
        read(text)
