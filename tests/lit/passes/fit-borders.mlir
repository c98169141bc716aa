// RUN: shardc-opt %s -p insert-reshards --no-locations | filecheck %s

// x splits 10 rows in two. y would split the 5 rows of a block in 3 and 2, and all 10 rows in 3, 3, 3 and 1: so
// it stays out of the rows, while the 6 columns, which x leaves alone, are split as they are outside.
// CHECK-LABEL: @main
// CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@m, [{"x"}, {}]>, <@m, [{"x"}, {"y", ?}]>] out_shardings=[<@m, [{"x"}, {}]>]
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y"}, {}]>}, %b: tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<10x6xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@m, [{"x", "y"}, {}]>, <@m, [{"x"}, {"y", ?}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%c: tensor<5x6xf32>, %d: tensor<5x6xf32>) {
    %1 = stablehlo.add %c, %d : tensor<5x6xf32>
    sdy.return %1 : tensor<5x6xf32>
  } : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  return %0 : tensor<10x6xf32>
}
