// RUN: shardc-opt %s -p combine-collectives --no-locations --split-input-file | filecheck %s

// Both sums are there before the first is needed, once the product with 2 is computed early.
// CHECK-LABEL: @two
// CHECK: [[B:%.*]] = stablehlo.multiply %b, %b
// CHECK: [[FLAT:%.*]] = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK: [[ENDS:%.*]] = stablehlo.concatenate {{.*}} : (tensor<6xf32>, tensor<4xf32>) -> tensor<10xf32>
// CHECK-NEXT: [[SUM:%.*]] = "spmd.all_reduce"([[ENDS]]) {{.*}}shardc.reason = "needed whole; and needed too"
// CHECK-NEXT: stablehlo.slice [[SUM]] [0:6]
// CHECK: stablehlo.slice [[SUM]] [6:10]
// CHECK-NOT: spmd.all_reduce
sdy.mesh @ring = <["x"=4]>
func.func @two(%0: tensor<8x3xf32>, %1: tensor<16xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
  %2, %3 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"x"}, {}]>, <@ring, [{"x"}]>] out_shardings=[<@ring, [{}, {}]>, <@ring, [{}]>] manual_axes={"x"} (%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
    %4 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "needed whole"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %5 = stablehlo.tanh %4 : tensor<2x3xf32>
    %6 = stablehlo.multiply %b, %b : tensor<4xf32>
    %7 = "spmd.all_reduce"(%6) {axes = ["x"], kind = "sum", shardc.reason = "needed too"} : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %5, %7 : tensor<2x3xf32>, tensor<4xf32>
  } : (tensor<8x3xf32>, tensor<16xf32>) -> (tensor<2x3xf32>, tensor<4xf32>)
  return %2, %3 : tensor<2x3xf32>, tensor<4xf32>
}

// -----

// What needs the first sum comes after it; another kind, and what a person wrote, stay.
// CHECK-LABEL: @apart
// CHECK-COUNT-4: spmd.all_reduce
sdy.mesh @ring = <["x"=4]>
func.func @apart(%0: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %1, %2, %3 = sdy.manual_computation(%0) in_shardings=[<@ring, [{"x"}]>] out_shardings=[<@ring, [{}]>, <@ring, [{}]>, <@ring, [{}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    %4 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "one"} : (tensor<2xf32>) -> tensor<2xf32>
    %5 = stablehlo.multiply %4, %a : tensor<2xf32>
    %6 = "spmd.all_reduce"(%5) {axes = ["x"], kind = "sum", shardc.reason = "two"} : (tensor<2xf32>) -> tensor<2xf32>
    %7 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max", shardc.reason = "three"} : (tensor<2xf32>) -> tensor<2xf32>
    %8 = stablehlo.tanh %a : tensor<2xf32>
    %9 = "spmd.all_reduce"(%8) {axes = ["x"], kind = "sum"} : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %6, %7, %9 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  } : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
