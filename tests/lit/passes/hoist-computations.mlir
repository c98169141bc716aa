// RUN: shardc-opt %s -p hoist-computations --no-locations | filecheck %s

// The scale of w is the same in every turn, and so are w by it and its product with u; what is only laid out
// anew, or computed element by element from nothing costly, stays. So does what changes.

// CHECK-LABEL: @main
// CHECK:         [[TOP:%.+]] = stablehlo.reduce(%w init: {{.*}}) applies stablehlo.maximum
// CHECK-NEXT:    [[WIDE:%.+]] = stablehlo.broadcast_in_dim [[TOP]]
// CHECK-NEXT:    [[SMALL:%.+]] = stablehlo.divide %w, [[WIDE]]
// CHECK:         stablehlo.while
// CHECK:         do {
// CHECK-NOT:       stablehlo.reduce
// CHECK-NOT:       stablehlo.divide
// CHECK:           stablehlo.transpose [[SMALL]]
// CHECK:           stablehlo.exponential %w
// CHECK:           stablehlo.dot_general
// CHECK:           stablehlo.dot_general
func.func @main(%w: tensor<4x4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %h = %x) : tensor<i32>, tensor<8x4xf32>
   cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %low = stablehlo.constant dense<0.0> : tensor<f32>
    %top = stablehlo.reduce(%w init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
    %wide = stablehlo.broadcast_in_dim %top, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %small = stablehlo.divide %w, %wide : tensor<4x4xf32>
    %turned = stablehlo.transpose %small, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.exponential %w : tensor<4x4xf32>
    %d = stablehlo.dot_general %h, %turned, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %f = stablehlo.dot_general %d, %e, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %j, %f : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}

// Per-device code stays as it was written.
// CHECK-LABEL: @manual
// CHECK:         stablehlo.while
// CHECK:         do {
// CHECK:           stablehlo.dot_general %{{.*}}, %{{.*}}
// CHECK:           stablehlo.return
sdy.mesh @m = <["x"=2]>
func.func @manual(%w: tensor<4x4xf32>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = sdy.manual_computation(%w, %x) in_shardings=[<@m, [{}, {}]>, <@m, [{}, {}]>] out_shardings=[<@m, [{}, {}]>] manual_axes={"x"} (%v: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %c, %h = %y) : tensor<i32>, tensor<4x4xf32>
     cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %d = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %s = stablehlo.add %h, %d : tensor<4x4xf32>
      stablehlo.return %j, %s : tensor<i32>, tensor<4x4xf32>
    }
    sdy.return %0#1 : tensor<4x4xf32>
  } : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
