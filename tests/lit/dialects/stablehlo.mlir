// RUN: shardc-opt %s | filecheck %s
// RUN: shardc-opt %s --print-op-generic | shardc-opt | filecheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<8x4xf32>, %n: tensor<8x4xi32>) {
  // CHECK: stablehlo.add %x, %x : tensor<8x4xf32>
  %0 = stablehlo.add %x, %x : tensor<8x4xf32>
  // CHECK: stablehlo.exponential %x : tensor<8x4xf32>
  %1 = stablehlo.exponential %x : tensor<8x4xf32>
  // CHECK: stablehlo.convert %x : (tensor<8x4xf32>) -> tensor<8x4xi32>
  %2 = stablehlo.convert %x : (tensor<8x4xf32>) -> tensor<8x4xi32>
  // CHECK: %[[P:.*]] = stablehlo.compare LT, %x, %x, FLOAT : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
  %3 = stablehlo.compare LT, %x, %x, FLOAT : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
  // CHECK: stablehlo.select %[[P]], %x, %x : tensor<8x4xi1>, tensor<8x4xf32>
  %4 = stablehlo.select %3, %x, %x : tensor<8x4xi1>, tensor<8x4xf32>
  // CHECK: stablehlo.clamp %x, %x, %x : tensor<8x4xf32>
  %5 = stablehlo.clamp %x, %x, %x : tensor<8x4xf32>
  // CHECK: stablehlo.complex %x, %x : tensor<8x4xcomplex<f32>>
  %6 = stablehlo.complex %x, %x : tensor<8x4xcomplex<f32>>
  // CHECK: stablehlo.reduce_precision %x, format = e5m10 : tensor<8x4xf32>
  %7 = stablehlo.reduce_precision %x, format = e5m10 : tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<8x4xf32>, %v: tensor<f32>, %i: tensor<i32>) {
  // CHECK: stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: stablehlo.constant dense<1.500000e+00> : tensor<100000x100000xf32>
  %1 = stablehlo.constant dense<1.5> : tensor<100000x100000xf32>
  // CHECK: stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: stablehlo.iota dim = 1 : tensor<8x4xi32>
  %3 = stablehlo.iota dim = 1 : tensor<8x4xi32>
  // CHECK: stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
  %4 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<32xf32>
  %5 = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<32xf32>
  // CHECK: stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.slice %x [1:3, 0:4:2] : (tensor<8x4xf32>) -> tensor<2x2xf32>
  %7 = stablehlo.slice %x [1:3, 0:4:2] : (tensor<8x4xf32>) -> tensor<2x2xf32>
  // CHECK: stablehlo.concatenate %x, %x, dim = 0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %8 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  // CHECK: stablehlo.pad %x, %v, low = [0, -1], high = [1, 1], interior = [1, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  %9 = stablehlo.pad %x, %v, low = [0, -1], high = [1, 1], interior = [1, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  // CHECK: stablehlo.reverse %x, dims = [0] : tensor<8x4xf32>
  %10 = stablehlo.reverse %x, dims = [0] : tensor<8x4xf32>
  // CHECK: stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  %11 = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: func.func @contractions
func.func @contractions(%x: tensor<2x8x4xf32>, %y: tensor<2x4x6xf32>, %i: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>) {
  // CHECK: stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] :
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x8x4xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>
  // CHECK: stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = {{\[\[0, 1\], \[0, 1\]\]}}, reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
  %1 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>
  return
}

// CHECK-LABEL: func.func @bodies
func.func @bodies(%x: tensor<8x4xf32>, %n: tensor<8x4xi32>, %v: tensor<f32>, %i: tensor<i32>) {
  // CHECK: stablehlo.reduce(%x init: %v) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = stablehlo.reduce(%x init: %v) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK: stablehlo.reduce(%x init: %v), (%n init: %i) across dimensions = [0] : {{.*}} reducer(%a: tensor<f32>{{.*}}, %b: tensor<f32>{{.*}}) (%p: tensor<i32>{{.*}}, %q: tensor<i32>{{.*}}) {
  %1:2 = stablehlo.reduce(%x init: %v), (%n init: %i) across dimensions = [0] : (tensor<8x4xf32>, tensor<8x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
    // CHECK: stablehlo.return %a, %q : tensor<f32>, tensor<i32>
    stablehlo.return %a, %q : tensor<f32>, tensor<i32>
  }
  // CHECK: stablehlo.while(%j = %i, %y = %x) : tensor<i32>, tensor<8x4xf32> cond {
  %2:2 = stablehlo.while(%j = %i, %y = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    // CHECK: stablehlo.compare NE, %j, %i
    %3 = stablehlo.compare NE, %j, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  // CHECK: } do {
  } do {
    // CHECK: stablehlo.return %j, %y : tensor<i32>, tensor<8x4xf32>
    stablehlo.return %j, %y : tensor<i32>, tensor<8x4xf32>
  }
  // CHECK: "stablehlo.case"(%i) ({
  %4 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<8x4xf32>
  }, {
    stablehlo.return %x : tensor<8x4xf32>
  }) : (tensor<i32>) -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @carried
func.func @carried(%x: tensor<8x4xf32>) {
  // CHECK: stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> :
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<8x4xf32>
  %1 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<8x4xf32>
  // CHECK: stablehlo.custom_call @f(%x) {has_side_effect = true, mhlo.x = {}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.custom_call @f(%x) {has_side_effect = true, mhlo.x = {}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.composite "my.op" %x {composite_attributes = {n = 1 : i32}, decomposition = @carried} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.composite "my.op" %x {composite_attributes = {n = 1 : i32}, decomposition = @carried} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
