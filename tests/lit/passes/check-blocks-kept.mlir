// RUN: shardc-opt %s -p check --no-locations | filecheck %s

// What decides is the same on all devices, and leaves and enters as blocks, as JAX's derivatives keep it.
// CHECK-LABEL: @main
// CHECK: stablehlo.case
sdy.mesh @row = <["j"=2]>
func.func @main(%a: tensor<8xf32>, %t: tensor<i32>) -> tensor<8xf32> {
  %kept = sdy.manual_computation(%t) in_shardings=[<@row, []>] out_shardings=[<@row, [{"j"}]>] manual_axes={"j"} (%i: tensor<i32>) {
    %1 = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    sdy.return %1 : tensor<1xi32>
  } : (tensor<i32>) -> tensor<2xi32>
  %0 = sdy.manual_computation(%a, %kept) in_shardings=[<@row, [{"j"}]>, <@row, [{"j"}]>] out_shardings=[<@row, [{"j"}]>] manual_axes={"j"} (%x: tensor<4xf32>, %k: tensor<1xi32>) {
    %i = stablehlo.reshape %k : (tensor<1xi32>) -> tensor<i32>
    %1 = "stablehlo.case"(%i) ({
      %2 = "spmd.all_reduce"(%x) {axes = ["j"], kind = "sum"} : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>, tensor<2xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
