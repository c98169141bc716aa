// RUN: shardc-opt %s -p stack-exchanges --no-locations --split-input-file | filecheck %s
// RUN: shardc-opt %s -p 'stack-exchanges{bytes=4096}' --no-locations --split-input-file | filecheck %s --check-prefix=TWO
// RUN: shardc-opt %s -p 'stack-exchanges{machine="h100-infiniband"}' --no-locations --split-input-file | filecheck %s --check-prefix=LATE

// Queries, keys and values go as one where the queries are needed; what comes of them goes alone.
// CHECK-LABEL: @main
// CHECK: [[Q:%.*]] = "spmd.all_to_all"(%q) {axes = ["d"], concat_dim = 1 : i64, shardc.reason = "q", split_dim = 2 : i64}
// CHECK-NEXT: "spmd.all_to_all"(%k) {{.*}}shardc.together = "with the one before"
// CHECK-NEXT: [[V:%.*]] = "spmd.all_to_all"(%v) {{.*}}shardc.together
// CHECK-NEXT: stablehlo.add [[Q]]
// CHECK: [[P:%.*]] = stablehlo.multiply {{.*}}[[V]]
// CHECK-NEXT: "spmd.all_to_all"([[P]]) {{.*}}shardc.reason = "p", split_dim = 1 : i64}
// TWO-LABEL: @main
// TWO: "spmd.all_to_all"(%q)
// TWO-NEXT: "spmd.all_to_all"(%k) {{.*}}shardc.together
// TWO-NEXT: stablehlo.add
// TWO: "spmd.all_to_all"(%v) {{.*}}shardc.reason = "v", split_dim = 2 : i64}
sdy.mesh @ring = <["d"=4]>
func.func @main(%0: tensor<2x32x4x8xf32>, %1: tensor<2x32x4x8xf32>, %2: tensor<2x32x4x8xf32>) -> tensor<2x32x4x8xf32> {
  %3 = sdy.manual_computation(%0, %1, %2) in_shardings=[<@ring, [{}, {"d"}, {}, {}]>, <@ring, [{}, {"d"}, {}, {}]>, <@ring, [{}, {"d"}, {}, {}]>] out_shardings=[<@ring, [{}, {"d"}, {}, {}]>] manual_axes={"d"} (%q: tensor<2x8x4x8xf32>, %k: tensor<2x8x4x8xf32>, %v: tensor<2x8x4x8xf32>) {
    %4 = "spmd.all_to_all"(%q) {axes = ["d"], concat_dim = 1 : i64, split_dim = 2 : i64, shardc.reason = "q"} : (tensor<2x8x4x8xf32>) -> tensor<2x32x1x8xf32>
    %5 = "spmd.all_to_all"(%k) {axes = ["d"], concat_dim = 1 : i64, split_dim = 2 : i64, shardc.reason = "k"} : (tensor<2x8x4x8xf32>) -> tensor<2x32x1x8xf32>
    %6 = stablehlo.add %4, %5 : tensor<2x32x1x8xf32>
    %7 = stablehlo.tanh %6 : tensor<2x32x1x8xf32>
    %8 = "spmd.all_to_all"(%v) {axes = ["d"], concat_dim = 1 : i64, split_dim = 2 : i64, shardc.reason = "v"} : (tensor<2x8x4x8xf32>) -> tensor<2x32x1x8xf32>
    %9 = stablehlo.multiply %7, %8 : tensor<2x32x1x8xf32>
    %10 = "spmd.all_to_all"(%9) {axes = ["d"], concat_dim = 2 : i64, split_dim = 1 : i64, shardc.reason = "p"} : (tensor<2x32x1x8xf32>) -> tensor<2x8x4x8xf32>
    sdy.return %10 : tensor<2x8x4x8xf32>
  } : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>) -> tensor<2x32x4x8xf32>
  return %3 : tensor<2x32x4x8xf32>
}

// -----

// What is made after the first is needed stays, and so does what a person wrote, another type, other dimensions.
// CHECK-LABEL: @apart
// CHECK-NOT: shardc.together
// CHECK: return
sdy.mesh @ring = <["d"=4]>
func.func @apart(%0: tensor<2x32x4xf32>, %1: tensor<2x32x4xf32>, %2: tensor<2x32x8xf32>) -> (tensor<2x32x4xf32>, tensor<2x32x4xf32>, tensor<2x32x8xf32>, tensor<2x32x4xf32>) {
  %3, %4, %5, %6 = sdy.manual_computation(%0, %1, %2) in_shardings=[<@ring, [{}, {"d"}, {}]>, <@ring, [{}, {"d"}, {}]>, <@ring, [{}, {"d"}, {}]>] out_shardings=[<@ring, [{}, {}, {"d"}]>, <@ring, [{}, {}, {"d"}]>, <@ring, [{}, {}, {"d"}]>, <@ring, [{}, {"d"}, {}]>] manual_axes={"d"} (%a: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>, %c: tensor<2x8x8xf32>) {
    %7 = "spmd.all_to_all"(%a) {axes = ["d"], concat_dim = 1 : i64, split_dim = 2 : i64, shardc.reason = "a"} : (tensor<2x8x4xf32>) -> tensor<2x32x1xf32>
    %8 = "spmd.all_to_all"(%7) {axes = ["d"], concat_dim = 2 : i64, split_dim = 1 : i64, shardc.reason = "back"} : (tensor<2x32x1xf32>) -> tensor<2x8x4xf32>
    %9 = stablehlo.add %8, %b : tensor<2x8x4xf32>
    %10 = "spmd.all_to_all"(%9) {axes = ["d"], concat_dim = 1 : i64, split_dim = 2 : i64, shardc.reason = "later"} : (tensor<2x8x4xf32>) -> tensor<2x32x1xf32>
    %11 = "spmd.all_to_all"(%c) {axes = ["d"], concat_dim = 1 : i64, split_dim = 2 : i64, shardc.reason = "c"} : (tensor<2x8x8xf32>) -> tensor<2x32x2xf32>
    %12 = "spmd.all_to_all"(%b) {axes = ["d"], concat_dim = 1 : i64, split_dim = 2 : i64} : (tensor<2x8x4xf32>) -> tensor<2x32x1xf32>
    %13 = stablehlo.add %10, %12 : tensor<2x32x1xf32>
    sdy.return %7, %13, %11, %8 : tensor<2x32x1xf32>, tensor<2x32x1xf32>, tensor<2x32x2xf32>, tensor<2x8x4xf32>
  } : (tensor<2x32x4xf32>, tensor<2x32x4xf32>, tensor<2x32x8xf32>) -> (tensor<2x32x4xf32>, tensor<2x32x4xf32>, tensor<2x32x8xf32>, tensor<2x32x4xf32>)
  return %3, %4, %5, %6 : tensor<2x32x4xf32>, tensor<2x32x4xf32>, tensor<2x32x8xf32>, tensor<2x32x4xf32>
}

// -----

// What comes from one device is in one piece: a stack has to be taken apart, which latency pays for.
// CHECK-LABEL: @whole_rows
// CHECK-NOT: shardc.together
// LATE-LABEL: @whole_rows
// LATE: "spmd.all_to_all"(%b) {{.*}}shardc.together
sdy.mesh @ring = <["d"=4]>
func.func @whole_rows(%0: tensor<32x4xf32>, %1: tensor<32x4xf32>) -> tensor<32x4xf32> {
  %2 = sdy.manual_computation(%0, %1) in_shardings=[<@ring, [{"d"}, {}]>, <@ring, [{"d"}, {}]>] out_shardings=[<@ring, [{}, {"d"}]>] manual_axes={"d"} (%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) {
    %3 = "spmd.all_to_all"(%a) {axes = ["d"], concat_dim = 0 : i64, split_dim = 1 : i64, shardc.reason = "a"} : (tensor<8x4xf32>) -> tensor<32x1xf32>
    %4 = "spmd.all_to_all"(%b) {axes = ["d"], concat_dim = 0 : i64, split_dim = 1 : i64, shardc.reason = "b"} : (tensor<8x4xf32>) -> tensor<32x1xf32>
    %5 = stablehlo.multiply %3, %4 : tensor<32x1xf32>
    sdy.return %5 : tensor<32x1xf32>
  } : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<32x4xf32>
  return %2 : tensor<32x4xf32>
}
