// Operations that JAX does not print, and edge cases of those it does.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @custom(%a: tensor<16x8xf32>, %b: tensor<8x5x3xf32>, %c: tensor<16xf32>, %d: tensor<8x4x4xf32>, %e: tensor<8x12x16xf32>, %t: tensor<8x5xf32>, %u: tensor<8x2xui32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 2 : i64, largest = true}} : (tensor<16x8xf32>) -> (tensor<16x2xf32>, tensor<16x2xi32>)
  %1:2 = stablehlo.custom_call @mhlo.topk(%c) {mhlo.attributes = {k = 2 : i64, largest = true}} : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xi32>)
  %15:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 1 : i64, largest = true}} : (tensor<16x8xf32>) -> (tensor<16x1xf32>, tensor<16x1xi32>)
  %2:2 = stablehlo.custom_call @Qr(%b) : (tensor<8x5x3xf32>) -> (tensor<8x5x3xf32>, tensor<8x3xf32>)
  %3:2 = stablehlo.custom_call @QrDecompositionBlock(%b) : (tensor<8x5x3xf32>) -> (tensor<8x5x3xf32>, tensor<8x3xf32>)
  %4:2 = stablehlo.custom_call @Eigh(%d) : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xf32>)
  %5 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%e, %t) : (tensor<8x12x16xf32>, tensor<8x5xf32>) -> tensor<8x12x16xf32>
  %6 = stablehlo.custom_call @CompactWyHelper(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %7 = stablehlo.custom_call @MoveToHost(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %8 = stablehlo.custom_call @mhlo.erf(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %9 = stablehlo.custom_call @X64Combine(%u, %u) : (tensor<8x2xui32>, tensor<8x2xui32>) -> tensor<8x2xui64>
  %10 = stablehlo.custom_call @unknown(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %11 = stablehlo.custom_call @Cholesky(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %12 = stablehlo.custom_call @annotate_device_placement(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %13 = stablehlo.custom_call @LayoutConstraint(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %14 = stablehlo.custom_call @InvertDiagBlocksLowerTriangular(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return
}
func.func @ops(%a: tensor<16x8xf32>, %s: tensor<f32>, %l: tensor<2x4x8x8xf32>, %r: tensor<2x4x8x3xf32>, %rr: tensor<2x4x3x8xf32>, %si: tensor<1xi64>) {
  %0 = stablehlo.cholesky %l, lower = true : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %1 = "stablehlo.triangular_solve"(%l, %r) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false} : (tensor<2x4x8x8xf32>, tensor<2x4x8x3xf32>) -> tensor<2x4x8x3xf32>
  %2 = "stablehlo.triangular_solve"(%l, %r) {left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false} : (tensor<2x4x8x8xf32>, tensor<2x4x8x3xf32>) -> tensor<2x4x8x3xf32>
  %3 = "stablehlo.triangular_solve"(%l, %rr) {left_side = false, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false} : (tensor<2x4x8x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %4 = "stablehlo.triangular_solve"(%l, %rr) {left_side = false, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false} : (tensor<2x4x8x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %5 = stablehlo.rng %s, %s, %si, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  %6 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %7 = sdy.reshard %a <@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %8 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<16x8xf32>
  %9 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8xf32>) -> tensor<16x16xf32>
  %10 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8xf32>) -> tensor<32x4xf32>
  %11 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0,1]]> : tensor<1x2xi64>} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %12 = "stablehlo.all_reduce"(%a) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.add %x, %y : tensor<f32>
     stablehlo.return %z : tensor<f32>
  }) {replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %13 = "stablehlo.reduce_scatter"(%a) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.add %x, %y : tensor<f32>
     stablehlo.return %z : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8xf32>) -> tensor<16x4xf32>
  %v = stablehlo.slice %a [0:1, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
  %w = stablehlo.reshape %v : (tensor<1x8xf32>) -> tensor<8xf32>
  %14 = "stablehlo.batch_norm_inference"(%a, %w, %w, %w, %w) {epsilon = 0.1 : f32, feature_index = 1 : i64} : (tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<16x8xf32>
  %15 = stablehlo.dot %a, %w : (tensor<16x8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %16 = stablehlo.dot %w, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  %17 = stablehlo.concatenate %a, dim = 1 : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %18 = "stablehlo.reduce_window"(%a, %s) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.maximum %x, %y : tensor<f32>
     stablehlo.return %z : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>, padding = dense<[[1,1],[0,0]]> : tensor<2x2xi64>} : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %21 = "stablehlo.reduce_window"(%a, %s) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.maximum %x, %y : tensor<f32>
     stablehlo.return %z : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 2>, padding = dense<[[1,-1],[0,0]]> : tensor<2x2xi64>} : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x4xf32>
  %19 = "stablehlo.select_and_scatter"(%a, %a, %s) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
     stablehlo.return %z : tensor<i1>
  }, {
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.add %x, %y : tensor<f32>
     stablehlo.return %z : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>, padding = dense<[[1,1],[0,0]]> : tensor<2x2xi64>} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %20 = "stablehlo.map"(%a, %a) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.add %x, %y : tensor<f32>
     stablehlo.return %z : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %22 = stablehlo.clamp %s, %a, %s : (tensor<f32>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %23 = stablehlo.optimization_barrier %a : tensor<16x8xf32>
  %24 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return
}
func.func @more(%a: tensor<16x8x4xf32>, %b: tensor<16x8xf32>,  %s: tensor<f32>, %i: tensor<i32>, %b4: tensor<4x8xf32>, %bi: tensor<4x8xi32>) {
  %10 = "stablehlo.all_to_all"(%a) {split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8x4xf32>) -> tensor<32x8x2xf32>
  %11 = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8x4xf32>) -> tensor<8x16x4xf32>
  %12 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8x4xf32>) -> tensor<16x8x4xf32>
  %13 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<16x8x4xf32>) -> tensor<32x8x4xf32>
  %15 = "stablehlo.reduce_window"(%b, %s) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %z = stablehlo.maximum %x, %y : tensor<f32>
     stablehlo.return %z : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: 1, 2>, window_strides = array<i64: 1, 1>, padding = dense<[[0,0],[0,-7]]> : tensor<2x2xi64>} : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %16:2 = stablehlo.custom_call @PartialReduce(%b4, %bi, %s, %i) {called_computations = [@t], mhlo.backend_config = {top_k = 4 : i64}} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x4xf32>, tensor<4x4xi32>)
  %17 = stablehlo.concatenate %b4, %b4, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %18 = stablehlo.slice %b4 [0:2, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %19 = stablehlo.concatenate %18, %b4, dim = 0 : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %20 = stablehlo.concatenate %18, %18, dim = 0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %21 = stablehlo.reshape %b4 : (tensor<4x8xf32>) -> tensor<32xf32>
  %e = stablehlo.slice %b4 [0:0, 0:8] : (tensor<4x8xf32>) -> tensor<0x8xf32>
  %22 = stablehlo.reshape %e : (tensor<0x8xf32>) -> tensor<0xf32>
  %23 = stablehlo.custom_call @X64SplitLow(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %24 = stablehlo.custom_call @X64SplitHigh(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %25 = stablehlo.custom_call @_SPMDInternalOp_RotateRight(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %26 = stablehlo.custom_call @_SPMDInternalOp_MultiRotate(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %27 = stablehlo.custom_call @InspectSharding(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %28 = stablehlo.custom_call @Sharding(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %29 = stablehlo.custom_call @lapack_spotrf_ffi(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %30 = stablehlo.custom_call @mhlo.asin(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %31 = stablehlo.custom_call @InvertDiagBlocksUpperTriangular(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %32:2 = stablehlo.custom_call @TopK(%b) : (tensor<16x8xf32>) -> (tensor<16x2xf32>, tensor<16x2xi32>)
  return
}
func.func @t(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
