// RUN: not shardc-opt %s -p check 2>&1 | filecheck %s

// Without the all-reduce devices along j return different blocks, where the result says they are equal.
// CHECK: check-varying.mlir:{{[0-9]+}}:{{[0-9]+}}: error: the result, f32[8@i, 32], is the same over j
// CHECK-SAME: varies over j
// CHECK: note: psum over j first
sdy.mesh @grid = <["i"=4, "j"=2]>
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@grid, [{"i"}, {"j"}]>, <@grid, [{"j"}, {}]>] out_shardings=[<@grid, [{"i"}, {}]>] manual_axes={"i", "j"} (%x: tensor<2x8xf32>, %y: tensor<8x32xf32>) {
    %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
    sdy.return %1 : tensor<2x32xf32>
  } : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
