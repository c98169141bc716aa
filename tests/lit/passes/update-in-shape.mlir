// RUN: shardc-opt %s -p update-in-shape --no-locations --split-input-file | filecheck %s

// A stencil in a loop's shape: slices are moved, and the border stays.
// CHECK-LABEL: @interior
// CHECK: [[BELOW:%.*]] = stablehlo.pad %x, {{%.*}}, low = [1], high = [-1], interior = [0] {{.*}}sdy.sharding{{.*}} -> tensor<64xf32>
// CHECK: [[ABOVE:%.*]] = stablehlo.pad %x, {{%.*}}, low = [-1], high = [1], interior = [0] {{.*}} -> tensor<64xf32>
// CHECK: [[SUM:%.*]] = stablehlo.add [[BELOW]], [[ABOVE]] {{.*}}sdy.sharding{{.*}}tensor<64xf32>
// CHECK: [[PLACE:%.*]] = stablehlo.iota dim = 0 : tensor<64xi32>
// CHECK: [[FIRST:%.*]] = stablehlo.constant dense<1> : tensor<64xi32>
// CHECK: stablehlo.compare GE, [[PLACE]], [[FIRST]]
// CHECK: [[LAST:%.*]] = stablehlo.constant dense<63> : tensor<64xi32>
// CHECK: stablehlo.compare LT, [[PLACE]], [[LAST]]
// CHECK: [[INSIDE:%.*]] = stablehlo.and
// CHECK: [[CHOSEN:%.*]] = stablehlo.select [[INSIDE]], [[SUM]], %x {{.*}}sdy.sharding
// CHECK-NEXT: return [[CHOSEN]]
sdy.mesh @ring = <["r"=4]>
func.func @interior(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<64xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.slice %x [0:62] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : (tensor<64xf32>) -> tensor<62xf32>
  %1 = stablehlo.slice %x [2:64] : (tensor<64xf32>) -> tensor<62xf32>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r", ?}]>]>} : tensor<62xf32>
  %3 = stablehlo.dynamic_update_slice %x, %2, %one {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<64xf32>, tensor<62xf32>, tensor<i32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// -----

// What is added, to a box that ends with the tensor; the dimension that is whole stays a box. What a scalar
// says is the same everywhere. Another user of the update gets it as a slice.
// CHECK-LABEL: @added
// CHECK: [[ROWS:%.*]] = stablehlo.pad %x, {{%.*}}, low = [1, 0], high = [-1, 0], interior = [0, 0]
// CHECK: [[MOVED:%.*]] = stablehlo.slice [[ROWS]] [0:64, 1:8]
// CHECK: [[FACTOR:%.*]] = stablehlo.broadcast_in_dim %s, dims = [] {{.*}} -> tensor<64x7xf32>
// CHECK: [[SCALED:%.*]] = stablehlo.multiply [[MOVED]], [[FACTOR]]
// CHECK: [[TERM:%.*]] = stablehlo.negate [[SCALED]]
// CHECK: [[PART:%.*]] = stablehlo.slice [[TERM]] [1:64, 0:7]
// CHECK: [[OLD:%.*]] = stablehlo.slice %x [0:64, 0:7]
// CHECK: [[NEW:%.*]] = stablehlo.add [[OLD]], [[TERM]]
// CHECK-NOT: compare LT
// CHECK: [[CHOSEN:%.*]] = stablehlo.select {{%.*}}, [[NEW]], [[OLD]]
// CHECK: [[ALL:%.*]] = stablehlo.dynamic_update_slice %x, [[CHOSEN]]
// CHECK: return [[ALL]], [[PART]]
sdy.mesh @ring = <["r"=4]>
func.func @added(%x: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}, %s: tensor<f32>) -> (tensor<64x8xf32>, tensor<63x7xf32>) {
  %c = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %0 = stablehlo.slice %x [0:63, 1:8] : (tensor<64x8xf32>) -> tensor<63x7xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<63x7xf32>
  %m = stablehlo.multiply %0, %1 : tensor<63x7xf32>
  %2 = stablehlo.negate %m : tensor<63x7xf32>
  %3 = "stablehlo.scatter"(%x, %c, %2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<64x8xf32>, tensor<2xi32>, tensor<63x7xf32>) -> tensor<64x8xf32>
  return %3, %2 : tensor<64x8xf32>, tensor<63x7xf32>
}

// -----

// A box that a block can hold, a slice from afar, an update that is no slice's, and a quotient of elements stay,
// as do places that a scatter leaves out.
// CHECK-LABEL: @others
// CHECK-NOT: stablehlo.select
// CHECK: return
sdy.mesh @ring = <["r"=4]>
func.func @others(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}, %u: tensor<62xf32>) -> tensor<64xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %0 = stablehlo.slice %x [0:16] : (tensor<64xf32>) -> tensor<16xf32>
  %1 = stablehlo.dynamic_update_slice %x, %0, %one {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<64xf32>, tensor<16xf32>, tensor<i32>) -> tensor<64xf32>
  %2 = stablehlo.slice %1 [32:64] : (tensor<64xf32>) -> tensor<32xf32>
  %3 = stablehlo.dynamic_update_slice %1, %2, %one {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<64xf32>, tensor<32xf32>, tensor<i32>) -> tensor<64xf32>
  %4 = stablehlo.dynamic_update_slice %3, %u, %one {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<64xf32>, tensor<62xf32>, tensor<i32>) -> tensor<64xf32>
  %5 = stablehlo.slice %4 [0:63] : (tensor<64xf32>) -> tensor<63xf32>
  %6 = "stablehlo.scatter"(%4, %two, %5) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<64xf32>, tensor<1xi32>, tensor<63xf32>) -> tensor<64xf32>
  %7 = stablehlo.slice %6 [0:62] : (tensor<64xf32>) -> tensor<62xf32>
  %8 = stablehlo.slice %6 [2:64] : (tensor<64xf32>) -> tensor<62xf32>
  %9 = stablehlo.divide %7, %8 : tensor<62xf32>
  %10 = stablehlo.dynamic_update_slice %6, %9, %one {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<64xf32>, tensor<62xf32>, tensor<i32>) -> tensor<64xf32>
  return %10 : tensor<64xf32>
}

// -----

// A constant is chosen where it is set, also in a box that a block can hold; so is what is added to each element.
// CHECK-LABEL: @constant
// CHECK-NOT: stablehlo.scatter
// CHECK: [[SET:%.*]] = stablehlo.select {{%.*}}, {{%.*}}, %x
// CHECK: [[ADDED:%.*]] = stablehlo.add [[SET]],
// CHECK: [[CHOSEN:%.*]] = stablehlo.select {{%.*}}, [[ADDED]], [[SET]]
// CHECK-NOT: stablehlo.scatter
// CHECK: return [[CHOSEN]]
sdy.mesh @ring = <["r"=4]>
func.func @constant(%x: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}) -> tensor<64x8xf32> {
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %zeros = stablehlo.constant dense<0.0> : tensor<40x8xf32>
  %0 = "stablehlo.scatter"(%x, %two, %zeros) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<64x8xf32>, tensor<1xi32>, tensor<40x8xf32>) -> tensor<64x8xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<3x8xf32>
  %1 = "stablehlo.scatter"(%0, %two, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %2 = stablehlo.add %c, %d : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<64x8xf32>, tensor<1xi32>, tensor<3x8xf32>) -> tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// -----

// Any other update that sets a box which a block can hold is one that runs on blocks.
// CHECK-LABEL: @held
// CHECK: [[WRITTEN:%.*]] = stablehlo.dynamic_update_slice %x, %y, {{%.*}}, {{%.*}} {sdy.sharding
// CHECK-NOT: stablehlo.scatter
// CHECK: return [[WRITTEN]]
sdy.mesh @ring = <["r"=4]>
func.func @held(%x: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}, %y: tensor<3x8xf32>) -> tensor<64x8xf32> {
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %0 = "stablehlo.scatter"(%x, %two, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<64x8xf32>, tensor<1xi32>, tensor<3x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
