// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A loop's operand, the arguments of its bodies, what the body returns and its result are sharded alike.
sdy.mesh @m = <["x"=2]>

func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %n: tensor<i1>) -> tensor<8xf32> {
  // CHECK: stablehlo.while
  %0 = stablehlo.while(%i = %a) : tensor<8xf32> attributes {}
  cond {
    stablehlo.return %n : tensor<i1>
  } do {
    // CHECK: tanh {{.*}}[{"x", ?}]
    %1 = stablehlo.tanh %i : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
