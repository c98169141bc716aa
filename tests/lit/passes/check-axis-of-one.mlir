// RUN: shardc-opt %s -p check --no-locations | filecheck %s

// Nothing is partial over an axis of one device, whatever kind it would be of.
// CHECK-LABEL: @main
// CHECK: stablehlo.dynamic_update_slice
// CHECK-SAME: shardc.partial_kind = "max"
sdy.mesh @row = <["data"=1, "model"=2]>
func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@row, [{"data"}, {"model"}]>] out_shardings=[<@row, [{}, {"model"}]>] manual_axes={"data", "model"} (%x: tensor<4x4xf32>) {
    %least = stablehlo.constant dense<0xFF800000> : tensor<4x4xf32>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %least, %x, %i, %i {shardc.partial_over = ["data"], shardc.partial_kind = "max"} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
    sdy.return %1 : tensor<4x4xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
