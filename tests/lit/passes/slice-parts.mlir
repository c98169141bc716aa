// RUN: shardc-opt %s -p slice-parts --no-locations --split-input-file | filecheck %s
// RUN: shardc-opt %s -p slice-parts,join-slices --no-locations --split-input-file | filecheck %s --check-prefix=JOINED

// A stencil on a ring: each neighbour is the tensor, rolled by one, and the middle the tensor itself.
// CHECK-LABEL: @around
// CHECK-NEXT: [[A:%.*]] = stablehlo.slice %x [1:8]
// CHECK-NEXT: [[B:%.*]] = stablehlo.slice %x [0:1]
// CHECK-NEXT: [[NEXT:%.*]] = stablehlo.concatenate [[A]], [[B]], dim = 0
// CHECK-NEXT: [[C:%.*]] = stablehlo.slice %x [7:8]
// CHECK-NEXT: [[D:%.*]] = stablehlo.slice %x [0:7]
// CHECK-NEXT: [[LAST:%.*]] = stablehlo.concatenate [[C]], [[D]], dim = 0
// CHECK-NEXT: return [[NEXT]], %x, [[LAST]]
// JOINED-LABEL: @around
// JOINED-NEXT: "shardc.join"(%x, %x) <{dimension = 0 : i64, start_indices = array<i64: 1, 0>, limit_indices = array<i64: 8, 1>}>
// JOINED-NEXT: "shardc.join"(%x, %x) <{dimension = 0 : i64, start_indices = array<i64: 7, 0>, limit_indices = array<i64: 8, 7>}>
sdy.mesh @ring = <["r"=4]>
func.func @around(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %last = stablehlo.slice %x [7:8] : (tensor<8xf32>) -> tensor<1xf32>
  %first = stablehlo.slice %x [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %p = stablehlo.concatenate %last, %x, %first, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<1xf32>, tensor<8xf32>, tensor<1xf32>) -> tensor<10xf32>
  %0 = stablehlo.slice %p [2:10] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %p [1:9] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  %2 = stablehlo.slice %p [0:8] {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<10xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Both dimensions of a torus, and the border that JAX repeats once: rows are cut as columns are.
// CHECK-LABEL: @rows_and_columns
// CHECK-NEXT: [[A:%.*]] = stablehlo.slice %x [1:8, 0:8]
// CHECK-NEXT: [[B:%.*]] = stablehlo.slice %x [7:8, 0:8]
// CHECK-NEXT: [[NEXT:%.*]] = stablehlo.concatenate [[A]], [[B]], dim = 0
// CHECK-NEXT: return [[NEXT]]
sdy.mesh @torus = <["i"=2, "j"=2]>
func.func @rows_and_columns(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@torus, [{"i"}, {"j"}]>}) -> tensor<8x8xf32> {
  %last = stablehlo.slice %x [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %repeated = stablehlo.broadcast_in_dim %last, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %border = stablehlo.reshape %repeated : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
  %rows = stablehlo.concatenate %x, %border, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@torus, [{"i"}, {"j"}]>]>} : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<9x8xf32>
  %first = stablehlo.slice %rows [0:9, 0:1] : (tensor<9x8xf32>) -> tensor<9x1xf32>
  %both = stablehlo.concatenate %rows, %first, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@torus, [{"i"}, {"j"}]>]>} : (tensor<9x8xf32>, tensor<9x1xf32>) -> tensor<9x9xf32>
  %0 = stablehlo.slice %both [1:9, 0:8] : (tensor<9x9xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// A broadcast may transpose: then it is not the tensor.
// CHECK-LABEL: @transposed
// CHECK: stablehlo.slice %turned [1:8, 0:8]
sdy.mesh @torus = <["i"=2, "j"=2]>
func.func @transposed(%x: tensor<8x8xf32>, %y: tensor<1x8xf32>) -> tensor<8x8xf32> {
  %broadcast = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<8x8xf32>) -> tensor<8x1x8xf32>
  %turned = stablehlo.reshape %broadcast : (tensor<8x1x8xf32>) -> tensor<8x8xf32>
  %rows = stablehlo.concatenate %turned, %y, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@torus, [{"i"}, {}]>]>} : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<9x8xf32>
  %0 = stablehlo.slice %rows [1:9, 0:8] : (tensor<9x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// Used whole, in steps, or whole along the dimension, a concatenation stays; so does one that is not split.
// CHECK-LABEL: @stays
// CHECK-COUNT-4: stablehlo.concatenate %x, %y
sdy.mesh @ring = <["r"=4]>
func.func @stays(%x: tensor<8x2xf32>, %y: tensor<1x2xf32>) -> (tensor<8x2xf32>, tensor<9x2xf32>, tensor<4x2xf32>, tensor<9x1xf32>, tensor<8x2xf32>) {
  %0 = stablehlo.concatenate %x, %y, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x2xf32>, tensor<1x2xf32>) -> tensor<9x2xf32>
  %1 = stablehlo.slice %0 [1:9, 0:2] : (tensor<9x2xf32>) -> tensor<8x2xf32>
  %2 = stablehlo.concatenate %x, %y, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x2xf32>, tensor<1x2xf32>) -> tensor<9x2xf32>
  %3 = stablehlo.slice %2 [1:9:2, 0:2] : (tensor<9x2xf32>) -> tensor<4x2xf32>
  %4 = stablehlo.concatenate %x, %y, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x2xf32>, tensor<1x2xf32>) -> tensor<9x2xf32>
  %5 = stablehlo.slice %4 [0:9, 1:2] : (tensor<9x2xf32>) -> tensor<9x1xf32>
  %6 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<8x2xf32>, tensor<1x2xf32>) -> tensor<9x2xf32>
  %7 = stablehlo.slice %6 [1:9, 0:2] : (tensor<9x2xf32>) -> tensor<8x2xf32>
  return %1, %0, %3, %5, %7 : tensor<8x2xf32>, tensor<9x2xf32>, tensor<4x2xf32>, tensor<9x1xf32>, tensor<8x2xf32>
}

// -----

// What has no elements is joined by nobody: the border of columns that `jnp.pad` leaves.
// CHECK-LABEL: @nothing
// CHECK-NOT: concatenate
// CHECK: [[CUT:%.*]] = stablehlo.slice %x [1:8, 0:2]
// CHECK: return [[CUT]]
sdy.mesh @ring = <["r"=4]>
func.func @nothing(%x: tensor<8x2xf32>) -> tensor<7x2xf32> {
  %0 = stablehlo.slice %x [0:8, 0:0] : (tensor<8x2xf32>) -> tensor<8x0xf32>
  %1 = stablehlo.concatenate %0, %x, %0, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x0xf32>, tensor<8x2xf32>, tensor<8x0xf32>) -> tensor<8x2xf32>
  %2 = stablehlo.slice %1 [1:8, 0:2] : (tensor<8x2xf32>) -> tensor<7x2xf32>
  return %2 : tensor<7x2xf32>
}

// -----

// Along a dimension that is whole a slice of one part is one of that part; of two it stays.
// CHECK-LABEL: @halves
// CHECK-NOT: tanh
// CHECK: [[BOTH:%.*]] = stablehlo.concatenate %x, %y, dim = 1
// CHECK: [[SOME:%.*]] = stablehlo.slice %y [0:8, 1:2]
// CHECK: [[OF_TWO:%.*]] = stablehlo.slice [[BOTH]] [0:8, 1:3]
// CHECK: return %x, [[SOME]], [[OF_TWO]], %y
sdy.mesh @ring = <["r"=4]>
func.func @halves(%x: tensor<8x2xf32>, %y: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x1xf32>, tensor<8x2xf32>, tensor<8x2xf32>) {
  %0 = stablehlo.concatenate %x, %y, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.slice %0 [0:8, 0:2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %2 = stablehlo.slice %0 [0:8, 3:4] : (tensor<8x4xf32>) -> tensor<8x1xf32>
  %3 = stablehlo.slice %0 [0:8, 1:3] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %4 = stablehlo.tanh %x : tensor<8x2xf32>
  %5 = stablehlo.concatenate %4, %y, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}, {}]>]>} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %6 = stablehlo.slice %5 [0:8, 2:4] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  return %1, %2, %3, %6 : tensor<8x2xf32>, tensor<8x1xf32>, tensor<8x2xf32>, tensor<8x2xf32>
}
