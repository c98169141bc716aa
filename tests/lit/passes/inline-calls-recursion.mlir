// RUN: not shardc-opt %s -p inline-calls 2>&1 | filecheck %s

// CHECK: inline-calls-recursion.mlir:11:3: error: @f calls itself
// CHECK-NEXT: func.call @f
// CHECK: note: a compiled program has no recursion
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
