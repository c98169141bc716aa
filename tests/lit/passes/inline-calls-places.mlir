// RUN: shardc-opt %s -p inline-calls | filecheck %s

// What JAX's own functions do has no place in the user's file: it is where they are called. What has one stays.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: stablehlo.tanh {{.*}} loc("train.py":7:4)
// CHECK-NEXT: stablehlo.exponential {{.*}} loc("train.py":7:4)
// CHECK-NEXT: stablehlo.negate {{.*}} loc("model.py":3:8)
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @_softmax(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("train.py":7:4)
  return %0 : tensor<8xf32>
}
func.func private @_softmax(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @inner(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("jit")
  %1 = stablehlo.exponential %0 : tensor<8xf32> loc("exp")
  %2 = stablehlo.negate %1 : tensor<8xf32> loc("model.py":3:8)
  return %2 : tensor<8xf32>
}
func.func private @inner(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %x : tensor<8xf32> loc("tanh")
  return %0 : tensor<8xf32>
}
