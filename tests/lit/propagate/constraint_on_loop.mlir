// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A constraint on a loop's result does not bind the loop: it is moved up, and the other uses read it instead.
sdy.mesh @m = <["x"=2]>

func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[B:.*]] = stablehlo.optimization_barrier
  %b = stablehlo.optimization_barrier %a : tensor<8xf32>
  // CHECK: %[[C:.*]] = sdy.sharding_constraint %[[B]] <@m, [{"x"}]>
  // CHECK: negate %[[C]]
  %0 = stablehlo.negate %b : tensor<8xf32>
  %1 = sdy.sharding_constraint %b <@m, [{"x"}]> : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
