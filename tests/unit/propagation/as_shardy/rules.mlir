// The factor rule of every operation that has one.
// RUN: -sdy-populate-op-sharding-rules
// RUN: -sdy-populate-op-sharding-rules=conservative-propagation=true

func.func @unary(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.abs %x : tensor<8x4xf32>
  %1 = stablehlo.cbrt %0 : tensor<8x4xf32>
  %2 = stablehlo.ceil %1 : tensor<8x4xf32>
  %3 = stablehlo.cosine %2 : tensor<8x4xf32>
  %4 = stablehlo.exponential %3 : tensor<8x4xf32>
  %5 = stablehlo.exponential_minus_one %4 : tensor<8x4xf32>
  %6 = stablehlo.floor %5 : tensor<8x4xf32>
  %7 = stablehlo.log %6 : tensor<8x4xf32>
  %8 = stablehlo.log_plus_one %7 : tensor<8x4xf32>
  %9 = stablehlo.logistic %8 : tensor<8x4xf32>
  %10 = stablehlo.negate %9 : tensor<8x4xf32>
  %11 = stablehlo.round_nearest_afz %10 : tensor<8x4xf32>
  %12 = stablehlo.round_nearest_even %11 : tensor<8x4xf32>
  %13 = stablehlo.rsqrt %12 : tensor<8x4xf32>
  %14 = stablehlo.sign %13 : tensor<8x4xf32>
  %15 = stablehlo.sine %14 : tensor<8x4xf32>
  %16 = stablehlo.sqrt %15 : tensor<8x4xf32>
  %17 = stablehlo.tan %16 : tensor<8x4xf32>
  %18 = stablehlo.tanh %17 : tensor<8x4xf32>
  %19 = stablehlo.reduce_precision %18, format = e5m10 : tensor<8x4xf32>
  return %19 : tensor<8x4xf32>
}

func.func @ints(%x: tensor<8xi32>, %y: tensor<8xi32>) -> tensor<8xi32> {
  %0 = stablehlo.not %x : tensor<8xi32>
  %1 = stablehlo.popcnt %0 : tensor<8xi32>
  %2 = stablehlo.count_leading_zeros %1 : tensor<8xi32>
  %3 = stablehlo.and %2, %y : tensor<8xi32>
  %4 = stablehlo.or %3, %y : tensor<8xi32>
  %5 = stablehlo.xor %4, %y : tensor<8xi32>
  %6 = stablehlo.shift_left %5, %y : tensor<8xi32>
  %7 = stablehlo.shift_right_arithmetic %6, %y : tensor<8xi32>
  %8 = stablehlo.shift_right_logical %7, %y : tensor<8xi32>
  %9 = stablehlo.remainder %8, %y : tensor<8xi32>
  return %9 : tensor<8xi32>
}

func.func @binary(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %x, %y : tensor<2x3xf32>
  %1 = stablehlo.atan2 %0, %y : tensor<2x3xf32>
  %2 = stablehlo.divide %1, %y : tensor<2x3xf32>
  %3 = stablehlo.maximum %2, %y : tensor<2x3xf32>
  %4 = stablehlo.minimum %3, %y : tensor<2x3xf32>
  %5 = stablehlo.multiply %4, %y : tensor<2x3xf32>
  %6 = stablehlo.power %5, %y : tensor<2x3xf32>
  %7 = stablehlo.subtract %6, %y : tensor<2x3xf32>
  return %7 : tensor<2x3xf32>
}

func.func @scalars(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %y : tensor<f32>
  return %0 : tensor<f32>
}

func.func @size_one(%x: tensor<1x8x1xf32>) -> tensor<1x8x1xf32> {
  %0 = stablehlo.add %x, %x : tensor<1x8x1xf32>
  return %0 : tensor<1x8x1xf32>
}

func.func @many(%x: tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32>) -> tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32> {
  %0 = stablehlo.negate %x : tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32>
  return %0 : tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32>
}

func.func @complexes(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.complex %x, %y : tensor<8x4xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<8x4xcomplex<f32>>) -> tensor<8x4xf32>
  %2 = stablehlo.imag %0 : (tensor<8x4xcomplex<f32>>) -> tensor<8x4xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

func.func @converted(%x: tensor<8x4xf32>) -> tensor<8x4xi1> {
  %0 = stablehlo.convert %x : (tensor<8x4xf32>) -> tensor<8x4xbf16>
  %1 = stablehlo.compare LT, %0, %0, FLOAT : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xi1>
  %2 = stablehlo.is_finite %0 : (tensor<8x4xbf16>) -> tensor<8x4xi1>
  %3 = stablehlo.and %1, %2 : tensor<8x4xi1>
  return %3 : tensor<8x4xi1>
}

func.func @bitcast_up(%x: tensor<4x2x2xui32>) -> tensor<4x2xui64> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4x2x2xui32>) -> tensor<4x2xui64>
  return %0 : tensor<4x2xui64>
}

func.func @bitcast_down(%x: tensor<4x2xui64>) -> tensor<4x2x2xui32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4x2xui64>) -> tensor<4x2x2xui32>
  return %0 : tensor<4x2x2xui32>
}

func.func @bitcast_same(%x: tensor<4x2xui32>) -> tensor<4x2xf32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4x2xui32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

func.func @broadcast(%x: tensor<2x13x1xf32>) -> tensor<2x64x13x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2, 3] : (tensor<2x13x1xf32>) -> tensor<2x64x13x3xf32>
  return %0 : tensor<2x64x13x3xf32>
}

func.func @broadcast_scalar(%x: tensor<f32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

func.func @cholesky(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<2x4x8x8xf32>
  return %0 : tensor<2x4x8x8xf32>
}

func.func @clamp(%x: tensor<4x8xf32>, %lo: tensor<f32>, %hi: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.clamp %lo, %x, %lo : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = stablehlo.clamp %hi, %0, %hi : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

func.func @concat(%x: tensor<4x3x16xf32>, %y: tensor<4x5x16xf32>) -> tensor<4x8x16xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x3x16xf32>, tensor<4x5x16xf32>) -> tensor<4x8x16xf32>
  return %0 : tensor<4x8x16xf32>
}

func.func @concat_one(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.concatenate %x, dim = 1 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

func.func @concat_slices(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.slice %x [0:4, 4:8] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.slice %x [0:4, 0:4] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

func.func @concat_slices_of_two(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.slice %x [0:4, 4:8] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.slice %y [0:4, 0:4] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

func.func @concat_slice_and_other(%x: tensor<4x8xf32>, %y: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.slice %x [0:4, 4:8] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.concatenate %0, %y, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

func.func @conv(%x: tensor<2x224x224x192xf32>, %w: tensor<3x3x192x64xf32>) -> tensor<2x112x112x64xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x224x224x192xf32>, tensor<3x3x192x64xf32>) -> tensor<2x112x112x64xf32>
  return %0 : tensor<2x112x112x64xf32>
}

func.func @conv_feature_groups(%x: tensor<8x6x16xf32>, %w: tensor<3x2x16xf32>) -> tensor<8x6x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<8x6x16xf32>, tensor<3x2x16xf32>) -> tensor<8x6x16xf32>
  return %0 : tensor<8x6x16xf32>
}

func.func @conv_batch_groups(%x: tensor<8x6x16xf32>, %w: tensor<6x16x8xf32>) -> tensor<2x1x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 4 : i64, feature_group_count = 1 : i64} : (tensor<8x6x16xf32>, tensor<6x16x8xf32>) -> tensor<2x1x8xf32>
  return %0 : tensor<2x1x8xf32>
}

func.func @conv_all_stride(%x: tensor<2x32x8xf32>, %w: tensor<4x8x16xf32>) -> tensor<2x8x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x32x8xf32>, tensor<4x8x16xf32>) -> tensor<2x8x16xf32>
  return %0 : tensor<2x8x16xf32>
}

func.func @conv_dilated(%x: tensor<2x16x8xf32>, %w: tensor<3x8x16xf32>) -> tensor<2x29x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x8xf32>, tensor<3x8x16xf32>) -> tensor<2x29x16xf32>
  return %0 : tensor<2x29x16xf32>
}

func.func @custom_calls(%x: tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>, tensor<2x8x8xf32>) {
  %0 = stablehlo.custom_call @Sharding(%x) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %1 = stablehlo.custom_call @annotate_device_placement(%0) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %2 = stablehlo.custom_call @Cholesky(%1) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %3 = stablehlo.custom_call @CompactWyHelper(%2) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %4 = stablehlo.custom_call @LayoutConstraint(%3) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %5 = stablehlo.custom_call @MoveToHost(%4) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %6 = stablehlo.custom_call @MoveToDevice(%5) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %7 = stablehlo.custom_call @mhlo.erf(%6) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %8:2 = stablehlo.custom_call @Eigh(%7) : (tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>, tensor<2x8xf32>)
  %9:2 = stablehlo.custom_call @Qr(%8#0) : (tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>, tensor<2x8xf32>)
  %10 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%9#0, %9#1) : (tensor<2x8x8xf32>, tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %11 = stablehlo.custom_call @InspectSharding(%10) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %12 = stablehlo.custom_call @X64SplitLow(%11) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %13 = stablehlo.custom_call @X64SplitHigh(%11) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %14 = stablehlo.custom_call @X64Combine(%12, %13) : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %15 = stablehlo.custom_call @tpu_custom_call(%14) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  return %13, %15 : tensor<2x8x8xf32>, tensor<2x8x8xf32>
}

func.func @topk(%x: tensor<16x8x4xf32>) -> (tensor<16x2x4xf32>, tensor<16x2x4xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%x) : (tensor<16x8x4xf32>) -> (tensor<16x2x4xf32>, tensor<16x2x4xi32>)
  return %0#0, %0#1 : tensor<16x2x4xf32>, tensor<16x2x4xi32>
}

func.func @approx_topk(%x: tensor<16x4xf32>, %y: tensor<16x4xi32>, %a: tensor<f32>, %b: tensor<i32>) -> (tensor<16x2xf32>, tensor<16x2xi32>) {
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %y, %a, %b) {api_version = 4 : i32, backend_config = {top_k = 2 : i64, reduction_dim = 1 : i64}} : (tensor<16x4xf32>, tensor<16x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<16x2xf32>, tensor<16x2xi32>)
  %1:2 = stablehlo.custom_call @PartialReduce(%x, %y, %a, %b) {api_version = 4 : i32, backend_config = {reduction_dim = 1 : i64}} : (tensor<16x4xf32>, tensor<16x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<16x2xf32>, tensor<16x2xi32>)
  return %0#0, %1#1 : tensor<16x2xf32>, tensor<16x2xi32>
}

func.func @own_rule(%x: tensor<8x2xf32>, %y: tensor<2x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @foo(%x, %y) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=2, k=8} reduction={j}, custom>} : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

func.func @dot(%a: tensor<8xf32>, %m: tensor<8x4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<8xf32>) {
  %0 = stablehlo.dot %a, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  %1 = stablehlo.dot %a, %m : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  %2 = stablehlo.dot %m, %1 : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %t = stablehlo.transpose %m, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.dot %m, %t, precision = [HIGH, DEFAULT] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<f32>, tensor<4xf32>, tensor<8xf32>
}

func.func @dot_general(%a: tensor<4x8x32xf32>, %b: tensor<4x32x16xf32>) -> tensor<4x8x16xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x32xf32>, tensor<4x32x16xf32>) -> tensor<4x8x16xf32>
  return %0 : tensor<4x8x16xf32>
}

func.func @dot_general_many(%a: tensor<4x8x32x2xf32>, %b: tensor<32x4x2x8x3x5xf32>) -> tensor<8x4x3x5xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1, 0] x [3, 1], contracting_dims = [2, 3] x [0, 2] : (tensor<4x8x32x2xf32>, tensor<32x4x2x8x3x5xf32>) -> tensor<8x4x3x5xf32>
  return %0 : tensor<8x4x3x5xf32>
}

func.func @dot_general_none(%a: tensor<4xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<4xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

func.func @dynamic_slice(%x: tensor<32x4x8xf32>, %i: tensor<i32>) -> tensor<32x1x2xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, %i, %i, sizes = [32, 1, 2] : (tensor<32x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<32x1x2xf32>
  return %0 : tensor<32x1x2xf32>
}

func.func @dynamic_update_slice(%x: tensor<32x4x8xf32>, %u: tensor<32x1x2xf32>, %i: tensor<i32>) -> tensor<32x4x8xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i, %i : (tensor<32x4x8xf32>, tensor<32x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<32x4x8xf32>
  return %0 : tensor<32x4x8xf32>
}

func.func @dynamic_update_slice_constants(%x: tensor<32x4x8xf32>, %u: tensor<32x1x2xf32>) -> tensor<32x4x8xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %j = sdy.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i, %i : (tensor<32x4x8xf32>, tensor<32x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<32x4x8xf32>
  %1 = stablehlo.dynamic_update_slice %0, %u, %j, %i, %j : (tensor<32x4x8xf32>, tensor<32x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<32x4x8xf32>
  return %1 : tensor<32x4x8xf32>
}

func.func @fft(%x: tensor<2x4x8x8xcomplex<f32>>, %r: tensor<2x4x8x8xf32>) -> (tensor<2x4x8x8xcomplex<f32>>, tensor<2x4x8x5xcomplex<f32>>) {
  %0 = stablehlo.fft %x, type = FFT, length = [8, 8] : (tensor<2x4x8x8xcomplex<f32>>) -> tensor<2x4x8x8xcomplex<f32>>
  %1 = stablehlo.fft %r, type = RFFT, length = [8] : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x5xcomplex<f32>>
  %2 = stablehlo.fft %1, type = IRFFT, length = [8] : (tensor<2x4x8x5xcomplex<f32>>) -> tensor<2x4x8x8xf32>
  return %0, %1 : tensor<2x4x8x8xcomplex<f32>>, tensor<2x4x8x5xcomplex<f32>>
}

func.func @gather(%x: tensor<3x4x2xf32>, %i: tensor<2x3x2xi64>) -> tensor<2x3x2x2xf32> {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2, 2>, indices_are_sorted = false} : (tensor<3x4x2xf32>, tensor<2x3x2xi64>) -> tensor<2x3x2x2xf32>
  return %0 : tensor<2x3x2x2xf32>
}

func.func @gather_rows(%x: tensor<64x16xf32>, %i: tensor<8x4x1xi32>) -> tensor<8x4x16xf32> {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 16>} : (tensor<64x16xf32>, tensor<8x4x1xi32>) -> tensor<8x4x16xf32>
  return %0 : tensor<8x4x16xf32>
}

func.func @gather_batching(%x: tensor<2x8x16xf32>, %i: tensor<2x4x1xi32>) -> tensor<2x4x16xf32> {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 16>} : (tensor<2x8x16xf32>, tensor<2x4x1xi32>) -> tensor<2x4x16xf32>
  return %0 : tensor<2x4x16xf32>
}

func.func @gather_no_vector_dim(%x: tensor<8x16xf32>, %i: tensor<4xi32>) -> tensor<4x1x16xf32> {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>} : (tensor<8x16xf32>, tensor<4xi32>) -> tensor<4x1x16xf32>
  return %0 : tensor<4x1x16xf32>
}

func.func @pads(%x: tensor<28x28x16xf32>, %v: tensor<f32>) -> tensor<30x26x16xf32> {
  %0 = stablehlo.pad %x, %v, low = [1, -1, 0], high = [1, -1, 0], interior = [0, 0, 0] : (tensor<28x28x16xf32>, tensor<f32>) -> tensor<30x26x16xf32>
  return %0 : tensor<30x26x16xf32>
}

func.func @pad_interior(%x: tensor<8x4xf32>, %v: tensor<f32>) -> tensor<15x4xf32> {
  %0 = stablehlo.pad %x, %v, low = [0, -1], high = [0, 1], interior = [1, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<15x4xf32>
  return %0 : tensor<15x4xf32>
}

func.func @reduces(%x: tensor<2x64x13xf32>, %y: tensor<2x64x13xi32>) -> (tensor<2x13xf32>, tensor<2x13xi32>, tensor<64xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.constant dense<0> : tensor<i32>
  %2:2 = stablehlo.reduce(%x init: %0), (%y init: %1) across dimensions = [1] : (tensor<2x64x13xf32>, tensor<2x64x13xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x13xf32>, tensor<2x13xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
      %5 = stablehlo.add %a, %b : tensor<f32>
      %6 = stablehlo.add %c, %d : tensor<i32>
      stablehlo.return %5, %6 : tensor<f32>, tensor<i32>
    }
  %3 = stablehlo.reduce(%x init: %0) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<2x64x13xf32>, tensor<f32>) -> tensor<64xf32>
  %4 = stablehlo.reduce(%x init: %0) applies stablehlo.multiply across dimensions = [] : (tensor<2x64x13xf32>, tensor<f32>) -> tensor<2x64x13xf32>
  return %2#0, %2#1, %3 : tensor<2x13xf32>, tensor<2x13xi32>, tensor<64xf32>
}

func.func @reduce_window(%x: tensor<48x48x3xf32>, %v: tensor<f32>) -> tensor<16x48x1xf32> {
  %0 = "stablehlo.reduce_window"(%x, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1, 3>, window_strides = array<i64: 3, 1, 3>, padding = dense<[[0, 0], [2, -2], [0, 0]]> : tensor<3x2xi64>} : (tensor<48x48x3xf32>, tensor<f32>) -> tensor<16x48x1xf32>
  return %0 : tensor<16x48x1xf32>
}

func.func @reduce_window_same(%x: tensor<48x8xf32>, %v: tensor<f32>) -> tensor<48x8xf32> {
  %0 = "stablehlo.reduce_window"(%x, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1>, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>} : (tensor<48x8xf32>, tensor<f32>) -> tensor<48x8xf32>
  return %0 : tensor<48x8xf32>
}

func.func @reshapes(%x: tensor<8x4x6xf32>, %s: tensor<1x8x1xf32>, %e: tensor<0x4xf32>) -> tensor<32x6xf32> {
  %0 = stablehlo.reshape %x : (tensor<8x4x6xf32>) -> tensor<32x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<32x6xf32>) -> tensor<2x16x3x2xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x16x3x2xf32>) -> tensor<12x16xf32>
  %3 = stablehlo.reshape %2 : (tensor<12x16xf32>) -> tensor<16x12xf32>
  %4 = stablehlo.reshape %3 : (tensor<16x12xf32>) -> tensor<1x192x1xf32>
  %5 = stablehlo.reshape %s : (tensor<1x8x1xf32>) -> tensor<8xf32>
  %6 = stablehlo.reshape %5 : (tensor<8xf32>) -> tensor<1x1x8xf32>
  %7 = stablehlo.reshape %e : (tensor<0x4xf32>) -> tensor<4x0xf32>
  %8 = stablehlo.reshape %4 : (tensor<1x192x1xf32>) -> tensor<32x6xf32>
  return %8 : tensor<32x6xf32>
}

func.func @reshape_odd(%x: tensor<2x3x20x5xf32>, %y: tensor<7x5xf32>) -> (tensor<6x25x4xf32>, tensor<5x7xf32>) {
  %0 = stablehlo.reshape %x : (tensor<2x3x20x5xf32>) -> tensor<6x25x4xf32>
  %1 = stablehlo.reshape %y : (tensor<7x5xf32>) -> tensor<5x7xf32>
  %2 = stablehlo.reshape %x : (tensor<2x3x20x5xf32>) -> tensor<4x15x10xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x15x10xf32>) -> tensor<600xf32>
  %4 = stablehlo.reshape %3 : (tensor<600xf32>) -> tensor<30x20xf32>
  return %0, %1 : tensor<6x25x4xf32>, tensor<5x7xf32>
}

func.func @reshape_scalar(%x: tensor<1x1xf32>) -> tensor<f32> {
  %0 = stablehlo.reshape %x : (tensor<1x1xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

func.func @reverse(%x: tensor<4x8x2xf32>) -> tensor<4x8x2xf32> {
  %0 = stablehlo.reverse %x, dims = [0, 2] : tensor<4x8x2xf32>
  return %0 : tensor<4x8x2xf32>
}

func.func @rng_bits(%x: tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %x, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>)
  return %0, %1 : tensor<2xui64>, tensor<4x8xui32>
}

func.func @scatter(%x: tensor<3x4x2xi64>, %i: tensor<2x3x2xi64>, %u: tensor<2x3x2x2xi64>) -> tensor<3x4x2xi64> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    stablehlo.return %b : tensor<i64>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2>} : (tensor<3x4x2xi64>, tensor<2x3x2xi64>, tensor<2x3x2x2xi64>) -> tensor<3x4x2xi64>
  return %0 : tensor<3x4x2xi64>
}

func.func @scatter_add(%x: tensor<64x16xf32>, %i: tensor<8x1xi32>, %u: tensor<8x16xf32>) -> tensor<64x16xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = true, unique_indices = false} : (tensor<64x16xf32>, tensor<8x1xi32>, tensor<8x16xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

func.func @scatter_two(%x: tensor<64xf32>, %y: tensor<64xi32>, %i: tensor<8x1xi32>, %u: tensor<8xf32>, %v: tensor<8xi32>) -> (tensor<64xf32>, tensor<64xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %1 = stablehlo.add %a, %c : tensor<f32>
    %2 = stablehlo.maximum %b, %d : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<64xf32>, tensor<64xi32>, tensor<8x1xi32>, tensor<8xf32>, tensor<8xi32>) -> (tensor<64xf32>, tensor<64xi32>)
  return %0#0, %0#1 : tensor<64xf32>, tensor<64xi32>
}

func.func @scatter_batching(%x: tensor<2x8x16xf32>, %i: tensor<2x4x1xi32>, %u: tensor<2x4x16xf32>) -> tensor<2x8x16xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<2x8x16xf32>, tensor<2x4x1xi32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
  return %0 : tensor<2x8x16xf32>
}

func.func @select(%p: tensor<4x8xi1>, %q: tensor<i1>, %x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.select %p, %x, %y : tensor<4x8xi1>, tensor<4x8xf32>
  %1 = stablehlo.select %q, %0, %y : tensor<i1>, tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

func.func @select_and_scatter(%x: tensor<10x24x24x64xf32>, %s: tensor<10x12x12x64xf32>, %v: tensor<f32>) -> tensor<10x24x24x64xf32> {
  %0 = "stablehlo.select_and_scatter"(%x, %s, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x12x12x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return %0 : tensor<10x24x24x64xf32>
}

func.func @slices(%x: tensor<32x4x8xf32>) -> tensor<32x1x2xf32> {
  %0 = stablehlo.slice %x [0:32, 1:2, 4:8:2] : (tensor<32x4x8xf32>) -> tensor<32x1x2xf32>
  return %0 : tensor<32x1x2xf32>
}

func.func @sort(%x: tensor<4x32x8xi32>, %y: tensor<4x32x8xf32>) -> (tensor<4x32x8xi32>, tensor<4x32x8xf32>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4x32x8xi32>, tensor<4x32x8xf32>) -> (tensor<4x32x8xi32>, tensor<4x32x8xf32>)
  return %0#0, %0#1 : tensor<4x32x8xi32>, tensor<4x32x8xf32>
}

func.func @sort_only_dim(%x: tensor<1x32x1xi32>) -> tensor<1x32x1xi32> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<1x32x1xi32>) -> tensor<1x32x1xi32>
  return %0 : tensor<1x32x1xi32>
}

func.func @transpose(%x: tensor<2x16x4x8xf32>) -> tensor<8x16x2x4xf32> {
  %0 = stablehlo.transpose %x, dims = [3, 1, 0, 2] : (tensor<2x16x4x8xf32>) -> tensor<8x16x2x4xf32>
  return %0 : tensor<8x16x2x4xf32>
}

func.func @triangular_solve(%a: tensor<8x3x3xf32>, %b: tensor<8x3x5xf32>) -> tensor<8x3x5xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false} : (tensor<8x3x3xf32>, tensor<8x3x5xf32>) -> tensor<8x3x5xf32>
  return %0 : tensor<8x3x5xf32>
}

func.func @triangular_solve_right(%a: tensor<8x3x3xf32>, %b: tensor<8x5x3xf32>) -> tensor<8x5x3xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false} : (tensor<8x3x3xf32>, tensor<8x5x3xf32>) -> tensor<8x5x3xf32>
  return %0 : tensor<8x5x3xf32>
}

func.func @batch_norm(%x: tensor<4x8x3xf32>, %s: tensor<8xf32>) -> tensor<4x8x3xf32> {
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<4x8x3xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8x3xf32>
  return %0 : tensor<4x8x3xf32>
}

func.func @constants() -> (tensor<4xi32>, tensor<8x8xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %1 = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  return %0, %1 : tensor<4xi32>, tensor<8x8xf32>
}

func.func @collectives(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
  %3 = "stablehlo.reduce_scatter"(%2) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %4 = "stablehlo.all_to_all"(%3) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %5 = "stablehlo.collective_permute"(%4) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %6 = "stablehlo.collective_broadcast"(%5) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %7 = stablehlo.reshape %6 : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

func.func @barrier(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.optimization_barrier %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
