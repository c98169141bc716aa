// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A barrier lets shardings through one way: here only from its result to its operand.
sdy.mesh @m = <["x"=2, "y"=4]>

// CHECK: %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}]>}
// CHECK-SAME: -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>})
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}) {
  %0 = sdy.propagation_barrier %a allowed_direction=BACKWARD : tensor<8xf32>
  %1 = sdy.propagation_barrier %b allowed_direction=BACKWARD : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
