// Per-device code has no tokens: there is nothing whose effects they could order.
// RUN: not shardc-opt %s -p require-runnable 2>&1 | filecheck %s

// CHECK:      error: a value is of type !stablehlo.token, of which per-device code has none
// CHECK-NEXT:   func.func @main
func.func @main(%x: tensor<8xf32>, %t: !stablehlo.token) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
