// RUN: shardc-opt %s -p insert-reshards --no-locations | filecheck %s

// Per-device code that is written for x leaves y to the compiler: its blocks are split over y, and nothing is
// sent until the sum over the dimension that y splits.
// CHECK-LABEL: @main
// CHECK-NEXT: sdy.manual_computation(%x) in_shardings=[<@m, [{"x", ?}, {"y", ?}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
// CHECK-NEXT: stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"y"}]>]>}
// CHECK: %[[SUM:.*]] = stablehlo.reduce({{.*}}) {{.*}} {{{.*}}[<@m, [{}], unreduced={"y"}>]>}
// CHECK-NEXT: %[[WHOLE:.*]] = sdy.reshard %[[SUM]] <@m, [{}]> {shardc.reason = "the result of reduce in line {{[0-9]+}} is a partial sum over y, needed whole by the next step in line {{[0-9]+}}"}
// CHECK-NEXT: sdy.return %[[WHOLE]]
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"x", ?}, {"y", ?}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"} (%a: tensor<4x8xf32>) {
    %1 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {"y", ?}]>]>} : tensor<4x8xf32>
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    sdy.return %2 : tensor<4xf32>
  } : (tensor<8x8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

