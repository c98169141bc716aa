// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// 8 -> 2x4: the major factor of size 2 takes half of x=4, the minor one the other half.
sdy.mesh @m = <["x"=4]>

func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<2x4xf32> {
  // CHECK: reshape {{.*}}[{"x":(1)2, ?}, {"x":(2)2, ?}]
  %0 = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
