// JAX 0.12 gives the replica groups of per-device code a mesh of their own; functions have one mesh all the same.
// RUN: shardc-opt %s -p name-axes,unify-meshes --no-locations | filecheck %s

// CHECK:     sdy.mesh @mesh =
// CHECK-NOT: sdy.mesh
// CHECK:     "spmd.all_reduce"(%b) {axes = ["y"], kind = "sum"}
sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @mesh_0 = <["x"=2, "y"=2]>

func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{}]>]
      manual_axes={"x", "y"} (%b: tensor<4xf32>) {
    %1 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh_0, axes = [#stablehlo.axis_ref<name = "y">]>,
        use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
