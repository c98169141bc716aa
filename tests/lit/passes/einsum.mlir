// RUN: shardc-opt %s -p propagate,insert-reshards --no-locations | filecheck %s

// An einsum has a factor for each letter: i of the result is split as in the operand, the other operand gets
// the split of j, and the sum over j is partial until a reshard.

sdy.mesh @m = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @main
// CHECK-SAME: %b: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}]>}, %b: tensor<16x4xf32>) -> tensor<4x8xf32> {
  // CHECK: stablehlo.einsum %a, %b, config = "ij,jk->ki" {{.*}}<@m, [{}, {"y"}], unreduced={"x"}>
  // CHECK-NEXT: sdy.reshard %0 <@m, [{}, {"y"}]> {shardc.reason = "the result of einsum {{.*}}is a partial sum over x
  %0 = stablehlo.einsum %a, %b, config = "ij,jk->ki" : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
