// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// Inside a manual computation only the free axes exist: y passes the border, x is manual and stays outside.
sdy.mesh @m = <["x"=2, "y"=4]>

func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  // CHECK: in_shardings=[<@m, [{"x"}, {"y", ?}]>] out_shardings=[<@m, [{"x"}, {"y", ?}]>]
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {?}]>] out_shardings=[<@m, [{"x"}, {?}]>]
      manual_axes={"x"} (%b: tensor<4x8xf32>) {
    // CHECK: tanh {{.*}}[{?}, {"y", ?}]
    %1 = stablehlo.tanh %b : tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
