// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// Each call is propagated through on its own; a function whose calls want it differently becomes two.
sdy.mesh @m = <["x"=2, "y"=4]>

// CHECK: func.func private @f(%v: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>})
// CHECK: func.func private @f_1(%v: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}]>})
func.func private @f(%v: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %v : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: call @f(%a)
  %0 = func.call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: call @f_1(%b)
  %1 = func.call @f(%b) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
