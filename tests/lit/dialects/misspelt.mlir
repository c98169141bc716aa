// RUN: not shardc-opt %s 2>&1 | filecheck %s

// CHECK: misspelt.mlir:8:8: error: there is no operation stablehlo.tan_h
// CHECK-NEXT:   %0 = stablehlo.tan_h %x : tensor<8x4xf32>
// CHECK-NEXT:        ^
// CHECK-NEXT: note: did you mean stablehlo.tanh?
func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.tan_h %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
