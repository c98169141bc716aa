// Numbers are compared as what they are: XLA refuses these too. Passes let them through.
// RUN: not shardc --emit sharded %s 2>&1 | filecheck %s
// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s --check-prefix=KEPT

// CHECK:      comparisons-of-other-types.mlir:13:3: error: a comparison of u8 cannot be SIGNED: it is UNSIGNED
// CHECK-NEXT:       %0 = stablehlo.compare
// CHECK-NEXT:       ^
// CHECK-NEXT: note: say so, or nothing: it follows from the type; this cannot be compiled either: compare (2)
// KEPT: SIGNED
sdy.mesh @m = <["a"=2]>
func.func @main(%x: tensor<8xui8>, %y: tensor<8xf32>, %z: tensor<8xcomplex<f32>>, %w: tensor<8xf32>)
    -> (tensor<8xi1>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>) {
  %0 = stablehlo.compare LT, %x, %x, SIGNED : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xi1>
  %1 = stablehlo.compare LT, %y, %y, UNSIGNED : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %2 = stablehlo.compare EQ, %z, %z, TOTALORDER : (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) -> tensor<8xi1>
  %3 = stablehlo.compare LT, %w, %w, TOTALORDER : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  return %0, %1, %2, %3 : tensor<8xi1>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>
}
