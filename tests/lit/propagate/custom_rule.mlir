// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A custom call says itself how its dimensions correspond.
sdy.mesh @m = <["x"=2]>

func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<4x8xf32> {
  // CHECK: custom_call @flip{{.*}}[{?}, {"x", ?}]
  %0 = stablehlo.custom_call @flip(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([j, i]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
