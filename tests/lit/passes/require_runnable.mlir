// What no device can run is found before shardings are looked for; all of it is named at once.
// RUN: not shardc --emit sharded %s 2>&1 | filecheck %s
// RUN: not shardc --target numpy %s 2>&1 | filecheck %s

// CHECK:      require_runnable.mlir:17:7: error: lax.ragged_all_to_all cannot be compiled without its replica_groups
// CHECK-NEXT:       %2 = stablehlo.custom_call @ragged_all_to_all
// CHECK-NEXT:       ^
// CHECK-NEXT: note: this cannot be compiled either: custom_call @xla_ffi_python_cpu_callback (2)
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<8xf32>, %n: tensor<4xi32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%a, %n) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>]
        out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
        (%b: tensor<4xf32>, %m: tensor<2xi32>) {
      // JAX writes lax.ragged_all_to_all as a call whose options are the groups of devices.
      %1 = stablehlo.custom_call @ragged_all_to_all(%b, %b, %m, %m, %m, %m) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<4xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xf32>
      %2 = stablehlo.custom_call @ragged_all_to_all(%1, %b, %m, %m, %m, %m) {api_version = 4 : i32, mhlo.backend_config = {}} : (tensor<4xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xf32>
      sdy.return %2 : tensor<4xf32>
    } : (tensor<8xf32>, tensor<4xi32>) -> tensor<8xf32>
    %3 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%0) : (tensor<8xf32>) -> tensor<8xf32>
    %4 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%3) : (tensor<8xf32>) -> tensor<8xf32>
    return %4 : tensor<8xf32>
  }
}
