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
