// RUN: shardc-opt %s -p drop-open-constraints --no-locations | filecheck %s

sdy.mesh @m = <["x"=2, "y"=4]>

// What leaves everything open goes, also in the region of a reduction; what says something stays.
// CHECK-LABEL: @main
// CHECK: stablehlo.sine
// CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@m, [{"y"}]>
// CHECK-NEXT: sdy.return
func.func @main(%x: tensor<16x16xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"x", ?}, {?}]>] out_shardings=[<@m, [{"x", ?}]>] manual_axes={"x"} (%a: tensor<8x16xf32>) {
    %1 = stablehlo.sine %a : tensor<8x16xf32>
    %2 = sdy.sharding_constraint %1 <@m, [{?}, {?}]> : tensor<8x16xf32>
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = sdy.sharding_constraint %cst <@m, []> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %3) across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
     reducer(%p: tensor<f32>, %q: tensor<f32>) {
      %8 = stablehlo.add %p, %q : tensor<f32>
      %9 = sdy.sharding_constraint %8 <@m, []> : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }
    %5 = sdy.sharding_constraint %4 <@m, [{"y"}]> : tensor<8xf32>
    sdy.return %5 : tensor<8xf32>
  } : (tensor<16x16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A scalar that is written to be whole stays so.
// CHECK-LABEL: @scalar
// CHECK: sdy.sharding_constraint %x <@m, []>
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %0 = sdy.sharding_constraint %x <@m, []> : tensor<f32>
  return %0 : tensor<f32>
}

// A scalar in a region over scalars is nowhere, also where it is said to be whole over some axes.
// CHECK-LABEL: @whole_over_explicit_axes
// CHECK: stablehlo.sort
// CHECK-NEXT: ^{{.*}}(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>):
// CHECK-NEXT: stablehlo.compare LT, %[[A]], %[[B]]
// CHECK: sdy.sharding_constraint %{{.*}} <@m, [], replicated={"x"}>
func.func @whole_over_explicit_axes(%x: tensor<8xf32>, %s: tensor<f32>) -> (tensor<8xf32>, tensor<f32>) {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %2 = sdy.sharding_constraint %p <@m, [], replicated={"x"}> : tensor<f32>
    %3 = stablehlo.compare LT, %2, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.sharding_constraint %s <@m, [], replicated={"x"}> : tensor<f32>
  return %0, %1 : tensor<8xf32>, tensor<f32>
}
