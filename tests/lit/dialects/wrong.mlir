// RUN: not shardc-opt %s 2>&1 | filecheck %s

func.func @main(%x: tensor<8x4xf32>, %y: tensor<4xf32>) {
  // CHECK: wrong.mlir:5:3: error: add
  %0 = stablehlo.add %x, %y : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return
}
