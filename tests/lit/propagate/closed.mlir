// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A closed dimension and an axis named in replicated={} take nothing; the rest still flows.
sdy.mesh @m = <["x"=2, "y"=4]>

func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {"y", ?}]>})
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: tanh %a {{.*}}[{}, {"y", ?}]
  %0 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {?}]>]>} : tensor<8x8xf32>
  // CHECK: negate %a {{.*}}[{"x", ?}, {?}], replicated={"y"}
  %1 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {?}], replicated={"y"}>]>} : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
