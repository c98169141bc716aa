// RUN: shardc-opt %s -p join-slices --no-locations --split-input-file | filecheck %s

// Rotated halves: what was done to one half is done to the whole tensor.
// CHECK-LABEL: @rotate
// CHECK-NEXT: [[NEG:%.*]] = stablehlo.negate %x
// CHECK-NEXT: "shardc.join"([[NEG]], %x) <{dimension = 0 : i64, start_indices = array<i64: 4, 0>, limit_indices = array<i64: 8, 4>}>
// CHECK-NEXT: return
sdy.mesh @ring = <["r"=4]>
func.func @rotate(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.slice %x [4:8] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// A slice that others use stays for them; one with steps is an operand like others.
// CHECK-LABEL: @used
// CHECK-NEXT: [[SLICE:%.*]] = stablehlo.slice %x [7:8]
// CHECK-NEXT: [[STEPS:%.*]] = stablehlo.slice %x [0:8:2]
// CHECK-NEXT: "shardc.join"(%x, [[STEPS]]) <{dimension = 0 : i64, start_indices = array<i64: 7, 0>, limit_indices = array<i64: 8, 4>}>
sdy.mesh @ring = <["r"=4]>
func.func @used(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> (tensor<5xf32>, tensor<1xf32>) {
  %0 = stablehlo.slice %x [7:8] : (tensor<8xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %x [0:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : (tensor<1xf32>, tensor<4xf32>) -> tensor<5xf32>
  return %2, %0 : tensor<5xf32>, tensor<1xf32>
}

// -----

// Along a dimension that is whole nothing is sent, so nothing changes.
// CHECK-LABEL: @whole
// CHECK: stablehlo.concatenate
sdy.mesh @ring = <["r"=4]>
func.func @whole(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.slice %x [7:8] : (tensor<8xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %x [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// A join of a join: what is wrapped around the rows, then around the columns.
// CHECK-LABEL: @wrapped
// CHECK-NEXT: [[ROWS:%.*]] = "shardc.join"(%x, %x) <{dimension = 0 : i64, start_indices = array<i64: 6, 0>, limit_indices = array<i64: 8, 8>}>
// CHECK-NEXT: "shardc.join"([[ROWS]], [[ROWS]]) <{dimension = 1 : i64, start_indices = array<i64: 6, 0>, limit_indices = array<i64: 8, 8>}>
// CHECK-NEXT: return
sdy.mesh @grid = <["x"=2, "y"=4]>
func.func @wrapped(%x: tensor<8x8xf32>) -> tensor<10x10xf32> {
  %0 = stablehlo.slice %x [6:8, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = stablehlo.concatenate %0, %x, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"x"}, {"y"}]>]>} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
  %2 = stablehlo.slice %1 [0:10, 6:8] : (tensor<10x8xf32>) -> tensor<10x2xf32>
  %3 = stablehlo.concatenate %2, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"x"}, {"y"}]>]>} : (tensor<10x2xf32>, tensor<10x8xf32>) -> tensor<10x10xf32>
  return %3 : tensor<10x10xf32>
}
