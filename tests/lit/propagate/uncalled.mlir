// A function that nobody calls is left as it is.
// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s

sdy.mesh @pod = <["data"=2]>

func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK:       func.func private @unused(%x: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:    %0 = sdy.sharding_constraint %x <@pod, [{?}]> : tensor<8xf32>
func.func private @unused(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %x <@pod, [{?}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
