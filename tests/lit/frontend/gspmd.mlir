// RUN: shardc-opt %s --no-locations | filecheck %s

// Digits of the device numbers that all strings count by: 2 x 2 x 2.
// CHECK: sdy.mesh @mesh = <["x0"=2, "x1"=2, "x2"=2]>
// CHECK: @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x0"}, {}]>},
// CHECK-SAME: %y: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x0"}, {}]>},
// CHECK-SAME: %w: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x2"}, {"x1"}]>},
// CHECK-SAME: %c: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>})
// CHECK-SAME: -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x1", "x2"}]>})
func.func @main(
    %x: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"},
    %y: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dims={replicated}, metadata={op_name=\"a{b}\"}}"},
    %w: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2,2]<=[2,2,2]T(2,1,0) last_tile_dim_replicate}"},
    %c: tensor<f32> {mhlo.sharding = "{replicated}"})
    -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"}) {
  // CHECK: stablehlo.add %x, %y {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x0", "x1"}]>]>}
  %0 = stablehlo.add %x, %y {mhlo.sharding = "{devices=[1,4,2]<=[8] last_tile_dim_replicate}"} : tensor<8x4xf32>
  // CHECK: sdy.sharding_constraint %0 <@mesh, [{"x0", "x1", "x2"}, {}]>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.sharding_constraint %1 <@mesh, [{"x0", ?}, {}]>
  %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
