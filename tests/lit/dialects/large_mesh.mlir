// RUN: not shardc-opt %s 2>&1 | filecheck %s
// A mesh inside a sharding is as large as one with a name may be: shardings are worked out for each device.
// CHECK: large_mesh.mlir:4:14: error: mesh <["x"=99999999999]> has more than 2^20 devices
func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=99999999999]>, [{"x"}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
