// What passes through operations, and how modules print.
// RUN: -sdy-basic-propagate
// RUN: -sdy-aggressive-propagate
// RUN: -sdy-op-priority-propagate
// RUN: -sdy-user-priority-propagate
// RUN: -sdy-basic-propagate=conservative-propagation=true
// RUN: -sdy-basic-propagate=keep-sharding-rules=true

sdy.mesh @empty_mesh = <[]>
sdy.mesh @maximal_mesh = <[], device_ids=[0]>
sdy.mesh @mesh_a_3 = <["a"=3]>
sdy.mesh @mesh_a_6 = <["a"=6]>
sdy.mesh @m22 = <["a"=2, "b"=2]>
sdy.mesh @m23 = <["a"=2, "b"=3]>
sdy.mesh @m42 = <["a"=4, "b"=2]>
sdy.mesh @m44 = <["a"=4, "b"=4]>
sdy.mesh @m62 = <["a"=6, "b"=2]>
sdy.mesh @m162 = <["a"=16, "b"=2]>
sdy.mesh @m121 = <["a"=1, "b"=2, "c"=1]>
sdy.mesh @m1212 = <["a"=1, "b"=2, "c"=1, "d"=2]>
sdy.mesh @m222 = <["a"=2, "b"=2, "c"=2]>
sdy.mesh @m422 = <["a"=4, "b"=2, "c"=2]>
sdy.mesh @m2322 = <["a"=2, "b"=3, "c"=2, "d"=2]>
sdy.mesh @other_3 = <["a"=3]>

func.func @dots(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a"}, {"b"}]>}, %arg1: tensor<8x8xf32>, %arg2: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %arg2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
func.func @zero(%arg0: tensor<8x0xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a"}, {"b"}]>}) -> tensor<8x0xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<8x0xf32>
  return %0 : tensor<8x0xf32>
}
func.func @ones(%arg0: tensor<8x0xf32> {sdy.sharding = #sdy.sharding<@m121, [{}, {"a"}]>}) -> tensor<8x0xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<8x0xf32>
  return %0 : tensor<8x0xf32>
}
func.func @multi(%arg0: tensor<4x64x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{}, {"a"}, {"b"}]>}, %arg1: tensor<4x64x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %1:2 = stablehlo.reduce(%arg0 init: %0), (%arg1 init: %0) across dimensions = [1] : (tensor<4x64x8xf32>, tensor<4x64x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<f32>, %arg5: tensor<f32>)  {
      %2 = stablehlo.add %arg2, %arg4 : tensor<f32>
      %3 = stablehlo.add %arg3, %arg5 : tensor<f32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<f32>
    }
  return %1#0, %1#1 : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func @multi_back(%arg0: tensor<4x64x8xf32>, %arg1: tensor<4x64x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %1:2 = stablehlo.reduce(%arg0 init: %0), (%arg1 init: %0) across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@m22, [{?}, {"b", ?}]>, <@m22, [{?}, {?}]>]>} : (tensor<4x64x8xf32>, tensor<4x64x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<f32>, %arg5: tensor<f32>)  {
      %2 = stablehlo.add %arg2, %arg4 : tensor<f32>
      %3 = stablehlo.add %arg3, %arg5 : tensor<f32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<f32>
    }
  return %1#0, %1#1 : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func @closed(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a"}, {}]>}, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m22, [{}, {"b"}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@m22, [{}, {?}]>]>} : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
func.func @constraint(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.sharding_constraint %arg0 <@m22, [{"a"}, {?}]> : tensor<8x8xf32>
  %1 = stablehlo.add %0, %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
func.func @reshard(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{"b"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.reshard %arg0 <@m22, [{"a"}, {}]> : tensor<8x8xf32>
  %1 = stablehlo.add %0, %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
func.func @barriers(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m222, [{"a", ?}, {"c", ?}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m222, [{"a","b",?}, {?}]>}, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<8x8xf32>
  %1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<8x8xf32>
  %2 = stablehlo.add %1, %1 : tensor<8x8xf32>
  %3 = sdy.propagation_barrier %0 allowed_direction=FORWARD : tensor<8x8xf32>
  %4 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8x8xf32>
  return %2, %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
func.func @conflict(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m222, [{"a", "b", ?}, {?}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m222, [{"a", "c", ?}, {"b", ?}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @replicated(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m222, [{"a", ?}, {?}], replicated={"b", "c"}>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m222, [{?}, {"b", ?}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  %1 = stablehlo.add %arg1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@m222, [{?}, {?}], unreduced={"a"}>]>} : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func @sub_axes(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m44, [{"a":(1)2, ?}, {?}], replicated={"b":(1)2}>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m44, [{?}, {"a":(2)2, "b", ?}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @split_reshape(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m44, [{"a"}, {"b"}]>}) -> tensor<2x4x8xf32> {
  %0 = stablehlo.reshape %arg0 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}
func.func @merge_reshape(%arg0: tensor<2x4x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m42, [{"a", "b"}, {}]>}) {
  %0 = stablehlo.reshape %arg0 : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @reshape_3(%arg0: tensor<24xf32> {sdy.sharding = #sdy.sharding<@m2322, [{"a", "b", "c", "d"}]>}) -> tensor<6x2x2xf32> {
  %0 = stablehlo.reshape %arg0 : (tensor<24xf32>) -> tensor<6x2x2xf32>
  return %0 : tensor<6x2x2xf32>
}
func.func @reshape_uneven(%arg0: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@m44, [{"a"}, {"b"}]>}) -> tensor<3x8xf32> {
  %0 = stablehlo.reshape %arg0 : (tensor<6x4xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
func.func @reshape_overflow(%arg0: tensor<32xf32> {sdy.sharding = #sdy.sharding<@m162, [{"b", "a"}]>}) -> tensor<4x8xf32> {
  %0 = stablehlo.reshape %arg0 : (tensor<32xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @reshape_six(%arg0: tensor<2x4xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m62, [{"a", "b"}]>}) {
  %0 = stablehlo.reshape %arg0 : (tensor<2x4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @maximal(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh, []>]>} : tensor<8x8xf32>
  %1 = stablehlo.custom_call @sdy_testonly(%0) {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh, []>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
func.func @two_meshes(%arg0: tensor<9xf32> {sdy.sharding = #sdy.sharding<@mesh_a_3, [{"a"}]>}, %arg1: tensor<9xf32> {sdy.sharding = #sdy.sharding<@mesh_a_6, [{?}]>}) -> tensor<9xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<9xf32>
  return %0 : tensor<9xf32>
}
func.func @same_meshes(%arg0: tensor<9xf32> {sdy.sharding = #sdy.sharding<@mesh_a_3, [{"a"}]>}, %arg1: tensor<9xf32> {sdy.sharding = #sdy.sharding<@other_3, [{?}]>}) -> tensor<9xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<9xf32>
  return %0 : tensor<9xf32>
}
func.func @empty_meshes(%arg0: tensor<9xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}, %arg1: tensor<9xf32> {sdy.sharding = #sdy.sharding<@mesh_a_3, [{"a"}]>}, %arg2: tensor<9xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{?}]>}) -> tensor<9xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<9xf32>
  %1 = stablehlo.add %0, %arg2 : tensor<9xf32>
  return %1 : tensor<9xf32>
}
func.func @own_rule(%arg0: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a"}, {"b"}]>}, %arg1: tensor<2x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @sdy_testonly(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=2, k=4} reduction={j}, custom>} : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func @own_rule_not_custom(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m42, [{"b", "a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k], [ij, k])->([ij, k]) {i=4, j=2, k=8}>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @dead(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m42, [{"a"}, {}]>}, %arg1: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  %1 = stablehlo.add %0, %arg1 : tensor<8x8xf32>
  return %arg1 : tensor<8x8xf32>
}
func.func @gathers(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m42, [{"b"}, {?}]>}, %arg1: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m42, [{"a"}, {?}]>}) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m42, [{?}, {"b"}]>}) {
  %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>} : (tensor<16x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @conv(%arg0: tensor<8x16x16x4xf32> {sdy.sharding = #sdy.sharding<@m222, [{"a"}, {"b"}, {?}, {"c"}]>}, %arg1: tensor<3x3x4x8xf32>) -> tensor<8x8x8x8xf32> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x4xf32>, tensor<3x3x4x8xf32>) -> tensor<8x8x8x8xf32>
  return %0 : tensor<8x8x8x8xf32>
}
func.func @result_only(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a"}, {?}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{?}, {"b"}]>}) {
  return %arg0, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func @attrs_kept(%arg0: tensor<8x8xf32> {mhlo.memory_kind = "x", sdy.sharding = #sdy.sharding<@m22, [{"a"}, {?}]>, tf.aliasing_output = 0 : i32}) -> (tensor<8x8xf32> {jax.result_info = "result"}) {
  %0 = stablehlo.add %arg0, %arg0 {foo = "bar", mhlo.x = 1 : i64} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @unregistered_attrs(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a", "b", ?}]>}) -> tensor<4xf32> attributes {my.attr = [1, 2], other = {b = 1, a = "x"}} {
  %0 = stablehlo.tanh %arg0 {a.x = [true, 1 : i32, 2.5, "s", unit, dense<3> : tensor<2xi32>], d = array<i64: 1, 2>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @private_one(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a", "b", ?}]>}) -> tensor<4xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @dusds(%x: tensor<32x4x8xf32> {sdy.sharding = #sdy.sharding<@m222, [{"a"}, {"b"}, {"c"}]>}, %u: tensor<32x1x2xf32>, %i: tensor<i32>) -> (tensor<32x4x8xf32>, tensor<32x1x2xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %c, %i : (tensor<32x4x8xf32>, tensor<32x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<32x4x8xf32>
  %1 = stablehlo.dynamic_slice %0, %i, %i, %i, sizes = [32, 1, 2] : (tensor<32x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<32x1x2xf32>
  return %0, %1 : tensor<32x4x8xf32>, tensor<32x1x2xf32>
}
func.func @sorts(%x: tensor<4x32x8xi32> {sdy.sharding = #sdy.sharding<@m222, [{"a"}, {"b"}, {"c"}]>}) -> (tensor<4x32x8xi32>, tensor<32xi32>) {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %2 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4x32x8xi32>) -> tensor<4x32x8xi32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0, 2] : (tensor<4x32x8xi32>, tensor<i32>) -> tensor<32xi32>
  return %0, %1 : tensor<4x32x8xi32>, tensor<32xi32>
}
func.func @consts() -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a"}, {?}]>}, tensor<2xi1>, tensor<2xcomplex<f32>>, tensor<2x2xbf16>, tensor<0xf32>) {
  %0 = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %1 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %2 = stablehlo.constant dense<[(1.0, 2.0), (3.0, -1.5)]> : tensor<2xcomplex<f32>>
  %3 = stablehlo.constant dense<[[1.0, 2.5], [-3.0e10, 0xFF80]]> : tensor<2x2xbf16>
  %4 = stablehlo.constant dense<> : tensor<0xf32>
  return %0, %1, %2, %3, %4 : tensor<8x8xf32>, tensor<2xi1>, tensor<2xcomplex<f32>>, tensor<2x2xbf16>, tensor<0xf32>
}
func.func @more_consts() -> (tensor<f32>, tensor<3xf32>, tensor<f64>, tensor<2xi1>, tensor<ui8>, tensor<f32>) {
  %0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %1 = stablehlo.constant dense<[0.1, 1.0e-7, 3.14159265]> : tensor<3xf32>
  %2 = stablehlo.constant dense<0.1> : tensor<f64>
  %3 = stablehlo.constant dense<true> : tensor<2xi1>
  %4 = stablehlo.constant dense<255> : tensor<ui8>
  %5 = stablehlo.constant dense<0xFFC00000> : tensor<f32>
  return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<3xf32>, tensor<f64>, tensor<2xi1>, tensor<ui8>, tensor<f32>
}
func.func @sdy_const() -> tensor<8x8xf32> {
  %0 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@m22, [{"a"}, {?}]>]>} dense<1.0> : tensor<8x8xf32>
  %1 = sdy.constant dense<1.0> : tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
func.func @rng(%x: tensor<2xui64> {sdy.sharding = #sdy.sharding<@m22, [{"a"}]>}) -> (tensor<2xui64>, tensor<4x8xui32>) {
  %s, %o = stablehlo.rng_bit_generator %x, algorithm = DEFAULT {sdy.sharding = #sdy.sharding_per_value<[<@m22, [{?}]>, <@m22, [{"a", ?}, {?}]>]>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>)
  %s2, %o2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>)
  %1 = stablehlo.add %o, %o2 : tensor<4x8xui32>
  return %s2, %1 : tensor<2xui64>, tensor<4x8xui32>
}
func.func @priorities_ignored(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m22, [{"a"}p1, {"b", ?}p0]>}, %arg1: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @no_args() {
  return
}
func.func @token(%arg0: !stablehlo.token) -> !stablehlo.token {
  %0 = stablehlo.after_all %arg0, %arg0 : !stablehlo.token
  %1 = stablehlo.create_token : !stablehlo.token
  return %0 : !stablehlo.token
}
