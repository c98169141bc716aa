// RUN: shardc-opt %s -sdy-basic-propagate -split-input-file -verify-diagnostics 2>&1 | filecheck %s
// The layers answer to Shardy's names, and print as MLIR prints: values have numbers, whatever they were called.

sdy.mesh @mesh = <["a"=2, "b"=2]>

// CHECK-LABEL: func @matmul(
// CHECK-SAME:      %arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}, {?}]>},
// CHECK-SAME:      %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"b", ?}]>})
func.func @matmul(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}, {?}]>},
                  %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"b", ?}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {"b", ?}]>]>}
  // CHECK-NEXT: return %0
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %h : tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["a"=2]>

func.func @no_such_axis(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has no axis z}}
  %0 = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
