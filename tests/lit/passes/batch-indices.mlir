// RUN: shardc-opt %s -p batch-indices --no-locations | filecheck %s

// y[arange(4), j]: rows count along their dimension, wrapped as JAX wraps indices.
// CHECK-LABEL: func.func @rows
// CHECK-NOT:     iota
// CHECK:         "stablehlo.gather"(%y, %j)
// CHECK-SAME:      collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1]
func.func @rows(%y: tensor<4x8xf32>, %j: tensor<4x1xi32>) -> tensor<4xf32> {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %four = stablehlo.constant dense<4> : tensor<4xi32>
  %below = stablehlo.compare LT, %i, %zero : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %more = stablehlo.add %i, %four : tensor<4xi32>
  %row = stablehlo.select %below, %more, %i : tensor<4xi1>, tensor<4xi32>
  %column = stablehlo.broadcast_in_dim %row, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %at = stablehlo.concatenate %column, %j, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %r = "stablehlo.gather"(%y, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The last dimension of the operand counts along the second of the indices.
// CHECK-LABEL: func.func @others
// CHECK:         "stablehlo.gather"(%y, %j)
// CHECK-SAME:      collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0]
func.func @others(%y: tensor<8x4xf32>, %j: tensor<3x4x1xi32>) -> tensor<3x4xf32> {
  %column = stablehlo.iota dim = 1 : tensor<3x4x1xi32>
  %at = stablehlo.concatenate %j, %column, dim = 2 : (tensor<3x4x1xi32>, tensor<3x4x1xi32>) -> tensor<3x4x2xi32>
  %r = "stablehlo.gather"(%y, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<8x4xf32>, tensor<3x4x2xi32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// Three of four rows: where they lie depends on how four are split.
// CHECK-LABEL: func.func @some
// CHECK:         "stablehlo.gather"(%y, %at)
func.func @some(%y: tensor<4x8xf32>, %j: tensor<3x1xi32>) -> tensor<3xf32> {
  %i = stablehlo.iota dim = 0 : tensor<3x1xi32>
  %at = stablehlo.concatenate %i, %j, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  %r = "stablehlo.gather"(%y, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<4x8xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @added
// CHECK:         "stablehlo.scatter"(%y, %j, %v)
// CHECK-SAME:      inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1]
func.func @added(%y: tensor<4x8xf32>, %j: tensor<4x1xi32>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
  %i = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %at = stablehlo.concatenate %i, %j, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %r = "stablehlo.scatter"(%y, %at, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Whole rows are taken: where a row starts is no index, whatever it says.
// CHECK-LABEL: func.func @rows_taken
// CHECK:         "stablehlo.gather"(%y, %i)
// CHECK-SAME:      offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0]
func.func @rows_taken(%y: tensor<8x4xf32>, %i: tensor<3x1xi32>, %o: tensor<3x1xi32>) -> tensor<3x4xf32> {
  %at = stablehlo.concatenate %i, %o, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  %r = "stablehlo.gather"(%y, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<8x4xf32>, tensor<3x2xi32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// Whole rows are given at 0, the only place to which the second index is moved.
// CHECK-LABEL: func.func @rows_given
// CHECK-DAG:     %[[LOW:.*]] = stablehlo.constant dense<0> : tensor<3x1xi32>
// CHECK-DAG:     %[[HIGH:.*]] = stablehlo.constant dense<7> : tensor<3x1xi32>
// CHECK:         %[[AT:.*]] = stablehlo.clamp %[[LOW]], %i, %[[HIGH]]
// CHECK:         "stablehlo.scatter"(%y, %[[AT]], %v)
// CHECK-SAME:      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]
func.func @rows_given(%y: tensor<8x4xf32>, %i: tensor<3x1xi32>, %o: tensor<3x1xi32>, %v: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %at = stablehlo.concatenate %i, %o, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  %low = stablehlo.constant dense<0> : tensor<3x2xi32>
  %ends = stablehlo.constant dense<[7, 0]> : tensor<2xi32>
  %most = stablehlo.constant dense<100> : tensor<2xi32>
  %end = stablehlo.minimum %ends, %most : tensor<2xi32>
  %high = stablehlo.broadcast_in_dim %end, dims = [1] : (tensor<2xi32>) -> tensor<3x2xi32>
  %in = stablehlo.clamp %low, %at, %high : tensor<3x2xi32>
  %r = "stablehlo.scatter"(%y, %in, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x2xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// A row that would start elsewhere is not given.
// CHECK-LABEL: func.func @rows_left_out
// CHECK:         "stablehlo.scatter"(%y, %at, %v)
func.func @rows_left_out(%y: tensor<8x4xf32>, %i: tensor<3x1xi32>, %o: tensor<3x1xi32>, %v: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %at = stablehlo.concatenate %i, %o, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  %r = "stablehlo.scatter"(%y, %at, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x2xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// What is taken at one known place is a slice, clamped as a gather is; at one that is not known it stays.
// CHECK-LABEL: func.func @known
// CHECK-NEXT:    [[INNER:%.*]] = stablehlo.slice %y [1:7, 2:4] : (tensor<8x4xf32>) -> tensor<6x2xf32>
// CHECK-NEXT:    [[LAST:%.*]] = stablehlo.slice %y [7:8, 0:4]
// CHECK-NEXT:    [[ROW:%.*]] = stablehlo.reshape [[LAST]] : (tensor<1x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    [[OTHER:%.*]] = "stablehlo.gather"(%y, %i)
// CHECK:         return [[INNER]], [[ROW]], [[OTHER]]
func.func @known(%y: tensor<8x4xf32>, %i: tensor<1xi32>) -> (tensor<6x2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %at = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = "stablehlo.gather"(%y, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, slice_sizes = array<i64: 6, 2>, indices_are_sorted = false}> : (tensor<8x4xf32>, tensor<2xi32>) -> tensor<6x2xf32>
  %end = stablehlo.constant dense<9> : tensor<1xi32>
  %1 = "stablehlo.gather"(%y, %end) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<8x4xf32>, tensor<1xi32>) -> tensor<4xf32>
  %2 = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<8x4xf32>, tensor<1xi32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<6x2xf32>, tensor<4xf32>, tensor<4xf32>
}

// What a scatter subtracts is negated and added; the other way round it is neither.
// CHECK-LABEL: func.func @subtracted
// CHECK-NEXT:    [[MINUS:%.*]] = stablehlo.negate %v
// CHECK-NEXT:    "stablehlo.scatter"(%y, %i, [[MINUS]])
// CHECK:           stablehlo.add %a, %b
// CHECK:         "stablehlo.scatter"(%y, %i, %v)
// CHECK:           stablehlo.subtract {{%b.*}}, {{%a.*}}
func.func @subtracted(%y: tensor<8xf32>, %i: tensor<3x1xi32>, %v: tensor<3xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %r = "stablehlo.scatter"(%y, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8xf32>
  %q = "stablehlo.scatter"(%y, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %b, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %r, %q : tensor<8xf32>, tensor<8xf32>
}
