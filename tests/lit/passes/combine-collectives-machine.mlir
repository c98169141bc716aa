// RUN: shardc-opt %s -p 'combine-collectives{machine="h100-infiniband"}' --no-locations --split-input-file | filecheck %s

// Two small sums wait for each other, and one that takes longer to copy than the latency that is saved does not.
// CHECK-LABEL: @worth
// CHECK: stablehlo.concatenate {{.*}} : (tensor<1024xf32>, tensor<512xf32>) -> tensor<1536xf32>
// CHECK: "spmd.all_reduce"({{.*}}shardc.reason = "small; and small too"} : (tensor<1536xf32>)
// CHECK: "spmd.all_reduce"({{.*}}shardc.reason = "large"}
// CHECK-NOT: spmd.all_reduce
sdy.mesh @ring = <["x"=4]>
func.func @worth(%0: tensor<4096xf32>, %1: tensor<33554432xf32>, %2: tensor<2048xf32>) -> (tensor<1024xf32>, tensor<8388608xf32>, tensor<512xf32>) {
  %3, %4, %5 = sdy.manual_computation(%0, %1, %2) in_shardings=[<@ring, [{"x"}]>, <@ring, [{"x"}]>, <@ring, [{"x"}]>] out_shardings=[<@ring, [{}]>, <@ring, [{}]>, <@ring, [{}]>] manual_axes={"x"} (%a: tensor<1024xf32>, %b: tensor<8388608xf32>, %c: tensor<512xf32>) {
    %6 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "small"} : (tensor<1024xf32>) -> tensor<1024xf32>
    %7 = "spmd.all_reduce"(%b) {axes = ["x"], kind = "sum", shardc.reason = "large"} : (tensor<8388608xf32>) -> tensor<8388608xf32>
    %8 = "spmd.all_reduce"(%c) {axes = ["x"], kind = "sum", shardc.reason = "small too"} : (tensor<512xf32>) -> tensor<512xf32>
    sdy.return %6, %7, %8 : tensor<1024xf32>, tensor<8388608xf32>, tensor<512xf32>
  } : (tensor<4096xf32>, tensor<33554432xf32>, tensor<2048xf32>) -> (tensor<1024xf32>, tensor<8388608xf32>, tensor<512xf32>)
  return %3, %4, %5 : tensor<1024xf32>, tensor<8388608xf32>, tensor<512xf32>
}

// -----

// What varies over y and what does not stay apart, side by side.
// CHECK-LABEL: @side_by_side
// CHECK: stablehlo.concatenate {{.*}} : (tensor<1024xf32>, tensor<512xf32>) -> tensor<1536xf32>
// CHECK: "spmd.all_reduce"({{.*}}) {axes = ["x"], kind = "sum", shardc.reason = "one; and another"} : (tensor<1536xf32>)
// CHECK: "spmd.all_reduce"({{.*}}) {axes = ["x"], kind = "sum", shardc.reason = "over y too", shardc.together = "with the one before"} : (tensor<256xf32>)
// CHECK-NOT: spmd.all_reduce
sdy.mesh @ring = <["x"=4, "y"=2]>
func.func @side_by_side(%0: tensor<4096xf32>, %1: tensor<2048xf32>, %2: tensor<2048xf32>) -> (tensor<1024xf32>, tensor<512xf32>, tensor<512xf32>) {
  %3, %4, %5 = sdy.manual_computation(%0, %1, %2) in_shardings=[<@ring, [{"x"}]>, <@ring, [{"x", "y"}]>, <@ring, [{"x"}]>] out_shardings=[<@ring, [{}]>, <@ring, [{"y"}]>, <@ring, [{}]>] manual_axes={"x", "y"} (%a: tensor<1024xf32>, %b: tensor<256xf32>, %c: tensor<512xf32>) {
    %6 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "one"} : (tensor<1024xf32>) -> tensor<1024xf32>
    %7 = "spmd.all_reduce"(%b) {axes = ["x"], kind = "sum", shardc.reason = "over y too"} : (tensor<256xf32>) -> tensor<256xf32>
    %8 = "spmd.all_reduce"(%c) {axes = ["x"], kind = "sum", shardc.reason = "another"} : (tensor<512xf32>) -> tensor<512xf32>
    sdy.return %6, %7, %8 : tensor<1024xf32>, tensor<256xf32>, tensor<512xf32>
  } : (tensor<4096xf32>, tensor<2048xf32>, tensor<2048xf32>) -> (tensor<1024xf32>, tensor<512xf32>, tensor<512xf32>)
  return %3, %4, %5 : tensor<1024xf32>, tensor<512xf32>, tensor<512xf32>
}

// -----

// Two over x are one, though both need the one over y.
// CHECK-LABEL: @behind
// CHECK: [[Y:%.*]] = "spmd.all_reduce"(%a) {axes = ["y"]
// CHECK: [[B:%.*]] = stablehlo.tanh [[Y]]
// CHECK: [[ENDS:%.*]] = stablehlo.concatenate {{.*}} : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
// CHECK: "spmd.all_reduce"([[ENDS]]) {axes = ["x"], kind = "sum", shardc.reason = "one; and two"}
// CHECK-NOT: spmd.all_reduce
sdy.mesh @grid = <["x"=4, "y"=2]>
func.func @behind(%0: tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %1, %2 = sdy.manual_computation(%0) in_shardings=[<@grid, [{}, {"x", "y"}]>] out_shardings=[<@grid, [{}]>, <@grid, [{}]>] manual_axes={"x", "y"} (%p: tensor<64x1xf32>) {
    %a = stablehlo.reshape %p : (tensor<64x1xf32>) -> tensor<64xf32>
    %3 = "spmd.all_reduce"(%a) {axes = ["y"], kind = "sum", shardc.reason = "before"} : (tensor<64xf32>) -> tensor<64xf32>
    %4 = "spmd.all_reduce"(%3) {axes = ["x"], kind = "sum", shardc.reason = "one"} : (tensor<64xf32>) -> tensor<64xf32>
    %5 = stablehlo.tanh %3 : tensor<64xf32>
    %6 = "spmd.all_reduce"(%5) {axes = ["x"], kind = "sum", shardc.reason = "two"} : (tensor<64xf32>) -> tensor<64xf32>
    sdy.return %4, %6 : tensor<64xf32>, tensor<64xf32>
  } : (tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Over x and then y, or over y and then x: of two pairs that wait for each other one is one.
// CHECK-LABEL: @crossed
// CHECK: [[Y:%.*]] = "spmd.all_reduce"(%b) {axes = ["y"], kind = "sum", shardc.reason = "three"}
// CHECK: [[X:%.*]] = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "one"}
// CHECK: "spmd.all_reduce"([[Y]]) {axes = ["x"], kind = "sum", shardc.reason = "four", shardc.together = "with the one before"}
// CHECK: "spmd.all_reduce"([[X]]) {axes = ["y"], kind = "sum", shardc.reason = "two"}
// CHECK-NOT: spmd.all_reduce
sdy.mesh @grid = <["x"=4, "y"=2]>
func.func @crossed(%0: tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %1, %2 = sdy.manual_computation(%0) in_shardings=[<@grid, [{}, {"x", "y"}]>] out_shardings=[<@grid, [{}]>, <@grid, [{}]>] manual_axes={"x", "y"} (%p: tensor<64x1xf32>) {
    %a = stablehlo.reshape %p : (tensor<64x1xf32>) -> tensor<64xf32>
    %b = stablehlo.tanh %a : tensor<64xf32>
    %3 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "one"} : (tensor<64xf32>) -> tensor<64xf32>
    %4 = "spmd.all_reduce"(%3) {axes = ["y"], kind = "sum", shardc.reason = "two"} : (tensor<64xf32>) -> tensor<64xf32>
    %5 = "spmd.all_reduce"(%b) {axes = ["y"], kind = "sum", shardc.reason = "three"} : (tensor<64xf32>) -> tensor<64xf32>
    %6 = "spmd.all_reduce"(%5) {axes = ["x"], kind = "sum", shardc.reason = "four"} : (tensor<64xf32>) -> tensor<64xf32>
    sdy.return %4, %6 : tensor<64xf32>, tensor<64xf32>
  } : (tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// -----

// A sum over x and y is over x, with the other over x, and then y.
// CHECK-LABEL: @over_both
// CHECK: [[SUM:%.*]] = "spmd.all_reduce"({{.*}}) {axes = ["x"], kind = "sum", shardc.reason = "both; and one"} : (tensor<128xf32>)
// CHECK: [[X:%.*]] = stablehlo.slice [[SUM]] [0:64]
// CHECK: "spmd.all_reduce"([[X]]) {axes = ["y"], kind = "sum", shardc.reason = "both"}
// CHECK-NOT: spmd.all_reduce
sdy.mesh @grid = <["x"=4, "y"=2]>
func.func @over_both(%0: tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64x2xf32>) {
  %1, %2 = sdy.manual_computation(%0) in_shardings=[<@grid, [{}, {"x", "y"}]>] out_shardings=[<@grid, [{}]>, <@grid, [{}, {"y"}]>] manual_axes={"x", "y"} (%p: tensor<64x1xf32>) {
    %a = stablehlo.reshape %p : (tensor<64x1xf32>) -> tensor<64xf32>
    %3 = "spmd.all_reduce"(%a) {axes = ["x", "y"], kind = "sum", shardc.reason = "both"} : (tensor<64xf32>) -> tensor<64xf32>
    %4 = "spmd.all_reduce"(%p) {axes = ["x"], kind = "sum", shardc.reason = "one"} : (tensor<64x1xf32>) -> tensor<64x1xf32>
    sdy.return %3, %4 : tensor<64xf32>, tensor<64x1xf32>
  } : (tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64x2xf32>)
  return %1, %2 : tensor<64xf32>, tensor<64x2xf32>
}
