// RUN: shardc-opt %s -p insert-reshards --no-locations | filecheck %s

// An axis of one device splits nothing: layouts that differ in it alone are one layout, and there is nothing
// to send or to choose between them, at the borders of per-device code neither.
// CHECK-LABEL: @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}]>})
// CHECK-SAME: -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}]>})
// CHECK-NEXT: %0 = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {"x"}]>]>}
// CHECK-NEXT: %1 = sdy.sharding_constraint %0 <@m, [{"y"}, {"x"}]>
// CHECK-NEXT: %2 = sdy.manual_computation(%1) in_shardings=[<@m, [{"y"}, {"x", ?}]>] out_shardings=[<@m, [{"y"}, {"x", ?}]>] manual_axes={"one", "y"}
// CHECK-NOT: reshard
sdy.mesh @m = <["one"=1, "x"=2, "also"=1, "y"=4]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"one", "y"}, {"x"}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"also", "x"}]>}) {
  %0 = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {"x"}]>]>} : tensor<8x6xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"y"}, {"x", "also"}]> : tensor<8x6xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<@m, [{"one", "y"}, {"x", ?}]>] out_shardings=[<@m, [{"one", "y"}, {"x", ?}]>] manual_axes={"one", "y"} (%a: tensor<2x6xf32>) {
    %3 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : tensor<2x6xf32>
    sdy.return %3 : tensor<2x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}
