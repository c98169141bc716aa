// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A sharding may have a mesh of its own, and an operation, in a module that names none.
// CHECK-LABEL: @of_an_argument
// CHECK: sine %x {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{"x", ?}]>]>}
func.func @of_an_argument(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.sine %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK-LABEL: @of_a_constraint
// CHECK: sine %x {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{"x"}]>]>}
func.func @of_a_constraint(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.sine %x : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <mesh<["x"=2]>, [{"x"}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
