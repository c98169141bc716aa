// RUN: shardc-opt %s -p reduce-in-shape --no-locations --split-input-file | filecheck %s

// What is split along a later dimension is not flattened.
// CHECK-LABEL: @main
// CHECK-NOT: stablehlo.reshape
// CHECK: stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 1]
sdy.mesh @m = <["x"=4]>
func.func @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %x : (tensor<6x8xf32>) -> tensor<48xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<48xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Along the first it may be: the blocks are runs of the flat tensor.
// CHECK-LABEL: @main
// CHECK: stablehlo.reshape
// CHECK-NEXT: stablehlo.reduce
sdy.mesh @m = <["x"=2]>
func.func @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %x : (tensor<6x8xf32>) -> tensor<48xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<48xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Not where the order of the elements matters.
// CHECK-LABEL: @main
// CHECK: stablehlo.reshape
sdy.mesh @m = <["x"=4]>
func.func @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %x : (tensor<6x8xf32>) -> tensor<48xf32>
  %1 = stablehlo.reduce(%0 init: %c) across dimensions = [0] : (tensor<48xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %2 = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
  return %1 : tensor<f32>
}
