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

// Two counters that begin and step alike are one; one that begins elsewhere stays.
// CHECK-LABEL: func.func @counters
// CHECK:         stablehlo.while(%[[i:.*]] = %{{.*}}, %[[k:.*]] = %{{.*}}, %[[h:.*]] = %x) : tensor<i32>, tensor<i32>, tensor<8xi32>
// CHECK:           stablehlo.compare LT, %[[i]]
// CHECK:           %[[all:.*]] = stablehlo.broadcast_in_dim %[[i]], dims = []
// CHECK:         func.return %r, %r_2 : tensor<i32>, tensor<8xi32>
func.func @counters(%x: tensor<8xi32>) -> (tensor<i32>, tensor<8xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zero_too = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %j = %zero_too, %k = %one, %h = %x) : tensor<i32>, tensor<i32>, tensor<i32>, tensor<8xi32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %all = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %k_all = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %h_1 = stablehlo.add %h, %all : tensor<8xi32>
    %h_2 = stablehlo.multiply %h_1, %k_all : tensor<8xi32>
    %j_1 = stablehlo.add %j, %step : tensor<i32>
    %i_1 = stablehlo.add %step, %i : tensor<i32>
    %k_1 = stablehlo.add %k, %step : tensor<i32>
    stablehlo.return %i_1, %j_1, %k_1, %h_2 : tensor<i32>, tensor<i32>, tensor<i32>, tensor<8xi32>
  }
  return %r#1, %r#3 : tensor<i32>, tensor<8xi32>
}

// Stacks that begin alike and get the same in each turn are one; what begins elsewhere, or gets another value, stays.
// CHECK-LABEL: func.func @stacks
// CHECK:         stablehlo.while(%{{.*}} = %zero, %[[a:[a-z]+]] = %zeros, %[[c:[a-z]+]] = %zeros_too, %{{.*}} = %x) : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK:           stablehlo.dynamic_update_slice %[[a]]
// CHECK:         func.return %r_1, %r_1, %r_2, %r_3
func.func @stacks(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %nothing, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %zeros_too = stablehlo.broadcast_in_dim %nothing, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %r:5 = stablehlo.while(%i = %zero, %a = %zeros, %b = %zeros_too, %c = %zeros_too, %d = %x) : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %u = stablehlo.dynamic_slice %d, %i, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
    %v = stablehlo.tanh %u : tensor<1xf32>
    %v_too = stablehlo.tanh %u : tensor<1xf32>
    %a_1 = stablehlo.dynamic_update_slice %a, %v, %i : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    %b_1 = stablehlo.dynamic_update_slice %b, %v_too, %i : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    %c_1 = stablehlo.dynamic_update_slice %c, %u, %i : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    %d_1 = stablehlo.dynamic_update_slice %d, %v, %i : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %a_1, %b_1, %c_1, %d_1 : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
  return %r#1, %r#2, %r#3, %r#4 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// What is set to a value that the loop carries and never changes, and begins with it, is that value.
// CHECK-LABEL: func.func @set_to_an_invariant
// CHECK-SAME:      %x: tensor<3xf32>
// CHECK:         stablehlo.while(%{{.*}} = %zero, %[[c:[a-z]+]] = %y) : tensor<i32>, tensor<3xf32>
// CHECK:           stablehlo.return %{{.*}}, %x : tensor<i32>, tensor<3xf32>
// CHECK:         func.return %x, %r_1
func.func @set_to_an_invariant(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:4 = stablehlo.while(%w = %x, %i = %zero, %a = %x, %c = %y) : tensor<3xf32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %w, %j, %w, %w : tensor<3xf32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>
  }
  return %r#2, %r#3 : tensor<3xf32>, tensor<3xf32>
}
