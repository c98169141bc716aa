// RUN: shardc-opt %s -p insert-reshards --no-locations 2>&1 | filecheck %s

// Per-device code that is written for x alone gets whole blocks along y, and a warning says so.
// CHECK-LABEL: @main
// CHECK-NEXT: [[X:%.*]] = sdy.reshard %x <@m, [{"x"}, {}]>
// CHECK-NEXT: sdy.manual_computation([[X]]) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"}
// CHECK: warning: this per-device code is not written for y: its operands are gathered over y
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"x", ?}, {"y", ?}]>] out_shardings=[<@m, [{"x"}, {"y"}]>] manual_axes={"x"} (%a: tensor<4x8xf32>) {
    %1 = stablehlo.tanh %a : tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
