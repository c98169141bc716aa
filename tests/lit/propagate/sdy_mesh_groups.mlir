// RUN: shardc-opt %s -sdy-inline-meshes | filecheck %s --check-prefix=INLINE
// RUN: shardc-opt %s -sdy-inline-meshes | shardc-opt -sdy-lift-inlined-meshes | filecheck %s --check-prefix=LIFT
// RUN: shardc-opt %s -sdy-lift-inlined-meshes | filecheck %s --check-prefix=ONCE
// RUN: shardc-opt %s -sdy-translate-mesh="old-mesh-name=turned axis-names='ring'" | filecheck %s --check-prefix=NAMES
// Replica groups that are axes of a mesh go with their mesh: into the groups, out of them, to the first of equal ones.
// INLINE-NOT: sdy.mesh
// LIFT:       sdy.mesh @mesh = <["x"=2]>
// LIFT-NEXT:  sdy.mesh @mesh_0 = <["x"=2], device_ids=[1, 0]>
// ONCE:       sdy.mesh @plain
// ONCE-NEXT:  sdy.mesh @turned
// ONCE-NOT:   sdy.mesh
sdy.mesh @plain = <["x"=2]>
sdy.mesh @turned = <["x"=2], device_ids=[1, 0]>
sdy.mesh @again = <["x"=2], device_ids=[1, 0]>

// INLINE: in_shardings=[<mesh<["x"=2]>, [{"x"}]>]
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@plain, [{"x"}]>] out_shardings=[<@plain, [{"x"}]>]
      manual_axes={"x"} (%b: tensor<4xf32>) {
    // INLINE: replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>]>, axes = [#stablehlo.axis_ref<name = "x">]>
    // LIFT: #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes
    %1 = "stablehlo.all_to_all"(%b) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @plain, axes = [#stablehlo.axis_ref<name = "x">]>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    // INLINE: mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>, axes = [#stablehlo.axis_ref<name = "x">]>
    // LIFT: #stablehlo.replica_group_mesh_axes<mesh = @mesh_0, axes
    // ONCE: #stablehlo.replica_group_mesh_axes<mesh = @turned, axes
    // NAMES: mesh = @turned, axes = [#stablehlo.axis_ref<name = "ring">]
    %2 = "stablehlo.all_to_all"(%1) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @turned, axes = [#stablehlo.axis_ref<name = "x">]>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    // ONCE: #stablehlo.replica_group_mesh_axes<mesh = @turned, axes
    // NAMES: mesh = @again, axes = [#stablehlo.axis_ref<name = "x">]
    %3 = "stablehlo.all_to_all"(%2) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @again, axes = [#stablehlo.axis_ref<name = "x">]>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %3 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
