// lax.ragged_all_to_all is a call whose options are the groups of devices.
// RUN: shardc-opt -p name-axes --no-locations %s | filecheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-LABEL: func.func public @main
func.func public @main(%a: tensor<16xf32>, %n: tensor<8xi32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%a, %n) in_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>]
      out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%b: tensor<4xf32>, %m: tensor<2xi32>) {
    // CHECK:      [[X:%.+]] = "spmd.ragged_all_to_all"([[B:%.+]], [[B]], [[M:%.+]], [[M]], [[M]], [[M]])
    // CHECK-SAME: axes = ["x"]
    %1 = stablehlo.custom_call @ragged_all_to_all(%b, %b, %m, %m, %m, %m) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}} : (tensor<4xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xf32>
    // CHECK:      "spmd.ragged_all_to_all"([[X]], [[B]],
    // CHECK-SAME: axes = ["y"]
    %2 = stablehlo.custom_call @ragged_all_to_all(%1, %b, %m, %m, %m, %m) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}} : (tensor<4xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xf32>
    sdy.return %2 : tensor<4xf32>
  } : (tensor<16xf32>, tensor<8xi32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
