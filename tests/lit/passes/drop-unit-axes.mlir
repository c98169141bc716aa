// RUN: shardc-opt %s -p drop-unit-axes --no-locations | filecheck %s

sdy.mesh @m = <["x"=4, "one"=1]>

// CHECK-LABEL: @main
// CHECK: %[[G:.*]] = "spmd.all_gather"(%{{.*}}) {axes = ["x"], dim = 0 : i64, invariant = true}
// CHECK-NEXT: %[[I:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %[[B:.*]] = stablehlo.broadcast_in_dim %[[I]]
// CHECK-NEXT: stablehlo.add %[[G]], %[[B]]
func.func @main(%a: tensor<8xi32>) -> tensor<8xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{}]>] manual_axes={"x", "one"} (%b: tensor<2xi32>) {
    %1 = "spmd.all_gather"(%b) {axes = ["x", "one"], dim = 0 : i64, invariant = true} : (tensor<2xi32>) -> tensor<8xi32>
    %2 = "spmd.collective_permute"(%1) {axes = ["one"], pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<8xi32>) -> tensor<8xi32>
    %3 = "spmd.axis_index"() {axes = ["one"]} : () -> tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %5 = stablehlo.add %2, %4 : tensor<8xi32>
    sdy.return %5 : tensor<8xi32>
  } : (tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
