// RUN: shardc-opt %s -p share-collectives,check --no-locations --split-input-file | filecheck %s

// The second maximum is the first: its operand is computed alike, whatever the notes say. In a loop too.
// CHECK-LABEL: @shared
// CHECK: [[MAX:%.*]] = "spmd.all_reduce"({{.*}}kind = "max"
// CHECK-NOT: kind = "max"
// CHECK: stablehlo.subtract {{.*}}, [[MAX]]
// CHECK: stablehlo.add {{.*}}, [[MAX]]
sdy.mesh @ring = <["x"=4]>
func.func @shared(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"x"}]>] out_shardings=[<@ring, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    %1 = stablehlo.tanh %a {shardc.group = "one#0/2"} : tensor<2xf32>
    %2 = "spmd.all_reduce"(%1) {axes = ["x"], kind = "max", shardc.reason = "one"} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.subtract %a, %2 : tensor<2xf32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %4:2 = "stablehlo.while"(%zero, %3) ({
    ^bb0(%i: tensor<i32>, %h: tensor<2xf32>):
      %5 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }, {
    ^bb0(%i: tensor<i32>, %h: tensor<2xf32>):
      %6 = stablehlo.tanh %a {shardc.group = "two#1/2"} : tensor<2xf32>
      %7 = "spmd.all_reduce"(%6) {axes = ["x"], kind = "max", shardc.reason = "two"} : (tensor<2xf32>) -> tensor<2xf32>
      %8 = stablehlo.add %h, %7 : tensor<2xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %9 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %9, %8 : tensor<i32>, tensor<2xf32>
    }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
    sdy.return %4#1 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What is broadcast to the shape that it has is the same, in another order of its dimensions it is not.
// CHECK-LABEL: @broadcast
// CHECK: [[MAX:%.*]] = "spmd.all_reduce"
// CHECK: [[OTHER:%.*]] = "spmd.all_reduce"
// CHECK-NOT: spmd.all_reduce
// CHECK: stablehlo.add [[MAX]], [[MAX]]
sdy.mesh @ring = <["x"=4]>
func.func @broadcast(%x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"x"}, {}]>] out_shardings=[<@ring, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<2x2xf32>) {
    %1 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "spmd.all_reduce"(%2) {axes = ["x"], kind = "max"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = "spmd.all_reduce"(%4) {axes = ["x"], kind = "max"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = stablehlo.add %1, %5 : tensor<2x2xf32>
    %7 = stablehlo.add %6, %3 : tensor<2x2xf32>
    sdy.return %7 : tensor<2x2xf32>
  } : (tensor<8x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

// Other kinds, other axes and other operands are other results.
// CHECK-LABEL: @different
// CHECK-COUNT-4: spmd.all_reduce
sdy.mesh @ring = <["x"=2, "y"=2]>
func.func @different(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"x", "y"}]>] out_shardings=[<@ring, [{"x", "y"}]>] manual_axes={"x", "y"} (%a: tensor<2xf32>) {
    %1 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max"} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "min"} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = "spmd.all_reduce"(%a) {axes = ["y"], kind = "max"} : (tensor<2xf32>) -> tensor<2xf32>
    %4 = "spmd.all_reduce"(%1) {axes = ["x"], kind = "max"} : (tensor<2xf32>) -> tensor<2xf32>
    %5 = stablehlo.add %2, %3 : tensor<2xf32>
    %6 = stablehlo.add %4, %5 : tensor<2xf32>
    sdy.return %6 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Masked permutes of one value that no device sends or receives twice in are one; the third would send %a from 0 again.
// CHECK-LABEL: @masked
// CHECK: [[GOT:%.*]] = "spmd.collective_permute"({{.*}}pairs = dense<{{\[\[}}0, 1], [1, 0]]>{{.*}}shardc.reason = "one; two"
// CHECK: [[OTHER:%.*]] = "spmd.collective_permute"({{.*}}pairs = dense<{{\[\[}}0, 2]]>
// CHECK: stablehlo.add [[GOT]], [[GOT]]
// CHECK: stablehlo.add {{.*}}, [[OTHER]]
sdy.mesh @ring = <["x"=4]>
func.func @masked(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"x"}]>] out_shardings=[<@ring, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    %1 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 1]]> : tensor<1x2xi64>, shardc.masked = true, shardc.reason = "one"} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[1, 0]]> : tensor<1x2xi64>, shardc.masked = true, shardc.reason = "two"} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 2]]> : tensor<1x2xi64>, shardc.masked = true, shardc.reason = "three"} : (tensor<2xf32>) -> tensor<2xf32>
    %4 = stablehlo.add %1, %2 : tensor<2xf32>
    %5 = stablehlo.add %4, %3 : tensor<2xf32>
    sdy.return %5 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Zeros that somebody may look at stay zeros.
// CHECK-LABEL: @not_masked
// CHECK-COUNT-2: spmd.collective_permute
sdy.mesh @ring = <["x"=4]>
func.func @not_masked(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"x"}]>] out_shardings=[<@ring, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    %1 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 1]]> : tensor<1x2xi64>, shardc.masked = true, shardc.reason = "one"} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[1, 0]]> : tensor<1x2xi64>, shardc.reason = "two"} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.add %1, %2 : tensor<2xf32>
    sdy.return %3 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The greatest elements are those that are found with their places; the least ones are others, and so are those along another dimension.
// CHECK-LABEL: @extremes
// CHECK: [[PLAIN:%.*]] = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
// CHECK-NOT: partial_over
// CHECK: [[PARTIAL:%.*]] = "spmd.as_partial"([[PLAIN]])
// CHECK: [[MAX:%.*]] = "spmd.all_reduce"([[PARTIAL]]) {axes = ["x"], kind = "max"}
// CHECK: stablehlo.compare EQ, [[PLAIN]], [[MAX]]
// CHECK-NOT: "spmd.all_reduce"({{.*}}kind = "max"
// CHECK: [[MIN:%.*]] = "spmd.all_reduce"({{.*}}kind = "min"
// CHECK: [[OTHER:%.*]] = "spmd.all_reduce"({{.*}}kind = "max"
// CHECK: sdy.return [[MAX]], {{%.*}}, [[MIN]], [[OTHER]]
sdy.mesh @ring = <["x"=4]>
func.func @extremes(%a: tensor<8x32xf32>) -> (tensor<8xf32>, tensor<32xi1>, tensor<8xf32>, tensor<8xf32>) {
  %0:4 = sdy.manual_computation(%a) in_shardings=[<@ring, [{}, {"x"}]>] out_shardings=[<@ring, [{}]>, <@ring, [{"x"}]>, <@ring, [{}]>, <@ring, [{}]>] manual_axes={"x"} (%x: tensor<8x8xf32>) {
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %highest = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %places = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %1:2 = stablehlo.reduce(%x init: %lowest), (%places init: %none) across dimensions = [1] : (tensor<8x8xf32>, tensor<8x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
     reducer(%u: tensor<f32>, %v: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %2 = stablehlo.compare GT, %u, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %u, %u, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %u, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %u, %v : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    %11 = "spmd.as_partial"(%1#0) {axes = ["x"], kind = "max"} : (tensor<8xf32>) -> tensor<8xf32>
    %12 = "spmd.all_reduce"(%11) {axes = ["x"], kind = "max"} : (tensor<8xf32>) -> tensor<8xf32>
    %13 = stablehlo.compare EQ, %1#0, %12, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %14 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] {shardc.partial_over = ["x"]} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %15 = "spmd.all_reduce"(%14) {axes = ["x"], kind = "max"} : (tensor<8xf32>) -> tensor<8xf32>
    %16 = stablehlo.reduce(%x init: %highest) applies stablehlo.minimum across dimensions = [1] {shardc.partial_over = ["x"]} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %17 = "spmd.all_reduce"(%16) {axes = ["x"], kind = "min"} : (tensor<8xf32>) -> tensor<8xf32>
    %18 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [0] {shardc.partial_over = ["x"]} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %19 = "spmd.all_reduce"(%18) {axes = ["x"], kind = "max"} : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %15, %13, %17, %19 : tensor<8xf32>, tensor<8xi1>, tensor<8xf32>, tensor<8xf32>
  } : (tensor<8x32xf32>) -> (tensor<8xf32>, tensor<32xi1>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<8xf32>, tensor<32xi1>, tensor<8xf32>, tensor<8xf32>
}
