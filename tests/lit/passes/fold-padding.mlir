// RUN: shardc-opt %s -p fold-padding --no-locations --split-input-file | filecheck %s

// A stencil: each slice is the tensor, moved. The split dimension is moved, the other one cut and padded.
// CHECK-LABEL: @stencil
// CHECK-NOT: high = [1, 1]
// CHECK: [[UP:%.*]] = stablehlo.pad %x, %zero, low = [1, 0], high = [-1, 0], interior = [0, 0] {{.*}}sdy.sharding{{.*}} -> tensor<8x6xf32>
// CHECK-NEXT: [[CUT:%.*]] = stablehlo.slice %x [0:8, 0:5] {{.*}} -> tensor<8x5xf32>
// CHECK-NEXT: [[LEFT:%.*]] = stablehlo.pad [[CUT]], %zero, low = [0, 1], high = [0, 0], interior = [0, 0]
// CHECK-NEXT: [[SUM:%.*]] = stablehlo.add [[UP]], [[LEFT]]
// CHECK-NEXT: stablehlo.add [[SUM]], %x
sdy.mesh @ring = <["r"=4]>
func.func @stencil(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}) -> tensor<8x6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}, {?}]>]>} : (tensor<8x6xf32>, tensor<f32>) -> tensor<10x8xf32>
  %1 = stablehlo.slice %0 [0:8, 1:7] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}, {?}]>]>} : (tensor<10x8xf32>) -> tensor<8x6xf32>
  %2 = stablehlo.slice %0 [1:9, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}, {?}]>]>} : (tensor<10x8xf32>) -> tensor<8x6xf32>
  %3 = stablehlo.slice %0 [1:9, 1:7] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}, {?}]>]>} : (tensor<10x8xf32>) -> tensor<8x6xf32>
  %4 = stablehlo.add %1, %2 : tensor<8x6xf32>
  %5 = stablehlo.add %4, %3 : tensor<8x6xf32>
  return %5 : tensor<8x6xf32>
}

// -----

// What others use of the padded tensor stays, as do slices with steps.
// CHECK-LABEL: @used
// CHECK: [[PAD:%.*]] = stablehlo.pad %x, %zero, low = [1], high = [1]
// CHECK-NEXT: [[STEPS:%.*]] = stablehlo.slice [[PAD]] [0:10:2]
// CHECK-NEXT: return [[PAD]], %x, [[STEPS]]
sdy.mesh @ring = <["r"=4]>
func.func @used(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> (tensor<10xf32>, tensor<8xf32>, tensor<5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [1:9] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  %2 = stablehlo.slice %0 [0:10:2] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10xf32>) -> tensor<5xf32>
  return %0, %1, %2 : tensor<10xf32>, tensor<8xf32>, tensor<5xf32>
}

// -----

// Where nothing is split nothing is sent, and a slice of padding alone has nothing of the tensor.
// CHECK-LABEL: @whole
// CHECK: stablehlo.pad %x, %zero, low = [1, 9], high = [1, 0]
// CHECK: stablehlo.slice {{.*}} [1:9, 0:13]
// CHECK: stablehlo.pad %y, %zero, low = [4], high = [0]
// CHECK: stablehlo.slice {{.*}} [0:4]
sdy.mesh @ring = <["r"=4]>
func.func @whole(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {"r"}]>}, %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> (tensor<8x13xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [1, 9], high = [1, 0], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<10x13xf32>
  %1 = stablehlo.slice %0 [1:9, 0:13] : (tensor<10x13xf32>) -> tensor<8x13xf32>
  %2 = stablehlo.pad %y, %zero, low = [4], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = stablehlo.slice %2 [0:4] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<8xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<8x13xf32>, tensor<4xf32>
}

// -----

// The derivative of a stencil: padding by less than nothing is a slice, and one of a sum is a sum of slices.
// CHECK-LABEL: @derivative
// CHECK-NOT: tensor<10xf32>
// CHECK: [[UP:%.*]] = stablehlo.pad %g, %zero, low = [1], high = [-1], interior = [0] {{.*}} -> tensor<8xf32>
// CHECK-NEXT: [[DOWN:%.*]] = stablehlo.pad %h, %zero, low = [-1], high = [1], interior = [0]
// CHECK-NEXT: [[SUM:%.*]] = stablehlo.add [[UP]], [[DOWN]]
// CHECK-NEXT: stablehlo.add [[SUM]], %g {{.*}}sdy.sharding
sdy.mesh @ring = <["r"=4]>
func.func @derivative(%g: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, %h: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %g, %zero, low = [2], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.pad %h, %zero, low = [0], high = [2], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : tensor<10xf32>
  %3 = stablehlo.pad %g, %zero, low = [1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %4 = stablehlo.add %2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : tensor<10xf32>
  %5 = stablehlo.pad %4, %zero, low = [-1], high = [-1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10xf32>, tensor<f32>) -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// -----

// Slices of slices are looked through; a sum that others use, too, or of what is not padded, stays.
// CHECK-LABEL: @slices
// CHECK: [[MOVED:%.*]] = stablehlo.pad %x, %zero, low = [-1], high = [1], interior = [0]
// CHECK: [[USED:%.*]] = stablehlo.add
// CHECK-SAME: tensor<10xf32>
// CHECK: stablehlo.slice [[USED]] [1:9]
// CHECK: [[OTHER:%.*]] = stablehlo.add {{.*}}, %y
// CHECK: stablehlo.slice [[OTHER]] [1:9]
// CHECK: return [[MOVED]], [[USED]]
sdy.mesh @ring = <["r"=4]>
func.func @slices(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, %y: tensor<10xf32>) -> (tensor<8xf32>, tensor<10xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [1:10] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10xf32>) -> tensor<9xf32>
  %2 = stablehlo.slice %1 [1:9] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<9xf32>) -> tensor<8xf32>
  %3 = stablehlo.pad %x, %zero, low = [2], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %4 = stablehlo.add %3, %3 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : tensor<10xf32>
  %5 = stablehlo.slice %4 [1:9] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  %6 = stablehlo.add %3, %y {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : tensor<10xf32>
  %7 = stablehlo.slice %6 [1:9] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  return %2, %4, %5, %7 : tensor<8xf32>, tensor<10xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Slices that share out a sum of padded tensors and constants: where nothing of a tensor is left there is what
// it was padded with. What was summed over nothing, and over dimensions of size 1 that came and went, is gone.
// CHECK-LABEL: @shared_out
// CHECK: [[UP:%.*]] = stablehlo.pad %x, %zero, low = [-1], high = [1], interior = [0]
// CHECK: [[DOWN:%.*]] = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0]
// CHECK: [[SUM:%.*]] = stablehlo.add [[UP]], [[DOWN]]
// CHECK: [[ALL:%.*]] = stablehlo.add [[SUM]], {{.*}} tensor<8xf32>
// CHECK: [[FIRST:%.*]] = stablehlo.pad %x, %zero, low = [0], high = [-7], interior = [0]
// CHECK: [[ADDED:%.*]] = stablehlo.add [[FIRST]], {{.*}} tensor<1xf32>
// CHECK: [[ONE:%.*]] = stablehlo.add [[ADDED]], {{.*}} tensor<1xf32>
// CHECK: stablehlo.pad [[ONE]], %zero, low = [0], high = [7]
sdy.mesh @ring = <["r"=4]>
func.func @shared_out(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, %none: tensor<10x0xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0], high = [2], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.pad %x, %zero, low = [2], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : tensor<10xf32>
  %3 = stablehlo.reduce(%none init: %zero) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10x0xf32>, tensor<f32>) -> tensor<10xf32>
  %4 = stablehlo.add %2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : tensor<10xf32>
  %5 = stablehlo.slice %4 [1:9] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  %6 = stablehlo.slice %4 [0:1] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{?}]>]>} : (tensor<10xf32>) -> tensor<1xf32>
  %7 = stablehlo.reshape %6 : (tensor<1xf32>) -> tensor<1x1xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1xf32>, tensor<f32>) -> tensor<f32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<1xf32>
  %10 = stablehlo.pad %9, %zero, low = [0], high = [7], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<1xf32>, tensor<f32>) -> tensor<8xf32>
  return %5, %10 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A slice to which as many constants are joined at the other end, or with which it is padded there, is the
// tensor moved. One that is cut where it is joined, and one that gets longer, stay.
// CHECK-LABEL: @shifted
// CHECK: [[DOWN:%.*]] = stablehlo.pad %x, {{.*}}, low = [1], high = [-1], interior = [0]
// CHECK: [[UP:%.*]] = stablehlo.pad %x, %zero, low = [-2], high = [2], interior = [0]
// CHECK: [[CUT:%.*]] = stablehlo.slice %x [1:8]
// CHECK: [[THERE:%.*]] = stablehlo.concatenate {{.*}}, [[CUT]], dim = 0
// CHECK: [[LONGER:%.*]] = stablehlo.concatenate {{.*}}, [[CUT]], dim = 0
// CHECK: return [[DOWN]], [[UP]], [[THERE]], [[LONGER]]
sdy.mesh @ring = <["r"=4]>
func.func @shifted(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<10xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<1xf32>
  %three = stablehlo.constant dense<1.0> : tensor<3xf32>
  %0 = stablehlo.slice %x [0:7] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>) -> tensor<7xf32>
  %1 = stablehlo.concatenate %one, %0, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %2 = stablehlo.slice %x [2:8] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>) -> tensor<6xf32>
  %3 = stablehlo.pad %2, %zero, low = [0], high = [2], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<6xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = stablehlo.slice %x [1:8] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<8xf32>) -> tensor<7xf32>
  %5 = stablehlo.concatenate %one, %4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %6 = stablehlo.concatenate %three, %4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<3xf32>, tensor<7xf32>) -> tensor<10xf32>
  return %1, %3, %5, %6 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<10xf32>
}
