// A mesh that isn't there (the fuzzer's find): the verifier says where.
// RUN: not shardc-opt %s -p unify-meshes,propagate 2>&1 | filecheck %s

// CHECK: unify-meshes-unknown.mlir:5:17: error: there is no mesh @m; the module's meshes are: none
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
