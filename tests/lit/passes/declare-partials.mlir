// RUN: shardc-opt %s -p declare-partials,check --no-locations --split-input-file | filecheck %s

// What goes straight to its reduction is partial from the product on; the reduction over i adds to that.
// CHECK-LABEL: @straight
// CHECK: stablehlo.dot_general {{.*}}shardc.partial_over = ["i", "j"]
// CHECK-NEXT: stablehlo.transpose
// CHECK-NOT: partial
sdy.mesh @grid = <["i"=4, "j"=2]>
func.func @straight(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@grid, [{}, {"j", "i"}]>, <@grid, [{"j", "i"}, {}]>] out_shardings=[<@grid, [{"j"}, {}]>] manual_axes={"i", "j"} (%x: tensor<8x2xf32>, %y: tensor<2x8xf32>) {
    %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "spmd.all_reduce"(%2) {axes = ["i", "j"], kind = "sum"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.slice %3 [0:2, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
    sdy.return %4 : tensor<2x8xf32>
  } : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A minimum of -x is a maximum of x; the kind of a maximum is its own.
// CHECK-LABEL: @kinds
// CHECK: stablehlo.reduce{{.*}}shardc.partial_over = ["i"]
// CHECK-NEXT: stablehlo.negate
// CHECK-NEXT: "spmd.all_reduce"
sdy.mesh @grid = <["i"=4]>
func.func @kinds(%a: tensor<8x16xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@grid, [{"i"}, {}]>] out_shardings=[<@grid, [{}]>] manual_axes={"i"} (%x: tensor<2x16xf32>) {
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [0] : (tensor<2x16xf32>, tensor<f32>) -> tensor<16xf32>
    %2 = stablehlo.negate %1 : tensor<16xf32>
    %3 = "spmd.all_reduce"(%2) {axes = ["i"], kind = "min"} : (tensor<16xf32>) -> tensor<16xf32>
    sdy.return %3 : tensor<16xf32>
  } : (tensor<8x16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// A value that is used otherwise too, a parameter, what a product is not: partial for the reduction only.
// CHECK-LABEL: @otherwise
// CHECK: [[SQUARE:%.*]] = stablehlo.multiply %x, %x : tensor<2x16xf32>
// CHECK: [[P:%.*]] = "spmd.as_partial"([[SQUARE]]) {axes = ["i"], kind = "sum"}
// CHECK: "spmd.all_reduce"([[P]])
// CHECK: [[Q:%.*]] = "spmd.as_partial"(%x) {axes = ["i"], kind = "max"}
// CHECK: "spmd.all_reduce"([[Q]])
sdy.mesh @grid = <["i"=4]>
func.func @otherwise(%a: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<2x16xf32>) {
  %0:2 = sdy.manual_computation(%a) in_shardings=[<@grid, [{"i"}, {}]>] out_shardings=[<@grid, [{"i"}, {}]>, <@grid, [{}, {}]>] manual_axes={"i"} (%x: tensor<2x16xf32>) {
    %1 = stablehlo.multiply %x, %x : tensor<2x16xf32>
    %2 = "spmd.all_reduce"(%1) {axes = ["i"], kind = "sum"} : (tensor<2x16xf32>) -> tensor<2x16xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x16xf32>
    %4 = "spmd.all_reduce"(%x) {axes = ["i"], kind = "max"} : (tensor<2x16xf32>) -> tensor<2x16xf32>
    sdy.return %3, %4 : tensor<2x16xf32>, tensor<2x16xf32>
  } : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<2x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<2x16xf32>
}
