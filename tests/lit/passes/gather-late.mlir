// RUN: shardc-opt %s -p gather-late --no-locations | filecheck %s

// Layers are gathered in the turn that uses them; a stack that is used elsewhere too is gathered once.
// CHECK-LABEL: @main
// CHECK-NOT: spmd.all_gather"(%ws
// CHECK: [[BOTH:%.*]] = "spmd.all_gather"(%vs
// CHECK-NOT: spmd.all_gather
// CHECK: do {
// CHECK-NEXT: [[PART:%.*]] = stablehlo.dynamic_slice %ws{{.*}}, sizes = [1, 2]
// CHECK-NEXT: [[ROW:%.*]] = stablehlo.reshape [[PART]] : (tensor<1x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[W:%.*]] = "spmd.all_gather"([[ROW]]) {axes = ["r"], dim = 0 : i64, invariant = true
// CHECK-SAME: "needed whole, one layer a turn"
// CHECK-NEXT: stablehlo.dynamic_slice [[BOTH]]
// CHECK: stablehlo.multiply [[W]]
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x, %y) in_shardings=[<@ring, [{}, {"r"}]>, <@ring, [{}, {"r"}]>] out_shardings=[<@ring, [{}]>] manual_axes={"r"} (%ws: tensor<3x2xf32>, %vs: tensor<3x2xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %start = stablehlo.constant dense<1.0> : tensor<8xf32>
    %1 = "spmd.all_gather"(%ws) {axes = ["r"], dim = 1 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<3x2xf32>) -> tensor<3x8xf32>
    %2 = "spmd.all_gather"(%vs) {axes = ["r"], dim = 1 : i64, invariant = true} : (tensor<3x2xf32>) -> tensor<3x8xf32>
    %3, %4 = stablehlo.while(%i = %zero, %h = %start) : tensor<i32>, tensor<8xf32> cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %5 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %6 = stablehlo.dynamic_slice %1, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %7 = stablehlo.reshape %6 : (tensor<1x8xf32>) -> tensor<8xf32>
      %8 = stablehlo.dynamic_slice %2, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %9 = stablehlo.reshape %8 : (tensor<1x8xf32>) -> tensor<8xf32>
      %10 = stablehlo.multiply %7, %9 : tensor<8xf32>
      %11 = stablehlo.add %h, %10 : tensor<8xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %12 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %12, %11 : tensor<i32>, tensor<8xf32>
    }
    %13 = stablehlo.slice %2 [0:1, 0:8] : (tensor<3x8xf32>) -> tensor<1x8xf32>
    %14 = stablehlo.reshape %13 : (tensor<1x8xf32>) -> tensor<8xf32>
    %15 = stablehlo.add %4, %14 : tensor<8xf32>
    sdy.return %15 : tensor<8xf32>
  } : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
