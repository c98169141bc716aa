// RUN: shardc-opt %s -p propagate 2>&1 | filecheck %s
// Nothing flows between meshes with another order of devices, and that is said.
sdy.mesh @m = <["x"=2]>
sdy.mesh @n = <["x"=2], device_ids=[1, 0]>

func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@n, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: add %a, %b : tensor<8xf32>
// CHECK: two_meshes.mlir:8:{{.*}}: warning: stablehlo.add has tensors on the meshes m[x=2] and n[x=2]
