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

// -----

// Gathers: a row of each device's blocks. The second dimension of %b goes behind the devices'.
// CHECK-LABEL: @gathers
// CHECK: [[A:%.*]] = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<1x6xf32>
// CHECK: [[B:%.*]] = stablehlo.reshape %b : (tensor<5x2xf32>) -> tensor<1x10xf32>
// CHECK: [[ENDS:%.*]] = stablehlo.concatenate [[A]], [[B]], dim = 1 {{.*}} -> tensor<1x16xf32>
// CHECK: [[ALL:%.*]] = "spmd.all_gather"([[ENDS]]) {axes = ["x"], dim = 0 : i64, invariant = true, shardc.reason = "one; and two"} : (tensor<1x16xf32>) -> tensor<4x16xf32>
// CHECK: [[ONE:%.*]] = stablehlo.slice [[ALL]] [0:4, 0:6]
// CHECK: stablehlo.reshape [[ONE]] : (tensor<4x6xf32>) -> tensor<8x3xf32>
// CHECK: [[TWO:%.*]] = stablehlo.slice [[ALL]] [0:4, 6:16]
// CHECK: [[PARTS:%.*]] = stablehlo.reshape [[TWO]] : (tensor<4x10xf32>) -> tensor<4x5x2xf32>
// CHECK: [[TURNED:%.*]] = stablehlo.transpose [[PARTS]], dims = [1, 0, 2]
// CHECK: stablehlo.reshape [[TURNED]] : (tensor<5x4x2xf32>) -> tensor<5x8xf32>
// CHECK-NOT: spmd.all_gather
sdy.mesh @ring = <["x"=4]>
func.func @gathers(%0: tensor<8x3xf32>, %1: tensor<5x8xf32>) -> (tensor<8x3xf32>, tensor<5x8xf32>) {
  %2, %3 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"x"}, {}]>, <@ring, [{}, {"x"}]>] out_shardings=[<@ring, [{}, {}]>, <@ring, [{}, {}]>] manual_axes={"x"} (%a: tensor<2x3xf32>, %b: tensor<5x2xf32>) {
    %4 = "spmd.all_gather"(%a) {axes = ["x"], dim = 0 : i64, invariant = true, shardc.reason = "one"} : (tensor<2x3xf32>) -> tensor<8x3xf32>
    %5 = "spmd.all_gather"(%b) {axes = ["x"], dim = 1 : i64, invariant = true, shardc.reason = "two"} : (tensor<5x2xf32>) -> tensor<5x8xf32>
    sdy.return %4, %5 : tensor<8x3xf32>, tensor<5x8xf32>
  } : (tensor<8x3xf32>, tensor<5x8xf32>) -> (tensor<8x3xf32>, tensor<5x8xf32>)
  return %2, %3 : tensor<8x3xf32>, tensor<5x8xf32>
}

// -----

// Scatters: a row for each device.
// CHECK-LABEL: @scatters
// CHECK: [[A:%.*]] = stablehlo.reshape %a : (tensor<8x3xf32>) -> tensor<4x6xf32>
// CHECK: [[PARTS:%.*]] = stablehlo.reshape %b : (tensor<5x8xf32>) -> tensor<5x4x2xf32>
// CHECK: [[TURNED:%.*]] = stablehlo.transpose [[PARTS]], dims = [1, 0, 2]
// CHECK: [[B:%.*]] = stablehlo.reshape [[TURNED]] : (tensor<4x5x2xf32>) -> tensor<4x10xf32>
// CHECK: [[ENDS:%.*]] = stablehlo.concatenate [[A]], [[B]], dim = 1
// CHECK: [[OWN:%.*]] = "spmd.reduce_scatter"([[ENDS]]) {axes = ["x"], dim = 0 : i64, kind = "sum", shardc.reason = "one; and two"} : (tensor<4x16xf32>) -> tensor<1x16xf32>
// CHECK: [[ONE:%.*]] = stablehlo.slice [[OWN]] [0:1, 0:6]
// CHECK: stablehlo.reshape [[ONE]] : (tensor<1x6xf32>) -> tensor<2x3xf32>
// CHECK: [[TWO:%.*]] = stablehlo.slice [[OWN]] [0:1, 6:16]
// CHECK: stablehlo.reshape [[TWO]] : (tensor<1x10xf32>) -> tensor<5x2xf32>
sdy.mesh @ring = <["x"=4]>
func.func @scatters(%0: tensor<32x3xf32>, %1: tensor<20x8xf32>) -> (tensor<8x3xf32>, tensor<5x8xf32>) {
  %2, %3 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"x"}, {}]>, <@ring, [{"x"}, {}]>] out_shardings=[<@ring, [{"x"}, {}]>, <@ring, [{}, {"x"}]>] manual_axes={"x"} (%a: tensor<8x3xf32>, %b: tensor<5x8xf32>) {
    %4 = "spmd.reduce_scatter"(%a) {axes = ["x"], dim = 0 : i64, kind = "sum", shardc.reason = "one"} : (tensor<8x3xf32>) -> tensor<2x3xf32>
    %5 = "spmd.reduce_scatter"(%b) {axes = ["x"], dim = 1 : i64, kind = "sum", shardc.reason = "two"} : (tensor<5x8xf32>) -> tensor<5x2xf32>
    sdy.return %4, %5 : tensor<2x3xf32>, tensor<5x2xf32>
  } : (tensor<32x3xf32>, tensor<20x8xf32>) -> (tensor<8x3xf32>, tensor<5x8xf32>)
  return %2, %3 : tensor<8x3xf32>, tensor<5x8xf32>
}

// -----

// The update with the first sum is done later, so that the sum can wait for a product.
// CHECK-LABEL: @updates
// CHECK: [[P:%.*]] = stablehlo.dot_general %a, %a
// CHECK: [[ENDS:%.*]] = stablehlo.concatenate
// CHECK: [[SUM:%.*]] = "spmd.all_reduce"([[ENDS]])
// CHECK: stablehlo.negate
// CHECK: stablehlo.tanh
// CHECK-NOT: spmd.all_reduce
sdy.mesh @ring = <["x"=4]>
func.func @updates(%0: tensor<8x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %1, %2 = sdy.manual_computation(%0) in_shardings=[<@ring, [{"x"}, {}]>] out_shardings=[<@ring, [{}, {}]>, <@ring, [{}, {}]>] manual_axes={"x"} (%a: tensor<2x2xf32>) {
    %3 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "one"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = stablehlo.negate %3 : tensor<2x2xf32>
    %5 = stablehlo.tanh %4 : tensor<2x2xf32>
    %6 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %7 = stablehlo.dot_general %6, %a, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %8 = "spmd.all_reduce"(%7) {axes = ["x"], kind = "sum", shardc.reason = "two"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    sdy.return %5, %8 : tensor<2x2xf32>, tensor<2x2xf32>
  } : (tensor<8x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Permutes between the same pairs are one, and one between others stays.
// CHECK-LABEL: @neighbours
// CHECK: stablehlo.concatenate {{.*}} : (tensor<6xf32>, tensor<4xf32>) -> tensor<10xf32>
// CHECK-NEXT: [[SENT:%.*]] = "spmd.collective_permute"({{.*}}) {axes = ["x"], pairs = dense<{{.*}}>{{.*}}shardc.reason = "up; and diagonal"
// CHECK-NEXT: stablehlo.slice [[SENT]] [0:6]
// CHECK: stablehlo.slice [[SENT]] [6:10]
// CHECK: "spmd.collective_permute"(%a) {{.*}}"down"
// CHECK-NOT: spmd.collective_permute
sdy.mesh @ring = <["x"=4]>
func.func @neighbours(%0: tensor<8x3xf32>, %1: tensor<16xf32>) -> (tensor<8x3xf32>, tensor<16xf32>, tensor<8x3xf32>) {
  %2, %3, %4 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"x"}, {}]>, <@ring, [{"x"}]>] out_shardings=[<@ring, [{"x"}, {}]>, <@ring, [{"x"}]>, <@ring, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
    %5 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>, shardc.reason = "up"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %6 = "spmd.collective_permute"(%b) {axes = ["x"], pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>, shardc.reason = "diagonal"} : (tensor<4xf32>) -> tensor<4xf32>
    %7 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>, shardc.reason = "down"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    sdy.return %5, %6, %7 : tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>
  } : (tensor<8x3xf32>, tensor<16xf32>) -> (tensor<8x3xf32>, tensor<16xf32>, tensor<8x3xf32>)
  return %2, %3, %4 : tensor<8x3xf32>, tensor<16xf32>, tensor<8x3xf32>
}
