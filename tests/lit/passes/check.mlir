// RUN: shardc-opt %s -p check --no-locations | filecheck %s

// Right per-device code passes through unchanged.
// CHECK: stablehlo.dot_general
// CHECK: "spmd.all_reduce"
sdy.mesh @grid = <["i"=4, "j"=2]>
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@grid, [{"i"}, {"j"}]>, <@grid, [{"j"}, {}]>] out_shardings=[<@grid, [{"i"}, {}]>] manual_axes={"i", "j"} (%x: tensor<2x8xf32>, %y: tensor<8x32xf32>) {
    %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
    %2 = "spmd.all_reduce"(%1) {axes = ["j"], kind = "sum"} : (tensor<2x32xf32>) -> tensor<2x32xf32>
    sdy.return %2 : tensor<2x32xf32>
  } : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
