// RUN: shardc-opt %s | filecheck %s

sdy.mesh @pod = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<16x8xf32>) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@pod, [{"x"}, {}]>] out_shardings=[<@pod, [{"x"}, {}]>] manual_axes={"x", "y"} (%b: tensor<4x8xf32>) {
    // CHECK: "spmd.all_reduce"(%b) {axes = ["x", "y"], kind = "max"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = "spmd.all_reduce"(%b) {axes = ["x", "y"], kind = "max"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    // CHECK: "spmd.all_gather"(%b) {axes = ["x:(1)2"], dim = 0 : i64, invariant = true} : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %2 = "spmd.all_gather"(%b) {axes = ["x:(1)2"], dim = 0 : i64, invariant = true} : (tensor<4x8xf32>) -> tensor<8x8xf32>
    // CHECK: "spmd.reduce_scatter"(%b) {axes = ["x"], dim = 1 : i64, kind = "sum"} : (tensor<4x8xf32>) -> tensor<4x2xf32>
    %3 = "spmd.reduce_scatter"(%b) {axes = ["x"], dim = 1 : i64, kind = "sum"} : (tensor<4x8xf32>) -> tensor<4x2xf32>
    // CHECK: "spmd.collective_permute"(%b) {axes = ["y"], pairs = dense<{{\[\[0, 1\], \[1, 0\]\]}}> : tensor<2x2xi64>}
    %4 = "spmd.collective_permute"(%b) {axes = ["y"], pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    // CHECK: "spmd.all_slice"(%b) {axes = ["y"], dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %5 = "spmd.all_slice"(%b) {axes = ["y"], dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK: "spmd.to_partial"(%b) {axes = ["y"], kind = "min"}
    %6 = "spmd.to_partial"(%b) {axes = ["y"], kind = "min"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    // CHECK: "spmd.axis_index"() {axes = ["x", "y"]} : () -> tensor<i32>
    %7 = "spmd.axis_index"() {axes = ["x", "y"]} : () -> tensor<i32>
    // CHECK: "spmd.vary"(%b) {axes = ["y"]}
    %8 = "spmd.vary"(%b) {axes = ["y"]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %b : tensor<4x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return
}
