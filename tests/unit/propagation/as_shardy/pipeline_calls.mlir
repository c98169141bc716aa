// Functions and their calls through the whole pipeline.
// RUN: -split-input-file -sdy-propagation-pipeline
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x2xi32> {
  %1 = call @foo(%arg0) : (tensor<8x2xi32>) -> tensor<8x2xi32>
  %s = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"b"}]>]>} : tensor<8x2xi32>
  %2 = call @bar(%s) : (tensor<8x2xi32>) -> tensor<8x2xi32>
  %3 = call @bar(%2) : (tensor<8x2xi32>) -> tensor<8x2xi32>
  return %3 : tensor<8x2xi32>
}
func.func private @foo(%arg0: tensor<8x2xi32>) -> tensor<8x2xi32> {
  %0 = stablehlo.abs %arg0: tensor<8x2xi32>
  %1 = call @bar(%0) : (tensor<8x2xi32>) -> tensor<8x2xi32>
  return %1 : tensor<8x2xi32>
}
func.func private @bar(%arg0: tensor<8x2xi32>) -> tensor<8x2xi32> {
  %0 = stablehlo.negate %arg0: tensor<8x2xi32>
  return %0 : tensor<8x2xi32>
}
// -----
sdy.mesh @m = <["a"=2, "b"=2]>
func.func private @bar(%arg0: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = stablehlo.negate %arg0: tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
func.func @main(%arg0: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %arg1: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}, {}]>}) -> tensor<8x2xf32> {
  %0 = call @bar(%arg1) : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %1 = call @foo(%arg0) : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %2 = call @foo(%arg1) : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %3 = call @bar(%0) : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %4 = call @baz(%arg0, %arg1) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %5 = stablehlo.dot_general %1, %2, contracting_dims = [0] x [0] : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
  %6 = stablehlo.dot_general %3, %5, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x2xf32>) -> tensor<8x2xf32>
  %7 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x2xf32>) -> tensor<8x2xf32>
  %8 = stablehlo.add %6, %7 : tensor<8x2xf32>
  return %8 : tensor<8x2xf32>
}
func.func private @foo(%arg0: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = stablehlo.abs %arg0: tensor<8x2xf32>
  %1 = call @bar(%0) : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %2 = call @bar(%1) : (tensor<8x2xf32>) -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}
func.func private @baz(%arg0: tensor<8x2xf32>, %arg1: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = stablehlo.add %arg0, %arg1: tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
// -----
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %arg1: tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"b"}]>}) -> (tensor<8x2xi32>, tensor<8x2xi32>) {
  %a = stablehlo.negate %arg0 : tensor<8x2xi32>
  %b = stablehlo.add %arg0, %a : tensor<8x2xi32>
  %1 = call @foo(%a) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}, {}]>]>} : (tensor<8x2xi32>) -> tensor<8x2xi32>
  %2 = call @foo(%a) {mhlo.frontend_attributes = {x = "y"}} : (tensor<8x2xi32>) -> tensor<8x2xi32>
  %3 = stablehlo.add %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>]>}: tensor<8x2xi32>
  return %3, %b : tensor<8x2xi32>, tensor<8x2xi32>
}
func.func private @foo(%arg0: tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@m, [{"b"}, {?}]>}) -> (tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}) {
  %0 = stablehlo.abs %arg0: tensor<8x2xi32>
  %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}, {}]>]>} : tensor<8x2xi32>
  %2 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}, {}]>]>} : tensor<8x2xi32>
  return %2 : tensor<8x2xi32>
}
// -----
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x2xi32>, %arg1: tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"b"}]>}) -> tensor<8x2xi32> {
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>]>} : tensor<8x2xi32>
  %1 = call @foo(%0, %0) : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
  return %1 : tensor<8x2xi32>
}
func.func private @foo(%arg0: tensor<8x2xi32>, %arg1: tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@m, [{"b"}, {}]>}) -> tensor<8x2xi32> {
  %0 = sdy.sharding_constraint %arg0 <@m, [{}, {}]> : tensor<8x2xi32>
  %1 = stablehlo.add %0, %arg1 : tensor<8x2xi32>
  return %1 : tensor<8x2xi32>
}
