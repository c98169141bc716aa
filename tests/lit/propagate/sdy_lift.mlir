// RUN: shardc-opt %s -sdy-lift-inlined-meshes | filecheck %s
// Equal meshes become one, and names that this sets free are free for those that stand in shardings.
// CHECK:      sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-NEXT: sdy.mesh @mesh_0 = <["x"=2], device_ids=[1, 0]>
// CHECK-NEXT: sdy.mesh @mesh_1 = <["x"=8]>
// CHECK-NEXT: sdy.mesh @mesh_3 = <["a"=4]>
// CHECK-NEXT: sdy.mesh @maximal_mesh_2 = <[], device_ids=[2]>
// CHECK-NEXT: @mesh_2(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh_0, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh_1, [{"x"}]>}, %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %arg3: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh_3, [{"a"}]>}, %arg4: tensor<f32> {sdy.sharding = #sdy.sharding<@maximal_mesh_2, []>})
sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @mesh_0 = <["x"=2], device_ids=[1, 0]>
sdy.mesh @mesh_1 = <["x"=2, "y"=4]>
func.func @mesh_2(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=8]>, [{"x"}]>},
                %c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh_1, [{"y"}]>},
                %d: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["a"=4]>, [{"a"}]>},
                %e: tensor<f32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[2]>, []>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
