// RUN: shardc-opt %s -p localize --no-locations --split-input-file | filecheck %s

// Global types become those of blocks, and collectives name their axes. Arguments keep their global types outside.
// CHECK-LABEL: func.func @main(%h: tensor<32x256xf32>
// CHECK-NEXT: sdy.manual_computation(%h, %w) in_shardings=[<@pod, [{"data"}, {"model"}]>, <@pod, [{"model"}, {}]>]
// CHECK-SAME: out_shardings=[<@pod, [{"data"}, {}]>] manual_axes={"data", "model"}
// CHECK-SAME: tensor<16x64xf32>, {{.*}}tensor<64x64xf32>
// CHECK-NEXT: stablehlo.dot_general {{.*}} -> tensor<16x64xf32>
// CHECK-NEXT: "spmd.all_reduce"({{.*}}) {axes = ["model"], kind = "sum"
// CHECK-NEXT: sdy.return
sdy.mesh @pod = <["data"=2, "model"=4]>
func.func @main(
    %h: tensor<32x256xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {"model"}]>},
    %w: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"model"}, {}]>})
    -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}) {
  %0 = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@pod, [{"data"}, {}], unreduced={"model"}>]>}
      : (tensor<32x256xf32>, tensor<256x64xf32>) -> tensor<32x64xf32>
  %1 = sdy.all_reduce {"model"} %0 out_sharding=<@pod, [{"data"}, {}]> : tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}

// -----

// Padding must not be seen: the block of 3 is masked by minus infinity where it is beyond the 10 elements.
// CHECK-LABEL: @main
// CHECK: [[SIZE:%.*]] = stablehlo.constant dense<10> : tensor<3xi32>
// CHECK: "spmd.axis_index"() {axes = ["r"]}
// CHECK: [[INSIDE:%.*]] = stablehlo.compare LT, {{.*}}, [[SIZE]], SIGNED
// CHECK: [[MASKED:%.*]] = stablehlo.select [[INSIDE]], %x
// CHECK: [[PART:%.*]] = stablehlo.reduce([[MASKED]] {{.*}} applies stablehlo.maximum
// CHECK: "spmd.all_reduce"([[PART]]) {axes = ["r"], kind = "max"
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<10xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>})
    -> (tensor<f32> {sdy.sharding = #sdy.sharding<@ring, []>}) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@ring, [], replicated={"r"}>]>, shardc.partial = {max = ["r"]}}
      : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
  %1 = sdy.all_reduce {"r"} %0 out_sharding=<@ring, []> : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// A device makes its own block of an iota: its numbers start where the block does.
// CHECK-LABEL: @main
// CHECK: [[LOCAL:%.*]] = stablehlo.iota dim = 0 : tensor<2xi32>
// CHECK: "spmd.axis_index"() {axes = ["r"]}
// CHECK: stablehlo.add [[LOCAL]], {{.*}} : tensor<2xi32>
sdy.mesh @ring = <["r"=4]>
func.func @main(%unused: tensor<f32>) -> (tensor<8xi32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) {
  %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : tensor<8xi32>
  return %0 : tensor<8xi32>
}

// -----

// One of several dimensions is counted along its own, before it is repeated along the others.
// CHECK-LABEL: @main
// CHECK: [[LOCAL:%.*]] = stablehlo.iota dim = 0 : tensor<2xi32>
// CHECK: "spmd.axis_index"() {axes = ["r"]}
// CHECK: [[HERE:%.*]] = stablehlo.add [[LOCAL]], {{.*}} : tensor<2xi32>
// CHECK: stablehlo.broadcast_in_dim [[HERE]], dims = [1] {{.*}} -> tensor<3x2xi32>
sdy.mesh @ring = <["r"=4]>
func.func @main(%unused: tensor<f32>) -> (tensor<3x8xi32> {sdy.sharding = #sdy.sharding<@ring, [{}, {"r"}]>}) {
  %0 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{}, {"r"}]>]>} : tensor<3x8xi32>
  return %0 : tensor<3x8xi32>
}

// -----

// Along an axis of one device a block is the whole already.
// CHECK-LABEL: @main
// CHECK: sdy.manual_computation
// CHECK-NOT: dynamic_update_slice
// CHECK: sdy.return
sdy.mesh @row = <["one"=1, "r"=2]>
func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@row, [{"one"}, {"r"}]>}) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@row, [{}, {"r"}]>}) {
  %0 = sdy.sharded_to_unreduced [{"one"}, {}] %x out_sharding=<@row, [{}, {"r"}], replicated={"one"}> {shardc.partial = {max = ["one"]}} : tensor<4x8xf32>
  %1 = sdy.all_reduce {"one"} %0 out_sharding=<@row, [{}, {"r"}]> : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Zeros come by themselves where a permute sends nothing; ones do not, nor zeros with a sign.
// CHECK-LABEL: @main
// CHECK: [[ZERO:%.*]] = "spmd.collective_permute"({{.*}}) {axes = ["r"], pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: stablehlo.concatenate [[ZERO]],
// CHECK: [[ONE:%.*]] = "spmd.collective_permute"
// CHECK: stablehlo.select {{.*}}, [[ONE]],
// CHECK: [[SIGNED:%.*]] = "spmd.collective_permute"
// CHECK: stablehlo.select {{.*}}, [[SIGNED]],
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %negative = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0] {shardc.form = "moved", sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.pad %x, %one, low = [1], high = [-1], interior = [0] {shardc.form = "moved", sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.pad %x, %negative, low = [1], high = [-1], interior = [0] {shardc.form = "moved", sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
