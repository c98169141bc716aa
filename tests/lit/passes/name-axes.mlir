// RUN: shardc-opt %s -p name-axes --no-locations | filecheck %s

sdy.mesh @m = <["x"=2, "y"=4]>

// CHECK-LABEL: @reductions
// CHECK: "spmd.all_reduce"(%{{.*}}) {axes = ["x"], kind = "sum"}
// CHECK-NEXT: "spmd.all_reduce"(%{{.*}}) {axes = ["x", "y"], kind = "max"}
// CHECK-NEXT: "spmd.reduce_scatter"(%{{.*}}) {axes = ["y", "x"], dim = 0 : i64, kind = "sum"}
func.func @reductions(%a: tensor<16x16xf32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {"y"}]>] out_shardings=[<@m, [{"y", "x"}, {}]>] manual_axes={"x", "y"} (%b: tensor<8x4xf32>) {
    %1 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 4, 1, 5, 2, 6, 3, 7]]> : tensor<1x8xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.maximum %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %3 = "stablehlo.reduce_scatter"(%2) <{replica_groups = dense<[[0, 4, 1, 5, 2, 6, 3, 7]]> : tensor<1x8xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<1x4xf32>
    sdy.return %3 : tensor<1x4xf32>
  } : (tensor<16x16xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A product has no collective: gather, then multiply.
// CHECK-LABEL: @product
// CHECK: %[[ROW:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<2xi32>) -> tensor<1x2xi32>
// CHECK-NEXT: %[[ROWS:.*]] = "spmd.all_gather"(%[[ROW]]) {axes = ["y"], dim = 0 : i64, invariant = true}
// CHECK: stablehlo.reduce(%[[ROWS]] init: %{{.*}}) applies stablehlo.multiply across dimensions = [0]
func.func @product(%a: tensor<8xi32>) -> tensor<2xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"y"}]>] out_shardings=[<@m, [{}]>] manual_axes={"x", "y"} (%b: tensor<2xi32>) {
    %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.multiply %p, %q : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %1 : tensor<2xi32>
  } : (tensor<8xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// Parts of axes; pairs; a broadcast from the first of each group.
// CHECK-LABEL: @exchanges
// CHECK: "spmd.all_gather"(%{{.*}}) {axes = ["y:(2)2"], dim = 1 : i64, invariant = true}
// CHECK-NEXT: "spmd.all_to_all"(%{{.*}}) {axes = ["y:(1)2"], concat_dim = 1 : i64, split_dim = 0 : i64}
// CHECK-NEXT: "spmd.collective_permute"(%{{.*}}) {axes = ["y"], pairs = dense<{{\[\[0, 1\], \[3, 0\]\]}}> : tensor<2x2xi64>}
// CHECK-NEXT: "spmd.collective_broadcast"(%{{.*}}) {axes = ["x"], root = 0 : i64}
func.func @exchanges(%a: tensor<4x8xf32>) -> tensor<2x32xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {"y"}]>] out_shardings=[<@m, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%b: tensor<2x2xf32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    %2 = "stablehlo.all_to_all"(%1) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x4xf32>) -> tensor<1x8xf32>
    %3 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<[[0, 1], [3, 0], [4, 5], [7, 4]]> : tensor<4x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %4 = "stablehlo.collective_broadcast"(%3) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
    sdy.return %4 : tensor<1x8xf32>
  } : (tensor<4x8xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

// The device's number: what comes to a position along axes is one; the arithmetic goes.
// CHECK-LABEL: @numbers
// CHECK-NOT: partition_id
// CHECK: %[[YX:.*]] = "spmd.axis_index"() {axes = ["y", "x"]}
// CHECK-NOT: stablehlo.divide
// CHECK: stablehlo.broadcast_in_dim %[[YX]]
func.func @numbers() -> tensor<8xi32> {
  %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@m, [{"x", "y"}]>] manual_axes={"x", "y"} () {
    %one = stablehlo.constant dense<1> : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %four = stablehlo.constant dense<4> : tensor<ui32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.divide %1, %four : tensor<ui32>
    %3 = stablehlo.remainder %2, %two : tensor<ui32>
    %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i32>
    %5 = stablehlo.divide %1, %one : tensor<ui32>
    %6 = stablehlo.remainder %5, %four : tensor<ui32>
    %7 = stablehlo.convert %6 : (tensor<ui32>) -> tensor<i32>
    %times = stablehlo.constant dense<2> : tensor<i32>
    %8 = stablehlo.multiply %7, %times : tensor<i32>
    %9 = stablehlo.add %8, %4 : tensor<i32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i32>) -> tensor<1xi32>
    sdy.return %10 : tensor<1xi32>
  } : () -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// Where some axes are not manual JAX asks for the number in a computation of its own, which goes.
// CHECK-LABEL: @number_over_one_axis
// CHECK: sdy.manual_computation(%{{.*}}) {{.*}} manual_axes={"y"}
// CHECK-NEXT: %[[Y:.*]] = "spmd.axis_index"() {axes = ["y"]}
// CHECK-NEXT: stablehlo.broadcast_in_dim %[[Y]]
func.func @number_over_one_axis(%a: tensor<8xi32>) -> tensor<8xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"y", ?}]>] out_shardings=[<@m, [{"y", ?}]>] manual_axes={"y"} (%b: tensor<2xi32>) {
    %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@m, []>] manual_axes={"x"} () {
      %c = stablehlo.constant dense<1> : tensor<ui32>
      %four = stablehlo.constant dense<4> : tensor<ui32>
      %2 = stablehlo.partition_id : tensor<ui32>
      %3 = stablehlo.divide %2, %c : tensor<ui32>
      %4 = stablehlo.remainder %3, %four : tensor<ui32>
      %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<i32>
      sdy.return %5 : tensor<i32>
    } : () -> tensor<i32>
    %6 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %7 = stablehlo.add %b, %6 : tensor<2xi32>
    sdy.return %7 : tensor<2xi32>
  } : (tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
