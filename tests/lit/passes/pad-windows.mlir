// RUN: shardc-opt %s -p pad-windows --no-locations --split-input-file | filecheck %s

// The tensor is split, so it is scattered to in its own shape. Padding of what is whole comes along.
// CHECK-LABEL: @split
// CHECK-NEXT: [[LOW:%.*]] = stablehlo.constant dense<0xFF800000>
// CHECK-NEXT: [[ZERO:%.*]] = stablehlo.constant dense<0.000000e+00>
// CHECK-NEXT: "shardc.unpool"(%x, %s, [[LOW]], [[ZERO]])
// CHECK-SAME: window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>
// CHECK-SAME{LITERAL}: padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>
// CHECK: stablehlo.compare GE
// CHECK: stablehlo.add
// CHECK: {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x6xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> tensor<8x6xf32>
// CHECK-NEXT: return
sdy.mesh @ring = <["r"=4]>
func.func @split(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}, %s: tensor<4x3xf32>) -> tensor<8x6xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %low, low = [1, 0], high = [1, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x6xf32>, tensor<f32>) -> tensor<10x7xf32>
  %1 = "stablehlo.select_and_scatter"(%0, %s, %zero) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<10x7xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<10x7xf32>
  %2 = stablehlo.slice %1 [1:9, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<10x7xf32>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}

// -----

// Only a dimension that is whole is padded: nothing changes.
// CHECK-LABEL: @whole
// CHECK: stablehlo.pad
// CHECK: "stablehlo.select_and_scatter"
// CHECK: stablehlo.slice
sdy.mesh @ring = <["r"=4]>
func.func @whole(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}, %s: tensor<8x3xf32>) -> tensor<8x6xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %low, low = [0, 0], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x7xf32>
  %1 = "stablehlo.select_and_scatter"(%0, %s, %zero) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<8x7xf32>, tensor<8x3xf32>, tensor<f32>) -> tensor<8x7xf32>
  %2 = stablehlo.slice %1 [0:8, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x7xf32>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}

// -----

// The slice takes one element of the padding, which may have been selected.
// CHECK-LABEL: @other_part
// CHECK: stablehlo.pad
// CHECK: "stablehlo.select_and_scatter"
// CHECK: stablehlo.slice
sdy.mesh @ring = <["r"=4]>
func.func @other_part(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, %s: tensor<4xf32>) -> tensor<8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %low, low = [1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = "stablehlo.select_and_scatter"(%0, %s, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<10xf32>, tensor<4xf32>, tensor<f32>) -> tensor<10xf32>
  %2 = stablehlo.slice %1 [0:8] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Zeros around and between what is summed, and between what windows have between themselves.
// CHECK-LABEL: @sums
// CHECK-NOT: stablehlo.pad
// CHECK: "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>, base_dilations = array<i64: 4>
// CHECK-SAME{LITERAL}: padding = dense<[[5, 2]]>
sdy.mesh @ring = <["r"=4]>
func.func @sums(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<34xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [2], high = [1], interior = [1] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<18xf32>
  %1 = "stablehlo.reduce_window"(%0, %zero) <{window_dimensions = array<i64: 3>, base_dilations = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<18xf32>, tensor<f32>) -> tensor<34xf32>
  return %1 : tensor<34xf32>
}

// -----

// Zeros may be more than what they stand beside.
// CHECK-LABEL: @maxima
// CHECK: stablehlo.pad
sdy.mesh @ring = <["r"=4]>
func.func @maxima(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = "stablehlo.reduce_window"(%0, %zero) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<10xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// A convolution pads places, and no features.
// CHECK-LABEL: @convolutions
// CHECK: [[PLACES:%.*]] = stablehlo.convolution(%x, %k) {{.*}}window = {pad = {{\[\[}}1, 2]]
// CHECK: [[PADDED:%.*]] = stablehlo.pad %x
// CHECK: stablehlo.convolution([[PADDED]], %l) {{.*}}window = {pad = {{\[\[}}0, 0]]
sdy.mesh @ring = <["r"=4]>
func.func @convolutions(%x: tensor<1x8x2xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {"r"}, {}]>}, %k: tensor<3x2x4xf32>, %l: tensor<3x3x4xf32>) -> (tensor<1x9x4xf32>, tensor<1x8x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{}, {"r"}, {}]>]>} : (tensor<1x8x2xf32>, tensor<f32>) -> tensor<1x11x2xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x11x2xf32>, tensor<3x2x4xf32>) -> tensor<1x9x4xf32>
  %2 = stablehlo.pad %x, %zero, low = [0, 1, 0], high = [0, 1, 1], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{}, {"r"}, {}]>]>} : (tensor<1x8x2xf32>, tensor<f32>) -> tensor<1x10x3xf32>
  %3 = stablehlo.convolution(%2, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x10x3xf32>, tensor<3x3x4xf32>) -> tensor<1x8x4xf32>
  return %1, %3 : tensor<1x9x4xf32>, tensor<1x8x4xf32>
}

// -----

// Sums of which one is used by itself, and all are used elsewhere: the slice takes it.
// CHECK-LABEL: @used_twice
// CHECK: [[SUMS:%.*]] = "stablehlo.reduce_window"(%x
// CHECK-NOT: "stablehlo.reduce_window"
// CHECK: stablehlo.slice [[SUMS]] [7:8]
sdy.mesh @ring = <["r"=4]>
func.func @used_twice(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> (tensor<8xf32>, tensor<1xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 8>, padding = dense<[[7, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [7:8] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>) -> tensor<1xf32>
  return %0, %1 : tensor<8xf32>, tensor<1xf32>
}
