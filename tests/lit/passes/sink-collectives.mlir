// RUN: shardc-opt %s -p sink-collectives --no-locations | filecheck %s

// What one branch alone needs is sent in it, with what that is sent of, and in the innermost of several; what the
// condition or both branches need, and what the program itself sends, stays before. In a loop it is sent once.
// CHECK-LABEL: @main
// CHECK:      [[BOTH:%.*]] = "spmd.all_gather"(%b
// CHECK-NEXT: [[OWN:%.*]] = "spmd.all_gather"(%b
// CHECK-NEXT: [[SUM:%.*]] = "spmd.all_reduce"(%s
// CHECK-NEXT: [[P:%.*]] = stablehlo.compare LT, [[SUM]]
// CHECK-NEXT: "stablehlo.if"([[P]]) ({
// CHECK-NEXT:   [[PARTS:%.*]] = "spmd.reduce_scatter"(%a
// CHECK-NEXT:   [[WHOLE:%.*]] = "spmd.all_gather"([[PARTS]]
// CHECK-NEXT:   stablehlo.while
// CHECK:        stablehlo.add {{%.*}}, [[WHOLE]]
// CHECK:      }, {
// CHECK-NEXT:   "stablehlo.if"([[P]]) ({
// CHECK-NEXT:     [[INNER:%.*]] = "spmd.all_gather"(%b
// CHECK-NEXT:     stablehlo.multiply [[INNER]], [[BOTH]]
// CHECK:        }, {
// CHECK-NEXT:     stablehlo.multiply [[OWN]], [[BOTH]]
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<32xf32>, %y: tensor<8xf32>, %z: tensor<f32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, []>] out_shardings=[<@ring, [{}]>] manual_axes={"r"} (%a: tensor<8xf32>, %b: tensor<2xf32>, %s: tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %parts = "spmd.reduce_scatter"(%a) {axes = ["r"], dim = 0 : i64, kind = "sum", shardc.reason = "partial"} : (tensor<8xf32>) -> tensor<2xf32>
    %whole = "spmd.all_gather"(%parts) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<2xf32>) -> tensor<8xf32>
    %inner = "spmd.all_gather"(%b) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<2xf32>) -> tensor<8xf32>
    %both = "spmd.all_gather"(%b) {axes = ["r"], dim = 0 : i64, invariant = true, shardc.reason = "needed whole"} : (tensor<2xf32>) -> tensor<8xf32>
    %own = "spmd.all_gather"(%b) {axes = ["r"], dim = 0 : i64, invariant = true} : (tensor<2xf32>) -> tensor<8xf32>
    %sum = "spmd.all_reduce"(%s) {axes = ["r"], kind = "sum", shardc.reason = "needed whole"} : (tensor<f32>) -> tensor<f32>
    %p = stablehlo.compare LT, %sum, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = "stablehlo.if"(%p) ({
      %2:2 = stablehlo.while(%t = %zero, %h = %both) : tensor<f32>, tensor<8xf32> cond {
        %3 = stablehlo.compare LT, %t, %sum, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        %4 = stablehlo.add %h, %whole : tensor<8xf32>
        %5 = stablehlo.add %t, %sum : tensor<f32>
        stablehlo.return %5, %4 : tensor<f32>, tensor<8xf32>
      }
      stablehlo.return %2#1 : tensor<8xf32>
    }, {
      %2 = "stablehlo.if"(%p) ({
        %3 = stablehlo.multiply %inner, %both : tensor<8xf32>
        stablehlo.return %3 : tensor<8xf32>
      }, {
        %3 = stablehlo.multiply %own, %both : tensor<8xf32>
        stablehlo.return %3 : tensor<8xf32>
      }) : (tensor<i1>) -> tensor<8xf32>
      stablehlo.return %2 : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<32xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
