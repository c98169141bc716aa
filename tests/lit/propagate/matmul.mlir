// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// Rows follow the left operand, columns the right one; what both share (k) splits neither result dimension.
sdy.mesh @m = <["x"=2, "y"=4]>

// CHECK: %x: {{.*}}[{"x", ?}, {?}]{{.*}}, %w: {{.*}}[{?}, {"y"}]
// CHECK-SAME: -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {"y", ?}]>})
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>},
                %w: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"y"}]>}) -> tensor<8x6xf32> {
  // CHECK: dot_general {{.*}}[{"x", ?}, {"y", ?}]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
