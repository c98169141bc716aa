// RUN: shardc-opt %s -sdy-remove-size-one-axes | filecheck %s --check-prefix=ONES
// RUN: shardc-opt %s -sdy-drop-sharding-and-mesh | filecheck %s --check-prefix=DROP
// Steps by Shardy's names, on meshes that stand in shardings and on one without axes.
module attributes {
  sdy.parameters_shardings = #sdy.sharding_per_value<[<@m, [{"x"}]>]>,
  sdy.output_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>
} {
sdy.mesh @m = <["x"=2, "y"=2, "one"=1]>

// DROP:     module {
// DROP-NOT: sdy.

// ONES: %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "one"=1]>, [{"x"}p1]>}
// ONES: %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}
// ONES: %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}p1]>}
func.func @ones(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "one"=1]>, [{"one", "x"}p1]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"one"}p1]>},
                %c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"one", ?}p1]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
}
