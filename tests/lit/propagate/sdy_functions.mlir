// RUN: shardc-opt %s -sdy-flatten-call-graph | filecheck %s --check-prefix=FLAT
// RUN: shardc-opt %s -sdy-import-func-calls | filecheck %s --check-prefix=NAMED
// RUN: shardc-opt %s -sdy-add-func-data-flow-edges -sdy-basic-propagate | filecheck %s --check-prefix=EDGES
// RUN: shardc-opt %s -sdy-add-data-flow-edges=add-func-data-flow-edges=true -sdy-basic-propagate | filecheck %s --check-prefix=EDGES
// RUN: shardc-opt %s -sdy-add-func-data-flow-edges -sdy-basic-propagate -sdy-sink-func-data-flow-edges | filecheck %s --check-prefix=SUNK
// RUN: shardc-opt %s -sdy-propagation-pipeline | filecheck %s --check-prefix=SPLIT
// RUN: shardc-opt %s -sdy-propagation-pipeline=dedup-functions-fully=true | filecheck %s --check-prefix=SHARED
// Functions by Shardy's passes: copied for each call, in the place of the call, tied to their calls by edges.

sdy.mesh @m = <["x"=2, "y"=2]>

// FLAT: call @f(%arg0)
// FLAT: call @f_0(%arg1)
// FLAT: func.func private @f(
// FLAT: func.func private @f_0({{.*}} attributes {sdy.original_func_name = "f"}

// NAMED:      sdy.named_computation<"f">(%arg0)
// NAMED-NEXT:   sdy.data_flow_edge %arg
// NAMED:      sdy.data_flow_edge %0 : tensor<8x8xf32>
// NAMED-NOT:  func.func private

// EDGES:      call @f(%arg0) :
// EDGES-NEXT: sdy.func_data_flow_edge %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y", ?}, {?}]>]>}
// EDGES:      func.func private @f(%arg0: tensor<8x8xf32>)
// EDGES-NEXT: sdy.func_data_flow_edge %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y", ?}, {?}]>]>}

// SUNK:      call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y", ?}, {?}]>]>}
// SUNK-NOT:  func_data_flow_edge
// SUNK:      func.func private @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}, {?}]>})

// SPLIT: call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {}]>]>}
// SPLIT: call @f_0(%arg1) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {"x"}]>]>}

// SHARED:      sdy.reshard %arg0 <@m, [{"y"}, {"x"}]>
// SHARED-NEXT: call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {"x"}]>]>}
// SHARED-NEXT: call @f(%arg1) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {"x"}]>]>}
// SHARED-NEXT: return %1, %2
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = func.call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = func.call @f(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

func.func private @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
