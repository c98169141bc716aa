// RUN: shardc-opt %s -p 'stage-collectives{machine="h100-infiniband"}' --no-locations --split-input-file | filecheck %s

// Sixteen devices are two nodes of eight: an eighth of the array travels across.
// CHECK-LABEL: @sum
// CHECK: [[OWN:%.*]] = "spmd.reduce_scatter"(%a) {axes = ["data:(2)8"], dim = 1 : i64, kind = "sum", shardc.reason = "needed whole; in stages, {{[0-9.]+}} us for {{[0-9.]+}} us"} : (tensor<3x8xf32>) -> tensor<3x1xf32>
// CHECK: [[ALL:%.*]] = "spmd.all_reduce"([[OWN]]) {axes = ["data:(1)2"], kind = "sum", {{.*}} : (tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK: [[WHOLE:%.*]] = "spmd.all_gather"([[ALL]]) {axes = ["data:(2)8"], dim = 1 : i64, invariant = true, {{.*}} -> tensor<3x8xf32>
// CHECK: sdy.return [[WHOLE]]
sdy.mesh @pod = <["data"=16]>
func.func @sum(%0: tensor<48x8xf32>) -> tensor<3x8xf32> {
  %1 = sdy.manual_computation(%0) in_shardings=[<@pod, [{"data"}, {}]>] out_shardings=[<@pod, [{}, {}]>] manual_axes={"data"} (%a: tensor<3x8xf32>) {
    %2 = "spmd.all_reduce"(%a) {axes = ["data"], kind = "sum", shardc.reason = "needed whole"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
    sdy.return %2 : tensor<3x8xf32>
  } : (tensor<48x8xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// A maximum, and what eight do not divide, are reduced twice; inside a node, and what a person wrote, stay.
// CHECK-LABEL: @twice
// CHECK: [[IN:%.*]] = "spmd.all_reduce"(%a) {axes = ["data:(2)8"], kind = "max",
// CHECK: "spmd.all_reduce"([[IN]]) {axes = ["data:(1)2"], kind = "max",
// CHECK: [[IN:%.*]] = "spmd.all_reduce"(%a) {axes = ["data:(2)8"], kind = "sum",
// CHECK: "spmd.all_reduce"([[IN]]) {axes = ["data:(1)2"], kind = "sum",
// CHECK: "spmd.all_reduce"(%a) {axes = ["data:(4)4"], kind = "sum", shardc.reason = "near"}
// CHECK: "spmd.all_reduce"(%a) {axes = ["data"], kind = "min"}
sdy.mesh @pod = <["data"=16]>
func.func @twice(%0: tensor<48xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<12xf32>, tensor<3xf32>) {
  %1, %2, %3, %4 = sdy.manual_computation(%0) in_shardings=[<@pod, [{"data"}]>] out_shardings=[<@pod, [{}]>, <@pod, [{}]>, <@pod, [{"data":(1)4}]>, <@pod, [{}]>] manual_axes={"data"} (%a: tensor<3xf32>) {
    %5 = "spmd.all_reduce"(%a) {axes = ["data"], kind = "max", shardc.reason = "one"} : (tensor<3xf32>) -> tensor<3xf32>
    %6 = "spmd.all_reduce"(%a) {axes = ["data"], kind = "sum", shardc.reason = "two"} : (tensor<3xf32>) -> tensor<3xf32>
    %7 = "spmd.all_reduce"(%a) {axes = ["data:(4)4"], kind = "sum", shardc.reason = "near"} : (tensor<3xf32>) -> tensor<3xf32>
    %8 = "spmd.all_reduce"(%a) {axes = ["data"], kind = "min"} : (tensor<3xf32>) -> tensor<3xf32>
    sdy.return %5, %6, %7, %8 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  } : (tensor<48xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<12xf32>, tensor<3xf32>)
  return %1, %2, %3, %4 : tensor<3xf32>, tensor<3xf32>, tensor<12xf32>, tensor<3xf32>
}

// -----

// Across first, while blocks are small: those of a node's devices are then in the wrong order.
// CHECK-LABEL: @gather
// CHECK: [[SIDE:%.*]] = "spmd.all_gather"(%a) {axes = ["data:(1)2"], dim = 0 : i64, invariant = true,
// CHECK: [[ALL:%.*]] = "spmd.all_gather"([[SIDE]]) {axes = ["data:(2)8"], dim = 0 : i64, invariant = true,
// CHECK: [[PARTS:%.*]] = stablehlo.reshape [[ALL]] {{.*}} -> tensor<8x2x3x5xf32>
// CHECK: [[TURNED:%.*]] = stablehlo.transpose [[PARTS]], dims = [1, 0, 2, 3]
// CHECK: stablehlo.reshape [[TURNED]] {{.*}} -> tensor<48x5xf32>
sdy.mesh @pod = <["data"=16]>
func.func @gather(%0: tensor<48x5xf32>) -> tensor<48x5xf32> {
  %1 = sdy.manual_computation(%0) in_shardings=[<@pod, [{"data"}, {}]>] out_shardings=[<@pod, [{}, {}]>] manual_axes={"data"} (%a: tensor<3x5xf32>) {
    %2 = "spmd.all_gather"(%a) {axes = ["data"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<3x5xf32>) -> tensor<48x5xf32>
    sdy.return %2 : tensor<48x5xf32>
  } : (tensor<48x5xf32>) -> tensor<48x5xf32>
  return %1 : tensor<48x5xf32>
}

// -----

// A large gather is quicker at once: its ring goes through all links of both nodes side by side.
// CHECK-LABEL: @large
// CHECK: "spmd.all_gather"(%a) {axes = ["data"], {{.*}} -> tensor<268435456xf32>
sdy.mesh @pod = <["data"=16]>
func.func @large(%0: tensor<268435456xf32>) -> tensor<268435456xf32> {
  %1 = sdy.manual_computation(%0) in_shardings=[<@pod, [{"data"}]>] out_shardings=[<@pod, [{}]>] manual_axes={"data"} (%a: tensor<16777216xf32>) {
    %2 = "spmd.all_gather"(%a) {axes = ["data"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<16777216xf32>) -> tensor<268435456xf32>
    sdy.return %2 : tensor<268435456xf32>
  } : (tensor<268435456xf32>) -> tensor<268435456xf32>
  return %1 : tensor<268435456xf32>
}

// -----

// A scatter: inside first, of parts in the order in which they then go across.
// CHECK-LABEL: @scatter
// CHECK: [[PARTS:%.*]] = stablehlo.reshape %a {{.*}} -> tensor<2x8x2xf32>
// CHECK: [[TURNED:%.*]] = stablehlo.transpose [[PARTS]], dims = [1, 0, 2]
// CHECK: [[ROWS:%.*]] = stablehlo.reshape [[TURNED]] {{.*}} -> tensor<32xf32>
// CHECK: [[OWN:%.*]] = "spmd.reduce_scatter"([[ROWS]]) {axes = ["data:(2)8"], dim = 0
// CHECK: "spmd.reduce_scatter"([[OWN]]) {axes = ["data:(1)2"], dim = 0
sdy.mesh @pod = <["data"=16]>
func.func @scatter(%0: tensor<512xf32>) -> tensor<32xf32> {
  %1 = sdy.manual_computation(%0) in_shardings=[<@pod, [{"data"}]>] out_shardings=[<@pod, [{"data"}]>] manual_axes={"data"} (%a: tensor<32xf32>) {
    %2 = "spmd.reduce_scatter"(%a) {axes = ["data"], dim = 0 : i64, kind = "sum", shardc.reason = "needed split"} : (tensor<32xf32>) -> tensor<2xf32>
    sdy.return %2 : tensor<2xf32>
  } : (tensor<512xf32>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

// Sums that are sent in one go stay so, where that takes less than each alone.
// CHECK-LABEL: @together
// CHECK: [[A:%.*]] = "spmd.all_reduce"(%a) {axes = ["x:(4)4"], kind = "sum", shardc.reason = "one; in stages, {{.*}} us together"}
// CHECK: [[B:%.*]] = "spmd.all_reduce"(%b) {axes = ["x:(4)4"], kind = "sum", shardc.reason = "two; in stages, {{.*}}", shardc.together = "with the one before"}
// CHECK: "spmd.all_reduce"([[A]]) {axes = ["x:(1)4"], kind = "sum"
// CHECK: "spmd.all_reduce"([[B]]) {axes = ["x:(1)4"], {{.*}}shardc.together = "with the one before"}
// CHECK-NOT: spmd
sdy.mesh @pod = <["x"=16, "y"=2]>
func.func @together(%0: tensor<16x1024xf32>, %1: tensor<16x2xf32>) -> (tensor<1x1024xf32>, tensor<1x2xf32>) {
  %2, %3 = sdy.manual_computation(%0, %1) in_shardings=[<@pod, [{"x"}, {}]>, <@pod, [{"x"}, {"y"}]>] out_shardings=[<@pod, [{}, {}]>, <@pod, [{}, {"y"}]>] manual_axes={"x", "y"} (%a: tensor<1x1024xf32>, %b: tensor<1x1xf32>) {
    %4 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "sum", shardc.reason = "one"} : (tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %5 = "spmd.all_reduce"(%b) {axes = ["x"], kind = "sum", shardc.reason = "two", shardc.together = "with the one before"} : (tensor<1x1xf32>) -> tensor<1x1xf32>
    sdy.return %4, %5 : tensor<1x1024xf32>, tensor<1x1xf32>
  } : (tensor<16x1024xf32>, tensor<16x2xf32>) -> (tensor<1x1024xf32>, tensor<1x2xf32>)
  return %2, %3 : tensor<1x1024xf32>, tensor<1x2xf32>
}

// -----

// Over two axes of one ring: one after the other takes fewer steps.
// CHECK-LABEL: @two_axes
// CHECK-COUNT-2: "spmd.all_reduce"
// CHECK-NOT: spmd
sdy.mesh @node = <["x"=2, "y"=4]>
func.func @two_axes(%0: tensor<8x3xf32>) -> tensor<1x3xf32> {
  %1 = sdy.manual_computation(%0) in_shardings=[<@node, [{"x", "y"}, {}]>] out_shardings=[<@node, [{}, {}]>] manual_axes={"x", "y"} (%a: tensor<1x3xf32>) {
    %2 = "spmd.all_reduce"(%a) {axes = ["x", "y"], kind = "sum", shardc.reason = "one"} : (tensor<1x3xf32>) -> tensor<1x3xf32>
    sdy.return %2 : tensor<1x3xf32>
  } : (tensor<8x3xf32>) -> tensor<1x3xf32>
  return %1 : tensor<1x3xf32>
}
