// RUN: shardc-opt %s -sdy-add-data-flow-edges='enable-native-non-flat-support=true' | filecheck %s --check-prefix=EDGES
// RUN: shardc-opt %s -sdy-add-data-flow-edges -sdy-import-func-calls | filecheck %s --check-prefix=ONCE
// RUN: shardc-opt %s -sdy-import-pipeline='enable-late-inlining=false' | filecheck %s --check-prefix=EARLY
// RUN: shardc-opt %s -sdy-add-func-data-flow-edges -sdy-apply-sharding-constraints | filecheck %s --check-prefix=RETURNS
sdy.mesh @m = <["x"=2, "y"=2]>

// EDGES:      func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// EDGES-NEXT:   sdy.func_data_flow_edge %arg0

// Where an edge stands behind the argument already there is no second one.
// ONCE-NOT: func.func private
// EARLY-NOT: func.func private

// A function that is called returns what it did, not the end of the chain.
// RETURNS:      %[[H:.*]] = stablehlo.tanh %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
// RETURNS:      sdy.sharding_constraint %{{.*}} <@m, [{"y"}]>
// RETURNS-NEXT: return %[[H]]
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = sdy.data_flow_edge %a : tensor<8xf32>
  %0 = stablehlo.tanh %e : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"x"}]> : tensor<8xf32>
  %2 = sdy.sharding_constraint %1 <@m, [{"y"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// EDGES:      call @f
// EDGES-NEXT: sdy.func_data_flow_edge
// ONCE:       sdy.named_computation<"f">(%arg0) (%arg1: tensor<8xf32>) {
// ONCE-NEXT:    %[[E:.*]] = sdy.data_flow_edge %arg1 : tensor<8xf32>
// ONCE-NEXT:    stablehlo.tanh %[[E]]
// EARLY:      sdy.sharding_group %arg0 group_id=0
// EARLY:      sdy.named_computation<"f">
// EARLY:        stablehlo.tanh %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=7 : tensor<8xf32>
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
