// RUN: shardc-opt %s -p unmerge-dimensions --no-locations --split-input-file | filecheck %s

// The rows never come together; the bias gets the same shape.
// CHECK-LABEL: @rows
// CHECK-NOT: stablehlo.reshape
// CHECK: [[BIAS:%.*]] = stablehlo.broadcast_in_dim %b, dims = [2] {{.*}}: (tensor<32xf32>) -> tensor<8x8x32xf32>
// CHECK-NOT: stablehlo.reshape
// CHECK: stablehlo.add {{.*}}, [[BIAS]] {{.*}}[{"x", ?}, {"y", ?}, {?}]
// CHECK-NEXT: return
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @rows(%x: tensor<8x8x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}, {}]>}, %w: tensor<64x32xf32>, %b: tensor<32xf32>) -> tensor<8x8x32xf32> {
  %0 = stablehlo.reshape %x : (tensor<8x8x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %3 = stablehlo.add %1, %2 : tensor<64x32xf32>
  %4 = stablehlo.reshape %3 : (tensor<64x32xf32>) -> tensor<8x8x32xf32>
  return %4 : tensor<8x8x32xf32>
}

// -----

// Blocks of rows are blocks of the merged rows: nothing to gain.
// CHECK-LABEL: @blocks
// CHECK: stablehlo.reshape
// CHECK: stablehlo.reshape
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @blocks(%x: tensor<8x8x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>}) -> tensor<8x8x64xf32> {
  %0 = stablehlo.reshape %x : (tensor<8x8x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.tanh %0 : tensor<64x64xf32>
  %2 = stablehlo.reshape %1 : (tensor<64x64xf32>) -> tensor<8x8x64xf32>
  return %2 : tensor<8x8x64xf32>
}
