// RUN: shardc-opt %s | filecheck %s
// An ApproxTopK that counts no indices of its own is left as it is, and with it the function that compares for it.
// CHECK: stablehlo.custom_call @ApproxTopK({{.*}}called_computations = [@compare]
// CHECK: func.func {{.*}}@compare(
func.func @main(%x: tensor<8x64xf32>, %ids: tensor<8x64xi32>, %low: tensor<f32>, %none: tensor<i32>)
    -> (tensor<8x4xf32>, tensor<8x4xi32>) {
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %ids, %low, %none) {
    backend_config = "{\22reduction_dim\22: 1, \22top_k\22: 4, \22recall_target\22: 0.95}",
    called_computations = [@compare]
  } : (tensor<8x64xf32>, tensor<8x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x4xi32>
}

func.func private @compare(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
