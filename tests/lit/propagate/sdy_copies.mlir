// RUN: shardc-opt %s -sdy-import-func-calls -verify-diagnostics
// RUN: shardc-opt %s -sdy-add-func-data-flow-edges | filecheck %s
// Where calls become bodies, a function with several calls is copied, which is said once, at the second call.
// Edges behind the results of a call come in their order.
func.func private @two(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.tanh %a : tensor<8xf32>
  return %0, %a : tensor<8xf32>, tensor<8xf32>
}

func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[ONE:.*]]:2 = call @two(%arg0)
  // CHECK-NEXT: %[[A:.*]] = sdy.func_data_flow_edge %[[ONE]]#0
  // CHECK-NEXT: %[[B:.*]] = sdy.func_data_flow_edge %[[ONE]]#1
  // CHECK-NEXT: call @two(%[[B]])
  %0:2 = call @two(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // expected-warning@below {{function @two has multiple call ops, we need to clone the function body for each call}}
  %1:2 = call @two(%0#1) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %2:2 = call @two(%1#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: return %[[A]]
  return %0#0 : tensor<8xf32>
}
