// Two constraints on one loop: the one on the first carried value is visited right behind that value's edge,
// before the edge of the second, so y comes first.
// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
sdy.mesh @m = <["x"=3, "y"=2]>

// CHECK: func.func @main(%a: tensor<3xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}]>})
func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %b = stablehlo.add %a, %a : tensor<3xf32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %l:3 = stablehlo.while(%i = %n, %c = %a, %d = %b) : tensor<i32>, tensor<3xf32>, tensor<3xf32> cond {
    %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    stablehlo.return %i, %b, %c : tensor<i32>, tensor<3xf32>, tensor<3xf32>
  }
  %y = sdy.sharding_constraint %l#1 <@m, [{"y"}]> : tensor<3xf32>
  %x = sdy.sharding_constraint %l#2 <@m, [{"x"}]> : tensor<3xf32>
  return %l#1 : tensor<3xf32>
}
