// A program of several replicas, as jax.pmap wrote them, is not one of a mesh.
// RUN: not shardc %s 2>&1 | filecheck %s

// CHECK:      replicas.mlir:7:1: error: the module is for 4 replicas, and a program of shardc's has one
// CHECK-NEXT:     module @jit_f
// CHECK:      note: jax.shard_map writes what jax.pmap did; without mhlo.num_replicas it is one replica's program
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @main(%x: tensor<8xui32>) -> tensor<8xui32> {
    %0 = stablehlo.replica_id : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<8xui32>
    %2 = stablehlo.add %1, %x : tensor<8xui32>
    return %2 : tensor<8xui32>
  }
}
