// RUN: shardc-opt %s -p overlap --no-locations --split-input-file | filecheck %s

// A free dimension: each block's product has a place in the result.
// CHECK-LABEL: @free
// CHECK-NOT: spmd.all_gather
// CHECK: [[B:%.*]] = "spmd.collective_permute"(%a) {{.*}}pairs = dense<{{\[\[}}0, 1], [1, 0]]>{{.*}}in place of an all-gather
// CHECK: [[P:%.*]] = "spmd.axis_index"() {axes = ["x"]}
// CHECK: [[OWN:%.*]] = stablehlo.dot_general %a, %b
// CHECK: [[START:%.*]] = stablehlo.multiply [[P]],
// CHECK: [[ONE:%.*]] = stablehlo.dynamic_update_slice {{.*}}, [[OWN]], {{.*}}
// CHECK: [[OTHER:%.*]] = stablehlo.dot_general [[B]], %b
// CHECK: [[ALL:%.*]] = stablehlo.dynamic_update_slice [[ONE]], [[OTHER]], {{.*}}
// CHECK: sdy.return [[ALL]]
sdy.mesh @ring = <["x"=2]>
func.func @free(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %0 = sdy.manual_computation(%x, %w) in_shardings=[<@ring, [{"x"}, {}]>, <@ring, [{}, {"x"}]>] out_shardings=[<@ring, [{}, {"x"}]>] manual_axes={"x"} (%a: tensor<2x8xf32>, %b: tensor<8x3xf32>) {
    %1 = "spmd.all_gather"(%a) {axes = ["x"], dim = 0 : i64, invariant = true} : (tensor<2x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    sdy.return %2 : tensor<4x3xf32>
  } : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// A contracted dimension: products with the rows that go with each block are added up. Three devices, a part
// of an axis: one block comes from either side.
// CHECK-LABEL: @contracted
// CHECK: [[BEHIND:%.*]] = "spmd.collective_permute"(%a) {{.*}}axes = ["x:(2)3"]{{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 0]]>
// CHECK: [[AHEAD:%.*]] = "spmd.collective_permute"(%a) {{.*}}dense<{{\[\[}}0, 2], [1, 0], [2, 1]]>
// CHECK: [[OWN:%.*]] = stablehlo.dynamic_slice %b, {{.*}} sizes = [2, 3]
// CHECK: [[ONE:%.*]] = stablehlo.dot_general %a, [[OWN]]
// CHECK: stablehlo.dot_general [[BEHIND]],
// CHECK: stablehlo.add [[ONE]],
// CHECK: stablehlo.dot_general [[AHEAD]],
// CHECK: stablehlo.add
sdy.mesh @ring = <["x"=6]>
func.func @contracted(%x: tensor<8x6xf32>, %w: tensor<6x9xf32>) -> tensor<8x9xf32> {
  %0 = sdy.manual_computation(%x, %w) in_shardings=[<@ring, [{}, {"x":(2)3}]>, <@ring, [{}, {"x":(2)3}]>] out_shardings=[<@ring, [{}, {"x":(2)3}]>] manual_axes={"x"} (%a: tensor<8x2xf32>, %b: tensor<6x3xf32>) {
    %1 = "spmd.all_gather"(%a) {axes = ["x:(2)3"], dim = 1 : i64, invariant = true} : (tensor<8x2xf32>) -> tensor<8x6xf32>
    %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
    sdy.return %2 : tensor<8x3xf32>
  } : (tensor<8x6xf32>, tensor<6x9xf32>) -> tensor<8x9xf32>
  return %0 : tensor<8x9xf32>
}

// -----

// A batch dimension of the right operand: both slice the left and have a place. A transpose is done once.
// CHECK-LABEL: @batch
// CHECK: [[T:%.*]] = stablehlo.transpose %b, dims = [1, 0, 2] : (tensor<5x1x3xf32>)
// CHECK: [[B:%.*]] = "spmd.collective_permute"([[T]])
// CHECK: stablehlo.dynamic_slice %a, {{.*}} sizes = [1, 4, 5]
// CHECK: stablehlo.dot_general {{.*}}, [[T]], {{.*}} -> tensor<1x4x3xf32>
// CHECK: stablehlo.dynamic_update_slice {{.*}} (tensor<2x4x3xf32>, tensor<1x4x3xf32>,
// CHECK: stablehlo.dot_general {{.*}}, [[B]],
sdy.mesh @ring = <["x"=2]>
func.func @batch(%x: tensor<2x8x5xf32>, %w: tensor<5x2x3xf32>) -> tensor<2x8x3xf32> {
  %0 = sdy.manual_computation(%x, %w) in_shardings=[<@ring, [{}, {"x"}, {}]>, <@ring, [{}, {"x"}, {}]>] out_shardings=[<@ring, [{}, {"x"}, {}]>] manual_axes={"x"} (%a: tensor<2x4x5xf32>, %b: tensor<5x1x3xf32>) {
    %1 = "spmd.all_gather"(%b) {axes = ["x"], dim = 1 : i64, invariant = true} : (tensor<5x1x3xf32>) -> tensor<5x2x3xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0, 2] : (tensor<5x2x3xf32>) -> tensor<2x5x3xf32>
    %3 = stablehlo.dot_general %a, %2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x5xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
    sdy.return %3 : tensor<2x4x3xf32>
  } : (tensor<2x8x5xf32>, tensor<5x2x3xf32>) -> tensor<2x8x3xf32>
  return %0 : tensor<2x8x3xf32>
}

// -----

// A sum that is scattered: eight devices, so a loop of three turns in which two sums go on, and one more step.
// CHECK-LABEL: @scattered
// CHECK-NOT: reduce_scatter
// CHECK: [[AHEAD:%.*]] = stablehlo.dot_general {{.*}} -> tensor<1x6xf32>
// CHECK: [[BEHIND:%.*]] = stablehlo.dot_general {{.*}} -> tensor<1x6xf32>
// CHECK: %{{.*}}, [[TB:%.*]], [[TA:%.*]] = stablehlo.while({{.*}}, [[B:%.*]] = [[BEHIND]], [[A:%.*]] = [[AHEAD]])
// CHECK-DAG: "spmd.collective_permute"([[B]]){{.*}}[0, 1], [1, 2]
// CHECK-DAG: "spmd.collective_permute"([[A]]){{.*}}[0, 7], [1, 0]
// CHECK-COUNT-2: stablehlo.dynamic_slice %a, {{.*}} sizes = [1, 2]
// CHECK: [[LAST:%.*]] = "spmd.collective_permute"([[TA]]){{.*}}in place of a reduce-scatter
// CHECK: [[ALL:%.*]] = stablehlo.add [[TB]], [[LAST]]
// CHECK: sdy.return [[ALL]]
sdy.mesh @ring = <["x"=8]>
func.func @scattered(%x: tensor<8x16xf32>, %w: tensor<16x6xf32>) -> tensor<8x6xf32> {
  %0 = sdy.manual_computation(%x, %w) in_shardings=[<@ring, [{}, {"x"}]>, <@ring, [{"x"}, {}]>] out_shardings=[<@ring, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<8x2xf32>, %b: tensor<2x6xf32>) {
    %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {shardc.partial_over = ["x"]} : (tensor<8x2xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
    %2 = "spmd.reduce_scatter"(%1) {axes = ["x"], dim = 0 : i64, kind = "sum"} : (tensor<8x6xf32>) -> tensor<1x6xf32>
    sdy.return %2 : tensor<1x6xf32>
  } : (tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// What is partial over another axis stays so.
// CHECK-LABEL: @still_partial
// CHECK: stablehlo.dot_general {{.*}}shardc.partial_over = ["y"]
// CHECK: stablehlo.dot_general {{.*}}shardc.partial_over = ["y"]
// CHECK: "spmd.all_reduce"
sdy.mesh @ring = <["x"=2, "y"=2]>
func.func @still_partial(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %0 = sdy.manual_computation(%x, %w) in_shardings=[<@ring, [{"x"}, {"y"}]>, <@ring, [{"y"}, {"x"}]>] out_shardings=[<@ring, [{}, {"x"}]>] manual_axes={"x", "y"} (%a: tensor<2x4xf32>, %b: tensor<4x3xf32>) {
    %1 = "spmd.all_gather"(%a) {axes = ["x"], dim = 0 : i64, invariant = true} : (tensor<2x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] {shardc.partial_over = ["y"]} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %3 = "spmd.all_reduce"(%2) {axes = ["y"], kind = "sum"} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    sdy.return %3 : tensor<4x3xf32>
  } : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// What stays says why.
// CHECK-LABEL: @left_alone
// CHECK: spmd.all_gather{{.*}}shardc.reason = "not overlapped: reduce_scatter in line {{[0-9]+}} uses it, which is no matrix product"
// CHECK: spmd.reduce_scatter{{.*}}shardc.reason = "a sum; not overlapped: add in line {{[0-9]+}} is no matrix product, or its result has other uses"
sdy.mesh @ring = <["x"=2]>
func.func @left_alone(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"x"}, {}]>] out_shardings=[<@ring, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<2x8xf32>) {
    %1 = "spmd.all_gather"(%a) {axes = ["x"], dim = 0 : i64, invariant = false} : (tensor<2x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.add %1, %1 : tensor<4x8xf32>
    %3 = "spmd.reduce_scatter"(%2) {axes = ["x"], dim = 0 : i64, kind = "sum", shardc.reason = "a sum"} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    sdy.return %3 : tensor<2x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
