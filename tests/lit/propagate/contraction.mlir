// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A split of the contracted dimension reaches the other operand, and not the result.
sdy.mesh @m = <["x"=2]>

// CHECK: %w: {{.*}}[{"x", ?}, {?}]
// CHECK-SAME: -> tensor<8x6xf32>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x"}]>},
                %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
