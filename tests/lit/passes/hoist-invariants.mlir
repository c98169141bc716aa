// RUN: shardc-opt %s -p hoist-invariants --no-locations | filecheck %s

sdy.mesh @m = <["x"=2]>
func.func @main(%w: tensor<4x4xf32>, %h: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%ww = %w, %i = %c, %hh = %h) : tensor<4x4xf32>, tensor<i32>, tensor<8x4xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>, <@m, []>, <@m, [{"x"}, {}]>]>}
   cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %d = stablehlo.dot_general %hh, %ww, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %ww, %j, %d : tensor<4x4xf32>, tensor<i32>, tensor<8x4xf32>
  }
  return %0#0, %0#2 : tensor<4x4xf32>, tensor<8x4xf32>
}

// CHECK:      stablehlo.while({{.*}} = %c, {{.*}} = %h) : tensor<i32>, tensor<8x4xf32>
// CHECK-SAME: sdy.sharding_per_value<[<@m, []>, <@m, [{"x"}, {}]>]>
// CHECK:      stablehlo.dot_general {{.*}}, %w, contracting_dims = [1] x [0]
// CHECK-NEXT: stablehlo.return {{.*}} : tensor<i32>, tensor<8x4xf32>
// CHECK:      func.return %w, {{.*}} : tensor<4x4xf32>, tensor<8x4xf32>
