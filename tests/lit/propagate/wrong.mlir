// RUN: shardc-opt %s -sdy-user-priority-propagate -split-input-file -verify-diagnostics | filecheck %s
// What cannot be meant is an error, and what contradicts itself a warning, each at its line.
// CHECK: module

sdy.mesh @m = <["x"=2]>
// expected-error@+1 {{dimension 0 is empty and closed but has a priority}}
func.func @priority_of_nothing(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}p1]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

// -----

sdy.mesh @m = <["x"=2]>
func.func @rule_of_other_rank(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{is for operands of rank [1] and results of rank [1], but those of stablehlo.custom_call have rank [2] and [2]}}
  %0 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @m = <["x"=2]>
func.func @rule_of_other_size(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-warning@+1 {{dimension 1 of f32[8, 4] has factors of size 5 in the sharding rule}}
  %0 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=8, j=5, k=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @m = <["x"=2]>
func.func @sum_that_stays(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has a reduction factor in a result}}
  %0 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8} reduction={i}, custom>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["x"=2]>
sdy.mesh @n = <["x"=2], device_ids=[1, 0]>
func.func @two_meshes(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                      %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@n, [{"x"}]>}) -> tensor<8xf32> {
  // expected-warning@+1 {{stablehlo.add has tensors on the meshes m[x=2] and n[x=2]}}
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
