// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A closed constraint is also what its operand should look like, so the producer is computed that way.
sdy.mesh @m = <["x"=2]>

func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: tanh {{.*}}[{"x"}]
  %0 = stablehlo.tanh %a : tensor<8xf32>
  // CHECK: sharding_constraint %{{.*}} <@m, [{"x"}]>
  %1 = sdy.sharding_constraint %0 <@m, [{"x"}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
