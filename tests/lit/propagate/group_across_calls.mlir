// RUN: shardc-opt %s -sdy-sharding-group-import -split-input-file -verify-diagnostics | filecheck %s
// RUN: shardc-opt %s -p propagate --no-locations -split-input-file -verify-diagnostics | filecheck %s
// What a function holds is in the manual computations that its calls are in, also those of its callers.
// CHECK: module

// CHECK-LABEL: func.func @same
sdy.mesh @m = <["x"=2]>
func.func @same(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{?}]>] out_shardings=[<@m, [{?}]>] manual_axes={} (%b: tensor<8xf32>) {
    sdy.sharding_group %b group_id=0 : tensor<8xf32>
    %1 = func.call @outer(%b) : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @outer(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @inner(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @inner(%a: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @one_value_in_two
sdy.mesh @m = <["x"=2]>
func.func @one_value_in_two(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{?}]>] out_shardings=[<@m, [{?}]>] manual_axes={} (%b: tensor<8xf32>) {
    %2 = func.call @inner(%b) : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @inner(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @inner(%a: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

sdy.mesh @m = <["x"=2]>
func.func @outside(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{?}]>] out_shardings=[<@m, [{?}]>] manual_axes={} (%b: tensor<8xf32>) {
    %1 = func.call @outer(%b) : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @outer(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @inner(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @inner(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{ShardingGroupOps values cannot cross ManualComputationOp boundaries for groupId: 0}}
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  return %a : tensor<8xf32>
}
