// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// 6 -> 2x3 with y=3 first: 3 shares no divisor with the major factor 2, so nothing can be told to the result.
sdy.mesh @m = <["x"=2, "y"=3]>

func.func @main(%a: tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", "x"}]>}) -> tensor<2x3xf32> {
  // CHECK: reshape %a : (tensor<6xf32>) -> tensor<2x3xf32>
  %0 = stablehlo.reshape %a : (tensor<6xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
