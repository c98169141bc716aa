// RUN: shardc-opt %s -sdy-populate-op-sharding-rules | filecheck %s
// What every operation lets through, as text.

func.func @main(%arg0: tensor<8x16xf32>, %arg1: tensor<16x8xf32>) -> tensor<64xf32> {
  // CHECK: stablehlo.dot_general {{.*}} {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=8, k=16} reduction={k}>}
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  // CHECK: stablehlo.reshape {{.*}} {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=8, j=8}>}
  %1 = stablehlo.reshape %0 : (tensor<8x8xf32>) -> tensor<64xf32>
  // CHECK: stablehlo.reverse {{.*}} {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=64} permutation={i}>}
  %2 = stablehlo.reverse %1, dims = [0] : tensor<64xf32>
  return %2 : tensor<64xf32>
}
