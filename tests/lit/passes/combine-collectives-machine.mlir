// RUN: shardc-opt %s -p 'combine-collectives{machine="h100-infiniband"}' --no-locations --split-input-file | filecheck %s

// Two small sums wait for each other, and one that takes longer to copy than the latency that is saved does not.
// CHECK-LABEL: @worth
// CHECK: "spmd.all_reduce"({{.*}}shardc.reason = "large"}
// CHECK: stablehlo.concatenate {{.*}} : (tensor<1024xf32>, tensor<512xf32>) -> tensor<1536xf32>
// CHECK: "spmd.all_reduce"({{.*}}shardc.reason = "small; and small too"} : (tensor<1536xf32>)
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
