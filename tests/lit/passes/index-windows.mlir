// RUN: shardc-opt %s -p index-windows --no-locations --split-input-file | filecheck %s

// Each row gets two elements at a place of its own; what does not fit is left out.
// CHECK-LABEL: @updates
// CHECK: [[LAST:%.*]] = stablehlo.constant dense<62>
// CHECK: stablehlo.compare LE, {{%.*}}, [[LAST]]
// CHECK: [[STARTS:%.*]] = stablehlo.select
// CHECK: [[SPREAD:%.*]] = stablehlo.broadcast_in_dim [[STARTS]], dims = [0] : (tensor<4xi32>) -> tensor<4x2xi32>
// CHECK: [[STEP:%.*]] = stablehlo.iota dim = 1 : tensor<4x2xi32>
// CHECK: [[PLACES:%.*]] = stablehlo.add [[SPREAD]], [[STEP]]
// CHECK: [[INDICES:%.*]] = stablehlo.reshape [[PLACES]] : (tensor<4x2xi32>) -> tensor<4x2x1xi32>
// CHECK: "stablehlo.scatter"(%x, [[INDICES]], %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
sdy.mesh @ring = <["r"=4]>
func.func @updates(%x: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {"r"}]>}, %i: tensor<4x1xi32>, %u: tensor<4x2xf32>) -> tensor<4x64xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x64xf32>, tensor<4x1xi32>, tensor<4x2xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// A gather takes the nearest window that fits. The dimension that is whole stays a window.
// CHECK-LABEL: @gathered
// CHECK: [[ROWS:%.*]] = stablehlo.slice %i [0:3, 0:1]
// CHECK: stablehlo.clamp {{%.*}}, {{%.*}}, {{%.*}} : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
// CHECK: [[COLUMNS:%.*]] = stablehlo.slice %i [0:3, 1:2]
// CHECK: [[INDICES:%.*]] = stablehlo.concatenate {{%.*}}, {{%.*}}, dim = 2 : (tensor<3x2x1xi32>, tensor<3x2x1xi32>) -> tensor<3x2x2xi32>
// CHECK: "stablehlo.gather"(%x, [[INDICES]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<64x8xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
sdy.mesh @ring = <["r"=4]>
func.func @gathered(%x: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}, %i: tensor<3x2xi32>) -> tensor<3x2x4xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 4>}> : (tensor<64x8xf32>, tensor<3x2xi32>) -> tensor<3x2x4xf32>
  return %0 : tensor<3x2x4xf32>
}

// -----

// Nothing changes where the dimension is whole, where a window is larger than a block, and for one row of a gather.
// CHECK-LABEL: @stay
// CHECK: "stablehlo.gather"(%x, %i) {{.*}}slice_sizes = array<i64: 2>
// CHECK: "stablehlo.gather"(%y, %i) {{.*}}slice_sizes = array<i64: 17>
// CHECK: "stablehlo.gather"(%y, %i) {{.*}}slice_sizes = array<i64: 1>
sdy.mesh @ring = <["r"=4]>
func.func @stay(%x: tensor<64xf32>, %y: tensor<64xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, %i: tensor<3x1xi32>) -> (tensor<3x2xf32>, tensor<3x17xf32>, tensor<3x1xf32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>}> : (tensor<64xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  %1 = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 17>}> : (tensor<64xf32>, tensor<3x1xi32>) -> tensor<3x17xf32>
  %2 = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<64xf32>, tensor<3x1xi32>) -> tensor<3x1xf32>
  return %0, %1, %2 : tensor<3x2xf32>, tensor<3x17xf32>, tensor<3x1xf32>
}

// -----

// What a loop carries is split as its results are. One element needs no iota, and is left out as it is.
// CHECK-LABEL: @carried
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.iota
// CHECK: "stablehlo.scatter"(%c, {{%.*}}, %u) {{.*}}scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>
sdy.mesh @ring = <["r"=4]>
func.func @carried(%x: tensor<64xf32>, %i: tensor<3x1xi32>, %u: tensor<3x1xf32>, %n: tensor<i32>) -> tensor<64xf32> {
  %0:2 = stablehlo.while(%k = %n, %c = %x) : tensor<i32>, tensor<64xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@ring, []>, <@ring, [{"r"}]>]>}
  cond {
    %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = "stablehlo.scatter"(%c, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<64xf32>, tensor<3x1xi32>, tensor<3x1xf32>) -> tensor<64xf32>
    stablehlo.return %k, %1 : tensor<i32>, tensor<64xf32>
  }
  return %0#1 : tensor<64xf32>
}
