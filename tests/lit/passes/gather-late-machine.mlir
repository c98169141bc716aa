// RUN: shardc-opt %s -p 'gather-late{machine="h100-infiniband"}' --no-locations | filecheck %s

// A small stack is gathered once, since each turn's gather would have its latency; a large one, a layer a turn.
// CHECK-LABEL: @main
// CHECK: [[SMALL:%.*]] = "spmd.all_gather"(%vs
// CHECK-NOT: spmd.all_gather
// CHECK: do {
// CHECK-NEXT: [[PART:%.*]] = stablehlo.dynamic_slice %ws{{.*}}, sizes = [1, 33554432]
// CHECK: "spmd.all_gather"({{%.*}}) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole, one layer a turn"}
// CHECK: stablehlo.dynamic_slice [[SMALL]]
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<3x134217728xf32>, %y: tensor<3x8xf32>) -> tensor<f32> {
  %0 = sdy.manual_computation(%x, %y) in_shardings=[<@ring, [{}, {"r"}]>, <@ring, [{}, {"r"}]>] out_shardings=[<@ring, []>] manual_axes={"r"} (%ws: tensor<3x33554432xf32>, %vs: tensor<3x2xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %start = stablehlo.constant dense<1.0> : tensor<f32>
    %1 = "spmd.all_gather"(%ws) {axes = ["r"], dim = 1 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<3x33554432xf32>) -> tensor<3x134217728xf32>
    %2 = "spmd.all_gather"(%vs) {axes = ["r"], dim = 1 : i64, invariant = true} : (tensor<3x2xf32>) -> tensor<3x8xf32>
    %3, %4 = stablehlo.while(%i = %zero, %h = %start) : tensor<i32>, tensor<f32> cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %5 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %6 = stablehlo.dynamic_slice %1, %i, %zero, sizes = [1, 134217728] : (tensor<3x134217728xf32>, tensor<i32>, tensor<i32>) -> tensor<1x134217728xf32>
      %7 = stablehlo.reshape %6 : (tensor<1x134217728xf32>) -> tensor<134217728xf32>
      %8 = stablehlo.dynamic_slice %2, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %9 = stablehlo.reshape %8 : (tensor<1x8xf32>) -> tensor<8xf32>
      %10 = stablehlo.slice %7 [0:1] : (tensor<134217728xf32>) -> tensor<1xf32>
      %11 = stablehlo.slice %9 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
      %12 = stablehlo.multiply %10, %11 : tensor<1xf32>
      %13 = stablehlo.reshape %12 : (tensor<1xf32>) -> tensor<f32>
      %14 = stablehlo.add %h, %13 : tensor<f32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %15 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %15, %14 : tensor<i32>, tensor<f32>
    }
    sdy.return %4 : tensor<f32>
  } : (tensor<3x134217728xf32>, tensor<3x8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
