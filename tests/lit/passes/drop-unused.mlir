// RUN: shardc-opt %s -p drop-unused --no-locations | filecheck %s

// What only the unused uses goes with it; what has effects stays.
// CHECK-LABEL: @main
// CHECK-NEXT: stablehlo.custom_call @tell
// CHECK-NEXT: return %x
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.slice %x [1:63] : (tensor<64xf32>) -> tensor<62xf32>
  %1 = stablehlo.tanh %0 : tensor<62xf32>
  %2 = stablehlo.custom_call @tell(%x) {has_side_effect = true} : (tensor<64xf32>) -> tensor<64xf32>
  return %x : tensor<64xf32>
}
