// RUN: shardc-opt %s -p regather --no-locations --split-input-file | filecheck %s

// There and back: the second product needs the first one's result, so the weight is gathered again for it. The
// view of the copy is made again too.
// CHECK-LABEL: @back
// CHECK: [[FIRST:%.*]] = "spmd.all_gather"(%w)
// CHECK: [[Y:%.*]] = stablehlo.dot_general %x, [[FIRST]]
// CHECK: [[BLOCK:%.*]] = stablehlo.optimization_barrier %w
// CHECK-NEXT: [[AGAIN:%.*]] = "spmd.all_gather"([[BLOCK]]) {{.*}}shardc.reason = "needed whole, again for dot_general
// CHECK-NEXT: [[T:%.*]] = stablehlo.transpose [[AGAIN]]
// CHECK-NEXT: stablehlo.dot_general [[Y]], [[T]]
sdy.mesh @ring = <["r"=4]>
func.func @back(%0: tensor<8x4xf32>, %1: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %2 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"r"}, {}]>, <@ring, [{"r"}, {}]>] out_shardings=[<@ring, [{"r"}, {}]>] manual_axes={"r"} (%x: tensor<2x4xf32>, %w: tensor<1x4xf32>) {
    %3 = "spmd.all_gather"(%w) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<1x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.dot_general %x, %3, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %6 = stablehlo.dot_general %5, %4, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    sdy.return %6 : tensor<2x4xf32>
  } : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// Uses that need nothing of each other share a copy.
// CHECK-LABEL: @beside
// CHECK-COUNT-1: spmd.all_gather
// CHECK-NOT: spmd.all_gather
sdy.mesh @ring = <["r"=4]>
func.func @beside(%0: tensor<8x4xf32>, %1: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %2 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"r"}, {}]>, <@ring, [{"r"}, {}]>] out_shardings=[<@ring, [{"r"}, {}]>] manual_axes={"r"} (%x: tensor<2x4xf32>, %w: tensor<1x4xf32>) {
    %3 = "spmd.all_gather"(%w) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<1x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.dot_general %x, %3, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %5 = stablehlo.dot_general %x, %3, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %6 = stablehlo.add %4, %5 : tensor<2x4xf32>
    sdy.return %6 : tensor<2x4xf32>
  } : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// A recurrence uses one copy in every step; of two weights in turn, each is gathered for each step.
// CHECK-LABEL: @one
// CHECK-COUNT-1: spmd.all_gather
// CHECK-NOT: spmd.all_gather
// CHECK-LABEL: @two
// CHECK-COUNT-4: spmd.all_gather
sdy.mesh @ring = <["r"=4]>
func.func @one(%0: tensor<8x4xf32>, %1: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %2 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"r"}, {}]>, <@ring, [{"r"}, {}]>] out_shardings=[<@ring, [{"r"}, {}]>] manual_axes={"r"} (%x: tensor<2x4xf32>, %w: tensor<1x4xf32>) {
    %3 = "spmd.all_gather"(%w) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<1x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.dot_general %x, %3, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %5 = stablehlo.dot_general %4, %3, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    sdy.return %5 : tensor<2x4xf32>
  } : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
func.func @two(%0: tensor<8x4xf32>, %1: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %2 = sdy.manual_computation(%0, %1, %1) in_shardings=[<@ring, [{"r"}, {}]>, <@ring, [{"r"}, {}]>, <@ring, [{"r"}, {}]>] out_shardings=[<@ring, [{"r"}, {}]>] manual_axes={"r"} (%x: tensor<2x4xf32>, %w: tensor<1x4xf32>, %u: tensor<1x4xf32>) {
    %3 = "spmd.all_gather"(%w) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<1x4xf32>) -> tensor<4x4xf32>
    %4 = "spmd.all_gather"(%u) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<1x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.dot_general %x, %3, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %6 = stablehlo.dot_general %5, %4, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %7 = stablehlo.dot_general %6, %3, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %8 = stablehlo.dot_general %7, %4, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    sdy.return %8 : tensor<2x4xf32>
  } : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
