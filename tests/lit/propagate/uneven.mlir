// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A dimension of 6 over 4 devices stays so, at the function's border too.
sdy.mesh @m = <["x"=4]>

// CHECK: -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>})
func.func @main(%a: tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<6xf32> {
  %0 = stablehlo.tanh %a : tensor<6xf32>
  return %0 : tensor<6xf32>
}
